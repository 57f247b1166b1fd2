//! The share of the kernels in a project's files that are found and understood, with its headers on the path
//! and without any.
//!
//! ```sh
//! cargo run --release -p lockstep-server --example kernels -- [-I DIR]... [-v] [--only with|without] PROJECT...
//! ```
//! A kernel is *written* where a search of the text that knows nothing but comments, literals and parentheses sees the body of a
//! `__global__` function or of one with `[numthreads(...)]`; *found* where the server has a kernel at that place; *clean*
//! where that one has no unknown, calls nothing unknown and has no problem; *told* where it is not found and a note of the file names it (it stands behind a
//! false condition). With headers a file is looked at as `lockstep check` does, with every folder on the path from which the
//! project's own `#include` lines are found, and those of `-I`; without them it stands alone, in no folder at all.

use lockstep_server::config::{AnalysisConfig, ViewConfig};
use lockstep_server::db::{self, Database, Db, File, SharedFiles, Source};
use lockstep_server::{host, program};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use syntax::ProblemKind;

const SOURCES: [&str; 16] = [
    "cu", "cuh", "h", "hpp", "hh", "hxx", "inl", "inc", "cc", "cpp", "hlsl", "hlsli", "fx", "usf",
    "ush", "compute",
];
/// Folders that are searched for headers of a project.
const MOST_FOLDERS: usize = 80;
const STACK: usize = 16 << 20;

#[derive(Clone, Debug)]
struct Written {
    name: String,
    /// The offset of the name in front of the parameters.
    offset: u32,
    line: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Outcome {
    /// The parts of it that are not understood.
    Found(Vec<String>),
    Told,
    Lost,
}

#[derive(Default)]
struct Counts {
    written: usize,
    found: usize,
    clean: usize,
    told: usize,
    reasons: BTreeMap<String, usize>,
}

type Outcomes = BTreeMap<(PathBuf, u32), (Written, Outcome)>;

fn main() {
    let mut directories = Vec::new();
    let mut projects = Vec::new();
    let (mut verbose, mut only) = (false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-v" => verbose = true,
            "-I" => directories.extend(arguments.next().map(PathBuf::from)),
            "--only" => only = arguments.next(),
            path => projects.push(PathBuf::from(path)),
        }
    }
    let wanted = |mode: &str| only.as_deref().is_none_or(|only| only == mode);
    println!(
        "{:28} {:>7} | {:>6} {:>7} {:>6} {:>5} | {:>6} {:>6} | {:>5}",
        "project", "written", "found", "%", "clean", "told", "alone", "clean", "worse"
    );
    for project in projects {
        let files = kernels_of(&project);
        let mut paths = folders(&project);
        paths.extend(directories.iter().cloned());
        let with = if wanted("with") {
            look(&files, Some(&paths))
        } else {
            Outcomes::new()
        };
        let without = if wanted("without") {
            look(&files, None)
        } else {
            Outcomes::new()
        };
        let (a, b) = (counts(&with), counts(&without));
        let is_clean = |outcome: &Outcome| *outcome == Outcome::Found(Vec::new());
        let worse = without.iter().filter(|(place, (_, outcome))| {
            is_clean(outcome) && with.get(place).is_some_and(|(_, with)| !is_clean(with))
        });
        let worse: Vec<_> = worse.collect();
        let name = project
            .file_name()
            .unwrap_or_default()
            .display()
            .to_string();
        let percent = 100.0 * a.found as f64 / a.written.max(1) as f64;
        println!(
            "{name:28} {:7} | {:6} {percent:6.1}% {:6} {:5} | {:6} {:6} | {:5}",
            a.written.max(b.written),
            a.found,
            a.clean,
            a.told,
            b.found,
            b.clean,
            worse.len()
        );
        if !verbose {
            continue;
        }
        for (mode, all) in [("with", &with), ("without", &without)] {
            for ((path, _), (written, outcome)) in all.iter() {
                let place = format!("{}:{}: {}", path.display(), written.line, written.name);
                match outcome {
                    Outcome::Lost | Outcome::Told => println!("  {mode}: {outcome:?} {place}"),
                    Outcome::Found(reasons) if mode == "with" && !reasons.is_empty() => {
                        println!("  {mode}: not clean {place}: {}", reasons.join("; "));
                    }
                    Outcome::Found(_) => {}
                }
            }
        }
        for ((path, _), (written, _)) in worse {
            println!(
                "  worse {}:{}: {}",
                path.display(),
                written.line,
                written.name
            );
        }
        for (mode, all) in [("with", &a), ("without", &b)] {
            let mut reasons: Vec<_> = all.reasons.iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (reason, count) in reasons.into_iter().take(25) {
                println!("  {mode} {count:5} {reason}");
            }
        }
    }
}

