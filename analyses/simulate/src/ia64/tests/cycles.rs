//! Cycles: the pairs of bundles that issue together, and the waits between instructions.

use super::*;

fn cycles(text: &str, timing: Timing) -> u64 {
    let limits = Limits {
        timing: Some(timing),
        ..Limits::default()
    };
    let arguments = [Arg::Integer(0x6000_0000), Arg::Integer(0x6000_0100)];
    let mut memory = Memory::new();
    let outcome = run(&doubtful(text), "f", &arguments, &mut memory, &limits).expect(text);
    outcome.cycles.expect("counted")
}

const SHAPES: [&str; 10] = [
    "mii", "mlx", "mmi", "mfi", "mmf", "mib", "mbb", "bbb", "mmb", "mfb",
];

/// A row a first bundle, a column a second: `x` both processors, `2` Itanium 2, `a` Itanium 2 if I slots hold
/// operations that M ports take too.
const TOGETHER: [&str; 10] = [
    "a.aa2axx2x",
    "ax2x2xxx2x",
    "a222222x22",
    "ax2x2xxx2x",
    "2222222222",
    "ax2x2xx.2x",
    "..........",
    "..........",
    "2222222.22",
    "xx2x2xx.2x",
];

fn bundle(shape: &str, integer: &str, first: u32) -> String {
    let slots: Vec<String> = shape
        .chars()
        .enumerate()
        .filter_map(|(at, slot)| match slot {
            'i' => Some(format!("{integer}{} = r0", first + at as u32)),
            'l' => Some(format!("movl r{} = 5", first + at as u32)),
            'x' => None,
            other => Some(format!("nop.{other} 0")),
        })
        .collect();
    format!("{{ .{shape}\n{}", slots.join("\n"))
}

#[test]
fn pairs_of_bundles() {
    for (row, first) in SHAPES.iter().enumerate() {
        let row: Vec<char> = TOGETHER[row].chars().collect();
        for (cell, second) in row.iter().zip(SHAPES) {
            for (integer, wide) in [("mov r", true), ("sxt1 r", false)] {
                let together = |timing: &Timing| {
                    let (a, b) = (bundle(first, integer, 14), bundle(second, integer, 18));
                    let text = |stop: &str| leaf(&format!("{a}{stop} }}\n{b} ;; }}"));
                    let found = cycles(&text(""), timing.clone());
                    let two = cycles(&text(" ;;"), timing.clone());
                    found < two
                };
                let (old, new) = match cell {
                    'x' => (true, true),
                    '2' => (false, true),
                    'a' => (false, wide),
                    _ => (false, false),
                };
                assert_eq!(
                    together(&Timing::itanium()),
                    old,
                    "{first} {second} {integer}"
                );
                assert_eq!(
                    together(&Timing::itanium2()),
                    new,
                    "{first} {second} {integer} 2"
                );
            }
        }
    }
}

/// Cycles between two instructions: the wait of the second beyond its issue behind a stop.
fn between(first: &str, second: &str, timing: &Timing) -> u64 {
    let found = cycles(&leaf(&format!("{first} ;;\n{second} ;;")), timing.clone());
    let apart = cycles(&leaf("nop.m 0 ;;\nnop.m 0 ;;"), timing.clone());
    found + 1 - apart
}

#[test]
fn latencies_by_producer_and_consumer() {
    let vectors = [
        ("add r14 = 1, r0", "add r15 = 1, r14", 1, 1),
        ("ld8 r14 = [r32]", "add r15 = 1, r14", 2, 1),
        ("ld8 r14 = [r32]", "ld8.s r15 = [r14]", 3, 2),
        ("ld8 r14 = [r32], 8", "ld8 r15 = [r32]", 1, 1),
        ("and r14 = r32, r32", "ld8 r15 = [r14]", 2, 1),
        ("ldfd f9 = [r32]", "fma.d f10 = f9, f9, f9", 9, 6),
        ("fma.d f9 = f0, f0, f0", "fma.d f10 = f9, f9, f9", 5, 4),
        ("fma.d f9 = f0, f0, f0", "stfd [r32] = f9", 8, 4),
        ("fma.d f9 = f0, f0, f0", "fcmp.eq p6, p7 = f9, f0", 7, 4),
        ("fcmp.eq p6, p7 = f0, f0", "(p6) add r14 = 1, r0", 2, 2),
        ("fcmp.eq p6, p7 = f0, f1", "(p6) br.cond.sptk f", 1, 1),
        ("setf.sig f9 = r32", "xma.l f10 = f9, f9, f0", 9, 5),
        ("getf.sig r14 = f0", "add r15 = 1, r14", 2, 5),
        ("xma.l f9 = f0, f0, f0", "getf.sig r14 = f9", 7, 4),
        ("padd1 r14 = r32, r32", "add r15 = 1, r14", 4, 3),
        ("mov r14 = b0", "add r15 = 1, r14", 2, 2),
    ];
    for (first, second, old, new) in vectors {
        assert_eq!(
            between(first, second, &Timing::itanium()),
            old,
            "{first} {second}"
        );
        assert_eq!(
            between(first, second, &Timing::itanium2()),
            new,
            "{first} {second}"
        );
    }
}

#[test]
fn a_table_of_ones_own() {
    let slow = Latency {
        from: Producer::Alu,
        to: None,
        cycles: 7,
    };
    let timing = Timing::new("mine", Dispersal::Itanium2, &[slow]);
    assert_eq!(between("add r14 = 1, r0", "add r15 = 1, r14", &timing), 7);
    assert_eq!(Timing::named("itanium2"), Some(Timing::itanium2()));
    assert_eq!(Timing::named("pentium"), None);
}
