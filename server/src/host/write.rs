//! Writing: the new contents are written beside the file and renamed over it, so that no reader ever sees
//! half of it and a full disk leaves the old file.

use super::{LARGEST_FILE, ReadError, read_bytes};
use std::fs::{File, Metadata, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write {path}: {source}")]
    Io {
        path: String,
        source: std::io::Error,
    },
    #[error("{path} is not a regular file and is not written")]
    NotRegular { path: String },
    #[error("{path} changed since it was read and is not written")]
    Changed { path: String },
    #[error("{path} is not UTF-8 and is not written")]
    NotUtf8 { path: String },
}

/// Links that are followed until a path is taken to lead nowhere, as Linux does.
const MOST_LINKS: usize = 40;

/// Writes a file, through a link to its target. An existing file keeps its mode and, where that is permitted, its owner.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let target = target(path)?;
    let old = existing(&target)?;
    replace(&target, old.as_ref(), bytes).map_err(|source| io(path, source))
}

/// Writes a file that was read as `text`, unless it holds something else by now. A file in another encoding than UTF-8
/// would come out in another one than it had, and is refused.
pub fn write_changed(path: &Path, text: &str, bytes: &[u8]) -> Result<(), WriteError> {
    let name = || path.display().to_string();
    let target = target(path)?;
    let old = existing(&target)?;
    let now = match read_bytes(&target, LARGEST_FILE) {
        Ok(now) => now,
        Err(ReadError::Io { source, .. }) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(io(path, source));
        }
        Err(_) => return Err(WriteError::Changed { path: name() }),
    };
    if now != text.as_bytes() {
        let other_encoding = super::decode(now).is_some_and(|read| read.text == text);
        return Err(match other_encoding {
            true => WriteError::NotUtf8 { path: name() },
            false => WriteError::Changed { path: name() },
        });
    }
    replace(&target, old.as_ref(), bytes).map_err(|source| io(path, source))
}

fn io(path: &Path, source: std::io::Error) -> WriteError {
    WriteError::Io {
        path: path.display().to_string(),
        source,
    }
}

/// Returns the target of a path, whether that exists or not.
fn target(path: &Path) -> Result<PathBuf, WriteError> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => {
                let leads = std::fs::read_link(&target).map_err(|source| io(path, source))?;
                target = target.parent().unwrap_or(Path::new("")).join(leads);
            }
            _ => return Ok(target),
        }
    }
    Err(io(path, std::io::Error::other("too many symbolic links")))
}

/// Returns the metadata of a file that exists and may be written.
fn existing(target: &Path) -> Result<Option<Metadata>, WriteError> {
    match std::fs::metadata(target) {
        Ok(metadata) if !metadata.is_file() => Err(WriteError::NotRegular {
            path: target.display().to_string(),
        }),
        Ok(metadata) => {
            // A rename asks the folder for permission and not the file.
            let may = OpenOptions::new().write(true).open(target);
            may.map_err(|source| io(target, source))?;
            Ok(Some(metadata))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(io(target, source)),
    }
}

fn replace(target: &Path, old: Option<&Metadata>, bytes: &[u8]) -> std::io::Result<()> {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".lockstep-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a new file gets: all but what the process masks.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(old) = old {
        keep_owner(file.as_file(), old);
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target)?;
    Ok(())
}

/// Only the superuser gives files away; another's file becomes the writer's, as in any editor that renames.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(old.uid()), Some(old.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder for temporary files")
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o7777
    }

    #[test]
    fn a_link_stays_and_its_target_is_written_with_the_same_mode() {
        let folder = folder();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").expect("writes");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o751)).expect("sets");
        std::os::unix::fs::symlink("file", &link).expect("links");
        write(&link, b"new").expect("a regular file behind a link");
        assert!(
            std::fs::symlink_metadata(&link)
                .expect("is there")
                .is_symlink()
        );
        assert_eq!(std::fs::read(&file).expect("reads"), b"new");
        assert_eq!(mode(&file), 0o751);
        assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 2);
    }

    #[test]
    fn a_link_to_nothing_makes_the_file_that_it_names() {
        let folder = folder();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("new", &link).expect("links");
        write(&link, b"text").expect("its target can be made");
        assert_eq!(
            std::fs::read(folder.path().join("new")).expect("reads"),
            b"text"
        );
        std::os::unix::fs::symlink("round", folder.path().join("round")).expect("links");
        assert!(write(&folder.path().join("round"), b"").is_err());
    }

    #[test]
    fn devices_and_folders_are_left_alone() {
        for path in ["/dev/null", "/dev/full", "/tmp"] {
            let refused = write(Path::new(path), b"text");
            assert!(
                matches!(refused, Err(WriteError::NotRegular { .. })),
                "{path}"
            );
        }
        assert!(!std::fs::metadata("/dev/null").expect("is there").is_file());
    }

    #[test]
    fn what_somebody_else_wrote_meanwhile_is_kept() {
        let folder = folder();
        let file = folder.path().join("file");
        std::fs::write(&file, "theirs").expect("writes");
        let refused = write_changed(&file, "ours", b"new");
        assert!(matches!(refused, Err(WriteError::Changed { .. })));
        assert_eq!(std::fs::read(&file).expect("reads"), b"theirs");
        write_changed(&file, "theirs", b"new").expect("it is what was read");
        assert_eq!(std::fs::read(&file).expect("reads"), b"new");
        let gone = write_changed(&folder.path().join("gone"), "", b"new");
        assert!(matches!(gone, Err(WriteError::Changed { .. })));
        std::fs::write(&file, [0xff, 0xfe, b'a', 0]).expect("writes");
        let refused = write_changed(&file, "a", b"b");
        assert!(matches!(refused, Err(WriteError::NotUtf8 { .. })));
    }
}
