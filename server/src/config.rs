//! Settings: `lockstep.toml`, found upward from a file, and the editor's settings above it, which have the same shape.
//!
//! A value that can't be used is a problem at its place and leaves the default; a file that is no TOML at all leaves
//! all defaults. Nothing here ends the program.
//!
//! ```toml
//! defines = ["TILE=16", "DEBUG"]            # as -D
//! include_dirs = ["include"]                # relative to this file
//! path_remap = { "/Engine" = "shaders" }    # a prefix of what stands in an #include
//! seen_through = { "part.cuh" = "main.cu" } # headers, and the file through which each is looked at
//! system_headers = true                     # C: /usr/include and its like are looked into last
//! enable_16bit_types = false                # HLSL: as -enable-16bit-types
//! warp_size = 32                            # 1 to 128
//! block = [256, 1, 1]                       # workgroup size; 0 where unknown
//! target = "sm_80"                          # what GPU code is made for
//! machine = "sm_86"                         # whose costs are used; the target's by default
//! processor = "itanium2"                    # for which assembly of explicit groups is judged
//! machine_file = "card.machine.toml"        # a table of one's own
//! fast_math = true                          # 0 * x may be taken for 0, and sums of C loops may be rounded in another order; without it HLSL permits the first
//! method = "full"                           # simple, affine1, affine2, full
//! scope = "warp"                            # warp, quad, workgroup, dispatch: what "uniform" is said of
//! entry_points = { main_ps = "pixel", "*_CS" = "compute" }   # functions without a telling attribute; `*` is any text
//! preview = true                            # rewrites are shown before they are made, where the editor can
//! language_features = "auto"                # completion, rename, signature help, workspace symbols: auto (not for CUDA and C), on, off
//! baseline = "lockstep-baseline.json"
//! profile = "profiles"                      # a value profile, or a directory of them; else FILE.lockstep-profile.json
//! [diagnostics]
//! uncoalesced-access = "warning"            # off, hint, information, warning, error
//! [hints]
//! enabled = true
//! detail = "brief"                          # what surprises or matters, one hint a line; full: everything
//! values = true                             # class and form of variables that are not uniform
//! uniform = false                           # of uniform ones, too
//! branches = true
//! loops = true
//! accesses = true
//! zeros = true                              # how often values are zero for a whole warp, where there is a profile
//! zero_percent = 10                         # at least so often
//! branch_cycles = 8                         # branches that cost less have no hint
//! costs = "hot"                             # estimated cycles: off, hot (the dearest lines), all
//! [server]
//! debounce_ms = 150                         # idle time before diagnostics are published
//! ```

use crate::commands::CompileFlags;
use codegen::machine;
use facts::{Code, Method, Options, Scope};
use ir::FunctionKind;
use smol_str::SmolStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syntax::Span;

/// The name that is looked for, in the file's directory and those above it.
pub const FILE_NAME: &str = "lockstep.toml";

/// All settings of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    pub analysis: AnalysisConfig,
    pub view: ViewConfig,
    pub debounce_ms: Option<u64>,
    /// Where `machine_file` is written.
    pub machine_place: Span,
}

/// What facts depend on: a change computes them anew.
/// The processor with explicit groups, where none is named.
pub const PROCESSOR: &str = "itanium2";

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnalysisConfig {
    pub defines: Vec<SmolStr>,
    pub include_dirs: Vec<PathBuf>,
    pub path_remap: Vec<(String, PathBuf)>,
    /// What paths of headers end in, and the file through which those are seen.
    pub seen_through: Vec<(String, PathBuf)>,
    /// C: the system's headers are not looked for.
    pub no_system_headers: bool,
    /// HLSL's `half` and `min16` types have 16 bits.
    pub native_16bit: bool,
    pub options: Options,
    /// What GPU code is made for; `None`: sm_80.
    pub target: Option<SmolStr>,
    /// Whose costs are used, where it is not the target's.
    pub machine: Option<SmolStr>,
    /// For which processor assembly of explicit groups is judged; `None`: `PROCESSOR`.
    pub processor: Option<SmolStr>,
    /// A table of the user's, which comes first.
    pub machine_file: Option<PathBuf>,
    /// Names of functions, with `*` for any text, and what they are. A name comes before a pattern, a longer pattern
    /// before a shorter one.
    pub entry_points: Vec<(SmolStr, FunctionKind)>,
    /// Whether 0 * x may be taken for 0; `None`: as the language has it.
    pub fast_math: Option<bool>,
    /// What `compile_commands.json` says; everything else comes first.
    pub command: Option<Arc<CompileFlags>>,
}

