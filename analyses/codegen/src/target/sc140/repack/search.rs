//! The sets of a piece: by lists, and by an exact search of bounded length.
//!
//! A list takes in each set, of the nodes whose predecessors are far enough away, those with the longest way to the end
//! first, as long as they fit. The search tries in each set every choice to which nothing can be added, and leaves a way on
//! which a bound says that it needs no fewer sets than the best one so far; of as many sets it keeps the fewest words. It
//! ends with its choices or with its budget, and says whether it has seen all.

use super::super::capacity::Capacity;
use super::super::packer::Load;
use super::graph::{Edge, Graph};

/// Pieces of more nodes are scheduled by lists alone.
const LARGEST: usize = 64;

/// The set of each node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub cycles: Vec<u32>,
    pub length: u32,
    words: u32,
    /// No order has fewer sets.
    pub proved: bool,
}

/// The best order that was found, `None` if no list came to its end, and what is left of the choices.
pub(super) fn search(graph: &Graph, capacity: &Capacity, budget: u32) -> (Option<Found>, u32) {
    let count = graph.nodes.len();
    let mut incoming: Vec<Vec<Edge>> = vec![Vec::new(); count];
    let mut outgoing: Vec<Vec<Edge>> = vec![Vec::new(); count];
    for edge in &graph.edges {
        incoming[edge.to].push(*edge);
        outgoing[edge.from].push(*edge);
    }
    let heights = heights(graph, &outgoing);
    let mut search = Search {
        graph,
        capacity,
        incoming,
        heights,
        cycles: vec![None; count],
        best: None,
        budget,
    };
    let least = search.lower_bound();
    for by in [Priority::Height, Priority::Followers, Priority::Text] {
        search.list(by);
    }
    if count <= LARGEST && search.best.as_ref().is_some_and(|best| best.length > 1) {
        search.cycles.fill(None);
        search.exact(0);
    }
    let complete = count <= LARGEST && search.budget > 0;
    let best = search.best.map(|best| Found {
        proved: complete || best.length <= least,
        ..best
    });
    (best, search.budget)
}

/// Sets from each node to the end of the piece, at least.
fn heights(graph: &Graph, outgoing: &[Vec<Edge>]) -> Vec<u32> {
    let count = graph.nodes.len();
    let mut heights: Vec<u32> = graph.nodes.iter().map(|node| node.behind).collect();
    // Within one set edges lead both up and down in the text, never in a circle.
    for _ in 0..count {
        let mut changed = false;
        for from in (0..count).rev() {
            for edge in &outgoing[from] {
                let through = heights[edge.to] + edge.sets;
                changed |= through > heights[from];
                heights[from] = heights[from].max(through);
            }
        }
        if !changed {
            break;
        }
    }
    heights
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Priority {
    Height,
    /// Those that many wait for.
    Followers,
    Text,
}

struct Search<'a> {
    graph: &'a Graph,
    capacity: &'a Capacity,
    incoming: Vec<Vec<Edge>>,
    heights: Vec<u32>,
    cycles: Vec<Option<u32>>,
    best: Option<Found>,
    budget: u32,
}

