//! Loops whose lanes begin apart and go the same number of rounds: the initial value of a lane cancels in the
//! distance to its limit.
//!
//! ```text
//! for (i = x - r; i <= x + r; i++)                2 * r + 1 rounds, whatever `x` is
//! for (i = x << s; i < (x + 1) << s; i++)         1 << s
//! for (i = x * m; i < min(x * m + m, n); i++)     m, but for the last lanes of a range
//! for (i = max(x - r, 0); i <= x + r; i++)        2 * r + 1, but for the first
//! for (i = x * m; i < x; i++)                     told: `x * m - x` differs between lanes
//! ```
//!
//! Start and limit are taken apart into sums of products, whose factors are one value that lanes differ in
//! and any number of values that they share; products of shared values alone drop out. Indices that are
//! compared do not wrap, as in `rounds`. Bounded by `DEPTH` and `TERMS`.

use super::Context;
use super::rounds::{self, below};
use crate::model::Scope;
use ir::{BinaryOp, Block, Function, IntCondition, Op, Special, Terminator, Value, ValueDef};
use std::collections::BTreeMap;

const DEPTH: u32 = 12;
const TERMS: usize = 24;

/// A value by which something is multiplied, or shifted to the left.
type Factor = (bool, Value);
/// Differences of lanes, times shared factors, with coefficients.
type Sum = BTreeMap<(Value, Vec<Factor>), i64>;

/// The loop, and those that go through it together.
#[derive(Clone, Copy)]
struct Window<'a> {
    cx: &'a Context<'a>,
    header: Block,
    scope: Scope,
}

/// The loop's header, and the comparison by which its lanes leave. Windows of a warp's lanes may be cut off
/// at the end of their data: most lanes are not near its end, and the others go fewer rounds. In a group each
/// round counts.
pub(super) fn have_one_width(
    cx: &Context<'_>,
    header: Block,
    compare: Value,
    scope: Scope,
) -> bool {
    let function = cx.function;
    let window = Window { cx, header, scope };
    let Some(data) = function.defining(compare) else {
        return false;
    };
    let Op::IntCompare(_) = data.op else {
        return false;
    };
    let sides = [(data.args[0], data.args[1]), (data.args[1], data.args[0])];
    sides.into_iter().any(|(counter, limit)| {
        let (counter, ahead) = beside_a_number(cx, counter);
        let Some(Starts { values, descends }) = window.starts(counter).filter(|_| ahead) else {
            return false;
        };
        let cut = |value: Value| match scope {
            Scope::Subgroup => window.before_it_is_cut_off(value),
            _ => Cut::none(value),
        };
        let last = cut(limit);
        values.into_iter().all(|start| {
            let first = cut(start);
            // Else it may be longer: `max(window, n)`.
            let (far_of_last, near_of_last) = last.sides(descends);
            let (far_of_first, near_of_first) = first.sides(descends);
            let is_that = |end: Option<Value>, other: Option<Value>| {
                end.is_none_or(|end| other.is_some_and(|other| is_same(function, end, other, 4)))
            };
            is_that(near_of_last, near_of_first)
                && is_that(far_of_first, far_of_last)
                && window.same_distance(first.whole, last.whole)
        })
    })
}

/// The start of a counter, and whether it becomes less.
struct Starts {
    values: Vec<Value>,
    descends: bool,
}

/// A value that is not less than something the lanes share, or not more, and its value where neither ends it.
#[derive(Clone, Copy)]
struct Cut {
    whole: Value,
    below: Option<Value>,
    above: Option<Value>,
}

impl Cut {
    const fn none(whole: Value) -> Cut {
        Cut {
            whole,
            below: None,
            above: None,
        }
    }
    /// At the end to which the counter goes, and where it comes from.
    const fn sides(self, descends: bool) -> (Option<Value>, Option<Value>) {
        match descends {
            true => (self.below, self.above),
            false => (self.above, self.below),
        }
    }
}

