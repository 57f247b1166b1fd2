//! Names to types: words, library types of CUDA and HLSL, declarations of the unit, template parameters.

use super::aliases::AliasKey;
use super::builtins::BuiltinTemplateArgument;
use super::context::{Const, Context, Local};
use super::env::{Entry, EntryKind};
use super::library_types::cuda_named;
pub use super::library_types::hlsl_numeric;
use super::resources;
use super::types::*;
use super::value::{LValue, RValue};
use crate::types::Space;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::c_family::ast::{self, ItemKind, Name, NameSegment, TemplateArgument, TypeKind};

const MAX_ALIAS_DEPTH: u32 = 48;

impl Context<'_> {
    pub fn resolve_type(&mut self, ty: &ast::Type) -> CType {
        if self.alias_depth > MAX_ALIAS_DEPTH {
            return CType::Unknown;
        }
        self.alias_depth += 1;
        let found = self.resolve_kind(ty);
        self.alias_depth -= 1;
        found
    }

    fn resolve_kind(&mut self, ty: &ast::Type) -> CType {
        match &ty.kind {
            TypeKind::Builtin(word) if word == "half" && self.is_hlsl() => self.hlsl_half(),
            // 80 bits on IA-64, which nothing here computes with.
            TypeKind::Builtin(word) if word == "long double" && self.is_c() => {
                CType::opaque(LONG_DOUBLE)
            }
            TypeKind::Builtin(word) if word == "long" => self.long_type(true),
            TypeKind::Builtin(word) if word == "unsigned long" => self.long_type(false),
            TypeKind::Builtin(word) => word_type(word).unwrap_or(CType::Unknown),
            TypeKind::Named(name) => self.named_type(name).unwrap_or_else(|| {
                let path = joined(name);
                CType::Opaque(path)
            }),
            TypeKind::Auto => CType::Unknown,
            TypeKind::Decltype(e) => self.declared_type_of(e),
            TypeKind::Pointer(to) => {
                self.postponed.pointers += 1;
                let pointee = self.resolve_type(to);
                self.postponed.pointers -= 1;
                CType::Pointer {
                    to: Arc::new(pointee.value_type().clone()),
                    space: Space::Generic,
                    is_const: to.is_const,
                    restrict: ty.is_restrict,
                    volatile: to.is_volatile,
                }
            }
            TypeKind::Reference { target, .. } => {
                let target_ty = self.resolve_type(target);
                CType::Reference {
                    to: Arc::new(target_ty.value_type().clone()),
                    is_const: target.is_const,
                }
            }
            TypeKind::Array { element, size } => {
                let element = self.resolve_type(element);
                let size = match size {
                    None => ArraySize::Unknown,
                    Some(e) => self.array_size(e),
                };
                CType::array(element, size)
            }
            TypeKind::FunctionPointer(function) => match self.is_c() {
                true => {
                    self.postponed.pointers += 1;
                    let ty = self.code_type(function);
                    self.postponed.pointers -= 1;
                    ty
                }
                false => self.function_pointer(&function.parameters),
            },
            TypeKind::MemberPointer => CType::opaque("member pointer"),
            TypeKind::InlineStruct(inner) => self.local_struct(inner),
            TypeKind::InlineEnum(inner) => self.local_enum(inner),
            TypeKind::Unknown => CType::Unknown,
        }
    }

    /// Returns the type of pointers to a function; its name says whether the callee may write its arguments.
    fn function_pointer(&mut self, parameters: &[ast::Type]) -> CType {
        let by_value = parameters.iter().all(|p| {
            let ty = self.resolve_type(p);
            ty.is_numeric() || ty.is_pointer() || ty.is_void() || matches!(ty, CType::Struct(_))
        });
        CType::opaque(match by_value {
            true => FUNCTION_POINTER,
            false => REFERRING_FUNCTION_POINTER,
        })
    }

    fn array_size(&mut self, e: &ast::Expr) -> ArraySize {
        // What an expression names is looked into.
        let in_member = std::mem::take(&mut self.postponed.in_member);
        let size = self.array_size_of(e);
        self.postponed.in_member = in_member;
        size
    }

    fn array_size_of(&mut self, e: &ast::Expr) -> ArraySize {
        if let Some(number) = self.constant(e) {
            return match number.as_int() {
                n if n >= 0 => ArraySize::Fixed(n as u64),
                _ => ArraySize::Unknown,
            };
        }
        if self.resolving_struct > 0 || self.builder.is_terminated() {
            return ArraySize::Unknown;
        }
        let value = self.rvalue(e);
        if !value.ty.is_integer() || value.parts.is_empty() {
            return ArraySize::Unknown;
        }
        let number = self.index_value(&value, e.span);
        match self.builder.function.int_constant(number) {
            Some(n) if n >= 0 => ArraySize::Fixed(n as u64),
            _ => ArraySize::Dynamic(number),
        }
    }

    /// The type that a name means; `None` when it is no type that is known.
    pub fn named_type(&mut self, name: &Name) -> Option<CType> {
        self.type_at(&name.segments)
    }

    /// The type that a qualified name means, by its parts.
    pub(super) fn type_at(&mut self, segments: &[NameSegment]) -> Option<CType> {
        let (last, qualifiers) = segments.split_last()?;
        let text = &last.ident.name;
        if qualifiers.is_empty()
            && let Some(Local::Type(ty)) = self.lookup_local(text)
        {
            let ty = ty.clone();
            if let (CType::Struct(id), Some(list)) = (&ty, &last.template_arguments)
                && let Some(found) = self.same_template(*id, list)
            {
                return Some(found);
            }
            return Some(ty);
        }
        let arguments = last
            .template_arguments
            .as_ref()
            .map(|list| self.template_arguments(list));
        if qualifiers.is_empty()
            && let Some(ty) = self.member_type_of_class(text, arguments.as_deref())
        {
            return Some(ty);
        }
        if let Some(ty) = self.unit_type(segments, arguments.as_deref()) {
            return Some(ty);
        }
        if !qualifiers.is_empty() {
            if let Some(ty) = self.library_member(qualifiers, text) {
                return Some(ty);
            }
            if let Some(CType::Struct(id)) = self.unit_or_local_type(qualifiers) {
                return self.member_type(id, text, arguments.as_deref(), 0);
            }
        }
        self.library_type(text, arguments.as_deref())
    }

    /// The template of a class with other arguments: the argument of a template parameter that is a template.
    fn same_template(&mut self, id: StructId, list: &[TemplateArgument]) -> Option<CType> {
        let origin = self.sources.get(id.0 as usize)?;
        origin.declared.template.as_ref()?;
        let mut path: SmallVec<[SmolStr; 4]> = origin.namespace.iter().cloned().collect();
        path.push(origin.class_name.clone());
        path.retain(|part| !part.is_empty());
        let arguments = self.template_arguments(list);
        let types: SmallVec<[Entry; 4]> = self
            .env
            .lookup(&[], &path)
            .into_iter()
            .filter(|e| matches!(e.what, EntryKind::Struct))
            .collect();
        match types.is_empty() {
            true => None,
            false => Some(self.instantiate(&types, &arguments)),
        }
    }

    fn unit_or_local_type(&mut self, segments: &[NameSegment]) -> Option<CType> {
        if self.alias_depth > MAX_ALIAS_DEPTH {
            return None;
        }
        self.alias_depth += 1;
        let found = self.type_at(segments);
        self.alias_depth -= 1;
        found
    }

    fn unit_type(
        &mut self,
        segments: &[NameSegment],
        arguments: Option<&[Local]>,
    ) -> Option<CType> {
        let path: SmallVec<[SmolStr; 4]> = segments.iter().map(|s| s.ident.name.clone()).collect();
        let entries = self.entries(&path);
        // A definition before a forward declaration; specialisations are found from their primary template.
        let types: SmallVec<[Entry; 4]> = entries
            .into_iter()
            .filter(|e| {
                matches!(
                    e.what,
                    EntryKind::Struct
                        | EntryKind::Enum
                        | EntryKind::Alias
                        | EntryKind::AliasAmong(_)
                )
            })
            .collect();
        let has_body = |e: &&Entry| match &self.env.item(**e).kind {
            ItemKind::Struct(s) => s.has_body,
            _ => true,
        };
        let env = self.env;
        let Some(&entry) = types.iter().find(has_body).or_else(|| types.first()) else {
            // In C a structure inside a structure belongs to the file.
            let (item, path) = env.nested_tag(path.last()?)?;
            let (item, path) = (item.clone(), path.clone());
            return Some(self.instance(
                &item,
                path,
                Vec::new(),
                Default::default(),
                Default::default(),
            ));
        };
        let item = env.item(entry);
        // What threads wait at is known by its methods, however its header builds them from atomic operations.
        if let Some(name @ ("barrier" | "pipeline")) = path.last().map(SmolStr::as_str)
            && self.language == crate::function::Language::Cuda
            && item.scope.first().is_some_and(|first| first == "cuda")
        {
            return Some(CType::opaque(name));
        }
        match (&item.kind, entry.what) {
            (ItemKind::Variables(declaration), EntryKind::AliasAmong(number)) => {
                let declarator = declaration.declarators.get(number as usize)?;
                let mut frame = super::context::Frame::outside(item.key.clone());
                frame.site = self.site();
                self.frames.push(frame);
                let ty = match &declarator.ty.kind {
                    TypeKind::InlineStruct(inner) => self.item_struct(inner, &item.key),
                    _ => self.resolve_type(&declarator.ty),
                };
                self.frames.pop();
                Some(ty)
            }
            (ItemKind::Struct(_), _) => Some(self.instantiate(&types, arguments.unwrap_or(&[]))),
            (ItemKind::Enum(declared), _) => Some(self.enum_type(declared)),
            (ItemKind::Alias(alias), EntryKind::Struct) => match &alias.ty.kind {
                TypeKind::InlineStruct(inner) => Some(self.item_struct(inner, &item.key)),
                _ => None,
            },
            (ItemKind::Alias(alias), EntryKind::Enum) => match &alias.ty.kind {
                TypeKind::InlineEnum(inner) => Some(self.enum_type(inner)),
                _ => None,
            },
            (ItemKind::Alias(alias), _) => {
                Some(self.alias_type(alias, arguments, &item.key, item.scope.clone()))
            }
            (ItemKind::Variables(declaration), _) => {
                let first = declaration.declarators.first()?;
                match super::env::defined_in(&first.ty) {
                    TypeKind::InlineStruct(inner) => Some(self.item_struct(inner, &item.key)),
                    TypeKind::InlineEnum(inner) => Some(self.enum_type(inner)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// `using A<T> = ...` with its arguments.
    pub fn alias_type(
        &mut self,
        alias: &ast::Alias,
        arguments: Option<&[Local]>,
        item: &syntax::ItemKey,
        namespace: Vec<SmolStr>,
    ) -> CType {
        let key = AliasKey::of_item(item, arguments.filter(|_| alias.template.is_some()));
        if let Some(known) = self.known_alias(key.as_ref()) {
            return known;
        }
        let before = self.before_alias();
        let mut frame = super::context::Frame::outside(item.clone());
        frame.site = self.site();
        frame.namespace = namespace;
        self.frames.push(frame);
        if let Some(template) = &alias.template {
            self.bind_template(template, arguments.unwrap_or(&[]));
        }
        let ty = if let TypeKind::InlineStruct(inner) = &alias.ty.kind {
            self.item_struct(inner, item)
        } else {
            self.resolve_type(&alias.ty)
        };
        self.frames.pop();
        self.keep_alias(key, &ty, before);
        ty
    }

    pub fn enum_type(&mut self, declared: &ast::Enum) -> CType {
        let underlying = declared.underlying.as_ref().map(|ty| self.resolve_type(ty));
        let (bits, signed) = match underlying {
            Some(CType::Int { bits, signed }) => (bits, signed),
            Some(CType::Bool) => (8, false),
            // An enumeration of C without negative numbers is unsigned, as GCC has it.
            _ if self.is_c() => (32, !self.never_negative(declared)),
            _ => (32, true),
        };
        CType::Enum {
            name: declared
                .name
                .as_ref()
                .map(|n| n.name.clone())
                .unwrap_or_default(),
            bits,
            signed,
        }
    }

    /// Returns true if no enumerator is written as a negative number.
    fn never_negative(&mut self, declared: &ast::Enum) -> bool {
        declared.enumerators.iter().all(|(_, value)| match value {
            Some(e) => self.constant(e).is_some_and(|n| n.as_int() >= 0),
            None => true,
        })
    }

    /// The value of enumerator `number`.
    pub fn enumerator(&mut self, declared: &ast::Enum, number: usize) -> Option<Const> {
        // Those of C are numbers of type `int`.
        let ty = match self.is_c() {
            true => CType::INT,
            false => self.enum_type(declared),
        };
        let mut base = 0i64;
        let mut steps = 0i64;
        for (_, value) in declared.enumerators[..=number.min(declared.enumerators.len() - 1)]
            .iter()
            .rev()
        {
            match value {
                Some(e) => {
                    base = self.constant(e)?.as_int();
                    break;
                }
                None => steps += 1,
            }
        }
        // Without any written value the first enumerator is 0, and `steps` counted it.
        let written = declared.enumerators[..=number.min(declared.enumerators.len() - 1)]
            .iter()
            .any(|(_, v)| v.is_some());
        if !written {
            steps -= 1;
        }
        Some(Const::int(base.wrapping_add(steps), ty))
    }

    /// An enumerator whose number depends on template parameters that are not known: computed here.
    pub fn enumerator_value(&mut self, declared: &ast::Enum, number: usize) -> Option<RValue> {
        let ty = self.enum_type(declared);
        let upto = declared.enumerators.get(..=number)?;
        let (at, e) = upto
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, (_, value))| value.as_ref().map(|e| (at, e)))?;
        let base = self.rvalue(e);
        let steps = self
            .builder
            .int(crate::types::Type::I32, (number - at) as i64);
        let steps = RValue::scalar(CType::INT, steps);
        let value = self.binary_values(ast::BinaryOp::Add, base, steps, e.span);
        Some(self.convert(value, &ty, e.span))
    }

    pub fn local_enum(&mut self, declared: &ast::Enum) -> CType {
        for number in 0..declared.enumerators.len() {
            let name = declared.enumerators[number].0.name.clone();
            if let Some(value) = self.enumerator(declared, number) {
                self.declare(name, Local::Constant(value));
            } else if let Some(value) = self.enumerator_value(declared, number) {
                self.declare(name, Local::Variable(LValue::value(value)));
            }
        }
        let ty = self.enum_type(declared);
        if let Some(name) = &declared.name {
            self.declare(name.name.clone(), Local::Type(ty.clone()));
        }
        ty
    }

    // -------------------------------------------------------------------------------------------- template arguments

    /// Template arguments as types and numbers; packs are spread.
    pub fn template_arguments(&mut self, list: &[TemplateArgument]) -> Vec<Local> {
        let mut out = Vec::new();
        for argument in list {
            self.template_argument(argument, &mut out, 0);
        }
        out
    }

    fn template_argument(&mut self, argument: &TemplateArgument, out: &mut Vec<Local>, depth: u32) {
        if depth > 8 {
            return;
        }
        match argument {
            TemplateArgument::Type(ty) => {
                // `f<1000>` looks like a type until it is looked up.
                if let TypeKind::Named(name) = &ty.kind
                    && self.is_function(name)
                    && self.named_type(name).is_none()
                {
                    let function = self.function_type(name);
                    out.push(Local::Variable(LValue::value(RValue::new(function, []))));
                    return;
                }
                let ty = self.template_of_type(ty);
                out.push(Local::Type(ty));
            }
            TemplateArgument::Value(e) => {
                let value = self.template_value(e);
                out.push(value);
            }
            TemplateArgument::Ambiguous(ty, e) => {
                if let ast::ExprKind::Name(name) = &e.kind
                    && let [only] = name.segments.as_slice()
                    && only.template_arguments.is_none()
                    && let Some(found) = self.lookup_local(&only.ident.name)
                {
                    match found {
                        Local::Pack(elements) => out.extend(elements.clone()),
                        Local::Type(ty) => out.push(Local::Type(ty.clone())),
                        Local::Constant(number) => out.push(Local::Constant(number.clone())),
                        Local::Variable(_) => {
                            let value = self.template_value(e);
                            out.push(value);
                        }
                    }
                    return;
                }
                let named = match &ty.kind {
                    TypeKind::Named(name) => {
                        let assumed = self.assumed_types.len();
                        let found = self.named_type(name);
                        if matches!(found, Some(CType::Struct(_)))
                            && name
                                .segments
                                .last()
                                .is_some_and(|s| s.template_arguments.is_none())
                        {
                            self.assumed_types.truncate(assumed);
                        }
                        found
                    }
                    _ => Some(self.resolve_type(ty)),
                };
                match named {
                    Some(ty) => out.push(Local::Type(ty)),
                    None => {
                        let value = self.template_value(e);
                        out.push(value);
                    }
                }
            }
            TemplateArgument::Pack(inner) => {
                if let Some(name) = super::templates::argument_name(inner)
                    && let Some(Local::Pack(elements)) = self.lookup_local(name)
                {
                    out.extend(elements.clone());
                } else {
                    self.template_argument(inner, out, depth + 1);
                }
            }
        }
    }

    fn template_value(&mut self, e: &ast::Expr) -> Local {
        if let Some(number) = self.constant(e) {
            return Local::Constant(number);
        }
        if let ast::ExprKind::Name(name) = &e.kind
            && self.is_function(name)
        {
            let ty = self.function_type(name);
            return Local::Variable(LValue::value(RValue::new(ty, [])));
        }
        // A name of a library that is not in sight: a tag.
        if let ast::ExprKind::Name(name) = &e.kind
            && name.segments.len() > 1
            && self.class_symbol(name).is_none()
        {
            return Local::Type(CType::Opaque(joined(name)));
        }
        let value = self.rvalue(e);
        Local::Variable(LValue::value(self.symbol_everywhere(value)))
    }

    /// A function named as a value, with the template arguments written behind its name.
    pub fn function_type(&mut self, name: &Name) -> CType {
        let written = name
            .segments
            .last()
            .and_then(|s| s.template_arguments.as_ref());
        let number = match written {
            Some(list) => {
                let arguments = self.template_arguments(list);
                let text = format!("{arguments:?}");
                let known = self.function_arguments.iter().position(|k| k.0 == text);
                known.unwrap_or_else(|| {
                    self.function_arguments.push((text, arguments));
                    self.function_arguments.len() - 1
                }) + 1
            }
            None => 0,
        };
        CType::Function(joined(name), number as u32)
    }

    /// Template arguments as the builtins take them; others are dropped.
    pub fn builtin_arguments(&mut self, list: &[Local]) -> Vec<BuiltinTemplateArgument> {
        list.iter()
            .filter_map(|local| match local {
                Local::Type(ty) => Some(BuiltinTemplateArgument::Type(ty.clone())),
                Local::Constant(number) => Some(BuiltinTemplateArgument::Value(number.as_int())),
                _ => None,
            })
            .collect()
    }

    // -------------------------------------------------------------------------------------------- library types

    /// HLSL's `half`.
    pub(super) fn hlsl_half(&self) -> CType {
        if self.options.native_16bit {
            CType::HALF
        } else {
            CType::FLOAT
        }
    }

    fn library_type(&mut self, name: &str, arguments: Option<&[Local]>) -> Option<CType> {
        let arguments = arguments.unwrap_or(&[]);
        if self.is_hlsl() {
            if let Some(ty) = hlsl_numeric(name, self.options.native_16bit) {
                return Some(ty);
            }
            match (name, arguments) {
                ("vector", [Local::Type(element), Local::Constant(n)]) => {
                    return Some(CType::vector(
                        element.clone(),
                        n.as_int().clamp(1, 16) as u8,
                    ));
                }
                ("vector", []) => return Some(CType::vector(CType::FLOAT, 4)),
                ("matrix", [Local::Type(element), Local::Constant(r), Local::Constant(c)]) => {
                    let (r, c) = (r.as_int().clamp(1, 4), c.as_int().clamp(1, 4));
                    return Some(CType::matrix(element.clone(), r as u8, c as u8));
                }
                ("matrix", []) => return Some(CType::matrix(CType::FLOAT, 4, 4)),
                _ => {}
            }
            let arguments = self.builtin_arguments(arguments);
            return resources::named_type(self, name, &arguments);
        }
        if self.is_c() {
            return match name {
                "size_t" | "uintptr_t" => Some(self.size_type()),
                "ssize_t" | "ptrdiff_t" | "intptr_t" => Some(self.long_type(true)),
                _ => super::builtins::c::named_type(name),
            };
        }
        if let Some(ty) = cuda_named(name).or_else(|| self.runtime_struct(name)) {
            return Some(ty);
        }
        let first = arguments.iter().find_map(|a| match a {
            Local::Type(ty) => Some(ty.clone()),
            _ => None,
        });
        match (name, arguments) {
            (
                "remove_reference_t" | "remove_cv_t" | "remove_const_t" | "remove_cvref_t"
                | "decay_t" | "make_signed_t" | "type_identity_t",
                _,
            ) => first.map(|t| t.value_type().clone()),
            ("enable_if_t", [condition, Local::Type(ty), ..]) => {
                self.substitution_failed |= matches!(condition, Local::Constant(c) if !c.truth());
                Some(ty.clone())
            }
            ("enable_if_t", [Local::Constant(c)]) => {
                self.substitution_failed |= !c.truth();
                Some(CType::Void)
            }
            ("conditional_t", [Local::Constant(c), Local::Type(a), Local::Type(b)]) => {
                Some(if c.truth() { a.clone() } else { b.clone() })
            }
            // An instantiation chooses.
            ("conditional_t", [_, Local::Type(a), Local::Type(b)]) if a != b => {
                Some(CType::opaque("conditional_t"))
            }
            ("make_unsigned_t", [Local::Type(CType::Int { bits, .. })]) => {
                Some(CType::int(*bits, false))
            }
            ("array", [Local::Type(element), Local::Constant(n)]) => {
                let n = n.as_int().max(0) as u64;
                Some(CType::array(element.clone(), ArraySize::Fixed(n)))
            }
            ("complex", [Local::Type(element)]) => Some(CType::vector(element.clone(), 2)),
            ("texture", _) => {
                let element = first.unwrap_or(CType::FLOAT);
                Some(texture_reference(element, arguments))
            }
            ("surface", _) => Some(texture_reference(CType::UINT, arguments)),
            ("atomic" | "atomic_ref", _) => first,
            ("thread_block_tile", [Local::Constant(n), ..]) => Some(CType::Opaque(
                smol_str::format_smolstr!("cooperative_groups::thread_block_tile<{}>", n.as_int()),
            )),
            (
                "thread_block" | "grid_group" | "coalesced_group" | "cluster_group"
                | "thread_group" | "thread_block_tile" | "multi_grid_group",
                _,
            ) => Some(CType::Opaque(smol_str::format_smolstr!(
                "cooperative_groups::{name}"
            ))),
            ("fragment" | "pipeline" | "barrier", _) => Some(CType::opaque(name)),
            ("plus" | "less" | "greater" | "bit_and" | "bit_or" | "bit_xor", _) => {
                Some(CType::opaque(name))
            }
            _ => None,
        }
    }

    /// The small structures of the CUDA runtime's headers.
    fn runtime_struct(&mut self, name: &str) -> Option<CType> {
        let pointer = CType::pointer(CType::Void, Space::Generic);
        let members: &[(&str, CType)] = match name {
            "cudaExtent" => &["width", "height", "depth"].map(|n| (n, CType::ULONG)),
            "cudaPos" => &["x", "y", "z"].map(|n| (n, CType::ULONG)),
            "cudaPitchedPtr" => &[
                ("ptr", pointer),
                ("pitch", CType::ULONG),
                ("xsize", CType::ULONG),
                ("ysize", CType::ULONG),
            ],
            "cudaChannelFormatDesc" => &["x", "y", "z", "w", "f"].map(|n| (n, CType::INT)),
            _ => return None,
        };
        if let Some(known) = self.runtime_structs.get(name) {
            return Some(known.clone());
        }
        let declared = ast::Struct {
            template: None,
            name: None,
            kind: ast::StructKind::Struct,
            bases: Vec::new(),
            members: Vec::new(),
            attributes: Vec::new(),
            has_body: true,
            span: Default::default(),
        };
        let (item, namespace) = (self.frame().item.clone(), Vec::new());
        let id = self.reserve(super::classes::StructOrigin {
            declared: Arc::new(declared),
            source: None,
            item,
            namespace,
            arguments: Vec::new(),
            bindings: Default::default(),
            scopes: None,
            class_name: SmolStr::new(name),
        });
        let mut fields: Vec<Field> = members
            .iter()
            .map(|(name, ty)| Field::new(*name, ty.clone()))
            .collect();
        let (size, align) = self.structs.lay_out(&mut fields, false, 1);
        let info = &mut self.structs.infos[id.0 as usize];
        info.fields = fields;
        info.size = size;
        info.align = align;
        info.incomplete = false;
        let ty = CType::Struct(id);
        self.runtime_structs.insert(SmolStr::new(name), ty.clone());
        Some(ty)
    }

    /// `Traits<...>::type` of the standard library.
    fn library_member(&mut self, outer: &[NameSegment], member: &str) -> Option<CType> {
        let last = outer.last()?;
        if member != "type" {
            return None;
        }
        let arguments = self.template_arguments(last.template_arguments.as_deref()?);
        let path: SmallVec<[SmolStr; 4]> = outer.iter().map(|s| s.ident.name.clone()).collect();
        if !self.entries(&path).is_empty() {
            return None;
        }
        let name = smol_str::format_smolstr!("{}_t", last.ident.name);
        self.library_type(&name, Some(&arguments))
    }
}

/// A texture reference of the old API: a handle with an element type.
pub(super) fn texture_reference(element: CType, arguments: &[Local]) -> CType {
    let dimension = arguments.iter().find_map(|a| match a {
        Local::Constant(n) => Some(n.as_int()),
        _ => None,
    });
    CType::Resource(Arc::new(ResourceType {
        kind: ResourceKind::Texture,
        dimension: match dimension {
            Some(2) => Dimension::Two,
            Some(3) => Dimension::Three,
            _ => Dimension::One,
        },
        element,
        array: false,
        multisampled: false,
        read_write: false,
        ordered: false,
    }))
}

/// A name as written, with template arguments left out.
pub fn joined(name: &Name) -> SmolStr {
    if let [only] = name.segments.as_slice() {
        return only.ident.name.clone();
    }
    let parts: Vec<&str> = name
        .segments
        .iter()
        .map(|s| s.ident.name.as_str())
        .collect();
    SmolStr::new(parts.join("::"))
}

pub fn word_type(word: &str) -> Option<CType> {
    Some(match word {
        "void" => CType::Void,
        "bool" => CType::Bool,
        "char" | "signed char" | "char8_t" => CType::CHAR,
        "unsigned char" => CType::UCHAR,
        "short" | "signed short" | "short int" => CType::SHORT,
        "unsigned short" | "unsigned short int" | "char16_t" => CType::USHORT,
        "int" | "signed" | "signed int" | "wchar_t" => CType::INT,
        "unsigned int" | "unsigned" | "char32_t" => CType::UINT,
        "long" | "long int" | "long long" | "long long int" | "signed long"
        | "signed long long" => CType::LONG,
        "unsigned long" | "unsigned long long" | "unsigned long int" | "unsigned long long int" => {
            CType::ULONG
        }
        "float" => CType::FLOAT,
        "double" | "long double" => CType::DOUBLE,
        "half" | "_Float16" | "__fp16" => CType::HALF,
        "__int128" | "unsigned __int128" => CType::LONG,
        _ => return None,
    })
}
