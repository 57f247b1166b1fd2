//! Expressions that may be computed although they are not asked for: pure, short, and without anything that can fault.
//!
//! ```text
//! c ? a : b + 1          a select, no branch
//! c ? buffer[i] : 0      a branch: `i` may lie outside where `c` is false
//! ```
//! HLSL has more of them: constants in buffers, and intrinsics, which every compiler of it computes without a jump.
//! Samples stay behind the branch, because HLSL 2021 leaves them there.

use super::builtins::hlsl::names::is_numeric_function;
use super::context::*;
use super::env::EntryKind;
use super::expr::launch_special;
use super::value::*;
use syntax::c_family::ast::{
    self, BinaryOp, Expr, ExprKind, Name, SpecifierSet, TypeKind, UnaryOp,
};

/// The most nodes of an arm.
const SHORT: u32 = 12;
const SHORT_HLSL: u32 = 48;

impl Context<'_> {
    pub(super) fn is_cheap(&self, e: &Expr) -> bool {
        let mut budget = if self.is_hlsl() { SHORT_HLSL } else { SHORT };
        self.cheap_at(e, &mut budget)
    }

    pub(super) fn cheap_at(&self, e: &Expr, budget: &mut u32) -> bool {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Char(_) => true,
            ExprKind::Nullptr => true,
            ExprKind::Paren(inner) => self.cheap_at(inner, budget),
            ExprKind::Name(name) => match name.segments.as_slice() {
                [only] => match self.lookup_local(&only.ident.name) {
                    Some(Local::Variable(place)) => {
                        matches!(place.place, Place::Slots(_) | Place::Value(_))
                            && (place.ty.is_numeric() || place.ty.is_pointer())
                    }
                    Some(Local::Constant(_)) => true,
                    None => self.is_constant_of_buffer(&only.ident.name),
                    _ => false,
                },
                _ => false,
            },
            ExprKind::Member {
                base, arrow: false, ..
            } if self.is_hlsl() && !self.is_structure_name(base) => self.cheap_at(base, budget),
            ExprKind::Member {
                base, arrow: false, ..
            } => match &base.kind {
                ExprKind::Name(name) => match name.segments.as_slice() {
                    [only] => match self.lookup_local(&only.ident.name) {
                        Some(Local::Variable(place)) => {
                            matches!(place.place, Place::Slots(_) | Place::Value(_))
                        }
                        None => {
                            launch_special(&only.ident.name).is_some()
                                && !self.is_hlsl()
                                && !self.is_c()
                        }
                        _ => false,
                    },
                    _ => false,
                },
                _ => false,
            },
            ExprKind::Unary { op, operand } => {
                matches!(
                    op,
                    UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not | UnaryOp::BitNot
                ) && self.cheap_at(operand, budget)
            }
            ExprKind::Binary {
                op, left, right, ..
            } => {
                !matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::MemberPointer)
                    && self.cheap_at(left, budget)
                    && self.cheap_at(right, budget)
            }
            ExprKind::Construct { ty, arguments, .. } if self.is_hlsl() => {
                self.is_numeric_type(ty) && arguments.iter().all(|a| self.cheap_at(a, budget))
            }
            ExprKind::Call { callee, arguments } if self.is_hlsl() => {
                let known = match &callee.kind {
                    ExprKind::Name(name) => match name.segments.as_slice() {
                        [only] => {
                            let name = only.ident.name.as_str();
                            is_numeric_function(name) || is_numeric(name)
                        }
                        _ => false,
                    },
                    _ => false,
                };
                known && arguments.iter().all(|a| self.cheap_at(a, budget))
            }
            ExprKind::Cast { ty, operand, .. } => {
                (matches!(ty.kind, TypeKind::Builtin(_))
                    || self.is_hlsl() && self.is_numeric_type(ty))
                    && self.cheap_at(operand, budget)
            }
            _ => false,
        }
    }

    /// A local structure that is kept in registers.
    fn is_structure_name(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Name(name) => match name.segments.as_slice() {
                [only] => self.lookup_local(&only.ident.name).is_some(),
                _ => false,
            },
            _ => false,
        }
    }

    /// HLSL: a member of a constant buffer, a plain or `static` global, an enumerator.
    fn is_constant_of_buffer(&self, name: &smol_str::SmolStr) -> bool {
        if !self.is_hlsl() {
            return false;
        }
        let Some(frame) = self.frames.last() else {
            return false;
        };
        let entries = self
            .env
            .lookup(&frame.namespace, std::slice::from_ref(name));
        !entries.is_empty()
            && entries.iter().all(|&entry| match entry.what {
                EntryKind::BufferMember(..) | EntryKind::Enumerator(_) => true,
                EntryKind::Variable(_) => match &self.env.item(entry).kind {
                    ast::ItemKind::Variables(declaration) => {
                        !declaration.specifiers.words.has(SpecifierSet::SHARED)
                    }
                    _ => false,
                },
                _ => false,
            })
    }

    fn is_numeric_type(&self, ty: &ast::Type) -> bool {
        match &ty.kind {
            TypeKind::Builtin(_) => true,
            TypeKind::Named(Name { segments, .. }) => match segments.as_slice() {
                [only] => is_numeric(&only.ident.name),
                _ => false,
            },
            _ => false,
        }
    }
}

/// `float`, `uint3`, `half4x4`.
fn is_numeric(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
    matches!(
        bare,
        "bool"
            | "int"
            | "uint"
            | "dword"
            | "half"
            | "float"
            | "double"
            | "min16float"
            | "min16int"
            | "min16uint"
    )
}
