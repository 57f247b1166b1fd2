//! Bank conflicts of shared memory.

use super::{is_of_unknown_size, of_rows};
use crate::diagnose::partial::Partial;
use crate::diagnose::{Context, side_by_side};
use crate::model::*;
use crate::reason::{BankRemedy, FindingReason};
use crate::symbolic::Factor;
use ir::{BinaryOp, Block, Function, Op, Space, Special, Value};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn banks(cx: &Context<'_>, out: &mut Vec<Finding>) {
    let mut together: FxHashMap<(&str, Option<i64>, Option<Block>), u64> = FxHashMap::default();
    for access in &cx.facts.accesses {
        *together
            .entry((&access.base, access.stride_bytes, cx.block_of[access.inst]))
            .or_default() += u64::from(access.bytes);
    }
    let rows = of_rows(cx);
    let mut warp = None;
    for access in cx
        .facts
        .accesses
        .iter()
        .filter(|a| a.space == Space::Shared)
    {
        // Two passes of an irregular pattern are what a padded row costs.
        let least = if access.stride_bytes.is_some() { 2 } else { 4 };
        let Some(ways) = access.bank_ways.filter(|&ways| ways >= least) else {
            if access.bank_ways.is_none() && !cx.left_to_callers(access.address) {
                symbolic_banks(cx, access, out);
            }
            continue;
        };
        if cx.left_to_callers(access.address) || is_of_unknown_size(cx, access) {
            continue;
        }
        // Neighbours that are read together become one wide access.
        let beside = (
            access.base.as_str(),
            access.stride_bytes,
            cx.block_of[access.inst],
        );
        if let (Some(stride), false) = (access.stride_bytes, access.base.is_empty())
            && stride.unsigned_abs() <= 16
            && together.get(&beside).copied().unwrap_or(0) >= stride.unsigned_abs()
        {
            continue;
        }
        // So do those of a longer row, in pieces of 16 bytes.
        let wide = access.wide_ways.filter(|_| {
            !access.base.is_empty()
                && (together.get(&beside).copied().unwrap_or(0) >= 16
                    && access.stride_bytes.is_some()
                    || side_by_side::bytes_side_by_side(cx, access).unwrap_or(0) >= 16)
        });
        let ways = match wide {
            Some(..4) => continue,
            Some(ways) => ways,
            None => ways,
        };
        // One component of wide elements: rows that are longer by an element leave it in the same banks.
        let of_wide = access.granule.is_some_and(|granule| {
            granule > access.bytes && granule < 32 && ways <= granule.div_ceil(4)
        });
        let remedy = match access.stride_bytes.map(i64::unsigned_abs) {
            // A row has at least as many words as a quarter of the banks; anything shorter is a structure or
            // a vector.
            Some(distance) if distance < 32 => BankRemedy::SplitComponents,
            None if of_wide => BankRemedy::SplitComponents,
            None if ways == 2 => BankRemedy::None,
            // Rows that begin one element later each may still meet: `(lane % 4) * 2 * width + lane / 4`.
            None if wide.is_none() && access.padded_ways.is_some_and(|left| left * 2 > ways) => {
                BankRemedy::PadOrPermute
            }
            // A row stays aligned for its wide accesses.
            _ if access.bytes == 16 || wide.is_some() => BankRemedy::PadBytes(16),
            _ if access.bytes == 8 => BankRemedy::PadBytes(8),
            _ => BankRemedy::PadElement,
        };
        // A few lanes may be fewer still.
        let some = access.partial
            || cx.block_of[access.inst].is_some_and(|block| {
                let warp = warp.get_or_insert_with(|| cx.partial(Scope::Subgroup));
                some_lanes_of_a_block(cx, warp, block)
            });
        let reason = FindingReason::BankConflict {
            base: access.base.clone(),
            ways,
            stride: access.stride_bytes,
            whole_rows: rows,
            at_most: some,
            // Wide accesses are made in pieces of the warp.
            in_pieces: access.bytes > 4 || wide.is_some(),
            remedy,
        };
        let code = Code::BankConflict;
        out.push(cx.finding(code, Tier::Hint, access.loc, reason, Vec::new()));
    }
}

/// A branch above splits the lanes by something else than the end of the data, at which few of the grid's blocks are.
fn some_lanes_of_a_block(cx: &Context<'_>, warp: &Partial, block: Block) -> bool {
    warp.edges_to(block).iter().any(|&(branch, _)| {
        let lanes = cx.facts.branch(branch).and_then(|fact| fact.lanes);
        let selector = cx.function.blocks[branch].terminator.selector();
        lanes.is_none() && selector.is_some_and(|selector| !counts_blocks(cx.function, selector))
    })
}

/// A comparison with a number of the grid's threads.
fn counts_blocks(function: &Function, condition: Value) -> bool {
    let (mut work, mut seen) = (vec![condition], FxHashSet::default());
    while let Some(value) = work.pop() {
        if !seen.insert(value) || seen.len() > 64 {
            continue;
        }
        let Some(data) = function.defining(value) else {
            continue;
        };
        match data.op {
            Op::Special(Special::BlockId(_)) => return true,
            Op::Binary(BinaryOp::RemSigned | BinaryOp::RemUnsigned, _) | Op::Load(_) => {}
            _ => work.extend(data.args.iter().copied()),
        }
    }
    false
}

/// `8*s`: whatever the uniform factor is, lanes at the distance of the constant factor share banks.
fn symbolic_banks(cx: &Context<'_>, access: &AccessFact, out: &mut Vec<Finding>) {
    let Some(stride) = &access.stride_sum else {
        return;
    };
    let Some((factor, [Factor::Name(name)])) = stride
        .as_product()
        .map(|product| (product.coefficient, product.factors.as_slice()))
    else {
        return;
    };
    let named = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let Some(factor) = u64::try_from(factor)
        .ok()
        .filter(|_| name.chars().all(named))
    else {
        return;
    };
    // Wide accesses are made in parts of the warp: a stride of their own width has no conflict.
    let dense = u64::from(access.bytes.max(4));
    if !factor.is_multiple_of(2 * dense) || !factor.is_power_of_two() || access.lanes < 2 {
        return;
    }
    let most = access.lanes.min(32);
    let reason = FindingReason::BankConflictSymbolic {
        base: access.base.clone(),
        stride: stride.clone(),
        factor: name.clone(),
        least: (factor / dense).min(u64::from(most)),
        most,
    };
    let code = Code::BankConflict;
    out.push(cx.finding(code, Tier::Hint, access.loc, reason, Vec::new()));
}
