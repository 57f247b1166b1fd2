//! The statements that are copied, the reasons why they may not be, and the text that results.
//!
//! The check stands before the first statement that a zero changes, in the block of the definition. The last
//! statement is the earliest with which nine tenths of the possible saving is reached: one more
//! multiplication is not worth another copied line.

use super::effects::{Effects, numeric};
use super::emit::{all_statements, full_span};
use super::flow::{self, Forward, Node, assigned};
use super::fold::{Abs, Env, Folder, Known};
use super::names::{Names, VarId};
use super::needed::{Backward, Live};
use super::operands::{operand_at, operands};
use super::permutations;
use super::types::{Base, Shape, Ty};
use super::unset;
use super::{Refusal, Settings, Source};
use crate::specialize::Zeros;
use ir::Language;
use ir::lower::c_family::visit;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// Work that must be saved, in additions: a vote costs about as much.
const LEAST: u32 = 6;
/// Ends of the region that are tried.
const ENDS: usize = 64;

/// A place where a variable has just been set.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    pub name: SmolStr,
    /// The variable's name where it is declared, set or read: item-relative.
    pub place: Span,
    /// The statement that sets it; empty for a parameter.
    pub definition: Span,
    /// The statement sets it itself, all of it: the value there is the one that is tested.
    pub direct: bool,
    pub(super) subject: Subject,
    /// Statements of the block before the check.
    path: Path,
}

/// The subject of the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    Variable(VarId),
    /// An expression of the first statement after the check.
    Operand(Span),
}

impl Candidate {
    /// Returns whether it is an expression and has no name.
    #[must_use]
    pub const fn is_operand(&self) -> bool {
        matches!(self.subject, Subject::Operand(_))
    }
    fn variable(&self) -> Option<VarId> {
        match self.subject {
            Subject::Variable(id) => Some(id),
            Subject::Operand(_) => None,
        }
    }
}

/// A block by the statements that lead to it, and the number of statements of it that come before the check.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Path {
    block: Span,
    before: usize,
}

/// A version as edits of the file.
#[derive(Clone, PartialEq, Debug)]
pub struct Version {
    pub name: SmolStr,
    /// Absolute; one place.
    pub edit: (Span, String),
    /// The condition of the check, item-relative in the original: where it will stand.
    pub test: String,
    /// Lines that were copied, and lines of the fast path.
    pub lines: u32,
    pub fast_lines: u32,
    /// Work by the count of this module: as written, and in the fast path.
    pub work: u32,
    pub fast_work: u32,
    /// The fast path takes 0 * x for 0, or a sum with a zero for its other operand.
    pub absorbs: bool,
    /// The extent of the region, which the check needs: absolute in the original.
    pub region: Span,
    /// The variable's definition before the region, item-relative.
    pub definition: Span,
}

