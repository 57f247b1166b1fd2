//! Costs as they are shown: of the fixtures' lines, loops and functions, by the machine that is configured, and tables of
//! machines from the command line.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use lockstep_server::config::{CostHints, Detail, HintConfig};
use lockstep_server::db::{Database, File, Source};
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

/// Returns the knowledge of a file, a line each, beside the text of the line.
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
        for each in costs["loops"].as_array().expect("loops") {
            writeln!(
                out,
                "  loop in line {}: {} × {} ({}): {}",
                each["line"],
                number(&each["iterations"]),
                number(&each["iteration_cycles"]),
                each["iterations_from"].as_str().unwrap_or(""),
                cost(each)
            )
            .expect("text");
        }
        for each in costs["calls"].as_array().expect("calls") {
            let callee = each["callee"].as_str().unwrap_or("");
            writeln!(
                out,
                "  call of {callee} in line {}: {}",
                each["line"],
                cost(each)
            )
            .expect("text");
        }
        for each in costs["lines"].as_array().expect("lines") {
            let line = each["line"].as_u64().unwrap_or(0) as usize;
            let code = source.lines().nth(line - 1).unwrap_or("").trim();
            writeln!(out, "  {line:>3} {code}\n      {}", cost(each)).expect("text");
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
    assert!(
        said.contains("expected one of `off`, `hot`, `all`"),
        "{said}"
    );
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

/// Cycles as they are printed: `12 k`, `1.5 M`.
fn printed(text: &str) -> f64 {
    let (digits, unit) = match text.split_once(' ') {
        Some((digits, "k")) => (digits, 1e3),
        Some((digits, "M")) => (digits, 1e6),
        _ => (text, 1.0),
    };
    unit * digits
        .parse::<f64>()
        .unwrap_or_else(|_| panic!("{text} is no number"))
}

/// Panics where a total is printed beside a product that is another number. Returns the products that were found.
fn products_of(text: &str, wanted: &str) -> usize {
    let mut found = 0;
    for (at, _) in text.match_indices(" cycles") {
        let rest = &text[at..];
        let Some(start) = text[..at].rfind('~') else {
            continue;
        };
        // Up to the next cycles the sentence is of this total.
        let own = rest[7..]
            .split([',', '·', '│', '\n'])
            .find(|part| part.contains(" × "));
        let Some(product) = own.filter(|_| rest[7..].starts_with([':', ' '])) else {
            continue;
        };
        let product = product.trim_start_matches(": ").trim();
        if product.contains(" cycles") {
            continue;
        }
        let factors = product.split(" × ").map(|factor| {
            let factor = factor.trim_end_matches(" entries");
            let factor = factor.split(" (").next().unwrap_or_default();
            printed(factor.rsplit(": ").next().unwrap_or_default())
        });
        let total = &text[start + '~'.len_utf8()..at];
        let product: f64 = factors.product();
        assert_eq!(views::costs::number(product), total, "{wanted}: {text}");
        found += 1;
    }
    found
}

#[test]
fn printed_products_multiply_and_printed_lines_add_up() {
    let mut products = 0;
    for folder in ["costs", "cuda", "hlsl", "ptx", "zeros"] {
        for path in fixtures::files(folder, &["cu", "hlsl", "ptx"]) {
            let name = path.display().to_string();
            let shown = text(&lockstep(&["annotate", &name, "--no-config", "--costs"]));
            products += shown
                .lines()
                .map(|line| products_of(line, &name))
                .sum::<usize>();
            let report = analysed(&name, &[]);
            for item in report["items"].as_array().expect("items") {
                let costs = &item["costs"];
                if costs.is_null() {
                    continue;
                }
                let total = number(&costs["cycles"]);
                let rows = costs["lines"].as_array().expect("lines");
                let sum: f64 = rows.iter().map(|row| number(&row["cycles"])).sum();
                let off = (total - sum).abs();
                assert!(
                    off <= 0.001 * (rows.len() + 1) as f64,
                    "{name}: {} {sum} {total}",
                    item["name"]
                );
                for each in costs["loops"].as_array().expect("loops") {
                    let (entries, trips) = (number(&each["entries"]), number(&each["iterations"]));
                    if entries * trips > 0.0 {
                        let product = entries * trips * number(&each["iteration_cycles"]);
                        let cycles = number(&each["cycles"]);
                        assert!(
                            (product - cycles).abs() <= 0.01 + cycles * 1e-3,
                            "{name}: {each}"
                        );
                    }
                }
            }
            let source = std::fs::read_to_string(&path).expect("a fixture");
            let mut db = Database::default();
            let file = db.file_with_text(&path, given(&source));
            for head in ["for (", "while (", "do "] {
                for (at, _) in source.match_indices(head) {
                    if let Some(hover) = views::hover::hover(&db, file, at as u32) {
                        let lines = hover.markdown.lines();
                        products += lines.map(|line| products_of(line, &name)).sum::<usize>();
                    }
                }
            }
        }
    }
    assert!(products > 100, "{products}");
}

const FOLDED: &str = "#define M_PI 3.14159265358979323846
__global__ void __launch_bounds__(128) k(float* out, const float* in) {
  float scale = sqrtf(2.0f / M_PI) * (float)(1.0 / 3.0);
  out[threadIdx.x] = in[threadIdx.x] * scale;
}
__global__ void __launch_bounds__(128) wide(float* out, const float* in) {
  out[threadIdx.x] = in[threadIdx.x] * (2.0 / 3.0);
}
__global__ void __launch_bounds__(128) narrowed(float* out, const float* in) {
  out[threadIdx.x] = in[threadIdx.x] * (1.0 / 4.0);
}
";

#[test]
fn what_compilers_fold_costs_nothing_and_is_no_double_by_accident() {
    let place = Place::new("folded-costs");
    let file = place.file("k.cu", FOLDED);
    let report = analysed(&file, &[]);
    let items = report["items"].as_array().expect("items");
    let busy = |at: usize| {
        items[at]["costs"]["busy"]["f64 pipe"]
            .as_f64()
            .unwrap_or(0.0)
    };
    assert_eq!(busy(0), 0.0, "{}", items[0]["costs"]);
    let lines = items[0]["costs"]["lines"].as_array().expect("lines");
    assert!(
        lines
            .iter()
            .all(|row| row["line"] != 3 || row["issue_slots"] == 0.0),
        "{lines:?}"
    );
    // The conversions and the product stay.
    assert!(busy(1) > 0.0);
    let diagnostics = report["diagnostics"].as_array().expect("diagnostics");
    let accidents: Vec<u64> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic["code"] == "fp64-by-accident")
        .filter_map(|diagnostic| diagnostic["line"].as_u64())
        .collect();
    assert_eq!(accidents, [7], "{diagnostics:?}");
}