/// What only the presentation depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewConfig {
    /// Sorted by code.
    pub levels: Vec<(Code, Level)>,
    /// Of what is no finding, by its code.
    pub note_levels: Vec<(&'static str, Level)>,
    pub hints: HintConfig,
    /// Rewrites are shown before they are made, where the client can.
    pub preview: bool,
    pub language_features: LanguageFeatures,
    pub baseline: Option<PathBuf>,
    /// A value profile, or the directory that holds those of files.
    pub profile: Option<PathBuf>,
}

impl Default for ViewConfig {
    fn default() -> Self {
        ViewConfig {
            levels: Vec::new(),
            note_levels: Vec::new(),
            hints: HintConfig::default(),
            preview: true,
            language_features: LanguageFeatures::default(),
            baseline: None,
            profile: None,
        }
    }
}

/// Completion, rename, signature help and workspace symbols, which other servers of a language offer, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LanguageFeatures {
    /// Not of CUDA and C, for which there is clangd.
    #[default]
    Auto,
    On,
    Off,
}

impl LanguageFeatures {
    fn from_name(name: &str) -> Option<LanguageFeatures> {
        let named = [
            ("auto", LanguageFeatures::Auto),
            ("on", LanguageFeatures::On),
            ("off", LanguageFeatures::Off),
        ];
        let found = named.iter().find(|(known, _)| *known == name);
        found.map(|(_, features)| *features)
    }

