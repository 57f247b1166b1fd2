//! One instruction for the lanes of a warp.
//!
//! Choices: reads of variables never written give 0 (or a value a lane, by option); constructs that were not
//! understood, unknown calls and inline assembly give pseudo-random values by lane and iteration (by operands alone
//! if they are pure) and touch no memory; derivatives of `X` and `Y` are the fine ones and take the last value of
//! lanes that do not execute. Atomics go by ascending lane. `Clock` counts the warp's instructions.

use super::error::{Error, EventKind, Fault};
use super::launch::{InputQuery, hash, mix, text, unit};
use super::machine::{Arrival, Group, Machine, Step, Warp, handle};
use super::memory::{self, Request, View};
use super::observe::{AccessKind, Observer, lanes};
use super::plan::{FunctionPlan, SymbolPlace};
use super::scalar::{self, canonical, zero_extended};
use super::texture::TextureQuery;
use super::warp_ops::{Operands, Presence, Row, warp_op};
use crate::entity::{Entity, Inst, Value};
use crate::function::Function;
use crate::inst::*;
use crate::types::{Space, Type};
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
        if let Some(&to) = data.results.first() {
            if data.results.len() == 1 && self.lane_wise(warp, plan, data, to, mask) {
                if self.observing {
                    self.notify(group, warp, to, mask);
                }
                return Ok(Step::Next);
            }
        }
        let step = match &data.op {
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
                    scalar::unary(op, ty, out, v[a + l])
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
                    scalar::binary(op, ta, tb, out, v[a + l], v[b + l])
                });
            }
            (Op::IntCompare(condition), Some((a, _)), Some((b, _)), _) => {
                let condition = *condition;
                compute(values, width, to, mask, full, |v, l| {
                    u64::from(scalar::int_compare(condition, v[a + l], v[b + l]))
                });
            }
            (Op::FloatCompare(condition), Some((a, ty)), Some((b, _)), _) => {
                let condition = *condition;
                compute(values, width, to, mask, full, |v, l| {
                    u64::from(scalar::float_compare(condition, ty, v[a + l], v[b + l]))
                });
            }
            (Op::Select, Some((c, _)), Some((a, _)), Some((b, _))) => {
                compute(values, width, to, mask, full, |v, l| {
                    if v[c + l] != 0 { v[a + l] } else { v[b + l] }
                });
            }
            (Op::Fma, Some((a, ty)), Some((b, _)), Some((c, _))) => {
                compute(values, width, to, mask, full, |v, l| {
                    scalar::fma(ty, v[a + l], v[b + l], v[c + l])
                });
            }
            (Op::Ternary(op), Some((a, ty)), Some((b, _)), Some((c, _))) => {
                let op = *op;
                let fourth = place(3);
                compute(values, width, to, mask, full, |v, l| {
                    let w = fourth.map_or(0, |(d, _)| v[d + l]);
                    scalar::ternary(op, ty, out, [v[a + l], v[b + l], v[c + l], w])
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
            (Op::Convert(kind), Some((a, from)), ..) => {
                let kind = *kind;
                compute(values, width, to, mask, full, |v, l| {
                    scalar::convert(kind, from, out, v[a + l])
                });
            }
            (Op::PtrAdd, Some((a, _)), Some((b, _)), _) => {
                compute(values, width, to, mask, full, |v, l| {
                    v[a + l].wrapping_add(v[b + l])
                });
            }
            (Op::Alloca { .. }, ..) => {
                let crate::ValueDef::Result(inst, _) = function.values[to].def else {
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
    fn argument_row(&self, warp: &Warp, data: &InstData, index: usize) -> Row {
        match data.args.get(index) {
            Some(&value) => self.row(warp, value),
            None => [0; 64],
        }
    }
    /// Writes result number `index`.
    fn put(
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

    // -------------------------------------------------------------------------------------------- memory

    fn view<'a>(&'a mut self, group: &'a mut Group<'_>, warp: &'a mut Warp) -> View<'a> {
        View {
            buffers: &mut self.buffers,
            shared: group.shared,
            shared_window: &self.shared_window,
            local: &mut warp.local,
            local_stride: warp.local_stride,
            local_window: &warp.local_window,
        }
    }

    fn observe_access(
        &mut self,
        group: &Group<'_>,
        warp: &Warp,
        inst: Inst,
        kind: AccessKind,
        addresses: &Row,
        mask: u64,
    ) {
        if self.observing
            && let Some(instance) = self.instance(group, warp)
        {
            self.observer
                .memory(&instance, inst, kind, &addresses[..self.width], mask);
        }
    }

    /// A checked access goes on without its object; any other ends the run.
    fn fault(
        &mut self,
        group: &Group<'_>,
        warp: &Warp,
        lane: u32,
        inst: Inst,
        access: (u64, u32, bool),
        fault: Fault,
        checked: bool,
    ) -> Result<(), Error> {
        let outside = matches!(fault, Fault::OutOfBounds { .. } | Fault::NoObject);
        if checked && outside {
            let kind = EventKind::CheckedOutOfBounds { address: access.0 };
            self.event(group.id, warp, lane, Some(inst), kind);
            return Ok(());
        }
        Err(self.access_error(group, warp, lane, inst, access, fault))
    }

    fn load(
        &mut self,
        group: &mut Group<'_>,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        access: MemoryAccess,
        mask: u64,
    ) -> Result<Step, Error> {
        let data = &function.insts[inst];
        let addresses = self.argument_row(warp, data, 0);
        self.observe_access(group, warp, inst, AccessKind::Load, &addresses, mask);
        let types: SmallVec<[Type; 4]> = data.results.iter().map(|&v| function.ty(v)).collect();
        let size = types.iter().map(|ty| ty.bytes()).sum();
        let mut rows: SmallVec<[Row; 4]> = SmallVec::from_elem([0; 64], types.len());
        for lane in lanes(mask) {
            let address = addresses[lane as usize];
            let request = Request {
                space: access.space,
                lane: lane as usize,
                size,
                align: alignment(&types, access),
                write: false,
            };
            let found = match self.view(group, warp).bytes(address, request) {
                Ok(mut bytes) => {
                    for (row, &ty) in rows.iter_mut().zip(&types) {
                        let (first, rest) = bytes.split_at_mut(ty.bytes() as usize);
                        let word = memory::load(first);
                        row[lane as usize] = match ty {
                            Type::Bool => u64::from(word != 0),
                            ty => canonical(ty, word),
                        };
                        bytes = rest;
                    }
                    Ok(())
                }
                Err(fault) => Err(fault),
            };
            if let Err(fault) = found {
                let what = (address, size, false);
                self.fault(group, warp, lane, inst, what, fault, access.checked)?;
            }
        }
        for (number, row) in rows.iter().enumerate() {
            self.put(warp, data, number, mask, |lane| row[lane]);
        }
        Ok(Step::Next)
    }

    fn store(
        &mut self,
        group: &mut Group<'_>,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        access: MemoryAccess,
        mask: u64,
    ) -> Result<Step, Error> {
        let data = &function.insts[inst];
        let addresses = self.argument_row(warp, data, 0);
        self.observe_access(group, warp, inst, AccessKind::Store, &addresses, mask);
        let values = data.args.get(1..).unwrap_or(&[]);
        let types: SmallVec<[Type; 4]> = values.iter().map(|&v| function.ty(v)).collect();
        let rows: SmallVec<[Row; 4]> = values.iter().map(|&v| self.row(warp, v)).collect();
        let size = types.iter().map(|ty| ty.bytes()).sum();
        for lane in lanes(mask) {
            let address = addresses[lane as usize];
            let request = Request {
                space: access.space,
                lane: lane as usize,
                size,
                align: alignment(&types, access),
                write: true,
            };
            let found = match self.view(group, warp).bytes(address, request) {
                Ok(mut bytes) => {
                    for (row, &ty) in rows.iter().zip(&types) {
                        let (first, rest) = bytes.split_at_mut(ty.bytes() as usize);
                        memory::store(first, row[lane as usize]);
                        bytes = rest;
                    }
                    Ok(())
                }
                Err(fault) => Err(fault),
            };
            if let Err(fault) = found {
                let what = (address, size, true);
                self.fault(group, warp, lane, inst, what, fault, access.checked)?;
            }
        }
        Ok(Step::Next)
    }

    fn atomic(
        &mut self,
        group: &mut Group<'_>,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        (op, access): (AtomicOp, MemoryAccess),
        mask: u64,
    ) -> Result<Step, Error> {
        let data = &function.insts[inst];
        let addresses = self.argument_row(warp, data, 0);
        self.observe_access(group, warp, inst, AccessKind::Atomic, &addresses, mask);
        let ty = data.args.get(1).map_or(Type::I32, |&v| function.ty(v));
        let (first, second) = (
            self.argument_row(warp, data, 1),
            self.argument_row(warp, data, 2),
        );
        let mut old_row = [0; 64];
        let mut order: SmallVec<[u32; 64]> = lanes(mask).collect();
        if self.launch.shuffle_atomics {
            let key = hash(&[self.launch.seed, self.steps]);
            order.sort_by_key(|&lane| mix(key, u64::from(lane)));
        }
        for lane in order {
            let at = lane as usize;
            let address = addresses[at];
            let request = Request {
                space: access.space,
                lane: at,
                size: ty.bytes(),
                align: ty.bytes(),
                write: true,
            };
            let found = match self.view(group, warp).bytes(address, request) {
                Ok(bytes) => {
                    let old = canonical(ty, memory::load(bytes));
                    memory::store(bytes, atomic_result(op, ty, old, first[at], second[at]));
                    old_row[at] = old;
                    Ok(())
                }
                Err(fault) => Err(fault),
            };
            if let Err(fault) = found {
                let what = (address, ty.bytes(), true);
                self.fault(group, warp, lane, inst, what, fault, access.checked)?;
            }
        }
        self.put(warp, data, 0, mask, |lane| old_row[lane]);
        Ok(Step::Next)
    }

    fn resource_element(
        &mut self,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        mask: u64,
    ) -> Result<(), Error> {
        let data = &function.insts[inst];
        let (bases, indices) = (
            self.argument_row(warp, data, 0),
            self.argument_row(warp, data, 1),
        );
        let ty = data
            .results
            .first()
            .map_or(Type::Handle, |&v| function.ty(v));
        let mut row = [0; 64];
        for lane in lanes(mask) {
            let (base, index) = (bases[lane as usize], indices[lane as usize]);
            row[lane as usize] = match (ty, memory::buffer_of(base)) {
                (Type::Ptr(_), Some((buffer, offset))) => {
                    self.element_buffer(buffer, offset, index)?
                }
                _ => base.wrapping_add((index & 0xffff).wrapping_add(1)),
            };
        }
        self.put(warp, data, 0, mask, |lane| row[lane]);
        Ok(())
    }

    /// Element 0 is the bound buffer; the others are made when they are first named.
    fn element_buffer(&mut self, buffer: usize, offset: u64, index: u64) -> Result<u64, Error> {
        let key = (buffer as u64, index);
        if index == 0 || buffer >= self.buffers.len() {
            return Ok(memory::buffer_address(buffer, offset));
        }
        if let Some(&address) = self.elements.get(&key) {
            return Ok(address.wrapping_add(offset));
        }
        let size = self.buffers[buffer].bytes.len();
        self.charge(size as u64)?;
        let writable = self.buffers[buffer].writable;
        let seed = hash(&[self.launch.seed, buffer as u64, index]);
        self.buffers.push(memory::BufferState {
            bytes: super::launch::contents(seed, size),
            writable,
        });
        let address = memory::buffer_address(self.buffers.len() - 1, 0);
        self.elements.insert(key, address);
        Ok(address.wrapping_add(offset))
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
                return Ok(Step::Next);
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

    fn derivative(
        &mut self,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        kind: Derivative,
        mask: u64,
    ) {
        let data = &function.insts[inst];
        let row = self.argument_row(warp, data, 0);
        let ty = data.args.first().map_or(Type::F32, |&v| function.ty(v));
        let width = self.width;
        self.put(warp, data, 0, mask, |lane| {
            let x = quad_difference(&row, ty, width, lane, 1, kind == Derivative::XCoarse);
            let y = quad_difference(&row, ty, width, lane, 2, kind == Derivative::YCoarse);
            match kind {
                Derivative::X | Derivative::XCoarse | Derivative::XFine => x,
                Derivative::Y | Derivative::YCoarse | Derivative::YFine => y,
                Derivative::Width => {
                    let size = |v: u64| scalar::unary(UnaryOp::FloatAbs, ty, ty, v);
                    scalar::binary(BinaryOp::FloatAdd, ty, ty, ty, size(x), size(y))
                }
            }
        });
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

    /// A stand-in for what has no definition.
    fn unknown(
        &mut self,
        group: &Group<'_>,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        mask: u64,
    ) {
        let data = &function.insts[inst];
        let (pure, name, what) = match &data.op {
            Op::CallUnknown { name, pure } => (*pure, text(name), format!("call of {name}")),
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

    // -------------------------------------------------------------------------------------------- textures

    fn texture(
        &mut self,
        group: &Group<'_>,
        warp: &mut Warp,
        function: &Function,
        inst: Inst,
        access: TextureAccess,
        mask: u64,
    ) {
        let data = &function.insts[inst];
        if access.op == TextureOp::Other {
            return self.unknown(group, warp, function, inst, mask);
        }
        let rows: SmallVec<[Row; 8]> = data.args.iter().map(|&v| self.row(warp, v)).collect();
        let types: SmallVec<[Type; 8]> = data.args.iter().map(|&v| function.ty(v)).collect();
        let first = 1 + usize::from(access.has_sampler);
        let after = (first + usize::from(access.coordinates)).min(rows.len());
        let first = first.min(after);
        for lane in lanes(mask) {
            let at = lane as usize;
            let handle = rows.first().map_or(0, |row| row[at]);
            let number = |index: usize| scalar::to_f64(types[index], rows[index][at]);
            let coordinates: SmallVec<[f64; 4]> = (first..after).map(number).collect();
            let mut texel = [0i64; 4];
            for (cell, &coordinate) in texel.iter_mut().zip(&coordinates) {
                *cell = coordinate.floor() as i64;
            }
            let key = (handle, texel);
            let extra = (after < rows.len()).then(|| number(after));
            let stored = self.texels.get(&key).copied();
            let read = |component: usize, ty: Type, coordinates: &[f64]| {
                let value = self.launch.textures.value(&TextureQuery {
                    handle,
                    op: access.op,
                    coordinates,
                    extra,
                    component: component as u32,
                    ty,
                });
                scalar::from_f64(ty, value)
            };
            let mut results: SmallVec<[u64; 4]> = SmallVec::new();
            match access.op {
                TextureOp::Store => {
                    let mut cells = [0; 4];
                    for (cell, row) in cells.iter_mut().zip(rows.get(after..).unwrap_or(&[])) {
                        *cell = row[at];
                    }
                    self.texels.insert(key, cells);
                }
                TextureOp::Atomic(op) => {
                    let ty = types.get(after).copied().unwrap_or(Type::I32);
                    let operand = |n: usize| rows.get(after + n).map_or(0, |row| row[at]);
                    let mut cells = stored.unwrap_or([read(0, ty, &coordinates); 4]);
                    results.push(cells[0]);
                    cells[0] = atomic_result(op, ty, cells[0], operand(0), operand(1));
                    self.texels.insert(key, cells);
                }
                TextureOp::CalculateLevel => {
                    let mut slope = 0f64;
                    for index in first..after {
                        for step in [1, 2] {
                            let ty = types[index];
                            let bits =
                                quad_difference(&rows[index], ty, self.width, at, step, false);
                            slope = slope.max(scalar::to_f64(ty, bits).abs());
                        }
                    }
                    for &result in &data.results {
                        let level = (slope * 256.0).max(1.0).log2();
                        results.push(scalar::from_f64(function.ty(result), level));
                    }
                }
                _ => {
                    let gather = matches!(access.op, TextureOp::Gather | TextureOp::GatherCompare);
                    for (number, &result) in data.results.iter().enumerate() {
                        let ty = function.ty(result);
                        let mut moved = coordinates.clone();
                        if gather {
                            let corner = [(0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0)];
                            let (dx, dy) = corner[number % 4];
                            for (cell, by) in moved.iter_mut().zip([dx, dy]) {
                                *cell += by / 256.0;
                            }
                        }
                        let component = if gather { 0 } else { number };
                        results.push(match stored {
                            Some(cells) if access.op == TextureOp::Load => {
                                canonical(ty, cells[number % 4])
                            }
                            _ => read(component, ty, &moved),
                        });
                    }
                }
            }
            for (number, value) in results.into_iter().enumerate() {
                self.put(warp, data, number, 1 << lane, |_| value);
            }
        }
    }
}

/// The difference along the axis with lane stride `step` (1 or 2) of the lane's quad.
fn quad_difference(
    row: &Row,
    ty: Type,
    width: usize,
    lane: usize,
    step: usize,
    coarse: bool,
) -> u64 {
    let low = if coarse { lane & !3 } else { lane & !step };
    let high = low | step;
    if high >= width {
        return 0;
    }
    scalar::binary(BinaryOp::FloatSub, ty, ty, ty, row[high], row[low])
}

fn alignment(types: &[Type], access: MemoryAccess) -> u32 {
    if access.checked {
        1
    } else {
        types.first().map_or(1, |ty| ty.bytes())
    }
}

fn atomic_result(op: AtomicOp, ty: Type, old: u64, x: u64, y: u64) -> u64 {
    let binary = |op: BinaryOp| scalar::binary(op, ty, ty, ty, old, x);
    match op {
        AtomicOp::Add => binary(BinaryOp::Add),
        AtomicOp::Sub => binary(BinaryOp::Sub),
        AtomicOp::MinSigned => binary(BinaryOp::MinSigned),
        AtomicOp::MaxSigned => binary(BinaryOp::MaxSigned),
        AtomicOp::MinUnsigned => binary(BinaryOp::MinUnsigned),
        AtomicOp::MaxUnsigned => binary(BinaryOp::MaxUnsigned),
        AtomicOp::And => binary(BinaryOp::And),
        AtomicOp::Or => binary(BinaryOp::Or),
        AtomicOp::Xor => binary(BinaryOp::Xor),
        AtomicOp::Exchange => x,
        AtomicOp::CompareExchange => {
            if old == x {
                y
            } else {
                old
            }
        }
        AtomicOp::IncrementWrap => {
            if old >= x {
                0
            } else {
                canonical(ty, old.wrapping_add(1))
            }
        }
        AtomicOp::DecrementWrap => {
            if old == 0 || old > x {
                x
            } else {
                canonical(ty, old.wrapping_sub(1))
            }
        }
        AtomicOp::FloatAdd => binary(BinaryOp::FloatAdd),
        AtomicOp::FloatMin => binary(BinaryOp::FloatMin),
        AtomicOp::FloatMax => binary(BinaryOp::FloatMax),
    }
}

/// A value of a type from a hash: small numbers half of the time, finite floats, no valid address.
fn arbitrary(ty: Type, hash: u64) -> u64 {
    match ty {
        Type::Ptr(_) => 0,
        Type::Handle => 1 + hash % 16,
        ty if ty.is_float() => scalar::from_f64(ty, unit(hash) * 4.0 - 1.0),
        ty if hash & 1 == 0 => canonical(ty, hash >> 8 & 63),
        ty => canonical(ty, hash >> 8),
    }
}

/// `Op::Parameter` by name.
fn default_constant(ty: Type, name: &str) -> u64 {
    match ty {
        ty if ty.is_float() => scalar::from_f64(ty, unit(text(name)) * 4.0),
        Type::Bool => text(name) & 1,
        Type::Ptr(_) => 0,
        ty => canonical(ty, text(name) % 32 + 1),
    }
}

/// The space in which an address lies, for reports.
pub fn space_of(access: Space, address: u64) -> Space {
    match access {
        Space::Generic => memory::resolve_generic(address).0,
        space => space,
    }
}
