//! The cause of each value's divergence: for each the next step on a shortest way to a source, by one
//! breadth-first walk from all sources along the dependences that carry the same level.

use super::engine::{DISPATCH, DIVERGENT, Engine, Level, Node};
use crate::model::Cause;
use ir::loops::LoopId;
use ir::{Block, EntityVec, Op, Value};

pub(crate) fn find(engine: &Engine<'_>) -> EntityVec<Value, Cause> {
    let function = engine.function;
    let mut found = Found {
        causes: EntityVec::with_len(Cause::None, function.values.len()),
        order: Vec::new(),
        open: EntityVec::with_len(false, function.values.len()),
    };
    let mut wanted = 0;
    for value in function.values.keys() {
        if engine.level[value] < DISPATCH && engine.home(value).is_some() {
            found.open[value] = true;
            wanted += 1;
        }
    }
    for &param in &function.blocks[function.entry()].params {
        found.add(param, Cause::Source);
    }
    for (node, &at) in (0..).zip(&engine.tables.nodes) {
        let Node::Inst(block, inst) = at else {
            continue;
        };
        if engine.tables.result(node).is_some_and(|r| !found.open[r]) {
            continue;
        }
        let load = inst;
        let inst = &function.insts[inst];
        if inst.results.is_empty() {
            continue;
        }
        let least = inst
            .args
            .iter()
            .chain(inst.guard.as_ref().map(|g| &g.value))
            .map(|&a| engine.level_at(a, block))
            .min()
            .unwrap_or(DISPATCH);
        for &result in &inst.results {
            if engine.level[result] < least {
                let cause = match inst.op {
                    Op::Load(_) | Op::Texture(_)
                        if let (bound, Some(store)) = super::races::bound(engine, block, load)
                            && bound <= engine.level[result] =>
                    {
                        Cause::Race(store)
                    }
                    Op::Load(_) => inst
                        .args
                        .first()
                        .map_or(Cause::Source, |&a| Cause::Memory(a)),
                    _ => Cause::Source,
                };
                found.add(result, cause);
            }
        }
    }
    let mut next = 0;
    while let Some(&value) = found.order.get(next) {
        next += 1;
        // Operands.
        let mut decides = false;
        for &node in engine.users(value) {
            if let Some(user) = engine.tables.result(node) {
                if found.open[user] {
                    carry(engine, &mut found, value, user, node);
                }
                continue;
            }
            match engine.tables.nodes[node as usize] {
                Node::Inst(_, inst) => {
                    for &user in &function.insts[inst].results {
                        if found.open[user] {
                            carry(engine, &mut found, value, user, node);
                        }
                    }
                }
                Node::Terminator(_) => decides = true,
                Node::Param(..) => {}
            }
        }
        if !decides {
            continue;
        }
        // Branches that it decides.
        for &node in engine.users(value) {
            let Node::Terminator(branch) = engine.tables.nodes[node as usize] else {
                continue;
            };
            let level = engine.branch_level[branch];
            let Some(gates) = engine.gates(branch).filter(|_| level < DISPATCH) else {
                continue;
            };
            for &join in &gates.joins {
                for &param in &function.blocks[join].params {
                    if level <= engine.level[param] {
                        found.add(param, Cause::Branch(branch));
                    }
                }
            }
        }
    }
    let Found {
        mut causes,
        order,
        open,
    } = found;
    if order.len() == wanted {
        return causes;
    }
    // The remaining values: values that lanes left a loop with, cancelled forms, irreducible loops.
    let mut deciders = None;
    for (value, _) in open.iter().filter(|&(_, &open)| open) {
        let node = engine.tables.nodes.get(engine.node_of(value) as usize);
        causes[value] = match node.copied() {
            Some(Node::Param(block, _)) => {
                let incoming = engine.tables.incoming(function, value);
                let args = incoming.iter().map(|i| i.1);
                fallback(engine, &mut deciders, block, args)
            }
            Some(Node::Inst(block, inst)) => {
                let args = function.insts[inst].args.iter().copied();
                fallback(engine, &mut deciders, block, args)
            }
            Some(Node::Terminator(_)) | None => continue,
        };
    }
    causes
}

