//! The protocol over real pipes: order, cancellation, limits and bad input. The server is the built binary.

mod support;

use serde_json::{Value, json};
use std::time::Duration;
use support::{Client, generated};

const URI: &str = "file:///wire/a.cu";

fn client(capabilities: Value) -> Client {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(capabilities);
    client
}

fn utf8() -> Value {
    json!({ "general": { "positionEncodings": ["utf-8", "utf-16"] } })
}

fn document() -> Value {
    json!({ "textDocument": { "uri": URI } })
}

fn at(line: u32, character: u32) -> Value {
    json!({ "textDocument": { "uri": URI }, "position": { "line": line, "character": character } })
}

fn names(symbols: &Value) -> Vec<String> {
    let list = symbols.as_array().cloned().unwrap_or_default();
    list.iter()
        .map(|it| it["name"].as_str().unwrap_or("").to_owned())
        .collect()
}

#[test]
fn requests_see_every_edit_before_them_and_none_after() {
    let mut client = client(utf8());
    client.open(URI, "cuda-cpp", "void f0() {}\n");
    let mut asked = Vec::new();
    for number in 1..=300 {
        client.change(
            URI,
            number + 1,
            Some((0, 5, 0, 5 + 1 + digits(number - 1))),
            &format!("f{number}"),
        );
        if number % 3 == 0 {
            asked.push((
                number,
                client.ask("textDocument/documentSymbol", document()),
            ));
            client.ask("textDocument/semanticTokens/full", document());
        }
    }
    let mut answered = 0;
    for (number, id) in asked {
        let answer = client.answer(id);
        // A request that an edit overtook may be told so; what is answered is the text of its place in the wire.
        if answer.get("error").is_some() {
            assert_eq!(answer["error"]["code"], -32801, "{answer}");
            continue;
        }
        assert_eq!(names(&answer["result"]), [format!("f{number}")]);
        answered += 1;
    }
    assert!(answered > 0);
    let last = client.request("textDocument/documentSymbol", document());
    assert_eq!(names(&last), ["f300"]);
    assert_eq!(client.shutdown(), Some(0));
}

fn digits(number: i32) -> u32 {
    number.to_string().len() as u32
}

