//! Registers by colouring the graph of values that are live together.
//!
//! ```text
//! a 64-bit value with seven words around it, of eight:   it may find no even pair, and goes last with the hope of one
//! ```
//!
//! Values that find a register whatever their neighbours get are taken out of the graph; if there is none,
//! the value with the least cost per neighbour is taken out, and may still find one. Registers are given in
//! the opposite order. A value of several units takes up places of the others, and one unit spoils a whole
//! place of a wide value. Stops: each value is taken out once.
//!
//! Source: Briggs, Cooper, Torczon, *Improvements to graph coloring register allocation* (TOPLAS 1994); Smith, Ramsey,
//! Holloway, *A generalized algorithm for graph-coloring register allocation* (PLDI 2004), for registers that overlap.

use super::scan::Place;
use crate::mir::function::{Function, Virtual};
use crate::mir::liveness::Liveness;
use crate::mir::{RegisterFile, Target};
use crate::refusal::Refusal;
use smallvec::SmallVec;

/// The places of all registers: those that find none are in memory. `cost` gives the cost of keeping a value
/// there; infinite for values that must not be.
///
/// # Errors
/// Where a value that must have a register finds none, and none of its neighbours may go.
pub(crate) fn colour<T: Target>(
    function: &Function<T>,
    live: &Liveness,
    files: &[RegisterFile<T>],
    cost: &dyn Fn(Virtual) -> f64,
) -> Result<Vec<Place<T::Register>>, Refusal> {
    let graph = Graph::new(function, live, files)?;
    let costs: Vec<f64> = (0..function.registers.len() as u32)
        .map(|number| cost(Virtual(number)))
        .collect();
    let order = graph.order(&costs);
    let mut places = vec![Place::Nowhere; function.registers.len()];
    let mut taken = vec![false; T::UNITS];
    for &value in order.iter().rev() {
        let near = || graph.near[value as usize].iter();
        let units = |at: u32, places: &[Place<T::Register>]| match places[at as usize] {
            Place::Register(register) => T::units(register),
            Place::Nowhere | Place::Memory => 0..0,
        };
        for &other in near() {
            units(other, &places).for_each(|unit| taken[unit] = true);
        }
        let file = &files[graph.files[value as usize]];
        let open = |register: T::Register| T::units(register).all(|unit| !taken[unit]);
        // Registers joined by a move best share one register; single units are taken from the end, so that
        // wide places stay whole.
        let moved =
            graph.moved[value as usize]
                .iter()
                .filter_map(|&other| match places[other as usize] {
                    Place::Register(register) => Some(register),
                    Place::Nowhere | Place::Memory => None,
                });
        let joined = moved
            .filter(|&register| T::class(register) == file.class)
            .find(|&register| open(register));
        let wide = file
            .free
            .first()
            .is_some_and(|&first| T::units(first).len() > 1);
        let any = || match wide {
            true => file.free.iter().copied().find(|&register| open(register)),
            false => file
                .free
                .iter()
                .rev()
                .copied()
                .find(|&register| open(register)),
        };
        let found = joined.or_else(any);
        for &other in near() {
            units(other, &places).for_each(|unit| taken[unit] = false);
        }
        places[value as usize] = match found {
            Some(register) => Place::Register(register),
            None if costs[value as usize].is_finite() => Place::Memory,
            None => {
                // Another value makes room: the next round sees to it.
                let shares = |other: &&u32| {
                    let there = places[**other as usize];
                    matches!(there, Place::Register(_)) && graph.meets(value, **other)
                };
                let finite = near()
                    .filter(shares)
                    .filter(|other| costs[**other as usize].is_finite());
                let least =
                    finite.min_by(|a, b| costs[**a as usize].total_cmp(&costs[**b as usize]));
                let Some(&least) = least else {
                    return Err(Refusal::Registers {
                        file: smol_str::format_smolstr!("{:?}", file.class),
                        available: file.free.len() as u32,
                    });
                };
                places[least as usize] = Place::Memory;
                Place::Nowhere
            }
        };
    }
    Ok(places)
}

/// Values that are live together.
struct Graph {
    /// The neighbours of each register, ascending.
    near: Vec<Vec<u32>>,
    /// The registers that a move joins with each register.
    moved: Vec<Vec<u32>>,
    /// The number of each register's file; registers that nothing names have none.
    files: Vec<usize>,
    named: Vec<bool>,
    /// For each file: its registers, the units of each, and all units.
    sizes: Vec<(usize, usize, std::ops::Range<usize>)>,
}

/// The live values at a place, few of many: a list, and where each stands in it.
struct Alive {
    all: Vec<Virtual>,
    places: Vec<u32>,
}

impl Alive {
    const NONE: u32 = u32::MAX;

    fn new(registers: usize) -> Alive {
        Alive {
            all: Vec::new(),
            places: vec![Alive::NONE; registers],
        }
    }

    fn become_all(&mut self, values: impl Iterator<Item = Virtual>) {
        for value in self.all.drain(..) {
            self.places[value.0 as usize] = Alive::NONE;
        }
        values.for_each(|value| self.insert(value));
    }

    /// Adds a value that is not in it.
    fn insert(&mut self, value: Virtual) {
        self.places[value.0 as usize] = self.all.len() as u32;
        self.all.push(value);
    }

