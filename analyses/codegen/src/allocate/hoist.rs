//! The hoisting of loop-invariant operations that selection makes anew in every iteration: transfers of
//! constants and bounds between the files, the parts of long sequences.
//!
//! ```text
//! b1: setf.sig f = k; xmpy.l ..; br b1        b0: setf.sig f = k      b1: xmpy.l ..; br b1
//! ```
//!
//! Innermost loops that are entered from one block. Only operations that neither fail nor set flags, whose result is written
//! nowhere else: they may execute where the loop does not.

use crate::mir::Target;
use crate::mir::function::{Function, Name, Operand, Operation, Virtual};
use crate::predicate::loops::innermost;
use isa::Branch;
use rustc_hash::FxHashSet;

/// Registers that are held through a loop for this, at most.
const MOST: usize = 16;

pub(super) fn hoist<T: Target>(function: &mut Function<T>) {
    let regions = innermost(function);
    if regions.is_empty() {
        return;
    }
    let mut writes = vec![0u32; function.registers.len()];
    for operation in function.blocks.iter().flat_map(|block| &block.operations) {
        for write in operation.writes() {
            writes[write.0 as usize] += 1;
        }
    }
    // Arguments are written in front of everything, and a register with a fixed place may be written by
    // anything.
    let decided = function.pinned.iter().map(|(it, _)| it);
    for parameter in function
        .parameters
        .iter()
        .chain(&function.outputs)
        .chain(decided)
    {
        writes[parameter.0 as usize] += 1;
    }
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); function.blocks.len()];
    for block in 0..function.blocks.len() as u32 {
        for next in function.successors(block) {
            before[next as usize].push(block);
        }
    }
    for region in regions {
        let outside = before[region.header as usize].iter().copied();
        let mut outside = outside.filter(|it| region.blocks.binary_search(it).is_err());
        let (Some(entry), None) = (outside.next(), outside.next()) else {
            continue;
        };
        let decided = |&block: &u32| !function.blocks[block as usize].cycles.is_empty();
        if region.blocks.iter().chain([&entry]).any(decided) {
            continue;
        }
        let mut varies: FxHashSet<Virtual> = FxHashSet::default();
        for &block in &region.blocks {
            for operation in &function.blocks[block as usize].operations {
                varies.extend(operation.writes());
            }
        }
        let mut moved: Vec<Operation<T>> = Vec::new();
        let mut again = true;
        while std::mem::take(&mut again) {
            for &block in &region.blocks {
                let mut operations =
                    std::mem::take(&mut function.blocks[block as usize].operations);
                operations.retain(|operation| {
                    let Some(target) = pure(function, operation) else {
                        return true;
                    };
                    let fixed = operation.reads().all(|read| !varies.contains(&read));
                    if !fixed || writes[target.0 as usize] != 1 || moved.len() >= MOST {
                        return true;
                    }
                    varies.remove(&target);
                    moved.push(operation.clone());
                    again = true;
                    false
                });
                function.blocks[block as usize].operations = operations;
            }
        }
        let operations = &mut function.blocks[entry as usize].operations;
        let leaves =
            |operation: &Operation<T>| operation.branch().is_some_and(|kind| kind != Branch::Call);
        let at = operations
            .iter()
            .rposition(|operation| !leaves(operation))
            .map_or(0, |at| at + 1);
        operations.splice(at..at, moved);
    }
}

/// The register that an operation computes, if it does nothing else.
fn pure<T: Target>(function: &Function<T>, operation: &Operation<T>) -> Option<Virtual> {
    let [Operand::Register(Name::Virtual(target))] = operation.targets[..] else {
        return None;
    };
    let plain = operation.sources.iter().all(|source| match source {
        Operand::Number(_) | Operand::Register(Name::Virtual(_)) => true,
        Operand::Register(Name::Fixed(register)) => T::is_constant(*register),
        _ => false,
    });
    let value = !T::is_guard(function.class(target));
    let pure = plain && value && operation.is_certain() && operation.predicate.is_none();
    (pure && T::is_pure(operation)).then_some(target)
}
