//! Which values of a function in SSA are live: read later. A value that only renames another is the other.
//!
//! The lattice is sets of live values by block; the sets grow until they stay the same.

use fixedbitset::FixedBitSet;
use ir::cfg::ControlFlow;
use ir::{
    Block, Convert, Function, FunctionKind, Language, Op, Space, Special, Terminator, Type,
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
    /// By value: the value that it is a name of.
    pub(super) names: Vec<usize>,
    /// By value: registers.
    pub(super) width: Vec<u32>,
    /// By block.
    pub(super) at_start: Vec<FixedBitSet>,
}

impl<'f> Liveness<'f> {
    pub(super) fn new(function: &'f Function) -> Option<Self> {
        let values = function.values.len();
        if function.blocks.len().saturating_mul(values) > LARGEST {
            return None;
        }
        let flow = ControlFlow::new(function);
        let names: Vec<usize> = (0..values)
            .map(|value| name(function, Value(value as u32)).0 as usize)
            .collect();
        let width = (0..values)
            .map(|value| width(function, Value(value as u32)))
            .collect();
        let mut liveness = Liveness {
            function,
            flow,
            names,
            width,
            at_start: vec![FixedBitSet::with_capacity(values); function.blocks.len()],
        };
        // Every pass but the last adds a value to a set.
        loop {
            let mut changed = false;
            for at in (0..liveness.flow.order.len()).rev() {
                let block = liveness.flow.order[at];
                let found = liveness.before(block);
                let old = &mut liveness.at_start[block.0 as usize];
                if *old != found {
                    *old = found;
                    changed = true;
                }
            }
            if !changed {
                return Some(liveness);
            }
        }
    }

    pub(super) fn at_end(&self, block: Block) -> FixedBitSet {
        let mut live = FixedBitSet::with_capacity(self.names.len());
        for &next in &self.flow.successors[block] {
            live.union_with(&self.at_start[next.0 as usize]);
        }
        live
    }

    fn before(&self, block: Block) -> FixedBitSet {
        let mut live = self.at_end(block);
        let data = &self.function.blocks[block];
        self.use_terminator(block, &mut |value| live.insert(value));
        for &inst in data.insts.iter().rev() {
            let inst = &self.function.insts[inst];
            for &result in &inst.results {
                if self.names[result.0 as usize] == result.0 as usize {
                    live.set(result.0 as usize, false);
                }
            }
            self.use_inst(inst, &mut |value| live.insert(value));
        }
        for &param in &data.params {
            live.set(param.0 as usize, false);
        }
        live
    }

    pub(super) fn use_inst(&self, inst: &ir::InstData, used: &mut dyn FnMut(usize)) {
        if is_name(&inst.op) {
            return;
        }
        for &arg in inst.args.iter().chain(inst.guard.iter().map(|g| &g.value)) {
            self.used(arg, used);
        }
    }

    pub(super) fn use_terminator(&self, block: Block, used: &mut dyn FnMut(usize)) {
        let terminator = &self.function.blocks[block].terminator;
        if let Some(selector) = terminator.selector() {
            self.used(selector, used);
        }
        if let Terminator::Return(values) = terminator {
            for &value in values {
                self.used(value, used);
            }
        }
        for edge in terminator.edges() {
            for &arg in &edge.args {
                self.used(arg, used);
            }
        }
    }

    fn used(&self, value: Value, used: &mut dyn FnMut(usize)) {
        let value = self.names[value.0 as usize];
        if self.width[value] > 0 {
            used(value);
        }
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

fn name(function: &Function, value: Value) -> Value {
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
            Some(&of) if is_name(&inst.op) || offset(inst) => at = of,
            _ => return at,
        }
    }
    at
}

fn width(function: &Function, value: Value) -> u32 {
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
        Type::I64 | Type::F64 | Type::Ptr(_) | Type::Handle | Type::Opaque => 2,
        _ => 1,
    }
}
