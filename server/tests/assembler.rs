//! Figures of an assembler take the place of estimates: in an editor when they arrive, on the command line when they are asked for.
//! A script stands in for `ptxas`; the real one is asked, too, where `LOCKSTEP_PTXAS` names it.

#![cfg(unix)]

#[path = "support/command.rs"]
mod command;
mod support;

use command::{Place, json as read, text};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};
use support::Client;

const KERNEL: &str = "__global__ void __launch_bounds__(256) k(float* out, const float* in) {
  out[blockIdx.x * 256 + threadIdx.x] = 2.0f * in[blockIdx.x * 256 + threadIdx.x];
}
";
/// The same with a constant that the script takes long for.
const SLOW: &str =
    "__global__ void __launch_bounds__(256) k(int* out) { out[threadIdx.x] = 987654321; }\n";

/// Says 66 registers of the first entry, writes a line for each run, and complains where two run at once.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.5, V13.5.1"; exit 0; fi
for source; do :; done
echo run >> "$here/runs"
if grep -q 987654321 "$source"; then echo $$ > "$here/slow"; exec sleep 60; fi
mkdir "$here/busy" || echo two >> "$here/overlaps"
name=$(sed -n 's/.*\.entry \([A-Za-z0-9_$]*\).*/\1/p' "$source" | head -n 1)
echo "ptxas info    : Compiling entry function '$name' for 'sm_80'"
echo "ptxas info    : Function properties for $name"
echo "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads"
echo "ptxas info    : Used 66 registers, 1024 bytes smem"
rmdir "$here/busy"
"#;

fn script(place: &Place) -> String {
    let path = place.file("ptxas", SCRIPT);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("executable");
    path
}

fn runs(place: &Place) -> usize {
    let text = std::fs::read_to_string(place.path("runs")).unwrap_or_default();
    text.lines().count()
}

fn client(tool: &str) -> Client {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    let capabilities = json!({ "general": { "positionEncodings": ["utf-8"] } });
    client.initialize_with(capabilities, json!({ "ptxas": { "path": tool } }));
    client
}

fn codes(params: &Value) -> Vec<&str> {
    let all = params["diagnostics"].as_array().into_iter().flatten();
    all.filter_map(|it| it["code"].as_str()).collect()
}

fn lenses(client: &mut Client, uri: &str) -> String {
    let document = json!({ "textDocument": { "uri": uri } });
    let shown = client.request("textDocument/codeLens", document);
    let titles = shown.as_array().into_iter().flatten();
    let titles = titles.filter_map(|lens| lens["command"]["title"].as_str());
    titles.collect::<Vec<_>>().join("\n")
}

/// The lens and the findings have the assembler's counts once they are known; until then they answer with the
/// estimate.
#[test]
fn figures_arrive_and_stay_as_long_as_the_code_does() {
    let place = Place::new("figures");
    let mut client = client(&script(&place));
    let uri = "file:///assembled/k.cu";
    client.open(uri, "cuda-cpp", KERNEL);
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == uri && codes(params).contains(&"occupancy-cliff")
    });
    let told = lenses(&mut client, uri);
    assert!(
        told.contains("66 registers (ptxas 13.5), 28 bytes of spills"),
        "{told}"
    );
    assert!(!told.contains("(estimate)"), "{told}");
    let hover =
        json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 39 } });
    let hover = client.request("textDocument/hover", hover);
    let hover = hover["contents"]["value"].as_str().unwrap_or("").to_owned();
    assert!(hover.contains("ptxas 13.5 allocates 66"), "{hover}");
    // The code is the same below another line: nothing runs again, and the figure stands.
    let runs_before = runs(&place);
    client.change(uri, 2, None, &format!("// a line\n{KERNEL}"));
    let told = lenses(&mut client, uri);
    assert!(told.contains("ptxas 13.5"), "{told}");
    client.drain(Duration::from_millis(700));
    assert_eq!(runs(&place), runs_before);
    // Another code has the estimate until its own figure is there.
    client.change(uri, 3, None, &KERNEL.replace("2.0f", "3.0f"));
    let told = lenses(&mut client, uri);
    assert!(!told.contains("ptxas 13.5"), "{told}");
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["version"] == 3 && codes(params).contains(&"occupancy-cliff")
    });
    assert_eq!(client.shutdown(), Some(0));
}

