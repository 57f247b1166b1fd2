//! Partly dead values, computed where they are read; past a meeting of ways under a flag, where the profile says that it pays.
//!
//! ```text
//! b1: v = f(a); jump b3(v)              b1: jump b3(true)
//! b2: jump b3(0)                        b2: jump b3(false)
//! b3(x): branch b, b4, b5         ->    b3(p): branch b, b4, b5
//! b4: use(x)                            b4: branch p, b6, b7 | b6: v = f(a); jump b7(v) | b7(x): use(x)
//! ```
//!
//! What is moved is a result with all that only it needs, as far as it stands in the same block. `region` is the graph, `web`
//! the values that are the same variable, `facts::partial_dead` chooses the places, `repair` gives the readers
//! their values. A predicated processor needs no branch for the copies under a flag: `predicate::hammocks` removes
//! them.
//!
//! Moved are operations that compute, and loads that no store, call or barrier on the way may change. Flags
//! are only used where each way was recorded as a whole, so not past inner loops.
//!
//! Source: Gupta, Berson, Fang, *Path Profile Guided Partial Dead Code Elimination Using Predication*, PACT 1997.

use super::Terms;
use super::memory::Clobbers;
use super::price::Processor;
use super::region::{Region, Role};
use super::repair::{Repair, Variable, without_params};
use super::ways::{Way, Work};
use super::web::{Passed, liveness, passed, web};
use crate::prepare::edit;
use facts::partial_dead::{NodeKind, PathSets, Prices, Problem, Sinking, choose, joined, walk};
use facts::paths::Unread;
use fixedbitset::FixedBitSet;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::entity::Entity;
use ir::liveness::Liveness;
use ir::loops::LoopForest;
use ir::{
    Block, BlockData, BranchKind, Edge, EntityVec, Function, Inst, Loc, Op, Terminator, Type, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A value that was moved.
#[derive(Clone, PartialEq, Debug)]
pub struct Sunk {
    pub loc: Loc,
    /// Copies that execute under a flag.
    pub flagged: usize,
    /// Executions in the profiled runs.
    pub before: u64,
    pub executed: u64,
    /// Executions of copies whose flag was false.
    pub suppressed: u64,
    /// Estimated cycles of the profiled runs that are saved.
    pub cycles: f64,
    /// The blocks of the copies.
    pub blocks: Vec<Block>,
}

/// A value that may be moved.
#[derive(Clone, Copy)]
struct Place {
    home: Block,
    root: Inst,
    /// The executions of which something reads the result, at least.
    read: u64,
}

/// Instructions that move with a result, in their order.
type Group = Vec<Inst>;

/// The state that candidates share until one of them moves.
struct Analyses {
    flow: ControlFlow,
    forest: LoopForest,
    live: Liveness<Value>,
    passed: Passed,
    clobbers: Clobbers,
    /// The instructions that read each value, and how often terminators do.
    readers: FxHashMap<Value, Vec<Inst>>,
    ends: FxHashMap<Value, u32>,
}

impl Analyses {
    fn new(function: &Function) -> Analyses {
        let flow = ControlFlow::new(function);
        let mut readers: FxHashMap<Value, Vec<Inst>> = FxHashMap::default();
        let mut ends: FxHashMap<Value, u32> = FxHashMap::default();
        for &block in &function.layout {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                for value in function.insts[inst].operands() {
                    readers.entry(value).or_default().push(inst);
                }
            }
            for value in data.terminator.operands() {
                *ends.entry(value).or_default() += 1;
            }
        }
        Analyses {
            forest: LoopForest::new(&flow),
            live: liveness(function, &flow),
            passed: passed(function),
            clobbers: Clobbers::new(function),
            flow,
            readers,
            ends,
        }
    }
}

