//! Values that most recorded ways never read: told beside the code, and moved to where they are read.

#[path = "support/command.rs"]
mod command;
mod support;

use command::{Place, errors, lockstep, text};
use serde_json::{Value, json};
use support::Client;

/// The best of some candidates, whose energy is asked for where one is better.
const SEARCH: &str = "int search(const short *target, const short *book, int count, int *gain)
{
    int best = 0x7fffffff;
    int index = -1;
    for (int c = 0; c < count; c++) {
        int error = 0;
        // Of the first two.
        int energy = book[c * 4] * book[c * 4] + book[c * 4 + 1] * book[c * 4 + 1];
        for (int k = 0; k < 4; k++) {
            int d = target[k] - book[c * 4 + k];
            error += d * d;
        }
        if (error < best) {
            best = error;
            index = c;
            *gain = energy;
        }
    }
    return index;
}

int clip(int x, int y, int limit, int mode)
{
    int scaled;
    if (mode > 2)
        scaled = x * y / 3;
    else
        scaled = 0;
    int sum = x + y;
    if (sum > limit) {
        sum -= scaled;
    }
    return sum;
}
";

const SHADE: &str = "__global__ void shade(float* out, const float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w = powf(x[i], 2.2f) * expf(x[i]);
    if (i >= n) return;
    if (x[i] > 0.9f) {
        out[i] = w;
    }
}
";

fn run(file: &str, inputs: &str) {
    let output = lockstep(&["profile", file, "--inputs", inputs, "--add", "--no-config"]);
    assert!(output.status.success(), "{}", errors(&output));
}

fn searched(place: &Place) -> String {
    let file = place.file("search.c", SEARCH);
    let inputs = place.file(
        "search.toml",
        r#"item = "search"
[values]
count = 64
[buffers.book]
type = "i16"
count = 256
fill = "uniform"
low = 0
high = 255
[buffers.target]
type = "i16"
count = 4
fill = "uniform"
low = 0
high = 255
"#,
    );
    run(&file, &inputs);
    file
}

#[test]
fn a_statement_goes_where_it_is_read_by_the_profile() {
    let place = Place::new("sunk");
    let file = searched(&place);
    let listed = text(&lockstep(&[
        "actions",
        &file,
        "--at",
        "8:13",
        "--no-config",
    ]));
    assert!(
        listed.contains("Move `energy` to where it is read: ")
            && listed.contains(" of 64 executions remain")
            && listed.contains("estimate, itanium2"),
        "{listed}"
    );
    let found = text(&lockstep(&["check", &file, "--no-config"]));
    assert!(
        found.contains("8:13: information[partially-dead]: `energy` is computed 64 times"),
        "{found}"
    );
    let ways = text(&lockstep(&["paths", &file, "--no-config"]));
    assert!(
        ways.contains("partly dead: `energy` in line 8") && ways.contains("; `sink-dead` leaves "),
        "{ways}"
    );
    let after = text(&lockstep(&[
        "apply",
        "sink-dead",
        &file,
        "--at",
        "8:13",
        "--no-config",
    ]));
    let moved = "        if (error < best) {
            // Of the first two.
            int energy = book[c * 4] * book[c * 4] + book[c * 4 + 1] * book[c * 4 + 1];
            best = error;
";
    assert!(after.contains(moved), "{after}");
    assert_eq!(after.matches("energy =").count(), 1, "{after}");
}

#[test]
fn past_a_join_a_flag_says_whether_it_is_due() {
    let place = Place::new("flag");
    let file = place.file("clip.c", SEARCH);
    for seed in 0..9 {
        let limit = if seed > 5 { 0 } else { 40 };
        let mode = if seed > 2 { 3 } else { 0 };
        let inputs = format!(
            "item = \"clip\"\n[launch]\nseed = {seed}\n[values]\nlimit = {limit}\nmode = {mode}\nx = 3\ny = 4\n"
        );
        run(&file, &place.file("clip.toml", inputs));
    }
    let listed = text(&lockstep(&[
        "actions",
        &file,
        "--at",
        "26:10",
        "--no-config",
    ]));
    assert!(
        listed
            .contains("Move `scaled` to where it is read, under a flag: 3 of 6 executions remain"),
        "{listed}"
    );
    let after = text(&lockstep(&[
        "apply",
        "sink-dead",
        &file,
        "--at",
        "26:10",
        "--no-config",
    ]));
    let moved = "    int scaled;
    int scaled_pending = 0;
    if (mode > 2)
        scaled_pending = 1;
    else
        scaled = 0;
    int sum = x + y;
    if (sum > limit) {
        if (scaled_pending) {
            scaled = x * y / 3;
        }
        sum -= scaled;
    }
";
    assert!(after.contains(moved), "{after}");
    // Where all ways read it, nothing is gained.
    let refused = lockstep(&["apply", "sink-dead", &file, "--at", "29:10", "--no-config"]);
    assert!(!refused.status.success());
    assert!(
        errors(&refused).contains("on every way something reads `sum`"),
        "{}",
        errors(&refused)
    );
}

