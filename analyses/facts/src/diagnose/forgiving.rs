//! A function as its author may have meant it: functions that are not visible leave alone what they are given by reference.
//!
//! ```text
//! find(&pos, row);  __syncthreads();      `row` may have changed in the one lane that calls, or not
//! ```
//!
//! No facts: a finding is told only where it holds even so.

use ir::{Function, Module, Op, Terminator, Value};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The module, with those values of its first function in the place of what such calls made of them.
pub(super) fn leaving_alone(module: &Module) -> Cow<'_, Module> {
    let kept = module.functions.first().map(unchanged).unwrap_or_default();
    if kept.is_empty() {
        return Cow::Borrowed(module);
    }
    let mut module = module.clone();
    if let Some(function) = module.functions.first_mut() {
        replace(function, &kept);
    }
    Cow::Owned(module)
}

/// By value that a call leaves behind, the value that it was given.
fn unchanged(function: &Function) -> FxHashMap<Value, Value> {
    let mut kept = FxHashMap::default();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            if !matches!(data.op, Op::CallUnknown { .. }) {
                continue;
            }
            // In the order of the arguments; the first result is the call's own.
            let mut args = data.args.iter().rev();
            for &result in data.results.iter().skip(1).rev() {
                let ty = function.ty(result);
                if let Some(&given) = args.find(|&&arg| function.ty(arg) == ty) {
                    kept.insert(result, given);
                }
            }
        }
    }
    kept
}

fn replace(function: &mut Function, kept: &FxHashMap<Value, Value>) {
    // One after the other, the same variable may have been given to several.
    let first = |value: &mut Value| {
        for _ in 0..kept.len() {
            match kept.get(value) {
                Some(&given) => *value = given,
                None => break,
            }
        }
    };
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let own = function.insts[inst].args.iter_mut();
            own.for_each(first);
            if let Some(guard) = &mut function.insts[inst].guard {
                first(&mut guard.value);
            }
        }
        let terminator = &mut function.blocks[block].terminator;
        match terminator {
            Terminator::Branch { condition, .. } => first(condition),
            Terminator::Switch { value, .. } => first(value),
            Terminator::Return(values) => values.iter_mut().for_each(first),
            _ => {}
        }
        for edge in terminator.edges_mut() {
            edge.args.iter_mut().for_each(first);
        }
    }
}
