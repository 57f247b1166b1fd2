//! Reading files without waiting for a slow disk.
//!
//! A computation on a clone of the database holds up every edit, and the owner holds up everything; neither
//! may hang on a network drive. Files are read on threads of their own. A file that does not come in time is
//! reported as late, and its contents are announced when they arrive, to be asked for again: `read` gives
//! them then.

use crate::db::{Source, read_source};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Read = dyn Fn(&Path) -> Source + Send + Sync;
type Announce = dyn Fn(&Path) + Send + Sync;

/// The source of files.
#[derive(Clone)]
pub struct Disk(Option<Arc<Readers>>);

struct Readers {
    read: Box<Read>,
    announce: Box<Announce>,
    patience: Duration,
    /// Threads that have nothing to do. Each ends with its last sender.
    idle: Mutex<Vec<Sender<(Job, Thread)>>>,
    /// Files that were late when they were asked for last.
    late: Mutex<FxHashMap<PathBuf, Late>>,
}

enum Late {
    Awaited,
    /// The file has changed since it began to be read: that is thrown away, and the file is read again.
    Outdated,
    Arrived(Source),
}

/// The queue from which a thread takes its jobs, handed to it with each.
struct Thread(Sender<(Job, Thread)>);

struct Job {
    path: PathBuf,
    answer: Arc<Answer>,
}

/// The answer of a reader, until it is not awaited any more.
#[derive(Default)]
struct Answer {
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Awaited,
    Ready(Source),
    Abandoned,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").finish_non_exhaustive()
    }
}

/// Locks a mutex, poisoned or not: the data behind these locks is changed by single insertions and stays
/// consistent whatever unwinds.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    /// Waits for each file as long as it takes.
    pub fn direct() -> Disk {
        Disk(None)
    }

    /// Waits `patience` for a file; `announce` is called when a late one is there.
    pub fn patient(patience: Duration, announce: impl Fn(&Path) + Send + Sync + 'static) -> Disk {
        Disk::reading(read_source, patience, announce)
    }

    fn reading(
        read: impl Fn(&Path) -> Source + Send + Sync + 'static,
        patience: Duration,
        announce: impl Fn(&Path) + Send + Sync + 'static,
    ) -> Disk {
        Disk(Some(Arc::new(Readers {
            read: Box::new(read),
            announce: Box::new(announce),
            patience,
            idle: Mutex::default(),
            late: Mutex::default(),
        })))
    }

    /// A file, or that it is late.
    pub fn read(&self, path: &Path) -> Source {
        match &self.0 {
            None => read_source(path),
            Some(readers) => readers.ask(path),
        }
    }

    /// A file has changed: what was read of it before is not given any more.
    pub fn changed(&self, path: &Path) {
        let Some(readers) = &self.0 else {
            return;
        };
        let mut files = locked(&readers.late);
        match files.remove(path) {
            Some(Late::Awaited | Late::Outdated) => {
                files.insert(path.to_owned(), Late::Outdated);
            }
            Some(Late::Arrived(_)) | None => {}
        }
    }
}

fn late(path: &Path) -> Source {
    Source::Unusable(Arc::from(format!("{} is still being read", path.display())))
}

