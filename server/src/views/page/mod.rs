//! The page of a file: one HTML document that needs nothing else, with the facts about its functions, the
//! source with its facts, and pictures of a run in the interpreter.
//!
//! Rust computes `model::Page`; the scripts make the document of it, by nodes and their text alone, so that no text of a user
//! is ever read as HTML. Equal databases and inputs give equal pages. The size is bounded by the limits of each part.

mod activity;
mod functions;
pub mod model;
mod pictures;
mod run;
mod schedule;
mod set_schedule;
mod source;
mod values;
mod watch;

use super::report::{self, level_name};
use super::{diagnostics, lens};
use crate::config::{method_name, scope_name};
use crate::db::{self, Db, File};
use crate::derive::parts;
use crate::derive::rows::rows_of;
use crate::documents::line_column;
use crate::profile::make::Inputs;
use crate::program::{self, Language};
use functions::{Context, Told};
use ir::checkpoint::Checkpoint;
use model::{FindingRow, FunctionPage, Page};
use std::collections::BTreeMap;

const HTML: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
/// Parts of one script, in order.
const SCRIPTS: [&str; 5] = [
    include_str!("nodes.js"),
    include_str!("source.js"),
    include_str!("pictures.js"),
    include_str!("panels.js"),
    include_str!("page.js"),
];

/// Bytes of the data.
const MOST_BYTES: usize = 4_800_000;
/// Findings of a file.
const MOST_FINDINGS: usize = 600;

/// The note on the assumptions of facts.
const ASSUMPTION: &str = "assumption";

/// The page as HTML; of one function only when its name is given.
pub fn page(
    db: &dyn Db,
    file: File,
    item: Option<&str>,
    inputs: &Inputs,
    checkpoint: &dyn Checkpoint,
) -> String {
    html(&data(db, file, item, inputs, checkpoint))
}

/// The JSON of a page, without the parts that make it too large.
fn json(page: &Page) -> String {
    // Numbers, texts and names only: there is always a text.
    let text = |page: &Page| escaped(&serde_json::to_string(page).unwrap_or_default());
    let whole = text(page);
    if whole.len() <= MOST_BYTES {
        return whole;
    }
    let mut page = page.clone();
    page.notes.push(
        "facts of lines and pictures that waste nothing are left out of so large a file".to_owned(),
    );
    for line in &mut page.lines {
        line.facts.clear();
    }
    for function in &mut page.functions {
        function.accesses.retain(|access| access.wasteful);
        function.activity.retain(|activity| activity.divided > 0);
    }
    let less = text(&page);
    if less.len() <= MOST_BYTES {
        return less;
    }
    page.notes
        .push("so are all pictures and machine code".to_owned());
    for function in &mut page.functions {
        function.accesses.clear();
        function.activity.clear();
        function.problems.clear();
        (function.code, function.values) = (None, None);
    }
    text(&page)
}

/// The document of a page's data.
#[must_use]
pub fn html(page: &Page) -> String {
    let data = json(page);
    // Of the content, so that nobody who writes a part of it knows it.
    let nonce = format!("{:016x}", facts::values::stored::text_hash(&data));
    let title: String = page
        .file
        .chars()
        .filter(|c| !matches!(c, '<' | '>' | '&' | '"' | '\''))
        .collect();
    let script = SCRIPTS.join("\n");
    let mut out = String::with_capacity(HTML.len() + CSS.len() + script.len() + data.len());
    // One pass: what is put in is not looked at again.
    let mut rest = HTML;
    while let Some(at) = rest.find("{{") {
        out.push_str(&rest[..at]);
        let Some(end) = rest[at..].find("}}") else {
            break;
        };
        out.push_str(match &rest[at + 2..at + end] {
            "title" => &title,
            "nonce" => &nonce,
            "css" => CSS,
            "data" => &data,
            "script" => &script,
            _ => "",
        });
        rest = &rest[at + end + 2..];
    }
    out.push_str(rest);
    out
}

/// JSON that no parser of HTML finds an end or a comment in, and none of scripts a new line.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", c as u32))
            }
            c => out.push(c),
        }
    }
    out
}

/// Returns the contents of the page, as data.
pub fn data(
    db: &dyn Db,
    file: File,
    only: Option<&str>,
    inputs: &Inputs,
    checkpoint: &dyn Checkpoint,
) -> Page {
    let settings = program::settings(db, file);
    let options = &settings.analysis(db).options;
    let lenses = lens::lenses(db, file);
    let context = Context {
        db,
        file,
        inputs,
        lenses: &lenses,
        checkpoint,
    };
    let (functions, mut notes) = functions(&context, only);
    let (lines, more) = source::lines(db, file);
    notes.extend(more);
    let findings = findings(db, file, only.map(|_| functions.as_slice()), &mut notes);
    let assumes = functions
        .iter()
        .any(|function| !function.assumptions.is_empty());
    let codes = findings.iter().map(|finding| finding.code.as_str());
    let codes = codes.chain(assumes.then_some(ASSUMPTION));
    let explained: BTreeMap<String, String> = codes
        .filter_map(|code| Some((code.to_owned(), crate::explain::page(code)?)))
        .collect();
    let explicit = file.language(db) == Language::C || file.language(db).is_assembly();
    let target = match explicit {
        true => crate::derive::sets::processor_name(db, file).to_string(),
        false => db::machine(db, settings).name.to_string(),
    };
    let scope = match options.scope {
        _ if explicit => String::new(),
        facts::Scope::Subgroup => format!(
            "{} of {} lanes",
            scope_name(options.scope),
            options.warp_size
        ),
        scope => scope_name(scope).to_owned(),
    };
    Page {
        version: 1,
        file: source::name_of(db, file),
        language: language(file.language(db)),
        method: method_name(options.method),
        scope,
        target,
        nothing: nothing(db, file, &functions),
        functions,
        findings,
        lines,
        explained,
        notes,
    }
}

