//! The files below a path, sorted.

use std::path::{Path, PathBuf};

/// Adds a file, or those below a directory, whose extension is wanted.
pub(crate) fn collect(path: &Path, wanted: &dyn Fn(&str) -> bool, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let Ok(entries) = std::fs::read_dir(path) else {
            return;
        };
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for entry in entries {
            collect(&entry, wanted, files);
        }
    } else if path
        .extension()
        .and_then(|e| e.to_str())
        .is_some_and(wanted)
    {
        files.push(path.to_path_buf());
    }
}
