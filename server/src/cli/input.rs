//! A file with its settings in a database of its own.

use super::{AnalysisArgs, CliError, MethodArg, ScopeArg};
use crate::config::{self, Config};
use crate::db::{self, Database, Db, File, Item, Source};
use crate::derive::figures::{self, Figures};
use crate::derive::rows::rows_of;
use crate::documents::line_column;
use crate::host;
use crate::program::{self, Language};
use crate::ptxas;
use facts::{Method, Scope};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use syntax::{LineIndex, ProblemKind};

/// Reads a file; problems of its configuration go to stderr.
pub(crate) fn open(db: &mut Database, path: &Path, args: &AnalysisArgs) -> Result<File, CliError> {
    opened(db, path, args, false)
}

/// The same where loops of C are asked for by naming the file: for the usual processor, where none is configured.
pub(crate) fn open_with_processor(
    db: &mut Database,
    path: &Path,
    args: &AnalysisArgs,
) -> Result<File, CliError> {
    opened(db, path, args, true)
}

fn opened(
    db: &mut Database,
    path: &Path,
    args: &AnalysisArgs,
    processor: bool,
) -> Result<File, CliError> {
    let absolute = std::path::absolute(path)?;
    let read = host::read(&absolute)?;
    if Language::of_file(&absolute, &read.text) == Language::Other {
        return Err(CliError::Usage(format!(
            "{}: not a language that Lockstep knows (.cu .cuh .h .hpp .hlsl .hlsli .fx .usf .ush .ptx .c .musimd .lir, HLSL in .comp .frag .vert and their like, and .s for IA-64)",
            path.display()
        )));
    }
    let file = db.file_with_text(
        &absolute,
        Source::Text {
            text: Arc::from(read.text),
            lossy: read.lossy,
        },
    );
    if !args.alone {
        db.see_through_includers(file);
    }
    let mut config = config_for(db, &absolute, args)?;
    let spoken = config.analysis.command.as_ref();
    if let Some(language) = spoken.and_then(|command| command.language) {
        db.set_language(file, language);
    }
    set_includers(db, file, &config, args)?;
    if processor && file.language(db) == Language::C && config.analysis.machine_file.is_none() {
        let usual = || config::PROCESSOR.into();
        config.analysis.processor.get_or_insert_with(usual);
    }
    let baseline = match &config.view.baseline {
        Some(path) if path.exists() => crate::baseline::read(path)?,
        _ => Vec::new(),
    };
    let settings = db.new_settings(config.analysis, config.view, baseline);
    db.set_file_settings(file, settings);
    machine_problems(db, settings);
    if !args.alone && program::misses_includes(db, file) {
        db.look_for_names(file);
    }
    Ok(file)
}

/// Gives their settings to the files through which a header may be seen.
fn set_includers(
    db: &mut Database,
    file: File,
    config: &Config,
    args: &AnalysisArgs,
) -> Result<(), CliError> {
    let chosen = config.analysis.seen_through_of(file.path(db)).cloned();
    let mut includers: Vec<PathBuf> = chosen.collect();
    includers.extend_from_slice(file.includers(db));
    for path in includers {
        let config = config_for(db, &path, args)?;
        let settings = db.new_settings(config.analysis, config.view, Vec::new());
        let includer = db.file(&path);
        db.set_file_settings(includer, settings);
    }
    Ok(())
}

/// Writes the problems of the user's machine table to stderr, too.
fn machine_problems(db: &Database, settings: db::Settings) {
    let Some(path) = &settings.analysis(db).machine_file else {
        return;
    };
    let file = db.file(path);
    let text = program::text(file.source(db));
    let lines = LineIndex::new(text);
    for problem in &db::machine_text(db, file).problems {
        let (line, column) = crate::documents::line_column(text, &lines, problem.span.start);
        eprintln!("{}:{line}:{column}: {}", path.display(), problem.message);
    }
}

/// Computes the shown results for the items of a file and frees the others, a few items at a time.
pub(crate) fn warm(db: &mut Database, file: File) {
    // What kernels pass comes first, those of headers, too: facts of device functions need all of it.
    in_turn(
        db,
        file,
        Vec::from_iter(0..db::items(db, file).len()),
        |db, item| {
            if item.holds(db).kernels {
                db::calls(db, item);
            }
        },
    );
    let shown: FxHashSet<_> = (program::items_to_show(db, file).into_iter())
        .map(|(_, item)| item)
        .collect();
    let numbered = db::items(db, file).iter().enumerate();
    let shown = numbered.filter_map(|(at, item)| shown.contains(item).then_some(at));
    in_turn(db, file, shown.collect(), |db, item| {
        rows_of(db, item);
        db::item_problems(db, item);
    });
}

