//! The same judge on source: every kernel and entry point of `fixtures/hlsl` and `fixtures/cuda`, executed with random
//! contents, constants, grids and schedules.
//!
//! `LOCKSTEP_SOUNDNESS_LAUNCHES=N` runs each N times.

// The name by which the judge knows this crate.
extern crate lockstep_facts as facts;

#[path = "soundness/examine.rs"]
#[allow(dead_code)]
mod examine;

use examine::Case;
use examine::sweep::{setting, sweep};
use facts::{Method, Options, Scope};
use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use ir::{FunctionKind, Language, Module};
use oracle::interp::Launch;
use oracle::random::Random;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::{Dialect, lexer::lex, parse_unit};
use syntax::preprocess::{IncludeResolver, IncludedFile, PreprocessOptions, preprocess};

const LAUNCHES: u64 = 4;

/// Fixtures include nothing that matters here.
struct Nothing;

impl IncludeResolver for Nothing {
    fn resolve(&mut self, _from: &str, _spec: &str, _angled: bool) -> Option<IncludedFile> {
        None
    }
}

#[allow(clippy::disallowed_methods)]
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(folder);
    let entries = std::fs::read_dir(&folder).expect("the fixtures are there");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("a fixture is text");
    files.into_iter().map(|f| (f.clone(), text(&f))).collect()
}

/// The modules of a file's kernels and entry points.
fn modules(path: &Path, text: &str, dialect: Dialect, language: Language) -> Vec<Module> {
    let main = IncludedFile {
        path: Arc::from(path.to_string_lossy().as_ref()),
        tokens: Arc::new(lex(text)),
    };
    let unit = preprocess(&main, &PreprocessOptions::new(dialect), &mut Nothing);
    let items: Vec<Arc<ParsedItem>> = parse_unit(&unit, dialect)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let mut found = Vec::new();
    for item in &items {
        let options = LowerOptions::new(language);
        for lowered in lower_item(&environment, &bodies, &item.key, &options) {
            let kernel = lowered.module.functions.first();
            // The interpreter gives what assembly computes any value; the facts read its text.
            let assembly = |f: &ir::Function| {
                f.insts
                    .values()
                    .any(|data| matches!(data.op, ir::Op::Asm { .. }))
            };
            if kernel.is_some_and(|f| {
                f.kind != FunctionKind::Device && !f.layout.is_empty() && !assembly(f)
            }) {
                found.push(lowered.module);
            }
        }
    }
    found
}

fn case(module: &Module, number: u64) -> Case {
    let kernel = &module.functions[0];
    let mut random = Random::new(0x50f7_0000 ^ number);
    let scope = *random.pick(&[
        Scope::Quad,
        Scope::Subgroup,
        Scope::Subgroup,
        Scope::Workgroup,
        Scope::Dispatch,
    ]);
    let mut options = Options {
        method: Method::Full,
        scope,
        ..Options::default()
    };
    let block = *random.pick(&[
        [32u32, 1, 1],
        [64, 1, 1],
        [16, 4, 1],
        [128, 1, 1],
        [8, 8, 2],
    ]);
    let grid = *random.pick(&[[1u32, 1, 1], [3, 1, 1], [2, 2, 1]]);
    let warp = *random.pick(&[32, 32, 32, 16, 64]);
    let launches = (0..2)
        .map(|_| {
            let mut launch = Launch::for_function(kernel, block[0], random.draw());
            for (axis, &size) in block.iter().enumerate() {
                launch.block[axis] = kernel.launch.block[axis].unwrap_or(size);
            }
            launch.grid = grid;
            launch.warp_size = kernel.launch.warp_size.unwrap_or(warp);
            launch.shuffle_warps = random.percent(50);
            launch.shuffle_atomics = random.percent(50);
            launch.reverse_groups = random.percent(50);
            launch.ended_lanes_arrive = true;
            launch.default_bytes = 64 << 10;
            launch.limits.steps = 30_000;
            launch
        })
        .collect::<Vec<Launch>>();
    options.warp_size = launches[0].warp_size;
    if random.percent(50) {
        options.block = launches[0].block.map(Some);
    }
    Case {
        module: module.clone(),
        options,
        launches,
    }
}

fn folder(name: &str, dialect: Dialect, language: Language, least: usize) {
    let launches = setting("LOCKSTEP_SOUNDNESS_LAUNCHES", LAUNCHES);
    let mut modules_of = Vec::new();
    for (path, text) in sources(name) {
        modules_of.extend(modules(&path, &text, dialect, language));
    }
    assert!(modules_of.len() >= least, "{} kernels", modules_of.len());
    let cases = modules_of.iter().zip(0u64..).flat_map(|(module, which)| {
        (0..launches).map(move |number| {
            let seed = which << 32 | number;
            (seed, case(module, seed))
        })
    });
    let report = sweep(name, cases);
    let bad: Vec<String> = report
        .violations
        .iter()
        .take(8)
        .map(|v| format!("{}: {}", v.claim, v.seen))
        .collect();
    assert!(report.violations.is_empty(), "{}", bad.join("\n"));
    assert!(report.lanes > 0 && report.claims > 0);
}

#[test]
fn shaders_contradict_no_claim() {
    folder("hlsl", Dialect::Hlsl, Language::Hlsl, 8);
}

#[test]
fn kernels_contradict_no_claim() {
    folder("cuda", Dialect::Cuda, Language::Cuda, 5);
}
