//! The questions that passes ask of their target: the meaning of operations that they match on, how to build
//! others, and its registers.
//!
//! A pass is written once, over `T: Target`. Its questions about an instruction set or a convention of calls
//! are methods here; an opcode, a register or a class of one target stands in that target's folder alone.

use super::function::{FrameOffset, Function, Name, Operand, Operation, Virtual};
use isa::InstructionSet;
use std::fmt::Debug;

/// The registers of one class in the order in which they are tried.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterFile<T: InstructionSet> {
    pub class: T::Class,
    /// The registers for values that live across no call.
    pub free: Vec<T::Register>,
    /// The registers for values that live across one.
    pub preserved: Vec<T::Register>,
    /// The number of the first registers that cost nothing to use: they take turns, so that nothing waits for
    /// one register alone.
    pub turn: usize,
    /// This one and all behind it have other names after a rotation that does not mean them.
    pub renamed: Option<T::Register>,
    /// True if values that live across a rotation and no call may have those in `preserved`, too.
    pub lends: bool,
    /// True if its registers are those that spilled values of the class pass through: a value has one only while no
    /// other value of the class lives.
    pub exclusive: bool,
    /// The registers in which arguments may arrive: another argument is still there while one is moved.
    pub arrivals: Vec<T::Register>,
}

/// Virtual registers each of which has its place at a distance from the one in front of it: of 1, neighbours.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tuple {
    pub members: Vec<Virtual>,
    pub distance: u8,
}

/// A spill slot as an operation of spill code names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpillSlot {
    /// Bytes behind the first spilled value.
    pub offset: u32,
    /// True if a failed speculative load may have marked the value, and the mark is kept.
    pub marked: bool,
}

impl SpillSlot {
    /// The offset as an operand.
    #[must_use]
    pub const fn operand<T: InstructionSet>(self) -> Operand<T> {
        Operand::Frame(FrameOffset::Spill(self.offset))
    }
}

/// The effect of an operation that is no part of the program, as a checker understands it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpillCode<T: InstructionSet> {
    /// The register points to a place of the frame.
    Address {
        to: Name<T>,
        offset: FrameOffset,
    },
    /// The register holds 0.
    Zero {
        to: Name<T>,
    },
    /// Both hold the same; a guard as 1 or 0 in a register of another class is the same.
    Copy {
        to: Name<T>,
        from: Name<T>,
    },
    /// A register of 0 becomes 1 where the guard holds, which is `from`.
    Raise {
        to: Name<T>,
        from: Name<T>,
    },
    /// A value is loaded from a slot in one of its forms, or stored there: by an address that a register holds, or by
    /// itself.
    Load {
        to: Name<T>,
        from: FrameAccess<T>,
    },
    Store {
        from: Name<T>,
        to: FrameAccess<T>,
    },
}

/// The address of an access to the frame, and the form in which the value lies there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameAccess<T: InstructionSet> {
    pub address: FrameAddress<T>,
    /// The form of the value: a value stored in one form is not loaded in another; less than `Target::FORMS`.
    pub form: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameAddress<T: InstructionSet> {
    Register(Name<T>),
    Offset(FrameOffset),
}

/// A register that an operation writes, named by an operand or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Definition<T: InstructionSet> {
    pub register: T::Register,
    /// Only ever set or only ever cleared: some of the old value stays.
    pub keeps: bool,
    /// Written whatever the guard is.
    pub always: bool,
}

/// The result of an operation that is known without computing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known<T: InstructionSet> {
    Constant(i64),
    /// The content of this register in front of the operation.
    Operand(Name<T>),
}

/// State that no operand names, such as a carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hidden {
    pub reads: bool,
    pub writes: bool,
}

/// An instruction set with its conventions, as passes see it. A method with a body answers for a target
/// without that feature: no rotation, no register that a convention keeps, hands on or implies, no marks.
pub trait Target: InstructionSet {
    /// A processor of the instruction set.
    type Processor;
    /// The properties on which the frame of a function depends beside those of every target.
    type Frame: Clone + PartialEq + Debug + Default + Send + Sync;
    /// The most registers that may be used; for tests of shortage.
    type Limits: Clone + PartialEq + Debug + Default;

    /// The name by which people call it.
    const NAME: &'static str;
    /// The register that an allocation names for a virtual register without one.
    const NONE: Self::Register;

