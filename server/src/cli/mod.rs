//! The command line: the facts of the editor, in a terminal and as JSON. Exit codes: 0 nothing to complain of, 1
//! `check` found something, 2 the input can't be used.

mod actions;
mod analyze;
mod annotate;
mod bundle;
mod check;
mod code;
mod dump;
mod emit;
mod execute;
mod input;
mod instrument;
mod loops;
mod machine;
mod profile;
mod report;
mod shells;
mod sim;

use crate::lsp;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Parser, Debug)]
#[command(
    name = "lockstep",
    version = env!("LOCKSTEP_VERSION"),
    about = "Shows how the variables of a kernel or shader behave across lanes",
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Prints a file with its facts in the margin
    Annotate(AnnotateArgs),
    /// Prints diagnostics of files and directories; exit code 1 if one is an error or denied, 2 if a file can't be used
    Check(CheckArgs),
    /// Prints the facts of a file, as JSON
    Analyze(AnalyzeArgs),
    /// Lists what can be done at a place
    Actions(ActionsArgs),
    /// Applies an action of `actions`
    Apply(ApplyArgs),
    /// Executes a workgroup of a function on the reference interpreter
    Run(RunArgs),
    /// Runs a kernel or shader stage on described inputs and stores which values it computed; shows and compares profiles
    Profile(Box<ProfileArgs>),
    /// Writes a file as one page of HTML: its functions, the source with its facts, pictures of a run in the interpreter
    Report(ReportArgs),
    /// Prints the GPU code (PTX) of a function
    Code(CodeArgs),
    /// Prints IA-64 assembly of C or other code: all functions of a file, or one
    Emit(EmitArgs),
    /// Innermost loops of C on a processor with explicit groups: bounds of the interval, what is reached, why not more
    Loops(LoopsArgs),
    /// Writes a copy of a CUDA, HLSL or PTX file that counts zeros on the device, and a map of its counters
    Instrument(InstrumentArgs),
    /// Re-bundles IA-64 assembly: fewer cycles, then fewer nops, block by block
    Bundle(BundleArgs),
    /// Executes a function of IA-64 assembly on the simulator
    Sim(SimArgs),
    /// Prints the tables of machines that estimates count with, and where each value comes from
    Machine(MachineArgs),
    /// Prints an intermediate form of a file
    Dump(DumpArgs),
    /// Explains a diagnostic; lists them all without a code
    Explain {
        /// Such as `divergent-barrier`
        code: Option<String>,
        /// Lists the codes
        #[arg(long)]
        list: bool,
    },
    /// Prints the completions of a shell
    Completions { shell: clap_complete::Shell },
    /// Writes the man pages of all commands into a directory
    Man { directory: PathBuf },
    /// Runs the language server
    Serve {
        /// Over standard input and output, which is the only way
        #[arg(long)]
        stdio: bool,
    },
}

