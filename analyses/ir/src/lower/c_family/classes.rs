//! Structures and classes: instantiation with layout, members that are no fields, methods by name.

use super::context::{Const, Context, Frame, Local, Scope};
use super::env::{Entry, function_last_name};
use super::types::*;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ItemKey;
use syntax::c_family::ast::{
    self, DeclaratorName, FunctionBody, Initializer, ItemKind, Member, ParsedItem, SpecifierSet,
    StructKind, TemplateArgument, TypeKind,
};

/// Where a structure comes from, by `StructId`.
#[derive(Clone, Debug)]
pub struct StructOrigin {
    pub declared: Arc<ast::Struct>,
    /// `None`: declared inside a function; `declared` has the bodies.
    pub source: Option<StructSource>,
    pub item: ItemKey,
    pub namespace: Vec<SmolStr>,
    pub arguments: Vec<Local>,
    /// Template parameters, and what they stand for, with those of the classes around.
    pub bindings: Vec<(SmolStr, Local)>,
    /// Names around a local structure.
    pub scopes: Option<Rc<Vec<Scope>>>,
    pub class_name: SmolStr,
}

/// A function's declaration, wherever it stands.
#[derive(Clone, Debug)]
pub enum FunctionRef {
    Item(Arc<ParsedItem>),
    Member {
        item: Arc<ParsedItem>,
        path: SmallVec<[u32; 2]>,
        index: u32,
    },
    Local {
        declared: Arc<ast::Struct>,
        index: u32,
    },
}

impl FunctionRef {
    pub fn function(&self) -> Option<&ast::Function> {
        match self {
            FunctionRef::Item(item) => match &item.kind {
                ItemKind::Function(function) => Some(function),
                _ => None,
            },
            FunctionRef::Member { item, path, index } => {
                match struct_of(item, path)?.members.get(*index as usize)? {
                    Member::Method(function) => Some(function),
                    _ => None,
                }
            }
            FunctionRef::Local { declared, index } => {
                match declared.members.get(*index as usize)? {
                    Member::Method(function) => Some(function),
                    _ => None,
                }
            }
        }
    }
}

/// The structure at `path` of an item.
pub fn struct_of<'t>(item: &'t ParsedItem, path: &[u32]) -> Option<&'t ast::Struct> {
    let mut current = match &item.kind {
        ItemKind::Struct(declared) => declared,
        ItemKind::Alias(alias) => match &alias.ty.kind {
            TypeKind::InlineStruct(inner) => inner,
            _ => return None,
        },
        ItemKind::Variables(declaration) => match &declaration.declarators.first()?.ty.kind {
            TypeKind::InlineStruct(inner) => inner,
            _ => return None,
        },
        _ => return None,
    };
    for &step in path {
        current = match current.members.get(step as usize)? {
            Member::Struct(inner) => inner,
            Member::Alias(alias) => match &alias.ty.kind {
                TypeKind::InlineStruct(inner) => inner,
                _ => return None,
            },
            Member::Fields(declaration) => match &declaration.declarators.first()?.ty.kind {
                TypeKind::InlineStruct(inner) => inner,
                _ => return None,
            },
            _ => return None,
        };
    }
    Some(current)
}

/// A function with what surrounds it: what a call needs.
#[derive(Clone, Debug)]
pub struct Callee {
    pub function: FunctionRef,
    pub item: ItemKey,
    pub namespace: Vec<SmolStr>,
    pub class: Option<StructId>,
    pub bindings: Vec<(SmolStr, Local)>,
    pub scopes: Option<Rc<Vec<Scope>>>,
    pub name: SmolStr,
}

