//! NVIDIA's assembler as a judge. It is looked for in `LOCKSTEP_PTXAS`, then in the search path; where it is absent a test
//! says so, and fails only when `LOCKSTEP_PTXAS` is set.
#![allow(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) fn find() -> Option<PathBuf> {
    let given = std::env::var_os("LOCKSTEP_PTXAS").map(PathBuf::from);
    let required = given.is_some();
    let found = given
        .into_iter()
        .chain([PathBuf::from("ptxas")])
        .find(|path| {
            let version = Command::new(path).arg("--version").output();
            version.is_ok_and(|output| output.status.success())
        });
    assert!(
        found.is_some() || !required,
        "LOCKSTEP_PTXAS is set and there is no working ptxas"
    );
    if found.is_none() {
        eprintln!("ptxas was not found: printed PTX is not judged by it");
    }
    found
}

/// Returns the message of the assembler about a text that it does not take.
pub(crate) fn judge(tool: &Path, target: &str, text: &str) -> Result<(), String> {
    code(tool, target, "-O0", text).map(|_| ())
}

/// The machine code that the assembler makes of a text, in its container.
pub(crate) fn code(tool: &Path, target: &str, level: &str, text: &str) -> Result<Vec<u8>, String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("lockstep-ptxas-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (source, made) = (folder.join("module.ptx"), folder.join("module.cubin"));
    std::fs::write(&source, text).expect("a temporary file");
    let output = Command::new(tool)
        .args([&format!("-arch={target}"), level, "-o"])
        .arg(&made)
        .arg(&source)
        .output()
        .expect("ptxas runs");
    let code = std::fs::read(&made);
    std::fs::remove_dir_all(&folder).expect("the temporary folder goes");
    match (output.status.success(), code) {
        (true, Ok(code)) => Ok(code),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
