//! The command line: its output, its exit codes, and its behaviour on input that can't be used.

#[path = "support/command.rs"]
mod command;

use command::{KERNEL, Place, errors, json, lockstep, text};
use serde_json::Value;
use std::path::Path;

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
        .and_then(|all| all.iter().find(|it| it["kind"] == "load").cloned())
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
        .map(|it| it["code"].clone())
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
    let plain = lockstep(&["check", &file, "--notes"]);
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
    // A guard that loses nothing, and a uniform parameter, say nothing unless they are asked for.
    assert!(!line("if (i < n)").contains("divergent branch"), "{shown}");
    assert!(!line("void scale(").contains("n uniform"), "{shown}");
    let all = text(&lockstep(&["annotate", "--all", &file]));
    assert!(
        all.contains("divergent branch, one side only") && all.contains("n uniform"),
        "{all}"
    );
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
    for what in ["parse", "ir", "gates", "facts"] {
        let output = lockstep(&["dump", what, &file]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output).contains("scale"), "{what}: {}", text(&output));
    }
    assert!(text(&lockstep(&["explain", "bank-conflict"])).contains("## How to silence"));
    assert_eq!(text(&lockstep(&["explain"])).lines().count(), 46);
    assert!(text(&lockstep(&["--version"])).contains(env!("CARGO_PKG_VERSION")));
    assert!(Path::new(env!("CARGO_BIN_EXE_lockstep")).is_file());
}

fn item<'a>(report: &'a Value, name: &str) -> &'a Value {
    let items = report["items"].as_array().expect("items");
    items
        .iter()
        .find(|item| item["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {report}"))
}

fn row<'a>(item: &'a Value, list: &str, name: &str) -> &'a Value {
    let rows = item[list].as_array().expect("rows");
    rows.iter()
        .find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {item}"))
}

const SHADER: &str = "Texture2D<float4> albedo[64] : register(t0);\nSamplerState s : register(s0);\nstruct Input { float2 uv : TEXCOORD0; nointerpolation uint material : MATERIAL; };\n\
float4 shade(Input input) : COLOR0 {\n    return albedo[input.material].Sample(s, input.uv);\n}\n\
float helper(float x) { return x * 2; }\n";

