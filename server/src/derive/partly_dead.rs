//! Definitions whose values most of the recorded ways never read, and the edits that move them to where they are read.
//!
//! The rows of an item have the counts of the profile; an edit is made when somebody asks for it, and for
//! rows that may become findings. Each edit is judged by executing both texts on symbols, read again and
//! lowered.

use super::parts::{Part, parts, parts_lanes};
use super::paths::{Known, known_paths};
use super::pressure::outer;
use super::ptx_versions::Trying;
use super::versions::{MOST_TRIED, understood, with_item, with_source};
use crate::db::{self, Db, File, Item};
use crate::program::{self, Language};
use codegen::specialize::source::sink_dead::{
    Candidate, Counts, Known as KnownUnit, Plan, Recorded, Refusal, Terms, candidate_at,
    candidates, check, plan, refused_at,
};
use codegen::specialize::source::{Rejection, Source, function_at, functions_of, rewritten};
use facts::cost::Machine;
use facts::partial_dead::Prices;
use facts::paths::Unread;
use ir::{BindingKind, Function, Inst, Op, Site, ValueDef};
use smol_str::SmolStr;
use syntax::{FileId, Span};

/// The share of executions that nothing reads from which on a definition is reported.
pub const OFTEN: f64 = 0.25;

/// The share of executions that nothing reads from which on there is a hint or a finding.
const SHARE: f64 = 0.5;
/// The least estimated cycles that an entry of the function spends in vain, for a hint.
const LOST: f64 = 4.0;

/// A definition of a variable that nothing reads on some of the ways that were taken.
#[derive(Clone, PartialEq, Debug)]
pub struct DeadRow {
    /// The variable, with the member that is set.
    pub variable: SmolStr,
    /// The name where it is set, relative to the item.
    pub place: Span,
    /// The counts by lanes.
    pub counts: Unread,
    /// The cost of an execution: cycles of a warp, of functions without lanes those until the result is
    /// there; an estimate.
    pub price: f64,
    /// Entries of the function.
    pub entries: u64,
    /// The code is the one that was profiled.
    pub exact: bool,
    /// The executions that remain where the definition is moved to where it is read. `None`: it can't be, or that saves little.
    pub moved: Option<Remaining>,
}

/// Executions that remain of a definition.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Remaining {
    Lanes(u64),
    /// The share of those by warps: in PTX no lane does without what another one of its warp executes.
    Warps(f64),
}

impl DeadRow {
    /// Returns true for a row that is shown beside the code.
    pub fn matters(&self) -> bool {
        self.counts.share() >= SHARE && self.lost() >= LOST
    }

    /// Returns the work done in vain for an entry of the function, in the unit of `price`.
    pub fn lost(&self) -> f64 {
        self.counts.least as f64 * self.price / self.entries.max(1) as f64
    }
}

/// The rows of an item's functions, by position. Of instances of a template the first that has a profile.
pub fn of_item(db: &dyn Db, item: Item<'_>) -> Vec<DeadRow> {
    let file = item.main(db);
    let mut out: Vec<DeadRow> = Vec::new();
    let machine = program::costs_of(db, file);
    for part in parts(db, item) {
        let Some(known) = known_paths(db, item, part.function) else {
            continue;
        };
        let rows = of_part(&part, &known, machine);
        let new = |row: &DeadRow| !out.iter().any(|other| other.place == row.place);
        let rows: Vec<DeadRow> = rows.into_iter().filter(new).collect();
        out.extend(rows);
    }
    out.sort_by_key(|row| row.place);
    match file.language(db) {
        Language::Ptx => moves_of_ptx(db, file, item, &mut out),
        _ => moves(db, file, item, &mut out),
    }
    out.retain(|row| row.counts.share() >= OFTEN);
    out
}

fn of_part(part: &Part<'_>, known: &Known, machine: &Machine) -> Vec<DeadRow> {
    let function = part.function;
    let counts = known.unread(function);
    let entries = known.entries();
    let mut out = Vec::new();
    for binding in &function.bindings {
        if binding.kind == BindingKind::Read || binding.loc.site != Site(0) {
            continue;
        }
        // Of a vector the member that is read most.
        let of = binding.values.iter().map(|&value| {
            let ValueDef::Result(inst, _) = function.values[value].def else {
                return None;
            };
            computes(&function.insts[inst].op).then(|| counts[inst])
        });
        let of: Option<Vec<Unread>> = of.collect();
        let least = of.unwrap_or_default().into_iter();
        let Some(counts) = least
            .min_by_key(|all| all.least)
            .filter(|counts| counts.most as f64 >= OFTEN * counts.executions.max(1) as f64)
        else {
            continue;
        };
        let insts: Vec<Inst> = binding
            .values
            .iter()
            .filter_map(|&value| match function.values[value].def {
                ValueDef::Result(inst, _) => Some(inst),
                ValueDef::Param(..) => None,
            })
            .collect();
        let name = &function.variables[binding.variable].name;
        out.push(DeadRow {
            variable: format!("{name}{}", binding.part).into(),
            place: binding.loc.span,
            counts,
            price: price(function, machine, |inst| insts.contains(&inst)),
            entries,
            exact: known.exact(),
            moved: None,
        });
    }
    out
}

