//! A processor with explicit groups of instructions: how many cycles a dependent instruction waits, and what issues in one
//! cycle.

use super::Quantity;
use super::schema::Issue;

/// The values of a processor with explicit groups.
#[derive(Clone, PartialEq, Debug)]
pub struct Epic {
    /// Indexed by `Issue`.
    quantities: Vec<Quantity>,
}

impl Epic {
    /// `quantities` by `Issue`.
    pub(super) fn new(quantities: Vec<Quantity>) -> Epic {
        Epic { quantities }
    }
    pub(super) fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }
    /// A value of the table.
    #[must_use]
    pub fn of(&self, key: Issue) -> u32 {
        self.quantities[key as usize].value as u32
    }
}
