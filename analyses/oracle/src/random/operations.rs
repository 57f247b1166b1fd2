//! Integer and float operations, conversions; ranges and `no wrap` flags.

use super::emit::{Emitter, Entry, full, within};
use ir::entity::Value;
use ir::inst::*;
use ir::types::Type;

impl Emitter<'_> {
    /// Addition and the like with the range of the result, and a flag where the range proves it.
    pub(super) fn arithmetic(&mut self, op: BinaryOp, a: Entry, b: Entry) -> Entry {
        let ty = a.ty;
        let (al, ah) = (i128::from(a.range.0), i128::from(a.range.1));
        let (bl, bh) = (i128::from(b.range.0), i128::from(b.range.1));
        let exact = match op {
            BinaryOp::Add => Some((al + bl, ah + bh)),
            BinaryOp::Sub => Some((al - bh, ah - bl)),
            BinaryOp::Mul => {
                let corners = [al * bl, al * bh, ah * bl, ah * bh];
                let low = corners.iter().copied().min().unwrap_or(0);
                Some((low, corners.iter().copied().max().unwrap_or(0)))
            }
            BinaryOp::And if bl >= 0 => Some((0, bh)),
            BinaryOp::And if al >= 0 => Some((0, ah)),
            BinaryOp::MinSigned => Some((al.min(bl), ah.min(bh))),
            BinaryOp::MaxSigned => Some((al.max(bl), ah.max(bh))),
            _ => None,
        };
        let range = exact.and_then(|(low, high)| within(ty, low, high));
        let mut wrap = Wrap::MAY;
        if matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
            && self.shape.wrap_flags
            && let Some((low, _)) = range
        {
            wrap.no_signed = self.random.percent(50);
            wrap.no_unsigned = al >= 0 && bl >= 0 && low >= 0 && self.random.percent(50);
        }
        let value = self.b.binary(op, wrap, a.value, b.value);
        Entry {
            value,
            ty,
            range: range.unwrap_or(full(ty)),
        }
    }

    pub(super) fn int_binary(&mut self) {
        let common = [
            BinaryOp::Add,
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::Shl,
            BinaryOp::ShrUnsigned,
            BinaryOp::ShrSigned,
            BinaryOp::DivSigned,
            BinaryOp::DivUnsigned,
            BinaryOp::RemSigned,
            BinaryOp::RemUnsigned,
            BinaryOp::MinSigned,
            BinaryOp::MaxSigned,
            BinaryOp::MinUnsigned,
            BinaryOp::MaxUnsigned,
        ];
        let rare = [
            BinaryOp::MulHighSigned,
            BinaryOp::MulHighUnsigned,
            BinaryOp::Mul24Signed,
            BinaryOp::Mul24Unsigned,
            BinaryOp::RotateLeft,
            BinaryOp::AddSaturateSigned,
            BinaryOp::SubSaturateSigned,
        ];
        let mut op = if self.shape.bit_ops && self.random.percent(20) {
            *self.random.pick(&rare)
        } else {
            *self.random.pick(&common)
        };
        let ty = self.int_type();
        if matches!(op, BinaryOp::Mul24Signed | BinaryOp::Mul24Unsigned) && ty != Type::I32 {
            op = BinaryOp::Mul;
        }
        let a = self.entry_of(ty);
        if matches!(
            op,
            BinaryOp::Shl | BinaryOp::ShrUnsigned | BinaryOp::ShrSigned | BinaryOp::RotateLeft
        ) && self.random.percent(80)
        {
            // Mostly by less than the width; sometimes by anything.
            let amount = self.random.between(0, i64::from(ty.bits()) - 1);
            let amount = self.b.int(ty, amount);
            let value = self.b.binary(op, Wrap::MAY, a.value, amount);
            self.add(value, full(ty));
            return;
        }
        let b = self.entry_of(ty);
        let result = self.arithmetic(op, a, b);
        self.pool.push(result);
    }

    pub(super) fn int_unary(&mut self) {
        let mut ops = vec![UnaryOp::Neg, UnaryOp::Not, UnaryOp::IntAbs];
        if self.shape.bit_ops {
            ops.extend([
                UnaryOp::PopCount,
                UnaryOp::CountLeadingZeros,
                UnaryOp::CountTrailingZeros,
                UnaryOp::FindHighBitUnsigned,
                UnaryOp::FindHighBitSigned,
                UnaryOp::FindFirstSet,
                UnaryOp::ReverseBits,
                UnaryOp::ReverseBytes,
                UnaryOp::IntSign,
            ]);
        }
        let op = *self.random.pick(&ops);
        let ty = self.int_type();
        let a = self.any(ty);
        let value = self.b.unary(op, a);
        self.add(value, full(ty));
    }

    pub(super) fn float(&mut self) {
        let Some(ty) = self.float_type() else {
            return self.affine();
        };
        let (a, b) = (self.any(ty), self.any(ty));
        let value = match self.random.below(10) {
            0..=4 => {
                let mut ops = vec![
                    BinaryOp::FloatAdd,
                    BinaryOp::FloatSub,
                    BinaryOp::FloatMul,
                    BinaryOp::FloatDiv,
                    BinaryOp::FloatMin,
                    BinaryOp::FloatMax,
                ];
                if self.shape.math {
                    ops.extend([
                        BinaryOp::FloatRem,
                        BinaryOp::Pow,
                        BinaryOp::Atan2,
                        BinaryOp::CopySign,
                        BinaryOp::Hypot,
                        BinaryOp::Step,
                        BinaryOp::FloatDim,
                    ]);
                }
                let op = *self.random.pick(&ops);
                self.b.binary(op, Wrap::MAY, a, b)
            }
            5..=6 => {
                let mut ops = vec![
                    UnaryOp::FloatNeg,
                    UnaryOp::FloatAbs,
                    UnaryOp::Sqrt,
                    UnaryOp::Floor,
                    UnaryOp::Ceil,
                    UnaryOp::TruncFloat,
                    UnaryOp::RoundEven,
                ];
                if self.shape.math {
                    ops.extend([
                        UnaryOp::Rsqrt,
                        UnaryOp::Reciprocal,
                        UnaryOp::Sin,
                        UnaryOp::Cos,
                        UnaryOp::Exp,
                        UnaryOp::Exp2,
                        UnaryOp::Log,
                        UnaryOp::Log2,
                        UnaryOp::Tanh,
                        UnaryOp::Round,
                        UnaryOp::Fract,
                        UnaryOp::Saturate,
                        UnaryOp::FloatSign,
                    ]);
                }
                let op = *self.random.pick(&ops);
                self.b.unary(op, a)
            }
            7 => {
                let c = self.any(ty);
                self.b.value(Op::Fma, &[a, b, c], ty)
            }
            8 if self.shape.math => {
                let op = *self
                    .random
                    .pick(&[UnaryOp::IsNan, UnaryOp::IsInf, UnaryOp::SignBit]);
                self.b.value(Op::Unary(op), &[a], Type::Bool)
            }
            _ => {
                let condition = *self.random.pick(&[
                    FloatCondition::Equal,
                    FloatCondition::NotEqual,
                    FloatCondition::Less,
                    FloatCondition::LessEqual,
                    FloatCondition::Greater,
                    FloatCondition::GreaterEqual,
                    FloatCondition::EqualUnordered,
                    FloatCondition::NotEqualUnordered,
                    FloatCondition::LessUnordered,
                    FloatCondition::GreaterEqualUnordered,
                    FloatCondition::Ordered,
                    FloatCondition::Unordered,
                ]);
                self.b.float_compare(condition, a, b)
            }
        };
        let ty = self.b.function.ty(value);
        self.add(value, full(ty));
    }

    pub(super) fn conversion(&mut self) {
        let to = *self.random.pick(&self.types);
        let from = *self.random.pick(&self.types);
        let entry = self.entry_of(from);
        let (least, most) = full(to);
        let fits = entry.range.0 >= least && entry.range.1 <= most;
        let signed = self.random.percent(50);
        let mut range = full(to);
        let kind = match (from, to) {
            (_, Type::Bool) if from == Type::Bool => return,
            (_, Type::Bool) => Convert::ToBool,
            _ if from.is_float() && to.is_float() => Convert::FloatToFloat,
            _ if from.is_float() && from.bits() == to.bits() && signed => Convert::Bitcast,
            _ if from.is_float() && signed => Convert::FloatToSigned,
            _ if from.is_float() => Convert::FloatToUnsigned,
            _ if to.is_float() && from.bits() == to.bits() && signed => Convert::Bitcast,
            _ if to.is_float() && signed => Convert::SignedToFloat,
            _ if to.is_float() => Convert::UnsignedToFloat,
            _ if to.bits() < from.bits() => {
                if fits {
                    range = entry.range;
                }
                Convert::Truncate
            }
            _ if to.bits() == from.bits() => return,
            _ if from == Type::Bool && signed => {
                range = (-1, 0);
                Convert::SignExtend
            }
            _ if signed => {
                range = entry.range;
                Convert::SignExtend
            }
            _ => {
                range = if entry.range.0 >= 0 {
                    entry.range
                } else {
                    (0, (1i64 << from.bits()) - 1)
                };
                Convert::ZeroExtend
            }
        };
        let value = self.b.convert(kind, entry.value, to);
        self.add(value, range);
    }

    pub(super) fn ternary(&mut self) {
        let op = *self.random.pick(&[
            TernaryOp::BitExtractSigned,
            TernaryOp::BitExtractUnsigned,
            TernaryOp::BitInsert,
            TernaryOp::FunnelLeft,
            TernaryOp::FunnelRight,
            TernaryOp::BytePermute,
            TernaryOp::Lop3,
            TernaryOp::SadSigned,
            TernaryOp::SadUnsigned,
            TernaryOp::Dot4Signed,
            TernaryOp::Dot4Unsigned,
        ]);
        let mut args: Vec<Value> = (0..3).map(|_| self.any(Type::I32)).collect();
        if matches!(op, TernaryOp::BitInsert) {
            args.push(self.any(Type::I32));
        }
        if matches!(op, TernaryOp::Lop3) {
            let table = self.random.between(0, 255);
            args.push(self.b.int(Type::I32, table));
        }
        let value = self.b.value(Op::Ternary(op), &args, Type::I32);
        self.add(value, full(Type::I32));
    }

    /// `k * a + b` with a small constant `k`.
    pub(super) fn affine(&mut self) {
        let (a, b) = (self.entry_of(Type::I32), self.entry_of(Type::I32));
        let k = self.small_constant();
        let product = self.arithmetic(BinaryOp::Mul, a, k);
        let sum = self.arithmetic(BinaryOp::Add, product, b);
        self.pool.push(product);
        self.pool.push(sum);
    }
}
