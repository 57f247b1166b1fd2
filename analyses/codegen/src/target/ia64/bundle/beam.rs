//! Groups and templates cycle by cycle, from the instructions that must issue now and those that may: all of
//! the latter, none, or those that come for nothing.
//!
//! ```text
//! must M1, may I2 I3 F4:  eager {M1 I2 I3 F4} MFI MI_ ;  lazy {M1}, with what comes for nothing {M1 I2 I3} MII, F4 later
//! ```
//!
//! A way through the block keeps the fewest slots for each of the three places in a bundle where its last group may end, so
//! that ends are no choice of their own: of the groups of a way the bundles are the best. In each cycle the ways that promise
//! most go on, by what they took and the bound of the rest as one group; a way whose promise is not below the best schedule
//! that is known ends. Cycles in which nothing changes are passed over.
//!
//! Sets of instructions are words of 64 bits, so are blocks at most. Source: Haga and Barua, *EPIC
//! Instruction Scheduling Based on Optimal Approaches*, 2001, section 6 (eager, lazy); the rule that an
//! instruction which comes for nothing may issue is their rule of the fillable nop.

use super::block::{Choice, Group, Options};
use super::cost::{Counts, Edge, slots};
use super::part::{Inner, Set, bound, members};

/// Ways that go on from cycle to cycle.
const WAYS: usize = 3;
pub(super) const INFINITE: u32 = u32::MAX / 2;

/// A way through the block up to a cycle.
#[derive(Clone)]
struct Way {
    left: Set,
    /// The remaining instructions of which no predecessor at a distance of a cycle or more remains.
    open: Set,
    cycle: u32,
    /// The numbers of the remaining instructions, by type.
    counts: Counts,
    /// Slots by the place where the last group ended.
    slots: [u32; 3],
    /// Its last group, in `steps`.
    step: u32,
    /// First cycles, as far as they are known.
    from: [u32; 64],
}

/// A group, the one in front of it, and for each end where that one ended best.
struct Step {
    before: u32,
    cycle: u32,
    group: Set,
    starts: [u8; 3],
}

/// The next step of a way: with a group in its cycle, or without one.
#[derive(Clone, Copy)]
struct Next {
    /// The index in `ways`.
    way: usize,
    group: Set,
    left: Set,
    counts: Counts,
    /// The next cycle of the way.
    cycle: u32,
    slots: [u32; 3],
    starts: [u8; 3],
    /// Slots in all at the least.
    promise: u32,
}

struct Beam<'a> {
    inner: &'a Inner,
    options: &'a Options,
    last: u32,
    /// Slots that are not worth their way.
    limit: u32,
    next: Vec<Next>,
}

