//! The places of the copies: as early as the ways to them allow, one in front of an `if` for those in all of its branches.

use super::super::graph::place::Place;
use super::super::graph::{Graph, Role};
use super::Copy;
use facts::partial_dead::{Sinking, joined};

/// The copies with their places in the text. `None`: one of them can't be written.
pub(super) fn copies(graph: &Graph, sinking: &Sinking, statement: usize) -> Option<Vec<Copy>> {
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
    // A copy under the flag may be reached behind this node, on a way without the statement.
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
    let heads = (0..nodes).filter(|&node| {
        matches!(graph.nodes[node].role, Role::If(_)) && graph.nodes[node].entry.is_some()
    });
    for (node, entry) in joined(&graph.successors, sinking, statement, heads) {
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
