//! Profiles and previews as an editor asks for them: over the wire, on unsaved text, cancelled, and without anybody
//! waiting for a run.

#[path = "support/command.rs"]
mod command;
mod support;

use command::{Place, errors, lockstep, text};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;
use support::Client;

fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/profiles");
    root.join(name).display().to_string()
}

fn started() -> Client {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({
        "general": { "positionEncodings": ["utf-8"] },
        "window": { "workDoneProgress": true },
        "workspace": { "inlayHint": { "refreshSupport": true } },
    }));
    client
}

/// The uri of a copy of a fixture in a place of its own, and its text.
fn opened(client: &mut Client, place: &Place, name: &str, language: &str) -> (String, String) {
    let path = place.path(name);
    std::fs::copy(fixture(name), &path).expect("a copy");
    let text = std::fs::read_to_string(&path).expect("its text");
    let uri = format!("file://{path}");
    client.open(&uri, language, &text);
    (uri, text)
}

fn at(uri: &str, text: &str, what: &str) -> Value {
    let line = text.lines().position(|line| line.contains(what));
    let line = line.expect("the line is there");
    let column = text.lines().nth(line).and_then(|l| l.find(what));
    json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": column } })
}

fn profile(mut at: Value, inputs: Option<&str>) -> Value {
    at["inputs"] = json!(inputs);
    json!({ "command": "lockstep.profile", "arguments": [at] })
}

#[test]
fn a_profile_made_in_the_editor_shows_in_its_hints() {
    let place = Place::new("editor");
    let mut client = started();
    let (uri, text) = opened(&mut client, &place, "lit_surface.hlsl", "hlsl");
    let here = at(&uri, &text, "float4 LitSurfacePS");
    let all = json!({ "textDocument": { "uri": uri }, "range": {
        "start": { "line": 0, "character": 0 }, "end": { "line": 100, "character": 0 } } });
    let labels = |client: &mut Client| {
        client
            .request("textDocument/inlayHint", all.clone())
            .to_string()
    };
    assert!(
        !labels(&mut client).contains("0 in "),
        "nothing is known yet"
    );

    let described = client.request("lockstep/describe", here.clone());
    assert_eq!(described["found"], Value::Null);
    assert_eq!(
        described["path"],
        json!(place.path("lit_surface.inputs.toml"))
    );
    let template = described["text"].as_str().expect("a text");
    for part in [
        "[textures.Shadow]",
        "LightDirection = [0.5, 0.5, 0.5]",
        "[inputs.NORMAL]",
        "pixels",
    ] {
        assert!(template.contains(part), "{part}: {template}");
    }

    let inputs = fixture("lit_surface.toml");
    let answer = client.request(
        "workspace/executeCommand",
        profile(here.clone(), Some(&inputs)),
    );
    assert_eq!(answer["item"], "LitSurfacePS");
    assert_eq!(answer["open"], json!([]));
    assert!(Path::new(answer["path"].as_str().expect("a path")).is_file());
    let shown = labels(&mut client);
    assert!(shown.contains("0 in "), "{shown}");

    // The description beside the file is the one that is meant, and unsaved text is what runs.
    std::fs::copy(&inputs, place.path("lit_surface.inputs.toml")).expect("a copy");
    assert_eq!(
        client.request("lockstep/describe", here.clone())["found"],
        json!(place.path("lit_surface.inputs.toml"))
    );
    let line = text
        .lines()
        .position(|l| l.contains("float specular"))
        .expect("there") as u32;
    client.change(
        &uri,
        2,
        Some((line, 0, line, 0)),
        "    float rim = 1.0 - diffuse;\n",
    );
    client.request("workspace/executeCommand", profile(here, None));
    let stored = std::fs::read_to_string(place.path("lit_surface.hlsl.lockstep-profile.json"));
    assert!(stored.expect("a profile").contains("\"rim\""));
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn what_goes_wrong_is_told_with_its_place_and_writes_nothing() {
    let place = Place::new("wrong");
    let mut client = started();
    let (uri, text) = opened(&mut client, &place, "lit_surface.hlsl", "hlsl");
    let here = at(&uri, &text, "float4 LitSurfacePS");
    let inputs = place.path("wrong.toml");
    std::fs::write(&inputs, "[values]\nLightDirektion = [1.0, 0.0, 0.0]\n").expect("written");
    let id = client.ask("workspace/executeCommand", profile(here, Some(&inputs)));
    let answer = client.answer(id);
    let message = answer["error"]["message"].as_str().expect("an error");
    assert!(message.contains("wrong.toml"), "{message}");
    assert!(message.contains("`LightDirection`?"), "{message}");
    assert!(!Path::new(&place.path("lit_surface.hlsl.lockstep-profile.json")).exists());
    let id = client.ask(
        "workspace/executeCommand",
        json!({ "command": "lockstep.profile", "arguments": [{}] }),
    );
    assert_eq!(client.answer(id)["error"]["code"], -32602);
    assert_eq!(client.shutdown(), Some(0));
}

const ENDLESS: &str = "__global__ void spin(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < 2000000000; ++k) sum += k ^ i;
  out[i & 1023] = sum;
}
";

