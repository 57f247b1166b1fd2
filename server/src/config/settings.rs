//! The keys of `lockstep.toml` and of the editor's settings: serde reads them, and the schema is generated
//! from them.
//!
//! A value that can't be used becomes `Setting::Wrong` and leaves the others as they are. A new key is a field here, with
//! its description, and a line in `Apply`.

use super::{
    Config, ConfigProblem, CostHints, Detail, LanguageFeatures, Level, PROCESSOR, set_target,
};
use crate::explain;
use codegen::machine::{self, Table};
use facts::{Code, Method, Scope};
use ir::FunctionKind;
use rustc_hash::FxHashMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use smol_str::SmolStr;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use syntax::Span;
use toml::de::{DeTable, DeValue};

/// One value.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) enum Setting<T> {
    /// Left out, or null: an editor sends null for what is not set.
    #[default]
    Unset,
    Set(T),
    /// The reason why it can't be used.
    Wrong(String),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Setting<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Option::<T>::deserialize(deserializer) {
            Ok(Some(value)) => Setting::Set(value),
            Ok(None) => Setting::Unset,
            // Of several lines only the first is about the value.
            Err(error) => {
                let message = error.to_string();
                Setting::Wrong(message.lines().next().unwrap_or_default().to_owned())
            }
        })
    }
}

impl<T: JsonSchema> JsonSchema for Setting<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
    fn inline_schema() -> bool {
        true
    }
}

/// A whole number from `LOW` to `HIGH`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Within<const LOW: u32, const HIGH: u32>(u32);

impl<'de, const LOW: u32, const HIGH: u32> Deserialize<'de> for Within<LOW, HIGH> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer).ok();
        let number = number.and_then(|number| u32::try_from(number).ok());
        number
            .filter(|number| (LOW..=HIGH).contains(number))
            .map(Within)
            .ok_or_else(|| {
                serde::de::Error::custom(format_args!("expected a number from {LOW} to {HIGH}"))
            })
    }
}

impl<const LOW: u32, const HIGH: u32> JsonSchema for Within<LOW, HIGH> {
    fn schema_name() -> Cow<'static, str> {
        format!("{LOW}to{HIGH}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": LOW, "maximum": HIGH })
    }
    fn inline_schema() -> bool {
        true
    }
}

/// Macros, as a list of `NAME=VALUE` or as a table.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a list of \"NAME=VALUE\" or a table")]
#[schemars(inline)]
pub(super) enum Defines {
    List(Vec<String>),
    Table(BTreeMap<String, MacroValue>),
}

#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected texts, whole numbers or truth values as values of macros"
)]
#[schemars(inline)]
pub(super) enum MacroValue {
    Flag(bool),
    Number(i64),
    Text(String),
}

/// A function's kind by the name of its stage.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Stage(FunctionKind);

/// The names that the schema offers; others that mean the same are read, too.
const STAGES: [&str; 10] = [
    "kernel",
    "compute",
    "vertex",
    "pixel",
    "geometry",
    "hull",
    "domain",
    "amplification",
    "mesh",
    "ray-tracing",
];

impl<'de> Deserialize<'de> for Stage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        super::stage_from_name(&name)
            .map(Stage)
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Stage {
    fn schema_name() -> Cow<'static, str> {
        "Stage".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": STAGES })
    }
    fn inline_schema() -> bool {
        true
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum MethodName {
    Simple,
    Affine1,
    Affine2,
    Full,
}

#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum ScopeName {
    Quad,
    #[serde(alias = "subgroup", alias = "wave")]
    Warp,
    #[serde(alias = "block", alias = "group")]
    Workgroup,
    #[serde(alias = "grid")]
    Dispatch,
}

