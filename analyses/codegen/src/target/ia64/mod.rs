//! IA-64: what its assembly means, how it executes, and how it is packed better.

mod assembly;
pub mod check;
pub mod contract;
mod data;
mod decided;
pub mod decode;
pub mod emit;
mod frame;
pub mod groups;
pub mod listing;
mod merge;
pub mod names;
pub mod operation;
mod prepare;
pub mod ranges;
pub mod rebundle;
pub mod requested;
pub mod select;
pub mod sim;
pub mod stand;
mod symbols;
