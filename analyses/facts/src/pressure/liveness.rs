//! The live values of a function in SSA form: those that are read later. A value that only renames another
//! one is the other; `ir::liveness` solves it.

use super::files::Counted;
use fixedbitset::FixedBitSet;
use ir::cfg::ControlFlow;
use ir::entity::Entity;
use ir::liveness::{Reads, Values};
use ir::{
    BinaryOp, Block, Convert, Function, FunctionKind, InstData, Language, Op, Space, Special, Type,
    UnaryOp, Value, ValueDef,
};

/// Bits of all live sets together.
const LARGEST: usize = 1 << 27;
/// Renamings that are followed.
const STEPS: usize = 16;

/// Live values of a function.
pub(super) struct Liveness<'f> {
    pub(super) function: &'f Function,
    pub(super) flow: ControlFlow,
    /// The value of which each value is a name.
    pub(super) names: Vec<usize>,
    /// The number of registers of each value.
    pub(super) width: Vec<u32>,
    solved: ir::liveness::Liveness<Value>,
}

impl<'f> Liveness<'f> {
    pub(super) fn new(function: &'f Function, counted: Counted<'_>) -> Option<Self> {
        Self::with(function, counted, &FixedBitSet::new())
    }

    /// The same where an index times a constant is part of the additions that read it, as on machines whose addresses are
    /// made so.
    pub(super) fn folded(function: &'f Function, counted: Counted<'_>) -> Option<Self> {
        Self::with(function, counted, &scaled(function))
    }

    fn with(function: &'f Function, counted: Counted<'_>, folded: &FixedBitSet) -> Option<Self> {
        let values = function.values.len();
        if function.blocks.len().saturating_mul(values) > LARGEST {
            return None;
        }
        let names = (0..values).map(|value| name(function, folded, Value::new(value)).index());
        let mut liveness = Liveness {
            function,
            flow: ControlFlow::new(function),
            names: names.collect(),
            width: (0..values)
                .map(|value| counted.width(function, Value::new(value)))
                .collect(),
            solved: ir::liveness::Liveness::default(),
        };
        liveness.solved = ir::liveness::Liveness::of(&Values {
            reads: &liveness,
            flow: &liveness.flow,
        });
        Some(liveness)
    }

    pub(super) fn at_end(&self, block: Block) -> FixedBitSet {
        self.solved.ends[block.index()].as_bits().clone()
    }

    /// Returns the values that are live at the start of a block, without its parameters.
    pub(super) fn at_start(&self, block: Block) -> &FixedBitSet {
        self.solved.starts[block.index()].as_bits()
    }

    pub(super) fn use_inst(&self, inst: &InstData, used: &mut dyn FnMut(usize)) {
        self.of_inst(inst, &mut |value| used(value.index()));
    }

    pub(super) fn use_terminator(&self, block: Block, used: &mut dyn FnMut(usize)) {
        self.of_terminator(block, &mut |value| used(value.index()));
    }
}

impl Reads for Liveness<'_> {
    fn function(&self) -> &Function {
        self.function
    }
    fn read(&self, value: Value) -> Option<Value> {
        let value = self.names[value.index()];
        (self.width[value] > 0).then(|| Value::new(value))
    }
    fn executes(&self, inst: &InstData) -> bool {
        !is_name(&inst.op)
    }
}

/// Operations whose result is their first operand, in another way of reading.
fn is_name(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(UnaryOp::FloatNeg | UnaryOp::FloatAbs)
            | Op::Convert(
                Convert::Truncate
                    | Convert::Bitcast
                    | Convert::SpaceCast
                    | Convert::SignExtend
                    | Convert::ZeroExtend
            )
    )
}

/// Products of an index and a constant that additions of 64 bits alone read: `base + 4 * i` is one operation.
fn scaled(function: &Function) -> FixedBitSet {
    let constant = |value: Option<&Value>| value.and_then(|&value| function.int_constant(value));
    let is_extended = |value: Value| {
        let extension = function.defining(value).map(|inst| &inst.op);
        matches!(
            extension,
            Some(Op::Convert(Convert::SignExtend | Convert::ZeroExtend))
        )
    };
    let mut found = FixedBitSet::with_capacity(function.values.len());
    for inst in function.insts.values() {
        let by = constant(inst.args.get(1));
        let folds = match inst.op {
            Op::Binary(BinaryOp::Shl, _) => by.is_some_and(|by| by < 32),
            Op::Binary(BinaryOp::Mul, _) => by.is_some() && is_extended(inst.args[0]),
            _ => false,
        };
        if folds && function.ty(inst.results[0]) == Type::I64 {
            found.insert(inst.results[0].index());
        }
    }
    for inst in function.insts.values() {
        let adds = matches!(inst.op, Op::PtrAdd | Op::Binary(BinaryOp::Add, _))
            && inst.args.iter().all(|arg| constant(Some(arg)).is_none());
        if !adds && inst.op != Op::Convert(Convert::Bitcast) {
            let read = inst.operands();
            read.for_each(|value| found.set(value.index(), false));
        }
    }
    for &block in &function.layout {
        let read = function.blocks[block].terminator.operands();
        read.for_each(|value| found.set(value.index(), false));
    }
    found
}

fn name(function: &Function, folded: &FixedBitSet, value: Value) -> Value {
    let mut at = value;
    for _ in 0..STEPS {
        let Some(inst) = function.defining(at) else {
            return at;
        };
        let offset = |inst: &ir::InstData| {
            let by = inst.args.get(1).copied();
            inst.op == Op::PtrAdd && by.is_some_and(|by| function.int_constant(by).is_some())
        };
        match inst.args.first() {
            Some(&of) if is_name(&inst.op) || offset(inst) || folded.contains(at.index()) => {
                at = of;
            }
            _ => return at,
        }
    }
    at
}

/// The registers of a value where there is one file of them.
pub(super) fn width(function: &Function, value: Value) -> u32 {
    let ty = function.ty(value);
    match function.values[value].def {
        ValueDef::Result(inst, _) => match &function.insts[inst].op {
            Op::Const(_)
            | Op::Undef
            | Op::SymbolAddress(_)
            | Op::Parameter(_)
            | Op::Alloca { .. }
            | Op::ResourceElement { .. } => return 0,
            Op::Special(
                Special::BlockDim(_)
                | Special::GridDim(_)
                | Special::WarpSize
                | Special::WarpCount
                | Special::OtherDispatch(_),
            ) => return 0,
            _ => {}
        },
        // A kernel's parameters are operands in constant memory.
        ValueDef::Param(block, _)
            if function.layout.first() == Some(&block) && function.kind == FunctionKind::Kernel =>
        {
            return 0;
        }
        ValueDef::Param(..) => {}
    }
    match ty {
        Type::Bool => 0,
        Type::Handle if function.language == Language::Hlsl => 0,
        Type::Ptr(Space::Shared | Space::Local | Space::Constant) => 1,
        Type::I40 | Type::I64 | Type::F64 | Type::Ptr(_) | Type::Handle | Type::Opaque => 2,
        _ => 1,
    }
}