/// All keys.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "lockstep.toml", deny_unknown_fields)]
pub(super) struct Settings {
    /// Macros, as -D: a list of "NAME=VALUE" or a table.
    defines: Setting<Defines>,
    /// Directories in which includes are looked for, relative to this file.
    include_dirs: Setting<Vec<PathBuf>>,
    /// Prefixes of the names in #include, and the directories that they mean.
    path_remap: Setting<BTreeMap<String, PathBuf>>,
    /// Ends of headers' paths, and the file through which each header is looked at, where that is not one of those that
    /// include it.
    seen_through: Setting<BTreeMap<String, PathBuf>>,
    /// C: the system's headers are looked for behind include_dirs.
    #[schemars(extend("default" = true))]
    system_headers: Setting<bool>,
    /// HLSL: half and the min16 types have 16 bits, as with -enable-16bit-types.
    #[schemars(extend("default" = false))]
    enable_16bit_types: Setting<bool>,
    /// C: long, size_t and ptrdiff_t have 32 bits, as the conventions of signal processors have them; emit gives them to those by itself.
    #[schemars(extend("default" = false))]
    long_32bit: Setting<bool>,
    /// Lanes of a warp.
    #[schemars(extend("default" = 32))]
    warp_size: Setting<Within<1, 128>>,
    /// Workgroup size along x, y, z; 0 where unknown.
    #[schemars(extend("default" = [0, 0, 0], "maxItems" = 3))]
    block: Setting<Vec<Within<0, 1024>>>,
    /// The architecture that GPU code is made for; its costs are used unless `machine` names others.
    #[schemars(extend("default" = "sm_80"))]
    target: Setting<String>,
    /// The machine whose costs are used: a name of `lockstep machine list`. By default the target.
    #[schemars(extend("default" = "sm_80"))]
    machine: Setting<String>,
    /// The processor for which C is shown in the editor, only where one is named: one with explicit groups, for which IA-64
    /// assembly is judged, too, or one with execution sets (`sc140`).
    #[schemars(schema_with = "processors")]
    processor: Setting<String>,
    /// A table of your own, relative to this file; `base` in it names the table that it starts from.
    machine_file: Setting<String>,
    /// The most registers of a thread, for kernels that neither bound their launch nor have a number of their own: as
    /// nvcc's -maxrregcount. 0: as many as there are.
    #[schemars(extend("default" = 0))]
    maxrregcount: Setting<Within<0, 255>>,
    /// True if 0 * x may be taken for 0 when code is versioned on zero, and sums of pipelined C loops may be rounded in
    /// another order. Left out: HLSL permits the first, CUDA and C nothing.
    fast_math: Setting<bool>,
    /// The method of the divergence analysis.
    #[schemars(extend("default" = "full"))]
    method: Setting<MethodName>,
    /// The set of lanes that classes are about.
    #[schemars(extend("default" = "warp"))]
    scope: Setting<ScopeName>,
    /// Functions without a telling attribute, and their stage; `*` in a name stands for any text.
    entry_points: Setting<BTreeMap<String, Setting<Stage>>>,
    /// Findings that are accepted: a file of `lockstep check --write-baseline`.
    baseline: Setting<String>,
    /// A value profile of `lockstep profile` (.json), or a directory that holds those of files; by default
    /// FILE.lockstep-profile.json.
    profile: Setting<String>,
    /// Levels of diagnostics, by code.
    #[schemars(schema_with = "levels")]
    diagnostics: Setting<BTreeMap<String, Setting<Level>>>,
    /// Inlay hints.
    hints: Setting<HintSettings>,
    /// Rewrites are shown before they are made, where the editor can.
    #[schemars(extend("default" = true))]
    preview: Setting<bool>,
    /// Completion, rename, signature help and workspace symbols: not for CUDA and C (auto), for all languages (on), for none
    /// (off).
    #[schemars(extend("default" = LanguageFeatures::default()))]
    language_features: Setting<LanguageFeatures>,
    /// The language server.
    server: Setting<ServerSettings>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline, deny_unknown_fields)]
