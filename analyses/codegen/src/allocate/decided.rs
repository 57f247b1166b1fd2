//! Places of values, decided once, and written as they are or with less spill code.
//!
//! ```text
//! the scan                registers are kept back for values in memory, which pass through them
//! one by one              none is: each value that goes is loaded into a register of its own where it is read, and the scan
//!                         starts again
//! ```

use super::rounds::{self, Homes, Order};
use super::scan::{self, Choice, Place};
use super::{Allocation, Reduction, Traffic, chaitin, check};
use crate::mir::function::{Function, Name, Operation, Virtual};
use crate::mir::liveness::Liveness;
use crate::mir::{FrameAddress, FrameOffset, SpillCode, SpillSlot, Target};
use crate::refusal::Refusal;
use crate::spills::{
    self, Reducing,
    code::{Code, Home, Step},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::BTreeSet;

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

/// A function whose values have places.
#[derive(Debug)]
pub struct Decided<'f, T: Target> {
    /// As it was given.
    before: &'f Function<T>,
    /// With the transfers of values that spill one by one.
    work: Cow<'f, Function<T>>,
    places: Vec<Place<T::Register>>,
    /// The registers that values in memory may have where nothing else does.
    homes: Vec<T::Register>,
    one_by_one: bool,
}

impl<'f, T: Target> Decided<'f, T> {
    /// Places by one scan.
    ///
    /// # Errors
    /// Where a block whose cycles are decided needs more registers than there are.
    pub fn scanned(
        function: &'f Function<T>,
        processor: &T::Processor,
        limits: &T::Limits,
    ) -> Result<Self, Refusal> {
        let live = Liveness::of(function);
        let files = T::files(function, processor, limits);
        let least = Choice::LeastUsed(&FxHashSet::default());
        Ok(Decided {
            places: scan::scan(function, &live, &files, least)?,
            homes: T::homes(function, processor, limits),
            before: function,
            work: Cow::Borrowed(function),
            one_by_one: false,
        })
    }

    /// Places by scans that each take values out of registers, in this order; those that blocks name whose cycles are decided
    /// stay. `None`: a value that a transfer of one operation does not load or store would have to go, or one operation, or one
    /// such block, asks for too many registers.
    pub fn one_by_one(
        function: &'f Function<T>,
        processor: &T::Processor,
        limits: &T::Limits,
        order: Order,
    ) -> Option<Self> {
        if T::marks(function) || !function.outputs.is_empty() {
            return None;
        }
        let mut work = function.clone();
        let mut slots = Slots::default();
        let files = T::files(function, processor, limits);
        // Where cycles are decided there is no room for transfers: what only lives through such a block may go.
        let decided = function.blocks.iter().filter(|it| !it.cycles.is_empty());
        let operations = decided.flat_map(|block| &block.operations);
        let mut kept: Vec<Virtual> = operations.flat_map(Operation::virtual_registers).collect();
        kept.sort_unstable();
        kept.dedup();
        let fitted = rounds::fit(&mut work, &files, &kept, order, &mut slots).ok()?;
        if slots.impossible {
            return None;
        }
        let spilled: FxHashSet<Virtual> = fitted.spilled.iter().copied().collect();
        let operations = work.blocks.iter().flat_map(|block| &block.operations);
        let named: FxHashSet<Virtual> = operations.flat_map(Operation::virtual_registers).collect();
        let place = |(value, &register): (Virtual, &T::Register)| match (
            spilled.contains(&value),
            named.contains(&value),
        ) {
            (true, _) => Place::Memory,
            (_, true) => Place::Register(register),
            _ => Place::Nowhere,
        };
        Some(Decided {
            places: (0..)
                .map(Virtual)
                .zip(&fitted.registers)
                .map(place)
                .collect(),
            homes: T::homes(function, processor, limits),
            before: function,
            work: Cow::Owned(work),
            one_by_one: true,
        })
    }

