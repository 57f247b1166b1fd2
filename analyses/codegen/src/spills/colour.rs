//! The second phase: webs get registers that are free where they live, or are computed again where they are read.
//!
//! ```text
//! home 0 <- d13; ..; d14 <- home 0      d5 is free in between:       d5 = d13; ..; d14 = d5
//!                                       d1 + d2 is still there:      ..; d14 = add d1, d2
//! ```
//!
//! The web that costs most comes first. A register of its own class makes its transfers moves, most of which go; one of another
//! class makes them moves that stay. A register that is given, and one that is read at more places than before, serves no other
//! web in the same round: the facts and the lives that the round is based on do not hold for it any more. Stops: each round
//! takes at least one transfer away.
//!
//! Source: section 3 of the paper. A register comes before computing again, as most of its moves go.

use super::Reduction;
use super::code::{Code, Home, Location, Step};
use super::facts::{Facts, Point};
use super::values::{Number, Numbers, Origin, State};
use super::webs::{Transfers, conflicts, transfers};
use crate::mir::{Name, Operand, Operation, Target};
use ir::EntitySet;
use ir::liveness::Liveness;
use isa::Branch;

/// The step that makes a load needless, and the locations that it reads.
#[derive(Clone, Debug)]
struct Remedy<T: Target> {
    step: Step<T>,
    reads: Vec<Location>,
    /// Everything that it reads lives on behind it anyway.
    alive: bool,
}

/// A load of a web, and what takes its place.
struct Replaced<T: Target> {
    block: usize,
    number: usize,
    remedy: Remedy<T>,
}

struct Round<'r, 'f, T: Target> {
    code: &'r mut Code<'f, T>,
    transfers: Vec<Transfers>,
    conflicts: Vec<EntitySet<Location>>,
    remedies: Vec<Vec<Replaced<T>>>,
    /// Registers that are given in this round, and the homes that they are given to.
    given: Vec<(Location, Home)>,
    /// Registers that are read at more places than before.
    stretched: EntitySet<Location>,
    /// Registers that the function writes already: their saving is paid for.
    used: EntitySet<Location>,
    returns: usize,
    reduction: Reduction,
    found: bool,
}

/// One round over all webs. Returns true if transfers went.
pub(super) fn round<T: Target>(
    code: &mut Code<'_, T>,
    reduction: Reduction,
    colours: &[T::Register],
) -> bool {
    let live = Liveness::of(&*code);
    let conflicts = conflicts(code, &live);
    let transfers = transfers(code);
    let remedies = remedies(code, &live);
    let mut used = EntitySet::new();
    for block in &code.blocks {
        for number in 0..block.steps.len() {
            let calls = matches!(&block.steps[number], Step::Operation(operation)
                if operation.branch() == Some(Branch::Call));
            if !calls {
                let touched = code.touched(&block.steps, number);
                touched.writes().for_each(|location| {
                    used.insert(location);
                });
            }
        }
    }
    let returns = code
        .operations_alone()
        .filter(|operation| operation.branch() == Some(Branch::Return))
        .count();
    let mut order: Vec<(f64, Home)> = (0..code.homes.len() as u32)
        .map(|home| (cost(code, &transfers[home as usize]), Home(home)))
        .collect();
    order.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    let mut round = Round {
        code,
        transfers,
        conflicts,
        remedies,
        given: Vec::new(),
        stretched: EntitySet::new(),
        used,
        returns,
        reduction,
        found: false,
    };
    for (_, home) in order {
        round.place(home, colours);
    }
    let found = round.found;
    for block in &mut code.blocks {
        let same = |step: &Step<T>| matches!(step, Step::Copy { to, from, .. } if to == from);
        let keep: Vec<bool> = block.steps.iter().map(|step| !same(step)).collect();
        if keep.contains(&false) {
            block.steps.retain(|number| keep[number]);
        }
    }
    found
}

/// The executions of the transfers.
fn cost<T: Target>(code: &Code<'_, T>, transfers: &Transfers) -> f64 {
    let all = transfers.loads.iter().chain(&transfers.stores);
    all.map(|&(block, _)| code.blocks[block].weight).sum()
}

impl<T: Target> Round<'_, '_, T> {
    fn place(&mut self, home: Home, colours: &[T::Register]) {
        let own = &self.transfers[home.0 as usize];
        if own.loads.is_empty() && own.stores.is_empty() || self.code.stays(home) {
            return;
        }
        match self.colour(home, colours) {
            Some(register) => self.give(home, register),
            None => self.compute_again(home),
        }
    }

