//! Value profiles: which values a place takes, and how often.
//!
//! The seed's profiler complete: tables of top values (`tnv`), the profile of one place (`profiler`), the
//! comparison of two runs (`compare`), and the profiler that stops when it has converged (`convergent`).
//! `record` has the counts of a run and the values that are counted; `stored` is the profile as it is kept on
//! disk. The interpreter sees every value, so that the seed's estimate of all values from loads has no use
//! here.
//!
//! Source: Calder, Feller, Eustace, *Value Profiling*, MICRO-30, 1997.

pub mod compare;
pub mod convergent;
pub mod profiler;
pub mod record;
pub mod stored;
#[cfg(test)]
mod tests;
pub mod tnv;
