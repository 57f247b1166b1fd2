//! One instruction for the lanes of a warp.
//!
//! Choices: reads of variables never written give 0 (or a value a lane, by option); constructs that were not
//! understood, unknown calls and inline assembly give pseudo-random values by lane and iteration (by operands alone
//! if they are pure) and touch no memory; derivatives of `X` and `Y` are the fine ones and take the last value of
//! lanes that do not execute. Atomics go by ascending lane. `Clock` counts the warp's instructions.

use super::error::{Error, EventKind};
use super::launch::{InputQuery, Mode, hash, mix, text, unit};
use super::layout::handle;
use super::machine::{Arrival, Group, Machine, Step};
use super::memory;
use super::observe::{Observer, lanes};
use super::plan::{FunctionPlan, SymbolPlace};
use super::warp::Warp;
use super::warp_ops::{Operands, Presence, Row, warp_op};
use ir::entity::{Entity, Inst, Value};
use ir::function::Function;
use ir::inst::*;
use ir::numbers::{self, canonical, zero_extended};
use ir::types::{Space, Type};
use smallvec::SmallVec;

/// Computes a value for the lanes of `mask`; `f` reads lane `l` of a value at `values[base + l]`.
#[inline]
fn compute(
    values: &mut [u64],
    width: usize,
    to: Value,
    mask: u64,
    full: bool,
    f: impl Fn(&[u64], usize) -> u64,
) {
    let at = to.index() * width;
    if full {
        for lane in 0..width {
            let result = f(values, lane);
            values[at + lane] = result;
        }
    } else {
        for lane in lanes(mask) {
            let result = f(values, lane as usize);
            values[at + lane as usize] = result;
        }
    }
}

impl<'m, 'r, O: Observer> Machine<'m, 'r, O> {
    pub(super) fn execute(
        &mut self,
        group: &mut Group<'_>,
        warp: &mut Warp,
        plan: &FunctionPlan<'m>,
        inst: Inst,
        mask: u64,
    ) -> Result<Step, Error> {
        let function = plan.function;
        let data = &function.insts[inst];
        let width = self.width;
        let mut mask = mask;
        if self.observing_uses
            && let Some(guard) = data.guard
        {
            self.notify_use(group, warp, guard.value, mask);
        }
        if let Some(guard) = data.guard
            && let Some(frame) = warp.frames.last()
        {
            let at = guard.value.index() * width;
            for (lane, &bit) in frame.values[at..at + width].iter().enumerate() {
                if (bit != 0) == guard.negated {
                    mask &= !(1 << lane);
                }
            }
            if mask == 0 {
                return Ok(Step::Next);
            }
        }
        if self.observing_uses {
            for &arg in &data.args {
                self.notify_use(group, warp, arg, mask);
            }
        }
        if let [to] = data.results.as_slice()
            && self.lane_wise(warp, plan, data, *to, mask)
        {
            if self.observing {
                self.notify(group, warp, *to, mask);
            }
            return Ok(Step::Next);
        }
        let step = match &data.op {
            Op::Convert(_) => {
                // Of addresses that have 32 bits in memory, which numbers have, too.
                let (from, out) = (function.ty(data.args[0]), function.ty(data.results[0]));
                let mut row = self.row(warp, data.args[0]);
                for lane in lanes(mask) {
                    let bits = &mut row[lane as usize];
                    *bits = match from {
                        Type::Ptr(_) => canonical(out, self.narrow.narrow(*bits)),
                        from => self.narrow.wide(zero_extended(from, *bits) & 0xffff_ffff),
                    };
                }
                self.put(warp, data, 0, mask, |lane| row[lane]);
                Step::Next
            }
            Op::Load(access) => self.load(group, warp, function, inst, *access, mask)?,
            Op::Store(access) => self.store(group, warp, function, inst, *access, mask)?,
            Op::Atomic(op, access) => {
                self.atomic(group, warp, function, inst, (*op, *access), mask)?
            }
            Op::Barrier(barrier) => {
                return self.barrier(group, warp, function, inst, *barrier, mask);
            }
            Op::Fence => Step::Next,
            Op::Call(callee) => {
                let args: Vec<Row> = data.args.iter().map(|&a| self.row(warp, a)).collect();
                return self.call(group, warp, inst, *callee, &args, mask);
            }
            Op::Warp(op) => {
                self.cross_lane(group, warp, function, inst, op, mask);
                Step::Next
            }
            Op::Texture(access) => {
                self.texture(group, warp, function, inst, *access, mask);
                Step::Next
            }
            Op::Derivative(kind) => {
                self.derivative(warp, function, inst, *kind, mask);
                Step::Next
            }
            Op::Special(special) => {
                let ty = data.results.first().map_or(Type::I32, |&v| function.ty(v));
                let row = self.special_row(group, warp, *special, mask);
                self.put(warp, data, 0, mask, |lane| canonical(ty, row[lane]));
                Step::Next
            }
            Op::StageInput(index) => {
                if let Some(input) = function.inputs.get(*index as usize) {
                    let launch = self.launch;
                    let (first, seed) = (warp.first_thread, launch.seed);
                    let workgroup = group.index;
                    self.put(warp, data, 0, mask, |lane| {
                        launch.inputs.value(&InputQuery {
                            index: *index,
                            input,
                            thread: first + lane as u64,
                            workgroup,
                            seed,
                        })
                    });
                }
                Step::Next
            }
            Op::ResourceElement { .. } => {
                self.resource_element(warp, function, inst, mask)?;
                Step::Next
            }
            Op::Asm { template, .. }
                if asked_space(template).is_some() && !data.args.is_empty() =>
            {
                let space = asked_space(template);
                let addresses = self.row(warp, data.args[0]);
                let buffers = &self.launch.buffers;
                let leads = |address: u64| match memory::resolve_generic(address) {
                    (Space::Global, at) => {
                        let number = memory::buffer_of(at).map(|(number, _)| number);
                        let buffer = number.and_then(|number| buffers.get(number));
                        buffer.map_or(Space::Global, |buffer| buffer.space)
                    }
                    (found, _) => found,
                };
                self.put(warp, data, 0, mask, |lane| {
                    u64::from(Some(leads(addresses[lane])) == space)
                });
                Step::Next
            }
            Op::Unknown(_) | Op::CallUnknown { .. } | Op::Asm { .. } => {
                self.unknown(group, warp, function, inst, mask);
                Step::Next
            }
            Op::Undef => {
                let seed = self.launch.seed;
                let first = warp.first_thread;
                let ty = data.results.first().map_or(Type::I32, |&v| function.ty(v));
                self.put(warp, data, 0, mask, |lane| {
                    let thread = first + lane as u64;
                    arbitrary(ty, hash(&[seed, thread, u64::from(inst.0), 0xdef]))
                });
                Step::Next
            }
            other => {
                let place = self.place(group.id, warp, mask.trailing_zeros(), Some(inst));
                return Err(Error::Unsupported {
                    place: Box::new(place),
                    what: format!("{other:?} with {} results", data.results.len()),
                });
            }
        };
        if self.observing {
            for &result in &data.results {
                self.notify(group, warp, result, mask);
            }
        }
        Ok(step)
    }

