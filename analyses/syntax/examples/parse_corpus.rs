//! Parses directories of real code and says how much of it is understood.
//!
//! `cargo run --release -p lockstep-syntax --example parse_corpus -- [-v] [-I DIR]... PATH...`
//!
//! For each file: its functions, and of them the kernels or entry points and the device functions, with the number that
//! parsed without a syntax problem or an unknown node. `-v` prints every problem with its line, `-u` also each unknown.

#![allow(clippy::disallowed_methods)] // An example may read files and the clock.

extern crate lockstep_syntax as syntax;

#[path = "corpus/files.rs"]
mod files;
#[path = "corpus/search.rs"]
mod search;

use files::collect;
use lockstep_syntax::c_family::ast::{Function, FunctionBody, ItemKind, ParsedItem, SpecifierSet};
use lockstep_syntax::c_family::{Dialect, dump, parse_unit};
use lockstep_syntax::preprocess::{PreprocessOptions, preprocess};
use lockstep_syntax::{FileId, LineIndex, ProblemKind};
use search::Search;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Default)]
struct Totals {
    files: usize,
    items: usize,
    entries: (usize, usize),
    device: (usize, usize),
    host: (usize, usize),
    structs: (usize, usize),
    syntax: usize,
    bytes: usize,
    seconds: f64,
}

fn is_entry(function: &Function, dialect: Dialect) -> bool {
    let attribute = |name: &str| {
        function
            .specifiers
            .attributes
            .iter()
            .any(|attribute| attribute.name == name)
    };
    match dialect {
        Dialect::C => true,
        Dialect::Cuda => function.specifiers.words.has(SpecifierSet::CUDA_GLOBAL),
        Dialect::Hlsl => {
            attribute("numthreads")
                || attribute("shader")
                || function.semantic.is_some()
                || function
                    .parameters
                    .iter()
                    .any(|parameter| parameter.semantic.is_some())
                || matches!(&function.name, lockstep_syntax::c_family::ast::FunctionName::Plain(name) if name.segments.last().is_some_and(|last| last.ident.name.to_ascii_lowercase().ends_with("main")))
        }
    }
}

fn main() {
    let mut verbose = false;
    let mut unknowns = false;
    let mut search = Search::default();
    let wanted = |extension: &str| Dialect::from_extension(extension).is_some();
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-v" => verbose = true,
            "-u" => {
                verbose = true;
                unknowns = true;
            }
            "-I" => search
                .directories
                .extend(arguments.next().map(PathBuf::from)),
            // A file that is named is parsed whatever it is called, as CUDA when its name does not tell.
            path if Path::new(path).is_file() => files.push(PathBuf::from(path)),
            path => collect(Path::new(path), &wanted, &mut files),
        }
    }
    let mut totals = Totals::default();
    for path in &files {
        file(path, &mut search, &mut totals, verbose, unknowns);
    }
    let rate = |(good, all): (usize, usize)| {
        format!(
            "{good}/{all} = {:.2} %",
            100.0 * good as f64 / (all.max(1)) as f64
        )
    };
    println!(
        "{} files, {} items, {} syntax problems; kernels and entry points {}, device functions {}, host functions {}, structs with their methods {}; {:.1} MB in {:.2} s",
        totals.files,
        totals.items,
        totals.syntax,
        rate(totals.entries),
        rate(totals.device),
        rate(totals.host),
        rate(totals.structs),
        totals.bytes as f64 / 1e6,
        totals.seconds
    );
}

fn file(path: &Path, search: &mut Search, totals: &mut Totals, verbose: bool, unknowns: bool) {
    let extension = path.extension().and_then(|e| e.to_str());
    let dialect = extension
        .and_then(Dialect::from_extension)
        .unwrap_or(Dialect::Cuda);
    let Some(main) = search.load(path) else {
        return;
    };
    let start = Instant::now();
    let unit = preprocess(&main, &PreprocessOptions::new(dialect), search);
    let items = parse_unit(&unit, dialect);
    let seconds = start.elapsed().as_secs_f64();
    if seconds > 0.5 {
        println!("{}: {seconds:.2} s", path.display());
    }
    totals.seconds += seconds;
    totals.bytes += main.tokens.text.len();
    totals.files += 1;
    let lines = LineIndex::new(&main.tokens.text);
    for problem in unit.problems.iter().filter(|problem| {
        problem.file == FileId::MAIN && problem.kind != ProblemKind::MissingInclude
    }) {
        if problem.kind == ProblemKind::Syntax {
            totals.syntax += 1;
        }
        if verbose {
            println!(
                "{}:{}: {:?}: {}",
                path.display(),
                lines.line_column(problem.span.start).0 + 1,
                problem.kind,
                problem.message
            );
        }
    }
    for (start, _, item) in items
        .iter()
        .filter(|(_, _, item)| item.file == FileId::MAIN)
    {
        totals.items += 1;
        count(
            item, *start, dialect, &lines, path, totals, verbose, unknowns,
        );
    }
}

#[allow(clippy::too_many_arguments)]
fn count(
    item: &ParsedItem,
    start: u32,
    dialect: Dialect,
    lines: &LineIndex,
    path: &Path,
    totals: &mut Totals,
    verbose: bool,
    unknowns: bool,
) {
    let syntax = item
        .problems
        .iter()
        .filter(|problem| problem.kind == ProblemKind::Syntax)
        .count();
    totals.syntax += syntax;
    let dumped = dump::item(item);
    let good = syntax == 0 && !dumped.contains("(unknown)");
    if verbose {
        for problem in item
            .problems
            .iter()
            .filter(|problem| problem.kind != ProblemKind::Unsupported || unknowns)
        {
            let line = lines.line_column(start + problem.span.start).0 + 1;
            println!(
                "{}:{line}: {:?}: {} [{}]",
                path.display(),
                problem.kind,
                problem.message,
                item.key.name
            );
        }
        if unknowns && !good && syntax == 0 {
            println!(
                "{}:{}: unknown node in {}",
                path.display(),
                lines.line_column(start).0 + 1,
                item.key.name
            );
        }
    }
    if let ItemKind::Function(function) = &item.kind
        && matches!(function.body, FunctionBody::Block(_))
    {
        let words = function.specifiers.words;
        let device = dialect == Dialect::Hlsl || words.has(SpecifierSet::CUDA_DEVICE);
        let bucket = if is_entry(function, dialect) {
            &mut totals.entries
        } else if device {
            &mut totals.device
        } else {
            &mut totals.host
        };
        bucket.1 += 1;
        bucket.0 += usize::from(good);
        return;
    }
    if let ItemKind::Struct(_) = &item.kind {
        totals.structs.1 += 1;
        totals.structs.0 += usize::from(good);
        return;
    }
    if matches!(item.kind, ItemKind::Unknown { .. }) {
        // An item that is lost counts as a function that is.
        totals.device.1 += 1;
    }
}
