//! Code actions in the protocol's form.

use super::backend::Backend;
use super::capabilities::ClientFeatures;
use super::commands::{ADD_TO_BASELINE, MACHINES, PROFILED_CODE, SPILLS};
use super::convert::{self, Text};
use super::event::Snapshot;
use super::question::locked;
use crate::db::{Database, File};
use crate::parked::Task;
use crate::views;
use crate::views::actions::{ActionKind, Doing};
use crate::views::compared::Codes;
use serde_json::json;
use std::collections::HashMap;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::*;

pub(super) fn code_action(
    db: &Database,
    file: File,
    text: &Text<'_>,
    snapshot: &Snapshot,
    uri: &Uri,
    features: ClientFeatures,
    (action, range): (&views::actions::Action, Range),
) -> Option<CodeAction> {
    let mut out = CodeAction {
        title: action.title.clone(),
        kind: Some(match action.kind {
            ActionKind::QuickFix => CodeActionKind::QUICKFIX,
            ActionKind::Rewrite => CodeActionKind::REFACTOR_REWRITE,
        }),
        diagnostics: action
            .diagnostic
            .as_ref()
            .map(|it| vec![convert::diagnostic(db, file, it, snapshot)]),
        is_preferred: Some(action.preferred),
        ..CodeAction::default()
    };
    match &action.what {
        Doing::Edit(edits) => {
            let edits: Vec<TextEdit> = edits
                .iter()
                .map(|(span, new)| TextEdit::new(text.range(*span), new.clone()))
                .collect();
            // With the version, so that a client refuses it when the text has moved on.
            out.edit = Some(
                if action.kind == ActionKind::Rewrite && features.annotations {
                    let name = "lockstep".to_owned();
                    let edits = edits.into_iter().map(|text_edit| {
                        OneOf::Right(AnnotatedTextEdit {
                            text_edit,
                            annotation_id: name.clone(),
                        })
                    });
                    WorkspaceEdit {
                        document_changes: Some(DocumentChanges::Edits(vec![TextDocumentEdit {
                            text_document: OptionalVersionedTextDocumentIdentifier {
                                uri: uri.clone(),
                                version: Some(snapshot.version),
                            },
                            edits: edits.collect(),
                        }])),
                        change_annotations: Some(HashMap::from([(
                            name.clone(),
                            ChangeAnnotation {
                                label: action.title.clone(),
                                // The client shows the difference and asks before it writes.
                                needs_confirmation: Some(
                                    file.settings(db).view(db).preview && !features.has_views,
                                ),
                                description: Some(action.effect.clone()),
                            },
                        )])),
                        ..WorkspaceEdit::default()
                    }
                } else if features.document_changes {
                    WorkspaceEdit {
                        document_changes: Some(DocumentChanges::Edits(vec![TextDocumentEdit {
                            text_document: OptionalVersionedTextDocumentIdentifier {
                                uri: uri.clone(),
                                version: Some(snapshot.version),
                            },
                            edits: edits.into_iter().map(OneOf::Left).collect(),
                        }])),
                        ..WorkspaceEdit::default()
                    }
                } else {
                    WorkspaceEdit {
                        changes: Some(HashMap::from([(uri.clone(), edits)])),
                        ..WorkspaceEdit::default()
                    }
                },
            );
        }
        Doing::Baseline { fingerprint } => {
            let path = file
                .settings(db)
                .view(db)
                .baseline
                .as_ref()?
                .display()
                .to_string();
            let diagnostic = action.diagnostic.as_ref()?;
            let entry = views::actions::baseline_entry(db, file, diagnostic, fingerprint);
            out.command = Some(Command {
                title: action.title.clone(),
                command: ADD_TO_BASELINE.to_owned(),
                arguments: Some(vec![json!({ "path": path, "entry": entry })]),
            });
        }
        Doing::Machines | Doing::Codes(_) => {
            let command = match (&action.what, features.has_views) {
                (Doing::Codes(Codes::Spills), true) => "lockstep.showSpills",
                (Doing::Codes(Codes::Spills), false) => SPILLS,
                (Doing::Codes(Codes::Profile), true) => "lockstep.showProfiledCode",
                (Doing::Codes(Codes::Profile), false) => PROFILED_CODE,
                (_, true) => "lockstep.showMachines",
                (_, false) => MACHINES,
            };
            out.command = Some(Command {
                title: action.title.clone(),
                command: command.to_owned(),
                arguments: Some(vec![json!({
                    "uri": uri.as_str(),
                    "position": range.start,
                })]),
            });
        }
        // Its edit is made when it is asked for.
        Doing::SpillLess { .. } => {
            if !features.resolves_edits {
                return None;
            }
        }
        Doing::Refused { reason } => {
            if !features.disabled_actions {
                return None;
            }
            out.disabled = Some(CodeActionDisabled {
                reason: reason.clone(),
            });
        }
    }
    Some(out)
}

/// The data by which `codeAction/resolve` finds an action again.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Offered {
    uri: Uri,
    range: Range,
    id: String,
    version: i32,
}

