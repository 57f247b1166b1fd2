//! StarCore SC140: assembly as instructions of the table, and code of C functions.

pub mod code;
mod counted;
mod data;
pub mod emit;
mod frame;
mod loops;
pub mod machine;
pub mod packer;
mod print;
pub mod read;
mod runtime;
mod select;