/// An edit ends the process for the text before it; no two processes run at once.
#[test]
fn an_edit_ends_the_process() {
    let place = Place::new("ended");
    let mut client = client(&script(&place));
    let (slow, other) = ("file:///assembled/slow.cu", "file:///assembled/other.cu");
    client.open(slow, "cuda-cpp", SLOW);
    let begin = Instant::now();
    let process = loop {
        if let Ok(text) = std::fs::read_to_string(place.path("slow"))
            && !text.trim().is_empty()
        {
            break text.trim().to_owned();
        }
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "the script was not started"
        );
        std::thread::sleep(Duration::from_millis(20));
    };
    // It answers while the process runs; a second document waits for its turn.
    client.open(other, "cuda-cpp", KERNEL);
    assert!(lenses(&mut client, other).contains("(estimate"));
    assert_eq!(runs(&place), 1);
    client.change(slow, 2, None, KERNEL);
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == slow && codes(params).contains(&"occupancy-cliff")
    });
    assert!(
        begin.elapsed() < Duration::from_secs(50),
        "it was waited for"
    );
    let lives = Command::new("kill").args(["-0", &process]).output();
    assert!(!lives.expect("kill").status.success(), "{process} lives");
    assert!(!std::path::Path::new(&place.path("overlaps")).exists());
    assert_eq!(client.shutdown(), Some(0));
}

fn with_tool(tool: &str, arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(arguments)
        .env("LOCKSTEP_PTXAS", tool)
        .output()
        .expect("the binary starts")
}

#[test]
fn the_command_line_waits_for_figures() {
    let place = Place::new("waits");
    let tool = script(&place);
    let file = place.file("k.cu", KERNEL);
    let ask = |more: &[&str]| {
        let arguments = ["registers", &file, "--no-config", "--format", "json"];
        read(&with_tool(&tool, &[&arguments[..], more].concat()))
    };
    let kernel = &ask(&["--ptxas"])["kernels"][0];
    assert_eq!(kernel["registers"], 66);
    assert_eq!(kernel["label"], "ptxas 13.5");
    assert_eq!(kernel["spill_load_bytes"], 16);
    assert_eq!(ask(&[])["kernels"][0]["label"], "estimate");
    let told = text(&with_tool(
        &tool,
        &["check", &file, "--no-config", "--ptxas"],
    ));
    let cliff = "takes 66 registers (ptxas 13.5): with 64 occupancy is 50 % in place of 38 %";
    assert!(told.contains(cliff), "{told}");
    let told = text(&with_tool(&tool, &["check", &file, "--no-config"]));
    assert!(!told.contains("occupancy-cliff"), "{told}");
}

const SUM: &str = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry first(.param .u64 out)\n{\n\t.reg .b64 %rd<2>;\n\
    \tld.param.u64 %rd1, [out];\n\tst.global.u32 [%rd1], 1;\n\tret;\n}\n.visible .entry second(.param .u64 out)\n{\n\t.reg .b32 %r<2>;\n\
    \t.reg .b64 %rd<3>;\n\tld.param.u64 %rd1, [out];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd2, %rd1, %rd2;\n\
    \tst.global.u32 [%rd2], %r1;\n\tret;\n}\n";

/// Each entry of a PTX file has its own numbers, and so has a printed kernel.
#[test]
fn ptxas_itself_is_read() {
    let Some(tool) = std::env::var("LOCKSTEP_PTXAS").ok() else {
        println!("not judged: LOCKSTEP_PTXAS names no ptxas");
        return;
    };
    let place = Place::new("real");
    for (file, names) in [
        (place.file("sum.ptx", SUM), &["first", "second"][..]),
        (place.file("k.cu", KERNEL), &["k"][..]),
    ] {
        let report = read(&with_tool(
            &tool,
            &[
                "registers",
                &file,
                "--no-config",
                "--ptxas",
                "--format",
                "json",
            ],
        ));
        let kernels = report["kernels"].as_array().expect("kernels");
        assert_eq!(kernels.len(), names.len());
        for kernel in kernels {
            let label = kernel["label"].as_str().unwrap_or("");
            assert!(label.starts_with("ptxas "), "{kernel:#}");
            assert_eq!(kernel["spill_load_bytes"], 0);
            let registers = kernel["registers"].as_u64().expect("a number");
            assert!((4..=32).contains(&registers), "{kernel:#}");
        }
    }
}
