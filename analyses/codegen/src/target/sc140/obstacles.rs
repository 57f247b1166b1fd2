//! The registers that a value in the frame does not have, and what keeps each from holding it.
//!
//! ```text
//! acc2 waits from line 4 to 9      d0, d1 hold `a` and `b` all the while; d8 holds `t` for a part of it; d2 is not kept across
//!                                  the call of line 6; r3 is free: moves there and back would make the loop longer by a cycle
//! ```
//!
//! Reads the finished code. A register that holds something, or is written, at each point at which the value waits is taken;
//! for one that is free at all of them the value's accesses become moves, the blocks that this changes are packed anew, and the
//! lengths are compared.

use super::code::{Allocation, Function, Operation};
use super::frame;
use super::machine::{Limits, PRESERVED, locate};
use super::placed::{self, Reduced};
use super::spilled::At;
use crate::machine::sets::Sets;
use crate::mir::{Block, Target};
use crate::origin::Variables;
use crate::pack::packets;
use crate::spills::code::{Code, Home, Location, Step};
use crate::spills::finished::{Reaching, Waiting, called, waiting};
use ir::Loc;
use ir::liveness::Liveness;
use isa::Branch;
use isa::sc140::{File, Reg, Sc140};
use smol_str::SmolStr;
use std::collections::BTreeSet;

/// A register, and what keeps it from holding a value in memory.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterObstacle {
    pub register: Reg,
    pub obstacle: Obstacle,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Obstacle {
    /// It holds other values all the time that the value waits.
    Taken(Vec<Holder>),
    /// It holds other values for a part of that time.
    TakenInPart(Vec<Holder>),
    /// A call there does not keep it.
    Call(Loc),
    /// Code was to do without it.
    LeftOut,
    /// It is free, and callees keep it: the sets that save and restore it would be so many more, and spare no more.
    Saving { cycles: u32 },
    /// It is free: with moves to it and back, the block there would be longer.
    Longer(Lengthened),
    /// It is free: the reduction of the whole function that would use it makes the block there longer.
    Whole(Lengthened),
    /// It is free: spills were to stay as the allocator asked for.
    Kept,
    /// It is free, and no block would be longer.
    Open,
}

/// A block that a change makes longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengthened {
    /// Its first operation that has a place.
    pub at: Loc,
    pub cycles: u32,
}

/// A value that a register holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// `None`: a part of an expression.
    pub name: Option<SmolStr>,
    /// Its definition, `Loc::NONE` of an argument.
    pub definition: Loc,
    /// It waits in memory itself, and passes through the register.
    pub passes: bool,
}

/// The code that obstacles are looked for in.
pub(super) struct Finished<'a> {
    pub(super) function: &'a Function,
    pub(super) allocation: &'a Allocation,
    pub(super) sets: &'a Sets,
    pub(super) limits: Limits,
    pub(super) reduced: Reduced,
}

/// The accesses of a value in the frame.
pub(super) struct Accesses<'a> {
    pub(super) stores: &'a [At],
    pub(super) loads: &'a [At],
    /// The file of the registers that it passes through.
    pub(super) file: File,
    pub(super) name: Option<&'a SmolStr>,
}

/// The obstacles between each register and each of some values, in their order.
pub(super) fn obstacles(
    finished: &Finished<'_>,
    variables: &Variables,
    values: &[Accesses<'_>],
) -> Vec<Vec<RegisterObstacle>> {
    let mut function = finished.function.clone();
    let mut allocation = finished.allocation.clone();
    let homes = values.iter().map(|value| {
        allocation.registers.push(Sc140::NONE);
        function.register(value.file)
    });
    let homes = homes.collect();
    let home_of = |at: At| {
        let accesses =
            |value: &Accesses<'_>| value.stores.contains(&at) || value.loads.contains(&at);
        (0..)
            .zip(values)
            .find(|(_, value)| accesses(value))
            .map(|(number, _)| Home(number))
    };
    let code = Code::finished(
        &function,
        &allocation,
        homes,
        |block, number, operation: &Operation| {
            let home = home_of((block, number))?;
            let (register, stores) = super::spilled::through(operation, &allocation)?;
            let loc = operation.loc;
            Some(match stores {
                true => Step::Store {
                    from: register,
                    to: home,
                    loc,
                },
                false => Step::Load {
                    to: register,
                    from: home,
                    loc,
                },
            })
        },
    );
    let reaching = Reaching::of(&code);
    let live = Liveness::of(&code);
    let mut search = Search {
        points: points(&code, &reaching, &live),
        reaching,
        live,
        allocation: &allocation,
        usable: Sc140::homes(&function, finished.sets, &finished.limits),
        code,
        finished,
        variables,
        values,
    };
    (0..values.len()).map(|number| search.of(number)).collect()
}

/// A point at which values wait, with the registers that hold something there and the steps that gave it to them.
struct Point {
    at: Waiting,
    held: Vec<(Reg, Vec<At>)>,
}

fn registers() -> impl Iterator<Item = Reg> {
    let files = [File::Data, File::Address].into_iter();
    files.flat_map(|file| (0..16).map(move |number| Reg::new(file, number)))
}

fn points(code: &Code<'_, Sc140>, reaching: &Reaching, live: &Liveness<Location>) -> Vec<Point> {
    let each = waiting(code, live).into_iter().map(|at| {
        let held = registers().filter_map(|register| {
            let location = Location::register::<Sc140>(register);
            let holds = at.live.contains(&location);
            holds.then(|| (register, reaching.at(at.block, at.steps, location)))
        });
        Point {
            held: held.collect(),
            at,
        }
    });
    each.collect()
}

struct Search<'a> {
    code: Code<'a, Sc140>,
    reaching: Reaching,
    live: Liveness<Location>,
    allocation: &'a Allocation,
    points: Vec<Point>,
    /// The registers that the code may use.
    usable: Vec<Reg>,
    finished: &'a Finished<'a>,
    variables: &'a Variables,
    values: &'a [Accesses<'a>],
}

