//! `Overflow` and `Carry`, the two variables that basic operations write.
//!
//! ```text
//! Overflow = 0;  s = L_mac(s, x, y);  if (Overflow) ...        Overflow = lost ? 1 : Overflow behind the operation
//! ```
//!
//! `Overflow` stays set until somebody clears it; sums with carry alone clear it. Operations write it in units that read it: one
//! that only declares it, and calls functions of another that read it, would have to say so by a read of its own. `Carry` is
//! written by the sums that read it, wherever they stand.

use super::context::Context;
use super::types::CType;
use super::value::{LValue, RValue};
use super::visit;
use crate::entity::Value;
use crate::inst::{BinaryOp, Convert, IntCondition, Wrap};
use crate::types::{Space, Type};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{
    ExprKind, FunctionBody, Ident, ItemKind, Name, NameSegment, ParsedItem,
};

const OVERFLOW: &str = "Overflow";
const CARRY: &str = "Carry";

/// Returns true if a function of an item reads `Overflow`, itself or by what it calls.
pub(super) fn reads_overflow(item: &ParsedItem) -> bool {
    let ItemKind::Function(function) = &item.kind else {
        return false;
    };
    let FunctionBody::Block(body) = &function.body else {
        return false;
    };
    let (mut named, mut assigned) = (0, 0);
    visit::block(body, &mut |e| match &e.kind {
        ExprKind::Name(name) => {
            named += u32::from(is_last(name, OVERFLOW) || is_last(name, "L_sat"));
        }
        ExprKind::Assign { op: None, left, .. } => {
            let plain = matches!(&left.kind, ExprKind::Name(name) if is_last(name, OVERFLOW));
            assigned += u32::from(plain);
        }
        _ => {}
    });
    named > assigned
}

fn is_last(name: &Name, wanted: &str) -> bool {
    matches!(name.segments.as_slice(), [only] if only.ident.name == wanted)
}

/// The effect of one operation on the flags.
#[derive(Debug)]
pub(super) struct Flags {
    read: bool,
    /// `Overflow` is cleared where nothing is lost.
    assigned: bool,
    span: Span,
    /// `Overflow` becomes 1 where one of these holds.
    lost: Vec<Value>,
    /// It becomes this, whatever it was.
    overflow: Option<Value>,
    carry: Option<Value>,
}

impl Flags {
    pub(super) fn of(cx: &Context<'_>, span: Span) -> Flags {
        Flags {
            read: cx.env.reads_overflow,
            assigned: false,
            span,
            lost: Vec::new(),
            overflow: None,
            carry: None,
        }
    }
    /// As a function leaves them that is an operation.
    pub(super) fn left_by(effect: super::recognize::FlagEffect, span: Span) -> Flags {
        use super::recognize::FlagEffect;
        Flags {
            read: effect != FlagEffect::Untouched,
            assigned: effect == FlagEffect::Assigned,
            span,
            lost: Vec::new(),
            overflow: None,
            carry: None,
        }
    }
    /// Returns true if somebody reads `Overflow`.
    pub(super) const fn overflow(&self) -> bool {
        self.read
    }
    /// A number was beyond the limits where the condition holds.
    pub(super) fn overflowed(&mut self, lost: Value) {
        self.lost.push(lost);
    }
    /// `Overflow` is this from now on.
    pub(super) fn set_overflow(&mut self, value: Value) {
        self.lost.clear();
        self.overflow = Some(value);
    }
    pub(super) fn carry_out(&mut self, value: Value) {
        self.carry = Some(value);
    }
    pub(super) fn carry_in(&self, cx: &mut Context<'_>) -> Value {
        self.read_flag(cx, CARRY)
    }
    /// Behind what the operation did to it so far.
    pub(super) fn overflow_in(&self, cx: &mut Context<'_>) -> Value {
        let before = self.read_flag(cx, OVERFLOW);
        let or = |a, &b: &Value| cx.builder.binary(BinaryOp::Or, Wrap::MAY, a, b);
        self.lost.iter().fold(before, or)
    }

    fn read_flag(&self, cx: &mut Context<'_>, name: &str) -> Value {
        let place = cx.flag(name, self.span);
        let value = cx.load_silently(&place, self.span);
        let Some(value) = value.first() else {
            return cx.builder.bool(false);
        };
        let ty = cx.builder.function.ty(value);
        let zero = cx.builder.int(ty, 0);
        cx.builder.int_compare(IntCondition::NotEqual, value, zero)
    }

    pub(super) fn write(self, cx: &mut Context<'_>, span: Span) {
        let known = self.overflow.is_some() || self.assigned;
        let none = cx.builder.bool(false);
        let cleared = self.assigned.then_some(none);
        let first = self.overflow.or(cleared);
        let or = |a, b| cx.builder.binary(BinaryOp::Or, Wrap::MAY, a, b);
        let all = first.into_iter().chain(self.lost).reduce(or);
        if let Some(value) = all.filter(|_| self.read) {
            let set = cx.builder.bool(true);
            match known {
                true => store(cx, OVERFLOW, value, None, span),
                false => store(cx, OVERFLOW, set, Some(value), span),
            }
        }
        if let Some(value) = self.carry {
            store(cx, CARRY, value, None, span);
        }
    }
}