/// Items by their numbers: freeing between them removes their names.
fn in_turn(db: &mut Database, file: File, numbers: Vec<usize>, work: impl Fn(&Database, Item<'_>)) {
    for some in numbers.chunks(AT_ONCE) {
        for &number in some {
            if let Some(&item) = db::items(db, file).get(number) {
                work(db, item);
            }
        }
        db.sweep();
    }
}

/// Items whose trees and IR are in memory together.
const AT_ONCE: usize = 16;

/// Many files have one configuration: its problems are reported once.
fn tell_once(line: String) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if !told.contains(&line) {
        eprintln!("{line}");
        told.insert(line);
    }
}

/// Returns the settings of the build, the nearest lockstep.toml, then the options.
pub(crate) fn config_for(
    db: &Database,
    path: &Path,
    args: &AnalysisArgs,
) -> Result<Config, CliError> {
    let mut config = Config::default();
    if !args.no_config
        && let Some(found) = config::candidates(path).find(|candidate| candidate.is_file())
    {
        let text = host::read(&found)?.text;
        let directory = found.parent().unwrap_or(Path::new(""));
        let lines = LineIndex::new(&text);
        for problem in config::apply_toml(&mut config, &text, directory) {
            let (line, column) = crate::documents::line_column(&text, &lines, problem.span.start);
            tell_once(format!(
                "{}:{line}:{column}: {}",
                found.display(),
                problem.message
            ));
        }
    }
    let analysis = &mut config.analysis;
    analysis
        .defines
        .extend(args.define.iter().map(|define| define.as_str().into()));
    analysis.no_system_headers |= args.no_system_headers;
    analysis.native_16bit |= args.native_16bit;
    analysis.long_32bit |= args.long_32bit;
    for entry in &args.entries {
        let (name, stage) = entry
            .rsplit_once('=')
            .ok_or_else(|| CliError::Usage(format!("`{entry}` is not NAME=STAGE")))?;
        let kind = config::stage_from_name(stage).map_err(CliError::Usage)?;
        analysis.entry_points.retain(|(known, _)| known != name);
        analysis.entry_points.push((name.into(), kind));
    }
    analysis.order_entry_points();
    for directory in &args.include {
        analysis.include_dirs.push(std::path::absolute(directory)?);
    }
    let options = &mut analysis.options;
    if let Some(scope) = args.scope {
        options.scope = match scope {
            ScopeArg::Quad => Scope::Quad,
            ScopeArg::Warp => Scope::Subgroup,
            ScopeArg::Workgroup => Scope::Workgroup,
            ScopeArg::Dispatch => Scope::Dispatch,
        };
    }
    if let Some(size) = args.warp_size {
        options.warp_size = size;
    }
    if let Some(block) = &args.block {
        if block.len() > 3 {
            return Err(CliError::Usage("--block has at most three numbers".into()));
        }
        for (axis, &size) in block.iter().enumerate() {
            if size > 1024 {
                return Err(CliError::Usage(
                    "a workgroup has at most 1024 threads along an axis".into(),
                ));
            }
            options.block[axis] = (size > 0).then_some(size);
        }
    }
    if let Some(method) = args.method {
        options.method = match method {
            MethodArg::Simple => Method::Simple,
            MethodArg::Affine1 => Method::Polynomial(1),
            MethodArg::Affine2 => Method::Polynomial(2),
            MethodArg::Full => Method::Full,
        };
    }
    let names = args.target.iter().chain(&args.machine);
    for name in names.filter(|name| issues_sets(name)) {
        if Language::of_path(path) != Language::C {
            return Err(CliError::Usage(format!(
                "`{name}` has no costs of kernels or groups: C is shown for it, and `lockstep sim` counts its cycles"
            )));
        }
    }
    if let Some(target) = &args.target {
        config::set_target(analysis, target).map_err(CliError::Usage)?;
        if is_processor(target) || issues_sets(target) {
            analysis.machine_file = None;
        }
    }
    if let Some(machine) = &args.machine {
        machine_named(analysis, machine)?;
    }
    if !args.no_config {
        config::apply_command(analysis, db.commands().of(path));
    }
    Ok(config)
}

/// Returns true if a target or machine of that name has explicit groups.
pub(super) fn is_processor(name: &str) -> bool {
    let name = name.strip_prefix("ia64:").unwrap_or(name);
    codegen::machine::named(name).is_some_and(|table| table.epic().is_some())
}

/// Returns true if a target or machine of that name issues execution sets.
fn issues_sets(name: &str) -> bool {
    codegen::machine::named(name).is_some_and(|table| table.sets().is_some())
}