impl Search<'_> {
    /// No order has fewer sets.
    fn lower_bound(&self) -> u32 {
        let nodes = self.graph.nodes.iter().zip(&self.heights);
        let path = nodes.map(|(node, height)| node.earliest + height + 1).max();
        self.rest(0).max(path.unwrap_or(1)).max(self.graph.least)
    }

    /// The sets that the nodes without one take, at least.
    fn rest(&self, cycle: u32) -> u32 {
        use isa::sc140::Unit;
        let left = self
            .graph
            .nodes
            .iter()
            .zip(&self.cycles)
            .filter(|(_, known)| known.is_none());
        let (mut data, mut address, mut all) = (0, 0, 0);
        for (node, _) in left {
            for asked in &node.asked {
                match asked.unit {
                    Some(Unit::Data) => data += 1,
                    Some(_) => address += 1,
                    None => {}
                }
                all += 1;
            }
        }
        let capacity = self.capacity;
        let sets = [
            u32::div_ceil(data, capacity.data),
            u32::div_ceil(address, capacity.address),
            u32::div_ceil(all, capacity.instructions),
        ];
        cycle + sets.into_iter().max().unwrap_or(0)
    }

    /// Returns true if all that must stand in front of it does, far enough.
    fn is_ready(&self, node: usize, cycle: u32) -> bool {
        self.graph.nodes[node].earliest <= cycle
            && self.incoming[node]
                .iter()
                .all(|edge| self.cycles[edge.from].is_some_and(|from| from + edge.sets <= cycle))
            && (!self.graph.nodes[node].last || self.is_last_now(node, cycle))
    }

    /// Returns true if a node that ends the piece may stand in this set: all others have theirs, with as many sets behind
    /// them as they want.
    fn is_last_now(&self, node: usize, cycle: u32) -> bool {
        let others = self.graph.nodes.iter().zip(&self.cycles).enumerate();
        cycle + 1 >= self.graph.least
            && others
                .into_iter()
                .filter(|(at, _)| *at != node)
                .all(|(_, (other, known))| {
                    other.last || known.is_some_and(|at| at + other.behind <= cycle)
                })
            && self.rounds_length(cycle) <= cycle + 1
    }

    /// The sets that the piece has so that the next round of a loop is far enough from this one, or that many.
    fn rounds_length(&self, cycle: u32) -> u32 {
        let mut length = cycle + 1;
        for edge in &self.graph.rounds {
            let of = |node: usize| self.cycles[node].unwrap_or(cycle);
            let wanted = (of(edge.from) + edge.sets).saturating_sub(of(edge.to));
            length = length.max(wanted);
        }
        length
    }

    fn load(&self, members: &[usize]) -> Load {
        let asked = members
            .iter()
            .flat_map(|&node| &self.graph.nodes[node].asked);
        Load::of(asked)
    }

    fn list(&mut self, by: Priority) {
        let count = self.graph.nodes.len();
        self.cycles = vec![None; count];
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&node| {
            let key = match by {
                Priority::Height => u64::from(self.heights[node]),
                Priority::Followers => {
                    let edges = self.graph.edges.iter();
                    let followers = edges.filter(|edge| edge.from == node).count() as u64;
                    u64::from(self.heights[node]) << 20 | followers
                }
                Priority::Text => 0,
            };
            (std::cmp::Reverse(key), node)
        });
        let mut cycle = 0;
        let limit = (count as u32 + 1) * 4 + self.graph.least;
        while self.cycles.iter().any(Option::is_none) && cycle <= limit {
            let mut members: Vec<usize> = Vec::new();
            let mut again = true;
            while std::mem::take(&mut again) {
                for &node in &order {
                    if self.cycles[node].is_some() || !self.is_ready(node, cycle) {
                        continue;
                    }
                    members.push(node);
                    match self.load(&members).fits(self.capacity) {
                        true => {
                            self.cycles[node] = Some(cycle);
                            again = true;
                        }
                        false => {
                            members.pop();
                        }
                    }
                }
            }
            cycle += 1;
        }
        self.take();
    }

    /// Keeps what was found, if all nodes have a set and it is better.
    fn take(&mut self) {
        let cycles: Option<Vec<u32>> = self.cycles.iter().copied().collect();
        let Some(cycles) = cycles else {
            return;
        };
        let nodes = self.graph.nodes.iter().zip(&cycles);
        let needed = nodes.map(|(node, cycle)| cycle + node.behind + 1).max();
        let last = cycles.iter().max().copied().unwrap_or(0);
        let length = needed
            .unwrap_or(1)
            .max(self.graph.least)
            .max(self.rounds_length(last));
        let words = (0..length).map(|cycle| {
            let members: Vec<usize> = (0..cycles.len())
                .filter(|&node| cycles[node] == cycle)
                .collect();
            self.load(&members).words().max(1)
        });
        let words = words.sum();
        let better = self
            .best
            .as_ref()
            .is_none_or(|best| (length, words) < (best.length, best.words));
        // What ends the piece stands in its last set.
        let ends = self.graph.nodes.iter().zip(&cycles);
        let right = ends
            .into_iter()
            .all(|(node, cycle)| !node.last || cycle + 1 == length);
        if better && right {
            self.best = Some(Found {
                cycles,
                length,
                words,
                proved: false,
            });
        }
    }

    fn exact(&mut self, cycle: u32) {
        if self.budget == 0 {
            return;
        }
        if self.cycles.iter().all(Option::is_some) {
            self.take();
            return;
        }
        let Some(best) = self.best.as_ref().map(|best| best.length) else {
            return;
        };
        let nodes = self.heights.iter().zip(&self.cycles);
        let left = nodes.filter(|(_, known)| known.is_none());
        let path = left.map(|(height, _)| cycle + height + 1).max();
        if self.rest(cycle).max(path.unwrap_or(0)) > best {
            return;
        }
        self.choose(cycle, 0, &mut Vec::new());
    }

    /// Tries every choice of ready nodes from this one on, to which nothing can be added.
    fn choose(&mut self, cycle: u32, from: usize, members: &mut Vec<usize>) {
        if self.budget == 0 {
            return;
        }
        let count = self.graph.nodes.len();
        let next = (from..count).find(|&node| {
            self.cycles[node].is_none() && self.is_ready(node, cycle) && {
                members.push(node);
                let fits = self.load(members).fits(self.capacity);
                members.pop();
                fits
            }
        });
        if let Some(node) = next {
            members.push(node);
            self.cycles[node] = Some(cycle);
            // What stands in this set lets others, of lower numbers too, stand in it.
            let lets = self.graph.edges.iter();
            let earlier = lets
                .filter(|edge| edge.from == node && edge.sets == 0)
                .map(|edge| edge.to)
                .min();
            let start = earlier.map_or(node + 1, |earlier| earlier.min(node + 1));
            self.choose(cycle, start, members);
            members.pop();
            self.cycles[node] = None;
            self.choose(cycle, node + 1, members);
            return;
        }
        self.budget -= 1;
        let addable = (0..count).any(|node| {
            self.cycles[node].is_none() && self.is_ready(node, cycle) && {
                members.push(node);
                let fits = self.load(members).fits(self.capacity);
                members.pop();
                fits
            }
        });
        if !addable {
            self.exact(cycle + 1);
        }
    }
}
