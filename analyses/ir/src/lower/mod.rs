//! Trees to IR, one folder a language family.

pub mod c_family;
pub mod musimd;
pub mod ptx;
