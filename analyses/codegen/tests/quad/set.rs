//! Quad: a small machine that shares nothing with IA-64 but the interface of passes.
//!
//! ```text
//! d0 to d31      32 bits; pairs q0 to q15, of which q1 is d2 (low half) and d3 (high half)
//! t              the only flag; an operation may execute where it holds, or where it does not, but not one that names it
//! lc             counts the iterations of a hardware loop: `endloop` jumps while it is above 1, and counts down
//! ```
//!
//! A packet holds up to four operations in six words, two accesses to memory, one product and one branch,
//! which is its last. All operations of a packet read the values before it; loads read memory before stores
//! of the packet write it. An operation that reads a result too early waits (`latency`). A number that 7 bits
//! do not hold takes a second word. Arguments arrive in d0 to d3, the result is in d0.

use isa::{Branch, InstructionSet};
use lockstep_codegen::mir;
use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub struct Quad;

pub type Name = mir::Name<Quad>;
pub type Operand = mir::Operand<Quad>;
pub type Operation = mir::Operation<Quad>;
pub type Block = mir::Block<Quad>;
pub type Function = mir::Function<Quad>;
pub type Allocation = lockstep_codegen::allocate::Allocation<Quad>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Class {
    Data,
    Pair,
    Flag,
    Count,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Register {
    pub class: Class,
    pub number: u8,
}

impl Register {
    pub const T: Register = Register {
        class: Class::Flag,
        number: 0,
    };
    pub const LC: Register = Register {
        class: Class::Count,
        number: 0,
    };
    pub const fn data(number: u8) -> Register {
        Register {
            class: Class::Data,
            number,
        }
    }
    pub const fn pair(number: u8) -> Register {
        Register {
            class: Class::Pair,
            number,
        }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            Class::Data => write!(f, "d{}", self.number),
            Class::Pair => write!(f, "q{}", self.number),
            Class::Flag => f.write_str("t"),
            Class::Count => f.write_str("lc"),
        }
    }
}

/// `targets = opcode sources`. A source that is written `x` is a register or a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Opcode {
    /// `d = number`
    Li,
    /// `d = d`
    Mov,
    /// `q = q`
    Movq,
    /// `d = d, x`, modulo 2^32, like all that follow.
    Add,
    Sub,
    And,
    Or,
    Xor,
    /// `d = d, number`: logical, by 0 to 31.
    Shr,
    /// `d = d, d`
    Mul,
    /// `d += d, d`: the target is read, too.
    Mac,
    /// `q = q, q`: of 64 bits.
    Addq,
    /// `q = d`, with its sign.
    Widen,
    /// `d = q`: its low half.
    Narrow,
    /// `d = [d]` or `d = [d], number`: 4 bytes, little-endian; then the number is added to the register of the address.
    Ld,
    /// `[d] = d` or `[d] = d, number`
    St,
    /// `q = [d]`, `q = [d], number`: 8 bytes.
    Ldq,
    /// `[d] = q`, `[d] = q, number`
    Stq,
    /// `d = frame`, `q = frame`: a spill slot.
    Lds,
    Ldsq,
    /// `frame, d`; `frame, q`: both are sources.
    Sts,
    Stsq,
    /// `t = d`: whether it is not 0.
    Tst,
    /// `t = d, x`: equal; less, as signed numbers.
    Cmpeq,
    Cmplt,
    /// `d = t`: 1 or 0.
    Sett,
    /// `lc = d`
    Setlc,
    /// `block`, under `t` or its complement, or always.
    Jump,
    /// `lc = lc, block`: jumps where `lc` is above 1, and counts it down then.
    Endloop,
    /// `d0`
    Ret,
}

/// An opcode, and the value of the flag for which it executes where it is guarded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Mnemonic {
    pub opcode: Opcode,
    /// The value of the flag for which an operation with a guard executes.
    pub sense: bool,
}

impl From<Opcode> for Mnemonic {
    fn from(opcode: Opcode) -> Mnemonic {
        Mnemonic {
            opcode,
            sense: true,
        }
    }
}

impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.sense { "" } else { "!" };
        write!(f, "{not}{:?}", self.opcode)
    }
}

impl InstructionSet for Quad {
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
        class == Class::Flag
    }
    fn branch(mnemonic: Mnemonic) -> Option<Branch> {
        match mnemonic.opcode {
            Opcode::Jump => Some(Branch::Jump),
            Opcode::Endloop => Some(Branch::Counted),
            Opcode::Ret => Some(Branch::Return),
            _ => None,
        }
    }
    fn steps(mnemonic: Mnemonic, _: usize, sources: usize) -> bool {
        use Opcode::{Ld, Ldq, St, Stq};
        sources >= 2 && matches!(mnemonic.opcode, Ld | Ldq | St | Stq)
    }
    fn executes_where_held(mnemonic: Mnemonic) -> bool {
        mnemonic.sense
    }
    fn overwrites(mnemonic: Mnemonic, guarded: bool) -> bool {
        !guarded && mnemonic.opcode != Opcode::Mac
    }
    fn accumulates(mnemonic: Mnemonic) -> bool {
        mnemonic.opcode == Opcode::Mac
    }
}

/// Operations of a packet, its words, accesses, products and branches, at most.
pub const PACKET: usize = 4;
pub const WORDS: u32 = 6;
pub const ACCESSES: u32 = 2;
pub const PRODUCTS: u32 = 1;

/// Words of an operation.
pub fn words(operation: &Operation) -> u32 {
    let wide = operation.sources.iter().any(|source| match source {
        Operand::Number(number) => !(-64..64).contains(number),
        _ => false,
    });
    1 + u32::from(wide)
}

/// Returns whether an operation accesses memory or the frame.
pub fn is_access(opcode: Opcode) -> bool {
    use Opcode::{Ld, Ldq, Lds, Ldsq, St, Stq, Sts, Stsq};
    matches!(opcode, Ld | Ldq | St | Stq | Lds | Ldsq | Sts | Stsq)
}

pub fn is_product(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Mul | Opcode::Mac)
}

/// Packets from the one that holds the operation to the first that reads its result without waiting; the new address of a
/// stepping access is there one packet later.
pub fn latency(opcode: Opcode) -> u32 {
    match opcode {
        Opcode::Ld | Opcode::Ldq | Opcode::Lds | Opcode::Ldsq => 3,
        Opcode::Mul | Opcode::Mac => 2,
        _ => 1,
    }
}
