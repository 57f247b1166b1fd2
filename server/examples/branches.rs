//! Predictors on C programs before and after if-conversion, beside the table of the paper that proposed such
//! designs.
//!
//! ```text
//! cargo run --release -p lockstep-server --example branches -- fixtures/c/branches/*.c
//! ```
//!
//! Each file has its inputs beside it, as `lockstep branches` takes them. A rate is mispredictions by
//! branches that the *original* code executes, as in the paper; after it, the rate that remains when the
//! worst tenth of the branches is if-converted with the blocks that follow. The server is `LOCKSTEP_BINARY`,
//! or `target/release/lockstep`.
//!
//! Source: B. Simon, B. Calder, J. Ferrante, *Incorporating Predicate Information into Branch Predictors*, EPIC-1, 2001,
//! section 5.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A column: its head, the design, whether it is after if-conversion, and the paper's average in percent; of `squash` the paper
/// gives by how many points it is better.
const COLUMNS: [(&str, &str, bool, Option<f64>); 11] = [
    ("meta", "meta", false, Some(8.0)),
    ("regions", "meta", true, Some(5.5)),
    ("+pgu", "meta+pgu", true, Some(5.0)),
    ("+rep.", "meta+pgu-repaired", true, None),
    ("+pep", "meta+resolved-pep", true, Some(4.5)),
    ("+squash", "meta+squash", true, Some(4.5)),
    ("+sq+pgu", "meta+squash+pgu", true, Some(4.4)),
    ("+all", "meta+resolved-pep+squash+pgu", true, None),
    ("tage", "tage", false, None),
    ("regions", "tage", true, None),
    ("+sq+pgu", "tage+squash+pgu-repaired", true, None),
];

fn report(server: &Path, file: &str, design: &str) -> Option<Value> {
    let output = Command::new(server)
        .args(["branches", file, "--no-config", "--format", "json"])
        .args(["--predictor", design])
        .output()
        .ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Mispredictions in percent of the branches of the original code.
fn rate(report: &Value, after: bool) -> Option<f64> {
    let executed = report["executed"].as_f64().filter(|&count| count > 0.0)?;
    let wrong = match after {
        // Without a region the code stays as it is.
        true => report["after"]["mispredicted"].as_f64(),
        false => None,
    };
    let wrong = wrong.or_else(|| report["mispredicted"].as_f64())?;
    Some(100.0 * wrong / executed)
}

fn main() {
    let server = std::env::var_os("LOCKSTEP_BINARY")
        .map_or_else(|| PathBuf::from("target/release/lockstep"), PathBuf::from);
    let files: Vec<String> = std::env::args().skip(1).collect();
    let row = |name: &str, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>8}")).collect();
        println!("{name:<12}{}", cells.concat());
    };
    let heads: Vec<String> = COLUMNS.iter().map(|column| column.0.to_owned()).collect();
    row("program", &heads);
    let mut sums = vec![0.0; COLUMNS.len()];
    let mut programs = 0;
    for file in &files {
        let name = Path::new(file).file_stem().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let rates: Option<Vec<f64>> = COLUMNS
            .iter()
            .map(|(_, design, after, _)| rate(&report(&server, file, design)?, *after))
            .collect();
        let Some(rates) = rates else {
            println!("{name:<12}  does not run");
            continue;
        };
        programs += 1;
        for (sum, rate) in sums.iter_mut().zip(&rates) {
            *sum += rate;
        }
        let cells: Vec<String> = rates.iter().map(|rate| format!("{rate:.2}")).collect();
        row(&name, &cells);
    }
    let mean = |sum: &f64| format!("{:.2}", sum / f64::from(programs.max(1)));
    row("mean", &sums.iter().map(mean).collect::<Vec<String>>());
    let paper = COLUMNS.iter().map(|(.., paper)| match paper {
        Some(rate) => format!("{rate:.1}"),
        None => "-".to_owned(),
    });
    row("the paper", &paper.collect::<Vec<String>>());
}