/// The variables of a function that could be tested, in order of position.
#[must_use]
pub fn candidates(source: &Source<'_>, function: &Function) -> Vec<Candidate> {
    let names = Names::of(function);
    let FunctionBody::Block(body) = &function.body else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (at, variable) in names.variables.iter().enumerate() {
        if variable.parameter && variable.declared.end <= body.span.start {
            found.push(Candidate {
                name: variable.name.clone(),
                place: variable.declared,
                definition: Span::at(body.span.start),
                direct: true,
                subject: Subject::Variable(VarId(at as u32)),
                path: Path {
                    block: body.span,
                    before: 0,
                },
            });
        }
    }
    let mut blocks = Vec::new();
    blocks_of(body, &mut blocks, 0);
    for block in blocks {
        for (at, stmt) in block.statements.iter().enumerate() {
            let mut set: Vec<VarId> = assigned(source, &names, stmt).into_iter().collect();
            if let StmtKind::Declaration(declaration) = &stmt.kind {
                for declarator in &declaration.declarators {
                    if let DeclaratorName::Plain(ident) = &declarator.name
                        && !matches!(declarator.initializer, Initializer::None)
                    {
                        set.extend(names.declared_at(ident));
                    }
                }
            }
            set.sort_unstable();
            set.dedup();
            for variable in set {
                let inside = names.places.iter().find(|(span, id)| {
                    *id == variable && stmt.span.start <= span.start && span.end <= stmt.span.end
                });
                // What is declared further in has no meaning after the statement.
                let declared = names.variable(variable).declared;
                let own = matches!(stmt.kind, StmtKind::Declaration(_));
                let visible =
                    own || declared.start < stmt.span.start || declared.start >= stmt.span.end;
                if let (Some((place, _)), true) = (inside, visible) {
                    found.push(Candidate {
                        name: names.variable(variable).name.clone(),
                        place: *place,
                        definition: full_span(stmt),
                        direct: matches!(stmt.kind, StmtKind::Declaration(_) | StmtKind::Expr(_)),
                        subject: Subject::Variable(variable),
                        path: Path {
                            block: block.span,
                            before: at + 1,
                        },
                    });
                }
            }
            for operand in operands(source, &names, stmt) {
                found.push(Candidate {
                    name: SmolStr::new(source.slice(operand.span)),
                    place: operand.span,
                    definition: Span::at(full_span(stmt).start),
                    direct: true,
                    subject: Subject::Operand(operand.span),
                    path: Path {
                        block: block.span,
                        before: at,
                    },
                });
            }
        }
    }
    found.sort_by_key(|it| (it.place, it.definition));
    found
}

fn blocks_of<'s>(block: &'s Block, out: &mut Vec<&'s Block>, depth: u32) {
    if depth > 200 {
        return;
    }
    out.push(block);
    for stmt in &block.statements {
        let mut all = Vec::new();
        all_statements(stmt, &mut all, 0);
        for each in all {
            if let StmtKind::Block(inner) = &each.kind
                && !out.iter().any(|known| known.span == inner.span)
            {
                blocks_of(inner, out, depth + 1);
            }
        }
    }
}

/// The candidate that an author means at an offset: the variable set by the statement there, or the definition that a
/// name there reads.
#[must_use]
pub fn candidate_at(source: &Source<'_>, function: &Function, offset: u32) -> Option<Candidate> {
    let names = Names::of(function);
    let all = candidates(source, function);
    let number = |&(_, id): &(Span, VarId)| numeric(&source.type_of(&names.variable(id).ty));
    let place = names.at(offset);
    // Names of pointers and resources are parts of operands.
    if place.as_ref().is_none_or(|place| !number(place)) {
        let around = |candidate: &&Candidate| {
            candidate.place.start <= offset && offset <= candidate.place.end
        };
        let operands = all.iter().filter(|it| it.is_operand()).filter(around);
        if let Some(operand) = operands.min_by_key(|operand| operand.place.len()) {
            return Some(operand.clone());
        }
    }
    if let Some((span, variable)) = place {
        // The last definition before the name in an enclosing block, or the statement itself if it sets the
        // variable.
        let mut best: Option<&Candidate> = None;
        for each in all.iter().filter(|it| it.variable() == Some(variable)) {
            let around = each.path.block.start <= span.start && span.end <= each.path.block.end
                || names.variable(variable).parameter;
            let before = each.definition.start <= span.start;
            if around && before && best.is_none_or(|other| other.definition <= each.definition) {
                best = Some(each);
            }
        }
        return best.cloned();
    }
    // Elsewhere on a statement: what it sets, of the innermost.
    all.into_iter()
        .filter(|it| !it.is_operand())
        .filter(|it| it.definition.start <= offset && offset <= it.definition.end)
        .min_by_key(|it| (it.definition.len(), it.place))
}

pub(super) struct Chosen<'s> {
    pub(super) first: usize,
    last: usize,
    pub(super) nodes: Vec<Node<'s>>,
    pub(super) work: u32,
    pub(super) fast_work: u32,
}

