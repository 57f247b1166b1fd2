//! Results of C functions on the simulator and on the host.

use super::command::{Place, errors, json, lockstep};
use std::fmt::Write as _;
use std::process::Command;

/// Calls with integers, of functions that return integers: the host's results are the simulator's, whatever
/// the options of the emitted code.
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
            let words: Vec<String> = given.iter().map(i64::to_string).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let found = simulated(&out, name, &words);
            assert_eq!(found, *expected, "{name}({given:?}) with {how:?}");
        }
    }
}

/// Returns the result of the simulator.
pub(crate) fn simulated(assembly: &str, name: &str, given: &[&str]) -> i64 {
    let mut arguments = vec!["sim", assembly, "--item", name, "--format", "json"];
    for &each in given {
        arguments.push("--arg");
        arguments.push(each);
    }
    let run = lockstep(&arguments);
    assert!(run.status.success(), "{name}({given:?}): {}", errors(&run));
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
    let mut text = format!(
        "{source}\nextern int printf(const char *, ...), atoi(const char *);\n\
         int main(int count, char **words) {{ int k = atoi(words[1]);\n"
    );
    for (number, (name, given)) in calls.iter().enumerate() {
        let list: Vec<String> = given.iter().map(|it| format!("{it}l")).collect();
        let list = list.join(", ");
        let _ = writeln!(
            text,
            "if (k == {number}) printf(\"%ld\\n\", (long){name}({list}));"
        );
    }
    text.push_str("return 0; }\n");
    let program = place.path("host");
    let source = place.file("host.c", &text);
    let built = Command::new(&compiler)
        .args([
            "-std=gnu11",
            "-O1",
            "-fwrapv",
            "-w",
            "-o",
            &program,
            &source,
        ])
        .output()
        .expect("the compiler runs");
    assert!(built.status.success(), "{}", errors(&built));
    // A process a call, for every call on the simulator begins with fresh memory.
    let run = |number: usize| {
        let ran = Command::new(&program).arg(number.to_string()).output();
        let ran = ran.expect("the program runs");
        assert!(ran.status.success(), "{}", errors(&ran));
        let line = String::from_utf8_lossy(&ran.stdout).trim().parse();
        line.expect("a number")
    };
    Some((0..calls.len()).map(run).collect())
}
