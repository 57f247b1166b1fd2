//! The live range of one value cut where a register is not to be had: each read and each write goes through a register that
//! lives shortly, the value lives in its home in between.
//!
//! ```text
//! v0 = ..; ..pressure..; v4 = add v3, v0; v5 = mul v4, v0
//! v6 = ..; store v6; ..; v7 = load; v4 = add v3, v7; v5 = mul v4, v7      v7 may be held between its two reads
//! ```
//!
//! `held` tells of operations whether the register may stay behind them. Where it never does, this is spilling everywhere. A
//! register that is held at the end of a block is there in a block that only this one leads to, and in a loop that the
//! block alone enters, if the loop has room for it.

use super::named::Occurrence;
use super::rounds::{Around, Homes};
use crate::mir::Target;
use crate::mir::function::{Function, Name, Operand, Operation, Virtual};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// An operation that names the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    pub(crate) block: u32,
    /// Its number in the block.
    pub(crate) operation: u32,
    /// The register that stands for the value: operations with one number share one.
    pub(crate) stand_in: u32,
    /// The home is read in front of it, and written behind it.
    pub(crate) load: bool,
    pub(crate) store: bool,
    /// The home is written in front of it, and before it is read: the operation does not name the value.
    pub(crate) early: bool,
}

/// Returns for each block the block that alone leads to it, and whose only branch ends it: values held there
/// are held here.
pub(crate) fn before_alone<T: Target>(function: &Function<T>) -> Vec<Option<u32>> {
    let count = function.blocks.len();
    let mut out: Vec<Option<u32>> = vec![None; count];
    let mut edges = vec![0u32; count];
    for block in 0..count as u32 {
        let operations = &function.blocks[block as usize].operations;
        let branches = |operation: &Operation<T>| operation.branches_to().next().is_some();
        let last = operations.len().saturating_sub(1);
        let ends = !operations[..last].iter().any(branches);
        for next in function.successors(block) {
            let next = next as usize;
            if let Some(known) = edges.get_mut(next) {
                *known += 1;
                out[next] = Some(block).filter(|_| ends && *known == 1);
            }
        }
    }
    for (at, before) in out.iter_mut().enumerate() {
        // The function's start leads to its first block, and a predecessor that stands behind a block is not
        // cut yet.
        *before = before.filter(|&before| at > 0 && (before as usize) < at);
    }
    out
}

/// A loop in which a value that it does not write has one register throughout, which is loaded in front of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held<'l> {
    /// The only block outside the loop that leads to it, and to nothing else.
    pub(crate) preheader: u32,
    /// The operation in front of which the value is loaded there: the last one of the function that was given.
    pub(crate) operation: u32,
    /// Ascending.
    pub(crate) blocks: &'l [u32],
}

/// Registers that hold a value at the ends of blocks.
struct Leaving<'a> {
    /// The register that holds the value at the end of each block that names it.
    known: FxHashMap<u32, Option<u32>>,
    before: &'a [Option<u32>],
    loops: &'a [Held<'a>],
    held: &'a dyn Fn(u32, Range<u32>) -> bool,
}

impl Leaving<'_> {
    fn inside(&self, block: u32) -> Option<u32> {
        let own = (0u32..).zip(self.loops);
        let mut around = own.filter(|(_, own)| own.blocks.binary_search(&block).is_ok());
        around.next().map(|(stand_in, _)| stand_in)
    }
    fn alone(&self, block: u32) -> Option<u32> {
        self.before.get(block as usize).copied().flatten()
    }
    /// At the end of a block; the blocks in front of it that name the value are known.
    fn of(&self, mut block: u32) -> Option<u32> {
        loop {
            if let Some(&known) = self.known.get(&block) {
                return known;
            }
            if let Some(own) = self.inside(block) {
                return Some(own);
            }
            if !(self.held)(block, 0..u32::MAX) {
                return None;
            }
            block = self.alone(block)?;
        }
    }
}

