//! Messages that the server sends of its own accord. Notifications leave in the order in which they were
//! queued; requests to the client run as detached tasks with a timeout, and whether they are answered changes
//! nothing.

use super::progress::Counted;
use super::question::{Shared, locked};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower_lsp::Client;
use tower_lsp::ls_types::request::WorkDoneProgressCreate;
use tower_lsp::ls_types::{Diagnostic, ProgressToken, Uri, WorkDoneProgressCreateParams};

/// The time that an answer of the client is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Work that takes longer shows its progress.
const LONG: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Publication {
    pub(super) uri: Uri,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) version: Option<i32>,
}

#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) client: Client,
    handle: Handle,
    publications: UnboundedSender<Publication>,
    next_token: Arc<std::sync::atomic::AtomicI32>,
}

impl Outgoing {
    pub(super) fn new(client: Client, handle: Handle) -> Self {
        let (publications, queue) = unbounded_channel();
        handle.spawn(publish(client.clone(), queue));
        Outgoing {
            client,
            handle,
            publications,
            next_token: Arc::default(),
        }
    }

    pub(super) fn publish(&self, publication: Publication) {
        // The queue is closed only when the server ends.
        let _ = self.publications.send(publication);
    }

    /// Runs a request to the client without anybody waiting for it.
    pub(super) fn detached<F, Fut>(&self, what: &'static str, request: F)
    where
        F: FnOnce(Client) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let client = self.client.clone();
        self.handle.spawn(async move {
            if tokio::time::timeout(PATIENCE, request(client))
                .await
                .is_err()
            {
                tracing::debug!("the client did not answer {what}");
            }
        });
    }

    /// Shows progress when `done` is still unset after a while, until it is set.
    pub(super) fn progress(&self, title: String, done: Arc<AtomicBool>) {
        let client = self.client.clone();
        let number = self.next_token.fetch_add(1, Ordering::Relaxed);
        self.handle.spawn(async move {
            tokio::time::sleep(LONG).await;
            if done.load(Ordering::Acquire) {
                return;
            }
            let name = format!("lockstep-{number}");
            let Some(token) = created(&client, &name).await else {
                return;
            };
            let progress = client.progress(token, title).begin().await;
            while !done.load(Ordering::Acquire) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            progress.finish().await;
        });
    }
}

/// The time between two reports on a run's progress.
const BEAT: Duration = Duration::from_millis(100);

impl Outgoing {
    /// Shows how far a run is, with a button to cancel it, until it is over.
    pub(super) fn counted(&self, title: String, run: Arc<Counted>, shared: Arc<Shared>) {
        if !shared.shows_progress() {
            return;
        }
        let client = self.client.clone();
        let number = self.next_token.fetch_add(1, Ordering::Relaxed);
        self.handle.spawn(async move {
            tokio::time::sleep(BEAT).await;
            if run.over.load(Ordering::Acquire) {
                return;
            }
            let name = format!("lockstep-{number}");
            let Some(token) = created(&client, &name).await else {
                return;
            };
            locked(&shared.runs).insert(name.clone(), Arc::clone(&run));
            let progress = client
                .progress(token, title)
                .with_percentage(0)
                .with_cancel_button()
                .begin()
                .await;
            let mut last = 0;
            while !run.over.load(Ordering::Acquire) {
                tokio::time::sleep(BEAT).await;
                let now = run.percent();
                if now != last {
                    progress.report(now, Some(true)).await;
                    last = now;
                }
            }
            locked(&shared.runs).remove(&name);
            progress.finish().await;
        });
    }
}

/// The client's place for a progress. `None`: it gave none in time.
async fn created(client: &Client, name: &str) -> Option<ProgressToken> {
    let token = ProgressToken::String(name.to_owned());
    let params = WorkDoneProgressCreateParams {
        token: token.clone(),
    };
    let create = client.send_request::<WorkDoneProgressCreate>(params);
    matches!(tokio::time::timeout(PATIENCE, create).await, Ok(Ok(()))).then_some(token)
}

async fn publish(client: Client, mut queue: UnboundedReceiver<Publication>) {
    while let Some(Publication {
        uri,
        diagnostics,
        version,
    }) = queue.recv().await
    {
        client.publish_diagnostics(uri, diagnostics, version).await;
    }
}
