//! Statements in the fast path: forward, the knowledge before each and its shorter form; backward, the
//! statements that are still needed.
//!
//! ```text
//! shadow := 0      float3 lit = brdf(n, l);  color += lit * shadow;   ->  (nothing)
//! ```
//!
//! Forward: a loop is read with the knowledge before it, and again without the variables that an iteration
//! changes, until nothing changes; at most three times, then with nothing known of the variables that it
//! assigns. Backward: a loop's live variables only grow.

use super::Source;
use super::effects::{Effects, mentioned};
use super::fold::{Abs, Env, Folder, Known, Out};
use super::names::{Names, VarId};
use super::types::Ty;
use ir::lower::c_family::visit;
use rustc_hash::FxHashSet;
use syntax::Span;
use syntax::c_family::ast::*;

pub(super) type Edit = (Span, String);

#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub stmt: &'a Stmt,
    pub kind: NodeKind<'a>,
    /// In the statement's own expressions.
    pub edits: Vec<Edit>,
    /// Left out of the fast path.
    pub dead: bool,
    /// Work of the statement as written, and in the fast path.
    pub original: u32,
    pub weight: u32,
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind<'a> {
    Simple(Simple),
    If {
        condition: Out,
        known: Option<bool>,
        then: Box<Node<'a>>,
        otherwise: Option<Box<Node<'a>>>,
    },
    Block(Vec<Node<'a>>),
    Loop(Box<Loop<'a>>),
    Jump {
        jump: Jump,
        uses: Vec<VarId>,
    },
    /// A statement that is kept as written.
    Opaque {
        uses: Vec<VarId>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Loop<'a> {
    pub(super) initializer: Option<Node<'a>>,
    /// Condition and step.
    pub(super) head: Simple,
    pub(super) body: Node<'a>,
    /// The condition fails at once.
    pub(super) skipped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Jump {
    Return,
    Break,
    Continue,
    Discard,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Simple {
    /// Variables that are assigned, and whether all of each.
    pub defs: Vec<(VarId, bool)>,
    pub uses: Vec<VarId>,
    /// Has an effect besides.
    pub keep: bool,
    /// Changes nothing.
    pub noop: bool,
    pub declares: Vec<VarId>,
    /// The initialiser of the only declarator, ` = e`, if the declaration can stand without it.
    pub initializer: Option<Span>,
    pub drop_initializer: bool,
}

impl Node<'_> {
    /// The forward pass found something.
    pub(super) fn changed(&self) -> bool {
        if !self.edits.is_empty() {
            return true;
        }
        match &self.kind {
            NodeKind::Simple(simple) => simple.noop,
            NodeKind::If {
                known,
                then,
                otherwise,
                ..
            } => {
                known.is_some() || then.changed() || otherwise.as_ref().is_some_and(|n| n.changed())
            }
            NodeKind::Block(nodes) => nodes.iter().any(Node::changed),
            NodeKind::Loop(node) => {
                node.skipped
                    || node.body.changed()
                    || node.initializer.as_ref().is_some_and(Node::changed)
            }
            _ => false,
        }
    }

    /// The zero decides a condition in the text: the author tests it already.
    pub(super) fn guarded(&self) -> bool {
        match &self.kind {
            NodeKind::If {
                known,
                then,
                otherwise,
                ..
            } => {
                known.is_some() || then.guarded() || otherwise.as_ref().is_some_and(|n| n.guarded())
            }
            NodeKind::Block(nodes) => nodes.iter().any(Node::guarded),
            NodeKind::Loop(node) => node.skipped || node.body.guarded(),
            _ => false,
        }
    }

    /// Work in the fast path, with loops as often as they are taken to run.
    pub(super) fn cost(&self) -> u32 {
        if self.dead {
            return 0;
        }
        match &self.kind {
            NodeKind::If {
                condition,
                known,
                then,
                otherwise,
            } => {
                let other = otherwise.as_ref().map_or(0, |n| n.cost());
                match known {
                    Some(true) => then.cost(),
                    Some(false) => other,
                    None => condition
                        .effects
                        .weight
                        .saturating_add(then.cost())
                        .saturating_add(other),
                }
            }
            NodeKind::Block(nodes) => nodes
                .iter()
                .fold(0u32, |sum, n| sum.saturating_add(n.cost())),
            NodeKind::Loop(node) => node
                .body
                .cost()
                .saturating_add(self.weight)
                .saturating_mul(LOOP)
                .saturating_add(node.initializer.as_ref().map_or(0, Node::cost)),
            NodeKind::Simple(simple) if simple.drop_initializer || simple.noop => 0,
            _ => self.weight,
        }
    }

    /// Work of the statement as written, where the zero is: statements that it keeps from running are no
    /// work.
    pub(super) fn original_cost(&self) -> u32 {
        match &self.kind {
            NodeKind::If {
                known: Some(taken),
                then,
                otherwise,
                ..
            } => self.original.saturating_add(match taken {
                true => then.original_cost(),
                false => otherwise.as_ref().map_or(0, |n| n.original_cost()),
            }),
            NodeKind::Loop(node) if node.skipped => self
                .original
                .saturating_add(node.initializer.as_ref().map_or(0, Node::original_cost)),
            NodeKind::If {
                then, otherwise, ..
            } => self
                .original
                .saturating_add(then.original_cost())
                .saturating_add(otherwise.as_ref().map_or(0, |n| n.original_cost())),
            NodeKind::Block(nodes) => nodes
                .iter()
                .fold(0u32, |sum, n| sum.saturating_add(n.original_cost())),
            NodeKind::Loop(node) => node
                .body
                .original_cost()
                .saturating_add(self.original)
                .saturating_mul(LOOP)
                .saturating_add(node.initializer.as_ref().map_or(0, Node::original_cost)),
            _ => self.original,
        }
    }
}

/// Iterations of a loop.
const LOOP: u32 = 8;
/// Loops inside each other that are read more than once.
const NESTED: u32 = 3;
const DEPTH: u32 = 200;

pub(super) struct Forward<'a> {
    pub folder: Folder<'a>,
    pub returns: Ty,
    pub loops: u32,
    breaks: Vec<Vec<Env>>,
    continues: Vec<Vec<Env>>,
}

/// Variables that statements assign.
pub(super) fn assigned(source: &Source<'_>, names: &Names, stmt: &Stmt) -> FxHashSet<VarId> {
    let block = Block {
        statements: vec![stmt.clone()],
        span: stmt.span,
    };
    let mut found = FxHashSet::default();
    visit::block(&block, &mut |e| {
        stores(source, names, e, &mut |id| {
            found.insert(id);
        });
    });
    found
}

/// The variables that one expression stores to, without those below it.
pub(super) fn stores(source: &Source<'_>, names: &Names, e: &Expr, each: &mut dyn FnMut(VarId)) {
    let mut add = |e: &Expr| {
        if let Some(id) = super::names::root(e).and_then(|name| names.meant(name)) {
            each(id);
        }
    };
    match &e.kind {
        ExprKind::Assign { left, .. } => add(left),
        ExprKind::Unary {
            op:
                UnaryOp::PreIncrement
                | UnaryOp::PreDecrement
                | UnaryOp::PostIncrement
                | UnaryOp::PostDecrement
                | UnaryOp::AddressOf,
            operand,
        } => add(operand),
        ExprKind::Call { callee, arguments } => {
            for at in source.call(names, callee, arguments, 0).written {
                arguments.get(at).into_iter().for_each(&mut add);
            }
            if let ExprKind::Member { base, .. } = &callee.kind {
                add(base);
            }
        }
        _ => {}
    }
}

pub(super) fn assigned_in(source: &Source<'_>, names: &Names, e: &Expr) -> FxHashSet<VarId> {
    let mut found = FxHashSet::default();
    visit::expr(e, &mut |part| {
        stores(source, names, part, &mut |id| {
            found.insert(id);
        });
    });
    found
}

fn join(left: Option<Env>, right: Option<Env>) -> Option<Env> {
    match (left, right) {
        (None, env) | (env, None) => env,
        (Some(left), Some(right)) => Some(
            left.into_iter()
                .filter_map(|(id, it)| {
                    let other = right.get(&id)?;
                    let derived = it.derived || other.derived;
                    match it.abs.join(other.abs) {
                        Abs::Top => None,
                        abs => Some((id, Known { abs, derived })),
                    }
                })
                .collect(),
        ),
    }
}

/// Every name in a statement that means a variable.
pub(super) fn named(names: &Names, stmt: &Stmt) -> Vec<VarId> {
    let (from, to) = (stmt.span.start, stmt.span.end);
    names
        .places
        .iter()
        .filter(|(span, _)| from <= span.start && span.end <= to)
        .map(|(_, id)| *id)
        .collect()
}

impl<'a> Forward<'a> {
    pub(super) fn new(folder: Folder<'a>, returns: Ty) -> Self {
        Forward {
            folder,
            returns,
            loops: 0,
            breaks: Vec::new(),
            continues: Vec::new(),
        }
    }

    pub(super) fn removable(&self, effects: &Effects) -> bool {
        effects.removable(self.folder.source.language)
    }

    fn opaque<'s>(&self, env: &mut Option<Env>, stmt: &'s Stmt) -> Node<'s> {
        let assigned = assigned(self.folder.source, self.folder.names, stmt);
        if let Some(env) = env {
            env.retain(|id, _| !assigned.contains(id));
        }
        let weight = self.weight_of(stmt);
        Node {
            stmt,
            kind: NodeKind::Opaque {
                uses: named(self.folder.names, stmt),
            },
            edits: Vec::new(),
            dead: false,
            original: weight,
            weight,
        }
    }

    fn weight_of(&self, stmt: &Stmt) -> u32 {
        let block = Block {
            statements: vec![stmt.clone()],
            span: stmt.span,
        };
        let mut sum = 0u32;
        visit::block(&block, &mut |e| {
            sum = sum.saturating_add(self.folder.source.own(self.folder.names, e, 0).weight);
        });
        sum.min(1 << 20)
    }

    /// Reads a statement; `env` is `None` where control does not come.
    pub(super) fn stmt<'s>(
        &mut self,
        env: &mut Option<Env>,
        stmt: &'s Stmt,
        depth: u32,
    ) -> Node<'s> {
        let Some(known) = env.as_mut() else {
            return self.opaque(env, stmt);
        };
        if depth > DEPTH || self.folder.source.in_macro(stmt.span) {
            return self.opaque(env, stmt);
        }
        let (source, names) = (self.folder.source, self.folder.names);
        match &stmt.kind {
            StmtKind::Expr(e) => self.expression(known, stmt, e),
            StmtKind::Declaration(declaration) => self.declaration(known, stmt, declaration),
            StmtKind::Empty => node(
                stmt,
                NodeKind::Simple(Simple {
                    noop: false,
                    keep: false,
                    ..Simple::default()
                }),
                Vec::new(),
                0,
                0,
            ),
            StmtKind::Block(block) => {
                let nodes = block
                    .statements
                    .iter()
                    .map(|statement| self.stmt(env, statement, depth + 1))
                    .collect();
                node(stmt, NodeKind::Block(nodes), Vec::new(), 0, 0)
            }
            StmtKind::If {
                initializer: None,
                condition: Condition::Expr(condition),
                then,
                otherwise,
                constexpr: false,
            } if assigned_in(source, names, condition).is_empty() => {
                let out = self.folder.fold(known, condition, false, 0);
                let decided = match out.abs.all() {
                    Some(number)
                        if out.derived && self.removable(&source.effects(names, condition)) =>
                    {
                        Some(number != 0.0)
                    }
                    _ => None,
                };
                let mut yes = if decided == Some(false) {
                    None
                } else {
                    env.clone()
                };
                let mut no = if decided == Some(true) {
                    None
                } else {
                    env.clone()
                };
                let then = self.stmt(&mut yes, then, depth + 1);
                let otherwise = otherwise
                    .as_ref()
                    .map(|it| Box::new(self.stmt(&mut no, it, depth + 1)));
                *env = join(yes, no);
                let edits = match (&out.text, decided) {
                    (Some((text, _)), None) => vec![(condition.span, text.clone())],
                    _ => Vec::new(),
                };
                let original = source.effects(names, condition).weight + 2;
                node(
                    stmt,
                    NodeKind::If {
                        condition: out,
                        known: decided,
                        then: Box::new(then),
                        otherwise,
                    },
                    edits,
                    original,
                    original,
                )
            }
            StmtKind::For {
                initializer,
                condition: None | Some(Condition::Expr(_)),
                step,
                body,
            } => self.loop_of(
                env,
                stmt,
                initializer.as_deref(),
                step.as_ref(),
                body,
                true,
                depth,
            ),
            StmtKind::While {
                condition: Condition::Expr(_),
                body,
            } => self.loop_of(env, stmt, None, None, body, true, depth),
            StmtKind::DoWhile { body, .. } => {
                self.loop_of(env, stmt, None, None, body, false, depth)
            }
            StmtKind::Return(value) => {
                let mut edits = Vec::new();
                let mut uses = Vec::new();
                let (mut original, mut weight) = (0, 0);
                if let Some(e) = value {
                    if assigned_in(source, names, e).is_empty() {
                        let same = source.type_of_expr(names, e, 0) == self.returns;
                        let out = self.folder.fold(known, e, same, 0);
                        original = source.effects(names, e).weight;
                        weight = out.effects.weight;
                        uses = out.uses;
                        edits.extend(out.text.map(|(text, _)| (e.span, text)));
                    } else {
                        uses = named(names, stmt);
                    }
                }
                *env = None;
                let jump = Jump::Return;
                node(stmt, NodeKind::Jump { jump, uses }, edits, original, weight)
            }
            StmtKind::Break | StmtKind::Continue => {
                let jump = if matches!(stmt.kind, StmtKind::Break) {
                    Jump::Break
                } else {
                    Jump::Continue
                };
                let list = if jump == Jump::Break {
                    &mut self.breaks
                } else {
                    &mut self.continues
                };
                if let Some(list) = list.last_mut() {
                    list.push(known.clone());
                }
                *env = None;
                node(
                    stmt,
                    NodeKind::Jump {
                        jump,
                        uses: Vec::new(),
                    },
                    Vec::new(),
                    1,
                    1,
                )
            }
            StmtKind::Discard => {
                *env = None;
                let jump = Jump::Discard;
                node(
                    stmt,
                    NodeKind::Jump {
                        jump,
                        uses: Vec::new(),
                    },
                    Vec::new(),
                    1,
                    1,
                )
            }
            _ => self.opaque(env, stmt),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn loop_of<'s>(
        &mut self,
        env: &mut Option<Env>,
        stmt: &'s Stmt,
        initializer: Option<&'s Stmt>,
        step: Option<&'s Expr>,
        body: &'s Stmt,
        tested_first: bool,
        depth: u32,
    ) -> Node<'s> {
        let (source, names) = (self.folder.source, self.folder.names);
        let condition = match &stmt.kind {
            StmtKind::For {
                condition: Some(Condition::Expr(e)),
                ..
            }
            | StmtKind::While {
                condition: Condition::Expr(e),
                ..
            }
            | StmtKind::DoWhile { condition: e, .. } => Some(e),
            _ => None,
        };
        if condition.is_some_and(|e| !assigned_in(source, names, e).is_empty())
            || (initializer.is_some() && self.loops > NESTED)
        {
            return self.opaque(env, stmt);
        }
        let initializer = initializer.map(|it| self.stmt(env, it, depth + 1));
        let start = env.clone().unwrap_or_default();
        let mut skipped = false;
        if let (Some(e), true) = (condition, tested_first) {
            let first = self.folder.fold(&start, e, false, 0);
            skipped = first.derived
                && first.abs.all() == Some(0.0)
                && self.removable(&source.effects(names, e));
        }
        let changes = assigned(source, names, stmt);
        let mut header = start.clone();
        let mut tries = 0;
        self.loops += 1;
        let (head, edits, inside, breaks) = loop {
            if tries == 2 || self.loops > NESTED {
                header.retain(|id, _| !changes.contains(id));
            }
            self.breaks.push(Vec::new());
            self.continues.push(Vec::new());
            let mut edits: Vec<Edit> = Vec::new();
            let mut head = Simple::default();
            let mut inner = Some(header.clone());
            if let Some(e) = condition {
                let out = self.folder.fold(&header, e, false, 0);
                head.keep |= !self.removable(&source.effects(names, e));
                head.uses.extend(out.uses);
                edits.extend(out.text.map(|(text, _)| (e.span, text)));
            }
            let inside = self.stmt(&mut inner, body, depth + 1);
            for each in self.continues.pop().unwrap_or_default() {
                inner = join(inner, Some(each));
            }
            if let Some(e) = step {
                head.keep |= !self.removable(&source.effects(names, e));
                head.uses.extend(mentioned(names, e));
                let stepped = assigned_in(source, names, e);
                head.defs.extend(stepped.iter().map(|&id| (id, false)));
                if let Some(inner) = &mut inner {
                    inner.retain(|id, _| !stepped.contains(id));
                }
            }
            head.defs.sort_unstable();
            let breaks = self.breaks.pop().unwrap_or_default();
            let next = join(Some(header.clone()), inner).unwrap_or_default();
            tries += 1;
            if next == header || tries > 3 {
                break (head, edits, inside, breaks);
            }
            header = next;
        };
        self.loops -= 1;
        let mut after = Some(if skipped { start } else { header });
        if !skipped {
            for each in breaks {
                after = join(after, Some(each));
            }
        }
        *env = after;
        let weight = condition.map_or(1, |e| source.effects(names, e).weight + 2)
            + step.map_or(0, |e| source.effects(names, e).weight);
        node(
            stmt,
            NodeKind::Loop(Box::new(Loop {
                initializer,
                head,
                body: inside,
                skipped,
            })),
            edits,
            weight,
            weight,
        )
    }
}

pub(super) fn node<'s>(
    stmt: &'s Stmt,
    kind: NodeKind<'s>,
    edits: Vec<Edit>,
    original: u32,
    weight: u32,
) -> Node<'s> {
    Node {
        stmt,
        kind,
        edits,
        dead: false,
        original,
        weight,
    }
}
