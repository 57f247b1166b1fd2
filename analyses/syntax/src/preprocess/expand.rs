//! The preprocessor's state and the expansion of macros: a stack of token lists is read from the top, a macro is off
//! while its list is on the stack, and a name met while its macro is off is never expanded again.
//!
//! Arguments are expanded on their own before they are substituted, at most `Limits::nesting` deep; the
//! tokens that expansions and included files produce are charged (`limits`). Source: C++ standard,
//! [cpp.replace].

mod arguments;
mod limits;
mod splice;
mod templates;

pub(super) use splice::token_of;
use splice::trace;
pub(super) use templates::TemplateNames;

use super::macros::{Builtin, Macro, substitute};
use super::{
    FileId, Include, IncludeResolver, IncludedFile, ItemTokens, Limits, MacroDefinition, MacroUse,
    PreprocessOptions, Problem, ProblemKind, Span, Unit, attributes, items, problem,
};
use crate::c_family::lexer::{LexedFile, MAX_TOKENS};
use crate::c_family::token::{
    COLUMN_ZERO, FROM_MACRO, LINE_START, RawToken, SPACE_BEFORE, SPLICED, TokenKind,
};
use crate::source::LineIndex;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::{SmolStr, StrExt, format_smolstr};
use std::rc::Rc;
use std::sync::Arc;

/// Never to be expanded again.
pub(super) const NO_EXPAND: u8 = 32;

/// The place at which a token counts as standing: a range of one inclusion of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) instance: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Place {
    pub(super) fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
    fn to(self, other: Place) -> Place {
        if self.instance != other.instance {
            return self;
        }
        Place {
            instance: self.instance,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct PpToken {
    pub(super) text: SmolStr,
    pub(super) place: Place,
    pub(super) kind: TokenKind,
    pub(super) flags: u8,
}

impl PpToken {
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
    pub(super) fn spelling(&self) -> &str {
        if self.text.is_empty() {
            self.kind.text()
        } else {
            &self.text
        }
    }
}

/// A token of the result. Most are spelled as their place in the file is and need no text of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutToken {
    pub(super) place: Place,
    pub(super) kind: TokenKind,
    pub(super) flags: u8,
    /// Index into `texts`, or `AS_WRITTEN`.
    pub(super) text: u32,
}

pub(super) const AS_WRITTEN: u32 = u32::MAX;

/// One entry into a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instance {
    pub(super) file: FileId,
    /// The including instance and the directive's span there.
    pub(super) parent: Option<(u32, Span)>,
}

#[derive(Debug)]
pub(super) struct Conditional {
    pub(super) taken: bool,
    pub(super) seen_else: bool,
    pub(super) span: Span,
}

pub(super) struct Cursor {
    pub(super) lexed: Arc<LexedFile>,
    pub(super) position: usize,
    pub(super) instance: u32,
    pub(super) file: FileId,
    pub(super) conditionals: Vec<Conditional>,
}

/// A list of tokens to be read before the file goes on; its macro is off until it is used up.
struct Context {
    tokens: std::vec::IntoIter<PpToken>,
    source: Option<Rc<Macro>>,
}

pub(super) struct Preprocessor<'a> {
    pub(super) options: &'a PreprocessOptions,
    pub(super) resolver: &'a mut dyn IncludeResolver,
    pub(super) files: Vec<IncludedFile>,
    pub(super) by_path: FxHashMap<Arc<str>, FileId>,
    pub(super) once: FxHashSet<FileId>,
    pub(super) instances: Vec<Instance>,
    pub(super) cursors: Vec<Cursor>,
    contexts: Vec<Context>,
    pub(super) macros: FxHashMap<SmolStr, Rc<Macro>>,
    /// Indexed by `trace`: a word whose bit is unset was never a macro. Most words are none.
    traces: [u64; 4],
    pub(super) definitions: Vec<MacroDefinition>,
    output: Vec<OutToken>,
    /// The spellings of tokens in `output` that do not stand in a file as they are.
    texts: Vec<SmolStr>,
    pub(super) problems: Vec<Problem>,
    pub(super) inactive: Vec<(FileId, Span)>,
    pub(super) includes: Vec<Include>,
    pub(super) uses: Vec<MacroUse>,
    /// The file, as it was entered, whose uses of macros are kept.
    noted: Option<u32>,
    pub(super) includes_entered: u32,
    pub(super) nested_too_deeply: bool,
    /// Keyed by file: how often it was entered.
    pub(super) entered: FxHashMap<FileId, u32>,
    budget: limits::Budget,
    depth: u32,
    /// Invocations whose closing parenthesis was not found; look-ahead gets short after many.
    unclosed: u32,
    /// Tokens that were read for those.
    unclosed_work: usize,
    counter: u32,
    lines: FxHashMap<FileId, LineIndex>,
    pub(super) template_names: TemplateNames,
}

