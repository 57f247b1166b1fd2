//! The knowledge of the projects around open files: who includes a header, and with which flags a file is
//! compiled. A project may be large and its disk slow, so both are looked for on threads of their own, which
//! report news to the owner.

use super::event::Event;
use crate::commands;
use crate::host::commands::Commands;
use crate::host::includers::{Includers, is_mark, is_source, project_of};
use crate::host::names::Names;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The queues for questions; without a thread to answer them files are seen by themselves.
pub(super) struct Projects {
    includers: Sender<Look>,
    commands: Sender<PathBuf>,
}

enum Look {
    Opened(PathBuf),
    Header(PathBuf),
    Closed(PathBuf),
    Changed(Vec<PathBuf>),
}

impl Projects {
    pub(super) fn new(events: Sender<Event>, commands: Arc<Commands>) -> Projects {
        let (includers, looks) = channel();
        let (questions, files) = channel();
        let told = events.clone();
        start("includers", move || look_for_includers(&told, &looks));
        start("commands", move || {
            look_for_commands(&events, &files, &commands)
        });
        Projects {
            includers,
            commands: questions,
        }
    }

    /// Asks for the names of the files around one, now and whenever they change.
    pub(super) fn opened(&self, path: &Path) {
        let _ = self.includers.send(Look::Opened(path.to_owned()));
    }

    /// Asks for the includers of a header, now and whenever that changes.
    pub(super) fn header(&self, path: &Path) {
        let _ = self.includers.send(Look::Header(path.to_owned()));
    }

    /// Nobody wants to know it any more.
    pub(super) fn closed(&self, path: &Path) {
        let _ = self.includers.send(Look::Closed(path.to_owned()));
    }

    /// Files were written, made or removed.
    pub(super) fn changed(&self, mut paths: Vec<PathBuf>) {
        paths.retain(|path| is_source(path) || is_mark(path));
        if !paths.is_empty() {
            let _ = self.includers.send(Look::Changed(paths));
        }
    }

    /// Asks for the flags of a file.
    pub(super) fn command(&self, path: &Path) {
        let _ = self.commands.send(path.to_owned());
    }
}

/// Returns true if flags of files may depend on a file.
pub(super) fn speaks_of_flags(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == commands::FILE_NAME)
        || path.extension().is_some_and(|extension| extension == "rsp")
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name(name.to_owned());
    if let Err(error) = thread.spawn(work) {
        tracing::error!("no thread to look for {name} with: {error}");
    }
}

/// Files that come together share the search.
fn look_for_commands(events: &Sender<Event>, files: &Receiver<PathBuf>, commands: &Commands) {
    while let Ok(first) = files.recv() {
        commands.look_again();
        for path in std::iter::once(first).chain(files.try_iter()) {
            let flags = commands.of(&path).map(Box::new);
            if events.send(Event::Command { path, flags }).is_err() {
                return;
            }
        }
    }
}

fn look_for_includers(events: &Sender<Event>, looks: &Receiver<Look>) {
    let mut projects: FxHashMap<PathBuf, Includers> = FxHashMap::default();
    // What was told of each.
    let mut headers: FxHashMap<PathBuf, Vec<PathBuf>> = FxHashMap::default();
    let mut named = Named::default();
    while let Ok(first) = looks.recv() {
        let mut asked: FxHashSet<PathBuf> = FxHashSet::default();
        let mut walked: FxHashSet<PathBuf> = FxHashSet::default();
        for look in std::iter::once(first).chain(looks.try_iter()) {
            match look {
                Look::Header(path) => {
                    asked.insert(path.clone());
                    let Some(project) = project_of(&path) else {
                        continue;
                    };
                    if walked.insert(project.clone()) {
                        let all = Includers::below(&project);
                        projects.insert(project, all);
                    }
                    headers.entry(path).or_default();
                }
                Look::Opened(path) => named.open(path),
                Look::Closed(path) => {
                    named.told.remove(&path);
                    headers.remove(&path);
                }
                // Another folder may be a project's now.
                Look::Changed(paths) if paths.iter().any(|path| is_mark(path)) => {
                    projects.clear();
                    named.projects.clear();
                }
                Look::Changed(paths) => {
                    named.changed(&paths);
                    for (project, all) in &mut projects {
                        let own = paths.iter().filter(|path| path.starts_with(project));
                        own.for_each(|path| all.read_again(path));
                    }
                }
            }
        }
        let mut needed: FxHashSet<PathBuf> = FxHashSet::default();
        for (header, told) in &mut headers {
            let Some(project) = project_of(header) else {
                continue;
            };
            let all = projects.entry(project.clone());
            let all = all.or_insert_with_key(|project| Includers::below(project));
            needed.insert(project);
            let found = all.of(header);
            if found == *told && !asked.contains(header) {
                continue;
            }
            told.clone_from(&found);
            let path = header.clone();
            if events.send(Event::Includers { path, found }).is_err() {
                return;
            }
        }
        projects.retain(|project, _| needed.contains(project));
        if !named.tell(events) {
            return;
        }
    }
}

/// The names of the files of projects with open files.
#[derive(Default)]
struct Named {
    projects: FxHashMap<PathBuf, Arc<Names>>,
    /// The names that were reported for each open file.
    told: FxHashMap<PathBuf, Option<Arc<Names>>>,
}

impl Named {
    fn open(&mut self, path: PathBuf) {
        self.told.insert(path, None);
    }

    /// Takes files that were made or removed.
    fn changed(&mut self, paths: &[PathBuf]) {
        for (project, names) in &mut self.projects {
            for path in paths.iter().filter(|path| path.starts_with(project)) {
                let mut now = Names::clone(names);
                let differs = match path.is_file() {
                    true => is_source(path) && now.add(path),
                    false => now.remove(path),
                };
                if differs {
                    *names = Arc::new(now);
                }
            }
        }
    }

    /// `false`: the receiver is gone.
    fn tell(&mut self, events: &Sender<Event>) -> bool {
        let mut needed: FxHashSet<PathBuf> = FxHashSet::default();
        for (path, told) in &mut self.told {
            let Some(project) = project_of(path) else {
                continue;
            };
            let names = self.projects.entry(project.clone());
            let names =
                Arc::clone(names.or_insert_with_key(|project| Arc::new(Names::below(project))));
            needed.insert(project);
            if told.as_ref().is_some_and(|told| Arc::ptr_eq(told, &names)) {
                continue;
            }
            *told = Some(Arc::clone(&names));
            let path = path.clone();
            if events.send(Event::Names { path, names }).is_err() {
                return false;
            }
        }
        self.projects.retain(|project, _| needed.contains(project));
        true
    }
}
