//! The owner: one thread that holds the documents and the database and is told everything in the order of the wire.
//! Edits are made here; requests get a clone of the database and run in the pool.
//!
//! A write waits until every clone is dropped, which it hastens: computations on clones are cancelled and, as long as
//! their document did not change, asked for again. Texts are handed to the database when somebody needs them, so that a
//! burst of edits costs one copy.

mod assembled;
mod configure;

use super::assembler::Assembler;
use super::convert;
use super::event::{Event, Request, Snapshot};
use super::outgoing::{Outgoing, Publication};
use super::pool::Pool;
use super::projects::{Projects, speaks_of_flags};
use super::question::Shared;
use crate::commands::CompileFlags;
use crate::config::{self, Config, ConfigProblem};
use crate::db::{self, Cancelled, Database, Db, File, Settings, Source};
use crate::derive::figures;
use crate::disk::Disk;
use crate::documents::{Document, Encoding};
use crate::host;
use crate::host::includers::is_header;
use crate::host::names::Names;
use crate::program::{self, Language};
use crate::views;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use syntax::preprocess::Unit;
use tower_lsp::ls_types::{Diagnostic, Uri};

const DEFAULT_DEBOUNCE: Duration = Duration::from_millis(150);
/// The time that a file of the disk is waited for.
const PATIENCE: Duration = Duration::from_millis(200);

struct Open {
    document: Document,
    uri: Uri,
    path: PathBuf,
    file: Option<File>,
    /// The database has an older text.
    dirty: bool,
    due: Option<Instant>,
    /// The greater, the later it was edited.
    touched: u64,
}

/// The sources of settings.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SettingsKey {
    /// The configuration file that applies.
    config: Option<PathBuf>,
    /// A file that the build speaks of.
    command_of: Option<PathBuf>,
}

pub(super) struct Owner {
    db: Database,
    open: FxHashMap<String, Open>,
    uris: Arc<FxHashMap<PathBuf, Uri>>,
    encoding: Encoding,
    folders: Vec<PathBuf>,
    editor: serde_json::Value,
    settings: FxHashMap<SettingsKey, Settings>,
    /// The flags of files, as far as they are known.
    commands: FxHashMap<PathBuf, Option<Box<CompileFlags>>>,
    /// Configuration files and baselines as the disk has them, as far as they were asked for.
    on_disk: FxHashMap<PathBuf, Source>,
    /// The diagnostics that the client has of configuration files that it has not opened.
    told: FxHashMap<PathBuf, Vec<Diagnostic>>,
    debounce: Duration,
    push: bool,
    refresh: bool,
    pool: Pool,
    publishing: Publishing,
    touches: u64,
    events: Sender<Event>,
    projects: Projects,
    assembler: Assembler,
    shared: Arc<Shared>,
    outgoing: Outgoing,
}

/// Publications are computed a few at a time, so that requests find a free thread; between them the remains
/// of computations are freed, so that memory does not grow with the number of files that are opened at once.
#[derive(Default)]
struct Publishing {
    waiting: VecDeque<String>,
    running: usize,
    at_once: usize,
    since_sweep: usize,
}

/// Publications between two sweeps of results that are kept for the items used last only.
const SWEEP: usize = 4;

impl Owner {
    pub(super) fn new(events: Sender<Event>, shared: Arc<Shared>, outgoing: Outgoing) -> Self {
        let threads = std::thread::available_parallelism()
            .map_or(2, usize::from)
            .clamp(2, 8);
        let late = events.clone();
        let disk = Disk::patient(PATIENCE, move |path| {
            let _ = late.send(Event::Arrived(path.to_owned()));
        });
        let db = Database::with_disk(disk);
        Owner {
            assembler: Assembler::new(events.clone(), Arc::clone(&shared)),
            projects: Projects::new(events.clone(), Arc::clone(db.commands())),
            commands: FxHashMap::default(),
            db,
            open: FxHashMap::default(),
            uris: Arc::default(),
            encoding: Encoding::default(),
            folders: Vec::new(),
            editor: serde_json::Value::Null,
            settings: FxHashMap::default(),
            on_disk: FxHashMap::default(),
            told: FxHashMap::default(),
            debounce: DEFAULT_DEBOUNCE,
            push: true,
            refresh: false,
            pool: Pool::new(threads),
            publishing: Publishing {
                at_once: threads - 1,
                ..Publishing::default()
            },
            touches: 0,
            events,
            shared,
            outgoing,
        }
    }

