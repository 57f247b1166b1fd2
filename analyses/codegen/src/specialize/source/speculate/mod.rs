//! An expression that several ways evaluate again, evaluated once ahead of them, on the ways where the profile says that this
//! is seldom in vain.
//!
//! ```text
//! if (far) { fog = exp(-d * k); }        float ahead;
//! ...                                    if (far) { ahead = exp(-d * k); fog = ahead; } else { ahead = exp(-d * k); }
//! if (lit) { glow = exp(-d * k); }  ->   ...
//!                                        if (lit) { glow = ahead; }
//! ```
//!
//! A compiler that knows no profile evaluates on no way more than is written. Here 170 evaluations become 100 where the second
//! branch is taken in most runs, though some runs evaluate in vain.
//!
//! `wanted` says which expressions may be evaluated anywhere: those that read no memory, do not divide integers, and whose signed
//! sums wrap or are of floats. `super::graph` is the text with the paths that lanes took, `facts::speculative` finds the places of
//! fewest evaluations, `write` makes the edits, and the judge of `sink_dead` executes both texts on symbols.
//!
//! An inner loop or a `switch` counts as a whole: evaluations in it stay. Those under `&&`, `||` or `?:`
//! stay, too.
//!
//! Source: Gupta, Berson, Fang, *Path Profile Guided Partial Dead Code Elimination Using Predication*, PACT 1997, Figure 11.

mod refusal;
mod wanted;
mod write;

pub use refusal::{Hazard, Refusal};

use super::Source;
use super::graph::follow::{self, Recorded};
use super::graph::place::Place;
use super::graph::region::{Region, region};
use super::graph::{self, ENTRY, Graph, Role};
use super::pressure::scene::{Scene, holds};
use facts::speculative::{Problem, SpeculationRefusal, Spot, place};
use ir::Language;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;
use wanted::{Uses, Wanted};

/// The terms on which an expression is evaluated ahead.
#[allow(missing_debug_implementations)]
pub struct Terms<'a> {
    pub recorded: Option<Recorded<'a>>,
    /// Lanes may take both sides of the branch with the condition at this place.
    pub parts_lanes: &'a dyn Fn(Span) -> bool,
    /// Signed integers wrap around.
    pub wraps: bool,
    /// The work of an evaluation that is worth a variable, in additions.
    pub least_work: u32,
    /// Statements that may evaluate it afterwards.
    pub most: usize,
}

/// The edits that evaluate an expression ahead, and their gain.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The expression as it is written.
    pub text: SmolStr,
    /// The place where it was asked for, relative to the item.
    pub place: Span,
    /// Its variable.
    pub name: SmolStr,
    /// Absolute, not overlapping.
    pub edits: Vec<(Span, String)>,
    /// Statements that evaluate it, those of them that stand in front of no use, and places that read the variable instead.
    pub evaluations: usize,
    pub speculative: usize,
    pub replaced: usize,
    /// Evaluations in the profiled runs, before and after, of those that are replaced, added, or stand for certain where the value
    /// is not there; without those under a condition of an expression, in a `switch` or in an inner loop.
    pub before: u64,
    pub after: u64,
}

/// An evaluation that is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Evaluation {
    place: Place,
    block: Span,
    /// True if it stands right in front of a use that it serves; the use evaluated before.
    serves: bool,
}

/// The share of evaluations that must go.
const WORTH: f64 = 0.1;

/// The expressions of a function that could be evaluated ahead: operations, each where it stands.
#[must_use]
pub fn candidates(source: &Source<'_>, function: &Function) -> Vec<Span> {
    let Ok(scene) = Scene::of(source, function) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for stmt in wanted::statements(scene.body) {
        for (e, _) in wanted::roots(stmt) {
            ir::lower::c_family::visit::expr(e, &mut |part| {
                if wanted::is_operation(part) {
                    out.push(part.span);
                }
            });
        }
    }
    out.sort();
    out.dedup();
    out
}

