//! Calls whose callee is not entered: their results are unknown, and all that the callee can reach may have
//! changed.
//!
//! A callee reaches memory, the places passed by reference, and the captures of a lambda passed to it. A
//! variable that has no memory is taken to be assigned by the call. Where a prototype is in sight, arguments
//! by value are only read; without one, every argument with a place may be written.

use super::call::{Arg, Bound, Operand};
use super::context::*;
use super::passing::Given;
use super::types::*;
use super::value::*;
use super::visit;
use crate::inst::*;
use crate::types::Type;
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::c_family::ast::{self, CaptureMode, ExprKind, FunctionBody, ItemKind};
use syntax::{ProblemKind, Span};

/// The reason why a callee is not entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unseen {
    /// Declared; the definition is in another translation unit.
    Body,
    /// No declaration of this name is in sight.
    Name,
    /// There are definitions of this name, and none is taken to fit.
    Overload,
    /// A value is called whose type is a template parameter that nothing in sight names.
    Functor,
    /// A pointer to a function whose value is not known.
    Pointer,
    /// It reads arguments that have no names.
    Variadic,
    /// It calls itself, and cannot be a function of the module.
    Recursive,
    /// The callees that were entered already have reached the budget.
    Budget,
}

/// Functions of C's library that take arguments behind `...`, as they are called where no header says so.
const PRINTING: [&str; 6] = [
    "printf", "fprintf", "sprintf", "snprintf", "dprintf", "syslog",
];

/// The known parts of a callee's signature.
pub(super) struct Prototype<'a> {
    pub(super) function: &'a ast::Function,
    pub(super) parameters: &'a [Bound],
    pub(super) return_type: Option<CType>,
}

