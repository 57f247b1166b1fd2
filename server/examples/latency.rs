//! The time that an editor waits: the release binary over real pipes, one line a figure.
//!
//! ```sh
//! cargo build --release -p lockstep-server && cargo run --release -p lockstep-server --example latency
//! ```
//! If `clangd` is on the PATH, it gets the same requests for the same file, and the ratio is printed. `--
//! hints` measures only the figures with this in their name: initialize, hints, diagnostics, loops, sets, hover,
//! zeros, memory, clangd. `LOCKSTEP_BINARY` names another binary, to compare with;
//! `LOCKSTEP_CUDA_INCLUDE` the directory of CUDA's headers, with which the hints of zeros are measured as well.

#[path = "../tests/support/mod.rs"]
mod support;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use support::{Client, generated};

const ROUNDS: usize = 120;

fn main() {
    let binary = binary();
    if !binary.is_file() {
        eprintln!(
            "{} is not there: cargo build --release -p lockstep-server",
            binary.display()
        );
        std::process::exit(2);
    }
    println!("{:<58} {:>9} {:>9} {:>9}   limit", "", "p50", "p95", "max");
    let part = std::env::args().nth(1).unwrap_or_default();
    let wanted = |name: &str| name.contains(&part);
    if wanted("initialize") {
        initialize(&binary);
    }
    if wanted("hints") {
        edit_to_hints(&binary, 1_000, 5.0);
        edit_to_hints(&binary, 10_000, 20.0);
    }
    if wanted("diagnostics") {
        edit_to_diagnostics(&binary, 1_000, 10.0);
        edit_to_diagnostics(&binary, 10_000, f64::NAN);
    }
    if wanted("loops") {
        loops_of_c(&binary, 1_500, 30.0);
        loops_of_c(&binary, 10_000, 60.0);
    }
    if wanted("sets") {
        sets_of_c(&binary, 1_000, 30.0);
    }
    if wanted("hover") {
        hover(&binary, 1_000, 2.0);
    }
    if wanted("zeros") {
        zero_hints(&binary, 1_000, None, 10.0);
        if let Some(headers) = std::env::var_os("LOCKSTEP_CUDA_INCLUDE") {
            zero_hints(&binary, 1_000, Some(&PathBuf::from(headers)), 50.0);
        }
    }
    if wanted("memory") {
        memory(&binary);
    }
    if wanted("clangd") {
        beside_clangd(&binary);
    }
}

fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("LOCKSTEP_BINARY") {
        return PathBuf::from(named);
    }
    let mut path = std::env::current_exe().unwrap_or_default();
    path.pop();
    path.pop();
    path.join(format!("lockstep{}", std::env::consts::EXE_SUFFIX))
}

fn report(what: &str, mut times: Vec<Duration>, limit: f64) -> Duration {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let (p50, p95, max) = (at(0.5), at(0.95), at(1.0));
    let verdict = match limit.is_nan() {
        true => String::new(),
        false if p95.as_secs_f64() * 1e3 <= limit => format!("p95 <= {limit} ms: kept"),
        false => format!("p95 <= {limit} ms: MISSED"),
    };
    println!(
        "{what:<58} {:>9} {:>9} {:>9}   {verdict}",
        milliseconds(p50),
        milliseconds(p95),
        milliseconds(max)
    );
    p95
}

fn started(binary: &PathBuf) -> Client {
    let mut client = Client::spawn(binary, &["serve", "--stdio"]);
    client.initialize(json!({ "general": { "positionEncodings": ["utf-8", "utf-16"] } }));
    client
}

/// Starts a client with the settings that an editor starts with: diagnostics wait until typing pauses.
fn started_as_shipped(binary: &PathBuf) -> Client {
    let mut client = Client::spawn(binary, &["serve", "--stdio"]);
    let capabilities = json!({ "general": { "positionEncodings": ["utf-8", "utf-16"] } });
    client.initialize_with(capabilities, json!({}));
    client
}