    /// Operations that read and write one lane at a time; `false` for all others.
    fn lane_wise(
        &mut self,
        warp: &mut Warp,
        plan: &FunctionPlan<'m>,
        data: &InstData,
        to: Value,
        mask: u64,
    ) -> bool {
        let width = self.width;
        let full = mask == self.full;
        let function = plan.function;
        let Some(frame) = warp.frames.last_mut() else {
            return false;
        };
        let values = frame.values.as_mut_slice();
        let out = function.ty(to);
        let place = |index: usize| {
            data.args
                .get(index)
                .map(|&v| (v.index() * width, function.ty(v)))
        };
        match (&data.op, place(0), place(1), place(2)) {
            (Op::Const(bits), ..) => {
                let bits = canonical(out, *bits);
                compute(values, width, to, mask, full, |_, _| bits);
            }
            (Op::Undef, ..) if !self.launch.scramble_undefined => {
                compute(values, width, to, mask, full, |_, _| 0);
            }
            (Op::Parameter(name), ..) => {
                let known = self.launch.constants.iter().find(|(n, _)| n == name);
                let bits = match known {
                    Some(&(_, bits)) => canonical(out, bits),
                    None => default_constant(out, name),
                };
                compute(values, width, to, mask, full, |_, _| bits);
            }
            (Op::Unary(op), Some((a, ty)), ..) => {
                let op = *op;
                compute(values, width, to, mask, full, |v, l| {
                    numbers::unary(op, ty, out, v[a + l])
                });
            }
            (Op::Binary(BinaryOp::Add, _), Some((a, _)), Some((b, _)), _) => {
                compute(values, width, to, mask, full, |v, l| {
                    canonical(out, v[a + l].wrapping_add(v[b + l]))
                });
            }
            (Op::Binary(BinaryOp::Mul, _), Some((a, _)), Some((b, _)), _) => {
                compute(values, width, to, mask, full, |v, l| {
                    canonical(out, v[a + l].wrapping_mul(v[b + l]))
                });
            }
            (Op::Binary(op, _), Some((a, ta)), Some((b, tb)), _) => {
                let op = *op;
                compute(values, width, to, mask, full, |v, l| {
                    numbers::binary(op, ta, tb, out, v[a + l], v[b + l])
                });
            }
            (Op::IntCompare(condition), Some((a, _)), Some((b, _)), _) => {
                let condition = *condition;
                compute(values, width, to, mask, full, |v, l| {
                    u64::from(numbers::int_compare(condition, v[a + l], v[b + l]))
                });
            }
            (Op::FloatCompare(condition), Some((a, ty)), Some((b, _)), _) => {
                let condition = *condition;
                compute(values, width, to, mask, full, |v, l| {
                    u64::from(numbers::float_compare(condition, ty, v[a + l], v[b + l]))
                });
            }
            (Op::Select, Some((c, _)), Some((a, _)), Some((b, _))) => {
                compute(values, width, to, mask, full, |v, l| {
                    if v[c + l] != 0 { v[a + l] } else { v[b + l] }
                });
            }
            (Op::Fma, Some((a, ty)), Some((b, _)), Some((c, _))) => {
                compute(values, width, to, mask, full, |v, l| {
                    numbers::fma(ty, v[a + l], v[b + l], v[c + l])
                });
            }
            (Op::Ternary(op), Some((a, ty)), Some((b, _)), Some((c, _))) => {
                let op = *op;
                let fourth = place(3);
                compute(values, width, to, mask, full, |v, l| {
                    let w = fourth.map_or(0, |(d, _)| v[d + l]);
                    numbers::ternary(op, ty, out, [v[a + l], v[b + l], v[c + l], w])
                });
            }
            (Op::Convert(Convert::SpaceCast), Some((a, from)), ..) => {
                let (Type::Ptr(from), Type::Ptr(into)) = (from, out) else {
                    return false;
                };
                compute(values, width, to, mask, full, |v, l| {
                    memory::cast(from, into, v[a + l])
                });
            }
            (Op::Convert(kind), Some((_, from)), ..)
                if function.narrow_addresses
                    && *kind != Convert::ToBool
                    && matches!(from, Type::Ptr(_)) != matches!(out, Type::Ptr(_)) =>
            {
                return false;
            }
            (Op::Convert(kind), Some((a, from)), ..) => {
                let kind = *kind;
                compute(values, width, to, mask, full, |v, l| {
                    numbers::convert(kind, from, out, v[a + l])
                });
            }
            (Op::PtrAdd, Some((a, _)), Some((b, _)), _) => {
                compute(values, width, to, mask, full, |v, l| {
                    v[a + l].wrapping_add(v[b + l])
                });
            }
            (Op::Alloca { .. }, ..) => {
                let ir::ValueDef::Result(inst, _) = function.values[to].def else {
                    return false;
                };
                let object = plan.alloca_index(inst);
                let Some(&address) = object.and_then(|i| frame.locals.get(i)) else {
                    return false;
                };
                compute(values, width, to, mask, full, |_, _| address);
            }
            (Op::SymbolAddress(symbol), ..) => {
                let data = &function.symbols[*symbol];
                let address = match plan.symbols.get(symbol.index()) {
                    _ if out == Type::Handle => handle(&data.name),
                    Some(SymbolPlace::Fixed(address)) => *address,
                    Some(SymbolPlace::Local(index)) => {
                        frame.locals.get(*index as usize).copied().unwrap_or(0)
                    }
                    None => 0,
                };
                // The symbol's address in its own space, tagged where the result is generic.
                let address = match out {
                    Type::Ptr(space) if space != data.space => {
                        memory::cast(data.space, space, address)
                    }
                    _ => address,
                };
                compute(values, width, to, mask, full, |_, _| address);
            }
            _ => return false,
        }
        true
    }

