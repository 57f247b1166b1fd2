//! A processor that issues execution sets: what a set holds, which units work at once, what takes more than a cycle.

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
