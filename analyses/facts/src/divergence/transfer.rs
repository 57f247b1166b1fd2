//! The effect of each operation on levels, forms and intervals.

use super::engine::{DISPATCH, DIVERGENT, Engine, FRESH, Level, QUAD, SUBGROUP, WORKGROUP};
use super::linear::{self, Outcome};
use super::{arrays, assembly, butterfly, races};
use ir::{
    Block, Function, FunctionKind, Inst, InstData, Op, ReduceOp, ShaderStage, ShuffleMode, Space,
    Special, TextureOp, WarpKind, WarpOp,
};

/// The result depends on the operands alone, whenever it is computed.
pub(crate) fn repeatable(op: &Op) -> bool {
    match op {
        Op::Const(_)
        | Op::SymbolAddress(_)
        | Op::StageInput(_)
        | Op::Parameter(_)
        | Op::Unary(_)
        | Op::Binary(..)
        | Op::IntCompare(_)
        | Op::FloatCompare(_)
        | Op::Select
        | Op::Fma
        | Op::Ternary(_)
        | Op::Convert(_)
        | Op::PtrAdd
        | Op::Alloca { .. }
        | Op::ResourceElement { .. } => true,
        Op::Special(special) => {
            !matches!(special, Special::Clock | Special::SmId | Special::WarpSlot)
        }
        Op::Load(access) => access.read_only && !access.volatile,
        Op::CallUnknown { pure, .. } => *pure,
        _ => false,
    }
}

pub(crate) fn instruction(engine: &mut Engine<'_>, block: Block, inst: Inst) {
    let function = engine.function;
    let data = &function.insts[inst];
    if matches!(data.op, Op::Store(_)) {
        arrays::store(engine, block, inst);
        races::store(engine, block, inst);
        return;
    }
    if matches!(data.op, Op::Texture(_)) {
        races::store(engine, block, inst);
    }
    if data.results.is_empty() {
        return;
    }
    let least = data
        .args
        .iter()
        .map(|&a| engine.level_at(a, block))
        .min()
        .unwrap_or(DISPATCH);
    if least == FRESH {
        return;
    }
    let guard = data
        .guard
        .as_ref()
        .map_or(DISPATCH, |g| engine.level_at(g.value, block));
    if data.results.len() == 1 && data.guard.is_none() {
        let result = data.results[0];
        if least < SUBGROUP
            && butterfly::is_complete(engine, block, data)
            && all_lanes_here(engine, block, false)
        {
            let level = SUBGROUP.min(engine.apart_at(block));
            engine.opaque(result, level, engine.type_range(result));
            return;
        }
        match linear::of(engine, block, data, result, least) {
            Some(Outcome::Form(form, range)) => {
                let level = if form.assumed {
                    least
                } else if data.args.is_empty() {
                    // Without operands only the form says how the value varies.
                    engine.form_level(&form, block)
                } else {
                    // Without operands there is nothing but the form.
                    let bound = if data.args.is_empty() {
                        DIVERGENT
                    } else {
                        least
                    };
                    engine.form_level(&form, block).max(bound)
                };
                engine.finish(result, level, form, range);
                return;
            }
            Some(Outcome::Opaque(level, range)) => {
                engine.opaque(result, level, range);
                return;
            }
            Some(Outcome::Done) => return,
            None => {}
        }
    }
    for (number, &result) in data.results.iter().enumerate() {
        let level = rule(engine, block, inst, number, least).min(guard);
        engine.opaque(result, level, engine.type_range(result));
    }
}

