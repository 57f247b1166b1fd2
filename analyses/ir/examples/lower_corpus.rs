//! Lowers the kernels (and with `-d` the device functions) of CUDA and HLSL files and folders, and prints how many
//! have no unknown construct, with the reasons for the others. A note is no problem: the source does not decide.
//!
//! `cargo run --release -p lockstep-ir --example lower_corpus -- [-v] [-d] [-f NAME] [-I DIR]... PATH...`
#![allow(clippy::disallowed_methods)]

#[path = "../../syntax/examples/corpus/files.rs"]
mod files;
#[path = "../../syntax/examples/corpus/search.rs"]
mod search;

use files::collect;
use lockstep_ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{FunctionKind, Language, Op};
use search::Search;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use syntax::c_family::ast::{ItemKind, ParsedItem, SpecifierSet};
use syntax::c_family::{Dialect, parse_unit};
use syntax::preprocess::{PreprocessOptions, preprocess};
use syntax::{FileId, Problem, ProblemKind};

type Place = (PathBuf, String, syntax::Span);
type Outcome = (usize, bool, Vec<String>);

/// Units in which a kernel of an included file is lowered when it takes longer than `LONG` microseconds: hundreds of
/// instances of a library share its kernels.
const UNITS: usize = 8;
const LONG: u128 = 30_000;

#[derive(Default)]
struct Totals {
    kernels: usize,
    clean: usize,
    silent: usize,
    device: usize,
    device_clean: usize,
    broken: usize,
    values: usize,
    reasons: BTreeMap<String, usize>,
    calls: BTreeMap<String, usize>,
    slow: Vec<(u128, String)>,
    slow_files: Vec<(u128, String)>,
    /// The number of times that an item was lowered as part of another file, by file and item.
    included: BTreeMap<(PathBuf, String), usize>,
    /// The outcome in the best unit, by file, name and place: unknowns, whether there are problems, and the
    /// reasons.
    best: BTreeMap<Place, Outcome>,
}

trait IsKernel {
    fn is_kernel(&self) -> bool;
}

impl IsKernel for ParsedItem {
    fn is_kernel(&self) -> bool {
        match &self.kind {
            ItemKind::Function(f) => f.specifiers.words.has(SpecifierSet::CUDA_GLOBAL),
            _ => false,
        }
    }
}

