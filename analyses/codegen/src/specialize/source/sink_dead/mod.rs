//! A statement whose value some ways never read, moved into the ways that do; past a join under a flag, where that pays.
//!
//! ```text
//! float w = weight(i);                 if (near) {
//! if (near) {                    ->        float w = weight(i);
//!     out[i] = w * c;                      out[i] = w * c;
//! }                                    }
//!
//! if (a) { x = e; } else { x = 0; }    bool x_pending = false;
//! g();                                 if (a) { x_pending = true; } else { x = 0; }
//! if (b) { use(x); }             ->    g();
//!                                      if (b) { if (x_pending) { x = e; } use(x); }
//! ```
//!
//! `graph` is the region of the text, `follow` the paths that lanes took through it, by the profile; `facts::partial_dead`
//! chooses the joins, `write` makes the edits, `check` judges the result by executing both texts on symbols. A copy stands at the
//! beginning of the branch that it is for: as late as the statement must be, and not later.
//!
//! Without a profile no flag is added: a statement that sinks then is executed no more often on any way, and
//! less often on some. Not done: statements in a `switch`, loops left by their last iteration (section 3.6),
//! several statements at once.
//!
//! Source: Gupta, Berson, Fang, *Path Profile Guided Partial Dead Code Elimination Using Predication*, PACT 1997.

pub mod check;
mod copies;
pub(super) mod operands;
mod refusal;
mod write;

pub use super::graph::follow::Recorded;
pub use operands::Known;
pub use refusal::{Effect, Refusal};

use super::Source;
use super::emit::all_statements;
use super::graph::place::Place;
use super::graph::region::{Region, region};
use super::graph::{self, ENTRY, Graph, Role, follow};
use super::names::VarId;
use super::pressure::scene::{Scene, holds};
use copies::copies;
use facts::partial_dead::{
    Choice, PathSets, Prices, Problem, Sinking, Walked, apart, choose, walk,
};
use fixedbitset::FixedBitSet;

use operands::{effect, names_the_active, reads, sets_variables};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// A statement that gives a variable a value, by its places relative to the item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub name: SmolStr,
    pub stmt: Span,
    /// The name that is set.
    pub place: Span,
    pub value: Span,
    pub is_declaration: bool,
}

/// The terms on which a statement is moved.
#[allow(missing_debug_implementations)]
pub struct Terms<'a> {
    pub recorded: Option<Recorded<'a>>,
    pub prices: Prices,
    /// Lanes may take both sides of the branch with the condition at this place.
    pub parts_lanes: &'a dyn Fn(Span) -> bool,
}

/// The edits that move a statement, and their gain.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    pub name: SmolStr,
    /// Absolute, not overlapping.
    pub edits: Vec<(Span, String)>,
    /// The places of the copies, relative to the item.
    pub copies: Vec<Span>,
    /// Some copy stands under a flag.
    pub flagged: bool,
    /// The value is read from memory: it arrives later than before.
    pub loads: bool,
    pub counts: Counts,
}

/// Executions before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// Counts of the profile. `whole`: each way was recorded as a whole, so that the flags' counts are exact,
    /// too.
    Profiled { walked: Walked, whole: bool },
    /// On this many of all ways through the text it is executed less often.
    Ways { fewer: u64, all: u64 },
}

/// A copy of the statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Copy {
    place: Place,
    block: Span,
    guarded: bool,
    /// The flag is reset behind it.
    resets: bool,
    /// True if nothing reads its result: only the flag is reset.
    hollow: bool,
}

/// The least cycles of a statement that is moved, and the most of its copies, if no profile tells the gain.
const LEAST_UNPROFILED: f64 = 3.0;
const MOST_UNPROFILED: usize = 2;

/// The share of executions that a flag must save beyond those saved without it.
const WORTH: f64 = 0.1;

/// The statement at a place that could be moved.
#[must_use]
pub fn candidate_at(function: &Function, offset: u32) -> Option<Candidate> {
    candidates(function)
        .into_iter()
        .find(|each| each.stmt.start <= offset && offset <= each.stmt.end)
}

