//! Emits random instructions over a pool of values that are available at the current place, with the range that each
//! integer is known to have.

use super::memory::{self, Regions};
use super::{Random, Shape};
use ir::builder::{FunctionBuilder, Slot};
use ir::entity::{Value, Variable};
use ir::function::*;
use ir::inst::*;
use ir::types::Type;
use syntax::Span;

/// A value that dominates the current place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) ty: Type,
    /// The range of integers read as signed; meaningless for other types.
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
    /// I32 values that are the same in all lanes of the workgroup, available everywhere after the entry.
    pub(super) shared_by_all: Vec<Value>,
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

pub(super) fn within(ty: Type, low: i128, high: i128) -> Option<(i64, i64)> {
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
            shared_by_all: Vec::new(),
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
            _ => self.random.draw() as i64,
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

    pub(super) fn int_type(&mut self) -> Type {
        self.type_where(Type::is_int)
    }
    pub(super) fn float_type(&mut self) -> Option<Type> {
        let any = self.types.iter().any(|ty| ty.is_float());
        any.then(|| self.type_where(Type::is_float))
    }
    pub(super) fn type_where(&mut self, accept: fn(Type) -> bool) -> Type {
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

    /// A condition that all lanes of the workgroup agree on.
    pub(super) fn shared_condition(&mut self) -> Value {
        let a = self.shared_value();
        let b = self.shared_value();
        let condition = *self.random.pick(&[
            IntCondition::LessSigned,
            IntCondition::NotEqual,
            IntCondition::GreaterEqualSigned,
        ]);
        self.b.int_compare(condition, a, b)
    }

    pub(super) fn shared_value(&mut self) -> Value {
        let count = self.shared_by_all.len() as u32;
        if count == 0 || self.random.percent(30) {
            return self.small_constant().value;
        }
        // Recent values are likelier: counters of loops, words that were exchanged.
        let low = if self.random.percent(50) {
            count.saturating_sub(3)
        } else {
            0
        };
        let at = low + self.random.below(count - low);
        self.shared_by_all[at as usize]
    }

    pub(super) fn compare(&mut self) -> Value {
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
    pub(super) fn affine_compare(&mut self) -> Value {
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

    pub(super) fn small_constant(&mut self) -> Entry {
        let number = self.random.between(-3, 5);
        let value = self.b.int(Type::I32, number);
        Entry {
            value,
            ty: Type::I32,
            range: (number, number),
        }
    }

    pub(super) fn vote(&mut self) -> Value {
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

    pub(super) fn note(&mut self, variable: Option<Variable>, kind: BindingKind, value: Value) {
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
        if self.converged && self.full_warps && self.shape.warp_ops && self.random.percent(25) {
            self.butterfly();
        }
        self.converged = false;
    }

    pub(super) fn instruction(&mut self) {
        self.step();
        if self.shape.fractions && self.random.percent(15) {
            return self.fractional();
        }
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
}
