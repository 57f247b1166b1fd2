//! Raw tokens to the token stream of a translation unit, split into top-level items.
//!
//! Macros are expanded, conditionals decided and includes followed; every token that comes out has a position
//! in the file of its item: a token of a macro's body is at the macro's use, a token of a file that is
//! included in the middle of an item is at the directive. An item's tokens have positions relative to the
//! item, so that an item which merely moved is equal to its former self.
//!
//! ```text
//! #define SQ(x) ((x) * (x))
//! int f(int a) { return SQ(a); }     one item: int f ( int a ) { return ( ( a ) * ( a ) ) ; }
//! ```
//!
//! It stops because each macro is off while its own expansion is read, expansion is charged to a budget, and
//! includes, nested arguments and look-ahead are limited; text beyond a limit is left as it stands, with a
//! problem. It does no I/O: the resolver finds files, tokens of a file are an input. Line numbers of `#line`
//! are not followed. Source: C++ standard, [cpp].

mod attributes;
mod condition;
mod directives;
mod expand;
mod items;
mod macros;
#[cfg(test)]
mod tests;

use crate::c_family::dialect::Dialect;
use crate::c_family::lexer::LexedFile;
use crate::c_family::token::Token;
use crate::error::{Problem, ProblemKind};
use crate::source::{FileId, Span};
use smol_str::SmolStr;
use std::sync::Arc;

/// A file and its tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IncludedFile {
    pub path: Arc<str>,
    pub tokens: Arc<LexedFile>,
}

/// Finds the file that an `#include` names. The order of search is the resolver's own.
pub trait IncludeResolver {
    /// `from` is the path of the including file, `spec` the name between the quotes or angles.
    fn resolve(&mut self, from: &str, spec: &str, angled: bool) -> Option<IncludedFile>;
    /// `__has_include`: there is such a file, whether or not its text is needed.
    fn exists(&mut self, from: &str, spec: &str, angled: bool) -> bool {
        self.resolve(from, spec, angled).is_some()
    }
    /// `#include_next`: the search goes on behind the directory in which `from` was found.
    fn resolve_next(&mut self, from: &str, spec: &str, angled: bool) -> Option<IncludedFile> {
        self.resolve(from, spec, angled)
    }
}

/// Finds nothing: every include is missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIncludes;

impl IncludeResolver for NoIncludes {
    fn resolve(&mut self, _from: &str, _spec: &str, _angled: bool) -> Option<IncludedFile> {
        None
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Tokens that the main file's macros may produce, and up to which included files are read.
    pub tokens: u32,
    /// Depth of includes and of macro arguments inside macro arguments.
    pub nesting: u32,
    /// Files entered, repetitions counted.
    pub includes: u32,
    /// The number of times that one file may be entered: a header that includes itself twice would otherwise
    /// be entered 2^nesting times.
    pub repetitions: u32,
    /// Declarations of the main file.
    pub items: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            tokens: 4_000_000,
            nesting: 200,
            includes: 20_000,
            repetitions: 1_000,
            items: 20_000,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PreprocessOptions {
    /// `N`, `N=V` or `N(a,b)=V`, applied after the dialect's own.
    pub defines: Vec<SmolStr>,
    /// Names of the dialect's own macros that are not defined.
    pub undefines: Vec<SmolStr>,
    /// Files included in front of the main file, as if in quotes.
    pub forced: Vec<SmolStr>,
    pub dialect: Dialect,
    pub limits: Limits,
    /// Path of an included file from which the unit is seen: see `Unit::seen_through`.
    pub seen_from: Option<Arc<str>>,
}

impl PreprocessOptions {
    pub fn new(dialect: Dialect) -> Self {
        PreprocessOptions {
            defines: Vec::new(),
            undefines: Vec::new(),
            forced: Vec::new(),
            dialect,
            limits: Limits::default(),
            seen_from: None,
        }
    }
}

/// A translation unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Unit {
    /// Indexed by `FileId`: 0 is the main file, the others in first-seen order.
    pub files: Vec<IncludedFile>,
    pub items: Vec<ItemTokens>,
    /// Spans are absolute in the problem's file.
    pub problems: Vec<Problem>,
    /// Text that conditionals exclude, whole lines, in the order of files and positions.
    pub inactive: Vec<(FileId, Span)>,
    pub includes: Vec<Include>,
    pub macros: Vec<MacroDefinition>,
    /// Uses in the main file, in order; `#ifdef` and `defined` count as uses.
    pub macro_uses: Vec<MacroUse>,
    /// The file with which preprocessing began, for a unit seen from an included file. The included file has
    /// its number then, 0, and everything said of the main file holds for the included one.
    pub seen_through: Option<FileId>,
}

impl Unit {
    /// Gives the number of the main file to an included one.
    fn see_from(&mut self, path: &str) {
        let Some(at) = self.files.iter().position(|file| &*file.path == path) else {
            return;
        };
        if at == 0 {
            return;
        }
        let included = FileId(at as u32);
        let turned = |id: &mut FileId| {
            if *id == included {
                *id = FileId::MAIN;
            } else if *id == FileId::MAIN {
                *id = included;
            }
        };
        self.files.swap(0, at);
        self.items
            .iter_mut()
            .for_each(|item| turned(&mut item.file));
        self.problems
            .iter_mut()
            .for_each(|problem| turned(&mut problem.file));
        self.inactive.iter_mut().for_each(|(id, _)| turned(id));
        self.inactive.sort();
        for include in &mut self.includes {
            turned(&mut include.file);
            include.resolved.iter_mut().for_each(turned);
        }
        let defined = self.macros.iter_mut().flat_map(|it| &mut it.file);
        defined.for_each(turned);
        self.seen_through = Some(included);
    }