#[test]
fn an_edit_while_slow_requests_run_is_taken_up_at_once() {
    let mut client = client(utf8());
    client.open(URI, "cuda-cpp", &generated(6000));
    let slow: Vec<i64> = (0..8)
        .map(|_| client.ask("textDocument/semanticTokens/full", document()))
        .collect();
    client.change(URI, 2, Some((0, 0, 0, 0)), "void first() {}\n");
    let symbols = client.request("textDocument/documentSymbol", document());
    assert_eq!(names(&symbols).first().map(String::as_str), Some("first"));
    for id in slow {
        let answer = client.answer(id);
        assert!(
            answer.get("result").is_some() || answer["error"]["code"] == -32801,
            "{answer}"
        );
    }
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn cancel_before_during_and_after() {
    let mut client = client(utf8());
    // Before: an id that was never used.
    client.notify("$/cancelRequest", json!({ "id": 999 }));
    client.open(URI, "cuda-cpp", &generated(6000));
    // During: the first computes, the others wait for it.
    let asked: Vec<i64> = (0..6)
        .map(|_| client.ask("textDocument/semanticTokens/full", document()))
        .collect();
    for id in &asked {
        client.notify("$/cancelRequest", json!({ "id": id }));
    }
    for &id in &asked {
        let answer = client.answer(id);
        assert!(
            answer.get("result").is_some() || answer["error"]["code"] == -32800,
            "{answer}"
        );
    }
    // After: the answer is there already.
    client.notify("$/cancelRequest", json!({ "id": asked[0] }));
    let symbols = client.request("textDocument/documentSymbol", document());
    assert!(names(&symbols).len() > 100);
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn refreshes_that_the_client_never_answers_hold_nothing_up() {
    let mut client = client(json!({ "workspace": { "inlayHint": { "refreshSupport": true } } }));
    client.answers_requests = false;
    client.open(URI, "cuda-cpp", "void f() {}\n");
    for number in 0..8 {
        let settings = json!({ "lockstep": { "warpSize": 32 + number % 2 * 32 } });
        client.notify(
            "workspace/didChangeConfiguration",
            json!({ "settings": settings }),
        );
    }
    let symbols = client.request("textDocument/documentSymbol", document());
    assert_eq!(names(&symbols), ["f"]);
    client.drain(Duration::from_millis(300));
    assert!(client.server_requests >= 8, "{}", client.server_requests);
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn shutdown_with_work_in_flight() {
    let mut client = client(utf8());
    client.open(URI, "cuda-cpp", &generated(6000));
    for _ in 0..8 {
        client.ask("textDocument/semanticTokens/full", document());
    }
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn after_shutdown_requests_are_invalid_and_exit_without_it_is_a_failure() {
    let mut first = client(utf8());
    let id = first.ask("shutdown", Value::Null);
    assert!(first.answer(id).get("error").is_none());
    let id = first.ask("textDocument/hover", at(0, 0));
    assert_eq!(first.answer(id)["error"]["code"], -32600);
    first.notify("exit", Value::Null);
    assert_eq!(first.exit_code(), Some(0));

    let mut second = client(utf8());
    second.notify("exit", Value::Null);
    assert_eq!(second.exit_code(), Some(1));

    let mut third = client(utf8());
    third.close_input();
    assert_eq!(third.exit_code(), Some(1));
}

#[test]
fn requests_before_initialize_are_refused() {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["--stdio"]);
    let id = client.ask("textDocument/hover", at(0, 0));
    assert_eq!(client.answer(id)["error"]["code"], -32002);
    client.initialize(json!({}));
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn malformed_messages_are_answered_and_survived() {
    let mut client = client(utf8());
    client.send_bytes(b"Content-Length: 5\r\n\r\n{\"a\":");
    client.send_bytes(b"garbage\r\nContent-Length: nonsense\r\n\r\n");
    client.send_bytes(b"Content-Length: 4\r\n\r\n\xff\xfe\xfd\xfc");
    client.send_bytes(b"Content-Length: 0\r\n\r\n");
    let deep = "[".repeat(100_000);
    client.send_bytes(format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes());
    client.send(&json!([1, 2, 3]));
    client.send(&json!({ "jsonrpc": "2.0", "id": 77, "method": "textDocument/hover", "params": { "nonsense": true } }));
    assert_eq!(client.answer(77)["error"]["code"], -32602);
    client.open(URI, "cuda-cpp", "void f() {}\n");
    assert_eq!(
        names(&client.request("textDocument/documentSymbol", document())),
        ["f"]
    );
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn unknown_methods() {
    let mut client = client(utf8());
    client.notify("$/whatever", json!({}));
    client.notify("what/ever", json!({}));
    let id = client.ask("$/whatever", json!({}));
    assert_eq!(client.answer(id)["error"]["code"], -32601);
    let id = client.ask("what/ever", json!({}));
    assert_eq!(client.answer(id)["error"]["code"], -32601);
    let id = client.ask(
        "textDocument/moniker",
        json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 0 } }),
    );
    assert_eq!(client.answer(id)["error"]["code"], -32601);
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn out_of_range_positions_mean_the_nearest_place() {
    let mut client = client(utf8());
    client.open(URI, "cuda-cpp", "void f() {}\n");
    for (line, character) in [(0, 999), (999, 0), (u32::MAX, u32::MAX), (1, 1)] {
        let id = client.ask("textDocument/hover", at(line, character));
        assert!(client.answer(id).get("result").is_some());
        let range = json!({ "start": { "line": line, "character": character }, "end": { "line": 0, "character": 0 } });
        let hints = client.request(
            "textDocument/inlayHint",
            json!({ "textDocument": { "uri": URI }, "range": range }),
        );
        assert!(hints.is_array());
    }
    client.change(URI, 2, Some((500, 3, 900, 9)), "void g() {}\n");
    client.change(URI, 3, Some((0, 7, 0, 5)), "");
    assert_eq!(
        names(&client.request("textDocument/documentSymbol", document())).len(),
        2
    );
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn columns_count_in_the_negotiated_units() {
    // Four bytes, two UTF-16 units, one character.
    let text = "// 😀\n/* 😀 */ void f() {}\r\nvoid g() {}\n";
    for (offered, expected) in [
        (json!(["utf-8"]), 16),
        (json!(["utf-16"]), 14),
        (json!(["utf-32"]), 13),
        (Value::Null, 14),
    ] {
        let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
        let general = if offered.is_null() {
            json!({})
        } else {
            json!({ "general": { "positionEncodings": offered } })
        };
        client.initialize(general);
        client.open(URI, "cuda-cpp", text);
        let symbols = client.request("textDocument/documentSymbol", document());
        let start = &symbols[0]["range"]["start"];
        assert_eq!(
            (start["line"].as_u64(), start["character"].as_u64()),
            (Some(1), Some(expected - 5)),
            "{offered} {symbols}"
        );
        assert_eq!(symbols[1]["range"]["start"]["line"], 2);
        // An edit behind the surrogate pair.
        let column = (expected) as u32;
        client.change(URI, 2, Some((1, column, 1, column + 1)), "h");
        assert_eq!(
            names(&client.request("textDocument/documentSymbol", document())),
            ["h", "g"],
            "{offered}"
        );
        assert_eq!(client.shutdown(), Some(0));
    }
}

#[test]
fn byte_order_mark_and_line_ends() {
    let mut client = client(utf8());
    client.open(
        URI,
        "cuda-cpp",
        "\u{feff}void f() {}\r\nvoid g() {}\rvoid h() {}\n",
    );
    let symbols = client.request("textDocument/documentSymbol", document());
    assert_eq!(names(&symbols), ["f", "g", "h"]);
    let lines: Vec<_> = (0..3)
        .map(|at| symbols[at]["range"]["start"]["line"].as_u64())
        .collect();
    assert_eq!(lines, [Some(0), Some(1), Some(2)]);
    client.change(URI, 2, Some((2, 5, 2, 6)), "k");
    assert_eq!(
        names(&client.request("textDocument/documentSymbol", document())),
        ["f", "g", "k"]
    );
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn hostile_texts_leave_the_server_alive() {
    let deep_parentheses = format!(
        "__global__ void k(int* a) {{ a[0] = {}1{}; }}",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    let deep_braces = format!(
        "__global__ void k() {}{}",
        "{".repeat(100_000),
        "}".repeat(100_000)
    );
    let unbalanced = "}".repeat(50_000);
    let open = "__global__ void k(int a) { if (a { for (;;".repeat(2000);
    let long_line = format!(
        "__global__ void k(int* a) {{ {} }}",
        "a[0] = a[1] + 1; ".repeat(600_000)
    );
    let binary: String = (0..200_000u32)
        .map(|n| char::from_u32(n * 7 % 0xd7ff).unwrap_or('x'))
        .collect();
    let recursive_macros = "#define A B B B\n#define B A A A\n#define C(x) C(C(x x))\nint x = A; int y = C(C(C(A)));\n";
    let texts = [
        deep_parentheses.as_str(),
        &deep_braces,
        &unbalanced,
        &open,
        &long_line,
        &binary,
        recursive_macros,
        "",
        "\0\0\0",
    ];
    for language in ["cuda-cpp", "hlsl", "ptx", "musimd"] {
        let mut client = client(utf8());
        for (number, text) in texts.iter().enumerate() {
            let uri = format!("file:///wire/{language}-{number}.txt");
            client.open(&uri, language, text);
            for method in [
                "documentSymbol",
                "foldingRange",
                "codeLens",
                "semanticTokens/full",
            ] {
                let params = json!({ "textDocument": { "uri": uri } });
                let id = client.ask(&format!("textDocument/{method}"), params);
                assert!(
                    client.answer(id).get("result").is_some(),
                    "{language} {number} {method}"
                );
            }
            client.wait_for("textDocument/publishDiagnostics", |params| {
                params["uri"] == uri
            });
            client.notify(
                "textDocument/didClose",
                json!({ "textDocument": { "uri": uri } }),
            );
        }
        assert_eq!(client.shutdown(), Some(0));
    }
}

#[test]
fn includes_unsaved_recursive_missing_and_created_later() {
    let directory = std::env::temp_dir().join(format!("lockstep-wire-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let directory = std::fs::canonicalize(&directory).expect("a directory");
    let uri = |name: &str| format!("file://{}/{name}", directory.display());
    std::fs::write(
        directory.join("loop.h"),
        "#include \"loop.h\"\nint looped;\n",
    )
    .expect("written");
    let mut client = client(utf8());
    client.open(
        &uri("a.cu"),
        "cuda-cpp",
        "#include \"loop.h\"\n#include \"late.h\"\nint a = LATE;\n",
    );
    let first = client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == uri("a.cu")
    });
    assert!(
        codes(&first).contains(&"include-not-found".to_owned()),
        "{first}"
    );
    std::fs::write(directory.join("late.h"), "#define LATE 4\n").expect("written");
    client.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [{ "uri": uri("late.h"), "type": 1 }] }),
    );
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == uri("a.cu") && !codes(params).contains(&"include-not-found".to_owned())
    });
    // An unsaved text wins over the disk.
    client.open(&uri("late.h"), "cuda-cpp", "#define LATER 4\n");
    let position = json!({ "textDocument": { "uri": uri("a.cu") }, "position": { "line": 2, "character": 9 } });
    assert!(
        client
            .request("textDocument/definition", position.clone())
            .is_null()
    );
    client.change(&uri("late.h"), 2, None, "\n#define LATE 5\n");
    let definition = client.request("textDocument/definition", position);
    assert_eq!(definition[0]["range"]["start"]["line"], 1, "{definition}");
    assert_eq!(client.shutdown(), Some(0));
    let _ = std::fs::remove_dir_all(&directory);
}

#[test]
fn a_header_is_seen_through_what_includes_it_and_edits_keep_its_positions() {
    let directory = std::env::temp_dir().join(format!("lockstep-through-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let directory = std::fs::canonicalize(&directory).expect("a directory");
    let uri = |name: &str| format!("file://{}/{name}", directory.display());
    let write = |name: &str, text: &str| {
        std::fs::write(directory.join(name), text).expect("written");
    };
    let body = "__global__ void body(real *out) {\n  out[threadIdx.x * WIDTH] = 1;\n}\n";
    write("lockstep.toml", "");
    write(
        "main.cu",
        "#define WIDTH 32\ntypedef float real;\n#include \"body.inl\"\n",
    );
    write("body.inl", body);
    let mut client = client(utf8());
    client.open(&uri("body.inl"), "cuda-cpp", body);
    let strided_at = |params: &Value, line: u64| {
        let list = params["diagnostics"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let strided = list.iter().filter(|it| it["code"] == "uncoalesced-access");
        let lines: Vec<_> = strided
            .map(|it| it["range"]["start"]["line"].as_u64())
            .collect();
        params["uri"] == uri("body.inl") && lines == [Some(line)]
    };
    client.wait_for("textDocument/publishDiagnostics", |params| {
        strided_at(params, 1)
    });
    client.change(&uri("body.inl"), 2, None, &format!("\n\n{body}"));
    client.wait_for("textDocument/publishDiagnostics", |params| {
        strided_at(params, 3)
    });
    // The includer's text decides, also unsaved.
    client.open(
        &uri("main.cu"),
        "cuda-cpp",
        "#define WIDTH 1\ntypedef float real;\n#include \"body.inl\"\n",
    );
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == uri("body.inl")
            && !codes(params).contains(&"uncoalesced-access".to_owned())
    });
    assert_eq!(client.shutdown(), Some(0));
    let _ = std::fs::remove_dir_all(&directory);
}

fn codes(params: &Value) -> Vec<String> {
    let list = params["diagnostics"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    list.iter()
        .filter_map(|it| it["code"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn the_method_is_a_setting() {
    let mut client = client(utf8());
    let program = "l0 i = Tid\nl1 k = i + c\nl2 d = k - i\nl3 stop\n";
    client.open(URI, "musimd", program);
    let hover = |client: &mut Client, method: &str| {
        let settings = json!({ "lockstep": { "method": method } });
        client.notify(
            "workspace/didChangeConfiguration",
            json!({ "settings": settings }),
        );
        let at =
            json!({ "textDocument": { "uri": URI }, "position": { "line": 2, "character": 3 } });
        let answer = client.request("textDocument/hover", at);
        answer["contents"]["value"]
            .as_str()
            .unwrap_or("")
            .to_owned()
    };
    let simple = hover(&mut client, "simple");
    assert!(
        simple.contains("d: divergent") && simple.contains("simple: D"),
        "{simple}"
    );
    let affine = hover(&mut client, "affine1");
    assert!(
        affine.contains("d: uniform") && affine.contains("affine1: (0,⊥)"),
        "{affine}"
    );
    let full = hover(&mut client, "full");
    assert!(
        full.contains("d: uniform") && !full.contains("affine"),
        "{full}"
    );
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn a_bad_configuration_is_a_diagnostic_in_its_file() {
    let mut client = client(utf8());
    let uri = "file:///wire/lockstep.toml";
    client.open(
        uri,
        "toml",
        "warp_size = 32\nwarp_sise = 7\nblock = \"x\"\n",
    );
    let published = client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == uri
    });
    assert_eq!(codes(&published), ["config-error", "config-error"]);
    assert_eq!(published["diagnostics"][0]["range"]["start"]["line"], 1);
    client.change(uri, 2, None, "warp_size = 32\n");
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == uri && codes(params).is_empty()
    });
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn a_bad_configuration_is_told_where_it_governs_an_open_file() {
    let directory = std::env::temp_dir().join(format!("lockstep-governs-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let config = directory.join("lockstep.toml");
    std::fs::write(&config, "warp_sise = 7\n").expect("written");
    let uri = |name: &str| format!("file://{}", directory.join(name).display());
    let mut client = client(utf8());
    client.open(&uri("x.cu"), "cuda-cpp", "__global__ void k() {}\n");
    let of_config = uri("lockstep.toml");
    let published = client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == of_config
    });
    assert_eq!(codes(&published), ["config-error"]);
    std::fs::write(&config, "warp_size = 32\n").expect("written");
    client.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [{ "uri": of_config, "type": 2 }] }),
    );
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == of_config && codes(params).is_empty()
    });
    assert_eq!(client.shutdown(), Some(0));
    std::fs::remove_dir_all(&directory).expect("removed");
}

