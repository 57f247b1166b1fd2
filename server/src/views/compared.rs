//! Two codes of a function of C side by side, without an edit between them.

use super::{guided, spilled};
use crate::db::{Db, File};
use smol_str::SmolStr;

/// The codes that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codes {
    /// With the spills that the allocator asks for, and with those reduced.
    Spills,
    /// As it is, and as the profile of the file has it transformed.
    Profile,
}

/// Both codes of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct CodeChange {
    pub function: SmolStr,
    pub target: String,
    /// The beginning of a comment in them.
    pub comment: &'static str,
    /// What the second gains.
    pub difference: String,
    pub names: [&'static str; 2],
    pub before: String,
    pub after: String,
}

impl CodeChange {
    /// The lines that differ, as `diff -u` has them.
    #[must_use]
    pub fn unified(&self) -> String {
        let names = self.names.map(|how| format!("{}: {how}", self.function));
        let diff = similar::TextDiff::from_lines(&self.before, &self.after);
        let text = diff.unified_diff().header(&names[0], &names[1]).to_string();
        format!(
            "{} {} ({}, estimate)\n{text}",
            self.comment, self.difference, self.target
        )
    }
}

/// Both codes of the function at a place, if they differ.
pub fn change(db: &dyn Db, file: File, offset: u32, codes: Codes) -> Option<CodeChange> {
    match codes {
        Codes::Spills => spilled::reduced::change(db, file, offset),
        Codes::Profile => guided::change(db, file, offset),
    }
}