const UNCLOSED_PATIENCE: u32 = 64;
const UNCLOSED_WORK: usize = 1_000_000;
const SHORT_LOOKAHEAD: usize = 256;

/// The arguments of an invocation and where it ends; or the tokens read before it turned out not to be one.
type Arguments = Result<(Vec<Vec<PpToken>>, Place), Vec<PpToken>>;

impl<'a> Preprocessor<'a> {
    pub(super) fn new(
        options: &'a PreprocessOptions,
        resolver: &'a mut dyn IncludeResolver,
    ) -> Self {
        let mut this = Preprocessor {
            options,
            resolver,
            files: Vec::new(),
            by_path: FxHashMap::default(),
            once: FxHashSet::default(),
            instances: Vec::new(),
            cursors: Vec::new(),
            contexts: Vec::new(),
            macros: FxHashMap::default(),
            traces: [0; 4],
            definitions: Vec::new(),
            output: Vec::new(),
            texts: Vec::new(),
            problems: Vec::new(),
            inactive: Vec::new(),
            includes: Vec::new(),
            uses: Vec::new(),
            noted: None,
            includes_entered: 0,
            nested_too_deeply: false,
            entered: FxHashMap::default(),
            unclosed_work: 0,
            budget: limits::Budget::of(&options.limits),
            depth: 0,
            unclosed: 0,
            counter: 0,
            lines: FxHashMap::default(),
            template_names: TemplateNames::of_options(&options.defines),
        };
        this.predefine();
        this
    }

    pub(super) fn run(&mut self, main: &IncludedFile) {
        self.output.reserve(main.tokens.tokens.len());
        let file = self.register(main.clone());
        self.enter(file, None);
        let options = self.options;
        for spec in &options.forced {
            self.include_in_front(file, spec);
            while self.cursors.len() > 1 {
                self.run_top();
            }
        }
        while !self.cursors.is_empty() {
            self.run_top();
        }
    }

    fn run_top(&mut self) {
        if let Some(cursor) = self.cursors.last() {
            let lexed = Arc::clone(&cursor.lexed);
            self.run_cursor(&lexed);
        }
    }

    /// Enters a file that an option includes.
    fn include_in_front(&mut self, main: FileId, spec: &str) {
        let from = self.files.first().map(|file| Arc::clone(&file.path));
        let found = from.and_then(|from| self.resolver.resolve(&from, spec, false));
        let Some(found) = found else {
            let message = format!(
                "`{spec}`, which an option includes, was not found; what it declares is unknown"
            );
            let kind = ProblemKind::MissingInclude;
            return self
                .problems
                .push(problem(kind, main, Span::at(0), message));
        };
        let id = self.register(found);
        if id != main && !self.once.contains(&id) {
            self.enter(id, Some((0, Span::at(0))));
        }
    }

