//! Actions at a place: the fixes of findings, and ways to silence them. An action that can't be offered says
//! why.

use super::diagnostics::{diagnostics, fingerprint};
use super::model::Diagnostic;
use super::model::numbered;
pub use super::model::{Action, ActionKind, Doing, edited};
use crate::db::{self, Db, File};
use crate::documents::{line_beginning, line_text};
use crate::program::{self, Language};
use syntax::{LineIndex, Span};

/// Returns the new text of the line where an edit begins; the text itself where a line is added.
fn effect(what: &Doing, source: &str, lines: &LineIndex) -> String {
    match what {
        Doing::Edit(edits) => {
            let Some((span, text)) = edits.iter().min_by_key(|(span, _)| *span) else {
                return "changes nothing".into();
            };
            let (line, _) = lines.line_column(span.start);
            if let Some(added) = text.strip_suffix('\n').filter(|_| span.is_empty()) {
                return format!("adds above line {}: {}", line + 1, added.trim());
            }
            let start = lines.line_start(line);
            let old = line_text(source, lines, line);
            let end = start + old.len() as u32;
            let here: Vec<(Span, String)> = edits
                .iter()
                .filter(|(span, _)| start <= span.start && span.end <= end)
                .map(|(span, text)| {
                    (
                        Span::new(span.start - start, span.end - start),
                        text.clone(),
                    )
                })
                .collect();
            let new = edited(old, &here).unwrap_or_default();
            let more = match edits.len() - here.len() {
                0 => String::new(),
                more => format!(" (and {more} changes in other lines)"),
            };
            format!("line {} becomes: {}{more}", line + 1, new.trim())
        }
        Doing::Baseline { fingerprint } => format!("adds {fingerprint} to the baseline"),
        Doing::Machines => "opens a page".into(),
        Doing::Codes(_) => "shows both codes".into(),
        Doing::SpillLess { .. } => "what ptxas spills least of".into(),
        Doing::Refused { reason } => reason.clone(),
    }
}

/// Everything that can be done at a range.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let mut all = fixes(db, file, range);
    all.extend(rewrites(db, file, range));
    all
}

/// Returns the actions that an author may request without a finding.
pub fn rewrites(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let mut all = super::versions::actions(db, file, range);
    all.extend(super::partly_dead::actions(db, file, range));
    all.extend(super::speculation::actions(db, file, range));
    all.extend(super::assembly::actions(db, file, range));
    all.extend(super::set_actions::actions(db, file, range));
    all.extend(super::loops::actions(db, file, range));
    all.extend(super::set_loops::actions(db, file, range));
    all.extend(super::conversion::actions(db, file, range));
    all.extend(super::machines::actions(db, file, range));
    all.extend(super::spilled::reduced::actions(db, file, range));
    all.extend(super::guided::actions(db, file, range));
    all.extend(super::allocations::actions(db, file, range));
    all.extend(super::pressure_actions::actions(db, file, range));
    all
}

/// The reason why a finding has no fix of its own: other actions rewrite the kernel, or none does.
fn elsewhere(code: &str, language: Language) -> &'static str {
    let of_registers = [
        "launch-bounds-spill",
        "cheap-remat",
        "spill-in-loop",
        "pressure-peak",
    ];
    if code == facts::Code::PartiallyDead.name() {
        return "`sink-dead`, on the variable, moves it to where it is read";
    }
    if code == facts::Code::IrrelevantLoad.name() {
        return "`skip-loads`, on the variable, guards them";
    }
    match (of_registers.contains(&code), language) {
        (true, Language::Cuda | Language::Hlsl) => {
            "`recompute-at-use`, `load-again`, `one-copy-a-warp`, `sink-definition` and `narrow-type`, on the variable or on \
             the kernel's head, say what each brings"
        }
        (true, Language::Ptx) => {
            "`spill-less` and the allocators, on the kernel's head, rewrite it"
        }
        _ => "no rewrite is known that certainly keeps the meaning here",
    }
}

