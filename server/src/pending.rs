//! A walk along causes, until the analysis has its own.

use facts::{Cause, CauseStep, FunctionFacts};
use ir::{Block, Function, Loc, Value};

pub fn chain(
    function: &Function,
    facts: &FunctionFacts,
    value: Value,
    block: Block,
) -> Vec<CauseStep> {
    chain_of_cause(function, facts, facts.at(value, block).cause)
}

pub fn chain_of_cause(
    function: &Function,
    facts: &FunctionFacts,
    mut cause: Cause,
) -> Vec<CauseStep> {
    let mut steps = Vec::new();
    while steps.len() < 64 {
        let (text, loc, next) = match cause {
            Cause::None | Cause::Source => break,
            Cause::Operand(value) | Cause::Memory(value) => {
                let loc = function.defining(value).map_or(Loc::NONE, |inst| inst.loc);
                (
                    format!(
                        "`{}`",
                        facts::name_of(function, value).map_or("value", |name| name)
                    ),
                    loc,
                    value,
                )
            }
            Cause::Branch(block) => match function.blocks[block].terminator.selector() {
                Some(value) => (
                    "a divergent branch decides".to_owned(),
                    function.blocks[block].loc,
                    value,
                ),
                None => break,
            },
            Cause::LeavesLoop { exit, value, .. } => (
                "lanes leave the loop in different iterations".to_owned(),
                function.blocks[exit].loc,
                value,
            ),
        };
        steps.push(CauseStep { text, loc });
        cause = facts.values[next].cause;
    }
    steps
}
