//! Functions of C that the profile of their file transforms for a processor, in front of code generation.

use super::paths::{NoPaths, known_paths};
use super::scheduled;
use crate::db::{Db, Item};
use codegen::machine::epic::Epic;
use codegen::profiled::{Processor, Profiled, Terms, transform};
use codegen::target::ia64::emit::{Options, examine};
use ir::{Block, Module};

/// The share of a function's estimated cycles that a change must save.
pub const LEAST: f64 = 0.002;
/// The share that all changes of a function must save.
pub const ALTOGETHER: f64 = 0.02;

/// The first function of a module by its profile, on a processor on which it is emitted with these options. The flags of values
/// that move past a meeting of ways become predicates, so they are used where branches are converted.
///
/// # Errors
/// There is no profile of it, or none with counts of paths.
pub fn guided(
    db: &dyn Db,
    item: Item<'_>,
    module: &Module,
    epic: &Epic,
    options: &Options,
) -> Result<Profiled, NoPaths> {
    let name = module
        .functions
        .first()
        .map(|function| function.name.clone());
    let name = name.unwrap_or_default();
    let not_run = || NoPaths::NotRun(name.clone());
    let function = module.functions.first().ok_or_else(not_run)?;
    let known = known_paths(db, item, function).ok_or_else(not_run)?;
    let profile = known
        .profile()
        .ok_or_else(|| NoPaths::EdgesAlone(name.clone()))?;
    let pipelined = pipelined(module, epic, options);
    let terms = Terms {
        flags: options.convert,
        least: LEAST,
        altogether: ALTOGETHER,
        pipelined: &pipelined,
    };
    let processor = Processor::new(epic);
    let done = transform(function, &known.numbers, profile, &processor, terms);
    done.ok_or_else(|| NoPaths::Changed(name.clone()))
}

/// The headers of the first function's loops whose iterations overlap.
pub fn pipelined(module: &Module, epic: &Epic, options: &Options) -> Vec<Block> {
    let Some(function) = module.functions.first() else {
        return Vec::new();
    };
    let found = examine(module, epic, &scheduled::for_a_price(options));
    let reports = found.loops.iter().filter(|report| report.pipelined);
    reports
        .filter_map(|report| {
            let mut loops = function.loops.iter();
            Some(loops.find(|it| it.loc == report.head)?.header)
        })
        .collect()
}
