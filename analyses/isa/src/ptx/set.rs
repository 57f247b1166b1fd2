//! The implementation of `InstructionSet`: the questions that passes ask of every instruction set.

use super::{Class, Mnemonic, Register};
use crate::{Branch, InstructionSet};

/// The instruction set that NVIDIA's assembler takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub struct Ptx;

impl InstructionSet for Ptx {
    type Mnemonic = Mnemonic;
    type Class = Class;
    type Register = Register;

    fn class(register: Register) -> Class {
        register.class
    }
    fn is_constant(_: Register) -> bool {
        false
    }
    fn is_guard(class: Class) -> bool {
        class == Class::Predicate
    }
    fn branch(mnemonic: Mnemonic) -> Option<Branch> {
        Some(match mnemonic.opcode().name() {
            "bra" | "brx" => Branch::Jump,
            "call" => Branch::Call,
            "ret" | "exit" | "trap" => Branch::Return,
            _ => return None,
        })
    }
    fn steps(_: Mnemonic, _: usize, _: usize) -> bool {
        false
    }
    fn executes_where_held(mnemonic: Mnemonic) -> bool {
        !mnemonic.is_negated()
    }
    fn overwrites(_: Mnemonic, guarded: bool) -> bool {
        !guarded
    }
    fn accumulates(mnemonic: Mnemonic) -> bool {
        mnemonic.opcode().name() == "wgmma"
    }
}