fn initialize(binary: &PathBuf) {
    let times = (0..30).map(|_| {
        let begin = Instant::now();
        let mut client = Client::spawn(binary, &["serve", "--stdio"]);
        let _ = client.request(
            "initialize",
            json!({ "processId": null, "rootUri": null, "capabilities": {} }),
        );
        begin.elapsed()
    });
    report(
        "process start to initialize answered",
        times.collect(),
        50.0,
    );
}

/// The line of the first `sum > 1.0f` behind the middle: an edit inside one function.
fn edited_line(text: &str) -> u32 {
    let middle = text.lines().count() / 2;
    let at = text
        .lines()
        .enumerate()
        .skip(middle)
        .find(|(_, line)| line.contains("float limit = sum"));
    at.map_or(0, |(number, _)| number as u32)
}

fn edit(client: &mut Client, uri: &str, line: u32, round: usize) {
    let text = if round.is_multiple_of(2) {
        "2.0f"
    } else {
        "1.0f"
    };
    client.change(uri, round as i32 + 2, Some((line, 22, line, 26)), text);
}

fn hints(client: &mut Client, uri: &str, line: u32) -> Value {
    let range = json!({ "start": { "line": line.saturating_sub(30), "character": 0 }, "end": { "line": line + 30, "character": 0 } });
    client.request(
        "textDocument/inlayHint",
        json!({ "textDocument": { "uri": uri }, "range": range }),
    )
}

fn edit_to_hints(binary: &PathBuf, lines: usize, limit: f64) {
    let text = generated(lines);
    let line = edited_line(&text);
    let mut client = started_as_shipped(binary);
    let uri = "file:///latency/a.cu";
    let begin = Instant::now();
    client.open(uri, "cuda-cpp", &text);
    let first = hints(&mut client, uri, line);
    let cold = begin.elapsed();
    let count = first.as_array().map_or(0, Vec::len);
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        // An editor leaves some time between keys.
        std::thread::sleep(Duration::from_millis(20));
        let begin = Instant::now();
        edit(&mut client, uri, line, round);
        hints(&mut client, uri, line);
        times.push(begin.elapsed());
    }
    println!(
        "  first hints of {lines} lines: {:.1} ms, {count} hints of 60 lines",
        cold.as_secs_f64() * 1e3
    );
    report(
        &format!("edit in one function to inlay hints, {lines} lines"),
        times,
        limit,
    );
}

fn edit_to_diagnostics(binary: &PathBuf, lines: usize, limit: f64) {
    let text = generated(lines);
    let line = edited_line(&text);
    let mut client = started(binary);
    let uri = "file:///latency/a.cu";
    client.open(uri, "cuda-cpp", &text);
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["version"] == 1
    });
    let times = (0..ROUNDS).map(|round| {
        std::thread::sleep(Duration::from_millis(5));
        let begin = Instant::now();
        edit(&mut client, uri, line, round);
        client.wait_for("textDocument/publishDiagnostics", |params| {
            params["version"] == round as i64 + 2
        });
        begin.elapsed()
    });
    let times = times.collect();
    report(
        &format!("edit to published diagnostics, debounce 0, {lines} lines"),
        times,
        limit,
    );
}

/// C with a processor whose loops are scheduled.
fn generated_c(lines: usize) -> String {
    let mut text = String::from(
        "#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n\nstatic int clamped(int v, int most) { return v > most ? most : v; }\n\n",
    );
    let mut number = 0;
    while text.lines().count() + 32 <= lines {
        text.push_str(&format!(
            r"static const short table_{number}[8] = {{ 1, 2, 3, 5, 7, 11, 13, {number} }};

float sum_{number}(const float *restrict a, const float *restrict b, int n) {{
  float sum = 0.0f;
  for (int i = 0; i < n; i++) {{
    sum += a[i] * b[i];
  }}
  float limit = sum > 1.0f ? 1.0f : sum;
  return limit + {number}.0f;
}}

void filter_{number}(int16_t *out, const int16_t *in, int n, int shift) {{
  for (int row = 0; row < n; row++) {{
    int gathered = 0;
    for (int tap = 0; tap < 8; tap++) {{
      gathered += in[row + tap] * table_{number}[tap];
    }}
    out[row] = (int16_t)clamped(gathered >> shift, 32767);
  }}
}}

int find_{number}(const char *text, char wanted) {{
  int at = 0;
  while (text[at] && text[at] != wanted) {{
    at++;
  }}
  return text[at] ? at : -1;
}}

"
        ));
        number += 1;
    }
    text
}

