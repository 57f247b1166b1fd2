//! Arguments, calls and returns by the conventions: the first two arguments by position, numbers in d0 and d1, addresses in r0
//! and r1; the others on the stack below the caller's pointer, from higher to lower addresses, each in its own size and in two bytes at least. A number
//! comes back in d0, an address in r0. A number of 64 bits is d0 and d1 as the first argument and as a result, the high half in
//! d0; elsewhere it is on the stack, the high half at the lower address. A function whose address is called goes through r2.

use super::super::code::{FrameOffset, Name, Operand, Reference, Virtual, operation};
use super::super::symbols;
use super::memory::bytes;
use super::{Selection, file_of, fixed};
use crate::mir::Object;
use crate::refusal::Refusal;
use crate::select::Select;
use ir::{Convention, Type, Value};
use isa::sc140::{File, Opcode, Reg};

/// Bytes that a call puts onto the stack: the return address and the status.
pub(in super::super) const CALL: i64 = 8;

/// The place of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Register(Reg),
    /// The high half in d0, the low one in d1.
    Pair,
    /// So many bytes from the caller's stack pointer, which is above.
    Stack(i64),
}

/// The register that the address of a function goes through: no argument is there.
const CALLEE: Reg = Reg::address(2);

/// The places of arguments of these types, and the bytes on the stack.
fn places(types: &[Type]) -> (Vec<Place>, u32) {
    let mut below = 0i64;
    let mut taken = 0;
    let place = |(at, &ty): (usize, &Type)| match ty {
        Type::Ptr(_) if at < 2 => Place::Register(Reg::address(at as u8)),
        Type::I64 if at == 0 => {
            taken = 2;
            Place::Pair
        }
        ty if at < 2 && ty != Type::I64 && taken <= at => Place::Register(Reg::data(at as u8)),
        ty => {
            let size = i64::from(bytes(ty)).max(2);
            below = (below + size + size - 1) / size * size;
            Place::Stack(-below)
        }
    };
    let places = types.iter().enumerate().map(place).collect();
    (places, below as u32)
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
        if source.variadic {
            self.refusal(Refusal::Variadic {
                operation: source.name.clone(),
                target: super::TARGET,
            });
        }
        if source.convention != Convention::default() {
            self.refusal(Refusal::ByValue {
                name: source.name.clone(),
                target: super::TARGET,
            });
        }
        let types: Vec<Type> = params.iter().map(|&param| self.ty(param)).collect();
        let (places, _) = places(&types);
        for (&param, place) in params.iter().zip(places) {
            let ty = self.ty(param);
            match place {
                Place::Register(place) => {
                    let arrives = self.arrives(place);
                    let raw = self.target(param);
                    self.copy(raw, arrives);
                    self.settle(param, raw);
                }
                Place::Pair => {
                    let [high, low] = [0, 1].map(|at| self.arrives(Reg::data(at)));
                    let home = self.home(param);
                    self.copy(home, low);
                    let upper = self.data();
                    self.copy(upper, high);
                    self.highs.insert(param, upper);
                }
                Place::Stack(below) if ty == Type::I64 => {
                    let load = |this: &mut Self, to: Virtual, below: i64| {
                        let offset = Operand::Frame(FrameOffset::Argument(below));
                        this.append(operation(Opcode::MoveL, vec![to.into()], vec![offset]));
                    };
                    let (low, high) = (self.home(param), self.data());
                    load(self, high, below);
                    load(self, low, below + 4);
                    self.highs.insert(param, high);
                }
                Place::Stack(below) => {
                    let opcode = self.opcode(ty);
                    let offset = Operand::Frame(FrameOffset::Argument(below));
                    let raw = self.target(param);
                    self.append(operation(opcode, vec![raw.into()], vec![offset]));
                    self.settle(param, raw);
                }
            }
        }
    }

    /// The value that arrives in a register.
    fn arrives(&mut self, place: Reg) -> Virtual {
        let arrives = self.out.register(place.file);
        self.out.parameters.push(arrives);
        self.out.arrivals.push(Some(place));
        arrives
    }

    pub(super) fn give_results(&mut self, values: &[Value]) {
        match *values {
            [] => {}
            [value] => {
                let moves: Vec<(Reg, Operand)> = match self.ty(value) {
                    Type::I64 => self.halves_placed(value),
                    ty => {
                        let place = Reg::new(file_of(ty), 0);
                        vec![(place, self.placed(value))]
                    }
                };
                self.put_fixed(moves);
            }
            _ => self.no_form("return of several values", Type::I32),
        }
    }

    /// The register of what goes to a function or comes from one.
    fn placed(&mut self, value: Value) -> Operand {
        match file_of(self.ty(value)) {
            File::Address => self.address(value),
            _ => self.integer(value),
        }
        .into()
    }
    fn halves_placed(&mut self, value: Value) -> Vec<(Reg, Operand)> {
        let [high, low] = self.halves(value);
        vec![(Reg::data(0), high.into()), (Reg::data(1), low.into())]
    }
    /// Moves to registers of the machine.
    fn put_fixed(&mut self, moves: Vec<(Reg, Operand)>) {
        for (place, from) in moves {
            let opcode = super::super::machine::copy_opcode(place.file);
            self.append(operation(opcode, vec![Operand::fixed(place)], vec![from]));
        }
    }

    /// A number at an offset from the stack pointer, where a callee finds it.
    fn pass(&mut self, opcode: Opcode, below: i64, from: Operand, bytes: u32) {
        let address = self.pointer();
        let (offset, base) = (below.into(), fixed(Reg::SP).into());
        self.put(Opcode::Adda, address, &[offset, base]);
        let to = Operand::Address(Name::Virtual(address));
        let mut store = operation(opcode, vec![to], vec![from]);
        store.memory = Some(Reference {
            object: Object::Unknown,
            bytes,
            volatile: false,
            accessed_as: None,
        });
        self.append(store);
    }

    /// A call of a function, by its name or, where that begins with `THROUGH`, by its address, the first argument.
    pub(super) fn call(
        &mut self,
        name: &str,
        args: &[Value],
        results: &[Value],
        convention: &Convention,
    ) {
        if *convention != Convention::default() || results.len() > 1 {
            let (name, target) = (name.into(), super::TARGET);
            return self.refusal(Refusal::ByValue { name, target });
        }
        if name.is_empty() {
            return self.no_form("call", Type::I32);
        }
        let (callee, args) = match (name.starts_with(ir::THROUGH), args) {
            (true, [callee, args @ ..]) => (Some(*callee), args),
            _ => (None, args),
        };
        self.out.calls = true;
        let types: Vec<Type> = args.iter().map(|&arg| self.ty(arg)).collect();
        let (places, outgoing) = places(&types);
        self.out.outgoing = self.out.outgoing.max(outgoing.next_multiple_of(8));
        // All operands first: what follows writes registers by name.
        let mut moves: Vec<(Reg, Operand)> = Vec::new();
        for (&arg, place) in args.iter().zip(places) {
            let ty = self.ty(arg);
            match place {
                Place::Register(place) => {
                    let from = self.placed(arg);
                    moves.push((place, from));
                }
                Place::Pair => moves.extend(self.halves_placed(arg)),
                Place::Stack(below) if ty == Type::I64 => {
                    let [high, low] = self.halves(arg);
                    self.pass(Opcode::MoveL, below, high.into(), 4);
                    self.pass(Opcode::MoveL, below + 4, low.into(), 4);
                }
                Place::Stack(below) => {
                    let (opcode, from) = (self.opcode(ty), self.placed(arg));
                    self.pass(opcode, below, from, bytes(ty));
                }
            }
        }
        let mut sources = match callee {
            None => vec![Operand::Symbol(symbols::plain(name))],
            Some(callee) => {
                let from = self.address(callee);
                moves.push((CALLEE, from.into()));
                Vec::new()
            }
        };
        // The callee stands in front.
        sources.extend(moves.iter().rev().map(|(place, _)| Operand::fixed(*place)));
        self.put_fixed(moves);
        self.append(operation(Opcode::Jsr, Vec::new(), sources));
        self.forget();
        if let &[result] = results {
            let back = |this: &mut Self, to: Virtual, place: Reg| {
                let opcode = super::super::machine::copy_opcode(place.file);
                let from = Operand::fixed(place);
                this.append(operation(opcode, vec![to.into()], vec![from]));
            };
            match self.ty(result) {
                Type::I64 => {
                    let (low, high) = (self.home(result), self.data());
                    back(self, high, Reg::data(0));
                    back(self, low, Reg::data(1));
                    self.highs.insert(result, high);
                }
                ty => {
                    let raw = self.target(result);
                    back(self, raw, Reg::new(file_of(ty), 0));
                    self.settle(result, raw);
                }
            }
        }
    }
}
