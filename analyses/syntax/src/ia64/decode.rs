//! Instructions of a text as those of the table: the mnemonic, and the meaning of its operands with the names
//! in force.
//!
//! ```text
//! (p16) ld8.s r32 = [r5], 8      M; reads p16 r5, writes r32 r5; loads 8 bytes at r5
//! ```
//!
//! An instruction that is not in the table is opaque: it reads and writes everything, and nothing moves across it.

use super::Instruction;
use super::names::Names;
use isa::ia64::Inst;
use isa::ia64::{Mnemonic, Operands, Undescribed, UnknownMnemonic, effects};

/// The reason why an instruction is opaque.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Opaque {
    #[error(transparent)]
    Mnemonic(#[from] UnknownMnemonic),
    #[error(transparent)]
    Operands(#[from] Undescribed),
}

/// Returns the effect of the instruction with the names in force in front of it, and the reason where it is
/// opaque.
#[must_use]
pub fn decode(text: &Instruction, names: &Names) -> (Inst, Option<Opaque>) {
    match Mnemonic::parse(&text.mnemonic) {
        Ok(mnemonic) => {
            let meanings = |operands: &[super::Operand]| -> Vec<_> {
                operands
                    .iter()
                    .map(|operand| names.meaning(operand))
                    .collect()
            };
            let operands = Operands {
                targets: &meanings(&text.targets),
                sources: &meanings(&text.sources),
            };
            let predicate = text.predicate.as_ref().map(|name| names.meaning(name));
            match effects(mnemonic, predicate, operands) {
                Ok(inst) => (inst, None),
                Err(reason) => (Inst::opaque(), Some(reason.into())),
            }
        }
        Err(unknown) => (Inst::opaque(), Some(unknown.into())),
    }
}
