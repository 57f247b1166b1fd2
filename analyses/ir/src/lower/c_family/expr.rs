//! Expressions: names, operators, members, elements, assignments, conditions.
//!
//! `&&`, `||` and `?:` are plain operations when what they guard is cheap and cannot fault (no call, no memory, no
//! division), and branches otherwise.

use super::call::{Arg, Operand};
use super::context::*;
use super::env::EntryKind;
use super::resolve::joined;
use super::types::*;
use super::value::*;
use super::{constant, resources};
use crate::entity::Value;
use crate::function::*;
use crate::inst::{BinaryOp as Ir, *};
use crate::types::{Space, Type};
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::rc::Rc;
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::ast::{self, BinaryOp, Expr, ExprKind, ItemKind, Name, UnaryOp};

/// Nesting of expressions and statements, inlined callees included.
pub const MAX_DEPTH: u32 = 220;

impl Context<'_> {
    /// The value of an expression.
    pub fn rvalue(&mut self, e: &Expr) -> RValue {
        match self.expr(e) {
            Operand::Value(value) => value,
            Operand::Place(place) => self.load(&place, e.span),
        }
    }

    /// The place of an expression; a value that has none is a constant place.
    pub fn place(&mut self, e: &Expr) -> LValue {
        match self.expr(e) {
            Operand::Place(place) => place,
            Operand::Value(value) => LValue::value(value),
        }
    }

    pub fn expr(&mut self, e: &Expr) -> Operand {
        if self.depth >= MAX_DEPTH {
            let value = self.unknown("nested too deeply", &[], &CType::INT, e.span);
            return Operand::Value(value);
        }
        self.depth += 1;
        self.here(e.span);
        let result = self.expr_kind(e);
        self.depth -= 1;
        result
    }

    fn expr_kind(&mut self, e: &Expr) -> Operand {
        let value = match &e.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Char(_) => {
                match self.constant(e) {
                    Some(number) => self.number(&number),
                    None => self.unknown("literal", &[], &CType::INT, e.span),
                }
            }
            ExprKind::String(_) => self.string(),
            ExprKind::Nullptr => {
                let null = self.builder.constant(Type::Ptr(Space::Generic), 0);
                RValue::scalar(CType::pointer(CType::Void, Space::Generic), null)
            }
            ExprKind::This => match self.this_place() {
                Some(place) => {
                    let ty = CType::pointer(place.ty.clone(), Space::Generic);
                    RValue::pointer_to(ty, place)
                }
                None => self.unknown("`this` outside of a method", &[], &CType::Unknown, e.span),
            },
            ExprKind::Name(name) => return self.name(name),
            ExprKind::Paren(inner) => return self.expr(inner),
            ExprKind::Unary { op, operand } => return self.unary(*op, operand, e.span),
            ExprKind::Binary {
                op,
                left,
                right,
                op_span,
            } => return self.binary(*op, left, right, *op_span, e),
            ExprKind::Assign {
                op,
                left,
                right,
                op_span,
            } => return self.assign(*op, left, right, *op_span),
            ExprKind::Conditional {
                condition,
                then,
                otherwise,
            } => return self.conditional(condition, then, otherwise, e.span),
            ExprKind::Call { callee, arguments } => return self.call(callee, arguments, e.span),
            ExprKind::Launch {
                configuration,
                arguments,
                ..
            } => {
                for argument in configuration.iter().chain(arguments) {
                    self.rvalue(argument);
                }
                RValue::void()
            }
            ExprKind::Index { base, indices } => return self.index(base, indices, e.span),
            ExprKind::Member {
                base,
                member,
                arrow,
            } => return self.member(base, member, *arrow, e.span),
            ExprKind::Cast { ty, operand, .. } => return self.cast(ty, operand, e.span),
            ExprKind::Construct {
                ty,
                arguments,
                brace,
            } => {
                let ty = self.resolve_type(ty);
                return self.construct(ty, arguments, *brace, e.span);
            }
            ExprKind::List(_) => self.initialise_value(&CType::Unknown, e),
            ExprKind::SizeofType(_) | ExprKind::SizeofExpr(_) | ExprKind::AlignofType(_) => {
                match self.constant(e) {
                    Some(number) => self.number(&number),
                    None => {
                        let ty = match &e.kind {
                            ExprKind::SizeofType(ty) => self.resolve_type(ty),
                            ExprKind::SizeofExpr(inner) => self.type_of(inner),
                            _ => CType::Unknown,
                        };
                        let size = if ty.is_array() {
                            self.size_value(&ty)
                        } else {
                            self.template_symbol(&SmolStr::new_static("sizeof"), &CType::ULONG)
                        };
                        RValue::scalar(CType::ULONG, size)
                    }
                }
            }
            ExprKind::SizeofPack(_) => match self.constant(e) {
                Some(number) => self.number(&number),
                None => self.unknown("sizeof...", &[], &CType::ULONG, e.span),
            },
            ExprKind::Lambda(lambda) => self.closure(lambda, e.span),
            ExprKind::Comma(left, right) => {
                self.expr(left);
                return self.expr(right);
            }
            ExprKind::PackExpansion(inner) => return self.expr(inner),
            ExprKind::Fold {
                op,
                pack,
                initial,
                left,
            } => return self.fold_expression(*op, pack, initial.as_deref(), *left, e.span),
            ExprKind::Statement(block) => return self.statement_expression(block),
            ExprKind::New { ty } => {
                let ty = self.resolve_type(ty);
                let ty = CType::pointer(ty, Space::Generic);
                self.opaque_call("operator new", &ty, e.span)
            }
            ExprKind::Delete(inner) => {
                self.rvalue(inner);
                RValue::void()
            }
            ExprKind::Throw => RValue::void(),
            ExprKind::Unknown => self.unknown(
                "expression that was not understood",
                &[],
                &CType::INT,
                e.span,
            ),
        };
        Operand::Value(value)
    }

    // -------------------------------------------------------------------------------------------- simple values

    pub fn number(&mut self, number: &Const) -> RValue {
        if let CType::Function(_) = number.ty {
            return RValue::new(number.ty.clone(), []);
        }
        let Some(scalar) = number.ty.scalar_ir() else {
            return RValue::void();
        };
        let value = match number.value {
            Number::Int(v) if scalar.is_float() => self.builder.float(scalar, v as f64),
            Number::Int(v) => self.builder.int(scalar, v),
            Number::Float(v) if scalar.is_float() => self.builder.float(scalar, v),
            Number::Float(v) => self.builder.int(scalar, v as i64),
        };
        RValue::scalar(number.ty.clone(), value)
    }

    fn string(&mut self) -> RValue {
        self.counter += 1;
        let symbol = self.builder.symbol(SymbolData {
            name: smol_str::format_smolstr!("$string{}", self.counter),
            space: Space::Constant,
            kind: SymbolKind::Memory,
            size: None,
            align: 1,
            read_only: true,
            initial: None,
            resource_array: None,
        });
        let address = self.builder.symbol_address(symbol);
        RValue::scalar(
            CType::Pointer {
                to: Arc::new(CType::CHAR),
                space: Space::Constant,
                is_const: true,
                restrict: true,
                volatile: false,
            },
            address,
        )
    }

    /// A call without effects on anything that is visible, with a result of its own kind.
    fn opaque_call(&mut self, name: &str, ty: &CType, span: Span) -> RValue {
        self.here(span);
        let types = self.structs.parts(ty).unwrap_or_default();
        let op = Op::CallUnknown {
            name: SmolStr::new(name),
            pure: false,
        };
        let inst = self.builder.inst(op, &[], &types);
        let parts: Parts = self.builder.results(inst).iter().copied().collect();
        RValue::new(ty.clone(), parts)
    }

    pub fn this_place(&mut self) -> Option<LValue> {
        self.frames.last()?.this.clone()
    }

    /// The type of an expression that is not evaluated: it is lowered into a block that nothing reaches.
    pub fn type_of(&mut self, e: &Expr) -> CType {
        let current = self.builder.current();
        let aside = self.builder.create_block();
        self.builder.switch_to(aside);
        let problems = self.problems.len();
        let demotions = self.demotions.clone();
        let again = self.again;
        let operand = self.expr(e);
        let ty = operand.ty().clone();
        self.problems.truncate(problems);
        self.demotions = demotions;
        self.again = again;
        self.builder.switch_to(current);
        ty
    }

    // -------------------------------------------------------------------------------------------- names

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
        if let Some(found) = self.global_name(name) {
            return found;
        }
        if let Some(number) = self.constant(&Expr {
            kind: ExprKind::Name(name.clone()),
            span: name.span,
        }) {
            return Operand::Value(self.number(&number));
        }
        if self.is_function(name) {
            return Operand::Value(RValue::new(CType::Function(joined(name)), []));
        }
        if name.segments.len() > 1 {
            let outer = Name {
                global: name.global,
                segments: name.segments[..name.segments.len() - 1].to_vec(),
                span: name.span,
            };
            if let Some(CType::Struct(id)) = self.named_type(&outer) {
                if let Some(value) = self.struct_symbol(id, &text, 0) {
                    return Operand::Value(value);
                }
                if let Some(place) = self.static_place(id, &text) {
                    return Operand::Place(place);
                }
            }
        }
        if matches!(
            text.as_str(),
            "__FUNCTION__" | "__func__" | "__PRETTY_FUNCTION__" | "__FILE__"
        ) {
            return Operand::Value(self.string());
        }
        let full = joined(name);
        if let Some(value) = super::builtins::named_value(self, &full, ident.span) {
            return Operand::Value(value);
        }
        let message = format!("`{full}` is not declared here");
        let value = self.unknown(message, &[], &CType::INT, ident.span);
        Operand::Value(value)
    }

    /// A field, static member or constant of the class whose method this is.
    fn member_of_this(&mut self, text: &SmolStr, span: Span) -> Option<Operand> {
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
    fn through_reference(&mut self, place: LValue, span: Span) -> LValue {
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
    fn static_place(&mut self, id: StructId, name: &str) -> Option<LValue> {
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
    fn launch_variable(&mut self, name: &str, span: Span) -> Option<LValue> {
        if self.is_hlsl() {
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

    /// Whether a name is a function of the unit.
    pub fn is_function(&mut self, name: &Name) -> bool {
        let path: SmallVec<[SmolStr; 4]> =
            name.segments.iter().map(|s| s.ident.name.clone()).collect();
        !self.functions_named(&path).is_empty()
    }

    /// A global variable of the unit.
    fn global_name(&mut self, name: &Name) -> Option<Operand> {
        let last = name.segments.last()?;
        let path: SmallVec<[SmolStr; 4]> =
            name.segments.iter().map(|s| s.ident.name.clone()).collect();
        let namespace = self.frame().namespace.clone();
        let env = self.env;
        let entries = env.lookup(&namespace, &path);
        if self.is_hlsl()
            && let Some(mut place) = resources::global(self, &last.ident.name, last.ident.span)
        {
            if let Some(named) = &mut place.name {
                named.at = self.at(last.ident.span);
            }
            return Some(Operand::Place(place));
        }
        let entry = *entries
            .iter()
            .find(|e| matches!(e.what, EntryKind::Variable(_)))?;
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
        let shared = words.has(S::SHARED);
        let in_constant = words.has(S::CONSTANT);
        let on_device = words.has(S::CUDA_DEVICE) || words.has(S::MANAGED);
        let key = smol_str::format_smolstr!("{}#{}#{number}", item.key.name, item.key.ordinal);
        let (variable, place) = match self.global_variables.get(&key) {
            Some(known) => known.clone(),
            None => {
                let is_const = constant::is_constant(&declaration.specifiers, &declarator.ty);
                if (is_const || (self.is_hlsl() && words.has(S::STATIC) && is_const))
                    && !in_constant
                    && !shared
                    && let Some(number) = self.constant(&Expr {
                        kind: ExprKind::Name(name.clone()),
                        span: name.span,
                    })
                {
                    return Some(Operand::Value(self.number(&number)));
                }
                let mut frame = Frame::outside(item.key.clone());
                frame.site = self.site();
                frame.namespace = item.scope.clone();
                self.frames.push(frame);
                self.resolving_struct += 1;
                let mut ty = self.resolve_type(&declarator.ty);
                self.resolving_struct -= 1;
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
                } else if in_constant {
                    (Space::Constant, true)
                } else if is_const && !on_device {
                    (Space::Constant, true)
                } else if self.is_hlsl() && words.has(S::STATIC) {
                    (Space::Local, false)
                } else {
                    (Space::Global, is_const)
                };
                let ident = &last.ident.name;
                let place = if space == Space::Local {
                    self.private_global(&ty, declarator)
                } else {
                    self.symbol_place(ident, &ty, space, read_only, last.ident.span)
                };
                let text = self.structs.display(&ty);
                // It is declared in another item: its own declaration has no position in this one.
                let variable =
                    self.builder
                        .variable(ident.clone(), text, VariableKind::Global, Loc::NONE);
                let known = (variable, place);
                self.global_variables.insert(key, known.clone());
                known
            }
        };
        let mut place = place;
        place.name = Some(NamedPart {
            variable,
            part: SmolStr::default(),
            at: self.at(last.ident.span),
        });
        if !place.ty.is_array() {
            return Some(Operand::Place(place));
        }
        Some(Operand::Place(place))
    }

    /// HLSL's `static` globals: one copy a lane, initialised at the entry.
    fn private_global(&mut self, ty: &CType, declarator: &ast::Declarator) -> LValue {
        let current = self.builder.current();
        let entry = self.builder.function.entry();
        self.builder.switch_to(entry);
        let size = self.structs.size_of(ty).unwrap_or(4096).clamp(1, 1 << 24);
        let align = self.structs.align_of(ty);
        let address = self.private_memory(size, align);
        let place = LValue::memory(ty.clone(), address, MemoryAccess::in_space(Space::Local));
        if let ast::Initializer::Copy(e) = &declarator.initializer {
            let value = self.initialise_value(ty, e);
            self.store_silently(&place, value, e.span);
        }
        self.builder.switch_to(current);
        place
    }

    // -------------------------------------------------------------------------------------------- operators

    fn unary(&mut self, op: UnaryOp, operand: &Expr, span: Span) -> Operand {
        match op {
            UnaryOp::AddressOf => {
                let place = match self.expr(operand) {
                    Operand::Place(place) => place,
                    Operand::Value(value) if matches!(value.ty, CType::Function(_)) => {
                        return Operand::Value(value);
                    }
                    Operand::Value(value) => LValue::value(value),
                };
                let space = match &place.place {
                    Place::Memory { access, .. } => access.space,
                    _ => Space::Generic,
                };
                let is_const = place.is_const;
                let read_only =
                    matches!(&place.place, Place::Memory { access, .. } if access.read_only);
                let ty = CType::Pointer {
                    to: Arc::new(place.ty.clone()),
                    space,
                    is_const,
                    restrict: read_only,
                    volatile: false,
                };
                if let Place::Memory { address, .. } = &place.place {
                    return Operand::Value(RValue::scalar(ty, *address));
                }
                Operand::Value(RValue::pointer_to(ty, place))
            }
            UnaryOp::Dereference => {
                let value = self.rvalue(operand);
                if let CType::Struct(_) = value.ty {
                    let place = LValue::value(value);
                    return self
                        .operator_call("*", &[(Operand::Place(place), operand.span)], span)
                        .unwrap_or_else(|| {
                            Operand::Value(self.unknown("operator*", &[], &CType::INT, span))
                        });
                }
                Operand::Place(self.dereference(&value, span))
            }
            UnaryOp::PreIncrement
            | UnaryOp::PreDecrement
            | UnaryOp::PostIncrement
            | UnaryOp::PostDecrement => self.increment(op, operand, span),
            UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not | UnaryOp::BitNot => {
                let operand_value = self.expr(operand);
                if matches!(operand_value.ty(), CType::Struct(_))
                    || (!self.is_hlsl() && matches!(operand_value.ty(), CType::Vector { .. }))
                {
                    let symbol = match op {
                        UnaryOp::Plus => "+",
                        UnaryOp::Minus => "-",
                        UnaryOp::Not => "!",
                        _ => "~",
                    };
                    if let Some(result) =
                        self.operator_call(symbol, &[(operand_value.clone(), operand.span)], span)
                    {
                        return result;
                    }
                }
                let value = self.take(operand_value, operand.span);
                Operand::Value(self.unary_value(op, value, span))
            }
        }
    }

    /// The value of an operand.
    pub fn take(&mut self, operand: Operand, span: Span) -> RValue {
        match operand {
            Operand::Value(value) => value,
            Operand::Place(place) => self.load(&place, span),
        }
    }

    fn unary_value(&mut self, op: UnaryOp, value: RValue, span: Span) -> RValue {
        self.here(span);
        if !value.ty.is_numeric() && !(op == UnaryOp::Not && value.ty.is_pointer()) {
            if op == UnaryOp::Not {
                let truth = self.truth(value, span);
                let negated = self.builder.unary(crate::inst::UnaryOp::Not, truth);
                return RValue::scalar(CType::Bool, negated);
            }
            let parts = value.parts.clone();
            return self.unknown(
                "operator on a value that is no number",
                &parts,
                &value.ty,
                span,
            );
        }
        match op {
            UnaryOp::Plus => {
                let ty = value.ty.with_element(self.promote(value.ty.element()));
                self.convert(value, &ty, span)
            }
            UnaryOp::Minus => self.negate(value, span),
            UnaryOp::Not => {
                if value.ty.components() == 1 {
                    let truth = self.truth(value, span);
                    return RValue::scalar(CType::Bool, self.not(truth));
                }
                let bools = value.ty.with_element(CType::Bool);
                let value = self.convert(value, &bools, span);
                self.map(&value, &CType::Bool, |cx, v| cx.not(v))
            }
            _ => {
                let element = self.promote(value.ty.element());
                let ty = value.ty.with_element(element.clone());
                let value = self.convert(value, &ty, span);
                self.here(span);
                self.map(&value, &element, |cx, v| {
                    if let Some(known) = cx.builder.function.int_constant(v) {
                        let ty = cx.builder.function.ty(v);
                        return cx.builder.int(ty, !known);
                    }
                    if cx.builder.function.ty(v).is_float() {
                        return cx.builder.unknown("~ of a float", &[v], Type::F32);
                    }
                    cx.builder.unary(crate::inst::UnaryOp::Not, v)
                })
            }
        }
    }

    pub fn not(&mut self, value: Value) -> Value {
        match self.builder.function.int_constant(value) {
            Some(known) => self.builder.bool(known == 0),
            None => self.builder.unary(crate::inst::UnaryOp::Not, value),
        }
    }

    fn increment(&mut self, op: UnaryOp, operand: &Expr, span: Span) -> Operand {
        let place = self.place(operand);
        let symbol = if matches!(op, UnaryOp::PreIncrement | UnaryOp::PostIncrement) {
            "++"
        } else {
            "--"
        };
        if let CType::Struct(_) = place.ty {
            let mut arguments = vec![(Operand::Place(place), operand.span)];
            if matches!(op, UnaryOp::PostIncrement | UnaryOp::PostDecrement) {
                let zero = self.builder.int(Type::I32, 0);
                arguments.push((Operand::Value(RValue::scalar(CType::INT, zero)), span));
            }
            return self
                .operator_call(symbol, &arguments, span)
                .unwrap_or_else(|| {
                    Operand::Value(self.unknown("increment of a structure", &[], &CType::INT, span))
                });
        }
        let old = self.load_silently(&place, span);
        self.here(span);
        let one = RValue::scalar(CType::INT, self.builder.int(Type::I32, 1));
        let binary = if symbol == "++" {
            BinaryOp::Add
        } else {
            BinaryOp::Sub
        };
        let new = self.binary_values(binary, old.clone(), one, span);
        let new = self.convert(new, &place.ty, span);
        self.store(&place, new, span);
        match op {
            UnaryOp::PreIncrement | UnaryOp::PreDecrement => {
                let mut silent = place;
                silent.name = None;
                Operand::Place(silent)
            }
            _ => Operand::Value(old),
        }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        op_span: Span,
        whole: &Expr,
    ) -> Operand {
        // Long chains of one operator nest to the left; they are walked here, not by recursion.
        if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
            let a = self.expr(left);
            let vector = self.is_hlsl() && a.ty().components() > 1;
            if !vector {
                let a = self.take(a, left.span);
                return Operand::Value(self.logical(op, a, left, right, op_span));
            }
            let a = self.take(a, left.span);
            let b = self.rvalue(right);
            return Operand::Value(self.arithmetic(op, a, b, op_span));
        }
        let mut chain: SmallVec<[(BinaryOp, &Expr, Span, Span); 8]> = SmallVec::new();
        chain.push((op, right, op_span, whole.span));
        let mut start = left;
        while let ExprKind::Binary {
            op,
            left,
            right,
            op_span,
        } = &start.kind
        {
            if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
                break;
            }
            chain.push((*op, right, *op_span, start.span));
            start = left;
        }
        let mut operand = self.expr(start);
        let mut operand_span = start.span;
        for (op, right, op_span, span) in chain.into_iter().rev() {
            let right_operand = self.expr(right);
            operand = self.binary_operands(
                op,
                operand,
                operand_span,
                right_operand,
                right.span,
                op_span,
                span,
            );
            operand_span = span;
        }
        operand
    }

    #[allow(clippy::too_many_arguments)]
    fn binary_operands(
        &mut self,
        op: BinaryOp,
        left: Operand,
        left_span: Span,
        right: Operand,
        right_span: Span,
        op_span: Span,
        span: Span,
    ) -> Operand {
        if self.may_overload(left.ty()) || self.may_overload(right.ty()) {
            let symbol = operator_symbol(op);
            let arguments = [(left.clone(), left_span), (right.clone(), right_span)];
            if let Some(result) = self.operator_call(symbol, &arguments, op_span) {
                return result;
            }
        }
        let left = self.take(left, left_span);
        let right = self.take(right, right_span);
        self.here(span);
        Operand::Value(self.binary_values(op, left, right, op_span))
    }

    fn may_overload(&self, ty: &CType) -> bool {
        match ty.value_type() {
            CType::Struct(_) | CType::Enum { .. } => true,
            CType::Vector { .. } => !self.is_hlsl(),
            _ => false,
        }
    }

    /// `left op right` of values, pointers included; no user-defined operators.
    pub fn binary_values(
        &mut self,
        op: BinaryOp,
        left: RValue,
        right: RValue,
        span: Span,
    ) -> RValue {
        self.here(span);
        let left = self.decay(left);
        let right = self.decay(right);
        if left.ty.is_numeric() && right.ty.is_numeric() {
            return self.arithmetic(op, left, right, span);
        }
        let comparison = matches!(
            op,
            BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::Equal
                | BinaryOp::NotEqual
        );
        match (&left.ty, &right.ty) {
            (CType::Pointer { .. }, r) if r.is_integer() && !comparison => {
                self.move_pointer(left, right, op == BinaryOp::Sub, span)
            }
            (l, CType::Pointer { .. }) if l.is_integer() && op == BinaryOp::Add => {
                self.move_pointer(right, left, false, span)
            }
            (CType::Pointer { to, .. }, CType::Pointer { .. }) if op == BinaryOp::Sub => {
                let to = (**to).clone();
                let (a, b) = (
                    self.with_address(left, span),
                    self.with_address(right, span),
                );
                let (Some(a), Some(b)) = (a.first(), b.first()) else {
                    return self.unknown("pointer difference", &[], &CType::LONG, span);
                };
                self.here(span);
                let a = self.builder.convert(Convert::Bitcast, a, Type::I64);
                let b = self.builder.convert(Convert::Bitcast, b, Type::I64);
                let difference = self.fold(Ir::Sub, Wrap::NO_SIGNED, a, b);
                let size = self.size_value(&to);
                let count = self.fold(Ir::DivSigned, Wrap::MAY, difference, size);
                RValue::scalar(CType::LONG, count)
            }
            _ if comparison && (left.ty.is_pointer() || right.ty.is_pointer()) => {
                let (a, b) = (
                    self.with_address(left, span),
                    self.with_address(right, span),
                );
                let (Some(a), Some(b)) = (a.first(), b.first()) else {
                    return self.unknown("pointer comparison", &[], &CType::Bool, span);
                };
                self.here(span);
                let ty = match (self.builder.function.ty(a), self.builder.function.ty(b)) {
                    (ty @ Type::Ptr(_), Type::Ptr(_) | Type::I64 | Type::I32) => ty,
                    (_, ty) => ty,
                };
                let a = self.same_pointer(a, ty);
                let b = self.same_pointer(b, ty);
                let bit = self.compare_ints(op, a, b, false);
                RValue::scalar(CType::Bool, bit)
            }
            _ if comparison && left.parts.len() == 1 && right.parts.len() == 1 => {
                let a = left.parts[0];
                let ty = self.builder.function.ty(a);
                let b = self.adapt(right.parts[0], ty);
                if ty.is_integral() || matches!(ty, Type::Opaque | Type::Handle) {
                    let condition = if op == BinaryOp::NotEqual {
                        IntCondition::NotEqual
                    } else {
                        IntCondition::Equal
                    };
                    let bit = self.builder.int_compare(condition, a, b);
                    return RValue::scalar(CType::Bool, bit);
                }
                self.unknown("comparison", &[a, b], &CType::Bool, span)
            }
            _ => {
                let mut parts = left.parts.clone();
                parts.extend(right.parts.iter().copied());
                let ty = if comparison {
                    CType::Bool
                } else if left.ty.is_numeric() {
                    left.ty.clone()
                } else if right.ty.is_numeric() {
                    right.ty.clone()
                } else {
                    left.ty.clone()
                };
                let message = format!(
                    "operator {} of `{}` and `{}`",
                    operator_symbol(op),
                    self.structs.display(&left.ty),
                    self.structs.display(&right.ty)
                );
                self.unknown(message, &parts, &ty, span)
            }
        }
    }

    fn same_pointer(&mut self, value: Value, ty: Type) -> Value {
        if self.builder.function.int_constant(value) == Some(0) {
            return self.builder.constant(ty, 0);
        }
        self.adapt(value, ty)
    }

    /// An array without scalars as the address of its first element.
    pub fn decay(&mut self, value: RValue) -> RValue {
        if let CType::Array { element, .. } = &value.ty
            && !self.is_hlsl()
        {
            let element = (**element).clone();
            let ty = CType::pointer(element.clone(), Space::Generic);
            if let (true, Some(target)) = (value.parts.is_empty(), value.target.clone()) {
                let address = self.address(&target, Span::default());
                if let Some(address) = address {
                    return RValue::scalar(ty, address);
                }
            }
            let mut place = LValue::value(value);
            place.ty = CType::array(element, ArraySize::Unknown);
            let address = self.address(&place, Span::default());
            if let Some(address) = address {
                return RValue::scalar(ty, address);
            }
            return self.undefined(&ty);
        }
        value
    }

    /// `pointer + index`.
    fn move_pointer(
        &mut self,
        pointer: RValue,
        index: RValue,
        negative: bool,
        span: Span,
    ) -> RValue {
        let CType::Pointer { to, .. } = &pointer.ty else {
            return pointer;
        };
        let to = (**to).clone();
        let mut number = self.index_value(&index, span);
        if negative {
            let zero = self.builder.int(Type::I64, 0);
            number = self.fold(Ir::Sub, Wrap::NO_SIGNED, zero, number);
        }
        if self.builder.function.int_constant(number) == Some(0) {
            return pointer;
        }
        let pointer = self.with_address(pointer, span);
        let Some(address) = pointer.first() else {
            return pointer;
        };
        self.here(span);
        let address = self.element_address(address, number, &to);
        RValue::scalar(pointer.ty, address)
    }

    fn logical(
        &mut self,
        op: BinaryOp,
        a: RValue,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> RValue {
        let first = self.truth(a, left.span);
        let and = op == BinaryOp::LogicalAnd;
        if let Some(known) = self.builder.function.int_constant(first) {
            if (known != 0) != and {
                return RValue::scalar(CType::Bool, first);
            }
            let b = self.rvalue(right);
            let second = self.truth(b, right.span);
            return RValue::scalar(CType::Bool, second);
        }
        if self.is_cheap(right) {
            let b = self.rvalue(right);
            let second = self.truth(b, right.span);
            self.here(span);
            let op = if and { Ir::And } else { Ir::Or };
            let both = self.builder.binary(op, Wrap::MAY, first, second);
            return RValue::scalar(CType::Bool, both);
        }
        let slot = self.builder.slot(Type::Bool);
        self.builder.write(slot, first);
        let more = self.builder.create_block();
        let join = self.builder.create_block();
        self.here(span);
        let (then, otherwise) = if and { (more, join) } else { (join, more) };
        self.builder
            .branch(first, then, otherwise, BranchKind::ShortCircuit);
        self.builder.switch_to(more);
        let b = self.rvalue(right);
        let second = self.truth(b, right.span);
        self.builder.write(slot, second);
        self.builder.jump(join);
        self.builder.switch_to(join);
        let value = self.builder.read(slot);
        RValue::scalar(CType::Bool, value)
    }

    /// Pure, short, and without anything that can fault: may be computed although it is not asked for.
    fn is_cheap(&self, e: &Expr) -> bool {
        let mut budget = 12;
        self.cheap_at(e, &mut budget)
    }

    fn cheap_at(&self, e: &Expr, budget: &mut u32) -> bool {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Char(_) => true,
            ExprKind::Nullptr => true,
            ExprKind::Paren(inner) => self.cheap_at(inner, budget),
            ExprKind::Name(name) => match name.segments.as_slice() {
                [only] => match self.lookup_local(&only.ident.name) {
                    Some(Local::Variable(place)) => {
                        matches!(place.place, Place::Slots(_) | Place::Value(_))
                            && (place.ty.is_numeric() || place.ty.is_pointer())
                    }
                    Some(Local::Constant(_)) => true,
                    _ => false,
                },
                _ => false,
            },
            ExprKind::Member {
                base, arrow: false, ..
            } => match &base.kind {
                ExprKind::Name(name) => match name.segments.as_slice() {
                    [only] => match self.lookup_local(&only.ident.name) {
                        Some(Local::Variable(place)) => {
                            matches!(place.place, Place::Slots(_) | Place::Value(_))
                        }
                        None => launch_special(&only.ident.name).is_some() && !self.is_hlsl(),
                        _ => false,
                    },
                    _ => false,
                },
                _ => false,
            },
            ExprKind::Unary { op, operand } => {
                matches!(
                    op,
                    UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not | UnaryOp::BitNot
                ) && self.cheap_at(operand, budget)
            }
            ExprKind::Binary {
                op, left, right, ..
            } => {
                !matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::MemberPointer)
                    && self.cheap_at(left, budget)
                    && self.cheap_at(right, budget)
            }
            ExprKind::Cast { ty, operand, .. } => {
                matches!(ty.kind, ast::TypeKind::Builtin(_)) && self.cheap_at(operand, budget)
            }
            _ => false,
        }
    }

    fn conditional(
        &mut self,
        condition: &Expr,
        then: &Expr,
        otherwise: &Expr,
        span: Span,
    ) -> Operand {
        if let Some(known) = self.constant(condition) {
            return self.expr(if known.truth() { then } else { otherwise });
        }
        let test = self.rvalue(condition);
        if self.is_hlsl() && test.ty.components() > 1 {
            let a = self.rvalue(then);
            let b = self.rvalue(otherwise);
            let common = self.common_type(&a.ty, &b.ty);
            let shape = if common.components() >= test.ty.components() {
                common
            } else {
                test.ty.with_element(common.element().clone())
            };
            let bools = shape.with_element(CType::Bool);
            let test = self.convert(test, &bools, condition.span);
            let a = self.convert(a, &shape, span);
            let b = self.convert(b, &shape, span);
            self.here(span);
            let parts: Parts = (0..shape.components().min(test.parts.len()))
                .filter_map(|i| Some((*test.parts.get(i)?, *a.parts.get(i)?, *b.parts.get(i)?)))
                .map(|(c, x, y)| self.builder.select(c, x, y))
                .collect();
            return Operand::Value(RValue::new(shape, parts));
        }
        let bit = self.truth(test, condition.span);
        if self.is_cheap(then) && self.is_cheap(otherwise) {
            let a = self.rvalue(then);
            let b = self.rvalue(otherwise);
            let ty = self.merged_type(&a, &b);
            let a = self.convert(a, &ty, span);
            let b = self.convert(b, &ty, span);
            let (a, b) = (self.with_address(a, span), self.with_address(b, span));
            self.here(span);
            let mut parts = Parts::new();
            for (&x, &y) in a.parts.iter().zip(&b.parts) {
                let (x, y) = self.one_space(x, y);
                parts.push(self.builder.select(bit, x, y));
            }
            return Operand::Value(RValue::new(ty, parts));
        }
        let (first, second, join) = (
            self.builder.create_block(),
            self.builder.create_block(),
            self.builder.create_block(),
        );
        self.here(condition.span);
        self.builder
            .branch(bit, first, second, BranchKind::Conditional);
        self.builder.switch_to(first);
        let a = self.rvalue(then);
        let a = self.with_address(a, span);
        let end_first = self.builder.current();
        self.builder.switch_to(second);
        let b = self.rvalue(otherwise);
        let b = self.with_address(b, span);
        let ty = self.merged_type(&a, &b);
        let b = self.convert(b, &ty, span);
        let end_second = self.builder.current();
        self.builder.switch_to(end_first);
        let a = self.convert(a, &ty, span);
        let end_first = self.builder.current();
        let key = self.key(span);
        let place = self.new_place(&ty, &key, Some(&a.parts));
        let place = LValue {
            ty: ty.clone(),
            place,
            name: None,
            is_const: false,
        };
        self.builder.switch_to(end_first);
        self.store_silently(&place, a, span);
        self.builder.jump(join);
        self.builder.switch_to(end_second);
        self.store_silently(&place, b, span);
        self.builder.jump(join);
        self.builder.switch_to(join);
        Operand::Value(self.load_silently(&place, span))
    }

    fn one_space(&mut self, a: Value, b: Value) -> (Value, Value) {
        let (x, y) = (self.builder.function.ty(a), self.builder.function.ty(b));
        if x == y {
            return (a, b);
        }
        if let (Type::Ptr(_), Type::Ptr(_)) = (x, y) {
            if self.builder.function.int_constant(a) == Some(0) {
                return (self.builder.constant(y, 0), b);
            }
            if self.builder.function.int_constant(b) == Some(0) {
                return (a, self.builder.constant(x, 0));
            }
            let generic = Type::Ptr(Space::Generic);
            return (self.adapt(a, generic), self.adapt(b, generic));
        }
        let b = self.adapt(b, x);
        (a, b)
    }

    fn merged_type(&mut self, a: &RValue, b: &RValue) -> CType {
        if a.ty == b.ty {
            return a.ty.clone();
        }
        if a.ty.is_numeric() && b.ty.is_numeric() {
            return self.common_type(&a.ty, &b.ty);
        }
        if a.ty.is_pointer() {
            if let (CType::Pointer { to, .. }, CType::Pointer { .. }) = (&a.ty, &b.ty)
                && to.is_void()
            {
                return b.ty.clone();
            }
            return a.ty.clone();
        }
        if b.ty.is_pointer() {
            return b.ty.clone();
        }
        if a.ty.is_void() || a.ty.is_unknown() {
            b.ty.clone()
        } else {
            a.ty.clone()
        }
    }

    fn assign(
        &mut self,
        op: Option<BinaryOp>,
        left: &Expr,
        right: &Expr,
        op_span: Span,
    ) -> Operand {
        // `a = b = c` nests to the right; what is assigned comes first, as the language says.
        if let (None, ExprKind::List(_)) = (op, &right.kind) {
            let place = self.place(left);
            let value = self.initialise_value(&place.ty.clone(), right);
            self.store(&place, value, op_span);
            return Operand::Place(place);
        }
        let right_operand = self.expr(right);
        let right_operand = match right_operand {
            // A place of an aggregate may stay a place for a user's operator.
            Operand::Place(place) if matches!(place.ty, CType::Struct(_)) => Operand::Place(place),
            other => Operand::Value(self.take(other, right.span)),
        };
        let place = self.place(left);
        if matches!(place.ty.value_type(), CType::Struct(_))
            || (op.is_some() && self.may_overload(&place.ty))
        {
            let symbol = match op {
                Some(op) => format!("{}=", operator_symbol(op)),
                None => "=".to_owned(),
            };
            let arguments = [
                (Operand::Place(place.clone()), left.span),
                (right_operand.clone(), right.span),
            ];
            if let Some(result) = self.operator_call(&symbol, &arguments, op_span) {
                return result;
            }
        }
        let value = self.take(right_operand, right.span);
        let value = match op {
            None => value,
            Some(op) => {
                let old = self.load_silently(&place, left.span);
                // Of a user-defined `+` without `+=`.
                if self.may_overload(&place.ty) {
                    let arguments = [
                        (Operand::Value(old.clone()), left.span),
                        (Operand::Value(value.clone()), right.span),
                    ];
                    if let Some(result) =
                        self.operator_call(operator_symbol(op), &arguments, op_span)
                    {
                        let result = self.take(result, op_span);
                        self.store(&place, result, op_span);
                        return Operand::Place(place);
                    }
                }
                self.binary_values(op, old, value, op_span)
            }
        };
        self.store(&place, value, op_span);
        let mut result = place;
        result.name = None;
        Operand::Place(result)
    }

    // -------------------------------------------------------------------------------------------- casts

    fn cast(&mut self, ty: &ast::Type, operand: &Expr, span: Span) -> Operand {
        let to = self.resolve_type(ty);
        if let ExprKind::List(_) = operand.kind {
            return Operand::Value(self.initialise_value(&to, operand));
        }
        let operand_value = self.expr(operand);
        self.cast_operand(operand_value, &to, span)
    }

    pub fn cast_operand(&mut self, operand: Operand, to: &CType, span: Span) -> Operand {
        match to {
            CType::Reference {
                to: target,
                is_const,
            } => {
                if let Operand::Place(place) = operand {
                    if place.ty == **target {
                        return Operand::Place(place);
                    }
                    // Other bytes of the same place.
                    if let (CType::Struct(a), CType::Struct(b)) = (&place.ty, &**target)
                        && let Some(found) = self.base_place(&place, *a, *b)
                    {
                        return Operand::Place(found);
                    }
                    if let Some(address) = self.address(&place, span) {
                        let volatile =
                            matches!(&place.place, Place::Memory { access, .. } if access.volatile);
                        return Operand::Place(self.memory_place(
                            (**target).clone(),
                            address,
                            *is_const,
                            false,
                            volatile,
                        ));
                    }
                    return Operand::Place(place);
                }
                let value = self.take(operand, span);
                Operand::Value(self.convert(value, target, span))
            }
            CType::Void => {
                self.take(operand, span);
                Operand::Value(RValue::void())
            }
            CType::Struct(_) if *operand.ty() != *to => {
                self.construct_from(to.clone(), vec![(operand, span)], span)
            }
            _ => {
                if let CType::Struct(id) = *operand.ty() {
                    if let Some(result) = self.conversion_operator(&operand, id, to, span) {
                        return Operand::Value(result);
                    }
                }
                let value = self.take(operand, span);
                let value = if to.is_pointer() && value.ty.is_array() {
                    self.decay(value)
                } else {
                    value
                };
                Operand::Value(self.convert(value, to, span))
            }
        }
    }

    // -------------------------------------------------------------------------------------------- members, elements

    fn member(&mut self, base: &Expr, member: &Name, arrow: bool, span: Span) -> Operand {
        let Some(last) = member.segments.last() else {
            let value = self.unknown("member without a name", &[], &CType::INT, span);
            return Operand::Value(value);
        };
        let text = last.ident.name.clone();
        // `threadIdx.x` needs one axis only.
        if !arrow
            && !self.is_hlsl()
            && let ExprKind::Name(name) = &base.kind
            && let [only] = name.segments.as_slice()
            && let Some(special) = launch_special(&only.ident.name)
            && self.lookup_local(&only.ident.name).is_none()
            && let Some(axis) = ["x", "y", "z"].iter().position(|a| *a == text)
        {
            self.here(span);
            let value = self.builder.special(special(axis as u8), Type::I32);
            return Operand::Value(RValue::scalar(CType::UINT, value));
        }
        let object = if arrow {
            let operand = self.expr(base);
            self.pointee(operand, base.span)
        } else {
            self.place(base)
        };
        self.member_place(object, &text, last.ident.span, span)
    }

    /// The object behind `->`.
    pub fn pointee(&mut self, operand: Operand, span: Span) -> LValue {
        if let CType::Struct(_) = operand.ty()
            && let Some(result) = self.operator_call("->", &[(operand.clone(), span)], span)
        {
            let value = self.take(result, span);
            return self.dereference(&value, span);
        }
        let value = self.take(operand, span);
        let value = self.decay(value);
        self.dereference(&value, span)
    }

    pub fn member_place(
        &mut self,
        object: LValue,
        text: &SmolStr,
        ident_span: Span,
        span: Span,
    ) -> Operand {
        let object = self.through_reference(object, span);
        match &object.ty {
            CType::Struct(id) => {
                let id = *id;
                if let Some(place) = self.field(&object, id, text, span) {
                    return Operand::Place(self.through_reference(place, span));
                }
                if let Some(number) = self.struct_constant(id, text, 0) {
                    return Operand::Value(self.number(&number));
                }
                if let Some(place) = self.static_place(id, text) {
                    return Operand::Place(place);
                }
            }
            CType::Vector { .. } | CType::Matrix { .. } => {
                if let Some(components) = components(&object.ty, text)
                    && let Some(place) = self.swizzle(&object, &components, &format!(".{text}"))
                {
                    return Operand::Place(place);
                }
            }
            ty if ty.is_arithmetic() => {
                // `.x` of a scalar, `.xxx` in HLSL.
                if let Some(components) = components(&CType::vector(ty.clone(), 1), text) {
                    if components.len() == 1 {
                        return Operand::Place(object);
                    }
                    let value = self.load(&object, span);
                    let wide = CType::vector(ty.clone(), components.len() as u8);
                    return Operand::Value(self.convert(value, &wide, span));
                }
            }
            CType::Resource(_) => {
                let value = self.load_silently(&object, span);
                if let Some(place) = resources::member(self, &value, text, span) {
                    return Operand::Place(place);
                }
            }
            CType::Opaque(name) => {
                let name = name.clone();
                let value = self.load_silently(&object, span);
                if let Some(value) = super::builtins::opaque_member(self, &name, &value, text, span)
                {
                    return Operand::Value(value);
                }
            }
            _ => {}
        }
        let message = format!("member `{text}` of `{}`", self.structs.display(&object.ty));
        let parts = self.known_parts(&object);
        let value = self.unknown(message, &parts, &CType::INT, ident_span);
        Operand::Value(value)
    }

    fn index(&mut self, base: &Expr, indices: &[Expr], span: Span) -> Operand {
        let mut operand = self.expr(base);
        for index in indices {
            operand = self.index_operand(operand, base.span, index, span);
        }
        operand
    }

    fn index_operand(
        &mut self,
        operand: Operand,
        base_span: Span,
        index: &Expr,
        span: Span,
    ) -> Operand {
        match operand.ty().value_type() {
            CType::Struct(_) => {
                let number = self.expr(index);
                let arguments = [(operand, base_span), (number, index.span)];
                return self
                    .operator_call("[]", &arguments, span)
                    .unwrap_or_else(|| {
                        Operand::Value(self.unknown("operator[]", &[], &CType::INT, span))
                    });
            }
            CType::Resource(_) => {
                let resource = self.take(operand, base_span);
                let number = self.rvalue(index);
                return match resources::index(self, &resource, &number, span) {
                    Some(place) => Operand::Place(place),
                    None => {
                        let parts = resource.parts.clone();
                        let value =
                            self.unknown("element of a resource", &parts, &CType::INT, span);
                        Operand::Value(value)
                    }
                };
            }
            CType::Array { .. } | CType::Vector { .. } | CType::Matrix { .. } => {
                let place = match operand {
                    Operand::Place(place) => place,
                    Operand::Value(value) => LValue::value(value),
                };
                if let Some(name) = &place.name
                    && place.ty.is_array()
                    && name.part.is_empty()
                {
                    // The array's name is read here; what is read of it follows.
                    let (variable, at) = (name.variable, name.at);
                    self.builder.bind(variable, BindingKind::Read, &[], "", at);
                }
                let number = self.rvalue(index);
                self.here(span);
                return Operand::Place(self.element(&place, &number, span));
            }
            _ => {}
        }
        let pointer = self.take(operand, base_span);
        let number = self.rvalue(index);
        if number.ty.is_pointer() && pointer.ty.is_integer() {
            let moved = self.move_pointer(number, pointer, false, span);
            return Operand::Place(self.dereference(&moved, span));
        }
        if !pointer.ty.is_pointer() {
            let mut parts = pointer.parts.clone();
            parts.extend(number.parts.iter().copied());
            let value = self.unknown(
                "index of a value that is no array",
                &parts,
                &CType::INT,
                span,
            );
            return Operand::Value(value);
        }
        if let (Some(target), true) = (pointer.target.clone(), pointer.parts.is_empty())
            && target.ty.is_array()
        {
            return Operand::Place(self.element(&target, &number, span));
        }
        let moved = self.move_pointer(pointer, number, false, span);
        self.here(span);
        Operand::Place(self.dereference(&moved, span))
    }

    // -------------------------------------------------------------------------------------------- the rest

    fn closure(&mut self, lambda: &ast::Lambda, span: Span) -> RValue {
        let mut scopes = self.visible_scopes();
        let mut extra = Scope::default();
        for capture in &lambda.captures {
            if let Some(e) = &capture.initializer {
                let value = self.rvalue(e);
                let place = if capture.mode == ast::CaptureMode::Reference {
                    self.place(e)
                } else {
                    LValue::value(value)
                };
                extra.insert(capture.name.name.clone(), Local::Variable(place));
            } else if capture.mode == ast::CaptureMode::Value
                && let Some(Local::Variable(place)) = self.lookup_local(&capture.name.name).cloned()
            {
                let copy = self.frozen(&place, capture.name.span);
                extra.insert(capture.name.name.clone(), Local::Variable(copy));
            }
        }
        if lambda.default_capture == Some(ast::CaptureMode::Value) {
            let mut used: Vec<SmolStr> = Vec::new();
            super::visit::block(&lambda.body, &mut |e| {
                if let ExprKind::Name(name) = &e.kind
                    && let [only] = name.segments.as_slice()
                    && !used.contains(&only.ident.name)
                {
                    used.push(only.ident.name.clone());
                }
            });
            for name in used {
                if extra.contains_key(&name) {
                    continue;
                }
                if let Some(Local::Variable(place)) = self.lookup_local(&name).cloned() {
                    let copy = self.frozen(&place, span);
                    extra.insert(name, Local::Variable(copy));
                }
            }
        }
        scopes.push(extra);
        let this = self.this_place();
        let frame = self.frame();
        let closure = Closure {
            lambda: Arc::new(lambda.clone()),
            scopes: Rc::new(scopes),
            this,
            site: frame.site,
            item: frame.item.clone(),
            label: frame.label.clone(),
            namespace: frame.namespace.clone(),
            class: frame.class,
            span,
        };
        let id = ClosureId(self.closures.len() as u32);
        self.closures.push(Rc::new(closure));
        RValue::new(CType::Lambda(id), [])
    }

    /// What a variable holds now, as a place that does not change with it.
    fn frozen(&mut self, place: &LValue, span: Span) -> LValue {
        if !matches!(place.place, Place::Slots(_)) {
            return place.clone();
        }
        let value = self.load_silently(place, span);
        let mut copy = LValue::value(value);
        copy.name = place.name.clone();
        copy.is_const = false;
        copy
    }

    fn fold_expression(
        &mut self,
        op: BinaryOp,
        pack: &Expr,
        initial: Option<&Expr>,
        left: bool,
        span: Span,
    ) -> Operand {
        let Some(mut elements) = self.pack_elements(pack) else {
            let value = self.unknown("fold without a pack", &[], &CType::INT, span);
            return Operand::Value(value);
        };
        if !left {
            elements.reverse();
        }
        let mut result: Option<RValue> = initial.map(|e| self.rvalue(e));
        for element in elements {
            self.push_scope();
            for (name, local) in element {
                self.declare(name, local);
            }
            let value = self.rvalue(pack);
            self.pop_scope();
            result = Some(match result {
                None => value,
                Some(before) if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) => {
                    let a = self.truth(before, span);
                    let b = self.truth(value, span);
                    let op = if op == BinaryOp::LogicalAnd {
                        Ir::And
                    } else {
                        Ir::Or
                    };
                    let both = self.fold(op, Wrap::MAY, a, b);
                    RValue::scalar(CType::Bool, both)
                }
                Some(before) if left => self.binary_values(op, before, value, span),
                Some(before) => self.binary_values(op, value, before, span),
            });
        }
        Operand::Value(result.unwrap_or_else(|| {
            let known = self.builder.bool(op == BinaryOp::LogicalAnd);
            RValue::scalar(CType::Bool, known)
        }))
    }

    fn statement_expression(&mut self, block: &ast::Block) -> Operand {
        self.push_scope();
        let mut result = Operand::Value(RValue::void());
        for (index, statement) in block.statements.iter().enumerate() {
            match &statement.kind {
                ast::StmtKind::Expr(e) if index + 1 == block.statements.len() => {
                    let value = self.rvalue(e);
                    result = Operand::Value(value);
                }
                _ => self.statement(statement, false),
            }
        }
        self.pop_scope();
        result
    }

    /// A user's operator, as a method of the left operand or as a free function. `None`: there is none that fits.
    pub fn operator_call(
        &mut self,
        symbol: &str,
        operands: &[(Operand, Span)],
        span: Span,
    ) -> Option<Operand> {
        let name = format!("operator{symbol}");
        let (first, first_span) = operands.first()?;
        if let CType::Struct(id) = first.ty().value_type() {
            let methods = self.methods(*id, &name, 0);
            if !methods.is_empty() {
                let object = match first {
                    Operand::Place(place) => place.clone(),
                    Operand::Value(value) => LValue::value(value.clone()),
                };
                let arguments: Vec<Arg<'_>> = operands[1..]
                    .iter()
                    .map(|(operand, span)| Arg {
                        operand: operand.clone(),
                        span: *span,
                        list: None,
                    })
                    .collect();
                let found = self.call_method(&object, methods, &[], &arguments, span);
                if found.is_some() {
                    return found;
                }
            }
        }
        let _ = first_span;
        let candidates = self.functions_named(&[SmolStr::new(&name)]);
        if candidates.is_empty() {
            return None;
        }
        let arguments: Vec<Arg<'_>> = operands
            .iter()
            .map(|(operand, span)| Arg {
                operand: operand.clone(),
                span: *span,
                list: None,
            })
            .collect();
        self.call_overloaded(candidates, &[], None, &arguments, span, 60)
    }
}

