//! Groups and templates of a basic block together: of the schedules with the fewest cycles the one with the fewest nops.
//!
//! ```text
//! M1 -> M3 M4 M5, M3 I2 -> F6      list: MI|I MMI| MFI| with 3 nops;  here: M|MI| MMF| with none
//! ```
//!
//! Cycle by cycle, those instructions that must issue now, and every subset of those that may, with every place in the
//! bundle where the group may end. A branch of the search ends where what it has cost and the bound of the rest - all of
//! it as one group, which no split can beat - reach the best that is known, where an instruction that could come for
//! nothing was left out, and where an instruction that nothing waits for takes a bundle for itself. States that were
//! seen are not searched again. Ends after `decisions` subsets with the best so far, said not to be proved; large blocks
//! are split in the order of the list schedule.
//!
//! Source: Haga and Barua, *EPIC Instruction Scheduling Based on Optimal Approaches*, 2001, sections 5 and 6; their rule
//! of the sparse template holds only for instructions without successors, and is applied to these.

use super::cost::{Counts, Edge, slots};
use super::edges::joined;
use std::collections::HashMap;

/// Which slots an instruction may take.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    A,
    I,
    M,
    F,
    L,
    B,
}

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

/// What of the instructions that may issue is considered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Everything that is ready.
    Eager,
    /// Only what must issue now.
    Lazy,
    /// Either of the two in each cycle.
    EagerLazy,
    /// Every subset.
    All,
}

/// What a machine issues in one cycle: units by the kind of slot, and all slots together.
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

    /// Whether a group that takes so many slots issues in one cycle. An A takes an M or an I unit, a long one an I.
    fn fits(self, counts: Counts, taken: u32) -> bool {
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
    /// Subsets that are looked at, in all; with none it is the list schedule.
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

/// What issues in one cycle, and where in its bundle it starts and ends.
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

/// What a packing breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// An instruction issues not at all, or twice.
    Missing(u32),
    /// Cycles do not ascend, or an end is not where the next group starts.
    Order(usize),
    Wait(Wait),
    /// Slots are not what the groups take.
    Slots,
}

/// In each cycle the ready instructions that lead the longest ways, as many as issue, every group in bundles of its own:
/// the baseline.
pub fn list(block: &Block, width: Width) -> Packing {
    let count = block.types.len();
    let mut height = vec![0; count];
    let (before, after) = neighbours(block);
    for at in (0..count).rev() {
        for &(to, cycles) in &after[at] {
            height[at] = height[at].max(height[to as usize] + cycles);
        }
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(height[i as usize]), i));
    let mut cycle_of: Vec<Option<u32>> = vec![None; count];
    let mut out = Packing {
        groups: Vec::new(),
        slots: 0,
        nops: 0,
        cycles: 0,
        proved: false,
    };
    let mut cycle = 0;
    let mut idle = 0;
    while cycle_of.iter().any(Option::is_none) {
        let mut instructions: Vec<u32> = Vec::new();
        let mut counts = Counts::default();
        let mut taken = 0;
        // What may stand in the group of another may come with it.
        let mut grown = true;
        while std::mem::take(&mut grown) {
            for &i in &order {
                let ready = cycle_of[i as usize].is_none()
                    && before[i as usize].iter().all(|&(from, cycles)| {
                        cycle_of[from as usize].is_some_and(|from| from + cycles <= cycle)
                    });
                if !ready {
                    continue;
                }
                let mut with = counts;
                *place(&mut with, block.types[i as usize]) += 1;
                let wanted = slots(with, Edge::Whole, Edge::Whole).unwrap_or(u32::MAX);
                // An instruction that fits nowhere issues alone.
                if width.fits(with, wanted) || (instructions.is_empty() && idle > 0) {
                    (counts, taken, grown) = (with, wanted, true);
                    cycle_of[i as usize] = Some(cycle);
                    instructions.push(i);
                }
            }
        }
        idle = if instructions.is_empty() { idle + 1 } else { 0 };
        if !instructions.is_empty() {
            instructions.sort_unstable();
            out.slots += taken;
            out.nops += taken - counts.filled();
            out.groups.push(Group {
                cycle,
                instructions,
                start: Edge::Whole,
                end: Edge::Whole,
            });
        }
        cycle += 1;
    }
    out.cycles = cycle;
    out
}

