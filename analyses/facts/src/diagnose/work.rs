//! Rules about work that need not be: the same value computed by every lane, double precision by accident.

use super::memory::values_read;
use super::partial::Partial;
use super::{Context, convergence};
use crate::cost::is_folded;
use crate::model::*;
use crate::reason::FindingReason;
use ir::{
    BinaryOp, Block, Convert, Function, FunctionKind, Inst, InstData, Language, Op, Terminator,
    Type, UnaryOp, Value, ValueDef,
};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn findings(cx: &Context<'_>, out: &mut Vec<Finding>) {
    if !cx.is_one_thread() {
        redundant(cx, out);
    }
    if cx.function.language == Language::Cuda {
        double_by_accident(cx, out);
    }
}

/// Instruction slots of the operations that are worth a remark (`gpu-costs`, section 3: static instructions), by NVIDIA's expansion.
fn slots(cx: &Context<'_>, inst: Inst) -> u32 {
    let data = &cx.function.insts[inst];
    let constant = |number: usize| data.args.get(number).is_some_and(|&v| is_constant(cx, v));
    let wide = data
        .results
        .first()
        .is_some_and(|&r| cx.function.bytes(r) == 8);
    match data.op {
        Op::Binary(
            BinaryOp::DivSigned
            | BinaryOp::DivUnsigned
            | BinaryOp::RemSigned
            | BinaryOp::RemUnsigned,
            _,
        ) if constant(1) => 0,
        Op::Binary(BinaryOp::DivSigned | BinaryOp::RemSigned, _) => {
            if wide {
                76
            } else {
                25
            }
        }
        Op::Binary(BinaryOp::DivUnsigned | BinaryOp::RemUnsigned, _) => {
            if wide {
                73
            } else {
                18
            }
        }
        Op::Binary(BinaryOp::FloatDiv, _) if constant(1) && !wide => 8,
        Op::Binary(BinaryOp::FloatDiv, _) => {
            if wide {
                30
            } else {
                10
            }
        }
        Op::Unary(UnaryOp::ApproximateSin | UnaryOp::ApproximateCos | UnaryOp::ApproximateLog2)
        | Op::Binary(BinaryOp::ApproximateDiv, _) => 4,
        Op::Binary(BinaryOp::FloatRem | BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot, _) => 30,
        Op::Unary(UnaryOp::Sqrt | UnaryOp::Reciprocal | UnaryOp::Rsqrt) => {
            if wide {
                30
            } else {
                8
            }
        }
        Op::Unary(
            UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Tan
            | UnaryOp::Exp
            | UnaryOp::Exp10
            | UnaryOp::Log
            | UnaryOp::Log10
            | UnaryOp::Sinh
            | UnaryOp::Cosh
            | UnaryOp::Tanh
            | UnaryOp::Asin
            | UnaryOp::Acos
            | UnaryOp::Atan
            | UnaryOp::Erf,
        ) => 16,
        // Registers and halves of them under another name.
        Op::Convert(
            Convert::Bitcast | Convert::Truncate | Convert::ZeroExtend | Convert::SignExtend,
        ) => 0,
        // What puts two halves into a register: PTX packs with shifts.
        Op::Binary(BinaryOp::Shl | BinaryOp::Or, _) if cx.function.language == Language::Ptx => 0,
        Op::Unary(UnaryOp::Gamma | UnaryOp::LogGamma | UnaryOp::Cbrt | UnaryOp::Erfc) => 40,
        _ => 1,
    }
}

fn is_constant(cx: &Context<'_>, value: Value) -> bool {
    matches!(
        cx.function.defining(value).map(|d| &d.op),
        Some(Op::Const(_))
    )
}