#[test]
fn without_a_profile_ways_are_counted() {
    let place = Place::new("ways");
    let file = place.file("shade.cu", SHADE);
    let listed = text(&lockstep(&[
        "actions",
        &file,
        "--at",
        "4:11",
        "--no-config",
    ]));
    assert!(
        listed.contains("Move `w` to where it is read: 2 of 3 ways through the code do without it")
            && listed.contains("`lockstep profile` tells"),
        "{listed}"
    );
    // In a text that mixes tabs and spaces it stands as what is beside it.
    let mixed = SHADE.replace("    if (x[i]", "\tif (x[i]");
    let mixed = mixed.replace("        out[i]", "\t\tout[i]");
    let file = place.file("mixed.cu", &mixed);
    let after = text(&lockstep(&[
        "apply",
        "sink-dead",
        &file,
        "--at",
        "4:11",
        "--no-config",
    ]));
    assert!(after.contains("\n\t\tfloat w = powf("), "{after}");
}

const SEARCHED_AGAIN: &str = "int search(const int *a, int l, int r, int n)
{
    int m = l + (r - l) / 2;
    if (l > r) return -1;
    if (a[m] == n) return m;
    if (a[m] > n) return search(a, l, m - 1, n);
    return search(a, m + 1, r, n);
}
";

#[test]
fn what_inner_calls_execute_is_said_not_to_be_counted() {
    let place = Place::new("recursive");
    let file = place.file("search.c", SEARCHED_AGAIN);
    for r in [-1, 9] {
        let inputs = format!("item = \"search\"\n[values]\nl = 0\nr = {r}\nn = 300\n");
        run(&file, &place.file("search.toml", inputs));
    }
    let listed = text(&lockstep(&["actions", &file, "--at", "3:9", "--no-config"]));
    assert!(
        listed.contains("Move `m` to where it is read: 1 of 2 executions remain")
            && listed.contains("what inner calls execute is not counted"),
        "{listed}"
    );
}

#[test]
fn an_editor_shows_how_often_a_value_is_dead() {
    let place = Place::new("dead-hint");
    let file = place.file("shade.cu", SHADE);
    run(&file, &place.file("shade.toml", "item = \"shade\"\n"));
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({ "general": { "positionEncodings": ["utf-8"] } }));
    let uri = format!("file://{file}");
    client.open(&uri, "cuda-cpp", SHADE);
    let all = json!({ "textDocument": { "uri": uri }, "range": {
        "start": { "line": 0, "character": 0 }, "end": { "line": 100, "character": 0 } } });
    let hints = client.request("textDocument/inlayHint", all).to_string();
    assert!(hints.contains("dead in "), "{hints}");
    let hover = client.request(
        "textDocument/hover",
        json!({ "textDocument": { "uri": uri }, "position": { "line": 3, "character": 10 } }),
    );
    let hover = hover.to_string();
    assert!(
        hover.contains("of its 4096 executions by lanes, by the profile")
            && hover.contains("`sink-dead` moves it to where it is read"),
        "{hover}"
    );
}

/// A value that is mostly zero, and the operands of a product with it: all of them miss together.
const PRODUCT: &str = "void mul(int *x, const int *a, const int *b, const int *c, int n)
{
    for (int i = 0; i < n; i++) {
        int t = a[i];
        x[i] = t * (b[i] + c[i]);
    }
}
";

/// The same with an operand that lies anywhere.
const GATHERED: &str = "int dot(const int *a, const int *b, const int *c, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        int t = a[i];
        s += t * b[c[i] & 16383];
    }
    return s;
}
";

