//! The trip counts of loops: counters that grow by a constant, and counters that are multiplied or divided by
//! one.
//!
//! ```text
//! for (i = 0; i < 96; i += 32)                  3
//! for (s = blockDim.x / 2; s > 0; s >>= 1)      log2(blockDim.x), at most 10; 8 in blocks of 256
//! for (k = 1; k < n; k *= 2)                    log2(n)
//! ```
//!
//! The counter is followed from its first value by the loop's own comparison, at most `MOST` rounds. A first value or a limit
//! that is not known is taken at the end of its interval that makes the most rounds: a bound. Loops with one exit that is
//! decided once an iteration are counted; others are bounded by those of their exits that are.

use crate::divergence::{Engine, SUBGROUP};
use crate::symbolic::{Logarithm, Sum};
use ir::cfg::ControlFlow;
use ir::loops::LoopId;
use ir::{BinaryOp, Block, Convert, Function, IntCondition, Op, Terminator, Value, ValueDef};

const MOST: u64 = 1 << 16;
/// A bound beyond says nothing: it is that of the type, or of its width for counters that are multiplied or
/// divided.
const WORTH: u64 = 30;
const SMALL: u64 = 64;

/// The iterations of a loop, as far as they are known.
#[derive(Default)]
pub(crate) struct Trips {
    /// Their number when it is constant.
    pub count: Option<u64>,
    pub at_most: Option<u64>,
    /// The approximate number in terms of unknowns: `log2(blockDim.x)`.
    pub about: Option<Logarithm>,
}

/// The comparison that decides whether the loop goes on, as it holds for the lanes that stay.
pub(crate) struct Test {
    pub kind: IntCondition,
    pub counter: Value,
    pub limit: Value,
    /// The header decides, before the body.
    pub first: bool,
}

pub(crate) fn trips(engine: &Engine<'_>, l: LoopId, exiting: &[Block]) -> Trips {
    let Some(test) = test(engine, l, exiting) else {
        return Trips {
            at_most: by_each_exit(engine, l, exiting),
            ..Trips::default()
        };
    };
    let Some(induction) = induction(engine, l, test.counter) else {
        return geometric(engine, l, &test).unwrap_or_default();
    };
    let limit = engine.cells[test.limit].form.as_constant();
    if let (Some(limit), Some(start)) = (limit, induction.start) {
        let step = i128::from(induction.step);
        let rounds = rounds(engine, &test, start, limit, |at| at + step);
        return Trips {
            count: rounds,
            ..Trips::default()
        };
    }
    Trips {
        at_most: linear_bound(engine, &test, &induction),
        ..Trips::default()
    }
}

/// A bound where a loop has several exits, or one that asks for more: `for (i = 0; i < 4; ++i) if (found) break;`,
/// `for (i = 0; i < 4 && p[i]; ++i)`.
fn by_each_exit(engine: &Engine<'_>, l: LoopId, exiting: &[Block]) -> Option<u64> {
    let exits = exiting.iter().filter_map(|&block| exit(engine, l, block));
    let bounds = exits.flat_map(|(exit, parts)| {
        parts.into_iter().filter_map(move |part| {
            let test = exit.test(engine, part)?;
            let induction = induction(engine, l, test.counter)?;
            linear_bound(engine, &test, &induction)
        })
    });
    bounds.min()
}

pub(crate) fn test(engine: &Engine<'_>, l: LoopId, exiting: &[Block]) -> Option<Test> {
    let [block] = exiting else { return None };
    let (exit, parts) = exit(engine, l, *block)?;
    let [only] = parts[..] else { return None };
    exit.test(engine, only)
}

/// A branch that leaves a loop, decided once an iteration.
struct Exit {
    /// The loop goes on where the condition holds.
    stays: bool,
    first: bool,
}

/// Conditions that are followed.
const PARTS: usize = 8;

