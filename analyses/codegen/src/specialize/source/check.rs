//! Judges a version by its text and the tree of the result alone; shares no code with the rewriting.
//!
//! The rules, each with its violation:
//! 1. outside of the version the file's tokens are unchanged;
//! 2. the slow path's tokens are those of the original, but for the types of variables that are declared before the check;
//! 3. the check tests only whether the named value is zero, for all lanes if it votes, and stands before both
//!    paths;
//! 4. variables declared before the check are assigned on the fast path wherever they are on the slow one;
//! 5. the fast path assigns nothing that the slow one does not;
//! 6. effects at the top of the region (stores, unknown calls, ends of lanes, jumps) are on the fast path, in
//!    order, except for stores by operators that change nothing because their operand is computed from the
//!    zero (`p[i] |= x`).
//!
//! Names are compared by spelling, those that are assigned also by the blocks that declare them.

use super::MARK;
use super::around::Around;
use rustc_hash::FxHashSet;
use syntax::Span;
use syntax::c_family::lexer::lex_fragment;
use syntax::c_family::token::TokenKind;

/// A rule that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    #[error("there is no version at the place of the edit")]
    NotThere,
    #[error("text outside of the version changed at byte {0}")]
    Outside(usize),
    #[error("the slow path differs from the original: `{found}` stands for `{wanted}`")]
    Slow { found: String, wanted: String },
    #[error("the check does not ask whether `{0}` is zero in all lanes: `{1}`")]
    Test(String, String),
    #[error("`{0}` is not assigned on the fast path")]
    Unassigned(String),
    #[error("`{0}` is assigned on the fast path only")]
    Added(String),
    #[error("an effect is lost or moved: `{0}`")]
    Effect(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tok {
    pub(super) text: String,
    pub(super) kind: TokenKind,
    start: usize,
    end: usize,
}

pub(super) fn toks(text: &str) -> Vec<Tok> {
    lex_fragment(text)
        .into_iter()
        .filter(|token| token.kind != TokenKind::Eof)
        .map(|token| Tok {
            text: text
                .get(token.start as usize..token.end as usize)
                .unwrap_or("")
                .to_owned(),
            kind: token.kind,
            start: token.start as usize,
            end: token.end as usize,
        })
        .collect()
}

pub(super) fn is(tokens: &[Tok], at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.text == text)
}

