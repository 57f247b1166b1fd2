//! Rules about memory: sectors, banks, atomics on one address.

mod atomics;
mod banks;

use super::{Context, rounds, side_by_side};
use crate::model::*;
use crate::reason::{FindingReason, StridedAccess};
use crate::symbolic::{Factor, Sum};
use atomics::atomics;
pub(super) use atomics::{is_one_lane_of_an_instantiation, values_read};
use banks::banks;
use ir::{BinaryOp, Block, Function, Inst, Op, Space, Special, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn findings(cx: &Context<'_>, out: &mut Vec<Finding>) {
    coalescing(cx, out);
    banks(cx, out);
    atomics(cx, out);
}

/// Strided accesses to device memory, unless the accesses of one block to the same array use the sectors together (the
/// fields of one structure).
fn coalescing(cx: &Context<'_>, out: &mut Vec<Finding>) {
    let mut together: FxHashMap<Together<'_>, u64> = FxHashMap::default();
    for access in cx
        .facts
        .accesses
        .iter()
        .filter(|a| a.space == Space::Global)
    {
        *together.entry(used_with(cx, access)).or_default() += u64::from(access.bytes);
    }
    let rows = of_rows(cx);
    let mut fields = None;
    // What nobody knows of one array is told once.
    let mut unknown: FxHashSet<(&str, &Sum)> = FxHashSet::default();
    for access in cx
        .facts
        .accesses
        .iter()
        .filter(|a| a.space == Space::Global)
    {
        if access.class != AccessClass::Strided
            || matches!(access.kind, AccessKind::Atomic(_))
            || cx.left_to_callers(access.address)
            || is_of_unknown_size(cx, access)
        {
            continue;
        }
        let block = cx.block_of[access.inst];
        if block.is_some_and(|block| rounds::in_a_rest(cx, block)) {
            continue;
        }
        let related = block
            .map(|b| cx.chain(access.address, b))
            .unwrap_or_default();
        let strided = StridedAccess {
            base: access.base.clone(),
            written: access.kind == AccessKind::Store,
            whole_rows: rows,
            ideal_sectors: access.ideal_sectors,
        };
        let code = Code::UncoalescedAccess;
        match (access.stride_bytes, access.sectors) {
            (Some(stride), Some(sectors)) => {
                let used = together.get(&used_with(cx, access)).copied().unwrap_or(0);
                let half = stride.unsigned_abs().div_ceil(2);
                let fields = fields.get_or_insert_with(|| Fields::of(cx));
                let shared = used >= half || fields.of_a_round(cx, access, half) >= half;
                if !is_waste(access, sectors) || shared {
                    continue;
                }
                // Two rounds take a sector, however far the next lane's is.
                let whole_sectors = u64::from(access.bytes) * 2 >= 32;
                if let Some(bytes) = side_by_side::bytes_side_by_side(cx, access)
                    && (whole_sectors && bytes >= 32
                        || stride.unsigned_abs() <= 64
                            && bytes.saturating_mul(2) >= stride.unsigned_abs())
                {
                    if (bytes == 8 || bytes == 16)
                        && stride.unsigned_abs().is_multiple_of(bytes)
                        && in_every_round(cx, access)
                    {
                        let reason = FindingReason::Narrow {
                            access: strided,
                            bytes: access.bytes,
                            stride,
                            vector: bytes,
                        };
                        out.push(cx.finding(code, Tier::Hint, access.loc, reason, related));
                    }
                    continue;
                }
                let reason = FindingReason::Strided {
                    access: strided,
                    stride,
                    sectors,
                };
                let tier = if sectors >= access.ideal_sectors.saturating_mul(4) {
                    Tier::Warning
                } else {
                    Tier::Hint
                };
                out.push(cx.finding(code, tier, access.loc, reason, related));
            }
            (None, Some(sectors)) => {
                if !is_waste(access, sectors) {
                    continue;
                }
                let reason = FindingReason::Scattered {
                    access: strided,
                    stride: access.stride_sum.clone(),
                    sectors,
                };
                out.push(cx.finding(code, Tier::Hint, access.loc, reason, related));
            }
            // The size of a type that is not known here says nothing, nor does a factor without a name.
            _ if let Some(stride) = &access.stride_sum
                && !stride.is_unknown()
                && !stride.factors().any(Factor::is_size)
                && !is_of_an_instantiation(cx, stride)
                && !is_dense_as_launched(cx, access, stride)
                && (access.base.is_empty() || unknown.insert((&access.base, stride))) =>
            {
                let reason = FindingReason::StrideUnknown {
                    access: strided,
                    stride: Some(stride.clone()).filter(Sum::is_named),
                };
                out.push(cx.finding(code, Tier::Hint, access.loc, reason, related));
            }
            _ => {}
        }
    }
}

/// Returns true where threads of several rows may be in one warp: rows are assumed to be whole warps.
fn of_rows(cx: &Context<'_>) -> bool {
    let in_rows = |data: &ir::InstData| {
        matches!(
            data.op,
            Op::Special(Special::ThreadId(1) | Special::ThreadId(2))
        )
    };
    let one_row = cx.size(1) == Some(1) && cx.size(2) == Some(1);
    cx.size(0).is_none() && !one_row && cx.function.insts.values().any(in_rows)
}

/// All that the stride is made of are template parameters: an instantiation may well access as many bytes at once.
fn is_of_an_instantiation(cx: &Context<'_>, stride: &Sum) -> bool {
    let parameter = |name: &str| {
        let mut insts = cx.function.insts.values();
        insts.any(|data| matches!(&data.op, Op::Parameter(own) if own == name))
    };
    stride.factors().filter_map(Factor::name).all(parameter)
}

/// `4*step` bytes, where all launches in sight pass 1 for `step`.
fn is_dense_as_launched(cx: &Context<'_>, access: &AccessFact, stride: &Sum) -> bool {
    let passed = |name: &str| {
        let mut parameters = cx.function.parameters.iter();
        let at = parameters.position(|parameter| parameter.name == name)?;
        let mut passed = cx.facts.options.passed.iter();
        let found = passed.find(|(parameter, _)| usize::try_from(*parameter) == Ok(at))?;
        Some(found.1)
    };
    let dense = u64::from(access.bytes);
    stride
        .evaluate(passed)
        .is_some_and(|stride| stride.unsigned_abs() <= dense)
}

/// Returns whether the type accessed is not known here: its lanes may well lie side by side.
fn is_of_unknown_size(cx: &Context<'_>, access: &AccessFact) -> bool {
    let data = &cx.function.insts[access.inst];
    let moved = match access.kind {
        AccessKind::Load => &data.results[..],
        AccessKind::Store => data.args.get(1..).unwrap_or_default(),
        AccessKind::Atomic(_) => {
            let args = data.args.get(1..).unwrap_or_default();
            return [args, &data.results]
                .into_iter()
                .flatten()
                .any(|&value| cx.function.ty(value) == Type::Opaque);
        }
    };
    let mut moved = moved.iter();
    moved.any(|&value| cx.function.ty(value) == Type::Opaque)
}

/// The access is made in every round of the loop around it.
fn in_every_round(cx: &Context<'_>, access: &AccessFact) -> bool {
    let Some(block) = cx.block_of[access.inst] else {
        return false;
    };
    let forest = cx.forest();
    forest.of(block).is_none_or(|own| {
        let mut back = cx.flow.predecessors[forest.loops[own].header].iter();
        back.all(|&back| !forest.contains(own, back) || cx.dominators().dominates(block, back))
    })
}

/// Array, stride, and block: accesses made together use the sectors together.
type Together<'a> = (&'a str, Value, Option<i64>, Option<Block>);

