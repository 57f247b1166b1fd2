//! A loop of C on the three kinds of machines: on a processor with explicit groups and on one with execution sets, each with
//! its interval and the bounds of it, and as a single thread's PTX with its cycles an iteration.
//!
//! The figures have nothing in common but the source: clocks differ, a thread of a GPU is one of thousands that hide its
//! latency. All are estimates with caches that hit, and may not be compared.

use super::loops::ItemPlaced;
use crate::db::{self, Db, File, Item};
use crate::program::{self, Language};
use codegen::expand::expand;
use codegen::machine::estimate::estimate;
use codegen::refusal::Refused;
use codegen::target::ia64::pipeline;
use codegen::target::ptx::{self, Target};
use codegen::target::sc140::emit::{LoopReport, Options, emit};
use ir::{Function, SourceLoop};
use smol_str::SmolStr;
use syntax::Span;

/// A loop on each machine.
#[derive(Clone, PartialEq, Debug)]
pub struct OnMachines {
    pub function: SmolStr,
    /// Its head.
    pub head: Span,
    pub groups: OnGroups,
    pub sets: OnSets,
    pub thread: OnThread,
}

/// A loop on the processor with explicit groups.
#[derive(Clone, PartialEq, Debug)]
pub struct OnGroups {
    pub processor: SmolStr,
    /// `None`: it is in none of the innermost loops of the code.
    pub report: Option<pipeline::LoopReport>,
}

/// A loop on the processor with execution sets.
#[derive(Clone, PartialEq, Debug)]
pub struct OnSets {
    pub processor: SmolStr,
    /// `None` in it: it is in none of the innermost loops of the code.
    pub report: Result<Option<LoopReport>, Vec<Refused>>,
}

/// A loop as a single thread of a GPU executes it.
#[derive(Clone, PartialEq, Debug)]
pub struct OnThread {
    pub machine: SmolStr,
    /// Cycles that the scheduler and the units take an iteration.
    pub cycles: Option<f64>,
    pub unit: &'static str,
    /// The PTX of the function.
    pub code: Result<String, codegen::Refusal>,
}

/// The innermost loop of C around a place, or whose head is on its line.
pub fn at(db: &dyn Db, file: File, offset: u32) -> Option<OnMachines> {
    if file.language(db) != Language::C {
        return None;
    }
    let (place, item) = program::item_at(db, file, offset)?;
    let module = &db::lowered(db, item).first()?.module;
    let function = module.functions.first()?;
    let lines = db::line_index(db, file);
    let line = |at: u32| lines.line_column(place.start + at).0;
    let own = offset.checked_sub(place.start)?;
    let chosen = loop_at(function, own, &|at| line(at) == line(own))?;
    Some(OnMachines {
        function: function.name.clone(),
        head: ItemPlaced::of(function, chosen.loc).resolve(db, file, item)?,
        groups: groups(db, file, item, chosen),
        sets: sets(db, file, item, chosen)?,
        thread: thread(db, file, item, chosen)?,
    })
}

/// The loop whose head is at a place, else the first on its line, else the last that begins in front of it.
fn loop_at<'f>(
    function: &'f Function,
    at: u32,
    on_line: &dyn Fn(u32) -> bool,
) -> Option<&'f SourceLoop> {
    let own = || {
        function
            .loops
            .iter()
            .filter(|it| it.loc.site == ir::Site(0))
    };
    let inside = || own().find(|it| it.loc.span.contains(at));
    let beside = || {
        own()
            .filter(|it| on_line(it.loc.span.start))
            .min_by_key(|it| it.loc.span.start)
    };
    let before = || {
        let before = own().filter(|it| it.loc.span.start <= at);
        before.max_by_key(|it| it.loc.span.start)
    };
    inside().or_else(beside).or_else(before)
}

fn groups(db: &dyn Db, file: File, item: Item<'_>, chosen: &SourceLoop) -> OnGroups {
    let rows = db::item_loops(db, item).as_deref();
    let mut rows = rows.into_iter().flat_map(|found| &found.rows);
    let own = rows.find(|row| row.report.head == chosen.loc);
    OnGroups {
        processor: db::processor(db, program::settings(db, file)).name.clone(),
        report: own.map(|row| row.report.clone()),
    }
}

fn sets(db: &dyn Db, file: File, item: Item<'_>, chosen: &SourceLoop) -> Option<OnSets> {
    let table = program::set_processor(db, program::settings(db, file))?;
    let module = &db::lowered(db, item).first()?.module;
    let report = emit(module, table.sets()?, &Options::default()).map(|emitted| {
        let first = emitted.functions.into_iter().next()?;
        let mut loops = first.loops.into_iter();
        loops.find(|report| report.head == chosen.loc)
    });
    Some(OnSets {
        processor: table.name.clone(),
        report,
    })
}

fn thread(db: &dyn Db, file: File, item: Item<'_>, chosen: &SourceLoop) -> Option<OnThread> {
    let settings = program::settings(db, file);
    let lowered = db::lowered(db, item).first()?;
    let facts = db::facts_of(db, item).first()?.functions.first()?;
    let function = lowered.module.functions.first()?;
    let charges = db::charges(db, settings);
    let cost = estimate(function, facts, charges, None);
    let own = cost.loops.iter().find(|it| it.span == chosen.loc.span);
    let target = Target {
        sm: super::code::architecture(db, file),
        ..Target::default()
    };
    // Sums and products that saturate, in operations that PTX has.
    let mut plain = lowered.module.clone();
    for function in &mut plain.functions {
        expand(function);
    }
    Some(OnThread {
        machine: charges.name.clone(),
        cycles: own.map(|it| it.iteration.cycles),
        unit: own.map_or("", |it| it.iteration.limit().0.name()),
        code: ptx::generate(&plain, &target).map(|code| code.text),
    })
}
