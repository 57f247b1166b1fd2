//! What is shown, one file a feature: functions from the database to plain data, which put what is derived into words.
//! Positions are bytes of the file; no protocol types, no I/O.

pub mod actions;
pub mod allocations;
pub mod assembly;
pub mod branches;
pub mod code;
pub mod completion;
pub mod costs;
pub mod diagnostics;
pub mod fixes;
pub mod folding;
pub mod hints;
pub mod hover;
pub mod lens;
pub mod loops;
pub mod model;
pub mod names;
pub mod page;
pub mod partly_dead;
pub mod paths;
pub mod pressure;
mod pressure_actions;
mod priced;
pub mod probes;
mod ptx_versions;
mod ranked;
pub mod reasons;
pub mod registers;
pub mod rename;
pub mod report;
pub mod signature;
pub mod symbols;
pub mod text;
pub mod tokens;
mod version_set;
pub mod versions;
pub mod zeros;