/// The outcome of an action that is to be resolved.
enum Resolved {
    Edit(WorkspaceEdit),
    /// The assembler is asked first.
    Judged(Box<std::result::Result<Task, codegen::Refusal>>),
}

impl Backend {
    /// The actions at a range; where the client resolves them, without their edits.
    pub(super) async fn code_actions(
        &self,
        params: CodeActionParams,
    ) -> Result<Option<CodeActionResponse>> {
        let features = self.shared.features();
        let uri = params.text_document.uri.clone();
        let range = params.range;
        let wanted = params.context.only.clone();
        let asked = |names: &[&str]| {
            wanted
                .as_ref()
                .is_none_or(|kinds| kinds.iter().any(|kind| names.contains(&kind.as_str())))
        };
        let quick = asked(&["", "quickfix"]);
        let rewrites = asked(&["", "refactor", "refactor.rewrite"]);
        if !quick && !rewrites {
            return Ok(Some(Vec::new()));
        }
        self.ask(params.text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let mut found = Vec::new();
            if quick {
                found.extend(views::actions::fixes(db, file, text.span(range)));
            }
            if rewrites {
                found.extend(views::actions::rewrites(db, file, text.span(range)));
            }
            let offered = found.iter().filter(|action| !action.quiet);
            offered
                .filter_map(|action| {
                    let mut out =
                        code_action(db, file, &text, snapshot, &uri, features, (action, range))?;
                    let later = matches!(action.what, Doing::SpillLess { .. });
                    if features.resolves_edits && (later || out.edit.is_some()) {
                        out.edit = None;
                        let offered = Offered {
                            uri: uri.clone(),
                            range,
                            id: action.id.clone(),
                            version: snapshot.version,
                        };
                        out.data = serde_json::to_value(offered).ok();
                    }
                    Some(CodeActionOrCommand::CodeAction(out))
                })
                .collect()
        })
        .await
    }

    /// Gives an action its edit.
    pub(super) async fn resolved(&self, mut action: CodeAction) -> Result<CodeAction> {
        let features = self.shared.features();
        let data = action.data.clone().unwrap_or_default();
        let Ok(offered) = serde_json::from_value::<Offered>(data) else {
            return Ok(action);
        };
        let uri = offered.uri.clone();
        let found = self.ask(uri.clone(), move |db, file, snapshot| {
            if snapshot.version != offered.version {
                return None;
            }
            let text = Text::of(db, file, snapshot.encoding);
            let all = views::actions::actions(db, file, text.span(offered.range));
            let found = all.iter().find(|action| action.id == offered.id)?;
            if let Doing::SpillLess { kernel, registers } = &found.what {
                let task = Task::new(db, file, kernel, *registers)?;
                return Some(Resolved::Judged(Box::new(task)));
            }
            let action = code_action(
                db,
                file,
                &text,
                snapshot,
                &offered.uri,
                features,
                (found, offered.range),
            )?;
            action.edit.map(Resolved::Edit)
        });
        action.edit = match found.await?.flatten() {
            Some(Resolved::Edit(edit)) => Some(edit),
            Some(Resolved::Judged(task)) => self.judged(uri, offered.version, *task).await?,
            None => None,
        };
        if action.edit.is_none() {
            // ContentModified of the specification.
            return Err(Error {
                code: tower_lsp::jsonrpc::ErrorCode::ContentModified,
                message: "the text has changed since the action was offered".into(),
                data: None,
            });
        }
        Ok(action)
    }

    /// The edit of a rewriting that the assembler judges. No clone of the database is held while it runs.
    async fn judged(
        &self,
        uri: Uri,
        version: i32,
        task: std::result::Result<Task, codegen::Refusal>,
    ) -> Result<Option<WorkspaceEdit>> {
        let failed = |message: String| Error {
            code: tower_lsp::jsonrpc::ErrorCode::ServerError(-32803),
            message: message.into(),
            data: None,
        };
        let task = task.map_err(|refusal| failed(refusal.to_string()))?;
        let named = locked(&self.shared.assembler).clone();
        let Some(tool) = named.or_else(|| crate::ptxas::find(None)) else {
            let why = "ptxas was not found: neither the editor's settings, LOCKSTEP_PTXAS nor the search path has it";
            return Err(failed(why.into()));
        };
        let proposed = tokio::task::spawn_blocking(move || task.proposed(&tool)).await;
        let proposal = match proposed {
            Ok(Ok(proposal)) => proposal,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(error) => return Err(failed(error.to_string())),
        };
        self.ask(uri.clone(), move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let edits = proposal.edits.iter();
            let edits = edits.map(|(place, new)| TextEdit::new(text.range(*place), new.clone()));
            (snapshot.version == version).then(|| WorkspaceEdit {
                document_changes: Some(DocumentChanges::Edits(vec![TextDocumentEdit {
                    text_document: OptionalVersionedTextDocumentIdentifier {
                        uri: uri.clone(),
                        version: Some(version),
                    },
                    edits: edits.map(OneOf::Left).collect(),
                }])),
                ..WorkspaceEdit::default()
            })
        })
        .await
        .map(Option::flatten)
    }
}