    pub(super) fn finish(mut self, earlier: &[ItemTokens]) -> Unit {
        self.uses
            .sort_by_key(|used| (used.name_span.start, used.name_span.end));
        self.uses.dedup();
        self.inactive.sort();
        self.inactive.dedup();
        let stream = items::Stream {
            tokens: &self.output,
            texts: &self.texts,
            files: &self.files,
            instances: &self.instances,
            whole: self.budget.main_is_whole(),
        };
        if let Some((tokens, mut words)) = attributes::as_words(stream, self.options.dialect) {
            self.output = tokens;
            self.texts.append(&mut words);
        }
        let stream = items::Stream {
            tokens: &self.output,
            texts: &self.texts,
            files: &self.files,
            instances: &self.instances,
            whole: self.budget.main_is_whole(),
        };
        let items = items::split(
            stream,
            earlier,
            self.options.limits.items,
            &mut self.problems,
        );
        let mut unit = Unit {
            files: self.files,
            items,
            problems: self.problems,
            inactive: self.inactive,
            includes: self.includes,
            macros: self.definitions,
            macro_uses: self.uses,
            seen_through: None,
        };
        if let Some(path) = &self.options.seen_from {
            unit.see_from(path);
        }
        unit
    }

    pub(super) fn register(&mut self, file: IncludedFile) -> FileId {
        if let Some(&known) = self.by_path.get(&file.path) {
            return known;
        }
        let id = FileId(self.files.len() as u32);
        self.by_path.insert(Arc::clone(&file.path), id);
        self.files.push(file);
        id
    }

    pub(super) fn enter(&mut self, file: FileId, parent: Option<(u32, Span)>) {
        let Some(included) = self.files.get(file.0 as usize) else {
            return;
        };
        let lexed = Arc::clone(&included.tokens);
        let instance = self.instances.len() as u32;
        if self.cursors.len() == 1 {
            self.budget.header_begins(self.output.len());
        }
        let seen = self.options.seen_from.as_ref();
        if self.noted.is_none() && seen.is_none_or(|path| *path == included.path) {
            self.noted = Some(instance);
        }
        self.instances.push(Instance { file, parent });
        self.cursors.push(Cursor {
            lexed,
            position: 0,
            instance,
            file,
            conditionals: Vec::new(),
        });
    }

    /// Reads the top file until it ends or another is entered.
    fn run_cursor(&mut self, lexed: &LexedFile) {
        let depth = self.cursors.len();
        loop {
            let Some(cursor) = self.cursors.last_mut() else {
                return;
            };
            let Some(&raw) = lexed.tokens.get(cursor.position) else {
                return self.leave();
            };
            cursor.position += 1;
            if raw.kind == TokenKind::Hash && raw.has(LINE_START) {
                self.directive(lexed, raw);
                if self.cursors.len() != depth {
                    return;
                }
                continue;
            }
            let instance = cursor.instance;
            if depth > 1 && !self.header_goes_on() {
                continue;
            }
            self.follow_templates(lexed);
            if raw.has(SPLICED) || raw.kind == TokenKind::Ident && self.is_macro(lexed.text_of(raw))
            {
                let token = token_of(lexed, raw, instance);
                if let Some(plain) = self.step(token, 0, true) {
                    self.emit(plain);
                }
                self.drain();
                continue;
            }
            let keyword = match raw.kind {
                TokenKind::Ident => self.options.dialect.keyword(lexed.text_of(raw)),
                _ => None,
            };
            let place = Place {
                instance,
                start: raw.start,
                end: raw.end,
            };
            let kind = keyword.unwrap_or(raw.kind);
            self.output.push(OutToken {
                place,
                kind,
                flags: raw.flags,
                text: AS_WRITTEN,
            });
        }
    }

    /// Enters a macro under its name.
    pub(super) fn enter_macro(&mut self, name: SmolStr, found: Macro) {
        let (word, bit) = trace(&name);
        self.traces[word] |= bit;
        self.macros.insert(name, Rc::new(found));
    }

    fn is_macro(&self, name: &str) -> bool {
        let (word, bit) = trace(name);
        self.traces[word] & bit != 0 && self.macros.contains_key(name)
    }

    fn leave(&mut self) {
        if let Some(cursor) = self.cursors.pop() {
            if let Some(cut) = cursor.lexed.cut {
                let message = format!(
                    "a file is read up to {MAX_TOKENS} tokens; from here on it is not looked at"
                );
                self.limit_at(cursor.instance, Span::at(cut), message);
            }
            for open in cursor.conditionals {
                self.problems.push(problem(
                    ProblemKind::Syntax,
                    cursor.file,
                    open.span,
                    "this conditional is never closed by `#endif`",
                ));
            }
        }
    }

