//! Lowers directories of HLSL and says how many entry points come out whole.
//!
//! `cargo run --release -p lockstep-ir --example lower_hlsl_corpus -- [-v] [-r COUNT] [-I DIR]... PATH...`
//!
//! An entry point counts as understood when its item parsed without a problem, and its module passes the verifier and
//! has no unknown construct and no unknown call; a call of a function that is declared here and defined in another file
//! is none, for libraries (`lib_6_x`) are linked, and its facts are those of any function. A file with a compiler's command line in a comment (`RUN: %dxc -T cs_6_0
//! -E main -D N=4`) is lowered with that profile, entry and definitions; without one every function that is told to be
//! an entry point counts. Files that test the compiler's error messages (`expected-error`, a `CHECK` for an error,
//! `not %dxc`) are left out. `-v` prints each failure, `-r` the number of reasons listed.

#![allow(clippy::disallowed_methods)] // An example may read files and the clock.

#[path = "../../syntax/examples/corpus/files.rs"]
mod files;
#[path = "../../syntax/examples/corpus/search.rs"]
mod search;

use files::collect;
use lockstep_ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use lockstep_ir::{FunctionKind, Language, Op, ShaderStage};
use search::Search;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use syntax::c_family::ast::{FunctionBody, FunctionName, ItemKind, ParsedItem};
use syntax::c_family::{Dialect, parse_unit};
use syntax::preprocess::{PreprocessOptions, preprocess};

/// A compiler's command line.
#[derive(Default, Debug)]
struct Command {
    profile: String,
    entry: String,
    defines: Vec<String>,
    native_16bit: bool,
}

fn command(text: &str) -> Option<Command> {
    let line = text
        .lines()
        .find(|l| l.contains("RUN:") && l.contains("%dxc") && l.contains("-T"))?;
    let mut found = Command {
        entry: "main".into(),
        ..Command::default()
    };
    let from = line.find("%dxc ").unwrap_or(0);
    let mut words = line[from..].split_whitespace().peekable();
    while let Some(word) = words.next() {
        let word = word.trim_start_matches('/');
        found.native_16bit |= word.ends_with("enable-16bit-types");
        for (flag, target) in [("-T", 0), ("-E", 1), ("-D", 2)] {
            let Some(rest) = word.strip_prefix(flag) else {
                continue;
            };
            let value = if rest.is_empty() {
                words.next().unwrap_or_default().to_string()
            } else {
                rest.to_string()
            };
            let value = value.trim_matches(['"', '\'']).to_string();
            match target {
                0 => found.profile = value,
                1 => found.entry = value,
                _ => found.defines.push(value),
            }
        }
        if word == "|" {
            break;
        }
    }
    Some(found)
}

fn stage(profile: &str) -> Option<FunctionKind> {
    Some(FunctionKind::Stage(match profile.get(..2)? {
        "cs" => return Some(FunctionKind::Kernel),
        "vs" => ShaderStage::Vertex,
        "ps" => ShaderStage::Pixel,
        "gs" => ShaderStage::Geometry,
        "hs" => ShaderStage::Hull,
        "ds" => ShaderStage::Domain,
        "ms" => ShaderStage::Mesh,
        "as" => ShaderStage::Amplification,
        _ => return None,
    }))
}

fn expects_errors(text: &str) -> bool {
    text.lines().any(|l| {
        l.contains("expected-error")
            || l.contains("not %dxc")
            || l.contains("-verify")
            || (l.trim_start().starts_with("//") && l.contains("error:"))
            || (l.contains("CHECK") && l.contains("error"))
    })
}

#[derive(Default)]
struct Totals {
    files: usize,
    left_out: usize,
    without_entry: usize,
    entries: usize,
    good: usize,
    instructions: usize,
    reasons: BTreeMap<String, (usize, PathBuf)>,
}

fn main() {
    let mut verbose = false;
    let mut shown = 40;
    let mut search = Search::default();
    search.lenient = true;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-v" => verbose = true,
            "-r" => shown = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(40),
            "-I" => search
                .directories
                .extend(arguments.next().map(PathBuf::from)),
            path => collect(Path::new(path), &|e| e == "hlsl", &mut files),
        }
    }
    let start = Instant::now();
    let mut totals = Totals::default();
    for path in &files {
        let before = Instant::now();
        file(path, &mut search, &mut totals, verbose);
        if before.elapsed().as_secs() >= 3 {
            println!(
                "slow: {} {:.1} s",
                path.display(),
                before.elapsed().as_secs_f64()
            );
        }
    }
    let mut reasons: Vec<_> = totals.reasons.iter().collect();
    reasons.sort_by_key(|(reason, (count, _))| (std::cmp::Reverse(*count), (*reason).clone()));
    for (reason, (count, example)) in reasons.iter().take(shown) {
        println!("{count:6}  {reason}    e.g. {}", example.display());
    }
    println!(
        "{} files ({} left out: they test error messages; {} without an entry point), entry points {}/{} = {:.2} %, {} instructions, {:.1} s",
        totals.files,
        totals.left_out,
        totals.without_entry,
        totals.good,
        totals.entries,
        100.0 * totals.good as f64 / totals.entries.max(1) as f64,
        totals.instructions,
        start.elapsed().as_secs_f64()
    );
}