/// C of a codec: a correlation that saturates, a filter, a search.
fn generated_codec(lines: usize) -> String {
    let mut text = String::from(
        "#include <prototype.h>\n\nstatic Word32 clamped(Word32 v, Word32 most) { return v > most ? most : v; }\n\n",
    );
    let mut number = 0;
    while text.lines().count() + 40 <= lines {
        text.push_str(&format!(
            r"static const Word16 table_{number}[8] = {{ 1, 2, 3, 5, 7, 11, 13, {number} }};

Word32 correlate_{number}(const Word16 *restrict x, const Word16 *restrict y, int n) {{
  Word32 sum = 0;
  for (int i = 0; i < n; i++) {{
    sum = L_mac(sum, x[i], y[i]);
  }}
  Word32 limit = sum > 100 ? {number} : sum;
  return L_shl(limit, 2);
}}

void filter_{number}(Word16 *out, const Word16 *in, int n, int shift) {{
  for (int row = 0; row < n; row++) {{
    Word32 gathered = 0;
    for (int tap = 0; tap < 8; tap++) {{
      gathered = L_mac(gathered, in[row + tap], table_{number}[tap]);
    }}
    out[row] = round(clamped(gathered >> shift, 32767));
  }}
}}

int search_{number}(const Word16 *book, const Word16 *v, int count, int order) {{
  int best = 0;
  int least = 2147483647;
  for (int k = 0; k < count; k++) {{
    int sum = 0;
    for (int i = 0; i < order; i++) {{
      int d = book[i] - v[i];
      sum += d * d;
    }}
    if (sum < least) {{
      least = sum;
      best = k;
    }}
    book += order;
  }}
  return best;
}}

"
        ));
        number += 1;
    }
    text
}

/// The same with execution sets: the item's code for the SC140, its loops and spills.
fn sets_of_c(binary: &PathBuf, lines: usize, limit: f64) {
    let text = generated_codec(lines);
    let lines_of = || text.lines().enumerate().skip(text.lines().count() / 2);
    let found = lines_of().find(|(_, line)| line.contains("limit = sum > 100"));
    let (line, column) = found.map_or((0, 0), |(line, text)| {
        (line as u32, text.find("100").unwrap_or(0) as u32)
    });
    let edit = |client: &mut Client, uri: &str, round: usize| {
        let number = ["200", "100"][round % 2];
        let range = (line, column, line, column + 3);
        client.change(uri, round as i32 + 2, Some(range), number);
    };
    edits_of_c(binary, "sc140", &text, &edit, limit);
}

/// Time and processor time from an edit in one function to its diagnostics, loops scheduled; its own loop is one of them.
fn loops_of_c(binary: &PathBuf, lines: usize, limit: f64) {
    let text = generated_c(lines);
    let line = edited_line(&text);
    let edit = |client: &mut Client, uri: &str, round: usize| edit(client, uri, line, round);
    edits_of_c(binary, "itanium2", &text, &edit, limit);
}

fn edits_of_c(
    binary: &PathBuf,
    processor: &str,
    text: &str,
    edit: &dyn Fn(&mut Client, &str, usize),
    limit: f64,
) {
    let lines = text.lines().count();
    let mut client = Client::spawn(binary, &["serve", "--stdio"]);
    client.initialize_with(
        json!({ "general": { "positionEncodings": ["utf-8", "utf-16"] } }),
        json!({ "server": { "debounceMs": 0 }, "processor": processor }),
    );
    let uri = "file:///latency/a.c";
    let begin = Instant::now();
    client.open(uri, "c", text);
    let first = client.wait_for("textDocument/publishDiagnostics", |params| {
        params["version"] == 1
    });
    let count = first["diagnostics"].as_array().map_or(0, Vec::len);
    println!(
        "  first diagnostics of {lines} lines of C on {processor}: {:.0} ms, {count} of them",
        begin.elapsed().as_secs_f64() * 1e3
    );
    let before = client.processor_time();
    let times = (0..ROUNDS).map(|round| {
        std::thread::sleep(Duration::from_millis(5));
        let begin = Instant::now();
        edit(&mut client, uri, round);
        client.wait_for("textDocument/publishDiagnostics", |params| {
            params["version"] == round as i64 + 2
        });
        begin.elapsed()
    });
    let times = times.collect();
    report(
        &format!("edit to diagnostics with loops, {lines} lines, {processor}"),
        times,
        limit,
    );
    if let (Some(before), Some(after)) = (before, client.processor_time()) {
        let each = 1e3 * (after - before) / ROUNDS as f64;
        println!("  {each:.1} ms of processor time an edit");
    }
}

