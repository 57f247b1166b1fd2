//! `lockstep report`: the page of a file, its data read back from the HTML.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use lockstep_server::db::{Database, Source};
use lockstep_server::profile::make::Inputs;
use lockstep_server::views::page;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    root.join(name).display().to_string()
}

fn html_of(file: &str, more: &[&str]) -> String {
    let mut arguments = vec!["report", file, "--no-config"];
    arguments.extend(more);
    let output = lockstep(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    text(&output)
}

/// Returns the data that the page's script reads.
fn data(html: &str) -> Value {
    let (_, rest) = html
        .split_once("<script type=\"application/json\" id=\"data\">")
        .expect("the data");
    let (data, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(data).expect("JSON")
}

fn page_of(file: &str, more: &[&str]) -> Value {
    data(&html_of(file, more))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn function<'p>(page: &'p Value, name: &str) -> &'p Value {
    let mut all = list(&page["functions"]).iter();
    all.find(|it| it["name"] == name)
        .unwrap_or_else(|| panic!("no function {name}"))
}

#[test]
fn numbers_are_those_of_analyze() {
    for name in [
        "cuda/transpose.cu",
        "cuda/hazards.cu",
        "hlsl/tiled_light_culling.hlsl",
        "ptx/strided_rows.ptx",
    ] {
        let file = fixture(name);
        let page = page_of(&file, &[]);
        let report = json(&lockstep(&["analyze", &file, "--no-config"]));
        let items = list(&report["items"]);
        assert_eq!(list(&page["functions"]).len(), items.len(), "{name}");
        for (shown, item) in list(&page["functions"]).iter().zip(items) {
            for key in ["name", "kind", "line", "assumptions"] {
                assert_eq!(shown[key], item[key], "{name} {key}");
            }
            let (costs, wanted) = (&shown["costs"], &item["costs"]);
            for key in ["cycles", "limited_by", "machine"] {
                assert_eq!(costs[key], wanted[key], "{name} {key}");
            }
            let lines: Vec<Value> = match wanted["lines"].as_array() {
                Some(lines) => (lines.iter())
                    .map(|it| serde_json::json!([it["line"], it["cycles"]]))
                    .collect(),
                None => Vec::new(),
            };
            assert_eq!(
                costs["lines"].as_array().unwrap_or(&Vec::new()),
                &lines,
                "{name}"
            );
        }
        let told = |all: &Value| -> Vec<(Value, Value, Value)> {
            let kept = list(all).iter().filter(|it| it["code"] != "assumption");
            kept.map(|it| {
                (
                    it["code"].clone(),
                    it["line"].clone(),
                    it["message"].clone(),
                )
            })
            .collect()
        };
        assert_eq!(
            told(&page["findings"]),
            told(&report["diagnostics"]),
            "{name}"
        );
        for (code, ..) in told(&page["findings"]) {
            let code = code.as_str().expect("a code");
            assert!(page["explained"][code].is_string(), "{name}: {code}");
        }
    }
}

#[test]
fn every_number_of_a_head_is_labelled() {
    let page = page_of(&fixture("cuda/transpose.cu"), &[]);
    let figures = list(&function(&page, "transposeConflicts")["figures"]);
    let figure = |label: &str| {
        let mut all = figures.iter();
        all.find(|it| it["label"] == label).expect("a figure")
    };
    assert_eq!(figure("shared memory")["value"], "4096 B");
    assert_eq!(figure("shared memory")["worth"], "fact");
    assert_eq!(figure("cycles a warp")["worth"], "estimate");
    assert_eq!(figure("cycles a warp")["target"], "sm_80");
    assert!(
        figure("occupancy")["note"]
            .as_str()
            .expect("a note")
            .contains("64 warps")
    );
}

#[test]
fn lanes_are_shown_against_sectors_and_banks() {
    let page = page_of(&fixture("cuda/transpose.cu"), &[]);
    let access = |name: &str, kind: &str| {
        let all = list(&function(&page, name)["accesses"]);
        let found = all
            .iter()
            .find(|it| it["kind"] == kind && it["wasteful"] == true);
        found
            .unwrap_or_else(|| panic!("no {kind} of {name}"))
            .clone()
    };
    let store = access("transposeNaive", "store");
    assert_eq!(store["picture"]["unit"], "sectors");
    assert_eq!(store["picture"]["from"], "run");
    assert_eq!(store["picture"]["count"], 32);
    assert_eq!(store["picture"]["ideal"], 4);
    let load = access("transposeConflicts", "load");
    assert_eq!(load["picture"]["unit"], "banks");
    assert_eq!(load["picture"]["count"], 32);
    assert_eq!(load["bound"], 32);
    let padded = list(&function(&page, "transposePadded")["accesses"]);
    assert!(
        padded.iter().all(|it| it["wasteful"] == false),
        "{padded:?}"
    );
    // A function that nobody launches: by the distance between lanes, or with a reason.
    for each in list(&function(&page, "transposeTile")["accesses"]) {
        let picture = &each["picture"];
        assert!(
            each["missing"].is_string() || picture["from"] == "stride",
            "{each}"
        );
    }
}

#[test]
fn lanes_leave_a_loop_one_after_the_other() {
    let page = page_of(&fixture("cuda/column_sums.cu"), &["--item", "sumTriangle"]);
    assert_eq!(list(&page["functions"]).len(), 1);
    let shown = function(&page, "sumTriangle");
    let mut all = list(&shown["activity"]).iter();
    let loops = all.find(|it| it["kind"] == "loop").expect("the loop");
    let rows = list(&loops["rows"]);
    assert_eq!(rows[0][0], "1".repeat(32));
    for (number, row) in rows.iter().enumerate().skip(1).take(31) {
        let gone = ".".repeat(number - 1);
        assert_eq!(
            row[0],
            format!("{gone}0{}", "1".repeat(32 - number)),
            "row {number}"
        );
    }
    assert!(loops["divided"].as_u64().expect("a number") >= 31);
    let run = &shown["run"];
    assert_eq!(run["seed"], 1);
    assert!(
        list(&run["random"]).iter().any(|it| it == "m (normal f32)"),
        "{run}"
    );
    assert!(run["inputs"].as_str().expect("text").contains("--describe"));
}

#[test]
fn described_inputs_are_taken_and_told() {
    let place = Place::new("report-inputs");
    let file = place.file(
        "k.cu",
        "__global__ void k(float* x, int n) {\n  for (int i = threadIdx.x; i < n; i += 8) x[i] += 1.0f;\n}\n",
    );
    place.file(
        "k.inputs.toml",
        "[launch]\nthreads = [8]\nblock = [8, 1, 1]\nseed = 7\n[values]\nn = 20\n",
    );
    let page = page_of(&file, &[]);
    let run = &function(&page, "k")["run"];
    assert_eq!(run["seed"], 7);
    assert_eq!(run["given"], serde_json::json!(["n = 20"]));
    assert_eq!(run["inputs"], "as `k.inputs.toml` describes them");
    assert_eq!(run["random"], serde_json::json!(["x"]));
    let rows = list(&function(&page, "k")["activity"][0]["rows"]);
    // 20 elements by 8 lanes: half of them in the last round.
    let shown: Vec<&str> = rows.iter().filter_map(|row| row[0].as_str()).collect();
    assert!(
        shown.iter().any(|row| row.starts_with("11110000")),
        "{shown:?}"
    );
}

#[test]
fn why_there_is_no_run_is_told() {
    let place = Place::new("report-nothing");
    let header = place.file(
        "h.cuh",
        "__device__ float twice(const float* x, int i) { return 2.0f * x[i]; }\n",
    );
    let page = page_of(&header, &[]);
    assert!(page["nothing"].as_str().expect("why").contains("no kernel"));
    let file = place.file(
        "host.cu",
        "struct Size { int width; };\nint area(Size s);\n",
    );
    let output = lockstep(&["report", &file, "--no-config"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        errors(&output).contains("No function"),
        "{}",
        errors(&output)
    );
    let page = data(&text(&output));
    assert!(page["nothing"].is_string());
    assert_eq!(list(&page["lines"]).len(), 2);
    let beyond = place.file(
        "beyond.cu",
        "__global__ void beyond(float* x, const int* y) { x[y[threadIdx.x] * 100000000] = 1.0f; }\n",
    );
    let page = page_of(&beyond, &[]);
    let run = &function(&page, "beyond")["run"];
    assert!(
        run["ended"].as_str().expect("why").contains("byte"),
        "{run}"
    );
    assert_eq!(run["ended_line"], 1);
}

#[test]
fn text_of_others_is_never_html() {
    let place = Place::new("report-hostile");
    let hostile = "</script><img src=x onerror=\"alert(1)\"><!-- <script>alert(2)</script> {{script}} {{data}} \u{2028} end";
    let file = place.file(
        "a&b<i>.cu",
        format!(
            "// {hostile}\n__global__ void k(float* x) {{\n  x[threadIdx.x * 32] = 1.0f; // lockstep: {hostile}\n  x[\"{hostile}\"[0]] = 2.0f;\n}}\n"
        ),
    );
    let html = html_of(&file, &[]);
    let lower = html.to_lowercase();
    assert_eq!(
        lower.matches("<script").count(),
        2,
        "the data and the script"
    );
    assert_eq!(lower.matches("</script").count(), 2);
    for tag in ["<img", "<i>", "<!-- "] {
        assert!(!lower.contains(tag), "{tag}");
    }
    assert!(html.contains("script-src 'nonce-"));
    let page = data(&html);
    assert_eq!(page["file"], "a&b<i>.cu");
    assert_eq!(page["lines"][0]["t"], format!("// {hostile}"));
    assert!(!list(&page["findings"]).is_empty());
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = html_of(&fixture("hlsl/height_fog.hlsl"), &[]);
    let (_, rest) = html.split_once("<body>").expect("a body");
    assert!(html.contains("default-src 'none'"));
    for word in [
        "src=",
        "url(",
        "@import",
        "<link",
        "fetch(",
        "innerHTML",
        "insertAdjacentHTML",
        "eval(",
    ] {
        let found = html.match_indices(word).count();
        // The data may name them; the frame, the style and the script do not.
        let named = rest
            .split_once("</script>")
            .map_or(0, |(data, _)| data.matches(word).count());
        assert_eq!(found, named, "{word}");
    }
}

#[test]
fn equal_inputs_give_equal_pages_to_a_file_and_to_the_output() {
    let place = Place::new("report-equal");
    let file = fixture("cuda/shared_races.cu");
    let (first, second) = (html_of(&file, &[]), html_of(&file, &[]));
    assert_eq!(first, second);
    let out = place.path("page.html");
    let output = lockstep(&["report", &file, "--no-config", "-o", &out]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).is_empty());
    assert_eq!(std::fs::read_to_string(&out).expect("written"), first);
    let output = lockstep(&["report", &file, "--no-config", "--item", "absent"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("there is no function `absent`"));
}

#[test]
fn a_page_is_a_function_of_the_database() {
    let mut db = Database::default();
    let source = "__global__ void k(float* x) { x[threadIdx.x] = 1.0f; }\n";
    let file = db.file_with_text(
        Path::new("/nowhere/k.cu"),
        Source::Text {
            text: Arc::from(source),
            lossy: false,
        },
    );
    let html = page::page(&db, file, Some("k"), &Inputs::default(), &());
    assert_eq!(data(&html)["functions"][0]["name"], "k");
    assert!(!html.contains("/nowhere"));
}

#[test]
fn loops_of_c_have_their_schedule() {
    let file = fixture("c/dot_product.c");
    let page = page_of(&file, &[]);
    let loops = json(&lockstep(&[
        "loops",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let (shown, wanted) = (&function(&page, "dot")["loops"][0], &loops["loops"][0]);
    for key in ["ii", "rec_mii", "stages", "line", "unpipelined"] {
        assert_eq!(shown[key], wanted[key], "{key}");
    }
    let schedule = &shown["schedule"];
    assert_eq!(schedule["interval"], wanted["ii"]);
    let operations = list(&schedule["operations"]);
    let sum = operations
        .iter()
        .find(|operation| operation["mnemonic"] == "fma.d")
        .expect("the sum");
    assert_eq!(
        (&sum["slot"], &sum["stage"], &sum["critical"]),
        (&"F".into(), &1.into(), &true.into())
    );
    assert_eq!(
        operations
            .iter()
            .filter(|operation| operation["critical"] == true)
            .count(),
        1
    );
    assert!(
        function(&page, "dot")["code"]["text"]
            .as_str()
            .expect("code")
            .contains("br.ctop")
    );
}

#[test]
fn kernels_of_all_pipelined_loops_are_found() {
    let folder = fixture("c/loops");
    let mut all = 0;
    for entry in std::fs::read_dir(&folder).expect("fixtures") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let page = page_of(&path.display().to_string(), &[]);
        for each in list(&page["functions"])
            .iter()
            .flat_map(|it| it["loops"].as_array())
            .flatten()
        {
            if each["pipelined"] == true {
                assert!(each["schedule"].is_object(), "{} {each}", path.display());
                all += 1;
            }
        }
    }
    assert!(all > 50, "{all}");
}

#[test]
fn a_profile_gives_zeros_and_frequent_values() {
    let place = Place::new("report-profile");
    for name in ["lit_surface.hlsl", "lit_surface.toml"] {
        let content = std::fs::read(fixture(&format!("profiles/{name}"))).expect("a fixture");
        place.file(name, content);
    }
    let file = place.path("lit_surface.hlsl");
    assert_eq!(
        lockstep(&["profile", &file, "--no-config"]).status.code(),
        Some(0)
    );
    let page = page_of(&file, &[]);
    let values = &function(&page, "LitSurfacePS")["values"];
    let mut rows = list(&values["rows"]).iter();
    let shadow = rows.find(|row| row["name"] == "shadow").expect("`shadow`");
    let zeros = shadow["zeros"].as_f64().expect("a share");
    assert!((0.3..0.7).contains(&zeros), "{zeros}");
    assert_eq!(shadow["top"][0][0], "0");
}

#[test]
fn a_file_of_ten_thousand_lines_gives_a_page_of_bounded_size() {
    let place = Place::new("report-large");
    let mut source = String::new();
    let mut number = 0;
    while source.lines().count() < 10_000 {
        for _ in 0..20 {
            number += 1;
            source += &format!(
                "__global__ void kernel{number}(float* out, const float* in, int n, int pitch) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  float sum = 0.0f;\n  for (int j = 0; j < i; ++j) {{\n    sum += in[j * pitch + i];\n  }}\n  if (in[i] > 0.5f) {{\n    out[i * 4] = sum * in[i];\n  }} else {{\n    out[i * 4 + 1] = sum;\n  }}\n}}\n"
            );
        }
    }
    let file = place.file("large.cu", &source);
    let start = Instant::now();
    let html = html_of(&file, &[]);
    let taken = start.elapsed();
    assert!(html.len() < 5_000_000, "{} bytes", html.len());
    // Unoptimised code takes longer.
    if !cfg!(debug_assertions) {
        assert!(taken < Duration::from_secs(5), "{taken:?}");
    }
    let page = data(&html);
    assert_eq!(list(&page["functions"]).len(), number);
    assert!(!list(&page["notes"]).is_empty(), "what is left out is told");
}

/// The panel of registers has the output of `lockstep registers`: the kernel's number, its budget, lines and
/// variables.
#[test]
fn the_panel_of_registers_is_that_of_the_command() {
    let file = fixture("cuda/register_budgets.cu");
    let page = page_of(&file, &[]);
    let report = json(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    for kernel in list(&report["kernels"]) {
        let name = kernel["name"].as_str().expect("a name");
        let shown = &function(&page, name)["pressure"];
        assert_eq!(shown["registers"], kernel["registers"], "{name}");
        assert_eq!(shown["live"], kernel["live"], "{name}");
        let budget = shown["budget"].as_str().unwrap_or("");
        let wanted = format!("budget {}", kernel["budget"]);
        assert!(budget.starts_with(&wanted), "{name}: {budget}");
        for row in list(&shown["lines"]) {
            let wanted = |value: &&Value| value["line"] == row[0] && value["live"] == row[1];
            assert!(
                list(&kernel["lines"]).iter().any(|it| wanted(&it)),
                "{name}: {row}"
            );
        }
        let all = list(&kernel["peak"]["variables"]);
        for (row, each) in list(&shown["variables"]).iter().zip(all) {
            assert_eq!(
                (&row[0], &row[1]),
                (&each["name"], &each["registers"]),
                "{name}"
            );
        }
        assert!(!list(&shown["lines"]).is_empty() && !list(&shown["variables"]).is_empty());
    }
    let device = page_of(&fixture("cuda/transpose.cu"), &[]);
    let plain = list(&device["functions"])
        .iter()
        .filter(|it| it["entry"] == false);
    assert!(plain.into_iter().all(|it| it["pressure"].is_null()));
}
