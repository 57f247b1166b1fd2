//! Iterative modulo scheduling: operations are placed by priority into the first free slot; one that finds none displaces
//! others, which are placed again, until all have a place or the budget is spent. Where units stand in for each other those
//! whose units are least in demand go first.
//!
//! Priority is the height: the longest way from an operation to the end of its iteration at this interval. An
//! operation that is placed again starts at least a cycle later than before, so that two operations cannot
//! displace each other for ever at one place; the budget ends the search. It proves nothing: if it fails,
//! another order, or `exact`, may succeed.
//!
//! Source: Rau, *Iterative Modulo Scheduling*, 1996, section 3 (figures 2 to 5).

use super::graph::{Graph, Packer, Schedule};
use super::reservation::ReservationTable;
use fixedbitset::FixedBitSet;

/// A schedule at this interval, `budget` placements at most. The interval is no less than the recurrences ask for.
pub fn iterative<P: Packer>(graph: &Graph<P>, ii: u32, budget: usize) -> Option<Schedule> {
    varied(graph, ii, budget, 0)
}

/// The same with another order among operations of about the same height.
pub fn varied<P: Packer>(
    graph: &Graph<P>,
    ii: u32,
    budget: usize,
    variant: u32,
) -> Option<Schedule> {
    let count = graph.operations.len();
    let height = heights(graph, ii)?;
    let incoming = Neighbours::new(graph, ii, Way::Into);
    let outgoing = Neighbours::new(graph, ii, Way::OutOf);
    let mut order: Vec<u32> = (0..count as u32).collect();
    // Up to so many cycles more, as if by chance.
    let more = |operation: u32| {
        let mixed = (operation + 1).wrapping_mul(0x9e37_79b1 ^ variant.wrapping_mul(0x85eb_ca6b));
        i64::from((mixed >> 16) % (1 + variant * ii / 2))
    };
    order.sort_by_key(|&operation| (-height[operation as usize] - more(operation), operation));
    let mut rank = vec![0u32; count];
    for (at, &operation) in (0..).zip(&order) {
        rank[operation as usize] = at;
    }
    let mut start = vec![UNPLACED; count];
    let mut before = vec![UNPLACED; count];
    let mut table = Table::new(graph, ii);
    // Ranks of what is to be placed.
    let mut open = FixedBitSet::with_capacity(count);
    open.insert_range(..);
    for _ in 0..budget {
        let Some(first) = open.minimum() else { break };
        open.remove(first);
        let operation = order[first] as usize;
        // An operation without a place asks for a start far below 0, which is none.
        let earliest = incoming.of(operation).iter().fold(0, |earliest, near| {
            earliest.max(start[near.operation as usize] + near.length)
        });
        let free = table.first_free(operation, earliest);
        // Nor does one that had none before.
        let at = free.unwrap_or_else(|| earliest.max(before[operation] + 1));
        // The operations in the way: of those that take the resource the one that matters least, of the
        // dependences all that are broken.
        while !table.is_free(operation, at) {
            let other = table.least(operation, at, &rank)?;
            debug_assert_ne!(start[other], UNPLACED, "what stands in a slot has a place");
            table.remove(other, start[other]);
            start[other] = UNPLACED;
            open.insert(rank[other] as usize);
        }
        table.add(operation, at);
        start[operation] = at;
        before[operation] = at;
        for near in outgoing.of(operation) {
            let to = near.operation as usize;
            let there = start[to];
            if there < at + near.length && there != UNPLACED {
                table.remove(to, there);
                start[to] = UNPLACED;
                open.insert(rank[to] as usize);
            }
        }
    }
    if !open.is_clear() {
        return None;
    }
    debug_assert!(!start.contains(&UNPLACED), "nothing is to be placed");
    Some(Schedule::at(ii, &start))
}

/// The start of an operation that has no place: so far below 0 that no dependence leads back.
const UNPLACED: i64 = i64::MIN / 4;

pub(super) fn length(edge: &super::graph::Edge, ii: u32) -> i64 {
    i64::from(edge.latency) - i64::from(edge.distance) * i64::from(ii)
}

/// The other end of a dependence, with its length at an interval.
#[derive(Clone, Copy, Debug)]
struct Near {
    operation: u32,
    length: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Into,
    OutOf,
}

/// The other ends of the dependences of each operation, one operation behind the other. Those of an operation on itself are
/// not among them: they bound the interval and no start.
struct Neighbours {
    all: Vec<Near>,
    /// Indexed by operation, the first of its own in `all`; one more at the end.
    first: Vec<u32>,
}

impl Neighbours {
    fn new<P: Packer>(graph: &Graph<P>, ii: u32, way: Way) -> Neighbours {
        let edges = || {
            let apart = graph.edges.iter().filter(|edge| edge.from != edge.to);
            apart.map(move |edge| {
                let (own, operation) = match way {
                    Way::Into => (edge.to, edge.from),
                    Way::OutOf => (edge.from, edge.to),
                };
                let length = length(edge, ii);
                (own as usize, Near { operation, length })
            })
        };
        let mut first = vec![0u32; graph.operations.len() + 1];
        edges().for_each(|(own, _)| first[own + 1] += 1);
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut all = vec![
            Near {
                operation: 0,
                length: 0
            };
            edges().count()
        ];
        for (own, near) in edges() {
            all[next[own] as usize] = near;
            next[own] += 1;
        }
        Neighbours { all, first }
    }
    fn of(&self, operation: usize) -> &[Near] {
        &self.all[self.first[operation] as usize..self.first[operation + 1] as usize]
    }
}

