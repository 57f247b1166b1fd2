//! Values of a type that is not known: results of functions that are not in sight, and values that stand for
//! text that was not understood. They are carried as one number (or as the vector of an argument), and may be
//! anything: a structure, a vector of any length. Made into something with several components, each of these
//! is unknown.

use super::call::{Arg, Operand};
use super::context::*;
use super::types::*;
use super::value::*;
use crate::inst::Op;
use syntax::Span;

impl Context<'_> {
    /// The type of this value is a guess.
    pub(super) fn is_guess(&self, value: &RValue) -> bool {
        let Some(&first) = value.parts.first() else {
            return false;
        };
        if !value.ty.is_numeric() {
            return false;
        }
        let function = &self.builder.function;
        self.guesses.contains(&first)
            || matches!(value.ty, CType::Int { .. })
                && matches!(function.defining(first), Some(d) if matches!(d.op, Op::Unknown(_)))
    }

    pub(super) fn operand_is_guess(&mut self, operand: &Operand) -> bool {
        match operand {
            Operand::Value(value) => self.is_guess(value),
            Operand::Place(place) => match &place.place {
                Place::Value(value) => self.is_guess(value),
                // `auto v = f();`
                Place::Slots(slots) if place.ty.is_numeric() => {
                    let parts: Parts = slots.iter().map(|&s| self.builder.read(s)).collect();
                    self.is_guess(&RValue::new(place.ty.clone(), parts))
                }
                _ => false,
            },
        }
    }

    /// Notes that a result computed from a guess is a guess.
    pub(super) fn note_guess(&mut self, of: &[&RValue], result: &RValue) {
        if of.iter().any(|v| self.is_guess(v)) {
            self.guesses.extend(result.parts.iter().copied());
        }
    }

    /// A guess as a type with components of its own.
    pub(super) fn guess_as(&mut self, value: &RValue, to: &CType, span: Span) -> RValue {
        // That it is not known was told where it came from.
        let types = self.structs.parts(to).unwrap_or_default();
        if types.is_empty() {
            return self.unknown("a value of unknown type", &value.parts, to, span);
        }
        self.here(span);
        let id = self
            .builder
            .note_unknown("a value of unknown type".to_string());
        let inst = self.builder.inst(Op::Unknown(id), &value.parts, &types);
        let parts: Parts = self.builder.results(inst).iter().copied().collect();
        RValue::new(to.clone(), parts)
    }

    /// Returns true if arguments of an initialisation may be other values than they look: one for all of an object, or
    /// vectors that count for more than one component. `wanted`: components to fill.
    pub(super) fn guessed_shape(&mut self, list: &[Arg<'_>], wanted: Option<usize>) -> bool {
        let mut guessed = false;
        for argument in list.iter().filter(|a| a.list.is_none()) {
            guessed |= self.operand_is_guess(&argument.operand);
        }
        if !guessed {
            return false;
        }
        let given: usize = list
            .iter()
            .map(|a| a.operand.ty().value_type().components())
            .sum();
        list.len() == 1 || wanted.is_some_and(|wanted| wanted != given)
    }

    /// The arguments as one unknown value of this type.
    pub(super) fn unknown_object(&mut self, ty: &CType, list: &[Arg<'_>], span: Span) -> RValue {
        let mut parts = Parts::new();
        for argument in list {
            let value = self.take(argument.operand.clone(), argument.span);
            parts.extend(value.parts);
        }
        let value = RValue::new(CType::INT, parts);
        self.guess_as(&value, ty, span)
    }
}