    /// Whether they are offered for files of a language.
    pub fn serve(self, language: crate::program::Language) -> bool {
        use crate::program::Language;
        match self {
            LanguageFeatures::On => true,
            LanguageFeatures::Off => false,
            LanguageFeatures::Auto => !matches!(language, Language::Cuda | Language::C),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Level {
    Off,
    /// A remark about the tool or its assumptions.
    Hint,
    /// An estimate, or what an author may want to change.
    Information,
    /// A proved hazard.
    Warning,
    Error,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HintConfig {
    pub enabled: bool,
    pub detail: Detail,
    pub values: bool,
    pub uniform: bool,
    pub branches: bool,
    pub loops: bool,
    pub accesses: bool,
    /// How often a definition is zero in all lanes of a warp.
    pub zeros: bool,
    /// Definitions that are zero less often have no hint, in percent.
    pub zero_percent: u32,
    /// Branches whose divergence costs fewer cycles have no hint: a guard such as `if (i < n)` loses nothing but the meeting
    /// point.
    pub branch_cycles: u32,
    pub costs: CostHints,
}

/// How much inlay hints tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// What surprises or matters, one hint a line.
    #[default]
    Brief,
    /// Everything that is known, each thing in a hint of its own.
    Full,
}

/// Which lines have a hint with what they cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CostHints {
    Off,
    /// Those that hold most of a function's cycles.
    #[default]
    Hot,
    All,
}

impl Default for HintConfig {
    fn default() -> Self {
        HintConfig {
            enabled: true,
            detail: Detail::default(),
            values: true,
            uniform: false,
            branches: true,
            loops: true,
            accesses: true,
            zeros: true,
            zero_percent: 10,
            branch_cycles: 8,
            costs: CostHints::default(),
        }
    }
}

impl ViewConfig {
    pub fn level(&self, code: Code) -> Option<Level> {
        self.levels
            .binary_search_by_key(&code, |(code, _)| *code)
            .ok()
            .map(|at| self.levels[at].1)
    }
}

/// Something wrong in a configuration, in bytes of its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigProblem {
    pub span: Span,
    pub message: String,
}

/// A value of a configuration, whatever it was written in.
#[derive(Clone, PartialEq, Debug)]
pub enum Setting {
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Placed>),
    Table(Vec<(String, Placed)>),
    /// Null, a date, a fraction.
    Other,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Placed {
    pub value: Setting,
    pub span: Span,
}

/// Reads a `lockstep.toml` in `directory` on top of `config`.
pub fn apply_toml(config: &mut Config, text: &str, directory: &Path) -> Vec<ConfigProblem> {
    let (table, errors) = toml::de::DeTable::parse_recoverable(text);
    let mut problems: Vec<ConfigProblem> = errors
        .iter()
        .take(20)
        .map(|error| ConfigProblem {
            span: error.span().map_or(Span::default(), |range| {
                Span::new(range.start as u32, range.end as u32)
            }),
            message: format!("not TOML: {}", error.message()),
        })
        .collect();
    let span = Span::new(table.span().start as u32, table.span().end as u32);
    let root = Placed {
        value: table_setting(table.get_ref(), 0),
        span,
    };
    apply(config, &root, Some(directory), &mut problems);
    problems.sort_by_key(|problem| problem.span);
    problems
}

/// Reads an editor's settings on top of `config`. Unknown keys are other tools' or the client's own and are passed over.
pub fn apply_json(
    config: &mut Config,
    settings: &serde_json::Value,
    directory: Option<&Path>,
) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    let root = Placed {
        value: json_setting(settings, 0),
        span: Span::default(),
    };
    apply(config, &root, directory, &mut problems);
    problems.retain(|problem| !problem.message.starts_with("unknown key"));
    problems
}

/// The nearest `lockstep.toml` in the directories above a file.
pub fn candidates(file: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    file.ancestors()
        .skip(1)
        .take(64)
        .map(|directory| directory.join(FILE_NAME))
}

fn table_setting(table: &toml::de::DeTable<'_>, depth: u32) -> Setting {
    let entries = table.iter().map(|(key, value)| {
        let span = Span::new(
            key.span().start as u32,
            value.span().end.max(key.span().end) as u32,
        );
        (
            key.get_ref().to_string(),
            Placed {
                value: toml_setting(value.get_ref(), depth + 1),
                span,
            },
        )
    });
    Setting::Table(entries.collect())
}

fn toml_setting(value: &toml::de::DeValue<'_>, depth: u32) -> Setting {
    use toml::de::DeValue;
    if depth > 8 {
        return Setting::Other;
    }
    match value {
        DeValue::Boolean(flag) => Setting::Bool(*flag),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Setting::Other, Setting::Int),
        DeValue::String(text) => Setting::Text(text.to_string()),
        DeValue::Array(items) => Setting::List(
            items
                .iter()
                .map(|item| Placed {
                    value: toml_setting(item.get_ref(), depth + 1),
                    span: Span::new(item.span().start as u32, item.span().end as u32),
                })
                .collect(),
        ),
        DeValue::Table(table) => table_setting(table, depth),
        DeValue::Float(_) | DeValue::Datetime(_) => Setting::Other,
    }
}

fn json_setting(value: &serde_json::Value, depth: u32) -> Setting {
    use serde_json::Value;
    if depth > 8 {
        return Setting::Other;
    }
    let placed = |value: &Value| Placed {
        value: json_setting(value, depth + 1),
        span: Span::default(),
    };
    match value {
        Value::Bool(flag) => Setting::Bool(*flag),
        Value::Number(number) => number.as_i64().map_or(Setting::Other, Setting::Int),
        Value::String(text) => Setting::Text(text.clone()),
        Value::Array(items) => Setting::List(items.iter().map(placed).collect()),
        Value::Object(entries) => Setting::Table(
            entries
                .iter()
                .map(|(key, value)| (snake_case(key), placed(value)))
                .collect(),
        ),
        Value::Null => Setting::Other,
    }
}

