//! What is true of a program. Never changes it, knows no machine but by its cost tables.

pub mod model;
pub mod paper;

pub use model::*;
