//! Directives: conditionals, definitions, includes and pragmas. An excluded group is skipped from directive
//! to directive without looking at the text between.

use super::expand::{Conditional, Place, PpToken, Preprocessor, token_of};
use super::{Include, ProblemKind, Span, problem};
use crate::c_family::dialect::Dialect;
use crate::c_family::lexer::LexedFile;
use crate::c_family::token::{LINE_START, RawToken, SPACE_BEFORE, TokenKind};
use smol_str::SmolStr;

impl Preprocessor<'_> {
    /// Obeys the directive whose `#` was just taken, and leaves the cursor behind its line.
    pub(super) fn directive(&mut self, lexed: &LexedFile, hash: RawToken) {
        let Some(cursor) = self.cursors.last_mut() else {
            return;
        };
        let (start, instance, file) = (cursor.position, cursor.instance, cursor.file);
        let mut end = start;
        while lexed
            .tokens
            .get(end)
            .is_some_and(|raw| !raw.has(LINE_START))
        {
            end += 1;
        }
        cursor.position = end;
        let line = lexed.tokens.get(start..end).unwrap_or_default();
        let Some((&word, rest)) = line.split_first() else {
            return;
        };
        let span = Span::new(hash.start, line.last().map_or(hash.end, |last| last.end));
        match lexed.text_of(word) {
            // GNU's C library takes attributes away from compilers that it does not know; they are heard here, and layouts
            // depend on them.
            "define"
                if self.options.dialect == Dialect::C
                    && rest.first().is_some_and(|&name| {
                        matches!(lexed.text_of(name), "__attribute__" | "__attribute")
                    }) => {}
            "define" => {
                let tokens: Vec<PpToken> = rest
                    .iter()
                    .map(|&raw| token_of(lexed, raw, instance))
                    .collect();
                if !self.define(&tokens, Some(file)) {
                    self.problems.push(problem(
                        ProblemKind::Syntax,
                        file,
                        span,
                        "this macro definition is malformed",
                    ));
                }
            }
            "undef" => {
                if let Some(&name) = rest.first() {
                    self.note_word(lexed, name);
                    self.macros.remove(lexed.text_of(name));
                }
            }
            "include" | "include_next" | "import" => {
                self.include(lexed, rest, span, lexed.text_of(word) == "include_next")
            }
            "ifdef" | "ifndef" => {
                let defined = rest
                    .first()
                    .is_some_and(|&name| self.note_word(lexed, name));
                self.open(
                    lexed,
                    span,
                    defined == (lexed.text_of(word) == "ifdef"),
                    end,
                );
            }
            "if" => {
                let value = self.condition(lexed, rest, span);
                self.open(lexed, span, value, end);
            }
            "elif" | "elifdef" | "elifndef" => {
                let taken = self
                    .cursors
                    .last()
                    .and_then(|cursor| cursor.conditionals.last())
                    .map(|open| open.taken);
                let Some(taken) = taken else {
                    return self.problems.push(problem(
                        ProblemKind::Syntax,
                        file,
                        span,
                        "no conditional is open here",
                    ));
                };
                let value = !taken
                    && match lexed.text_of(word) {
                        "elif" => self.condition(lexed, rest, span),
                        other => {
                            rest.first()
                                .is_some_and(|&name| self.note_word(lexed, name))
                                == (other == "elifdef")
                        }
                    };
                if let Some(open) = self
                    .cursors
                    .last_mut()
                    .and_then(|cursor| cursor.conditionals.last_mut())
                {
                    open.taken |= value;
                }
                if !value {
                    self.skip_group(lexed, end);
                }
            }
            "else" => {
                let open = self
                    .cursors
                    .last_mut()
                    .and_then(|cursor| cursor.conditionals.last_mut());
                match open {
                    None => self.problems.push(problem(
                        ProblemKind::Syntax,
                        file,
                        span,
                        "no conditional is open here",
                    )),
                    Some(open) => {
                        let skip = open.taken;
                        let again = std::mem::replace(&mut open.seen_else, true);
                        open.taken = true;
                        if again {
                            self.problems.push(problem(
                                ProblemKind::Syntax,
                                file,
                                span,
                                "a second `#else`",
                            ));
                        }
                        if skip {
                            self.skip_group(lexed, end);
                        }
                    }
                }
            }
            "endif" => {
                if self
                    .cursors
                    .last_mut()
                    .and_then(|cursor| cursor.conditionals.pop())
                    .is_none()
                {
                    self.problems.push(problem(
                        ProblemKind::Syntax,
                        file,
                        span,
                        "no conditional is open here",
                    ));
                }
            }
            "error" => {
                let message = rest_of_line(lexed, rest);
                self.problems.push(problem(
                    ProblemKind::Unsupported,
                    file,
                    span,
                    format!("#error {message}"),
                ));
            }
            "pragma" => self.pragma(lexed, rest, span),
            "warning" | "line" | "ident" | "sccs" | "assert" => {}
            other if other.starts_with(|c: char| c.is_ascii_digit()) => {}
            other => {
                let message = format!("`#{other}` is no directive");
                self.problems
                    .push(problem(ProblemKind::Unsupported, file, span, message));
            }
        }
    }

    /// Returns true if a name on a directive's line is a macro; noted as a use.
    pub(super) fn note_word(&mut self, lexed: &LexedFile, name: RawToken) -> bool {
        let Some(found) = self.macros.get(lexed.text_of(name)).cloned() else {
            return false;
        };
        let instance = self.cursors.last().map_or(0, |cursor| cursor.instance);
        let token = token_of(lexed, name, instance);
        let span = token.place.span();
        self.note_use(&token, span, &found);
        true
    }

    fn open(&mut self, lexed: &LexedFile, span: Span, value: bool, end: usize) {
        if let Some(cursor) = self.cursors.last_mut() {
            cursor.conditionals.push(Conditional {
                taken: value,
                seen_else: false,
                span,
            });
        }
        if !value {
            self.skip_group(lexed, end);
        }
    }

    /// Moves the cursor to the directive that ends the group which begins at token `from`.
    fn skip_group(&mut self, lexed: &LexedFile, from: usize) {
        let first = lexed.directives.partition_point(|&at| (at as usize) < from);
        let mut depth = 0usize;
        let mut stop = lexed.tokens.len();
        for &at in lexed.directives.get(first..).unwrap_or_default() {
            let at = at as usize;
            let word = lexed
                .tokens
                .get(at + 1)
                .filter(|raw| !raw.has(LINE_START))
                .map_or("", |&raw| lexed.text_of(raw));
            match word {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" if depth > 0 => depth -= 1,
                "endif" | "else" | "elif" | "elifdef" | "elifndef" if depth == 0 => {
                    stop = at;
                    break;
                }
                _ => {}
            }
        }
        let bytes = lexed.text.as_bytes();
        let before = from
            .checked_sub(1)
            .and_then(|last| lexed.tokens.get(last))
            .map_or(0, |last| last.end as usize);
        let start = memchr::memchr(b'\n', bytes.get(before..).unwrap_or_default())
            .map_or(bytes.len(), |at| before + at + 1);
        let end = match lexed.tokens.get(stop) {
            None => bytes.len(),
            Some(hash) => {
                memchr::memrchr(b'\n', &bytes[..hash.start as usize]).map_or(0, |at| at + 1)
            }
        };
        if let Some(cursor) = self.cursors.last_mut() {
            cursor.position = stop;
            if start < end {
                self.inactive
                    .push((cursor.file, Span::new(start as u32, end as u32)));
            }
        }
    }

    fn include(&mut self, lexed: &LexedFile, rest: &[RawToken], span: Span, next: bool) {
        let Some((instance, file, depth)) = self
            .cursors
            .last()
            .map(|cursor| (cursor.instance, cursor.file, self.cursors.len()))
        else {
            return;
        };
        let Some((spec, angled)) = self.include_spec(lexed, rest, instance) else {
            if rest
                .first()
                .is_some_and(|first| first.kind == TokenKind::Ident)
            {
                let message = "no macro that is known gives this include a file";
                let kind = ProblemKind::MissingInclude;
                return self.problems.push(problem(kind, file, span, message));
            }
            return self.problems.push(problem(
                ProblemKind::Syntax,
                file,
                span,
                "`#include` needs a file in quotes or angle brackets",
            ));
        };
        let from = self
            .files
            .get(file.0 as usize)
            .map(|from| std::sync::Arc::clone(&from.path))
            .unwrap_or_default();
        let found = match next {
            true => self.resolver.resolve_next(&from, &spec, angled),
            false => self.resolver.resolve(&from, &spec, angled),
        };
        let resolved = found.map(|found| self.register(found));
        self.includes.push(Include {
            file,
            span,
            spec: spec.clone(),
            angled,
            resolved,
        });
        let Some(target) = resolved else {
            let message = format!("`{spec}` was not found; what it declares is unknown");
            return self
                .problems
                .push(problem(ProblemKind::MissingInclude, file, span, message));
        };
        let guarded = self
            .files
            .get(target.0 as usize)
            .and_then(|file| file.tokens.guard.as_ref());
        if self.once.contains(&target)
            || guarded.is_some_and(|guard| self.macros.contains_key(guard))
        {
            return;
        }
        let limits = self.options.limits;
        let times = self.entered.entry(target).or_insert(0);
        *times += 1;
        let times = *times;
        if times > limits.repetitions {
            // Told once a file, where it happens first.
            if times == limits.repetitions + 1 {
                let message = format!(
                    "`{spec}` is included more than {} times and is left out from here on; without a guard, does it include itself?",
                    limits.repetitions
                );
                self.limit_at(instance, span, message);
            }
            return;
        }
        if depth as u32 > limits.nesting {
            if !std::mem::replace(&mut self.nested_too_deeply, true) {
                let message = format!(
                    "includes are nested more than {} deep; deeper ones are left out",
                    limits.nesting
                );
                self.limit_at(instance, span, message);
            }
            return;
        }
        self.includes_entered += 1;
        if self.includes_entered > limits.includes {
            if self.includes_entered == limits.includes + 1 {
                let message = format!(
                    "more than {} files are included; the rest is left out",
                    limits.includes
                );
                self.limit_at(instance, span, message);
            }
            return;
        }
        self.enter(target, Some((instance, span)));
    }

    fn include_spec(
        &mut self,
        lexed: &LexedFile,
        rest: &[RawToken],
        instance: u32,
    ) -> Option<(SmolStr, bool)> {
        let first = *rest.first()?;
        match first.kind {
            TokenKind::Str => Some((unquoted(lexed.text_of(first))?, false)),
            TokenKind::Less => {
                let end = rest.last()?.end as usize;
                let text = lexed.text.get(first.end as usize..end)?;
                let close = text.find('>')?;
                Some((SmolStr::new(text[..close].trim()), true))
            }
            _ => {
                let tokens = rest
                    .iter()
                    .map(|&raw| token_of(lexed, raw, instance))
                    .collect();
                let tokens = self.expand_list(tokens);
                spec_of_tokens(&tokens)
            }
        }
    }

    fn pragma(&mut self, lexed: &LexedFile, rest: &[RawToken], span: Span) {
        let Some((instance, file)) = self
            .cursors
            .last()
            .map(|cursor| (cursor.instance, cursor.file))
        else {
            return;
        };
        if rest
            .first()
            .is_some_and(|&word| lexed.text_of(word) == "once")
        {
            self.once.insert(file);
            return;
        }
        let tokens = rest
            .iter()
            .map(|&raw| token_of(lexed, raw, instance))
            .collect();
        let tokens = pragma_tokens(
            tokens,
            Place {
                instance,
                start: span.start,
                end: span.end,
            },
        );
        if !tokens.is_empty() {
            self.inject(tokens);
        }
    }
}

