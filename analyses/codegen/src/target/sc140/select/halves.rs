//! Operations on both halves of a number: `add2`, `sub2`, `max2`, where the source takes numbers apart and puts them together again.
//!
//! ```text
//! (a >> 16) + (b >> 16) << 16 | (short)a + (short)b       add2 a,b
//! ```

use super::Selection;
use super::forms::high_part;
use ir::{BinaryOp, Convert, Function, InstData, Op, Type, Value};
use isa::sc140::Opcode;

/// The operation on the halves of two numbers whose result an `or` puts together.
pub(super) fn of_halves(function: &Function, data: &InstData) -> Option<(BinaryOp, [Value; 2])> {
    if !matches!(data.op, Op::Binary(BinaryOp::Or, _)) || function.ty(data.results[0]) != Type::I32
    {
        return None;
    }
    let [first, second] = [data.args[0], data.args[1]];
    put_together(function, first, second).or_else(|| put_together(function, second, first))
}

fn put_together(function: &Function, high: Value, low: Value) -> Option<(BinaryOp, [Value; 2])> {
    let shift = function.defining(high)?;
    let by = function.int_constant(*shift.args.get(1)?)?;
    if !matches!(shift.op, Op::Binary(BinaryOp::Shl, _)) || by != 16 {
        return None;
    }
    let (op, high) = short_result(function, shift.args[0])?;
    let (same, low) = short_result(function, low)?;
    let wholes = [0, 1].map(|at| {
        let whole = high_part(function, high[at])?;
        let cut = function.defining(low[at])?;
        let is_low = matches!(cut.op, Op::Convert(Convert::Truncate)) && cut.args[0] == whole;
        is_low.then_some(whole)
    });
    let [Some(a), Some(b)] = wholes else {
        return None;
    };
    (op == same).then_some((op, [a, b]))
}

/// The operation of 16 bits whose result a number is, without a sign.
fn short_result(function: &Function, value: Value) -> Option<(BinaryOp, [Value; 2])> {
    let wide = function.defining(value)?;
    let made = match wide.op {
        Op::Convert(Convert::ZeroExtend) => function.defining(*wide.args.first()?)?,
        _ => return None,
    };
    match made.op {
        Op::Binary(op, _) if function.ty(made.results[0]) == Type::I16 => {
            Some((op, [made.args[0], made.args[1]]))
        }
        _ => None,
    }
}

impl Selection<'_> {
    /// Returns false if there is no such operation.
    pub(super) fn halves_of(&mut self, op: BinaryOp, [a, b]: [Value; 2], result: Value) -> bool {
        let opcode = match op {
            BinaryOp::Add => Opcode::Add2,
            BinaryOp::Sub => Opcode::Sub2,
            BinaryOp::MaxSigned if self.extremes && a != b => Opcode::Max2,
            _ => return false,
        };
        let [own, other] = [a, b].map(|value| self.integer(value));
        let made = self.copied(own);
        let other = match opcode {
            // Its place goes by that of the other one.
            Opcode::Max2 => self.copied(other),
            _ => other,
        };
        self.put(opcode, made, &[other.into()]);
        let to = self.target(result);
        self.copy(to, made);
        self.settle(result, to);
        true
    }
}