impl Readers {
    fn ask(self: &Arc<Self>, path: &Path) -> Source {
        let patience = {
            let mut files = locked(&self.late);
            match files.remove(path) {
                Some(Late::Arrived(source)) => return source,
                Some(awaited @ (Late::Awaited | Late::Outdated)) => {
                    files.insert(path.to_owned(), awaited);
                    return late(path);
                }
                // The next file of a slow disk is probably late, too.
                None if files.is_empty() => self.patience,
                None => self.patience / 10,
            }
        };
        let answer = Arc::new(Answer::default());
        let job = Job {
            path: path.to_owned(),
            answer: Arc::clone(&answer),
        };
        if let Err(job) = self.hand_over(job) {
            return (self.read)(&job.path);
        }
        let state = locked(&answer.state);
        let awaited = |state: &mut State| matches!(state, State::Awaited);
        let (mut state, _) = answer
            .ready
            .wait_timeout_while(state, patience, awaited)
            .unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Abandoned) {
            State::Ready(source) => source,
            State::Awaited | State::Abandoned => {
                // While the answer is locked: the reader looks there first.
                locked(&self.late).insert(path.to_owned(), Late::Awaited);
                late(path)
            }
        }
    }

    /// Gives a job to a thread that is idle, or to a new one. The job comes back where there can be no thread.
    fn hand_over(self: &Arc<Self>, job: Job) -> Result<(), Job> {
        let idle = locked(&self.idle).pop();
        let job = match idle {
            Some(thread) => match thread.send((job, Thread(thread.clone()))) {
                Ok(()) => return Ok(()),
                Err(refused) => refused.0.0,
            },
            None => job,
        };
        let (jobs, queue) = channel::<(Job, Thread)>();
        let readers = Arc::downgrade(self);
        let spawned = std::thread::Builder::new()
            .name("disk".to_owned())
            .spawn(move || {
                while let Ok((job, thread)) = queue.recv() {
                    let Some(readers) = readers.upgrade() else {
                        return;
                    };
                    readers.serve(job);
                    locked(&readers.idle).push(thread.0);
                }
            });
        match spawned {
            Ok(_) => jobs
                .send((job, Thread(jobs.clone())))
                .map_err(|refused| refused.0.0),
            Err(error) => {
                tracing::error!("no thread to read with: {error}");
                Err(job)
            }
        }
    }

    fn serve(&self, job: Job) {
        let source = (self.read)(&job.path);
        {
            let mut state = locked(&job.answer.state);
            if !matches!(*state, State::Abandoned) {
                *state = State::Ready(source);
                job.answer.ready.notify_all();
                return;
            }
            let mut files = locked(&self.late);
            match files.remove(&job.path) {
                Some(Late::Outdated) => {}
                _ => drop(files.insert(job.path.clone(), Late::Arrived(source))),
            }
        }
        (self.announce)(&job.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Database, Db};
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Instant;

    fn text(of: &str) -> Source {
        Source::Text {
            text: Arc::from(of),
            lossy: false,
        }
    }

    /// A disk whose files named `slow…` come when the sender says so.
    fn disk() -> (Disk, Sender<()>, Receiver<PathBuf>) {
        let (go, wait) = channel::<()>();
        let (announced, arrived) = channel();
        let wait = Mutex::new(wait);
        let read = move |path: &Path| {
            let name = path.to_string_lossy();
            if name.contains("slow") {
                let _ = locked(&wait).recv();
            }
            text(&name)
        };
        let announce = move |path: &Path| {
            let _ = announced.send(path.to_owned());
        };
        let disk = Disk::reading(read, Duration::from_millis(100), announce);
        (disk, go, arrived)
    }

    #[test]
    fn a_late_file_is_announced_and_given_then() {
        let (disk, go, arrived) = disk();
        let slow = Path::new("/slow.h");
        assert_eq!(disk.read(Path::new("/a.h")), text("/a.h"));
        assert!(matches!(disk.read(slow), Source::Unusable(_)));
        let begin = Instant::now();
        assert!(matches!(disk.read(slow), Source::Unusable(_)));
        assert!(
            begin.elapsed() < Duration::from_millis(90),
            "not read twice"
        );
        assert_eq!(disk.read(Path::new("/b.h")), text("/b.h"));
        go.send(()).expect("the reader waits");
        assert_eq!(arrived.recv().expect("it is announced"), slow);
        assert_eq!(disk.read(slow), text("/slow.h"));
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_read_again() {
        let (disk, go, arrived) = disk();
        let slow = Path::new("/slow.h");
        assert!(matches!(disk.read(slow), Source::Unusable(_)));
        disk.changed(slow);
        assert!(matches!(disk.read(slow), Source::Unusable(_)));
        go.send(()).expect("the reader waits");
        assert_eq!(arrived.recv().expect("it is announced"), slow);
        // Not what was read before it changed.
        assert!(matches!(disk.read(slow), Source::Unusable(_)));
        go.send(()).expect("the reader waits again");
        assert_eq!(arrived.recv().expect("it is announced"), slow);
        disk.changed(slow);
        assert!(matches!(disk.read(slow), Source::Unusable(_)));
        go.send(()).expect("the reader waits again");
        assert_eq!(arrived.recv().expect("it is announced"), slow);
        assert_eq!(disk.read(slow), text("/slow.h"));
    }

    #[test]
    fn a_file_on_a_slow_disk_does_not_hold_up_an_edit_of_another() {
        let (disk, go, arrived) = disk();
        let mut db = Database::with_disk(disk);
        let includes = text("#include \"slow.h\"\nint a;\n");
        let main = db.file_with_text(Path::new("/k.cu"), includes);
        let other = db.file_with_text(Path::new("/o.cu"), text("int a;"));
        let clone = db.clone();
        let computes = std::thread::spawn(move || {
            let _ = crate::db::catch(&clone, |db| crate::db::items(db, main).len());
        });
        let begin = Instant::now();
        db.set_source(other, text("int b;"));
        assert!(begin.elapsed() < Duration::from_secs(5), "the edit is made");
        computes.join().expect("it ends");
        let _ = crate::db::items(&db, main).len();
        go.send(()).expect("the reader waits");
        let path = arrived.recv().expect("it is announced");
        assert_eq!(path, Path::new("/slow.h"));
        let file = db.known_file(&path).expect("it was asked for");
        let arrived = db.read_from_disk(&path);
        db.set_source(file, arrived);
        assert_eq!(*db.file(&path).source(&db), text("/slow.h"));
        assert_eq!(crate::db::unit(&db, main).files.len(), 2);
    }
}
