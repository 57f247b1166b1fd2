//! Among schedules of one interval, one whose values live shorter: operations move within the room that their dependences
//! and rows leave, as long as something is gained.
//!
//! The cost is the sum of all lifetimes in cycles and of the stages; every move makes it smaller, so it ends, and `SWEEPS`
//! bounds it. It finds no best schedule: each operation moves alone.

use super::graph::{Edge, Graph, Schedule};
use super::iterative::length;
use super::rows::Load;

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
        let ii = i64::from(schedule.ii);
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
pub fn shorten(graph: &Graph, schedule: &Schedule, values: &[Value], branch: u32) -> Schedule {
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
            for at in from..=to {
                if at == own {
                    continue;
                }
                let Some(less) = left.checked_sub(1) else {
                    return now.schedule;
                };
                left = less;
                if now.try_move(graph, values, operation, at, branch) {
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

/// A schedule, and what its cost and its rows are made of.
struct State {
    schedule: Schedule,
    /// The values that each operation writes or reads.
    of: Vec<Vec<u32>>,
    cost: i64,
    /// By slot of the interval.
    rows: Vec<Load>,
    /// Room for the start cycles of a schedule that is tried.
    tried: Vec<u32>,
}

impl State {
    fn new(graph: &Graph, schedule: Schedule, values: &[Value]) -> State {
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
            tried: Vec::new(),
            schedule,
            of,
        };
        out.fill(graph);
        out
    }

    fn fill(&mut self, graph: &Graph) {
        let Some(packing) = &graph.packing else {
            return;
        };
        self.rows.clear();
        self.rows.resize(self.schedule.ii as usize, Load::default());
        for (&kind, start) in packing.kinds.iter().zip(&self.schedule.start) {
            self.rows[(start % self.schedule.ii) as usize].add(kind);
        }
    }

    /// Whether the operation moved there: it does where that costs less and issues.
    fn try_move(
        &mut self,
        graph: &Graph,
        values: &[Value],
        operation: u32,
        at: i64,
        branch: u32,
    ) -> bool {
        let (ii, own) = (self.schedule.ii, operation as usize);
        let before = self.schedule.start[own];
        let slot = at.rem_euclid(i64::from(ii)) as u32;
        // All rows turn with the branch, and what issues together stays the same.
        if let Some(packing) = &graph.packing
            && slot != before % ii
        {
            let mut row = self.rows[slot as usize];
            row.add(packing.kinds[own]);
            if !packing.rows.fits(&row) {
                return false;
            }
        }
        let stages = self.schedule.stages();
        let lives = |schedule: &Schedule, stages: u32| -> i64 {
            let lives = self.of[own].iter().map(|&value| {
                let (first, last) = values[value as usize].life(schedule, stages);
                last - first
            });
            lives.sum()
        };
        let with = lives(&self.schedule, stages);
        if operation != branch && at >= 0 {
            self.schedule.start[own] = at as u32;
            let first = least(&self.schedule.start) < ii;
            // Where the stages stay as they are, other values do too.
            if first && self.schedule.stages() == stages {
                let cost = self.cost - with + lives(&self.schedule, stages);
                if cost < self.cost && self.schedule.check(graph).is_ok() {
                    self.cost = cost;
                    self.fill(graph);
                    return true;
                }
                self.schedule.start[own] = before;
                return false;
            }
            self.schedule.start[own] = before;
        }
        // Shifted so that all stay at or behind 0.
        let shift = if at < 0 { i64::from(ii) * 2 } else { 0 };
        let mut start = std::mem::take(&mut self.tried);
        start.clear();
        start.extend(self.schedule.start.iter().map(|one| one + shift as u32));
        start[own] = (at + shift) as u32;
        // Aligned, as `aligned` does it.
        let by = ii - 1 - start[branch as usize] % ii;
        let empty = (least(&start) + by) / ii * ii;
        start.iter_mut().for_each(|at| *at = *at + by - empty);
        let mut moved = Schedule { ii, start };
        // Where all others stay or move up by whole stages, of which there are no fewer, no other value lives shorter.
        let other = usize::from(own == 0);
        let up = moved.start.get(other) >= self.schedule.start.get(other);
        let more = i64::from(moved.stages()) - i64::from(stages);
        if operation != branch && up && more >= 0 {
            let least = lives(&moved, moved.stages()) - with + 4 * i64::from(ii) * more;
            if least >= 0 {
                self.tried = moved.start;
                return false;
            }
        }
        let cost = cost(&moved, values);
        let better = cost < self.cost && moved.check(graph).is_ok();
        if better {
            std::mem::swap(&mut self.schedule, &mut moved);
            self.cost = cost;
            self.fill(graph);
        }
        self.tried = moved.start;
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
