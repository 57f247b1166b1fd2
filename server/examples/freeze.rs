//! Hashes of everything that is said of files, to compare before and after a change that should leave them the same.
//!
//! ```sh
//! cargo run --release -p lockstep-server --example freeze -- PATH... > before.tsv
//! cargo run --release -p lockstep-server --example freeze -- --against before.tsv PATH...
//! cargo run --release -p lockstep-server --example freeze -- --show actions FILE      # what is hashed
//! ```
//! A line is a file, an aspect (facts, diagnostics, hints, actions, code) and a hash. C is looked at for `itanium2`. With
//! `--against` only the lines that differ are printed, and the exit status is 1 if there are any.

use lockstep_server::config::{AnalysisConfig, Detail, ViewConfig};
use lockstep_server::db::{Database, File, Source};
use lockstep_server::derive;
use lockstep_server::program::Language;
use lockstep_server::views;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use syntax::Span;

/// Longer files are left out.
const LONGEST: usize = 1 << 20;

type Aspect = fn(&Database, File, Span) -> String;

const ASPECTS: [(&str, Aspect); 5] = [
    ("facts", facts),
    ("diagnostics", diagnostics),
    ("hints", hints),
    ("actions", actions),
    ("code", code),
];

fn facts(db: &Database, file: File, _: Span) -> String {
    serde_json::to_string_pretty(&views::report::report(db, file, None)).unwrap_or_default()
}

fn diagnostics(db: &Database, file: File, _: Span) -> String {
    format!("{:#?}", views::diagnostics::diagnostics(db, file))
}

fn hints(db: &Database, file: File, all: Span) -> String {
    let mut text = String::new();
    for detail in [Detail::Brief, Detail::Full] {
        let switches = lockstep_server::config::HintConfig {
            detail,
            ..lockstep_server::config::HintConfig::default()
        };
        let found = views::hints::hints(db, file, all, &switches);
        let _ = writeln!(text, "{found:#?}");
    }
    let _ = writeln!(text, "{:#?}", views::lens::lenses(db, file));
    text
}

fn actions(db: &Database, file: File, all: Span) -> String {
    format!("{:#?}", views::actions::actions(db, file, all))
}

fn code(db: &Database, file: File, _: Span) -> String {
    let mut text = String::new();
    if file.language(db) == Language::Ia64 {
        return format!("{:#?}", derive::bundles::bundles(db, file));
    }
    for name in derive::code::names(db, file) {
        if let Some(code) = derive::code::named(db, file, &name) {
            let _ = writeln!(text, "{name}\n{code:#?}");
        }
    }
    if file.language(db) == Language::C {
        let _ = writeln!(text, "{:#?}", views::loops::rows(db, file, None));
    }
    text
}

/// Returns the statements about a file, by aspect, a panic included.
fn said(path: &Path, aspects: &[(&'static str, Aspect)]) -> Vec<(&'static str, String)> {
    let Ok(bytes) = std::fs::read(path) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if text.len() > LONGEST || Language::of_file(path, &text) == Language::Other {
        return Vec::new();
    }
    let all = Span::new(0, text.len() as u32);
    let mut db = Database::default();
    let source = Source::Text {
        text: Arc::from(text),
        lossy: false,
    };
    let file = db.file_with_text(path, source);
    let analysis = AnalysisConfig {
        processor: Some("itanium2".into()),
        ..AnalysisConfig::default()
    };
    let settings = db.new_settings(analysis, ViewConfig::default(), Vec::new());
    db.set_file_settings(file, settings);
    aspects
        .iter()
        .map(|(name, aspect)| {
            let text = std::panic::catch_unwind(AssertUnwindSafe(|| aspect(&db, file, all)));
            (*name, text.unwrap_or_else(|_| "panic".to_owned()))
        })
        .collect()
}

fn hash(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn files(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = paths
        .iter()
        .flat_map(|path| ignore::WalkBuilder::new(path).build().flatten())
        .map(ignore::DirEntry::into_path)
        .filter(|path| path.is_file())
        .filter(|path| {
            // C++ is looked at where it is included.
            let extension = path.extension().and_then(|it| it.to_str());
            !matches!(
                extension,
                Some("h" | "hpp" | "hh" | "hxx" | "inc" | "cpp" | "cc" | "cxx")
            )
        })
        .collect();
    found.sort();
    found
}

fn main() {
    let mut paths = Vec::new();
    let (mut against, mut show) = (None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--against" => against = words.next(),
            "--show" => show = words.next(),
            _ => paths.push(PathBuf::from(word)),
        }
    }
    std::panic::set_hook(Box::new(|_| {}));
    let files = files(&paths);
    if let Some(show) = show {
        let aspects: Vec<_> = ASPECTS
            .into_iter()
            .filter(|(name, _)| *name == show)
            .collect();
        for path in &files {
            for (_, text) in said(path, &aspects) {
                println!("{text}");
            }
        }
        return;
    }
    let next = AtomicUsize::new(0);
    let lines = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..std::thread::available_parallelism().map_or(1, usize::from))
            .map(|_| {
                scope.spawn(|| {
                    let mut lines = Vec::new();
                    while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        for (aspect, text) in said(path, &ASPECTS) {
                            lines.push(format!("{}\t{aspect}\t{}", path.display(), hash(&text)));
                        }
                    }
                    lines
                })
            })
            .collect();
        let mut lines: Vec<String> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect();
        lines.sort();
        lines
    });
    let Some(against) = against else {
        for line in &lines {
            println!("{line}");
        }
        eprintln!(
            "{} lines of {} files",
            lines.len(),
            lines.len() / ASPECTS.len()
        );
        return;
    };
    let before = std::fs::read_to_string(&against).unwrap_or_default();
    let keyed = |text: &str| -> BTreeMap<String, String> {
        text.lines()
            .filter_map(|line| line.rsplit_once('\t'))
            .map(|(key, hash)| (key.to_owned(), hash.to_owned()))
            .collect()
    };
    let (before, after) = (keyed(&before), keyed(&lines.join("\n")));
    let mut differ: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, hash) in &after {
        if before.get(key) != Some(hash) {
            println!("{key}");
            *differ
                .entry(key.rsplit('\t').next().unwrap_or_default())
                .or_default() += 1;
        }
    }
    eprintln!("{} lines compared, different: {differ:?}", after.len());
    std::process::exit(i32::from(!differ.is_empty()));
}
