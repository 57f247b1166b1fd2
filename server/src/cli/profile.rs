//! `lockstep profile`: runs code on described inputs and stores a profile of its values; shows, compares and
//! imports profiles.

use super::{
    CliError, CriterionChoice, ProfileArgs, ProfileCommand, ProfileImportArgs, input, probes,
};
use crate::db::{self, Database};
use crate::host;
use crate::profile::make::{MakeError, Order, make};
use crate::profile::run::{self, Progress, Ran};
use crate::profile::{self, counts, show, template};
use facts::values::convergent::{Criterion, Schedule};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) fn profile(args: &ProfileArgs) -> Result<u8, CliError> {
    match &args.command {
        Some(ProfileCommand::Show {
            file,
            item,
            all,
            recent,
        }) => {
            let profile = load(file)?;
            if let Some(item) = item.as_deref().filter(|item| profile.item(item).is_none()) {
                let known: Vec<&str> = profile
                    .items
                    .iter()
                    .map(|item| item.name.as_str())
                    .collect();
                return Err(CliError::Usage(format!(
                    "{}: there is no item `{item}`; there are: {}",
                    file.display(),
                    known.join(", ")
                )));
            }
            let mut out = std::io::stdout().lock();
            out.write_all(show::show(&profile, item.as_deref(), *all, *recent).as_bytes())?;
            Ok(0)
        }
        Some(ProfileCommand::Diff { first, second }) => {
            let (first, second) = (load(first)?, load(second)?);
            let mut out = std::io::stdout().lock();
            out.write_all(show::diff(&first, &second).as_bytes())?;
            Ok(0)
        }
        Some(ProfileCommand::Import(args)) => import(args),
        None => run_file(args),
    }
}

fn load(path: &Path) -> Result<facts::values::stored::StoredProfile, CliError> {
    profile::load(path).map_err(|error| CliError::Usage(error.to_string()))
}

fn run_file(args: &ProfileArgs) -> Result<u8, CliError> {
    let Some(path) = &args.file else {
        return Err(CliError::Usage(
            "a file to profile, or one of `show`, `diff` and `import`".into(),
        ));
    };
    let mut db = Database::default();
    let file = input::open(&mut db, path, &args.analysis)?;
    if args.describe {
        let (item, number) = run::find(&db, file, args.item.as_deref())
            .map_err(|error| CliError::Usage(error.to_string()))?;
        let lowered = db::lowered(&db, item);
        let text = lowered
            .get(number)
            .and_then(|lowered| template::template(&lowered.module))
            .ok_or_else(|| CliError::Usage("the function has no body".into()))?;
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(0);
    }
    if args.add && args.output.as_deref() == Some(Path::new("-")) {
        let why = "--add adds to the counts of a file: `-o -` is none".to_owned();
        return Err(CliError::Usage(why));
    }
    let order = Order {
        iterations: args.iterations,
        inputs: args.inputs.clone(),
        item: args.item.clone(),
        every: args.every,
        add: args.add,
        schedule: Schedule {
            criterion: match args.criterion {
                CriterionChoice::Increasing => Criterion::Increasing,
                CriterionChoice::Bounds => Criterion::Bounds,
            },
            interval: args.interval,
            back_off: args.back_off,
        },
        output: args.output.clone(),
    };
    let mut bar = Bar {
        bar: indicatif::ProgressBar::hidden(),
        done: 0,
        told: Instant::now(),
    };
    let made = make(&db, file, path, &order, &mut bar, &());
    bar.bar.finish_and_clear();
    let made = match made {
        Ok(made) => made,
        Err(MakeError::Description(error)) => return Err(CliError::Usage(error)),
        Err(error) => {
            eprintln!("lockstep: {error}");
            if let MakeError::Run {
                error: run::RunError::Execution { .. },
                ..
            } = error
            {
                eprintln!("lockstep: no profile was written");
            }
            return Ok(2);
        }
    };
    tell(&made.ran, &made.profile.source.file);
    write(&made.target, &made.profile)
}

fn write(target: &Path, profile: &facts::values::stored::StoredProfile) -> Result<u8, CliError> {
    if target == Path::new("-") {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, profile)?;
        writeln!(out)?;
        return Ok(0);
    }
    profile::save(target, profile)?;
    eprintln!("wrote {}", target.display());
    Ok(0)
}

