//! Floating point as calls of the run-time library, and its mathematical functions as calls of the C library's.
//!
//! ```text
//! t = flt a, b         r = call rt.f32_less (a, b) : i32; t = r != 0
//! u = fneg a           u = a ^ 0x80000000
//! v = sin a : f64      v = call sin (a) : i64, as the C library has it
//! ```
//!
//! A float is the number that its bits are. Two walks over the instructions: constants are folded first.

use super::routines::Routines;
use super::writer::Writer;
use crate::specialize::fold::evaluate;
use ir::cfg::ControlFlow;
use ir::{
    BinaryOp, Convert, EntityVec, FloatCondition, Function, Inst, InstData, IntCondition, Op, Type,
    UnaryOp, Value, numbers,
};
use smallvec::SmallVec;

/// Replaces the operations on numbers of 32 and 64 bits; others stay, and selection refuses them.
pub(super) fn lower(function: &mut Function, routines: &mut Routines) {
    let has_floats = |ty: Type| matches!(ty, Type::F32 | Type::F64);
    if function.layout.is_empty() || !function.values.values().any(|data| has_floats(data.ty)) {
        retype(function);
        return;
    }
    fold(function);
    let types: EntityVec<Value, Type> = {
        let mut types = EntityVec::new();
        for data in function.values.values() {
            types.push(data.ty);
        }
        types
    };
    // From here on they are integers.
    retype(function);
    let mut softener = Softener {
        writer: Writer::new(function),
        routines,
        types,
    };
    for block in softener.writer.function.layout.clone() {
        let insts = std::mem::take(&mut softener.writer.function.blocks[block].insts);
        for inst in insts {
            softener.instruction(inst);
        }
        let made = std::mem::take(&mut softener.writer.made);
        softener.writer.function.blocks[block].insts = made;
    }
    softener.writer.finish();
}

const fn integer(ty: Type) -> Type {
    match ty {
        Type::F32 => Type::I32,
        Type::F64 => Type::I64,
        ty => ty,
    }
}

/// Floats become integers of their width.
fn retype(function: &mut Function) {
    for value in function.values.keys() {
        let ty = function.ty(value);
        function.values[value].ty = integer(ty);
        if ty == Type::F32
            && let ir::ValueDef::Result(inst, _) = function.values[value].def
            && let Op::Const(bits) = &mut function.insts[inst].op
        {
            *bits = numbers::canonical(Type::I32, *bits);
        }
    }
    for ty in &mut function.returns {
        *ty = integer(*ty);
    }
}

/// Operations with floats on constants become constants, rounded to nearest as the operation is.
fn fold(function: &mut Function) {
    for block in ControlFlow::new(function).order {
        for inst in function.blocks[block].insts.clone() {
            let data = &function.insts[inst];
            let &[result] = data.results.as_slice() else {
                continue;
            };
            let ty = function.ty(result);
            let types: SmallVec<[Type; 4]> =
                data.args.iter().map(|&arg| function.ty(arg)).collect();
            if !ty.is_float() && !types.iter().any(|ty| ty.is_float()) {
                continue;
            }
            let bits = |arg: &Value| match function.defining(*arg).map(|data| &data.op) {
                Some(Op::Const(bits)) => Some(*bits),
                _ => None,
            };
            let constants: Option<SmallVec<[u64; 4]>> = data.args.iter().map(bits).collect();
            let Some(constants) = constants else { continue };
            let is_nan = |ty: Type, bits: u64| ty.is_float() && numbers::to_f64(ty, bits).is_nan();
            // The library's NaN is its own.
            let strange = types
                .iter()
                .zip(&constants)
                .any(|(&ty, &bits)| is_nan(ty, bits));
            if strange || !is_exact(&data.op) {
                continue;
            }
            if let Some(bits) = evaluate(&data.op, &types, &constants, ty)
                && !is_nan(ty, bits)
            {
                let own = &mut function.insts[inst];
                own.op = Op::Const(bits);
                own.args.clear();
            }
        }
    }
}

/// Returns true if every machine gives the same result.
fn is_exact(op: &Op) -> bool {
    match op {
        Op::Unary(op) => matches!(
            op,
            UnaryOp::FloatNeg
                | UnaryOp::FloatAbs
                | UnaryOp::Sqrt
                | UnaryOp::Floor
                | UnaryOp::Ceil
                | UnaryOp::TruncFloat
                | UnaryOp::Round
                | UnaryOp::RoundEven
        ),
        Op::Binary(op, _) => matches!(
            op,
            BinaryOp::FloatAdd
                | BinaryOp::FloatSub
                | BinaryOp::FloatMul
                | BinaryOp::FloatDiv
                | BinaryOp::CopySign
        ),
        Op::FloatCompare(_) | Op::Convert(_) | Op::Fma => true,
        _ => false,
    }
}

struct Softener<'f, 'r> {
    writer: Writer<'f>,
    routines: &'r mut Routines,
    /// The types that values had.
    types: EntityVec<Value, Type>,
}

