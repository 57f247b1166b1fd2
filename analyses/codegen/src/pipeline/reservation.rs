//! The modulo reservation table where units stand in for each other: what the operations of each slot of the interval ask
//! for, and which kind of operation fits in beside them.
//!
//! An answer is kept until its slot changes: a scheduler asks for the same kinds again and again.

use super::graph::Packer;

/// By slot of the interval.
#[derive(Debug)]
pub(super) struct ReservationTable<'g, P: Packer> {
    packing: &'g P,
    demands: Vec<P::Demand>,
    /// By slot and kind of operation: whether one more fits, where that was asked since the slot changed.
    admits: Vec<Option<bool>>,
}

impl<'g, P: Packer> ReservationTable<'g, P> {
    pub(super) fn new(packing: &'g P, ii: u32) -> Self {
        let slots = ii as usize;
        ReservationTable {
            packing,
            demands: vec![P::Demand::default(); slots],
            admits: vec![None; slots * packing.kinds()],
        }
    }
    /// Whether an operation issues together with those of a slot.
    pub(super) fn admits(&mut self, slot: usize, operation: u32) -> bool {
        let packing = self.packing;
        let known = &mut self.admits[slot * packing.kinds() + packing.kind(operation)];
        *known.get_or_insert_with(|| {
            let mut demand = self.demands[slot];
            packing.add(&mut demand, operation);
            packing.fits(&demand)
        })
    }
    /// Whether an operation does once another one is gone.
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
        let kinds = self.packing.kinds();
        self.admits[slot * kinds..(slot + 1) * kinds].fill(None);
    }
}
