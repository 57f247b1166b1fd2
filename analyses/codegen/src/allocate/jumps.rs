//! Jumps to jumps, jumps to what follows anyway, and blocks that nothing reaches. Blocks keep their numbers
//! and lose their operations.
//!
//! ```text
//! b1: (p) br b3; br b2     b2: br b4     b3: ..     ->   b1: (p) br b3; br b4     b2:      b3: ..
//! ```
//!
//! One pass over the blocks for each step; chains of jumps are followed as far as there are blocks.

use crate::mir::Target;
use crate::mir::function::{Function, Operand, Operation};
use isa::Branch;

/// Returns the target of an unconditional jump.
fn jump<T: Target>(operation: &Operation<T>) -> Option<u32> {
    match (
        operation.branch(),
        operation.predicate,
        &operation.sources[..],
    ) {
        (Some(Branch::Jump), None, [Operand::Block(to)]) => Some(*to),
        _ => None,
    }
}

/// The first block from this one on where something is done.
fn behind<T: Target>(function: &Function<T>, mut block: u32) -> u32 {
    for _ in 0..=function.blocks.len() {
        let Some(at) = function.blocks.get(block as usize) else {
            break;
        };
        block = match &at.operations[..] {
            [] if (block as usize) + 1 < function.blocks.len() => block + 1,
            [only] => match jump(only) {
                Some(to) if to != block => to,
                _ => break,
            },
            _ => break,
        };
    }
    block
}

/// The block that control falls into behind this one.
fn below<T: Target>(function: &Function<T>, block: usize) -> usize {
    let rest = &function.blocks[block + 1..];
    let empty = rest.iter().take_while(|it| it.operations.is_empty());
    block + 1 + empty.count()
}

pub fn jumps<T: Target>(function: &mut Function<T>) {
    let ends: Vec<u32> = (0..function.blocks.len() as u32)
        .map(|block| behind(function, block))
        .collect();
    for block in &mut function.blocks {
        let operations = block.operations.iter_mut();
        for operation in operations.filter(|operation| operation.branch() == Some(Branch::Jump)) {
            for source in &mut operation.sources {
                if let Operand::Block(to) = source {
                    *to = ends[*to as usize];
                }
            }
        }
    }
    let mut reached = vec![false; function.blocks.len()];
    let mut work = vec![0];
    while let Some(block) = work.pop() {
        if let Some(known) = reached.get_mut(block as usize)
            && !std::mem::replace(known, true)
        {
            work.extend(function.successors(block));
        }
    }
    for (block, reached) in function.blocks.iter_mut().zip(reached) {
        if !reached {
            block.operations.clear();
            block.cycles.clear();
        }
    }
    for block in (0..function.blocks.len()).rev() {
        let last = function.blocks[block].operations.last();
        let next = below(function, block) as u32;
        let falls = last.and_then(jump).is_some_and(|to| {
            to > block as u32 && below(function, block) >= to as usize && to <= next
        });
        if falls && function.blocks[block].cycles.is_empty() {
            function.blocks[block].operations.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::ia64::code::{Block, Function, Operation, op};
    use isa::ia64::File;

    #[test]
    fn jumps_to_jumps_are_one() {
        let mut function = Function::default();
        let p = function.register(File::Predicate);
        let to = |block: u32, predicate| {
            Operation::plain(op!("br.cond.sptk"), Vec::new(), vec![Operand::Block(block)])
                .under(predicate)
        };
        let work = Operation {
            mnemonic: op!("br.ret.sptk.many"),
            sources: smallvec::SmallVec::new(),
            ..to(0, None)
        };
        let block = |operations: Vec<Operation>| Block {
            operations,
            ..Block::default()
        };
        function.blocks = vec![
            block(vec![to(2, Some(p)), to(1, None)]),
            block(vec![to(3, None)]),
            block(vec![to(3, None)]),
            block(vec![work.clone()]),
        ];
        jumps(&mut function);
        assert_eq!(function.blocks[0].operations, [to(3, Some(p))]);
        assert!(function.blocks[1].operations.is_empty());
        assert!(function.blocks[2].operations.is_empty());
        assert_eq!(function.blocks[3].operations, [work]);
    }
}
