//! What issues in one set: instructions, units, words, and the conditions that a set may mix.

use super::code::{Operand, Operation, is_move};
use crate::mir::packer::Packer;
use isa::sc140::{Condition, Opcode, Unit};

/// Instructions of a set, those of the data and the address units, of the bit-mask unit, words of instructions beside the
/// longest prefix; then instructions under T, under its complement, and always.
type Counts = [u32; 8];

const INSTRUCTIONS: usize = 0;
const DATA: usize = 1;
const ADDRESS: usize = 2;
const MASK: usize = 3;
const WORDS: usize = 4;
const WHERE_SET: usize = 5;
const WHERE_CLEAR: usize = 6;
const ALWAYS: usize = 7;

/// Limits of the first five.
const MOST: [u32; 5] = [6, 4, 2, 1, 6];
/// Words beside which a set of one instruction needs no room for others.
const WEIGHTS: [u32; 5] = [167, 250, 500, 1000, 167];

/// What each of some operations asks of its set.
#[derive(Clone, PartialEq, Debug)]
pub struct Demands(Vec<Counts>);

impl Demands {
    #[must_use]
    pub fn of(operations: &[Operation]) -> Demands {
        Demands(operations.iter().map(counts).collect())
    }
}

fn counts(operation: &Operation) -> Counts {
    let mut out = [0; 8];
    let opcode = operation.mnemonic.opcode;
    // The mark of a loop is a bit of its set's prefix.
    if matches!(opcode, Opcode::Lpmarka | Opcode::Lpmarkb) {
        return out;
    }
    out[INSTRUCTIONS] = 1;
    match operation.mnemonic.row().unit {
        Unit::Data => out[DATA] = 1,
        Unit::Mask => (out[ADDRESS], out[MASK]) = (1, 1),
        Unit::Address | Unit::Flow | Unit::Loop | Unit::Program => out[ADDRESS] = 1,
    }
    out[WORDS] = words(operation);
    let group = match operation.mnemonic.condition {
        Condition::True => WHERE_SET,
        Condition::False => WHERE_CLEAR,
        Condition::Always => ALWAYS,
    };
    out[group] = 1;
    out
}

/// Words of an instruction, the most that its operands may take once they are known.
pub(super) fn words(operation: &Operation) -> u32 {
    let opcode = operation.mnemonic.opcode;
    let row = operation.mnemonic.row();
    let number = operation.sources.iter().find_map(|source| match source {
        Operand::Number(number) => Some(*number),
        _ => None,
    });
    let symbol = |operand: &Operand| matches!(operand, Operand::Symbol(_));
    let frame = |operand: &Operand| matches!(operand, Operand::Frame(_));
    if operation.sources.iter().any(symbol) {
        return 3;
    }
    if operation.sources.iter().any(frame) {
        return 2;
    }
    let addressed = operation
        .targets
        .iter()
        .chain(&operation.sources)
        .any(|operand| matches!(operand, Operand::Address(_)));
    match (row.unit, number) {
        (Unit::Flow, _) if opcode != Opcode::Rts => 2,
        (Unit::Loop, Some(0..=63)) => 1,
        (Unit::Loop, None) if opcode != Opcode::Dosetup => 1,
        (Unit::Loop, _) => 2,
        (_, Some(number)) if is_move(opcode) && !addressed => match number {
            -64..=63 if opcode != Opcode::MoveF => 1,
            -0x8000..=0x7fff => 2,
            _ => 3,
        },
        (_, Some(number)) if is_move(opcode) || matches!(opcode, Opcode::Mac | Opcode::Mpy) => {
            1 + u32::from(number == i64::MAX)
        }
        (_, Some(0..=31)) if row.operands.contains("#u5") => 1,
        (_, Some(_)) => 2,
        _ => 1,
    }
}

impl Packer for Demands {
    type Demand = Counts;

    fn add(&self, demand: &mut Counts, operation: u32) {
        for (sum, count) in demand.iter_mut().zip(self.0[operation as usize]) {
            *sum += count;
        }
    }
    fn remove(&self, demand: &mut Counts, operation: u32) {
        for (sum, count) in demand.iter_mut().zip(self.0[operation as usize]) {
            *sum -= count;
        }
    }
    fn kind(&self, operation: u32) -> usize {
        operation as usize
    }
    fn kinds(&self) -> usize {
        self.0.len()
    }
    fn fits(&self, demand: &Counts) -> bool {
        let within = demand.iter().zip(MOST).all(|(count, most)| *count <= most);
        // A set has two groups at most.
        let groups = demand[WHERE_SET..].iter().filter(|count| **count > 0);
        within && groups.count() < 3
    }
    fn res_mii(&self) -> u32 {
        let mut all = Counts::default();
        (0..self.0.len() as u32).for_each(|operation| self.add(&mut all, operation));
        let cycles = all.iter().zip(MOST);
        cycles
            .map(|(count, most)| count.div_ceil(most))
            .max()
            .unwrap_or(0)
    }
    fn scarcity(&self) -> Vec<u32> {
        let share = |counts: &Counts| {
            let shares = counts.iter().zip(WEIGHTS);
            shares
                .map(|(count, weight)| count * weight)
                .max()
                .unwrap_or(0)
        };
        self.0.iter().map(share).collect()
    }
}
