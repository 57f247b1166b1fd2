//! The simple analysis of section 3.3: uniform or divergent. All variables start uniform; divergence comes from `Tid` and
//! atomics and flows along data dependence and from the predicates of γ and η (rules TIDD to RMUD, Figure 10).
//!
//! Sweeps until nothing changes; each sweep but the last makes a variable divergent, so it ends.

use super::{NotGated, Variables};
use smol_str::SmolStr;
use syntax::musimd::{InstructionKind, Operand, Program};

/// Returns for each variable whether it is divergent: parameters first, then in text order of their
/// definition.
pub fn analyze(program: &Program) -> Result<Vec<(SmolStr, bool)>, NotGated> {
    let variables = Variables::of(program)?;
    let mut divergent = vec![false; variables.names.len()];
    loop {
        let mut changed = false;
        for instruction in &program.instructions {
            let varies = |operand: &Operand| match operand {
                Operand::Tid(_) => true,
                Operand::Literal(..) => false,
                Operand::Variable(_) => variables
                    .index(operand)
                    .is_some_and(|number| divergent[number]),
            };
            let results: Vec<bool> = match &instruction.kind {
                InstructionKind::Atomic { .. } => vec![true],
                InstructionKind::Mu { results, rows } => (0..results.len())
                    .map(|column| rows.iter().filter_map(|row| row.get(column)).any(varies))
                    .collect(),
                InstructionKind::Gamma {
                    predicate,
                    if_true,
                    if_false,
                    ..
                } => {
                    let split = varies(predicate);
                    if_true
                        .iter()
                        .zip(if_false)
                        .map(|(a, b)| split || varies(a) || varies(b))
                        .collect()
                }
                InstructionKind::Eta {
                    predicate, values, ..
                } => {
                    let split = varies(predicate);
                    values.iter().map(|value| split || varies(value)).collect()
                }
                InstructionKind::Invalid { results } => vec![true; results.len()],
                other => vec![other.operands().into_iter().any(varies); other.results().len()],
            };
            for (name, varies) in instruction.kind.results().iter().zip(results) {
                if let Some(&number) = variables.number.get(&name.text)
                    && varies
                    && !divergent[number]
                {
                    divergent[number] = true;
                    changed = true;
                }
            }
        }
        if !changed {
            return Ok(variables.names.into_iter().zip(divergent).collect());
        }
    }
}
