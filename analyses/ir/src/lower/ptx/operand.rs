//! Reading and writing operands.

use super::scope::{Named, Register};
use super::types::Scalar;
use super::*;

impl<'a> Lowering<'a> {
    /// An operand as a value of `want`. Narrower registers are extended by `signed`.
    pub(super) fn read(&mut self, operand: &Operand, want: Type, signed: bool) -> Value {
        match operand {
            Operand::Name(name) => self.read_name(name, want, signed),
            Operand::Component(name, selector) => self.read_component(name, selector, want, signed),
            Operand::Integer(value, _) if want.is_float() => self.b.float(want, *value as f64),
            Operand::Integer(value, _) => match want {
                Type::Ptr(_) => self.b.constant(want, *value as u64),
                Type::Bool => self.b.bool(*value != 0),
                _ => self.b.int(want, *value),
            },
            Operand::Float32(bits, _) => match want {
                Type::F32 => self.b.constant(want, u64::from(*bits)),
                ty if ty.is_float() => self.b.float(want, f64::from(f32::from_bits(*bits))),
                _ => self.b.int(want, i64::from(*bits as i32)),
            },
            Operand::Float64(bits, _) => match want {
                Type::F64 => self.b.constant(want, *bits),
                ty if ty.is_float() => self.b.float(want, f64::from_bits(*bits)),
                Type::I32 => {
                    let single = (f64::from_bits(*bits) as f32).to_bits();
                    self.b.int(want, i64::from(single as i32))
                }
                _ => self.b.int(want, *bits as i64),
            },
            Operand::Sink(_) => self.b.undef(want),
            Operand::Not(inner, _) => {
                let value = self.read(inner, want, signed);
                let value = self.as_integer(value);
                let value = self.b.unary(UnaryOp::Not, value);
                self.resize(value, want, signed)
            }
            Operand::Negative(inner, _) => {
                let value = self.read(inner, want, signed);
                if want.is_float() {
                    return self.b.unary(UnaryOp::FloatNeg, value);
                }
                let value = self.as_integer(value);
                let value = self.b.unary(UnaryOp::Neg, value);
                self.resize(value, want, signed)
            }
            Operand::Offset(base, offset, _) => {
                let base = self.read(base, Type::I64, false);
                let offset = self.read(offset, Type::I64, true);
                let sum = self.b.binary(BinaryOp::Add, Wrap::MAY, base, offset);
                self.resize(sum, want, false)
            }
            Operand::Vector(parts, _) => self.packed(parts, want),
            Operand::List(parts, _) if parts.len() == 1 => self.read(&parts[0], want, signed),
            Operand::Pair(..) | Operand::Address(..) | Operand::List(..) => {
                let span = operand.span();
                self.report(
                    span,
                    "an operand that this instruction does not take".into(),
                );
                self.b
                    .unknown("an operand that this instruction does not take", &[], want)
            }
        }
    }

    /// `{a, b}`: the first element in the low bits.
    fn packed(&mut self, parts: &[Operand], want: Type) -> Value {
        let bits = want.bits() / (parts.len() as u32).max(1);
        let element = Type::int(bits);
        let whole = Type::int(want.bits());
        let mut value = self.b.int(whole, 0);
        for (number, part) in parts.iter().enumerate() {
            let part = self.read(part, element, false);
            let part = self.resize(part, whole, false);
            value = self.insert_lane(value, part, number as u32 * bits);
        }
        self.resize(value, want, false)
    }
    fn insert_lane(&mut self, whole: Value, part: Value, shift: u32) -> Value {
        if shift == 0 {
            return part;
        }
        let amount = self.b.int(Type::I32, i64::from(shift));
        let part = self.b.binary(BinaryOp::Shl, Wrap::MAY, part, amount);
        self.b.binary(BinaryOp::Or, Wrap::MAY, whole, part)
    }

    pub(super) fn read_name(&mut self, name: &Name, want: Type, signed: bool) -> Value {
        match self.lookup(&name.text) {
            Some(Named::Register(register)) => {
                let value = self.b.read(register.slots[0]);
                self.bind(&register, BindingKind::Read, value, name.span);
                self.resize(value, want, signed)
            }
            Some(Named::Memory(address)) => self.resize(address, want, false),
            Some(Named::Symbol(symbol)) => {
                let address = self.b.symbol_address(symbol);
                self.resize(address, want, false)
            }
            Some(Named::Parameter(number)) => {
                let address = self.spill_parameter(number);
                self.resize(address, want, false)
            }
            None => match self.special(&name.text, None) {
                Some(value) => self.resize(value, want, signed),
                None if self.is_static_name(&name.text) => {
                    // The address of a function or label: the same in every lane.
                    let value = self.b.value(
                        Op::Parameter(SmolStr::from(format!("&{}", name.text))),
                        &[],
                        Type::I64,
                    );
                    self.resize(value, want, false)
                }
                None => {
                    let register = self.undeclared(name, want);
                    let value = self.b.unknown(
                        format!("`{}` is not declared", name.text),
                        &[],
                        self.b.slot_type(register.slots[0]),
                    );
                    self.b.write(register.slots[0], value);
                    self.resize(value, want, signed)
                }
            },
        }
    }
    fn is_static_name(&self, name: &str) -> bool {
        self.functions.contains_key(name) || self.label(name).is_some()
    }

