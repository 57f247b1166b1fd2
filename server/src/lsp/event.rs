//! The events that the owner receives, in the order of the wire, and the snapshot of its state that a request
//! sees.

use crate::commands::CompileFlags;
use crate::config::ConfigProblem;
use crate::db::{Database, File};
use crate::derive::figures::Figure;
use crate::documents::{Change, Encoding};
use crate::host::names::Names;
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use std::sync::Arc;
use tower_lsp::ls_types::Uri;

/// An event that the owner receives.
pub(super) enum Event {
    Ready {
        encoding: Encoding,
        folders: Vec<PathBuf>,
        settings: serde_json::Value,
        push: bool,
        refresh: bool,
    },
    Open {
        uri: Uri,
        text: String,
        version: i32,
        language: String,
    },
    Change {
        uri: Uri,
        version: i32,
        changes: Vec<Change>,
    },
    Close {
        uri: Uri,
    },
    Settings(serde_json::Value),
    Folders {
        added: Vec<PathBuf>,
        removed: Vec<PathBuf>,
    },
    Watched(Vec<Uri>),
    /// A file that the server itself wrote.
    Written(PathBuf),
    /// A file that was late has been read.
    Arrived(PathBuf),
    /// A document was written by its editor.
    Saved(Uri),
    /// The files that may include an open one.
    Includers {
        path: PathBuf,
        found: Vec<PathBuf>,
    },
    /// The files of the project of an open one.
    Names {
        path: PathBuf,
        names: Arc<Names>,
    },
    /// The flags with which a file is compiled.
    Command {
        path: PathBuf,
        flags: Option<Box<CompileFlags>>,
    },
    Request(Request),
    /// A computation for publication was cancelled.
    Again(String),
    /// A computation for publication is over, whatever its result.
    Published,
    /// The figures of an assembler for code of a document.
    Figures {
        uri: String,
        figures: Vec<(u64, Option<Figure>)>,
    },
    AddToBaseline {
        path: PathBuf,
        entry: serde_json::Value,
    },
}

/// The work of a request, on a clone of the database.
pub(super) trait Work: Send + Sync {
    /// `false`: cancelled because inputs change; ask again.
    fn run(&self, snapshot: Snapshot) -> bool;
    /// The document changed since the request was made.
    fn stale(&self);
    fn cancelled(&self) -> bool;
}

pub(super) struct Request {
    pub(super) uri: Option<Uri>,
    /// The version of the document when the request arrived; set by the owner.
    pub(super) version: Option<i32>,
    pub(super) work: Arc<dyn Work>,
}

/// The state that a request sees.
pub(super) struct Snapshot {
    pub(super) db: Database,
    pub(super) file: Option<File>,
    pub(super) version: i32,
    pub(super) encoding: Encoding,
    /// The client has views of its own: pages of diagnostics, previews.
    pub(super) has_views: bool,
    /// The text and its problems when the document is a configuration file.
    pub(super) config: Option<(Arc<str>, Vec<ConfigProblem>)>,
    /// The names under which the client opened files.
    pub(super) uris: Arc<FxHashMap<PathBuf, Uri>>,
}
