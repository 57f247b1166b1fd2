//! Template parameters: binding explicit arguments and defaults, deduction from call arguments, packs.
//!
//! A value parameter that nothing determines is a uniform symbol, `Op::Parameter`; a type parameter that nothing
//! determines is `float`, and a problem says so.

use super::assumed::names_whole;
use super::context::{Context, Local, Scope};
use super::types::*;
use super::value::{LValue, Parts, RValue};
use super::visit;
use crate::entity::Value;
use crate::function::ValueDef;
use crate::inst::Op;
use crate::types::Type;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::c_family::ast::{
    self, TemplateArgument, TemplateParameterKind, TemplateParameters, TypeKind,
};

const MAX_DEPTH: u32 = 16;
/// Nesting of an argument's expression that is computed at the entry.
const SYMBOL_DEPTH: u32 = 8;

impl Context<'_> {
    /// Declares the parameters of a template in the current scope.
    pub fn bind_template(&mut self, template: &TemplateParameters, arguments: &[Local]) {
        let mut next = 0usize;
        for parameter in &template.parameters {
            let name = parameter
                .name
                .as_ref()
                .map(|n| n.name.clone())
                .unwrap_or_default();
            if parameter.pack {
                let rest = arguments.get(next..).unwrap_or(&[]).to_vec();
                next = arguments.len();
                let rest = match rest.as_slice() {
                    [Local::Pack(inner)] => inner.clone(),
                    _ => rest,
                };
                self.declare(name, Local::Pack(rest));
                continue;
            }
            let given = arguments.get(next).cloned();
            next += 1;
            let bound = match given {
                Some(local) => self.fit_argument(&parameter.kind, local),
                None => self.default_argument(&name, &parameter.kind),
            };
            self.declare(name, bound);
        }
    }

    /// A number given for a value parameter takes the parameter's type.
    pub(super) fn fit_argument(&mut self, kind: &TemplateParameterKind, local: Local) -> Local {
        if let (TemplateParameterKind::Value { ty, .. }, Local::Constant(number)) = (kind, &local) {
            let ty = self.resolve_type(ty);
            if ty.is_integer() {
                return Local::Constant(super::constant::fit(number.as_int(), ty));
            }
        }
        local
    }

    pub(super) fn default_argument(
        &mut self,
        name: &SmolStr,
        kind: &TemplateParameterKind,
    ) -> Local {
        if self.of_root_class
            && let Some(given) = self.given_argument(name, kind)
        {
            return self.fit_argument(kind, given);
        }
        match kind {
            TemplateParameterKind::Type { default: Some(ty) } => {
                let ty = self.resolve_type(ty);
                Local::Type(ty)
            }
            TemplateParameterKind::Type { default: None } => {
                let whole = self.whole_types.contains(name) || names_whole(name);
                let (ty, written) = match whole {
                    true => (CType::INT, "int"),
                    false => (CType::FLOAT, "float"),
                };
                self.note_assumed_type(name, written);
                Local::Type(ty)
            }
            TemplateParameterKind::Value { ty, default } => {
                if let Some(e) = default
                    && let Some(number) = self.constant(e)
                {
                    return Local::Constant(number);
                }
                let ty = self.resolve_type(ty);
                // A function that is not known stays one.
                let kept = ty.is_arithmetic() || matches!(ty, CType::Opaque(_));
                let ty = if kept { ty } else { CType::INT };
                let value = self.template_symbol(name, &ty);
                Local::Variable(LValue::value(RValue::scalar(ty, value)))
            }
            TemplateParameterKind::Template { default: Some(ty) } => {
                Local::Type(self.template_of_type(ty))
            }
            TemplateParameterKind::Template { default: None } => Local::Type(CType::Unknown),
        }
    }

    /// A type given as an argument. A template's name alone stands for the template: nothing is assumed of its
    /// parameters, for `P<T>` gives them (`Context::same_template`).
    pub(super) fn template_of_type(&mut self, ty: &ast::Type) -> CType {
        let assumed = self.assumed_types.len();
        let found = self.resolve_type(ty);
        if let (TypeKind::Named(name), CType::Struct(_)) = (&ty.kind, &found)
            && name
                .segments
                .last()
                .is_some_and(|s| s.template_arguments.is_none())
        {
            self.assumed_types.truncate(assumed);
        }
        found
    }

    fn note_assumed_type(&mut self, name: &SmolStr, written: &'static str) {
        let taken = (name.clone(), SmolStr::new_static(written));
        if !name.is_empty() && !self.assumed_types.contains(&taken) {
            self.assumed_types.push(taken);
        }
    }

    /// The uniform symbol of a template parameter whose number is not known. It is computed at the entry, so that it
    /// can be used everywhere.
    pub fn template_symbol(&mut self, name: &SmolStr, ty: &CType) -> Value {
        let scalar = ty.scalar_ir().unwrap_or(Type::I32);
        let current = self.builder.current();
        let entry = self.builder.function.entry();
        self.builder.switch_to(entry);
        let value = self.builder.value(Op::Parameter(name.clone()), &[], scalar);
        self.builder.switch_to(current);
        value
    }

    /// The uniform symbol of a constant whose number is not known, the same wherever it is named.
    pub(super) fn symbol_of_the_program(&mut self, name: &SmolStr, ty: &CType) -> Value {
        let function = &self.builder.function;
        let scalar = ty.scalar_ir().unwrap_or(Type::I32);
        let at_entry = function.blocks[function.entry()].insts.iter();
        let known = at_entry.map(|&inst| &function.insts[inst]).find(|data| {
            data.op == Op::Parameter(name.clone())
                && data
                    .results
                    .first()
                    .is_some_and(|&r| function.ty(r) == scalar)
        });
        match known.and_then(|data| data.results.first()) {
            Some(&value) => value,
            None => self.template_symbol(name, ty),
        }
    }

    /// A template argument is a constant of the program. Types keep their arguments and are used where other
    /// blocks do not reach: the representative of an unknown number is computed at the entry, or is a symbol
    /// there.
    pub(super) fn symbol_everywhere(&mut self, mut value: RValue) -> RValue {
        for part in &mut value.parts {
            *part = self.at_entry_or_symbol(*part, 0);
        }
        value
    }

    fn at_entry_or_symbol(&mut self, value: Value, depth: u32) -> Value {
        let entry = self.builder.function.entry();
        if self.builder.current() == entry {
            return value;
        }
        let function = &self.builder.function;
        let ty = function.ty(value);
        let defining = match function.values[value].def {
            ValueDef::Param(block, number) if block == entry && number != u32::MAX => return value,
            ValueDef::Param(..) => None,
            ValueDef::Result(inst, _) => Some(function.insts[inst].clone()),
        };
        let Some(data) = defining else {
            return self.template_symbol_of(ty);
        };
        match data.op {
            Op::Const(_) | Op::Parameter(_) | Op::SymbolAddress(_) => value,
            Op::Unary(_)
            | Op::Binary(..)
            | Op::IntCompare(_)
            | Op::FloatCompare(_)
            | Op::Select
            | Op::Convert(_)
                if depth < SYMBOL_DEPTH && data.guard.is_none() =>
            {
                let mut arguments = Parts::new();
                for &argument in &data.args {
                    arguments.push(self.at_entry_or_symbol(argument, depth + 1));
                }
                let current = self.builder.current();
                self.builder.switch_to(entry);
                let value = self.builder.value(data.op, &arguments, ty);
                self.builder.switch_to(current);
                value
            }
            _ => self.template_symbol_of(ty),
        }
    }

    fn template_symbol_of(&mut self, ty: Type) -> Value {
        self.at_entry(Op::Parameter(SmolStr::default()), ty)
    }

    // -------------------------------------------------------------------------------------------- deduction

    /// Deduces template parameters `names` from a parameter's written type and an argument's type.
    pub fn deduce(
        &mut self,
        pattern: &ast::Type,
        argument: &CType,
        names: &FxHashMap<SmolStr, bool>,
        out: &mut FxHashMap<SmolStr, Local>,
        depth: u32,
    ) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        let argument = argument.value_type();
        match &pattern.kind {
            TypeKind::Named(name) => {
                let Some(last) = name.segments.last() else {
                    return true;
                };
                if name.segments.len() == 1
                    && last.template_arguments.is_none()
                    && names.contains_key(&last.ident.name)
                {
                    let bound = match argument {
                        CType::Array { element, .. } => CType::Pointer {
                            to: element.clone(),
                            space: crate::types::Space::Generic,
                            is_const: false,
                            restrict: false,
                            volatile: false,
                        },
                        other => other.clone(),
                    };
                    return match out.get(&last.ident.name) {
                        Some(Local::Type(before)) => same_type(before, &bound),
                        Some(_) => false,
                        None => {
                            out.insert(last.ident.name.clone(), Local::Type(bound));
                            true
                        }
                    };
                }
                let Some(patterns) = &last.template_arguments else {
                    return true;
                };
                match argument {
                    CType::Struct(id) => {
                        self.deduce_struct(&last.ident.name, patterns, *id, names, out, depth)
                    }
                    CType::Opaque(text) => {
                        // `thread_block_tile<32>` carries its size in its name.
                        let text = text.rsplit("::").next().unwrap_or("");
                        let Some((base, rest)) = text.split_once('<') else {
                            return *text == *last.ident.name;
                        };
                        if base != last.ident.name {
                            return false;
                        }
                        let number = rest.trim_end_matches('>').parse::<i64>();
                        if let (Ok(number), Some(first)) = (number, patterns.first()) {
                            bind_value(first, number, names, out);
                        }
                        true
                    }
                    CType::Vector { .. } | CType::Resource(_) => true,
                    _ => false,
                }
            }
            TypeKind::Pointer(inner) => match argument {
                CType::Pointer { to, .. } => self.deduce(inner, to, names, out, depth + 1),
                CType::Array { element, .. } => self.deduce(inner, element, names, out, depth + 1),
                CType::Opaque(_) | CType::Unknown => true,
                _ => false,
            },
            TypeKind::Reference { target, .. } => {
                if let (TypeKind::Named(_), CType::Array { .. }) = (&target.kind, argument) {
                    if let TypeKind::Named(name) = &target.kind
                        && let [only] = name.segments.as_slice()
                        && names.contains_key(&only.ident.name)
                    {
                        out.entry(only.ident.name.clone())
                            .or_insert_with(|| Local::Type(argument.clone()));
                    }
                    return true;
                }
                self.deduce(target, argument, names, out, depth + 1)
            }
            TypeKind::Array { element, size } => match argument {
                CType::Array {
                    element: have,
                    size: count,
                } => {
                    let number = match count {
                        ArraySize::Fixed(n) => Some(Local::Constant(super::context::Const::int(
                            *n as i64,
                            CType::INT,
                        ))),
                        ArraySize::Dynamic(n) => {
                            let value = RValue::scalar(CType::LONG, *n);
                            Some(Local::Variable(LValue::value(value)))
                        }
                        ArraySize::Unknown => None,
                    };
                    if let (Some(e), Some(number)) = (size, number)
                        && let ast::ExprKind::Name(name) = &e.kind
                        && let [only] = name.segments.as_slice()
                        && names.contains_key(&only.ident.name)
                    {
                        out.entry(only.ident.name.clone()).or_insert(number);
                    }
                    self.deduce(element, have, names, out, depth + 1)
                }
                CType::Pointer { to, .. } => self.deduce(element, to, names, out, depth + 1),
                _ => false,
            },
            _ => true,
        }
    }

    fn deduce_struct(
        &mut self,
        pattern_name: &str,
        patterns: &[TemplateArgument],
        id: StructId,
        names: &FxHashMap<SmolStr, bool>,
        out: &mut FxHashMap<SmolStr, Local>,
        depth: u32,
    ) -> bool {
        let Some(origin) = self.sources.get(id.0 as usize).cloned() else {
            return false;
        };
        let declared = origin
            .declared
            .name
            .as_ref()
            .and_then(|n| n.segments.last());
        if declared.is_none_or(|s| s.ident.name != pattern_name) {
            // A base may match.
            let bases: Vec<StructId> = self.structs[id]
                .fields
                .iter()
                .filter_map(|f| match (f.base, &f.ty) {
                    (true, CType::Struct(b)) => Some(*b),
                    _ => None,
                })
                .collect();
            return depth < MAX_DEPTH
                && bases
                    .into_iter()
                    .any(|b| self.deduce_struct(pattern_name, patterns, b, names, out, depth + 1));
        }
        let mut given = origin.arguments.iter();
        for pattern in patterns {
            match pattern {
                TemplateArgument::Pack(inner) => {
                    let rest: Vec<Local> = given.by_ref().cloned().collect();
                    if let Some(name) = argument_name(inner)
                        && names.contains_key(name)
                    {
                        out.insert(name.clone(), Local::Pack(rest));
                    }
                }
                _ => {
                    let Some(local) = given.next() else {
                        return true;
                    };
                    if !self.deduce_argument(pattern, local, names, out, depth + 1) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// One template argument of a pattern (`S<T, 4>`) against one that is known.
    pub fn deduce_argument(
        &mut self,
        pattern: &TemplateArgument,
        local: &Local,
        names: &FxHashMap<SmolStr, bool>,
        out: &mut FxHashMap<SmolStr, Local>,
        depth: u32,
    ) -> bool {
        if let Some(name) = argument_name(pattern)
            && names.contains_key(name)
        {
            return match out.get(name) {
                Some(before) => same_local(before, local),
                None => {
                    out.insert(name.clone(), local.clone());
                    true
                }
            };
        }
        match (pattern, local) {
            (
                TemplateArgument::Type(ty) | TemplateArgument::Ambiguous(ty, _),
                Local::Type(have),
            ) => {
                let mut parts_of_pattern = FxHashMap::default();
                std::mem::swap(&mut parts_of_pattern, out);
                let fits = self.deduce(ty, have, names, &mut parts_of_pattern, depth);
                std::mem::swap(&mut parts_of_pattern, out);
                if !fits {
                    return false;
                }
                // A pattern without parameters must be the type itself.
                self.push_scope();
                let bound: Vec<_> = out.iter().map(|(n, l)| (n.clone(), l.clone())).collect();
                for (name, bound) in bound {
                    self.declare(name, bound);
                }
                let want = self.resolve_type(ty);
                self.pop_scope();
                same_type(&want, have)
            }
            (argument, Local::Constant(have)) => {
                match argument_expr(argument).and_then(|e| self.constant(e)) {
                    Some(want) => want.as_int() == have.as_int(),
                    None => false,
                }
            }
            _ => false,
        }
    }

    // -------------------------------------------------------------------------------------------- packs

    /// Returns, for an expression with packs in it, the names that each expansion binds.
    pub fn pack_elements(&mut self, e: &ast::Expr) -> Option<Vec<Vec<(SmolStr, Local)>>> {
        let packs = self.packs_in_scope();
        let mut count = None;
        visit::expr(e, &mut |inner| {
            if let ast::ExprKind::Name(name) = &inner.kind
                && let [only] = name.segments.as_slice()
                && let Some((_, elements)) = packs.iter().find(|(n, _)| *n == only.ident.name)
            {
                count = Some(elements.len());
            }
        });
        let count = match count {
            Some(count) => count,
            None => packs.iter().map(|(_, e)| e.len()).max()?,
        };
        Some(
            (0..count)
                .map(|index| {
                    packs
                        .iter()
                        .filter_map(|(name, elements)| {
                            Some((name.clone(), elements.get(index)?.clone()))
                        })
                        .collect()
                })
                .collect(),
        )
    }

    fn packs_in_scope(&self) -> Vec<(SmolStr, Vec<Local>)> {
        let mut packs: Vec<(SmolStr, Vec<Local>)> = Vec::new();
        let Some(frame) = self.frames.last() else {
            return packs;
        };
        let mut add = |scope: &Scope| {
            for (name, local) in scope {
                if let Local::Pack(elements) = local
                    && !packs.iter().any(|(n, _)| n == name)
                {
                    packs.push((name.clone(), elements.clone()));
                }
            }
        };
        frame.scopes.iter().rev().for_each(&mut add);
        if let Some(around) = &frame.captured {
            around.iter().rev().for_each(&mut add);
        }
        packs.sort_by(|a, b| a.0.cmp(&b.0));
        packs
    }
}

/// The expression that a template argument may be.
pub fn argument_expr(argument: &TemplateArgument) -> Option<&ast::Expr> {
    match argument {
        TemplateArgument::Value(e) => Some(e),
        TemplateArgument::Ambiguous(_, e) => Some(e),
        TemplateArgument::Type(_) => None,
        TemplateArgument::Pack(inner) => argument_expr(inner),
    }
}

/// The single name that a template argument is.
pub fn argument_name(argument: &TemplateArgument) -> Option<&SmolStr> {
    let name = match argument {
        TemplateArgument::Type(ty) => match &ty.kind {
            TypeKind::Named(name) => name,
            _ => return None,
        },
        TemplateArgument::Pack(inner) => return argument_name(inner),
        other => match &argument_expr(other)?.kind {
            ast::ExprKind::Name(name) => name,
            _ => return None,
        },
    };
    match name.segments.as_slice() {
        [only] if only.template_arguments.is_none() => Some(&only.ident.name),
        _ => None,
    }
}

fn bind_value(
    pattern: &TemplateArgument,
    number: i64,
    names: &FxHashMap<SmolStr, bool>,
    out: &mut FxHashMap<SmolStr, Local>,
) {
    if let Some(name) = argument_name(pattern)
        && names.contains_key(name)
    {
        let number = super::context::Const::int(number, CType::INT);
        out.entry(name.clone()).or_insert(Local::Constant(number));
    }
}

/// Types that are one for deduction: pointers differ in spaces and qualifiers only.
pub fn same_type(a: &CType, b: &CType) -> bool {
    match (a, b) {
        (CType::Pointer { to: x, .. }, CType::Pointer { to: y, .. }) => same_type(x, y),
        (CType::Reference { to: x, .. }, CType::Reference { to: y, .. }) => same_type(x, y),
        _ => a == b,
    }
}

pub(super) fn same_local(a: &Local, b: &Local) -> bool {
    match (a, b) {
        (Local::Type(x), Local::Type(y)) => same_type(x, y),
        (Local::Constant(x), Local::Constant(y)) => {
            let function =
                matches!(x.ty, CType::Function(..)) || matches!(y.ty, CType::Function(..));
            x.as_int() == y.as_int() && (!function || x.ty == y.ty)
        }
        // Uniform symbols: the same value.
        (Local::Variable(_), Local::Variable(_)) => format!("{a:?}") == format!("{b:?}"),
        (Local::Pack(x), Local::Pack(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_local(x, y))
        }
        _ => false,
    }
}
