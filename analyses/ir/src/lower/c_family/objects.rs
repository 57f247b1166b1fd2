//! Making values and objects: `T(a, b)`, `T{a, b}`, initialiser lists, constructors, default member initialisers.

use super::call::{Arg, Operand};
use super::classes::Callee;
use super::context::*;
use super::dispatch::may_bind;
use super::types::*;
use super::unseen::Unseen;
use super::value::*;
use crate::types::{Space, Type};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{
    self, DeclaratorName, Expr, ExprKind, FunctionBody, Initializer, Member,
};

/// Elements of an array that are initialised one by one.
const MAX_ELEMENTS: u64 = 1024;

impl Context<'_> {
    pub fn construct(&mut self, ty: CType, arguments: &[Expr], brace: bool, span: Span) -> Operand {
        let ty = ty.value_type().clone();
        if brace && matches!(ty, CType::Struct(_) | CType::Array { .. }) {
            let list = Expr {
                kind: ExprKind::List(arguments.iter().map(|a| (None, a.clone())).collect()),
                span,
            };
            return Operand::Value(self.initialise_value(&ty, &list));
        }
        if let [
            Expr {
                kind: ExprKind::List(_),
                ..
            },
        ] = arguments
        {
            return Operand::Value(self.initialise_value(&ty, &arguments[0]));
        }
        let list = self.arguments_of_object(&ty, arguments);
        self.construct_arguments(ty, &list, span)
    }

    pub fn construct_from(
        &mut self,
        ty: CType,
        operands: Vec<(Operand, Span)>,
        span: Span,
    ) -> Operand {
        let list: Vec<Arg<'_>> = operands
            .into_iter()
            .map(|(operand, span)| Arg {
                operand,
                span,
                list: None,
            })
            .collect();
        self.construct_arguments(ty, &list, span)
    }

    fn construct_arguments(&mut self, ty: CType, list: &[Arg<'_>], span: Span) -> Operand {
        let wanted = ty.is_numeric().then(|| ty.components());
        let several = ty.is_array() || matches!(ty, CType::Struct(_)) || wanted > Some(1);
        if several && !self.is_dim3(&ty) && self.guessed_shape(list, wanted) {
            return Operand::Value(self.unknown_object(&ty, list, span));
        }
        if self.is_hlsl()
            && let (CType::Struct(_) | CType::Array { .. }, [only]) = (&ty, list)
            && only.list.is_none()
        {
            // A cast: all scalars of the operand, or one for all.
            let value = self.take(only.operand.clone(), only.span);
            return Operand::Value(self.convert(value, &ty, span));
        }
        match &ty {
            CType::Struct(id) => {
                let id = *id;
                if let [only] = list
                    && *only.operand.ty().value_type() == ty
                    && only.list.is_none()
                {
                    let value = self.copy_of(only.operand.clone(), only.span);
                    return Operand::Value(value);
                }
                let place = self.temporary(&ty, span);
                if self.construct_at(&place, id, list, span) {
                    return Operand::Value(self.load_silently(&place, span));
                }
                if let [only] = list
                    && let CType::Struct(from) = *only.operand.ty().value_type()
                    && let Some(value) = self.conversion_operator(&only.operand, from, &ty, span)
                {
                    return Operand::Value(value);
                }
                // An aggregate in parentheses: member by member. A number alone is none: its type was taken for another.
                let fields = self.structs[id].fields.clone();
                if let [only] = list
                    && fields.len() > 1
                    && only.operand.ty().value_type().is_numeric()
                {
                    return Operand::Value(self.unknown_object(&ty, list, span));
                }
                for (field, argument) in fields.iter().zip(list) {
                    let value = self.take(argument.operand.clone(), argument.span);
                    if let Some(target) = self.field(&place, id, &field.name, span) {
                        self.store_silently(&target, value, span);
                    }
                }
                Operand::Value(self.load_silently(&place, span))
            }
            ty if ty.is_numeric() => {
                let mut parts = Parts::new();
                let element = ty.element().clone();
                if let [only] = list {
                    if let CType::Struct(id) = *only.operand.ty().value_type()
                        && let Some(value) = self.conversion_operator(&only.operand, id, ty, span)
                    {
                        return Operand::Value(value);
                    }
                    let value = self.take(only.operand.clone(), only.span);
                    if value.ty.is_numeric() && !self.is_dim3(ty) {
                        return Operand::Value(self.convert(value, ty, span));
                    }
                    if !value.ty.is_numeric() {
                        return Operand::Value(self.convert(value, ty, span));
                    }
                    let value = self.convert(value, &element, span);
                    parts.extend(value.parts);
                } else {
                    for argument in list {
                        let value = self.take(argument.operand.clone(), argument.span);
                        let shape = value.ty.with_element(element.clone());
                        let value = self.convert(value, &shape, argument.span);
                        parts.extend(value.parts);
                    }
                }
                let fill = i64::from(self.is_dim3(ty) && !list.is_empty());
                while parts.len() < ty.components() {
                    let scalar = element.scalar_ir().unwrap_or(Type::I32);
                    let value = if scalar.is_float() {
                        self.builder.float(scalar, fill as f64)
                    } else {
                        self.builder.int(scalar, fill)
                    };
                    parts.push(value);
                }
                parts.truncate(ty.components());
                self.here(span);
                self.builder.vector(&parts);
                Operand::Value(RValue::new(ty.clone(), parts))
            }
            _ => match list {
                _ if self.undeclared(&ty).is_some() => self.made_unseen(&ty, list, span),
                [] => Operand::Value(self.zero(&ty)),
                [only] => {
                    let operand = only.operand.clone();
                    self.cast_operand(operand, &ty, span)
                }
                _ => {
                    let mut parts = Parts::new();
                    for argument in list {
                        let value = self.take(argument.operand.clone(), argument.span);
                        let value = self.with_address(value, argument.span);
                        parts.extend(value.parts);
                    }
                    if let CType::Opaque(_) = ty {
                        return Operand::Value(self.opaque_object(&ty, &parts));
                    }
                    Operand::Value(self.unknown("construction", &parts, &ty, span))
                }
            },
        }
    }

    fn is_dim3(&self, ty: &CType) -> bool {
        !self.is_hlsl() && matches!(ty, CType::Vector { element, n: 3 } if **element == CType::UINT)
    }

    /// An object of a type that is not declared: its constructor may be any. A single lambda or function stays one.
    fn made_unseen(&mut self, ty: &CType, list: &[Arg<'_>], span: Span) -> Operand {
        let callable = |ty: &CType| matches!(ty, CType::Lambda(_) | CType::Function(..));
        if let [only] = list
            && (only.operand.ty().value_type() == ty || callable(only.operand.ty().value_type()))
        {
            return self.cast_operand(only.operand.clone(), ty, span);
        }
        let name = self.undeclared(ty).unwrap_or_default();
        if list.is_empty() {
            return Operand::Value(self.of_undeclared(&name, &[], ty, span));
        }
        let made = self.unseen_call(&name, Unseen::Name, None, list, None, span);
        let made = self.take(made, span);
        Operand::Value(self.guess_as(&made, ty, span))
    }

    /// An object of a library type, made of these values.
    pub fn opaque_object(&mut self, ty: &CType, parts: &[crate::entity::Value]) -> RValue {
        let name = match ty {
            CType::Opaque(name) => name.clone(),
            _ => SmolStr::new_static("object"),
        };
        let op = crate::inst::Op::CallUnknown {
            name,
            pure: true,
            convention: Default::default(),
        };
        let value = self.builder.value(op, parts, Type::Opaque);
        RValue::scalar(ty.clone(), value)
    }

    /// A place without a name.
    pub fn temporary(&mut self, ty: &CType, span: Span) -> LValue {
        let key = self.key(span);
        let place = self.new_place(ty, &key, None);
        let place = LValue {
            ty: ty.clone(),
            place,
            name: None,
            is_const: false,
        };
        if let Place::Slots(slots) = &place.place {
            for &slot in slots.clone().iter() {
                let ty = self.builder.slot_type(slot);
                let undefined = self.builder.undef(ty);
                self.builder.write(slot, undefined);
            }
        }
        place
    }

    /// The value that an object is initialised with; the class of an object defines its copy.
    pub(super) fn copy_of(&mut self, operand: Operand, span: Span) -> RValue {
        if let Operand::Place(place) = &operand
            && let CType::Struct(id) = *place.ty.value_type()
            && self.copies_itself(id)
        {
            let ty = CType::Struct(id);
            let copy = self.temporary(&ty, span);
            let argument = Arg {
                operand: operand.clone(),
                span,
                list: None,
            };
            if self.construct_at(&copy, id, &[argument], span) {
                return self.load_silently(&copy, span);
            }
        }
        self.take(operand, span)
    }

    /// The class has a copy constructor with a body in sight.
    fn copies_itself(&mut self, id: StructId) -> bool {
        if self.is_hlsl() {
            return false;
        }
        if let Some(&known) = self.copying.get(&id) {
            return known;
        }
        let class_name = self.sources[id.0 as usize].class_name.clone();
        let is_own = |ty: &ast::Type| match &ty.kind {
            ast::TypeKind::Reference { target, .. } => match &target.kind {
                ast::TypeKind::Named(name) => {
                    let last = name.segments.last();
                    last.is_some_and(|segment| segment.ident.name == class_name)
                }
                _ => false,
            },
            _ => false,
        };
        let own = self.constructors(id).iter().any(|callee| {
            callee.function.function().is_some_and(|function| {
                function.template.is_none()
                    && function.parameters.first().is_some_and(|p| is_own(&p.ty))
                    && function.parameters[1..].iter().all(|p| p.default.is_some())
            })
        });
        self.copying.insert(id, own);
        own
    }

    fn constructors(&mut self, id: StructId) -> Vec<Callee> {
        let class_name = self.sources[id.0 as usize].class_name.clone();
        let mut found = self.methods(id, &class_name, 15);
        found.retain(|c| {
            c.class == Some(id)
                && c.function.function().is_some_and(|f| {
                    matches!(f.name, ast::FunctionName::Constructor(_))
                        && !matches!(f.body, FunctionBody::Deleted | FunctionBody::Defaulted)
                })
        });
        found
    }

    /// Arguments of a constructor, or of the members of an aggregate.
    fn arguments_of_object<'e>(&mut self, ty: &CType, list: &'e [Expr]) -> Vec<Arg<'e>> {
        let CType::Struct(id) = *ty else {
            return self.arguments(list);
        };
        let constructors = self.constructors(id);
        let fields = self.structs[id].fields.clone();
        let is_reference = |at: usize| {
            let field = fields.get(at);
            field.is_some_and(|field| matches!(field.ty, CType::Reference { .. }))
        };
        self.arguments_of(list, |at| may_bind(&constructors, at) || is_reference(at))
    }

    /// A member that is a reference holds an address.
    fn point_reference(&mut self, target: &LValue, to: CType, e: &Expr, span: Span) {
        let place = self.written_place(e);
        let ty = CType::pointer(to, Space::Generic);
        let pointer = RValue::pointer_to(ty.clone(), place);
        let mut target = target.clone();
        target.ty = ty;
        self.store_silently(&target, pointer, span);
    }

    /// Runs a constructor on the object at `place`. `false`: the class has none that fits.
    pub fn construct_at(
        &mut self,
        place: &LValue,
        id: StructId,
        arguments: &[Arg<'_>],
        span: Span,
    ) -> bool {
        let constructors = self.constructors(id);
        if constructors.is_empty() {
            if arguments.is_empty() {
                self.default_members(place, id, &[], 0);
                return true;
            }
            return false;
        }
        self.call_overloaded(constructors, &[], Some(place), arguments, span, u32::MAX)
            .is_some()
    }

    /// Returns true if an object of this class needs work when it is declared without an initialiser.
    pub fn has_default_work(&mut self, id: StructId) -> bool {
        let origin = self.sources[id.0 as usize].clone();
        origin.declared.members.iter().any(|member| match member {
            Member::Fields(declaration) => declaration
                .declarators
                .iter()
                .any(|d| !matches!(d.initializer, Initializer::None)),
            Member::Method(function) => {
                matches!(function.name, ast::FunctionName::Constructor(_))
                    && function
                        .parameters
                        .iter()
                        .all(|p| p.default.is_some() || p.pack)
            }
            _ => false,
        }) || self.structs[id].fields.clone().iter().any(
            |f| matches!(f.ty, CType::Struct(inner) if inner != id && self.has_default_work(inner)),
        )
    }

    /// Default member initialisers, and default constructors of members, except of members in `except`.
    fn default_members(&mut self, place: &LValue, id: StructId, except: &[SmolStr], depth: u32) {
        if depth > 8 {
            return;
        }
        let origin = self.sources[id.0 as usize].clone();
        let fields = self.structs[id].fields.clone();
        for field in &fields {
            if let CType::Struct(inner) = field.ty
                && self.has_default_work(inner)
                && !except.contains(&field.name)
                && !field.base
                && let Some(target) = self.field(place, id, &field.name, Span::default())
            {
                self.construct_at(&target, inner, &[], Span::default());
            }
        }
        for member in &origin.declared.members {
            let Member::Fields(declaration) = member else {
                continue;
            };
            if declaration.specifiers.words.has(ast::SpecifierSet::STATIC) {
                continue;
            }
            for declarator in &declaration.declarators {
                let DeclaratorName::Plain(ident) = &declarator.name else {
                    continue;
                };
                if matches!(declarator.initializer, Initializer::None)
                    || except.contains(&ident.name)
                {
                    continue;
                }
                let Some(target) = self.field(place, id, &ident.name, ident.span) else {
                    continue;
                };
                self.enter_class(id);
                if let Some(top) = self.frames.last_mut() {
                    top.this = Some(place.clone());
                }
                self.initialise_place(&target, &declarator.initializer, ident.span);
                self.frames.pop();
            }
        }
    }

    /// Members before a constructor's body runs: its own list, then defaults.
    pub fn initialise_members(&mut self, object: &LValue, function: &ast::Function) {
        let CType::Struct(id) = object.ty else {
            return;
        };
        let mut done: Vec<SmolStr> = Vec::new();
        for initializer in &function.initializers {
            if let Some(last) = initializer.name.segments.last() {
                done.push(last.ident.name.clone());
            }
        }
        self.default_members(object, id, &done, 0);
        for base in self.bases(id) {
            let name = self.sources[base.0 as usize].class_name.clone();
            if !done.contains(&name)
                && self.has_default_work(base)
                && let Some(place) = self.base_place(object, id, base)
            {
                self.construct_at(&place, base, &[], function.signature_span);
            }
        }
        for initializer in &function.initializers {
            let Some(last) = initializer.name.segments.last() else {
                continue;
            };
            let name = last.ident.name.clone();
            let span = initializer.span;
            if let Some(target) = self.field(object, id, &name, span) {
                if let CType::Reference { to, .. } = &target.ty {
                    let to = (**to).clone();
                    if let Some(e) = initializer.arguments.first() {
                        self.point_reference(&target, to, e, span);
                    }
                    continue;
                }
                let list = Initializer::Paren(initializer.arguments.clone());
                self.initialise_place(&target, &list, span);
                continue;
            }
            // A base class, or a constructor of the same class.
            match self.named_type(&initializer.name) {
                Some(CType::Struct(base)) => {
                    if let Some(place) = self.base_place(object, id, base) {
                        let list = Initializer::Paren(initializer.arguments.clone());
                        self.initialise_place(&place, &list, span);
                    }
                }
                _ => {
                    let list = self.arguments_of(&initializer.arguments, |_| true);
                    self.unseen_call(&name, Unseen::Name, None, &list, None, span);
                }
            }
        }
    }

    // -------------------------------------------------------------------------------------------- lists

    /// The value of a list (or expression) as a `ty`.
    pub fn initialise_value(&mut self, ty: &CType, e: &Expr) -> RValue {
        let ExprKind::List(items) = &e.kind else {
            if ty.is_unknown() {
                return self.rvalue(e);
            }
            let operand = self.expr(e);
            if self.operand_is_guess(&operand) {
                let value = self.take(operand, e.span);
                let value = self.convert(value, ty, e.span);
                self.made_of_guess = true;
                return value;
            }
            if let (CType::Struct(id), false) = (ty.value_type(), operand.ty() == ty) {
                let id = *id;
                let from = operand.ty().value_type().clone();
                let derived = matches!(&from, CType::Struct(d) if super::classes::base_offset(&self.structs, *d, id, 0).is_some());
                if !derived {
                    let made = self.construct_from(ty.clone(), vec![(operand, e.span)], e.span);
                    return self.take(made, e.span);
                }
                if let (Operand::Place(place), CType::Struct(d)) = (&operand, &from)
                    && let Some(base) = self.base_place(place, *d, id)
                {
                    return self.load(&base, e.span);
                }
                let value = self.take(operand, e.span);
                return self.convert(value, ty, e.span);
            }
            if let CType::Struct(id) = *operand.ty().value_type()
                && !matches!(ty.value_type(), CType::Struct(_))
                && let Some(value) = self.conversion_operator(&operand, id, ty, e.span)
            {
                return value;
            }
            let value = self.copy_of(operand, e.span);
            let value = if ty.is_pointer() {
                self.decay(value)
            } else {
                value
            };
            return self.convert(value, ty, e.span);
        };
        match ty.value_type() {
            CType::Unknown => {
                // Of an unknown type: as many values as there are.
                let mut parts = Parts::new();
                for (_, item) in items {
                    let value = self.rvalue(item);
                    let value = self.with_address(value, item.span);
                    parts.extend(value.parts);
                }
                if parts.len() == 1 {
                    return self.rvalue(&items[0].1);
                }
                self.unknown(
                    "initialiser list of an unknown type",
                    &parts,
                    &CType::INT,
                    e.span,
                )
            }
            ty if ty.is_numeric() && ty.components() == 1 => match items.as_slice() {
                [] => self.zero(ty),
                [(_, only), ..] => {
                    let ty = ty.clone();
                    self.initialise_value(&ty, only)
                }
            },
            ty => {
                let ty = ty.clone();
                let place = self.temporary(&ty, e.span);
                match self.is_c() {
                    true => self.c_initialise(&place, e),
                    false => self.fill(&place, items, e.span),
                }
                self.load_silently(&place, e.span)
            }
        }
    }

    /// Initialises a place as a declaration does.
    pub fn initialise_place(&mut self, place: &LValue, initializer: &Initializer, span: Span) {
        match initializer {
            Initializer::None => {
                if let CType::Struct(id) = place.ty
                    && self.has_default_work(id)
                {
                    self.construct_at(place, id, &[], span);
                }
            }
            Initializer::Copy(e)
                if self.is_c()
                    && (matches!(e.kind, ExprKind::List(_))
                        || matches!(e.kind, ExprKind::String(_)) && place.ty.is_array()) =>
            {
                self.c_initialise(place, e);
            }
            Initializer::Copy(e) => match &e.kind {
                ExprKind::List(items) => self.fill(place, items, e.span),
                _ => {
                    if let CType::Reference { to, .. } = &place.ty {
                        let to = (**to).clone();
                        return self.point_reference(place, to, e, span);
                    }
                    let value = self.initialise_value(&place.ty.clone(), e);
                    self.store_silently(place, value, span);
                }
            },
            Initializer::Brace(items) => {
                let items: Vec<_> = items.iter().map(|e| (None, e.clone())).collect();
                self.fill(place, &items, span);
            }
            Initializer::Paren(items) => match &place.ty {
                CType::Struct(id) => {
                    let id = *id;
                    let list = self.arguments_of_object(&CType::Struct(id), items);
                    if let [only] = list.as_slice()
                        && *only.operand.ty().value_type() == place.ty
                        && only.list.is_none()
                    {
                        let value = self.copy_of(only.operand.clone(), only.span);
                        self.store_silently(place, value, span);
                        return;
                    }
                    if self.guessed_shape(&list, None) || !self.construct_at(place, id, &list, span)
                    {
                        let ty = place.ty.clone();
                        let made = self.construct_arguments(ty, &list, span);
                        let value = self.take(made, span);
                        self.store_silently(place, value, span);
                    }
                }
                ty => {
                    let ty = ty.clone();
                    let made = self.construct(ty, items, false, span);
                    let value = self.take(made, span);
                    self.store_silently(place, value, span);
                }
            },
        }
    }

    /// `{a, b, ...}` into a place; parts that are not named are zero.
    fn fill(&mut self, place: &LValue, items: &[(Option<ast::Ident>, Expr)], span: Span) {
        if let [(None, only)] = items
            && let ExprKind::List(inner) = &only.kind
            && !matches!(place.ty, CType::Array { .. } | CType::Struct(_))
        {
            return self.fill(place, inner, span);
        }
        match &place.ty {
            CType::Struct(id) => {
                let id = *id;
                let class_name = self.sources[id.0 as usize].class_name.clone();
                let has_constructor = self.methods(id, &class_name, 15).iter().any(|c| {
                    c.function
                        .function()
                        .is_some_and(|f| matches!(f.name, ast::FunctionName::Constructor(_)))
                });
                if has_constructor && items.iter().all(|(designator, _)| designator.is_none()) {
                    let exprs: Vec<Expr> = items.iter().map(|(_, e)| e.clone()).collect();
                    let list = self.arguments_of_object(&place.ty, &exprs);
                    if let [only] = list.as_slice()
                        && *only.operand.ty().value_type() == place.ty
                        && only.list.is_none()
                    {
                        let value = self.copy_of(only.operand.clone(), only.span);
                        self.store_silently(place, value, span);
                        return;
                    }
                    if self.guessed_shape(&list, None) {
                        let ty = place.ty.clone();
                        let value = self.unknown_object(&ty, &list, span);
                        self.store_silently(place, value, span);
                        return;
                    }
                    if self.construct_at(place, id, &list, span) {
                        return;
                    }
                }
                self.zero_place(place, span);
                let fields = self.structs[id].fields.clone();
                let mut next = 0usize;
                let mut guessed = false;
                let mut named: Vec<SmolStr> = Vec::new();
                for (designator, e) in items {
                    if let Some(ident) = designator {
                        next = fields
                            .iter()
                            .position(|f| f.name == ident.name)
                            .unwrap_or(next);
                    }
                    let Some(field) = fields.get(next) else { break };
                    next += 1;
                    named.push(field.name.clone());
                    let target = if field.base {
                        match field.ty {
                            CType::Struct(base) => self.base_place(place, id, base),
                            _ => None,
                        }
                    } else {
                        self.field(place, id, &field.name, e.span)
                    };
                    if let Some(target) = target {
                        self.made_of_guess = false;
                        self.initialise_place(&target, &Initializer::Copy(e.clone()), e.span);
                        guessed |= self.made_of_guess && !matches!(e.kind, ExprKind::List(_));
                    }
                }
                // `{f()}` copies an object if that is what `f` returns; in HLSL any vector goes on to the next members.
                let whole = items.len() == 1 || self.is_hlsl() && items.len() < fields.len();
                if guessed && whole && items.iter().all(|(d, _)| d.is_none()) && fields.len() > 1 {
                    let ty = place.ty.clone();
                    let value = self.guess_as(&RValue::void(), &ty, span);
                    self.store_silently(place, value, span);
                    return;
                }
                let has_defaults = self.has_default_work(id);
                if has_defaults && !has_constructor {
                    self.default_members(place, id, &named, 0);
                }
            }
            CType::Array { element, size } => {
                let count = match size {
                    ArraySize::Fixed(n) => *n,
                    _ => items.len() as u64,
                };
                let element = (**element).clone();
                if (items.len() as u64) < count {
                    self.zero_place(place, span);
                }
                // HLSL and C allow the braces of rows to be left out.
                let flat = (element.is_array() || self.is_hlsl())
                    && !items.is_empty()
                    && items
                        .iter()
                        .all(|(_, e)| !matches!(e.kind, ExprKind::List(_)));
                if flat && (element.is_array() || items.len() as u64 != count) {
                    let mut parts = Parts::new();
                    for (_, e) in items {
                        let value = self.rvalue(e);
                        parts.extend(value.parts);
                    }
                    let types = self.structs.parts(&place.ty).unwrap_or_default();
                    let mut all: Parts = parts
                        .iter()
                        .zip(&types)
                        .map(|(&v, &t)| self.adapt(v, t))
                        .collect();
                    while all.len() < types.len() {
                        let zero = self.builder.constant(types[all.len()], 0);
                        all.push(zero);
                    }
                    let value = RValue::new(place.ty.clone(), all);
                    self.store_silently(place, value, span);
                    return;
                }
                for (index, (_, e)) in items.iter().enumerate().take(MAX_ELEMENTS as usize) {
                    let target = match self.constant_element(place, index as u64) {
                        Some(target) => target,
                        None if matches!(size, ArraySize::Fixed(n) if index as u64 >= *n) => {
                            self.rvalue(e);
                            continue;
                        }
                        None => {
                            // Elements whose size is not known: computed.
                            let number = self.builder.int(Type::I32, index as i64);
                            let number = RValue::scalar(CType::INT, number);
                            self.element(place, &number, e.span)
                        }
                    };
                    self.initialise_place(&target, &Initializer::Copy(e.clone()), e.span);
                }
                if items.len() as u64 > MAX_ELEMENTS {
                    self.lose_contents(place);
                }
            }
            _ => {
                let ty = place.ty.clone();
                let exprs: Vec<Expr> = items.iter().map(|(_, e)| e.clone()).collect();
                let made = if exprs.len() == 1 && !ty.is_numeric() {
                    let value = self.initialise_value(&ty, &exprs[0]);
                    Operand::Value(value)
                } else {
                    self.construct(ty, &exprs, false, span)
                };
                let value = self.take(made, span);
                self.store_silently(place, value, span);
            }
        }
    }

    pub(super) fn zero_place(&mut self, place: &LValue, span: Span) {
        let value = self.zero(&place.ty.clone());
        if !value.parts.is_empty() {
            self.store_silently(place, value, span);
            return;
        }
        if let CType::Array {
            size: ArraySize::Fixed(n),
            ..
        } = place.ty
        {
            for index in 0..n.min(MAX_ELEMENTS) {
                if let Some(element) = self.constant_element(place, index) {
                    self.zero_place(&element, span);
                }
            }
        }
    }
}
