//! Derivatives of the results of wave operations: helper lanes complete a pixel's quad but take no part in
//! operations across the wave, whose results are undefined in them; so is the difference to them.
//!
//! ```text
//! ddx(WaveActiveSum(x))                                    the value itself
//! n = 0; while (!WaveActiveAllTrue(done)) n++; ddx(n)      how often the wave operation let the loop run
//! ```
//!
//! A value is sensitive if a wave operation gives it, if an operand is sensitive, or if a branch that is decides that it
//! is computed or which value arrives. Witnesses only come, each once, so the walk ends. Operations of a quad, which helper
//! lanes take part in, and the number of lanes are none. After DXC's `WaveSensitivityAnalysis`; the array of resources and
//! the sampler that a sample uses have no derivative and are not asked for.

use super::Context;
use crate::model::*;
use crate::reason::{CauseReason, DerivativeUse, FindingReason};
use ir::{Block, EntityVec, FunctionKind, Inst, Op, ShaderStage, Value, WarpKind};

/// The wave operation because of which helper lanes hold something else.
struct Sensitive {
    values: EntityVec<Value, Option<Inst>>,
    blocks: EntityVec<Block, Option<Inst>>,
}

pub(super) fn wave_sensitive(cx: &Context<'_>, out: &mut Vec<Finding>) {
    let pixel = matches!(cx.function.kind, FunctionKind::Stage(ShaderStage::Pixel));
    if !pixel || cx.function.launch.with_helpers {
        return;
    }
    let mut waves = cx.instructions();
    if !waves.any(|(_, inst)| excludes_helpers(&cx.function.insts[inst].op)) {
        return;
    }
    let sensitive = find(cx);
    for (_, inst) in cx.instructions() {
        let data = &cx.function.insts[inst];
        let (of, operands) = match &data.op {
            Op::Derivative(_) => (DerivativeUse::Derivative, 0..data.args.len()),
            Op::Texture(access) if access.op.implicit_derivative() => {
                let first = 1 + usize::from(access.has_sampler);
                let coordinates = first..first + usize::from(access.coordinates);
                (DerivativeUse::LevelOfDetail, coordinates)
            }
            _ => continue,
        };
        let operands = data.args.get(operands).unwrap_or_default();
        let Some(wave) = operands.iter().find_map(|&value| sensitive.values[value]) else {
            continue;
        };
        let reason = FindingReason::DerivativeOfWave { of };
        let related = vec![CauseStep {
            reason: CauseReason::WaveOperation,
            loc: cx.function.insts[wave].loc,
        }];
        let code = Code::WaveSensitiveDerivative;
        out.push(cx.finding(code, Tier::Warning, data.loc, reason, related));
    }
}

/// Returns whether helper lanes take no part in the operation.
fn excludes_helpers(op: &Op) -> bool {
    matches!(op, Op::Warp(op) if !matches!(
        op.kind,
        WarpKind::QuadReadLaneAt
            | WarpKind::QuadReadAcrossX
            | WarpKind::QuadReadAcrossY
            | WarpKind::QuadReadAcrossDiagonal
            | WarpKind::QuadAny
            | WarpKind::QuadAll
    ))
}

fn find(cx: &Context<'_>) -> Sensitive {
    let function = cx.function;
    let mut sensitive = Sensitive {
        values: EntityVec::with_len(None, function.values.len()),
        blocks: EntityVec::with_len(None, function.blocks.len()),
    };
    let mut decides: EntityVec<Block, Option<Inst>> =
        EntityVec::with_len(None, function.blocks.len());
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &block in &cx.flow.order {
            let parameters = function.blocks[block].params.iter().enumerate();
            for (number, &parameter) in parameters {
                let arriving = cx.flow.predecessors[block].iter().find_map(|&before| {
                    let edges = function.blocks[before].terminator.edges();
                    let mut edges = edges.iter().filter(|edge| edge.block == block);
                    decides[before].or_else(|| {
                        edges.find_map(|edge| sensitive.values[*edge.args.get(number)?])
                    })
                });
                changed |= note(&mut sensitive.values[parameter], arriving);
            }
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                let own = excludes_helpers(&data.op).then_some(inst);
                let witness = own.or(sensitive.blocks[block]).or_else(|| {
                    let mut args = data.args.iter();
                    args.find_map(|&arg| sensitive.values[arg])
                });
                // A constant is what it is wherever it is written.
                let witness = witness.filter(|_| !data.args.is_empty() || own.is_some());
                for &result in &data.results {
                    changed |= note(&mut sensitive.values[result], witness);
                }
            }
            let selector = function.blocks[block].terminator.selector();
            let witness = selector
                .and_then(|selector| sensitive.values[selector])
                .or(sensitive.blocks[block]);
            changed |= note(&mut decides[block], witness);
            for &next in &cx.flow.successors[block] {
                if !cx.post_dominators.dominates(next, block) {
                    changed |= note(&mut sensitive.blocks[next], witness);
                }
            }
        }
    }
    sensitive
}

/// Returns true if a witness is new.
fn note(known: &mut Option<Inst>, witness: Option<Inst>) -> bool {
    let new = known.is_none() && witness.is_some();
    if new {
        *known = witness;
    }
    new
}
