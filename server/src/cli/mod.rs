//! The command line: the facts of the editor, in a terminal and as JSON. Exit codes: 0 nothing to complain of, 1
//! `check` found something, 2 the input can't be used.

mod actions;
mod analyze;
mod annotate;
mod arguments;
mod branches;
mod bundle;
mod check;
mod code;
mod dump;
mod emit;
mod emit_guided;
mod emit_sets;
mod execute;
mod input;
mod instrument;
mod loops;
mod machine;
mod machines;
mod parked;
mod paths;
mod probes;
mod profile;
mod registers;
mod report;
mod set_loops;
mod shells;
mod sim;

use crate::lsp;
use arguments::*;
use clap::{Parser, Subcommand};
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
    /// Prints a C loop on three machines: its interval on IA-64 and SC140, its cycles as one thread's PTX; not comparable
    Machines(MachinesArgs),
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
    /// Returns whether the error is that nobody reads the output any more: the reader has read enough.
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
        Command::Machines(args) => machines::machines(&args),
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
    let asks_for_help = arguments.iter().any(|argument| {
        matches!(
            argument.to_str(),
            Some("--help" | "-h" | "--version" | "-V")
        )
    });
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

/// Returns the message that there is no diagnostic of a name, with one that it may mean.
fn no_diagnostic(name: &str) -> String {
    let codes = facts::Code::ALL.iter().map(|code| code.name());
    let known: Vec<&str> = codes.chain(crate::explain::notes()).collect();
    let near = similar::get_close_matches(name, &known, 1, 0.6);
    let near = near
        .first()
        .map_or(String::new(), |near| format!(" (`{near}`?)"));
    format!("there is no diagnostic `{name}`{near}; `lockstep explain` lists them")
}
