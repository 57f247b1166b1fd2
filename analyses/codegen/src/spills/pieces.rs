//! Loads one by one: where no register is free for a whole web, one may be free from a transfer of the home to its next load.
//!
//! ```text
//! home 0 <- d13; ..; d14 <- home 0; ..; d15 <- home 0          d5 is free in the first part, d8 in the second:
//! d5 = d13;      ..; d14 = d5; d8 = d14; ..; d15 = d8
//! ```
//!
//! Behind each transfer the value is in a register. The loads that execute most come first; what is copied for a load executes no
//! more than twice as often as the load itself. A register that is given serves no other home in the same round, where both would be in it.
//! Stops: each round takes at least one load away.

use super::code::{Code, Home, Location, Step};
use crate::mir::Target;
use ir::EntitySet;
use ir::liveness::Liveness;
use std::collections::BTreeSet;

/// In front of a step of a block, or behind the last one.
type Point = (usize, usize);

struct Round<'r, 'f, T: Target> {
    code: &'r Code<'f, T>,
    /// The locations that are live at each point of each block.
    live: Vec<Vec<EntitySet<Location>>>,
    /// The points from which control comes to each block.
    into: Vec<Vec<Point>>,
    /// Registers that the function writes: those that the convention saves are saved already.
    used: EntitySet<Location>,
    /// Registers that are given, with the home and the points.
    given: Vec<(T::Register, Home, BTreeSet<Point>)>,
}

/// The way of a value to a load: where it waits, and behind which steps it is there, in which register.
struct Way<T: Target> {
    points: BTreeSet<Point>,
    from: BTreeSet<(Point, T::Register)>,
}

/// One round over all loads. Returns true if there were any that went.
pub(super) fn round<T: Target>(code: &mut Code<'_, T>, colours: &[T::Register]) -> bool {
    let mut loads: Vec<(usize, usize)> = Vec::new();
    for (block, own) in code.blocks.iter().enumerate() {
        let steps = own.steps.iter().enumerate();
        let of = steps.filter(|(_, step)| matches!(step, Step::Load { .. }));
        loads.extend(of.map(|(at, _)| (block, at)));
    }
    if loads.is_empty() {
        return false;
    }
    let weight = |block: usize| code.blocks[block].weight;
    loads.sort_by(|left, right| {
        weight(right.0)
            .total_cmp(&weight(left.0))
            .then(left.cmp(right))
    });
    let mut round = Round::new(code);
    let mut moved: Vec<(Point, T::Register)> = Vec::new();
    let mut behind: BTreeSet<(Point, T::Register, T::Register)> = BTreeSet::new();
    for load in loads {
        let Some((register, way)) = round.placed(load, colours) else {
            continue;
        };
        moved.push((load, register));
        behind.extend(way.from.iter().map(|&(at, from)| (at, register, from)));
    }
    let found = !moved.is_empty();
    for ((block, at), register) in moved {
        let steps = &mut code.blocks[block].steps;
        if let Step::Load { to, loc, .. } = steps[at] {
            let from = register;
            steps.set(at, Step::Copy { to, from, loc });
        }
    }
    for ((block, at), to, from) in behind.into_iter().rev() {
        if to != from {
            let loc = ir::Loc::NONE;
            let steps = &mut code.blocks[block].steps;
            steps.insert(at + 1, Step::Copy { to, from, loc });
        }
    }
    found
}

