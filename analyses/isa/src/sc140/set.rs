//! The implementation of `InstructionSet`: the questions that passes ask of every instruction set.

use super::{File, Flow, Mnemonic, Opcode, Reg, Target, Unit};
use crate::{Branch, InstructionSet};

/// The instruction set of the StarCore SC140. The guard of an operation is T; its mnemonic says for which value it executes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub struct Sc140;

impl InstructionSet for Sc140 {
    type Mnemonic = Mnemonic;
    type Class = File;
    type Register = Reg;

    fn class(register: Reg) -> File {
        register.file
    }
    fn is_constant(_: Reg) -> bool {
        false
    }
    fn is_guard(class: File) -> bool {
        class == File::Truth
    }
    /// What enables a loop names its first set.
    fn names_ahead(mnemonic: Mnemonic) -> bool {
        mnemonic.opcode == Opcode::Dosetup
    }
    /// A loop's mark stands for its jump back.
    fn branch(mnemonic: Mnemonic) -> Option<Branch> {
        match mnemonic.flow()? {
            Flow::Call => Some(Branch::Call),
            Flow::Return => Some(Branch::Return),
            Flow::Continue => Some(Branch::Counted),
            Flow::Jump | Flow::Branch | Flow::Stop => Some(Branch::Jump),
        }
    }
    fn steps(mnemonic: Mnemonic, targets: usize, sources: usize) -> bool {
        use Opcode::{Move2f, Move2l, Move2w, Move4f, Move4w};
        let moved = match mnemonic.opcode {
            Move2f | Move2l | Move2w => 2,
            Move4f | Move4w => 4,
            _ => 1,
        };
        let row = mnemonic.row();
        let is_move = row.unit == Unit::Address && row.name.starts_with("move");
        is_move && targets + sources > moved + 1
    }
    fn executes_where_held(mnemonic: Mnemonic) -> bool {
        mnemonic.condition != super::Condition::False
            && !matches!(
                mnemonic.opcode,
                Opcode::Tfrf | Opcode::Movef | Opcode::Bf | Opcode::Jf
            )
    }
    fn overwrites(mnemonic: Mnemonic, guarded: bool) -> bool {
        let by_itself = matches!(
            mnemonic.opcode,
            Opcode::Tfrt | Opcode::Tfrf | Opcode::Movet | Opcode::Movef
        );
        !guarded && !by_itself && mnemonic.target() != Target::Changes
    }
    fn accumulates(mnemonic: Mnemonic) -> bool {
        mnemonic.target() == Target::Changes
    }
}

impl Mnemonic {
    /// The way in which control leaves an instruction of this name.
    #[must_use]
    pub fn flow(self) -> Option<Flow> {
        match self.opcode {
            Opcode::Lpmarka | Opcode::Lpmarkb => Some(Flow::Continue),
            opcode => opcode.flow(),
        }
    }
}

impl Opcode {
    /// The way in which control leaves an instruction; the marks of loops are not looked at.
    #[must_use]
    pub fn flow(self) -> Option<Flow> {
        use Opcode::{
            Bf, Bra, Break, Bsr, Bt, Cont, Illegal, Jf, Jmp, Jsr, Jt, Rte, Rts, Rtstk, Skipls, Trap,
        };
        match self {
            Bt | Bf | Jt | Jf | Skipls => Some(Flow::Branch),
            Bsr | Jsr => Some(Flow::Call),
            Rts | Rtstk | Rte => Some(Flow::Return),
            Bra | Jmp | Break => Some(Flow::Jump),
            Cont => Some(Flow::Continue),
            Trap | Illegal => Some(Flow::Stop),
            _ => (self.row().unit == Unit::Flow).then_some(Flow::Stop),
        }
    }
}
