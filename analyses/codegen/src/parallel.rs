//! Functions that do not depend on each other, made on all cores.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// Programs may nest deeply.
const STACK: usize = 32 << 20;

/// The results of the numbers below `count`, in their order.
pub(crate) fn each<R: Send>(count: usize, make: impl Fn(usize) -> R + Sync) -> Vec<R> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let pool = POOL.get_or_init(|| ThreadPoolBuilder::new().stack_size(STACK).build().ok());
    match pool {
        Some(pool) if count > 1 => pool.install(|| (0..count).into_par_iter().map(&make).collect()),
        _ => (0..count).map(make).collect(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_in_order() {
        for count in [0, 1, 1000] {
            let squares: Vec<usize> = (0..count).map(|number| number * number).collect();
            assert_eq!(super::each(count, |number| number * number), squares);
        }
    }
}
