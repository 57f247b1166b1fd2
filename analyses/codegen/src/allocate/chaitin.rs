//! Allocation as it was done first: a graph of values that live at once is coloured, and values that find no colour are spilled
//! everywhere. A baseline to measure others by.
//!
//! ```text
//! v0 - v1 - v2 - v0, two registers        the one with the least cost by neighbour is stored where it is written, and loaded
//!                                         into a register of its own for each operation that reads it; the graph is made anew
//! ```
//!
//! At its best: a value that may find no colour is spilled only if it does find none, costs are weighted by executions, and a
//! value that is moved to or from a register tries that one first. Moves between values are merged before (`simplify`). Stops:
//! what is loaded for an operation is never spilled, so that each round takes values away.
//!
//! Source: Chaitin, *Register Allocation & Spilling via Graph Coloring* (PLDI 1982); Briggs, Cooper, Torczon, *Improvements to
//! Graph Coloring Register Allocation* (TOPLAS 1994), for the hope.

use super::named::Occurrences;
use super::rounds::{Homes, unchanged};
use super::scan::named;
use super::split::{cuts, split};
use crate::mir::function::{Function, Name, Operand, Virtual};
use crate::mir::liveness::Liveness;
use crate::mir::{RegisterFile, Target};
use ir::EntitySet;
use isa::Branch;
use rustc_hash::FxHashSet;

/// The most rounds.
const ROUNDS: usize = 40;

/// A function whose values have colours.
pub(super) struct Coloured<T: Target> {
    /// The register of each virtual register; `None`: nothing names it, or it is spilled.
    pub(super) registers: Vec<Option<T::Register>>,
    pub(super) spilled: FxHashSet<Virtual>,
}

/// Gives registers to all values, and rewrites the function where they do not suffice. `None`: it has what the baseline does
/// not know (cycles that are decided, values of files of one register that meet), or one operation names too many registers.
pub(super) fn colour<T: Target>(
    function: &mut Function<T>,
    files: &[RegisterFile<T>],
    homes: &mut dyn Homes<T>,
) -> Option<Coloured<T>> {
    let mut around = unchanged(function);
    let mut occurrences = Occurrences::of(function);
    let mut short: FxHashSet<Virtual> = function.kept.iter().copied().collect();
    let mut spilled = FxHashSet::default();
    for _ in 0..ROUNDS {
        let graph = Graph::new(function, files)?;
        let (registers, without) = graph.coloured(files, &short)?;
        if without.is_empty() {
            return Some(Coloured { registers, spilled });
        }
        for &value in &without {
            let before = function.registers.len() as u32;
            let cuts = cuts(occurrences.named(value), &[], &[], &|_, range| {
                range.is_empty()
            });
            split(function, value, &cuts, &mut around, homes);
            for cuts in cuts.chunk_by(|a, b| a.block == b.block) {
                let block = cuts[0].block;
                occurrences.moved(block, &around[block as usize]);
            }
            short.extend((before..function.registers.len() as u32).map(Virtual));
        }
        spilled.extend(without);
    }
    None
}

struct Node<T: Target> {
    near: EntitySet<Virtual>,
    /// Registers that it may not have, by index.
    taken: Vec<bool>,
    /// It lives across a call.
    crosses: bool,
    is_named: bool,
    /// The cost of keeping it in memory: reads and writes by executions.
    cost: f64,
    /// Registers that it is moved to or from, and values.
    wanted: Vec<T::Register>,
    moved: Vec<Virtual>,
}

struct Graph<'f, T: Target> {
    function: &'f Function<T>,
    nodes: Vec<Node<T>>,
}

