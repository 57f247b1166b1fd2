//! The estimate of a kernel's registers against the allocation of NVIDIA's assembler.
//!
//! Kernels of `fixtures/ptx` and those printed from `fixtures/cuda` are always compared, and those of the
//! directory that `LOCKSTEP_PUBLIC_PTX` names if it is set: of these the distribution of the errors is
//! printed for each target, apart for the half by whose names the weights of the estimate were fitted. With
//! `LOCKSTEP_REGISTER_LIST` each kernel is printed, too.
#![allow(clippy::disallowed_methods)]

#[path = "support/ptxas.rs"]
#[allow(dead_code, reason = "other tests assemble, too")]
mod ptxas;
#[path = "support/public.rs"]
// Files are read with their figures here.
#[allow(dead_code)]
mod public;

use facts::pressure::Schedules;
use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{FunctionKind, Language};
use lockstep_codegen::contract::contracted;
use lockstep_codegen::machine::named;
use lockstep_codegen::machine::registers::estimate;
use lockstep_codegen::target::ptx;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use syntax::c_family::{Dialect, parse_text};

/// Targets, and the median and the 90th percentile of the errors of the fixtures in percent, at most.
const TARGETS: [(&str, f64, f64); 3] = [
    ("sm_75", 14.5, 50.5),
    ("sm_80", 14.5, 45.0),
    ("sm_90", 16.0, 39.5),
];

/// A kernel, with the estimate and the allocation.
struct Kernel {
    name: String,
    estimate: u32,
    allocated: u32,
}

impl Kernel {
    /// The error in percent of the allocation; positive where the estimate is too large.
    fn error(&self) -> f64 {
        let (estimate, allocated) = (f64::from(self.estimate), f64::from(self.allocated));
        100.0 * (estimate - allocated) / allocated
    }

    /// Returns true for a kernel whose name is of the half that the weights were fitted on.
    fn is_fitted(&self) -> bool {
        let mixed = self
            .name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        mixed >> 32 & 1 == 0
    }
}

/// Returns the registers that each entry of a file is given, without those that spill.
fn figures(tool: &Path, target: &str, file: &Path) -> BTreeMap<String, u32> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(tool)
        .args(["-v", &format!("-arch={target}"), "-o"])
        .arg(folder.path().join("made.cubin"))
        .arg(file)
        .output()
        .expect("the assembler runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut out = BTreeMap::new();
    let mut entry: Option<String> = None;
    let (mut own, mut spills) = (false, false);
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            entry = rest.split('\'').next().map(str::to_owned);
            spills = false;
        }
        if let Some((_, name)) = line.split_once("Function properties for ") {
            own = entry.as_deref() == Some(name.trim());
        }
        if own && line.contains("bytes spill stores") {
            spills = !line.contains(" 0 bytes spill stores, 0 bytes spill loads");
        }
        let used = line.split_once("Used ").and_then(|(_, rest)| {
            let number = rest.split_once(" registers")?.0;
            number.parse::<u32>().ok()
        });
        if let (Some(used), Some(name)) = (used, entry.take_if(|_| used.is_some()))
            && !spills
        {
            out.insert(name, used);
        }
    }
    out
}

/// The kernels of a file that the assembler takes for a target.
fn kernels(tool: &Path, target: &str, file: &Path) -> Vec<Kernel> {
    let text = String::from_utf8_lossy(&std::fs::read(file).expect("a file")).into_owned();
    let figures = figures(tool, target, file);
    let table = named(target).unwrap_or_else(|| panic!("no table {target}"));
    let mut out = Vec::new();
    for (_, _, lowered) in ir::lower::ptx::lower_text(&text) {
        let function = &lowered.module.functions[0];
        let Some(&allocated_by_tool) = figures.get(&*function.name) else {
            continue;
        };
        if function.kind != FunctionKind::Kernel {
            continue;
        }
        let facts = facts::analyze(0, &lowered.module, &facts::Options::default());
        // The assembler contracts what does not say how it is rounded.
        let function = &*contracted(function);
        let Some(schedules) = Schedules::new(function, &facts) else {
            continue;
        };
        out.push(Kernel {
            name: function.name.to_string(),
            estimate: estimate(function, &schedules, table.gpu()).allocated,
            allocated: allocated_by_tool,
        });
    }
    out
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the directory");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == extension));
    paths.sort();
    paths
}