impl Search<'_> {
    /// The obstacles between each register and a value.
    fn of(&mut self, number: usize) -> Vec<RegisterObstacle> {
        let home = Home(number as u32);
        let own = Location::home::<Sc140>(home);
        let all = std::mem::take(&mut self.points);
        let waits = |point: &&Point| point.at.live.contains(&own);
        let points: Vec<&Point> = all.iter().filter(waits).collect();
        let call = points.iter().find_map(|point| {
            let last = point.at.steps.checked_sub(1)?;
            called(&self.code.blocks[point.at.block].steps[last])
        });
        // Registers of one kind cost the same.
        let mut tried: Vec<((File, bool), Obstacle)> = Vec::new();
        let each = registers().map(|register| {
            let preserved = PRESERVED.contains(&register);
            let (held, given) = self.held(&points, register, home);
            let obstacle = if !self.usable.contains(&register) {
                Obstacle::LeftOut
            } else if held == points.len() && held > 0 {
                Obstacle::Taken(self.holders(number, register, given))
            } else if let Some(call) = call.filter(|_| !preserved) {
                Obstacle::Call(call)
            } else if held > 0 {
                Obstacle::TakenInPart(self.holders(number, register, given))
            } else {
                let kind = (register.file, preserved);
                let known = tried.iter().find(|(known, _)| *known == kind);
                match known.map(|(_, known)| known.clone()) {
                    Some(known) => known,
                    None => {
                        let found = self.tried(home, register);
                        tried.push((kind, found.clone()));
                        found
                    }
                }
            };
            RegisterObstacle { register, obstacle }
        });
        let out = each.collect();
        self.points = all;
        out
    }

    /// The number of points at which a register holds something other than the value of a home, and the steps that gave it
    /// that.
    fn held(&self, points: &[&Point], register: Reg, home: Home) -> (usize, BTreeSet<At>) {
        let is_own = |&(block, number): &At| {
            let step = &self.code.blocks[block].steps[number];
            matches!(step, Step::Load { from, .. } if *from == home)
        };
        let mut given: BTreeSet<At> = BTreeSet::new();
        let mut count = 0;
        for point in points {
            let held = point.held.iter().find(|(known, _)| *known == register);
            let Some((_, steps)) =
                held.filter(|(_, steps)| steps.is_empty() || !steps.iter().all(is_own))
            else {
                continue;
            };
            count += 1;
            given.extend(steps);
        }
        (count, given)
    }

    /// The values that some steps give to a register, once each; of what it holds where the function starts, an argument.
    fn holders(&self, number: usize, register: Reg, given: BTreeSet<At>) -> Vec<Holder> {
        let mut out: Vec<Holder> = Vec::new();
        let from_start = given.is_empty().then_some((Loc::NONE, None));
        let steps = given
            .into_iter()
            .filter_map(|at| match &self.code.blocks[at.0].steps[at.1] {
                Step::Load { from, loc, .. } if from.0 as usize != number => {
                    out.push(Holder {
                        name: self.values[from.0 as usize].name.cloned(),
                        definition: *loc,
                        passes: true,
                    });
                    None
                }
                Step::Load { .. } | Step::Store { .. } | Step::Copy { .. } => None,
                Step::Operation(operation) => Some((operation.loc, Some(at))),
            });
        let steps: Vec<(Loc, Option<At>)> = from_start.into_iter().chain(steps).collect();
        for (definition, at) in steps {
            let held = self.variables.held(&[definition], &[]);
            let held = held.or_else(|| {
                let reads = self.reads(register, at);
                self.variables.held(&[definition], &reads)
            });
            out.push(Holder {
                name: held.and_then(|held| self.variables.name(held).cloned()),
                definition,
                passes: false,
            });
        }
        let mut known: Vec<Holder> = Vec::new();
        for holder in out {
            let same = |known: &Holder| match (&known.name, &holder.name) {
                (Some(known), Some(name)) => known == name,
                (None, None) => known.definition == holder.definition,
                _ => false,
            };
            if !known.iter().any(same) {
                known.push(holder);
            }
        }
        known
    }

    /// The places that read what a step gives to a register, or what it holds where the function starts.
    fn reads(&self, register: Reg, from: Option<At>) -> Vec<Loc> {
        let location = Location::register::<Sc140>(register);
        let mut out = Vec::new();
        for (block, at) in self.code.blocks.iter().enumerate() {
            for (number, step) in at.steps.iter().enumerate() {
                if !self.reaching.reads(block, number, location) {
                    continue;
                }
                let given = self.reaching.at(block, number, location);
                let is_it = from.map_or(given.is_empty(), |from| given.contains(&from));
                if let Step::Operation(operation) = step
                    && is_it
                {
                    out.push(operation.loc);
                }
            }
        }
        out
    }

    /// The outcome of a trial: the code with a value in a register that is free.
    fn tried(&mut self, home: Home, register: Reg) -> Obstacle {
        let (finished, accesses) = (self.finished, &self.values[home.0 as usize]);
        if finished.reduced == Reduced::Kept {
            return Obstacle::Kept;
        }
        if PRESERVED.contains(&register)
            && let Some(cycles) = self.saving(register)
        {
            return Obstacle::Saving { cycles };
        }
        let blocks: BTreeSet<usize> = accesses
            .stores
            .iter()
            .chain(accesses.loads)
            .map(|at| at.0)
            .collect();
        // The register lives where the home does.
        let mut live = self.live.clone();
        let from = Location::home::<Sc140>(home);
        let to = Location::register::<Sc140>(register);
        for set in live.starts.iter_mut().chain(&mut live.ends) {
            if set.contains(&from) {
                set.insert(to);
            }
        }
        let mut longer: Option<Lengthened> = None;
        for block in blocks {
            // An arrival is in front of the first block, alone in its set as a move is.
            let Some(number) = block.checked_sub(1) else {
                continue;
            };
            let own = &finished.function.blocks[number];
            // Both packed anew, as an order that is packed again may be shorter by itself.
            let lengths = self
                .code
                .with(block, home, register, &live)
                .map(|operations| {
                    let found = packets(&operations, finished.sets, &locate(self.allocation));
                    let order = found
                        .order
                        .iter()
                        .map(|&at| operations[at as usize].clone());
                    let made = Block {
                        operations: order.collect(),
                        cycles: found.cycles,
                        weight: own.weight,
                        rounds: own.rounds,
                    };
                    placed::length(finished.function, (number, &made), self.allocation)
                });
            let cycles = lengths[0].saturating_sub(lengths[1]);
            if cycles > longer.map_or(0, |known| known.cycles) {
                let at = placed::first_place(own);
                longer = Some(Lengthened { at, cycles });
            }
        }
        match (longer, finished.reduced) {
            (Some(longer), _) => Obstacle::Longer(longer),
            (None, Reduced::Rejected(longer)) => Obstacle::Whole(longer),
            (None, _) => Obstacle::Open,
        }
    }

    /// Sets that save and restore a register that nothing uses yet, and its pair.
    fn saving(&self, register: Reg) -> Option<u32> {
        let finished = self.finished;
        let length = |function: &Function| -> u32 {
            let ends = |(at, block): &(usize, &Block<Sc140>)| {
                *at == 0
                    || block.operations.last().and_then(Operation::branch) == Some(Branch::Return)
            };
            let blocks = function.blocks.iter().enumerate().filter(ends);
            let packed = blocks.map(|(_, block)| {
                packets(&block.operations, finished.sets, &locate(self.allocation))
                    .cycles
                    .last()
                    .map_or(0, |last| last + 1)
            });
            packed.sum()
        };
        if finished
            .allocation
            .used(finished.function, register.file)
            .contains(&register)
        {
            return None;
        }
        let mut function = finished.function.clone();
        frame::save(&mut function, register.file);
        let more = length(&function).saturating_sub(length(finished.function));
        (more > 0).then_some(more)
    }
}
