//! Arithmetic, comparisons, conversions: results are canonical, that is, narrow integers are sign-extended again.

use super::emit::{Emitter, refuse, refuse_type};
use super::needed::wide;
use super::registers::{Class, Register};
use crate::refusal::Refusal;
use ir::*;
use smol_str::SmolStr;

/// The width in the names of integer instructions: narrow integers compute in 32 bits.
fn width(ty: Type) -> u32 {
    if ty.bits() == 64 { 64 } else { 32 }
}

fn narrow(ty: Type) -> bool {
    matches!(ty, Type::I8 | Type::I16)
}

impl Emitter<'_> {
    pub(super) fn operation(&mut self, data: &InstData) -> Result<(), Refusal> {
        let result = data.results[0];
        let operands = data.args.iter().chain(&data.results);
        if operands
            .into_iter()
            .any(|&value| self.ty(value) == Type::I40)
        {
            return Err(refuse_type(&crate::select::name(&data.op), Type::I40));
        }
        if let Some(wide) = wide(self.function, data) {
            let narrow = self.operand(wide.narrow);
            let to = self.register(result);
            let sign = if wide.signed { 's' } else { 'u' };
            self.plain(format_args!(
                "mul.wide.{sign}32 {to}, {narrow}, {}",
                wide.by
            ));
            return Ok(());
        }
        match &data.op {
            Op::Unary(op) => self.unary(*op, result, data.args[0]),
            Op::Binary(op, _) => self.binary(*op, result, data.args[0], data.args[1]),
            Op::Ternary(op) => self.ternary(*op, result, &data.args),
            Op::Convert(kind) => self.convert(*kind, result, data.args[0]),
            Op::IntCompare(condition) => {
                self.int_compare(*condition, result, data.args[0], data.args[1])
            }
            Op::FloatCompare(condition) => {
                self.float_compare(*condition, result, data.args[0], data.args[1])
            }
            Op::Select => {
                let c = self.register(data.args[0]);
                let to = self.register(result);
                if to.class == Class::Predicate {
                    let (a, b) = (self.register(data.args[1]), self.register(data.args[2]));
                    let (yes, no, not) = (
                        self.fresh(Class::Predicate),
                        self.fresh(Class::Predicate),
                        self.fresh(Class::Predicate),
                    );
                    self.plain(format_args!("and.pred {yes}, {c}, {a}"));
                    self.plain(format_args!("not.pred {not}, {c}"));
                    self.plain(format_args!("and.pred {no}, {not}, {b}"));
                    self.plain(format_args!("or.pred {to}, {yes}, {no}"));
                } else {
                    let ty = to.class.type_name();
                    let (a, b) = (self.operand(data.args[1]), self.operand(data.args[2]));
                    self.plain(format_args!("selp.{ty} {to}, {a}, {b}, {c}"));
                }
                Ok(())
            }
            Op::Fma => {
                if self.ty(result) == Type::BF16 {
                    // sm_80 fuses in bf16, and nothing before it does.
                    if self.target.sm < 80 {
                        return Err(refuse("fma before sm_80", "bf16"));
                    }
                    let [a, b, c] = [0, 1, 2].map(|n| self.register(data.args[n]));
                    let to = self.register(result);
                    self.plain(format_args!("fma.rn.bf16 {to}, {a}, {b}, {c}"));
                    return Ok(());
                }
                let [a, b, c] = [0, 1, 2].map(|n| self.operand(data.args[n]));
                let to = self.register(result);
                let ty = self.float_name("fma", self.ty(result))?;
                self.plain(format_args!("fma.rn.{ty} {to}, {a}, {b}, {c}"));
                Ok(())
            }
            Op::PtrAdd => {
                let (a, b) = (self.operand(data.args[0]), self.operand(data.args[1]));
                let to = self.register(result);
                self.plain(format_args!("add.s64 {to}, {a}, {b}"));
                Ok(())
            }
            _ => Err(refuse("operation", "any type")),
        }
    }

    pub(super) fn float_name(&self, operation: &str, ty: Type) -> Result<&'static str, Refusal> {
        match ty {
            Type::F16 => Ok("f16"),
            Type::F32 => Ok("f32"),
            Type::F64 => Ok("f64"),
            _ => Err(refuse_type(operation, ty)),
        }
    }

    /// Sign-extends a narrow result in place.
    fn canonical(&mut self, register: Register, ty: Type) {
        match ty {
            Type::I8 => self.plain(format_args!("cvt.s32.s8 {register}, {register}")),
            Type::I16 => self.plain(format_args!("cvt.s32.s16 {register}, {register}")),
            _ => {}
        }
    }
    /// A register with the value zero-extended to its instruction's width.
    fn zero_extended(&mut self, value: Value) -> Register {
        let from = self.register(value);
        let mask = match self.ty(value) {
            Type::I8 => "0xff",
            Type::I16 => "0xffff",
            _ => return from,
        };
        let to = self.fresh(Class::Word);
        self.plain(format_args!("and.b32 {to}, {from}, {mask}"));
        to
    }
    /// A shift amount or bit position in 32 bits; larger ones stay larger than any width.
    fn amount(&mut self, value: Value) -> SmolStr {
        let bits = self.ty(value).bits();
        if let Some(known) = self.function.int_constant(value) {
            let known = known as u64 & (u64::MAX >> (64 - bits.clamp(1, 64)));
            return smol_str::format_smolstr!("{}", known.min(u64::from(u32::MAX)));
        }
        if bits < 64 {
            return smol_str::format_smolstr!("{}", self.zero_extended(value));
        }
        let from = self.register(value);
        let clamped = self.fresh(Class::Double);
        let to = self.fresh(Class::Word);
        self.plain(format_args!("min.u64 {clamped}, {from}, 0xffffffff"));
        self.plain(format_args!("cvt.u32.u64 {to}, {clamped}"));
        smol_str::format_smolstr!("{to}")
    }
    /// The low 32 bits of an integer.
    fn low_word(&mut self, value: Value) -> Register {
        let from = self.register(value);
        if from.class != Class::Double {
            return from;
        }
        let to = self.fresh(Class::Word);
        self.plain(format_args!("cvt.u32.u64 {to}, {from}"));
        to
    }
    /// The position or length of a field of bits: its low byte counts (PTX ISA, bfe). The machine takes the whole word
    /// with fields of 64 bits all the same, so the byte is cut out here.
    fn bit_number(&mut self, value: Value) -> SmolStr {
        if let Some(known) = self.function.int_constant(value) {
            return smol_str::format_smolstr!("{}", known & 0xff);
        }
        let from = self.low_word(value);
        let to = self.fresh(Class::Word);
        self.plain(format_args!("and.b32 {to}, {from}, 255"));
        smol_str::format_smolstr!("{to}")
    }
    /// Writes a 32-bit unsigned number into an integer of any width.
    pub(super) fn widen(&mut self, result: Value, word: Register, signed: bool) {
        let to = self.register(result);
        if to.class == Class::Double {
            let sign = if signed { 's' } else { 'u' };
            self.plain(format_args!("cvt.{sign}64.{sign}32 {to}, {word}"));
        } else {
            self.plain(format_args!("mov.b32 {to}, {word}"));
            let ty = self.ty(result);
            self.canonical(to, ty);
        }
    }

    fn unary(&mut self, op: UnaryOp, result: Value, a: Value) -> Result<(), Refusal> {
        let ty = self.ty(a);
        let from = self.register(a);
        let bits = width(ty);
        let rounding = match op {
            _ if !matches!(ty, Type::F16 | Type::F32 | Type::F64) => None,
            UnaryOp::Floor => Some("rmi"),
            UnaryOp::Ceil => Some("rpi"),
            UnaryOp::TruncFloat => Some("rzi"),
            UnaryOp::RoundEven => Some("rni"),
            _ => None,
        };
        if let Some(rounding) = rounding {
            let name = self.float_name("rounding", ty)?;
            let to = self.register(result);
            self.plain(format_args!("cvt.{rounding}.{name}.{name} {to}, {from}"));
            return Ok(());
        }
        match op {
            UnaryOp::Not if ty == Type::Bool => {
                let to = self.register(result);
                self.plain(format_args!("not.pred {to}, {from}"));
            }
            UnaryOp::Not => {
                let to = self.register(result);
                self.plain(format_args!("not.b{bits} {to}, {from}"));
            }
            UnaryOp::Neg | UnaryOp::IntAbs => {
                let name = if op == UnaryOp::Neg { "neg" } else { "abs" };
                let to = self.register(result);
                self.plain(format_args!("{name}.s{bits} {to}, {from}"));
                self.canonical(to, ty);
            }
            UnaryOp::PopCount => {
                let source = self.zero_extended(a);
                let word = self.fresh(Class::Word);
                self.plain(format_args!("popc.b{bits} {word}, {source}"));
                self.widen(result, word, false);
            }
            UnaryOp::CountLeadingZeros => {
                let source = self.zero_extended(a);
                let word = self.fresh(Class::Word);
                self.plain(format_args!("clz.b{bits} {word}, {source}"));
                if narrow(ty) {
                    let extra = 32 - ty.bits();
                    self.plain(format_args!("sub.s32 {word}, {word}, {extra}"));
                }
                self.widen(result, word, false);
            }
            UnaryOp::CountTrailingZeros => {
                let mut source = self.zero_extended(a);
                if narrow(ty) {
                    // A bit above the type's, so that zero counts its width.
                    let marked = self.fresh(Class::Word);
                    let mark = 1u32 << ty.bits();
                    self.plain(format_args!("or.b32 {marked}, {source}, {mark}"));
                    source = marked;
                }
                let reversed = self.fresh(source.class);
                let word = self.fresh(Class::Word);
                self.plain(format_args!("brev.b{bits} {reversed}, {source}"));
                self.plain(format_args!("clz.b{bits} {word}, {reversed}"));
                self.widen(result, word, false);
            }
            UnaryOp::FindHighBitUnsigned | UnaryOp::FindHighBitSigned => {
                let signed = op == UnaryOp::FindHighBitSigned;
                let source = if signed { from } else { self.zero_extended(a) };
                let sign = if signed { 's' } else { 'u' };
                let word = self.fresh(Class::Word);
                self.plain(format_args!("bfind.{sign}{bits} {word}, {source}"));
                self.widen(result, word, true);
            }
            UnaryOp::FindFirstSet => {
                let source = self.zero_extended(a);
                let negative = self.fresh(source.class);
                let lowest = self.fresh(source.class);
                let word = self.fresh(Class::Word);
                self.plain(format_args!("neg.s{bits} {negative}, {source}"));
                self.plain(format_args!("and.b{bits} {lowest}, {source}, {negative}"));
                self.plain(format_args!("bfind.u{bits} {word}, {lowest}"));
                self.plain(format_args!("add.s32 {word}, {word}, 1"));
                self.widen(result, word, false);
            }
            UnaryOp::ReverseBits => {
                let to = self.register(result);
                self.plain(format_args!("brev.b{bits} {to}, {from}"));
                if narrow(ty) {
                    let shift = 32 - ty.bits();
                    self.plain(format_args!("shr.s32 {to}, {to}, {shift}"));
                }
            }
            UnaryOp::ReverseBytes => {
                let to = self.register(result);
                match ty {
                    Type::I8 => self.plain(format_args!("mov.b32 {to}, {from}")),
                    Type::I16 => {
                        self.plain(format_args!("prmt.b32 {to}, {from}, 0, 0x3201"));
                        self.canonical(to, ty);
                    }
                    Type::I32 => self.plain(format_args!("prmt.b32 {to}, {from}, 0, 0x0123")),
                    _ => {
                        let (low, high) = (self.fresh(Class::Word), self.fresh(Class::Word));
                        let (a, b) = (self.fresh(Class::Word), self.fresh(Class::Word));
                        self.plain(format_args!("mov.b64 {{{low}, {high}}}, {from}"));
                        self.plain(format_args!("prmt.b32 {a}, {low}, 0, 0x0123"));
                        self.plain(format_args!("prmt.b32 {b}, {high}, 0, 0x0123"));
                        self.plain(format_args!("mov.b64 {to}, {{{b}, {a}}}"));
                    }
                }
            }
            UnaryOp::IntSign => {
                let (up, down) = (self.fresh(Class::Predicate), self.fresh(Class::Predicate));
                let (a, b) = (self.fresh(Class::Word), self.fresh(Class::Word));
                self.plain(format_args!("setp.gt.s{bits} {up}, {from}, 0"));
                self.plain(format_args!("setp.lt.s{bits} {down}, {from}, 0"));
                self.plain(format_args!("selp.b32 {a}, 1, 0, {up}"));
                self.plain(format_args!("selp.b32 {b}, -1, {a}, {down}"));
                self.widen(result, b, true);
            }
            UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => {
                let source = self.as_single(a);
                let name = match op {
                    UnaryOp::IsNan => "notanumber",
                    UnaryOp::IsInf => "infinite",
                    _ => "finite",
                };
                let ty = source.class.type_name();
                let to = self.register(result);
                self.plain(format_args!("testp.{name}.{ty} {to}, {source}"));
            }
            UnaryOp::SignBit if matches!(ty, Type::F32 | Type::F64) => {
                let class = if ty == Type::F32 {
                    Class::Word
                } else {
                    Class::Double
                };
                let raw = self.fresh(class);
                let to = self.register(result);
                self.plain(format_args!("mov.b{bits} {raw}, {from}"));
                self.plain(format_args!("setp.lt.s{bits} {to}, {raw}, 0"));
            }
            _ => return self.float_unary(op, result, a),
        }
        Ok(())
    }

    /// A 16-bit float as f32, which holds it exactly.
    pub(super) fn as_single(&mut self, value: Value) -> Register {
        let from = self.register(value);
        match self.ty(value) {
            Type::F16 => {
                let to = self.fresh(Class::Float);
                self.plain(format_args!("cvt.f32.f16 {to}, {from}"));
                to
            }
            Type::BF16 => {
                let (word, to) = (self.fresh(Class::Word), self.fresh(Class::Float));
                self.plain(format_args!("cvt.u32.u16 {word}, {from}"));
                self.plain(format_args!("shl.b32 {word}, {word}, 16"));
                self.plain(format_args!("mov.b32 {to}, {word}"));
                to
            }
            _ => from,
        }
    }
    /// An f32 rounded to the type of a result.
    pub(super) fn rounded(&mut self, result: Value, single: Register) -> Result<(), Refusal> {
        let to = self.register(result);
        match self.ty(result) {
            Type::F16 => self.plain(format_args!("cvt.rn.f16.f32 {to}, {single}")),
            Type::BF16 if self.target.sm >= 80 => {
                self.plain(format_args!("cvt.rn.bf16.f32 {to}, {single}"));
            }
            Type::F32 => self.plain(format_args!("mov.f32 {to}, {single}")),
            ty => return Err(refuse_type("rounding before sm_80", ty)),
        }
        Ok(())
    }

    fn binary(&mut self, op: BinaryOp, result: Value, a: Value, b: Value) -> Result<(), Refusal> {
        let ty = self.ty(result);
        let to = self.register(result);
        let bits = width(ty);
        let (x, y) = (self.operand(a), self.operand(b));
        let no_form = || refuse_type(&format!("{op:?}"), ty);
        if ty.is_float() {
            return self.float_binary(op, result, a, b);
        }
        let simple = match op {
            BinaryOp::Add => Some(("add", 's')),
            BinaryOp::Sub => Some(("sub", 's')),
            BinaryOp::Mul => Some(("mul.lo", 's')),
            BinaryOp::DivSigned => Some(("div", 's')),
            BinaryOp::RemSigned => Some(("rem", 's')),
            BinaryOp::And => Some(("and", 'b')),
            BinaryOp::Or => Some(("or", 'b')),
            BinaryOp::Xor => Some(("xor", 'b')),
            BinaryOp::MinSigned => Some(("min", 's')),
            BinaryOp::MaxSigned => Some(("max", 's')),
            // Sign extension keeps the order of unsigned numbers.
            BinaryOp::MinUnsigned => Some(("min", 'u')),
            BinaryOp::MaxUnsigned => Some(("max", 'u')),
            BinaryOp::MulHighSigned if !narrow(ty) => Some(("mul.hi", 's')),
            BinaryOp::MulHighUnsigned if !narrow(ty) => Some(("mul.hi", 'u')),
            BinaryOp::Mul24Signed if ty == Type::I32 => Some(("mul24.lo", 's')),
            BinaryOp::Mul24Unsigned if ty == Type::I32 => Some(("mul24.lo", 'u')),
            // The low bits of the product do not depend on the cut.
            BinaryOp::Mul24Signed | BinaryOp::Mul24Unsigned if narrow(ty) => Some(("mul.lo", 's')),
            BinaryOp::AddSaturateSigned if ty == Type::I32 => Some(("add.sat", 's')),
            BinaryOp::SubSaturateSigned if ty == Type::I32 => Some(("sub.sat", 's')),
            _ => None,
        };
        if let Some((name, kind)) = simple {
            if ty == Type::Bool {
                self.plain(format_args!("{name}.pred {to}, {x}, {y}"));
            } else {
                self.plain(format_args!("{name}.{kind}{bits} {to}, {x}, {y}"));
                self.canonical(to, ty);
            }
            return Ok(());
        }
        match op {
            BinaryOp::DivUnsigned | BinaryOp::RemUnsigned => {
                let (x, y) = (self.zero_extended(a), self.zero_extended(b));
                let name = if op == BinaryOp::DivUnsigned {
                    "div"
                } else {
                    "rem"
                };
                self.plain(format_args!("{name}.u{bits} {to}, {x}, {y}"));
                self.canonical(to, ty);
            }
            BinaryOp::MulHighSigned => {
                self.plain(format_args!("mul.lo.s32 {to}, {x}, {y}"));
                self.plain(format_args!("shr.s32 {to}, {to}, {}", ty.bits()));
                self.canonical(to, ty);
            }
            BinaryOp::MulHighUnsigned => {
                let (x, y) = (self.zero_extended(a), self.zero_extended(b));
                self.plain(format_args!("mul.lo.u32 {to}, {x}, {y}"));
                self.plain(format_args!("shr.u32 {to}, {to}, {}", ty.bits()));
                self.canonical(to, ty);
            }
            BinaryOp::AddSaturateSigned | BinaryOp::SubSaturateSigned if narrow(ty) => {
                let name = if op == BinaryOp::AddSaturateSigned {
                    "add"
                } else {
                    "sub"
                };
                let top = (1i32 << (ty.bits() - 1)) - 1;
                self.plain(format_args!("{name}.s32 {to}, {x}, {y}"));
                self.plain(format_args!("min.s32 {to}, {to}, {top}"));
                self.plain(format_args!("max.s32 {to}, {to}, {}", -top - 1));
            }
            BinaryOp::Shl => {
                let amount = self.amount(b);
                self.plain(format_args!("shl.b{bits} {to}, {x}, {amount}"));
                self.canonical(to, ty);
            }
            BinaryOp::ShrSigned => {
                let amount = self.amount(b);
                self.plain(format_args!("shr.s{bits} {to}, {x}, {amount}"));
            }
            BinaryOp::ShrUnsigned => {
                let amount = self.amount(b);
                let x = self.zero_extended(a);
                self.plain(format_args!("shr.u{bits} {to}, {x}, {amount}"));
                self.canonical(to, ty);
            }
            BinaryOp::RotateLeft => {
                let amount = self.low_word(b);
                let left = self.fresh(Class::Word);
                let right = self.fresh(Class::Word);
                let size = ty.bits();
                self.plain(format_args!("and.b32 {left}, {amount}, {}", size - 1));
                self.plain(format_args!("sub.s32 {right}, {size}, {left}"));
                let x = self.zero_extended(a);
                let (high, low) = (self.fresh(to.class), self.fresh(to.class));
                self.plain(format_args!("shl.b{bits} {high}, {x}, {left}"));
                self.plain(format_args!("shr.u{bits} {low}, {x}, {right}"));
                self.plain(format_args!("or.b{bits} {to}, {high}, {low}"));
                self.canonical(to, ty);
            }
            _ => return Err(no_form()),
        }
        Ok(())
    }

    fn ternary(&mut self, op: TernaryOp, result: Value, args: &[Value]) -> Result<(), Refusal> {
        let ty = self.ty(result);
        let bits = width(ty);
        let no_form = || refuse_type(&format!("{op:?}"), ty);
        if op == TernaryOp::SmoothStep {
            return self.smooth_step(result, args);
        }
        let to = self.register(result);
        match op {
            TernaryOp::BitExtractSigned | TernaryOp::BitExtractUnsigned => {
                let signed = op == TernaryOp::BitExtractSigned;
                let x = if signed {
                    self.register(args[0])
                } else {
                    self.zero_extended(args[0])
                };
                let (position, length) = (self.bit_number(args[1]), self.bit_number(args[2]));
                let sign = if signed { 's' } else { 'u' };
                self.plain(format_args!(
                    "bfe.{sign}{bits} {to}, {x}, {position}, {length}"
                ));
                self.canonical(to, ty);
            }
            TernaryOp::BitInsert => {
                let (field, base) = (self.register(args[0]), self.register(args[1]));
                let (position, length) = (self.bit_number(args[2]), self.bit_number(args[3]));
                self.plain(format_args!(
                    "bfi.b{bits} {to}, {field}, {base}, {position}, {length}"
                ));
                self.canonical(to, ty);
            }
            TernaryOp::FunnelLeft | TernaryOp::FunnelRight if ty == Type::I32 => {
                let side = if op == TernaryOp::FunnelLeft {
                    'l'
                } else {
                    'r'
                };
                let (low, high) = (self.register(args[0]), self.register(args[1]));
                let amount = self.low_word(args[2]);
                self.plain(format_args!(
                    "shf.{side}.wrap.b32 {to}, {low}, {high}, {amount}"
                ));
            }
            TernaryOp::BytePermute if ty == Type::I32 => {
                let [a, b, c] = [0, 1, 2].map(|n| self.register(args[n]));
                self.plain(format_args!("prmt.b32 {to}, {a}, {b}, {c}"));
            }
            TernaryOp::Lop3 if ty == Type::I32 => {
                let table = self.function.int_constant(args[3]).ok_or_else(no_form)?;
                let [a, b, c] = [0, 1, 2].map(|n| self.register(args[n]));
                self.plain(format_args!(
                    "lop3.b32 {to}, {a}, {b}, {c}, {}",
                    table & 0xff
                ));
            }
            TernaryOp::SadSigned | TernaryOp::SadUnsigned if ty == Type::I32 => {
                let sign = if op == TernaryOp::SadSigned { 's' } else { 'u' };
                let [a, b, c] = [0, 1, 2].map(|n| self.register(args[n]));
                self.plain(format_args!("sad.{sign}32 {to}, {a}, {b}, {c}"));
            }
            TernaryOp::Dot4Signed | TernaryOp::Dot4Unsigned
                if args.iter().all(|&arg| self.ty(arg) == Type::I32) =>
            {
                let sign = if op == TernaryOp::Dot4Signed {
                    's'
                } else {
                    'u'
                };
                let [a, b, c] = [0, 1, 2].map(|n| self.register(args[n]));
                self.plain(format_args!("dp4a.{sign}32.{sign}32 {to}, {a}, {b}, {c}"));
            }
            _ => return Err(no_form()),
        }
        Ok(())
    }

    fn int_compare(
        &mut self,
        condition: IntCondition,
        result: Value,
        a: Value,
        b: Value,
    ) -> Result<(), Refusal> {
        use IntCondition::*;
        let to = self.register(result);
        if self.ty(a) == Type::Bool {
            let (x, y) = (self.register(a), self.register(b));
            let not = self.fresh(Class::Predicate);
            match condition {
                Equal | NotEqual => {
                    self.plain(format_args!("xor.pred {to}, {x}, {y}"));
                    if condition == Equal {
                        self.plain(format_args!("not.pred {to}, {to}"));
                    }
                }
                LessSigned | LessUnsigned | GreaterSigned | GreaterUnsigned => {
                    let less = matches!(condition, LessSigned | LessUnsigned);
                    let (small, large) = if less { (x, y) } else { (y, x) };
                    self.plain(format_args!("not.pred {not}, {small}"));
                    self.plain(format_args!("and.pred {to}, {not}, {large}"));
                }
                _ => {
                    let less = matches!(condition, LessEqualSigned | LessEqualUnsigned);
                    let (small, large) = if less { (x, y) } else { (y, x) };
                    self.plain(format_args!("not.pred {not}, {small}"));
                    self.plain(format_args!("or.pred {to}, {not}, {large}"));
                }
            }
            return Ok(());
        }
        let (name, sign) = match condition {
            Equal => ("eq", 's'),
            NotEqual => ("ne", 's'),
            LessSigned => ("lt", 's'),
            LessEqualSigned => ("le", 's'),
            GreaterSigned => ("gt", 's'),
            GreaterEqualSigned => ("ge", 's'),
            LessUnsigned => ("lt", 'u'),
            LessEqualUnsigned => ("le", 'u'),
            GreaterUnsigned => ("gt", 'u'),
            GreaterEqualUnsigned => ("ge", 'u'),
        };
        let bits = width(self.ty(a));
        let (x, y) = (self.operand(a), self.operand(b));
        self.plain(format_args!("setp.{name}.{sign}{bits} {to}, {x}, {y}"));
        Ok(())
    }

    fn float_compare(
        &mut self,
        condition: FloatCondition,
        result: Value,
        a: Value,
        b: Value,
    ) -> Result<(), Refusal> {
        use FloatCondition::*;
        let name = match condition {
            Equal => "eq",
            NotEqual => "ne",
            Less => "lt",
            LessEqual => "le",
            Greater => "gt",
            GreaterEqual => "ge",
            EqualUnordered => "equ",
            NotEqualUnordered => "neu",
            LessUnordered => "ltu",
            LessEqualUnordered => "leu",
            GreaterUnordered => "gtu",
            GreaterEqualUnordered => "geu",
            Ordered => "num",
            Unordered => "nan",
        };
        let (x, y) = (self.as_single(a), self.as_single(b));
        let ty = x.class.type_name();
        let to = self.register(result);
        self.plain(format_args!("setp.{name}.{ty} {to}, {x}, {y}"));
        Ok(())
    }

    fn convert(&mut self, kind: Convert, result: Value, a: Value) -> Result<(), Refusal> {
        let (from, to) = (self.ty(a), self.ty(result));
        let no_form = || refuse(&format!("{kind:?}"), &format!("{from} to {to}"));
        let x = self.register(a);
        let y = self.register(result);
        match kind {
            Convert::Truncate if to == Type::Bool => {
                let word = self.low_word(a);
                let bit = self.fresh(Class::Word);
                self.plain(format_args!("and.b32 {bit}, {word}, 1"));
                self.plain(format_args!("setp.ne.s32 {y}, {bit}, 0"));
            }
            Convert::SaturateSigned => {
                let top = (1i64 << (to.bits() - 1)) - 1;
                let kept = self.fresh(x.class);
                let bits = width(from);
                self.plain(format_args!("min.s{bits} {kept}, {x}, {top}"));
                self.plain(format_args!("max.s{bits} {kept}, {kept}, {}", -top - 1));
                match x.class {
                    Class::Double => self.plain(format_args!("cvt.u32.u64 {y}, {kept}")),
                    _ => self.plain(format_args!("mov.b32 {y}, {kept}")),
                }
            }
            Convert::Truncate => {
                let word = self.low_word(a);
                self.plain(format_args!("mov.b32 {y}, {word}"));
                self.canonical(y, to);
            }
            Convert::ZeroExtend | Convert::SignExtend if from == Type::Bool => {
                let one = if kind == Convert::ZeroExtend { 1 } else { -1 };
                let bits = width(to);
                self.plain(format_args!("selp.b{bits} {y}, {one}, 0, {x}"));
            }
            Convert::ZeroExtend => {
                let word = self.zero_extended(a);
                self.widen(result, word, false);
            }
            Convert::SignExtend => self.widen(result, x, true),
            Convert::FloatToSigned | Convert::FloatToUnsigned if from != Type::BF16 => {
                let sign = if kind == Convert::FloatToSigned {
                    's'
                } else {
                    'u'
                };
                self.plain(format_args!("cvt.rzi.{sign}{}.{from} {y}, {x}", to.bits()));
                self.canonical(y, to);
            }
            Convert::SignedToFloat | Convert::UnsignedToFloat if to != Type::BF16 => {
                let sign = if kind == Convert::SignedToFloat {
                    's'
                } else {
                    'u'
                };
                let bits = width(from);
                let x = if from == Type::Bool {
                    let word = self.fresh(Class::Word);
                    self.plain(format_args!("selp.b32 {word}, 1, 0, {x}"));
                    word
                } else if sign == 'u' {
                    self.zero_extended(a)
                } else {
                    x
                };
                self.plain(format_args!("cvt.rn.{to}.{sign}{bits} {y}, {x}"));
            }
            Convert::FloatToFloat if from != to && (from == Type::BF16 || to == Type::BF16) => {
                let single = self.as_single(a);
                if to == Type::F64 {
                    self.plain(format_args!("cvt.f64.f32 {y}, {single}"));
                } else if from == Type::F64 {
                    return Err(no_form());
                } else {
                    return self.rounded(result, single);
                }
            }
            Convert::FloatToFloat if from == to => {
                let ty = y.class.type_name();
                self.plain(format_args!("mov.{ty} {y}, {x}"));
            }
            Convert::FloatToFloat if from != Type::BF16 && to != Type::BF16 => {
                let rounding = if to.bits() < from.bits() { ".rn" } else { "" };
                self.plain(format_args!("cvt{rounding}.{to}.{from} {y}, {x}"));
            }
            Convert::Bitcast => match (x.class, y.class) {
                (Class::Half, Class::Word) => {
                    self.plain(format_args!("cvt.s32.s16 {y}, {x}"));
                }
                (Class::Word, Class::Half) => {
                    self.plain(format_args!("cvt.u16.u32 {y}, {x}"));
                }
                (Class::Predicate, Class::Predicate) => {
                    self.plain(format_args!("mov.pred {y}, {x}"));
                }
                _ => {
                    let bits = if from.bits() == 16 { 16 } else { width(from) };
                    let bits = if x.class == Class::Word { 32 } else { bits };
                    self.plain(format_args!("mov.b{bits} {y}, {x}"));
                }
            },
            Convert::ToBool if from.is_float() => {
                let x = self.as_single(a);
                let (ty, zero) = if x.class == Class::DoubleFloat {
                    ("f64", "0d0000000000000000")
                } else {
                    ("f32", "0f00000000")
                };
                self.plain(format_args!("setp.neu.{ty} {y}, {x}, {zero}"));
            }
            Convert::ToBool if from == Type::Bool => {
                self.plain(format_args!("mov.pred {y}, {x}"));
            }
            Convert::ToBool => {
                let bits = width(from);
                self.plain(format_args!("setp.ne.s{bits} {y}, {x}, 0"));
            }
            Convert::SpaceCast => {
                let (Type::Ptr(source), Type::Ptr(target)) = (from, to) else {
                    return Err(no_form());
                };
                let mut address = x;
                if source != Space::Generic && source != target {
                    let space = super::registers::space_name(source);
                    let generic = self.fresh(Class::Double);
                    self.plain(format_args!("cvta{space}.u64 {generic}, {address}"));
                    address = generic;
                }
                if target != Space::Generic && source != target {
                    let space = super::registers::space_name(target);
                    self.plain(format_args!("cvta.to{space}.u64 {y}, {address}"));
                } else {
                    self.plain(format_args!("mov.b64 {y}, {address}"));
                }
            }
            _ => return Err(no_form()),
        }
        Ok(())
    }
}