fn hover(binary: &PathBuf, lines: usize, limit: f64) {
    let text = generated(lines);
    let mut client = started(binary);
    let uri = "file:///latency/a.cu";
    client.open(uri, "cuda-cpp", &text);
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["version"] == 1
    });
    let line = edited_line(&text);
    let mut answered = 0;
    let times = (0..ROUNDS as u32).map(|round| {
        let position = json!({ "line": line - round % 20, "character": 4 + round % 8 });
        let begin = Instant::now();
        let answer = client.request(
            "textDocument/hover",
            json!({ "textDocument": { "uri": uri }, "position": position }),
        );
        answered += usize::from(!answer.is_null());
        begin.elapsed()
    });
    let times = times.collect();
    report(&format!("hover, {lines} lines"), times, limit);
    println!("  {answered} of {ROUNDS} hovers said something");
}

/// Hints from a profile of the kernels in view, behind an edit of another kernel.
fn zero_hints(binary: &PathBuf, lines: usize, headers: Option<&Path>, limit: f64) {
    let directory = std::env::temp_dir().join(format!("lockstep-latency-{}", std::process::id()));
    if std::fs::create_dir_all(&directory).is_err() {
        return;
    }
    // Each kernel has a value that few of its lanes read.
    let rare = "  float rare = sqrtf(sum) / scale + expf(sum) / (sum + 3.0f);\n  if (lane == 5 && row == 7) {\n    out[row] = rare;\n  }\n";
    let behind = "  int target = row";
    let mut text = generated(lines).replace(behind, &format!("{rare}{behind}"));
    let mut named = String::new();
    if let Some(headers) = headers {
        let configuration = format!("include_dirs = [{headers:?}]\n");
        if std::fs::write(directory.join("lockstep.toml"), configuration).is_err() {
            return;
        }
        text.insert_str(0, "#include <curand_kernel.h>\n");
        named.push_str(", the toolkit's headers included");
    }
    let path = directory.join("profiled.cu");
    let uri = format!("file://{}", path.display());
    let mut client = started_as_shipped(binary);
    client.open(&uri, "cuda-cpp", &text);
    let line = edited_line(&text);
    let heads = text
        .lines()
        .enumerate()
        .filter(|(number, line)| line.contains("__global__") && *number < 300);
    let heads: Vec<u32> = heads.map(|(number, _)| number as u32).collect();
    // Rows of zeros for whole warps.
    let inputs = directory.join("inputs.toml");
    let description = "[launch]\nthreads = [1024]\n[values]\nn = 64\npitch = 64\n[buffers.in]\nfill = \"sparse\"\nzeros = 0.999\ncount = 65536\n";
    if std::fs::write(&inputs, description).is_err() {
        return;
    }
    for &head in &heads {
        let at = json!({ "textDocument": { "uri": uri }, "position": { "line": head, "character": 20 }, "inputs": inputs });
        client.request(
            "workspace/executeCommand",
            json!({ "command": "lockstep.profile", "arguments": [at] }),
        );
    }
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 300, "character": 0 } });
    let (mut zeros, mut dead) = (0, 0);
    let times = (0..ROUNDS).map(|round| {
        std::thread::sleep(Duration::from_millis(20));
        let begin = Instant::now();
        edit(&mut client, &uri, line, round);
        let hints = client.request(
            "textDocument/inlayHint",
            json!({ "textDocument": { "uri": uri }, "range": range }),
        );
        let time = begin.elapsed();
        zeros = hints.to_string().matches("0 in ").count();
        dead = hints.to_string().matches("dead in ").count();
        time
    });
    let times = times.collect();
    report(
        &format!("edit elsewhere to hints with zeros and dead values, {lines} lines{named}"),
        times,
        limit,
    );
    println!(
        "  {zeros} hints of zeros, {dead} of partly dead values, {} profiled kernels",
        heads.len()
    );
    drop(std::fs::remove_dir_all(&directory));
}