/// The best packing that the options let find; never worse than `list` unless cycles were allowed to be lost.
pub fn pack(block: &Block, options: &Options) -> Packing {
    let baseline = list(block, options.width);
    if block.types.is_empty() || options.decisions == 0 {
        return baseline;
    }
    let baseline = joined(block, baseline, options.width);
    let parts = split(block, options.largest.clamp(1, 64));
    let mut out = Packing {
        groups: Vec::new(),
        slots: 0,
        nops: 0,
        cycles: 0,
        proved: parts.len() == 1,
    };
    let mut decisions = options.decisions;
    for part in &parts {
        let (inner, first) = part_of(block, part, &out, parts.len() > 1);
        // The fewest cycles first: a narrow machine may need more than the longest way.
        let most = list(&inner.block, options.width).cycles
            + inner.release.iter().max().copied().unwrap_or(0);
        let mut found = None;
        let mut more = 0;
        while more <= most {
            // Half of what is left is kept for more cycles.
            let mut search = Search::new(&inner, options, decisions.div_ceil(2), more);
            let all = search.count(search.all());
            let least = options.width.least(all, all.filled());
            if search.last + 1 < least {
                more += least - search.last - 1;
                continue;
            }
            found = search.run();
            decisions -= decisions.div_ceil(2) - search.decisions;
            out.proved &= search.complete && options.choice == Choice::All;
            if found.is_some() || search.last > most {
                break;
            }
            // What was not searched through is not searched again a cycle later.
            more += match search.complete {
                true => 1,
                false => (most.saturating_sub(search.last) / 2).max(1),
            };
        }
        let Some(found) = found else {
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
    out.nops = out.slots - count(block.types.iter().copied()).filled();
    let out = joined(block, out, options.width);
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

/// How many there are of each type.
#[must_use]
pub fn count(types: impl Iterator<Item = Type>) -> Counts {
    let mut counts = Counts::default();
    types.for_each(|ty| *place(&mut counts, ty) += 1);
    counts
}

impl Block {
    /// How many of these instructions there are of each type.
    fn count(&self, instructions: &[u32]) -> Counts {
        count(instructions.iter().map(|&one| self.types[one as usize]))
    }
}

fn place(counts: &mut Counts, ty: Type) -> &mut u32 {
    match ty {
        Type::A => &mut counts.a,
        Type::I => &mut counts.i,
        Type::M => &mut counts.m,
        Type::F => &mut counts.f,
        Type::L => &mut counts.l,
        Type::B => &mut counts.b,
    }
}

/// By instruction: what it waits for and what waits for it, with the cycles.
type Neighbours = Vec<Vec<(u32, u32)>>;

fn neighbours(block: &Block) -> (Neighbours, Neighbours) {
    let count = block.types.len();
    let (mut before, mut after) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for wait in &block.edges {
        before[wait.to as usize].push((wait.from, wait.cycles));
        after[wait.from as usize].push((wait.to, wait.cycles));
    }
    (before, after)
}

/// The first cycle of each instruction; edges lead forward in program order.
fn earliest(block: &Block) -> Vec<u32> {
    let mut cycle = vec![0; block.types.len()];
    let (before, _) = neighbours(block);
    for (at, waits) in before.iter().enumerate() {
        for &(from, cycles) in waits {
            cycle[at] = cycle[at].max(cycle[from as usize] + cycles);
        }
    }
    cycle
}

/// Parts of at most so many instructions, in the order of the list schedule.
fn split(block: &Block, largest: usize) -> Vec<Vec<u32>> {
    let cycle = earliest(block);
    let mut order: Vec<u32> = (0..block.types.len() as u32).collect();
    order.sort_by_key(|&i| (cycle[i as usize], i));
    let mut parts: Vec<Vec<u32>> = order.chunks(largest).map(<[u32]>::to_vec).collect();
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// A part as a block, with the first cycle in which it may issue: behind what was packed before.
fn part_of(block: &Block, part: &[u32], before: &Packing, several: bool) -> (Inner, u32) {
    let number = |i: u32| part.binary_search(&i).ok().map(|at| at as u32);
    let edges = block.edges.iter().filter_map(|wait| {
        Some(Wait {
            from: number(wait.from)?,
            to: number(wait.to)?,
            cycles: wait.cycles,
        })
    });
    let first = before.groups.last().map_or(0, |group| group.cycle + 1);
    let mut release = vec![0; part.len()];
    if several {
        let mut cycle_of = HashMap::new();
        for group in &before.groups {
            cycle_of.extend(group.instructions.iter().map(|&i| (i, group.cycle)));
        }
        for wait in &block.edges {
            if let (Some(&from), Some(to)) = (cycle_of.get(&wait.from), number(wait.to)) {
                let at = (from + wait.cycles).saturating_sub(first);
                release[to as usize] = release[to as usize].max(at);
            }
        }
    }
    let inner = Inner {
        block: Block {
            types: part.iter().map(|&i| block.types[i as usize]).collect(),
            edges: edges.collect(),
        },
        release,
        start: before.groups.last().map_or(Edge::Whole, |group| group.end),
    };
    (inner, first)
}

/// A block of at most 64 instructions that begins somewhere in a bundle.
struct Inner {
    block: Block,
    /// First cycles from outside.
    release: Vec<u32>,
    start: Edge,
}

type Set = u64;

fn members(set: Set) -> impl Iterator<Item = u32> {
    (0..64).filter(move |i| set >> i & 1 == 1)
}

/// What the rest of a block depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    left: Set,
    cycle: u32,
    start: Edge,
    /// Of those left, who may not issue in this cycle yet though all before it have, and when.
    later: Vec<(u32, u32)>,
}

/// What is known of a state: slots from there, and the first step of the schedule that takes them.
#[derive(Clone, Copy)]
enum Known {
    Exact(u32, Set, Edge),
    /// Not below.
    AtLeast(u32),
}

struct Search<'b> {
    inner: &'b Inner,
    options: &'b Options,
    deadline: Vec<u32>,
    preds: Vec<Vec<(u32, u32)>>,
    succs: Vec<Set>,
    known: HashMap<State, Known>,
    decisions: usize,
    /// Steps that are left to come to an end when no decisions are.
    grace: usize,
    complete: bool,
    /// The last cycle in which something may issue.
    last: u32,
}

/// Instructions of which every subset is looked at; of more the rest comes with them or not.
const MOST_CHOICES: usize = 10;
const INFINITE: u32 = u32::MAX / 2;

impl<'b> Search<'b> {
    fn new(inner: &'b Inner, options: &'b Options, decisions: usize, more: u32) -> Self {
        let count = inner.block.types.len();
        let (preds, after) = neighbours(&inner.block);
        let mut succs = vec![0; count];
        let mut early = inner.release.clone();
        for at in 0..count {
            for &(from, cycles) in &preds[at] {
                early[at] = early[at].max(early[from as usize] + cycles);
                succs[from as usize] |= 1 << at;
            }
        }
        let last = early.iter().max().copied().unwrap_or(0) + options.loss + more;
        let mut deadline = vec![last; count];
        for at in (0..count).rev() {
            for &(to, cycles) in &after[at] {
                deadline[at] = deadline[at].min(deadline[to as usize].saturating_sub(cycles));
            }
        }
        Search {
            inner,
            options,
            deadline,
            preds,
            succs,
            known: HashMap::new(),
            decisions,
            grace: 20 * count + 100,
            complete: true,
            last,
        }
    }

    fn run(&mut self) -> Option<Vec<Group>> {
        let all = self.all();
        let issued = vec![None; self.inner.block.types.len()];
        let first = self.state(all, 0, self.inner.start, &issued);
        let total = self.least(&first, &mut issued.clone(), INFINITE);
        if total >= INFINITE {
            return None;
        }
        // The way again, by what was kept of each state.
        let (mut state, mut issued, mut groups) = (first, issued, Vec::new());
        while state.left != 0 {
            let Some(&Known::Exact(_, chosen, end)) = self.known.get(&state) else {
                return None;
            };
            let mut start = state.start;
            if chosen != 0 {
                members(chosen).for_each(|i| issued[i as usize] = Some(state.cycle));
                groups.push(Group {
                    cycle: state.cycle,
                    instructions: members(chosen).collect(),
                    start,
                    end,
                });
                start = end;
            }
            state = self.state(state.left & !chosen, state.cycle + 1, start, &issued);
        }
        Some(groups)
    }

    fn all(&self) -> Set {
        match self.inner.block.types.len() {
            64 => Set::MAX,
            count => (1 << count) - 1,
        }
    }

    fn state(&self, left: Set, cycle: u32, start: Edge, issued: &[Option<u32>]) -> State {
        let later = members(left)
            .filter_map(|i| {
                let from = self.preds[i as usize]
                    .iter()
                    .filter_map(|&(from, wait)| Some(issued[from as usize]? + wait))
                    .chain([self.inner.release[i as usize]])
                    .max()?;
                (from > cycle).then_some((i, from))
            })
            .collect();
        State {
            left,
            cycle,
            start,
            later,
        }
    }

    /// The fewest slots from a state; some number not below `limit` when there are not fewer.
    fn least(&mut self, state: &State, issued: &mut Vec<Option<u32>>, limit: u32) -> u32 {
        if state.left == 0 {
            return match state.start {
                Edge::Whole => 0,
                open => 3 - open.slots(),
            };
        }
        match self.known.get(state) {
            Some(&Known::Exact(slots, ..)) => return slots,
            Some(&Known::AtLeast(slots)) if slots >= limit => return slots,
            _ => {}
        }
        let bound = self.bound(state.left, state.start);
        if bound >= limit {
            return bound;
        }
        let mut ready: Set = 0;
        for i in members(state.left) {
            if self.deadline[i as usize] < state.cycle {
                return INFINITE;
            }
            let waits = self.preds[i as usize]
                .iter()
                .any(|&(from, wait)| wait > 0 && state.left >> from & 1 == 1);
            if !waits && !state.later.iter().any(|one| one.0 == i) {
                ready |= 1 << i;
            }
        }
        let must = members(ready)
            .filter(|&i| self.deadline[i as usize] == state.cycle)
            .fold(0, |set, i| set | 1 << i);
        let may: Vec<u32> = members(ready & !must).collect();
        let mut best = limit;
        let mut step = None;
        for (tried, subset) in self.subsets(&may).into_iter().enumerate() {
            let group = subset | must;
            // What need not wait a cycle still waits for its group.
            let alone = members(group).any(|i| {
                self.preds[i as usize]
                    .iter()
                    .any(|&(from, _)| state.left >> from & 1 == 1 && group >> from & 1 == 0)
            });
            if alone {
                continue;
            }
            if self.decisions == 0 && (step.is_some() || tried > 1) {
                self.complete = false;
                break;
            }
            if self.decisions == 0 {
                self.complete = false;
                let Some(grace) = self.grace.checked_sub(1) else {
                    break;
                };
                self.grace = grace;
            }
            self.decisions = self.decisions.saturating_sub(1);
            if group == 0 {
                let next = self.state(state.left, state.cycle + 1, state.start, issued);
                let total = self.least(&next, issued, best);
                if total < best {
                    (best, step) = (total, Some((0, state.start)));
                }
                continue;
            }
            let counts = self.count(group);
            for end in Edge::ALL {
                let Some(taken) = slots(counts, state.start, end) else {
                    continue;
                };
                let wide = self.options.width.fits(counts, state.start.slots() + taken);
                if taken >= best
                    || !wide
                    || self.is_pruned(state, ready & !group, group, counts, taken, end)
                {
                    continue;
                }
                members(group).for_each(|i| issued[i as usize] = Some(state.cycle));
                let next = self.state(state.left & !group, state.cycle + 1, end, issued);
                let rest = self.least(&next, issued, best - taken);
                members(group).for_each(|i| issued[i as usize] = None);
                if taken + rest < best {
                    (best, step) = (taken + rest, Some((group, end)));
                }
            }
            if step.is_some() && best == bound {
                break;
            }
        }
        let found = match step {
            Some((group, end)) => Known::Exact(best, group, end),
            None => Known::AtLeast(limit),
        };
        // What was cut short is kept for the way; as a bound only when there is nothing left to search with.
        if step.is_some() || self.complete || self.decisions == 0 {
            self.known.insert(state.clone(), found);
        }
        if step.is_some() {
            best
        } else {
            limit.max(bound)
        }
    }

    fn count(&self, set: Set) -> Counts {
        let mut counts = Counts::default();
        members(set).for_each(|i| *place(&mut counts, self.inner.block.types[i as usize]) += 1);
        counts
    }

    /// All that is left as one group, its branches anywhere.
    fn bound(&self, left: Set, start: Edge) -> u32 {
        let counts = self.count(left);
        let others = Counts { b: 0, ..counts };
        let open = match start {
            Edge::Whole => 0,
            open => 3 - open.slots(),
        };
        let room = open + (counts.filled().saturating_sub(open)).div_ceil(3) * 3;
        match slots(others, start, Edge::Whole) {
            Some(others) => others.max(room),
            None => room,
        }
    }

    fn subsets(&mut self, may: &[u32]) -> Vec<Set> {
        let all = may.iter().fold(0, |set, i| set | 1 << i);
        match self.options.choice {
            Choice::Eager => vec![all],
            Choice::Lazy => vec![0],
            Choice::EagerLazy if all == 0 => vec![0],
            Choice::EagerLazy => vec![all, 0],
            Choice::All => {
                // The whole first, then from many to few; more than so many are not looked at.
                if self.decisions == 0 {
                    self.complete = false;
                    return vec![all, 0];
                }
                let count = may.len().min(MOST_CHOICES);
                self.complete &= count == may.len();
                let mut sets: Vec<Set> = (0..1u32 << count)
                    .map(|bits| {
                        (0..count)
                            .filter(|at| bits >> at & 1 == 1)
                            .fold(0, |set, at| set | 1 << may[at])
                    })
                    .collect();
                if count < may.len() {
                    let rest = may[count..].iter().fold(0, |set, i| set | 1 << i);
                    sets.iter_mut().for_each(|set| *set |= rest);
                    sets.push(0);
                }
                sets.sort_by_key(|set| (std::cmp::Reverse(set.count_ones()), *set));
                sets
            }
        }
    }

    fn is_pruned(
        &mut self,
        state: &State,
        out: Set,
        group: Set,
        counts: Counts,
        taken: u32,
        end: Edge,
    ) -> bool {
        if self.options.choice != Choice::All {
            return false;
        }
        // Something that was left out would have come for nothing.
        let fillable = members(out).any(|i| {
            let ready = self.preds[i as usize]
                .iter()
                .all(|&(from, _)| state.left >> from & 1 == 0 || group >> from & 1 == 1);
            let mut with = counts;
            *place(&mut with, self.inner.block.types[i as usize]) += 1;
            let fits = self.options.width.fits(with, state.start.slots() + taken);
            ready && fits && slots(with, state.start, end) == Some(taken)
        });
        // Something that nothing waits for, and that may wait, takes a bundle for itself.
        let sparse = || {
            members(group).any(|i| {
                let free = self.succs[i as usize] & state.left == 0
                    && self.deadline[i as usize] > state.cycle;
                let mut without = counts;
                *place(&mut without, self.inner.block.types[i as usize]) -= 1;
                free && without != Counts::default()
                    && slots(without, state.start, end).is_some_and(|less| less + 3 <= taken)
            })
        };
        fillable || sparse()
    }
}
