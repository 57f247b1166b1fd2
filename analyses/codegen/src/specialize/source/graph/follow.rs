//! The paths of a region that lanes took, from the paths of the function's blocks that a profile counts.
//!
//! A path of blocks tells at each `if` which branch was taken; between two of them there is one way through
//! the region. It is cut at each back edge, so that ways that end in an inner loop are joined with those that
//! go on behind it (`facts::paths::joined`).

use super::super::pressure::scene::holds;
use super::{ENTRY, Graph, Role};
use facts::partial_dead::Problem;
use facts::paths::{Ending, PathNumbers, PathProfile, Piece, Start, Ways, joined};
use ir::entity::Entity;
use ir::{Block, BranchKind, Function, Site};
use std::collections::BTreeMap;
use syntax::Span;

/// The paths that lanes took in a function, by a profile.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    pub function: &'a Function,
    pub numbers: &'a PathNumbers,
    pub profile: &'a PathProfile,
}

/// Ways that are kept; more are not followed.
const MOST: usize = 4096;

/// The loops in which a way begins and ends.
type Ends = (Option<usize>, Option<usize>);

/// The ways through a region; `region` is the statement of the loop whose body it is, `tested_last` where its condition stands behind
/// the body. `None`: the profile does not fit the text.
pub(in super::super) fn ways(
    graph: &Graph,
    recorded: Recorded<'_>,
    region: Option<Span>,
    tested_last: bool,
) -> Option<Ways> {
    let Recorded {
        function,
        numbers,
        profile,
    } = recorded;
    let mut pieces: BTreeMap<Ends, BTreeMap<Vec<usize>, u64>> = BTreeMap::new();
    let heads = Heads::new(graph, function, region);
    if region.is_some() && heads.own.is_none() {
        // A constant rules the loop out.
        return None;
    }
    for (&number, &count) in &profile.counts {
        let path = numbers.path(number)?;
        let last = path.nodes.last().copied();
        let end = match path.ending {
            Ending::Edge(edge) => last.map(|node| (node, edge)),
            Ending::Exit => None,
        };
        let taken = path.nodes.iter().copied().zip(path.edges.iter().copied());
        let taken: Vec<(usize, usize)> = taken.chain(end).collect();
        let target = end.and_then(|(node, edge)| {
            let data = &function.blocks[Block::new(node)];
            Some(data.terminator.edges().get(edge)?.block.index())
        });
        let from = match path.start {
            Start::Entry => None,
            Start::Behind(block) => heads.inner.get(&block).copied(),
        };
        // Another iteration of an inner loop is none of the region.
        let to = target.and_then(|block| heads.inner.get(&block).copied());
        if from.is_some() && from == to {
            continue;
        }
        let enters = || match tested_last {
            true => heads.own.is_none_or(|own| path.nodes.contains(&own)),
            false => heads.enters(function, &path.nodes, &taken),
        };
        if from.is_none() && !enters() {
            continue;
        }
        let nodes = follow(graph, function, &taken, &path.nodes, from, to)?;
        let known = pieces
            .entry((from, to))
            .or_default()
            .entry(nodes)
            .or_default();
        *known = known.saturating_add(count);
    }
    let pieces = pieces.into_iter().flat_map(|((from, to), all)| {
        all.into_iter().map(move |(nodes, count)| Piece {
            nodes,
            count,
            from,
            to,
        })
    });
    joined(graph.nodes.len(), pieces.collect())
}

/// The loops of a region's text by the blocks to which their back edges lead.
struct Heads {
    inner: BTreeMap<usize, usize>,
    /// The header of the region's own loop, and the place of its condition where it is tested first.
    own: Option<usize>,
}

