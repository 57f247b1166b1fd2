//! Loops of the hardware: which of them are pipelined, and how each is enabled.
//!
//! ```text
//! doensh3 d4           one or two sets: at least one set in front of the first
//! dosetup3 L; doen3 d4     three or more
//! ```

use super::bounds::{Examined, LoopBounds};
use super::code::{Function, Operand, Operation, is_move, operation};
use super::select::setup;
use crate::machine::schema::SetKey;
use crate::machine::sets::Sets;
use crate::mir::Block;
use crate::pipeline::expand::{Candidate, Plan, Unexpandable};
use crate::pipeline::{self, expand};
use crate::predicate::loops::innermost;
use isa::Branch;
use isa::sc140::{Opcode, Sc140};
use smallvec::smallvec;

/// The most sets of a short loop.
pub(super) const SHORT: u32 = 2;
/// Sets between what enables a loop, or sets its start, and the set that bears its mark: the first of a short loop, the last
/// but two of a long one. Those of long loops are guesses on the safe side.
pub(super) const ENABLE_GAP: u32 = 1;
pub(super) const SETUP_GAP: u32 = 2;
/// Intervals that are tried where registers do not suffice for the least one; each is greater by one and this part of it.
const ATTEMPTS: usize = 6;
const LARGER: u32 = 8;
/// A long loop's mark is on the last set but so many, that one included.
pub(super) const MARKED: u32 = 3;

/// An innermost loop, as it was made.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopReport {
    /// Its first operation.
    pub loc: ir::Loc,
    /// Its head in the source, where that is known.
    pub head: ir::Loc,
    /// The hardware counts its iterations.
    pub counted: bool,
    /// Cycles from the start of an iteration to that of the next: its sets, where they do not overlap, with the jump back
    /// where the hardware does not count; of a loop of several blocks those of all of them, at most.
    pub interval: u32,
    /// Cycles of an iteration that overlaps with no other; the same, where none does.
    pub unpipelined: u32,
    /// Iterations of the source that are one of the code: that is what an iteration means elsewhere in the report.
    pub iterations: u32,
    /// Iterations that are under way at once, and those that the kernel holds; 1 of a loop that is not pipelined.
    pub stages: u32,
    pub copies: u32,
    /// `None`: a loop of several blocks.
    pub bounds: Option<LoopBounds>,
    /// The reason why it is not pipelined, where that was asked for.
    pub refused: Option<Unpipelined>,
    /// Its rounds fill the kernel: no loop executes what is left.
    pub whole: bool,
    /// The bytes behind the end of an object that its last pass reads, at most, as the source permits.
    pub beyond: u32,
    /// The other reasons that hold it back.
    pub reasons: Vec<Reason>,
    /// The stage of each operation of the kernel; empty without one.
    pub kernel_stages: Vec<u32>,
}

impl Default for LoopReport {
    /// A loop of which nothing is known but that its iterations follow each other.
    fn default() -> LoopReport {
        LoopReport {
            loc: ir::Loc::NONE,
            head: ir::Loc::NONE,
            counted: true,
            interval: 0,
            unpipelined: 0,
            iterations: 1,
            stages: 1,
            copies: 1,
            bounds: None,
            refused: None,
            whole: false,
            beyond: 0,
            reasons: Vec::new(),
            kernel_stages: Vec::new(),
        }
    }
}

/// The reason why the iterations of a loop do not overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unpipelined {
    #[error(transparent)]
    Schedule(#[from] Unexpandable),
    /// With registers for all, an iteration would begin every so many cycles.
    #[error(
        "overlapping iterations at an interval of {interval} need more registers than there are"
    )]
    Registers { interval: u32 },
}

/// The reason that holds a loop back before anything is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A call, which uses the hardware's counters.
    Calls(ir::Loc),
    /// Control leaves it in the middle.
    LeavesEarly(ir::Loc),
    /// The number of iterations is not known in front of it.
    TripCount,
    /// Its counter has no sign, and nothing says that it executes less than 2^31 times.
    MaybeTooLong,
    /// Its branches do not become conditions.
    Branches,
    /// Accesses that may meet hold the interval above this bound.
    MayMeet {
        store: ir::Loc,
        other: ir::Loc,
        bound: u32,
    },
}

