//! Local declarations: variables, references, shared memory, structured bindings.

use super::call::Operand;
use super::constant;
use super::context::*;
use super::expr::initializer_length;
use super::types::*;
use super::value::*;
use crate::function::*;
use crate::types::Space;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{
    self, Declaration, DeclaratorName, ExprKind, Initializer, SpecifierSet,
};

impl Context<'_> {
    pub fn declaration(&mut self, declaration: &Declaration) {
        let mut inline = None;
        for declarator in &declaration.declarators {
            let written = match (&declarator.ty.kind, &inline) {
                (ast::TypeKind::InlineStruct(_), Some(ty)) => {
                    let ty: &CType = ty;
                    ty.clone()
                }
                _ => {
                    let ty = self.resolve_type(&declarator.ty);
                    if matches!(declarator.ty.kind, ast::TypeKind::InlineStruct(_)) {
                        inline = Some(ty.clone());
                    }
                    ty
                }
            };
            match &declarator.name {
                DeclaratorName::Plain(ident) => {
                    self.declarator(declaration, declarator, ident, written);
                }
                DeclaratorName::Binding(names) => self.structured(declarator, names, written),
                DeclaratorName::None => self.unnamed_union(declarator.span, &written),
                _ => {}
            }
        }
        if declaration.declarators.is_empty() {
            // `struct S { ... };` inside a declaration statement has nothing to run.
        }
    }

    /// `union { ... };`: its members are names of the block.
    fn unnamed_union(&mut self, span: Span, ty: &CType) {
        let CType::Struct(id) = *ty else {
            return;
        };
        // Members lie over each other.
        let size = self.structs.size_of(ty);
        let size = size.unwrap_or(u64::from(crate::inst::UNKNOWN_SIZE));
        let address = self.private_memory(size, self.structs.align_of(ty));
        let whole = self.memory_place(ty.clone(), address, false, false, false);
        self.own(&whole, span);
        let mut open = vec![id];
        let mut names: Vec<SmolStr> = Vec::new();
        while let Some(inner) = open.pop() {
            for field in &self.structs[inner].fields {
                match &field.ty {
                    CType::Struct(inner) if field.name.is_empty() => open.push(*inner),
                    _ => names.push(field.name.clone()),
                }
            }
        }
        for name in names {
            let Some(mut member) = self.field(&whole, id, &name, span) else {
                continue;
            };
            let ident = ast::Ident {
                name: name.clone(),
                span,
            };
            let at = self.at(span);
            let variable = self.new_variable(&ident, &member.ty.clone(), VariableKind::Local);
            member.name = Some(NamedPart {
                variable,
                part: SmolStr::default(),
                at,
            });
            self.declare(name, Local::Variable(member));
        }
    }

    pub(super) fn declarator(
        &mut self,
        declaration: &Declaration,
        declarator: &ast::Declarator,
        ident: &ast::Ident,
        written: CType,
    ) {
        let words = declaration.specifiers.words;
        self.precise |= words.has(SpecifierSet::PRECISE);
        let span = ident.span;
        let is_const = match self.is_c() {
            true => super::c_initializers::object_is_const(&declarator.ty),
            false => constant::is_constant(&declaration.specifiers, &declarator.ty),
        };
        if let CType::Reference { to, .. } = &written {
            let to = (**to).clone();
            let operand = match &declarator.initializer {
                Initializer::Copy(e) => self.bound(e),
                Initializer::Paren(list) | Initializer::Brace(list) if list.len() == 1 => {
                    self.bound(&list[0])
                }
                _ => Operand::Value(self.undefined(&to)),
            };
            return self.bind_reference(ident, to, operand);
        }
        if let Some(place) = named_as_it_is(declarator) {
            let operand = self.bound(place);
            return self.bind_reference(ident, CType::Unknown, operand);
        }
        let asked = match self.is_c() {
            true => self
                .alignment(&declarator.attributes)
                .max(self.alignment(&declaration.specifiers.attributes)),
            false => 0,
        };
        if asked > self.structs.align_of(&written) {
            let message = format!("a variable that is aligned to {asked} bytes");
            self.refused(message, span);
        }
        let mut ty = match self.is_c() {
            true => self.c_sized(written, &declarator.initializer),
            false => written,
        };
        if let CType::Array {
            element,
            size: ArraySize::Unknown,
        } = &ty
            && let Some(count) = initializer_length(&declarator.initializer)
        {
            ty = CType::array((**element).clone(), ArraySize::Fixed(count));
        }
        // A copy in a slot is seen by its own lane alone; what others can write is read anew.
        let volatile = words.has(SpecifierSet::VOLATILE) || element_is_volatile(&declarator.ty);
        if words.has(SpecifierSet::SHARED) {
            return self.memory_variable(ident, &ty, Space::Shared, volatile, None);
        }
        if self.is_c() && words.has(SpecifierSet::STATIC) {
            let of_threads = words.has(SpecifierSet::THREAD_LOCAL);
            return self.c_static(declarator, ident, &ty, volatile, is_const, of_threads);
        }
        if words.has(SpecifierSet::STATIC) && !is_const {
            let space = if self.is_hlsl() {
                Space::Local
            } else {
                Space::Global
            };
            return self.memory_variable(ident, &ty, space, volatile, Some(declarator));
        }
        if words.has(SpecifierSet::EXTERN) {
            // What the unit declares outside of functions is the same object.
            let name = ast::Name {
                global: false,
                segments: vec![ast::NameSegment {
                    ident: ident.clone(),
                    template_arguments: None,
                }],
                span,
            };
            if let Some(Operand::Place(place)) = self.global_name(&name) {
                return self.declare(ident.name.clone(), Local::Variable(place));
            }
            return self.memory_variable(ident, &ty, Space::Global, volatile, None);
        }
        if is_const && let Some(number) = self.constant_of(declarator, &ty) {
            let value = self.number(&number);
            let value = if ty.is_unknown() {
                value
            } else {
                self.convert(value, &ty, span)
            };
            let variable = self.new_variable(ident, &value.ty.clone(), VariableKind::Local);
            let at = self.at(span);
            self.builder
                .bind(variable, BindingKind::Declaration, &value.parts, "", at);
            let mut place = LValue::value(value);
            place.name = Some(NamedPart {
                variable,
                part: SmolStr::default(),
                at,
            });
            self.declare(ident.name.clone(), Local::Variable(place));
            return;
        }
        if ty.is_unknown() {
            // `auto`
            let value = match &declarator.initializer {
                Initializer::Copy(e) => self.rvalue(e),
                Initializer::Paren(list) | Initializer::Brace(list) if list.len() == 1 => {
                    self.rvalue(&list[0])
                }
                _ => {
                    let ty = CType::INT;
                    self.unknown("type of a variable", &[], &ty, span)
                }
            };
            let value = self.decay(value);
            let ty = value.ty.clone();
            return self.declare_variable(ident, &ty, Some(value), false);
        }
        // In C a name is in scope in its own initialiser: `p = malloc(sizeof *p)`.
        if self.is_c()
            && let Initializer::Copy(e) = &declarator.initializer
            && mentions(e, &ident.name)
        {
            let value = self.undefined(&ty);
            let mut place = LValue::value(value);
            place.ty = ty.clone();
            self.declare(ident.name.clone(), Local::Variable(place));
        }
        // Simple values are computed before the variable exists, so that its pointers take the value's space.
        let simple = !matches!(ty, CType::Struct(_) | CType::Array { .. });
        match &declarator.initializer {
            Initializer::Copy(e) if simple => {
                let value = self.initialise_value(&ty, e);
                self.declare_variable(ident, &ty, Some(value), is_const);
            }
            Initializer::Paren(list) | Initializer::Brace(list) if simple => {
                let made = self.construct(ty.clone(), list, false, span);
                let value = self.take(made, span);
                self.declare_variable(ident, &ty, Some(value), is_const);
            }
            Initializer::Copy(e)
                if matches!(ty, CType::Struct(_)) && !matches!(e.kind, ExprKind::List(_)) =>
            {
                let value = self.initialise_value(&ty, e);
                self.declare_variable(ident, &ty, Some(value), is_const);
                if let Some(Local::Variable(place)) = self.lookup_local(&ident.name).cloned() {
                    self.own(&place, span);
                }
            }
            Initializer::None if simple => {
                let made = self
                    .undeclared(&ty)
                    .map(|name| self.of_undeclared(&name, &[], &ty, span));
                self.declare_variable(ident, &ty, made, is_const);
            }
            initializer => {
                let key = self.key(span);
                let variable = self.new_variable(ident, &ty, VariableKind::Local);
                let place = self.new_place(&ty, &key, None);
                let at = self.at(span);
                let mut place = LValue {
                    ty: ty.clone(),
                    place,
                    name: None,
                    is_const: false,
                };
                let mut shown = Parts::new();
                // Indexing below may ask for memory: the name must be known while it is filled.
                let name = NamedPart {
                    variable,
                    part: SmolStr::default(),
                    at,
                };
                place.name = Some(name);
                let mut silent = place.clone();
                silent.name = None;
                let has_work = match (&ty, initializer) {
                    (CType::Struct(id), Initializer::None) => {
                        let id = *id;
                        self.has_default_work(id)
                    }
                    (_, Initializer::None) => false,
                    _ => true,
                };
                if has_work {
                    let target = if matches!(place.place, Place::Slots(_)) {
                        &place
                    } else {
                        &silent
                    };
                    let target = target.clone();
                    self.initialise_place(&target, initializer, span);
                    if let Place::Slots(_) = &place.place {
                        shown = self.known_parts(&place);
                    }
                }
                self.here(span);
                self.builder
                    .bind(variable, BindingKind::Declaration, &shown, "", at);
                self.own(&place, span);
                self.declare(ident.name.clone(), Local::Variable(place));
            }
        }
    }

    pub(super) fn constant_of(
        &mut self,
        declarator: &ast::Declarator,
        ty: &CType,
    ) -> Option<Const> {
        let function = ty.is_pointer() || matches!(ty, CType::Opaque(_));
        if !(ty.is_arithmetic() || ty.is_unknown() || matches!(ty, CType::Enum { .. }) || function)
        {
            return None;
        }
        let found = self.constant_declarator(declarator)?;
        (!function || matches!(found.ty, CType::Function(..))).then_some(found)
    }

    /// A variable with a value: slots, or memory when an earlier attempt found that it needs it.
    pub fn declare_variable(
        &mut self,
        ident: &ast::Ident,
        ty: &CType,
        value: Option<RValue>,
        is_const: bool,
    ) {
        let key = self.key(ident.span);
        let variable = self.new_variable(ident, ty, VariableKind::Local);
        let at = self.at(ident.span);
        let name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at,
        });
        // Lambdas and functions are known by their type; a pointer to a variable stays a name for it.
        if let Some(value) = &value
            && value.parts.is_empty()
            && !value.ty.is_void()
            && !self.demotions.storage.contains(&key)
            && !self.demotions.memory.contains(&key)
            && (matches!(value.ty, CType::Lambda(_) | CType::Function(..))
                || value.target.is_some())
        {
            let mut place = LValue::value(value.clone());
            place.ty = if value.ty.is_pointer() {
                ty.clone()
            } else {
                value.ty.clone()
            };
            place.name = name;
            place.is_const = false;
            self.builder
                .bind(variable, BindingKind::Declaration, &[], "", at);
            self.declare(ident.name.clone(), Local::Variable(place));
            return;
        }
        let value = value.map(|value| {
            if value.ty.is_pointer() {
                self.with_address(value, ident.span)
            } else {
                value
            }
        });
        // Another function may be assigned to it.
        let value = match value {
            Some(value) if matches!(value.ty, CType::Function(..)) => {
                Some(self.held_code(value, ident.span))
            }
            other => other,
        };
        let ty = match (&value, ty) {
            (Some(value), CType::Function(..)) => &value.ty.clone(),
            _ => ty,
        };
        self.here(ident.span);
        let initial = value.as_ref().map(|v| v.parts.clone());
        let place = self.new_place(ty, &key, initial.as_deref());
        let mut place = LValue {
            ty: ty.clone(),
            place,
            name: None,
            is_const: false,
        };
        let mut shown = Parts::new();
        if let Some(value) = value {
            shown = self.store_silently(&place, value, ident.span).parts;
        } else if let Place::Slots(slots) = &place.place {
            // A new execution of the declaration does not see the value of the one before.
            for slot in slots.clone() {
                let ty = self.builder.slot_type(slot);
                let undefined = self.builder.undef(ty);
                self.builder.write(slot, undefined);
            }
        }
        self.here(ident.span);
        self.builder
            .bind(variable, BindingKind::Declaration, &shown, "", at);
        place.name = name;
        place.is_const = is_const && !matches!(ty, CType::Struct(_));
        self.declare(ident.name.clone(), Local::Variable(place));
    }

    /// `T& name = operand`.
    pub fn bind_reference(&mut self, ident: &ast::Ident, to: CType, operand: Operand) {
        let place = match operand {
            Operand::Place(place) => place,
            Operand::Value(value) => {
                let value = if to.is_unknown() {
                    value
                } else {
                    self.convert(value, &to, ident.span)
                };
                let ty = value.ty.clone();
                return self.declare_variable(ident, &ty, Some(value), false);
            }
        };
        let variable = self.new_variable(ident, &place.ty.clone(), VariableKind::Local);
        if let Some(name) = &place.name
            && let Some(key) = self.variable_keys.get(&name.variable).cloned()
        {
            self.variable_keys.insert(variable, key);
        }
        let shown = match &place.place {
            Place::Slots(_) | Place::Value(_) => self.known_parts(&place),
            _ => Parts::new(),
        };
        let at = self.at(ident.span);
        self.builder
            .bind(variable, BindingKind::Declaration, &shown, "", at);
        let mut place = place;
        if !to.is_unknown()
            && let (CType::Struct(a), CType::Struct(b)) = (&place.ty, &to)
            && let Some(base) = self.base_place(&place, *a, *b)
        {
            place = base;
        }
        place.name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at,
        });
        self.declare(ident.name.clone(), Local::Variable(place));
    }

    /// A variable with memory of its own: `__shared__`, `static`.
    pub(super) fn memory_variable(
        &mut self,
        ident: &ast::Ident,
        ty: &CType,
        space: Space,
        volatile: bool,
        initial: Option<&ast::Declarator>,
    ) {
        let variable = self.new_variable(ident, ty, VariableKind::Global);
        let at = self.at(ident.span);
        // Two variables of one name in different functions are two; in copies of one inlined function they are one.
        let key = smol_str::format_smolstr!("{:?}", self.key(ident.span));
        let mut place = match (self.globals.get(&key), initial) {
            (Some(known), _) if known.ty == *ty => known.clone(),
            (_, initial) => {
                let place = match initial.filter(|_| space == Space::Local) {
                    // One a lane, initialised once.
                    Some(declarator) => self.private_global(&key, &ident.name, ty, declarator),
                    None => self.symbol_place(&ident.name, ty, space, false, ident.span),
                };
                self.globals.insert(key, place.clone());
                place
            }
        };
        place.make_volatile(volatile);
        self.here(ident.span);
        self.builder
            .bind(variable, BindingKind::Declaration, &[], "", at);
        place.name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at,
        });
        self.declare(ident.name.clone(), Local::Variable(place));
    }

    /// A `static` variable of a function of C: its initial value is there before the program runs.
    fn c_static(
        &mut self,
        declarator: &ast::Declarator,
        ident: &ast::Ident,
        ty: &CType,
        volatile: bool,
        is_const: bool,
        of_threads: bool,
    ) {
        if is_const
            && !volatile
            && ty.is_arithmetic()
            && let Some(number) = self.constant_of(declarator, ty)
        {
            let value = self.number(&number);
            let value = self.convert(value, ty, ident.span);
            return self.declare_variable(ident, ty, Some(value), true);
        }
        let key = smol_str::format_smolstr!("{:?}", self.key(ident.span));
        if !self.globals.contains_key(&key) {
            let space = match is_const {
                true => Space::Constant,
                false => Space::Global,
            };
            // Functions have variables of one name each for itself.
            let label = self.frames.last().map(|frame| frame.label.clone());
            let mut name =
                smol_str::format_smolstr!("{}.{}", label.unwrap_or_default(), ident.name);
            // Blocks of one function, too, have their own.
            let symbols = &self.builder.function.symbols;
            if symbols.values().any(|known| known.name == name) {
                name = smol_str::format_smolstr!("{name}.{}", ident.span.start);
            }
            let place = self.symbol_place(&name, ty, space, is_const, ident.span);
            let symbol = self.newest_symbol();
            self.globals.insert(key, place);
            self.set_linkage(symbol, Linkage::Local);
            if let Some(symbol) = symbol {
                let definition = &mut self.builder.function.symbols[symbol].definition;
                definition.thread_local = of_threads;
            }
            let contents = self.static_contents(&name, ty, &declarator.initializer);
            self.set_contents(symbol, contents);
        }
        self.memory_variable(ident, ty, Space::Global, volatile, None);
    }

    /// `auto [a, b] = e;`
    pub(super) fn structured(
        &mut self,
        declarator: &ast::Declarator,
        names: &[ast::Ident],
        written: CType,
    ) {
        let e = match &declarator.initializer {
            Initializer::Copy(e) => e,
            Initializer::Paren(list) | Initializer::Brace(list) if list.len() == 1 => &list[0],
            _ => return,
        };
        let by_reference = matches!(written, CType::Reference { .. });
        let whole = match self.expr(e) {
            Operand::Place(place) if by_reference => place,
            other => {
                let value = self.take(other, e.span);
                let place = self.temporary(&value.ty.clone(), e.span);
                self.store_silently(&place, value, e.span);
                place
            }
        };
        for (index, ident) in names.iter().enumerate() {
            let part = match &whole.ty {
                CType::Struct(id) => {
                    let id = *id;
                    let name = self.structs[id].fields.get(index).map(|f| f.name.clone());
                    name.and_then(|name| self.field(&whole, id, &name, ident.span))
                }
                _ => self.constant_element(&whole, index as u64),
            };
            match part {
                Some(part) => {
                    let ty = part.ty.clone();
                    self.bind_reference(ident, ty, Operand::Place(part));
                }
                None => {
                    let value = self.unknown("structured binding", &[], &CType::INT, ident.span);
                    self.declare_variable(ident, &CType::INT, Some(value), false);
                }
            }
        }
    }
}

