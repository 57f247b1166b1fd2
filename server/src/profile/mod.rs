//! Value profiles of files: reading and writing them, running code on described inputs to get one, counting by
//! instrumented code, importing counts.
//!
//! The data and its meaning are `facts::values::stored`; here are files, texts and their positions.

pub mod accessed;
mod beyond;
pub mod counts;
pub mod coverage;
pub mod data;
pub mod import;
pub mod inputs;
pub mod instrument;
pub mod launch;
pub mod make;
mod members;
pub mod path_copies;
pub mod predict;
pub mod probes;
pub mod readings;
pub mod record;
pub mod run;
pub mod show;
mod stage;
pub mod template;
pub mod textures;

use crate::db::{self, Db, File, Item};
use crate::host;
use crate::program;
use facts::values::stored::{Place, ProfileError, StoredItem, StoredProfile};
use ir::{Function, Loc, Site};
use std::path::{Path, PathBuf};
use syntax::FileId;

/// Bytes of a profile that are read.
pub const LARGEST_PROFILE: u64 = 64 << 20;
/// The end of the name of the profile beside a source.
pub const SUFFIX: &str = ".lockstep-profile.json";

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Read(#[from] host::ReadError),
    #[error("{path}: {error}")]
    Text { path: String, error: TextError },
}

/// The error of a text that should be a profile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextError {
    /// An error of the JSON, with the line and the column.
    #[error("not a profile: {0}")]
    Json(String),
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// Lanes of the warps that a function runs in, unless its source says: as configured; of a function of C one.
pub fn lanes_of(function: &Function, configured: u32) -> u32 {
    match function.language {
        ir::Language::C => 1,
        _ => configured,
    }
}

/// Returns where a profile is looked for when none is configured.
pub fn beside(source: &Path) -> PathBuf {
    let mut name = source.file_name().unwrap_or_default().to_owned();
    name.push(SUFFIX);
    source.with_file_name(name)
}

/// A text as a profile that makes sense.
pub fn parse(text: &str) -> Result<StoredProfile, TextError> {
    let profile: StoredProfile =
        serde_json::from_str(text).map_err(|error| TextError::Json(error.to_string()))?;
    profile.check()?;
    Ok(profile)
}

/// Reads a profile.
pub fn load(path: &Path) -> Result<StoredProfile, LoadError> {
    let bytes = host::read_bytes(path, LARGEST_PROFILE)?;
    parse(&String::from_utf8_lossy(&bytes)).map_err(|error| LoadError::Text {
        path: path.display().to_string(),
        error,
    })
}

/// Writes a profile in whole or not at all.
pub fn save(path: &Path, profile: &StoredProfile) -> Result<(), host::WriteError> {
    // Numbers and names only: there is always a text.
    let text = serde_json::to_string_pretty(profile).unwrap_or_default();
    host::write(path, format!("{text}\n").as_bytes())
}

/// The position of something in an item's function, relative to the item that it stands in.
pub fn place_of(db: &dyn Db, file: File, item: Item<'_>, function: &Function, loc: Loc) -> Place {
    let Some((id, span)) = program::absolute(db, file, item, function, loc) else {
        return Place::default();
    };
    let Some(of) = program::unit_file(db, file, id) else {
        return Place::default();
    };
    let callee = match loc.site {
        Site(0) => None,
        site => function.sites.get(site).and_then(|data| data.item.as_ref()),
    };
    let lines = db::line_index(db, of);
    let (line, column) = lines.line_column(span.start);
    let start = span.start.saturating_sub(loc.span.start);
    let (first, _) = lines.line_column(start);
    Place {
        line: line.saturating_sub(first) + 1,
        column: column + 1,
        of: callee.map(|key| key.name.to_string()),
    }
}

/// The lines of the file on which an item and the callees that it inlines begin.
pub fn set_lines(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
    stored: &mut StoredItem,
) {
    let lines = db::line_index(db, file);
    let line = |start: u32| lines.line_column(start).0 + 1;
    let place = item.place(db);
    if place.file == FileId::MAIN {
        stored.line = line(place.start);
    }
    let places = db::places(db, file);
    for key in function
        .sites
        .values()
        .filter_map(|site| site.item.as_ref())
    {
        if let Ok(at) = places.binary_search_by(|(known, _, _)| known.cmp(key))
            && places[at].1 == FileId::MAIN
        {
            stored
                .inlined
                .insert(key.name.to_string(), line(places[at].2));
        }
    }
}
