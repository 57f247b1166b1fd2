//! Versions on zero that are tried: written, judged by the checker, read again, lowered and estimated. The
//! facts and the profile of the values that they test.

use super::parts::Part;
use super::scheduled;
use super::zeros;
use crate::db::{self, Db, File, Item, ItemPlace};
use crate::profile::lanes_of;
use crate::program::{self, Body, Language};
use codegen::machine::weights::weights;
use codegen::specialize::accept::Model;
use codegen::specialize::source::estimate::{estimate, parts};
use codegen::specialize::source::executions::Profiled;
use codegen::specialize::source::scheduled::{Scheduled, Schedules};
use codegen::specialize::source::{
    Candidate, Refusal, Rejection, Settings, Source, Version, candidates, check, functions_of,
    harmless, version,
};
use facts::Scope;
use facts::values::record::{Misses, significant};
use facts::values::stored::StoredProfile;
use facts::zeros::{Never, Probabilities, never_zero};
use ir::cfg::ControlFlow;
use ir::loops::LoopForest;
use ir::lower::c_family::Lowered;
use ir::{BindingKind, Block, EntityVec, Function, FunctionKind, Loc, Module, Type, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::ast::ParsedItem;

/// Variables of a function that are tried: each is written, judged and lowered.
pub const MOST_TRIED: usize = 24;

/// The share of its work that a branch around work of a thread must save: loads that remain wait for the
/// test, and those of adjacent elements bring the skipped ones, too.
pub const LEAST_OF_A_THREAD: f64 = 0.34;

/// The same of a loop whose iterations are scheduled before and after: waits overlap in part.
pub const LEAST_OF_A_LOOP: f64 = 0.1;

/// A version that passed, and its estimate.
#[derive(Clone, PartialEq, Debug)]
pub struct Offer {
    pub version: Version,
    /// Share of warps with a zero, of the file's profile.
    pub probability: Option<f64>,
    /// `None`: the function is no code that could be lowered on its own, such as a template.
    pub model: Option<Model>,
}

/// A variable that could be tested, with the outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Tried {
    pub name: String,
    /// Absolute: where the variable's name stands.
    pub place: Span,
    pub result: Result<Offer, Refusal>,
}

/// Every variable of a file's own functions, tried.
pub fn survey(db: &dyn Db, file: File, absorb: bool) -> Vec<Tried> {
    let mut found = Vec::new();
    if file.language(db).c_dialect().is_none() || file.language(db) == Language::C {
        return found;
    }
    for (place, item) in program::own_items(db, file) {
        if !item.holds(db).code {
            continue;
        }
        let parsed = db::parsed(db, item).clone();
        with_source(db, file, item, place, &parsed, |source| {
            let mut allowed = settings(db, file, item);
            allowed.absorb |= absorb;
            for function in functions_of(&parsed) {
                for candidate in candidates(source, function) {
                    let result = attempt(db, item, source, function, &candidate, allowed);
                    found.push(Tried {
                        name: candidate.name.to_string(),
                        place: candidate.place.shifted(place.start),
                        result,
                    });
                }
            }
        });
    }
    found
}

/// Calls `then` with an item's text by itself where it stands alone, else with its file. For rows, which edits elsewhere leave as they
/// are; the edits in them are not those of the file.
pub fn with_item(db: &dyn Db, file: File, item: Item<'_>, then: impl FnOnce(&Source<'_>)) {
    let parsed = db::parsed(db, item);
    // What callers out of sight take derivatives of is looked for in the file.
    let called = file.language(db) == Language::Hlsl && !item.holds(db).kernels;
    match db::alone(db, item).as_ref().filter(|_| !called) {
        Some(alone) => with_text(db, file, item, &alone.text, 0, parsed, |source| {
            then(&source.of_item_alone());
        }),
        None => with_source(db, file, item, item.place(db), parsed, then),
    }
}

