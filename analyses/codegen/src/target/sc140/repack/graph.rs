//! The dependences of a piece: which instructions stay in one set, how far apart others stand, and how far from what
//! stands in front of the piece and behind it.
//!
//! Instructions of one set read what was there before it: among them a reader must not come behind the writer. Those
//! that read what the others write in a circle stay together, and so do pushes and pops of one set, which move the stack
//! pointer once.

use super::super::capacity::Capacity;
use super::super::latency::{Around, Timed, distance, is_read_before, memory};
use super::super::listing::{Listing, Member};
use super::super::packer::Asked;
use isa::sc140::{Access, Opcode, Reg};
use std::ops::Range;

/// Sets around a piece that are looked at: no distance is greater.
const AROUND: usize = 3;
/// As in the rules of loops: sets between what prepares a long loop and the set with its mark.
const ENABLE_GAP: usize = 1;
const SETUP_GAP: usize = 2;

/// Instructions that stay in one set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    /// The set of the piece that holds each member, and its number there, ascending.
    pub members: Vec<(usize, usize)>,
    pub asked: Vec<Asked>,
    /// The first set that it may stand in.
    pub earliest: u32,
    /// Sets of the piece that must stand behind it.
    pub behind: u32,
    /// It stands in the last set.
    pub last: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub from: usize,
    pub to: usize,
    pub sets: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Graph {
    /// In the order of the text.
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    /// The piece has at least so many sets.
    pub least: u32,
    /// From an instruction to one of the next round of a loop; `sets` is less what stands between two rounds.
    pub rounds: Vec<Edge>,
}

fn timed(member: &Member) -> Timed<'_> {
    Timed {
        effects: &member.effects,
        unit: member.unit(),
        condition: member.executes(),
    }
}

pub(super) fn graph(
    listing: &Listing,
    range: &Range<usize>,
    modulo: bool,
    capacity: &Capacity,
) -> Graph {
    let sets = &listing.sets[range.clone()];
    let members: Vec<(usize, usize)> = sets
        .iter()
        .enumerate()
        .flat_map(|(at, set)| (0..set.members.len()).map(move |number| (at, number)))
        .filter(|&(at, number)| !is_nop(&sets[at].members[number]))
        .collect();
    let member = |at: usize| {
        let (set, number) = members[at];
        &sets[set].members[number]
    };
    let count = members.len();
    let mut asked: Vec<Edge> = Vec::new();
    for from in 0..count {
        for to in from + 1..count {
            let (first, second) = (timed(member(from)), timed(member(to)));
            let between = members[from].0..members[to].0;
            let kept = |register: Reg| {
                let mut written = sets[between.clone()].iter().flat_map(|set| &set.members);
                !written.any(|member| member.effects.writes_to(register))
            };
            let around = Around {
                capacity,
                modulo,
                kept: &kept,
            };
            let mut push = |from: usize, to: usize, sets: u32| asked.push(Edge { from, to, sets });
            if between.is_empty() {
                let reads = |memory: isa::sc140::Memory| memory.access != Access::Store;
                let loads = |timed: Timed<'_>| timed.effects.memory.is_some_and(reads);
                if is_read_before(first, second, around)
                    || loads(first) && memory(first.effects, second.effects, around).is_some()
                    || carries(first) && carries(second)
                {
                    push(from, to, 0);
                }
                if is_read_before(second, first, around)
                    || loads(second) && memory(second.effects, first.effects, around).is_some()
                {
                    push(to, from, 0);
                }
            } else if let Some(sets) = distance(first, second, around) {
                push(from, to, sets);
            }
        }
    }
    let group = together(&members, &asked, &|at| member(at).effects.stack.is_some());
    let mut graph = Graph {
        nodes: Vec::new(),
        edges: Vec::new(),
        least: 1,
        rounds: Vec::new(),
    };
    let mut node_of = vec![0; count];
    for at in 0..count {
        if group[at] == at {
            node_of[at] = graph.nodes.len();
            graph.nodes.push(Node {
                members: Vec::new(),
                asked: Vec::new(),
                earliest: 0,
                behind: 0,
                last: false,
            });
        }
        let number = node_of[group[at]];
        node_of[at] = number;
        let node = &mut graph.nodes[number];
        node.members.push(members[at]);
        if let Ok(instruction) = &member(at).instruction {
            node.asked.push(Asked::of(instruction));
        }
        node.last |= member(at).effects.flow.is_some();
    }
    for edge in asked {
        let (from, to) = (node_of[edge.from], node_of[edge.to]);
        if from != to {
            let sets = edge.sets;
            graph.edges.push(Edge { from, to, sets });
        }
    }
    let outside = Outside {
        listing,
        range,
        modulo,
        capacity,
    };
    outside.front(&mut graph);
    outside.back(&mut graph);
    outside.loops(&mut graph);
    graph
}

