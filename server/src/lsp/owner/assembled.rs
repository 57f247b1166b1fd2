//! Messages of an assembler about the code of open documents, handed to the database.

use super::*;
use crate::derive::figures::{Figure, Figures};

/// Figures that are kept of a document: with every edit of a kernel there is another.
const KEPT: usize = 512;

impl Owner {
    pub(super) fn figures(&mut self, uri: &str, figures: Vec<(u64, Option<Figure>)>) {
        let Some(open) = self.open.get_mut(uri) else {
            return;
        };
        let Some(file) = open.file else {
            return;
        };
        let mut all: Figures = (**file.figures(&self.db)).clone();
        if all.len() > KEPT {
            all.clear();
        }
        all.extend(figures);
        if **file.figures(&self.db) == all {
            return;
        }
        self.db.set_figures(file, all);
        // Diagnostics speak of them.
        open.due = open.due.or_else(|| Some(Instant::now() + self.debounce));
        self.ask_for_refresh();
    }

    /// Another assembler, or none: the results of the one before are forgotten.
    pub(super) fn forget_figures(&mut self) {
        let files: Vec<File> = self.open.values().filter_map(|open| open.file).collect();
        for file in files {
            self.db.set_figures(file, Figures::default());
        }
    }
}
