//! Profiles made from the editor. A run has a thread and a database of its own, so that no edit waits for
//! it; it tells how far it is, and ends when the request or its progress is cancelled.

use super::backend::Backend;
use super::convert::Text;
use super::event::Event;
use super::progress::Counted;
use super::question::locked;
use crate::db::{self, Copy, Database, File, STACK};
use crate::derive;
use crate::derive::bundles::processor;
use crate::derive::zeros::profile_path;
use crate::profile::make::{MakeError, Order, make};
use crate::profile::probes::{self, ProbeKind, ProbeMap};
use crate::profile::run::RunError;
use crate::profile::{LARGEST_PROFILE, beside, counts, instrument, make as making, save, template};
use crate::program::{self, Language};
use crate::views::probes::as_json;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types::{Position, ProgressToken, TextDocumentIdentifier};

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProfileParams {
    text_document: TextDocumentIdentifier,
    position: Position,
    /// The description; `null` for the one beside the file.
    #[serde(default)]
    inputs: Option<PathBuf>,
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct CancelParams {
    token: ProgressToken,
}

/// Ends the run when it is not awaited, and the display of its progress in any case.
struct Guard(Arc<Counted>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancelled.store(true, Ordering::Release);
        self.0.over.store(true, Ordering::Release);
    }
}

/// Runs work on a thread of its own, on which no database is attached. `None`: it panicked, or there is no thread.
pub(super) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (answer, answered) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("apart".to_owned())
        .stack_size(STACK);
    let spawned = thread.spawn(move || {
        // Nobody listens when the request was cancelled.
        let _ = answer.send(work());
    });
    if let Err(error) = spawned {
        tracing::error!("no thread: {error}");
    }
    answered.await.ok()
}

