//! What a version in the source saves: the rewritten function is lowered, and the cycles of its two paths are counted where
//! they stand in the text.
//!
//! The paths' own instructions are counted, not those that the IR pass would fold besides, so that the figure is that of
//! the text. Blocks are weighted by the profile of the function before, else as `frequency` has them (`executions`); an arm
//! of the check counts as if it were always taken.

use super::executions::{Profiled, executions};
use crate::specialize::accept::Model;
use crate::specialize::live;
use facts::cost::Machine;
use ir::{Function, Loc, Op, Site};
use syntax::Span;

/// Where the parts of a version stand, relative to the item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    pub check: Span,
    pub fast: Span,
    pub slow: Span,
}

/// Estimated cycles a warp. The probability is left at 0.
#[must_use]
pub fn estimate(
    function: &Function,
    parts: Parts,
    machine: &Machine,
    profiled: Option<Profiled<'_>>,
) -> Model {
    let weights = executions(function, parts, profiled);
    let needed = live::needed(function);
    let mut model = Model {
        blocks: 1,
        ..Model::default()
    };
    let (mut fast_blocks, mut memory) = (0, 0i64);
    let mut asked = None;
    for &block in &function.layout {
        let mut in_fast = false;
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let Some(at) = place(function, data.loc) else {
                continue;
            };
            if !data.op.has_effect() && !data.results.iter().any(|one| needed.contains(one)) {
                continue;
            }
            let cycles = machine.cycles(function, data) * weights[block];
            let touches = i64::from(data.op.reads_memory() || matches!(data.op, Op::Store(_)));
            if within(parts.check, at) {
                asked = Some(weights[block]);
                model.check += cycles;
            } else if within(parts.fast, at) {
                in_fast = true;
                model.special += cycles;
                memory -= touches;
            } else if within(parts.slow, at) {
                model.region += cycles;
                memory += touches;
            }
        }
        fast_blocks += usize::from(in_fast);
    }
    // The branch itself, as often as what it chooses between.
    model.check += machine.simple * asked.unwrap_or(1.0);
    model.blocks = fast_blocks.max(1);
    model.memory_killed = usize::try_from(memory).unwrap_or(0);
    model
}

/// Where an instruction stands in the function's own item: itself, or the call that brought it.
pub(super) fn place(function: &Function, loc: Loc) -> Option<Span> {
    let mut at = loc;
    for _ in 0..64 {
        if at.site == Site(0) {
            return (at != Loc::NONE).then_some(at.span);
        }
        at = function.sites.get(at.site)?.call;
    }
    None
}

pub(super) const fn within(span: Span, at: Span) -> bool {
    span.start <= at.start && at.end <= span.end
}

/// The parts of a version's text; `start` is where the text stands in its item.
#[must_use]
pub fn parts(text: &str, test: &str, start: u32) -> Option<Parts> {
    let at = text.find(test)?;
    let check = Span::new(at as u32, (at + test.len()) as u32);
    let end = text.len() as u32;
    let negated = text.get(..at)?.ends_with('!');
    if negated {
        return Some(Parts {
            check: check.shifted(start),
            fast: Span::at(end).shifted(start),
            slow: Span::new(check.end, end).shifted(start),
        });
    }
    let tokens = syntax::c_family::lexer::lex_fragment(text.get(check.end as usize..)?);
    let rest = text.get(check.end as usize..)?;
    let mut depth = 0;
    for token in &tokens {
        match rest.get(token.start as usize..token.end as usize) {
            Some("{") => depth += 1,
            Some("}") => depth -= 1,
            Some("else") if depth == 0 => {
                let cut = check.end + token.start;
                return Some(Parts {
                    check: check.shifted(start),
                    fast: Span::new(check.end, cut).shifted(start),
                    slow: Span::new(cut, end).shifted(start),
                });
            }
            _ => {}
        }
    }
    None
}
