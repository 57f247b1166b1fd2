//! Structures and classes: instantiation with layout, members that are no fields, methods by name.

use super::context::{Context, Frame, Local, Scope};
use super::env::Entry;
use super::types::*;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ItemKey;
use syntax::c_family::ast::{
    self, DeclaratorName, ItemKind, Member, ParsedItem, SpecifierSet, StructKind, TemplateArgument,
    TypeKind,
};

/// Template parameters with their arguments.
pub type Bindings = Rc<Vec<(SmolStr, Local)>>;

/// The origin of a structure, by `StructId`.
#[derive(Clone, Debug)]
pub struct StructOrigin {
    pub declared: Arc<ast::Struct>,
    /// `None`: declared inside a function; `declared` has the bodies.
    pub source: Option<StructSource>,
    pub item: ItemKey,
    pub namespace: Vec<SmolStr>,
    pub arguments: Vec<Local>,
    /// Template parameters, and their arguments, with those of the classes around.
    pub bindings: Bindings,
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
        ItemKind::Alias(alias) => super::env::inline_struct(&alias.ty)?,
        ItemKind::Variables(declaration) => {
            super::env::inline_struct(&declaration.declarators.first()?.ty)?
        }
        _ => return None,
    };
    for &step in path {
        current = match current.members.get(step as usize)? {
            Member::Struct(inner) => inner,
            Member::Alias(alias) => super::env::inline_struct(&alias.ty)?,
            Member::Fields(declaration) => {
                super::env::inline_struct(&declaration.declarators.first()?.ty)?
            }
            _ => return None,
        };
    }
    Some(current)
}