/// Moves all values of which that pays, uses before what they need.
pub(super) fn sink(
    work: &mut Work,
    unread: &EntityVec<Inst, Unread>,
    processor: &Processor<'_>,
    terms: Terms<'_>,
) -> Vec<Sunk> {
    let total = work.cycles(processor);
    let mut out = Vec::new();
    let mut now = Analyses::new(&work.function);
    let order: Vec<Block> = now.flow.order.iter().rev().copied().collect();
    for block in order {
        for inst in work.function.blocks[block].insts.clone().into_iter().rev() {
            let Some(unread) = unread.get(inst).filter(|it| it.most > 0) else {
                continue;
            };
            let place = Place {
                home: block,
                root: inst,
                read: unread.executions.saturating_sub(unread.most),
            };
            let Some(moved) = attempt(work, &now, place, processor, terms, total) else {
                continue;
            };
            *work = moved.0;
            out.push(moved.1);
            now = Analyses::new(&work.function);
        }
    }
    out
}

/// Returns true for an operation that can be executed elsewhere, with the same operands.
fn is_movable(function: &Function, inst: Inst) -> bool {
    let data = &function.insts[inst];
    match &data.op {
        Op::Load(access) => {
            let plain = !access.volatile && access.speculation.is_none();
            plain && data.guard.is_none() && data.results.len() == 1
        }
        Op::Const(_) => true,
        _ => crate::prepare::is_pure(data),
    }
}

/// The result of an instruction, with everything in front of it in its block that nothing else needs.
fn group(function: &Function, now: &Analyses, block: Block, root: Inst) -> Group {
    let clobbers = &now.clobbers;
    let insts = &function.blocks[block].insts;
    let at = insts.iter().position(|&inst| inst == root).unwrap_or(0);
    let mut own: FxHashSet<Inst> = FxHashSet::default();
    own.insert(root);
    let mut group = vec![root];
    // Stores between an instruction and the root.
    let mut between: Vec<Inst> = Vec::new();
    for &inst in insts[..at].iter().rev() {
        if clobbers.changes_memory(function, inst) {
            between.push(inst);
        }
        let data = &function.insts[inst];
        let alone = !data.results.is_empty()
            && data.results.iter().all(|result| {
                !now.ends.contains_key(result)
                    && now
                        .readers
                        .get(result)
                        .is_some_and(|all| all.iter().all(|reader| own.contains(reader)))
            });
        let stays = || {
            let mut between = between.iter();
            between.any(|&store| clobbers.changes(function, store, inst))
        };
        if alone && is_movable(function, inst) && !stays() {
            own.insert(inst);
            group.push(inst);
        }
    }
    group.reverse();
    group
}

/// The place of a copy: in front of everything in a block, or behind it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Spot {
    block: Block,
    at_end: bool,
}

#[derive(Clone, Copy, Debug)]
struct Copy {
    spot: Spot,
    /// It reads the flag.
    guarded: bool,
    /// Nothing reads the value: the flag alone is reset.
    hollow: bool,
}

/// The better of both: with the loads that only it needs, and without them, since a store may keep them where they are.
fn attempt(
    work: &Work,
    now: &Analyses,
    place: Place,
    processor: &Processor<'_>,
    terms: Terms<'_>,
    total: f64,
) -> Option<(Work, Sunk)> {
    let function = &work.function;
    let Place { home, root, .. } = place;
    let group = group(function, now, home, root);
    let is_load = |&inst: &Inst| matches!(function.insts[inst].op, Op::Load(_));
    let mut best = moved(work, now, place, &group, processor, terms, total);
    if group.iter().any(is_load) && !is_load(&root) {
        let left = without_loads(function, now, &group);
        let other = moved(work, now, place, &left, processor, terms, total);
        let gain = |made: &Option<(Work, Sunk)>| made.as_ref().map(|it| it.1.cycles);
        if gain(&other) > gain(&best) {
            best = other;
        }
    }
    best
}

/// A group without its loads, and without what these need.
fn without_loads(function: &Function, now: &Analyses, group: &Group) -> Group {
    let mut own: FxHashSet<Inst> = FxHashSet::default();
    let mut out = Vec::new();
    for (at, &inst) in group.iter().enumerate().rev() {
        let data = &function.insts[inst];
        let alone = data.results.iter().all(|result| {
            let readers = now.readers.get(result);
            readers.is_some_and(|all| all.iter().all(|reader| own.contains(reader)))
        });
        if at + 1 == group.len() || alone && !matches!(data.op, Op::Load(_)) {
            own.insert(inst);
            out.push(inst);
        }
    }
    out.reverse();
    out
}

