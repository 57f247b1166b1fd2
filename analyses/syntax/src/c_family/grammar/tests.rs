//! Tests of the tree of each construct, as the dump shows it, and of the parser on broken text.

mod broken;
mod cuda;
mod hlsl;
mod keys;
mod real;
mod tolerance;

use crate::c_family::{Dialect, dump, parse_text};

/// Compares the items of a text and their problems, a line each.
#[track_caller]
fn check(dialect: Dialect, text: &str, expected: &[&str]) {
    let mut lines = Vec::new();
    for item in parse_text(text, dialect) {
        lines.push(dump::item(&item));
        lines.extend(
            item.problems
                .iter()
                .map(|found| format!("! {:?}: {}", found.kind, found.message)),
        );
    }
    assert_eq!(lines, expected, "in {text}");
}
