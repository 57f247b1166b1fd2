//! A function with its peak: where variables are defined, which uses come behind the peak, and before which statements
//! something may be inserted that serves them.
//!
//! ```text
//! float u = in[i];  f(u);  for (..) { (the peak) g(u); }  h(u);
//! ```
//!
//! Uses behind the peak are those after it in the text, and all in the outermost loop around the peak that does not hold the
//! definition: `g(u)` and `h(u)`; `f(u)` reads the variable itself. The anchor of a use is the outermost statement around it
//! that does not hold the peak, in the block of the definition or one further in.

use super::super::Source;
use super::super::effects::inner_statements;
use super::super::emit::{all_statements, full_span};
use super::super::flow::{Edit, stores};
use super::super::names::{Names, VarId};
use super::Refusal;
use ir::lower::c_family::visit;
use smol_str::{SmolStr, ToSmolStr, format_smolstr};
use std::collections::BTreeMap;
use syntax::Span;
use syntax::c_family::ast::*;
use syntax::c_family::lexer::lex_fragment;
use syntax::c_family::token::TokenKind;

/// Nesting that is followed.
const DEPTH: u32 = 200;

pub(in super::super) struct Scene<'a> {
    pub(in super::super) source: &'a Source<'a>,
    pub(in super::super) function: &'a Function,
    pub(in super::super) names: Names,
    pub(in super::super) body: &'a Block,
    /// The statement or the head that is executed at the peak.
    peak: Span,
    /// Stores to variables, in order of position.
    writes: Vec<(Span, VarId)>,
    /// The names in their declarations of the variables that live at the peak.
    alive: Vec<Span>,
}

/// The statement that gives a variable its only value: its declaration, or an assignment behind which all uses come.
#[derive(Clone, Debug)]
pub(in super::super) struct Definition<'s> {
    pub(in super::super) id: VarId,
    pub(in super::super) name: SmolStr,
    pub(in super::super) block: &'s Block,
    /// The number of the statement in its block.
    pub(in super::super) at: usize,
    pub(in super::super) is_declaration: bool,
    pub(in super::super) declarator: &'s Declarator,
    pub(in super::super) value: &'s Expr,
    pub(in super::super) in_loop: bool,
}

/// Later uses that one inserted statement serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) struct Served {
    /// The statement before which it stands, with its attributes.
    pub(in super::super) anchor: Span,
    pub(in super::super) uses: Vec<Span>,
    /// In a loop that does not hold the definition, so that it is executed more often.
    pub(in super::super) often: bool,
}

impl<'s> Definition<'s> {
    pub(in super::super) fn stmt(&self) -> &'s Stmt {
        &self.block.statements[self.at]
    }
}

/// A statement by its block.
#[derive(Clone, Copy, Debug)]
struct Placed<'s> {
    block: &'s Block,
    at: usize,
}

impl<'s> Placed<'s> {
    fn stmt(self) -> &'s Stmt {
        &self.block.statements[self.at]
    }
}

pub(in super::super) const fn is_loop(stmt: &Stmt) -> bool {
    matches!(
        stmt.kind,
        StmtKind::For { .. }
            | StmtKind::RangeFor { .. }
            | StmtKind::While { .. }
            | StmtKind::DoWhile { .. }
    )
}

pub(in super::super) fn holds(around: Span, inner: Span) -> bool {
    around.start <= inner.start && inner.end <= around.end
}

