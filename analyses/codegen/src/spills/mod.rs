//! Spilled values: what is loaded and stored for want of registers, and less of it.
//!
//! ```text
//! allocation -> transfers -> the first phase -> webs -> the second phase -> moves, registers that change their parts -> slots of
//! the frame
//! ```
//!
//! After any allocator: it says which values have no register. What is loaded although a register holds it goes, then what is
//! stored although nothing loads it; webs that are left get free registers of whatever class or are computed again where they
//! are read; loads of others wait for their values one by one; the rest shares slots of the frame.
//!
//! Source: Palanciuc, Badea, Ilas, Flamand, *A Spill Code Minimization Technique - Application in the Metrowerks StarCore C
//! Compiler* (EPIC-1, 2001).

pub mod check;
pub(crate) mod code;
mod colour;
mod copies;
mod facts;
pub(crate) mod finished;
mod pieces;
mod redundant;
pub(crate) mod steps;
mod swap;
mod values;
mod webs;

#[cfg(test)]
mod tests;

use crate::allocate::Allocation;
use crate::mir::function::Function;
use crate::mir::{Operation, Target};
use code::{Block, Code, Home, Location, Step};
use ir::EntitySet;
use ir::liveness::Liveness;
use std::cell::OnceCell;

/// Rounds over all webs; each takes the facts and the lives anew.
const ROUNDS: usize = 8;

/// The extent to which transfers are taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// Those that are redundant.
    Redundant,
    /// Besides, webs get registers of their own class.
    OwnClass,
    /// Besides, registers of other classes, by moves that stay.
    #[default]
    AnyClass,
    /// Besides, loads one by one, whose value changes its register at transfers.
    Pieces,
}

/// A function whose transfers are taken away step by step: what several extents have in common is done once.
///
/// Values may live in the registers of `colours`, most welcome first, where nothing else does.
#[derive(Debug)]
pub(crate) struct Reducing<'f, 'c, T: Target> {
    colours: &'c [T::Register],
    /// Behind the first phase.
    first: Code<'f, T>,
    /// Behind the second one, with registers of all classes.
    coloured: OnceCell<Code<'f, T>>,
}

impl<'f, 'c, T: Target> Reducing<'f, 'c, T> {
    pub(crate) fn new(mut code: Code<'f, T>, colours: &'c [T::Register]) -> Self {
        first_phase(&mut code);
        Reducing {
            colours,
            first: code,
            coloured: OnceCell::new(),
        }
    }

    /// The code without what such an extent takes away.
    pub(crate) fn reduced(&self, reduction: Reduction) -> Code<'f, T> {
        let coloured = |reduction: Reduction| {
            let mut code = self.first.clone();
            // The registers of moves that go are free for what is left.
            while rounds(&mut code, reduction, self.colours) {
                copies::join(&mut code);
            }
            code
        };
        let mut code = match reduction {
            Reduction::Redundant | Reduction::OwnClass => coloured(reduction),
            Reduction::AnyClass | Reduction::Pieces => {
                let all = self.coloured.get_or_init(|| coloured(Reduction::AnyClass));
                all.clone()
            }
        };
        if reduction == Reduction::Pieces && !code.homes.is_empty() {
            for _ in 0..ROUNDS {
                if !pieces::round(&mut code, self.colours) {
                    break;
                }
                first_phase(&mut code);
                webs::split(&mut code);
            }
        }
        copies::join(&mut code);
        if swap::swap(&mut code) {
            copies::join(&mut code);
        }
        redundant::dead(&mut code);
        webs::split(&mut code);
        code
    }
}

/// Rounds of the second phase, with the first one behind each. Returns true if transfers went.
fn rounds<T: Target>(
    code: &mut Code<'_, T>,
    reduction: Reduction,
    colours: &[T::Register],
) -> bool {
    let mut found = false;
    for _ in 0..ROUNDS {
        webs::split(code);
        let done = reduction == Reduction::Redundant || code.homes.is_empty();
        if done || !colour::round(code, reduction, colours) {
            break;
        }
        found = true;
        first_phase(code);
    }
    found
}

