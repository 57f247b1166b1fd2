//! Instructions in the place of others.

use ir::{
    BinaryOp, Convert, Function, Inst, InstData, IntCondition, Loc, Op, Type, UnaryOp, Value,
    ValueData, ValueDef, Wrap, numbers,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A function whose blocks are written anew, one after the other.
pub(super) struct Writer<'f> {
    pub(super) function: &'f mut Function,
    /// The block's instructions as they become.
    pub(super) made: Vec<Inst>,
    /// Constants, in front of everything.
    leading: Vec<Inst>,
    constants: FxHashMap<(Type, u64), Value>,
    /// Values that others stand for.
    same: FxHashMap<Value, Value>,
    pub(super) loc: Loc,
}

impl<'f> Writer<'f> {
    pub(super) fn new(function: &'f mut Function) -> Writer<'f> {
        Writer {
            function,
            made: Vec::new(),
            leading: Vec::new(),
            constants: FxHashMap::default(),
            same: FxHashMap::default(),
            loc: Loc::NONE,
        }
    }

    /// Ends the work: constants stand in front, values that others stand for are read no more.
    pub(super) fn finish(self) {
        let Writer {
            function,
            leading,
            same,
            ..
        } = self;
        let entry = function.entry();
        function.blocks[entry].insts.splice(0..0, leading);
        if same.is_empty() {
            return;
        }
        let known = |value: &mut Value| *value = resolved(&same, *value);
        for block in function.layout.clone() {
            for inst in function.blocks[block].insts.clone() {
                function.insts[inst].operands_mut().for_each(known);
            }
            let terminator = &mut function.blocks[block].terminator;
            terminator.reads_mut().iter_mut().for_each(known);
            for edge in terminator.edges_mut() {
                edge.args.iter_mut().for_each(known);
            }
        }
        for binding in &mut function.bindings {
            binding.values.iter_mut().for_each(known);
        }
        let vectors = function.vectors.iter_mut();
        vectors.flatten().for_each(known);
        for site in function.sites.keys() {
            let arguments = function.sites[site].arguments.iter_mut();
            arguments.flat_map(|(_, values)| values).for_each(known);
        }
    }

    /// `value` is the same as `other` from now on.
    pub(super) fn stands_for(&mut self, other: Value, value: Value) {
        self.same.insert(value, other);
    }
    /// The value that stands for this one.
    pub(super) fn resolved(&self, value: Value) -> Value {
        resolved(&self.same, value)
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }
    /// The bits of a constant that is no address.
    pub(super) fn constant(&self, value: Value) -> Option<u64> {
        let plain = !matches!(self.ty(value), Type::Ptr(_) | Type::Handle | Type::Opaque);
        match self.function.defining(value)?.op {
            Op::Const(bits) if plain => Some(bits),
            _ => None,
        }
    }
    pub(super) fn int(&mut self, ty: Type, number: i64) -> Value {
        let bits = numbers::canonical(ty, number as u64);
        if let Some(&known) = self.constants.get(&(ty, bits)) {
            return known;
        }
        let (inst, value) = self.inst(Op::Const(bits), &[], ty, Loc::NONE);
        self.leading.push(inst);
        self.constants.insert((ty, bits), value);
        value
    }

    pub(super) fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Value {
        let ty = self.ty(x);
        let known = (self.constant(x), self.constant(y));
        if let (Some(a), Some(b)) = known {
            let bits = numbers::binary(op, ty, self.ty(y), ty, a, b);
            return self.int(ty, bits as i64);
        }
        match (op, known) {
            (BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor, (Some(0), _)) => return y,
            (
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Shl
                | BinaryOp::ShrSigned
                | BinaryOp::ShrUnsigned,
                (_, Some(0)),
            ) => return x,
            (
                BinaryOp::Mul | BinaryOp::MulHighUnsigned | BinaryOp::And,
                (Some(0), _) | (_, Some(0)),
            ) => {
                return self.int(ty, 0);
            }
            _ => {}
        }
        self.value(Op::Binary(op, Wrap::MAY), &[x, y], ty)
    }
    pub(super) fn unary(&mut self, op: UnaryOp, x: Value) -> Value {
        let ty = self.ty(x);
        match self.constant(x) {
            Some(bits) => {
                let bits = numbers::unary(op, ty, ty, bits);
                self.int(ty, bits as i64)
            }
            None => self.value(Op::Unary(op), &[x], ty),
        }
    }
    /// A conversion to another type; of the value's own type it is the value.
    pub(super) fn convert(&mut self, kind: Convert, x: Value, ty: Type) -> Value {
        let from = self.ty(x);
        if from == ty {
            return x;
        }
        match self.constant(x) {
            Some(bits) => {
                let bits = numbers::convert(kind, from, ty, bits);
                self.int(ty, bits as i64)
            }
            None => self.value(Op::Convert(kind), &[x], ty),
        }
    }
    pub(super) fn compare(&mut self, how: IntCondition, x: Value, y: Value) -> Value {
        if let (Some(a), Some(b)) = (self.constant(x), self.constant(y)) {
            return self.int(Type::Bool, numbers::int_compare(how, a, b).into());
        }
        self.value(Op::IntCompare(how), &[x, y], Type::Bool)
    }
    pub(super) fn choose(&mut self, condition: Value, then: Value, otherwise: Value) -> Value {
        match self.constant(condition) {
            _ if then == otherwise => then,
            Some(0) => otherwise,
            Some(_) => then,
            None => {
                let ty = self.ty(then);
                self.value(Op::Select, &[condition, then, otherwise], ty)
            }
        }
    }
    /// A truth value as 1 or 0.
    pub(super) fn truth_number(&mut self, truth: Value) -> Value {
        self.convert(Convert::ZeroExtend, truth, Type::I32)
    }

    pub(super) fn value(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let (inst, value) = self.inst(op, args, ty, self.loc);
        self.made.push(inst);
        value
    }

    /// An operation without a result.
    pub(super) fn effect(&mut self, op: Op, args: &[Value]) {
        let inst = self.function.insts.push(InstData {
            op,
            args: SmallVec::from_slice(args),
            results: SmallVec::new(),
            guard: None,
            loc: self.loc,
        });
        self.made.push(inst);
    }

    fn inst(&mut self, op: Op, args: &[Value], ty: Type, loc: Loc) -> (Inst, Value) {
        let inst = self.function.insts.push(InstData {
            op,
            args: SmallVec::from_slice(args),
            results: SmallVec::new(),
            guard: None,
            loc,
        });
        let value = self.result(inst, 0, ty);
        self.function.insts[inst].results.push(value);
        (inst, value)
    }

    /// A new value that an instruction gives.
    pub(super) fn result(&mut self, inst: Inst, number: u16, ty: Type) -> Value {
        let def = ValueDef::Result(inst, number);
        self.function.values.push(ValueData { ty, def })
    }
}

fn resolved(same: &FxHashMap<Value, Value>, mut value: Value) -> Value {
    while let Some(&other) = same.get(&value) {
        value = other;
    }
    value
}
