//! The analyses of the paper, exactly as printed, over µ-SIMD programs in gated form: the yardstick for ours.
//!
//! Sampaio, Martins de Souza, Collange, Pereira, *Divergence Analysis*, TOPLAS 35(4), 2013, sections 3.3 and 3.4.

mod algebra;
pub mod polynomial;
pub mod simple;
#[cfg(test)]
mod tests;

pub use algebra::{Coefficient, State};

use crate::model::{Cause, Class, Method, Options, ValueFact};
use crate::symbolic::Sum;
use ir::{Function, Variable};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::musimd::{InstructionKind, Operand, Program};

/// Returns the results of the paper's analyses for the variables of a program in gated form, as facts of the
/// function that it was lowered to, sorted. `None`: the full method, or a program in plain form, with `sync`
/// or a variable written twice.
pub fn named(
    program: &Program,
    function: &Function,
    options: &Options,
) -> Option<Vec<(Variable, ValueFact)>> {
    let plain = |kind: &InstructionKind| matches!(kind, InstructionKind::Sync);
    if program.instructions.iter().any(|i| plain(&i.kind)) {
        return None;
    }
    let facts: Vec<(SmolStr, ValueFact)> = match options.method {
        Method::Full => return None,
        Method::Simple => {
            let found = simple::analyze(program).ok()?.into_iter();
            let fact = |divergent| match divergent {
                true => fact(options, Class::Divergent, None, "D".into()),
                false => fact(options, Class::Uniform, None, "U".into()),
            };
            found.map(|(name, varies)| (name, fact(varies))).collect()
        }
        Method::Polynomial(degree) => {
            let degree = usize::from(degree.clamp(1, 2));
            let found = polynomial::analyze(program, degree).ok()?.into_iter();
            let fact = |state: State| {
                let class = if state.is_uniform() {
                    Class::Uniform
                } else if state.is_polynomial() {
                    Class::Affine
                } else {
                    Class::Divergent
                };
                fact(options, class, state.form("Tid"), state.to_string())
            };
            found.map(|(name, state)| (name, fact(state))).collect()
        }
    };
    let variable = |name: &SmolStr| {
        let mut variables = function.variables.iter();
        variables
            .find(|(_, data)| data.name == *name)
            .map(|(v, _)| v)
    };
    let mut named: Vec<(Variable, ValueFact)> = facts
        .into_iter()
        .filter_map(|(name, fact)| Some((variable(&name)?, fact)))
        .collect();
    named.sort_by_key(|(variable, _)| *variable);
    Some(named)
}

fn fact(options: &Options, class: Class, form: Option<Sum>, state: String) -> ValueFact {
    ValueFact {
        class,
        uniform_at: (class == Class::Uniform).then_some(options.scope),
        form: form.into(),
        state: state.into(),
        // The chain is that of the values.
        cause: Cause::None,
        assumed: false,
    }
}

/// The program's variables, numbered: parameters first, then definitions in text order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variables {
    names: Vec<SmolStr>,
    number: FxHashMap<SmolStr, usize>,
    parameters: usize,
}

/// The analyses want every variable to be written once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotGated {
    /// A variable that is written twice.
    pub variable: SmolStr,
}

impl Variables {
    fn of(program: &Program) -> Result<Variables, NotGated> {
        let mut names: Vec<SmolStr> = program
            .parameters()
            .into_iter()
            .map(|name| name.text)
            .collect();
        let parameters = names.len();
        let mut number: FxHashMap<SmolStr, usize> = names
            .iter()
            .cloned()
            .enumerate()
            .map(|(i, n)| (n, i))
            .collect();
        for name in program.instructions.iter().flat_map(|i| i.kind.results()) {
            if number.insert(name.text.clone(), names.len()).is_some() {
                return Err(NotGated {
                    variable: name.text.clone(),
                });
            }
            names.push(name.text.clone());
        }
        Ok(Variables {
            names,
            number,
            parameters,
        })
    }
    fn index(&self, operand: &Operand) -> Option<usize> {
        operand
            .variable()
            .and_then(|name| self.number.get(&name.text).copied())
    }
}
