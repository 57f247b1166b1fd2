//! Names: variables, members of the class at hand, globals of the unit, builtin values of a launch.

use super::call::Operand;
use super::context::*;
use super::env::{Entry, EntryKind};
use super::expr::{initializer_length, launch_special};
use super::resolve::joined;
use super::types::*;
use super::value::*;
use super::{constant, resources};
use crate::entity::{Value, Variable};
use crate::function::*;
use crate::inst::*;
use crate::types::{Space, Type};
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::{self, Expr, ExprKind, ItemKind, Name};

impl Context<'_> {
    pub fn name(&mut self, name: &Name) -> Operand {
        let Some(last) = name.segments.last() else {
            let value = self.unknown("empty name", &[], &CType::INT, name.span);
            return Operand::Value(value);
        };
        let text = last.ident.name.clone();
        let ident = last.ident.clone();
        if name.segments.len() == 1 {
            match self.lookup_local(&text).cloned() {
                Some(Local::Variable(mut place)) => {
                    if let Some(named) = &mut place.name {
                        named.at = self.at(ident.span);
                    }
                    return Operand::Place(place);
                }
                Some(Local::Constant(number)) => return Operand::Value(self.number(&number)),
                Some(Local::Pack(elements)) => {
                    return match elements.first() {
                        Some(Local::Variable(place)) => Operand::Place(place.clone()),
                        Some(Local::Constant(number)) => {
                            let number = number.clone();
                            Operand::Value(self.number(&number))
                        }
                        _ => Operand::Value(RValue::void()),
                    };
                }
                Some(Local::Type(_)) | None => {}
            }
            if let Some(found) = self.member_of_this(&text, ident.span) {
                return found;
            }
            if let Some(value) = self.launch_variable(&text, ident.span) {
                return Operand::Place(value);
            }
        }
        if self.is_c() && is_function_name(&text) {
            return Operand::Place(self.c_function_name());
        }
        if let Some(found) = self.global_name(name) {
            // `double sin(double), cos(double);` declares a function behind another.
            return match found.ty() {
                CType::Signature(_) => Operand::Value(RValue::new(CType::Function(text, 0), [])),
                _ => found,
            };
        }
        if let Some(number) = self.constant_name(name) {
            return Operand::Value(self.number(&number));
        }
        if self.is_c()
            && let Some(place) = self.flag_of_header(&text)
        {
            return Operand::Place(place);
        }
        if self.is_function(name) {
            let ty = self.function_type(name);
            return Operand::Value(RValue::new(ty, []));
        }
        if name.segments.len() > 1 {
            let outer = &name.segments[..name.segments.len() - 1];
            if let Some(CType::Struct(id)) = self.type_at(outer) {
                if let Some(value) = self.struct_symbol(id, &text, 0) {
                    return Operand::Value(value);
                }
                if let Some(place) = self.static_place(id, &text) {
                    return Operand::Place(place);
                }
                if let Some(value) = self.undecided_constant(id, &text, ident.span) {
                    return Operand::Value(value);
                }
            }
        }
        if matches!(
            text.as_str(),
            "__FUNCTION__" | "__func__" | "__PRETTY_FUNCTION__" | "__FILE__"
        ) {
            return Operand::Value(self.string(None));
        }
        let full = joined(name);
        if let Some(value) = super::builtins::named_value(self, &full, ident.span) {
            return Operand::Value(value);
        }
        // The address of a library's function whose header is known and not read.
        if self.is_c() && super::builtins::is_builtin(self.language, &full) {
            return Operand::Value(RValue::new(CType::Function(full, 0), []));
        }
        let message = format!("`{full}` is not declared here");
        let value = self.unknown(message, &[], &CType::INT, ident.span);
        Operand::Value(value)
    }

    /// `Traits<T>::name` where the primary template is declared only, and `T` is a parameter that nothing determines:
    /// some specialisation's constant, the same in all lanes.
    fn undecided_constant(&mut self, id: StructId, name: &str, span: Span) -> Option<RValue> {
        let origin = self.sources.get(id.0 as usize)?;
        if origin.declared.has_body || !origin.arguments.iter().any(super::classes::is_undecided) {
            return None;
        }
        let class = self.structs[id].name.clone();
        self.remark(
            span,
            format!("`{class}::{name}` depends on a template argument that is not known here"),
        );
        let owner = self.distinct_name(&CType::Struct(id));
        let symbol = smol_str::format_smolstr!("{owner}::{name}");
        let value = self.template_symbol(&symbol, &CType::INT);
        Some(RValue::scalar(CType::INT, value))
    }

    /// A field, static member or constant of the class whose method this is.
    pub(super) fn member_of_this(&mut self, text: &SmolStr, span: Span) -> Option<Operand> {
        let class = self.frames.last()?.class?;
        if let Some(this) = self.this_place()
            && let CType::Struct(id) = this.ty
            && self.structs.field(id, text).is_some()
        {
            let mut place = self.field(&this, id, text, span)?;
            if let Some(named) = &mut place.name {
                named.at = self.at(span);
            }
            return Some(Operand::Place(self.through_reference(place, span)));
        }
        if let Some(number) = self.struct_constant(class, text, 0) {
            return Some(Operand::Value(self.number(&number)));
        }
        if let Some(value) = self.struct_symbol(class, text, 0) {
            return Some(Operand::Value(value));
        }
        self.static_place(class, text).map(Operand::Place)
    }

    /// A member that is a reference is stored as an address.
    pub(super) fn through_reference(&mut self, place: LValue, span: Span) -> LValue {
        let CType::Reference { to, is_const } = &place.ty else {
            return place;
        };
        let (to, is_const) = ((**to).clone(), *is_const);
        let mut pointer = place.clone();
        pointer.ty = CType::pointer(to.clone(), Space::Generic);
        let value = self.load_silently(&pointer, span);
        match value.first() {
            Some(address) => self.memory_place(to, address, is_const, false, false),
            None => place,
        }
    }

    /// A static member that is no constant: a global.
    pub(super) fn static_place(&mut self, id: StructId, name: &str) -> Option<LValue> {
        let ty = self.static_member(id, name)?;
        let full = smol_str::format_smolstr!("{}::{name}", self.structs[id].name);
        if let Some(known) = self.globals.get(&full) {
            return Some(known.clone());
        }
        let place = self.symbol_place(&full, &ty, Space::Global, false, Span::default());
        self.globals.insert(full, place.clone());
        Some(place)
    }

    /// A global symbol as a place.
    pub fn symbol_place(
        &mut self,
        name: &SmolStr,
        ty: &CType,
        space: Space,
        read_only: bool,
        _span: Span,
    ) -> LValue {
        if let CType::Resource(_) | CType::Sampler { .. } = ty {
            let symbol = self.builder.symbol(SymbolData {
                name: name.clone(),
                space: Space::Global,
                kind: SymbolKind::Texture,
                size: None,
                align: 8,
                read_only: true,
                initial: None,
                resource_array: None,
                definition: Default::default(),
            });
            let value = self.at_entry(Op::SymbolAddress(symbol), Type::Handle);
            let mut place = LValue::value(RValue::scalar(ty.clone(), value));
            place.is_const = true;
            return place;
        }
        let size = self.structs.size_of(ty);
        let symbol = self.builder.symbol(SymbolData {
            name: name.clone(),
            space,
            kind: SymbolKind::Memory,
            size: size.and_then(|s| u32::try_from(s).ok()),
            align: self.structs.align_of(ty) as u32,
            read_only,
            initial: None,
            resource_array: None,
            definition: Default::default(),
        });
        let address = self.at_entry(Op::SymbolAddress(symbol), Type::Ptr(space));
        let mut access = MemoryAccess::in_space(space);
        access.read_only |= read_only;
        LValue {
            ty: ty.clone(),
            place: Place::Memory { address, access },
            name: None,
            is_const: read_only,
        }
    }

    /// An instruction of the entry block: usable everywhere.
    pub fn at_entry(&mut self, op: Op, ty: Type) -> Value {
        let current = self.builder.current();
        let entry = self.builder.function.entry();
        self.builder.switch_to(entry);
        let value = self.builder.value(op, &[], ty);
        self.builder.switch_to(current);
        value
    }

    /// `threadIdx` and its like, as a place of three values.
    pub(super) fn launch_variable(&mut self, name: &str, span: Span) -> Option<LValue> {
        if self.is_hlsl() || self.is_c() {
            return None;
        }
        self.here(span);
        if name == "warpSize" {
            let value = self.builder.special(Special::WarpSize, Type::I32);
            return Some(LValue::value(RValue::scalar(CType::INT, value)));
        }
        let special: fn(u8) -> Special = launch_special(name)?;
        let parts: Parts = (0..3)
            .map(|axis| self.builder.special(special(axis), Type::I32))
            .collect();
        let value = RValue::new(CType::vector(CType::UINT, 3), parts);
        Some(LValue::value(value))
    }

    /// Returns true if a name is a function of the unit.
    pub fn is_function(&mut self, name: &Name) -> bool {
        let path: SmallVec<[SmolStr; 4]> =
            name.segments.iter().map(|s| s.ident.name.clone()).collect();
        !self.functions_named(&path).is_empty()
    }

    /// A global variable of the unit.
    pub(super) fn global_name(&mut self, name: &Name) -> Option<Operand> {
        let last = name.segments.last()?;
        let path: SmallVec<[SmolStr; 4]> =
            name.segments.iter().map(|s| s.ident.name.clone()).collect();
        let env = self.env;
        let entries = self.entries(&path);
        if self.is_hlsl()
            && let Some(mut place) = resources::global(self, &last.ident.name, last.ident.span)
        {
            if let Some(named) = &mut place.name {
                named.at = self.at(last.ident.span);
            }
            return Some(Operand::Place(place));
        }
        let entry = self.defining_entry(&entries)?;
        let EntryKind::Variable(number) = entry.what else {
            return None;
        };
        let item = env.item(entry).clone();
        let ItemKind::Variables(declaration) = &item.kind else {
            return None;
        };
        let declarator = declaration.declarators.get(number as usize)?;
        let words = declaration.specifiers.words;
        use ast::SpecifierSet as S;
        let is_const = self.global_is_const(declaration, declarator);
        if is_const
            && !words.has(S::CONSTANT)
            && !words.has(S::SHARED)
            && !self
                .global_variables
                .contains_key(&global_key(&item, number))
            && let Some(number) = self.constant(&Expr {
                kind: ExprKind::Name(name.clone()),
                span: name.span,
            })
        {
            return Some(Operand::Value(self.number(&number)));
        }
        let (variable, mut place) = self.global_place(&item, number, &last.ident)?;
        // What the program computes when it is compiled is no memory, though its number is not known here.
        if self.language == crate::function::Language::Cuda
            && words.has(S::CONSTEXPR)
            && !words.has(S::CONSTANT)
            && place.ty.is_arithmetic()
        {
            let value = self.symbol_of_the_program(&last.ident.name, &place.ty);
            return Some(Operand::Value(RValue::scalar(place.ty.clone(), value)));
        }
        place.name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at: self.at(last.ident.span),
        });
        Some(Operand::Place(place))
    }

    /// Returns, of the declarations of one variable, the one that defines it, or else the first.
    pub(super) fn defining_entry(&self, entries: &[Entry]) -> Option<Entry> {
        let env = self.env;
        // Of several declarations in C the one with a value is the definition.
        let defines = |entry: &&Entry| match (&env.item(**entry).kind, entry.what) {
            (ItemKind::Variables(declaration), EntryKind::Variable(number)) => declaration
                .declarators
                .get(number as usize)
                .is_some_and(|d| !matches!(d.initializer, ast::Initializer::None)),
            _ => false,
        };
        let defined = entries.iter().find(|entry| self.is_c() && defines(entry));
        let variable = |entry: &&Entry| matches!(entry.what, EntryKind::Variable(_));
        // `extern` in front of a definition without a value only announces it.
        let here = |entry: &&Entry| match &env.item(**entry).kind {
            ItemKind::Variables(declaration) => {
                let words = declaration.specifiers.words;
                self.is_c() && variable(entry) && !words.has(ast::SpecifierSet::EXTERN)
            }
            _ => false,
        };
        let whole = |entry: &&Entry| here(entry) && !self.is_unsized(**entry);
        defined
            .or_else(|| entries.iter().find(whole))
            .or_else(|| entries.iter().find(here))
            .or_else(|| entries.iter().find(variable))
            .copied()
    }

    /// `int a[];`, of which another declaration tells the size.
    fn is_unsized(&self, entry: Entry) -> bool {
        let (ItemKind::Variables(declaration), EntryKind::Variable(number)) =
            (&self.env.item(entry).kind, entry.what)
        else {
            return false;
        };
        let declarator = declaration.declarators.get(number as usize);
        let ty = declarator.map(|declarator| &declarator.ty.kind);
        matches!(ty, Some(ast::TypeKind::Array { size: None, .. }))
    }

    fn global_is_const(
        &self,
        declaration: &ast::Declaration,
        declarator: &ast::Declarator,
    ) -> bool {
        match self.is_c() {
            true => super::c_initializers::object_is_const(&declarator.ty),
            false => constant::is_constant(&declaration.specifiers, &declarator.ty),
        }
    }

    /// The memory of a global variable with its initial contents.
    pub(super) fn global_place(
        &mut self,
        item: &ast::ParsedItem,
        number: u32,
        ident: &ast::Ident,
    ) -> Option<(Variable, LValue)> {
        let key = global_key(item, number);
        if let Some(known) = self.global_variables.get(&key) {
            return Some(known.clone());
        }
        let ItemKind::Variables(declaration) = &item.kind else {
            return None;
        };
        let declarator = declaration.declarators.get(number as usize)?;
        let words = declaration.specifiers.words;
        use ast::SpecifierSet as S;
        self.precise |= words.has(S::PRECISE);
        let shared = words.has(S::SHARED);
        let in_constant = words.has(S::CONSTANT);
        let on_device = words.has(S::CUDA_DEVICE) || words.has(S::MANAGED);
        let is_const = self.global_is_const(declaration, declarator);
        let mut frame = Frame::outside(item.key.clone());
        frame.site = self.site();
        frame.namespace = item.scope.clone();
        self.frames.push(frame);
        self.resolving_struct += 1;
        let mut ty = self.resolve_type(&declarator.ty);
        self.resolving_struct -= 1;
        self.lay_out_postponed();
        if self.is_c() {
            ty = self.c_sized(ty, &declarator.initializer);
        }
        if let CType::Array {
            element,
            size: ArraySize::Unknown,
        } = &ty
            && let Some(count) = initializer_length(&declarator.initializer)
        {
            ty = CType::array((**element).clone(), ArraySize::Fixed(count));
        }
        self.frames.pop();
        let (space, read_only) = if shared {
            (Space::Shared, false)
        } else if in_constant || (is_const && !on_device) {
            (Space::Constant, true)
        } else if self.is_hlsl() && words.has(S::STATIC) {
            (Space::Local, false)
        } else {
            (Space::Global, is_const)
        };
        let name = &ident.name;
        let place = if let CType::Signature(_) = ty {
            // A prototype among variables is no object.
            LValue::value(RValue::new(ty.clone(), []))
        } else if space == Space::Local {
            self.private_global(&key, name, &ty, declarator)
        } else {
            self.symbol_place(name, &ty, space, read_only, ident.span)
        };
        let object = self.is_c() && !matches!(ty, CType::Signature(_));
        let symbol = self.newest_symbol().filter(|_| object);
        if let Some(symbol) = symbol {
            let own = self.alignment(&declaration.specifiers.attributes);
            let own = own.max(self.alignment(&declarator.attributes)) as u32;
            let data = &mut self.builder.function.symbols[symbol];
            data.align = data.align.max(own);
            data.definition.thread_local = words.has(S::THREAD_LOCAL);
        }
        let mut place = place;
        place.make_volatile(
            words.has(S::VOLATILE) || super::declare::element_is_volatile(&declarator.ty),
        );
        let text = self.structs.display(&ty);
        // It is declared in another item: its own declaration has no position in this one.
        let variable = self
            .builder
            .variable(name.clone(), text, VariableKind::Global, Loc::NONE);
        let known = (variable, place);
        // An initial value may name the object itself.
        self.global_variables.insert(key, known.clone());
        let valued = !matches!(declarator.initializer, ast::Initializer::None);
        if words.has(S::STATIC) {
            self.set_linkage(symbol, Linkage::Local);
        } else if words.has(S::EXTERN) && !valued {
            self.set_linkage(symbol, Linkage::Elsewhere);
        }
        if symbol.is_some() && (valued || !words.has(S::EXTERN)) {
            let mut frame = Frame::outside(item.key.clone());
            frame.site = self.site();
            self.frames.push(frame);
            let contents = self.static_contents(name, &ty, &declarator.initializer);
            self.frames.pop();
            self.set_contents(symbol, contents);
        }
        Some(known)
    }

    /// HLSL's `static` variables: one copy a lane, initialised at the entry. In a function that others call
    /// it holds the value that they left.
    pub(super) fn private_global(
        &mut self,
        key: &SmolStr,
        name: &SmolStr,
        ty: &CType,
        declarator: &ast::Declarator,
    ) -> LValue {
        let current = self.builder.current();
        let entry = self.builder.function.entry();
        self.builder.switch_to(entry);
        let called = self.builder.function.kind == FunctionKind::Device;
        let address = match called {
            true => self.private_parameter(name, ty),
            false => {
                let size = self.structs.size_of(ty).unwrap_or(4096).clamp(1, 1 << 24);
                let align = self.structs.align_of(ty);
                self.private_memory(size, align)
            }
        };
        self.builder.function.statics.push(StaticData {
            key: key.clone(),
            address,
        });
        let place = LValue::memory(ty.clone(), address, MemoryAccess::in_space(Space::Local));
        if let (false, ast::Initializer::Copy(e)) = (called, &declarator.initializer) {
            let value = self.initialise_value(ty, e);
            self.store_silently(&place, value, e.span);
        }
        self.builder.switch_to(current);
        place
    }

    /// Private memory that the callers filled, as its address.
    pub(super) fn private_parameter(&mut self, name: &SmolStr, ty: &CType) -> Value {
        let text = self.structs.display(ty);
        let types = [Type::Ptr(Space::Local)];
        self.builder.parameter(name.clone(), text, &types)[0]
    }
}

/// The predefined identifiers of a function of C.
pub(super) fn is_function_name(name: &str) -> bool {
    matches!(name, "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__")
}

/// Returns the identity of a global variable: the item, and its number there.
fn global_key(item: &ast::ParsedItem, number: u32) -> SmolStr {
    smol_str::format_smolstr!("{}#{}#{number}", item.key.name, item.key.ordinal)
}
