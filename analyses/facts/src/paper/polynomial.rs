//! The affine analysis of section 3.4 and its extension to polynomials of degree D: for every variable a state
//! a_D·Tid^D + … + a_0. Degree 1 is the paper's affine analysis, degree 2 its "polynomial constraints".
//!
//! ```text
//! i = Tid;  x = i + 1;  L = c × x      =>  degree 1: i (1,0), x (1,1), L (⊥,⊥); degree 2: L (0,⊥,⊥)
//! ```
//!
//! Sweeps in text order until nothing changes; a coefficient falls at most twice, so there are at most 2(D+1) + 1
//! sweeps a variable. Rules TIDA to RMUA are reconstructed from Figures 2, 10, 12, 14 and 15 and the proof of Theorem 3.3.
//! It does not see temporal divergence but through η, and assumes single-entry single-exit regions, as the paper does.

use super::{Coefficient, NotGated, State, Variables};
use smol_str::SmolStr;
use syntax::musimd::{InstructionKind, Operand, Operator, Program};

/// The states of all variables: parameters first, then in text order of their definition.
pub fn analyze(program: &Program, degree: usize) -> Result<Vec<(SmolStr, State)>, NotGated> {
    let variables = Variables::of(program)?;
    let mut solver = Solver {
        degree,
        states: vec![State::top(degree); variables.names.len()],
        variables: &variables,
    };
    for state in &mut solver.states[..variables.parameters] {
        *state = State::uniform(degree, Coefficient::Bottom);
    }
    while program
        .instructions
        .iter()
        .fold(false, |changed, i| solver.step(&i.kind) | changed)
    {}
    Ok(variables.names.iter().cloned().zip(solver.states).collect())
}

struct Solver<'a> {
    degree: usize,
    states: Vec<State>,
    variables: &'a Variables,
}

impl Solver<'_> {
    fn state(&self, operand: &Operand) -> State {
        match operand {
            Operand::Tid(_) => State::thread(self.degree),
            Operand::Literal(c, _) => State::uniform(self.degree, Coefficient::Known(*c)),
            Operand::Variable(_) => match self.variables.index(operand) {
                Some(number) => self.states[number].clone(),
                None => State::bottom(self.degree),
            },
        }
    }

    /// Applies one instruction's rule; says whether a state fell.
    fn step(&mut self, kind: &InstructionKind) -> bool {
        let bottom = State::bottom(self.degree);
        let unknown_uniform = State::uniform(self.degree, Coefficient::Bottom);
        let transferred: Vec<State> = match kind {
            // ATMA
            InstructionKind::Atomic { .. } => vec![bottom],
            // LDUA, LDDA
            InstructionKind::Load { address, .. } => {
                let address = self.state(address);
                vec![if address.is_top() {
                    address
                } else if address.is_uniform() {
                    unknown_uniform
                } else {
                    bottom
                }]
            }
            // ASGA, CNTA, TIDA
            InstructionKind::Copy { value, .. } => vec![self.state(value)],
            InstructionKind::Binary {
                operator,
                left,
                right,
                ..
            } => {
                vec![binary(*operator, &self.state(left), &self.state(right))]
            }
            // RMUA
            InstructionKind::Mu { results, rows } => (0..results.len())
                .map(|column| {
                    rows.iter()
                        .filter_map(|row| row.get(column))
                        .fold(State::top(self.degree), |state, operand| {
                            state.meet(&self.state(operand))
                        })
                })
                .collect(),
            // GAMA, PDVA
            InstructionKind::Gamma {
                predicate,
                if_true,
                if_false,
                ..
            } => {
                let uniform = self.state(predicate).is_uniform();
                let merge = |(a, b): (&Operand, &Operand)| {
                    if uniform {
                        self.state(a).meet(&self.state(b))
                    } else {
                        bottom.clone()
                    }
                };
                if_true.iter().zip(if_false).map(merge).collect()
            }
            // ETAA, PDVA
            InstructionKind::Eta {
                predicate, values, ..
            } => {
                let uniform = self.state(predicate).is_uniform();
                values
                    .iter()
                    .map(|value| {
                        if uniform {
                            self.state(value)
                        } else {
                            bottom.clone()
                        }
                    })
                    .collect()
            }
            InstructionKind::Invalid { results } => vec![bottom; results.len()],
            _ => return false,
        };
        let mut changed = false;
        for (name, new) in kind.results().iter().zip(transferred) {
            if let Some(&number) = self.variables.number.get(&name.text) {
                let met = self.states[number].meet(&new);
                changed |= met != self.states[number];
                self.states[number] = met;
            }
        }
        changed
    }
}

/// SUMA, MLVA, MLCA, GBZA, GBNA; a comparison is that of the difference with 0 (notes, 6.4).
fn binary(operator: Operator, left: &State, right: &State) -> State {
    let degree = left.degree();
    if left.is_top() || right.is_top() {
        return State::top(degree);
    }
    match operator {
        Operator::Add => left.plus(right),
        Operator::Sub => left.plus(&right.negated()),
        Operator::Mul => left.times(right),
        Operator::ShiftLeft
            if right.is_uniform() && matches!(right.constant(), Coefficient::Known(0..=62)) =>
        {
            let Coefficient::Known(by) = right.constant() else {
                return State::bottom(degree);
            };
            left.times(&State::uniform(degree, Coefficient::Known(1 << by)))
        }
        operator if operator.is_comparison() => {
            let difference = left.plus(&right.negated());
            if !difference.is_uniform() {
                return State::bottom(degree);
            }
            let folded = match difference.constant() {
                Coefficient::Known(d) => Coefficient::Known(i64::from(holds(operator, d))),
                other => other,
            };
            State::uniform(degree, folded)
        }
        operator if left.is_uniform() && right.is_uniform() => {
            let folded = match (left.constant(), right.constant()) {
                (Coefficient::Known(a), Coefficient::Known(b)) => {
                    fold(operator, a, b).map_or(Coefficient::Bottom, Coefficient::Known)
                }
                _ => Coefficient::Bottom,
            };
            State::uniform(degree, folded)
        }
        _ => State::bottom(degree),
    }
}

/// Returns true if `left operator right` holds when left - right is `difference`.
fn holds(operator: Operator, difference: i64) -> bool {
    match operator {
        Operator::Less => difference < 0,
        Operator::LessEqual => difference <= 0,
        Operator::Greater => difference > 0,
        Operator::GreaterEqual => difference >= 0,
        Operator::Equal => difference == 0,
        _ => difference != 0,
    }
}

/// `None`: not defined, as a division by a value that is 0 for the moment.
fn fold(operator: Operator, a: i64, b: i64) -> Option<i64> {
    match operator {
        Operator::Div => a.checked_div(b),
        Operator::Rem => a.checked_rem(b),
        Operator::And => Some(a & b),
        Operator::Or => Some(a | b),
        Operator::Xor => Some(a ^ b),
        Operator::ShiftLeft => u32::try_from(b)
            .ok()
            .filter(|&b| b < 63)
            .and_then(|b| a.checked_mul(1 << b)),
        Operator::ShiftRight => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)),
        _ => None,
    }
}