/// Costly expressions over kernel parameters and constants alone, each reported once, at its dearest
/// operation.
fn redundant(cx: &Context<'_>, out: &mut Vec<Finding>) {
    const WORTH_A_REMARK: u32 = 16;
    if !matches!(cx.function.kind, FunctionKind::Kernel) {
        return;
    }
    // The first of the pure operations that compute the same value from parameters and constants.
    let mut first: FxHashMap<Value, Value> = FxHashMap::default();
    let mut computed: FxHashMap<(String, Vec<Value>), Value> = FxHashMap::default();
    // What compilers fold.
    let mut folded: FxHashSet<Value> = FxHashSet::default();
    let mut used_by_another: FxHashSet<Value> = FxHashSet::default();
    let mut candidates: Vec<(Block, Value)> = Vec::new();
    let entry = cx.function.entry();
    for (block, inst) in cx.instructions() {
        let data = &cx.function.insts[inst];
        let &[result] = data.results.as_slice() else {
            continue;
        };
        let pure = matches!(
            data.op,
            Op::Unary(_)
                | Op::Binary(..)
                | Op::Convert(_)
                | Op::Select
                | Op::Fma
                | Op::IntCompare(_)
                | Op::FloatCompare(_)
        );
        if !pure || !cx.uniform(result, block, Scope::Dispatch) {
            continue;
        }
        let mut varies = false;
        let mut known = true;
        for &arg in &data.args {
            let is_parameter =
                matches!(cx.function.values[arg].def, ValueDef::Param(b, _) if b == entry);
            if first.contains_key(&arg) || is_parameter {
                varies = true;
            } else if !is_constant(cx, arg) && !folded.contains(&arg) {
                known = false;
            }
        }
        if known && !varies {
            folded.insert(result);
        } else if known {
            let args = data.args.iter().map(|arg| *first.get(arg).unwrap_or(arg));
            let key = (
                format!("{:?} {:?}", data.op, cx.function.ty(result)),
                args.collect(),
            );
            first.insert(result, *computed.entry(key).or_insert(result));
            used_by_another.extend(data.args.iter().copied().filter(|a| first.contains_key(a)));
            candidates.push((block, result));
        }
    }
    let mut warp = None;
    let mut told: FxHashSet<Value> = FxHashSet::default();
    for (block, result) in candidates {
        if used_by_another.contains(&result) {
            continue;
        }
        let mut sum = 0u32;
        let mut dearest: Option<(u32, Inst)> = None;
        let mut tree: FxHashSet<Value> = FxHashSet::default();
        let mut work = vec![result];
        while let Some(value) = work.pop() {
            let Some(&value) = first.get(&value) else {
                continue;
            };
            let ValueDef::Result(inst, _) = cx.function.values[value].def else {
                continue;
            };
            if told.contains(&value) || !tree.insert(value) {
                continue;
            }
            let own = slots(cx, inst);
            sum = sum.saturating_add(own);
            if dearest.is_none_or(|(most, _)| own > most) {
                dearest = Some((own, inst));
            }
            work.extend(cx.function.insts[inst].args.iter().copied());
        }
        let Some((_, dearest)) = dearest.filter(|_| sum >= WORTH_A_REMARK) else {
            continue;
        };
        let (partial, needed) = warp.get_or_insert_with(|| {
            let partial = cx.partial(Scope::Subgroup);
            let needed = needed(cx, &partial);
            (partial, needed)
        });
        // A value that one thread of the workgroup computes is computed once already; operands of assertions
        // alone are not compiled without them.
        if !needed.contains(&result) || convergence::in_one_lane(cx, partial, block) {
            continue;
        }
        told.extend(tree);
        let reason = FindingReason::RedundantWork { instructions: sum };
        let (code, loc) = (Code::RedundantPerThreadWork, cx.function.insts[dearest].loc);
        out.push(cx.finding(code, Tier::Hint, loc, reason, Vec::new()));
    }
}