fn failed(message: String) -> Error {
    Error {
        // RequestFailed of the specification: a well-formed request that could not be carried out.
        code: ErrorCode::ServerError(-32803),
        message: message.into(),
        data: None,
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CountsParams {
    text_document: TextDocumentIdentifier,
    #[serde(default)]
    table: Option<PathBuf>,
    #[serde(default)]
    counters: Option<PathBuf>,
    #[serde(default)]
    map: Option<PathBuf>,
    #[serde(default)]
    gcov: Option<PathBuf>,
    #[serde(default)]
    llvm_cov: Option<PathBuf>,
}

impl CountsParams {
    /// The report with counts, of this source. `None`: none is named.
    fn from(self, source: &Path) -> Option<counts::From> {
        let source = source.to_owned();
        match self {
            CountsParams {
                table: Some(table), ..
            } => Some(counts::From::Table(table)),
            CountsParams {
                counters: Some(raw),
                map: Some(map),
                ..
            } => Some(counts::From::Counters { raw, map }),
            CountsParams {
                gcov: Some(report), ..
            } => Some(counts::From::Gcov { report, source }),
            CountsParams {
                llvm_cov: Some(report),
                ..
            } => Some(counts::From::Llvm { report, source }),
            _ => None,
        }
    }
}

/// Writes a copy of assembly that counts its branches, and its map, beside it.
fn instrument_branches(db: &Database, file: File) -> std::result::Result<Value, String> {
    let text = program::text(file.source(db));
    let machine = &processor(db, file).name;
    let kind = ProbeKind::Branch;
    let made = probes::copy(text, kind, machine, None).map_err(|error| error.to_string())?;
    if made.functions.is_empty() {
        let why = made.refused.first();
        return Err(why.map_or_else(
            || "there are no functions".to_owned(),
            |(name, why)| format!("`{name}` has no probes: {why}"),
        ));
    }
    let path = file.path(db);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let map = ProbeMap::new(&name, text, kind, machine, None, &made);
    let copy = counts::copy_beside(path);
    let place = counts::map_beside(&copy);
    counts::write_copy(&made.text, &map, &copy, &place)?;
    Ok(json!({
        "path": copy,
        "map": place,
        "places": made.functions.len(),
        "refused": made.refused.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        "counters": map.counters,
        "buffer": map.symbol,
        "width": 8,
    }))
}

/// Leaves the counts of assembly with probes where the editor looks for them: the path, functions, and the names of those
/// without counts.
fn import_probes(
    db: &Database,
    file: File,
    from: &counts::From,
) -> std::result::Result<(PathBuf, usize, Vec<String>), String> {
    let counts::From::Counters { raw, map } = from else {
        return Err("of assembly, the counters of a copy with probes are imported".to_owned());
    };
    let words = |error: crate::host::ReadError| error.to_string();
    let text = crate::host::read(map).map_err(words)?.text;
    let map: ProbeMap =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", map.display()))?;
    let dump = crate::host::read_bytes(raw, LARGEST_PROFILE).map_err(words)?;
    let source = program::text(file.source(db));
    let (made, all) = probes::read(&map, source, &dump).map_err(|error| error.to_string())?;
    let text = serde_json::to_string_pretty(&as_json(&map, &all, &made.refused))
        .map_err(|error| error.to_string())?;
    let target = profile_path(db, file).unwrap_or_else(|| beside(file.path(db)));
    crate::host::write(&target, format!("{text}\n").as_bytes())
        .map_err(|error| error.to_string())?;
    let (known, broken): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| it.counts.is_ok());
    let lost = made.refused.iter().map(|(name, _)| name.to_string());
    let lost = lost.chain(broken.into_iter().map(|it| it.name));
    Ok((target, known.len(), lost.collect()))
}

impl Backend {
    /// Work on a database of its own around a document.
    async fn on_copy<T: Send + 'static>(
        &self,
        document: TextDocumentIdentifier,
        work: impl Fn(&Database, File) -> T + Send + 'static,
    ) -> Result<T> {
        let copy = self.ask(document.uri, |db, file, _| Copy::of(db, file));
        let Some(copy) = copy.await? else {
            return Err(failed("the document is not open".into()));
        };
        let done = apart(move || {
            let (db, file) = copy.open();
            db::catch(&db, |db| work(db, file))
        });
        match done.await {
            Some(Ok(done)) => Ok(done),
            _ => Err(Error::internal_error()),
        }
    }

    /// Makes the document's profile from counts.
    pub(super) async fn import_counts(&self, params: CountsParams) -> Result<Option<Value>> {
        let document = params.text_document.clone();
        let source = super::convert::path_of(&document.uri);
        let Some(from) = params.from(&source) else {
            return Err(Error::invalid_params(
                "`table`, `counters` and `map`, `gcov`, or `llvmCov` are expected",
            ));
        };
        let work = move |db: &Database, file: File| {
            if file.language(db) == Language::Ia64 {
                return import_probes(db, file, &from);
            }
            let read = counts::read(&from)?;
            let imported = counts::import(db, file, &from, &read)?;
            let target = profile_path(db, file).unwrap_or_else(|| beside(file.path(db)));
            save(&target, &imported.profile).map_err(|error| error.to_string())?;
            Ok::<_, String>((target, imported.profile.items.len(), imported.lost))
        };
        let (path, items, lost) = self.on_copy(document, work).await?.map_err(failed)?;
        self.tell(Event::Written(path.clone()));
        Ok(Some(json!({ "path": path, "items": items, "lost": lost })))
    }

    /// Writes a copy of the document that counts, and its map, beside it.
    pub(super) async fn instrument(&self, params: CountsParams) -> Result<Option<Value>> {
        let work = |db: &Database, file: File| {
            if file.language(db) == Language::Ia64 {
                return instrument_branches(db, file);
            }
            let counted =
                instrument::instrument(db, file, None).map_err(|error| error.to_string())?;
            let copy = counts::copy_beside(file.path(db));
            let map = counts::map_beside(&copy);
            counts::write_copy(&counted.text, &counted.map, &copy, &map)?;
            let places = counted.map.sites.len();
            Ok::<_, String>(json!({
                "path": copy,
                "map": map,
                "places": places,
                "counters": 2 * places,
                "buffer": counted.map.buffer,
                "width": counted.map.width,
            }))
        };
        let done = self.on_copy(params.text_document, work).await?;
        Ok(Some(done.map_err(failed)?))
    }

    /// Runs the function around a position, or the first entry behind it, and writes the profile beside the file.
    pub(super) async fn profile(&self, params: ProfileParams) -> Result<Option<Value>> {
        let position = params.position;
        let found = self.ask(params.text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let name = derive::code::function_at(db, file, text.offset(position))?.name;
            Some((Copy::of(db, file), name.to_string()))
        });
        let Some((copy, name)) = found.await?.flatten() else {
            return Err(failed("there is no function here".into()));
        };
        let order = Order {
            inputs: params.inputs,
            item: Some(name.clone()),
            ..Order::default()
        };
        let counted = Arc::new(Counted::default());
        let guard = Guard(Arc::clone(&counted));
        self.outgoing.counted(
            format!("Lockstep: profiling {name}"),
            Arc::clone(&counted),
            Arc::clone(&self.shared),
        );
        let watched = Arc::clone(&counted);
        let path = copy.path().to_owned();
        let outcome = apart(move || {
            let (db, file) = copy.open();
            db::catch(&db, |db| {
                make(db, file, &path, &order, &mut &*watched, &watched.cancelled)
            })
        })
        .await;
        let cancelled = counted.cancelled.load(Ordering::Acquire);
        drop(guard);
        let made = match outcome {
            Some(Ok(Ok(made))) => made,
            _ if cancelled => return Err(Error::request_cancelled()),
            Some(Ok(Err(error))) => return Err(failed(told(&error))),
            Some(Err(_)) | None => return Err(Error::internal_error()),
        };
        made.save().map_err(|error| failed(error.to_string()))?;
        self.tell(Event::Written(made.target.clone()));
        Ok(Some(json!({
            "path": made.target,
            "item": made.ran.item,
            "summary": made.ran.line(),
            "open": made.ran.open,
            "notes": made.ran.notes,
        })))
    }

    /// `lockstep/describe { textDocument, position }`: a description of the function's inputs to begin with, where it
    /// belongs, and the one that is there.
    pub(super) async fn describe(&self, params: ProfileParams) -> Result<Option<Value>> {
        let position = params.position;
        let found = self.ask(params.text_document.uri, move |db, file, snapshot| {
            let text = Text::of(db, file, snapshot.encoding);
            let name = derive::code::function_at(db, file, text.offset(position))?.name;
            let (name, path) = (name.to_string(), file.path(db).clone());
            let (item, number) = crate::profile::run::find(db, file, Some(&name)).ok()?;
            let lowered = db::lowered(db, item);
            let text = template::template(&lowered.get(number)?.module)?;
            Some((path, name, text))
        });
        Ok(found.await?.flatten().map(|(path, name, text)| {
            json!({
                "item": name,
                "path": path.with_extension("inputs.toml"),
                "text": text,
                "found": making::description_beside(&path),
            })
        }))
    }

    /// `window/workDoneProgress/cancel`: ends the run that shows this progress.
    pub(super) async fn cancel_progress(&self, params: CancelParams) {
        let ProgressToken::String(token) = params.token else {
            return;
        };
        if let Some(counted) = locked(&self.shared.runs).get(&token) {
            counted.cancelled.store(true, Ordering::Release);
        }
    }
}

/// An error for people; the problems of a run stand on lines of their own.
fn told(error: &MakeError) -> String {
    match error {
        MakeError::Run {
            error: RunError::Execution { .. },
            ..
        } => format!("{error}; no profile was written"),
        _ => error.to_string(),
    }
}
