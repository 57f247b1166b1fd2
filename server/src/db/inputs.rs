//! Inputs: files and settings, and the registry that gives a path its one `File`.
//!
//! A file that does not exist is a `File` without text, so that a query that looked for it is run again when it
//! appears. Inputs are never freed: a deleted file loses its text.

use crate::config::{AnalysisConfig, ViewConfig};
use crate::host;
use crate::program::{self, Language};
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use syntax::preprocess::Unit;

#[salsa::db]
pub trait Db: salsa::Database {
    /// The file of a path, read when it is first asked for.
    fn file(&self, path: &Path) -> File;
    /// The unit that was computed last for a file, which may be outdated. A new one shares with it what is equal; no
    /// result depends on whether there is one.
    fn last_unit(&self, file: File) -> Option<Arc<Unit>>;
    fn keep_unit(&self, file: File, unit: Arc<Unit>) -> Arc<Unit>;
}

/// What a file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// `lossy`: bytes that are no UTF-8 were replaced.
    Text { text: Arc<str>, lossy: bool },
    /// Does not exist or can't be read.
    Missing,
    /// Exists and is no text, or is too large: why.
    Unusable(Arc<str>),
}

#[salsa::input(debug)]
pub struct File {
    pub path: PathBuf,
    #[returns(copy)]
    pub language: Language,
    pub source: Source,
    #[returns(copy)]
    pub settings: Settings,
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
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Default for Database {
    fn default() -> Self {
        Database::with_events(None)
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
        let source = read_source(&path);
        let settings = self.default_settings();
        let language = Language::of_file(&path, program::text(&source));
        let mut files = locked(&self.files);
        // Another thread may have read it meanwhile; one path has one input.
        *files.entry(path.clone()).or_insert_with(|| {
            File::builder(path.clone(), language, source, settings)
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
}

impl Database {
    /// `events` is told of every query that is executed.
    pub fn with_events(events: Option<Box<dyn Fn(salsa::Event) + Send + Sync>>) -> Self {
        Database {
            storage: salsa::Storage::new(events),
            files: Arc::default(),
            default_settings: Arc::default(),
            units: Arc::default(),
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

    /// Writes only what differs: a setter does not compare.
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

    pub fn set_file_settings(&mut self, file: File, settings: Settings) {
        if file.settings(self) != settings {
            file.set_settings(self)
                .with_durability(Durability::MEDIUM)
                .to(settings);
        }
    }

    /// Frees what is kept for the items used last only, beyond those. Waits for every clone and cancels computations.
    pub fn sweep(&mut self) {
        salsa::Database::trigger_lru_eviction(self);
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
        let language = Language::of_file(&path, program::text(&source));
        let file = File::builder(path.clone(), language, source, settings)
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
        Err(host::ReadError::Io { .. }) => Source::Missing,
        Err(error) => Source::Unusable(Arc::from(error.to_string())),
    }
}

/// The maps stay consistent whatever unwinds: each is changed by one insertion.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