/// A truth value in a flag, where a condition holds.
fn store(cx: &mut Context<'_>, name: &str, value: Value, condition: Option<Value>, span: Span) {
    let place = cx.flag(name, span);
    let Some(ty) = place.ty.scalar_ir().filter(|ty| ty.is_int()) else {
        return;
    };
    let mut number = match cx.builder.function.int_constant(value) {
        Some(known) => cx.builder.int(ty, i64::from(known != 0)),
        None => cx.builder.convert(Convert::ZeroExtend, value, ty),
    };
    if let Some(condition) = condition
        && let Some(before) = cx.load_silently(&place, span).first()
    {
        number = cx.builder.select(condition, number, before);
    }
    let ty = place.ty.clone();
    cx.store_silently(&place, RValue::scalar(ty, number), span);
}

impl Context<'_> {
    /// The place of `Overflow` or `Carry`, declared or not.
    fn flag(&mut self, name: &str, span: Span) -> LValue {
        let ident = Ident {
            name: SmolStr::new(name),
            span,
        };
        let written = Name {
            global: false,
            segments: vec![NameSegment {
                ident,
                template_arguments: None,
            }],
            span,
        };
        match self.global_name(&written) {
            Some(super::call::Operand::Place(place)) => place,
            _ => self.undeclared_flag(name),
        }
    }

    /// A flag that a header declares which was not found.
    pub(super) fn flag_of_header(&mut self, name: &str) -> Option<LValue> {
        let known = self.env.basic_operations_missing && matches!(name, OVERFLOW | CARRY);
        known.then(|| self.undeclared_flag(name))
    }

    fn undeclared_flag(&mut self, name: &str) -> LValue {
        let name = SmolStr::new(name);
        if let Some(known) = self.globals.get(&name) {
            return known.clone();
        }
        let place = self.symbol_place(&name, &CType::INT, Space::Global, false, Span::default());
        debug_assert_eq!(place.ty.scalar_ir(), Some(Type::I32));
        self.globals.insert(name, place.clone());
        place
    }

    /// A call of a function that is a basic operation, by what it is.
    pub(super) fn call_recognized(
        &mut self,
        callee: &super::classes::Callee,
        arguments: &[super::call::Arg<'_>],
        span: Span,
    ) -> Option<RValue> {
        if !self.is_c() || self.options.as_written {
            return None;
        }
        let known = match self.shared.recognized.get(&callee.item) {
            Some(&known) => known,
            None => {
                let found = self.bodies.recognized(self.env, &callee.item, self.options);
                self.shared.recognized.insert(callee.item.clone(), found);
                found
            }
        };
        let recognized = known?;
        if arguments.iter().any(|argument| argument.list.is_some()) {
            return None;
        }
        let values = self.builtin_values(arguments, &|_| false);
        let flags = Flags::left_by(recognized.overflow, span);
        super::builtins::basic::call_with(self, recognized.operation(), &values, flags, span)
    }

    /// The basic operation that a name means: one that is declared with its types and nowhere defined, or that a header
    /// declares which was not found.
    pub(super) fn basic_operation(
        &self,
        name: &str,
        candidates: &[super::classes::Callee],
        arguments: &[super::call::Arg<'_>],
    ) -> Option<&'static super::builtins::basic::BasicOperation> {
        if !self.is_c() {
            return None;
        }
        super::builtins::basic::named(name).find(|row| {
            if row.parameters.len() != arguments.len() {
                return false;
            }
            if candidates.is_empty() {
                // Of two that differ in the width of an operand the one that has it.
                let wide = |argument: &super::call::Arg<'_>| {
                    matches!(argument.operand.ty(), CType::Int { bits: 64, .. })
                };
                let fits = arguments
                    .iter()
                    .zip(row.parameters)
                    .all(|(argument, word)| {
                        let integer = argument.operand.ty().is_integer();
                        let lost = wide(argument) && *word != super::builtins::basic::Word::Word40;
                        integer && (!lost || super::builtins::basic::named(name).count() == 1)
                    });
                return self.env.basic_operations_missing && fits;
            }
            candidates
                .iter()
                .any(|callee| callee.function.function().is_some_and(|f| declares(f, row)))
        })
    }
}

/// Returns true if a prototype has the types of an operation, by their names.
fn declares(
    function: &syntax::c_family::ast::Function,
    row: &super::builtins::basic::BasicOperation,
) -> bool {
    use syntax::c_family::ast::{Type, TypeKind};
    let is = |ty: &Type, word: super::builtins::basic::Word| matches!(&ty.kind, TypeKind::Named(name) if is_last(name, word.name()));
    let mut pairs = function.parameters.iter().zip(row.parameters);
    matches!(function.body, FunctionBody::None)
        && !function.variadic
        && function.parameters.len() == row.parameters.len()
        && is(&function.return_type, row.result)
        && pairs.all(|(parameter, &word)| is(&parameter.ty, word))
}
