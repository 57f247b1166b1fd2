//! The callee of a call expression: a lambda, a method, a function of the unit, a builtin, a type, or
//! something unknown.

use super::builtins;
use super::builtins::prototype::Intrinsic;
use super::call::{Arg, Operand};
use super::classes::Callee;
use super::context::*;
use super::env::function_last_name;
use super::resolve::joined;
use super::types::*;
use super::unseen::Unseen;
use super::value::*;
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{self, Expr, ExprKind, Name, SpecifierSet};

/// Conversions up to which a user's function is preferred to a builtin of the same name.
const NEAR: u32 = 2;
const ANY: u32 = u32::MAX;

impl Context<'_> {
    /// Lowers arguments that are read alone; packs are spread, lists wait for the parameter's type.
    pub fn arguments<'e>(&mut self, list: &'e [Expr]) -> Vec<Arg<'e>> {
        self.arguments_of(list, |_| false)
    }

    /// Arguments of which some are bound to references: then `c ? a : b` is the place of an arm.
    pub(super) fn arguments_of<'e>(
        &mut self,
        list: &'e [Expr],
        written: impl Fn(usize) -> bool,
    ) -> Vec<Arg<'e>> {
        let mut out = Vec::with_capacity(list.len());
        for e in list {
            match &e.kind {
                ExprKind::PackExpansion(inner) => {
                    for element in self.pack_elements(inner).unwrap_or_default() {
                        self.push_scope();
                        for (name, local) in element {
                            self.declare(name, local);
                        }
                        let operand = self.expr(inner);
                        self.pop_scope();
                        out.push(Arg {
                            operand,
                            span: e.span,
                            list: None,
                        });
                    }
                }
                ExprKind::List(_) => out.push(Arg {
                    operand: Operand::Value(RValue::new(CType::Unknown, [])),
                    span: e.span,
                    list: Some(e),
                }),
                _ => {
                    let operand = if written(out.len()) {
                        self.bound(e)
                    } else {
                        self.expr(e)
                    };
                    out.push(Arg {
                        operand,
                        span: e.span,
                        list: None,
                    });
                }
            }
        }
        out
    }

    pub fn call(&mut self, callee: &Expr, arguments: &[Expr], span: Span) -> Operand {
        match &callee.kind {
            ExprKind::Paren(inner) if matches!(inner.kind, ExprKind::Name(_)) => {
                self.call(inner, arguments, span)
            }
            ExprKind::Name(name) => self.call_name(name, arguments, span),
            ExprKind::Member {
                base,
                member,
                arrow,
            } => self.call_member(base, member, *arrow, arguments, span),
            _ => {
                let target = match pointer_of_call(callee) {
                    // `(*f)(...)`: a pointer to a function is the function.
                    Some(pointer)
                        if matches!(
                            self.type_of(pointer).value_type(),
                            CType::Opaque(_) | CType::Function(..)
                        ) =>
                    {
                        self.expr(pointer)
                    }
                    _ => self.expr(callee),
                };
                self.call_value(target, &[], arguments, callee.span, span)
            }
        }
    }

    /// Calls the value of an expression: a lambda, a functor, a function named as a value.
    fn call_value(
        &mut self,
        target: Operand,
        explicit: &[Local],
        arguments: &[Expr],
        callee_span: Span,
        span: Span,
    ) -> Operand {
        if self.is_c()
            && (target.ty().signature().is_some()
                || matches!(target.ty().value_type(), CType::Signature(_)))
        {
            let called = self.call_pointer(target, arguments, callee_span, span);
            return called.unwrap_or_else(|| {
                let unknown = self.unknown("call through a pointer", &[], &CType::INT, span);
                Operand::Value(unknown)
            });
        }
        match target.ty().value_type().clone() {
            CType::Lambda(id) => {
                let lambda = self.closures[id.0 as usize].lambda.clone();
                let writes = !lambda.captures.is_empty() || lambda.default_capture.is_some();
                let list = self.arguments_of(arguments, |at| binds(&lambda.parameters, at, writes));
                self.call_closure(id, explicit, &list, span)
            }
            CType::Function(name, number) => {
                let own = (number as usize)
                    .checked_sub(1)
                    .and_then(|at| self.function_arguments.get(at))
                    .map(|(_, arguments)| arguments.clone());
                let explicit = own.as_deref().unwrap_or(explicit);
                let path: SmallVec<[SmolStr; 4]> = name.split("::").map(SmolStr::new).collect();
                let candidates = self.functions_named(&path);
                let list = self.arguments_of(arguments, |at| may_bind(&candidates, at));
                match self.call_overloaded(candidates, explicit, None, &list, span, ANY) {
                    Some(result) => result,
                    None => self.unknown_call(&name, None, &list, None, span),
                }
            }
            CType::Struct(id) => {
                let object = match target {
                    Operand::Place(place) => place,
                    Operand::Value(value) => LValue::value(value),
                };
                let methods = self.methods(id, "operator()", 0);
                let list = self.arguments_of(arguments, |at| may_bind(&methods, at));
                match self.call_method(&object, methods, explicit, &list, span) {
                    Some(result) => result,
                    None => self.unknown_call("operator()", Some(&object), &list, None, span),
                }
            }
            CType::Pointer { to, .. } if matches!(*to, CType::Lambda(_) | CType::Function(..)) => {
                let value = self.take(target, callee_span);
                let place = self.dereference(&value, span);
                self.call_value(
                    Operand::Place(place),
                    explicit,
                    arguments,
                    callee_span,
                    span,
                )
            }
            ty => {
                let name = match &target {
                    Operand::Place(LValue {
                        name: Some(named), ..
                    }) => self.builder.function.variables[named.variable].name.clone(),
                    _ => SmolStr::new_static("function pointer"),
                };
                self.take(target, callee_span);
                let why = match ty {
                    CType::Opaque(_) | CType::Pointer { .. } => Unseen::Pointer,
                    // Nothing that is written calls a number: the type stands for a template parameter's.
                    _ if !self.assumed_types.is_empty() => Unseen::Functor,
                    _ => Unseen::Overload,
                };
                let by_value = matches!(&ty, CType::Opaque(name) if name == FUNCTION_POINTER);
                let mut list = self.arguments_of(arguments, |_| !by_value);
                for argument in list.iter_mut().filter(|_| by_value) {
                    if let Operand::Place(place) = &argument.operand {
                        let value = self.load(place, argument.span);
                        argument.operand = Operand::Value(self.decay(value));
                    }
                }
                self.unseen_call(&name, why, None, &list, None, span)
            }
        }
    }

    /// The library's own overloads of a mathematical function on numbers: their results are known, however
    /// they are written.
    fn is_library_math(&self, full: &str, candidates: &[Callee], list: &[Arg<'_>]) -> bool {
        let of_library = |namespace: &[SmolStr]| match namespace {
            [first, ..] if first == "std" => true,
            [first, second, ..] => first == "cuda" && second == "std",
            _ => false,
        };
        self.language == crate::function::Language::Cuda
            && builtins::cuda::is_math(full, list.len())
            && candidates.iter().any(|c| of_library(&c.namespace))
            && candidates
                .iter()
                .all(|c| c.namespace.is_empty() || of_library(&c.namespace))
            && list
                .iter()
                .all(|argument| argument.operand.ty().value_type().is_arithmetic())
    }

    fn call_name(&mut self, name: &Name, arguments: &[Expr], span: Span) -> Operand {
        let Some(last) = name.segments.last() else {
            return Operand::Value(RValue::void());
        };
        let text = last.ident.name.clone();
        let single = name.segments.len() == 1;
        // `std::numeric_limits<T>::max()` has its argument in the middle.
        let written = match &last.template_arguments {
            None if !single => name.segments[name.segments.len() - 2]
                .template_arguments
                .as_ref()
                .filter(|_| name.segments[name.segments.len() - 2].ident.name == "numeric_limits"),
            other => other.as_ref(),
        };
        let explicit = match written {
            Some(list) => self.template_arguments(list),
            None => Vec::new(),
        };
        if single {
            match self.lookup_local(&text).cloned() {
                Some(Local::Variable(mut place)) => {
                    if let Some(named) = &mut place.name {
                        named.at = self.at(last.ident.span);
                    }
                    let target = Operand::Place(place);
                    return self.call_value(target, &explicit, arguments, name.span, span);
                }
                Some(Local::Type(ty)) => return self.construct(ty, arguments, false, span),
                Some(Local::Constant(number)) if matches!(number.ty, CType::Function(..)) => {
                    let target = Operand::Value(self.number(&number));
                    return self.call_value(target, &explicit, arguments, name.span, span);
                }
                _ => {}
            }
            if let Some(class) = self.frames.last().and_then(|f| f.class) {
                let methods = self.methods(class, &text, 0);
                let is_constructor = methods.iter().any(|m| {
                    matches!(
                        m.function.function().map(|f| &f.name),
                        Some(ast::FunctionName::Constructor(_))
                    )
                });
                if !methods.is_empty() && !is_constructor {
                    let list = self.arguments_of(arguments, |at| may_bind(&methods, at));
                    let this = self.this_place();
                    let found =
                        self.call_overloaded(methods, &explicit, this.as_ref(), &list, span, ANY);
                    if let Some(found) = found {
                        return found;
                    }
                }
                // A member that can be called.
                if let Some(this) = self.this_place()
                    && let CType::Struct(id) = this.ty
                    && self.structs.field(id, &text).is_some()
                {
                    let target = self.name(name);
                    return self.call_value(target, &explicit, arguments, name.span, span);
                }
            }
        }
        let path: SmallVec<[SmolStr; 4]> =
            name.segments.iter().map(|s| s.ident.name.clone()).collect();
        let candidates = self.functions_named(&path);
        let full = joined(name);
        // A variable that holds the address of a function.
        if self.is_c()
            && candidates.is_empty()
            && let Some(target) = self.global_name(name)
        {
            return self.call_value(target, &explicit, arguments, name.span, span);
        }
        // A definition outside of its class is a method all the same.
        if !single
            && let Some(CType::Struct(id)) = self.type_at(&name.segments[..name.segments.len() - 1])
        {
            let methods = self.methods(id, &text, 0);
            if !methods.is_empty() {
                let this = self.this_place().and_then(|this| match this.ty {
                    CType::Struct(own) => self.base_place(&this, own, id),
                    _ => None,
                });
                let list = self.arguments_of(arguments, |at| may_bind(&methods, at));
                let found =
                    self.call_overloaded(methods, &explicit, this.as_ref(), &list, span, ANY);
                return match found {
                    Some(found) => found,
                    None => self.unknown_call(&full, None, &list, None, span),
                };
            }
        }
        if candidates.is_empty()
            && let Some(ty) = self.named_type(name)
        {
            return self.construct(ty, arguments, false, span);
        }
        if let ([only], true) = (arguments, candidates.is_empty())
            && builtins::basic::fraction(&full, 0.0).is_some()
            && let Some(number) = self.constant(only)
            && let Some(fraction) = self.constant_fraction(&full, number.as_float())
        {
            self.here(span);
            return Operand::Value(self.number(&fraction));
        }
        // Builtins write through addresses, but for the exchange of two variables.
        let unknown = candidates.is_empty()
            && (!builtins::is_builtin(self.language, &full)
                || matches!(
                    text.as_str(),
                    "swap" | "exchange" | "forward" | "move" | "ref"
                ));
        let list = self.arguments_of(arguments, |at| unknown || may_bind(&candidates, at));
        if matches!(
            full.trim_start_matches("cuda::"),
            "std::move" | "std::forward" | "move" | "forward"
        ) && candidates.is_empty()
            && let [only] = list.as_slice()
        {
            return only.operand.clone();
        }
        if !candidates.is_empty() {
            let entered = |c: &Callee| {
                let function = c.function.function();
                function.is_some_and(|f| matches!(f.body, ast::FunctionBody::Block(_)))
            };
            if !candidates.iter().any(entered)
                && let Some(found) = self.call_basic(&full, &candidates, &list, span)
            {
                return Operand::Value(found);
            }
            let standard = builtins::is_builtin(self.language, &full);
            if self.is_c()
                && standard
                && !candidates.iter().any(entered)
                && let Some(found) = self.call_builtin(&full, &explicit, &list, span)
            {
                return Operand::Value(found);
            }
            if self.is_library_math(&full, &candidates, &list)
                && let Some(found) = self.call_builtin(&full, &explicit, &list, span)
            {
                return Operand::Value(found);
            }
            let near = if standard && !self.is_c() { NEAR } else { ANY };
            let found =
                self.call_overloaded(candidates.clone(), &explicit, None, &list, span, near);
            if let Some(found) = found {
                return found;
            }
        }
        if candidates.is_empty()
            && let Some(found) = self.call_basic(&full, &[], &list, span)
        {
            return Operand::Value(found);
        }
        if let Some(found) = self.call_builtin(&full, &explicit, &list, span) {
            return Operand::Value(found);
        }
        let found = self.call_overloaded(candidates.clone(), &explicit, None, &list, span, ANY);
        if let Some(found) = found {
            return found;
        }
        if let Some(ty) = self.named_type(name) {
            return self.construct(ty, arguments, false, span);
        }
        let return_type = match candidates.first().and_then(|c| c.function.function()) {
            Some(function) if function.template.is_none() => {
                let ty = function.return_type.clone();
                Some(self.resolve_type(&ty))
            }
            _ => None,
        };
        self.unknown_call(&full, None, &list, return_type, span)
    }

    /// A basic operation of ETSI and ITU-T, or another intrinsic of their headers, that no definition in sight explains.
    fn call_basic(
        &mut self,
        name: &str,
        candidates: &[Callee],
        list: &[Arg<'_>],
        span: Span,
    ) -> Option<RValue> {
        let Some(operation) = self.basic_operation(name, candidates, list) else {
            let unseen = self.is_c() && self.env.basic_operations_missing && candidates.is_empty();
            let intrinsic = builtins::prototype::intrinsic(name).filter(|_| unseen)?;
            return Some(match intrinsic {
                Intrinsic::AlreadySet => RValue::new(CType::Void, []),
                Intrinsic::Unsupported(reason) => self.unknown(reason, &[], &CType::INT, span),
            });
        };
        let arguments = self.builtin_values(list, &|_| false);
        builtins::basic::call(self, operation, &arguments, span)
    }

    fn call_builtin(
        &mut self,
        name: &str,
        explicit: &[Local],
        list: &[Arg<'_>],
        span: Span,
    ) -> Option<RValue> {
        if !builtins::is_builtin(self.language, name) {
            return None;
        }
        let template = self.builtin_arguments(explicit);
        let hlsl = self.is_hlsl();
        let arguments = self.builtin_values(list, &|number| {
            hlsl && builtins::hlsl::by_place(name, number, list.len())
        });
        self.here(span);
        builtins::call(self, name, &template, &arguments, span)
    }

    /// Arguments as builtins take them. Those `by_place` are not read: their value has no scalars.
    pub fn builtin_values(
        &mut self,
        list: &[Arg<'_>],
        by_place: &dyn Fn(usize) -> bool,
    ) -> Vec<Argument> {
        list.iter()
            .enumerate()
            .map(|(number, argument)| match &argument.operand {
                Operand::Place(place) if by_place(number) => Argument {
                    value: RValue::new(place.ty.clone(), []),
                    place: Some(place.clone()),
                    span: argument.span,
                },
                Operand::Value(value) => Argument {
                    value: value.clone(),
                    place: None,
                    span: argument.span,
                },
                Operand::Place(place) => {
                    let value = self.load(place, argument.span);
                    let value = self.decay(value);
                    Argument {
                        value,
                        place: Some(place.clone()),
                        span: argument.span,
                    }
                }
            })
            .collect()
    }

    fn call_member(
        &mut self,
        base: &Expr,
        member: &Name,
        arrow: bool,
        arguments: &[Expr],
        span: Span,
    ) -> Operand {
        let Some(last) = member.segments.last() else {
            return Operand::Value(RValue::void());
        };
        let text = last.ident.name.clone();
        let explicit = match &last.template_arguments {
            Some(list) => self.template_arguments(list),
            None => Vec::new(),
        };
        let operand = self.object_of_call(base, &text, arrow);
        let object = if arrow {
            self.pointee(operand, base.span)
        } else {
            match operand {
                Operand::Place(place) => place,
                Operand::Value(value) => LValue::value(value),
            }
        };
        match object.ty.value_type().clone() {
            CType::Struct(id) => {
                let mut class = id;
                // `a.Base::f()`
                if member.segments.len() > 1 {
                    let outer = &member.segments[..member.segments.len() - 1];
                    if let Some(CType::Struct(base)) = self.type_at(outer) {
                        class = base;
                    }
                }
                let methods = self.methods(class, &text, 0);
                if methods.is_empty() && self.structs.field(id, &text).is_some() {
                    let target = self.member_place(object, &text, last.ident.span, span);
                    return self.call_value(target, &explicit, arguments, member.span, span);
                }
                let unknown = methods.is_empty();
                let list = self.arguments_of(arguments, |at| unknown || may_bind(&methods, at));
                if unknown {
                    return self.unknown_call(&text, Some(&object), &list, None, span);
                }
                match self.call_method(&object, methods, &explicit, &list, span) {
                    Some(found) => found,
                    None => self.unknown_call(&text, Some(&object), &list, None, span),
                }
            }
            CType::Resource(_) => {
                let list = self.arguments(arguments);
                let value = self.load_silently(&object, base.span);
                let template = self.builtin_arguments(&explicit);
                let count = list.len();
                let values = self.builtin_values(&list, &|number| {
                    super::resources::by_place(&text, number, count)
                });
                self.here(span);
                let found = super::resources::method(self, &value, &text, &template, &values, span);
                match found {
                    Some(found) => Operand::Value(found),
                    None => self.unknown_call(&text, None, &list, None, span),
                }
            }
            ty => {
                let list = self.arguments(arguments);
                let value = self.load_silently(&object, base.span);
                let template = self.builtin_arguments(&explicit);
                let values = self.builtin_values(&list, &|_| false);
                self.here(span);
                let object_argument = Argument {
                    value,
                    place: Some(object.clone()),
                    span: base.span,
                };
                let found =
                    builtins::method(self, &ty, &object_argument, &text, &template, &values, span);
                match found {
                    Some(found) => Operand::Value(found),
                    None => {
                        // Whatever the object is, the call may use it.
                        let mut all = list;
                        all.push(Arg {
                            operand: Operand::Place(object),
                            span: base.span,
                            list: None,
                        });
                        self.unknown_call(&text, None, &all, None, span)
                    }
                }
            }
        }
    }

    /// The object of a call of a method: `c ? a : b` is the place of an arm, unless all methods of this name are `const`.
    fn object_of_call(&mut self, base: &Expr, method: &str, arrow: bool) -> Operand {
        if !arrow
            && let Some(chosen) = self.chosen_place(base)
            && let CType::Struct(id) = *self.type_of(base).value_type()
        {
            let writes = |callee: &Callee| callee.function.function().is_none_or(|f| !f.is_const);
            let methods = self.methods(id, method, 0);
            if methods.is_empty() || methods.iter().any(writes) {
                return self.expr(&chosen);
            }
        }
        self.expr(base)
    }

    /// A class or one that it is derived from declares a method of this name as `virtual`.
    fn is_virtual(&mut self, class: StructId, name: &str, depth: u32) -> bool {
        if depth > 16 {
            return true;
        }
        let Some(origin) = self.sources.get(class.0 as usize).cloned() else {
            return false;
        };
        let here = origin.declared.members.iter().any(|member| {
            matches!(member, ast::Member::Method(function)
                if function.specifiers.words.has(SpecifierSet::VIRTUAL)
                    && function_last_name(&function.name) == name)
        });
        here || self
            .bases(class)
            .into_iter()
            .any(|base| self.is_virtual(base, name, depth + 1))
    }

    /// Calls a method on an object; the object is seen as the class that declares it.
    pub fn call_method(
        &mut self,
        object: &LValue,
        methods: Vec<Callee>,
        explicit: &[Local],
        arguments: &[Arg<'_>],
        span: Span,
    ) -> Option<Operand> {
        let CType::Struct(id) = *object.ty.value_type() else {
            return None;
        };
        let class = methods.first()?.class?;
        let is_static = methods.iter().all(|m| {
            m.function
                .function()
                .is_some_and(|f| f.specifiers.words.has(SpecifierSet::STATIC))
        });
        let this = if is_static {
            None
        } else {
            let mut this = object.clone();
            this.ty = CType::Struct(id);
            Some(self.base_place(&this, id, class)?)
        };
        // Which override runs depends on the object's own class, which is not followed.
        if let Some(function) = methods.first().and_then(|m| m.function.function()).cloned() {
            let name = function_last_name(&function.name);
            if self.is_virtual(class, &name, 0) {
                let written = self.resolve_type(&function.return_type);
                let why = Unseen::Pointer;
                let call =
                    self.unseen_call(&name, why, Some(object), arguments, Some(written), span);
                return Some(call);
            }
        }
        // Of overloads that differ in `const` alone, the one for the object at hand.
        let mut methods = methods;
        methods.sort_by_key(|m| {
            let is_const = m.function.function().is_some_and(|f| f.is_const);
            is_const != object.is_const
        });
        self.call_overloaded(methods, explicit, this.as_ref(), arguments, span, ANY)
    }
}

/// `p` of `(*p)`.
fn pointer_of_call(callee: &Expr) -> Option<&Expr> {
    let mut current = callee;
    for _ in 0..16 {
        match &current.kind {
            ExprKind::Paren(inner) => current = inner,
            ExprKind::Unary {
                op: ast::UnaryOp::Dereference,
                operand,
            } => return Some(operand),
            _ => return None,
        }
    }
    None
}

/// A candidate takes this argument by a reference through which it is written, or through which writes by
/// another way are seen.
pub(super) fn may_bind(candidates: &[Callee], at: usize) -> bool {
    candidates.iter().any(|candidate| {
        candidate.function.function().is_some_and(|function| {
            let is_method = candidate.class.is_some() && !function.is_const;
            binds(&function.parameters, at, is_method)
        })
    })
}

/// A parameter is a reference that matters: one that may be written through, or one beside which the callee may write
/// (`writes`, or by another parameter).
fn binds(parameters: &[ast::Parameter], at: usize, writes: bool) -> bool {
    let reference = |parameter: &ast::Parameter| match &parameter.ty.kind {
        ast::TypeKind::Reference { target, .. } => Some(!target.is_const),
        _ => None,
    };
    let pack = || parameters.last().filter(|parameter| parameter.pack);
    let bound = parameters.get(at).or_else(pack).and_then(reference);
    bound.is_some_and(|written| {
        written
            || writes
            || parameters
                .iter()
                .any(|other| reference(other) == Some(true))
    })
}