const GATHERED_INPUTS: &str = "item = \"dot\"
[values]
n = 4096
[buffers.a]
type = \"i32\"
count = 4096
fill = \"sparse\"
zeros = 0.95
[buffers.b]
type = \"i32\"
count = 16384
[buffers.c]
type = \"i32\"
count = 4096
fill = \"uniform\"
low = 0
high = 16383
";

#[test]
fn accesses_that_a_zero_makes_useless_are_told_of_and_skipped() {
    let place = Place::new("skipped");
    place.file("lockstep.toml", "processor = \"bratt2001\"\n");
    let file = place.file("dot.c", GATHERED);
    let inputs = place.file("dot.toml", GATHERED_INPUTS);
    let output = lockstep(&["profile", &file, "--inputs", &inputs]);
    assert!(output.status.success(), "{}", errors(&output));
    let profile = place.path("dot.c.lockstep-profile.json");
    let shown = text(&lockstep(&["profile", "show", &profile]));
    assert!(
        shown.contains("loads in the caches of bratt2001:"),
        "{shown}"
    );
    let found = text(&lockstep(&["check", &file]));
    assert!(
        found.contains("5:13: information[irrelevant-load]: `t` is zero in 95 % of its executions, where 2 accesses cannot matter")
            && found.contains(" cycles, with the misses of the profile (estimate, bratt2001)"),
        "{found}"
    );
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({ "general": { "positionEncodings": ["utf-8"] } }));
    let uri = format!("file://{file}");
    client.open(&uri, "c", GATHERED);
    let at = json!({ "textDocument": { "uri": uri }, "position": { "line": 4, "character": 12 } });
    let hover = client.request("textDocument/hover", at).to_string();
    // The first of the 8 elements of a line, and where another array took the line away.
    assert!(
        hover.contains("**0 in 95 % of executions**")
            && hover.contains("its load misses 13 % of 4096 times and waits ")
            && hover.contains(" cycles on average (estimate, bratt2001)"),
        "{hover}"
    );
    let listed = text(&lockstep(&["actions", &file, "--at", "5:13"]));
    assert!(
        listed.contains("skip-loads")
            && listed.contains("Skip 2 accesses to memory where `t` is zero (saves ")
            && listed.contains(" at 95 % zeros, estimate for bratt2001)"),
        "{listed}"
    );
    let after = text(&lockstep(&["apply", "skip-loads", &file, "--at", "5:13"]));
    let guarded = "        if (t != 0) {
            s += t * b[c[i] & 16383];
        }
";
    assert!(after.contains(guarded), "{after}");
}

/// Work that overlaps with the rest of a pipelined loop is not taken for saved.
#[test]
fn a_guard_that_makes_the_iterations_of_a_loop_longer_is_not_worth_it() {
    let place = Place::new("not-skipped");
    let file = place.file("mul.c", PRODUCT);
    let inputs = place.file(
        "mul.toml",
        "item = \"mul\"\n[values]\nn = 64\n[buffers.a]\ntype = \"i32\"\ncount = 64\nfill = \"sparse\"\nzeros = 1\n",
    );
    run(&file, &inputs);
    let found = text(&lockstep(&["check", &file, "--no-config"]));
    assert!(!found.contains("irrelevant-load"), "{found}");
    let listed = text(&lockstep(&[
        "actions",
        &file,
        "--at",
        "4:13",
        "--no-config",
    ]));
    assert!(
        !listed.contains("Skip 2 accesses to memory where `t` is zero (saves "),
        "{listed}"
    );
}

/// Where one iteration follows the other the guard is a branch, and all that it skips is saved.
#[test]
fn a_guard_in_a_loop_that_is_not_pipelined_saves_what_it_skips() {
    let place = Place::new("skipped-one-by-one");
    let text = PRODUCT.replace("    for", "    #pragma lockstep pipeline(none)\n    for");
    let file = place.file("mul.c", text);
    let inputs = place.file(
        "mul.toml",
        "item = \"mul\"\n[values]\nn = 64\n[buffers.a]\ntype = \"i32\"\ncount = 64\nfill = \"sparse\"\nzeros = 1\n",
    );
    run(&file, &inputs);
    let found = text_of(&["check", &file, "--no-config"]);
    assert!(
        found.contains("5:13: information[irrelevant-load]: `t` is zero in 100 % of its executions, where 2 accesses cannot matter")
            && found.contains("without misses (estimate, itanium2)"),
        "{found}"
    );
    let listed = text_of(&["actions", &file, "--at", "5:13", "--no-config"]);
    assert!(
        listed.contains("Skip 2 accesses to memory where `t` is zero (saves ")
            && listed.contains(" at 100 % zeros, estimate for itanium2)"),
        "{listed}"
    );
    let after = text_of(&["apply", "skip-loads", &file, "--at", "5:13", "--no-config"]);
    let guarded = "        if (t == 0) {
            x[i] = 0;
        } else {
            x[i] = t * (b[i] + c[i]);
        }