pub(super) struct HintSettings {
    #[schemars(extend("default" = true))]
    enabled: Setting<bool>,
    /// Only what surprises or matters, one hint a line (brief), or everything, each thing in a hint of its own (full).
    #[schemars(extend("default" = Detail::default()))]
    detail: Setting<Detail>,
    /// Class and form of variables that are not uniform.
    #[schemars(extend("default" = true))]
    values: Setting<bool>,
    /// Class and form of uniform variables, too.
    #[schemars(extend("default" = false))]
    uniform: Setting<bool>,
    /// Divergent branches and what they cost.
    #[schemars(extend("default" = true))]
    branches: Setting<bool>,
    /// Loops with a divergent trip count.
    #[schemars(extend("default" = true))]
    loops: Setting<bool>,
    /// Strided and gathering accesses, bank conflicts.
    #[schemars(extend("default" = true))]
    accesses: Setting<bool>,
    /// The share of executions in which definitions are zero in all lanes of a warp, where there is a profile.
    #[schemars(extend("default" = true))]
    zeros: Setting<bool>,
    /// Values that most of the recorded ways never read, where there is a profile.
    #[schemars(extend("default" = true))]
    paths: Setting<bool>,
    /// Sides of branches that are seldom taken, and the hot path of a function, where there is a profile.
    #[schemars(extend("default" = true))]
    frequencies: Setting<bool>,
    /// Branches that are often mispredicted, of functions that run on one lane and have a profile.
    #[schemars(extend("default" = true))]
    mispredictions: Setting<bool>,
    /// The line at which most registers are live, where they leave room for at most three quarters of the warps.
    #[schemars(extend("default" = true))]
    registers: Setting<bool>,
    /// Definitions that are zero less often have no hint.
    #[schemars(extend("default" = 10))]
    zero_percent: Setting<Within<0, 100>>,
    /// Branches that cost fewer cycles have no hint.
    #[schemars(extend("default" = 8))]
    branch_cycles: Setting<Within<0, 1_000_000>>,
    /// Estimated cycles a warp: none (off), those of the dearest line of a kernel where its cost does not show (hot), or those
    /// of all lines and loops.
    #[schemars(extend("default" = CostHints::default()))]
    costs: Setting<CostHints>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline, deny_unknown_fields)]
pub(super) struct ServerSettings {
    /// Idle time before diagnostics are published.
    #[schemars(extend("default" = 150))]
    debounce_ms: Setting<Within<0, 10_000>>,
}

fn processors(_: &mut SchemaGenerator) -> Schema {
    let names = machine::tables()
        .iter()
        .filter(|table| table.epic().is_some() || table.sets().is_some())
        .map(|table| table.name.to_string());
    let names: Vec<String> = names.collect();
    json_schema!({ "type": "string", "enum": names, "default": PROCESSOR })
}

fn levels(generator: &mut SchemaGenerator) -> Schema {
    let findings = Code::ALL.iter().map(|code| code.name());
    let names: Vec<&str> = findings.chain(explain::notes()).collect();
    json_schema!({
        "type": "object",
        "propertyNames": { "enum": names },
        "additionalProperties": generator.subschema_for::<Level>(),
    })
}

/// The schema of `lockstep.toml` (JSON Schema, draft 7, which editors of TOML read).
pub fn schema() -> Value {
    let settings = schemars::generate::SchemaSettings::draft07();
    let mut schema = settings
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<Settings>()
        .to_value();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("description");
    }
    schema
}

/// The keys that a table may have, by the schema; `None`: it takes any.
fn keys_of(table: &[&str]) -> Option<&'static serde_json::Map<String, Value>> {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let mut schema = SCHEMA.get_or_init(schema);
    for key in table {
        schema = &schema["properties"][key];
    }
    schema["properties"].as_object()
}

/// `includeDirs` is `include_dirs`; a key that is none of ours, such as a name of a function, stays as it is.
pub(super) fn in_snake_case(settings: &Value) -> Value {
    fn table(settings: &Value, path: &[&str]) -> Value {
        match (settings, keys_of(path)) {
            (Value::Object(entries), Some(_)) => entries
                .iter()
                .map(|(key, value)| {
                    let key = snake_case(key);
                    let value = table(value, &[path, &[key.as_str()]].concat());
                    (key, value)
                })
                .collect(),
            _ => settings.clone(),
        }
    }
    table(settings, &[])
}

