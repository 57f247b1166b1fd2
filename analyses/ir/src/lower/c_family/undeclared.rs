//! Types that nothing in sight declares. Code that makes, reads or compares an object of such a type is not
//! seen: a constructor, a conversion, an operator. Whatever its operands, its results may differ between
//! lanes.
//!
//! ```text
//! Hid u(n); int a = u;            u, a: not known, `Hid(int)` may ask for threadIdx
//! template <Hid M> if (M == ..)   an argument of a template is a number of the program: the same in all lanes
//! ```
//!
//! Copies of one object are taken to be equal. C has no such code: there it is the name of a number.

use super::context::*;
use super::types::*;
use super::value::*;
use crate::entity::Value;
use crate::inst::Op;
use smol_str::SmolStr;
use syntax::Span;

/// Types of the language and its libraries that are carried without their members.
const LIBRARY: [&str; 19] = [
    FUNCTION_POINTER,
    REFERRING_FUNCTION_POINTER,
    "member pointer",
    "arrival_token",
    "barrier",
    "bit_and",
    "bit_or",
    "bit_xor",
    "cudaArray_t",
    "cudaEvent_t",
    "cudaGraphExec_t",
    "cudaStream_t",
    "fragment",
    "greater",
    "less",
    "pipeline",
    "plus",
    "string",
    "FILE",
];
const NAMESPACES: [&str; 5] = [
    "cooperative_groups::",
    "cg::",
    "cuda::",
    "nvcuda::",
    "wmma::",
];

impl Context<'_> {
    /// The type's name, where nothing in sight declares it.
    pub(super) fn undeclared(&self, ty: &CType) -> Option<SmolStr> {
        let CType::Opaque(name) = ty.value_type() else {
            return None;
        };
        let library = LIBRARY.contains(&name.as_str())
            || NAMESPACES.iter().any(|prefix| name.starts_with(prefix));
        (!library && !self.is_c()).then(|| name.clone())
    }

    /// Returns the result of code of an undeclared type, from these values.
    pub(super) fn of_undeclared(
        &mut self,
        name: &str,
        from: &[Value],
        to: &CType,
        span: Span,
    ) -> RValue {
        let mut message = format!("`{name}` is not declared here");
        let Some(header) = self.env.missing_headers.first() else {
            return self.unknown(message, from, to, span);
        };
        message.push_str(&format!(" (`{header}` was not found)"));
        self.remark(span, message.clone());
        self.here(span);
        let types = self.structs.parts(to).unwrap_or_default();
        let id = self.builder.note_unknown(message);
        let inst = self.builder.inst(Op::Unknown(id), from, &types);
        let parts: Parts = self.builder.results(inst).iter().copied().collect();
        RValue::new(to.clone(), parts)
    }

    /// A value that code which is not seen makes of another: one of the types is not declared. An argument of a template
    /// is a number of the program.
    pub(super) fn converted_unseen(
        &mut self,
        value: &RValue,
        to: &CType,
        span: Span,
    ) -> Option<RValue> {
        if matches!(value.ty, CType::Function(..) | CType::Lambda(_)) || to.is_void() {
            return None;
        }
        let name = match self.undeclared(&value.ty) {
            Some(_) if self.is_symbol(value) => return None,
            Some(name) => name,
            None => self.undeclared(to)?,
        };
        let value = self.with_address(value.clone(), span);
        Some(self.of_undeclared(&name, &value.parts, to, span))
    }

    /// An index or a selector: a number, where its type is not declared.
    pub(super) fn as_number(&mut self, value: RValue, span: Span) -> RValue {
        match self.undeclared(&value.ty) {
            Some(_) if !self.is_symbol(&value) => self.convert(value, &CType::INT, span),
            _ => value,
        }
    }

    /// The same for the operands of a comparison.
    pub(super) fn compared_unseen(
        &mut self,
        left: &RValue,
        right: &RValue,
        span: Span,
    ) -> Option<RValue> {
        let name = [left, right].into_iter().find_map(|value| {
            let symbol = self.is_symbol(value);
            self.undeclared(&value.ty).filter(|_| !symbol)
        })?;
        let mut parts = left.parts.clone();
        parts.extend(right.parts.iter().copied());
        Some(self.of_undeclared(&name, &parts, &CType::Bool, span))
    }

    fn is_symbol(&self, value: &RValue) -> bool {
        let function = &self.builder.function;
        value.parts.iter().all(|&part| {
            let defining = function.defining(part).map(|data| &data.op);
            matches!(defining, Some(Op::Parameter(_) | Op::Const(_)))
        })
    }
}