/// What changes the analysis; on top of lockstep.toml.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct AnalysisArgs {
    /// Scope of the classes
    #[arg(long, value_enum)]
    scope: Option<ScopeArg>,
    /// Lanes of a warp, 1 to 128
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    warp_size: Option<u32>,
    /// Workgroup size, 0 where unknown
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    block: Option<Vec<u32>>,
    /// Defines a macro; of a template parameter of that name, the value or type
    #[arg(short = 'D', value_name = "N=V")]
    define: Vec<String>,
    /// C: does not look into /usr/include and its like
    #[arg(long)]
    no_system_headers: bool,
    /// HLSL: `half` and the `min16` types have 16 bits
    #[arg(long = "enable-16bit-types")]
    native_16bit: bool,
    /// Makes a function an entry point: NAME=STAGE, `*` in NAME for any text
    #[arg(long = "entry", value_name = "NAME=STAGE")]
    entries: Vec<String>,
    /// Adds an include directory
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Which analysis: ours (full), or one of the paper's
    #[arg(long, value_enum)]
    method: Option<MethodArg>,
    /// What GPU code is made for, such as sm_80; its costs are used in estimates
    #[arg(long)]
    target: Option<String>,
    /// Whose costs are used instead: a name of `machine list`, or a file
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Does not look for lockstep.toml and compile_commands.json
    #[arg(long)]
    no_config: bool,
    /// Looks at a header by itself, not through a file of its project that includes it
    #[arg(long)]
    alone: bool,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum ScopeArg {
    Quad,
    #[value(alias = "subgroup", alias = "wave")]
    Warp,
    #[value(alias = "block", alias = "group")]
    Workgroup,
    #[value(alias = "grid")]
    Dispatch,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum MethodArg {
    Simple,
    Affine1,
    Affine2,
    Full,
}

#[derive(Args, Debug)]
struct AnnotateArgs {
    file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    item: Option<String>,
    /// Uniform values, uniform loops and branches that cost nothing, too
    #[arg(long)]
    all: bool,
    /// What functions, loops and lines cost a warp, and how many warps fit: estimates
    #[arg(long)]
    costs: bool,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct CheckArgs {
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[arg(long, value_enum, default_value = "text")]
    format: CheckFormat,
    /// What makes the exit code 1 besides errors: codes, `all` findings, or a level (`hint`, `warning`) and above
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    deny: Vec<String>,
    /// Findings that are accepted
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Writes today's findings as accepted
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// Text: shows also what was not found, not understood or assumed; otherwise these are counted
    #[arg(long)]
    notes: bool,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum CheckFormat {
    Text,
    Json,
    Sarif,
    Github,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum DataFormat {
    Text,
    Json,
}

#[derive(Args, Debug)]
struct AnalyzeArgs {
    file: PathBuf,
    #[arg(long, value_enum, default_value = "json")]
    format: DataFormat,
    /// Only the function of this name
    #[arg(long)]
    item: Option<String>,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct BundleArgs {
    file: PathBuf,
    /// `itanium` or `itanium2`
    #[arg(long, default_value = "itanium2")]
    machine: String,
    /// The block at this line alone
    #[arg(long)]
    line: Option<u32>,
    /// What of the ready instructions is tried in each cycle
    #[arg(long, value_enum, default_value = "all")]
    choice: BundleChoice,
    /// Choices that are looked at in each block
    #[arg(long, default_value_t = 4000)]
    budget: usize,
    /// Writes the file instead of printing it
    #[arg(long, conflicts_with = "diff")]
    write: bool,
    /// Prints what changes
    #[arg(long)]
    diff: bool,
    /// Tells of each block on standard error
    #[arg(long, short)]
    verbose: bool,
    /// `json`: what each block takes before and after, instead of the text
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
}

#[derive(Args, Debug)]
struct EmitArgs {
    file: PathBuf,
    /// Only the function of this name, with those that it calls
    #[arg(long)]
    item: Option<String>,
    /// Where the text goes, `-` for standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    output: PathBuf,
    /// Software-pipelines innermost loops
    #[arg(long)]
    pipeline: bool,
    /// Iterations of a pipelined loop that are done as one
    #[arg(long, value_name = "K", requires = "pipeline", value_parser = clap::value_parser!(u32).range(1..=4))]
    unroll: Option<u32>,
    /// What finishes the iterations of pipelined loops: rounds of the kernel, or code behind it
    #[arg(long, value_enum, default_value = "kernel", requires = "pipeline")]
    epilogue: EpilogueChoice,
    /// Fetches the streams of pipelined loops ahead (`lfetch`), by the table's latency of memory
    #[arg(long, requires = "pipeline")]
    prefetch: bool,
    /// Loads neighbours of pipelined loops in pairs (`ldfpd`, `ldfps`) where they are aligned
    #[arg(long, requires = "pipeline")]
    load_pairs: bool,
    /// One instruction a group instead of bundles
    #[arg(long)]
    no_bundles: bool,
    /// Products and sums are rounded each, as after `#pragma STDC FP_CONTRACT OFF`
    #[arg(long)]
    no_contract: bool,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum EpilogueChoice {
    Kernel,
    Explicit,
}

#[derive(Args, Debug)]
struct LoopsArgs {
    file: PathBuf,
    /// Only those of the function of this name
    #[arg(long)]
    item: Option<String>,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct SimArgs {
    file: PathBuf,
    /// The function
    #[arg(long)]
    item: String,
    /// By position: `7`, `1.5`, a buffer `[1,2,3]`, `f64:1,2,3` or `i64[64]` (zeros), with i8 to i64, f32 and f64
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Whose cycles are counted: `itanium` or `itanium2`
    #[arg(long, default_value = "itanium2")]
    machine: String,
    /// Instructions after which it ends
    #[arg(long, default_value_t = 100_000_000)]
    steps: u64,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum BundleChoice {
    /// Every subset
    All,
    Eager,
    Lazy,
    /// All that is ready, or only what must issue
    EagerLazy,
    /// Every subset, until what is found is close enough to the bound for what was looked at
    AllowedLoss,
}

#[derive(Args, Debug)]
struct MachineArgs {
    #[command(subcommand)]
    command: MachineCommand,
}

#[derive(Subcommand, Debug)]
enum MachineCommand {
    /// Names the machines
    List {
        #[arg(long, value_enum, default_value = "text")]
        format: DataFormat,
    },
    /// Prints a table; exit code 2 if a file has mistakes
    Show {
        /// A machine, or a file with a table of your own
        name: String,
        #[arg(long, value_enum, default_value = "text")]
        format: DataFormat,
    },
}

#[derive(Args, Debug)]
struct ActionsArgs {
    file: PathBuf,
    /// Line and column, from 1
    #[arg(long, value_name = "LINE:COL")]
    at: String,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct ApplyArgs {
    /// As `actions` prints it
    id: String,
    file: PathBuf,
    /// Line and column, from 1
    #[arg(long, value_name = "LINE:COL")]
    at: String,
    /// Prints a diff instead of the changed text
    #[arg(long, conflicts_with = "write")]
    diff: bool,
    /// Changes the file
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct RunArgs {
    file: PathBuf,
    /// The function
    #[arg(long)]
    item: String,
    /// Of µ-SIMD: executes on the machine of the paper, and shows each cycle with the elements that are active
    #[arg(long)]
    trace: bool,
    /// Threads of the workgroup, where the source does not fix it
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=64))]
    lanes: u32,
    /// An argument: `7`, `1.5`, a buffer `[1,2,3]`, `f32:1,2,3` or `i32[64]` (zeros), with i8 to i64, f32 and f64; by
    /// position or as NAME=VALUE. What is not given is chosen at random, the same each time
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    arguments: Vec<String>,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
struct ProfileArgs {
    #[command(subcommand)]
    command: Option<ProfileCommand>,
    file: Option<PathBuf>,
    /// What it runs on: grid, values, buffers, textures, stage inputs, as TOML; what it leaves out is chosen at random
    /// [default: NAME.inputs.toml or NAME.toml beside the file, where there is one]
    #[arg(long, value_name = "FILE.toml")]
    inputs: Option<PathBuf>,
    /// Prints a description of the function's inputs to begin with, instead of running it
    #[arg(long, conflicts_with_all = ["inputs", "output", "every"])]
    describe: bool,
    /// The function; needed where the file has several entry points
    #[arg(long)]
    item: Option<String>,
    /// Where the profile goes, `-` for standard output [default: FILE.lockstep-profile.json, where the editor looks]
    #[arg(short, long, value_name = "OUT.json")]
    output: Option<PathBuf>,
    /// Profiles every value of every lane, however long the run; otherwise a value whose profile has converged rests
    #[arg(long)]
    every: bool,
    /// Executions of a value between two looks at whether its profile of a long run has converged
    #[arg(long, value_name = "N", default_value_t = facts::values::convergent::CONVERGENCE_INTERVAL, value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,
    /// Profiling goes on while the invariance increases, or while it moves by more than +2 or -4 points of a hundred
    #[arg(long, value_enum, default_value_t = CriterionChoice::Bounds)]
    criterion: CriterionChoice,
    /// A value that converged after N executions rests for this times N
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    back_off: f64,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum CriterionChoice {
    Increasing,
    Bounds,
}

#[derive(Subcommand, Debug)]
enum ProfileCommand {
    /// Prints a profile: executions by warps, warps that hold zero, top values
    Show {
        file: PathBuf,
        /// Only this function
        #[arg(long)]
        item: Option<String>,
        /// Values without a name and values that were never computed, too
        #[arg(long)]
        all: bool,
        /// How often a value was among the last 2 to 5 distinct ones, too (MRV-2 to MRV-5)
        #[arg(long)]
        recent: bool,
    },
    /// Compares two profiles: Overlap, Diff, Same-1, Find-N, and the values whose zeros differ
    Diff { first: PathBuf, second: PathBuf },
    /// Makes a profile from counts: a table name,line,executions,zeros, or the counters of `lockstep instrument`
    Import(Box<ProfileImportArgs>),
}

#[derive(Args, Debug)]
struct ProfileImportArgs {
    /// The table, with commas
    file: Option<PathBuf>,
    /// The file that was counted
    #[arg(long)]
    source: Option<PathBuf>,
    /// The counters after the run: as binary, or numbers in text
    #[arg(long, value_name = "RAW", requires = "map", conflicts_with = "file")]
    counters: Option<PathBuf>,
    /// The map that `lockstep instrument` wrote
    #[arg(long, value_name = "MAP.json", requires = "counters")]
    map: Option<PathBuf>,
    /// Where the profile goes, `-` for standard output [default: SOURCE.lockstep-profile.json]
    #[arg(short, long, value_name = "OUT.json")]
    output: Option<PathBuf>,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct ReportArgs {
    file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    item: Option<String>,
    /// Where the page goes, `-` for standard output [default: FILE.html here from a terminal, else standard output]
    #[arg(short, long, value_name = "OUT.html")]
    output: Option<PathBuf>,
    /// What the runs get, as of `profile` [default: NAME.inputs.toml or NAME.toml beside the file, where there is one]
    #[arg(long, value_name = "FILE.toml")]
    inputs: Option<PathBuf>,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct CodeArgs {
    file: PathBuf,
    /// Only the function of this name; the first kernel otherwise
    #[arg(long)]
    item: Option<String>,
    /// The function around a line and column, from 1
    #[arg(long, value_name = "LINE:COL", conflicts_with = "item")]
    at: Option<String>,
    /// Has ptxas assemble it: its registers and spills, and machine code where nvdisasm stands beside it
    #[arg(long)]
    ptxas: bool,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct InstrumentArgs {
    file: PathBuf,
    /// Only this function
    #[arg(long)]
    item: Option<String>,
    /// The copy [default: FILE.counted.EXT]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// What the counters mean, for `lockstep profile import` [default: OUT.map.json]
    #[arg(long, value_name = "MAP.json")]
    map: Option<PathBuf>,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct DumpArgs {
    #[arg(value_enum)]
    what: DumpWhat,
    file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    item: Option<String>,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
enum DumpWhat {
    Parse,
    Ir,
    /// What merges paths, carries values round loops and out of them, and the branches that decide it
    Gates,
    Facts,
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error(transparent)]
    Read(#[from] crate::host::ReadError),
    #[error(transparent)]
    Write(#[from] crate::host::WriteError),
    #[error(transparent)]
    Baseline(#[from] crate::baseline::BaselineError),
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl CliError {
    /// Who reads the output has read enough.
    fn is_broken_pipe(&self) -> bool {
        let kind = match self {
            CliError::Io(error) => Some(error.kind()),
            CliError::Json(error) => error.io_error_kind(),
            _ => None,
        };
        kind == Some(std::io::ErrorKind::BrokenPipe)
    }
}

/// Runs the program; its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<u8, CliError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if is_server(&arguments) {
        return Ok(lsp::serve(std::io::stdin(), std::io::stdout())?);
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            let printed = error.print().map_err(CliError::from);
            return match printed {
                Err(error) if !error.is_broken_pipe() => Err(error),
                _ => Ok(code),
            };
        }
    };
    // Trees and programs may nest deeply; the main thread's stack is not ours to choose.
    let worker = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || execute(cli.command))?;
    match worker.join() {
        Ok(Ok(code)) => Ok(code),
        Ok(Err(error)) if error.is_broken_pipe() => Ok(0),
        Ok(Err(error)) => {
            eprintln!("lockstep: {error}");
            Ok(2)
        }
        Err(_) => Ok(101),
    }
}

fn execute(command: Command) -> Result<u8, CliError> {
    match command {
        Command::Annotate(args) => annotate::annotate(&args),
        Command::Check(args) => check::check(&args),
        Command::Analyze(args) => analyze::analyze(&args),
        Command::Actions(args) => actions::actions(&args),
        Command::Apply(args) => actions::apply(&args),
        Command::Run(args) => execute::run(&args),
        Command::Profile(args) => profile::profile(&args),
        Command::Report(args) => report::report(&args),
        Command::Code(args) => code::code(&args),
        Command::Emit(args) => emit::emit(&args),
        Command::Loops(args) => loops::loops(&args),
        Command::Instrument(args) => instrument::instrument(&args),
        Command::Bundle(args) => bundle::bundle(&args),
        Command::Sim(args) => sim::sim(&args),
        Command::Machine(args) => machine::machine(&args),
        Command::Dump(args) => dump::dump(&args),
        Command::Explain { code, list } => explain(code.filter(|_| !list).as_deref()),
        Command::Completions { shell } => {
            shells::completions(shell)?;
            Ok(0)
        }
        Command::Man { directory } => {
            shells::man(&directory)?;
            Ok(0)
        }
        Command::Serve { .. } => Ok(lsp::serve(std::io::stdin(), std::io::stdout())?),
    }
}

/// `serve` and a bare `--stdio` start the server whatever else an editor appends.
fn is_server(arguments: &[OsString]) -> bool {
    let first = arguments.get(1).and_then(|first| first.to_str());
    let asks_for_help = arguments
        .iter()
        .any(|one| matches!(one.to_str(), Some("--help" | "-h" | "--version" | "-V")));
    !asks_for_help
        && (first == Some("serve")
            || (first.is_some_and(|first| first.starts_with("--"))
                && arguments.iter().any(|one| one == "--stdio")))
}

fn explain(code: Option<&str>) -> Result<u8, CliError> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match code {
        None => {
            for code in facts::Code::ALL {
                let summary = crate::explain::summary(*code).replace('\n', " ");
                writeln!(out, "{:<28} {summary}", code.name())?;
            }
            for code in crate::explain::notes() {
                let summary = crate::explain::note_summary(code).replace('\n', " ");
                writeln!(out, "{code:<28} {summary}")?;
            }
            Ok(0)
        }
        Some(name) => match crate::explain::page(name) {
            Some(page) => {
                writeln!(out, "{}", page.trim_end())?;
                Ok(0)
            }
            None => Err(CliError::Usage(no_diagnostic(name))),
        },
    }
}

/// There is no diagnostic of a name; one that it may mean.
fn no_diagnostic(name: &str) -> String {
    let codes = facts::Code::ALL.iter().map(|code| code.name());
    let known: Vec<&str> = codes.chain(crate::explain::notes()).collect();
    let near = similar::get_close_matches(name, &known, 1, 0.6);
    let near = near
        .first()
        .map_or(String::new(), |near| format!(" (`{near}`?)"));
    format!("there is no diagnostic `{name}`{near}; `lockstep explain` lists them")
}
