//! One item to modules: which of its functions are lowered, their parameters, and the attempts that it takes.

use super::assumed::Assumed;
use super::call::{Bound, asks_for_types};
use super::classes::{Callee, FunctionRef};
use super::context::*;
use super::env::{Environment, function_last_name};
use super::types::*;
use super::value::*;
use super::{Bodies, LowerOptions, Lowered, resources};
use crate::builder::FunctionBuilder;
use crate::entity::Value;
use crate::function::*;
use crate::inst::{BinaryOp, MemoryAccess, Op};
use crate::types::{Space, Type};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::c_family::ast::{self, FunctionBody, ItemKind, Member, ParsedItem, SpecifierSet};
use syntax::{ItemKey, Problem, Span};

/// Attempts at one function: see `context`. Each but the last adds to the knowledge of its variables.
const MAX_ATTEMPTS: u32 = 12;

/// Lowers every function of an item that runs on the device.
pub fn lower_item(
    env: &Environment,
    bodies: &dyn Bodies,
    key: &ItemKey,
    options: &LowerOptions,
) -> Vec<Lowered> {
    let Some(item) = bodies.body(key) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    match &item.kind {
        ItemKind::Function(function) => {
            if matches!(function.body, FunctionBody::Block(_))
                && let Some(kind) = function_kind(function, options.language)
                    .or(options.stage.filter(|kind| *kind == FunctionKind::Kernel))
            {
                // A function that the configuration names is launched, whatever its macros hide.
                let kind = match (options.language, options.stage) {
                    (Language::Cuda, Some(FunctionKind::Kernel)) => FunctionKind::Kernel,
                    _ => kind,
                };
                let callee = Callee {
                    function: FunctionRef::Item(item.clone()),
                    item: item.key.clone(),
                    namespace: item.scope.clone(),
                    class: None,
                    bindings: Default::default(),
                    scopes: None,
                    name: function_last_name(&function.name),
                };
                out.push(lower_function(env, bodies, options, &callee, kind));
            }
        }
        ItemKind::Struct(declared) => {
            let options = LowerOptions {
                stage: None,
                ..options.clone()
            };
            methods_of(
                declared,
                &item,
                SmallVec::new(),
                options.language,
                &mut |callee, kind| {
                    out.push(lower_function(env, bodies, &options, &callee, kind));
                },
            );
        }
        _ => {}
    }
    out
}

/// A function of C with what it calls, for a comparison with what is known; `None`: something is not understood.
pub(super) fn lower_reference(
    env: &Environment,
    bodies: &dyn Bodies,
    item: &Arc<ParsedItem>,
    options: &LowerOptions,
) -> Option<Module> {
    let ItemKind::Function(function) = &item.kind else {
        return None;
    };
    let callee = Callee {
        function: FunctionRef::Item(item.clone()),
        item: item.key.clone(),
        namespace: item.scope.clone(),
        class: None,
        bindings: Default::default(),
        scopes: None,
        name: function_last_name(&function.name),
    };
    let lowered = lower_function(env, bodies, options, &callee, FunctionKind::Host);
    Some(lowered.module)
}

