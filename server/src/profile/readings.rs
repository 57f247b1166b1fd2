//! Counts of IA-64 assembly with probes by lines, as `profile import -o` writes them and the editor reads them again.

use super::probes::ProbeKind;
use serde::Deserialize;

/// The counts of a file.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Readings {
    pub version: u32,
    pub probe: ProbeKind,
    /// The sum of the source's bytes, as in the map of its copy.
    pub source: String,
    pub functions: Vec<FunctionReadings>,
}

/// The counts of a function: those of its kind of probe. Lines are from 1.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct FunctionReadings {
    pub item: String,
    pub line: u32,
    /// The reason why they are not those of whole runs.
    #[serde(default)]
    pub unbalanced: Option<String>,
    #[serde(default)]
    pub entries: Option<u64>,
    #[serde(default)]
    pub blocks: Vec<BlockReading>,
    #[serde(default)]
    pub branches: Vec<BranchReading>,
    #[serde(default)]
    pub paths: Vec<PathReading>,
    #[serde(default)]
    pub values: Vec<LoadReading>,
}

/// Executions of the block that begins at a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub struct BlockReading {
    pub line: u32,
    pub count: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub struct BranchReading {
    pub line: u32,
    pub executed: u64,
    pub taken: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct PathReading {
    pub count: u64,
    pub lines: Vec<u32>,
}

/// The most frequent values of a load.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct LoadReading {
    pub line: u32,
    pub register: String,
    pub executions: u64,
    pub top: Vec<ValueReading>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub struct ValueReading {
    pub value: u64,
    pub count: u64,
}

/// Counts from their text.
///
/// # Errors
/// It is no JSON of this form, in the words of the reader.
pub fn parse(text: &str) -> Result<Readings, String> {
    let read: Readings = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match read.version {
        1 => Ok(read),
        other => Err(format!("version {other} is not known")),
    }
}
