//! Innermost loops of which a scheduler tells the cycles of an iteration: there a version is priced by the iteration before and
//! after, since the cycles of overlapped operations do not add up.
//!
//! ```text
//! for (..) { t = a[i]; x[i] = t * b[i]; }                      II 3
//! for (..) { t = a[i]; if (t == 0) x[i] = 0; else ...; }       II 5, whatever t is: both paths are predicated
//! ```

use super::estimate::{Parts, place, within};
use crate::specialize::accept::Model;
use facts::cost::Machine;
use ir::cfg::ControlFlow;
use ir::loops::{LoopForest, LoopId};
use ir::{Block, EntityVec, Function, Loc};
use syntax::Span;

/// A loop that is pipelined, by the head that the source gives it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scheduled {
    pub head: Loc,
    /// Cycles an iteration.
    pub cycles: f64,
}

/// The scheduled loops of a function before it was rewritten, and after.
#[derive(Clone, Copy, Debug)]
pub struct Schedules<'a> {
    pub function: &'a Function,
    pub before: &'a [Scheduled],
    pub after: &'a [Scheduled],
    /// The text that the edit takes away, relative to the item.
    pub region: Span,
}

/// The innermost loops of a function that are scheduled.
struct Found {
    forest: LoopForest,
    /// Cycles an iteration.
    cycles: EntityVec<LoopId, Option<f64>>,
}

impl Found {
    fn new(function: &Function, scheduled: &[Scheduled]) -> Self {
        let forest = LoopForest::new(&ControlFlow::new(function));
        let mut cycles = EntityVec::with_len(None, forest.loops.len());
        for known in scheduled {
            let mut loops = function.loops.iter();
            let header = loops.find(|it| it.loc == known.head).map(|it| it.header);
            if let Some(header) = header
                && let Some(found) = forest.of(header).filter(|_| forest.is_header(header))
            {
                cycles[found] = Some(known.cycles);
            }
        }
        Found { forest, cycles }
    }

    fn of(&self, block: Block) -> Option<(LoopId, f64)> {
        let found = self.forest.of(block)?;
        Some((found, self.cycles[found]?))
    }
}

/// The block of a function's own item that has an instruction in a part of the text.
fn block_in(function: &Function, span: Span) -> Option<Block> {
    function.layout.iter().copied().find(|&block| {
        let mut insts = function.blocks[block].insts.iter();
        insts.any(|&inst| {
            place(function, function.insts[inst].loc).is_some_and(|at| within(span, at))
        })
    })
}

/// The scheduled loops of a rewritten function.
pub(super) struct Iterations<'a> {
    function: &'a Function,
    schedules: &'a Schedules<'a>,
    found: Found,
    /// Iterations of each loop; 0 of loops that are not scheduled.
    times: EntityVec<LoopId, f64>,
}

impl<'a> Iterations<'a> {
    /// `weights`: executions of the function's blocks.
    pub(super) fn new(
        function: &'a Function,
        schedules: &'a Schedules<'a>,
        weights: &EntityVec<Block, f64>,
    ) -> Self {
        let found = Found::new(function, schedules.after);
        let mut times = EntityVec::with_len(0.0, found.forest.loops.len());
        for &block in &function.layout {
            if let Some((of, _)) = found.of(block)
                && !found.forest.is_header(block)
            {
                times[of] = f64::max(times[of], weights[block]);
            }
        }
        for (of, data) in found.forest.loops.iter() {
            // The head may be executed once more than the rest, and may be all that there is.
            let header = weights[data.header];
            times[of] = match times[of] {
                0.0 => header,
                rest => rest.min(header),
            };
        }
        Iterations {
            function,
            schedules,
            found,
            times,
        }
    }

    /// What the cycles of each block's instructions are multiplied by, so that the iterations of its loop take theirs.
    pub(super) fn scales(
        &self,
        machine: &Machine,
        weights: &EntityVec<Block, f64>,
    ) -> EntityVec<Block, f64> {
        let function = self.function;
        let mut summed = EntityVec::with_len(0.0, self.found.forest.loops.len());
        for &block in &function.layout {
            if let Some((of, _)) = self.found.of(block) {
                let insts = function.blocks[block].insts.iter();
                let cycles = insts.map(|&inst| machine.cycles(function, &function.insts[inst]));
                summed[of] += cycles.sum::<f64>() * weights[block];
            }
        }
        let mut scales = EntityVec::with_len(1.0, function.blocks.len());
        for &block in &function.layout {
            if let Some((of, cycles)) = self.found.of(block)
                && summed[of] > 0.0
            {
                scales[block] = cycles * self.times[of] / summed[of];
            }
        }
        scales
    }

    /// Prices a version inside of a scheduled loop that is one before it, too, by their iterations.
    pub(super) fn price(&self, model: &mut Model, parts: Parts) {
        let schedules = self.schedules;
        let before = Found::new(schedules.function, schedules.before);
        let old = block_in(schedules.function, schedules.region).and_then(|block| before.of(block));
        let new = block_in(self.function, parts.check).and_then(|block| self.found.of(block));
        let Some(((_, before), (of, now))) = old.zip(new) else {
            return;
        };
        let times = self.times[of];
        model.region = before * times + model.waited;
        model.special = now * times;
        model.parted = (now - before) * times;
        model.check = 0.0;
        model.scheduled = Some((before, now));
    }
}
