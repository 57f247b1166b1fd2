//! The report of `llvm-cov export`: how often each condition held and did not, by its place, and entries of functions.

use super::{CoverageError, of_source};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::path::Path;

/// The counts of a source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LlvmFile {
    pub functions: Vec<LlvmFunction>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LlvmFunction {
    pub name: String,
    pub entries: u64,
    /// Times that a condition held, and that it did not, by the line and column of its beginning and end, from 1.
    pub conditions: FxHashMap<[u64; 4], (u64, u64)>,
}

#[derive(Deserialize)]
struct Report {
    data: Vec<Export>,
}

#[derive(Deserialize)]
struct Export {
    #[serde(default)]
    functions: Vec<FunctionReport>,
}

#[derive(Deserialize)]
struct FunctionReport {
    name: String,
    count: u64,
    filenames: Vec<String>,
    #[serde(default)]
    branches: Vec<Vec<u64>>,
}

/// Reads the report. A branch is the place of its beginning and end, the counts of both sides, the number of its file among the
/// function's, that of the file it is expanded in, and its kind.
pub(super) fn json(text: &str, source: &Path) -> Result<LlvmFile, CoverageError> {
    let report: Report = serde_json::from_str(text).map_err(|error| CoverageError::Json {
        tool: "llvm-cov export",
        message: error.to_string(),
    })?;
    let functions = || report.data.iter().flat_map(|export| &export.functions);
    if functions().next().is_none() {
        return Err(CoverageError::Without {
            what: "functions",
            how: "`llvm-cov export` without `-summary-only` and `-skip-functions` has them",
        });
    }
    let mut names: Vec<&str> = functions()
        .filter_map(|function| function.filenames.first())
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names.dedup();
    let file = *of_source(&names, |name| name, source)?;
    let mut out = LlvmFile::default();
    for function in
        functions().filter(|function| function.filenames.first().is_some_and(|name| name == file))
    {
        // Of a static function the name of its file stands before its own.
        let name = function.name.rsplit(':').next().unwrap_or(&function.name);
        let at = match out.functions.iter().position(|known| known.name == name) {
            Some(at) => at,
            None => {
                out.functions.push(LlvmFunction {
                    name: name.to_owned(),
                    ..LlvmFunction::default()
                });
                out.functions.len() - 1
            }
        };
        let known = &mut out.functions[at];
        known.entries = known.entries.saturating_add(function.count);
        for branch in &function.branches {
            // What a macro expands to is in a file of its own.
            let &[first, from, last, to, held, not, 0, ..] = branch.as_slice() else {
                continue;
            };
            let sums = known.conditions.entry([first, from, last, to]).or_default();
            *sums = (sums.0.saturating_add(held), sums.1.saturating_add(not));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_by_place() {
        let text = r#"{"data": [{"functions": [
            {"name": "m.c:f", "count": 3, "filenames": ["/a/m.c", "/a/m.c"], "regions": [],
             "branches": [[6, 19, 6, 24, 29, 2, 0, 0, 4], [3, 17, 3, 24, 14, 15, 1, 0, 4]]},
            {"name": "g", "count": 1, "filenames": ["/a/n.h"], "branches": []}]}]}"#;
        let found = json(text, Path::new("m.c")).expect("counts");
        let [f] = &found.functions[..] else {
            panic!("{found:?}")
        };
        assert_eq!((f.name.as_str(), f.entries), ("f", 3));
        assert_eq!(f.conditions.len(), 1);
        assert_eq!(f.conditions.get(&[6, 19, 6, 24]), Some(&(29, 2)));
        let summary = json(r#"{"data": [{"files": []}]}"#, Path::new("m.c"));
        assert!(
            matches!(summary, Err(CoverageError::Without { .. })),
            "{summary:?}"
        );
        assert_eq!(
            super::super::llvm(b"\xfflprofi\x81\0\0", Path::new("m.c")),
            Err(CoverageError::Profdata)
        );
        assert_eq!(
            super::super::gcov(b"adcg23BR", Path::new("m.c")),
            Err(CoverageError::Counters)
        );
    }
}
