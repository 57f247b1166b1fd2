//! PTX of others, which the environment names.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;

/// The PTX files of the directory `LOCKSTEP_PUBLIC_PTX`, by path; `None`, which is said, where nothing names one.
pub(crate) fn ptx_files() -> Option<Vec<PathBuf>> {
    let Ok(folder) = std::env::var("LOCKSTEP_PUBLIC_PTX") else {
        println!("LOCKSTEP_PUBLIC_PTX names no directory of PTX files");
        return None;
    };
    let entries = std::fs::read_dir(&folder).expect("the directory");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "ptx"));
    paths.sort();
    Some(paths)
}

/// The text of a file, whatever its encoding.
pub(crate) fn text_of(path: &PathBuf) -> String {
    String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned()
}
