//! Cycles of an iteration whose exits are branches, one behind the other: what a loop takes that is not pipelined.
//!
//! ```text
//! ld1 c = [s]; | cmp p = c, 0; (p) br ... | cmp q = c, 200; (q) br ... | add s = s, 1; br         5 cycles
//! ```
//!
//! A branch ends its group, so what stands behind an exit begins a cycle later at least. Between exits operations wait for
//! what they read, and a cycle has so many slots; units are not counted. One pass in the order of the program.

use super::body::Loop;
use super::depend::latency;
use crate::machine::epic::Epic;
use crate::mir::function::Virtual;
use crate::target::ia64::operation::Described;
use rustc_hash::FxHashMap;

pub(super) fn cycles(given: &Loop, described: &[Described], machine: &Epic) -> u32 {
    let width = machine.width().slots.max(1);
    let mut written: FxHashMap<Virtual, usize> = FxHashMap::default();
    let mut start: Vec<u32> = Vec::with_capacity(given.items.len());
    // The piece between two exits: where it begins, its operations, and the cycle of the last one.
    let (mut fence, mut count, mut last, mut passed) = (0u32, 0u32, 0u32, 0usize);
    for (at, item) in given.items.iter().enumerate() {
        while passed < item.passed {
            fence = last.max(fence + count.div_ceil(width).saturating_sub(1)) + 1;
            (count, last, passed) = (0, fence, passed + 1);
        }
        let mut now = fence;
        for one in item.operation.reads() {
            let Some(&from) = written.get(&one) else {
                continue;
            };
            if !item.before.contains(&one) {
                let wait = latency(machine, &described[from], &described[at], one);
                now = now.max(start[from] + wait);
            }
        }
        start.push(now);
        (count, last) = (count + 1, last.max(now));
        for one in item.operation.writes() {
            written.insert(one, at);
        }
    }
    let left = (given.exits.len() - passed) as u32;
    last.max(fence + count.div_ceil(width).saturating_sub(1)) + left.max(1)
}
