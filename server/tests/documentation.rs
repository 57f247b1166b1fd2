//! The documents keep their word: each wrong example of a diagnostic's page has its finding, no right one has
//! it, and all are understood; the schema and the README list the keys that the configuration knows; JSON.md
//! shows the keys that `analyze` prints; the guide names files, functions and tests that exist.

use lockstep_server::config::{self, AnalysisConfig, Config, ViewConfig};
use lockstep_server::db::{Database, File, Source};
use lockstep_server::derive::figures::{self, Figure};
use lockstep_server::views::diagnostics::diagnostics;
use lockstep_server::{explain, views::report::report};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const WARP_SUM: &str = "__device__ float warp_sum(float v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
  return v;
}
";

const INDEX: &str = "int i = blockIdx.x * blockDim.x + threadIdx.x;";

/// Returns the code around the examples of a page in a language: before and behind. Examples that are whole
/// functions have none.
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
    let extension = match language {
        "cuda" => "cu",
        other => other,
    };
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

/// The codes of a text's diagnostics, and the number of its functions.
fn said(text: &str, language: &str) -> (Vec<(&'static str, String)>, usize) {
    let (mut db, file) = open(text, language);
    // What an example says of the assembler, the assembler says of it.
    let counted = text.split_once("ptxas: ");
    let counted = counted.and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    if let Some(registers) = counted {
        let figure = Figure {
            version: "13.5".into(),
            target: "sm_80".into(),
            registers,
            stack_bytes: 0,
            spill_store_bytes: 0,
            spill_load_bytes: 0,
            shared_bytes: 0,
        };
        let jobs = figures::wanted(&db, file);
        let entries = jobs.iter().flat_map(|job| &job.entries);
        let known = entries.map(|(_, key)| (*key, Some(figure.clone())));
        let known = known.collect();
        db.set_figures(file, known);
    }
    let shown = diagnostics(&db, file)
        .into_iter()
        .map(|diagnostic| (diagnostic.code, diagnostic.message))
        .collect();
    (shown, report(&db, file, None).items.len())
}

/// Findings of a profile, which an example has not: `partly_dead.rs` makes one.
const PROFILED: [&str; 2] = ["partially-dead", "irrelevant-load"];

#[test]
fn wrong_examples_are_found_and_right_ones_are_not() {
    let mut failures = Vec::new();
    for code in facts::Code::ALL.iter().map(|code| code.name()) {
        let page = explain::page(code).unwrap_or_default();
        let examples = examples(&page);
        for wrong in [true, false] {
            assert!(
                examples.iter().any(|example| example.wrong == wrong),
                "{code}: both kinds of example"
            );
        }
        for example in &examples {
            let whole = ["__global__", "SV_", ".entry"]
                .iter()
                .any(|mark| example.text.contains(mark))
                || example.language == "c";
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
            let wanted = example.wrong && !PROFILED.contains(&code);
            if has != wanted || strange || functions == 0 {
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

/// Programs that a workspace's settings name are executed in a trusted workspace only: VS Code reads the
/// restricted settings of others from the user's own.
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

/// The levels that the extension's settings take are those of all codes, findings and notes.
#[test]
fn the_extension_knows_every_code() {
    let path = root().join("editors/vscode/package.json");
    let text = std::fs::read_to_string(path).expect("the extension's manifest");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    let settings = &manifest["contributes"]["configuration"]["properties"];
    let levels = settings["lockstep.diagnostics"]["properties"]
        .as_object()
        .expect("levels");
    let named: BTreeSet<&str> = levels.keys().map(String::as_str).collect();
    let schema = schema();
    let codes = schema["properties"]["diagnostics"]["propertyNames"]["enum"]
        .as_array()
        .expect("codes");
    let codes: BTreeSet<&str> = codes.iter().filter_map(Value::as_str).collect();
    assert_eq!(named, codes);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files below a folder whose names end so, in order.
fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => open.push(path),
                false if path.to_string_lossy().ends_with(ending) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// The name and the text of each page of the guide.
fn guide() -> Vec<(String, String)> {
    let pages = files_below(&root().join("server/guide"), ".md");
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("a page");
        (name.into_owned(), text)
    };
    let pages: Vec<_> = pages.into_iter().map(read).collect();
    assert!(pages.len() >= 8, "{}", pages.len());
    pages
}

/// Returns the words in backticks, outside of blocks of code.
fn quoted(page: &str) -> Vec<&str> {
    let prose = page.split("\n```").step_by(2);
    prose
        .flat_map(|text| text.split('`').skip(1).step_by(2))
        .collect()
}

/// Returns whether a word is a path from the root of the repository: it has folders, and begins with one that
/// is there or names a file by its extension.
fn is_path(word: &str) -> bool {
    const EXTENSIONS: &[&str] = &[
        "c", "cu", "expected", "hlsl", "json", "md", "ptx", "rs", "s", "toml", "tsv", "txt",
    ];
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let Some((first, _)) = word.split_once('/') else {
        return matches!(word, "README.md" | "Cargo.toml");
    };
    let extension = Path::new(word).extension().and_then(|it| it.to_str());
    let named = extension.is_some_and(|it| EXTENSIONS.contains(&it));
    word.chars().all(plain)
        && (named || matches!(first, "analyses" | "editors" | "fixtures" | "server"))
}

#[test]
fn paths_in_the_guide_exist() {
    let mut missing = Vec::new();
    for (page, text) in guide() {
        let words = quoted(&text);
        let paths = words.into_iter().filter(|word| is_path(word));
        let paths: BTreeSet<&str> = paths.collect();
        assert!(paths.len() >= 8, "{page}: {paths:?}");
        let absent = paths.into_iter().filter(|path| !root().join(path).exists());
        missing.extend(absent.map(|path| format!("{page}: {path}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Functions are the words with parentheses behind them: `lower_item()`, `Frame::of()`.
#[test]
fn functions_in_the_guide_exist() {
    let mut known: BTreeSet<String> = BTreeSet::new();
    for path in ["analyses", "server"].map(|folder| files_below(&root().join(folder), ".rs")) {
        for path in path {
            let text = std::fs::read_to_string(&path).expect("a source");
            let names = text.split("fn ").skip(1).map(|rest| {
                let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
                rest[..end.unwrap_or(rest.len())].to_owned()
            });
            known.extend(names);
        }
    }
    let mut missing = Vec::new();
    for (page, text) in guide() {
        for word in quoted(&text) {
            let name = word.strip_suffix("()").unwrap_or_default();
            let name = name.rsplit("::").next().unwrap_or_default();
            let plain = name
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_');
            if plain && !name.is_empty() && !known.contains(name) {
                missing.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// `cargo test -p lockstep-ir --test launches` needs `analyses/ir/tests/launches.rs`.
#[test]
fn commands_in_the_guide_name_tests_that_exist() {
    let mut missing = Vec::new();
    for (page, text) in guide() {
        for word in quoted(&text) {
            let words: Vec<&str> = word.split_whitespace().collect();
            let behind = |flag: &str| {
                let at = words.iter().position(|&word| word == flag)?;
                words.get(at + 1).copied()
            };
            let Some(package) = behind("-p") else {
                continue;
            };
            let name = package.strip_prefix("lockstep-").unwrap_or(package);
            let folder = match name {
                "server" => root().join(name),
                _ => root().join("analyses").join(name),
            };
            let test = behind("--test").map(|test| folder.join("tests").join(test));
            let there = test.is_none_or(|test| test.with_extension("rs").is_file());
            if !there || !folder.join("Cargo.toml").is_file() {
                missing.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