    /// Takes events until every sender is gone.
    pub(super) fn run(mut self, queue: &Receiver<Event>) {
        loop {
            let due = self.open.values().filter_map(|open| open.due).min();
            let event = match due {
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => queue.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match event {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => self.publish_due(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.shared.was_shut_down() {
                // Work in flight is of no use to anybody; the loop goes on so that senders never fail.
                self.open.values_mut().for_each(|open| open.due = None);
                self.publishing.waiting.clear();
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Ready {
                encoding,
                folders,
                settings,
                push,
                refresh,
            } => {
                self.encoding = encoding;
                self.folders = folders;
                self.push = push;
                self.refresh = refresh;
                self.set_editor(settings);
            }
            Event::Open {
                uri,
                text,
                version,
                language,
            } => self.open(uri, &text, version, language),
            Event::Change {
                uri,
                version,
                changes,
            } => {
                let encoding = self.encoding;
                let Some(open) = self.open.get_mut(uri.as_str()) else {
                    return;
                };
                open.document.apply(&changes, encoding);
                open.document.version = version;
                open.dirty = true;
                self.touches += 1;
                open.touched = self.touches;
                self.shared.set_version(uri.as_str(), version);
                self.assembler.changed(uri.as_str());
                if is_config(&open.path) {
                    self.flush();
                    self.configure();
                }
                self.all_due();
            }
            Event::Close { uri } => self.close(&uri),
            Event::Settings(settings) => {
                self.set_editor(settings);
                self.all_due();
                self.ask_for_refresh();
            }
            Event::Folders { added, removed } => {
                self.folders.retain(|folder| !removed.contains(folder));
                self.forget_folders(&removed);
                self.folders.extend(added);
            }
            Event::Watched(uris) => self.changed(uris.iter().map(convert::path_of)),
            Event::Written(path) => self.changed([path].into_iter()),
            Event::Arrived(path) => self.watched([path].into_iter()),
            Event::Saved(uri) => {
                let path = host::normalize(&convert::path_of(&uri));
                self.ask_for_commands_again();
                self.projects.changed(vec![path]);
            }
            Event::Includers { path, found } => self.includers(&path, found),
            Event::Names { path, names } => self.names(&path, names),
            Event::Command { path, flags } => self.command(path, flags),
            Event::Request(request) => self.dispatch(request),
            Event::Again(uri) => {
                if let Some(open) = self.open.get_mut(&uri) {
                    open.due = Some(Instant::now());
                }
            }
            Event::Published => {
                self.publishing.running -= 1;
                self.publishing.since_sweep += 1;
                self.publish_waiting();
            }
            Event::Figures { uri, figures } => self.figures(&uri, figures),
            Event::AddToBaseline { path, entry } => {
                let events = self.events.clone();
                self.pool
                    .run(move || match crate::baseline::add(&path, entry) {
                        Ok(()) => drop(events.send(Event::Written(path))),
                        Err(error) => tracing::error!("{error}"),
                    });
            }
        }
    }

    /// Withdraws the diagnostics of files in folders that the client has closed.
    fn forget_folders(&mut self, removed: &[PathBuf]) {
        let gone = |path: &Path| removed.iter().any(|folder| path.starts_with(folder));
        let told: Vec<PathBuf> = self
            .told
            .keys()
            .filter(|path| gone(path))
            .cloned()
            .collect();
        for path in told {
            self.told.remove(&path);
            if let Some(uri) = Uri::from_file_path(&path) {
                self.outgoing.publish(Publication {
                    uri,
                    diagnostics: Vec::new(),
                    version: None,
                });
            }
        }
    }

    fn open(&mut self, uri: Uri, text: &str, version: i32, language: String) {
        let path = convert::path_of(&uri);
        // Not every client watches files, and none those above its folders.
        self.on_disk.clear();
        let document = Document::new(text, version, language);
        let file = if is_config(&path) {
            None
        } else {
            let file = self.db.file_with_text(
                &path,
                Source::Text {
                    text: document.text(),
                    lossy: false,
                },
            );
            let language = Language::of_editor(&document.language)
                .unwrap_or_else(|| Language::of_file(&path, &document.text()));
            self.db.set_language(file, language);
            Some(file)
        };
        let mut uris = (*self.uris).clone();
        uris.insert(host::normalize(&path), uri.clone());
        self.uris = Arc::new(uris);
        let name = uri.as_str().to_owned();
        self.shared.set_version(&name, version);
        self.touches += 1;
        if file.is_some_and(|file| file.language(&self.db).c_dialect().is_some()) {
            self.projects.opened(&host::normalize(&path));
        }
        match file.is_some() && is_header(&path) {
            true => self.projects.header(&host::normalize(&path)),
            false => self.projects.changed(vec![host::normalize(&path)]),
        }
        self.open.insert(
            name.clone(),
            Open {
                document,
                uri,
                path,
                file,
                dirty: false,
                due: None,
                touched: self.touches,
            },
        );
        match file {
            Some(_) => self.configure_one(&name),
            None => self.configure(),
        }
        // Others may include it: an unsaved text wins over the disk.
        self.all_due();
        let waits = file.is_some_and(|file| file.language(&self.db).c_dialect().is_some());
        if let Some(open) = self.open.get_mut(&name) {
            // What the build says of it is there at once, or it comes later.
            let patience = if waits { PATIENCE } else { Duration::ZERO };
            open.due = Some(Instant::now() + patience);
        }
    }

    fn command(&mut self, path: PathBuf, flags: Option<Box<CompileFlags>>) {
        let language = flags.as_ref().and_then(|flags| flags.language);
        let known = self.commands.insert(path.clone(), flags);
        let name = self.uris.get(&path).map(|uri| uri.as_str().to_owned());
        let open = name.and_then(|name| self.open.get_mut(&name));
        let is_new = known.is_none_or(|known| known != self.commands[&path]);
        if let Some(open) = open {
            open.due = open.due.map(|_| Instant::now());
            if let (Some(file), Some(language)) = (open.file, language)
                && Language::of_editor(&open.document.language).is_none()
            {
                self.db.set_language(file, language);
            }
        }
        if is_new {
            self.configure();
            self.all_due();
            self.ask_for_refresh();
        }
    }

    /// The flags of a file; flags that are not known yet are asked for.
    fn command_of(&mut self, path: &Path) -> Option<&CompileFlags> {
        if !self.commands.contains_key(path) {
            self.commands.insert(path.to_owned(), None);
            self.projects.command(path);
        }
        self.commands.get(path)?.as_deref()
    }

    fn ask_for_commands_again(&self) {
        self.commands
            .keys()
            .for_each(|path| self.projects.command(path));
    }

    fn names(&mut self, path: &Path, names: Arc<Names>) {
        let name = self.uris.get(path).map(|uri| uri.as_str());
        let Some(open) = name.and_then(|name| self.open.get_mut(name)) else {
            return;
        };
        let Some(file) = open.file else {
            return;
        };
        self.db.set_names(file, Some(names));
        // What was shown without headers is shown again with them.
        let misses = |unit: &Unit| {
            unit.includes
                .iter()
                .any(|include| include.resolved.is_none())
        };
        if self.db.last_unit(file).is_some_and(|unit| misses(&unit)) {
            open.due = Some(Instant::now() + self.debounce);
            self.ask_for_refresh();
        }
    }

    fn includers(&mut self, path: &Path, mut found: Vec<PathBuf>) {
        let name = self.uris.get(path).map(|uri| uri.as_str().to_owned());
        let Some((name, open)) = name.and_then(|name| self.open.get_key_value(&name)) else {
            return;
        };
        let Some(file) = open.file else {
            return;
        };
        if found.is_empty() && file.includers(&self.db).is_empty() {
            return;
        }
        let name = name.clone();
        // A header's name does not tell its language, where its editor does not either.
        if Language::of_editor(&open.document.language).is_none() {
            self.db.take_language_of(file, &found);
        }
        // What the author has open beside it is what they mean.
        found.sort_by_key(|path| !self.uris.contains_key(path));
        self.db.set_includers(file, found);
        self.configure_one(&name);
        self.all_due();
        self.ask_for_refresh();
    }

    fn close(&mut self, uri: &Uri) {
        let Some(open) = self.open.remove(uri.as_str()) else {
            return;
        };
        self.shared.forget(uri.as_str());
        self.assembler.changed(uri.as_str());
        let mut uris = (*self.uris).clone();
        uris.remove(&host::normalize(&open.path));
        self.uris = Arc::new(uris);
        if self.push {
            self.outgoing.publish(Publication {
                uri: uri.clone(),
                diagnostics: Vec::new(),
                version: None,
            });
        }
        if let Some(file) = open.file {
            // From now on the disk says what the file holds.
            let source = if uri.as_str().starts_with("file:") {
                self.db.read_from_disk(&open.path)
            } else {
                Source::Missing
            };
            self.db.set_source(file, source);
            self.db.set_names(file, None);
            self.keep_what_is_open(file);
            let path = host::normalize(&open.path);
            self.projects.closed(&path);
            self.commands.remove(&path);
        }
        // What only others need may have to be told its settings again.
        self.configure();
        self.all_due();
    }

    /// Frees results that only closed documents needed.
    fn keep_what_is_open(&mut self, closed: File) {
        let mut needed = FxHashSet::default();
        for open in self.open.values() {
            needed.insert(host::normalize(&open.path));
            let unit = open.file.and_then(|file| self.db.last_unit(file));
            for included in unit.iter().flat_map(|unit| &unit.files) {
                needed.insert(PathBuf::from(&*included.path));
            }
        }
        self.db.keep_only(&needed, closed);
    }

    /// Files changed on the disk.
    fn changed(&mut self, paths: impl Iterator<Item = PathBuf>) {
        let paths: Vec<PathBuf> = paths.map(|path| host::normalize(&path)).collect();
        for path in &paths {
            self.db.forget_reading(path);
        }
        self.watched(paths.into_iter());
    }

    fn watched(&mut self, paths: impl Iterator<Item = PathBuf>) {
        let mut configuration = false;
        let paths: Vec<PathBuf> = paths.map(|path| host::normalize(&path)).collect();
        if paths.iter().any(|path| speaks_of_flags(path)) {
            self.ask_for_commands_again();
        }
        self.projects.changed(paths.clone());
        for path in paths {
            configuration |= is_config(&path)
                || path
                    .extension()
                    .is_some_and(|extension| extension == "json");
            if let Some(source) = self.on_disk.get_mut(&path) {
                *source = self.db.read_from_disk(&path);
                configuration = true;
            }
            if self.uris.contains_key(&path) {
                continue;
            }
            if let Some(file) = self.db.known_file(&path) {
                let source = self.db.read_from_disk(&path);
                self.db.set_source(file, source);
            }
        }
        if configuration {
            self.configure();
        }
        self.all_due();
        self.ask_for_refresh();
    }

    fn snapshot(&self, uri: Option<&str>) -> Snapshot {
        let open = uri.and_then(|uri| self.open.get(uri));
        let config = open.and_then(|open| {
            let text = open.document.text();
            let problems = match open.file {
                None => self.problems_of_config(&text, open.path.parent()),
                Some(file) if self.is_machine(&open.path) => {
                    program::machine_problems(&self.db, file)
                }
                Some(_) => return None,
            };
            Some((text, problems))
        });
        Snapshot {
            db: self.db.clone(),
            file: open.and_then(|open| open.file),
            version: open.map_or(0, |open| open.document.version),
            encoding: self.encoding,
            has_views: self.shared.features().has_views,
            config,
            uris: Arc::clone(&self.uris),
        }
    }

    fn dispatch(&mut self, mut request: Request) {
        if request.work.cancelled() {
            return;
        }
        let name = request.uri.as_ref().map(|uri| uri.as_str());
        let current = name
            .and_then(|name| self.open.get(name))
            .map(|open| open.document.version);
        if request.version.is_some() && request.version != current {
            request.work.stale();
            return;
        }
        request.version = current;
        self.flush();
        let snapshot = self.snapshot(name);
        let events = self.events.clone();
        self.pool.run(move || {
            let work = Arc::clone(&request.work);
            if !work.run(snapshot) {
                let _ = events.send(Event::Request(request));
            }
        });
    }

    fn all_due(&mut self) {
        let due = Instant::now() + self.debounce;
        self.open.values_mut().for_each(|open| open.due = Some(due));
    }

    fn publish_due(&mut self) {
        let now = Instant::now();
        let mut names: Vec<(std::cmp::Reverse<u64>, String)> = Vec::new();
        for (name, open) in &mut self.open {
            if open.due.is_some_and(|due| due <= now) {
                open.due = None;
                names.push((std::cmp::Reverse(open.touched), name.clone()));
            }
        }
        if !self.push {
            return;
        }
        // What is being edited comes first.
        names.sort();
        for (_, name) in names.into_iter().rev() {
            self.publishing.waiting.retain(|waiting| *waiting != name);
            self.publishing.waiting.push_front(name);
        }
        self.publish_waiting();
    }

    fn publish_waiting(&mut self) {
        if self.publishing.since_sweep >= SWEEP {
            if self.publishing.running > 0 {
                return;
            }
            self.publishing.since_sweep = 0;
            self.db.sweep();
        }
        while self.publishing.running < self.publishing.at_once
            && let Some(name) = self.publishing.waiting.pop_front()
        {
            let Some(open) = self.open.get(&name) else {
                continue;
            };
            let uri = open.uri.clone();
            self.flush();
            self.publishing.running += 1;
            self.publish_one(name, uri);
        }
    }

    fn publish_one(&self, name: String, uri: Uri) {
        let snapshot = self.snapshot(Some(&name));
        let (events, outgoing, shared) = (
            self.events.clone(),
            self.outgoing.clone(),
            Arc::clone(&self.shared),
        );
        let ticket = self.assembler.ticket(&name);
        let done = Arc::new(AtomicBool::new(false));
        if self.shared.shows_progress() {
            outgoing.progress(format!("Lockstep: {}", file_name(&name)), Arc::clone(&done));
        }
        let done = Finished(done, self.events.clone());
        self.pool.run(move || {
            let version = snapshot.version;
            let outcome = db::catch(&snapshot.db, |db| match (&snapshot.config, snapshot.file) {
                (Some((text, problems)), _) => Some(convert::config_diagnostics(
                    text,
                    problems,
                    snapshot.encoding,
                    snapshot.has_views,
                )),
                (None, Some(file)) => {
                    views::diagnostics::ahead(db, file);
                    let shown = views::diagnostics::diagnostics(db, file);
                    Some(
                        shown
                            .iter()
                            .map(|it| convert::diagnostic(db, file, it, &snapshot))
                            .collect(),
                    )
                }
                (None, None) => None,
            });
            match outcome {
                Ok(Some(diagnostics)) => {
                    if shared.is_news(&name, version, &diagnostics) {
                        outgoing.publish(Publication {
                            uri,
                            diagnostics,
                            version: Some(version),
                        });
                    }
                }
                Ok(None) | Err(Cancelled::Unwanted) => {}
                Err(Cancelled::InputsChange) => {
                    let _ = events.send(Event::Again(name));
                }
            }
            // What the lens shows of a function is computed while its code is in memory. Given up when inputs change: then
            // it is asked for again.
            let _ = db::catch(&snapshot.db, |db| {
                let lenses = snapshot.file.map(|file| views::lens::lenses(db, file));
                drop(lenses);
            });
            // What it says is computed while nobody waits, as the lens is.
            if let (Some(ticket), Some(file)) = (ticket, snapshot.file)
                && let Ok(jobs) = db::catch(&snapshot.db, |db| figures::wanted(db, file))
            {
                ticket.order(jobs);
            }
            drop(snapshot);
            drop(done);
        });
    }

    fn ask_for_refresh(&self) {
        if !self.refresh {
            return;
        }
        self.outgoing.detached("inlayHint/refresh", async |client| {
            drop(client.inlay_hint_refresh().await)
        });
        self.outgoing
            .detached("semanticTokens/refresh", async |client| {
                drop(client.semantic_tokens_refresh().await)
            });
        self.outgoing.detached("codeLens/refresh", async |client| {
            drop(client.code_lens_refresh().await)
        });
        if !self.push {
            self.outgoing
                .detached("diagnostic/refresh", async |client| {
                    drop(client.workspace_diagnostic_refresh().await)
                });
        }
    }
}

/// Ends the display of progress and makes room for the next publication, also when the computation panics.
struct Finished(Arc<AtomicBool>, Sender<Event>);

impl Drop for Finished {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        // The owner is gone when the server ends.
        let _ = self.1.send(Event::Published);
    }
}

fn is_config(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == config::FILE_NAME)
}

fn file_name(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap_or(uri)
}