    fn remove(&mut self, value: Virtual) {
        let place = std::mem::replace(&mut self.places[value.0 as usize], Alive::NONE);
        if place == Alive::NONE {
            return;
        }
        self.all.swap_remove(place as usize);
        if let Some(moved) = self.all.get(place as usize) {
            self.places[moved.0 as usize] = place;
        }
    }
}

impl Graph {
    fn new<T: Target>(
        function: &Function<T>,
        live: &Liveness,
        files: &[RegisterFile<T>],
    ) -> Result<Graph, Refusal> {
        let count = function.registers.len();
        let mut graph = Graph {
            near: vec![Vec::new(); count],
            moved: vec![Vec::new(); count],
            files: Vec::with_capacity(count),
            named: vec![false; count],
            sizes: Vec::new(),
        };
        for file in files {
            let units = file.free.iter().map(|&register| T::units(register));
            let first = units.clone().map(|units| units.start).min().unwrap_or(0);
            let end = units.clone().map(|units| units.end).max().unwrap_or(0);
            let width = units.clone().next().map_or(1, |units| units.len());
            graph.sizes.push((file.free.len(), width, first..end));
        }
        for class in &function.registers {
            let file = files.iter().position(|file| file.class == *class);
            let Some(file) = file else {
                return Err(Refusal::NoForm {
                    operation: "virtual register".into(),
                    ty: smol_str::format_smolstr!("{class:?}"),
                    target: T::NAME,
                });
            };
            graph.files.push(file);
        }
        let mut alive = Alive::new(count);
        for (number, block) in (0u32..).zip(&function.blocks) {
            let mut walk = live.walk(function, number);
            alive.become_all(walk.live.iter());
            for operation in block.operations.iter().rev() {
                if walk.branch(operation) {
                    alive.become_all(walk.live.iter());
                }
                // What is counted by register in a decided cycle was counted with one each.
                let copied = T::copied(operation).filter(|_| block.cycles.is_empty());
                let written: SmallVec<[Virtual; 4]> = operation.writes().collect();
                for (at, &to) in written.iter().enumerate() {
                    for &other in alive.all.iter().chain(&written[..at]) {
                        if copied != Some((to, other)) {
                            graph.join(to, other);
                        }
                    }
                }
                if let Some((to, from)) = copied {
                    graph.moved[to.0 as usize].push(from.0);
                    graph.moved[from.0 as usize].push(to.0);
                }
                for register in operation.virtual_registers() {
                    graph.named[register.0 as usize] = true;
                }
                walk.write_each(operation, |own, _, ends| {
                    if ends {
                        alive.remove(own);
                    }
                });
                walk.read_each(operation, |own| alive.insert(own));
            }
            debug_assert!(walk.live.iter().count() == alive.all.len());
        }
        // All that arrives is there at once.
        let first: Vec<Virtual> = live.at_start(0).iter().collect();
        for (at, &value) in first.iter().enumerate() {
            for &other in &first[..at] {
                graph.join(value, other);
            }
        }
        for near in &mut graph.near {
            near.sort_unstable();
            near.dedup();
        }
        Ok(graph)
    }

    fn join(&mut self, value: Virtual, other: Virtual) {
        if value != other && self.meets(value.0, other.0) {
            self.near[value.0 as usize].push(other.0);
            self.near[other.0 as usize].push(value.0);
        }
    }

    /// Returns true where two values may have units in common.
    fn meets(&self, value: u32, other: u32) -> bool {
        let units = |at: u32| &self.sizes[self.files[at as usize]].2;
        let (own, other) = (units(value), units(other));
        own.start < other.end && other.start < own.end
    }

    /// Registers of a value's file that another value spoils.
    fn spoils(&self, value: u32, other: u32) -> usize {
        let width = |at: u32| self.sizes[self.files[at as usize]].1;
        width(other).div_ceil(width(value))
    }

    /// Values in the order in which they are taken out of the graph.
    fn order(&self, costs: &[f64]) -> Vec<u32> {
        let count = self.near.len();
        let mut spoiled: Vec<usize> = (0..count as u32)
            .map(|value| {
                let near = self.near[value as usize].iter();
                near.map(|&other| self.spoils(value, other)).sum()
            })
            .collect();
        let room = |value: u32| self.sizes[self.files[value as usize]].0;
        let mut inside = self.named.clone();
        let mut left: Vec<u32> = (0..count as u32)
            .filter(|&value| self.named[value as usize])
            .collect();
        let mut easy: Vec<u32> = left.clone();
        easy.retain(|&value| spoiled[value as usize] < room(value));
        let mut order = Vec::with_capacity(left.len());
        loop {
            let next = easy.pop().or_else(|| {
                left.retain(|&value| inside[value as usize]);
                let rank =
                    |value: u32| costs[value as usize] / (spoiled[value as usize].max(1) as f64);
                let open = left.iter().copied();
                open.min_by(|&a, &b| rank(a).total_cmp(&rank(b)))
            });
            let Some(value) = next else { break };
            if !std::mem::replace(&mut inside[value as usize], false) {
                continue;
            }
            order.push(value);
            for &other in self.near[value as usize]
                .iter()
                .filter(|&&other| inside[other as usize])
            {
                let was = spoiled[other as usize];
                let now = was.saturating_sub(self.spoils(other, value));
                spoiled[other as usize] = now;
                if was >= room(other) && now < room(other) {
                    easy.push(other);
                }
            }
        }
        order
    }
}
