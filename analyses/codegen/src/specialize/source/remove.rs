//! A version taken back: the slow path is the original, so its text is put where the version stands.
//!
//! Found by the comment that a version begins with; the lines of declarations after it say which statements of the slow
//! path lost their type. Nothing is done where the text has been edited so far that this can't be told.

use super::MARK;
use syntax::Span;
use syntax::c_family::lexer::lex_fragment;
use syntax::c_family::token::{RawToken, TokenKind};

/// A version that was found around an offset.
#[derive(Clone, PartialEq, Debug)]
pub struct Removal {
    pub name: String,
    /// Absolute.
    pub edit: (Span, String),
    /// The vote and its arguments, as written.
    pub test: String,
}

struct Line<'a> {
    start: usize,
    /// The text without its end of line.
    text: &'a str,
    end: usize,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|whole| {
            let line = Line {
                start: at,
                text: whole.trim_end_matches(['\n', '\r']),
                end: at + whole.len(),
            };
            at += whole.len();
            line
        })
        .collect()
}

/// The innermost version around an offset of a file.
#[must_use]
pub fn remove(text: &str, offset: u32) -> Option<Removal> {
    if !text.contains(MARK) {
        return None;
    }
    let lines = lines(text);
    let mut best: Option<(Span, Removal)> = None;
    for at in 0..lines.len() {
        let Some(name) = lines[at]
            .text
            .trim_start()
            .strip_prefix("// ")
            .and_then(|rest| rest.strip_prefix(MARK))
        else {
            continue;
        };
        let Some(removal) = at_mark(text, &lines, at, name.trim()) else {
            continue;
        };
        let span = removal.edit.0;
        let around = span.start <= offset && offset <= span.end;
        if around
            && best
                .as_ref()
                .is_none_or(|(other, _)| span.len() <= other.len())
        {
            best = Some((span, removal));
        }
    }
    best.map(|(_, removal)| removal)
}

fn at_mark(text: &str, lines: &[Line<'_>], mark: usize, name: &str) -> Option<Removal> {
    let indent: &str = {
        let line = lines[mark].text;
        &line[..line.len() - line.trim_start().len()]
    };
    let mut at = mark + 1;
    let mut declared: Vec<&str> = Vec::new();
    while let Some(line) = lines.get(at) {
        let rest = line.text.strip_prefix(indent)?;
        if rest.starts_with("if (") {
            break;
        }
        // Declarations that a version around this one moved are not of this one.
        if !(rest.starts_with("// ") && rest.ends_with(" (above)")) {
            declared.push(rest);
        }
        at += 1;
    }
    let head = lines.get(at)?;
    let from = head.start + indent.len();
    let rest = text.get(from..)?;
    // A version is not longer than the rest of its file; the tokens behind it are not needed.
    let tokens = lex_fragment(rest);
    let kind = |at: usize| tokens.get(at).map_or(TokenKind::Eof, |token| token.kind);
    let word = |token: &RawToken| rest.get(token.start as usize..token.end as usize);
    let condition = matching(&tokens, 1, TokenKind::LParen, TokenKind::RParen)?;
    let first = matching(&tokens, condition + 1, TokenKind::LBrace, TokenKind::RBrace)?;
    // Where nothing is left of the fast path there is the slow one alone.
    let alone = tokens.get(first + 1).and_then(word) != Some("else");
    let test = rest.get(
        tokens
            .get(2 + usize::from(alone && kind(2) == TokenKind::Bang))?
            .start as usize..tokens.get(condition)?.start as usize,
    )?;
    let (open, close) = if alone {
        (condition + 1, first)
    } else {
        let other = tokens.get(first + 1)?;
        if word(other)? != "else" {
            return None;
        }
        let close = matching(&tokens, first + 2, TokenKind::LBrace, TokenKind::RBrace)?;
        (first + 2, close)
    };
    // Whole lines between the braces.
    let inner_start = from + tokens.get(open)?.end as usize;
    let inner_end = from + tokens.get(close)?.start as usize;
    let begin = lines.iter().position(|line| line.start >= inner_start)?;
    let finish = lines.iter().rposition(|line| line.end <= inner_end)?;
    let body = text.get(lines[begin].start..lines[finish].end)?;
    let unit = {
        let first = lex_fragment(body).first().copied()?;
        let start = body
            .get(..first.start as usize)?
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let leading = body.get(start..first.start as usize)?;
        leading.strip_suffix(indent)?
    };
    let mut out = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        out.push_str(if line.trim().is_empty() {
            line
        } else {
            line.strip_prefix(unit)?
        });
    }
    for line in declared {
        out = restored(&out, line)?;
    }
    let out = out.trim_end_matches(['\n', '\r']).to_owned();
    let end = from + tokens.get(close)?.end as usize;
    Some(Removal {
        name: name.to_owned(),
        edit: (Span::new(lines[mark].start as u32, end as u32), out),
        test: test.to_owned(),
    })
}

/// The token that closes the bracket at `at`.
fn matching(tokens: &[RawToken], at: usize, open: TokenKind, close: TokenKind) -> Option<usize> {
    let mut depth = 0usize;
    for (number, token) in tokens.iter().enumerate().skip(at) {
        if token.kind == open {
            depth += 1;
        } else if token.kind == close {
            depth = depth.checked_sub(1)?;
        }
        if depth == 0 {
            return (number > at).then_some(number);
        }
    }
    None
}

/// A body with the declaration of one line put back.
fn restored(body: &str, line: &str) -> Option<String> {
    // Moved as a whole.
    let kept = format!("// {line} (above)");
    if let Some(at) = body.find(&kept) {
        let mut out = body.to_owned();
        out.replace_range(at..at + kept.len(), line);
        return Some(out);
    }
    let (declaration, written) = match line.split_once(" // ") {
        Some((declaration, written)) => (declaration, Some(written)),
        None => (line, None),
    };
    let declaration = declaration.strip_suffix(';')?;
    let tokens = lex_fragment(declaration);
    // The names are at the end, with commas between them.
    let mut first = tokens
        .iter()
        .rposition(|token| token.kind == TokenKind::Ident)?;
    while first >= 2
        && tokens[first - 1].kind == TokenKind::Comma
        && tokens[first - 2].kind == TokenKind::Ident
    {
        first -= 2;
    }
    let name_at = tokens[first].start as usize;
    let name = declaration.get(name_at..tokens[first].end as usize)?;
    let list = declaration.get(name_at..)?;
    let prefix = match written {
        Some(written) => written.strip_suffix(list)?,
        None => declaration.get(..name_at)?,
    };
    let place = first_assignment(body, name)?;
    let mut out = body.to_owned();
    out.insert_str(place, prefix);
    Some(out)
}

/// Returns where the first statement of a body begins that assigns to a name.
fn first_assignment(body: &str, name: &str) -> Option<usize> {
    let tokens = lex_fragment(body);
    let mut depth = 0i32;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::LBrace | TokenKind::LParen | TokenKind::LBracket => depth += 1,
            TokenKind::RBrace | TokenKind::RParen | TokenKind::RBracket => depth -= 1,
            TokenKind::Ident if depth == 0 => {
                let text = body.get(token.start as usize..token.end as usize)?;
                let begins = at == 0
                    || matches!(
                        tokens[at - 1].kind,
                        TokenKind::Semicolon | TokenKind::RBrace | TokenKind::PragmaEnd
                    );
                let assigns = tokens
                    .get(at + 1)
                    .is_some_and(|next| next.kind == TokenKind::Equal);
                if begins && assigns && text == name {
                    return Some(token.start as usize);
                }
            }
            _ => {}
        }
    }
    None
}
