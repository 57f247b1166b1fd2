//! The knowledge that a project has of its files: how its build compiles them (`compile_commands.json`), and
//! which of them include a header, on the command line and in an editor.

#[path = "support/command.rs"]
mod command;
#[path = "support/mod.rs"]
mod support;

use command::{Place, json as parsed, lockstep};
use serde_json::{Value, json};
use support::Client;

/// A kernel that is one only with the flags of the build.
const KERNEL: &str = "#include \"own.h\"\n#include <late.h>\n#ifdef USE_GPU\n\
    __global__ void k(own *p) { p[late(threadIdx.x) * STEP] = FORCED; }\n#endif\n\
    #if __CUDA_ARCH__ >= 900\n__global__ void hopper(int *p) { p[threadIdx.x] = 1; }\n#endif\n";

fn headers(place: &Place) {
    place.file("include/own.h", "#pragma once\ntypedef float own;\n");
    place.file("include/forced.h", "#define FORCED 3\n");
    let late = "__device__ inline int late(int x) { return x; }\n";
    place.file("late dir/late.h", late);
}

fn entries(place: &Place, at: &str, of: &[(&str, &str)]) {
    let directory = place.path("build");
    let entry = |(file, command): &(&str, &str)| {
        let file = place.path(file);
        let command = format!("nvcc {command} -c {file} -o k.o");
        json!({ "directory": directory, "file": file, "command": command })
    };
    let all: Vec<Value> = of.iter().map(entry).collect();
    place.file(at, Value::from(all).to_string());
}

const FLAGS: &str = "-I../include --options-file inc.rsp -DUSE_GPU '-DSTEP=32' -include forced.h \
    -gencode arch=compute_90,code=[sm_90,compute_90] -x cu";

fn build(place: &Place) {
    headers(place);
    place.file("build/inc.rsp", "-isystem \"../late dir\"\n");
    entries(
        place,
        "build/compile_commands.json",
        &[("src/k.cu", FLAGS), ("src/other.cpp", "-DUSE_GPU")],
    );
}

fn kernels(report: &Value) -> Vec<String> {
    let items = report["items"].as_array().cloned().unwrap_or_default();
    let kernels = items.iter().filter(|item| item["kind"] == "kernel");
    kernels
        .map(|item| item["name"].as_str().unwrap_or("").to_owned())
        .collect()
}

fn messages(report: &Value) -> Vec<String> {
    let all = report["problems"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value["message"].as_str().unwrap_or("").to_owned();
    all.iter().map(text).collect()
}

fn analyze(file: &str, options: &[&str]) -> Value {
    let all = [&["analyze", file, "--format", "json"], options].concat();
    parsed(&lockstep(&all))
}

fn strides(report: &Value) -> Vec<i64> {
    let items = report["items"].as_array().cloned().unwrap_or_default();
    let accesses = items.iter().filter_map(|item| item["accesses"].as_array());
    let strides = accesses.flatten().map(|row| &row["stride_bytes"]);
    strides.filter_map(Value::as_i64).collect()
}

#[test]
fn a_file_is_read_as_the_build_compiles_it() {
    let place = Place::new("projects-build");
    build(&place);
    let file = place.file("src/k.cu", KERNEL);
    let report = analyze(&file, &[]);
    assert_eq!(kernels(&report), ["k", "hopper"], "{report}");
    assert_eq!(messages(&report), [""; 0]);
    assert_eq!(strides(&report), [128, 4]);
    // The costs are those of its architecture.
    let shown = report["items"][0]["costs"]["machine"].to_string();
    assert!(shown.contains("sm_90"), "{shown}");
    // Without it nothing is known.
    assert_eq!(kernels(&analyze(&file, &["--no-config"])), [""; 0]);
    let found = parsed(&lockstep(&[
        "check",
        &place.path("src"),
        "--format",
        "json",
    ]));
    let all = found.to_string();
    assert!(
        !all.contains("was not found") && all.contains("uncoalesced-access"),
        "{all}"
    );
}

#[test]
fn the_configuration_comes_before_the_build_and_options_before_both() {
    let place = Place::new("projects-order");
    build(&place);
    let file = place.file("src/k.cu", KERNEL);
    place.file(
        "lockstep.toml",
        "defines = [\"STEP=64\"]\ntarget = \"sm_80\"\n",
    );
    let report = analyze(&file, &[]);
    assert_eq!(kernels(&report), ["k"], "{report}");
    assert_eq!(strides(&report), [256]);
    let shown = report["items"][0]["costs"]["machine"].to_string();
    assert!(shown.contains("sm_80"), "{shown}");
    assert_eq!(strides(&analyze(&file, &["-D", "STEP=128"])), [512]);
    place.file("first/own.h", "typedef double own;\n");
    place.file("lockstep.toml", "include_dirs = [\"first\"]\n");
    assert_eq!(strides(&analyze(&file, &[])), [256, 4]);
}

#[test]
fn a_file_without_an_entry_says_whose_flags_it_has() {
    let place = Place::new("projects-borrowed");
    build(&place);
    let file = place.file("src/new.cu", KERNEL);
    let report = analyze(&file, &[]);
    assert_eq!(kernels(&report), ["k", "hopper"], "{report}");
    let told =
        "compile_commands.json has no entry for this file: it is read with the flags of `k.cu`";
    assert_eq!(messages(&report), [told]);
    // What is broken is said, and the file is read all the same.
    place.file("build/compile_commands.json", "{ nonsense");
    let report = analyze(&file, &["-D", "USE_GPU"]);
    assert_eq!(kernels(&report), ["k"], "{report}");
    let told = messages(&report);
    let broken = |word: &String| word.starts_with("what `compile_commands.json` says is not used");
    assert_eq!(told.iter().filter(|it| broken(it)).count(), 1, "{told:?}");
}

#[test]
fn a_header_is_read_as_what_includes_it_is_compiled() {
    let place = Place::new("projects-header");
    build(&place);
    place.file("lockstep.toml", "defines = [\"STEP=96\"]\n");
    place.file("src/lockstep.toml", "");
    let header = place.file("parts/part.cuh", KERNEL);
    place.file("src/k.cu", "#include \"../parts/part.cuh\"\n");
    let report = analyze(&header, &[]);
    assert_eq!(kernels(&report), ["k", "hopper"], "{report}");
    let told = "this file is seen through `k.cu`, which includes it";
    assert_eq!(messages(&report), [told]);
    assert_eq!(strides(&report), [128, 4]);
    // By itself it has its own.
    assert_eq!(strides(&analyze(&header, &["--alone"])), [384, 4]);
}

fn uri(path: &str) -> String {
    format!("file://{path}")
}

fn client() -> Client {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({ "general": { "positionEncodings": ["utf-8"] } }));
    client
}

