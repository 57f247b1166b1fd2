//! Findings: the meaning of a function's facts for its author. Each rule reads facts, none computes new ones
//! about values; they share `partial`: the blocks that may be executed by a part of a scope's lanes, and the
//! branches that cause it.
//!
//! ```text
//! if (threadIdx.x < n) { __syncthreads(); }   =>   divergent-barrier, warning, because of the branch, because of threadIdx.x
//! ```
//!
//! Nothing is an error unless a specification is provably broken. In a device function, findings that depend
//! on its parameters are left to the callers, where it is seen inlined.

mod arrays;
mod collective;
mod convergence;
mod derivatives;
mod expected;
mod forgiving;
mod memory;
mod partial;
mod races;
mod resources;
mod rounds;
mod side_by_side;
mod strides;
mod together;
mod windows;
mod witness;
mod work;

pub use expected::{Expected, expected};

use crate::causes::cause_chain;
use crate::model::*;
use crate::reason::{CauseReason, FindingReason};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::loops::LoopForest;
use ir::{Block, EntityVec, Function, FunctionKind, Inst, Loc, Module, Value, ValueDef};
use partial::Partial;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

/// The findings of a module's first function, sorted by position and code. `facts` are those of all its functions.
pub fn diagnose(module: &Module, facts: &[FunctionFacts]) -> Vec<Finding> {
    let (Some(function), Some(facts)) = (module.functions.first(), facts.first()) else {
        return Vec::new();
    };
    if function.layout.is_empty() || crate::alone::runs_alone(function) {
        return Vec::new();
    }
    let cx = Context::new(function, facts);
    let mut findings = Vec::new();
    let alone = cx.is_one_thread();
    if !alone {
        convergence::findings(&cx, &mut findings);
    }
    if !findings.is_empty() {
        // Told only where lanes part also in the reading that favours the author.
        let options = Options {
            favourable: true,
            ..facts.options.clone()
        };
        let module = forgiving::favourable(module);
        let facts = crate::divergence::analyze(0, &module, &options);
        findings.clear();
        if let Some(function) = module.functions.first() {
            convergence::findings(&Context::new(function, &facts), &mut findings);
        }
    }
    arrays::findings(&cx, &mut findings);
    work::findings(&cx, &mut findings);
    if !alone {
        derivatives::wave_sensitive(&cx, &mut findings);
        resources::findings(&cx, &mut findings);
        memory::findings(&cx, &mut findings);
        races::findings(&cx, &mut findings);
    }
    for finding in &mut findings {
        finding.calls = cx.calls_to(finding.loc, Loc::NONE);
        // How the place is come to, where nothing tells it yet.
        if !finding
            .calls
            .iter()
            .any(|call| finding.related.contains(call))
        {
            finding.related.splice(0..0, finding.calls.iter().cloned());
        }
    }
    findings.sort_by_key(|f| (f.loc.site, f.loc.span, f.code, f.reason.clone()));
    findings.dedup();
    findings
}

/// A function with its facts and the tables that the rules look up again and again.
struct Context<'a> {
    function: &'a Function,
    facts: &'a FunctionFacts,
    flow: ControlFlow,
    post_dominators: DominatorTree,
    dominators: std::cell::OnceCell<DominatorTree>,
    forest: std::cell::OnceCell<LoopForest>,
    settled: std::cell::OnceCell<FxHashSet<Inst>>,
    block_of: EntityVec<Inst, Option<Block>>,
}

