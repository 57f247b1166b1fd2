//! Fractional arithmetic as ordinary operations, for processors that have none.
//!
//! ```text
//! mul_frac a, b : i32   ->   sat_s (shl (mul (sext a), (sext b)), 1)        both in 64 bits
//! shl_sat x, n          ->   sat_s (shr_s (shl (sext x), max(n, 0)), max(-n, 0)), with both amounts limited
//! ```
//!
//! An operation of at most 32 bits is computed in 64, where nothing is lost, and brought back by the one saturating conversion,
//! which a target has to select. Those of 64 bits stay, and selection refuses them. Rotations become two shifts where they are
//! asked for. Linear in the instructions.
//!
//! Judged by execution: the interpreter gives the same before and after, and so do the processors' simulators.

use ir::{
    BinaryOp, Block, Convert, Function, Inst, InstData, IntCondition, Loc, Op, Type, UnaryOp,
    Value, ValueData, ValueDef, Wrap,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Replaces the fractional operations; returns true if there were any.
pub fn expand(function: &mut Function) -> bool {
    expand_some(function, &|op, _| {
        !matches!(op, Op::Binary(BinaryOp::RotateLeft, _))
    })
}

/// Replaces those operations for which the target has no form, by their first operand's type; returns true if there were any.
pub fn expand_some(function: &mut Function, lacks: &dyn Fn(&Op, Type) -> bool) -> bool {
    let mut expander = Expander {
        lacks,
        function,
        made: Vec::new(),
        leading: Vec::new(),
        constants: FxHashMap::default(),
        loc: Loc::NONE,
    };
    let mut changed = false;
    for block in expander.function.layout.clone() {
        changed |= expander.block(block);
    }
    let leading = std::mem::take(&mut expander.leading);
    if let Some(&entry) = function.layout.first() {
        let insts = &mut function.blocks[entry].insts;
        insts.splice(0..0, leading);
    }
    changed
}

struct Expander<'f> {
    lacks: &'f dyn Fn(&Op, Type) -> bool,
    function: &'f mut Function,
    /// The block's instructions as they become.
    made: Vec<Inst>,
    /// Constants, in front of everything.
    leading: Vec<Inst>,
    constants: FxHashMap<(Type, i64), Value>,
    loc: Loc,
}

