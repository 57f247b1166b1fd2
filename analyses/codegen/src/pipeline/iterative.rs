//! Iterative modulo scheduling: operations are placed by priority into the first free slot; one that finds none displaces
//! others, which are placed again, until all have a place or the budget is spent. Where units stand in for each other those
//! whose units are least in demand go first.
//!
//! Priority is the height: the longest way from an operation to the end of its iteration at this interval. An operation
//! that is placed again starts at least a cycle later than before, so that two operations cannot displace each other
//! for ever at one place; what ends the search is the budget. It proves nothing: where it fails another order, or
//! `exact`, may succeed.
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
    let (incoming, outgoing) = neighbours(graph);
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
    let mut start: Vec<Option<i64>> = vec![None; count];
    let mut before: Vec<Option<i64>> = vec![None; count];
    let mut table = Table::new(graph, ii);
    // Ranks of what is to be placed.
    let mut open = FixedBitSet::with_capacity(count);
    open.insert_range(..);
    for _ in 0..budget {
        let Some(first) = open.minimum() else { break };
        open.remove(first);
        let operation = order[first] as usize;
        let earliest = incoming[operation]
            .iter()
            .filter_map(|&edge| {
                let edge = &graph.edges[edge as usize];
                let from = start[edge.from as usize]?;
                Some(from + length(edge, ii))
            })
            .max()
            .unwrap_or(0)
            .max(0);
        let free = (earliest..earliest + i64::from(ii)).find(|&at| table.is_free(operation, at));
        let at = free.unwrap_or_else(|| match before[operation] {
            Some(before) => earliest.max(before + 1),
            None => earliest,
        });
        // Who is in the way: of the resource the one that matters least, of the dependences all that are broken.
        while !table.is_free(operation, at) {
            let other = table.least(operation, at, &rank)?;
            table.remove(other, start[other]?);
            start[other] = None;
            open.insert(rank[other] as usize);
        }
        table.add(operation, at);
        start[operation] = Some(at);
        before[operation] = Some(at);
        for &edge in &outgoing[operation] {
            let edge = &graph.edges[edge as usize];
            let to = edge.to as usize;
            if let Some(there) = start[to]
                && to != operation
                && there < at + length(edge, ii)
            {
                table.remove(to, there);
                start[to] = None;
                open.insert(rank[to] as usize);
            }
        }
    }
    if !open.is_clear() {
        return None;
    }
    Some(Schedule::at(
        ii,
        &start.into_iter().collect::<Option<Vec<i64>>>()?,
    ))
}

pub(super) fn length(edge: &super::graph::Edge, ii: u32) -> i64 {
    i64::from(edge.latency) - i64::from(edge.distance) * i64::from(ii)
}

/// Edges by their ends: into an operation, and out of it.
fn neighbours<P: Packer>(graph: &Graph<P>) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
    let count = graph.operations.len();
    let (mut incoming, mut outgoing) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (number, edge) in (0..).zip(&graph.edges) {
        incoming[edge.to as usize].push(number);
        outgoing[edge.from as usize].push(number);
    }
    (incoming, outgoing)
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

/// Who is served in which slot.
struct Table<'g, P: Packer> {
    graph: &'g Graph<P>,
    ii: u32,
    /// By resource and slot; empty where there are units for all.
    served: Vec<Vec<Vec<u32>>>,
    /// By slot, where units stand in for each other.
    rows: Vec<Vec<u32>>,
    reserved: Option<ReservationTable<'g, P>>,
    /// By operation, there: how scarce its units are.
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
    fn is_free(&mut self, operation: usize, at: i64) -> bool {
        let (slot, resource) = (self.slot(at), self.graph.operations[operation].resource);
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
            // Best one that makes room by itself, and of those one whose units are plenty: it finds another place.
            let by_rank = |one: &&u32| {
                let one = **one as usize;
                (std::cmp::Reverse(self.scarce[one]), rank[one])
            };
            let enough = row.iter().filter(|&&one| alone(one)).max_by_key(by_rank);
            let chosen = enough.or_else(|| row.iter().max_by_key(by_rank));
            return chosen.map(|&one| one as usize);
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
            served.retain(|&one| one as usize != operation);
        }
        if let Some(reserved) = &mut self.reserved {
            self.rows[slot].retain(|&one| one as usize != operation);
            reserved.remove(slot, operation as u32);
        }
    }
}