    /// The best register that a web may have.
    fn colour(&self, home: Home, colours: &[T::Register]) -> Option<T::Register> {
        let class = self.code.class(home);
        let meets = |location: Location| self.conflicts[home.0 as usize].contains(&location);
        let free = |register: T::Register| {
            T::overlapping(register).into_iter().all(|part| {
                let part = Location::register::<T>(part);
                let taken = self.given.iter().any(|&(location, other)| {
                    location == part && meets(Location::home::<T>(other))
                });
                !meets(part) && !taken && !self.stretched.contains(&part)
            })
        };
        // Of those that serve a web equally, the one that serves the fewest others.
        let others = |register: T::Register| {
            let location = Location::register::<T>(register);
            let mut near = self.conflicts[home.0 as usize]
                .iter()
                .filter_map(|it| it.as_home::<T>())
                .filter(|other| self.code.class(*other) == class)
                .filter(|other| !self.conflicts[other.0 as usize].contains(&location))
                .peekable();
            match near.peek() {
                None => 0,
                Some(_) => near.count(),
            }
        };
        let usable = colours.iter().copied().filter(|&register| free(register));
        let priced = usable.filter_map(|register| Some((self.price(home, register)?, register)));
        let least = priced.min_by(|(it, register), (price, other)| {
            it.total_cmp(price)
                .then_with(|| others(*register).cmp(&others(*other)))
        });
        least.map(|(_, register)| register)
    }

    /// The cost of a register for a web: operations that stay, by how often they execute; `None` where memory costs no more.
    fn price(&self, home: Home, register: T::Register) -> Option<f64> {
        let own = &self.transfers[home.0 as usize];
        let class = self.code.class(home);
        let (loads, stores) = (own.loads.len(), own.stores.len());
        let mut price = 0.0;
        if T::class(register) != class {
            if !matches!(self.reduction, Reduction::AnyClass | Reduction::Pieces) {
                return None;
            }
            let stand_in = T::scratch(class).first().copied()?;
            let guard = self.code.guard(stand_in);
            let there = T::transfer(register, stand_in, guard)?.len() as f64;
            let back = T::transfer(stand_in, register, None)?.len() as f64;
            let weight = |all: &[(usize, usize)]| -> f64 {
                all.iter()
                    .map(|&(block, _)| self.code.blocks[block].weight)
                    .sum()
            };
            price = there * weight(&own.stores) + back * weight(&own.loads);
        }
        let saved = T::saved_with(register);
        let paid = saved
            .iter()
            .any(|&it| self.used.contains(&Location::register::<T>(it)))
            || saved.iter().any(|&it| {
                let location = Location::register::<T>(it);
                self.given.iter().any(|(given, _)| *given == location)
            });
        if !saved.is_empty() && !paid {
            // Saved where the function starts, restored where it returns.
            let entry = self.code.blocks.first().map_or(1.0, |block| block.weight);
            if loads < saved.len() * self.returns
                || stores < saved.len()
                || cost(self.code, own) <= 2.0 * saved.len() as f64 * entry
            {
                return None;
            }
            price += 2.0 * saved.len() as f64 * entry;
        }
        Some(price)
    }

    fn give(&mut self, home: Home, register: T::Register) {
        let own = &self.transfers[home.0 as usize];
        for &(block, number) in own.loads.iter().chain(&own.stores) {
            let steps = &mut self.code.blocks[block].steps;
            let step = match &steps[number] {
                Step::Load { to, loc, .. } => Step::Copy {
                    to: *to,
                    from: register,
                    loc: *loc,
                },
                Step::Store { from, loc, .. } => Step::Copy {
                    to: register,
                    from: *from,
                    loc: *loc,
                },
                other => other.clone(),
            };
            steps.set(number, step);
        }
        for part in T::overlapping(register) {
            self.given.push((Location::register::<T>(part), home));
        }
        self.found = true;
    }

    /// Replaces the loads whose value can be had from registers; those first that lengthen no life.
    fn compute_again(&mut self, home: Home) {
        let mut all = std::mem::take(&mut self.remedies[home.0 as usize]);
        all.sort_by_key(|replaced| !replaced.remedy.alive);
        for Replaced {
            block,
            number,
            remedy,
        } in all
        {
            let changed = remedy
                .reads
                .iter()
                .any(|read| self.given.iter().any(|(given, _)| given == read));
            if changed {
                continue;
            }
            for &read in &remedy.reads {
                self.stretched.insert(read);
            }
            self.code.blocks[block].steps.set(number, remedy.step);
            self.found = true;
        }
    }
}