/// Calls `then` with an item as versions are written in it.
pub fn with_source(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    place: ItemPlace,
    parsed: &ParsedItem,
    then: impl FnOnce(&Source<'_>),
) {
    let text = program::text(file.source(db));
    with_text(db, file, item, text, place.start, parsed, |source| {
        then(&source);
    });
}

fn with_text(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    text: &str,
    start: u32,
    parsed: &ParsedItem,
    then: impl FnOnce(Source<'_>),
) {
    let Body::Tokens { tokens, .. } = item.body(db) else {
        return;
    };
    let language = match file.language(db) {
        Language::Hlsl => ir::Language::Hlsl,
        Language::C => ir::Language::C,
        _ => ir::Language::Cuda,
    };
    let bodies = program::bodies(db, file);
    then(Source::new(
        parsed,
        tokens,
        text,
        start,
        db::environment(db, file),
        &bodies,
        language,
    ));
}

/// Returns the permissions of the configuration and the facts.
pub fn settings(db: &dyn Db, file: File, item: Item<'_>) -> Settings {
    let configured = program::settings(db, file).analysis(db).fast_math;
    let hlsl = file.language(db) == Language::Hlsl;
    Settings {
        absorb: configured.unwrap_or(hlsl),
        whole_warps: !hlsl && whole_warps(db, item),
        // Of each value by itself.
        uniform: false,
        // A function of C has one lane.
        each_lane: file.language(db) == Language::C,
    }
}

/// All lanes of every warp run every statement together: whole warps, and no branch that differs within one.
pub fn whole_warps(db: &dyn Db, item: Item<'_>) -> bool {
    let parts = super::parts::parts(db, item);
    !parts.is_empty()
        && parts.iter().all(|part| {
            let function = part.function;
            let declared = function.launch.block;
            let sizes: Option<Vec<u32>> = (0..3)
                .map(|axis| declared[axis].or(part.facts.options.block[axis]))
                .collect();
            let whole = sizes.is_some_and(|sizes| {
                sizes.iter().map(|&n| u64::from(n)).product::<u64>() % 32 == 0
            });
            let together = |at: Option<Scope>| at.is_some_and(|scope| scope >= Scope::Subgroup);
            function.kind == FunctionKind::Kernel
                && part.facts.options.warp_size == 32
                && whole
                && function.unknowns.is_empty()
                && part.facts.branches.iter().all(|b| together(b.uniform_at))
                && part.facts.loops.iter().all(|l| together(l.uniform_at))
        })
}

/// Writes, judges and estimates.
pub fn attempt(
    db: &dyn Db,
    item: Item<'_>,
    source: &Source<'_>,
    function: &syntax::c_family::ast::Function,
    candidate: &Candidate,
    settings: Settings,
) -> Result<Offer, Refusal> {
    let tested = tested(db, item, candidate);
    if let Some(why) = tested.as_ref().and_then(|tested| tested.never) {
        let name = candidate.name.clone();
        return Err(Refusal::NeverZero { name, why });
    }
    let settings = Settings {
        uniform: tested.is_some_and(|tested| tested.uniform),
        ..settings
    };
    let version = version(source, function, candidate, settings)?;
    let (span, new) = &version.edit;
    let mut after = source.text.to_owned();
    if span.end as usize > after.len() {
        return Err(Rejection::OutOfRange.into());
    }
    after.replace_range(span.start as usize..span.end as usize, new);
    check::check(source.text, &after, (*span, new.len()), &|name| {
        harmless(source, name)
    })
    .map_err(Rejection::Rule)?;
    let rewritten = program::rewritten(db, item, source, &after).ok_or(Rejection::FunctionLost)?;
    understood(db, item, source, &rewritten).map_err(Rejection::Problem)?;
    let machine = program::costs_of(db, item.main(db));
    let at = span.start.saturating_sub(rewritten.start);
    let operand = candidate.is_operand().then_some(candidate.name.as_str());
    let places = parts(new, &version.test, operand, at);
    let holds = |lowered: &&Function| {
        places.is_some_and(|places| {
            lowered.span.start <= places.check.start && places.check.end <= lowered.span.end
        })
    };
    let model = rewritten
        .lowered
        .iter()
        .filter_map(|lowered| Some((&lowered.module, lowered.module.functions.first()?)))
        .find(|(_, function)| holds(function))
        .zip(places)
        .map(|((module, lowered), places)| {
            let before = function_around(db, item, candidate.place);
            let known = before.and_then(|it| Some((it, executions(db, item, it)?)));
            let misses = before.map(|it| misses(db, item, it)).unwrap_or_default();
            let profiled = known.as_ref().and_then(|(before, executions)| {
                Some(Profiled {
                    misses: &misses,
                    function: before,
                    executions,
                    old: source.text.get(span.start as usize..span.end as usize)?,
                    new,
                    start: at,
                })
            });
            let region = Span::new(at, at + (span.end - span.start));
            let loops = before.and_then(|it| scheduled_loops(db, item, it, module));
            let schedules = loops.as_ref().map(|loops| Schedules {
                function: loops.function,
                before: loops.before,
                after: &loops.after,
                region,
            });
            let model = estimate(lowered, places, machine, profiled, schedules.as_ref());
            match (source.language, settings.each_lane) {
                (ir::Language::C, _) => least_of_a_thread(model),
                (_, true) => Model {
                    parted: model.special + machine.reconverge,
                    ..model
                },
                (_, false) => model,
            }
        });
    Ok(Offer {
        version,
        probability: probability(db, item, candidate),
        model,
    })
}

/// The loops of a function of C before it was rewritten and after, as the file's processor executes them.
struct ScheduledLoops<'a> {
    function: &'a Function,
    before: &'a [Scheduled],
    after: Vec<Scheduled>,
}

/// `None` of other languages and where there are no loops.
fn scheduled_loops<'a>(
    db: &'a dyn Db,
    item: Item<'a>,
    function: &'a Function,
    after: &Module,
) -> Option<ScheduledLoops<'a>> {
    let file = item.main(db);
    if file.language(db) != Language::C || function.loops.is_empty() {
        return None;
    }
    let number = db::lowered(db, item).iter().position(|lowered| {
        let first = lowered.module.functions.first();
        first.is_some_and(|it| std::ptr::eq(it, function))
    })?;
    let before = db::scheduled_loops(db, item).get(number)?;
    let table = db::processor(db, program::settings(db, file));
    Some(ScheduledLoops {
        function,
        before,
        after: scheduled::scheduled(table, after, &scheduled::options(db, file)),
    })
}