";
    assert!(after.contains(guarded), "{after}");
}

/// Counts of runs in the caches of another processor are not added to those that are there.
#[test]
fn misses_of_another_processor_are_not_added() {
    let place = Place::new("other-caches");
    let file = place.file("dot.c", GATHERED);
    let inputs = place.file("dot.toml", GATHERED_INPUTS);
    let add = |processor: &str| {
        place.file("lockstep.toml", format!("processor = \"{processor}\"\n"));
        let output = lockstep(&["profile", &file, "--inputs", &inputs, "--add"]);
        assert!(output.status.success(), "{}", errors(&output));
        format!("{}{}", text(&output), errors(&output))
    };
    let note = "no misses are kept: those that were counted are of the caches of bratt2001, not of itanium2_caches";
    assert!(!add("bratt2001").contains("no misses"));
    let said = add("itanium2_caches");
    assert!(said.contains(note), "{said}");
    let shown = text_of(&[
        "profile",
        "show",
        &place.path("dot.c.lockstep-profile.json"),
    ]);
    assert!(
        shown.contains("8192") && !shown.contains("in the caches of"),
        "{shown}"
    );
}

fn text_of(arguments: &[&str]) -> String {
    text(&lockstep(arguments))
}

/// The same product as PTX, for each thread.
const PRODUCT_OF_A_THREAD: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry mul(.param .u64 x, .param .u64 a, .param .u64 b, .param .u64 c)
.reqntid 64, 1, 1
{
\t.reg .b32 %r<8>;
\t.reg .b64 %rd<12>;
\tld.param.u64 %rd1, [x];
\tld.param.u64 %rd2, [a];
\tld.param.u64 %rd3, [b];
\tld.param.u64 %rd4, [c];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd5, %r1, 4;
\tadd.s64 %rd6, %rd2, %rd5;
\tadd.s64 %rd7, %rd3, %rd5;
\tadd.s64 %rd8, %rd4, %rd5;
\tadd.s64 %rd9, %rd1, %rd5;
\tld.global.u32 %r2, [%rd6];
\tld.global.u32 %r3, [%rd7];
\tld.global.u32 %r4, [%rd8];
\tadd.s32 %r5, %r3, %r4;
\tmul.lo.s32 %r6, %r2, %r5;
\tst.global.u32 [%rd9], %r6;
\tret;
}
";

#[test]
fn loads_of_ptx_are_guarded_and_the_guards_taken_back() {
    let place = Place::new("skipped-ptx");
    let file = place.file("mul.ptx", PRODUCT_OF_A_THREAD);
    let inputs = place.file(
        "mul.toml",
        "item = \"mul\"\n[buffers.a]\ntype = \"i32\"\ncount = 64\nfill = \"sparse\"\nzeros = 1\n",
    );
    run(&file, &inputs);
    let found = text(&lockstep(&["check", &file, "--no-config"]));
    assert!(
        found.contains("19:16: information[irrelevant-load]: `%r2` is zero in 100 % of warps, where 2 accesses cannot matter"),
        "{found}"
    );
    let at = |file: &str, arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend([file, "--at", "19:18", "--no-config"]);
        text(&lockstep(&all))
    };
    let listed = at(&file, &["actions"]);
    assert!(
        listed.contains("skip-loads")
            && listed.contains("Skip 2 accesses to memory where `%r2` is zero (saves ")
            && listed
                .contains("guards 2 statements where `%r2` is zero, without a vote or a branch"),
        "{listed}"
    );
    let after = at(&file, &["apply", "skip-loads"]);
    let guarded = "\tld.global.u32 %r2, [%rd6];
