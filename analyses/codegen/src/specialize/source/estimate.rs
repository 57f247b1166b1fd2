//! The saving by a version in the source: the rewritten function is lowered, and the cycles of its two paths
//! are counted where they stand in the text.
//!
//! The paths' own instructions are counted, not those that the IR pass would fold besides, so that the figure is that of
//! the text. Blocks are weighted by the profile of the function before, else as `frequency` has them (`executions`); an arm
//! of the check counts as if it were always taken.

use super::executions::{Executions, Profiled, executions};
use super::scheduled::{Iterations, Schedules};
use crate::specialize::accept::{CHAIN, Model};
use crate::specialize::fold::{fold, taken};
use crate::specialize::frequency::{frequency, frequency_where};
use crate::specialize::{Zeros, live};
use facts::cost::{Machine, work};
use facts::values::record::Misses;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::{Block, EntityVec, Function, Loc, Op, Site, UnaryOp, Value};
use rustc_hash::FxHashMap;
use syntax::Span;

/// The places of a version's parts, relative to the item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    pub check: Span,
    /// An operand without a name in the check: compilers compute it once for the check and for what follows.
    pub operand: Option<Span>,
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
    schedules: Option<&Schedules<'_>>,
) -> Model {
    let Executions {
        blocks: weights,
        misses,
    } = executions(function, parts, profiled);
    let original = original(function, parts, &weights);
    let iterations = schedules.map(|schedules| Iterations::new(function, schedules, &weights));
    let scales = match &iterations {
        Some(iterations) => iterations.scales(machine, &weights),
        None => EntityVec::with_len(1.0, function.blocks.len()),
    };
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    let needed = live::needed(function);
    let mut model = Model {
        blocks: 1,
        ..Model::default()
    };
    let (mut fast_blocks, mut memory) = (0, 0i64);
    let (mut asked, mut slots) = (None, 0.0);
    for &block in &function.layout {
        let mut in_fast = false;
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let Some(at) = place(function, data.loc) else {
                continue;
            };
            if !data.op.has_effect() && !data.results.iter().any(|result| needed.contains(result)) {
                continue;
            }
            let met = misses.get(&inst).copied().unwrap_or_default();
            let wait = met.spared_wait();
            let cycles = (machine.cycles(function, data) * scales[block] + wait) * weights[block];
            let touches = i64::from(data.op.reads_memory() || matches!(data.op, Op::Store(_)));
            if parts.operand.is_some_and(|operand| within(operand, at)) {
                model.special += cycles;
            } else if within(parts.check, at) {
                asked = Some(weights[block]);
                model.check += cycles;
            } else if within(parts.fast, at) {
                in_fast = true;
                model.special += cycles;
                model.waited -= wait * weights[block];
                kept.extend(Some(met).filter(|met| met.loads > 0));
                memory -= touches;
            } else if within(parts.slow, at) && original[block] > 0.0 {
                let charge = machine.charge(work(function, data));
                model.region += (charge.cycles * scales[block] + wait) * original[block];
                model.waited += wait * original[block];
                if let Some(key) = data.results.first().filter(|_| met.loads > 0) {
                    gone.push((met, *key, original[block]));
                }
                slots += charge.slots * original[block];
                memory += touches;
            }
        }
        fast_blocks += usize::from(in_fast);
    }
    // The branch itself, as often as what it chooses between.
    let asked = asked.unwrap_or(1.0);
    model.check += machine.simple * asked;
    model.end_overlap(machine, slots, asked, original[function.entry()]);
    model.blocks = fast_blocks.max(1);
    // What the copy loads is not spared.
    for met in kept {
        if let Some(at) = gone.iter().position(|(other, ..)| *other == met) {
            gone.remove(at);
        }
    }
    let depths = depths(function, &gone);
    for (met, value, executions) in &gone {
        let level = depths.get(value).copied().unwrap_or(0).min(CHAIN - 1);
        for (sum, of) in model.behind[level].iter_mut().zip(met.alone()) {
            sum.add(of, *executions, asked);
        }
    }
    model.waited = model.waited.max(0.0);
    model.memory_killed = usize::try_from(memory).unwrap_or(0);
    if let Some(iterations) = &iterations {
        iterations.price(&mut model, parts);
    }
    model
}