impl Softener<'_, '_> {
    fn instruction(&mut self, inst: Inst) {
        let data = self.writer.function.insts[inst].clone();
        self.writer.loc = data.loc;
        let result = match *data.results.as_slice() {
            [result] if data.guard.is_none() => self.replacement(&data, result),
            _ => None,
        };
        match result {
            Some(value) => self.writer.stands_for(value, data.results[0]),
            None => self.writer.made.push(inst),
        }
    }

    /// The value that stands for the result; `None`: the instruction stays.
    fn replacement(&mut self, data: &InstData, result: Value) -> Option<Value> {
        let args: SmallVec<[Value; 4]> = data
            .args
            .iter()
            .map(|&arg| self.writer.resolved(arg))
            .collect();
        let from = self.types[*data.args.first()?];
        let to = *self.types.get(result)?;
        let float = |ty: Type| matches!(ty, Type::F32 | Type::F64);
        if !float(from) && !float(to) {
            return None;
        }
        match (&data.op, args.as_slice()) {
            (Op::Unary(op), &[x]) => self.unary(*op, from, x),
            (Op::Binary(op, _), &[x, y]) => self.binary(*op, from, x, y),
            (Op::Fma, _) => Some(self.library("fma", from, &args)),
            (Op::FloatCompare(how), &[x, y]) => Some(self.compare(*how, from, x, y)),
            (Op::Convert(kind), &[x]) => self.convert(*kind, from, to, x),
            _ => None,
        }
    }

    /// A routine's result: `f32_add` of `add`.
    fn routine(&mut self, ty: Type, what: &str, args: &[Value], result: Type) -> Value {
        let number = self.routines.number(&format!("{}_{what}", name(ty)));
        self.writer.value(Op::Call(number), args, result)
    }

    /// The result of a function of the C library, which has another name for each type.
    fn library(&mut self, what: &str, ty: Type, args: &[Value]) -> Value {
        let suffix = if ty == Type::F32 { "f" } else { "" };
        let op = Op::CallUnknown {
            name: smol_str::format_smolstr!("{what}{suffix}"),
            pure: false,
            convention: ir::Convention::default(),
        };
        self.writer.value(op, args, integer(ty))
    }

    fn sign(&mut self, ty: Type) -> Value {
        self.writer.int(integer(ty), i64::MIN >> (64 - ty.bits()))
    }

    fn unary(&mut self, op: UnaryOp, ty: Type, x: Value) -> Option<Value> {
        let routine = match op {
            UnaryOp::Sqrt => Some("square_root"),
            UnaryOp::Floor => Some("floor"),
            UnaryOp::Ceil => Some("ceil"),
            UnaryOp::TruncFloat => Some("truncate"),
            UnaryOp::Round => Some("round"),
            _ => None,
        };
        if let Some(routine) = routine {
            return Some(self.routine(ty, routine, &[x], integer(ty)));
        }
        let name = match op {
            UnaryOp::FloatNeg => {
                let sign = self.sign(ty);
                return Some(self.writer.binary(BinaryOp::Xor, x, sign));
            }
            UnaryOp::FloatAbs => {
                let rest = self
                    .writer
                    .int(integer(ty), !(i64::MIN >> (64 - ty.bits())));
                return Some(self.writer.binary(BinaryOp::And, x, rest));
            }
            UnaryOp::SignBit => {
                let zero = self.writer.int(integer(ty), 0);
                return Some(self.writer.compare(IntCondition::LessSigned, x, zero));
            }
            UnaryOp::IsNan => return Some(self.compare(FloatCondition::Unordered, ty, x, x)),
            UnaryOp::RoundEven => "roundeven",
            op => crate::library::function_of(op)?,
        };
        Some(self.library(name, ty, &[x]))
    }

    fn binary(&mut self, op: BinaryOp, ty: Type, x: Value, y: Value) -> Option<Value> {
        let routine = match op {
            BinaryOp::FloatAdd => Some("add"),
            BinaryOp::FloatSub => Some("subtract"),
            BinaryOp::FloatMul => Some("multiply"),
            BinaryOp::FloatDiv => Some("divide"),
            BinaryOp::FloatMin => Some("minimum"),
            BinaryOp::FloatMax => Some("maximum"),
            _ => None,
        };
        if let Some(routine) = routine {
            return Some(self.routine(ty, routine, &[x, y], integer(ty)));
        }
        let name = match op {
            BinaryOp::CopySign => {
                let sign = self.sign(ty);
                let rest = self
                    .writer
                    .int(integer(ty), !(i64::MIN >> (64 - ty.bits())));
                let size = self.writer.binary(BinaryOp::And, x, rest);
                let sign = self.writer.binary(BinaryOp::And, y, sign);
                return Some(self.writer.binary(BinaryOp::Or, size, sign));
            }
            BinaryOp::FloatRem => "fmod",
            BinaryOp::Pow => "pow",
            BinaryOp::Atan2 => "atan2",
            BinaryOp::Hypot => "hypot",
            BinaryOp::Ldexp => "ldexp",
            BinaryOp::FloatRemainder => "remainder",
            BinaryOp::FloatDim => "fdim",
            _ => return None,
        };
        Some(self.library(name, ty, &[x, y]))
    }

