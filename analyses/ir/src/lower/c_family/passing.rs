//! Structures of C as arguments and results, as the conventions of IA-64 pass them.
//!
//! ```text
//! struct { char c[5]; } f(struct { int a, b, c; } x)      x: two words; the result: one
//! struct { float x, y, z; }                               three numbers of floating point, in two slots
//! ```
//! A structure goes as words of 8 bytes, an argument slot each; one of nothing but `float`, or nothing but `double`, as those.
//! Results of more than 32 bytes are written where the caller says. A function of C that is lowered in place has no
//! such border.
//!
//! Intel, *Itanium Software Conventions and Runtime Architecture Guide*, 8.5 and 8.6.

use super::context::Context;
use super::types::*;
use super::value::*;
use crate::entity::Value;
use crate::inst::*;
use crate::types::{Space, Type};
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::Span;

/// Words of a structure that are passed one by one.
const MAX_WORDS: u64 = 1024;
/// Bytes of a result in registers, and how many numbers of floating point are.
const MAX_RESULT: u64 = 32;
const MAX_FLOATS: u64 = 8;

/// The form in which a value crosses the border of a function.
#[derive(Clone, PartialEq, Debug)]
enum Form {
    /// The value is passed as its scalars.
    Scalars,
    Words,
    /// This many floating-point numbers, and nothing else.
    Floats(FloatKind, u64),
}

/// The arguments given to a call so far.
#[derive(Default)]
pub(super) struct Given {
    pub(super) values: Parts,
    pub(super) convention: Convention,
    slots: usize,
}

impl Given {
    pub(super) fn scalar(&mut self, value: Value) {
        self.values.push(value);
        self.slots += 1;
    }
}

impl StructTable {
    fn form(&self, ty: &CType) -> Form {
        match ty {
            CType::Struct(_) if self.c => match self.floats(ty) {
                Some((kind, count)) => Form::Floats(kind, count),
                None => Form::Words,
            },
            _ => Form::Scalars,
        }
    }

    /// Elements of a structure of nothing but one type of floating point.
    fn floats(&self, ty: &CType) -> Option<(FloatKind, u64)> {
        let (kind, count) = self.floats_of(ty, 0)?;
        let bytes = u64::from(kind.ir().bytes());
        (count > 0 && self.size_of(ty) == Some(count * bytes)).then_some((kind, count))
    }

    fn floats_of(&self, ty: &CType, depth: u32) -> Option<(FloatKind, u64)> {
        if depth > MAX_TYPE_DEPTH {
            return None;
        }
        match ty {
            CType::Float(kind @ (FloatKind::Single | FloatKind::Double)) => Some((*kind, 1)),
            CType::Array {
                element,
                size: ArraySize::Fixed(count),
            } => {
                let (kind, each) = self.floats_of(element, depth + 1)?;
                Some((kind, each.checked_mul(*count)?))
            }
            CType::Struct(id) => {
                let info = &self[*id];
                let mut found: Option<(FloatKind, u64)> = None;
                for field in &info.fields {
                    let (kind, count) = self.floats_of(&field.ty, depth + 1)?;
                    found = match found {
                        None => Some((kind, count)),
                        Some((known, _)) if known != kind => return None,
                        Some((_, before)) if info.union => Some((kind, before.max(count))),
                        Some((_, before)) => Some((kind, before + count)),
                    };
                }
                found
            }
            _ => None,
        }
    }

    /// The words of a structure: one that is a single scalar has its type.
    fn words(&self, ty: &CType) -> Option<Vec<Type>> {
        let count = self.size_of(ty)?.div_ceil(8);
        if count > MAX_WORDS || !self.is_exact(ty) {
            return None;
        }
        let mut words = vec![Type::I64; count as usize];
        if let (Some(types), Some(offsets)) = (self.parts(ty), self.part_offsets(ty)) {
            for (&each, offset) in types.iter().zip(offsets) {
                if self.bytes_of(each) == 8 && !each.is_float() {
                    words[(offset / 8) as usize] = each;
                }
            }
        }
        Some(words)
    }

    /// A result that is written where the caller says.
    pub(super) fn returns_into(&self, ty: &CType) -> bool {
        let size = self.size_of(ty).unwrap_or(0);
        match self.form(ty) {
            Form::Scalars => false,
            Form::Words => size > MAX_RESULT,
            Form::Floats(_, count) => count > MAX_FLOATS,
        }
    }

