//! What each operation does to levels, forms and intervals.

use super::arrays;
use super::engine::{DISPATCH, DIVERGENT, Engine, FRESH, Level, QUAD, SUBGROUP, WORKGROUP};
use super::form::{Form, Term, wrap};
use ir::{
    BinaryOp, Block, Convert, EntityVec, Function, FunctionKind, Inst, InstData, IntCondition, Op,
    ReduceOp, ShaderStage, ShuffleMode, Space, Special, TextureOp, Type, UnaryOp, Value, WarpKind,
    WarpOp, Wrap,
};
use smallvec::SmallVec;
use smol_str::SmolStr;

/// Operations with equal keys give equal values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    op: KeyOp,
    args: SmallVec<[Value; 3]>,
    ty: Type,
    number: u16,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum KeyOp {
    Const(u64),
    Parameter(SmolStr),
    Symbol(u32),
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare(IntCondition),
    Convert(Convert),
    PtrAdd,
    Select,
    Load(Space),
    Element,
}

pub(crate) fn key(
    function: &Function,
    data: &InstData,
    number: usize,
    leader: &EntityVec<Value, Value>,
) -> Option<Key> {
    let op = match &data.op {
        Op::Const(bits) => KeyOp::Const(*bits),
        Op::Parameter(name) => KeyOp::Parameter(name.clone()),
        Op::SymbolAddress(symbol) => KeyOp::Symbol(symbol.0),
        Op::Unary(op) => KeyOp::Unary(*op),
        Op::Binary(op, _) => KeyOp::Binary(*op),
        Op::IntCompare(condition) => KeyOp::Compare(*condition),
        Op::Convert(kind) => KeyOp::Convert(*kind),
        Op::PtrAdd => KeyOp::PtrAdd,
        Op::Select => KeyOp::Select,
        Op::Load(access) if access.read_only && !access.volatile => KeyOp::Load(access.space),
        Op::ResourceElement { .. } => KeyOp::Element,
        _ => return None,
    };
    Some(Key {
        op,
        args: data.args.iter().map(|&a| leader[a]).collect(),
        ty: function.ty(data.results[number]),
        number: number as u16,
    })
}

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
        Op::Special(special) => !matches!(special, Special::Clock | Special::SmId),
        Op::Load(access) => access.read_only && !access.volatile,
        Op::CallUnknown { pure, .. } => *pure,
        _ => false,
    }
}

const FULL: (i64, i64) = (i64::MIN, i64::MAX);