fn used_with<'a>(cx: &Context<'_>, access: &'a AccessFact) -> Together<'a> {
    // An access without a name is identified by the beginning of its address; a descriptor is often fetched
    // again for each access.
    let mut base = access.address;
    let fetched = loop {
        match cx.function.defining(base) {
            Some(data) if matches!(data.op, Op::PtrAdd) => base = data.args[0],
            Some(data) => break matches!(data.op, Op::ResourceElement { .. }),
            None => break false,
        }
    };
    if fetched || !access.base.is_empty() {
        base = Value(0);
    }
    let block = cx.block_of[access.inst].map(|block| first_of_its_kind(cx, block));
    (&access.base, base, access.stride_bytes, block)
}

/// The first of the blocks that are executed where and as often as this one.
fn first_of_its_kind(cx: &Context<'_>, block: Block) -> Block {
    let forest = cx.forest();
    let mut at = block;
    while let Some(before) = cx.dominators().immediate(at)
        && cx.post_dominators.dominates(at, before)
        && forest.of(before) == forest.of(at)
    {
        at = before;
    }
    at
}

/// A part of a structure that lanes access a stride apart.
struct Field {
    inst: Inst,
    /// The offset beside the computed address.
    offset: i64,
    bytes: u32,
    /// The bytes of a row: with the neighbours that other rounds of a loop access.
    row: u32,
}

