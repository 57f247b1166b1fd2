//! Emits random instructions over a pool of values that are available at the current place, with the range that each
//! integer is known to have.

use super::memory::{self, Regions};
use super::{RECURSION, Random, Shape};
use crate::builder::{FunctionBuilder, Slot};
use crate::entity::{Value, Variable};
use crate::function::*;
use crate::inst::*;
use crate::types::Type;
use smallvec::SmallVec;
use syntax::Span;

/// A value that dominates the current place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) ty: Type,
    /// Of integers read as signed; meaningless for other types.
    pub(super) range: (i64, i64),
}

#[derive(Clone, Debug)]
pub(super) struct Callee {
    pub(super) index: u32,
    /// Instructions and terminators of one call, at most.
    pub(super) steps: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) slot: Slot,
    pub(super) variable: Option<Variable>,
    pub(super) ty: Type,
}

#[derive(Debug)]
pub(super) struct Emitter<'r> {
    pub(super) b: FunctionBuilder,
    pub(super) random: &'r mut Random,
    pub(super) shape: &'r Shape,
    pub(super) pool: Vec<Entry>,
    pub(super) types: Vec<Type>,
    pub(super) named: Vec<Named>,
    pub(super) memory: Regions,
    pub(super) callees: Vec<Callee>,
    pub(super) calls_left: u32,
    /// Steps of all calls emitted, each executed once.
    pub(super) call_steps: u64,
    pub(super) warp_size: u32,
    pub(super) threads: u32,
    pub(super) full_warps: bool,
    /// All lanes of the warp are active here.
    pub(super) converged: bool,
    offset: u32,
}

