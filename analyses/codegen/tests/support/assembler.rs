//! GNU `as` for IA-64 as a judge. It is looked for in `LOCKSTEP_IA64_AS`, then under its usual name; where it is absent a test
//! says so, and fails only when `LOCKSTEP_IA64_AS` is set.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The assembler, if there is one that works.
pub(crate) fn assembler() -> Option<PathBuf> {
    let given = std::env::var_os("LOCKSTEP_IA64_AS").map(PathBuf::from);
    let required = given.is_some();
    let found = given
        .into_iter()
        .chain([PathBuf::from("ia64-linux-gnu-as")])
        .find(|path| {
            Command::new(path)
                .arg("--version")
                .output()
                .is_ok_and(|output| output.status.success())
        });
    assert!(
        found.is_some() || !required,
        "LOCKSTEP_IA64_AS is set and there is no working assembler"
    );
    if found.is_none() {
        eprintln!("GNU as for IA-64 was not found: nothing is judged by it");
    }
    found
}

/// Returns the messages of the assembler in explicit mode.
#[allow(dead_code)]
pub(crate) fn assembled(assembler: &Path, text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    into_object(assembler, text, &folder.path().join("x.o"))
}

/// The same, its object left in a file.
pub(crate) fn into_object(assembler: &Path, text: &str, object: &Path) -> String {
    let source = object.with_extension("s");
    std::fs::write(&source, text).expect("written");
    let output = Command::new(assembler)
        .args(["-x", "-o"])
        .arg(object)
        .arg(&source)
        .output()
        .expect("the assembler runs");
    String::from_utf8_lossy(&output.stderr).into_owned()
}