    fn emit(&mut self, mut token: PpToken) {
        if self.is_cut() {
            return;
        }
        if token.kind == TokenKind::Ident
            && let Some(keyword) = self.options.dialect.keyword(&token.text)
        {
            token.kind = keyword;
        }
        let text = match token.text.is_empty() {
            true => AS_WRITTEN,
            false => self.texts.len() as u32,
        };
        let PpToken {
            place, kind, flags, ..
        } = token;
        self.output.push(OutToken {
            place,
            kind,
            flags,
            text,
        });
        if text != AS_WRITTEN {
            self.texts.push(token.text);
        }
    }

    /// Reads all lists to their end and emits their tokens.
    fn drain(&mut self) {
        while let Some(token) = self.next_from_contexts(0) {
            if let Some(plain) = self.step(token, 0, true) {
                self.emit(plain);
            }
        }
    }

    /// Puts tokens in front of the next ones, and reads them.
    pub(super) fn inject(&mut self, tokens: Vec<PpToken>) {
        self.contexts.push(Context {
            tokens: tokens.into_iter(),
            source: None,
        });
        self.drain();
    }

    /// A token that needs no expansion comes back; otherwise its expansion was pushed.
    fn step(&mut self, token: PpToken, floor: usize, from_file: bool) -> Option<PpToken> {
        if token.kind == TokenKind::Hash && token.has(FROM_MACRO) {
            return self.pragma_in_body(token);
        }
        if token.kind != TokenKind::Ident || token.has(NO_EXPAND) {
            return Some(token);
        }
        let Some(found) = self.macros.get(&token.text) else {
            return Some(token);
        };
        if self.template_names.keeps(&token.text) {
            return Some(token);
        }
        let found = Rc::clone(found);
        self.expand(token, &found, floor, from_file)
    }

    /// `#define UNROLL #pragma unroll`: the compiler for CUDA takes the directive out of a macro's body.
    fn pragma_in_body(&mut self, hash: PpToken) -> Option<PpToken> {
        let Some(top) = self.contexts.last_mut() else {
            return Some(hash);
        };
        if top
            .tokens
            .as_slice()
            .first()
            .is_none_or(|word| word.text != "pragma")
        {
            return Some(hash);
        }
        let rest: Vec<PpToken> = top.tokens.by_ref().skip(1).collect();
        let tokens = super::directives::pragma_tokens(rest, hash.place);
        self.contexts.push(Context {
            tokens: tokens.into_iter(),
            source: None,
        });
        None
    }

    /// Expands a list on its own, as an argument or a directive's line.
    pub(super) fn expand_list(&mut self, tokens: Vec<PpToken>) -> Vec<PpToken> {
        if !tokens
            .iter()
            .any(|token| token.kind == TokenKind::Ident && self.macros.contains_key(&token.text))
        {
            return tokens;
        }
        if self.depth >= self.options.limits.nesting {
            if let Some(first) = tokens.first() {
                self.limit(first.place, "macro arguments are nested too deeply");
            }
            return tokens;
        }
        self.depth += 1;
        let floor = self.contexts.len();
        self.contexts.push(Context {
            tokens: tokens.into_iter(),
            source: None,
        });
        let mut result = Vec::new();
        while let Some(token) = self.next_from_contexts(floor) {
            if let Some(plain) = self.step(token, floor, false) {
                result.push(plain);
            }
        }
        self.depth -= 1;
        result
    }

    fn next_from_contexts(&mut self, floor: usize) -> Option<PpToken> {
        while self.contexts.len() > floor {
            if let Some(token) = self.contexts.last_mut().and_then(|top| top.tokens.next()) {
                return Some(token);
            }
            if let Some(Context {
                source: Some(done), ..
            }) = self.contexts.pop()
            {
                done.active.set(false);
            }
        }
        None
    }

    pub(super) fn file_of(&self, instance: u32) -> FileId {
        self.instances
            .get(instance as usize)
            .map_or(FileId::MAIN, |instance| instance.file)
    }

