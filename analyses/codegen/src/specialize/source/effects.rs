//! The effects of an expression besides having a value: stores, barriers, other lanes, derivatives, ends of
//! lanes. Functions of the unit are looked into; effects that cannot be seen are unknown.
//!
//! Stops because a function is looked into once, to a limited depth; deeper ones and recursion are unknown.

use super::Source;
use super::intrinsics::{self, Kind};
use super::names::{Names, VarId, parts, root};
use super::types::{Base, Ty};
use ir::Language;
use ir::lower::c_family::builtins::hlsl;
use ir::lower::c_family::env::EntryKind;
use ir::lower::c_family::resources;
use ir::lower::c_family::visit;
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::c_family::ast::*;

const DEPTH: u32 = 12;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Effects {
    /// Memory that outlives the call, output.
    pub writes: bool,
    pub volatile: bool,
    pub barrier: bool,
    pub cross_lane: bool,
    pub derivative: bool,
    pub exits: bool,
    /// A function that is not in sight.
    pub unknown: Option<SmolStr>,
    /// Work, in additions.
    pub weight: u32,
}

impl Effects {
    /// Leaving it out is not noticed by this lane or others. Of HLSL's wave operations the result alone matters when all
    /// lanes of the wave leave it out; CUDA's name the lanes that they wait for.
    pub(super) fn removable(&self, language: Language) -> bool {
        !(self.writes
            || self.volatile
            || self.barrier
            || self.exits
            || self.unknown.is_some()
            || (self.cross_lane && language != Language::Hlsl))
    }

    pub(super) fn merge(&mut self, other: &Effects) {
        self.writes |= other.writes;
        self.volatile |= other.volatile;
        self.barrier |= other.barrier;
        self.cross_lane |= other.cross_lane;
        self.derivative |= other.derivative;
        self.exits |= other.exits;
        if self.unknown.is_none() {
            self.unknown.clone_from(&other.unknown);
        }
        self.weight = self.weight.saturating_add(other.weight).min(1 << 20);
    }
}

/// The effects of a call, and the arguments that it writes.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct CallEffects {
    pub effects: Effects,
    pub written: Vec<usize>,
}