/// Returns true for operations that a processor executes to compute a value.
const fn computes(op: &Op) -> bool {
    !matches!(
        op,
        Op::Const(_)
            | Op::Undef
            | Op::SymbolAddress(_)
            | Op::Parameter(_)
            | Op::Special(_)
            | Op::Alloca { .. }
            | Op::Convert(_)
    )
}

/// Tries to move the definitions of the rows.
fn moves(db: &dyn Db, file: File, item: Item<'_>, rows: &mut [DeadRow]) {
    if rows.is_empty() || !item.holds(db).own || !is_written(file.language(db)) {
        return;
    }
    let parsed = db::parsed(db, item);
    with_item(db, file, item, |source| {
        for function in functions_of(parsed) {
            let inside = |row: &&mut DeadRow| {
                function.span.start <= row.place.start && row.place.end <= function.span.end
            };
            let mut here: Vec<&mut DeadRow> = rows.iter_mut().filter(inside).collect();
            if here.is_empty() {
                continue;
            }
            let all = candidates(function);
            for row in &mut here {
                let Some(candidate) = all.iter().find(|each| each.place == row.place) else {
                    continue;
                };
                // The price of the whole statement.
                if let Some(part) = part_of(db, item, candidate.stmt) {
                    row.price = price_of(part.function, program::costs_of(db, file), candidate);
                }
                let offer = attempt(db, file, item, source, function, candidate);
                if let Ok(Offer {
                    plan:
                        Plan {
                            counts: Counts::Profiled { walked, .. },
                            ..
                        },
                    ..
                }) = offer
                {
                    row.moved = Some(Remaining::Lanes(walked.executed));
                    // What does without it was read by nobody, in whatever iteration a path of the profile ended.
                    let gone = u64::try_from(walked.removed()).unwrap_or(0);
                    row.counts.least = row.counts.least.max(gone.min(row.counts.most));
                }
            }
        }
    });
}

/// The statements of PTX of the rows that lose most.
fn moves_of_ptx(db: &dyn Db, file: File, item: Item<'_>, rows: &mut [DeadRow]) {
    let mut order: Vec<&mut DeadRow> = rows.iter_mut().filter(|row| row.matters()).collect();
    order.sort_by(|a, b| b.lost().total_cmp(&a.lost()));
    order.truncate(MOST_TRIED);
    let trying = (!order.is_empty()).then(|| Trying::new(db, file, item));
    let Some(trying) = trying.flatten() else {
        return;
    };
    for row in order {
        let executions = trying
            .sink(row.place.start)
            .and_then(|tried| tried.ok()?.executions);
        let share = executions.map(|(before, after)| after / before);
        row.moved = share.filter(|share| *share < 1.0).map(Remaining::Warps);
    }
}

/// Languages whose text is edited.
pub(super) const fn is_written(language: Language) -> bool {
    matches!(language, Language::C | Language::Cuda | Language::Hlsl)
}

/// An edit that moves a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Offer {
    /// The function calls itself: what inner calls execute is not in the counts.
    pub recursive: bool,
    /// The profile counts edges alone, which does not tell how often copies would be executed.
    pub edges_alone: bool,
    pub plan: Plan,
    /// The cost of an execution: cycles of a warp, of functions without lanes those until the result is
    /// there; an estimate.
    pub price: f64,
    pub machine: SmolStr,
    /// True if it has lanes: a warp is spared only work whose result none of its lanes reads.
    pub lanes: bool,
    /// The code is the one that was profiled.
    pub exact: bool,
}

/// A statement at a place, with the result of moving it.
#[derive(Clone, PartialEq, Debug)]
pub struct Tried {
    pub name: SmolStr,
    pub result: Result<Offer, Refusal>,
}

/// The statement at a place of a file. `None`: none that sets a variable.
pub fn at(db: &dyn Db, file: File, offset: u32) -> Option<Tried> {
    if !is_written(file.language(db)) {
        return None;
    }
    let (place, item) = program::item_at(db, file, offset)?;
    if place.file != FileId::MAIN || !item.holds(db).code {
        return None;
    }
    let parsed = db::parsed(db, item);
    let inside = offset.saturating_sub(place.start);
    let function = function_at(parsed, inside)?;
    let Some(candidate) = candidate_at(function, inside) else {
        let (name, refusal) = refused_at(function, inside)?;
        return Some(Tried {
            name,
            result: Err(refusal),
        });
    };
    let mut found = None;
    with_source(db, file, item, place, parsed, |source| {
        found = Some(Tried {
            name: candidate.name.clone(),
            result: attempt(db, file, item, source, function, &candidate),
        });
    });
    found
}

