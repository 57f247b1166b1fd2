//! Features of editors while one writes: rename, completion, parameters of a call, symbols, actions that are
//! resolved, over the protocol.

mod support;

use serde_json::{Value, json};
use support::Client;

const URI: &str = "file:///editing/shade.hlsl";
const SHADER: &str = "\
struct Light { float3 colour; float reach; };
StructuredBuffer<Light> lights;
RWStructuredBuffer<float> to;
float faded(Light light, float far) { return light.reach / far; }
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    uint at = id.x * 2; // at is even
    Light one = lights[at];
    float sum = one.reach;
    { float at = 3; sum += at; }
    to[at] = faded(one, sum);
}
";

fn client(options: Value) -> Client {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    let capabilities = json!({
        "general": { "positionEncodings": ["utf-8"] },
        "textDocument": { "codeAction": {
            "dataSupport": true, "resolveSupport": { "properties": ["edit"] },
            "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ["quickfix", "refactor.rewrite"] } }
        } },
        "workspace": { "workspaceEdit": { "documentChanges": true, "changeAnnotationSupport": {} } }
    });
    client.initialize_with(capabilities, options);
    client
}

fn at(line: u32, character: u32) -> Value {
    json!({ "textDocument": { "uri": URI }, "position": { "line": line, "character": character } })
}

fn with(mut params: Value, key: &str, value: Value) -> Value {
    params[key] = value;
    params
}

fn labels(answer: &Value) -> Vec<String> {
    let list = answer.as_array().cloned().unwrap_or_default();
    let label = |value: &Value| value["label"].as_str().unwrap_or("").to_owned();
    list.iter().map(label).collect()
}

#[test]
fn local_names_are_renamed_in_their_scope_alone() {
    let mut client = client(json!({}));
    client.open(URI, "hlsl", SHADER);
    let prepared = client.request("textDocument/prepareRename", at(7, 23));
    assert_eq!(prepared["placeholder"], "at");
    let edit = client.request(
        "textDocument/rename",
        with(at(7, 23), "newName", json!("even")),
    );
    let edits = edit["changes"][URI].as_array().cloned().unwrap_or_default();
    let places: Vec<(u64, u64)> = edits
        .iter()
        .map(|edit| {
            let start = &edit["range"]["start"];
            let number = |key: &str| start[key].as_u64().expect("a number");
            (number("line"), number("character"))
        })
        .collect();
    // Neither the comment nor the inner variable of the name.
    assert_eq!(places, [(6, 9), (7, 23), (10, 7)]);
    assert!(edits.iter().all(|edit| edit["newText"] == "even"));
}