fn moved(
    work: &Work,
    now: &Analyses,
    place: Place,
    group: &Group,
    processor: &Processor<'_>,
    terms: Terms<'_>,
    total: f64,
) -> Option<(Work, Sunk)> {
    let function = &work.function;
    let Place { home, root, read } = place;
    let data = &function.insts[root];
    let [value] = data.results[..] else {
        return None;
    };
    let free = matches!(data.op, Op::Const(_)) || function.ty(value) == Type::Bool;
    if free || !is_movable(function, root) {
        return None;
    }
    let own: FxHashSet<Inst> = group.iter().copied().collect();
    let region = Region::around(&now.flow, &now.forest, home)?;
    // Where iterations overlap, a predicate saves nothing: what is moved must leave the loop.
    let overlaps = terms.pipelined.contains(&region.first);
    let web = web(
        function,
        &region,
        &now.live,
        &now.passed,
        (home, root, value),
    );
    let kinds = kinds(work, now, &region, group, &web);
    let rest = region.statement + 1;
    // What follows it in its block keeps it there.
    if kinds[rest].blocks() {
        return None;
    }
    let ways = region.ways(work)?;
    if !ways
        .paths
        .iter()
        .any(|(path, _)| path.contains(&region.statement))
    {
        return None;
    }
    let problem = Problem::new(
        region.nodes[&region.first],
        kinds,
        region.successors.clone(),
        false,
        ways.paths,
    )
    .ok()?;
    let slots = || group.iter().map(|&inst| processor.cost(function, inst));
    let issue = processor.issue(slots().map(|cost| cost.slots).sum());
    let prices = Prices {
        statement: issue + slots().map(|cost| cost.span).fold(0.0, f64::max),
        suppressed: issue,
        predicate: processor.issue(1.0),
    };
    if prices.statement <= 0.0 {
        return None;
    }
    let sets = PathSets::new(&problem);
    let none = FixedBitSet::with_capacity(region.blocks.len());
    let plain = Sinking::new(&problem, &sets, &none);
    // Where nothing is computed in vain without a flag, none gains more.
    let wanted = terms.flags && ways.whole && walk(&problem, &plain).executed > read;
    let flagged = wanted.then(|| choose(&problem, &sets, prices).sinking);
    let mut best: Option<(Work, Sunk)> = None;
    for sinking in std::iter::once(plain).chain(flagged) {
        let walked = walk(&problem, &sinking);
        if walked.removed() <= 0 {
            continue;
        }
        let Some(copies) = copies(now, &region, &sinking) else {
            continue;
        };
        let outside = |copy: &Copy| {
            let node = region.nodes.get(&copy.spot.block);
            copy.hollow || node.is_some_and(|&node| region.roles[node] == Role::Exit)
        };
        if overlaps && !copies.iter().all(outside) {
            continue;
        }
        let mut after = work.clone();
        let placed = apply(&mut after, &region, (group, &own, value), &web, &copies);
        let cycles = match overlaps {
            true => walked.net(prices) - walked.before as f64 * (prices.statement - issue),
            false => work.saved(&after, processor),
        };
        if cycles < total * terms.least || best.as_ref().is_some_and(|it| it.1.cycles >= cycles) {
            continue;
        }
        let sunk = Sunk {
            loc: data.loc,
            flagged: copies.iter().filter(|it| it.guarded).count(),
            before: walked.before,
            executed: walked.executed,
            suppressed: walked.suppressed,
            cycles,
            blocks: placed,
        };
        best = Some((after, sunk));
    }
    best
}

