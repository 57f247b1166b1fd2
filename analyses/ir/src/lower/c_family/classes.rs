//! Structures and classes: instantiation, members, methods.

use super::context::Local;
use super::types::*;
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::ItemKey;
use syntax::c_family::ast;

/// Where a structure comes from.
#[derive(Clone, Debug)]
pub struct StructOrigin {
    pub declared: Arc<ast::Struct>,
    pub source: Option<StructSource>,
    pub item: ItemKey,
    pub namespace: Vec<SmolStr>,
    /// Template parameters, and what they stand for.
    pub bindings: Vec<(SmolStr, Local)>,
}

/// Scalars and bytes before the base-class subobject `base` of `derived`.
pub fn base_offset(
    structs: &StructTable,
    derived: StructId,
    base: StructId,
    depth: u32,
) -> Option<(usize, u64)> {
    if depth > 32 {
        return None;
    }
    let mut parts = 0usize;
    for field in &structs[derived].fields {
        if field.base
            && let CType::Struct(id) = field.ty
        {
            if id == base {
                return Some((parts, field.offset));
            }
            if let Some((inner, offset)) = base_offset(structs, id, base, depth + 1) {
                return Some((parts + inner, field.offset + offset));
            }
        }
        parts += structs.parts(&field.ty).map_or(0, |p| p.len());
    }
    None
}
