//! Lower bounds of the initiation interval: that of the resources (ResMII), and that of the recurrences
//! (RecMII), with the limiting resource and cycle of dependences.
//!
//! ```text
//! s += a[i] * b[i]     2 loads, 2 memory units: ResMII 1; s -> s takes 4 cycles at distance 1: RecMII 4
//! ```
//!
//! RecMII is the least II at which no cycle of dependences is longer than its distances allow, `sum latency <= II * sum
//! distance`; in each strongly connected component a search for a positive cycle (Bellman and Ford), again at the interval
//! that the cycle asks for until there is none. Source: Rau, *Iterative Modulo Scheduling*, 1996, sections 2.1 and 2.2.

use super::graph::{Graph, Packer};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Cycles.
    pub res_mii: u32,
    /// The resource that is short; `None` without a limited one.
    pub resource: Option<u32>,
    /// Cycles; 0 without a recurrence.
    pub rec_mii: u32,
    /// Edges of a cycle that asks for `rec_mii`, in order; empty without a recurrence.
    pub cycle: Vec<u32>,
}

impl Bounds {
    /// The least interval that the bounds permit, in cycles.
    pub fn min_ii(&self) -> u32 {
        self.res_mii.max(self.rec_mii).max(1)
    }
}

/// The reason why no interval is possible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Impossible {
    /// A resource without units has operations.
    Resource(u32),
    /// A cycle of dependences takes time at distance 0: these edges.
    Cycle(Vec<u32>),
}

pub fn bounds<P: Packer>(graph: &Graph<P>) -> Result<Bounds, Impossible> {
    let mut wanted = vec![0u32; graph.resources.len()];
    for operation in &graph.operations {
        wanted[operation.resource as usize] += 1;
    }
    let mut out = Bounds {
        res_mii: 0,
        resource: None,
        rec_mii: 0,
        cycle: Vec::new(),
    };
    for (number, resource) in graph.resources.iter().enumerate() {
        let least = match (resource.units, wanted[number]) {
            (None, _) | (_, 0) => continue,
            (Some(0), _) => return Err(Impossible::Resource(number as u32)),
            (Some(units), wanted) => wanted.div_ceil(units),
        };
        if least > out.res_mii {
            out.res_mii = least;
            out.resource = Some(number as u32);
        }
    }
    let components = components(graph);
    for (component, edges) in components.groups().zip(inner_edges(graph, &components)) {
        if edges.is_empty() {
            continue;
        }
        // Each cycle that is too long for an interval says which one it asks for itself: a greater one.
        while let Some(cycle) = positive_cycle(graph, component, &edges, out.rec_mii) {
            let along = || cycle.iter().map(|&edge| &graph.edges[edge as usize]);
            let latency: i64 = along().map(|edge| i64::from(edge.latency)).sum();
            let distance: i64 = along().map(|edge| i64::from(edge.distance)).sum();
            if distance == 0 {
                return Err(Impossible::Cycle(cycle));
            }
            let asked = latency
                .max(0)
                .unsigned_abs()
                .div_ceil(distance.unsigned_abs());
            out.rec_mii = u32::try_from(asked).unwrap_or(u32::MAX);
            out.cycle = cycle;
        }
    }
    Ok(out)
}

/// Strongly connected components.
#[derive(Debug)]
pub(super) struct Components {
    /// The component of each operation; ascending against the edges: the component that is reached has a
    /// smaller number.
    pub(super) of: Vec<u32>,
    members: Vec<Vec<u32>>,
}

impl Components {
    pub(super) fn groups(&self) -> impl Iterator<Item = &[u32]> {
        self.members.iter().map(Vec::as_slice)
    }
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }
    pub(super) fn members(&self, component: usize) -> &[u32] {
        &self.members[component]
    }
}

