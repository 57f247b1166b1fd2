//! Costs as they are shown: of the fixtures' lines, loops and functions, by the machine that is configured, and tables of
//! machines from the command line.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use lockstep_server::config::{CostHints, HintConfig};
use lockstep_server::db::{Database, Source};
use lockstep_server::views;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use syntax::{LineIndex, Span};

fn analysed(file: &str, more: &[&str]) -> Value {
    let mut arguments = vec!["analyze", file, "--no-config"];
    arguments.extend(more);
    json(&lockstep(&arguments))
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// What is known of a file, a line each, beside the text of the line.
fn listing(path: &std::path::Path) -> String {
    let source = std::fs::read_to_string(path).expect("a fixture");
    let report = analysed(&path.display().to_string(), &[]);
    let mut out = String::new();
    for item in report["items"].as_array().expect("items") {
        let costs = &item["costs"];
        let cost = |of: &Value| {
            format!(
                "{} cycles, {} slots, {}",
                number(&of["cycles"]),
                number(&of["issue_slots"]),
                of["limited_by"].as_str().unwrap_or("")
            )
        };
        writeln!(
            out,
            "{} {}: {} ({}, {}), registers {}",
            item["kind"].as_str().unwrap_or(""),
            item["name"].as_str().unwrap_or(""),
            cost(costs),
            costs["label"].as_str().unwrap_or(""),
            costs["machine"].as_str().unwrap_or(""),
            costs["registers"]
        )
        .expect("text");
        if !costs["occupancy"].is_null() {
            writeln!(out, "  occupancy {}", costs["occupancy"]).expect("text");
        }
        for one in costs["loops"].as_array().expect("loops") {
            writeln!(
                out,
                "  loop in line {}: {} × {} ({}): {}",
                one["line"],
                number(&one["iterations"]),
                number(&one["iteration_cycles"]),
                one["iterations_from"].as_str().unwrap_or(""),
                cost(one)
            )
            .expect("text");
        }
        for one in costs["calls"].as_array().expect("calls") {
            let callee = one["callee"].as_str().unwrap_or("");
            writeln!(
                out,
                "  call of {callee} in line {}: {}",
                one["line"],
                cost(one)
            )
            .expect("text");
        }
        for one in costs["lines"].as_array().expect("lines") {
            let line = one["line"].as_u64().unwrap_or(0) as usize;
            let code = source.lines().nth(line - 1).unwrap_or("").trim();
            writeln!(out, "  {line:>3} {code}\n      {}", cost(one)).expect("text");
        }
    }
    out
}

#[test]
fn costs_of_fixtures_are_as_written() {
    let files = fixtures::files("costs", &["cu", "hlsl", "ptx"]);
    assert!(files.len() >= 4);
    for path in files {
        let expected = path.with_extension("expected");
        if let Err(message) = fixtures::expect_file(expected, &listing(&path)) {
            panic!("{message}");
        }
    }
}

const DOUBLES: &str = "__global__ void __launch_bounds__(128) k(double* out, double x) {
  out[threadIdx.x] = x * threadIdx.x;
}
";

