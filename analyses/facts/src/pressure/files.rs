//! The register files of a processor that has scalar registers: one copy of a value for all lanes of a warp, beside the vector
//! registers that have one for each lane.
//!
//! ```text
//! s = *scale; x = a[i] * s;      `scale` and `s` scalar, `i`, `a[i]` and `x` vector: 2 + 1 scalar words
//! t = s * 2.0f;                  uniform, but made by the vector unit: a vector register
//! ```
//!
//! The scalar unit computes on integers that it holds and loads memory that nobody writes from uniform
//! addresses. Arithmetic of floats, samples, and loads of memory that the kernel may have written are the
//! vector unit's, however uniform they are. A condition that lanes answer for themselves is a mask: a bit for
//! each lane, in scalar registers.
//!
//! Greatest fixpoint: uniform values are scalar until an operation or an operand says otherwise; each value is taken out once.
//! Does not know that compilers move a value from one file into the other and back where both read it.
//!
//! Source: LLVM's AMDGPU backend (SIFixSGPRCopies, AMDGPUAnnotateUniformValues).

use crate::model::{Class, FunctionFacts, Scope};
use ir::cfg::ControlFlow;
use ir::entity::{Entity, EntitySet};
use ir::{
    BinaryOp, Block, Convert, Function, FunctionKind, Inst, InstData, Op, Space, Special, Type,
    UnaryOp, Value, ValueDef, WarpKind,
};

/// Bits of a scalar register: lanes of a mask in one of them.
const MASK: u32 = 32;

/// The values that scalar registers hold.
#[derive(Clone, PartialEq, Debug)]
pub struct ScalarValues {
    held: EntitySet<Value>,
    lanes: u32,
}

/// The registers that are counted.
#[derive(Clone, Copy, Debug)]
pub enum Counted<'a> {
    /// The registers of a processor with one file.
    All,
    /// The registers with a word for each lane.
    Vector(&'a ScalarValues),
    /// The registers with a word for the warp.
    Scalar(&'a ScalarValues),
}

impl ScalarValues {
    /// The values of a function that scalar registers hold in warps of so many lanes.
    #[must_use]
    pub fn new(function: &Function, facts: &FunctionFacts, lanes: u32) -> Self {
        let flow = ControlFlow::new(function);
        let unwritten = unwritten(function, &flow);
        let mut held = EntitySet::with_len(function.values.len());
        for value in function.values.keys() {
            if is_uniform(facts, value) && able(function, value, &unwritten) {
                held.insert(value);
            }
        }
        // The readers of each value: results of the instructions that read it, and parameters that it is
        // passed to.
        let mut readers: Vec<Vec<Value>> = vec![Vec::new(); function.values.len()];
        for &block in &flow.order {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                let inst = &function.insts[inst];
                for operand in depends(&inst.op, inst) {
                    readers[operand.index()].extend(&inst.results);
                }
            }
            for edge in data.terminator.edges() {
                let params = &function.blocks[edge.block].params;
                for (&param, &arg) in params.iter().zip(&edge.args) {
                    readers[arg.index()].push(param);
                }
            }
        }
        let mut work: Vec<Value> = function
            .values
            .keys()
            .filter(|value| !held.contains(value) && !is_free(function, *value))
            .collect();
        while let Some(value) = work.pop() {
            for &reader in &readers[value.index()] {
                if held.remove(&reader) {
                    work.push(reader);
                }
            }
        }
        ScalarValues { held, lanes }
    }

    /// Returns true for a value that one register holds for all lanes.
    #[must_use]
    pub fn holds(&self, value: Value) -> bool {
        self.held.contains(&value)
    }
}

impl Counted<'_> {
    /// The registers of a value in the file that is counted.
    pub(super) fn width(self, function: &Function, value: Value) -> u32 {
        match self {
            Counted::All => super::liveness::width(function, value),
            Counted::Vector(scalar) if scalar.holds(value) => 0,
            Counted::Vector(_) => super::liveness::width(function, value),
            Counted::Scalar(scalar) => scalar.width(function, value),
        }
    }
}

impl ScalarValues {
    fn width(&self, function: &Function, value: Value) -> u32 {
        if is_free(function, value) {
            return 0;
        }
        let uniform = self.holds(value);
        match function.ty(value) {
            // The result of a scalar comparison is a flag until it is kept.
            Type::Bool if uniform => 1,
            Type::Bool => self.lanes.div_ceil(MASK),
            _ if !uniform => 0,
            Type::Ptr(Space::Shared | Space::Local) => 1,
            Type::I40 | Type::I64 | Type::F64 | Type::Ptr(_) | Type::Opaque => 2,
            // A descriptor of a buffer has four words, which are loaded where it is read.
            Type::Handle => 4,
            _ => 1,
        }
    }
}

/// Returns true for a value that is an operand without a register: literals, addresses of symbols.
fn is_free(function: &Function, value: Value) -> bool {
    let inst = function.defining(value);
    inst.is_some_and(|inst| {
        matches!(
            inst.op,
            Op::Const(_) | Op::Undef | Op::SymbolAddress(_) | Op::Alloca { .. }
        )
    })
}

