//! Counts of `gcov` and `llvm-cov` as profiles: how often the ways of branches were taken, and bounds where that is not told.
//!
//! ```text
//! gcov: line 7 executed 29 times, its branches 14 and 15 times; line 8, the first of the side, 14 times   ->   true 14 times
//! ```
//!
//! `gcov` reads its JSON and its text, `llvm` the JSON of `llvm-cov export`, `places` finds conditions and
//! statements in the tree, `matched` puts counts on the edges of a function. `llvm-cov` counts each condition
//! by its place. `gcov` counts lines: a condition that shares its line with others is determined by the
//! statements behind it, or has bounds.
//!
//! Nothing is guessed: a count that no report tells is bounded by the flow into and out of it, and labelled
//! so. Functions whose counts contradict each other (optimised code, a run that did not return, another
//! version of the source) have no profile.

mod gcov;
mod llvm;
mod matched;
mod places;

pub use matched::import;

use std::path::Path;

/// The counts of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Coverage {
    Gcov(gcov::GcovFile),
    Llvm(llvm::LlvmFile),
}

/// The reason why a file holds no counts that can be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CoverageError {
    #[error(
        "these are counters of GCC, which name no lines: `gcov --json-format -b FILE.gcda` gives them"
    )]
    Counters,
    #[error(
        "a profile of llvm-profdata alone has no lines: `llvm-cov export BINARY -instr-profile=FILE.profdata` gives them"
    )]
    Profdata,
    #[error("can't be unpacked: {0}")]
    Packed(String),
    #[error("not the JSON of {tool}: {message}")]
    Json { tool: &'static str, message: String },
    #[error("line {line}: {what} is no count; `gcov -b -c` gives counts")]
    Text { line: usize, what: String },
    #[error("{what} were not counted: {how}")]
    Without {
        what: &'static str,
        how: &'static str,
    },
    #[error("it has no counts of `{0}`")]
    OtherFile(String),
    #[error("several of its files may be `{0}`")]
    SeveralFiles(String),
    #[error("counts of gcov and llvm-cov are of C")]
    Language,
}

/// Bytes that a packed file may come to.
const MOST_UNPACKED: u64 = 256 << 20;

/// The counts that `gcov` left of a source: JSON, packed or not, or text.
///
/// # Errors
/// They are none, or of other files.
pub fn gcov(bytes: &[u8], source: &Path) -> Result<Coverage, CoverageError> {
    if bytes.starts_with(b"adcg") || bytes.starts_with(b"oncg") {
        return Err(CoverageError::Counters);
    }
    let text = unpacked(bytes)?;
    let found = match text.trim_start().starts_with('{') {
        true => gcov::json(&text, source),
        false => gcov::text(&text, source),
    };
    found.map(Coverage::Gcov)
}

/// The counts that `llvm-cov export` gave of a source.
///
/// # Errors
/// They are none, or of other files.
pub fn llvm(bytes: &[u8], source: &Path) -> Result<Coverage, CoverageError> {
    if bytes
        .windows(6)
        .take(8)
        .any(|six| six == b"lprofi" || six == b"lprofr")
        || bytes.starts_with(b"\x81rforpl\xff")
    {
        return Err(CoverageError::Profdata);
    }
    llvm::json(&unpacked(bytes)?, source).map(Coverage::Llvm)
}

fn unpacked(bytes: &[u8]) -> Result<String, CoverageError> {
    use std::io::Read;
    let packed = |error: std::io::Error| CoverageError::Packed(error.to_string());
    let mut out = Vec::new();
    let bytes = match bytes.starts_with(&[0x1f, 0x8b]) {
        true => {
            let reader = flate2::read::GzDecoder::new(bytes);
            reader
                .take(MOST_UNPACKED)
                .read_to_end(&mut out)
                .map_err(packed)?;
            &out
        }
        false => bytes,
    };
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The entry whose path ends as that of the source does, in more parts than any other.
fn of_source<'a, T>(
    all: &'a [T],
    path: impl Fn(&T) -> &str,
    source: &Path,
) -> Result<&'a T, CoverageError> {
    let alike = |entry: &T| {
        let theirs = Path::new(path(entry)).components().rev();
        let same = theirs.zip(source.components().rev());
        same.take_while(|(theirs, ours)| theirs == ours).count()
    };
    let name = || {
        source
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let most = all.iter().map(alike).max().unwrap_or(0);
    if most == 0 {
        return Err(CoverageError::OtherFile(name()));
    }
    let mut best = all.iter().filter(|entry| alike(entry) == most);
    match (best.next(), best.next()) {
        (Some(found), None) => Ok(found),
        _ => Err(CoverageError::SeveralFiles(name())),
    }
}
