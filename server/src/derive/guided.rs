//! Functions of C that the profile of their file transforms for a processor, in front of code generation.

use super::paths::{NoPaths, known_paths};
use super::scheduled;
use super::versions;
use crate::db::{self, Db, Item};
use crate::program::{self, Language};
use codegen::machine::epic::Epic;
use codegen::profiled::{Absorbing, Processor, Profiled, SkipProfile, Terms, skip, transform};
use codegen::target::ia64::emit::{Emitted, Options, emit, examine};
use facts::paths::{PathNumbers, PathProfile};
use facts::values::record::Misses;
use ir::{Block, Function, Module};
use smol_str::SmolStr;

/// The share of a function's estimated cycles that a change must save.
pub const LEAST: f64 = 0.002;
/// The share that all changes of a function must save.
pub const ALTOGETHER: f64 = 0.02;
/// Cycles of a comparison with zero that a load must be worth, where it is skipped.
const COMPARISON: f64 = 1.0;
/// The share of cycles that are not waited for caches which must pay for longer code: the profile does not know what else is under way
/// in it meanwhile. Of loops whose iterations overlap between a fifth and a half come true (example `skipped_loads`).
const CERTAIN: f64 = 0.25;

/// The first function of a module by its profile, on a processor on which it is emitted with these options. The flags of values
/// that move past a meeting of ways become predicates, so they are used where branches are converted.
///
/// # Errors
/// There is no profile of it, or none with counts.
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
    let counted = known
        .with_edges()
        .ok_or_else(|| match known.edges().is_exact() {
            true => NoPaths::Changed(name.clone()),
            false => NoPaths::Bounds(name.clone()),
        })?;
    if !known.exact() && known.entries() == 0 {
        return Err(NoPaths::Changed(name));
    }
    let profile = Counted {
        numbers: &known.numbers,
        profile: &counted,
        edges_alone: known.profile().is_none(),
    };
    let shares = versions::probabilities(db, item, function).unwrap_or_default();
    let ones = versions::shares_of_ones(db, item, function);
    let misses = versions::misses(db, item, function);
    let zeros = SkipProfile {
        share: &|value, absorbing| match absorbing {
            Absorbing::Zero => shares.scalar.get(value).copied().flatten(),
            Absorbing::Ones => ones.get(&value).copied(),
        },
        waited: &|value| misses.get(&value).map_or(0.0, Misses::spared_wait),
        least: COMPARISON,
    };
    let done = decided(module, profile, Some(&zeros), epic, options);
    done.ok_or_else(|| NoPaths::Changed(name.clone()))
}

/// The counts of a function's paths.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a> {
    pub numbers: &'a PathNumbers,
    pub profile: &'a PathProfile,
    /// The paths are some of those whose edges have the counts of the profile: no value sinks by them.
    pub edges_alone: bool,
}

/// The first function of a module by its paths: the emitted code must take fewer cycles. Where it does not, no load is
/// speculative, then nothing is evaluated ahead; where that does not help either, the function stays as it is. `None`: the
/// counts are not those of the function.
pub fn decided(
    module: &Module,
    counted: Counted<'_>,
    zeros: Option<&SkipProfile<'_>>,
    epic: &Epic,
    options: &Options,
) -> Option<Profiled> {
    let mut done = changed(module, counted, epic, options)?;
    if let Some(zeros) = zeros {
        skipping(module, &mut done, zeros, epic, options);
    }
    Some(done)
}

/// Skips loads where a value is zero, if the code takes fewer cycles with it, those that the processor waits for caches among them.
fn skipping(
    module: &Module,
    done: &mut Profiled,
    zeros: &SkipProfile<'_>,
    epic: &Epic,
    options: &Options,
) {
    let mut function = done.function.clone();
    let skipped = skip(&mut function, &done.executions, zeros);
    if skipped.is_empty() {
        return;
    }
    let cycles = |function: &Function| {
        let emitted = emitted(module, function, &done.executions, epic, options)?;
        Some(emitted.cycles(0, epic))
    };
    let Some((before, after)) = cycles(&done.function).zip(cycles(&function)) else {
        return;
    };
    let spared: f64 = skipped.iter().map(|skipped| skipped.spared).sum();
    if after - CERTAIN * spared <= before - ALTOGETHER * before {
        // The cycles of what is not changed are those of another estimate.
        if done.is_plain() {
            done.before = before;
        }
        done.function = function;
        done.skipped = skipped;
        done.after = after;
    }
}

