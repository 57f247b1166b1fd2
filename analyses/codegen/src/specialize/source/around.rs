//! The text around a version, as its judge reads it: which names hold what the zero gives, and which arrays nobody reads.

use super::check::{
    ASSIGN, Tok, assigned_outside, closing, declarations, is, lvalue, scope_end, skip_statement,
    toks, words,
};
use super::macros::defined;
use rustc_hash::FxHashSet;
use syntax::c_family::token::TokenKind;

/// The text around a version, as far as it tells what the region works on.
pub(super) struct Around<'a> {
    text: &'a str,
    /// The whole text with the slow path as a block in the region's place.
    tokens: Vec<Tok>,
    /// That block, by its places among the tokens.
    region: std::ops::Range<usize>,
    /// The tested name, and those that the statements directly in front of the region copy it to.
    pub(super) zeros: FxHashSet<String>,
}

impl<'a> Around<'a> {
    pub(super) fn new(
        text: &'a str,
        (start, end): (usize, usize),
        slow: &[Tok],
        name: &str,
    ) -> Self {
        let mut tokens = toks(text.get(..start).unwrap_or(""));
        let names = words(&toks(name));
        let mut zeros = zeros_in_front(&tokens, names.clone());
        let from = tokens.len();
        tokens.extend(toks("{"));
        tokens.extend_from_slice(slow);
        tokens.extend(toks("}"));
        let region = from..tokens.len();
        tokens.extend(toks(text.get(end..).unwrap_or("")));
        // A pointer may change what has one.
        zeros.retain(|name| names.contains(name) || !has_address_taken(&tokens, name));
        Around {
            text,
            tokens,
            region,
            zeros,
        }
    }

    /// An array of the function that nothing reads behind the region or in another iteration, and of which
    /// nothing else knows: stores to it may go where the fast path reads it no more. `moved`: its declaration stands
    /// in front of the check and was the region's.
    pub(super) fn unread(&self, name: &str, fast: &[Tok], moved: bool) -> bool {
        let tokens = &self.tokens;
        let at = self.region.start;
        let declared = match moved {
            true => Some(at),
            false => declarations(&tokens[..at])
                .into_iter()
                .rev()
                .find(|&at| tokens[at].text == name && is(tokens, at + 1, "[")),
        };
        let Some(declared) = declared.filter(|&it| moved || is_of_function(tokens, it)) else {
            return false;
        };
        // The region has a declaration that moved.
        let own = (declared..tokens.len()).find(|&at| tokens[at].text == name);
        let rows = own.map_or(0, |at| subscripts(tokens, at).0);
        let end = scope_end(tokens, declared);
        if end < at || tokens[declared..end].iter().any(|it| it.text == "goto") {
            return false;
        }
        let macros = defined(self.text);
        if macros
            .values()
            .any(|body| words(&toks(body)).contains(name))
        {
            return false;
        }
        let again = (declared..at).find(|&head| {
            let body = match tokens[head].text.as_str() {
                "for" | "while" => head,
                "do" => head + 1,
                _ => return false,
            };
            skip_statement(tokens, body) > at
        });
        let named = |&at: &usize| tokens[at].text == name;
        // A row, or what has its address taken, may be read anywhere.
        let whole = |at: usize| subscripts(tokens, at).0 < rows || tokens[at - 1].text == "&";
        // In another iteration the region reads what it stored, or did not.
        let read = |at: usize| {
            let (_, next) = subscripts(tokens, at);
            !is(tokens, next, "=") || !matches!(tokens[at - 1].text.as_str(), ";" | "{" | "}")
        };
        // Nothing is executed behind a path that ends the function.
        let ends = ends_function(fast);
        let (from, to) = if ends {
            (end, end)
        } else {
            (again.unwrap_or(at), end)
        };
        let elsewhere = |at: &usize| !self.region.contains(at);
        let around = (from..to).filter(elsewhere).any(|at| named(&at));
        let inside = match again {
            Some(_) if !ends => self.region.clone().filter(named).any(read),
            _ => false,
        };
        let known = (declared + 1..end).filter(named).any(whole);
        let copied = fast.iter().any(|token| token.text == name);
        let read = around || inside || known || copied;
        rows > 0 && !read
    }
}

/// The subscripts behind a name, and the place behind them.
fn subscripts(tokens: &[Tok], name: usize) -> (usize, usize) {
    let (mut count, mut at) = (0, name + 1);
    while is(tokens, at, "[") {
        let Some(close) = closing(tokens, at) else {
            break;
        };
        (count, at) = (count + 1, close + 1);
    }
    (count, at)
}

/// A variable of a function, not one of its parameters nor one that outlives the call.
fn is_of_function(tokens: &[Tok], declared: usize) -> bool {
    let (mut depth, mut parentheses, mut in_statement) = (0, 0, true);
    let (mut in_body, mut outlives) = (false, false);
    for at in (0..declared).rev() {
        let text = tokens[at].text.as_str();
        match text {
            ";" | "{" | "}" => in_statement = false,
            "(" if in_statement => parentheses += 1,
            ")" if in_statement => parentheses -= 1,
            "static" | "extern" | "__shared__" | "groupshared" | "shared" | "typedef" => {
                outlives |= in_statement;
            }
            _ => {}
        }
        match text {
            "}" => depth += 1,
            "{" if depth > 0 => depth -= 1,
            "{" => in_body |= at > 0 && tokens[at - 1].text == ")",
            _ => {}
        }
    }
    in_body && parentheses == 0 && !outlives
}

