//! The resolution of names to variables: the scopes of one function body.
//!
//! ```text
//! float a = 1; { float a = 2; f(a); } g(a);      f reads the second, g the first
//! ```
//!
//! A use is found by its position and spelling. Names that a macro's body brings share a position; where they mean
//! different variables the use is of neither, and both count as escaped. Variables whose address is taken, that a lambda
//! captures or that are references are known to exist and tracked no further.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// Index into `Names::variables`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct VarId(pub u32);

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Variable {
    pub name: SmolStr,
    pub ty: Type,
    /// The identifier in its declaration.
    pub declared: Span,
    pub parameter: bool,
    /// Stores to it can be seen by others than this call: references, `out` parameters, static and shared variables,
    /// variables whose address is taken.
    pub escapes: bool,
    pub volatile: bool,
    pub precise: bool,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Names {
    pub variables: Vec<Variable>,
    uses: FxHashMap<(u32, u32, SmolStr), Option<VarId>>,
    /// Every use and declaration in order of position.
    pub places: Vec<(Span, VarId)>,
}

/// Deepest nesting that is followed; deeper scopes have no variables.
const DEPTH: u32 = 256;

impl Names {
    pub(crate) fn of(function: &Function) -> Names {
        let mut walk = Walk::default();
        walk.scopes.push(Vec::new());
        for parameter in &function.parameters {
            if let Some(ident) = &parameter.name {
                let escapes = parameter.direction != Direction::In || is_reference(&parameter.ty);
                walk.declare(ident, &parameter.ty, &parameter.specifiers, true, escapes);
            }
        }
        for initializer in &function.initializers {
            for argument in &initializer.arguments {
                walk.expr(argument, 0);
            }
        }
        if let FunctionBody::Block(block) = &function.body {
            walk.block(block, 0);
        }
        walk.names.places.sort();
        walk.names.places.dedup();
        walk.names
    }

    /// The variable of this function that a name means.
    pub(crate) fn meant(&self, name: &Name) -> Option<VarId> {
        let [segment] = name.segments.as_slice() else {
            return None;
        };
        if name.global || segment.template_arguments.is_some() {
            return None;
        }
        let span = segment.ident.span;
        let key = (span.start, span.end, segment.ident.name.clone());
        self.uses.get(&key).copied().flatten()
    }

    pub(crate) fn declared_at(&self, ident: &Ident) -> Option<VarId> {
        let key = (ident.span.start, ident.span.end, ident.name.clone());
        self.uses.get(&key).copied().flatten()
    }

    pub(crate) fn variable(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }

    /// The variable whose name stands at an offset.
    pub(crate) fn at(&self, offset: u32) -> Option<(Span, VarId)> {
        self.places
            .iter()
            .copied()
            .find(|(span, _)| span.start <= offset && offset <= span.end)
    }
}

fn is_reference(ty: &Type) -> bool {
    matches!(ty.kind, TypeKind::Reference { .. })
}

#[derive(Default)]
struct Walk {
    names: Names,
    scopes: Vec<Vec<(SmolStr, VarId)>>,
    lambda: u32,
}

impl Walk {
    fn declare(
        &mut self,
        ident: &Ident,
        ty: &Type,
        specifiers: &Specifiers,
        parameter: bool,
        escapes: bool,
    ) {
        let words = specifiers.words;
        let id = VarId(self.names.variables.len() as u32);
        let kept = SpecifierSet::STATIC
            | SpecifierSet::SHARED
            | SpecifierSet::EXTERN
            | SpecifierSet::CONSTANT
            | SpecifierSet::THREAD_LOCAL;
        self.names.variables.push(Variable {
            name: ident.name.clone(),
            ty: ty.clone(),
            declared: ident.span,
            parameter,
            escapes: escapes || words.has(kept) || is_reference(ty),
            volatile: words.has(SpecifierSet::VOLATILE) || ty.is_volatile,
            precise: words.has(SpecifierSet::PRECISE),
        });
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((ident.name.clone(), id));
        }
        self.note(ident, id);
    }

    fn note(&mut self, ident: &Ident, id: VarId) {
        let key = (ident.span.start, ident.span.end, ident.name.clone());
        match self.names.uses.get(&key).copied() {
            None => {
                self.names.uses.insert(key, Some(id));
            }
            Some(known) if known != Some(id) => {
                self.names.variables[id.0 as usize].escapes = true;
                if let Some(other) = known {
                    self.names.variables[other.0 as usize].escapes = true;
                }
                self.names.uses.insert(key, None);
            }
            Some(_) => {}
        }
        self.names.places.push((ident.span, id));
    }

    fn block(&mut self, block: &Block, depth: u32) {
        self.scopes.push(Vec::new());
        for statement in &block.statements {
            self.stmt(statement, depth);
        }
        self.scopes.pop();
    }

    fn declaration(&mut self, declaration: &Declaration, depth: u32) {
        for declarator in &declaration.declarators {
            match &declarator.initializer {
                Initializer::None => {}
                Initializer::Copy(e) => {
                    // What a reference is bound to can be changed through it.
                    if is_reference(&declarator.ty) {
                        self.escape(e);
                    }
                    self.expr(e, depth);
                }
                Initializer::Paren(list) | Initializer::Brace(list) => {
                    for e in list {
                        if is_reference(&declarator.ty) {
                            self.escape(e);
                        }
                        self.expr(e, depth);
                    }
                }
            }
            if let TypeKind::Array {
                size: Some(size), ..
            } = &declarator.ty.kind
            {
                self.expr(size, depth);
            }
            match &declarator.name {
                DeclaratorName::Plain(ident) => {
                    self.declare(ident, &declarator.ty, &declaration.specifiers, false, false);
                }
                DeclaratorName::Binding(idents) => {
                    for ident in idents {
                        self.declare(ident, &declarator.ty, &declaration.specifiers, false, true);
                    }
                }
                _ => {}
            }
        }
    }

    fn condition(&mut self, condition: &Condition, depth: u32) {
        match condition {
            Condition::Expr(e) => self.expr(e, depth),
            Condition::Declaration(declaration) => self.declaration(declaration, depth),
        }
    }

    fn stmt(&mut self, stmt: &Stmt, depth: u32) {
        if depth > DEPTH {
            return;
        }
        let d = depth + 1;
        self.scopes_around(&stmt.kind, |walk| match &stmt.kind {
            StmtKind::Expr(e) => walk.expr(e, d),
            StmtKind::Declaration(declaration) => walk.declaration(declaration, d),
            StmtKind::Block(block) => walk.block(block, d),
            StmtKind::If {
                initializer,
                condition,
                then,
                otherwise,
                ..
            } => {
                initializer.iter().for_each(|s| walk.stmt(s, d));
                walk.condition(condition, d);
                walk.inner(then, d);
                otherwise.iter().for_each(|s| walk.inner(s, d));
            }
            StmtKind::For {
                initializer,
                condition,
                step,
                body,
            } => {
                initializer.iter().for_each(|s| walk.stmt(s, d));
                condition.iter().for_each(|c| walk.condition(c, d));
                step.iter().for_each(|e| walk.expr(e, d));
                walk.inner(body, d);
            }
            StmtKind::RangeFor {
                declaration,
                range,
                body,
            } => {
                walk.expr(range, d);
                walk.declaration(declaration, d);
                walk.inner(body, d);
            }
            StmtKind::While { condition, body } => {
                walk.condition(condition, d);
                walk.inner(body, d);
            }
            StmtKind::DoWhile { body, condition } => {
                walk.inner(body, d);
                walk.expr(condition, d);
            }
            StmtKind::Switch {
                initializer,
                condition,
                body,
            } => {
                initializer.iter().for_each(|s| walk.stmt(s, d));
                walk.condition(condition, d);
                walk.inner(body, d);
            }
            StmtKind::Case { value, upper } => {
                walk.expr(value, d);
                upper.iter().for_each(|e| walk.expr(e, d));
            }
            StmtKind::Return(Some(e)) => walk.expr(e, d),
            StmtKind::Asm(asm) => {
                for (_, e) in asm.outputs.iter().chain(&asm.inputs) {
                    walk.escape(e);
                    walk.expr(e, d);
                }
            }
            _ => {}
        });
    }

    /// Statements with a head open a scope for its declarations.
    fn scopes_around(&mut self, kind: &StmtKind, inside: impl FnOnce(&mut Self)) {
        let opens = matches!(
            kind,
            StmtKind::If { .. }
                | StmtKind::For { .. }
                | StmtKind::RangeFor { .. }
                | StmtKind::While { .. }
                | StmtKind::Switch { .. }
        );
        if opens {
            self.scopes.push(Vec::new());
        }
        inside(self);
        if opens {
            self.scopes.pop();
        }
    }

    fn inner(&mut self, stmt: &Stmt, depth: u32) {
        self.scopes.push(Vec::new());
        self.stmt(stmt, depth);
        self.scopes.pop();
    }

    fn find(&self, name: &SmolStr) -> Option<VarId> {
        self.scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.iter().rev())
            .find(|(known, _)| known == name)
            .map(|(_, id)| *id)
    }

    fn name(&mut self, name: &Name) {
        if let [segment] = name.segments.as_slice()
            && !name.global
            && segment.template_arguments.is_none()
            && let Some(id) = self.find(&segment.ident.name)
        {
            if self.lambda > 0 {
                self.names.variables[id.0 as usize].escapes = true;
            }
            self.note(&segment.ident, id);
        }
    }

    /// The variable at the root of an lvalue can be changed by others from now on.
    fn escape(&mut self, e: &Expr) {
        if let Some(name) = root(e)
            && let [segment] = name.segments.as_slice()
            && let Some(id) = self.find(&segment.ident.name)
        {
            let variable = &mut self.names.variables[id.0 as usize];
            // The address of an element behind a pointer is not that of the pointer.
            let behind = matches!(variable.ty.kind, TypeKind::Pointer(_)) && is_element(e);
            variable.escapes |= !behind;
        }
    }

    /// An array with fewer indices than dimensions stands for its address.
    fn decays(&mut self, e: &Expr, indices: usize) {
        let ExprKind::Name(name) = &e.kind else {
            return;
        };
        let [segment] = name.segments.as_slice() else {
            return;
        };
        let Some(id) = self.find(&segment.ident.name) else {
            return;
        };
        let variable = &mut self.names.variables[id.0 as usize];
        let mut ty = &variable.ty;
        let mut dimensions = 0;
        while let TypeKind::Array { element, .. } = &ty.kind {
            dimensions += 1;
            ty = element;
        }
        variable.escapes |= indices < dimensions && !variable.parameter;
    }

    fn expr(&mut self, e: &Expr, depth: u32) {
        if depth > DEPTH {
            return;
        }
        match &e.kind {
            ExprKind::Name(name) => {
                self.name(name);
                self.decays(e, 0);
            }
            ExprKind::Index { base, indices } => {
                let (mut at, mut count) = (base, indices.len());
                loop {
                    match &at.kind {
                        ExprKind::Paren(inner) => at = inner,
                        ExprKind::Index { base, indices } => {
                            count += indices.len();
                            for index in indices {
                                self.expr(index, depth + 1);
                            }
                            at = base;
                        }
                        _ => break,
                    }
                }
                for index in indices {
                    self.expr(index, depth + 1);
                }
                match &at.kind {
                    ExprKind::Name(name) => {
                        self.name(name);
                        self.decays(at, count);
                    }
                    _ => self.expr(at, depth + 1),
                }
                return;
            }
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.escape(operand),
            ExprKind::SizeofExpr(operand) if matches!(operand.kind, ExprKind::Name(_)) => {
                if let ExprKind::Name(name) = &operand.kind {
                    self.name(name);
                }
                return;
            }
            ExprKind::Lambda(lambda) => {
                self.lambda += 1;
                self.scopes.push(Vec::new());
                for parameter in &lambda.parameters {
                    if let Some(ident) = &parameter.name {
                        self.declare(ident, &parameter.ty, &parameter.specifiers, true, true);
                    }
                }
                self.block(&lambda.body, depth + 1);
                self.scopes.pop();
                self.lambda -= 1;
                return;
            }
            ExprKind::Statement(block) => {
                self.block(block, depth + 1);
                return;
            }
            _ => {}
        }
        for part in parts(e) {
            self.expr(part, depth + 1);
        }
    }
}

