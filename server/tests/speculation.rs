//! `speculate-expression`: an expression that several ways evaluate, evaluated ahead by a recorded profile.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, lockstep, text};

const SHADE: &str = "\
#include <math.h>

float shade(float d, float k, int far, int lit) {
    float fog = 0.0f;
    if (far) {
        fog = expf(-d * k);
    }
    float glow = 1.0f - fog;
    if (lit) {
        glow += sqrtf(expf(-d * k));
    }
    return glow;
}
";

/// Runs the function `times` times on these conditions and adds them to the profile.
fn run(place: &Place, file: &str, far: u32, lit: u32, times: u32) {
    for _ in 0..times {
        let inputs =
            format!("item = \"shade\"\n[values]\nd = 2.0\nk = 0.25\nfar = {far}\nlit = {lit}\n");
        let inputs = place.file("shade.toml", inputs);
        let output = lockstep(&["profile", file, "--inputs", &inputs, "--no-config", "--add"]);
        assert!(output.status.success(), "{}", errors(&output));
    }
}

#[test]
fn an_expression_is_evaluated_ahead_where_most_runs_need_it() {
    let place = Place::new("speculation");
    let file = place.file("shade.c", SHADE);
    let at = |command: &[&str]| {
        let mut all = command.to_vec();
        all.extend([file.as_str(), "--at", "10:23", "--no-config"]);
        lockstep(&all)
    };
    let unknown = errors(&at(&["apply", "speculate-expression"]));
    assert!(unknown.contains("no profile says how often"), "{unknown}");
    run(&place, &file, 1, 1, 7);
    run(&place, &file, 0, 1, 2);
    run(&place, &file, 1, 0, 1);
    let listed = text(&at(&["actions"]));
    assert!(
        listed.contains("Evaluate `expf(-d * k)` ahead: 10 evaluations in the place of 17"),
        "{listed}"
    );
    assert!(listed.contains("estimate, itanium2"), "{listed}");
    let after = text(&at(&["apply", "speculate-expression"]));
    let expected = "    float ahead;
    if (far) {
        ahead = expf(-d * k);
        fog = ahead;
    } else {
        ahead = expf(-d * k);
    }
    float glow = 1.0f - fog;
    if (lit) {
        glow += sqrtf(ahead);
    }
";
    assert!(after.contains(expected), "{after}");
}

/// Ten calls by `gcov -b -c`.
const GCOV: &str = "        -:    0:Source:shade.c
function shade called 10 returned 100% blocks executed 100%
       10:    3:float shade(float d, float k, int far, int lit) {
       10:    4:    float fog = 0.0f;
       10:    5:    if (far) {
branch  0 taken 8 (fallthrough)
branch  1 taken 2
        8:    6:        fog = expf(-d * k);
       10:    8:    float glow = 1.0f - fog;
       10:    9:    if (lit) {
branch  0 taken 9 (fallthrough)
branch  1 taken 1
        9:   10:        glow += sqrtf(expf(-d * k));
       10:   12:    return glow;
";

#[test]
fn counts_of_edges_are_enough() {
    let place = Place::new("speculation-edges");
    let file = place.file("shade.c", SHADE);
    let report = place.file("shade.c.gcov", GCOV);
    let imported = lockstep(&["profile", "import", &file, "--gcov", &report, "--no-config"]);
    assert!(imported.status.success(), "{}", errors(&imported));
    let listed = text(&lockstep(&[
        "actions",
        &file,
        "--at",
        "10:23",
        "--no-config",
    ]));
    assert!(
        listed.contains("Evaluate `expf(-d * k)` ahead: 10 evaluations in the place of 17"),
        "{listed}"
    );
}

#[test]
fn what_might_end_the_program_stays() {
    let place = Place::new("speculation-hazard");
    let text = SHADE
        .replace("expf(-d * k)", "(float)(far / lit)")
        .replace("#include <math.h>\n", "");
    let file = place.file("shade.c", text);
    let refused = lockstep(&[
        "apply",
        "speculate-expression",
        &file,
        "--at",
        "5:24",
        "--no-config",
    ]);
    let said = errors(&refused);
    assert!(
        said.contains("may not be evaluated where it was not before: it divides integers"),
        "{said}"
    );
}
