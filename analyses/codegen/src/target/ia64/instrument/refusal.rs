//! The reasons why a function has no probes.

use facts::paths::PathRefusal;
use isa::ia64::Reg;
use smol_str::SmolStr;

/// The reason why a function stays as it is. Lines count from 1.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("line {line}: nothing is known of this instruction")]
    Opaque { line: u32 },
    #[error(
        "line {line}: this is not read: a macro, a condition of the preprocessor, or a mistake"
    )]
    Unread { line: u32 },
    #[error("line {line}: data or another section within the function")]
    Data { line: u32 },
    #[error("the assembler is to find the groups (`.auto`)")]
    Automatic,
    #[error("line {line}: a label of a slot within a bundle")]
    Tag { line: u32 },
    #[error("line {line}: braces that do not hold one bundle")]
    Braces { line: u32 },
    #[error("line {line}: `{label}` is a label twice")]
    LabelTwice { line: u32, label: SmolStr },
    #[error("it holds no instruction")]
    Empty,
    #[error("its `.endp` is missing")]
    Unclosed,
    #[error("{count} instructions of `alloc`: the frame is not the same throughout")]
    Allocs { count: u32 },
    #[error("line {line}: `alloc` does not stand in the first block, or has a predicate")]
    AllocPlace { line: u32 },
    #[error("line {line}: the sizes of the frame are no numbers")]
    AllocSizes { line: u32 },
    #[error(
        "line {line}: where this branch goes is not known; `// targets: .L1, .L2` beside it says so"
    )]
    Indirect { line: u32 },
    #[error("line {line}: no counter finds a place at the way to this target")]
    Unplaced { line: u32 },
    #[error("line {line}: a branch in the shadow of a call")]
    BranchInShadow { line: u32 },
    #[error("`{label}` is entered from elsewhere")]
    Entered { label: SmolStr },
    #[error("the address of `{label}` is taken")]
    AddressTaken { label: SmolStr },
    #[error("the entry is also the target of a loop, in front of `alloc`")]
    LoopAtEntry,
    #[error("control runs beyond its end")]
    RunsOff,
    #[error("it has no return")]
    NoReturn,
    #[error(
        "no free register: {named} stacked registers are in use, and no `alloc` could give more than {room}"
    )]
    NoRegister { named: u32, room: u32 },
    #[error("no free general register, and no floating-point register to save one in")]
    NoFloat,
    #[error("line {line}: {register} has a name of the file, and the outputs would have to move")]
    Renamed { line: u32, register: Reg },
    #[error("both branch registers that a call may use are in use")]
    NoBranchRegister,
    #[error("{count} paths, of which at most {most} are counted")]
    Paths { count: u64, most: u64 },
    #[error(transparent)]
    Numbers(#[from] PathRefusal),
    #[error("there is no value that a probe could read")]
    NoValues,
}
