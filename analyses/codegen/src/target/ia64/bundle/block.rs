//! Groups and templates of a basic block together: of the schedules with the fewest cycles the one with the fewest nops.
//!
//! ```text
//! M1 -> M3 M4 M5, M3 I2 -> F6      list: MI|I MMI| MFI| with 3 nops;  here: M|MI| MMF| with none
//! ```
//!
//! The list schedule first, with the ends of its groups in the middle of bundles; if nothing can be shorter
//! or take fewer slots, the search ends there. Else the few ways through the block that promise most
//! (`beam`), and for `Choice::All` every subset of the instructions that may issue (`search`), below the best
//! of those; for `Choice::AllowedLoss` no more of them than seem worth it. Large blocks are split in the
//! order of the list schedule.
//!
//! Source: Haga and Barua, *EPIC Instruction Scheduling Based on Optimal Approaches*, 2001, sections 5 and 6.

use super::beam::{INFINITE, beam};
use super::cost::{Counts, Edge, slots};
use super::edges::joined;
use super::graph::Graph;
pub use super::list::list;
use super::list::listed;
use super::part::{Inner, bound, part_of, split};
use super::search::Search;
pub use isa::ia64::Type;

/// Instructions of a block in program order, and how many cycles after which others they may issue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    pub types: Vec<Type>,
    pub edges: Vec<Wait>,
}

/// `to` issues at least `cycles` after `from`; 0: in the same group or later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    pub from: u32,
    pub to: u32,
    pub cycles: u32,
}

/// The subsets of the instructions ready to issue that are considered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Everything that is ready.
    Eager,
    /// Only the instructions that must issue now.
    Lazy,
    /// Either of the two in each cycle, and instructions that come for nothing with the latter.
    EagerLazy,
    /// Every subset, until the best found is within a loss of the bound that grows with the subsets that were
    /// looked at.
    AllowedLoss,
    /// Every subset.
    All,
}

/// The width of a machine: units by the kind of slot that it issues in one cycle, and all slots together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Width {
    pub m: u32,
    pub i: u32,
    pub f: u32,
    pub b: u32,
    pub slots: u32,
}

impl Width {
    pub const UNLIMITED: Width = Width {
        m: u32::MAX / 8,
        i: u32::MAX / 8,
        f: u32::MAX / 8,
        b: u32::MAX / 8,
        slots: u32::MAX / 8,
    };
    /// Two memory, two integer, two floating-point and three branch units; two bundles. Intel, *Itanium Processor
    /// Microarchitecture Reference*, section 3.
    pub const ITANIUM: Width = Width {
        m: 2,
        i: 2,
        f: 2,
        b: 3,
        slots: 6,
    };

    /// Cycles that so many instructions, which take so many slots, need at least.
    #[must_use]
    pub fn least(self, counts: Counts, slots: u32) -> u32 {
        let Counts { a, i, m, f, l, b } = counts;
        [
            m.div_ceil(self.m),
            (i + l).div_ceil(self.i),
            (a + i + l + m).div_ceil(self.m.saturating_add(self.i)),
            f.div_ceil(self.f),
            b.div_ceil(self.b),
            slots.div_ceil(self.slots),
        ]
        .into_iter()
        .max()
        .unwrap_or(0)
    }

    /// Returns true if a group that takes so many slots issues in one cycle. An A takes an M or an I unit, a long one
    /// an I.
    pub(super) fn fits(self, counts: Counts, taken: u32) -> bool {
        let Counts { a, i, m, f, l, b } = counts;
        m <= self.m
            && i + l <= self.i
            && a + i + l + m <= self.m + self.i
            && f <= self.f
            && b <= self.b
            && taken <= self.slots
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub choice: Choice,
    pub width: Width,
    /// Subsets that `Choice::All` looks at, in all; with none it is the list schedule.
    pub decisions: usize,
    /// Instructions above which a block is split.
    pub largest: usize,
    /// Cycles above the fewest that a schedule may take.
    pub loss: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            choice: Choice::All,
            width: Width::UNLIMITED,
            decisions: 20_000,
            largest: 35,
            loss: 0,
        }
    }
}

/// The instructions that issue in one cycle, and the places in their bundles where the group starts and ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub cycle: u32,
    /// Ascending.
    pub instructions: Vec<u32>,
    pub start: Edge,
    pub end: Edge,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    pub groups: Vec<Group>,
    /// From the first instruction to the end of the last bundle.
    pub slots: u32,
    pub nops: u32,
    /// Cycles until the last group issues, counted from 1.
    pub cycles: u32,
    /// No schedule of so few cycles has fewer nops.
    pub proved: bool,
}

/// The rule that a packing breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// An instruction issues not at all, or twice.
    Missing(u32),
    /// Cycles do not ascend, or an end is not where the next group starts.
    Order(usize),
    Wait(Wait),
    /// The slots are not those that the groups take.
    Slots,
}

