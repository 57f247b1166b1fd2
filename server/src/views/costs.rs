//! The costs of lines, loops, calls and functions to a warp, and the number of warps that fit: estimates for
//! the configured machine.
//!
//! Nothing is computed unless a view asks: the hints and the lens where `hints.costs` is not off, a hover, the command
//! line. The numbers are those of [`crate::derive::costs`]; here they are put into words.

use super::model::{Category, Hint};
use crate::config::{CostHints, Detail, HintConfig};
use crate::db::{self, Db, File};
use crate::derive::costs::{Costs, Fit, Threads, by_line, costs};
use crate::derive::hot::{calls_cost, has_hot_places, hot_line};
use crate::derive::registers::Registers;
use crate::derive::rows::rows_of;
use crate::program::{self, own_items};
use codegen::machine::estimate::{Cost, LoopCost, PlaceCost};
use codegen::machine::occupancy::{Change, Limit};
use codegen::machine::weights::Origin;
use syntax::Span;

/// Hints of a range at the ends of lines.
pub fn hints(
    db: &dyn Db,
    file: File,
    range: Span,
    switches: &HintConfig,
    line_end: &dyn Fn(u32) -> u32,
) -> Vec<Hint> {
    let mut hints = Vec::new();
    let which = switches.costs;
    // With its factors, for which a line that says more has no room.
    let full = switches.detail == Detail::Full;
    if which == CostHints::Off {
        return hints;
    }
    let lines = db::line_index(db, file);
    let source = program::text(file.source(db));
    for (place, item) in own_items(db, file) {
        if place.end < range.start || place.start > range.end {
            continue;
        }
        let hot = which == CostHints::Hot;
        for (at, costs) in costs(db, item).iter().enumerate() {
            let Some(Costs { cost, .. }) = costs else {
                continue;
            };
            let head = rows_of(db, item).get(at).and_then(|rows| rows.head);
            if hot && !has_hot_places(cost, head, source, place.start) {
                continue;
            }
            let share = |it: &Cost| it.cycles / cost.total.cycles.max(1.0);
            let guessed =
                |it: &PlaceCost| cost.guessed_loops > 0 && it.times.is_none_or(|times| times > 1.0);
            let all = by_line(cost, lines, place.start);
            let shown: Vec<(u32, PlaceCost)> = match hot {
                true => {
                    let called =
                        |line: u32, it: &PlaceCost| calls_cost(cost, line, it, lines, place.start);
                    hot_line(cost, &all, &guessed, &called)
                        .into_iter()
                        .collect()
                }
                false => all
                    .into_iter()
                    .filter(|(_, it)| it.total.cycles >= 0.5)
                    .collect(),
            };
            for (line, each) in &shown {
                hints.push(Hint {
                    offset: line_end(*line),
                    label: match full {
                        true => line_label(each),
                        false => margin(&each.total, Some(share(&each.total)), guessed(each)),
                    },
                    category: Category::Cost,
                    about: lines.line_start(*line),
                });
            }
            // Of the loops a lens and the hover say what they cost.
            for each in cost.loops.iter().filter(|_| !hot) {
                let start = place.start + each.span.start;
                let line = lines.line_column(start).0;
                // The head's own line says more as a loop.
                hints.retain(|hint| {
                    hint.offset != line_end(line) || hint.category != Category::Cost
                });
                hints.push(Hint {
                    offset: line_end(line),
                    label: match full {
                        true => loop_label(each),
                        false => format!(
                            "loop {}",
                            margin(
                                &each.total,
                                Some(share(&each.total)),
                                each.from == Origin::Heuristic
                                    || each.entered > 1.0 && cost.guessed_loops > 0
                            )
                        ),
                    },
                    category: Category::Cost,
                    about: start,
                });
            }
        }
    }
    hints
}

/// `~416 cycles, 35 %`: an estimate, whose factors, weights and target stand in the hover. `~35 %, loops guessed` where cycles
/// rest on a number of iterations that nothing tells: lines compare with each other, and say nothing of time.
fn margin(cost: &Cost, share: Option<f64>, guessed: bool) -> String {
    let cycles = number(cost.cycles);
    match share.map(|share| share * 100.0) {
        Some(share) if guessed => format!("~{share:.0} %, loops guessed"),
        Some(share) => format!("~{cycles} cycles, {share:.0} %"),
        None => format!("~{cycles} cycles"),
    }
}

/// `~416 cycles: 8 × 52, guessed`; `~208 cycles: 0.5 entries × 8 × 52, guessed` behind a branch
pub fn loop_label(cost: &LoopCost) -> String {
    format!(
        "~{} cycles: {}{}",
        number(cost.total.cycles),
        of_loop(cost),
        match cost.from {
            Origin::Constant => "",
            Origin::Bound => ", at most",
            Origin::Profile => ", profiled",
            Origin::Heuristic => ", guessed",
        }
    )
}

