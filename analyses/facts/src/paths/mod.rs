//! Path profiles: which ways through a function are taken, and how often.
//!
//! ```text
//! if (a) x; else y; if (b) z;      4 ways: x z, x, y z, y, numbered 0 to 3; each edge adds a part of the number
//! ```
//!
//! `graph` is the control flow that is walked, `numbering` gives each acyclic way its number, `placement`
//! chooses the places where a counter changes so that the number comes out with fewest additions, `counters`
//! the edges that determine all others, `profile` holds the counts, `partly_known` derives bounds from some
//! counts of edges, `pieces` joins ways at inner loops, `bounds` derives bounds of ways from counts of edges alone, `unread` counts computed
//! values that nothing reads on them.
//!
//! Source: Ball and Larus, *Efficient Path Profiling*, MICRO-29, 1996; Ball, *Efficiently Counting Program Events with
//! Support for On-line Queries*, TOPLAS 1994; Ball, Mataga, Sagiv, *Edge Profiling versus Path Profiling*, POPL 1998.

pub mod bounds;
pub mod counters;
mod graph;
mod numbering;
pub mod partly_known;
mod pieces;
pub mod placement;
mod profile;
#[cfg(test)]
mod tests;
mod unread;

pub use graph::{PathGraph, certain_edge};
pub use numbering::{Ending, Path, PathNumbers, PathRefusal, Start, Walk};
pub use pieces::{Piece, Ways, joined};
pub use profile::PathProfile;
pub use unread::{Unread, unread, unread_at_least};
