//! The environment of a unit's items: every declaration without its function bodies.
//!
//! An edit inside a function's body leaves the environment equal to itself, so nothing else is lowered again.
//! Names are found by their last part; the qualifiers before it must match the end of the declaration's
//! scope, and among the matches those of the nearest scope come first. That accepts a little more than C++
//! does (a missing using-directive, for instance), never less.

use super::launches::Instantiation;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::c_family::ast::*;
use syntax::preprocess::Include;
use syntax::{ItemKey, Span};

/// One name of the unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Index into `Environment::items`.
    pub item: u32,
    pub what: EntryKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    Function,
    Struct,
    Enum,
    /// Number of the enumerator.
    Enumerator(u32),
    Alias,
    /// Number of the declarator: `typedef T a, *b;`.
    AliasAmong(u32),
    /// Number of the declarator.
    Variable(u32),
    /// A member of a constant buffer: declaration and declarator.
    BufferMember(u32, u32),
    CBuffer,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Environment {
    pub items: Vec<Arc<ParsedItem>>,
    pub instantiations: Vec<Instantiation>,
    /// Headers that were not found and whose functions are no builtins, as written, sorted: their
    /// declarations are out of sight.
    pub missing_headers: Vec<SmolStr>,
    /// One of them declares basic operations.
    pub basic_operations_missing: bool,
    /// A function of the unit reads `Overflow`, which basic operations write.
    pub reads_overflow: bool,
    /// The entries by name, each with the number of its scope in `scopes`.
    names: FxHashMap<SmolStr, Vec<(Entry, u32)>>,
    /// Scopes of declarations, inline and anonymous namespaces left out, each once.
    scopes: Vec<Vec<SmolStr>>,
    namespace_aliases: Vec<(SmolStr, Vec<SmolStr>)>,
    by_key: FxHashMap<ItemKey, u32>,
    /// C's tags of structures inside structures: the item, and the path of members to it.
    nested_tags: FxHashMap<SmolStr, (u32, SmallVec<[u32; 2]>)>,
    /// Enumerators of enumerations inside structures of C.
    nested_enumerators: FxHashMap<SmolStr, (Arc<Enum>, u32)>,
}

/// The contribution of one item to the environment. Equal to itself after an edit inside a body.
#[derive(Clone, PartialEq, Debug)]
pub struct ItemDeclaration {
    /// The item without the insides of function bodies.
    pub item: Arc<ParsedItem>,
    pub instantiations: Vec<Instantiation>,
    /// Its body reads `Overflow`.
    pub reads_overflow: bool,
}

impl ItemDeclaration {
    pub fn of(item: &ParsedItem) -> Self {
        let mut instantiations = Vec::new();
        super::launches::of_item(item, &mut instantiations);
        ItemDeclaration {
            item: Arc::new(strip(item)),
            instantiations,
            reads_overflow: super::flags::reads_overflow(item),
        }
    }
}

impl Environment {
    pub fn new(items: &[Arc<ParsedItem>]) -> Self {
        let declarations: Vec<ItemDeclaration> =
            items.iter().map(|item| ItemDeclaration::of(item)).collect();
        Environment::of_declarations(&declarations)
    }

