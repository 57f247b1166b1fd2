//! The texts and settings around a file, for a database of its own: a long run that no edit has to wait for,
//! or the file as it would be after an edit. Taken on a clone of the database; its database reads from the
//! disk only files that were never read.

use super::inputs::{Database, Db, File, Settings, Source};
use crate::config::{AnalysisConfig, ViewConfig};
use crate::host::names::Names;
use crate::language::Language;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Copy {
    path: PathBuf,
    files: Vec<CopiedFile>,
    settings: Vec<(AnalysisConfig, ViewConfig, Vec<String>)>,
}

#[derive(Clone, Debug)]
struct CopiedFile {
    path: PathBuf,
    source: Source,
    language: Language,
    includers: Vec<PathBuf>,
    names: Option<Arc<Names>>,
    /// The settings, by number.
    settings: usize,
}

impl Copy {
    pub fn of(db: &Database, file: File) -> Copy {
        let mut numbers: FxHashMap<Settings, usize> = FxHashMap::default();
        let mut settings = Vec::new();
        let copied = |file: File| {
            let own = file.settings(db);
            let number = *numbers.entry(own).or_insert_with(|| {
                settings.push((
                    own.analysis(db).clone(),
                    own.view(db).clone(),
                    own.baseline(db).clone(),
                ));
                settings.len() - 1
            });
            CopiedFile {
                path: file.path(db).clone(),
                source: file.source(db).clone(),
                language: file.language(db),
                includers: file.includers(db).clone(),
                names: file.names(db).clone(),
                settings: number,
            }
        };
        let mut files: Vec<CopiedFile> = db.files().into_iter().map(copied).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Copy {
            path: file.path(db).clone(),
            files,
            settings,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file with another text.
    pub fn with_text(mut self, text: &str) -> Copy {
        for file in &mut self.files {
            if file.path == self.path {
                file.source = Source::Text {
                    text: Arc::from(text),
                    lossy: false,
                };
            }
        }
        self
    }

    pub fn open(self) -> (Database, File) {
        let mut db = Database::default();
        let settings = self.settings.into_iter();
        let settings: Vec<Settings> = settings
            .map(|(analysis, view, baseline)| db.new_settings(analysis, view, baseline))
            .collect();
        for copied in self.files {
            let file = db.file_with_text(&copied.path, copied.source);
            db.set_language(file, copied.language);
            db.set_includers(file, copied.includers);
            db.set_names(file, copied.names);
            if let Some(&settings) = settings.get(copied.settings) {
                db.set_file_settings(file, settings);
            }
        }
        let file = db.file(&self.path);
        (db, file)
    }
}
