//! Finished code as steps again: to ask what would become of it if a spilled value had a register.

use super::code::{Code, Home, Location, Step, Touched};
use super::copies;
use crate::allocate::{Allocation, Place};
use crate::mir::Target;
use crate::mir::function::{Function, Operation, Virtual};
use ir::EntitySet;
use ir::liveness::Liveness;

impl<'f, T: Target> Code<'f, T> {
    /// The steps of a function whose operations name registers. `homes` gives a register of the class of each home,
    /// `transfer` the operations that are transfers, by block (from 1; 0: arrivals) and number.
    pub(crate) fn finished(
        function: &'f Function<T>,
        allocation: &Allocation<T>,
        homes: Vec<Virtual>,
        transfer: impl Fn(usize, usize, &Operation<T>) -> Option<Step<T>>,
    ) -> Self {
        let places: Vec<Place<T::Register>> = allocation
            .registers
            .iter()
            .map(|&register| Place::Register(register))
            .collect();
        let mut code = Code::new(function, &places);
        code.homes = homes;
        let arrivals = allocation.arrivals.iter().cloned();
        let arrivals: Vec<Step<T>> = arrivals.map(Step::Operation).collect();
        code.blocks[0].steps = arrivals.into();
        for (block, at) in code.blocks.iter_mut().enumerate() {
            for number in 0..at.steps.len() {
                if let Step::Operation(operation) = &at.steps[number]
                    && let Some(transfer) = transfer(block, number, operation)
                {
                    at.steps.set(number, transfer);
                }
            }
        }
        code
    }

    /// The operations of a block, in an order that is not decided yet, once a home is in a register that is free where it
    /// lives; and as they are. `live` is what lives at the ends of blocks then.
    pub(crate) fn with(
        &mut self,
        block: usize,
        home: Home,
        register: T::Register,
        live: &Liveness<Location>,
    ) -> [Vec<Operation<T>>; 2] {
        let before = self.blocks[block].clone();
        self.blocks[block].cycles.clear();
        let steps = &mut self.blocks[block].steps;
        for at in 0..steps.len() {
            let (to, from, loc) = match steps[at] {
                Step::Load { to, from, loc } if from == home => (to, register, loc),
                Step::Store { from, to, loc } if to == home => (register, from, loc),
                _ => continue,
            };
            steps.set(at, Step::Copy { to, from, loc });
        }
        let same = |step: &Step<T>| matches!(step, Step::Copy { to, from, .. } if to == from);
        let keep: Vec<bool> = steps.iter().map(|step| !same(step)).collect();
        steps.retain(|number| keep[number]);
        copies::join_in(self, block, live);
        let now = std::mem::replace(&mut self.blocks[block], before);
        [&now, &self.blocks[block]].map(|block| {
            let steps = block.steps.iter();
            // Slots of their own, so that their accesses are apart.
            let offset = |home: Home| home.0 * T::slot(self.class(home));
            steps
                .flat_map(|step| self.operations(step, &offset))
                .collect()
        })
    }
}

/// A point between steps where a spilled value waits: behind a step of a block, or in front of the block's first.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Waiting {
    pub(crate) block: usize,
    /// The number of steps in front of it.
    pub(crate) steps: usize,
    /// The homes that hold something, and the locations that do besides or that the steps just in front write.
    pub(crate) live: EntitySet<Location>,
}

/// The definitions of locations that reach points of the code.
pub(crate) struct Reaching {
    /// The reads and writes of each step, by block.
    touched: Vec<Vec<Touched>>,
    /// The definitions of each location that reach the start of each block.
    starts: Vec<Vec<Vec<(usize, usize)>>>,
}

/// The points of the code at which some home holds a value.
pub(crate) fn waiting<T: Target>(code: &Code<'_, T>, live: &Liveness<Location>) -> Vec<Waiting> {
    let holds = |live: &EntitySet<Location>| live.iter().any(|it| it.as_home::<T>().is_some());
    let mut out = Vec::new();
    for block in 0..code.blocks.len() {
        let mut now = live.ends[block].clone();
        let mut own = Vec::new();
        code.walk(block, &mut now, &live.starts, &mut |group, live| {
            if holds(live) {
                let mut live = live.clone();
                let steps = &code.blocks[block].steps;
                for number in group.clone() {
                    code.touched(steps, number).writes().for_each(|it| {
                        // A home that nothing reads any more holds nothing.
                        if it.as_home::<T>().is_none() {
                            live.insert(it);
                        }
                    });
                }
                own.push(Waiting {
                    block,
                    steps: group.end,
                    live,
                });
            }
        });
        if holds(&now) {
            own.push(Waiting {
                block,
                steps: 0,
                live: now,
            });
        }
        out.extend(own.into_iter().rev());
    }
    out
}

impl Reaching {
    pub(crate) fn of<T: Target>(code: &Code<'_, T>) -> Reaching {
        let touched: Vec<Vec<Touched>> = code
            .blocks
            .iter()
            .map(|block| {
                let all = 0..block.steps.len();
                all.map(|at| code.touched(&block.steps, at).clone())
                    .collect()
            })
            .collect();
        let mut out = Reaching {
            touched,
            starts: vec![vec![Vec::new(); T::REGISTERS]; code.blocks.len()],
        };
        let mut open: std::collections::BTreeSet<usize> = (0..code.blocks.len()).collect();
        while let Some(block) = open.pop_first() {
            let end = code.blocks[block].steps.len();
            let ends: Vec<Vec<(usize, usize)>> = (0..T::REGISTERS)
                .map(|at| out.at(block, end, Location(at as u32)))
                .collect();
            for next in code.successors(block) {
                for (known, new) in out.starts[next].iter_mut().zip(&ends) {
                    let before = known.len();
                    known.extend(new);
                    known.sort_unstable();
                    known.dedup();
                    if known.len() > before {
                        open.insert(next);
                    }
                }
            }
        }
        out
    }

    /// Returns true if a step reads a location.
    pub(crate) fn reads(&self, block: usize, step: usize, location: Location) -> bool {
        self.touched[block][step].reads.contains(&location)
    }

    /// The steps whose values a register may hold behind so many steps of a block, by block and number; none of what it
    /// holds where the function starts.
    pub(crate) fn at(&self, block: usize, steps: usize, location: Location) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        for number in (0..steps).rev() {
            let touched = &self.touched[block][number];
            if touched.kills.contains(&location) {
                out.push((block, number));
                return out;
            }
            if touched.changes.contains(&location) {
                out.push((block, number));
            }
        }
        out.extend(&self.starts[block][location.0 as usize]);
        out
    }
}

/// The place of a call.
pub(crate) fn called<T: Target>(step: &Step<T>) -> Option<ir::Loc> {
    match step {
        Step::Operation(operation) if operation.branch() == Some(isa::Branch::Call) => {
            Some(operation.loc)
        }
        _ => None,
    }
}