/// `includeDirs` is `include_dirs`; codes keep their hyphens.
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

fn apply(
    config: &mut Config,
    root: &Placed,
    directory: Option<&Path>,
    problems: &mut Vec<ConfigProblem>,
) {
    let Setting::Table(entries) = &root.value else {
        return;
    };
    for (key, placed) in entries {
        let outcome = apply_key(config, key, placed, directory, problems);
        if let Err(message) = outcome {
            problems.push(ConfigProblem {
                span: placed.span,
                message,
            });
        }
    }
    config.view.levels.sort_by_key(|(code, _)| *code);
}

fn apply_key(
    config: &mut Config,
    key: &str,
    placed: &Placed,
    directory: Option<&Path>,
    problems: &mut Vec<ConfigProblem>,
) -> Result<(), String> {
    let analysis = &mut config.analysis;
    let located = |path: &str| match directory {
        Some(directory) => directory.join(path),
        None => PathBuf::from(path),
    };
    // An editor sends null for a setting that was not set.
    if placed.value == Setting::Other && placed.span == Span::default() {
        return Ok(());
    }
    match key {
        "defines" => {
            analysis.defines = match &placed.value {
                Setting::Table(entries) => entries
                    .iter()
                    .map(|(name, value)| match &value.value {
                        Setting::Text(text) => SmolStr::from(format!("{name}={text}")),
                        Setting::Int(number) => SmolStr::from(format!("{name}={number}")),
                        Setting::Bool(flag) => SmolStr::from(format!("{name}={}", u8::from(*flag))),
                        _ => SmolStr::from(name.as_str()),
                    })
                    .collect(),
                _ => texts(placed)?.into_iter().map(SmolStr::from).collect(),
            };
        }
        "include_dirs" => {
            analysis.include_dirs = texts(placed)?.iter().map(|path| located(path)).collect()
        }
        "path_remap" => {
            analysis.path_remap = text_table(placed)?
                .into_iter()
                .map(|(prefix, path)| (prefix, located(&path)))
                .collect();
            // The longest prefix that fits is the one that is meant.
            analysis
                .path_remap
                .sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        }
        "seen_through" => {
            analysis.seen_through = text_table(placed)?
                .into_iter()
                .map(|(header, path)| (header, located(&path)))
                .collect();
        }
        "system_headers" => {
            let Setting::Bool(flag) = placed.value else {
                return Err("true or false is expected".into());
            };
            analysis.no_system_headers = !flag;
        }
        "enable_16bit_types" => {
            let Setting::Bool(flag) = placed.value else {
                return Err("true or false is expected".into());
            };
            analysis.native_16bit = flag;
        }
        "warp_size" => analysis.options.warp_size = in_range(placed, 1, 128)? as u32,
        "block" => {
            let Setting::List(items) = &placed.value else {
                return Err("`block` is a list of up to three numbers, 0 where unknown".into());
            };
            if items.len() > 3 {
                return Err("`block` has at most three numbers".into());
            }
            let mut block = [None; 3];
            for (at, item) in items.iter().enumerate() {
                let size = in_range(item, 0, 1024)? as u32;
                block[at] = (size > 0).then_some(size);
            }
            analysis.options.block = block;
        }
        "preview" => match placed.value {
            Setting::Bool(flag) => config.view.preview = flag,
            _ => return Err("`preview` is true or false".into()),
        },
        "language_features" => {
            config.view.language_features = LanguageFeatures::from_name(&text(placed)?)
                .ok_or("`language_features` is auto, on or off")?;
        }
        "fast_math" => match placed.value {
            Setting::Bool(flag) => analysis.fast_math = Some(flag),
            _ => return Err("`fast_math` is true or false".into()),
        },
        "target" => set_target(analysis, &text(placed)?)?,
        "machine" => {
            let name = text(placed)?;
            if machine::named(&name).is_none_or(|table| !table.is_gpu()) {
                return Err(format!(
                    "there is no table of a GPU `{name}`; `lockstep machine list` names those that there are"
                ));
            }
            analysis.machine = Some(SmolStr::from(name));
        }
        "processor" => {
            let name = text(placed)?;
            if machine::named(&name).is_none_or(|table| table.epic().is_none()) {
                return Err(format!(
                    "there is no table of a processor with explicit groups `{name}`; `itanium` and `itanium2` are"
                ));
            }
            analysis.processor = Some(SmolStr::from(name));
        }
        "machine_file" => {
            analysis.machine_file = Some(located(&text(placed)?))
                .filter(|_| placed.value != Setting::Text(String::new()));
            config.machine_place = placed.span;
        }
        "method" => {
            analysis.options.method = method_from_name(&text(placed)?)
                .ok_or("`method` is one of simple, affine1, affine2, full")?;
        }
        "scope" => {
            analysis.options.scope = scope_from_name(&text(placed)?)
                .ok_or("`scope` is one of quad, warp, workgroup, dispatch")?;
        }
        "entry_points" => {
            let Setting::Table(entries) = &placed.value else {
                return Err("`entry_points` is a table of function names and stages".into());
            };
            analysis.entry_points.clear();
            for (name, stage) in entries {
                match text(stage).and_then(|stage| stage_from_name(&stage)) {
                    Ok(kind) => analysis.entry_points.push((name.into(), kind)),
                    Err(message) => problems.push(ConfigProblem {
                        span: stage.span,
                        message,
                    }),
                }
            }
            analysis.order_entry_points();
        }
        "baseline" => config.view.baseline = Some(located(&text(placed)?)),
        "profile" => config.view.profile = Some(located(&text(placed)?)),
        "diagnostics" => {
            let Setting::Table(entries) = &placed.value else {
                return Err("`diagnostics` is a table of codes and levels".into());
            };
            for (name, level) in entries {
                if let Some(note) = crate::explain::note(name) {
                    match level_named(level) {
                        Ok(level) => {
                            config.view.note_levels.retain(|(known, _)| *known != note);
                            config.view.note_levels.push((note, level));
                        }
                        Err(message) => problems.push(ConfigProblem {
                            span: level.span,
                            message,
                        }),
                    }
                    continue;
                }
                match level_of(name, level) {
                    Ok((code, level)) => {
                        config.view.levels.retain(|(known, _)| *known != code);
                        config.view.levels.push((code, level));
                    }
                    Err(message) => problems.push(ConfigProblem {
                        span: level.span,
                        message,
                    }),
                }
            }
        }
        "hints" => {
            let Setting::Table(entries) = &placed.value else {
                return Err("`hints` is a table of switches".into());
            };
            for (name, value) in entries {
                let switch = match name.as_str() {
                    "enabled" => &mut config.view.hints.enabled,
                    "values" => &mut config.view.hints.values,
                    "uniform" => &mut config.view.hints.uniform,
                    "branches" => &mut config.view.hints.branches,
                    "loops" => &mut config.view.hints.loops,
                    "accesses" => &mut config.view.hints.accesses,
                    "zeros" => &mut config.view.hints.zeros,
                    "zero_percent" => {
                        match in_range(value, 0, 100) {
                            Ok(percent) => config.view.hints.zero_percent = percent as u32,
                            Err(message) => problems.push(ConfigProblem {
                                span: value.span,
                                message,
                            }),
                        }
                        continue;
                    }
                    "detail" => {
                        match text(value).as_deref() {
                            Ok("brief") => config.view.hints.detail = Detail::Brief,
                            Ok("full") => config.view.hints.detail = Detail::Full,
                            _ if value.value == Setting::Other => {}
                            _ => problems.push(ConfigProblem {
                                span: value.span,
                                message: "`hints.detail` is brief or full".into(),
                            }),
                        }
                        continue;
                    }
                    "costs" => {
                        match text(value).as_deref() {
                            Ok("off") => config.view.hints.costs = CostHints::Off,
                            Ok("hot") => config.view.hints.costs = CostHints::Hot,
                            Ok("all") => config.view.hints.costs = CostHints::All,
                            _ if value.value == Setting::Other => {}
                            _ => problems.push(ConfigProblem {
                                span: value.span,
                                message: "`hints.costs` is off, hot or all".into(),
                            }),
                        }
                        continue;
                    }
                    "branch_cycles" => {
                        match in_range(value, 0, 1_000_000) {
                            Ok(cycles) => config.view.hints.branch_cycles = cycles as u32,
                            Err(message) => problems.push(ConfigProblem {
                                span: value.span,
                                message,
                            }),
                        }
                        continue;
                    }
                    _ => {
                        problems.push(unknown_key(&format!("hints.{name}"), value.span));
                        continue;
                    }
                };
                match value.value {
                    Setting::Bool(flag) => *switch = flag,
                    Setting::Other => {}
                    _ => problems.push(ConfigProblem {
                        span: value.span,
                        message: format!("`hints.{name}` is true or false"),
                    }),
                }
            }
        }
        "server" => {
            let Setting::Table(entries) = &placed.value else {
                return Err("`server` is a table".into());
            };
            for (name, value) in entries {
                match name.as_str() {
                    "debounce_ms" => config.debounce_ms = Some(in_range(value, 0, 10_000)? as u64),
                    _ => problems.push(unknown_key(&format!("server.{name}"), value.span)),
                }
            }
        }
        _ => problems.push(unknown_key(key, placed.span)),
    }
    Ok(())
}