    /// The class of registers that hold numbers and addresses, and of those that guard operations.
    const GENERAL: Self::Class;
    const GUARD: Self::Class;

    /// Returns where parameters arrive, by place, where the function does not say otherwise.
    fn arrivals(function: &Function<Self>) -> Vec<Option<Self::Register>>;

    /// `to = from`, if the operation is nothing else.
    fn copied(operation: &Operation<Self>) -> Option<(Virtual, Virtual)>;
    /// Returns true if it computes guards from a relation.
    fn is_compare(operation: &Operation<Self>) -> bool;
    /// Returns true if it does something beside writing its targets and reading memory.
    fn acts(operation: &Operation<Self>) -> bool;
    /// Returns true if it may execute where it did not before: it neither fails nor sets flags, and reads no memory.
    fn is_pure(operation: &Operation<Self>) -> bool;
    /// Returns true if registers that rotate have other names behind it.
    fn rotates(operation: &Operation<Self>) -> bool {
        let _ = operation;
        false
    }
    /// Returns true if it is a sum or a difference of its sources.
    fn is_sum(operation: &Operation<Self>) -> bool;
    /// Returns true if it computes the same from its two registers in the other order; one that it writes besides counts among
    /// them.
    fn commutes(operation: &Operation<Self>) -> bool {
        let _ = operation;
        false
    }
    /// The register to which the operation adds a constant, and the constant.
    fn increment(operation: &Operation<Self>) -> Option<(Virtual, i64)>;
    /// Returns true if an access, which has no step yet, may add the constant to its address.
    fn takes_step(access: &Operation<Self>, by: i64) -> bool;
    /// The constant register that stands for a target that nothing reads, where the class has one.
    fn unread(class: Self::Class) -> Option<Self::Register>;
    /// Returns true if a spill slot has room for all of the result, whatever the register may hold.
    fn fits_slot(_operation: &Operation<Self>) -> bool {
        false
    }
    /// `to = from`, of registers of one class.
    fn copy(to: Self::Register, from: Self::Register) -> Operation<Self>;

