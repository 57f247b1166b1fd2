//! Partly redundant computations, evaluated where the profiled runs evaluate them least often: also on ways that would not
//! have needed them.
//!
//! ```text
//! if (a) t = x * y; ... if (b) u = x * y      a in 90 of 100 runs, b in 80: evaluated on both sides of a, 100 times for 170
//! ```
//!
//! An expression is an operation on values of the SSA form, so that it changes only where one of them is
//! defined anew: in the blocks of its operands. Those are few, and what is evaluated in front of them is of no use
//! behind them. A load changes where something may write what it reads, too. `facts::speculative` finds the edges. Operations
//! of the IR are total; a load is evaluated only where all ways onwards would have evaluated it, so that nothing fails where it did
//! not.
//!
//! Where the machine marks the results of speculative loads that fail (`Terms::ahead`), loads are placed elsewhere, too, and what
//! read them is a check, which loads anew where that happened.
//!
//! Operations that become equal by it are found in the next round.
//!
//! Source: Gupta, Berson, Fang, *Path Profile Guided Partial Dead Code Elimination Using Predication*, PACT 1997, Figure 11.

use super::memory::Clobbers;
use super::price::Processor;
use super::repair::{Repair, Variable};
use super::ways::Work;
use super::{Terms, is_constant};
use crate::prepare::{edit, is_pure};
use facts::speculative::{Local, Placed, Problem, Spot, place_fewest};
use ir::cfg::ControlFlow;
use ir::entity::Entity;
use ir::loops::LoopForest;
use ir::{Block, Function, Inst, Loc, MemoryAccess, Op, Speculation, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// An expression that is evaluated elsewhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Speculated {
    /// The first evaluation that is gone.
    pub loc: Loc,
    pub is_load: bool,
    /// Some of the evaluations are speculative loads.
    pub is_speculative: bool,
    /// Evaluations in the profiled runs.
    pub before: u64,
    pub after: u64,
    /// Estimated cycles of the profiled runs that are saved.
    pub cycles: f64,
    /// The blocks that evaluate it now.
    pub blocks: Vec<Block>,
}

/// Rounds over all expressions.
const ROUNDS: usize = 4;

/// Equal operations with equal operands compute the same.
#[derive(Clone, PartialEq, Debug)]
struct Expression {
    op: Op,
    args: SmallVec<[Value; 4]>,
    ty: Type,
    /// In the order of the text.
    places: Vec<(Block, Inst)>,
}

impl Expression {
    fn is_load(&self) -> bool {
        matches!(self.op, Op::Load(_))
    }
}

/// The evaluations of an expression in a block, with what changes it there.
#[derive(Clone, PartialEq, Debug, Default)]
struct Within {
    /// Those that see the operands and memory with which the block begins.
    exposed: Vec<Inst>,
    kills: bool,
    /// Those that see what it ends with, behind a change.
    available: Vec<Inst>,
}