/// A variable that the statement at a place sets in a manner in which nothing is moved, and why.
#[must_use]
pub fn refused_at(function: &Function, offset: u32) -> Option<(SmolStr, Refusal)> {
    let FunctionBody::Block(body) = &function.body else {
        return None;
    };
    let mut all = Vec::new();
    for stmt in &body.statements {
        all_statements(stmt, &mut all, 0);
    }
    let inside = |stmt: &&&Stmt| stmt.span.start <= offset && offset <= stmt.span.end;
    let told = |stmt: &&Stmt| Some((stmt.span, refused(stmt, offset)?));
    let found = all.iter().filter(inside).filter_map(told);
    found
        .min_by_key(|(span, _)| span.len())
        .map(|(_, found)| found)
}

fn refused(stmt: &Stmt, offset: u32) -> Option<(SmolStr, Refusal)> {
    let told =
        |name: &SmolStr, why: fn(SmolStr) -> Refusal| Some((name.clone(), why(name.clone())));
    let target = match &stmt.kind {
        StmtKind::Declaration(declaration) => {
            let all = declaration.declarators.as_slice();
            let plain = |each: &Declarator| match &each.name {
                DeclaratorName::Plain(ident) => Some(ident.clone()),
                _ => None,
            };
            let mut names = all.iter().filter_map(plain);
            let at = names.clone().rfind(|ident| ident.span.start <= offset);
            let ident = at.or_else(|| names.next()).filter(|_| all.len() > 1)?;
            return told(&ident.name, Refusal::Several);
        }
        StmtKind::Expr(Expr {
            kind:
                ExprKind::Assign {
                    op: Some(_),
                    left: target,
                    ..
                }
                | ExprKind::Unary {
                    op:
                        UnaryOp::PreIncrement
                        | UnaryOp::PreDecrement
                        | UnaryOp::PostIncrement
                        | UnaryOp::PostDecrement,
                    operand: target,
                },
            ..
        }) => target,
        StmtKind::Expr(Expr {
            kind: ExprKind::Assign { left, .. },
            ..
        }) if !matches!(left.kind, ExprKind::Name(_)) => left,
        _ => return None,
    };
    match &target.kind {
        ExprKind::Name(name) => told(&name.segments.last()?.ident.name, Refusal::OfItself),
        ExprKind::Member {
            base, arrow: false, ..
        }
        | ExprKind::Index { base, .. } => match &base.kind {
            ExprKind::Name(name) => told(&name.segments.last()?.ident.name, Refusal::Part),
            _ => None,
        },
        _ => None,
    }
}

/// All statements of a function that set one variable.
#[must_use]
pub fn candidates(function: &Function) -> Vec<Candidate> {
    let FunctionBody::Block(body) = &function.body else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for stmt in &body.statements {
        all_statements(stmt, &mut all, 0);
    }
    all.into_iter().filter_map(candidate).collect()
}

fn candidate(stmt: &Stmt) -> Option<Candidate> {
    match &stmt.kind {
        StmtKind::Declaration(declaration) => {
            let [declarator] = declaration.declarators.as_slice() else {
                return None;
            };
            let (DeclaratorName::Plain(ident), Initializer::Copy(value)) =
                (&declarator.name, &declarator.initializer)
            else {
                return None;
            };
            Some(Candidate {
                name: ident.name.clone(),
                stmt: stmt.span,
                place: ident.span,
                value: value.span,
                is_declaration: true,
            })
        }
        StmtKind::Expr(Expr {
            kind:
                ExprKind::Assign {
                    op: None,
                    left,
                    right,
                    ..
                },
            ..
        }) => {
            let ExprKind::Name(name) = &left.kind else {
                return None;
            };
            let [segment] = name.segments.as_slice() else {
                return None;
            };
            Some(Candidate {
                name: segment.ident.name.clone(),
                stmt: stmt.span,
                place: left.span,
                value: right.span,
                is_declaration: false,
            })
        }
        _ => None,
    }
}

