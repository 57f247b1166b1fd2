//! The texts and settings around a file, for a database of its own: a long run that no edit has to wait for, or the file
//! as it would be after an edit. Taken on a clone of the database; what it opens reads from the disk only what was never
//! read.

use super::inputs::{Database, File, Source};
use crate::config::{AnalysisConfig, ViewConfig};
use crate::program::Language;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Copy {
    path: PathBuf,
    files: Vec<(PathBuf, Source, Language)>,
    settings: (AnalysisConfig, ViewConfig, Vec<String>),
}

impl Copy {
    pub fn of(db: &Database, file: File) -> Copy {
        let settings = file.settings(db);
        let mut files: Vec<(PathBuf, Source, Language)> = db
            .files()
            .into_iter()
            .map(|file| {
                let source = file.source(db).clone();
                (file.path(db).clone(), source, file.language(db))
            })
            .collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        Copy {
            path: file.path(db).clone(),
            files,
            settings: (
                settings.analysis(db).clone(),
                settings.view(db).clone(),
                settings.baseline(db).clone(),
            ),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file with another text.
    pub fn with_text(mut self, text: &str) -> Copy {
        for (path, source, _) in &mut self.files {
            if *path == self.path {
                *source = Source::Text {
                    text: Arc::from(text),
                    lossy: false,
                };
            }
        }
        self
    }

    pub fn open(self) -> (Database, File) {
        let mut db = Database::default();
        for (path, source, language) in self.files {
            let file = db.file_with_text(&path, source);
            db.set_language(file, language);
        }
        let file = super::Db::file(&db, &self.path);
        let (analysis, view, baseline) = self.settings;
        let settings = db.new_settings(analysis, view, baseline);
        db.set_file_settings(file, settings);
        (db, file)
    }
}
