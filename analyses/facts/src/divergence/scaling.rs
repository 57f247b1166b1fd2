//! Extreme control flow ends, and the work of the solver grows with its size, counted in visits of nodes and in blocks
//! walked over, not in time.

use super::engine::Engine;
use crate::{Options, analyze};
use ir::Module;
use oracle::random::{Extreme, Shape, extreme, program};

/// Visits and blocks walked over, for a thousand values.
fn work(module: &Module) -> (usize, usize) {
    let options = Options::default();
    let summaries = Vec::new();
    let function = &module.functions[0];
    let mut engine = Engine::new(function, module, &options, &summaries);
    engine.solve();
    assert!(!engine.given_up);
    let thousands = |count: usize| count * 1000 / function.values.len();
    (thousands(engine.visits), thousands(engine.walked))
}

fn random(values: u32) -> Module {
    let shape = Shape {
        blocks: values / 12,
        functions: 0,
        ..Shape::default()
    };
    program(1, &shape).module
}

fn grows_linearly(name: &str, make: impl Fn(u32) -> Module) {
    let (visits, walked) = work(&make(1000));
    for values in [10_000, 60_000] {
        let (more_visits, more_walked) = work(&make(values));
        eprintln!(
            "{name} {values}: {visits} -> {more_visits} visits, {walked} -> {more_walked} blocks"
        );
        assert!(2 * more_visits <= 3 * visits, "{name} {values}");
        assert!(2 * more_walked <= 3 * walked + 1000, "{name} {values}");
    }
}

#[test]
fn visits_and_walks_grow_with_the_size() {
    for kind in Extreme::ALL {
        grows_linearly(&format!("{kind:?}"), |values| Module {
            functions: vec![extreme(kind, values)],
        });
    }
    grows_linearly("Random", random);
}

#[test]
fn extreme_functions_end() {
    for kind in Extreme::ALL {
        let module = Module {
            functions: vec![extreme(kind, 20_000)],
        };
        let facts = analyze(0, &module, &Options::default());
        assert_eq!(facts.values.len(), module.functions[0].values.len());
    }
}
