//! Counts of IA-64 assembly with probes, beside the file that they are of.

use super::zeros::profile_path;
use crate::db::{self, Db, File};
use crate::profile::readings::{Readings, parse};
use crate::profile::{LARGEST_PROFILE, beside, probes};
use crate::program;
use std::path::PathBuf;
use std::sync::Arc;

/// The counts of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileReadings {
    /// There are none.
    Missing,
    /// There is something else, at this path.
    Unusable(PathBuf, Arc<str>),
    /// They are of the file before it changed.
    Changed(PathBuf),
    Read(PathBuf, Arc<Readings>),
}

/// A text that may hold counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadingsText {
    Missing,
    Unusable(Arc<str>),
    Read(Arc<Readings>),
}

/// A file as counts.
pub fn readings_text(db: &dyn Db, file: File) -> ReadingsText {
    let text = match file.source(db) {
        db::Source::Text { text, .. } => text,
        db::Source::Unusable(reason) => return ReadingsText::Unusable(Arc::clone(reason)),
        db::Source::Missing => return ReadingsText::Missing,
    };
    if text.len() as u64 > LARGEST_PROFILE {
        return ReadingsText::Unusable(format!("{} bytes are too many", text.len()).into());
    }
    match parse(text) {
        Ok(read) => ReadingsText::Read(Arc::new(read)),
        Err(error) => ReadingsText::Unusable(error.into()),
    }
}

/// The counts of assembly, from where a profile of the file would be.
pub fn file_readings(db: &dyn Db, file: File) -> FileReadings {
    let Some(path) = profile_path(db, file) else {
        return FileReadings::Missing;
    };
    match db::readings_text(db, db.file(&path)) {
        ReadingsText::Missing => FileReadings::Missing,
        // One profile may be configured for a directory; it need not be of assembly.
        ReadingsText::Unusable(_) if path != beside(file.path(db)) => FileReadings::Missing,
        ReadingsText::Unusable(reason) => FileReadings::Unusable(path, Arc::clone(reason)),
        ReadingsText::Read(read) => {
            let text = program::text(file.source(db));
            match probes::sum(text) == read.source {
                true => FileReadings::Read(path, Arc::clone(read)),
                false => FileReadings::Changed(path),
            }
        }
    }
}
