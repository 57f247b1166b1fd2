//! IR to PTX text, for sm_75 to sm_121.
//!
//! ```text
//! kernel k(p: ptr.global) { b0: v1 = thread_id.x ... }  ->  .visible .entry k(.param .u64 .ptr .global .align 1 k_param_0)
//! ```
//!
//! Each value is a register of its own. Narrow integers live sign-extended in 32-bit registers, `Bool` in
//! predicates, 16-bit floats as bits. Constants are written where they are used, unread values are left out
//! (`needed`). Block parameters become moves at the ends of edges, copied in parallel. An operation without a
//! form is a `Refusal` and nothing is printed. One pass; linear in the instructions and edge arguments.
//!
//! Shader stages become entries: constant buffers, buffers, textures and samplers are parameters (addresses and bindless
//! handles), inputs and outputs are records a lane (`resources`). Functions of the device library and functions that are
//! only declared become external calls, which `ptxas` takes with `-c`.
//!
//! Does not optimise: `ptxas` does. Wrap flags and names of variables are not printed.

mod call;
mod control;
mod emit;
pub mod machine;
mod math;
mod memory;
mod needed;
mod operations;
mod registers;
mod resources;
#[cfg(test)]
mod tests;
mod textures;
mod warp;

pub use emit::{emit, generate};

use ir::Loc;
use smol_str::SmolStr;

/// A place in the source: number of the file from 1, line and column from 1.
pub type Place = (u32, u32, u32);

/// The target for which code is printed.
#[expect(
    missing_debug_implementations,
    reason = "a function that is lent has nothing to show"
)]
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// 75 for sm_75.
    pub sm: u32,
    /// Functions of the hardware instead of the device library's, as `nvcc --use_fast_math` and shader compilers choose.
    pub fast_math: bool,
    /// Products and sums become one operation that rounds once, as `nvcc` and shader compilers do by default.
    pub contract: bool,
    /// Names for `.file`, by number from 1.
    pub files: &'a [String],
    /// The place of a position in the source, for `.loc`.
    pub place: Option<&'a dyn Fn(Loc) -> Option<Place>>,
}

impl Default for Target<'_> {
    fn default() -> Self {
        Target {
            sm: 75,
            fast_math: false,
            contract: false,
            files: &[],
            place: None,
        }
    }
}

impl Target<'_> {
    /// The first ISA version that knows the architecture, 7.8 at least (PTX ISA, release notes).
    fn version(&self) -> &'static str {
        match self.sm {
            0..=90 => "7.8",
            91..=101 => "8.6",
            102..=120 if self.sm != 103 => "8.7",
            _ => "8.8",
        }
    }
}

/// Printed PTX.
#[derive(Clone, PartialEq, Debug)]
pub struct Code {
    pub text: String,
    /// Lines of the text, from 0, with their origins; ascending in each function.
    pub places: Vec<(u32, Loc)>,
    /// Functions that other modules define.
    pub externals: Vec<SmolStr>,
}
