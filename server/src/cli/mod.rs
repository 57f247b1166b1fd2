//! The command line: the facts of the editor, in a terminal and as JSON. Exit codes: 0 nothing to complain of, 1
//! `check` found something, 2 the input can't be used.

mod actions;
mod analyze;
mod annotate;
mod branches;
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
mod parked;
mod paths;
mod probes;
mod profile;
mod registers;
mod report;
mod shells;
mod sim;

use crate::lsp;
use clap::{Args, Parser, Subcommand, ValueEnum};
use codegen::target::ptx::machine::fit::Allocator;
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
    /// Prints the diagnostics of files and directories; exit code 1 if one is an error or denied, 2 if a file can't be used
    Check(CheckArgs),
    /// Prints the facts of a file as JSON
    Analyze(AnalyzeArgs),
    /// Lists the code actions at a position
    Actions(ActionsArgs),
    /// Applies a code action that `actions` lists
    Apply(ApplyArgs),
    /// Executes one workgroup of a function in the reference interpreter
    Run(RunArgs),
    /// Runs a kernel or shader stage on described inputs and records a value profile; shows and compares profiles
    Profile(Box<ProfileArgs>),
    /// Prints which variables fill the registers of kernels and shaders at the peak, and how to be without each
    Registers(RegistersArgs),
    /// Prints which ways through functions lanes took, by the profile of a file, the most frequent first
    Paths(PathsArgs),
    /// Runs a function on described inputs and prints how often its branches are mispredicted, or what lanes lose at them
    Branches(BranchesArgs),
    /// Writes a file as one HTML page: its functions, the source with its facts, pictures of a run in the interpreter
    Report(ReportArgs),
    /// Prints the GPU code (PTX) of a function
    Code(CodeArgs),
    /// Prints the IA-64 assembly of C or other code: all functions of a file, or one
    Emit(EmitArgs),
    /// Prints how innermost C loops are pipelined: initiation intervals, their bounds, and what prevents better ones
    Loops(LoopsArgs),
    /// Writes a copy of a CUDA, HLSL or PTX file that counts zeros on the device, and a map of the counters
    Instrument(InstrumentArgs),
    /// Re-bundles IA-64 assembly block by block for fewer cycles, then fewer nops
    Bundle(BundleArgs),
    /// Executes a function of IA-64 assembly in the simulator
    Sim(SimArgs),
    /// Prints the machine tables behind the estimates, and the source of each value
    Machine(MachineArgs),
    /// Prints an intermediate representation of a file
    Dump(DumpArgs),
    /// Explains a diagnostic, or lists all of them if no code is given
    Explain {
        /// Code of a diagnostic, such as `divergent-barrier`
        code: Option<String>,
        /// Lists the codes of all diagnostics
        #[arg(long)]
        list: bool,
    },
    /// Prints the completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Writes the man pages of all commands to a directory
    Man { directory: PathBuf },
    /// Runs the language server
    Serve {
        /// Communicates over standard input and output, the only transport
        #[arg(long)]
        stdio: bool,
    },
}