/// Waits until the published diagnostics of a file fit.
fn published(client: &mut Client, uri: &str, fits: impl Fn(&str) -> bool) {
    client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == uri && fits(&params["diagnostics"].to_string())
    });
}

fn changed(client: &mut Client, path: &str) {
    let changes = json!({ "changes": [{ "uri": uri(path), "type": 2 }] });
    client.notify("workspace/didChangeWatchedFiles", changes);
}

#[test]
fn an_editor_is_shown_what_the_build_makes_of_a_file_and_sees_it_change() {
    let place = Place::new("projects-wire");
    build(&place);
    let file = place.file("src/k.cu", KERNEL);
    let own = uri(&file);
    let mut client = client();
    client.open(&own, "cuda-cpp", KERNEL);
    // The first that is published is made with the flags.
    client.wait_for("textDocument/publishDiagnostics", |params| {
        let all = params["diagnostics"].to_string();
        assert!(!all.contains("was not found"), "{all}");
        params["uri"] == own && all.contains("stride of 128 bytes")
    });
    let other = FLAGS.replace("STEP=32", "STEP=64");
    let path = "build/compile_commands.json";
    entries(&place, path, &[("src/k.cu", &other)]);
    changed(&mut client, &place.path(path));
    published(&mut client, &own, |all| all.contains("stride of 256 bytes"));
    // A response file alone, and the file of entries gone.
    place.file("build/inc.rsp", "\n");
    changed(&mut client, &place.path("build/inc.rsp"));
    published(&mut client, &own, |all| {
        all.contains("`late.h` was not found")
    });
    std::fs::remove_file(place.path(path)).expect("it was there");
    changed(&mut client, &place.path(path));
    published(&mut client, &own, |all| {
        all.contains("`own.h` was not found")
    });
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn an_includer_that_comes_later_shows_a_header_without_an_edit() {
    let place = Place::new("projects-later");
    place.file("lockstep.toml", "");
    headers(&place);
    let text = "__global__ void part(own *p) { p[threadIdx.x * STEP] = 1; }\n";
    let header = place.file("parts/part.cuh", text);
    let own = uri(&header);
    let mut client = client();
    client.open(&own, "cuda-cpp", text);
    published(&mut client, &own, |all| !all.contains("seen through"));
    // Made beside the editor, whose client watches.
    let unit = "#include \"../include/own.h\"\n#define STEP 32\n#include \"../parts/part.cuh\"\n";
    let main = place.file("src/main.cu", unit);
    changed(&mut client, &main);
    published(&mut client, &own, |all| {
        all.contains("seen through `main.cu`") && all.contains("stride of 128 bytes")
    });
    // Gone, and another one saved in an editor that does not watch.
    std::fs::remove_file(&main).expect("it was there");
    changed(&mut client, &main);
    published(&mut client, &own, |all| !all.contains("seen through"));
    let unit = unit.replace("STEP 32", "STEP 64");
    let other = uri(&place.path("src/other.cu"));
    client.open(&other, "cuda-cpp", &unit);
    place.file("src/other.cu", &unit);
    let saved = json!({ "textDocument": { "uri": other } });
    client.notify("textDocument/didSave", saved);
    published(&mut client, &own, |all| {
        all.contains("seen through `other.cu`") && all.contains("stride of 256 bytes")
    });
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn a_header_in_an_editor_has_the_settings_of_what_includes_it() {
    let place = Place::new("projects-settings");
    build(&place);
    place.file("src/lockstep.toml", "defines = [\"STEP=64\"]\n");
    let header = place.file("parts/part.cuh", KERNEL);
    place.file("src/k.cu", "#include \"../parts/part.cuh\"\n");
    place.file(".git", "");
    let own = uri(&header);
    let mut client = client();
    client.open(&own, "cuda-cpp", KERNEL);
    published(&mut client, &own, |all| {
        all.contains("seen through `k.cu`") && all.contains("stride of 256 bytes")
    });
    // Its settings change where nobody has it open.
    let config = place.file("src/lockstep.toml", "defines = [\"STEP=128\"]\n");
    changed(&mut client, &config);
    published(&mut client, &own, |all| all.contains("stride of 512 bytes"));
    assert_eq!(client.shutdown(), Some(0));
}

const FAR: &str = "#include \"lib/far.h\"\n#include <own.h>\n\
    __global__ void k(own *p) { p[threadIdx.x * STEP] = 1; }\n";

#[test]
fn a_header_that_no_directory_leads_to_is_found_by_its_name() {
    let place = Place::new("projects-names");
    place.file(".git", "");
    headers(&place);
    let far = place.file("deep/include/lib/far.h", "#define STEP 32\n");
    let file = place.file("src/k.cu", FAR);
    let report = analyze(&file, &[]);
    assert_eq!(strides(&report), [128]);
    let told = messages(&report);
    let note = "no include directory leads to `lib/far.h` (also `own.h`): found by its name in the project, at `deep/include/lib/far.h`";
    assert!(told.iter().any(|told| told.starts_with(note)), "{told:?}");
    // A directory leads to it.
    let directory = place.path("include");
    let report = analyze(&file, &["-I", &directory]);
    let told = messages(&report);
    assert!(!told.iter().any(|told| told.contains("(also")), "{told:?}");
    // The nearer of two; neither where both are as near.
    place.file("src/lib2/lib/far.h", "#define STEP 64\n");
    assert_eq!(strides(&analyze(&file, &[])), [256]);
    std::fs::remove_file(place.path("src/lib2/lib/far.h")).expect("it was there");
    place.file("other/lib/far.h", "#define STEP 64\n");
    let told = messages(&analyze(&file, &[]));
    assert!(
        told.iter()
            .any(|told| told.contains("`lib/far.h` was not found")),
        "{told:?}"
    );
    std::fs::remove_file(far).expect("it was there");
    assert_eq!(strides(&analyze(&file, &[])), [256]);
    let told = messages(&analyze(&file, &["--alone"]));
    assert!(
        told.iter()
            .any(|told| told.contains("`lib/far.h` was not found")),
        "{told:?}"
    );
    // All files of a folder share what is listed.
    let checked = lockstep(&["check", "--format", "json", &place.path("src")]);
    let all = parsed(&checked).to_string();
    assert!(
        all.contains("found by its name") && all.contains("256 bytes"),
        "{all}"
    );
}

#[test]
fn an_editor_sees_headers_come_and_go_that_are_found_by_their_names() {
    let place = Place::new("projects-names-wire");
    place.file(".git", "");
    headers(&place);
    place.file("deep/lib/far.h", "#define STEP 32\n");
    let file = place.file("src/k.cu", FAR);
    let own = uri(&file);
    let mut client = client();
    client.open(&own, "cuda-cpp", FAR);
    published(&mut client, &own, |all| {
        all.contains("found by its name") && all.contains("stride of 128 bytes")
    });
    let far = place.path("deep/lib/far.h");
    std::fs::remove_file(&far).expect("it was there");
    changed(&mut client, &far);
    published(&mut client, &own, |all| {
        all.contains("`lib/far.h` was not found")
    });
    let other = place.file("other/lib/far.h", "#define STEP 64\n");
    changed(&mut client, &other);
    published(&mut client, &own, |all| all.contains("stride of 256 bytes"));
    assert_eq!(client.shutdown(), Some(0));
}