fn is_nop(member: &Member) -> bool {
    let instruction = member.instruction.as_ref();
    instruction.is_ok_and(|known| known.mnemonic.opcode == Opcode::Nop)
}

fn carries(timed: Timed<'_>) -> bool {
    timed.effects.writes_to(Reg::CARRY)
}

/// Returns, for each member, the first of those that it stays together with.
fn together(
    members: &[(usize, usize)],
    edges: &[Edge],
    stacks: &dyn Fn(usize) -> bool,
) -> Vec<usize> {
    let count = members.len();
    let mut group: Vec<usize> = (0..count).collect();
    let mut start = 0;
    while start < count {
        let set = members[start].0;
        let end = (start..count)
            .find(|&at| members[at].0 != set)
            .unwrap_or(count);
        let size = end - start;
        let mut reaches = vec![vec![false; size]; size];
        for edge in edges {
            if (start..end).contains(&edge.from) && (start..end).contains(&edge.to) {
                reaches[edge.from - start][edge.to - start] = true;
            }
        }
        for (first, row) in reaches.iter_mut().enumerate() {
            for (second, reached) in row.iter_mut().enumerate() {
                *reached |= stacks(start + first) && stacks(start + second);
            }
        }
        for through in 0..size {
            for from in 0..size {
                for to in 0..size {
                    reaches[from][to] |= reaches[from][through] && reaches[through][to];
                }
            }
        }
        for at in 0..size {
            let first = (0..at).find(|&other| reaches[at][other] && reaches[other][at]);
            group[start + at] = first.map_or(start + at, |first| group[start + first]);
        }
        start = end;
    }
    group
}

/// The sets around a piece.
struct Outside<'a> {
    listing: &'a Listing,
    range: &'a Range<usize>,
    modulo: bool,
    capacity: &'a Capacity,
}

