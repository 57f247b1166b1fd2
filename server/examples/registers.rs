//! Compares the estimate of a kernel's registers with the allocation of NVIDIA's assembler.
//!
//! ```text
//! LOCKSTEP_PTXAS=ptxas cargo run --release -p lockstep-server --example registers -- [--target sm_80] [--list] PATH...
//! ```
//!
//! Paths are files and folders. A kernel of a PTX file is assembled as it stands. One of CUDA is looked for in the PTX that a
//! compiler made of the file, `NAME.ptx` beside `NAME.cu` (`clang -x cuda --cuda-device-only -O3 -S`); where there is none, and
//! of HLSL, the kernel is printed first. For each language: kernels, the median, the 90th percentile and the worst of the
//! relative error, the median with its sign, and by how many registers the estimate is too large in the mean. `--list`
//! prints each kernel: file, name, live at the peak, estimate, allocated.
//! The server is `LOCKSTEP_BINARY`, or `target/release/lockstep`.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Kernel {
    file: PathBuf,
    name: String,
    live: u64,
    estimate: u64,
    allocated: u64,
}

struct Tools {
    server: PathBuf,
    ptxas: PathBuf,
    target: String,
}

impl Tools {
    fn json(&self, arguments: &[&str]) -> Option<Value> {
        let output = Command::new(&self.server)
            .args(arguments)
            .args(["--format", "json", "--no-config", "--target", &self.target])
            .env("LOCKSTEP_PTXAS", &self.ptxas)
            .output()
            .ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    /// Returns the registers that each entry of a PTX file is given.
    fn allocated(&self, file: &Path) -> BTreeMap<String, u64> {
        let made = std::env::temp_dir().join(format!("lockstep-registers-{}", std::process::id()));
        let output = Command::new(&self.ptxas)
            .args(["-v", &format!("-arch={}", self.target), "-o"])
            .arg(&made)
            .arg(file)
            .output();
        let _ = std::fs::remove_file(&made);
        let mut out = BTreeMap::new();
        let Ok(output) = output else { return out };
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut entry = None;
        for line in text.lines() {
            if let Some((_, rest)) = line.split_once("Compiling entry function '") {
                entry = rest.split('\'').next().map(str::to_owned);
            }
            let used = line.split_once("Used ").and_then(|(_, rest)| {
                let number = rest.split_once(" registers")?.0;
                number.parse::<u64>().ok()
            });
            if let (Some(used), Some(name)) = (used, entry.clone()) {
                out.insert(name, used);
                entry = None;
            }
        }
        out
    }

    fn kernels(&self, file: &Path) -> Vec<Kernel> {
        let path = file.display().to_string();
        let Some(report) = self.json(&["registers", &path]) else {
            return Vec::new();
        };
        let compiled = file.with_extension("ptx");
        let is_compiled = compiled.is_file();
        let known = match is_compiled {
            true => self.allocated(&compiled),
            false => BTreeMap::new(),
        };
        let kernels = report["kernels"].as_array().into_iter().flatten();
        let kernels = kernels.filter_map(|kernel| {
            let name = kernel["name"].as_str()?;
            let allocated = match is_compiled {
                true => of_name(&known, name)?,
                false => {
                    let code = self.json(&["code", &path, "--item", name, "--ptxas"])?;
                    code["ptxas"]["registers"].as_u64()?
                }
            };
            Some(Kernel {
                file: file.to_owned(),
                name: name.to_owned(),
                live: kernel["live"].as_u64()?,
                estimate: kernel["registers"].as_u64()?,
                allocated,
            })
        });
        kernels.collect()
    }
}

/// The figure of a kernel by its name, or by the one name that a compiler has made of it.
fn of_name(known: &BTreeMap<String, u64>, name: &str) -> Option<u64> {
    if let Some(&found) = known.get(name) {
        return Some(found);
    }
    let mangled = format!("{}{name}", name.len());
    let mut same = known.iter().filter(|(entry, _)| entry.contains(&mangled));
    let (_, &found) = same.next()?;
    same.all(|(_, &other)| other == found).then_some(found)
}

fn files(path: &Path, out: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries
            .flatten()
            .for_each(|entry| files(&entry.path(), out));
        return;
    }
    let extension = path.extension().and_then(|it| it.to_str());
    let is_made = extension == Some("ptx") && path.with_extension("cu").is_file();
    if matches!(extension, Some("ptx" | "cu" | "hlsl")) && !is_made {
        out.push(path.to_owned());
    }
}

fn main() {
    let mut tools = Tools {
        server: std::env::var_os("LOCKSTEP_BINARY")
            .map_or_else(|| "target/release/lockstep".into(), PathBuf::from),
        ptxas: std::env::var_os("LOCKSTEP_PTXAS").map_or_else(|| "ptxas".into(), PathBuf::from),
        target: "sm_80".to_owned(),
    };
    let mut list = false;
    let mut paths = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => list = true,
            "--target" => tools.target = arguments.next().expect("an architecture"),
            path => files(Path::new(path), &mut paths),
        }
    }
    paths.sort();
    let mut by_language: BTreeMap<String, Vec<Kernel>> = BTreeMap::new();
    for path in &paths {
        let extension = path.extension().and_then(|it| it.to_str());
        let found = tools.kernels(path);
        let known = by_language.entry(extension.unwrap_or("").to_owned());
        known.or_default().extend(found);
    }
    println!("language  kernels  median  90 %  worst  signed median (%)  too many in the mean");
    for (language, kernels) in &by_language {
        let mut signed: Vec<f64> = kernels
            .iter()
            .map(|kernel| 100.0 * (kernel.estimate as f64 / kernel.allocated as f64 - 1.0))
            .collect();
        signed.sort_by(f64::total_cmp);
        let mut errors: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        let at = |all: &[f64], share: f64| {
            let last = all.len().checked_sub(1)?;
            all.get((last as f64 * share).round() as usize).copied()
        };
        let found = [
            at(&errors, 0.5),
            at(&errors, 0.9),
            at(&errors, 1.0),
            at(&signed, 0.5),
        ];
        let [Some(median), Some(most), Some(worst), Some(middle)] = found else {
            continue;
        };
        let over: f64 = kernels
            .iter()
            .map(|kernel| kernel.estimate as f64 - kernel.allocated as f64)
            .sum();
        println!(
            "{language:8}  {:7}  {median:6.1}  {most:4.1}  {worst:5.0}  {middle:17.1}  {:20.1}",
            kernels.len(),
            over / kernels.len() as f64
        );
    }
    for value in by_language.values().flatten().filter(|_| list) {
        println!(
            "{}\t{}\t{}\t{}\t{}",
            value.file.display(),
            value.name,
            value.live,
            value.estimate,
            value.allocated
        );
    }
}
