//! Features of editors while one writes: rename, completion, the parameters of a call, symbols of the
//! workspace. Off where another server of the language has them (`language_features`).

use super::backend::Backend;
use super::convert::{self, Text};
use crate::config::LanguageFeatures;
use crate::db::{Database, Db, File};
use crate::views;
use crate::views::completion::{Completion, CompletionKind};
use std::collections::HashMap;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::*;

/// Symbols that one answer holds at most.
const MOST_SYMBOLS: usize = 500;

fn is_served(db: &Database, file: File) -> bool {
    let features: LanguageFeatures = file.settings(db).view(db).language_features;
    features.serve(file.language(db))
}

impl Backend {
    /// The name at a position, where it can be renamed.
    pub(super) async fn renameable(
        &self,
        at: TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>> {
        let found = self.ask(at.text_document.uri, move |db, file, snapshot| {
            if !is_served(db, file) {
                return None;
            }
            let text = Text::of(db, file, snapshot.encoding);
            let found = views::rename::renameable(db, file, text.offset(at.position));
            Some(found.map(|(span, name)| (text.range(span), name)))
        });
        match found.await?.flatten() {
            None => Ok(None),
            Some(Ok((range, placeholder))) => {
                Ok(Some(PrepareRenameResponse::RangeWithPlaceholder {
                    range,
                    placeholder,
                }))
            }
            Some(Err(reason)) => Err(Error::invalid_params(reason.to_string())),
        }
    }

    /// The edits that give a local name another spelling.
    pub(super) async fn renamed(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
        let at = params.text_document_position;
        let (uri, name) = (at.text_document.uri.clone(), params.new_name);
        let found = self.ask(at.text_document.uri, move |db, file, snapshot| {
            if !is_served(db, file) {
                return None;
            }
            let text = Text::of(db, file, snapshot.encoding);
            let spans = views::rename::rename(db, file, text.offset(at.position), &name);
            let edit = |span| TextEdit::new(text.range(span), name.clone());
            Some(spans.map(|spans| spans.into_iter().map(edit).collect::<Vec<_>>()))
        });
        match found.await?.flatten() {
            None => Ok(None),
            Some(Ok(edits)) => Ok(Some(WorkspaceEdit {
                changes: Some(HashMap::from([(uri, edits)])),
                ..WorkspaceEdit::default()
            })),
            Some(Err(reason)) => Err(Error::invalid_params(reason.to_string())),
        }
    }

    /// Returns the completions at a position.
    pub(super) async fn completions(
        &self,
        params: CompletionParams,
    ) -> Result<Option<CompletionResponse>> {
        let at = params.text_document_position;
        let found = self.ask(at.text_document.uri, move |db, file, snapshot| {
            if !is_served(db, file) {
                return None;
            }
            let text = Text::of(db, file, snapshot.encoding);
            let all = views::completion::completions(db, file, text.offset(at.position));
            Some(all.into_iter().map(completion_item).collect::<Vec<_>>())
        });
        Ok(found.await?.flatten().map(CompletionResponse::Array))
    }

    /// The parameters of the call around a position.
    pub(super) async fn signatures(
        &self,
        params: SignatureHelpParams,
    ) -> Result<Option<SignatureHelp>> {
        let at = params.text_document_position_params;
        let found = self.ask(at.text_document.uri, move |db, file, snapshot| {
            if !is_served(db, file) {
                return None;
            }
            let text = Text::of(db, file, snapshot.encoding);
            views::signature::signature(db, file, text.offset(at.position))
        });
        Ok(found.await?.flatten().map(|found| SignatureHelp {
            active_signature: Some(0),
            active_parameter: Some(found.active),
            signatures: found
                .signatures
                .into_iter()
                .map(|signature| SignatureInformation {
                    label: signature.label,
                    documentation: (!signature.about.is_empty())
                        .then_some(Documentation::String(signature.about)),
                    parameters: Some(
                        signature
                            .parameters
                            .into_iter()
                            .map(|parameter| ParameterInformation {
                                label: ParameterLabel::Simple(parameter),
                                documentation: None,
                            })
                            .collect(),
                    ),
                    active_parameter: None,
                })
                .collect(),
        }))
    }

    /// Functions and types whose name has the letters of a query in order: of the open documents and their
    /// includes.
    #[allow(deprecated)]
    pub(super) async fn workspace_symbols(
        &self,
        params: WorkspaceSymbolParams,
    ) -> Result<Option<WorkspaceSymbolResponse>> {
        let query = params.query;
        let found = self.ask_all(move |db, snapshot| {
            let mut found = Vec::new();
            for path in snapshot.uris.keys() {
                let file = db.file(path);
                if !is_served(db, file) {
                    continue;
                }
                for symbol in views::symbols::of_unit(db, file, &query) {
                    let location = convert::location(db, snapshot, symbol.file, symbol.span);
                    found.extend(location.map(|location| SymbolInformation {
                        name: symbol.name,
                        kind: super::backend::symbol_kind(symbol.kind),
                        tags: None,
                        deprecated: None,
                        location,
                        container_name: None,
                    }));
                }
            }
            found.sort_by(|a, b| {
                let place = |information: &SymbolInformation| {
                    let at = information.location.range.start;
                    (
                        information.location.uri.as_str().to_owned(),
                        at.line,
                        at.character,
                    )
                };
                (a.name.len(), &a.name, place(a)).cmp(&(b.name.len(), &b.name, place(b)))
            });
            found.dedup_by(|a, b| a.location == b.location);
            found.truncate(MOST_SYMBOLS);
            found
        });
        Ok(Some(WorkspaceSymbolResponse::Flat(found.await?)))
    }
}

fn completion_item(completion: Completion) -> CompletionItem {
    CompletionItem {
        kind: Some(match completion.kind {
            CompletionKind::Variable => CompletionItemKind::VARIABLE,
            CompletionKind::Function => CompletionItemKind::FUNCTION,
            CompletionKind::Type => CompletionItemKind::STRUCT,
            CompletionKind::Member => CompletionItemKind::FIELD,
            CompletionKind::Keyword => CompletionItemKind::KEYWORD,
            CompletionKind::Semantic => CompletionItemKind::CONSTANT,
        }),
        detail: (!completion.detail.is_empty()).then_some(completion.detail),
        documentation: (!completion.about.is_empty())
            .then_some(Documentation::String(completion.about)),
        sort_text: Some(format!("{}{}", completion.kind as u8, completion.label)),
        label: completion.label,
        ..CompletionItem::default()
    }
}
