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

/// A computation was given up because its inputs are about to change or because its result is not wanted any
/// more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    InputsChange,
    Unwanted,
}

/// Runs a whole background request. The one place where salsa's unwinding is caught.
pub fn catch<T>(db: &Database, work: impl FnOnce(&Database) -> T) -> Result<T, Cancelled> {
    use salsa::Database as _;
    let work = std::panic::AssertUnwindSafe(|| db.attach(work));
    salsa::Cancelled::catch(work).map_err(|reason| match reason {
        salsa::Cancelled::Local => Cancelled::Unwanted,
        _ => Cancelled::InputsChange,
    })
}
