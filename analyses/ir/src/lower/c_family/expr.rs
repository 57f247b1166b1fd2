//! Expressions: names, operators, members, elements, assignments, conditions.
//!
//! `&&`, `||` and `?:` are plain operations if the guarded operand is cheap and cannot fault (no call, no
//! memory, no division), and branches otherwise.

use super::call::Operand;
use super::context::*;
use super::static_addresses::Contents;
use super::types::*;
use super::value::*;
use crate::function::*;
use crate::inst::{BinaryOp as Ir, *};
use crate::types::{Space, Type};
use smol_str::SmolStr;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::ast::{self, BinaryOp, Expr, ExprKind};

/// Nesting of expressions and statements, inlined callees included.
pub const MAX_DEPTH: u32 = 220;

/// Types that one function asks for of expressions; a `decltype` that names another one twice doubles them.
const MAX_TYPES_ASKED: u32 = 10_000;

impl Context<'_> {
    /// The value of an expression.
    pub fn rvalue(&mut self, e: &Expr) -> RValue {
        match self.expr(e) {
            Operand::Value(value) if self.is_c() => self.code_address(value, e.span),
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

    /// The place that is written: of `c ? a : b`, alone or around a member, that of the arm which is chosen.
    pub fn written_place(&mut self, e: &Expr) -> LValue {
        match self.chosen_place(e) {
            Some(chosen) => self.place(&chosen),
            None => self.place(e),
        }
    }

    /// Returns the place to which a reference is bound, or of which an address is taken.
    pub fn bound(&mut self, e: &Expr) -> Operand {
        match self.chosen_place(e) {
            Some(chosen) => self.expr(&chosen),
            None => self.expr(e),
        }
    }

    /// An expression with `*(c ? &a : &b)` for the `c ? a : b` that it is the place, member or element of. `None`: it is
    /// none, or the language has no such places.
    pub fn chosen_place(&self, e: &Expr) -> Option<Expr> {
        if self.is_hlsl() {
            return None;
        }
        let wrap = |op: ast::UnaryOp, operand: &Expr| Expr {
            kind: ExprKind::Unary {
                op,
                operand: Box::new(operand.clone()),
            },
            span: operand.span,
        };
        let kind = match &e.kind {
            ExprKind::Paren(inner) => ExprKind::Paren(Box::new(self.chosen_place(inner)?)),
            ExprKind::Comma(left, right) => {
                ExprKind::Comma(left.clone(), Box::new(self.chosen_place(right)?))
            }
            ExprKind::Member {
                base,
                member,
                arrow: false,
            } => ExprKind::Member {
                base: Box::new(self.chosen_place(base)?),
                member: member.clone(),
                arrow: false,
            },
            ExprKind::Index { base, indices } => ExprKind::Index {
                base: Box::new(self.chosen_place(base)?),
                indices: indices.clone(),
            },
            ExprKind::Conditional {
                condition,
                then,
                otherwise,
            } => {
                if !is_place(then) || !is_place(otherwise) {
                    return None;
                }
                let arm = |arm: &Expr| {
                    let inner = self.chosen_place(arm).unwrap_or_else(|| arm.clone());
                    Box::new(wrap(ast::UnaryOp::AddressOf, &inner))
                };
                let pointers = Expr {
                    kind: ExprKind::Conditional {
                        condition: condition.clone(),
                        then: arm(then),
                        otherwise: arm(otherwise),
                    },
                    span: e.span,
                };
                return Some(wrap(ast::UnaryOp::Dereference, &pointers));
            }
            _ => return None,
        };
        Some(Expr { kind, span: e.span })
    }

    pub fn expr(&mut self, e: &Expr) -> Operand {
        if self.depth >= MAX_DEPTH {
            let value = self.unknown("nested too deeply", &[], &CType::INT, e.span);
            self.left_out_expression(e);
            return Operand::Value(value);
        }
        self.depth += 1;
        self.here(e.span);
        let result = self.expr_kind(e);
        self.depth -= 1;
        result
    }

    pub(super) fn expr_kind(&mut self, e: &Expr) -> Operand {
        let value = match &e.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Char(_) => {
                match self.constant(e) {
                    Some(number) => self.number(&number),
                    None => self.unknown("literal", &[], &CType::INT, e.span),
                }
            }
            ExprKind::String(text) if self.is_c() => {
                let bytes = super::c_initializers::string_bytes(text);
                return Operand::Place(self.c_string(bytes));
            }
            ExprKind::String(text) => self.string(Some(text)),
            ExprKind::Nullptr => {
                let null = self.builder.constant(Type::Ptr(Space::Generic), 0);
                RValue::scalar(CType::pointer(CType::Void, Space::Generic), null)
            }
            ExprKind::This => match self.this_place() {
                Some(place) if self.is_hlsl() => return Operand::Place(place),
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
            } => {
                let result = self.binary(*op, left, right, *op_span, e);
                if *op == ast::BinaryOp::MemberPointer {
                    // What it names is not known, and may be assigned.
                    self.named_may_change(left);
                }
                return result;
            }
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
            ExprKind::Generic { control, cases } => match self.chosen(control, cases) {
                Ok(value) => return self.expr(value),
                Err(reason) => self.unknown(reason, &[], &CType::INT, e.span),
            },
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
                if let (true, [list]) = (self.is_c() && *brace, arguments.as_slice()) {
                    return Operand::Place(self.c_compound_literal(ty, list, e.span));
                }
                return self.construct(ty, arguments, *brace, e.span);
            }
            ExprKind::Designated { value, .. } => return self.expr(value),
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
                        self.size_of_wide(size)
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

    pub fn number(&mut self, number: &Const) -> RValue {
        if let CType::Function(..) = number.ty {
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

    /// The address of a string; `None` for one whose text is not known here. Equal strings of a module are one symbol.
    pub(super) fn string(&mut self, text: Option<&str>) -> RValue {
        let bytes = text.map(|text| {
            let mut bytes = super::c_initializers::string_bytes(text);
            bytes.push(0);
            bytes
        });
        let name = match &bytes {
            Some(bytes) => {
                let mut hasher = rustc_hash::FxHasher::default();
                bytes.hash(&mut hasher);
                smol_str::format_smolstr!("$string_{:08x}", hasher.finish() as u32)
            }
            None => {
                self.counter += 1;
                smol_str::format_smolstr!("$string{}", self.counter)
            }
        };
        let symbol = self.builder.symbol(SymbolData {
            name,
            space: Space::Constant,
            kind: SymbolKind::Memory,
            size: bytes.as_ref().map(|bytes| bytes.len() as u32),
            align: 1,
            read_only: true,
            initial: bytes,
            resource_array: None,
            definition: Default::default(),
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

    /// `__func__`: the name of the function whose text it stands in, one object however often it is named.
    pub(super) fn c_function_name(&mut self) -> LValue {
        let name = self.function_in_text();
        let key = smol_str::format_smolstr!("{name}#__func__");
        if let Some(known) = self.globals.get(&key) {
            return known.clone();
        }
        let place = self.c_string(name.as_bytes().to_vec());
        self.globals.insert(key, place.clone());
        place
    }

    /// The name of the function whose text is read.
    pub(super) fn function_in_text(&self) -> SmolStr {
        let label = self.frames.last().map_or("", |frame| frame.label.as_str());
        SmolStr::new(label.rsplit(':').next().unwrap_or(label))
    }

    /// A string of C: an array of characters that must not be written.
    fn c_string(&mut self, mut bytes: Vec<u8>) -> LValue {
        self.counter += 1;
        bytes.push(0);
        let ty = CType::array(CType::CHAR, ArraySize::Fixed(bytes.len() as u64));
        // Functions of one module have their own; those of an object's initial value are the object's in all of them.
        let name = match &mut self.initialised {
            Some((object, counter)) => {
                *counter += 1;
                smol_str::format_smolstr!("{object}.string{counter}")
            }
            None => {
                smol_str::format_smolstr!("${}.string{}", self.builder.function.name, self.counter)
            }
        };
        let mut place = self.symbol_place(&name, &ty, Space::Constant, true, Span::default());
        let symbol = self.newest_symbol();
        let contents = Contents {
            width: Some(1),
            bytes,
            addresses: Vec::new(),
            numbers: Vec::new(),
        };
        self.set_contents(symbol, Some(contents));
        self.set_linkage(symbol, Linkage::Local);
        place.is_const = false;
        place
    }

    /// A call without effects on anything that is visible, with a result of its own kind.
    pub(super) fn opaque_call(&mut self, name: &str, ty: &CType, span: Span) -> RValue {
        self.here(span);
        let types = self.structs.parts(ty).unwrap_or_default();
        let op = Op::CallUnknown {
            name: SmolStr::new(name),
            pure: false,
            convention: Default::default(),
        };
        let inst = self.builder.inst(op, &[], &types);
        let parts: Parts = self.builder.results(inst).iter().copied().collect();
        RValue::new(ty.clone(), parts)
    }

    pub fn this_place(&mut self) -> Option<LValue> {
        self.frames.last()?.this.clone()
    }

    /// The type of an expression that is not evaluated.
    pub fn type_of(&mut self, e: &Expr) -> CType {
        match self.unevaluated_operand(e) {
            Some(operand) => operand.ty().clone(),
            None => CType::Unknown,
        }
    }

    /// `decltype(e)` and `typeof(e)`: in C++ the type with which a name was declared, and of another expression that
    /// denotes a place a reference to it.
    pub fn declared_type_of(&mut self, e: &Expr) -> CType {
        let is_name = matches!(e.kind, ExprKind::Name(_) | ExprKind::Member { .. });
        match self.unevaluated_operand(e) {
            Some(Operand::Place(place)) if !is_name && !self.is_c() => {
                match place.ty.value_type() {
                    CType::Unknown => CType::Unknown,
                    to => CType::Reference {
                        to: to.clone().into(),
                        is_const: place.is_const,
                    },
                }
            }
            Some(operand) => operand.ty().clone(),
            None => CType::Unknown,
        }
    }

    /// An expression that is not evaluated is lowered into a block that nothing reaches. Of the functions
    /// that it calls, those with a declared return type are not entered (`returned_unevaluated`).
    fn unevaluated_operand(&mut self, e: &Expr) -> Option<Operand> {
        self.types_asked += 1;
        let operand = (self.types_asked <= MAX_TYPES_ASKED).then(|| {
            let current = self.builder.current();
            let aside = self.builder.create_block();
            self.builder.switch_to(aside);
            let problems = self.problems.len();
            let budget_told = self.budget_told;
            let demotions = self.demotions.clone();
            let again = self.again;
            self.unevaluated += 1;
            let operand = self.expr(e);
            self.unevaluated -= 1;
            self.problems.truncate(problems);
            self.budget_told = budget_told;
            self.demotions = demotions;
            self.again = again;
            self.builder.switch_to(current);
            operand
        });
        if self.unevaluated == 0 {
            self.report_types_asked(e.span);
        }
        operand
    }

    /// Says once that no more types of expressions are found: problems inside of such expressions are not kept.
    fn report_types_asked(&mut self, span: Span) {
        if self.types_asked > MAX_TYPES_ASKED && !std::mem::replace(&mut self.types_told, true) {
            let message = format!(
                "a limit: types of expressions are asked for more than {MAX_TYPES_ASKED} times: from here on they are not known"
            );
            self.report(syntax::ProblemKind::Limit, span, message);
        }
    }

    /// The value of an operand.
    pub fn take(&mut self, operand: Operand, span: Span) -> RValue {
        match operand {
            Operand::Value(value) => value,
            Operand::Place(place) => self.load(&place, span),
        }
    }

    pub(super) fn assign(
        &mut self,
        op: Option<BinaryOp>,
        left: &Expr,
        right: &Expr,
        op_span: Span,
    ) -> Operand {
        // `a = b = c` nests to the right; what is assigned comes first, as the language says.
        if let (None, ExprKind::List(_)) = (op, &right.kind) {
            let place = self.written_place(left);
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
        let place = self.written_place(left);
        if matches!(place.ty.value_type(), CType::Struct(_))
            || (op.is_some() && self.may_overload(&place.ty))
        {
            let symbol = match op {
                Some(op) => format!("{}=", op.symbol()),
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
        let right_operand = match op {
            Some(_) => self.converted_operand(right_operand, right.span),
            None => right_operand,
        };
        let value = self.take(right_operand, right.span);
        let mut place = place;
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
                    if let Some(result) = self.operator_call(op.symbol(), &arguments, op_span) {
                        let result = self.take(result, op_span);
                        self.store(&place, result, op_span);
                        return Operand::Place(place);
                    }
                }
                // `operator T&`: what it names is assigned.
                let converted = self.converted_operand(Operand::Place(place.clone()), left.span);
                let old = match converted {
                    Operand::Place(named) if named.ty != place.ty => {
                        place = named;
                        self.load_silently(&place, left.span)
                    }
                    _ => old,
                };
                self.binary_values(op, old, value, op_span)
            }
        };
        self.store(&place, value, op_span);
        let mut result = place;
        result.name = None;
        Operand::Place(result)
    }

    pub(super) fn cast(&mut self, ty: &ast::Type, operand: &Expr, span: Span) -> Operand {
        let to = self.resolve_type(ty);
        if let ExprKind::List(_) = operand.kind {
            return Operand::Value(self.initialise_value(&to, operand));
        }
        let operand_value = self.expr(operand);
        self.cast_operand(operand_value, &to, span)
    }

    pub fn cast_operand(&mut self, operand: Operand, to: &CType, span: Span) -> Operand {
        if self.is_hlsl()
            && let Operand::Place(place) = &operand
            && let (CType::Int { bits: a, .. }, CType::Int { bits: b, .. }) = (&place.ty, to)
            && a == b
        {
            // Of HLSL's places that are cast, atomics need the place itself.
            let mut place = place.clone();
            place.ty = to.clone();
            return Operand::Place(place);
        }
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
                if let CType::Struct(id) = *operand.ty()
                    && let Some(result) = self.conversion_operator(&operand, id, to, span)
                {
                    return Operand::Value(result);
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

    pub(super) fn fold_expression(
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

    pub(super) fn statement_expression(&mut self, block: &ast::Block) -> Operand {
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
}

pub(super) fn launch_special(name: &str) -> Option<fn(u8) -> Special> {
    Some(match name {
        "threadIdx" => Special::ThreadId,
        "blockIdx" => Special::BlockId,
        "blockDim" => Special::BlockDim,
        "gridDim" => Special::GridDim,
        _ => return None,
    })
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

/// Names a place by its form.
fn is_place(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Paren(inner) => is_place(inner),
        ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::Member { .. } => true,
        ExprKind::Unary { op, .. } => matches!(
            op,
            ast::UnaryOp::Dereference | ast::UnaryOp::PreIncrement | ast::UnaryOp::PreDecrement
        ),
        ExprKind::Assign { .. } => true,
        ExprKind::Comma(_, right) => is_place(right),
        ExprKind::Conditional {
            then, otherwise, ..
        } => is_place(then) && is_place(otherwise),
        _ => false,
    }
}
