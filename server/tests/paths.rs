//! `lockstep paths`: the ways that lanes took, from a run on described inputs to a table and JSON.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use serde_json::Value;

/// Each thread follows a list down to its end.
const WALK: &str = "__global__ void walk(const int* next, const float* weight, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    int at = i;
    while (at >= 0) {
        float w = weight[at];
        if (w > 0.5f)
            sum += w * w;
        else
            sum -= w;
        at = next[at];
    }
    out[i] = sum;
}
";

/// Element `i` leads to `i - 1`, and weighs 0 up to the eighth element and 1 behind it.
const INPUTS: &str = r#"item = "walk"
[launch]
threads = [64]
block = [32, 1, 1]
[values]
n = 40
[buffers.next]
type = "i32"
count = 64
fill = "sequence"
start = -1
step = 1
[buffers.weight]
type = "f32"
count = 64
fill = "sequence"
start = 0
step = 0.0625
[buffers.out]
type = "f32"
count = 64
"#;

fn profiled(name: &str) -> (Place, String) {
    let place = Place::new(name);
    let file = place.file("walk.cu", WALK);
    let inputs = place.file("walk.toml", INPUTS);
    text(&lockstep(&[
        "profile",
        &file,
        "--inputs",
        &inputs,
        "--no-config",
    ]));
    (place, file)
}

fn count(all: &[Value], of: &dyn Fn(&Value) -> bool) -> u64 {
    let found = all.iter().filter(|path| of(path));
    found.filter_map(|path| path["count"].as_u64()).sum()
}

fn passes(path: &Value, line: u64) -> bool {
    let lines = path["lines"].as_array().expect("lines");
    lines.iter().any(|known| known.as_u64() == Some(line))
}