fn run() {
    let mut search = Search::default();
    let wanted = |extension: &str| Dialect::from_extension(extension).is_some();
    let mut files = Vec::new();
    let (mut verbose, mut only, mut dump) = (false, None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-v" => verbose = true,
            "-d" => dump = true,
            "-f" => only = arguments.next(),
            "-I" => search
                .directories
                .extend(arguments.next().map(PathBuf::from)),
            path => collect(Path::new(path), &wanted, &mut files),
        }
    }
    let mut totals = Totals::default();
    let start = Instant::now();
    let mut lowering = 0u128;
    for file in &files {
        let dialect = file
            .extension()
            .and_then(|e| e.to_str())
            .and_then(Dialect::from_extension)
            .unwrap_or(Dialect::Cuda);
        let Some(main) = search.load(file) else {
            continue;
        };
        let began = Instant::now();
        let unit = preprocess(&main, &PreprocessOptions::new(dialect), &mut search);
        let items: Vec<Arc<_>> = parse_unit(&unit, dialect)
            .into_iter()
            .map(|(_, _, item)| Arc::new(item))
            .collect();
        let mut env = Environment::new(&items);
        env.find_missing_headers(&unit.includes);
        let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
        let options = LowerOptions::new(match dialect {
            Dialect::Hlsl => Language::Hlsl,
            Dialect::C => Language::C,
            Dialect::Cuda => Language::Cuda,
        });
        for item in &items {
            // A file that is included counts where it is lowered best: kernels are often no unit of their own.
            let path = unit.path(item.file).unwrap_or_default().to_owned();
            let path = std::fs::canonicalize(&path).unwrap_or(PathBuf::from(path));
            if item.file != FileId::MAIN && !item.is_kernel() {
                continue;
            }
            if item.file != FileId::MAIN {
                let key = (path.clone(), format!("{:?}", item.key));
                if totals
                    .included
                    .get(&key)
                    .is_some_and(|&count| count > UNITS)
                {
                    continue;
                }
            }
            if only.as_ref().is_some_and(|name| *item.key.name != **name) {
                continue;
            }
            let before = Instant::now();
            let lowered = lower_item(&env, &bodies, &item.key, &options);
            let took = before.elapsed().as_micros();
            lowering += took;
            if item.file != FileId::MAIN && took > LONG {
                let key = (path.clone(), format!("{:?}", item.key));
                *totals.included.entry(key).or_default() += 1;
            }
            totals
                .slow
                .push((took, format!("{}: {}", file.display(), item.key.name)));
            for each in lowered {
                let function = &each.module.functions[0];
                totals.values += function.values.len();
                if dump {
                    println!("{}", lockstep_ir::text::print_module(&each.module));
                }
                if let Err(errors) = verify_module(&each.module) {
                    totals.broken += 1;
                    println!("{}: {}: {}", file.display(), function.name, errors[0]);
                }
                let mut unknown = Vec::new();
                let mut called = Vec::new();
                for function in &each.module.functions {
                    for &block in &function.layout {
                        for &inst in &function.blocks[block].insts {
                            match &function.insts[inst].op {
                                Op::Unknown(id) => {
                                    unknown.push(function.unknowns[*id].reason.clone());
                                }
                                Op::CallUnknown { name, .. } => called.push(name.to_string()),
                                _ => {}
                            }
                        }
                    }
                }
                let entry = matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_));
                if !entry {
                    totals.device += 1;
                    totals.device_clean += usize::from(unknown.is_empty());
                    continue;
                }
                let serious = |p: &&Problem| p.kind != ProblemKind::Note;
                let failures: Vec<&Problem> = item
                    .problems
                    .iter()
                    .chain(&each.problems)
                    .filter(serious)
                    .collect();
                let silent = failures.is_empty();
                let mut reasons = unknown.clone();
                reasons.extend(failures.iter().map(|p| p.message.clone()));
                reasons.sort();
                reasons.dedup();
                let result = (unknown.len(), !silent, reasons);
                let key = (path.clone(), function.name.to_string(), function.span);
                let entry = totals.best.entry(key).or_insert_with(|| result.clone());
                if result < *entry {
                    *entry = result;
                }
                if verbose {
                    for reason in &unknown {
                        println!("{}: {}: {reason}", file.display(), function.name);
                    }
                    for problem in item.problems.iter().chain(&each.problems) {
                        println!(
                            "{}: {}: {:?}: {}",
                            file.display(),
                            function.name,
                            problem.kind,
                            problem.message
                        );
                    }
                }
                called.sort();
                called.dedup();
                for name in called {
                    *totals.calls.entry(name).or_default() += 1;
                }
            }
        }
        let took = began.elapsed().as_millis();
        totals.slow_files.push((took, file.display().to_string()));
    }
    println!("\nslowest files:");
    totals
        .slow_files
        .sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    for (took, name) in totals.slow_files.iter().take(5) {
        println!("{took:8} ms {name}");
    }
    for (unknown, problems, reasons) in totals.best.values() {
        totals.kernels += 1;
        totals.clean += usize::from(*unknown == 0);
        totals.silent += usize::from(!problems);
        for reason in reasons {
            *totals.reasons.entry(reason.clone()).or_default() += 1;
        }
    }
    let ranked = |map: &BTreeMap<String, usize>| {
        let mut list: Vec<_> = map.iter().map(|(k, v)| (*v, k.clone())).collect();
        list.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        list
    };
    println!("\nwhat is not understood, by kernels:");
    for (count, reason) in ranked(&totals.reasons).into_iter().take(80) {
        println!("{count:6} {reason}");
    }
    println!("\ncalls that stay unknown, by kernels:");
    for (count, name) in ranked(&totals.calls).into_iter().take(80) {
        println!("{count:6} {name}");
    }
    totals
        .slow
        .sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    println!("\nslowest:");
    for (took, name) in totals.slow.iter().take(5) {
        println!("{:8} us {name}", took);
    }
    println!(
        "\n{} files, {} kernels, {} without an unknown ({:.1} %), {} without a problem ({:.1} %); {} device functions, {} without an unknown; {} modules break a rule; {} values; lowering {} ms of {} ms",
        files.len(),
        totals.kernels,
        totals.clean,
        100.0 * totals.clean as f64 / totals.kernels.max(1) as f64,
        totals.silent,
        100.0 * totals.silent as f64 / totals.kernels.max(1) as f64,
        totals.device,
        totals.device_clean,
        totals.broken,
        totals.values,
        lowering / 1000,
        start.elapsed().as_millis()
    );
}

fn main() {
    // The stack of an ordinary thread: what lowering may use anywhere.
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
    if worker.map(|w| w.join()).is_err() {
        std::process::exit(1);
    }
}
