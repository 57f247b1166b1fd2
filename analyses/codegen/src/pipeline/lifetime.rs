//! Among schedules of one interval, one whose values live shorter: operations move within the room that their dependences
//! and rows leave, as long as something is gained.
//!
//! The cost is the sum of all lifetimes in cycles and of the stages; every move makes it smaller, so it ends, and `SWEEPS`
//! bounds it. It finds no best schedule: each operation moves alone.

use super::graph::{Edge, Graph, Packer, Schedule};
use super::iterative::length;

/// Passes over all operations.
const SWEEPS: usize = 8;
/// Values and dependences that are looked at, in all.
const WORK: usize = 400_000;

/// What an iteration hands to later operations.
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
        let at = |one: u32| i64::from(schedule.start[one as usize]);
        self.life_at(&at, i64::from(schedule.ii), stages)
    }

    /// The same with operations that start at these cycles.
    fn life_at(&self, at: &dyn Fn(u32) -> i64, ii: i64, stages: u32) -> (i64, i64) {
        let first = self.writers.iter().map(|&one| at(one)).min().unwrap_or(0);
        let written = self.writers.iter().map(|&one| at(one));
        let read = self
            .readers
            .iter()
            .map(|&(one, later)| at(one) + i64::from(later) * ii);
        let mut last = written.chain(read).max().unwrap_or(first);
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
                if now.try_move(graph, values, operation, at, branch, others) {
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

/// The first and the last cycle in which one of the operations but one starts.
#[derive(Clone, Copy)]
struct Others {
    first: i64,
    last: i64,
}

impl Others {
    fn of(start: &[u32], operation: u32) -> Others {
        let (before, behind) = start.split_at(operation as usize);
        let mut out = Others {
            first: i64::MAX,
            last: 0,
        };
        for &at in before.iter().chain(&behind[1..]) {
            out.first = out.first.min(at.into());
            out.last = out.last.max(at.into());
        }
        out
    }
}

/// A schedule, and what its cost and its rows are made of.
struct State<P: Packer> {
    schedule: Schedule,
    /// The values that each operation writes or reads.
    of: Vec<Vec<u32>>,
    cost: i64,
    /// By slot of the interval.
    rows: Vec<P::Demand>,
}

impl<P: Packer> State<P> {
    fn new(graph: &Graph<P>, schedule: Schedule, values: &[Value]) -> State<P> {
        let mut of: Vec<Vec<u32>> = vec![Vec::new(); graph.operations.len()];
        for (value, number) in values.iter().zip(0..) {
            let readers = value.readers.iter().map(|(one, _)| one);
            for &one in value.writers.iter().chain(readers) {
                let own = &mut of[one as usize];
                if own.last() != Some(&number) {
                    own.push(number);
                }
            }
        }
        let mut out = State {
            cost: cost(&schedule, values),
            rows: Vec::new(),
            schedule,
            of,
        };
        out.fill(graph);
        out
    }

    fn fill(&mut self, graph: &Graph<P>) {
        let Some(packing) = &graph.packing else {
            return;
        };
        self.rows.clear();
        let rows = self.schedule.ii as usize;
        self.rows.resize(rows, P::Demand::default());
        for (operation, start) in (0..).zip(&self.schedule.start) {
            packing.add(
                &mut self.rows[(start % self.schedule.ii) as usize],
                operation,
            );
        }
    }

    /// Whether the operation moved there: it does where that costs less and issues.
    fn try_move(
        &mut self,
        graph: &Graph<P>,
        values: &[Value],
        operation: u32,
        at: i64,
        branch: u32,
        others: Others,
    ) -> bool {
        let (ii, own) = (self.schedule.ii, operation as usize);
        let before = self.schedule.start[own];
        let slot = at.rem_euclid(i64::from(ii)) as u32;
        // All rows turn with the branch, and what issues together stays the same.
        if let Some(packing) = &graph.packing
            && slot != before % ii
        {
            let mut row = self.rows[slot as usize];
            packing.add(&mut row, operation);
            if !packing.fits(&row) {
                return false;
            }
        }
        let stages = self.schedule.stages();
        let cycles = i64::from(ii);
        // Of the operation's values, with all others later by `delta` and the operation at `own_at`.
        let lives = |delta: i64, own_at: i64, stages: u32| -> i64 {
            let start = |one: u32| match one == operation {
                true => own_at,
                false => i64::from(self.schedule.start[one as usize]) + delta,
            };
            let lives = self.of[own].iter().map(|&value| {
                let (first, last) = values[value as usize].life_at(&start, cycles, stages);
                last - first
            });
            lives.sum()
        };
        let with = lives(0, before.into(), stages);
        let (first, last) = (others.first.min(at), others.last.max(at));
        // Where the stages stay as they are, other values do too.
        if operation != branch && at >= 0 && first < cycles && last / cycles + 1 == stages.into() {
            let cost = self.cost - with + lives(0, at, stages);
            if cost >= self.cost {
                return false;
            }
            self.schedule.start[own] = at as u32;
            let moved = self.schedule.check(graph).is_ok();
            match moved {
                true => {
                    self.cost = cost;
                    self.fill(graph);
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
        // Where all others stay or move up by whole stages, of which there are no fewer, no other value lives shorter.
        let up = delta >= 0 || self.schedule.start.len() == 1;
        let moved_stages = (last + delta) / cycles + 1;
        let more = moved_stages - i64::from(stages);
        if operation != branch && up && more >= 0 {
            let least = lives(delta, at + delta, moved_stages as u32) - with + 4 * cycles * more;
            if least >= 0 {
                return false;
            }
        }
        let start = self.schedule.start.iter();
        let mut moved = Schedule {
            ii,
            start: start.map(|&one| (i64::from(one) + delta) as u32).collect(),
        };
        moved.start[own] = (at + delta) as u32;
        let cost = cost(&moved, values);
        let better = cost < self.cost && moved.check(graph).is_ok();
        if better {
            self.schedule = moved;
            self.cost = cost;
            self.fill(graph);
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
