//! Calls and returns by the conventions: a slot an argument, integers in the output registers, floating-point
//! values in `f8` to `f15`, the others on the memory stack behind the callee's scratch area; results in `r8`
//! and `f8`.

use super::super::symbols::reference;
use super::{Selector, put};
use crate::select::Select;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Name, Object, Operand, Reference};
use ir::{Convention, InstData, Op, SymbolKind, Type, Value};
use isa::ia64::{File, Reg};
use smol_str::SmolStr;

/// Bytes that a callee may write above its caller's stack pointer.
pub(crate) const SCRATCH: i64 = 16;

/// The callee of a call.
enum Callee {
    Name(SmolStr),
    /// The address of a descriptor.
    Pointer(Name),
}

impl Selector<'_> {
    pub(super) fn call_own(&mut self, data: &InstData, callee: u32) {
        let name = self.names[callee as usize].clone();
        let convention = &self.module.functions[callee as usize].convention;
        self.call_to(Callee::Name(name), &data.args, &data.results, convention);
    }
    /// A function of the mathematical library.
    pub(super) fn call_math(&mut self, name: &str, args: &[Value], result: Value) {
        let plain = Convention::default();
        match self.ty(result) {
            Type::F32 => self.call(&format!("{name}f"), args, &[result], &plain),
            _ => self.call(name, args, &[result], &plain),
        }
    }

    /// A call through a pointer, `args[0]`: of the function itself where the pointer is its address.
    fn call_pointer(&mut self, args: &[Value], results: &[Value], convention: &Convention) {
        let Some((&pointer, args)) = args.split_first() else {
            return self.no_form("call through a pointer", Type::I64);
        };
        let known = match self.source.defining(pointer).map(|data| &data.op) {
            Some(&Op::SymbolAddress(symbol)) => Some(&self.source.symbols[symbol]),
            _ => None,
        };
        match known.filter(|data| data.kind == SymbolKind::Function) {
            Some(data) => {
                self.call_to(Callee::Name(data.name.clone()), args, results, convention);
            }
            None => {
                let pointer = self.integer(pointer);
                self.call_to(Callee::Pointer(pointer), args, results, convention);
            }
        }
    }

    pub(super) fn call(
        &mut self,
        name: &str,
        args: &[Value],
        results: &[Value],
        convention: &Convention,
    ) {
        if name.starts_with(ir::THROUGH) {
            return self.call_pointer(args, results, convention);
        }
        self.call_to(Callee::Name(name.into()), args, results, convention);
    }

    fn call_to(
        &mut self,
        callee: Callee,
        args: &[Value],
        results: &[Value],
        convention: &Convention,
    ) {
        let plain =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '$');
        if let Callee::Name(name) = &callee
            && (name.is_empty() || !name.chars().all(plain))
        {
            return self.no_form(&format!("call of {name}"), Type::I64);
        }
        let general = results
            .iter()
            .filter(|&&it| !self.ty(it).is_float())
            .count();
        if general > 4 || results.len() - general > 8 {
            return self.no_form("call with so many results", Type::I64);
        }
        self.out.calls = true;
        // All operands first: what follows writes registers by name.
        let mut floats = 0u8;
        let mut moves: Vec<(Operand, Operand)> = Vec::new();
        let slots = convention.slots(args.len());
        for (at, (&arg, slot)) in args.iter().zip(slots).enumerate() {
            let ty = self.ty(arg);
            let from = if ty.is_float() {
                Operand::from(self.floating(arg))
            } else {
                Operand::from(self.whole_integer(arg))
            };
            let Some(slot) = slot else {
                moves.push((Operand::fixed(Reg::general(8)), from));
                continue;
            };
            if slot >= 8 {
                let half = 4 * i64::from(convention.is_half(at));
                let offset = SCRATCH + 8 * (slot as i64 - 8) + half;
                let address = self.general();
                put!(self, "adds", [address] = [offset, Reg::general(12)]);
                let mnemonic = match ty {
                    Type::F32 => op!("stfs"),
                    Type::F64 => op!("stfd"),
                    _ => op!("st8"),
                };
                put!(
                    self,
                    mnemonic,
                    [Operand::Address(address.into_name())] = [from]
                );
                self.out.outgoing = self.out.outgoing.max(8 * (slot as u32 - 7));
            } else if !ty.is_float() {
                while self.out.outputs.len() <= slot {
                    let output = self.out.register(File::General);
                    self.out.outputs.push(output);
                }
                moves.push((Operand::register(self.out.outputs[slot]), from));
            } else if floats < 8 {
                moves.push((Operand::fixed(Reg::float(8 + floats)), from));
                floats += 1;
            } else {
                return self.no_form("call with so many floating-point arguments", ty);
            }
        }
        let saved = self.general();
        put!(self, "mov", [saved] = [Reg::general(1)]);
        for (to, from) in moves {
            put!(self, "mov", [to] = [from]);
        }
        let target = match &callee {
            Callee::Name(name) => Operand::Symbol(reference(name)),
            Callee::Pointer(pointer) => self.entry_of(*pointer),
        };
        put!(self, "br.call.sptk.many", [Reg::branch(0)] = [target]);
        put!(self, "mov", [Reg::general(1)] = [saved]);
        let (mut next, mut float) = (8u8, 8u8);
        for &result in results {
            let ty = self.ty(result);
            if ty.is_float() {
                let to = self.home(result);
                put!(self, "mov", [to] = [Reg::float(float)]);
                float += 1;
                continue;
            }
            let from = Reg::general(next);
            next += 1;
            if ty == Type::Bool {
                let to = self.home(result);
                put!(self, "tbit.nz", [to, Reg::P0] = [from, 0]);
            } else {
                let raw = self.target(result);
                put!(self, "mov", [raw] = [from]);
                self.settle(result, raw);
            }
        }
    }

    /// Loads a function's entry and its `gp` from the descriptor that a pointer is the address of.
    fn entry_of(&mut self, pointer: Name) -> Operand {
        let read = |this: &mut Self| {
            this.touches(Reference {
                object: Object::Unknown,
                bytes: 8,
                volatile: false,
                accessed_as: None,
            });
        };
        let (entry, second) = (self.general(), self.general());
        put!(self, "adds", [second] = [8i64, pointer]);
        put!(self, "ld8", [entry] = [Operand::Address(pointer)]);
        read(self);
        put!(
            self,
            "ld8",
            [Reg::general(1)] = [Operand::Address(second.into_name())]
        );
        read(self);
        put!(self, "mov", [Reg::branch(6)] = [entry]);
        Operand::from(Reg::branch(6))
    }

    pub(super) fn give_results(&mut self, values: &[Value]) {
        let general = values.iter().filter(|&&it| !self.ty(it).is_float()).count();
        if general > 4 || values.len() - general > 8 {
            return self.no_form("return of so many values", Type::I64);
        }
        let mut moves = Vec::new();
        let (mut next, mut float) = (8u8, 8u8);
        for &value in values {
            if self.ty(value).is_float() {
                moves.push((Reg::float(float), self.floating(value)));
                float += 1;
            } else {
                moves.push((Reg::general(next), self.whole_integer(value)));
                next += 1;
            }
        }
        for (to, from) in moves {
            put!(self, "mov", [to] = [from]);
        }
    }
}