/// Tarjan's algorithm with a stack of its own.
pub(super) fn components<P: Packer>(graph: &Graph<P>) -> Components {
    let count = graph.operations.len();
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); count];
    for edge in &graph.edges {
        next[edge.from as usize].push(edge.to);
    }
    let (mut index, mut low) = (vec![u32::MAX; count], vec![0u32; count]);
    let mut of = vec![u32::MAX; count];
    let mut members: Vec<Vec<u32>> = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    let mut counter = 0;
    for root in 0..count {
        if index[root] != u32::MAX {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some(&mut (node, ref mut at)) = path.last_mut() {
            if *at == 0 {
                index[node] = counter;
                low[node] = counter;
                counter += 1;
                open.push(node as u32);
            }
            if let Some(&to) = next[node].get(*at) {
                *at += 1;
                let to = to as usize;
                if index[to] == u32::MAX {
                    path.push((to, 0));
                } else if of[to] == u32::MAX {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            // An operation without successors is entered and left at once.
            path.pop();
            if let Some(&(before, _)) = path.last() {
                low[before] = low[before].min(low[node]);
            }
            if low[node] == index[node] {
                let from = open.iter().rposition(|&it| it == node as u32).unwrap_or(0);
                let group = open.split_off(from);
                for &each in &group {
                    of[each as usize] = members.len() as u32;
                }
                members.push(group);
            }
        }
    }
    Components { of, members }
}

/// Returns the edges inside of each component.
fn inner_edges<P: Packer>(graph: &Graph<P>, components: &Components) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); components.len()];
    for (number, edge) in (0..).zip(&graph.edges) {
        let component = components.of[edge.from as usize];
        if components.of[edge.to as usize] == component {
            out[component as usize].push(number);
        }
    }
    out
}

/// Rounds after which it is looked whether a cycle is known already.
const EARLY: usize = 4;

/// Returns true if the walk backwards from an operation of the component comes to no end.
fn winds<P: Packer>(graph: &Graph<P>, place: &[u32], through: &[Option<u32>], from: u32) -> bool {
    let mut at = from;
    for _ in 0..=through.len() {
        let Some(edge) = through[at as usize] else {
            return false;
        };
        at = place[graph.edges[edge as usize].from as usize];
    }
    true
}

/// Edges of a cycle that is longer than `ii` allows.
fn positive_cycle<P: Packer>(
    graph: &Graph<P>,
    component: &[u32],
    edges: &[u32],
    ii: u32,
) -> Option<Vec<u32>> {
    let mut place = vec![u32::MAX; graph.operations.len()];
    for (at, &operation) in (0..).zip(component) {
        place[operation as usize] = at;
    }
    let mut longest = vec![0i64; component.len()];
    let mut through: Vec<Option<u32>> = vec![None; component.len()];
    let mut last = None;
    for round in 0..=component.len() {
        last = None;
        for &number in edges {
            let edge = &graph.edges[number as usize];
            let (from, to) = (place[edge.from as usize], place[edge.to as usize]);
            let length = i64::from(edge.latency) - i64::from(edge.distance) * i64::from(ii);
            if longest[from as usize] + length > longest[to as usize] {
                longest[to as usize] = longest[from as usize] + length;
                through[to as usize] = Some(number);
                last = Some(to);
            }
        }
        last?;
        // If the walk backwards from the operation changed last never ends, a cycle is known long before all
        // rounds are over.
        if round > 0 && round.is_multiple_of(EARLY) && winds(graph, &place, &through, last?) {
            break;
        }
    }
    // Backwards so often that the walk is on a cycle, then once around.
    let before = |at: u32| {
        let edge = through[at as usize]?;
        Some((edge, place[graph.edges[edge as usize].from as usize]))
    };
    let mut at = last?;
    for _ in 0..component.len() {
        at = before(at)?.1;
    }
    let (start, mut cycle) = (at, Vec::new());
    loop {
        let (edge, from) = before(at)?;
        cycle.push(edge);
        at = from;
        if at == start {
            break;
        }
    }
    cycle.reverse();
    Some(cycle)
}