impl Context<'_> {
    /// A call of a function of which no definition is found under its name.
    pub fn unknown_call(
        &mut self,
        name: &str,
        this: Option<&LValue>,
        arguments: &[Arg<'_>],
        return_type: Option<CType>,
        span: Span,
    ) -> Operand {
        let last = SmolStr::new(name.rsplit("::").next().unwrap_or(name));
        let mut why = Unseen::Name;
        for entry in self.env.lookup(&[], &[last]) {
            if let (ItemKind::Function(function), super::env::EntryKind::Function) =
                (&self.env.item(entry).kind, entry.what)
            {
                if matches!(function.body, FunctionBody::Block(_)) {
                    why = Unseen::Overload;
                    break;
                }
                why = Unseen::Body;
            }
        }
        self.unseen_call(name, why, this, arguments, return_type, span)
    }

    /// Says why a call stays one.
    fn report_unseen(&mut self, name: &str, why: Unseen, span: Span) {
        let effect = "what it returns and writes is not known";
        match why {
            Unseen::Body => {
                self.remark(span, format!("`{name}` is defined elsewhere: {effect}"));
                let name = SmolStr::new(name);
                if let Err(at) = self.external.binary_search(&name) {
                    self.external.insert(at, name);
                }
            }
            Unseen::Pointer => self.remark(
                span,
                format!("a call through `{name}` may reach any function: {effect}"),
            ),
            Unseen::Functor => self.remark(
                span,
                format!("`{name}` is called, and its type is a template parameter that is not known here: {effect}"),
            ),
            Unseen::Overload => self.problem(
                span,
                format!("no `{name}` in sight is understood to take these arguments: {effect}"),
            ),
            Unseen::Variadic => self.remark(
                span,
                format!("`{name}` takes arguments behind `...` and is not entered: {effect}"),
            ),
            Unseen::Recursive => self.problem(
                span,
                format!("`{name}` calls itself in a way that is not followed: {effect}"),
            ),
            // Once a function: the next calls are not entered either.
            Unseen::Budget if std::mem::replace(&mut self.budget_told, true) => {}
            Unseen::Budget => {
                let budget = self.budget();
                let message = format!(
                    "a limit: from `{name}` on calls are not entered, for what is called before it has more than {budget} instructions or calls, or nests too deeply: {effect}"
                );
                self.report(ProblemKind::Limit, span, message);
            }
            Unseen::Name => match self.env.missing_headers.as_slice() {
                // In C a library's function is an ordinary call; its header was not found.
                [] if self.is_c() => {
                    self.remark(span, format!("`{name}` is not visible here: {effect}"));
                }
                [] => self.problem(span, format!("`{name}` is not visible here: {effect}")),
                [header] => {
                    let message = format!(
                        "`{name}` is not visible here (`{header}` was not found): {effect}"
                    );
                    self.remark(span, message);
                }
                [header, rest @ ..] => {
                    let message = format!(
                        "`{name}` is not visible here (`{header}` and {} more headers were not found): {effect}",
                        rest.len()
                    );
                    self.remark(span, message);
                }
            },
        }
    }

    /// A call whose callee is not entered and whose signature is not known.
    pub fn unseen_call(
        &mut self,
        name: &str,
        why: Unseen,
        this: Option<&LValue>,
        arguments: &[Arg<'_>],
        return_type: Option<CType>,
        span: Span,
    ) -> Operand {
        self.not_entered(name, why, this, arguments, None, return_type, span)
    }

    /// A call whose callee is not entered, by its prototype.
    pub(super) fn prototype_call(
        &mut self,
        name: &str,
        why: Unseen,
        this: Option<&LValue>,
        arguments: &[Arg<'_>],
        prototype: &Prototype<'_>,
        span: Span,
    ) -> Operand {
        let return_type = prototype.return_type.clone();
        let known = Some(prototype);
        self.not_entered(name, why, this, arguments, known, return_type, span)
    }

    #[allow(clippy::too_many_arguments)]
    fn not_entered(
        &mut self,
        name: &str,
        why: Unseen,
        this: Option<&LValue>,
        arguments: &[Arg<'_>],
        prototype: Option<&Prototype<'_>>,
        return_type: Option<CType>,
        span: Span,
    ) -> Operand {
        let mut values: Parts = Parts::new();
        let mut given = Given::default();
        let mut written: Vec<LValue> = Vec::new();
        let returns = return_type.clone().filter(|_| self.is_c());
        if let Some(returns) = &returns {
            self.give_room(&mut given, returns);
        }
        let mut copies = Vec::new();
        let mut guess = CType::INT;
        for (number, argument) in arguments.iter().enumerate() {
            let bound = prototype.and_then(|p| Some((p, p.parameters.get(number)?)));
            let by_value = bound.is_some_and(|(p, bound)| {
                let direction = p.function.parameters.get(bound.index);
                !matches!(bound.ty, CType::Reference { .. } | CType::Unknown)
                    && direction.is_some_and(|p| p.direction == ast::Direction::In)
            });
            let value = match &argument.operand {
                Operand::Place(place) => {
                    // C has no references.
                    if !by_value && !self.is_c() {
                        self.reached(place, &mut values, &mut written);
                    }
                    self.load(place, argument.span)
                }
                Operand::Value(value) => value.clone(),
            };
            let value = match self.is_c() {
                true => self.decay(value),
                false => value,
            };
            if value.ty.element().is_float() && guess == CType::INT {
                guess = value.ty.clone();
            }
            if let CType::Lambda(id) = value.ty {
                self.captured_places(id, &mut values, &mut written);
            }
            let value = match bound {
                Some((_, bound))
                    if by_value && convertible(&value.ty) && convertible(&bound.ty) =>
                {
                    self.convert(value, &bound.ty, argument.span)
                }
                None if self.is_c() => {
                    let variadic = match prototype {
                        Some(prototype) => prototype.function.variadic,
                        None => PRINTING.contains(&name),
                    };
                    self.undeclared_argument(value, variadic, argument.span)
                }
                _ => value,
            };
            let value = self.given_address(value, &mut copies, argument.span);
            self.not_passed(&value.ty, false, argument.span);
            if self.is_c() {
                let named = prototype.is_none_or(|p| !p.function.variadic || bound.is_some());
                self.give(&mut given, &value, named, argument.span);
            } else {
                values.extend(value.parts.iter().copied());
            }
        }
        values.extend(given.values.iter().copied());
        if let Some(this) = this {
            self.reached(this, &mut values, &mut written);
        }
        let declared = return_type.filter(|ty| !ty.is_unknown());
        let guessed = declared.is_none();
        let ty = match declared {
            Some(ty) => ty,
            None if guess.is_unknown() => CType::INT,
            None => guess,
        };
        let result_ty = match &ty {
            CType::Reference { to, .. } => (**to).clone(),
            other => other.clone(),
        };
        self.not_passed(&result_ty, true, span);
        let returned = match self.is_c() {
            true => self.structs.returned(&result_ty),
            false => self.structs.parts(&result_ty),
        };
        let mut types: SmallVec<[Type; 4]> = returned.unwrap_or_default();
        let own = types.len();
        let mut convention = given.convention.clone();
        for place in &written {
            let parts = self.structs.parts(&place.ty).unwrap_or_default();
            let before = self.load_silently(place, span);
            debug_assert_eq!(before.parts.len(), parts.len());
            values.extend(before.parts);
            types.extend(parts);
        }
        convention.by_reference = (types.len() - own) as u16;
        self.here(span);
        self.report_unseen(name, why, span);
        let op = Op::CallUnknown {
            name: SmolStr::new(name),
            pure: false,
            convention,
        };
        let inst = self.builder.inst(op, &values, &types);
        if self.is_hlsl() && why != Unseen::Body {
            // A function of this text may assign its `static` globals, whichever come into sight later.
            self.reaches_globals.push(inst);
        }
        let results: Parts = self.builder.results(inst).iter().copied().collect();
        if guessed {
            self.guesses.extend(results.iter().take(own));
        }
        let mut at = own;
        for place in written {
            let count = self.structs.parts(&place.ty).map_or(0, |p| p.len());
            let parts = results.get(at..at + count).unwrap_or(&[]).iter().copied();
            let value = RValue::new(place.ty.clone(), parts);
            at += count;
            self.store_silently(&place, value, span);
        }
        if self.is_c() {
            let value = self.taken(&result_ty, &given, &results[..own.min(results.len())]);
            self.bring_back(copies, span);
            return Operand::Value(value);
        }
        self.bring_back(copies, span);
        Operand::Value(RValue::new(result_ty, results.iter().take(own).copied()))
    }

    /// A place that the callee may write: memory is given to it, of anything else the call is an assignment.
    pub(super) fn reached(
        &mut self,
        place: &LValue,
        values: &mut Parts,
        written: &mut Vec<LValue>,
    ) {
        if place.is_const {
            return;
        }
        match &place.place {
            Place::Value(value) => {
                if place.name.is_some()
                    && !matches!(value.ty, CType::Lambda(_) | CType::Function(..))
                {
                    self.give_storage(place);
                }
            }
            Place::Memory { address, .. } => {
                self.note_written(*address);
                values.push(*address);
            }
            Place::MemorySwizzle { address, .. } | Place::Packed { address, .. } => {
                values.push(*address);
            }
            Place::BitField { inner, .. } => {
                if let Place::Memory { address, .. } = **inner {
                    values.push(address);
                }
                written.push(place.clone());
            }
            Place::Slots(_) | Place::Texel(_) | Place::TexelSwizzle { .. } => {
                written.push(place.clone());
            }
        }
    }

    /// Adds the places that a lambda holds by reference: any code that has the lambda may write them.
    pub(super) fn captured_places(
        &mut self,
        id: ClosureId,
        values: &mut Parts,
        written: &mut Vec<LValue>,
    ) {
        let Some(closure) = self.closures.get(id.0 as usize).cloned() else {
            return;
        };
        let mut names: Vec<SmolStr> = Vec::new();
        let lambda = closure.lambda.clone();
        for capture in &lambda.captures {
            if capture.mode == CaptureMode::Reference {
                names.push(capture.name.name.clone());
            }
        }
        if lambda.default_capture == Some(CaptureMode::Reference) {
            visit::block(&lambda.body, &mut |e| {
                if let ExprKind::Name(name) = &e.kind
                    && let [only] = name.segments.as_slice()
                {
                    names.push(only.ident.name.clone());
                }
            });
        }
        names.sort();
        names.dedup();
        for name in names {
            let found = closure.scopes.iter().rev().find_map(|s| s.get(&name));
            if let Some(Local::Variable(place)) = found.cloned() {
                self.reached(&place, values, written);
            }
        }
    }
}

/// Conversions between these need no class.
fn convertible(ty: &CType) -> bool {
    ty.is_numeric() || ty.is_pointer()
}
