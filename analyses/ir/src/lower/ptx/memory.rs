//! Loads, stores, atomics, asynchronous copies of a few bytes.

use super::scope::Named;
use super::types::Scalar;
use super::*;

/// The space that a modifier names: `global`, `shared::cta`, `param::entry`.
pub(super) fn space(modifier: &str) -> Option<Space> {
    let word = modifier.split("::").next().unwrap_or(modifier);
    Some(match word {
        "global" => Space::Global,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "const" | "param" => Space::Constant,
        "generic" => Space::Generic,
        _ => return None,
    })
}

fn vector_length(i: &Instruction) -> usize {
    i.modifiers
        .iter()
        .find_map(|m| match m.as_str() {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        })
        .unwrap_or(1)
}

impl<'a> Lowering<'a> {
    pub(super) fn memory(&mut self, i: &'a Instruction, types: &[Scalar]) -> Done {
        match i.opcode.text.as_str() {
            "ld" | "ldu" => self.load(i, *types.last()?),
            "st" => self.store(i, *types.last()?),
            "atom" | "red" => self.atomic(i, *types.last()?),
            "alloca" => {
                let [result, Operand::Integer(size, _), ..] = &i.operands[..] else {
                    return self.opaque(i);
                };
                let size = u32::try_from(*size).ok()?;
                let align = match i.operands.get(2) {
                    Some(Operand::Integer(align, _)) => u32::try_from(*align).ok()?,
                    _ => 8,
                };
                let address = self.b.alloca(size, align);
                let ty = types.last()?.ty;
                let value = self.resize(address, ty, false);
                self.write(result, value, false);
                Some(())
            }
            _ => self.opaque(i),
        }
    }

    fn access(&self, i: &Instruction) -> MemoryAccess {
        let space = i
            .modifiers
            .iter()
            .find_map(|m| space(m))
            .unwrap_or(Space::Generic);
        // The parameters of a function that is no entry lie on the caller's stack.
        let stack = i.modifiers.iter().any(|m| m.starts_with("param"))
            && self.frames.last().is_some_and(|f| !f.function.entry);
        let space = if stack { Space::Local } else { space };
        let volatile = i.modifiers.iter().any(|m| {
            matches!(
                m.as_str(),
                "volatile" | "relaxed" | "acquire" | "release" | "mmio"
            )
        });
        MemoryAccess {
            space,
            volatile,
            read_only: i.has("nc") || i.opcode.text == "ldu" || space == Space::Constant,
            checked: false,
            untyped: false,
            speculation: None,
        }
    }

    /// `[base + offset]` as a pointer into the access's space (or the space of the symbol that it names).
    fn address(&mut self, operand: &Operand, access: &mut MemoryAccess) -> Option<Value> {
        let Operand::Address(parts, _) = operand else {
            return None;
        };
        let (base, offset) = split_offset(parts.first()?)?;
        let mut pointer = match base {
            None => self.b.constant(Type::Ptr(access.space), 0),
            Some(Operand::Name(name)) => match self.lookup(&name.text) {
                Some(Named::Symbol(symbol)) => {
                    let data = &self.b.function.symbols[symbol];
                    if data.kind != SymbolKind::Memory {
                        return None;
                    }
                    access.space = data.space;
                    access.read_only |= data.read_only;
                    self.b.symbol_address(symbol)
                }
                Some(Named::Memory(address)) => {
                    access.space = Space::Local;
                    address
                }
                Some(Named::Parameter(number)) => {
                    access.space = Space::Local;
                    access.read_only = false;
                    self.spill_parameter(number)
                }
                _ => {
                    let value = self.read_name(name, Type::I64, false);
                    self.resize(value, Type::Ptr(access.space), false)
                }
            },
            Some(other) => {
                let value = self.read(other, Type::I64, false);
                self.resize(value, Type::Ptr(access.space), false)
            }
        };
        if offset != 0 {
            let offset = self.b.int(Type::I64, offset);
            pointer = self.b.ptr_add(pointer, offset);
        }
        Some(pointer)
    }

    /// The parameter variable and byte offset of a `.param` access by name.
    fn direct_parameter(&mut self, i: &Instruction, operand: &Operand) -> Option<(usize, u32)> {
        if !i.modifiers.iter().any(|m| m.starts_with("param")) {
            return None;
        }
        let Operand::Address(parts, _) = operand else {
            return None;
        };
        let (Some(Operand::Name(name)), offset) = split_offset(parts.first()?)? else {
            return None;
        };
        match self.lookup(&name.text)? {
            Named::Parameter(number) => Some((number, u32::try_from(offset).ok()?)),
            _ => None,
        }
    }