#[test]
fn a_long_run_blocks_nobody_and_ends_when_it_is_cancelled() {
    let place = Place::new("long");
    let inputs = place.path("spin.inputs.toml");
    std::fs::write(
        &inputs,
        "[launch]\nthreads = [65536]\nmax_steps = 4000000000000\n",
    )
    .expect("written");
    let mut client = started();
    let uri = format!("file://{}", place.path("spin.cu"));
    client.open(&uri, "cuda-cpp", ENDLESS);
    let here = at(&uri, ENDLESS, "int sum");
    let hover = at(&uri, ENDLESS, "i = blockIdx");
    for by_progress in [false, true] {
        let run = client.ask("workspace/executeCommand", profile(here.clone(), None));
        let create = client.wait_for("window/workDoneProgress/create", |_| true);
        let token = create["token"].clone();
        client.wait_for("$/progress", |it| {
            it["token"] == token && it["value"]["kind"] == "begin"
        });
        // Edits and questions go on beside it.
        let begin = Instant::now();
        client.change(&uri, 2, Some((2, 12, 2, 13)), "1");
        let answer = client.request("textDocument/hover", hover.clone());
        assert!(answer.to_string().contains("affine"), "{answer}");
        let waited = begin.elapsed();
        assert!(waited.as_secs() < 5, "{waited:?}");
        match by_progress {
            true => client.notify("window/workDoneProgress/cancel", json!({ "token": token })),
            false => client.notify("$/cancelRequest", json!({ "id": run })),
        }
        assert_eq!(client.answer(run)["error"]["code"], -32800);
    }
    assert!(!Path::new(&place.path("spin.cu.lockstep-profile.json")).exists());
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn the_code_before_and_after_an_action() {
    let place = Place::new("preview");
    let mut client = started();
    let (uri, text) = opened(&mut client, &place, "lit_surface.hlsl", "hlsl");
    let here = at(&uri, &text, "shadow = Shadow");
    let range = json!({ "start": here["position"], "end": here["position"] });
    let ask = json!({ "textDocument": { "uri": uri }, "range": range });
    let offered = client.request("lockstep/preview", ask.clone());
    let rows = offered["actions"].as_array().expect("actions").clone();
    let ids: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids, ["version-on-zero"], "{offered}");
    let mut found = ask;
    found["action"] = json!(ids[0]);
    let preview = client.request("lockstep/preview", found);
    let (before, after) = (&preview["before"]["text"], &preview["after"]["text"]);
    let (before, after) = (
        before.as_str().expect("code"),
        after.as_str().expect("code"),
    );
    assert!(!before.contains("vote"), "{before}");
    assert!(after.contains("vote.sync.all.pred"), "{after}");
    assert!(
        preview["source"]
            .as_str()
            .expect("a text")
            .contains("WaveActiveAllTrue")
    );
    // Nothing of it is in the document.
    assert_eq!(
        client.request(
            "lockstep/preview",
            json!({ "textDocument": { "uri": uri }, "range": range })
        ),
        offered
    );
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn a_template_runs_and_leaves_nothing_open() {
    let place = Place::new("template");
    for (name, item) in [
        ("lit_surface.hlsl", None),
        ("sparse_layer.cu", Some("layer")),
        ("../cuda/relu_layer.cu", None),
        ("../hlsl/bindless_material.hlsl", None),
    ] {
        let source = fixture(name);
        let mut arguments = vec!["profile", source.as_str(), "--describe", "--no-config"];
        let items = std::fs::read_to_string(&source).expect("the fixture");
        let first = items.split("__global__ void ").nth(1).and_then(|rest| {
            rest.split('(')
                .next()
                .map(|name| name.rsplit(' ').next().unwrap_or(name))
        });
        if let Some(item) = item.or(first) {
            arguments.extend(["--item", item]);
        }
        let described = lockstep(&arguments);
        assert!(described.status.success(), "{name}: {}", errors(&described));
        let inputs = place.path("template.toml");
        std::fs::write(&inputs, text(&described)).expect("written");
        let out = place.path("out.json");
        let ran = lockstep(&[
            "profile",
            &source,
            "--inputs",
            &inputs,
            "-o",
            &out,
            "--no-config",
        ]);
        let said = errors(&ran);
        assert!(ran.status.success(), "{name}: {said}\n{}", text(&described));
        assert!(!said.contains("chosen by the seed"), "{name}: {said}");
    }
}

/// The hints once they say something: a disk that is slow is read later, and the client is asked to refresh then.
fn shown_at_last(client: &mut Client, all: &Value, wanted: &str) -> String {
    let mut shown = String::new();
    for _ in 0..100 {
        let hints = client.request("textDocument/inlayHint", all.clone());
        shown = hints.to_string();
        if shown.contains(wanted) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    shown
}

#[test]
fn counts_are_imported_and_copies_that_count_are_written() {
    let place = Place::new("counts");
    let mut client = started();
    let (uri, _) = opened(&mut client, &place, "lit_surface.hlsl", "hlsl");
    let run = |command: &str, more: Value| {
        let mut argument = more;
        argument["textDocument"] = json!({ "uri": uri });
        json!({ "command": command, "arguments": [argument] })
    };
    let written = client.request(
        "workspace/executeCommand",
        run("lockstep.instrument", json!({})),
    );
    let copy = std::fs::read_to_string(written["path"].as_str().expect("a path")).expect("a copy");
    assert!(copy.contains("WaveActiveAllTrue"), "{copy}");
    let places = written["places"].as_u64().expect("a number");
    assert!(places > 3, "{written}");
    // As if every place had been executed by ten waves and been zero in seven.
    let width = written["width"].as_u64().expect("a width") as usize;
    let word = |number: u64| number.to_le_bytes()[..width].to_vec();
    let bytes: Vec<u8> = (0..places)
        .flat_map(|_| [word(10), word(7)].concat())
        .collect();
    let raw = place.file("counters.raw", bytes);
    let counters = json!({ "counters": raw, "map": written["map"] });
    let imported = client.request(
        "workspace/executeCommand",
        run("lockstep.importProfile", counters),
    );
    assert_eq!(imported["items"], 1, "{imported}");
    let all = json!({ "textDocument": { "uri": uri }, "range": {
        "start": { "line": 0, "character": 0 }, "end": { "line": 100, "character": 0 } } });
    let shown = shown_at_last(&mut client, &all, "0 in 70 % of waves");
    assert!(shown.contains("0 in 70 % of waves"), "{shown}");
    let table = place.file(
        "counts.csv",
        "name,line,executions,zeros\nshadow,16,100,30\n",
    );
    client.request(
        "workspace/executeCommand",
        run("lockstep.importProfile", json!({ "table": table })),
    );
    let shown = client.request("textDocument/inlayHint", all).to_string();
    assert!(shown.contains("0 in 30 % of waves"), "{shown}");
    // What is wrong is told.
    let missing = run(
        "lockstep.importProfile",
        json!({ "table": place.path("nowhere.csv") }),
    );
    let id = client.ask("workspace/executeCommand", missing);
    let answer = client.answer(id);
    let message = answer["error"]["message"].as_str().unwrap_or("").to_owned();
    assert!(message.contains("nowhere.csv"), "{answer}");
    let id = client.ask(
        "workspace/executeCommand",
        run("lockstep.importProfile", json!({})),
    );
    assert_eq!(client.answer(id)["error"]["code"], -32602);
    assert_eq!(client.shutdown(), Some(0));
}

/// Of assembly the branches are counted, and stand beside it when the counters are imported.
#[test]
fn counts_of_assembly_are_imported() {
    let place = Place::new("assembly-counts");
    let mut client = started();
    let source = "f:\n\tmov r8 = 0 ;;\n.Lagain:\n\tadds r8 = 1, r8 ;;\n\tcmp.ne p6, p0 = r8, r32 ;;\n(p6)\tbr.cond.sptk .Lagain ;;\n\tbr.ret.sptk.many b0 ;;\n";
    let text = format!("\t.text\n\t.global f\n\t.proc f\n{source}\t.endp f\n");
    let file = place.file("k.ia64.s", &text);
    let uri = format!("file://{file}");
    client.open(&uri, "ia64", &text);
    let run = |command: &str, more: Value| {
        let mut argument = more;
        argument["textDocument"] = json!({ "uri": uri });
        json!({ "command": command, "arguments": [argument] })
    };
    let written = client.request(
        "workspace/executeCommand",
        run("lockstep.instrument", json!({})),
    );
    let copy = written["path"].as_str().expect("a path").to_owned();
    assert!(copy.ends_with("/k.counted.ia64.s"), "{written}");
    let raw = place.path("raw");
    let ran = lockstep(&[
        "sim",
        &copy,
        "--item",
        "f",
        "--arg",
        "50",
        "--counters",
        &raw,
    ]);
    assert!(ran.status.success(), "{}", errors(&ran));
    let counters = json!({ "counters": raw, "map": written["map"] });
    let imported = client.request(
        "workspace/executeCommand",
        run("lockstep.importProfile", counters),
    );
    assert_eq!(imported["items"], 1, "{imported}");
    let all = json!({ "textDocument": { "uri": uri }, "range": {
        "start": { "line": 0, "character": 0 }, "end": { "line": 100, "character": 0 } } });
    let shown = shown_at_last(&mut client, &all, "taken 98 %");
    assert!(
        shown.contains("taken 98 %") && shown.contains("entered once"),
        "{shown}"
    );
    let id = client.ask(
        "workspace/executeCommand",
        run("lockstep.importProfile", json!({ "table": raw })),
    );
    let answer = client.answer(id);
    let message = answer["error"]["message"].as_str().unwrap_or("").to_owned();
    assert!(message.contains("the counters of a copy"), "{answer}");
    assert_eq!(client.shutdown(), Some(0));
}
