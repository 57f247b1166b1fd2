//! Pages of a file in every editor: the report of a kernel, shader stage or loop, the code of a function, the page of a
//! diagnostic. `lockstep/report` gives the report's HTML to clients that show it themselves; the commands write a page into a
//! folder of temporary files and have the client open it, or say where it lies.

use super::backend::Backend;
use super::commands::{CODE, MACHINES, PAGE, PROFILED_CODE, SPILLS};
use super::convert::Text;
use crate::db::{self, Copy};
use crate::derive;
use crate::derive::code::CodeTarget;
use crate::host;
use crate::profile::make::inputs_of;
use crate::views;
use crate::views::compared::{CodeChange, Codes, change};
use crate::views::page;
use serde_json::{Value, json};
use std::path::Path;
use tower_lsp::Client;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::{Position, ShowDocumentParams, TextDocumentIdentifier, Uri};

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportParams {
    text_document: TextDocumentIdentifier,
    #[serde(default)]
    item: Option<String>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MachinesParams {
    text_document: TextDocumentIdentifier,
    position: Position,
}

/// The arguments of a command.
#[derive(Debug, serde::Deserialize)]
struct Wanted {
    #[serde(default)]
    uri: Option<Uri>,
    #[serde(default)]
    item: Option<String>,
    #[serde(default)]
    position: Option<Position>,
    #[serde(default)]
    code: Option<String>,
}

impl Backend {
    /// `lockstep/report { textDocument, item }`: the report as HTML.
    pub(super) async fn report(&self, params: ReportParams) -> Result<Option<Value>> {
        let html = self.html(params.text_document.uri, params.item).await?;
        Ok(html.map(|html| json!({ "html": html })))
    }

    /// `lockstep/machines { textDocument, position }`: the page of the C loop there on three machines, as Markdown.
    pub(super) async fn machines(&self, params: MachinesParams) -> Result<Option<String>> {
        self.on_machines(params.text_document.uri, params.position)
            .await
    }

    /// `lockstep/spills { textDocument, position }`: the code of the C function there before and after its spills are reduced,
    /// where that differs.
    pub(super) async fn spills(&self, params: MachinesParams) -> Result<Option<Value>> {
        self.both(params, Codes::Spills).await
    }

    /// `lockstep/profiledCode { textDocument, position }`: the code of the C function there as it is and after its profile, where
    /// that differs.
    pub(super) async fn profiled_code(&self, params: MachinesParams) -> Result<Option<Value>> {
        self.both(params, Codes::Profile).await
    }

    async fn both(&self, params: MachinesParams, codes: Codes) -> Result<Option<Value>> {
        let found = self.on_codes(params.text_document.uri, params.position, codes);
        let found = found.await?.map(|change| {
            let code =
                |text: &str| json!({ "text": text, "refused": null, "target": change.target });
            json!({
                "item": change.function.as_str(),
                "title": change.difference,
                "before": code(&change.before),
                "after": code(&change.after),
            })
        });
        Ok(found)
    }

    async fn on_codes(
        &self,
        uri: Uri,
        position: Position,
        codes: Codes,
    ) -> Result<Option<CodeChange>> {
        let found = self.ask(uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            change(db, file, text.offset(position), codes)
        });
        Ok(found.await?.flatten())
    }

    async fn on_machines(&self, uri: Uri, position: Position) -> Result<Option<String>> {
        let found = self.ask(uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            views::machines::page(db, file, text.offset(position))
        });
        Ok(found.await?.flatten())
    }

    /// A report; its executions run on a database of its own.
    async fn html(&self, uri: Uri, item: Option<String>) -> Result<Option<String>> {
        let copy = self.ask(uri, |db, file, _| Copy::of(db, file));
        let Some(copy) = copy.await? else {
            return Ok(None);
        };
        let made = super::profile::apart(move || {
            let (db, file) = copy.open();
            // What a description says is taken where there is one that can be read.
            let inputs = inputs_of(file.path(&db), None).unwrap_or_default();
            db::catch(&db, |db| {
                page::page(db, file, item.as_deref(), &inputs, &())
            })
        });
        match made.await {
            Some(Ok(html)) => Ok(Some(html)),
            _ => Err(Error::internal_error()),
        }
    }

    /// Writes a page and has it opened; where it lies.
    pub(super) async fn show(&self, command: &str, argument: Value) -> Result<Option<Value>> {
        let wanted: Wanted = serde_json::from_value(argument)
            .map_err(|error| Error::invalid_params(error.to_string()))?;
        let missing = |what: &str| Error::invalid_params(format!("`{what}` is expected"));
        let (name, text) = match command {
            PAGE => {
                let code = wanted.code.ok_or_else(|| missing("code"))?;
                let text = crate::explain::page(&code).ok_or_else(|| {
                    Error::invalid_params(format!("there is no page of `{code}`"))
                })?;
                (format!("{code}.md"), text)
            }
            CODE => {
                let uri = wanted.uri.ok_or_else(|| missing("uri"))?;
                let position = wanted.position.ok_or_else(|| missing("position"))?;
                let found = self.ask(uri, move |db, file, snapshot| {
                    let text = Text::of(db, file, snapshot.encoding);
                    let found = derive::code::at(db, file, text.offset(position))?;
                    Some(views::code::readable(db, file, found))
                });
                let Some(code) = found.await?.flatten() else {
                    return Ok(None);
                };
                let comment = match code.target {
                    CodeTarget::Sets { .. } => ";",
                    CodeTarget::Groups { .. } | CodeTarget::Gpu { .. } => "//",
                };
                let extension = match code.target {
                    CodeTarget::Groups { .. } => "ia64.s",
                    CodeTarget::Sets { .. } => "sc140.asm",
                    CodeTarget::Gpu { .. } => "ptx",
                };
                let text = match &code.refused {
                    Some(reason) => {
                        let reason = views::code::refused(reason);
                        format!("{comment} No code for {}: {reason}.\n", code.name)
                    }
                    None => code.text,
                };
                (format!("{}.{extension}", plain(&code.name)), text)
            }
            MACHINES => {
                let uri = wanted.uri.ok_or_else(|| missing("uri"))?;
                let position = wanted.position.ok_or_else(|| missing("position"))?;
                let Some(text) = self.on_machines(uri, position).await? else {
                    return Ok(None);
                };
                ("machines.md".to_owned(), text)
            }
            SPILLS | PROFILED_CODE => {
                let codes = match command {
                    SPILLS => Codes::Spills,
                    _ => Codes::Profile,
                };
                let uri = wanted.uri.ok_or_else(|| missing("uri"))?;
                let position = wanted.position.ok_or_else(|| missing("position"))?;
                let name = match codes {
                    Codes::Spills => "spills",
                    Codes::Profile => "profile",
                };
                let Some(change) = self.on_codes(uri, position, codes).await? else {
                    return Ok(None);
                };
                (
                    format!("{}.{name}.diff", plain(&change.function)),
                    change.unified(),
                )
            }
            _ => {
                let uri = wanted.uri.ok_or_else(|| missing("uri"))?;
                let item = wanted.item.clone();
                let Some(html) = self.html(uri, item).await? else {
                    return Ok(None);
                };
                let name = wanted.item.as_deref().unwrap_or("report");
                (format!("{}.html", plain(name)), html)
            }
        };
        let failed = |error: &dyn std::fmt::Display| {
            tracing::error!("{error}");
            Error::internal_error()
        };
        let folder = self.shared.pages().map_err(|error| failed(&error))?;
        let path = folder.join(name.as_str());
        host::write(&path, text.as_bytes()).map_err(|error| failed(&error))?;
        self.open_page(&path, name.ends_with(".html"));
        Ok(Some(json!({ "path": path.display().to_string() })))
    }

    /// Has the client open a file: a page of HTML in a browser, anything else by itself.
    fn open_page(&self, path: &Path, external: bool) {
        if !self.shared.features().shows_documents {
            return;
        }
        let Some(uri) = Uri::from_file_path(path) else {
            return;
        };
        let params = ShowDocumentParams {
            uri,
            external: Some(external),
            take_focus: Some(true),
            selection: None,
        };
        self.outgoing
            .detached("window/showDocument", async move |client: Client| {
                drop(client.show_document(params).await);
            });
    }
}

/// A name that is one of a file.
fn plain(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '_' => letter,
        _ => '-',
    });
    letters.take(80).collect()
}