/// The fields by array and stride, in the order of their offsets.
struct Fields<'a>(FxHashMap<(&'a str, Value, Option<i64>), Vec<Field>>);

impl<'a> Fields<'a> {
    fn of(cx: &'a Context<'_>) -> Fields<'a> {
        let mut fields: FxHashMap<_, Vec<Field>> = FxHashMap::default();
        for access in cx.facts.accesses.iter() {
            if access.stride_bytes.is_none() {
                continue;
            }
            let (name, base, stride, _) = used_with(cx, access);
            let row = side_by_side::bytes_side_by_side(cx, access).unwrap_or(0);
            fields.entry((name, base, stride)).or_default().push(Field {
                inst: access.inst,
                offset: constant_part(cx.function, access.address, 16),
                bytes: access.bytes,
                row: access.bytes.max(row.min(64) as u32),
            });
        }
        for fields in fields.values_mut() {
            fields.sort_by_key(|field| field.offset);
        }
        Fields(fields)
    }

    /// The bytes of one structure that a round of the loop accesses, on whichever way, and the loops in it; as far as they
    /// are wanted.
    fn of_a_round(&self, cx: &Context<'_>, access: &AccessFact, wanted: u64) -> u64 {
        let (name, base, stride, _) = used_with(cx, access);
        let (Some(block), Some(fields)) =
            (cx.block_of[access.inst], self.0.get(&(name, base, stride)))
        else {
            return 0;
        };
        let forest = cx.forest();
        let own = forest.of(block);
        let own_offset = constant_part(cx.function, access.address, 16);
        let reach = stride.unwrap_or(0).unsigned_abs().min(i64::MAX as u64) as i64;
        let first =
            fields.partition_point(|field| field.offset <= own_offset.saturating_sub(reach));
        let near = fields[first..]
            .iter()
            .take_while(|field| field.offset < own_offset.saturating_add(reach));
        let mut found: FxHashMap<i64, u32> = FxHashMap::default();
        let mut sum = 0;
        for field in near {
            let at = cx.block_of[field.inst];
            if own.is_none_or(|own| at.is_some_and(|at| forest.contains(own, at))) {
                // The elements of an array in it, one a round.
                let bytes = match field.inst == access.inst {
                    true => field.bytes,
                    false => field.row,
                };
                let known = found.entry(field.offset).or_default();
                sum += u64::from(bytes.saturating_sub(*known));
                *known = bytes.max(*known);
                if sum >= wanted {
                    break;
                }
            }
        }
        sum
    }
}

/// The constant part of an address.
fn constant_part(function: &Function, value: Value, depth: u32) -> i64 {
    if let Some(constant) = function.int_constant(value) {
        return constant;
    }
    let (Some(depth), Some(data)) = (depth.checked_sub(1), function.defining(value)) else {
        return 0;
    };
    let part = |number: usize| constant_part(function, data.args[number], depth);
    match data.op {
        Op::PtrAdd | Op::Binary(BinaryOp::Add, _) => part(0).wrapping_add(part(1)),
        Op::Binary(BinaryOp::Sub, _) => part(0).wrapping_sub(part(1)),
        Op::Convert(_) => part(0),
        Op::Binary(BinaryOp::Mul, _) => match function.int_constant(data.args[1]) {
            Some(by) => part(0).wrapping_mul(by),
            None => 0,
        },
        _ => 0,
    }
}

/// Twice the sectors that the bytes need; a few lanes alone must cost more than their own few sectors.
fn is_waste(access: &AccessFact, sectors: u32) -> bool {
    let least = access.ideal_sectors;
    sectors >= least.saturating_mul(2) && (!access.partial || sectors >= least.saturating_add(4))
}
