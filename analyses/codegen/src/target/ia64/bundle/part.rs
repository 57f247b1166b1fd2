//! A part of a block as sets of bits: at most 64 instructions that begin somewhere in a bundle, behind the
//! parts packed before.

use super::block::{Block, Packing, Type, Wait};
use super::cost::{Counts, Edge, slots};
use super::graph::Graph;

pub(super) type Set = u64;

/// Ascending.
pub(super) fn members(mut set: Set) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(lowest)
    })
}

/// A block of at most 64 instructions that begins somewhere in a bundle.
pub(super) struct Inner {
    pub(super) types: Vec<Type>,
    pub(super) graph: Graph,
    /// The first cycles as required from outside, and those with the dependences inside.
    pub(super) release: Vec<u32>,
    pub(super) early: Vec<u32>,
    pub(super) start: Edge,
    /// The instructions in order of height: those that lead the longest ways first.
    pub(super) order: Vec<u32>,
    /// The instructions for which each instruction waits at least a cycle, and those with which it may share
    /// its group.
    pub(super) long: Vec<Set>,
    pub(super) short: Vec<Set>,
    /// Instructions by type.
    kinds: [Set; 6],
}

impl Inner {
    pub(super) fn new(types: Vec<Type>, graph: Graph, release: Vec<u32>, start: Edge) -> Inner {
        let (mut long, mut short) = (vec![0; graph.count], vec![0; graph.count]);
        for to in 0..graph.count {
            for &(from, cycles) in graph.before(to as u32) {
                let set: &mut Vec<Set> = if cycles > 0 { &mut long } else { &mut short };
                set[to] |= 1 << from;
            }
        }
        let mut kinds = [0; 6];
        for (at, &ty) in types.iter().enumerate() {
            kinds[ty as usize] |= 1 << at;
        }
        Inner {
            early: graph.earliest(&release),
            order: graph.by_height(),
            types,
            graph,
            release,
            start,
            long,
            short,
            kinds,
        }
    }

    pub(super) fn all(&self) -> Set {
        Set::MAX
            .checked_shr(64 - self.types.len() as u32)
            .unwrap_or(0)
    }

    pub(super) fn count(&self, set: Set) -> Counts {
        let of = |ty: Type| (self.kinds[ty as usize] & set).count_ones();
        Counts {
            a: of(Type::A),
            i: of(Type::I),
            m: of(Type::M),
            f: of(Type::F),
            l: of(Type::L),
            b: of(Type::B),
        }
    }

    /// All that is left as one group, its branches anywhere: no split of it takes fewer slots.
    pub(super) fn bound(&self, left: Set, start: Edge) -> u32 {
        bound(self.count(left), start)
    }

    /// The last cycle of a schedule as short as waits alone let it be.
    pub(super) fn shortest(&self) -> u32 {
        self.early.iter().max().copied().unwrap_or(0)
    }
}

/// Slots that no schedule of these goes below, from where it starts to the end of its last bundle.
pub(super) fn bound(counts: Counts, start: Edge) -> u32 {
    let others = Counts { b: 0, ..counts };
    let open = match start {
        Edge::Whole => 0,
        open => 3 - open.slots(),
    };
    let room = open + (counts.filled().saturating_sub(open)).div_ceil(3) * 3;
    match slots(others, start, Edge::Whole) {
        Some(others) => others.max(room),
        None => room,
    }
}

/// Parts of at most so many instructions, in the order of the list schedule.
pub(super) fn split(graph: &Graph, largest: usize) -> Vec<Vec<u32>> {
    if graph.count <= largest {
        return vec![(0..graph.count as u32).collect()];
    }
    let cycle = graph.earliest(&[]);
    let mut order: Vec<u32> = (0..graph.count as u32).collect();
    order.sort_by_key(|&i| (cycle[i as usize], i));
    let mut parts: Vec<Vec<u32>> = order.chunks(largest).map(<[u32]>::to_vec).collect();
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// A part as a block, with the first cycle in which it may issue: behind the parts packed before.
pub(super) fn part_of(block: &Block, part: &[u32], before: &Packing) -> Inner {
    let number = |i: u32| part.binary_search(&i).ok().map(|at| at as u32);
    let edges = block.edges.iter().filter_map(|wait| {
        Some(Wait {
            from: number(wait.from)?,
            to: number(wait.to)?,
            cycles: wait.cycles,
        })
    });
    let first = before.groups.last().map_or(0, |group| group.cycle + 1);
    let mut release = vec![0; part.len()];
    let mut cycle_of = vec![None; block.types.len()];
    for group in &before.groups {
        for &instruction in &group.instructions {
            cycle_of[instruction as usize] = Some(group.cycle);
        }
    }
    for wait in &block.edges {
        if let (Some(from), Some(to)) = (cycle_of[wait.from as usize], number(wait.to)) {
            let at = (from + wait.cycles).saturating_sub(first);
            release[to as usize] = release[to as usize].max(at);
        }
    }
    let inner = Block {
        types: part.iter().map(|&i| block.types[i as usize]).collect(),
        edges: edges.collect(),
    };
    let graph = Graph::new(&inner);
    let start = before.groups.last().map_or(Edge::Whole, |group| group.end);
    Inner::new(inner.types, graph, release, start)
}
