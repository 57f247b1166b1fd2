//! The registers of a kernel in words.

use crate::derive::pressure::Entry;
use facts::pressure::Remedy;

/// `recompute, 3 operations a read`
pub fn remedy(one: Remedy) -> String {
    match one {
        Remedy::Recompute { operations: 1 } => "recompute, 1 operation a read".to_owned(),
        Remedy::Recompute { operations } => format!("recompute, {operations} operations a read"),
        Remedy::Reload => "load again, nobody writes it".to_owned(),
        Remedy::WarpSlot => "one copy a warp in shared memory".to_owned(),
        Remedy::WarpSlotOfBase => {
            "one copy a warp of its uniform part, 2 operations a read".to_owned()
        }
        Remedy::LaneSlot => "one copy a lane in local memory".to_owned(),
        Remedy::Needed => "read at the peak".to_owned(),
    }
}

/// `16, 12 in loops`
pub fn reads(one: &Entry) -> String {
    match one.reads_in_loops {
        0 => one.reads.to_string(),
        inside => format!("{}, {inside} in loops", one.reads),
    }
}
