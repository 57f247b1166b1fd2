//! The share of innermost loops of C files about which something is said: those that have an interval, those
//! that have a reason, and the others, with the reasons by number.
//!
//! ```sh
//! cargo run --release -p lockstep-server --example c_loops -- PATH... [-I DIR]... [-v]
//! ```
//! A loop is one that is written in a function of the file itself, with no loop written in it; `do ... while (0)` is none.
//! One that is not in the code (its function never comes there, or it ends at once) is counted apart.

use codegen::loops::body_of;
use ir::lower::c_family::visit::{Node, nodes};
use lockstep_server::config::{AnalysisConfig, ViewConfig};
use lockstep_server::db::{self, Database, File, Source};
use lockstep_server::program::own_items;
use lockstep_server::views::loops;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syntax::c_family::ast::{ExprKind, FunctionBody, ItemKind, Stmt, StmtKind};

#[derive(Default)]
struct Totals {
    files: usize,
    loops: usize,
    interval: usize,
    reason: usize,
    /// The number of loops that are not in the code of a function that has some.
    absent: usize,
    silent: usize,
    reasons: BTreeMap<String, usize>,
}

fn files(path: &Path, out: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut below: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        below.sort();
        below.iter().for_each(|path| files(path, out));
    } else if path.extension().is_some_and(|it| it == "c") {
        out.push(path.to_owned());
    }
}

fn is_loop(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::DoWhile { condition, .. } => {
            !matches!(&condition.kind, ExprKind::Int(number) if number.value == 0)
        }
        _ => true,
    }
}

fn count(db: &Database, file: File, path: &Path, verbose: bool, totals: &mut Totals) {
    let rows = loops::rows(db, file, None);
    let refused = loops::refusals(db, file, None);
    for (place, item) in own_items(db, file) {
        let ItemKind::Function(function) = &db::parsed(db, item).kind else {
            continue;
        };
        let FunctionBody::Block(body) = &function.body else {
            continue;
        };
        let mut all: Vec<Stmt> = Vec::new();
        nodes(body, &mut |node| {
            if let Node::Loop(statement) = node
                && is_loop(statement)
            {
                all.push(statement.clone());
            }
        });
        for statement in &all {
            let inside = |other: &&Stmt| {
                body_of(statement).is_some_and(|body| {
                    body.span.start <= other.span.start && other.span.end <= body.span.end
                })
            };
            if all.iter().any(|other| inside(&other)) {
                continue;
            }
            totals.loops += 1;
            let span = statement.span.shifted(place.start);
            let own = rows.iter().find(|row| {
                !row.is_inlined() && span.start <= row.span.start && row.span.end <= span.end
            });
            let mut say = |what: &str| {
                *totals.reasons.entry(blurred(what)).or_default() += 1;
                if verbose {
                    println!("{}:{}: {what}", path.display(), span.start);
                }
            };
            let within = |at: u32| place.start <= at && at <= place.end;
            match own {
                Some(row) if row.report.pipelined => totals.interval += 1,
                Some(row) => match row.reasons.first() {
                    Some(said) => {
                        totals.reason += 1;
                        say(&said.text);
                    }
                    None => {
                        totals.silent += 1;
                        say("(nothing is said)");
                    }
                },
                None => match refused.iter().find(|(at, _)| within(at.start)) {
                    Some((_, text)) => {
                        totals.silent += 1;
                        say(&format!("(no row; its function: {text})"));
                    }
                    None => {
                        totals.absent += 1;
                        say("(not in the code)");
                    }
                },
            }
        }
    }
}

/// A reason without names and numbers.
fn blurred(reason: &str) -> String {
    let parts: Vec<&str> = reason.split('`').collect();
    let kept = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => part
            .chars()
            .map(|letter| if letter.is_ascii_digit() { '#' } else { letter })
            .collect::<String>()
            .replace("##", "#"),
        _ => "..".to_owned(),
    });
    kept.collect::<Vec<_>>().join("`")
}

fn run() {
    let (mut paths, mut includes, mut verbose) = (Vec::new(), Vec::new(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-v" => verbose = true,
            "-I" => includes.extend(
                arguments
                    .next()
                    .and_then(|path| std::path::absolute(path).ok()),
            ),
            path => files(Path::new(path), &mut paths),
        }
    }
    let mut totals = Totals::default();
    for path in &paths {
        let Ok(bytes) = std::fs::read(path) else {
            continue;
        };
        let Ok(absolute) = std::path::absolute(path) else {
            continue;
        };
        let mut db = Database::default();
        let text = Arc::from(String::from_utf8_lossy(&bytes));
        let file = db.file_with_text(&absolute, Source::Text { text, lossy: false });
        let analysis = AnalysisConfig {
            include_dirs: includes.clone(),
            processor: Some("itanium2".into()),
            ..AnalysisConfig::default()
        };
        let settings = db.new_settings(analysis, ViewConfig::default(), Vec::new());
        db.set_file_settings(file, settings);
        totals.files += 1;
        count(&db, file, path, verbose, &mut totals);
    }
    let mut reasons: Vec<_> = totals.reasons.iter().map(|(what, n)| (*n, what)).collect();
    reasons.sort_by(|a, b| b.cmp(a));
    for (number, what) in reasons.iter().take(40) {
        println!("{number:6} {what}");
    }
    let Totals {
        files,
        loops,
        interval,
        reason,
        absent,
        silent,
        ..
    } = totals;
    let there = (loops - absent).max(1);
    println!(
        "{files} files, {loops} innermost loops, {absent} of them not in the code: {interval} with an interval, {reason} with a reason ({:.1} %), {silent} with neither",
        100.0 * (interval + reason) as f64 / there as f64
    );
}

fn main() {
    // Deep trees are walked by recursion.
    let worker = std::thread::Builder::new().stack_size(256 << 20).spawn(run);
    if let Ok(worker) = worker {
        let _ = worker.join();
    }
}
