//! A machine on which every instruction costs the same: versions are chosen by their effects, not by tables.

use ir::{Function, Inst};
use lockstep_codegen::specialize::Costs;

pub(crate) struct Flat;

impl Costs for Flat {
    fn inst(&self, _: &Function, _: Inst) -> f64 {
        4.0
    }
    fn literal(&self) -> f64 {
        1.0
    }
    fn check(&self, members: usize) -> f64 {
        8.0 + members as f64
    }
}