/// A name of a table, or the path of one.
fn machine_named(analysis: &mut config::AnalysisConfig, machine: &str) -> Result<(), CliError> {
    if codegen::machine::named(machine).is_some_and(|table| table.is_gpu()) {
        analysis.machine = Some(machine.into());
        analysis.machine_file = None;
        return Ok(());
    }
    match codegen::machine::named(machine) {
        Some(table) if table.epic().is_some() || table.sets().is_some() => {
            analysis.processor = Some(machine.into());
            analysis.machine_file = None;
            return Ok(());
        }
        Some(_) | None => {}
    }
    let path = std::path::absolute(machine)?;
    if !path.is_file() {
        return Err(CliError::Usage(format!(
            "`{machine}` is no machine and no file; `lockstep machine list` names the machines"
        )));
    }
    analysis.machine_file = Some(path);
    Ok(())
}

/// The limits that parts of a PTX file exceed, by which they are not looked at: `1:1: this has ... bytes; ...`.
pub(crate) fn limits(db: &Database, file: File) -> Vec<String> {
    if file.language(db) != Language::Ptx {
        return Vec::new();
    }
    let text = program::text(file.source(db));
    let mut out = Vec::new();
    for (place, item) in program::own_items(db, file) {
        let problems = &db::ptx_tree(db, item).problems;
        let limits = problems.iter().filter(|it| it.kind == ProblemKind::Limit);
        out.extend(limits.map(|problem| {
            let at = problem.span.shifted(place.start).start;
            let (line, column) = line_column(text, db::line_index(db, file), at);
            format!("{line}:{column}: {}", problem.message)
        }));
    }
    out
}

/// Returns the error that there is no function of a name that an option gives.
pub(crate) fn no_such_item(db: &Database, file: File, path: &Path, name: &str) -> CliError {
    let items = program::items_to_show(db, file);
    let mut names: Vec<&str> = items
        .iter()
        .filter(|(_, item)| item.holds(db).code)
        .map(|(_, item)| item.name(db).as_str())
        .collect();
    names.dedup();
    CliError::Usage(format!(
        "{}: there is no function `{name}`; there are: {}",
        path.display(),
        names.join(", ")
    ))
}

/// `LINE:COL`, from 1, columns in characters, as an offset.
pub(crate) fn offset_at(text: &str, at: &str) -> Result<u32, CliError> {
    let wrong = || CliError::Usage(format!("`{at}` is not LINE:COL, two numbers from 1"));
    let (line, column) = at.split_once(':').ok_or_else(wrong)?;
    let (line, column): (u32, u32) = (
        line.parse().map_err(|_| wrong())?,
        column.parse().map_err(|_| wrong())?,
    );
    if line == 0 || column == 0 {
        return Err(wrong());
    }
    let lines = LineIndex::new(text);
    if line > lines.line_count() {
        return Err(CliError::Usage(format!(
            "there is no line {line}; the last is {}",
            lines.line_count()
        )));
    }
    let place = crate::documents::Place {
        line: line - 1,
        column: column - 1,
    };
    Ok(crate::documents::offset_at(
        text,
        &lines,
        place,
        crate::documents::Encoding::Utf32,
    ))
}

/// A path as people write it: relative to the current directory when it lies below it.
pub(crate) fn shown(path: &Path) -> PathBuf {
    match std::env::current_dir() {
        Ok(here) => path
            .strip_prefix(&here)
            .map_or_else(|_| path.to_owned(), Path::to_owned),
        Err(_) => path.to_owned(),
    }
}

/// The assembler that `--ptxas` asks for.
pub(super) fn assembler() -> Result<PathBuf, CliError> {
    ptxas::find(None).ok_or_else(|| {
        CliError::Usage(
            "ptxas was not found: neither LOCKSTEP_PTXAS nor the search path has it".into(),
        )
    })
}

/// Has the kernels of a file assembled; a refused kernel keeps its estimate.
pub(super) fn assemble(db: &mut Database, file: File, tool: &Path) {
    let mut all = Figures::default();
    for job in figures::wanted(db, file) {
        match ptxas::figures(tool, &job, &|| false) {
            Ok(found) => all.extend(found.into_iter().map(|(key, it)| (key, Some(it)))),
            Err(error) => {
                let names: Vec<&str> = job.entries.iter().map(|entry| entry.0.as_str()).collect();
                eprintln!(
                    "lockstep: `{}` stays an estimate: {error}",
                    names.join("`, `")
                );
            }
        }
    }
    db.set_figures(file, all);
}