impl Source<'_> {
    /// The functions that a name can mean.
    pub(super) fn functions(&self, name: &Name) -> Vec<Arc<ParsedItem>> {
        let path: Vec<SmolStr> = name.segments.iter().map(|s| s.ident.name.clone()).collect();
        self.environment
            .lookup(&self.item.scope, &path)
            .iter()
            .filter(|entry| entry.what == EntryKind::Function)
            .map(|entry| Arc::clone(self.environment.item(*entry)))
            .collect()
    }

    /// The functions that a name means, but for declarations of the language's own library: the tables of
    /// intrinsics know better than declarations in headers.
    pub(super) fn unit_functions(&self, name: &Name) -> Vec<Arc<ParsedItem>> {
        let found = self.functions(name);
        let declared = |item: &Arc<ParsedItem>| matches!(&item.kind, ItemKind::Function(function) if !matches!(function.body, FunctionBody::Block(_)));
        let known = name.segments.last().is_some_and(|last| {
            let word = last.ident.name.as_str();
            match self.language {
                Language::C => ir::lower::c_family::builtins::c::is_builtin(word),
                Language::Cuda => intrinsics::kind(word, self.language).is_some(),
                _ => false,
            }
        });
        match known && found.iter().all(declared) {
            true => Vec::new(),
            false => found,
        }
    }

    /// The local variable that an lvalue stores to, and whether all of it. `None`: memory, or a variable that others see.
    pub(super) fn target(&self, names: &Names, e: &Expr) -> Option<(VarId, bool)> {
        let id = names.meant(root(e)?)?;
        let variable = names.variable(id);
        if variable.escapes {
            return None;
        }
        let mut at = e;
        let mut whole = true;
        loop {
            match &at.kind {
                ExprKind::Name(_) => return Some((id, whole)),
                ExprKind::Paren(inner) => at = inner,
                ExprKind::Member { base, .. } => {
                    whole = false;
                    at = base;
                }
                ExprKind::Index { base, .. } => {
                    whole = false;
                    match self.type_of_expr(names, base, 0) {
                        Ty::Number(..) => {}
                        Ty::Other(ty) => match &ty.kind {
                            TypeKind::Array { .. }
                                if self.language == Language::Hlsl || !variable.parameter => {}
                            _ => return None,
                        },
                        Ty::Unknown => return None,
                    }
                    at = base;
                }
                _ => return None,
            }
        }
    }

    /// Returns the effects of a whole expression, with the stores in it.
    pub(super) fn effects(&self, names: &Names, e: &Expr) -> Effects {
        self.effects_at(names, e, 0)
    }

    fn effects_at(&self, names: &Names, e: &Expr, depth: u32) -> Effects {
        let mut out = Effects::default();
        visit::expr(e, &mut |part| out.merge(&self.own(names, part, depth)));
        out
    }

    /// Returns the effects of one node, without those below it.
    pub(super) fn own(&self, names: &Names, e: &Expr, depth: u32) -> Effects {
        let mut out = Effects::default();
        match &e.kind {
            ExprKind::Assign { left, .. } => {
                out.writes = self.target(names, left).is_none();
                out.weight = 1;
            }
            ExprKind::Unary { op, operand } => {
                out.weight = 1;
                match op {
                    UnaryOp::PreIncrement
                    | UnaryOp::PreDecrement
                    | UnaryOp::PostIncrement
                    | UnaryOp::PostDecrement => out.writes = self.target(names, operand).is_none(),
                    UnaryOp::Dereference => {
                        out.weight = 20;
                        out.volatile = self.volatile(names, operand);
                    }
                    _ => {}
                }
            }
            ExprKind::Binary { op, .. } => {
                out.weight = match op {
                    BinaryOp::Div | BinaryOp::Rem => 10,
                    _ => 1,
                };
            }
            ExprKind::Conditional { .. } => out.weight = 1,
            ExprKind::Index { base, .. } => {
                out.volatile = self.volatile(names, base);
                let register = matches!(self.type_of_expr(names, base, 0), Ty::Number(..));
                out.weight = if register { 0 } else { 20 };
            }
            ExprKind::Member { base, arrow, .. } => {
                out.volatile = self.volatile(names, base);
                out.weight = if *arrow { 20 } else { 0 };
            }
            ExprKind::Name(name) => match names.meant(name) {
                Some(id) => out.volatile = names.variable(id).volatile,
                None => out.volatile = self.global_is_volatile(name),
            },
            ExprKind::Call { callee, arguments } => {
                let call = self.call(names, callee, arguments, depth);
                out = call.effects;
                // The place is no variable of this function: an element of a buffer, a member of a global.
                let outside = |e: &Expr| root(e).is_some() && self.target(names, e).is_none();
                let mut written = call.written.iter().filter_map(|&at| arguments.get(at));
                out.writes |= written.any(outside);
            }
            ExprKind::Launch { .. }
            | ExprKind::Lambda(_)
            | ExprKind::Statement(_)
            | ExprKind::New { .. }
            | ExprKind::Delete(_)
            | ExprKind::Throw
            | ExprKind::Unknown => {
                out.writes = true;
                out.unknown = Some(SmolStr::new_static("an expression"));
            }
            _ => {}
        }
        if self.calls_operator(names, e) {
            out.writes = true;
            out.unknown = Some(SmolStr::new_static("an operator of a class"));
        }
        out
    }

    /// An operator whose operand is an object of a class of the unit: the unit must define it.
    fn calls_operator(&self, names: &Names, e: &Expr) -> bool {
        let is_object = |e: &Expr| match self.type_of_expr(names, e, 0) {
            Ty::Other(ty) => self.structure(&ty).is_some(),
            _ => false,
        };
        self.language == Language::Cuda
            && match &e.kind {
                ExprKind::Binary { left, right, .. } => is_object(left) || is_object(right),
                ExprKind::Assign {
                    op: Some(_), left, ..
                } => is_object(left),
                ExprKind::Unary { op, operand } => *op != UnaryOp::AddressOf && is_object(operand),
                ExprKind::Index { base, .. } => is_object(base),
                _ => false,
            }
    }

    fn global_is_volatile(&self, name: &Name) -> bool {
        let path: Vec<SmolStr> = name.segments.iter().map(|s| s.ident.name.clone()).collect();
        self.environment
            .lookup(&self.item.scope, &path)
            .iter()
            .any(|entry| match &self.environment.item(*entry).kind {
                ItemKind::Variables(declaration) => {
                    let words = declaration.specifiers.words;
                    words.has(SpecifierSet::VOLATILE)
                        || words.has(SpecifierSet::GLOBALLY_COHERENT)
                        || declaration.declarators.iter().any(|d| d.ty.is_volatile)
                }
                _ => false,
            })
    }

    /// Returns whether a pointer, an array or a structure leads to volatile memory.
    fn volatile(&self, names: &Names, base: &Expr) -> bool {
        let deep = |ty: &Type| {
            let mut at = ty;
            for _ in 0..8 {
                if at.is_volatile {
                    return true;
                }
                match &at.kind {
                    TypeKind::Pointer(to) => at = to,
                    TypeKind::Reference { target, .. } => at = target,
                    TypeKind::Array { element, .. } => at = element,
                    _ => return false,
                }
            }
            false
        };
        match root(base).and_then(|name| names.meant(name)) {
            Some(id) => {
                let variable = names.variable(id);
                variable.volatile || deep(&variable.ty)
            }
            None => match self.type_of_expr(names, base, 0) {
                Ty::Other(ty) => deep(&ty),
                _ => false,
            },
        }
    }

    pub(super) fn call(
        &self,
        names: &Names,
        callee: &Expr,
        arguments: &[Expr],
        depth: u32,
    ) -> CallEffects {
        let unknown = |name: &str| CallEffects {
            effects: Effects {
                writes: true,
                unknown: Some(SmolStr::new(name)),
                ..Effects::default()
            },
            written: (0..arguments.len()).collect(),
        };
        match &callee.kind {
            ExprKind::Name(name) => {
                let Some(last) = name.segments.last() else {
                    return unknown("");
                };
                let word = last.ident.name.as_str();
                if names.meant(name).is_some() {
                    return unknown(word);
                }
                let functions = self.unit_functions(name);
                if word == "__activemask" || votes_among_the_active(word, arguments) {
                    // Right for any grouping of the lanes.
                    return CallEffects::default();
                }
                if functions.is_empty() {
                    return match intrinsics::kind(word, self.language) {
                        // Older forms of texture fetches write their result through an address.
                        Some(Kind::Pure) if word != "__ldg" && arguments.iter().any(is_address) => {
                            unknown(word)
                        }
                        Some(kind) => of_intrinsic(word, kind, self.language, arguments.len()),
                        None if super::types::numeric_name(word, self.language).is_some() => {
                            CallEffects::default()
                        }
                        None => unknown(word),
                    };
                }
                let mut out = CallEffects::default();
                for item in functions {
                    let ItemKind::Function(function) = &item.kind else {
                        return unknown(word);
                    };
                    if function.parameters.len() < arguments.len() && !function.variadic {
                        continue;
                    }
                    match self.function_effects(&item, depth) {
                        Some(effects) => out.effects.merge(&effects),
                        None => return unknown(word),
                    }
                    for (at, parameter) in function.parameters.iter().enumerate() {
                        let by_reference = matches!(&parameter.ty.kind, TypeKind::Reference { target, .. } if !target.is_const && !parameter.ty.is_const);
                        if parameter.direction != Direction::In || by_reference {
                            out.written.push(at);
                        }
                    }
                }
                out.written.sort_unstable();
                out.written.dedup();
                out
            }
            ExprKind::Member { base, member, .. } => {
                let Some(last) = member.segments.last() else {
                    return unknown("");
                };
                let word = last.ident.name.as_str();
                let Ty::Other(ty) = self.type_of_expr(names, base, 0) else {
                    return unknown(word);
                };
                let TypeKind::Named(class) = &ty.kind else {
                    return unknown(word);
                };
                let class = class
                    .segments
                    .last()
                    .map_or("", |last| last.ident.name.as_str());
                // Other objects, such as textures with a sampler of their own, have methods with other
                // parameters.
                let class = class.strip_prefix("RasterizerOrdered").unwrap_or(class);
                let class = class.strip_prefix("RW").unwrap_or(class);
                let resource = class.starts_with("Texture")
                    || class.starts_with("FeedbackTexture")
                    || class.ends_with("Buffer");
                if self.language != Language::Hlsl || !resource || self.structure(&ty).is_some() {
                    return unknown(word);
                }
                of_resource(word, arguments.len())
            }
            _ => unknown("a function value"),
        }
    }

    /// `None`: without a visible body, or too deep.
    pub(super) fn function_effects(&self, item: &ParsedItem, depth: u32) -> Option<Effects> {
        if depth > DEPTH {
            return None;
        }
        if let Some(known) = self.memo.borrow().get(&item.key) {
            return known.clone();
        }
        // A function that calls itself is unknown.
        self.memo.borrow_mut().insert(item.key.clone(), None);
        let effects = self.body_effects(item, depth);
        self.memo
            .borrow_mut()
            .insert(item.key.clone(), effects.clone());
        effects
    }

    fn body_effects(&self, item: &ParsedItem, depth: u32) -> Option<Effects> {
        let whole = self.bodies.body(&item.key)?;
        let ItemKind::Function(function) = &whole.kind else {
            return None;
        };
        let FunctionBody::Block(block) = &function.body else {
            // A declaration: the definition is another item of that name.
            return self.has_definition(function).then(Effects::default);
        };
        let mut names = Names::of(function);
        // Stores to parameters by reference are the call's `written`, not effects.
        for variable in &mut names.variables {
            if variable.parameter {
                variable.escapes = matches!(variable.ty.kind, TypeKind::Pointer(_));
            }
        }
        let mut out = Effects::default();
        let mut seen = StatementEffects::default();
        for statement in &block.statements {
            seen.stmt(statement, 0);
        }
        out.exits |= seen.exits;
        out.writes |= seen.opaque;
        if seen.opaque {
            out.unknown = Some(SmolStr::new_static("inline assembly"));
        }
        visit::block(block, &mut |e| {
            out.merge(&self.own(&names, e, depth + 1));
            if let ExprKind::Call { callee, arguments } = &e.kind {
                let call = self.call(&names, callee, arguments, depth + 1);
                for at in call.written {
                    let local = arguments
                        .get(at)
                        .is_some_and(|e| self.target(&names, e).is_some());
                    out.writes |= !local;
                }
            }
        });
        Some(out)
    }

    fn has_definition(&self, function: &Function) -> bool {
        let FunctionName::Plain(name) = &function.name else {
            return false;
        };
        self.functions(name).iter().any(|item| match &item.kind {
            ItemKind::Function(other) => {
                matches!(other.body, FunctionBody::Block(_))
                    && other.parameters.len() == function.parameters.len()
            }
            _ => false,
        })
    }
}