/// Actions for the findings that touch a range.
pub fn fixes(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let source = program::text(file.source(db));
    let lines = db::line_index(db, file);
    let settings = file.settings(db);
    let first = lines.line_column(range.start).0;
    let last = lines.line_column(range.end).0;
    let mut actions = Vec::new();
    for diagnostic in diagnostics(db, file) {
        if diagnostic.finding.is_none() {
            continue;
        }
        let (from, to) = (
            lines.line_column(diagnostic.span.start).0,
            lines.line_column(diagnostic.span.end).0,
        );
        if to < first || from > last {
            continue;
        }
        let code = diagnostic.code;
        let mut add = |id: String, title: String, preferred: bool, what: Doing| {
            let id = numbered(&actions, id);
            actions.push(Action {
                id,
                effect: effect(&what, source, lines),
                title,
                kind: ActionKind::QuickFix,
                preferred,
                what,
                diagnostic: Some(diagnostic.clone()),
                quiet: false,
            });
        };
        match &diagnostic.fix {
            Some(fix) => add(
                format!("fix-{code}"),
                fix.title.clone(),
                fix.safe,
                Doing::Edit(fix.edits.clone()),
            ),
            None => add(
                format!("fix-{code}"),
                format!("Fix {code}"),
                false,
                Doing::Refused {
                    reason: elsewhere(code, file.language(db)).into(),
                },
            ),
        }
        let (line, _) = lines.line_column(diagnostic.span.start);
        let text = line_text(source, lines, line);
        let indent: String = text.chars().take_while(|c| c.is_whitespace()).collect();
        let end = if source.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let start = Span::at(lines.line_start(line));
        let after_continuation = line > 0 && line_text(source, lines, line - 1).ends_with('\\');
        add(
            format!("allow-{code}"),
            format!("Silence {code} here by a comment"),
            false,
            if after_continuation {
                Doing::Refused {
                    reason:
                        "the line belongs to a macro's definition, where a comment would end it"
                            .into(),
                }
            } else {
                Doing::Edit(vec![(
                    start,
                    format!("{indent}// lockstep: allow({code}){end}"),
                )])
            },
        );
        add(
            format!("allow-file-{code}"),
            format!("Silence {code} in this file"),
            false,
            Doing::Edit(vec![(
                Span::at(byte_order_mark(source)),
                format!("// lockstep: allow-file({code}){end}"),
            )]),
        );
        add(
            format!("baseline-{code}"),
            format!("Add this {code} to the baseline"),
            false,
            match settings.view(db).baseline {
                Some(_) => Doing::Baseline {
                    fingerprint: fingerprint(&diagnostic, source, lines),
                },
                None => Doing::Refused {
                    reason: "no `baseline` is set in lockstep.toml".into(),
                },
            },
        );
    }
    actions
}

/// Returns the baseline's entry for a finding.
pub fn baseline_entry(
    db: &dyn Db,
    file: File,
    diagnostic: &Diagnostic,
    fingerprint: &str,
) -> serde_json::Value {
    let source = program::text(file.source(db));
    let lines = db::line_index(db, file);
    let (line, _) = lines.line_column(diagnostic.span.start);
    let name = file
        .path(db)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    serde_json::json!({
        "fingerprint": fingerprint,
        "code": diagnostic.code,
        "file": name,
        "item": diagnostic.item,
        "text": line_beginning(source, lines, line).trim(),
    })
}

fn byte_order_mark(source: &str) -> u32 {
    if source.starts_with('\u{feff}') { 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_any_order_and_overlaps_are_refused() {
        let edits = vec![
            (Span::new(3, 4), "D".to_owned()),
            (Span::at(0), "<".to_owned()),
        ];
        assert_eq!(edited("abcd", &edits).as_deref(), Some("<abcD"));
        let overlapping = vec![
            (Span::new(0, 3), String::new()),
            (Span::new(2, 4), String::new()),
        ];
        assert_eq!(edited("abcd", &overlapping), None);
    }
}
