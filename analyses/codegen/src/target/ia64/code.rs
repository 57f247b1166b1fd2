//! Functions in operations of IA-64: the machine code of `mir` over this instruction set.

use crate::mir;
pub use crate::mir::{FrameOffset, Object, Reference, Slot, Virtual};
use isa::ia64::{Class, File, Ia64, Opcode, Reg};

pub type Name = mir::Name<Ia64>;
pub type Operand = mir::Operand<Ia64>;
pub type Operation = mir::Operation<Ia64>;
pub type Block = mir::Block<Ia64>;
pub type Function = mir::Function<Ia64>;
/// An iteration of a loop under predicates, and the code in front of a loop that was turned.
pub type Body = crate::predicate::Body<Ia64>;
pub type Entry = crate::predicate::Entry<Ia64>;
pub type Allocation = crate::allocate::Allocation<Ia64>;

/// A mnemonic that stands in the source: the compiler checks it.
macro_rules! op {
    ($text:literal) => {
        const { ::isa::ia64::Mnemonic::literal($text) }
    };
}
pub(crate) use op;

/// Registers that rotate, from `r32`, `f32` and `p16`. A pipelined loop names them as fixed ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rotating {
    /// A multiple of 8.
    pub general: u32,
    pub float: u32,
    pub predicate: u32,
}

/// The requirements on the register stack and its frame.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StackFrame {
    /// The rotating registers, as many as the function's hungriest pipelined loop needs.
    pub rotating: Rotating,
    /// General registers in which arguments arrive, where they are not as many as parameters.
    pub inputs: Option<u32>,
    /// Arguments behind those that have names lie in memory, one behind the other: from registers, too.
    pub variadic: bool,
}

impl From<Reg> for Operand {
    fn from(register: Reg) -> Operand {
        Operand::fixed(register)
    }
}

impl Operation {
    /// The opcode without its completers.
    #[must_use]
    pub const fn opcode(&self) -> Opcode {
        self.mnemonic.opcode()
    }
    /// The class of the opcode; that of `mov` and of shifts depends on the operands besides.
    #[must_use]
    pub fn class(&self) -> Class {
        self.mnemonic.row().class
    }
    /// Returns true if it writes two predicates of a relation.
    #[must_use]
    pub fn is_compare(&self) -> bool {
        self.mnemonic.is_compare()
    }
    /// A compare that only ever sets or clears its targets.
    #[must_use]
    pub fn is_parallel(&self) -> bool {
        self.mnemonic.is_parallel()
    }
}

impl Function {
    /// The file of a virtual register.
    #[must_use]
    pub fn file(&self, register: Virtual) -> File {
        self.class(register)
    }
    /// Returns the reason why an operation has no code.
    #[must_use]
    pub fn refusal(&self, operation: &Operation) -> Option<&crate::refusal::Refused> {
        match operation.sources.first() {
            Some(&Operand::Number(number)) if operation.opcode() == Opcode::Refused => {
                self.refused.get(usize::try_from(number).ok()?)
            }
            _ => None,
        }
    }
    /// General registers in which arguments arrive.
    #[must_use]
    pub fn inputs(&self) -> u32 {
        let slots = self.parameters.len().min(8) as u32;
        self.frame.inputs.unwrap_or(slots)
    }
}

/// The first stacked register behind those that values have.
#[must_use]
pub fn stacked(function: &Function, given: &mut dyn Iterator<Item = Reg>) -> u32 {
    let first = 32 + function.frame.rotating.general.max(function.inputs());
    let stacked = given.filter(|it| it.file == File::General && it.number >= 32);
    stacked.fold(first, |next, it| next.max(u32::from(it.number) + 1))
}
