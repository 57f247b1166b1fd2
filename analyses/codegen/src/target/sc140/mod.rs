//! StarCore SC140: its assembly as instructions of the table, the rules of its execution sets and their places among the
//! fetches, what fits one set, pieces of code in fewer sets, and code of C functions.

pub mod bounds;
pub mod capacity;
pub mod check;
pub mod code;
mod counted;
mod data;
mod delay;
mod demands;
mod division;
pub mod emit;
mod frame;
pub mod latency;
pub mod layout;
pub mod listing;
mod loops;
pub mod machine;
mod obstacles;
pub mod packer;
mod placed;
mod print;
pub mod promised;
pub mod read;
pub mod repack;
mod select;
pub mod slots;
pub mod spilled;
mod symbols;
mod ways;
mod written;
