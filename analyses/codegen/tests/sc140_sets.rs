//! SC140's execution sets: instructions as data against their execution, the rules, what fits one set, re-packing.

#[path = "sc140/effects.rs"]
mod effects;
#[path = "sc140/packer.rs"]
mod packer;
#[path = "sc140/programs.rs"]
mod programs;
#[path = "sc140/random.rs"]
mod random;
#[path = "sc140/repack.rs"]
mod repack;
#[path = "sc140/rules.rs"]
mod rules;

use lockstep_codegen::machine::tables;
use lockstep_codegen::target::sc140::capacity::Capacity;
use std::path::Path;

fn capacity() -> Capacity {
    let sets = tables().iter().find_map(|table| table.sets());
    Capacity::of(sets.expect("a table of sets"))
}

#[allow(clippy::disallowed_methods)]
fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sc140");
    std::fs::read_to_string(folder.join(name)).expect(name)
}

/// Functions that run.
const LISTINGS: [&str; 5] = [
    "conditional-count.sc140.asm",
    "dot-product.sc140.asm",
    "fir-four-outputs.sc140.asm",
    "maximum.sc140.asm",
    "saturating-add.sc140.asm",
];
