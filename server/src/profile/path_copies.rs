//! A file that counts the ways that lanes take, and the profile that its counters make.
//!
//! A map says which counters are those of which function: one for each of its paths, in the order of their
//! numbers. The same code has the same numbers, so that the meaning of a counter is found again if the code
//! is the one that was copied.

use super::import::{ImportError, Imported, function_of, functions, profile_of};
use super::instrument::InstrumentError;
use super::set_lines;
use crate::db::{self, Database, File, Item};
use crate::program::{self, Body, Language, own_items};
use codegen::instrument::paths::{Left, PathPlan, Refusal, ptx, source};
use codegen::instrument::{COUNTERS, inserted};
use facts::paths::{PathGraph, PathNumbers, PathProfile};
use facts::values::stored::{code_hash, hex, path_item, text_hash};
use ir::Function;
use serde::{Deserialize, Serialize};
use syntax::Span;
use syntax::c_family::token::FROM_MACRO;

pub const PATH_FORMAT: &str = "lockstep path map";
const PATH_VERSION: u32 = 1;
/// Counters of a file.
const MOST_COUNTERS: u64 = 1 << 20;

/// The meaning of the counters of a copy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PathMap {
    /// `PATH_FORMAT`.
    pub format: String,
    pub version: u32,
    /// The file that was copied, and the hash of its text.
    pub file: String,
    pub hash: String,
    /// The buffer or variable that holds the counters.
    pub buffer: String,
    /// Bytes of a counter, little-endian: 4 or 8.
    pub width: u32,
    pub counters: u64,
    pub functions: Vec<PathFunction>,
}

/// A function whose paths are counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PathFunction {
    pub item: String,
    pub ordinal: u32,
    /// `code_hash` of the function, 16 hexadecimal digits.
    pub code: String,
    /// From 1.
    pub line: u32,
    /// The counter of its first path, and how many paths it has.
    pub first: u64,
    pub paths: u64,
}

/// A text that counts, and its map.
#[derive(Clone, PartialEq, Debug)]
pub struct CountedPaths {
    pub text: String,
    pub map: PathMap,
    /// Functions that are not counted.
    pub left: Vec<Left>,
}

/// The insertions and counts of a file.
#[derive(Default)]
struct Copy {
    insertions: Vec<(u32, String)>,
    helpers: String,
    branches: usize,
    counters: u64,
    functions: Vec<PathFunction>,
    left: Vec<Left>,
}

/// Puts counters of paths into a file, of one function or of all its own.
///
/// # Errors
/// The language has none, or nothing is counted.
pub fn instrument(
    db: &Database,
    file: File,
    only: Option<&str>,
) -> Result<CountedPaths, InstrumentError> {
    let text = program::text(file.source(db));
    let language = match file.language(db) {
        Language::Cuda => ir::Language::Cuda,
        Language::Hlsl => ir::Language::Hlsl,
        Language::Ptx => ir::Language::Ptx,
        Language::C => ir::Language::C,
        _ => return Err(InstrumentError::PathLanguage),
    };
    let mut copy = Copy::default();
    let mut first_function = None;
    let mut known = Vec::new();
    for (place, item) in own_items(db, file) {
        if !item.holds(db).code {
            continue;
        }
        first_function = first_function.or(Some(place.start));
        let Some(own) = text.get(place.start as usize..place.end as usize) else {
            continue;
        };
        let lowered = db::lowered(db, item);
        let mut seen: Vec<Span> = Vec::new();
        for number in 0..lowered.len() {
            let Some(function) = function_of(lowered, number) else {
                continue;
            };
            let short = function.name.rsplit("::").next().unwrap_or(&function.name);
            if only.is_some_and(|only| only != function.name && only != short) {
                known.push(short.to_owned());
                continue;
            }
            if seen.contains(&function.span) {
                continue;
            }
            seen.push(function.span);
            let all = (0..lowered.len()).filter_map(|number| function_of(lowered, number));
            let instances = all.filter(|other| other.span == function.span).count();
            let done = match instances {
                1 => count_function(db, file, item, function, own, &mut copy),
                _ => Err(Refusal::Template),
            };
            if let Err(refusal) = done {
                copy.left.push(Left {
                    function: function.name.to_string(),
                    refusal,
                });
            }
        }
    }
    if copy.functions.is_empty() {
        let reasons: Vec<String> = copy.left.iter().map(Left::to_string).collect();
        let list = match (known.is_empty(), reasons.is_empty()) {
            (_, false) => format!("; {}", reasons.join("; ")),
            (false, _) => format!("; functions are: {}", known.join(", ")),
            _ => String::new(),
        };
        return Err(InstrumentError::Nothing(list));
    }
    let width = match language {
        ir::Language::Hlsl => 4,
        _ => 8,
    };
    match language {
        ir::Language::Ptx => {
            let declaration = ptx::declaration(copy.counters);
            copy.insertions
                .push((first_function.unwrap_or(0), declaration));
        }
        _ => {
            let declaration = source::declaration(language, copy.counters);
            let head = format!("{declaration}{}\n", copy.helpers);
            copy.insertions.insert(0, (0, head));
        }
    }
    let name = file
        .path(db)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    Ok(CountedPaths {
        text: inserted(text, &copy.insertions),
        map: PathMap {
            format: PATH_FORMAT.into(),
            version: PATH_VERSION,
            file: name.into_owned(),
            hash: hex(text_hash(text)),
            buffer: COUNTERS.into(),
            width,
            counters: copy.counters,
            functions: copy.functions,
        },
        left: copy.left,
    })
}

