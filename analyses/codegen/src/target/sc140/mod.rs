//! StarCore SC140: assembly as instructions of the table.

pub mod read;