fn snake_case(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The places of keys in a text, with their values: `["hints", "detail"]`.
#[derive(Debug, Default)]
pub(super) struct Places(FxHashMap<Vec<String>, Span>);

impl Places {
    pub(super) fn of(table: &DeTable<'_>) -> Places {
        let mut places = Places::default();
        places.add(table, &[]);
        places
    }

    /// Settings lie two tables deep.
    fn add(&mut self, table: &DeTable<'_>, above: &[String]) {
        for (key, value) in table.iter() {
            let (start, end) = (key.span().start, value.span().end.max(key.span().end));
            let path = [above, &[key.get_ref().to_string()]].concat();
            if let DeValue::Table(inner) = value.get_ref()
                && path.len() < 2
            {
                self.add(inner, &path);
            }
            self.0.insert(path, Span::new(start as u32, end as u32));
        }
    }

    fn at(&self, path: &[&str]) -> Span {
        let path: Vec<String> = path.iter().map(|&key| key.to_owned()).collect();
        self.0.get(&path).copied().unwrap_or_default()
    }
}

/// Puts settings on top of a configuration.
pub(super) struct Apply<'a> {
    pub(super) config: &'a mut Config,
    /// Paths are relative to it.
    pub(super) directory: Option<&'a Path>,
    /// `None`: the editor's settings, which have none.
    pub(super) places: Option<&'a Places>,
    pub(super) problems: &'a mut Vec<ConfigProblem>,
}

