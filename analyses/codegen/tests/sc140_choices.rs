//! Branches in loops that become choices, and operations under the flag: clamps, extremes, absolute values, places of the best,
//! conditions of several parts, stores on some of the ways. Random kernels compute in the simulator what they compute in the
//! reference interpreter. `LOCKSTEP_CHOICES` of them, from the seed `LOCKSTEP_FIRST` on.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use lockstep_codegen::machine;
use lockstep_codegen::machine::sets::Sets;
use lockstep_codegen::target::sc140::emit::{Emitted, Options, emit};
use oracle::random::Random;
use oracle::random::c::{Kernel, Scalar};
use sc140::module_by;
use std::fmt::Write;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Numbers at which orders change.
const EDGES: [i64; 9] = [0, 1, -1, 5, -7, 100, 32767, -32768, -32767];

fn number(random: &mut Random) -> i64 {
    let near = i64::from(random.below(3)) - 1;
    EDGES[random.below(EDGES.len() as u32) as usize] + near
}

/// An expression without an effect.
fn value(random: &mut Random) -> String {
    match random.below(8) {
        0 => "x[i]".to_owned(),
        1 => "y[i]".to_owned(),
        2 => "t".to_owned(),
        3 => "u".to_owned(),
        4 => format!("({})", number(random)),
        5 => "(x[i] - y[i])".to_owned(),
        6 => format!("x[(i + {}) & 7]", random.below(8)),
        _ => "-x[i]".to_owned(),
    }
}

fn relation(random: &mut Random) -> &'static str {
    ["<", "<=", ">", ">=", "==", "!="][random.below(6) as usize]
}

fn test(random: &mut Random, depth: u32) -> String {
    match random.below(if depth == 0 { 3 } else { 5 }) {
        3 => format!("({} && {})", test(random, 0), test(random, depth - 1)),
        4 => format!("({} || {})", test(random, depth - 1), test(random, 0)),
        _ => format!("{} {} {}", value(random), relation(random), value(random)),
    }
}

/// A choice between the operands of its own comparison, or what is near them.
fn choice(random: &mut Random) -> String {
    let (a, b, how) = (value(random), value(random), relation(random));
    let (least, most) = (number(random), number(random));
    let shift = i64::from(random.below(3)) - 1;
    match random.below(6) {
        0 => format!("({a} {how} {b}) ? {a} : {b}"),
        1 => format!("({a} {how} {b}) ? {b} : {a}"),
        2 => format!("({a} {how} 0) ? -{a} : {a}"),
        3 => format!("({a} {how} ({most})) ? ({}) : {a}", most + shift),
        4 => format!(
            "({a} > ({most})) ? ({}) : ({a} {how} ({least})) ? ({least}) : {a}",
            most + shift
        ),
        _ => format!(
            "({a} < ({least})) ? ({}) : ({a} {how} ({most})) ? ({most}) : {a}",
            least + shift
        ),
    }
}

fn statement(random: &mut Random, out: &mut String, depth: u32) {
    let (first, second) = (value(random), value(random));
    let _ = match random.below(if depth == 0 { 8 } else { 11 }) {
        0 => writeln!(out, "t = {};", choice(random)),
        1 => writeln!(out, "u = {};", choice(random)),
        2 => writeln!(out, "z[i] = {};", choice(random)),
        3 => {
            let test = test(random, 1);
            writeln!(out, "if ({test}) {{ best = {first}; at = i; }}")
        }
        4 => {
            let test = test(random, 1);
            writeln!(out, "if ({test}) z[i] = {first}; else z[i] = {second};")
        }
        5 => writeln!(out, "if ({}) z[i] = {first};", test(random, 1)),
        6 => writeln!(out, "if ({}) c += {first} & 255;", test(random, 2)),
        7 => writeln!(out, "c ^= {first};"),
        kind => {
            let _ = writeln!(out, "if ({}) {{", test(random, 1));
            statement(random, out, depth - 1);
            if kind > 8 {
                let _ = writeln!(out, "}} else if ({}) {{", test(random, 0));
                statement(random, out, depth - 1);
            }
            if kind > 9 {
                let _ = writeln!(out, "}} else {{");
                statement(random, out, depth - 1);
            }
            writeln!(out, "}}")
        }
    };
}

