//! Value profiles: which values a place takes, and how often.
//!
//! The seed's profiler complete: tables of top values (`tnv`), the profile of one place (`profiler`), the comparison of
//! two runs (`compare`), the profiler that stops when it has converged (`convergent`), and the estimate from loads only
//! (`propagate`).
//!
//! Source: Calder, Feller, Eustace, *Value Profiling*, MICRO-30, 1997.

pub mod compare;
pub mod convergent;
pub mod profiler;
pub mod propagate;
#[cfg(test)]
mod tests;
pub mod tnv;
