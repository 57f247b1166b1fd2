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
//! long_32bit = false                        # C: long, size_t and pointers have 32 bits
//! warp_size = 32                            # 1 to 128
//! block = [256, 1, 1]                       # workgroup size; 0 where unknown
//! target = "sm_80"                          # what GPU code is made for
//! machine = "sm_86"                         # whose costs are used; the target's by default
//! processor = "itanium2"                    # for which assembly of explicit groups is judged
//! machine_file = "card.machine.toml"        # a table of one's own
//! maxrregcount = 64                         # as nvcc -maxrregcount: registers of a thread, at most, of kernels without bounds; 0: none
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
//! paths = true                              # values that most recorded ways never read, where there is a profile
//! zero_percent = 10                         # at least so often
//! frequencies = true                        # how often sides of branches are taken, and hot paths, where there is a profile
//! mispredictions = true                     # branches that a predictor is often wrong about, where there is a profile
//! branch_cycles = 8                         # branches that cost less have no hint
//! costs = "hot"                             # estimated cycles: off, hot (a line that hides them), all
//! [server]
//! debounce_ms = 150                         # idle time before diagnostics are published
//! ```

mod settings;

use crate::commands::CompileFlags;
use codegen::machine;
use facts::{Code, Method, Options, Scope};
use ir::FunctionKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Apply, Places, Settings};
use smol_str::SmolStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syntax::Span;

pub use settings::schema;

/// The name that is looked for, in the file's directory and those above it.
pub const FILE_NAME: &str = "lockstep.toml";

/// All settings of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    pub analysis: AnalysisConfig,
    pub view: ViewConfig,
    pub debounce_ms: Option<u64>,
    /// The place at which `machine_file` is written.
    pub machine_place: Span,
}

/// The settings that facts depend on: a change computes them anew.
/// The processor with explicit groups, where none is named.
pub const PROCESSOR: &str = "itanium2";

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnalysisConfig {
    pub defines: Vec<SmolStr>,
    pub include_dirs: Vec<PathBuf>,
    pub path_remap: Vec<(String, PathBuf)>,
    /// The ends of paths of headers, and the file through which those are seen.
    pub seen_through: Vec<(String, PathBuf)>,
    /// C: the system's headers are not looked for.
    pub no_system_headers: bool,
    /// HLSL's `half` and `min16` types have 16 bits.
    pub native_16bit: bool,
    /// C: `long`, `size_t`, `ptrdiff_t` and pointers have 32 bits.
    pub long_32bit: bool,
    pub options: Options,
    /// The target of GPU code; `None`: sm_80.
    pub target: Option<SmolStr>,
    /// Whose costs are used, where it is not the target's.
    pub machine: Option<SmolStr>,
    /// The processor for which assembly of explicit groups is judged; `None`: `PROCESSOR`.
    pub processor: Option<SmolStr>,
    /// A table of the user's, which comes first.
    pub machine_file: Option<PathBuf>,
    /// Registers of a thread, at most, where a kernel does not bound its launch.
    pub max_registers: Option<u32>,
    /// Names of functions, with `*` for any text, and their stages. A name comes before a pattern, a longer
    /// pattern before a shorter one.
    pub entry_points: Vec<(SmolStr, FunctionKind)>,
    /// True if 0 * x may be taken for 0; `None`: as the language has it.
    pub fast_math: Option<bool>,
    /// The flags in `compile_commands.json`; everything else comes first.
    pub command: Option<Arc<CompileFlags>>,
}

impl AnalysisConfig {
    /// Products and sums become one operation in the code of kernels and shaders, unless the build says otherwise.
    #[must_use]
    pub fn contracts(&self) -> bool {
        !self.command.as_ref().is_some_and(|flags| flags.separate)
    }

    /// Functions are those of the hardware, where the language leaves it to the compilation.
    #[must_use]
    pub fn approximates(&self) -> bool {
        let flags = self.command.as_ref();
        self.fast_math
            .unwrap_or_else(|| flags.is_some_and(|flags| flags.approximate))
    }
}

/// The settings that only the presentation depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewConfig {
    /// Sorted by code.
    pub levels: Vec<(Code, Level)>,
    /// The levels of notes, which are no findings, by code.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LanguageFeatures {
    /// Not for CUDA and C, for which there is clangd.
    #[default]
    Auto,
    On,
    Off,
}