/// Returns true for a value that is the same in all lanes wherever it is read.
pub(super) fn is_uniform(facts: &FunctionFacts, value: Value) -> bool {
    let warp = |scope: Option<Scope>| scope.is_some_and(|scope| scope >= Scope::Subgroup);
    let fact = &facts.values[value];
    let known = warp(fact.uniform_at)
        || (fact.class == Class::Uniform && facts.options.scope >= Scope::Subgroup);
    let first = facts.temporal.partition_point(|at| at.value < value);
    let mut later = facts.temporal[first..]
        .iter()
        .take_while(|at| at.value == value);
    known && later.all(|at| warp(at.fact.uniform_at))
}

/// Returns true for a value that the scalar unit makes where it holds the operands.
fn able(function: &Function, value: Value, unwritten: &EntitySet<Inst>) -> bool {
    match function.values[value].def {
        // The caller of a device function passes in vector registers.
        ValueDef::Param(block, _) => {
            let entry = function.layout.first() == Some(&block);
            !entry || function.kind == FunctionKind::Kernel
        }
        ValueDef::Result(inst, _) => {
            let loads_unwritten = unwritten.contains(&inst);
            let inst = &function.insts[inst];
            inst.guard.is_none() && is_scalar(function, inst, loads_unwritten)
        }
    }
}

fn is_scalar(function: &Function, inst: &InstData, loads_unwritten: bool) -> bool {
    let float = |value: &Value| function.ty(*value).is_float();
    match &inst.op {
        Op::Const(_) | Op::Undef | Op::SymbolAddress(_) | Op::Parameter(_) | Op::Select => true,
        Op::ResourceElement { .. } | Op::PtrAdd | Op::IntCompare(_) => true,
        Op::Special(special) => !matches!(
            special,
            Special::ThreadId(_) | Special::LaneId | Special::MicroSimdTid
        ),
        Op::Unary(op) => match op {
            // A sign is part of the operand that reads it.
            UnaryOp::FloatNeg | UnaryOp::FloatAbs => true,
            _ => !inst.args.iter().any(float) && !inst.results.iter().any(float),
        },
        Op::Binary(op, _) => {
            !inst.args.iter().any(float)
                && !matches!(
                    op,
                    BinaryOp::AddSaturateSigned
                        | BinaryOp::SubSaturateSigned
                        | BinaryOp::MulFractional
                        | BinaryOp::ShlSaturateSigned
                        | BinaryOp::ShrSaturateSigned
                        | BinaryOp::DivFractional
                )
        }
        Op::Convert(
            Convert::Truncate
            | Convert::ZeroExtend
            | Convert::SignExtend
            | Convert::Bitcast
            | Convert::SpaceCast,
        ) => true,
        Op::Convert(Convert::ToBool) => !inst.args.iter().any(float),
        Op::Load(access) => {
            let constant = access.read_only || access.space == Space::Constant;
            !access.volatile && (constant || loads_unwritten)
        }
        Op::Warp(op) => matches!(
            op.kind,
            WarpKind::VoteAll
                | WarpKind::VoteAny
                | WarpKind::VoteUniform
                | WarpKind::Ballot
                | WarpKind::AllEqual
                | WarpKind::ReadFirstLane
                | WarpKind::ReadLaneAt
                | WarpKind::Reduce(_)
                | WarpKind::CountBits
                | WarpKind::ActiveMask
        ),
        _ => false,
    }
}

/// The operands that must be scalar for the results to be: of operations on lanes none, of loads the address.
fn depends<'a>(op: &Op, inst: &'a InstData) -> &'a [Value] {
    match op {
        Op::Warp(_) => &[],
        _ => &inst.args,
    }
}

/// The loads of a kernel from global memory that no write of the kernel can stand in front of.
fn unwritten(function: &Function, flow: &ControlFlow) -> EntitySet<Inst> {
    let mut out = EntitySet::with_len(function.insts.len());
    if function.kind != FunctionKind::Kernel {
        return out;
    }
    let writes = |inst: &Inst| match &function.insts[*inst].op {
        Op::Store(access) => is_global(access.space),
        op => op.has_effect(),
    };
    // Blocks that a write has come before.
    let mut later: EntitySet<Block> = EntitySet::with_len(function.blocks.len());
    let mut work: Vec<Block> = flow
        .order
        .iter()
        .filter(|&&block| function.blocks[block].insts.iter().any(writes))
        .copied()
        .collect();
    while let Some(block) = work.pop() {
        for &next in &flow.successors[block] {
            if later.insert(next) {
                work.push(next);
            }
        }
    }
    for &block in flow.order.iter().filter(|block| !later.contains(block)) {
        let insts = function.blocks[block].insts.iter();
        for &inst in insts.take_while(|inst| !writes(inst)) {
            if let Op::Load(access) = &function.insts[inst].op
                && is_global(access.space)
            {
                out.insert(inst);
            }
        }
    }
    out
}

const fn is_global(space: Space) -> bool {
    matches!(space, Space::Global | Space::Generic)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