/// The median, the 90th percentile and the worst of the errors without their signs, and the median with it.
fn distribution(kernels: &[&Kernel]) -> [f64; 4] {
    let mut signed: Vec<f64> = kernels.iter().map(|kernel| kernel.error()).collect();
    signed.sort_by(f64::total_cmp);
    let mut plain: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    plain.sort_by(f64::total_cmp);
    let at = |all: &[f64], share: f64| {
        let last = all.len().saturating_sub(1) as f64;
        all.get((last * share).round() as usize).copied()
    };
    [
        at(&plain, 0.5),
        at(&plain, 0.9),
        at(&plain, 1.0),
        at(&signed, 0.5),
    ]
    .map(|found| found.unwrap_or(f64::NAN))
}

fn print(what: &str, kernels: &[&Kernel]) -> [f64; 4] {
    let found = distribution(kernels);
    let [median, ninetieth, worst, signed] = found;
    println!(
        "{what}: {} kernels, median error {median:.1} %, 90th percentile {ninetieth:.1} %, worst {worst:.0} %, signed median {signed:.1} %",
        kernels.len()
    );
    found
}

/// Writes the printed kernels of a CUDA file into a folder, each by itself.
fn printed(file: &Path, folder: &Path) {
    let text = std::fs::read_to_string(file).expect("a fixture");
    let items = parse_text(&text, Dialect::Cuda);
    let options = LowerOptions::new(Language::Cuda);
    for (number, (_, lowered)) in lower_unit(&items, &options).into_iter().enumerate() {
        if lowered.module.functions[0].kind != FunctionKind::Kernel {
            continue;
        }
        // What calls functions of other modules is assembled by their conventions.
        let code = ptx::generate(&lowered.module, &ptx::Target::default());
        if let Ok(code) = code.map_err(drop)
            && code.externals.is_empty()
        {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            let path = folder.join(format!("{name}_{number}.ptx"));
            std::fs::write(path, code.text).expect("a file of ours");
        }
    }
}

/// The figures do not get worse. They are not those of code from a compiler: the loops of printed code are
/// not unrolled, and the assembler unrolls some of them whole, which the estimate does not follow.
#[test]
fn kernels_of_the_fixtures_have_about_as_many_registers_as_estimated() {
    let Some(tool) = ptxas::find() else {
        return;
    };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let made = tempfile::tempdir().expect("a temporary folder");
    for file in files(&fixtures.join("cuda"), "cu") {
        printed(&file, made.path());
    }
    let mut all_files = files(&fixtures.join("ptx"), "ptx");
    all_files.extend(files(made.path(), "ptx"));
    for (target, median_at_most, ninetieth_at_most) in TARGETS {
        let each = all_files.iter();
        let all: Vec<Kernel> = each.flat_map(|file| kernels(&tool, target, file)).collect();
        for kernel in all.iter().filter(|kernel| kernel.error().abs() > 20.0) {
            println!(
                "{target} {}: {} of {}",
                kernel.name, kernel.estimate, kernel.allocated
            );
        }
        let all: Vec<&Kernel> = all.iter().collect();
        let [median, ninetieth, ..] = print(target, &all);
        assert!(all.len() >= 40, "{target}: only {} kernels", all.len());
        assert!(median <= median_at_most, "{target}");
        assert!(ninetieth <= ninetieth_at_most, "{target}");
    }
}

#[test]
fn kernels_of_others_have_about_as_many_registers_as_estimated() {
    let Some(paths) = public::ptx_files() else {
        return;
    };
    let Some(tool) = ptxas::find() else {
        return;
    };
    let lists = std::env::var_os("LOCKSTEP_REGISTER_LIST").is_some();
    for (target, ..) in TARGETS {
        let mut all = Vec::new();
        for file in &paths {
            let found = kernels(&tool, target, file);
            for kernel in found.iter().filter(|_| lists) {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                println!(
                    "{target}\t{name}\t{}\t{}\t{}",
                    kernel.name, kernel.estimate, kernel.allocated
                );
            }
            all.extend(found);
        }
        let (fitted, others): (Vec<&Kernel>, Vec<&Kernel>) =
            all.iter().partition(|kernel| kernel.is_fitted());
        print(&format!("{target}, fitted"), &fitted);
        let [median, ninetieth, ..] = print(&format!("{target}, others"), &others);
        // Of a few kernels no distribution is known.
        if others.len() >= 100 {
            assert!(median <= 10.0 && ninetieth <= 33.0, "{target}");
        }
    }
}
