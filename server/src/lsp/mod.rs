//! The protocol: the only place that names its types. `transport` reads and writes, `ordered` keeps the
//! wire's order, `backend` turns requests into work, `event` has the messages to the owner, `owner` is the
//! one thread that holds the documents and the database, `pool` computes on clones of it.

mod actions;
mod assembler;
mod backend;
mod capabilities;
mod client_process;
mod code;
mod commands;
mod convert;
mod editing;
mod event;
mod ordered;
mod outgoing;
mod owner;
mod pages;
mod pool;
mod preview;
mod profile;
mod progress;
mod projects;
mod question;
mod registers;
mod transport;

use std::io::{Read, Write};
use std::sync::Arc;

/// Serves until `exit` or the end of the input; the process's exit code: 0 after `shutdown`, else 1.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> std::io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let shared = Arc::new(question::Shared::default());
    let for_backend = Arc::clone(&shared);
    runtime.block_on(async move {
        let handle = tokio::runtime::Handle::current();
        let (service, socket) = tower_lsp::LspService::build(|client| {
            backend::Backend::new(client, for_backend, handle)
        })
        .custom_method("lockstep/codes", backend::Backend::codes)
        .custom_method("lockstep/explain", backend::Backend::explain)
        .custom_method("lockstep/registers", backend::Backend::registers)
        .custom_method("lockstep/code", backend::Backend::code)
        .custom_method("lockstep/report", backend::Backend::report)
        .custom_method("lockstep/machines", backend::Backend::machines)
        .custom_method("lockstep/spills", backend::Backend::spills)
        .custom_method("lockstep/profiledCode", backend::Backend::profiled_code)
        .custom_method("lockstep/profiledCode", backend::Backend::profiled_code)
        .custom_method("lockstep/describe", backend::Backend::describe)
        .custom_method("lockstep/preview", backend::Backend::preview)
        .custom_method(
            "window/workDoneProgress/cancel",
            backend::Backend::cancel_progress,
        )
        .finish();
        transport::serve(ordered::Ordered::new(service), socket, input, output).await;
    });
    shared.remove_pages();
    // Computations that nobody waits for any more must not hold the exit.
    runtime.shutdown_background();
    Ok(u8::from(!shared.was_shut_down()))
}