/// The product that a loop's cycles are.
fn of_loop(cost: &LoopCost) -> String {
    let plain = [cost.iterations, cost.iteration.cycles];
    match is_one(cost.entered) {
        _ if cost.entered * cost.iterations <= 0.0 => "no iterations".to_owned(),
        true => product(cost.total.cycles, &plain).join(" × "),
        false => {
            let factors = [cost.entered, plain[0], plain[1]];
            let shown = product(cost.total.cycles, &factors);
            format!("{} entries × {} × {}", shown[0], shown[1], shown[2])
        }
    }
}

/// `~26 cycles`; `~13 cycles: 0.5 × 26` where a weight is applied to all of a line.
pub fn line_label(cost: &PlaceCost) -> String {
    let cycles = cost.total.cycles;
    let all = number(cycles);
    match cost.times.filter(|&times| times > 0.0 && !is_one(times)) {
        Some(times) => {
            let shown = product(cycles, &[times, cycles / times]);
            format!("~{all} cycles: {}", shown.join(" × "))
        }
        None => format!("~{all} cycles"),
    }
}

fn is_one(times: f64) -> bool {
    (times - 1.0).abs() < 1e-9
}

/// The factors of a total with as many digits as it takes for the product of the printed numbers to be the
/// printed total.
fn product(total: f64, factors: &[f64]) -> Vec<String> {
    let printed = |digits: i32| -> Vec<f64> {
        let scale = 10f64.powi(digits);
        let round = |&factor: &f64| (factor * scale).round() / scale;
        factors.iter().map(round).collect()
    };
    let wanted = number(total);
    let exact = |rounded: &Vec<f64>| number(rounded.iter().product()) == wanted;
    let found = (0..7).map(printed).find(exact);
    let found = found.unwrap_or_else(|| printed(7));
    found.iter().map(|factor| format!("{factor}")).collect()
}

