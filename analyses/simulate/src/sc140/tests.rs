//! Programs with known answers: each value is that of the manuals' excerpts, worked out by hand or by plain arithmetic.

mod arithmetic;
mod bad;
mod control;
mod cycles;
mod data;
mod listings;
mod memory;
mod table;

use super::*;

/// A program without problems.
fn program(text: &str) -> Program {
    let document = syntax::sc140::parse(text);
    assert_eq!(document.problems, [], "{text}");
    let source = Source {
        document: &document,
        text,
    };
    let (program, opaque) = Program::new(&[source]);
    assert_eq!(opaque, [], "{text}");
    program
}

/// Results do not saturate and ties go to even, unless a test says so.
fn limits() -> Limits {
    Limits {
        sets: 100_000,
        settings: Settings {
            saturates: false,
            rounds_up: false,
            ..Settings::default()
        },
        timing: Timing::default(),
    }
}

fn saturating() -> Limits {
    Limits {
        settings: Settings::default(),
        ..limits()
    }
}

/// `d0` and `d1` behind a function's body, which may be several lines.
fn both(body: &str, limits: &Limits) -> [i64; 2] {
    let text = format!("_f\n{body}\n rts\n");
    let outcome = run(&program(&text), "_f", &[], &mut Memory::new(), limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}: {text}"));
    assert_eq!(outcome.violations, [], "{text}");
    outcome.data
}

/// `d0` with registers loaded before: `("d1", value)` of 40 bits, `("r0", value)`.
fn with(registers: &[(&str, i64)], body: &str, limits: &Limits) -> i64 {
    both(&format!("{}{body}", loads(registers)), limits)[0]
}

/// Lines that give registers their values, 40 bits of data registers, and leave a set between them and the
/// following code.
fn loads(registers: &[(&str, i64)]) -> String {
    let mut lines = String::new();
    for (name, value) in registers {
        lines += &format!(" move.l #${:x},{name}\n", *value as u32);
        if name.starts_with('d') {
            // The extension is moved through memory, whose words the limit tag would follow.
            let extension = value >> 32 & 0xff;
            lines += &format!(" move.l #${extension:x},r15\n move.l r15,{name}.e\n");
        }
    }
    lines + " nop\n"
}

/// The value behind one instruction, with modes that do not saturate.
fn value(registers: &[(&str, i64)], body: &str) -> i64 {
    with(registers, body, &limits())
}

/// T behind a body.
fn truth(registers: &[(&str, i64)], body: &str) -> bool {
    let body = format!("{body}\n clr d0\n IFT inc d0");
    value(registers, &body) == 1
}
/// The carry behind a body.
fn carry(registers: &[(&str, i64)], body: &str) -> bool {
    // Zero and the carry.
    let body = format!("{body}\n [\n clr d0\n clr d1\n ]\n adc d1,d0");
    value(registers, &body) == 1
}
