//! The commit that a binary was made from, for `--version` and the editor.

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
    };
    let version = env!("CARGO_PKG_VERSION");
    let version = match git(&["rev-parse", "--short=9", "HEAD"]) {
        Some(commit) => format!("{version} ({commit})"),
        // From an archive without its history.
        None => version.to_owned(),
    };
    println!("cargo:rustc-env=LOCKSTEP_VERSION={version}");
    println!("cargo:rerun-if-changed=build.rs");
    for of_head in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", of_head]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}
