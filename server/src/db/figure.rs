//! The figures of an assembler for code, as an input.

use smol_str::SmolStr;
use std::collections::BTreeMap;

/// The figures of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figure {
    /// `13.5`
    pub version: SmolStr,
    /// `sm_80`
    pub target: SmolStr,
    pub registers: u32,
    pub stack_bytes: u32,
    pub spill_store_bytes: u32,
    pub spill_load_bytes: u32,
    pub shared_bytes: u32,
}

impl Figure {
    #[must_use]
    pub const fn spills(&self) -> bool {
        self.spill_store_bytes + self.spill_load_bytes > 0
    }
}

/// The figure of each code, by its fingerprint; `None`: it was refused, or took too long.
pub type Figures = BTreeMap<u64, Option<Figure>>;
