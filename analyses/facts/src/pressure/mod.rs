//! The number of 32-bit registers that the values of a function need at once: liveness on the IR in the order
//! in which it stands. An estimate of what a compiler will allocate: a compiler also orders, merges and
//! rematerialises, which this does not.
//!
//! ```text
//! a = load p; b = load q; c = a * b; store r, c      a and b live before the product: 2
//! ```
//!
//! Values in registers are counted: two registers for 64 bits, none for literals, addresses of symbols,
//! parameters of kernels in constant memory, predicates and resources. A value that only renames another (a
//! cast, a constant offset, a sign) is the other. [`variables`] names the variables that fill the registers
//! at the peak, and the ways to do without them.

mod files;
mod liveness;
mod schedule;
mod variables;

pub use files::{Counted, ScalarValues};
pub use schedule::Schedules;
pub use variables::{LiveVariable, Remedy, variables};

use ir::{Block, Function, Loc, Value};
use liveness::Liveness;

/// The most that is live at once, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pressure {
    /// Registers of 32 bits.
    pub registers: u32,
    /// The place of the peak.
    pub loc: Loc,
    /// The instruction of the peak, by its number in the block; the block's terminator behind all of them.
    pub block: Block,
    pub inst: u32,
    /// The values that are live there, ascending: while the instruction reads, or with its results.
    pub live: Vec<Value>,
    /// The number of registers that are live while each instruction executes, by place, in the order of the
    /// instructions.
    pub places: Vec<(Loc, u32)>,
}

/// The pressure of a function on the registers that are counted; `None` where it is too large.
#[must_use]
pub fn pressure(function: &Function, counted: Counted<'_>) -> Option<Pressure> {
    let entry = *function.layout.first()?;
    let liveness = Liveness::new(function, counted)?;
    let flow = &liveness.flow;
    let mut most = Pressure {
        registers: 0,
        loc: Loc::NONE,
        block: entry,
        inst: 0,
        live: Vec::new(),
        places: Vec::new(),
    };
    for &block in &flow.order {
        let data = &function.blocks[block];
        let mut live = liveness.at_end(block);
        let mut sum: u32 = live.ones().map(|value| liveness.width[value]).sum();
        let mut places: Vec<(Loc, u32)> = Vec::with_capacity(data.insts.len() + 1);
        let mut note = |live: &fixedbitset::FixedBitSet, sum: u32, loc: Loc, inst: usize| {
            places.push((loc, sum));
            if sum > most.registers {
                most.registers = sum;
                most.loc = loc;
                most.block = block;
                most.inst = inst as u32;
                most.live = live.ones().map(|value| Value(value as u32)).collect();
            }
        };
        liveness.use_terminator(block, &mut |value| {
            if !live.put(value) {
                sum += liveness.width[value];
            }
        });
        note(&live, sum, data.loc, data.insts.len());
        for (number, &inst) in data.insts.iter().enumerate().rev() {
            let inst = &function.insts[inst];
            for &result in &inst.results {
                let result = liveness.names[result.0 as usize];
                // A renaming of a value defines nothing.
                let own = inst.results.iter().any(|r| r.0 as usize == result);
                if own && live.contains(result) {
                    live.set(result, false);
                    sum -= liveness.width[result];
                }
            }
            liveness.use_inst(inst, &mut |value| {
                if !live.put(value) {
                    sum += liveness.width[value];
                }
            });
            note(&live, sum, inst.loc, number);
        }
        if block == entry {
            note(&live, sum, data.loc, 0);
        }
        places.reverse();
        most.places.extend(places);
    }
    Some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> u32 {
        let function = ir::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
        pressure(&function, Counted::All).map_or(u32::MAX, |found| found.registers)
    }

    #[test]
    fn both_factors_live_before_the_product() {
        let text = r#"
function "f" device text -> f32 {
  parameter "a" "float" (v0)
  parameter "b" "float" (v1)
  parameter "c" "float" (v2)

b0(v0: f32, v1: f32, v2: f32):
  v3: f32 = fmul v0, v1
  v4: f32 = fadd v3, v2
  v5: f32 = fneg v4
  return v5
}
"#;
        assert_eq!(of(text), 3);
    }

    #[test]
    fn a_value_lives_around_a_loop_that_uses_it() {
        let text = r#"
function "f" device text -> f64 {
  parameter "x" "float" (v0)
  parameter "d" "double" (v1)
  parameter "c" "bool" (v2)

b0(v0: f32, v1: f64, v2: bool):
  jump b1(v0)

b1(v3: f32):
  branch v2, b2, b3 as loop

b2:
  v4: f32 = fadd v3, v0
  jump b1(v4)

b3:
  v5: f64 = fadd v1, v1
  return v5
}
"#;
        // Four registers: x, its sum, and two for d, which waits; predicates have registers of their own.
        assert_eq!(of(text), 4);
    }
}
