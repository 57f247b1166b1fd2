//! The value profile of one place from the stream of its values: a run of equal values enters the table once, so that
//! the common case costs one comparison.
//!
//! ```text
//! A A A B   ->   executions 4, MRV-1 2/4, Inv-1 3/4
//! ```
//!
//! The last run is entered when the profile is taken (the paper's figure 1 forgets it), and the value before the first
//! is none.
//!
//! Source: Calder, Feller, Eustace, *Value Profiling*, MICRO-30, 1997, sections 3 and 4.

use super::tnv::{Clearing, Entry, TnvTable};
use smallvec::SmallVec;

/// Distinct values that MRV-M looks back on.
pub const RECENT: usize = 5;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profiler {
    table: TnvTable,
    executions: u64,
    /// The last distinct values, latest first.
    recent: SmallVec<[u64; RECENT]>,
    run: u64,
    /// `hits[m]`: executions whose value was the one that came `m` distinct values before.
    hits: [u64; RECENT],
}

/// The values of a place after a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ValueProfile {
    /// Times that the place was executed.
    pub executions: u64,
    /// The most frequent values by falling count.
    pub top: Vec<Entry>,
    /// Times that the value was among the last 1, 2, ... distinct values.
    pub recent: Vec<u64>,
}

impl Profiler {
    #[must_use]
    pub fn new(capacity: usize, clearing: Clearing) -> Self {
        Profiler {
            table: TnvTable::new(capacity, clearing),
            ..Profiler::default()
        }
    }

    #[must_use]
    pub const fn table(&self) -> &TnvTable {
        &self.table
    }
    #[must_use]
    pub const fn executions(&self) -> u64 {
        self.executions
    }

    pub fn collect(&mut self, value: u64) {
        self.executions += 1;
        match self.recent.iter().position(|&it| it == value) {
            Some(0) => {
                self.hits[0] += 1;
                self.run += 1;
                return;
            }
            Some(at) => {
                self.hits[at] += 1;
                self.flush();
                self.recent[..=at].rotate_right(1);
            }
            None => {
                self.flush();
                self.recent.truncate(RECENT - 1);
                self.recent.insert(0, value);
            }
        }
        self.run = 1;
    }

    /// Enters the run that is still open.
    pub fn flush(&mut self) {
        if let Some(&last) = self.recent.first() {
            self.table.insert(last, self.run);
            self.run = 0;
        }
    }

    #[must_use]
    pub fn finish(mut self) -> ValueProfile {
        self.flush();
        let mut sum = 0;
        let recent = self
            .hits
            .iter()
            .map(|hits| {
                sum += hits;
                sum
            })
            .collect();
        ValueProfile {
            executions: self.executions,
            top: self.table.entries().to_vec(),
            recent,
        }
    }
}

impl ValueProfile {
    /// Inv-M: the share of the executions that gave one of the `m` most frequent values, 0 to 1.
    #[must_use]
    pub fn invariance(&self, m: usize) -> f64 {
        let top: u64 = self.top.iter().take(m).map(|entry| entry.count).sum();
        share(top, self.executions)
    }

    /// MRV-M: the share of the executions whose value was among the last `m` distinct ones, 0 to 1.
    #[must_use]
    pub fn most_recent(&self, m: usize) -> f64 {
        let hits = m.checked_sub(1).and_then(|at| {
            self.recent
                .get(at.min(self.recent.len().saturating_sub(1)))
                .copied()
        });
        share(hits.unwrap_or(0), self.executions)
    }
}

/// `part / whole`, 0 of nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