    pub fn of_declarations<'a>(
        declarations: impl IntoIterator<Item = &'a ItemDeclaration>,
    ) -> Self {
        let mut environment = Environment::default();
        let mut numbers = FxHashMap::default();
        for declaration in declarations {
            environment.add(declaration, &mut numbers);
        }
        environment
    }

    /// Notes which of a unit's includes were not found.
    pub fn find_missing_headers(&mut self, includes: &[Include]) {
        self.set_missing_headers(missing_headers(includes));
    }

    /// Takes the headers that were not found, as `missing_headers` gives them.
    pub fn set_missing_headers(&mut self, missing: Vec<SmolStr>) {
        let mut all = missing.iter();
        self.basic_operations_missing = all.any(|spec| super::builtins::basic::is_header(spec));
        self.missing_headers = missing;
    }

    fn add(&mut self, declaration: &ItemDeclaration, numbers: &mut FxHashMap<Vec<SmolStr>, u32>) {
        let index = self.items.len() as u32;
        self.reads_overflow |= declaration.reads_overflow;
        for found in &declaration.instantiations {
            if !self.instantiations.contains(found) {
                self.instantiations.push(found.clone());
            }
        }
        let stripped = &declaration.item;
        let mut enter = |name: &SmolStr, what: EntryKind| {
            if !name.is_empty() {
                let entry = Entry { item: index, what };
                let mut scope = scope_of(stripped, what);
                scope.retain(|part| !part.is_empty());
                let scope = scope.into_vec();
                let number = match numbers.get(&scope) {
                    Some(&number) => number,
                    None => {
                        let number = self.scopes.len() as u32;
                        self.scopes.push(scope.clone());
                        numbers.insert(scope, number);
                        number
                    }
                };
                let list = self.names.entry(name.clone()).or_default();
                list.push((entry, number));
            }
        };
        match &stripped.kind {
            ItemKind::Function(function) => {
                enter(&function_last_name(&function.name), EntryKind::Function);
            }
            ItemKind::Struct(declared) => {
                if let Some(last) = declared.name.as_ref().and_then(|n| n.segments.last()) {
                    enter(&last.ident.name, EntryKind::Struct);
                }
            }
            ItemKind::Enum(declared) => enter_enum(declared, &mut enter),
            ItemKind::Alias(alias) => {
                enter(&alias.name.name, EntryKind::Alias);
                match &alias.ty.kind {
                    TypeKind::InlineEnum(inner) => enter_enum(inner, &mut enter),
                    TypeKind::InlineStruct(inner) => {
                        if let Some(last) = inner.name.as_ref().and_then(|n| n.segments.last()) {
                            enter(&last.ident.name, EntryKind::Struct);
                        }
                    }
                    _ => {}
                }
            }
            ItemKind::Variables(declaration) => {
                let typedef = declaration.specifiers.words.has(SpecifierSet::TYPEDEF);
                for (number, declarator) in declaration.declarators.iter().enumerate() {
                    match &declarator.name {
                        DeclaratorName::Plain(ident) if typedef => {
                            enter(&ident.name, EntryKind::AliasAmong(number as u32));
                        }
                        DeclaratorName::Plain(ident) => {
                            enter(&ident.name, EntryKind::Variable(number as u32));
                        }
                        DeclaratorName::Qualified(name) => {
                            if let Some(last) = name.segments.last() {
                                enter(&last.ident.name, EntryKind::Variable(number as u32));
                            }
                        }
                        _ => {}
                    }
                    match defined_in(&declarator.ty) {
                        TypeKind::InlineStruct(inner) if number == 0 => {
                            if let Some(last) = inner.name.as_ref().and_then(|n| n.segments.last())
                            {
                                enter(&last.ident.name, EntryKind::Struct);
                            }
                        }
                        TypeKind::InlineEnum(inner) if number == 0 => {
                            enter_enum(inner, &mut enter);
                        }
                        _ => {}
                    }
                }
            }
            ItemKind::CBuffer(buffer) => {
                enter(&buffer.name.name, EntryKind::CBuffer);
                for (d, declaration) in buffer.members.iter().enumerate() {
                    for (n, declarator) in declaration.declarators.iter().enumerate() {
                        if let DeclaratorName::Plain(ident) = &declarator.name {
                            enter(&ident.name, EntryKind::BufferMember(d as u32, n as u32));
                        }
                    }
                }
            }
            ItemKind::NamespaceAlias { name, target } => {
                self.namespace_aliases
                    .push((name.name.clone(), target.clone()));
            }
            _ => {}
        }
        let declared = match &stripped.kind {
            ItemKind::Struct(declared) => Some(declared),
            ItemKind::Alias(Alias { ty, .. }) => inline_struct(ty),
            ItemKind::Variables(declaration) => declaration
                .declarators
                .first()
                .and_then(|declarator| inline_struct(&declarator.ty)),
            _ => None,
        };
        if let Some(declared) = declared {
            self.enter_nested(index, declared, &mut SmallVec::new());
        }
        self.by_key.insert(stripped.key.clone(), index);
        self.items.push(Arc::clone(stripped));
    }

    fn enter_nested(&mut self, item: u32, declared: &Struct, path: &mut SmallVec<[u32; 2]>) {
        if path.len() > 16 {
            return;
        }
        for (number, member) in declared.members.iter().enumerate() {
            let ty = match member {
                Member::Struct(inner) => {
                    self.enter_tag(item, inner, number, path);
                    continue;
                }
                Member::Fields(fields) => match fields.declarators.first() {
                    Some(first) => defined_in(&first.ty),
                    None => continue,
                },
                Member::Enum(inner) => {
                    self.enter_enumerators(inner);
                    continue;
                }
                _ => continue,
            };
            match ty {
                TypeKind::InlineStruct(inner) => self.enter_tag(item, inner, number, path),
                TypeKind::InlineEnum(inner) => self.enter_enumerators(inner),
                _ => {}
            }
        }
    }

    fn enter_tag(
        &mut self,
        item: u32,
        inner: &Struct,
        number: usize,
        path: &mut SmallVec<[u32; 2]>,
    ) {
        path.push(number as u32);
        let tag = inner.name.as_ref().and_then(|name| name.segments.last());
        if let Some(tag) = tag
            && tag.ident.name.contains(' ')
        {
            self.nested_tags
                .insert(tag.ident.name.clone(), (item, path.clone()));
        }
        self.enter_nested(item, inner, path);
        path.pop();
    }

    fn enter_enumerators(&mut self, inner: &Enum) {
        let shared = Arc::new(inner.clone());
        for (number, (ident, _)) in inner.enumerators.iter().enumerate() {
            let known = (Arc::clone(&shared), number as u32);
            self.nested_enumerators.insert(ident.name.clone(), known);
        }
    }

    /// Returns where C's `struct s` is that is declared inside another structure.
    pub fn nested_tag(&self, tag: &SmolStr) -> Option<(&Arc<ParsedItem>, &SmallVec<[u32; 2]>)> {
        let (item, path) = self.nested_tags.get(tag)?;
        Some((self.items.get(*item as usize)?, path))
    }

    /// The enumeration inside a structure that an enumerator belongs to, and its number there.
    pub fn nested_enumerator(&self, name: &SmolStr) -> Option<(Arc<Enum>, u32)> {
        self.nested_enumerators.get(name).cloned()
    }

    pub fn by_key(&self, key: &ItemKey) -> Option<&Arc<ParsedItem>> {
        let index = *self.by_key.get(key)?;
        self.items.get(index as usize)
    }
    pub fn item(&self, entry: Entry) -> &Arc<ParsedItem> {
        &self.items[entry.item as usize]
    }

    /// Everything that `path` can mean, seen from `namespace`; the nearest scope first.
    pub fn lookup(&self, namespace: &[SmolStr], path: &[SmolStr]) -> SmallVec<[Entry; 4]> {
        let Some((last, written)) = path.split_last() else {
            return SmallVec::new();
        };
        let Some(entries) = self.names.get(last) else {
            return SmallVec::new();
        };
        let expanded;
        let mut qualifiers = written;
        if let Some((first, rest)) = written.split_first()
            && let Some((_, target)) = self.namespace_aliases.iter().find(|(n, _)| n == first)
        {
            expanded = target.iter().chain(rest).cloned().collect::<Vec<_>>();
            qualifiers = &expanded;
        }
        let mut found: SmallVec<[(usize, u32, Entry); 4]> = SmallVec::new();
        for (order, &(entry, scope)) in entries.iter().enumerate() {
            let named = &self.scopes[scope as usize];
            // Inline and skipped namespaces are allowed between the written parts.
            let mut want = qualifiers.iter().rev().peekable();
            for part in named.iter().rev() {
                if want.peek() == Some(&part) {
                    want.next();
                }
            }
            if want.peek().is_some() {
                continue;
            }
            let near = named
                .iter()
                .zip(namespace.iter().filter(|s| !s.is_empty()))
                .take_while(|(a, b)| a == b)
                .count();
            let distance = 2 * (named.len() - near) + usize::from(near < namespace.len());
            found.push((distance, order as u32, entry));
        }
        found.sort_by_key(|&(distance, order, _)| (distance, order));
        found.into_iter().map(|(_, _, entry)| entry).collect()
    }

    /// Functions defined outside of their class: `S::f` for `class = S`, `name = f`.
    pub fn out_of_class(&self, class: &str, name: &str) -> SmallVec<[Entry; 4]> {
        let Some(entries) = self.names.get(name) else {
            return SmallVec::new();
        };
        let written = |entry: &Entry| match &self.item(*entry).kind {
            ItemKind::Function(function) => match &function.name {
                FunctionName::Plain(name)
                | FunctionName::Constructor(name)
                | FunctionName::Destructor(name) => {
                    let count = name.segments.len();
                    count >= 2 && name.segments[count - 2].ident.name == class
                }
                FunctionName::Operator { qualifier, .. }
                | FunctionName::Conversion { qualifier, .. } => qualifier
                    .as_ref()
                    .and_then(|q| q.segments.last())
                    .is_some_and(|s| s.ident.name == class),
            },
            _ => false,
        };
        entries.iter().map(|(e, _)| *e).filter(written).collect()
    }
}