/// Counts a function of an item whose text is given.
fn count_function(
    db: &Database,
    file: File,
    item: Item<'_>,
    function: &Function,
    text: &str,
    copy: &mut Copy,
) -> Result<(), Refusal> {
    let plan = PathPlan::new(function)?;
    let paths = plan.counters;
    if copy.counters + paths > MOST_COUNTERS {
        return Err(Refusal::Counters { paths });
    }
    let start = item.place(db).start;
    let insertions = match function.language {
        ir::Language::Ptx => ptx::instrument(function, &plan, text, copy.counters)?,
        _ => {
            let macros = macros(db, item);
            let in_macro = |span: Span| {
                let around = |used: &Span| used.start <= span.start && span.end <= used.end;
                macros.iter().any(around)
            };
            let at = (copy.counters, copy.branches);
            let parsed = db::parsed(db, item);
            let counted = source::instrument(parsed, function, &plan, text, at, &in_macro)?;
            copy.helpers.push_str(&counted.helpers);
            copy.branches += counted.branches;
            counted.insertions
        }
    };
    let placed = insertions
        .into_iter()
        .map(|(offset, new)| (start + offset, new));
    copy.insertions.extend(placed);
    copy.functions.push(PathFunction {
        item: function.name.to_string(),
        ordinal: item.ordinal(db),
        code: hex(code_hash(function)),
        line: db::line_index(db, file)
            .line_column(start + function.name_span.start)
            .0
            + 1,
        first: copy.counters,
        paths,
    });
    copy.counters += paths;
    Ok(())
}

/// The places of an item that macros spell.
fn macros(db: &Database, item: Item<'_>) -> Vec<Span> {
    let Body::Tokens { tokens, .. } = item.body(db) else {
        return Vec::new();
    };
    let used = tokens.iter().filter(|token| token.has(FROM_MACRO));
    used.map(|token| token.span).collect()
}

/// A text as a map of paths; `None` where it is another map.
#[must_use]
pub fn map(text: &str) -> Option<Result<PathMap, ImportError>> {
    let whole: serde_json::Value = serde_json::from_str(text).ok()?;
    if whole["format"] != PATH_FORMAT {
        return None;
    }
    let wrong = |message: String| Err(ImportError::Map(message));
    let map: PathMap = match serde_json::from_value(whole) {
        Ok(map) => map,
        Err(error) => return Some(wrong(format!("not a path map: {error}"))),
    };
    let inside = |function: &PathFunction| {
        let end = function.first.checked_add(function.paths);
        end.is_some_and(|end| end <= map.counters)
    };
    Some(match () {
        () if map.version != PATH_VERSION => {
            wrong(format!("not a path map of version {PATH_VERSION}"))
        }
        () if !matches!(map.width, 4 | 8) || map.counters > MOST_COUNTERS => {
            wrong("a counter has 4 or 8 bytes, and there are at most 2^20 of them".into())
        }
        () if !map.functions.iter().all(inside) => {
            wrong("a function has counters that are none".into())
        }
        () => Ok(map),
    })
}

/// A profile from the counters of a copy.
pub fn counted(
    db: &Database,
    file: File,
    map: &PathMap,
    counters: &[u64],
    warp_size: u32,
) -> Imported {
    let (mut items, mut lost) = (Vec::new(), Vec::new());
    for (item, number) in functions(db, file) {
        let lowered = db::lowered(db, item);
        let Some(function) = function_of(lowered, number) else {
            continue;
        };
        let mut all = map.functions.iter();
        let Some(known) =
            all.find(|known| known.item == *function.name && known.ordinal == item.ordinal(db))
        else {
            continue;
        };
        let numbers = PathNumbers::new(PathGraph::of(function)).ok();
        let numbers = numbers.filter(|numbers| {
            known.code == hex(code_hash(function)) && numbers.count() == known.paths
        });
        let Some(numbers) = numbers else {
            lost.push(format!(
                "`{}` has changed since it was instrumented: its counts are left out",
                known.item
            ));
            continue;
        };
        let mut profile = PathProfile::default();
        let own = counters
            .iter()
            .skip(known.first as usize)
            .take(known.paths as usize);
        for (path, &count) in own.enumerate().filter(|(_, count)| **count > 0) {
            profile.counts.insert(path as u64, count);
        }
        let lanes = function.language != ir::Language::C;
        let mut stored = path_item(function, item.ordinal(db), &numbers, &profile, lanes);
        set_lines(db, file, item, function, &mut stored);
        items.push(stored);
    }
    let gone = map.functions.iter().filter(|known| {
        !functions(db, file).into_iter().any(|(item, number)| {
            let function = function_of(db::lowered(db, item), number);
            function.is_some_and(|function| function.name == known.item)
        })
    });
    lost.extend(gone.map(|known| format!("`{}` is gone: its counts are left out", known.item)));
    let warp_size = match file.language(db) {
        Language::C => 1,
        _ => warp_size,
    };
    Imported {
        profile: profile_of(db, file, items, "instrumented", warp_size),
        lost,
    }
}
