//! The text around a version, as its judge reads it: which names hold what the zero gives, and which arrays nobody reads.

use super::check::{
    ASSIGN, Tok, assigned_outside, closing, declarations, is, lvalue, names_any, scope_end,
    skip_statement, toks, words,
};
use rustc_hash::FxHashSet;

/// The text around a version, as far as it tells what the region works on.
pub(super) struct Around {
    /// The whole text with the slow path as a block in the region's place.
    tokens: Vec<Tok>,
    /// That block, by its places among the tokens.
    region: std::ops::Range<usize>,
    /// The tested name, and what the statements directly in front of the region compute from it.
    pub(super) zeros: FxHashSet<String>,
}

impl Around {
    pub(super) fn new(text: &str, (start, end): (usize, usize), slow: &[Tok], name: &str) -> Self {
        let mut tokens = toks(text.get(..start).unwrap_or(""));
        let zeros = zeros_in_front(&tokens, words(&toks(name)));
        let from = tokens.len();
        tokens.extend(toks("{"));
        tokens.extend_from_slice(slow);
        tokens.extend(toks("}"));
        let region = from..tokens.len();
        tokens.extend(toks(text.get(end..).unwrap_or("")));
        Around {
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
        let declared = declarations(&tokens[..at])
            .into_iter()
            .rev()
            .find(|&at| !moved && tokens[at].text == name && is(tokens, at + 1, "["));
        let Some(declared) = declared.or(moved.then_some(at)) else {
            return false;
        };
        let end = scope_end(tokens, declared);
        if end < at || tokens[declared..end].iter().any(|it| it.text == "goto") {
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
        // Nothing is executed behind a path that ends the function.
        let read_later = match ends_function(fast) {
            true => end..end,
            false => again.unwrap_or(at)..end,
        };
        let elsewhere = |at: &usize| !self.region.contains(at);
        // What stands without an index, or whose address is taken, may be read anywhere.
        let whole = |at: usize| !is(tokens, at + 1, "[") || tokens[at - 1].text == "&";
        !(declared + 1..end).filter(named).any(whole)
            && !read_later.filter(elsewhere).any(|at| named(&at))
            && !fast.iter().any(|token| token.text == name)
    }
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

/// The names that hold what is computed from `names` where these tokens end: by the statements of the last block,
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
            if once && assigned.len() == 1 && names_any(part, &zeros) {
                zeros.extend(assigned);
            } else {
                zeros.retain(|name| names.contains(name) || !assigned.contains(name));
            }
        }
    }
    zeros
}