#[test]
fn the_machine_is_the_named_one_or_the_users_file() {
    let place = Place::new("machines");
    let file = place.file("k.cu", DOUBLES);
    let double = |more: &[&str]| {
        let report = analysed(&file, more);
        let costs = &report["items"][0]["costs"];
        (
            costs["machine"].as_str().unwrap_or("").to_owned(),
            costs["busy"]["f64 pipe"].as_f64().unwrap_or(0.0),
        )
    };
    // The conversion and the product: 8 and 4 cycles with 16 and 32 results a clk, 64 each with 2.
    assert_eq!(double(&[]), ("sm_80".into(), 12.0));
    assert_eq!(double(&["--target", "sm_86"]), ("sm_86".into(), 128.0));
    assert_eq!(double(&["--machine", "sm_90"]), ("sm_90".into(), 10.0));
    let table = place.file(
        "card.machine.toml",
        "kind = \"gpu\"\nname = \"card\"\nbase = \"sm_86\"\n[throughput]\ndouble = 4\n",
    );
    assert_eq!(double(&["--machine", &table]), ("card".into(), 96.0));
    place.file("lockstep.toml", "machine_file = \"card.machine.toml\"\n");
    let configured = json(&lockstep(&["analyze", &file]));
    assert_eq!(configured["items"][0]["costs"]["machine"], "card");
    let out = lockstep(&["analyze", &file, "--machine", "voodoo"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(errors(&out).contains("machine list"), "{}", errors(&out));
}

#[test]
fn mistakes_in_a_users_table_are_told_with_their_place_and_end_nothing() {
    let place = Place::new("machine-mistakes");
    let file = place.file("k.cu", DOUBLES);
    place.file(
        "bad.machine.toml",
        "kind = \"gpu\"\nbase = \"sm_80\"\n[throughput]\nfloat = -4\n",
    );
    place.file("lockstep.toml", "machine_file = \"bad.machine.toml\"\n");
    let out = lockstep(&["analyze", &file]);
    assert!(out.status.success());
    assert!(
        errors(&out).contains("bad.machine.toml:4:9: "),
        "{}",
        errors(&out)
    );
    place.file("lockstep.toml", "machine_file = \"missing.toml\"\n");
    let out = lockstep(&["analyze", &file]);
    assert!(out.status.success());
    assert!(errors(&out).contains("no such file"), "{}", errors(&out));
    assert_eq!(json(&out)["items"][0]["costs"]["machine"], "sm_80");
    place.file(
        "lockstep.toml",
        "machine = \"sm_5\"\n[hints]\ncosts = \"warm\"\n",
    );
    let out = lockstep(&["analyze", &file]);
    let said = errors(&out);
    assert!(
        said.contains("lockstep.toml:1:1: ") && said.contains("`sm_5`"),
        "{said}"
    );
    assert!(said.contains("off, hot or all"), "{said}");
}

#[test]
fn tables_are_printed_with_their_sources() {
    let listed = text(&lockstep(&["machine", "list"]));
    for name in [
        "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "rdna3", "cdna3",
    ] {
        assert!(
            listed.lines().any(|line| line.starts_with(name)),
            "{listed}"
        );
    }
    let shown = text(&lockstep(&["machine", "show", "sm_86"]));
    let row = |name: &str| {
        let found = shown
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("{shown}")).to_owned()
    };
    assert!(row("warps ").contains("48") && row("warps ").contains("fact"));
    assert!(row("multiply ").contains("estimate") && row("multiply ").contains("of sm_80"));
    let table = json(&lockstep(&[
        "machine", "show", "gfx1100", "--format", "json",
    ]));
    assert_eq!(table["name"], "rdna3");
    let unit = &table["values"]["registers"]["unit"];
    assert_eq!(
        (unit["value"].as_f64(), &unit["is"]),
        (Some(768.0), &Value::from("fact"))
    );
    assert!(table["sources"]["LLVM"].is_string());
    assert_eq!(
        lockstep(&["machine", "show", "nothing"]).status.code(),
        Some(2)
    );
}

#[test]
fn annotated_lines_have_their_share() {
    let place = Place::new("annotated-costs");
    let file = place.file("k.cu", DOUBLES);
    let plain = text(&lockstep(&["annotate", &file, "--no-config"]));
    assert!(!plain.contains("cycles"), "{plain}");
    let costs = text(&lockstep(&["annotate", &file, "--no-config", "--costs"]));
    assert!(costs.contains("100 %"), "{costs}");
    assert!(
        costs.contains("(estimate, sm_80)") && costs.contains("occupancy 100 %"),
        "{costs}"
    );
}

#[test]
fn a_profile_beside_the_file_says_how_often_loops_run() {
    let place = Place::new("profiled-costs");
    let file = place.file(
        "walk.cu",
        "__global__ void walk(float* out, const float* in, int n) {
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += in[k] * in[k];
  out[threadIdx.x] = sum;
}
",
    );
    let inputs = place.file(
        "walk.toml",
        "[launch]\nthreads = [64]\nblock = [32]\n[values]\nn = 20\n[buffers.out]\ncount = 64\n[buffers.in]\ncount = 64\n",
    );
    let iterations = || {
        let report = json(&lockstep(&["analyze", &file]));
        let one = &report["items"][0]["costs"]["loops"][0];
        (
            one["iterations"].as_f64().unwrap_or(0.0),
            one["iterations_from"].as_str().unwrap_or("").to_owned(),
        )
    };
    assert_eq!(iterations(), (8.0, "heuristic".into()));
    let out = lockstep(&["profile", &file, "--inputs", &inputs]);
    assert!(out.status.success(), "{}", errors(&out));
    assert_eq!(iterations(), (20.0, "profile".into()));
}

