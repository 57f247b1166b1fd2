//! The registers of a file's kernels, as an editor shows them beside the source.

use super::backend::Backend;
use crate::views::registers::{Panel, panel};
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::TextDocumentIdentifier;

/// Parameters of `lockstep/registers`.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RegistersParams {
    text_document: TextDocumentIdentifier,
}

impl Backend {
    /// `lockstep/registers { textDocument }`: the tables of `lockstep registers`, and the lines of the source that they speak
    /// of.
    pub(super) async fn registers(&self, params: RegistersParams) -> Result<Option<Panel>> {
        self.ask(params.text_document.uri, |db, file, _| panel(db, file))
            .await
    }
}
