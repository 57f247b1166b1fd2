//! Kernels behind a conditional that is false, and the settings that would show them.

use syntax::c_family::lexer::LexedFile;
use syntax::c_family::token::{LINE_START, RawToken, TokenKind};
use syntax::{Problem, ProblemKind, Span};

/// The most regions of a file that are reported.
const MOST: usize = 32;

/// A note for each region without tokens that holds kernels of names that are `known` nowhere else.
pub(super) fn kernels(
    lexed: &LexedFile,
    regions: &[Span],
    known: &dyn Fn(&str) -> bool,
) -> Vec<Problem> {
    let told = regions.iter().filter_map(|&region| {
        let mut names = kernels_in(lexed, region);
        names.retain(|name| !known(name));
        let (first, rest) = names.split_first()?;
        let stands = match rest {
            [] => format!("kernel `{first}` stands"),
            [_] => format!("kernel `{first}` and another stand"),
            more => format!("kernel `{first}` and {} more stand", more.len()),
        };
        let (directive, why) = condition(lexed, region)?;
        let message = format!("{stands} behind {why}");
        Some(Problem::new(ProblemKind::Note, directive, message))
    });
    told.take(MOST).collect()
}

fn kernels_in(lexed: &LexedFile, region: Span) -> Vec<&str> {
    let from = lexed.tokens.partition_point(|raw| raw.start < region.start);
    let tokens = lexed.tokens.get(from..).unwrap_or_default();
    let end = tokens.partition_point(|raw| raw.start < region.end);
    let tokens = tokens.get(..end).unwrap_or_default();
    let mut names = Vec::new();
    for (at, raw) in tokens.iter().enumerate() {
        let marks = raw.kind == TokenKind::Ident
            && matches!(lexed.text_of(*raw), "__global__" | "numthreads");
        // In a directive the word is defined, and no kernel.
        if marks && !is_in_directive(tokens, at) {
            names.extend(name_behind(lexed, tokens.get(at + 1..).unwrap_or_default()));
        }
    }
    names
}

fn is_in_directive(tokens: &[RawToken], at: usize) -> bool {
    let line = tokens.get(..=at).unwrap_or_default();
    let first = line.iter().rfind(|raw| raw.has(LINE_START));
    first.is_some_and(|raw| raw.kind == TokenKind::Hash)
}

/// The name in front of the parameters of a definition; a declaration has none.
fn name_behind<'a>(lexed: &'a LexedFile, tokens: &[RawToken]) -> Option<&'a str> {
    const LONGEST: usize = 2_000;
    let (mut depth, mut name, mut last) = (0usize, None, None);
    for raw in tokens.iter().take(LONGEST) {
        match raw.kind {
            TokenKind::LParen => {
                if depth == 0 && name.is_none() {
                    let is_attribute = |word: &&str| !word.starts_with("__");
                    name = last.filter(is_attribute);
                }
                depth += 1;
            }
            TokenKind::RParen => depth = depth.saturating_sub(1),
            TokenKind::Ident if depth == 0 => last = Some(lexed.text_of(*raw)),
            // The attribute of HLSL ends.
            TokenKind::RBracket if depth == 0 => (name, last) = (None, None),
            TokenKind::LBrace if depth == 0 => return name,
            TokenKind::Semicolon if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The directive in front of a region that holds declarations, and its text.
pub(super) fn condition_of(lexed: &LexedFile, region: Span) -> Option<(Span, String)> {
    let from = lexed.tokens.partition_point(|raw| raw.start < region.start);
    let tokens = lexed.tokens.get(from..).unwrap_or_default();
    let inside = || tokens.iter().take_while(|raw| raw.start < region.end);
    let ends = inside().any(|raw| matches!(raw.kind, TokenKind::Semicolon | TokenKind::RBrace));
    ends.then(|| condition(lexed, region))?
}

/// The directive in front of a region, and its text.
fn condition(lexed: &LexedFile, region: Span) -> Option<(Span, String)> {
    let directives = &lexed.directives;
    let behind = directives.partition_point(|&at| {
        let raw = lexed.tokens.get(at as usize);
        raw.is_some_and(|raw| raw.start < region.start)
    });
    let own = behind.checked_sub(1)?;
    let (span, word, rest) = line(lexed, *directives.get(own)? as usize)?;
    let names = identifiers(lexed, &rest);
    let text = written(lexed, &rest);
    let why = match (word, names.as_slice()) {
        ("ifdef" | "elifdef", [name]) => {
            format!("`#{word} {name}`: `-D {name}`, or `defines` of lockstep.toml, shows it")
        }
        ("if" | "elif", [name]) if text.starts_with("defined") => {
            format!("`#{word} {text}`: `-D {name}`, or `defines` of lockstep.toml, shows it")
        }
        ("ifndef" | "elifndef", [name]) => {
            format!("`#{word} {name}`, and `{name}` is defined")
        }
        ("if" | "elif", [name, ..]) => format!(
            "`#{word} {text}`, which is false here: a value of `{name}` (`-D {name}=...`, or `defines` of lockstep.toml) may show it"
        ),
        ("if" | "elif", []) => format!("`#{word} {text}`, which is false"),
        ("else", _) => {
            let mut depth = 0;
            let opening = directives.get(..own)?.iter().rev().find_map(|&at| {
                let (_, word, rest) = line(lexed, at as usize)?;
                match word {
                    "endif" => depth += 1,
                    "if" | "ifdef" | "ifndef" if depth > 0 => depth -= 1,
                    "if" | "ifdef" | "ifndef" => {
                        return Some(format!("#{word} {}", written(lexed, &rest)));
                    }
                    _ => {}
                }
                None
            })?;
            format!("the `#else` of `{opening}`, which is true here")
        }
        _ => return None,
    };
    Some((span, why))
}

/// A directive's span, its word and the rest of its line.
fn line(lexed: &LexedFile, hash: usize) -> Option<(Span, &str, Vec<RawToken>)> {
    let tokens = lexed.tokens.get(hash..)?;
    let (first, rest) = tokens.split_first()?;
    let own = rest.iter().take_while(|raw| !raw.has(LINE_START));
    let mut own: Vec<RawToken> = own.copied().collect();
    let end = own.last()?.end;
    let word = lexed.text_of(own.remove(0));
    Some((Span::new(first.start, end), word, own))
}

fn identifiers<'a>(lexed: &'a LexedFile, tokens: &[RawToken]) -> Vec<&'a str> {
    let words = tokens.iter().filter(|raw| raw.kind == TokenKind::Ident);
    let names = words.map(|raw| lexed.text_of(*raw));
    names.filter(|name| *name != "defined").collect()
}

fn written<'a>(lexed: &'a LexedFile, tokens: &[RawToken]) -> &'a str {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => {
            let range = first.start as usize..last.end as usize;
            lexed.text.get(range).unwrap_or("")
        }
        _ => "",
    }
}
