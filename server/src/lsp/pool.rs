//! Threads for computations. A panic in one is answered and logged; the thread goes on.

use crate::db::STACK;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
pub(super) struct Pool {
    jobs: Sender<Job>,
}

impl Pool {
    pub(super) fn new(threads: usize) -> Self {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..threads {
            let queue = Arc::clone(&queue);
            let spawned = std::thread::Builder::new()
                .name(format!("worker-{number}"))
                .stack_size(STACK)
                .spawn(move || work(&queue));
            if let Err(error) = spawned {
                tracing::error!("no thread for the pool: {error}");
            }
        }
        Pool { jobs }
    }

    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        if self.jobs.send(Box::new(job)).is_err() {
            tracing::error!("the pool has no threads");
        }
    }
}

fn work(queue: &Mutex<Receiver<Job>>) {
    loop {
        let job = match queue
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .recv()
        {
            Ok(job) => job,
            Err(_) => return,
        };
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a computation panicked; this is a defect of Lockstep");
        }
    }
}