impl<'f, T: Target> Graph<'f, T> {
    fn new(function: &'f Function<T>, files: &[RegisterFile<T>]) -> Option<Graph<'f, T>> {
        let node = |_| Node {
            near: EntitySet::new(),
            taken: vec![false; T::REGISTERS],
            crosses: false,
            is_named: false,
            cost: 0.0,
            wanted: Vec::new(),
            moved: Vec::new(),
        };
        let mut graph = Graph {
            function,
            nodes: (0..function.registers.len()).map(node).collect(),
        };
        let live = Liveness::of(function);
        let fixed = named(function);
        // Positions as those of the scan: an operation reads at 2k and writes at 2k + 1.
        let mut first = 1u32;
        for (number, block) in (0..).zip(&function.blocks) {
            if !block.cycles.is_empty() {
                return None;
            }
            let mut walk = live.walk(function, number);
            for (at, operation) in block.operations.iter().enumerate().rev() {
                let position = 2 * (first + at as u32);
                walk.branch(operation);
                let mut behind = walk.live.clone();
                for value in operation.writes() {
                    behind.insert(value);
                    graph.name(value, block.weight);
                }
                for value in operation.writes() {
                    for other in behind.iter().filter(|&other| other != value) {
                        graph.meet(value, other);
                    }
                }
                let is_call = operation.branch() == Some(Branch::Call);
                for value in walk.live.iter().filter(|_| is_call) {
                    graph.nodes[value.0 as usize].crosses |=
                        !operation.writes().any(|it| it == value);
                }
                let held = |position: u32| {
                    let own = fixed.iter();
                    own.filter(move |it| it.start <= position && position <= it.end)
                        .map(|it| it.register)
                };
                for register in held(position + 1) {
                    graph.take(&behind, register);
                }
                walk.write(operation);
                walk.read(operation);
                let mut front = walk.live.clone();
                if !operation.is_certain() {
                    // What a false predicate leaves is there before.
                    for value in operation.writes() {
                        for other in front.iter().filter(|&other| other != value) {
                            graph.meet(value, other);
                        }
                        front.insert(value);
                    }
                }
                for register in held(position) {
                    graph.take(&front, register);
                }
                for value in operation.reads() {
                    graph.name(value, block.weight);
                }
                graph.moves(operation);
            }
            first += block.operations.len() as u32 + 1;
        }
        graph.parameters(files, &live);
        // Files of one register are given by the scan's rule.
        let exclusive = |class: T::Class| {
            let file = files.iter().find(|file| file.class == class);
            file.is_some_and(|file| file.exclusive)
        };
        let met = (0..graph.nodes.len()).any(|at| {
            let node = &graph.nodes[at];
            let class = function.registers[at];
            let other = |other: Virtual| function.class(other) == class;
            node.is_named && exclusive(class) && (node.crosses || node.near.iter().any(other))
        });
        (!met).then_some(graph)
    }

    fn name(&mut self, value: Virtual, weight: f64) {
        let node = &mut self.nodes[value.0 as usize];
        node.is_named = true;
        node.cost += weight;
    }
    fn meet(&mut self, value: Virtual, other: Virtual) {
        self.nodes[value.0 as usize].near.insert(other);
        self.nodes[other.0 as usize].near.insert(value);
    }
    fn take(&mut self, values: &EntitySet<Virtual>, register: T::Register) {
        for value in values.iter() {
            for other in T::overlapping(register) {
                self.nodes[value.0 as usize].taken[T::index(other)] = true;
            }
        }
    }

    fn moves(&mut self, operation: &crate::mir::Operation<T>) {
        if let Some((to, from)) = T::copied(operation) {
            self.nodes[to.0 as usize].moved.push(from);
            self.nodes[from.0 as usize].moved.push(to);
        }
        if let ([Operand::Register(to)], [Operand::Register(from)], None) = (
            &operation.targets[..],
            &operation.sources[..],
            operation.predicate,
        ) {
            match (*to, *from) {
                (Name::Virtual(value), Name::Fixed(register))
                | (Name::Fixed(register), Name::Virtual(value)) => {
                    self.nodes[value.0 as usize].wanted.push(register);
                }
                _ => {}
            }
        }
    }

    /// Arguments are in their registers until they are moved.
    fn parameters(&mut self, files: &[RegisterFile<T>], live: &Liveness) {
        let all: Vec<Virtual> = self.function.parameters.clone();
        let start = live.at_start(0);
        for (parameter, place) in self.function.arriving() {
            for &other in all.iter().filter(|&&other| other != parameter) {
                self.meet(parameter, other);
            }
            for other in start.iter().filter(|&other| other != parameter) {
                self.meet(parameter, other);
            }
            let node = &mut self.nodes[parameter.0 as usize];
            node.wanted.extend(place);
            for &arrival in files.iter().flat_map(|file| &file.arrivals) {
                node.taken[T::index(arrival)] |= Some(arrival) != place;
            }
        }
    }

    /// The registers of each value, and the values without one.
    #[allow(clippy::type_complexity)]
    fn coloured(
        &self,
        files: &[RegisterFile<T>],
        short: &FxHashSet<Virtual>,
    ) -> Option<(Vec<Option<T::Register>>, Vec<Virtual>)> {
        let class = |value: Virtual| self.function.class(value);
        let pool = |value: Virtual| {
            let file = files.iter().find(|file| file.class == class(value))?;
            let node = &self.nodes[value.0 as usize];
            Some(match node.crosses {
                true => &file.preserved,
                false => &file.free,
            })
        };
        let values: Vec<Virtual> = (0..self.nodes.len() as u32)
            .map(Virtual)
            .filter(|&value| {
                self.nodes[value.0 as usize].is_named && self.function.place(value).is_none()
            })
            .collect();
        let room: Vec<usize> = (0..self.nodes.len() as u32)
            .map(|number| {
                let value = Virtual(number);
                let open = |register: &&T::Register| {
                    !self.nodes[number as usize].taken[T::index(**register)]
                };
                pool(value).map_or(0, |pool| pool.iter().filter(open).count())
            })
            .collect();
        let mut left: EntitySet<Virtual> = values.iter().copied().collect();
        let mut order = Vec::new();
        let degree = |value: Virtual, left: &EntitySet<Virtual>| {
            let near = self.nodes[value.0 as usize].near.iter();
            near.filter(|&other| left.contains(&other) && class(other) == class(value))
                .count()
        };
        while left.iter().next().is_some() {
            let easy = left
                .iter()
                .find(|&value| degree(value, &left) < room[value.0 as usize]);
            let merit = |value: Virtual| match short.contains(&value) {
                true => f64::INFINITY,
                false => self.nodes[value.0 as usize].cost / degree(value, &left).max(1) as f64,
            };
            let next = easy.or_else(|| {
                left.iter()
                    .min_by(|&left, &right| merit(left).total_cmp(&merit(right)))
            })?;
            left.remove(&next);
            order.push(next);
        }
        let mut registers: Vec<Option<T::Register>> = vec![None; self.nodes.len()];
        for &(value, place) in &self.function.pinned {
            registers[value.0 as usize] = Some(place);
        }
        let mut without = Vec::new();
        for (turn, value) in order.into_iter().rev().enumerate() {
            let node = &self.nodes[value.0 as usize];
            let near: Vec<T::Register> = node
                .near
                .iter()
                .filter_map(|other| registers[other.0 as usize])
                .flat_map(T::overlapping)
                .collect();
            let pool = pool(value)?;
            let open = |register: &T::Register| {
                pool.contains(register)
                    && !node.taken[T::index(*register)]
                    && !near.contains(register)
            };
            let moved = node.moved.iter().filter_map(|it| registers[it.0 as usize]);
            let mut wanted = node.wanted.iter().copied().chain(moved);
            let early = pool.len().clamp(1, 6);
            let turned = (0..pool.len()).map(|at| match at < early {
                true => pool[(at + turn) % early],
                false => pool[at],
            });
            let found = wanted.find(open).or_else(|| turned.clone().find(open));
            match found {
                Some(register) => registers[value.0 as usize] = Some(register),
                None if short.contains(&value) => {
                    // A neighbour that may go makes room.
                    let all = node.near.iter().filter(|&other| {
                        let own = registers[other.0 as usize];
                        let fits =
                            own.is_some_and(|it| pool.contains(&it) && !node.taken[T::index(it)]);
                        fits && !short.contains(&other) && self.function.place(other).is_none()
                    });
                    let cost = |it: Virtual| self.nodes[it.0 as usize].cost;
                    let gone = all.min_by(|&left, &right| cost(left).total_cmp(&cost(right)))?;
                    without.push(gone);
                }
                None => without.push(value),
            }
        }
        without.sort_unstable();
        without.dedup();
        Some((registers, without))
    }
}
