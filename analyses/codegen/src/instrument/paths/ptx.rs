//! Counters of paths in PTX: in front of each guarded jump, under its predicate, and of each jump by a table, under the
//! comparisons of its index.
//!
//! ```text
//! @%p1 bra L;     ->     { @%p1 add.u64 %lspath, %lspath, 2; }  @%p1 bra L;
//! ```
//!
//! The counters are a module's global variable, 8 bytes each.

use super::super::COUNTERS;
use super::{Effect, PathPlan, Refusal, Register};
use ir::{Function, Site, Terminator};
use std::fmt::Write;

/// The register of a lane that holds the number of the path under way.
const PATH: &str = "%lspath";

/// The declaration of the counters, for the place before the first function.
#[must_use]
pub fn declaration(counters: u64) -> String {
    format!(
        "// Counters of lockstep: how often lanes took each path.\n.visible .global .align 8 .u64 {COUNTERS}[{}];\n\n",
        counters.max(1)
    )
}

/// Counts a function whose text is that of its item; its counters begin at `first`.
///
/// # Errors
/// A branch has no place of its own.
pub fn instrument(
    function: &Function,
    plan: &PathPlan,
    text: &str,
    first: u64,
) -> Result<Vec<(u32, String)>, Refusal> {
    let body = body(text, function.name_span.end).ok_or(Refusal::NoBody)?;
    let mut entry = format!("\n\t.reg .b64 \t{PATH};\n\tmov.u64 \t{PATH}, 0;");
    write_effects(&mut entry, &[(String::new(), &plan.entry)], first);
    let mut out = vec![(body, entry)];
    for (block, effects) in &plan.branches {
        let data = &function.blocks[*block];
        let span = data.loc.span;
        let line = || {
            1 + text
                .get(..span.start as usize)
                .map_or(0, |t| t.matches('\n').count()) as u32
        };
        if data.loc.site != Site(0) {
            let callee = function
                .sites
                .get(data.loc.site)
                .map(|site| site.callee.clone());
            return Err(Refusal::Inlined {
                callee: callee.unwrap_or_default(),
            });
        }
        if effects.iter().all(Effect::is_nothing) {
            continue;
        }
        let statement = text.get(span.start as usize..span.end as usize);
        let sides = statement.and_then(|statement| match &data.terminator {
            Terminator::Branch { .. } => {
                let (_, register) = guard(statement)?;
                Some(vec![format!("@{register} "), format!("@!{register} ")])
            }
            Terminator::Switch { cases, .. } => by_index(statement, cases.len()),
            _ => None,
        });
        let Some(sides) = sides else {
            return Err(Refusal::NoPlace { line: line() });
        };
        let mut new = String::new();
        // An index past a table is undefined: the way for it is none of its own.
        let sides: Vec<(String, &Effect)> = sides.into_iter().zip(effects).collect();
        write_effects(&mut new, &sides, first);
        new.push_str("\n\t");
        out.push((span.start, new));
    }
    Ok(out)
}

/// True for a negated guard, and the predicate register of a statement.
fn guard(statement: &str) -> Option<(bool, &str)> {
    let rest = statement.trim_start().strip_prefix('@')?.trim_start();
    let (negated, rest) = match rest.strip_prefix('!') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, rest),
    };
    let end = rest.find(|c: char| c.is_whitespace())?;
    Some((negated, &rest[..end]))
}

/// Returns the statements in front of the additions for each entry of a jump's table: a comparison, and its
/// predicate.
fn by_index(statement: &str, cases: usize) -> Option<Vec<String>> {
    let behind = &statement[statement.find("brx.idx")? + "brx.idx".len()..];
    // `brx.idx.uni`
    let operands = &behind[behind.find(char::is_whitespace)?..];
    let index = operands.split(',').next()?.trim();
    let guard = guard(statement).map(|(negated, register)| {
        let not = if negated { "!" } else { "" };
        (".and", format!(", {not}{register}"))
    });
    let (and, guard) = guard.unwrap_or_default();
    let of = |case: usize| format!("setp.eq{and}.s32 \t%lsq, {index}, {case}{guard};\n\t@%lsq ");
    Some((0..cases).map(of).collect())
}

/// Returns the offset behind the brace that opens the body; the head is behind a place.
fn body(text: &str, head: u32) -> Option<u32> {
    let bytes = text.as_bytes();
    let mut at = head as usize;
    while at < bytes.len() {
        let rest = &text.get(at..)?;
        at += match rest {
            rest if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            rest if rest.starts_with("/*") => rest.find("*/")? + 2,
            rest if rest.starts_with('{') => return Some(at as u32 + 1),
            rest => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    None
}

/// The effects of the sides, each under its predicate.
fn write_effects(out: &mut String, sides: &[(String, &Effect)], first: u64) {
    if sides.iter().all(|(_, effect)| effect.is_nothing()) {
        return;
    }
    let ends = sides.iter().any(|(_, effect)| effect.ended.is_some());
    out.push_str("\n\t{ // lockstep: the path under way");
    if sides.iter().any(|(under, _)| under.contains("%lsq")) {
        out.push_str("\n\t.reg .pred \t%lsq;");
    }
    if ends {
        out.push_str("\n\t.reg .b64 \t%lsa, %lsb;");
        let _ = write!(out, "\n\tmov.u64 \t%lsb, {COUNTERS};");
    }
    for (under, effect) in sides {
        if let Some(ended) = &effect.ended {
            let add = ended.add.wrapping_add(first) as i64;
            let _ = write!(out, "\n\t{under}add.s64 \t%lsa, {PATH}, {add};");
            let _ = write!(out, "\n\t{under}mad.lo.s64 \t%lsa, %lsa, 8, %lsb;");
            let _ = write!(out, "\n\t{under}red.global.add.u64 \t[%lsa], 1;");
            for number in &ended.further {
                let offset = 8 * (first + number);
                let _ = write!(out, "\n\t{under}red.global.add.u64 \t[%lsb+{offset}], 1;");
            }
        }
        match effect.register {
            Register::Add(0) | Register::Gone => {}
            Register::Add(add) => {
                let add = add as i64;
                let _ = write!(out, "\n\t{under}add.s64 \t{PATH}, {PATH}, {add};");
            }
            Register::Set(number) => {
                let number = number as i64;
                let _ = write!(out, "\n\t{under}mov.b64 \t{PATH}, {number};");
            }
        }
    }
    out.push_str("\n\t}");
}
