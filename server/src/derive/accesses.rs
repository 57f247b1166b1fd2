//! Accesses to memory that are worth a word.

use facts::{AccessClass, AccessFact, AccessKind};
use ir::Space;

/// Sectors or banks are wasted.
pub fn is_wasteful(access: &AccessFact) -> bool {
    access.bank_ways.is_some_and(|ways| ways > 1)
        || (matches!(access.class, AccessClass::Strided | AccessClass::Gather)
            && matches!(access.space, Space::Global | Space::Generic)
            // One more is what a shift by less than a sector costs.
            && access.most_sectors > access.ideal_sectors + 1)
}

/// The remark that an access is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessRemark {
    /// Atomic operations on shared memory that may meet.
    AtomicConflict,
    /// Atomic operations of all lanes on one address.
    AtomicAddress,
    /// Lanes whose addresses have no stride.
    Gather,
    /// Sectors or banks that are wasted otherwise.
    Waste,
}

/// The remark at the end of a line. `None`: the access is worth none. In a kernel a pointer that is not known
/// to lead elsewhere leads to global memory; arguments of other functions may be the thread's own.
pub fn access_remark(access: &AccessFact, kernel: bool) -> Option<AccessRemark> {
    let atomic = matches!(access.kind, AccessKind::Atomic(_));
    let gathers = access.class == AccessClass::Gather;
    match access.space {
        Space::Shared if gathers && atomic && access.lanes > 1 => {
            Some(AccessRemark::AtomicConflict)
        }
        Space::Global | Space::Shared | Space::Generic
            if access.class == AccessClass::Uniform && atomic && access.lanes > 1 =>
        {
            Some(AccessRemark::AtomicAddress)
        }
        Space::Generic if gathers && !kernel => None,
        _ if !is_wasteful(access) => None,
        _ if gathers => match access.sectors {
            Some(sectors) if sectors <= access.ideal_sectors => None,
            _ => Some(AccessRemark::Gather),
        },
        _ => Some(AccessRemark::Waste),
    }
}