/// The range of a type without further knowledge.
pub(super) fn full(ty: Type) -> (i64, i64) {
    match ty {
        Type::Bool => (0, 1),
        Type::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Type::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Type::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

fn within(ty: Type, low: i128, high: i128) -> Option<(i64, i64)> {
    let (least, most) = full(ty);
    (low >= i128::from(least) && high <= i128::from(most)).then_some((low as i64, high as i64))
}

impl<'r> Emitter<'r> {
    pub(super) fn new(
        name: &str,
        kind: FunctionKind,
        random: &'r mut Random,
        shape: &'r Shape,
    ) -> Self {
        let mut types = vec![Type::Bool, Type::I32, Type::I32];
        let mut include = |wanted: bool, more: &[Type]| {
            if wanted {
                types.extend_from_slice(more);
            }
        };
        include(shape.narrow, &[Type::I8, Type::I16]);
        include(shape.wide, &[Type::I64]);
        include(shape.floats, &[Type::F32]);
        include(shape.doubles, &[Type::F64]);
        include(shape.halves, &[Type::F16, Type::BF16]);
        Emitter {
            b: super::builder(name, kind),
            random,
            shape,
            pool: Vec::new(),
            types,
            named: Vec::new(),
            memory: Regions::default(),
            callees: Vec::new(),
            calls_left: 0,
            call_steps: 0,
            warp_size: 1,
            threads: 1,
            full_warps: false,
            converged: false,
            offset: 0,
        }
    }

    pub(super) fn finish(self) -> Function {
        let mut function = self.b.finish();
        function.name_span = Span::new(0, function.name.len() as u32);
        function.span = Span::new(0, self.offset + 1);
        function
    }

    // ------------------------------------------------------------------------------------------ values

    pub(super) fn add(&mut self, value: Value, range: (i64, i64)) -> Value {
        let ty = self.b.function.ty(value);
        self.pool.push(Entry { value, ty, range });
        value
    }

    /// A place in the imagined source, after all places before.
    pub(super) fn step(&mut self) {
        self.offset += 2;
        let span = Span::new(self.offset, self.offset + 1);
        self.b.set_loc(Loc::here(span));
    }

    pub(super) fn entry_of(&mut self, ty: Type) -> Entry {
        let count = self.pool.len() as u32;
        if count > 0 && self.random.percent(80) {
            for attempt in 0..12 {
                // Recent values are likelier, so that chains of dependences form.
                let recent = attempt < 5 && self.random.percent(60);
                let at = if recent {
                    count - 1 - self.random.below(count.min(8))
                } else {
                    self.random.below(count)
                };
                let entry = self.pool[at as usize];
                if entry.ty == ty {
                    return entry;
                }
            }
        }
        self.constant(ty)
    }

    pub(super) fn any(&mut self, ty: Type) -> Value {
        self.entry_of(ty).value
    }

    pub(super) fn constant(&mut self, ty: Type) -> Entry {
        let number = match self.random.below(10) {
            0..=3 => self.random.between(0, 4),
            4..=6 => self.random.between(-8, 16),
            7 => 1 << self.random.below(7),
            8 => -1,
            _ => self.random.next() as i64,
        };
        let value = if ty.is_float() {
            let number = self.random.between(-16, 16) as f64 * 0.5;
            self.b.float(ty, number)
        } else {
            self.b.int(ty, number)
        };
        let range = match self.b.function.int_constant(value) {
            Some(exact) => (exact, exact),
            None => full(ty),
        };
        Entry { value, ty, range }
    }

    fn int_type(&mut self) -> Type {
        self.type_where(Type::is_int)
    }
    fn float_type(&mut self) -> Option<Type> {
        let any = self.types.iter().any(|ty| ty.is_float());
        any.then(|| self.type_where(Type::is_float))
    }
    fn type_where(&mut self, accept: fn(Type) -> bool) -> Type {
        let fitting: Vec<Type> = self.types.iter().copied().filter(|&t| accept(t)).collect();
        if fitting.is_empty() {
            Type::I32
        } else {
            *self.random.pick(&fitting)
        }
    }
    pub(super) fn stored_type(&mut self) -> Type {
        self.type_where(|ty| ty != Type::Bool)
    }
    pub(super) fn mask_type(&self) -> Type {
        if self.warp_size <= 32 {
            Type::I32
        } else {
            Type::I64
        }
    }

    /// A condition: of any of the kinds that analyses tell apart.
    pub(super) fn condition(&mut self) -> Value {
        match self.random.below(10) {
            0..=4 => self.compare(),
            5 => self.any(Type::Bool),
            6 => self.affine_compare(),
            7 if self.shape.warp_ops => self.vote(),
            8 => {
                let (a, b) = (self.compare(), self.any(Type::Bool));
                let op = *self
                    .random
                    .pick(&[BinaryOp::And, BinaryOp::Or, BinaryOp::Xor]);
                self.b.binary(op, Wrap::MAY, a, b)
            }
            _ => {
                let value = self.any(Type::I32);
                let bit = self.b.int(Type::I32, 1);
                let low = self.b.binary(BinaryOp::And, Wrap::MAY, value, bit);
                self.b.convert(Convert::ToBool, low, Type::Bool)
            }
        }
    }

    fn compare(&mut self) -> Value {
        let condition = *self.random.pick(&[
            IntCondition::Equal,
            IntCondition::NotEqual,
            IntCondition::LessSigned,
            IntCondition::LessEqualSigned,
            IntCondition::GreaterSigned,
            IntCondition::GreaterEqualSigned,
            IntCondition::LessUnsigned,
            IntCondition::LessEqualUnsigned,
            IntCondition::GreaterUnsigned,
            IntCondition::GreaterEqualUnsigned,
        ]);
        let ty = self.int_type();
        let (a, b) = (self.any(ty), self.any(ty));
        self.b.int_compare(condition, a, b)
    }

    /// `k*a + b < k*a + c`: both sides have the same stride.
    fn affine_compare(&mut self) -> Value {
        let (a, c, d) = (
            self.entry_of(Type::I32),
            self.entry_of(Type::I32),
            self.entry_of(Type::I32),
        );
        let k = self.small_constant();
        let product = self.arithmetic(BinaryOp::Mul, a, k);
        let left = self.arithmetic(BinaryOp::Add, product, c);
        let right = self.arithmetic(BinaryOp::Add, product, d);
        let condition = *self.random.pick(&[
            IntCondition::LessSigned,
            IntCondition::LessUnsigned,
            IntCondition::Equal,
            IntCondition::GreaterEqualSigned,
        ]);
        self.b.int_compare(condition, left.value, right.value)
    }

    fn small_constant(&mut self) -> Entry {
        let number = self.random.between(-3, 5);
        let value = self.b.int(Type::I32, number);
        Entry {
            value,
            ty: Type::I32,
            range: (number, number),
        }
    }

    fn vote(&mut self) -> Value {
        let kind = *self.random.pick(&[
            WarpKind::VoteAll,
            WarpKind::VoteAny,
            WarpKind::VoteUniform,
            WarpKind::IsFirstLane,
        ]);
        let mut args = Vec::new();
        if kind != WarpKind::IsFirstLane {
            args.push(self.any(Type::Bool));
        }
        self.warp_value(kind, args, Type::Bool)
    }

    // ------------------------------------------------------------------------------------------ guards

    pub(super) fn guard(&mut self) -> Option<Guard> {
        (self.shape.guards && self.random.percent(20)).then(|| Guard {
            value: self.any(Type::Bool),
            negated: self.random.percent(50),
        })
    }

    /// `value` where the guard held, something old elsewhere.
    pub(super) fn where_guarded(&mut self, guard: Option<Guard>, value: Value, ty: Type) -> Value {
        match guard {
            None => value,
            Some(guard) => {
                let old = self.any(ty);
                if guard.negated {
                    self.b.select(guard.value, old, value)
                } else {
                    self.b.select(guard.value, value, old)
                }
            }
        }
    }

    // ------------------------------------------------------------------------------------------ slots

    /// The mutable variables of the function, all written once here unless `Shape::undefined`.
    pub(super) fn slots(&mut self) {
        let mut wanted = vec![Type::I32, Type::I32, Type::I32, Type::Bool];
        for ty in [Type::I64, Type::F32, Type::F64, Type::I16] {
            if self.types.contains(&ty) {
                wanted.push(ty);
            }
        }
        for (number, ty) in wanted.into_iter().enumerate() {
            let slot = self.b.slot(ty);
            self.step();
            let variable = self.shape.names.then(|| {
                let declared = self.b.loc();
                let name = format!("a{number}");
                self.b
                    .variable(name, ty.to_string(), VariableKind::Local, declared)
            });
            self.named.push(Named { slot, variable, ty });
            if self.shape.undefined && self.random.percent(30) {
                continue;
            }
            let value = self.any(ty);
            self.b.write(slot, value);
            self.note(variable, BindingKind::Declaration, value);
        }
    }

    fn note(&mut self, variable: Option<Variable>, kind: BindingKind, value: Value) {
        if let Some(variable) = variable {
            let loc = self.b.loc();
            self.b.bind(variable, kind, &[value], "", loc);
        }
    }

    pub(super) fn read_slot(&mut self) {
        let named = *self.random.pick(&self.named);
        let value = self.b.read(named.slot);
        self.note(named.variable, BindingKind::Read, value);
        self.add(value, full(named.ty));
    }

    pub(super) fn write_slot(&mut self) {
        let named = *self.random.pick(&self.named);
        let value = self.any(named.ty);
        self.b.write(named.slot, value);
        self.note(named.variable, BindingKind::Assignment, value);
    }

    // ------------------------------------------------------------------------------------------ instructions

    /// About `Shape::block_insts` instructions.
    pub(super) fn block(&mut self) {
        let count = 1 + self.random.below(self.shape.block_insts * 2);
        for _ in 0..count {
            self.instruction();
        }
    }

    /// Instructions of the entry, where all lanes are active.
    pub(super) fn entry_instructions(&mut self) {
        self.converged = self.b.function.kind == FunctionKind::Kernel;
        for _ in 0..self.shape.block_insts {
            self.instruction();
        }
        self.converged = false;
    }

    pub(super) fn instruction(&mut self) {
        self.step();
        match self.random.below(100) {
            0..=17 => self.int_binary(),
            18..=21 => self.int_unary(),
            22..=28 => {
                let value = self.condition();
                self.add(value, (0, 1));
            }
            29..=38 => self.float(),
            39..=43 => {
                let ty = *self.random.pick(&self.types);
                let (condition, a, b) =
                    (self.any(Type::Bool), self.entry_of(ty), self.entry_of(ty));
                let value = self.b.select(condition, a.value, b.value);
                let range = (a.range.0.min(b.range.0), a.range.1.max(b.range.1));
                self.add(value, range);
            }
            44..=51 => self.conversion(),
            52..=55 => {
                let (a, b) = (self.any(Type::Bool), self.any(Type::Bool));
                let op = *self
                    .random
                    .pick(&[BinaryOp::And, BinaryOp::Or, BinaryOp::Xor]);
                let value = if self.random.percent(30) {
                    self.b.unary(UnaryOp::Not, a)
                } else {
                    self.b.binary(op, Wrap::MAY, a, b)
                };
                self.add(value, (0, 1));
            }
            56..=63 if self.shape.memory => memory::load(self),
            64..=68 if self.shape.memory => memory::store(self),
            69..=71 if self.shape.atomics => memory::atomic(self),
            72..=77 if self.shape.warp_ops => self.warp(),
            78..=80 if self.shape.bit_ops => self.ternary(),
            81..=85 => self.affine(),
            86 => self.call(),
            87..=93 if !self.named.is_empty() => self.write_slot(),
            _ if !self.named.is_empty() => self.read_slot(),
            _ => self.affine(),
        }
    }

    /// Addition and the like with the range of the result, and a flag where the range proves it.
    fn arithmetic(&mut self, op: BinaryOp, a: Entry, b: Entry) -> Entry {
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

    fn int_binary(&mut self) {
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

    fn int_unary(&mut self) {
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

    fn float(&mut self) {
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

    fn conversion(&mut self) {
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

    fn ternary(&mut self) {
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
    fn affine(&mut self) {
        let (a, b) = (self.entry_of(Type::I32), self.entry_of(Type::I32));
        let k = self.small_constant();
        let product = self.arithmetic(BinaryOp::Mul, a, k);
        let sum = self.arithmetic(BinaryOp::Add, product, b);
        self.pool.push(product);
        self.pool.push(sum);
    }

    // ------------------------------------------------------------------------------------------ warp, calls

    /// A warp operation over the active lanes, or with a mask of just these.
    fn warp_value(&mut self, kind: WarpKind, mut args: Vec<Value>, ty: Type) -> Value {
        let masked = self.random.percent(40)
            && !matches!(kind, WarpKind::ActiveMask | WarpKind::IsFirstLane);
        if masked {
            let active = Op::Warp(WarpOp {
                kind: WarpKind::ActiveMask,
                mask: false,
            });
            let mask = self.mask_type();
            args.push(self.b.value(active, &[], mask));
        }
        self.b
            .value(Op::Warp(WarpOp { kind, mask: masked }), &args, ty)
    }

    fn warp(&mut self) {
        let reduce = *self.random.pick(&[
            ReduceOp::Add,
            ReduceOp::Mul,
            ReduceOp::MinSigned,
            ReduceOp::MaxSigned,
            ReduceOp::MinUnsigned,
            ReduceOp::MaxUnsigned,
            ReduceOp::And,
            ReduceOp::Or,
            ReduceOp::Xor,
        ]);
        let sources_are_active = self.shape.inactive_sources || (self.converged && self.full_warps);
        let value = match self.random.below(10) {
            0 => self.vote(),
            1 => {
                let predicate = self.any(Type::Bool);
                let ty = self.mask_type();
                if !self.types.contains(&ty) {
                    return;
                }
                self.warp_value(WarpKind::Ballot, vec![predicate], ty)
            }
            2 => {
                let ty = self.stored_type();
                let value = self.any(ty);
                self.warp_value(WarpKind::ReadFirstLane, vec![value], ty)
            }
            3 => {
                let value = self.any(Type::I32);
                self.warp_value(WarpKind::Reduce(reduce), vec![value], Type::I32)
            }
            4 => {
                let value = self.any(Type::I32);
                let kind = if self.random.percent(50) {
                    WarpKind::PrefixExclusive(reduce)
                } else {
                    WarpKind::PrefixInclusive(reduce)
                };
                self.warp_value(kind, vec![value], Type::I32)
            }
            5 => {
                let predicate = self.any(Type::Bool);
                let kind = if self.random.percent(50) {
                    WarpKind::CountBits
                } else {
                    WarpKind::PrefixCountBits
                };
                self.warp_value(kind, vec![predicate], Type::I32)
            }
            6 => {
                let value = self.any(Type::I32);
                self.warp_value(WarpKind::AllEqual, vec![value], Type::Bool)
            }
            7 => {
                let value = self.any(Type::I32);
                let ty = self.mask_type();
                if !self.types.contains(&ty) {
                    return;
                }
                self.warp_value(WarpKind::MatchAny, vec![value], ty)
            }
            _ if sources_are_active => self.shuffle(),
            _ => {
                let value = self.any(Type::I32);
                self.warp_value(WarpKind::ReadFirstLane, vec![value], Type::I32)
            }
        };
        let ty = self.b.function.ty(value);
        self.add(value, full(ty));
    }

    fn shuffle(&mut self) -> Value {
        let ty = self.stored_type();
        let value = self.any(ty);
        let kind = *self.random.pick(&[
            WarpKind::ShuffleIndex,
            WarpKind::ShuffleUp,
            WarpKind::ShuffleDown,
            WarpKind::ShuffleXor,
            WarpKind::ReadLaneAt,
        ]);
        let lane = self.any(Type::I32);
        let most = self.b.int(Type::I32, i64::from(self.warp_size) - 1);
        let lane = self.b.binary(BinaryOp::And, Wrap::MAY, lane, most);
        let mut args = vec![value, lane];
        if kind != WarpKind::ReadLaneAt {
            args.push(self.b.int(Type::I32, i64::from(self.warp_size)));
        }
        self.warp_value(kind, args, ty)
    }

    /// A call of a later function.
    pub(super) fn call(&mut self) {
        let Some(own) = self.memory.own else { return };
        if self.callees.is_empty() || self.calls_left == 0 {
            return;
        }
        self.calls_left -= 1;
        let callee = self.random.pick(&self.callees).clone();
        self.call_steps = self.call_steps.saturating_add(callee.steps);
        let depth = self.random.between(0, RECURSION);
        let depth = self.b.int(Type::I32, depth);
        let args = [depth, self.any(Type::I32), self.any(Type::I32), own];
        let guard = self.guard();
        let inst = self
            .b
            .guarded(Op::Call(callee.index), &args, &[Type::I32], guard);
        let value = self.b.results(inst)[0];
        let value = self.where_guarded(guard, value, Type::I32);
        self.add(value, full(Type::I32));
    }

    /// `if (depth > 0) a0 = self(depth - 1, ...)`, once an activation.
    pub(super) fn recursion(&mut self, index: u32, depth: Value, own: Value) {
        self.step();
        let zero = self.b.int(Type::I32, 0);
        let deeper = self.b.int_compare(IntCondition::GreaterSigned, depth, zero);
        let (call, join) = (self.b.create_block(), self.b.create_block());
        self.b.branch(deeper, call, join, BranchKind::If);
        self.b.switch_to(call);
        let one = self.b.int(Type::I32, 1);
        let less = self.b.binary(BinaryOp::Sub, Wrap::NO_SIGNED, depth, one);
        let args = [less, self.any(Type::I32), self.any(Type::I32), own];
        let value = self.b.value(Op::Call(index), &args, Type::I32);
        if let Some(named) = self.named.first().copied() {
            self.b.write(named.slot, value);
            self.note(named.variable, BindingKind::Assignment, value);
        }
        self.b.jump(join);
        self.b.switch_to(join);
    }

    /// Stores what the kernel has computed and returns; a device function returns one of its variables.
    pub(super) fn leave(&mut self) {
        self.step();
        if self.b.function.returns.is_empty() {
            if let Some(own) = self.memory.own {
                let named = self.named.clone();
                let mut at = 0;
                for named in named.into_iter().filter(|n| n.ty != Type::Bool).take(6) {
                    let value = self.b.read(named.slot);
                    self.note(named.variable, BindingKind::Read, value);
                    let offset = self.b.int(Type::I64, at);
                    let address = self.b.ptr_add(own, offset);
                    let access = MemoryAccess::in_space(crate::types::Space::Global);
                    self.b.store(access, address, &[value]);
                    at += 8;
                }
            }
            self.b.ret([]);
        } else {
            let value = match self.named.first().copied() {
                Some(named) => self.b.read(named.slot),
                None => self.any(Type::I32),
            };
            self.b.ret([value]);
        }
    }

    /// An edge without arguments for each target of a switch on a small or arbitrary integer.
    pub(super) fn switch(
        &mut self,
        targets: &[crate::entity::Block],
        default: crate::entity::Block,
    ) {
        let mut value = self.any(Type::I32);
        if self.random.percent(70) {
            let mask = self.b.int(Type::I32, 7);
            value = self.b.binary(BinaryOp::And, Wrap::MAY, value, mask);
        }
        let first = self.random.between(-1, 2);
        let cases: Vec<(i64, Edge)> = targets
            .iter()
            .enumerate()
            .map(|(number, &block)| (first + number as i64, Edge::to(block)))
            .collect();
        let default = Edge {
            block: default,
            args: SmallVec::new(),
        };
        let terminator = Terminator::Switch {
            value,
            cases,
            default,
        };
        self.b.terminate(terminator, BranchKind::Switch);
    }
}