#[test]
fn weights_are_named() {
    let source = "__global__ void k(float* out, const float* in, int n, int m) {
  float sum = 0.0f;
  if (m > 3) {
    for (int i = 0; i < n; ++i)
      sum += in[i] * in[i + 1];
  }
  out[threadIdx.x] = sum;
}
";
    let all = hints_in(source, CostHints::All, Detail::Full);
    let of = |line: u32| {
        let found = all.iter().find(|(at, _)| *at == line);
        found.map_or_else(String::new, |(_, label)| label.clone())
    };
    assert!(of(4).contains("0.5 entries × 8 × "), "{all:?}");
    assert!(
        of(5).contains("cycles: ") && of(5).contains(" × "),
        "{all:?}"
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
        let found = &report["items"][0]["costs"]["loops"][0];
        (
            found["iterations"].as_f64().unwrap_or(0.0),
            found["iterations_from"].as_str().unwrap_or("").to_owned(),
        )
    };
    assert_eq!(iterations(), (8.0, "heuristic".into()));
    let out = lockstep(&["profile", &file, "--inputs", &inputs]);
    assert!(out.status.success(), "{}", errors(&out));
    assert_eq!(iterations(), (20.0, "profile".into()));
}

/// Hints of a text under a setting, with the line that each stands on.
fn hints(source: &str, costs: CostHints) -> Vec<(u32, String)> {
    hints_in(source, costs, Detail::Brief)
}

fn hints_in(source: &str, costs: CostHints, detail: Detail) -> Vec<(u32, String)> {
    let mut db = Database::default();
    let file = db.file_with_text(Path::new("/project/k.cu"), given(source));
    let switches = HintConfig {
        costs,
        detail,
        ..HintConfig::default()
    };
    costs_told(&db, file, source, &switches)
}

fn given(source: &str) -> Source {
    Source::Text {
        text: Arc::from(source),
        lossy: false,
    }
}

