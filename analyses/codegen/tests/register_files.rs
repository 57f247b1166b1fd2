//! The estimate of vector and scalar registers against LLVM's allocation for two of AMD's processors.
//!
//! The counts were read from the code that clang 19 -O3 makes of the files as HIP (`-x hip --cuda-device-only
//! -include hip/hip_runtime.h -S`: `.vgpr_count` and `.sgpr_count`); kernels with private arrays in memory
//! are left out.
//!
//! With `LOCKSTEP_HIP_KERNELS` the directories `NAME-hip` of that directory are compiled by `LOCKSTEP_CLANG`
//! (with the options in `LOCKSTEP_HIP_OPTIONS`, such as where ROCm lies) and compared with the estimates for
//! `NAME-cuda`, file by file, as HeCBench keeps its programs: the distribution of the errors is printed,
//! apart for the half by whose names the weights were fitted.
#![allow(clippy::disallowed_methods)]

use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{FunctionKind, Language};
use lockstep_codegen::machine::files::RegisterFiles;
use lockstep_codegen::machine::named;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use syntax::c_family::{Dialect, parse_text};

/// Vector and scalar registers.
type Registers = (u32, u32);

/// File, kernel, and its registers on gfx1030 in warps of 32, on gfx906 in warps of 64.
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
fn of_fixture(file: &str, machine: &str, lanes: u32) -> BTreeMap<String, Registers> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let text = std::fs::read_to_string(fixtures.join(file).with_extension("cu")).expect("a file");
    estimates(&text, machine, lanes)
}

/// The estimates of a text's kernels by name.
fn estimates(text: &str, machine: &str, lanes: u32) -> BTreeMap<String, Registers> {
    let items = parse_text(text, Dialect::Cuda);
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
        let Some(counts) = RegisterFiles::new(function, &facts, table.gpu()).count(function) else {
            continue;
        };
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
            let estimates = of_fixture(file, machine, lanes);
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
        assert!(scalar <= 3, "{machine}: {scalar}");
    }
}

/// Returns the registers that LLVM allocates for the kernels of a HIP file, by the last part of their names
/// where that is one kernel's; without those that have memory of their own.
fn allocated(file: &Path, machine: &str) -> BTreeMap<String, Registers> {
    let clang = std::env::var("LOCKSTEP_CLANG").unwrap_or_else(|_| "clang".into());
    let options = std::env::var("LOCKSTEP_HIP_OPTIONS").unwrap_or_default();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = folder.path().join("made.s");
    let output = Command::new(clang)
        .args(["-x", "hip", "--cuda-device-only", "-O3", "-w", "-S"])
        .arg(format!("--offload-arch={machine}"))
        .args(options.split_whitespace())
        .arg(file)
        .arg("-o")
        .arg(&made)
        .output()
        .expect("the compiler runs");
    let mut out: BTreeMap<String, Vec<Registers>> = BTreeMap::new();
    if !output.status.success() {
        return BTreeMap::new();
    }
    let text = std::fs::read_to_string(made).expect("what was made");
    for kernel in text.split("\n  - .args:").skip(1) {
        let field = |name: &str| {
            let mut lines = kernel.lines().map(str::trim);
            lines
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        let number = |name: &str| field(name).and_then(|text| text.parse::<u32>().ok());
        let mangled = kernel
            .lines()
            .find_map(|line| line.strip_prefix("    .name:"));
        let (Some(mangled), Some(vector), Some(scalar), Some(0)) = (
            mangled,
            number(".vgpr_count:"),
            number(".sgpr_count:"),
            number(".private_segment_fixed_size:"),
        ) else {
            continue;
        };
        out.entry(plain(mangled.trim()))
            .or_default()
            .push((vector, scalar));
    }
    out.retain(|_, all| all.len() == 1);
    out.into_iter().map(|(name, all)| (name, all[0])).collect()
}

/// The last part of a mangled name (`_Z4scalePf`: `scale`).
fn plain(mangled: &str) -> String {
    let Some(mut rest) = mangled.strip_prefix("_Z") else {
        return mangled.to_owned();
    };
    rest = rest.trim_start_matches(['N', 'L']);
    let mut last = mangled;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(length) = rest[..digits].parse::<usize>() else {
            return last.to_owned();
        };
        let Some(name) = rest.get(digits..digits + length) else {
            return last.to_owned();
        };
        (last, rest) = (name, &rest[digits + length..]);
    }
}

/// The half by whose names the weights were fitted.
fn is_fitted(name: &str) -> bool {
    let crc = name.bytes().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    });
    !crc & 1 == 1
}

#[test]
fn public_programs() {
    let Ok(folder) = std::env::var("LOCKSTEP_HIP_KERNELS") else {
        println!("LOCKSTEP_HIP_KERNELS is not set: fixtures alone are compared");
        return;
    };
    let mut programs: Vec<String> = std::fs::read_dir(&folder)
        .expect("the directory")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix("-hip").map(str::to_owned))
        .collect();
    programs.sort();
    // By fitted or not, the errors of vector and of scalar registers.
    let mut errors: BTreeMap<bool, [Vec<f64>; 2]> = BTreeMap::new();
    for (machine, lanes) in [("gfx1030", 32), ("gfx906", 64)] {
        for program in &programs {
            let base = Path::new(&folder);
            let Ok(files) = std::fs::read_dir(base.join(format!("{program}-hip"))) else {
                continue;
            };
            for file in files.filter_map(|entry| Some(entry.ok()?.path())) {
                if file.extension().is_none_or(|end| end != "cu") {
                    continue;
                }
                let name = file.file_name().unwrap_or_default();
                let Ok(bytes) = std::fs::read(base.join(format!("{program}-cuda")).join(name))
                else {
                    continue;
                };
                let found = estimates(&String::from_utf8_lossy(&bytes), machine, lanes);
                let all = if found.is_empty() {
                    BTreeMap::new()
                } else {
                    allocated(&file, machine)
                };
                for (kernel, own) in all {
                    let Some(guess) = found.get(&kernel).filter(|_| own.0 >= 4) else {
                        continue;
                    };
                    let error = |guess: u32, own: u32| {
                        f64::from(guess.abs_diff(own)) / f64::from(own.max(1))
                    };
                    let half = is_fitted(&format!("{program}/{kernel}"));
                    let lists = errors.entry(half).or_default();
                    lists[0].push(error(guess.0, own.0));
                    lists[1].push(error(guess.1, own.1));
                }
            }
        }
    }
    for (fitted, lists) in &mut errors {
        for (what, list) in ["vector", "scalar"].iter().zip(lists) {
            list.sort_by(f64::total_cmp);
            let at = |share: f64| 100.0 * list[((list.len() - 1) as f64 * share).round() as usize];
            println!(
                "fitted {fitted}: {what} registers of {} kernels: median error {:.0} %, 90th percentile {:.0} %",
                list.len(),
                at(0.5),
                at(0.9)
            );
        }
    }
    assert!(!errors.is_empty(), "no program was compiled");
}
