//! The global history: bits in the order in which they were shifted in, with checkpoints.

/// Bits that are kept, a power of two; histories that are read are shorter.
const KEPT: usize = 4096;

/// A place in a history to which it can return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Checkpoint(u64);

#[derive(Clone, Copy, Default, Debug)]
struct Bit {
    value: bool,
    /// The value of a definition, not the direction of a branch.
    define: bool,
}

/// A history of branches, and of the definitions that a design shifts in.
#[derive(Debug)]
pub(super) struct History {
    /// A ring, indexed by the number of a bit.
    bits: Vec<Bit>,
    length: u64,
    /// The last 64, the newest lowest.
    recent: u64,
}

impl History {
    pub(super) fn new() -> History {
        History {
            bits: vec![Bit::default(); KEPT],
            length: 0,
            recent: 0,
        }
    }
    pub(super) fn push(&mut self, value: bool, define: bool) {
        self.bits[self.length as usize % KEPT] = Bit { value, define };
        self.length += 1;
        self.recent = self.recent << 1 | u64::from(value);
    }
    /// The newest bits, as many as asked for, the newest lowest.
    pub(super) fn low(&self, bits: u32) -> u64 {
        debug_assert!(bits < 64);
        self.recent & ((1 << bits) - 1)
    }
    /// The bit of an age, of which the newest has 0.
    pub(super) fn aged(&self, age: u32) -> bool {
        let age = u64::from(age);
        age < self.length && self.bits[(self.length - 1 - age) as usize % KEPT].value
    }
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.length)
    }
    /// Returns true until the history is as it was at the checkpoint.
    pub(super) fn is_behind(&self, checkpoint: Checkpoint) -> bool {
        debug_assert!(self.length - checkpoint.0.min(self.length) < KEPT as u64 / 2);
        self.length > checkpoint.0
    }
    /// Takes the newest bit out; its value if it is that of a definition.
    pub(super) fn pop(&mut self) -> Option<bool> {
        let newest = self.bits[self.length.checked_sub(1)? as usize % KEPT];
        self.length -= 1;
        self.recent = self.recent >> 1 | u64::from(self.aged(63)) << 63;
        newest.define.then_some(newest.value)
    }
    /// The last bits, oldest first.
    pub(super) fn last(&self, bits: u32) -> Vec<bool> {
        let known = self.length.min(u64::from(bits)) as u32;
        (0..known).rev().map(|age| self.aged(age)).collect()
    }
}

/// A history of some length folded to a width: the exclusive or of its pieces, the newest bit lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fold {
    pub value: u32,
    length: u32,
    width: u32,
}

impl Fold {
    pub(super) const fn new(length: u32, width: u32) -> Fold {
        Fold {
            value: 0,
            length,
            width,
        }
    }
    /// The fold after a bit was shifted into the history.
    pub(super) fn push(&mut self, history: &History) {
        let out = u32::from(history.aged(self.length)) << (self.length % self.width);
        let value = (self.value << 1 | u32::from(history.aged(0))) ^ out;
        self.value = (value ^ value >> self.width) & ((1 << self.width) - 1);
    }
    /// The fold before the newest bit, which the history still has, was shifted in.
    pub(super) fn pop(&mut self, history: &History) {
        let out = u32::from(history.aged(self.length)) << (self.length % self.width);
        let value = self.value ^ u32::from(history.aged(0)) ^ out;
        self.value = value >> 1 | (value & 1) << (self.width - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    /// From its definition: the bit of an age lies at the age modulo the width.
    fn computed(history: &History, length: u32, width: u32) -> u32 {
        let bit = |age: u32| u32::from(history.aged(age)) << (age % width);
        (0..length).fold(0, |value, age| value ^ bit(age))
    }

    #[test]
    fn folds_follow_a_history_that_grows_and_returns() {
        let mut rng = StdRng::seed_from_u64(7);
        let mut history = History::new();
        let shapes = [(5, 11), (130, 9), (640, 12), (12, 12)];
        let mut folds = shapes.map(|(length, width)| Fold::new(length, width));
        for step in 0..20_000 {
            history.push(rng.random(), step % 3 == 0);
            folds.iter_mut().for_each(|fold| fold.push(&history));
            let (checkpoint, before) = (history.checkpoint(), history.last(100));
            let low = history.low(63);
            for _ in 0..rng.random_range(0..20) {
                history.push(rng.random(), rng.random());
                folds.iter_mut().for_each(|fold| fold.push(&history));
            }
            while history.is_behind(checkpoint) {
                folds.iter_mut().for_each(|fold| fold.pop(&history));
                history.pop();
            }
            assert_eq!((history.last(100), history.low(63)), (before, low));
            if step % 97 == 0 {
                for (fold, (length, width)) in folds.iter().zip(shapes) {
                    assert_eq!(fold.value, computed(&history, length, width));
                }
            }
        }
    }
}