/// The findings of a walk so far.
struct Found {
    causes: EntityVec<Value, Cause>,
    /// All that have a cause, in the order in which they got it.
    order: Vec<Value>,
    /// Values that are to have a cause and have none.
    open: EntityVec<Value, bool>,
}

impl Found {
    fn add(&mut self, value: Value, cause: Cause) {
        if std::mem::take(&mut self.open[value]) {
            self.causes[value] = cause;
            self.order.push(value);
        }
    }
}

/// The step from `user`, which a node computes, to an operand that is no more uniform there.
fn carry(engine: &Engine<'_>, found: &mut Found, value: Value, user: Value, node: u32) {
    let (block, load) = match engine.tables.nodes[node as usize] {
        Node::Param(block, _) => (block, false),
        Node::Inst(block, inst) => (block, matches!(engine.function.insts[inst].op, Op::Load(_))),
        Node::Terminator(_) => return,
    };
    let level = engine.level_at(value, block);
    if level > engine.level[user] {
        return;
    }
    let left = if level < engine.level[value] {
        leaves(engine, value, block)
    } else {
        None
    };
    let step = if load {
        Cause::Memory(value)
    } else {
        Cause::Operand(value)
    };
    found.add(user, left.unwrap_or(step));
}

/// The least uniform branch, and the first of these, for each thing that it decides.
struct Deciders {
    joins: EntityVec<Block, Option<(Level, u32)>>,
    /// The deciders of a loop and of those around it.
    loops: EntityVec<LoopId, Option<(Level, u32)>>,
    everything: Option<(Level, u32)>,
}

fn least(left: Option<(Level, u32)>, right: Option<(Level, u32)>) -> Option<(Level, u32)> {
    left.into_iter().chain(right).min()
}

impl Deciders {
    fn new(engine: &Engine<'_>) -> Deciders {
        let mut deciders = Deciders {
            joins: EntityVec::with_len(None, engine.function.blocks.len()),
            loops: EntityVec::with_len(None, engine.forest.loops.len()),
            everything: None,
        };
        for (branch, gates) in engine.known_gates() {
            let here = Some((engine.branch_level[branch], engine.flow.position[branch]));
            if engine.branch_level[branch] >= DISPATCH {
                continue;
            }
            if gates.coarse {
                deciders.everything = least(deciders.everything, here);
            }
            for &join in &gates.joins {
                deciders.joins[join] = least(deciders.joins[join], here);
            }
            for &l in &gates.tainted {
                deciders.loops[l] = least(deciders.loops[l], here);
            }
        }
        for (l, data) in engine.forest.loops.iter() {
            if let Some(parent) = data.parent {
                deciders.loops[l] = least(deciders.loops[l], deciders.loops[parent]);
            }
        }
        deciders
    }
    fn of(&self, engine: &Engine<'_>, block: Block) -> Option<Block> {
        let around = engine.forest.of(block).and_then(|l| self.loops[l]);
        let found = least(least(self.joins[block], around), self.everything);
        found.map(|(_, position)| engine.flow.order[position as usize])
    }
}

fn fallback(
    engine: &Engine<'_>,
    deciders: &mut Option<Deciders>,
    block: Block,
    args: impl Iterator<Item = Value>,
) -> Cause {
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
        _ => deciders
            .get_or_insert_with(|| Deciders::new(engine))
            .of(engine, block)
            .map_or(Cause::Source, Cause::Branch),
    }
}

/// The loop that lanes leave in different iterations between a value's definition and its use in `block`.
pub(crate) fn leaves(engine: &Engine<'_>, value: Value, block: Block) -> Option<Cause> {
    let definition = engine.home(value)?;
    engine.varies(value)?;
    let mut best: Option<(Level, Cause)> = None;
    for l in engine.forest.around(definition) {
        if engine.forest.contains(l, block) {
            break;
        }
        let level = engine.taint[l];
        if level < DISPATCH
            && best.is_none_or(|(b, _)| level < b)
            && let Some(exit) = engine.worst_exit(l)
        {
            best = Some((
                level,
                Cause::LeavesLoop {
                    header: engine.forest.loops[l].header,
                    exit,
                    value,
                },
            ));
            if level == DIVERGENT {
                break;
            }
        }
    }
    best.map(|b| b.1)
}