/// Two or three digits that matter.
pub fn number(value: f64) -> String {
    match value {
        v if v >= 10_000_000.0 => format!("{:.0} M", v / 1e6),
        v if v >= 1_000_000.0 => format!("{:.1} M", v / 1e6),
        v if v >= 10_000.0 => format!("{:.0} k", v / 1e3),
        v if v >= 10.0 || v.fract().abs() < 0.05 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}

/// `~1240 cycles a warp, 310 issue slots, limited by latency (estimate, sm_80)`
pub fn sentence(cost: &Cost, machine: &str) -> String {
    format!(
        "~{} cycles a warp, {} issue slots, limited by {} (estimate, {machine})",
        number(cost.cycles),
        number(cost.slots),
        cost.limit().0.name()
    )
}

/// Returns the text for the lens of an entry point.
pub fn lens(costs: &Costs, known: Option<&Registers>) -> String {
    let mut text = format!(
        "~{} cycles a warp, limited by {} (estimate, {}{})",
        number(costs.cost.total.cycles),
        costs.cost.total.limit().0.name(),
        costs.cost.machine,
        match (costs.cost.profiled, costs.cost.guessed_loops) {
            (true, _) => ", profiled",
            (false, 0) => "",
            (false, _) => ", loops guessed",
        }
    );
    if costs.cost.rays > 0 {
        text += " without its rays";
    }
    if let Some((fit, source)) = fitted(known) {
        text += &format!(" · {}", occupied(fit, &source));
    }
    text
}

/// Returns the number of warps that fit, and the source of the number of a thread's registers.
fn fitted(known: Option<&Registers>) -> Option<(&Fit, String)> {
    let known = known?;
    Some((known.fit.as_ref()?, super::pressure::label(known)))
}

/// `occupancy 50 % of 64 warps: limited by registers, 72 (estimate); at ≤ 64 registers 62 %`
pub fn occupied(fit: &Fit, registers: &str) -> String {
    let found = &fit.found;
    let reasons = found.limits.iter().map(|limit| match limit {
        Limit::Registers => format!("registers, {} ({registers})", fit.need.registers),
        Limit::ScalarRegisters => {
            format!("scalar registers, {} ({registers})", fit.need.scalar)
        }
        Limit::Shared => format!("shared memory, {} bytes", fit.need.shared),
        Limit::Warps => "warps".to_owned(),
        Limit::Blocks => "workgroups".to_owned(),
    });
    let reasons: Vec<String> = reasons.collect();
    if found.blocks == 0 {
        return format!(
            "does not fit: {} threads with {}",
            fit.need.threads,
            reasons.join(" and ")
        );
    }
    let mut text = format!(
        "occupancy {:.0} % of {} warps",
        found.percent(),
        found.most_warps
    );
    if found.warps < found.most_warps {
        text += &format!(": limited by {}", reasons.join(" and "));
    }
    if let Some(step) = &fit.step {
        let then = step.then.percent();
        text += &match step.change {
            Change::Registers(most) => format!("; at ≤ {most} registers {then:.0} %"),
            Change::Shared(most) => format!("; at ≤ {most} bytes {then:.0} %"),
            Change::Threads(threads) => format!("; with {threads} threads {then:.0} %"),
        };
    }
    text
}

/// Returns the facts about the workgroup, for a hover.
fn workgroup(fit: &Fit) -> String {
    let threads = fit.need.threads;
    let mut text = match fit.threads {
        Threads::Known => format!("workgroups of {threads} threads (fact)"),
        Threads::AtMost => format!("workgroups of {threads} threads, the declared most (bound)"),
        Threads::Assumed => format!("workgroups of {threads} threads, as in all launches in sight"),
        Threads::Stage => "warps of a stage".to_owned(),
        Threads::Guessed => {
            format!("for workgroups of {threads} threads, as nothing tells their size")
        }
    };
    text += &match (fit.need.shared, fit.dynamic) {
        (0, false) => ", no shared memory".to_owned(),
        (bytes, false) => format!(", {bytes} bytes of shared memory (fact)"),
        (bytes, true) => format!(", {bytes} bytes of shared memory and what the launch adds"),
    };
    text
}

/// Returns the text for the hover of a function's name.
pub fn item_hover(costs: &Costs, known: Option<&Registers>) -> String {
    let cost = &costs.cost;
    let mut text = format!("{}\n", sentence(&cost.total, &cost.machine));
    let origins = |from: Origin| cost.loops.iter().filter(|it| it.from == from).count();
    let guessed = cost.guessed_loops;
    if guessed > 0 {
        text += &format!(
            "\n{} runs {} iterations by heuristic",
            if guessed == 1 {
                "1 loop".to_owned()
            } else {
                format!("{guessed} loops")
            },
            codegen::specialize::frequency::TRIPS
        );
        if origins(Origin::Constant) > 0 {
            text += ", the others as their constants say";
        }
        text += "\n";
    }
    if cost.rays > 0 {
        text += "\nthe traversal of rays and the shaders of what they hit are not counted\n";
    }
    if cost.profiled {
        text += "\nblocks as often as the profile has them\n";
    }
    let part = |(_, it): &(Span, PlaceCost)| it.times.is_some_and(|times| times < 1.0);
    if !cost.profiled && cost.places.iter().any(part) {
        text += "\nbranches that whole warps take go both ways equally often by heuristic\n";
    }
    if let Some((fit, source)) = fitted(known) {
        text += &format!("\n{}\n\n{}", occupied(fit, &source), workgroup(fit));
    }
    text.trim_end().to_owned()
}

/// Returns the text for the hover of anything in a line: the line, and the call or the loop that is there.
pub fn place_hover(
    db: &dyn Db,
    file: File,
    start: u32,
    at: u32,
    costs: &Costs,
    on_loop: bool,
) -> Option<(Span, String)> {
    let cost = &costs.cost;
    let lines = db::line_index(db, file);
    let share = |it: &Cost| 100.0 * it.cycles / cost.total.cycles.max(1.0);
    let mut sections: Vec<String> = Vec::new();
    let mut span = None;
    let around = |span: Span| span.contains(at) || span.end == at;
    if on_loop
        && let Some(found) = innermost(cost.loops.iter().filter(|it| around(it.span)), |l| l.span)
    {
        span = Some(found.span);
        sections.push(format!(
            "loop: {} iterations{}{}; in all {}: {}, {:.0} % of the function",
            number(found.iterations),
            match found.from {
                Origin::Constant => " (fact)",
                Origin::Bound => " (bound)",
                Origin::Profile => " (profile)",
                Origin::Heuristic => " (heuristic)",
            },
            match is_one(found.entered) {
                true => String::new(),
                false => format!(", entered {} times", number(found.entered)),
            },
            sentence(&found.total, &cost.machine),
            of_loop(found),
            share(&found.total)
        ));
    }
    if let Some(found) = innermost(cost.calls.iter().filter(|call| around(call.span)), |c| {
        c.span
    }) {
        span = span.or(Some(found.span));
        sections.push(format!(
            "call of `{}`, inlined{}: {}, {:.0} % of the function",
            found.callee,
            executed(Some(found.times)),
            sentence(&found.total, &cost.machine),
            share(&found.total)
        ));
    }
    let line = lines.line_column(start + at).0;
    let here = by_line(cost, lines, start).remove(&line);
    if let Some(here) = here.filter(|here| here.total.cycles >= 0.5) {
        sections.push(format!(
            "line{}: {}, {:.0} % of the function",
            executed(here.times),
            sentence(&here.total, &cost.machine),
            share(&here.total)
        ));
    }
    if sections.is_empty() {
        return None;
    }
    Some((span.unwrap_or_default(), sections.join("\n\n")))
}

/// Returns how often something is executed, where that is not once.
fn executed(times: Option<f64>) -> String {
    match times.filter(|&times| !is_one(times)) {
        Some(times) => format!(", executed {} times", number(times)),
        None => String::new(),
    }
}

fn innermost<'c, T>(all: impl Iterator<Item = &'c T>, span: impl Fn(&T) -> Span) -> Option<&'c T> {
    all.min_by_key(|it| span(it).len())
}