    /// Copies a `.param` variable to private memory, whose address it then has.
    pub(super) fn spill_parameter(&mut self, number: usize) -> Value {
        let bytes = self.parameters[number].bytes;
        let address = self.b.alloca(bytes, 16);
        let access = MemoryAccess::in_space(Space::Local);
        let (ty, step) = if bytes.is_multiple_of(4) {
            (Type::I32, 4)
        } else {
            (Type::I8, 1)
        };
        for offset in (0..bytes.min(4096)).step_by(step) {
            let value = self.read_cell(number, offset, ty);
            let place = self.b.int(Type::I64, i64::from(offset));
            let place = self.b.ptr_add(address, place);
            self.b.store(access, place, &[value]);
        }
        address
    }

    fn load(&mut self, i: &'a Instruction, ty: Scalar) -> Done {
        let [result, source, ..] = &i.operands[..] else {
            return None;
        };
        let count = vector_length(i);
        let element = ty.container();
        let places: SmallVec<[&Operand; 4]> = match result {
            Operand::Vector(parts, _) if count > 1 || ty.is_wide() => parts.iter().collect(),
            other => SmallVec::from_slice(&[other]),
        };
        let types: SmallVec<[Type; 4]> = if ty.is_wide() {
            SmallVec::from_elem(Type::I64, 2 * count)
        } else {
            SmallVec::from_elem(element, count)
        };
        let values: SmallVec<[Value; 4]> =
            if let Some((number, offset)) = self.direct_parameter(i, source) {
                let mut at = offset;
                types
                    .iter()
                    .map(|&ty| {
                        let integer = if ty == Type::Bool {
                            Type::I8
                        } else {
                            Type::int(ty.bits())
                        };
                        let value = self.read_cell(number, at, integer);
                        at += ty.bytes();
                        self.resize(value, ty, false)
                    })
                    .collect()
            } else {
                let mut access = self.access(i);
                let address = self.address(source, &mut access)?;
                let inst = self
                    .b
                    .guarded(Op::Load(access), &[address], &types, self.guard);
                SmallVec::from_slice(self.b.results(inst))
            };
        self.b.vector(&values);
        if ty.is_wide() {
            if count == 1 {
                self.write_halves(result, &values);
            } else {
                for (place, halves) in places.into_iter().zip(values.chunks(2)) {
                    self.write_halves(place, halves);
                }
            }
            return Some(());
        }
        if places.len() == 1 && count > 1 {
            // A vector register.
            let Operand::Name(name) = places[0] else {
                return None;
            };
            for (selector, &value) in ["x", "y", "z", "w"].into_iter().zip(&values) {
                let part = Operand::Component(name.clone(), SmolStr::new_static(selector));
                self.write(&part, value, ty.signed);
            }
            return Some(());
        }
        for (place, value) in places.into_iter().zip(values) {
            self.write(place, value, ty.signed);
        }
        Some(())
    }

    fn store(&mut self, i: &'a Instruction, ty: Scalar) -> Done {
        // `st.async` and `st.bulk` complete through a barrier object.
        if i.has("async") || i.has("bulk") {
            return self.opaque(i);
        }
        let [target, source, ..] = &i.operands[..] else {
            return None;
        };
        let count = vector_length(i);
        let element = ty.container();
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        match source {
            _ if ty.is_wide() => match source {
                Operand::Vector(parts, _) if count > 1 => {
                    for part in parts {
                        values.extend(self.halves(part)?);
                    }
                }
                _ => values.extend(self.halves(source)?),
            },
            Operand::Vector(parts, _) if count > 1 => {
                for part in parts {
                    values.push(self.read(part, element, ty.signed));
                }
            }
            Operand::Name(name) if count > 1 => {
                for selector in ["x", "y", "z", "w"].into_iter().take(count) {
                    let part = Operand::Component(name.clone(), SmolStr::new_static(selector));
                    values.push(self.read(&part, element, ty.signed));
                }
            }
            other => values.push(self.read(other, element, ty.signed)),
        }
        if let Some((number, mut offset)) = self.direct_parameter(i, target) {
            for value in values {
                let width = self.b.function.ty(value).bytes();
                let mut value = self.as_integer(value);
                if self.b.function.ty(value) == Type::Bool {
                    value = self.resize(value, Type::I8, false);
                }
                if let Some(guard) = self.guard {
                    let ty = self.b.function.ty(value);
                    let old = self.read_cell(number, offset, ty);
                    value = if guard.negated {
                        self.b.select(guard.value, old, value)
                    } else {
                        self.b.select(guard.value, value, old)
                    };
                }
                self.write_cell(number, offset, value);
                offset += width;
            }
            return Some(());
        }
        let mut access = self.access(i);
        let address = self.address(target, &mut access)?;
        access.read_only = false;
        self.b.vector(&values);
        let mut args: SmallVec<[Value; 8]> = SmallVec::from_slice(&[address]);
        args.extend(values);
        self.b.guarded(Op::Store(access), &args, &[], self.guard);
        Some(())
    }

