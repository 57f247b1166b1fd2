//! Cancellation of long computations. A solver or an interpreter calls `check` once an outer iteration and
//! returns early when it fails; the caller that started it decides when it fails. There is no clock here.

use std::sync::atomic::{AtomicBool, Ordering};

/// The computation's result is no longer wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Asked once an outer iteration.
pub trait Checkpoint {
    fn check(&self) -> Result<(), Cancelled>;
}

/// Never cancels.
impl Checkpoint for () {
    fn check(&self) -> Result<(), Cancelled> {
        Ok(())
    }
}

/// Cancels once the flag is set.
impl Checkpoint for AtomicBool {
    fn check(&self) -> Result<(), Cancelled> {
        if self.load(Ordering::Relaxed) {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

impl<C: Checkpoint + ?Sized> Checkpoint for &C {
    fn check(&self) -> Result<(), Cancelled> {
        (**self).check()
    }
}