/// The best packing that the options let find; never worse than `list` unless cycles were allowed to be lost.
pub fn pack(block: &Block, options: &Options) -> Packing {
    let graph = Graph::new(block);
    let baseline = listed(&block.types, &graph, options.width);
    if block.types.is_empty() || options.decisions == 0 {
        return baseline;
    }
    let mut baseline = joined(block, baseline, options.width);
    let all = count(block.types.iter().copied());
    let least = bound(all, Edge::Whole);
    let shortest = graph.height.iter().max().copied().unwrap_or(0);
    let shortest = shortest.max(options.width.least(all, all.filled()).saturating_sub(1));
    // Nothing is shorter, and nothing takes fewer slots.
    if baseline.cycles == shortest + 1 && baseline.slots == least {
        baseline.proved = true;
        return baseline;
    }
    let parts = split(&graph, options.largest.clamp(1, 64));
    let whole = parts.len() == 1;
    let least = if whole { least } else { 0 };
    let mut out = Packing {
        groups: Vec::new(),
        slots: 0,
        nops: 0,
        cycles: 0,
        proved: whole,
    };
    let mut graph = Some(graph).filter(|_| whole);
    let mut decisions = options.decisions;
    for part in &parts {
        let first = out.groups.last().map_or(0, |group| group.cycle + 1);
        let inner = match graph.take() {
            Some(graph) => {
                let release = vec![0; graph.count];
                Inner::new(block.types.clone(), graph, release, Edge::Whole)
            }
            None => part_of(block, part, &out),
        };
        let own = inner.count(inner.all());
        let shortest = inner
            .shortest()
            .max(options.width.least(own, own.filled()).saturating_sub(1));
        // What the list schedule takes is enough.
        let most = match whole {
            true => baseline.cycles - 1,
            false => {
                let own = listed(&inner.types, &inner.graph, options.width).cycles;
                own + inner.release.iter().max().copied().unwrap_or(0) + 1
            }
        };
        let mut last = shortest + options.loss;
        let (found, proved) = loop {
            // The slots that the list schedule takes are known; it is used if nothing better is found.
            let limit = match whole && last + 1 >= baseline.cycles {
                true => baseline.slots,
                false => INFINITE,
            };
            let quick = beam(&inner, options, last, limit);
            if !matches!(options.choice, Choice::All | Choice::AllowedLoss) {
                let end = quick.is_some() || last >= most;
                if !end {
                    last += 1;
                    continue;
                }
                let proved = quick.as_ref().is_some_and(|(slots, _)| *slots == least);
                break (quick, proved);
            }
            let known = quick.as_ref().map_or(limit, |(slots, _)| *slots);
            if whole && known == least {
                break (quick, true);
            }
            // Half of what is left is kept for more cycles.
            let given = decisions.div_ceil(2);
            let mut search = Search::new(&inner, options, given, last);
            let better = search.run(known);
            decisions -= given - search.decisions;
            let complete = search.complete;
            let found = better.or(quick);
            if found.is_some() || known < INFINITE || last >= most {
                break (found, complete);
            }
            // What was not searched through is not searched again a cycle later.
            last += match complete {
                true => 1,
                false => ((most - last) / 2).max(1),
            };
        };
        out.proved &= proved;
        let Some((_, found)) = found else {
            baseline.proved = proved && whole;
            return baseline;
        };
        for group in found {
            let instructions: Vec<u32> = group
                .instructions
                .iter()
                .map(|&i| part[i as usize])
                .collect();
            out.slots += slots(block.count(&instructions), group.start, group.end).unwrap_or(0);
            out.groups.push(Group {
                cycle: group.cycle + first,
                instructions,
                ..group
            });
        }
    }
    out.cycles = out.groups.last().map_or(0, |group| group.cycle + 1);
    let open = out.groups.last().map_or(0, |group| group.end.slots());
    out.slots += if open == 0 { 0 } else { 3 - open };
    out.nops = out.slots - all.filled();
    let out = if whole {
        out
    } else {
        joined(block, out, options.width)
    };
    match out.nops > baseline.nops || (out.cycles > baseline.cycles + options.loss) {
        true => baseline,
        false => out,
    }
}

impl Packing {
    /// Judges by the definition alone.
    pub fn check(&self, block: &Block) -> Result<(), Violation> {
        let mut cycle_of = vec![None; block.types.len()];
        let mut at = Edge::Whole;
        let mut total = 0;
        for (number, group) in self.groups.iter().enumerate() {
            let after = number.checked_sub(1).map(|before| &self.groups[before]);
            if after.is_some_and(|before| before.cycle >= group.cycle) || group.start != at {
                return Err(Violation::Order(number));
            }
            at = group.end;
            for &instruction in &group.instructions {
                let known = cycle_of
                    .get_mut(instruction as usize)
                    .ok_or(Violation::Missing(instruction))?;
                if known.replace(group.cycle).is_some() {
                    return Err(Violation::Missing(instruction));
                }
            }
            total += slots(block.count(&group.instructions), group.start, group.end)
                .ok_or(Violation::Slots)?;
        }
        if let Some(missing) = cycle_of.iter().position(Option::is_none) {
            return Err(Violation::Missing(missing as u32));
        }
        for wait in &block.edges {
            let (from, to) = (cycle_of[wait.from as usize], cycle_of[wait.to as usize]);
            if to < from.map(|from| from + wait.cycles) {
                return Err(Violation::Wait(*wait));
            }
        }
        total += if at == Edge::Whole { 0 } else { 3 - at.slots() };
        match total == self.slots {
            true => Ok(()),
            false => Err(Violation::Slots),
        }
    }
}

/// Returns how many there are of each type.
#[must_use]
pub fn count(types: impl Iterator<Item = Type>) -> Counts {
    let mut counts = Counts::default();
    types.for_each(|ty| *place(&mut counts, ty) += 1);
    counts
}

impl Block {
    /// Returns how many of these instructions there are of each type.
    fn count(&self, instructions: &[u32]) -> Counts {
        count(
            instructions
                .iter()
                .map(|&instruction| self.types[instruction as usize]),
        )
    }
}

pub(super) fn place(counts: &mut Counts, ty: Type) -> &mut u32 {
    match ty {
        Type::A => &mut counts.a,
        Type::I => &mut counts.i,
        Type::M => &mut counts.m,
        Type::F => &mut counts.f,
        Type::L => &mut counts.l,
        Type::B => &mut counts.b,
    }
}
