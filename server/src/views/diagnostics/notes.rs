//! Notes of one kind are told once a file: where the first one stands, with the names of the others.
//!
//! ```text
//! `QK8_0` is not declared here  +  `QI8_1` is not declared here   =>   `QK8_0` is not declared here (also `QI8_1`)
//! ```
//!
//! A missing header takes many names with it; each of them says the same. The assumptions of one item's facts
//! ("facts are given for", "template parameter") stay with the item. Of the limits that a function meets, the
//! first is reported, with the number of the others: they are the tool's, and one is reason enough for
//! missing facts.

use super::Diagnostic;
use rustc_hash::FxHashMap;

/// Names that are written out besides the first.
const NAMES: usize = 3;
const LIMIT: &str = "limit";

pub(super) fn fold(shown: &mut Vec<Diagnostic>) {
    shown.sort_by_key(|it| it.span);
    let mut firsts: FxHashMap<(&'static str, String), usize> = FxHashMap::default();
    let mut others: Vec<(usize, String)> = Vec::new();
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(shown.len());
    for each in shown.drain(..) {
        let Some((shape, name)) = shape_of(&each) else {
            kept.push(each);
            continue;
        };
        match firsts.get(&(each.code, shape.clone())) {
            Some(&first) => others.push((first, name)),
            None => {
                firsts.insert((each.code, shape), kept.len());
                kept.push(each);
            }
        }
    }
    others.sort_by_key(|other| other.0);
    for group in others.chunk_by(|a, b| a.0 == b.0) {
        let found = &mut kept[group[0].0];
        let told = &mut found.message;
        if found.code == LIMIT {
            told.push_str(&format!(" (and {} more of `{}`)", group.len(), found.item));
            continue;
        }
        let mut names: Vec<&str> = Vec::new();
        for (_, name) in group {
            let known = told.starts_with(&format!("`{name}`"));
            if !name.is_empty() && !known && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let more = match names.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let list: Vec<String> = names.iter().take(NAMES).map(|n| format!("`{n}`")).collect();
        if !list.is_empty() {
            told.push_str(&format!(" (also {}{more})", list.join(", ")));
        }
    }
    *shown = kept;
}

/// Returns the text of a note besides names, and the name that it begins with; `None`: it is reported by
/// itself.
fn shape_of(diagnostic: &Diagnostic) -> Option<(String, String)> {
    match diagnostic.code {
        LIMIT if !diagnostic.item.is_empty() => {
            return Some((diagnostic.item.clone(), String::new()));
        }
        "unsupported-construct" => {}
        "assumption"
            if diagnostic.message.starts_with('`') || diagnostic.message.starts_with("a call") => {}
        _ => return None,
    }
    let mut parts = diagnostic.message.split('`');
    let mut shape = parts.next()?.to_string();
    let mut name = String::new();
    while let (Some(quoted), Some(rest)) = (parts.next(), parts.next()) {
        if shape.is_empty() {
            name = quoted.to_string();
        }
        shape.push('`');
        shape.push_str(rest);
    }
    Some((shape, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Level;
    use syntax::Span;

    #[test]
    fn names_are_gathered_at_the_first() {
        let note = |at: u32, code: &'static str, message: &str| Diagnostic {
            code,
            level: Level::Hint,
            span: Span::at(at),
            message: message.to_string(),
            related: Vec::new(),
            fix: None,
            item: String::new(),
            finding: None,
        };
        let unsupported = "unsupported-construct";
        let mut shown = vec![
            note(9, unsupported, "`c` is not declared here"),
            note(1, unsupported, "`a` is not declared here"),
            note(5, unsupported, "`b` is not declared here"),
            note(6, unsupported, "`b` is not declared here"),
            note(7, unsupported, "`d` is not declared here"),
            note(8, unsupported, "`e` is not declared here"),
            note(3, unsupported, "member `x` of `int`"),
            note(4, unsupported, "member `y` of `float`"),
            note(2, "assumption", "facts are given for `T` = `1`"),
            note(12, "assumption", "facts are given for `T` = `2`"),
        ];
        fold(&mut shown);
        let told: Vec<&str> = shown.iter().map(|it| it.message.as_str()).collect();
        let expected = [
            "`a` is not declared here (also `b`, `d`, `e` and 1 more)",
            "facts are given for `T` = `1`",
            "member `x` of `int`",
            "facts are given for `T` = `2`",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn limits_are_told_once_a_function() {
        let limit = |at: u32, item: &str| Diagnostic {
            code: LIMIT,
            level: Level::Hint,
            span: Span::at(at),
            message: format!("limit {at}"),
            related: Vec::new(),
            fix: None,
            item: item.to_string(),
            finding: None,
        };
        let mut shown = vec![
            limit(5, "f"),
            limit(2, "f"),
            limit(3, ""),
            limit(4, ""),
            limit(7, "f"),
            limit(6, "g"),
        ];
        fold(&mut shown);
        let told: Vec<&str> = shown.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "limit 2 (and 2 more of `f`)",
                "limit 3",
                "limit 4",
                "limit 6"
            ]
        );
    }
}
