//! The latencies of a processor with explicit groups as costs of the IR's operations: the costs in estimates
//! of a thread by itself.

use super::epic::Epic;
use super::schema::Issue;
use facts::cost::{Charge, Machine, Unit, Work};
use smol_str::SmolStr;

/// The cycles of callees that are not looked into.
const CALL: f64 = 40.0;

/// Cycles of mispredictions that a branch on a value of a profile has in the mean: of ten branches about two cost ten each.
const MISPREDICTED: f64 = 2.0;
/// A load of a stream: its latency overlaps with that of the others around it.
const LOAD: f64 = 1.0;

impl Epic {
    /// The latencies as costs of operations of a thread: the costs in estimates of cycles.
    #[must_use]
    pub fn costs(&self, name: SmolStr) -> Machine {
        let mut machine = Machine::new(name, |work| {
            let cycles = self.cycles(work);
            Charge {
                cycles,
                slots: f64::from(u8::from(cycles > 0.0)),
                busy: cycles,
                unit: Unit::Integer,
            }
        });
        // The cost of testing a value first: the test waits for the value, and is mispredicted now and then.
        machine.simple = self.cycles(Work::Branch) + f64::from(self.of(Issue::Load)) + MISPREDICTED;
        machine
    }

    /// Cycles of an operation, an estimate: from its operands to its result, quotients and roots as sequences of multiply-adds,
    /// calls as some tens of cycles, accesses to memory as their slot.
    #[must_use]
    pub fn cycles(&self, work: Work) -> f64 {
        let of = |key: Issue| f64::from(self.of(key));
        let moves = of(Issue::ToFloat) + of(Issue::FromFloat);
        match work {
            Work::Free => 0.0,
            Work::Integer
            | Work::Integer64
            | Work::Logic
            | Work::Compare
            | Work::BitField
            | Work::Vote
            | Work::Branch => of(Issue::Alu),
            Work::Shift64 | Work::Bits => of(Issue::Multimedia),
            Work::Scale => of(Issue::Alu),
            Work::Multiply | Work::Multiply64 => moves + of(Issue::Convert),
            Work::Float | Work::Half | Work::Double => of(Issue::Float),
            Work::Convert | Work::ConvertWide => of(Issue::ToFloat) + of(Issue::Convert),
            Work::DivideUnsigned | Work::DivideSigned | Work::Divide64 => {
                moves + 2.0 * of(Issue::Convert) + 7.0 * of(Issue::Float)
            }
            Work::DivideFloat | Work::Quotient => 7.0 * of(Issue::Float),
            Work::DivideDouble => 8.0 * of(Issue::Float),
            Work::RootFloat | Work::RootDouble | Work::Special => 10.0 * of(Issue::Float),
            Work::Sine
            | Work::Exponential
            | Work::Power
            | Work::Function
            | Work::FunctionDouble => 15.0 * of(Issue::Float),
            Work::Shared | Work::Constant | Work::Global => LOAD,
            Work::Shuffle
            | Work::Derivative
            | Work::Atomic
            | Work::Texture
            | Work::Barrier
            | Work::Call => CALL,
        }
    }
}
