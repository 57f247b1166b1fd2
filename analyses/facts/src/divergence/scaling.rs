//! Extreme control flow ends, and in time that grows with its size.

use crate::{Options, analyze};
use ir::Module;
use ir::random::{Extreme, extreme};

#[test]
fn extreme_functions_end() {
    for kind in Extreme::ALL {
        let module = Module {
            functions: vec![extreme(kind, 20_000)],
        };
        #[allow(clippy::disallowed_methods)]
        let start = std::time::Instant::now();
        let facts = analyze(0, &module, &Options::default());
        let time = start.elapsed();
        eprintln!("{kind:?}: {} values in {time:?}", facts.values.len());
        assert!(time.as_secs() < 20, "{kind:?}: {time:?}");
    }
}
