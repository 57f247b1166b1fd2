//! The choice, among schedules of one interval, of one whose values live shorter: operations move within the
//! room that their dependences and rows leave, as long as something is gained.
//!
//! The cost is the sum of all lifetimes in cycles and of the stages; every move makes it smaller, so it ends, and `SWEEPS`
//! bounds it. It finds no best schedule: each operation moves alone.

use super::graph::{Edge, Graph, Packer, Schedule};
use super::iterative::length;
use super::reservation::ReservationTable;
use smallvec::SmallVec;
use std::cell::OnceCell;

/// Passes over all operations.
const SWEEPS: usize = 8;
/// Values and dependences that are looked at, in all.
const WORK: usize = 400_000;

/// A value that an iteration hands to later operations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Value {
    pub writers: Vec<u32>,
    /// Readers, and how many iterations later.
    pub readers: Vec<(u32, u32)>,
    /// Read after the loop, by iterations before the last; lives until then.
    pub after: Option<u32>,
    /// Set before the loop for its first iteration.
    pub initial: bool,
}

impl Value {
    /// From its first write to its last read, in cycles from the start of its iteration. `stages` of the schedule.
    #[must_use]
    pub fn life(&self, schedule: &Schedule, stages: u32) -> (i64, i64) {
        let ii = i64::from(schedule.ii);
        let (first, last) = self.ends(schedule, |_| true);
        self.whole(first, last, ii, stages)
    }

    /// The first write and the last write or read by those operations.
    fn ends(
        &self,
        schedule: &Schedule,
        counts: impl Fn(u32) -> bool,
    ) -> (Option<i64>, Option<i64>) {
        let at = |it: u32| i64::from(schedule.start[it as usize]);
        let writers = self.writers.iter().filter(|&&writer| counts(writer));
        let written = writers.map(|&writer| at(writer));
        let readers = self.readers.iter().filter(|&&(reader, _)| counts(reader));
        let read = readers.map(|&(it, later)| at(it) + i64::from(later) * i64::from(schedule.ii));
        (written.clone().min(), written.chain(read).max())
    }

    /// The life between the first write and the last access.
    fn whole(&self, first: Option<i64>, last: Option<i64>, ii: i64, stages: u32) -> (i64, i64) {
        let first = first.unwrap_or(0);
        let mut last = last.unwrap_or(first);
        if let Some(later) = self.after {
            // Behind the last rotation it is still to be found.
            last = last.max(i64::from(stages + later) * ii);
        }
        // What the loop finds waits from its start on.
        let first = if self.initial { first.min(ii) } else { first };
        (first, last)
    }
}

/// The schedule with its branch in the last cycle of the interval.
#[must_use]
pub fn aligned(schedule: &Schedule, branch: u32) -> Schedule {
    let ii = schedule.ii;
    let by = ii - 1 - schedule.start[branch as usize] % ii;
    let start: Vec<u32> = schedule.start.iter().map(|at| at + by).collect();
    // Whole stages in front of the first operation are nothing.
    let empty = least(&start) / ii * ii;
    Schedule {
        ii,
        start: start.iter().map(|at| at - empty).collect(),
    }
}

/// Aligned to the branch, with shorter lives.
#[must_use]
pub fn shorten<P: Packer>(
    graph: &Graph<P>,
    schedule: &Schedule,
    values: &[Value],
    branch: u32,
) -> Schedule {
    let mut now = State::new(graph, aligned(schedule, branch), values);
    let ii = i64::from(schedule.ii);
    let each = values.len() + graph.edges.len() + 1;
    let mut left = WORK / each;
    // By operation: its dependences.
    let mut edges: Vec<Vec<&Edge>> = vec![Vec::new(); graph.operations.len()];
    for edge in graph.edges.iter().filter(|edge| edge.from != edge.to) {
        edges[edge.from as usize].push(edge);
        edges[edge.to as usize].push(edge);
    }
    for _ in 0..SWEEPS {
        let mut changed = false;
        for operation in 0..graph.operations.len() as u32 {
            let start = &now.schedule.start;
            let own = i64::from(start[operation as usize]);
            let (mut from, mut to) = (own - 2 * ii, own + 2 * ii);
            for edge in &edges[operation as usize] {
                let way = length(edge, schedule.ii);
                if edge.to == operation {
                    from = from.max(i64::from(start[edge.from as usize]) + way);
                }
                if edge.from == operation {
                    to = to.min(i64::from(start[edge.to as usize]) - way);
                }
            }
            let others = Others::of(start, operation);
            for at in from..=to {
                if at == own {
                    continue;
                }
                let Some(less) = left.checked_sub(1) else {
                    return now.schedule;
                };
                left = less;
                if now.try_move(operation, at, branch, &others) {
                    changed = true;
                    break;
                }
            }
        }
        if !changed {
            break;
        }
    }
    now.schedule
}