/// The expressions directly below one, in source order; not those of lambdas and statement expressions.
#[must_use]
pub(crate) fn parts(e: &Expr) -> Vec<&Expr> {
    match &e.kind {
        ExprKind::Unary { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::SizeofExpr(operand)
        | ExprKind::Paren(operand)
        | ExprKind::PackExpansion(operand)
        | ExprKind::Delete(operand) => vec![operand],
        ExprKind::Member { base, .. } => vec![base],
        ExprKind::Binary { left, right, .. } | ExprKind::Assign { left, right, .. } => {
            vec![left, right]
        }
        ExprKind::Comma(left, right) => vec![left, right],
        ExprKind::Conditional {
            condition,
            then,
            otherwise,
        } => vec![condition, then, otherwise],
        ExprKind::Call { callee, arguments } => {
            let mut all: Vec<&Expr> = vec![callee];
            all.extend(arguments);
            all
        }
        ExprKind::Launch {
            callee,
            configuration,
            arguments,
        } => {
            let mut all: Vec<&Expr> = vec![callee];
            all.extend(configuration);
            all.extend(arguments);
            all
        }
        ExprKind::Index { base, indices } => {
            let mut all: Vec<&Expr> = vec![base];
            all.extend(indices);
            all
        }
        ExprKind::Construct { arguments, .. } => arguments.iter().collect(),
        ExprKind::List(items) => items.iter().map(|(_, e)| e).collect(),
        ExprKind::Fold { pack, initial, .. } => {
            let mut all: Vec<&Expr> = vec![pack];
            all.extend(initial.iter().map(|e| &**e));
            all
        }
        _ => Vec::new(),
    }
}

/// `p[i]`, `p[i].x`, and with parentheses.
fn is_element(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Index { .. } => true,
        ExprKind::Paren(inner)
        | ExprKind::Member {
            base: inner,
            arrow: false,
            ..
        } => is_element(inner),
        _ => false,
    }
}

/// The name that an lvalue starts from: `a` of `a.b[i].x`; none behind a pointer.
#[must_use]
pub(crate) fn root(e: &Expr) -> Option<&Name> {
    let mut at = e;
    loop {
        match &at.kind {
            ExprKind::Name(name) => return Some(name),
            ExprKind::Paren(inner) => at = inner,
            ExprKind::Member {
                base, arrow: false, ..
            }
            | ExprKind::Index { base, .. } => at = base,
            _ => return None,
        }
    }
}
