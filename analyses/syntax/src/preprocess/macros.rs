//! Macros: definitions, and the substitution of arguments into its replacement list with `#`, `##`,
//! `__VA_ARGS__` and `__VA_OPT__`.

use super::expand::{Place, PpToken, Preprocessor};
use super::{MacroDefinition, Span};
use crate::c_family::lexer::lex_fragment;
use crate::c_family::token::{FROM_MACRO, RawToken, SPACE_BEFORE, TokenKind};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::cell::Cell;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Builtin {
    Line,
    File,
    Counter,
    /// `_Pragma("...")` and `__pragma(...)`.
    Pragma,
}

#[derive(Debug)]
pub(super) struct Macro {
    pub(super) definition: Option<u32>,
    pub(super) parameters: Option<Vec<SmolStr>>,
    /// The last parameter takes all that is left.
    pub(super) variadic: bool,
    pub(super) builtin: Option<Builtin>,
    body: Vec<BodyToken>,
    /// Its expansion is being read.
    pub(super) active: Cell<bool>,
}

#[derive(Clone, Debug)]
struct BodyToken {
    text: SmolStr,
    kind: TokenKind,
    flags: u8,
    parameter: Option<u32>,
    stringify: bool,
    /// `##` stands behind it.
    paste: bool,
}

impl Macro {
    fn builtin(builtin: Builtin) -> Macro {
        let (parameters, body) = (None, Vec::new());
        Macro {
            definition: None,
            parameters,
            variadic: false,
            builtin: Some(builtin),
            body,
            active: Cell::new(false),
        }
    }
}

/// A definition's parts: from the tokens behind `define`.
pub(super) fn parse(tokens: &[PpToken]) -> Option<(Macro, MacroDefinition)> {
    let name = tokens
        .first()
        .filter(|name| name.kind == TokenKind::Ident)?;
    let mut at = 1;
    let mut parameters = None;
    let mut variadic = false;
    if tokens
        .get(1)
        .is_some_and(|next| next.kind == TokenKind::LParen && !next.has(SPACE_BEFORE))
    {
        let mut names: Vec<SmolStr> = Vec::new();
        at = 2;
        loop {
            let token = tokens.get(at)?;
            at += 1;
            match token.kind {
                TokenKind::RParen => break,
                TokenKind::Comma => {}
                TokenKind::Ident => names.push(token.text.clone()),
                TokenKind::Ellipsis => {
                    let named = at >= 2 && tokens[at - 2].kind == TokenKind::Ident;
                    if !named {
                        names.push(SmolStr::new_static("__VA_ARGS__"));
                    }
                    variadic = true;
                }
                _ => return None,
            }
        }
        parameters = Some(names);
    }
    let body_span = match (tokens.get(at), tokens.last()) {
        (Some(first), Some(last)) => Span::new(first.place.start, last.place.end),
        _ => Span::at(tokens.last().map_or(0, |last| last.place.end)),
    };
    let body = body(tokens.get(at..).unwrap_or_default(), parameters.as_deref());
    let definition = MacroDefinition {
        name: name.text.clone(),
        file: None,
        name_span: name.place.span(),
        body_span,
        parameters: parameters.clone(),
        variadic,
    };
    Some((
        Macro {
            definition: None,
            parameters,
            variadic,
            builtin: None,
            body,
            active: Cell::new(false),
        },
        definition,
    ))
}

fn body(tokens: &[PpToken], parameters: Option<&[SmolStr]>) -> Vec<BodyToken> {
    let mut result: Vec<BodyToken> = Vec::with_capacity(tokens.len());
    let mut stringify = false;
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    for (number, name) in parameters.unwrap_or_default().iter().enumerate() {
        numbers.entry(name).or_insert(number as u32);
    }
    for (index, token) in tokens.iter().enumerate() {
        let parameter = match token.kind {
            TokenKind::Ident => numbers.get(token.text.as_str()).copied(),
            _ => None,
        };
        if token.kind == TokenKind::HashHash && index > 0 && index + 1 < tokens.len() {
            if let Some(last) = result.last_mut() {
                last.paste = true;
            }
            continue;
        }
        if token.kind == TokenKind::Hash
            && tokens.get(index + 1).is_some_and(|next| {
                next.kind == TokenKind::Ident && numbers.contains_key(next.text.as_str())
            })
        {
            stringify = true;
            continue;
        }
        let flags = token.flags & SPACE_BEFORE | FROM_MACRO;
        result.push(BodyToken {
            text: token.text.clone(),
            kind: token.kind,
            flags,
            parameter,
            stringify,
            paste: false,
        });
        stringify = false;
    }
    result
}