/// Writes the version of a candidate.
///
/// # Errors
/// When nothing is saved, or the statements can't be copied; the reason.
pub fn version(
    source: &Source<'_>,
    function: &Function,
    candidate: &Candidate,
    settings: Settings,
) -> Result<Version, Refusal> {
    let FunctionBody::Block(body) = &function.body else {
        return Err(Refusal::NoVariable);
    };
    if source.item.file != syntax::FileId::MAIN {
        return Err(Refusal::Elsewhere);
    }
    if source.language == Language::Hlsl && !settings.uniform && !settings.each_lane {
        let older = ["tex2D(", "texCUBE(", "tex2Dlod(", "technique "];
        if let Some(word) = older.into_iter().find(|word| source.text.contains(word)) {
            return Err(Refusal::Older(word.trim_end_matches(['(', ' '])));
        }
    }
    let mut names = Names::of(function);
    let id = candidate.variable();
    let name = candidate.name.clone();
    if let Some(id) = id {
        let variable = names.variable(id);
        if !numeric(&source.type_of(&variable.ty)) {
            return Err(Refusal::NotNumeric(name));
        }
        if variable.escapes || variable.volatile {
            return Err(Refusal::Escapes(name));
        }
        let Path { block, before } = candidate.path;
        if !unset::is_set(source, &names, body, block, before, id) {
            return Err(Refusal::Unset(name));
        }
    }
    let elsewhere = permutations::mentioned(source, &names, body.span);
    names.places.extend(elsewhere);
    names.places.sort();
    let mut blocks = Vec::new();
    blocks_of(body, &mut blocks, 0);
    let block = blocks
        .into_iter()
        .find(|block| block.span == candidate.path.block)
        .ok_or(Refusal::NoVariable)?;
    let statements = block
        .statements
        .get(candidate.path.before..)
        .unwrap_or_default();
    let around = Around {
        source,
        names: &names,
        function: body,
        block,
    };
    let returns = source.type_of(&function.return_type);
    let ty = match candidate.subject {
        Subject::Variable(id) => source.type_of(&names.variable(id).ty),
        Subject::Operand(place) => {
            let first = statements.first().ok_or(Refusal::NoVariable)?;
            let operand = operand_at(source, &names, first, place).ok_or(Refusal::NoVariable)?;
            source.type_of_expr(&names, operand, 0)
        }
    };
    let zeros = if settings.absorb {
        Zeros::Absorb
    } else {
        Zeros::Ieee
    };
    let test = condition(source, &name, &ty).ok_or_else(|| Refusal::NotNumeric(name.clone()))?;
    let subject = candidate.subject;
    let chosen = match choose(&around, statements, subject, zeros, &returns) {
        Ok(chosen) => chosen,
        Err(guarded) => {
            let absorbing = || choose(&around, statements, subject, Zeros::Absorb, &returns);
            return Err(match guarded {
                _ if zeros == Zeros::Ieee && absorbing().is_ok() => Refusal::Ieee,
                true => Refusal::Guarded(name),
                false => Refusal::NothingSaved(name),
            });
        }
    };
    let absorbs = zeros == Zeros::Absorb
        && !choose(&around, statements, subject, Zeros::Ieee, &returns).is_ok_and(|exact| {
            (exact.first, exact.last, exact.fast_work)
                == (chosen.first, chosen.last, chosen.fast_work)
        });
    let region = &statements[chosen.first..=chosen.last];
    let whole = Span::new(
        full_span(&region[0]).start,
        region[region.len() - 1].span.end,
    );
    let lines = source.slice(whole).lines().count() as u32;
    let before = match (chosen.first, candidate.path.before) {
        (0, 0) => block.span.start + 1,
        (0, before) => block.statements[before - 1].span.end,
        (first, _) => statements[first - 1].span.end,
    };
    around.legal(statements, &chosen, candidate, settings, zeros, lines)?;
    let version = around.write(
        candidate, &chosen, region, whole, before, &test, settings, lines,
    )?;
    Ok(Version { absorbs, ..version })
}