impl Context<'_> {
    /// The item with its bodies.
    pub fn fetch(&mut self, key: &ItemKey) -> Option<Arc<ParsedItem>> {
        if let Some(found) = self.fetched.get(key) {
            return found.clone();
        }
        let found = self.bodies.body(key);
        self.fetched.insert(key.clone(), found.clone());
        found
    }

    // -------------------------------------------------------------------------------------------- instantiation

    /// A structure of the unit with template arguments; picks the specialisation.
    pub fn instantiate(&mut self, entries: &[Entry], arguments: &[Local]) -> CType {
        let env = self.env;
        let declared = |entry: &Entry| match &env.item(*entry).kind {
            ItemKind::Struct(declared) => Some(declared),
            _ => None,
        };
        let is_primary = |s: &ast::Struct| {
            s.name
                .as_ref()
                .and_then(|n| n.segments.last())
                .is_none_or(|s| s.template_arguments.is_none())
        };
        let candidates: Vec<(&Entry, &ast::Struct)> = entries
            .iter()
            .filter_map(|e| declared(e).map(|s| (e, s)))
            .collect();
        let primary = candidates
            .iter()
            .find(|(_, s)| s.has_body && is_primary(s))
            .or_else(|| candidates.iter().find(|(_, s)| is_primary(s)))
            .or(candidates.first());
        let Some((entry, chosen)) = primary else {
            return CType::Unknown;
        };
        let item = env.item(**entry);
        // The primary template's defaults complete the arguments, and specialisations are matched against all of them.
        let mut full = arguments.to_vec();
        if let Some(template) = &chosen.template {
            let mut frame = Frame::outside(item.key.clone());
            frame.namespace = item.scope.clone();
            frame.site = self.site();
            self.frames.push(frame);
            self.bind_template(template, arguments);
            for (number, parameter) in template.parameters.iter().enumerate() {
                if number >= full.len()
                    && !parameter.pack
                    && let Some(name) = &parameter.name
                    && let Some(local) = self.lookup_local(&name.name)
                {
                    full.push(local.clone());
                }
            }
            self.frames.pop();
        }
        let mut best: Option<(usize, Entry, Vec<(SmolStr, Local)>)> = None;
        for (entry, special) in &candidates {
            let Some(patterns) = special
                .name
                .as_ref()
                .and_then(|n| n.segments.last())
                .and_then(|s| s.template_arguments.as_ref())
            else {
                continue;
            };
            if !special.has_body {
                continue;
            }
            if let Some(bindings) = self.match_specialisation(special, patterns, &full) {
                let freedom = bindings.len();
                if best.as_ref().is_none_or(|(f, _, _)| freedom < *f) {
                    best = Some((freedom, **entry, bindings));
                }
            }
        }
        match best {
            Some((_, entry, bindings)) => {
                let item = env.item(entry).clone();
                self.instance(&item, SmallVec::new(), full, bindings, Vec::new())
            }
            None => {
                let item = item.clone();
                self.instance(&item, SmallVec::new(), full, Vec::new(), Vec::new())
            }
        }
    }

    fn match_specialisation(
        &mut self,
        special: &ast::Struct,
        patterns: &[TemplateArgument],
        arguments: &[Local],
    ) -> Option<Vec<(SmolStr, Local)>> {
        let mut names = rustc_hash::FxHashMap::default();
        for parameter in special.template.iter().flat_map(|t| &t.parameters) {
            if let Some(name) = &parameter.name {
                names.insert(name.name.clone(), parameter.pack);
            }
        }
        let mut out = rustc_hash::FxHashMap::default();
        let mut given = arguments.iter();
        for pattern in patterns {
            if let TemplateArgument::Pack(_) = pattern {
                let rest: Vec<Local> = given.by_ref().cloned().collect();
                self.deduce_argument(pattern, &Local::Pack(rest), &names, &mut out, 0);
                continue;
            }
            let local = given.next()?;
            if !self.deduce_argument(pattern, local, &names, &mut out, 0) {
                return None;
            }
        }
        if given.next().is_some() {
            return None;
        }
        let mut bindings: Vec<_> = out.into_iter().collect();
        bindings.sort_by(|a, b| a.0.cmp(&b.0));
        Some(bindings)
    }

    /// A structure that an alias or a variable declares in passing.
    pub fn item_struct(&mut self, _declared: &ast::Struct, key: &ItemKey) -> CType {
        match self.env.by_key(key).cloned() {
            Some(item) => self.instance(&item, SmallVec::new(), Vec::new(), Vec::new(), Vec::new()),
            None => CType::Unknown,
        }
    }

    /// The instance of the structure at `path` of an item. `bound`: parameters that are known already (of a
    /// specialisation); otherwise the template's parameters take `arguments`.
    fn instance(
        &mut self,
        item: &Arc<ParsedItem>,
        path: SmallVec<[u32; 2]>,
        arguments: Vec<Local>,
        bound: Vec<(SmolStr, Local)>,
        outer: Vec<(SmolStr, Local)>,
    ) -> CType {
        let Some(declared) = struct_of(item, &path) else {
            return CType::Unknown;
        };
        let source = StructSource {
            item: item.key.clone(),
            path,
        };
        let key = (source.clone(), format!("{arguments:?}{outer:?}"));
        if let Some(known) = self.instances.get(&key) {
            return known.clone();
        }
        if self.instances.len() > 2000 || self.alias_depth > 40 {
            return CType::Unknown;
        }
        let class_name = declared
            .name
            .as_ref()
            .and_then(|n| n.segments.last())
            .map(|s| s.ident.name.clone())
            .or_else(|| match &item.kind {
                ItemKind::Alias(alias) if source.path.is_empty() => Some(alias.name.name.clone()),
                _ => None,
            })
            .unwrap_or_default();
        let declared = Arc::new(declared.clone());
        let id = self.reserve(StructOrigin {
            declared: declared.clone(),
            source: Some(source),
            item: item.key.clone(),
            namespace: item.scope.clone(),
            arguments: arguments.clone(),
            bindings: Vec::new(),
            scopes: None,
            class_name,
        });
        self.instances.insert(key, CType::Struct(id));
        let mut frame = Frame::outside(item.key.clone());
        frame.namespace = item.scope.clone();
        frame.site = self.site();
        self.frames.push(frame);
        for (name, local) in &outer {
            self.declare(name.clone(), local.clone());
        }
        self.push_scope();
        if bound.is_empty() {
            if let Some(template) = &declared.template {
                self.bind_template(template, &arguments);
            }
        } else {
            for (name, local) in bound {
                self.declare(name, local);
            }
        }
        let mut bindings = outer;
        if let Some(scope) = self.frame().scopes.last() {
            let mut own: Vec<_> = scope.iter().map(|(n, l)| (n.clone(), l.clone())).collect();
            own.sort_by(|a, b| a.0.cmp(&b.0));
            bindings.extend(own);
        }
        self.sources[id.0 as usize].bindings = bindings;
        self.lay_out_members(id, &declared);
        self.frames.pop();
        CType::Struct(id)
    }

    fn reserve(&mut self, origin: StructOrigin) -> StructId {
        let id = self.structs.push(StructInfo {
            name: origin.class_name.clone(),
            union: origin.declared.kind == StructKind::Union,
            fields: Vec::new(),
            size: 1,
            align: 1,
            incomplete: true,
        });
        self.sources.push(origin);
        id
    }

    /// A structure declared inside a function.
    pub fn local_struct(&mut self, declared: &ast::Struct) -> CType {
        let scopes = Rc::new(self.visible_scopes());
        let frame = self.frame();
        let (item, namespace) = (frame.item.clone(), frame.namespace.clone());
        let name = declared
            .name
            .as_ref()
            .and_then(|n| n.segments.last())
            .map(|s| s.ident.name.clone());
        let declared = Arc::new(declared.clone());
        let id = self.reserve(StructOrigin {
            declared: declared.clone(),
            source: None,
            item,
            namespace,
            arguments: Vec::new(),
            bindings: Vec::new(),
            scopes: Some(scopes),
            class_name: name.clone().unwrap_or_default(),
        });
        if let Some(name) = name {
            self.declare(name, Local::Type(CType::Struct(id)));
        }
        self.push_scope();
        self.lay_out_members(id, &declared);
        self.pop_scope();
        CType::Struct(id)
    }

    /// All scopes that the current frame sees, the outermost first.
    pub fn visible_scopes(&mut self) -> Vec<Scope> {
        let frame = self.frame();
        let mut all: Vec<Scope> = frame
            .captured
            .as_ref()
            .map(|s| s.as_ref().clone())
            .unwrap_or_default();
        all.extend(frame.scopes.iter().cloned());
        all
    }

    fn lay_out_members(&mut self, id: StructId, declared: &ast::Struct) {
        let class_before = self.frame().class.replace(id);
        self.resolving_struct += 1;
        let mut fields = Vec::new();
        for base in &declared.bases {
            let ty = self.resolve_type(base);
            if let CType::Struct(base) = ty {
                if base != id {
                    fields.push(Field {
                        name: SmolStr::default(),
                        ty: CType::Struct(base),
                        offset: 0,
                        base: true,
                    });
                }
            }
        }
        let mut minimum = 1u64;
        for attribute in &declared.attributes {
            if (attribute.name == "align"
                || attribute.name == "alignas"
                || attribute.name == "aligned")
                && let Some(e) = attribute.arguments.first()
                && let Some(n) = self.constant(e)
            {
                minimum = minimum.max(n.as_int().clamp(1, 4096) as u64);
            }
        }
        let mut index = 0u32;
        for member in &declared.members {
            let number = index;
            index += 1;
            match member {
                Member::Fields(declaration) => {
                    if declaration.specifiers.words.has(SpecifierSet::STATIC) {
                        continue;
                    }
                    let mut inline = None;
                    for declarator in &declaration.declarators {
                        // `struct { ... } a, b;` is one type.
                        let ty = match (&declarator.ty.kind, &inline) {
                            (TypeKind::InlineStruct(_), Some(ty)) => {
                                let ty: &CType = ty;
                                ty.clone()
                            }
                            (TypeKind::InlineStruct(inner), None) => {
                                let ty = self.nested(id, inner, number, &[]);
                                inline = Some(ty.clone());
                                ty
                            }
                            _ => self.resolve_type(&declarator.ty),
                        };
                        let name = match &declarator.name {
                            DeclaratorName::Plain(ident) => ident.name.clone(),
                            DeclaratorName::None if matches!(ty, CType::Struct(_)) => {
                                SmolStr::default()
                            }
                            _ => continue,
                        };
                        fields.push(Field {
                            name,
                            ty,
                            offset: 0,
                            base: false,
                        });
                    }
                    for attribute in &declaration.specifiers.attributes {
                        if attribute.name == "align" || attribute.name == "alignas" {
                            if let Some(e) = attribute.arguments.first()
                                && let Some(n) = self.constant(e)
                            {
                                minimum = minimum.max(n.as_int().clamp(1, 4096) as u64);
                            }
                        }
                    }
                }
                Member::Struct(inner) if inner.name.is_none() => {
                    let ty = self.nested(id, inner, number, &[]);
                    fields.push(Field {
                        name: SmolStr::default(),
                        ty,
                        offset: 0,
                        base: false,
                    });
                }
                _ => {}
            }
        }
        let union = declared.kind == StructKind::Union;
        let (size, align) = self.structs.lay_out(&mut fields, union, minimum);
        let info = &mut self.structs.infos[id.0 as usize];
        info.fields = fields;
        info.size = size;
        info.align = align;
        info.incomplete = !declared.has_body;
        self.resolving_struct -= 1;
        self.frame().class = class_before;
    }

    /// A structure inside a structure.
    fn nested(
        &mut self,
        outer: StructId,
        inner: &ast::Struct,
        index: u32,
        arguments: &[Local],
    ) -> CType {
        let origin = self.sources[outer.0 as usize].clone();
        match origin.source {
            Some(source) => {
                let Some(item) = self.env.by_key(&source.item).cloned() else {
                    return self.local_struct(inner);
                };
                let mut path = source.path.clone();
                path.push(index);
                self.instance(&item, path, arguments.to_vec(), Vec::new(), origin.bindings)
            }
            None => self.local_struct(inner),
        }
    }

    // -------------------------------------------------------------------------------------------- members

    /// A type declared in the class whose method is being lowered, or in a base of it.
    pub fn member_type_of_class(&mut self, name: &str) -> Option<CType> {
        let class = self.frames.last()?.class?;
        self.member_type(class, name, None, 0)
    }

    pub fn member_type(
        &mut self,
        id: StructId,
        name: &str,
        arguments: Option<&[Local]>,
        depth: u32,
    ) -> Option<CType> {
        if depth > 16 {
            return None;
        }
        let origin = self.sources.get(id.0 as usize)?.clone();
        if origin.class_name == name && arguments.is_none() {
            return Some(CType::Struct(id));
        }
        for (index, member) in origin.declared.members.iter().enumerate() {
            let found = match member {
                Member::Alias(alias) if alias.name.name == name => {
                    self.enter_class(id);
                    if let (Some(template), Some(list)) = (&alias.template, arguments) {
                        self.bind_template(template, list);
                    }
                    let ty = match &alias.ty.kind {
                        TypeKind::InlineStruct(inner) => self.nested(id, inner, index as u32, &[]),
                        _ => self.resolve_type(&alias.ty),
                    };
                    self.frames.pop();
                    Some(ty)
                }
                Member::Struct(inner)
                    if inner
                        .name
                        .as_ref()
                        .and_then(|n| n.segments.last())
                        .is_some_and(|s| s.ident.name == name) =>
                {
                    let inner = inner.clone();
                    Some(self.nested(id, &inner, index as u32, arguments.unwrap_or(&[])))
                }
                Member::Enum(inner) if inner.name.as_ref().is_some_and(|n| n.name == name) => {
                    self.enter_class(id);
                    let ty = self.enum_type(inner);
                    self.frames.pop();
                    Some(ty)
                }
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
        if let Some((_, Local::Type(ty))) = origin.bindings.iter().rev().find(|(n, _)| n == name) {
            return Some(ty.clone());
        }
        for base in self.bases(id) {
            if let Some(found) = self.member_type(base, name, arguments, depth + 1) {
                return Some(found);
            }
        }
        None
    }

    pub fn bases(&self, id: StructId) -> SmallVec<[StructId; 2]> {
        self.structs[id]
            .fields
            .iter()
            .filter_map(|f| match (f.base, &f.ty) {
                (true, CType::Struct(base)) => Some(*base),
                _ => None,
            })
            .collect()
    }

    /// A frame in which the names of a class mean what they mean inside of it.
    pub fn enter_class(&mut self, id: StructId) {
        let origin = self.sources[id.0 as usize].clone();
        let mut frame = Frame::outside(origin.item.clone());
        frame.site = self.site();
        frame.namespace = origin.namespace.clone();
        frame.captured = origin.scopes.clone();
        frame.class = Some(id);
        self.frames.push(frame);
        for (name, local) in origin.bindings {
            self.declare(name, local);
        }
        self.push_scope();
    }

    /// An enumerator or a static constant of the class at hand.
    pub fn class_constant(&mut self, name: &str) -> Option<Const> {
        let class = self.frames.last()?.class?;
        self.struct_constant(class, name, 0)
    }

    pub fn struct_constant(&mut self, id: StructId, name: &str, depth: u32) -> Option<Const> {
        if depth > 16 {
            return None;
        }
        let origin = self.sources.get(id.0 as usize)?.clone();
        for member in &origin.declared.members {
            match member {
                Member::Enum(inner) => {
                    if let Some(number) = inner
                        .enumerators
                        .iter()
                        .position(|(ident, _)| ident.name == name)
                    {
                        self.enter_class(id);
                        let found = self.enumerator(inner, number);
                        self.frames.pop();
                        return found;
                    }
                }
                Member::Fields(declaration)
                    if declaration.specifiers.words.has(SpecifierSet::STATIC) =>
                {
                    for declarator in &declaration.declarators {
                        if let DeclaratorName::Plain(ident) = &declarator.name
                            && ident.name == name
                            && !matches!(declarator.initializer, Initializer::None)
                        {
                            self.enter_class(id);
                            let found = self.constant_declarator(declarator);
                            self.frames.pop();
                            return found;
                        }
                    }
                }
                _ => {}
            }
        }
        for base in self.bases(id) {
            if let Some(found) = self.struct_constant(base, name, depth + 1) {
                return Some(found);
            }
        }
        None
    }

    /// A member constant that depends on template parameters which are not known: its expression, computed here.
    pub fn struct_symbol(
        &mut self,
        id: StructId,
        name: &str,
        depth: u32,
    ) -> Option<super::value::RValue> {
        if depth > 16 || self.depth > 180 {
            return None;
        }
        self.depth += 1;
        let found = self.struct_symbol_at(id, name, depth);
        self.depth -= 1;
        found
    }

    fn struct_symbol_at(
        &mut self,
        id: StructId,
        name: &str,
        depth: u32,
    ) -> Option<super::value::RValue> {
        let origin = self.sources.get(id.0 as usize)?.clone();
        for member in &origin.declared.members {
            match member {
                Member::Enum(inner) => {
                    if let Some(number) = inner
                        .enumerators
                        .iter()
                        .position(|(ident, _)| ident.name == name)
                    {
                        self.enter_class(id);
                        let found = self.enumerator_value(inner, number);
                        self.frames.pop();
                        return found;
                    }
                }
                Member::Fields(declaration)
                    if declaration.specifiers.words.has(SpecifierSet::STATIC) =>
                {
                    for declarator in &declaration.declarators {
                        if let DeclaratorName::Plain(ident) = &declarator.name
                            && ident.name == name
                            && super::constant::is_constant(&declaration.specifiers, &declarator.ty)
                            && let Initializer::Copy(e) = &declarator.initializer
                        {
                            self.enter_class(id);
                            let ty = self.resolve_type(&declarator.ty);
                            let found = self.initialise_value(&ty, e);
                            self.frames.pop();
                            return Some(found);
                        }
                    }
                }
                _ => {}
            }
        }
        for base in self.bases(id) {
            if let Some(found) = self.struct_symbol(base, name, depth + 1) {
                return Some(found);
            }
        }
        None
    }

    /// `S<...>::name` that is computed from unknown template parameters.
    pub fn class_symbol(&mut self, name: &ast::Name) -> Option<super::value::RValue> {
        let (last, outer) = name.segments.split_last()?;
        let outer = ast::Name {
            global: name.global,
            segments: outer.to_vec(),
            span: name.span,
        };
        match self.named_type(&outer)? {
            CType::Struct(id) => self.struct_symbol(id, &last.ident.name, 0),
            _ => None,
        }
    }

    /// The declarator of a static member without a constant value.
    pub fn static_member(&mut self, id: StructId, name: &str) -> Option<CType> {
        let origin = self.sources.get(id.0 as usize)?.clone();
        for member in &origin.declared.members {
            if let Member::Fields(declaration) = member
                && declaration.specifiers.words.has(SpecifierSet::STATIC)
            {
                for declarator in &declaration.declarators {
                    if let DeclaratorName::Plain(ident) = &declarator.name
                        && ident.name == name
                    {
                        self.enter_class(id);
                        let ty = self.resolve_type(&declarator.ty);
                        self.frames.pop();
                        return Some(ty);
                    }
                }
            }
        }
        None
    }

    // -------------------------------------------------------------------------------------------- methods

    /// Methods of this name; those of a base when the class has none.
    pub fn methods(&mut self, id: StructId, name: &str, depth: u32) -> Vec<Callee> {
        let mut found = Vec::new();
        if depth > 16 {
            return found;
        }
        let Some(origin) = self.sources.get(id.0 as usize).cloned() else {
            return found;
        };
        for (index, member) in origin.declared.members.iter().enumerate() {
            let Member::Method(function) = member else {
                continue;
            };
            if function_last_name(&function.name) != name {
                continue;
            }
            let (function_ref, item) = match &origin.source {
                Some(source) => {
                    let Some(item) = self.env.by_key(&source.item).cloned() else {
                        continue;
                    };
                    (
                        FunctionRef::Member {
                            item,
                            path: source.path.clone(),
                            index: index as u32,
                        },
                        source.item.clone(),
                    )
                }
                None => (
                    FunctionRef::Local {
                        declared: origin.declared.clone(),
                        index: index as u32,
                    },
                    origin.item.clone(),
                ),
            };
            found.push(Callee {
                function: function_ref,
                item,
                namespace: origin.namespace.clone(),
                class: Some(id),
                bindings: origin.bindings.clone(),
                scopes: origin.scopes.clone(),
                name: SmolStr::new(name),
            });
        }
        if found.is_empty() {
            for base in self.bases(id) {
                found.extend(self.methods(base, name, depth + 1));
            }
        }
        found
    }

    /// The function with its body: of a method that is only declared in its class, the definition outside.
    pub fn with_body(&mut self, callee: &Callee) -> Option<Callee> {
        let mut found = callee.clone();
        found.function = match &callee.function {
            FunctionRef::Item(item) => FunctionRef::Item(self.fetch(&item.key)?),
            FunctionRef::Member { item, path, index } => FunctionRef::Member {
                item: self.fetch(&item.key)?,
                path: path.clone(),
                index: *index,
            },
            local => local.clone(),
        };
        let function = found.function.function()?;
        match function.body {
            FunctionBody::Block(_) => return Some(found),
            FunctionBody::None => {}
            _ => return None,
        }
        let class = self.sources.get(callee.class?.0 as usize)?.clone();
        let count = function.parameters.len();
        let spelled: Vec<String> = function.parameters.iter().map(|p| shape(&p.ty)).collect();
        let is_const = function.is_const;
        let mut best: Option<(usize, Arc<ParsedItem>)> = None;
        for entry in self.env.out_of_class(&class.class_name, &callee.name) {
            let key = self.env.item(entry).key.clone();
            let Some(item) = self.fetch(&key) else {
                continue;
            };
            let ItemKind::Function(definition) = &item.kind else {
                continue;
            };
            if definition.parameters.len() != count
                || !matches!(definition.body, FunctionBody::Block(_))
            {
                continue;
            }
            let mut score = definition
                .parameters
                .iter()
                .zip(&spelled)
                .filter(|(p, s)| shape(&p.ty) == **s)
                .count()
                * 2;
            score += usize::from(definition.is_const == is_const);
            if best.as_ref().is_none_or(|(s, _)| score > *s) {
                best = Some((score, item));
            }
        }
        let (_, item) = best?;
        found.item = item.key.clone();
        if let ItemKind::Function(definition) = &item.kind {
            // The definition may name the class's parameters differently.
            if let Some(segments) = qualifier_segments(&definition.name)
                && let Some(arguments) = segments.last().and_then(|s| s.template_arguments.as_ref())
            {
                for (argument, local) in arguments.iter().zip(&class.arguments) {
                    let name = match argument {
                        TemplateArgument::Type(ty) | TemplateArgument::Ambiguous(ty, _) => {
                            match &ty.kind {
                                TypeKind::Named(name) => name.segments.last(),
                                _ => None,
                            }
                        }
                        _ => None,
                    };
                    if let Some(segment) = name {
                        found
                            .bindings
                            .push((segment.ident.name.clone(), local.clone()));
                    }
                }
            }
        }
        found.function = FunctionRef::Item(item);
        Some(found)
    }
}

fn qualifier_segments(name: &ast::FunctionName) -> Option<&[ast::NameSegment]> {
    match name {
        ast::FunctionName::Plain(name)
        | ast::FunctionName::Constructor(name)
        | ast::FunctionName::Destructor(name) => {
            let count = name.segments.len().checked_sub(1)?;
            Some(&name.segments[..count])
        }
        ast::FunctionName::Operator {
            qualifier: Some(name),
            ..
        }
        | ast::FunctionName::Conversion {
            qualifier: Some(name),
            ..
        } => Some(&name.segments),
        _ => None,
    }
}

/// The spelling of a type without positions, to tell overloads apart.
fn shape(ty: &ast::Type) -> String {
    match &ty.kind {
        TypeKind::Builtin(word) => word.to_string(),
        TypeKind::Named(name) => name
            .segments
            .last()
            .map(|s| s.ident.name.to_string())
            .unwrap_or_default(),
        TypeKind::Pointer(to) => format!("{}*", shape(to)),
        TypeKind::Reference { target, .. } => format!("{}&", shape(target)),
        TypeKind::Array { element, .. } => format!("{}*", shape(element)),
        _ => String::new(),
    }
}

/// Scalars and bytes before the base-class subobject `base` of `derived`.
pub fn base_offset(
    structs: &StructTable,
    derived: StructId,
    base: StructId,
    depth: u32,
) -> Option<(usize, u64)> {
    if depth > 32 {
        return None;
    }
    let mut parts = 0usize;
    for field in &structs[derived].fields {
        if field.base
            && let CType::Struct(id) = field.ty
        {
            if id == base {
                return Some((parts, field.offset));
            }
            if let Some((inner, offset)) = base_offset(structs, id, base, depth + 1) {
                return Some((parts + inner, field.offset + offset));
            }
        }
        parts += structs.parts(&field.ty).map_or(0, |p| p.len());
    }
    None
}
