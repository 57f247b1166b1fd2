//! Among schedules of one interval, one whose values live shorter: operations move within the room that their dependences
//! and rows leave, as long as something is gained.
//!
//! The cost is the sum of all lifetimes in cycles and of the stages; every move makes it smaller, so it ends, and `SWEEPS`
//! bounds it. It finds no best schedule: each operation moves alone.

use super::graph::{Graph, Schedule};
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
    let empty = start.iter().min().map_or(0, |first| first / ii * ii);
    Schedule {
        ii,
        start: start.iter().map(|at| at - empty).collect(),
    }
}

/// Aligned to the branch, with shorter lives.
#[must_use]
pub fn shorten(graph: &Graph, schedule: &Schedule, values: &[Value], branch: u32) -> Schedule {
    let mut best = aligned(schedule, branch);
    let mut least = cost(&best, values);
    let ii = i64::from(schedule.ii);
    let each = values.len() + graph.edges.len() + 1;
    let mut left = WORK / each;
    for _ in 0..SWEEPS {
        let mut changed = false;
        for operation in 0..graph.operations.len() as u32 {
            let now = i64::from(best.start[operation as usize]);
            let (mut from, mut to) = (now - 2 * ii, now + 2 * ii);
            for edge in &graph.edges {
                if edge.from == edge.to {
                    continue;
                }
                let way = length(edge, schedule.ii);
                if edge.to == operation {
                    from = from.max(i64::from(best.start[edge.from as usize]) + way);
                }
                if edge.from == operation {
                    to = to.min(i64::from(best.start[edge.to as usize]) - way);
                }
            }
            for at in from..=to {
                if at == now {
                    continue;
                }
                let Some(less) = left.checked_sub(1) else {
                    return best;
                };
                left = less;
                // Shifted so that all stay at or behind 0.
                let shift = if at < 0 { ii * 2 } else { 0 };
                let mut start: Vec<u32> = best.start.iter().map(|one| one + shift as u32).collect();
                start[operation as usize] = (at + shift) as u32;
                let moved = aligned(
                    &Schedule {
                        ii: schedule.ii,
                        start,
                    },
                    branch,
                );
                if cost(&moved, values) < least && moved.check(graph).is_ok() {
                    least = cost(&moved, values);
                    best = moved;
                    changed = true;
                    break;
                }
            }
        }
        if !changed {
            break;
        }
    }
    best
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