/// The operations at which the live range of a value is cut, by block and in their order. `named` are those
/// that name it, `loops` share no block, and no preheader stands in another one's. `held` decides for
/// operations of a block, up to its end at most, whether a register may stay behind all of them.
pub(crate) fn cuts(
    named: impl Iterator<Item = Occurrence>,
    before: &[Option<u32>],
    loops: &[Held<'_>],
    held: &dyn Fn(u32, Range<u32>) -> bool,
) -> Vec<Cut> {
    let mut out: Vec<Cut> = Vec::new();
    // Loops have the first numbers.
    let mut registers = loops.len() as u32;
    let mut leaving = Leaving {
        known: FxHashMap::default(),
        before,
        loops,
        held,
    };
    let mut named = named.peekable();
    while let Some(first) = named.peek() {
        let block = first.block;
        let inside = leaving.inside(block);
        let stays = |from: u32, to: u32| inside.is_some() || held(block, from..to);
        let mut holder = inside.or_else(|| leaving.of(leaving.alone(block)?));
        let mut at = 0;
        while let Some(own) = named.next_if(|own| own.block == block) {
            holder = holder.filter(|_| stays(at, own.operation));
            at = own.operation;
            let stand_in = holder.unwrap_or_else(|| {
                registers += 1;
                registers - 1
            });
            out.push(Cut {
                block,
                operation: at,
                stand_in,
                load: holder.is_none() && (own.reads || (own.writes && !own.certain)),
                store: own.writes,
                early: false,
            });
            holder = Some(stand_in);
        }
        holder = holder.filter(|_| stays(at, u32::MAX));
        leaving.known.insert(block, holder);
    }
    // The register with which each loop goes on: its own stand-in, or one that already holds the value in
    // front of the loop.
    let mut same: Vec<u32> = (0..loops.len() as u32).collect();
    let resolved = |same: &[u32], mut stand_in: u32| {
        while let Some(&next) = same.get(stand_in as usize)
            && next != stand_in
        {
            stand_in = next;
        }
        stand_in
    };
    for (stand_in, own) in (0u32..).zip(loops) {
        match leaving.of(own.preheader) {
            Some(known) => {
                let known = resolved(&same, known);
                debug_assert_ne!(known, stand_in, "nothing loads it");
                same[stand_in as usize] = known;
            }
            None => out.push(Cut {
                block: own.preheader,
                operation: own.operation,
                stand_in,
                load: true,
                store: false,
                early: false,
            }),
        }
    }
    for cut in &mut out {
        cut.stand_in = resolved(&same, cut.stand_in);
    }
    out.sort_by_key(|cut| (cut.block, cut.operation));
    out
}

/// Cuts the live range of a value. Registers that are made on the way are new.
pub(crate) fn split<T: Target>(
    function: &mut Function<T>,
    value: Virtual,
    cuts: &[Cut],
    around: &mut [Vec<Around<T>>],
    homes: &mut dyn Homes<T>,
) {
    let mut stand_ins: Vec<Virtual> = Vec::new();
    for cuts in cuts.chunk_by(|a, b| a.block == b.block) {
        let Some(block) = cuts.first().map(|cut| cut.block as usize) else {
            continue;
        };
        let mut cuts = cuts.iter().peekable();
        let mut operations = std::mem::take(&mut function.blocks[block].operations);
        // What is put around operations, by the number of the one in front of which it comes.
        let mut added: Vec<(usize, Vec<Operation<T>>)> = Vec::new();
        let mut next = 0;
        for row in &mut around[block] {
            if cuts.peek().is_none() {
                break;
            }
            // The function's own operations keep their order among those that were put around them.
            let index = next + row.before.len();
            next = index + 1 + row.after.len();
            let loc = operations[index].loc;
            // What moves a value for an operation stands at its place.
            let placed = |all: Vec<Operation<T>>| -> Vec<Operation<T>> {
                all.into_iter().map(|it| it.at(loc)).collect()
            };
            while let Some(cut) = cuts.next_if(|cut| cut.operation as usize == index) {
                while stand_ins.len() <= cut.stand_in as usize {
                    stand_ins.push(function.register(function.class(value)));
                }
                let stand_in = stand_ins[cut.stand_in as usize];
                if cut.early {
                    let stores = placed(homes.store(function, stand_in, value));
                    row.before.extend(stores.iter().cloned());
                    added.push((index, stores));
                    continue;
                }
                if cut.load {
                    let loads = placed(homes.load(function, value, stand_in));
                    row.before.extend(loads.iter().cloned());
                    added.push((index, loads));
                }
                if cut.store {
                    // The operations behind it stay behind the new stores, which use no registers of theirs.
                    let stores = placed(homes.store(function, stand_in, value));
                    row.after.splice(0..0, stores.iter().cloned());
                    added.push((index + 1, stores));
                }
                rename(&mut operations[index], value, stand_in);
                row.now.clone_from(&operations[index]);
            }
        }
        let more: usize = added.iter().map(|(_, all)| all.len()).sum();
        let mut all = Vec::with_capacity(operations.len() + more);
        let mut added = added.into_iter().peekable();
        for (index, operation) in operations.into_iter().enumerate() {
            while let Some((_, own)) = added.next_if(|(at, _)| *at == index) {
                all.extend(own);
            }
            all.push(operation);
        }
        all.extend(added.flat_map(|(_, own)| own));
        function.blocks[block].operations = all;
    }
}

fn rename<T: Target>(operation: &mut Operation<T>, from: Virtual, to: Virtual) {
    let operands = operation.targets.iter_mut().chain(&mut operation.sources);
    for operand in operands {
        if let Operand::Register(name) | Operand::Address(name) = operand
            && *name == Name::Virtual(from)
        {
            *name = Name::Virtual(to);
        }
    }
    if operation.predicate == Some(from) {
        operation.predicate = Some(to);
    }
}
