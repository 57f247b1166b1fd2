//! The arguments of the commands.

use clap::{Args, Subcommand, ValueEnum};
use codegen::target::ptx::machine::fit::Allocator;
use std::path::PathBuf;

#[derive(Args, Debug, Clone, Default)]
pub(crate) struct AnalysisArgs {
    /// Scope for which values are classified
    #[arg(long, value_enum)]
    pub(super) scope: Option<ScopeArg>,
    /// Number of lanes in a warp, 1 to 128
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    pub(super) warp_size: Option<u32>,
    /// Workgroup size along each axis, 0 if unknown
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    pub(super) block: Option<Vec<u32>>,
    /// Defines a macro, or gives the template parameter of that name its value or type
    #[arg(short = 'D', value_name = "N=V")]
    pub(super) define: Vec<String>,
    /// C: does not search /usr/include and other system directories
    #[arg(long)]
    pub(super) no_system_headers: bool,
    /// HLSL: gives `half` and the `min16` types 16 bits
    #[arg(long = "enable-16bit-types")]
    pub(super) native_16bit: bool,
    /// C: gives `long`, `size_t`, `ptrdiff_t` and pointers 32 bits
    #[arg(long = "long-32bit")]
    pub(super) long_32bit: bool,
    /// Makes a function an entry point of a stage; `*` in NAME matches any text
    #[arg(long = "entry", value_name = "NAME=STAGE")]
    pub(super) entries: Vec<String>,
    /// Adds a directory to the include search path
    #[arg(short = 'I', value_name = "DIR")]
    pub(super) include: Vec<PathBuf>,
    /// Divergence analysis to use: Lockstep's own (full), or one of the paper's
    #[arg(long, value_enum)]
    pub(super) method: Option<MethodArg>,
    /// Target of the GPU code, such as sm_80; estimates use its costs
    #[arg(long)]
    pub(super) target: Option<String>,
    /// Machine whose costs estimates use instead: a name from `machine list`, or a file
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) machine: Option<String>,
    /// Ignores lockstep.toml and compile_commands.json
    #[arg(long)]
    pub(super) no_config: bool,
    /// Analyses a header by itself, not through a file of its project that includes it
    #[arg(long)]
    pub(super) alone: bool,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
