//! Loops of the hardware: which of them are pipelined, and how each is enabled.
//!
//! ```text
//! doensh3 d4           one or two sets: at least one set in front of the first
//! dosetup3 L; doen3 d4     three or more
//! ```

use super::code::{Function, Operand, operation};
use super::select::setup;
use crate::machine::sets::Sets;
use crate::pipeline::expand::Unexpandable;
use crate::pipeline::{self, expand};
use isa::Branch;
use isa::sc140::Opcode;

/// The most sets of a short loop.
pub(super) const SHORT: u32 = 2;
/// Sets between what enables a loop and its first set.
pub(super) const GAP: u32 = 2;

/// A loop of the hardware, as it was made.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopReport {
    pub loc: ir::Loc,
    /// Cycles from the start of an iteration to that of the next: its sets, where they do not overlap.
    pub interval: u32,
    /// Iterations that are under way at once, and those that the kernel holds; 1 of a loop that is not pipelined.
    pub stages: u32,
    pub copies: u32,
    /// The reason why it is not pipelined, where that was asked for.
    pub refused: Option<Unpipelined>,
}

/// The reason why the iterations of a loop do not overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unpipelined {
    #[error(transparent)]
    Schedule(#[from] Unexpandable),
    #[error("overlapping iterations need more registers than there are")]
    Registers,
}

impl LoopReport {
    /// The report of a loop whose iterations follow each other.
    fn plain(function: &Function, block: u32, refused: Option<Unpipelined>) -> LoopReport {
        let operations = &function.blocks[block as usize].operations;
        LoopReport {
            loc: operations.first().map_or(ir::Loc::NONE, |first| first.loc),
            interval: 0,
            stages: 1,
            copies: 1,
            refused,
        }
    }
}

/// Blocks that are loops of the hardware.
pub(super) fn counted(function: &Function) -> Vec<u32> {
    let ends = |block: &crate::mir::Block<isa::sc140::Sc140>| {
        let last = block.operations.last();
        last.is_some_and(|last| last.branch() == Some(Branch::Counted))
    };
    let blocks = (0..).zip(&function.blocks);
    blocks
        .filter(|(_, block)| ends(block))
        .map(|(at, _)| at)
        .collect()
}

/// The reports of loops none of which is pipelined.
pub(super) fn plain(function: &Function, refused: Option<Unpipelined>) -> Vec<LoopReport> {
    let blocks = counted(function).into_iter();
    blocks
        .map(|block| LoopReport::plain(function, block, refused))
        .collect()
}

/// Completes the reports, which are in the order of the loops, once the sets of all loops are known.
pub(super) fn measure(function: &Function, reports: &mut [LoopReport]) {
    let mut blocks = counted(function).into_iter();
    for report in reports {
        let own = blocks.next();
        if report.stages > 1 {
            // The kernel, and behind it what is left of the loop.
            blocks.next();
        } else if let Some(own) = own {
            let cycles = &function.blocks[own as usize].cycles;
            report.interval = cycles.last().map_or(0, |last| last + 1);
        }
    }
    debug_assert_eq!(blocks.next(), None, "each loop has a report");
}

/// Pipelines the loops that can be; returns what became of each.
pub(super) fn pipeline(function: &mut Function, sets: &Sets) -> Vec<LoopReport> {
    let mut out = Vec::new();
    let mut left = counted(function);
    while let Some(block) = left.pop() {
        let mut report = LoopReport::plain(function, block, None);
        let limits = pipeline::Limits::default();
        match expand::expand(function, block, sets, &limits) {
            Ok(made) => {
                // What enabled the loop enables what is left of it.
                let operations = function
                    .blocks
                    .iter_mut()
                    .flat_map(|one| &mut one.operations);
                for setup in operations.filter(|one| one.mnemonic.opcode == Opcode::Dosetup) {
                    if setup.sources == [Operand::Block(block)] {
                        setup.sources = vec![Operand::Block(made.rest)];
                    }
                }
                let [guard, epilogue] = [made.kernel - 2, made.kernel + 1];
                enable(function, guard, made.kernel);
                enable(function, epilogue, made.rest);
                (report.interval, report.stages) = (made.ii, made.stages);
                report.copies = made.copies;
            }
            Err(reason) => report.refused = Some(reason.into()),
        }
        out.push(report);
    }
    out.reverse();
    out
}

/// Says behind the counter of a block which loop it counts.
fn enable(function: &mut Function, block: u32, header: u32) {
    let operations = &mut function.blocks[block as usize].operations;
    let counts = |one: &super::code::Operation| one.mnemonic.opcode == Opcode::Doen;
    if let Some(at) = operations.iter().rposition(counts) {
        operations.insert(at + 1, setup(header));
    }
}

/// Chooses the instructions that enable each loop, once the sets of all loops are known.
pub(super) fn settle(function: &mut Function) {
    let short = |function: &Function, header: u32| {
        let cycles = &function.blocks[header as usize].cycles;
        cycles.last().is_some_and(|last| *last < SHORT)
    };
    for block in 0..function.blocks.len() {
        let mut at = 0;
        while at + 1 < function.blocks[block].operations.len() {
            let [count, start] = [at, at + 1].map(|at| &function.blocks[block].operations[at]);
            let pair = (count.mnemonic.opcode, start.mnemonic.opcode);
            if pair == (Opcode::Doen, Opcode::Dosetup)
                && let [Operand::Block(header)] = start.sources[..]
                && short(function, header)
            {
                let operations = &mut function.blocks[block].operations;
                operations.remove(at + 1);
                let old = operations[at].clone();
                let mut enable = operation(Opcode::Doensh, old.targets, old.sources);
                enable.mnemonic.index = old.mnemonic.index;
                operations[at] = enable.at(old.loc);
            }
            at += 1;
        }
    }
}
