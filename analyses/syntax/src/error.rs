//! Problems of a text. A front end returns its tree *and* these; it never stops at one.

use crate::source::{FileId, Span};

/// The way in which a problem is shown. Broken source is normal input: only what a specification forbids is
/// an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The grammar is violated: an error in the editor.
    Syntax,
    /// A name, type or overload that can't be resolved, a construct that this front end does not understand:
    /// the facts below it are conservative. A warning or a hint, never an error.
    Unsupported,
    /// An include that was not found. A hint; its declarations are unknown.
    MissingInclude,
    /// A limit was reached (nesting, expansion, size); text beyond it is unknown.
    Limit,
    /// Nothing is wrong and nothing is beyond this front end, but the facts rest on the assumption in the
    /// message: a template parameter that nothing determines, a function whose definition is in no file at
    /// hand. A hint.
    Note,
}

/// A problem at a place. The span is relative to the same place as the holder's spans.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Problem {
    pub kind: ProblemKind,
    pub file: FileId,
    pub span: Span,
    pub message: String,
}

impl Problem {
    pub fn new(kind: ProblemKind, span: Span, message: impl Into<String>) -> Self {
        Problem {
            kind,
            file: FileId::MAIN,
            span,
            message: message.into(),
        }
    }
    pub fn syntax(span: Span, message: impl Into<String>) -> Self {
        Problem::new(ProblemKind::Syntax, span, message)
    }
    pub fn unsupported(span: Span, message: impl Into<String>) -> Self {
        Problem::new(ProblemKind::Unsupported, span, message)
    }
    pub fn note(span: Span, message: impl Into<String>) -> Self {
        Problem::new(ProblemKind::Note, span, message)
    }
}
