//! The result of an operation for all threads.

use super::Threads;
use super::terms::{Atom, Comparison, Known, Operation, Row, Sum, Terms, comparison};
use ir::numbers;
use ir::{BinaryOp, Convert, IntCondition, Op, Special, Type, UnaryOp};
use smallvec::SmallVec;

/// Operands of the operations that are followed.
const MOST_OPERANDS: usize = 4;

/// Returns the row of a pure operation whose operands are `rows`; `None`: the operation is not followed.
pub(super) fn operation(
    terms: &mut Terms,
    threads: &Threads,
    op: &Op,
    rows: &[&Row],
    types: &[Type],
    to: Type,
) -> Option<Row> {
    if let Op::IntCompare(condition) = op {
        return Some(compare(terms, threads, *condition, rows[0], rows[1]));
    }
    if rows.len() > MOST_OPERANDS {
        return None;
    }
    let each = |terms: &mut Terms, thread: usize| {
        let mut args = [Known::NOTHING; MOST_OPERANDS];
        for (arg, row) in args.iter_mut().zip(rows) {
            *arg = row.at(thread);
        }
        lane(terms, op, &args[..rows.len()], types, to)
    };
    if rows.iter().all(|row| matches!(row, Row::Same(_))) {
        return each(terms, 0).map(Row::Same);
    }
    each(terms, 0)?;
    if let (Op::Binary(op, _), [a, b]) = (op, rows)
        && let (Some(a), Some(b)) = (numbers(a), numbers(b))
    {
        return Some(Row::of(threads.count(), |thread| {
            let bits = numbers::binary(*op, types[0], types[1], to, a(thread), b(thread));
            Known::number(bits as i64)
        }));
    }
    Some(Row::of(threads.count(), |thread| {
        each(terms, thread).unwrap_or(Known::NOTHING)
    }))
}

/// Returns the number that each thread holds, where all of them hold one.
fn numbers(row: &Row) -> Option<impl Fn(usize) -> u64 + '_> {
    let all = match row {
        Row::Same(known) => known.as_number().is_some(),
        Row::Each(each) => each.iter().all(|known| known.as_number().is_some()),
    };
    all.then_some(|thread| row.at(thread).at as u64)
}

/// Returns the result of an operation for one thread.
fn lane(terms: &mut Terms, op: &Op, args: &[Known], types: &[Type], to: Type) -> Option<Known> {
    let all = args.iter().all(|known| known.is_known());
    let mut bits = [0; MOST_OPERANDS];
    let mut are_numbers = true;
    for (bits, known) in bits.iter_mut().zip(args) {
        are_numbers &= known.sum == Sum::EMPTY;
        *bits = known.at as u64;
    }
    let numbers = are_numbers.then_some(bits);
    let opaque = |terms: &mut Terms, operation: Operation| {
        if all {
            terms.atom(Atom::Result(operation, SmallVec::from_slice(args)))
        } else {
            Known::NOTHING
        }
    };
    let number = |bits: u64| Some(Known::number(bits as i64));
    match op {
        Op::Const(bits) => number(numbers::canonical(to, *bits)),
        Op::Unary(op) => match (numbers, op) {
            (Some(n), _) => number(numbers::unary(*op, types[0], to, n[0])),
            (None, UnaryOp::Not) if to.is_integral() => {
                let from = if to == Type::Bool { 1 } else { -1 };
                Some(terms.plus(Known::number(from), -1, args[0]))
            }
            (None, UnaryOp::Neg) => Some(terms.times(args[0], -1)),
            _ => Some(opaque(terms, Operation::Unary(*op, to))),
        },
        Op::PtrAdd => Some(terms.plus(args[0], 1, args[1])),
        Op::Binary(op, _) => Some(match numbers {
            Some(n) => {
                Known::number(numbers::binary(*op, types[0], types[1], to, n[0], n[1]) as i64)
            }
            None => match binary(terms, *op, args[0], args[1], to) {
                Some(known) => known,
                None => opaque(terms, Operation::Binary(*op, to)),
            },
        }),
        Op::FloatCompare(condition) => Some(match numbers {
            Some(n) => {
                let holds = numbers::float_compare(*condition, types[0], n[0], n[1]);
                Known::number(i64::from(holds))
            }
            None => opaque(terms, Operation::Float(*condition)),
        }),
        Op::Select => Some(match (args[0].as_number(), args[1] == args[2]) {
            (Some(0), _) => args[2],
            (Some(_), _) | (None, true) => args[1],
            _ => opaque(terms, Operation::Select),
        }),
        Op::Fma => Some(match numbers {
            Some(n) => Known::number(numbers::fma(to, n[0], n[1], n[2]) as i64),
            None => opaque(terms, Operation::Fma),
        }),
        Op::Ternary(op) => Some(match numbers {
            Some(n) => Known::number(numbers::ternary(*op, types[0], to, n) as i64),
            None => opaque(terms, Operation::Ternary(*op, to)),
        }),
        Op::Convert(kind) => {
            let from = types[0];
            if let Some(n) = numbers {
                return number(numbers::convert(*kind, from, to, n[0]));
            }
            let wide = to.bits() >= 32 || from == Type::Bool;
            Some(match kind {
                // Index arithmetic is taken not to wrap.
                Convert::Truncate | Convert::SignExtend | Convert::ZeroExtend
                    if wide && to != Type::Bool =>
                {
                    args[0]
                }
                Convert::Bitcast if from.is_integral() && to.is_integral() => args[0],
                Convert::SpaceCast => args[0],
                Convert::ToBool => {
                    let (shape, _) = terms.positive(args[0]);
                    let zero = compared(terms, Operation::Equal, shape);
                    terms.plus(Known::number(1), -1, zero)
                }
                _ => opaque(terms, Operation::Convert(*kind, from, to)),
            })
        }
        _ => None,
    }
}

