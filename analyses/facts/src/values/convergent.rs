//! The profiler that stops at a place when its profile has converged, and looks again later: long runs are profiled at
//! a small share of their executions.
//!
//! ```text
//! a constant stream of 40,000 (interval 2000, back-off 1):   on 1-4000, 8001-10000, 20001-22000: 20 % profiled
//! ```
//!
//! Executions while a place was off are in `executions` and not in the table. A long profile reacts slowly to
//! a new phase (the paper's own remark).
//!
//! Source: Calder, Feller, Eustace, *Value Profiling*, MICRO-30, 1997, section 7; the back-off has no value there.

use super::profiler::share;
use super::tnv::TnvTable;

/// Executions between two tests.
pub const CONVERGENCE_INTERVAL: u64 = 2000;

/// The condition for profiling to go on after a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Criterion {
    /// While the invariance increases: a place whose values vary more and more is of no interest.
    Increasing,
    /// While the invariance moves by more than +2 or -4 points of a hundred.
    #[default]
    Bounds,
}

impl Criterion {
    /// Invariances from 0 to 1.
    #[must_use]
    pub fn goes_on(self, before: f64, now: f64) -> bool {
        match self {
            Criterion::Increasing => now > before,
            Criterion::Bounds => now - before > 0.02 || now - before < -0.04,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Schedule {
    pub criterion: Criterion,
    /// Executions between two tests, at least 1.
    pub interval: u64,
    /// A place that converged after `n` executions is looked at again `back_off * n` executions later.
    pub back_off: f64,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule {
            criterion: Criterion::default(),
            interval: CONVERGENCE_INTERVAL,
            back_off: 1.0,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct ConvergentProfiler {
    schedule: Schedule,
    table: TnvTable,
    /// Half of the table's capacity: the entries whose share is the invariance of a test.
    half: usize,
    on: bool,
    before: f64,
    executions: u64,
    profiled: u64,
    after_wake: u64,
    woken: bool,
    since_test: u64,
    off_at: u64,
    wait: u64,
    last: Option<u64>,
    repeats: u64,
}

impl ConvergentProfiler {
    #[must_use]
    pub fn new(schedule: Schedule) -> Self {
        ConvergentProfiler {
            schedule,
            table: TnvTable::default(),
            half: super::tnv::CAPACITY / 2,
            on: true,
            before: 0.0,
            executions: 0,
            profiled: 0,
            after_wake: 0,
            woken: false,
            since_test: 0,
            off_at: 0,
            wait: 0,
            last: None,
            repeats: 0,
        }
    }

    /// Returns true if the value was entered.
    pub fn collect(&mut self, value: u64) -> bool {
        self.executions += 1;
        if !self.on {
            if self.executions - self.off_at <= self.wait {
                return false;
            }
            self.on = true;
            self.woken = true;
        }
        self.table.insert(value, 1);
        self.repeats += u64::from(self.last == Some(value));
        self.last = Some(value);
        self.profiled += 1;
        self.after_wake += u64::from(self.woken);
        self.since_test += 1;
        if self.since_test >= self.schedule.interval.max(1) {
            self.test();
        }
        true
    }

    fn test(&mut self) {
        self.since_test = 0;
        let now = share(self.table.top(self.half), self.profiled);
        let goes_on = self.schedule.criterion.goes_on(self.before, now);
        self.before = now;
        if !goes_on {
            self.on = false;
            self.last = None;
            self.off_at = self.executions;
            // A back-off that is no number, or negative, waits not at all.
            self.wait = (self.executions as f64 * self.schedule.back_off) as u64;
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
    /// Executions that were entered.
    #[must_use]
    pub const fn profiled(&self) -> u64 {
        self.profiled
    }
    /// Returns the number of those whose value was that of the execution before (MRV-1), as far as that one
    /// was entered too.
    #[must_use]
    pub const fn repeats(&self) -> u64 {
        self.repeats
    }
    /// Returns the number of those after the first time that the place was looked at again.
    #[must_use]
    pub const fn profiled_after_wake(&self) -> u64 {
        self.after_wake
    }
    /// The share of the most frequent value among the profiled ones, 0 to 1.
    #[must_use]
    pub fn invariance(&self) -> f64 {
        share(self.table.top(1), self.profiled)
    }
}
