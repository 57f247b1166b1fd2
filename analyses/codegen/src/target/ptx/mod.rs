//! IR to PTX text, for ISA 7.8 and sm_75.
//!
//! ```text
//! kernel k(p: ptr.global) { b0: v1 = thread_id.x ... }  ->  .visible .entry k(.param .u64 .ptr .global .align 1 k_param_0)
//! ```
//!
//! Each value is a register of its own. Narrow integers live sign-extended in 32-bit registers, `Bool` in predicates,
//! 16-bit floats as bits. Block parameters become moves at the ends of edges, copied in parallel. An operation without
//! a form is a `Refusal` and nothing is printed. One pass; linear in the instructions and edge arguments.
//!
//! Does not optimise: `ptxas` does. Wrap flags, source positions and names of variables are not printed.

mod emit;
mod operations;
mod registers;
#[cfg(test)]
mod tests;
mod warp;

pub use emit::emit;