pub(super) fn closing(tokens: &[Tok], open: usize) -> Option<usize> {
    let pair = match tokens.get(open)?.text.as_str() {
        "(" => ("(", ")"),
        "{" => ("{", "}"),
        "[" => ("[", "]"),
        _ => return None,
    };
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.text == pair.0 {
            depth += 1;
        }
        if token.text == pair.1 {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// `edit` turns `before` into `after`; `effects` says of a called name that its call can be left out.
///
/// # Errors
/// The first rule that does not hold.
pub fn check(
    before: &str,
    after: &str,
    edit: (Span, usize),
    harmless: &dyn Fn(&str) -> bool,
) -> Result<(), Violation> {
    let (span, length) = edit;
    let (start, end) = (span.start as usize, span.end as usize);
    let head_same = before.get(..start) == after.get(..start);
    let tail_same = before.get(end..) == after.get(start + length..);
    if !head_same || !tail_same {
        return Err(Violation::Outside(start));
    }
    let original = toks(before.get(start..end).ok_or(Violation::NotThere)?);
    let text = after
        .get(start..start + length)
        .ok_or(Violation::NotThere)?;
    let first = text.lines().next().ok_or(Violation::NotThere)?;
    let name = first
        .trim_start()
        .strip_prefix("// ")
        .and_then(|rest| rest.strip_prefix(MARK))
        .ok_or(Violation::NotThere)?
        .trim()
        .to_owned();
    let tokens = toks(text);
    // Declarations, up to the check.
    let mut at = 0;
    let mut declared: Vec<Vec<Tok>> = Vec::new();
    let mut found = Vec::new();
    while at < tokens.len() && !(found.is_empty() && is(&tokens, at, "if")) {
        if tokens[at].text == ";" {
            declared.push(std::mem::take(&mut found));
        } else {
            found.push(tokens[at].clone());
        }
        at += 1;
    }
    let condition_end = closing(&tokens, at + 1).ok_or(Violation::NotThere)?;
    let mut condition = tokens[at + 2..condition_end].to_vec();
    let first_end = closing(&tokens, condition_end + 1).ok_or(Violation::NotThere)?;
    // The slow path alone stands under the opposite of the test.
    let negated = !is(&tokens, first_end + 1, "else");
    let text: Vec<&str> = condition.iter().map(|t| t.text.as_str()).collect();
    let wrong = Violation::Test(name.clone(), text.join(" "));
    let unequal = condition.iter().filter(|token| token.text == "!=").count();
    match (negated, is(&condition, 0, "!"), unequal) {
        (false, true, 0) if !asks(&condition, &name) => return Err(Violation::NotThere),
        (false, _, 0) => {}
        (true, false, 0) => return Err(Violation::NotThere),
        (true, true, 0) => drop(condition.remove(0)),
        (true, false, 1)
            if condition
                .iter()
                .all(|token| token.text != "&&" && token.text != "||") =>
        {
            for token in &mut condition {
                if token.text == "!=" {
                    "==".clone_into(&mut token.text);
                }
            }
        }
        _ => return Err(wrong),
    }
    if !asks(&condition, &name) {
        return Err(wrong);
    }
    let (fast, slow): (&[Tok], &[Tok]) = if negated {
        if first_end + 1 != tokens.len() {
            return Err(Violation::NotThere);
        }
        (&[], &tokens[condition_end + 2..first_end])
    } else {
        if !is(&tokens, first_end + 1, "else") {
            return Err(Violation::NotThere);
        }
        let second_end = closing(&tokens, first_end + 2).ok_or(Violation::NotThere)?;
        if second_end + 1 != tokens.len() {
            return Err(Violation::NotThere);
        }
        (
            &tokens[condition_end + 2..first_end],
            &tokens[first_end + 3..second_end],
        )
    };
    let names = same_but_types(&original, slow, &declared)?;
    let (slow_sets, fast_sets) = (assigned_outside(slow), assigned_outside(fast));
    for name in &names {
        if slow_sets.contains(name) && !fast_sets.contains(name) && !leaves(fast) {
            return Err(Violation::Unassigned(name.clone()));
        }
    }
    let mut added: Vec<&String> = fast_sets
        .iter()
        .filter(|name| !slow_sets.contains(*name) && !names.contains(*name))
        .collect();
    added.sort();
    if let Some(name) = added.first() {
        return Err(Violation::Added((*name).clone()));
    }
    let mut zeros = words(&toks(&name));
    taint(slow, &mut zeros);
    let plain = effects_kept(slow, fast, &|word| declares(slow, word), &zeros, harmless);
    if plain.is_ok() {
        return plain;
    }
    // What is lost by this path alone may matter to nobody around it.
    let around = Around::new(before, (start, end), slow, &name);
    let moved = |word: &str| declared.iter().any(|it| declares(it, word));
    let own = |word: &str| declares(slow, word) || around.unread(word, fast, moved(word));
    let mut zeros = around.zeros.clone();
    taint(slow, &mut zeros);
    effects_kept(slow, fast, &own, &zeros, harmless)
}

fn declares(path: &[Tok], word: &str) -> bool {
    declarations(path)
        .into_iter()
        .any(|at| path[at].text == word)
}

pub(super) fn words(tokens: &[Tok]) -> FxHashSet<String> {
    let words = tokens.iter();
    let words = words.filter(|token| token.kind == TokenKind::Ident);
    words.map(|token| token.text.clone()).collect()
}

/// `WaveActiveAllTrue(test)` or `__all_sync(mask, test)`, or the test alone, which every lane may answer for
/// itself; and it compares parts of the named value with zero.
fn asks(condition: &[Tok], name: &str) -> bool {
    let text: String = condition.iter().map(|token| token.text.as_str()).collect();
    let name: String = toks(name).into_iter().map(|token| token.text).collect();
    let name = name.as_str();
    let inner = text
        .strip_prefix("WaveActiveAllTrue(")
        .or_else(|| text.strip_prefix("__all_sync(__activemask(),"))
        .or_else(|| text.strip_prefix("__all_sync(0xffffffff,"))
        .and_then(|rest| rest.strip_suffix(')'));
    let bare = text
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.or(bare).unwrap_or(&text);
    let zero = |text: &str| matches!(text, "0" | "0.0" | "0.0f");
    let compares = |text: &str, lane: Option<&str>| match text.split_once("==") {
        Some((left, right)) => {
            let wanted = match lane {
                Some(lane) => format!("{name}.{lane}"),
                None => name.to_owned(),
            };
            left == wanted && zero(right)
        }
        None => false,
    };
    if inner.strip_prefix('!') == Some(name) || compares(inner, None) {
        return true;
    }
    if let Some(all) = inner
        .strip_prefix("all(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return compares(all, None);
    }
    let lanes: Vec<&str> = inner.split("&&").collect();
    lanes.len() >= 2
        && lanes
            .iter()
            .zip(["x", "y", "z", "w"])
            .all(|(part, lane)| compares(part, Some(lane)))
}

/// Compares token by token; where the original has the type of a declared variable the slow path has none. Gives the
/// declared names.
fn same_but_types(
    original: &[Tok],
    slow: &[Tok],
    declared: &[Vec<Tok>],
) -> Result<FxHashSet<String>, Violation> {
    let texts = |tokens: &[Tok]| -> Vec<String> {
        tokens
            .iter()
            .map(|t| t.text.clone())
            .filter(|t| t != "const")
            .collect()
    };
    let mut names = FxHashSet::default();
    let declared: Vec<Vec<String>> = declared.iter().map(|it| texts(it)).collect();
    let mut used = vec![false; declared.len()];
    let (mut a, mut b) = (0, 0);
    while a < original.len() || b < slow.len() {
        // Of two declarations without values, one moved and the other stayed.
        let moved = declared.iter().zip(&used).any(|(it, used)| {
            let whole = |tokens: &[Tok]| {
                tokens.len() > it.len()
                    && tokens
                        .iter()
                        .zip(it)
                        .all(|(token, text)| token.text == *text)
                    && tokens[it.len()].text == ";"
            };
            !used && whole(&original[a.min(original.len())..]) && !whole(&slow[b.min(slow.len())..])
        });
        if !moved && a < original.len() && b < slow.len() && original[a].text == slow[b].text {
            a += 1;
            b += 1;
            continue;
        }
        // A whole declaration that moved, or a type that did.
        let rest = texts(original.get(a..).unwrap_or_default());
        let matched = declared.iter().enumerate().find_map(|(number, it)| {
            if used[number] {
                return None;
            }
            if rest.len() > it.len() && rest[..it.len()] == it[..] && rest[it.len()] == ";" {
                return Some((number, it.len(), true));
            }
            let (count, ty) = split_names(it);
            let next = rest.get(ty)?;
            (rest.len() > ty && rest[..ty] == it[..ty] && *next == it[ty] && count > 0)
                .then_some((number, ty, false))
        });
        let Some((number, length, whole)) = matched else {
            return Err(Violation::Slow {
                found: slow.get(b).map_or(String::new(), |t| t.text.clone()),
                wanted: original.get(a).map_or(String::new(), |t| t.text.clone()),
            });
        };
        used[number] = true;
        let (_, ty) = split_names(&declared[number]);
        names.extend(
            declared[number][ty..]
                .iter()
                .filter(|text| *text != ",")
                .cloned(),
        );
        // `const` may stand anywhere in the type.
        let mut left = length;
        while left > 0 {
            if original[a].text != "const" {
                left -= 1;
            }
            a += 1;
        }
        while original.get(a).is_some_and(|t| t.text == "const") {
            a += 1;
        }
        if whole {
            // Its semicolon.
            a += 1;
        }
    }
    match used.iter().position(|used| !used) {
        Some(number) => Err(Violation::Slow {
            found: String::new(),
            wanted: declared[number].join(" "),
        }),
        None => Ok(names),
    }
}

/// Returns how many names a declaration ends with, and where the first stands.
fn split_names(tokens: &[String]) -> (usize, usize) {
    let word = |text: &String| text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut first = tokens.len();
    let mut count = 0;
    while first > 0 && word(&tokens[first - 1]) {
        first -= 1;
        count += 1;
        if first == 0 || tokens[first - 1] != "," {
            break;
        }
        first -= 1;
    }
    (count, first)
}

pub(super) const ASSIGN: &[&str] = &[
    "=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=",
];

/// The word an lvalue that ends before `at` begins with.
pub(super) fn lvalue(tokens: &[Tok], at: usize) -> Option<usize> {
    let mut at = at.checked_sub(1)?;
    loop {
        match tokens[at].text.as_str() {
            "]" | ")" => {
                let open = if tokens[at].text == "]" { "[" } else { "(" };
                let close = tokens[at].text.clone();
                let mut depth = 0;
                loop {
                    if tokens[at].text == close {
                        depth += 1;
                    } else if tokens[at].text == open {
                        depth -= 1;
                        if depth == 0 {
                            break;
                        }
                    }
                    at = at.checked_sub(1)?;
                }
                at = at.checked_sub(1)?;
            }
            _ if tokens[at].kind == TokenKind::Ident => {
                if at >= 1 && (tokens[at - 1].text == "." || tokens[at - 1].text == "->") {
                    at = at.checked_sub(2)?;
                } else {
                    return Some(at);
                }
            }
            _ => return None,
        }
    }
}

/// Variables that a path assigns and does not declare itself around the assignment.
pub(super) fn assigned_outside(tokens: &[Tok]) -> FxHashSet<String> {
    let own: Vec<(usize, usize)> = declarations(tokens)
        .into_iter()
        .map(|at| (at, scope_end(tokens, at)))
        .collect();
    let mut found = FxHashSet::default();
    for (at, token) in tokens.iter().enumerate() {
        let text = token.text.as_str();
        let name = match text {
            "++" | "--" => lvalue(tokens, at).or(Some(at + 1)),
            _ if ASSIGN.contains(&text) => lvalue(tokens, at),
            _ => None,
        };
        let Some(name) = name.filter(|&name| name < tokens.len()) else {
            continue;
        };
        let word = &tokens[name].text;
        let mut around = own.iter().filter(|(from, to)| (*from..*to).contains(&name));
        if !around.any(|(from, _)| tokens[*from].text == *word) {
            found.insert(word.clone());
        }
    }
    found
}

/// Returns the end of the scope of a declaration at a place: with the block around it, or with the statement
/// of whose head it is a part.
pub(super) fn scope_end(tokens: &[Tok], declared: usize) -> usize {
    let (mut parentheses, mut braces) = (0, 0);
    for at in (0..declared).rev() {
        match tokens[at].text.as_str() {
            ")" => parentheses += 1,
            "(" if parentheses > 0 => parentheses -= 1,
            "(" if at > 0
                && matches!(
                    tokens[at - 1].text.as_str(),
                    "for" | "if" | "while" | "switch"
                ) =>
            {
                return skip_statement(tokens, at - 1);
            }
            "}" => braces += 1,
            "{" if braces > 0 => braces -= 1,
            "{" => return closing(tokens, at).unwrap_or(tokens.len()),
            _ => {}
        }
    }
    tokens.len()
}

/// Places of names that a path declares: a word after a word or the end of a type.
pub(super) fn declarations(tokens: &[Tok]) -> Vec<usize> {
    let mut found = Vec::new();
    // The nesting of the declaration that is being read.
    let mut declaration: Option<i32> = None;
    let mut depth = 0i32;
    for at in 0..tokens.len() {
        let token = &tokens[at];
        match token.text.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            ";" | "{" | "}" => {
                declaration = None;
                depth = 0;
            }
            _ => {}
        }
        if token.kind != TokenKind::Ident || at == 0 {
            continue;
        }
        let next = tokens.get(at + 1).map_or("", |t| t.text.as_str());
        let before = &tokens[at - 1];
        let after_type = matches!(before.text.as_str(), "*" | "&" | ">")
            && at >= 2
            && matches!(next, "=" | ";" | "[");
        let typed = before.kind == TokenKind::Ident
            && !matches!(
                before.text.as_str(),
                "return" | "else" | "do" | "goto" | "case"
            );
        if (typed || after_type && starts_statement(tokens, at))
            && matches!(next, "=" | ";" | "," | "[" | "(" | "{" | ":")
        {
            found.push(at);
            declaration = Some(depth);
        } else if before.text == "," && declaration == Some(depth) {
            found.push(at);
        }
    }
    found
}

/// The word before `at` begins a statement, so that `T* x` and no product is read.
fn starts_statement(tokens: &[Tok], at: usize) -> bool {
    let name = at;
    let mut at = at;
    while at > 0 {
        at -= 1;
        match tokens[at].text.as_str() {
            ";" | "{" | "}" => return true,
            // `for (T* x = ..`, and not `(a & p[i])`.
            "(" => {
                return at > 0
                    && matches!(
                        tokens[at - 1].text.as_str(),
                        "for" | "if" | "while" | "switch"
                    )
                    && is(tokens, name + 1, "=");
            }
            ")" | "+" | "-" | "/" | "," => return false,
            // `x *= y * z;` is no declaration of z.
            text if ASSIGN.contains(&text) => return false,
            _ => {}
        }
    }
    true
}

/// A path that ends the function or the iteration needs to assign nothing.
fn leaves(tokens: &[Tok]) -> bool {
    tokens.iter().any(|token| {
        matches!(
            token.text.as_str(),
            "return" | "break" | "continue" | "discard"
        )
    })
}

/// An effect that others see.
struct Effect {
    text: String,
    /// True if the store changes nothing, as `p[i] |= x` with an `x` computed from the zero.
    may_be_silent: bool,
}

/// Adds the variables that a path computes from those that are named.
pub(super) fn taint(path: &[Tok], out: &mut FxHashSet<String>) {
    for at in 0..path.len() {
        if ASSIGN.contains(&path[at].text.as_str())
            && names_any(&path[at..], out)
            && let Some(name) = lvalue(path, at)
        {
            out.insert(path[name].text.clone());
        }
    }
}

/// One of some names stands before the end of the statement.
pub(super) fn names_any(tokens: &[Tok], names: &FxHashSet<String>) -> bool {
    let statement = tokens.iter().take_while(|token| token.text != ";");
    statement
        .into_iter()
        .any(|token| names.contains(&token.text))
}

/// Returns the effects of a path at its top, outside of inner statements with a head.
fn top_effects(
    tokens: &[Tok],
    locals: &dyn Fn(&str) -> bool,
    tainted: &FxHashSet<String>,
    harmless: &dyn Fn(&str) -> bool,
) -> Vec<Effect> {
    let mut found = Vec::new();
    let certain = |text: String| Effect {
        text,
        may_be_silent: false,
    };
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        match token.text.as_str() {
            // What stands under a condition may go with it.
            "if" | "for" | "while" | "switch" if is(tokens, at + 1, "(") => {
                let mut end = closing(tokens, at + 1).map_or(tokens.len(), |end| end + 1);
                end = skip_statement(tokens, end);
                while is(tokens, end, "else") {
                    end = skip_statement(tokens, end + 1);
                }
                at = end;
                continue;
            }
            "do" => {
                at = skip_statement(tokens, at + 1);
                continue;
            }
            "return" | "break" | "continue" | "discard" => found.push(certain(token.text.clone())),
            _ => {}
        }
        let next = tokens.get(at + 1).map_or("", |t| t.text.as_str());
        if token.kind == TokenKind::Ident && next == "(" {
            let method = at >= 1 && matches!(tokens[at - 1].text.as_str(), "." | "->");
            if !harmless(&token.text) && !token.kind.is_keyword() {
                found.push(certain(if method {
                    format!(".{}(", token.text)
                } else {
                    format!("{}(", token.text)
                }));
            }
        }
        if ASSIGN.contains(&token.text.as_str())
            && let Some(name) = lvalue(tokens, at)
            && !locals(&tokens[name].text)
        {
            let element = tokens
                .get(name + 1)
                .is_some_and(|t| t.text == "[" || t.text == "->");
            if element {
                found.push(Effect {
                    text: format!("{}[", tokens[name].text),
                    may_be_silent: matches!(
                        token.text.as_str(),
                        "|=" | "^=" | "+=" | "-=" | "<<=" | ">>="
                    ) && names_any(&tokens[at..], tainted),
                });
            }
        }
        at += 1;
    }
    found
}