impl Expander<'_> {
    fn block(&mut self, block: Block) -> bool {
        let insts = std::mem::take(&mut self.function.blocks[block].insts);
        let mut changed = false;
        for inst in insts {
            let data = self.function.insts[inst].clone();
            self.loc = data.loc;
            if data.guard.is_none()
                && let Some((op, args)) = self.replacement(&data)
            {
                let own = &mut self.function.insts[inst];
                own.op = op;
                own.args = args.into_iter().collect();
                changed = true;
            }
            self.made.push(inst);
        }
        self.function.blocks[block].insts = std::mem::take(&mut self.made);
        changed
    }

    /// The operation that gives the result, behind those that lead to it; `None`: it stays as it is.
    fn replacement(&mut self, data: &InstData) -> Option<(Op, Vec<Value>)> {
        let &[result] = data.results.as_slice() else {
            return None;
        };
        let to = self.function.ty(result);
        let from = self.function.ty(*data.args.first()?);
        let places = matches!(data.op, Op::Unary(UnaryOp::Normalize));
        if !from.is_int() || from == Type::I64 && !places || !(self.lacks)(&data.op, from) {
            return None;
        }
        let last = match (&data.op, data.args.as_slice()) {
            (Op::Unary(UnaryOp::AbsSaturateSigned), &[x]) => {
                let wide = self.wide(x);
                let size = self.value(Op::Unary(UnaryOp::IntAbs), &[wide], Type::I64);
                saturated(size)
            }
            (Op::Unary(UnaryOp::Normalize), &[x]) => self.free_places(x, to),
            (Op::Unary(UnaryOp::RoundHigh), &[x]) => {
                let wide = self.wide(x);
                let half = self.int(Type::I64, 1 << (to.bits() - 1));
                let sum = self.binary(BinaryOp::Add, wide, half);
                let by = self.int(Type::I64, to.bits().into());
                saturated(self.binary(BinaryOp::ShrSigned, sum, by))
            }
            (Op::Binary(BinaryOp::MulFractional, _), &[x, y]) => {
                let (x, y) = (self.wide(x), self.wide(y));
                let product = self.binary(BinaryOp::Mul, x, y);
                let by = self.int(Type::I64, 1);
                saturated(self.binary(BinaryOp::Shl, product, by))
            }
            (Op::Binary(BinaryOp::ShlSaturateSigned, _), &[x, places]) => {
                self.shifted(x, places, false)?
            }
            (Op::Binary(BinaryOp::ShrSaturateSigned, _), &[x, places]) => {
                self.shifted(x, places, true)?
            }
            (Op::Binary(BinaryOp::DivFractional, _), &[x, y]) => self.quotient(x, y),
            (Op::Binary(BinaryOp::RotateLeft, _), &[x, places]) if to == Type::I32 => {
                self.rotated(x, places)
            }
            _ => return None,
        };
        Some(last)
    }

    /// The sign's copies: zeros above the bits that differ from the sign.
    fn free_places(&mut self, x: Value, to: Type) -> (Op, Vec<Value>) {
        let ty = self.function.ty(x);
        let all = self.int(ty, i64::from(ty.bits()) - 1);
        let sign = self.binary(BinaryOp::ShrSigned, x, all);
        let unlike = self.binary(BinaryOp::Xor, x, sign);
        let zeros = self.value(Op::Unary(UnaryOp::CountLeadingZeros), &[unlike], to);
        let (first, none) = (self.int(to, 1), self.int(to, 0));
        let places = self.binary(BinaryOp::Sub, zeros, first);
        let zero = self.int(ty, 0);
        let is_zero = self.value(Op::IntCompare(IntCondition::Equal), &[x, zero], Type::Bool);
        (Op::Select, vec![is_zero, none, places])
    }

    fn shifted(&mut self, x: Value, places: Value, right: bool) -> Option<(Op, Vec<Value>)> {
        let ty = self.function.ty(x);
        let bits = i64::from(ty.bits());
        if let Some(places) = self.function.int_constant(places) {
            let places = match right {
                true => places.saturating_neg(),
                false => places,
            };
            if places <= 0 {
                let by = self.int(ty, places.saturating_neg().min(bits - 1));
                return Some((Op::Binary(BinaryOp::ShrSigned, Wrap::MAY), vec![x, by]));
            }
            let wide = self.wide(x);
            let by = self.int(Type::I64, places.min(bits));
            return Some(saturated(self.binary(BinaryOp::Shl, wide, by)));
        }
        let wide = self.wide(x);
        let mut forth = self.wide(places);
        let (none, most) = (self.int(Type::I64, 0), self.int(Type::I64, bits));
        // Amounts of 64 bits are as far from their limits as these can be.
        let least = self.int(Type::I64, -bits);
        forth = self.binary(BinaryOp::MaxSigned, forth, least);
        forth = self.binary(BinaryOp::MinSigned, forth, most);
        let mut back = self.binary(BinaryOp::Sub, none, forth);
        if right {
            std::mem::swap(&mut forth, &mut back);
        }
        // One of the two shifts by nothing.
        let left = self.binary(BinaryOp::MaxSigned, forth, none);
        let right = self.binary(BinaryOp::MaxSigned, back, none);
        let moved = self.binary(BinaryOp::Shl, wide, left);
        Some(saturated(self.binary(BinaryOp::ShrSigned, moved, right)))
    }

    /// Both parts by fewer places than the width.
    fn rotated(&mut self, x: Value, places: Value) -> (Op, Vec<Value>) {
        let ty = self.function.ty(x);
        let all = i64::from(ty.bits()) - 1;
        let by = self.function.ty(places);
        let (most, once) = (self.int(by, all), self.int(by, 1));
        let near = self.binary(BinaryOp::And, places, most);
        let rest = self.binary(BinaryOp::Xor, near, most);
        let left = self.binary(BinaryOp::Shl, x, near);
        let right = self.binary(BinaryOp::ShrUnsigned, x, once);
        let right = self.binary(BinaryOp::ShrUnsigned, right, rest);
        (Op::Binary(BinaryOp::Or, Wrap::MAY), vec![left, right])
    }

    fn quotient(&mut self, x: Value, y: Value) -> (Op, Vec<Value>) {
        let ty = self.function.ty(x);
        let bits = i64::from(ty.bits());
        let (wide, by) = (self.wide(x), self.int(Type::I64, bits - 1));
        let dividend = self.binary(BinaryOp::Shl, wide, by);
        let divisor = self.wide(y);
        let whole = self.binary(BinaryOp::DivSigned, dividend, divisor);
        let fitting = self.value(Op::Convert(Convert::SaturateSigned), &[whole], ty);
        let zero = self.int(ty, 0);
        let negative = self.value(
            Op::IntCompare(IntCondition::LessSigned),
            &[x, zero],
            Type::Bool,
        );
        let (low, high) = (
            self.int(ty, -(1 << (bits - 1))),
            self.int(ty, (1 << (bits - 1)) - 1),
        );
        let limit = self.value(Op::Select, &[negative, low, high], ty);
        let none = self.value(Op::IntCompare(IntCondition::Equal), &[y, zero], Type::Bool);
        (Op::Select, vec![none, limit, fitting])
    }

    fn wide(&mut self, x: Value) -> Value {
        match self.function.ty(x) {
            Type::I64 => x,
            _ => self.value(Op::Convert(Convert::SignExtend), &[x], Type::I64),
        }
    }

    fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Value {
        let ty = self.function.ty(x);
        self.value(Op::Binary(op, Wrap::MAY), &[x, y], ty)
    }

    fn value(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let (inst, value) = self.inst(op, args, ty, self.loc);
        self.made.push(inst);
        value
    }

    fn int(&mut self, ty: Type, number: i64) -> Value {
        if let Some(&known) = self.constants.get(&(ty, number)) {
            return known;
        }
        let (inst, value) = self.inst(Op::Const(number as u64), &[], ty, Loc::NONE);
        self.leading.push(inst);
        self.constants.insert((ty, number), value);
        value
    }

    fn inst(&mut self, op: Op, args: &[Value], ty: Type, loc: Loc) -> (Inst, Value) {
        let inst = self.function.insts.push(InstData {
            op,
            args: SmallVec::from_slice(args),
            results: SmallVec::new(),
            guard: None,
            loc,
        });
        let value = self.function.values.push(ValueData {
            ty,
            def: ValueDef::Result(inst, 0),
        });
        self.function.insts[inst].results.push(value);
        (inst, value)
    }
}

fn saturated(value: Value) -> (Op, Vec<Value>) {
    (Op::Convert(Convert::SaturateSigned), vec![value])
}
