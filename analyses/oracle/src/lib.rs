//! The judge of analyses and transformations: executes programs of the IR, and makes programs to execute.
//!
//! Knows what every lane of a launch computes, from the definition of the IR (and of µ-SIMD, the paper's
//! language) alone. Never knows a fact, a transformation or a processor: the code under test shares no code
//! with it but scalar arithmetic (`ir::numbers`). Tests and the runs that a person asks for use it, and no
//! analysis. Recomputed on an edit: nothing; a run is asked for, and equal modules and launches give equal
//! outcomes.
//!
//! Unit tests of `ir` do not name it (`ir` is its dependency and would exist twice): those that execute or need random
//! programs stand in `analyses/ir/tests`.

pub mod interp;
pub mod random;