    /// Notes a use that was written in the main file, or in the file that the unit is seen from.
    pub(super) fn note_use(&mut self, name: &PpToken, span: Span, found: &Macro) {
        if self.noted == Some(name.place.instance) && !name.has(FROM_MACRO) {
            self.uses.push(MacroUse {
                name: name.text.clone(),
                name_span: name.place.span(),
                span,
                definition: found.definition,
            });
        }
    }

    fn expand(
        &mut self,
        mut name: PpToken,
        found: &Rc<Macro>,
        floor: usize,
        from_file: bool,
    ) -> Option<PpToken> {
        if found.active.get() || self.is_exhausted() {
            name.flags |= NO_EXPAND;
            return Some(name);
        }
        if let Some(builtin) = found.builtin {
            return self.expand_builtin(name, builtin, found, floor, from_file);
        }
        let (arguments, place) = match &found.parameters {
            None => (Vec::new(), name.place),
            Some(parameters) => {
                let Some(open) = self.opening_parenthesis(floor, from_file) else {
                    return Some(name);
                };
                match self.collect(open, floor, from_file) {
                    Err(read) => {
                        self.contexts.push(Context {
                            tokens: read.into_iter(),
                            source: None,
                        });
                        name.flags |= NO_EXPAND;
                        return Some(name);
                    }
                    Ok((arguments, end)) => {
                        let place = name.place.to(end);
                        (
                            self.fit(arguments, parameters.len(), found.variadic, place),
                            place,
                        )
                    }
                }
            }
        };
        self.note_use(&name, place.span(), found);
        let mut result = substitute(self, found, arguments, place);
        if !self.charge(result.iter().map(|token| 1 + token.text.len() / 32).sum()) {
            self.contexts.truncate(floor);
            name.flags |= NO_EXPAND;
            return Some(name);
        }
        if let Some(first) = result.first_mut() {
            let position = LINE_START | COLUMN_ZERO | SPACE_BEFORE;
            first.flags = first.flags & !position | name.flags & position;
        }
        found.active.set(true);
        self.contexts.push(Context {
            tokens: result.into_iter(),
            source: Some(Rc::clone(found)),
        });
        None
    }

    fn expand_builtin(
        &mut self,
        mut name: PpToken,
        builtin: Builtin,
        found: &Macro,
        floor: usize,
        from_file: bool,
    ) -> Option<PpToken> {
        let instance = name.place.instance;
        match builtin {
            Builtin::Line => {
                let file = self.file_of(instance);
                let Some(source) = self.files.get(file.0 as usize) else {
                    return Some(name);
                };
                let index = self
                    .lines
                    .entry(file)
                    .or_insert_with(|| LineIndex::new(&source.tokens.text));
                let line = index.line_column(name.place.start).0 + 1;
                name.kind = TokenKind::Number;
                name.text = format_smolstr!("{line}");
                Some(name)
            }
            Builtin::File => {
                let file = self.file_of(instance);
                let path = self
                    .files
                    .get(file.0 as usize)
                    .map_or("", |source| &source.path);
                name.kind = TokenKind::Str;
                name.text = format_smolstr!("\"{}\"", path.replace_smolstr("\\", "\\\\"));
                Some(name)
            }
            Builtin::Counter => {
                name.kind = TokenKind::Number;
                name.text = format_smolstr!("{}", self.counter);
                self.counter += 1;
                Some(name)
            }
            Builtin::Pragma => {
                let Some(open) = self.opening_parenthesis(floor, from_file) else {
                    return Some(name);
                };
                match self.collect(open, floor, from_file) {
                    Err(read) => {
                        self.contexts.push(Context {
                            tokens: read.into_iter(),
                            source: None,
                        });
                        name.flags |= NO_EXPAND;
                        Some(name)
                    }
                    Ok((arguments, end)) => {
                        let place = name.place.to(end);
                        self.note_use(&name, place.span(), found);
                        let tokens = super::macros::destringized(
                            arguments.into_iter().flatten().collect(),
                            place,
                        );
                        let tokens = super::directives::pragma_tokens(tokens, place);
                        self.contexts.push(Context {
                            tokens: tokens.into_iter(),
                            source: None,
                        });
                        None
                    }
                }
            }
        }
    }
}
