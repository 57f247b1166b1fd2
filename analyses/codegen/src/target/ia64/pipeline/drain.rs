//! The iterations that are under way when a kernel ends, finished by straight-line code behind it instead of by further
//! rounds of the kernel.
//!
//! ```text
//! kernel, EC = 1:   (p16) ld8 r32 = [p], 8   (p17) add r34 = r33, k   (p18) st8 [q] = r35, 8   br.ctop
//! round 1:          (p17) add r34 = r33, k   (p18) st8 [q] = r35, 8      the last iteration is in stage 1
//! round 2:          (p17) st8 [q] = r34, 8                               in stage 2
//! ```
//!
//! The branch that falls through has rotated once, and nothing does behind it: the register that a further
//! round of the kernel would call `r(32+n)` in round d is `r(32+n-d+1)` here. A number below the first wraps
//! around the registers that the loop uses: so many are never alive at once. Operations stand under their
//! stage predicates, which are false for iterations that a short trip never began; operations that would
//! begin an iteration, or go on with one behind the last, are left out. Operations stand in the order of the
//! rounds, one by one: packing overlaps the rounds as far as dependences allow.
//!
//! A loop that runs until a predicate is false knows of its end as late as the stage b of its branch: the last iteration
//! has b stages behind it then, and EC, which counts the rounds in which that predicate does not yet say anything, is b.

use super::kernel::Kernel;
use super::report::{Drain, Undrained};
use crate::machine::epic::Epic;
use crate::target::ia64::bundle::block::Choice;
use crate::target::ia64::code::{Function, Operation, Virtual};
use crate::target::ia64::listing::listing;
use crate::target::ia64::operation::text;
use crate::target::ia64::rebundle::{self, Outcome};
use isa::ia64::File;
use isa::ia64::register::Reg;
use rustc_hash::FxHashMap;

/// The code that finishes the iterations under way when the last one has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Epilogue {
    /// Further rounds of the kernel: no more code, an interval a stage.
    #[default]
    Kernel,
    /// Code behind it.
    Explicit,
}

/// Operations of an epilogue.
const MOST: u32 = 512;

/// Subsets that are looked at for an estimate.
const DECISIONS: usize = 500;

impl Kernel<'_> {
    /// Stages that the last iteration has behind it when the kernel ends, without the one that ends with it.
    fn known(&self) -> u32 {
        match self.plan.counted {
            true => 0,
            false => self.stage(self.view.branch),
        }
    }

    /// `ar.ec` for a kernel that doesn't finish the iterations under way.
    pub(super) fn count(&self) -> u32 {
        self.known().max(1)
    }

    /// The stage in which the last iteration stands when nothing rotates any more.
    pub(super) fn reached(&self) -> i64 {
        match self.explicit {
            true => i64::from(self.known()) + 1,
            false => i64::from(self.schedule.stages()),
        }
    }

    /// Returns the remaining operations of the iterations under way: item and round, in order.
    fn left(&self) -> Vec<(u32, u32)> {
        let mut out = Vec::new();
        for round in 1..self.schedule.stages().saturating_sub(self.known()) {
            for &row in self.rows.iter().flatten() {
                if row != self.view.branch && self.stage(row) >= self.known() + round {
                    out.push((row, round));
                }
            }
        }
        out
    }

    /// Returns the reason why there is no explicit epilogue.
    pub(super) fn undrained(&self) -> Option<Undrained> {
        let operations = self.left().len() as u32;
        if operations == 0 {
            return Some(Undrained::Finished);
        }
        if !self.view.checks.is_empty() {
            return Some(Undrained::Checks);
        }
        (operations > MOST).then_some(Undrained::Large {
            operations,
            most: MOST,
        })
    }

    /// The epilogue.
    pub(super) fn drain(&self, function: &mut Function) -> Vec<Operation> {
        let mut pinned = FxHashMap::default();
        let left = self.left().into_iter();
        left.map(|(it, round)| {
            let stage = i64::from(self.stage(it)) - i64::from(round) + 1;
            self.instance(function, &mut pinned, it, stage)
        })
        .collect()
    }

    /// Returns the cost of the epilogue on a machine, and that of the rounds that it replaces.
    pub(super) fn drained(&self, function: &Function, machine: &Epic) -> Drain {
        let mut function = function.clone();
        let operations = self.drain(&mut function);
        let rounds = (self.schedule.stages() - 1 - self.known()) * self.schedule.ii;
        let (cycles, bundles) = packed(&function, &operations, machine).unwrap_or_default();
        Drain {
            operations: operations.len() as u32,
            bundles,
            cycles: cycles.max(self.longest()),
            rounds,
        }
    }

    /// The longest way through the dependences of the remaining operations, with those under way that the
    /// kernel's last rounds issued.
    fn longest(&self) -> u32 {
        let Kernel { view, schedule, .. } = self;
        let ii = i64::from(schedule.ii);
        let known = i64::from(self.known());
        // The cycle of each item, from the end of the kernel on, for each iteration counted back from the
        // last one.
        let mut issued: FxHashMap<(u32, i64), i64> = FxHashMap::default();
        let mut last = 0;
        for (each, round) in self.left() {
            let own = i64::from(self.stage(each)) - i64::from(round) - known;
            let mut now = 0;
            for edge in view.graph.edges.iter().filter(|edge| edge.to == each) {
                let ago = own + i64::from(edge.distance);
                let from = issued.get(&(edge.from, ago)).copied();
                let from = from.unwrap_or_else(|| {
                    i64::from(schedule.start[edge.from as usize]) - (ago + 1 + known) * ii
                });
                now = now.max(from + i64::from(edge.latency));
            }
            issued.insert((each, own), now);
            last = last.max(now + 1);
        }
        last as u32
    }
}

/// Cycles and bundles of operations that the emission packs, by themselves.
fn packed(function: &Function, operations: &[Operation], machine: &Epic) -> Option<(u32, u32)> {
    // Every register without a decided place takes one of the last of its file, which rotate in no loop.
    let mut places: FxHashMap<Virtual, Reg> = FxHashMap::default();
    let mut next = [127u8, 127, 15];
    for each in operations.iter().flat_map(Operation::virtual_registers) {
        if places.contains_key(&each) {
            continue;
        }
        let file = function.file(each);
        let (at, first, last) = match file {
            File::General => (0, 64, 127),
            File::Float => (1, 64, 127),
            _ => (2, 1, 15),
        };
        let place = function.place(each).unwrap_or_else(|| {
            let number = next[at];
            next[at] = if number > first { number - 1 } else { last };
            Reg { file, number }
        });
        places.insert(each, place);
    }
    let register = |register: Virtual| places.get(&register).copied().unwrap_or(Reg::R0);
    let mut lines = String::new();
    for operation in operations {
        lines.push('\t');
        lines.push_str(&text(operation, &register, &|block| format!(".b{block}")));
        lines.push_str(" ;;\n");
    }
    let document = syntax::ia64::parse(&lines);
    let listing = listing(&document, &lines);
    let how = rebundle::Options {
        choice: Choice::EagerLazy,
        decisions: DECISIONS,
        all: true,
    };
    let blocks = rebundle::rebundle_untimed(&document, &lines, &listing, machine, &how);
    let (mut cycles, mut bundles) = (0, 0);
    for block in &blocks {
        let measure = match &block.outcome {
            Outcome::Rewritten { after, .. } => after,
            Outcome::Kept(_) => &block.before,
        };
        cycles += measure.cycles;
        bundles += measure.bundles;
    }
    (!blocks.is_empty()).then_some((cycles, bundles))
}
