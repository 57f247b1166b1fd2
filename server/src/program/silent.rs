//! The reason why a file shows nothing: it has no function that a device executes, and nothing was met that
//! could hide one.

use super::{Language, hidden};
use crate::db::{self, Db, File};
use syntax::{FileId, Span};

/// The reason why a file has no function to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NothingShown {
    /// Blanks and comments.
    NoText,
    /// Macros, includes and other directives.
    DirectivesOnly,
    /// All declarations stand behind conditions that are false; the place of the first, and its text.
    Inactive { directive: Span, why: String },
    /// Types, constants, functions without bodies.
    NoBodies,
    /// Functions, none of which is marked for a device.
    HostOnly,
}

/// `None`: there is a function to show, or the language is none of kernels and shaders.
pub fn nothing_shown(db: &dyn Db, file: File) -> Option<NothingShown> {
    if !matches!(file.language(db), Language::Cuda | Language::Hlsl) {
        return None;
    }
    let lexed = db::lexed(db, file).as_ref()?;
    if lexed.tokens.is_empty() {
        return Some(NothingShown::NoText);
    }
    let shown = super::items_to_show(db, file);
    if shown
        .iter()
        .any(|(_, item)| item.holds(db).code && !db::rows(db, *item).is_empty())
    {
        return None;
    }
    let own = super::own_items(db, file);
    if own.iter().any(|(_, item)| item.holds(db).code) {
        return Some(NothingShown::HostOnly);
    }
    if !own.is_empty() {
        return Some(NothingShown::NoBodies);
    }
    let unit = db::unit(db, file);
    let mut regions = unit.inactive.iter().filter(|(id, _)| *id == FileId::MAIN);
    let behind = regions.find_map(|(_, region)| hidden::condition_of(lexed, *region));
    Some(match behind {
        Some((directive, why)) => NothingShown::Inactive { directive, why },
        None => NothingShown::DirectivesOnly,
    })
}