/// An argument as written, and expanded when that was asked for.
struct Argument {
    written: Vec<PpToken>,
    expanded: Option<Vec<PpToken>>,
}

/// The replacement list with the arguments in place. Tokens of the list stand at `place`, those of arguments where they
/// were written.
pub(super) fn substitute(
    preprocessor: &mut Preprocessor<'_>,
    source: &Macro,
    arguments: Vec<Vec<PpToken>>,
    place: Place,
) -> Vec<PpToken> {
    let mut arguments: Vec<Argument> = arguments
        .into_iter()
        .map(|written| Argument {
            written,
            expanded: None,
        })
        .collect();
    let mut out = Vec::with_capacity(source.body.len());
    let mut paste = false;
    let mut left_is_empty = false;
    let mut at = 0;
    while let Some(token) = source.body.get(at) {
        at += 1;
        if token.kind == TokenKind::Ident && source.variadic && token.text == "__VA_OPT__" {
            let (close, present) = va_opt(preprocessor, source, &mut arguments, at);
            match close {
                Some(close) if present => {
                    // The contents are read in place; the closing parenthesis is dropped with them.
                    let inner = &source.body[at + 1..close];
                    let inner_source = Macro {
                        definition: None,
                        parameters: None,
                        variadic: false,
                        builtin: None,
                        body: inner.to_vec(),
                        active: Cell::new(false),
                    };
                    let written = arguments
                        .iter()
                        .map(|argument| argument.written.clone())
                        .collect();
                    out.extend(substitute(preprocessor, &inner_source, written, place));
                    at = close + 1;
                    continue;
                }
                Some(close) => {
                    at = close + 1;
                    continue;
                }
                None => {}
            }
        }
        let mut operand: Vec<PpToken> = match token.parameter {
            None => vec![PpToken {
                text: token.text.clone(),
                place,
                kind: token.kind,
                flags: token.flags,
            }],
            Some(index) => match arguments.get_mut(index as usize) {
                None => Vec::new(),
                Some(argument) if token.stringify => {
                    let text = stringized(&argument.written);
                    vec![PpToken {
                        text,
                        place,
                        kind: TokenKind::Str,
                        flags: token.flags,
                    }]
                }
                Some(argument) if paste || token.paste => argument.written.clone(),
                Some(argument) => {
                    let written = &argument.written;
                    argument
                        .expanded
                        .get_or_insert_with(|| preprocessor.expand_list(written.clone()))
                        .clone()
                }
            },
        };
        if token.parameter.is_some()
            && !token.stringify
            && let Some(first) = operand.first_mut()
        {
            first.flags = first.flags & !SPACE_BEFORE | token.flags & SPACE_BEFORE;
        }
        let empty = operand.is_empty();
        if paste && !left_is_empty && !empty {
            let last_is_comma = out
                .last()
                .is_some_and(|last: &PpToken| last.kind == TokenKind::Comma);
            let rest = token
                .parameter
                .is_some_and(|index| source.variadic && index as usize + 1 == arguments.len());
            if last_is_comma && rest {
                out.append(&mut operand);
            } else if let Some(left) = out.pop() {
                let mut operand = operand.into_iter();
                if let Some(right) = operand.next() {
                    pasted(left, right, place, &mut out);
                }
                out.extend(operand);
            }
        } else {
            if paste && empty && !left_is_empty {
                // GNU: `, ## __VA_ARGS__` without arguments takes the comma away.
                let rest = token
                    .parameter
                    .is_some_and(|index| source.variadic && index as usize + 1 == arguments.len());
                if rest
                    && out
                        .last()
                        .is_some_and(|last: &PpToken| last.kind == TokenKind::Comma)
                {
                    out.pop();
                }
            }
            out.append(&mut operand);
        }
        left_is_empty = empty && (!paste || left_is_empty);
        paste = token.paste;
    }
    out
}

