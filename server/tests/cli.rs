//! The command line: what it prints, its exit codes, and what it does with input that can't be used.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn lockstep(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(output), errors(output)))
}

/// A directory of its own for a test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("lockstep-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Place(path)
    }
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("written");
        path.display().to_string()
    }
    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const KERNEL: &str = r#"#include <cuda_runtime.h>
__global__ void scale(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int block = blockIdx.x;
    if (i < n) {
        out[i] = in[4 * i] * 2.0f;
    }
    for (int k = 0; k < threadIdx.x; ++k) {
        out[k] += block;
    }
}
"#;

#[test]
fn analyze_prints_the_documented_keys() {
    let place = Place::new("analyze");
    let file = place.file("scale.cu", KERNEL);
    let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
    assert_eq!(report["version"], 1);
    let item = &report["items"][0];
    assert_eq!(
        (
            item["name"].as_str(),
            item["kind"].as_str(),
            item["line"].as_u64()
        ),
        (Some("scale"), Some("kernel"), Some(2))
    );
    let value = |name: &str| {
        let values = item["values"].as_array().cloned().unwrap_or_default();
        values
            .into_iter()
            .find(|value| value["name"] == name)
            .unwrap_or_default()
    };
    let i = value("i");
    assert_eq!(
        (i["line"].as_u64(), i["column"].as_u64()),
        (Some(3), Some(9))
    );
    assert_eq!(i["class"], "affine");
    assert!(
        i["form"]
            .as_str()
            .is_some_and(|form| form.contains("tid.x")),
        "{i}"
    );
    assert!(
        i["cause"].as_array().is_some_and(|steps| !steps.is_empty()),
        "{i}"
    );
    assert_eq!(value("block")["class"], "uniform");
    assert_eq!(value("block")["scope"], "workgroup");
    assert_eq!(value("n")["scope"], "dispatch");
    assert_eq!(item["branches"][0]["line"], 5);
    assert_eq!(item["branches"][0]["class"], "divergent");
    assert_eq!(item["loops"][0]["trip_class"], "divergent");
    let load = item["accesses"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["kind"] == "load").cloned())
        .unwrap_or_default();
    assert_eq!(
        (load["class"].as_str(), load["stride_bytes"].as_i64()),
        (Some("strided"), Some(16)),
        "{load}"
    );
    assert_eq!(
        (load["sectors"].as_u64(), load["ideal_sectors"].as_u64()),
        (Some(16), Some(4)),
        "{load}"
    );
    let codes: Vec<_> = report["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| one["code"].clone())
        .collect();
    assert!(codes.contains(&"include-not-found".into()), "{codes:?}");
    assert_eq!(
        lockstep(&["analyze", &file, "--item", "nothing"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn a_missing_a_binary_and_a_strange_file_are_not_usable() {
    let place = Place::new("unusable");
    let binary = place.file("b.cu", [0u8, 1, 2, 3]);
    let output = lockstep(&["analyze", &binary]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("not a text file"),
        "{}",
        errors(&output)
    );
    assert_eq!(
        lockstep(&["check", &place.path("missing.cu")])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(
        lockstep(&["annotate", &place.file("x.txt", "hello")])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(lockstep(&["nonsense"]).status.code(), Some(2));
    assert_eq!(lockstep(&["analyze"]).status.code(), Some(2));
    assert_eq!(lockstep(&["explain", "nonsense"]).status.code(), Some(2));
    assert_eq!(
        lockstep(&["check", &binary, "--deny", "nonsense"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn bytes_that_are_no_utf8_are_a_problem_and_the_rest_is_read() {
    let place = Place::new("latin");
    let file = place.file(
        "l.cu",
        b"// caf\xe9\n__global__ void k(int* p) { p[threadIdx.x] = 1; }\n",
    );
    let report = json(&lockstep(&["analyze", &file]));
    assert_eq!(report["diagnostics"][0]["code"], "invalid-encoding");
    assert_eq!(report["items"][0]["name"], "k");
}

#[test]
fn check_formats_and_exit_codes() {
    let place = Place::new("check");
    let file = place.file("scale.cu", KERNEL);
    let plain = lockstep(&["check", &file]);
    assert_eq!(
        plain.status.code(),
        Some(0),
        "{}{}",
        text(&plain),
        errors(&plain)
    );
    assert!(
        text(&plain).contains("hint[include-not-found]"),
        "{}",
        text(&plain)
    );
    let as_json = json(&lockstep(&["check", &file, "--format", "json"]));
    assert_eq!(as_json["version"], 1);
    let sarif = json(&lockstep(&["check", &file, "--format", "sarif"]));
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["name"], "lockstep");
    assert!(
        sarif["runs"][0]["results"]
            .as_array()
            .is_some_and(|results| !results.is_empty())
    );
    let github = text(&lockstep(&["check", &file, "--format", "github"]));
    assert!(
        github.lines().all(|line| line.starts_with("::")),
        "{github}"
    );
    let broken = place.file("broken.cu", "__global__ void k( { int int; }\n");
    assert_eq!(lockstep(&["check", &broken]).status.code(), Some(1));
    assert_eq!(lockstep(&["check", &place.path("")]).status.code(), Some(1));
}

#[test]
fn denied_findings_silence_and_baseline() {
    let place = Place::new("deny");
    let file = place.file("scale.cu", KERNEL);
    let denied = ["check", &file, "--deny", "uncoalesced-access"];
    assert_eq!(
        lockstep(&denied).status.code(),
        Some(1),
        "{}",
        text(&lockstep(&denied))
    );
    let baseline = place.path("baseline.json");
    assert_eq!(
        lockstep(&["check", &file, "--write-baseline", &baseline])
            .status
            .code(),
        Some(0)
    );
    let accepted = lockstep(&[
        "check",
        &file,
        "--deny",
        "uncoalesced-access",
        "--baseline",
        &baseline,
    ]);
    assert_eq!(accepted.status.code(), Some(0), "{}", text(&accepted));
    // The same findings further down are still accepted.
    place.file("scale.cu", format!("\n\n{KERNEL}"));
    assert_eq!(
        lockstep(&[
            "check",
            &file,
            "--deny",
            "uncoalesced-access",
            "--baseline",
            &baseline
        ])
        .status
        .code(),
        Some(0)
    );
    let silent = KERNEL.replace(
        "        out[i] =",
        "        // lockstep: allow(uncoalesced-access)\n        out[i] =",
    );
    place.file(
        "scale.cu",
        format!("// lockstep: allow-file(divergent-loop)\n{silent}"),
    );
    assert_eq!(
        lockstep(&denied).status.code(),
        Some(0),
        "{}",
        text(&lockstep(&denied))
    );
    place.file("scale.cu", KERNEL);
    place.file(
        "lockstep.toml",
        "[diagnostics]\nuncoalesced-access = \"off\"\n",
    );
    assert_eq!(
        lockstep(&denied).status.code(),
        Some(0),
        "{}",
        text(&lockstep(&denied))
    );
    place.file(
        "lockstep.toml",
        "[diagnostics]\nuncoalesced-access = \"error\"\n",
    );
    assert_eq!(lockstep(&["check", &file]).status.code(), Some(1));
    place.file("lockstep.toml", "warp_size = [[[");
    let output = lockstep(&["check", &file]);
    assert!(
        errors(&output).contains("lockstep.toml:1:"),
        "{}",
        errors(&output)
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn actions_are_listed_and_applied() {
    let place = Place::new("actions");
    let file = place.file("scale.cu", KERNEL);
    let listed = json(&lockstep(&[
        "actions", &file, "--at", "6:20", "--format", "json",
    ]));
    let actions = listed["actions"].as_array().cloned().unwrap_or_default();
    let ids: Vec<&str> = actions
        .iter()
        .filter_map(|action| action["id"].as_str())
        .collect();
    assert!(ids.contains(&"allow-uncoalesced-access"), "{ids:?}");
    let refused = actions
        .iter()
        .find(|action| action["id"] == "baseline-uncoalesced-access");
    assert!(
        refused.is_some_and(|action| action["refused"].is_string()),
        "{listed}"
    );
    let changed = lockstep(&["apply", "allow-uncoalesced-access", &file, "--at", "6:20"]);
    assert!(
        text(&changed)
            .contains("        // lockstep: allow(uncoalesced-access)\n        out[i] = in[4 * i]"),
        "{}",
        text(&changed)
    );
    let diff = text(&lockstep(&[
        "apply",
        "allow-uncoalesced-access",
        &file,
        "--at",
        "6:20",
        "--diff",
    ]));
    assert!(
        diff.contains("+        // lockstep: allow(uncoalesced-access)"),
        "{diff}"
    );
    assert_eq!(
        lockstep(&[
            "apply",
            "allow-uncoalesced-access",
            &file,
            "--at",
            "6:20",
            "--write"
        ])
        .status
        .code(),
        Some(0)
    );
    assert_eq!(
        lockstep(&["check", &file, "--deny", "uncoalesced-access"])
            .status
            .code(),
        Some(0)
    );
    assert_eq!(
        lockstep(&["apply", "nonsense", &file, "--at", "6:20"])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(
        lockstep(&["apply", "baseline-bank-conflict", &file, "--at", "6"])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(
        lockstep(&["actions", &file, "--at", "999:1"]).status.code(),
        Some(2)
    );
}

#[test]
fn annotate_shows_every_line_and_what_is_known() {
    let place = Place::new("annotate");
    let file = place.file("scale.cu", KERNEL);
    let shown = text(&lockstep(&["annotate", &file]));
    for line in KERNEL.lines() {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let line = |wanted: &str| {
        shown
            .lines()
            .find(|line| line.contains(wanted))
            .unwrap_or("")
            .to_owned()
    };
    assert!(
        line("int i =").contains("i = ") && line("int i =").contains("tid.x"),
        "{shown}"
    );
    assert!(line("if (i < n)").contains("divergent branch"), "{shown}");
    assert!(line("in[4 * i]").contains("stride 16 B"), "{shown}");
    assert!(
        !shown.contains('\u{1b}'),
        "no colours where there is no terminal"
    );
}

#[test]
fn run_executes_a_function() {
    let place = Place::new("run");
    let file = place.file("double.cu", "__global__ void twice(int* p, int n) { int i = threadIdx.x; if (i < n) p[i] = 2 * p[i]; }\n");
    let output = lockstep(&[
        "run",
        &file,
        "--item",
        "twice",
        "--lanes",
        "4",
        "--arg",
        "p=i32:1,2,3,4",
        "--arg",
        "n=3",
    ]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        text(&output),
        errors(&output)
    );
    assert!(text(&output).contains("2 4 6 4"), "{}", text(&output));
    let beyond = lockstep(&[
        "run",
        &file,
        "--item",
        "twice",
        "--lanes",
        "8",
        "--arg",
        "p=i32:1,2,3,4",
        "--arg",
        "n=8",
    ]);
    assert_eq!(beyond.status.code(), Some(1), "{}", text(&beyond));
    assert!(text(&beyond).contains("double.cu:1:"), "{}", text(&beyond));
    assert_eq!(
        lockstep(&["run", &file, "--item", "nothing"]).status.code(),
        Some(2)
    );
}

#[test]
fn dump_explain_and_version() {
    let place = Place::new("dump");
    let file = place.file("scale.cu", KERNEL);
    for what in ["parse", "ir", "facts"] {
        let output = lockstep(&["dump", what, &file]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output).contains("scale"), "{what}: {}", text(&output));
    }
    assert!(text(&lockstep(&["explain", "bank-conflict"])).contains("## How to silence"));
    assert_eq!(text(&lockstep(&["explain"])).lines().count(), 14);
    assert!(text(&lockstep(&["--version"])).contains(env!("CARGO_PKG_VERSION")));
    assert!(Path::new(env!("CARGO_BIN_EXE_lockstep")).is_file());
}
