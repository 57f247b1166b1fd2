//! `lockstep check`: diagnostics of files and directories, as text, JSON, SARIF or GitHub's annotations.
//! Files are checked on all cores and share their includes; text and annotations are printed as they come, in
//! the order of the files.

use super::{CheckArgs, CheckFormat, CliError, input};
use crate::config::Level;
use crate::db::{self, Database, File, SharedFiles};
use crate::documents::line_column;
use crate::program::{self, Language};
use crate::views::diagnostics::{self, Diagnostic};
use crate::views::report::diagnostic_row;
use anstyle::{AnsiColor, Style};
use facts::Code;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

struct Found {
    path: PathBuf,
    diagnostics: Vec<Diagnostic>,
    /// Every finding with its entry for a baseline.
    entries: Vec<serde_json::Value>,
    rows: Vec<crate::views::report::DiagnosticRow>,
    lines: Vec<String>,
}

pub(super) fn check(args: &CheckArgs) -> Result<u8, CliError> {
    for code in &args.deny {
        if code != "all"
            && !matches!(code.as_str(), "hint" | "information" | "warning" | "error")
            && Code::from_name(code).is_none()
            && crate::explain::note(code).is_none()
        {
            return Err(CliError::Usage(format!(
                "--deny: {}",
                super::no_diagnostic(code)
            )));
        }
    }
    let accepted = match &args.baseline {
        Some(path) => crate::baseline::read(path)?,
        None => Vec::new(),
    };
    let (files, mut unusable) = files(&args.paths)?;
    let progress = progress(files.len());
    let mut out = std::io::BufWriter::new(anstream::stdout().lock());
    let mut found = Vec::new();
    let mut denies = false;
    let mut tally = Tally::default();
    let streamed = args.write_baseline.is_none();
    each(&files, args, &accepted, |result| {
        progress.inc(1);
        let it = match result {
            Ok(found) => found,
            Err(error) => {
                progress.suspend(|| eprintln!("lockstep: {error}"));
                unusable = true;
                return Ok(());
            }
        };
        denies |= it
            .diagnostics
            .iter()
            .any(|diagnostic| denied(diagnostic, &args.deny));
        let printed = progress.suspend(|| {
            match args.format {
                CheckFormat::Text if streamed => text(&mut out, &it, args, &mut tally)?,
                CheckFormat::Github if streamed => github(&mut out, &it)?,
                _ => return Ok(false),
            }
            out.flush()?;
            Ok::<bool, CliError>(true)
        })?;
        if !printed {
            found.push(it);
        }
        Ok(())
    })?;
    progress.finish_and_clear();
    if let Some(path) = &args.write_baseline {
        let entries: Vec<_> = found
            .iter()
            .flat_map(|it| it.entries.iter().cloned())
            .collect();
        eprintln!(
            "{} findings are accepted in {}",
            entries.len(),
            path.display()
        );
        crate::baseline::write(path, entries)?;
        return Ok(if unusable { 2 } else { 0 });
    }
    match args.format {
        CheckFormat::Text => summary(&mut out, &tally, args)?,
        CheckFormat::Json => as_json(&mut out, &found)?,
        CheckFormat::Sarif => sarif(&mut out, &found)?,
        CheckFormat::Github => {}
    }
    out.flush()?;
    Ok(if unusable { 2 } else { u8::from(denies) })
}

/// Stack of a thread that checks files: the most that lowering may use anywhere, with room.
const STACK: usize = 8 << 20;

