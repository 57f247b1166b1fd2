//! Initial values that are broadcast.
//!
//! The inserted text must be the broadcast with its parentheses, each time around the whole initial value of
//! a variable that is named, and nothing else.

use super::super::broadcast::BROADCAST;
use super::Violation;

/// Returns true for an edit that broadcasts more than was broadcast before.
pub(super) fn is_one(before: &[String], after: &[String]) -> bool {
    let count = |words: &[String]| words.iter().filter(|word| *word == BROADCAST).count();
    count(after) > count(before)
}

pub(super) fn check(before: &[String], after: &[String], names: &[&str]) -> Result<(), Violation> {
    let word = |words: &[String], at: usize| words.get(at).cloned().unwrap_or_default();
    // For each open broadcast, the number of parentheses open around it in the text.
    let mut open: Vec<usize> = Vec::new();
    let mut depth = 0usize;
    let (mut a, mut b) = (0, 0);
    while b < after.len() {
        let (found, wanted) = (word(after, b), word(before, a));
        if found == BROADCAST && wanted != BROADCAST {
            let initial = b >= 2 && after[b - 1] == "=" && names.contains(&after[b - 2].as_str());
            if !initial || word(after, b + 1) != "(" {
                return Err(Violation::Inserted(found));
            }
            open.push(depth);
            b += 2;
            continue;
        }
        if found == ")" && open.last() == Some(&depth) {
            // The value ends where its declarator does.
            if !matches!(wanted.as_str(), ";" | ",") {
                return Err(Violation::Changed { found, wanted });
            }
            open.pop();
            b += 1;
            continue;
        }
        if found != wanted {
            return Err(Violation::Changed { found, wanted });
        }
        // A comma or the end of the declarator in front of the parenthesis: only a part of the value was
        // broadcast.
        if open.last() == Some(&depth) && matches!(found.as_str(), ";" | ",") {
            return Err(Violation::Changed { found, wanted });
        }
        match found.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        a += 1;
        b += 1;
    }
    match before.get(a) {
        None if open.is_empty() => Ok(()),
        rest => Err(Violation::Changed {
            found: String::new(),
            wanted: rest.cloned().unwrap_or_default(),
        }),
    }
}