/// The outermost expression around a place of a function that can be evaluated ahead, or the reason why the most promising can't.
///
/// # Errors
/// That reason.
pub fn plan(
    source: &Source<'_>,
    function: &Function,
    place: Span,
    terms: &Terms<'_>,
) -> Result<Plan, Refusal> {
    let scene = Scene::of(source, function)?;
    let mut refused = Refusal::NoExpression;
    for e in wanted::around(&scene, place) {
        match of_expression(&scene, e, terms) {
            Ok(plan) => return Ok(plan),
            Err(why) => {
                if refused.quiet() {
                    refused = why;
                }
            }
        }
    }
    Err(refused)
}

fn of_expression(scene: &Scene<'_>, e: &Expr, terms: &Terms<'_>) -> Result<Plan, Refusal> {
    let source = scene.source;
    let wraps = terms.wraps || source.language == Language::Hlsl;
    let wanted = Wanted::new(scene, e, wraps)?;
    let text = || wanted.text.clone();
    if source.effects(&scene.names, e).weight < terms.least_work {
        return Err(Refusal::Trivial(text()));
    }
    let region = region(scene, e.span).ok_or(Refusal::NoExpression)?;
    let subject = graph::Subject {
        id: None,
        stmt: None,
        operands: wanted.operands.clone(),
        memory: false,
    };
    let in_loop = region.around.is_some();
    let graph = graph::graph(
        source,
        &scene.names,
        &region.block,
        in_loop,
        region.braced,
        &subject,
    );
    let uses = wanted.uses(scene, &graph);
    if uses.iter().map(|node| node.places.len()).sum::<usize>() < 2 {
        return Err(Refusal::Once(text()));
    }
    if source.language == Language::C && uses.iter().any(|node| node.fused) {
        return Err(Refusal::Fused(text()));
    }
    let ways = terms
        .recorded
        .and_then(|recorded| follow::ways(&graph, recorded, region.around, region.tested_last));
    let ways = ways.ok_or_else(|| Refusal::NoProfile(text()))?;
    let problem = problem(&graph, &uses, &ways.paths);
    // A node may evaluate it several times.
    let again: u64 = uses
        .iter()
        .zip(problem.executions())
        .map(|(node, count)| (node.places.len() as u64).saturating_sub(1) * count)
        .sum();
    let placed = match place(&problem) {
        Ok(placed) => placed,
        Err(SpeculationRefusal::NothingGained { evaluations }) => {
            return Err(Refusal::NothingGained {
                text: text(),
                evaluations: evaluations + again,
            });
        }
        Err(_) => return Err(Refusal::NoProfile(text())),
    };
    let kept = serving(&problem, &placed.deleted);
    let again_kept: u64 = uses
        .iter()
        .zip(problem.executions())
        .enumerate()
        .filter(|(at, _)| !kept.contains(at) && placed.deleted.binary_search(at).is_err())
        .map(|(_, (node, count))| (node.places.len() as u64).saturating_sub(1) * count)
        .sum();
    let (before, after) = (placed.before + again, placed.after + again_kept);
    if (before - after.min(before)) as f64 <= WORTH * before as f64 {
        return Err(Refusal::TooLittle {
            text: text(),
            before,
            after,
        });
    }
    let mut evaluations = Vec::new();
    for spot in placed.spots(&problem) {
        evaluations
            .push(evaluation(&graph, &region, spot).ok_or_else(|| Refusal::NoPlace(text()))?);
    }
    for &at in &kept {
        let node = &graph.nodes[at];
        let place = node.entry.ok_or_else(|| Refusal::NoPlace(text()))?;
        evaluations.push(Evaluation {
            place,
            block: node.block,
            serves: true,
        });
    }
    if evaluations.len() > terms.most {
        return Err(Refusal::ManyPlaces {
            text: text(),
            places: evaluations.len(),
        });
    }
    // If a branch without braces gets them, and an `else`, these stand behind them.
    evaluations.sort_by_key(|evaluation| evaluation.place.offset());
    let sites: Vec<usize> = sites(&placed.spots(&problem), &kept);
    if apart(&graph, &sites, terms.parts_lanes) {
        return Err(Refusal::Apart(text()));
    }
    let replaced: Vec<Span> = placed
        .deleted
        .iter()
        .chain(&kept)
        .flat_map(|&at| uses[at].places.iter().copied())
        .collect();
    let (name, edits) = write::write(scene, &wanted, &region, &evaluations, &replaced)?;
    Ok(Plan {
        text: text(),
        place: e.span,
        name,
        edits: edits
            .into_iter()
            .map(|(span, text)| (span.shifted(source.start), text))
            .collect(),
        evaluations: evaluations.len(),
        speculative: evaluations.iter().filter(|each| !each.serves).count(),
        replaced: replaced.len(),
        before,
        after,
    })
}

