//! Addresses of places, pointers to known places, and the objects that a pointer names.

use super::context::Context;
use super::types::*;
use super::value::*;
use crate::entity::Value;
use crate::inst::*;
use crate::types::{Space, Type};
use syntax::Span;

impl Context<'_> {
    /// The address of a place. A variable in slots asks for memory in another attempt.
    pub fn address(&mut self, place: &LValue, span: Span) -> Option<Value> {
        self.here(span);
        match &place.place {
            Place::Memory { address, .. } | Place::Packed { address, .. } => Some(*address),
            Place::BitField { inner, .. } => {
                let whole = super::place::whole_of(place, inner);
                self.address(&whole, span)
            }
            Place::MemorySwizzle {
                address, offsets, ..
            } => {
                let (address, first) = (*address, offsets.first().copied().unwrap_or(0));
                let at = self.builder.int(Type::I64, first as i64);
                Some(self.offset_address(address, at))
            }
            Place::Slots(_) => {
                if place.name.is_some() {
                    self.demote(place);
                }
                // Until then, and for temporaries, a copy serves.
                let value = self.load_silently(place, span);
                Some(self.spill(&value))
            }
            Place::Value(value) => {
                let value = (**value).clone();
                // A parameter whose memory is written is a variable of its own; elsewhere that is known before.
                if place.name.is_some() && self.is_c() && !value.parts.is_empty() {
                    self.give_storage(place);
                }
                if value.parts.is_empty()
                    && !value.ty.is_pointer()
                    && let Some(target) = value.target.clone()
                {
                    return self.address(&target, span);
                }
                let value = if value.ty.is_pointer() {
                    self.with_address(value, span)
                } else {
                    value
                };
                let address = self.spill(&value);
                if place.name.is_some() {
                    self.spilled.insert(address, place.clone());
                }
                Some(address)
            }
            Place::Texel(_) | Place::TexelSwizzle { .. } => None,
        }
    }

    /// Memory is written: of a copy of a parameter, or of one in constant memory, which then is a variable of its own
    /// instead.
    pub(super) fn note_written(&mut self, address: Value) {
        if self.spilled.is_empty() {
            return;
        }
        let mut work = vec![address];
        for _ in 0..64 {
            let Some(at) = work.pop() else { return };
            if let Some(place) = self.spilled.get(&at).cloned() {
                self.give_storage(&place);
            }
            let Some(data) = self.builder.function.defining(at) else {
                continue;
            };
            match data.op {
                Op::PtrAdd | Op::Convert(Convert::SpaceCast) => work.extend(data.args.first()),
                Op::Select => work.extend(data.args.iter().skip(1)),
                _ => {}
            }
        }
    }

    /// Puts a value into memory of its own.
    pub fn spill(&mut self, value: &RValue) -> Value {
        let size = self
            .structs
            .size_of(&value.ty)
            .unwrap_or(64)
            .clamp(1, 1 << 20);
        let align = self.structs.align_of(&value.ty);
        let address = self.private_memory(size, align);
        if value.parts.is_empty() {
            let place = self.memory_place(value.ty.clone(), address, false, false, false);
            self.lose_contents(&place);
            return address;
        }
        let types = self.structs.parts(&value.ty).unwrap_or_default();
        let offsets = self.structs.part_offsets(&value.ty).unwrap_or_default();
        let access = MemoryAccess::in_space(Space::Local);
        self.store_parts(address, access, &types, &offsets, &value.parts);
        address
    }

    /// A pointer as a number: the address of its target when that is all that is known.
    pub fn with_address(&mut self, value: RValue, span: Span) -> RValue {
        if !value.parts.is_empty() || !value.ty.is_pointer() {
            return value;
        }
        let Some(target) = value.target.clone() else {
            let space = match &value.ty {
                CType::Pointer { space, .. } => *space,
                _ => Space::Generic,
            };
            let undefined = self.builder.undef(Type::Ptr(space));
            return RValue::scalar(value.ty, undefined);
        };
        match self.address(&target, span) {
            Some(address) => RValue::scalar(value.ty, address),
            None => self.unknown("address of a resource's element", &[], &value.ty, span),
        }
    }

    /// A pointer that is given away, and the place of values written through it if the address is that of a
    /// copy.
    pub(super) fn given_address(
        &mut self,
        value: RValue,
        copies: &mut Vec<(Value, LValue)>,
        span: Span,
    ) -> RValue {
        let target = value.target.clone().filter(|_| value.parts.is_empty());
        let value = self.with_address(value, span);
        if let (
            CType::Pointer {
                is_const: false, ..
            },
            [address],
        ) = (&value.ty, &value.parts[..])
        {
            self.note_written(*address);
        }
        if let (Some(target), [address]) = (target, value.parts.as_slice())
            && matches!(target.place, Place::Slots(_) | Place::Value(_))
            && !target.is_const
        {
            copies.push((*address, (*target).clone()));
        }
        value
    }

    /// Copies back values that a callee may have written to copies.
    pub(super) fn bring_back(&mut self, copies: Vec<(Value, LValue)>, span: Span) {
        for (address, target) in copies {
            let access = MemoryAccess::in_space(Space::Local);
            let known = self.structs.parts(&target.ty);
            let parts = match known.zip(self.structs.part_offsets(&target.ty)) {
                Some((types, offsets)) => {
                    self.here(span);
                    self.load_parts(address, access, &types, &offsets)
                }
                None => continue,
            };
            // An array is its elements here, not a pointer to them.
            let value = RValue::new(target.ty.clone(), parts);
            self.store_silently(&target, value, span);
        }
    }

    /// A pointer to a known place as a pointer to another type.
    pub fn retarget(&mut self, value: RValue, to: &CType, span: Span) -> RValue {
        let (CType::Pointer { to: pointee, .. }, Some(target)) = (to, value.target.clone()) else {
            return value;
        };
        if **pointee == target.ty || pointee.is_void() {
            return RValue {
                ty: to.clone(),
                ..value
            };
        }
        // A derived object as its base has the base's leading scalars.
        if let (CType::Struct(derived), CType::Struct(base)) = (&target.ty, &**pointee)
            && let Some(place) = self.base_place(&target, *derived, *base)
        {
            return RValue::pointer_to(to.clone(), place);
        }
        if let CType::Array { element, .. } = &target.ty
            && **element == **pointee
            && let Some(first) = self.constant_element(&target, 0)
        {
            return RValue::pointer_to(to.clone(), first);
        }
        let mut value = self.with_address(value, span);
        value.ty = to.clone();
        value
    }

    /// Returns the place that `*pointer` names.
    pub fn dereference(&mut self, pointer: &RValue, span: Span) -> LValue {
        let (to, is_const, restrict, volatile) = match &pointer.ty {
            CType::Pointer {
                to,
                is_const,
                restrict,
                volatile,
                ..
            } => ((**to).clone(), *is_const, *restrict, *volatile),
            CType::Array { element, .. } => ((**element).clone(), false, false, false),
            _ => (CType::Unknown, false, false, false),
        };
        if let Some(target) = &pointer.target
            && pointer.parts.is_empty()
        {
            if target.ty == to || to.is_void() {
                return (**target).clone();
            }
            if let CType::Array { element, .. } = &target.ty
                && **element == to
                && let Some(first) = self.constant_element(target, 0)
            {
                return first;
            }
        }
        let pointer = self.decay(pointer.clone());
        let pointer = self.with_address(pointer, span);
        let Some(address) = pointer.first() else {
            let value = self.unknown("dereference of a value that is no pointer", &[], &to, span);
            return LValue::value(value);
        };
        self.memory_place(to, address, is_const, restrict, volatile)
    }

    /// The place at an address.
    pub fn memory_place(
        &mut self,
        ty: CType,
        address: Value,
        is_const: bool,
        restrict: bool,
        volatile: bool,
    ) -> LValue {
        let address = match self.builder.function.ty(address) {
            Type::Ptr(_) => address,
            _ => self.adapt(address, Type::Ptr(Space::Generic)),
        };
        let space = match self.builder.function.ty(address) {
            Type::Ptr(space) => space,
            _ => Space::Generic,
        };
        let mut access = MemoryAccess::in_space(space);
        access.volatile = volatile;
        access.read_only |= is_const && restrict && !volatile;
        LValue {
            ty,
            place: Place::Memory { address, access },
            name: None,
            is_const,
        }
    }
}
