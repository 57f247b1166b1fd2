//! The questions that passes which order operations ask of their target, and the constructors of the
//! operations that they add.

use super::function::{Name, Operand, Operation, Virtual};
use super::packer::Packer;
use super::target::Target;

/// A target whose processors issue several operations in a cycle. All operations of a cycle read the values
/// before it; accesses to memory take place in their order.
pub trait Scheduled: Target {
    type Packer: Packer;

    /// The packer of some operations.
    fn packer(processor: &Self::Processor, operations: &[Operation<Self>]) -> Self::Packer;
    /// The packer of a body whose iterations overlap. Two operations of a cycle that write a `renamed` register are of
    /// iterations with a register each.
    fn packer_of_iterations(
        processor: &Self::Processor,
        body: &[Operation<Self>],
        renamed: &dyn Fn(Virtual) -> bool,
    ) -> Self::Packer {
        let _ = renamed;
        Self::packer(processor, body)
    }
    /// Cycles from the write of a register to its first read that does not wait.
    fn latency(
        processor: &Self::Processor,
        from: &Operation<Self>,
        to: &Operation<Self>,
        register: Name<Self>,
    ) -> u32;
    /// Cycles from the write of a register to the next one of another operation.
    fn output_latency(from: &Operation<Self>, to: &Operation<Self>, register: Name<Self>) -> u32 {
        let _ = (from, to, register);
        1
    }
    /// Returns true if what the operation writes to a place of storage, other than an address that it steps, may not be read
    /// in the next cycle: control does not leave the block in its cycle.
    fn is_late(operation: &Operation<Self>, storage: u32) -> bool {
        let _ = (operation, storage);
        false
    }
    /// The register that places of the frame are counted from, where operations move it.
    const FRAME_BASE: Option<Self::Register> = None;

    /// Returns true if the second operation executes in the cycle of the first one, in front of it, or not at all: both move
    /// the stack pointer, as one.
    fn are_joined(first: &Operation<Self>, second: &Operation<Self>) -> bool {
        let _ = (first, second);
        false
    }
    /// Returns true if the operation gives memory back that variables of the frame were in: it counts as a store to all of them.
    fn releases(operation: &Operation<Self>) -> bool {
        let _ = operation;
        false
    }
    /// Returns true if two accesses to memory, of which one writes, may take place in one cycle, in their order.
    fn share_cycle(from: &Operation<Self>, to: &Operation<Self>) -> bool;
    /// Returns true if it writes memory.
    fn stores(operation: &Operation<Self>) -> bool;
    /// Returns true if it reads memory.
    fn loads(operation: &Operation<Self>) -> bool;
    /// Returns true if the class has one register alone: two values of it are never there at once.
    fn is_single(class: Self::Class) -> bool;
}

/// A target whose loops are counted by the hardware.
pub trait Counted: Scheduled {
    /// The register from which the operation sets the counter of a loop.
    fn counter(operation: &Operation<Self>) -> Option<Virtual>;
    fn set_counter(from: Virtual) -> Operation<Self>;
    /// The branch back to a block.
    fn loop_back(block: u32) -> Operation<Self>;
}

/// Plain arithmetic of a target: on registers of its general class, where nothing else is said.
pub trait Arithmetic: Target {
    /// `to = from`, of any class.
    fn assign(class: Self::Class, to: Virtual, from: Virtual) -> Operation<Self>;
    /// `to = from + number`
    fn add_number(to: Virtual, from: Virtual, number: i64) -> Operation<Self>;
    /// `to = from >> by`, without a sign.
    fn shift_right(to: Virtual, from: Virtual, by: u32) -> Operation<Self>;
    /// `to = from & number`
    fn and_number(to: Virtual, from: Virtual, number: i64) -> Operation<Self>;
    /// `to = one | other`; `to` is neither of them.
    fn or(to: Virtual, left: Virtual, right: Virtual) -> Vec<Operation<Self>>;
    /// The comparison of a register with a number, and the value that the guard has where the register is less.
    fn is_less(guard: Virtual, from: Virtual, number: i64) -> (Operation<Self>, bool);
    /// The guard holds where the register, which is 1 or 0, is not 0.
    fn is_set(guard: Virtual, from: Virtual) -> Operation<Self>;
    /// `to = 1` where the guard has this value, else 0.
    fn as_number(to: Virtual, guard: Virtual, holds: bool) -> Vec<Operation<Self>>;
    /// A jump that is taken where the guard has this value, or always.
    fn jump(block: u32, guard: Option<(Virtual, bool)>) -> Operation<Self>;
    /// The operation under this guard alone, executing where it holds or where it does not.
    fn under(operation: Operation<Self>, guard: Virtual, holds: bool) -> Operation<Self>;
    /// The operation without a guard.
    fn always(operation: Operation<Self>) -> Operation<Self>;
}

/// A target with registers that guard operations, compares that write a guard and its complement, and compares that write
/// both whatever their own guard is.
pub trait Predicated: Target {
    /// Takes a guard that nothing reads.
    const UNREAD: Self::Register;

    /// Returns true if it only ever sets or clears its targets.
    fn is_parallel(operation: &Operation<Self>) -> bool;
    /// The compare that clears its targets where it does not execute.
    fn unconditional(mnemonic: Self::Mnemonic) -> Self::Mnemonic;
    /// A jump that is always taken.
    fn jump(block: u32) -> Operation<Self>;
    /// `to` does not hold.
    fn cleared(to: Virtual) -> Operation<Self>;
    /// `to` holds where the guard does, beside others of its kind.
    fn raised(to: Virtual, guard: Option<Virtual>) -> Operation<Self>;
    /// The first target holds where both `own` and the guard do, the second where the guard alone does. `number` is free.
    fn conjunction(
        own: Virtual,
        guard: Option<Virtual>,
        number: Virtual,
        targets: [Operand<Self>; 2],
    ) -> Vec<Operation<Self>>;
}
