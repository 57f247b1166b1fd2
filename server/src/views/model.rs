//! The values that views give: hovers, hints, diagnostics, actions. Plain data: the code that shows them and
//! the code that makes them both know them, and not each other.

use super::compared::Codes;
use crate::config::Level;
use crate::db::File;
use facts::Code;
use syntax::Span;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hover {
    pub span: Span,
    pub markdown: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    pub offset: u32,
    pub label: String,
    /// The category of the most important remark.
    pub category: Category,
    /// The place whose hover says more.
    pub about: u32,
}

/// The kinds of remarks, the most important first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Category {
    /// A value that a profile has seen to be zero.
    Zero,
    /// A value that, by a profile, nothing reads.
    Dead,
    /// Sectors, banks, strides.
    Access,
    /// Lanes that leave a loop in different iterations.
    Loop,
    /// Lanes that diverge at a branch.
    Branch,
    /// The number of times that a side of a branch is taken.
    Side,
    /// The class or form of a variable.
    Value,
    /// Registers, where most are live.
    Registers,
    /// Estimated cycles.
    Cost,
}

/// A diagnostic, ready to be shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    pub code: &'static str,
    pub level: Level,
    pub span: Span,
    pub message: String,
    pub related: Vec<Related>,
    pub fix: Option<FileFix>,
    /// The text of the item, for fingerprints.
    pub item: String,
    /// The finding of the analysis, with a documentation page.
    pub finding: Option<Code>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Related {
    pub file: File,
    pub span: Span,
    pub text: String,
}

/// A note on code for processors with explicit groups, of assembly or of C.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    pub code: &'static str,
    pub level: Level,
    /// The function that it is about; may be empty.
    pub item: String,
    pub span: Span,
    pub message: String,
    /// Another place, and its role.
    pub other: Option<(Span, &'static str)>,
}

/// A mend in the file itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFix {
    pub title: String,
    pub edits: Vec<(Span, String)>,
    pub safe: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// Stable: `apply` takes it.
    pub id: String,
    pub title: String,
    pub kind: ActionKind,
    pub preferred: bool,
    pub what: Doing,
    /// Its effect, in words; the reason of a refusal.
    pub effect: String,
    /// The diagnostic that it answers.
    pub diagnostic: Option<Diagnostic>,
    /// A refusal that says nothing an author would want to read in an editor.
    pub quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionKind {
    QuickFix,
    /// Asked for by the author, at a place without a finding.
    Rewrite,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Doing {
    /// In this file; spans in bytes, not overlapping.
    Edit(Vec<(Span, String)>),
    /// The finding goes into the baseline file.
    Baseline {
        fingerprint: String,
    },
    /// A kernel of PTX is rewritten so that the assembler spills less of it in so many registers; the assembler judges, so that the
    /// edit is made when it is asked for.
    SpillLess {
        kernel: String,
        registers: u16,
    },
    /// A page about the place is opened.
    Machines,
    /// Two codes of the function there are shown.
    Codes(Codes),
    Refused {
        reason: String,
    },
}

impl Action {
    /// A rewrite that is refused until its effect is known.
    pub(super) fn rewrite(id: &str, title: String) -> Action {
        Action {
            id: id.to_owned(),
            title,
            kind: ActionKind::Rewrite,
            preferred: false,
            what: Doing::Refused {
                reason: String::new(),
            },
            effect: String::new(),
            diagnostic: None,
            quiet: false,
        }
    }
}

/// A text with edits made.
pub fn edited(source: &str, edits: &[(Span, String)]) -> Option<String> {
    codegen::specialize::source::rewritten(source, edits)
}

pub(super) fn numbered(actions: &[Action], id: String) -> String {
    let taken = |candidate: &str| actions.iter().any(|action| action.id == candidate);
    if !taken(&id) {
        return id;
    }
    (2..)
        .map(|number| format!("{id}-{number}"))
        .find(|candidate| !taken(candidate))
        .unwrap_or(id)
}