impl<'a> Context<'a> {
    fn new(function: &'a Function, facts: &'a FunctionFacts) -> Self {
        let flow = ControlFlow::new(function);
        let post_dominators = DominatorTree::post_dominators(&flow);
        let mut block_of = EntityVec::with_len(None, function.insts.len());
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                block_of[inst] = Some(block);
            }
        }
        Context {
            function,
            facts,
            flow,
            post_dominators,
            dominators: std::cell::OnceCell::new(),
            forest: std::cell::OnceCell::new(),
            settled: std::cell::OnceCell::new(),
            block_of,
        }
    }

    fn dominators(&self) -> &DominatorTree {
        self.dominators
            .get_or_init(|| DominatorTree::dominators(&self.flow))
    }

    fn forest(&self) -> &LoopForest {
        self.forest.get_or_init(|| LoopForest::new(&self.flow))
    }

    /// The loads of shared memory that are settled if all threads wait at the same barriers.
    fn settled(&self) -> &FxHashSet<Inst> {
        self.settled
            .get_or_init(|| crate::divergence::settled(self.function, &self.flow))
    }

    /// Every instruction in layout order, with its block.
    fn instructions(&self) -> impl Iterator<Item = (Block, Inst)> + '_ {
        self.function
            .layout
            .iter()
            .flat_map(|&b| self.function.blocks[b].insts.iter().map(move |&i| (b, i)))
    }

    /// Returns where a value comes from.
    fn block_of_value(&self, value: Value) -> Option<Block> {
        match self.function.values[value].def {
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Result(inst, _) => self.block_of[inst],
        }
    }

    fn uniform(&self, value: Value, block: Block, scope: Scope) -> bool {
        self.facts.at(value, block).uniform_at >= Some(scope)
    }

    fn warp_size(&self) -> u32 {
        let declared = self.function.launch.warp_size;
        declared
            .unwrap_or(self.facts.options.warp_size)
            .clamp(1, 128)
    }

    /// The workgroup's threads along an axis.
    fn size(&self, axis: u8) -> Option<u32> {
        let axis = usize::from(axis);
        let declared = self.function.launch.block.get(axis).copied().flatten();
        let options = &self.facts.options;
        declared
            .or(options.block.get(axis).copied().flatten())
            .or(options.assumed_block.get(axis).copied().flatten())
    }

    /// Workgroups of one thread, as declared or launched: no other lane to wait for or to differ from.
    fn is_one_thread(&self) -> bool {
        (0..3).all(|axis| self.size(axis) == Some(1))
    }

    fn partial(&self, scope: Scope) -> Partial {
        Partial::new(self, scope)
    }

    /// The chain from a value to the reason why lanes differ.
    fn chain(&self, value: Value, block: Block) -> Vec<CauseStep> {
        cause_chain(self.function, self.facts, value, block)
    }

    /// The chain of a branch, beginning with the branch itself.
    fn branch_chain(&self, branch: Block) -> Vec<CauseStep> {
        let loc = self.function.blocks[branch].loc;
        let mut steps = vec![CauseStep {
            reason: CauseReason::Diverge,
            loc,
        }];
        if let Some(selector) = self.function.blocks[branch].terminator.selector() {
            steps.extend(self.chain(selector, branch));
        }
        steps
    }

    /// The inlined calls on the way from the branch to a place, outermost first.
    fn calls_to(&self, place: Loc, branch: Loc) -> Vec<CauseStep> {
        let mut around = Vec::new();
        let mut site = branch.site;
        while let Some(data) = self.function.sites.get(site) {
            around.push(site);
            match data.parent {
                Some(parent) if around.len() < 64 => site = parent,
                _ => break,
            }
        }
        let mut steps = Vec::new();
        let mut site = place.site;
        while site != ir::Site(0)
            && !around.contains(&site)
            && let Some(data) = self.function.sites.get(site)
            && steps.len() < 16
        {
            steps.push(CauseStep {
                reason: CauseReason::CalledHere {
                    callee: data.callee.clone(),
                },
                loc: data.call,
            });
            site = data.parent.unwrap_or(ir::Site(0));
        }
        steps.reverse();
        steps
    }

    /// Returns true if a value differs only as far as the callers of a device function make it: then it is their
    /// finding.
    fn left_to_callers(&self, value: Value) -> bool {
        self.function.kind == FunctionKind::Device
            && self.source(value).is_some_and(|source| {
                matches!(self.function.values[source].def, ValueDef::Param(b, _) if b == self.function.entry())
            })
    }

    /// The value that a chain of causes ends at.
    fn source(&self, value: Value) -> Option<Value> {
        self.follow(value, &mut |_| {})
    }

    /// The values of a chain of causes.
    fn causes(&self, value: Value) -> Vec<Value> {
        let mut found = Vec::new();
        self.follow(value, &mut |value| found.push(value));
        found
    }

    fn follow(&self, value: Value, seen: &mut dyn FnMut(Value)) -> Option<Value> {
        let mut at = value;
        // A chain visits no value twice; the bound only guards against a cyclic cause.
        for _ in 0..self.function.values.len() {
            seen(at);
            at = match self.facts.values[at].cause {
                Cause::Operand(next)
                | Cause::Memory(next)
                | Cause::LeavesLoop { value: next, .. }
                    if next != at =>
                {
                    next
                }
                Cause::Branch(block) => match self.function.blocks[block].terminator.selector() {
                    Some(next) if next != at => next,
                    _ => return None,
                },
                _ => return Some(at),
            };
        }
        None
    }

    fn branch_left_to_callers(&self, branch: Block) -> bool {
        self.function.blocks[branch]
            .terminator
            .selector()
            .is_some_and(|value| self.left_to_callers(value))
    }

    fn finding(
        &self,
        code: Code,
        tier: Tier,
        loc: Loc,
        reason: FindingReason,
        related: Vec<CauseStep>,
    ) -> Finding {
        Finding {
            code,
            tier,
            loc,
            language: self.function.language,
            reason,
            related,
            calls: Vec::new(),
            witness: None,
            assumption: SmolStr::default(),
        }
    }
}

impl Finding {
    /// Adds two threads that come here a different number of times, if some launch has them; `lane`: the one
    /// that must be missing.
    fn with_witness(
        mut self,
        cx: &Context<'_>,
        inst: Inst,
        scope: Scope,
        lane: Option<u32>,
    ) -> Finding {
        if let Some(found) = witness::witness(cx, inst, scope, lane) {
            self.related.push(witness::step(cx, inst, &found));
            self.witness = Some(found);
        }
        self
    }
}

#[cfg(test)]
mod tests;
