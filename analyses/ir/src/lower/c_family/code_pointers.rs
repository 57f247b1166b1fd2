//! Pointers to functions of C: a number like that of any pointer, from the function's name to the call.
//!
//! ```text
//! int (*f)(int) = k ? f1 : f2; return f(a);      f = select k, symbol f1, symbol f2;  call `*f` (f, a)
//! ```
//! A pointer whose function is known where it is called is that function's call. Functions whose address is taken are
//! functions of the module, so that the address leads somewhere.
//!
//! In CUDA a function that is named as a value has a type of its own, by which a call knows it. Where two of them may come
//! together, or one is stored, it becomes an opaque value (`held_code`), and a call through that may reach any function.

use super::call::{Arg, Operand};
use super::classes::{Callee, FunctionRef};
use super::context::*;
use super::outlined::{MAX_OUTLINED, Outlined};
use super::passing::Given;
use super::types::*;
use super::value::*;
use crate::entity::Value;
use crate::function::{SymbolData, SymbolKind};
use crate::inst::*;
use crate::types::{Space, Type};
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::ast::{self, FunctionBody, SpecifierSet};

impl CType {
    /// Returns the callee of a pointer to a function.
    pub(super) fn signature(&self) -> Option<&Arc<Signature>> {
        match self.value_type() {
            CType::Pointer { to, .. } => match &**to {
                CType::Signature(signature) => Some(signature),
                _ => None,
            },
            _ => None,
        }
    }

    /// A parameter's type: functions and arrays are their addresses.
    pub(super) fn of_parameter(self) -> CType {
        match self {
            CType::Signature(_) => CType::pointer(self, Space::Generic),
            CType::Array { element, .. } => CType::pointer((*element).clone(), Space::Generic),
            other => other,
        }
    }
}