impl LanguageFeatures {
    /// Returns true if they are offered for files of a language.
    pub fn serve(self, language: crate::language::Language) -> bool {
        use crate::language::Language;
        match self {
            LanguageFeatures::On => true,
            LanguageFeatures::Off => false,
            LanguageFeatures::Auto => !matches!(language, Language::Cuda | Language::C),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Level {
    /// Not reported.
    #[serde(alias = "allow")]
    Off,
    /// A remark about the tool or its assumptions.
    Hint,
    /// An estimate, or something that an author may want to change.
    #[serde(alias = "info")]
    Information,
    /// A proved hazard.
    #[serde(alias = "warn")]
    Warning,
    /// Reported as an error.
    #[serde(alias = "deny")]
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
    /// Hints on how often a definition is zero in all lanes of a warp.
    pub zeros: bool,
    /// Values that most recorded ways never read.
    pub paths: bool,
    /// Sides of branches that are seldom taken, and hot paths.
    pub frequencies: bool,
    /// Hints on how often a branch is mispredicted.
    pub mispredictions: bool,
    /// The line at which most registers are live, of kernels whose occupancy they limit.
    pub registers: bool,
    /// Definitions that are zero less often have no hint, in percent.
    pub zero_percent: u32,
    /// Branches whose divergence costs fewer cycles have no hint: a guard such as `if (i < n)` loses nothing but the meeting
    /// point.
    pub branch_cycles: u32,
    pub costs: CostHints,
}

/// The detail of inlay hints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Detail {
    /// Only what surprises or matters, one hint a line.
    #[default]
    Brief,
    /// Everything that is known, each thing in a hint of its own.
    Full,
}

/// The lines that have a hint with their cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CostHints {
    Off,
    /// The lines that hold most of a function's cycles.
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
            paths: true,
            frequencies: true,
            mispredictions: true,
            registers: true,
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

/// A problem in a configuration, in bytes of its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigProblem {
    pub span: Span,
    pub message: String,
}

/// Reads a `lockstep.toml` in `directory` on top of `config`.
pub fn apply_toml(config: &mut Config, text: &str, directory: &Path) -> Vec<ConfigProblem> {
    let (table, errors) = toml::de::DeTable::parse_recoverable(text);
    let span_of = |range: std::ops::Range<usize>| Span::new(range.start as u32, range.end as u32);
    let mut problems: Vec<ConfigProblem> = errors
        .iter()
        .take(20)
        .map(|error| ConfigProblem {
            span: error.span().map_or(Span::default(), span_of),
            message: format!("not TOML: {}", error.message()),
        })
        .collect();
    let places = Places::of(table.get_ref());
    let mut apply = Apply {
        config,
        directory: Some(directory),
        places: Some(&places),
        problems: &mut problems,
    };
    apply.unknown_keys();
    match Settings::deserialize(toml::de::Deserializer::from(table)) {
        Ok(settings) => apply.settings(settings),
        Err(error) => apply.problem(&[], error.message().to_owned()),
    }
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
    let mut apply = Apply {
        config,
        directory,
        places: None,
        problems: &mut problems,
    };
    match Settings::deserialize(settings::in_snake_case(settings)) {
        Ok(settings) => apply.settings(settings),
        Err(error) => apply.problem(&[], error.to_string()),
    }
    problems
}

/// The nearest `lockstep.toml` in the directories above a file.
pub fn candidates(file: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    file.ancestors()
        .skip(1)
        .take(64)
        .map(|directory| directory.join(FILE_NAME))
}

/// Sets the machine for which code is made and whose costs are counted: a GPU, or a processor as `ia64:NAME`.
pub fn set_target(analysis: &mut AnalysisConfig, name: &str) -> Result<(), String> {
    let processor = name.strip_prefix("ia64:");
    match machine::named(processor.unwrap_or(name)) {
        Some(table) if table.epic().is_some() || processor.is_none() && table.sets().is_some() => {
            analysis.processor = Some(SmolStr::from(table.name.as_str()));
        }
        Some(table) if processor.is_none() && table.is_gpu() => {
            analysis.target = Some(SmolStr::from(name));
        }
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

/// Puts the build's options for a file below the settings.
pub fn apply_command(analysis: &mut AnalysisConfig, flags: Option<CompileFlags>) {
    let Some(mut flags) = flags else {
        return;
    };
    analysis.max_registers = analysis.max_registers.or(flags.max_registers);
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

/// Returns the meaning of a stage's name, of a shader's function or a kernel.
pub fn stage_from_name(name: &str) -> Result<FunctionKind, String> {
    ir::lower::c_family::stages::named_stage(name).ok_or_else(|| {
        format!("`{name}` is no stage: kernel, compute, vertex, pixel, geometry, hull, domain, amplification, mesh or ray-tracing")
    })
}

impl AnalysisConfig {
    /// Returns the stage that the configuration gives to a function.
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

/// Returns true if a name fits a pattern, in which `*` stands for any text.
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

pub const fn method_name(method: Method) -> &'static str {
    match method {
        Method::Simple => "simple",
        Method::Polynomial(0 | 1) => "affine1",
        Method::Polynomial(_) => "affine2",
        Method::Full => "full",
    }
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

#[cfg(test)]
mod tests;
