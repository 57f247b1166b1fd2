//! `lockstep actions` and `lockstep apply`.

use super::{ActionsArgs, ApplyArgs, CliError, DataFormat, input};
use crate::db::Database;
use crate::host;
use crate::parked::Task;
use crate::program;
use crate::views::actions::{self, Action, Doing};
use serde_json::json;
use std::io::Write;
use syntax::Span;

pub(super) fn actions(args: &ActionsArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open_with_processor(&mut db, &args.file, &args.analysis)?;
    let offset = input::offset_at(program::text(file.source(&db)), &args.at)?;
    let found = actions::actions(&db, file, Span::at(offset));
    let mut out = std::io::stdout().lock();
    match args.format {
        DataFormat::Json => {
            let rows: Vec<_> = found.iter().map(row).collect();
            serde_json::to_writer_pretty(&mut out, &json!({ "version": 1, "actions": rows }))?;
            writeln!(out)?;
        }
        DataFormat::Text => {
            for action in &found {
                let mark = if matches!(action.what, Doing::Refused { .. }) {
                    "refused: "
                } else {
                    ""
                };
                writeln!(
                    out,
                    "{:<40} {}\n{:<40} {mark}{}",
                    action.id, action.title, "", &action.effect
                )?;
            }
            if found.is_empty() {
                writeln!(out, "nothing to be done at {}", args.at)?;
            }
        }
    }
    Ok(0)
}

fn row(action: &Action) -> serde_json::Value {
    let refused = matches!(action.what, Doing::Refused { .. });
    json!({
        "id": action.id,
        "title": action.title,
        "kind": match action.kind {
            actions::ActionKind::QuickFix => "quickfix",
            actions::ActionKind::Rewrite => "refactor.rewrite",
        },
        "preferred": action.preferred,
        "effect": if refused { None } else { Some(&action.effect) },
        "refused": if refused { Some(&action.effect) } else { None },
    })
}

pub(super) fn apply(args: &ApplyArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open_with_processor(&mut db, &args.file, &args.analysis)?;
    let text = program::text(file.source(&db));
    let offset = input::offset_at(text, &args.at)?;
    let found = actions::actions(&db, file, Span::at(offset));
    let Some(action) = found.iter().find(|action| action.id == args.id) else {
        let known: Vec<&str> = found.iter().map(|action| action.id.as_str()).collect();
        let known = match known.is_empty() {
            true => "none is offered there".to_owned(),
            false => format!("there are: {}", known.join(", ")),
        };
        return Err(CliError::Usage(format!(
            "no action `{}` at {}; {known}",
            args.id, args.at
        )));
    };
    let made;
    let edits = match &action.what {
        Doing::Edit(edits) => edits,
        Doing::SpillLess { kernel, registers } => {
            let task = Task::new(&db, file, kernel, *registers);
            let task = task.ok_or_else(|| CliError::Usage(format!("no kernel `{kernel}`")))?;
            let task = task.map_err(|refusal| CliError::Usage(format!("refused: {refusal}")))?;
            let proposal = task.proposed(&input::assembler()?);
            let proposal = proposal.map_err(|e| CliError::Usage(format!("refused: {e}")))?;
            made = proposal.edits;
            &made
        }
        Doing::Machines => {
            let page = crate::views::machines::page(&db, file, offset).unwrap_or_default();
            std::io::stdout().lock().write_all(page.as_bytes())?;
            return Ok(0);
        }
        Doing::Codes(codes) => {
            let change = crate::views::compared::change(&db, file, offset, *codes);
            let change = change.ok_or_else(|| CliError::Usage("both codes are the same".into()))?;
            write!(std::io::stdout().lock(), "{}", change.unified())?;
            return Ok(0);
        }
        Doing::Refused { reason } => return Err(CliError::Usage(format!("refused: {reason}"))),
        Doing::Baseline { fingerprint } => {
            let Some(path) = &file.settings(&db).view(&db).baseline else {
                return Err(CliError::Usage("no baseline is configured".into()));
            };
            let Some(diagnostic) = &action.diagnostic else {
                return Err(CliError::Usage("there is no finding here".into()));
            };
            crate::baseline::add(
                path,
                actions::baseline_entry(&db, file, diagnostic, fingerprint),
            )?;
            eprintln!("{} now accepts it", path.display());
            return Ok(0);
        }
    };
    let Some(changed) = actions::edited(text, edits) else {
        return Err(CliError::Usage("the edits of this action overlap".into()));
    };
    let mut out = std::io::stdout().lock();
    if args.write {
        host::write_changed(&args.file, text, changed.as_bytes())?;
    } else if args.diff {
        let name = args.file.display().to_string();
        let diff = similar::TextDiff::from_lines(text, &changed);
        write!(out, "{}", diff.unified_diff().header(&name, &name))?;
    } else {
        out.write_all(changed.as_bytes())?;
    }
    Ok(0)
}
