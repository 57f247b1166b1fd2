//! Requests and notifications. A handler puts its work into the owner's queue before it waits for anything, so that
//! work begins in the order of the wire; a handler that is dropped because its request was cancelled cancels its
//! computation.

use super::capabilities;
use super::commands;
use super::convert::{self, Text};
use super::event::{Event, Request, Snapshot};
use super::outgoing::Outgoing;
use super::owner::Owner;
use super::question::{self, CancelOnDrop, Question, Shared, locked};
use crate::db::{Database, File};
use crate::documents::Change;
use crate::views;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types::*;
use tower_lsp::{Client, LanguageServer};

#[derive(Debug)]
pub(super) struct Backend {
    events: Sender<Event>,
    pub(super) shared: Arc<Shared>,
    pub(super) outgoing: Outgoing,
}

impl Backend {
    pub(super) fn new(client: Client, shared: Arc<Shared>, handle: tokio::runtime::Handle) -> Self {
        let (events, queue) = channel();
        let outgoing = Outgoing::new(client, handle);
        let (for_owner, shared_too, outgoing_too) =
            (events.clone(), Arc::clone(&shared), outgoing.clone());
        let spawned = std::thread::Builder::new()
            .name("owner".to_owned())
            .spawn(move || {
                Owner::new(for_owner, shared_too, outgoing_too).run(&queue);
            });
        if let Err(error) = spawned {
            tracing::error!("no thread for the owner: {error}");
        }
        Backend {
            events,
            shared,
            outgoing,
        }
    }

    pub(super) fn tell(&self, event: Event) {
        if self.events.send(event).is_err() {
            tracing::error!("the owner is gone");
        }
    }

    /// Runs a function on a clone of the database, for a document.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        uri: Uri,
        compute: impl Fn(&Database, File, &Snapshot) -> T + Send + Sync + 'static,
    ) -> Result<Option<T>> {
        self.ask_any(uri, move |db, snapshot| {
            snapshot.file.map(|file| compute(db, file, snapshot))
        })
        .await
    }

    async fn ask_any<T: Send + 'static>(
        &self,
        uri: Uri,
        compute: impl Fn(&Database, &Snapshot) -> T + Send + Sync + 'static,
    ) -> Result<T> {
        self.ask_of(Some(uri), compute).await
    }

    /// Runs a function on a clone of the database, of no document in particular.
    pub(super) async fn ask_all<T: Send + 'static>(
        &self,
        compute: impl Fn(&Database, &Snapshot) -> T + Send + Sync + 'static,
    ) -> Result<T> {
        self.ask_of(None, compute).await
    }

    async fn ask_of<T: Send + 'static>(
        &self,
        uri: Option<Uri>,
        compute: impl Fn(&Database, &Snapshot) -> T + Send + Sync + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let question = Arc::new(Question {
            compute,
            answer: Mutex::new(Some(answer)),
            state: Arc::default(),
        });
        let state = Arc::clone(&question.state);
        self.tell(Event::Request(Request {
            uri,
            version: None,
            work: question,
        }));
        let guard = CancelOnDrop(state);
        let outcome = answered.await;
        drop(guard);
        outcome.unwrap_or_else(|_| Err(Error::internal_error()))
    }

    /// `lockstep/codes`: the diagnostics that have a page.
    pub(super) async fn codes(&self) -> Result<Vec<String>> {
        Ok(facts::Code::ALL
            .iter()
            .map(|code| code.name().to_owned())
            .collect())
    }

    /// `lockstep/explain { code }`: the page.
    pub(super) async fn explain(&self, params: Value) -> Result<Option<String>> {
        Ok(params
            .get("code")
            .and_then(Value::as_str)
            .and_then(crate::explain::page))
    }

    fn ask_for_settings(&self) {
        let events = self.events.clone();
        self.outgoing
            .detached("workspace/configuration", async move |client: Client| {
                let item = ConfigurationItem {
                    scope_uri: None,
                    section: Some("lockstep".to_owned()),
                };
                if let Ok(answers) = client.configuration(vec![item]).await
                    && let Some(settings) = answers.into_iter().next()
                    && settings.is_object()
                {
                    let _ = events.send(Event::Settings(settings));
                }
            });
    }
}