/// Returns the expression that is compared with zero.
fn condition(source: &Source<'_>, name: &str, ty: &Ty) -> Option<String> {
    let (base, shape) = ty.number()?;
    let zero = source.literal(&Ty::scalar(base), 0.0, true)?.0;
    Some(match (base, shape) {
        (Base::Bool, Shape::Scalar) => format!("!{name}"),
        (Base::Bool, _) => return None,
        (_, Shape::Scalar) => format!("{name} == {zero}"),
        (_, Shape::Vector(n)) if source.language == Language::Hlsl && n <= 4 => {
            format!("all({name} == {zero})")
        }
        (_, Shape::Vector(n)) => ["x", "y", "z", "w"][..usize::from(n).min(4)]
            .iter()
            .map(|lane| format!("{name}.{lane} == {zero}"))
            .collect::<Vec<_>>()
            .join(" && "),
        (_, Shape::Matrix(..)) => return None,
    })
}

/// The run of statements to copy; otherwise, whether the author's own tests are why there is none.
fn choose<'s>(
    around: &Around<'_>,
    statements: &'s [Stmt],
    subject: Subject,
    zeros: Zeros,
    returns: &Ty,
) -> Result<Chosen<'s>, bool> {
    let mut folder = Folder {
        source: around.source,
        names: around.names,
        zeros,
        operand: None,
    };
    let mut env = Env::default();
    let zero = Known {
        abs: Abs::All(0.0),
        derived: true,
    };
    match subject {
        Subject::Variable(id) => {
            env.insert(id, zero);
        }
        Subject::Operand(place) => folder.operand = Some(place),
    }
    let mut env = Some(env);
    let mut forward = Forward::new(folder, returns.clone());
    let nodes: Vec<Node<'s>> = statements
        .iter()
        .map(|stmt| forward.stmt(&mut env, stmt, 0))
        .collect();
    let ends: Vec<usize> = nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.changed())
        .map(|(at, _)| at)
        .take(ENDS)
        .collect();
    let mut tried: Vec<Chosen<'s>> = Vec::new();
    for last in ends {
        let mut nodes = nodes[..=last].to_vec();
        let mut live = around.live_after(statements, last);
        let mut backward = Backward::new(around.outside());
        for node in nodes.iter_mut().rev() {
            backward.node(node, &mut live);
        }
        let Some(mut first) = nodes
            .iter()
            .position(|node| node.dead || node.changed() || node.cost() < node.original_cost())
        else {
            break;
        };
        // The check tests the value that the variable has at its definition, or an operand where it is used.
        let reset = match subject {
            Subject::Variable(id) => statements[..first]
                .iter()
                .any(|stmt| assigned(around.source, around.names, stmt).contains(&id)),
            Subject::Operand(_) => true,
        };
        if reset {
            first = 0;
        }
        let inside = &nodes[first..];
        let work = inside
            .iter()
            .fold(0u32, |sum, n| sum.saturating_add(n.original_cost()));
        let fast_work = inside
            .iter()
            .fold(0u32, |sum, n| sum.saturating_add(n.cost()));
        tried.push(Chosen {
            first,
            last,
            nodes,
            work,
            fast_work,
        });
    }
    let saved = |chosen: &Chosen<'_>| chosen.work.saturating_sub(chosen.fast_work);
    let guarded = nodes.iter().any(Node::guarded);
    let most = tried.iter().map(saved).max().unwrap_or(0);
    if most < LEAST {
        return Err(guarded);
    }
    tried
        .into_iter()
        .find(|it| u64::from(saved(it)) * 10 >= u64::from(most) * 9)
        .ok_or(guarded)
}

/// The function around the statements.
pub(super) struct Around<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) names: &'a Names,
    pub(super) function: &'a Block,
    block: &'a Block,
}

