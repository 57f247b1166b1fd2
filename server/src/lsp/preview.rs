//! A preview of an action on a function: its source and its GPU code, before and after, from a database that
//! has the changed text.

use super::backend::Backend;
use super::convert::Text;
use super::profile::apart;
use crate::db::{self, Copy};
use crate::derive;
use crate::derive::code::TargetCode;
use crate::program;
use crate::views;
use crate::views::actions::{Action, Doing};
use serde_json::{Value, json};
use syntax::ItemKey;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::{Range, TextDocumentIdentifier};

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreviewParams {
    text_document: TextDocumentIdentifier,
    range: Range,
    /// The action; without it, those that are offered here.
    #[serde(default)]
    action: Option<String>,
}

/// The answer of the database about a preview.
enum Previewed {
    /// Actions that could be looked at.
    Offered(Vec<Value>),
    Edit(Box<Edit>),
}

struct Edit {
    action: Action,
    changed: String,
    key: ItemKey,
    before: Option<TargetCode>,
    copy: Copy,
}

impl Backend {
    /// `lockstep/preview { textDocument, range, action }`: the source and the GPU code before and after an action;
    /// without an action, which there are.
    pub(super) async fn preview(&self, params: PreviewParams) -> Result<Option<Value>> {
        let PreviewParams {
            text_document,
            range,
            action,
        } = params;
        let found = self.ask(text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let span = text.span(range);
            let found = views::actions::actions(db, file, span);
            let Some(wanted) = &action else {
                let edits = |action: &&Action| matches!(action.what, Doing::Edit(_));
                let row = |action: &Action| json!({ "id": action.id, "title": action.title, "effect": action.effect });
                let rows = found.iter().filter(edits).map(row);
                return Some(Previewed::Offered(rows.collect()));
            };
            let action = found.into_iter().find(|action| action.id == *wanted)?;
            let Doing::Edit(edits) = &action.what else {
                return None;
            };
            let changed = views::actions::edited(program::text(file.source(db)), edits)?;
            let key = derive::code::function_at(db, file, span.start)?;
            let before = derive::code::of_key(db, file, &key);
            let copy = Copy::of(db, file).with_text(&changed);
            Some(Previewed::Edit(Box::new(Edit {
                action,
                changed,
                key,
                before,
                copy,
            })))
        });
        let edit = match found.await?.flatten() {
            None => return Ok(None),
            Some(Previewed::Offered(rows)) => return Ok(Some(json!({ "actions": rows }))),
            Some(Previewed::Edit(edit)) => *edit,
        };
        let (copy, key) = (edit.copy, edit.key.clone());
        let after = apart(move || {
            let (db, file) = copy.open();
            db::catch(&db, |db| derive::code::of_key(db, file, &key))
        });
        let Some(Ok(after)) = after.await else {
            return Err(Error::internal_error());
        };
        let code = |code: Option<TargetCode>| {
            code.map(|code| {
                json!({
                    "text": views::code::comparable(&code),
                    "refused": code.refused.as_ref().map(views::code::refused),
                    "target": code.target.to_string(),
                })
            })
        };
        Ok(Some(json!({
            "title": edit.action.title,
            "effect": edit.action.effect,
            "item": edit.key.name.as_str(),
            "source": edit.changed,
            "before": code(edit.before),
            "after": code(after),
        })))
    }
}
