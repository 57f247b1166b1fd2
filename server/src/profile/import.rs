//! Profiles from counts that others made: a table `name,line,executions,zeros`, and the counters of instrumented code
//! with the map that was written with it.

use super::{place_of, set_lines};
use crate::db::{self, Database, File, Item};
use crate::program::own_items;
use facts::values::record::recordable;
use facts::values::stored::{Origin, StoredItem, StoredProfile, code_hash, hex, stored_item};
use ir::{BindingKind, Function, Site, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rows of a table, or counters.
const MOST_ROWS: usize = 1_000_000;
pub const MAP_FORMAT: &str = "lockstep counter map";
pub const MAP_VERSION: u32 = 1;

/// The meaning of the counters of instrumented code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CounterMap {
    /// `MAP_FORMAT`.
    pub format: String,
    pub version: u32,
    /// The file that was instrumented, and the hash of its text.
    pub file: String,
    pub hash: String,
    /// The buffer or variable that holds the counters.
    pub buffer: String,
    /// Bytes of a counter, little-endian: 4 or 8.
    pub width: u32,
    /// In the order of the counters: executions and zeros of each.
    pub sites: Vec<CounterSite>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CounterSite {
    pub item: String,
    pub ordinal: u32,
    /// `code_hash` of the function, 16 hexadecimal digits.
    pub code: String,
    /// The values of the function that are tested together.
    pub values: Vec<u32>,
    /// The name for people.
    pub name: String,
    pub line: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImportError {
    #[error("line {line}: {message}")]
    Row { line: usize, message: String },
    #[error("{0}")]
    Map(String),
    #[error("{found} counters; the map has {wanted}")]
    Count { found: usize, wanted: usize },
}

/// An imported profile, and the rows that mean nothing in this source.
#[derive(Clone, PartialEq, Debug)]
pub struct Imported {
    pub profile: StoredProfile,
    pub lost: Vec<String>,
}

/// Values that were tested together, their executions and zeros.
type Counted = (Vec<Value>, u64, u64);

struct Row {
    name: String,
    /// From 1.
    line: u32,
    executions: u64,
    zeros: u64,
    at: usize,
}

fn rows(text: &str) -> Result<Vec<Row>, ImportError> {
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = number + 1;
        let fail = |message: String| ImportError::Row { line: at, message };
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = line
            .split(',')
            .map(|cell| cell.trim().trim_matches('"'))
            .collect();
        let head = number == 0
            && cells
                .get(1)
                .is_some_and(|cell| cell.parse::<u64>().is_err());
        if head {
            if cells.get(..4) != Some(&["name", "line", "executions", "zeros"]) {
                return Err(fail("the columns are name,line,executions,zeros".into()));
            }
            continue;
        }
        let [name, line, executions, zeros] = cells[..] else {
            return Err(fail(format!(
                "{} columns, not name,line,executions,zeros",
                cells.len()
            )));
        };
        let count = |cell: &str| -> Result<u64, ImportError> {
            cell.parse().map_err(|_| {
                fail(format!(
                    "`{}` is no count",
                    cell.chars().take(40).collect::<String>()
                ))
            })
        };
        let row = Row {
            name: name.to_owned(),
            line: u32::try_from(count(line)?)
                .map_err(|_| fail(format!("there is no line {line}")))?,
            executions: count(executions)?,
            zeros: count(zeros)?,
            at,
        };
        if row.zeros > row.executions {
            return Err(fail(format!(
                "{} zeros of {} executions",
                row.zeros, row.executions
            )));
        }
        rows.push(row);
        if rows.len() > MOST_ROWS {
            return Err(fail(format!("more than {MOST_ROWS} rows")));
        }
    }
    Ok(rows)
}

/// The functions of a file's own items.
pub(super) fn functions(db: &Database, file: File) -> Vec<(Item<'_>, usize)> {
    let mut found = Vec::new();
    for (_, item) in own_items(db, file) {
        if item.holds(db).code {
            let count = db::lowered(db, item).len();
            found.extend((0..count).map(|number| (item, number)));
        }
    }
    found
}

pub(super) fn function_of(
    lowered: &[ir::lower::c_family::Lowered],
    number: usize,
) -> Option<&Function> {
    lowered
        .get(number)?
        .module
        .functions
        .first()
        .filter(|function| !function.layout.is_empty())
}

/// Reads a table of counts of a source.
pub fn csv(db: &Database, file: File, text: &str, warp_size: u32) -> Result<Imported, ImportError> {
    let rows = rows(text)?;
    let mut used = vec![false; rows.len()];
    let mut items: Vec<StoredItem> = Vec::new();
    for (item, number) in functions(db, file) {
        let lowered = db::lowered(db, item);
        let Some(function) = function_of(lowered, number) else {
            continue;
        };
        let start = item.place(db).start;
        let lines = db::line_index(db, file);
        let mut counted: Vec<Counted> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            if used[at] {
                continue;
            }
            let (plain, component) = match row.name.rsplit_once('.') {
                Some((plain, component)) if component.len() == 1 => (
                    plain,
                    "xyzw".find(component).or_else(|| "rgba".find(component)),
                ),
                _ => (row.name.as_str(), None),
            };
            let binding = function.bindings.iter().find(|binding| {
                binding.loc.site == Site(0)
                    && binding.kind != BindingKind::Read
                    && !binding.values.is_empty()
                    && function.variables[binding.variable].name == plain
                    && lines.line_column(start + binding.loc.span.start).0 + 1 == row.line
            });
            let Some(binding) = binding else {
                continue;
            };
            let values: Vec<Value> = match component {
                Some(component) => binding.values.get(component).copied().into_iter().collect(),
                None => binding.values.to_vec(),
            };
            let values: Vec<Value> = values
                .into_iter()
                .filter(|&value| recordable(function, value))
                .collect();
            if !values.is_empty() && values.len() <= 16 {
                used[at] = true;
                counted.push((values, row.executions, row.zeros));
            }
        }
        if !counted.is_empty() {
            items.push(item_from(db, file, item, function, &counted));
        }
    }
    let lost = rows
        .iter()
        .zip(&used)
        .filter(|&(_, &used)| !used)
        .map(|(row, _)| {
            format!(
                "row {}: nothing named `{}` is written on line {}",
                row.at, row.name, row.line
            )
        })
        .collect();
    Ok(Imported {
        profile: profile_of(db, file, items, "import", warp_size),
        lost,
    })
}