pub(crate) enum ScopeArg {
    Quad,
    #[value(alias = "subgroup", alias = "wave")]
    Warp,
    #[value(alias = "block", alias = "group")]
    Workgroup,
    #[value(alias = "grid")]
    Dispatch,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
pub(crate) enum MethodArg {
    Simple,
    Affine1,
    Affine2,
    Full,
}

#[derive(Args, Debug)]
pub(super) struct AnnotateArgs {
    pub(super) file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    pub(super) item: Option<String>,
    /// Also shows uniform values, uniform loops and branches that cost nothing
    #[arg(long)]
    pub(super) all: bool,
    /// Shows estimates: what functions, loops and lines cost a warp, and how many warps fit
    #[arg(long)]
    pub(super) costs: bool,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    #[arg(required = true)]
    pub(super) paths: Vec<PathBuf>,
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: CheckFormat,
    /// Findings besides errors that make the exit code 1: codes, `all`, or a level (`hint`, `warning`) and above
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(super) deny: Vec<String>,
    /// File of accepted findings, which are not reported
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Writes the current findings to a file of accepted findings
    #[arg(long, value_name = "FILE")]
    pub(super) write_baseline: Option<PathBuf>,
    /// Text: also lists what was not found, not understood or assumed, instead of only counting it
    #[arg(long)]
    pub(super) notes: bool,
    /// Assembles kernels with ptxas: findings about registers rest on what it allocates and spills
    #[arg(long)]
    pub(super) ptxas: bool,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckFormat {
    Text,
    Json,
    Sarif,
    Github,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataFormat {
    Text,
    Json,
}

#[derive(Args, Debug)]
pub(super) struct AnalyzeArgs {
    pub(super) file: PathBuf,
    #[arg(long, value_enum, default_value = "json")]
    pub(super) format: DataFormat,
    /// Only the function of this name
    #[arg(long)]
    pub(super) item: Option<String>,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct BundleArgs {
    pub(super) file: PathBuf,
    /// Processor to schedule for: `itanium` or `itanium2`
    #[arg(long, default_value = "itanium2")]
    pub(super) machine: String,
    /// Only the block at this line
    #[arg(long)]
    pub(super) line: Option<u32>,
    /// Subsets of the ready instructions that are tried in each cycle
    #[arg(long, value_enum, default_value = "all")]
    pub(super) choice: BundleChoice,
    /// Number of choices that are tried in each block
    #[arg(long, default_value_t = 4000)]
    pub(super) budget: usize,
    /// Writes the file instead of printing it
    #[arg(long, conflicts_with = "diff")]
    pub(super) write: bool,
    /// Prints a diff instead of the changed text
    #[arg(long)]
    pub(super) diff: bool,
    /// Reports each block on standard error
    #[arg(long, short)]
    pub(super) verbose: bool,
    /// Output format; `json` prints what each block takes before and after instead of the text
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: DataFormat,
}

#[derive(Args, Debug)]
pub(super) struct EmitArgs {
    pub(super) file: PathBuf,
    /// Only the function of this name and those that it calls
    #[arg(long)]
    pub(super) item: Option<String>,
    /// Output file, `-` for standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(super) output: PathBuf,
    /// Software-pipelines innermost loops
    #[arg(long)]
    pub(super) pipeline: bool,
    /// Number of iterations of a pipelined loop that are combined into one
    #[arg(long, value_name = "K", requires = "pipeline", value_parser = clap::value_parser!(u32).range(1..=4))]
    pub(super) unroll: Option<u32>,
    /// The code that drains the last iterations of pipelined loops: the kernel, or explicit code after it
    #[arg(long, value_enum, default_value = "kernel", requires = "pipeline")]
    pub(super) epilogue: EpilogueChoice,
    /// Prefetches the streams of pipelined loops (`lfetch`) by the memory latency of the machine table
    #[arg(long, requires = "pipeline")]
    pub(super) prefetch: bool,
    /// Combines neighbouring loads of pipelined loops into pairs (`ldfpd`, `ldfps`) where they are aligned
    #[arg(long, requires = "pipeline")]
    pub(super) load_pairs: bool,
    /// Turns branches outside of pipelined loops into predicates where that gains by the estimate
    #[arg(long)]
    pub(super) if_convert: bool,
    /// Transforms functions by the ways that their runs took, as the profile beside the file tells: evaluates partly redundant
    /// expressions where that happens least often, and partly dead values where they are read, outside of pipelined loops; with
    /// `--if-convert` also under predicates
    #[arg(long)]
    pub(super) profile: bool,
    /// Checks each if-converted and pipelined loop against the original by random interpretation, and the bundles of each block
    /// against the architecture's rules on order, slots and stops; a loop that differs stays as it was, a block with a fault
    /// is one instruction per group
    #[arg(long)]
    pub(super) checked: bool,
    /// Emits one instruction per group instead of bundles
    #[arg(long)]
    pub(super) no_bundles: bool,
    /// Rounds products and sums separately, as after `#pragma STDC FP_CONTRACT OFF`
    #[arg(long)]
    pub(super) no_contract: bool,
    /// Keeps every load and store of spilled values that the allocator asks for (SC140)
    #[arg(long)]
    pub(super) keep_spills: bool,
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: DataFormat,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EpilogueChoice {
    Kernel,
    Explicit,
}

#[derive(Args, Debug)]
pub(super) struct LoopsArgs {
    pub(super) file: PathBuf,
    /// Only the loops of the function of this name
    #[arg(long)]
    pub(super) item: Option<String>,
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: DataFormat,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct MachinesArgs {
    pub(super) file: PathBuf,
    /// The line of the loop, from 1
    #[arg(long, value_name = "N")]
    pub(super) line: u32,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct PathsArgs {
    pub(super) file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    pub(super) item: Option<String>,
    /// All paths that were taken, however rare
    #[arg(long)]
    pub(super) all: bool,
    /// Paths that go on over K iterations of loops, of a profile that `lockstep profile --iterations K` recorded
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=i64::from(facts::values::stored::MOST_ITERATIONS)), default_value_t = 1)]
    pub(super) iterations: u32,
    /// IA-64 assembly: counters of a run of the copy that `lockstep instrument --probe path` wrote
    #[arg(long, value_name = "RAW", requires = "map")]
    pub(super) counters: Option<PathBuf>,
    /// Map of the counters, as written by `lockstep instrument`
    #[arg(long, value_name = "MAP.json", requires = "counters")]
    pub(super) map: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: DataFormat,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct BranchesArgs {
    pub(super) file: PathBuf,
    /// The function; required if the file has several entry points
    #[arg(long)]
    pub(super) item: Option<String>,
    /// TOML description of the inputs, as of `profile` [default: NAME.inputs.toml or NAME.toml beside the file, where there
    /// is one]
    #[arg(long, value_name = "FILE.toml")]
    pub(super) inputs: Option<PathBuf>,
    /// Predictor: `meta`, `gshare` or `tage`, with additions: `meta+squash`, `meta+pgu`, `meta+pep` and so on
    #[arg(long, value_name = "P", default_value = "meta")]
    pub(super) predictor: String,
    /// Assembly: argument, by position, as of `sim`
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    pub(super) arguments: Vec<String>,
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: DataFormat,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct RegistersArgs {
    pub(super) file: PathBuf,
    /// Only the function of this name, which need not be a kernel
    #[arg(long)]
    pub(super) item: Option<String>,
    /// Registers of a thread that it should fit
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(8..=255))]
    pub(super) budget: Option<u32>,
    /// Assembles the code with ptxas and tells what it allocates and spills, in place of the estimate
    #[arg(long)]
    pub(super) ptxas: bool,
    /// PTX: also which registers this allocator spills within the budget, and where to
    #[arg(long, value_enum, requires = "budget")]
    pub(super) allocator: Option<AllocatorArg>,
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: DataFormat,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

/// Register allocators: those of Sampaio et al., Divergence Analysis (2013), and ours.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(super) enum AllocatorArg {
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
    fn from(arg: AllocatorArg) -> Allocator {
        match arg {
            AllocatorArg::Linear => Allocator::Linear,
            AllocatorArg::Divra => Allocator::Divergence,
            AllocatorArg::Affra => Allocator::Affine,
            AllocatorArg::Lockstep => Allocator::Lockstep,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct SimArgs {
    /// Assembly; several files of SC140 assembly are run together
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Name of the function
    #[arg(long)]
    pub(super) item: String,
    /// Argument, by position: `7`, `7:i16` (a number of 16 bits), `1.5`, a buffer `[1,2,3]`, `f64:1,2,3` or `i64[64]` (zeros),
    /// with i8 to i64, f32 and f64; `@0+8`: a pointer into the buffer of argument 0, 8 bytes from its start
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    pub(super) arguments: Vec<String>,
    /// Processor whose cycles are counted: a name of `lockstep machine list`, or a table; caches and a predictor count where it
    /// has them [default: itanium2, or sc140 for its assembly]
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) machine: Option<String>,
    /// Of SC140 assembly: a mode or a decision that the manuals leave open, `saturates=false`; an unknown name lists them
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(super) settings: Vec<String>,
    /// Number of instructions, or of execution sets, after which execution stops
    #[arg(long, default_value_t = 100_000_000)]
    pub(super) steps: u64,
    /// Writes the counters of `lockstep instrument` to a file after the run
    #[arg(long, value_name = "RAW")]
    pub(super) counters: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: DataFormat,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BundleChoice {
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
pub(super) struct MachineArgs {
    #[command(subcommand)]
    pub(super) command: MachineCommand,
}

#[derive(Subcommand, Debug)]
pub(super) enum MachineCommand {
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
pub(super) struct ActionsArgs {
    pub(super) file: PathBuf,
    /// Line and column, counted from 1
    #[arg(long, value_name = "LINE:COL")]
    pub(super) at: String,
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: DataFormat,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct ApplyArgs {
    /// Code action, as printed by `actions`
    pub(super) id: String,
    pub(super) file: PathBuf,
    /// Line and column, counted from 1
    #[arg(long, value_name = "LINE:COL")]
    pub(super) at: String,
    /// Prints a diff instead of the changed text
    #[arg(long, conflicts_with = "write")]
    pub(super) diff: bool,
    /// Writes the file instead of printing it
    #[arg(long)]
    pub(super) write: bool,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    pub(super) file: PathBuf,
    /// Name of the function
    #[arg(long)]
    pub(super) item: String,
    /// µ-SIMD: executes on the machine of the paper, and shows each cycle with the active elements
    #[arg(long)]
    pub(super) trace: bool,
    /// Number of threads in the workgroup, where the source does not fix it
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) lanes: u32,
    /// Argument: `7`, `1.5`, a buffer `[1,2,3]`, `f32:1,2,3` or `i32[64]` (zeros), with i8 to i64, f32 and f64; by
    /// position or as NAME=VALUE. Arguments that are not given are chosen at random, the same each time
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    pub(super) arguments: Vec<String>,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ProfileArgs {
    #[command(subcommand)]
    pub(super) command: Option<ProfileCommand>,
    pub(super) file: Option<PathBuf>,
    /// TOML description of the inputs: grid, values, buffers, textures, stage inputs; what it leaves out is chosen at
    /// random [default: NAME.inputs.toml or NAME.toml beside the file, where there is one]
    #[arg(long, value_name = "FILE.toml")]
    pub(super) inputs: Option<PathBuf>,
    /// Prints a description of the function's inputs to start from, instead of running the function
    #[arg(long, conflicts_with_all = ["inputs", "output", "every"])]
    pub(super) describe: bool,
    /// The function; required if the file has several entry points
    #[arg(long)]
    pub(super) item: Option<String>,
    /// Output file, `-` for standard output [default: FILE.lockstep-profile.json, where the editor looks]
    #[arg(short, long, value_name = "OUT.json")]
    pub(super) output: Option<PathBuf>,
    /// Profiles every value of every lane, however long the run; otherwise profiling of a value pauses once it has
    /// converged
    #[arg(long)]
    pub(super) every: bool,
    /// Adds the counts to those of earlier runs of the same code, instead of replacing them
    #[arg(long)]
    pub(super) add: bool,
    /// Records paths over K iterations of loops, too, for `lockstep paths --iterations K`
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=i64::from(facts::values::stored::MOST_ITERATIONS)))]
    pub(super) iterations: Option<u32>,
    /// Number of executions of a value between two tests of whether its profile has converged
    #[arg(long, value_name = "N", default_value_t = facts::values::convergent::CONVERGENCE_INTERVAL, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) interval: u64,
    /// Convergence test: profiling continues while the invariance increases, or while it changes by more than +2 or
    /// -4 percentage points
    #[arg(long, value_enum, default_value_t = CriterionChoice::Bounds)]
    pub(super) criterion: CriterionChoice,
    /// Length of the pause, as a multiple of the executions after which the value converged
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(super) back_off: f64,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CriterionChoice {
    Increasing,
    Bounds,
}

#[derive(Subcommand, Debug)]
pub(super) enum ProfileCommand {
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
pub(super) struct ProfileImportArgs {
    /// Table of counts as comma-separated values; with `--gcov` or `--llvm-cov` the source
    pub(super) file: Option<PathBuf>,
    /// Report of gcov about the source: what `gcov --json-format -b` or `gcov -b -c` wrote
    #[arg(long, value_name = "FILE.gcov", conflicts_with_all = ["counters", "llvm_cov"])]
    pub(super) gcov: Option<PathBuf>,
    /// Report about the source: what `llvm-cov export BINARY -instr-profile=FILE.profdata` printed
    #[arg(long, value_name = "EXPORT.json", conflicts_with = "counters")]
    pub(super) llvm_cov: Option<PathBuf>,
    /// Source file to which the counts belong
    #[arg(long)]
    pub(super) source: Option<PathBuf>,
    /// Counters after the run, in binary or as numbers in text
    #[arg(long, value_name = "RAW", requires = "map", conflicts_with = "file")]
    pub(super) counters: Option<PathBuf>,
    /// Map of the counters, as written by `lockstep instrument`
    #[arg(long, value_name = "MAP.json", requires = "counters")]
    pub(super) map: Option<PathBuf>,
    /// Output file, `-` for standard output [default: SOURCE.lockstep-profile.json]
    #[arg(short, long, value_name = "OUT.json")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    pub(super) file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    pub(super) item: Option<String>,
    /// Output file, `-` for standard output [default: FILE.html in the current directory if run in a terminal, else
    /// standard output]
    #[arg(short, long, value_name = "OUT.html")]
    pub(super) output: Option<PathBuf>,
    /// Description of the inputs of the runs, as for `profile` [default: NAME.inputs.toml or NAME.toml beside the
    /// file, where there is one]
    #[arg(long, value_name = "FILE.toml")]
    pub(super) inputs: Option<PathBuf>,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct CodeArgs {
    pub(super) file: PathBuf,
    /// Only the function of this name [default: the first kernel]
    #[arg(long)]
    pub(super) item: Option<String>,
    /// Only the function at this line and column, counted from 1
    #[arg(long, value_name = "LINE:COL", conflicts_with = "item")]
    pub(super) at: Option<String>,
    /// Assembles the code with ptxas: shows registers and spills, and machine code if nvdisasm is found beside it
    #[arg(long)]
    pub(super) ptxas: bool,
    /// PTX: the file with the values of its functions in this many registers
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(8..=255), conflicts_with_all = ["at", "ptxas"])]
    pub(super) budget: Option<u16>,
    /// The allocator that finds them
    #[arg(long, value_enum, default_value = "lockstep", requires = "budget")]
    pub(super) allocator: AllocatorArg,
    /// PTX: the file so that ptxas spills less of it in these registers; kernels of which it spills no less stay
    #[arg(long, requires = "budget", conflicts_with = "allocator")]
    pub(super) spill_less: bool,
    /// Writes the file instead of printing it
    #[arg(long, requires = "budget")]
    pub(super) write: bool,
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: DataFormat,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct InstrumentArgs {
    pub(super) file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    pub(super) item: Option<String>,
    /// IA-64 assembly: what is counted [default: branch]
    #[arg(long, value_enum)]
    pub(super) probe: Option<crate::profile::probes::ProbeKind>,
    /// Output file [default: FILE.counted.EXT; of IA-64 assembly standard output]
    #[arg(short, long, visible_alias = "write", value_name = "OUT")]
    pub(super) output: Option<PathBuf>,
    /// Counts the paths of lanes instead of zeros of warps; also in C
    #[arg(long, conflicts_with = "probe")]
    pub(super) paths: bool,
    /// Map of the counters, for `lockstep profile import` [default: OUT.map.json]
    #[arg(long, value_name = "MAP.json")]
    pub(super) map: Option<PathBuf>,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(Args, Debug)]
pub(super) struct DumpArgs {
    #[arg(value_enum)]
    pub(super) what: DumpWhat,
    pub(super) file: PathBuf,
    /// Only the function of this name
    #[arg(long)]
    pub(super) item: Option<String>,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
pub(super) enum DumpWhat {
    Parse,
    Ir,
    /// Gated SSA: where values merge, are carried around loops or leave them, and the branches that decide it
    Gates,
    Facts,
}
