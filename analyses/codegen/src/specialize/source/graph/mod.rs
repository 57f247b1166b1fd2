//! The part of a function in which something may be moved, as a graph: the whole body, or that of the innermost loop around it.
//!
//! ```text
//! if (a) x = e; else x = 0;         a -> (then) -> x = e -> (join) -> b -> (then) -> use(x) -> (end)
//! if (b) use(x);                      -> (else) -> x = 0 ->              -> (else) ----------->
//! ```
//!
//! A node is a simple statement, the head of an `if`, an inner loop or a `switch` as a whole, or blank: the
//! beginning of a branch, which takes statements moved there, a join, the end of a block out of which an
//! operand does not reach. The graph has no cycle and no critical edge.

pub(super) mod follow;
pub(super) mod place;
pub(super) mod region;

use super::Source;
use super::effects::inner_statements;
use super::emit::full_span;
use super::flow::stores;
use super::names::{Names, VarId, root};
use super::pressure::scene::{holds, is_loop};
use facts::partial_dead::NodeKind;
use ir::lower::c_family::visit;
use place::Place;
use syntax::Span;
use syntax::c_family::ast::*;

/// The subject of an analysis: a statement that sets a variable, or an expression.
pub(super) struct Subject {
    /// The variable that the statement sets.
    pub(super) id: Option<VarId>,
    pub(super) stmt: Option<Span>,
    pub(super) operands: Vec<VarId>,
    /// True if it reads memory.
    pub(super) memory: bool,
}

/// The part of a node that is not the statement's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Plain,
    /// The head of an `if`, with its condition: the first successor is the `then` branch.
    If(Span),
    /// A loop or a `switch`: the second successor is where it is left for good, if there is one; `returns`: by `return` alone.
    Whole {
        span: Span,
        returns: bool,
    },
    /// The function or the iteration ends here.
    End,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) role: Role,
    pub(super) entry: Option<Place>,
    pub(super) exit: Option<Place>,
    /// The innermost block around the places.
    pub(super) block: Span,
    /// The text that it executes.
    pub(super) text: Option<Span>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) successors: Vec<Vec<usize>>,
    /// The node of the statement itself.
    pub(super) statement: Option<usize>,
    /// The end of the region's text; where an iteration ends it may be read later.
    pub(super) end: usize,
}

/// The first node of all.
pub(super) const ENTRY: usize = 0;

struct Builder<'a> {
    source: &'a Source<'a>,
    names: &'a Names,
    subject: &'a Subject,
    graph: Graph,
    /// Nodes behind which the next statement comes.
    open: Vec<usize>,
    /// The function ends.
    exit: usize,
    /// `break` and `continue` of the region's loop.
    of_loop: bool,
    /// Within an `if` that a macro spells: nothing can be written there.
    in_macro: bool,
}

/// The graph of a region.
pub(super) fn graph(
    source: &Source<'_>,
    names: &Names,
    region: &Block,
    of_loop: bool,
    braced: bool,
    subject: &Subject,
) -> Graph {
    let mut builder = Builder {
        source,
        names,
        subject,
        graph: Graph {
            nodes: Vec::new(),
            successors: Vec::new(),
            statement: None,
            end: 0,
        },
        open: Vec::new(),
        exit: 0,
        of_loop,
        in_macro: false,
    };
    let blank = |role| Node {
        kind: NodeKind::default(),
        role,
        entry: None,
        exit: None,
        block: region.span,
        text: None,
    };
    let entry = builder.add(blank(Role::Plain));
    debug_assert_eq!(entry, ENTRY, "the first node is the entry");
    builder.exit = builder.add(blank(Role::End));
    builder.graph.end = builder.add(Node {
        entry: Some(Place::Closing(region.span)).filter(|_| braced),
        ..blank(Role::End)
    });
    builder.open.push(entry);
    builder.block(region);
    // A copy at the end is one for those alone who come from the last statement.
    let jumps = builder.graph.successors.iter();
    if jumps.flatten().any(|&to| to == builder.graph.end) {
        builder.graph.nodes[builder.graph.end].entry = None;
    }
    builder.close(builder.graph.end);
    builder.graph
}