/// Moves a statement to where its value is read.
///
/// # Errors
/// The reason why it stays.
pub fn plan(
    source: &Source<'_>,
    function: &Function,
    candidate: &Candidate,
    terms: &Terms<'_>,
) -> Result<Plan, Refusal> {
    let scene = Scene::of(source, function)?;
    let subject = Subject::new(&scene, candidate)?;
    let region = region(&scene, candidate.stmt).ok_or(Refusal::NoStatement)?;
    let mut graph = graph::graph(
        source,
        &scene.names,
        &region.block,
        region.around.is_some(),
        region.braced,
        &subject.moved,
    );
    let name = || candidate.name.clone();
    let statement = graph.statement.ok_or_else(|| Refusal::InSwitch(name()))?;
    subject.lives_on(&scene, &region, &mut graph);
    let ways = terms
        .recorded
        .and_then(|recorded| follow::ways(&graph, recorded, region.around, region.tested_last))
        .filter(|ways| ways.paths.iter().any(|(path, _)| path.contains(&statement)));
    let paths = ways.as_ref().map(|ways| ways.paths.clone());
    let problem =
        problem(&graph, paths.unwrap_or_default()).ok_or_else(|| Refusal::Graph(name()))?;
    let sets = PathSets::new(&problem);
    let (sinking, counts) = match &ways {
        Some(ways) => {
            let choice = choose(&problem, &sets, terms.prices);
            let (sinking, walked) = worthwhile(&problem, &sets, choice, terms.prices);
            if walked.removed() <= 0 || walked.net(terms.prices) <= 0.0 {
                let none = FixedBitSet::with_capacity(graph.nodes.len());
                let still = fewer(&graph, &Sinking::new(&problem, &sets, &none));
                if matches!(still, Some(Counts::Ways { fewer: 0, .. })) {
                    return Err(Refusal::ReadOnEachWay(name()));
                }
                return Err(Refusal::AlwaysRead {
                    name: name(),
                    executions: walked.before,
                });
            }
            let whole = ways.whole;
            (sinking, Counts::Profiled { walked, whole })
        }
        None => {
            let none = FixedBitSet::with_capacity(graph.nodes.len());
            let sinking = Sinking::new(&problem, &sets, &none);
            let counts = fewer(&graph, &sinking).ok_or_else(|| Refusal::ManyWays(name()))?;
            if matches!(counts, Counts::Ways { fewer: 0, .. }) {
                return Err(Refusal::ReadOnEachWay(name()));
            }
            if terms.prices.statement < LEAST_UNPROFILED {
                return Err(Refusal::Cheap {
                    name: name(),
                    least: LEAST_UNPROFILED as u32,
                });
            }
            (sinking, counts)
        }
    };
    let parting = (0..graph.nodes.len()).filter(|&node| match graph.nodes[node].role {
        Role::If(condition) => (terms.parts_lanes)(condition),
        _ => false,
    });
    if apart(&graph.successors, &sinking, statement, parting) {
        return Err(Refusal::Apart(name()));
    }
    let copies = copies(&graph, &sinking, statement).ok_or_else(|| Refusal::NoPlace(name()))?;
    if ways.is_none() && copies.len() > MOST_UNPROFILED {
        return Err(Refusal::ManyCopies {
            name: name(),
            copies: copies.len(),
        });
    }
    let made = write::write(&scene, candidate, &subject, &copies)?;
    Ok(Plan {
        name: name(),
        edits: made
            .into_iter()
            .map(|(span, text)| (span.shifted(source.start), text))
            .collect(),
        copies: copies
            .iter()
            .filter(|copy| !copy.hollow)
            .map(|copy| copy.place.span())
            .collect(),
        flagged: copies.iter().any(|copy| copy.guarded),
        loads: subject.moved.memory,
        counts,
    })
}

/// The statement and the facts about it.
struct Subject<'s> {
    id: VarId,
    moved: graph::Subject,
    stmt: &'s Stmt,
    declaration: Option<&'s Declaration>,
}