    fn atomic(&mut self, i: &'a Instruction, ty: Scalar) -> Done {
        if i.has("async") || ty.is_wide() {
            return self.opaque(i);
        }
        let red = i.opcode.text == "red";
        let (result, operands) = if red {
            (None, &i.operands[..])
        } else {
            let (first, rest) = i.operands.split_first()?;
            (Some(first), rest)
        };
        let (target, sources) = operands.split_first()?;
        let float = ty.ty.is_float();
        let compare = i.has("cas");
        let op = i
            .modifiers
            .iter()
            .find_map(|m| atomic_op(m, ty.signed, float))?;
        let mut access = self.access(i);
        access.volatile = false;
        access.read_only = false;
        let address = self.address(target, &mut access)?;
        let count = vector_length(i);
        let values: SmallVec<[&Operand; 4]> = match sources.first()? {
            Operand::Vector(parts, _) if count > 1 => parts.iter().collect(),
            other => SmallVec::from_slice(&[other]),
        };
        let places: SmallVec<[Option<&Operand>; 4]> = match result {
            Some(Operand::Vector(parts, _)) if count > 1 => parts.iter().map(Some).collect(),
            Some(Operand::Sink(_)) | None => SmallVec::from_elem(None, values.len()),
            place => SmallVec::from_slice(&[place]),
        };
        let lanes = u32::from(ty.lanes);
        let mut offset = 0;
        for (value, place) in values.into_iter().zip(places) {
            let container = ty.container();
            let whole = self.read(value, container, ty.signed);
            let mut old = self.b.int(Type::int(container.bits()), 0);
            for lane in 0..lanes {
                let part = if lanes == 1 {
                    whole
                } else {
                    self.lane(whole, lane * ty.ty.bits(), ty.ty)
                };
                let mut args: SmallVec<[Value; 3]> = SmallVec::new();
                args.push(if offset == 0 {
                    address
                } else {
                    let at = self.b.int(Type::I64, offset);
                    self.b.ptr_add(address, at)
                });
                args.push(part);
                if compare {
                    args.push(self.read(sources.get(1)?, ty.ty, ty.signed));
                }
                let results = if place.is_some() { &[ty.ty][..] } else { &[] };
                let inst = self
                    .b
                    .guarded(Op::Atomic(op, access), &args, results, self.guard);
                if let Some(&value) = self.b.results(inst).first() {
                    if lanes == 1 {
                        old = value;
                    } else {
                        let part = self.as_integer(value);
                        let whole = self.b.function.ty(old);
                        let part = self.resize(part, whole, false);
                        let shift = self.b.int(Type::I32, i64::from(lane * ty.ty.bits()));
                        let part = self.b.binary(BinaryOp::Shl, Wrap::MAY, part, shift);
                        old = self.b.binary(BinaryOp::Or, Wrap::MAY, old, part);
                    }
                }
                offset += i64::from(ty.ty.bytes());
            }
            if let Some(place) = place {
                self.write(place, old, ty.signed);
            }
        }
        Some(())
    }