fn functions(context: &Context<'_>, only: Option<&str>) -> (Vec<FunctionPage>, Vec<String>) {
    let (db, file) = (context.db, context.file);
    let mut rows = report::report(db, file, only).items.into_iter();
    let mut told = Told::default();
    let mut out = Vec::new();
    for (place, item) in program::items_to_show(db, file) {
        if program::unit_file(db, file, place.file).is_none() {
            continue;
        }
        let numbered = numbers(db, item);
        for (number, part) in numbered.into_iter().zip(parts::parts(db, item)) {
            let (full, name) = (item.name(db).as_str(), &part.function.name);
            let meant = |only: &str| {
                only == full || full.rsplit("::").next() == Some(only) || only == name.as_str()
            };
            // In step with the rows of `report`.
            if only.is_some_and(|only| !meant(only)) {
                continue;
            }
            if let Some(row) = rows.next() {
                out.push(context.function(place, item, (number, &part), row, &mut told));
            }
        }
    }
    (out, told.notes)
}

/// Returns the numbers of an item's functions that `parts::parts` gives.
fn numbers(db: &dyn Db, item: db::Item<'_>) -> Vec<usize> {
    if !item.holds(db).code {
        return Vec::new();
    }
    let both = db::lowered(db, item)
        .iter()
        .zip(db::facts_of(db, item).iter());
    let there = both.enumerate().filter(|(_, (lowered, analysed))| {
        !lowered.module.functions.is_empty() && !analysed.functions.is_empty()
    });
    there.map(|(number, _)| number).collect()
}

/// Returns the findings of the file, or of the functions that are shown.
fn findings(
    db: &dyn Db,
    file: File,
    within: Option<&[FunctionPage]>,
    notes: &mut Vec<String>,
) -> Vec<FindingRow> {
    let source = program::text(file.source(db));
    let index = db::line_index(db, file);
    let inside = |line: u32| {
        within.is_none_or(|all| {
            all.iter()
                .any(|it| (it.first_line..=it.last_line).contains(&line))
        })
    };
    let mut out: Vec<FindingRow> = Vec::new();
    for diagnostic in diagnostics::diagnostics(db, file) {
        let row = report::diagnostic_row(db, file, &diagnostic);
        let (end_line, end_column) = line_column(source, index, diagnostic.span.end);
        let related = row.related.into_iter().map(|mut related| {
            let short = |path: String| path.rsplit(['/', '\\']).next().unwrap_or(&path).to_owned();
            related.file = related.file.map(short);
            related
        });
        // What is assumed stands in the head of a function.
        if inside(row.line) && row.code != ASSUMPTION {
            out.push(FindingRow {
                code: row.code,
                level: level_name(diagnostic.level),
                line: row.line,
                column: row.column,
                end_line,
                end_column,
                message: row.message,
                related: related.collect(),
                fix: row.fix,
            });
        }
    }
    let more = out.len().saturating_sub(MOST_FINDINGS);
    if more > 0 {
        out.truncate(MOST_FINDINGS);
        notes.push(format!(
            "{more} more findings are left out; `lockstep check` lists them"
        ));
    }
    out
}

/// Returns the reason why there are no functions.
fn nothing(db: &dyn Db, file: File, functions: &[FunctionPage]) -> Option<String> {
    let language = file.language(db);
    if language == Language::Ia64 {
        return Some("Assembly has no functions to analyse: the source shows what its blocks take and which groups wait.".to_owned());
    }
    if language.is_assembly() {
        return Some("Assembly has no functions to analyse: `lockstep sim` executes it and counts its cycles.".to_owned());
    }
    if functions.is_empty() {
        let any = program::own_items(db, file)
            .iter()
            .any(|(_, item)| !rows_of(db, *item).is_empty());
        return Some(match any {
            true => "No function of this name was found.".to_owned(),
            false => format!(
                "No function of a kernel or shader was found in this file of {}.",
                self::language(language)
            ),
        });
    }
    let entries = language == Language::C || functions.iter().any(|function| function.entry);
    (!entries).then(|| {
        "The file has no kernel and no shader stage: its functions are called from elsewhere, and nothing here runs. \
         `--entry NAME=STAGE` makes a function an entry point."
            .to_owned()
    })
}

const fn language(language: Language) -> &'static str {
    match language {
        Language::Cuda => "CUDA C++",
        Language::Hlsl => "HLSL",
        Language::Ptx => "PTX",
        Language::C => "C",
        Language::Ia64 => "IA-64 assembly",
        Language::Sc140 => "SC140 assembly",
        Language::MicroSimd => "µ-SIMD",
        Language::Ir => "IR",
        Language::Other => "text",
    }
}
