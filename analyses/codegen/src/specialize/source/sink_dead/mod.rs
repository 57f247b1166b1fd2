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
//! Without a profile no flag is added: what sinks then is executed no more often on any way, and less often on some.
//! Not done: statements in a `switch`, loops left by their last iteration (section 3.6), several statements at once.
//!
//! Source: Gupta, Berson, Fang, *Path Profile Guided Partial Dead Code Elimination Using Predication*, PACT 1997.

pub mod check;
mod follow;
mod graph;
mod refusal;
mod write;

pub use follow::Recorded;
pub use refusal::Refusal;

use super::Source;
use super::effects::{Effects, inner_statements};
use super::emit::all_statements;
use super::names::{Names, VarId, parts};
use super::pressure::expression::Reads;
use super::pressure::scene::{Scene, holds, is_loop};
use super::types::Ty;
use facts::partial_dead::{Choice, PathSets, Prices, Problem, Sinking, Walked, choose, walk};
use fixedbitset::FixedBitSet;
use graph::{ENTRY, Graph, Place, Role};
use ir::lower::c_family::visit;
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

/// The edits that move a statement, and what they bring.
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
    /// By the profile. `whole`: each way was recorded as a whole, so that the flags' counts are exact, too.
    Profiled { walked: Walked, whole: bool },
    /// On so many of all ways through the text it is executed less often.
    Ways { fewer: u64, all: u64 },
}

/// The statement that is moved, as the graph looks at it.
struct Moved {
    id: VarId,
    stmt: Span,
    operands: Vec<VarId>,
    /// It reads memory.
    memory: bool,
}

/// A copy of the statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Copy {
    place: Place,
    block: Span,
    guarded: bool,
    /// The flag is reset behind it.
    resets: bool,
    /// Nothing reads what it would give: only the flag is reset.
    hollow: bool,
}

/// Cycles that a statement takes at least to be moved, and its copies at most, where no profile says what that brings.
const LEAST_UNPROFILED: f64 = 3.0;
const MOST_UNPROFILED: usize = 2;

/// The share of executions that a flag must save beyond what goes without it.
const WORTH: f64 = 0.1;

/// The statement at a place that could be moved.
#[must_use]
pub fn candidate_at(function: &Function, offset: u32) -> Option<Candidate> {
    candidates(function)
        .into_iter()
        .find(|each| each.stmt.start <= offset && offset <= each.stmt.end)
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
    let region = subject.region(&scene)?;
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
                return Err(Refusal::Trivial(name()));
            }
            (sinking, counts)
        }
    };
    if apart(&graph, &sinking, statement, terms.parts_lanes) {
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

/// The statement with what is known of it.
struct Subject<'s> {
    moved: Moved,
    stmt: &'s Stmt,
    declaration: Option<&'s Declaration>,
}