#[test]
fn names_that_are_taken_or_none_are_refused() {
    let mut client = client(json!({}));
    client.open(URI, "hlsl", SHADER);
    for (name, reason) in [
        ("sum", "there is a `sum`"),
        ("1x", "is no name"),
        ("float", "is no name"),
        ("a b", "is no name"),
    ] {
        let id = client.ask(
            "textDocument/rename",
            with(at(7, 23), "newName", json!(name)),
        );
        let error = client.answer(id)["error"]["message"].to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
    // A function is no local name.
    let id = client.ask("textDocument/prepareRename", at(3, 8));
    assert!(
        client.answer(id)["error"]["message"]
            .to_string()
            .contains("variables and parameters")
    );
}

#[test]
fn a_name_that_a_macro_uses_is_not_renamed() {
    let text = "#define TWICE(x) ((x) + step)\nRWStructuredBuffer<uint> to;\n\
                [numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {\n\
                    uint step = id.x;\n    uint t = 1 + step;\n#if defined(NEVER)\n    t += step;\n#endif\n    to[t] = t;\n}\n";
    let mut client = client(json!({}));
    client.open(URI, "hlsl", text);
    let id = client.ask(
        "textDocument/rename",
        with(at(4, 17), "newName", json!("pace")),
    );
    let answer = client.answer(id);
    let error = answer["error"]["message"].to_string();
    assert!(error.contains("line 7"), "{answer}");
}

#[test]
fn members_variables_builtins_and_semantics_are_offered() {
    let mut client = client(json!({}));
    client.open(URI, "hlsl", SHADER);
    let members = labels(&client.request("textDocument/completion", at(8, 20)));
    assert_eq!(members, ["colour", "reach"]);
    let all = client.request("textDocument/completion", at(10, 13));
    let all = all.as_array().cloned().unwrap_or_default();
    let offered = |label: &str| {
        let found = all.iter().find(|it| it["label"] == label);
        found
            .cloned()
            .unwrap_or_else(|| panic!("{label} is offered"))
    };
    assert_eq!(
        offered("at")["documentation"],
        "affine 2*tid.x + 128*ctaid.x"
    );
    assert!(
        offered("WaveActiveSum")["documentation"]
            .to_string()
            .contains("uniform in the wave")
    );
    assert!(
        offered("pow")["documentation"]
            .to_string()
            .contains("(estimate, sm_80)")
    );
    assert_eq!(offered("faded")["kind"], 3);
    assert!(all.iter().all(|it| it["label"] != "SV_GroupIndex"));
    // In a comment nothing is.
    assert!(labels(&client.request("textDocument/completion", at(6, 30))).is_empty());
    client.change(URI, 2, Some((5, 24, 5, 40)), " ");
    let semantics = labels(&client.request("textDocument/completion", at(5, 21)));
    assert!(
        semantics.contains(&"SV_GroupIndex".to_owned()),
        "{semantics:?}"
    );
}

#[test]
fn vectors_have_components_and_indexed_elements_members() {
    let mut client = client(json!({}));
    client.open(URI, "hlsl", SHADER);
    client.change(URI, 2, Some((8, 16, 8, 25)), "one.colour.");
    let found = labels(&client.request("textDocument/completion", at(8, 27)));
    assert_eq!(found, ["x", "y", "z", "r", "g", "b", "xyz"]);
}

#[test]
fn the_parameters_of_a_call_are_shown() {
    let mut client = client(json!({}));
    client.open(URI, "hlsl", SHADER);
    let own = client.request("textDocument/signatureHelp", at(10, 24));
    assert_eq!(own["activeParameter"], 1);
    assert_eq!(
        own["signatures"][0]["label"],
        "float faded(Light light, float far)"
    );
    assert_eq!(own["signatures"][0]["parameters"][1]["label"], "float far");
    client.change(URI, 2, Some((8, 16, 8, 25)), "lerp(1, 2, ");
    let builtin = client.request("textDocument/signatureHelp", at(8, 27));
    assert_eq!(builtin["activeParameter"], 2);
    assert_eq!(builtin["signatures"][0]["label"], "T lerp(T a, T b, T s)");
}

#[test]
fn symbols_of_the_workspace_are_found_by_their_letters() {
    let mut client = client(json!({}));
    client.open(URI, "hlsl", SHADER);
    let found = client.request("workspace/symbol", json!({ "query": "fdd" }));
    assert_eq!(found[0]["name"], "faded");
    assert_eq!(found[0]["location"]["range"]["start"]["line"], 3);
    let none = client.request("workspace/symbol", json!({ "query": "zzz" }));
    assert_eq!(none, json!([]));
}

/// CUDA and C have servers of their own for these.
#[test]
fn other_servers_languages_are_left_alone_unless_asked_for() {
    let text = "__global__ void k(float* p) { int i = threadIdx.x; p[i] = i; }\n";
    let asked = |options: Value| {
        let mut client = client(options);
        client.open(URI, "cuda-cpp", text);
        client.request("textDocument/completion", at(0, 51))
    };
    assert!(asked(json!({})).is_null());
    assert!(asked(json!({ "language_features": "off" })).is_null());
    let on = asked(json!({ "language_features": "on" }));
    assert!(labels(&on).contains(&"__syncthreads".to_owned()));
}

#[test]
fn actions_get_their_edit_when_they_are_chosen() {
    let text = "RWStructuredBuffer<float> to; StructuredBuffer<float> a; Texture2D<float4> t[8];\n\
                SamplerState s; struct In { float4 at : SV_Position; nointerpolation uint which : W; };\n\
                float4 main(In i) : SV_Target { return t[i.which].Sample(s, i.at.xy); }\n";
    let mut client = client(json!({}));
    client.open(URI, "hlsl", text);
    let range =
        json!({ "start": { "line": 2, "character": 42 }, "end": { "line": 2, "character": 42 } });
    let params =
        json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [] } });
    let actions = client.request("textDocument/codeAction", params);
    let actions = actions.as_array().cloned().unwrap_or_default();
    let fix = actions
        .iter()
        .find(|action| action["isPreferred"] == true)
        .cloned()
        .expect("a fix");
    assert!(fix.get("edit").is_none_or(Value::is_null), "{fix}");
    let resolved = client.request("codeAction/resolve", fix.clone());
    let edit = resolved["edit"].to_string();
    assert!(edit.contains("NonUniformResourceIndex"), "{resolved}");
    client.change(URI, 2, Some((0, 0, 0, 0)), " ");
    let id = client.ask("codeAction/resolve", fix);
    assert_eq!(client.answer(id)["error"]["code"], -32801);
}