/// The branch, and the conditions of which each must hold for the loop to go on.
fn exit(engine: &Engine<'_>, l: LoopId, block: Block) -> Option<(Exit, Vec<Value>)> {
    let function = engine.function;
    let header = engine.forest.loops[l].header;
    if !engine.forest.loops[l].reducible || engine.forest.of(block) != Some(l) {
        return None;
    }
    let Terminator::Branch {
        condition, then, ..
    } = &function.blocks[block].terminator
    else {
        return None;
    };
    // The exit is decided once an iteration: in the header, or where every back edge passes.
    let first = block == header;
    let last = engine.flow.predecessors[header]
        .iter()
        .all(|&p| !engine.forest.contains(l, p) || engine.dominators.dominates(block, p));
    if !first && !last {
        return None;
    }
    let stays = engine.forest.contains(l, then.block);
    let mut parts = Vec::new();
    let mut work = vec![*condition];
    while let Some(value) = work.pop() {
        match function.defining(value) {
            Some(data) if stays && matches!(data.op, Op::Binary(BinaryOp::And, _)) => {
                work.extend(data.args.iter().copied());
            }
            Some(_) => parts.push(value),
            None => match both(function, &engine.flow, value).filter(|_| stays) {
                Some(both) => work.extend(both),
                None => parts.push(value),
            },
        }
        if work.len() + parts.len() > PARTS {
            return None;
        }
    }
    let first = first && !(last && header_is_body(engine, l));
    Some((Exit { stays, first }, parts))
}

/// The two conditions of an `&&` whose second one is evaluated behind a branch on the first.
pub(crate) fn both(function: &Function, flow: &ControlFlow, value: Value) -> Option<[Value; 2]> {
    let ValueDef::Param(join, number) = function.values[value].def else {
        return None;
    };
    let mut parts = Vec::new();
    let mut skipped = 0;
    for &before in &flow.predecessors[join] {
        let terminator = &function.blocks[before].terminator;
        for edge in terminator.edges().iter().filter(|edge| edge.block == join) {
            let arg = *edge.args.get(number as usize)?;
            parts.push(arg);
            skipped += u32::from(
                matches!(terminator, Terminator::Branch { condition, then, .. }
                if *condition == arg && then.block != join),
            );
        }
    }
    <[Value; 2]>::try_from(parts).ok().filter(|_| skipped == 1)
}

impl Exit {
    fn test(&self, engine: &Engine<'_>, condition: Value) -> Option<Test> {
        let compare = engine.function.defining(condition)?;
        let Op::IntCompare(kind) = compare.op else {
            return None;
        };
        let kind = if self.stays { kind } else { kind.negated() };
        Some(Test {
            kind,
            counter: narrow(engine, compare.args[0], kind),
            limit: compare.args[1],
            first: self.first,
        })
    }
}

/// The counter that a comparison extends to the type of its limit. `rounds` keeps it within the bounds of its own type,
/// and above zero where the comparison is unsigned: there it is the number that is compared.
fn narrow(engine: &Engine<'_>, value: Value, kind: IntCondition) -> Value {
    match engine.function.defining(value) {
        Some(data) => match data.op {
            Op::Convert(Convert::SignExtend) => data.args[0],
            Op::Convert(Convert::ZeroExtend) if is_unsigned(kind) => data.args[0],
            _ => value,
        },
        None => value,
    }
}

/// A loop of one block runs its body before it tests.
fn header_is_body(engine: &Engine<'_>, l: LoopId) -> bool {
    let header = engine.forest.loops[l].header;
    engine.flow.successors[header].contains(&header)
}

const fn is_unsigned(kind: IntCondition) -> bool {
    matches!(
        kind,
        IntCondition::LessUnsigned
            | IntCondition::LessEqualUnsigned
            | IntCondition::GreaterUnsigned
            | IntCondition::GreaterEqualUnsigned
    )
}

/// Iterations of a counter that is first tested as `at`; `None`: it leaves its type, or they are too many.
fn rounds(
    engine: &Engine<'_>,
    test: &Test,
    at: i64,
    limit: i64,
    next: impl Fn(i128) -> i128,
) -> Option<u64> {
    let mut at = i128::from(at);
    let limit = i128::from(limit);
    let bits = engine.function.ty(test.counter).bits();
    let bound = 1i128 << (bits.clamp(2, 64) - 1);
    let unsigned = is_unsigned(test.kind);
    if unsigned && (at < 0 || limit < 0) {
        return None;
    }
    let low = if unsigned { 0 } else { -bound };
    let mut iterations = 0u64;
    while test.kind.holds(at, limit) {
        iterations += 1;
        at = next(at);
        if at >= bound || at < low || iterations > MOST {
            return None;
        }
    }
    Some(if test.first {
        iterations
    } else {
        iterations + 1
    })
}

/// A counter that grows by the same in each round.
struct Induction {
    /// The first value that is tested, where it is a constant.
    start: Option<i64>,
    /// The range of the first value that is tested.
    range: (i64, i64),
    step: i64,
}

