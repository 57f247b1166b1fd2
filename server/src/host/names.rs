//! The files of a project by their names: a header that no configured directory leads to is looked for among them.

use super::includers::{project_walk, shared};
use super::normalize;
use ir::lower::c_family::builtins::is_known_header;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// The files below a project's folder that others may include.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Keyed by the last part of the path, in lower case.
    files: FxHashMap<String, Vec<PathBuf>>,
}

/// The words of an `#include`, and how they are compared.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    pub spec: &'a str,
    pub angled: bool,
    /// Names of files have no case, and `\\` separates their parts.
    pub any_case: bool,
}

impl Names {
    /// Lists the files of a project; reads none.
    pub fn below(project: &Path) -> Names {
        let mut found = Names::default();
        for entry in project_walk(project) {
            found.add(entry.path());
        }
        found
    }

    /// Returns true if the file was not there.
    pub fn add(&mut self, path: &Path) -> bool {
        let path = normalize(path);
        let Some(name) = lower_name(&path) else {
            return false;
        };
        let all = self.files.entry(name).or_default();
        let new = !all.contains(&path);
        if new {
            all.push(path);
        }
        new
    }

    /// Returns true if the file was there.
    pub fn remove(&mut self, path: &Path) -> bool {
        let path = normalize(path);
        let all = lower_name(&path).and_then(|name| self.files.get_mut(&name));
        all.is_some_and(|all| {
            let before = all.len();
            all.retain(|known| *known != path);
            all.len() < before
        })
    }

    /// The file whose path ends in the name of an `#include`: the only one, or the one nearest to the
    /// including file. A file that belongs to a compiler or a system is none of the project's.
    pub fn named(&self, from: &Path, include: &Spec<'_>) -> Option<&Path> {
        let &Spec {
            spec,
            angled,
            any_case,
        } = include;
        if angled && is_known_header(spec) {
            return None;
        }
        let cased = |text: &str| match any_case {
            true => text.replace('\\', "/").to_lowercase(),
            false => text.to_owned(),
        };
        let spec = cased(spec);
        let parts = spec.split('/');
        let named: PathBuf = parts
            .filter(|part| !matches!(*part, "" | "." | ".."))
            .collect();
        let all = self.files.get(&lower_name(&named)?)?;
        let ends = |path: &Path| Path::new(&cased(&path.to_string_lossy())).ends_with(&named);
        let fits = |path: &&PathBuf| *path != from && ends(path);
        let near = |path: &Path| shared(path, from);
        let best = all.iter().filter(fits).max_by_key(|path| near(path))?;
        let as_near = all
            .iter()
            .filter(fits)
            .filter(|path| near(path) == near(best));
        (as_near.count() == 1).then_some(best)
    }
}

fn lower_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &Names, from: &str, spec: &str, angled: bool) -> Option<String> {
        let any_case = from.ends_with(".hlsl");
        let include = Spec {
            spec,
            angled,
            any_case,
        };
        let found = names.named(Path::new(from), &include)?;
        Some(found.display().to_string())
    }

    #[test]
    fn the_only_one_or_the_nearest() {
        let mut names = Names::default();
        for path in [
            "/p/include/lib/part.cuh",
            "/p/include/only.h",
            "/p/a/util.h",
            "/p/b/util.h",
            "/p/include/stdio.h",
        ] {
            assert!(names.add(Path::new(path)));
        }
        assert!(!names.add(Path::new("/p/a/util.h")));
        let of = |from: &str, spec: &str, angled: bool| found(&names, from, spec, angled);
        let some = |path: &str| Some(path.to_owned());
        let kernel = "/p/src/k.cu";
        assert_eq!(
            of(kernel, "lib/part.cuh", true),
            some("/p/include/lib/part.cuh")
        );
        assert_eq!(of(kernel, "../x/../only.h", false), None);
        assert_eq!(of(kernel, "../only.h", false), some("/p/include/only.h"));
        assert_eq!(of(kernel, "../Only.h", false), None);
        let shader = "/p/src/k.hlsl";
        assert_eq!(of(shader, "..\\Only.h", false), some("/p/include/only.h"));
        assert_eq!(of(kernel, "other/part.cuh", false), None);
        // Two of a name: the nearer one, if one is.
        assert_eq!(of(kernel, "util.h", false), None);
        assert_eq!(of("/p/a/deep/k.cu", "util.h", false), some("/p/a/util.h"));
        assert_eq!(of("/p/b/k.cu", "a/util.h", false), some("/p/a/util.h"));
        // A system's.
        assert_eq!(of(kernel, "stdio.h", true), None);
        assert_eq!(of(kernel, "stdio.h", false), some("/p/include/stdio.h"));
        assert_eq!(of("/p/include/only.h", "only.h", false), None);
        assert!(names.remove(Path::new("/p/a/util.h")));
        assert!(!names.remove(Path::new("/p/a/util.h")));
        assert_eq!(found(&names, kernel, "util.h", false), some("/p/b/util.h"));
    }
}