/// All items of a unit, in order: for the command line and tests.
pub fn lower_unit(items: &[Arc<ParsedItem>], options: &LowerOptions) -> Vec<(ItemKey, Lowered)> {
    let env = Environment::new(items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let mut out = Vec::new();
    for item in items {
        for lowered in lower_item(&env, &bodies, &item.key, options) {
            out.push((item.key.clone(), lowered));
        }
    }
    out
}

/// The bodies of a unit that is there as a whole.
#[derive(Clone, Debug)]
pub struct UnitBodies(pub rustc_hash::FxHashMap<ItemKey, Arc<ParsedItem>>);

impl Bodies for UnitBodies {
    fn body(&self, key: &ItemKey) -> Option<Arc<ParsedItem>> {
        self.0.get(key).cloned()
    }
    fn recognized(
        &self,
        env: &Environment,
        key: &ItemKey,
        options: &LowerOptions,
    ) -> Option<super::recognize::Recognized> {
        super::recognize::recognize(env, self, key, options)
    }
}

fn function_kind(function: &ast::Function, language: Language) -> Option<FunctionKind> {
    let words = function.specifiers.words;
    if language == Language::C {
        return Some(FunctionKind::Host);
    }
    if language != Language::Cuda {
        return Some(FunctionKind::Device);
    }
    if words.has(SpecifierSet::CUDA_GLOBAL) {
        Some(FunctionKind::Kernel)
    } else if words.has(SpecifierSet::CUDA_DEVICE) {
        Some(FunctionKind::Device)
    } else {
        None
    }
}

fn methods_of(
    declared: &ast::Struct,
    item: &Arc<ParsedItem>,
    path: SmallVec<[u32; 2]>,
    language: Language,
    f: &mut dyn FnMut(Callee, FunctionKind),
) {
    if path.len() > 8 {
        return;
    }
    for (index, member) in declared.members.iter().enumerate() {
        match member {
            Member::Method(function) => {
                if matches!(function.body, FunctionBody::Block(_))
                    && let Some(kind) = function_kind(function, language)
                {
                    let callee = Callee {
                        function: FunctionRef::Member {
                            item: item.clone(),
                            path: path.clone(),
                            index: index as u32,
                        },
                        item: item.key.clone(),
                        namespace: item.scope.clone(),
                        class: None,
                        bindings: Default::default(),
                        scopes: None,
                        name: function_last_name(&function.name),
                    };
                    f(callee, kind);
                }
            }
            Member::Struct(inner) => {
                let mut below = path.clone();
                below.push(index as u32);
                methods_of(inner, item, below, language, f);
            }
            _ => {}
        }
    }
}

/// A module whose function 0 is `callee`, with the functions that it calls and that were not inlined.
fn lower_function(
    env: &Environment,
    bodies: &dyn Bodies,
    options: &LowerOptions,
    callee: &Callee,
    kind: FunctionKind,
) -> Lowered {
    let mut registry = Registry::default();
    let (first, said) = attempts(env, bodies, options, callee, kind, None, &mut registry);
    let Said {
        mut problems,
        assumed,
        mut external,
    } = said;
    let mut module = Module {
        functions: vec![first],
    };
    let mut next = 0;
    while next < registry.outlined.len() {
        let outlined = registry.outlined[next].clone();
        next += 1;
        let (function, more) = attempts(
            env,
            bodies,
            options,
            &outlined.callee,
            match options.language {
                Language::C => FunctionKind::Host,
                _ => FunctionKind::Device,
            },
            Some(&outlined),
            &mut registry,
        );
        module.functions.push(function);
        if outlined.callee.item == callee.item {
            problems.extend(more.problems);
        }
        external.extend(more.external);
    }
    problems.sort_by(|a, b| (a.span, &a.message).cmp(&(b.span, &b.message)));
    problems.dedup();
    external.sort();
    external.dedup();
    Lowered {
        module,
        problems,
        assumed,
        external,
    }
}

/// The state that the functions of one module share.
#[derive(Default)]
struct Registry {
    outlined: Vec<super::outlined::Outlined>,
    shared: Shared,
    /// Instructions of the functions beside the module's own.
    spent: usize,
}

/// Facts found once for all attempts at the functions of a module.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) growths: super::inlining::Growths,
    /// Declarations of structures: a copy of each, without the rest of its item.
    pub(super) declared: FxHashMap<StructSource, Arc<ast::Struct>>,
    /// Functions that were compared with basic operations.
    pub(super) recognized: FxHashMap<ItemKey, Option<super::recognize::Recognized>>,
    /// The number of functions that share the budget of the one being lowered.
    pub(super) sharers: usize,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            growths: Default::default(),
            declared: FxHashMap::default(),
            recognized: FxHashMap::default(),
            sharers: 1,
        }
    }
}

/// The reports about a function beside its instructions.
struct Said {
    problems: Vec<Problem>,
    assumed: Assumed,
    external: Vec<SmolStr>,
}

