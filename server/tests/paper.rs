//! The tables of the divergence-analysis paper from the command line: T3 (Figure 11), T4 (Figure 14), T5 (Figure 2) and
//! T5b (Figure 15), numbers unchanged, by `--method` and by `lockstep.toml`.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/musimd")
        .join(name)
}

fn lockstep(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(arguments)
        .output()
        .expect("the binary starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Name to state and class of every row; a name has one state.
fn rows(json: &str, method: &str) -> BTreeMap<String, (String, String)> {
    let report: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(report["method"], method);
    let mut rows = BTreeMap::new();
    let values = report["items"][0]["values"].as_array().expect("values");
    for value in values {
        let word = |key: &str| value[key].as_str().unwrap_or("").to_owned();
        let row = (word("state"), word("class"));
        let before = rows.insert(word("name"), row.clone());
        assert!(before.is_none_or(|before| before == row), "{value}");
    }
    rows
}

fn analyze(name: &str, method: &str) -> BTreeMap<String, (String, String)> {
    let path = fixture(name).display().to_string();
    rows(
        &lockstep(&["analyze", &path, "--no-config", "--method", method]),
        method,
    )
}

/// `names`: separated by spaces.
fn expect(name: &str, method: &str, wanted: &[(&str, &str)]) {
    let rows = analyze(name, method);
    for (names, state) in wanted {
        for variable in names.split(' ') {
            let found = rows.get(variable).map(|row| row.0.as_str());
            assert_eq!(found, Some(*state), "{variable} of {name} by {method}");
        }
    }
}

const SUM_TRIANGLE: &str = "sum_triangle_gated.musimd";
const AVG_SQUARE: &str = "avg_square_gated.musimd";
const FIGURE_15: &str = "figure_15_gated.musimd";

#[test]
fn t3_simple_analysis_of_sum_triangle() {
    let rows = analyze(SUM_TRIANGLE, "simple");
    let side = |state: &str| -> Vec<&str> {
        let names = rows.iter().filter(|(_, row)| row.0 == state);
        names.map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(
        side("D"),
        [
            "L0", "d3", "i0", "i1", "i2", "p0", "s1", "s2", "s3", "s4", "t0", "x0", "x1"
        ]
    );
    assert_eq!(side("U"), ["c", "d0", "d1", "d2", "p1", "s0"]);
    assert_eq!(rows["d1"].1, "uniform");
    assert_eq!(rows["d3"].1, "divergent");
}

#[test]
fn t4_sum_triangle_at_degrees_1_and_2() {
    let wanted = [
        ("c", "(0,⊥)"),
        ("x0", "(1,1)"),
        ("L0", "(⊥,⊥)"),
        ("i0", "(1,0)"),
        ("i1 i2", "(1,⊥)"),
        ("p0", "(⊥,⊥)"),
        ("d0 s0", "(0,0)"),
        ("d1 d2 p1", "(0,⊥)"),
        ("d3 s1 s2 s3 s4 t0 x1", "(⊥,⊥)"),
    ];
    expect(SUM_TRIANGLE, "affine1", &wanted);
    let wanted = [
        ("L0", "(0,⊥,⊥)"),
        ("x0", "(0,1,1)"),
        ("i1 i2", "(0,1,⊥)"),
        ("d1 d2 p1", "(0,0,⊥)"),
        ("s1 s2 s3 s4 t0 d3 x1 p0", "(⊥,⊥,⊥)"),
    ];
    expect(SUM_TRIANGLE, "affine2", &wanted);
}

#[test]
fn t4_avg_square_at_degree_1() {
    let wanted = [
        ("N0", "(1,⊥)"),
        ("t0", "(0,⊥)"),
        ("i0", "(1,0)"),
        ("i1 i2", "(1,⊥)"),
        ("p0", "(0,⊥)"),
        ("d0", "(0,0)"),
        ("d1 d2 d3", "(0,⊥)"),
        ("s1 s2 s3 t1 a0", "(⊥,⊥)"),
    ];
    expect(AVG_SQUARE, "affine1", &wanted);
}

#[test]
fn t5_figure_2() {
    // The simple column: i, N and d after the loop of avgSquare are divergent, which degree 1 mends.
    let wanted = [("c d0 d1", "U"), ("i1 N0 d3", "D")];
    expect(AVG_SQUARE, "simple", &wanted);
    let wanted = [("c d0 d1", "U"), ("i1 L0 d3", "D")];
    expect(SUM_TRIANGLE, "simple", &wanted);
    let wanted = [
        ("c V", "(0,0,⊥)"),
        ("i1 N0", "(0,1,⊥)"),
        ("d0", "(0,0,0)"),
        ("d1 d2 d3", "(0,0,⊥)"),
    ];
    expect(AVG_SQUARE, "affine2", &wanted);
    let wanted = [
        ("L0", "(0,⊥,⊥)"),
        ("d0", "(0,0,0)"),
        ("d1 d2", "(0,0,⊥)"),
        ("d3", "(⊥,⊥,⊥)"),
    ];
    expect(SUM_TRIANGLE, "affine2", &wanted);
}

#[test]
fn t5b_figure_15() {
    let wanted = [("n", "(0,⊥)"), ("i0", "(⊥,0)"), ("i1 i2 k", "(⊥,⊥)")];
    expect(FIGURE_15, "affine1", &wanted);
    let wanted = [("n", "(0,0,⊥)"), ("i0", "(0,⊥,0)"), ("i1 i2 k", "(0,⊥,⊥)")];
    expect(FIGURE_15, "affine2", &wanted);
}

/// A program in plain form has the same answers by its SSA form: Figure 2's rows of d.
#[test]
fn plain_programs_are_gated_by_their_ssa_form() {
    let states = |name: &str, method: &str, variable: &str| -> Vec<String> {
        let path = fixture(name).display().to_string();
        let json = lockstep(&["analyze", &path, "--no-config", "--method", method]);
        let report: Value = serde_json::from_str(&json).expect("JSON");
        let values = report["items"][0]["values"].as_array().expect("values");
        let rows = values.iter().filter(|value| value["name"] == variable);
        rows.map(|value| value["state"].as_str().unwrap_or("").to_owned())
            .collect()
    };
    // Before the loop, in it, and where it is read after it.
    assert_eq!(
        states("sum_triangle.musimd", "simple", "d"),
        ["U", "U", "D"]
    );
    assert_eq!(
        states("sum_triangle.musimd", "affine1", "d"),
        ["(0,0)", "(0,⊥)", "(⊥,⊥)"]
    );
    assert_eq!(
        states("avg_square.musimd", "affine1", "d"),
        ["(0,0)", "(0,⊥)"]
    );
}

#[test]
fn the_method_is_named_and_configured() {
    let path = fixture(SUM_TRIANGLE).display().to_string();
    let shown = lockstep(&["annotate", &path, "--no-config", "--method", "affine1"]);
    let first = shown.lines().next().unwrap_or("");
    assert!(first.contains("method affine1"), "{first}");
    let line = |wanted: &str| {
        shown
            .lines()
            .find(|line| line.contains(wanted))
            .unwrap_or("")
    };
    assert!(line("l3  x0 = Tid + 1").contains("x0 (1,1)"), "{shown}");
    assert!(line("l16 [s4, d3]").contains("d3 (⊥,⊥)"), "{shown}");
    let full = lockstep(&["annotate", &path, "--no-config"]);
    assert!(full.lines().next().unwrap_or("").contains("method full"));
    let facts = lockstep(&["dump", "facts", &path, "--no-config", "--method", "affine2"]);
    assert!(facts.contains("by affine2"), "{facts}");
    assert!(facts.contains("L0 affine (0,⊥,⊥) ?*Tid + ?"), "{facts}");
    let table = lockstep(&[
        "analyze",
        &path,
        "--no-config",
        "--method",
        "simple",
        "--format",
        "text",
    ]);
    assert!(table.contains("method simple"), "{table}");

    let place = std::env::temp_dir().join(format!("lockstep-paper-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a directory");
    let file = place.join(SUM_TRIANGLE);
    std::fs::copy(fixture(SUM_TRIANGLE), &file).expect("copied");
    std::fs::write(place.join("lockstep.toml"), "method = \"affine1\"\n").expect("written");
    let json = lockstep(&["analyze", &file.display().to_string()]);
    assert_eq!(rows(&json, "affine1")["i1"].0, "(1,⊥)");
    let _ = std::fs::remove_dir_all(&place);
}

/// The same rules run over the IR's gates on CUDA.
#[test]
fn methods_differ_on_cuda() {
    let place = std::env::temp_dir().join(format!("lockstep-paper-cuda-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a directory");
    let file = place.join("rows.cu");
    let text = "__global__ void rows(float* m, int c) {\n    int i = threadIdx.x;\n    int next = i + c;\n    int step = next - i;\n    int far = c * i;\n    m[far] = step;\n}\n";
    std::fs::write(&file, text).expect("written");
    let path = file.display().to_string();
    let class = |method: &str, name: &str| -> (String, String) {
        let json = lockstep(&["analyze", &path, "--no-config", "--method", method]);
        rows(&json, method)[name].clone()
    };
    let row = |state: &str, class: &str| (state.to_owned(), class.to_owned());
    assert_eq!(class("simple", "next"), row("D", "divergent"));
    assert_eq!(class("affine1", "next"), row("(1,⊥)", "affine"));
    assert_eq!(class("simple", "step"), row("D", "divergent"));
    assert_eq!(class("affine1", "step"), row("(0,⊥)", "uniform"));
    assert_eq!(class("affine1", "far"), row("(⊥,0)", "divergent"));
    assert_eq!(class("affine2", "far"), row("(0,⊥,0)", "affine"));
    assert_eq!(class("full", "far"), row("", "affine"));
    let _ = std::fs::remove_dir_all(&place);
}