/// Rewrites wait for a confirmation, unless the settings say otherwise; fixes do not.
#[test]
fn rewrites_are_shown_before_they_are_made() {
    let text = "StructuredBuffer<float> a, b; RWStructuredBuffer<float> to;\n\
                [numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {\n\
                    float shadow = a[id.x];\n    float lit = b[id.x] * b[id.x + 64] * shadow;\n    to[id.x] = lit;\n}\n";
    for (options, wanted) in [(json!({}), true), (json!({ "preview": false }), false)] {
        let mut client = client(options);
        client.open(URI, "hlsl", text);
        let range =
            json!({ "start": { "line": 2, "character": 8 }, "end": { "line": 2, "character": 8 } });
        let params = json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [] } });
        let actions = client.request("textDocument/codeAction", params);
        let actions = actions.as_array().cloned().unwrap_or_default();
        let version = actions.iter().find(|action| {
            action["kind"] == "refactor.rewrite"
                && action.get("disabled").is_none_or(Value::is_null)
        });
        let resolved = client.request(
            "codeAction/resolve",
            version.cloned().expect("a version on zero"),
        );
        let annotation = &resolved["edit"]["changeAnnotations"]["lockstep"];
        assert_eq!(annotation["needsConfirmation"], wanted, "{resolved}");
        assert!(!annotation["description"].to_string().is_empty());
    }
}

/// A finding stands in the list of problems, with the access for its range, and its page opens in any editor.
#[test]
fn findings_stand_among_the_problems_with_a_page() {
    let text = "struct Three { float a, b, c; };\n\
                __global__ void k(float* p, const float* q, int n) { p[threadIdx.x * 8] = q[threadIdx.x]; }\n\
                __global__ void walk(const int* next, int* to) {\n\
                    int at = threadIdx.x;\n    while (next[at] > 0) { at = next[at]; to[at] += at * at; }\n}\n";
    for (options, scheme) in [
        (json!({}), "https://"),
        (json!({ "views": true }), "lockstep-doc:"),
    ] {
        let mut client = client(options);
        client.open(URI, "cuda-cpp", text);
        let told = client.wait_for("textDocument/publishDiagnostics", |params| {
            let all = params["diagnostics"].as_array();
            all.is_some_and(|all| !all.is_empty())
        });
        let diagnostics = told["diagnostics"].as_array().cloned().unwrap_or_default();
        let told_as = |code: &str| {
            let found = diagnostics
                .iter()
                .find(|diagnostic| diagnostic["code"] == code);
            found.cloned().unwrap_or_else(|| panic!("{code}: {told}"))
        };
        let access = told_as("uncoalesced-access");
        assert_eq!(access["severity"], 2, "a proved waste: {access}");
        let place = |at: &Value| at["character"].as_u64().expect("a number") as usize;
        let range = &access["range"];
        let line = text.lines().nth(1).unwrap_or("");
        let covered = &line[place(&range["start"])..place(&range["end"])];
        assert_eq!(covered, "p[threadIdx.x * 8]");
        // An estimate is information: hints are not listed.
        assert_eq!(told_as("divergent-loop")["severity"], 3);
        let page = access["codeDescription"]["href"].as_str().unwrap_or("");
        assert!(
            page.starts_with(scheme) && page.ends_with("uncoalesced-access.md"),
            "{page}"
        );
    }
}

/// The lens names the report; where the client has no view of its own the server writes the page and says where it lies.
#[test]
fn the_lens_opens_the_report_of_its_kernel() {
    let text =
        "__global__ void k(float* p, const float* q) { p[threadIdx.x * 8] = q[threadIdx.x]; }\n";
    let uri = "file:///editing/k.cu";
    let document = json!({ "textDocument": { "uri": uri } });
    let mut client = client(json!({}));
    client.open(uri, "cuda-cpp", text);
    let lenses = client.request("textDocument/codeLens", document.clone());
    let command = &lenses[0]["command"];
    assert_eq!(command["command"], "lockstep.report");
    let shown = client.request(
        "workspace/executeCommand",
        json!({ "command": command["command"], "arguments": command["arguments"] }),
    );
    let path = shown["path"].as_str().expect("a path").to_owned();
    let page = std::fs::read_to_string(&path).expect("the page");
    assert!(path.ends_with("k.html") && page.contains("uncoalesced-access"));
    let html = client.request("lockstep/report", with(document, "item", json!("k")));
    assert!(
        html["html"]
            .as_str()
            .is_some_and(|html| html.contains("uncoalesced-access"))
    );
    for (arguments, part, name) in [
        (
            json!({ "code": "bank-conflict" }),
            "lockstep.page",
            "bank-conflict.md",
        ),
        (
            json!({ "uri": uri, "position": { "line": 0, "character": 20 } }),
            "lockstep.code",
            "k.ptx",
        ),
    ] {
        let shown = client.request(
            "workspace/executeCommand",
            json!({ "command": part, "arguments": [arguments] }),
        );
        let path = shown["path"].as_str().expect("a path");
        assert!(path.ends_with(name), "{path}");
        assert!(std::fs::metadata(path).is_ok_and(|found| found.len() > 100));
    }
    assert_eq!(client.shutdown(), Some(0));
    // The folder goes with the server.
    assert!(std::fs::metadata(&path).is_err());
}