/// The lowered function around a place; of a template's instances the first that has a profile.
pub(super) fn part_of<'db>(db: &'db dyn Db, item: Item<'db>, place: Span) -> Option<Part<'db>> {
    let around = |part: &Part<'_>| {
        part.function.span.start <= place.start && place.end <= part.function.span.end
    };
    let all: Vec<Part<'_>> = parts(db, item).into_iter().filter(around).collect();
    let profiled = |part: &&Part<'_>| known_paths(db, item, part.function).is_some();
    all.iter().find(profiled).or(all.first()).copied()
}

/// Writes and judges.
fn attempt(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    source: &Source<'_>,
    function: &syntax::c_family::ast::Function,
    candidate: &Candidate,
) -> Result<Offer, Refusal> {
    let part = part_of(db, item, candidate.stmt);
    let known = part.and_then(|part| known_paths(db, item, part.function));
    let machine = program::costs_of(db, file);
    let price = part.map_or(1.0, |part| price_of(part.function, machine, candidate));
    let recorded = part.zip(known.as_ref()).and_then(|(part, known)| {
        Some(Recorded {
            function: part.function,
            numbers: &known.numbers,
            profile: known.profile()?,
        })
    });
    let edges_alone = known
        .as_ref()
        .is_some_and(|known| known.profile().is_none());
    let parts_lanes = |condition: Span| parts_lanes(part.as_ref(), condition);
    let plan = plan(
        source,
        function,
        candidate,
        &Terms {
            recorded,
            prices: Prices {
                statement: price,
                suppressed: 2.0,
                predicate: 1.0,
            },
            parts_lanes: &parts_lanes,
        },
    )?;
    judge(db, item, source, function, &plan.edits).map_err(Refusal::Check)?;
    let own = program::key(db, item);
    let recursive = part.is_some_and(|part| {
        let mut calls = part.function.sites.iter();
        calls.any(|(_, site)| site.item.as_ref() == Some(&own) || site.callee == part.function.name)
    });
    Ok(Offer {
        recursive,
        plan,
        price,
        machine: machine.name.clone(),
        lanes: source.language != ir::Language::C,
        exact: known.is_none_or(|known| known.exact()),
        edges_alone,
    })
}

/// Checks that the rewritten text is understood and has the effects of the original; otherwise returns the
/// reason.
pub(super) fn judge(
    db: &dyn Db,
    item: Item<'_>,
    source: &Source<'_>,
    function: &syntax::c_family::ast::Function,
    edits: &[(Span, String)],
) -> Result<(), String> {
    let rejected = |why: Rejection| why.to_string();
    let after = rewritten(source.text, edits).ok_or_else(|| rejected(Rejection::Overlap))?;
    let rewritten = program::rewritten(db, item, source, &after)
        .ok_or_else(|| rejected(Rejection::FunctionLost))?;
    understood(db, item, source, &rewritten).map_err(|why| rejected(Rejection::Problem(why)))?;
    let number = functions_of(source.item)
        .iter()
        .position(|each| each.span == function.span);
    let again = number.and_then(|number| functions_of(&rewritten.parsed).get(number).copied());
    let again = again.ok_or_else(|| rejected(Rejection::FunctionLost))?;
    let environment = source.environment;
    let new = Source::new(
        &rewritten.parsed,
        // Macros matter to edits alone.
        &[],
        &after,
        rewritten.start,
        environment,
        source.bodies,
        source.language,
    );
    let units = KnownUnit::new(source, function).zip(KnownUnit::new(&new, again));
    let (old_unit, new_unit) = units.ok_or_else(|| rejected(Rejection::FunctionLost))?;
    let old_text = |span: Span| slice(source.text, span.shifted(source.start));
    let new_text = |span: Span| slice(&after, span.shifted(rewritten.start));
    check::check(
        check::Text {
            function,
            text: &old_text,
            unit: &old_unit,
        },
        check::Text {
            function: again,
            text: &new_text,
            unit: &new_unit,
        },
    )
    .map_err(|violation| violation.to_string())
}

fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize)
        .unwrap_or("")
}

/// The cycles of a statement's value.
fn price_of(function: &Function, machine: &Machine, candidate: &Candidate) -> f64 {
    let value = candidate.value;
    price(function, machine, |inst| {
        let span = outer(function, function.insts[inst].loc);
        span.is_some_and(|span| value.start <= span.start && span.end <= value.end)
    })
}

pub(super) fn price(function: &Function, machine: &Machine, is_part: impl Fn(Inst) -> bool) -> f64 {
    let insts = function
        .layout
        .iter()
        .flat_map(|&block| &function.blocks[block].insts);
    let parts = insts.filter(|inst| is_part(**inst));
    parts
        .map(|&inst| machine.cycles(function, &function.insts[inst]))
        .sum()
}
