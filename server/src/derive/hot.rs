//! The line of a function that holds most of its cycles without showing it.

use super::rows::Head;
use codegen::machine::estimate::{ItemCost, PlaceCost};
use facts::cost::Unit;
use ir::FunctionKind;
use std::collections::BTreeMap;
use syntax::{LineIndex, Span};

/// Share of a function's cycles that its hot line holds at least.
const HOT_SHARE: f64 = 0.2;
/// Entry points below have no hot line, nor have functions that others call below `COLD_INSIDE`, or where
/// loops are guessed: their arguments decide their cost, which a caller's line has.
const COLD: f64 = 300.0;
const COLD_INSIDE: f64 = 2000.0;
/// In a function with fewer lines that cost something a reader sees the dearest.
const FEW_LINES: usize = 8;
/// A cheaper line never has a hint, nor does one whose cycles rest on a guess.
const DEAR: f64 = 200.0;
/// A line that holds more is all that the function does.
const WHOLE: f64 = 0.9;
/// The number of lines with about the same cost among which none stands out.
const ALIKE: usize = 3;
/// Share of a line's cycles that special functions are busy, from which on these count as its main work.
const FUNCTIONS: f64 = 0.15;

/// Returns true if a function has lines and loops that a reader would want to know of.
pub fn has_hot_places(cost: &ItemCost, head: Option<Head>, source: &str, start: u32) -> bool {
    let Some(head) = head else {
        return false;
    };
    let least = match head.kind {
        FunctionKind::Kernel | FunctionKind::Stage(_) => COLD,
        FunctionKind::Device if cost.guessed_loops == 0 => COLD_INSIDE,
        FunctionKind::Device | FunctionKind::Host => return false,
    };
    // What is evaluated by the compiler costs nothing.
    cost.total.cycles >= least && !is_constexpr(source, start, head.name_span)
}

/// Returns the line that holds most of a function's cycles among those whose cost does not show.
pub fn hot_line(
    cost: &ItemCost,
    all: &BTreeMap<u32, PlaceCost>,
    guessed: &dyn Fn(&PlaceCost) -> bool,
    called: &dyn Fn(u32, &PlaceCost) -> bool,
) -> Option<(u32, PlaceCost)> {
    // Beside a traversal, which has no number, every share is wrong.
    if all.len() < FEW_LINES || cost.rays > 0 {
        return None;
    }
    let cycles = |cost: &PlaceCost| cost.total.cycles;
    let alike = |own: f64| {
        let near = |other: &&PlaceCost| (cycles(other) - own).abs() <= 0.25 * own;
        all.values().filter(near).count()
    };
    let hidden = all.iter().filter(|(line, it)| {
        let share = cycles(it) / cost.total.cycles.max(1.0);
        // A load, a store, sums and products show what they cost; calls, doubles and functions do not.
        let is_hidden = called(**line, it)
            || matches!(it.total.limit().0, Unit::Double)
            || it.total.busy(Unit::Special) >= FUNCTIONS * cycles(it);
        is_hidden
            && (HOT_SHARE..WHOLE).contains(&share)
            && cycles(it) >= DEAR
            && !guessed(it)
            && alike(cycles(it)) < ALIKE
    });
    hidden
        .max_by(|a, b| cycles(a.1).total_cmp(&cycles(b.1)).then(b.0.cmp(a.0)))
        .map(|(line, it)| (*line, *it))
}

/// Returns true if most of a line's cycles are those of calls.
pub fn calls_cost(
    cost: &ItemCost,
    line: u32,
    at: &PlaceCost,
    lines: &LineIndex,
    start: u32,
) -> bool {
    let here = |span: Span| lines.line_column(start + span.start).0 == line;
    let called = cost.calls.iter().filter(|call| here(call.span));
    called.map(|call| call.total.cycles).sum::<f64>() >= 0.5 * at.total.cycles
}

/// Returns true if `constexpr` or `consteval` stands in front of a function's name.
fn is_constexpr(source: &str, start: u32, name: Span) -> bool {
    let end = start as usize + name.start as usize;
    let Some(before) = source.get(start as usize..end) else {
        return false;
    };
    let head = before.rsplit([';', '{', '}']).next().unwrap_or(before);
    head.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .any(|word| matches!(word, "constexpr" | "consteval"))
}