/// A version of work of a thread with what it must save: of loops whose iterations are scheduled, and whose misses are
/// counted one by one, less than of others.
#[must_use]
pub fn least_of_a_thread(model: Model) -> Model {
    let share = match model.scheduled {
        Some(_) => LEAST_OF_A_LOOP,
        None => LEAST_OF_A_THREAD,
    };
    Model {
        least: share * model.region,
        ..model
    }
}

/// A rewritten item has no problems that it did not have; otherwise the first.
pub fn understood(
    db: &dyn Db,
    item: Item<'_>,
    source: &Source<'_>,
    rewritten: &program::Rewritten,
) -> Result<(), String> {
    let problems = |lowered: &[Lowered]| lowered.iter().map(|l| l.problems.len()).sum::<usize>();
    // A construct that is not understood stands twice where it stood once.
    let before = problems(db::lowered(db, item)) * 2 + source.item.problems.len() * 2;
    let now = problems(&rewritten.lowered) + rewritten.parsed.problems.len();
    if now <= before {
        return Ok(());
    }
    let lowered = rewritten.lowered.iter();
    let mut all = rewritten
        .parsed
        .problems
        .iter()
        .chain(lowered.flat_map(|lowered| lowered.problems.iter()));
    Err(all.next().map(|it| it.message.clone()).unwrap_or_default())
}

/// The facts about a value where it would be tested.
#[derive(Clone, Copy, Debug)]
pub struct Tested {
    /// All lanes of a warp hold the same.
    pub uniform: bool,
    pub never: Option<Never>,
}

/// `None`: the value is not known, or another one arrives at the check.
fn tested(db: &dyn Db, item: Item<'_>, candidate: &Candidate) -> Option<Tested> {
    let part =
        super::parts::part_at(db, item, candidate.place.start).filter(|_| candidate.direct)?;
    let values = values_of(part.function, candidate)?;
    facts_of(&part, &values)
}

/// Returns the facts of values that are tested together.
pub fn facts_of(part: &Part<'_>, values: &[Value]) -> Option<Tested> {
    let homes = part.function.definition_blocks();
    let last = values.last()?;
    let home = homes[*last].unwrap_or(part.function.entry());
    let same = |&value: &Value| {
        let fact = part.facts.at(value, homes[value].unwrap_or(home));
        !fact.assumed && fact.uniform_at.is_some_and(|at| at >= Scope::Subgroup)
    };
    Some(Tested {
        uniform: values.iter().all(same),
        never: never_zero(part.function, part.facts, values, home),
    })
}

/// The values of the variable or expression of a candidate, where it is set or computed.
pub fn values_of(function: &Function, candidate: &Candidate) -> Option<Vec<Value>> {
    let here = Loc::here(candidate.place);
    if !candidate.is_operand() {
        let set = function.bindings.iter().find(|binding| {
            binding.loc == here
                && binding.part.is_empty()
                && !binding.values.is_empty()
                && binding.kind != BindingKind::Read
        })?;
        return Some(set.values.to_vec());
    }
    let mut found: Option<Vec<Value>> = None;
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let plain = |&value: &Value| {
                !matches!(
                    function.ty(value),
                    Type::Ptr(_) | Type::Handle | Type::Opaque
                )
            };
            if data.loc == here && !data.results.is_empty() && data.results.iter().all(plain) {
                found = Some(data.results.to_vec());
            }
        }
    }
    found
}

/// Returns how often the file's profile saw all lanes of a warp with a zero in the variable, where it is set.
pub fn probability(db: &dyn Db, item: Item<'_>, candidate: &Candidate) -> Option<f64> {
    let file = item.main(db);
    zeros::stored(db, file)?;
    let function = function_around(db, item, candidate.place)?;
    share(db, item, function, &values_of(function, candidate)?)
}