/// The change of the source that takes a reason away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// `restrict` on the pointers: no other pointer leads to what is stored.
    Restrict,
    /// The callee's text in the place of the call.
    Inline,
    /// A counter that moves by a constant to a limit that stays.
    Count,
    /// A counter that may not wrap, or a promise of the number of iterations.
    Bound,
    /// The part behind the exit in a loop of its own.
    Split,
    /// Choices without branches: conditional expressions, minimum, maximum.
    Choose,
    /// Fewer values that live through an iteration.
    FewerValues,
}

impl Reason {
    #[must_use]
    pub const fn remedy(self) -> Remedy {
        match self {
            Reason::Calls(_) => Remedy::Inline,
            Reason::LeavesEarly(_) => Remedy::Split,
            Reason::TripCount => Remedy::Count,
            Reason::MaybeTooLong => Remedy::Bound,
            Reason::Branches => Remedy::Choose,
            Reason::MayMeet { .. } => Remedy::Restrict,
        }
    }
    /// The places in the source that it is about.
    #[must_use]
    pub fn places(self) -> Vec<ir::Loc> {
        match self {
            Reason::Calls(loc) | Reason::LeavesEarly(loc) => vec![loc],
            Reason::MayMeet { store, other, .. } => vec![store, other],
            Reason::TripCount | Reason::MaybeTooLong | Reason::Branches => Vec::new(),
        }
    }
}

impl Unpipelined {
    #[must_use]
    pub const fn remedy(self) -> Option<Remedy> {
        match self {
            Unpipelined::Registers { .. } => Some(Remedy::FewerValues),
            Unpipelined::Schedule(_) => None,
        }
    }
}

impl LoopReport {
    /// Returns true if another loop executes the iterations that are left.
    #[must_use]
    pub const fn has_rest(&self) -> bool {
        self.is_pipelined() && !self.whole
    }

    /// Returns true if its iterations overlap.
    #[must_use]
    pub const fn is_pipelined(&self) -> bool {
        self.stages > 1
    }

    /// Returns true if the interval is the least that the units and the recurrences of the loop permit.
    #[must_use]
    pub fn is_at_bound(&self) -> bool {
        let bounds = self.bounds.as_ref();
        bounds.is_some_and(|bounds| self.interval <= bounds.min_ii())
    }

    /// The report of a loop whose iterations follow each other.
    fn plain(function: &Function, block: u32, refused: Option<Unpipelined>) -> LoopReport {
        let operations = &function.blocks[block as usize].operations;
        LoopReport {
            loc: operations.first().map_or(ir::Loc::NONE, |first| first.loc),
            refused,
            ..LoopReport::default()
        }
    }
}

/// Reports on all innermost loops, those of the hardware among them, in the order of the code as it was examined, with
/// cycles of the finished one.
pub(super) fn reported(
    examined: Vec<Examined>,
    counted: Vec<LoopReport>,
    function: &Function,
    sets: &Sets,
) -> Vec<LoopReport> {
    let mut counted = counted.into_iter();
    // A pipelined loop has further blocks in front of it.
    let mut inserted = 0;
    let each = examined.into_iter().map(|found| {
        let header = found.header + inserted;
        let Examined { report, .. } = found;
        match report.counted {
            true => {
                let Some(made) = counted.next() else {
                    debug_assert!(false, "each loop of the hardware has a report");
                    return report;
                };
                inserted += if made.is_pipelined() {
                    expand::INSERTED
                } else {
                    0
                };
                let mut out = LoopReport {
                    loc: report.loc,
                    head: report.head,
                    iterations: report.iterations,
                    bounds: report.bounds,
                    reasons: report.reasons,
                    ..made
                };
                // Nothing holds back what is as short as it can be.
                out.refused = out.refused.filter(|_| !out.is_at_bound());
                out
            }
            false => {
                let cycles = cycles_around(function, header, sets);
                LoopReport {
                    interval: cycles,
                    unpipelined: cycles,
                    ..report
                }
            }
        }
    });
    each.collect()
}

