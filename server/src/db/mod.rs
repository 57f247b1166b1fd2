//! The database: inputs and the queries over them. The only place that names salsa; a query is one line that calls a
//! pure function of `program` or `derive`.

mod copy;
mod figure;
mod inputs;
mod queries;
#[cfg(test)]
mod tests;

pub use copy::Copy;
pub use figure::{Figure, Figures};
pub use inputs::{Database, Db, File, Settings, SharedFiles, Source, read_source};
pub use queries::*;

use std::panic::AssertUnwindSafe;

/// Deep but bounded recursion over trees needs more than the default.
pub const STACK: usize = 32 << 20;

/// A computation was given up because its inputs are about to change or because its result is not wanted any
/// more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    InputsChange,
    Unwanted,
}

/// Runs `work` on as many threads as there are cores, and as are of use, each with its own clone of the database, so that queries
/// which follow find their results. Ends early where inputs change; whoever asks for a result meets a panic again.
pub fn on_cores(db: &Database, useful: usize, work: impl Fn(&Database) + Sync) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(useful);
    if threads < 2 {
        return;
    }
    let work = &work;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let db = db.clone();
            let run = move || {
                let all = || catch(&db, work);
                drop(std::panic::catch_unwind(AssertUnwindSafe(all)));
            };
            let thread = std::thread::Builder::new().stack_size(STACK);
            if let Err(error) = thread.spawn_scoped(scope, run) {
                tracing::warn!("no thread: {error}");
            }
        }
    });
}

/// Runs a whole background request. The one place where salsa's unwinding is caught.
pub fn catch<T>(db: &Database, work: impl FnOnce(&Database) -> T) -> Result<T, Cancelled> {
    use salsa::Database as _;
    let work = AssertUnwindSafe(|| db.attach(work));
    salsa::Cancelled::catch(work).map_err(|reason| match reason {
        salsa::Cancelled::Local => Cancelled::Unwanted,
        _ => Cancelled::InputsChange,
    })
}