/// Options of the analysis, which take precedence over lockstep.toml.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct AnalysisArgs {
    /// Scope for which values are classified
    #[arg(long, value_enum)]
    scope: Option<ScopeArg>,
    /// Number of lanes in a warp, 1 to 128
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    warp_size: Option<u32>,
    /// Workgroup size along each axis, 0 if unknown
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    block: Option<Vec<u32>>,
    /// Defines a macro, or gives the template parameter of that name its value or type
    #[arg(short = 'D', value_name = "N=V")]
    define: Vec<String>,
    /// C: does not search /usr/include and other system directories
    #[arg(long)]
    no_system_headers: bool,
    /// HLSL: gives `half` and the `min16` types 16 bits
    #[arg(long = "enable-16bit-types")]
    native_16bit: bool,
    /// Makes a function an entry point of a stage; `*` in NAME matches any text
    #[arg(long = "entry", value_name = "NAME=STAGE")]
    entries: Vec<String>,
    /// Adds a directory to the include search path
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Divergence analysis to use: Lockstep's own (full), or one of the paper's
    #[arg(long, value_enum)]
    method: Option<MethodArg>,
    /// Target of the GPU code, such as sm_80; estimates use its costs
    #[arg(long)]
    target: Option<String>,
    /// Machine whose costs estimates use instead: a name from `machine list`, or a file
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Ignores lockstep.toml and compile_commands.json
    #[arg(long)]
    no_config: bool,
    /// Analyses a header by itself, not through a file of its project that includes it
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
    /// Also shows uniform values, uniform loops and branches that cost nothing
    #[arg(long)]
    all: bool,
    /// Shows estimates: what functions, loops and lines cost a warp, and how many warps fit
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
    /// Findings besides errors that make the exit code 1: codes, `all`, or a level (`hint`, `warning`) and above
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    deny: Vec<String>,
    /// File of accepted findings, which are not reported
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Writes the current findings to a file of accepted findings
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// Text: also lists what was not found, not understood or assumed, instead of only counting it
    #[arg(long)]
    notes: bool,
    /// Assembles kernels with ptxas: findings about registers rest on what it allocates and spills
    #[arg(long)]
    ptxas: bool,
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
    /// Processor to schedule for: `itanium` or `itanium2`
    #[arg(long, default_value = "itanium2")]
    machine: String,
    /// Only the block at this line
    #[arg(long)]
    line: Option<u32>,
    /// Subsets of the ready instructions that are tried in each cycle
    #[arg(long, value_enum, default_value = "all")]
    choice: BundleChoice,
    /// Number of choices that are tried in each block
    #[arg(long, default_value_t = 4000)]
    budget: usize,
    /// Writes the file instead of printing it
    #[arg(long, conflicts_with = "diff")]
    write: bool,
    /// Prints a diff instead of the changed text
    #[arg(long)]
    diff: bool,
    /// Reports each block on standard error
    #[arg(long, short)]
    verbose: bool,
    /// Output format; `json` prints what each block takes before and after instead of the text
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
}