impl<'r, 'f, T: Target> Round<'r, 'f, T> {
    fn new(code: &'r Code<'f, T>) -> Round<'r, 'f, T> {
        let lives = Liveness::of(code);
        let mut live = Vec::with_capacity(code.blocks.len());
        let mut into: Vec<Vec<Point>> = vec![Vec::new(); code.blocks.len()];
        let mut used = EntitySet::new();
        for (block, own) in code.blocks.iter().enumerate() {
            let count = own.steps.len();
            let mut points = vec![EntitySet::new(); count + 1];
            points[count] = lives.ends[block].clone();
            let mut now = lives.ends[block].clone();
            code.walk(block, &mut now, &lives.starts, &mut |group, live| {
                points[group.end] = live.clone();
            });
            points[0] = lives.starts[block].clone();
            live.push(points);
            for next in code.successors(block) {
                into[next].push((block, count));
            }
            for (at, step) in own.steps.iter().enumerate() {
                if let Step::Operation(operation) = step {
                    for target in Code::targets(operation) {
                        into[target].push((block, at + 1));
                    }
                }
                let calls = matches!(step, Step::Operation(it) if it.branch().is_some());
                if !calls {
                    let touched = code.touched(&own.steps, at);
                    touched.writes().for_each(|it| {
                        used.insert(it);
                    });
                }
            }
        }
        Round {
            code,
            live,
            into,
            used,
            given: Vec::new(),
        }
    }

    /// The register in which the value of a load waits.
    fn placed(&mut self, load: Point, colours: &[T::Register]) -> Option<(T::Register, Way<T>)> {
        let Step::Load { from: home, .. } = self.code.blocks[load.0].steps[load.1] else {
            return None;
        };
        let class = self.code.class(home);
        if T::is_guard(class) || self.code.stays(home) {
            return None;
        }
        let way = self.way(load, home)?;
        let weight = |block: usize| self.code.blocks[block].weight;
        let copies: f64 = way.from.iter().map(|((block, _), _)| weight(*block)).sum();
        if copies > 2.0 * weight(load.0) {
            return None;
        }
        let own = |register: &T::Register| T::class(*register) == class;
        let other = colours.iter().filter(|it| !own(it));
        let mut all = colours.iter().filter(|it| own(it)).chain(other).copied();
        let register = all.find(|&it| self.is_free(it, home, &way))?;
        self.given.push((register, home, way.points.clone()));
        Some((register, way))
    }

    /// The points between a load and the transfers of its home that lead to it. `None`: something else leads there, too.
    fn way(&self, load: Point, home: Home) -> Option<Way<T>> {
        let mut points = BTreeSet::new();
        let mut from = BTreeSet::new();
        let mut open = vec![load];
        while let Some(point) = open.pop() {
            let (block, at) = point;
            if !points.insert(point) {
                continue;
            }
            let own = &self.code.blocks[block];
            if !own.cycles.is_empty() {
                return None;
            }
            if at == 0 {
                // What was never stored may be anything.
                open.extend(&self.into[block]);
                continue;
            }
            match own.steps[at - 1] {
                Step::Store { from: held, to, .. } if to == home => {
                    from.insert(((block, at - 1), held));
                }
                Step::Load {
                    to: held, from: it, ..
                } if it == home => {
                    from.insert(((block, at - 1), held));
                }
                _ => open.push((block, at - 1)),
            }
        }
        Some(Way { points, from })
    }

    fn is_free(&self, register: T::Register, home: Home, way: &Way<T>) -> bool {
        let parts = T::overlapping(register);
        let is_part = |it: Location| {
            let mut parts = parts.iter();
            parts.any(|&part| Location::register::<T>(part) == it)
        };
        let saved = T::saved_with(register);
        let paid = saved
            .iter()
            .any(|&it| self.used.contains(&Location::register::<T>(it)));
        if !saved.is_empty() && !paid {
            return false;
        }
        if way
            .from
            .iter()
            .any(|&(_, held)| T::transfer(register, held, None).is_none())
        {
            return false;
        }
        let taken = self.given.iter().any(|(other, its, points)| {
            parts.contains(other) && *its != home && !points.is_disjoint(&way.points)
        });
        if taken {
            return false;
        }
        way.points.iter().all(|&(block, at)| {
            let steps = &self.code.blocks[block].steps;
            let live = &self.live[block][at];
            let lives = parts
                .iter()
                .any(|&part| live.contains(&Location::register::<T>(part)));
            let crossed = at < steps.len() && way.points.contains(&(block, at + 1));
            !(lives || crossed && self.code.touched(steps, at).writes().any(is_part))
        })
    }
}