/// Hints of a text under a setting, with the line that each stands on.
fn hints(source: &str, costs: CostHints) -> Vec<(u32, String)> {
    let mut db = Database::default();
    let text = Source::Text {
        text: Arc::from(source),
        lossy: false,
    };
    let file = db.file_with_text(Path::new("/project/k.cu"), text);
    let switches = HintConfig {
        costs,
        ..HintConfig::default()
    };
    let lines = LineIndex::new(source);
    let all = views::hints::hints(&db, file, Span::new(0, u32::MAX), &switches);
    all.into_iter()
        .filter(|hint| hint.category == views::hints::Category::Cost)
        .map(|hint| (lines.line_column(hint.offset).0 + 1, hint.label))
        .collect()
}

const WALK: &str = "__device__ float halved(float x) { return 0.5f * x; }
__global__ void walk(float* out, const float* in, float by) {
  float sum = by + 1.0f;
  for (int k = 0; k < 32; ++k) {
    sum += in[k * 1024 + threadIdx.x]; // what it is about
  }
  out[threadIdx.x] = halved(sum);
}
";

#[test]
fn hot_lines_are_few_and_all_lines_can_be_had() {
    assert_eq!(hints(WALK, CostHints::Off), []);
    let hot = hints(WALK, CostHints::Hot);
    let lines: Vec<u32> = hot.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [4, 5], "{hot:?}");
    assert!(
        hot[0].1.starts_with('~') && hot[0].1.contains("cycles: 32 × "),
        "{hot:?}"
    );
    assert!(
        hot[0].1.ends_with("(sm_80)") && hot[1].1.contains(" %"),
        "{hot:?}"
    );
    let all = hints(WALK, CostHints::All);
    let lines: Vec<u32> = all.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 3, 4, 5, 7], "{all:?}");
}

#[test]
fn hovers_and_the_lens_say_what_is_estimated_and_for_what() {
    let mut db = Database::default();
    let text = Source::Text {
        text: Arc::from(WALK),
        lossy: false,
    };
    let file = db.file_with_text(Path::new("/project/k.cu"), text);
    let hover = |what: &str| {
        let at = WALK.find(what).expect("in the text") as u32;
        views::hover::hover(&db, file, at).map_or_else(String::new, |hover| hover.markdown)
    };
    let kernel = hover("walk(");
    assert!(
        kernel.contains("cycles a warp") && kernel.contains("(estimate, sm_80)"),
        "{kernel}"
    );
    assert!(kernel.contains("occupancy 100 %"), "{kernel}");
    assert!(kernel.contains("as nothing tells their size"), "{kernel}");
    let head = hover("for (int k");
    assert!(head.contains("loop: 32 iterations (fact)"), "{head}");
    let call = hover("halved(sum)");
    assert!(call.contains("call of `halved`, inlined"), "{call}");
    let lens = views::lens::lenses(&db, file);
    let costs = lens[0].costs.clone().unwrap_or_default();
    assert!(
        costs.contains("cycles a warp") && costs.contains("occupancy"),
        "{costs}"
    );
}