/// The text in which it is moved.
struct Region {
    block: Block,
    braced: bool,
    /// The loop around it.
    around: Option<Span>,
    /// That loop tests its condition behind its body.
    tested_last: bool,
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
            moved: Moved {
                id: *id,
                stmt: stmt.span,
                operands,
                memory,
            },
            stmt,
            declaration,
        })
    }

    /// The body of the innermost loop around the statement, or that of the function.
    fn region(&self, scene: &Scene<'_>) -> Result<Region, Refusal> {
        let mut region = Region {
            block: scene.body.clone(),
            braced: true,
            around: None,
            tested_last: false,
        };
        let mut inside: Vec<&Stmt> = scene.body.statements.iter().collect();
        loop {
            let next = inside.iter().find(|stmt| holds(stmt.span, self.stmt.span));
            let Some(next) = next.filter(|stmt| stmt.span != self.stmt.span) else {
                return Ok(region);
            };
            if is_loop(next) {
                let body = match &next.kind {
                    StmtKind::For { body, .. }
                    | StmtKind::RangeFor { body, .. }
                    | StmtKind::While { body, .. }
                    | StmtKind::DoWhile { body, .. } => body,
                    _ => return Err(Refusal::NoStatement),
                };
                region.around = Some(next.span);
                region.tested_last = matches!(next.kind, StmtKind::DoWhile { .. });
                match &body.kind {
                    StmtKind::Block(block) => {
                        region.block = block.clone();
                        region.braced = true;
                    }
                    _ => {
                        region.block = Block {
                            statements: vec![(**body).clone()],
                            span: body.span,
                        };
                        region.braced = false;
                    }
                }
            }
            inside = inner_statements(next);
        }
    }

    /// Notes at the end of an iteration whether the variable is read later.
    fn lives_on(&self, scene: &Scene<'_>, region: &Region, graph: &mut Graph) {
        if region.around.is_none() {
            return;
        }
        let id = self.moved.id;
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

/// The effect for which a value can't be computed elsewhere.
fn effect(effects: &Effects) -> Option<refusal::Effect> {
    use refusal::Effect;
    let all = [
        (effects.writes, Effect::Stores),
        (effects.volatile, Effect::Volatile),
        (effects.barrier, Effect::Waits),
        (effects.cross_lane, Effect::Exchanges),
        (effects.derivative, Effect::Derivative),
        (effects.exits, Effect::Exits),
        (effects.unknown.is_some(), Effect::Unknown),
    ];
    all.into_iter()
        .find(|(holds, _)| *holds)
        .map(|(_, effect)| effect)
}

/// The variables of an expression, and whether it reads memory that may be written: all that is not known to be none.
fn reads(scene: &Scene<'_>, e: &Expr, operands: &mut Vec<VarId>, memory: &mut bool) {
    match &e.kind {
        ExprKind::Name(name) => match scene.names.meant(name) {
            Some(id) => {
                // An array of the function is memory.
                *memory |= matches!(scene.names.variable(id).ty.kind, TypeKind::Array { .. });
                operands.push(id);
            }
            None => *memory |= !scene.source.is_unchanging(name),
        },
        ExprKind::Call { callee, .. } => {
            let skipped = match &callee.kind {
                ExprKind::Name(name) => {
                    let own = scene.names.meant(name).is_some();
                    *memory |= own || !scene.source.functions(name).is_empty();
                    !own
                }
                ExprKind::Member { base, .. } => {
                    *memory |= may_change(scene, base);
                    false
                }
                _ => {
                    *memory = true;
                    false
                }
            };
            for part in parts(e).into_iter().skip(usize::from(skipped)) {
                reads(scene, part, operands, memory);
            }
        }
        ExprKind::Unary { .. }
        | ExprKind::Binary { .. }
        | ExprKind::Conditional { .. }
        | ExprKind::Cast { .. }
        | ExprKind::Paren(_)
        | ExprKind::Construct { .. }
        | ExprKind::Member { .. }
        | ExprKind::Index { .. } => {
            *memory |= match &e.kind {
                ExprKind::Unary {
                    op: UnaryOp::Dereference,
                    operand,
                } => may_change(scene, operand),
                ExprKind::Member {
                    base, arrow: true, ..
                } => may_change(scene, base),
                ExprKind::Index { base, .. } => {
                    let ty = scene.source.type_of_expr(&scene.names, base, 0);
                    // An element of a vector lies in a register.
                    !matches!(ty, Ty::Number(..)) && may_change(scene, base)
                }
                _ => false,
            };
            for part in parts(e) {
                reads(scene, part, operands, memory);
            }
        }
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Bool(_)
        | ExprKind::Char(_)
        | ExprKind::SizeofType(_)
        | ExprKind::Nullptr => {}
        _ => {
            *memory = true;
            for part in parts(e) {
                reads(scene, part, operands, memory);
            }
        }
    }
}

/// What lies behind an address, in an array or a resource may be written while the function runs.
fn may_change(scene: &Scene<'_>, base: &Expr) -> bool {
    let mut found = Reads::default();
    scene.load(base, &mut found);
    found.written.is_some()
}

/// A function's unit as the checker asks for it.
#[allow(missing_debug_implementations)]
pub struct Known<'a> {
    scene: Scene<'a>,
}

impl<'a> Known<'a> {
    /// `None`: the function can't be followed.
    #[must_use]
    pub fn new(source: &'a Source<'a>, function: &'a Function) -> Option<Self> {
        Some(Known {
            scene: Scene::of(source, function).ok()?,
        })
    }
}

