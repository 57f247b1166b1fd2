//! Loads, stores, frame slots, symbols, atomic operations, and the objects that addresses point into.

use super::super::symbols::{plain, reference};
use super::{Selector, put, put_if};
use crate::prepare::origin::Origin;
use crate::refusal::Refusal;
use crate::select::{Exit, Guard, Select};
use crate::target::ia64::code::op;
use crate::target::ia64::code::{FrameOffset, Name, Object, Operand, Reference, Slot, Virtual};
use ir::{
    AtomicOp, InstData, Language, MemoryAccess, Op, Space, Speculation, Symbol, SymbolKind, Type,
    Value,
};
use isa::ia64::Reg;
use isa::ia64::{Completer, Mnemonic, Opcode};

impl Selector<'_> {
    /// Sets the memory that the operation just written touches.
    pub(super) fn touches(&mut self, reference: Reference) {
        if let Some(last) = self.written().operations.last_mut() {
            last.memory = Some(reference);
        }
    }

    /// The addresses of consecutive elements, with their types.
    fn elements(
        &mut self,
        data: &InstData,
        values: &[Value],
        access: &MemoryAccess,
    ) -> Vec<(Name, Reference)> {
        let base = self.integer(data.args[0]);
        let object = self.object(data.args[0]);
        let mut out = Vec::new();
        let mut offset = 0;
        for &value in values {
            let ty = self.ty(value);
            let address = if offset == 0 {
                base
            } else {
                let sum = self.general();
                let before = self.predicate.take();
                put!(self, "adds", [sum] = [offset, base]);
                self.predicate = before;
                sum.into_name()
            };
            // Unions read a slot as other types than it was written by.
            let typed = self.source.language == Language::C
                && !access.untyped
                && !matches!(object, Object::Slot(_) | Object::Private(_))
                && !matches!(ty, Type::I8 | Type::Bool);
            out.push((
                address,
                Reference {
                    object: object.clone(),
                    bytes: self.source.bytes_of(ty),
                    volatile: access.volatile,
                    accessed_as: typed.then_some(ty),
                },
            ));
            offset += i64::from(self.source.bytes_of(ty));
        }
        out
    }

    pub(super) fn load(&mut self, data: &InstData, access: &MemoryAccess) {
        if access.checked {
            return self.no_form("checked load", Type::I64);
        }
        if access.speculation == Some(Speculation::Check) {
            return self.check(data, access);
        }
        let ahead: &[Completer] = match access.speculation {
            Some(Speculation::Ahead) => &[Completer::S],
            _ => &[],
        };
        let places = self.elements(data, &data.results, access);
        for (&result, (address, reference)) in data.results.iter().zip(places) {
            let address = Operand::Address(address);
            match self.ty(result) {
                Type::Bool => {
                    let byte = self.general();
                    put!(self, "ld1", [byte] = [address]);
                    self.touches(reference);
                    let to = self.home(result);
                    put!(self, "tbit.nz", [to, Reg::P0] = [byte, 0]);
                }
                ty if ty.is_float() => {
                    let to = self.home(result);
                    put!(
                        self,
                        Mnemonic::new(floating_load(ty), ahead),
                        [to] = [address]
                    );
                    self.touches(reference);
                }
                ty => {
                    let raw = self.target(result);
                    put!(
                        self,
                        Mnemonic::new(Opcode::load(self.source.bytes_of(ty)), ahead),
                        [raw] = [address]
                    );
                    self.touches(reference);
                    self.settle(result, raw);
                }
            }
        }
    }

    /// A value that was loaded ahead; where that failed it is loaded.
    fn check(&mut self, data: &InstData, access: &MemoryAccess) {
        let (result, ahead) = (data.results[0], data.args[1]);
        let ty = self.ty(result);
        let Some((address, reference)) = self.elements(data, &data.results, access).pop() else {
            return;
        };
        let (raw, opcode) = if ty.is_float() {
            let (to, from) = (self.home(result), self.floating(ahead));
            put!(self, "mov", [to] = [from]);
            (to, floating_load(ty))
        } else {
            let (to, from) = (self.target(result), self.integer(ahead));
            put!(self, "mov", [to] = [from]);
            (to, Opcode::load(self.source.bytes_of(ty)))
        };
        let failed = self.draft_here();
        let behind = self.draft_here();
        self.written().exit = Exit::Check {
            register: raw,
            failed,
            otherwise: behind,
        };
        self.now = failed as usize;
        self.written().recovers = true;
        put!(
            self,
            Mnemonic::new(opcode, &[]),
            [raw] = [Operand::Address(address)]
        );
        self.touches(reference);
        self.written().exit = Exit::Jump(behind);
        self.now = behind as usize;
        if !ty.is_float() {
            self.settle(result, raw);
        }
    }

    pub(super) fn store(&mut self, data: &InstData, access: &MemoryAccess) {
        if access.checked {
            return self.no_form("checked store", Type::I64);
        }
        let values = &data.args[1..];
        let places = self.elements(data, values, access);
        for (&value, (address, reference)) in values.iter().zip(places) {
            let address = Operand::Address(address);
            let ty = self.ty(value);
            if ty.is_float() {
                let from = self.floating(value);
                put!(
                    self,
                    if ty == Type::F32 {
                        op!("stfs")
                    } else {
                        op!("stfd")
                    },
                    [address] = [from]
                );
            } else {
                let before = self.predicate.take();
                let from = self.integer(value);
                self.predicate = before;
                put!(
                    self,
                    Mnemonic::new(Opcode::store(self.source.bytes_of(ty)), &[]),
                    [address] = [from]
                );
            }
            self.touches(reference);
        }
    }

    pub(super) fn alloca(&mut self, inst: ir::Inst, size: u32, align: u32, result: Value) {
        let slot = self.slot(inst, size, align);
        let to = self.home(result);
        put!(
            self,
            "adds",
            [to] = [
                Operand::Frame(FrameOffset::Slot(slot)),
                Operand::from(Reg::general(12))
            ]
        );
    }
    fn slot(&mut self, inst: ir::Inst, size: u32, align: u32) -> u32 {
        if let Some(&known) = self.slots.get(&inst) {
            return known;
        }
        self.out.slots.push(Slot {
            bytes: size,
            align: align.max(1),
        });
        let slot = self.out.slots.len() as u32 - 1;
        self.slots.insert(inst, slot);
        slot
    }

    pub(super) fn symbol(&mut self, symbol: Symbol, result: Value) {
        let data = &self.source.symbols[symbol];
        let placed = match data.kind {
            SymbolKind::Memory => {
                matches!(data.space, Space::Global | Space::Constant | Space::Generic)
            }
            kind => kind == SymbolKind::Function,
        };
        if !placed {
            return self.no_form(&format!("address of {}", data.name), self.ty(result));
        }
        if data.definition.thread_local {
            let name = data.name.clone();
            return self.refusal(Refusal::ThreadLocal { name });
        }
        if let Some(name) = opaque_behind(self.source, symbol) {
            let name = name.into();
            return self.refusal(Refusal::InitialValue { name });
        }
        let to = self.home(result);
        let entry = self.general();
        let name = reference(&plain(&data.name));
        let text = match data.kind {
            // A function's address is that of its descriptor.
            SymbolKind::Function => smol_str::format_smolstr!("@ltoff(@fptr({name}))"),
            _ => smol_str::format_smolstr!("@ltoff({name})"),
        };
        put!(
            self,
            "addl",
            [entry] = [Operand::Symbol(text), Operand::from(Reg::general(1))]
        );
        put!(self, "ld8", [to] = [Operand::Address(entry.into_name())]);
        self.touches(Reference {
            object: Object::Constant(".got".into()),
            bytes: 8,
            volatile: false,
            accessed_as: None,
        });
    }

    fn object(&mut self, address: Value) -> Object {
        let found = self.origins.origin(self.source, address);
        match found {
            Origin::Unknown => Object::Unknown,
            Origin::Parameter(index) => Object::Parameter(index),
            Origin::Restrict(index) => Object::Restrict(index),
            Origin::Symbol(name) => Object::Symbol(name),
            Origin::Constant(name) => Object::Constant(name),
            Origin::Slot(inst) | Origin::Private(inst) => match self.source.insts[inst].op {
                Op::Alloca { size, align } => {
                    let slot = self.slot(inst, size, align);
                    match found {
                        Origin::Private(_) => Object::Private(slot),
                        _ => Object::Slot(slot),
                    }
                }
                _ => Object::Unknown,
            },
        }
    }

    pub(super) fn atomic(&mut self, data: &InstData, op: AtomicOp) {
        let ty = self.ty(data.args[1]);
        let bytes = ty.bytes();
        if !matches!(ty, Type::I32 | Type::I64) {
            return self.no_form(&format!("atomic {op:?}"), ty);
        }
        let address = Operand::Address(self.integer(data.args[0]));
        let old = match data.results.first() {
            Some(&result) => self.target(result),
            None => self.general(),
        };
        let step = match (op, self.number(data.args[1])) {
            (AtomicOp::Add, Some(by)) => Some(by),
            (AtomicOp::Sub, Some(by)) => by.checked_neg(),
            _ => None,
        };
        match (op, step) {
            (_, Some(by @ (-16 | -8 | -4 | -1 | 1 | 4 | 8 | 16))) => {
                put!(
                    self,
                    Mnemonic::new(Opcode::fetch_add(bytes), &[Completer::Acq]),
                    [old] = [address, Operand::from(by)]
                );
            }
            (AtomicOp::Exchange, _) => {
                let with = self.integer(data.args[1]);
                put!(
                    self,
                    Mnemonic::new(Opcode::exchange(bytes), &[]),
                    [old] = [address, Operand::from(with)]
                );
            }
            (AtomicOp::CompareExchange, _) => {
                let expected = self.integer(data.args[1]);
                let expected = self.zero_extended(expected, ty);
                let with = self.integer(data.args[2]);
                put!(self, "mov", [Reg::CCV] = [expected]);
                put!(
                    self,
                    Mnemonic::new(Opcode::compare_exchange(bytes), &[Completer::Acq]),
                    [old] = [address, Operand::from(with), Operand::from(Reg::CCV)]
                );
            }
            (
                AtomicOp::Add
                | AtomicOp::Sub
                | AtomicOp::And
                | AtomicOp::Or
                | AtomicOp::Xor
                | AtomicOp::MinSigned
                | AtomicOp::MaxSigned
                | AtomicOp::MinUnsigned
                | AtomicOp::MaxUnsigned,
                _,
            ) => {
                self.retried(op, ty, address, data.args[1], old);
            }
            _ => return self.no_form(&format!("atomic {op:?}"), ty),
        }
        if let Some(&result) = data.results.first() {
            self.settle(result, old);
        }
    }

    /// Reads, computes and exchanges until no other thread came between.
    fn retried(&mut self, op: AtomicOp, ty: Type, address: Operand, operand: Value, old: Virtual) {
        let with = self.integer(operand);
        let bytes = ty.bytes();
        let again = self.draft_here();
        let behind = self.draft_here();
        self.written().exit = Exit::Jump(again);
        self.now = again as usize;
        let (seen, new) = (self.general(), self.general());
        put!(
            self,
            Mnemonic::new(Opcode::load(bytes), &[]),
            [seen] = [address.clone()]
        );
        put!(self, "mov", [Reg::CCV] = [seen]);
        let mnemonic = match op {
            AtomicOp::Add => Some(op!("add")),
            AtomicOp::Sub => Some(op!("sub")),
            AtomicOp::And => Some(op!("and")),
            AtomicOp::Or => Some(op!("or")),
            AtomicOp::Xor => Some(op!("xor")),
            _ => None,
        };
        if let Some(mnemonic) = mnemonic {
            put!(self, mnemonic, [new] = [seen.into_name(), with]);
        } else {
            let relation = match op {
                AtomicOp::MinSigned => Completer::Lt,
                AtomicOp::MaxSigned => Completer::Gt,
                AtomicOp::MinUnsigned => Completer::Ltu,
                _ => Completer::Gtu,
            };
            let base = if ty == Type::I32 {
                Opcode::Cmp4
            } else {
                Opcode::Cmp
            };
            let p = self.predicate();
            put!(
                self,
                Mnemonic::new(base, &[relation]),
                [p, Reg::P0] = [with, seen.into_name()]
            );
            put!(self, "mov", [new] = [seen]);
            put_if!(self, p, "mov", [new] = [with]);
        }
        put!(
            self,
            Mnemonic::new(Opcode::compare_exchange(bytes), &[Completer::Acq]),
            [old] = [address, Operand::from(new), Operand::from(Reg::CCV)]
        );
        let (p, q) = (self.predicate(), self.predicate());
        put!(self, "cmp.ne", [p, q] = [old, seen]);
        self.written().exit = Exit::Branch {
            condition: Guard::of(p),
            negation: Some(Guard::of(q)),
            then: again,
            otherwise: behind,
        };
        self.now = behind as usize;
    }
}

const fn floating_load(ty: Type) -> Opcode {
    match ty {
        Type::F32 => Opcode::Ldfs,
        _ => Opcode::Ldfd,
    }
}

/// Returns a symbol whose initial value is not known, among the symbol itself and those whose addresses it
/// holds.
fn opaque_behind(function: &ir::Function, symbol: Symbol) -> Option<&str> {
    let mut open = vec![symbol];
    let mut at = 0;
    while let Some(&next) = open.get(at) {
        at += 1;
        let data = &function.symbols[next];
        if data.definition.opaque {
            return Some(&data.name);
        }
        for address in &data.definition.addresses {
            let mut all = function.symbols.iter();
            if let Some((found, _)) = all.find(|(_, data)| data.name == address.symbol)
                && !open.contains(&found)
            {
                open.push(found);
            }
        }
    }
    None
}
