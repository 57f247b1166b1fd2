//! The capabilities that the server offers, and those that it asks of the client.

use super::commands;
use crate::documents::Encoding;
use tower_lsp::ls_types::*;

/// The legend of the semantic tokens; the order is that of `convert::tokens`.
pub(super) const TOKEN_TYPES: [SemanticTokenType; 4] = [
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::MACRO,
    SemanticTokenType::COMMENT,
];

pub(super) fn token_modifiers() -> Vec<SemanticTokenModifier> {
    vec![
        SemanticTokenModifier::DECLARATION,
        SemanticTokenModifier::new("uniform"),
        SemanticTokenModifier::new("affine"),
        SemanticTokenModifier::new("divergent"),
    ]
}

/// The capabilities of the client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClientFeatures {
    pub(super) encoding: Encoding,
    pub(super) pull_diagnostics: bool,
    pub(super) progress: bool,
    pub(super) configuration: bool,
    pub(super) watches_files: bool,
    pub(super) refresh: bool,
    pub(super) markdown: bool,
    pub(super) disabled_actions: bool,
    pub(super) document_changes: bool,
    /// Asks for the edit of an action when it is chosen.
    pub(super) resolves_edits: bool,
    /// Opens documents that the server names.
    pub(super) shows_documents: bool,
    /// Has views of its own: pages whose address begins with `lockstep-doc:`, reports, previews of rewrites.
    pub(super) has_views: bool,
    /// Edits with a title and a description, which the client can show before it makes them.
    pub(super) annotations: bool,
}

pub(super) fn client_features(params: &InitializeParams) -> ClientFeatures {
    let capabilities = &params.capabilities;
    let text = capabilities.text_document.as_ref();
    let workspace = capabilities.workspace.as_ref();
    let hover = text
        .and_then(|text| text.hover.as_ref())
        .and_then(|hover| hover.content_format.as_ref());
    ClientFeatures {
        encoding: encoding(capabilities),
        pull_diagnostics: text.is_some_and(|text| text.diagnostic.is_some()),
        progress: capabilities
            .window
            .as_ref()
            .and_then(|window| window.work_done_progress)
            == Some(true),
        configuration: workspace.and_then(|workspace| workspace.configuration) == Some(true),
        watches_files: workspace
            .and_then(|workspace| workspace.did_change_watched_files.as_ref())
            .and_then(|watched| watched.dynamic_registration)
            == Some(true),
        refresh: workspace
            .and_then(|workspace| workspace.inlay_hint.as_ref())
            .and_then(|hints| hints.refresh_support)
            == Some(true),
        markdown: hover.is_none_or(|formats| formats.contains(&MarkupKind::Markdown)),
        disabled_actions: text
            .and_then(|text| text.code_action.as_ref())
            .and_then(|actions| actions.disabled_support)
            == Some(true),
        resolves_edits: text
            .and_then(|text| text.code_action.as_ref())
            .and_then(|actions| actions.resolve_support.as_ref())
            .is_some_and(|support| support.properties.iter().any(|name| name == "edit")),
        shows_documents: capabilities
            .window
            .as_ref()
            .and_then(|window| window.show_document.as_ref())
            .is_some_and(|support| support.support),
        has_views: params
            .initialization_options
            .as_ref()
            .and_then(|options| options.get("views"))
            .and_then(serde_json::Value::as_bool)
            == Some(true),
        document_changes: workspace
            .and_then(|workspace| workspace.workspace_edit.as_ref())
            .and_then(|edit| edit.document_changes)
            == Some(true),
        annotations: workspace
            .and_then(|workspace| workspace.workspace_edit.as_ref())
            .is_some_and(|edit| {
                edit.document_changes == Some(true) && edit.change_annotation_support.is_some()
            }),
    }
}

/// We count bytes, so they are preferred; a client that offers nothing counts in UTF-16.
fn encoding(capabilities: &ClientCapabilities) -> Encoding {
    let offered = capabilities
        .general
        .as_ref()
        .and_then(|general| general.position_encodings.as_ref());
    let offers =
        |kind: PositionEncodingKind| offered.is_some_and(|offered| offered.contains(&kind));
    if offers(PositionEncodingKind::UTF8) {
        Encoding::Utf8
    } else if offers(PositionEncodingKind::UTF16) || !offers(PositionEncodingKind::UTF32) {
        Encoding::Utf16
    } else {
        Encoding::Utf32
    }
}

pub(super) fn server_capabilities(features: ClientFeatures) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(match features.encoding {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }),
        text_document_sync: Some(TextDocumentSyncCapability::Options(
            TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                save: Some(TextDocumentSyncSaveOptions::Supported(true)),
                ..TextDocumentSyncOptions::default()
            },
        )),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(false),
        }),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![
                CodeActionKind::QUICKFIX,
                CodeActionKind::REFACTOR_REWRITE,
            ]),
            resolve_provider: Some(features.resolves_edits),
            ..CodeActionOptions::default()
        })),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".into(), ">".into(), ":".into()]),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(vec!["(".into(), ",".into()]),
            ..SignatureHelpOptions::default()
        }),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::ALL.map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        inlay_hint_provider: Some(OneOf::Right(InlayHintServerCapabilities::Options(
            InlayHintOptions {
                resolve_provider: Some(true),
                work_done_progress_options: WorkDoneProgressOptions::default(),
            },
        ))),
        semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(
            SemanticTokensOptions {
                legend: SemanticTokensLegend {
                    token_types: TOKEN_TYPES.to_vec(),
                    token_modifiers: token_modifiers(),
                },
                range: Some(true),
                full: Some(SemanticTokensFullOptions::Delta { delta: Some(true) }),
                work_done_progress_options: WorkDoneProgressOptions::default(),
            },
        )),
        diagnostic_provider: features.pull_diagnostics.then(|| {
            DiagnosticServerCapabilities::Options(DiagnosticOptions {
                identifier: Some("lockstep".to_owned()),
                inter_file_dependencies: true,
                workspace_diagnostics: false,
                work_done_progress_options: WorkDoneProgressOptions::default(),
            })
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}