/// `&name` stands somewhere, and is no product of bits.
fn has_address_taken(tokens: &[Tok], name: &str) -> bool {
    (2..tokens.len()).any(|at| {
        tokens[at].text == name
            && tokens[at - 1].text == "&"
            && !matches!(tokens[at - 2].kind, TokenKind::Ident | TokenKind::Number)
            && !matches!(tokens[at - 2].text.as_str(), ")" | "]")
    })
}

/// The last statement of a path is a `return`, by itself or as the last one of a block of its own.
fn ends_function(path: &[Tok]) -> bool {
    let first = |at: usize| at == 0 || matches!(path[at - 1].text.as_str(), ";" | "{" | "}");
    let mut end = path.len();
    while let Some(inner) = end.checked_sub(1).filter(|&at| path[at].text == "}") {
        let mut opened = (0..inner).rev().filter(|&at| path[at].text == "{");
        let open = opened.find(|&at| closing(path, at) == Some(inner));
        if !open.is_some_and(first) {
            return false;
        }
        end = inner;
    }
    let last = path[..end].iter().rposition(|token| token.text == "return");
    last.is_some_and(|at| first(at) && skip_statement(&path[..end], at) == end)
}

/// A statement at the commas outside of its parentheses.
fn declarators(statement: &[Tok]) -> Vec<&[Tok]> {
    let mut depth = 0;
    let parts = statement.split(|token| {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token.text == ","
    });
    parts.collect()
}

/// `x = name`, `x = (T)name`, `x = T(name)`, `x = -name` of one of some names, or of a lane of it.
fn copies(part: &[Tok], names: &FxHashSet<String>) -> bool {
    let Some(set) = part.iter().position(|token| token.text == "=") else {
        return false;
    };
    let value: Vec<&Tok> = part[set + 1..]
        .iter()
        .filter(|token| !matches!(token.text.as_str(), "(" | ")" | "-" | "." | ";"))
        .collect();
    let types = |tokens: &[&Tok]| tokens.iter().all(|token| is_type(&token.text));
    let lane = |text: &str| matches!(text, "x" | "y" | "z" | "w");
    match value.as_slice() {
        [types_in_front @ .., name, of] if lane(&of.text) && names.contains(&name.text) => {
            types(types_in_front)
        }
        [types_in_front @ .., name] => names.contains(&name.text) && types(types_in_front),
        [] => false,
    }
}

pub(super) fn is_type(word: &str) -> bool {
    matches!(
        word,
        "int" | "unsigned" | "long" | "short" | "char" | "float" | "double" | "half" | "uint"
    )
}

/// The names that `names` are copied to where these tokens end: by the statements of the last block,
/// behind the last one that sets the names, each executed once.
fn zeros_in_front(before: &[Tok], names: FxHashSet<String>) -> FxHashSet<String> {
    let mut zeros = names.clone();
    let mut block = before.len();
    let mut depth = 0;
    while let Some(at) = block.checked_sub(1) {
        match before[at].text.as_str() {
            "}" => depth += 1,
            "{" if depth == 0 => break,
            "{" => depth -= 1,
            _ => {}
        }
        block = at;
    }
    let own = &before[block..];
    let sets = |statement: &[Tok]| {
        (0..statement.len()).any(|at| {
            let word = match statement[at].text.as_str() {
                "++" | "--" => lvalue(statement, at).or(Some(at + 1)),
                text if ASSIGN.contains(&text) => lvalue(statement, at),
                _ => None,
            };
            let word = word.and_then(|word| statement.get(word));
            word.is_some_and(|word| names.contains(&word.text))
        })
    };
    let mut at = 0;
    while at < own.len() {
        let end = skip_statement(own, at).max(at + 1).min(own.len());
        let statement = &own[at..end];
        at = end;
        // What was computed from the value before tells nothing.
        if sets(statement) {
            zeros.clone_from(&names);
            continue;
        }
        let once = !matches!(
            statement[0].text.as_str(),
            "if" | "else" | "for" | "while" | "do" | "switch" | "case" | "{"
        ) && !statement.iter().any(|it| it.text == ":" || it.text == "?");
        let parts = if once {
            declarators(statement)
        } else {
            vec![statement]
        };
        for part in parts {
            let mut assigned = assigned_outside(part);
            let declared = declarations(part).into_iter();
            assigned.extend(declared.map(|at| part[at].text.clone()));
            if once && assigned.len() == 1 && copies(part, &zeros) {
                zeros.extend(assigned);
            } else {
                zeros.retain(|name| names.contains(name) || !assigned.contains(name));
            }
        }
    }
    zeros
}