fn counts(all: &Outcomes) -> Counts {
    let mut counts = Counts::default();
    for (_, outcome) in all.values() {
        counts.written += 1;
        match outcome {
            Outcome::Found(reasons) => {
                counts.found += 1;
                counts.clean += usize::from(reasons.is_empty());
                for reason in reasons {
                    *counts.reasons.entry(reason.clone()).or_default() += 1;
                }
            }
            Outcome::Told => counts.told += 1,
            Outcome::Lost => {}
        }
    }
    counts
}

/// The files of a project that hold kernels, with them.
fn kernels_of(project: &Path) -> Vec<(PathBuf, Vec<Written>)> {
    let mut all = Vec::new();
    for path in sources(project) {
        if let Ok(read) = host::read(&path) {
            let found = kernels_in(&read.text);
            if !found.is_empty() {
                all.push((path, found));
            }
        }
    }
    all
}

fn sources(project: &Path) -> Vec<PathBuf> {
    let walk = ignore::WalkBuilder::new(project)
        .standard_filters(false)
        .build();
    let paths = walk.flatten().map(ignore::DirEntry::into_path);
    let wanted = |path: &PathBuf| {
        let extension = path
            .extension()
            .map(|it| it.to_string_lossy().to_lowercase());
        extension.is_some_and(|it| SOURCES.contains(&it.as_str())) && path.is_file()
    };
    let mut all: Vec<PathBuf> = paths.filter(wanted).collect();
    all.sort();
    all
}

/// Folders from which the `#include` lines of a project are found in it, those of most lines first.
fn folders(project: &Path) -> Vec<PathBuf> {
    let files = sources(project);
    let mut by_name: BTreeMap<String, Vec<&PathBuf>> = BTreeMap::new();
    for path in &files {
        let name = path.file_name().unwrap_or_default().display().to_string();
        by_name.entry(name).or_default().push(path);
    }
    let mut votes: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for path in &files {
        let Ok(read) = host::read(path) else { continue };
        for line in read.text.lines() {
            let Some(rest) = line.trim_start().strip_prefix('#') else {
                continue;
            };
            let Some(rest) = rest.trim_start().strip_prefix("include") else {
                continue;
            };
            let Some(spec) = rest.split(['"', '<', '>']).nth(1) else {
                continue;
            };
            let name = spec.rsplit('/').next().unwrap_or(spec);
            for found in by_name.get(name).into_iter().flatten() {
                if found.ends_with(spec) {
                    let depth = Path::new(spec).components().count();
                    votes.extend(found.ancestors().nth(depth).map(|folder| {
                        (
                            folder.to_path_buf(),
                            votes.get(folder).copied().unwrap_or(0) + 1,
                        )
                    }));
                }
            }
        }
    }
    let mut all: Vec<(usize, PathBuf)> = votes
        .into_iter()
        .map(|(path, count)| (count, path))
        .collect();
    all.sort_by(|a, b| b.cmp(a));
    all.into_iter()
        .take(MOST_FOLDERS)
        .map(|(_, path)| path)
        .collect()
}

/// Looks for the kernels of files, with directories of headers or alone.
fn look(files: &[(PathBuf, Vec<Written>)], directories: Option<&[PathBuf]>) -> Outcomes {
    let shared = Arc::new(SharedFiles::default());
    let outcomes = Mutex::new(Outcomes::new());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((path, kernels)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut db = Database::sharing(&shared);
            let file = open(&mut db, path, directories);
            let found = outcomes_in(&db, file, kernels);
            let mut all = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            for (written, outcome) in kernels.iter().zip(found) {
                all.insert((path.clone(), written.offset), (written.clone(), outcome));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, work).expect("a thread");
        }
    });
    outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
}