/// Cycles of the blocks of a loop that jumps back, the jump included.
fn cycles_around(function: &Function, header: u32, sets: &Sets) -> u32 {
    let regions = innermost(function);
    let Some(region) = regions.iter().find(|region| region.header == header) else {
        return 0;
    };
    let blocks = || {
        let blocks = region.blocks.iter();
        blocks.map(|&block| &function.blocks[block as usize])
    };
    // The slot of a jump is a cycle of its own.
    let back = Operand::Block(header);
    let mut operations = blocks().flat_map(|block| &block.operations);
    let delayed =
        operations.any(|operation| operation.mnemonic.delayed && operation.sources.contains(&back));
    let jump = sets
        .of(SetKey::FlowTaken)
        .saturating_sub(1 + u32::from(delayed));
    // What stands behind the jump executes once, but for its slot.
    let own = blocks().map(|block| {
        let mut rows = block.operations.iter().zip(&block.cycles);
        match rows.find(|(operation, _)| operation.sources.contains(&back)) {
            Some((operation, cycle)) => {
                let last = cycle + u32::from(operation.mnemonic.delayed);
                let until = block.cycles.partition_point(|&cycle| cycle <= last);
                block_cycles(&first(block, until), sets)
            }
            None => block_cycles(block, sets),
        }
    });
    own.sum::<u32>() + jump
}

/// The first operations of a block.
fn first(block: &Block<Sc140>, count: usize) -> Block<Sc140> {
    Block {
        operations: block.operations[..count].to_vec(),
        cycles: block.cycles[..count].to_vec(),
        ..*block
    }
}