impl Outside<'_> {
    fn distance(&self, from: &Member, to: &Member) -> u32 {
        let around = Around {
            capacity: self.capacity,
            modulo: self.modulo,
            kept: &|_| true,
        };
        distance(timed(from), timed(to), around).unwrap_or(0)
    }

    fn members(&self, set: usize) -> &[Member] {
        &self.listing.sets[set].members
    }

    /// The members of a node.
    fn of_node<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Member> {
        let place = |&(set, number): &(usize, usize)| &self.members(self.range.start + set)[number];
        node.members.iter().map(place)
    }

    /// Sets outside of the piece in front of its first one, each with how far: 1 is right in front.
    fn before(&self) -> Vec<(usize, u32)> {
        let mut out: Vec<(usize, u32)> = Vec::new();
        let mut open = vec![(self.range.start, 0u32)];
        while let Some((to, passed)) = open.pop() {
            for from in 0..self.listing.sets.len() {
                let near = from + 1 == to;
                let leaves = self.listing.sets[from].flow().is_some()
                    || from > 0 && self.listing.sets[from - 1].has_slot();
                if !near && !leaves && self.listing.sets[from].closes.is_empty() {
                    continue;
                }
                let ways = self.listing.successors(from);
                let Some((_, between)) = ways.into_iter().find(|(next, _)| *next == to) else {
                    continue;
                };
                let far = passed + 1 + between as u32;
                let known = out.iter().any(|(set, by)| *set == from && *by <= far);
                if far <= AROUND as u32 && !known && !self.range.contains(&from) {
                    out.push((from, far));
                    open.push((from, far));
                }
            }
        }
        out
    }

    /// Sets outside of the piece behind its last one, each with how far: 0 is right behind; and how far its own start is.
    fn behind(&self) -> (Vec<(usize, u32)>, Vec<u32>) {
        let mut out: Vec<(usize, u32)> = Vec::new();
        let mut rounds: Vec<u32> = Vec::new();
        let mut open = vec![(self.range.end - 1, None::<u32>)];
        while let Some((from, passed)) = open.pop() {
            for (to, between) in self.listing.successors(from) {
                let far = passed.map_or(0, |passed| passed + 1) + between as u32;
                if far >= AROUND as u32 {
                    continue;
                }
                if self.range.contains(&to) {
                    rounds.push(far);
                    continue;
                }
                let known = out.iter().any(|(set, by)| *set == to && *by <= far);
                if !known {
                    out.push((to, far));
                    open.push((to, Some(far)));
                }
            }
        }
        (out, rounds)
    }

    fn front(&self, graph: &mut Graph) {
        for (set, far) in self.before() {
            for writer in self.members(set) {
                for node in &mut graph.nodes {
                    let wanted = self.of_node(node).map(|to| self.distance(writer, to)).max();
                    let earliest = wanted.unwrap_or(0).saturating_sub(far);
                    node.earliest = node.earliest.max(earliest);
                }
            }
        }
    }

    fn back(&self, graph: &mut Graph) {
        let (behind, rounds) = self.behind();
        for &(set, far) in &behind {
            for reader in self.members(set) {
                for node in &mut graph.nodes {
                    let wanted = self
                        .of_node(node)
                        .map(|from| self.distance(from, reader))
                        .max();
                    let sets = wanted.unwrap_or(0).saturating_sub(1 + far);
                    node.behind = node.behind.max(sets);
                }
            }
        }
        // Through a short piece from in front of it to behind it.
        for (before, near) in self.before() {
            for &(set, far) in &behind {
                let pairs = self.members(before).iter().flat_map(|from| {
                    let readers = self.members(set).iter();
                    readers.map(move |to| self.distance(from, to))
                });
                let sets = pairs.max().unwrap_or(0).saturating_sub(near + far);
                graph.least = graph.least.max(sets);
            }
        }
        for far in rounds {
            for from in 0..graph.nodes.len() {
                for to in 0..graph.nodes.len() {
                    let pairs = self.of_node(&graph.nodes[from]).flat_map(|first| {
                        let readers = self.of_node(&graph.nodes[to]);
                        readers.map(move |second| self.distance(first, second))
                    });
                    let sets = pairs.max().unwrap_or(0).saturating_sub(far);
                    if sets > 1 {
                        graph.rounds.push(Edge { from, to, sets });
                    }
                }
            }
        }
    }

    /// Instructions that prepare a loop stand so far in front of it, and a long loop keeps as many sets as it must have.
    fn loops(&self, graph: &mut Graph) {
        for node in &mut graph.nodes {
            for &(set, number) in &node.members {
                let member = &self.members(self.range.start + set)[number];
                let Ok(instruction) = &member.instruction else {
                    continue;
                };
                let mnemonic = instruction.mnemonic;
                let mut ahead = self.listing.loops.iter().filter(|hardware| {
                    hardware.first >= self.range.end && Some(hardware.index) == mnemonic.index
                });
                let Some(hardware) = ahead.next() else {
                    continue;
                };
                let long = hardware.before_last(2).unwrap_or(hardware.first);
                let (marked, gap) = match mnemonic.opcode {
                    Opcode::Doensh => (hardware.first, self.capacity.loop_gap),
                    Opcode::Doen => (long, ENABLE_GAP),
                    Opcode::Dosetup => (long, SETUP_GAP),
                    _ => continue,
                };
                let between = marked - self.range.end;
                node.behind = node.behind.max(gap.saturating_sub(between) as u32);
            }
        }
        for hardware in &self.listing.loops {
            if hardware.contains(self.range.start) && hardware.count >= self.capacity.long_loop {
                let others = hardware.count - self.range.len();
                let least = self.capacity.long_loop.saturating_sub(others) as u32;
                graph.least = graph.least.max(least);
            }
        }
    }
}
