//! The reports of `gcov`: executions of lines, the branches on them, entries of functions.

use super::{CoverageError, of_source};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::path::Path;

/// The counts of a source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcovFile {
    pub functions: Vec<GcovFunction>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcovFunction {
    pub name: String,
    pub entries: u64,
    /// The lines, from 1.
    pub lines: FxHashMap<u32, GcovLine>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcovLine {
    pub count: u64,
    /// The count of each way of each branch on it; those that exceptions take are left out.
    pub branches: Vec<u64>,
}

#[derive(Deserialize)]
struct Report {
    files: Vec<FileReport>,
}

#[derive(Deserialize)]
struct FileReport {
    file: String,
    #[serde(default)]
    functions: Vec<FunctionReport>,
    #[serde(default)]
    lines: Vec<LineReport>,
}

#[derive(Deserialize)]
struct FunctionReport {
    name: String,
    execution_count: u64,
}

#[derive(Deserialize)]
struct LineReport {
    line_number: u32,
    #[serde(default)]
    function_name: Option<String>,
    count: u64,
    #[serde(default)]
    branches: Vec<BranchReport>,
}

#[derive(Deserialize)]
struct BranchReport {
    count: u64,
    #[serde(default)]
    throw: bool,
}

/// Reads `gcov --json-format -b`.
pub(super) fn json(text: &str, source: &Path) -> Result<GcovFile, CoverageError> {
    let report: Report = serde_json::from_str(text).map_err(|error| CoverageError::Json {
        tool: "gcov",
        message: error.to_string(),
    })?;
    let file = of_source(&report.files, |file| &file.file, source)?;
    let mut out = GcovFile::default();
    for function in &file.functions {
        out.functions.push(GcovFunction {
            name: function.name.clone(),
            entries: function.execution_count,
            lines: FxHashMap::default(),
        });
    }
    for line in &file.lines {
        let named =
            |function: &&mut GcovFunction| Some(&function.name) == line.function_name.as_ref();
        let Some(function) = out.functions.iter_mut().find(named) else {
            continue;
        };
        let taken = line.branches.iter().filter(|branch| !branch.throw);
        let known = function.lines.entry(line.line_number).or_default();
        known.count = known.count.saturating_add(line.count);
        known.branches.extend(taken.map(|branch| branch.count));
    }
    Ok(out)
}

/// Reads `FILE.gcov`, as `gcov -b -c` writes it.
pub(super) fn text(text: &str, source: &Path) -> Result<GcovFile, CoverageError> {
    let mut out = GcovFile::default();
    let mut of_source_file = false;
    let mut at = 0u32;
    for (number, row) in text.lines().enumerate() {
        let fail = |what: &str| CoverageError::Text {
            line: number + 1,
            what: what.chars().take(40).collect(),
        };
        if let Some(rest) = row.strip_prefix("function ") {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [name, "called", count, ..] = words[..] else {
                return Err(fail(rest));
            };
            out.functions.push(GcovFunction {
                name: name.to_owned(),
                entries: count.parse().map_err(|_| fail(count))?,
                lines: FxHashMap::default(),
            });
            continue;
        }
        let own = out.functions.last_mut();
        if let Some(rest) = row.strip_prefix("branch ") {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let count = match words[..] {
                [_, "never", ..] => 0,
                [_, "taken", count, ..] => count.parse().map_err(|_| fail(count))?,
                _ => return Err(fail(rest)),
            };
            if let Some(own) = own.filter(|_| !rest.contains("(throw)")) {
                own.lines.entry(at).or_default().branches.push(count);
            }
            continue;
        }
        let mut parts = row.splitn(3, ':').map(str::trim);
        let (Some(count), Some(line), Some(rest)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let Ok(line) = line.parse::<u32>() else {
            continue;
        };
        if line == 0 {
            if let Some(path) = rest.strip_prefix("Source:") {
                of_source(&[path], |path| path, source)?;
                of_source_file = true;
            }
            continue;
        }
        at = line;
        let count = match count.trim_end_matches('*') {
            "-" => continue,
            "#####" | "=====" | "$$$$$" | "%%%%%" => 0,
            number => number.parse().map_err(|_| fail(count))?,
        };
        if let Some(own) = own {
            own.lines.entry(line).or_default().count = count;
        }
    }
    if !of_source_file || out.functions.is_empty() {
        return Err(CoverageError::Without {
            what: "functions",
            how: "`gcov -b -c` writes them",
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "        -:    0:Source:dir/m.c
        -:    0:Graph:m.gcno
        -:    1:#include <stdio.h>
function f called 2 returned 100% blocks executed 87%
        2:    4:int f(int n) {
       31:    6:  for (int i = 0; i < n; i++) {
branch  0 taken 29
branch  1 taken 2 (fallthrough)
    #####:    8:      s = 1;
branch  0 never executed
       5*:    9:      s += g(a[i]);
call    0 returned 5
";

    #[test]
    fn lines_and_branches_are_read() {
        let found = text(TEXT, Path::new("/a/dir/m.c")).expect("counts");
        let [f] = &found.functions[..] else {
            panic!("{found:?}")
        };
        assert_eq!((f.name.as_str(), f.entries), ("f", 2));
        let line = |number: u32| {
            f.lines
                .get(&number)
                .map(|line| (line.count, line.branches.clone()))
        };
        assert_eq!(line(6), Some((31, vec![29, 2])));
        assert_eq!(line(8), Some((0, vec![0])));
        assert_eq!(line(9), Some((5, vec![])));
        assert_eq!(line(1), None);
    }

    #[test]
    fn shares_and_other_files_are_refused() {
        let shares = TEXT.replace("taken 29", "taken 94%");
        let refused = text(&shares, Path::new("m.c"));
        assert!(
            matches!(&refused, Err(CoverageError::Text { line: 7, what }) if what == "94%"),
            "{refused:?}"
        );
        let other = text(TEXT, Path::new("n.c"));
        assert_eq!(other, Err(CoverageError::OtherFile("n.c".into())));
        let json = json("{\"files\": [{\"file\": 1}]}", Path::new("m.c"));
        assert!(matches!(json, Err(CoverageError::Json { .. })), "{json:?}");
    }
}
