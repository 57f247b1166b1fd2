//! Members of classes that are no fields: types, constants, static members, methods.

use super::aliases::AliasKey;
use super::classes::{Callee, FunctionRef};
use super::classes::{qualifier_segments, shape};
use super::context::{Const, Context, Frame, Local};
use super::env::function_last_name;
use super::types::*;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::rc::Rc;
use std::sync::Arc;
use syntax::c_family::ast::{
    self, DeclaratorName, FunctionBody, Initializer, ItemKind, Member, ParsedItem, SpecifierSet,
    TemplateArgument, TypeKind,
};

/// Members that are computed from one another at a time.
const OPEN_SYMBOLS: usize = 12;
/// Members whose values are computed for one item: instances of templates that name each other are new classes each time.
const SYMBOLS: u32 = 4000;

impl Context<'_> {
    /// A type declared in the class whose method is being lowered, or in a base of it.
    pub fn member_type_of_class(
        &mut self,
        name: &str,
        arguments: Option<&[Local]>,
    ) -> Option<CType> {
        let class = self.frames.last()?.class?;
        self.member_type(class, name, arguments, 0)
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
                    let arguments = arguments.filter(|_| alias.template.is_some());
                    let key = match self.unbound.contains(&id) {
                        true => None,
                        false => AliasKey::of_class(id, index, arguments),
                    };
                    if let Some(known) = self.known_alias(key.as_ref()) {
                        return Some(known);
                    }
                    let before = self.before_alias();
                    self.enter_class(id);
                    if let (Some(template), Some(list)) = (&alias.template, arguments) {
                        self.bind_template(template, list);
                    }
                    let ty = match &alias.ty.kind {
                        TypeKind::InlineStruct(inner) => self.nested(id, inner, index as u32, &[]),
                        _ => self.resolve_type(&alias.ty),
                    };
                    self.frames.pop();
                    self.keep_alias(key, &ty, before);
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

    /// A frame in which the names of a class have their meanings inside of it.
    pub fn enter_class(&mut self, id: StructId) {
        let origin = self.sources[id.0 as usize].clone();
        let mut frame = Frame::outside(origin.item.clone());
        frame.site = self.site();
        frame.namespace = origin.namespace.clone();
        frame.captured = origin.scopes.clone();
        frame.class = Some(id);
        self.frames.push(frame);
        for (name, local) in origin.bindings.iter() {
            self.declare(name.clone(), local.clone());
        }
        self.push_scope();
    }

    /// An enumerator or a static constant of the class at hand.
    pub fn class_constant(&mut self, name: &str) -> Option<Const> {
        let class = self.frames.last()?.class?;
        self.struct_constant(class, name, 0)
    }

    pub fn struct_constant(&mut self, id: StructId, name: &str, depth: u32) -> Option<Const> {
        let key = (id, SmolStr::new(name));
        if let Some(known) = self.struct_constants.get(&key) {
            return known.clone();
        }
        let found = self.find_struct_constant(id, name, depth);
        // A local structure may be asked before the names around it mean something. Deep down, where limits speak,
        // the answer is kept as it is: asking again would double the work at every level.
        if found.is_some() || self.alias_depth > 8 || self.frames.len() > 24 {
            self.struct_constants.insert(key, found.clone());
        }
        found
    }

    fn find_struct_constant(&mut self, id: StructId, name: &str, depth: u32) -> Option<Const> {
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
        // A member that is computed from itself has no value; one that is computed from a long chain of others, each
        // used twice, is not worth its time.
        let open = self
            .open_symbols
            .iter()
            .any(|(of, it)| *of == id && it == name);
        if depth > 16
            || self.depth > 180
            || open
            || self.open_symbols.len() > OPEN_SYMBOLS
            || self.symbols_computed > SYMBOLS
        {
            return None;
        }
        self.depth += 1;
        self.symbols_computed += 1;
        self.open_symbols.push((id, name.into()));
        let found = self.struct_symbol_at(id, name, depth);
        self.open_symbols.pop();
        self.depth -= 1;
        found
    }

    pub(super) fn struct_symbol_at(
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
        match self.type_at(outer)? {
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
                        Rc::make_mut(&mut found.bindings)
                            .push((segment.ident.name.clone(), local.clone()));
                    }
                }
            }
        }
        found.function = FunctionRef::Item(item);
        Some(found)
    }
}
