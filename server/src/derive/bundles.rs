//! The blocks of a file of IA-64 assembly, re-bundled for the configured processor.

use crate::db::{self, Db, File};
use crate::program::{self, Assembly};
use codegen::machine::Table;
use codegen::target::ia64::rebundle::{Options, Rebundled, rebundle};
use simulate::ia64::SimulatedClock;
use std::sync::Arc;

/// The processor that assembly is packed for.
pub fn processor(db: &dyn Db, file: File) -> Arc<Table> {
    Arc::clone(db::processor(db, program::settings(db, file)))
}

/// The blocks of a file, re-bundled where that gains something.
pub fn bundles(db: &dyn Db, file: File) -> Vec<Rebundled> {
    let Assembly {
        document, listing, ..
    } = &**db::assembly(db, file);
    match processor(db, file).epic() {
        Some(epic) => rebundle(
            document,
            program::text(file.source(db)),
            listing,
            epic,
            &Options::default(),
            None,
            SimulatedClock::of_units(epic.width().m).as_ref(),
        ),
        None => Vec::new(),
    }
}
