//! Members of structures as places, and base-class subobjects.

use super::classes;
use super::context::Context;
use super::place::named_below;
use super::types::*;
use super::value::*;
use crate::types::Type;
use smol_str::SmolStr;
use std::rc::Rc;
use syntax::Span;

impl Context<'_> {
    /// `base.name` of a structure.
    pub fn field(&mut self, base: &LValue, id: StructId, name: &str, span: Span) -> Option<LValue> {
        let mut place = self.whole_field(base, id, name, span)?;
        let c = self.is_c();
        if let Place::Memory { access, .. } = &mut place.place
            && c
            && self.structs.is_words(id)
        {
            access.untyped = true;
        }
        let bits = self.structs.field(id, name).and_then(|f| f.bits);
        if let Some(bits) = bits
            && !matches!(place.place, Place::Value(_))
        {
            let unit = match c {
                true => self.structs.size_of(&place.ty),
                false => None,
            };
            place.place = Place::BitField {
                inner: Box::new(place.place),
                bits,
                unit: unit.map(|bytes| Type::int(8 * bytes as u32)),
            };
        }
        Some(place)
    }

    fn whole_field(
        &mut self,
        base: &LValue,
        id: StructId,
        name: &str,
        span: Span,
    ) -> Option<LValue> {
        self.here(span);
        let suffix = format!(".{name}");
        if let Place::Packed {
            address,
            access,
            layout,
        } = &base.place
        {
            let PackedKind::Struct(members) = &layout.kind else {
                return None;
            };
            let (address, access) = (*address, *access);
            let (offset, inner) = packed_member(members, name, 0)?;
            let ty = self.structs.field(id, name)?.ty;
            let at = self.builder.int(Type::I64, offset as i64);
            let address = self.offset_address(address, at);
            return Some(LValue {
                ty,
                place: Place::Packed {
                    address,
                    access,
                    layout: Rc::new(inner),
                },
                name: named_below(base, &suffix),
                is_const: base.is_const,
            });
        }
        let found = self.structs.field(id, name)?;
        if !found.exact
            && let Place::Memory { address, access } = &base.place
        {
            let (address, access) = (*address, *access);
            let owner = self.distinct_name(&CType::Struct(id));
            let text = smol_str::format_smolstr!("offsetof({owner}, {name})");
            let offset = self.template_symbol(&text, &CType::ULONG);
            let address = self.offset_address(address, offset);
            return Some(LValue {
                ty: found.ty,
                place: Place::Memory { address, access },
                name: named_below(base, &suffix),
                is_const: base.is_const,
            });
        }
        if let Some(place) = self.part_place(
            base,
            found.ty.clone(),
            found.first_part,
            found.offset,
            &suffix,
        ) {
            return Some(place);
        }
        // A member of a union (or a large member) is seen through memory.
        let address = self.address(base, span)?;
        let whole = self.memory_place(base.ty.clone(), address, base.is_const, false, false);
        let mut place = self.part_place(&whole, found.ty, found.first_part, found.offset, "")?;
        place.name = named_below(base, &suffix);
        Some(place)
    }

    /// The base-class subobject of a derived object.
    pub fn base_place(
        &mut self,
        place: &LValue,
        derived: StructId,
        base: StructId,
    ) -> Option<LValue> {
        if derived == base {
            return Some(place.clone());
        }
        let (first_part, offset) = classes::base_offset(&self.structs, derived, base, 0)?;
        let mut found =
            self.part_place(place, CType::Struct(base), Some(first_part), offset, "")?;
        found.name = place.name.clone();
        Some(found)
    }
}

/// Returns where a member lies, also one of a base class or of a member without a name.
fn packed_member(
    members: &[(SmolStr, u64, PackedLayout)],
    name: &str,
    depth: u32,
) -> Option<(u64, PackedLayout)> {
    if let Some((_, offset, inner)) = members.iter().find(|(n, _, _)| n == name) {
        return Some((*offset, inner.clone()));
    }
    members.iter().find_map(|(own, offset, inner)| {
        let PackedKind::Struct(below) = &inner.kind else {
            return None;
        };
        if !own.is_empty() || depth > 16 {
            return None;
        }
        let (further, found) = packed_member(below, name, depth + 1)?;
        Some((offset + further, found))
    })
}