/// Evaluates all expressions elsewhere of which that pays.
pub(super) fn speculate(
    work: &mut Work,
    processor: &Processor<'_>,
    terms: Terms<'_>,
) -> Vec<Speculated> {
    let least = terms.least * work.cycles(processor);
    let fixed = fixed(&work.function, terms.pipelined);
    let mut out = Vec::new();
    for _ in 0..ROUNDS {
        let mut changed = false;
        for expression in expressions(&work.function) {
            // An operand may have another name by now.
            let stands = |&(block, inst): &(Block, Inst)| {
                work.function.blocks[block].insts.contains(&inst)
                    && work.function.insts[inst].args == expression.args
            };
            let moves = |(block, _): &(Block, Inst)| !fixed.contains(block);
            if !expression.places.iter().all(|it| stands(it) && moves(it)) {
                continue;
            }
            let tried =
                |may_fault: bool| attempt(work, &expression, processor, &fixed, (least, may_fault));
            let safe = tried(expression.is_load());
            let ahead = (expression.is_load() && terms.ahead).then(|| tried(false));
            let more = |at: &(Work, Speculated)| at.1.cycles;
            // The last of equals is taken.
            let best = ahead
                .flatten()
                .into_iter()
                .chain(safe)
                .max_by(|left, right| more(left).total_cmp(&more(right)));
            if let Some((after, done)) = best {
                *work = after;
                out.push(done);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    out
}

/// The blocks of some loops.
fn fixed(function: &Function, headers: &[Block]) -> FxHashSet<Block> {
    let forest = LoopForest::new(&ControlFlow::new(function));
    let own: Vec<_> = headers
        .iter()
        .filter_map(|&header| forest.of(header))
        .collect();
    let inside = |block: &Block| own.iter().any(|&own| forest.contains(own, *block));
    function.layout.iter().copied().filter(inside).collect()
}

/// Expressions of which an evaluation may be redundant, in the order of the layout.
fn expressions(function: &Function) -> Vec<Expression> {
    let mut known: FxHashMap<(SmallVec<[Value; 4]>, Type), Vec<usize>> = FxHashMap::default();
    let mut out: Vec<Expression> = Vec::new();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let [result] = data.results[..] else { continue };
            let ty = function.ty(result);
            let plain = |access: MemoryAccess| !access.volatile && access.speculation.is_none();
            let load = matches!(data.op, Op::Load(access) if plain(access)) && data.guard.is_none();
            let wanted = (is_pure(data) || load) && ty != Type::Bool && !data.args.is_empty();
            if !wanted {
                continue;
            }
            let same = known.entry((data.args.clone(), ty)).or_default();
            let found = same.iter().find(|&&at| out[at].op == data.op);
            match found {
                Some(&at) => out[at].places.push((block, inst)),
                None => {
                    same.push(out.len());
                    out.push(Expression {
                        op: data.op.clone(),
                        args: data.args.clone(),
                        ty,
                        places: vec![(block, inst)],
                    });
                }
            }
        }
    }
    out
}

fn attempt(
    work: &Work,
    expression: &Expression,
    processor: &Processor<'_>,
    fixed: &FxHashSet<Block>,
    (least, may_fault): (f64, bool),
) -> Option<(Work, Speculated)> {
    let function = &work.function;
    let executions = work.executions();
    let count = |block: Block| executions[block.index()];
    let homes = homes(function, expression);
    let before: u64 = expression
        .places
        .iter()
        .map(|&(block, _)| count(block))
        .sum();
    // It is evaluated at least once behind its last operand, or never.
    let often = homes.iter().map(|&home| count(home)).min();
    let alone = expression.places.len() < 2 && often.is_none_or(|often| before <= often);
    if alone || before == 0 {
        return None;
    }
    let (&(_, inst), _) = expression.places.split_first()?;
    if processor.cost(function, inst).slots <= 0.0 {
        return None;
    }
    let flow = ControlFlow::new(function);
    let within = within(function, expression, &homes);
    let problem = problem(work, &flow, &within, may_fault);
    let placed = place_fewest(&problem).ok()?;
    let mut after = work.clone();
    let placing = Placing {
        flow: &flow,
        expression,
        within: &within,
        problem: &problem,
        placed: &placed,
        wanted: problem.wanted(),
    };
    let blocks = placing.apply(&mut after.function);
    let cycles = work.saved(&after, processor);
    if cycles < least || blocks.iter().any(|block| fixed.contains(block)) {
        return None;
    }
    let done = Speculated {
        loc: function.insts[inst].loc,
        is_load: expression.is_load(),
        is_speculative: placing.is_speculative(),
        before: placed.before,
        after: placed.after,
        cycles,
        blocks,
    };
    Some((after, done))
}

/// The blocks that define operands which are no constants.
fn homes(function: &Function, expression: &Expression) -> Vec<Block> {
    let defined = function.definition_blocks();
    let operands = expression.args.iter();
    let mut out: Vec<Block> = operands
        .filter(|&&value| !is_constant(function, value))
        .filter_map(|&value| defined[value])
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// The blocks that evaluate or change the expression.
fn within(
    function: &Function,
    expression: &Expression,
    homes: &[Block],
) -> FxHashMap<Block, Within> {
    let mut out: FxHashMap<Block, Within> = FxHashMap::default();
    for &home in homes {
        out.entry(home).or_default().kills = true;
    }
    let clobbers = expression.is_load().then(|| Clobbers::new(function));
    let (_, load) = expression.places[0];
    let changes = |inst: Inst| {
        let clobbers = clobbers.as_ref();
        clobbers.is_some_and(|clobbers| clobbers.changes(function, inst, load))
    };
    let mut places = expression.places.iter().peekable();
    for &block in &function.layout {
        if clobbers.is_none() && places.peek().is_none_or(|place| place.0 != block) {
            continue;
        }
        let mut own = out.remove(&block).unwrap_or_default();
        for &inst in &function.blocks[block].insts {
            if places.next_if(|place| place.1 == inst).is_some() {
                match own.kills {
                    true => own.available.push(inst),
                    false => own.exposed.push(inst),
                }
            } else if changes(inst) {
                own.kills = true;
                own.available.clear();
            }
        }
        if own != Within::default() {
            out.insert(block, own);
        }
    }
    out
}

/// The flow graph with its counts as one expression sees it; nodes by the number of their block.
fn problem(
    work: &Work,
    flow: &ControlFlow,
    within: &FxHashMap<Block, Within>,
    may_fault: bool,
) -> Problem {
    let blocks = flow.successors.len();
    let mut out = Problem {
        entry: flow.order[0].index(),
        entries: 0,
        successors: flow
            .successors
            .values()
            .map(|all| all.iter().map(|to| to.index()).collect())
            .collect(),
        taken: flow
            .successors
            .values()
            .map(|all| vec![0; all.len()])
            .collect(),
        blocks: vec![Local::default(); blocks],
        may_fault,
    };
    for way in &work.ways {
        if !way.resumes {
            out.entries = out.entries.saturating_add(way.count);
        }
        let behind = way.blocks.iter().skip(1).copied().chain(way.returns_to);
        for (&from, to) in way.blocks.iter().zip(behind) {
            if let Some(edge) = flow.successors[from].iter().position(|&it| it == to) {
                let count = &mut out.taken[from.index()][edge];
                *count = count.saturating_add(way.count);
            }
        }
    }
    for (block, own) in within {
        out.blocks[block.index()] = Local {
            uses: !own.exposed.is_empty(),
            kills: own.kills,
            defines: !own.available.is_empty(),
        };
    }
    out
}

/// A placement of an expression in a function.
struct Placing<'p> {
    flow: &'p ControlFlow,
    expression: &'p Expression,
    within: &'p FxHashMap<Block, Within>,
    problem: &'p Problem,
    placed: &'p Placed,
    /// Of each block: an evaluation at its start is one that would have come anyway.
    wanted: Vec<bool>,
}

impl Placing<'_> {
    /// Returns true if an evaluation at a spot might fault in vain.
    fn is_ahead(&self, spot: Spot) -> bool {
        let successors = &self.problem.successors;
        let to = match spot {
            Spot::Entry => self.problem.entry,
            Spot::Start(block) => block,
            Spot::End(block) => successors[block][0],
            Spot::Edge(block, edge) => successors[block][edge],
        };
        self.expression.is_load() && !self.wanted[to]
    }

    fn is_speculative(&self) -> bool {
        let spots = self.placed.spots(self.problem);
        spots.into_iter().any(|spot| self.is_ahead(spot))
    }

    /// Returns for each block whether the value at its start may be one that a speculative load marked.
    fn marked(&self) -> Vec<bool> {
        let blocks = self.problem.successors.len();
        let (mut starts, mut ends) = (vec![None; blocks], vec![None; blocks]);
        for spot in self.placed.spots(self.problem) {
            let ahead = Some(self.is_ahead(spot));
            match spot {
                Spot::Entry => starts[self.problem.entry] = ahead,
                Spot::Start(block) => starts[block] = ahead,
                Spot::End(block) | Spot::Edge(block, _) => ends[block] = ahead,
            }
        }
        let mut marked = vec![false; blocks];
        marked[self.problem.entry] = starts[self.problem.entry] == Some(true);
        // It only ever turns to true.
        loop {
            let mut changed = false;
            for block in 0..blocks {
                let local = self.problem.blocks[block];
                // A use is an evaluation or a check.
                let settled = local.uses || local.kills;
                let end = ends[block].unwrap_or(marked[block] && !settled);
                for &to in &self.problem.successors[block] {
                    let there = starts[to].unwrap_or(end);
                    changed |= there && !marked[to];
                    marked[to] |= there;
                }
            }
            if !changed {
                break;
            }
        }
        marked
    }

    /// Returns the blocks that evaluate the expression now.
    fn apply(&self, function: &mut Function) -> Vec<Block> {
        let (expression, placed) = (self.expression, self.placed);
        let marked = self.marked();
        let mut variable = Variable::default();
        let mut blocks = Vec::new();
        let mut gone = Vec::new();
        let mut checks = Vec::new();
        for &block in &function.layout {
            let Some(own) = self.within.get(&block) else {
                continue;
            };
            let stays = placed.deleted.binary_search(&block.index()).is_err();
            let checked = !stays && marked[block.index()];
            if checked {
                checks.push((block, own.exposed[0]));
                let others = &own.exposed[1..];
                gone.extend(others.iter().map(|&inst| (block, inst)));
            } else if !stays {
                gone.extend(own.exposed.iter().map(|&inst| (block, inst)));
            } else if !own.exposed.is_empty() {
                blocks.push(block);
            }
            if !own.available.is_empty() {
                blocks.push(block);
            }
            let exposed = own
                .exposed
                .first()
                .filter(|_| (stays || checked) && !own.kills);
            if let Some(&inst) = own.available.last().or(exposed) {
                variable.ends.insert(block, function.insts[inst].results[0]);
            }
        }
        let loc = expression
            .places
            .first()
            .map_or(Loc::NONE, |&(_, inst)| function.insts[inst].loc);
        for spot in placed.spots(self.problem) {
            let (block, at_end) = match spot {
                Spot::Entry => (function.entry(), false),
                Spot::Start(block) => (Block::new(block), false),
                // Edges of branches have blocks of their own.
                Spot::End(block) | Spot::Edge(block, _) => (Block::new(block), true),
            };
            let op =
                speculative(&expression.op, Speculation::Ahead).filter(|_| self.is_ahead(spot));
            let op = op.unwrap_or_else(|| expression.op.clone());
            let (insts, value) = evaluation(function, expression, op, loc);
            let all = &mut function.blocks[block].insts;
            let at = if at_end { all.len() } else { 0 };
            all.splice(at..at, insts);
            match at_end {
                true => variable.ends.insert(block, value),
                false => variable.starts.insert(block, value),
            };
            blocks.push(block);
        }
        let mut repair = Repair::new(self.flow, &variable, expression.ty);
        let mut names: FxHashMap<Value, Value> = FxHashMap::default();
        for &(block, inst) in &checks {
            let value = repair.read(function, block);
            let data = &mut function.insts[inst];
            data.args.push(value);
            if let Some(op) = speculative(&data.op, Speculation::Check) {
                data.op = op;
            }
        }
        for &(block, inst) in &gone {
            let check = checks.iter().find(|check| check.0 == block);
            let value = match check {
                Some(&(_, check)) => function.insts[check].results[0],
                None => repair.read(function, block),
            };
            names.insert(function.insts[inst].results[0], value);
            function.blocks[block].insts.retain(|&it| it != inst);
        }
        let all = function.layout.clone();
        let named = |value: Value| names.get(&value).copied().unwrap_or(value);
        edit::replace(function, &mut all.into_iter(), &named);
        blocks
    }
}

/// The part of a load in a speculative one; `None` for other operations.
fn speculative(op: &Op, part: Speculation) -> Option<Op> {
    match *op {
        Op::Load(access) => Some(Op::Load(MemoryAccess {
            speculation: Some(part),
            ..access
        })),
        _ => None,
    }
}

/// An evaluation of the expression as this operation, with constants of its own.
fn evaluation(
    function: &mut Function,
    expression: &Expression,
    evaluated: Op,
    loc: Loc,
) -> (Vec<Inst>, Value) {
    let mut out = Vec::new();
    let mut args = expression.args.clone();
    for arg in &mut args {
        if is_constant(function, *arg)
            && let Some(data) = function.defining(*arg)
        {
            let op = data.op.clone();
            let ty = function.ty(*arg);
            let (inst, value) = edit::computed(function, op, &[], ty, loc);
            out.push(inst);
            *arg = value;
        }
    }
    let (inst, value) = edit::computed(function, evaluated, &args, expression.ty, loc);
    out.push(inst);
    (out, value)
}
