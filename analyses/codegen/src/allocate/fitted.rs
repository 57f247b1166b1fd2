//! Registers for functions that spill, with none kept back for spilled values: each value that goes is loaded into a register of
//! its own where it is read, and the scan starts again.

use super::rounds::{self, Homes, Order};
use super::{Allocation, Reduction, verified};
use crate::mir::function::{Function, Name, Operation, Virtual};
use crate::mir::{FrameAddress, FrameOffset, SpillCode, SpillSlot, Target};
use crate::spills::{
    self,
    code::{Code, Home, Step},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Slots of the frame as homes: those of a value have its number for an offset.
#[derive(Default)]
struct Slots {
    /// A value of a class that has no such transfers was chosen.
    impossible: bool,
}

const fn slot(value: Virtual) -> SpillSlot {
    SpillSlot {
        offset: value.0,
        marked: false,
    }
}

impl<T: Target> Homes<T> for Slots {
    fn load(
        &mut self,
        function: &mut Function<T>,
        from: Virtual,
        to: Virtual,
    ) -> Vec<Operation<T>> {
        let made = T::load_into(function.class(to), to, slot(from));
        self.impossible |= made.is_none();
        made.into_iter().collect()
    }
    fn store(
        &mut self,
        function: &mut Function<T>,
        from: Virtual,
        to: Virtual,
    ) -> Vec<Operation<T>> {
        let made = T::store_from(function.class(from), from, slot(to));
        self.impossible |= made.is_none();
        made.into_iter().collect()
    }
}

/// Gives registers to a function that does not fit, and writes spills into it. `None`: a value that a transfer of one operation
/// does not load or store would have to go, one operation asks for too many registers, or cycles are decided.
pub fn allocate_fitted<T: Target>(
    function: &mut Function<T>,
    processor: &T::Processor,
    limits: &T::Limits,
    order: Order,
    reduction: Option<Reduction>,
) -> Option<Allocation<T>> {
    let decided = function.blocks.iter().any(|block| !block.cycles.is_empty());
    if decided || T::marks(function) || !function.outputs.is_empty() {
        return None;
    }
    let mut work = function.clone();
    let mut slots = Slots::default();
    let files = T::files(function, processor, limits);
    let fitted = rounds::fit(&mut work, &files, &[], order, &mut slots).ok()?;
    if slots.impossible {
        return None;
    }
    let spilled: FxHashSet<Virtual> = fitted.spilled.iter().copied().collect();
    let named: FxHashSet<Virtual> = work
        .blocks
        .iter()
        .flat_map(|block| &block.operations)
        .flat_map(Operation::virtual_registers)
        .collect();
    let registers = fitted.registers;
    let places: Vec<super::Place<T::Register>> = (0..)
        .map(Virtual)
        .zip(&registers)
        .map(
            |(value, &register)| match (spilled.contains(&value), named.contains(&value)) {
                (true, _) => super::Place::Memory,
                (_, true) => super::Place::Register(register),
                _ => super::Place::Nowhere,
            },
        )
        .collect();
    let mut code = Code::new(&work, &places);
    // Homes are numbered by their values.
    let homes: FxHashMap<Virtual, Home> = code.homes.iter().copied().zip((0..).map(Home)).collect();
    for step in code.blocks.iter_mut().flat_map(|block| &mut block.steps) {
        if let Step::Operation(operation) = step
            && let Some(transfer) = transfer(operation, &registers, &homes)
        {
            *step = transfer;
        }
    }
    if let Some(reduction) = reduction {
        spills::reduce(&mut code, reduction, &T::homes(function, processor, limits));
    }
    let written = code.written(reduction.is_some());
    let before = function.clone();
    let mut now = work.clone();
    let allocation = spills::write(&mut now, written);
    if reduction.is_none() {
        verified(&before, &now, &allocation);
    }
    *function = now;
    Some(allocation)
}

/// The transfer that an operation of `Slots` stands for.
fn transfer<T: Target>(
    operation: &Operation<T>,
    registers: &[T::Register],
    homes: &FxHashMap<Virtual, Home>,
) -> Option<Step<T>> {
    let register = |name: Name<T>| match name {
        Name::Virtual(value) => registers[value.0 as usize],
        Name::Fixed(register) => register,
    };
    let home = |address: FrameAddress<T>| match address {
        FrameAddress::Offset(FrameOffset::Spill(number)) => homes.get(&Virtual(number)).copied(),
        _ => None,
    };
    let loc = operation.loc;
    match T::spill_code(operation)? {
        SpillCode::Load { to, from } => Some(Step::Load {
            to: register(to),
            from: home(from.address)?,
            loc,
        }),
        SpillCode::Store { from, to } => Some(Step::Store {
            from: register(from),
            to: home(to.address)?,
            loc,
        }),
        _ => None,
    }
}
