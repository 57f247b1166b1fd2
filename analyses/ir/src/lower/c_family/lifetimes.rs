//! Destructors: an object of a class with a destructor body is destroyed where its scope ends, in the reverse order of
//! declaration - at the end of the block, and on the way of a `return`, `break` or `continue` out of it.
//!
//! ```text
//! { Guard g(p); if (q) return; *p += 1; }        ~Guard runs before the return and after the sum
//! ```
//!
//! Temporaries, parameters passed by value, static and shared objects, members of arrays, and objects that a `goto` jumps
//! over are not destroyed.

use super::classes::Callee;
use super::context::Context;
use super::types::{CType, StructId};
use super::value::LValue;
use smol_str::format_smolstr;
use syntax::Span;
use syntax::c_family::ast::FunctionBody;

/// An object that lives until the scopes of its frame are fewer than `depth`.
#[derive(Clone, Debug)]
pub struct Owned {
    depth: usize,
    place: LValue,
    class: StructId,
    span: Span,
}

impl Context<'_> {
    /// The object that a declaration made; nothing where its class has nothing to do at the end.
    pub(super) fn own(&mut self, place: &LValue, span: Span) {
        let CType::Struct(class) = place.ty else {
            return;
        };
        if !self.has_destructor(class, 0) {
            return;
        }
        let frame = self.frame();
        let depth = frame.scopes.len();
        frame.owned.push(Owned {
            depth,
            place: place.clone(),
            class,
            span,
        });
    }

    /// Runs the destructors of all scopes deeper than `depth`, the last object first; the objects stay owned.
    pub(super) fn leave_scopes(&mut self, depth: usize) {
        let leaving: Vec<Owned> = self
            .frame()
            .owned
            .iter()
            .rev()
            .take_while(|o| o.depth > depth)
            .cloned()
            .collect();
        for object in leaving {
            self.destroy(&object.place, object.class, object.span, 0);
        }
    }

    /// Forgets the objects of the scope that ends.
    pub(super) fn end_scope(&mut self) {
        let depth = self.frame().scopes.len();
        self.leave_scopes(depth.saturating_sub(1));
        self.frame().owned.retain(|o| o.depth < depth);
    }

    fn has_destructor(&mut self, class: StructId, depth: u32) -> bool {
        depth < 8
            && (self.own_destructor(class).is_some()
                || self.structs[class].fields.clone().iter().any(
                    |f| matches!(f.ty, CType::Struct(inner) if inner != class && self.has_destructor(inner, depth + 1)),
                ))
    }

    fn own_destructor(&mut self, class: StructId) -> Option<Callee> {
        let name = self.sources.get(class.0 as usize)?.class_name.clone();
        let name = format_smolstr!("~{name}");
        self.methods(class, &name, 15).into_iter().find(|c| {
            c.class == Some(class)
                && c.function.function().is_some_and(|f| {
                    !matches!(f.body, FunctionBody::Deleted | FunctionBody::Defaulted)
                })
        })
    }

    /// The class's own body, then the members', last first, then the bases'.
    fn destroy(&mut self, place: &LValue, class: StructId, span: Span, depth: u32) {
        if depth >= 8 {
            return;
        }
        if let Some(destructor) = self.own_destructor(class) {
            self.call_overloaded(vec![destructor], &[], Some(place), &[], span, u32::MAX);
        }
        for field in self.structs[class].fields.clone().iter().rev() {
            let CType::Struct(inner) = field.ty else {
                continue;
            };
            if inner == class || !self.has_destructor(inner, depth + 1) {
                continue;
            }
            let target = if field.base {
                self.base_place(place, class, inner)
            } else {
                self.field(place, class, &field.name, span)
            };
            if let Some(target) = target {
                self.destroy(&target, inner, span, depth + 1);
            }
        }
    }
}
