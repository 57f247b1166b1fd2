//! Innermost loops of which a scheduler tells the cycles of an iteration: there a version is priced by the iteration before and
//! after, since the cycles of overlapped operations do not add up.
//!
//! ```text
//! for (..) { t = a[i]; x[i] = t * b[i]; }                      II 3
//! for (..) { t = a[i]; if (t == 0) x[i] = 0; else ...; }       II 5, whatever t is: both paths are predicated
//! ```

use super::estimate::{Parts, place, within};
use crate::specialize::accept::Model;
use facts::cost::{Machine, work};
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

/// What the cycles of each block's instructions are multiplied by, so that the iterations of scheduled loops take theirs.
pub(super) fn scales(
    function: &Function,
    schedules: Option<&Schedules<'_>>,
    machine: &Machine,
    weights: &EntityVec<Block, f64>,
) -> EntityVec<Block, f64> {
    let mut scales = EntityVec::with_len(1.0, function.blocks.len());
    let Some(schedules) = schedules else {
        return scales;
    };
    let found = Found::new(function, schedules.after);
    let mut summed = EntityVec::with_len(0.0, found.forest.loops.len());
    for &block in &function.layout {
        if let Some((of, _)) = found.of(block) {
            let insts = function.blocks[block].insts.iter();
            let cycles = |inst: &ir::Inst| {
                machine
                    .charge(work(function, &function.insts[*inst]))
                    .cycles
            };
            summed[of] += insts.map(cycles).sum::<f64>() * weights[block];
        }
    }
    for &block in &function.layout {
        if let Some((of, cycles)) = found.of(block)
            && summed[of] > 0.0
        {
            scales[block] = cycles * weights[found.forest.loops[of].header] / summed[of];
        }
    }
    scales
}

/// Prices a version inside of a scheduled loop that is one after it, too, by its iterations.
pub(super) fn by_iterations(
    model: &mut Model,
    function: &Function,
    parts: Parts,
    schedules: &Schedules<'_>,
    weights: &EntityVec<Block, f64>,
) {
    let before = Found::new(schedules.function, schedules.before);
    let after = Found::new(function, schedules.after);
    let old = block_in(schedules.function, schedules.region).and_then(|block| before.of(block));
    let new = block_in(function, parts.check).and_then(|block| after.of(block));
    let Some(((_, before), (of, now))) = old.zip(new) else {
        return;
    };
    // The head may be executed once more than the rest.
    let rest = function.layout.iter().copied().filter(|&block| {
        after.forest.of(block) == Some(of) && block != after.forest.loops[of].header
    });
    let header = weights[after.forest.loops[of].header];
    let times = rest.map(|block| weights[block]).reduce(f64::max);
    let times = times.unwrap_or(header).min(header);
    model.region = before * times + model.waited;
    model.special = now * times;
    model.parted = (now - before) * times;
    model.check = 0.0;
    model.scheduled = Some((before, now));
}