/// The level that the operation alone justifies.
fn rule(engine: &Engine<'_>, block: Block, inst: Inst, number: usize, least: Level) -> Level {
    let function = engine.function;
    let data = &function.insts[inst];
    let arg = |index: usize| {
        data.args
            .get(index)
            .map_or(DIVERGENT, |&a| engine.level_at(a, block))
    };
    match &data.op {
        Op::Undef => {
            if engine.language_defines_undefined() {
                DIVERGENT
            } else {
                DISPATCH
            }
        }
        Op::Unknown(_) | Op::CallUnknown { .. } if engine.options.favourable => DISPATCH,
        Op::Unknown(_) | Op::Atomic(..) => DIVERGENT,
        Op::CallUnknown { pure, .. } => {
            if *pure {
                least
            } else {
                DIVERGENT
            }
        }
        Op::Asm { template, .. } if data.args.is_empty() && assembly::is_empty(template) => {
            DIVERGENT
        }
        Op::Asm { template, pure } => match assembly::level(template, *pure, &engine.shape) {
            Some(own) => own.min(least).min(if own < DISPATCH {
                engine.apart[block]
            } else {
                DISPATCH
            }),
            None if engine.options.favourable => DISPATCH,
            None => DIVERGENT,
        },
        Op::Special(special @ (Special::Clock | Special::SmId | Special::WarpSlot)) => {
            engine.shape.level_of(*special).min(engine.apart_at(block))
        }
        Op::Special(special) => engine.shape.level_of(*special),
        Op::StageInput(index) => stage_input(function, *index),
        Op::Alloca { .. } => {
            if function.kind == FunctionKind::Device && !engine.options.favourable {
                DIVERGENT
            } else {
                DISPATCH
            }
        }
        Op::Load(access) => {
            let Some(&address) = data.args.first() else {
                return DIVERGENT;
            };
            if access.volatile && !engine.options.favourable {
                return DIVERGENT;
            }
            if let Some(parts) = engine.parts_of.get(&inst) {
                let part = parts.get(number);
                let level = part.map_or(DIVERGENT, |&part| engine.array_level[part as usize]);
                return arrays::offset_level(engine, address, block).min(level);
            }
            if let Some(array) = engine.array_of(address) {
                return arrays::offset_level(engine, address, block)
                    .min(engine.array_level[array as usize]);
            }
            if let Some(all) = engine.views.get(&address) {
                let least = all.iter().map(|&it| engine.level_of_array(it));
                return arrays::offset_level(engine, address, block)
                    .min(least.min().unwrap_or(DIVERGENT));
            }
            let level = engine.level_at(address, block);
            match access.space {
                _ if access.read_only || engine.options.favourable => level,
                Space::Constant => level,
                Space::Shared if level >= WORKGROUP && engine.settled.contains(&inst) => WORKGROUP,
                Space::Global | Space::Shared => level
                    .min(SUBGROUP)
                    .min(engine.apart_at(block))
                    .min(races::bound(engine, block, inst).0),
                Space::Generic | Space::Local => DIVERGENT,
            }
        }
        Op::Texture(access) => match access.op {
            TextureOp::Atomic(_) | TextureOp::Store => DIVERGENT,
            opaque if opaque.is_opaque() => DIVERGENT,
            TextureOp::Dimensions => least,
            _ if access.read_only => least,
            _ => least
                .min(SUBGROUP)
                .min(engine.apart_at(block))
                .min(races::bound(engine, block, inst).0),
        },
        Op::Warp(op) => warp(engine, block, data, op, number),
        Op::Barrier(_) => WORKGROUP,
        Op::Derivative(ir::Derivative::XCoarse | ir::Derivative::YCoarse) => least.max(QUAD),
        Op::Call(callee) => engine
            .summaries
            .get(*callee as usize)
            .map_or(DIVERGENT, |s| s[least.min(DISPATCH) as usize])
            // What the callee computes across lanes holds for those that enter together.
            .min(match engine.apart_at(block) {
                apart if apart < SUBGROUP => apart,
                _ => DISPATCH,
            }),
        Op::Fence | Op::Store(_) => DIVERGENT,
        Op::Select if least < DISPATCH => {
            // Equal arms do not depend on the condition.
            if data.args.len() == 3
                && engine.tables.leader[data.args[1]] == engine.tables.leader[data.args[2]]
            {
                arg(1)
            } else {
                least
            }
        }
        // A constant has no operands, and is the same everywhere.
        _ => least,
    }
}

fn stage_input(function: &Function, index: u32) -> Level {
    let Some(input) = function.inputs.get(index as usize) else {
        return DIVERGENT;
    };
    let semantic = input.semantic.as_str();
    let pixel = function.kind == FunctionKind::Stage(ShaderStage::Pixel);
    let is = |name: &str| semantic.trim_end_matches(|c: char| c.is_ascii_digit()) == name;
    if is("SV_VIEWID") || is("SV_STARTVERTEXLOCATION") || is("SV_STARTINSTANCELOCATION") {
        return DISPATCH;
    }
    // Four lanes of a quad shade one primitive.
    let primitive = is("SV_PRIMITIVEID")
        || is("SV_ISFRONTFACE")
        || is("SV_RENDERTARGETARRAYINDEX")
        || is("SV_VIEWPORTARRAYINDEX")
        || (input.interpolation == ir::Interpolation::Flat && !semantic.starts_with("SV_"));
    if pixel && primitive { QUAD } else { DIVERGENT }
}

