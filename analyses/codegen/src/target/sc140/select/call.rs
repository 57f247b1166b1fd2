//! Arguments, calls and returns by the conventions: the first two arguments by position, numbers in d0 and d1, addresses in r0
//! and r1; the others on the stack below the caller's pointer, from higher to lower addresses, each in its own size and in two bytes at least. A number
//! comes back in d0, an address in r0.

use super::super::code::{FrameOffset, Name, Operand, Reference, operation};
use super::super::symbols;
use super::memory::bytes;
use super::{Selection, file_of, fixed};
use crate::mir::Object;
use crate::select::Select;
use ir::{Convention, Type, Value};
use isa::sc140::{File, Opcode, Reg};

/// Bytes that a call puts onto the stack: the return address and the status.
pub(in super::super) const CALL: i64 = 8;

/// Offsets from the caller's stack pointer of the arguments behind the second, below it.
fn places(types: impl Iterator<Item = Type>) -> Vec<i64> {
    let mut below = 0i64;
    let place = |ty: Type| {
        let size = i64::from(bytes(ty)).max(2);
        below = (below + size + size - 1) / size * size;
        -below
    };
    types.skip(2).map(place).collect()
}

impl Selection<'_> {
    fn opcode(&mut self, ty: Type) -> Opcode {
        match ty {
            Type::Bool | Type::I8 | Type::I16 => Opcode::MoveW,
            Type::I32 | Type::Ptr(_) => Opcode::MoveL,
            ty => {
                self.no_form("argument", ty);
                Opcode::MoveL
            }
        }
    }

    pub(super) fn take_arguments(&mut self) {
        let source = self.source;
        let params = source.blocks[source.entry()].params.clone();
        if source.variadic || source.convention != Convention::default() {
            self.no_form("parameters passed so", Type::I32);
        }
        let below = places(params.iter().map(|&param| self.ty(param)));
        for (at, &param) in params.iter().enumerate() {
            let ty = self.ty(param);
            let opcode = self.opcode(ty);
            let arrives = self.out.register(file_of(ty));
            self.out.parameters.push(arrives);
            if at < 2 {
                let place = Reg::new(file_of(ty), at as u8);
                self.out.arrivals.push(Some(place));
                let raw = self.target(param);
                self.copy(raw, arrives);
                self.settle(param, raw);
                continue;
            }
            self.out.arrivals.push(None);
            let offset = Operand::Frame(FrameOffset::Argument(below[at - 2]));
            let raw = self.target(param);
            self.append(operation(opcode, vec![raw.into()], vec![offset]));
            self.settle(param, raw);
        }
    }

    pub(super) fn give_results(&mut self, values: &[Value]) {
        match *values {
            [] => {}
            [value] => {
                let ty = self.ty(value);
                let (place, from) = self.placed(value, 0);
                if ty == Type::I64 {
                    self.no_form("return", ty);
                }
                let opcode = super::super::machine::copy_opcode(place.file);
                self.append(operation(opcode, vec![Operand::fixed(place)], vec![from]));
            }
            _ => self.no_form("return of several values", Type::I32),
        }
    }

    /// The register of a position, and what goes there.
    fn placed(&mut self, value: Value, at: u8) -> (Reg, Operand) {
        let ty = self.ty(value);
        let from = match file_of(ty) {
            File::Address => self.address(value),
            _ => self.integer(value),
        };
        (Reg::new(file_of(ty), at), from.into())
    }

    pub(super) fn call(
        &mut self,
        name: &str,
        args: &[Value],
        results: &[Value],
        convention: &Convention,
    ) {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if *convention != Convention::default()
            || name.is_empty()
            || !name.chars().all(plain)
            || results.len() > 1
        {
            return self.no_form(&format!("call of {name}"), Type::I32);
        }
        self.out.calls = true;
        let types: Vec<Type> = args.iter().map(|&arg| self.ty(arg)).collect();
        let below = places(types.iter().copied());
        // All operands first: what follows writes registers by name.
        let mut moves: Vec<(Reg, Operand)> = Vec::new();
        for (at, &arg) in args.iter().enumerate() {
            let opcode = self.opcode(types[at]);
            let (place, from) = self.placed(arg, at.min(1) as u8);
            if at < 2 {
                moves.push((place, from));
                continue;
            }
            let offset = below[at - 2];
            let bytes_below = u32::try_from(-offset).unwrap_or(0);
            self.out.outgoing = self.out.outgoing.max(bytes_below.next_multiple_of(8));
            let address = self.pointer();
            self.put(
                Opcode::Adda,
                address,
                &[offset.into(), fixed(Reg::SP).into()],
            );
            let mut store = operation(
                opcode,
                vec![Operand::Address(Name::Virtual(address))],
                vec![from],
            );
            store.memory = Some(Reference {
                object: Object::Unknown,
                bytes: bytes(types[at]),
                volatile: false,
                accessed_as: None,
            });
            self.append(store);
        }
        let mut sources = vec![Operand::Symbol(symbols::plain(name))];
        for (place, from) in moves {
            let opcode = super::super::machine::copy_opcode(place.file);
            self.append(operation(opcode, vec![Operand::fixed(place)], vec![from]));
            sources.push(Operand::fixed(place));
        }
        self.append(operation(Opcode::Jsr, Vec::new(), sources));
        self.forget();
        if let &[result] = results {
            let ty = self.ty(result);
            let place = Reg::new(file_of(ty), 0);
            let raw = self.target(result);
            let opcode = super::super::machine::copy_opcode(place.file);
            self.append(operation(
                opcode,
                vec![raw.into()],
                vec![Operand::fixed(place)],
            ));
            self.settle(result, raw);
        }
    }
}
