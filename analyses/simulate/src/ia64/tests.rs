//! Programs with known answers, each assembled by GNU `as` too where it is installed.

mod bad;
mod cycles;
mod float;
mod golden;
mod integer;
mod memory;
mod table;
mod waits;

use super::run::watched;
use super::state::Machine;
use super::*;

/// A program without problems.
fn program(text: &str) -> Program {
    let document = syntax::ia64::parse(text);
    assert_eq!(document.problems, [], "{text}");
    let (program, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{text}");
    assert_eq!(assembled(text), "", "{text}");
    program
}

/// A program that has no problems but that an assembler would warn of.
fn doubtful(text: &str) -> Program {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{text}");
    program
}

/// Returns the messages of GNU `as` about a text, none if it is not installed.
fn assembled(text: &str) -> String {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let started = Command::new("ia64-linux-gnu-as")
        .args(["-x", "-o", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        return String::new();
    };
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes()).expect("it reads");
    }
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A leaf function with eight inputs, of this body; `r8` is its result.
fn leaf(body: &str) -> String {
    format!(
        "\t.text\n\t.global f#\n\t.proc f#\nf:\n\talloc r31 = ar.pfs, 8, 0, 0, 0 ;;\n{body}\n\tbr.ret.sptk.many b0 ;;\n\t.endp f#\n"
    )
}

fn run_leaf(body: &str, arguments: &[Arg]) -> Result<Outcome, Fault> {
    let program = program(&leaf(body));
    run(
        &program,
        "f",
        arguments,
        &mut Memory::new(),
        &Limits::default(),
    )
}

/// Returns the result of a leaf function for integers, without a violation.
fn value(body: &str, arguments: &[u64]) -> u64 {
    let arguments: Vec<Arg> = arguments
        .iter()
        .map(|&argument| Arg::Integer(argument))
        .collect();
    let outcome = run_leaf(body, &arguments).expect(body);
    assert_eq!(outcome.violations, [], "{body}");
    outcome.result.expect("no NaT")
}

fn fault(body: &str, arguments: &[u64]) -> Fault {
    let arguments: Vec<Arg> = arguments
        .iter()
        .map(|&argument| Arg::Integer(argument))
        .collect();
    run_leaf(body, &arguments).expect_err(body)
}

/// 32-bit words as memory has them.
fn words(values: &[u32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}
fn read_words(memory: &mut Memory, address: u64, count: usize) -> Vec<u32> {
    let bytes = memory.bytes(address, 4 * count).expect("mapped");
    bytes
        .chunks(4)
        .map(|chunk| u32::from_le_bytes(chunk.try_into().expect("four")))
        .collect()
}

/// Runs a function and notes the state before every instruction whose mnemonic begins so; and `ar.ec` when it returns.
fn trace(
    program: &Program,
    arguments: &[Arg],
    memory: &mut Memory,
    limits: &Limits,
    at: &str,
    note: impl Fn(&Machine<'_>) -> Vec<u64>,
) -> (Outcome, Vec<Vec<u64>>, u64) {
    let (mut notes, mut epilogue) = (Vec::new(), 0);
    let outcome = watched(
        program,
        "f",
        arguments,
        memory,
        limits,
        &mut |machine, inst| {
            if inst.mnemonic.starts_with("br.ret") {
                epilogue = machine.applications[66];
            }
            if inst.mnemonic.starts_with(at) {
                notes.push(note(machine));
            }
        },
    );
    (outcome.expect("runs"), notes, epilogue)
}
