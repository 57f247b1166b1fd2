//! Modulo schedules of dependence graphs of real loops against intervals that were proved to be the least.
//!
//! The graphs are no part of the repository: `LOCKSTEP_MODULO_GRAPHS` names their folder, by default
//! `../shared/data/modulo-ddg` beside the checkout. A graph is a JSON object with `ops` (id, resource, latency), `edges`
//! (src, dst, distance, delay), `resources` (limit, -1 without), `min_ii` and `opt_ii`. Where the folder is missing the
//! test says so and judges nothing.

// The time is printed, not judged.
#![allow(clippy::disallowed_methods)]

use lockstep_codegen::pipeline::graph::{Edge, Graph, Operation, Resource};
use lockstep_codegen::pipeline::{Limits, bounds::bounds, schedule};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn folder() -> PathBuf {
    match std::env::var_os("LOCKSTEP_MODULO_GRAPHS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/modulo-ddg"),
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value}"))
}

fn graph(described: &Value) -> Graph {
    let list = |key: &str| described[key].as_array().cloned().unwrap_or_default();
    let resources = described["resources"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let names: Vec<&String> = resources.keys().collect();
    let operations = list("ops");
    Graph {
        resources: resources
            .iter()
            .map(|(name, data)| Resource {
                name: name.clone(),
                units: u32::try_from(number(&data["limit"])).ok(),
            })
            .collect(),
        operations: operations
            .iter()
            .map(|operation| {
                let at = names
                    .iter()
                    .position(|name| operation["resource"] == ***name);
                Operation {
                    resource: at.expect("a resource") as u32,
                }
            })
            .collect(),
        edges: list("edges")
            .iter()
            .map(|edge| Edge {
                from: number(&edge["src"]) as u32,
                to: number(&edge["dst"]) as u32,
                latency: (number(&operations[number(&edge["src"]) as usize]["latency"])
                    + edge["delay"].as_i64().unwrap_or(0)) as i32,
                distance: number(&edge["distance"]) as u32,
            })
            .collect(),
        packing: None,
    }
}

#[test]
fn real_loops_have_the_least_interval() {
    let folder = folder();
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("not judged: there is no {}", folder.display());
        return;
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    files.sort();
    let (mut graphs, mut above, mut longest) = (0, 0, Duration::ZERO);
    let mut more: Vec<String> = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path).expect("a file");
        let described: Value = serde_json::from_str(&text).expect("JSON");
        let graph = graph(&described);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (least, optimum) = (number(&described["min_ii"]), number(&described["opt_ii"]));
        let limits = bounds(&graph).expect("possible");
        assert_eq!(i64::from(limits.min_ii()), least, "{name}: {limits:?}");
        let begin = Instant::now();
        let found = schedule(&graph, &Limits::default()).expect("a schedule");
        longest = longest.max(begin.elapsed());
        assert_eq!(found.check(&graph), Ok(()), "{name}");
        assert!(
            i64::from(found.ii) >= optimum,
            "{name}: {} is below the proved optimum {optimum}",
            found.ii
        );
        graphs += 1;
        above += usize::from(optimum > least);
        if i64::from(found.ii) > optimum {
            more.push(format!("{name}: {} instead of {optimum}", found.ii));
        }
    }
    println!(
        "{graphs} graphs, {above} with an optimum above the bound; {} at the optimum; the slowest took {longest:?}; {more:?}",
        graphs - more.len()
    );
    assert!(graphs >= 200, "{graphs} graphs in {}", folder.display());
    assert!((graphs - more.len()) * 100 >= graphs * 97, "{more:?}");
}