/// What code is made for and whose costs are counted: a GPU, or a processor as `ia64:NAME`.
pub fn set_target(analysis: &mut AnalysisConfig, name: &str) -> Result<(), String> {
    let processor = name.strip_prefix("ia64:");
    match machine::named(processor.unwrap_or(name)) {
        Some(table) if table.epic().is_some() => {
            analysis.processor = Some(SmolStr::from(table.name.as_str()));
        }
        Some(_) if processor.is_none() => analysis.target = Some(SmolStr::from(name)),
        _ => {
            let tables = machine::tables().iter();
            let names = tables.map(|table| match table.epic() {
                Some(_) => format!("ia64:{}", table.name),
                None => table.name.to_string(),
            });
            let names: Vec<String> = names.collect();
            return Err(format!(
                "there is no target `{name}`; there are: {}",
                names.join(", ")
            ));
        }
    }
    Ok(())
}

/// Puts what the build says of a file below what the settings say.
pub fn apply_command(analysis: &mut AnalysisConfig, flags: Option<CompileFlags>) {
    let Some(mut flags) = flags else {
        return;
    };
    if let (None, Some((number, _))) = (&analysis.target, flags.architecture) {
        // An architecture without a table has the costs of the one before it.
        let mut tables = (50..=number).rev().map(|number| format!("sm_{number}"));
        analysis.target = tables
            .find(|name| machine::named(name).is_some())
            .map(SmolStr::from);
        flags.define_architecture();
    }
    analysis.command = Some(Arc::new(flags));
}

