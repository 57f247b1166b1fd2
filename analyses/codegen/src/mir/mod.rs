//! Machine code between the analyses and a target's text, of any instruction set: functions on virtual
//! registers, and the questions that passes ask of their target.

pub mod dependence;
pub mod function;
pub mod liveness;
pub mod packer;
pub(crate) mod places;
pub mod pressure;
mod schedule;
pub(crate) mod straight;
mod target;

pub use function::{
    Block, FrameOffset, Function, Name, Object, Operand, Operation, Reference, Rounds, Slot,
    Sources, Targets, Virtual,
};
pub use schedule::{Arithmetic, Counted, Predicated, Scheduled};
pub use target::{
    Definition, FrameAccess, FrameAddress, Hidden, Known, RegisterFile, SpillCode, SpillSlot,
    Target, Tuple,
};
