//! Whole ways through a region with inner loops, from paths that end at each loop.
//!
//! A path is cut at each edge that goes back: ways that end in an inner loop are joined with those that go on
//! behind it, each as often as it was counted. No profile tells which of them belong together, so that sums
//! over the nodes are exact, but results that depend on both parts of a way are not.

use std::collections::BTreeMap;

/// Ways that are kept; more are not followed.
const MOST: usize = 4096;

/// A way from the beginning of the region, or from a loop in it, to its end, or to a loop in which the path ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    pub nodes: Vec<usize>,
    pub count: u64,
    /// The loops, each a node, in which the way begins and ends.
    pub from: Option<usize>,
    pub to: Option<usize>,
}

/// Ways through a region with their counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ways {
    pub paths: Vec<(Vec<usize>, u64)>,
    /// Each is a way that was taken as a whole.
    pub whole: bool,
}

/// Whole ways of pieces: at each inner loop, the pieces that come in go on with those that come out, in some
/// order. Nodes are numbered from 0 in the order of the flow. `None`: too many, or a loop leads back to one in front of it.
#[must_use]
pub fn joined(nodes: usize, pieces: Vec<Piece>) -> Option<Ways> {
    let mut out = Ways {
        paths: Vec::new(),
        whole: true,
    };
    let mut arrived: BTreeMap<usize, Vec<(Vec<usize>, u64)>> = BTreeMap::new();
    let mut leaving: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
    for piece in pieces {
        match (piece.from, piece.to) {
            (None, None) => out.paths.push((piece.nodes, piece.count)),
            (None, Some(to)) => arrived
                .entry(to)
                .or_default()
                .push((piece.nodes, piece.count)),
            (Some(from), _) => leaving.entry(from).or_default().push(piece),
        }
    }
    for at in 0..nodes {
        let Some(incoming) = arrived.remove(&at) else {
            continue;
        };
        out.whole = false;
        let mut outgoing = leaving.remove(&at).unwrap_or_default().into_iter();
        let mut piece = outgoing.next();
        for (way, mut count) in incoming {
            while count > 0 {
                let Some(next) = &mut piece else { break };
                let both = count.min(next.count);
                let mut longer = way.clone();
                longer.extend(&next.nodes[1..]);
                match next.to {
                    Some(to) if to > at => arrived.entry(to).or_default().push((longer, both)),
                    Some(_) => return None,
                    None => out.paths.push((longer, both)),
                }
                if out.paths.len() > MOST {
                    return None;
                }
                count -= both;
                next.count -= both;
                if next.count == 0 {
                    piece = outgoing.next();
                }
            }
        }
    }
    out.paths.sort();
    out.paths.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 = first.1.saturating_add(later.1);
        }
        same
    });
    Some(out)
}
