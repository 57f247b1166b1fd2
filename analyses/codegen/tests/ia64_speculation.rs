//! Search loops whose loads are guarded by exits: pipelined with speculative loads at a smaller interval than
//! without, and right where memory ends with the element that ends the search, and where speculative loads
//! fail that need not.
#![allow(clippy::disallowed_methods)]

use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_codegen::machine;
use lockstep_codegen::refusal::Refusal;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::pipeline::{self, LoopReport, Method};
use simulate::ia64::{Arg, Limits, Memory, Outcome, Program, Timing, run};
use syntax::c_family::{Dialect, parse_text};

fn emitted(source: &str, how: pipeline::Options) -> (String, LoopReport) {
    let items = parse_text(source, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let module = all
        .into_iter()
        .map(|(_, lowered)| lowered.module)
        .find(|module| module.functions[0].name == "f")
        .expect("f");
    let table = machine::named("itanium2").expect("a table");
    let options = Options {
        pipeline: Some(how),
        ..Options::default()
    };
    let emitted = emit(&module, table.epic().expect("groups"), &options).expect("code");
    let report = emitted.functions[0].loops[0].clone();
    (emitted.text, report)
}

fn executed(text: &str, arguments: &[Arg], memory: &Memory, deferred: Option<u64>) -> Outcome {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{text}");
    let limits = Limits {
        deferred,
        timing: Some(Timing::itanium2()),
        ..Limits::default()
    };
    let outcome = run(&program, "f", arguments, &mut memory.clone(), &limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(outcome.violations, [], "{text}");
    assert_eq!(outcome.changed, [], "{text}");
    outcome
}

/// Judges a loop with and without speculation; the intervals must be these.
fn judge(source: &str, intervals: (u32, u32), arguments: &[Arg], memory: &Memory, expected: u64) {
    let plain = pipeline::Options {
        speculation: false,
        unroll: Some(1),
        always: true,
        ..pipeline::Options::default()
    };
    let ahead = pipeline::Options {
        speculation: true,
        ..plain
    };
    let (slow, without) = emitted(source, plain);
    let (fast, with) = emitted(source, ahead);
    assert!(
        with.loads.speculative > 0 && with.loads.checks > 0,
        "{source}\n{fast}"
    );
    assert_eq!(
        (with.ii, without.ii),
        (Some(intervals.0), Some(intervals.1)),
        "{source}\n{fast}"
    );
    let before = executed(&slow, arguments, memory, None);
    let after = executed(&fast, arguments, memory, None);
    assert_eq!(
        (before.result, after.result),
        (Some(expected), Some(expected)),
        "{source}\n{fast}"
    );
    assert!(
        after.cycles < before.cycles,
        "{:?} {:?}",
        after.cycles,
        before.cycles
    );
    for seed in 0..40 {
        let again = executed(&fast, arguments, memory, Some(seed));
        assert_eq!(again.result, Some(expected), "{seed}: {source}\n{fast}");
    }
}

/// A string that ends where memory ends.
fn text(length: usize) -> (Memory, u64) {
    let mut bytes: Vec<u8> = (0..length).map(|at| b'a' + (at % 20) as u8).collect();
    bytes.push(0);
    let mut memory = Memory::new();
    let place = memory.place(&bytes).expect("room");
    (memory, place)
}

#[test]
fn the_length_of_a_string() {
    let (memory, place) = text(1000);
    let source = "long f(const unsigned char *p) { long n = 0; while (p[n]) n++; return n; }";
    judge(source, (1, 2), &[Arg::Integer(place)], &memory, 1000);
}

#[test]
fn a_byte_in_a_string() {
    let (mut memory, place) = text(600);
    assert!(memory.bytes(place, 601).is_some());
    let source = "long f(const unsigned char *p, int c) {\
        long i = 0; while (p[i] && p[i] != c) i++; return i; }";
    let arguments = [Arg::Integer(place), Arg::Integer(b'Z'.into())];
    judge(source, (2, 3), &arguments, &memory, 600);
}

/// The bound is known in time: nothing is loaded that the loop does not load, where memory ends.
#[test]
fn a_number_in_front_of_a_bound() {
    let mut memory = Memory::new();
    let bytes: Vec<u8> = (0..500u32).flat_map(u32::to_le_bytes).collect();
    let place = memory.place(&bytes).expect("room");
    let source = "long f(const int *a, long n, int key) {\
        long i = 0; for (;;) { if (i >= n) break; if (a[i] == key) break; i++; } return i; }";
    let options = pipeline::Options {
        unroll: Some(1),
        ..pipeline::Options::default()
    };
    let (text, report) = emitted(source, options);
    assert_eq!(
        (report.ii, report.loads.speculative),
        (Some(2), 0),
        "{text}"
    );
    for (key, expected) in [(1000, 500), (321, 321)] {
        let arguments = [Arg::Integer(place), Arg::Integer(500), Arg::Integer(key)];
        let outcome = executed(&text, &arguments, &memory, None);
        assert_eq!(outcome.result, Some(expected), "{text}");
    }
}

#[test]
fn a_number_in_a_table() {
    let mut memory = Memory::new();
    let numbers: Vec<u8> = (0..200u32).flat_map(u32::to_le_bytes).collect();
    let numbers = memory.place(&numbers).expect("room");
    let places: Vec<u8> = (0..500u32).map(|at| (at % 200) as u8).collect();
    let places = memory.place(&places).expect("room");
    let source = "long f(const int *a, const unsigned char *b, long n, int key) {\
        long i = 0; for (;;) { if (i >= n) break; if (a[b[i]] == key) break; i++; } return i; }";
    for (key, expected) in [(1000, 500), (121, 121)] {
        let arguments = [
            Arg::Integer(numbers),
            Arg::Integer(places),
            Arg::Integer(500),
            Arg::Integer(key),
        ];
        judge(source, (2, 4), &arguments, &memory, expected);
    }
}

/// The paper's second kernel: both pointers step with their access, and the copy ends where memory does.
#[test]
fn a_copy_that_steps_both_pointers() {
    let mut memory = Memory::new();
    let count = 700;
    let to = memory.place(&vec![0; 4 * count + 4]).expect("room");
    let numbers = (0..count as u32).map(|at| at.wrapping_mul(0x9e37_79b9) | 1);
    let numbers: Vec<u32> = numbers.chain([0]).collect();
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let from = memory.place(&bytes).expect("room");
    let source = "unsigned long f(unsigned *restrict q, const unsigned *restrict p, unsigned k) {\
        unsigned *start = q; unsigned v; unsigned long s = 0;\
        do { v = *p++; *q++ = v + k; } while (v != 0);\
        while (start != q) { s = s * 3 + *start; start++; } return s; }";
    let sum = numbers.iter().fold(0u64, |sum, it| {
        sum.wrapping_mul(3).wrapping_add(it.wrapping_add(9).into())
    });
    let arguments = [Arg::Integer(to), Arg::Integer(from), Arg::Integer(9)];
    judge(source, (1, 2), &arguments, &memory, sum);
}

/// Each load is done again from where it was, however far its pointer has stepped since.
#[test]
fn two_strings_that_step() {
    let length = 900usize;
    let first: Vec<u8> = (0..length).map(|at| b'a' + (at % 20) as u8).collect();
    let mut second = first.clone();
    second[length - 1] = b'?';
    let mut memory = Memory::new();
    let second = memory.place(&second).expect("room");
    let first = memory.place(&first).expect("room");
    let source = "long f(const unsigned char *restrict p, const unsigned char *restrict q) {\
        long n = 0; while (*p && *p == *q) { p++; q++; n++; } return n; }";
    let arguments = [Arg::Integer(first), Arg::Integer(second)];
    judge(source, (2, 4), &arguments, &memory, length as u64 - 1);
}

#[test]
fn a_list() {
    let count = 300u64;
    let place = Memory::new().place(&[0; 16]).expect("room");
    let node = |at: u64| place + 16 * (at * 7 % count);
    let mut bytes = vec![0; 16 * count as usize];
    for at in 0..count {
        let next = if at + 1 == count { 0 } else { node(at + 1) };
        let from = (node(at) - place) as usize;
        bytes[from..from + 8].copy_from_slice(&next.to_le_bytes());
        bytes[from + 8..from + 16].copy_from_slice(&at.to_le_bytes());
    }
    let mut memory = Memory::new();
    assert_eq!(memory.place(&bytes), Some(place));
    let source = "struct node { struct node *next; long value; };\
        long f(const struct node *p, long key) { long s = 0;\
        while (p && p->value != key) { s++; p = p->next; } return s; }";
    for (key, expected) in [(1000, count), (200, 200)] {
        let arguments = [Arg::Integer(node(0)), Arg::Integer(key)];
        judge(source, (2, 4), &arguments, &memory, expected);
    }
}

/// A speculative load that steps its address, and whose value from before the loop is read behind it: rounds in front of
/// the first iteration neither load nor step.
#[test]
fn a_value_of_the_iteration_before_the_exit() {
    let source = "long f(long n, long m, long *restrict a, unsigned char *b, float k) {
    long v = 5, i = 0;
    do {
        if (((m >= b[i]) <= (k - m) ? m - 2.5 : a[i + 6] + a[b[i] & 63]) != a[i]) break;
        b[i] = (int)n;
        if (!a[4]) goto done;
        v = a[i + 7];
        i++;
    } while (i < 12);
done:
    return v;
}";
    let how = pipeline::Options {
        unroll: Some(1),
        always: true,
        ..pipeline::Options::default()
    };
    let (text, report) = emitted(source, how);
    assert!(report.loads.speculative > 0, "{text}");
    // The loop is left in its first iteration, in its fourth, and at its end.
    for (left, expected) in [(0usize, 5u64), (3, 77), (99, 0)] {
        let mut words: Vec<u64> = (0..24).map(|at| at % 6).collect();
        if let Some(word) = words.get_mut(left + 6) {
            *word = 77;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut memory = Memory::new();
        let a = memory.place(&bytes).expect("room");
        let b = memory.place(&[0; 64]).expect("room");
        let k = Arg::Single(-5.0);
        let arguments = [
            Arg::Integer(0),
            Arg::Integer(0),
            Arg::Integer(a),
            Arg::Integer(b),
            k,
        ];
        for deferred in [None, Some(1), Some(2)] {
            let outcome = executed(&text, &arguments, &memory, deferred);
            assert_eq!(outcome.result, Some(expected), "{left}\n{text}");
        }
    }
}

/// The store stands behind an exit whose compare reads a register that is written again in front of the store: the predicate
/// of the store is that of the value compared.
#[test]
fn a_value_that_is_replaced_behind_its_exit() {
    let source = "long f(long n, long m, long k, long j, long *a, long *p, short *b) {
    for (long i = 0; i < n; ++i) {
        if (b[m] == k) return 1;
        if (p[i] <= j || a[64 - i] < ~(long)b[m]) return 2;
        a[0] = m == n - i ? a[64 - i] : m;
    }
    return a[0];
}";
    let mut memory = Memory::new();
    let sevens: Vec<u8> = [7u64; 80].iter().flat_map(|it| it.to_le_bytes()).collect();
    let a = memory.place(&sevens).expect("room");
    let p = memory.place(&sevens).expect("room");
    let b = memory.place(&[0; 64]).expect("room") + 32;
    let (n, m) = (9u64, -3i64 as u64);
    let arguments = [n, m, 1, 0, a, p, b].map(Arg::Integer);
    for method in Method::EXITS {
        let how = pipeline::Options {
            method: Some(method),
            unroll: Some(1),
            always: true,
            ..pipeline::Options::default()
        };
        let (text, _) = emitted(source, how);
        let outcome = executed(&text, &arguments, &memory, None);
        assert_eq!(outcome.result, Some(m), "{method:?}\n{text}");
    }
}

/// Spilled registers whose marks one register could not tell apart: nothing is speculative then.
#[test]
fn marks_of_many_spilled_values() {
    let count = 190;
    let loads: String = (0..count)
        .map(|at| format!("long v{at} = p[{at}];"))
        .collect();
    let sum: String = (0..count).map(|at| format!("r = r * 3 + v{at};")).collect();
    let source = format!(
        "long f(const long *p, const unsigned char *s) {{ {loads} long n = 0; while (*s && *s != 9) {{ s++; n++; }} long r = n; {sum} return r; }}"
    );
    let items = parse_text(&source, Dialect::C);
    let module = lower_unit(&items, &LowerOptions::new(Language::C))[0]
        .1
        .module
        .clone();
    let table = machine::named("itanium2").expect("a table");
    let options = Options {
        pipeline: Some(pipeline::Options::default()),
        ..Options::default()
    };
    let emitted = emit(&module, table.epic().expect("groups"), &options).expect("code");
    let report = &emitted.functions[0];
    assert!(
        matches!(report.fallen_back, Some(Refusal::Marks { bytes, most: 512 }) if bytes > 512),
        "{:?}",
        report.fallen_back
    );
    assert!(!emitted.text.contains(".s r") && !report.loops[0].pipelined);
}
