//! The code of the first function of a text of C, and the reports on its loops.

use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::pipeline::{self, LoopReport};
use syntax::c_family::{Dialect, parse_text};

/// Emits a source with products and sums as one operation.
pub(crate) fn emitted(
    source: &str,
    machine: &str,
    how: Option<pipeline::Options>,
) -> (String, Vec<LoopReport>) {
    let items = parse_text(source, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let (_, lowered) = all.into_iter().next().expect("f");
    let table = machine::named(machine).expect("a table");
    let options = Options {
        contract: true,
        pipeline: how,
        ..Options::default()
    };
    let emitted = emit(&lowered.module, table.epic().expect("groups"), &options);
    let mut emitted = emitted.unwrap_or_else(|why| panic!("{why:?}\n{source}"));
    (emitted.text, emitted.functions.remove(0).loops)
}
