//! The files that include a header, as far as their text tells: ends of the names in `#include` lines.

use super::{normalize, read};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::path::{Component, Path, PathBuf};

/// Extensions of files that others include.
const HEADERS: [&str; 10] = [
    "cuh", "h", "hpp", "hh", "hxx", "inl", "inc", "hlsli", "fxh", "ush",
];
/// Extensions of the files that units begin with, the likeliest to hold kernels first.
const UNITS: [&str; 9] = [
    "cu", "hlsl", "fx", "usf", "compute", "c", "cpp", "cc", "cxx",
];
/// Names of files by which a project's folder is known.
const MARKS: [&str; 3] = [".git", "lockstep.toml", "compile_commands.json"];
/// Files below a project's folder that are looked at.
const MOST_FILES: usize = 20_000;
/// Entries that are listed below it, of any kind.
const MOST_ENTRIES: usize = 200_000;
/// Headers that may stand between a file and the unit through which it is seen.
const MOST_BETWEEN: usize = 4;
/// Units that are named.
const MOST_NAMED: usize = 4;
/// The most bytes of a file written by hand.
const LONGEST: u64 = 4 << 20;

/// The `#include` lines of the files below a folder.
#[derive(Debug, Default)]
pub struct Includers {
    /// The includers by the last part of the included name, in lower case, each with the whole name as
    /// written.
    lines: FxHashMap<String, Vec<(PathBuf, String)>>,
}

/// Returns true if a file is one that others include.
pub fn is_header(path: &Path) -> bool {
    rank(path, &HEADERS).is_some()
}

/// Returns true if a file may include others.
pub fn is_source(path: &Path) -> bool {
    is_header(path) || rank(path, &UNITS).is_some()
}

/// Returns true if a file says that its folder is a project's.
pub fn is_mark(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| MARKS.iter().any(|mark| name == *mark))
}

/// The folder of the project that a file belongs to: the nearest that says so, else its own.
pub fn project_of(path: &Path) -> Option<PathBuf> {
    let own = path.parent()?;
    let says_so = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).exists());
    let project = own.ancestors().find(says_so);
    Some(project.unwrap_or(own).to_path_buf())
}

/// The files below a project's folder that may include others, or be included.
pub(super) fn project_walk(project: &Path) -> impl Iterator<Item = ignore::DirEntry> {
    let walk = ignore::WalkBuilder::new(project).require_git(false).build();
    let is_file = |entry: &ignore::DirEntry| entry.file_type().is_some_and(|kind| kind.is_file());
    walk.take(MOST_ENTRIES)
        .filter_map(Result::ok)
        .filter(move |entry| is_file(entry) && is_source(entry.path()))
        .take(MOST_FILES)
}

impl Includers {
    /// Reads the files of a project.
    pub fn below(project: &Path) -> Includers {
        let mut found = Includers::default();
        for entry in project_walk(project) {
            let path = entry.path();
            let is_short = entry.metadata().is_ok_and(|data| data.len() <= LONGEST);
            if is_short && let Ok(file) = read(path) {
                found.take(&normalize(path), &file.text);
            }
        }
        found
    }

    /// Takes the present includes of a file.
    pub fn read_again(&mut self, path: &Path) {
        let path = normalize(path);
        for lines in self.lines.values_mut() {
            lines.retain(|(includer, _)| *includer != path);
        }
        let is_short = std::fs::metadata(&path).is_ok_and(|data| data.len() <= LONGEST);
        if let (true, Ok(file)) = (is_short, read(&path)) {
            self.take(&path, &file.text);
        }
    }

    fn take(&mut self, path: &Path, text: &str) {
        for spec in text.lines().filter_map(included) {
            let name = spec.rsplit(['/', '\\']).next().unwrap_or(spec);
            let all = self.lines.entry(name.to_lowercase()).or_default();
            all.push((path.to_path_buf(), spec.replace('\\', "/")));
        }
    }

    /// Units that may include a file, the likeliest first: those near it, and those that name it themselves.
    pub fn of(&self, path: &Path) -> Vec<PathBuf> {
        let path = normalize(path);
        let mut found: Vec<(usize, Reverse<usize>, usize, PathBuf)> = Vec::new();
        let mut seen: FxHashSet<PathBuf> = FxHashSet::default();
        let mut open = vec![path.clone()];
        for between in 0..=MOST_BETWEEN {
            let mut next = Vec::new();
            for header in open {
                for includer in self.naming(&header) {
                    if includer == path || !seen.insert(includer.clone()) {
                        continue;
                    }
                    match rank(&includer, &UNITS) {
                        Some(rank) => {
                            let near = Reverse(shared(&includer, &path));
                            found.push((rank.min(5), near, between, includer));
                        }
                        None => next.push(includer),
                    }
                }
            }
            open = next;
        }
        found.sort();
        let paths = found.into_iter().map(|(_, _, _, path)| path);
        paths.take(MOST_NAMED).collect()
    }

    /// Files with an `#include` that may mean a file.
    fn naming(&self, path: &Path) -> Vec<PathBuf> {
        let name = path.file_name().map(|name| name.to_string_lossy());
        let name = name.unwrap_or_default().to_lowercase();
        let lines = self.lines.get(&name).into_iter().flatten();
        let means = |spec: &str| {
            let parts = Path::new(spec).components();
            let named: PathBuf = parts
                .filter(|part| matches!(part, Component::Normal(_)))
                .collect();
            let lower = |path: &Path| PathBuf::from(path.to_string_lossy().to_lowercase());
            lower(path).ends_with(lower(&named))
        };
        lines
            .filter(|(_, spec)| means(spec))
            .map(|(includer, _)| includer.clone())
            .collect()
    }
}

/// Returns the name that a line includes.
fn included(line: &str) -> Option<&str> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = directive.strip_prefix("include")?.trim_start();
    let close = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    rest.get(1..)?.split(close).next()
}

fn rank(path: &Path, extensions: &[&str]) -> Option<usize> {
    let extension = path.extension()?.to_string_lossy().to_lowercase();
    extensions.iter().position(|known| *known == extension)
}

/// Returns how many folders two paths have in common.
pub(super) fn shared(a: &Path, b: &Path) -> usize {
    let both = a.components().zip(b.components());
    both.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_near_a_header_come_first_also_through_others() {
        let mut all = Includers::default();
        all.take(
            Path::new("/p/a/main.cu"),
            "  #  include \"part.cuh\" // it\n",
        );
        all.take(
            Path::new("/p/b/far.cu"),
            "#include <a/part.cuh>\n#include \"x/part.cuh\"\n",
        );
        all.take(Path::new("/p/a/part.cuh"), "#include \"inner\\deep.inl\"\n");
        all.take(Path::new("/p/a/host.cpp"), "#include \"part.cuh\"\n");
        let named = |path: &str| all.of(Path::new(path));
        let of = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
        let both = of(&["/p/a/main.cu", "/p/b/far.cu", "/p/a/host.cpp"]);
        assert_eq!(named("/p/a/part.cuh"), both);
        assert_eq!(named("/p/a/inner/Deep.inl"), both);
        assert_eq!(
            named("/p/y/part.cuh"),
            of(&["/p/a/main.cu", "/p/a/host.cpp"])
        );
        assert_eq!(named("/p/a/other.cuh"), of(&[]));
    }
}