    fn read_component(&mut self, name: &Name, selector: &str, want: Type, signed: bool) -> Value {
        if let Some(Named::Register(register)) = self.lookup(&name.text) {
            let value = match component(selector) {
                Some(number) if number < register.slots.len() && register.slots.len() > 1 => {
                    self.b.read(register.slots[number])
                }
                _ => {
                    // `.b0`, `.h1` of video instructions: a part of the register.
                    let value = self.b.read(register.slots[0]);
                    self.bind(&register, BindingKind::Read, value, name.span);
                    let value = self.as_integer(value);
                    let (shift, ty) = sub_word(selector);
                    let amount = self.b.int(Type::I32, shift);
                    let shifted = self
                        .b
                        .binary(BinaryOp::ShrUnsigned, Wrap::MAY, value, amount);
                    self.resize(shifted, ty, false)
                }
            };
            return self.resize(value, want, signed);
        }
        match self.special(&name.text, Some(selector)) {
            Some(value) => self.resize(value, want, signed),
            None => self.read_name(name, want, signed),
        }
    }

    fn bind(&mut self, register: &Register, kind: BindingKind, value: Value, span: Span) {
        let site = self.site();
        self.b
            .bind(register.variable, kind, &[value], "", Loc { span, site });
    }

    /// Writes a result; under a guard the old value stays where it does not hold.
    pub(super) fn write(&mut self, place: &Operand, value: Value, signed: bool) {
        match place {
            Operand::Name(name) => {
                let register = match self.lookup(&name.text) {
                    Some(Named::Register(register)) => register,
                    Some(_) => {
                        self.report(name.span, format!("`{}` is not a register", name.text));
                        return;
                    }
                    None => {
                        let ty = self.b.function.ty(value);
                        self.undeclared(name, ty)
                    }
                };
                self.write_slot(&register, 0, value, signed, name.span);
            }
            Operand::Component(name, selector) => {
                if let Some(Named::Register(register)) = self.lookup(&name.text) {
                    let number = component(selector).unwrap_or(0);
                    let number = number.min(register.slots.len() - 1);
                    self.write_slot(&register, number, value, signed, name.span);
                }
            }
            Operand::Vector(parts, _) => {
                // A packed value: the first element is in the low bits.
                let bits = self.b.function.ty(value).bits() / (parts.len() as u32).max(1);
                let whole = self.as_integer(value);
                for (number, part) in parts.iter().enumerate() {
                    let lane = self.lane(whole, number as u32 * bits, Type::int(bits));
                    self.write(part, lane, false);
                }
            }
            _ => {}
        }
    }
    pub(super) fn lane(&mut self, whole: Value, shift: u32, ty: Type) -> Value {
        let shifted = if shift == 0 {
            whole
        } else {
            let amount = self.b.int(Type::I32, i64::from(shift));
            self.b
                .binary(BinaryOp::ShrUnsigned, Wrap::MAY, whole, amount)
        };
        self.resize(shifted, ty, false)
    }
    fn write_slot(
        &mut self,
        register: &Register,
        number: usize,
        value: Value,
        signed: bool,
        span: Span,
    ) {
        let slot = register.slots[number];
        let ty = self.b.slot_type(slot);
        let mut value = self.resize(value, ty, signed);
        if let Some(guard) = self.guard {
            let old = self.b.read(slot);
            value = if guard.negated {
                self.b.select(guard.value, old, value)
            } else {
                self.b.select(guard.value, value, old)
            };
        }
        self.b.write(slot, value);
        self.bind(register, BindingKind::Assignment, value, span);
    }

    /// The value as another type: bits kept, widths cut or extended.
    pub(super) fn resize(&mut self, value: Value, want: Type, signed: bool) -> Value {
        let from = self.b.function.ty(value);
        if from == want {
            return value;
        }
        if want == Type::Bool {
            return self.b.convert(Convert::ToBool, value, want);
        }
        if from == Type::Bool {
            let wide = Type::int(want.bits());
            let value = self.b.convert(Convert::ZeroExtend, value, wide);
            return self.resize(value, want, false);
        }
        if from.bits() == want.bits() {
            return self.b.convert(Convert::Bitcast, value, want);
        }
        let value = self.as_integer(value);
        let target = Type::int(want.bits());
        let kind = if want.bits() < from.bits() {
            Convert::Truncate
        } else if signed {
            Convert::SignExtend
        } else {
            Convert::ZeroExtend
        };
        let value = self.b.convert(kind, value, target);
        self.resize(value, want, signed)
    }
    /// The bits as an integer (a Bool stays).
    pub(super) fn as_integer(&mut self, value: Value) -> Value {
        let ty = self.b.function.ty(value);
        if ty.is_int() || ty == Type::Bool {
            return value;
        }
        self.b
            .convert(Convert::Bitcast, value, Type::int(ty.bits()))
    }

