//! Reading and writing places, members and elements of them, and their addresses.

use super::context::Context;
use super::resources;
use super::types::*;
use super::value::*;
use crate::entity::Value;
use crate::function::BindingKind;
use crate::inst::*;
use crate::types::Type;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::rc::Rc;
use syntax::Span;

impl Context<'_> {
    /// The value at a place. Reading a named place is recorded for the editor.
    pub fn load(&mut self, place: &LValue, span: Span) -> RValue {
        let value = self.load_silently(place, span);
        if let Some(name) = &place.name {
            let (variable, part, at) = (name.variable, name.part.clone(), name.at);
            self.builder
                .bind(variable, BindingKind::Read, &value.parts, part, at);
        }
        value
    }

    pub fn load_silently(&mut self, place: &LValue, span: Span) -> RValue {
        self.here(span);
        if self.is_c() && matches!(&place.ty, CType::Opaque(name) if name == LONG_DOUBLE) {
            self.refused("`long double`".into(), span);
        }
        match &place.place {
            Place::Slots(slots) => {
                let parts: Parts = slots.iter().map(|&s| self.builder.read(s)).collect();
                // What an array becomes a pointer to is the array itself, not these values of it.
                let pointed = place.ty.is_array() && !self.is_hlsl();
                RValue {
                    target: pointed.then(|| Rc::new(place.clone())),
                    ..RValue::new(place.ty.clone(), parts)
                }
            }
            Place::Value(value) => {
                let mut value = (**value).clone();
                value.ty = place.ty.clone();
                // As of slots: through the pointer that it becomes a parameter may be written.
                if place.ty.is_array() && !self.is_hlsl() && place.name.is_some() {
                    value.target.get_or_insert_with(|| Rc::new(place.clone()));
                }
                value
            }
            Place::Memory { address, access } => {
                let (address, access) = (*address, *access);
                if let CType::Array { element, .. } = &place.ty
                    && !self.is_hlsl()
                {
                    // An array used as a value is the address of its first element.
                    let ty = CType::Pointer {
                        to: element.clone(),
                        space: access.space,
                        is_const: place.is_const,
                        restrict: access.read_only,
                        volatile: access.volatile,
                    };
                    return RValue::scalar(ty, address);
                }
                let Some(types) = self.structs.parts(&place.ty) else {
                    return whole_at(place);
                };
                let offsets = self.structs.part_offsets(&place.ty).unwrap_or_default();
                let access = self.whatever(access, &place.ty);
                let parts = self.load_parts(address, access, &types, &offsets);
                if parts.len() > 1 && !matches!(place.ty, CType::Struct(_)) {
                    self.builder.vector(&parts);
                }
                RValue::new(place.ty.clone(), parts)
            }
            Place::MemorySwizzle {
                address,
                access,
                offsets,
            } => {
                let (address, access) = (*address, *access);
                let offsets = offsets.clone();
                let types = self.structs.parts(&place.ty).unwrap_or_default();
                let mut parts = Parts::new();
                for (&ty, &offset) in types.iter().zip(&offsets) {
                    let at = self.builder.int(Type::I64, offset as i64);
                    let at = self.offset_address(address, at);
                    parts.push(self.builder.load(access, at, ty));
                }
                self.builder.vector(&parts);
                RValue::new(place.ty.clone(), parts)
            }
            Place::BitField {
                inner,
                bits,
                unit: Some(unit),
            } => {
                let (inner, bits, unit) = ((**inner).clone(), *bits, *unit);
                self.load_bits(&place.ty, &inner, bits, unit)
            }
            Place::BitField { inner, .. } => {
                let whole = whole_of(place, inner);
                self.load_silently(&whole, span)
            }
            Place::Texel(texel) => {
                let texel = texel.clone();
                resources::load_texel(self, &texel, span)
            }
            Place::TexelSwizzle { texel, components } => {
                let (texel, components) = (texel.clone(), components.clone());
                let whole = resources::load_texel(self, &texel, span);
                let parts: Parts = components
                    .iter()
                    .filter_map(|&c| whole.parts.get(c as usize).copied())
                    .collect();
                RValue::new(place.ty.clone(), parts)
            }
            Place::Packed {
                address,
                access,
                layout,
            } => {
                let (address, access) = (*address, *access);
                let Some(types) = self.structs.parts(&place.ty) else {
                    return whole_at(place);
                };
                let offsets = scalar_offsets(layout);
                let parts = self.load_parts(address, access, &types, &offsets);
                RValue::new(place.ty.clone(), parts)
            }
        }
    }

    /// Loads scalars; runs that lie one after the other are one access.
    pub fn load_parts(
        &mut self,
        address: Value,
        access: MemoryAccess,
        types: &[Type],
        offsets: &[u64],
    ) -> Parts {
        let mut parts = Parts::new();
        for run in runs(&self.structs, types, offsets) {
            let at = self.builder.int(Type::I64, offsets[run.start] as i64);
            let at = self.offset_address(address, at);
            let inst = self
                .builder
                .inst(Op::Load(access), &[at], &types[run.clone()]);
            parts.extend(self.builder.results(inst).iter().copied());
        }
        parts
    }

    /// Writes a value of the place's type and records the assignment.
    pub fn store(&mut self, place: &LValue, value: RValue, span: Span) {
        let value = self.store_silently(place, value, span);
        if let Some(name) = &place.name {
            let (variable, part, at) = (name.variable, name.part.clone(), name.at);
            self.builder
                .bind(variable, BindingKind::Assignment, &value.parts, part, at);
        }
    }

    pub fn store_silently(&mut self, place: &LValue, value: RValue, span: Span) -> RValue {
        let value = if value.ty.is_array() && value.parts.is_empty() {
            value
        } else {
            self.convert(value, &place.ty, span)
        };
        let value = if value.ty.is_pointer() {
            self.with_address(value, span)
        } else {
            value
        };
        let value = match place.place {
            Place::Value(_) => value,
            _ if place.ty.is_code() => value,
            _ => self.held_code(value, span),
        };
        self.here(span);
        match &place.place {
            Place::Slots(slots) => {
                let slots = slots.clone();
                if value.parts.is_empty()
                    && !slots.is_empty()
                    && let Some(target) = value.target.clone()
                {
                    let value = self.scalarise(&target, &place.ty, span);
                    for (&slot, &part) in slots.iter().zip(&value.parts) {
                        self.write_slot(slot, part);
                    }
                    return value;
                }
                for (&slot, &part) in slots.iter().zip(&value.parts) {
                    self.write_slot(slot, part);
                }
                // The slot may have another pointer space than the value.
                let parts: Parts = slots.iter().map(|&s| self.builder.read(s)).collect();
                RValue::new(value.ty, parts)
            }
            Place::Memory { address, access } => {
                let (address, access) = (*address, *access);
                self.note_written(address);
                if value.parts.is_empty() {
                    self.store_whole(place, &value, span);
                    return value;
                }
                let types = self.structs.parts(&value.ty).unwrap_or_default();
                let offsets = self.structs.part_offsets(&value.ty).unwrap_or_default();
                let access = self.whatever(access, &value.ty);
                self.store_parts(address, access, &types, &offsets, &value.parts);
                value
            }
            Place::MemorySwizzle {
                address,
                access,
                offsets,
            } => {
                let (address, access, offsets) = (*address, *access, offsets.clone());
                self.note_written(address);
                for (&part, &offset) in value.parts.iter().zip(&offsets) {
                    let at = self.builder.int(Type::I64, offset as i64);
                    let at = self.offset_address(address, at);
                    self.builder.store(access, at, &[part]);
                }
                value
            }
            Place::Texel(texel) => {
                let texel = texel.clone();
                let element = self.convert(value.clone(), &texel.element, span);
                resources::store_texel(self, &texel, &element, span);
                value
            }
            Place::TexelSwizzle { texel, components } => {
                let (texel, components) = (texel.clone(), components.clone());
                let mut whole = resources::load_texel(self, &texel, span);
                for (&component, &part) in components.iter().zip(&value.parts) {
                    if let Some(place) = whole.parts.get_mut(component as usize) {
                        *place = part;
                    }
                }
                resources::store_texel(self, &texel, &whole, span);
                value
            }
            Place::Packed {
                address,
                access,
                layout,
            } => {
                let (address, access) = (*address, *access);
                if value.parts.is_empty() {
                    self.store_whole(place, &value, span);
                    return value;
                }
                let offsets = scalar_offsets(layout);
                let types = self.structs.parts(&value.ty).unwrap_or_default();
                self.store_parts(address, access, &types, &offsets, &value.parts);
                value
            }
            Place::BitField {
                inner,
                bits,
                unit: Some(unit),
            } => {
                let (inner, bits, unit) = ((**inner).clone(), *bits, *unit);
                self.store_bits(value, &inner, bits, unit)
            }
            Place::BitField { inner, bits, .. } => {
                let (whole, bits) = (whole_of(place, inner), bits.width);
                let value = self.cut(value, bits);
                self.store_silently(&whole, value, span)
            }
            Place::Value(_) => {
                self.give_storage(place);
                value
            }
        }
    }

    /// The low bits of an integer, extended again as its type asks.
    pub(super) fn cut(&mut self, mut value: RValue, bits: u8) -> RValue {
        let signed = value.ty.is_signed();
        if matches!(value.ty, CType::Bool) {
            return value;
        }
        for part in &mut value.parts {
            let ty = self.builder.function.ty(*part);
            if !ty.is_int() || ty.bits() <= u32::from(bits) {
                continue;
            }
            let by = self.builder.int(ty, i64::from(ty.bits() - u32::from(bits)));
            let high = self.builder.binary(BinaryOp::Shl, Wrap::MAY, *part, by);
            let back = if signed {
                BinaryOp::ShrSigned
            } else {
                BinaryOp::ShrUnsigned
            };
            *part = self.builder.binary(back, Wrap::MAY, high, by);
        }
        value
    }

    pub(super) fn store_parts(
        &mut self,
        address: Value,
        access: MemoryAccess,
        types: &[Type],
        offsets: &[u64],
        parts: &[Value],
    ) {
        let count = types.len().min(parts.len()).min(offsets.len());
        // What is loaded from there again is an address of the space that its type says.
        let parts: Parts = (parts.iter().zip(types))
            .map(
                |(&part, &want)| match (self.builder.function.ty(part), want) {
                    (Type::Ptr(from), Type::Ptr(to)) if from != to => match self.is_null(part) {
                        true => self.builder.constant(want, 0),
                        false => self.builder.convert(Convert::SpaceCast, part, want),
                    },
                    _ => part,
                },
            )
            .collect();
        for run in runs(&self.structs, &types[..count], offsets) {
            let at = self.builder.int(Type::I64, offsets[run.start] as i64);
            let at = self.offset_address(address, at);
            self.builder.store(access, at, &parts[run]);
        }
    }

    /// A value that has no scalars, to memory: the object that it names is copied.
    fn store_whole(&mut self, place: &LValue, value: &RValue, span: Span) {
        match value.target.clone() {
            Some(target) => self.copy_memory(place, &target, span),
            None => self.lose_contents(place),
        }
    }

    /// An aggregate that is too large for scalars, copied as bytes: one unknown access a side.
    pub(super) fn copy_memory(&mut self, to: &LValue, from: &LValue, span: Span) {
        let (Some(a), Some(b)) = (self.address(to, span), self.address(from, span)) else {
            return;
        };
        if self.is_c() && self.structs.is_exact(&to.ty) {
            let access = |place: &LValue, address| {
                let mut access = match place.place {
                    Place::Memory { access, .. } => access,
                    _ => self.memory_of(address),
                };
                access.untyped = true;
                (address, access)
            };
            let (to_at, from_at) = (access(to, a), access(from, b));
            return self.copied(to_at, from_at, &to.ty);
        }
        let size = self.size_value(&to.ty);
        let name = SmolStr::new_static("memcpy");
        self.builder.inst(
            Op::CallUnknown {
                name,
                pure: false,
                convention: Default::default(),
            },
            &[a, b, size],
            &[],
        );
    }

    /// Memory takes a value that is not known: nothing is known of its contents from then on.
    pub(super) fn lose_contents(&mut self, place: &LValue) {
        let (Place::Memory { address, .. } | Place::Packed { address, .. }) = place.place else {
            return;
        };
        if self.is_c() || place.ty.is_code() || self.structs.size_of(&place.ty) == Some(0) {
            return;
        }
        let name = SmolStr::new_static("memory");
        let op = Op::CallUnknown {
            name,
            pure: false,
            convention: Default::default(),
        };
        self.builder.inst(op, &[address], &[]);
    }

    /// A scalar of which nothing is known.
    pub(super) fn not_followed(&mut self, ty: Type) -> Value {
        let id = self
            .builder
            .note_unknown("a value that has no scalars here");
        self.builder.value(Op::Unknown(id), &[], ty)
    }

    pub(super) fn scalarise(&mut self, target: &LValue, ty: &CType, span: Span) -> RValue {
        let mut place = target.clone();
        place.ty = ty.clone();
        place.name = None;
        let value = self.load_silently(&place, span);
        if value.parts.is_empty() {
            let types = self.structs.parts(ty).unwrap_or_default();
            let parts: Parts = types.iter().map(|&part| self.not_followed(part)).collect();
            return RValue::new(ty.clone(), parts);
        }
        value
    }

    /// A run of scalars of a place in slots (or of a value), as a place of type `ty`.
    pub fn part_place(
        &mut self,
        base: &LValue,
        ty: CType,
        first_part: Option<usize>,
        offset: u64,
        suffix: &str,
    ) -> Option<LValue> {
        let count = self.structs.parts(&ty).map(|p| p.len());
        let place = match &base.place {
            Place::Slots(slots) => {
                let (first, count) = (first_part?, count?);
                Place::Slots(slots.get(first..first + count)?.iter().copied().collect())
            }
            Place::Value(value) => {
                if value.parts.is_empty()
                    && let Some(target) = value.target.clone()
                {
                    return self.part_place(&target, ty, first_part, offset, suffix);
                }
                let (first, count) = (first_part?, count?);
                let parts = value.parts.get(first..first + count)?;
                Place::Value(Rc::new(RValue::new(ty.clone(), parts.iter().copied())))
            }
            Place::Memory { address, access } => {
                let (address, access) = (*address, *access);
                let at = self.builder.int(Type::I64, offset as i64);
                let address = self.offset_address(address, at);
                Place::Memory { address, access }
            }
            Place::Texel(texel) => {
                let (first, count) = (first_part?, count?);
                Place::TexelSwizzle {
                    texel: texel.clone(),
                    components: (first..first + count).map(|c| c as u8).collect(),
                }
            }
            Place::Packed { .. }
            | Place::MemorySwizzle { .. }
            | Place::TexelSwizzle { .. }
            | Place::BitField { .. } => {
                return None;
            }
        };
        Some(LValue {
            ty,
            place,
            name: named_below(base, suffix),
            is_const: base.is_const,
        })
    }

    /// Components of a vector (or of a matrix by their flat numbers).
    pub fn swizzle(&mut self, base: &LValue, components: &[u8], suffix: &str) -> Option<LValue> {
        let element = base.ty.element().clone();
        let ty = if components.len() == 1 {
            element.clone()
        } else {
            CType::vector(element.clone(), components.len() as u8)
        };
        let size = self.structs.size_of(&element)?;
        let place = match &base.place {
            Place::BitField { .. } => return None,
            Place::Slots(slots) => Place::Slots(
                components
                    .iter()
                    .map(|&c| slots.get(c as usize).copied())
                    .collect::<Option<_>>()?,
            ),
            Place::Value(value) => {
                let parts: Option<Parts> = components
                    .iter()
                    .map(|&c| value.parts.get(c as usize).copied())
                    .collect();
                Place::Value(Rc::new(RValue::new(ty.clone(), parts?)))
            }
            Place::Memory { address, access } => {
                let (address, access) = (*address, *access);
                if let [only] = components {
                    let at = self.builder.int(Type::I64, (*only as u64 * size) as i64);
                    let address = self.offset_address(address, at);
                    Place::Memory { address, access }
                } else {
                    Place::MemorySwizzle {
                        address,
                        access,
                        offsets: components.iter().map(|&c| c as u64 * size).collect(),
                    }
                }
            }
            Place::MemorySwizzle {
                address,
                access,
                offsets,
            } => Place::MemorySwizzle {
                address: *address,
                access: *access,
                offsets: components
                    .iter()
                    .map(|&c| offsets.get(c as usize).copied())
                    .collect::<Option<_>>()?,
            },
            Place::Packed {
                address,
                access,
                layout,
            } => {
                let offsets = scalar_offsets(layout);
                Place::MemorySwizzle {
                    address: *address,
                    access: *access,
                    offsets: components
                        .iter()
                        .map(|&c| offsets.get(c as usize).copied())
                        .collect::<Option<_>>()?,
                }
            }
            Place::Texel(texel) => Place::TexelSwizzle {
                texel: texel.clone(),
                components: components.iter().copied().collect(),
            },
            Place::TexelSwizzle {
                texel,
                components: before,
            } => Place::TexelSwizzle {
                texel: texel.clone(),
                components: components
                    .iter()
                    .map(|&c| before.get(c as usize).copied())
                    .collect::<Option<_>>()?,
            },
        };
        Some(LValue {
            ty,
            place,
            name: named_below(base, suffix),
            is_const: base.is_const,
        })
    }

    /// Element number `index` of an array, vector or matrix, known at compile time.
    pub fn constant_element(&mut self, base: &LValue, index: u64) -> Option<LValue> {
        let suffix = format!("[{index}]");
        match &base.ty {
            CType::Vector { n, .. } if index < *n as u64 => {
                self.swizzle(base, &[index as u8], &suffix)
            }
            CType::Matrix { columns, rows, .. } if index < *rows as u64 => {
                let first = index as u8 * columns;
                let row: SmallVec<[u8; 4]> = (first..first + columns).collect();
                self.swizzle(base, &row, &suffix)
            }
            CType::Array { element, size } => {
                if let ArraySize::Fixed(n) = size
                    && index >= *n
                    && !matches!(base.place, Place::Memory { .. })
                {
                    return None;
                }
                let element = (**element).clone();
                if let Place::Packed { .. } = &base.place {
                    return None;
                }
                let parts = self.structs.parts(&element).map_or(0, |p| p.len());
                let in_memory = matches!(base.place, Place::Memory { .. });
                if in_memory && index > 0 && !self.structs.is_exact(&element) {
                    return None;
                }
                let step = self.structs.size_of(&element)?;
                let first = Some(parts * index as usize);
                self.part_place(base, element, first, step * index, &suffix)
            }
            _ => None,
        }
    }

    /// `base[index]` of an array, vector or matrix that is a place.
    pub fn element(&mut self, base: &LValue, index: &RValue, span: Span) -> LValue {
        self.here(span);
        if resources::is_resource_array(&base.ty)
            && let Place::Value(array) = &base.place
            && array.parts.len() == 1
        {
            let array = RValue::new(base.ty.clone(), array.parts.iter().copied());
            if let Some(mut place) = resources::index(self, &array, index, span) {
                place.name = named_below(base, "[]");
                return place;
            }
        }
        let number = self.index_value(index, span);
        if let Some(known) = self.builder.function.int_constant(number)
            && known >= 0
            && let Some(place) = self.constant_element(base, known as u64)
        {
            return place;
        }
        let element = match &base.ty {
            CType::Array { element, .. } | CType::Vector { element, .. } => (**element).clone(),
            CType::Matrix {
                element, columns, ..
            } => CType::vector((**element).clone(), *columns),
            _ => CType::Unknown,
        };
        if let Place::Packed {
            address,
            access,
            layout,
        } = &base.place
        {
            let (address, access) = (*address, *access);
            let (stride, inner) = match &layout.kind {
                PackedKind::Array { stride, element } => (*stride, (**element).clone()),
                PackedKind::Scalars(offsets) => {
                    // Rows of a matrix, components of a vector: equal steps.
                    let per = element.components();
                    let stride = match (offsets.first(), offsets.get(per)) {
                        (Some(a), Some(b)) => b - a,
                        _ => 4,
                    };
                    let row: SmallVec<[u64; 4]> = offsets.iter().take(per).copied().collect();
                    let layout = PackedLayout {
                        size: stride,
                        kind: PackedKind::Scalars(row),
                    };
                    (stride, layout)
                }
                PackedKind::Struct(_) => (layout.size, (**layout).clone()),
            };
            let step = self.builder.int(Type::I64, stride as i64);
            let offset = self.fold(BinaryOp::Mul, Wrap::NO_SIGNED, number, step);
            let address = self.offset_address(address, offset);
            return LValue {
                ty: element,
                place: Place::Packed {
                    address,
                    access,
                    layout: Rc::new(inner),
                },
                name: None,
                is_const: base.is_const,
            };
        }
        if let (Place::Slots(_) | Place::Value(_) | Place::MemorySwizzle { .. }, false) =
            (&base.place, base.ty.is_array())
        {
            // A component of a vector picked at run time: a chain of selects keeps vectors out of memory.
            let whole = self.load_silently(base, span);
            if !whole.parts.is_empty() && whole.parts.len() <= 16 && base.name.is_none() {
                let value = self.pick(&whole, number, &element);
                return LValue::value(value);
            }
        }
        let Some(address) = self.address(base, span) else {
            let value = self.unknown("element of a resource", &[number], &element, span);
            return LValue::value(value);
        };
        let address = self.element_address(address, number, &element);
        let mut place = self.memory_place(element, address, base.is_const, false, false);
        if let (Place::Memory { access: new, .. }, Place::Memory { access: old, .. }) =
            (&mut place.place, &base.place)
        {
            *new = *old;
        }
        place
    }

    /// Element `number` of a value's scalars, by selects.
    pub(super) fn pick(&mut self, whole: &RValue, number: Value, element: &CType) -> RValue {
        let per = element.components();
        let count = whole.parts.len() / per.max(1);
        let mut parts: Parts = whole.parts[..per].iter().copied().collect();
        for index in 1..count {
            let at = self.builder.int(Type::I64, index as i64);
            let is = self.builder.int_compare(IntCondition::Equal, number, at);
            for c in 0..per {
                parts[c] = self
                    .builder
                    .select(is, whole.parts[index * per + c], parts[c]);
            }
        }
        RValue::new(element.clone(), parts)
    }
}

