//! Finds the `compile_commands.json` that speaks of a file, as clangd does: in the folders above it and the
//! folders of builds in those. Its contents are kept until the file changes.

use super::{normalize, read_bytes};
use crate::commands::{CommandNote, CompileCommands, CompileFlags, FILE_NAME};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Bytes of a `compile_commands.json`.
const LARGEST: u64 = 64 << 20;
/// Bytes of a response file.
const LARGEST_RESPONSE: u64 = 1 << 20;
/// Folders of builds in a folder, beside those whose names begin with `BUILD_OF_IDE`.
const BUILDS: [&str; 2] = ["build", "out"];
const BUILD_OF_IDE: &str = "cmake-build-";
/// Entries of a folder that are looked at for those.
const MOST_ENTRIES: usize = 4096;
/// Folders above a file.
const MOST_FOLDERS: usize = 64;

/// The flags with which builds compile files.
#[derive(Debug, Default)]
pub struct Commands {
    /// The file with the compile commands of each folder.
    found: Mutex<FxHashMap<PathBuf, Option<PathBuf>>>,
    read: Mutex<FxHashMap<PathBuf, Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    /// The time of its last change, and its length then.
    stamp: Option<(SystemTime, u64)>,
    commands: Result<Arc<CompileCommands>, String>,
}

impl Commands {
    /// The flags with which a file is compiled.
    pub fn of(&self, file: &Path) -> Option<CompileFlags> {
        let folder = file.parent()?;
        let path = self.above(folder)?;
        match self.commands(&path) {
            Ok(commands) => commands.flags(file, &response),
            Err(why) => {
                let notes = vec![CommandNote::Unusable { path, why }];
                Some(CompileFlags {
                    notes,
                    ..CompileFlags::default()
                })
            }
        }
    }

    /// Looks again where there are files; the contents of one that did not change are kept.
    pub fn look_again(&self) {
        locked(&self.found).clear();
    }

    fn above(&self, folder: &Path) -> Option<PathBuf> {
        folder
            .ancestors()
            .take(MOST_FOLDERS)
            .find_map(|folder| self.in_folder(folder))
    }

    fn in_folder(&self, folder: &Path) -> Option<PathBuf> {
        if let Some(known) = locked(&self.found).get(folder) {
            return known.clone();
        }
        let found = look_in(folder);
        locked(&self.found).insert(folder.to_path_buf(), found.clone());
        found
    }

    fn commands(&self, path: &Path) -> Result<Arc<CompileCommands>, String> {
        let stamp = std::fs::metadata(path)
            .and_then(|data| Ok((data.modified()?, data.len())))
            .ok();
        if let Some(known) = locked(&self.read).get(path)
            && known.stamp == stamp
        {
            return known.commands.clone();
        }
        let directory = path.parent().unwrap_or(Path::new(""));
        let read = read_bytes(path, LARGEST).map_err(|error| error.to_string());
        let commands = read.and_then(|bytes| {
            let parsed = CompileCommands::parse(&bytes, directory);
            parsed.map(Arc::new).map_err(|error| error.to_string())
        });
        let known = Known {
            stamp,
            commands: commands.clone(),
        };
        locked(&self.read).insert(path.to_path_buf(), known);
        commands
    }
}

fn look_in(folder: &Path) -> Option<PathBuf> {
    let there = |folder: PathBuf| {
        let path = folder.join(FILE_NAME);
        path.is_file().then(|| normalize(&path))
    };
    let usual = BUILDS.iter().map(|name| folder.join(name));
    let usual = std::iter::once(folder.to_path_buf()).chain(usual);
    usual.into_iter().find_map(there).or_else(|| {
        let entries = std::fs::read_dir(folder).ok()?.take(MOST_ENTRIES);
        let names = entries.flatten().map(|entry| entry.file_name());
        let is_build = |name: &std::ffi::OsString| name.to_string_lossy().starts_with(BUILD_OF_IDE);
        let mut builds: Vec<_> = names.filter(is_build).collect();
        builds.sort();
        builds.iter().find_map(|name| there(folder.join(name)))
    })
}

fn response(path: &Path) -> Result<String, String> {
    let bytes = read_bytes(path, LARGEST_RESPONSE).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Locks a mutex, poisoned or not: the data behind these locks is changed by single insertions and stays
/// consistent whatever unwinds.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(commands: &Commands, path: &Path) -> Vec<String> {
        let flags = commands.of(path).unwrap_or_default();
        flags.defines.iter().map(ToString::to_string).collect()
    }

    fn write(path: &Path, define: &str) {
        let folder = path.parent().expect("a folder");
        std::fs::create_dir_all(folder).expect("folders");
        let text =
            format!("[{{\"file\": \"/p/k.cu\", \"command\": \"nvcc -D{define} -c /p/k.cu\"}}]");
        std::fs::write(path, text).expect("writes");
    }

    #[test]
    fn the_nearest_folder_comes_first_and_folders_of_builds_are_looked_into() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let file = folder.path().join("a/src/new.cu");
        let commands = Commands::default();
        let places = [
            "cmake-build-debug",
            "out",
            "build",
            ".",
            "a/cmake-build-release",
            "a/src/build",
        ];
        assert_eq!(of(&commands, &file), [""; 0]);
        for (number, place) in places.iter().enumerate() {
            let define = format!("N{number}");
            write(&folder.path().join(place).join(FILE_NAME), &define);
            commands.look_again();
            assert_eq!(of(&commands, &file), [define], "{place}");
        }
        let last = folder.path().join("a/src/build").join(FILE_NAME);
        write(&last, "CHANGED");
        assert_eq!(of(&commands, &file), ["CHANGED"]);
        std::fs::write(&last, "no JSON").expect("writes");
        let notes = commands.of(&file).unwrap_or_default().notes;
        assert!(
            matches!(notes.as_slice(), [CommandNote::Unusable { path, .. }] if *path == last),
            "{notes:?}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn what_never_ends_is_not_read() {
        use rustix::fs::{CWD, Mode};
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let fifo = folder.path().join("fifo.rsp");
        rustix::fs::mkfifoat(CWD, &fifo, Mode::RUSR).expect("a FIFO");
        let text = "[{\"directory\": \".\", \"file\": \"k.cu\", \"command\": \"nvcc @fifo.rsp @/dev/zero -DX k.cu\"}]";
        std::fs::write(folder.path().join(FILE_NAME), text).expect("writes");
        let flags = Commands::default().of(&folder.path().join("k.cu"));
        let flags = flags.unwrap_or_default();
        assert_eq!((flags.defines.len(), flags.notes.len()), (1, 2));
    }
}