/// Returns the types that a declarator's type defines in passing, behind pointers and arrays.
pub fn defined_in(ty: &Type) -> &TypeKind {
    let mut current = ty;
    for _ in 0..16 {
        current = match &current.kind {
            TypeKind::Pointer(to) => to,
            TypeKind::Array { element, .. } => element,
            _ => break,
        };
    }
    &current.kind
}

pub fn inline_struct(ty: &Type) -> Option<&Struct> {
    match defined_in(ty) {
        TypeKind::InlineStruct(inner) => Some(inner),
        _ => None,
    }
}

/// Returns where a name of an item is declared: namespaces, and the qualifiers before it.
fn scope_of(item: &ParsedItem, what: EntryKind) -> SmallVec<[SmolStr; 4]> {
    let mut scope: SmallVec<[SmolStr; 4]> = item.scope.iter().cloned().collect();
    let qualifier = |name: &Name, scope: &mut SmallVec<[SmolStr; 4]>, keep_last: bool| {
        let drop = usize::from(!keep_last);
        let count = name.segments.len().saturating_sub(drop);
        scope.extend(
            name.segments
                .iter()
                .take(count)
                .map(|s| s.ident.name.clone()),
        );
    };
    match (&item.kind, what) {
        (ItemKind::Function(function), _) => match &function.name {
            FunctionName::Plain(name)
            | FunctionName::Constructor(name)
            | FunctionName::Destructor(name) => qualifier(name, &mut scope, false),
            FunctionName::Operator {
                qualifier: Some(name),
                ..
            }
            | FunctionName::Conversion {
                qualifier: Some(name),
                ..
            } => qualifier(name, &mut scope, true),
            _ => {}
        },
        (ItemKind::Struct(declared), _) => {
            if let Some(name) = &declared.name {
                qualifier(name, &mut scope, false);
            }
        }
        (ItemKind::Variables(declaration), EntryKind::Variable(number)) => {
            if let Some(declarator) = declaration.declarators.get(number as usize)
                && let DeclaratorName::Qualified(name) = &declarator.name
            {
                qualifier(name, &mut scope, false);
            }
        }
        (ItemKind::Enum(declared), EntryKind::Enumerator(_)) if declared.scoped => {
            scope.extend(declared.name.iter().map(|n| n.name.clone()));
        }
        _ => {}
    }
    scope
}

