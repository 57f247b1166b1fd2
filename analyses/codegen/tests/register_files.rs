//! The estimate of vector and scalar registers against what LLVM allocates for two of AMD's processors.
//!
//! The counts were read from what clang 19 -O3 makes of the files as HIP (`-x hip --cuda-device-only -include
//! hip/hip_runtime.h -S`: `.vgpr_count` and `.sgpr_count`); kernels with private arrays in memory are left out.
#![allow(clippy::disallowed_methods)]

use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{FunctionKind, Language};
use lockstep_codegen::machine::files::count;
use lockstep_codegen::machine::named;
use std::collections::BTreeMap;
use std::path::Path;
use syntax::c_family::{Dialect, parse_text};

/// Vector and scalar registers.
type Registers = (u32, u32);

/// File, kernel, and what it has on gfx1030 in warps of 32, on gfx906 in warps of 64.
const ALLOCATED: &[(&str, &str, [Registers; 2])] = &[
    ("cuda/attention_mask", "maskedScores", [(12, 18), (15, 21)]),
    ("cuda/column_sums", "avgSquare", [(8, 10), (9, 12)]),
    ("cuda/column_sums", "sumTriangle", [(7, 11), (7, 14)]),
    ("cuda/counted_registers", "far", [(4, 9), (4, 11)]),
    ("cuda/counted_registers", "held", [(4, 9), (4, 11)]),
    ("cuda/counted_registers", "shared", [(5, 9), (5, 11)]),
    ("costs/dot_products", "rows", [(29, 24), (8, 30)]),
    ("costs/dot_products", "sides", [(5, 10), (6, 13)]),
    ("cuda/fog_of_rays", "march", [(60, 18), (26, 24)]),
    (
        "cuda/guarded_lanes",
        "oneThreadOfTheGrid",
        [(5, 9), (5, 13)],
    ),
    ("cuda/guarded_lanes", "someLanes", [(7, 10), (7, 15)]),
    (
        "cuda/guarded_lanes",
        "spelledInManyWays",
        [(8, 14), (8, 17)],
    ),
    ("cuda/histogram_weights", "votes", [(14, 18), (17, 20)]),
    ("cuda/particles_alive", "step", [(17, 18), (17, 20)]),
    ("cuda/relu_layer", "gatedRelu", [(13, 10), (13, 20)]),
    ("costs/shared_tiles", "staged", [(4, 6), (4, 10)]),
    ("costs/shared_tiles", "tiles", [(54, 8), (56, 10)]),
    ("cuda/sparse_blocks", "blockRows", [(8, 10), (9, 20)]),
    (
        "cuda/strides_that_grow",
        "doublingStride",
        [(5, 6), (5, 11)],
    ),
    (
        "cuda/strides_that_grow",
        "fourBesideEachOther",
        [(5, 10), (6, 12)],
    ),
    ("cuda/transpose", "transposeConflicts", [(5, 14), (5, 16)]),
    ("cuda/transpose", "transposeNaive", [(4, 10), (5, 12)]),
    ("cuda/transpose", "transposePadded", [(5, 14), (5, 16)]),
];

/// The estimates of a file's kernels by name.
fn estimates(file: &str, machine: &str, lanes: u32) -> BTreeMap<String, Registers> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let text = std::fs::read_to_string(fixtures.join(file).with_extension("cu")).expect("a file");
    let items = parse_text(&text, Dialect::Cuda);
    let lower = LowerOptions::new(Language::Cuda);
    let table = named(machine).expect("a table");
    let options = facts::Options {
        warp_size: lanes,
        ..facts::Options::default()
    };
    let mut out = BTreeMap::new();
    for (_, lowered) in lower_unit(&items, &lower) {
        let facts = facts::analyze(0, &lowered.module, &options);
        let function = &lowered.module.functions[0];
        if function.kind != FunctionKind::Kernel {
            continue;
        }
        let counts = count(function, &facts, table.gpu()).expect("it is small");
        let scalar = counts.scalar.expect("AMD's machines have scalar registers");
        out.insert(function.name.to_string(), (counts.thread.allocated, scalar));
    }
    out
}

/// The middle one.
fn median(mut all: Vec<u32>) -> u32 {
    all.sort_unstable();
    all[all.len() / 2]
}

#[test]
fn estimates_are_near_what_llvm_allocates() {
    for (at, (machine, lanes)) in [("gfx1030", 32), ("gfx906", 64)].into_iter().enumerate() {
        let (mut vector, mut scalar) = (Vec::new(), Vec::new());
        for (file, kernel, allocated) in ALLOCATED {
            let estimates = estimates(file, machine, lanes);
            let found = estimates
                .get(*kernel)
                .unwrap_or_else(|| panic!("{kernel} in {estimates:?}"));
            let own = allocated[at];
            println!("{machine} {kernel}: {found:?} of {own:?}");
            vector.push(found.0.abs_diff(own.0));
            scalar.push(found.1.abs_diff(own.1));
        }
        let (vector, scalar) = (median(vector), median(scalar));
        println!("{machine}: off by {vector} vector and {scalar} scalar registers in the median");
        assert!(vector <= 2, "{machine}: {vector}");
        assert!(scalar <= 4, "{machine}: {scalar}");
    }
}
