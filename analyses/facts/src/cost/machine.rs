//! The costs of instructions to a warp: a table by kind of work, filled in by code that knows the machine.

use super::work::{Work, work};
use smol_str::SmolStr;

/// The unit that an instruction keeps busy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Unit {
    /// The scheduler: one slot an instruction.
    Issue,
    Float,
    Half,
    Double,
    Integer,
    /// Special functions, conversions, bit counts.
    Special,
    /// Addresses and lines of global and local memory, shuffles.
    Memory,
    Shared,
    Texture,
    /// No unit: the warp waits, for memory or at a barrier.
    Wait,
}

impl Unit {
    pub const ALL: [Unit; 10] = [
        Unit::Issue,
        Unit::Float,
        Unit::Half,
        Unit::Double,
        Unit::Integer,
        Unit::Special,
        Unit::Memory,
        Unit::Shared,
        Unit::Texture,
        Unit::Wait,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Issue => "issue",
            Unit::Float => "f32 pipe",
            Unit::Half => "f16 pipe",
            Unit::Double => "f64 pipe",
            Unit::Integer => "integer pipe",
            Unit::Special => "special functions",
            Unit::Memory => "load/store",
            Unit::Shared => "shared memory",
            Unit::Texture => "texture units",
            Unit::Wait => "latency",
        }
    }
}

/// The cost of one instruction for a warp.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Charge {
    /// Cycles that a scheduler loses to it.
    pub cycles: f64,
    /// Instructions that are issued.
    pub slots: f64,
    /// Cycles that `unit` is busy; the rest of `cycles` is waiting.
    pub busy: f64,
    pub unit: Unit,
}

impl Charge {
    pub const FREE: Charge = Charge {
        cycles: 0.0,
        slots: 0.0,
        busy: 0.0,
        unit: Unit::Issue,
    };
    const ONE: Charge = Charge {
        cycles: 1.0,
        slots: 1.0,
        busy: 1.0,
        unit: Unit::Issue,
    };
}

/// Issue slots of a region that is no longer interleaved: ptxas 13.5 unrolls a loop of 22 instructions eight times, and one
/// of 130 not at all.
const INTERLEAVED: f64 = 64.0;

/// Costs of a warp on one machine; estimates.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// The name of its table; empty if no table was given.
    pub name: SmolStr,
    charges: [Charge; Work::ALL.len()],
    /// Cycles of a plain instruction.
    pub simple: f64,
    /// Pushing and popping the point where lanes meet again.
    pub reconverge: f64,
    /// Most cycles of overlap that a vote and its branch end.
    pub overlap: f64,
    /// Cycles that one line of the first cache takes, and its bytes.
    pub line_cycles: f64,
    pub line_bytes: f64,
    /// Cycles that an issue slot takes.
    pub issue_cycles: f64,
}

/// Tables hold numbers only: their loader refuses others.
impl Eq for Machine {}

impl std::hash::Hash for Machine {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Default for Machine {
    /// Every instruction takes one cycle.
    fn default() -> Self {
        Machine::new(SmolStr::default(), |work| match work {
            Work::Free => Charge::FREE,
            _ => Charge::ONE,
        })
    }
}

impl Machine {
    #[must_use]
    pub fn new(name: SmolStr, charge: impl Fn(Work) -> Charge) -> Self {
        let charges = Work::ALL.map(charge);
        Machine {
            name,
            charges,
            simple: charges[Work::Float as usize].cycles,
            reconverge: 0.0,
            overlap: 0.0,
            line_cycles: 1.0,
            line_bytes: 128.0,
            issue_cycles: 1.0,
        }
    }
    #[must_use]
    pub fn charge(&self, work: Work) -> Charge {
        self.charges[work as usize]
    }
    /// Cycles that a vote and its branch cost besides themselves, around a region of so many issue slots.
    /// Without them compilers interleave few instructions with the code around it, and with further
    /// iterations of a loop that they unroll; a long region stands for itself either way.
    #[must_use]
    pub fn lost_overlap(&self, slots: f64) -> f64 {
        self.overlap * (1.0 - slots / INTERLEAVED).max(0.0)
    }
    /// Cycles of a warp for one instruction.
    #[must_use]
    pub fn cycles(&self, function: &ir::Function, inst: &ir::InstData) -> f64 {
        self.charge(work(function, inst)).cycles
    }
}
