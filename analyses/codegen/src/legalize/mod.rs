//! Modules in the types that a processor has registers for: floating point becomes calls of the run-time library, numbers of
//! 64 bits become pairs of 32.
//!
//! ```text
//! s = fadd a, b : f64              s = call rt.f64_add (a, b) : i64
//! t = add x, y : i64               low = add xl, yl; carry = low < xl; high = xh + yh + carry
//! ```
//!
//! Calls of `memcpy` and its like become the library's, too. Routines that a function calls become functions of its module, and are treated alike. Numbers of 64 bits remain where
//! values go into functions and come back, and as offsets of addresses: what computes only their low half is left as it is.
//! Those of which accumulators hold all that counts are numbers of 40 bits.
//! Floats that are computed from constants are constants first.
//!
//! Judged by execution: the reference interpreter gives the same before and after.

mod accumulators;
mod floats;
mod memory;
mod routines;
mod words;
mod writer;

use crate::expand::expand_some;
use ir::{Module, Op, Type};
use routines::Routines;

/// The target's properties that these passes ask for.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The higher half of a number is at the lower address.
    pub high_first: bool,
    /// Gives shifts by the width or more, which the IR leaves open, the reference interpreter's values.
    pub total: bool,
    /// Numbers of which 40 bits suffice are in one register each, where calls and the number of registers allow it.
    pub accumulators: bool,
    /// Tells fractional operations and rotations for which there is no form, by the first operand's type.
    pub lacks: fn(&Op, Type) -> bool,
}

/// Brings all functions of a module into numbers of 32 bits; functions of the run-time library that they call stand behind
/// them in the module.
pub fn legalize(module: &mut Module, words: Words) {
    let mut routines = Routines::new(module.functions.len());
    let mut at = 0;
    while let Some(function) = module.functions.get_mut(at) {
        memory::lower(function, &mut routines);
        floats::lower(function, &mut routines);
        if words.accumulators {
            accumulators::lower(function);
        }
        expand_some(function, &words.lacks);
        words::lower(function, &mut routines, words);
        module.functions.extend(routines.new_ones());
        at += 1;
    }
}