/// The values on which something depends that a lane does, by data and by control: the rest serves assertions, or nothing.
fn needed(cx: &Context<'_>, partial: &Partial) -> FxHashSet<Value> {
    let function = cx.function;
    let mut needed = FxHashSet::default();
    let mut work: Vec<Value> = Vec::new();
    let mut blocks = vec![false; function.blocks.len()];
    let mut comes_to = |block: Block, work: &mut Vec<Value>| {
        let mut open = vec![block];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut blocks[at.0 as usize], true) {
                for branch in partial.controls(at) {
                    work.extend(function.blocks[branch].terminator.selector());
                    open.push(branch);
                }
            }
        }
    };
    let read = values_read(function);
    for (block, inst) in cx.instructions() {
        let data = &function.insts[inst];
        if data.op.has_effect() {
            work.extend(data.args.iter().copied());
            comes_to(block, &mut work);
        }
        // Results whose use is not followed count as needed, such as a store to an element of an unknown
        // type. A condition without a use belongs to an assertion.
        let mut lost = data.results.iter().filter(|&result| !read.contains(result));
        work.extend(lost.find(|&&result| function.ty(result) != Type::Bool));
    }
    for &block in &function.layout {
        if let Terminator::Return(values) = &function.blocks[block].terminator {
            work.extend(values.iter().copied());
        }
    }
    while let Some(value) = work.pop() {
        if !needed.insert(value) {
            continue;
        }
        match function.values[value].def {
            ValueDef::Result(inst, _) => work.extend(function.insts[inst].args.iter().copied()),
            ValueDef::Param(block, number) => {
                for &before in &cx.flow.predecessors[block] {
                    for edge in function.blocks[before].terminator.edges() {
                        if edge.block == block {
                            work.extend(edge.args.get(number as usize).copied());
                        }
                    }
                    work.extend(function.blocks[before].terminator.selector());
                    comes_to(before, &mut work);
                }
            }
        }
    }
    needed
}

/// Double arithmetic between floats: the operands are floats or literals, and the result becomes a float or a truth value again.
fn double_by_accident(cx: &Context<'_>, out: &mut Vec<Finding>) {
    // What the author declares as double is no accident.
    let bindings = cx.function.bindings.iter();
    let declared: FxHashSet<Value> = bindings
        .filter(|binding| {
            let variable = &cx.function.variables[binding.variable];
            variable.type_text.contains("double")
        })
        .flat_map(|binding| binding.values.iter().copied())
        .collect();
    for (_, inst) in cx.instructions() {
        let data = &cx.function.insts[inst];
        let roots: &[Value] = match data.op {
            Op::Convert(Convert::FloatToFloat)
                if data
                    .results
                    .first()
                    .is_some_and(|&r| cx.function.ty(r) == Type::F32) =>
            {
                &data.args
            }
            Op::FloatCompare(_) => &data.args,
            _ => continue,
        };
        if roots.iter().any(|&v| cx.function.ty(v) != Type::F64) {
            continue;
        }
        let Some(tree) = double_tree(cx, &declared, roots) else {
            continue;
        };
        if tree.literals == 0
            || tree.floats == 0
            || (tree.operations == 0 && !matches!(data.op, Op::FloatCompare(_)))
            || tree.compiler_narrows(&data.op)
        {
            continue;
        }
        let loc = tree.loc.unwrap_or(data.loc);
        let reason = FindingReason::DoubleByAccident {
            operations: tree.operations,
        };
        let code = Code::Fp64ByAccident;
        out.push(cx.finding(code, Tier::Hint, loc, reason, Vec::new()));
    }
}

struct DoubleTree {
    operations: u32,
    literals: u32,
    floats: u32,
    integers: u32,
    /// A literal is no float, or an operation is none that narrows.
    wide: bool,
    /// The place of the outermost double operation.
    loc: Option<ir::Loc>,
}

impl DoubleTree {
    /// One sum, product or quotient of floats gives the same float in double and in single precision (Figueroa 1995), and so
    /// does a comparison with a literal that is a float: compilers take the narrow operation then.
    fn compiler_narrows(&self, root: &Op) -> bool {
        let most = u32::from(!matches!(root, Op::FloatCompare(_)));
        !self.wide && self.integers == 0 && self.operations <= most
    }
}

/// Operations on constants that are followed.
const FOLDED: u32 = 8;