fn open(db: &mut Database, path: &Path, directories: Option<&[PathBuf]>) -> File {
    let text = host::read(path).map(|read| read.text).unwrap_or_default();
    let source = Source::Text {
        text: Arc::from(text),
        lossy: false,
    };
    let Some(directories) = directories else {
        let name = path.file_name().unwrap_or_default();
        return db.file_with_text(&Path::new("/alone").join(name), source);
    };
    let file = db.file_with_text(path, source);
    let analysis = AnalysisConfig {
        include_dirs: directories.to_vec(),
        ..AnalysisConfig::default()
    };
    let settings = db.new_settings(analysis, ViewConfig::default(), Vec::new());
    db.see_through_includers(file);
    for includer in file.includers(db).clone() {
        let includer = db.file(&includer);
        db.set_file_settings(includer, settings);
    }
    db.set_file_settings(file, settings);
    file
}

fn outcomes_in(db: &Database, file: File, kernels: &[Written]) -> Vec<Outcome> {
    let items = program::own_items(db, file);
    let problems = program::problems(db, file);
    let of = |written: &Written| {
        let around = items.iter().filter(|(place, item)| {
            (place.start..place.end).contains(&written.offset) && item.holds(db).code
        });
        let mut best: Option<Vec<String>> = None;
        for (_, item) in around {
            let tree = program::tree_problems(db, file, *item);
            for each in db::lowered(db, *item).iter() {
                let is_entry = |function: &&ir::Function| {
                    matches!(
                        function.kind,
                        ir::FunctionKind::Kernel | ir::FunctionKind::Stage(_)
                    )
                };
                if each.module.functions.first().filter(is_entry).is_none() {
                    continue;
                }
                let mut reasons: Vec<String> = (each.problems.iter().chain(tree))
                    .filter(|problem| problem.kind != ProblemKind::Note)
                    .map(|problem| problem.message.clone())
                    .collect();
                for function in &each.module.functions {
                    let unknown = function.insts.values().filter_map(|inst| match &inst.op {
                        ir::Op::Unknown(id) => Some(function.unknowns[*id].reason.clone()),
                        ir::Op::CallUnknown { name, .. } => {
                            Some(format!("a call of `{name}` that stays unknown"))
                        }
                        _ => None,
                    });
                    reasons.extend(unknown);
                }
                reasons.sort();
                reasons.dedup();
                if best.as_ref().is_none_or(|best| reasons.len() < best.len()) {
                    best = Some(reasons);
                }
            }
        }
        match best {
            Some(reasons) => Outcome::Found(reasons),
            None => {
                let named = |message: &str| {
                    let quoted = format!("`{}`", written.name);
                    message.contains(&quoted)
                };
                // Of several kernels that stand behind one condition the first is named.
                let behind = |message: &str| message.contains("stand behind");
                let told = problems
                    .iter()
                    .any(|(p, _)| named(&p.message) || behind(&p.message));
                if told { Outcome::Told } else { Outcome::Lost }
            }
        }
    };
    let mut outcomes: Vec<Outcome> = kernels.iter().map(of).collect();
    // The other form of one that is found stands behind the same condition.
    let found = |name: &str, outcomes: &[Outcome]| {
        let mut named = kernels.iter().zip(outcomes);
        named.any(|(other, outcome)| other.name == name && matches!(outcome, Outcome::Found(_)))
    };
    for (at, written) in kernels.iter().enumerate() {
        if outcomes[at] == Outcome::Lost && found(&written.name, &outcomes) {
            outcomes[at] = Outcome::Told;
        }
    }
    outcomes
}

/// The kernels whose bodies stand in a text.
fn kernels_in(text: &str) -> Vec<Written> {
    let plain = blanked(text);
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (mark, kind) in [("__global__", "cuda"), ("numthreads", "hlsl")] {
        for (at, _) in text.match_indices(mark) {
            if plain.get(at..at + mark.len()) != Some(mark.as_bytes())
                || !is_word(&plain, at, mark.len())
            {
                continue;
            }
            let begin = match kind {
                // Behind the attribute.
                "hlsl" => match (before(&plain, at), close(&plain, at + mark.len())) {
                    (Some(b'['), Some(end)) => end,
                    _ => continue,
                },
                _ => at + mark.len(),
            };
            if let Some((name, offset)) = definition(&plain, begin)
                && seen.insert(offset)
            {
                let line = 1 + plain[..offset]
                    .iter()
                    .filter(|&&byte| byte == b'\n')
                    .count();
                found.push(Written {
                    name,
                    offset: offset as u32,
                    line,
                });
            }
        }
    }
    found
}

