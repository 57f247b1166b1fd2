//! Compile-time evaluation: array sizes, template arguments, `if constexpr`, enumerators, case labels.
//!
//! Looks at the tree, builds nothing. A name counts when it is a template parameter, an enumerator, or a `const` or
//! `constexpr` variable with a constant initialiser; calls count when the callee is one `return` of a constant (or
//! branches to such). Everything else is no constant.

mod library;

use super::context::{Const, Context, Frame, Local, Number};
use super::convert::truncate;
use super::env::EntryKind;
use super::types::*;
use super::value::Place;
use smallvec::SmallVec;
use smol_str::SmolStr;
use syntax::c_family::ast::*;

const MAX_DEPTH: u32 = 48;

impl Context<'_> {
    pub fn constant(&mut self, e: &Expr) -> Option<Const> {
        if self.alias_depth > MAX_DEPTH {
            return None;
        }
        self.alias_depth += 1;
        let found = self.constant_at(e);
        self.alias_depth -= 1;
        found
    }

    fn constant_at(&mut self, e: &Expr) -> Option<Const> {
        match &e.kind {
            ExprKind::Int(literal) => Some(self.int_literal(literal)),
            // Of 80 bits.
            ExprKind::Float(literal) if self.is_c() && literal.suffix == Some('l') => None,
            ExprKind::Float(literal) => Some(Const {
                ty: self.float_literal_type(literal),
                value: Number::Float(literal.value),
            }),
            ExprKind::Bool(value) => Some(Const::bool(*value)),
            ExprKind::Char(c) if self.is_c() => Some(Const::int(i64::from(*c as i32), CType::INT)),
            ExprKind::Char(c) => Some(Const::int(*c as i64, CType::CHAR)),
            ExprKind::Paren(inner) => self.constant(inner),
            ExprKind::Name(name) => self.constant_name(name),
            ExprKind::Unary { op, operand } => {
                let value = self.constant(operand)?;
                let ty = self.promote(&value.ty);
                match (op, value.value) {
                    (UnaryOp::Plus, _) => Some(value),
                    (UnaryOp::Minus, Number::Int(v)) => Some(fit(v.wrapping_neg(), ty)),
                    (UnaryOp::Minus, Number::Float(v)) => Some(Const {
                        ty,
                        value: Number::Float(-v),
                    }),
                    (UnaryOp::Not, _) => Some(Const::bool(!value.truth())),
                    (UnaryOp::BitNot, Number::Int(v)) => Some(fit(!v, ty)),
                    _ => None,
                }
            }
            ExprKind::Binary {
                op, left, right, ..
            } => {
                let decides = match op {
                    BinaryOp::LogicalAnd => Some(false),
                    BinaryOp::LogicalOr => Some(true),
                    _ => None,
                };
                let Some(a) = self.constant(left) else {
                    // Whatever a template parameter on the left is.
                    let decided = decides.filter(|_| has_no_effect(left))?;
                    let b = self.constant(right)?;
                    return (b.truth() == decided).then(|| Const::bool(decided));
                };
                if decides == Some(a.truth()) {
                    return Some(Const::bool(a.truth()));
                }
                let b = self.constant(right)?;
                self.constant_binary(*op, &a, &b)
            }
            ExprKind::Generic { control, cases } => {
                let value = self.chosen(control, cases).ok()?;
                self.constant(value)
            }
            ExprKind::Conditional {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.constant(condition)?;
                let (taken, other) = match condition.truth() {
                    true => (then, otherwise),
                    false => (otherwise, then),
                };
                let taken = self.constant(taken)?;
                match self.constant(other) {
                    Some(other) if taken.ty.is_arithmetic() && other.ty.is_arithmetic() => {
                        let common = self.common_scalar(&taken.ty, &other.ty);
                        self.constant_cast(taken, &common)
                    }
                    _ => Some(taken),
                }
            }
            ExprKind::Cast { ty, operand, .. } => {
                let ty = self.resolve_type(ty);
                let value = self.constant(operand)?;
                self.constant_cast(value, &ty)
            }
            ExprKind::Construct { ty, arguments, .. } => {
                let ty = self.resolve_type(ty);
                match arguments.as_slice() {
                    [] if ty.is_arithmetic() => Some(Const::int(0, ty)),
                    [only] => {
                        let value = self.constant(only)?;
                        self.constant_cast(value, &ty)
                    }
                    _ => None,
                }
            }
            ExprKind::SizeofType(ty) => {
                let ty = self.resolve_type(ty);
                self.lay_out_now(ty.value_type());
                if !self.structs.is_exact(ty.value_type()) {
                    return None;
                }
                let size = self.structs.size_of(ty.value_type())?;
                Some(Const::int(size as i64, self.size_type()))
            }
            ExprKind::SizeofExpr(inner) => {
                let ty = self.type_of(inner);
                self.lay_out_now(ty.value_type());
                if !self.structs.is_exact(ty.value_type()) {
                    return None;
                }
                let size = self.structs.size_of(ty.value_type())?;
                Some(Const::int(size as i64, self.size_type()))
            }
            ExprKind::AlignofType(ty) => {
                let ty = self.resolve_type(ty);
                Some(Const::int(
                    self.structs.align_of(&ty) as i64,
                    self.size_type(),
                ))
            }
            ExprKind::SizeofPack(ident) => match self.lookup_local(&ident.name)? {
                Local::Pack(elements) => Some(Const::int(elements.len() as i64, self.size_type())),
                _ => None,
            },
            ExprKind::Call { callee, arguments } => {
                let ExprKind::Name(name) = &callee.kind else {
                    return None;
                };
                self.constant_call(name, arguments)
            }
            ExprKind::Fold {
                op,
                pack,
                initial,
                left,
            } => self.constant_fold_expression(*op, pack, initial.as_deref(), *left),
            _ => None,
        }
    }

    pub fn int_literal(&self, literal: &IntLiteral) -> Const {
        let value = literal.value;
        let long = match literal.longs {
            0 => false,
            1 => !self.options.long_32bit,
            _ => true,
        };
        let bits: u8 = if long
            || value > u32::MAX as u64
            || (value > i32::MAX as u64 && !literal.unsigned && !literal.based && !self.is_hlsl())
        {
            64
        } else {
            32
        };
        let becomes_unsigned =
            (literal.based || self.is_hlsl()) && bits == 32 && value > i32::MAX as u64;
        let signed = !(literal.unsigned || becomes_unsigned || value > i64::MAX as u64);
        fit(value as i64, CType::int(bits, signed))
    }

    pub fn float_literal_type(&self, literal: &FloatLiteral) -> CType {
        match literal.suffix {
            Some('f') => CType::FLOAT,
            Some('h') if self.is_hlsl() => self.hlsl_half(),
            Some('h') => CType::HALF,
            Some('l' | 'd') => CType::DOUBLE,
            _ if self.is_hlsl() => CType::FLOAT,
            _ => CType::DOUBLE,
        }
    }

    fn constant_cast(&self, value: Const, to: &CType) -> Option<Const> {
        let to = to.value_type();
        if let CType::Function(..) = value.ty {
            return Some(value);
        }
        if to.is_float() {
            return Some(Const {
                value: Number::Float(match to {
                    CType::Float(FloatKind::Single) => value.as_float() as f32 as f64,
                    _ => value.as_float(),
                }),
                ty: to.clone(),
            });
        }
        if *to == CType::Bool {
            return Some(Const::bool(value.truth()));
        }
        if !to.is_integer() {
            return None;
        }
        Some(fit(value.as_int(), to.clone()))
    }

    fn constant_binary(&self, op: BinaryOp, a: &Const, b: &Const) -> Option<Const> {
        use BinaryOp as B;
        match op {
            B::LogicalAnd => return Some(Const::bool(a.truth() && b.truth())),
            B::LogicalOr => return Some(Const::bool(a.truth() || b.truth())),
            _ => {}
        }
        let ty = if matches!(op, B::Shl | B::Shr) {
            self.promote(&a.ty)
        } else {
            self.common_scalar(&a.ty, &b.ty)
        };
        if ty.is_float() {
            let (x, y) = (a.as_float(), b.as_float());
            let value = match op {
                B::Add => x + y,
                B::Sub => x - y,
                B::Mul => x * y,
                B::Div => x / y,
                B::Less => return Some(Const::bool(x < y)),
                B::LessEqual => return Some(Const::bool(x <= y)),
                B::Greater => return Some(Const::bool(x > y)),
                B::GreaterEqual => return Some(Const::bool(x >= y)),
                B::Equal => return Some(Const::bool(x == y)),
                B::NotEqual => return Some(Const::bool(x != y)),
                _ => return None,
            };
            let value = match ty {
                CType::Float(FloatKind::Single) => f64::from(value as f32),
                _ => value,
            };
            return Some(Const {
                ty,
                value: Number::Float(value),
            });
        }
        let scalar = ty.scalar_ir()?;
        let signed = ty.is_signed();
        let (x, y) = (
            truncate(a.as_int(), scalar, signed),
            truncate(b.as_int(), scalar, signed),
        );
        let (ux, uy) = (x as u64, y as u64);
        let order = if signed { x.cmp(&y) } else { ux.cmp(&uy) };
        let value = match op {
            B::Add => x.wrapping_add(y),
            B::Sub => x.wrapping_sub(y),
            B::Mul => x.wrapping_mul(y),
            B::Div if signed => x.checked_div(y)?,
            B::Div => ux.checked_div(uy)? as i64,
            B::Rem if signed => x.checked_rem(y)?,
            B::Rem => ux.checked_rem(uy)? as i64,
            B::Shl => x.checked_shl(u32::try_from(y).ok()?)?,
            B::Shr if signed => x.checked_shr(u32::try_from(y).ok()?)?,
            B::Shr => ux.checked_shr(u32::try_from(y).ok()?)? as i64,
            B::BitAnd => x & y,
            B::BitOr => x | y,
            B::BitXor => x ^ y,
            B::Less => return Some(Const::bool(order.is_lt())),
            B::LessEqual => return Some(Const::bool(order.is_le())),
            B::Greater => return Some(Const::bool(order.is_gt())),
            B::GreaterEqual => return Some(Const::bool(order.is_ge())),
            B::Equal => return Some(Const::bool(order.is_eq())),
            B::NotEqual => return Some(Const::bool(order.is_ne())),
            _ => return None,
        };
        Some(fit(value, ty))
    }

    pub(super) fn constant_name(&mut self, name: &Name) -> Option<Const> {
        let last = name.segments.last()?;
        if name.segments.len() == 1 {
            match self.lookup_local(&last.ident.name) {
                Some(Local::Constant(number)) => return Some(number.clone()),
                Some(Local::Variable(place)) => {
                    let Place::Value(value) = &place.place else {
                        return None;
                    };
                    let (value, ty) = (value.first()?, value.ty.clone());
                    if let Some(number) = self.builder.function.int_constant(value) {
                        return Some(fit(number, ty));
                    }
                    let number = self.float_constant(value)?;
                    return Some(Const {
                        ty,
                        value: Number::Float(number),
                    });
                }
                Some(_) => return None,
                None => {}
            }
            if let Some(found) = self.class_constant(&last.ident.name) {
                return Some(found);
            }
        }
        if let Some(found) = self.library_constant(name) {
            return Some(found);
        }
        let path: SmallVec<[SmolStr; 4]> =
            name.segments.iter().map(|s| s.ident.name.clone()).collect();
        for entry in self.entries(&path) {
            let env = self.env;
            let item = env.item(entry);
            let mut frame = Frame::outside(item.key.clone());
            frame.namespace = item.scope.clone();
            frame.site = self.site();
            let found = match (&item.kind, entry.what) {
                (ItemKind::Enum(declared), EntryKind::Enumerator(n)) => {
                    self.frames.push(frame);
                    let found = self.enumerator(declared, n as usize);
                    self.frames.pop();
                    found
                }
                (ItemKind::Alias(alias), EntryKind::Enumerator(n)) => match &alias.ty.kind {
                    TypeKind::InlineEnum(declared) => self.enumerator(declared, n as usize),
                    _ => None,
                },
                (ItemKind::Variables(declaration), EntryKind::Enumerator(n)) => {
                    match &declaration.declarators.first()?.ty.kind {
                        TypeKind::InlineEnum(declared) => self.enumerator(declared, n as usize),
                        _ => None,
                    }
                }
                (ItemKind::Variables(declaration), EntryKind::Variable(n)) => {
                    let declarator = declaration.declarators.get(n as usize)?;
                    let is_const = match self.is_c() {
                        true => super::c_initializers::object_is_const(&declarator.ty),
                        false => is_constant(&declaration.specifiers, &declarator.ty),
                    };
                    if !is_const {
                        continue;
                    }
                    let arguments = last.template_arguments.clone();
                    let arguments = arguments.map(|list| self.template_arguments(&list));
                    self.frames.push(frame);
                    if let Some(template) = &declaration.template {
                        self.bind_template(template, arguments.as_deref().unwrap_or(&[]));
                    }
                    let found = self.constant_declarator(declarator);
                    self.frames.pop();
                    found
                }
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
        if self.is_c()
            && let Some((declared, number)) = self.env.nested_enumerator(&last.ident.name)
        {
            return self.enumerator(&declared, number as usize);
        }
        if name.segments.len() > 1 {
            match self.type_at(&name.segments[..name.segments.len() - 1]) {
                Some(CType::Struct(id)) => return self.struct_constant(id, &last.ident.name, 0),
                Some(CType::Enum {
                    name: enumeration, ..
                }) => {
                    return self.enumerator_of(&enumeration, &last.ident.name);
                }
                _ => {}
            }
        }
        None
    }

    /// A function named as a value, where a function is wanted.
    pub(super) fn constant_function(&mut self, e: &Expr) -> Option<Const> {
        match &e.kind {
            ExprKind::Paren(inner) => self.constant_function(inner),
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.constant_function(operand),
            ExprKind::Name(name) => {
                if self.is_function(name) {
                    let ty = self.function_type(name);
                    return Some(Const::int(0, ty));
                }
                None
            }
            _ => None,
        }
    }

    fn enumerator_of(&mut self, enumeration: &str, enumerator: &str) -> Option<Const> {
        for entry in self.entries(&[SmolStr::new(enumerator)]) {
            let env = self.env;
            if let (ItemKind::Enum(declared), EntryKind::Enumerator(n)) =
                (&env.item(entry).kind, entry.what)
                && declared
                    .name
                    .as_ref()
                    .is_some_and(|i| i.name == enumeration)
            {
                return self.enumerator(declared, n as usize);
            }
        }
        None
    }

    /// The constant that a declarator with an initialiser stands for.
    pub fn constant_declarator(&mut self, declarator: &Declarator) -> Option<Const> {
        let e = match &declarator.initializer {
            Initializer::Copy(e) => e,
            Initializer::Brace(list) | Initializer::Paren(list) => match list.as_slice() {
                [only] => only,
                _ => return None,
            },
            Initializer::None => return None,
        };
        let ty = self.resolve_type(&declarator.ty);
        let value = match self.constant(e) {
            Some(value) => value,
            None if ty.is_pointer() || matches!(ty, CType::Opaque(_)) => {
                self.constant_function(e)?
            }
            None => return None,
        };
        if ty.is_unknown() {
            return Some(value);
        }
        self.constant_cast(value, &ty)
    }

    fn constant_fold_expression(
        &mut self,
        op: BinaryOp,
        pack: &Expr,
        initial: Option<&Expr>,
        _left: bool,
    ) -> Option<Const> {
        let mut result = match initial {
            Some(e) => Some(self.constant(e)?),
            None => None,
        };
        for element in self.pack_elements(pack)? {
            self.push_scope();
            for (name, local) in element {
                self.declare(name, local);
            }
            let value = self.constant(pack);
            self.pop_scope();
            let value = value?;
            result = Some(match result {
                Some(before) => self.constant_binary(op, &before, &value)?,
                None => value,
            });
        }
        result.or_else(|| match op {
            BinaryOp::LogicalAnd => Some(Const::bool(true)),
            BinaryOp::LogicalOr => Some(Const::bool(false)),
            _ => None,
        })
    }

    // -------------------------------------------------------------------------------------------- calls

    /// A fraction that headers of basic operations, none of which was found, declare.
    pub(super) fn constant_fraction(&self, name: &str, number: f64) -> Option<Const> {
        let known = self.is_c() && self.env.basic_operations_missing;
        let (word, number) = super::builtins::basic::fraction(name, number).filter(|_| known)?;
        Some(Const {
            ty: word.ctype(),
            value: Number::Int(number),
        })
    }

    fn constant_call(&mut self, name: &Name, arguments: &[Expr]) -> Option<Const> {
        let values: Option<Vec<Const>> = arguments.iter().map(|a| self.constant(a)).collect();
        let values = values?;
        let last = name.segments.last()?;
        if let Some(ty) = self.named_type(name)
            && let [only] = values.as_slice()
        {
            return self.constant_cast(only.clone(), &ty);
        }
        let path: SmallVec<[SmolStr; 4]> =
            name.segments.iter().map(|s| s.ident.name.clone()).collect();
        // What the unit declares is its own.
        let declared = self.is_c() && !self.functions_named(&path).is_empty();
        if let [only] = values.as_slice()
            && !declared
            && let Some(fraction) = self.constant_fraction(&last.ident.name, only.as_float())
        {
            return Some(fraction);
        }
        match (last.ident.name.as_str(), values.as_slice()) {
            _ if declared => {}
            ("min", [a, b]) => {
                let less = self.constant_binary(BinaryOp::Less, a, b)?.truth();
                return Some(if less { a.clone() } else { b.clone() });
            }
            ("max", [a, b]) => {
                let less = self.constant_binary(BinaryOp::Less, a, b)?.truth();
                return Some(if less { b.clone() } else { a.clone() });
            }
            _ => {}
        }
        let namespace = self.frame().namespace.clone();
        let explicit = match &last.template_arguments {
            Some(list) => self.template_arguments(list),
            None => Vec::new(),
        };
        for entry in self.env.lookup(&namespace, &path) {
            let EntryKind::Function = entry.what else {
                continue;
            };
            let env = self.env;
            let key = env.item(entry).key.clone();
            let scope = env.item(entry).scope.clone();
            let Some(item) = self.fetch(&key) else {
                continue;
            };
            let ItemKind::Function(function) = &item.kind else {
                continue;
            };
            let FunctionBody::Block(body) = &function.body else {
                continue;
            };
            if !function.specifiers.words.has(SpecifierSet::CONSTEXPR)
                || function.parameters.len() != values.len()
            {
                continue;
            }
            let mut frame = Frame::outside(key);
            frame.namespace = scope;
            frame.site = self.site();
            self.frames.push(frame);
            if let Some(template) = &function.template {
                self.bind_template(template, &explicit);
            }
            for (parameter, value) in function.parameters.iter().zip(&values) {
                if let Some(ident) = &parameter.name {
                    let ty = self.resolve_type(&parameter.ty);
                    let value = self.constant_cast(value.clone(), &ty);
                    let value = value.unwrap_or_else(|| values[0].clone());
                    self.declare(ident.name.clone(), Local::Constant(value));
                }
            }
            let result = self.constant_statements(&body.statements);
            let result = match result {
                Some(value) => {
                    let ty = self.resolve_type(&function.return_type);
                    if ty.is_unknown() {
                        Some(value)
                    } else {
                        self.constant_cast(value, &ty)
                    }
                }
                None => None,
            };
            self.frames.pop();
            if result.is_some() {
                return result;
            }
        }
        None
    }

    /// The value returned by straight-line code with branches on constants.
    fn constant_statements(&mut self, statements: &[Stmt]) -> Option<Const> {
        for statement in statements {
            match &statement.kind {
                StmtKind::Return(Some(e)) => {
                    return self.constant(e).or_else(|| self.constant_function(e));
                }
                StmtKind::Switch {
                    condition: Condition::Expr(condition),
                    body,
                    ..
                } => {
                    let selector = self.constant(condition)?.as_int();
                    let StmtKind::Block(block) = &body.kind else {
                        return None;
                    };
                    let mut start = None;
                    for (index, inner) in block.statements.iter().enumerate() {
                        match &inner.kind {
                            StmtKind::Case { value, .. }
                                if self.constant(value)?.as_int() == selector =>
                            {
                                start = Some(index);
                                break;
                            }
                            StmtKind::Default => start = Some(index),
                            _ => {}
                        }
                    }
                    if let Some(start) = start
                        && let Some(value) = self.constant_statements(&block.statements[start..])
                    {
                        return Some(value);
                    }
                }
                StmtKind::Break => return None,
                StmtKind::Case { .. } | StmtKind::Default => {}
                StmtKind::Block(block) => {
                    if let Some(value) = self.constant_statements(&block.statements) {
                        return Some(value);
                    }
                }
                StmtKind::If {
                    condition: Condition::Expr(condition),
                    then,
                    otherwise,
                    ..
                } => {
                    let taken = self.constant(condition)?.truth();
                    let branch = if taken {
                        Some(&**then)
                    } else {
                        otherwise.as_deref()
                    };
                    if let Some(branch) = branch
                        && let Some(value) = self.constant_statements(std::slice::from_ref(branch))
                    {
                        return Some(value);
                    }
                }
                StmtKind::Declaration(declaration)
                    if is_constant(
                        &declaration.specifiers,
                        &declaration.declarators.first()?.ty,
                    ) =>
                {
                    for declarator in &declaration.declarators {
                        if let DeclaratorName::Plain(ident) = &declarator.name {
                            let value = self.constant_declarator(declarator)?;
                            self.declare(ident.name.clone(), Local::Constant(value));
                        }
                    }
                }
                StmtKind::Empty | StmtKind::Alias(_) | StmtKind::UsingNamespace(_) => {}
                StmtKind::Expr(_) => {}
                _ => return None,
            }
        }
        None
    }
}

/// Names, numbers and operators that change nothing.
fn has_no_effect(e: &Expr) -> bool {
    let mut none = true;
    super::visit::expr(e, &mut |inner| {
        none &= matches!(
            inner.kind,
            ExprKind::Name(_)
                | ExprKind::Int(_)
                | ExprKind::Bool(_)
                | ExprKind::Char(_)
                | ExprKind::Paren(_)
                | ExprKind::SizeofType(_)
                | ExprKind::Binary { .. }
                | ExprKind::Unary {
                    op: UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not | UnaryOp::BitNot,
                    ..
                }
        );
    });
    none
}

/// A number as its type holds it.
pub fn fit(value: i64, ty: CType) -> Const {
    let value = match ty.scalar_ir() {
        Some(scalar) => truncate(value, scalar, ty.is_signed()),
        None => value,
    };
    Const::int(value, ty)
}

pub fn is_constant(specifiers: &Specifiers, ty: &Type) -> bool {
    specifiers.words.has(SpecifierSet::CONSTEXPR)
        || specifiers.words.has(SpecifierSet::CONST)
        || ty.is_const
}
