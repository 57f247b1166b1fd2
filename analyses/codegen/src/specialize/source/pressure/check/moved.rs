//! A definition that stands elsewhere: it is the statement that it was, comes later, and nothing that it passes names the variable.

use super::{Violation, is_word};

pub(super) fn check(before: &[String], after: &[String], names: &[&str]) -> Result<(), Violation> {
    let (mut a, mut b) = (0, 0);
    // Statements that have been met in the text before, and not yet after.
    let mut pending: Vec<(&str, &[String])> = Vec::new();
    while a < before.len() || b < after.len() {
        let old = statement(before, a);
        let new = statement(after, b);
        let begins = |words: &[String], at: usize| {
            at == 0
                || words[at - 1].starts_with('#')
                || matches!(words[at - 1].as_str(), ";" | "{" | "}" | ":")
        };
        if begins(after, b)
            && let Some(at) = pending.iter().position(|(_, moved)| *moved == new)
        {
            pending.swap_remove(at);
            b += new.len();
            continue;
        }
        if begins(before, a)
            && old != new
            && let Some(name) = names.iter().find(|name| declares(old, name))
            && !pending.iter().any(|(known, _)| known == name)
        {
            pending.push((name, old));
            a += old.len();
            continue;
        }
        match (before.get(a), after.get(b)) {
            (Some(wanted), Some(found)) if wanted == found => {
                if let Some((name, _)) = pending.iter().find(|(name, _)| name == found) {
                    return Err(Violation::Undeclared((*name).to_owned()));
                }
            }
            (wanted, found) => {
                return Err(Violation::Changed {
                    found: found.cloned().unwrap_or_default(),
                    wanted: wanted.cloned().unwrap_or_default(),
                });
            }
        }
        a += 1;
        b += 1;
    }
    match pending.first() {
        None => Ok(()),
        Some((name, _)) => Err(Violation::Undeclared((*name).to_owned())),
    }
}

/// The words up to the next semicolon outside of brackets; a directive is a statement of its own.
fn statement(words: &[String], from: usize) -> &[String] {
    let mut depth = 0i32;
    let rest = words.get(from..).unwrap_or_default();
    for (at, word) in rest.iter().enumerate() {
        match word.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ";" if depth <= 0 => return &rest[..=at],
            directive if directive.starts_with('#') => return &rest[..at.max(1)],
            _ => {}
        }
        if depth < 0 {
            return &rest[..at];
        }
    }
    rest
}

/// `float name = ..;`
fn declares(statement: &[String], name: &str) -> bool {
    let equals = statement.iter().position(|word| word == "=");
    equals.is_some_and(|at| {
        let before = &statement[..at];
        let typed = before.len() >= 2
            && (is_word(&before[before.len() - 2])
                || matches!(before[before.len() - 2].as_str(), "*" | ">"));
        typed
            && before.last().is_some_and(|word| word == name)
            && !before.iter().any(|word| matches!(word.as_str(), "(" | "{"))
    })
}
