//! Why a value is not uniform: for each the next step on a shortest way to a source, by one breadth-first walk from all
//! sources along the dependences that carry the same level.

use super::engine::{DISPATCH, Engine, Level};
use crate::model::Cause;
use ir::{Block, EntityVec, Op, Value};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

pub(crate) fn find(engine: &Engine<'_>) -> EntityVec<Value, Cause> {
    let function = engine.function;
    let mut causes: EntityVec<Value, Cause> =
        EntityVec::with_len(Cause::None, function.values.len());
    let mut queue: VecDeque<Value> = VecDeque::new();
    let mut selectors: FxHashMap<Value, Vec<Block>> = FxHashMap::default();
    for &block in &engine.flow.order {
        if let Some(selector) = function.blocks[block].terminator.selector()
            && engine.branch_level[block] < DISPATCH
        {
            selectors.entry(selector).or_default().push(block);
        }
    }
    let open = |causes: &EntityVec<Value, Cause>, value: Value| {
        causes[value] == Cause::None
            && engine.level[value] < DISPATCH
            && engine.block_of[value].is_some()
    };
    for &block in &engine.flow.order {
        let data = &function.blocks[block];
        if block == function.entry() {
            for &param in &data.params {
                if open(&causes, param) {
                    causes[param] = Cause::Source;
                    queue.push_back(param);
                }
            }
        }
        for &inst in &data.insts {
            let inst = &function.insts[inst];
            for &result in &inst.results {
                let least = inst
                    .args
                    .iter()
                    .chain(inst.guard.as_ref().map(|g| &g.value))
                    .map(|&a| engine.level_at(a, block))
                    .min()
                    .unwrap_or(DISPATCH);
                if open(&causes, result) && engine.level[result] < least {
                    causes[result] = match inst.op {
                        Op::Load(_) => inst
                            .args
                            .first()
                            .map_or(Cause::Source, |&a| Cause::Memory(a)),
                        _ => Cause::Source,
                    };
                    queue.push_back(result);
                }
            }
        }
    }
    while let Some(value) = queue.pop_front() {
        // Operands.
        for &node in &engine.users[value.0 as usize] {
            for (user, block) in engine.results_of(node) {
                if open(&causes, user) && engine.level_at(value, block) <= engine.level[user] {
                    let load = matches!(function.defining(user).map(|d| &d.op), Some(Op::Load(_)));
                    causes[user] = match leaves(engine, value, block) {
                        Some(cause) if engine.level_at(value, block) < engine.level[value] => cause,
                        _ if load => Cause::Memory(value),
                        _ => Cause::Operand(value),
                    };
                    queue.push_back(user);
                }
            }
        }
        // Branches that it decides.
        let Some(blocks) = selectors.get(&value) else {
            continue;
        };
        for &branch in blocks {
            let level = engine.branch_level[branch];
            let Some(gates) = engine.gates.get(&branch) else {
                continue;
            };
            for &join in &gates.joins {
                for &param in &function.blocks[join].params {
                    if open(&causes, param) && level <= engine.level[param] {
                        causes[param] = Cause::Branch(branch);
                        queue.push_back(param);
                    }
                }
            }
        }
    }
    // What is left: values that lanes left a loop with, cancelled forms, irreducible loops.
    for &block in &engine.flow.order {
        let data = &function.blocks[block];
        for &param in &data.params {
            if open(&causes, param) {
                causes[param] = fallback(engine, block, engine.incoming[param].iter().map(|i| i.1));
            }
        }
        for &inst in &data.insts {
            let inst = &function.insts[inst];
            for &result in &inst.results {
                if open(&causes, result) {
                    causes[result] = fallback(engine, block, inst.args.iter().copied());
                }
            }
        }
    }
    causes
}

fn fallback(engine: &Engine<'_>, block: Block, args: impl Iterator<Item = Value>) -> Cause {
    let mut worst: Option<(Level, Value)> = None;
    for arg in args {
        let level = engine.level_at(arg, block);
        if worst.is_none_or(|(w, _)| level < w) {
            worst = Some((level, arg));
        }
    }
    match worst {
        Some((level, arg)) if level < DISPATCH => {
            if level < engine.level[arg] {
                leaves(engine, arg, block).unwrap_or(Cause::Operand(arg))
            } else {
                Cause::Operand(arg)
            }
        }
        _ => engine
            .flow
            .order
            .iter()
            .copied()
            .filter(|&b| {
                engine.branch_level[b] < DISPATCH
                    && engine.gates.get(&b).is_some_and(|g| {
                        g.coarse
                            || g.joins.binary_search(&block).is_ok()
                            || g.tainted.iter().any(|&l| engine.forest.contains(l, block))
                    })
            })
            .min_by_key(|&b| engine.branch_level[b])
            .map_or(Cause::Source, Cause::Branch),
    }
}

/// The loop that lanes leave in different iterations between a value's definition and its use in `block`.
pub(crate) fn leaves(engine: &Engine<'_>, value: Value, block: Block) -> Option<Cause> {
    let definition = engine.block_of[value]?;
    engine.varies[value]?;
    let mut best: Option<(Level, Cause)> = None;
    for l in engine.forest.around(definition) {
        if engine.forest.contains(l, block) {
            break;
        }
        let level = engine.taint[l];
        if level < DISPATCH
            && best.is_none_or(|(b, _)| level < b)
            && let Some(exit) = exit_of(engine, l)
        {
            best = Some((
                level,
                Cause::LeavesLoop {
                    header: engine.forest.loops[l].header,
                    exit,
                    value,
                },
            ));
        }
    }
    best.map(|b| b.1)
}

/// The branch because of which lanes leave a loop in different iterations.
pub(crate) fn exit_of(engine: &Engine<'_>, l: ir::loops::LoopId) -> Option<Block> {
    engine.exits_by_loop.get(&l).and_then(|b| {
        b.iter()
            .copied()
            .min_by_key(|&b| (engine.branch_level[b], b))
    })
}

impl Engine<'_> {
    /// The values that a node computes, with the block in which it reads.
    pub(crate) fn results_of(&self, node: u32) -> smallvec::SmallVec<[(Value, Block); 2]> {
        use super::engine::Node;
        match self.nodes[node as usize] {
            Node::Param(block, index) => {
                smallvec::smallvec![(self.function.blocks[block].params[index as usize], block)]
            }
            Node::Inst(block, inst) => self.function.insts[inst]
                .results
                .iter()
                .map(|&r| (r, block))
                .collect(),
            Node::Terminator(_) => smallvec::SmallVec::new(),
        }
    }
}
