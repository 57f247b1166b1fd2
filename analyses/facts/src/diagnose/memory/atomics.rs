//! Atomic operations of a warp on one address.

use super::is_of_unknown_size;
use crate::active::is_rank;
use crate::diagnose::partial::Partial;
use crate::diagnose::rounds::below;
use crate::diagnose::{Context, arrays, convergence};
use crate::model::*;
use crate::reason::FindingReason;
use ir::lower::c_family::builtins::hlsl::extensions;
use ir::{
    AtomicOp, BinaryOp, Block, Function, FunctionKind, Inst, IntCondition, Language, Op,
    Terminator, Type, Value, ValueDef,
};
use rustc_hash::FxHashSet;

/// Returns whether ptxas combines an atomic operation into one a warp by itself, where the address is the
/// same in all lanes: additions (lanes are counted, and the lanes below determine the value that each one
/// finds), and operations on 32-bit integers whose old value is not read (`REDUX`, from sm_80 on).
fn is_merged_by_the_compiler(
    function: &Function,
    used: &FxHashSet<Value>,
    inst: Inst,
    op: AtomicOp,
) -> bool {
    if !matches!(function.language, Language::Cuda | Language::Ptx) {
        return false;
    }
    let data = &function.insts[inst];
    let Some(&operand) = data.args.get(1) else {
        return false;
    };
    let unread = data.results.iter().all(|result| !used.contains(result));
    match op {
        AtomicOp::Add | AtomicOp::Sub => {
            function.int_constant(operand).is_some() || unread && function.ty(operand) == Type::I32
        }
        AtomicOp::MinSigned
        | AtomicOp::MaxSigned
        | AtomicOp::MinUnsigned
        | AtomicOp::MaxUnsigned
        | AtomicOp::And
        | AtomicOp::Or
        | AtomicOp::Xor => unread && function.ty(operand) == Type::I32,
        _ => false,
    }
}

/// Returns the operands of all instructions and terminators.
pub(in crate::diagnose) fn values_read(function: &Function) -> FxHashSet<Value> {
    let mut read = FxHashSet::default();
    for block in &function.layout {
        let data = &function.blocks[*block];
        for &inst in &data.insts {
            read.extend(function.insts[inst].args.iter().copied());
            read.extend(function.insts[inst].guard.map(|guard| guard.value));
        }
        read.extend(data.terminator.selector());
        if let Terminator::Return(values) = &data.terminator {
            read.extend(values.iter().copied());
        }
        for edge in data.terminator.edges() {
            read.extend(edge.args.iter().copied());
        }
    }
    read
}

/// `error_count`, `g.overflow`, `numFailed`: it is not counted when all goes well.
fn counts_failures(base: &str) -> bool {
    let lower = base.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphabetic());
    ["error", "fail", "overflow", "invalid"]
        .iter()
        .any(|word| lower.contains(word))
        || words.any(|word| matches!(word, "err" | "errs" | "bad" | "wrong"))
}

pub(super) fn atomics(cx: &Context<'_>, out: &mut Vec<Finding>) {
    // Whether all lanes or one calls a function, its callers tell.
    if cx.function.kind == FunctionKind::Device {
        return;
    }
    let (mut warp, mut read) = (None, None);
    for access in &cx.facts.accesses {
        let AccessKind::Atomic(op) = access.kind else {
            continue;
        };
        // How a hidden counter is counted is the driver's own.
        if access.class != AccessClass::Uniform
            || access.lanes == 1
            || ir::is_counter(&access.base)
            || counts_failures(&access.base)
            || is_of_unknown_size(cx, access)
            // What looks like an atomic operation is an instruction to the driver.
            || extensions::is_driver_buffer(&access.base)
            || cx.left_to_callers(access.address)
        {
            continue;
        }
        let read = read.get_or_insert_with(|| values_read(cx.function));
        if is_merged_by_the_compiler(cx.function, read, access.inst, op) {
            continue;
        }
        let partial = warp.get_or_insert_with(|| cx.partial(Scope::Subgroup));
        if cx.block_of[access.inst].is_some_and(|block| {
            is_one_lane_of_an_instantiation(cx, partial, block)
                || holds_a_ticket(cx, partial, block)
                || is_elected(cx, partial, block)
        }) {
            continue;
        }
        let reason = FindingReason::AtomicContention {
            base: access.base.clone(),
            lanes: access.partial.then_some(access.lanes),
            most: access.lanes,
            exchange: matches!(op, AtomicOp::Exchange | AtomicOp::CompareExchange),
        };
        let code = Code::AtomicSameAddress;
        out.push(cx.finding(code, Tier::Hint, access.loc, reason, Vec::new()));
    }
}

/// `if (__popc(__activemask() & lanes_below) == 0)`.
fn is_elected(cx: &Context<'_>, warp: &Partial, block: Block) -> bool {
    warp.edges_to(block).iter().any(|&(branch, target)| {
        let Terminator::Branch {
            condition, then, ..
        } = &cx.function.blocks[branch].terminator
        else {
            return false;
        };
        let asked = cx.function.defining(*condition);
        then.block == target
            && asked.is_some_and(|asked| {
                asked.op == Op::IntCompare(IntCondition::Equal)
                    && asked.args.iter().any(|&side| {
                        is_rank(cx.function, side, true, |vote| {
                            convergence::holds_on_the_way(cx, vote, branch)
                        })
                    })
                    && (asked.args.iter()).any(|&side| cx.uniform(side, branch, Scope::Subgroup))
            })
    })
}