/// Reads a map.
pub fn map(text: &str) -> Result<CounterMap, ImportError> {
    let map: CounterMap = serde_json::from_str(text)
        .map_err(|error| ImportError::Map(format!("not a counter map: {error}")))?;
    if map.format != MAP_FORMAT || map.version != MAP_VERSION {
        return Err(ImportError::Map(format!(
            "not a counter map of version {MAP_VERSION}: `{}`, version {}",
            map.format.chars().take(60).collect::<String>(),
            map.version
        )));
    }
    if !matches!(map.width, 4 | 8) || map.sites.len() > MOST_ROWS {
        return Err(ImportError::Map(
            "a counter has 4 or 8 bytes, and there are at most a million places".into(),
        ));
    }
    Ok(map)
}

/// Counters from a file: binary where the size is right, else numbers in text.
pub fn counters(bytes: &[u8], map: &CounterMap) -> Result<Vec<u64>, ImportError> {
    numbers(bytes, map.sites.len() * 2, map.width)
}

/// Reads so many numbers of so many bytes, or as many in text.
pub(super) fn numbers(bytes: &[u8], wanted: usize, width: u32) -> Result<Vec<u64>, ImportError> {
    let width = width as usize;
    if bytes.len() == wanted * width {
        let word = |chunk: &[u8]| {
            chunk
                .iter()
                .rev()
                .fold(0u64, |word, &byte| word << 8 | u64::from(byte))
        };
        return Ok(bytes.chunks_exact(width).map(word).collect());
    }
    let text = std::str::from_utf8(bytes).unwrap_or("");
    let numbers: Result<Vec<u64>, _> = text
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
        .map(str::parse)
        .collect();
    match numbers {
        Ok(numbers) if numbers.len() == wanted => Ok(numbers),
        Ok(numbers) if !numbers.is_empty() => Err(ImportError::Count {
            found: numbers.len(),
            wanted,
        }),
        _ => Err(ImportError::Map(format!(
            "{} bytes are neither {wanted} counters of {width} bytes nor as many numbers in text",
            bytes.len()
        ))),
    }
}

/// A profile from counters of instrumented code.
pub fn counted(
    db: &Database,
    file: File,
    map: &CounterMap,
    counters: &[u64],
    warp_size: u32,
) -> Result<Imported, ImportError> {
    let mut by_item: BTreeMap<(&str, u32, &str), Vec<Counted>> = BTreeMap::new();
    for (site, pair) in map.sites.iter().zip(counters.chunks_exact(2)) {
        if pair[1] > pair[0] {
            return Err(ImportError::Map(format!(
                "`{}` on line {}: {} zeros of {} executions; were the counters cleared before the run?",
                site.name, site.line, pair[1], pair[0]
            )));
        }
        let values = site.values.iter().map(|&value| Value(value)).collect();
        by_item
            .entry((&site.item, site.ordinal, &site.code))
            .or_default()
            .push((values, pair[0], pair[1]));
    }
    let mut items = Vec::new();
    let mut lost = Vec::new();
    for ((name, ordinal, code), counts) in by_item {
        let found = functions(db, file).into_iter().find_map(|(item, number)| {
            let lowered = db::lowered(db, item);
            let function = function_of(lowered, number)?;
            (function.name == name
                && item.ordinal(db) == ordinal
                && hex(code_hash(function)) == code)
                .then(|| {
                    let known = |(values, ..): &&Counted| {
                        values
                            .iter()
                            .all(|value| (value.0 as usize) < function.values.len())
                    };
                    let counts: Vec<_> = counts.iter().filter(known).cloned().collect();
                    item_from(db, file, item, function, &counts)
                })
        });
        match found {
            Some(item) => items.push(item),
            None => lost.push(format!("`{name}` has changed since it was instrumented, or is gone: its {} counts are left out", counts.len())),
        }
    }
    Ok(Imported {
        profile: profile_of(db, file, items, "instrumented", warp_size),
        lost,
    })
}

fn item_from(
    db: &Database,
    file: File,
    item: Item<'_>,
    function: &Function,
    counted: &[Counted],
) -> StoredItem {
    let positions = |loc| place_of(db, file, item, function, loc);
    let mut stored = stored_item(function, item.ordinal(db), counted, &positions);
    set_lines(db, file, item, function, &mut stored);
    stored
}

pub(super) fn profile_of(
    db: &Database,
    file: File,
    mut items: Vec<StoredItem>,
    kind: &str,
    warp_size: u32,
) -> StoredProfile {
    items.sort_by(|a, b| (&a.name, a.ordinal).cmp(&(&b.name, b.ordinal)));
    let name = file
        .path(db)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    StoredProfile {
        origin: Origin {
            kind: kind.into(),
            ..Origin::default()
        },
        items,
        ..StoredProfile::new(&name, crate::program::text(file.source(db)), warp_size)
    }
}