/// Returns true if the object of a declarator is `volatile`, through the dimensions of an array.
pub(super) fn element_is_volatile(ty: &ast::Type) -> bool {
    let mut current = ty;
    for _ in 0..16 {
        match &current.kind {
            _ if current.is_volatile => return true,
            ast::TypeKind::Array { element, .. } => current = element,
            _ => return false,
        }
    }
    false
}

/// Returns true if a name stands in an expression.
fn mentions(e: &ast::Expr, name: &SmolStr) -> bool {
    let mut found = false;
    super::visit::expr(e, &mut |inner| {
        if let ExprKind::Name(written) = &inner.kind
            && let [only] = written.segments.as_slice()
        {
            found |= only.ident.name == *name;
        }
    });
    found
}

/// Returns the place that `decltype(auto) r = (x)` refers to, if it is a place: anything but a plain name or
/// member, whose declared type counts.
///
/// Source: C++17, [dcl.type.auto.deduct] and [dcl.type.decltype].
fn named_as_it_is(declarator: &ast::Declarator) -> Option<&ast::Expr> {
    let ast::TypeKind::Decltype(of) = &declarator.ty.kind else {
        return None;
    };
    match &declarator.initializer {
        Initializer::Copy(e) if matches!(of.kind, ast::ExprKind::Unknown) => {
            let plain = matches!(
                e.kind,
                ast::ExprKind::Name(_) | ast::ExprKind::Member { .. }
            );
            (!plain).then_some(e)
        }
        _ => None,
    }
}
