//! Loads, stores, atomics.

use super::emit::{Emitter, refuse, refuse_type};
use super::needed::folded;
use super::registers::{Class, Register, memory_type, space_name};
use crate::refusal::Refusal;
use ir::*;

impl Emitter<'_> {
    /// The space that an access names, the register with an address of that space, and bytes beyond it.
    fn address(&mut self, pointer: Value, access: &MemoryAccess) -> (Space, Register, i32) {
        let (pointer, offset) = folded(self.function, pointer);
        let register = self.register(pointer);
        let Type::Ptr(have) = self.ty(pointer) else {
            return (access.space, register, offset);
        };
        if have != Space::Generic || access.space == Space::Generic {
            return (have, register, offset);
        }
        let converted = self.fresh(Class::Double);
        let space = space_name(access.space);
        self.plain(format_args!("cvta.to{space}.u64 {converted}, {register}"));
        (access.space, converted, offset)
    }

    /// The vector suffix when the elements can go at once.
    fn vector(&self, types: &[Type]) -> Option<&'static str> {
        let first = *types.first()?;
        let narrow = matches!(first, Type::Ptr(_)) && self.function.narrow_addresses;
        let same = types.iter().all(|&ty| ty == first) && first != Type::Bool && !narrow;
        match types.len() {
            2 if same => Some(".v2"),
            4 if same && first.bytes() <= 4 => Some(".v4"),
            _ => None,
        }
    }

    /// The type of an access; an address that has fewer bits in memory than in its register is cut there, or gets zeros
    /// (PTX ISA, operand size exceeding instruction-type size).
    fn memory_type(&self, ty: Type) -> &'static str {
        match ty {
            Type::Ptr(_) if self.function.narrow_addresses => "u32",
            ty => memory_type(ty),
        }
    }

    pub(super) fn load(&mut self, data: &InstData, access: &MemoryAccess) -> Result<(), Refusal> {
        let (space, address, first) = self.address(data.args[0], access);
        let mut name = String::from("ld");
        if access.volatile && space != Space::Constant {
            name.push_str(".volatile");
        }
        name.push_str(space_name(space));
        if access.read_only && space == Space::Global && !access.volatile {
            name.push_str(".nc");
        }
        let types: Vec<Type> = data.results.iter().map(|&v| self.ty(v)).collect();
        if let Some(vector) = self.vector(&types) {
            let list: Vec<String> = data
                .results
                .iter()
                .map(|&v| self.register(v).to_string())
                .collect();
            let ty = memory_type(types[0]);
            let list = list.join(", ");
            self.line(format_args!(
                "{name}{vector}.{ty} {{{list}}}, [{}]",
                at(address, i64::from(first))
            ));
            return Ok(());
        }
        let mut offset = i64::from(first);
        for (&result, ty) in data.results.iter().zip(types) {
            let to = self.register(result);
            let suffix = self.memory_type(ty);
            if ty == Type::Bool {
                let word = self.fresh(Class::Word);
                self.line(format_args!(
                    "{name}.{suffix} {word}, [{}]",
                    at(address, offset)
                ));
                self.plain(format_args!("setp.ne.s32 {to}, {word}, 0"));
            } else {
                self.line(format_args!(
                    "{name}.{suffix} {to}, [{}]",
                    at(address, offset)
                ));
            }
            offset += i64::from(self.function.bytes_of(ty));
        }
        Ok(())
    }

    pub(super) fn store(&mut self, data: &InstData, access: &MemoryAccess) -> Result<(), Refusal> {
        let (space, address, first) = self.address(data.args[0], access);
        let mut name = String::from("st");
        if access.volatile {
            name.push_str(".volatile");
        }
        name.push_str(space_name(space));
        let values = &data.args[1..];
        let types: Vec<Type> = values.iter().map(|&v| self.ty(v)).collect();
        if let Some(vector) = self.vector(&types) {
            let list: Vec<String> = values
                .iter()
                .map(|&v| self.register(v).to_string())
                .collect();
            let ty = memory_type(types[0]);
            let list = list.join(", ");
            self.line(format_args!(
                "{name}{vector}.{ty} [{}], {{{list}}}",
                at(address, i64::from(first))
            ));
            return Ok(());
        }
        let mut offset = i64::from(first);
        for (&value, ty) in values.iter().zip(types) {
            let from = if ty == Type::Bool {
                let from = self.register(value);
                let word = self.fresh(Class::Word);
                self.plain(format_args!("selp.b32 {word}, 1, 0, {from}"));
                smol_str::format_smolstr!("{word}")
            } else {
                self.operand(value)
            };
            let suffix = self.memory_type(ty);
            self.line(format_args!(
                "{name}.{suffix} [{}], {from}",
                at(address, offset)
            ));
            offset += i64::from(self.function.bytes_of(ty));
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        data: &InstData,
        op: AtomicOp,
        access: &MemoryAccess,
    ) -> Result<(), Refusal> {
        let ty = self.ty(data.args[1]);
        let (bits, signed, unsigned) = match ty {
            Type::I32 => ("b32", "s32", "u32"),
            Type::I64 => ("b64", "s64", "u64"),
            Type::F32 => ("b32", "f32", "f32"),
            Type::F64 => ("b64", "f64", "f64"),
            _ => return Err(refuse_type("atomic", ty)),
        };
        let (name, suffix) = match op {
            AtomicOp::Add | AtomicOp::Sub => ("add", unsigned),
            AtomicOp::FloatAdd => ("add", signed),
            AtomicOp::MinSigned => ("min", signed),
            AtomicOp::MaxSigned => ("max", signed),
            AtomicOp::MinUnsigned => ("min", unsigned),
            AtomicOp::MaxUnsigned => ("max", unsigned),
            AtomicOp::And => ("and", bits),
            AtomicOp::Or => ("or", bits),
            AtomicOp::Xor => ("xor", bits),
            AtomicOp::Exchange => ("exch", bits),
            AtomicOp::CompareExchange => ("cas", bits),
            AtomicOp::IncrementWrap if ty == Type::I32 => ("inc", unsigned),
            AtomicOp::DecrementWrap if ty == Type::I32 => ("dec", unsigned),
            _ => return Err(refuse_type(&format!("atomic {op:?}"), ty)),
        };
        let (space, address, first) = self.address(data.args[0], access);
        if !matches!(space, Space::Global | Space::Shared | Space::Generic) {
            return Err(refuse("atomic", "ptr.local"));
        }
        let mut operands = Vec::new();
        for &value in &data.args[1..] {
            let register = self.register(value);
            let class = if ty == Type::F32 {
                Class::Word
            } else {
                Class::Double
            };
            // Exchanges take untyped bits.
            let operand = if ty.is_float() && suffix == bits {
                let word = self.fresh(class);
                self.plain(format_args!("mov.{bits} {word}, {register}"));
                word
            } else {
                register
            };
            operands.push(operand.to_string());
        }
        if op == AtomicOp::Sub {
            let negative = self.fresh(Class::of(ty));
            self.plain(format_args!("neg.{signed} {negative}, {}", operands[0]));
            operands[0] = negative.to_string();
        }
        let space = space_name(space);
        let list = operands.join(", ");
        let exchange = matches!(op, AtomicOp::Exchange | AtomicOp::CompareExchange);
        match data.results.first() {
            None if !exchange => {
                self.line(format_args!(
                    "red{space}.{name}.{suffix} [{}], {list}",
                    at(address, i64::from(first))
                ));
            }
            result => {
                let class = match (ty.is_float() && suffix == bits, ty) {
                    (true, Type::F32) => Class::Word,
                    (true, _) => Class::Double,
                    (false, ty) => Class::of(ty),
                };
                let to = match result {
                    Some(&result) if Class::of(ty) == class => self.register(result),
                    _ => self.fresh(class),
                };
                self.line(format_args!(
                    "atom{space}.{name}.{suffix} {to}, [{}], {list}",
                    at(address, i64::from(first))
                ));
                if let Some(&result) = result
                    && Class::of(ty) != class
                {
                    let result = self.register(result);
                    self.plain(format_args!("mov.{bits} {result}, {to}"));
                }
            }
        }
        Ok(())
    }
}

/// `%rd1+8`
fn at(address: Register, offset: i64) -> String {
    match offset {
        0 => address.to_string(),
        offset => format!("{address}+{offset}"),
    }
}