    /// Places by Chaitin's colouring, where values that find no register are spilled everywhere. `None`: as for `one_by_one`, or
    /// some registers must be neighbours.
    pub fn coloured(
        function: &'f Function<T>,
        processor: &T::Processor,
        limits: &T::Limits,
    ) -> Option<Self> {
        let mut operations = function.blocks.iter().flat_map(|block| &block.operations);
        let neighbours = operations.any(|operation| T::tuple(operation).is_some());
        if T::marks(function) || !function.outputs.is_empty() || neighbours {
            return None;
        }
        let mut work = function.clone();
        let mut slots = Slots::default();
        let files = T::files(function, processor, limits);
        let found = chaitin::colour(&mut work, &files, &mut slots)?;
        if slots.impossible {
            return None;
        }
        let place = |(value, register): (Virtual, &Option<T::Register>)| match register {
            _ if found.spilled.contains(&value) => Place::Memory,
            Some(register) => Place::Register(*register),
            None => Place::Nowhere,
        };
        Some(Decided {
            places: (0..)
                .map(Virtual)
                .zip(&found.registers)
                .map(place)
                .collect(),
            homes: T::homes(function, processor, limits),
            before: function,
            work: Cow::Owned(work),
            one_by_one: true,
        })
    }

    /// The function with its registers, as it was decided.
    ///
    /// # Panics
    /// In debug builds, where `check` finds a violation.
    #[must_use]
    pub fn written(&self) -> (Function<T>, Allocation<T>) {
        let (now, allocation) = self.made(&self.code(), false);
        if cfg!(debug_assertions) {
            let verdict = check::check(self.before, &now, &allocation);
            assert_eq!(verdict, Ok(()), "{}", now.name);
        }
        (now, allocation)
    }

    /// The function with less spill code. The loads and stores of values that are `staying` stay.
    #[must_use]
    pub fn reductions(&self, staying: &BTreeSet<Virtual>) -> Reductions<'_, 'f, T> {
        let mut code = self.code();
        let idle = code.traffic() == Traffic::default();
        code.keep(staying);
        Reductions {
            decided: self,
            reducing: (!idle).then(|| Reducing::new(code, &self.homes)),
        }
    }

    /// The spilled values that blocks load or store as it was decided.
    #[must_use]
    pub fn moved(&self, blocks: &[usize]) -> BTreeSet<Virtual> {
        let code = self.code();
        blocks.iter().flat_map(|&block| code.moved(block)).collect()
    }

    /// The function with the transfers that were decided.
    fn code(&self) -> Code<'_, T> {
        let mut code = Code::new(&self.work, &self.places);
        if self.one_by_one {
            transfers(&mut code);
        }
        code
    }

    fn made(&self, code: &Code<'_, T>, shared: bool) -> (Function<T>, Allocation<T>) {
        let mut now = self.work.hollow();
        let allocation = spills::write(&mut now, code.written(shared));
        (now, allocation)
    }
}

/// A decided function with less spill code, as much less as is asked for.
#[derive(Debug)]
pub struct Reductions<'d, 'f, T: Target> {
    decided: &'d Decided<'f, T>,
    /// `None`: there is no spill code.
    reducing: Option<Reducing<'d, 'd, T>>,
}

impl<T: Target> Reductions<'_, '_, T> {
    /// The function with its registers and without what such an extent takes away.
    ///
    /// # Panics
    /// In debug builds, where `spills::check` does not show that it does the same.
    #[must_use]
    pub fn written(&self, reduction: Reduction) -> (Function<T>, Allocation<T>) {
        let Some(reducing) = &self.reducing else {
            return self.decided.written();
        };
        let (now, allocation) = self.decided.made(&reducing.reduced(reduction), true);
        if cfg!(debug_assertions) {
            let (plain, places) = self.decided.made(&self.decided.code(), false);
            let verdict = spills::check::check((&plain, &places), (&now, &allocation));
            assert_eq!(verdict, Ok(()), "{}", now.name);
        }
        (now, allocation)
    }
}

/// Reads the operations of `Slots` as what they stand for.
fn transfers<T: Target>(code: &mut Code<'_, T>) {
    // Homes are numbered by their values.
    let homes: FxHashMap<Virtual, Home> = code.homes.iter().copied().zip((0..).map(Home)).collect();
    let registers = code.registers.clone();
    for block in &mut code.blocks {
        for at in 0..block.steps.len() {
            if let Step::Operation(operation) = &block.steps[at]
                && let Some(transfer) = transfer(operation, &registers, &homes)
            {
                block.steps.set(at, transfer);
            }
        }
    }
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
