//! Control flow without structure: blocks in a row with random edges. Every jump backwards passes through a block
//! that burns fuel and leaves for the exit when it is used up.

use super::emit::Emitter;
use ir::builder::Slot;
use ir::dominators::semi_nca;
use ir::entity::Block;
use ir::function::{BranchKind, Edge, Terminator};
use ir::inst::*;
use ir::types::Type;

/// Emits the blocks after the current one. Says how often one instruction may be executed.
pub(super) fn body(e: &mut Emitter<'_>) -> u64 {
    let count = e.shape.blocks.max(2) as usize;
    let targets = skeleton(e, count);
    let blocks: Vec<Block> = (0..count).map(|_| e.b.create_block()).collect();
    let exit = e.b.create_block();
    let fuel = e.b.slot(Type::I32);
    let start = e.b.int(Type::I32, i64::from(e.shape.fuel));
    e.b.write(fuel, start);
    e.b.jump(blocks[0]);

    // In the dominator tree's order a block may use what its dominators computed.
    let children = dominator_children(&targets);
    let mut stack = vec![(0usize, e.pool.len())];
    while let Some((number, mark)) = stack.pop() {
        e.pool.truncate(mark);
        e.b.switch_to(blocks[number]);
        e.block();
        e.step();
        let next: Vec<Block> = targets[number]
            .iter()
            .map(|&target| match target {
                Target::Exit => exit,
                Target::Block(to) if to <= number => backwards(e, fuel, blocks[to], exit),
                Target::Block(to) => blocks[to],
            })
            .collect();
        e.b.switch_to(blocks[number]);
        terminate(e, &next);
        let mark = e.pool.len();
        stack.extend(children[number].iter().map(|&child| (child, mark)));
    }
    e.pool.clear();
    e.b.switch_to(exit);
    e.leave();
    u64::from(e.shape.fuel) + 1
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Block(usize),
    Exit,
}

/// Up to four targets a block; the next block is likely, so that most blocks are reachable.
fn skeleton(e: &mut Emitter<'_>, count: usize) -> Vec<Vec<Target>> {
    (0..count)
        .map(|number| {
            let ways = match e.random.below(10) {
                0..=1 => 1,
                2..=8 => 2,
                _ if e.shape.switches => 2 + e.random.below(3),
                _ => 2,
            };
            (0..ways)
                .map(|way| {
                    let to = if way == 0 && e.random.percent(75) {
                        number + 1
                    } else {
                        e.random.below(count as u32 + 1) as usize
                    };
                    if to < count {
                        Target::Block(to)
                    } else {
                        Target::Exit
                    }
                })
                .collect()
        })
        .collect()
}

fn dominator_children(targets: &[Vec<Target>]) -> Vec<Vec<usize>> {
    let count = targets.len();
    let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (from, list) in targets.iter().enumerate() {
        for target in list {
            if let Target::Block(to) = target {
                predecessors[*to].push(from as u32);
            }
        }
    }
    let parents = semi_nca(
        count,
        0,
        |node, out| {
            out.extend(targets[node as usize].iter().filter_map(|t| match t {
                Target::Block(to) => Some(*to as u32),
                Target::Exit => None,
            }));
        },
        |node, out| out.extend(&predecessors[node as usize]),
    );
    let mut children = vec![Vec::new(); count];
    for (node, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent as usize].push(node);
        }
    }
    children
}

/// A block that burns fuel and then goes to `target`, or to the exit.
fn backwards(e: &mut Emitter<'_>, fuel: Slot, target: Block, exit: Block) -> Block {
    let block = e.b.create_block();
    e.b.switch_to(block);
    let left = e.b.read(fuel);
    let one = e.b.int(Type::I32, 1);
    let less = e.b.binary(BinaryOp::Sub, Wrap::NO_SIGNED, left, one);
    e.b.write(fuel, less);
    let zero = e.b.int(Type::I32, 0);
    let more = e.b.int_compare(IntCondition::GreaterSigned, less, zero);
    e.b.branch(more, target, exit, BranchKind::Loop);
    block
}

fn terminate(e: &mut Emitter<'_>, next: &[Block]) {
    if e.shape.kills && e.random.percent(2) {
        e.b.terminate(Terminator::Kill, BranchKind::Implied);
        return;
    }
    match next {
        [] => e.b.terminate(Terminator::Kill, BranchKind::Implied),
        [only] => e.b.jump(*only),
        [then, otherwise] => {
            let condition = e.condition();
            e.b.terminate(
                Terminator::Branch {
                    condition,
                    then: Edge::to(*then),
                    otherwise: Edge::to(*otherwise),
                    uniform: false,
                },
                BranchKind::Jump,
            );
        }
        [default, cases @ ..] => e.switch(cases, *default),
    }
}