    /// The types of a result in registers; `None`: it has none.
    pub(super) fn returned(&self, ty: &CType) -> Option<SmallVec<[Type; 4]>> {
        if self.returns_into(ty) {
            return Some(SmallVec::from_slice(&[Type::Ptr(Space::Generic)]));
        }
        match self.form(ty) {
            Form::Scalars => self.parts(ty),
            Form::Words => self.words(ty).map(SmallVec::from_vec),
            Form::Floats(kind, count) => Some(SmallVec::from_elem(kind.ir(), count as usize)),
        }
    }

    /// Returns true if values of a type can be passed, or be a result.
    pub(super) fn is_passed(&self, ty: &CType, result: bool) -> bool {
        ty.is_void()
            || self.c && self.returns_into(ty) && result
            || match self.form(ty) {
                Form::Scalars => self.parts(ty).is_some(),
                _ => self.words(ty).is_some(),
            }
    }
}

impl Context<'_> {
    // ---------------------------------------------------------------------------------------- callers

    /// An argument, as its parameter takes it. An argument without a parameter's name is passed as words.
    pub(super) fn give(&mut self, given: &mut Given, value: &RValue, named: bool, span: Span) {
        self.here(span);
        let form = match self.structs.form(&value.ty) {
            Form::Floats(..) if !named => Form::Words,
            form => form,
        };
        if form == Form::Scalars {
            for &part in &value.parts {
                given.scalar(part);
            }
            return;
        }
        given.convention.structures = true;
        if self.structs.align_of(&value.ty) > 8 && given.slots % 2 == 1 {
            let gap = self.builder.undef(Type::I64);
            given.scalar(gap);
        }
        match form {
            Form::Floats(kind, count) => {
                let numbers = self.floats_out(value, kind, count, span);
                for (at, number) in numbers.into_iter().enumerate() {
                    let half = kind == FloatKind::Single && at % 2 == 1;
                    if half {
                        let number = given.values.len() as u16;
                        given.convention.halves.push(number);
                    }
                    given.values.push(number);
                    given.slots += usize::from(!half);
                }
            }
            _ => {
                for word in self.words_out(value, span) {
                    given.scalar(word);
                }
            }
        }
    }

    /// Room for a result that is written where the caller says, before all arguments.
    pub(super) fn give_room(&mut self, given: &mut Given, returns: &CType) {
        if self.structs.returns_into(returns) {
            let room = self.room(returns);
            let room = self.adapt(room, Type::Ptr(Space::Generic));
            given.values.push(room);
            given.convention.into = true;
        }
        given.convention.structures |= self.structs.form(returns) != Form::Scalars;
    }

    /// Returns the value of a call, whose first results are the value.
    pub(super) fn taken(&mut self, returns: &CType, given: &Given, results: &[Value]) -> RValue {
        if given.convention.into {
            let place = match given.values.first() {
                Some(&room) => self.memory_place(returns.clone(), room, false, false, false),
                None => return self.undefined(returns),
            };
            return self.load_silently(&place, Span::default());
        }
        match self.structs.form(returns) {
            Form::Scalars => RValue::new(returns.clone(), results.iter().copied()),
            Form::Words => self.words_in(returns, results),
            Form::Floats(kind, _) => self.floats_in(returns, kind, results),
        }
    }

    // ---------------------------------------------------------------------------------------- callees

    /// The address that a result is written to, as the function's first parameter.
    pub(super) fn room_parameter(&mut self, returns: &CType) {
        let structure = self.is_c() && self.structs.form(returns) != Form::Scalars;
        self.builder.function.convention.structures |= structure;
        if self.is_c() && self.structs.returns_into(returns) {
            let ty = [Type::Ptr(Space::Generic)];
            let room = self.builder.parameter("", "result", &ty)[0];
            self.builder.function.convention.into = true;
            let place = self.memory_place(returns.clone(), room, false, false, false);
            self.result_place = Some(place);
        }
    }

    /// A parameter that is a structure; `None`: it has another form.
    pub(super) fn parameter_in(
        &mut self,
        name: &SmolStr,
        text: &SmolStr,
        ty: &CType,
    ) -> Option<RValue> {
        let form = self.structs.form(ty);
        let mut types: Vec<Type> = match form {
            Form::Scalars => return None,
            Form::Words => self.structs.words(ty)?,
            Form::Floats(kind, count) => {
                self.structs.words(ty)?;
                vec![kind.ir(); count as usize]
            }
        };
        self.builder.function.convention.structures = true;
        let entry = self.builder.function.entry();
        let before = self.builder.function.blocks[entry].params.len();
        let slots = self.builder.function.convention.slots(before);
        let next = slots.last().copied().flatten().map_or(0, |slot| slot + 1);
        let gap = usize::from(self.structs.align_of(ty) > 8 && next % 2 == 1);
        if gap == 1 {
            types.insert(0, Type::I64);
        }
        if let Form::Floats(FloatKind::Single, count) = form {
            let halves = (1..count as usize)
                .step_by(2)
                .map(|at| (before + gap + at) as u16);
            self.builder.function.convention.halves.extend(halves);
        }
        let values = self.builder.parameter(name.clone(), text.clone(), &types);
        let values = &values[gap..];
        Some(match form {
            Form::Floats(kind, _) => self.floats_in(ty, kind, values),
            _ => self.words_in(ty, values),
        })
    }

    /// The results of the function that is built.
    pub(super) fn results_out(&mut self, value: RValue, span: Span) -> Parts {
        let ty = value.ty.clone();
        match self.structs.form(&ty) {
            Form::Scalars => value.parts,
            _ if self.structs.returns_into(&ty) => match self.result_place.clone() {
                Some(place) => {
                    self.store_silently(&place, value, span);
                    self.address(&place, span).into_iter().collect()
                }
                None => Parts::new(),
            },
            Form::Words => self.words_out(&value, span).into_iter().collect(),
            Form::Floats(kind, count) => {
                let numbers = self.floats_out(&value, kind, count, span);
                numbers.into_iter().collect()
            }
        }
    }

    // ---------------------------------------------------------------------------------------- words

    /// Memory of whole words for a structure.
    fn room(&mut self, ty: &CType) -> Value {
        let size = self.structs.size_of(ty).unwrap_or(8).next_multiple_of(8);
        self.private_memory(size, self.structs.align_of(ty).max(8))
    }

    fn words_out(&mut self, value: &RValue, span: Span) -> Vec<Value> {
        let Some(words) = self.structs.words(&value.ty) else {
            self.not_passed(&value.ty, false, span);
            return Vec::new();
        };
        let offsets = self.structs.part_offsets(&value.ty);
        if let (false, Some(offsets)) = (value.parts.is_empty(), offsets) {
            let mut out: Vec<Option<Value>> = vec![None; words.len()];
            for (&part, offset) in value.parts.iter().zip(offsets) {
                let (word, bits) = ((offset / 8) as usize, 8 * (offset % 8));
                let whole = words[word];
                let part = self.as_word(part, whole);
                let part = self.moved(BinaryOp::Shl, part, bits);
                out[word] = Some(match out[word] {
                    Some(before) => self.builder.binary(BinaryOp::Or, Wrap::MAY, before, part),
                    None => part,
                });
            }
            let words = out.into_iter().zip(words);
            return words
                .map(|(word, ty)| word.unwrap_or_else(|| self.builder.undef(ty)))
                .collect();
        }
        // What lies in memory alone is read as its alignment permits.
        let mut place = match &value.target {
            Some(target) => (**target).clone(),
            None => LValue::value(value.clone()),
        };
        place.name = None;
        let Some(address) = self.address(&place, span) else {
            return Vec::new();
        };
        let access = self.memory_of(address);
        let size = self.structs.size_of(&value.ty).unwrap_or(0);
        let unit = self.structs.align_of(&value.ty).min(8);
        let unit_type = Type::int(8 * unit as u32);
        let mut out = Vec::with_capacity(words.len());
        for word in 0..words.len() as u64 {
            let mut whole: Option<Value> = None;
            for at in (8 * word..size.min(8 * word + 8)).step_by(unit as usize) {
                let offset = self.builder.int(Type::I64, at as i64);
                let from = self.offset_address(address, offset);
                let part = self.builder.load(access, from, unit_type);
                let part = self.as_word(part, Type::I64);
                let part = self.moved(BinaryOp::Shl, part, 8 * (at - 8 * word));
                whole = Some(match whole {
                    Some(before) => self.builder.binary(BinaryOp::Or, Wrap::MAY, before, part),
                    None => part,
                });
            }
            let whole = whole.unwrap_or_else(|| self.builder.undef(Type::I64));
            out.push(self.adapt(whole, words[word as usize]));
        }
        out
    }

    fn words_in(&mut self, ty: &CType, words: &[Value]) -> RValue {
        let parts = self.structs.parts(ty).zip(self.structs.part_offsets(ty));
        let Some((types, offsets)) = parts else {
            let room = self.room(ty);
            let access = self.memory_of(room);
            for (at, &word) in words.iter().enumerate() {
                let offset = self.builder.int(Type::I64, 8 * at as i64);
                let to = self.offset_address(room, offset);
                self.builder.store(access, to, &[word]);
            }
            let place = self.memory_place(ty.clone(), room, false, false, false);
            return self.load_silently(&place, Span::default());
        };
        let mut out = Parts::new();
        for (&each, &offset) in types.iter().zip(&offsets) {
            let Some(&word) = words.get((offset / 8) as usize) else {
                out.push(self.builder.undef(each));
                continue;
            };
            let part = self.moved(BinaryOp::ShrUnsigned, word, 8 * (offset % 8));
            out.push(self.of_word(part, each));
        }
        RValue::new(ty.clone(), out)
    }

    /// An access of the bytes at an address.
    pub fn memory_of(&self, address: Value) -> MemoryAccess {
        let space = match self.builder.function.ty(address) {
            Type::Ptr(space) => space,
            _ => Space::Generic,
        };
        MemoryAccess {
            untyped: true,
            ..MemoryAccess::in_space(space)
        }
    }

    fn moved(&mut self, op: BinaryOp, value: Value, bits: u64) -> Value {
        if bits == 0 {
            return value;
        }
        let by = self.builder.int(Type::I64, bits as i64);
        self.builder.binary(op, Wrap::MAY, value, by)
    }

    /// A scalar as a word with zeros above it.
    fn as_word(&mut self, value: Value, word: Type) -> Value {
        let ty = self.builder.function.ty(value);
        if ty == word {
            return value;
        }
        let number = match ty.is_float() {
            true => self
                .builder
                .convert(Convert::Bitcast, value, Type::int(ty.bits())),
            false => value,
        };
        match self.builder.function.ty(number) {
            Type::I64 => number,
            Type::Ptr(_) if self.structs.narrow_addresses => {
                let whole = self.builder.convert(Convert::Bitcast, number, Type::I64);
                let low = self.builder.convert(Convert::Truncate, whole, Type::I32);
                self.builder.convert(Convert::ZeroExtend, low, Type::I64)
            }
            ty if ty.bytes() == 8 => self.builder.convert(Convert::Bitcast, number, Type::I64),
            _ => self.builder.convert(Convert::ZeroExtend, number, Type::I64),
        }
    }

    /// The scalar in the low bits of a word.
    fn of_word(&mut self, word: Value, ty: Type) -> Value {
        let own = self.builder.function.ty(word);
        if own == ty {
            return word;
        }
        if ty == Type::Bool {
            let byte = self.builder.convert(Convert::Truncate, word, Type::I8);
            return self.builder.convert(Convert::ToBool, byte, Type::Bool);
        }
        if matches!(ty, Type::Ptr(_)) && self.structs.narrow_addresses {
            let low = self.builder.convert(Convert::Truncate, word, Type::I32);
            let whole = self.builder.convert(Convert::ZeroExtend, low, Type::I64);
            return self.builder.convert(Convert::Bitcast, whole, ty);
        }
        if ty.bytes() == 8 {
            return self.builder.convert(Convert::Bitcast, word, ty);
        }
        let number = self
            .builder
            .convert(Convert::Truncate, word, Type::int(ty.bits()));
        match ty.is_float() {
            true => self.builder.convert(Convert::Bitcast, number, ty),
            false => number,
        }
    }

    // ---------------------------------------------------------------------------------------- floats

    fn floats_out(
        &mut self,
        value: &RValue,
        kind: FloatKind,
        count: u64,
        span: Span,
    ) -> Vec<Value> {
        let plain = value.parts.len() as u64 == count
            && value
                .parts
                .iter()
                .all(|&part| self.builder.function.ty(part) == kind.ir());
        if plain {
            return value.parts.to_vec();
        }
        let mut place = LValue::value(value.clone());
        if let (true, Some(target)) = (value.parts.is_empty(), &value.target) {
            place = (**target).clone();
            place.name = None;
        }
        let Some(address) = self.address(&place, span) else {
            return Vec::new();
        };
        let access = self.memory_of(address);
        let mut out = Vec::new();
        for at in 0..count {
            let offset = at * u64::from(kind.ir().bytes());
            let offset = self.builder.int(Type::I64, offset as i64);
            let from = self.offset_address(address, offset);
            out.push(self.builder.load(access, from, kind.ir()));
        }
        out
    }

    fn floats_in(&mut self, ty: &CType, kind: FloatKind, numbers: &[Value]) -> RValue {
        let types = self.structs.parts(ty);
        let plain = types.is_some_and(|types| {
            types.len() == numbers.len() && types.iter().all(|&it| it == kind.ir())
        });
        if plain {
            return RValue::new(ty.clone(), numbers.iter().copied());
        }
        let room = self.room(ty);
        let access = self.memory_of(room);
        for (at, &number) in numbers.iter().enumerate() {
            let offset = at as i64 * i64::from(kind.ir().bytes());
            let offset = self.builder.int(Type::I64, offset);
            let to = self.offset_address(room, offset);
            self.builder.store(access, to, &[number]);
        }
        let place = self.memory_place(ty.clone(), room, false, false, false);
        self.load_silently(&place, Span::default())
    }
}