/// Loads of what a register holds, and stores that nothing reads.
fn first_phase<T: Target>(code: &mut Code<'_, T>) {
    loop {
        let found = redundant::redundant(code);
        if !redundant::dead(code) || !found {
            break;
        }
    }
}

/// The offset of each home from the first spilled value, and the bytes of all. Homes that never hold values at once share a
/// slot.
fn slots<T: Target>(code: &Code<'_, T>, shared: bool) -> (Vec<u32>, u32) {
    let meet = match shared {
        true => webs::conflicts(code, &Liveness::of(code)),
        false => Vec::new(),
    };
    // The slots so far: offset, size, and the homes in each.
    let mut made: Vec<(u32, u32, EntitySet<Location>)> = Vec::new();
    let mut offsets: Vec<u32> = Vec::with_capacity(code.homes.len());
    let mut bytes = 0u32;
    for number in 0..code.homes.len() as u32 {
        let home = Home(number);
        let size = T::slot(code.class(home));
        let open = |(_, own, inside): &&mut (u32, u32, EntitySet<Location>)| {
            *own == size && inside.common(&meet[number as usize]).next().is_none()
        };
        let free = match shared {
            true => made.iter_mut().find(open),
            false => None,
        };
        offsets.push(match free {
            Some((offset, _, inside)) => {
                inside.insert(Location::home::<T>(home));
                *offset
            }
            None => {
                let offset = bytes.next_multiple_of(size);
                let mut inside = EntitySet::new();
                inside.insert(Location::home::<T>(home));
                made.push((offset, size, inside));
                bytes = offset + size;
                offset
            }
        });
    }
    (offsets, bytes)
}

/// The steps as blocks of operations, those of the arrivals first, and the rest of the allocation.
pub(crate) struct Written<T: Target> {
    pub(crate) blocks: Vec<Vec<Operation<T>>>,
    pub(crate) allocation: Allocation<T>,
    /// The classes of registers that the code names besides those of the function.
    pub(crate) further: Vec<T::Class>,
}

impl<T: Target> Code<'_, T> {
    /// Writes transfers as operations. Slots are shared where that is asked for.
    pub(crate) fn written(&self, shared: bool) -> Written<T> {
        let (offsets, bytes) = slots(self, shared);
        let offset = |home: Home| offsets[home.0 as usize];
        let operations = |block: &Block<T>| -> Vec<Operation<T>> {
            let steps = block.steps.iter();
            steps
                .flat_map(|step| self.operations(step, &offset))
                .collect()
        };
        let mut blocks = self.blocks.iter().map(operations);
        let arrivals = blocks.next().unwrap_or_default();
        let mut values = self.homes.clone();
        values.sort_unstable();
        values.dedup();
        let further = self.registers[self.function.registers.len()..].iter();
        Written {
            blocks: blocks.collect(),
            allocation: Allocation {
                registers: self.registers.clone(),
                spilled: bytes.next_multiple_of(16),
                in_memory: values.len() as u32,
                traffic: self.traffic(),
                arrivals,
            },
            further: further.map(|&register| T::class(register)).collect(),
        }
    }
}

/// Writes the result into the function.
pub(crate) fn write<T: Target>(function: &mut Function<T>, written: Written<T>) -> Allocation<T> {
    for (block, operations) in function.blocks.iter_mut().zip(written.blocks) {
        block.operations = operations;
    }
    for class in written.further {
        function.register(class);
    }
    written.allocation
}

/// Executions of loads and stores of spilled values, and how many there are.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Traffic {
    pub loads: u32,
    pub stores: u32,
    /// The same, each by the weight of its block.
    pub executed: f64,
}

impl Traffic {
    /// Returns true if there are no more loads, no more stores and no more executions.
    #[must_use]
    pub fn is_no_more_than(&self, other: &Traffic) -> bool {
        self.loads <= other.loads && self.stores <= other.stores && self.executed <= other.executed
    }
}

impl<T: Target> Code<'_, T> {
    pub(crate) fn traffic(&self) -> Traffic {
        let mut out = Traffic::default();
        for block in &self.blocks {
            for step in &block.steps {
                match step {
                    Step::Load { .. } => out.loads += 1,
                    Step::Store { .. } => out.stores += 1,
                    _ => continue,
                }
                out.executed += block.weight;
            }
        }
        out
    }
}
