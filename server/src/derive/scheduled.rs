//! Pipelined loops of C with the cycles of their iterations, for the prices of what is rewritten in them.

use crate::db::{self, Db, File, Item};
use crate::program;
use codegen::machine::Table;
use codegen::specialize::source::scheduled::Scheduled;
use codegen::target::ia64::emit::{Options, examine};
use codegen::target::ia64::pipeline;
use ir::Module;

/// Loops are pipelined where that gains something, and as the source asks.
pub(super) fn options(db: &dyn Db, file: File) -> Options {
    Options {
        contract: *db::contracts(db, file),
        pipeline: Some(pipeline::Options {
            reassociate: file.settings(db).analysis(db).fast_math.unwrap_or(false),
            ..pipeline::Options::default()
        }),
        ..Options::default()
    }
}

/// The same for code that nobody keeps: without bundles and checks.
pub(super) fn for_a_price(options: &Options) -> Options {
    Options {
        bundles: false,
        checked: false,
        pipeline: options.pipeline.map(|pipeline| pipeline::Options {
            checked: false,
            ..pipeline
        }),
        ..options.clone()
    }
}

/// The pipelined loops of a module's first function with the cycles of their iterations; none where it has no code.
pub fn scheduled(table: &Table, module: &Module, options: &Options) -> Vec<Scheduled> {
    let Some(epic) = table.epic() else {
        return Vec::new();
    };
    let found = examine(module, epic, &for_a_price(options));
    let loops = found.loops.iter().filter(|_| found.refused.is_empty());
    loops
        .filter(|report| report.pipelined)
        .filter_map(|report| {
            Some(Scheduled {
                head: report.head,
                cycles: f64::from(report.ii?) / f64::from(report.unrolled.max(1)),
            })
        })
        .collect()
}

/// The same of each of an item's functions.
pub fn scheduled_of(db: &dyn Db, item: Item<'_>) -> Vec<Vec<Scheduled>> {
    let file = item.main(db);
    let table = db::processor(db, program::settings(db, file));
    let options = options(db, file);
    db::lowered(db, item)
        .iter()
        .map(|lowered| scheduled(table, &lowered.module, &options))
        .collect()
}
