//! `lockstep registers`: what fills the registers of a kernel at the peak, and how to be without it.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use serde_json::Value;

const KERNEL: &str = "__global__ void k(const float* __restrict__ a, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float base = out[0];
  float first = a[i];
  float sum = 0.0f;
  for (int j = 0; j < n; ++j) {
    float x = out[j * n + i];
    float y = out[j * n + i + 1];
    sum += x * y * (x + y);
  }
  out[i] = sum + base + first;
}
";

fn variable<'v>(kernel: &'v Value, name: &str) -> &'v Value {
    let all = kernel["peak"]["variables"].as_array().expect("a list");
    let found = all.iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("`{name}` in {all:#?}"))
}

#[test]
fn the_variables_of_the_peak_have_their_remedies() {
    let place = Place::new("registers");
    let file = place.file("k.cu", KERNEL);
    let report = json(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let kernel = &report["kernels"][0];
    assert_eq!(kernel["name"], "k");
    assert_eq!(kernel["label"], "estimate");
    let live = kernel["live"].as_u64().expect("a number");
    assert!(kernel["registers"].as_u64() > Some(live));
    let all = kernel["peak"]["variables"].as_array().expect("a list");
    let sum: u64 = all.iter().filter_map(|one| one["registers"].as_u64()).sum();
    assert_eq!(sum, live, "{all:#?}");
    let most = kernel["lines"].as_array().expect("lines");
    let most = most.iter().filter_map(|one| one["live"].as_u64()).max();
    assert_eq!(most, Some(live));
    // The sum of the loop is read again behind the peak; `base` is one number for all, `first` one that nobody writes.
    for (name, class, remedy) in [
        ("i", "affine", "recompute"),
        ("base", "uniform", "warp-slot"),
        ("first", "divergent", "reload"),
        ("j", "uniform", "warp-slot"),
    ] {
        let one = variable(kernel, name);
        assert_eq!(one["class"], class, "{name}");
        assert_eq!(one["remedy"], remedy, "{name}");
    }
    assert_eq!(variable(kernel, "base")["line"], 3);
    assert_eq!(variable(kernel, "base")["last_use"], 11);
}

#[test]
fn a_budget_takes_the_cheapest() {
    let place = Place::new("budget");
    let file = place.file("k.cu", KERNEL);
    let all = json(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let registers = all["kernels"][0]["registers"].as_u64().expect("a number");
    let budget = (registers - 1).to_string();
    let of = |budget: &str| {
        lockstep(&[
            "registers",
            &file,
            "--no-config",
            "--budget",
            budget,
            "--format",
            "json",
        ])
    };
    let report = json(&of(&budget));
    let without = report["kernels"][0]["without"].as_array().expect("a list");
    assert_eq!(without.len(), 1);
    assert_eq!(without[0]["remedy"], "recompute");
    let report = json(&of("255"));
    assert!(report["kernels"][0]["without"].is_null());
    let told = text(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--budget",
        &budget,
    ]));
    assert!(
        told.contains(&format!("1 over {budget} registers")),
        "{told}"
    );
}

#[test]
fn names_and_languages_that_have_none_are_refused() {
    let place = Place::new("no_registers");
    let file = place.file("k.cu", KERNEL);
    let told = errors(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--item",
        "g",
    ]));
    assert!(told.contains('k'), "{told}");
    let c = place.file("a.c", "int f(int a) { return a; }\n");
    let told = errors(&lockstep(&["registers", &c, "--no-config"]));
    assert!(told.contains("kernels and shaders"), "{told}");
}