    // -------------------------------------------------------------------------------------------- operands

    pub(super) fn row(&self, warp: &Warp, value: Value) -> Row {
        let mut row = [0; 64];
        if let Some(frame) = warp.frames.last() {
            let at = value.index() * self.width;
            row[..self.width].copy_from_slice(&frame.values[at..at + self.width]);
        }
        row
    }
    pub(super) fn argument_row(&self, warp: &Warp, data: &InstData, index: usize) -> Row {
        match data.args.get(index) {
            Some(&value) => self.row(warp, value),
            None => [0; 64],
        }
    }
    /// Writes result number `index`.
    pub(super) fn put(
        &self,
        warp: &mut Warp,
        data: &InstData,
        index: usize,
        mask: u64,
        value: impl Fn(usize) -> u64,
    ) {
        if let (Some(&to), Some(frame)) = (data.results.get(index), warp.frames.last_mut()) {
            let at = to.index() * self.width;
            for lane in lanes(mask) {
                frame.values[at + lane as usize] = value(lane as usize);
            }
        }
    }

    // -------------------------------------------------------------------------------------------- across lanes

    fn barrier(
        &mut self,
        group: &mut Group<'_>,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        kind: Barrier,
        mask: u64,
    ) -> Result<Step, Error> {
        let data = &function.insts[inst];
        if self.observing
            && let Some(instance) = self.instance(group, warp)
        {
            self.observer.barrier(&instance, inst, mask);
        }
        let first = mask.trailing_zeros() as usize;
        let mut arrival = Arrival {
            kind,
            name: 0,
            count: None,
            arrive: false,
            votes: mask,
            inst,
            mask,
        };
        match kind {
            Barrier::Workgroup | Barrier::Grid => {}
            Barrier::WorkgroupAnd | Barrier::WorkgroupOr | Barrier::WorkgroupCount => {
                let row = self.argument_row(warp, data, 0);
                arrival.votes = lanes(mask)
                    .filter(|&lane| row[lane as usize] != 0)
                    .fold(0, |votes, lane| votes | 1 << lane);
            }
            Barrier::Named { arrive } => {
                arrival.name = self.argument_row(warp, data, 0)[first];
                arrival.arrive = arrive;
                if let Some(&count) = data.args.get(1) {
                    let count = zero_extended(function.ty(count), self.row(warp, count)[first]);
                    arrival.count = (count != 0).then_some(count);
                }
            }
            Barrier::Warp => {
                if let Some(&value) = data.args.first() {
                    let row = self.row(warp, value);
                    let ty = function.ty(value);
                    for lane in lanes(mask) {
                        let wanted = zero_extended(ty, row[lane as usize]);
                        let kind = if wanted & warp.live & !mask != 0 {
                            EventKind::InactiveLanesInMask {
                                mask: wanted,
                                active: mask,
                            }
                        } else if wanted >> lane & 1 == 0 {
                            EventKind::LaneOutsideOfItsMask { mask: wanted }
                        } else {
                            continue;
                        };
                        self.event(group.id, warp, lane, Some(inst), kind);
                    }
                }
                if self.launch.mode != Mode::Interleaved {
                    return Ok(Step::Next);
                }
            }
            Barrier::MicroSimd => return Ok(Step::Next),
        }
        Ok(Step::Wait(arrival))
    }

