//! How many registers of 32 bits the values of a function need at once, at most: liveness on the IR in the order in which
//! it stands. An estimate of what a compiler will allocate: it orders, merges and computes again, which this does not.
//!
//! ```text
//! a = load p; b = load q; c = a * b; store r, c      a and b live before the product: 2
//! ```
//!
//! Counted are values in registers: two for 64 bits, none for literals, addresses of symbols, what a kernel gets in
//! constant memory, predicates and resources. A value that only renames another (a cast, a constant offset, a sign) is
//! the other. The lattice is sets of live values by block; the sets grow until they stay the same.
//!
//! `None` beyond `LARGEST` bits of sets.

use fixedbitset::FixedBitSet;
use ir::cfg::ControlFlow;
use ir::{
    Block, Convert, Function, FunctionKind, Language, Loc, Op, Space, Special, Terminator, Type,
    UnaryOp, Value, ValueDef,
};

/// Bits of all live sets together.
const LARGEST: usize = 1 << 27;
/// Renamings that are followed.
const STEPS: usize = 16;

/// The most that is live at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pressure {
    /// Of 32 bits.
    pub registers: u32,
    /// Where.
    pub loc: Loc,
}

#[must_use]
pub fn pressure(function: &Function) -> Option<Pressure> {
    let entry = *function.layout.first()?;
    let liveness = Liveness::new(function)?;
    let flow = &liveness.flow;
    let mut most = Pressure {
        registers: 0,
        loc: Loc::NONE,
    };
    for &block in &flow.order {
        let mut live = liveness.at_end(block);
        let mut sum: u32 = live.ones().map(|value| liveness.width[value]).sum();
        let data = &function.blocks[block];
        let mut note = |sum: u32, loc: Loc| {
            if sum > most.registers {
                most = Pressure {
                    registers: sum,
                    loc,
                };
            }
        };
        liveness.use_terminator(block, &mut |value| {
            if !live.put(value) {
                sum += liveness.width[value];
            }
        });
        note(sum, data.loc);
        for &inst in data.insts.iter().rev() {
            let inst = &function.insts[inst];
            for &result in &inst.results {
                let result = liveness.names[result.0 as usize];
                // A renaming of a value defines nothing.
                let own = inst.results.iter().any(|r| r.0 as usize == result);
                if own && live.contains(result) {
                    live.set(result, false);
                    sum -= liveness.width[result];
                }
            }
            liveness.use_inst(inst, &mut |value| {
                if !live.put(value) {
                    sum += liveness.width[value];
                }
            });
            note(sum, inst.loc);
        }
        if block == entry {
            note(sum, data.loc);
        }
    }
    Some(most)
}

struct Liveness<'f> {
    function: &'f Function,
    flow: ControlFlow,
    /// By value: the value that it is a name of.
    names: Vec<usize>,
    /// By value: registers.
    width: Vec<u32>,
    /// By block.
    at_start: Vec<FixedBitSet>,
}

impl<'f> Liveness<'f> {
    fn new(function: &'f Function) -> Option<Self> {
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

    fn at_end(&self, block: Block) -> FixedBitSet {
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

    fn use_inst(&self, inst: &ir::InstData, used: &mut impl FnMut(usize)) {
        if is_name(&inst.op) {
            return;
        }
        for &arg in inst.args.iter().chain(inst.guard.iter().map(|g| &g.value)) {
            self.used(arg, used);
        }
    }

    fn use_terminator(&self, block: Block, used: &mut impl FnMut(usize)) {
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

    fn used(&self, value: Value, used: &mut impl FnMut(usize)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> u32 {
        let function = ir::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
        pressure(&function).map_or(u32::MAX, |found| found.registers)
    }

    #[test]
    fn both_factors_live_before_the_product() {
        let text = r#"
function "f" device text -> f32 {
  parameter "a" "float" (v0)
  parameter "b" "float" (v1)
  parameter "c" "float" (v2)

b0(v0: f32, v1: f32, v2: f32):
  v3: f32 = fmul v0, v1
  v4: f32 = fadd v3, v2
  v5: f32 = fneg v4
  return v5
}
"#;
        assert_eq!(of(text), 3);
    }

    #[test]
    fn a_value_lives_around_a_loop_that_uses_it() {
        let text = r#"
function "f" device text -> f64 {
  parameter "x" "float" (v0)
  parameter "d" "double" (v1)
  parameter "c" "bool" (v2)

b0(v0: f32, v1: f64, v2: bool):
  jump b1(v0)

b1(v3: f32):
  branch v2, b2, b3 as loop

b2:
  v4: f32 = fadd v3, v0
  jump b1(v4)

b3:
  v5: f64 = fadd v1, v1
  return v5
}
"#;
        // x, its sum, and two registers of d, which waits; predicates have registers of their own.
        assert_eq!(of(text), 4);
    }
}
