//! Floating-point arithmetic and conversions.

use super::{Selector, put, put_if};
use crate::select::Select;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Name, Virtual};
use ir::{BinaryOp, Convert, InstData, Op, Type, UnaryOp, Value, ValueDef};
use isa::ia64::Reg;
use isa::ia64::{Completer, Mnemonic, Opcode};

/// Masks of `fclass`.
const NAN: i64 = 0xc0;
const INFINITE: i64 = 0x23;
const NEGATIVE: i64 = 0x3e;
const POSITIVE: i64 = 0x3d;

/// The completer that rounds to a type.
pub(super) const fn rounded(ty: Type) -> Completer {
    match ty {
        Type::F32 => Completer::S,
        _ => Completer::D,
    }
}

impl Selector<'_> {
    pub(super) fn float_binary(&mut self, op: BinaryOp, a: Value, b: Value, result: Value) {
        let ty = self.ty(result);
        let library = match op {
            BinaryOp::FloatRem => Some("fmod"),
            BinaryOp::FloatRemainder => Some("remainder"),
            BinaryOp::Pow => Some("pow"),
            BinaryOp::Atan2 => Some("atan2"),
            BinaryOp::Hypot => Some("hypot"),
            BinaryOp::Ldexp => Some("ldexp"),
            BinaryOp::FloatDim => Some("fdim"),
            _ => None,
        };
        if let Some(name) = library {
            return self.call_math(name, &[a, b], result);
        }
        let (x, y) = (self.floating(a), self.floating(b));
        let to = self.home(result);
        let end = rounded(ty);
        match op {
            BinaryOp::FloatAdd => put!(self, Mnemonic::new(Opcode::Fadd, &[end]), [to] = [x, y]),
            BinaryOp::FloatSub => put!(self, Mnemonic::new(Opcode::Fsub, &[end]), [to] = [x, y]),
            BinaryOp::FloatMul => put!(self, Mnemonic::new(Opcode::Fmpy, &[end]), [to] = [x, y]),
            BinaryOp::FloatDiv => self.float_divide(to, x, y, ty),
            BinaryOp::FloatMin | BinaryOp::FloatMax => {
                let least = op == BinaryOp::FloatMin;
                // x is taken where both are equal and its sign decides, and where y is NaN.
                let (same, first, unordered) =
                    (self.predicate(), self.predicate(), self.predicate());
                put!(self, "fcmp.eq", [same, Reg::P0] = [x, y]);
                put!(self, "fclass.m", [unordered, Reg::P0] = [y, NAN]);
                let mask = if least { NEGATIVE } else { POSITIVE };
                put_if!(self, same, "fclass.m.unc", [first, Reg::P0] = [x, mask]);
                put!(
                    self,
                    if least { op!("fmin") } else { op!("fmax") },
                    [to] = [x, y]
                );
                put_if!(self, first, "mov", [to] = [x]);
                put_if!(self, unordered, "mov", [to] = [x]);
            }
            BinaryOp::CopySign => put!(self, "fmerge.s", [to] = [y, x]),
            BinaryOp::Step => {
                let p = self.predicate();
                put!(self, "fcmp.ge", [p, Reg::P0] = [y, x]);
                put!(self, "mov", [to] = [Reg::float(0)]);
                put_if!(self, p, "mov", [to] = [Reg::float(1)]);
            }
            _ => self.no_form(&format!("{op:?}"), ty),
        }
    }

    pub(super) fn fused(&mut self, data: &InstData, result: Value) {
        let ty = self.ty(result);
        if !ty.is_float() {
            let (a, b, c) = (
                self.integer(data.args[0]),
                self.integer(data.args[1]),
                self.integer(data.args[2]),
            );
            let raw = self.target(result);
            let product = self.general();
            self.product(op!("xmpy.l"), product, a, b);
            put!(self, "add", [raw] = [product, c]);
            return self.settle(result, raw);
        }
        let (mut product, addend) = ([data.args[0], data.args[1]], data.args[2]);
        // Signs cost nothing, one of them.
        let subtracted = self.opposite(addend);
        let negative = product.iter().position(|&it| self.opposite(it).is_some());
        let (opcode, addend) = match (subtracted, negative) {
            (Some(other), None) => (Opcode::Fms, other),
            (_, Some(at)) => {
                product[at] = self.opposite(product[at]).unwrap_or(product[at]);
                (Opcode::Fnma, addend)
            }
            (None, None) => (Opcode::Fma, addend),
        };
        let (a, b, c) = (
            self.floating(product[0]),
            self.floating(product[1]),
            self.floating(addend),
        );
        let to = self.home(result);
        // f0 as addend would leave the addition out, with another sign of zero.
        let c = match c {
            Name::Fixed(zero) if zero == Reg::float(0) => {
                let copy = self.float();
                put!(self, "fmerge.s", [copy] = [zero, zero]);
                copy.into_name()
            }
            other => other,
        };
        put!(
            self,
            Mnemonic::new(opcode, &[rounded(ty)]),
            [to] = [a, b, c]
        );
    }

    /// Returns the value of which it is the negation, computed in this block.
    fn opposite(&self, value: Value) -> Option<Value> {
        let (source, here) = (self.source, self.here);
        let ValueDef::Result(inst, _) = source.values[value].def else {
            return None;
        };
        let data = &source.insts[inst];
        let own = matches!(data.op, Op::Unary(UnaryOp::FloatNeg)) && data.guard.is_none();
        (own && source.blocks[here].insts.contains(&inst)).then(|| data.args[0])
    }

    pub(super) fn float_unary(&mut self, op: UnaryOp, value: Value, result: Value) {
        let (from, ty) = (self.ty(value), self.ty(result));
        if let Some(name) = crate::library::function_of(op) {
            return self.call_math(name, &[value], result);
        }
        let x = self.floating(value);
        match op {
            UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite | UnaryOp::SignBit => {
                let to = self.home(result);
                return match op {
                    UnaryOp::IsNan => put!(self, "fclass.m", [to, Reg::P0] = [x, NAN]),
                    UnaryOp::IsInf => put!(self, "fclass.m", [to, Reg::P0] = [x, INFINITE]),
                    UnaryOp::IsFinite => put!(self, "fclass.m", [to, Reg::P0] = [x, 0x1f]),
                    _ => {
                        let word = self.general();
                        put!(self, "getf.d", [word] = [x]);
                        put!(self, "tbit.nz", [to, Reg::P0] = [word, 63]);
                    }
                };
            }
            _ => {}
        }
        let to = self.home(result);
        match op {
            UnaryOp::FloatNeg => put!(self, "fneg", [to] = [x]),
            UnaryOp::FloatAbs => put!(self, "fabs", [to] = [x]),
            UnaryOp::Sqrt => self.root(to, x, ty),
            UnaryOp::Reciprocal => self.float_divide(to, Name::Fixed(Reg::float(1)), x, ty),
            UnaryOp::Rsqrt => {
                let root = self.float();
                self.root(root, x, ty);
                self.float_divide(to, Name::Fixed(Reg::float(1)), root.into_name(), ty);
            }
            UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::TruncFloat
            | UnaryOp::RoundEven
            | UnaryOp::Round => {
                self.whole(op, to, x);
            }
            UnaryOp::Fract => {
                let floor = self.float();
                self.whole(UnaryOp::Floor, floor, x);
                put!(
                    self,
                    Mnemonic::new(Opcode::Fsub, &[rounded(ty)]),
                    [to] = [x, floor]
                );
            }
            UnaryOp::FloatSign | UnaryOp::Saturate => {
                let (p, q) = (self.predicate(), self.predicate());
                let zero = Reg::float(0);
                put!(self, "fcmp.gt", [p, Reg::P0] = [x, zero]);
                if op == UnaryOp::FloatSign {
                    put!(self, "fcmp.lt", [q, Reg::P0] = [x, zero]);
                    put!(self, "mov", [to] = [zero]);
                    put_if!(self, p, "mov", [to] = [Reg::float(1)]);
                    put_if!(self, q, "fneg", [to] = [Reg::float(1)]);
                } else {
                    put!(self, "fcmp.gt", [q, Reg::P0] = [x, Reg::float(1)]);
                    put!(self, "mov", [to] = [zero]);
                    put_if!(self, p, "mov", [to] = [x]);
                    put_if!(self, q, "mov", [to] = [Reg::float(1)]);
                }
            }
            _ => self.no_form(&format!("{op:?}"), from),
        }
    }

    /// Rounds to a whole number, in the same format.
    fn whole(&mut self, op: UnaryOp, to: Virtual, x: Name) {
        let (size, integer, near) = (self.float(), self.float(), self.float());
        let small = self.predicate();
        let limit = self.power(62);
        put!(self, "fabs", [size] = [x]);
        put!(self, "fcmp.lt", [small, Reg::P0] = [size, limit]);
        let mnemonic = if op == UnaryOp::RoundEven {
            op!("fcvt.fx.s1")
        } else {
            op!("fcvt.fx.trunc.s1")
        };
        put!(self, mnemonic, [integer] = [x]);
        put!(self, "fcvt.xf", [near] = [integer]);
        let mut chosen = near;
        match op {
            UnaryOp::Floor | UnaryOp::Ceil => {
                let (p, moved) = (self.predicate(), self.float());
                let (relation, step) = if op == UnaryOp::Floor {
                    (op!("fcmp.gt"), op!("fsub.s1"))
                } else {
                    (op!("fcmp.lt"), op!("fadd.s1"))
                };
                put!(self, relation, [p, Reg::P0] = [near, x]);
                put!(self, "mov", [moved] = [near]);
                put_if!(self, p, step, [moved] = [near, Reg::float(1)]);
                chosen = moved;
            }
            UnaryOp::Round => {
                let (p, moved, rest, distance, found) = (
                    self.predicate(),
                    self.float(),
                    self.float(),
                    self.float(),
                    self.float(),
                );
                let half = self.power(-1);
                put!(self, "fsub.s1", [rest] = [x, near]);
                put!(self, "fabs", [distance] = [rest]);
                put!(self, "fcmp.ge", [p, Reg::P0] = [distance, half]);
                put!(self, "fmerge.s", [found] = [x, Reg::float(1)]);
                put!(self, "mov", [moved] = [near]);
                put_if!(self, p, "fadd.s1", [moved] = [near, found]);
                chosen = moved;
            }
            _ => {}
        }
        put!(self, "mov", [to] = [x]);
        put_if!(self, small, "fmerge.s", [to] = [x, chosen]);
    }

    pub(super) fn convert(&mut self, kind: Convert, value: Value, result: Value) {
        let (from, ty) = (self.ty(value), self.ty(result));
        match kind {
            Convert::ToBool => {
                let to = self.home(result);
                if from.is_float() {
                    let x = self.floating(value);
                    put!(self, "fcmp.neq", [to, Reg::P0] = [x, Reg::float(0)]);
                } else if from == Type::Bool {
                    let from = self.condition(value);
                    self.copy(to, from.into_name());
                } else if from == Type::I32 {
                    let x = self.integer(value);
                    let other = self.beside(to);
                    put!(self, "cmp4.ne", [to, other] = [Reg::R0, x]);
                } else {
                    let x = self.plain_integer(value);
                    let other = self.beside(to);
                    put!(self, "cmp.ne", [to, other] = [Reg::R0, x]);
                }
            }
            Convert::Truncate if ty == Type::Bool => {
                let to = self.home(result);
                if from == Type::Bool {
                    let from = self.condition(value);
                    return self.copy(to, from.into_name());
                }
                let x = self.integer(value);
                put!(self, "tbit.nz", [to, Reg::P0] = [x, 0]);
            }
            Convert::ZeroExtend | Convert::SignExtend if from == Type::Bool => {
                if ty == Type::Bool {
                    let (to, from) = (self.home(result), self.condition(value));
                    return self.copy(to, from.into_name());
                }
                let one = if kind == Convert::SignExtend { -1 } else { 1 };
                let condition = self.condition(value);
                let to = self.home(result);
                put!(self, "mov", [to] = [Reg::R0]);
                put_if!(self, condition, "mov", [to] = [one]);
            }
            Convert::SignExtend => {
                let x = self.integer(value);
                let raw = self.target(result);
                if self.widths.extended(value) {
                    put!(self, "mov", [raw] = [x]);
                } else {
                    self.sign_extend(raw, x, from);
                }
                self.settle(result, raw);
            }
            Convert::ZeroExtend => {
                let x = self.plain_integer(value);
                let raw = self.target(result);
                put!(self, "mov", [raw] = [x]);
                self.settle(result, raw);
            }
            Convert::SaturateSigned => {
                let x = self.integer(value);
                let raw = self.target(result);
                let most = (1i64 << (ty.bits() - 1)) - 1;
                self.clamp(raw, x, -most - 1, most);
                self.settle(result, raw);
            }
            Convert::Truncate | Convert::SpaceCast => {
                let x = self.integer(value);
                let raw = self.target(result);
                put!(self, "mov", [raw] = [x]);
                self.settle(result, raw);
            }
            Convert::Bitcast => match (from.is_float(), ty.is_float()) {
                _ if ty == Type::Bool || from == Type::Bool => self.no_form("bitcast", ty),
                (false, false) => {
                    let x = self.integer(value);
                    let raw = self.target(result);
                    put!(self, "mov", [raw] = [x]);
                    self.settle(result, raw);
                }
                (true, true) => {
                    let x = self.floating(value);
                    let to = self.home(result);
                    put!(self, "mov", [to] = [x]);
                }
                (true, false) => {
                    let x = self.floating(value);
                    let raw = self.target(result);
                    put!(
                        self,
                        Mnemonic::new(Opcode::Getf, &[rounded(from)]),
                        [raw] = [x]
                    );
                    self.settle(result, raw);
                }
                (false, true) => {
                    let x = self.integer(value);
                    let to = self.home(result);
                    put!(
                        self,
                        Mnemonic::new(Opcode::Setf, &[rounded(ty)]),
                        [to] = [x]
                    );
                }
            },
            Convert::FloatToFloat => {
                let x = self.floating(value);
                let to = self.home(result);
                if from == Type::F64 && ty == Type::F32 {
                    put!(self, "fnorm.s", [to] = [x]);
                } else {
                    put!(self, "mov", [to] = [x]);
                }
            }
            Convert::SignedToFloat | Convert::UnsignedToFloat => {
                let (f, to) = (self.float(), self.home(result));
                if kind == Convert::SignedToFloat && from != Type::Bool {
                    let x = self.integer(value);
                    let exact = self.float();
                    put!(self, "setf.sig", [f] = [x]);
                    put!(self, "fcvt.xf", [exact] = [f]);
                    // Up to 32 bits every number is one of doubles.
                    let fits = from.bits() <= 32 && ty == Type::F64;
                    let mnemonic = if fits {
                        op!("mov")
                    } else {
                        Mnemonic::new(Opcode::Fnorm, &[rounded(ty)])
                    };
                    put!(self, mnemonic, [to] = [exact]);
                } else {
                    let x = match from {
                        Type::Bool => self.integer(value),
                        _ => self.plain_integer(value),
                    };
                    put!(self, "setf.sig", [f] = [x]);
                    put!(
                        self,
                        Mnemonic::new(Opcode::Fcvt, &[Completer::Xuf, rounded(ty)]),
                        [to] = [f]
                    );
                }
            }
            Convert::FloatToSigned | Convert::FloatToUnsigned => {
                self.integer_of(kind, value, result)
            }
        }
    }

    fn integer_of(&mut self, kind: Convert, value: Value, result: Value) {
        let ty = self.ty(result);
        let x = self.floating(value);
        if ty == Type::Bool {
            let to = self.home(result);
            return put!(self, "fcmp.neq", [to, Reg::P0] = [x, Reg::float(0)]);
        }
        let signed = kind == Convert::FloatToSigned;
        // Numbers of fewer bits are all among the signed ones of 64.
        let narrow = signed || ty.bits() < 64;
        let (f, raw) = (self.float(), self.target(result));
        let mnemonic = if narrow {
            op!("fcvt.fx.trunc.s1")
        } else {
            op!("fcvt.fxu.trunc.s1")
        };
        put!(self, mnemonic, [f] = [x]);
        if !self.options.total {
            put!(self, "getf.sig", [raw] = [f]);
            return self.settle(result, raw);
        }
        let (word, whole) = (self.general(), self.general());
        put!(self, "getf.sig", [word] = [f]);
        let (nan, low, high) = (self.predicate(), self.predicate(), self.predicate());
        let limit = self.power(if narrow { 63 } else { 64 });
        put!(self, "fclass.m", [nan, Reg::P0] = [x, NAN]);
        put!(self, "fcmp.ge", [high, Reg::P0] = [x, limit]);
        put!(self, "fcmp.lt", [low, Reg::P0] = [x, Reg::float(0)]);
        let most = self.constant(if narrow { i64::MAX } else { -1 });
        put!(self, "mov", [whole] = [word]);
        put_if!(self, high, "mov", [whole] = [most]);
        let of_nan = match self.ty(value) {
            Type::F64 => 1 << (ty.bits() - 1),
            _ if ty == Type::I64 => i64::MIN,
            _ => 0,
        };
        // Signed results are clamped to their type below.
        let of_nan = if signed && of_nan != 0 {
            i64::MIN
        } else {
            of_nan
        };
        let of_nan = self.constant(of_nan);
        put_if!(self, nan, "mov", [whole] = [of_nan]);
        if !signed {
            put_if!(self, low, "mov", [whole] = [Reg::R0]);
        }
        if ty.bits() == 64 {
            put!(self, "mov", [raw] = [whole]);
        } else if signed {
            self.clamp(
                raw,
                whole.into_name(),
                -(1 << (ty.bits() - 1)),
                (1 << (ty.bits() - 1)) - 1,
            );
        } else {
            self.clamp(raw, whole.into_name(), 0, (1 << ty.bits()) - 1);
        }
        self.settle(result, raw);
    }
}