fn costs_told(
    db: &Database,
    file: File,
    source: &str,
    switches: &HintConfig,
) -> Vec<(u32, String)> {
    let lines = LineIndex::new(source);
    let all = views::hints::hints(db, file, Span::new(0, u32::MAX), switches);
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

/// Two loops, one of which holds most, and a line in it that does.
const UNEVEN: &str = "__global__ void uneven(float* out, const float* in, float by) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float sum = by + 1.0f;
  for (int k = 0; k < 16; ++k) {
    sum += in[k * 1024 + i];
  }
  float scale = sum * by;
  for (int k = 0; k < 32; ++k) {
    float part = by * k;
    sum += powf(part, scale) * expf(part);
    sum *= 0.5f;
  }
  float most = sum > scale ? sum : scale;
  out[i] = most;
}
";

#[test]
fn hot_lines_are_few_and_all_lines_can_be_had() {
    assert_eq!(hints(UNEVEN, CostHints::Off), []);
    // The only loop of a few lines holds most of them: nobody has to be told.
    assert_eq!(hints(WALK, CostHints::Hot), []);
    let hot = hints(UNEVEN, CostHints::Hot);
    let lines: Vec<u32> = hot.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [10], "{hot:?}");
    // The factors and the target stand in the hover: a line has 43 characters.
    let label = &hot[0].1;
    assert!(
        label.starts_with('~') && label.contains(" cycles, ") && label.ends_with(" %"),
        "{hot:?}"
    );
    let all = hints(WALK, CostHints::All);
    let lines: Vec<u32> = all.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 3, 4, 5, 7], "{all:?}");
}

#[test]
fn hovers_and_the_lens_say_what_is_estimated_and_for_what() {
    let mut db = Database::default();
    let file = db.file_with_text(Path::new("/project/k.cu"), given(WALK));
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

/// Guards at which a warp parts at the end of a range only, a leader's few cycles, slots of a counter, and
/// values that neighbouring lanes share: none is reported. A neighbour of each is.
const QUIET: &str =
    "__global__ void quiet(float* out, const int* list, const float* in, int* count, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float sum = 0.0f;
  if (i < n) {
    for (int k = 0; k < 64; ++k) sum += expf(sum + k);
  } else {
    for (int k = 0; k < 64; ++k) sum += logf(sum + k);
  }
  if (threadIdx.x == 0) count[1] = 7;
  int owner = list[i / 64];
  sum += in[owner];
  int slot = atomicAdd(count + blockIdx.x, 1);
  out[slot] = sum;
}
__global__ void told(float* out, const int* list, const float* in, int* count, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < 8; ++k) sum += in[k * n + i];
  if (list[i] < n) {
    for (int k = 0; k < 8; ++k) sum += expf(sum + k);
  } else {
    for (int k = 0; k < 8; ++k) sum += logf(sum + k);
  }
  int owner = list[i];
  sum += in[owner];
  out[list[i + 1]] = sum;
}
";

/// Lines and labels of the hints, but for costs.
fn told(source: &str) -> Vec<(u32, String)> {
    let mut db = Database::default();
    let file = db.file_with_text(Path::new("/project/k.cu"), given(source));
    let lines = LineIndex::new(source);
    let whole = Span::new(0, u32::MAX);
    let all = views::hints::hints(&db, file, whole, &HintConfig::default());
    all.into_iter()
        .filter(|hint| hint.category < views::hints::Category::Cost)
        .map(|hint| (lines.line_column(hint.offset).0 + 1, hint.label))
        .collect()
}

#[test]
fn hints_leave_out_what_the_line_says_and_what_happens_at_a_border() {
    let told = told(QUIET);
    let starts = |at: usize, line: u32, label: &str| {
        let found = told.get(at);
        assert!(
            found.is_some_and(|it| it.0 == line && it.1.starts_with(label)),
            "{told:?}"
        );
    };
    starts(0, 12, "atomic: one address");
    starts(1, 19, "lanes diverge, ~");
    starts(2, 25, "gather: ≤ 32 sectors");
    starts(3, 26, "scatter: ≤ 32 sectors");
    assert_eq!(told.len(), 4, "{told:?}");
}

/// An access to elements one apart, whatever their size, and one to elements farther apart.
const ELEMENTS: &str = "template <typename V> __global__ void move(typename V::Type* out, const typename V::Type* in) {
  int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = in[2 * i];
}
";

#[test]
fn neighbouring_elements_of_an_unknown_size_are_no_waste() {
    let told = told(ELEMENTS);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].1.starts_with("stride 2*sizeof("), "{told:?}");
}