/// The name and its place where a body follows the parameters.
fn definition(plain: &[u8], begin: usize) -> Option<(String, usize)> {
    let mut at = begin;
    let mut name: Option<(String, usize)> = None;
    while let Some(&byte) = plain.get(at) {
        match byte {
            b'(' => {
                let own = name_before(plain, at);
                at = close(plain, at)?;
                let mut behind = at;
                while plain.get(behind).is_some_and(u8::is_ascii_whitespace) {
                    behind += 1;
                }
                name = own.or(name);
                match plain.get(behind) {
                    Some(b'{') => return name,
                    Some(b';') | None => return None,
                    // The meaning of a result in HLSL.
                    Some(b':') => {
                        let rest = plain.get(behind..)?;
                        let end = rest.iter().position(|byte| matches!(byte, b'{' | b';'))?;
                        return name.filter(|_| rest[end] == b'{');
                    }
                    Some(_) => continue,
                }
            }
            b';' | b'{' | b'}' => return None,
            _ => at += 1,
        }
    }
    None
}

/// The word in front of a parenthesis, with the arguments of a template between them.
fn name_before(plain: &[u8], at: usize) -> Option<(String, usize)> {
    let mut end = at;
    let mut depth = 0;
    while end > 0 {
        match plain[end - 1] {
            b'>' => depth += 1,
            b'<' if depth > 0 => depth -= 1,
            byte if byte.is_ascii_whitespace() || depth > 0 => {}
            _ => break,
        }
        end -= 1;
    }
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = plain[..end]
        .iter()
        .rev()
        .take_while(|byte| part(byte))
        .count();
    let word = String::from_utf8_lossy(&plain[end - length..end]).into_owned();
    (length > 0).then_some((word, end - length))
}

fn before(plain: &[u8], at: usize) -> Option<u8> {
    plain[..at]
        .iter()
        .rev()
        .find(|byte| !byte.is_ascii_whitespace())
        .copied()
}

fn is_word(plain: &[u8], at: usize, length: usize) -> bool {
    let part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    !part(at.checked_sub(1).and_then(|at| plain.get(at))) && !part(plain.get(at + length))
}

/// Returns the position behind the parenthesis that closes the next one.
fn close(plain: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in plain.iter().enumerate().skip(from) {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The text with spaces for comments, literals and directives.
fn blanked(text: &str) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    let mut at = 0;
    let mut line_begins = true;
    while at < out.len() {
        let rest = &out[at..];
        let length = if rest.starts_with(b"//") || line_begins && rest[0] == b'#' {
            logical_line(rest)
        } else if rest.starts_with(b"/*") {
            let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
            end.map_or(rest.len(), |end| end + 4)
        } else if rest.starts_with(b"R\"") {
            raw_literal(rest)
        } else if rest[0] == b'"' || rest[0] == b'\'' && !digit_separator(&out, at) {
            literal(rest)
        } else {
            line_begins = rest[0] == b'\n' || line_begins && rest[0].is_ascii_whitespace();
            at += 1;
            continue;
        };
        for byte in &mut out[at..at + length] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at += length;
    }
    out
}

fn digit_separator(out: &[u8], at: usize) -> bool {
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    at > 0 && digit(out.get(at - 1)) && digit(out.get(at + 1))
}

fn logical_line(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\\' if rest.get(at + 1) == Some(&b'\n') => at += 2,
            b'\\' if rest.get(at + 1..at + 3) == Some(b"\r\n") => at += 3,
            // A comment may go on where a directive's line ends.
            b'/' if rest.get(at + 1) == Some(&b'*') && at > 0 && rest[0] == b'#' => return at,
            b'\n' => return at,
            _ => at += 1,
        }
    }
    at
}

fn literal(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            byte if byte == rest[0] => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn raw_literal(rest: &[u8]) -> usize {
    let open = rest
        .iter()
        .position(|&byte| byte == b'(')
        .unwrap_or(rest.len() - 1);
    let mut end = b")".to_vec();
    end.extend_from_slice(rest.get(2..open).unwrap_or_default());
    end.push(b'"');
    let found = rest.windows(end.len()).position(|window| window == end);
    found.map_or(rest.len(), |at| at + end.len())
}
