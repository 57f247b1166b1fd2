//! The file system, as far as Lockstep reads it: whole files up to a limit, decoded whatever they hold.

use std::path::{Component, Path, PathBuf};

/// Files above this many bytes are not analysed.
pub const LARGEST_FILE: u64 = 64 << 20;

/// A file as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadFile {
    pub text: String,
    /// Bytes that are no UTF-8 were replaced.
    pub lossy: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {path}: {source}")]
    Io {
        path: String,
        source: std::io::Error,
    },
    #[error("{path} is not a text file")]
    Binary { path: String },
    #[error("{path} is larger than {} MiB", LARGEST_FILE >> 20)]
    TooLarge { path: String },
}

/// Reads a text file. A file with a NUL in its first 8 KiB is taken as binary, unless it begins with the mark of
/// UTF-16, which is decoded.
pub fn read(path: &Path) -> Result<ReadFile, ReadError> {
    let io = |source| ReadError::Io {
        path: path.display().to_string(),
        source,
    };
    let metadata = std::fs::metadata(path).map_err(io)?;
    if metadata.is_dir() {
        return Err(io(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
    }
    if metadata.len() > LARGEST_FILE {
        return Err(ReadError::TooLarge {
            path: path.display().to_string(),
        });
    }
    decode(std::fs::read(path).map_err(io)?).ok_or_else(|| ReadError::Binary {
        path: path.display().to_string(),
    })
}

/// Bytes as text; `None` when they are none.
pub fn decode(bytes: Vec<u8>) -> Option<ReadFile> {
    let wide = |little: bool| {
        let units: Vec<u16> = bytes[2..]
            .chunks_exact(2)
            .map(|pair| {
                if little {
                    u16::from_le_bytes([pair[0], pair[1]])
                } else {
                    u16::from_be_bytes([pair[0], pair[1]])
                }
            })
            .collect();
        match String::from_utf16(&units) {
            Ok(text) => ReadFile { text, lossy: false },
            Err(_) => ReadFile {
                text: String::from_utf16_lossy(&units),
                lossy: true,
            },
        }
    };
    if bytes.starts_with(&[0xff, 0xfe]) {
        return Some(wide(true));
    }
    if bytes.starts_with(&[0xfe, 0xff]) {
        return Some(wide(false));
    }
    if bytes.iter().take(8192).any(|&byte| byte == 0) {
        return None;
    }
    Some(match String::from_utf8(bytes) {
        Ok(text) => ReadFile { text, lossy: false },
        Err(error) => ReadFile {
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            lossy: true,
        },
    })
}

/// A path without `.` and `..`, without asking the file system: the same file has one name.
pub fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    out.push("..");
                }
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_all_kinds() {
        assert!(decode(vec![1, 0, 2]).is_none());
        assert_eq!(
            decode(vec![0xff, 0xfe, b'a', 0]).map(|f| f.text).as_deref(),
            Some("a")
        );
        assert!(decode(vec![b'a', 0xff, b'b']).is_some_and(|f| f.lossy && f.text.starts_with('a')));
    }

    #[test]
    fn names_are_normal() {
        assert_eq!(normalize(Path::new("/a/./b/../c.h")), Path::new("/a/c.h"));
        assert_eq!(normalize(Path::new("../x")), Path::new("../x"));
    }
}
