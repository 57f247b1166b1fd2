//! The GPU code of a function, from the command line and over the wire.

#[path = "support/command.rs"]
mod command;
mod support;

use command::lockstep;
use serde_json::{Value, json};
use support::Client;

const KERNEL: &str = "__global__ void scale(float* out, const float* in, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) {\n        out[i] = in[4 * i] * 2.0f;\n    }\n}\n\n__device__ float half_of(float x) {\n    return x * 0.5f;\n}\n";

fn fixture(name: &str) -> String {
    format!("{}/../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_command_prints_an_entry_with_the_lines_it_comes_from() {
    let file = fixture("cuda/sparse_rows.cu");
    let output = lockstep(&["code", &file, "--item", "rowPerThread", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let row: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = row["text"].as_str().expect("a text");
    assert_eq!(row["target"], "sm_80");
    assert!(text.contains(".visible .entry rowPerThread("), "{text}");
    let source = std::fs::read_to_string(&file).expect("the fixture");
    let line_of = |what: &str| source.lines().position(|l| l.contains(what)).map(|l| l + 1);
    // The multiply-add of the inner loop comes from the line that adds.
    let multiply = text.lines().position(|l| l.contains("fma.rn.f32"));
    let from = row["lines"]
        .as_array()
        .and_then(|lines| {
            lines
                .iter()
                .find(|l| l[0] == json!(multiply.map(|l| l + 1)))
        })
        .map(|l| l[1].clone());
    assert_eq!(from, Some(json!(line_of("+="))), "{text}");
}

#[test]
fn what_has_no_code_is_said_with_the_reason() {
    let file = fixture("cuda/doubtful_hazards.cu");
    let output = lockstep(&["code", &file, "--item", "limitFromElsewhere"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("`Traits::kSplit` is not declared here"),
        "{said}"
    );
    assert!(output.stdout.is_empty());
    let output = lockstep(&["code", &file, "--item", "nobody"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("there are: rowsFromMemory"), "{said}");
}

#[test]
fn shaders_have_records_and_handles() {
    let output = lockstep(&["code", &fixture("hlsl/bindless_material.hlsl")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in [
        "MaterialPS_inputs",
        "MaterialPS_outputs",
        "ld.global.nc.f32",
        "tex.grad.2d.v4.f32.f32",
        "st.global.f32",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn registers_stand_beside_the_source() {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({ "general": { "positionEncodings": ["utf-8"] } }));
    let uri = "file:///work/code.cu";
    client.open(uri, "cuda-cpp", KERNEL);
    let asked = json!({ "textDocument": { "uri": uri } });
    let panel = client.request("lockstep/registers", asked);
    let text = panel["text"].as_str().expect("a text");
    let all: Vec<&str> = text.lines().collect();
    let lines = panel["lines"].as_array().expect("lines");
    let pairs = lines.iter().map(|pair| {
        let number = |at: usize| pair[at].as_u64().expect("a line") as usize;
        (
            all[number(0)],
            KERNEL.lines().nth(number(1)).expect("a line"),
        )
    });
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let (head, kernel) = pairs[0];
    assert!(
        head.starts_with("scale: ") && kernel.contains("scale("),
        "{pairs:?}\n{text}"
    );
    // A row of the table leads to the line that defines the value.
    let row = pairs
        .iter()
        .find(|(row, _)| row.contains("a result of `*`"));
    assert!(
        row.is_some_and(|(_, line)| line.contains("* 2.0f")),
        "{pairs:?}\n{text}"
    );
}

#[test]
fn the_code_follows_the_cursor_and_the_typing() {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({ "general": { "positionEncodings": ["utf-8"] } }));
    let uri = "file:///work/code.cu";
    client.open(uri, "cuda-cpp", KERNEL);
    let ask = |client: &mut Client, line: u32| {
        client.request(
            "lockstep/code",
            json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": 4 } }),
        )
    };
    let kernel = ask(&mut client, 3);
    let text = kernel["text"].as_str().expect("a text").to_owned();
    assert_eq!(kernel["name"], "scale");
    assert!(text.contains("// 4: out[i] = in[4 * i] * 2.0f;"), "{text}");
    assert!(text.contains("0f40000000"), "{text}");
    let line = text.lines().position(|l| l.contains("st.global.f32"));
    let lines = kernel["lines"].as_array().expect("lines");
    assert!(lines.contains(&json!([line, 3])), "{line:?} in {lines:?}");
    assert_eq!(ask(&mut client, 8)["name"], "half_of");
    client.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": uri, "version": 2 },
            "contentChanges": [{
                "range": { "start": { "line": 3, "character": 29 }, "end": { "line": 3, "character": 33 } },
                "text": "3.0f",
            }],
        }),
    );
    let edited = ask(&mut client, 3);
    let text = edited["text"].as_str().expect("a text");
    assert!(text.contains("0f40400000"), "{text}");
    assert_eq!(client.shutdown(), Some(0));
}
