//! Inputs: files and settings, and the registry that gives a path its one `File`.
//!
//! A file that does not exist is a `File` without text, so that a query that looked for it is run again when it
//! appears. Inputs are never freed: a deleted file loses its text.

use super::figure::Figures;
use crate::config::{AnalysisConfig, ViewConfig};
use crate::disk::Disk;
use crate::host;
use crate::host::commands::Commands;
use crate::host::includers::{Includers, is_header, project_of};
use crate::host::names::Names;
use crate::language::Language;
use rustc_hash::{FxHashMap, FxHashSet};
use salsa::{Durability, Setter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use syntax::c_family::lexer::{LexedFile, lex_shared};
use syntax::preprocess::Unit;

#[salsa::db]
pub trait Db: salsa::Database {
    /// The file of a path, read when it is first asked for.
    fn file(&self, path: &Path) -> File;
    /// The unit that was computed last for a file, which may be outdated. A new one shares equal parts with
    /// it; no result depends on whether there is one.
    fn last_unit(&self, file: File) -> Option<Arc<Unit>>;
    fn keep_unit(&self, file: File, unit: Arc<Unit>) -> Arc<Unit>;
    /// The tokens of a text, which another database may have made.
    fn tokens_of(&self, path: &Path, text: &Arc<str>) -> Arc<LexedFile>;
}

/// Files that databases working side by side have read from the disk, with their tokens. A run that shares it
/// takes no edits.
#[derive(Debug, Default)]
pub struct SharedFiles {
    files: Mutex<FxHashMap<PathBuf, Arc<SharedFile>>>,
    /// The includers of files, by project.
    projects: Mutex<FxHashMap<PathBuf, Arc<OnceLock<Includers>>>>,
    /// The files of a project.
    names: Mutex<FxHashMap<PathBuf, Arc<OnceLock<Arc<Names>>>>>,
    commands: Arc<Commands>,
}

#[derive(Debug)]
struct SharedFile {
    source: Source,
    tokens: OnceLock<Arc<LexedFile>>,
}

impl SharedFiles {
    fn source(&self, path: &Path) -> Source {
        if let Some(known) = locked(&self.files).get(path) {
            return known.source.clone();
        }
        let read = Arc::new(SharedFile {
            source: read_source(path),
            tokens: OnceLock::new(),
        });
        let mut files = locked(&self.files);
        let known = files.entry(path.to_path_buf()).or_insert(read);
        known.source.clone()
    }

    fn names(&self, project: PathBuf) -> Arc<Names> {
        let known = Arc::clone(locked(&self.names).entry(project.clone()).or_default());
        Arc::clone(known.get_or_init(|| Arc::new(Names::below(&project))))
    }

    fn includers(&self, project: PathBuf) -> Arc<OnceLock<Includers>> {
        let known = Arc::clone(locked(&self.projects).entry(project.clone()).or_default());
        known.get_or_init(|| Includers::below(&project));
        known
    }

    /// The tokens of a file, when its text is the one that was read here.
    fn tokens(&self, path: &Path, text: &Arc<str>) -> Option<Arc<LexedFile>> {
        let known = Arc::clone(locked(&self.files).get(path)?);
        match &known.source {
            Source::Text { text: own, .. } if Arc::ptr_eq(own, text) => {
                let lexed = || Arc::new(lex_shared(Arc::clone(text)));
                Some(Arc::clone(known.tokens.get_or_init(lexed)))
            }
            _ => None,
        }
    }
}

/// The content of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// `lossy`: bytes that are no UTF-8 were replaced.
    Text { text: Arc<str>, lossy: bool },
    /// Does not exist or can't be read.
    Missing,
    /// Exists and is no text, or is too large, with the reason.
    Unusable(Arc<str>),
}

impl Source {
    /// Returns the text; none is empty.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Source::Text { text, .. } => text,
            Source::Missing | Source::Unusable(_) => "",
        }
    }
}

#[salsa::input(debug)]
pub struct File {
    pub path: PathBuf,
    #[returns(copy)]
    pub language: Language,
    pub source: Source,
    #[returns(copy)]
    pub settings: Settings,
    /// Files that may include this one, the likeliest first: it is seen through the first that does.
    pub includers: Vec<PathBuf>,
    /// The files of its project by their names, where they were listed.
    pub names: Option<Arc<Names>>,
    /// The figures of an assembler for its code.
    pub figures: Arc<Figures>,
}

#[salsa::input(debug)]
pub struct Settings {
    pub analysis: AnalysisConfig,
    pub view: ViewConfig,
    /// Fingerprints that are accepted, sorted.
    pub baseline: Vec<String>,
}