#[test]
fn entry_points_are_named_on_the_command_line_and_in_the_configuration() {
    let place = Place::new("entries");
    let file = place.file("shade.hlsl", SHADER);
    let kind = |arguments: &[&str]| {
        let report = json(&lockstep(
            &[&["analyze", &file, "--format", "json"], arguments].concat(),
        ));
        let kind = |name| {
            item(&report, name)["kind"]
                .as_str()
                .unwrap_or("")
                .to_owned()
        };
        (kind("shade"), kind("helper"))
    };
    assert_eq!(kind(&["--entry", "shade=pixel"]).0, "pixel");
    assert_eq!(kind(&["--entry", "sha*=pixel"]).0, "pixel");
    // A pattern does not make an entry point of a function whose parameter no stage fills.
    assert_eq!(
        kind(&["--entry", "*=vertex"]),
        ("vertex".into(), "device".into())
    );
    let wrong = lockstep(&["analyze", &file, "--entry", "shade=plumbing"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        errors(&wrong).contains("`plumbing` is no stage"),
        "{}",
        errors(&wrong)
    );
    place.file(
        "lockstep.toml",
        "entry_points = { \"sh*de\" = \"pixel\" }\n",
    );
    assert_eq!(kind(&[]), ("pixel".into(), "device".into()));
    let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
    let codes: Vec<&str> = report["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["code"].as_str())
        .collect();
    assert!(codes.contains(&"nonuniform-resource-index"), "{codes:?}");
}

const TEMPLATE: &str = "template <typename T, int WIDTH>\n__global__ void rows(T* out) {\n    \
    int step = WIDTH;\n    out[threadIdx.x * WIDTH] = T(0);\n}\n\
template <int WIDTH> struct Tile {\n    __device__ void fill(int* p) { int pitch = 4 * WIDTH; p[threadIdx.x * pitch] = 0; }\n};\n";

#[test]
fn an_option_gives_template_parameters_their_values_and_types() {
    let place = Place::new("templates");
    let file = place.file("rows.cu", TEMPLATE);
    let report = |arguments: &[&str]| {
        let report = lockstep(&[&["analyze", &file, "--format", "json"], arguments].concat());
        json(&report)
    };
    let open = report(&[]);
    let access = row(item(&open, "rows"), "accesses", "out").clone();
    assert_eq!(access["stride"], "4*WIDTH", "{access}");
    assert_eq!(access["stride_bytes"], Value::Null);
    let given = report(&["-D", "WIDTH=3", "-D", "T=double"]);
    let access = row(item(&given, "rows"), "accesses", "out").clone();
    assert_eq!(
        (access["stride_bytes"].as_i64(), access["bytes"].as_i64()),
        (Some(24), Some(8))
    );
    assert_eq!(row(item(&given, "rows"), "values", "step")["form"], "3");
    assert_eq!(item(&given, "rows")["assumptions"], serde_json::json!([]));
    assert_eq!(row(item(&given, "fill"), "values", "pitch")["form"], "12");
    place.file("lockstep.toml", "defines = { WIDTH = 5 }\n");
    let configured = report(&[]);
    let access = row(item(&configured, "rows"), "accesses", "out").clone();
    assert_eq!(access["stride_bytes"].as_i64(), Some(20), "{access}");
}

const LAUNCHED: &str = r#"
template <typename T, int N> __global__ void tile(T* out, const T* in, int pitch) {
    int column = threadIdx.x;
    int row = threadIdx.y;
    out[column * N] = in[row * pitch + column];
}
__global__ void line(float* p) {
    int y = threadIdx.y;
    p[threadIdx.x + 2 * y] = 0;
}
__global__ void several(float* p) {
    int y = threadIdx.y;
    p[y] = 0;
}
constexpr int SIDE = 16;
void run(double* a, double* b, float* f, int threads) {
    const int rows = SIDE / 2;
    dim3 block(2 * SIDE, rows), grid(10);
    tile<double, 2><<<grid, block>>>(a, b, 7);
    tile<double, 2><<<dim3(5), dim3(32, 8, 1)>>>(b, a, 7);
    line<<<10, threads>>>(f);
    int changes = 32;
    changes *= 2;
    several<<<10, dim3(32, changes)>>>(f);
}
"#;

#[test]
fn what_all_launches_in_sight_agree_on_is_assumed_and_named() {
    let place = Place::new("launches");
    let file = place.file("launched.cu", LAUNCHED);
    let run = |arguments: &[&str]| {
        json(&lockstep(
            &[&["analyze", &file, "--format", "json"], arguments].concat(),
        ))
    };
    let report = run(&[]);
    let tile = item(&report, "tile");
    assert_eq!(
        tile["assumptions"],
        serde_json::json!([
            "blocks of 32 × 8 × 1 threads and `T` = `double` and `N` = `2`, as in all launches in sight"
        ])
    );
    assert_eq!(row(tile, "values", "row")["class"], "uniform");
    assert_eq!(row(tile, "values", "row")["assumed"], true);
    let store = row(tile, "accesses", "out");
    assert_eq!(
        (store["stride_bytes"].as_i64(), store["assumed"].as_bool()),
        (Some(16), Some(true))
    );
    // A launch with an integer is of one dimension, whatever the number.
    let line = item(&report, "line");
    assert_eq!(
        line["assumptions"],
        serde_json::json!(["blocks of ? × 1 × 1 threads, as in all launches in sight"])
    );
    assert_eq!(row(line, "values", "y")["class"], "uniform");
    assert_eq!(row(line, "accesses", "p")["class"], "coalesced");
    assert_eq!(row(line, "values", "p")["assumed"], Value::Null);
    // A size that is written twice is not known; the others are.
    let several = item(&report, "several");
    assert_eq!(
        several["assumptions"],
        serde_json::json!(["blocks of 32 × ? × 1 threads, as in all launches in sight"])
    );
    assert_eq!(row(several, "values", "y")["class"], "uniform");
    let notes: Vec<&str> = report["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|it| it["code"] == "assumption")
        .filter_map(|it| it["message"].as_str())
        .collect();
    assert!(
        notes.iter().any(|note| note.contains("32 × 8 × 1")),
        "{notes:?}"
    );
    // The configuration comes first and is no assumption.
    let configured = run(&["--block", "16,16,1"]);
    let line = item(&configured, "line");
    assert_eq!(line["assumptions"], serde_json::json!([]));
    assert_ne!(row(line, "values", "y")["class"], "uniform");
}

#[test]
fn launches_that_disagree_or_are_hidden_say_nothing() {
    let place = Place::new("disagree");
    let text = r#"
template <int N = 4> __global__ void k(int* p) { int n = N; int y = threadIdx.y; p[y] = n; }
__global__ void hidden(int* p) { int y = threadIdx.y; p[y] = 0; }
struct Host {
    int threads;
    void go(int* p) { k<2><<<1, dim3(32, 2)>>>(p); hidden<<<1, threads>>>(p); }
};
template <int M> void outer(int* p, dim3 shape) {
    k<M><<<1, dim3(32, 4)>>>(p);
    hidden<<<1, 32>>>(p);
    void* arguments[] = { &p };
    cudaLaunchKernel((const void*)hidden, dim3(1), shape, arguments, 0, 0);
}
"#;
    let file = place.file("k.cu", text);
    let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
    let k = item(&report, "k");
    assert_eq!(
        k["assumptions"],
        serde_json::json!(["blocks of 32 × ? × 1 threads, as in all launches in sight"])
    );
    // Not its default: the launches say otherwise.
    assert_eq!(row(k, "values", "n")["form"], "N");
    let hidden = item(&report, "hidden");
    assert_eq!(hidden["assumptions"], serde_json::json!([]));
    assert_ne!(row(hidden, "values", "y")["class"], "uniform");
}

const CALLED: &str = r#"
__device__ void settle(float* s) {
    s[threadIdx.x] = 0;
    __syncthreads();
}
__device__ void both(float* s) { settle(s); }
__device__ float pick(const float* in, int index) {
    float found = in[index];
    return found;
}
__global__ void whole(float* s, const float* in) {
    both(s);
    s[threadIdx.x] = pick(in, blockIdx.x);
}
__global__ void part(float* s, const float* in, int n) {
    if (threadIdx.x < n) {
        both(s);
    }
    s[threadIdx.x] = pick(in, 16 * threadIdx.x);
}
"#;

#[test]
fn a_barrier_in_a_called_function_is_told_once_with_the_calls_that_lead_to_it() {
    let place = Place::new("called");
    let file = place.file("called.cu", CALLED);
    let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
    let diagnostics = report["diagnostics"].as_array().expect("diagnostics");
    let barriers: Vec<&Value> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic["code"] == "divergent-barrier")
        .collect();
    let [barrier] = barriers.as_slice() else {
        panic!("{barriers:?}");
    };
    assert_eq!(barrier["line"], 4);
    let message = barrier["message"].as_str().unwrap_or("");
    assert!(
        message.ends_with("(in `part`, not in `whole`)"),
        "{message}"
    );
    let steps: Vec<(String, u64)> = barrier["related"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|step| {
            let text = step["text"].as_str().unwrap_or("").to_owned();
            (text, step["line"].as_u64().unwrap_or(0))
        })
        .collect();
    assert_eq!(
        steps[0],
        ("`both` is called here".to_owned(), 17),
        "{steps:?}"
    );
    assert_eq!(
        steps[1],
        ("`settle` is called here".to_owned(), 6),
        "{steps:?}"
    );
    assert_eq!(steps[2].1, 16, "{steps:?}");
    // What callers pass for a parameter differs: the least uniform counts.
    let index = row(item(&report, "pick"), "values", "index").clone();
    assert_ne!(index["class"], "uniform", "{index}");
}

/// A file that sets macros and includes a shader is that shader, for questions about functions.
#[test]
fn a_file_without_code_of_its_own_is_what_it_includes() {
    let place = Place::new("wrapper");
    place.file(
        "uber.hlsli",
        "RWStructuredBuffer<float> Out;\n#if WIDE\n[numthreads(64, 1, 1)]\n#else\n[numthreads(8, 8, 1)]\n#endif\nvoid Fill(uint3 id : SV_DispatchThreadID)\n{\n    Out[id.x] = SCALE * id.x;\n}\n",
    );
    let file = place.file(
        "wide.hlsl",
        "#define WIDE 1\n#define SCALE 2.0\n#include \"uber.hlsli\"\n",
    );
    let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
    let items = report["items"].as_array().cloned().unwrap_or_default();
    assert_eq!(items.len(), 1, "{report}");
    assert_eq!(items[0]["name"], "Fill");
    assert_eq!(items[0]["kind"], "kernel");
    assert_eq!(items[0]["line"], 7);
    assert!(
        items[0]["file"]
            .as_str()
            .is_some_and(|f| f.ends_with("uber.hlsli"))
    );
    assert_eq!(items[0]["accesses"][0]["line"], 9);
    assert_eq!(items[0]["accesses"][0]["class"], "coalesced");
    let code = text(&lockstep(&["code", &file]));
    assert!(code.contains(".reqntid 64, 1, 1"), "{code}");
    let ran = lockstep(&["profile", &file, "-o", &place.path("out.json")]);
    assert!(ran.status.success(), "{}", errors(&ran));
}

#[test]
fn a_configuration_of_many_files_is_told_of_once() {
    let place = Place::new("once");
    place.file("lockstep.toml", "warp_sise = 7\n");
    let found = place.file("a.cu", "__global__ void a() {}\n");
    let other = place.file("b.cu", "__global__ void b() {}\n");
    let told = errors(&lockstep(&["check", &found, &other]));
    assert_eq!(told.matches("warp_sise").count(), 1, "{told}");
}

/// The files that packages install beside the binary.
#[test]
fn completions_and_man_pages_are_made_from_the_command_line() {
    let bash = lockstep(&["completions", "bash"]);
    assert!(bash.status.success());
    let text = String::from_utf8_lossy(&bash.stdout).into_owned();
    assert!(text.contains("check") && text.contains("--deny"), "{text}");
    let folder = tempfile::tempdir().expect("a folder");
    let made = lockstep(&["man", folder.path().to_str().expect("a name")]);
    assert!(made.status.success());
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a page");
    assert!(page("lockstep.1").contains("lockstep"));
    assert!(page("lockstep-check.1").contains("baseline"));
    let version = lockstep(&["--version"]);
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
}
