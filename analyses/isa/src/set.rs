//! The interface of an instruction set: its opcodes, its registers, the roles of operands.

use std::fmt::{Debug, Display};
use std::hash::Hash;

/// An instruction set, as a type without values.
///
/// An instruction is a mnemonic, an optional guard, *targets* and *sources*. Targets that are registers are written; a
/// target that is an address, and every source, is read.
pub trait InstructionSet: Copy + Eq + Ord + Hash + Debug + Default + Send + Sync + 'static {
    /// An opcode with all that selects its form.
    type Mnemonic: Copy + Eq + Hash + Debug + Display + Send + Sync;
    /// A class of registers: a register that an operand of one class may not name is in another.
    type Class: Copy + Eq + Ord + Hash + Debug + Send + Sync;
    type Register: Copy + Eq + Ord + Hash + Debug + Display + Send + Sync;

    /// The class of a register.
    fn class(register: Self::Register) -> Self::Class;
    /// Returns true if the register always holds the same, and is written in vain.
    fn is_constant(register: Self::Register) -> bool;
    /// Returns true if registers of the class guard instructions.
    fn is_guard(class: Self::Class) -> bool;
    /// The way in which control leaves an instruction, if it does not only fall through.
    fn branch(mnemonic: Self::Mnemonic) -> Option<Branch>;
    /// Returns true if a block that it names is where some later instruction goes on: it leads nowhere itself.
    fn names_ahead(mnemonic: Self::Mnemonic) -> bool {
        let _ = mnemonic;
        false
    }
    /// Returns true if an access with so many targets and sources adds its last source to the register of its address. Of a
    /// store the address is a target.
    fn steps(mnemonic: Self::Mnemonic, targets: usize, sources: usize) -> bool;
    /// Returns true if an instruction with a guard executes where the guard holds, and not where it does not.
    fn executes_where_held(mnemonic: Self::Mnemonic) -> bool;
    /// Returns true if nothing of their old values stays in the targets.
    fn overwrites(mnemonic: Self::Mnemonic, guarded: bool) -> bool;
    /// Returns true if the targets are read besides.
    fn accumulates(mnemonic: Self::Mnemonic) -> bool;
}

/// A way in which control leaves an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Branch {
    /// A plain jump.
    Jump,
    Call,
    Return,
    /// Back to the start of a loop whose iterations a register counts.
    Counted,
    /// The same, and the rotating registers get other names.
    CountedRotating,
    /// Back while a guard holds, with the same renaming.
    WhileRotating,
    /// Goes on behind, unless a check fails.
    Check,
}

impl Branch {
    /// Returns true if registers have other names behind it.
    #[must_use]
    pub const fn rotates(self) -> bool {
        matches!(self, Branch::CountedRotating | Branch::WhileRotating)
    }
}
