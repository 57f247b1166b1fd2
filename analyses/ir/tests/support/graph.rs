//! Flow graphs by their edges.

use lockstep_ir::builder::FunctionBuilder;
use lockstep_ir::cfg::ControlFlow;
use lockstep_ir::{Block, BranchKind, Edge, FunctionKind, Language, Terminator, Type};
use smallvec::SmallVec;

/// A flow graph from successor lists; block 0 is the entry.
pub(crate) fn graph(successors: &[&[u32]]) -> ControlFlow {
    let mut builder = FunctionBuilder::new("g", FunctionKind::Kernel, Language::Text);
    for _ in 1..successors.len() {
        builder.create_block();
    }
    let selector = builder.int(Type::I32, 0);
    for (block, targets) in successors.iter().enumerate() {
        builder.switch_to(Block(block as u32));
        let terminator = match *targets {
            [] => Terminator::Return(SmallVec::new()),
            [only] => Terminator::Jump(Edge::to(Block(*only))),
            [default, cases @ ..] => Terminator::Switch {
                value: selector,
                cases: cases
                    .iter()
                    .enumerate()
                    .map(|(i, &b)| (i as i64, Edge::to(Block(b))))
                    .collect(),
                default: Edge::to(Block(*default)),
            },
        };
        builder.terminate(terminator, BranchKind::Implied);
    }
    ControlFlow::new(&builder.function)
}
