//! Blocks that follow each other, as one.
//!
//! ```text
//! b0: x     b1: y, entered from b0 alone        b0: x; y     b1: nothing, falls through
//! ```
//!
//! Blocks keep their numbers. Those whose cycles are decided stay as they are.

use super::{Function, Operand, Target};
use isa::Branch;

/// Moves the operations of each block that control enters from the one in front of it alone to the end of that one.
pub(crate) fn join<T: Target>(function: &mut Function<T>) {
    let count = function.blocks.len();
    let mut entries = vec![0u32; count];
    for block in 0..count as u32 {
        for to in function.successors(block) {
            entries[to as usize] += 1;
        }
    }
    let mut first = 0;
    for (next, &ways) in entries.iter().enumerate().skip(1) {
        let falls = |block: usize| {
            let last = function.blocks[block].operations.last();
            let jumps = last.is_some_and(|last| last.branch() == Some(Branch::Jump));
            match last {
                Some(last) if jumps && last.predicate.is_none() => {
                    last.sources[..] == [Operand::Block(next as u32)]
                }
                Some(last) => matches!(last.branch(), None | Some(Branch::Call)),
                None => true,
            }
        };
        let open = |block: usize| function.blocks[block].cycles.is_empty();
        let only = function.successors(next as u32 - 1) == [next as u32];
        if ways == 1 && only && open(first) && open(next) && falls(first) {
            let jumps = function.blocks[first].operations.last();
            if jumps.is_some_and(|last| last.branch() == Some(Branch::Jump)) {
                function.blocks[first].operations.pop();
            }
            let more = std::mem::take(&mut function.blocks[next].operations);
            function.blocks[first].operations.extend(more);
        } else {
            first = next;
        }
    }
}
