//! The features of C11, a file each: every function `long t_NAME(long k)` in it has the result of the host's
//! compiler, for some numbers and however the code is emitted; GNU `as` reports nothing about the code.

#[path = "support/command.rs"]
mod command;
#[path = "support/host.rs"]
mod host;

use command::{Place, errors, lockstep};
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

/// Gives the code emitted last to GNU `as`.
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
fn structures_that_point_to_each_other_have_their_sizes() {
    judged("circular", include_str!("c_features/circular.c"));
}

#[test]
fn structures_are_arguments_and_results() {
    judged("structures", include_str!("c_features/structures.c"));
}

#[test]
fn arguments_without_names_are_read_one_behind_the_other() {
    judged("variadic", include_str!("c_features/variadic.c"));
}

#[test]
fn the_language_is_what_the_host_says() {
    judged("language", include_str!("c_features/language.c"));
}

#[test]
fn what_there_is_no_code_for_is_said_where_it_stands() {
    let place = Place::new("refused");
    let source = "\
struct __attribute__((packed)) before { char c; int i; };
struct behind { char c; int i; } __attribute__((packed));
long packed(struct behind *p) { return p->i; }
long sized(void) { return sizeof(struct before); }
long double half(long double x) { return x / 2; }
long double_(long double *x) { return *x > 1; }
int wide(int k) { return L\"abc\"[k]; }
int same(long k) { return _Generic(k, long: 1, long long: 2); }
int none(int k) { return _Generic(k, long: 1); }
long aligned(void) { _Alignas(32) char b[3]; return (long)b; }
double literal(double x) { return x + 0.1L; }
int fine(int k) { return k; }
";
    let file = place.file("program.c", source);
    let out = place.path("program.s");
    let emitted = lockstep(&["emit", &file, "-o", &out]);
    assert_eq!(emitted.status.code(), Some(1));
    let told = errors(&emitted);
    for (line, name) in [
        (3, "packed"),
        (4, "sized"),
        (5, "half"),
        (6, "double_"),
        (7, "wide"),
        (8, "same"),
        (9, "none"),
        (10, "aligned"),
        (11, "literal"),
    ] {
        let found = told.lines().any(|it| {
            it.contains(&format!("program.c:{line}:"))
                && it.contains(&format!("no code for `{name}`"))
        });
        assert!(found, "{name}: {told}");
    }
    assert!(told.contains("9 of 10 functions are left out"), "{told}");
    assert_eq!(host::simulated(&out, "fine", &["4"]), 4);
}
