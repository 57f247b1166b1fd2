//! Figures of an assembler for the code of open documents: a thread with at most one process at a time, whose
//! answers are kept by the code's fingerprint. An edit of a document ends its process and drops its pending
//! questions; nobody waits for the thread.

use super::event::Event;
use super::question::{Shared, locked};
use crate::derive::figures::{Figure, Figures, Job};
use crate::ptxas::{self, PtxasError};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Answers that are kept.
const KEPT: usize = 4096;

/// The number of edits of each document.
type Edits = Arc<Mutex<FxHashMap<String, u64>>>;

/// Code of a document at one of its edits.
struct Order {
    uri: String,
    edit: u64,
    tool: PathBuf,
    jobs: Vec<Job>,
}

pub(super) struct Assembler {
    orders: Sender<Order>,
    edits: Edits,
    shared: Arc<Shared>,
}

/// Leave to order figures for a document as it is now.
#[derive(Clone)]
pub(super) struct Ticket {
    orders: Sender<Order>,
    uri: String,
    edit: u64,
    tool: PathBuf,
}

impl Ticket {
    pub(super) fn order(self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let order = Order {
            uri: self.uri,
            edit: self.edit,
            tool: self.tool,
            jobs,
        };
        // The thread is gone when the server ends.
        let _ = self.orders.send(order);
    }
}

impl Assembler {
    pub(super) fn new(events: Sender<Event>, shared: Arc<Shared>) -> Assembler {
        let (orders, queue) = channel();
        let edits = Edits::default();
        let (of_thread, own) = (Arc::clone(&edits), Arc::clone(&shared));
        let work = move || run(&queue, &events, &own, &of_thread);
        let thread = std::thread::Builder::new().name("assembler".to_owned());
        if let Err(error) = thread.spawn(work) {
            tracing::error!("no thread to assemble with: {error}");
        }
        Assembler {
            orders,
            edits,
            shared,
        }
    }

    /// Takes the program that the editor's settings or the environment name; `true`: it is another one.
    pub(super) fn configure(&self, settings: &serde_json::Value) -> bool {
        let own = &settings["ptxas"];
        let path = own["path"].as_str().unwrap_or("").trim();
        let tool = match own["enabled"].as_bool() {
            Some(false) => None,
            _ => ptxas::named((!path.is_empty()).then(|| Path::new(path))),
        };
        let mut known = locked(&self.shared.assembler);
        let is_other = *known != tool;
        *known = tool;
        is_other
    }

    /// A document has changed or is closed.
    pub(super) fn changed(&self, uri: &str) {
        *locked(&self.edits).entry(uri.to_owned()).or_default() += 1;
    }

    /// `None`: there is no assembler.
    pub(super) fn ticket(&self, uri: &str) -> Option<Ticket> {
        let tool = locked(&self.shared.assembler).clone()?;
        Some(Ticket {
            orders: self.orders.clone(),
            uri: uri.to_owned(),
            edit: locked(&self.edits).get(uri).copied().unwrap_or_default(),
            tool,
        })
    }
}

fn run(queue: &Receiver<Order>, events: &Sender<Event>, shared: &Shared, edits: &Edits) {
    let mut known: Figures = Figures::default();
    let mut by = PathBuf::new();
    while let Ok(order) = queue.recv() {
        if by != order.tool {
            known.clear();
            by.clone_from(&order.tool);
        }
        if known.len() > KEPT {
            known.clear();
        }
        let stale = || {
            let now = locked(edits).get(&order.uri).copied().unwrap_or_default();
            now != order.edit || shared.was_shut_down()
        };
        for job in &order.jobs {
            let entries = job.entries.iter();
            let have = entries.clone().all(|(_, key)| known.contains_key(key));
            if !have && !take(&mut known, job, &order.tool, &stale) {
                break;
            }
            let figures = entries.map(|(_, key)| (*key, known.get(key).cloned().flatten()));
            let event = Event::Figures {
                uri: order.uri.clone(),
                figures: figures.collect(),
            };
            if stale() || events.send(event).is_err() {
                break;
            }
        }
    }
}

/// Assembles code; `false`: the result is not wanted any more.
fn take(known: &mut Figures, job: &Job, tool: &Path, stale: &dyn Fn() -> bool) -> bool {
    let found: FxHashMap<u64, Figure> = match ptxas::figures(tool, job, stale) {
        Ok(found) => found.into_iter().collect(),
        Err(PtxasError::Stopped) => return false,
        Err(error) => {
            tracing::debug!("{error}");
            FxHashMap::default()
        }
    };
    for (_, key) in &job.entries {
        known.insert(*key, found.get(key).cloned());
    }
    true
}
