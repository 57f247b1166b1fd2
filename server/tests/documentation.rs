//! What is written for people keeps its word: each wrong example of a diagnostic's page has its finding, no right one has it, and all
//! are understood; the schema and the README list the keys that the configuration knows; JSON.md shows the keys that `analyze` prints.

use lockstep_server::config::{self, AnalysisConfig, Config, ViewConfig};
use lockstep_server::db::{Database, File, Source};
use lockstep_server::views::diagnostics::diagnostics;
use lockstep_server::{explain, views::report::report};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const WARP_SUM: &str = "__device__ float warp_sum(float v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
  return v;
}
";

const INDEX: &str = "int i = blockIdx.x * blockDim.x + threadIdx.x;";

/// What stands around the examples of a page in a language: before and behind. Examples that are whole functions have none.
fn surroundings(code: &str, language: &str) -> (String, &'static str) {
    let (before, behind) = match (code, language) {
        ("atomic-same-address", "cuda") => (
            format!(
                "{WARP_SUM}__global__ void k(float* total, const float* in) {{ {INDEX}
  int lane = threadIdx.x % 32; float value = in[i];\n"
            ),
            "}",
        ),
        ("atomic-same-address", "hlsl") => (
            "StructuredBuffer<uint> values; RWStructuredBuffer<uint> total;
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { uint value = values[id.x];\n"
                .into(),
            "}",
        ),
        ("bank-conflict", "cuda") => (
            format!("__global__ void k(float* out) {{ {INDEX} float x;\n"),
            "out[i] = x; }",
        ),
        ("barrier-in-divergent-loop", "cuda") => (
            "__global__ void k(float* out, const float* in, int n) { __shared__ float tile[256]; float sum = 0.0f;\n"
                .into(),
            "out[blockIdx.x * blockDim.x + threadIdx.x] = sum; }",
        ),
        ("derivative-nonuniform", "hlsl") => (
            "Texture2D<float4> albedo; SamplerState linearSampler; cbuffer Draw { float threshold; float scale; };
float4 main(float2 uv : TEXCOORD0) : SV_Target { float4 colour = 0;\n"
                .into(),
            "return colour; }",
        ),
        ("divergent-loop", "cuda") => (
            format!(
                "{WARP_SUM}__global__ void k(float* y, const float* value, const int* column, const int* row, const float* x) {{
  {INDEX} int lane = threadIdx.x % 32; int r = i / 32; float sum = 0.0f;\n"
            ),
            "y[i] = sum; }",
        ),
        ("fp64-by-accident", "cuda") => (
            format!("__global__ void k(float* out, const float* in, float z) {{ {INDEX} float x = in[i];\n"),
            "out[i] = y; }",
        ),
        ("local-array-dynamic-index", "cuda") => (
            format!(
                "__global__ void k(float* out, const int* slot, const float* x, int n) {{ {INDEX}\n"
            ),
            "float sum = 0.0f;\n#pragma unroll\nfor (int j = 0; j < 8; ++j) sum += best[j];\nout[i] = sum; }",
        ),
        ("needless-nonuniform", "hlsl") => (
            "Texture2D<float4> textures[16]; SamplerState s; cbuffer Draw { uint material; };
float4 main(float2 uv : TEXCOORD0) : SV_Target {\n"
                .into(),
            "return c; }",
        ),
        ("nonuniform-resource-index", "hlsl") => (
            "Texture2D<float4> textures[] : register(t0, space1); SamplerState s;
float4 main(float2 uv : TEXCOORD0, nointerpolation uint material : MATERIAL) : SV_Target {\n"
                .into(),
            "return c; }",
        ),
        ("shuffle-inactive-source", "cuda") => (
            format!("__global__ void k(float* out, const float* in, float limit) {{ {INDEX} float value = in[i];\n"),
            "}",
        ),
        ("shuffle-inactive-source", "hlsl") => (
            "StructuredBuffer<float> values; RWStructuredBuffer<float> result;
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { float value = values[id.x]; bool p = value > 1; float x = 0;\n"
                .into(),
            "result[id.x] = x; }",
        ),
        ("warp-sync-mask", "cuda") => (
            "__global__ void k(float* out, const float* in, int n) { float sum = in[threadIdx.x]; unsigned all = 0;\n"
                .into(),
            "out[threadIdx.x] = sum + all; }",
        ),
        _ => (String::new(), ""),
    };
    (before, behind)
}

struct Example {
    wrong: bool,
    language: String,
    text: String,
}

/// The blocks of code below `## Wrong` and `## Right`.
fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let (mut section, mut open) = (String::new(), false);
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.to_owned();
        } else if let Some(language) = line.strip_prefix("```") {
            open = !open && matches!(section.as_str(), "Wrong" | "Right");
            if open {
                found.push(Example {
                    wrong: section == "Wrong",
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
        } else if open && let Some(example) = found.last_mut() {
            example.text.push_str(line);
            example.text.push('\n');
        }
    }
    found
}

fn open(text: &str, language: &str) -> (Database, File) {
    let mut db = Database::default();
    let extension = if language == "hlsl" { "hlsl" } else { "cu" };
    let path = format!("/examples/page.{extension}");
    let source = Source::Text {
        text: Arc::from(text),
        lossy: false,
    };
    let file = db.file_with_text(Path::new(&path), source);
    let settings = db.new_settings(AnalysisConfig::default(), ViewConfig::default(), Vec::new());
    db.set_file_settings(file, settings);
    (db, file)
}

/// The codes of what is said of a text, and how many functions it has.
fn said(text: &str, language: &str) -> (Vec<(&'static str, String)>, usize) {
    let (db, file) = open(text, language);
    let shown = diagnostics(&db, file)
        .into_iter()
        .map(|one| (one.code, one.message))
        .collect();
    (shown, report(&db, file, None).items.len())
}

#[test]
fn wrong_examples_are_found_and_right_ones_are_not() {
    let mut failures = Vec::new();
    for code in facts::Code::ALL.iter().map(|code| code.name()) {
        let page = explain::page(code).unwrap_or_default();
        let examples = examples(&page);
        for wrong in [true, false] {
            assert!(
                examples.iter().any(|one| one.wrong == wrong),
                "{code}: both kinds of example"
            );
        }
        for example in &examples {
            let whole = ["__global__", "SV_"]
                .iter()
                .any(|mark| example.text.contains(mark));
            let (before, behind) = match whole {
                true => (String::new(), ""),
                false => surroundings(code, &example.language),
            };
            let text = format!("{before}{}{behind}\n", example.text);
            let (shown, functions) = said(&text, &example.language);
            let has = shown.iter().any(|(name, _)| *name == code);
            let strange = shown
                .iter()
                .any(|(name, _)| matches!(*name, "syntax" | "unsupported-construct" | "limit"));
            if has != example.wrong || strange || functions == 0 {
                failures.push(format!(
                    "{code}, {}: {functions} functions, {shown:?}\n{text}",
                    if example.wrong { "wrong" } else { "right" },
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

const SCHEMA: &str = include_str!("../lockstep.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

fn keys(value: &Value) -> BTreeSet<String> {
    let object = value.as_object().into_iter();
    object.flat_map(|object| object.keys().cloned()).collect()
}

/// A value that a property of the schema allows.
fn sample(property: &Value) -> Value {
    if let Some(properties) = property.get("properties") {
        let entries = properties.as_object().into_iter().flatten();
        return entries
            .map(|(key, value)| (key.clone(), sample(value)))
            .collect();
    }
    if let Some(value) = property.get("default") {
        return value.clone();
    }
    let kind = property.get("type").and_then(Value::as_str);
    match kind.or(property["anyOf"][0]["type"].as_str()) {
        Some("array") => Value::Array(Vec::new()),
        Some("object") => Value::Object(serde_json::Map::new()),
        Some("boolean") => Value::Bool(true),
        _ => Value::from("x"),
    }
}

/// `UPDATE_FIXTURES=1` writes the file anew.
#[test]
fn the_schema_is_that_of_the_types_and_allows_what_they_read() {
    let generated = config::schema();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/lockstep.schema.json");
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        let text = serde_json::to_string_pretty(&generated).expect("JSON") + "\n";
        std::fs::write(path, text).expect("the file is written");
    }
    let text = std::fs::read_to_string(path).expect("the schema");
    let written: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        written, generated,
        "UPDATE_FIXTURES=1 cargo test -p lockstep-server"
    );

    let text = toml::to_string(&sample(&generated)).expect("TOML");
    let problems = config::apply_toml(&mut Config::default(), &text, Path::new("/p"));
    assert!(problems.is_empty(), "{problems:?}\n{text}");
}

#[test]
fn the_readme_lists_all_keys_of_the_configuration() {
    let readme = include_str!("../../README.md");
    let block = readme.split_once("```toml\n").expect("a block of TOML").1;
    let text = block.split_once("```").expect("its end").0;
    let problems = config::apply_toml(&mut Config::default(), text, Path::new("/p"));
    assert!(problems.is_empty(), "{problems:?}");
    let written: Value = toml::from_str(text).expect("TOML");
    let schema = schema();
    assert_eq!(keys(&written), keys(&schema["properties"]));
    for table in ["hints", "server"] {
        let wanted = keys(&schema["properties"][table]["properties"]);
        assert_eq!(keys(&written[table]), wanted, "{table}");
    }
}

#[test]
fn the_description_of_the_json_has_the_keys_that_are_printed() {
    let description = include_str!("../JSON.md");
    let block = description.split_once("```json\n").expect("an example").1;
    let example = block.split_once("```").expect("its end").0;
    let example: Value = serde_json::from_str(example).expect("JSON");
    let text = "#include \"missing.h\"
template <int W> __global__ void k(float4* out, const float* in, int pitch) {
  __shared__ float tile[32][32];
  int i = threadIdx.x;
  for (int j = 0; j < i; ++j) tile[i][0] += in[j * pitch + i * pitch];
  float4 v = make_float4(i, 0.0f, 0.0f, in[W]);
  if (i > 3) out[2 * i] = v;
  unknown_call(i);
}
void host(float4* out, float* in) { k<4><<<1, dim3(32, 2)>>>(out, in, 3); }
";
    let (db, file) = open(text, "cuda");
    let printed = serde_json::to_value(report(&db, file, None)).expect("JSON");
    assert_eq!(keys(&example), keys(&printed));
    for list in ["problems", "items", "diagnostics"] {
        assert_eq!(keys(&example[list][0]), keys(&printed[list][0]), "{list}");
    }
    let item = &printed["items"][0];
    for list in ["problems", "values", "branches", "loops", "accesses"] {
        let rows = item[list].as_array().expect("a list");
        assert!(!rows.is_empty(), "{list}");
        let section = match description.split_once(&format!("### `{list}[]`")) {
            Some((_, rest)) => rest.split("\n##").next().unwrap_or(rest),
            None => description,
        };
        for key in rows.iter().flat_map(keys) {
            let told = section.contains(&format!("`{key}`")) || key == "assumed";
            assert!(told || list == "problems", "{list}: {key}");
        }
    }
}

/// What a workspace's settings name is executed in a workspace that is trusted only: VS Code reads the restricted
/// settings of others from the user's own.
#[test]
fn programs_that_settings_name_need_a_trusted_workspace() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../editors/vscode/package.json"
    );
    let text = std::fs::read_to_string(path).expect("the extension's manifest");
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let trust = &manifest["capabilities"]["untrustedWorkspaces"];
    assert_eq!(trust["supported"], "limited");
    let restricted: Vec<&str> = trust["restrictedConfigurations"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    let settings = manifest["contributes"]["configuration"]["properties"]
        .as_object()
        .expect("settings");
    let programs: Vec<&str> = settings
        .keys()
        .map(String::as_str)
        .filter(|name| name.ends_with(".path"))
        .collect();
    assert!(programs.len() >= 2, "{programs:?}");
    assert_eq!(programs.len(), restricted.len(), "{restricted:?}");
    assert!(programs.iter().all(|name| restricted.contains(name)));
}
