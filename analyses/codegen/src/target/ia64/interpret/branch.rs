//! Branches, those of loops with their counts and rotations among them.

use super::registers::State;
use super::step::Next;
use crate::target::ia64::code::{Function, Name, Operand, Operation};
use isa::ia64::Completer;
use isa::ia64::{Branch, Reg};

/// The block to which an operation may go.
pub(super) fn target(operation: &Operation) -> Option<u32> {
    operation.sources.iter().find_map(|source| match source {
        Operand::Block(target) => Some(*target),
        _ => None,
    })
}

/// Executes a branch whose qualifying predicate is `executes`.
pub(super) fn branch(
    function: &Function,
    state: &mut State,
    operation: &Operation,
    kind: Branch,
    executes: bool,
) -> Next {
    let exit = [Completer::Cexit, Completer::Wexit];
    let exits = operation.mnemonic.has_any(&exit);
    let taken = match kind {
        Branch::Jump => executes,
        Branch::Return => return if executes { Next::Return } else { Next::On },
        Branch::Call => {
            if executes {
                state.called();
            }
            return Next::On;
        }
        Branch::Check => return Next::Unknown,
        Branch::Counted => {
            let count = state.number(Reg::LC);
            state.set_number(Reg::LC, count.saturating_sub(1));
            count != 0
        }
        Branch::CountedRotating => {
            let (count, rounds) = (state.number(Reg::LC), state.number(Reg::EC));
            let begins = count != 0;
            if begins {
                state.set_number(Reg::LC, count - 1);
            }
            around(function, state, (begins, begins), rounds) != exits
        }
        Branch::WhileRotating => {
            let rounds = state.number(Reg::EC);
            around(function, state, (executes, false), rounds) != exits
        }
    };
    match (taken, target(operation)) {
        (false, _) => Next::On,
        (true, Some(target)) => Next::Block(target),
        (true, None) => Next::Unknown,
    }
}

/// Rotates, and returns whether the loop goes on: with another iteration, or with one round less to finish those that are
/// under way. `begins`: the predicate that will be `p16`.
fn around(
    function: &Function,
    state: &mut State,
    (goes_on, begins): (bool, bool),
    rounds: u64,
) -> bool {
    let last = Name::Fixed(Reg::predicate(63));
    state.set(function, last, super::Value::of(u64::from(begins)));
    if !goes_on {
        state.set_number(Reg::EC, rounds.saturating_sub(1));
    }
    if goes_on || rounds > 0 {
        state.rotate();
    }
    goes_on || rounds > 1
}