/// The effects of the nodes on the variable and on the operands of what is moved.
fn kinds(
    work: &Work,
    now: &Analyses,
    region: &Region,
    group: &[Inst],
    web: &FxHashSet<Value>,
) -> Vec<NodeKind> {
    let function = &work.function;
    let root = group.last().copied();
    let loads: Vec<Inst> = group
        .iter()
        .copied()
        .filter(|&inst| matches!(function.insts[inst].op, Op::Load(_)))
        .collect();
    let mut out = vec![NodeKind::default(); region.blocks.len()];
    let changes = |inst: Inst| {
        loads
            .iter()
            .any(|&load| now.clobbers.changes(function, inst, load))
    };
    for (&block, &node) in &region.nodes {
        if region.roles[node] == Role::Exit {
            let live = &now.live.starts[block.index()];
            out[node].reads |= web.iter().any(|member| live.contains(member));
            continue;
        }
        let data = &function.blocks[block];
        let mut at = node;
        for &inst in &data.insts {
            let kind = &mut out[at];
            if Some(inst) == root {
                kind.is_statement = true;
                at += 1;
                continue;
            }
            let read = function.insts[inst].operands();
            kind.reads |= !group.contains(&inst) && read.into_iter().any(|it| web.contains(&it));
            // In front of the statement, nothing of it is on its way.
            let before = at == region.statement && node == region.statement;
            kind.changes_operand |= !before && changes(inst);
        }
        let kind = &mut out[at];
        kind.reads |= data.terminator.reads().iter().any(|it| web.contains(it));
        if let Terminator::Jump(edge) = &data.terminator {
            let params = &function.blocks[edge.block].params;
            for (param, arg) in params.iter().zip(&edge.args) {
                match (web.contains(param), web.contains(arg)) {
                    (false, true) => kind.reads = true,
                    (true, false) => kind.defines = true,
                    _ => {}
                }
            }
        }
    }
    out
}

/// The copies of a choice with their places. `None`: one of them has none.
fn copies(now: &Analyses, region: &Region, sinking: &Sinking) -> Option<Vec<Copy>> {
    let nodes = region.blocks.len();
    let heads = (0..nodes)
        .filter(|&node| region.is_plain(node) && region.successors[node].len() > 1)
        .filter(|&node| node != region.statement + 1);
    let mut out = Vec::new();
    for (node, entry) in joined(&region.successors, sinking, region.statement, heads) {
        let (kept, certain) = match entry {
            true => (sinking.kept.entry[node], sinking.certain.entry[node]),
            false => (sinking.kept.exit[node], sinking.certain.exit[node]),
        };
        let merged = entry && !sinking.inserted.entry[node];
        let at_home = node == region.statement || node == region.statement + 1;
        let spot = match (entry, region.roles[node]) {
            (true, _) if at_home => return None,
            (true, Role::Loop) => Spot {
                block: region.before(&now.flow, node)?,
                at_end: true,
            },
            (false, Role::Loop) => return None,
            (entry, _) => Spot {
                block: region.blocks[node],
                at_end: !entry,
            },
        };
        out.push(Copy {
            spot,
            guarded: kept && !merged && !certain,
            hollow: !kept && !merged,
        });
    }
    out.sort_by_key(|copy| copy.spot);
    Some(out)
}