/// Returns the result of an operation on operands that are not both numbers; `None`: the result is a term of
/// its own.
fn binary(terms: &mut Terms, op: BinaryOp, a: Known, b: Known, to: Type) -> Option<Known> {
    let (na, nb) = (a.as_number(), b.as_number());
    match op {
        BinaryOp::Add => Some(terms.plus(a, 1, b)),
        BinaryOp::Sub => Some(terms.plus(a, -1, b)),
        BinaryOp::Mul => match (na, nb) {
            (Some(0), _) | (_, Some(0)) => Some(Known::number(0)),
            (_, Some(factor)) => Some(terms.times(a, factor)),
            (Some(factor), _) => Some(terms.times(b, factor)),
            _ => None,
        },
        BinaryOp::Shl => match nb {
            Some(by @ 0..=62) => Some(terms.times(a, 1 << by)),
            _ => None,
        },
        BinaryOp::And | BinaryOp::Or if to == Type::Bool => {
            // What decides, and what leaves the other operand as it is.
            let decides = i64::from(op == BinaryOp::Or);
            match (na, nb) {
                (Some(n), _) | (_, Some(n)) if n == decides => Some(Known::number(n)),
                (Some(_), _) => Some(b),
                (_, Some(_)) => Some(a),
                _ => (a == b).then_some(a),
            }
        }
        BinaryOp::And => {
            let unit = nb?.checked_add(1).filter(|&unit| unit.count_ones() == 1)?;
            remainder(terms, a, unit)
        }
        BinaryOp::RemSigned | BinaryOp::RemUnsigned => remainder(terms, a, nb?),
        BinaryOp::DivSigned | BinaryOp::DivUnsigned => terms.divided(a, nb?).filter(|_| a.at >= 0),
        BinaryOp::ShrSigned | BinaryOp::ShrUnsigned => match nb? {
            by @ 0..=62 => terms.divided(a, 1 << by).filter(|_| a.at >= 0),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the remainder of the number in a sum of natural numbers if the rest of the sum is a multiple of
/// `unit`.
fn remainder(terms: &mut Terms, a: Known, unit: i64) -> Option<Known> {
    terms.divided(a, unit)?;
    (a.at >= 0).then(|| Known::number(a.at.rem_euclid(unit)))
}

fn compare(terms: &mut Terms, threads: &Threads, condition: IntCondition, a: &Row, b: &Row) -> Row {
    let count = match (a, b) {
        (Row::Same(_), Row::Same(_)) => 1,
        _ => threads.count(),
    };
    let kind = comparison(condition);
    // By thread the answer, or the difference that it depends on.
    let mut open: Vec<Known> = Vec::with_capacity(count);
    let mut answers: Vec<Option<Known>> = Vec::with_capacity(count);
    for thread in 0..count {
        let (x, y) = (a.at(thread), b.at(thread));
        let mut answer = Some(Known::NOTHING);
        let mut difference = Known::NOTHING;
        if let (Some(x), Some(y)) = (x.as_number(), y.as_number()) {
            let holds = numbers::int_compare(condition, x as u64, y as u64);
            answer = Some(Known::number(i64::from(holds)));
        } else if x.is_known() && y.is_known() {
            difference = terms.plus(x, -1, y);
            let number = difference.as_number().map(i128::from);
            answer = number.map(|d| Known::number(i64::from(condition.holds(d, 0))));
        }
        open.push(difference);
        answers.push(answer);
    }
    if answers.iter().all(Option::is_some) {
        return Row::of(count, |thread| answers[thread].unwrap_or(Known::NOTHING));
    }
    let (operation, holds) = match kind {
        Comparison::Equal { holds } => (Operation::Equal, holds),
        Comparison::Less {
            swapped,
            natural,
            or_equal,
        } => {
            // a < b: d < 0; a <= b: not -d < 0; the others have their operands swapped.
            let backwards = swapped != or_equal;
            if backwards {
                for difference in &mut open {
                    *difference = terms.times(*difference, -1);
                }
            }
            (Operation::Negative(natural), !or_equal)
        }
    };
    let alone = open.iter().all(|d| *d == open[0]);
    let one_sum = || {
        let mut sums = open.iter().zip(&answers).filter(|(_, a)| a.is_none());
        let first = sums.next().map(|(d, _)| d.sum);
        sums.all(|(d, _)| Some(d.sum) == first)
    };
    let answer = if alone {
        let (shape, _) = match operation {
            Operation::Equal => terms.positive(open[0]),
            _ => (open[0], false),
        };
        compared(terms, operation, shape)
    } else if operation == Operation::Equal {
        // Each thread by itself, below.
        Known::NOTHING
    } else if open.iter().any(|&d| terms.is_data(d)) && !one_sum() {
        Known::NOTHING
    } else {
        let row = Row::of(count, |thread| open[thread]);
        terms.atom(Atom::Shared(operation, row))
    };
    let answer = match holds {
        true => answer,
        false => terms.plus(Known::number(1), -1, answer),
    };
    if count == 1 {
        return Row::Same(answers[0].unwrap_or(answer));
    }
    Row::of(count, |thread| match answers[thread] {
        Some(number) => number,
        None if operation == Operation::Equal && !alone => {
            let (shape, _) = terms.positive(open[thread]);
            let equal = compared(terms, operation, shape);
            if holds {
                equal
            } else {
                terms.plus(Known::number(1), -1, equal)
            }
        }
        None => answer,
    })
}

fn compared(terms: &mut Terms, operation: Operation, difference: Known) -> Known {
    if !difference.is_known() {
        return Known::NOTHING;
    }
    terms.atom(Atom::Result(operation, SmallVec::from_slice(&[difference])))
}

/// Builtin values of a launch.
pub(super) fn special(terms: &mut Terms, threads: &Threads, special: Special) -> Row {
    let count = threads.count();
    let term = |terms: &mut Terms| Row::Same(terms.atom(Atom::Special(special)));
    let known = threads.known.iter().all(|&known| known);
    let by_lane = |of: &dyn Fn(i64) -> i64| match threads.warp {
        Some(warp) if threads.in_order() => Row::of(count, |thread| {
            Known::number(of(thread as i64 % i64::from(warp)))
        }),
        _ => Row::NOTHING,
    };
    match special {
        Special::ThreadId(axis) => Row::of(count, |thread| {
            Known::number(i64::from(threads.coordinates(thread)[usize::from(axis)]))
        }),
        Special::BlockDim(axis) if threads.known[usize::from(axis)] => {
            Row::Same(Known::number(i64::from(threads.size[usize::from(axis)])))
        }
        Special::LaneId => by_lane(&|lane| lane),
        // Masks of wider warps leave no room for a sign.
        Special::LaneMaskEq | Special::LaneMaskLt | Special::LaneMaskLe
            if threads.warp.is_some_and(|warp| warp > 32) =>
        {
            Row::NOTHING
        }
        Special::LaneMaskEq => by_lane(&|lane| 1 << lane),
        Special::LaneMaskLt => by_lane(&|lane| (1 << lane) - 1),
        Special::LaneMaskLe => by_lane(&|lane| (2 << lane) - 1),
        Special::LaneMaskGt | Special::LaneMaskGe => Row::NOTHING,
        Special::WarpId => match threads.warp {
            Some(warp) if threads.in_order() => Row::of(count, |thread| {
                Known::number(thread as i64 / i64::from(warp))
            }),
            _ => Row::NOTHING,
        },
        Special::WarpSize => match threads.warp {
            Some(warp) => Row::Same(Known::number(i64::from(warp))),
            None => term(terms),
        },
        Special::WarpCount => match threads.warp {
            Some(warp) if known => Row::Same(Known::number(
                (count as i64 + i64::from(warp) - 1) / i64::from(warp),
            )),
            _ => term(terms),
        },
        Special::Clock | Special::SmId | Special::WarpSlot | Special::MicroSimdTid => Row::NOTHING,
        _ => term(terms),
    }
}
