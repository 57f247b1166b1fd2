//! Counts from outside as a profile: a table, or the counters of an instrumented copy with its map; and that copy.

use super::LARGEST_PROFILE;
use super::coverage::{self, Coverage, CoverageError};
use super::import::{self, CounterMap, Imported};
use super::path_copies::{self, PathMap};
use crate::db::{Database, File};
use crate::host;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Bytes of a report of counts that are read.
const LARGEST_REPORT: u64 = 256 << 20;

/// The most reasons that are reported if no counts remain.
const MOST_REASONS: usize = 4;

/// The place of the counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum From {
    /// `name,line,executions,zeros`
    Table(PathBuf),
    Counters {
        raw: PathBuf,
        map: PathBuf,
    },
    /// A report of gcov about a source.
    Gcov {
        report: PathBuf,
        source: PathBuf,
    },
    /// The report of `llvm-cov export` about a source.
    Llvm {
        report: PathBuf,
        source: PathBuf,
    },
}

/// Counts that were read.
#[derive(Clone, Debug)]
pub enum Counts {
    Table(String),
    Counters(CounterMap, Vec<u64>),
    Coverage(Coverage),
    Paths(PathMap, Vec<u64>),
}

/// The error is for people and names the file.
pub fn read(from: &From) -> Result<Counts, String> {
    match from {
        From::Table(table) => {
            let text = host::read(table).map_err(|error| error.to_string())?.text;
            Ok(Counts::Table(text))
        }
        From::Counters { raw, map } => {
            let text = host::read(map).map_err(|error| error.to_string())?.text;
            let named = |error| format!("{}: {error}", map.display());
            if let Some(read) = path_copies::map(&text) {
                let read = read.map_err(named)?;
                let bytes =
                    host::read_bytes(raw, LARGEST_PROFILE).map_err(|error| error.to_string())?;
                let numbers = import::numbers(&bytes, read.counters as usize, read.width)
                    .map_err(|error| format!("{}: {error}", raw.display()))?;
                return Ok(Counts::Paths(read, numbers));
            }
            let read = import::map(&text).map_err(|error| format!("{}: {error}", map.display()))?;
            let bytes =
                host::read_bytes(raw, LARGEST_PROFILE).map_err(|error| error.to_string())?;
            let numbers = import::counters(&bytes, &read)
                .map_err(|error| format!("{}: {error}", raw.display()))?;
            Ok(Counts::Counters(read, numbers))
        }
        From::Gcov { report, source } => reported(report, source, coverage::gcov),
        From::Llvm { report, source } => reported(report, source, coverage::llvm),
    }
}

fn reported(
    report: &Path,
    source: &Path,
    read: fn(&[u8], &Path) -> Result<Coverage, CoverageError>,
) -> Result<Counts, String> {
    let bytes = host::read_bytes(report, LARGEST_REPORT).map_err(|error| error.to_string())?;
    let found = read(&bytes, source).map_err(|error| format!("{}: {error}", report.display()))?;
    Ok(Counts::Coverage(found))
}

impl From {
    /// The file that holds the numbers.
    pub fn path(&self) -> &Path {
        match self {
            From::Table(path)
            | From::Counters { raw: path, .. }
            | From::Gcov { report: path, .. }
            | From::Llvm { report: path, .. } => path,
        }
    }
}

impl Counts {
    /// The source that a map names, beside the map.
    pub fn source(&self, from: &From) -> Option<PathBuf> {
        match (self, from) {
            (Counts::Counters(CounterMap { file, .. }, _), From::Counters { map, .. })
            | (Counts::Paths(PathMap { file, .. }, _), From::Counters { map, .. }) => {
                Some(map.parent().unwrap_or(Path::new("")).join(file))
            }
            (_, From::Gcov { source, .. } | From::Llvm { source, .. }) => Some(source.clone()),
            _ => None,
        }
    }
}

/// The profile of a file, with the counts that are not in it any more. The error is for people.
pub fn import(db: &Database, file: File, from: &From, counts: &Counts) -> Result<Imported, String> {
    let warp_size = crate::program::settings(db, file)
        .analysis(db)
        .options
        .warp_size;
    let place = from.path().display();
    let imported = match counts {
        Counts::Coverage(coverage) => {
            let found = coverage::import(db, file, coverage);
            found.map_err(|error| import::ImportError::Map(error.to_string()))
        }
        Counts::Paths(map, numbers) => Ok(path_copies::counted(db, file, map, numbers, warp_size)),
        Counts::Table(text) => import::csv(db, file, text, warp_size),
        Counts::Counters(map, numbers) => import::counted(db, file, map, numbers, warp_size),
    };
    let mut imported = imported.map_err(|error| format!("{place}: {error}"))?;
    if imported.profile.items.is_empty() {
        let name = file.path(db).file_name().unwrap_or_default();
        let why = imported.lost.iter().map(|lost| format!("; {lost}"));
        let why: String = why.take(MOST_REASONS).collect();
        return Err(format!(
            "{place}: nothing of it is in {}{why}",
            name.to_string_lossy()
        ));
    }
    let name = from.path().file_name().unwrap_or_default();
    imported.profile.origin.inputs = name.to_string_lossy().into_owned();
    Ok(imported)
}

/// `k.counted.cu` of `k.cu`: where an instrumented copy goes.
pub fn copy_beside(source: &Path) -> PathBuf {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    // The end of the name tells that it is assembly of IA-64.
    if let Some(stem) = name.strip_suffix(".ia64.s") {
        return source.with_file_name(format!("{stem}.counted.ia64.s"));
    }
    let own = source.extension().unwrap_or_default().to_string_lossy();
    source.with_extension(format!("counted.{own}"))
}

/// `k.counted.map.json` of `k.counted.cu`: where its map goes.
pub fn map_beside(copy: &Path) -> PathBuf {
    copy.with_extension("map.json")
}

/// Writes an instrumented copy and its map. The error is for people.
pub fn write_copy(
    copied: &str,
    counted: &impl Serialize,
    copy: &Path,
    map: &Path,
) -> Result<(), String> {
    let text = serde_json::to_string_pretty(counted).map_err(|error| error.to_string())?;
    let write = |path: &Path, text: &str| {
        host::write(path, text.as_bytes()).map_err(|error| error.to_string())
    };
    write(copy, copied)?;
    write(map, &format!("{text}\n"))
}