/// Moves the group. Returns the blocks of its copies.
fn apply(
    work: &mut Work,
    region: &Region,
    (group, own, value): (&Group, &FxHashSet<Inst>, Value),
    web: &FxHashSet<Value>,
    copies: &[Copy],
) -> Vec<Block> {
    let home = region.blocks[region.statement];
    let flags = copies.iter().any(|copy| copy.guarded);
    let ty = work.function.ty(value);
    let mut variable = Variable::default();
    let mut flag = Variable::default();
    // The ways on which each guarded copy executes are those of the blocks as they stand.
    let pending = pending(work, region, copies, home);
    let function = &mut work.function;
    function.blocks[home]
        .insts
        .retain(|inst| !own.contains(inst));
    let homes: FxHashSet<Block> = web
        .iter()
        .filter_map(|&member| match function.values[member].def {
            ir::ValueDef::Param(block, _) => Some(block),
            ir::ValueDef::Result(..) => None,
        })
        .collect();
    let mut homes: Vec<Block> = homes.into_iter().collect();
    homes.sort_unstable();
    for block in homes {
        for (from, _, arg) in without_params(function, block, &|param| web.contains(&param)) {
            if !web.contains(&arg) {
                variable.ends.insert(from, arg);
            }
        }
    }
    let constants = flags.then(|| {
        let entry = function.entry();
        [0, 1].map(|bits| {
            let (inst, value) =
                edit::computed(function, Op::Const(bits), &[], Type::Bool, Loc::NONE);
            function.blocks[entry].insts.insert(0, inst);
            value
        })
    });
    if let Some([no, yes]) = constants {
        flag.starts.insert(region.first, no);
        flag.ends.insert(home, yes);
    }
    let mut placed = Vec::new();
    let mut guarded = Vec::new();
    let mut past = Vec::new();
    // The parts in which blocks end that were divided.
    let mut parts: FxHashMap<Block, Block> = FxHashMap::default();
    for (number, copy) in copies.iter().enumerate() {
        let Spot { mut block, at_end } = copy.spot;
        if at_end {
            block = parts.get(&block).copied().unwrap_or(block);
        }
        if let Some([no, _]) = constants {
            let resets = match at_end {
                true => &mut flag.ends,
                false => &mut flag.starts,
            };
            if !copy.guarded {
                resets.entry(block).or_insert(no);
            }
        }
        if copy.hollow {
            continue;
        }
        if !copy.guarded {
            let (insts, result) = again(&mut work.function, group, value);
            let all = &mut work.function.blocks[block].insts;
            let at = if at_end { all.len() } else { 0 };
            all.splice(at..at, insts);
            match at_end {
                true => variable.ends.entry(block).or_insert(result),
                false => variable.starts.entry(block).or_insert(result),
            };
            placed.push(block);
            continue;
        }
        let (copy_block, skip, rest) = hammock(work, block, at_end);
        parts.insert(copy.spot.block, rest);
        let (insts, result) = again(&mut work.function, group, value);
        work.function.blocks[copy_block].insts = insts;
        variable.ends.insert(copy_block, result);
        if let Some([no, _]) = constants {
            flag.starts.insert(rest, no);
        }
        // What stood at the end of the block stands at the end of its second part.
        for ends in [&mut variable.ends, &mut flag.ends] {
            if let Some(moved) = ends.remove(&block) {
                ends.insert(rest, moved);
            }
        }
        for (way, executes) in work.ways.iter_mut().zip(&pending) {
            // Several ways through the block do not occur on one way.
            let Some(at) = way.blocks.iter().position(|&it| it == block) else {
                continue;
            };
            let taken = match executes.contains(number) {
                true => copy_block,
                false => skip,
            };
            way.blocks.splice(at + 1..at + 1, [taken, rest]);
        }
        guarded.push(block);
        placed.push(copy_block);
        past.push(copy_block);
    }
    let flow = ControlFlow::new(&work.function);
    let mut values = Repair::new(&flow, &variable, ty);
    let mut flags = Repair::new(&flow, &flag, Type::Bool);
    let function = &mut work.function;
    for block in function.layout.clone() {
        // In a block, all of the variable's names are one value.
        if names(function, block).any(|value| web.contains(&value)) {
            let value = values.read(function, block);
            edit::replace(function, &mut std::iter::once(block), &|it| {
                if web.contains(&it) { value } else { it }
            });
        }
        if guarded.contains(&block) {
            let value = flags.read(function, block);
            if let Terminator::Branch { condition, .. } = &mut function.blocks[block].terminator {
                *condition = value;
            }
        }
    }
    carry(function, &flow, &past);
    placed
}

/// The values that a block reads.
fn names(function: &Function, block: Block) -> impl Iterator<Item = Value> + '_ {
    let data = &function.blocks[block];
    let insts = data.insts.iter();
    let operands = insts.flat_map(|&inst| function.insts[inst].operands());
    operands.chain(data.terminator.operands())
}