/// Statements that do something by themselves.
#[derive(Default)]
struct StatementEffects {
    exits: bool,
    opaque: bool,
}

impl StatementEffects {
    fn stmt(&mut self, stmt: &Stmt, depth: u32) {
        if depth > 256 {
            self.opaque = true;
            return;
        }
        match &stmt.kind {
            StmtKind::Discard => self.exits = true,
            StmtKind::Asm(_) | StmtKind::Unknown | StmtKind::Skipped(_) => self.opaque = true,
            StmtKind::Declaration(declaration) => {
                self.opaque |= declaration.specifiers.words.has(SpecifierSet::STATIC)
                    && !declaration.specifiers.words.has(SpecifierSet::CONST);
            }
            _ => {}
        }
        for inner in inner_statements(stmt) {
            self.stmt(inner, depth + 1);
        }
    }
}

/// The statements directly below one.
pub(super) fn inner_statements(stmt: &Stmt) -> Vec<&Stmt> {
    match &stmt.kind {
        StmtKind::Block(block) => block.statements.iter().collect(),
        StmtKind::If {
            initializer,
            then,
            otherwise,
            ..
        } => {
            let mut all: Vec<&Stmt> = initializer.iter().map(|s| &**s).collect();
            all.push(then);
            all.extend(otherwise.iter().map(|s| &**s));
            all
        }
        StmtKind::For {
            initializer, body, ..
        } => {
            let mut all: Vec<&Stmt> = initializer.iter().map(|s| &**s).collect();
            all.push(body);
            all
        }
        StmtKind::RangeFor { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::DoWhile { body, .. } => vec![body],
        StmtKind::Switch {
            initializer, body, ..
        } => {
            let mut all: Vec<&Stmt> = initializer.iter().map(|s| &**s).collect();
            all.push(body);
            all
        }
        StmtKind::Skipped(skipped) => {
            let all = skipped.understood.iter().chain(&skipped.perhaps);
            all.collect()
        }
        _ => Vec::new(),
    }
}

fn of_intrinsic(word: &str, kind: Kind, language: Language, arguments: usize) -> CallEffects {
    CallEffects {
        effects: Effects {
            writes: kind == Kind::Effect,
            barrier: kind == Kind::Barrier,
            cross_lane: kind == Kind::CrossLane,
            derivative: kind == Kind::Derivative || word.starts_with("Quad"),
            exits: kind == Kind::Exit,
            weight: intrinsics::weight(word, language),
            ..Effects::default()
        },
        written: match language {
            // As the front end has it.
            Language::Hlsl => (0..arguments)
                .filter(|&at| hlsl::by_place(word, at, arguments))
                .collect(),
            // CUDA's write through addresses, which makes them unknown.
            _ => Vec::new(),
        },
    }
}

fn of_resource(word: &str, arguments: usize) -> CallEffects {
    let mut out = CallEffects::default();
    out.effects.weight = 40;
    // What it gives back besides: the old value of an atomic, the status of a load.
    out.written = (0..arguments)
        .filter(|&at| resources::by_place(word, at, arguments))
        .collect();
    match word {
        "Sample"
        | "SampleBias"
        | "SampleCmp"
        | "SampleCmpBias"
        | "CalculateLevelOfDetail"
        | "CalculateLevelOfDetailUnclamped" => out.effects.derivative = true,
        "SampleLevel" | "SampleGrad" | "SampleCmpLevelZero" | "SampleCmpLevel"
        | "SampleCmpGrad" | "Load" | "Load2" | "Load3" | "Load4" => {}
        _ if word.starts_with("Gather") => {}
        "GetDimensions" => {}
        _ => out.effects.writes = true,
    }
    out
}

/// `&e`.
fn is_address(e: &Expr) -> bool {
    matches!(
        e.kind,
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            ..
        }
    )
}

/// `__all_sync(__activemask(), ...)`: asks the lanes that are present.
fn votes_among_the_active(word: &str, arguments: &[Expr]) -> bool {
    word == "__all_sync"
        && matches!(
            arguments.first().map(|mask| &mask.kind),
            Some(ExprKind::Call { callee, .. })
                if matches!(&callee.kind, ExprKind::Name(name)
                    if name.segments.last().is_some_and(|s| s.ident.name == "__activemask"))
        )
}

/// Variables that an expression reads or stores to, in order.
pub(super) fn mentioned(names: &Names, e: &Expr) -> Vec<VarId> {
    let mut found = Vec::new();
    let mut work = vec![e];
    while let Some(at) = work.pop() {
        if let ExprKind::Name(name) = &at.kind
            && let Some(id) = names.meant(name)
        {
            found.push(id);
        }
        work.extend(parts(at));
    }
    found
}

/// Returns true if a variable can be tested and assigned as a plain number.
pub(super) fn numeric(ty: &Ty) -> bool {
    matches!(ty, Ty::Number(base, _) if *base != Base::Half)
}
