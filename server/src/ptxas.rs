//! NVIDIA's assembler, if it is found: its reports on PTX, in its own words. It is never required and never
//! blocks: a process with a time limit, in a folder of its own.

use crate::derive::figures::{Figure, Job};
use crate::sass::{Weight, weigh};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time that the assembler may take.
const LIMIT: Duration = Duration::from_secs(20);

/// The report of `ptxas -v` on the entry or function that needs most.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Report {
    /// `13.5`
    pub version: String,
    pub registers: u32,
    pub stack_bytes: u32,
    pub spill_store_bytes: u32,
    pub spill_load_bytes: u32,
    pub shared_bytes: u32,
    /// The machine code, when a disassembler stands beside the assembler.
    pub sass: Option<String>,
    /// The instructions that execute, from the machine code of an entry.
    #[serde(skip)]
    pub weight: Option<Weight>,
    /// Bytes spilled by an entry and by each function that it calls; empty where the report is not of one entry.
    #[serde(skip)]
    pub functions: Vec<(String, u32)>,
}

#[derive(Debug, thiserror::Error)]
pub enum PtxasError {
    #[error("ptxas could not be run: {0}")]
    Io(#[from] std::io::Error),
    #[error("ptxas took longer than {} s", LIMIT.as_secs())]
    Time,
    #[error("nobody waits for it")]
    Stopped,
    #[error("the edits overlap")]
    Overlap,
    #[error("{0}")]
    Rejected(String),
}

/// The program that somebody has named, here or as `LOCKSTEP_PTXAS`.
fn chosen(configured: Option<&Path>) -> Option<PathBuf> {
    let own = configured
        .map(Path::to_path_buf)
        .filter(|p| !p.as_os_str().is_empty());
    own.or_else(|| std::env::var_os("LOCKSTEP_PTXAS").map(PathBuf::from))
}

/// The configured program or that of `LOCKSTEP_PTXAS`: one that may be run without being asked for.
pub fn named(configured: Option<&Path>) -> Option<PathBuf> {
    chosen(configured).filter(|path| path.is_file())
}

/// The configured program, that of `LOCKSTEP_PTXAS`, or one of the search path.
pub fn find(configured: Option<&Path>) -> Option<PathBuf> {
    if let Some(path) = chosen(configured) {
        return path.is_file().then_some(path);
    }
    let paths = std::env::var_os("PATH")?;
    let name = if cfg!(windows) { "ptxas.exe" } else { "ptxas" };
    // A relative folder would be one of whatever project is open.
    std::env::split_paths(&paths)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Assembles a text. Where functions of other modules are missing, or nothing is an entry, each function keeps to the
/// conventions for calls, which has a register count of its own.
pub fn assemble(ptxas: &Path, text: &str, target: &str) -> Result<Report, PtxasError> {
    let folder = tempfile::Builder::new().prefix("lockstep-").tempdir()?;
    let source = folder.path().join("code.ptx");
    let object = folder.path().join("code.cubin");
    std::fs::write(&source, text)?;
    let mut command = Command::new(ptxas);
    command.args(["-v", &format!("-arch={target}")]);
    if text.contains("\n.extern .func") || !text.contains(".entry") {
        command.arg("-c");
    }
    command.arg("-o").args([&object, &source]);
    let said = output(command, folder.path(), &|| false)?;
    let mut report = read(&said);
    report.version = version(ptxas, folder.path()).unwrap_or_default();
    report.sass = disassemble(ptxas, &object, folder.path());
    Ok(report)
}

/// Returns the outcome for one kernel of a text, with the spills of the functions that it calls counted in; with the weight of its code if a disassembler stands beside
/// the assembler.
pub fn assemble_entry(
    ptxas: &Path,
    text: &str,
    target: &str,
    entry: &str,
) -> Result<Report, PtxasError> {
    let folder = tempfile::Builder::new().prefix("lockstep-").tempdir()?;
    let source = folder.path().join("code.ptx");
    let object = folder.path().join("code.cubin");
    std::fs::write(&source, text)?;
    let mut command = Command::new(ptxas);
    command.args(["-v", &format!("-arch={target}")]);
    command.args(["--entry", entry]);
    command.arg("-o").args([&object, &source]);
    let said = output(command, folder.path(), &|| false)?;
    let mut report = read(&said);
    let each = || by_function(&said).into_iter();
    report.spill_store_bytes = each().map(|(_, own)| own.spill_store_bytes).sum();
    report.spill_load_bytes = each().map(|(_, own)| own.spill_load_bytes).sum();
    report.functions = each()
        .map(|(name, own)| (name.to_owned(), own.spilled()))
        .collect();
    let listing = disassemble(ptxas, &object, folder.path());
    report.weight = listing.and_then(|listing| weigh(&listing, entry));
    Ok(report)
}

/// The figures of the entries of code. `stop` ends the process.
///
/// # Errors
/// Where the program can't be run, takes too long or refuses the code, and where it was stopped.
pub fn figures(
    ptxas: &Path,
    job: &Job,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<(u64, Figure)>, PtxasError> {
    let folder = tempfile::Builder::new().prefix("lockstep-").tempdir()?;
    let source = folder.path().join("code.ptx");
    std::fs::write(&source, &*job.text)?;
    let mut command = Command::new(ptxas);
    command.args(["-v", &format!("-arch={}", job.target)]);
    if let Some(most) = job.max_registers {
        command.arg(format!("-maxrregcount={most}"));
    }
    if job.text.contains("\n.extern .func") {
        command.arg("-c");
    }
    command.arg("-o").arg(folder.path().join("code.cubin"));
    command.arg(&source);
    let said = output(command, folder.path(), stop)?;
    let version = version(ptxas, folder.path()).unwrap_or_default();
    let counted = by_entry(&said);
    let each = job.entries.iter().filter_map(|(name, key)| {
        let (_, report) = counted.iter().find(|(entry, _)| entry == name)?;
        let figure = Figure {
            version: version.as_str().into(),
            target: job.target.as_str().into(),
            registers: report.registers,
            stack_bytes: report.stack_bytes,
            spill_store_bytes: report.spill_store_bytes,
            spill_load_bytes: report.spill_load_bytes,
            shared_bytes: report.shared_bytes,
        };
        Some((*key, figure))
    });
    Ok(each.collect())
}

/// Returns the output of `ptxas -v`, by entry: the lines from where it says that it compiles one, without
/// those of functions that it calls.
fn by_entry(said: &str) -> Vec<(&str, Report)> {
    let mut out: Vec<(&str, String)> = Vec::new();
    let mut own = true;
    for line in said.lines() {
        let quoted = line.split_once("Compiling entry function '");
        if let Some(name) = quoted.and_then(|(_, rest)| rest.split('\'').next()) {
            out.push((name, String::new()));
            own = true;
        }
        let properties = line.split_once("Function properties for ");
        if let (Some((_, name)), Some((entry, _))) = (properties, out.last()) {
            own = name.trim() == *entry;
        }
        if let Some((_, lines)) = out.last_mut()
            && (own || line.contains("Used "))
        {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    let each = out.into_iter();
    each.map(|(name, lines)| (name, read(&lines))).collect()
}

/// The numbers of each function, an entry or one that it calls.
fn by_function(said: &str) -> Vec<(&str, Report)> {
    let properties = said.split("Function properties for ").skip(1);
    let each = properties.filter_map(|part| {
        let (name, numbers) = part.split_once('\n')?;
        Some((name.trim(), read(numbers.lines().next()?)))
    });
    each.collect()
}

fn version(ptxas: &Path, folder: &Path) -> Option<String> {
    let mut command = Command::new(ptxas);
    command.arg("--version");
    let text = output(command, folder, &|| false).ok()?;
    let release = text.split("release ").nth(1)?;
    release.split([',', ' ', '\n']).next().map(str::to_owned)
}

fn disassemble(ptxas: &Path, object: &Path, folder: &Path) -> Option<String> {
    let beside = |name: &str| ptxas.parent().map(|p| p.join(name)).filter(|p| p.is_file());
    let mut command = Command::new(beside("nvdisasm")?);
    command.args(["-c", "-hex"]).arg(object);
    output(command, folder, &|| false).ok()
}

/// Everything that a process prints; killed when it takes too long or is to stop.
fn output(
    mut command: Command,
    folder: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<String, PtxasError> {
    let printed = folder.join("printed");
    let file = std::fs::File::create(&printed)?;
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file);
    let mut child = command.spawn()?;
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let stopped = stop();
        if stopped || begin.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return Err(match stopped {
                true => PtxasError::Stopped,
                false => PtxasError::Time,
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = String::from_utf8_lossy(&std::fs::read(&printed)?).into_owned();
    match status.success() {
        true => Ok(text),
        false => Err(PtxasError::Rejected(reasons(&text))),
    }
}

/// The lines that say why a text was refused, without what is told of the entries beside them.
fn reasons(said: &str) -> String {
    let tells = |line: &&str| {
        !line.starts_with("ptxas info") && (line.contains("error") || line.contains("fatal"))
    };
    let lines: Vec<&str> = said.lines().filter(tells).collect();
    match lines.is_empty() {
        true => said.trim().to_owned(),
        false => lines.join("\n"),
    }
}

/// The largest of each number that `ptxas -v` prints.
fn read(text: &str) -> Report {
    let mut report = Report::default();
    for line in text.lines() {
        let before = |what: &str| -> u32 {
            let number = line
                .split(what)
                .next()
                .filter(|head| head.len() < line.len());
            let number = number.and_then(|head| head.trim_end().rsplit([' ', ',']).next());
            number.and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        report.registers = report.registers.max(before(" registers"));
        report.stack_bytes = report.stack_bytes.max(before(" bytes stack frame"));
        report.spill_store_bytes = report.spill_store_bytes.max(before(" bytes spill stores"));
        report.spill_load_bytes = report.spill_load_bytes.max(before(" bytes spill loads"));
        report.shared_bytes = report.shared_bytes.max(before(" bytes smem"));
    }
    report
}

impl Report {
    /// Bytes that a thread stores to and loads from local memory for want of registers, each instruction once.
    pub const fn spilled(&self) -> u32 {
        self.spill_store_bytes + self.spill_load_bytes
    }

    /// Returns whether an entry, or a function that it calls, spills.
    pub fn spills_in(&self, function: &str) -> bool {
        let mut each = self.functions.iter();
        each.any(|(name, bytes)| name == function && *bytes > 0)
    }

    /// `ptxas 13.5: 24 registers, no spills`
    pub fn line(&self) -> String {
        let spills = match (self.spill_store_bytes, self.spill_load_bytes) {
            (0, 0) => "no spills".to_owned(),
            (stores, loads) => format!("spills {stores} bytes of stores, {loads} of loads"),
        };
        let shared = match self.shared_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} bytes of shared memory"),
        };
        let registers = match self.registers {
            0 => "no entry, no register count".to_owned(),
            count => format!("{count} registers"),
        };
        format!("ptxas {}: {registers}, {spills}{shared}", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_tell_the_errors_alone() {
        let said = "ptxas error   : Entry function 'k' uses too much shared data (0x40000 bytes, 0xc000 max)\n\
            ptxas info    : Compiling entry function 'error' for 'sm_80'\nptxas info    : Used 24 registers\n";
        assert_eq!(reasons(said), said.lines().next().unwrap_or_default());
        assert_eq!(reasons("killed\n"), "killed");
    }

    #[test]
    fn each_entry_has_its_own_numbers() {
        let said = "ptxas info    : Compiling entry function 'a' for 'sm_80'\n\
            ptxas info    : Function properties for a\n    \
            0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 24 registers, used 1 barriers, 2048 bytes smem\n\
            ptxas info    : Compiling entry function 'b' for 'sm_80'\n\
            ptxas info    : Function properties for helper\n    \
            96 bytes stack frame, 40 bytes spill stores, 40 bytes spill loads\n\
            ptxas info    : Function properties for b\n    \
            8 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 40 registers\n";
        let found = by_entry(said);
        let numbers = |report: &Report| {
            (
                report.registers,
                report.stack_bytes,
                report.spill_load_bytes,
                report.shared_bytes,
            )
        };
        assert_eq!((found[0].0, numbers(&found[0].1)), ("a", (24, 0, 0, 2048)));
        assert_eq!((found[1].0, numbers(&found[1].1)), ("b", (40, 8, 8, 0)));
    }

    #[test]
    fn the_largest_numbers_are_read() {
        let said = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'k' for 'sm_80'\n\
            ptxas info    : Function properties for k\n    \
            8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n\
            ptxas info    : Used 255 registers, used 1 barriers, 4096 bytes smem, 380 bytes cmem[0]\n\
            ptxas info    : Used 10 registers, 360 bytes cmem[0]\n";
        let report = read(said);
        assert_eq!(
            (report.registers, report.stack_bytes, report.shared_bytes),
            (255, 8, 4096)
        );
        assert_eq!(
            (report.spill_store_bytes, report.spill_load_bytes),
            (12, 16)
        );
        assert_eq!(
            report.line(),
            "ptxas : 255 registers, spills 12 bytes of stores, 16 of loads, 4096 bytes of shared memory"
        );
    }
}