impl check::Unit for Known<'_> {
    fn call(&self, callee: &Expr, arguments: &[Expr]) -> check::CallEffect {
        let scene = &self.scene;
        let found = scene.source.call(&scene.names, callee, arguments, 0);
        let reads_memory = match &callee.kind {
            ExprKind::Name(name) => {
                scene.names.meant(name).is_some() || !scene.source.functions(name).is_empty()
            }
            ExprKind::Member { base, .. } => may_change(scene, base),
            _ => true,
        };
        check::CallEffect {
            harmless: effect(&found.effects).is_none(),
            reads_memory,
            written: found.written,
        }
    }

    fn is_read_only(&self, base: &Expr) -> bool {
        !may_change(&self.scene, base)
    }

    fn is_own(&self, part: &Expr) -> bool {
        let scene = &self.scene;
        scene.source.target(&scene.names, part).is_some()
    }

    fn is_unchanging(&self, name: &Name) -> bool {
        self.scene.source.is_unchanging(name)
    }
}

/// It sets variables of the function besides having a value: `a++ * 2`, `(b = 3) + a`.
fn sets_variables(source: &Source<'_>, names: &Names, value: &Expr) -> bool {
    let mut found = false;
    visit::expr(value, &mut |e| {
        found |= match &e.kind {
            ExprKind::Assign { .. } => true,
            ExprKind::Unary { op, .. } => matches!(
                op,
                UnaryOp::PreIncrement
                    | UnaryOp::PreDecrement
                    | UnaryOp::PostIncrement
                    | UnaryOp::PostDecrement
            ),
            ExprKind::Call { callee, arguments } => {
                // The last argument of a fetch may be a level, or the status that it writes: an integer.
                let is_fetch = matches!(callee.kind, ExprKind::Member { .. });
                let status = |e: &Expr| match source.type_of_expr(names, e, 0) {
                    Ty::Number(base, _) => super::names::root(e).is_some() && !base.is_float(),
                    _ => true,
                };
                let written = source.call(names, callee, arguments, 0).written;
                let mut written = written.iter().filter_map(|&at| arguments.get(at));
                written.any(|e| !is_fetch || status(e))
            }
            _ => false,
        };
    });
    found
}

/// It names the lanes that are active, which are others in another place.
fn names_the_active(e: &Expr) -> bool {
    let here = matches!(&e.kind, ExprKind::Name(name)
        if name.segments.last().is_some_and(|last| last.ident.name == "__activemask"));
    here || parts(e).into_iter().any(names_the_active)
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

/// On how many ways a statement is executed less often.
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

/// Lanes that a branch takes apart execute copies on both of its sides.
fn apart(
    graph: &Graph,
    sinking: &Sinking,
    statement: usize,
    parts_lanes: &dyn Fn(Span) -> bool,
) -> bool {
    // The copies to which a way leads from a node, before any other.
    let reached = |from: usize| {
        let mut found = Vec::new();
        let mut seen = vec![false; graph.nodes.len()];
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut seen[node], true) || !sinking.delayed.entry[node] {
                continue;
            }
            if sinking.kept.entry[node] {
                found.push((node, true));
            } else if sinking.kept.exit[node] {
                found.push((node, false));
            } else if !sinking.inserted.entry[node] {
                open.extend(&graph.successors[node]);
            }
        }
        found.sort_unstable();
        found
    };
    (0..graph.nodes.len()).any(|node| match graph.nodes[node].role {
        Role::If(condition)
            if node != statement && sinking.delayed.exit[node] && parts_lanes(condition) =>
        {
            let sides: Vec<_> = graph.successors[node]
                .iter()
                .map(|&to| reached(to))
                .collect();
            sides.len() == 2 && !sides[0].is_empty() && !sides[1].is_empty() && sides[0] != sides[1]
        }
        _ => false,
    })
}