/// The flow graph of the region with the effects of its nodes and the counts of its edges.
fn problem(graph: &Graph, uses: &[Uses], paths: &[(Vec<usize>, u64)]) -> Problem {
    let mut taken: Vec<Vec<u64>> = graph
        .successors
        .iter()
        .map(|all| vec![0; all.len()])
        .collect();
    let mut entries = 0u64;
    for (path, count) in paths {
        entries = entries.saturating_add(*count);
        for step in path.windows(2) {
            let edge = graph.successors[step[0]]
                .iter()
                .position(|to| *to == step[1]);
            if let Some(edge) = edge {
                let known = &mut taken[step[0]][edge];
                *known = known.saturating_add(*count);
            }
        }
    }
    Problem {
        entry: ENTRY,
        entries,
        successors: graph.successors.clone(),
        taken,
        blocks: uses.iter().map(|node| node.local).collect(),
        may_fault: false,
    }
}

/// The uses that still evaluate, and whose value reaches one that does not.
fn serving(problem: &Problem, deleted: &[usize]) -> Vec<usize> {
    let nodes = problem.successors.len();
    let is_deleted = |node: usize| deleted.binary_search(&node).is_ok();
    (0..nodes)
        .filter(|&from| {
            let local = problem.blocks[from];
            if !local.uses || local.kills || is_deleted(from) {
                return false;
            }
            let mut seen = vec![false; nodes];
            let mut open = problem.successors[from].clone();
            while let Some(at) = open.pop() {
                if std::mem::replace(&mut seen[at], true) {
                    continue;
                }
                if is_deleted(at) {
                    return true;
                }
                if !problem.blocks[at].kills {
                    open.extend(&problem.successors[at]);
                }
            }
            false
        })
        .collect()
}

/// The text at which an inserted evaluation stands.
fn evaluation(graph: &Graph, region: &Region, spot: Spot) -> Option<Evaluation> {
    let (place, block) = match spot {
        Spot::Entry => {
            let place = region.braced.then_some(Place::Opening(region.block.span))?;
            (place, region.block.span)
        }
        Spot::Start(node) => (graph.nodes[node].entry?, graph.nodes[node].block),
        Spot::End(node) => (graph.nodes[node].exit?, graph.nodes[node].block),
        Spot::Edge(..) => return None,
    };
    Some(Evaluation {
        place,
        block,
        serves: false,
    })
}

/// The nodes at which it is evaluated afterwards.
fn sites(spots: &[Spot], kept: &[usize]) -> Vec<usize> {
    let mut out: Vec<usize> = spots
        .iter()
        .map(|spot| match *spot {
            Spot::Entry => ENTRY,
            Spot::Start(node) | Spot::End(node) | Spot::Edge(node, _) => node,
        })
        .collect();
    out.extend(kept);
    out
}

/// Lanes that a branch takes apart evaluate it on both of its sides.
fn apart(graph: &Graph, sites: &[usize], parts_lanes: &dyn Fn(Span) -> bool) -> bool {
    let reached = |from: usize| {
        let mut seen = vec![false; graph.nodes.len()];
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut seen[node], true) {
                open.extend(&graph.successors[node]);
            }
        }
        seen
    };
    graph.nodes.iter().enumerate().any(|(node, data)| {
        let (Role::If(condition), [then, otherwise]) =
            (data.role, graph.successors[node].as_slice())
        else {
            return false;
        };
        if !parts_lanes(condition) {
            return false;
        }
        let sides = [reached(*then), reached(*otherwise)];
        let only = |side: usize| {
            sites
                .iter()
                .any(|&site| sides[side][site] && !sides[1 - side][site])
        };
        only(0) && only(1)
    })
}

/// Returns true if a span lies in one of some others.
fn in_any(all: &[Span], span: Span) -> bool {
    all.iter().any(|around| holds(*around, span))
}