/// What a stage's name means, of a shader's function or a kernel.
pub fn stage_from_name(name: &str) -> Result<FunctionKind, String> {
    ir::lower::c_family::stages::named_stage(name).ok_or_else(|| {
        format!("`{name}` is no stage: kernel, compute, vertex, pixel, geometry, hull, domain, amplification, mesh or ray-tracing")
    })
}

impl AnalysisConfig {
    /// What the configuration says that a function is.
    pub fn entry_point(&self, name: &str) -> Option<FunctionKind> {
        let last = name.rsplit("::").next().unwrap_or(name);
        let found = self
            .entry_points
            .iter()
            .find(|(pattern, _)| fits(pattern, last) || fits(pattern, name));
        found.map(|(_, kind)| *kind)
    }

    /// The files through which a header is to be seen.
    pub fn seen_through_of<'a>(&'a self, header: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
        let named = self.seen_through.iter();
        named.filter_map(move |(name, path)| header.ends_with(name).then_some(path))
    }

    pub fn order_entry_points(&mut self) {
        self.entry_points.sort_by_key(|(name, _)| {
            (
                name.contains('*'),
                std::cmp::Reverse(name.len()),
                name.clone(),
            )
        });
        self.entry_points.dedup_by(|a, b| a.0 == b.0);
    }
}

