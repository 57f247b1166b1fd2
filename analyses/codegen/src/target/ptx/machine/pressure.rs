//! The pressure of a body on the register file.

use super::Body;
use crate::mir::Virtual;
use crate::mir::liveness::Liveness;
use crate::mir::pressure::{Peak, peak};
use isa::ptx::Class;

/// Registers that the values of a body need at once, in the order in which it stands. A lower bound for the
/// allocation of an assembler that neither moves, rematerialises nor spills; NVIDIA's does all of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pressure {
    /// Words of 32 bits at the peak; 64-bit values take two.
    pub words: u32,
    /// The number of predicates, which have registers of their own.
    pub predicates: u32,
    /// The statement of the peak, in the order of the body.
    pub statement: Option<u32>,
    /// The registers that are live at the peak, predicates left out.
    pub live: Vec<Virtual>,
    /// The words that are live while each statement executes; statements that are no instructions are left
    /// out.
    pub statements: Vec<(u32, u32)>,
}

/// The pressure of a body.
#[must_use]
pub fn pressure(body: &Body) -> Pressure {
    let function = &body.function;
    let live = Liveness::of(function);
    let mut statements = Vec::new();
    let place = |block: u32, at: u32| body.statements[block as usize][at as usize];
    let taken = |register| function.class(register).words();
    let words = peak(function, &live, &taken, &mut |block, at, sum| {
        statements.push((place(block, at), sum));
    });
    statements.sort_unstable();
    let is_predicate = |register| u32::from(function.class(register) == Class::Predicate);
    let predicates = peak(function, &live, &is_predicate, &mut |_, _, _| {});
    let sum = |peak: &Option<Peak>| peak.as_ref().map_or(0, |peak| peak.sum);
    Pressure {
        words: sum(&words),
        predicates: sum(&predicates),
        statement: words.as_ref().map(|peak| place(peak.block, peak.operation)),
        live: words.map_or(Vec::new(), |peak| peak.live),
        statements,
    }
}