impl Heads {
    fn new(graph: &Graph, function: &Function, region: Option<Span>) -> Heads {
        let mut heads = Heads {
            inner: BTreeMap::new(),
            own: None,
        };
        for source in &function.loops {
            if source.loc.site != Site(0) {
                continue;
            }
            let start = Span::at(source.loc.span.start);
            let node = (0..graph.nodes.len()).find(
                |&node| matches!(graph.nodes[node].role, Role::Whole { span, .. } if holds(span, start)),
            );
            match node {
                Some(node) => {
                    heads.inner.insert(source.header.index(), node);
                }
                None if region.is_some_and(|region| holds(region, start)) => {
                    // The outermost of those that begin in the region's loop is the loop itself.
                    heads.own.get_or_insert(source.header.index());
                }
                None => {}
            }
        }
        // Blocks of loops in what was inlined are those of the statement that calls.
        heads
    }

    /// A path of blocks goes into the region.
    fn enters(&self, function: &Function, nodes: &[usize], taken: &[(usize, usize)]) -> bool {
        let Some(own) = self.own else {
            return true;
        };
        if !nodes.contains(&own) {
            return false;
        }
        // If the loop tests first, the condition decides in the header, or in the blocks of its parts.
        let from = nodes.iter().position(|&node| node == own).unwrap_or(0);
        let decided = taken[from.min(taken.len())..].iter().find(|(node, _)| {
            let data = &function.blocks[Block::new(*node)];
            data.branch != BranchKind::Implied && data.branch != BranchKind::ShortCircuit
        });
        match decided {
            Some(&(node, edge)) => {
                let data = &function.blocks[Block::new(node)];
                data.branch != BranchKind::Loop || edge == 0
            }
            None => true,
        }
    }
}

/// The nodes that a path of blocks comes to. `None`: it does not tell which branch was taken.
fn follow(
    graph: &Graph,
    function: &Function,
    taken: &[(usize, usize)],
    blocks: &[usize],
    from: Option<usize>,
    to: Option<usize>,
) -> Option<Vec<usize>> {
    let place = |block: usize| {
        let data = &function.blocks[Block::new(block)];
        (data.loc.site == Site(0)).then_some(data.loc.span)
    };
    let mut at = from.unwrap_or(ENTRY);
    let mut nodes = vec![at];
    while let Some(all) = graph.successors.get(at).filter(|all| !all.is_empty()) {
        if Some(at) == to && nodes.len() > 1 {
            break;
        }
        let next = match graph.nodes[at].role {
            Role::If(condition) => {
                let mut decided = taken.iter().filter(|(block, _)| {
                    let kind = function.blocks[Block::new(*block)].branch;
                    matches!(kind, BranchKind::If | BranchKind::Flattened)
                        && place(*block) == Some(condition)
                });
                let (_, edge) = decided.next()?;
                // A macro may hold several of one place.
                if decided.next().is_some() {
                    return None;
                }
                *all.get(*edge)?
            }
            Role::Whole { span, returns } if all.len() > 1 => {
                let last = blocks.last().and_then(|&block| place(block))?;
                // A path that goes on with the next iteration of the region's loop cannot be told from one
                // that falls out of the loop.
                if !returns || last.is_empty() {
                    return None;
                }
                all[usize::from(holds(span, last))]
            }
            Role::Whole { .. } => all[0],
            Role::Plain | Role::End => all[0],
        };
        nodes.push(next);
        at = next;
        if nodes.len() > graph.nodes.len() {
            return None;
        }
    }
    Some(nodes)
}

/// Each way through a region once, where there are not too many of them.
pub(in super::super) fn all_ways(problem: &Problem) -> Option<Vec<Vec<usize>>> {
    let mut out = Vec::new();
    let mut open = vec![vec![ENTRY]];
    while let Some(way) = open.pop() {
        let last = *way.last()?;
        if problem.successors[last].is_empty() {
            out.push(way);
        } else {
            for &to in &problem.successors[last] {
                let mut longer = way.clone();
                longer.push(to);
                open.push(longer);
            }
        }
        if out.len() + open.len() > MOST {
            return None;
        }
    }
    Some(out)
}