    fn cross_lane(
        &mut self,
        group: &Group<'_>,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        op: &WarpOp,
        mask: u64,
    ) {
        let data = &function.insts[inst];
        let rows: SmallVec<[Row; 4]> = data.args.iter().map(|&v| self.row(warp, v)).collect();
        let types: SmallVec<[Type; 4]> = data.args.iter().map(|&v| function.ty(v)).collect();
        let results: SmallVec<[Type; 2]> = data.results.iter().map(|&v| function.ty(v)).collect();
        let operands = Operands {
            rows: &rows,
            types: &types,
            results: &results,
        };
        let presence = Presence {
            active: mask,
            live: warp.live,
            width: self.width as u32,
        };
        match warp_op(op, &operands, presence) {
            Some(answer) => {
                for (number, row) in answer.rows.iter().enumerate() {
                    self.put(warp, data, number, mask, |lane| row[lane]);
                }
                for (lane, kind) in answer.events {
                    self.event(group.id, warp, lane, Some(inst), kind);
                }
            }
            None => self.unknown(group, warp, function, inst, mask),
        }
    }

    // -------------------------------------------------------------------------------------------- the launch

    fn special_row(&self, group: &Group<'_>, warp: &Warp, special: Special, mask: u64) -> Row {
        let [bx, by, bz] = self.launch.block.map(u64::from);
        let block = bx * by * bz;
        let width = self.width as u64;
        let seed = self.launch.seed;
        let mut row = [0; 64];
        for lane in lanes(mask) {
            let bit = 1u64 << lane;
            let linear = u64::from(warp.number) * width + u64::from(lane);
            let thread = [linear % bx, linear / bx % by, linear / bx / by];
            row[lane as usize] = match special {
                Special::ThreadId(axis) => thread[usize::from(axis.min(2))],
                Special::BlockDim(axis) => u64::from(self.launch.block[usize::from(axis.min(2))]),
                Special::BlockId(axis) => u64::from(group.id[usize::from(axis.min(2))]),
                Special::GridDim(axis) => u64::from(self.launch.grid[usize::from(axis.min(2))]),
                Special::LaneId => u64::from(lane),
                Special::WarpId => u64::from(warp.number),
                Special::WarpSize => width,
                Special::WarpCount => block.div_ceil(width),
                // Another place for each warp of a group, in no order that the group knows.
                Special::WarpSlot => {
                    (u64::from(warp.number) * 5 + hash(&[seed, group.index, 5])) % 64
                }
                Special::LaneMaskEq => bit,
                Special::LaneMaskLt => bit - 1,
                Special::LaneMaskLe => bit | (bit - 1),
                Special::LaneMaskGt => self.full & !(bit | (bit - 1)),
                Special::LaneMaskGe => self.full & !(bit - 1),
                Special::Clock => warp.steps,
                Special::SmId => hash(&[seed, group.index]) % 8,
                Special::OtherWorkgroup(number) => {
                    hash(&[seed, group.index, u64::from(number)]) % 64
                }
                Special::OtherDispatch(number) => hash(&[seed, u64::from(number), 77]) % 64,
                Special::MicroSimdTid => linear,
            };
        }
        row
    }