#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Self>,
    files: Arc<Mutex<FxHashMap<PathBuf, File>>>,
    default_settings: Arc<Mutex<Option<Settings>>>,
    units: Arc<Mutex<FxHashMap<File, Arc<Unit>>>>,
    disk: Disk,
    /// The number of changes on the disk that were told of.
    changes: Arc<AtomicU64>,
    shared: Option<Arc<SharedFiles>>,
    commands: Arc<Commands>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Default for Database {
    fn default() -> Self {
        Database::with(None, Disk::direct())
    }
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn file(&self, path: &Path) -> File {
        let path = host::normalize(path);
        if let Some(file) = locked(&self.files).get(&path) {
            return *file;
        }
        let settings = self.default_settings();
        let (source, mut files) = loop {
            let changes = self.changes.load(Ordering::Acquire);
            let source = match &self.shared {
                Some(shared) => shared.source(&path),
                None => self.disk.read(&path),
            };
            let files = locked(&self.files);
            // Who tells of a change finds no file yet: it must not get what was read before.
            if changes == self.changes.load(Ordering::Acquire) {
                break (source, files);
            }
        };
        let language = Language::of_file(&path, source.text());
        // Another thread may have read it meanwhile; one path has one input.
        *files.entry(path.clone()).or_insert_with(|| {
            File::builder(
                path.clone(),
                language,
                source,
                settings,
                Vec::new(),
                None,
                Arc::default(),
            )
            .settings_durability(Durability::MEDIUM)
            .new(self)
        })
    }
    fn last_unit(&self, file: File) -> Option<Arc<Unit>> {
        locked(&self.units).get(&file).cloned()
    }
    fn keep_unit(&self, file: File, unit: Arc<Unit>) -> Arc<Unit> {
        locked(&self.units).insert(file, Arc::clone(&unit));
        unit
    }
    fn tokens_of(&self, path: &Path, text: &Arc<str>) -> Arc<LexedFile> {
        let shared = self.shared.as_ref();
        shared
            .and_then(|shared| shared.tokens(path, text))
            .unwrap_or_else(|| Arc::new(lex_shared(Arc::clone(text))))
    }
}

impl Database {
    /// `events` is told of every query that is executed.
    pub fn with_events(events: Box<dyn Fn(salsa::Event) + Send + Sync>) -> Self {
        Database::with(Some(events), Disk::direct())
    }

    /// Returns a database with files of a disk that may be slow.
    pub fn with_disk(disk: Disk) -> Self {
        Database::with(None, disk)
    }

    fn with(events: Option<Box<dyn Fn(salsa::Event) + Send + Sync>>, disk: Disk) -> Self {
        Database {
            storage: salsa::Storage::new(events),
            files: Arc::default(),
            default_settings: Arc::default(),
            units: Arc::default(),
            disk,
            changes: Arc::default(),
            shared: None,
            commands: Arc::default(),
        }
    }

    /// A database that shares the files that it reads from the disk.
    pub fn sharing(shared: &Arc<SharedFiles>) -> Self {
        Database {
            shared: Some(Arc::clone(shared)),
            commands: Arc::clone(&shared.commands),
            ..Database::default()
        }
    }

    pub fn default_settings(&self) -> Settings {
        *locked(&self.default_settings).get_or_insert_with(|| {
            Settings::builder(AnalysisConfig::default(), ViewConfig::default(), Vec::new())
                .durability(Durability::MEDIUM)
                .new(self)
        })
    }

    pub fn new_settings(
        &self,
        analysis: AnalysisConfig,
        view: ViewConfig,
        baseline: Vec<String>,
    ) -> Settings {
        Settings::builder(analysis, view, baseline)
            .durability(Durability::MEDIUM)
            .new(self)
    }

    /// Writes only differences: a setter does not compare.
    pub fn set_settings(
        &mut self,
        settings: Settings,
        analysis: AnalysisConfig,
        view: ViewConfig,
        baseline: Vec<String>,
    ) {
        if *settings.analysis(self) != analysis {
            settings
                .set_analysis(self)
                .with_durability(Durability::MEDIUM)
                .to(analysis);
        }
        if *settings.view(self) != view {
            settings
                .set_view(self)
                .with_durability(Durability::MEDIUM)
                .to(view);
        }
        if *settings.baseline(self) != baseline {
            settings
                .set_baseline(self)
                .with_durability(Durability::MEDIUM)
                .to(baseline);
        }
    }

    pub fn set_source(&mut self, file: File, source: Source) {
        if *file.source(self) != source {
            file.set_source(self).to(source);
        }
    }

    pub fn set_language(&mut self, file: File, language: Language) {
        if file.language(self) != language {
            file.set_language(self).to(language);
        }
    }

    /// Returns the builds' options for files.
    pub fn commands(&self) -> &Arc<Commands> {
        &self.commands
    }

    /// Sees a header through a file that includes it, in that one's language, if the project has such a file.
    pub fn see_through_includers(&mut self, file: File) {
        let path = file.path(self).clone();
        let Some(project) = project_of(&path).filter(|_| is_header(&path)) else {
            return;
        };
        let found = match &self.shared {
            Some(shared) => shared.includers(project).get().map(|all| all.of(&path)),
            None => Some(Includers::below(&project).of(&path)),
        };
        let found = found.unwrap_or_default();
        self.take_language_of(file, &found);
        self.set_includers(file, found);
    }