impl<'a> Scene<'a> {
    pub(in super::super) fn new(
        source: &'a Source<'a>,
        function: &'a Function,
        peak: Span,
        alive: Vec<Span>,
    ) -> Result<Scene<'a>, Refusal> {
        let mut scene = Scene::of(source, function)?;
        scene.peak = scene.executed(peak).ok_or(Refusal::NoPeak)?;
        scene.alive = alive;
        Ok(scene)
    }

    /// The function without a peak.
    pub(in super::super) fn of(
        source: &'a Source<'a>,
        function: &'a Function,
    ) -> Result<Scene<'a>, Refusal> {
        let FunctionBody::Block(body) = &function.body else {
            return Err(Refusal::NoVariable);
        };
        if source.item.file != syntax::FileId::MAIN {
            return Err(Refusal::Elsewhere);
        }
        let mut all = Vec::new();
        for stmt in &body.statements {
            all_statements(stmt, &mut all, 0);
        }
        for stmt in all {
            match stmt.kind {
                StmtKind::Goto(_) | StmtKind::Label(_) => return Err(Refusal::Jumps),
                StmtKind::Skipped(_) | StmtKind::Unknown => return Err(Refusal::NotUnderstood),
                _ => {}
            }
        }
        let names = Names::of(function);
        let mut writes = Vec::new();
        visit::block(body, &mut |e| {
            stores(source, &names, e, &mut |id| writes.push((e.span, id)));
        });
        writes.sort();
        Ok(Scene {
            source,
            function,
            names,
            body,
            peak: Span::at(0),
            writes,
            alive: Vec::new(),
        })
    }

    /// The simple statement, or the head of the compound one, that holds a place.
    fn executed(&self, place: Span) -> Option<Span> {
        let mut stmt = self.placed(self.body, place, &mut Vec::new())?.stmt();
        for _ in 0..DEPTH {
            let inner = inner_statements(stmt);
            let next = inner.iter().find(|each| holds(each.span, place));
            match next {
                Some(next) => stmt = next,
                None => {
                    let before = inner.iter().filter(|each| each.span.end <= place.start);
                    let after = inner.iter().filter(|each| each.span.start >= place.end);
                    let start = before.map(|each| each.span.end).max();
                    let end = after.map(|each| each.span.start).min();
                    return Some(Span::new(
                        start.unwrap_or(stmt.span.start),
                        end.unwrap_or(stmt.span.end),
                    ));
                }
            }
        }
        None
    }

    /// The innermost block's statement that holds a place; adds the statements around that block, outermost first.
    fn placed<'s>(
        &self,
        block: &'s Block,
        place: Span,
        around: &mut Vec<&'s Stmt>,
    ) -> Option<Placed<'s>> {
        let at = index(block, place)?;
        let mut stmt = &block.statements[at];
        let mut passed = vec![stmt];
        for _ in 0..DEPTH {
            if let StmtKind::Block(inner) = &stmt.kind {
                around.extend(passed);
                if around.len() > DEPTH as usize {
                    return None;
                }
                return match index(inner, place) {
                    Some(_) => self.placed(inner, place, around),
                    None => Some(Placed { block, at }),
                };
            }
            let inner = inner_statements(stmt);
            match inner.into_iter().find(|each| holds(each.span, place)) {
                Some(next) => {
                    stmt = next;
                    passed.push(stmt);
                }
                None => return Some(Placed { block, at }),
            }
        }
        None
    }

    /// The definition of the variable that is declared at a place, where it is defined once, with its value.
    pub(in super::super) fn definition(&self, declared: Span) -> Result<Definition<'_>, Refusal> {
        let place = self.names.places.iter();
        let mut found = place.filter(|(span, id)| {
            *span == declared && self.names.variable(*id).declared == declared
        });
        let id = found.next().ok_or(Refusal::NoVariable)?.1;
        let variable = self.names.variable(id);
        let name = variable.name.clone();
        let mut written = self.writes.iter().filter(|(_, written)| *written == id);
        let only = written.next().map(|(span, _)| *span);
        if variable.parameter {
            // One that is assigned has a register, as any other variable.
            return Err(match only {
                Some(_) => Refusal::Assigned(name),
                None => Refusal::Parameter(name),
            });
        }
        if self.source.in_macro(declared) {
            return Err(Refusal::Macro(name));
        }
        if variable.escapes || variable.volatile {
            return Err(Refusal::Escapes(name));
        }
        let mut around = Vec::new();
        let placed = self.placed(self.body, declared, &mut around);
        let placed = placed.ok_or(Refusal::NoVariable)?;
        let StmtKind::Declaration(declaration) = &placed.stmt().kind else {
            return Err(Refusal::NoVariable);
        };
        let mut declarators = declaration.declarators.iter();
        let declarator = declarators.find(
            |each| matches!(&each.name, DeclaratorName::Plain(ident) if ident.span == declared),
        );
        let declarator = declarator.ok_or(Refusal::NoVariable)?;
        if declaration.specifiers.words.has(SpecifierSet::CONSTEXPR) {
            return Err(Refusal::Trivial(name));
        }
        if around
            .iter()
            .any(|each| matches!(each.kind, StmtKind::Switch { .. }))
        {
            return Err(Refusal::InSwitch(name));
        }
        if written.next().is_some() {
            return Err(Refusal::Assigned(name));
        }
        match (&declarator.initializer, only) {
            (Initializer::Copy(e), None) if !matches!(e.kind, ExprKind::List(_)) => {
                Ok(Definition {
                    id,
                    name,
                    block: placed.block,
                    at: placed.at,
                    is_declaration: true,
                    declarator,
                    value: e,
                    in_loop: around.iter().any(|each| is_loop(each)),
                })
            }
            (Initializer::None, Some(only)) => self.assigned(id, declarator, only),
            (Initializer::None, None) => Err(Refusal::NoValue(name)),
            (_, Some(_)) => Err(Refusal::Assigned(name)),
            _ => Err(Refusal::NoValue(name)),
        }
    }

    /// The only assignment of a variable that is declared without a value, where every use comes behind it in its block.
    fn assigned<'s>(
        &'s self,
        id: VarId,
        declarator: &'s Declarator,
        only: Span,
    ) -> Result<Definition<'s>, Refusal> {
        let name = self.names.variable(id).name.clone();
        let mut around = Vec::new();
        let placed = self.placed(self.body, only, &mut around);
        let placed = placed.ok_or_else(|| Refusal::NoValue(name.clone()))?;
        let stmt = placed.stmt();
        let StmtKind::Expr(Expr {
            kind:
                ExprKind::Assign {
                    op: None,
                    left,
                    right,
                    ..
                },
            span,
        }) = &stmt.kind
        else {
            return Err(Refusal::NoValue(name));
        };
        if !matches!(left.kind, ExprKind::Name(_)) || *span != only || self.source.in_macro(only) {
            return Err(Refusal::NoValue(name));
        }
        if around
            .iter()
            .any(|each| matches!(each.kind, StmtKind::Switch { .. }))
        {
            return Err(Refusal::InSwitch(name));
        }
        let declared = self.names.variable(id).declared;
        let mut uses = self
            .names
            .places
            .iter()
            .filter(|(place, of)| *of == id && *place != declared && *place != left.span);
        let behind = |place: Span| place.start >= stmt.span.end && holds(placed.block.span, place);
        if !uses.all(|(place, _)| behind(*place)) {
            return Err(Refusal::Assigned(name));
        }
        Ok(Definition {
            id,
            name,
            block: placed.block,
            at: placed.at,
            is_declaration: false,
            declarator,
            value: right,
            in_loop: around.iter().any(|each| is_loop(each)),
        })
    }

    /// The uses of a variable behind the peak, by the statements that can serve them.
    pub(in super::super) fn served(
        &self,
        definition: &Definition<'_>,
    ) -> Result<Vec<Served>, Refusal> {
        let name = || definition.name.clone();
        let stmt = definition.stmt().span;
        let mut around = Vec::new();
        let peak = self.placed(self.body, self.peak, &mut around);
        around.extend(peak.map(Placed::stmt));
        let again = around
            .iter()
            .find(|each| is_loop(each) && holds(each.span, self.peak) && !holds(each.span, stmt));
        if self.peak.end <= stmt.start {
            return Err(Refusal::NotReadLater(name()));
        }
        let mut groups: BTreeMap<(u32, bool), Vec<(Placed<'_>, Span)>> = BTreeMap::new();
        for (place, id) in &self.names.places {
            if *id != definition.id
                || *place == self.names.variable(*id).declared
                || holds(stmt, *place)
            {
                continue;
            }
            if holds(self.peak, *place) {
                return Err(Refusal::ReadAtPeak(name()));
            }
            let later =
                place.start >= self.peak.end || again.is_some_and(|stmt| holds(stmt.span, *place));
            if !later {
                continue;
            }
            if self.source.in_macro(*place) {
                return Err(Refusal::Macro(name()));
            }
            let (found, behind) = self.anchor(definition, *place)?;
            let key = (found.block.span.start, behind);
            groups.entry(key).or_default().push((found, *place));
        }
        if groups.is_empty() {
            return Err(Refusal::NotReadLater(name()));
        }
        let mut out = Vec::new();
        for group in groups.into_values() {
            let Some((first, _)) = group.iter().min_by_key(|(found, _)| found.at) else {
                continue;
            };
            let anchor = full_span(first.stmt());
            out.push(Served {
                anchor,
                uses: group.into_iter().map(|(_, place)| place).collect(),
                often: self.loops(anchor).any(|each| !holds(each.span, stmt)),
            });
        }
        let end = self.reach(definition, &out);
        let between = Span::new(stmt.end, end.max(stmt.end));
        if self.has_directive(between) {
            return Err(Refusal::Directive(name()));
        }
        Ok(out)
    }

    /// The loops around a place.
    fn loops(&self, place: Span) -> impl Iterator<Item = &Stmt> {
        let mut all = Vec::new();
        for stmt in &self.body.statements {
            all_statements(stmt, &mut all, 0);
        }
        all.into_iter()
            .filter(move |each| is_loop(each) && holds(each.span, place) && each.span != place)
    }

    /// The statement before which something serves a use, and whether it comes behind that which holds the peak in its block.
    fn anchor<'s>(
        &self,
        definition: &Definition<'s>,
        place: Span,
    ) -> Result<(Placed<'s>, bool), Refusal> {
        let name = || definition.name.clone();
        let mut block = definition.block;
        for _ in 0..DEPTH {
            let at = index(block, place).ok_or(Refusal::NoVariable)?;
            let stmt = &block.statements[at];
            let found = Placed { block, at };
            if !holds(stmt.span, self.peak) {
                let peak = index(block, self.peak);
                return Ok((found, peak.is_some_and(|peak| peak < at)));
            }
            if matches!(stmt.kind, StmtKind::Switch { .. }) {
                return Err(Refusal::InSwitch(name()));
            }
            let mut inner = stmt;
            block = loop {
                if let StmtKind::Block(next) = &inner.kind {
                    break next;
                }
                let next = inner_statements(inner);
                match next.into_iter().find(|each| holds(each.span, place)) {
                    Some(next) => inner = next,
                    // In a head: that of a branch is executed before the peak, that of a loop in each
                    // iteration.
                    None if is_loop(inner) => return Err(Refusal::InHead(name())),
                    None if std::ptr::eq(inner, stmt) => return Ok((found, false)),
                    None => return Err(Refusal::NoBraces(name())),
                }
            };
        }
        Err(Refusal::NoVariable)
    }

    /// The end of the text in which code that serves the uses is executed: with the loops around them in the
    /// definition's block.
    pub(in super::super) fn reach(&self, definition: &Definition<'_>, served: &[Served]) -> u32 {
        let mut end = 0;
        for place in served.iter().flat_map(|each| &each.uses) {
            end = end.max(place.end);
            if let Some(at) = index(definition.block, *place) {
                let mut all = Vec::new();
                all_statements(&definition.block.statements[at], &mut all, 0);
                let around = all
                    .into_iter()
                    .filter(|each| is_loop(each) && holds(each.span, *place));
                end = end.max(around.map(|each| each.span.end).max().unwrap_or(0));
            }
        }
        end
    }

    /// Returns whether a variable takes no register of its own at the peak if values are computed from it: it
    /// lives there anyway, or it is a parameter.
    pub(in super::super) fn is_there(&self, id: VarId) -> bool {
        let variable = self.names.variable(id);
        variable.parameter || self.alive.contains(&variable.declared)
    }

    /// The innermost loop around the peak, with the surroundings of its head.
    pub(in super::super) fn loop_at_peak(&self) -> Option<&'a Stmt> {
        let mut around = Vec::new();
        let peak = self.placed(self.body, self.peak, &mut around);
        let mut all: Vec<&Stmt> = Vec::new();
        if let Some(placed) = peak {
            all_statements(placed.stmt(), &mut all, 0);
        }
        around.extend(all.into_iter().filter(|each| holds(each.span, self.peak)));
        around.into_iter().rfind(|each| is_loop(each))
    }

    pub(in super::super) const fn peak(&self) -> Span {
        self.peak
    }

    /// Returns whether a variable is stored to in a part of the text.
    pub(in super::super) fn changes(&self, id: VarId, within: Span) -> bool {
        let inside = |span: &Span| within.start <= span.start && span.start < within.end;
        self.writes
            .iter()
            .any(|(span, each)| *each == id && inside(span))
    }

    /// Returns whether a name means another variable than `id` at one of some places, because of a declaration in a part of
    /// the text.
    pub(in super::super) fn declares(
        &self,
        name: &str,
        id: Option<VarId>,
        within: Span,
        places: &[Span],
    ) -> bool {
        let variables = (0..).map(VarId).zip(&self.names.variables);
        let mut others = variables.filter(|(at, each)| {
            let inside = within.start <= each.declared.start && each.declared.start < within.end;
            Some(*at) != id && inside && each.name == name
        });
        others.any(|(_, each)| {
            let placed = self.placed(self.body, each.declared, &mut Vec::new());
            placed.is_none_or(|placed| {
                places
                    .iter()
                    .any(|place| holds(placed.block.span, Span::at(place.start)))
            })
        })
    }

    /// Returns whether a name is declared anew in a part of the text, in whatever block.
    pub(in super::super) fn redeclares(&self, name: &str, within: Span) -> bool {
        self.names.variables.iter().any(|each| {
            within.start <= each.declared.start
                && each.declared.start < within.end
                && each.name == name
        })
    }

    pub(in super::super) fn has_directive(&self, within: Span) -> bool {
        self.source.slice(within).lines().any(|line| {
            let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
            rest.is_some_and(|rest| !rest.starts_with("pragma"))
        })
    }

    /// A name that the file does not use yet, nor any of those given.
    pub(in super::super) fn fresh(&self, wanted: &str, taken: &mut Vec<SmolStr>) -> SmolStr {
        if taken.is_empty() {
            let text = self.source.text;
            let words = lex_fragment(text);
            taken.extend(
                words
                    .iter()
                    .filter(|token| token.kind == TokenKind::Ident)
                    .map(|token| {
                        text.get(token.start as usize..token.end as usize)
                            .unwrap_or("")
                            .to_smolstr()
                    }),
            );
            taken.sort();
            taken.dedup();
        }
        let mut candidate = SmolStr::new(wanted);
        let mut number = 2;
        while taken.contains(&candidate) {
            candidate = format_smolstr!("{wanted}{number}");
            number += 1;
        }
        taken.push(candidate.clone());
        candidate
    }

    /// Lines before a statement, in its indentation; in front of it where it does not begin a line.
    pub(in super::super) fn before(&self, anchor: Span, lines: &[String]) -> Edit {
        let source = self.source;
        let end = source.end_of_line();
        if !source.begins_line(anchor.start) {
            let text: String = lines.iter().map(|line| format!("{line} ")).collect();
            return (Span::at(anchor.start), text);
        }
        let indent = source.indentation(anchor.start);
        let text = lines.iter().map(|line| format!("{indent}{line}{end}"));
        (Span::at(source.line(anchor.start).start), text.collect())
    }

    /// Lines behind a statement that is a whole one of a block.
    pub(in super::super) fn behind(&self, stmt: Span, lines: &[String]) -> Edit {
        let source = self.source;
        let whole = source.begins_line(stmt.start);
        match source.ends_line(stmt.end).filter(|_| whole) {
            Some(at) => {
                let indent = source.indentation(stmt.start);
                let end = source.end_of_line();
                let text = lines.iter().map(|line| format!("{end}{indent}{line}"));
                (Span::at(at), text.collect())
            }
            None => {
                let text = lines.iter().map(|line| format!(" {line}"));
                (Span::at(stmt.end), text.collect())
            }
        }
    }

    /// Lines at the beginning of the function's body.
    pub(in super::super) fn first(&self, lines: &[String]) -> Edit {
        match self.body.statements.first() {
            Some(stmt) => {
                let anchor = full_span(stmt);
                let open = self.source.line(self.body.span.start);
                match open == self.source.line(anchor.start) {
                    // `{ a; }` in one line.
                    true => {
                        let text: String = lines.iter().map(|line| format!(" {line}")).collect();
                        (Span::at(self.body.span.start + 1), text)
                    }
                    false => self.before(anchor, lines),
                }
            }
            None => (Span::at(self.body.span.start + 1), String::new()),
        }
    }
}

/// The statement of a block that holds a place.
pub(in super::super) fn index(block: &Block, place: Span) -> Option<usize> {
    block
        .statements
        .iter()
        .position(|each| holds(each.span, place))
}
