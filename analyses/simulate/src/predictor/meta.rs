//! The chooser of the 21264: counters by the history of the branch itself, counters by the global history, and counters
//! that choose between the two for each branch.
//!
//! ```text
//! local histories[pc] -> local counters ┐
//! global history ^ pc -> global counters ┴ choosers[pc] -> direction
//! ```
//!
//! The paper gives the sizes, not the indices: here the global counters and the local histories are indexed by the low bits
//! of the place (the former after an exclusive or with the history), the choosers by the place alone. Counters begin at
//! weakly not taken, choosers at weakly global. Of a branch with a guard there may be two local histories (`Local::Pep`):
//! the guard's value, as the register file has it at fetch, says which is read and written.

use super::counter::{WEAK, count, digest};
use super::design::{Local, MetaSizes};
use super::history::History;
use std::collections::VecDeque;

/// A branch that is not resolved.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// The local history that it read, and its contents.
    place: u32,
    before: u16,
    local: u16,
    global: u32,
    chooser: u32,
    local_taken: bool,
    global_taken: bool,
}

#[derive(Debug)]
pub(super) struct Meta {
    sizes: MetaSizes,
    local: Local,
    /// The histories of guards that are false, and behind them those of guards that are true.
    histories: Vec<u16>,
    local_counters: Vec<u8>,
    global_counters: Vec<u8>,
    choosers: Vec<u8>,
    pending: VecDeque<Pending>,
}

/// The state of a guard, by the register file and the definitions in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Guard {
    /// The value in the register file.
    pub value: bool,
    /// Its newest definition is not in flight.
    pub resolved: bool,
}

impl Meta {
    pub(super) fn new(sizes: MetaSizes, local: Local) -> Meta {
        Meta {
            sizes,
            local,
            histories: vec![0; 2 << sizes.histories],
            local_counters: vec![WEAK; 1 << sizes.local],
            global_counters: vec![WEAK; 1 << sizes.global],
            choosers: vec![WEAK; 1 << sizes.choosers],
            pending: VecDeque::new(),
        }
    }

    pub(super) fn predict(&mut self, pc: u64, guard: Option<Guard>, history: &History) -> bool {
        let low = |bits: u32| pc as u32 & ((1 << bits) - 1);
        let sizes = self.sizes;
        let holds = match (self.local, guard) {
            (Local::Plain, _) | (_, None) => false,
            (Local::Pep, Some(guard)) => guard.value,
            (Local::ResolvedPep, Some(guard)) => guard.resolved && guard.value,
        };
        let place = low(sizes.histories) | u32::from(holds) << sizes.histories;
        let before = self.histories[place as usize];
        let local = before & ((1u32 << sizes.local) - 1) as u16;
        let bits = sizes.history;
        let global = (low(sizes.global) ^ history.low(bits) as u32) & ((1 << sizes.global) - 1);
        let chooser = low(sizes.choosers);
        let local_taken = self.local_counters[local as usize] >= 2;
        let global_taken = self.global_counters[global as usize] >= 2;
        let taken = match self.choosers[chooser as usize] >= 2 {
            true => local_taken,
            false => global_taken,
        };
        self.histories[place as usize] = before << 1 | u16::from(taken);
        self.pending.push_back(Pending {
            place,
            before,
            local,
            global,
            chooser,
            local_taken,
            global_taken,
        });
        taken
    }

    /// The newest branch went the other way: its local history is recovered.
    pub(super) fn recover(&mut self, taken: bool) {
        if let Some(last) = self.pending.back() {
            self.histories[last.place as usize] = last.before << 1 | u16::from(taken);
        }
    }

    pub(super) fn commit(&mut self, taken: bool) {
        let Some(branch) = self.pending.pop_front() else {
            return;
        };
        count(&mut self.local_counters[branch.local as usize], taken);
        count(&mut self.global_counters[branch.global as usize], taken);
        if branch.local_taken != branch.global_taken {
            let local_right = branch.local_taken == taken;
            count(&mut self.choosers[branch.chooser as usize], local_right);
        }
    }

    pub(super) fn counters(&self) -> u64 {
        let histories: Vec<u8> = self
            .histories
            .iter()
            .flat_map(|h| h.to_le_bytes())
            .collect();
        digest(&self.local_counters)
            ^ digest(&self.global_counters).rotate_left(1)
            ^ digest(&self.choosers).rotate_left(2)
            ^ digest(&histories).rotate_left(3)
    }
}
