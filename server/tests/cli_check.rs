//! `lockstep check`: what is denied, silenced and accepted.

#[path = "support/command.rs"]
mod command;

use command::{KERNEL, Place, errors, lockstep, text};

/// Findings of a function that say the same are one; silencing or accepting the first leaves the others.
#[test]
fn findings_alike_are_told_once_and_silenced_each() {
    let place = Place::new("alike");
    let access =
        |comment: &str| format!("  tile[threadIdx.x][0] += 1.0f; {comment}\n  __syncthreads();\n");
    let kernel = |first: &str| {
        format!(
            "__global__ void __launch_bounds__(32) k(float* out) {{\n  __shared__ float tile[32][32];\n  tile[0][threadIdx.x] = 0.0f;\n  __syncthreads();\n{}{}  out[threadIdx.x] = tile[0][threadIdx.x];\n}}\n",
            access(first),
            access("").repeat(5)
        )
    };
    let file = place.file("alike.cu", kernel(""));
    let conflicts = |arguments: &[&str]| -> Vec<String> {
        let said = text(&lockstep(&[&["check", &file], arguments].concat()));
        let lines = said.lines().filter(|line| line.contains("bank-conflict"));
        lines.map(str::to_owned).collect()
    };
    let all = conflicts(&[]);
    let more = |line: &str| {
        let (_, rest) = line.split_once("(and at ")?;
        rest.split_whitespace().next()?.parse::<u32>().ok()
    };
    assert_eq!(all.len(), 1, "{all:?}");
    let others = more(&all[0]).expect("the others are counted");
    let baseline = place.path("baseline.json");
    lockstep(&["check", &file, "--write-baseline", &baseline]);
    assert!(conflicts(&["--baseline", &baseline]).is_empty());

    place.file("alike.cu", kernel("// lockstep: allow(bank-conflict)"));
    let rest = conflicts(&[]);
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(more(&rest[0]).is_some_and(|left| left < others), "{rest:?}");
}

#[test]
fn denied_findings_silence_and_baseline() {
    let place = Place::new("deny");
    let file = place.file("scale.cu", KERNEL);
    let denied = ["check", &file, "--deny", "uncoalesced-access"];
    assert_eq!(
        lockstep(&denied).status.code(),
        Some(1),
        "{}",
        text(&lockstep(&denied))
    );
    let baseline = place.path("baseline.json");
    assert_eq!(
        lockstep(&["check", &file, "--write-baseline", &baseline])
            .status
            .code(),
        Some(0)
    );
    let accepted = lockstep(&[
        "check",
        &file,
        "--deny",
        "uncoalesced-access",
        "--baseline",
        &baseline,
    ]);
    assert_eq!(accepted.status.code(), Some(0), "{}", text(&accepted));
    // The same findings further down are still accepted.
    place.file("scale.cu", format!("\n\n{KERNEL}"));
    assert_eq!(
        lockstep(&[
            "check",
            &file,
            "--deny",
            "uncoalesced-access",
            "--baseline",
            &baseline
        ])
        .status
        .code(),
        Some(0)
    );
    let silent = KERNEL.replace(
        "        out[i] =",
        "        // lockstep: allow(uncoalesced-access)\n        out[i] =",
    );
    place.file(
        "scale.cu",
        format!("// lockstep: allow-file(divergent-loop)\n{silent}"),
    );
    assert_eq!(
        lockstep(&denied).status.code(),
        Some(0),
        "{}",
        text(&lockstep(&denied))
    );
    place.file("scale.cu", KERNEL);
    place.file(
        "lockstep.toml",
        "[diagnostics]\nuncoalesced-access = \"off\"\n",
    );
    assert_eq!(
        lockstep(&denied).status.code(),
        Some(0),
        "{}",
        text(&lockstep(&denied))
    );
    place.file(
        "lockstep.toml",
        "[diagnostics]\nuncoalesced-access = \"error\"\n",
    );
    assert_eq!(lockstep(&["check", &file]).status.code(), Some(1));
    let noted = place.file(
        "noted.cu",
        "#include \"nowhere.h\"\n__global__ void k(int* p) { p[threadIdx.x] = 1; }\n",
    );
    let counted = text(&lockstep(&["check", &noted]));
    assert!(
        !counted.contains("include-not-found") && counted.contains("1 note on what"),
        "{counted}"
    );
    for arguments in [["--notes", &noted], ["--deny=include-not-found", &noted]] {
        let listed = text(&lockstep(&["check", arguments[0], arguments[1]]));
        assert!(listed.contains("include-not-found"), "{listed}");
    }
    place.file("lockstep.toml", "warp_size = [[[");
    let output = lockstep(&["check", &file]);
    assert!(
        errors(&output).contains("lockstep.toml:1:"),
        "{}",
        errors(&output)
    );
    assert_eq!(output.status.code(), Some(0));
}
