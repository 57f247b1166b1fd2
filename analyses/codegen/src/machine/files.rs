//! The registers of a kernel in each register file of a machine.
//!
//! ```text
//! sm_80: 31 registers a thread      gfx1030: 17 vector registers a thread and 22 scalar registers a warp
//! ```
//!
//! If there is one file, [`super::registers`] estimates it. Where there are two, the values of each that are
//! live in the order of the text, and those of the vector file that are live in the order in which loads
//! begin early, give a less exact estimate: against what LLVM 19 -O3 allocates for 151 public kernels in HIP,
//! on gfx1030 and gfx906, read as their CUDA counterparts are written, the median error of vector registers
//! is 22 % on the half that the weights were fitted on and 35 % on the other (90th percentile 55 and 62 %),
//! of scalar registers 17 and 22 % (42 and 79 %); the test `register_files` measures it on a directory of
//! programs. Functions of the mathematical library, which LLVM takes apart, and loops that it unrolls have
//! the largest errors.

use super::Gpu;
use super::registers::{self, Estimate};
use super::schema::Key;
use facts::FunctionFacts;
use facts::pressure::{
    Counted, LiveVariable, Pressure, ScalarValues, Schedules, pressure, variables,
};
use ir::Function;

/// The weights of a vector register's estimate: a constant where nothing is live; a word in the order that
/// begins loads early, and one in the order of the text.
const VECTOR_BASE: f64 = 2.2;
const VECTOR_EARLY: f64 = 0.5;
const VECTOR_TEXT: f64 = 0.6;
/// The weights of scalar registers: a constant where nothing is live, for the values that the launch passes
/// and the condition of the last comparison; and a word in the order of the text.
const SCALAR_BASE: f64 = 7.4;
const SCALAR_TEXT: f64 = 0.83;

/// The registers of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterCounts {
    /// The registers of a thread: those of the only file, or of the vector file.
    pub thread: Estimate,
    /// The scalar registers of a warp; `None` if the machine has one file.
    pub scalar: Option<u32>,
}

/// The register files of a machine as a function's values fill them.
#[derive(Debug)]
pub struct RegisterFiles<'a> {
    function: &'a Function,
    facts: &'a FunctionFacts,
    gpu: &'a Gpu,
    /// The values that scalar registers hold; `None` where there is one file.
    scalar: Option<ScalarValues>,
}

impl<'a> RegisterFiles<'a> {
    #[must_use]
    pub fn new(function: &'a Function, facts: &'a FunctionFacts, gpu: &'a Gpu) -> Self {
        let lanes = function.launch.warp_size.unwrap_or(facts.options.warp_size);
        let has_scalar = gpu.count(Key::ScalarRegisters) > 0;
        RegisterFiles {
            function,
            facts,
            gpu,
            scalar: has_scalar.then(|| ScalarValues::new(function, facts, gpu.lanes(lanes))),
        }
    }

    /// The registers of a thread.
    fn of_thread(&self) -> Counted<'_> {
        self.scalar.as_ref().map_or(Counted::All, Counted::Vector)
    }

    /// The pressure on the registers of a thread; `None` where the function is too large.
    #[must_use]
    pub fn pressure(&self) -> Option<Pressure> {
        pressure(self.function, self.of_thread())
    }

    /// Returns the variables that are live at the peak in the registers of a thread; `None` where the
    /// function is too large.
    #[must_use]
    pub fn variables(&self, pressure: &Pressure) -> Option<Vec<LiveVariable>> {
        variables(self.function, self.facts, self.of_thread(), pressure)
    }

    /// The registers of the function, or of the same `contracted`, whose values have the same numbers; an estimate. `None`
    /// where it is too large.
    #[must_use]
    pub fn count(&self, contracted: &Function) -> Option<RegisterCounts> {
        let schedules = Schedules::of(contracted, self.facts, self.of_thread())?;
        let Some(scalar) = &self.scalar else {
            return Some(RegisterCounts {
                thread: registers::estimate(contracted, &schedules, self.gpu),
                scalar: None,
            });
        };
        let text = pressure(contracted, Counted::Vector(scalar))?.registers;
        let words = pressure(contracted, Counted::Scalar(scalar))?.registers;
        let most = self.gpu.count(Key::ThreadRegisters);
        let early = f64::from(schedules.early(most));
        let vector = rounded(VECTOR_BASE + VECTOR_EARLY * early + VECTOR_TEXT * f64::from(text));
        let needed = schedules.least.min(text);
        let named = self.gpu.count(Key::ScalarRegisters);
        let scalar = rounded(SCALAR_BASE + SCALAR_TEXT * f64::from(words));
        Some(RegisterCounts {
            thread: match schedules.empty {
                true => Estimate {
                    allocated: 0,
                    needed: 0,
                },
                false => Estimate {
                    allocated: vector.max(needed).min(most),
                    needed,
                },
            },
            scalar: Some(scalar.min(named)),
        })
    }
}

/// A count of registers, which is far below the limit of exact integers in a float.
fn rounded(count: f64) -> u32 {
    count.round() as u32
}
