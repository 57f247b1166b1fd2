//! Errors that end a run early, and findings that are reported without ending it.

use ir::checkpoint::Cancelled;
use ir::entity::{Block, Inst};
use ir::function::Loc;
use ir::types::Space;
use smol_str::SmolStr;

/// The place of an event: function, workgroup, warp, lane and instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub function: SmolStr,
    /// Index into `Module::functions`.
    pub function_index: u32,
    pub workgroup: [u32; 3],
    /// The warp's number in its workgroup.
    pub warp: u32,
    /// The lane's number in its warp.
    pub lane: u32,
    /// The lane's coordinates in its workgroup.
    pub thread: [u32; 3],
    pub block: Block,
    /// `None`: the terminator.
    pub inst: Option<Inst>,
    pub loc: Loc,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, z] = self.workgroup;
        let [tx, ty, tz] = self.thread;
        write!(
            f,
            "{} {} at {:?}: lane {} of warp {} (thread {tx},{ty},{tz} of workgroup {x},{y},{z})",
            self.function, self.block, self.loc.span, self.lane, self.warp
        )
    }
}

/// The reason why an access is impossible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Null,
    /// The access is outside of an object of `size` bytes; `offset` may be before its start.
    OutOfBounds {
        offset: i64,
        size: u64,
    },
    /// No object is at the address.
    NoObject,
    Misaligned {
        to: u32,
    },
    /// The address belongs to another space than the access says.
    WrongSpace {
        found: Space,
    },
    ReadOnly,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Null => f.write_str("null address"),
            Fault::OutOfBounds { offset, size } => {
                write!(f, "byte {offset} of an object of {size} bytes")
            }
            Fault::NoObject => f.write_str("no object at the address"),
            Fault::Misaligned { to } => write!(f, "not aligned to {to} bytes"),
            Fault::WrongSpace { found } => write!(f, "an address in {found:?} space"),
            Fault::ReadOnly => f.write_str("memory that is read-only"),
        }
    }
}

/// The reason why a workgroup cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BarrierFault {
    /// Lanes of the warp are on another path; the mask names them.
    PartOfWarp { missing: u64 },
    /// Lanes of the warp have ended.
    EndedLanes { missing: u64 },
    /// These warps ended or wait at another barrier.
    OtherWarps { warps: Vec<u32> },
}

impl std::fmt::Display for BarrierFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BarrierFault::PartOfWarp { missing } => {
                write!(f, "lanes {missing:#x} of the warp are on another path")
            }
            BarrierFault::EndedLanes { missing } => {
                write!(f, "lanes {missing:#x} of the warp have ended")
            }
            BarrierFault::OtherWarps { warps } => {
                write!(f, "warps {warps:?} ended or wait at another barrier")
            }
        }
    }
}

/// Ends a run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    #[error("{place}: access of {size} bytes at {address:#x}: {fault}")]
    Access {
        place: Box<Place>,
        address: u64,
        size: u32,
        write: bool,
        fault: Fault,
    },
    #[error("{place}: barrier never completes: {fault}")]
    Barrier {
        place: Box<Place>,
        fault: BarrierFault,
    },
    #[error("{place}: step budget used up")]
    StepsExhausted { place: Box<Place> },
    #[error("memory budget used up: {needed} bytes")]
    MemoryExhausted { needed: u64 },
    #[error("{place}: calls nested deeper than {limit}")]
    StackOverflow { place: Box<Place>, limit: u32 },
    #[error("{place}: {what} is not supported")]
    Unsupported { place: Box<Place>, what: String },
    #[error("{place}: control reached a place that is declared unreachable")]
    Unreachable { place: Box<Place> },
    #[error("launch: {0}")]
    Launch(String),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Error {
    pub fn place(&self) -> Option<&Place> {
        match self {
            Error::Access { place, .. }
            | Error::Barrier { place, .. }
            | Error::StepsExhausted { place }
            | Error::StackOverflow { place, .. }
            | Error::Unsupported { place, .. }
            | Error::Unreachable { place } => Some(place),
            _ => None,
        }
    }

    /// An access beyond a buffer: its number, the first byte that was asked for, and the bytes it has.
    pub fn beyond(&self) -> Option<(usize, i64, u64)> {
        match self {
            &Error::Access {
                address,
                fault: Fault::OutOfBounds { offset, size },
                ..
            } => {
                let (buffer, _) = super::memory::buffer_of(address.wrapping_sub(offset as u64))?;
                Some((buffer, offset, size))
            }
            _ => None,
        }
    }
}

/// Reported without ending the run; one entry an instruction and kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    pub kind: EventKind,
    /// The place where it happened first.
    pub place: Place,
    pub count: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A mask operand names lanes that are not there: the operation goes on with those that are.
    InactiveLanesInMask { mask: u64, active: u64 },
    /// A lane takes part whose own mask leaves it out.
    LaneOutsideOfItsMask { mask: u64 },
    /// A value was read from a lane that is not active: its last value was given.
    ReadOfInactiveLane { from: u32 },
    /// `Branch::uniform` where lanes disagree.
    UniformBranchDiverges { mask: u64 },
    /// A checked access outside of its buffer.
    CheckedOutOfBounds { address: u64 },
    /// An operation whose result is a stand-in.
    StandIn { what: String },
}

impl std::fmt::Display for EventKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EventKind::InactiveLanesInMask { mask, active } => {
                write!(
                    f,
                    "mask {mask:#x} names inactive lanes; active are {active:#x}"
                )
            }
            EventKind::LaneOutsideOfItsMask { mask } => {
                write!(f, "a lane takes part that its mask {mask:#x} leaves out")
            }
            EventKind::ReadOfInactiveLane { from } => write!(f, "read of inactive lane {from}"),
            EventKind::UniformBranchDiverges { mask } => {
                write!(f, "a branch declared uniform divides lanes {mask:#x}")
            }
            EventKind::CheckedOutOfBounds { address } => {
                write!(f, "checked access outside of its buffer at {address:#x}")
            }
            EventKind::StandIn { what } => write!(f, "{what} is given a stand-in value"),
        }
    }
}
