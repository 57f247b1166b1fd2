//! Included files from the disk, each lexed once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syntax::c_family::lexer::{LexedFile, lex};
use syntax::preprocess::{IncludeResolver, IncludedFile};

/// Looks beside the including file, then in directories.
#[derive(Default)]
pub(crate) struct Search {
    pub(crate) directories: Vec<PathBuf>,
    /// True for shaders written on Windows: names in any case, `<...>` as `"..."`, and two directories
    /// further up.
    pub(crate) lenient: bool,
    cache: BTreeMap<PathBuf, Option<Arc<LexedFile>>>,
}

impl Search {
    pub(crate) fn load(&mut self, path: &Path) -> Option<IncludedFile> {
        let read = || {
            let bytes = std::fs::read(path).ok()?;
            Some(Arc::new(lex(&String::from_utf8_lossy(&bytes))))
        };
        let tokens = self
            .cache
            .entry(path.to_path_buf())
            .or_insert_with(read)
            .clone()?;
        Some(IncludedFile {
            path: Arc::from(path.to_string_lossy().as_ref()),
            tokens,
        })
    }
}

impl IncludeResolver for Search {
    fn resolve(&mut self, from: &str, spec: &str, angled: bool) -> Option<IncludedFile> {
        let spec = spec.replace('\\', "/");
        let beside = match (self.lenient, angled) {
            (true, _) => 3,
            (false, true) => 0,
            (false, false) => 1,
        };
        let above = Path::new(from).ancestors().skip(1).take(beside);
        let candidates: Vec<PathBuf> = above
            .chain(self.directories.iter().map(PathBuf::as_path))
            .map(|directory| directory.join(&spec))
            .collect();
        candidates.into_iter().find_map(|path| {
            let found = self.load(&path);
            if found.is_some() || !self.lenient {
                return found;
            }
            other_case(&path).and_then(|path| self.load(&path))
        })
    }
}

/// The file whose name differs in case alone.
fn other_case(path: &Path) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let entries = std::fs::read_dir(path.parent()?).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|p| {
        p.file_name()
            .is_some_and(|n| n.to_string_lossy().to_ascii_lowercase() == wanted)
    })
}
