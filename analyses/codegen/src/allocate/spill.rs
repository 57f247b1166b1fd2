//! Values that live in the frame are loaded in front of the operations that read them and stored behind those that write
//! them.

use super::Allocation;
use super::scan::Place;
use crate::mir::function::{Function, Name, Operand, Operation, Virtual};
use crate::mir::{SpillSlot, Target};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Spill code of one function.
struct Writer<T: Target> {
    out: Vec<Operation<T>>,
    loc: ir::Loc,
    marked: bool,
}

impl<T: Target> Writer<T> {
    fn extend(&mut self, operations: Vec<Operation<T>>) {
        let loc = self.loc;
        let operations = operations.into_iter();
        self.out
            .extend(operations.map(|operation| Operation { loc, ..operation }));
    }
    fn load(&mut self, to: T::Register, offset: u32) {
        let marked = self.marked;
        self.extend(T::reload(to, SpillSlot { offset, marked }));
    }
    /// A guard is read by the virtual register that stands for `from`.
    fn store(&mut self, from: T::Register, offset: u32, guard: Option<Virtual>) {
        let marked = self.marked;
        self.extend(T::spill(from, SpillSlot { offset, marked }, guard));
    }
}

/// Writes the code of spilled registers into the function.
pub(super) fn rewrite<T: Target>(
    function: &mut Function<T>,
    places: &[Place<T::Register>],
) -> Allocation<T> {
    let mut offsets: FxHashMap<Virtual, u32> = FxHashMap::default();
    let mut bytes = 0u32;
    for (at, place) in places.iter().enumerate() {
        if *place == Place::Memory {
            let register = Virtual(at as u32);
            let size = T::slot(function.class(register));
            bytes = bytes.next_multiple_of(size);
            offsets.insert(register, bytes);
            bytes += size;
        }
    }
    let mut registers: Vec<T::Register> = places
        .iter()
        .map(|place| match place {
            Place::Register(register) => *register,
            _ => T::NONE,
        })
        .collect();
    // Stand-ins for guards in memory: a guard is named by a virtual register.
    let mut stand_ins: Vec<(T::Register, Virtual)> = Vec::new();
    let classes: BTreeSet<T::Class> = function.registers.iter().copied().collect();
    for class in classes.into_iter().filter(|&class| T::is_guard(class)) {
        for &register in T::scratch(class) {
            registers.push(register);
            stand_ins.push((register, function.register(class)));
        }
    }
    let mut writer = Writer {
        out: Vec::new(),
        loc: ir::Loc::NONE,
        marked: T::marks(function),
    };
    // Arguments come from where they arrive.
    for (param, from) in function.arriving() {
        let Some(from) = from else { continue };
        match places[param.0 as usize] {
            Place::Register(to) if to != from => writer.extend(vec![T::copy(to, from)]),
            Place::Memory => writer.store(from, offsets[&param], None),
            _ => {}
        }
    }
    let arrivals = std::mem::take(&mut writer.out);
    for block in &mut function.blocks {
        let away = block.operations.iter().any(|one| {
            one.virtual_registers()
                .any(|register| offsets.contains_key(&register))
        });
        if !away {
            continue;
        }
        for mut operation in std::mem::take(&mut block.operations) {
            writer.loc = operation.loc;
            let reads: Vec<Virtual> = operation.reads().collect();
            let writes: Vec<Virtual> = operation.writes().collect();
            let keeps = !operation.is_certain();
            let mut given: Vec<(Virtual, T::Register)> = Vec::new();
            for one in operation.virtual_registers() {
                if !offsets.contains_key(&one) || given.iter().any(|(known, _)| *known == one) {
                    continue;
                }
                let scratch = T::scratch(function.registers[one.0 as usize]);
                let free = |register: &T::Register| given.iter().all(|(_, it)| it != register);
                let register = scratch.iter().copied().find(free);
                debug_assert!(register.is_some(), "one for each operand of {operation:?}");
                given.extend(register.map(|register| (one, register)));
            }
            let written = |one: Virtual| writes.contains(&one);
            // Guards first: their loads use a register that another value has behind them.
            let guards = |register: T::Register| T::is_guard(T::class(register));
            given.sort_by_key(|&(_, register)| !guards(register));
            for &(one, register) in &given {
                if reads.contains(&one) || (written(one) && keeps) {
                    writer.load(register, offsets[&one]);
                }
            }
            for operand in operation.targets.iter_mut().chain(&mut operation.sources) {
                if let Operand::Register(name) | Operand::Address(name) = operand
                    && let Name::Virtual(one) = *name
                    && let Some((_, register)) = given.iter().find(|(known, _)| *known == one)
                {
                    *name = Name::Fixed(*register);
                }
            }
            let stand_in = |register: T::Register| {
                let found = stand_ins.iter().find(|(it, _)| *it == register);
                found.map(|(_, stand_in)| *stand_in)
            };
            if let Some(predicate) = operation.predicate
                && let Some((_, register)) = given.iter().find(|(known, _)| *known == predicate)
            {
                operation.predicate = stand_in(*register);
            }
            writer.out.push(operation);
            // Guards last: their stores use a register of another value, too.
            given.sort_by_key(|&(_, register)| guards(register));
            for &(one, register) in &given {
                if written(one) {
                    writer.store(register, offsets[&one], stand_in(register));
                }
            }
        }
        block.operations = std::mem::take(&mut writer.out);
    }
    Allocation {
        registers,
        spilled: bytes.next_multiple_of(16),
        in_memory: offsets.len() as u32,
        arrivals,
    }
}
