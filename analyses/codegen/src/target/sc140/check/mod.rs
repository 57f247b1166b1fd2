//! The rules of execution sets: which instructions may stand in one, which must stand sets apart, what a loop may hold.
//!
//! ```text
//!     move.w  #536,r7
//!     suba    r7,sp          A.2: a set must stand between a move to r7 and its use by the address units
//! ```
//!
//! Each rule has its number in the manual, or the name by which the vendor's compiler calls it. It is certain as far as
//! what its statement rests on: a page that was read, what the compiler keeps to, or a guess on the safe side. Of an
//! instruction that is not known nothing is said. One pass over the sets, and for distances over those that follow them.
//!
//! Source: Freescale, *SC140 DSP Core Reference Manual*, chapters 5 to 7, in excerpts; listings of the vendor's compiler.

mod distance;
mod group;
mod loops;

use super::capacity::Capacity;
use super::listing::Listing;
use isa::sc140::{Misfit, Reg, Unit};
use smol_str::SmolStr;

/// The kind of source on which the statement of a rule rests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Certainty {
    /// A guess on the safe side, or a bound.
    Guessed,
    /// The vendor's compiler keeps to it, and names it.
    Observed,
    /// A page of the manual.
    Stated,
}

/// A rule that is broken, with what breaks it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// More instructions than a set holds.
    Instructions {
        count: u32,
        limit: u32,
    },
    /// More words than a set holds; the prefix is among them.
    Words {
        least: u32,
        most: u32,
        limit: u32,
    },
    /// More instructions than there are units. An address unit serves bit masks and the flow of control, too.
    Units {
        unit: Unit,
        count: u32,
        limit: u32,
    },
    /// Two that change the flow of control.
    TwoFlows,
    /// Two write a register, or a bit of the status.
    Written {
        register: Reg,
    },
    /// Two store to one place.
    Stores,
    /// A data register is a source too often.
    Uses {
        register: Reg,
        count: u32,
        limit: u32,
        /// Without the old values of targets.
        sources: u32,
    },
    /// Conditions in an order that no prefix encodes; `known` if the manual says so, rather than leaves it out.
    Conditions {
        known: bool,
    },
    Operands(Misfit),
    /// A modifier is used in the set behind the write of its control.
    ModifierTooSoon,
    /// A register is used by the address units in the set behind a move to it.
    PointerTooSoon {
        register: Reg,
        used: PointerUse,
    },
    /// A test decides on an instruction of the address units in the next set.
    TruthTooSoon,
    /// The status is used soon behind its write.
    StatusTooSoon,
    /// Control leaves from a delay slot. `returns`: from that of a return.
    FlowInSlot {
        returns: bool,
    },
    /// The status is written beside a call, or in its delay slot.
    StatusWithCall {
        slot: bool,
    },
    /// The stack pointer is used in the delay slot of a return.
    StackInSlot,
    /// A loop of another number of sets than its kind has.
    LoopLength {
        sets: usize,
        short: bool,
    },
    /// A loop stands in one of this index or a higher one, or in a short one.
    LoopNesting {
        inner: u8,
        outer: u8,
    },
    /// Nothing above the loop counts it.
    LoopNotEnabled {
        index: u8,
    },
    /// The loop begins, or comes to its end, too soon behind its enabling.
    LoopTooSoon {
        index: u8,
        short: bool,
    },
    /// The start of the loop is said too close to its end.
    SetupTooSoon {
        index: u8,
    },
    /// `dosetup` names another set than the first.
    LoopStart {
        index: u8,
        label: SmolStr,
    },
    /// A jump leads to one of the last two sets of a long loop.
    LoopTarget {
        label: SmolStr,
    },
    /// A jump leads from outside into a loop.
    IntoLoop {
        label: SmolStr,
    },
    /// Control leaves in one of the last sets of a loop.
    FlowAtEnd,
    /// The delay slot is the set that bears the loop's mark.
    SlotIsMarked,
    /// The status is read by a move right in front of the set that bears the loop's mark.
    StatusBeforeMark,
    /// A register of the loop is written in one of its last sets.
    LoopRegister {
        register: Reg,
    },
}

/// A use of a register by the address units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerUse {
    /// An address is made of it, or another value.
    Read,
    /// It is the base or the length of a buffer.
    Modulus,
    /// It is written, a stage earlier than a move writes it.
    Written,
}