#[test]
fn a_bad_table_of_a_machine_is_a_diagnostic_in_its_file_and_costs_its_value_alone() {
    let mut client = client(utf8());
    let (config, card, kernel) = (
        "file:///wire/lockstep.toml",
        "file:///wire/card.machine.toml",
        "file:///wire/machine.cu",
    );
    client.open(config, "toml", "machine_file = \"card.machine.toml\"\n");
    let told = client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == config && !codes(params).is_empty()
    });
    let message = told["diagnostics"][0]["message"].as_str().unwrap_or("");
    assert!(
        message.contains("card.machine.toml:1:1: there is no such file"),
        "{message}"
    );
    client.open(
        card,
        "toml",
        "kind = \"gpu\"\nname = \"card\"\nbase = \"sm_86\"\n[throughput]\nfloat = 0\n",
    );
    let told = client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == card && !codes(params).is_empty()
    });
    assert_eq!(codes(&told), ["config-error"]);
    let start = &told["diagnostics"][0]["range"]["start"];
    assert_eq!(
        (&start["line"], &start["character"]),
        (&json!(4), &json!(8))
    );
    client.open(
        kernel,
        "cuda-cpp",
        "__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }\n",
    );
    let lens = client.request(
        "textDocument/codeLens",
        json!({ "textDocument": { "uri": kernel } }),
    );
    let title = lens[0]["command"]["title"].as_str().unwrap_or("");
    assert!(
        title.contains("(estimate, card)") && title.contains("occupancy"),
        "{title}"
    );
    client.change(
        card,
        2,
        None,
        "kind = \"gpu\"\nname = \"card\"\nbase = \"sm_86\"\n",
    );
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == card && codes(params).is_empty()
    });
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn pulled_diagnostics_have_names_and_are_not_pushed() {
    let mut client = client(json!({ "textDocument": { "diagnostic": {} } }));
    client.open(URI, "cuda-cpp", "#include \"nowhere.h\"\nvoid f() {}\n");
    let report = client.request("textDocument/diagnostic", document());
    assert_eq!(report["kind"], "full");
    assert_eq!(report["items"][0]["code"], "include-not-found");
    let again = client.request(
        "textDocument/diagnostic",
        json!({ "textDocument": { "uri": URI }, "previousResultId": report["resultId"] }),
    );
    assert_eq!(again["kind"], "unchanged");
    client.drain(Duration::from_millis(200));
    assert!(
        !client
            .others
            .iter()
            .any(|it| it["method"] == "textDocument/publishDiagnostics")
    );
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn published_diagnostics_carry_the_last_version() {
    let mut client = client(utf8());
    client.open(URI, "cuda-cpp", "#include \"x0.h\"\n");
    for version in 2..60 {
        client.change(URI, version, None, &format!("#include \"x{version}.h\"\n"));
    }
    let last = client.wait_for("textDocument/publishDiagnostics", |params| {
        params["version"] == 59
    });
    assert!(
        last["diagnostics"][0]["message"]
            .as_str()
            .is_some_and(|text| text.contains("x59.h")),
        "{last}"
    );
    client.drain(Duration::from_millis(300));
    let later = client
        .others
        .iter()
        .filter(|it| it["method"] == "textDocument/publishDiagnostics");
    let versions: Vec<i64> = later
        .filter_map(|it| it["params"]["version"].as_i64())
        .collect();
    assert!(
        versions.iter().all(|&version| version <= 59) && versions.is_sorted(),
        "{versions:?}"
    );
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn pages_are_served() {
    let mut client = client(utf8());
    let codes = client.request("lockstep/codes", Value::Null);
    assert!(
        codes
            .as_array()
            .is_some_and(|codes| codes.contains(&json!("divergent-barrier")))
    );
    let page = client.request("lockstep/explain", json!({ "code": "divergent-barrier" }));
    assert!(
        page.as_str()
            .is_some_and(|page| page.contains("__syncthreads"))
    );
    assert!(
        client
            .request("lockstep/explain", json!({ "code": "x" }))
            .is_null()
    );
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn configured_entry_points_and_defines_change_what_a_file_shows() {
    let mut client = client(utf8());
    let uri = "file:///wire/shade.hlsl";
    let shader = "struct Input { float2 uv : TEXCOORD0; };\nfloat4 shade(Input input) : TEXCOORD1 { float x = input.uv.x; return x; }\n";
    client.open(uri, "hlsl", shader);
    let hover = |client: &mut Client| {
        let position =
            json!({ "textDocument": { "uri": uri }, "position": { "line": 1, "character": 8 } });
        let answer = client.request("textDocument/hover", position);
        answer["contents"]["value"]
            .as_str()
            .unwrap_or("")
            .to_owned()
    };
    let before = hover(&mut client);
    assert!(!before.contains("pixel"), "{before}");
    client.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "lockstep": { "entry_points": { "sha*": "pixel" } } } }),
    );
    let after = hover(&mut client);
    assert!(after.contains("**shade** — pixel"), "{after}");

    let kernel = "__global__ void k(int* p) { int y = threadIdx.y; p[y] = 1; }\nvoid go(int* p) { k<<<1, 64>>>(p); }\n";
    client.open(URI, "cuda-cpp", kernel);
    let hover = client.request("textDocument/hover", at(0, 33));
    let text = hover["contents"]["value"].as_str().unwrap_or("");
    assert!(
        text.contains("**y: uniform**")
            && text.contains("assuming blocks of 64 × 1 × 1 threads, as in all launches in sight"),
        "{text}"
    );

    let device = "__device__ int pick(int* p, int index) { return p[index]; }\n\
        __global__ void one(int* p) { p[0] = pick(p, blockIdx.x); }\n\
        __global__ void two(int* p) { p[0] = pick(p, threadIdx.x); }\n";
    client.change(URI, 2, None, device);
    let hover = client.request("textDocument/hover", at(0, 34));
    let text = hover["contents"]["value"].as_str().unwrap_or("");
    assert!(
        text.contains("- `one`: the same within a block") && text.contains("- `two`: may differ"),
        "{text}"
    );
    assert_eq!(client.shutdown(), Some(0));
}

