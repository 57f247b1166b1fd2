//! Conversions that a class defines: `operator T()`.

use super::call::Operand;
use super::context::*;
use super::types::*;
use super::value::*;
use syntax::Span;

impl Context<'_> {
    /// A user-defined conversion to `to`.
    pub fn conversion_operator(
        &mut self,
        operand: &Operand,
        id: StructId,
        to: &CType,
        span: Span,
    ) -> Option<RValue> {
        let candidates = self.methods(id, "operator T", 0);
        let mut best: Option<(u32, super::classes::Callee)> = None;
        for candidate in candidates {
            let Some(function) = candidate.function.function() else {
                continue;
            };
            let ty = function.return_type.clone();
            self.enter_class(id);
            let ty = self.resolve_type(&ty);
            self.frames.pop();
            self.converting += 1;
            let rank = self.conversion_rank(&ty, to);
            self.converting -= 1;
            if let Some(rank) = rank
                && best.as_ref().is_none_or(|(r, _)| rank < *r)
            {
                best = Some((rank, candidate));
            }
        }
        let (_, callee) = best?;
        let object = match operand {
            Operand::Place(place) => place.clone(),
            Operand::Value(value) => LValue::value(value.clone()),
        };
        let result = self.call_method(&object, vec![callee], &[], &[], span)?;
        let value = self.take(result, span);
        if matches!(value.ty, CType::Struct(_)) {
            return Some(value);
        }
        Some(self.convert(value, to, span))
    }

    /// An operand of a builtin operator: an object whose class converts to one number or pointer type is converted.
    pub(super) fn converted_operand(&mut self, operand: Operand, span: Span) -> Operand {
        let CType::Struct(id) = *operand.ty().value_type() else {
            return operand;
        };
        let mut found: Option<(CType, super::classes::Callee)> = None;
        for candidate in self.methods(id, "operator T", 0) {
            let Some(function) = candidate.function.function() else {
                continue;
            };
            let ty = function.return_type.clone();
            self.enter_class(id);
            let ty = self.resolve_type(&ty);
            self.frames.pop();
            let ty = ty.value_type().clone();
            if !ty.is_numeric() && !ty.is_pointer() {
                continue;
            }
            match &found {
                // That for constant objects beside that for others.
                Some((known, _)) if super::templates::same_type(known, &ty) => {}
                Some(_) => return operand,
                None => found = Some((ty, candidate)),
            }
        }
        let Some((_, callee)) = found else {
            return operand;
        };
        let object = match &operand {
            Operand::Place(place) => place.clone(),
            Operand::Value(value) => LValue::value(value.clone()),
        };
        match self.call_method(&object, vec![callee], &[], &[], span) {
            Some(result) => result,
            None => operand,
        }
    }
}