/// A function whose values are evaluated ahead and sink, as far as its code takes fewer cycles with it.
fn changed(
    module: &Module,
    counted: Counted<'_>,
    epic: &Epic,
    options: &Options,
) -> Option<Profiled> {
    let function = module.functions.first()?;
    let Counted {
        numbers, profile, ..
    } = counted;
    let pipelined = pipelined(module, epic, options);
    let processor = Processor::new(epic);
    let mut terms = Terms {
        sinks: !counted.edges_alone,
        flags: options.convert,
        redundant: true,
        ahead: true,
        least: LEAST,
        altogether: ALTOGETHER,
        pipelined: &pipelined,
    };
    let mut done = transform(function, numbers, profile, &processor, terms)?;
    let cycles = |function: &Function, executions: &[u64]| {
        Some(emitted(module, function, executions, epic, options)?.cycles(0, epic))
    };
    let before = cycles(function, &done.executions_before);
    loop {
        if !done.speculated.is_empty() || !done.sunk.is_empty() {
            let after = cycles(&done.function, &done.executions);
            let (Some(before), Some(after)) = (before, after) else {
                break;
            };
            if before - after >= ALTOGETHER * before {
                (done.before, done.after) = (before, after);
                return Some(done);
            }
        }
        match () {
            () if done.speculated.iter().any(|it| it.is_speculative) => terms.ahead = false,
            () if !done.speculated.is_empty() => terms.redundant = false,
            () => break,
        }
        done = transform(function, numbers, profile, &processor, terms)?;
    }
    Some(Profiled {
        function: function.clone(),
        executions: done.executions_before.clone(),
        speculated: Vec::new(),
        sunk: Vec::new(),
        after: done.before,
        ..done
    })
}

/// A module's first function in this form, with its executions in the profiled runs as weights. `None`: it has no code.
fn emitted(
    module: &Module,
    function: &Function,
    executions: &[u64],
    epic: &Epic,
    options: &Options,
) -> Option<Emitted> {
    let mut module = module.clone();
    *module.functions.first_mut()? = function.clone();
    let mut options = options.clone();
    let counts = executions.iter().map(|&count| count as f64).collect();
    options.weights.insert(function.name.clone(), counts);
    emit(&module, epic, &options).ok()
}

/// The code of a function before and after its profile.
#[derive(Clone, PartialEq, Debug)]
pub struct GuidedCode {
    pub processor: SmolStr,
    /// The share of the cycles of the profiled runs, an estimate.
    pub saved: f64,
    /// The cycles of the profiled runs that it takes more, those not counted that are waited for caches.
    pub added: f64,
    /// Cycles of the profiled runs that are not waited for caches.
    pub spared: f64,
    pub before: String,
    pub after: String,
}

/// The code of an item of C before and after its profile, in both cases with loops pipelined and branches converted by
/// the counts of the profile; `None`: it is the same.
pub fn code(db: &dyn Db, item: Item<'_>) -> Option<GuidedCode> {
    let file = item.main(db);
    if file.language(db) != Language::C {
        return None;
    }
    let table = db::processor(db, program::settings(db, file));
    let epic = table.epic()?;
    let module = &db::lowered(db, item).first()?.module;
    let options = Options {
        convert: true,
        ..scheduled::options(db, file)
    };
    let done = guided(db, item, module, epic, &options).ok()?;
    if done.is_plain() {
        return None;
    }
    let function = module.functions.first()?;
    let text = |function: &Function, executions: &[u64]| {
        Some(emitted(module, function, executions, epic, &options)?.text)
    };
    Some(GuidedCode {
        processor: table.name.clone(),
        saved: 1.0 - done.after / done.before,
        added: done.after - done.before,
        spared: done.spared(),
        before: text(function, &done.executions_before)?,
        after: text(&done.function, &done.executions)?,
    })
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