/// The function of an item that holds an item-relative place.
pub fn function_around<'db>(
    db: &'db dyn Db,
    item: Item<'db>,
    place: Span,
) -> Option<&'db Function> {
    db::lowered(db, item)
        .iter()
        .filter_map(|lowered| lowered.module.functions.first())
        .find(|function| function.span.start <= place.start && place.end <= function.span.end)
}

/// Returns the values of a function in the file's profile.
fn stored_item(
    db: &dyn Db,
    item: Item<'_>,
    function: &Function,
) -> Option<(Arc<StoredProfile>, usize)> {
    let file = item.main(db);
    let profile = zeros::stored(db, file)?;
    let wanted = program::settings(db, file).analysis(db).options.warp_size;
    let lanes = function.launch.warp_size;
    let lanes = lanes.unwrap_or_else(|| lanes_of(function, wanted));
    profile.check_warp_size(lanes).ok()?;
    let mut items = profile.items.iter();
    let at = items.position(|s| s.name == function.name && s.ordinal == item.ordinal(db))?;
    Some((profile, at))
}

/// Returns how often a warp executes each block of a function for one invocation, by the file's profile;
/// blocks without counts follow from the facts. `None`: there are no counts.
pub fn executions(
    db: &dyn Db,
    item: Item<'_>,
    function: &Function,
) -> Option<EntityVec<Block, f64>> {
    let (profile, at) = stored_item(db, item, function)?;
    let stored = &profile.items[at];
    let known = facts::values::stored::map(stored, function).weights(stored, function);
    if known.values().all(|value| value.is_none()) {
        return None;
    }
    let number = db::lowered(db, item).iter().position(|lowered| {
        let mut functions = lowered.module.functions.iter();
        functions
            .next()
            .is_some_and(|it| std::ptr::eq(it, function))
    })?;
    let facts = db::facts_of(db, item).get(number)?.functions.first()?;
    let flow = ControlFlow::new(function);
    let loops = LoopForest::new(&flow);
    Some(weights(function, facts, &flow, &loops, Some(&known)).blocks)
}

/// Returns what the loads of a function met in the caches of the processor, by their first values; nothing where the
/// profile counted no misses, or those of another processor.
pub(super) fn misses(db: &dyn Db, item: Item<'_>, function: &Function) -> FxHashMap<Value, Misses> {
    let Some((profile, at)) = stored_item(db, item, function) else {
        return FxHashMap::default();
    };
    let stored = &profile.items[at];
    let processor = db::processor(db, program::settings(db, item.main(db)));
    if stored.caches != *processor.name {
        return FxHashMap::default();
    }
    let mapped = facts::values::stored::map(stored, function).values;
    let met = mapped.into_iter();
    met.filter_map(|(value, at)| Some((value, stored.values[at].misses?)))
        .collect()
}

/// Returns the probabilities of zeros of a function's values in the file's profile.
pub fn probabilities(db: &dyn Db, item: Item<'_>, function: &Function) -> Option<Probabilities> {
    let (profile, at) = stored_item(db, item, function)?;
    Some(Probabilities::of_profile(function, &profile.items[at]))
}

/// Returns how often lanes held a number of which all bits are set, of the values of which the file's profile counted it.
pub(super) fn shares_of_ones(
    db: &dyn Db,
    item: Item<'_>,
    function: &Function,
) -> FxHashMap<Value, f64> {
    let Some((profile, at)) = stored_item(db, item, function) else {
        return FxHashMap::default();
    };
    let stored = &profile.items[at];
    let mapped = facts::values::stored::map(stored, function)
        .values
        .into_iter();
    let share = |(value, at): (Value, usize)| {
        let known = &stored.values[at];
        let ones = significant(function.ty(value))?;
        // The bits of narrow integers are there sign-extended.
        let top = known.top.iter().find(|entry| entry.bits & ones == ones)?;
        (known.profiled > 0).then(|| (value, top.count as f64 / known.profiled as f64))
    };
    mapped.filter_map(share).collect()
}

/// Returns how often the file's profile saw all of these values zero in all lanes of a warp.
pub fn share(db: &dyn Db, item: Item<'_>, function: &Function, values: &[Value]) -> Option<f64> {
    let (profile, at) = stored_item(db, item, function)?;
    let stored = &profile.items[at];
    let mapped = facts::values::stored::map(stored, function);
    let mut members = Vec::new();
    for value in values {
        let at = mapped
            .values
            .binary_search_by_key(value, |(value, _)| *value)
            .ok()?;
        members.push(&stored.values[mapped.values[at].1]);
    }
    let share =
        |zeros: u64, executions: u64| (executions > 0).then(|| zeros as f64 / executions as f64);
    if let [member] = members.as_slice() {
        return share(member.zeros, member.executions);
    }
    let ids: Vec<u32> = members.iter().map(|member| member.id).collect();
    let joint = stored.joint.iter().find(|joint| joint.members == ids)?;
    share(joint.zeros, joint.executions)
}