    /// The truth of a routine's relation.
    fn relation(&mut self, what: &str, ty: Type, x: Value, y: Value) -> Value {
        let number = self.routine(ty, what, &[x, y], Type::I32);
        let zero = self.writer.int(Type::I32, 0);
        self.writer.compare(IntCondition::NotEqual, number, zero)
    }

    fn compare(&mut self, how: FloatCondition, ty: Type, x: Value, y: Value) -> Value {
        use FloatCondition::{
            Equal, EqualUnordered, Greater, GreaterEqual, GreaterEqualUnordered, GreaterUnordered,
            Less, LessEqual, LessEqualUnordered, LessUnordered, NotEqual, NotEqualUnordered,
            Ordered, Unordered,
        };
        match how {
            Equal => self.relation("equal", ty, x, y),
            Less => self.relation("less", ty, x, y),
            Greater => self.relation("less", ty, y, x),
            LessEqual => self.relation("less_equal", ty, x, y),
            GreaterEqual => self.relation("less_equal", ty, y, x),
            NotEqual => {
                let below = self.relation("less", ty, x, y);
                let above = self.relation("less", ty, y, x);
                self.writer.binary(BinaryOp::Or, below, above)
            }
            Ordered => {
                let first = self.relation("equal", ty, x, x);
                let second = self.relation("equal", ty, y, y);
                self.writer.binary(BinaryOp::And, first, second)
            }
            EqualUnordered => self.complement(NotEqual, ty, x, y),
            NotEqualUnordered => self.complement(Equal, ty, x, y),
            LessUnordered => self.complement(GreaterEqual, ty, x, y),
            LessEqualUnordered => self.complement(Greater, ty, x, y),
            GreaterUnordered => self.complement(LessEqual, ty, x, y),
            GreaterEqualUnordered => self.complement(Less, ty, x, y),
            Unordered => self.complement(Ordered, ty, x, y),
        }
    }

    fn complement(&mut self, how: FloatCondition, ty: Type, x: Value, y: Value) -> Value {
        let holds = self.compare(how, ty, x, y);
        self.writer.unary(UnaryOp::Not, holds)
    }

    fn convert(&mut self, kind: Convert, from: Type, to: Type, x: Value) -> Option<Value> {
        Some(match kind {
            Convert::Bitcast => x,
            Convert::FloatToFloat if from == to => x,
            Convert::FloatToFloat if from == Type::F32 && to == Type::F64 => {
                self.routine(to, "of_f32", &[x], Type::I64)
            }
            Convert::FloatToFloat if from == Type::F64 && to == Type::F32 => {
                self.routine(to, "of_f64", &[x], Type::I32)
            }
            // The sign alone, or nothing at all, is zero.
            Convert::ToBool => {
                let once = self.writer.int(Type::I32, 1);
                let size = self.writer.binary(BinaryOp::Shl, x, once);
                let zero = self.writer.int(integer(from), 0);
                self.writer.compare(IntCondition::NotEqual, size, zero)
            }
            Convert::FloatToSigned if to.is_int() => {
                let wide = if to == Type::I64 { to } else { Type::I32 };
                let what = if to == Type::I64 { "to_i64" } else { "to_i32" };
                let whole = self.routine(from, what, &[x], wide);
                self.writer.convert(Convert::SaturateSigned, whole, to)
            }
            Convert::FloatToUnsigned if to.is_int() => {
                let wide = if to == Type::I64 { to } else { Type::I32 };
                let what = if to == Type::I64 { "to_u64" } else { "to_u32" };
                let mut whole = self.routine(from, what, &[x], wide);
                if to.bits() < 32 {
                    let most = self.writer.int(wide, (1 << to.bits()) - 1);
                    whole = self.writer.binary(BinaryOp::MinUnsigned, whole, most);
                }
                self.writer.convert(Convert::Truncate, whole, to)
            }
            Convert::SignedToFloat | Convert::UnsignedToFloat => {
                let signed = kind == Convert::SignedToFloat && from != Type::Bool;
                let (wide, what) = match (from, signed) {
                    (Type::I64, true) => (from, "of_i64"),
                    (Type::I64, false) => (from, "of_u64"),
                    (_, true) => (Type::I32, "of_i32"),
                    (_, false) => (Type::I32, "of_u32"),
                };
                let extend = match signed {
                    true => Convert::SignExtend,
                    false => Convert::ZeroExtend,
                };
                let whole = self.writer.convert(extend, x, wide);
                self.routine(to, what, &[whole], integer(to))
            }
            _ => return None,
        })
    }
}

const fn name(ty: Type) -> &'static str {
    match ty {
        Type::F32 => "f32",
        _ => "f64",
    }
}
