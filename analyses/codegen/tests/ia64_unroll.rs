//! Loops whose bound is fractional: several iterations at once, for all trip counts from 0 up, by choice and by force.
#![allow(clippy::disallowed_methods)]

use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::pipeline::{self, LoopReport};
use simulate::ia64::{Arg, Limits, Memory, Program, run};
use syntax::c_family::{Dialect, parse_text};

const SUM: &str = "void f(double *restrict c, const double *restrict a, const double *restrict b, long n) {\
    for (long i = 0; i < n; i++) c[i] = a[i] + b[i]; }";
const DOWN: &str = "void f(double *restrict c, const double *restrict a, const double *restrict b, long n) {\
    do { n--; *c++ = *a++ - *b++; } while (n > 0); }";

fn emitted(source: &str, unroll: Option<u32>) -> (String, LoopReport) {
    let items = parse_text(source, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let (_, lowered) = all.into_iter().next().expect("f");
    let table = machine::named("itanium").expect("a table");
    let options = Options {
        pipeline: Some(pipeline::Options {
            unroll,
            ..pipeline::Options::default()
        }),
        ..Options::default()
    };
    let emitted = emit(&lowered.module, table.epic().expect("groups"), &options).expect("code");
    let report = emitted.functions[0].loops[0].clone();
    (emitted.text, report)
}

fn judge(text: &str, sign: f64, first: u64) {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{text}");
    for count in first..20 {
        let mut memory = Memory::new();
        let numbers = |by: f64| -> Vec<u8> {
            (0..count)
                .flat_map(|at| (at as f64 * by).to_le_bytes())
                .collect()
        };
        // What is behind the last element is no part of it.
        let c = memory.place(&[7; 8 * 20]).expect("room");
        let a = memory
            .place(&[numbers(1.5), vec![0]].concat())
            .expect("room");
        let b = memory
            .place(&[numbers(0.25), vec![0]].concat())
            .expect("room");
        let arguments = [c, a, b, count].map(Arg::Integer);
        let outcome = run(&program, "f", &arguments, &mut memory, &Limits::default());
        let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        assert_eq!((outcome.violations, outcome.changed), (vec![], vec![]));
        let left = memory.bytes(c, 8 * 20).expect("mapped");
        for at in 0..20 {
            let number = at as f64;
            let expected = match at < count {
                true => (number * 1.5 + sign * number * 0.25).to_le_bytes(),
                false => [7; 8],
            };
            let from = 8 * at as usize;
            assert_eq!(left[from..from + 8], expected, "{at} of {count}\n{text}");
        }
    }
}

#[test]
fn any_number_of_iterations_by_force() {
    for unroll in 1..=4 {
        for (source, sign, first) in [(SUM, 1.0, 0), (DOWN, -1.0, 1)] {
            let (text, report) = emitted(source, Some(unroll));
            assert!(report.pipelined, "{report:#?}");
            assert_eq!(report.unrolled, unroll, "{report:#?}");
            judge(&text, sign, first);
        }
    }
}
