//! The GPU code of a function, as an editor asks for it beside the source.

use super::backend::Backend;
use super::convert::Text;
use crate::derive;
use crate::derive::code::CodeTarget;
use crate::views;
use serde_json::{Value, json};
use std::path::PathBuf;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::{Position, TextDocumentIdentifier};

/// Parameters of `lockstep/code`.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeParams {
    text_document: TextDocumentIdentifier,
    position: Position,
    /// The program to judge with, instead of the one that is found.
    #[serde(default)]
    ptxas: Option<PathBuf>,
    #[serde(default)]
    judge: bool,
}

impl Backend {
    /// `lockstep/code { textDocument, position, ptxas }`: the GPU code of the function there, with the lines
    /// that it comes from; with `ptxas`, the result of that program.
    pub(super) async fn code(&self, params: CodeParams) -> Result<Option<Value>> {
        let position = params.position;
        let answer = self.ask(params.text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let found = derive::code::at(db, file, text.offset(position))?;
            Some(views::code::readable(db, file, found))
        });
        let Some(shown) = answer.await?.flatten() else {
            return Ok(None);
        };
        let judged = match crate::ptxas::find(params.ptxas.as_deref()) {
            Some(tool)
                if params.judge
                    && shown.refused.is_none()
                    && matches!(shown.target, CodeTarget::Gpu { .. }) =>
            {
                let (text, target) = (shown.text.clone(), shown.target.to_string());
                // No clone of the database is held while a process runs.
                let work = move || crate::ptxas::assemble(&tool, &text, &target);
                tokio::task::spawn_blocking(work).await.ok()
            }
            _ => None,
        };
        let (report, error) = match judged {
            Some(Ok(report)) => (Some(report), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        Ok(Some(json!({
            "name": shown.name,
            "target": shown.target.to_string(),
            "text": shown.text,
            "lines": shown.lines,
            "externals": shown.externals,
            "refused": shown.refused.as_ref().map(views::code::refused),
            "budget": shown.budget.map(|budget| budget.registers),
            "summary": report.as_ref().map(|report| views::code::summary(&shown, report)),
            "ptxas": report,
            "ptxasError": error,
        })))
    }
}