/// The index of the `)` that closes `__VA_OPT__(` and whether the variable arguments give any token.
fn va_opt(
    preprocessor: &mut Preprocessor<'_>,
    source: &Macro,
    arguments: &mut [Argument],
    at: usize,
) -> (Option<usize>, bool) {
    if source
        .body
        .get(at)
        .is_none_or(|open| open.kind != TokenKind::LParen)
    {
        return (None, false);
    }
    let mut depth = 0;
    let close = source
        .body
        .iter()
        .enumerate()
        .skip(at)
        .find_map(|(index, token)| {
            match token.kind {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(index)
        });
    let present = arguments.last_mut().is_some_and(|rest| {
        let written = &rest.written;
        !rest
            .expanded
            .get_or_insert_with(|| preprocessor.expand_list(written.clone()))
            .is_empty()
    });
    (close, present)
}

/// `left ## right`: one token when the spellings make one, both otherwise.
fn pasted(left: PpToken, right: PpToken, place: Place, out: &mut Vec<PpToken>) {
    let mut text = String::with_capacity(left.spelling().len() + right.spelling().len());
    text.push_str(left.spelling());
    text.push_str(right.spelling());
    if let [RawToken { kind, .. }] = lex_fragment(&text)[..] {
        let spelled = matches!(
            kind,
            TokenKind::Ident
                | TokenKind::Number
                | TokenKind::Str
                | TokenKind::Char
                | TokenKind::Error
        );
        let spelling = if spelled {
            SmolStr::new(&text)
        } else {
            SmolStr::default()
        };
        out.push(PpToken {
            text: spelling,
            place,
            kind,
            flags: left.flags & SPACE_BEFORE | FROM_MACRO,
        });
    } else {
        out.push(left);
        out.push(right);
    }
}

fn stringized(tokens: &[PpToken]) -> SmolStr {
    let mut text = String::from("\"");
    for (index, token) in tokens.iter().enumerate() {
        if index > 0 && token.has(SPACE_BEFORE) {
            text.push(' ');
        }
        let literal = matches!(token.kind, TokenKind::Str | TokenKind::Char);
        for c in token.spelling().chars() {
            if literal && matches!(c, '"' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
    }
    text.push('"');
    SmolStr::new(text)
}

/// The tokens of `_Pragma`'s string, or of `__pragma`'s parentheses.
pub(super) fn destringized(tokens: Vec<PpToken>, place: Place) -> Vec<PpToken> {
    let [
        PpToken {
            kind: TokenKind::Str,
            text,
            ..
        },
    ] = &tokens[..]
    else {
        return tokens;
    };
    let inner = text
        .trim_start_matches(['L', 'u', 'U', '8'])
        .trim_matches('"')
        .replace("\\\"", "\"")
        .replace("\\\\", "\\");
    fragment(&inner, place)
}

/// A text's tokens, all at one place.
pub(super) fn fragment(text: &str, place: Place) -> Vec<PpToken> {
    let spelled = |kind| {
        matches!(
            kind,
            TokenKind::Ident
                | TokenKind::Number
                | TokenKind::Str
                | TokenKind::Char
                | TokenKind::Error
        )
    };
    lex_fragment(text)
        .into_iter()
        .map(|raw| {
            let spelling = if spelled(raw.kind) {
                &text[raw.start as usize..raw.end as usize]
            } else {
                ""
            };
            PpToken {
                text: SmolStr::new(spelling),
                place,
                kind: raw.kind,
                flags: raw.flags & SPACE_BEFORE,
            }
        })
        .collect()
}

impl Preprocessor<'_> {
    /// The dialect's macros, then the options'.
    pub(super) fn predefine(&mut self) {
        let builtins = [
            ("__LINE__", Builtin::Line),
            ("__FILE__", Builtin::File),
            ("__COUNTER__", Builtin::Counter),
            ("_Pragma", Builtin::Pragma),
            ("__pragma", Builtin::Pragma),
        ];
        for (name, builtin) in builtins {
            self.enter_macro(SmolStr::new_static(name), Macro::builtin(builtin));
        }
        for definition in self.options.dialect.predefined() {
            self.define_option(definition);
        }
        let options = self.options;
        for name in &options.undefines {
            self.macros.remove(name);
        }
        for definition in &options.defines {
            self.define_option(definition);
        }
    }

    fn define_option(&mut self, definition: &str) {
        let place = Place {
            instance: u32::MAX,
            start: 0,
            end: 0,
        };
        let (head, value) = definition.split_once('=').unwrap_or((definition, "1"));
        let mut tokens = fragment(head.trim(), place);
        let head_length = tokens.len();
        tokens.extend(fragment(value, place));
        if let Some(first) = tokens.get_mut(head_length) {
            first.flags |= SPACE_BEFORE;
        }
        self.define(&tokens, None);
    }

    /// Enters a definition; false when it is malformed.
    pub(super) fn define(&mut self, tokens: &[PpToken], file: Option<super::FileId>) -> bool {
        let Some((mut parsed, mut definition)) = parse(tokens) else {
            return false;
        };
        definition.file = file;
        parsed.definition = Some(self.definitions.len() as u32);
        let name = definition.name.clone();
        self.definitions.push(definition);
        self.enter_macro(name, parsed);
        true
    }
}
