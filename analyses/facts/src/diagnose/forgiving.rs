//! A function as its author may have meant it: functions that are not visible do not change their arguments
//! passed by reference, and conditions that must hold do.
//!
//! ```text
//! find(&pos, row);  __syncthreads();      `row` may have changed in the one lane that calls, or not
//! if (n > limit) __trap();                no lane goes on without the others: the grid ends
//! ```
//!
//! The results are no facts: a finding is reported only if it holds even so.

use ir::cfg::ControlFlow;
use ir::{Block, Edge, Function, Module, Terminator, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// The module, its first function in that reading. Blocks, instructions and values keep their numbers.
pub(super) fn favourable(module: &Module) -> Cow<'_, Module> {
    let kept = module.functions.first().map(unchanged).unwrap_or_default();
    let failing = module.functions.first().map(failing).unwrap_or_default();
    let brings = |function: &Function, &block: &Block| {
        never_taken(function, block).is_some_and(|edge| !edge.args.is_empty())
    };
    let mut functions = module.functions.first().into_iter();
    let merges_less =
        functions.any(|function| function.layout.iter().any(|block| brings(function, block)));
    if kept.is_empty() && failing.is_empty() && !merges_less {
        return Cow::Borrowed(module);
    }
    let mut module = module.clone();
    if let Some(function) = module.functions.first_mut() {
        hold(function, &failing);
        let kept = merged(function, kept);
        replace(function, &kept);
    }
    Cow::Owned(module)
}

/// The blocks from which no way leads on but the failure of the grid.
fn failing(function: &Function) -> FxHashSet<Block> {
    let mut failing = FxHashSet::default();
    loop {
        let before = failing.len();
        for &block in function.layout.iter().rev() {
            let fails = match &function.blocks[block].terminator {
                Terminator::Trap => true,
                Terminator::Return(_) | Terminator::Kill => false,
                other => {
                    let edges = other.edges();
                    !edges.is_empty() && edges.iter().all(|edge| failing.contains(&edge.block))
                }
            };
            if fails && block != function.entry() {
                failing.insert(block);
            }
        }
        if failing.len() == before {
            return failing;
        }
    }
}

/// The edge of a branch that is never taken: its condition is known, as behind a `break` at the end of a
/// condition.
fn never_taken(function: &Function, block: Block) -> Option<&Edge> {
    match &function.blocks[block].terminator {
        Terminator::Branch {
            condition,
            then,
            otherwise,
            ..
        } => match function.int_constant(*condition)? {
            0 => Some(then),
            _ => Some(otherwise),
        },
        _ => None,
    }
}

/// Takes out edges that lead to failure alone.
fn hold(function: &mut Function, failing: &FxHashSet<Block>) {
    if failing.is_empty() {
        return;
    }
    let fails = |edge: &Edge| failing.contains(&edge.block);
    for &block in &function.layout {
        let terminator = &mut function.blocks[block].terminator;
        let goes_on = match terminator {
            Terminator::Branch {
                then, otherwise, ..
            } if fails(then) && !fails(otherwise) => otherwise.clone(),
            Terminator::Branch {
                then, otherwise, ..
            } if fails(otherwise) && !fails(then) => then.clone(),
            _ => continue,
        };
        *terminator = Terminator::Jump(goes_on);
    }
    let flow = ControlFlow::new(function);
    function.layout.retain(|&block| flow.is_reachable(block));
}

/// Returns, for each value that a call leaves behind, the value that it was given.
fn unchanged(function: &Function) -> FxHashMap<Value, Value> {
    let mut kept = FxHashMap::default();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            for &result in &data.results {
                kept.extend(
                    function
                        .given_by_reference(result)
                        .map(|given| (result, given)),
                );
            }
        }
    }
    kept
}

/// Adds the block parameters that merge one value alone, now that calls leave it alone and fewer ways lead
/// there.
fn merged(function: &Function, mut kept: FxHashMap<Value, Value>) -> FxHashMap<Value, Value> {
    let mut arriving: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for &block in &function.layout {
        let never = never_taken(function, block);
        for edge in function.blocks[block].terminator.edges() {
            if never.is_some_and(|never| std::ptr::eq(never, edge)) {
                continue;
            }
            let into = &function.blocks[edge.block].params;
            for (&param, &arg) in into.iter().zip(&edge.args) {
                arriving.entry(param).or_default().push(arg);
            }
        }
    }
    loop {
        let before = kept.len();
        for &block in &function.layout {
            for &param in &function.blocks[block].params {
                if kept.contains_key(&param) {
                    continue;
                }
                let args = arriving.get(&param).into_iter().flatten();
                let mut others = args
                    .map(|&arg| last(&kept, arg))
                    .filter(|&arg| arg != param);
                if let Some(found) = others.next()
                    && others.all(|other| other == found)
                {
                    kept.insert(param, found);
                }
            }
        }
        if kept.len() == before {
            return kept;
        }
    }
}

/// The value in whose place no other stands; the same variable may have been given to several calls.
fn last(kept: &FxHashMap<Value, Value>, mut value: Value) -> Value {
    while let Some(&given) = kept.get(&value) {
        value = given;
    }
    value
}

fn replace(function: &mut Function, kept: &FxHashMap<Value, Value>) {
    let first = |value: &mut Value| *value = last(kept, *value);
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