    /// Applies `f` to each element of a packed type, or once.
    pub(super) fn lanewise(
        &mut self,
        scalar: Scalar,
        operands: &[&Operand],
        mut f: impl FnMut(&mut Self, &[Value]) -> Value,
    ) -> Value {
        if scalar.lanes == 1 {
            let args: SmallVec<[Value; 4]> = operands
                .iter()
                .map(|operand| self.read(operand, scalar.ty, scalar.signed))
                .collect();
            return f(self, &args);
        }
        let container = scalar.container();
        let wholes: SmallVec<[Value; 4]> = operands
            .iter()
            .map(|operand| self.read(operand, container, false))
            .collect();
        let bits = scalar.ty.bits();
        let mut result = self.b.int(container, 0);
        for number in 0..u32::from(scalar.lanes) {
            let args: SmallVec<[Value; 4]> = wholes
                .iter()
                .map(|&whole| self.lane(whole, number * bits, scalar.ty))
                .collect();
            let part = f(self, &args);
            let part = self.as_integer(part);
            let part = self.resize(part, container, false);
            result = self.insert_lane(result, part, number * bits);
        }
        result
    }

    /// The registers that an instruction's first operand names, with their types.
    pub(super) fn result_places<'o>(&mut self, operand: &'o Operand) -> Vec<(&'o Operand, Type)> {
        let mut places = Vec::new();
        self.places_in(operand, &mut places);
        places
    }
    fn places_in<'o>(&mut self, operand: &'o Operand, places: &mut Vec<(&'o Operand, Type)>) {
        match operand {
            Operand::Name(name) | Operand::Component(name, _) => {
                if let Some(Named::Register(register)) = self.lookup(&name.text) {
                    places.push((operand, self.b.slot_type(register.slots[0])));
                }
            }
            Operand::Vector(parts, _) => {
                for part in parts {
                    self.places_in(part, places);
                }
            }
            Operand::Pair(a, b, _) => {
                self.places_in(a, places);
                self.places_in(b, places);
            }
            _ => {}
        }
    }
    /// The values of all registers of an operand.
    pub(super) fn registers_in(&mut self, operand: &Operand, values: &mut Vec<Value>) {
        match operand {
            Operand::Name(name) | Operand::Component(name, _) => match self.lookup(&name.text) {
                Some(Named::Register(register)) => {
                    for &slot in &register.slots {
                        let value = self.b.read(slot);
                        self.bind(&register, BindingKind::Read, value, name.span);
                        values.push(value);
                    }
                }
                Some(Named::Memory(address)) => values.push(address),
                Some(Named::Symbol(symbol)) => {
                    let address = self.b.symbol_address(symbol);
                    values.push(address);
                }
                _ => {
                    let selector = match operand {
                        Operand::Component(_, selector) => Some(selector.as_str()),
                        _ => None,
                    };
                    if let Some(value) = self.special(&name.text, selector) {
                        values.push(value);
                    }
                }
            },
            Operand::Vector(parts, _) | Operand::Address(parts, _) | Operand::List(parts, _) => {
                for part in parts {
                    self.registers_in(part, values);
                }
            }
            Operand::Pair(a, b, _) | Operand::Offset(a, b, _) => {
                self.registers_in(a, values);
                self.registers_in(b, values);
            }
            Operand::Not(inner, _) | Operand::Negative(inner, _) => {
                self.registers_in(inner, values);
            }
            Operand::Integer(..)
            | Operand::Float32(..)
            | Operand::Float64(..)
            | Operand::Sink(_) => {}
        }
    }

    fn special(&mut self, name: &str, selector: Option<&str>) -> Option<Value> {
        let read = registers::read_of(name, selector)?;
        Some(special_value(&mut self.b, read))
    }
}

/// Reads a special register of a type: `%tid` with the selector `x`, `%laneid` without one.
pub(crate) fn special_register(
    b: &mut FunctionBuilder,
    name: &str,
    selector: Option<&str>,
    wanted: Type,
) -> Option<Value> {
    let read = registers::read_of(name, selector).filter(|read| read.ty == wanted)?;
    Some(special_value(b, read))
}

fn special_value(b: &mut FunctionBuilder, read: registers::RegisterRead) -> Value {
    match read.special {
        Some(special) => b.special(special, read.ty),
        None => b.int(read.ty, 0),
    }
}

fn component(selector: &str) -> Option<usize> {
    Some(match selector {
        "x" | "r" => 0,
        "y" | "g" => 1,
        "z" | "b" => 2,
        "w" | "a" => 3,
        _ => return None,
    })
}

/// Shift and type of `.b0` to `.b3`, `.h0`, `.h1`.
fn sub_word(selector: &str) -> (i64, Type) {
    match selector {
        "b1" => (8, Type::I8),
        "b2" => (16, Type::I8),
        "b3" => (24, Type::I8),
        "h0" => (0, Type::I16),
        "h1" => (16, Type::I16),
        _ => (0, Type::I8),
    }
}
