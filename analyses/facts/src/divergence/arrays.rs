//! Private arrays (`Alloca`) whose address does not escape: what they hold is as uniform as the least uniform value,
//! offset and execution of the stores into them.

use super::engine::{DISPATCH, Engine, Level};
use ir::{Block, Inst, Op, Value};

/// Finds the arrays and the addresses in them.
pub(crate) fn find(engine: &mut Engine<'_>) {
    let function = engine.function;
    engine.array_of = vec![None; function.values.len()];
    let mut escaped = Vec::new();
    let mut loads = Vec::new();
    for &block in &engine.flow.order {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let array = match data.op {
                Op::Alloca { .. } => {
                    escaped.push(false);
                    Some(escaped.len() as u32 - 1)
                }
                Op::PtrAdd => data.args.first().and_then(|&base| engine.array_of(base)),
                _ => None,
            };
            if array.is_some() {
                for &result in &data.results {
                    engine.array_of[result.0 as usize] = array;
                }
            }
            if let (Op::Load(_), Some(&address)) = (&data.op, data.args.first())
                && engine.array_of(address).is_some()
            {
                loads.push((address, inst));
            }
            for (index, &arg) in data.args.iter().enumerate() {
                let fine = index == 0 && matches!(data.op, Op::PtrAdd | Op::Load(_) | Op::Store(_));
                if let Some(array) = engine.array_of(arg)
                    && !fine
                {
                    escaped[array as usize] = true;
                }
            }
        }
        for edge in function.blocks[block].terminator.edges() {
            for &arg in &edge.args {
                if let Some(array) = engine.array_of(arg) {
                    escaped[array as usize] = true;
                }
            }
        }
        if let ir::Terminator::Return(values) = &function.blocks[block].terminator {
            for &value in values {
                if let Some(array) = engine.array_of(value) {
                    escaped[array as usize] = true;
                }
            }
        }
    }
    for _ in &escaped {
        engine.add_array();
    }
    for value in function.values.keys() {
        if engine.array_of(value).is_some_and(|a| escaped[a as usize]) {
            engine.array_of[value.0 as usize] = None;
        }
    }
    for (address, inst) in loads {
        if let Some(array) = engine.array_of(address) {
            engine.reads_array(array, inst);
        }
    }
}

/// The uniformity of an address's offset in its array.
pub(crate) fn offset_level(engine: &Engine<'_>, address: Value, block: Block) -> Level {
    engine
        .level_at(address, block)
        .max(if engine.cells[address].form.assumed {
            0
        } else {
            let values = engine.function.values.len() as u32;
            engine.cells[address]
                .form
                .terms
                .iter()
                .filter(|t| {
                    // The base itself is the same place in every lane's memory.
                    !(t.coefficient == 1
                        && t.factors.len() == 1
                        && t.factors[0] < values
                        && matches!(
                            engine.function.defining(Value(t.factors[0])).map(|d| &d.op),
                            Some(Op::Alloca { .. })
                        ))
                })
                .map(|t| engine.term_level(&t.factors, block))
                .min()
                .unwrap_or(DISPATCH)
        })
}

/// A store into an array.
pub(crate) fn store(engine: &mut Engine<'_>, block: Block, inst: Inst) {
    let data = &engine.function.insts[inst];
    let Some((&address, values)) = data.args.split_first() else {
        return;
    };
    let Some(array) = engine.array_of(address) else {
        return;
    };
    let mut level = offset_level(engine, address, block).min(engine.executed[block]);
    for &value in values {
        level = level.min(engine.level_at(value, block));
    }
    if let Some(guard) = &data.guard {
        level = level.min(engine.level_at(guard.value, block));
    }
    engine.lower_array(array, level);
}
