//! A guide to the code, for those who change it: two walks through all crates, and recipes for the most
//! frequent additions.
//!
//! The pages stand in `server/guide` as Markdown. `server/tests/documentation.rs` checks that the paths, functions and
//! tests that they name exist.

#[doc = include_str!("../guide/walk_keystroke_to_hint.md")]
pub mod walk_keystroke_to_hint {}

#[doc = include_str!("../guide/walk_loop_to_bundles.md")]
pub mod walk_loop_to_bundles {}

#[doc = include_str!("../guide/add_a_diagnostic.md")]
pub mod add_a_diagnostic {}

#[doc = include_str!("../guide/add_a_builtin.md")]
pub mod add_a_builtin {}

#[doc = include_str!("../guide/add_an_instruction.md")]
pub mod add_an_instruction {}

#[doc = include_str!("../guide/add_a_processor.md")]
pub mod add_a_processor {}

#[doc = include_str!("../guide/add_a_code_action.md")]
pub mod add_a_code_action {}

#[doc = include_str!("../guide/add_a_target.md")]
pub mod add_a_target {}
