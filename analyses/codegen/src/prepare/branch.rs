//! Branches on constants become jumps; blocks that only they led to are removed.
//!
//! ```text
//! b5: branch true, b7, b4      b4 is no way on from b5, so that b5 is no part of the loop that b4 ends
//! ```

use ir::cfg::ControlFlow;
use ir::{Function, Terminator};

pub(super) fn settle(function: &mut Function) {
    for block in function.layout.clone() {
        let known = match &function.blocks[block].terminator {
            Terminator::Branch {
                condition,
                then,
                otherwise,
                ..
            } => function
                .int_constant(*condition)
                .map(|number| match number {
                    0 => otherwise.clone(),
                    _ => then.clone(),
                }),
            Terminator::Switch {
                value,
                cases,
                default,
            } => function.int_constant(*value).map(|number| {
                let case = cases.iter().find(|(case, _)| *case == number);
                case.map_or(default, |(_, edge)| edge).clone()
            }),
            _ => None,
        };
        if let Some(edge) = known {
            function.blocks[block].terminator = Terminator::Jump(edge);
        }
    }
    let reached = ControlFlow::new(function);
    function.layout.retain(|&block| reached.is_reachable(block));
}
