//! The file system as far as Lockstep touches it. Only regular files are read, up to a limit, and decoded
//! whatever their contents; only regular files are written, in whole or not at all.
//!
//! A path may come from anybody: an `#include`, a configuration, a client. Anything but a regular file (a
//! FIFO, a device, a terminal) may never end or never begin, so it is refused before it is opened, and an
//! opened file is checked again.

pub mod commands;
pub mod includers;
pub mod names;
mod write;

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

pub use write::{WriteError, write, write_changed};

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
    #[error("{path} is not a regular file")]
    NotRegular { path: String },
    #[error("{path} is not a text file")]
    Binary { path: String },
    #[error("{path} is larger than {} MiB", .limit >> 20)]
    TooLarge { path: String, limit: u64 },
}

/// Reads a text file. A file with a NUL in its first 8 KiB is taken as binary, unless it begins with the mark of
/// UTF-16, which is decoded.
pub fn read(path: &Path) -> Result<ReadFile, ReadError> {
    decode(read_bytes(path, LARGEST_FILE)?).ok_or_else(|| ReadError::Binary {
        path: path.display().to_string(),
    })
}

/// Reads a regular file of at most `limit` bytes.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let name = || path.display().to_string();
    let too_large = || ReadError::TooLarge {
        path: name(),
        limit,
    };
    let file = open(path)?;
    let io = |source| ReadError::Io {
        path: name(),
        source,
    };
    let length = file.metadata().map_err(io)?.len();
    if length > limit {
        return Err(too_large());
    }
    // Some regular files (those of /proc) are longer than they say, and any may grow.
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(io)?;
    match bytes.len() as u64 > limit {
        true => Err(too_large()),
        false => Ok(bytes),
    }
}

/// Opens a regular file to be read.
pub fn open(path: &Path) -> Result<File, ReadError> {
    let name = || path.display().to_string();
    let io = |source| ReadError::Io {
        path: name(),
        source,
    };
    let regular = |metadata: std::fs::Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(ReadError::NotRegular { path: name() }),
    };
    // To open a FIFO waits for a writer, and to open a device may do things.
    regular(std::fs::metadata(path).map_err(io)?)?;
    let file = File::open(path).map_err(io)?;
    regular(file.metadata().map_err(io)?)?;
    Ok(file)
}

/// The directories of the system's headers in the order of compilers of C: those of the environment, the local ones, those of
/// the machine, the common ones. None of a compiler's own.
#[must_use]
pub fn system_include_directories() -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = Vec::new();
    for name in ["CPATH", "C_INCLUDE_PATH", "INCLUDE"] {
        if let Some(paths) = std::env::var_os(name) {
            out.extend(std::env::split_paths(&paths).filter(|path| path.is_absolute()));
        }
    }
    out.push("/usr/local/include".into());
    let common = Path::new("/usr/include");
    // Of several machines' headers, this one's.
    let prefix = format!("{}-", std::env::consts::ARCH);
    let mut own: Vec<PathBuf> = std::fs::read_dir(common)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect();
    own.sort();
    out.extend(own);
    out.push(common.into());
    out.push("/Library/Developer/CommandLineTools/SDKs/MacOSX.sdk/usr/include".into());
    out.retain(|path| path.is_dir());
    out
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

/// The file whose path differs from another in upper and lower case alone, where that one does not exist.
pub fn in_other_case(path: &Path) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    for component in path.components() {
        let next = found.join(component);
        if !matches!(component, Component::Normal(_)) || next.exists() {
            found = next;
            continue;
        }
        let wanted = component.as_os_str().to_string_lossy().to_lowercase();
        let entries = std::fs::read_dir(&found).ok()?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let same = names.filter(|name| name.to_string_lossy().to_lowercase() == wanted);
        found.push(same.min()?);
    }
    found.is_file().then_some(found)
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

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_read() {
        use rustix::fs::{CWD, Mode};
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let fifo = folder.path().join("fifo");
        let link = folder.path().join("link");
        rustix::fs::mkfifoat(CWD, &fifo, Mode::RUSR).expect("a FIFO");
        std::os::unix::fs::symlink("/dev/zero", &link).expect("links");
        for path in [&fifo, &link, folder.path(), Path::new("/dev/stdin")] {
            let refused = read(path);
            assert!(
                matches!(refused, Err(ReadError::NotRegular { .. })),
                "{path:?}"
            );
        }
        assert!(matches!(
            read_bytes(Path::new("/proc/self/stat"), 8),
            Err(ReadError::TooLarge { .. })
        ));
    }

    #[test]
    fn names_are_normal() {
        assert_eq!(normalize(Path::new("/a/./b/../c.h")), Path::new("/a/c.h"));
        assert_eq!(normalize(Path::new("../x")), Path::new("../x"));
    }
}