fn file(path: &Path, search: &mut Search, totals: &mut Totals, verbose: bool) {
    let Ok(bytes) = std::fs::read(path) else {
        return;
    };
    let text = String::from_utf8_lossy(&bytes);
    totals.files += 1;
    if expects_errors(&text) {
        totals.left_out += 1;
        return;
    }
    let command = command(&text);
    let Some(main) = search.load(path) else {
        return;
    };
    let mut options = PreprocessOptions::new(Dialect::Hlsl);
    if let Some(command) = &command {
        let defines = command.defines.iter().map(|d| d.as_str().into());
        options.defines.extend(defines);
        if command.native_16bit {
            options.defines.push("__HLSL_ENABLE_16_BIT=1".into());
        }
        if !command.profile.is_empty() {
            let profile = command.profile.split('_').next().unwrap_or_default();
            let target = match profile {
                "cs" => "__SHADER_TARGET_STAGE=5",
                "vs" => "__SHADER_TARGET_STAGE=1",
                "ps" => "__SHADER_TARGET_STAGE=0",
                _ => "__SHADER_TARGET_STAGE=6",
            };
            options.defines.push(target.into());
        }
    }
    let unit = preprocess(&main, &options, search);
    let items: Vec<Arc<ParsedItem>> = parse_unit(&unit, Dialect::Hlsl)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let mut found = false;
    let configured = command.as_ref().and_then(|c| stage(&c.profile));
    for item in &items {
        let ItemKind::Function(function) = &item.kind else {
            continue;
        };
        let FunctionBody::Block(_) = &function.body else {
            continue;
        };
        let FunctionName::Plain(name) = &function.name else {
            continue;
        };
        let last = name.segments.last().map(|s| s.ident.name.clone());
        let mut lower_options = LowerOptions::new(Language::Hlsl);
        lower_options.native_16bit = command.as_ref().is_some_and(|c| c.native_16bit);
        if let (Some(command), Some(kind)) = (&command, configured) {
            if last.as_deref() != Some(command.entry.as_str()) || name.segments.len() != 1 {
                continue;
            }
            lower_options.stage = Some(kind);
        } else if item.file != syntax::FileId(0) {
            continue;
        }
        let Some(lowered) = lower_item(&environment, &bodies, &item.key, &lower_options)
            .into_iter()
            .next()
        else {
            continue;
        };
        let Some(first) = lowered.module.functions.first() else {
            continue;
        };
        if !matches!(first.kind, FunctionKind::Kernel | FunctionKind::Stage(_)) {
            continue;
        }
        found = true;
        totals.entries += 1;
        let mut reasons: Vec<String> = item
            .problems
            .iter()
            .map(|p| format!("parse: {}", p.message))
            .collect();
        for function in &lowered.module.functions {
            totals.instructions += function.insts.len();
            for &block in &function.layout {
                for &inst in &function.blocks[block].insts {
                    match &function.insts[inst].op {
                        Op::Unknown(id) => reasons.push(function.unknowns[*id].reason.clone()),
                        Op::CallUnknown { name, .. } if !lowered.external.contains(name) => {
                            reasons.push(format!("call of `{name}`"));
                        }
                        _ => {}
                    }
                }
            }
        }
        if let Err(errors) = lockstep_ir::verify::verify_module(&lowered.module) {
            reasons.extend(
                errors
                    .iter()
                    .map(|e| format!("verify: {:?}: {}", e.rule, e.detail)),
            );
        }
        if reasons.is_empty() {
            let of_external = |p: &&syntax::Problem| {
                p.kind == syntax::ProblemKind::Note && p.message.contains("is defined elsewhere")
            };
            let serious = lowered.problems.iter().filter(|p| !of_external(p));
            reasons.extend(serious.map(|p| p.message.clone()));
        }
        if reasons.is_empty() {
            totals.good += 1;
            continue;
        }
        reasons.sort();
        reasons.dedup();
        if verbose {
            println!(
                "{}: {}: {}",
                path.display(),
                item.key.name,
                reasons.join("; ")
            );
        }
        for reason in reasons {
            let entry = totals
                .reasons
                .entry(reason)
                .or_insert((0, path.to_path_buf()));
            entry.0 += 1;
        }
    }
    totals.without_entry += usize::from(!found);
}
