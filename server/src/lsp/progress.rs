//! The progress of a run, which the run writes and the client receives.

use crate::profile::run::Progress;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The progress of a run, and whether it is still wanted.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) total: AtomicU64,
    pub(super) done: AtomicU64,
    pub(super) over: AtomicBool,
    pub(super) cancelled: AtomicBool,
}

impl Counted {
    /// 0 to 100.
    pub(super) fn percent(&self) -> u32 {
        let total = self.total.load(Ordering::Relaxed).max(1);
        (self.done.load(Ordering::Relaxed).saturating_mul(100) / total).min(100) as u32
    }
}

impl Progress for &Counted {
    fn starts(&mut self, workgroups: u64) {
        self.total.store(workgroups, Ordering::Relaxed);
    }
    fn workgroup(&mut self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }
    fn instructions(&mut self, _: u64, _: u64) {}
}
