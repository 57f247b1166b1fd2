//! Blocks without instructions that branch on a parameter of their own: predecessors decide by themselves. It is how `a && b`
//! as a loop's condition becomes two ways out.
//!
//! Stops: every block is passed by once.

use ir::{Block, BranchKind, Edge, Function, Terminator, Value, ValueDef};

pub(super) fn thread(function: &mut Function) {
    for block in function.layout.clone() {
        if block != function.entry() {
            pass_by(function, block);
        }
    }
    let reached = ir::cfg::ControlFlow::new(function);
    function.layout.retain(|&block| reached.is_reachable(block));
}

fn pass_by(function: &mut Function, block: Block) {
    let data = &function.blocks[block];
    let Terminator::Branch {
        condition,
        then,
        otherwise,
        uniform,
    } = data.terminator.clone()
    else {
        return;
    };
    let own =
        |value: Value| matches!(function.values[value].def, ValueDef::Param(at, _) if at == block);
    if !data.insts.is_empty() || !own(condition) || then.block == block || otherwise.block == block
    {
        return;
    }
    let params = data.params.clone();
    if used_elsewhere(function, block) {
        return;
    }
    let kind = data.branch;
    let given = |edge: &Edge, value: Value| {
        let at = params.iter().position(|&param| param == value);
        at.and_then(|at| edge.args.get(at).copied())
            .unwrap_or(value)
    };
    let through = |edge: &Edge, on: &Edge| Edge {
        block: on.block,
        args: on.args.iter().map(|&arg| given(edge, arg)).collect(),
    };
    for before in function.layout.clone() {
        let own = function.blocks[before].terminator.clone();
        let constant = |value: Value| function.int_constant(value).map(|it| it & 1 != 0);
        let changed = match own {
            Terminator::Jump(edge) if edge.block == block => {
                let value = given(&edge, condition);
                Some((
                    match constant(value) {
                        Some(known) => {
                            Terminator::Jump(through(&edge, if known { &then } else { &otherwise }))
                        }
                        None => Terminator::Branch {
                            condition: value,
                            then: through(&edge, &then),
                            otherwise: through(&edge, &otherwise),
                            uniform,
                        },
                    },
                    kind,
                ))
            }
            Terminator::Branch {
                condition: test,
                then: yes,
                otherwise: no,
                uniform,
            } if yes.block == block || no.block == block => {
                let on = |edge: Edge, taken: bool| {
                    if edge.block != block {
                        return edge;
                    }
                    let value = given(&edge, condition);
                    let known = if value == test {
                        Some(taken)
                    } else {
                        constant(value)
                    };
                    match known {
                        Some(true) => through(&edge, &then),
                        Some(false) => through(&edge, &otherwise),
                        None => edge,
                    }
                };
                Some((
                    Terminator::Branch {
                        condition: test,
                        then: on(yes, true),
                        otherwise: on(no, false),
                        uniform,
                    },
                    BranchKind::default(),
                ))
            }
            _ => None,
        };
        if let Some((terminator, branch)) = changed {
            let data = &mut function.blocks[before];
            if data.branch == BranchKind::Implied {
                data.branch = branch;
            }
            data.terminator = terminator;
        }
    }
}

/// Returns true if a parameter of the block is read by anything but its own end.
fn used_elsewhere(function: &Function, block: Block) -> bool {
    let own =
        |value: Value| matches!(function.values[value].def, ValueDef::Param(at, _) if at == block);
    function.layout.iter().any(|&other| {
        let data = &function.blocks[other];
        let mut insts = data.insts.iter();
        insts.any(|&inst| function.insts[inst].operands().any(own))
            || (other != block && data.terminator.operands().any(own))
    })
}
