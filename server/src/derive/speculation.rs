//! Expressions that are evaluated again and again, and the edits that evaluate them ahead; each is judged by executing both texts on
//! symbols.

use super::partly_dead::{is_written, judge, part_of, price};
use super::parts::parts_lanes;
use super::paths::{Known, known_paths};
use super::pressure::outer;
use super::versions::with_source;
use crate::db::{self, Db, File, Item};
use crate::program;
use codegen::specialize::source::sink_dead::Recorded;
use codegen::specialize::source::speculate::{Plan, Refusal, Terms, plan};
use codegen::specialize::source::{Source, function_at};
use smol_str::SmolStr;
use syntax::{FileId, Span};

/// The work of an evaluation that is worth a variable, in additions, and the statements that may evaluate it afterwards.
const LEAST_WORK: u32 = 3;
const MOST: usize = 4;

/// An edit that evaluates an expression ahead.
#[derive(Clone, PartialEq, Debug)]
pub struct Offer {
    pub plan: Plan,
    /// The cost of an evaluation: cycles of a warp, of functions without lanes those until the result is
    /// there; an estimate.
    pub price: f64,
    pub machine: SmolStr,
    /// The code is the one that was profiled.
    pub exact: bool,
}

/// The expression at a place of a file. `None`: there is no code that is edited.
pub fn at(db: &dyn Db, file: File, range: Span) -> Option<Result<Offer, Refusal>> {
    if !is_written(file.language(db)) {
        return None;
    }
    let (place, item) = program::item_at(db, file, range.start)?;
    if place.file != FileId::MAIN || !item.holds(db).code {
        return None;
    }
    let parsed = db::parsed(db, item);
    let start = range.start.checked_sub(place.start)?;
    let inside = Span::new(start, range.end.saturating_sub(place.start).max(start));
    let function = function_at(parsed, inside.start)?;
    let mut found = None;
    with_source(db, file, item, place, parsed, |source| {
        found = Some(attempt(db, file, item, source, function, inside));
    });
    found
}

fn attempt(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    source: &Source<'_>,
    function: &syntax::c_family::ast::Function,
    place: Span,
) -> Result<Offer, Refusal> {
    let part = part_of(db, item, place);
    let known = part.and_then(|part| known_paths(db, item, part.function));
    // Which edges are taken how often is all that decides here.
    let counted = known.as_ref().and_then(Known::with_edges);
    let recorded = part.zip(known.as_ref()).zip(counted.as_deref());
    let recorded = recorded.map(|((part, known), profile)| Recorded {
        function: part.function,
        numbers: &known.numbers,
        profile,
    });
    let parts_lanes = |condition: Span| parts_lanes(part.as_ref(), condition);
    let terms = Terms {
        recorded,
        parts_lanes: &parts_lanes,
        wraps: false,
        least_work: LEAST_WORK,
        most: MOST,
    };
    let plan = plan(source, function, place, &terms)?;
    judge(db, item, source, function, &plan.edits).map_err(Refusal::Check)?;
    let machine = program::costs_of(db, file);
    let price = part.map_or(0.0, |part| {
        price(part.function, machine, |inst| {
            let span = outer(part.function, part.function.insts[inst].loc);
            let within = |span: Span| plan.place.start <= span.start && span.end <= plan.place.end;
            span.is_some_and(within)
        })
    });
    Ok(Offer {
        plan,
        price,
        machine: machine.name.clone(),
        exact: known.is_none_or(|known| known.exact()),
    })
}