/// A structure that is copied takes all between lanes, and so do both components of a pair, each by its own expression; one
/// member does not, however often it is read. Banks are another matter: both words of a pair lie in every second bank.
const TOGETHER: &str = "struct P { float x, y, z, w; };
__global__ void together(P* out, const P* in, float* sum) {
  __shared__ float pairs[512];
  int t = threadIdx.x;
  int i = blockIdx.x * 256 + t;
  out[i] = in[i];
  pairs[2 * t] = 1.0f; pairs[2 * t + 1] = sum[i];
  __syncthreads();
  sum[i] = pairs[2 * t] * pairs[2 * t + 1];
}
__global__ void components(float* out, const float* in) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = in[2 * i];
  float y = in[2 * i + 1];
  out[i] = x * y;
}
__global__ void member(float* out, const P* in) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float y = in[i].y;
  out[i] = y;
  if (y > 0) out[i + 1] = in[i].y;
}
";

#[test]
fn members_that_take_all_between_lanes_are_no_waste() {
    let told = told(TOGETHER);
    let lines: Vec<u32> = told.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [7, 9, 19, 21], "{told:?}");
    let conflict = |(_, label): &(u32, String)| label == "2-way bank conflict";
    assert!(told[..2].iter().all(conflict), "{told:?}");
    let strided = |(_, label): &(u32, String)| label.contains("stride 16 B: 16 sectors, ideal 4");
    assert!(told[2..].iter().all(strided), "{told:?}");
}

/// The cost of a traversal is not known: no line has a share, and the function's cycles say that they leave
/// it out.
#[test]
fn beside_rays_no_line_has_a_share() {
    let source = |trace: &str| {
        format!(
            "RaytracingAccelerationStructure scene;
RWTexture2D<float4> image;
struct [raypayload] P {{ float4 colour; }};
float heavy(float x) {{ for (int i = 0; i < 8; ++i) x = pow(sin(x), 1.5f); return x; }}
[shader(\"raygeneration\")]
void rays() {{
  uint2 at = DispatchRaysIndex().xy;
  RayDesc ray = (RayDesc)0;
  ray.TMax = at.x;
  P p = (P)0;
  {trace}
  float a = at.x;
  float b = at.y;
  a = a * b + 1;
  b = exp(a);
  b = b + heavy(a);
  b = exp(b);
  a = sin(b) * 2;
  a = a + b;
  a = a * a;
  image[at] = p.colour + a;
}}
"
        )
    };
    let traced = source("TraceRay(scene, 0, 255, 0, 1, 0, ray, p);");
    let plain = source("p.colour = ray.TMax;");
    let path = Path::new("/project/rays.hlsl");
    let hot = |source: &str| {
        let mut db = Database::default();
        let file = db.file_with_text(path, given(source));
        !costs_told(&db, file, source, &HintConfig::default()).is_empty()
    };
    assert!(hot(&plain));
    assert!(!hot(&traced));
    let mut db = Database::default();
    let file = db.file_with_text(path, given(&traced));
    let lens = views::lens::lenses(&db, file);
    let costs = lens[0].costs.clone().unwrap_or_default();
    assert!(costs.contains("without its rays"), "{costs}");
    let at = traced.find("rays()").expect("in the text") as u32;
    let hover = views::hover::hover(&db, file, at).expect("of the function");
    assert!(
        hover.markdown.contains("the traversal of rays"),
        "{}",
        hover.markdown
    );
}

/// A table that lies in two sectors at most is no gather; a larger one is, where it is written and where the call begins.
const TABLES: &str = "__device__ float few[4] = { 1, 2, 3, 4 };
__device__ float many[4096]; __device__ char bytes[16]; extern __device__ float unsized[];
__device__ __forceinline__ float looked_up(const int* at, float by) { return many[*at & 4095] * by; }
__global__ void tables(float* out, const int* list, const float* in) {
  int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = few[list[i] & 3] + bytes[list[i] & 15] + unsized[list[i]];
  out[i] += looked_up(
    list + i,
    in[i]);
}
";

#[test]
fn gathers_are_bounded_by_the_object_and_told_where_a_call_begins() {
    let told = told(TABLES);
    let gather = |line: u32| (line, "gather: ≤ 32 sectors".to_owned());
    assert_eq!(told, [gather(3), gather(6), gather(7)]);
}
