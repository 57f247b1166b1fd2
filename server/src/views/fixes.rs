//! Fixes that are made of the text alone, for findings that bring none: the analysis knows no characters.

use super::model::FileFix;
use facts::Code;
use syntax::Span;
use syntax::c_family::lexer::lex_fragment;
use syntax::c_family::token::TokenKind;

const MARK: &str = "NonUniformResourceIndex";

/// A fix for a finding at a span.
pub fn fix(code: Code, source: &str, span: Span) -> Option<FileFix> {
    let text = source.get(span.start as usize..span.end as usize)?;
    match code {
        Code::Fp64ByAccident => single_precision(text, span.start),
        Code::NeedlessNonuniform => without_mark(source, span),
        Code::NonuniformResourceIndex => with_mark(source, span),
        _ => None,
    }
}

/// `0.5 * x` with `0.5f`. The result is rounded differently, so the fix is not safe.
fn single_precision(text: &str, start: u32) -> Option<FileFix> {
    let mut edits = Vec::new();
    for token in lex_fragment(text)
        .iter()
        .filter(|token| token.kind == TokenKind::Number)
    {
        let spelling = text.get(token.start as usize..token.end as usize)?;
        let hexadecimal = spelling.starts_with("0x") || spelling.starts_with("0X");
        let real = spelling.contains(['.', 'e', 'E']);
        if real && !hexadecimal && spelling.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
            edits.push((Span::at(start + token.end), "f".to_owned()));
        }
    }
    (!edits.is_empty()).then(|| FileFix {
        title: "Compute in single precision: add the suffix `f`".to_owned(),
        edits,
        safe: false,
    })
}

/// `textures[i]` becomes `textures[NonUniformResourceIndex(i)]`. The finding's place is the element or its index.
fn with_mark(source: &str, span: Span) -> Option<FileFix> {
    let (start, end) = (span.start as usize, span.end as usize);
    let alone = source.get(..start)?.trim_end().ends_with('[')
        && source.get(end..)?.trim_start().starts_with(']');
    let (from, to) = if alone {
        (start, end)
    } else {
        let inside = source.get(start..end)?;
        let to = start + inside.trim_end().strip_suffix(']')?.len();
        let mut depth = 1usize;
        let open = source.get(start..to)?.bytes().rposition(|byte| {
            match byte {
                b']' => depth += 1,
                b'[' => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        (start + open + 1, to)
    };
    if source.get(from..to)?.trim().is_empty() {
        return None;
    }
    Some(FileFix {
        title: format!("Wrap in `{MARK}`"),
        edits: vec![
            (Span::at(from as u32), format!("{MARK}(")),
            (Span::at(to as u32), ")".to_owned()),
        ],
        safe: true,
    })
}

/// `NonUniformResourceIndex(i)` becomes `i`. The finding's place is the index or the marked index.
fn without_mark(source: &str, span: Span) -> Option<FileFix> {
    let inside = source.get(span.start as usize..span.end as usize)?;
    let mark = match inside.find(MARK) {
        Some(at) => span.start as usize + at,
        None => {
            let before = source
                .get(..span.start as usize)?
                .trim_end()
                .strip_suffix('(')?
                .trim_end();
            before.strip_suffix(MARK)?.len()
        }
    };
    let open = mark + MARK.len() + source.get(mark + MARK.len()..)?.find('(')?;
    if !source.get(mark + MARK.len()..open)?.trim().is_empty() {
        return None;
    }
    let mut depth = 0usize;
    for (at, byte) in source.bytes().enumerate().skip(open).take(4096) {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    let edits = vec![
                        (Span::new(mark as u32, open as u32 + 1), String::new()),
                        (Span::new(at as u32, at as u32 + 1), String::new()),
                    ];
                    return Some(FileFix {
                        title: format!("Remove `{MARK}`"),
                        edits,
                        safe: true,
                    });
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::model::edited;

    fn fixed(code: Code, source: &str, part: &str) -> Option<String> {
        let at = source.find(part)? as u32;
        let fix = fix(code, source, Span::new(at, at + part.len() as u32))?;
        edited(source, &fix.edits)
    }

    #[test]
    fn literals_get_their_suffix() {
        let changed = fixed(
            Code::Fp64ByAccident,
            "y = x * 0.5 + 1e3 - 2.f * 7 + 1.;",
            "x * 0.5 + 1e3 - 2.f * 7 + 1.",
        );
        assert_eq!(
            changed.as_deref(),
            Some("y = x * 0.5f + 1e3f - 2.f * 7 + 1.f;")
        );
        assert_eq!(fixed(Code::Fp64ByAccident, "y = x * d;", "x * d"), None);
    }

    #[test]
    fn the_mark_is_removed_from_inside_and_from_outside() {
        let source = "t[NonUniformResourceIndex((i + 1) * 2)]";
        let wanted = Some("t[(i + 1) * 2]".to_owned());
        assert_eq!(
            fixed(
                Code::NeedlessNonuniform,
                source,
                "NonUniformResourceIndex((i + 1) * 2)"
            ),
            wanted
        );
        assert_eq!(
            fixed(Code::NeedlessNonuniform, source, "(i + 1) * 2"),
            wanted
        );
        assert_eq!(fixed(Code::NeedlessNonuniform, "t[i]", "i"), None);
    }
}
