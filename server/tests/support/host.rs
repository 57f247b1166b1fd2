//! Results of C functions on the simulator and on the host.

use super::command::{Place, errors, json, lockstep};
use std::fmt::Write as _;
use std::process::Command;

/// Calls with integers, of functions that return integers: the host's results are the simulator's, whatever is asked of
/// the emitted code.
pub(crate) fn agree(place: &Place, source: &str, calls: &[(&str, Vec<i64>)]) {
    let file = place.file("program.c", source);
    let Some(expected) = of_host(place, source, calls) else {
        println!("not judged: there is no C compiler here");
        return;
    };
    for how in [&[][..], &["--pipeline"], &["--no-bundles"]] {
        let out = place.path("program.s");
        let mut arguments = vec!["emit", &file, "-o", &out];
        arguments.extend(how);
        let emitted = lockstep(&arguments);
        assert!(emitted.status.success(), "{}", errors(&emitted));
        for ((name, given), expected) in calls.iter().zip(&expected) {
            let found = simulated(&out, name, given);
            assert_eq!(found, *expected, "{name}({given:?}) with {how:?}");
        }
    }
}

/// What the simulator returns.
pub(crate) fn simulated(assembly: &str, name: &str, given: &[i64]) -> i64 {
    let given: Vec<String> = given.iter().map(i64::to_string).collect();
    let mut arguments = vec!["sim", assembly, "--item", name, "--format", "json"];
    for one in &given {
        arguments.push("--arg");
        arguments.push(one);
    }
    let run = lockstep(&arguments);
    assert!(
        run.status.success(),
        "{name}({given:?}): {}",
        errors(&run)
    );
    let run = json(&run);
    let value = &run["r8"];
    value
        .as_i64()
        .or_else(|| value.as_u64().map(|word| word as i64))
        .unwrap_or_else(|| panic!("{name}({given:?}): {run}"))
}

fn of_host(place: &Place, source: &str, calls: &[(&str, Vec<i64>)]) -> Option<Vec<i64>> {
    let compiler = std::env::var("LOCKSTEP_CC").unwrap_or_else(|_| "cc".into());
    Command::new(&compiler).arg("--version").output().ok()?;
    let mut text = format!("{source}\nextern int printf(const char *, ...);\nint main(void) {{\n");
    for (name, given) in calls {
        let list: Vec<String> = given.iter().map(|one| format!("{one}l")).collect();
        let _ = writeln!(text, "printf(\"%ld\\n\", (long){name}({}));", list.join(", "));
    }
    text.push_str("return 0; }\n");
    let program = place.path("host");
    let source = place.file("host.c", &text);
    let built = Command::new(&compiler)
        .args(["-std=gnu11", "-O1", "-fwrapv", "-w", "-o", &program, &source])
        .output()
        .expect("the compiler runs");
    assert!(built.status.success(), "{}", errors(&built));
    let ran = Command::new(&program).output().expect("the program runs");
    assert!(ran.status.success(), "{}", errors(&ran));
    let lines = String::from_utf8_lossy(&ran.stdout).into_owned();
    let found: Vec<i64> = lines
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    assert_eq!(found.len(), calls.len());
    Some(found)
}
