//! The pieces of a file in execution sets, re-packed for the processor, and its functions with fewer accesses of the stack.

use crate::db::{self, Db, File};
use crate::program;
use codegen::target::sc140::repack::{Repacked, repack};
use codegen::target::sc140::slots::{SlotFunction, reduce_at};

/// The pieces of a file, re-packed where that gains something.
pub fn repacked(db: &dyn Db, file: File) -> Vec<Repacked> {
    let code = db::set_code(db, file);
    match &code.capacity {
        Some(capacity) => {
            let text = program::text(file.source(db));
            repack(&code.document, text, &code.listing, capacity)
        }
        None => Vec::new(),
    }
}

/// The function at a place with fewer accesses of the stack, if it has any.
pub fn reduced_at(db: &dyn Db, file: File, offset: u32) -> Option<SlotFunction> {
    let code = db::set_code(db, file);
    let text = program::text(file.source(db));
    let capacity = code.capacity.as_ref()?;
    reduce_at(&code.document, text, &code.listing, capacity, offset)
}