fn attempts(
    env: &Environment,
    bodies: &dyn Bodies,
    options: &LowerOptions,
    callee: &Callee,
    kind: FunctionKind,
    outlined: Option<&super::outlined::Outlined>,
    registry: &mut Registry,
) -> (Function, Said) {
    let mut demotions = Demotions::default();
    let mut attempt = 0;
    loop {
        attempt += 1;
        demotions.all_generic = attempt + 2 > MAX_ATTEMPTS;
        let builder = FunctionBuilder::new(callee.name.clone(), kind, options.language);
        let mut cx = Context::new(builder, env, bodies, options, demotions.clone());
        cx.outlined = registry.outlined.clone();
        cx.shared = std::mem::take(&mut registry.shared);
        cx.spent = registry.spent;
        cx.lower_root(callee, kind, outlined);
        registry.shared = std::mem::take(&mut cx.shared);
        if cx.again && attempt < MAX_ATTEMPTS {
            demotions = cx.demotions;
            continue;
        }
        if cx.again {
            cx.unknown(
                "variables whose memory could not be decided",
                &[],
                &CType::Void,
                Span::default(),
            );
        }
        registry.outlined = cx.outlined;
        let mut function = cx.builder.finish();
        if cx.precise && options.language == Language::Hlsl {
            separate(&mut function);
        }
        if outlined.is_some() {
            registry.spent += function.insts.len();
        }
        if options.language == Language::Hlsl {
            resources::mark_non_uniform(&mut function);
        }
        if options.language == Language::Cuda {
            super::spaces::infer(&mut function);
        }
        let said = Said {
            problems: cx.problems,
            assumed: cx.assumed,
            external: cx.external,
        };
        return (function, said);
    }
}