/// A place: a set and a member of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Place {
    pub set: usize,
    /// The whole set if there is none.
    pub member: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    pub broken: Broken,
    pub at: Place,
    /// The other instruction that it takes two for.
    pub with: Option<Place>,
}

/// All rules that the listing breaks, in its order.
#[must_use]
pub fn check(listing: &Listing, capacity: &Capacity) -> Vec<Finding> {
    let mut findings = Vec::new();
    let marked = listing.marked();
    for (at, &marked) in marked.iter().enumerate() {
        group::check(listing, at, marked, capacity, &mut findings);
    }
    distance::check(listing, capacity, &mut findings);
    loops::check(listing, capacity, &mut findings);
    findings.sort_by_key(|finding| (finding.at, finding.with));
    findings
}

impl Broken {
    /// The number of the rule in the manual, or the compiler's name of it.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Broken::Instructions { .. } => "G.G.1",
            Broken::Words { .. } => "G.G.2",
            Broken::Units { .. } => "G.G.3",
            Broken::TwoFlows | Broken::Written { .. } | Broken::Stores => "G.G.4",
            Broken::Uses { .. } => "G.G.5",
            Broken::Conditions { .. } => "IFc",
            Broken::Operands(_) => "operands",
            Broken::ModifierTooSoon => "A.1",
            Broken::PointerTooSoon { .. } => "A.2",
            Broken::TruthTooSoon => "T.1",
            Broken::StatusTooSoon => "SR",
            Broken::FlowInSlot { .. } => "D.4",
            Broken::StatusWithCall { slot: false } => "D.5",
            Broken::StatusWithCall { slot: true } => "D.5a",
            Broken::StackInSlot => "D.6",
            Broken::LoopTooSoon { short: true, .. } => "L.D.3",
            Broken::LoopTooSoon { short: false, .. }
            | Broken::SetupTooSoon { .. }
            | Broken::LoopNotEnabled { .. }
            | Broken::LoopStart { .. } => "L.D",
            Broken::LoopLength { .. } => "L.L",
            Broken::LoopNesting { .. } => "L.N",
            Broken::LoopTarget { .. } => "L.C.1",
            Broken::IntoLoop { .. } | Broken::FlowAtEnd => "L.C",
            Broken::SlotIsMarked => "L.C.11/12",
            Broken::StatusBeforeMark => "L.G.3/4",
            Broken::LoopRegister { .. } => "L.G",
        }
    }

    /// The kind of source on which the statement rests.
    #[must_use]
    pub const fn certainty(&self) -> Certainty {
        match self {
            Broken::Instructions { .. }
            | Broken::Units { .. }
            | Broken::TwoFlows
            | Broken::Written { .. }
            | Broken::Stores
            | Broken::Conditions { known: true }
            | Broken::TruthTooSoon
            | Broken::StatusWithCall { .. }
            | Broken::StackInSlot
            | Broken::FlowInSlot { returns: true }
            | Broken::LoopLength { .. }
            | Broken::LoopNesting { .. }
            | Broken::SlotIsMarked
            | Broken::StatusBeforeMark => Certainty::Stated,
            Broken::Words { least, limit, .. } if *least > *limit => Certainty::Stated,
            Broken::Uses { sources, limit, .. } if *sources > *limit => Certainty::Stated,
            Broken::Operands(misfit) if misfit.is_certain() => Certainty::Stated,
            Broken::ModifierTooSoon
            | Broken::PointerTooSoon {
                used: PointerUse::Read,
                ..
            }
            | Broken::LoopTooSoon { short: true, .. }
            | Broken::LoopTarget { .. } => Certainty::Observed,
            Broken::Words { .. }
            | Broken::Uses { .. }
            | Broken::Operands(_)
            | Broken::PointerTooSoon { .. }
            | Broken::Conditions { known: false }
            | Broken::StatusTooSoon
            | Broken::FlowInSlot { returns: false }
            | Broken::LoopNotEnabled { .. }
            | Broken::LoopTooSoon { short: false, .. }
            | Broken::SetupTooSoon { .. }
            | Broken::LoopStart { .. }
            | Broken::IntoLoop { .. }
            | Broken::FlowAtEnd
            | Broken::LoopRegister { .. } => Certainty::Guessed,
        }
    }
}
