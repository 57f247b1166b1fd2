//! A processor that issues execution sets: the contents of a set, the units that work at once, the
//! instructions that take more than a cycle.

use super::Quantity;
use super::schema::SetKey;

/// The values of a processor that issues execution sets.
#[derive(Clone, PartialEq, Debug)]
pub struct Sets {
    /// Indexed by `SetKey`.
    quantities: Vec<Quantity>,
}

impl Sets {
    /// `quantities` by `SetKey`.
    pub(super) fn new(quantities: Vec<Quantity>) -> Sets {
        Sets { quantities }
    }
    pub(super) fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }
    #[must_use]
    pub fn of(&self, key: SetKey) -> u32 {
        self.quantities[key as usize].value as u32
    }
}
