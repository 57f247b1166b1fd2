//! Cases for a real device: PTX as it is printed, launches, and the contents of memory after the reference
//! interpreter ran them. `device_cases.py` beside this file runs them on a GPU and says where the two differ.
//!
//! `cargo run --release -p lockstep-codegen --example device_cases -- OUT [--programs N] [--seed N ...]`
//!
//! writes `OUT/cases.jsonl` (a case a line), `OUT/bytes.bin` (contents of buffers, by offset and length),
//! `OUT/machine.json` (the table of the machine) and `OUT/versions.json` (kernels before and after versions on zero, to be
//! timed). With `LOCKSTEP_PTXAS`, or `ptxas` on the search path, random text that is no PTX is left out. Runs that tell nothing about hardware are left out and counted by their reason.

#![allow(clippy::disallowed_methods)]

mod case;
#[path = "../../tests/support/flat.rs"]
mod flat;
#[path = "../../tests/versioned_source/generate.rs"]
mod generate;
mod lanes;
mod operations;
#[path = "../../tests/support/ptxas.rs"]
mod ptxas;
#[path = "../../tests/support/read.rs"]
mod read;
mod sources;
#[path = "../../tests/soundness_ptx/text/mod.rs"]
mod text;
#[path = "../../tests/support/timed.rs"]
mod timed;
mod timing;
mod watch;

use case::{Blob, Draft, case};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The architecture that cases are printed for.
pub(crate) const SM: u32 = 90;

/// Cases, and why others were left out.
#[derive(Default)]
pub(crate) struct Sink {
    lines: String,
    blob: Blob,
    kept: BTreeMap<&'static str, u64>,
    left_out: BTreeMap<(&'static str, String), u64>,
}

impl Sink {
    /// Adds a case, and returns whether it was kept.
    pub(crate) fn add(&mut self, draft: Draft<'_>) -> bool {
        let source = draft.source;
        match case(draft, &mut self.blob) {
            Ok(row) => {
                let _ = writeln!(self.lines, "{row}");
                *self.kept.entry(source).or_default() += 1;
                true
            }
            Err(reason) => {
                self.left_out(source, reason);
                false
            }
        }
    }
    pub(crate) fn left_out(&mut self, source: &'static str, reason: impl Into<String>) {
        *self.left_out.entry((source, reason.into())).or_default() += 1;
    }
    pub(crate) fn kept(&self, source: &str) -> u64 {
        self.kept.get(source).copied().unwrap_or(0)
    }
}

/// The numbers behind each occurrence of a name.
fn settings(arguments: &[String], name: &str) -> Vec<u64> {
    let pairs = arguments.windows(2).filter(|pair| pair[0] == name);
    pairs.filter_map(|pair| pair[1].parse().ok()).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(out) = arguments.first().map(PathBuf::from) else {
        eprintln!("usage: device_cases OUT [--programs N] [--seed N ...]");
        std::process::exit(2);
    };
    let programs = settings(&arguments, "--programs").pop().unwrap_or(400);
    let mut seeds = settings(&arguments, "--seed");
    if seeds.is_empty() {
        seeds.push(0);
    }
    let mut sink = Sink::default();
    sources::all(&mut sink, programs, &seeds);
    std::fs::create_dir_all(&out).expect("the folder can be made");
    write(&out, "cases.jsonl", sink.lines.as_bytes());
    write(&out, "bytes.bin", &sink.blob.bytes);
    write(&out, "machine.json", pretty(&timing::machine()).as_bytes());
    write(
        &out,
        "versions.json",
        pretty(&timing::versions()).as_bytes(),
    );
    let left_out: Vec<Json> = sink
        .left_out
        .iter()
        .map(|((source, reason), count)| json!([source, reason, count]))
        .collect();
    let summary = json!({ "kept": sink.kept, "left_out": left_out });
    write(&out, "summary.json", pretty(&summary).as_bytes());
    for (source, count) in &sink.kept {
        println!("{source}: {count} cases");
        for ((of, reason), count) in &sink.left_out {
            if of == source {
                println!("    left out: {count} {reason}");
            }
        }
    }
}

fn pretty(value: &Json) -> String {
    serde_json::to_string_pretty(value).expect("plain data")
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).expect("the file can be written");
}
