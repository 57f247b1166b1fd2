//! The passes over a small machine that is none of ours: the proof that they ask their target and know no other.

#![allow(unreachable_pub)]

mod quad {
    mod checks;
    mod fault_tests;
    mod operate;
    mod passes;
    mod print;
    pub mod random;
    mod random_tests;
    pub mod set;
    pub mod simulate;
    mod simulate_tests;
    mod state;
    pub mod target;
}
