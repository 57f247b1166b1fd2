//! The resolution of calls: deduction, conversion ranks, the best of the candidates that fit.

use super::call::{Arg, Bound, Fitting, Operand};
use super::classes::Callee;
use super::context::*;
use super::templates::same_type;
use super::types::*;
use super::value::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{self, ExprKind, FunctionBody, TemplateParameterKind, TypeKind};

impl Context<'_> {
    /// Picks the best candidate and calls it. `None`: none fits.
    pub fn call_overloaded(
        &mut self,
        candidates: Vec<Callee>,
        explicit: &[Local],
        this: Option<&LValue>,
        arguments: &[Arg<'_>],
        span: Span,
        worst_rank: u32,
    ) -> Option<Operand> {
        let mut best: Option<Fitting> = None;
        let has_body = |c: &Callee| {
            c.function
                .function()
                .is_some_and(|f| matches!(f.body, FunctionBody::Block(_)))
        };
        let mut order: Vec<Callee> = Vec::with_capacity(candidates.len());
        let (with, without): (Vec<Callee>, Vec<Callee>) =
            candidates.into_iter().partition(has_body);
        order.extend(with);
        order.extend(without);
        for callee in order {
            let Some(fitting) = self.fit(callee, explicit, arguments) else {
                continue;
            };
            let better = best
                .as_ref()
                .is_none_or(|b| (fitting.rank, fitting.templated) < (b.rank, b.templated));
            if better {
                best = Some(fitting);
            }
        }
        let fitting = best?;
        if fitting.rank > worst_rank {
            return None;
        }
        Some(self.call_fitting(fitting, this, arguments, span))
    }

    /// Returns how well a candidate takes these arguments; `None` if it does not.
    pub(super) fn fit(
        &mut self,
        callee: Callee,
        explicit: &[Local],
        arguments: &[Arg<'_>],
    ) -> Option<Fitting> {
        let function_ref = callee.function.clone();
        let function = function_ref.function()?;
        let parameters = &function.parameters;
        let pack = parameters.iter().position(|p| p.pack);
        let required = parameters
            .iter()
            .take_while(|p| p.default.is_none() && !p.pack)
            .count();
        if arguments.len() < required
            || (arguments.len() > parameters.len()
                && pack.is_none()
                && !function.variadic
                && !(self.is_c() && parameters.is_empty()))
        {
            return None;
        }
        let mut names: FxHashMap<SmolStr, bool> = FxHashMap::default();
        for parameter in function.template.iter().flat_map(|t| &t.parameters) {
            if let Some(name) = &parameter.name {
                names.insert(name.name.clone(), parameter.pack);
            }
        }
        let mut frame = Frame::outside(callee.item.clone());
        frame.site = self.site();
        frame.namespace = callee.namespace.clone();
        frame.captured = callee.scopes.clone();
        frame.class = callee.class;
        self.frames.push(frame);
        for (name, local) in callee.bindings.iter() {
            self.declare(name.clone(), local.clone());
        }
        let failed_before = std::mem::take(&mut self.substitution_failed);
        let bound = self.fit_parameters(function, explicit, arguments, &names, pack);
        let failed = std::mem::replace(&mut self.substitution_failed, failed_before);
        let frame = self.frames.pop()?;
        let (parameters, mut rank) = bound?;
        if failed {
            return None;
        }
        if function.variadic && arguments.len() > function.parameters.len() {
            rank += 40;
        }
        let templated = match &function.template {
            Some(template) if !template.parameters.is_empty() => {
                // A parameter that is all template is less special than one with a shape.
                1 + function
                    .parameters
                    .iter()
                    .map(|p| match &p.ty.kind {
                        TypeKind::Named(_) => 2,
                        TypeKind::Reference { target, .. } => match &target.kind {
                            TypeKind::Named(n)
                                if n.segments
                                    .last()
                                    .is_some_and(|s| s.template_arguments.is_some()) =>
                            {
                                1
                            }
                            _ => 2,
                        },
                        _ => 1,
                    })
                    .sum::<u32>()
            }
            _ => 0,
        };
        Some(Fitting {
            callee,
            scopes: frame.scopes,
            parameters,
            rank,
            templated,
        })
    }

    pub(super) fn fit_parameters(
        &mut self,
        function: &ast::Function,
        explicit: &[Local],
        arguments: &[Arg<'_>],
        names: &FxHashMap<SmolStr, bool>,
        pack: Option<usize>,
    ) -> Option<(Vec<Bound>, u32)> {
        let fixed = pack.unwrap_or(function.parameters.len());
        if let Some(template) = &function.template {
            let mut deduced: FxHashMap<SmolStr, Local> = FxHashMap::default();
            let mut given = explicit.iter();
            for parameter in &template.parameters {
                if let Some(name) = &parameter.name {
                    if parameter.pack {
                        let rest: Vec<Local> = given.by_ref().cloned().collect();
                        if !rest.is_empty() {
                            deduced.insert(name.name.clone(), Local::Pack(rest));
                        }
                    } else if let Some(local) = given.next() {
                        deduced.insert(name.name.clone(), local.clone());
                    }
                } else {
                    given.next();
                }
            }
            // What is given explicitly is not deduced again: conversions apply to it.
            let explicit_names: FxHashSet<SmolStr> = deduced.keys().cloned().collect();
            for (parameter, argument) in function.parameters.iter().take(fixed).zip(arguments) {
                if argument.list.is_some() {
                    continue;
                }
                let before = deduced.clone();
                if !self.deduce(&parameter.ty, argument.operand.ty(), names, &mut deduced, 0) {
                    let mentions_explicit =
                        explicit_names.iter().any(|n| mentions(&parameter.ty, n));
                    if !mentions_explicit {
                        return None;
                    }
                    deduced = before;
                }
            }
            if let Some(pack) = pack {
                let parameter = &function.parameters[pack];
                let rest = arguments.get(fixed..).unwrap_or(&[]);
                if let Some(name) = pattern_pack(&parameter.ty, names) {
                    let elements: Vec<Local> = rest
                        .iter()
                        .map(|a| {
                            let ty = a.operand.ty().value_type().clone();
                            Local::Type(match &ty {
                                CType::Array { element, .. } => CType::Pointer {
                                    to: element.clone(),
                                    space: crate::types::Space::Generic,
                                    is_const: false,
                                    restrict: false,
                                    volatile: false,
                                },
                                _ => ty,
                            })
                        })
                        .collect();
                    if !matches!(deduced.get(&name), Some(Local::Pack(p)) if p.len() >= elements.len())
                    {
                        deduced.insert(name, Local::Pack(elements));
                    }
                }
            }
            self.bind_deduced(template, &deduced, &explicit_names)?;
        }
        let mut bound = Vec::new();
        let mut rank = 0u32;
        for (index, parameter) in function.parameters.iter().enumerate() {
            if parameter.pack {
                let rest = arguments.len().saturating_sub(index);
                for element in 0..rest {
                    let argument = &arguments[index + element];
                    let ty = match &parameter.ty.kind {
                        TypeKind::Reference { target, .. } => CType::Reference {
                            to: argument.operand.ty().value_type().clone().into(),
                            is_const: target.is_const,
                        },
                        _ => argument.operand.ty().value_type().clone(),
                    };
                    bound.push(Bound {
                        index,
                        ty,
                        pack: true,
                    });
                }
                continue;
            }
            let mut ty = match &parameter.ty.kind {
                // The size of an array parameter means nothing, and may name the parameters before it.
                TypeKind::Array { element, .. } if !self.is_hlsl() => {
                    CType::array(self.resolve_type(element), ArraySize::Unknown)
                }
                _ => self.resolve_type(&parameter.ty),
            };
            if let CType::Signature(_) = ty {
                ty = ty.of_parameter();
            }
            if let CType::Array { element, .. } = &ty
                && !self.is_hlsl()
            {
                // An array parameter is a pointer.
                ty = CType::Pointer {
                    to: element.clone(),
                    space: crate::types::Space::Generic,
                    is_const: parameter.ty.is_const || array_element_const(&parameter.ty),
                    restrict: false,
                    volatile: false,
                };
            }
            if let Some(argument) = arguments.get(index)
                && argument.list.is_none()
            {
                if ty.is_unknown() {
                    // `auto` parameters.
                    ty = argument.operand.ty().value_type().clone();
                    rank += 1;
                } else if let CType::Reference { to, is_const } = &ty
                    && to.is_unknown()
                {
                    ty = CType::Reference {
                        to: argument.operand.ty().value_type().clone().into(),
                        is_const: *is_const,
                    };
                    rank += 1;
                } else {
                    // What C converts with a warning is a call all the same.
                    rank += match self.conversion_rank(argument.operand.ty(), &ty) {
                        None if self.is_c() => 30,
                        found => found?,
                    };
                    if let CType::Reference { is_const, .. } = &ty {
                        let rvalue_reference =
                            matches!(&parameter.ty.kind, TypeKind::Reference { rvalue: true, .. });
                        match &argument.operand {
                            Operand::Value(_) if !is_const && !rvalue_reference => return None,
                            Operand::Place(_) if *is_const => rank += 1,
                            _ => {}
                        }
                    }
                }
            }
            bound.push(Bound {
                index,
                ty,
                pack: false,
            });
        }
        // The return type takes part in substitution.
        if function.template.is_some() {
            self.declared_return_type(function, &bound);
        }
        Some((bound, rank))
    }

    /// Declares deduced template parameters; `None` when one stays unknown and has no default.
    pub(super) fn bind_deduced(
        &mut self,
        template: &ast::TemplateParameters,
        deduced: &FxHashMap<SmolStr, Local>,
        explicit: &FxHashSet<SmolStr>,
    ) -> Option<()> {
        for parameter in &template.parameters {
            let found = parameter
                .name
                .as_ref()
                .and_then(|n| deduced.get(&n.name))
                .cloned();
            let it = ast::TemplateParameters {
                parameters: vec![parameter.clone()],
                span: template.span,
            };
            match found {
                Some(Local::Pack(elements)) => {
                    self.bind_template(&it, &[Local::Pack(elements)]);
                }
                Some(local) => self.bind_template(&it, &[local]),
                None => {
                    let has_default = match &parameter.kind {
                        TemplateParameterKind::Type { default } => default.is_some(),
                        TemplateParameterKind::Value { default, .. } => default.is_some(),
                        TemplateParameterKind::Template { .. } => true,
                    };
                    if !has_default && !parameter.pack && !explicit.is_empty() {
                        // Explicit arguments of another kind of template.
                        return None;
                    }
                    if !has_default && !parameter.pack && parameter.name.is_some() {
                        return None;
                    }
                    self.bind_template(&it, &[]);
                }
            }
        }
        Some(())
    }

    /// Returns how far an argument is from a parameter: 0 exact, larger is worse, `None` impossible.
    pub fn conversion_rank(&mut self, from: &CType, to: &CType) -> Option<u32> {
        let (from, to) = (from.value_type(), to.value_type());
        if from == to {
            return Some(0);
        }
        if from.is_unknown() || to.is_unknown() {
            return Some(6);
        }
        Some(match (from, to) {
            (CType::Pointer { to: a, .. }, CType::Pointer { to: b, .. }) => {
                if same_type(a, b) {
                    0
                } else if b.is_void() {
                    4
                } else if let (CType::Struct(x), CType::Struct(y)) = (&**a, &**b)
                    && base_distance(self, *x, *y).is_some()
                {
                    3
                } else {
                    return None;
                }
            }
            (CType::Array { element: a, .. }, CType::Pointer { to: b, .. }) => {
                if same_type(a, b) {
                    1
                } else if b.is_void() {
                    4
                } else {
                    return None;
                }
            }
            (CType::Array { element: a, .. }, CType::Array { element: b, .. })
                if same_type(a, b) =>
            {
                1
            }
            (a, CType::Pointer { .. }) if a.is_integer() => 8,
            (CType::Opaque(_), CType::Pointer { .. }) => 6,
            (CType::Pointer { .. }, CType::Bool) => 8,
            (a, b) if a.is_arithmetic() && b.is_arithmetic() => {
                if self.promote(a) == *b
                    || matches!(
                        (a, b),
                        (
                            CType::Float(FloatKind::Single),
                            CType::Float(FloatKind::Double)
                        )
                    )
                {
                    1
                } else if a.is_float() == b.is_float() {
                    // Narrowing is worse than widening.
                    let (x, y) = (self.structs.size_of(a), self.structs.size_of(b));
                    if y >= x { 3 } else { 4 }
                } else {
                    5
                }
            }
            (a, b) if a.is_numeric() && b.is_numeric() => {
                if !self.is_hlsl() && a.components() != b.components() {
                    return None;
                }
                let element = self.conversion_rank(a.element(), b.element())?;
                if !self.is_hlsl() && element > 0 {
                    return None;
                }
                let (x, y) = (a.components(), b.components());
                if x == y {
                    element
                } else if x == 1 {
                    element + 6
                } else if x > y {
                    element + 12
                } else {
                    return None;
                }
            }
            (CType::Struct(a), CType::Struct(b)) => match base_distance(self, *a, *b) {
                Some(distance) => 2 + distance,
                None => self.user_conversion(from, to)?,
            },
            (_, CType::Struct(_)) | (CType::Struct(_), _) => self.user_conversion(from, to)?,
            (CType::Lambda(_) | CType::Function(..), CType::Opaque(_)) => 2,
            (CType::Opaque(a), CType::Opaque(b)) => {
                let base = |t: &str| {
                    let last = t.rsplit("::").next().unwrap_or("");
                    last.split('<').next().unwrap_or("").to_owned()
                };
                if base(a) == base(b) || base(b) == "thread_group" {
                    2
                } else {
                    return None;
                }
            }
            (CType::Opaque(_), _) | (_, CType::Opaque(_)) => 10,
            (CType::Resource(_), CType::Resource(_)) => 2,
            _ => return None,
        })
    }

    /// A constructor of one argument, or a conversion operator.
    pub(super) fn user_conversion(&mut self, from: &CType, to: &CType) -> Option<u32> {
        if self.converting > 0 {
            return None;
        }
        self.converting += 1;
        let mut found = None;
        if let CType::Struct(id) = to {
            let class_name = self.sources[id.0 as usize].class_name.clone();
            for constructor in self.methods(*id, &class_name, 15) {
                if let Some(function) = constructor.function.function()
                    && let [only] = function.parameters.as_slice()
                {
                    self.enter_class(*id);
                    let ty = self.resolve_type(&only.ty);
                    self.frames.pop();
                    if ty.value_type() != to && self.conversion_rank(from, &ty).is_some() {
                        found = Some(14);
                    }
                }
            }
        }
        if let CType::Struct(id) = from
            && found.is_none()
            && !self.methods(*id, "operator T", 0).is_empty()
        {
            found = Some(14);
        }
        self.converting -= 1;
        found
    }
}

fn base_distance(cx: &Context<'_>, derived: StructId, base: StructId) -> Option<u32> {
    super::classes::base_offset(&cx.structs, derived, base, 0).map(|_| 1)
}

/// Returns true if a written type mentions a name.
fn mentions(ty: &ast::Type, name: &str) -> bool {
    match &ty.kind {
        TypeKind::Named(found) => found.segments.iter().any(|s| {
            s.ident.name == name
                || s.template_arguments.iter().flatten().any(|a| match a {
                    ast::TemplateArgument::Type(t) | ast::TemplateArgument::Ambiguous(t, _) => {
                        mentions(t, name)
                    }
                    ast::TemplateArgument::Value(e) => {
                        matches!(&e.kind, ExprKind::Name(n) if n.segments.iter().any(|s| s.ident.name == name))
                    }
                    ast::TemplateArgument::Pack(_) => true,
                })
        }),
        TypeKind::Pointer(inner) => mentions(inner, name),
        TypeKind::Reference { target, .. } => mentions(target, name),
        TypeKind::Array { element, .. } => mentions(element, name),
        TypeKind::Decltype(_) => true,
        _ => false,
    }
}

fn array_element_const(ty: &ast::Type) -> bool {
    match &ty.kind {
        TypeKind::Array { element, .. } => element.is_const || array_element_const(element),
        _ => false,
    }
}

/// The template pack that a parameter pack's type is made of.
fn pattern_pack(ty: &ast::Type, names: &FxHashMap<SmolStr, bool>) -> Option<SmolStr> {
    match &ty.kind {
        TypeKind::Named(name) => {
            let only = name.segments.last()?;
            (names.get(&only.ident.name) == Some(&true)).then(|| only.ident.name.clone())
        }
        TypeKind::Reference { target, .. } => pattern_pack(target, names),
        TypeKind::Pointer(inner) => pattern_pack(inner, names),
        _ => None,
    }
}