/// The name of a part of a named place.
pub fn named_below(base: &LValue, suffix: &str) -> Option<NamedPart> {
    base.name.as_ref().map(|name| NamedPart {
        variable: name.variable,
        part: smol_str::format_smolstr!("{}{suffix}", name.part),
        at: name.at,
    })
}

/// Byte offsets of all scalars of a packed layout, in order. Arrays are left out: they are read by element.
pub fn scalar_offsets(layout: &PackedLayout) -> SmallVec<[u64; 4]> {
    fn add(layout: &PackedLayout, base: u64, depth: u32, out: &mut SmallVec<[u64; 4]>) {
        if depth > 64 {
            return;
        }
        match &layout.kind {
            PackedKind::Scalars(offsets) => out.extend(offsets.iter().map(|o| base + o)),
            PackedKind::Struct(members) => {
                for (_, offset, inner) in members {
                    add(inner, base + offset, depth + 1, out);
                }
            }
            PackedKind::Array { stride, element } => {
                let count = if *stride == 0 {
                    0
                } else {
                    layout.size.div_ceil(*stride)
                };
                for index in 0..count.min(MAX_PARTS as u64) {
                    add(element, base + index * stride, depth + 1, out);
                }
            }
        }
    }
    let mut out = SmallVec::new();
    add(layout, 0, 0, &mut out);
    out
}

/// Maximal runs of scalars without gaps between them, at most 16 bytes each: the parts that one access of the
/// hardware covers.
fn runs(structs: &StructTable, types: &[Type], offsets: &[u64]) -> Vec<std::ops::Range<usize>> {
    let count = types.len().min(offsets.len());
    let mut out: Vec<std::ops::Range<usize>> = Vec::new();
    let mut bytes = 0;
    for index in 0..count {
        let size = structs.bytes_of(types[index]);
        match out.last_mut() {
            Some(run)
                if offsets[index - 1] + structs.bytes_of(types[index - 1]) == offsets[index]
                    && bytes + size <= 16 =>
            {
                run.end = index + 1;
                bytes += size;
            }
            _ => {
                out.push(index..index + 1);
                bytes = size;
            }
        }
    }
    out
}

/// Returns the object at a place with too many scalars, as a name for it.
fn whole_at(place: &LValue) -> RValue {
    RValue {
        ty: place.ty.clone(),
        parts: Parts::new(),
        target: Some(Rc::new(place.clone())),
    }
}

pub(super) fn whole_of(place: &LValue, inner: &Place) -> LValue {
    LValue {
        place: inner.clone(),
        ..place.clone()
    }
}
