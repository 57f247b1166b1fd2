//! Target languages and machines, one folder each.

pub mod ia64;
pub mod ptx;
pub mod sc140;
