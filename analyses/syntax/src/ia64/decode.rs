//! Instructions of a text as those of the table: the mnemonic, and what its operands mean with the names in force.
//!
//! ```text
//! (p16) ld8.s r32 = [r5], 8      M; reads p16 r5, writes r32 r5; loads 8 bytes at r5
//! ```
//!
//! An instruction that is not in the table is opaque: it reads and writes everything, and nothing moves across it.

use super::Instruction;
use super::names::Names;
use isa::ia64::Inst;
use isa::ia64::{Mnemonic, Operands, effects};

/// Why an instruction is opaque.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opaque {
    pub reason: String,
}

/// Returns what the instruction does with the names in force in front of it, and why where it is opaque.
#[must_use]
pub fn decode(text: &Instruction, names: &Names) -> (Inst, Option<Opaque>) {
    match Mnemonic::parse(&text.mnemonic) {
        Ok(mnemonic) => {
            let meanings = |operands: &[super::Operand]| -> Vec<_> {
                operands.iter().map(|one| names.meaning(one)).collect()
            };
            let operands = Operands {
                targets: &meanings(&text.targets),
                sources: &meanings(&text.sources),
            };
            let predicate = text.predicate.as_ref().map(|one| names.meaning(one));
            match effects(mnemonic, predicate, operands) {
                Ok(inst) => (inst, None),
                Err(reason) => opaque(reason.to_string()),
            }
        }
        Err(unknown) => opaque(unknown.to_string()),
    }
}

fn opaque(reason: String) -> (Inst, Option<Opaque>) {
    (Inst::opaque(), Some(Opaque { reason }))
}