/// Returns whether no lane of the warp is missing in a block; `from_below`: none with a lower number than one
/// that is present. A value read from a missing lane is undefined.
pub(super) fn all_lanes_here(engine: &Engine<'_>, block: Block, from_below: bool) -> bool {
    engine.asks_who_executes(block) >= SUBGROUP
        && engine.apart_at(block) >= SUBGROUP
        && engine.function.kind != FunctionKind::Device
        && (from_below || engine.options.favourable || engine.shape.warps_are_full())
}

fn warp(engine: &Engine<'_>, block: Block, data: &InstData, op: &WarpOp, number: usize) -> Level {
    let level = |index: usize| {
        data.args
            .get(index)
            .map_or(DIVERGENT, |&a| engine.level_at(a, block))
    };
    let constant = |index: usize| {
        data.args
            .get(index)
            .and_then(|&a| engine.cells[a].form.as_constant())
    };
    if op.mask
        && data
            .args
            .last()
            .is_some_and(|&m| engine.level_at(m, block) < SUBGROUP)
    {
        return DIVERGENT;
    }
    let value = level(0);
    // The lanes that execute together share the result, unless groups of them come here one by one.
    let shared = SUBGROUP.min(engine.apart_at(block));
    let same = value.max(shared);
    let width = i64::from(engine.shape.warp);
    let whole = |from_below: bool| all_lanes_here(engine, block, from_below);
    match op.kind {
        // Every lane gets what another one holds, or its own: all hold one value.
        WarpKind::ShuffleIndex
        | WarpKind::ShuffleUp
        | WarpKind::ShuffleDown
        | WarpKind::ShuffleXor
        | WarpKind::ShufflePtx(_)
            if number == 0
                && value >= SUBGROUP
                && whole(matches!(
                    op.kind,
                    WarpKind::ShuffleUp | WarpKind::ShufflePtx(ShuffleMode::Up)
                )) =>
        {
            value
        }
        WarpKind::ShuffleIndex => {
            let full = constant(2).is_some_and(|w| w >= width) || data.args.len() < 3;
            if full && level(1) >= SUBGROUP {
                shared
            } else {
                DIVERGENT
            }
        }
        WarpKind::ShufflePtx(ShuffleMode::Index) => {
            let full = constant(2) == Some(0x1f) && width == 32;
            if full && level(1) >= SUBGROUP {
                shared
            } else {
                DIVERGENT
            }
        }
        WarpKind::ReadLaneAt => {
            if level(1) >= SUBGROUP {
                shared
            } else {
                DIVERGENT
            }
        }
        WarpKind::ReadFirstLane => same,
        WarpKind::VoteAll | WarpKind::VoteAny => same,
        WarpKind::VoteUniform
        | WarpKind::Ballot
        | WarpKind::AllEqual
        | WarpKind::MatchAll
        | WarpKind::CountBits
        | WarpKind::ActiveMask => shared,
        WarpKind::Reduce(reduce) => match reduce {
            ReduceOp::MinSigned
            | ReduceOp::MaxSigned
            | ReduceOp::MinUnsigned
            | ReduceOp::MaxUnsigned
            | ReduceOp::And
            | ReduceOp::Or => same,
            _ => shared,
        },
        WarpKind::QuadReadLaneAt => {
            let _ = number;
            if level(1) >= QUAD {
                QUAD.min(shared)
            } else {
                DIVERGENT
            }
        }
        WarpKind::QuadAny | WarpKind::QuadAll => value.min(SUBGROUP).max(QUAD.min(shared)),
        WarpKind::ShuffleUp
        | WarpKind::ShuffleDown
        | WarpKind::ShuffleXor
        | WarpKind::ShufflePtx(_)
        | WarpKind::MatchAny
        | WarpKind::PrefixExclusive(_)
        | WarpKind::PrefixInclusive(_)
        | WarpKind::PrefixCountBits
        | WarpKind::IsFirstLane
        | WarpKind::QuadReadAcrossX
        | WarpKind::QuadReadAcrossY
        | WarpKind::QuadReadAcrossDiagonal
        | WarpKind::Other => DIVERGENT,
    }
}