#[test]
fn lanes_are_counted_on_each_way() {
    let (_place, file) = profiled("paths");
    let report = json(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let function = &report["functions"][0];
    assert_eq!(function["item"], "walk");
    assert_eq!(function["entries"], 64);
    assert_eq!(function["lost"], 0);
    assert_eq!(function["exact"], true);
    let all = report["paths"].as_array().expect("paths").clone();
    // 24 threads have nothing to do; the others leave the loop once each, behind line 15.
    assert_eq!(count(&all, &|path| passes(path, 16)), 40);
    let early = |path: &Value| path["again"] == false && !passes(path, 8);
    assert_eq!(count(&all, &early), 24);
    // Thread i is at i + 1 elements: 820 in all, of which those up to the eighth are 9 for each of the threads from 8 on.
    let light: u64 = (0..40).map(|thread: u64| (thread + 1).min(9)).sum();
    assert_eq!(count(&all, &|path| passes(path, 13)), light);
    assert_eq!(count(&all, &|path| passes(path, 11)), 820 - light);
    let shares: f64 = all.iter().filter_map(|path| path["share"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    let counts: Vec<u64> = all
        .iter()
        .filter_map(|path| path["count"].as_u64())
        .collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
    let words = text(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--item",
        "walk",
    ]));
    assert!(words.contains("walk.cu:1:17: walk: "), "{words}");
    assert!(words.contains("64 entries by lanes"), "{words}");
    assert!(words.contains(" again "), "{words}");
}

/// At a barrier of the grid workgroups take turns: each lane's way goes on where it was.
#[test]
fn ways_go_on_behind_barriers_of_the_grid() {
    let place = Place::new("grid");
    let file = place.file(
        "both.cu",
        "#include <cooperative_groups.h>
__global__ void both(float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 1.0f;
    cooperative_groups::this_grid().sync();
    if (i < n)
        out[i] += 2.0f;
}
",
    );
    let inputs = place.file(
        "both.toml",
        "item = \"both\"\n[launch]\nthreads = [64]\nblock = [32, 1, 1]\n[values]\nn = 40\n\
         [buffers.out]\ntype = \"f32\"\ncount = 64\n",
    );
    text(&lockstep(&[
        "profile",
        &file,
        "--inputs",
        &inputs,
        "--no-config",
    ]));
    let report = json(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    assert_eq!(report["functions"][0]["entries"], 64, "{report:#}");
    let all = report["paths"].as_array().expect("paths").clone();
    assert_eq!(count(&all, &|path| passes(path, 6) && passes(path, 9)), 40);
    assert_eq!(
        count(&all, &|path| !passes(path, 6) && !passes(path, 9)),
        24
    );
}

/// Runs on several inputs are one profile where they are added, and the last one is it where they are not.
#[test]
fn runs_are_added_or_replaced() {
    let (place, file) = profiled("added");
    let more = place.file("more.toml", INPUTS.replace("n = 40", "n = 10"));
    let run = |arguments: &[&str]| {
        let all = ["profile", &file, "--inputs", &more, "--no-config"];
        text(&lockstep(&[&all[..], arguments].concat()));
        let report = json(&lockstep(&[
            "paths",
            &file,
            "--no-config",
            "--format",
            "json",
        ]));
        let all = report["paths"].as_array().expect("paths").clone();
        let entries = report["functions"][0]["entries"].as_u64();
        (entries, count(&all, &|path| passes(path, 16)))
    };
    assert_eq!(run(&["--add"]), (Some(128), 50));
    assert_eq!(run(&["--add"]), (Some(192), 60));
    assert_eq!(run(&[]), (Some(64), 10));
    // In a file of their own, too.
    let out = place.path("sum.json");
    let entered = || {
        run(&["--add", "-o", &out]);
        let text = std::fs::read_to_string(&out).expect("a profile");
        let profile: Value = serde_json::from_str(&text).expect("JSON");
        profile["items"][0]["warps"].as_u64().expect("a number")
    };
    let first = entered();
    assert_eq!(entered(), 2 * first);
}

/// Another name changes no path, another statement those through it alone.
#[test]
fn paths_are_found_again_after_edits() {
    let (place, file) = profiled("edited");
    let of = |text: &str| {
        place.file("walk.cu", text);
        let report = json(&lockstep(&[
            "paths",
            &file,
            "--no-config",
            "--format",
            "json",
        ]));
        let all = report["paths"].as_array().expect("paths").clone();
        (report["functions"][0].clone(), all)
    };
    let (before, all) = of(WALK);
    let (function, renamed) =
        of(&WALK
            .replace("sum", "total")
            .replacen("float total", "\n    float total", 1));
    assert_eq!(function["exact"], true);
    assert_eq!(renamed.len(), all.len());
    assert_eq!(count(&renamed, &|_| true), count(&all, &|_| true));
    let (function, edited) = of(&WALK.replace("sum -= w;", "sum -= w * 3.0f;"));
    assert_eq!(function["exact"], false);
    let light: u64 = (0..40).map(|thread: u64| (thread + 1).min(9)).sum();
    assert_eq!(function["lost"], light);
    assert_eq!(count(&edited, &|path| passes(path, 11)), 820 - light);
    assert_eq!(before["entries"], 64);
}

/// A root that is computed for all and read by few.
const PARTLY: &str = "__global__ void partly(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    float root = sqrtf(x + 1.0f);
    float twice = x * 2.0f;
    if (i < n)
        out[i] = root;
    out[i + 64] = twice;
}
";

#[test]
fn definitions_that_few_ways_read_are_told() {
    let place = Place::new("partly");
    let file = place.file("partly.cu", PARTLY);
    let inputs = place.file(
        "partly.toml",
        "item = \"partly\"\n[launch]\nthreads = [64]\nblock = [32, 1, 1]\n[values]\nn = 16\n\
         [buffers.in]\ntype = \"f32\"\ncount = 64\nfill = \"uniform\"\n[buffers.out]\ntype = \"f32\"\ncount = 128\n",
    );
    text(&lockstep(&[
        "profile",
        &file,
        "--inputs",
        &inputs,
        "--no-config",
    ]));
    let report = json(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let dead = report["functions"][0]["partly_dead"]
        .as_array()
        .expect("a list");
    assert_eq!(dead.len(), 1, "{dead:?}");
    assert_eq!(dead[0]["variable"], "root");
    assert_eq!(dead[0]["line"], 5);
    assert_eq!(dead[0]["executions"], 64);
    assert_eq!(dead[0]["unread_at_least"], 48);
    assert_eq!(dead[0]["unread_at_most"], 48);
    let words = text(&lockstep(&["paths", &file, "--no-config"]));
    assert!(
        words.contains("partly dead: `root` in line 5: 48 of 64 times nothing reads it (75 %)"),
        "{words}"
    );
}

#[test]
fn without_a_profile_it_says_how_to_make_one() {
    let place = Place::new("none");
    let file = place.file("walk.cu", WALK);
    let said = errors(&lockstep(&["paths", &file, "--no-config"]));
    assert!(said.contains("there is no profile"), "{said}");
    let (_place, file) = profiled("other");
    let said = errors(&lockstep(&["paths", &file, "--no-config", "--item", "run"]));
    assert!(said.contains("there is no function `run`"), "{said}");
}

/// Paths over two iterations are those of the profile that was recorded so: each is as many paths over one as it has iterations.
#[test]
fn paths_over_iterations_are_those_that_were_recorded() {
    let (place, file) = profiled("windows");
    let refused = text(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--iterations",
        "2",
    ]));
    assert!(
        refused.contains("no paths of `walk` over 2 iterations, but none over several iterations: `lockstep profile FILE --iterations 2`"),
        "{refused}"
    );
    let inputs = place.path("walk.toml");
    let record = |arguments: &[&str]| {
        let all = ["profile", &file, "--inputs", &inputs, "--no-config"];
        let ran = lockstep(&[&all[..], arguments].concat());
        assert!(ran.status.success(), "{}", errors(&ran));
    };
    let of = |iterations: &str| {
        let all = [
            "paths",
            &file,
            "--no-config",
            "--format",
            "json",
            "--iterations",
            iterations,
        ];
        let report = json(&lockstep(&all));
        (
            report["functions"][0].clone(),
            report["paths"].as_array().expect("paths").clone(),
        )
    };
    record(&["--iterations", "2"]);
    let (plain, single) = of("1");
    let (function, double) = of("2");
    assert_eq!(function["iterations"], 2);
    assert_eq!(function["entries"], plain["entries"]);
    // Line 9 is passed once in an iteration, and once more when the loop is left.
    let passes_of = |all: &[Value], line: u64| -> u64 {
        let times = |path: &Value| {
            let lines = path["lines"].as_array().expect("lines").iter();
            let here = lines.filter(|known| known.as_u64() == Some(line)).count() as u64;
            here * path["count"].as_u64().expect("a count")
        };
        all.iter().map(times).sum()
    };
    for line in [8, 11, 13, 14, 16] {
        assert_eq!(
            passes_of(&double, line),
            passes_of(&single, line),
            "line {line}"
        );
    }
    let total = |all: &[Value]| count(all, &|_| true);
    assert!(total(&double) < total(&single));
    // Which side an iteration takes when the one before took the other one: light elements follow each other.
    let both = |path: &Value| passes(path, 11) && passes(path, 13);
    assert!(count(&double, &both) <= 40, "{double:?}");
    assert!(single.iter().all(|path| !both(path)));
    let refused = json(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--iterations",
        "3",
        "--format",
        "json",
    ]));
    let said = refused["refused"][0].as_str().expect("a reason");
    assert!(
        said.contains("over 3 iterations, but those over 2 iterations"),
        "{said}"
    );
    // Runs of the same kind are added; of another kind nothing tells of both.
    record(&["--iterations", "2", "--add"]);
    assert_eq!(total(&of("2").1), 2 * total(&double));
    record(&["--add"]);
    let (none, _) = of("1");
    assert_eq!(none["entries"], 192);
    let all = ["paths", &file, "--no-config", "--iterations", "2"];
    let gone = text(&lockstep(&all));
    assert!(gone.contains("but none over several iterations"), "{gone}");
}