\t.reg .pred \t%lskip1; // lockstep: skip loads where %r2 is zero (1)
\tsetp.ne.b32 \t%lskip1, %r2, 0; // lockstep: tested (1)
\t@%lskip1 ld.global.u32 %r3, [%rd7];
\t@%lskip1 ld.global.u32 %r4, [%rd8];
\tadd.s32 %r5, %r3, %r4;
\tmul.lo.s32 %r6, %r2, %r5;
";
    assert!(after.contains(guarded), "{after}");
    let rewritten = place.file("guarded.ptx", &after);
    let back = at(&rewritten, &["apply", "remove-version"]);
    assert_eq!(back, PRODUCT_OF_A_THREAD);
}

/// A root that threads of the second half alone store.
const ROOT_OF_A_HALF: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry half(.param .u64 x, .param .u64 a)
.reqntid 64, 1, 1
{
\t.reg .pred %p<2>;
\t.reg .b32 %r<4>;
\t.reg .f32 %f<4>;
\t.reg .b64 %rd<8>;
\tld.param.u64 %rd1, [x];
\tld.param.u64 %rd2, [a];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd3, %r1, 4;
\tadd.s64 %rd4, %rd2, %rd3;
\tadd.s64 %rd5, %rd1, %rd3;
\tld.global.f32 %f1, [%rd4];
\tsqrt.rn.f32 %f2, %f1; // of all
\tsetp.lt.u32 %p1, %r1, 32;
\t@%p1 bra $DONE;
\tst.global.f32 [%rd5], %f2;
$DONE:
\tret;
}
";

#[test]
fn a_statement_of_ptx_goes_behind_the_branch_that_does_without_it() {
    let place = Place::new("sunk-ptx");
    let file = place.file("half.ptx", ROOT_OF_A_HALF);
    let at = |file: &str, arguments: &[&str], line: &str| {
        let mut all = arguments.to_vec();
        all.extend([file, "--at", line, "--no-config"]);
        text(&lockstep(&all))
    };
    let listed = at(&file, &["actions"], "18:3");
    assert!(
        listed.contains("Move `%f2` to where it is read\n")
            && listed.contains("on no way it is executed more often, and on some not at all"),
        "{listed}"
    );
    let inputs = place.file("half.toml", "item = \"half\"\n");
    run(&file, &inputs);
    let listed = at(&file, &["actions"], "18:3");
    assert!(
        listed.contains("Move `%f2` to where it is read: 50 % of its executions remain"),
        "{listed}"
    );
    let found = text(&lockstep(&["check", &file, "--no-config"]));
    assert!(
        found.contains("information[partially-dead]: `%f2` is computed 4096 times")
            && found.contains("50 % of its executions by warps remain"),
        "{found}"
    );
    let report = text(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let dead = report["functions"][0]["partly_dead"].as_array();
    let root = dead.and_then(|rows| rows.iter().find(|row| row["variable"] == "%f2"));
    let root = root.expect("a row");
    assert_eq!(root["moved_by_warps"], 0.5, "{root}");
    assert_eq!(root["moved"], Value::Null, "{root}");
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({ "general": { "positionEncodings": ["utf-8"] } }));
    let uri = format!("file://{file}");
    client.open(&uri, "ptx", ROOT_OF_A_HALF);
    let shown = client.request(
        "textDocument/inlayHint",
        json!({ "textDocument": { "uri": uri }, "range": {
            "start": { "line": 17, "character": 0 }, "end": { "line": 18, "character": 0 } } }),
    );
    assert!(shown.to_string().contains("dead in 50 %"), "{shown}");
    let hover = client.request(
        "textDocument/hover",
        json!({ "textDocument": { "uri": uri }, "position": { "line": 17, "character": 14 } }),
    );
    assert!(
        hover
            .to_string()
            .contains("50 % of its executions by warps remain"),
        "{hover}"
    );
    let after = at(&file, &["apply", "sink-dead"], "18:3");
    let moved = "\tld.global.f32 %f1, [%rd4];
\t // of all
\tsetp.lt.u32 %p1, %r1, 32;
\t@%p1 bra $DONE;
\tsqrt.rn.f32 %f2, %f1;
\tst.global.f32 [%rd5], %f2;
";
    assert!(after.contains(moved), "{after}");
    // What it is computed of goes there next.
    let again = place.file("moved.ptx", &after);
    let listed = at(&again, &["actions"], "17:3");
    assert!(
        listed.contains("what it loads arrives later than before"),
        "{listed}"
    );
    // The store is no statement of this kind.
    let none = at(&file, &["actions"], "21:3");
    assert!(!none.contains("Move `"), "{none}");
}
