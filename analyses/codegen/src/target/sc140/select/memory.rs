//! Loads, stores, frame slots, symbols, and sums of addresses.

use super::super::code::{FrameOffset, Operand, Reference, Slot, Virtual, operation};
use super::super::symbols;
use super::{Selection, fixed};
use crate::mir::Object;
use crate::prepare::origin::Origin;
use crate::select::Select;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::{InstData, Language, MemoryAccess, PromiseKind, Symbol, Type, Value};
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

    /// Objects behind which the source permits reads, where control comes through the promise ahead of each access.
    pub(super) fn readable(&mut self) {
        let source = self.source;
        let promised = source.promises.iter().filter_map(|it| match it.kind {
            PromiseKind::Readable {
                pointer,
                bytes,
                block,
            } => Some((pointer, bytes, block)),
            _ => None,
        });
        let promised: Vec<(Value, u32, ir::Block)> = promised.collect();
        if promised.is_empty() {
            return;
        }
        let tree = DominatorTree::dominators(&ControlFlow::new(source));
        for (pointer, bytes, block) in promised {
            let object = self.object(pointer);
            let outside = matches!(
                object,
                Object::Parameter(_)
                    | Object::Restrict(_)
                    | Object::Symbol(_)
                    | Object::Constant(_)
            );
            let mut others = source
                .layout
                .iter()
                .filter(|&&at| !tree.dominates(block, at));
            let holds = !others.any(|&at| {
                let mut all = source.blocks[at]
                    .insts
                    .iter()
                    .map(|&inst| &source.insts[inst]);
                all.any(|data| {
                    matches!(data.op, ir::Op::Load(_)) && self.object(data.args[0]) == object
                })
            });
            if outside && holds {
                self.out.readable.push((object, bytes));
            }
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
            offset += i64::from(self.source.bytes_of(ty));
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

    pub(super) fn load(&mut self, inst: ir::Inst, data: &InstData, access: &MemoryAccess) {
        if access.checked {
            return self.no_form("checked load", Type::I32);
        }
        if self.wide.contains(&inst)
            && let Some(opcode) = self.wide_opcode(&data.results)
        {
            let to = data.results.iter().map(|&result| self.home(result).into());
            let to: Vec<Operand> = to.collect();
            let (address, reference) = self.place(data, &data.results, access);
            return self.touching(opcode, to, vec![address], reference);
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

    pub(super) fn store(&mut self, inst: ir::Inst, data: &InstData, access: &MemoryAccess) {
        if access.checked {
            return self.no_form("checked store", Type::I32);
        }
        if self.wide.contains(&inst) {
            return self.wide_store(data, access);
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

    /// The place of all elements of an access.
    fn place(
        &mut self,
        data: &InstData,
        values: &[Value],
        access: &MemoryAccess,
    ) -> (Operand, Reference) {
        let mut first = self.elements(data, &values[..1], access);
        let (address, mut reference) = first.remove(0);
        reference.bytes = values.iter().map(|&value| bytes(self.ty(value))).sum();
        (address, reference)
    }

    /// The access to elements of one form.
    fn wide_opcode(&self, values: &[Value]) -> Option<Opcode> {
        let is_fraction = |&value: &Value| self.forms.is_fraction(value);
        let fractions = values.iter().filter(|value| is_fraction(value)).count();
        match (self.ty(values[0]), values.len(), fractions) {
            (Type::I16, 4, 4) => Some(Opcode::Move4f),
            (Type::I16, 2, 2) => Some(Opcode::Move2f),
            (Type::I16, 4, 0) => Some(Opcode::Move4w),
            (Type::I16, 2, 0) => Some(Opcode::Move2w),
            (Type::I32, 2, _) => Some(Opcode::Move2l),
            _ => None,
        }
    }

    /// Stores elements from neighbouring registers, in one form if they have one.
    fn wide_store(&mut self, data: &InstData, access: &MemoryAccess) {
        let values = &data.args[1..];
        let fractions = values
            .iter()
            .all(|&value| self.number(value).is_none() && self.forms.is_fraction(value));
        let opcode = match (self.ty(values[0]), values.len(), fractions) {
            (Type::I16, 4, true) => Opcode::Move4f,
            (Type::I16, 2, true) => Opcode::Move2f,
            (Type::I16, 4, false) => Opcode::Move4w,
            (Type::I16, _, false) => Opcode::Move2w,
            _ => Opcode::Move2l,
        };
        let mut registers: Vec<Virtual> = Vec::new();
        for &value in values {
            let from = match fractions {
                true => self.read(value),
                false => self.integer(value),
            };
            let to = match self.is_only_stored(value, from) && !registers.contains(&from) {
                true => from,
                false => self.copied(from),
            };
            registers.push(to);
        }
        let (address, reference) = self.place(data, values, access);
        let from = registers.into_iter().map(Operand::from).collect();
        self.touching(opcode, vec![address], from, reference);
    }

    /// Returns true if a register holds nothing but this value, which is computed and then read once.
    fn is_only_stored(&mut self, value: Value, register: Virtual) -> bool {
        let source = self.source;
        let reads = |inst: &&ir::Inst| {
            let operands = source.insts[**inst].operands();
            operands.filter(|operand| *operand == value).count()
        };
        let mut uses = 0;
        for &block in &source.layout {
            let data = &source.blocks[block];
            uses += data.insts.iter().map(|inst| reads(&inst)).sum::<usize>();
            uses += data
                .terminator
                .operands()
                .filter(|operand| *operand == value)
                .count();
        }
        let computed = match source.values[value].def {
            ir::ValueDef::Result(inst, _) => {
                source.insts[inst].results.len() == 1
                    && !matches!(source.insts[inst].op, ir::Op::Const(_) | ir::Op::Undef)
            }
            ir::ValueDef::Param(..) => false,
        };
        computed && uses == 1 && self.home(value) == register
    }

    pub(super) fn alloca(&mut self, inst: ir::Inst, size: u32, align: u32, result: Value) {
        let slot = self.out.slots.len() as u32;
        let wide = super::super::ways::WIDE.objects;
        let align = if size >= wide { align.max(wide) } else { align };
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

/// Bytes that an access touches; of an address those that a register holds, in whatever room it has.
pub(super) fn bytes(ty: Type) -> u32 {
    match ty {
        Type::Ptr(_) => 4,
        ty => ty.bytes(),
    }
}
