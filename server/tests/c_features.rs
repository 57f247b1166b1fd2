//! What C11 has, a file a feature: every function `long t_NAME(long k)` in it is what the host's compiler says, for some
//! numbers and however the code is emitted; GNU `as` has nothing to say about the code.

#[path = "support/command.rs"]
mod command;
#[path = "support/host.rs"]
mod host;

use command::{Place, errors};
use host::agree;
use std::process::Command;

fn judged(name: &str, source: &str) {
    let place = Place::new(name);
    let names = source
        .lines()
        .filter_map(|line| line.strip_prefix("long t_")?.split_once("(long k)"));
    let names: Vec<String> = names.map(|(name, _)| format!("t_{name}")).collect();
    assert!(!names.is_empty(), "{source}");
    let calls = names
        .iter()
        .flat_map(|name| [0, 1, 2, 5].map(|k| (name.as_str(), vec![k])));
    agree(&place, source, &calls.collect::<Vec<_>>());
    assembled(&place);
}

/// What was emitted last, to GNU `as`.
fn assembled(place: &Place) {
    let given = std::env::var("LOCKSTEP_IA64_AS");
    let program = given.as_deref().unwrap_or("ia64-linux-gnu-as");
    let (code, object) = (place.path("program.s"), place.path("program.o"));
    let run = Command::new(program)
        .args(["-x", "-o", &object, &code])
        .output();
    match run {
        Ok(run) => {
            assert!(
                run.status.success() && run.stderr.is_empty(),
                "{}",
                errors(&run)
            );
        }
        Err(error) => {
            assert!(given.is_err(), "{program}: {error}");
            println!("not judged: there is no assembler for IA-64 here");
        }
    }
}

#[test]
fn bit_fields_lie_where_the_host_has_them() {
    judged("bit-fields", include_str!("c_features/bit_fields.c"));
}

#[test]
fn unions_and_compound_literals_are_objects() {
    judged("unions", include_str!("c_features/unions.c"));
}

#[test]
fn structures_are_arguments_and_results() {
    judged("structures", include_str!("c_features/structures.c"));
}