fn tell(ran: &Ran, file: &str) {
    eprintln!("{file}: {}", ran.line());
    if ran.profiled < ran.lanes && ran.lanes > 0 {
        eprintln!(
            "values of lanes: {:.1} % were profiled, until they converged (--every for all); zeros of warps are exact",
            ran.profiled as f64 * 100.0 / ran.lanes as f64
        );
    }
    if !ran.open.is_empty() {
        eprintln!("not given, chosen by the seed: {}", ran.open.join(", "));
    }
    for note in ran.notes.iter().take(8) {
        eprintln!("note: {note}");
    }
    if ran.notes.len() > 8 {
        eprintln!("and {} more notes", ran.notes.len() - 8);
    }
}

/// A bar on a terminal, and lines from time to time elsewhere.
struct Bar {
    bar: indicatif::ProgressBar,
    done: u64,
    told: Instant,
}

/// The time between two lines about a long run.
const EVERY: Duration = Duration::from_secs(5);

impl Progress for Bar {
    fn starts(&mut self, workgroups: u64) {
        self.bar = indicatif::ProgressBar::new(workgroups);
        if let Ok(style) = indicatif::ProgressStyle::with_template(
            "{bar:24} {pos}/{len} workgroups, {eta} left {msg}",
        ) {
            self.bar.set_style(style);
        }
    }
    fn workgroup(&mut self, done: u64) {
        self.done = done;
        self.bar.set_position(done);
    }
    fn instructions(&mut self, done: u64, bound: u64) {
        let text = format!("({done} of at most {bound} warp instructions)");
        if self.bar.is_hidden() && self.told.elapsed() >= EVERY {
            self.told = Instant::now();
            let all = self.bar.length().unwrap_or(0);
            eprintln!("lockstep: {} of {all} workgroups {text}", self.done);
        }
        self.bar.set_message(text);
    }
}

fn import(args: &ProfileImportArgs) -> Result<u8, CliError> {
    if let (Some(raw), Some(map)) = (&args.counters, &args.map)
        && let Ok(read) = host::read(map)
        && let Some(probes) = probes::map(&read.text)
    {
        return probes::import(args, &probes, map, raw);
    }
    let report = args.gcov.as_ref().or(args.llvm_cov.as_ref());
    if let Some(report) = report {
        let (report, source) = (report.clone(), args.source.as_ref().or(args.file.as_ref()));
        let source = source.cloned().ok_or_else(|| {
            CliError::Usage("the source that the report is about: `profile import FILE.c`".into())
        })?;
        let from = match args.gcov {
            Some(_) => counts::From::Gcov { report, source },
            None => counts::From::Llvm { report, source },
        };
        return import_from(args, &from);
    }
    let from = match (&args.counters, &args.map, &args.file) {
        (Some(raw), Some(map), _) => counts::From::Counters {
            raw: raw.clone(),
            map: map.clone(),
        },
        (.., Some(table)) => counts::From::Table(table.clone()),
        _ => {
            return Err(CliError::Usage(
                "a table name,line,executions,zeros, or --counters with --map".into(),
            ));
        }
    };
    // A table does not say of what; that is told before it is looked at.
    if args.source.is_none() && matches!(from, counts::From::Table(_)) {
        return Err(CliError::Usage(
            "--source names the file that was counted".into(),
        ));
    }
    import_from(args, &from)
}

fn import_from(args: &ProfileImportArgs, from: &counts::From) -> Result<u8, CliError> {
    let read = counts::read(from).map_err(CliError::Usage)?;
    let source = args.source.clone().or_else(|| read.source(from));
    let Some(source) = source else {
        return Err(CliError::Usage(
            "--source names the file that was counted".into(),
        ));
    };
    let mut db = Database::default();
    let file = input::open(&mut db, &source, &args.analysis)?;
    let imported = counts::import(&db, file, from, &read).map_err(CliError::Usage)?;
    for lost in &imported.lost {
        eprintln!("lockstep: {lost}");
    }
    let target = args
        .output
        .clone()
        .unwrap_or_else(|| profile::beside(&source));
    write(&target, &imported.profile)
}