/// Whether a name fits a pattern, in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut rest) = name.strip_prefix(head) else {
        return false;
    };
    let mut parts = tail.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

pub fn method_from_name(name: &str) -> Option<Method> {
    Some(match name {
        "simple" => Method::Simple,
        "affine1" => Method::Polynomial(1),
        "affine2" => Method::Polynomial(2),
        "full" => Method::Full,
        _ => return None,
    })
}

pub const fn method_name(method: Method) -> &'static str {
    match method {
        Method::Simple => "simple",
        Method::Polynomial(0 | 1) => "affine1",
        Method::Polynomial(_) => "affine2",
        Method::Full => "full",
    }
}

pub fn scope_from_name(name: &str) -> Option<Scope> {
    Some(match name {
        "quad" => Scope::Quad,
        "warp" | "subgroup" | "wave" => Scope::Subgroup,
        "workgroup" | "block" | "group" => Scope::Workgroup,
        "dispatch" | "grid" => Scope::Dispatch,
        _ => return None,
    })
}

/// The word for a scope that the JSON and the texts use.
pub const fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Quad => "quad",
        Scope::Subgroup => "warp",
        Scope::Workgroup => "workgroup",
        Scope::Dispatch => "dispatch",
    }
}

fn unknown_key(key: &str, span: Span) -> ConfigProblem {
    ConfigProblem {
        span,
        message: format!("unknown key `{key}`"),
    }
}

fn level_of(name: &str, placed: &Placed) -> Result<(Code, Level), String> {
    let code = Code::from_name(name).ok_or_else(|| format!("there is no diagnostic `{name}`"))?;
    Ok((code, level_named(placed)?))
}

fn level_named(placed: &Placed) -> Result<Level, String> {
    Ok(match text(placed)?.as_str() {
        "off" | "allow" => Level::Off,
        "hint" => Level::Hint,
        "information" | "info" => Level::Information,
        "warning" | "warn" => Level::Warning,
        "error" | "deny" => Level::Error,
        other => {
            return Err(format!(
                "`{other}` is no level: off, hint, information, warning or error"
            ));
        }
    })
}

fn text(placed: &Placed) -> Result<String, String> {
    match &placed.value {
        Setting::Text(text) => Ok(text.clone()),
        _ => Err("a text is expected".into()),
    }
}

fn texts(placed: &Placed) -> Result<Vec<String>, String> {
    match &placed.value {
        Setting::List(items) => items.iter().map(text).collect(),
        _ => Err("a list of texts is expected".into()),
    }
}

fn text_table(placed: &Placed) -> Result<Vec<(String, String)>, String> {
    match &placed.value {
        Setting::Table(entries) => entries
            .iter()
            .map(|(key, value)| Ok((key.clone(), text(value)?)))
            .collect(),
        _ => Err("a table of texts is expected".into()),
    }
}

fn in_range(placed: &Placed, low: i64, high: i64) -> Result<i64, String> {
    match placed.value {
        Setting::Int(number) if (low..=high).contains(&number) => Ok(number),
        _ => Err(format!("a number from {low} to {high} is expected")),
    }
}

#[cfg(test)]
mod tests;