    /// `cp.async.ca.shared.global [to], [from], 16`: a load and a store; the rest of `cp` is opaque.
    pub(super) fn async_copy(&mut self, i: &'a Instruction) -> Done {
        let modifiers: Vec<&str> = i.modifiers.iter().map(SmolStr::as_str).collect();
        match modifiers[..] {
            ["async", "commit_group" | "wait_group" | "wait_all", ..]
            | ["async", "bulk", "commit_group" | "wait_group", ..] => {
                self.b.guarded(Op::Fence, &[], &[], self.guard);
                return Some(());
            }
            ["async", "ca" | "cg", ..] => {}
            _ => return self.opaque(i),
        }
        let [to, from, Operand::Integer(size, _), rest @ ..] = &i.operands[..] else {
            return None;
        };
        let types: &[Type] = match size {
            4 => &[Type::I32],
            8 => &[Type::I64],
            16 => &[Type::I64, Type::I64],
            _ => return None,
        };
        let mut target = MemoryAccess::in_space(Space::Shared);
        let target_address = self.address(to, &mut target)?;
        let mut source = MemoryAccess::in_space(Space::Global);
        let source_address = self.address(from, &mut source)?;
        // Bytes past the source size are zeros; it is 0 or all in compiled code.
        let mut guard = self.guard;
        let mut present = None;
        if let Some(size) = rest.first()
            && !matches!(size, Operand::Integer(..))
        {
            let ignore = matches!(size, Operand::Name(name)
                if self.result_places(&Operand::Name(name.clone())).first()
                    .is_some_and(|(_, ty)| *ty == Type::Bool));
            let size = self.read(size, if ignore { Type::Bool } else { Type::I32 }, false);
            let some = if ignore {
                self.b.unary(UnaryOp::Not, size)
            } else if rest.len() == 1 {
                let zero = self.b.int(Type::I32, 0);
                self.b.int_compare(IntCondition::NotEqual, size, zero)
            } else {
                self.b.bool(true)
            };
            present = Some(some);
            let both = match self.guard {
                None => some,
                Some(outer) => {
                    let outer_value = if outer.negated {
                        self.b.unary(UnaryOp::Not, outer.value)
                    } else {
                        outer.value
                    };
                    self.b.binary(BinaryOp::And, Wrap::MAY, outer_value, some)
                }
            };
            guard = Some(crate::inst::Guard {
                value: both,
                negated: false,
            });
        }
        let inst = self
            .b
            .guarded(Op::Load(source), &[source_address], types, guard);
        let mut args: SmallVec<[Value; 4]> = SmallVec::from_slice(&[target_address]);
        let loaded: SmallVec<[Value; 2]> = SmallVec::from_slice(self.b.results(inst));
        for value in loaded {
            args.push(match present {
                Some(present) => {
                    let ty = self.b.function.ty(value);
                    let zero = self.b.int(ty, 0);
                    self.b.select(present, value, zero)
                }
                None => value,
            });
        }
        self.b.guarded(Op::Store(target), &args, &[], self.guard);
        Some(())
    }
}

/// Base and constant offset of an address's first part.
fn split_offset(operand: &Operand) -> Option<(Option<&Operand>, i64)> {
    match operand {
        Operand::Offset(base, offset, _) => match (&**base, &**offset) {
            (Operand::Integer(base, _), Operand::Integer(offset, _)) => {
                Some((None, base.wrapping_add(*offset)))
            }
            (base, Operand::Integer(offset, _)) => Some((Some(base), *offset)),
            _ => Some((Some(operand), 0)),
        },
        Operand::Integer(value, _) => Some((None, *value)),
        other => Some((Some(other), 0)),
    }
}

pub(super) fn atomic_op(modifier: &str, signed: bool, float: bool) -> Option<AtomicOp> {
    Some(match (modifier, signed, float) {
        ("add", _, false) => AtomicOp::Add,
        ("add", _, true) => AtomicOp::FloatAdd,
        ("min", _, true) => AtomicOp::FloatMin,
        ("max", _, true) => AtomicOp::FloatMax,
        ("min", true, _) => AtomicOp::MinSigned,
        ("max", true, _) => AtomicOp::MaxSigned,
        ("min", false, _) => AtomicOp::MinUnsigned,
        ("max", false, _) => AtomicOp::MaxUnsigned,
        ("and", ..) => AtomicOp::And,
        ("or", ..) => AtomicOp::Or,
        ("xor", ..) => AtomicOp::Xor,
        ("exch", ..) => AtomicOp::Exchange,
        ("cas", ..) => AtomicOp::CompareExchange,
        ("inc", ..) => AtomicOp::IncrementWrap,
        ("dec", ..) => AtomicOp::DecrementWrap,
        _ => return None,
    })
}
