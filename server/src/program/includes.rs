//! The search for included files: under remapped prefixes, beside the including file, in the configured
//! directories, in those of `compile_commands.json`, and for C in those of the system's headers.
//!
//! The system's headers describe the machine that the server runs on. Two of them derive the widths of its
//! types from names of processors that are not predefined here; they are answered with those of the machine
//! that code is made for, by the bits of its `long`. A header of the compiler (`<stddef.h>`,
//! `<stdarg.h>`, `<float.h>`) is known without its file.

use super::{Language, path_text, toolkit};
use crate::commands::CompileFlags;
use crate::db::{self, Db, File, Settings};
use crate::host;
use crate::host::names::{Names, Spec};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use syntax::c_family::lexer::lex;
use syntax::preprocess::{IncludeResolver, IncludedFile};

/// In front of the paths of files that are on no disk.
const BUILT_IN: &str = "<built-in>/";
/// Headers that are answered here, where `long` has 64 bits and where it has 32.
const ANSWERED: [(&str, [&str; 2]); 2] = [
    (
        "bits/wordsize.h",
        [
            "#define __WORDSIZE 64\n#define __WORDSIZE_TIME64_COMPAT32 0\n",
            "#define __WORDSIZE 32\n#define __WORDSIZE_TIME64_COMPAT32 0\n#define __WORDSIZE32_SIZE_ULONG 0\n#define __WORDSIZE32_PTRDIFF_LONG 0\n",
        ],
    ),
    ("gnu/stubs.h", ["\n"; 2]),
];

/// Returns true if a path is that of a file of the server's own.
pub(super) fn is_built_in(path: &str) -> bool {
    path.starts_with(BUILT_IN)
}

/// The search for included files.
pub(super) struct Includes<'a> {
    db: &'a dyn Db,
    include_dirs: &'a [PathBuf],
    command: Option<&'a CompileFlags>,
    remap: &'a [(String, PathBuf)],
    system: &'a [PathBuf],
    /// True if `long` has 32 bits.
    long_32bit: bool,
    /// True if the declarations of the CUDA toolkit's own headers are built in.
    knows_toolkit: bool,
    /// The files of the project, for names that no directory leads to.
    names: Option<&'a Names>,
    /// Written for a system whose names of files have no case and whose separator is `\\`.
    any_case: bool,
}

impl<'a> Includes<'a> {
    /// Returns the search for a file's unit, by the settings of the file that it begins with.
    pub(super) fn of(db: &'a dyn Db, file: File, settings: Settings) -> Includes<'a> {
        let config = settings.analysis(db);
        let system = file.language(db) == Language::C && !config.no_system_headers;
        Includes {
            db,
            include_dirs: &config.include_dirs,
            command: config.command.as_deref(),
            remap: &config.path_remap,
            system: match system {
                true => system_directories(),
                false => &[],
            },
            long_32bit: config.long_32bit,
            knows_toolkit: file.language(db) == Language::Cuda,
            names: file.names(db).as_deref(),
            any_case: file.language(db) == Language::Hlsl,
        }
    }

    pub(super) fn open(&self, path: &Path) -> Option<IncludedFile> {
        let file = self.db.file(path);
        let tokens = db::lexed(self.db, file).clone()?;
        Some(IncludedFile {
            path: path_text(file.path(self.db)),
            tokens,
        })
    }

    fn found(&self, from: &str, spec: &str, angled: bool) -> Option<IncludedFile> {
        if let Some(own) = self.answered(spec) {
            return Some(own);
        }
        let plain;
        let spec = match self.any_case {
            true => {
                plain = spec.replace('\\', "/");
                &plain
            }
            false => spec,
        };
        let candidates = self.candidates(from, spec, angled);
        let found = candidates.iter().find_map(|path| self.open(path));
        if found.is_some() || !self.any_case {
            return found;
        }
        let mut other = candidates
            .iter()
            .filter_map(|path| host::in_other_case(path));
        other.find_map(|path| self.open(&path))
    }

    /// Returns where a file of the project is that an `#include` may mean.
    fn by_name(&self, from: &str, spec: &str, angled: bool) -> Option<&'a Path> {
        let include = Spec {
            spec,
            angled,
            any_case: self.any_case,
        };
        self.names?.named(Path::new(from), &include)
    }

    /// Returns true if a file that was included was found by its name alone.
    pub(super) fn is_by_name(&self, from: &str, spec: &str, angled: bool, found: &str) -> bool {
        let is_it = |path: &Path| path.as_os_str() == found;
        self.by_name(from, spec, angled).is_some_and(is_it)
            && self.found(from, spec, angled).is_none()
    }

    fn candidates(&self, from: &str, spec: &str, angled: bool) -> Vec<PathBuf> {
        let mut candidates = Vec::new();
        for (prefix, directory) in self.remap {
            if let Some(rest) = spec.strip_prefix(prefix.as_str()) {
                candidates.push(directory.join(rest.trim_start_matches('/')));
            }
        }
        if let (false, Some(directory)) = (angled, Path::new(from).parent()) {
            candidates.push(directory.join(spec));
        }
        let of_build = |dirs: fn(&CompileFlags) -> &[PathBuf]| self.command.map_or(&[][..], dirs);
        let quoted = match angled {
            true => &[],
            false => of_build(|command| &command.quote_dirs),
        };
        let directories = (quoted.iter())
            .chain(self.include_dirs)
            .chain(of_build(|command| &command.include_dirs))
            .chain(of_build(|command| &command.system_dirs))
            .chain(self.system);
        candidates.extend(directories.map(|directory| directory.join(spec)));
        candidates
            .iter()
            .map(|path| host::normalize(path))
            .collect()
    }

    fn answered(&self, spec: &str) -> Option<IncludedFile> {
        static TOKENS: OnceLock<Vec<[IncludedFile; 2]>> = OnceLock::new();
        let all = TOKENS.get_or_init(|| {
            let each = ANSWERED.iter().map(|(name, texts)| {
                texts.map(|text| IncludedFile {
                    path: Arc::from(format!("{BUILT_IN}{name}")),
                    tokens: Arc::new(lex(text)),
                })
            });
            each.collect()
        });
        let at = ANSWERED.iter().position(|(name, _)| *name == spec)?;
        let of_model = all.get(at)?.get(usize::from(self.long_32bit))?;
        (!self.system.is_empty()).then(|| of_model.clone())
    }
}

impl IncludeResolver for Includes<'_> {
    fn resolve(&mut self, from: &str, spec: &str, angled: bool) -> Option<IncludedFile> {
        let found = (self.found(from, spec, angled))
            .or_else(|| self.open(self.by_name(from, spec, angled)?))?;
        let built_in =
            self.knows_toolkit && toolkit::is_built_in(self.db, spec, Path::new(&*found.path));
        (!built_in).then_some(found)
    }
    fn exists(&mut self, from: &str, spec: &str, angled: bool) -> bool {
        self.found(from, spec, angled).is_some()
    }
    fn resolve_next(&mut self, from: &str, spec: &str, angled: bool) -> Option<IncludedFile> {
        let candidates = self.candidates(from, spec, angled);
        let here = candidates.iter().position(|path| path.as_os_str() == from);
        candidates
            .iter()
            .skip(here.map_or(0, |at| at + 1))
            .find_map(|path| self.open(path))
    }
}

/// The directories in which compilers of C look on this machine, in their order.
fn system_directories() -> &'static [PathBuf] {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(host::system_include_directories)
}