/// The copies with their places in the text. `None`: one of them can't be written.
fn copies(graph: &Graph, sinking: &Sinking, statement: usize) -> Option<Vec<Copy>> {
    let nodes = graph.nodes.len();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (from, all) in graph.successors.iter().enumerate() {
        for &to in all {
            before[to].push(from);
        }
    }
    let guarded_at = |node: usize| {
        sinking.kept.entry[node] && !sinking.certain.entry[node]
            || sinking.kept.exit[node] && !sinking.certain.exit[node]
    };
    // A copy under the flag may come behind this node, with no way over the statement.
    let flag_read_behind = |node: usize| {
        let mut seen = vec![false; nodes];
        let mut open = graph.successors[node].clone();
        while let Some(at) = open.pop() {
            if at == statement || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if guarded_at(at) {
                return true;
            }
            open.extend(&graph.successors[at]);
        }
        false
    };
    let mut out = Vec::new();
    for (node, entry) in joined(graph, sinking, statement) {
        let (kept, certain) = match entry {
            true => (sinking.kept.entry[node], sinking.certain.entry[node]),
            false => (sinking.kept.exit[node], sinking.certain.exit[node]),
        };
        // In front of an `if` of which both branches read it.
        let merged = entry && !sinking.inserted.entry[node];
        let resets = flag_read_behind(node);
        let hollow = !kept && !merged;
        if hollow && !resets {
            continue;
        }
        let at = match entry {
            true => settled(graph, sinking, &before, statement, node)?,
            false => node,
        };
        let found = &graph.nodes[at];
        let place = match entry {
            true => found.entry,
            false => found.exit,
        };
        out.push(Copy {
            place: place?,
            block: found.block,
            guarded: !hollow && !merged && !certain,
            resets,
            hollow,
        });
    }
    Some(out)
}

/// The copies, by node and whether they stand at its entry. One in front of an `if` stands for several behind it where each way
/// through it comes to one of them, and no other way does.
fn joined(graph: &Graph, sinking: &Sinking, statement: usize) -> Vec<(usize, bool)> {
    let nodes = graph.nodes.len();
    let inserted = |node: usize| {
        let both = [
            (sinking.inserted.entry[node], true),
            (sinking.inserted.exit[node], false),
        ];
        both.into_iter()
            .filter(|(inserted, _)| *inserted)
            .map(move |(_, entry)| (node, entry))
    };
    let mut copies: Vec<(usize, bool)> = (0..nodes).flat_map(inserted).collect();
    let heads = (0..nodes).rev().filter(|&node| {
        matches!(graph.nodes[node].role, Role::If(_))
            && sinking.delayed.entry[node]
            && sinking.certain.entry[node]
            && graph.nodes[node].entry.is_some()
    });
    for head in heads {
        // The ways from a node on which the statement is still due, up to the copies; false where it is dropped.
        let reached = |from: usize, without: Option<usize>| {
            let mut found = Vec::new();
            let mut all_read = true;
            let mut seen = vec![false; nodes];
            let mut open = vec![from];
            while let Some(node) = open.pop() {
                if Some(node) == without || std::mem::replace(&mut seen[node], true) {
                    continue;
                }
                let at_entry = node != from && copies.contains(&(node, true));
                let at_exit = !at_entry && copies.contains(&(node, false));
                let (read, certain) = match at_entry {
                    true => (
                        sinking.kept.entry[node] || !sinking.inserted.entry[node],
                        sinking.certain.entry[node],
                    ),
                    false => (sinking.kept.exit[node], sinking.certain.exit[node]),
                };
                if at_entry || at_exit {
                    all_read &= read && certain;
                    found.push((node, at_entry));
                } else {
                    all_read &= !graph.successors[node].is_empty();
                    open.extend(&graph.successors[node]);
                }
            }
            found.sort_unstable();
            (found, all_read)
        };
        let (behind, all_read) = reached(head, None);
        if behind.len() < 2 || !all_read {
            continue;
        }
        let (others, _) = reached(statement, Some(head));
        if others.iter().any(|copy| behind.contains(copy)) {
            continue;
        }
        copies.retain(|copy| !behind.contains(copy));
        copies.push((head, true));
    }
    copies.sort_unstable();
    copies
}

/// The node at whose entry a copy stands: as early as the ways to it allow that do not divide or meet. `None`: right behind the
/// statement.
fn settled(
    graph: &Graph,
    sinking: &Sinking,
    before: &[Vec<usize>],
    statement: usize,
    node: usize,
) -> Option<usize> {
    let mut best = node;
    let mut at = node;
    while let [from] = before[at].as_slice() {
        if graph.successors[*from].len() != 1 {
            break;
        }
        if *from == statement {
            return None;
        }
        if !sinking.delayed.entry[*from] {
            break;
        }
        at = *from;
        // An `else` is added where nothing else will do.
        let added = matches!(graph.nodes[at].entry, None | Some(Place::Otherwise { .. }));
        if !added {
            best = at;
        }
    }
    Some(best)
}