/// Components that a swizzle names: `xyzw`, `rgba`, and for matrices `_m00` and `_11`.
pub fn components(ty: &CType, text: &str) -> Option<SmallVec<[u8; 4]>> {
    if let CType::Matrix { rows, columns, .. } = ty {
        let mut out = SmallVec::new();
        for part in text.split('_').skip(1) {
            let (zero_based, digits) = match part.strip_prefix('m') {
                Some(rest) => (true, rest),
                None => (false, part),
            };
            let [r, c] = digits.as_bytes() else {
                return None;
            };
            let base = if zero_based { b'0' } else { b'1' };
            let (r, c) = (r.checked_sub(base)?, c.checked_sub(base)?);
            if r >= *rows || c >= *columns {
                return None;
            }
            out.push(r * columns + c);
        }
        return (!out.is_empty() && out.len() <= 4).then_some(out);
    }
    let count = ty.components();
    if text.is_empty() || text.len() > 4 {
        return None;
    }
    text.bytes()
        .map(|c| {
            let index = match c {
                b'x' | b'r' => 0,
                b'y' | b'g' => 1,
                b'z' | b'b' => 2,
                b'w' | b'a' => 3,
                _ => return None,
            };
            ((index as usize) < count).then_some(index)
        })
        .collect()
}

fn launch_special(name: &str) -> Option<fn(u8) -> Special> {
    Some(match name {
        "threadIdx" => Special::ThreadId,
        "blockIdx" => Special::BlockId,
        "blockDim" => Special::BlockDim,
        "gridDim" => Special::GridDim,
        _ => return None,
    })
}

pub fn operator_symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Spaceship => "<=>",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
        BinaryOp::MemberPointer => "->*",
    }
}

/// Number of elements that an initialiser of `T x[]` gives it.
pub fn initializer_length(initializer: &ast::Initializer) -> Option<u64> {
    match initializer {
        ast::Initializer::Copy(Expr {
            kind: ExprKind::List(items),
            ..
        }) => Some(items.len() as u64),
        ast::Initializer::Copy(Expr {
            kind: ExprKind::String(text),
            ..
        }) => Some(text.len() as u64 + 1),
        ast::Initializer::Brace(items) => Some(items.len() as u64),
        _ => None,
    }
}