/// `if (atomicAdd(&taken, 1) == 0)`: an atomic operation finds a given number in one lane only, except
/// numbers that the others leave as they are.
fn holds_a_ticket(cx: &Context<'_>, warp: &Partial, block: Block) -> bool {
    let function = cx.function;
    let is_ticket = |value: Value| {
        let ValueDef::Result(inst, _) = function.values[below(function, value)].def else {
            return false;
        };
        let data = &function.insts[inst];
        matches!(
            data.op,
            Op::Atomic(
                AtomicOp::Add | AtomicOp::Sub | AtomicOp::Exchange | AtomicOp::CompareExchange,
                ..
            )
        ) && cx.block_of[inst].is_some_and(|at| cx.uniform(data.args[0], at, Scope::Subgroup))
    };
    warp.edges_to(block).iter().any(|&(branch, target)| {
        let Terminator::Branch {
            condition, then, ..
        } = &function.blocks[branch].terminator
        else {
            return false;
        };
        let (mut compare, mut holds) = (function.defining(*condition), then.block == target);
        while let Some(data) = compare
            && data.op == Op::Unary(ir::UnaryOp::Not)
        {
            (compare, holds) = (function.defining(data.args[0]), !holds);
        }
        let wanted = match holds {
            true => IntCondition::Equal,
            false => IntCondition::NotEqual,
        };
        compare.is_some_and(|data| {
            data.op == Op::IntCompare(wanted) && {
                let [a, b] = [data.args[0], data.args[1]];
                let same = |value: Value| cx.uniform(value, branch, Scope::Subgroup);
                // What an exchange expected, it found: it was made.
                is_ticket(a) && (same(b) || is_expected_by(function, b, a))
                    || is_ticket(b) && (same(a) || is_expected_by(function, a, b))
            }
        })
    })
}

/// Returns true if an exchange that compares gave `found` where it expected `value`.
fn is_expected_by(function: &Function, value: Value, found: Value) -> bool {
    function
        .defining(below(function, found))
        .is_some_and(|data| {
            matches!(data.op, Op::Atomic(AtomicOp::CompareExchange, _))
                && data.args.get(1).map(|&argument| below(function, argument))
                    == Some(below(function, value))
        })
}

/// `if (threadIdx.x % tile == 0)`, `if (group.rank() == 0)`: only a template argument, or a function that is
/// not visible, determines in how many lanes they are equal.
pub(in crate::diagnose) fn is_one_lane_of_an_instantiation(
    cx: &Context<'_>,
    warp: &Partial,
    block: Block,
) -> bool {
    let function = cx.function;
    warp.edges_to(block).iter().any(|&(branch, target)| {
        let Terminator::Branch {
            condition, then, ..
        } = &function.blocks[branch].terminator
        else {
            return false;
        };
        let holds = then.block == target;
        let mut work = vec![*condition];
        for _ in 0..32 {
            let Some(value) = work.pop() else {
                return false;
            };
            let mut joined = Vec::new();
            if let ValueDef::Param(join, number) = function.values[value].def {
                joined.extend(arrays::chosen_among(cx, join, number).into_iter().flatten());
            }
            work.extend(joined);
            let Some(data) = function.defining(value) else {
                continue;
            };
            match data.op {
                Op::IntCompare(IntCondition::Equal)
                    if holds && compares_with_the_unknown(cx, data, branch) =>
                {
                    return true;
                }
                Op::IntCompare(IntCondition::NotEqual)
                    if !holds && compares_with_the_unknown(cx, data, branch) =>
                {
                    return true;
                }
                Op::Binary(BinaryOp::And, _) if holds => work.extend(data.args.iter().copied()),
                Op::Binary(BinaryOp::Or, _) if !holds => work.extend(data.args.iter().copied()),
                Op::Convert(_) => work.push(data.args[0]),
                _ => {}
            }
        }
        false
    })
}

/// Each side is uniform or computed from something unknown, and from nothing that is loaded; one is unknown.
fn compares_with_the_unknown(cx: &Context<'_>, compare: &ir::InstData, at: Block) -> bool {
    let unknown = |value: Value| {
        let (mut work, mut found) = (vec![value], false);
        let mut seen = FxHashSet::default();
        for _ in 0..64 {
            let Some(value) = work.pop() else {
                return found;
            };
            if !seen.insert(value) {
                continue;
            }
            // What rounds make of it is as unknown as what it begins with.
            if let ValueDef::Param(join, number) = cx.function.values[value].def {
                for &before in &cx.flow.predecessors[join] {
                    for edge in cx.function.blocks[before].terminator.edges() {
                        if edge.block == join {
                            work.extend(edge.args.get(number as usize).copied());
                        }
                    }
                }
            }
            let Some(data) = cx.function.defining(value) else {
                continue;
            };
            match data.op {
                Op::Parameter(_) | Op::Unknown(_) | Op::CallUnknown { .. } => found = true,
                Op::Load(_) | Op::Atomic(..) | Op::Texture(_) => return false,
                // What lanes vote on is theirs together; which lanes is the question.
                Op::Warp(_) => work.extend(data.args.iter().skip(1).copied()),
                _ => work.extend(data.args.iter().copied()),
            }
        }
        false
    };
    let [a, b] = [compare.args[0], compare.args[1]];
    let fits = |value: Value| cx.uniform(value, at, Scope::Subgroup) || unknown(value);
    fits(a) && fits(b) && (unknown(a) || unknown(b))
}
