//! Many cases one after the other, their results, and the violations among them, shrunk and kept.

use super::{Case, Report, Violation, describe, examine};
use std::mem::discriminant;

/// A number from the environment.
#[allow(clippy::disallowed_methods)]
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|t| t.parse().ok()).unwrap_or(default)
}

/// Writes a report where a person finds it.
#[allow(clippy::disallowed_methods)]
fn keep(name: &str, text: &str) -> String {
    let path = std::env::temp_dir().join(format!("lockstep-violation-{name}.ir"));
    match std::fs::write(&path, text) {
        Ok(()) => path.display().to_string(),
        Err(error) => format!("nowhere ({error})"),
    }
}

/// Runs cases, each with its seed; of every kind of violation the first few come out shrunk.
pub(crate) fn sweep(name: &str, cases: impl Iterator<Item = (u64, Case)>) -> Report {
    let mut sum = Report::default();
    let mut shown = 0;
    for (seed, case) in cases {
        let report = examine(&case);
        let rare = |v: &&Violation| {
            let kinds = sum
                .violations
                .iter()
                .map(|k: &Violation| discriminant(&k.claim.place));
            kinds.filter(|k| *k == discriminant(&v.claim.place)).count() < 4
        };
        if let Some(violation) = report.violations.iter().find(rare)
            && shown < 12
        {
            shown += 1;
            let title = format!("{name} seed {seed}");
            let text = describe(&title, &case, violation);
            let path = keep(&format!("{name}-{seed}"), &text);
            println!("{text}\nkept in {path}\n");
        }
        sum.add(report);
    }
    println!("{name}: {sum}");
    sum
}
