//! Random interpretation of machine functions: operations on virtual registers, executed on random numbers, so that two
//! pieces of code can be compared that must compute the same.
//!
//! ```text
//! add v3 = v1, v2         1 + 4 = 5: integers are computed, so that counts, addresses and their comparison are true ones
//! fma v6 = v4, v5, f0     a number that the operation and its operands decide: equal for equal operands alone
//! ld8 v7 = [v3]           what was stored there, or the number that stands there from the start
//! br.ctop b1              counts, rotates r32.., f32.. and p16.., as the manual says
//! ```
//!
//! A value is 64 bits and the mark of a failed speculative load (NaT). The result of an operation that is not
//! computed is a random function of its operands: code that is right for each of them gives the same values,
//! and code that is wrong does not, except by accident. Accesses that the source promises to be apart go to
//! different memories; those that may meet go to one, where the addresses decide. Conditions are computed, or
//! chosen by a script (`Truth`). Speculative loads fail and entries of advanced loads are lost now and then.
//! Blocks whose cycles are decided are watched for dependences within a group. Stops: after so many
//! operations.
//!
//! Does not round numbers, raise exceptions or know of times; calls change the registers that they may
//! change, but no memory.
//!
//! Source: Gulwani, Necula, *Discovering Affine Equalities Using Random Interpretation*, POPL 2003; Intel, *Itanium
//! Architecture Software Developer's Manual*, volume 1, sections 4.4 and 4.5, volume 3.

mod branch;
mod code;
mod compare;
mod decisions;
mod float;
mod group;
mod integer;
pub(crate) mod live;
mod memory;
mod registers;
mod step;
mod value;

pub(crate) use code::Code;
pub(crate) use decisions::{Decisions, Truth};
pub(crate) use memory::Spaces;
pub(crate) use registers::State;
pub(crate) use step::{Next, step};
pub(crate) use value::{Style, Value, mix};

use crate::target::ia64::code::Virtual;
use group::Group;
use std::fmt;

/// A fault: an operation that no processor executes as it was meant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// A failed speculative load is used as an address of an access that is no speculative load, stored, or
    /// moved to where it can't be.
    #[error("uses what a failed speculative load left")]
    Deferred,
    #[error("reads {0}, which its own group writes")]
    ReadAfterWrite(SomeRegister),
    #[error("writes {0}, which its own group writes")]
    WriteAfterWrite(SomeRegister),
}

/// A register as an operation names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SomeRegister {
    Virtual(Virtual),
    Fixed(isa::ia64::Reg),
}

impl fmt::Display for SomeRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SomeRegister::Virtual(register) => write!(f, "v{}", register.0),
            SomeRegister::Fixed(register) => write!(f, "{register}"),
        }
    }
}

/// The way in which an execution ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Control came to a block at which it was to stop.
    At(u32),
    Returned,
    /// It took too many operations.
    Budget,
    /// An operation that is not executed here.
    Unknown {
        block: u32,
        operation: u32,
    },
    Fault {
        block: u32,
        operation: u32,
        fault: Fault,
    },
}

/// Executes from the start of a block up to one at which `stops` says so, the first one left out.
pub(crate) fn run(
    code: &Code<'_>,
    state: &mut State,
    from: u32,
    stops: &mut dyn FnMut(u32, &mut State) -> bool,
    budget: &mut u32,
) -> End {
    let mut block = from;
    loop {
        let operations = &code.function.blocks[block as usize].operations;
        let cycles = &code.function.blocks[block as usize].cycles;
        let mut group = (!cycles.is_empty()).then(Group::default);
        let mut next = None;
        for (at, operation) in operations.iter().enumerate() {
            if *budget == 0 {
                return End::Budget;
            }
            *budget -= 1;
            let place = (block, at as u32);
            if let Some(group) = &mut group {
                group.enter(cycles.get(at).copied());
                if let Err(fault) = group.execute(code, state, place) {
                    return fault_at(place, fault);
                }
            }
            match step(code.function, state, operation) {
                Ok(Next::On) => {}
                Ok(Next::Block(target)) => {
                    next = Some(target);
                    break;
                }
                Ok(Next::Return) => return End::Returned,
                Ok(Next::Unknown) => {
                    let (block, operation) = place;
                    return End::Unknown { block, operation };
                }
                Err(fault) => return fault_at(place, fault),
            }
        }
        block = next.unwrap_or(block + 1);
        if block as usize >= code.function.blocks.len() {
            return End::Returned;
        }
        if *budget == 0 {
            return End::Budget;
        }
        *budget -= 1;
        if stops(block, state) {
            return End::At(block);
        }
    }
}

fn fault_at((block, operation): (u32, u32), fault: Fault) -> End {
    End::Fault {
        block,
        operation,
        fault,
    }
}

#[cfg(test)]
pub(crate) mod tests;
