//! Fixtures in the languages that people write: `//@ check: divergence` compares the class and form of each definition with the
//! carets below it, `//@ check: findings` the diagnostics. Both are exhaustive in a function that lists one of its kind.

use fixtures::{Claim, Fixture};
use lockstep_server::config::{AnalysisConfig, ViewConfig};
use lockstep_server::db::{Database, File, Source};
use lockstep_server::derive::figures::{self, Figure, Figures};
use lockstep_server::documents::line_column;
use lockstep_server::views::diagnostics::findings;
use lockstep_server::views::report::report;
use std::sync::Arc;
use syntax::LineIndex;

const EXTENSIONS: [&str; 5] = ["cu", "hlsl", "ptx", "musimd", "c"];

fn open(fixture: &Fixture) -> (Database, File) {
    let mut db = Database::default();
    let text: Arc<str> = Arc::from(fixture.text.as_str());
    let file = db.file_with_text(&fixture.path, Source::Text { text, lossy: false });
    let mut analysis = AnalysisConfig::default();
    if let Some(block) = fixture.triple("block") {
        analysis.options.block = block.map(Some);
    }
    if let Some(warp) = fixture.directive("warp").and_then(|w| w.parse().ok()) {
        analysis.options.warp_size = warp;
    }
    let settings = db.new_settings(analysis, ViewConfig::default(), Vec::new());
    db.set_file_settings(file, settings);
    if let Some(counted) = fixture.directive("ptxas") {
        let all = counts(&db, file, counted);
        db.set_figures(file, all);
    }
    (db, file)
}

/// Figures of kernels, as `near=66/0, held=64/48`: registers and bytes of spilled loads.
fn counts(db: &Database, file: File, counted: &str) -> Figures {
    let mut out = Figures::default();
    let jobs = figures::wanted(db, file);
    for each in counted.split(',') {
        let parts = each.trim().split_once('=');
        let parts = parts.and_then(|(name, numbers)| Some((name, numbers.split_once('/')?)));
        let (name, (registers, loads)) = parts.unwrap_or_else(|| panic!("`{each}` is no count"));
        let figure = Figure {
            version: "13.5".into(),
            target: "sm_80".into(),
            registers: registers.parse().expect("registers"),
            stack_bytes: 0,
            spill_store_bytes: 0,
            spill_load_bytes: loads.parse().expect("bytes"),
            shared_bytes: 0,
        };
        let mut entries = jobs.iter().flat_map(|job| &job.entries);
        let found = entries.find(|(entry, _)| entry == name);
        let (_, key) = found.unwrap_or_else(|| panic!("there is no code of `{name}`"));
        out.insert(*key, Some(figure));
    }
    out
}

/// The lines from which each function reaches to the next.
fn extents(starts: &[u32], line: u32) -> (u32, u32) {
    let first = starts
        .iter()
        .copied()
        .filter(|&s| s <= line)
        .max()
        .unwrap_or(1);
    let last = starts
        .iter()
        .copied()
        .filter(|&s| s > first)
        .min()
        .map_or(u32::MAX, |next| next - 1);
    (first, last)
}

fn divergence(fixture: &Fixture) -> Vec<Claim> {
    let (db, file) = open(fixture);
    let report = report(&db, file, None);
    let starts: Vec<u32> = report.items.iter().map(|item| item.line).collect();
    let mut claims = Vec::new();
    for item in &report.items {
        for value in &item.values {
            let form = if value.form.is_empty() || value.class == "uniform" {
                String::new()
            } else {
                format!(": {}", value.form)
            };
            claims.push(Claim {
                line: value.line,
                columns: (
                    value.column,
                    value.column + value.name.chars().count() as u32,
                ),
                text: format!("{}{form}", value.class),
                function: extents(&starts, item.line),
            });
        }
    }
    claims
}

/// A rule that the file lists is complete in the whole file.
fn diagnosed(fixture: &Fixture) -> Vec<Claim> {
    let (db, file) = open(fixture);
    let lines = LineIndex::new(&fixture.text);
    // A caret stands under the first character.
    let claim = |diagnostic: &lockstep_server::views::diagnostics::Diagnostic| {
        let (line, column) = line_column(&fixture.text, &lines, diagnostic.span.start);
        Claim {
            line,
            columns: (column, column + 1),
            text: diagnostic.code.to_string(),
            function: (1, u32::MAX),
        }
    };
    findings(&db, file).iter().map(claim).collect()
}

#[test]
fn classes_and_forms() {
    for folder in ["cuda", "hlsl", "ptx"] {
        if let Err(message) = fixtures::check_all(folder, &EXTENSIONS, "divergence", divergence) {
            panic!("{message}");
        }
    }
}

#[test]
fn findings_of_fixtures() {
    for (folder, least) in [("cuda", 2), ("hlsl", 2), ("ptx", 2)] {
        let count = fixtures::check_all(folder, &EXTENSIONS, "findings", diagnosed)
            .unwrap_or_else(|message| panic!("{message}"));
        assert!(count >= least, "{folder}: {count}");
    }
}

/// A file that asks for findings and lists none must have none.
#[test]
fn clean_fixtures_are_clean() {
    let folders = ["cuda", "hlsl", "c"];
    for path in folders.map(|f| fixtures::files(f, &EXTENSIONS)).concat() {
        let Ok(fixture) = fixtures::load(&path) else {
            continue;
        };
        if fixture.directive("clean").is_some() {
            let told: Vec<String> = diagnosed(&fixture)
                .into_iter()
                .map(|c| format!("{}: {}", c.line, c.text))
                .collect();
            assert!(told.is_empty(), "{}: {told:?}", path.display());
        }
    }
}
