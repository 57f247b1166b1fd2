//! Loads, stores, frame slots, symbols, and sums of addresses.

use super::super::code::{FrameOffset, Operand, Reference, Slot, operation};
use super::super::symbols;
use super::{Selection, fixed};
use crate::mir::Object;
use crate::prepare::origin::Origin;
use crate::select::Select;
use ir::{InstData, Language, MemoryAccess, Symbol, Type, Value};
use isa::sc140::{File, Opcode, Reg};

impl Selection<'_> {
    fn object(&mut self, address: Value) -> Object {
        match self.origins.origin(self.source, address) {
            Origin::Unknown => Object::Unknown,
            Origin::Parameter(at) => Object::Parameter(at),
            Origin::Restrict(at) => Object::Restrict(at),
            Origin::Slot(inst) => Object::Slot(self.slots.get(&inst).copied().unwrap_or(u32::MAX)),
            Origin::Private(inst) => {
                Object::Private(self.slots.get(&inst).copied().unwrap_or(u32::MAX))
            }
            Origin::Symbol(name) => Object::Symbol(name),
            Origin::Constant(name) => Object::Constant(name),
        }
    }

    /// The addresses of consecutive elements, and what accesses there touch.
    fn elements(
        &mut self,
        data: &InstData,
        values: &[Value],
        access: &MemoryAccess,
    ) -> Vec<(Operand, Reference)> {
        let base = self.address(data.args[0]);
        let object = self.object(data.args[0]);
        let mut out = Vec::new();
        let mut offset = 0i64;
        for &value in values {
            let ty = self.ty(value);
            let address = match offset {
                0 => base,
                offset => {
                    let sum = self.pointer();
                    self.put(Opcode::Adda, sum, &[offset.into(), base.into()]);
                    sum
                }
            };
            let typed = self.source.language == Language::C
                && !access.untyped
                && !matches!(object, Object::Slot(_) | Object::Private(_))
                && !matches!(ty, Type::I8 | Type::Bool);
            out.push((
                Operand::Address(crate::mir::Name::Virtual(address)),
                Reference {
                    object: object.clone(),
                    bytes: bytes(ty),
                    volatile: access.volatile,
                    accessed_as: typed.then_some(ty),
                },
            ));
            offset += i64::from(bytes(ty));
        }
        out
    }

    fn touching(
        &mut self,
        opcode: Opcode,
        targets: Vec<Operand>,
        sources: Vec<Operand>,
        reference: Reference,
    ) {
        let mut made = operation(opcode, targets, sources);
        made.memory = Some(reference);
        self.append(made);
    }

    pub(super) fn load(&mut self, data: &InstData, access: &MemoryAccess) {
        if access.checked {
            return self.no_form("checked load", Type::I32);
        }
        let places = self.elements(data, &data.results, access);
        for (&result, (address, reference)) in data.results.iter().zip(places) {
            let opcode = match self.ty(result) {
                Type::Bool => Opcode::MoveuB,
                Type::I8 => Opcode::MoveB,
                Type::I16 if self.forms.is_fraction(result) => Opcode::MoveF,
                Type::I16 => Opcode::MoveW,
                Type::I32 | Type::Ptr(_) => Opcode::MoveL,
                ty => return self.no_form("load", ty),
            };
            let to = self.home(result);
            self.touching(opcode, vec![to.into()], vec![address], reference);
        }
    }

    pub(super) fn store(&mut self, data: &InstData, access: &MemoryAccess) {
        if access.checked {
            return self.no_form("checked store", Type::I32);
        }
        let values = &data.args[1..];
        let places = self.elements(data, values, access);
        for (&value, (address, reference)) in values.iter().zip(places) {
            let fraction = self.number(value).is_none() && self.forms.is_fraction(value);
            let (opcode, from) = match self.ty(value) {
                Type::Bool | Type::I8 => (Opcode::MoveB, self.integer(value)),
                Type::I16 if fraction => (Opcode::MoveF, self.read(value)),
                Type::I16 => (Opcode::MoveW, self.integer(value)),
                Type::I32 => (Opcode::MoveL, self.integer(value)),
                Type::Ptr(_) => (Opcode::MoveL, self.address(value)),
                ty => return self.no_form("store", ty),
            };
            self.touching(opcode, vec![address], vec![from.into()], reference);
        }
    }

    pub(super) fn alloca(&mut self, inst: ir::Inst, size: u32, align: u32, result: Value) {
        let slot = self.out.slots.len() as u32;
        self.out.slots.push(Slot { bytes: size, align });
        self.slots.insert(inst, slot);
        let to = self.home(result);
        let offset = Operand::Frame(FrameOffset::Slot(slot));
        self.put(Opcode::Adda, to, &[offset, fixed(Reg::SP).into()]);
    }

    pub(super) fn symbol(&mut self, symbol: Symbol, result: Value) {
        let name = symbols::plain(&self.source.symbols[symbol].name);
        let to = self.home(result);
        self.put(Opcode::MoveL, to, &[Operand::Symbol(name)]);
    }

    pub(super) fn address_sum(&mut self, base: Value, offset: Value, result: Value) {
        let from = self.address(base);
        let to = self.home(result);
        match self.number(offset) {
            Some(0) => self.copy(to, from),
            Some(by @ 1..=31) => {
                let sum = self.copied(from);
                self.put(Opcode::Adda, sum, &[by.into()]);
                self.copy(to, sum);
            }
            Some(by @ -31..=-1) => {
                let sum = self.copied(from);
                self.put(Opcode::Suba, sum, &[(-by).into()]);
                self.copy(to, sum);
            }
            Some(by @ -0x8000..=0x7fff) => self.put(Opcode::Adda, to, &[by.into(), from.into()]),
            Some(by) => {
                let sum = self.copied(from);
                let with = self.constant_in(File::Address, by);
                self.put(Opcode::Adda, sum, &[with.into()]);
                self.copy(to, sum);
            }
            None => {
                let by = self.integer(offset);
                let with = self.pointer();
                self.put(Opcode::MoveL, with, &[by.into()]);
                let sum = self.copied(from);
                self.put(Opcode::Adda, sum, &[with.into()]);
                self.copy(to, sum);
            }
        }
    }
}

/// Bytes of a value in memory.
pub(super) fn bytes(ty: Type) -> u32 {
    match ty {
        Type::Ptr(_) => 4,
        ty => ty.bytes(),
    }
}
