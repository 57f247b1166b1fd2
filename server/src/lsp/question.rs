//! The state that the protocol's side shares with the owner, and a request on its way: asked, computed on a
//! clone of the database, answered once, cancelled when nobody waits for it any more.

use super::capabilities::ClientFeatures;
use super::event::{Snapshot, Work};
use super::progress::Counted;
use crate::db::{self, Cancelled, Database};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::{Diagnostic, SemanticToken};

/// The state that the protocol's side and the owner both look at.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) features: OnceLock<ClientFeatures>,
    pub(super) shut_down: AtomicBool,
    versions: Mutex<FxHashMap<String, i32>>,
    /// The tokens that were sent last, by document.
    pub(super) tokens: Mutex<FxHashMap<String, (String, Vec<SemanticToken>)>>,
    /// Runs that show progress, by its token.
    pub(super) runs: Mutex<FxHashMap<String, Arc<Counted>>>,
    next_result: AtomicU64,
    /// The folder of the pages that were written, which goes with the server.
    pages: Mutex<Option<tempfile::TempDir>>,
    /// The assembler that the editor's settings or the environment name.
    pub(super) assembler: Mutex<Option<std::path::PathBuf>>,
    /// The last diagnostics published, by document: the version and a fingerprint.
    published: Mutex<FxHashMap<String, (i32, u64)>>,
}

impl Shared {
    pub(super) fn was_shut_down(&self) -> bool {
        self.shut_down.load(Ordering::Acquire)
    }
    /// The folder for pages that the client opens.
    pub(super) fn pages(&self) -> std::io::Result<std::path::PathBuf> {
        let mut pages = locked(&self.pages);
        let folder = match pages.take() {
            Some(folder) => folder,
            None => tempfile::Builder::new().prefix("lockstep-").tempdir()?,
        };
        Ok(pages.insert(folder).path().to_owned())
    }
    /// Removes the pages that were written.
    pub(super) fn remove_pages(&self) {
        drop(locked(&self.pages).take());
    }
    pub(super) fn shows_progress(&self) -> bool {
        self.features().progress
    }
    pub(super) fn version(&self, uri: &str) -> Option<i32> {
        locked(&self.versions).get(uri).copied()
    }
    pub(super) fn set_version(&self, uri: &str, version: i32) {
        locked(&self.versions).insert(uri.to_owned(), version);
    }
    /// Returns true if diagnostics are those of the newest version and differ from those of the client.
    pub(super) fn is_news(&self, uri: &str, version: i32, diagnostics: &[Diagnostic]) -> bool {
        if self.version(uri) != Some(version) {
            return false;
        }
        let news = (version, fingerprint(diagnostics));
        locked(&self.published).insert(uri.to_owned(), news) != Some(news)
    }
    pub(super) fn forget(&self, uri: &str) {
        locked(&self.versions).remove(uri);
        locked(&self.tokens).remove(uri);
        locked(&self.published).remove(uri);
    }
    pub(super) fn features(&self) -> ClientFeatures {
        self.features.get().copied().unwrap_or_default()
    }
    pub(super) fn result_id(&self) -> String {
        self.next_result.fetch_add(1, Ordering::Relaxed).to_string()
    }
}

/// Locks a mutex, poisoned or not: the data behind these locks is changed by single insertions and stays
/// consistent whatever unwinds.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The state that a request and its computation share.
#[derive(Default)]
pub(super) struct QuestionState {
    cancelled: AtomicBool,
    token: Mutex<Option<salsa::CancellationToken>>,
}

pub(super) struct Question<T, F> {
    pub(super) compute: F,
    pub(super) answer: Mutex<Option<oneshot::Sender<Result<T>>>>,
    pub(super) state: Arc<QuestionState>,
}

impl<T, F> Question<T, F> {
    fn reply(&self, outcome: Result<T>) {
        if let Some(answer) = locked(&self.answer).take() {
            // Nobody listens when the request was cancelled.
            let _ = answer.send(outcome);
        }
    }
}

impl<T, F> Work for Question<T, F>
where
    T: Send + 'static,
    F: Fn(&Database, &Snapshot) -> T + Send + Sync + 'static,
{
    fn run(&self, snapshot: Snapshot) -> bool {
        use salsa::Database as _;
        *locked(&self.state.token) = Some(snapshot.db.cancellation_token());
        if self.cancelled() {
            return true;
        }
        let work = || db::catch(&snapshot.db, |db| (self.compute)(db, &snapshot));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        drop(snapshot);
        match outcome {
            Ok(Ok(answer)) => self.reply(Ok(answer)),
            Ok(Err(Cancelled::InputsChange)) => return false,
            Ok(Err(Cancelled::Unwanted)) => self.reply(Err(Error::request_cancelled())),
            Err(_) => {
                tracing::error!("a request panicked; this is a defect of Lockstep");
                self.reply(Err(Error::internal_error()));
            }
        }
        true
    }
    fn stale(&self) {
        self.reply(Err(Error::content_modified()));
    }
    fn cancelled(&self) -> bool {
        self.state.cancelled.load(Ordering::Acquire)
    }
}

/// Cancels the computation of a request whose handler is dropped.
pub(super) struct CancelOnDrop(pub(super) Arc<QuestionState>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancelled.store(true, Ordering::Release);
        if let Some(token) = locked(&self.0.token).take() {
            token.cancel();
        }
    }
}

/// Equal diagnostics have equal fingerprints.
pub(super) fn fingerprint(diagnostics: &[Diagnostic]) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    serde_json::to_vec(diagnostics)
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}