    pub fn path(&self, file: FileId) -> Option<&str> {
        self.files.get(file.0 as usize).map(|file| &*file.path)
    }
    /// The definition that a use at an offset of the main file refers to, innermost use first.
    pub fn macro_at(&self, offset: u32) -> Option<(&MacroUse, Option<&MacroDefinition>)> {
        let used = self
            .macro_uses
            .iter()
            .rfind(|used| used.name_span.contains(offset))?;
        Some((
            used,
            used.definition
                .and_then(|index| self.macros.get(index as usize)),
        ))
    }
}

/// A top-level declaration's tokens.
#[derive(Clone, PartialEq, Debug)]
pub struct ItemTokens {
    pub file: FileId,
    /// Absolute offsets in `file`.
    pub start: u32,
    pub end: u32,
    /// Enclosing namespaces, outermost first; an anonymous one is the empty string.
    pub scope: Vec<SmolStr>,
    /// Positions are relative to `start`.
    pub tokens: Arc<[Token]>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Include {
    pub file: FileId,
    /// The directive's line, from `#` to the end of the name.
    pub span: Span,
    /// The name between the quotes or angles.
    pub spec: SmolStr,
    pub angled: bool,
    pub resolved: Option<FileId>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct MacroDefinition {
    pub name: SmolStr,
    /// `None`: predefined or given as an option.
    pub file: Option<FileId>,
    pub name_span: Span,
    /// The replacement list as written; empty when there is none.
    pub body_span: Span,
    /// `None` for an object-like macro.
    pub parameters: Option<Vec<SmolStr>>,
    pub variadic: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct MacroUse {
    pub name: SmolStr,
    pub name_span: Span,
    /// Name and arguments.
    pub span: Span,
    /// Index into `Unit::macros`; `None` for `_Pragma`. Uses of `__LINE__` and its like are not listed.
    pub definition: Option<u32>,
}

/// Preprocesses a file and its includes.
pub fn preprocess(
    main: &IncludedFile,
    options: &PreprocessOptions,
    resolver: &mut dyn IncludeResolver,
) -> Unit {
    let mut preprocessor = expand::Preprocessor::new(options, resolver);
    preprocessor.run(main);
    preprocessor.finish(&[])
}

/// The same unit, in less time and memory when it is much like an earlier one: equal items share their tokens with it.
pub fn preprocess_again(
    main: &IncludedFile,
    options: &PreprocessOptions,
    resolver: &mut dyn IncludeResolver,
    earlier: &Unit,
) -> Unit {
    let mut preprocessor = expand::Preprocessor::new(options, resolver);
    preprocessor.run(main);
    preprocessor.finish(&earlier.items)
}

/// Lexes and preprocesses a text on its own.
pub fn preprocess_text(path: &str, text: &str, dialect: Dialect) -> Unit {
    let main = IncludedFile {
        path: Arc::from(path),
        tokens: Arc::new(crate::c_family::lexer::lex(text)),
    };
    preprocess(&main, &PreprocessOptions::new(dialect), &mut NoIncludes)
}

fn problem(kind: ProblemKind, file: FileId, span: Span, message: impl Into<String>) -> Problem {
    Problem {
        kind,
        file,
        span,
        message: message.into(),
    }
}