pub(super) fn skip_statement(tokens: &[Tok], at: usize) -> usize {
    if is(tokens, at, "{") {
        return closing(tokens, at).map_or(tokens.len(), |end| end + 1);
    }
    if matches!(
        tokens.get(at).map_or("", |t| t.text.as_str()),
        "if" | "for" | "while" | "switch"
    ) && is(tokens, at + 1, "(")
    {
        let end = closing(tokens, at + 1).map_or(tokens.len(), |end| end + 1);
        let mut end = skip_statement(tokens, end);
        while is(tokens, end, "else") {
            end = skip_statement(tokens, end + 1);
        }
        return end;
    }
    let mut at = at;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at + 1,
            "(" | "{" | "[" => at = closing(tokens, at).unwrap_or(tokens.len()),
            _ => {}
        }
        at += 1;
    }
    at
}

fn effects_kept(
    slow: &[Tok],
    fast: &[Tok],
    own: &dyn Fn(&str) -> bool,
    tainted: &FxHashSet<String>,
    harmless: &dyn Fn(&str) -> bool,
) -> Result<(), Violation> {
    let wanted = top_effects(slow, own, tainted, harmless);
    let kept = top_effects(fast, own, tainted, harmless);
    // A store of what is there already may go, and stays where it does no harm.
    let certain = wanted.into_iter().filter(|effect| !effect.may_be_silent);
    let mut at = 0;
    for effect in certain {
        let mut rest = kept[at.min(kept.len())..].iter();
        match rest.position(|it| it.text == effect.text) {
            Some(found) => at += found + 1,
            None => return Err(Violation::Effect(effect.text)),
        }
    }
    Ok(())
}
