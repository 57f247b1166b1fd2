//! Divergence that is no news: loops whose lanes leave a round apart at most, and branches that only callers can tell of.

use super::convergence::{deciding_exit, only_waits};
use super::{Context, rounds};
use crate::model::*;
use ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashSet;

/// Loops and branches that an author expects to diverge, or of which nothing is known here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expected {
    /// Headers of loops, sorted: `for (i = lane; i < n; i += 32)`, a loop that waits, one whose rounds a parameter tells.
    pub loops: Vec<Block>,
    /// Blocks that end in such a branch, sorted: a `switch` over a parameter of a device function.
    pub branches: Vec<Block>,
    /// Accesses without a known pattern whose address comes from coordinates alone, sorted: `a[i % width]`, which lanes mostly
    /// reach side by side. What is left is spread by what was loaded.
    pub accesses: Vec<Inst>,
}

/// The divergent loops and branches of a function that are no news.
pub fn expected(function: &Function, facts: &FunctionFacts) -> Expected {
    let mut found = Expected::default();
    let gathers = facts.accesses.iter().filter(|access| {
        access.class == AccessClass::Gather && !by_what_was_loaded(function, facts, access.address)
    });
    found.accesses = gathers.map(|access| access.inst).collect();
    found.accesses.sort_unstable();
    let diverges = |class: Class| class > Class::Uniform;
    let is_quiet = !facts.loops.iter().any(|fact| diverges(fact.trip))
        && !facts.branches.iter().any(|fact| diverges(fact.class));
    if is_quiet || function.layout.is_empty() {
        return found;
    }
    let cx = Context::new(function, facts);
    // Of callers in sight the facts know what they pass.
    let unseen = facts.options.parameters.is_empty();
    for fact in facts.loops.iter().filter(|fact| diverges(fact.trip)) {
        let Some(exit) = deciding_exit(&cx, fact) else {
            continue;
        };
        // Of what is not understood nothing is known.
        let selector = function.blocks[exit].terminator.selector();
        let unknown = selector.is_none_or(|value| facts.at(value, exit).class == Class::Unknown);
        if unknown
            || only_waits(&cx, fact.header)
            || (unseen && cx.branch_left_to_callers(exit))
            || rounds::shared_by_the_warp(&cx, fact.header, exit)
            || rounds::as_many_in_all_lanes(&cx, fact.header)
            || rounds::in_a_rest(&cx, fact.header)
        {
            found.loops.push(fact.header);
        }
    }
    for fact in facts.branches.iter().filter(|fact| diverges(fact.class)) {
        if fact.class == Class::Unknown || unseen && cx.branch_left_to_callers(fact.block) {
            found.branches.push(fact.block);
        }
    }
    found.loops.sort_unstable();
    found.branches.sort_unstable();
    found
}

/// The causes of an address end at a load, an atomic operation or a race, and not at a coordinate.
fn by_what_was_loaded(function: &Function, facts: &FunctionFacts, address: Value) -> bool {
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let mut at = address;
    while seen.insert(at) {
        let op = function.defining(at).map(|data| &data.op);
        if matches!(op, Some(Op::Atomic(..) | Op::Load(_) | Op::Texture(_))) {
            return true;
        }
        match facts.values[at].cause {
            Cause::Operand(next) => at = next,
            Cause::Branch(block) | Cause::LeavesLoop { exit: block, .. } => {
                match function.blocks[block].terminator.selector() {
                    Some(selector) => at = selector,
                    None => return false,
                }
            }
            Cause::Memory(_) | Cause::Race(_) => return true,
            Cause::Source | Cause::None => return false,
        }
    }
    false
}