/// How many of some loads each of them waits for: those that its address comes from, one behind the other.
fn depths(function: &Function, loads: &[(Misses, Value, f64)]) -> FxHashMap<Value, usize> {
    let mut depths: FxHashMap<Value, usize> = FxHashMap::default();
    if loads.is_empty() {
        return depths;
    }
    let mut of: FxHashMap<Value, usize> = FxHashMap::default();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let read = data.args.iter().filter_map(|value| of.get(value)).max();
            let read = read.copied();
            for result in &data.results {
                let counted = loads.iter().any(|(_, value, _)| value == result);
                if counted {
                    depths.insert(*result, read.unwrap_or(0));
                }
                if counted || read.is_some() {
                    of.insert(*result, read.unwrap_or(0) + usize::from(counted));
                }
            }
        }
    }
    depths
}

/// The executions of the slow path's blocks if the tested value is zero: its own tests of that value are
/// decided there, and the code that they skip is no gain. Blocks outside of it are as in `weights`.
fn original(
    function: &Function,
    parts: Parts,
    weights: &EntityVec<Block, f64>,
) -> EntityVec<Block, f64> {
    let mut out = weights.clone();
    let standing = |block: Block, span: Span| {
        let mut insts = function.blocks[block].insts.iter();
        insts.any(|&inst| {
            place(function, function.insts[inst].loc).is_some_and(|at| within(span, at))
        })
    };
    let flow = ControlFlow::new(function);
    let dominators = DominatorTree::dominators(&flow);
    let mut members: Vec<Value> = Vec::new();
    for &block in &flow.order {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let tests = matches!(
                data.op,
                Op::FloatCompare(_) | Op::IntCompare(_) | Op::Unary(UnaryOp::Not)
            );
            if tests && place(function, data.loc).is_some_and(|at| within(parts.check, at)) {
                let varying = |&value: &Value| {
                    !function
                        .defining(value)
                        .is_some_and(|it| matches!(it.op, Op::Const(_)))
                };
                members.extend(data.args.iter().copied().filter(varying));
            }
        }
    }
    let entry = flow
        .order
        .iter()
        .copied()
        .find(|&block| standing(block, parts.slow));
    let Some(entry) = entry.filter(|_| !members.is_empty()) else {
        return out;
    };
    let blocks: Vec<Block> = flow
        .order
        .iter()
        .copied()
        .filter(|&it| dominators.dominates(entry, it))
        .collect();
    // The operand of a second comparison may be what a first one gave.
    members.retain(|&member| {
        function.ty(member) != ir::Type::Bool || members_are_flags(function, parts)
    });
    let after = &function.blocks[entry].insts;
    let folded = fold(function, &members, &blocks, after, Zeros::Absorb);
    let decided = |block: Block| {
        let terminator = &function.blocks[block].terminator;
        let remaining = taken(terminator, |value| folded.constant(function, value));
        match remaining.as_slice() {
            [only] if terminator.edges().len() > 1 && folded.reached.contains(&block) => {
                Some(only.block)
            }
            _ => None,
        }
    };
    let (before, after) = (frequency(function), frequency_where(function, &decided));
    let scale = weights[entry] / after[entry].max(1e-9);
    for &block in &blocks {
        if !folded.reached.contains(&block) {
            out[block] = 0.0;
        } else if (after[block] * before[entry] - before[block] * after[entry]).abs() > 1e-9 {
            out[block] = scale * after[block];
        }
    }
    out
}

/// The check tests a truth value itself.
fn members_are_flags(function: &Function, parts: Parts) -> bool {
    !function.layout.iter().any(|&block| {
        function.blocks[block].insts.iter().any(|&inst| {
            let data = &function.insts[inst];
            matches!(data.op, Op::FloatCompare(_))
                && place(function, data.loc).is_some_and(|at| within(parts.check, at))
        })
    })
}

/// Returns where an instruction stands in the function's own item: itself, or the call that brought it.
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

/// The parts of a version's text; `start` is where the text stands in its item, `operand` the text of one without a name.
#[must_use]
pub fn parts(text: &str, test: &str, operand: Option<&str>, start: u32) -> Option<Parts> {
    let at = text.find(test)?;
    let inside = operand.and_then(|operand| Some((test.find(operand)? + at, operand.len())));
    let operand =
        inside.map(|(from, length)| Span::new(from as u32, (from + length) as u32).shifted(start));
    let check = Span::new(at as u32, (at + test.len()) as u32);
    let end = text.len() as u32;
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
                    operand,
                    fast: Span::new(check.end, cut).shifted(start),
                    slow: Span::new(cut, end).shifted(start),
                });
            }
            _ => {}
        }
    }
    // Nothing is left of the fast path.
    Some(Parts {
        check: check.shifted(start),
        operand,
        fast: Span::at(end).shifted(start),
        slow: Span::new(check.end, end).shifted(start),
    })
}