fn enter_enum(declared: &Enum, enter: &mut impl FnMut(&SmolStr, EntryKind)) {
    if let Some(name) = &declared.name {
        enter(&name.name, EntryKind::Enum);
    }
    for (number, (ident, _)) in declared.enumerators.iter().enumerate() {
        enter(&ident.name, EntryKind::Enumerator(number as u32));
    }
}

/// The name under which a function is looked up: operators as `operator+`, conversions as `operator T`.
pub fn function_last_name(name: &FunctionName) -> SmolStr {
    match name {
        FunctionName::Plain(name) | FunctionName::Constructor(name) => name
            .segments
            .last()
            .map(|s| s.ident.name.clone())
            .unwrap_or_default(),
        FunctionName::Operator { symbol, .. } => {
            smol_str::format_smolstr!("operator{}", symbol.replace(' ', ""))
        }
        FunctionName::Conversion { .. } => SmolStr::new_static("operator T"),
        FunctionName::Destructor(name) => {
            let last = name.segments.last().map(|s| s.ident.name.clone());
            smol_str::format_smolstr!("~{}", last.unwrap_or_default())
        }
    }
}

/// The item without the insides of function bodies; a body that exists is an empty block.
fn strip(item: &ParsedItem) -> ParsedItem {
    let mut item = ParsedItem {
        key: item.key.clone(),
        file: item.file,
        scope: item.scope.clone(),
        kind: match &item.kind {
            ItemKind::Function(function) => ItemKind::Function(without_body(function)),
            ItemKind::Struct(declared) => ItemKind::Struct(strip_struct(declared)),
            other => other.clone(),
        },
        problems: Vec::new(),
    };
    if let ItemKind::Variables(declaration) = &mut item.kind {
        // The initialiser of a variable that is no constant is nobody else's business, but its size may be.
        declaration.span = Span::default();
    }
    item
}