fn induction(engine: &Engine<'_>, l: LoopId, value: Value) -> Option<Induction> {
    let function = engine.function;
    let header = engine.forest.loops[l].header;
    for &param in &function.blocks[header].params {
        let bits = function.ty(param).bits();
        if !function.ty(param).is_int() || function.ty(param) != function.ty(value) {
            continue;
        }
        let Some(offset) = engine.cells[value]
            .form
            .plus(-1, &engine.cells[param].form, bits)
            .and_then(|d| d.as_constant())
        else {
            continue;
        };
        let mut start = None;
        let mut range: Option<(i64, i64)> = None;
        let mut step = None;
        for &(from, arg) in engine.tables.incoming(function, param) {
            if engine.forest.contains(l, from) {
                let by = engine.cells[arg]
                    .form
                    .plus(-1, &engine.cells[param].form, bits)?
                    .as_constant()?;
                if step.is_some_and(|s| s != by) {
                    return None;
                }
                step = Some(by);
            } else {
                let first = engine.cells[arg].form.as_constant();
                if start.is_some_and(|known| known != first) {
                    start = Some(None);
                } else {
                    start = Some(first);
                }
                let (low, high) = engine.cells[arg].range;
                range = Some(range.map_or((low, high), |r| (r.0.min(low), r.1.max(high))));
            }
        }
        let (start, range, step) = (start?, range?, step?);
        return (step != 0).then_some(Induction {
            start: start.map(|start| start.wrapping_add(offset)),
            range: (
                range.0.saturating_add(offset),
                range.1.saturating_add(offset),
            ),
            step,
        });
    }
    None
}

/// The most rounds of a counter whose first value or limit is known by its interval alone: those from the one end to the
/// other. The step beyond the limit must not leave the type.
fn linear_bound(engine: &Engine<'_>, test: &Test, induction: &Induction) -> Option<u64> {
    use IntCondition::*;
    let wide = |(low, high): (i64, i64)| (i128::from(low), i128::from(high));
    let (from, to) = (wide(induction.range), wide(engine.cells[test.limit].range));
    let bits = engine.function.ty(test.counter).bits();
    let bound = 1i128 << (bits.clamp(2, 64) - 1);
    let unsigned = is_unsigned(test.kind);
    if unsigned && (from.0 < 0 || to.0 < 0) {
        return None;
    }
    let low = if unsigned { 0 } else { -bound };
    let step = i128::from(induction.step);
    let (first, limit) = match test.kind {
        LessSigned | LessEqualSigned | LessUnsigned | LessEqualUnsigned if step > 0 => {
            (from.0, to.1)
        }
        GreaterSigned | GreaterEqualSigned | GreaterUnsigned | GreaterEqualUnsigned if step < 0 => {
            (from.1, to.0)
        }
        _ => return None,
    };
    let beyond = limit + step;
    if from.0 < low || from.1 >= bound || beyond < low || beyond >= bound {
        return None;
    }
    let held = matches!(
        test.kind,
        LessEqualSigned | LessEqualUnsigned | GreaterEqualSigned | GreaterEqualUnsigned
    );
    let distance = (limit - first) * step.signum() + i128::from(held);
    let whole = distance.max(0);
    let rounds = (whole + step.abs() - 1) / step.abs() + i128::from(!test.first);
    // Two constants are the author's own bound, whatever else ends the loop; a small bound is one as well.
    let constant = from.0 == from.1 && to.0 == to.1;
    let most = if constant { MOST } else { SMALL };
    // Behind the body the first test is of the second round.
    u64::try_from(rounds).ok().filter(|&rounds| rounds <= most)
}

/// The change of a counter in each round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    By(i64),
    Divided(i64),
}

impl Scale {
    pub(crate) fn apply(self, at: i128) -> i128 {
        match self {
            Scale::By(factor) => at * i128::from(factor),
            Scale::Divided(factor) => at / i128::from(factor),
        }
    }
    const fn factor(self) -> i64 {
        match self {
            Scale::By(factor) | Scale::Divided(factor) => factor,
        }
    }
}

/// A value as another one times or over a constant above one.
pub(crate) fn scaled(engine: &Engine<'_>, value: Value) -> Option<(Value, Scale)> {
    let function = engine.function;
    let data = function.defining(value)?;
    let Op::Binary(op, _) = data.op else {
        return None;
    };
    let &[a, b] = data.args.as_slice() else {
        return None;
    };
    let (of, by) = match (function.int_constant(a), function.int_constant(b)) {
        (_, Some(by)) => (a, by),
        (Some(by), _) if op == BinaryOp::Mul => (b, by),
        (None, None) if op == BinaryOp::Add && a == b => return Some((a, Scale::By(2))),
        _ => return None,
    };
    let scale = match op {
        BinaryOp::Mul if (2..=1 << 20).contains(&by) => Scale::By(by),
        BinaryOp::DivSigned | BinaryOp::DivUnsigned if (2..=1 << 20).contains(&by) => {
            Scale::Divided(by)
        }
        BinaryOp::Shl if (1..=20).contains(&by) => Scale::By(1 << by),
        BinaryOp::ShrSigned | BinaryOp::ShrUnsigned if (1..=20).contains(&by) => {
            Scale::Divided(1 << by)
        }
        _ => return None,
    };
    Some((of, scale))
}