/// Takes operands past the meeting of ways that copies were moved past: behind it, they are those of the way that comes from the
/// statement, and of the others nothing.
fn carry(function: &mut Function, flow: &ControlFlow, copies: &[Block]) {
    if copies.is_empty() {
        return;
    }
    let dominators = DominatorTree::dominators(flow);
    let defined = function.definition_blocks();
    let mut operands: BTreeMap<Value, Vec<Block>> = BTreeMap::new();
    for &copy in copies {
        for &inst in &function.blocks[copy].insts {
            for value in function.insts[inst].operands() {
                if defined[value].is_some_and(|home| !dominators.dominates(home, copy)) {
                    operands.entry(value).or_default().push(copy);
                }
            }
        }
    }
    for (value, copies) in operands {
        let Some(home) = defined[value] else { continue };
        let variable = Variable {
            starts: FxHashMap::default(),
            ends: std::iter::once((home, value)).collect(),
        };
        let ty = function.ty(value);
        let mut repair = Repair::new(flow, &variable, ty);
        for copy in copies {
            let arrived = repair.read(function, copy);
            for inst in function.blocks[copy].insts.clone() {
                for operand in function.insts[inst].operands_mut() {
                    if *operand == value {
                        *operand = arrived;
                    }
                }
            }
        }
    }
}

/// Divides a block for a copy: returns the copy's block, the one that is taken instead, and that of what follows. The condition is
/// for the caller to set.
fn hammock(work: &mut Work, block: Block, at_end: bool) -> (Block, Block, Block) {
    let function = &mut work.function;
    let loc = function.blocks[block].loc;
    let branch = std::mem::take(&mut function.blocks[block].branch);
    let terminator = std::mem::replace(&mut function.blocks[block].terminator, Terminator::None);
    let insts = match at_end {
        true => Vec::new(),
        false => std::mem::take(&mut function.blocks[block].insts),
    };
    let rest = function.blocks.push(BlockData {
        params: Vec::new(),
        insts,
        terminator,
        loc,
        branch,
    });
    let at = function.layout.iter().position(|&it| it == block);
    function.layout.insert(at.unwrap_or(0) + 1, rest);
    // The notes on names are about the end of the block.
    for binding in &mut function.bindings {
        if binding.block == block {
            binding.block = rest;
        }
    }
    let copy = work.jump_to(Edge::to(rest));
    let skip = work.jump_to(Edge::to(rest));
    let function = &mut work.function;
    function.blocks[block].terminator = Terminator::Branch {
        condition: Value::new(0),
        then: Edge::to(copy),
        otherwise: Edge::to(skip),
        uniform: false,
    };
    function.blocks[block].branch = BranchKind::Implied;
    (copy, skip, rest)
}

/// A copy of some instructions, and of its values the one for `value`.
fn again(function: &mut Function, group: &Group, value: Value) -> (Vec<Inst>, Value) {
    let mut names: FxHashMap<Value, Value> = FxHashMap::default();
    let mut out = Vec::with_capacity(group.len());
    for &inst in group {
        let mut data = function.insts[inst].clone();
        for operand in data.operands_mut() {
            if let Some(&name) = names.get(operand) {
                *operand = name;
            }
        }
        let old = std::mem::take(&mut data.results);
        let types: Vec<Type> = old.iter().map(|&result| function.ty(result)).collect();
        let (copy, results) = edit::instruction(function, data, &types);
        names.extend(old.into_iter().zip(results));
        out.push(copy);
    }
    (out, names.get(&value).copied().unwrap_or(value))
}

/// The copies that each way executes of those under a flag: the flag is set by the statement, and reset by each copy.
fn pending(work: &Work, region: &Region, copies: &[Copy], home: Block) -> Vec<FixedBitSet> {
    let mut at: FxHashMap<Spot, usize> = FxHashMap::default();
    for (number, copy) in copies.iter().enumerate() {
        at.insert(copy.spot, number);
    }
    let of = |way: &Way| {
        let mut out = FixedBitSet::with_capacity(copies.len());
        let mut is_set = false;
        let mut meet = |is_set: &mut bool, block: Block, at_end: bool| {
            if let Some(&number) = at.get(&Spot { block, at_end }) {
                out.set(number, *is_set);
                *is_set = false;
            }
        };
        for &block in region.part(&way.blocks, way.resumes).unwrap_or_default() {
            meet(&mut is_set, block, false);
            is_set |= block == home;
            meet(&mut is_set, block, true);
        }
        out
    };
    work.ways.iter().map(of).collect()
}