/// The longest way from each operation; `None`: a cycle is too long for the interval.
fn heights<P: Packer>(graph: &Graph<P>, ii: u32) -> Option<Vec<i64>> {
    let mut height = vec![0i64; graph.operations.len()];
    for _ in 0..=graph.operations.len() {
        let mut changed = false;
        for edge in graph.edges.iter().rev() {
            let through = height[edge.to as usize] + length(edge, ii);
            let known = &mut height[edge.from as usize];
            if through > *known {
                *known = through;
                changed = true;
            }
        }
        if !changed {
            return Some(height);
        }
    }
    None
}

/// Takes an operation out of a list whose order says nothing.
fn take(list: &mut Vec<u32>, operation: usize) {
    if let Some(at) = list.iter().position(|&other| other as usize == operation) {
        list.swap_remove(at);
    }
}

/// The operations that are served in each slot.
struct Table<'g, P: Packer> {
    graph: &'g Graph<P>,
    ii: u32,
    /// Indexed by resource and slot; empty where there are units for all.
    served: Vec<Vec<Vec<u32>>>,
    /// Indexed by slot, where units stand in for each other.
    rows: Vec<Vec<u32>>,
    reserved: Option<ReservationTable<'g, P>>,
    /// Indexed by operation, there: how scarce its units are.
    scarce: Vec<u32>,
}

impl<'g, P: Packer> Table<'g, P> {
    fn new(graph: &'g Graph<P>, ii: u32) -> Self {
        let slots = |limited: bool| vec![Vec::new(); if limited { ii as usize } else { 0 }];
        let served = graph
            .resources
            .iter()
            .map(|resource| slots(resource.units.is_some()));
        let packing = graph.packing.as_ref();
        let scarce = packing.map_or_else(Vec::new, P::scarcity);
        let slots = packing.map_or(0, |_| ii as usize);
        Table {
            graph,
            ii,
            scarce,
            served: served.collect(),
            rows: vec![Vec::new(); slots],
            reserved: packing.map(|packing| ReservationTable::new(packing, ii)),
        }
    }
    fn slot(&self, at: i64) -> usize {
        at.rem_euclid(i64::from(self.ii)) as usize
    }
    /// The first cycle from `earliest` on in which an operation finds a place, of as many as the interval has.
    fn first_free(&mut self, operation: usize, earliest: i64) -> Option<i64> {
        let (first, ii) = (self.slot(earliest), self.ii as usize);
        let mut slots = (first..ii).chain(0..first);
        let behind = slots.position(|slot| self.is_free_in(operation, slot))?;
        Some(earliest + behind as i64)
    }
    fn is_free(&mut self, operation: usize, at: i64) -> bool {
        self.is_free_in(operation, self.slot(at))
    }
    fn is_free_in(&mut self, operation: usize, slot: usize) -> bool {
        let resource = self.graph.operations[operation].resource;
        let served = match self.graph.resources[resource as usize].units {
            None => true,
            Some(units) => self.served[resource as usize][slot].len() < units as usize,
        };
        let reserved = self.reserved.as_mut();
        served && reserved.is_none_or(|reserved| reserved.admits(slot, operation as u32))
    }
    fn least(&self, operation: usize, at: i64, rank: &[u32]) -> Option<usize> {
        let resource = self.graph.operations[operation].resource as usize;
        let slot = self.slot(at);
        if let Some(reserved) = &self.reserved {
            let row = &self.rows[slot];
            let alone = |gone: u32| reserved.admits_for(slot, operation as u32, gone);
            // The best operation is one that makes room by itself, and among those one whose units are
            // plenty, as it finds another place.
            let by_rank = |other: &&u32| {
                let other = **other as usize;
                (std::cmp::Reverse(self.scarce[other]), rank[other])
            };
            let enough = row
                .iter()
                .filter(|&&other| alone(other))
                .max_by_key(by_rank);
            let chosen = enough.or_else(|| row.iter().max_by_key(by_rank));
            return chosen.map(|&other| other as usize);
        }
        let served = self.served[resource].get(slot)?;
        served
            .iter()
            .max_by_key(|&&other| rank[other as usize])
            .map(|&other| other as usize)
    }
    fn add(&mut self, operation: usize, at: i64) {
        let (slot, resource) = (self.slot(at), self.graph.operations[operation].resource);
        if let Some(served) = self.served[resource as usize].get_mut(slot) {
            served.push(operation as u32);
        }
        if let Some(reserved) = &mut self.reserved {
            self.rows[slot].push(operation as u32);
            reserved.add(slot, operation as u32);
        }
    }
    fn remove(&mut self, operation: usize, at: i64) {
        let (slot, resource) = (self.slot(at), self.graph.operations[operation].resource);
        if let Some(served) = self.served[resource as usize].get_mut(slot) {
            take(served, operation);
        }
        if let Some(reserved) = &mut self.reserved {
            take(&mut self.rows[slot], operation);
            reserved.remove(slot, operation as u32);
        }
    }
}
