//! The client's process: when it is gone, nobody can end the server any more. The end of the input usually tells, but
//! not where another process inherited the pipe.

use std::time::Duration;

/// Time between two looks.
const BEAT: Duration = Duration::from_secs(3);

/// Ends this process soon after the client's has ended. A number that no process has when the server starts is one of
/// another system (a container's, or a machine's at the other end of a connection) and says nothing.
pub(super) fn end_with(process: u32) {
    if !is_alive(process) {
        return;
    }
    let watch = move || {
        while is_alive(process) {
            std::thread::sleep(BEAT);
        }
        tracing::info!("the client's process {process} has ended");
        std::process::exit(1);
    };
    let spawned = std::thread::Builder::new()
        .name("client-process".to_owned())
        .spawn(watch);
    if let Err(error) = spawned {
        tracing::error!("no thread to watch the client's process: {error}");
    }
}

#[cfg(unix)]
fn is_alive(process: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
        return false;
    };
    match test_kill_process(pid) {
        // A zombie has ended and waits for its parent to notice.
        Ok(()) => !is_zombie(process),
        Err(error) => error == rustix::io::Errno::PERM,
    }
}

/// Returns whether a process is a zombie, as far as there is a /proc to say so.
#[cfg(unix)]
fn is_zombie(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything; the state follows the last of them.
    let state = status.rsplit(')').next().map(str::trim_start);
    state.is_some_and(|state| state.starts_with('Z'))
}

/// Here the end of the input has to do: pipes are not inherited unasked.
#[cfg(not(unix))]
fn is_alive(_: u32) -> bool {
    false
}
