//! The rules of issue within one cycle.

use std::fmt::Debug;

/// The rules of a processor for issuing operations in one cycle, and the demands of operations on them.
/// Operations are numbers.
pub trait Packer: Clone + PartialEq + Debug {
    /// The demand of some operations, summed up.
    type Demand: Copy + Default + Debug;

    fn add(&self, demand: &mut Self::Demand, operation: u32);
    fn remove(&self, demand: &mut Self::Demand, operation: u32);
    /// The kind of an operation: those of one kind ask for the same.
    fn kind(&self, operation: u32) -> usize;
    /// Kinds are below this.
    fn kinds(&self) -> usize;
    /// Returns true if all issue in one cycle.
    fn fits(&self, demand: &Self::Demand) -> bool;
    /// The least number of cycles that some operations together take.
    fn least_cycles(&self, operations: &mut dyn Iterator<Item = u32>) -> u32;
    /// The least number of cycles that all operations together take.
    fn res_mii(&self) -> u32;
    /// Returns for each operation the load that all operations together put on the units that may serve it,
    /// in thousandths of a cycle.
    fn scarcity(&self) -> Vec<u32>;
}

/// No limit: as many operations as there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unlimited;

impl Packer for Unlimited {
    type Demand = ();

    fn add(&self, (): &mut (), _: u32) {}
    fn remove(&self, (): &mut (), _: u32) {}
    fn kind(&self, _: u32) -> usize {
        0
    }
    fn kinds(&self) -> usize {
        1
    }
    fn fits(&self, (): &()) -> bool {
        true
    }
    fn least_cycles(&self, _: &mut dyn Iterator<Item = u32>) -> u32 {
        0
    }
    fn res_mii(&self) -> u32 {
        0
    }
    fn scarcity(&self) -> Vec<u32> {
        Vec::new()
    }
}
