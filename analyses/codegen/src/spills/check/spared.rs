//! Loads of what is at hand: in another register, or the result of one operation on what registers hold.

use super::terms::{Side, Term, Terms, Value, parts};
use super::walk::{State, Walker};
use super::{Check, Unproved};
use crate::allocate::Allocation;
use crate::mir::{FrameAddress, FrameOffset, Function, SpillCode, Target};

/// A load of a spill slot whose value is at hand in front of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spared {
    pub block: u32,
    pub operation: u32,
    /// The registers that hold the value, by `Target::index`.
    pub held: Vec<usize>,
    /// The registers that hold each operand of an operation that computes it; empty for a constant, `None` without one.
    pub computed: Option<Vec<Vec<usize>>>,
}

/// The loads of spill slots whose value is at hand.
///
/// # Errors
/// Where the function can't be executed symbolically.
pub fn spared<T: Target>(
    function: &Function<T>,
    allocation: &Allocation<T>,
) -> Result<Vec<Spared>, Unproved> {
    let mut check = Check::new((function, allocation), (function, allocation));
    check.run()?;
    let walker = Walker::new(Side::Before, function, allocation);
    let mut out = Vec::new();
    for (block, start) in (0..).zip(&check.starts) {
        let Some(start) = start else { continue };
        let (state, _) = start.apart(start.values.len() / 2);
        let operations = &function.blocks[block as usize].operations;
        let mut each = |terms: &Terms<T>, at: usize, state: &State| {
            if let Some(SpillCode::Load { from, .. }) = T::spill_code(&operations[at])
                && let FrameAddress::Offset(FrameOffset::Spill(_)) = from.address
                && let Some(value) = walker.loaded(terms, from, state)
            {
                let held = holders::<T>(state, value);
                let computed = computed(terms, state, value);
                if !held.is_empty() || computed.is_some() {
                    out.push(Spared {
                        block,
                        operation: at as u32,
                        held,
                        computed,
                    });
                }
            }
        };
        walker.walk(&mut check.terms, block, state, &mut each)?;
    }
    Ok(out)
}

fn holders<T: Target>(state: &State, value: Value) -> Vec<usize> {
    let registers = state.values[..T::REGISTERS].iter().enumerate();
    let holds = registers.filter(|(_, held)| **held == value);
    holds.map(|(register, _)| register).collect()
}

/// The registers that hold the operands of the operation that computes a value. Loads of the program are none: they are not
/// computed again.
fn computed<T: Target>(terms: &Terms<T>, state: &State, value: Value) -> Option<Vec<Vec<usize>>> {
    let term = terms.term(value);
    match term {
        Term::Constant(_) => return Some(Vec::new()),
        Term::Apply { .. } => {}
        _ => return None,
    }
    let operands = parts(term);
    let mut out = Vec::new();
    for &operand in &operands {
        let held = holders::<T>(state, operand);
        if held.is_empty() {
            return None;
        }
        out.push(held);
    }
    Some(out)
}
