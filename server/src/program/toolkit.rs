//! Headers of the CUDA toolkit that are not read: their declarations for a device are built in, and known
//! better than from a text that leads to a compiler's own functions. Those of the toolkit's libraries are
//! read.

use crate::db::{Db, Source};
use std::path::{Path, PathBuf};

/// In the directory of the toolkit's headers: the file that identifies it. The compiler's part may be
/// packaged apart.
const MARKS: [&str; 2] = ["crt/host_defines.h", "cuda_runtime_api.h"];
/// Folders below it that belong to libraries.
const LIBRARIES: [&str; 5] = ["cccl", "cub", "thrust", "cuda", "nv"];

/// Returns true if a header that an `#include` names and that was found at a path is the toolkit's own and built in.
pub(super) fn is_built_in(db: &dyn Db, spec: &str, path: &Path) -> bool {
    ir::lower::c_family::builtins::is_known_header(spec)
        && toolkit_of(db, path).is_some_and(|root| {
            let below = path.strip_prefix(&root).unwrap_or(path);
            let first = below.components().next();
            !first.is_some_and(|first| LIBRARIES.iter().any(|name| first.as_os_str() == *name))
        })
}

/// The toolkit's directory of headers around a file.
fn toolkit_of(db: &dyn Db, path: &Path) -> Option<PathBuf> {
    let around = path.ancestors().skip(1).take(3);
    let is_there = |path: PathBuf| matches!(db.file(&path).source(db), Source::Text { .. });
    let marked = |directory: &&Path| MARKS.iter().any(|mark| is_there(directory.join(mark)));
    around.into_iter().find(marked).map(Path::to_path_buf)
}