/// A function with its surroundings, as a call needs them.
#[derive(Clone, Debug)]
pub struct Callee {
    pub function: FunctionRef,
    pub item: ItemKey,
    pub namespace: Vec<SmolStr>,
    pub class: Option<StructId>,
    pub bindings: Bindings,
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
            .or_else(|| candidates.iter().find(|(_, s)| is_primary(s)));
        // Forward declarations are no items: a template may have specialisations alone.
        let Some((entry, chosen)) = primary.or(candidates.first()) else {
            return CType::Unknown;
        };
        let item = env.item(**entry);
        // The primary template's defaults complete the arguments, and specialisations are matched against all of them.
        let mut full = arguments.to_vec();
        if primary.is_some()
            && let Some(template) = &chosen.template
        {
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
        let mut best: Option<(usize, Entry, Bindings)> = None;
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
                self.instance(&item, SmallVec::new(), full, bindings, Bindings::default())
            }
            None if primary.is_none() => self.undecided_class(chosen, &item.key, full),
            None => {
                if candidates.len() > 1 && full.iter().any(is_undecided) {
                    let name = qualified_last(chosen).unwrap_or_default();
                    let span = self.builder.function.name_span;
                    let message = format!(
                        "which specialisation of `{name}` is meant depends on a template argument that is not known here: the primary template is taken"
                    );
                    self.remark(span, message);
                }
                let item = item.clone();
                self.instance(
                    &item,
                    SmallVec::new(),
                    full,
                    Bindings::default(),
                    Bindings::default(),
                )
            }
        }
    }

    /// An instance of a template whose specialisations are all that is in sight, when none is known to be meant.
    fn undecided_class(
        &mut self,
        some: &ast::Struct,
        key: &ItemKey,
        arguments: Vec<Local>,
    ) -> CType {
        let name = qualified_last(some).unwrap_or_default();
        let text = smol_str::format_smolstr!("{name}{arguments:?}");
        if let Some(known) = self.undecided.get(&text) {
            return known.clone();
        }
        let declared = ast::Struct {
            template: None,
            name: None,
            kind: some.kind,
            bases: Vec::new(),
            members: Vec::new(),
            attributes: Vec::new(),
            has_body: false,
            span: some.span,
        };
        let id = self.reserve(StructOrigin {
            declared: Arc::new(declared),
            source: None,
            item: key.clone(),
            namespace: Vec::new(),
            arguments,
            bindings: Bindings::default(),
            scopes: None,
            class_name: name,
        });
        self.undecided.insert(text, CType::Struct(id));
        CType::Struct(id)
    }

    pub(super) fn match_specialisation(
        &mut self,
        special: &ast::Struct,
        patterns: &[TemplateArgument],
        arguments: &[Local],
    ) -> Option<Bindings> {
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
        Some(Rc::new(bindings))
    }

    /// A structure that an alias or a variable declares in passing.
    pub fn item_struct(&mut self, _declared: &ast::Struct, key: &ItemKey) -> CType {
        match self.env.by_key(key).cloned() {
            Some(item) => self.instance(
                &item,
                SmallVec::new(),
                Vec::new(),
                Bindings::default(),
                Bindings::default(),
            ),
            None => CType::Unknown,
        }
    }

    /// The instance of the structure at `path` of an item. `bound`: parameters that are known already (of a
    /// specialisation); otherwise the template's parameters take `arguments`.
    pub(super) fn instance(
        &mut self,
        item: &Arc<ParsedItem>,
        path: SmallVec<[u32; 2]>,
        arguments: Vec<Local>,
        bound: Bindings,
        outer: Bindings,
    ) -> CType {
        let Some(declared) = struct_of(item, &path) else {
            return CType::Unknown;
        };
        let source = StructSource {
            item: item.key.clone(),
            path,
        };
        let with = match arguments.is_empty() && outer.is_empty() {
            true => String::new(),
            false => format!("{arguments:?}{outer:?}"),
        };
        let key = (source.clone(), with);
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
        let known = self.shared.declared.entry(source.clone());
        let declared = known.or_insert_with(|| Arc::new(declared.clone())).clone();
        let id = self.reserve(StructOrigin {
            declared: declared.clone(),
            source: Some(source),
            item: item.key.clone(),
            namespace: item.scope.clone(),
            arguments: arguments.clone(),
            bindings: Bindings::default(),
            scopes: None,
            class_name,
        });
        self.instances.insert(key, CType::Struct(id));
        self.unbound.push(id);
        let mut frame = Frame::outside(item.key.clone());
        frame.namespace = item.scope.clone();
        frame.site = self.site();
        self.frames.push(frame);
        for (name, local) in outer.iter() {
            self.declare(name.clone(), local.clone());
        }
        self.push_scope();
        if bound.is_empty() {
            if let Some(template) = &declared.template {
                self.bind_template(template, &arguments);
            }
        } else {
            for (name, local) in bound.iter() {
                self.declare(name.clone(), local.clone());
            }
        }
        self.unbound.pop();
        let mut bindings = outer;
        if let Some(scope) = self.frame().scopes.last() {
            let mut own: Vec<_> = scope.iter().map(|(n, l)| (n.clone(), l.clone())).collect();
            own.sort_by(|a, b| a.0.cmp(&b.0));
            if !own.is_empty() {
                Rc::make_mut(&mut bindings).extend(own);
            }
        }
        Rc::make_mut(&mut self.sources[id.0 as usize]).bindings = bindings;
        // A pointer need not know what it points to, which may hold what is being laid out.
        let waits = self.postponed.in_member && self.postponed.pointers > 0;
        if waits
            && arguments.is_empty()
            && let Some(frame) = self.frames.pop()
        {
            self.postponed.structs.push((id, declared, frame));
            self.postponed.waiting.insert(id);
            return CType::Struct(id);
        }
        self.lay_out_members(id, &declared);
        self.frames.pop();
        CType::Struct(id)
    }

    /// The layout of a structure that a member or an expression needs at once.
    pub(super) fn lay_out_now(&mut self, ty: &CType) {
        let mut ty = ty;
        while let CType::Array { element, .. } = ty {
            ty = element;
        }
        let CType::Struct(id) = ty else { return };
        if !self.postponed.waiting.remove(id) {
            return;
        }
        let waiting = &mut self.postponed.structs;
        if let Some(at) = waiting.iter().position(|it| it.0 == *id) {
            let (id, declared, frame) = waiting.swap_remove(at);
            self.frames.push(frame);
            self.lay_out_members(id, &declared);
            self.frames.pop();
        }
    }

    /// The layouts that were put off.
    pub(super) fn lay_out_postponed(&mut self) {
        if self.resolving_struct > 0 || self.postponed.finishing {
            return;
        }
        self.postponed.finishing = true;
        while let Some((id, declared, frame)) = self.postponed.structs.pop() {
            self.postponed.waiting.remove(&id);
            self.frames.push(frame);
            self.lay_out_members(id, &declared);
            self.frames.pop();
        }
        self.postponed.finishing = false;
    }

    pub(super) fn reserve(&mut self, origin: StructOrigin) -> StructId {
        let id = self.structs.push(StructInfo {
            name: origin.class_name.clone(),
            union: origin.declared.kind == StructKind::Union,
            fields: Vec::new(),
            size: 1,
            align: 1,
            incomplete: true,
            scattered: false,
        });
        self.sources.push(Rc::new(origin));
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
            bindings: Bindings::default(),
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

    pub(super) fn lay_out_members(&mut self, id: StructId, declared: &ast::Struct) {
        let class_before = self.frame().class.replace(id);
        self.resolving_struct += 1;
        let outside = (
            std::mem::take(&mut self.postponed.in_member),
            std::mem::take(&mut self.postponed.pointers),
        );
        let mut fields = Vec::new();
        // How bit-fields share their units is modelled in C alone: elsewhere the size is some number.
        let mut unknown = declared.members.iter().any(|m| match m {
            Member::Fields(f) => f.declarators.iter().any(|d| d.bit_width.is_some()),
            _ => false,
        }) && !self.is_c();
        // Members of such a structure are not aligned, which accesses have to be.
        let packed = self.is_c() && declared.attributes.iter().any(|a| a.name == "packed");
        unknown |= packed;
        for base in &declared.bases {
            let ty = self.resolve_type(base);
            if let CType::Struct(base) = ty
                && base != id
            {
                fields.push(Field {
                    base: true,
                    ..Field::new(SmolStr::default(), CType::Struct(base))
                });
            }
        }
        // Types of members may be named in the bases.
        self.structs.infos[id.0 as usize].fields = fields.clone();
        let mut minimum = 1u64;
        minimum = minimum.max(self.alignment(&declared.attributes));
        for (index, member) in declared.members.iter().enumerate() {
            let number = index as u32;
            match member {
                Member::Fields(declaration) => {
                    if declaration.specifiers.words.has(SpecifierSet::STATIC) {
                        continue;
                    }
                    let mut inline = None;
                    let words = declaration.specifiers.words;
                    self.precise |= words.has(SpecifierSet::PRECISE);
                    let asked = match self.is_c() {
                        true => self.alignment(&declaration.specifiers.attributes),
                        false => 0,
                    };
                    let row_major = if words.has(SpecifierSet::ROW_MAJOR) {
                        Some(true)
                    } else {
                        words.has(SpecifierSet::COLUMN_MAJOR).then_some(false)
                    };
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
                            _ => {
                                self.postponed.in_member = true;
                                let ty = self.resolve_type(&declarator.ty);
                                self.postponed.in_member = false;
                                self.lay_out_now(&ty);
                                ty
                            }
                        };
                        let name = match &declarator.name {
                            DeclaratorName::Plain(ident) => ident.name.clone(),
                            DeclaratorName::None if matches!(ty, CType::Struct(_)) => {
                                SmolStr::default()
                            }
                            DeclaratorName::None
                                if self.is_c() && declarator.bit_width.is_some() =>
                            {
                                SmolStr::default()
                            }
                            _ => continue,
                        };
                        let bits = match &declarator.bit_width {
                            Some(e) => {
                                let bits = self.bits_of(e, &ty);
                                unknown |= bits.is_none();
                                bits
                            }
                            None => None,
                        };
                        fields.push(Field {
                            name,
                            ty,
                            offset: 0,
                            base: false,
                            align: match self.is_c() {
                                true => asked.max(self.alignment(&declarator.attributes)),
                                false => 0,
                            },
                            bits,
                            row_major,
                        });
                    }
                    if !self.is_c() {
                        let asked = self.alignment(&declaration.specifiers.attributes);
                        minimum = minimum.max(asked);
                    }
                }
                Member::Struct(inner) if inner.name.is_none() => {
                    let ty = self.nested(id, inner, number, &[]);
                    fields.push(Field::new(SmolStr::default(), ty));
                }
                _ => {}
            }
        }
        let union = declared.kind == StructKind::Union;
        let (size, align) = self.structs.lay_out(&mut fields, union, minimum);
        // They have had their room.
        fields.retain(|f| !(f.name.is_empty() && f.bits.is_some()));
        let known = |ty: &CType| self.structs.is_exact(ty) || self.structs.is_flexible(ty);
        let incomplete = unknown || !declared.has_body || fields.iter().any(|f| !known(&f.ty));
        let info = &mut self.structs.infos[id.0 as usize];
        info.fields = fields;
        info.size = size;
        info.align = align;
        info.incomplete = incomplete;
        info.scattered = packed;
        self.resolving_struct -= 1;
        self.frame().class = class_before;
        (self.postponed.in_member, self.postponed.pointers) = outside;
        self.lay_out_postponed();
    }

    /// The strictest alignment that attributes ask for, 0 where none does.
    pub(super) fn alignment(&mut self, attributes: &[ast::Attribute]) -> u64 {
        let mut strictest = 0;
        for attribute in attributes {
            if matches!(attribute.name.as_str(), "align" | "alignas" | "aligned") {
                let known = match attribute.arguments.first() {
                    Some(e) => self.constant(e).map(|n| n.as_int()),
                    // As much as any object needs.
                    None => Some(16),
                };
                strictest = strictest.max(known.unwrap_or(0).clamp(0, 4096) as u64);
            }
        }
        strictest
    }

    fn bits_of(&mut self, width: &ast::Expr, ty: &CType) -> Option<Bits> {
        let width = u8::try_from(self.constant(width)?.as_int()).ok()?;
        let fits = match self.is_c() {
            true => u64::from(width) <= 8 * self.structs.size_of(ty)? && ty.is_integer(),
            false => (1..64).contains(&width),
        };
        fits.then_some(Bits { width, first: 0 })
    }

    /// A structure inside a structure.
    pub(super) fn nested(
        &mut self,
        outer: StructId,
        inner: &ast::Struct,
        index: u32,
        arguments: &[Local],
    ) -> CType {
        let origin = self.sources[outer.0 as usize].clone();
        match &origin.source {
            Some(source) => {
                let Some(item) = self.env.by_key(&source.item).cloned() else {
                    return self.local_struct(inner);
                };
                let mut path = source.path.clone();
                path.push(index);
                let bindings = origin.bindings.clone();
                self.instance(
                    &item,
                    path,
                    arguments.to_vec(),
                    Bindings::default(),
                    bindings,
                )
            }
            None => self.local_struct(inner),
        }
    }
}

/// A template argument that is a symbol: some number that nothing determines.
pub(super) fn is_undecided(local: &Local) -> bool {
    matches!(local, Local::Variable(place) if !matches!(place.ty, CType::Function(..)))
}

fn qualified_last(declared: &ast::Struct) -> Option<SmolStr> {
    let last = declared.name.as_ref()?.segments.last()?;
    Some(last.ident.name.clone())
}

pub(super) fn qualifier_segments(name: &ast::FunctionName) -> Option<&[ast::NameSegment]> {
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
pub(super) fn shape(ty: &ast::Type) -> String {
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
