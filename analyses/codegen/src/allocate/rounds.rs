//! Allocation that spills everywhere, in rounds: a value that finds no register lives elsewhere, each read and each write of
//! it goes through a register of its own for that operation alone, and the scan begins anew.
//!
//! ```text
//! K = 2:  v2 = add v0, v1; v3 = mul v2, v2; v4 = add v3, v0
//! v0's next read is the farthest:   store v0;  ...;  v5 = load;  v4 = add v3, v5
//! ```
//!
//! Stops: registers that a round adds are never spilled, so that each round takes at least one value away
//! from those that may be. No registers are kept back, so that few are enough; where one operation alone
//! names more than there are, it is refused.
//!
//! Source: Poletto, Sarkar, *Linear Scan Register Allocation* (TOPLAS 1999); Belady's choice and spilling everywhere as in
//! Sampaio et al., *Divergence Analysis* (TOPLAS 2013), section 4.

use super::named::Occurrences;
use super::scan::{self, Choice, Place};
use super::split::{cuts, split};
use crate::mir::function::{Function, Operation, Virtual};
use crate::mir::liveness::Liveness;
use crate::mir::{RegisterFile, Target};
use crate::refusal::Refusal;
use rustc_hash::FxHashSet;

/// The homes of values that find no register.
pub trait Homes<T: Target> {
    /// Operations after which `to` holds the value of `from`. They may name registers that are never spilled.
    fn load(&mut self, function: &mut Function<T>, from: Virtual, to: Virtual)
    -> Vec<Operation<T>>;
    /// Operations after which the home of `to` holds the value in `from`.
    fn store(
        &mut self,
        function: &mut Function<T>,
        from: Virtual,
        to: Virtual,
    ) -> Vec<Operation<T>>;
}

/// Operations around one of the function that was given.
#[derive(Clone, PartialEq, Debug)]
pub struct Around<T: Target> {
    /// Its number in its block.
    pub operation: u32,
    /// The operation as it is now.
    pub now: Operation<T>,
    pub before: Vec<Operation<T>>,
    pub after: Vec<Operation<T>>,
}

/// The operations of a function with nothing around them, by block.
pub(crate) fn unchanged<T: Target>(function: &Function<T>) -> Vec<Vec<Around<T>>> {
    let rows = function.blocks.iter().map(|block| {
        let own = (0..).zip(&block.operations);
        own.map(|(operation, now)| Around {
            operation,
            now: now.clone(),
            before: Vec::new(),
            after: Vec::new(),
        })
        .collect()
    });
    rows.collect()
}

/// The values that go first where registers run out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Those whose next read is the farthest.
    FarthestRead,
    /// Those that are used least for as long as they live, by the weights of blocks.
    LeastUsed,
}

/// A function whose values fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted<T: Target> {
    /// The allocated register of each virtual register.
    pub registers: Vec<T::Register>,
    /// Values that live elsewhere, in the order in which they were chosen.
    pub spilled: Vec<Virtual>,
    /// The operations around each operation of a block.
    pub around: Vec<Vec<Around<T>>>,
}

/// Gives registers of the files to the values of a function, and rewrites it. `kept` are never spilled.
///
/// # Errors
/// The operation at which its operands and the kept values need more registers than there are.
pub fn fit<T: Target>(
    function: &mut Function<T>,
    files: &[RegisterFile<T>],
    kept: &[Virtual],
    order: Order,
    homes: &mut dyn Homes<T>,
) -> Result<Fitted<T>, Refusal> {
    let mut around = unchanged(function);
    let mut occurrences = Occurrences::of(function);
    let mut fixed: FxHashSet<Virtual> = kept.iter().copied().collect();
    let mut spilled = Vec::new();
    loop {
        let live = Liveness::of(function);
        let choice = match order {
            Order::FarthestRead => Choice::FarthestRead(&fixed),
            Order::LeastUsed => Choice::LeastUsed(&fixed),
        };
        let places = scan::scan(function, &live, files, choice)?;
        let away: Vec<Virtual> = (0..places.len() as u32)
            .map(Virtual)
            .filter(|it| places[it.0 as usize] == Place::Memory)
            .collect();
        if away.is_empty() {
            let register = |place: &Place<T::Register>| match place {
                Place::Register(register) => *register,
                Place::Nowhere | Place::Memory => T::NONE,
            };
            return Ok(Fitted {
                registers: places.iter().map(register).collect(),
                spilled,
                around,
            });
        }
        for &each in &away {
            let before = function.registers.len() as u32;
            let named = occurrences.named(each);
            let cuts = cuts(named, &[], &[], &|_, range| range.is_empty());
            split(function, each, &cuts, &mut around, homes);
            for cuts in cuts.chunk_by(|a, b| a.block == b.block) {
                let block = cuts[0].block;
                occurrences.moved(block, &around[block as usize]);
            }
            // What homes use on the way lives as shortly as the stand-ins.
            fixed.extend((before..function.registers.len() as u32).map(Virtual));
        }
        spilled.extend(away);
    }
}
