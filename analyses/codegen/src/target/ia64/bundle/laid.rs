//! The bundles of a block as they are written: the result of packing, the printed text and the checker's
//! input.
//!
//! ```text
//! { .mii  ld8 r14 = [r32] ;;  nop.i 0  add r15 = 1, r14 ;; }      Bundle(".mii", [Instruction(0, true), Nop(I, false), ..])
//! ```

use super::template::Slot;

/// A slot of a bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// An instruction of the block by its number, and whether a stop stands behind it.
    Instruction(usize, bool),
    /// A `nop` of this kind of slot, and whether a stop stands behind it.
    Nop(Slot, bool),
}

/// A piece of a block's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Laid {
    /// The name of the template (`.mii`) and the slots. Of a long instruction's second slot nothing is written.
    Bundle(&'static str, Vec<Written>),
    /// An instruction outside of bundles, and whether a stop stands behind it: the assembler finds a bundle for it.
    Alone(usize, bool),
}

impl Laid {
    /// A block whose every instruction is a group of its own: correct whatever the instructions are.
    #[must_use]
    pub fn one_by_one(instructions: usize) -> Vec<Laid> {
        (0..instructions).map(|at| Laid::Alone(at, true)).collect()
    }
}