/// The first cycle in which something starts.
fn least(start: &[u32]) -> u32 {
    match start.is_empty() {
        true => 0,
        false => start.iter().copied().fold(u32::MAX, u32::min),
    }
}

/// All operations but one, as they stand while that one is tried elsewhere.
struct Others<'v> {
    /// The first and the last cycle in which one of them starts.
    first: i64,
    last: i64,
    /// Found when they are first asked for.
    lives: OnceCell<Lives<'v>>,
}

impl Others<'_> {
    fn of(start: &[u32], operation: u32) -> Self {
        let (before, behind) = start.split_at(operation as usize);
        let mut out = Others {
            first: i64::MAX,
            last: 0,
            lives: OnceCell::new(),
        };
        for &at in before.iter().chain(&behind[1..]) {
            out.first = out.first.min(at.into());
            out.last = out.last.max(at.into());
        }
        out
    }
}

/// The part of a value's lifetime that changes when one of its operations moves alone.
struct Part<'v> {
    value: &'v Value,
    /// The first write and the last write or read by others.
    others: (Option<i64>, Option<i64>),
    /// The operation writes it.
    writes: bool,
    /// Cycles behind the operation's start at which it writes or reads it for the last time.
    last: i64,
}

impl Part<'_> {
    /// Cycles, with all others later by `delta` and the operation at `at`.
    fn life(&self, delta: i64, at: i64, ii: i64, stages: u32) -> i64 {
        let (first, last) = self.others;
        let own = self.writes.then_some(at);
        let first = first.map(|first| first + delta).into_iter().chain(own);
        let last = last.map_or(at + self.last, |last| (last + delta).max(at + self.last));
        let (first, last) = self.value.whole(first.min(), Some(last), ii, stages);
        last - first
    }
}

/// The lives of an operation's values where it alone moves.
struct Lives<'v> {
    parts: SmallVec<[Part<'v>; 8]>,
    ii: i64,
}

impl Lives<'_> {
    fn sum(&self, delta: i64, at: i64, stages: u32) -> i64 {
        let lives = self.parts.iter();
        lives
            .map(|part| part.life(delta, at, self.ii, stages))
            .sum()
    }
}

/// A schedule, and the parts of its cost and its rows.
struct State<'g, P: Packer> {
    graph: &'g Graph<P>,
    values: &'g [Value],
    schedule: Schedule,
    /// The values that each operation writes or reads.
    of: Vec<Vec<u32>>,
    /// Indexed by value: its first write, and its last write or read.
    ends: Vec<(Option<i64>, Option<i64>)>,
    cost: i64,
    reserved: Option<ReservationTable<'g, P>>,
}

impl<'g, P: Packer> State<'g, P> {
    fn new(graph: &'g Graph<P>, schedule: Schedule, values: &'g [Value]) -> Self {
        let mut of: Vec<Vec<u32>> = vec![Vec::new(); graph.operations.len()];
        for (value, number) in values.iter().zip(0..) {
            let readers = value.readers.iter().map(|(it, _)| it);
            for &writer in value.writers.iter().chain(readers) {
                let own = &mut of[writer as usize];
                if own.last() != Some(&number) {
                    own.push(number);
                }
            }
        }
        let mut out = State {
            graph,
            values,
            cost: cost(&schedule, values),
            reserved: None,
            ends: Vec::new(),
            schedule,
            of,
        };
        out.fill();
        out
    }

