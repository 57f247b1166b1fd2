//! Loads, stores, atomics and arrays of resources. Atomics go by ascending lane. A checked access outside of its
//! object gives 0 or is dropped, with an event; every other fault ends the run.

use super::error::{Error, EventKind, Fault};
use super::launch::{hash, mix};
use super::machine::{Group, Machine, Step};
use super::memory::{self, Request, View};
use super::observe::{AccessKind, Observer, lanes};
use super::warp::Warp;
use super::warp_ops::Row;
use ir::entity::Inst;
use ir::function::{Function, Language};
use ir::inst::*;
use ir::numbers::{self, canonical};
use ir::types::{Space, Type};
use smallvec::SmallVec;

/// The bits of a value that a failed speculative load has marked: nothing but a check may read them.
const MARKED: u64 = 0x5eed_0bad_5eed_0bad;

/// An access that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) address: u64,
    pub(super) size: u32,
    pub(super) write: bool,
    /// The hardware checks bounds.
    pub(super) checked: bool,
}

impl<'m, 'r, O: Observer> Machine<'m, 'r, O> {
    pub(super) fn view<'a>(&'a mut self, group: &'a mut Group<'_>, warp: &'a mut Warp) -> View<'a> {
        View {
            buffers: &mut self.buffers,
            shared: group.shared,
            shared_window: &self.shared_window,
            local: &mut warp.local,
            local_stride: warp.local_stride,
            local_window: &warp.local_window,
        }
    }