/// The replacements of each load, by home.
fn remedies<T: Target>(code: &Code<'_, T>, live: &Liveness<Location>) -> Vec<Vec<Replaced<T>>> {
    let mut facts = Facts::of(code);
    let mut out: Vec<Vec<Replaced<T>>> = code.homes.iter().map(|_| Vec::new()).collect();
    for block in 0..code.blocks.len() {
        let Some(state) = facts.at_start(block).cloned() else {
            continue;
        };
        let steps = &code.blocks[block].steps;
        let loads = |step: &Step<T>| matches!(step, Step::Load { .. });
        if !steps.iter().any(loads) {
            continue;
        }
        let mut behind: Vec<Option<EntitySet<Location>>> = vec![None; steps.len()];
        let mut now = live.ends[block].clone();
        code.walk(block, &mut now, &live.starts, &mut |group, live| {
            for number in group.filter(|&number| loads(&steps[number])) {
                behind[number] = Some(live.clone());
            }
        });
        facts.replay(
            code,
            block,
            state,
            &mut |Point {
                      numbers,
                      step: number,
                      state,
                      given,
                  }| {
                let Step::Load { to, from, loc } = &steps[number] else {
                    return;
                };
                let (Some((_, value)), Some(live)) = (given, &behind[number]) else {
                    return;
                };
                let remedy = equal(code, *to, *loc, value, state, live)
                    .or_else(|| recomputed(code, numbers, *to, *loc, value, state, live));
                if let Some(remedy) = remedy {
                    out[from.0 as usize].push(Replaced {
                        block,
                        number,
                        remedy,
                    });
                }
            },
            &mut Vec::new(),
        );
    }
    out
}

/// A register of a class that holds a value, one that lives on if there is one.
fn holder<T: Target>(
    code: &Code<'_, T>,
    class: T::Class,
    value: Number,
    state: &State,
    live: &EntitySet<Location>,
) -> Option<T::Register> {
    let found = (0u32..)
        .zip(&state[..T::REGISTERS])
        .filter(|(_, number)| **number == value)
        .filter_map(|(at, _)| Some((Location(at), code.numbered(Location(at))?)))
        .filter(|(_, register)| T::class(*register) == class && T::may_have(*register));
    found
        .min_by_key(|(at, _)| !live.contains(at))
        .map(|(_, register)| register)
}

/// A move from a register that holds the value.
fn equal<T: Target>(
    code: &Code<'_, T>,
    to: T::Register,
    loc: ir::Loc,
    value: Number,
    state: &State,
    live: &EntitySet<Location>,
) -> Option<Remedy<T>> {
    let from = holder(code, T::class(to), value, state, live)?;
    T::transfer(to, from, None)?;
    let read = Location::register::<T>(from);
    Some(Remedy {
        step: Step::Copy { to, from, loc },
        reads: vec![read],
        alive: live.contains(&read),
    })
}

/// The operation that computed the value, of registers that hold its operands.
fn recomputed<T: Target>(
    code: &Code<'_, T>,
    numbers: &Numbers<T>,
    to: T::Register,
    loc: ir::Loc,
    value: Number,
    state: &State,
    live: &EntitySet<Location>,
) -> Option<Remedy<T>> {
    let (shape, operands) = match numbers.origin(value) {
        Origin::Expression(shape, operands) => (numbers.shape(*shape), operands),
        Origin::Constant(constant) => {
            return Some(Remedy {
                step: Step::Operation(Operation {
                    loc,
                    ..T::constant(to, *constant)?
                }),
                reads: Vec::new(),
                alive: true,
            });
        }
        _ => return None,
    };
    // What accumulates would have to be copied first.
    if T::accumulates(shape.mnemonic) || T::class(to) != shape.class {
        return None;
    }
    let mut reads = Vec::new();
    let mut alive = true;
    let mut sources = Vec::with_capacity(shape.sources.len());
    for source in &shape.sources {
        sources.push(match source {
            Operand::Register(Name::Virtual(number)) => {
                let at = number.0 as usize;
                let register = holder(code, shape.classes[at], operands[at], state, live)?;
                let read = Location::register::<T>(register);
                alive &= live.contains(&read);
                reads.push(read);
                Operand::fixed(register)
            }
            other => other.clone(),
        });
    }
    let made = Operation::plain(shape.mnemonic, vec![Operand::fixed(to)], sources);
    Some(Remedy {
        step: Step::Operation(Operation { loc, ..made }),
        reads,
        alive,
    })
}
