//! The loops of `fixtures/c/loops` on both processors: the bounds of each, the interval reached, and the
//! results of the code.
//!
//! `cargo test -p lockstep-codegen --test ia64_loops -- --nocapture` prints the figures; the tables themselves stand beside
//! the loops, and are rewritten by `UPDATE_FIXTURES=1`. GNU `as` judges where it is found (`LOCKSTEP_IA64_AS`).
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;
#[path = "ia64_loops/epilogues.rs"]
mod epilogues;
#[path = "ia64_loops/execute.rs"]
mod execute;
#[path = "support/judge.rs"]
mod judge;
#[path = "support/loops.rs"]
mod loops;
#[path = "ia64_loops/table.rs"]
mod table;

use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Emitted, Options, emit};
use lockstep_codegen::target::ia64::pipeline::{self, Method};

const MACHINES: [&str; 2] = ["itanium", "itanium2"];

/// The code of a loop's function: loops as they are (`None`), or pipelined wherever that is possible, by the best method or a given
/// one.
fn emitted(looped: &loops::Loop, machine: &str, pipelined: Option<Option<Method>>) -> Emitted {
    let table = machine::named(machine).expect("a table");
    let options = Options {
        pipeline: pipelined.map(|method| pipeline::Options {
            method,
            always: true,
            ..pipeline::Options::default()
        }),
        ..Options::default()
    };
    emit(
        &looped.module,
        table.epic().expect("explicit groups"),
        &options,
    )
    .unwrap_or_else(|reasons| panic!("{}: {reasons:?}", looped.name))
}