/// The value of an expression of constants in double precision, where it is of sums, products and quotients.
fn constant(function: &Function, data: &InstData, depth: u32) -> Option<f64> {
    let of = |at: usize| {
        constant(
            function,
            function.defining(*data.args.get(at)?)?,
            depth.checked_sub(1)?,
        )
    };
    let result = *data.results.first()?;
    match data.op {
        Op::Const(bits) => match function.ty(result) {
            Type::F64 => Some(f64::from_bits(bits)),
            Type::F32 => Some(f64::from(f32::from_bits(bits as u32))),
            _ => function.int_constant(result).map(|int| int as f64),
        },
        _ if function.ty(result) != Type::F64 => None,
        Op::Convert(Convert::FloatToFloat | Convert::SignedToFloat) => of(0),
        Op::Unary(UnaryOp::FloatNeg) => Some(-of(0)?),
        Op::Binary(BinaryOp::FloatAdd, _) => Some(of(0)? + of(1)?),
        Op::Binary(BinaryOp::FloatSub, _) => Some(of(0)? - of(1)?),
        Op::Binary(BinaryOp::FloatMul, _) => Some(of(0)? * of(1)?),
        Op::Binary(BinaryOp::FloatDiv, _) => Some(of(0)? / of(1)?),
        _ => None,
    }
}

/// `None` when a true double takes part.
fn double_tree(
    cx: &Context<'_>,
    declared: &FxHashSet<Value>,
    roots: &[Value],
) -> Option<DoubleTree> {
    let mut tree = DoubleTree {
        operations: 0,
        literals: 0,
        floats: 0,
        integers: 0,
        wide: false,
        loc: None,
    };
    let mut work: Vec<Value> = roots.to_vec();
    let mut seen = FxHashSet::default();
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > 64 || declared.contains(&value) {
            return None;
        }
        let data = cx.function.defining(value)?;
        let widened = |&arg: &Value| {
            let data = cx.function.defining(arg);
            data.is_some_and(|data| {
                matches!(data.op, Op::Convert(Convert::FloatToFloat))
                    && cx.function.ty(data.args[0]) == Type::F32
            })
        };
        // Between floats alone nothing is double but what the author converts.
        if !matches!(data.op, Op::Convert(_))
            && !data.args.is_empty()
            && data.args.iter().all(widened)
        {
            return None;
        }
        if is_folded(cx.function, data) {
            let literal = constant(cx.function, data, FOLDED);
            tree.wide |= literal.is_none_or(|literal| f64::from(literal as f32) != literal);
            tree.literals += 1;
            continue;
        }
        match data.op {
            Op::Const(bits) => {
                let literal = f64::from_bits(bits);
                tree.wide |= f64::from(literal as f32) != literal;
                tree.literals += 1;
            }
            Op::Convert(Convert::FloatToFloat) if cx.function.ty(data.args[0]) == Type::F32 => {
                tree.floats += 1
            }
            Op::Convert(Convert::SignedToFloat | Convert::UnsignedToFloat) => tree.integers += 1,
            Op::Binary(
                BinaryOp::FloatAdd
                | BinaryOp::FloatSub
                | BinaryOp::FloatMul
                | BinaryOp::FloatDiv
                | BinaryOp::FloatMin
                | BinaryOp::FloatMax,
                _,
            )
            | Op::Unary(UnaryOp::Sqrt)
            | Op::Fma => {
                tree.operations += 1;
                tree.wide |= matches!(data.op, Op::Fma);
                tree.loc.get_or_insert(data.loc);
                work.extend(data.args.iter().copied());
            }
            // Exact in either precision.
            Op::Unary(UnaryOp::FloatNeg | UnaryOp::FloatAbs) => {
                tree.loc.get_or_insert(data.loc);
                work.extend(data.args.iter().copied());
            }
            // Functions of the mathematical library: no compiler replaces the wide one by the narrow one.
            Op::Unary(
                UnaryOp::Sin
                | UnaryOp::Cos
                | UnaryOp::Tan
                | UnaryOp::Asin
                | UnaryOp::Acos
                | UnaryOp::Atan
                | UnaryOp::Sinh
                | UnaryOp::Cosh
                | UnaryOp::Tanh
                | UnaryOp::Exp
                | UnaryOp::Exp2
                | UnaryOp::Exp10
                | UnaryOp::Log
                | UnaryOp::Log2
                | UnaryOp::Log10
                | UnaryOp::Cbrt
                | UnaryOp::Erf
                | UnaryOp::Erfc
                | UnaryOp::Rsqrt,
            )
            | Op::Binary(
                BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::FloatRem,
                _,
            ) => {
                tree.operations += 1;
                tree.wide = true;
                tree.loc.get_or_insert(data.loc);
                work.extend(data.args.iter().copied());
            }
            _ => return None,
        }
    }
    Some(tree)
}