    pub(super) fn observe_access(
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
    pub(super) fn fault(
        &mut self,
        group: &Group<'_>,
        warp: &Warp,
        lane: u32,
        inst: Inst,
        access: Attempt,
        fault: Fault,
    ) -> Result<(), Error> {
        let outside = matches!(fault, Fault::OutOfBounds { .. } | Fault::NoObject);
        if access.checked && outside {
            let kind = EventKind::CheckedOutOfBounds {
                address: access.address,
            };
            self.event(group.id, warp, lane, Some(inst), kind);
            return Ok(());
        }
        Err(self.access_error(group, warp, lane, inst, access, fault))
    }

    pub(super) fn load(
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
        let size = types.iter().map(|&ty| function.bytes_of(ty)).sum();
        let mut rows: SmallVec<[Row; 4]> = SmallVec::from_elem([0; 64], types.len());
        for lane in lanes(mask) {
            let address = addresses[lane as usize];
            let request = Request {
                space: access.space,
                lane: lane as usize,
                size,
                align: alignment(function, &types, access),
                write: false,
            };
            let found = match self.view(group, warp).bytes(address, request) {
                Ok(mut bytes) => {
                    for (row, &ty) in rows.iter_mut().zip(&types) {
                        let (first, rest) = bytes.split_at_mut(function.bytes_of(ty) as usize);
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
            if function.narrow_addresses && found.is_ok() {
                for (row, _) in rows
                    .iter_mut()
                    .zip(&types)
                    .filter(|(_, ty)| is_address(**ty))
                {
                    row[lane as usize] = self.narrow.wide(row[lane as usize]);
                }
            }
            if found.is_err() && access.speculation == Some(Speculation::Ahead) {
                for (row, &ty) in rows.iter_mut().zip(&types) {
                    row[lane as usize] = canonical(ty, MARKED);
                }
            } else if let Err(fault) = found {
                let attempt = Attempt {
                    address,
                    size,
                    write: false,
                    checked: access.checked,
                };
                self.fault(group, warp, lane, inst, attempt, fault)?;
            }
        }
        for (number, row) in rows.iter().enumerate() {
            self.put(warp, data, number, mask, |lane| row[lane]);
        }
        Ok(Step::Next)
    }

    pub(super) fn store(
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
        let mut rows: SmallVec<[Row; 4]> = values.iter().map(|&v| self.row(warp, v)).collect();
        if function.narrow_addresses {
            for (row, _) in rows
                .iter_mut()
                .zip(&types)
                .filter(|(_, ty)| is_address(**ty))
            {
                for lane in lanes(mask) {
                    row[lane as usize] = self.narrow.narrow(row[lane as usize]);
                }
            }
        }
        let size = types.iter().map(|&ty| function.bytes_of(ty)).sum();
        for lane in lanes(mask) {
            let address = addresses[lane as usize];
            let request = Request {
                space: access.space,
                lane: lane as usize,
                size,
                align: alignment(function, &types, access),
                write: true,
            };
            let found = match self.view(group, warp).bytes(address, request) {
                Ok(mut bytes) => {
                    for (row, &ty) in rows.iter().zip(&types) {
                        let (first, rest) = bytes.split_at_mut(function.bytes_of(ty) as usize);
                        memory::store(first, row[lane as usize]);
                        bytes = rest;
                    }
                    Ok(())
                }
                Err(fault) => Err(fault),
            };
            if let Err(fault) = found {
                let attempt = Attempt {
                    address,
                    size,
                    write: true,
                    checked: access.checked,
                };
                self.fault(group, warp, lane, inst, attempt, fault)?;
            }
        }
        Ok(Step::Next)
    }

    pub(super) fn atomic(
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
        // Additions in global memory take and leave zero for subnormal numbers, those in shared memory don't (PTX ISA,
        // atom).
        let flushes = op == AtomicOp::FloatAdd
            && ty == Type::F32
            && matches!(function.language, Language::Cuda | Language::Ptx);
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
                    let new = if flushes && space_of(access.space, address) == Space::Global {
                        let (x, y) = (flushed(old), flushed(first[at]));
                        flushed(atomic_result(op, ty, x, y, 0))
                    } else {
                        atomic_result(op, ty, old, first[at], second[at])
                    };
                    memory::store(bytes, new);
                    old_row[at] = old;
                    Ok(())
                }
                Err(fault) => Err(fault),
            };
            if let Err(fault) = found {
                let attempt = Attempt {
                    address,
                    size: ty.bytes(),
                    write: true,
                    checked: access.checked,
                };
                self.fault(group, warp, lane, inst, attempt, fault)?;
            }
        }
        self.put(warp, data, 0, mask, |lane| old_row[lane]);
        Ok(Step::Next)
    }

    pub(super) fn resource_element(
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
    pub(super) fn element_buffer(
        &mut self,
        buffer: usize,
        offset: u64,
        index: u64,
    ) -> Result<u64, Error> {
        let key = (buffer as u64, index);
        if index == 0 || buffer >= self.buffers.len() {
            return Ok(memory::buffer_address(buffer, offset));
        }
        if let Some(&address) = self.elements.get(&key) {
            return Ok(address.wrapping_add(offset));
        }
        let given = self.launch.elements.iter();
        let mut given = given.filter(|(of, at, _)| (*of as u64, *at) == key);
        if let Some(&(_, _, own)) = given.next()
            && own < self.buffers.len()
        {
            return Ok(memory::buffer_address(own, offset));
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
}

const fn is_address(ty: Type) -> bool {
    matches!(ty, Type::Ptr(_))
}

fn alignment(function: &Function, types: &[Type], access: MemoryAccess) -> u32 {
    if access.checked {
        1
    } else {
        types.first().map_or(1, |&ty| function.bytes_of(ty))
    }
}

/// An f32 with zero for a subnormal number.
fn flushed(bits: u64) -> u64 {
    match bits & 0x7f80_0000 {
        0 => bits & 0x8000_0000,
        _ => bits,
    }
}

pub(super) fn atomic_result(op: AtomicOp, ty: Type, old: u64, x: u64, y: u64) -> u64 {
    let binary = |op: BinaryOp| numbers::binary(op, ty, ty, ty, old, x);
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

/// The space in which an address lies, for reports.
pub fn space_of(access: Space, address: u64) -> Space {
    match access {
        Space::Generic => memory::resolve_generic(address).0,
        space => space,
    }
}