/// Cycles of the sets of a block, without what a change of flow takes besides.
pub(super) fn block_cycles(block: &Block<Sc140>, sets: &Sets) -> u32 {
    let Some(&last) = block.cycles.last() else {
        return 0;
    };
    let calculated = |operation: &Operation| {
        let mut operands = operation.targets.iter().chain(&operation.sources);
        operands.any(|operand| matches!(operand, Operand::Frame(_)))
            && is_move(operation.mnemonic.opcode)
    };
    let mut late: Vec<u32> = (block.operations.iter().zip(&block.cycles))
        .filter(|(operation, _)| calculated(operation))
        .map(|(_, at)| *at)
        .collect();
    late.dedup();
    let more = sets.of(SetKey::Precalculated).saturating_sub(1);
    last + 1 + late.len() as u32 * more
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
pub(super) fn measure(function: &Function, reports: &mut [LoopReport], sets: &Sets) {
    let mut blocks = counted(function).into_iter();
    for report in reports {
        let own = blocks.next();
        if report.stages > 1 && !report.whole {
            // The kernel, and behind it what is left of the loop.
            if let Some(rest) = blocks.next() {
                report.unpipelined = block_cycles(&function.blocks[rest as usize], sets);
            }
        } else if let (Some(own), false) = (own, report.whole) {
            report.interval = block_cycles(&function.blocks[own as usize], sets);
            report.unpipelined = report.interval;
        }
    }
    debug_assert_eq!(blocks.next(), None, "each loop has a report");
}

/// Says whether registers suffice for a function with one loop more whose iterations overlap.
pub(super) trait Room {
    /// Returns false if they do not, by the plan of the loop.
    fn may_suffice(&mut self, before: &Function, plan: &Plan<Sc140>) -> bool;
    /// Returns true if they do for `now` as well as for the function before.
    fn suffices(&mut self, before: &Function, now: &Function) -> bool;
}

/// A function whose loops are being pipelined, from the last one to the first.
#[derive(Clone)]
pub(super) struct Pipelining {
    pub(super) function: Function,
    /// The loops that were not looked at.
    left: Vec<u32>,
    /// Those of the others, from the last one to the first.
    reports: Vec<LoopReport>,
}

impl Pipelining {
    pub(super) fn new(function: Function) -> Pipelining {
        Pipelining {
            left: counted(&function),
            function,
            reports: Vec::new(),
        }
    }
    /// Pipelines the next loop if it can be and there still is `room`. Returns what became of it; `None`: all were looked at.
    pub(super) fn step(&mut self, sets: &Sets, room: &mut dyn Room) -> Option<&LoopReport> {
        let block = self.left.pop()?;
        let plain = LoopReport::plain(&self.function, block, None);
        let made = self.pipelined(block, sets, room);
        self.reports.push(match made {
            Ok((function, made)) => {
                self.function = function;
                LoopReport {
                    loc: plain.loc,
                    ..made
                }
            }
            Err(refused) => LoopReport {
                refused: Some(refused),
                ..plain
            },
        });
        self.reports.last()
    }
    /// The function with the iterations of a loop overlapped, at the least interval for which there is `room`.
    fn pipelined(
        &self,
        block: u32,
        sets: &Sets,
        room: &mut dyn Room,
    ) -> Result<(Function, LoopReport), Unpipelined> {
        let candidate = Candidate::of(&self.function, block, sets)?;
        let mut limits = pipeline::Limits::default();
        let mut refused: Option<Unpipelined> = None;
        for _ in 0..ATTEMPTS {
            let expanded = candidate.plan(&limits).and_then(|plan| {
                let interval = plan.schedule.ii;
                if !room.may_suffice(&self.function, &plan) {
                    debug_assert!(
                        {
                            let mut tried = self.function.clone();
                            expanded(&mut tried, &plan).is_err()
                                || !room.suffices(&self.function, &tried)
                        },
                        "{}: the registers suffice",
                        self.function.name
                    );
                    return Ok(Err(interval));
                }
                let mut tried = self.function.clone();
                let made = expanded(&mut tried, &plan)?;
                match room.suffices(&self.function, &tried) {
                    true => Ok(Ok((tried, made))),
                    false => Ok(Err(interval)),
                }
            });
            let (reason, interval) = match expanded {
                Ok(Ok(made)) => return Ok(made),
                Ok(Err(interval)) => (Unpipelined::Registers { interval }, interval),
                Err(
                    reason @ (Unexpandable::TooManyNames { interval }
                    | Unexpandable::Exchange { interval }),
                ) => (reason.into(), interval),
                // Those that follow each other are as fast as what would be next.
                Err(reason) => return Err(refused.unwrap_or(reason.into())),
            };
            refused = refused.or(Some(reason));
            limits.least = interval + 1 + interval / LARGER;
        }
        Err(refused.unwrap_or(Unpipelined::Schedule(Unexpandable::OneStage)))
    }
    /// The function and what became of its loops, in the order of the loops. All were looked at.
    pub(super) fn finished(mut self) -> (Function, Vec<LoopReport>) {
        debug_assert!(self.left.is_empty(), "each loop has a report");
        self.reports.reverse();
        (self.function, self.reports)
    }
}

/// Pipelines a planned loop.
fn expanded(function: &mut Function, plan: &Plan<Sc140>) -> Result<LoopReport, Unexpandable> {
    let made = expand::expand(function, plan)?;
    let block = plan.block;
    // What enabled the loop enables what is left of it.
    let blocks = function.blocks.iter_mut();
    let operations = blocks.flat_map(|block| &mut block.operations);
    for setup in operations.filter(|operation| operation.mnemonic.opcode == Opcode::Dosetup) {
        if setup.sources[..] == [Operand::Block(block)] {
            let to = made.rest.unwrap_or(made.kernel);
            setup.sources = smallvec![Operand::Block(to)];
        }
    }
    let mut report = LoopReport {
        interval: made.ii,
        stages: made.stages,
        copies: made.copies,
        beyond: made.beyond,
        kernel_stages: made.kernel_stages,
        ..LoopReport::default()
    };
    let [guard, epilogue] = [made.kernel - 2, made.kernel + 1];
    match made.rest {
        Some(rest) => {
            enable(function, guard, made.kernel);
            enable(function, epilogue, rest);
        }
        None => {
            enabled_last(function, guard, made.kernel);
            report.whole = true;
            report.unpipelined = made.length;
        }
    }
    Ok(report)
}

/// Says behind the counter of a block which loop it counts, and nowhere in front of it.
fn enabled_last(function: &mut Function, block: u32, header: u32) {
    for block in &mut function.blocks {
        let starts = |operation: &Operation| {
            operation.mnemonic.opcode == Opcode::Dosetup
                && operation.sources[..] == [Operand::Block(header)]
        };
        block.operations.retain(|operation| !starts(operation));
    }
    enable(function, block, header);
}

/// Says behind the counter of a block which loop it counts.
fn enable(function: &mut Function, block: u32, header: u32) {
    let operations = &mut function.blocks[block as usize].operations;
    let counts = |operation: &super::code::Operation| operation.mnemonic.opcode == Opcode::Doen;
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