fn program(seed: u64) -> Kernel {
    let mut random = Random::new(seed);
    let ty = ["short", "int"][random.below(2) as usize];
    let restrict = ["", "restrict "][random.below(2) as usize];
    let mut body = String::new();
    for _ in 0..1 + random.below(4) {
        statement(&mut random, &mut body, 2);
    }
    let text = format!(
        "int f(const {ty} *{restrict}x, const {ty} *{restrict}y, {ty} *{restrict}z, int n) {{
    int i, t = 3, best = -5, at = 0, c = 0;
    short u = 4;
    for (i = 0; i < n; i++) {{
{body}    }}
    return t + 3 * u + 5 * best + 7 * at + 11 * c;
}}
"
    );
    let scalar = match ty {
        "short" => Scalar::Short,
        _ => Scalar::Int,
    };
    let mut numbers = || {
        let all = (0..8).map(|_| number(&mut random));
        all.collect::<Vec<i64>>()
    };
    let arrays = [
        ("x", scalar, numbers()),
        ("y", scalar, numbers()),
        ("z", scalar, numbers()),
    ];
    sc140::kernel_of(&text, "f", true, &arrays, (seed % 9) as i64)
}

fn emitted(kernel: &Kernel, sets: &Sets, pipeline: bool) -> (ir::Module, Emitted) {
    let module = module_by(&kernel.text, "f", true);
    let options = Options {
        pipeline,
        big_endian: false,
        ..Options::default()
    };
    let emitted = emit(&module, sets, &options);
    let emitted = emitted.unwrap_or_else(|reasons| panic!("{reasons:?}\n{}", kernel.text));
    (module, emitted)
}

#[test]
fn choices_compute_what_branches_do() {
    let (count, first) = (
        setting("LOCKSTEP_CHOICES", 400),
        setting("LOCKSTEP_FIRST", 0),
    );
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let (mut counted, mut overlapped, mut at_bound) = (0, 0, 0);
    let mut refused: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
    for seed in first..first + count {
        let kernel = program(seed);
        let (module, emitted) = emitted(&kernel, sets, seed % 3 > 0);
        let expected = sc140::interpreted(&kernel, &module);
        let told = || format!("seed {seed}\n{}\n{}", kernel.text, emitted.text);
        assert_eq!(sc140::broken(&emitted.text), [""; 0], "{}", told());
        if let Err(why) = sc140::agrees(&kernel, &expected, &emitted.text) {
            panic!("{why}\n{}", told());
        }
        let loops = &emitted.functions[0].loops;
        counted += loops.iter().filter(|it| it.counted).count() as u64;
        overlapped += loops.iter().filter(|it| it.is_pipelined()).count() as u64;
        at_bound += loops.iter().filter(|it| it.is_at_bound()).count() as u64;
        for reason in loops.iter().filter_map(|it| it.refused) {
            let words = reason.to_string();
            let words = words.replace(|letter: char| letter.is_ascii_digit(), "");
            *refused.entry(words).or_default() += 1;
        }
    }
    println!(
        "{count} kernels, {counted} loops counted by the hardware, {overlapped} overlapped, {at_bound} at their bound"
    );
    println!("{refused:?}");
    assert!(counted * 10 > count * 9 && overlapped * 10 > count);
}

/// Short intervals: what is chosen costs a comparison and a move, an extreme one operation.
#[test]
fn choices_cost_a_comparison_and_a_move() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let head = "int f(const short *restrict x, const int *restrict y, short *restrict z, int n) {
    int i, t = 0, at = 0;
    for (i = 0; i < n; i++) {";
    let cases = [
        ("z[i] = x[i] < 0 ? -x[i] : x[i];", 1),
        ("if (y[i] > t) { t = y[i]; at = i; }", 2),
        ("t = y[i] > t ? y[i] : t;", 1),
        ("if (y[i] > t) t = y[i]; if (y[i] < at) at = y[i];", 1),
        ("{ int a = x[i] < 0 ? -x[i] : x[i]; if (a > t) t = a; }", 2),
        ("if (x[i] < 0) t++;", 2),
        ("if (x[i] < 0) z[i] = 0; else z[i] = x[i];", 1),
        (
            "t += y[i] > 32767 ? 32767 : y[i] < -32768 ? -32768 : y[i];",
            3,
        ),
        (
            "{ int v = y[i]; if (v > 1000) v = 1000; if (v < -1000) v = -1000; z[i] = (short)v; }",
            2,
        ),
        ("z[i] = (short)(y[i] > 5 ? y[i] : 5);", 1),
    ];
    for (body, most) in cases {
        let text = format!("{head} {body} }}\n    return t + at;\n}}\n");
        let kernel = sc140::kernel_of(&text, "f", true, &[], 0);
        let (_, emitted) = emitted(&kernel, sets, true);
        sc140::takes_at_most(&emitted, most, body);
    }
}