impl Around<'_> {
    /// The outermost loop around the block.
    fn outer_loop(&self) -> Option<Span> {
        let mut all = Vec::new();
        for stmt in &self.function.statements {
            all_statements(stmt, &mut all, 0);
        }
        all.into_iter()
            .filter(|stmt| {
                matches!(
                    stmt.kind,
                    StmtKind::For { .. }
                        | StmtKind::RangeFor { .. }
                        | StmtKind::While { .. }
                        | StmtKind::DoWhile { .. }
                ) && stmt.span.start <= self.block.span.start
                    && self.block.span.end <= stmt.span.end
            })
            .map(|stmt| stmt.span)
            .min_by_key(|span| span.start)
    }

    /// Variables that are read after a statement of the block, or in another iteration.
    fn live_after(&self, statements: &[Stmt], last: usize) -> Live {
        let end = statements[last].span.end;
        let inside = Span::new(full_span(&statements[0]).start, end);
        let outer = self.outer_loop();
        let mut live = Live::default();
        for (span, id) in &self.names.places {
            let declared_inside = inside.contains(self.names.variable(*id).declared.start);
            let again = outer.is_some_and(|l| l.contains(span.start))
                && !inside.contains(span.start)
                && !declared_inside;
            if span.start >= end || again {
                live.insert(*id);
            }
        }
        // In a loop what the region itself reads first was set by the iteration before.
        if outer.is_some() {
            for (span, id) in &self.names.places {
                if inside.contains(span.start)
                    && !inside.contains(self.names.variable(*id).declared.start)
                {
                    let block = self.block.span;
                    if !block.contains(self.names.variable(*id).declared.start) {
                        live.insert(*id);
                    }
                }
            }
        }
        live
    }

    /// Everything declared before the block: the names that a jump out of the region may need.
    fn outside(&self) -> Live {
        (0..self.names.variables.len() as u32).map(VarId).collect()
    }

    fn legal(
        &self,
        statements: &[Stmt],
        chosen: &Chosen<'_>,
        candidate: &Candidate,
        settings: Settings,
        zeros: Zeros,
        lines: u32,
    ) -> Result<(), Refusal> {
        let source = self.source;
        let region = &statements[chosen.first..=chosen.last];
        let name = &candidate.name;
        let id = candidate.variable();
        let mut effects = Effects::default();
        for top in region {
            let mut all = Vec::new();
            all_statements(top, &mut all, 0);
            for stmt in all {
                match &stmt.kind {
                    StmtKind::Goto(_) | StmtKind::Label(_) => return Err(Refusal::Label { lines }),
                    StmtKind::Asm(_) | StmtKind::Unknown | StmtKind::Skipped(_) => {
                        return Err(Refusal::Unknown(SmolStr::new_static("inline assembly")));
                    }
                    _ => {}
                }
                // What a macro brings whole, with its semicolon.
                if source.in_macro(stmt.span) && !matches!(stmt.kind, StmtKind::Empty) {
                    return Err(Refusal::Macro);
                }
            }
            if matches!(top.kind, StmtKind::Case { .. } | StmtKind::Default) {
                return Err(Refusal::Label { lines });
            }
            let block = Block {
                statements: vec![top.clone()],
                span: top.span,
            };
            let mut voted = false;
            visit::block(&block, &mut |e| {
                effects.merge(&source.own(self.names, e, 0));
                if let ExprKind::Call { callee, arguments } = &e.kind
                    && let ExprKind::Name(word) = &callee.kind
                    && word.segments.last().is_some_and(|last| {
                        matches!(last.ident.name.as_str(), "WaveActiveAllTrue" | "__all_sync")
                    })
                {
                    voted |= arguments
                        .iter()
                        .flat_map(|argument| super::effects::mentioned(self.names, argument))
                        .any(|it| Some(it) == id);
                }
            });
            if voted {
                return Err(Refusal::Already(name.clone()));
            }
        }
        if effects.barrier {
            return Err(Refusal::Barrier { lines });
        }
        if let Some(unknown) = effects.unknown {
            return Err(Refusal::Unknown(unknown));
        }
        let together = settings.whole_warps || settings.uniform;
        if settings.each_lane && effects.derivative {
            return Err(Refusal::Derivative(name.clone()));
        }
        if settings.each_lane && effects.cross_lane {
            return Err(Refusal::CrossLane { lines });
        }
        if effects.cross_lane && source.language != Language::Hlsl && !together {
            return Err(Refusal::CrossLane { lines });
        }
        if zeros == Zeros::Absorb && source.language == Language::Hlsl {
            for top in region {
                let used = flow::named(self.names, top);
                if let Some(precise) = used.iter().find(|&&it| self.names.variable(it).precise) {
                    return Err(Refusal::Precise(self.names.variable(*precise).name.clone()));
                }
            }
        }
        let whole = Span::new(
            full_span(&region[0]).start,
            region[region.len() - 1].span.end,
        );
        let directive = |line: &str| {
            let line = line.trim_start();
            line.starts_with('#') && !line[1..].trim_start().starts_with("pragma")
        };
        if source.slice(whole).lines().any(directive) {
            return Err(Refusal::Directive);
        }
        self.derivatives(whole.start, candidate, &region[0])
    }

    /// A helper lane may hold another value than the lanes that voted: nothing that is made of it may reach a derivative.
    fn derivatives(&self, from: u32, candidate: &Candidate, first: &Stmt) -> Result<(), Refusal> {
        if self.source.language != Language::Hlsl {
            return Ok(());
        }
        let from = self.outer_loop().map_or(from, |l| l.start.min(from));
        let mut tainted: FxHashSet<VarId> = FxHashSet::default();
        let operand = match candidate.subject {
            Subject::Variable(id) => {
                tainted.insert(id);
                None
            }
            Subject::Operand(place) => {
                tainted.extend(assigned(self.source, self.names, first));
                if let StmtKind::Declaration(declaration) = &first.kind {
                    for declarator in &declaration.declarators {
                        if let DeclaratorName::Plain(ident) = &declarator.name {
                            tainted.extend(self.names.declared_at(ident));
                        }
                    }
                }
                Some(place)
            }
        };
        let mut all: Vec<&Stmt> = Vec::new();
        for stmt in &self.function.statements {
            all_statements(stmt, &mut all, 0);
        }
        all.retain(|stmt| stmt.span.end > from);
        loop {
            let before = tainted.len();
            for stmt in &all {
                let used = flow::named(self.names, stmt);
                // A whole compound statement: what it assigns may depend on its condition.
                if used.iter().any(|it| tainted.contains(it)) {
                    let own = match &stmt.kind {
                        StmtKind::Block(_) => continue,
                        StmtKind::If {
                            condition: Condition::Expr(e),
                            ..
                        }
                        | StmtKind::While {
                            condition: Condition::Expr(e),
                            ..
                        } => super::effects::mentioned(self.names, e),
                        _ => used.clone(),
                    };
                    if !own.iter().any(|it| tainted.contains(it)) {
                        continue;
                    }
                    tainted.extend(assigned(self.source, self.names, stmt));
                    if let StmtKind::Declaration(declaration) = &stmt.kind {
                        for declarator in &declaration.declarators {
                            if let DeclaratorName::Plain(ident) = &declarator.name {
                                tainted.extend(self.names.declared_at(ident));
                            }
                        }
                    }
                }
            }
            if tainted.len() == before {
                break;
            }
        }
        let mut found: Option<SmolStr> = None;
        visit::block(self.function, &mut |e| {
            if e.span.end <= from || found.is_some() {
                return;
            }
            if let ExprKind::Call { callee, arguments } = &e.kind
                && self
                    .source
                    .call(self.names, callee, arguments, 0)
                    .effects
                    .derivative
            {
                let used = arguments
                    .iter()
                    .flat_map(|argument| super::effects::mentioned(self.names, argument));
                let tainted = used.into_iter().find(|it| tainted.contains(it));
                found = tainted.map(|it| self.names.variable(it).name.clone());
                let holds = |place: Span| {
                    let inside =
                        |expr: &Expr| expr.span.start <= place.start && place.end <= expr.span.end;
                    arguments.iter().any(inside)
                };
                if operand.is_some_and(holds) {
                    found = Some(candidate.name.clone());
                }
            }
        });
        match found {
            Some(name) => Err(Refusal::Derivative(name)),
            None if self.source.callers_may_derive() => {
                Err(Refusal::CallersDerivative(candidate.name.clone()))
            }
            None => Ok(()),
        }
    }
}