/// Checks files on all cores. Findings are taken in the order of the files, as soon as they are known.
fn each(
    files: &[PathBuf],
    args: &CheckArgs,
    accepted: &[String],
    mut take: impl FnMut(Result<Found, CliError>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let shared = Arc::new(SharedFiles::default());
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (results, received) = mpsc::channel();
    let tool = args.ptxas.then(input::assembler).transpose()?;
    let work = |results: mpsc::Sender<_>| {
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(number) else {
                return;
            };
            // A database a file: memory stays that of the largest, and of what they include.
            let mut db = Database::sharing(&shared);
            let found = input::open(&mut db, path, &args.analysis).map(|file| {
                input::warm(&mut db, file);
                if let Some(tool) = &tool {
                    input::assemble(&mut db, file, tool);
                }
                check_one(
                    &db,
                    file,
                    path.clone(),
                    accepted,
                    args.write_baseline.is_some(),
                )
            });
            if results.send((number, found)).is_err() {
                return;
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(files.len()) {
            let worker = std::thread::Builder::new().stack_size(STACK);
            let (work, results) = (&work, results.clone());
            worker.spawn_scoped(scope, move || work(results))?;
        }
        drop(results);
        let mut waiting = BTreeMap::new();
        for wanted in 0..files.len() {
            let found = loop {
                if let Some(found) = waiting.remove(&wanted) {
                    break found;
                }
                match received.recv() {
                    Ok((number, found)) => drop(waiting.insert(number, found)),
                    // Every worker is gone; a scope passes on what ended them.
                    Err(_) => return Ok(()),
                }
            };
            if let Err(error) = take(found) {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    })
}

/// `keeps`: entries for a baseline are asked for.
fn check_one(db: &Database, file: File, path: PathBuf, accepted: &[String], keeps: bool) -> Found {
    let source = program::text(file.source(db));
    let lines = db::line_index(db, file);
    let fingerprint = |diagnostic: &Diagnostic| diagnostics::fingerprint(diagnostic, source, lines);
    let entry = |diagnostic: &Diagnostic| {
        crate::views::actions::baseline_entry(db, file, diagnostic, &fingerprint(diagnostic))
    };
    let each = match keeps {
        true => diagnostics::each_finding(db, file),
        false => Vec::new(),
    };
    let entries = each.iter().map(entry).collect();
    let shown = diagnostics::diagnostics_but(db, file, &|it| {
        accepted.binary_search(&fingerprint(it)).is_ok()
    });
    let rows = shown
        .iter()
        .map(|it| diagnostic_row(db, file, it))
        .collect();
    let line = |diagnostic: &Diagnostic| {
        let (line, _) = line_column(source, lines, diagnostic.span.start);
        crate::documents::line_beginning(source, lines, line - 1).to_owned()
    };
    let lines = shown.iter().map(line).collect();
    Found {
        path,
        diagnostics: shown,
        entries,
        rows,
        lines,
    }
}

/// Errors always count, milder findings if they are denied.
fn denied(diagnostic: &Diagnostic, deny: &[String]) -> bool {
    diagnostic.level == Level::Error
        || deny.iter().any(|code| match code.as_str() {
            "all" => diagnostic.finding.is_some(),
            "warning" => diagnostic.level == Level::Warning,
            "information" => diagnostic.level >= Level::Information,
            "hint" => diagnostic.level >= Level::Hint,
            code => code == diagnostic.code,
        })
}

/// Files as given, and those below directories with a known extension, sorted.
fn files(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, bool), CliError> {
    let mut files = BTreeSet::new();
    let mut unusable = false;
    for path in paths {
        if !path.is_dir() {
            files.insert(path.clone());
            continue;
        }
        let mut any = false;
        for entry in ignore::WalkBuilder::new(path).require_git(false).build() {
            match entry {
                Ok(entry)
                    if entry.file_type().is_some_and(|kind| kind.is_file())
                        && is_source(entry.path()) =>
                {
                    // `lockstep check .` names files as others do.
                    let path = entry.path();
                    files.insert(path.strip_prefix(".").unwrap_or(path).to_owned());
                    any = true;
                }
                Ok(_) => {}
                Err(error) => {
                    eprintln!("lockstep: {error}");
                    unusable = true;
                }
            }
        }
        if !any {
            eprintln!(
                "lockstep: {}: no file below it is looked at (C is where it is named, and by `lockstep loops FILE`)",
                path.display()
            );
        }
    }
    Ok((files.into_iter().collect(), unusable))
}

/// Headers of plain C++ are read where they are included, not on their own, unless they hold kernels; C, of which there are
/// no findings, where it is named.
fn is_source(path: &Path) -> bool {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let language = match Language::is_told_by_text(path) {
        true => match crate::host::read(path) {
            Ok(read) => Language::of_file(path, &read.text),
            Err(_) => Language::Other,
        },
        false => Language::of_path(path),
    };
    match language {
        Language::Cuda => match extension.as_deref() {
            Some("cu" | "cuh") => true,
            Some("cpp" | "cc" | "cxx") => false,
            _ => crate::host::read(path).is_ok_and(|read| read.text.contains("__global__")),
        },
        Language::Other | Language::Ir | Language::C => false,
        _ => true,
    }
}

fn progress(files: usize) -> indicatif::ProgressBar {
    if files < 2 || !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(files as u64);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Counts of findings that were printed, for the last line.
#[derive(Default)]
struct Tally {
    files: usize,
    /// Errors, warnings, information, hints.
    counts: [usize; 4],
    notes: usize,
}

fn text(
    out: &mut impl Write,
    found: &Found,
    args: &CheckArgs,
    tally: &mut Tally,
) -> std::io::Result<()> {
    const BOLD: Style = Style::new().bold();
    const DIM: Style = Style::new().dimmed();
    tally.files += 1;
    let path = found.path.display();
    for (diagnostic, (row, line)) in found
        .diagnostics
        .iter()
        .zip(found.rows.iter().zip(&found.lines))
    {
        let note = diagnostic.finding.is_none()
            && !matches!(diagnostic.level, Level::Error | Level::Warning);
        if note {
            tally.notes += 1;
            if !args.notes && !denied(diagnostic, &args.deny) {
                continue;
            }
        }
        let style = match diagnostic.level {
            Level::Error => AnsiColor::Red.on_default().bold(),
            Level::Warning => AnsiColor::Yellow.on_default().bold(),
            Level::Information => AnsiColor::Blue.on_default().bold(),
            _ => AnsiColor::Cyan.on_default(),
        };
        tally.counts[match diagnostic.level {
            Level::Error => 0,
            Level::Warning => 1,
            Level::Information => 2,
            _ => 3,
        }] += usize::from(!note);
        let level = row.tier;
        writeln!(
            out,
            "{BOLD}{path}:{}:{}{BOLD:#}: {style}{level}[{}]{style:#}: {}",
            row.line, row.column, row.code, row.message
        )?;
        let code = line.trim_end();
        if !code.trim().is_empty() && code.len() < 400 {
            let indent = code.len() - code.trim_start().len();
            let before = (row.column as usize - 1).saturating_sub(indent);
            writeln!(out, "    {DIM}|{DIM:#} {}", code.trim_start())?;
            writeln!(out, "    {DIM}|{DIM:#} {:before$}{style}^{style:#}", "")?;
        }
        for related in &row.related {
            let place = related
                .line
                .map_or(String::new(), |line| match &related.file {
                    Some(file) => format!("{file}:{line}: "),
                    None => format!("line {line}: "),
                });
            writeln!(out, "    {DIM}= {place}{}{DIM:#}", related.text)?;
        }
        if let Some(fix) = &row.fix {
            writeln!(out, "    {DIM}fix: {fix}{DIM:#}")?;
        }
    }
    Ok(())
}

/// `1 file`, `3 files`.
fn counted(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}

fn summary(out: &mut impl Write, tally: &Tally, args: &CheckArgs) -> std::io::Result<()> {
    let Tally {
        files,
        counts,
        notes,
    } = tally;
    let hidden = match notes {
        0 => String::new(),
        _ if args.notes => format!(", {}", counted(*notes, "note")),
        _ => format!(
            ", {} on what was not found, not understood or assumed (--notes shows them)",
            counted(*notes, "note")
        ),
    };
    writeln!(
        out,
        "{}: {}, {}, {}{hidden}",
        counted(*files, "file"),
        counted(counts[0], "error"),
        counted(counts[1], "warning"),
        counted(counts[2] + counts[3], "remark")
    )
}

fn as_json(out: &mut impl Write, found: &[Found]) -> Result<(), CliError> {
    let files: Vec<_> = found
        .iter()
        .map(|it| json!({ "file": it.path.display().to_string(), "diagnostics": it.rows }))
        .collect();
    serde_json::to_writer_pretty(&mut *out, &json!({ "version": 1, "files": files }))?;
    writeln!(out)?;
    Ok(())
}

fn github(out: &mut impl Write, found: &Found) -> std::io::Result<()> {
    // Line ends and percent signs end or change a workflow command.
    let escaped = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    for row in &found.rows {
        let kind = match row.tier {
            "error" => "error",
            "warning" => "warning",
            _ => "notice",
        };
        let path = escaped(&found.path.display().to_string())
            .replace(',', "%2C")
            .replace(':', "%3A");
        writeln!(
            out,
            "::{kind} file={path},line={},col={},title=lockstep {}::{}",
            row.line,
            row.column,
            row.code,
            escaped(&row.message)
        )?;
    }
    Ok(())
}

fn sarif(out: &mut impl Write, found: &[Found]) -> Result<(), CliError> {
    use serde_sarif::sarif::*;
    let message = |text: &str| Message::builder().text(text.to_owned()).build();
    let location = |path: &Path, line: u32, column: u32| {
        let uri = path.display().to_string().replace('\\', "/");
        Location::builder()
            .physical_location(
                PhysicalLocation::builder()
                    .artifact_location(ArtifactLocation::builder().uri(uri).build())
                    .region(
                        Region::builder()
                            .start_line(i64::from(line))
                            .start_column(i64::from(column))
                            .build(),
                    )
                    .build(),
            )
            .build()
    };
    let rules: Vec<ReportingDescriptor> = Code::ALL
        .iter()
        .map(|code| {
            let short = crate::explain::summary(*code).replace('\n', " ");
            let help = crate::explain::page(code.name()).unwrap_or_default();
            ReportingDescriptor::builder()
                .id(code.name())
                .short_description(
                    MultiformatMessageString::builder()
                        .text(short.clone())
                        .build(),
                )
                .help(
                    MultiformatMessageString::builder()
                        .text(short)
                        .markdown(help)
                        .build(),
                )
                .build()
        })
        .collect();
    let mut results = Vec::new();
    for each in found {
        for (row, diagnostic) in each.rows.iter().zip(&each.diagnostics) {
            let level = match diagnostic.level {
                Level::Error => ResultLevel::Error,
                Level::Warning => ResultLevel::Warning,
                _ => ResultLevel::Note,
            };
            let related: Vec<Location> = row
                .related
                .iter()
                .filter_map(|step| {
                    let path = step.file.as_ref().map_or(each.path.clone(), PathBuf::from);
                    let mut at = location(&path, step.line?, step.column?);
                    at.message = Some(message(&step.text));
                    Some(at)
                })
                .collect();
            let result = serde_sarif::sarif::Result::builder()
                .rule_id(row.code.clone())
                .level(level)
                .message(message(&row.message))
                .locations(vec![location(&each.path, row.line, row.column)])
                .related_locations(related)
                .build();
            results.push(result);
        }
    }
    let driver = ToolComponent::builder()
        .name("lockstep")
        .version(env!("CARGO_PKG_VERSION"))
        .information_uri(env!("CARGO_PKG_REPOSITORY"))
        .rules(rules)
        .build();
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .results(results)
        .build();
    let log = Sarif::builder()
        .schema("https://json.schemastore.org/sarif-2.1.0.json")
        .version(json!("2.1.0"))
        .runs(vec![run])
        .build();
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)?;
    Ok(())
}
