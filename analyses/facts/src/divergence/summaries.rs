//! Results of calls that were not inlined: for each function, how uniform its results are if all arguments have at
//! least a given level. Starts from "uniform" and repeats until nothing falls, which settles recursion; a result falls
//! four times at most.

use super::engine::{DISPATCH, Engine, Level, Summaries, scope_of};
use crate::model::Options;
use ir::{FunctionKind, Module, Op, Terminator};

pub(crate) fn solve(module: &Module, options: &Options) -> Summaries {
    let mut summaries: Summaries = vec![[DISPATCH; 5]; module.functions.len()];
    let called: Vec<bool> = {
        let mut called = vec![false; module.functions.len()];
        for function in &module.functions {
            for inst in function.insts.values() {
                if let Op::Call(callee) = inst.op
                    && let Some(flag) = called.get_mut(callee as usize)
                {
                    *flag = true;
                }
            }
        }
        called
    };
    if !called.contains(&true) {
        return summaries;
    }
    loop {
        let mut changed = false;
        for (index, function) in module.functions.iter().enumerate() {
            if !called[index] {
                continue;
            }
            for level in 0..=DISPATCH {
                let mut inner = options.clone();
                inner.parameters = vec![scope_of(level); function.parameters.len()];
                inner.reached = None;
                let mut engine = Engine::new(function, module, &inner, &summaries);
                engine.solve();
                let result = if function.kind == FunctionKind::Device {
                    results(&engine)
                } else {
                    0
                };
                let old = &mut summaries[index][level as usize];
                if result < *old {
                    *old = result;
                    changed = true;
                }
            }
        }
        if !changed {
            return summaries;
        }
    }
}

/// The least uniform result. Lanes that return from different places carry different values.
fn results(engine: &Engine<'_>) -> Level {
    let function = engine.function;
    let mut level = DISPATCH;
    let mut returns = 0;
    for &block in &function.layout {
        if let Terminator::Return(values) = &function.blocks[block].terminator {
            returns += 1;
            for &value in values {
                level = level.min(engine.level_at(value, block));
            }
        }
    }
    if returns > 1 && !function.returns.is_empty() {
        // Which return a lane takes is decided by every branch.
        for &block in &function.layout {
            level = level.min(engine.branch_level[block]);
        }
    }
    // Lanes may return in different iterations of a loop.
    for l in engine.forest.loops.keys() {
        level = level.min(engine.taint[l].max(if function.returns.is_empty() {
            DISPATCH
        } else {
            0
        }));
    }
    level
}
