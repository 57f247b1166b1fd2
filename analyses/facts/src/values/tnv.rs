//! The table of the top N values of one place: least-frequently-used replacement, with the bottom half cleared so that
//! later values can climb. Every insertion ends because the table is bounded by its capacity.
//!
//! ```text
//! N = 4, least interval 6:   (a,3) (b,2) (c,1) (d,1)   ->   a3 b2   (7 > 6: the bottom half is cleared)
//! ```
//!
//! It has no error bounds: a count may miss executions while the value was out of the table.
//!
//! Source: Calder, Feller, Eustace, *Value Profiling*, MICRO-30, 1997, section 4.

use smallvec::SmallVec;

/// The paper's table size.
pub const CAPACITY: usize = 10;
/// The paper's least number of executions between two clearings.
pub const CLEAR_INTERVAL: u64 = 2000;

/// A value and how many of its executions the table saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The bit pattern, zero-extended.
    pub value: u64,
    pub count: u64,
}

/// The time at which the bottom half is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clearing {
    Never,
    /// Clearing after more than this many executions, or twice the count of the least entry that stays if
    /// that is more.
    AtLeast(u64),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TnvTable {
    entries: SmallVec<[Entry; CAPACITY]>,
    capacity: usize,
    clearing: Clearing,
    interval: u64,
    since_clear: u64,
    clears: u64,
}

impl Default for TnvTable {
    fn default() -> Self {
        TnvTable::new(CAPACITY, Clearing::AtLeast(CLEAR_INTERVAL))
    }
}

impl TnvTable {
    /// `capacity` below 1 counts as 1.
    #[must_use]
    pub fn new(capacity: usize, clearing: Clearing) -> Self {
        let interval = match clearing {
            Clearing::Never => u64::MAX,
            Clearing::AtLeast(least) => least,
        };
        TnvTable {
            entries: SmallVec::new(),
            capacity: capacity.max(1),
            clearing,
            interval,
            since_clear: 0,
            clears: 0,
        }
    }

    /// Entries by falling count; equal counts in the order in which they came to it.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
    /// Executions since the last clearing.
    #[must_use]
    pub const fn since_clear(&self) -> u64 {
        self.since_clear
    }
    /// Executions that must pass before the next clearing.
    #[must_use]
    pub const fn interval(&self) -> u64 {
        self.interval
    }
    #[must_use]
    pub const fn clears(&self) -> u64 {
        self.clears
    }
    /// Sum of the counts of the first `m` entries.
    #[must_use]
    pub fn top(&self, m: usize) -> u64 {
        self.entries.iter().take(m).map(|entry| entry.count).sum()
    }

    /// `count` consecutive executions gave `value`.
    pub fn insert(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        let at = match self.entries.iter().position(|entry| entry.value == value) {
            Some(at) => {
                self.entries[at].count = self.entries[at].count.saturating_add(count);
                at
            }
            None => {
                if self.entries.len() == self.capacity {
                    self.entries.pop();
                }
                self.entries.push(Entry { value, count });
                self.entries.len() - 1
            }
        };
        self.climb(at);
        self.since_clear = self.since_clear.saturating_add(count);
        if self.since_clear > self.interval {
            self.clear();
        }
    }

    /// Moves an entry whose count has grown before all that have less.
    fn climb(&mut self, at: usize) {
        let to = self.entries[..at]
            .iter()
            .rposition(|entry| entry.count >= self.entries[at].count)
            .map_or(0, |before| before + 1);
        self.entries[to..=at].rotate_right(1);
    }

    /// Keeps the top half. The next interval is long enough for a new value to climb into it.
    fn clear(&mut self) {
        let half = self.capacity / 2;
        self.entries.truncate(half);
        let middle = half
            .checked_sub(1)
            .and_then(|last| self.entries.get(last))
            .map_or(0, |entry| entry.count);
        if let Clearing::AtLeast(least) = self.clearing {
            self.interval = least.max(middle.saturating_mul(2));
        }
        self.since_clear = 0;
        self.clears += 1;
    }
}
