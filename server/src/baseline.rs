//! The baseline: findings that are accepted, in a JSON file, each with an optional reason.
//!
//! ```json
//! { "version": 1, "findings": [ { "fingerprint": "…", "code": "bank-conflict", "item": "k", "text": "…", "reason": "…" } ] }
//! ```

use serde_json::{Value, json};
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    #[error("cannot access the baseline {path}: {source}")]
    Io {
        path: String,
        source: std::io::Error,
    },
    #[error("the baseline {path} is not what `--write-baseline` writes: {reason}")]
    Malformed { path: String, reason: String },
}

/// The accepted fingerprints, sorted.
pub fn read(path: &Path) -> Result<Vec<String>, BaselineError> {
    let entries = entries(path)?;
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
            .find(|one| one.get("fingerprint") == entry.get("fingerprint"))?;
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
        .any(|one| one.get("fingerprint") == entry.get("fingerprint"))
    {
        findings.push(entry);
    }
    store(path, findings)
}

fn store(path: &Path, mut findings: Vec<Value>) -> Result<(), BaselineError> {
    findings.sort_by_cached_key(|entry| entry.to_string());
    findings.dedup();
    let text = format!("{:#}\n", json!({ "version": 1, "findings": findings }));
    std::fs::write(path, text).map_err(|source| BaselineError::Io {
        path: path.display().to_string(),
        source,
    })
}

fn entries(path: &Path) -> Result<Vec<Value>, BaselineError> {
    let malformed = |reason: String| BaselineError::Malformed {
        path: path.display().to_string(),
        reason,
    };
    let text = std::fs::read_to_string(path).map_err(|source| BaselineError::Io {
        path: path.display().to_string(),
        source,
    })?;
    let value: Value = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    match value.get("findings") {
        Some(Value::Array(entries)) => Ok(entries.clone()),
        _ => Err(malformed("no list `findings`".into())),
    }
}
