//! Two figures on code that is not ours:
//!
//! ```text
//! survey PATH... [-I DIR]... [--list]         kernels and entry points with facts, no parse error and no unknown construct
//! survey PATH... --mutate N [--seed S]        N mutated files: none may panic, none may take longer than ten seconds
//! ```
//!
//! A panic is caught, counted and named with the file (and the mutation's number). The exit status is 1 if there was one.

use lockstep_server::config::{AnalysisConfig, ViewConfig};
use lockstep_server::db::{Database, File, Source};
use lockstep_server::views::report::{ItemRow, Report, report};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SLOW: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Arguments {
    paths: Vec<PathBuf>,
    includes: Vec<PathBuf>,
    list: bool,
    mutate: u64,
    seed: u64,
}

fn arguments() -> Arguments {
    let mut parsed = Arguments {
        seed: 1,
        ..Arguments::default()
    };
    let mut rest = std::env::args().skip(1);
    while let Some(word) = rest.next() {
        let mut number = || rest.next().and_then(|n| n.parse().ok()).unwrap_or(1);
        match word.as_str() {
            "--mutate" => parsed.mutate = number(),
            "--seed" => parsed.seed = number(),
            "--list" => parsed.list = true,
            "-I" => parsed.includes.extend(rest.next().map(PathBuf::from)),
            path => parsed.paths.push(PathBuf::from(path)),
        }
    }
    parsed
}

/// Files of the languages that have entry points of their own.
fn files(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths {
        let walk = ignore::WalkBuilder::new(path)
            .standard_filters(false)
            .build();
        let wanted = |p: &Path| {
            let extension = p.extension().and_then(|e| e.to_str()).unwrap_or("");
            matches!(
                extension,
                "cu" | "cuh" | "hlsl" | "fx" | "usf" | "ptx" | "musimd"
            )
        };
        found.extend(
            walk.flatten()
                .map(ignore::DirEntry::into_path)
                .filter(|p| p.is_file() && wanted(p)),
        );
    }
    found.sort();
    found
}

fn analysed(path: &Path, text: String, includes: &[PathBuf]) -> std::thread::Result<Report> {
    let includes = includes.to_vec();
    std::panic::catch_unwind(AssertUnwindSafe(move || {
        let mut db = Database::default();
        let file: File = db.file_with_text(
            path,
            Source::Text {
                text: Arc::from(text),
                lossy: false,
            },
        );
        let analysis = AnalysisConfig {
            include_dirs: includes,
            ..AnalysisConfig::default()
        };
        let settings = db.new_settings(analysis, ViewConfig::default(), Vec::new());
        db.set_file_settings(file, settings);
        report(&db, file, None)
    }))
}

/// Kernels, shader stages and PTX entries: the functions that are launched.
fn is_entry(item: &ItemRow) -> bool {
    !matches!(item.kind, "function" | "device" | "host" | "library")
}

/// Negative tests of compilers are wrong on purpose.
fn wrong_on_purpose(text: &str) -> bool {
    [
        "expected-error",
        "CHECK: error",
        "error:",
        "CHK_ERR",
        "expected_error",
        "not %dxc",
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

#[derive(Default)]
struct Tally {
    files: u64,
    excluded: u64,
    panics: u64,
    slow: u64,
    entries: u64,
    clean: u64,
    reasons: BTreeMap<String, u64>,
}

fn main() {
    let arguments = arguments();
    let files = files(&arguments.paths);
    std::panic::set_hook(Box::new(|_| {}));
    let started = Instant::now();
    let tally = if arguments.mutate > 0 {
        mutate(&files, &arguments)
    } else {
        survey(&files, &arguments)
    };
    println!(
        "files {}  left out as wrong on purpose {}  panics {}  slower than 10 s {}",
        tally.files, tally.excluded, tally.panics, tally.slow
    );
    if arguments.mutate == 0 {
        let share = 100.0 * tally.clean as f64 / tally.entries.max(1) as f64;
        println!(
            "entry points {}  without a problem {}  = {share:.2} %",
            tally.entries, tally.clean
        );
        let mut reasons: Vec<_> = tally.reasons.into_iter().collect();
        reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), reason.clone()));
        for (reason, count) in reasons.iter().take(40) {
            println!("{count:6}  {reason}");
        }
    }
    println!("{:.1} s", started.elapsed().as_secs_f64());
    std::process::exit(i32::from(tally.panics > 0 || tally.slow > 0));
}

