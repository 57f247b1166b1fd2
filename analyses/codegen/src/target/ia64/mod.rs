//! IA-64: what its assembly means.

pub mod decode;
pub mod names;
pub mod sim;