impl Builder<'_> {
    fn add(&mut self, mut node: Node) -> usize {
        // The text of a macro is not the function's own.
        let own = |place: &Place| !self.in_macro && !self.source.in_macro(place.span());
        node.entry = node.entry.filter(own);
        node.exit = node.exit.filter(own);
        self.graph.nodes.push(node);
        self.graph.successors.push(Vec::new());
        self.graph.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize) {
        self.graph.successors[from].push(to);
    }

    /// Leads the open ends to a node.
    fn close(&mut self, to: usize) {
        for from in std::mem::take(&mut self.open) {
            self.edge(from, to);
        }
    }

    fn blank(&mut self, place: Option<Place>, block: Span) -> usize {
        self.add(Node {
            kind: NodeKind::default(),
            role: Role::Plain,
            entry: place,
            exit: place,
            block,
            text: None,
        })
    }

    /// A node behind the open ends, with a join in front of it where several ways meet.
    fn append(&mut self, node: Node) -> usize {
        if self.open.len() > 1 {
            let join = self.blank(node.entry, node.block);
            self.close(join);
            self.open.push(join);
        }
        let at = self.add(node);
        self.close(at);
        self.open.push(at);
        at
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.statements {
            if self.open.is_empty() {
                // Nothing comes here.
                return;
            }
            self.stmt(stmt, block.span, true);
        }
        let leaves = |id: &VarId| {
            let declared = self.names.variable(*id).declared;
            let inside = holds(block.span, declared);
            let deeper = block
                .statements
                .iter()
                .any(|stmt| holds(stmt.span, declared) && !is_declaration(stmt));
            inside && !deeper
        };
        let scoped = self.subject.operands.iter().any(leaves)
            || self.subject.id.as_ref().is_some_and(leaves)
            || self.subject.memory && block.statements.iter().any(|stmt| self.makes_object(stmt));
        if scoped && !self.open.is_empty() {
            let place = Some(Place::Closing(block.span));
            self.append(Node {
                kind: NodeKind {
                    changes_operand: true,
                    ..NodeKind::default()
                },
                role: Role::Plain,
                entry: place,
                exit: None,
                block: block.span,
                text: None,
            });
        }
    }

    /// A statement; `listed` in a block.
    fn stmt(&mut self, stmt: &Stmt, block: Span, listed: bool) {
        let span = full_span(stmt);
        let place = |of: fn(Span) -> Place| match listed {
            true => Some(of(span)),
            false => Some(Place::Wrapping(span)).filter(|_| matches!(of(span), Place::Before(_))),
        };
        let plain = Node {
            kind: NodeKind::default(),
            role: Role::Plain,
            entry: place(Place::Before),
            exit: place(Place::Behind),
            block,
            text: Some(stmt.span),
        };
        match &stmt.kind {
            StmtKind::Block(inner) => self.block(inner),
            StmtKind::Empty | StmtKind::Struct(_) | StmtKind::Enum(_) | StmtKind::Alias(_) => {}
            StmtKind::If {
                initializer,
                condition,
                then,
                otherwise,
                ..
            } => {
                let text = Span::new(stmt.span.start, then.span.start);
                let mut kind = self.of_head(text, initializer.as_deref(), condition);
                let span = match condition {
                    Condition::Expr(e) => e.span,
                    Condition::Declaration(declaration) => declaration.span,
                };
                let declares = self.declares(text);
                // Of one that a macro spells all parts have the place of the macro.
                let spelled = then.span.start < span.end;
                kind.reads |= spelled && self.spells(condition);
                let head = self.append(Node {
                    kind,
                    role: Role::If(span),
                    exit: None,
                    text: Some(text),
                    ..plain
                });
                self.open.clear();
                let around = self.in_macro;
                self.in_macro |= spelled;
                let mut ends = self.branch(head, then, block);
                match otherwise {
                    Some(otherwise) => ends.extend(self.branch(head, otherwise, block)),
                    None => {
                        let braced = matches!(then.kind, StmtKind::Block(_));
                        let place = Place::Otherwise {
                            then: then.span,
                            braced,
                        };
                        let blank = self.blank(Some(place), block);
                        self.edge(head, blank);
                        ends.push(blank);
                    }
                }
                self.in_macro = around;
                self.open = match declares {
                    true => ends
                        .into_iter()
                        .map(|from| self.barrier(from, block))
                        .collect(),
                    false => ends,
                };
            }
            _ if is_loop(stmt) || matches!(stmt.kind, StmtKind::Switch { .. }) => {
                let kind = self.of_statement(stmt);
                let jumps = jumps_out(stmt);
                let returns = jumps.returns && !jumps.continues;
                let whole = self.append(Node {
                    kind,
                    role: Role::Whole {
                        span: stmt.span,
                        returns,
                    },
                    exit: None,
                    ..plain.clone()
                });
                if jumps.returns || jumps.continues {
                    let behind = self.blank(plain.exit, block);
                    self.edge(whole, behind);
                    let away = self.blank(None, block);
                    self.edge(whole, away);
                    let to = match returns {
                        true => self.exit,
                        // An iteration's end: what may be read there is taken to be read.
                        false => self.graph.end,
                    };
                    self.edge(away, to);
                    self.open = vec![behind];
                } else {
                    self.graph.nodes[whole].exit = plain.exit;
                }
            }
            StmtKind::Return(_) | StmtKind::Discard => {
                let kind = self.of_statement(stmt);
                self.append(Node {
                    kind,
                    exit: plain.entry,
                    ..plain
                });
                let exit = self.exit;
                self.close(exit);
            }
            StmtKind::Break | StmtKind::Continue => {
                debug_assert!(self.of_loop, "a jump of the region's own loop");
                self.append(Node {
                    exit: plain.entry,
                    ..plain
                });
                let end = self.graph.end;
                self.close(end);
            }
            _ => {
                let is_statement = Some(stmt.span) == self.subject.stmt;
                let kind = match is_statement {
                    true => NodeKind {
                        is_statement,
                        ..NodeKind::default()
                    },
                    false => self.of_statement(stmt),
                };
                let at = self.append(Node { kind, ..plain });
                if is_statement {
                    self.graph.statement = Some(at);
                }
            }
        }
    }

    /// The variable or an operand is declared in the head of a statement.
    fn declares(&self, head: Span) -> bool {
        let mut all = self.subject.operands.iter().chain(&self.subject.id);
        all.any(|id| holds(head, self.names.variable(*id).declared))
    }

    /// A condition spells the variable's name, or is no expression.
    fn spells(&self, condition: &Condition) -> bool {
        let (Condition::Expr(e), Some(id)) = (condition, self.subject.id) else {
            return true;
        };
        let name = &self.names.variable(id).name;
        let mut found = false;
        visit::expr(e, &mut |part| {
            found |= matches!(&part.kind, ExprKind::Name(used)
                if used.segments.first().is_some_and(|first| first.ident.name == *name));
        });
        found
    }

    /// A node that the statement can't be moved past, and in front of which nothing can be written.
    fn barrier(&mut self, from: usize, block: Span) -> usize {
        let at = self.blank(None, block);
        self.graph.nodes[at].kind.changes_operand = true;
        self.edge(from, at);
        at
    }

    /// A branch of an `if`; returns where it ends.
    fn branch(&mut self, head: usize, stmt: &Stmt, block: Span) -> Vec<usize> {
        let (place, inner) = match &stmt.kind {
            StmtKind::Block(inner) => (Place::Opening(inner.span), inner.span),
            _ => (Place::Wrapping(full_span(stmt)), block),
        };
        let blank = self.blank(Some(place), inner);
        self.edge(head, blank);
        self.open = vec![blank];
        match &stmt.kind {
            StmtKind::Block(inner) => self.block(inner),
            _ => self.stmt(stmt, block, false),
        }
        std::mem::take(&mut self.open)
    }

    /// The part that a whole statement plays.
    fn of_statement(&self, stmt: &Stmt) -> NodeKind {
        let whole = Block {
            statements: vec![stmt.clone()],
            span: stmt.span,
        };
        let mut kind = NodeKind {
            reads: self.mentions(stmt.span),
            changes_operand: self.subject.memory && has_assembly(stmt),
            ..NodeKind::default()
        };
        visit::block(&whole, &mut |e| self.add_expression(e, &mut kind));
        self.add_constructors(stmt, &mut kind);
        match self.sets(stmt) {
            Some(true) => {
                kind.reads = false;
                kind.defines = true;
            }
            Some(false) => kind.reads = false,
            None => {}
        }
        kind
    }

    /// A declaration calls constructors, and its objects call destructors where the block ends.
    fn makes_object(&self, stmt: &Stmt) -> bool {
        let StmtKind::Declaration(declaration) = &stmt.kind else {
            return false;
        };
        let mut all = declaration.declarators.iter();
        all.any(|declarator| self.source.has_constructors(&declarator.ty))
    }

    /// Adds the effects of constructors: memory, and the variables that are passed to them. Those out of
    /// sight change memory where something is passed to them.
    fn add_constructors(&self, stmt: &Stmt, kind: &mut NodeKind) {
        if let StmtKind::Declaration(declaration) = &stmt.kind {
            kind.changes_operand |= self.subject.memory && self.makes_object(stmt);
            for declarator in &declaration.declarators {
                let (Initializer::Paren(all) | Initializer::Brace(all)) = &declarator.initializer
                else {
                    continue;
                };
                let is_reference = matches!(declarator.ty.kind, TypeKind::Reference { .. });
                if all.is_empty() || is_reference || self.source.plain(&declarator.ty) {
                    continue;
                }
                kind.changes_operand |= self.subject.memory
                    || all.iter().any(|e| {
                        let id = root(e).and_then(|name| self.names.meant(name));
                        id.is_some_and(|id| self.subject.operands.contains(&id))
                    });
            }
        }
        for inner in inner_statements(stmt) {
            self.add_constructors(inner, kind);
        }
    }

    /// The part that the head of an `if` plays.
    fn of_head(&self, head: Span, initializer: Option<&Stmt>, condition: &Condition) -> NodeKind {
        let mut kind = NodeKind {
            reads: self.mentions(head),
            ..NodeKind::default()
        };
        if let Some(first) = initializer {
            kind.changes_operand |= self.of_statement(first).changes_operand;
        }
        let mut add = |e: &Expr| visit::expr(e, &mut |part| self.add_expression(part, &mut kind));
        match condition {
            Condition::Expr(e) => add(e),
            Condition::Declaration(declaration) => {
                for declarator in &declaration.declarators {
                    match &declarator.initializer {
                        Initializer::None => {}
                        Initializer::Copy(e) => add(e),
                        Initializer::Paren(all) | Initializer::Brace(all) => {
                            all.iter().for_each(&mut add);
                        }
                    }
                }
            }
        }
        kind
    }

    /// `x = ..;` and `T x = ..;` without `x` on the right define it, `T x;` does nothing. `None`: none of them.
    fn sets(&self, stmt: &Stmt) -> Option<bool> {
        let id = self.subject.id?;
        let places = self.names.places.iter();
        let mut inside = places.filter(|(place, of)| *of == id && holds(stmt.span, *place));
        let first = inside.next()?.0;
        if inside.next().is_some() {
            return None;
        }
        match &stmt.kind {
            StmtKind::Expr(Expr {
                kind: ExprKind::Assign { op: None, left, .. },
                ..
            }) => (matches!(left.kind, ExprKind::Name(_)) && left.span == first).then_some(true),
            StmtKind::Declaration(declaration) => {
                let mut all = declaration.declarators.iter();
                let own = all.find(
                    |each| matches!(&each.name, DeclaratorName::Plain(ident) if ident.span == first),
                )?;
                Some(!matches!(own.initializer, Initializer::None))
            }
            _ => None,
        }
    }

    /// The variable is named in a part of the text.
    fn mentions(&self, text: Span) -> bool {
        let mut places = self.names.places.iter();
        places.any(|(place, of)| Some(*of) == self.subject.id && holds(text, *place))
    }

    /// Adds the effects of an expression, without those below it.
    fn add_expression(&self, e: &Expr, kind: &mut NodeKind) {
        stores(self.source, self.names, e, &mut |id| {
            kind.changes_operand |= self.subject.operands.contains(&id);
        });
        if self.subject.memory {
            let effects = self.source.own(self.names, e, 0);
            kind.changes_operand |= effects.writes
                || effects.volatile
                || effects.barrier
                || effects.cross_lane
                || effects.unknown.is_some();
        }
    }
}

fn is_declaration(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Declaration(_))
}

fn has_assembly(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Asm(_)) || inner_statements(stmt).into_iter().any(has_assembly)
}

/// Jumps that leave a loop or a `switch` further than to the statement behind it.
#[derive(Clone, Copy, Default)]
struct Jumps {
    returns: bool,
    continues: bool,
}

fn jumps_out(stmt: &Stmt) -> Jumps {
    fn look(stmt: &Stmt, in_loop: bool, out: &mut Jumps) {
        match &stmt.kind {
            StmtKind::Return(_) | StmtKind::Discard => out.returns = true,
            StmtKind::Continue => out.continues |= !in_loop,
            _ => {
                let in_loop = in_loop || is_loop(stmt);
                for inner in inner_statements(stmt) {
                    look(inner, in_loop, out);
                }
            }
        }
    }
    let mut out = Jumps::default();
    look(stmt, false, &mut out);
    out
}