fn survey(files: &[PathBuf], arguments: &Arguments) -> Tally {
    let mut tally = Tally::default();
    for path in files {
        let Ok(bytes) = std::fs::read(path) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        tally.files += 1;
        if wrong_on_purpose(&text) {
            tally.excluded += 1;
            continue;
        }
        let start = Instant::now();
        let result = analysed(path, text, &arguments.includes);
        if start.elapsed() > SLOW {
            tally.slow += 1;
            println!(
                "slow: {} {:.1} s",
                path.display(),
                start.elapsed().as_secs_f64()
            );
        }
        let Ok(report) = result else {
            tally.panics += 1;
            println!("panic: {}", path.display());
            continue;
        };
        for item in report.items.iter().filter(|item| is_entry(item)) {
            tally.entries += 1;
            let problems: Vec<_> = item
                .problems
                .iter()
                .filter(|p| p.kind != "missing-include")
                .collect();
            if problems.is_empty() {
                tally.clean += 1;
            }
            let mut told: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
            told.sort_unstable();
            told.dedup();
            for message in told {
                *tally.reasons.entry(message.to_string()).or_default() += 1;
                if arguments.list {
                    println!("{}:{}: {}: {message}", path.display(), item.line, item.name);
                }
            }
        }
    }
    tally
}

fn mutate(files: &[PathBuf], arguments: &Arguments) -> Tally {
    let mut tally = Tally::default();
    let mut random = Random(arguments.seed);
    if files.is_empty() {
        return tally;
    }
    for number in 0..arguments.mutate {
        let path = &files[random.below(files.len())];
        let Ok(mut bytes) = std::fs::read(path) else {
            continue;
        };
        bytes.truncate(64 << 10);
        for _ in 0..=random.below(6) {
            mangle(&mut bytes, &mut random);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        tally.files += 1;
        let start = Instant::now();
        let result = analysed(path, text.clone(), &[]);
        let slow = start.elapsed() > SLOW;
        tally.slow += u64::from(slow);
        tally.panics += u64::from(result.is_err());
        if slow || result.is_err() {
            let kept = std::env::temp_dir().join(format!(
                "survey-{}-{number}.{}",
                arguments.seed,
                path.extension().and_then(|e| e.to_str()).unwrap_or("cu")
            ));
            let _ = std::fs::write(&kept, text);
            println!(
                "{} {}: kept as {}",
                if slow { "slow" } else { "panic" },
                path.display(),
                kept.display()
            );
        }
    }
    tally
}

/// One edit as people and accidents make them: cut, double, swap, insert punctuation, flip bits.
fn mangle(bytes: &mut Vec<u8>, random: &mut Random) {
    const PIECES: [&str; 24] = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        ";",
        ",",
        "#",
        "\"",
        "'",
        "/*",
        "*/",
        "//",
        "\\\n",
        "template<",
        "#define X(",
        "#if ",
        "operator",
        "::",
        "0x",
        "\u{00e9}",
    ];
    if bytes.is_empty() {
        bytes.extend_from_slice(b"x");
    }
    let from = random.below(bytes.len());
    let to = (from + 1 + random.below(40)).min(bytes.len());
    match random.below(6) {
        0 => drop(bytes.drain(from..to)),
        1 => {
            let piece = bytes[from..to].to_vec();
            let at = random.below(bytes.len());
            bytes.splice(at..at, piece);
        }
        2 => {
            let piece = PIECES[random.below(PIECES.len())].as_bytes().to_vec();
            bytes.splice(from..from, piece);
        }
        3 => bytes[from] ^= 1 << random.below(8),
        4 => bytes.truncate(from),
        _ => {
            let other = random.below(bytes.len());
            bytes.swap(from, other);
        }
    }
}

struct Random(u64);

impl Random {
    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}