    /// The result of an operation, where registers hold these constants. Operations that read what `hidden`
    /// tells of are not asked for.
    fn known(
        operation: &Operation<Self>,
        constant: &dyn Fn(Name<Self>) -> Option<i64>,
    ) -> Option<Known<Self>> {
        let _ = (operation, constant);
        None
    }
    /// The state that an operation reads and writes besides its operands. Flags that nothing clears do not count.
    fn hidden(operation: &Operation<Self>) -> Hidden {
        let _ = operation;
        Hidden::default()
    }
    /// The operation that sets a register to a constant, if there is one.
    fn constant(to: Self::Register, constant: i64) -> Option<Operation<Self>> {
        let _ = (to, constant);
        None
    }
    /// A move of a value that may be of another class: what is moved there and back is the same. A guard is named by the
    /// virtual register that stands for it.
    fn transfer(
        to: Self::Register,
        from: Self::Register,
        guard: Option<Virtual>,
    ) -> Option<Vec<Operation<Self>>> {
        let _ = guard;
        let same = Self::class(to) == Self::class(from);
        same.then(|| vec![Self::copy(to, from)])
    }
    /// The registers that spilled values may have where nothing else is in them, most welcome first.
    fn homes(
        function: &Function<Self>,
        processor: &Self::Processor,
        limits: &Self::Limits,
    ) -> Vec<Self::Register> {
        let files = Self::files(function, processor, limits);
        let all = files.into_iter().flat_map(|file| {
            let scratch = Self::scratch(file.class).iter().copied();
            let free = file.free.into_iter();
            free.chain(scratch).collect::<Vec<_>>()
        });
        let rotating = Self::rotating(function);
        let open = |register: &Self::Register| {
            !rotating.contains(register) && !Self::is_guard(Self::class(*register))
        };
        all.filter(open).collect()
    }
    /// The registers that a function saves at its start and restores at its end because it uses this one.
    fn saved_with(register: Self::Register) -> &'static [Self::Register] {
        let _ = register;
        &[]
    }

    /// The registers of all classes that virtual registers may have.
    fn files(
        function: &Function<Self>,
        processor: &Self::Processor,
        limits: &Self::Limits,
    ) -> Vec<RegisterFile<Self>>;
    /// The numbers of values that `units` and `index` give.
    const UNITS: usize;
    const REGISTERS: usize;
    /// The storage that a register takes, as numbers: two registers that share one are not used at once.
    fn units(register: Self::Register) -> std::ops::Range<usize>;
    /// A number of its own for each register.
    fn index(register: Self::Register) -> usize;
    /// The registers that share storage with one, itself included.
    fn overlapping(register: Self::Register) -> Vec<Self::Register> {
        vec![register]
    }
    /// The virtual registers of an operation that must have places at a distance from each other; two at least.
    fn tuple(operation: &Operation<Self>) -> Option<Tuple> {
        let _ = operation;
        None
    }
    /// The registers of a tuple that begins with one; `None`: none begins there.
    fn places(tuple: &Tuple, first: Self::Register) -> Option<Vec<Self::Register>> {
        let _ = (tuple, first);
        None
    }
    /// Returns true if the argument that arrives there may stay.
    fn stays(function: &Function<Self>, register: Self::Register) -> bool;
    /// The registers of `Function::outputs`, once all others have theirs.
    fn outputs(
        function: &Function<Self>,
        given: &mut dyn Iterator<Item = Self::Register>,
    ) -> Vec<Self::Register> {
        let _ = (function, given);
        Vec::new()
    }
    /// Registers that a call leaves as they are, and those that it may change.
    fn preserved() -> Vec<Self::Register> {
        Vec::new()
    }
    fn clobbered(function: &Function<Self>, outputs: &[Self::Register]) -> Vec<Self::Register> {
        let _ = (function, outputs);
        Vec::new()
    }
    /// Registers that rotation renames.
    fn rotating(function: &Function<Self>) -> Vec<Self::Register> {
        let _ = function;
        Vec::new()
    }
    /// Returns the registers that have a meaning although no operation need name them: the return address,
    /// the global pointer.
    fn implied() -> Vec<Self::Register> {
        Vec::new()
    }
    /// Returns those of them that a callee finds as they were: the global pointer.
    fn needed_by_calls() -> Vec<Self::Register> {
        Vec::new()
    }
    /// Returns whether a register passes arguments to a callee or a result to the caller.
    fn passes(register: Self::Register) -> bool;
    /// Returns true if a virtual register of the function may have this one.
    fn may_have(register: Self::Register) -> bool;

    /// Forms in which spill slots hold values.
    const FORMS: usize;
    /// Bytes of a spill slot, to which it is aligned.
    fn slot(class: Self::Class) -> u32;
    /// Bytes of a spill slot in a form.
    fn form_bytes(form: usize) -> u32;
    /// Registers kept back for values that live in memory, while an operation uses them: as many as one operation names.
    fn scratch(class: Self::Class) -> &'static [Self::Register];
    /// The registers that an operation writes, once virtual ones have theirs.
    fn definitions(
        operation: &Operation<Self>,
        register: &dyn Fn(Virtual) -> Self::Register,
    ) -> Vec<Definition<Self>>;
    /// Returns true if registers are those of `Function::outputs`, one behind the other.
    fn are_outputs(registers: &[Self::Register]) -> bool;
    /// Returns true if marks of failed speculative loads may be in registers of the function.
    fn marks(function: &Function<Self>) -> bool {
        let _ = function;
        false
    }
    /// The one operation that loads a virtual register of a class from a slot, if one does, and the one that stores it.
    fn load_into(class: Self::Class, to: Virtual, slot: SpillSlot) -> Option<Operation<Self>> {
        let _ = (class, to, slot);
        None
    }
    fn store_from(class: Self::Class, from: Virtual, slot: SpillSlot) -> Option<Operation<Self>> {
        let _ = (class, from, slot);
        None
    }
    /// Loads a register from a slot. Registers that it may use besides are kept back like `scratch`.
    fn reload(to: Self::Register, slot: SpillSlot) -> Vec<Operation<Self>>;
    /// Stores it. A guard is named by the virtual register that stands for it.
    fn spill(from: Self::Register, slot: SpillSlot, guard: Option<Virtual>)
    -> Vec<Operation<Self>>;
    /// Returns the effect of an operation that allocation inserted. `None`: it only destroys its targets.
    fn spill_code(operation: &Operation<Self>) -> Option<SpillCode<Self>>;
}