/// The fewest slots below `limit` that were found for a part whose last group issues in cycle `last` at the latest.
pub(super) fn beam(
    inner: &Inner,
    options: &Options,
    last: u32,
    limit: u32,
) -> Option<(u32, Vec<Group>)> {
    let count = inner.graph.count;
    let mut from = [0; 64];
    from[..count].copy_from_slice(&inner.release);
    let mut first = Way {
        left: inner.all(),
        open: 0,
        cycle: 0,
        counts: inner.count(inner.all()),
        slots: Edge::ALL.map(|edge| if edge == inner.start { 0 } else { INFINITE }),
        step: u32::MAX,
        from,
    };
    for each in 0..count {
        if inner.long[each] == 0 {
            first.open |= 1 << each;
        }
    }
    let least = bound(first.counts, inner.start);
    let wide = match options.choice {
        Choice::Eager | Choice::Lazy => 1,
        Choice::EagerLazy | Choice::AllowedLoss | Choice::All => WAYS,
    };
    let mut beam = Beam {
        inner,
        options,
        last,
        limit,
        next: Vec::with_capacity(6 * wide),
    };
    let mut steps: Vec<Step> = Vec::with_capacity(2 * count);
    let mut best = None;
    let (mut ways, mut after) = (vec![first], Vec::with_capacity(wide));
    while let Some(cycle) = ways.iter().map(|way| way.cycle).min() {
        beam.next.clear();
        for (at, way) in ways.iter().enumerate() {
            match way.cycle > cycle {
                true => beam.wait(at, way, way.cycle),
                false => beam.go(at, way),
            }
        }
        // Ends first: what they take is the limit of the others.
        for each in &beam.next {
            if each.left == 0 && each.promise < beam.limit {
                beam.limit = each.promise;
                best = Some((steps.len() as u32, each.slots));
                steps.push(Step::of(each, &ways));
            }
        }
        if beam.limit <= least {
            break;
        }
        after.clear();
        while after.len() < wide {
            let open = beam.next.iter().filter(|it| {
                let known = |way: &Way| {
                    way.left == it.left
                        && way.cycle == it.cycle
                        && (0..3).all(|end| way.slots[end] <= it.slots[end])
                };
                it.left != 0 && it.promise < beam.limit && !after.iter().any(known)
            });
            let Some(earliest) = open.min_by_key(|it| it.promise) else {
                break;
            };
            let mut way = ways[earliest.way].clone();
            if earliest.group != 0 {
                way.issue(inner, earliest, steps.len() as u32);
                steps.push(Step::of(earliest, &ways));
            }
            way.cycle = earliest.cycle;
            after.push(way);
        }
        std::mem::swap(&mut ways, &mut after);
    }
    let limit = beam.limit;
    let (mut step, ends) = best?;
    let mut to = (0..3).min_by_key(|&to| padded(ends, to))?;
    let mut groups = Vec::new();
    while let Some(found) = steps.get(step as usize) {
        let start = found.starts[to] as usize;
        groups.push(Group {
            cycle: found.cycle,
            instructions: members(found.group).collect(),
            start: Edge::ALL[start],
            end: Edge::ALL[to],
        });
        (step, to) = (found.before, start);
    }
    groups.reverse();
    Some((limit, groups))
}

/// Returns the slots up to the end of the bundle.
fn padded(slots: [u32; 3], end: usize) -> u32 {
    let open = Edge::ALL[end].slots();
    slots[end] + if open == 0 { 0 } else { 3 - open }
}

impl Step {
    fn of(next: &Next, ways: &[Way]) -> Step {
        Step {
            before: ways[next.way].step,
            cycle: ways[next.way].cycle,
            group: next.group,
            starts: next.starts,
        }
    }
}

impl Way {
    fn issue(&mut self, inner: &Inner, next: &Next, step: u32) {
        (self.left, self.counts, self.slots, self.step) =
            (next.left, next.counts, next.slots, step);
        self.open &= !next.group;
        for member in members(next.group) {
            for &(to, cycles) in inner.graph.after(member) {
                let known = &mut self.from[to as usize];
                *known = (*known).max(self.cycle + cycles);
                if inner.long[to as usize] & next.left == 0 {
                    self.open |= (1 << to) & next.left;
                }
            }
        }
    }

    /// Slots in all at the least.
    fn promise(&self) -> u32 {
        promise(self.slots, self.counts)
    }
}

fn promise(slots: [u32; 3], left: Counts) -> u32 {
    let ends = Edge::ALL.into_iter().zip(slots);
    let open = ends.filter(|(_, slots)| *slots < INFINITE);
    open.map(|(edge, slots)| slots + bound(left, edge))
        .min()
        .unwrap_or(INFINITE)
}

