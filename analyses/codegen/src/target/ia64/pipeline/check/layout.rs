//! The mapping of the blocks of a function with a kernel to those of the function before: in front of the
//! loop's start all keep their numbers, behind it all are moved by as many as were put in its place.

use super::Violation;
use crate::predicate::loops::Region;
use crate::target::ia64::code::{Function, Operand, Operation, Virtual};
use isa::ia64::Class;
use isa::ia64::Opcode;

/// The blocks of both functions.
pub(super) struct Layout<'a> {
    region: &'a Region,
    /// Blocks that were put in the place of the loop's first one, that one left out.
    new: u32,
    blocks: u32,
}

impl<'a> Layout<'a> {
    pub(super) fn new(
        before: &Function,
        region: &'a Region,
        after: &Function,
    ) -> Result<Layout<'a>, Violation> {
        let (old, blocks) = (before.blocks.len() as u32, after.blocks.len() as u32);
        let outside = |block: u32| Err(Violation::Outside { block });
        let Some(new) = blocks.checked_sub(old) else {
            return outside(blocks);
        };
        let layout = Layout {
            region,
            new,
            blocks,
        };
        for block in (0..old).filter(|it| !region.blocks.contains(it)) {
            let (left, right) = (
                &before.blocks[block as usize],
                &after.blocks[layout.after(block) as usize],
            );
            let same = |it: (&Operation, &Operation)| layout.is_same(it.0, it.1);
            let operations = left.operations.iter().zip(&right.operations);
            let is_same = left.operations.len() == right.operations.len()
                && left.cycles == right.cycles
                && operations.into_iter().all(same);
            if !is_same {
                return outside(block);
            }
        }
        Ok(layout)
    }

    pub(super) fn header(&self) -> u32 {
        self.region.header
    }

    /// The number of a block in the function with the kernel.
    fn after(&self, block: u32) -> u32 {
        match block > self.header() {
            true => block + self.new,
            false => block,
        }
    }

    /// The number of a block in the function as it was; `None`: it is a new one.
    pub(super) fn before(&self, block: u32) -> Option<u32> {
        match block <= self.header() {
            true => Some(block),
            false => block.checked_sub(self.new).filter(|it| *it > self.header()),
        }
    }

    /// Returns whether a block of the function as it was belongs to the loop.
    pub(super) fn is_inside(&self, block: u32) -> bool {
        self.region.blocks.contains(&block)
    }

    /// Returns whether a block of the function with the kernel stands outside of those that the loop became.
    pub(super) fn is_left(&self, block: u32) -> bool {
        self.before(block).is_some_and(|it| !self.is_inside(it))
    }

    /// The blocks that the loop became.
    pub(super) fn inside(&self) -> impl Iterator<Item = u32> {
        (0..self.blocks).filter(|block| !self.is_left(*block))
    }

    fn is_same(&self, left: &Operation, right: &Operation) -> bool {
        let moved = |operand: &Operand| match operand {
            Operand::Block(block) => Operand::Block(self.after(*block)),
            other => other.clone(),
        };
        let same = |from: &[Operand], to: &[Operand]| {
            from.len() == to.len() && from.iter().zip(to).all(|it| moved(it.0) == *it.1)
        };
        left.mnemonic == right.mnemonic
            && left.predicate == right.predicate
            && left.memory == right.memory
            && same(&left.targets, &right.targets)
            && same(&left.sources, &right.sources)
    }
}

/// Returns for each virtual register whether addresses are made of it, so that it begins as one. It is a
/// guess at initial values with which runs get far.
pub(super) fn addresses(function: &Function) -> Vec<bool> {
    let mut out = vec![false; function.registers.len()];
    let operations = || function.blocks.iter().flat_map(|it| &it.operations);
    let operands = operations().flat_map(|it| it.sources.iter().chain(&it.targets));
    for operand in operands {
        if let (Operand::Address(_), Some(Virtual(register))) =
            (operand, operand.virtual_register())
        {
            out[register as usize] = true;
        }
    }
    let passes_on = |operation: &&Operation| operation.class() == Class::Alu;
    loop {
        let mut grows = false;
        for operation in operations().filter(passes_on) {
            if !operation.writes().any(|it| out[it.0 as usize]) {
                continue;
            }
            // Of scaled sums, what is not scaled.
            let scaled = usize::from(operation.opcode() == Opcode::Shladd);
            let sums = operation.sources.iter().skip(2 * scaled);
            for each in sums.filter_map(Operand::virtual_register) {
                grows |= !std::mem::replace(&mut out[each.0 as usize], true);
            }
        }
        if !grows {
            return out;
        }
    }
}