    /// Gives a header the language of the first of its includers that has one of the C family.
    pub fn take_language_of(&mut self, file: File, includers: &[PathBuf]) {
        let languages = includers.iter().map(|path| Language::of_path(path));
        let mut known = languages.filter(|language| language.c_dialect().is_some());
        if let Some(language) = known.next() {
            self.set_language(file, language);
        }
    }

    /// Lets includes that no configured directory leads to be found by name in the project around a file.
    pub fn look_for_names(&mut self, file: File) {
        let Some(project) = project_of(file.path(self)) else {
            return;
        };
        let names = match &self.shared {
            Some(shared) => shared.names(project),
            None => Arc::new(Names::below(&project)),
        };
        self.set_names(file, Some(names));
    }

    pub fn set_names(&mut self, file: File, names: Option<Arc<Names>>) {
        let same = match (file.names(self), &names) {
            (Some(known), Some(names)) => Arc::ptr_eq(known, names),
            (known, names) => known.is_none() && names.is_none(),
        };
        if !same {
            file.set_names(self)
                .with_durability(Durability::MEDIUM)
                .to(names);
        }
    }

    pub fn set_figures(&mut self, file: File, figures: Figures) {
        if **file.figures(self) != figures {
            file.set_figures(self)
                .with_durability(Durability::MEDIUM)
                .to(Arc::new(figures));
        }
    }

    pub fn set_includers(&mut self, file: File, includers: Vec<PathBuf>) {
        if *file.includers(self) != includers {
            file.set_includers(self)
                .with_durability(Durability::MEDIUM)
                .to(includers);
        }
    }

    pub fn set_file_settings(&mut self, file: File, settings: Settings) {
        if file.settings(self) != settings {
            file.set_settings(self)
                .with_durability(Durability::MEDIUM)
                .to(settings);
        }
    }

    /// Frees results that are kept for the items used last only, for all other items. Waits for every clone
    /// and cancels computations.
    pub fn sweep(&mut self) {
        salsa::Database::trigger_lru_eviction(self);
    }

    /// Frees texts of source files that are not needed and all that was derived from them and from `closed`.
    /// A file that is asked for again is read again. Paths that were looked for and not found, and those that
    /// are no source, stay: they are small.
    pub fn keep_only(&mut self, needed: &FxHashSet<PathBuf>, closed: File) {
        let known: Vec<(PathBuf, File)> = locked(&self.files)
            .iter()
            .map(|(path, file)| (path.clone(), *file))
            .collect();
        for (path, file) in known {
            let is_source = file.language(self) != Language::Other;
            let holds = file == closed || matches!(file.source(self), Source::Text { .. });
            if !(is_source && holds) || needed.contains(&path) {
                continue;
            }
            locked(&self.files).remove(&path);
            locked(&self.units).remove(&file);
            self.set_source(file, Source::Missing);
            // A result is kept until the query runs again, and items live until they are not made again.
            super::queries::derive_all(self, file);
            locked(&self.units).remove(&file);
        }
        self.sweep();
    }

    /// Returns the present contents of a file on the disk.
    pub fn read_from_disk(&self, path: &Path) -> Source {
        self.disk.read(path)
    }

    /// What is being read of a file is not what is there now.
    pub fn forget_reading(&self, path: &Path) {
        self.disk.changed(path);
        let _files = locked(&self.files);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// A file that was seen before.
    pub fn known_file(&self, path: &Path) -> Option<File> {
        locked(&self.files).get(&host::normalize(path)).copied()
    }

    /// Every file that was seen, in no order.
    pub fn files(&self) -> Vec<File> {
        locked(&self.files).values().copied().collect()
    }

    /// The file with a text, without looking at the disk.
    pub fn file_with_text(&mut self, path: &Path, source: Source) -> File {
        let path = host::normalize(path);
        if let Some(file) = self.known_file(&path) {
            self.set_source(file, source);
            return file;
        }
        let settings = self.default_settings();
        let language = Language::of_file(&path, source.text());
        let file = File::builder(
            path.clone(),
            language,
            source,
            settings,
            Vec::new(),
            None,
            Arc::default(),
        )
        .settings_durability(Durability::MEDIUM)
        .new(self);
        locked(&self.files).insert(path, file);
        file
    }
}

/// A file of the disk.
pub fn read_source(path: &Path) -> Source {
    match host::read(path) {
        Ok(read) => Source::Text {
            text: Arc::from(read.text),
            lossy: read.lossy,
        },
        // A folder is no header, as nothing is.
        Err(host::ReadError::Io { .. }) => Source::Missing,
        Err(host::ReadError::NotRegular { .. }) if path.is_dir() => Source::Missing,
        Err(error) => Source::Unusable(Arc::from(error.to_string())),
    }
}

/// The maps stay consistent on any unwinding: each is changed by one insertion.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