/// Counters that are multiplied or divided by a constant.
fn geometric(engine: &Engine<'_>, l: LoopId, test: &Test) -> Option<Trips> {
    let function = engine.function;
    let header = engine.forest.loops[l].header;
    let &param = function.blocks[header].params.iter().find(|&&param| {
        param == test.counter || scaled(engine, test.counter).is_some_and(|(of, _)| of == param)
    })?;
    let (mut start, mut scale) = (None, None);
    for &(from, arg) in engine.tables.incoming(function, param) {
        if engine.forest.contains(l, from) {
            let (of, by) = scaled(engine, arg)?;
            if of != param || scale.is_some_and(|known| known != by) {
                return None;
            }
            scale = Some(by);
        } else if start.is_some_and(|known| known != arg) {
            return None;
        } else {
            start = Some(arg);
        }
    }
    let (start, scale) = (start?, scale?);
    let tested = |first: i64| match test.counter == param {
        true => Some(first),
        false => i64::try_from(scale.apply(i128::from(first))).ok(),
    };
    let count = |first: i64, limit: i64| {
        // A shift rounds a negative number down, and an unsigned number is never negative.
        if first < 0 && matches!(scale, Scale::Divided(_)) {
            return None;
        }
        let stuck = |at: i128| scale.apply(at) == at && test.kind.holds(at, i128::from(limit));
        if stuck(0) && first == 0 {
            return None;
        }
        rounds(engine, test, tested(first)?, limit, |at| scale.apply(at))
    };
    let first = engine.cells[start].form.as_constant();
    let limit = engine.cells[test.limit].form.as_constant();
    if let (Some(first), Some(limit)) = (first, limit) {
        return Some(Trips {
            count: count(first, limit),
            ..Trips::default()
        });
    }
    use IntCondition::*;
    let (from, to) = (engine.cells[start].range, engine.cells[test.limit].range);
    // The end of an interval bounds the rounds if every value in it comes to the limit: unsigned numbers
    // below zero are the largest ones, and a limit tested for equality can be passed by.
    let bounded = match (scale, test.kind) {
        (Scale::Divided(_), GreaterSigned) => from.0 >= 0 || limit >= Some(0),
        (Scale::Divided(_), GreaterEqualSigned) => from.0 >= 0 || limit >= Some(1),
        (Scale::Divided(_), NotEqual) => from.0 >= 0 && limit == Some(0),
        (Scale::Divided(_), _) => from.0 >= 0,
        (Scale::By(_), LessSigned | LessEqualSigned) => true,
        (Scale::By(_), LessUnsigned | LessEqualUnsigned) => to.0 >= 0,
        (Scale::By(_), _) => false,
    };
    let (at_most, of) = match (scale, test.kind) {
        (
            Scale::Divided(_),
            GreaterSigned | GreaterEqualSigned | GreaterUnsigned | GreaterEqualUnsigned | NotEqual,
        ) if limit.is_some() => {
            // Half of something, halved until nothing is left.
            let whole = scaled(engine, start).filter(|&(_, by)| by == scale);
            let of = whole.map_or(start, |(of, _)| of);
            (
                count(from.1, to.0),
                name(engine, header, of).map(|of| (of, 1)),
            )
        }
        (
            Scale::By(_),
            LessSigned | LessEqualSigned | LessUnsigned | LessEqualUnsigned | NotEqual,
        ) => {
            let first = first.filter(|&first| first >= 1)?;
            let of = name(engine, header, test.limit);
            (count(first, to.1), of.map(|of| (of, first)))
        }
        _ => return None,
    };
    Some(Trips {
        count: None,
        at_most: at_most.filter(|&n| bounded && n < WORTH),
        about: of.map(|(of, divisor)| Logarithm {
            base: scale.factor(),
            of,
            divisor,
        }),
    })
}

/// Returns a value's form, where all of it has names.
fn name(engine: &Engine<'_>, block: Block, value: Value) -> Option<Sum> {
    let form = engine.named_form(&engine.cells[value].form, block, SUBGROUP);
    form.is_named().then_some(form)
}