fn memory(binary: &PathBuf) {
    let mut client = started(binary);
    let text = generated(500);
    for number in 0..50 {
        let uri = format!("file:///latency/f{number}.cu");
        client.open(
            &uri,
            "cuda-cpp",
            &text.replace("kernel_", &format!("kernel_{number}_")),
        );
    }
    for number in 0..50 {
        let uri = format!("file:///latency/f{number}.cu");
        client.wait_for("textDocument/publishDiagnostics", |params| {
            params["uri"] == uri
        });
        let params = json!({ "textDocument": { "uri": uri } });
        client.request("textDocument/semanticTokens/full", params.clone());
        client.request("textDocument/codeLens", params);
    }
    match client.resident() {
        Some(kib) => {
            let mib = kib as f64 / 1024.0;
            let verdict = if mib <= 80.0 { "kept" } else { "MISSED" };
            println!(
                "{:<58} {mib:>6.1} MiB {:>23}<= 80 MB: {verdict}",
                "resident with 50 files of 500 lines open", ""
            );
        }
        None => println!("resident memory: not told by this system"),
    }
}

/// The same edits and hovers in the same file, for both.
fn beside_clangd(binary: &PathBuf) {
    let found = std::process::Command::new("clangd")
        .arg("--version")
        .output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("clangd is not on the PATH: no comparison");
        return;
    }
    let directory = std::env::temp_dir().join("lockstep-latency");
    if std::fs::create_dir_all(&directory).is_err() {
        return;
    }
    let text = format!("{PRELUDE}{}", generated(1_000));
    let path = directory.join("a.cpp");
    let uri = format!("file://{}", path.display());
    if std::fs::write(&path, &text).is_err() {
        return;
    }
    let line = edited_line(&text);
    let measure = |client: &mut Client, language: &str| {
        client.open(&uri, language, &text);
        client.wait_for("textDocument/publishDiagnostics", |params| {
            params["uri"] == uri
        });
        // A hover behind an edit is answered from the new text by both.
        let mut times = Vec::new();
        for round in 0..40 {
            std::thread::sleep(Duration::from_millis(20));
            let position = json!({ "line": line, "character": 9 });
            let begin = Instant::now();
            edit(client, &uri, line, round);
            client.request(
                "textDocument/hover",
                json!({ "textDocument": { "uri": uri }, "position": position }),
            );
            times.push(begin.elapsed());
        }
        times
    };
    let mut ours = started(binary);
    let our_times = measure(&mut ours, "cuda-cpp");
    let mut theirs = Client::spawn("clangd", &["--log=error", "--background-index=false"]);
    theirs.initialize(json!({ "offsetEncoding": ["utf-8"] }));
    let their_times = measure(&mut theirs, "cpp");
    let a = report(
        "  lockstep: edit to fresh hover, the file that clangd reads",
        our_times,
        f64::NAN,
    );
    let b = report("  clangd:   edit to fresh hover", their_times, f64::NAN);
    println!(
        "  ratio clangd / lockstep at p95: {:.1}",
        b.as_secs_f64() / a.as_secs_f64()
    );
    if let (Some(ours), Some(theirs)) = (ours.resident(), theirs.resident()) {
        println!(
            "  resident: lockstep {} MiB, clangd {} MiB",
            ours / 1024,
            theirs / 1024
        );
    }
}

/// Lets a C++ front end without the CUDA toolkit read the file.
const PRELUDE: &str = "\
#ifndef __CUDACC__
#define __global__
#define __device__
#define __shared__ static
struct dim3_ { int x, y, z; };
extern dim3_ threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();
#endif
";