    fn lives(&self, operation: u32) -> Lives<'g> {
        let ii = i64::from(self.schedule.ii);
        let parts = self.of[operation as usize].iter().map(|&number| {
            let value = &self.values[number as usize];
            let writes = value.writers.contains(&operation);
            let own = value.readers.iter().filter(|(it, _)| *it == operation);
            let read = own.map(|&(_, later)| i64::from(later) * ii).max();
            Part {
                value,
                others: value.ends(&self.schedule, |it| it != operation),
                writes,
                last: read.unwrap_or(0).max(if writes { 0 } else { i64::MIN }),
            }
        });
        Lives {
            parts: parts.collect(),
            ii,
        }
    }

    fn fill(&mut self) {
        let ends = self.values.iter();
        self.ends = ends
            .map(|value| value.ends(&self.schedule, |_| true))
            .collect();
        let Schedule { ii, start } = &self.schedule;
        self.reserved = self.graph.packing.as_ref().map(|packing| {
            let mut reserved = ReservationTable::new(packing, *ii);
            for (operation, start) in (0..).zip(start) {
                reserved.add((start % ii) as usize, operation);
            }
            reserved
        });
    }

    /// Returns true if the operation moved there: it does where that costs less and issues.
    fn try_move(&mut self, operation: u32, at: i64, branch: u32, others: &Others<'g>) -> bool {
        let (ii, own) = (self.schedule.ii, operation as usize);
        let before = self.schedule.start[own];
        let slot = at.rem_euclid(i64::from(ii)) as u32;
        // All rows turn with the branch, and what issues together stays the same.
        if let Some(reserved) = &mut self.reserved
            && slot != before % ii
            && !reserved.admits(slot as usize, operation)
        {
            return false;
        }
        let cycles = i64::from(ii);
        let stages = (others.last.max(before.into()) / cycles + 1) as u32;
        let lives = others.lives.get_or_init(|| self.lives(operation));
        let with = lives.sum(0, before.into(), stages);
        let (first, last) = (others.first.min(at), others.last.max(at));
        // Where the stages stay as they are, other values do too.
        if operation != branch
            && at >= 0
            && first < cycles
            && last / cycles + 1 == i64::from(stages)
        {
            let cost = self.cost - with + lives.sum(0, at, stages);
            if cost >= self.cost {
                return false;
            }
            self.schedule.start[own] = at as u32;
            let moved = self.schedule.check(self.graph).is_ok();
            match moved {
                true => {
                    self.cost = cost;
                    for &number in &self.of[own] {
                        let value = &self.values[number as usize];
                        self.ends[number as usize] = value.ends(&self.schedule, |_| true);
                    }
                    if let Some(reserved) = &mut self.reserved {
                        reserved.remove((before % ii) as usize, operation);
                        reserved.add(slot as usize, operation);
                    }
                }
                false => self.schedule.start[own] = before,
            }
            return moved;
        }
        // Shifted so that all stay at or behind 0, and aligned as `aligned` does it.
        let shift = if at < 0 { cycles * 2 } else { 0 };
        let last_slot = match operation == branch {
            true => at,
            false => self.schedule.start[branch as usize].into(),
        };
        let by = cycles - 1 - (last_slot + shift) % cycles;
        let delta = shift + by - (first + shift + by) / cycles * cycles;
        // If all other operations stay or move up by whole stages, and the stages do not become fewer, no
        // other value lives shorter.
        let up = delta >= 0 || self.schedule.start.len() == 1;
        let moved_stages = (last + delta) / cycles + 1;
        let more = moved_stages - i64::from(stages);
        if operation != branch && up && more >= 0 {
            let least =
                lives.sum(delta, at + delta, moved_stages as u32) - with + 4 * cycles * more;
            if least >= 0 {
                return false;
            }
        }
        // As if all moved, and then those of the operation as they are.
        let stages = moved_stages as u32;
        let shifted = |number: usize| {
            let (first, last) = self.ends[number];
            let (first, last) = (first.map(|at| at + delta), last.map(|at| at + delta));
            let (first, last) = self.values[number].whole(first, last, cycles, stages);
            last - first
        };
        let all: i64 = (0..self.values.len()).map(shifted).sum();
        let own_values = self.of[own].iter().map(|&number| shifted(number as usize));
        let cost = all - own_values.sum::<i64>()
            + lives.sum(delta, at + delta, stages)
            + 4 * cycles * moved_stages;
        if cost >= self.cost {
            return false;
        }
        let start = self.schedule.start.iter();
        let mut moved = Schedule {
            ii,
            start: start.map(|&it| (i64::from(it) + delta) as u32).collect(),
        };
        moved.start[own] = (at + delta) as u32;
        let better = moved.check(self.graph).is_ok();
        if better {
            self.schedule = moved;
            self.cost = cost;
            self.fill();
        }
        better
    }
}

fn cost(schedule: &Schedule, values: &[Value]) -> i64 {
    let stages = schedule.stages();
    let lives: i64 = values
        .iter()
        .map(|value| {
            let (first, last) = value.life(schedule, stages);
            last - first
        })
        .sum();
    lives + 4 * i64::from(schedule.ii) * i64::from(stages)
}