fn folder_paths(folders: &[WorkspaceFolder]) -> Vec<PathBuf> {
    folders
        .iter()
        .map(|folder| convert::path_of(&folder.uri))
        .collect()
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let features = capabilities::client_features(&params);
        let _ = self.shared.features.set(features);
        if let Some(process) = params.process_id {
            super::client_process::end_with(process);
        }
        #[allow(deprecated)]
        let root = params.root_uri.as_ref().map(convert::path_of);
        let folders = match &params.workspace_folders {
            Some(folders) if !folders.is_empty() => folder_paths(folders),
            _ => root.into_iter().collect(),
        };
        let mut settings = params.initialization_options.unwrap_or(Value::Null);
        // Said of the client, and no setting.
        if let Some(settings) = settings.as_object_mut() {
            settings.remove("views");
        }
        self.tell(Event::Ready {
            encoding: features.encoding,
            folders,
            settings,
            push: !features.pull_diagnostics,
            refresh: features.refresh,
        });
        Ok(InitializeResult {
            capabilities: capabilities::server_capabilities(features),
            server_info: Some(ServerInfo {
                name: "lockstep".to_owned(),
                version: Some(env!("LOCKSTEP_VERSION").to_owned()),
            }),
            offset_encoding: None,
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        let features = self.shared.features();
        if features.watches_files {
            let watcher = |glob: &str| FileSystemWatcher {
                glob_pattern: GlobPattern::String(glob.to_owned()),
                kind: None,
            };
            let options = DidChangeWatchedFilesRegistrationOptions {
                watchers: vec![
                    watcher("**/lockstep.toml"),
                    watcher("**/*.machine.toml"),
                    watcher("**/*.lockstep-profile.json"),
                    watcher("**/compile_commands.json"),
                    watcher("**/*.rsp"),
                    watcher("**/*.{cu,cuh,h,hpp,hh,hxx,inl,inc,c,cc,cpp,cxx}"),
                    watcher("**/*.{hlsl,hlsli,fx,fxh,usf,ush,compute,ptx,musimd}"),
                ],
            };
            let registration = Registration {
                id: "lockstep-files".to_owned(),
                method: "workspace/didChangeWatchedFiles".to_owned(),
                register_options: serde_json::to_value(options).ok(),
            };
            self.outgoing
                .detached("client/registerCapability", async move |client: Client| {
                    drop(client.register_capability(vec![registration]).await);
                });
        }
        if features.configuration {
            self.ask_for_settings();
        }
    }

    async fn shutdown(&self) -> Result<()> {
        self.shared.shut_down.store(true, Ordering::Release);
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let TextDocumentItem {
            uri,
            language_id,
            version,
            text,
        } = params.text_document;
        self.tell(Event::Open {
            uri,
            text,
            version,
            language: language_id.as_str().to_owned(),
        });
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let changes = params
            .content_changes
            .into_iter()
            .map(|change| Change {
                range: change
                    .range
                    .map(|range| (convert::place(range.start), convert::place(range.end))),
                text: change.text,
            })
            .collect();
        let VersionedTextDocumentIdentifier { uri, version } = params.text_document;
        self.tell(Event::Change {
            uri,
            version,
            changes,
        });
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.tell(Event::Saved(params.text_document.uri));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.tell(Event::Close {
            uri: params.text_document.uri,
        });
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        match params.settings.get("lockstep") {
            Some(settings) => self.tell(Event::Settings(settings.clone())),
            None if self.shared.features().configuration => self.ask_for_settings(),
            None => {}
        }
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.tell(Event::Folders {
            added: folder_paths(&params.event.added),
            removed: folder_paths(&params.event.removed),
        });
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.tell(Event::Watched(
            params
                .changes
                .into_iter()
                .map(|change| change.uri)
                .collect(),
        ));
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        let at = params.text_document_position_params;
        let markdown = self.shared.features().markdown;
        let answer = self.ask(at.text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let hover = views::hover::hover(db, file, text.offset(at.position))?;
            Some((hover.markdown, text.range(hover.span)))
        });
        Ok(answer.await?.flatten().map(|(value, range)| Hover {
            contents: HoverContents::Markup(match markdown {
                true => MarkupContent {
                    kind: MarkupKind::Markdown,
                    value,
                },
                false => MarkupContent {
                    kind: MarkupKind::PlainText,
                    value: convert::plain(&value),
                },
            }),
            range: Some(range),
        }))
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        let uri = params.text_document.uri.clone();
        self.ask(params.text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let switches = &file.settings(db).view(db).hints;
            let hints = views::hints::hints(db, file, text.span(params.range), switches);
            let hint = |hint: &views::hints::Hint| {
                let value = hint.category == views::hints::Category::Value;
                InlayHint {
                    position: text.position(hint.offset),
                    label: InlayHintLabel::String(hint.label.clone()),
                    kind: value.then_some(InlayHintKind::TYPE),
                    text_edits: None,
                    tooltip: None,
                    padding_left: Some(!value),
                    padding_right: Some(false),
                    data: Some(json!({ "uri": uri.as_str(), "at": text.position(hint.about) })),
                }
            };
            hints.iter().map(hint).collect()
        })
        .await
    }

    async fn inlay_hint_resolve(&self, mut hint: InlayHint) -> Result<InlayHint> {
        let data = hint.data.clone().unwrap_or(Value::Null);
        let uri = data
            .get("uri")
            .and_then(Value::as_str)
            .and_then(|uri| uri.parse::<Uri>().ok());
        let at = data
            .get("at")
            .and_then(|at| serde_json::from_value::<Position>(at.clone()).ok());
        let (Some(uri), Some(at)) = (uri, at) else {
            return Ok(hint);
        };
        let answer = self.ask(uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            views::hover::hover(db, file, text.offset(at)).map(|hover| hover.markdown)
        });
        if let Some(value) = answer.await?.flatten() {
            hint.tooltip = Some(InlayHintTooltip::MarkupContent(MarkupContent {
                kind: MarkupKind::Markdown,
                value,
            }));
        }
        Ok(hint)
    }

    async fn semantic_tokens_full(
        &self,
        params: SemanticTokensParams,
    ) -> Result<Option<SemanticTokensResult>> {
        let uri = params.text_document.uri;
        let data = self.ask(uri.clone(), all_tokens).await?;
        Ok(data.map(|data| {
            let id = self.shared.result_id();
            locked(&self.shared.tokens).insert(uri.as_str().to_owned(), (id.clone(), data.clone()));
            SemanticTokensResult::Tokens(SemanticTokens {
                result_id: Some(id),
                data,
            })
        }))
    }

    async fn semantic_tokens_full_delta(
        &self,
        params: SemanticTokensDeltaParams,
    ) -> Result<Option<SemanticTokensFullDeltaResult>> {
        let uri = params.text_document.uri;
        let data = self.ask(uri.clone(), all_tokens).await?;
        Ok(data.map(|data| {
            let id = self.shared.result_id();
            let new = (id.clone(), data.clone());
            match locked(&self.shared.tokens).insert(uri.as_str().to_owned(), new) {
                Some((old_id, old)) if old_id == params.previous_result_id => {
                    let edits = convert::tokens_delta(&old, &data);
                    SemanticTokensFullDeltaResult::TokensDelta(SemanticTokensDelta {
                        result_id: Some(id),
                        edits,
                    })
                }
                _ => SemanticTokensFullDeltaResult::Tokens(SemanticTokens {
                    result_id: Some(id),
                    data,
                }),
            }
        }))
    }

    async fn semantic_tokens_range(
        &self,
        params: SemanticTokensRangeParams,
    ) -> Result<Option<SemanticTokensRangeResult>> {
        let range = params.range;
        let data = self.ask(params.text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            convert::tokens(
                &text,
                &views::tokens::tokens(db, file, Some(text.span(range))),
            )
        });
        Ok(data.await?.map(|data| {
            SemanticTokensRangeResult::Tokens(SemanticTokens {
                result_id: None,
                data,
            })
        }))
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        let uri = params.text_document.uri.clone();
        self.ask(params.text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let command = match snapshot.has_views {
                true => "lockstep.showReport",
                false => commands::REPORT,
            };
            let lens = |it: &views::lens::Lens, title: String| CodeLens {
                range: text.range(it.span),
                command: Some(Command {
                    title,
                    command: command.to_owned(),
                    arguments: Some(vec![json!({ "uri": uri.as_str(), "item": it.item })]),
                }),
                data: None,
            };
            let each = views::lens::lenses(db, file).into_iter();
            let each = each.flat_map(|mut it| {
                let title = match &it.costs {
                    Some(costs) => format!("{} · {costs}", it.title),
                    None => std::mem::take(&mut it.title),
                };
                let registers = it.registers.take();
                let first = lens(&it, title);
                let second = registers.map(|title| lens(&it, title));
                [first].into_iter().chain(second)
            });
            each.collect()
        })
        .await
    }

    async fn document_symbol(
        &self,
        params: DocumentSymbolParams,
    ) -> Result<Option<DocumentSymbolResponse>> {
        let symbols = self.ask(params.text_document.uri, |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            views::symbols::symbols(db, file)
                .into_iter()
                .map(|it| symbol(&text, it))
                .collect()
        });
        Ok(symbols.await?.map(DocumentSymbolResponse::Nested))
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        self.ask(params.text_document.uri, |db, file, _| {
            let range = |fold: views::folding::Fold| FoldingRange {
                start_line: fold.start,
                end_line: fold.end,
                kind: match fold.kind {
                    views::folding::FoldKind::Code => None,
                    views::folding::FoldKind::Comment => Some(FoldingRangeKind::Comment),
                    views::folding::FoldKind::Inactive => Some(FoldingRangeKind::Region),
                },
                ..FoldingRange::default()
            };
            views::folding::folds(db, file)
                .into_iter()
                .map(range)
                .collect()
        })
        .await
    }

    async fn goto_definition(
        &self,
        params: GotoDefinitionParams,
    ) -> Result<Option<GotoDefinitionResponse>> {
        let at = params.text_document_position_params;
        let targets = self.ask(at.text_document.uri, move |db, file, snapshot| {
            let offset = Text::of(db, file, snapshot.encoding).offset(at.position);
            let targets = views::names::definition(db, file, offset);
            targets
                .iter()
                .filter_map(|target| convert::location(db, snapshot, target.file, target.span))
                .collect::<Vec<_>>()
        });
        Ok(targets
            .await?
            .filter(|targets| !targets.is_empty())
            .map(GotoDefinitionResponse::Array))
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        let at = params.text_document_position;
        let with_declaration = params.context.include_declaration;
        self.ask(at.text_document.uri, move |db, file, snapshot| {
            let offset = Text::of(db, file, snapshot.encoding).offset(at.position);
            let targets = views::names::references(db, file, offset, with_declaration);
            targets
                .iter()
                .filter_map(|target| convert::location(db, snapshot, target.file, target.span))
                .collect()
        })
        .await
    }

    async fn document_highlight(
        &self,
        params: DocumentHighlightParams,
    ) -> Result<Option<Vec<DocumentHighlight>>> {
        let at = params.text_document_position_params;
        self.ask(at.text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let highlight = |target: views::names::Target| DocumentHighlight {
                range: text.range(target.span),
                kind: Some(if target.write {
                    DocumentHighlightKind::WRITE
                } else {
                    DocumentHighlightKind::READ
                }),
            };
            views::names::highlights(db, file, text.offset(at.position))
                .into_iter()
                .map(highlight)
                .collect()
        })
        .await
    }

    async fn diagnostic(
        &self,
        params: DocumentDiagnosticParams,
    ) -> Result<DocumentDiagnosticReportResult> {
        let items = self
            .ask_any(params.text_document.uri, |db, snapshot| {
                match (&snapshot.config, snapshot.file) {
                    (Some((text, problems)), _) => convert::config_diagnostics(
                        text,
                        problems,
                        snapshot.encoding,
                        snapshot.has_views,
                    ),
                    (None, Some(file)) => {
                        views::diagnostics::ahead(db, file);
                        views::diagnostics::diagnostics(db, file)
                            .iter()
                            .map(|it| convert::diagnostic(db, file, it, snapshot))
                            .collect()
                    }
                    (None, None) => Vec::new(),
                }
            })
            .await?;
        // Equal diagnostics have equal names, so a client that has them already is told so.
        let id = format!("{:016x}", question::fingerprint(&items));
        let report = if params.previous_result_id.as_deref() == Some(&id) {
            DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
                related_documents: None,
                unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport {
                    result_id: id,
                },
            })
        } else {
            DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
                related_documents: None,
                full_document_diagnostic_report: FullDocumentDiagnosticReport {
                    result_id: Some(id),
                    items,
                },
            })
        };
        Ok(DocumentDiagnosticReportResult::Report(report))
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        self.code_actions(params).await
    }

    async fn code_action_resolve(&self, action: CodeAction) -> Result<CodeAction> {
        self.resolved(action).await
    }

    async fn prepare_rename(
        &self,
        params: TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>> {
        self.renameable(params).await
    }

    async fn rename(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
        self.renamed(params).await
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        self.completions(params).await
    }

    async fn signature_help(&self, params: SignatureHelpParams) -> Result<Option<SignatureHelp>> {
        self.signatures(params).await
    }

    async fn symbol(
        &self,
        params: WorkspaceSymbolParams,
    ) -> Result<Option<WorkspaceSymbolResponse>> {
        self.workspace_symbols(params).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        if params.command == commands::PROFILE {
            let argument = params.arguments.into_iter().next().unwrap_or(Value::Null);
            let order = serde_json::from_value(argument)
                .map_err(|error| Error::invalid_params(error.to_string()))?;
            return self.profile(order).await;
        }
        if params.command == commands::IMPORT || params.command == commands::INSTRUMENT {
            let argument = params.arguments.into_iter().next().unwrap_or(Value::Null);
            let counts = serde_json::from_value(argument)
                .map_err(|error| Error::invalid_params(error.to_string()))?;
            return match params.command == commands::IMPORT {
                true => self.import_counts(counts).await,
                false => self.instrument(counts).await,
            };
        }
        if commands::PAGES.contains(&params.command.as_str()) {
            let argument = params.arguments.into_iter().next().unwrap_or(Value::Null);
            return self.show(&params.command, argument).await;
        }
        if params.command != commands::ADD_TO_BASELINE {
            let mut error =
                Error::invalid_params(format!("there is no command {}", params.command));
            error.code = ErrorCode::InvalidParams;
            return Err(error);
        }
        let argument = params.arguments.into_iter().next().unwrap_or(Value::Null);
        let path = argument
            .get("path")
            .and_then(Value::as_str)
            .map(PathBuf::from);
        let entry = argument.get("entry").cloned();
        let (Some(path), Some(entry)) = (path, entry) else {
            return Err(Error::invalid_params("path and entry are expected"));
        };
        self.tell(Event::AddToBaseline { path, entry });
        Ok(None)
    }
}

fn all_tokens(db: &Database, file: File, snapshot: &Snapshot) -> Vec<SemanticToken> {
    convert::tokens(
        &Text::of(db, file, snapshot.encoding),
        &views::tokens::tokens(db, file, None),
    )
}

pub(super) const fn symbol_kind(kind: views::symbols::SymbolKind) -> SymbolKind {
    use views::symbols::SymbolKind as Kind;
    match kind {
        Kind::Function => SymbolKind::FUNCTION,
        Kind::Struct => SymbolKind::STRUCT,
        Kind::Enum => SymbolKind::ENUM,
        Kind::Variable => SymbolKind::VARIABLE,
    }
}

#[allow(deprecated)]
fn symbol(text: &Text<'_>, symbol: views::symbols::Symbol) -> DocumentSymbol {
    DocumentSymbol {
        name: symbol.name,
        detail: (!symbol.detail.is_empty()).then_some(symbol.detail),
        kind: symbol_kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: text.range(symbol.span),
        selection_range: text.range(symbol.selection),
        children: None,
    }
}
