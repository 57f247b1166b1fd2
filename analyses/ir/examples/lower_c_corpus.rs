//! Lowers every function of C files and folders, and prints how many have no problem and nothing that is not
//! understood, with the reasons for the others. A note and a spent budget are no problems.
//!
//! `cargo run --release -p lockstep-ir --example lower_c_corpus -- [-v] [-I DIR]... PATH...`
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[path = "../../syntax/examples/corpus/files.rs"]
mod files;
#[path = "../../syntax/examples/corpus/search.rs"]
mod search;

use files::collect;
use lockstep_ir::Language;
use lockstep_ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use lockstep_ir::verify::verify_module;
use search::Search;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use syntax::c_family::ast::{FunctionBody, ItemKind};
use syntax::c_family::{Dialect, parse_unit};
use syntax::preprocess::{PreprocessOptions, preprocess};
use syntax::{FileId, ProblemKind};

#[derive(Default)]
struct Totals {
    functions: usize,
    clean: usize,
    parsed: usize,
    /// Items that are not understood at all.
    unknown_items: usize,
    ill_formed: usize,
    reasons: BTreeMap<String, usize>,
    slow: Vec<(u128, String)>,
}

fn run() {
    let mut search = Search::default();
    let wanted = |extension: &str| extension == "c";
    let (mut files, mut verbose) = (Vec::new(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-v" => verbose = true,
            "-I" => search
                .directories
                .extend(arguments.next().map(PathBuf::from)),
            path => collect(Path::new(path), &wanted, &mut files),
        }
    }
    let mut totals = Totals::default();
    for file in &files {
        file_totals(file, &mut search, verbose, &mut totals);
    }
    let mut reasons: Vec<_> = totals.reasons.iter().map(|(r, n)| (*n, r)).collect();
    reasons.sort_by(|a, b| b.cmp(a));
    for (count, reason) in reasons.iter().take(50) {
        println!("{count:6} {reason}");
    }
    totals.slow.sort_by(|a, b| b.cmp(a));
    for (time, what) in totals.slow.iter().take(8) {
        println!("{:6} ms {what}", time / 1000);
    }
    let Totals {
        functions,
        clean,
        parsed,
        unknown_items,
        ill_formed,
        ..
    } = totals;
    println!(
        "{} files, {functions} functions: {parsed} parsed ({:.2} %), {clean} understood ({:.2} %); {unknown_items} items not understood, {ill_formed} not well formed",
        files.len(),
        100.0 * parsed as f64 / functions.max(1) as f64,
        100.0 * clean as f64 / functions.max(1) as f64
    );
}

fn file_totals(file: &Path, search: &mut Search, verbose: bool, totals: &mut Totals) {
    let Some(main) = search.load(file) else {
        return;
    };
    let unit = preprocess(&main, &PreprocessOptions::new(Dialect::C), search);
    let items: Vec<Arc<_>> = parse_unit(&unit, Dialect::C)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect();
    let mut env = Environment::new(&items);
    env.find_missing_headers(&unit.includes);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let options = LowerOptions::new(Language::C);
    for item in items.iter().filter(|item| item.file == FileId::MAIN) {
        let mut say = |reason: &str| {
            if verbose {
                println!("{}: {}: {reason}", file.display(), item.key.name);
            }
            *totals.reasons.entry(blurred(reason)).or_default() += 1;
        };
        match &item.kind {
            ItemKind::Function(f) if matches!(f.body, FunctionBody::Block(_)) => {}
            ItemKind::Unknown { .. } => {
                totals.unknown_items += 1;
                say(item.problems.first().map_or("item", |p| &p.message));
                continue;
            }
            _ => continue,
        }
        totals.functions += 1;
        let told = |kind: ProblemKind| !matches!(kind, ProblemKind::Note | ProblemKind::Limit);
        let parsed = item.problems.is_empty();
        totals.parsed += usize::from(parsed);
        let began = Instant::now();
        let all = lower_item(&env, &bodies, &item.key, &options);
        let name = format!("{}: {}", file.display(), item.key.name);
        totals.slow.push((began.elapsed().as_micros(), name));
        totals.slow.sort_by(|a, b| b.cmp(a));
        totals.slow.truncate(8);
        let mut reasons: Vec<String> = item.problems.iter().map(|p| p.message.clone()).collect();
        let mut understood = true;
        for lowered in &all {
            if let Err(errors) = verify_module(&lowered.module) {
                totals.ill_formed += 1;
                reasons.extend(errors.first().map(|e| format!("not well formed: {e}")));
            }
            let problems = lowered.problems.iter().filter(|p| told(p.kind));
            reasons.extend(problems.map(|p| p.message.clone()));
            for function in lowered.module.functions.iter().take(1) {
                understood &= function.unknowns.is_empty();
                reasons.extend(function.unknowns.values().map(|u| u.reason.clone()));
            }
        }
        reasons.sort();
        reasons.dedup();
        totals.clean += usize::from(parsed && understood && reasons.is_empty());
        for reason in &reasons {
            say(reason);
        }
    }
}

/// A reason without the names in it.
fn blurred(reason: &str) -> String {
    let parts: Vec<&str> = reason.split('`').collect();
    let kept = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => *part,
        _ if part.len() < 4 => part,
        _ => "..",
    });
    kept.collect::<Vec<_>>().join("`")
}

fn main() {
    // Deep trees are walked by recursion.
    let worker = std::thread::Builder::new().stack_size(256 << 20).spawn(run);
    if let Ok(worker) = worker {
        let _ = worker.join();
    }
}