impl Context<'_> {
    fn lower_root(
        &mut self,
        callee: &Callee,
        kind: FunctionKind,
        outlined: Option<&super::outlined::Outlined>,
    ) {
        let Some(callee) = self.with_body(callee) else {
            return;
        };
        let function_ref = callee.function.clone();
        let Some(function) = function_ref.function() else {
            return;
        };
        if function.template.is_some() || matches!(callee.function, FunctionRef::Member { .. }) {
            self.whole_types = super::whole_types::whole_types(function);
        }
        self.builder.function.internal = self.is_c() && self.is_internal(&callee.name);
        let words = function.specifiers.words;
        if words.has(SpecifierSet::EXPORT) || words.has(SpecifierSet::VIRTUAL) {
            // Others call it, too.
            self.reaches(&callee);
        }
        self.builder.function.variadic = function.variadic;
        self.builder.function.span = function.span;
        self.builder.function.name_span = name_span(&function.name);
        let mut frame = Frame::outside(callee.item.clone());
        frame.namespace = callee.namespace.clone();
        frame.label = smol_str::format_smolstr!(
            "{}#{}:{}",
            callee.item.name,
            callee.item.ordinal,
            callee.name
        );
        self.frames.push(frame);
        self.of_module = outlined.is_some();
        self.of_root_class = outlined.is_none();
        let class = match &callee.function {
            FunctionRef::Member { item, path, .. } => {
                let struct_item = item.clone();
                let parent = path.clone();
                self.class_at(&struct_item, &parent)
            }
            _ => self.class_of_definition(&function.name),
        };
        self.of_root_class = false;
        if let Some(class) = class {
            let bindings = self.sources[class.0 as usize].bindings.clone();
            for (name, local) in bindings.iter().cloned() {
                self.declare(name, local);
            }
            self.frame().class = Some(class);
        }
        self.push_scope();
        if let Some(outlined) = outlined {
            for (name, local) in &outlined.template {
                self.declare(name.clone(), local.clone());
            }
        } else if let Some(template) = &function.template {
            self.bind_root_template(template, &callee.name);
        }
        let id = match outlined {
            Some(outlined) => outlined.id.clone(),
            None => format!("{:?}{}", callee.item, callee.name),
        };
        self.callees.push(id);
        self.share_budget(&callee, kind);
        self.push_scope();
        self.launch_of(function);
        if kind == FunctionKind::Kernel && outlined.is_none() && !self.is_hlsl() {
            self.assume_launches(&callee.name);
        }
        let is_entry = self.is_hlsl() && outlined.is_none() && resources::entry(self, function);
        if !is_entry {
            if let Some(class) = class
                && !function.specifiers.words.has(SpecifierSet::STATIC)
            {
                self.here(self.builder.function.name_span);
                let ty = CType::pointer(CType::Struct(class), Space::Generic);
                let text = self.structs.display(&ty);
                let values = self
                    .builder
                    .parameter("this", text, &[Type::Ptr(Space::Generic)]);
                let place = self.memory_place(CType::Struct(class), values[0], false, false, false);
                self.frame().this = Some(place);
            }
            let changed = self.changed_names(function);
            let bound: Vec<Bound> = match asks_for_types(&function.return_type) {
                true => (function.parameters.iter().enumerate())
                    .map(|(index, parameter)| Bound {
                        index,
                        ty: self.resolve_type(&parameter.ty).of_parameter(),
                        pack: parameter.pack,
                    })
                    .collect(),
                false => Vec::new(),
            };
            let ty = match self.declared_return_type(function, &bound) {
                CType::Unknown => CType::Void,
                other => other,
            };
            self.room_parameter(&ty);
            self.precise |= function.specifiers.words.has(ast::SpecifierSet::PRECISE);
            for parameter in &function.parameters {
                let words = parameter.specifiers.words;
                self.precise |= words.has(ast::SpecifierSet::PRECISE);
                self.root_parameter(parameter, kind, &changed);
            }
            let flat = match &ty {
                CType::Reference { .. } => {
                    let mut types = SmallVec::new();
                    types.push(Type::Ptr(Space::Generic));
                    Some(types)
                }
                other => self.structs.returned(other),
            };
            self.not_passed(&ty, true, self.builder.function.name_span);
            self.builder.function.returns = flat.unwrap_or_default().to_vec();
            self.frame().return_type = Some(ty);
        }
        if matches!(function.name, ast::FunctionName::Constructor(_))
            && let Some(this) = self.this_place()
        {
            self.initialise_members(&this, function);
        }
        if let FunctionBody::Block(body) = &function.body {
            self.function_statements(&body.statements);
            let end = Span::at(body.span.end);
            self.finish_return(Parts::new(), end);
        }
        let assumed = std::mem::take(&mut self.assumed_types);
        if kind == FunctionKind::Kernel && outlined.is_none() {
            self.tell_assumed_types(&assumed, function.template.as_ref());
        }
        if outlined.is_none() {
            self.assumed.guesses = assumed;
        }
        let text = self.assumed.text_of_launches(self.options.launch.block);
        if outlined.is_none() && !text.is_empty() {
            let message = format!("facts are given for {text}");
            self.remark(self.builder.function.name_span, message);
        }
        self.globals_reached();
        self.callees.pop();
    }

    /// Notes that an entry without a launch in sight is shown for types that were not named, at the first of
    /// them. Device functions have their facts where they are called, too.
    fn tell_assumed_types(
        &mut self,
        taken: &[(SmolStr, SmolStr)],
        template: Option<&ast::TemplateParameters>,
    ) {
        let is_taken = |ident: &&ast::Ident| taken.iter().any(|(name, _)| *name == ident.name);
        let mut parameters = template.into_iter().flat_map(|t| &t.parameters);
        let place = parameters.find_map(|p| p.name.as_ref().filter(is_taken));
        let span = place.map_or(self.builder.function.name_span, |ident| ident.span);
        for written in ["float", "int"] {
            let of_it = taken.iter().filter(|(_, ty)| ty == written);
            let list: Vec<String> = of_it.map(|(name, _)| format!("`{name}`")).collect();
            let message = match list.as_slice() {
                [] => continue,
                [found] => {
                    format!(
                        "template parameter {found} is not known here and is taken to be `{written}`"
                    )
                }
                all => format!(
                    "template parameters {} are not known here and are taken to be `{written}`",
                    all.join(", ")
                ),
            };
            self.remark(span, message);
        }
    }

    /// Calls that may assign private globals are given their addresses.
    fn globals_reached(&mut self) {
        let calls = std::mem::take(&mut self.reaches_globals);
        if calls.is_empty() {
            return;
        }
        let mut addresses: Vec<Value> = Vec::new();
        for (_, place) in self.global_variables.values() {
            if let Place::Memory { address, access } = &place.place
                && access.space == Space::Local
            {
                addresses.push(*address);
            }
        }
        addresses.sort_unstable();
        for call in calls {
            let data = &mut self.builder.function.insts[call];
            data.args.extend(addresses.iter().copied());
        }
    }

    /// The instance of the structure whose method is lowered on its own.
    fn class_at(&mut self, item: &Arc<ParsedItem>, path: &[u32]) -> Option<StructId> {
        let ItemKind::Struct(declared) = &item.kind else {
            return None;
        };
        let name = declared.name.clone()?;
        let mut plain = name;
        for segment in &mut plain.segments {
            segment.template_arguments = None;
        }
        let CType::Struct(mut id) = self.named_type(&plain)? else {
            return None;
        };
        let mut current = declared;
        for &step in path {
            let Member::Struct(inner) = current.members.get(step as usize)? else {
                return None;
            };
            let name = inner.name.as_ref()?.segments.last()?.ident.name.clone();
            let CType::Struct(inner_id) = self.member_type(id, &name, None, 0)? else {
                return None;
            };
            id = inner_id;
            current = inner;
        }
        Some(id)
    }

    /// The class of a method that is defined outside of it.
    fn class_of_definition(&mut self, name: &ast::FunctionName) -> Option<StructId> {
        let segments = match name {
            ast::FunctionName::Plain(name)
            | ast::FunctionName::Constructor(name)
            | ast::FunctionName::Destructor(name) => {
                name.segments.get(..name.segments.len().checked_sub(1)?)?
            }
            ast::FunctionName::Operator { qualifier, .. }
            | ast::FunctionName::Conversion { qualifier, .. } => &qualifier.as_ref()?.segments,
        };
        if segments.is_empty() {
            return None;
        }
        let mut plain = ast::Name {
            global: false,
            segments: segments.to_vec(),
            span: Span::default(),
        };
        for segment in &mut plain.segments {
            segment.template_arguments = None;
        }
        match self.named_type(&plain) {
            Some(CType::Struct(id)) => Some(id),
            _ => None,
        }
    }

    fn launch_of(&mut self, function: &ast::Function) {
        for attribute in &function.specifiers.attributes {
            let mut numbers = attribute.arguments.iter().map(|argument| {
                let number = self.constant(argument)?;
                u32::try_from(number.as_int()).ok().filter(|&n| n > 0)
            });
            let first = numbers.next().flatten();
            let second = numbers.next().flatten();
            let launch = &mut self.builder.function.launch;
            match attribute.name.as_str() {
                "launch_bounds" => (launch.max_threads, launch.min_blocks) = (first, second),
                "maxnreg" => launch.max_registers = first,
                _ => {}
            }
        }
        let alone = self.is_c();
        let given = self.options.launch.clone();
        let launch = &mut self.builder.function.launch;
        for axis in 0..3 {
            launch.block[axis] = given.block[axis];
            launch.grid[axis] = given.grid[axis];
        }
        launch.warp_size = given.warp_size;
        if alone {
            // A function of C runs alone.
            (launch.block, launch.grid) = ([Some(1); 3], [Some(1); 3]);
        }
        if launch.max_threads.is_none() {
            launch.max_threads = given.max_threads;
        }
    }

    fn root_parameter(
        &mut self,
        parameter: &ast::Parameter,
        kind: FunctionKind,
        changed: &super::arguments::Changed,
    ) {
        let span = parameter.name.as_ref().map_or(parameter.span, |n| n.span);
        self.here(span);
        let mut ty = self.resolve_type(&parameter.ty);
        if let CType::Signature(_) = ty {
            ty = ty.of_parameter();
        }
        if let CType::Array { element, .. } = &ty
            && !self.is_hlsl()
        {
            ty = CType::Pointer {
                to: element.clone(),
                space: Space::Generic,
                is_const: parameter.ty.is_const,
                restrict: false,
                volatile: false,
            };
        }
        let by_reference = matches!(ty, CType::Reference { .. })
            || (self.is_hlsl() && parameter.direction != ast::Direction::In);
        let text = self.structs.display(&ty);
        let name = parameter
            .name
            .as_ref()
            .map(|n| n.name.clone())
            .unwrap_or_default();
        let space = if kind == FunctionKind::Kernel {
            Space::Global
        } else {
            Space::Generic
        };
        let mut ident = parameter.name.clone();
        if let Some(ident) = &mut ident
            && ident.name.is_empty()
        {
            ident.span = span;
        }
        if by_reference {
            let target = ty.value_type().clone();
            let is_const = matches!(ty, CType::Reference { is_const: true, .. });
            let values = self
                .builder
                .parameter(name, text, &[Type::Ptr(Space::Generic)]);
            let Some(ident) = ident else { return };
            let place = self.memory_place(target.clone(), values[0], is_const, false, false);
            return self.declare_in_memory(&ident, &target, place);
        }
        self.not_passed(&ty, false, span);
        if let Some(value) = self.parameter_in(&name, &text, &ty) {
            let Some(ident) = ident else { return };
            // What has no scalars lies in memory of its own already.
            if let (true, Some(target)) = (value.parts.is_empty(), &value.target) {
                let place = (**target).clone();
                return self.declare_in_memory(&ident, &ty, place);
            }
            let place = self.fresh_parameter(&ident, &ty, value, changed, true);
            return self.declare(ident.name.clone(), Local::Variable(place));
        }
        let Some(types) = self.structs.parts(&ty) else {
            // Too large for scalars. A kernel's parameters lie in constant memory, a function's in the lane's own.
            if kind == FunctionKind::Device {
                let address = self.private_parameter(&name, &ty);
                let Some(ident) = ident else { return };
                let place = self.memory_place(ty.clone(), address, false, false, false);
                return self.declare_in_memory(&ident, &ty, place);
            }
            self.builder.parameter(name.clone(), text, &[]);
            let Some(ident) = ident else { return };
            let mut place = self.symbol_place(&name, &ty, Space::Constant, true, span);
            place.is_const = false;
            let key = self.key(ident.span);
            if self.demotions.storage.contains(&key) {
                place = self.own_copy(&place, span);
            }
            return self.declare_in_memory(&ident, &ty, place);
        };
        let types: SmallVec<[Type; 4]> = types
            .iter()
            .map(|&t| match t {
                Type::Ptr(Space::Generic) => Type::Ptr(space),
                other => other,
            })
            .collect();
        let values = self.builder.parameter(name, text, &types);
        if let Some(info) = self.builder.function.parameters.last_mut()
            && let CType::Pointer {
                is_const,
                restrict,
                volatile,
                ..
            } = &ty
        {
            info.no_alias = *restrict;
            info.read_only = *restrict && *is_const && !*volatile;
        }
        let value = RValue::new(ty.clone(), values);
        let Some(ident) = ident else { return };
        if value.parts.len() > 1 && !matches!(ty, CType::Struct(_)) {
            self.builder.vector(&value.parts);
        }
        let place = self.fresh_parameter(&ident, &ty, value, changed, true);
        self.declare(ident.name.clone(), Local::Variable(place));
    }

    /// A parameter that lies in memory.
    fn declare_in_memory(&mut self, ident: &ast::Ident, ty: &CType, mut place: LValue) {
        let variable = self.new_variable(ident, ty, VariableKind::Parameter);
        let at = self.at(ident.span);
        self.builder
            .bind(variable, BindingKind::Declaration, &[], "", at);
        place.name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at,
        });
        if let Place::Memory { address, access } = place.place
            && access.space == Space::Constant
        {
            self.spilled.insert(address, place.clone());
        }
        self.declare(ident.name.clone(), Local::Variable(place));
    }

    /// Private memory with a copy of the object at a place: a parameter that the function writes.
    fn own_copy(&mut self, from: &LValue, span: Span) -> LValue {
        let size = self.structs.size_of(&from.ty).unwrap_or(0);
        let own = self.private_memory(size, self.structs.align_of(&from.ty));
        let place = self.memory_place(from.ty.clone(), own, false, false, false);
        match (&from.place, self.structs.is_exact(&from.ty)) {
            (&Place::Memory { address, access }, true) => {
                let untyped = |access: MemoryAccess| MemoryAccess {
                    untyped: true,
                    ..access
                };
                let to = MemoryAccess::in_space(Space::Local);
                self.here(span);
                self.copied((own, untyped(to)), (address, untyped(access)), &from.ty);
            }
            _ => self.lose_contents(&place),
        }
        place
    }
}

fn name_span(name: &ast::FunctionName) -> Span {
    match name {
        ast::FunctionName::Plain(name)
        | ast::FunctionName::Constructor(name)
        | ast::FunctionName::Destructor(name) => {
            name.segments.last().map_or(name.span, |s| s.ident.span)
        }
        ast::FunctionName::Operator { span, .. } | ast::FunctionName::Conversion { span, .. } => {
            *span
        }
    }
}

/// Marks all arithmetic of a function as rounded by itself: `precise` requests it for the operations that
/// lead to a variable, and the whole function stands for that.
fn separate(function: &mut crate::function::Function) {
    for inst in function.insts.keys() {
        if let Op::Binary(op, wrap) = &mut function.insts[inst].op
            && matches!(
                op,
                BinaryOp::FloatAdd | BinaryOp::FloatSub | BinaryOp::FloatMul
            )
        {
            wrap.separate = true;
        }
    }
}
