//! Register reuse across iterations: a value that one iteration loads and a later one loads again stays in a register.
//!
//! ```text
//! x[k], x[k + 1], x[k + 2]: each iteration loads x[k + 2] alone, and hands x[k + 1] and x[k + 2] on
//! ```
//!
//! Loads whose addresses move by one step, and whose distances are multiples of it, where the loop stores nothing that they may
//! meet. The first values are loaded in front of the loop.

use super::shape::{Straight, is_special};
use crate::mir::Rounds;
use crate::prepare::edit;
use crate::prepare::linear::{Forms, Linear};
use crate::prepare::origin::Origins;
use ir::{Function, Inst, Loc, Op, Terminator, Type, Value};
use rustc_hash::FxHashMap;

/// Iterations that a value is kept for, at most.
const FARTHEST: i64 = 7;

/// A load of a stream.
#[derive(Clone, Debug)]
struct Load {
    inst: Inst,
    /// The address of the first iteration, from that of the stream on.
    at: i64,
    address: Value,
    /// The address of the first iteration without the constant behind it, and that.
    first: (Value, i64),
    /// The header's parameter that is the former.
    number: usize,
}

/// Keeps values of loops of which `times` iterations become one: for fewer iterations than that.
pub(super) fn keep(function: &mut Function, straight: &Straight, rounds: Rounds, times: u64) {
    if !matches!(
        function.blocks[straight.before].terminator,
        Terminator::Jump(_)
    ) {
        return;
    }
    let mut streams: Vec<((Linear, i64, Type), Vec<Load>)> = Vec::new();
    {
        let mut forms = Forms::new(function, false);
        let params = &function.blocks[straight.header].params;
        let first = straight.given(function, straight.before);
        let next = straight.given(function, straight.latch());
        let inside = straight.body.iter();
        for &inst in inside.flat_map(|&block| &function.blocks[block].insts) {
            let data = &function.insts[inst];
            let (Op::Load(_), [result]) = (&data.op, &data.results[..]) else {
                continue;
            };
            let (root, more) = rooted(function, data.args[0]);
            let Some(number) = params.iter().position(|param| *param == root) else {
                continue;
            };
            let (stepped, step) = rooted(function, next[number]);
            if is_special(data) || stepped != root || step == 0 {
                continue;
            }
            let mut form = forms.form(first[number]);
            let at = form.constant.wrapping_add(more);
            form.constant = 0;
            let key = (form, step, function.ty(*result));
            let load = Load {
                inst,
                at,
                address: data.args[0],
                first: (first[number], more),
                number,
            };
            match streams.iter_mut().find(|(known, _)| *known == key) {
                Some((_, loads)) => loads.push(load),
                None => streams.push((key, vec![load])),
            }
        }
    }
    for ((_, step, ty), loads) in streams {
        if let Some(stream) = ordered(loads, step)
            && !is_stored(function, straight, &stream)
        {
            hand_on(function, straight, (rounds, times), (step, ty), &stream);
        }
    }
}

/// A value without the constants that are added to it, and their sum.
pub(super) fn rooted(function: &Function, mut value: Value) -> (Value, i64) {
    let mut sum = 0i64;
    while let Some(data) = function.defining(value)
        && matches!(data.op, Op::PtrAdd)
        && let Some(by) = function.int_constant(data.args[1])
    {
        sum = sum.wrapping_add(by);
        value = data.args[0];
    }
    (value, sum)
}

/// The loads by the number of iterations by which each is behind the leading one, which is the first; each distance once.
fn ordered(loads: Vec<Load>, step: i64) -> Option<Vec<(i64, Load)>> {
    let ahead = |load: &Load| load.at.checked_mul(step.signum());
    let leading = loads.iter().max_by_key(|load| ahead(load))?.at;
    let mut out: Vec<(i64, Load)> = Vec::new();
    for load in loads {
        let distance = leading.wrapping_sub(load.at);
        if distance % step == 0 && (0..=FARTHEST).contains(&(distance / step)) {
            out.push((distance / step, load));
        }
    }
    out.sort_by_key(|(distance, _)| *distance);
    let distinct = out.windows(2).all(|pair| pair[0].0 != pair[1].0);
    (distinct && out.len() > 1).then_some(out)
}

/// Returns true if the loop may store what the loads read.
fn is_stored(function: &Function, straight: &Straight, stream: &[(i64, Load)]) -> bool {
    let origins = Origins::of(function);
    let inside = straight.body.iter();
    let insts: Vec<Inst> = inside
        .flat_map(|&block| function.blocks[block].insts.iter().copied())
        .collect();
    insts.iter().any(|&inst| {
        let data = &function.insts[inst];
        matches!(data.op, Op::Store(_)) && {
            let stored = origins.origin(function, data.args[0]);
            stream
                .iter()
                .any(|(_, load)| !origins.origin(function, load.address).is_apart(&stored))
        }
    })
}

fn hand_on(
    function: &mut Function,
    straight: &Straight,
    (rounds, times): (Rounds, u64),
    (step, ty): (i64, Type),
    stream: &[(i64, Load)],
) {
    let farthest = stream[stream.len() - 1].0;
    // Every one of the first values is loaded by the loop itself.
    let all = stream.len() as i64 == farthest + 1 || rounds.least > farthest as u64;
    if farthest as u64 >= times || !all {
        return;
    }
    let (_, leading) = &stream[0];
    let data = function.insts[leading.inst].clone();
    let Op::Load(access) = data.op else { return };
    let result = data.results[0];
    // The value that was leading so many iterations before, the farthest first.
    let params: Vec<Value> = (0..farthest)
        .map(|_| edit::param(function, straight.header, ty))
        .collect();
    let param = |distance: i64| params[(farthest - distance) as usize];
    // Their places follow each other, up to that of the leading one.
    let loc = data.loc;
    let (start, more) = leading.first;
    let (base, own) = rooted(function, start);
    let mut place = displaced(function, straight, base, own + more - farthest * step, loc);
    for distance in (1..=farthest).rev() {
        let (inst, first) = edit::computed(function, Op::Load(access), &[place], ty, loc);
        function.blocks[straight.before].insts.push(inst);
        let next = match distance {
            1 => result,
            distance => param(distance - 1),
        };
        straight.give(function, first, next);
        place = displaced(function, straight, place, step, loc);
    }
    if more == 0 {
        for edge in function.blocks[straight.before].terminator.edges_mut() {
            if edge.block == straight.header {
                edge.args[leading.number] = place;
            }
        }
    }
    let mut to: FxHashMap<Value, Value> = FxHashMap::default();
    for (distance, load) in &stream[1..] {
        let old = function.insts[load.inst].results[0];
        to.insert(old, param(*distance));
    }
    for &block in &straight.body {
        let gone = |inst: &Inst| stream[1..].iter().any(|(_, load)| load.inst == *inst);
        function.blocks[block].insts.retain(|inst| !gone(inst));
    }
    edit::replace(function, &mut straight.body.iter().copied(), &|value| {
        to.get(&value).copied().unwrap_or(value)
    });
}

/// An address so many bytes from another one, in front of the loop.
fn displaced(
    function: &mut Function,
    straight: &Straight,
    from: Value,
    by: i64,
    loc: Loc,
) -> Value {
    if by == 0 {
        return from;
    }
    let ty = function.ty(from);
    let (number, value) = edit::computed(function, Op::Const(by as u64), &[], Type::I64, loc);
    let (sum, address) = edit::computed(function, Op::PtrAdd, &[from, value], ty, loc);
    function.blocks[straight.before].insts.extend([number, sum]);
    address
}