impl<'s> Subject<'s> {
    fn new(scene: &'s Scene<'_>, candidate: &Candidate) -> Result<Subject<'s>, Refusal> {
        let name = || candidate.name.clone();
        let source = scene.source;
        let mut all = Vec::new();
        for stmt in &scene.body.statements {
            all_statements(stmt, &mut all, 0);
        }
        let stmt = all.into_iter().find(|stmt| stmt.span == candidate.stmt);
        let stmt = stmt.ok_or(Refusal::NoStatement)?;
        let places = scene.names.places.iter();
        let mut of_place = places.filter(|(place, _)| *place == candidate.place);
        let (Some((_, id)), None) = (of_place.next(), of_place.next()) else {
            return Err(Refusal::NotLocal(name()));
        };
        let variable = scene.names.variable(*id);
        if source.in_macro(stmt.span) || source.in_macro(candidate.place) {
            return Err(Refusal::Macro(name()));
        }
        if variable.escapes || variable.volatile {
            return Err(Refusal::Escapes(name()));
        }
        let (value, declaration) = match &stmt.kind {
            StmtKind::Declaration(declaration) => {
                let mut declarators = declaration.declarators.iter();
                match declarators.next().map(|each| &each.initializer) {
                    Some(Initializer::Copy(value)) => (value, Some(declaration)),
                    _ => return Err(Refusal::NoStatement),
                }
            }
            StmtKind::Expr(Expr {
                kind: ExprKind::Assign { right, .. },
                ..
            }) => (&**right, None),
            _ => return Err(Refusal::NoStatement),
        };
        if matches!(value.kind, ExprKind::List(_))
            || matches!(variable.ty.kind, TypeKind::Array { .. })
        {
            return Err(Refusal::List(name()));
        }
        let effects = source.effects(&scene.names, value);
        if let Some(effect) = effect(&effects) {
            return Err(Refusal::Effect {
                name: name(),
                effect,
            });
        }
        if sets_variables(source, &scene.names, value) {
            return Err(Refusal::Effect {
                name: name(),
                effect: refusal::Effect::Stores,
            });
        }
        if names_the_active(value) {
            return Err(Refusal::Effect {
                name: name(),
                effect: refusal::Effect::Exchanges,
            });
        }
        let mut operands = Vec::new();
        let mut memory = false;
        reads(scene, value, &mut operands, &mut memory);
        operands.sort();
        operands.dedup();
        if operands.contains(id) {
            return Err(Refusal::OfItself(name()));
        }
        if let Some(of) = operands
            .iter()
            .map(|of| scene.names.variable(*of))
            .find(|of| of.escapes || of.volatile)
        {
            return Err(Refusal::Operand {
                name: name(),
                operand: of.name.clone(),
            });
        }
        if effects.weight == 0 && !memory {
            return Err(Refusal::Trivial(name()));
        }
        Ok(Subject {
            id: *id,
            moved: graph::Subject {
                id: Some(*id),
                stmt: Some(stmt.span),
                operands,
                memory,
            },
            stmt,
            declaration,
        })
    }

    /// Notes at the end of an iteration whether the variable is read later.
    fn lives_on(&self, scene: &Scene<'_>, region: &Region, graph: &mut Graph) {
        if region.around.is_none() {
            return;
        }
        let id = self.id;
        let declared = scene.names.variable(id).declared;
        let mut outside = scene.names.places.iter();
        let read_outside = outside.any(|(place, of)| {
            *of == id && *place != declared && !holds(region.block.span, *place)
        });
        let read_first = || {
            let problem = problem(graph, Vec::new());
            problem.is_none_or(|problem| !PathSets::new(&problem).dead.entry[ENTRY])
        };
        let lives = read_outside || read_first();
        graph.nodes[graph.end].kind.reads = lives;
    }
}

fn problem(graph: &Graph, paths: Vec<(Vec<usize>, u64)>) -> Option<Problem> {
    let kinds = graph.nodes.iter().map(|node| node.kind).collect();
    Problem::new(ENTRY, kinds, graph.successors.clone(), false, paths).ok()
}

/// The chosen joins where their flags save enough, else none.
fn worthwhile(
    problem: &Problem,
    sets: &PathSets,
    choice: Choice,
    prices: Prices,
) -> (Sinking, Walked) {
    let all = choice.walked.before as f64 * prices.statement;
    if choice.enabled.is_clear() || choice.gain(prices) >= WORTH * all {
        return (choice.sinking, choice.walked);
    }
    let none = FixedBitSet::with_capacity(problem.kinds.len());
    let sinking = Sinking::new(problem, sets, &none);
    let walked = walk(problem, &sinking);
    (sinking, walked)
}

/// Returns the number of ways on which a statement is executed less often.
fn fewer(graph: &Graph, sinking: &Sinking) -> Option<Counts> {
    let ways = follow::all_ways(&problem(graph, Vec::new())?)?;
    let all = ways.len() as u64;
    let mut fewer = 0;
    for way in ways {
        let of = problem(graph, vec![(way, 1)])?;
        fewer += u64::from(walk(&of, sinking).removed() > 0);
    }
    Some(Counts::Ways { fewer, all })
}
