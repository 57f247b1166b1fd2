//! The compilation of functions much larger than people write ends: with and without pipelining their code
//! computes the same, and a loop that exceeds the limits stays as it is, with the reason.
#![allow(clippy::disallowed_methods)]

use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Language, Module};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::pipeline::{self, LoopReport, Reason};
use simulate::ia64::{Arg, Limits, Memory, Program, run};
use std::fmt::Write;
use syntax::c_family::{Dialect, parse_text};

/// The size of the arrays, which hold small numbers, none the same as the next.
const ELEMENTS: usize = 4096;

fn number(at: usize) -> i32 {
    (at * 7 % 23) as i32 + 400
}

fn module(source: &str) -> Module {
    let items = parse_text(source, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let (_, lowered) = all.into_iter().next().expect("f");
    lowered.module
}

/// The code of `int f(int *a, int n)`, as it is and with pipelined loops, leaves this result and this array;
/// returns the reports on the loops.
fn judge(source: &str, n: usize, expected: i32, after: &[i32]) -> Vec<LoopReport> {
    let module = module(source);
    let table = machine::named("itanium2").expect("a table");
    let machine = table.epic().expect("explicit groups");
    let mut loops = Vec::new();
    for pipeline in [None, Some(pipeline::Options::default())] {
        let options = Options {
            pipeline,
            ..Options::default()
        };
        let mut emitted = emit(&module, machine, &options).expect("code");
        let document = syntax::ia64::parse(&emitted.text);
        let (program, problems) = Program::new(&document, &emitted.text);
        assert_eq!(problems, []);
        let mut memory = Memory::new();
        let bytes: Vec<u8> = (0..ELEMENTS)
            .flat_map(|at| number(at).to_le_bytes())
            .collect();
        let a = memory.place(&bytes).expect("room");
        let arguments = [a, n as u64].map(Arg::Integer);
        let outcome = run(&program, "f", &arguments, &mut memory, &Limits::default());
        let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!((outcome.violations, outcome.changed), (vec![], vec![]));
        let result = outcome.result.expect("a result") as i32;
        assert_eq!(
            result,
            expected,
            "pipelined: {}",
            options.pipeline.is_some()
        );
        let left = memory.bytes(a, 4 * ELEMENTS).expect("its memory");
        let left: Vec<i32> = left
            .chunks(4)
            .map(|chunk| i32::from_le_bytes(chunk.try_into().expect("four bytes")))
            .collect();
        assert!(left == after, "pipelined: {}", options.pipeline.is_some());
        loops = emitted.functions.swap_remove(0).loops;
    }
    loops
}

fn given() -> Vec<i32> {
    (0..ELEMENTS).map(number).collect()
}

/// The only loop is left as it is, and the report names the excess.
#[track_caller]
fn too_large(loops: &[LoopReport], of: &str) {
    let [only] = loops else {
        panic!("{loops:?}");
    };
    let large = |reason: &Reason| matches!(reason, Reason::Large { what, .. } if *what == of);
    assert!(!only.pipelined);
    assert!(only.reasons.iter().any(large), "{:?}", only.reasons);
}

#[test]
fn a_loop_of_3000_statements() {
    let mut source = "int f(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) {\n".to_owned();
    for k in 0..3000 {
        let _ = writeln!(source, "s += a[i + {k}] * {};", k % 90 + 3);
    }
    source.push_str("}\nreturn s; }\n");
    let of = |i: usize| (0..3000).map(move |k| number(i + k).wrapping_mul(k as i32 % 90 + 3));
    for n in [0, 1, 3] {
        let expected = (0..n).flat_map(of).fold(0i32, i32::wrapping_add);
        too_large(&judge(&source, n, expected, &given()), "operations");
    }
}

#[test]
fn a_loop_with_300_exits() {
    let mut source = "int f(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) {\n".to_owned();
    for k in 0..300 {
        let _ = writeln!(source, "if (a[i] == {k} + i) break;");
    }
    source.push_str("s += a[i];\n}\nreturn s; }\n");
    for n in [0, 1, 2, 40, 300] {
        let rounds = (0..n).take_while(|&i| !(i as i32..i as i32 + 300).contains(&number(i)));
        let expected = rounds.map(number).fold(0, i32::wrapping_add);
        too_large(&judge(&source, n, expected, &given()), "exits");
    }
}

#[test]
fn a_function_of_2000_blocks() {
    let choice = |s: i32, it: i32, k: i32| match it & 1 << (k % 9) {
        0 => s ^ k,
        _ => s.wrapping_add(k),
    };
    let mut body = String::new();
    for k in 0..1000 {
        let bit = 1 << (k % 9);
        let at = k % 64;
        let _ = writeln!(body, "if (a[i + {at}] & {bit}) s += {k}; else s ^= {k};");
    }
    let of = |s: i32, i: usize| (0..1000).fold(s, |s, k| choice(s, number(i + k % 64), k as i32));
    let straight = format!("int f(int *a, int n) {{ int s = 0, i = n;\n{body}return s; }}\n");
    assert_eq!(judge(&straight, 5, of(0, 5), &given()), []);
    let around = format!(
        "int f(int *a, int n) {{ int s = 0; for (int i = 0; i < n; i++) {{\n{body}}}\nreturn s; }}\n"
    );
    for n in [0, 1, 4] {
        let loops = judge(&around, n, (0..n).fold(0, of), &given());
        assert!(loops.iter().all(|it| !it.pipelined), "{loops:?}");
    }
}

#[test]
fn a_loop_of_120_stores_that_may_meet() {
    let mut source = "int f(int *a, int n) { for (int i = 0; i < n; i++) {\n".to_owned();
    for k in 0..120 {
        let _ = writeln!(source, "a[a[i + {k}] + {}] += {k};", 100 + k * 7);
    }
    source.push_str("}\nreturn 0; }\n");
    for n in [0, 1, 3] {
        let mut after = given();
        for i in 0..n {
            for k in 0..120 {
                let at = after[i + k] as usize + 100 + k * 7;
                after[at] = after[at].wrapping_add(k as i32);
            }
        }
        let loops = judge(&source, n, 0, &after);
        too_large(&loops, "pairs of accesses that may meet");
    }
}
