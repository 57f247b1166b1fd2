//! Dominators and post-dominators of random graphs, against the definition.

use fixedbitset::FixedBitSet;
use lockstep_ir::builder::FunctionBuilder;
use lockstep_ir::cfg::ControlFlow;
use lockstep_ir::dominators::DominatorTree;
use lockstep_ir::entity::Entity;
use lockstep_ir::*;
use oracle::random::Random;

/// A function of `count` blocks with random edges; the entry has no predecessors.
fn graph(random: &mut Random, count: u32) -> Function {
    let mut b = FunctionBuilder::new("f", FunctionKind::Kernel, Language::Text);
    let condition = b.bool(true);
    let value = b.int(Type::I32, 0);
    let blocks: Vec<Block> = (1..count).map(|_| b.create_block()).collect();
    for from in 0..count {
        b.switch_to(Block(from));
        let to = |random: &mut Random| blocks[random.below(count - 1) as usize];
        match random.below(8) {
            0 => b.ret([]),
            1..=3 => b.jump(to(random)),
            4..=6 => b.branch(condition, to(random), to(random), BranchKind::If),
            _ => {
                let cases = (0..3).map(|n| (n, Edge::to(to(random)))).collect();
                let default = Edge::to(to(random));
                let terminator = Terminator::Switch {
                    value,
                    cases,
                    default,
                };
                b.terminate(terminator, BranchKind::Switch);
            }
        }
    }
    b.finish()
}

/// Returns the blocks that are reached from `starts` without entering `avoided`.
fn reach(
    starts: &[Block],
    avoided: Option<Block>,
    next: &dyn Fn(Block) -> Vec<Block>,
    count: usize,
) -> FixedBitSet {
    let mut seen = FixedBitSet::with_capacity(count);
    let mut stack: Vec<Block> = starts.to_vec();
    while let Some(block) = stack.pop() {
        if Some(block) != avoided && !seen.put(block.index()) {
            stack.extend(next(block));
        }
    }
    seen
}

#[test]
fn dominators_are_those_of_the_definition() {
    let mut random = Random::new(1);
    for round in 0..600 {
        let f = graph(&mut random, 2 + round % 23);
        let flow = ControlFlow::new(&f);
        let tree = DominatorTree::dominators(&flow);
        let next = |b: Block| flow.successors[b].to_vec();
        for &above in &flow.order {
            let without = reach(&[flow.order[0]], Some(above), &next, f.blocks.len());
            for &below in &flow.order {
                let dominates = !without[below.index()];
                assert_eq!(tree.dominates(above, below), dominates);
            }
        }
        check_tree(&flow, &tree);
    }
}

#[test]
fn post_dominators_are_those_of_the_definition() {
    let mut random = Random::new(2);
    for round in 0..600 {
        let f = graph(&mut random, 2 + round % 23);
        let flow = ControlFlow::new(&f);
        let tree = DominatorTree::post_dominators(&flow);
        let back = |b: Block| flow.predecessors[b].to_vec();
        let mut ends: Vec<Block> = flow.order.clone();
        ends.retain(|&b| flow.successors[b].is_empty());
        let ending = reach(&ends, None, &back, f.blocks.len());
        // Where every block can end, the definition leaves no choice.
        if flow.order.iter().all(|b| ending[b.index()]) {
            for &above in &flow.order {
                let without = reach(&ends, Some(above), &back, f.blocks.len());
                for &below in &flow.order {
                    assert_eq!(tree.dominates(above, below), !without[below.index()]);
                }
            }
        }
        check_tree(&flow, &tree);
    }
}

/// Every reachable block is in the tree once, after its parent, which is its nearest strict dominator.
fn check_tree(flow: &ControlFlow, tree: &DominatorTree) {
    let mut blocks = tree.preorder().to_vec();
    blocks.sort();
    let mut order = flow.order.clone();
    order.sort();
    assert_eq!(blocks, order);
    for &block in &flow.order {
        let nearest = flow
            .order
            .iter()
            .copied()
            .filter(|&above| tree.strictly_dominates(above, block))
            .max_by_key(|&above| tree.depth(above));
        assert_eq!(tree.immediate(block), nearest);
    }
}