fn without_body(function: &Function) -> Function {
    Function {
        template: function.template.clone(),
        specifiers: function.specifiers.clone(),
        name: function.name.clone(),
        return_type: function.return_type.clone(),
        parameters: function.parameters.clone(),
        variadic: function.variadic,
        semantic: function.semantic.clone(),
        is_const: function.is_const,
        initializers: Vec::new(),
        body: match &function.body {
            FunctionBody::Block(_) => FunctionBody::Block(Block {
                statements: Vec::new(),
                span: Span::default(),
            }),
            other => other.clone(),
        },
        signature_span: function.signature_span,
        span: Span::default(),
    }
}

fn strip_struct(declared: &Struct) -> Struct {
    Struct {
        template: declared.template.clone(),
        name: declared.name.clone(),
        kind: declared.kind,
        bases: declared.bases.clone(),
        members: declared
            .members
            .iter()
            .map(|member| match member {
                Member::Method(function) => Member::Method(without_body(function)),
                Member::Struct(inner) => Member::Struct(strip_struct(inner)),
                other => other.clone(),
            })
            .collect(),
        attributes: declared.attributes.clone(),
        has_body: declared.has_body,
        span: Span::default(),
    }
}

/// The headers that were not found and whose functions are no builtins, sorted: calls may go there.
pub fn missing_headers(includes: &[Include]) -> Vec<SmolStr> {
    let mut missing: Vec<SmolStr> = includes
        .iter()
        .filter(|i| i.resolved.is_none() && !super::builtins::is_known_header(&i.spec))
        .map(|i| i.spec.clone())
        .collect();
    missing.sort();
    missing.dedup();
    missing
}
