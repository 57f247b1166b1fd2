//! The pieces of a file in execution sets, re-packed for the processor.

use crate::db::{self, Db, File};
use crate::program;
use codegen::target::sc140::repack::{Repacked, repack};

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