/// Computed in the same way from the same.
fn is_same(function: &Function, left: Value, right: Value, depth: u32) -> bool {
    if rounds::is_same(function, left, right) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let (Some(a), Some(b)) = (function.defining(left), function.defining(right)) else {
        return false;
    };
    let pure = matches!(
        a.op,
        Op::Const(_) | Op::Parameter(_) | Op::Binary(..) | Op::Convert(_)
    );
    pure && a.op == b.op
        && a.args.len() == b.args.len()
        && a.args
            .iter()
            .zip(&b.args)
            .all(|(&a, &b)| is_same(function, a, b, depth))
}

/// The way in which an end is chosen instead of the value.
enum Choice {
    /// Chosen by `min`; else by `max`.
    Above(bool),
    /// Chosen by a condition, where it holds, or where it does not.
    By(Value, bool),
}

impl Window<'_> {
    fn uniform(&self, value: Value, at: Block) -> bool {
        self.cx.uniform(value, at, self.scope)
    }

    /// Returns the value before `min(window, n)`, `max(window, 0)` and `if (window > n) window = n;`.
    fn before_it_is_cut_off(&self, value: Value) -> Cut {
        let function = self.cx.function;
        let mut chain = vec![below(function, value)];
        let mut chosen = Vec::new();
        while chain.len() < DEPTH as usize
            && let Some(((whole, end), choice)) = self.cut_off_once(chain[chain.len() - 1])
        {
            chain.push(below(function, whole));
            chosen.push((end, choice));
        }
        let mut cut = Cut::none(chain[chain.len() - 1]);
        for (end, choice) in chosen {
            let above = match choice {
                Choice::Above(above) => Some(above),
                Choice::By(condition, end_where_true) => {
                    self.is_an_upper_end(&chain, condition, end_where_true)
                }
            };
            match above {
                Some(true) => cut.above = Some(end),
                Some(false) => cut.below = Some(end),
                None => return Cut::none(value),
            }
        }
        cut
    }

    /// `value > end ? end : value`; `Some(false)`: a lower end; `None`: another condition.
    fn is_an_upper_end(
        &self,
        chain: &[Value],
        condition: Value,
        end_where_true: bool,
    ) -> Option<bool> {
        use IntCondition::*;
        let function = self.cx.function;
        let data = function.defining(condition)?;
        let Op::IntCompare(kind) = data.op else {
            return None;
        };
        let [left, right] = data.args[..] else {
            return None;
        };
        let is_one = |side: Value| chain.contains(&below(function, side));
        let shared = |side: Value| self.uniform(side, self.header);
        let kind = if end_where_true { kind } else { kind.negated() };
        let greater = match kind {
            GreaterSigned | GreaterUnsigned | GreaterEqualSigned | GreaterEqualUnsigned => true,
            LessSigned | LessUnsigned | LessEqualSigned | LessEqualUnsigned => false,
            _ => return None,
        };
        match (is_one(left) && shared(right), is_one(right) && shared(left)) {
            (true, _) => Some(greater),
            (_, true) => Some(!greater),
            _ => None,
        }
    }

    /// Returns the value that is cut off, and its end.
    fn cut_off_once(&self, value: Value) -> Option<((Value, Value), Choice)> {
        use BinaryOp::*;
        let function = self.cx.function;
        let data = match function.values[value].def {
            ValueDef::Param(join, number) => return self.replaced(join, number),
            ValueDef::Result(inst, _) => &function.insts[inst],
        };
        match data.op {
            Op::Binary(op @ (MinSigned | MinUnsigned | MaxSigned | MaxUnsigned), _) => {
                let found = self.apart_from_an_end(&data.args)?;
                Some((found, Choice::Above(matches!(op, MinSigned | MinUnsigned))))
            }
            Op::Select => {
                let found = self.apart_from_an_end(&data.args[1..])?;
                Some((found, Choice::By(data.args[0], found.1 == data.args[1])))
            }
            _ => None,
        }
    }

    /// The one of two that is not the same in all lanes, and the other one.
    fn apart_from_an_end(&self, two: &[Value]) -> Option<(Value, Value)> {
        let [left, right] = *two else { return None };
        match (
            self.uniform(left, self.header),
            self.uniform(right, self.header),
        ) {
            (true, false) => Some((right, left)),
            (false, true) => Some((left, right)),
            _ => None,
        }
    }

    /// The same behind a branch.
    fn replaced(&self, join: Block, number: u32) -> Option<((Value, Value), Choice)> {
        let (cx, function) = (self.cx, self.cx.function);
        let mut arriving = Vec::new();
        for &before in &cx.flow.predecessors[join] {
            if cx.flow.position[before] >= cx.flow.position[join] {
                return None;
            }
            let edges = function.blocks[before].terminator.edges();
            for edge in edges.iter().filter(|edge| edge.block == join) {
                arriving.push((before, *edge.args.get(number as usize)?));
            }
        }
        let [(from, it), (other_from, other)] = arriving[..] else {
            return None;
        };
        let found = self.apart_from_an_end(&[it, other])?;
        let end_from = if found.1 == it { from } else { other_from };
        let branch = cx.dominators().immediate(join)?;
        let Terminator::Branch {
            condition,
            then,
            otherwise,
            ..
        } = &function.blocks[branch].terminator
        else {
            return None;
        };
        // The end comes from the branch itself, or from one of its two ways.
        let comes = |to: Block| match end_from == branch {
            true => to == join,
            false => to != join && cx.dominators().dominates(to, end_from),
        };
        let end_where_true = match (comes(then.block), comes(otherwise.block)) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        Some((found, Choice::By(*condition, end_where_true)))
    }

    /// Returns the initial value of a counter of the header; `None`: it is no counter, or does not grow by
    /// the same in all lanes.
    fn starts(&self, counter: Value) -> Option<Starts> {
        let (cx, header) = (self.cx, self.header);
        let function = cx.function;
        let ValueDef::Param(block, number) = function.values[counter].def else {
            return None;
        };
        if block != header {
            return None;
        }
        let (mut found, mut descends) = (Vec::new(), false);
        for &before in &cx.flow.predecessors[header] {
            let edges = function.blocks[before].terminator.edges();
            for edge in edges.iter().filter(|edge| edge.block == header) {
                let &arg = edge.args.get(number as usize)?;
                if cx.flow.position[before] < cx.flow.position[header] {
                    found.push(arg);
                } else if arg != counter {
                    let next = function.defining(below(cx.function, arg))?;
                    let other = match next.op {
                        Op::Binary(BinaryOp::Add, _) | Op::PtrAdd
                            if below(cx.function, next.args[0]) == counter =>
                        {
                            next.args[1]
                        }
                        Op::Binary(BinaryOp::Add, _)
                            if below(cx.function, next.args[1]) == counter =>
                        {
                            next.args[0]
                        }
                        Op::Binary(BinaryOp::Sub, _)
                            if below(cx.function, next.args[0]) == counter =>
                        {
                            next.args[1]
                        }
                        _ => return None,
                    };
                    if !self.uniform(other, before) {
                        return None;
                    }
                    let negative = function.int_constant(other).is_some_and(|by| by < 0);
                    descends |= negative != matches!(next.op, Op::Binary(BinaryOp::Sub, _));
                }
            }
        }
        (!found.is_empty()).then_some(Starts {
            values: found,
            descends,
        })
    }

    fn same_distance(&self, start: Value, limit: Value) -> bool {
        let mut sum = Sum::new();
        let mut factors = Vec::new();
        self.add(limit, &mut factors, 1, &mut sum, DEPTH).is_some()
            && self.add(start, &mut factors, -1, &mut sum, DEPTH).is_some()
            && sum.values().all(|&often| often == 0)
    }

    /// Adds a value times some factors; `None`: it is too large, or changes in the loop.
    fn add(
        &self,
        value: Value,
        factors: &mut Vec<Factor>,
        often: i64,
        sum: &mut Sum,
        depth: u32,
    ) -> Option<()> {
        let (cx, header) = (self.cx, self.header);
        let function = cx.function;
        let depth = depth.checked_sub(1)?;
        let (value, asked) = first_asked(cx, value);
        let block = match function.values[value].def {
            ValueDef::Param(block, _) => block,
            ValueDef::Result(inst, _) => cx.block_of[inst]?,
        };
        let before = asked || cx.flow.position[block] < cx.flow.position[header];
        if before && self.uniform(value, block) || function.int_constant(value).is_some() {
            return Some(());
        }
        if let Some(data) = function.defining(value) {
            let fixed = |value: Value| {
                let at = match function.values[value].def {
                    ValueDef::Param(block, _) => block,
                    ValueDef::Result(inst, _) => cx.block_of[inst]?,
                };
                let before = cx.flow.position[at] < cx.flow.position[header];
                (function.int_constant(value).is_some() || before && self.uniform(value, at))
                    .then_some(())
            };
            match data.op {
                Op::Convert(_) => return self.add(data.args[0], factors, often, sum, depth),
                Op::Binary(BinaryOp::Add, _) | Op::PtrAdd => {
                    self.add(data.args[0], factors, often, sum, depth)?;
                    return self.add(data.args[1], factors, often, sum, depth);
                }
                Op::Binary(BinaryOp::Sub, _) => {
                    self.add(data.args[0], factors, often, sum, depth)?;
                    return self.add(data.args[1], factors, often.checked_neg()?, sum, depth);
                }
                Op::Binary(BinaryOp::Mul | BinaryOp::Shl, _) => {
                    let shift = matches!(data.op, Op::Binary(BinaryOp::Shl, _));
                    let (of, by) = match (fixed(data.args[0]), fixed(data.args[1])) {
                        (_, Some(())) => (data.args[0], data.args[1]),
                        (Some(()), None) if !shift => (data.args[1], data.args[0]),
                        _ => return leaf(value, factors, often, sum, before),
                    };
                    return match function.int_constant(by) {
                        Some(by) => {
                            let by = if shift {
                                1i64.checked_shl(u32::try_from(by).ok()?)?
                            } else {
                                by
                            };
                            self.add(of, factors, often.checked_mul(by)?, sum, depth)
                        }
                        None => {
                            factors.push((shift, below(cx.function, by)));
                            let done = self.add(of, factors, often, sum, depth);
                            factors.pop();
                            done
                        }
                    };
                }
                _ => {}
            }
        }
        leaf(value, factors, often, sum, before)
    }
}

