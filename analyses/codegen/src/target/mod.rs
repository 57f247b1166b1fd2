//! Target languages and machines, one folder each.

pub mod ptx;
