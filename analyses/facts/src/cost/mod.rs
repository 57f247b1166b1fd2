//! Estimates of what divergence costs: cycles of issue that a warp spends on an arm while lanes of the other one wait.
//!
//! The machine is a table of cycles by kind of instruction, given in the options: data, not code. Figures are for ranking
//! and not for prediction. Loops count as `TRIPS` iterations unless their number is known.

mod machine;
mod work;

pub use machine::{Charge, Machine, Unit};
pub use work::{Work, is_folded, work};

use crate::divergence::{DISPATCH, Engine, SUBGROUP, level_of, scope_of};
use crate::model::*;
use ir::{BinaryOp, Block, Function, IntCondition, Op, UnaryOp, Value};

/// Iterations of a loop whose number is not known.
const TRIPS: f64 = 8.0;
/// The assumed executions of a block by the depth of its loop, up to three.
const INNER: [f64; 4] = [1.0, TRIPS, TRIPS * TRIPS, TRIPS * TRIPS * TRIPS];
/// Blocks looked at for one arm.
const ARM: usize = 256;

/// Blocks looked at for all arms of a function of so many blocks.
fn budget(blocks: usize) -> usize {
    const SMALL: usize = 1000;
    64 * blocks.min(SMALL) + 16 * blocks.saturating_sub(SMALL)
}

/// One fact for each block that ends in a branch with several targets, in layout order.
pub(crate) fn branches(engine: &Engine<'_>, facts: &FunctionFacts) -> Vec<BranchFact> {
    let function = engine.function;
    let machine = &*facts.options.machine;
    let wanted = level_of(facts.options.scope);
    let mut found = Vec::new();
    let mut arms = Arms {
        engine,
        machine,
        budget: budget(function.layout.len()),
        blocks: Vec::new(),
        walk: 0,
        work: Vec::new(),
    };
    for &block in &function.layout {
        let data = &function.blocks[block];
        let Some(selector) = data.terminator.selector() else {
            continue;
        };
        if engine.flow.successors[block].len() < 2 {
            continue;
        }
        let level = engine.branch_level[block].min(DISPATCH);
        let class = if level >= wanted {
            Class::Uniform
        } else {
            Class::Divergent
        };
        let lost = (level < SUBGROUP).then(|| arms.lost(block));
        let divergence_cost = lost.map(|lost| lost.cycles);
        let checks = || is_range_check(function, facts, selector, block);
        let idle = lost.and_then(|lost| lost.idle).filter(|_| !checks());
        let fact = facts.at(selector, block);
        found.push(BranchFact {
            assumed: false,
            block,
            kind: data.branch,
            loc: data.loc,
            class: if class == Class::Divergent && fact.class == Class::Unknown {
                Class::Unknown
            } else {
                class
            },
            uniform_at: scope_of(level),
            cause: if level < DISPATCH {
                Cause::Operand(selector)
            } else {
                Cause::None
            },
            divergence_cost,
            idle,
            lanes: (level < SUBGROUP)
                .then(|| crate::active::of_branch(engine, block))
                .flatten(),
        });
    }
    found
}

/// A thread's own number, or an affine form of it, is compared with a bound: lanes beyond it have nothing to
/// do.
fn is_range_check(
    function: &Function,
    facts: &FunctionFacts,
    condition: Value,
    block: Block,
) -> bool {
    let Some(data) = function.defining(condition) else {
        return false;
    };
    let known = |value: &Value| facts.at(*value, block).class <= Class::Affine;
    match &data.op {
        Op::IntCompare(IntCondition::Equal | IntCondition::NotEqual) => false,
        Op::IntCompare(_) => data.args.iter().all(known),
        Op::Binary(BinaryOp::And | BinaryOp::Or, _) | Op::Unary(UnaryOp::Not) => data
            .args
            .iter()
            .all(|&part| is_range_check(function, facts, part, block)),
        _ => facts.at(condition, block).class == Class::Uniform,
    }
}

/// The cost of a divergent branch.
#[derive(Clone, Copy)]
struct Lost {
    /// The arms beyond the dearest one, and the meeting.
    cycles: f64,
    /// The dearest arm, where all arms meet.
    idle: Option<f64>,
}

/// The data of a block that a walk needs.
#[derive(Clone, Copy)]
struct ArmBlock {
    /// Cycles of its instructions.
    own: f64,
    /// The depth of its loop.
    depth: u32,
    /// The last walk that came here.
    walk: u32,
}

/// Walks over the arms of branches.
struct Arms<'e, 'f> {
    engine: &'e Engine<'f>,
    machine: &'e Machine,
    /// Blocks that may still be looked at, for all branches together.
    budget: usize,
    /// Indexed by block, once a branch has asked.
    blocks: Vec<ArmBlock>,
    /// The number of the walk.
    walk: u32,
    work: Vec<Block>,
}

impl Arms<'_, '_> {
    /// Returns the cost of all arms of a branch beyond that of the dearest one.
    fn lost(&mut self, branch: Block) -> Lost {
        let engine = self.engine;
        let end = engine.post.immediate(branch);
        self.measure();
        let outside = self.blocks[branch.0 as usize].depth;
        let (mut sum, mut most) = (0.0, 0.0f64);
        let mut leaves_loop = false;
        for &next in &engine.flow.successors[branch] {
            leaves_loop |= engine
                .forest
                .of(branch)
                .is_some_and(|l| !engine.forest.contains(l, next));
            let total = self.total(branch, next, end, outside);
            sum += total;
            most = most.max(total);
        }
        // Lanes that have left a loop wait for the whole rest of the other lanes' iteration.
        let lost = if leaves_loop { most } else { sum - most };
        Lost {
            cycles: lost + self.machine.reconverge,
            idle: (end.is_some() && !leaves_loop).then_some(most),
        }
    }

    /// One arm up to where it meets the others, inner loops as often as they are taken to run.
    fn total(&mut self, branch: Block, next: Block, end: Option<Block>, outside: u32) -> f64 {
        let engine = self.engine;
        let mut total = 0.0;
        let mut left = ARM;
        self.walk += 1;
        self.work.clear();
        self.work.push(next);
        while left > 0
            && self.budget > 0
            && let Some(at) = self.work.pop()
        {
            let block = &mut self.blocks[at.0 as usize];
            if Some(at) == end || at == branch || block.walk == self.walk {
                continue;
            }
            block.walk = self.walk;
            self.budget -= 1;
            left -= 1;
            total += block.own * INNER[block.depth.saturating_sub(outside).min(3) as usize];
            for &next in &engine.flow.successors[at] {
                self.work.push(next);
            }
        }
        total
    }

    fn measure(&mut self) {
        if !self.blocks.is_empty() {
            return;
        }
        let function = self.engine.function;
        let forest = &self.engine.forest;
        let nothing = ArmBlock {
            own: 0.0,
            depth: 0,
            walk: 0,
        };
        self.blocks = vec![nothing; function.blocks.len()];
        for &block in &self.engine.flow.order {
            let insts = function.blocks[block].insts.iter();
            let own = insts
                .map(|&i| self.machine.cycles(function, &function.insts[i]))
                .sum();
            let depth = forest.of(block).map_or(0, |l| forest.loops[l].depth);
            self.blocks[block.0 as usize] = ArmBlock {
                own,
                depth,
                walk: 0,
            };
        }
    }
}