impl Context<'_> {
    /// The type of a function, or of a pointer to one.
    pub(super) fn code_type(&mut self, function: &ast::FunctionType) -> CType {
        let returns = self.resolve_type(&function.return_type);
        let parameters: Vec<CType> = function
            .parameters
            .iter()
            .map(|ty| self.resolve_type(ty).of_parameter())
            .collect();
        let ty = CType::Signature(Arc::new(Signature {
            open: function.variadic || parameters.is_empty(),
            returns,
            parameters,
        }));
        match function.pointer {
            true => CType::pointer(ty, Space::Generic),
            false => ty,
        }
    }

    /// A function that is named as a value, as its address.
    pub(super) fn code_address(&mut self, value: RValue, span: Span) -> RValue {
        let CType::Function(name, _) = &value.ty else {
            return value;
        };
        let name = name.clone();
        let ty = match self.definition_named(&name) {
            Some(callee) => {
                let ty = self.pointer_type_of(&callee);
                self.in_module(callee);
                ty
            }
            None => CType::pointer(CType::Void, Space::Generic),
        };
        self.here(span);
        let same = |data: &SymbolData| data.kind == SymbolKind::Function && data.name == name;
        let symbols = &self.builder.function.symbols;
        let known = symbols.keys().find(|&symbol| same(&symbols[symbol]));
        let symbol = match known {
            Some(symbol) => symbol,
            None => self.builder.symbol(SymbolData {
                name,
                space: Space::Generic,
                kind: SymbolKind::Function,
                // Its entry and its `gp`.
                size: Some(16),
                align: 16,
                read_only: true,
                initial: None,
                resource_array: None,
                definition: Default::default(),
            }),
        };
        let address = self.builder.symbol_address(symbol);
        RValue::scalar(ty, address)
    }

    /// A function or a lambda that is kept where another may be kept, too: a value without a type of its own,
    /// the same for the same function. A caller does not know which one it is.
    pub(super) fn held_code(&mut self, value: RValue, span: Span) -> RValue {
        let name = match &value.ty {
            _ if !value.parts.is_empty() || self.is_c() => return value,
            CType::Function(name, number) => {
                for callee in self.functions_named(&path_of(name)) {
                    self.reaches(&callee);
                }
                smol_str::format_smolstr!("&{name}#{number}")
            }
            CType::Lambda(id) => {
                let lambda = &self.closures[id.0 as usize].lambda;
                if !lambda.captures.is_empty() || lambda.default_capture.is_some() {
                    let ty = CType::Opaque(FUNCTION_POINTER.into());
                    return self.unknown("a lambda with captures that is kept", &[], &ty, span);
                }
                smol_str::format_smolstr!("lambda#{}", id.0)
            }
            _ => return value,
        };
        self.here(span);
        let op = Op::CallUnknown {
            name,
            pure: true,
            convention: Default::default(),
        };
        let held = self.builder.value(op, &[], Type::Opaque);
        RValue::scalar(CType::Opaque(FUNCTION_POINTER.into()), held)
    }

    /// The definition of a function, or else a declaration.
    fn definition_named(&mut self, name: &SmolStr) -> Option<Callee> {
        let found = self.functions_named(std::slice::from_ref(name));
        let body = |callee: &&Callee| {
            let function = callee.function.function();
            function.is_some_and(|f| matches!(f.body, FunctionBody::Block(_)))
        };
        found.iter().find(body).or(found.first()).cloned()
    }

    fn pointer_type_of(&mut self, callee: &Callee) -> CType {
        let returns = self
            .return_type_of(callee, &[], &[])
            .unwrap_or(CType::Unknown);
        let function = callee.function.function();
        let mut frame = Frame::outside(callee.item.clone());
        frame.site = self.site();
        self.frames.push(frame);
        let parameters: Vec<CType> = function
            .iter()
            .flat_map(|f| &f.parameters)
            .map(|parameter| self.resolve_type(&parameter.ty).of_parameter())
            .collect();
        self.frames.pop();
        let signature = Signature {
            open: parameters.is_empty() || function.is_some_and(|f| f.variadic),
            returns,
            parameters,
        };
        CType::pointer(CType::Signature(Arc::new(signature)), Space::Generic)
    }

    /// Makes a function one of the module, where it has a body in sight and there is room.
    pub(super) fn in_module(&mut self, callee: Callee) {
        let FunctionRef::Item(_) = &callee.function else {
            return;
        };
        let Some(full) = self.with_body(&callee) else {
            return;
        };
        let Some(function) = full.function.function() else {
            return;
        };
        let id = super::call::callee_id(&full, None, &[], function);
        if self.outlined.len() < MAX_OUTLINED && !self.outlined.iter().any(|it| it.id == id) {
            self.outlined.push(Outlined {
                id,
                callee: full,
                template: Vec::new(),
            });
        }
    }

    /// Calls the function of a pointer, or one that only a declaration inside a block names.
    pub(super) fn call_pointer(
        &mut self,
        target: Operand,
        arguments: &[ast::Expr],
        callee_span: Span,
        span: Span,
    ) -> Option<Operand> {
        let named = match &target {
            Operand::Place(LValue {
                name: Some(named), ..
            }) => Some(self.builder.function.variables[named.variable].name.clone()),
            _ => None,
        };
        if let CType::Signature(signature) = target.ty().value_type().clone() {
            let name = named?;
            let list = self.arguments(arguments);
            if let Some(found) = self.call_known(&name, &list, span) {
                return Some(found);
            }
            return Some(self.call_signature(name, None, &signature, &list, span));
        }
        let signature = target.ty().signature()?.clone();
        let value = self.take(target, callee_span);
        let value = self.with_address(value, callee_span);
        let pointer = value.first()?;
        let list = self.arguments(arguments);
        if let Some(&Op::SymbolAddress(symbol)) =
            self.builder.function.defining(pointer).map(|data| &data.op)
            && let data = &self.builder.function.symbols[symbol]
            && data.kind == SymbolKind::Function
        {
            let name = data.name.clone();
            if let Some(found) = self.call_known(&name, &list, span) {
                return Some(found);
            }
        }
        let name = named.unwrap_or_else(|| "function pointer".into());
        let name = smol_str::format_smolstr!("{THROUGH}{name}");
        let message = format!(
            "a call through `{}` may reach any function: what it returns and writes is not known",
            &name[THROUGH.len_utf8()..]
        );
        self.remark(span, message);
        Some(self.call_signature(name, Some(pointer), &signature, &list, span))
    }

    /// Refuses a value that goes to or comes from a function in memory by a convention that is not followed:
    /// a message, and no code. Such a structure has more members than values are kept of.
    pub(super) fn not_passed(&mut self, ty: &CType, result: bool, span: Span) {
        if self.is_c() && matches!(ty, CType::Opaque(name) if name == LONG_DOUBLE) {
            let message = "`long double` has 80 bits on IA-64, which no code is made for";
            self.refused(message.into(), span);
            return;
        }
        if !self.is_c() || self.structs.is_passed(ty, result) {
            return;
        }
        let name = self.structs.display(ty);
        self.refused(format!("`{name}` is too large to be passed by value"), span);
    }

    /// Refuses an operation without code; the function has none then.
    pub(super) fn refused(&mut self, message: String, span: Span) {
        let unknown = self.unknown(message, &[], &CType::LONG, span);
        let op = Op::CallUnknown {
            name: "memory".into(),
            pure: false,
            convention: Default::default(),
        };
        self.here(span);
        self.builder.inst(op, &unknown.parts, &[]);
    }

    /// An argument that no parameter is declared for: promoted, and behind `...` a number of floating point is passed as
    /// its bits, for the callee reads it as it reads integers.
    pub(super) fn undeclared_argument(
        &mut self,
        value: RValue,
        variadic: bool,
        span: Span,
    ) -> RValue {
        let to = match &value.ty {
            ty if ty.is_float() => CType::DOUBLE,
            ty if ty.is_integer() => self.promote(ty),
            other => other.clone(),
        };
        let value = self.convert(value, &to, span);
        match value.first() {
            Some(number) if variadic && to == CType::DOUBLE => {
                let bits = self.builder.convert(Convert::Bitcast, number, Type::I64);
                RValue::scalar(CType::LONG, bits)
            }
            _ => value,
        }
    }

    /// A function that other files cannot name, by all its declarations: one of them is `static`, or each is `inline`.
    pub(super) fn is_internal(&mut self, name: &SmolStr) -> bool {
        let all = self.functions_named(std::slice::from_ref(name));
        let words = || {
            let functions = all.iter().filter_map(|callee| callee.function.function());
            functions.map(|function| function.specifiers.words)
        };
        let inline = |words: SpecifierSet| {
            words.has(SpecifierSet::INLINE) && !words.has(SpecifierSet::EXTERN)
        };
        words().any(|words| words.has(SpecifierSet::STATIC)) || words().all(inline)
    }

    fn call_known(&mut self, name: &SmolStr, list: &[Arg<'_>], span: Span) -> Option<Operand> {
        let candidates = self.functions_named(std::slice::from_ref(name));
        self.call_overloaded(candidates, &[], None, list, span, u32::MAX)
    }

    /// A call of a function that is not entered, arguments converted as the signature says.
    fn call_signature(
        &mut self,
        name: SmolStr,
        pointer: Option<Value>,
        signature: &Signature,
        list: &[Arg<'_>],
        span: Span,
    ) -> Operand {
        let returns = signature.returns.clone();
        let mut given = Given::default();
        self.give_room(&mut given, &returns);
        let mut copies = Vec::new();
        for (number, argument) in list.iter().enumerate() {
            let value = match &argument.operand {
                Operand::Place(place) => self.load(place, argument.span),
                Operand::Value(value) => value.clone(),
            };
            let value = self.decay(value);
            let value = match signature.parameters.get(number) {
                Some(ty) if !ty.is_unknown() => {
                    let ty = ty.clone();
                    self.convert(value, &ty, argument.span)
                }
                _ => {
                    let variadic = signature.open && !signature.parameters.is_empty();
                    self.undeclared_argument(value, variadic, argument.span)
                }
            };
            let value = self.given_address(value, &mut copies, argument.span);
            self.not_passed(&value.ty, false, argument.span);
            let named = number < signature.parameters.len() || !signature.open;
            self.give(&mut given, &value, named, argument.span);
        }
        self.not_passed(&returns, true, span);
        let types: SmallVec<[Type; 4]> = self.structs.returned(&returns).unwrap_or_default();
        self.here(span);
        let values: Parts = pointer
            .into_iter()
            .chain(given.values.iter().copied())
            .collect();
        let op = Op::CallUnknown {
            name,
            pure: false,
            convention: given.convention.clone(),
        };
        let inst = self.builder.inst(op, &values, &types);
        let results: Parts = self.builder.results(inst).iter().copied().collect();
        let value = self.taken(&returns, &given, &results);
        self.bring_back(copies, span);
        Operand::Value(value)
    }
}

impl CType {
    /// A function or a lambda, known by its type.
    pub(super) fn is_code(&self) -> bool {
        matches!(self.value_type(), CType::Function(..) | CType::Lambda(_))
    }
}

fn path_of(name: &str) -> SmallVec<[SmolStr; 4]> {
    name.split("::").map(SmolStr::new).collect()
}
