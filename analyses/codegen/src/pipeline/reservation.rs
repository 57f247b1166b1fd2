//! The modulo reservation table where units stand in for each other: the demands of the operations in each
//! slot of the interval, and the kinds of operation that fit in beside them.
//!
//! An answer is kept until its slot changes: a scheduler asks for the same kinds again and again.

use super::graph::Packer;

/// The reservations of each slot of the interval.
#[derive(Debug)]
pub(super) struct ReservationTable<'g, P: Packer> {
    packing: &'g P,
    demands: Vec<P::Demand>,
    /// Indexed by slot and kind of operation, a bit each: one more fits or not, as was found since the slot changed.
    answers: Vec<Answers>,
    /// Groups of kinds of a slot.
    words: usize,
}

/// The answers known for some kinds of operation in a slot.
#[derive(Clone, Copy, Default, Debug)]
struct Answers {
    asked: u64,
    fits: u64,
}

impl<'g, P: Packer> ReservationTable<'g, P> {
    pub(super) fn new(packing: &'g P, ii: u32) -> Self {
        let slots = ii as usize;
        let words = packing.kinds().div_ceil(64);
        ReservationTable {
            packing,
            demands: vec![P::Demand::default(); slots],
            answers: vec![Answers::default(); slots * words],
            words,
        }
    }
    /// Returns true if an operation issues together with those of a slot.
    pub(super) fn admits(&mut self, slot: usize, operation: u32) -> bool {
        let packing = self.packing;
        let kind = packing.kind(operation);
        let (word, bit) = (slot * self.words + kind / 64, 1 << (kind % 64));
        let known = &mut self.answers[word];
        if known.asked & bit == 0 {
            let mut demand = self.demands[slot];
            packing.add(&mut demand, operation);
            known.asked |= bit;
            known.fits |= if packing.fits(&demand) { bit } else { 0 };
        }
        known.fits & bit != 0
    }
    /// Returns true if an operation does once another one is gone.
    pub(super) fn admits_for(&self, slot: usize, operation: u32, gone: u32) -> bool {
        let mut demand = self.demands[slot];
        self.packing.remove(&mut demand, gone);
        self.packing.add(&mut demand, operation);
        self.packing.fits(&demand)
    }
    pub(super) fn add(&mut self, slot: usize, operation: u32) {
        self.packing.add(&mut self.demands[slot], operation);
        self.forget(slot);
    }
    pub(super) fn remove(&mut self, slot: usize, operation: u32) {
        self.packing.remove(&mut self.demands[slot], operation);
        self.forget(slot);
    }
    fn forget(&mut self, slot: usize) {
        self.answers[slot * self.words..(slot + 1) * self.words].fill(Answers::default());
    }
}
