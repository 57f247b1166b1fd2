//! The implementation of `InstructionSet`: the questions that passes ask of every instruction set.

use super::{Class, Completer, File, Mnemonic, Reg};
use crate::{Branch, InstructionSet};

/// The instruction set of the Itanium processors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub struct Ia64;

impl InstructionSet for Ia64 {
    type Mnemonic = Mnemonic;
    type Class = File;
    type Register = Reg;

    fn class(register: Reg) -> File {
        register.file
    }
    fn is_constant(register: Reg) -> bool {
        register.is_constant()
    }
    fn is_guard(class: File) -> bool {
        class == File::Predicate
    }
    fn branch(mnemonic: Mnemonic) -> Option<Branch> {
        mnemonic.branch()
    }
    fn steps(mnemonic: Mnemonic, _: usize, sources: usize) -> bool {
        use Class::{FloatLoad, FloatStore, Load, Prefetch, Store};
        sources >= 2
            && matches!(
                mnemonic.row().class,
                Load | FloatLoad | Store | FloatStore | Prefetch
            )
    }
    fn executes_where_held(_: Mnemonic) -> bool {
        true
    }
    fn overwrites(mnemonic: Mnemonic, guarded: bool) -> bool {
        !mnemonic.is_parallel() && (!guarded || mnemonic.has(Completer::Unc))
    }
    fn accumulates(_: Mnemonic) -> bool {
        false
    }
}

impl Mnemonic {
    /// Returns true if it is a compare, which writes two predicates of a relation.
    #[must_use]
    pub fn is_compare(self) -> bool {
        matches!(self.row().class, Class::Compare | Class::FloatCompare)
    }
    /// Returns true if it is a compare that only ever sets or clears its targets.
    #[must_use]
    pub fn is_parallel(self) -> bool {
        use Completer::{And, Andcm, Or, Orcm};
        self.is_compare() && self.has_any(&[And, Or, Andcm, Orcm])
    }
}