/// `unroll`, `unroll N`, `unroll(N)`, `nounroll`, `pack_matrix(ORDER)`, `lockstep pipeline(WORD)`, `lockstep if_convert`, promises, `ivdep` and its
/// like as tokens for the parser; nothing for every other pragma.
pub(super) fn pragma_tokens(tokens: Vec<PpToken>, place: Place) -> Vec<PpToken> {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.spelling());
    let (name, skipped) = match (word(0), word(1)) {
        ("unroll" | "nounroll", _) => (tokens[0].text.clone(), 1),
        ("GCC" | "clang" | "nv", "unroll") => (tokens[1].text.clone(), 2),
        ("lockstep", "pipeline" | "if_convert") => (tokens[1].text.clone(), 2),
        ("lockstep", "aligned") => (SmolStr::new_static("promise_aligned"), 2),
        ("lockstep", "readable") => (SmolStr::new_static("promise_readable"), 2),
        ("lockstep", "rounds") => (SmolStr::new_static("promise_rounds"), 2),
        // StarCore's: `align *x 8`, `loop_count (4, 512, 4)`.
        ("align", "*") => (SmolStr::new_static("promise_aligned"), 2),
        ("loop_count", "(") => (SmolStr::new_static("promise_rounds"), 1),
        ("unroll_completely", _) => (SmolStr::new_static("unroll"), 1),
        ("pack_matrix", _) => (tokens[0].text.clone(), 1),
        // What else they say is of vectors.
        ("ivdep", _) | ("GCC", "ivdep") | ("omp", "simd") => {
            (SmolStr::new_static("ivdep"), tokens.len())
        }
        _ => return Vec::new(),
    };
    let mut result = vec![PpToken {
        text: name,
        place,
        kind: TokenKind::PragmaUnroll,
        flags: LINE_START,
    }];
    result.extend(tokens.into_iter().skip(skipped));
    result.push(PpToken {
        text: SmolStr::default(),
        place,
        kind: TokenKind::PragmaEnd,
        flags: 0,
    });
    result
}

/// Returns the file that `__has_include` or a computed `#include` names.
pub(super) fn spec_of_tokens(tokens: &[PpToken]) -> Option<(SmolStr, bool)> {
    let (first, rest) = tokens.split_first()?;
    match first.kind {
        TokenKind::Str => Some((unquoted(&first.text)?, false)),
        TokenKind::Less => {
            let mut spec = String::new();
            for token in rest {
                if token.kind == TokenKind::Greater {
                    return Some((SmolStr::new(spec), true));
                }
                if token.has(SPACE_BEFORE) && !spec.is_empty() {
                    spec.push(' ');
                }
                spec.push_str(token.spelling());
            }
            None
        }
        _ => None,
    }
}

fn unquoted(text: &str) -> Option<SmolStr> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.is_empty()).then(|| SmolStr::new(inner))
}

fn rest_of_line<'a>(lexed: &'a LexedFile, rest: &[RawToken]) -> &'a str {
    match (rest.first(), rest.last()) {
        (Some(first), Some(last)) => lexed
            .text
            .get(first.start as usize..last.end as usize)
            .unwrap_or(""),
        _ => "",
    }
}
