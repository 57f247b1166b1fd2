//! Cycles of an iteration of a loop as its blocks stand, one iteration behind the other: the time of a loop
//! that is not pipelined.
//!
//! ```text
//! b1: ld1 c = [s]; cmp p = c, 0; (p) br ... | b2: cmp q = c, 200; (q) br ... | b3: add s = s, 1; br b1         4 cycles
//! ```
//!
//! Within a block, operations issue as soon as their operands are available and units permit it; a block that
//! ends in a branch ends its cycle. Values that another block, or the iteration before, left are waited for.
//! A block that only some iterations execute counts for its share. The second of two iterations is the
//! answer. Real code waits a little longer because registers are shared; caches and mispredicted branches are
//! not considered.

use super::depend::latency;
use crate::machine::epic::Epic;
use crate::predicate::loops::Region;
use crate::target::ia64::code::{Function, Virtual};
use crate::target::ia64::describe::{Described, describe};
use crate::target::ia64::rows::{Kind, Load, Rows};
use isa::ia64::Opcode;
use rustc_hash::FxHashMap;

pub(crate) fn cycles(function: &Function, region: &Region, machine: &Epic) -> u32 {
    let rows = Rows::new(machine);
    let header = function.blocks[region.header as usize].weight;
    // From the header on, as they stand.
    let from_header = region.blocks.iter().filter(|&&it| it >= region.header);
    let order: Vec<u32> = from_header
        .chain(region.blocks.iter().filter(|&&it| it < region.header))
        .copied()
        .collect();
    let described: Vec<Vec<Described>> = order
        .iter()
        .map(|&block| {
            let operations = &function.blocks[block as usize].operations;
            operations
                .iter()
                .map(|operation| describe(function, operation))
                .collect()
        })
        .collect();
    // By register: who writes it, in block and place, and when.
    let mut written: FxHashMap<Virtual, (usize, usize, f64)> = FxHashMap::default();
    let mut now = 0.0;
    let mut first = 0.0;
    for round in 0..2 {
        for (at, &block) in order.iter().enumerate() {
            let share = match header > 0.0 {
                true => (function.blocks[block as usize].weight / header).clamp(0.0, 1.0),
                false => 1.0,
            };
            let operations = &function.blocks[block as usize].operations;
            let mut last = now;
            let mut load = Load::default();
            for (index, operation) in operations.iter().enumerate() {
                let own = &described[at][index];
                let mut start: f64 = now;
                for read in operation.reads() {
                    let Some(&(block, place, then)) = written.get(&read) else {
                        continue;
                    };
                    let wait = latency(machine, &described[block][place], own, (read, read));
                    start = start.max(then + f64::from(wait));
                }
                last = last.max(start);
                load.add(Kind::of(&own.inst));
                for write in operation.writes() {
                    written.insert(write, (at, index, start));
                }
                if operation.opcode() == Opcode::Br || index + 1 == operations.len() {
                    let least = rows.shortages(&load).first().map_or(1, |it| it.cycles());
                    now += share * (last - now + 1.0).max(f64::from(least));
                    (last, load) = (now, Load::default());
                }
            }
        }
        if round == 0 {
            first = now;
        }
    }
    (now - first).round().max(1.0) as u32
}
