//! Two-bit counters that the place of a branch and the global history choose together.
//!
//! Source: S. McFarling, *Combining Branch Predictors*, 1993.

use super::counter::{WEAK, count, digest};
use super::history::History;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Gshare {
    counters: Vec<u8>,
    bits: u32,
    /// Counters of the branches that are not resolved, oldest first.
    pending: VecDeque<u32>,
}

impl Gshare {
    pub(super) fn new(bits: u32) -> Gshare {
        Gshare {
            counters: vec![WEAK; 1 << bits],
            bits,
            pending: VecDeque::new(),
        }
    }
    pub(super) fn predict(&mut self, pc: u64, history: &History) -> bool {
        let at = (pc ^ history.low(self.bits)) as u32 & ((1 << self.bits) - 1);
        self.pending.push_back(at);
        self.counters[at as usize] >= 2
    }
    pub(super) fn commit(&mut self, taken: bool) {
        let Some(at) = self.pending.pop_front() else {
            return;
        };
        count(&mut self.counters[at as usize], taken);
    }
    pub(super) fn counters(&self) -> u64 {
        digest(&self.counters)
    }
}