impl Beam<'_> {
    /// Continues a way with each group that may issue in its cycle.
    fn go(&mut self, number: usize, way: &Way) {
        let (mut ready, mut must, mut soon) = (0, 0, u32::MAX);
        for member in members(way.open) {
            let (from, deadline) = (
                way.from[member as usize],
                self.last - self.inner.graph.height[member as usize],
            );
            if from <= way.cycle {
                ready |= 1 << member;
                match deadline.checked_sub(way.cycle) {
                    None => return,
                    Some(0) => must |= 1 << member,
                    Some(_) => soon = soon.min(deadline),
                }
            } else {
                soon = soon.min(from);
            }
        }
        let counts = self.inner.count(must);
        let width = self.options.width;
        let whole = slots(counts, Edge::Whole, Edge::Whole).unwrap_or(INFINITE);
        if must != 0 && !width.fits(counts, whole) {
            return;
        }
        let rest = ready & !must;
        // Where the way stands best.
        let at = (0..3)
            .min_by_key(|&at| way.slots[at] + bound(way.counts, Edge::ALL[at]))
            .unwrap_or(0);
        let mut tried: [Set; 5] = [0; 5];
        let mut count = 0;
        let mut offer = |beam: &mut Self, group: Set, counts: Counts| {
            if group == 0 || tried[..count].contains(&group) {
                return;
            }
            tried[count] = group;
            count += 1;
            beam.issue(number, way, group, counts);
        };
        let choice = self.options.choice;
        if choice != Choice::Lazy {
            let (group, counts) = self.filled(way, must, counts, rest, |with| {
                slots(with, Edge::Whole, Edge::Whole).is_some_and(|taken| width.fits(with, taken))
            });
            offer(self, group, counts);
        }
        if matches!(
            choice,
            Choice::EagerLazy | Choice::AllowedLoss | Choice::All
        ) && must != 0
        {
            for end in Edge::ALL {
                let start = Edge::ALL[at];
                let Some(taken) = slots(counts, start, end) else {
                    continue;
                };
                if !width.fits(counts, start.slots() + taken) {
                    continue;
                }
                let (group, counts) = self.filled(way, must, counts, rest, |with| {
                    slots(with, start, end) == Some(taken)
                        && width.fits(with, start.slots() + taken)
                });
                offer(self, group, counts);
            }
        }
        if choice == Choice::Lazy {
            offer(self, must, counts);
        }
        // Nothing issues now: as long as nothing else is ready, issuing later would give the same, but
        // dearer.
        if (must == 0 && choice != Choice::Eager || ready == 0) && soon < u32::MAX {
            self.wait(number, way, soon);
        }
    }

    fn wait(&mut self, number: usize, way: &Way, cycle: u32) {
        self.next.push(Next {
            way: number,
            group: 0,
            left: way.left,
            counts: way.counts,
            cycle,
            slots: way.slots,
            starts: [0; 3],
            promise: way.promise(),
        });
    }

    /// Fills the group of the instructions that must issue with as many others as fit, those that lead the
    /// longest ways first.
    fn filled(
        &self,
        way: &Way,
        must: Set,
        mut counts: Counts,
        mut rest: Set,
        fits: impl Fn(Counts) -> bool,
    ) -> (Set, Counts) {
        let mut group = must;
        let mut full = [false; 6];
        // Instructions that one may share its group with stand in front of it in this order.
        for &each in &self.inner.order {
            let ty = self.inner.types[each as usize];
            if rest >> each & 1 == 0 || full[ty as usize] {
                continue;
            }
            // What need not wait a cycle still waits for its group.
            if self.inner.short[each as usize] & way.left & !group != 0 {
                continue;
            }
            let mut with = counts;
            *super::block::place(&mut with, ty) += 1;
            if fits(with) {
                counts = with;
                group |= 1 << each;
                rest &= !(1 << each);
                if rest == 0 {
                    break;
                }
            } else {
                full[ty as usize] = true;
            }
        }
        (group, counts)
    }

    fn issue(&mut self, number: usize, way: &Way, group: Set, counts: Counts) {
        let width = self.options.width;
        let mut ends = [INFINITE; 3];
        let mut starts = [0; 3];
        for (at, start) in Edge::ALL.into_iter().enumerate() {
            if way.slots[at] >= INFINITE {
                continue;
            }
            for (to, end) in Edge::ALL.into_iter().enumerate() {
                let Some(taken) = slots(counts, start, end) else {
                    continue;
                };
                let total = way.slots[at] + taken;
                if total < ends[to] && width.fits(counts, start.slots() + taken) {
                    (ends[to], starts[to]) = (total, at as u8);
                }
            }
        }
        let all = way.counts;
        let left = Counts {
            a: all.a - counts.a,
            i: all.i - counts.i,
            m: all.m - counts.m,
            f: all.f - counts.f,
            l: all.l - counts.l,
            b: all.b - counts.b,
        };
        let promise = promise(ends, left);
        if promise < self.limit {
            self.next.push(Next {
                way: number,
                group,
                left: way.left & !group,
                counts: left,
                cycle: way.cycle + 1,
                slots: ends,
                starts,
                promise,
            });
        }
    }
}
