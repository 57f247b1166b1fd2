//! The number of registers that a compiler gives a thread: an estimate from the registers that the values of
//! a function take in the orders that a scheduler chooses from.
//!
//! ```text
//! 20 words live in the best order, 30 with loads begun early, 6 accesses of memory, sm_80:
//! 24 are needed and 32 cost no warp: 5 + 0.63 * 24 + 0.9 * 6 + 0.83 * 6 = 30.5, 31 registers
//! ```
//!
//! `ptxas` takes the registers that cost nothing. It begins loads early, keeps addresses apart and spreads
//! values over the banks until the next warp of a scheduler would be lost (a step of `steps`), and begins to
//! economise there: many kernels have exactly 32, 40, 48 or 64 registers. So there are two figures: the
//! registers needed, which determine the step; and those that would be taken if registers were free, which
//! the step limits.
//!
//! The weights are fitted on half of 1,870 kernels of public PTX (old PTX of NVIDIA's compilers, and CUDA
//! compiled by clang 19), by a hash of their names, against `ptxas` 13.5 for sm_75, sm_80 and sm_90 at once.
//! On the other half the median error is 8.3, 7.7 and 8.3 %, the 90th percentile 31, 22 and 25 %; the test
//! `register_estimates` measures it on a directory of files. For CUDA read as it is written, against the
//! results of clang -O3 and `ptxas`, see `COMPILED`.

use super::Gpu;
use super::schema::Key;
use facts::pressure::Schedules;
use ir::{Function, Language};

/// The stack pointer, two that are reserved, and the registers lost by rounding.
const BASE: f64 = 5.0;
/// A word that is live at the peak, up to `FREE` of them: not all are live in the order that the assembler chooses.
const WORD: f64 = 0.63;
const FREE: f64 = 24.0;
/// A word beyond.
const FURTHER: f64 = 0.9;
/// An access of global memory, whose address has registers of its own, up to `ACCESSES` of them.
const ACCESS: f64 = 0.83;
const ACCESSES: u32 = 8;
/// Values that are exchanged between lanes, and more if they take two words.
const SHUFFLE: f64 = 2.0;
const WIDE_SHUFFLE: f64 = 3.0;
/// Pairs have to begin at even numbers.
const WIDE: f64 = 0.9;
/// Registers without which no order fits, besides the words that are live.
const NEEDED: u32 = 4;
/// The share that the optimiser in front of the assembler adds to a function as written: values that it moves
/// out of loops and keeps. With it the median of estimated by allocated registers is 1.00 on 533 public
/// kernels for sm_80, the median error 15 %, the 90th percentile 48 %.
const COMPILED: f64 = 1.5;
/// The registers of a kernel that calls by the conventions: those that a callee may use, and those that must
/// not be live across a call.
const CALLING: u32 = 24;
const ACROSS: u32 = 18;
const LEAST: u32 = 8;
/// The registers of a kernel that does nothing.
const NOTHING: u32 = 4;

/// The registers of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// The registers allocated where nothing but the machine limits them.
    pub allocated: u32,
    /// The registers that no order does without: where they are more than there are, values are spilled.
    pub needed: u32,
}

impl Estimate {
    /// Returns the registers allocated if so many are allowed; more where values are spilled.
    #[must_use]
    pub fn within(self, budget: u32) -> u32 {
        self.allocated.min(budget.max(self.needed))
    }
}

/// The registers of a thread.
#[must_use]
pub fn estimate(function: &Function, schedules: &Schedules, gpu: &Gpu) -> Estimate {
    let same = |registers: u32| Estimate {
        allocated: registers,
        needed: registers,
    };
    if schedules.empty {
        return same(NOTHING);
    }
    let most = gpu.count(Key::ThreadRegisters);
    let needed = schedules.least + NEEDED;
    if let Some(across) = schedules.across_calls {
        return same(needed.max(across + ACROSS).max(CALLING).min(most));
    }
    let all = steps(gpu);
    let step = all.into_iter().find(|&step| step >= needed);
    let step = step.unwrap_or(most);
    let free = taken(function, schedules, step);
    Estimate {
        // A count of registers is far below what a float is exact for.
        allocated: (free.round() as u32).max(needed).min(step).max(LEAST),
        needed,
    }
}

/// The registers that would be taken if they cost nothing up to a step.
fn taken(function: &Function, schedules: &Schedules, step: u32) -> f64 {
    let live = f64::from(schedules.early(step));
    let mut sum = BASE + WORD * live.min(FREE) + FURTHER * (live - FREE).max(0.0);
    sum += ACCESS * f64::from(schedules.accesses.min(ACCESSES));
    if schedules.shuffles {
        sum += SHUFFLE;
    }
    if schedules.doubles {
        sum += WIDE;
    }
    if schedules.shuffles && schedules.doubles {
        sum += WIDE_SHUFFLE;
    }
    if function.language != Language::Ptx {
        sum += COMPILED;
    }
    sum
}

/// The counts of registers beyond which a scheduler has room for a warp less, ascending.
#[must_use]
pub fn steps(gpu: &Gpu) -> Vec<u32> {
    let schedulers = gpu.count(Key::Schedulers).max(1);
    let file = gpu.count(Key::Registers) / schedulers;
    let unit = gpu.count(Key::RegisterUnit).max(1);
    let lanes = gpu.count(Key::Lanes).max(1);
    let most = gpu.count(Key::ThreadRegisters);
    let warps = (1..=gpu.count(Key::Warps) / schedulers).rev();
    let mut out: Vec<u32> = warps
        .map(|warps| (file / warps / unit * unit / lanes).min(most))
        .collect();
    out.dedup();
    out
}

#[cfg(test)]
#[path = "registers_tests.rs"]
mod tests;