impl Apply<'_> {
    pub(super) fn problem(&mut self, path: &[&str], message: String) {
        let span = self
            .places
            .map_or(Span::default(), |places| places.at(path));
        self.problems.push(ConfigProblem { span, message });
    }

    /// Reports the keys that the schema does not know.
    pub(super) fn unknown_keys(&mut self) {
        let Some(places) = self.places else {
            return;
        };
        let unknown = places.0.iter().filter_map(|(path, &span)| {
            let (last, above) = path.split_last()?;
            let above: Vec<&str> = above.iter().map(String::as_str).collect();
            let known = keys_of(&above).is_none_or(|keys| keys.contains_key(last));
            let message = format!("unknown key `{}`", path.join("."));
            (!known).then_some(ConfigProblem { span, message })
        });
        self.problems.extend(unknown);
    }

    fn value<T>(&mut self, path: &[&str], setting: Setting<T>) -> Option<T> {
        match setting {
            Setting::Unset => None,
            Setting::Set(value) => Some(value),
            Setting::Wrong(message) => {
                self.problem(path, format!("`{}`: {message}", path.join(".")));
                None
            }
        }
    }

    /// Puts a value where it belongs, if there is one.
    fn put<T>(&mut self, path: &[&str], setting: Setting<T>, to: impl FnOnce(&mut Config, T)) {
        if let Some(value) = self.value(path, setting) {
            to(self.config, value);
        }
    }

    fn located(&self, path: impl AsRef<Path>) -> PathBuf {
        match self.directory {
            Some(directory) => directory.join(path),
            None => path.as_ref().to_owned(),
        }
    }

    fn located_table(&self, table: BTreeMap<String, PathBuf>) -> Vec<(String, PathBuf)> {
        let entries = table.into_iter();
        entries
            .map(|(name, path)| (name, self.located(path)))
            .collect()
    }

    pub(super) fn settings(&mut self, settings: Settings) {
        self.sources(&settings);
        let Settings {
            warp_size,
            block,
            target,
            machine,
            processor,
            machine_file,
            maxrregcount,
            fast_math,
            method,
            scope,
            entry_points,
            baseline,
            profile,
            diagnostics,
            hints,
            preview,
            language_features,
            server,
            ..
        } = settings;
        self.put(&["warp_size"], warp_size, |config, size| {
            config.analysis.options.warp_size = size.0;
        });
        if let Some(sizes) = self.value(&["block"], block) {
            if sizes.len() > 3 {
                self.problem(&["block"], "`block` has at most three numbers".into());
            } else {
                let mut block = [None; 3];
                for (to, size) in block.iter_mut().zip(sizes) {
                    *to = Some(size.0).filter(|&size| size > 0);
                }
                self.config.analysis.options.block = block;
            }
        }
        if let Some(name) = self.value(&["target"], target)
            && let Err(message) = set_target(&mut self.config.analysis, &name)
        {
            self.problem(&["target"], message);
        }
        let gpus = "of a GPU";
        let listed = "`lockstep machine list` names those that there are";
        if let Some(name) = self.table("machine", machine, (gpus, listed), Table::is_gpu) {
            self.config.analysis.machine = Some(name);
        }
        let explicit = "of a processor with explicit groups or execution sets";
        let listed = "`itanium`, `itanium2` and `sc140` are";
        if let Some(name) = self.table("processor", processor, (explicit, listed), |table| {
            table.epic().is_some() || table.sets().is_some()
        }) {
            self.config.analysis.processor = Some(name);
        }
        if let Some(path) = self.value(&["machine_file"], machine_file) {
            let located = Some(self.located(&path)).filter(|_| !path.is_empty());
            self.config.analysis.machine_file = located;
            let place = self.places.map(|places| places.at(&["machine_file"]));
            self.config.machine_place = place.unwrap_or_default();
        }
        self.put(&["maxrregcount"], maxrregcount, |config, most| {
            config.analysis.max_registers = Some(most.0).filter(|&most| most > 0);
        });
        self.put(&["fast_math"], fast_math, |config, flag| {
            config.analysis.fast_math = Some(flag);
        });
        self.put(&["method"], method, |config, method| {
            config.analysis.options.method = match method {
                MethodName::Simple => Method::Simple,
                MethodName::Affine1 => Method::Polynomial(1),
                MethodName::Affine2 => Method::Polynomial(2),
                MethodName::Full => Method::Full,
            };
        });
        self.put(&["scope"], scope, |config, scope| {
            config.analysis.options.scope = match scope {
                ScopeName::Quad => Scope::Quad,
                ScopeName::Warp => Scope::Subgroup,
                ScopeName::Workgroup => Scope::Workgroup,
                ScopeName::Dispatch => Scope::Dispatch,
            };
        });
        if let Some(stages) = self.value(&["entry_points"], entry_points) {
            self.config.analysis.entry_points.clear();
            for (name, stage) in stages {
                if let Some(stage) = self.value(&["entry_points", &name], stage) {
                    let entry_points = &mut self.config.analysis.entry_points;
                    entry_points.push((SmolStr::from(&name), stage.0));
                }
            }
            self.config.analysis.order_entry_points();
        }
        if let Some(path) = self.value(&["baseline"], baseline) {
            self.config.view.baseline = Some(self.located(path));
        }
        if let Some(path) = self.value(&["profile"], profile) {
            self.config.view.profile = Some(self.located(path));
        }
        if let Some(levels) = self.value(&["diagnostics"], diagnostics) {
            self.levels(levels);
        }
        if let Some(hints) = self.value(&["hints"], hints) {
            self.hints(hints);
        }
        self.put(&["preview"], preview, |config, flag| {
            config.view.preview = flag;
        });
        self.put(
            &["language_features"],
            language_features,
            |config, features| config.view.language_features = features,
        );
        if let Some(server) = self.value(&["server"], server) {
            let path = ["server", "debounce_ms"];
            self.put(&path, server.debounce_ms, |config, time| {
                config.debounce_ms = Some(time.0.into());
            });
        }
    }

    /// The name of a table of machines of a kind, whose words describe it and list the known names.
    fn table(
        &mut self,
        key: &str,
        setting: Setting<String>,
        (kind, listed): (&str, &str),
        is_of_kind: impl Fn(&Table) -> bool,
    ) -> Option<SmolStr> {
        let name = self.value(&[key], setting)?;
        if machine::named(&name).is_some_and(|table| is_of_kind(&table)) {
            return Some(SmolStr::from(name));
        }
        let message = format!("there is no table {kind} `{name}`; {listed}");
        self.problem(&[key], message);
        None
    }

    /// Takes over the settings with which sources are read.
    fn sources(&mut self, settings: &Settings) {
        if let Some(defines) = self.value(&["defines"], settings.defines.clone()) {
            let defines = match defines {
                Defines::List(list) => list.into_iter().map(SmolStr::from).collect(),
                Defines::Table(table) => table
                    .into_iter()
                    .map(|(name, value)| {
                        SmolStr::from(match value {
                            MacroValue::Text(text) => format!("{name}={text}"),
                            MacroValue::Number(number) => format!("{name}={number}"),
                            MacroValue::Flag(flag) => format!("{name}={}", u8::from(flag)),
                        })
                    })
                    .collect(),
            };
            self.config.analysis.defines = defines;
        }
        if let Some(paths) = self.value(&["include_dirs"], settings.include_dirs.clone()) {
            let located = paths.iter().map(|path| self.located(path)).collect();
            self.config.analysis.include_dirs = located;
        }
        if let Some(table) = self.value(&["path_remap"], settings.path_remap.clone()) {
            let mut table = self.located_table(table);
            // The longest prefix that fits is the one that is meant.
            table.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
            self.config.analysis.path_remap = table;
        }
        if let Some(table) = self.value(&["seen_through"], settings.seen_through.clone()) {
            self.config.analysis.seen_through = self.located_table(table);
        }
        self.put(
            &["system_headers"],
            settings.system_headers.clone(),
            |config, flag| config.analysis.no_system_headers = !flag,
        );
        self.put(
            &["enable_16bit_types"],
            settings.enable_16bit_types.clone(),
            |config, flag| config.analysis.native_16bit = flag,
        );
        self.put(
            &["long_32bit"],
            settings.long_32bit.clone(),
            |config, flag| config.analysis.long_32bit = flag,
        );
    }

    fn levels(&mut self, levels: BTreeMap<String, Setting<Level>>) {
        for (name, level) in levels {
            let path = ["diagnostics", name.as_str()];
            let (note, code) = (explain::note(&name), Code::from_name(&name));
            if note.is_none() && code.is_none() {
                self.problem(&path, format!("there is no diagnostic `{name}`"));
                continue;
            }
            let Some(level) = self.value(&path, level) else {
                continue;
            };
            let view = &mut self.config.view;
            if let Some(note) = note {
                view.note_levels.retain(|(known, _)| *known != note);
                view.note_levels.push((note, level));
            } else if let Some(code) = code {
                view.levels.retain(|(known, _)| *known != code);
                view.levels.push((code, level));
            }
        }
        self.config.view.levels.sort_by_key(|(code, _)| *code);
    }

    fn hints(&mut self, hints: HintSettings) {
        let mut to = self.config.view.hints.clone();
        let mut set = |name: &str, setting: Setting<bool>, switch: &mut bool| {
            if let Some(flag) = self.value(&["hints", name], setting) {
                *switch = flag;
            }
        };
        set("enabled", hints.enabled, &mut to.enabled);
        set("values", hints.values, &mut to.values);
        set("uniform", hints.uniform, &mut to.uniform);
        set("branches", hints.branches, &mut to.branches);
        set("loops", hints.loops, &mut to.loops);
        set("accesses", hints.accesses, &mut to.accesses);
        set("zeros", hints.zeros, &mut to.zeros);
        set("paths", hints.paths, &mut to.paths);
        set("frequencies", hints.frequencies, &mut to.frequencies);
        set(
            "mispredictions",
            hints.mispredictions,
            &mut to.mispredictions,
        );
        set("registers", hints.registers, &mut to.registers);
        if let Some(detail) = self.value(&["hints", "detail"], hints.detail) {
            to.detail = detail;
        }
        if let Some(percent) = self.value(&["hints", "zero_percent"], hints.zero_percent) {
            to.zero_percent = percent.0;
        }
        if let Some(cycles) = self.value(&["hints", "branch_cycles"], hints.branch_cycles) {
            to.branch_cycles = cycles.0;
        }
        if let Some(costs) = self.value(&["hints", "costs"], hints.costs) {
            to.costs = costs;
        }
        self.config.view.hints = to;
    }
}