/// Below conversions and numbers that are added: the counter, or its next value, which is tested behind the body.
fn beside_a_number(cx: &Context<'_>, mut value: Value) -> (Value, bool) {
    for _ in 0..DEPTH {
        let Some(data) = cx.function.defining(value) else {
            return (value, true);
        };
        value = match data.op {
            Op::Convert(_) => data.args[0],
            Op::Binary(BinaryOp::Add | BinaryOp::Sub, _)
                if cx.function.int_constant(data.args[1]).is_some() =>
            {
                data.args[0]
            }
            _ => return (value, false),
        };
    }
    (value, false)
}

/// A coordinate is the same wherever it is asked for; its first place stands for all.
fn first_asked(cx: &Context<'_>, value: Value) -> (Value, bool) {
    let function = cx.function;
    let Some(data) = function.defining(value) else {
        return (value, false);
    };
    if !matches!(data.op, Op::Special(Special::ThreadId(_) | Special::LaneId)) {
        return (value, false);
    }
    let mut asked = cx
        .instructions()
        .map(|(_, inst)| &function.insts[inst])
        .filter(|other| other.op == data.op && function.ty(other.results[0]) == function.ty(value));
    (asked.next().map_or(value, |first| first.results[0]), true)
}

fn leaf(value: Value, factors: &[Factor], often: i64, sum: &mut Sum, before: bool) -> Option<()> {
    let mut factors = factors.to_vec();
    factors.sort_unstable();
    let known = sum.entry((value, factors)).or_default();
    *known = known.checked_add(often)?;
    (before && sum.len() <= TERMS).then_some(())
}