#[derive(Args, Debug)]
struct EmitArgs {
    file: PathBuf,
    /// Only the function of this name and those that it calls
    #[arg(long)]
    item: Option<String>,
    /// Output file, `-` for standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    output: PathBuf,
    /// Software-pipelines innermost loops
    #[arg(long)]
    pipeline: bool,
    /// Number of iterations of a pipelined loop that are combined into one
    #[arg(long, value_name = "K", requires = "pipeline", value_parser = clap::value_parser!(u32).range(1..=4))]
    unroll: Option<u32>,
    /// How the last iterations of pipelined loops are drained: in the kernel, or in explicit code after it
    #[arg(long, value_enum, default_value = "kernel", requires = "pipeline")]
    epilogue: EpilogueChoice,
    /// Prefetches the streams of pipelined loops (`lfetch`) by the memory latency of the machine table
    #[arg(long, requires = "pipeline")]
    prefetch: bool,
    /// Combines neighbouring loads of pipelined loops into pairs (`ldfpd`, `ldfps`) where they are aligned
    #[arg(long, requires = "pipeline")]
    load_pairs: bool,
    /// Checks each if-converted and pipelined loop against the original by random interpretation, and the bundles of each block
    /// against the architecture's rules on order, slots and stops; a loop that differs stays as it was, a block with a fault
    /// is one instruction per group
    #[arg(long)]
    checked: bool,
    /// Emits one instruction per group instead of bundles
    #[arg(long)]
    no_bundles: bool,
    /// Rounds products and sums separately, as after `#pragma STDC FP_CONTRACT OFF`
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
    /// Only the loops of the function of this name
    #[arg(long)]
    item: Option<String>,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct PathsArgs {
    file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    item: Option<String>,
    /// All paths that were taken, however rare
    #[arg(long)]
    all: bool,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct BranchesArgs {
    file: PathBuf,
    /// The function; required if the file has several entry points
    #[arg(long)]
    item: Option<String>,
    /// TOML description of the inputs, as of `profile` [default: NAME.inputs.toml or NAME.toml beside the file, where there
    /// is one]
    #[arg(long, value_name = "FILE.toml")]
    inputs: Option<PathBuf>,
    /// Predictor: `meta`, `gshare` or `tage`, with additions: `meta+squash`, `meta+pgu`, `meta+pep` and so on
    #[arg(long, value_name = "P", default_value = "meta")]
    predictor: String,
    /// Assembly: argument, by position, as of `sim`
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    arguments: Vec<String>,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct RegistersArgs {
    file: PathBuf,
    /// Only the function of this name, which need not be a kernel
    #[arg(long)]
    item: Option<String>,
    /// Registers of a thread that it should fit
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(8..=255))]
    budget: Option<u32>,
    /// Assembles the code with ptxas and tells what it allocates and spills, in place of the estimate
    #[arg(long)]
    ptxas: bool,
    /// PTX: also which registers this allocator spills within the budget, and where to
    #[arg(long, value_enum, requires = "budget")]
    allocator: Option<AllocatorArg>,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

/// Register allocators: those of Sampaio et al., Divergence Analysis (2013), and ours.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum AllocatorArg {
    /// Linear scan; what does not fit lives in local memory
    Linear,
    /// Uniform values once a warp in shared memory
    Divra,
    /// Also affine values, constants and what the thread's number gives
    Affra,
    /// The cheapest of these for each value, in a register wherever there is room
    Lockstep,
}

impl From<AllocatorArg> for Allocator {
    fn from(one: AllocatorArg) -> Allocator {
        match one {
            AllocatorArg::Linear => Allocator::Linear,
            AllocatorArg::Divra => Allocator::Divergence,
            AllocatorArg::Affra => Allocator::Affine,
            AllocatorArg::Lockstep => Allocator::Lockstep,
        }
    }
}

#[derive(Args, Debug)]
struct SimArgs {
    file: PathBuf,
    /// Name of the function
    #[arg(long)]
    item: String,
    /// Argument, by position: `7`, `1.5`, a buffer `[1,2,3]`, `f64:1,2,3` or `i64[64]` (zeros), with i8 to i64, f32
    /// and f64
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Processor whose cycles are counted: a name of `lockstep machine list`, or a table; caches and a predictor count where it
    /// has them
    #[arg(long, value_name = "NAME|FILE", default_value = "itanium2")]
    machine: String,
    /// Number of instructions after which execution stops
    #[arg(long, default_value_t = 100_000_000)]
    steps: u64,
    /// Writes the counters of `lockstep instrument` to a file after the run
    #[arg(long, value_name = "RAW")]
    counters: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum BundleChoice {
    /// Every subset of the ready instructions
    All,
    Eager,
    Lazy,
    /// Either all ready instructions, or only those that must issue
    EagerLazy,
    /// Every subset, until the best schedule is close enough to the bound, given the number of subsets tried
    AllowedLoss,
}

#[derive(Args, Debug)]
struct MachineArgs {
    #[command(subcommand)]
    command: MachineCommand,
}

#[derive(Subcommand, Debug)]
enum MachineCommand {
    /// Lists the machines
    List {
        #[arg(long, value_enum, default_value = "text")]
        format: DataFormat,
    },
    /// Prints the table of a machine; exit code 2 if a file has mistakes
    Show {
        /// Name of a machine, or a file with a table of your own
        name: String,
        #[arg(long, value_enum, default_value = "text")]
        format: DataFormat,
    },
}

#[derive(Args, Debug)]
struct ActionsArgs {
    file: PathBuf,
    /// Line and column, counted from 1
    #[arg(long, value_name = "LINE:COL")]
    at: String,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct ApplyArgs {
    /// Code action, as printed by `actions`
    id: String,
    file: PathBuf,
    /// Line and column, counted from 1
    #[arg(long, value_name = "LINE:COL")]
    at: String,
    /// Prints a diff instead of the changed text
    #[arg(long, conflicts_with = "write")]
    diff: bool,
    /// Writes the file instead of printing it
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct RunArgs {
    file: PathBuf,
    /// Name of the function
    #[arg(long)]
    item: String,
    /// µ-SIMD: executes on the machine of the paper, and shows each cycle with the active elements
    #[arg(long)]
    trace: bool,
    /// Number of threads in the workgroup, where the source does not fix it
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=64))]
    lanes: u32,
    /// Argument: `7`, `1.5`, a buffer `[1,2,3]`, `f32:1,2,3` or `i32[64]` (zeros), with i8 to i64, f32 and f64; by
    /// position or as NAME=VALUE. Arguments that are not given are chosen at random, the same each time
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
    /// TOML description of the inputs: grid, values, buffers, textures, stage inputs; what it leaves out is chosen at
    /// random [default: NAME.inputs.toml or NAME.toml beside the file, where there is one]
    #[arg(long, value_name = "FILE.toml")]
    inputs: Option<PathBuf>,
    /// Prints a description of the function's inputs to start from, instead of running the function
    #[arg(long, conflicts_with_all = ["inputs", "output", "every"])]
    describe: bool,
    /// The function; required if the file has several entry points
    #[arg(long)]
    item: Option<String>,
    /// Output file, `-` for standard output [default: FILE.lockstep-profile.json, where the editor looks]
    #[arg(short, long, value_name = "OUT.json")]
    output: Option<PathBuf>,
    /// Profiles every value of every lane, however long the run; otherwise profiling of a value pauses once it has
    /// converged
    #[arg(long)]
    every: bool,
    /// Adds the counts to those of earlier runs of the same code, instead of replacing them
    #[arg(long, conflicts_with = "output")]
    add: bool,
    /// Number of executions of a value between two tests of whether its profile has converged
    #[arg(long, value_name = "N", default_value_t = facts::values::convergent::CONVERGENCE_INTERVAL, value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,
    /// Convergence test: profiling continues while the invariance increases, or while it changes by more than +2 or
    /// -4 percentage points
    #[arg(long, value_enum, default_value_t = CriterionChoice::Bounds)]
    criterion: CriterionChoice,
    /// Length of the pause, as a multiple of the executions after which the value converged
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
    /// Prints a profile: executions by warps, how often all lanes hold zero, most frequent values
    Show {
        file: PathBuf,
        /// Only the function of this name
        #[arg(long)]
        item: Option<String>,
        /// Also shows unnamed values and values that were never computed
        #[arg(long)]
        all: bool,
        /// Also shows how often a value was among the last 2 to 5 distinct ones (MRV-2 to MRV-5)
        #[arg(long)]
        recent: bool,
    },
    /// Compares two profiles: Overlap, Diff, Same-1, Find-N, and the values whose zeros differ
    Diff { first: PathBuf, second: PathBuf },
    /// Creates a profile from counts: a table name,line,executions,zeros, or the counters of `lockstep instrument`
    Import(Box<ProfileImportArgs>),
}

#[derive(Args, Debug)]
struct ProfileImportArgs {
    /// Table of counts as comma-separated values
    file: Option<PathBuf>,
    /// Source file to which the counts belong
    #[arg(long)]
    source: Option<PathBuf>,
    /// Counters after the run, in binary or as numbers in text
    #[arg(long, value_name = "RAW", requires = "map", conflicts_with = "file")]
    counters: Option<PathBuf>,
    /// Map of the counters, as written by `lockstep instrument`
    #[arg(long, value_name = "MAP.json", requires = "counters")]
    map: Option<PathBuf>,
    /// Output file, `-` for standard output [default: SOURCE.lockstep-profile.json]
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
    /// Output file, `-` for standard output [default: FILE.html in the current directory if run in a terminal, else
    /// standard output]
    #[arg(short, long, value_name = "OUT.html")]
    output: Option<PathBuf>,
    /// Description of the inputs of the runs, as for `profile` [default: NAME.inputs.toml or NAME.toml beside the
    /// file, where there is one]
    #[arg(long, value_name = "FILE.toml")]
    inputs: Option<PathBuf>,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct CodeArgs {
    file: PathBuf,
    /// Only the function of this name [default: the first kernel]
    #[arg(long)]
    item: Option<String>,
    /// Only the function at this line and column, counted from 1
    #[arg(long, value_name = "LINE:COL", conflicts_with = "item")]
    at: Option<String>,
    /// Assembles the code with ptxas: shows registers and spills, and machine code if nvdisasm is found beside it
    #[arg(long)]
    ptxas: bool,
    /// PTX: the file with the values of its functions in this many registers
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(8..=255), conflicts_with_all = ["at", "ptxas"])]
    budget: Option<u16>,
    /// The allocator that finds them
    #[arg(long, value_enum, default_value = "lockstep", requires = "budget")]
    allocator: AllocatorArg,
    /// PTX: the file so that ptxas spills less of it in these registers; kernels of which it spills no less stay
    #[arg(long, requires = "budget", conflicts_with = "allocator")]
    spill_less: bool,
    /// Writes the file instead of printing it
    #[arg(long, requires = "budget")]
    write: bool,
    #[arg(long, value_enum, default_value = "text")]
    format: DataFormat,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
struct InstrumentArgs {
    file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    item: Option<String>,
    /// IA-64 assembly: what is counted [default: branch]
    #[arg(long, value_enum)]
    probe: Option<crate::profile::probes::ProbeKind>,
    /// Output file [default: FILE.counted.EXT; of IA-64 assembly standard output]
    #[arg(short, long, visible_alias = "write", value_name = "OUT")]
    output: Option<PathBuf>,
    /// Map of the counters, for `lockstep profile import` [default: OUT.map.json]
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
    /// Gated SSA: where values merge, are carried around loops or leave them, and the branches that decide it
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
        Command::Paths(args) => paths::paths(&args),
        Command::Branches(args) => branches::branches(&args),
        Command::Registers(args) => registers::registers(&args),
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
                && arguments.iter().any(|argument| argument == "--stdio")))
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
