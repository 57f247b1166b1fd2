//! The operations that the copy of a region still computes: the liveness of equations 1 to 4, in which a
//! definition that is a constant uses nothing. On SSA form the least solution is the set of values reached
//! backwards from effects and from values that leave the region, past constants and along copies to their
//! source.
//!
//! Stops because a value is visited once.
//!
//! Source: Stephenson and Rangan, *AZP*, section 5.3, equations 1 to 4; notes, section 7.3.

use super::fold::{Folded, Known, taken};
use ir::{Block, EntitySet, Function, Inst, Op, Terminator, Value, ValueDef};

/// The part of a function that is versioned: the head from the check on, and the blocks after it.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    /// In reverse post-order, the head first.
    pub blocks: &'a [Block],
    /// Instructions of the head after the check.
    pub after: &'a [Inst],
}

impl Region<'_> {
    pub fn insts<'f>(&'f self, function: &'f Function, block: Block) -> &'f [Inst] {
        if self.blocks.first() == Some(&block) {
            self.after
        } else {
            &function.blocks[block].insts
        }
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Live {
    /// Instructions of the region that the copy keeps.
    pub kept: EntitySet<Inst>,
    /// Instructions whose result is another value there.
    pub copies: EntitySet<Inst>,
    /// Parameters of blocks of the region that are needed.
    pub params: EntitySet<Value>,
}

/// `original` holds the values that the unchanged function needs behind the region.
#[must_use]
pub fn live(
    function: &Function,
    region: Region<'_>,
    folded: &Folded,
    original: &EntitySet<Value>,
) -> Live {
    let inside: EntitySet<Block> = region.blocks.iter().copied().collect();
    let head = region.blocks.first().copied();
    let mut members: EntitySet<Inst> = EntitySet::with_len(function.insts.len());
    let mut roots: Vec<Value> = Vec::new();
    let mut out = Live {
        kept: EntitySet::with_len(function.insts.len()),
        copies: EntitySet::with_len(function.insts.len()),
        params: EntitySet::with_len(function.values.len()),
    };
    // Arguments by the parameter that they reach, for parameters inside.
    let mut incoming: rustc_hash::FxHashMap<Value, Vec<Value>> = rustc_hash::FxHashMap::default();
    for &block in region
        .blocks
        .iter()
        .filter(|block| folded.reached.contains(block))
    {
        for &inst in region.insts(function, block) {
            members.insert(inst);
            let data = &function.insts[inst];
            // A load without a use was not made useless by the candidate: it stays, and may fault.
            let idle = || !data.results.iter().any(|result| original.contains(result));
            if data.op.has_effect() || matches!(data.op, Op::Load(_)) && idle() {
                out.kept.insert(inst);
                roots.extend(data.operands());
            }
        }
        let terminator = &function.blocks[block].terminator;
        let edges = taken(terminator, |value| folded.constant(function, value));
        if edges.len() > 1 {
            roots.extend(terminator.selector());
        }
        if let Terminator::Return(values) = terminator {
            roots.extend(values.iter().copied());
        }
        for edge in edges {
            let stays = Some(edge.block) != head && inside.contains(&edge.block);
            for (&param, &arg) in function.blocks[edge.block].params.iter().zip(&edge.args) {
                if stays {
                    incoming.entry(param).or_default().push(arg);
                } else if original.contains(&param) {
                    roots.push(arg);
                }
            }
        }
    }
    let mut seen: EntitySet<Value> = EntitySet::with_len(function.values.len());
    while let Some(value) = roots.pop() {
        let source = match folded.of(function, value) {
            Some(Known::Copy(source)) => source,
            _ => continue,
        };
        if source != value
            && let ValueDef::Result(inst, _) = function.values[value].def
            && members.contains(&inst)
        {
            out.copies.insert(inst);
        }
        if !seen.insert(source) {
            continue;
        }
        match function.values[source].def {
            ValueDef::Result(inst, _) if members.contains(&inst) => {
                out.kept.insert(inst);
                roots.extend(function.insts[inst].operands());
            }
            ValueDef::Param(block, _) if Some(block) != head && inside.contains(&block) => {
                out.params.insert(source);
                roots.extend(incoming.get(&source).into_iter().flatten().copied());
            }
            _ => {}
        }
    }
    out
}

/// The values that a function needs as it is.
#[must_use]
pub fn needed(function: &Function) -> EntitySet<Value> {
    reached(function, Op::has_effect)
}

/// The values that a function needs when none of its loads is left out.
#[must_use]
pub fn held(function: &Function) -> EntitySet<Value> {
    reached(function, |op| op.has_effect() || matches!(op, Op::Load(_)))
}

fn reached(function: &Function, root: impl Fn(&Op) -> bool) -> EntitySet<Value> {
    let operands = ir::needed::operands(function);
    let executes = |inst: Inst| root(&function.insts[inst].op);
    let roots = ir::needed::roots(function, executes, &operands);
    ir::needed::needed(function, roots, &operands)
}
