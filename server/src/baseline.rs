//! The baseline: findings that are accepted, in a JSON file, each with an optional reason.
//!
//! ```json
//! { "version": 1, "findings": [ { "fingerprint": "…", "code": "bank-conflict", "item": "k", "text": "…", "reason": "…" } ] }
//! ```

use crate::host;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    #[error("the baseline can't be read: {0}")]
    Read(#[from] host::ReadError),
    #[error("the baseline can't be written: {0}")]
    Write(#[from] host::WriteError),
    #[error("the baseline {path} is not what `--write-baseline` writes: {reason}")]
    Malformed { path: String, reason: String },
}

/// The accepted fingerprints, sorted.
pub fn read(path: &Path) -> Result<Vec<String>, BaselineError> {
    parse(path, &host::read(path)?.text)
}

/// The accepted fingerprints of a baseline's text, sorted; none of an empty one.
pub fn parse(path: &Path, text: &str) -> Result<Vec<String>, BaselineError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let entries = entries_of(path, text)?;
    let mut fingerprints: Vec<String> = entries
        .iter()
        .filter_map(|entry| entry.get("fingerprint")?.as_str().map(str::to_owned))
        .collect();
    fingerprints.sort();
    fingerprints.dedup();
    Ok(fingerprints)
}

/// Writes entries; those that are there already keep their reasons.
pub fn write(path: &Path, new: Vec<Value>) -> Result<(), BaselineError> {
    let old = if path.exists() {
        entries(path)?
    } else {
        Vec::new()
    };
    let reason_of = |entry: &Value| {
        let same = old
            .iter()
            .find(|it| it.get("fingerprint") == entry.get("fingerprint"))?;
        same.get("reason").cloned()
    };
    let mut findings: Vec<Value> = Vec::new();
    for mut entry in new {
        if let Some(reason) = reason_of(&entry)
            && let Some(map) = entry.as_object_mut()
        {
            map.insert("reason".into(), reason);
        }
        findings.push(entry);
    }
    store(path, findings)
}

/// Adds an entry.
pub fn add(path: &Path, entry: Value) -> Result<(), BaselineError> {
    let mut findings = if path.exists() {
        entries(path)?
    } else {
        Vec::new()
    };
    if !findings
        .iter()
        .any(|finding| finding.get("fingerprint") == entry.get("fingerprint"))
    {
        findings.push(entry);
    }
    store(path, findings)
}

fn store(path: &Path, mut findings: Vec<Value>) -> Result<(), BaselineError> {
    findings.sort_by_cached_key(|entry| entry.to_string());
    findings.dedup();
    let text = format!("{:#}\n", json!({ "version": 1, "findings": findings }));
    Ok(host::write(path, text.as_bytes())?)
}

fn entries(path: &Path) -> Result<Vec<Value>, BaselineError> {
    entries_of(path, &host::read(path)?.text)
}

fn entries_of(path: &Path, text: &str) -> Result<Vec<Value>, BaselineError> {
    let malformed = |reason: String| BaselineError::Malformed {
        path: path.display().to_string(),
        reason,
    };
    let value: Value = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
    match value.get("findings") {
        Some(Value::Array(entries)) => Ok(entries.clone()),
        _ => Err(malformed("no list `findings`".into())),
    }
}
