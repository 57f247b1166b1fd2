//! The share of IA-64 assembly that is understood: files, instructions, those that are opaque and why,
//! violations of groups.
//!
//! With `--out DIR` the files are written there with all blocks re-bundled, for an assembler to judge.
//!
//! `cargo run --release -p lockstep-codegen --example ia64_corpus -- [--out DIR] PATH...`

#![allow(clippy::disallowed_methods)]

use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::check::{Side, check};
use lockstep_codegen::target::ia64::groups::Hazard;
use lockstep_codegen::target::ia64::listing::{Listing, listing};
use lockstep_codegen::target::ia64::rebundle::{Options, Outcome, rebundle};
use simulate::ia64::SimulatedClock;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syntax::ia64::Document;

fn files(path: &Path, out: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let Ok(entries) = std::fs::read_dir(path) else {
            return;
        };
        for entry in entries.flatten() {
            files(&entry.path(), out);
        }
    } else if path.extension().is_some_and(|it| it == "s" || it == "S") {
        out.push(path.to_owned());
    }
}

#[derive(Default, Debug)]
struct Totals {
    rewritten: usize,
    proved: usize,
    kept: BTreeMap<String, usize>,
    groups: usize,
    needless_stops: usize,
    /// Cycles in which nothing issues.
    waits: usize,
    /// The cycles of rewritten blocks.
    cycles: (u32, u32),
    nops: (u32, u32),
}

/// The text with its blocks re-bundled for Itanium 2.
fn rebundled(document: &Document, text: &str, listing: &Listing, totals: &mut Totals) -> String {
    let table = machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("explicit groups");
    let mut written = text.to_owned();
    let clock = SimulatedClock::of_units(epic.width().m);
    let blocks = rebundle(
        document,
        text,
        listing,
        epic,
        &Options::default(),
        None,
        clock.as_ref(),
    );
    for block in blocks.iter().rev() {
        match &block.outcome {
            Outcome::Rewritten {
                text,
                after,
                proved,
                ..
            } => {
                totals.rewritten += 1;
                totals.proved += usize::from(*proved);
                totals.cycles.0 += block.before.cycles;
                totals.cycles.1 += after.cycles;
                totals.nops.0 += block.before.nops;
                totals.nops.1 += after.nops;
                written.replace_range(block.span.start as usize..block.span.end as usize, text);
            }
            Outcome::Kept(reason) => *totals.kept.entry(reason.to_string()).or_default() += 1,
        }
    }
    written
}

fn main() {
    let mut paths = Vec::new();
    let mut out: Option<PathBuf> = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--out" {
            out = arguments.next().map(PathBuf::from);
            continue;
        }
        files(Path::new(&argument), &mut paths);
    }
    paths.sort();
    let mut totals = Totals::default();
    let start = std::time::Instant::now();
    let (mut items, mut opaque, mut problems, mut blocks, mut whole) = (0, 0, 0, 0, 0);
    let mut reasons: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for path in &paths {
        let Ok(bytes) = std::fs::read(path) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let document = syntax::ia64::parse(&text);
        let lines = syntax::LineIndex::new(&text);
        let line = |at: u32| lines.line_column(at).0 + 1;
        for problem in &document.problems {
            println!(
                "{}:{}: {}",
                path.display(),
                line(problem.span.start),
                problem.message
            );
        }
        let listing = listing(&document, &text);
        problems += document.problems.len();
        blocks += listing.blocks.len();
        items += listing.items.len();
        let mut understood = document.problems.is_empty();
        for item in &listing.items {
            if let Some(reason) = &item.opaque {
                opaque += 1;
                understood = false;
                let place = document.statements[item.statement as usize].span.start;
                let place = format!("{}:{}", path.display(), line(place));
                reasons.entry(reason.to_string()).or_insert((0, place)).0 += 1;
            }
        }
        whole += usize::from(understood);
        if let Some(folder) = &out {
            let written = rebundled(&document, &text, &listing, &mut totals);
            let again = syntax::ia64::parse(&written);
            let after = self::listing(&again, &written);
            let side = |text, document, listing| Side {
                text,
                document,
                listing,
            };
            if let Err(fault) = check(
                side(&text, &document, &listing),
                side(&written, &again, &after),
            ) {
                println!("{}: {fault:?}", path.display());
            }
            let name = path.file_name().map_or_else(|| "x.s".into(), PathBuf::from);
            if let Err(error) = std::fs::write(folder.join(name), written) {
                println!("{}: {error}", path.display());
            }
        }
        let place = |item: u32| {
            let statement = listing.items[item as usize].statement;
            line(document.statements[statement as usize].span.start)
        };
        for each in &listing.beyond {
            println!(
                "{}:{}: {} is beyond {:?}",
                path.display(),
                place(each.item),
                each.register,
                each.frame
            );
        }
        if let Some(epic) = machine::named("itanium2").as_ref().and_then(|it| it.epic()) {
            let groups: Vec<_> = listing.timing(epic).into_iter().flatten().collect();
            totals.groups += groups.len();
            totals.needless_stops += groups.iter().filter(|group| group.needless_stop).count();
            totals.waits += groups
                .iter()
                .map(|group| group.waits as usize)
                .sum::<usize>();
        }
        for violation in listing.violations() {
            let what = match violation.hazard {
                Hazard::ReadAfterWrite => "reads",
                Hazard::WriteAfterWrite => "writes",
                Hazard::WriteAfterRead => "writes behind the branch",
            };
            println!(
                "{}:{}: {what} {} of line {} in one group",
                path.display(),
                place(violation.to),
                violation.register,
                place(violation.from)
            );
        }
    }
    println!("{totals:#?}");
    for (reason, (count, place)) in &reasons {
        println!("{count:6} {reason} ({place})");
    }
    println!(
        "{whole} of {} files whole; {items} instructions in {blocks} blocks, {opaque} opaque; {problems} problems; {:.1} s",
        paths.len(),
        start.elapsed().as_secs_f64()
    );
}