/// Versions on zero come as rewrites with a title and a description, which a client shows first when it is asked to, and
/// as refusals with their reason.
#[test]
fn versions_on_zero_are_offered_as_rewrites() {
    let mut capabilities = utf8();
    capabilities["textDocument"]["codeAction"] = json!({ "disabledSupport": true });
    capabilities["workspace"]["workspaceEdit"] =
        json!({ "documentChanges": true, "changeAnnotationSupport": {} });
    let mut client = client(capabilities);
    let uri = "file:///wire/lit.hlsl";
    let shader = "float main(float3 n : N, float3 l : L, float s : S) : SV_Target {\n    float shadow = saturate(s);\n    float spec = pow(saturate(dot(n, l)), 8.0) / (1.0 + dot(l, l));\n    return n.x + spec * shadow * sqrt(abs(l.x));\n}\n";
    client.open(uri, "hlsl", shader);
    let ask = |client: &mut Client, line: u32, only: Value| {
        let at = json!({ "line": line, "character": 12 });
        client.request(
            "textDocument/codeAction",
            json!({ "textDocument": { "uri": uri }, "range": { "start": at, "end": at },
                    "context": { "diagnostics": [], "only": only } }),
        )
    };
    let found = ask(&mut client, 1, json!(["refactor"]));
    let action = &found[0];
    assert_eq!(action["kind"], "refactor.rewrite", "{found}");
    let title = action["title"].as_str().unwrap_or("");
    assert!(title.starts_with("Version on zero of `shadow`"), "{title}");
    let edit = &action["edit"]["documentChanges"][0]["edits"][0];
    assert!(
        edit["newText"]
            .as_str()
            .is_some_and(|text| text.contains("WaveActiveAllTrue(shadow == 0.0)")),
        "{found}"
    );
    let name = edit["annotationId"].as_str().unwrap_or("");
    assert_eq!(
        action["edit"]["changeAnnotations"][name]["needsConfirmation"],
        true
    );
    // Fixes alone: none here.
    assert_eq!(ask(&mut client, 1, json!(["quickfix"])), json!([]));
    assert_eq!(client.shutdown(), Some(0));
}