    /// A stand-in for a value without a definition.
    pub(super) fn unknown(
        &mut self,
        group: &Group<'_>,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        mask: u64,
    ) {
        let data = &function.insts[inst];
        let (pure, name, what) = match &data.op {
            Op::CallUnknown { name, pure, .. } => (*pure, text(name), format!("call of {name}")),
            Op::Asm { template, pure } => (*pure, text(template), "inline assembly".to_string()),
            Op::Unknown(id) => {
                let reason = function.unknowns.get(*id).map(|u| u.reason.clone());
                (false, u64::from(inst.0), reason.unwrap_or_default())
            }
            _ => (false, u64::from(inst.0), "warp operation".to_string()),
        };
        let mut keys = [hash(&[self.launch.seed, name]); 64];
        if !pure && let Some(instance) = self.instance(group, warp) {
            for lane in lanes(mask) {
                let thread = warp.first_thread + u64::from(lane);
                let key = &mut keys[lane as usize];
                *key = mix(mix(*key, thread), instance.history(lane));
                *key = mix(*key, u64::from(inst.0));
            }
        }
        for &arg in &data.args {
            let row = self.row(warp, arg);
            for lane in lanes(mask) {
                keys[lane as usize] = mix(keys[lane as usize], row[lane as usize]);
            }
        }
        for (number, &result) in data.results.iter().enumerate() {
            let ty = function.ty(result);
            self.put(warp, data, number, mask, |lane| {
                arbitrary(ty, mix(keys[lane], number as u64))
            });
        }
        let kind = EventKind::StandIn { what };
        self.event(group.id, warp, mask.trailing_zeros(), Some(inst), kind);
    }
}

/// The space of which PTX asks whether a generic address leads there.
fn asked_space(template: &str) -> Option<Space> {
    match template.strip_prefix("isspacep.")? {
        "global" => Some(Space::Global),
        "const" => Some(Space::Constant),
        "local" => Some(Space::Local),
        "shared" | "shared::cta" => Some(Space::Shared),
        _ => None,
    }
}

/// A value of a type from a hash: small numbers half of the time, finite floats, no valid address.
fn arbitrary(ty: Type, hash: u64) -> u64 {
    match ty {
        Type::Ptr(_) => 0,
        Type::Handle => 1 + hash % 16,
        ty if ty.is_float() => numbers::from_f64(ty, unit(hash) * 4.0 - 1.0),
        ty if hash & 1 == 0 => canonical(ty, hash >> 8 & 63),
        ty => canonical(ty, hash >> 8),
    }
}

/// `Op::Parameter` by name.
fn default_constant(ty: Type, name: &str) -> u64 {
    match ty {
        ty if ty.is_float() => numbers::from_f64(ty, unit(text(name)) * 4.0),
        Type::Bool => text(name) & 1,
        Type::Ptr(_) => 0,
        ty => canonical(ty, text(name) % 32 + 1),
    }
}