pub(crate) fn instruction(engine: &mut Engine<'_>, block: Block, inst: Inst) {
    let function = engine.function;
    let data = &function.insts[inst];
    if matches!(data.op, Op::Store(_)) {
        arrays::store(engine, block, inst);
        return;
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
        match linear(engine, block, data, result, least) {
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
        let level = rule(engine, block, data, number, least).min(guard);
        engine.opaque(result, level, engine.type_range(result));
    }
}

enum Outcome {
    Form(Form, (i64, i64)),
    Opaque(Level, (i64, i64)),
    Done,
}

/// The level that the operation alone justifies.
fn rule(engine: &Engine<'_>, block: Block, data: &InstData, number: usize, least: Level) -> Level {
    let function = engine.function;
    let arg = |index: usize| {
        data.args
            .get(index)
            .map_or(DIVERGENT, |&a| engine.level_at(a, block))
    };
    match &data.op {
        Op::Const(_) | Op::SymbolAddress(_) | Op::Parameter(_) => DISPATCH,
        Op::Undef => {
            if engine.language_defines_undefined() {
                DIVERGENT
            } else {
                DISPATCH
            }
        }
        Op::Unknown(_) | Op::Atomic(..) => DIVERGENT,
        Op::CallUnknown { pure, .. } | Op::Asm { pure, .. } => {
            if *pure {
                least
            } else {
                DIVERGENT
            }
        }
        Op::Special(special) => engine.shape.level_of(*special),
        Op::StageInput(index) => stage_input(function, *index),
        Op::Alloca { .. } => {
            if function.kind == FunctionKind::Device {
                DIVERGENT
            } else {
                DISPATCH
            }
        }
        Op::Load(access) => {
            let Some(&address) = data.args.first() else {
                return DIVERGENT;
            };
            if access.volatile {
                return DIVERGENT;
            }
            if let Some(array) = engine.array_of[address] {
                return arrays::offset_level(engine, address, block)
                    .min(engine.array_level[array as usize]);
            }
            let level = engine.level_at(address, block);
            match access.space {
                _ if access.read_only => level,
                Space::Constant => level,
                Space::Global | Space::Shared => level.min(SUBGROUP),
                Space::Generic | Space::Local => DIVERGENT,
            }
        }
        Op::Texture(access) => match access.op {
            TextureOp::Atomic(_) | TextureOp::Other | TextureOp::Store => DIVERGENT,
            TextureOp::Dimensions => least,
            _ if access.read_only => least,
            _ => least.min(SUBGROUP),
        },
        Op::Warp(op) => warp(engine, block, data, op, number),
        Op::Barrier(_) => WORKGROUP,
        Op::Derivative(kind) => match kind {
            ir::Derivative::XCoarse | ir::Derivative::YCoarse => least.max(QUAD),
            _ => least,
        },
        Op::Call(callee) => engine
            .summaries
            .get(*callee as usize)
            .map_or(DIVERGENT, |s| s[least.min(DISPATCH) as usize]),
        Op::Fence | Op::Store(_) => DIVERGENT,
        Op::Select if least < DISPATCH => {
            // Equal arms do not depend on the condition.
            if data.args.len() == 3 && engine.leader[data.args[1]] == engine.leader[data.args[2]] {
                arg(1)
            } else {
                least
            }
        }
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

fn warp(engine: &Engine<'_>, block: Block, data: &InstData, op: &WarpOp, number: usize) -> Level {
    let level = |index: usize| {
        data.args
            .get(index)
            .map_or(DIVERGENT, |&a| engine.level_at(a, block))
    };
    let constant = |index: usize| {
        data.args
            .get(index)
            .and_then(|&a| engine.form[a].as_constant())
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
    let same = value.max(SUBGROUP);
    let width = i64::from(engine.shape.warp);
    match op.kind {
        WarpKind::ShuffleIndex => {
            let full = constant(2).is_some_and(|w| w >= width) || data.args.len() < 3;
            if full && level(1) >= SUBGROUP {
                SUBGROUP
            } else {
                DIVERGENT
            }
        }
        WarpKind::ShufflePtx(ShuffleMode::Index) => {
            let full = constant(2) == Some(0x1f) && width == 32;
            if full && level(1) >= SUBGROUP {
                SUBGROUP
            } else {
                DIVERGENT
            }
        }
        WarpKind::ReadLaneAt => {
            if level(1) >= SUBGROUP {
                same.min(SUBGROUP)
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
        | WarpKind::ActiveMask => SUBGROUP,
        WarpKind::Reduce(reduce) => match reduce {
            ReduceOp::MinSigned
            | ReduceOp::MaxSigned
            | ReduceOp::MinUnsigned
            | ReduceOp::MaxUnsigned
            | ReduceOp::And
            | ReduceOp::Or => same,
            _ => SUBGROUP,
        },
        WarpKind::QuadReadLaneAt => {
            let _ = number;
            if level(1) >= QUAD { QUAD } else { DIVERGENT }
        }
        WarpKind::QuadAny | WarpKind::QuadAll => value.max(QUAD).min(SUBGROUP),
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

// ------------------------------------------------------------------------------------------------ forms

fn linear(
    engine: &mut Engine<'_>,
    block: Block,
    data: &InstData,
    result: Value,
    least: Level,
) -> Option<Outcome> {
    let ty = engine.function.ty(result);
    let bits = ty.bits();
    match &data.op {
        Op::Const(value) if ty.is_integral() => {
            let value = wrap(i128::from(*value as i64), bits);
            Some(Outcome::Form(Form::constant(value), (value, value)))
        }
        Op::Special(Special::Clock) => None,
        Op::Special(special) if ty.is_integral() => {
            let values = engine.function.values.len() as u32;
            let range = engine.shape.range(*special);
            if let Some(value) = engine.shape.constant(*special) {
                return Some(Outcome::Form(Form::constant(value), (value, value)));
            }
            let index = engine.shape.atom(*special)?;
            Some(Outcome::Form(Form::atom(values + index), range))
        }
        Op::Unary(UnaryOp::Neg) if ty.is_int() => {
            let zero = Form::constant(0);
            let arg = data.args[0];
            let r = engine.range[arg];
            let range = negate(r);
            let form = exactly(
                engine,
                zero.plus(-1, &engine.form[arg], bits)?,
                false,
                range,
                ty,
            );
            Some(Outcome::Form(form, clip(range, ty)))
        }
        Op::Unary(UnaryOp::Not) if ty.is_int() => {
            let ones = Form::constant(-1);
            let arg = data.args[0];
            let r = engine.range[arg];
            let range = (-1 - i128::from(r.1), -1 - i128::from(r.0));
            let form = exactly(
                engine,
                ones.plus(-1, &engine.form[arg], bits)?,
                false,
                range,
                ty,
            );
            Some(Outcome::Form(form, clip(range, ty)))
        }
        Op::Binary(op, wraps) if ty.is_int() => {
            binary(engine, block, *op, *wraps, data, result, least)
        }
        Op::PtrAdd => {
            let form = engine.form[data.args[0]].plus(1, &engine.form[data.args[1]], 64)?;
            Some(Outcome::Form(form, FULL))
        }
        Op::IntCompare(condition) => Some(compare(engine, block, *condition, data, least)),
        Op::Select => {
            let control = engine.level_at(data.args[0], block);
            match engine.form[data.args[0]].as_constant() {
                Some(known) => {
                    let chosen = data.args[if known != 0 { 1 } else { 2 }];
                    let level = engine.level_at(chosen, block);
                    let form = engine.form[chosen].clone();
                    let range = engine.range[chosen];
                    engine.finish(result, level, form, range);
                }
                None => engine.merge_of(
                    block,
                    result,
                    control,
                    &[(block, data.args[1]), (block, data.args[2])],
                ),
            }
            Some(Outcome::Done)
        }
        Op::Convert(kind) => convert(engine, block, *kind, data, result, least),
        _ => None,
    }
}

fn negate(r: (i64, i64)) -> (i128, i128) {
    (-i128::from(r.1), -i128::from(r.0))
}

/// An interval of results that wrapped to nothing known when it does not fit the type.
fn clip(range: (i128, i128), ty: Type) -> (i64, i64) {
    if fits(range, ty) {
        (range.0 as i64, range.1 as i64)
    } else {
        FULL
    }
}
fn fits(range: (i128, i128), ty: Type) -> bool {
    let half = 1i128 << (ty.bits().max(2) - 1);
    range.0 <= range.1 && range.0 >= -half && range.1 < half
}

/// Keeps `exact` only where the operation does not wrap.
fn exactly(
    engine: &Engine<'_>,
    mut form: Form,
    no_wrap: bool,
    range: (i128, i128),
    ty: Type,
) -> Form {
    let integers = engine.function.language == ir::Language::MicroSimd;
    form.exact &= no_wrap || integers || fits(range, ty);
    form
}

fn binary(
    engine: &mut Engine<'_>,
    block: Block,
    op: BinaryOp,
    wraps: Wrap,
    data: &InstData,
    result: Value,
    least: Level,
) -> Option<Outcome> {
    let ty = engine.function.ty(result);
    let bits = ty.bits();
    let (a, b) = (data.args[0], data.args[1]);
    let (ra, rb) = (engine.range[a], engine.range[b]);
    let (ra128, rb128) = (
        (i128::from(ra.0), i128::from(ra.1)),
        (i128::from(rb.0), i128::from(rb.1)),
    );
    let constant = engine.form[b].as_constant();
    let left_constant = engine.form[a].as_constant();
    // Both non-negative: the unsigned reading is the signed one.
    let natural = ra.0 >= 0 && rb.0 >= 0;
    match op {
        BinaryOp::Add => {
            let range = (ra128.0 + rb128.0, ra128.1 + rb128.1);
            let form = engine.form[a].plus(1, &engine.form[b], bits)?;
            let form = exactly(engine, form, wraps.no_signed, range, ty);
            Some(Outcome::Form(form, guarded_clip(range, ty, wraps)))
        }
        BinaryOp::Sub => {
            let range = (ra128.0 - rb128.1, ra128.1 - rb128.0);
            let form = engine.form[a].plus(-1, &engine.form[b], bits)?;
            let form = exactly(engine, form, wraps.no_signed, range, ty);
            Some(Outcome::Form(form, guarded_clip(range, ty, wraps)))
        }
        BinaryOp::Mul => {
            let range = product(ra, rb);
            let form = engine.form[a].times(&engine.form[b], bits)?;
            let form = exactly(engine, form, wraps.no_signed, range, ty);
            Some(Outcome::Form(form, guarded_clip(range, ty, wraps)))
        }
        BinaryOp::Shl => {
            let by = constant.filter(|&k| (0..i64::from(bits).min(62)).contains(&k))?;
            let range = product(ra, (1 << by, 1 << by));
            let form = engine.form[a].times(&Form::constant(wrap(1i128 << by, 64)), bits)?;
            let form = exactly(engine, form, wraps.no_signed, range, ty);
            Some(Outcome::Form(form, guarded_clip(range, ty, wraps)))
        }
        BinaryOp::Mul24Signed | BinaryOp::Mul24Unsigned => {
            let small = |r: (i64, i64)| r.0 >= 0 && r.1 < 1 << 23;
            if small(ra) && small(rb) {
                let range = product(ra, rb);
                let form = engine.form[a].times(&engine.form[b], bits)?;
                let form = exactly(engine, form, false, range, ty);
                return Some(Outcome::Form(form, clip(range, ty)));
            }
            None
        }
        BinaryOp::And => {
            if engine.form[a].terms == engine.form[b].terms {
                return Some(Outcome::Form(engine.form[a].clone(), ra));
            }
            let (mask, other, range) = match (constant, left_constant) {
                (Some(mask), _) => (mask, a, ra),
                (None, Some(mask)) => (mask, b, rb),
                (None, None) => {
                    let high = match (ra.0 >= 0, rb.0 >= 0) {
                        (true, true) => ra.1.min(rb.1),
                        (true, false) => ra.1,
                        (false, true) => rb.1,
                        (false, false) => return None,
                    };
                    return Some(Outcome::Opaque(least, (0, high)));
                }
            };
            if mask == 0 {
                return Some(Outcome::Form(Form::constant(0), (0, 0)));
            }
            let low = mask & mask.wrapping_add(1) == 0 && mask > 0;
            if mask == -1 || (low && range.0 >= 0 && range.1 <= mask) {
                return Some(Outcome::Form(engine.form[other].clone(), range));
            }
            let zeros = mask.trailing_zeros();
            let mut level = engine.level_at(other, block);
            if zeros > 0 && within_block(engine, other, zeros, block) {
                level = level.max(SUBGROUP);
            }
            let bounds = if mask >= 0 {
                (0, mask)
            } else if range.0 >= 0 {
                (0, range.1)
            } else {
                FULL
            };
            Some(Outcome::Opaque(level, bounds))
        }
        BinaryOp::Or | BinaryOp::Xor => {
            // Disjoint bits add up.
            let disjoint = |high: Value, low: (i64, i64)| {
                low.0 >= 0 && (low.1 as u64) < engine.form[high].alignment(|_| false)
            };
            if natural && (disjoint(a, rb) || disjoint(b, ra)) {
                let range = (ra128.0 + rb128.0, ra128.1 + rb128.1);
                let form = engine.form[a].plus(1, &engine.form[b], bits)?;
                let form = exactly(engine, form, false, range, ty);
                return Some(Outcome::Form(form, clip(range, ty)));
            }
            if op == BinaryOp::Or && engine.form[a].terms == engine.form[b].terms {
                return Some(Outcome::Form(engine.form[a].clone(), ra));
            }
            if natural {
                let most = (ra.1 | rb.1) as u64;
                let high = if most == 0 {
                    0
                } else {
                    (u64::MAX >> most.leading_zeros()) as i64
                };
                return Some(Outcome::Opaque(least, (0, high)));
            }
            None
        }
        BinaryOp::ShrUnsigned
        | BinaryOp::ShrSigned
        | BinaryOp::DivUnsigned
        | BinaryOp::DivSigned => {
            let shift = matches!(op, BinaryOp::ShrUnsigned | BinaryOp::ShrSigned);
            let signed = matches!(op, BinaryOp::ShrSigned | BinaryOp::DivSigned);
            let by = constant?;
            let power = if shift {
                (0..i64::from(bits)).contains(&by).then_some(by as u32)
            } else {
                (by > 0 && by & (by - 1) == 0).then_some(by.trailing_zeros())
            };
            // A shift by the width or more gives an unspecified value.
            if shift && power.is_none() {
                return None;
            }
            if power == Some(0) {
                return Some(Outcome::Form(engine.form[a].clone(), ra));
            }
            let usable = ra.0 >= 0 || (shift && signed);
            let range = match power {
                Some(power) if usable => (ra.0 >> power, ra.1 >> power),
                None if by > 0 && ra.0 >= 0 => (ra.0 / by, ra.1 / by),
                Some(power) if !signed && power > 0 => {
                    (0, ((u64::MAX >> (64 - bits)) >> power) as i64)
                }
                _ => FULL,
            };
            let mut level = engine.level_at(a, block);
            if let Some(power) = power
                && (shift || ra.0 >= 0)
                && within_block(engine, a, power, block)
            {
                level = level.max(SUBGROUP);
            }
            if range.0 == range.1 {
                return Some(Outcome::Form(Form::constant(range.0), range));
            }
            Some(Outcome::Opaque(level, range))
        }
        BinaryOp::RemUnsigned | BinaryOp::RemSigned => {
            let by = constant.filter(|&k| k > 0)?;
            if ra.0 >= 0 && ra.1 < by {
                return Some(Outcome::Form(engine.form[a].clone(), ra));
            }
            let range = if ra.0 >= 0 {
                (0, by - 1)
            } else if op == BinaryOp::RemUnsigned {
                (0, by - 1)
            } else {
                (1 - by, by - 1)
            };
            // Every term is a multiple of a power of two: so is the rest of the division by it.
            let aligned = by & (by - 1) == 0 && engine.form[a].alignment(|_| false) >= by as u64;
            if aligned {
                return Some(Outcome::Form(Form::constant(0), (0, 0)));
            }
            Some(Outcome::Opaque(engine.level_at(a, block), range))
        }
        BinaryOp::MinSigned
        | BinaryOp::MaxSigned
        | BinaryOp::MinUnsigned
        | BinaryOp::MaxUnsigned => {
            let signed = matches!(op, BinaryOp::MinSigned | BinaryOp::MaxSigned);
            if !signed && !natural {
                return None;
            }
            let least_of = matches!(op, BinaryOp::MinSigned | BinaryOp::MinUnsigned);
            let range = if least_of {
                (ra.0.min(rb.0), ra.1.min(rb.1))
            } else {
                (ra.0.max(rb.0), ra.1.max(rb.1))
            };
            // The operand that wins is the same for all lanes if their distance is.
            let choice =
                difference(engine, a, b, bits).map_or(DIVERGENT, |d| engine.form_level(&d, block));
            if choice > DIVERGENT {
                engine.merge_of(block, result, choice, &[(block, a), (block, b)]);
                return Some(Outcome::Done);
            }
            Some(Outcome::Opaque(least, range))
        }
        _ => None,
    }
}

fn guarded_clip(range: (i128, i128), ty: Type, wraps: Wrap) -> (i64, i64) {
    if fits(range, ty) {
        return (range.0 as i64, range.1 as i64);
    }
    if wraps.no_signed && range.0 <= range.1 {
        let half = 1i128 << (ty.bits() - 1);
        return (range.0.max(-half) as i64, range.1.min(half - 1) as i64);
    }
    FULL
}

fn product(a: (i64, i64), b: (i64, i64)) -> (i128, i128) {
    let corners = [a.0, a.1].map(|x| [b.0, b.1].map(|y| i128::from(x) * i128::from(y)));
    let all = [corners[0][0], corners[0][1], corners[1][0], corners[1][1]];
    (
        all.iter().copied().min().unwrap_or(0),
        all.iter().copied().max().unwrap_or(0),
    )
}

/// `a - b` over the integers, as a form that is exactly that.
fn difference(engine: &Engine<'_>, a: Value, b: Value, bits: u32) -> Option<Form> {
    let (fa, fb) = (&engine.form[a], &engine.form[b]);
    if fa.assumed || fb.assumed {
        return None;
    }
    let (ra, rb) = (engine.range[a], engine.range[b]);
    let low = i128::from(ra.0) - i128::from(rb.1);
    let high = i128::from(ra.1) - i128::from(rb.0);
    if fa.exact && fb.exact {
        // Wider than the type, so that the difference itself cannot wrap.
        let form = fa.plus(-1, fb, 64)?;
        return form.exact.then_some(form);
    }
    // Modulo 2^bits there is one number of the interval only.
    if bits >= 64 || low > high || high - low >= 1i128 << bits {
        return None;
    }
    let mut form = fa.plus(-1, fb, bits)?;
    form.exact = false;
    Some(form)
}

/// The operand is `c*tid.x + rest` where `rest` and the warp's first lane are multiples of a power of two so large that
/// all lanes of a warp lie in one block of `2^power` numbers.
fn within_block(engine: &Engine<'_>, value: Value, power: u32, block: Block) -> bool {
    let form = &engine.form[value];
    span_below(engine, form, block).is_some_and(|unit| unit <= power)
}

/// The least `p` such that all lanes of a warp have values in one aligned block of `2^p`.
fn span_below(engine: &Engine<'_>, form: &Form, block: Block) -> Option<u32> {
    if form.assumed {
        return None;
    }
    let values = engine.function.values.len() as u32;
    let shape = &engine.shape;
    let lane = |t: &Term| {
        t.factors
            .as_slice()
            .first()
            .filter(|_| t.factors.len() == 1)
            .and_then(|&a| {
                let special = shape.special(a.checked_sub(values)?)?;
                match special {
                    Special::LaneId => Some(true),
                    Special::ThreadId(0) if shape.rows_are_whole_warps() => Some(false),
                    _ => None,
                }
            })
    };
    let mut found: Option<(&Term, bool)> = None;
    for term in &form.terms {
        if engine.term_level(&term.factors, block) >= SUBGROUP {
            continue;
        }
        match lane(term) {
            Some(is_lane) if found.is_none() => found = Some((term, is_lane)),
            _ => return None,
        }
    }
    let (term, is_lane) = found?;
    let coefficient = u64::try_from(term.coefficient).ok()?;
    let span = coefficient.checked_mul(u64::from(shape.warp) - 1)?;
    let rest = form.alignment(|t| t == term);
    // A warp's first `tid.x` is a multiple of the warp size.
    let first = if is_lane {
        1 << 62
    } else {
        let unit = coefficient.checked_mul(u64::from(shape.warp))?;
        1u64 << unit.trailing_zeros().min(62)
    };
    let aligned = rest.min(first);
    let power = u64::BITS - span.leading_zeros();
    (1u64.checked_shl(power)? <= aligned).then_some(power)
}

/// How uniformly `d < 0` holds for an exact difference.
fn sign_level(engine: &Engine<'_>, d: &Form, block: Block) -> Level {
    let plain = engine.form_level(d, block);
    if plain < SUBGROUP && d.exact && span_below(engine, d, block).is_some() {
        return SUBGROUP;
    }
    plain
}

fn compare(
    engine: &mut Engine<'_>,
    block: Block,
    condition: IntCondition,
    data: &InstData,
    least: Level,
) -> Outcome {
    use IntCondition::*;
    let (a, b) = (data.args[0], data.args[1]);
    let ty = engine.function.ty(a);
    let bits = ty.bits();
    let (ra, rb) = (engine.range[a], engine.range[b]);
    let natural = ra.0 >= 0 && rb.0 >= 0;
    let signed = matches!(
        condition,
        LessSigned | LessEqualSigned | GreaterSigned | GreaterEqualSigned
    );
    let ordered = signed || natural;
    let known = match condition {
        Equal | NotEqual => {
            let same = engine.form[a].terms == engine.form[b].terms
                && !engine.form[a].assumed
                && !engine.form[b].assumed
                && ty.is_integral();
            let apart = ra.1 < rb.0 || rb.1 < ra.0;
            match (same, apart) {
                (true, _) => Some(condition == Equal),
                (_, true) => Some(condition == NotEqual),
                _ => None,
            }
        }
        _ if !ordered => None,
        LessSigned | LessUnsigned => decided(ra.1 < rb.0, ra.0 >= rb.1),
        LessEqualSigned | LessEqualUnsigned => decided(ra.1 <= rb.0, ra.0 > rb.1),
        GreaterSigned | GreaterUnsigned => decided(ra.0 > rb.1, ra.1 <= rb.0),
        GreaterEqualSigned | GreaterEqualUnsigned => decided(ra.0 >= rb.1, ra.1 < rb.0),
    };
    // An interval that is not computed yet decides nothing.
    if let Some(known) = known
        && ra.0 <= ra.1
        && rb.0 <= rb.1
    {
        let known = i64::from(known);
        return Outcome::Form(Form::constant(known), (known, known));
    }
    let mut level = least;
    if matches!(condition, Equal | NotEqual) {
        if !engine.form[a].assumed
            && !engine.form[b].assumed
            && ty.is_integral()
            && let Some(d) = engine.form[a].plus(-1, &engine.form[b], bits)
        {
            level = level.max(engine.form_level(&d, block));
        }
    } else if ordered && let Some(d) = difference(engine, a, b, bits) {
        // a < b: d < 0; a <= b: d - 1 < 0; the others are their negations.
        let strict = matches!(
            condition,
            LessSigned | LessUnsigned | GreaterEqualSigned | GreaterEqualUnsigned
        );
        let exact = d.exact;
        let up = if strict {
            Some(d.clone())
        } else {
            d.plus(-1, &Form::constant(1), 64)
        };
        let down = Form::constant(0).plus(-1, &d, 64);
        let down = if strict {
            down.and_then(|d| d.plus(-1, &Form::constant(1), 64))
        } else {
            down
        };
        level = level.max(engine.form_level(&d, block));
        for side in [up, down].into_iter().flatten() {
            if exact && side.exact {
                level = level.max(sign_level(engine, &side, block));
            }
        }
    }
    Outcome::Opaque(level, (0, 1))
}

fn decided(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

fn convert(
    engine: &mut Engine<'_>,
    block: Block,
    kind: Convert,
    data: &InstData,
    result: Value,
    least: Level,
) -> Option<Outcome> {
    let arg = data.args[0];
    let (from, to) = (engine.function.ty(arg), engine.function.ty(result));
    if !from.is_integral() || !to.is_integral() {
        return None;
    }
    let form = engine.form[arg].clone();
    let range = engine.range[arg];
    match kind {
        Convert::Truncate => {
            if to == Type::Bool {
                return None;
            }
            let wide = (i128::from(range.0), i128::from(range.1));
            let mut small = form.reduced(to.bits());
            small.exact &= fits(wide, to);
            Some(Outcome::Form(small, clip(wide, to)))
        }
        Convert::SignExtend | Convert::ZeroExtend => {
            let zero = kind == Convert::ZeroExtend;
            if from == Type::Bool {
                let range = if zero { (0, 1) } else { (-1, 0) };
                return match form.as_constant() {
                    Some(bit) => {
                        let value = if zero { bit & 1 } else { -(bit & 1) };
                        Some(Outcome::Form(Form::constant(value), (value, value)))
                    }
                    None => Some(Outcome::Opaque(least, range)),
                };
            }
            let natural = range.0 >= 0;
            if !zero || natural {
                if form.exact && !form.assumed {
                    return Some(Outcome::Form(form, range));
                }
            }
            let bounds = if !zero || natural {
                range
            } else if from.bits() < 64 {
                (0, ((1u64 << from.bits()) - 1) as i64)
            } else {
                FULL
            };
            // Wraps within a warp are not expected of index arithmetic, but nothing proves it: name the stride only.
            let divergent = engine.level_at(arg, block) < DISPATCH;
            if divergent && !form.is_atom(engine.leader[arg].0) && from.bits() >= 32 {
                return Some(Outcome::Form(
                    Form {
                        exact: true,
                        assumed: true,
                        ..form
                    },
                    bounds,
                ));
            }
            Some(Outcome::Opaque(least, bounds))
        }
        Convert::Bitcast if from.bits() == to.bits() => Some(Outcome::Form(form, range)),
        Convert::SpaceCast => {
            // The window of a space starts at an unknown address, the same for all lanes but for private memory.
            let local = from == Type::Ptr(Space::Local) || to == Type::Ptr(Space::Local);
            if local {
                return Some(Outcome::Opaque(DIVERGENT, FULL));
            }
            let moved = form.plus(1, &Form::atom(result.0), 64)?;
            Some(Outcome::Form(moved, FULL))
        }
        Convert::ToBool => match form.as_constant() {
            Some(value) => {
                let bit = i64::from(value != 0);
                Some(Outcome::Form(Form::constant(bit), (bit, bit)))
            }
            None => Some(Outcome::Opaque(least, (0, 1))),
        },
        _ => None,
    }
}
