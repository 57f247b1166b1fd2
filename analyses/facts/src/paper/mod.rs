//! The analyses of the paper, exactly as printed, over µ-SIMD programs in gated form: the yardstick for ours.
//!
//! Sampaio, Martins de Souza, Collange, Pereira, *Divergence Analysis*, TOPLAS 35(4), 2013, sections 3.3 and 3.4.

mod algebra;
pub mod polynomial;
pub mod simple;
#[cfg(test)]
mod tests;

pub use algebra::{Coefficient, State};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::musimd::{Operand, Program};

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
