//! Addresses in memory: members of structures, tables, lists, pointers to pointers, initial values. Random programs compute on
//! the SC140 and on IA-64, with addresses of 32 bits and on IA-64 with 64, what they compute in the reference interpreter.
//! `LOCKSTEP_ADDRESSES` of them, from the seed `LOCKSTEP_FIRST` on.
#![allow(clippy::disallowed_methods)]

#[path = "support/judge.rs"]
mod judge;
#[path = "support/sc140.rs"]
mod sc140;

use lockstep_codegen::target::sc140::emit::{Options, emit};
use lockstep_codegen::{machine, target};
use oracle::random::Random;
use oracle::random::c::{Kernel, Scalar};
use sc140::module_by;
use std::fmt::Write;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Statements on `struct node t[4]`, pointers `p`, `q` to some of them, a table `w` of addresses, and the arrays `x` and `y`.
fn statement(random: &mut Random, out: &mut String, depth: u32) {
    let node = |random: &mut Random| match random.below(4) {
        0 => "p".to_owned(),
        1 => "q".to_owned(),
        2 => format!("(&t[{}])", random.below(4)),
        _ => "s.at".to_owned(),
    };
    let place = |random: &mut Random| match random.below(4) {
        0 => format!("x + {}", random.below(8)),
        1 => format!("y + {}", random.below(8)),
        2 => format!("&t[{}].own", random.below(4)),
        _ => format!("w[{}]", random.below(3)),
    };
    let (a, b) = (node(random), node(random));
    let from = place(random);
    let (k, number) = (random.below(3), random.below(100));
    let _ = match random.below(if depth == 0 { 15 } else { 17 }) {
        0 => writeln!(out, "p = {a}->next;"),
        1 => writeln!(out, "{a}->next = {b};"),
        2 => writeln!(out, "{a}->to = {from};"),
        3 => writeln!(out, "*{a}->to = *{b}->to + {number};"),
        4 => writeln!(out, "w[{k}] = {from};"),
        5 => writeln!(out, "r ^= *w[{k}] * 3;"),
        6 => writeln!(out, "q = {a}; s.at = {b};"),
        7 => writeln!(out, "{a}->own += {a}->tag + {number};"),
        8 => writeln!(out, "c = *{a}; c.own ^= r; t[{k}] = c;"),
        9 => writeln!(out, "u.to = {from}; r += *u.to;"),
        10 => writeln!(out, "z = &w[{k}]; *z = {from}; r += **z;"),
        13 => writeln!(
            out,
            "u.to = {from}; r += (u.bits & 3) == 0; w[{k}] = (int *)(unsigned long)u.to;"
        ),
        14 => writeln!(
            out,
            "r += ((unsigned long)({from}) & 3) + (w[{k}] ? 2 : 0);"
        ),
        11 => writeln!(
            out,
            "if (w[{k}] == {from} || {a} == {b}->next) r += {number};"
        ),
        12 => writeln!(out, "r = r * 5 + *table[r & 1] + {a}->tag;"),
        _ => {
            let _ = writeln!(out, "for (i = 0; i < n; i++) {{");
            for _ in 0..1 + random.below(3) {
                statement(random, out, depth - 1);
            }
            writeln!(out, "r += y[i & 7]; }}")
        }
    };
}

fn program(seed: u64) -> Kernel {
    let mut random = Random::new(seed);
    let members = ["char tag;", "int own;", "struct node *next;", "int *to;"];
    let mut order = [0, 1, 2, 3];
    for at in (1..4).rev() {
        order.swap(at, random.below(at as u32 + 1) as usize);
    }
    let members: Vec<&str> = order.iter().map(|&at| members[at]).collect();
    let mut body = String::new();
    for _ in 0..4 + random.below(12) {
        statement(&mut random, &mut body, 1);
    }
    let text = format!(
        "struct node {{ {} }};
struct seat {{ short before; struct node *at; char behind; }};
union either {{ int *to; unsigned bits; short low; }};
static int first[2] = {{ 4, 5 }};
static int *const table[2] = {{ first + 1, first }};
int f(int *x, int *y, int n) {{
    struct node t[4], c, *p, *q;
    struct seat s;
    union either u;
    int *w[3], **z;
    int i, r = n;
    for (i = 0; i < 4; i++) {{
        t[i].tag = i; t[i].own = i * 7; t[i].next = &t[(i + 1) & 3]; t[i].to = x + i;
    }}
    p = t; q = t + 2; s.before = 3; s.behind = 1; s.at = &t[3];
    w[0] = x; w[1] = y + 1; w[2] = &t[1].own;
{body}    for (i = 0; i < 4; i++) r = r * 31 + t[i].own + *t[i].to + t[i].next->tag;
    return r + s.before + s.behind + (int)sizeof(struct node) + (int)sizeof(struct seat);
}}
",
        members.join(" ")
    );
    let mut numbers = || {
        let all = (0..8).map(|_| i64::from(random.draw() as i32 >> 20));
        all.collect::<Vec<i64>>()
    };
    let arrays = [("x", Scalar::Int, numbers()), ("y", Scalar::Int, numbers())];
    sc140::kernel_of(&text, "f", true, &arrays, i64::from(seed as u32 % 5))
}

#[test]
fn addresses_in_memory_are_those_of_the_data_model() {
    let (count, first) = (
        setting("LOCKSTEP_ADDRESSES", 150),
        setting("LOCKSTEP_FIRST", 0),
    );
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let itanium = machine::named("itanium2").expect("a table");
    let itanium = itanium.epic().expect("explicit groups");
    let mut differ = 0;
    for seed in first..first + count {
        let kernel = program(seed);
        let mut results = Vec::new();
        for narrow in [true, false] {
            let module = module_by(&kernel.text, "f", narrow);
            let expected = sc140::interpreted(&kernel, &module);
            results.push(expected.returned[0][0]);
            if narrow {
                let options = Options {
                    pipeline: seed % 3 > 0,
                    big_endian: false,
                    ..Options::default()
                };
                let emitted = emit(&module, sets, &options);
                let emitted =
                    emitted.unwrap_or_else(|reasons| panic!("{reasons:?}\n{}", kernel.text));
                let told = || format!("seed {seed}\n{}\n{}", kernel.text, emitted.text);
                assert_eq!(sc140::broken(&emitted.text), [""; 0], "{}", told());
                if let Err(why) = sc140::agrees(&kernel, &expected, &emitted.text) {
                    panic!("{why}\n{}", told());
                }
            }
            let options = target::ia64::emit::Options {
                pipeline: (seed % 3 > 0).then(target::ia64::pipeline::Options::default),
                ..target::ia64::emit::Options::default()
            };
            let emitted = target::ia64::emit::emit(&module, itanium, &options);
            let text = emitted.unwrap_or_else(|reasons| panic!("{reasons:?}\n{}", kernel.text));
            let text = text.text;
            let limits = simulate::ia64::Limits::default();
            if let Err(why) = judge::agrees(&kernel, "f", &expected, &text, &limits) {
                panic!(
                    "seed {seed}, narrow {narrow}: {why}\n{}\n{text}",
                    kernel.text
                );
            }
        }
        differ += u64::from(results[0] != results[1]);
    }
    // The sizes of the structures are part of the result.
    assert_eq!(differ, count);
}

/// Structures by value, whose words hold an address beside something else, and addresses made of negative numbers.
#[test]
fn addresses_share_words_of_structures() {
    let itanium = machine::named("itanium2").expect("a table");
    let itanium = itanium.epic().expect("explicit groups");
    let texts = [
        (
            "struct m { int *p; int s; };
static __attribute__((noinline)) int g(struct m a) { return *a.p + a.s; }
int f(int *x, int n) { struct m a = { x + 1, n + 9 }; return g(a); }",
            16,
        ),
        (
            "struct m { int s; int *p; };
static __attribute__((noinline)) struct m g(int *x, int n) { struct m a = { n - 1, x + 2 }; return a; }
int f(int *x, int n) { struct m a = g(x, n); return *a.p * 10 + a.s; }",
            61,
        ),
        (
            "struct m { int *p; int s; };
static __attribute__((noinline)) int g(struct m a) { return a.s * 10 + (a.p == 0); }
int f(int *x, int n) { struct m a = { (int *)(long)-n, 9 }; return g(a) + (x == 0); }",
            90,
        ),
        (
            "static void *volatile v;
int f(int *x, int n) { v = (void *)(long)-n; return (v == (void *)(long)-n) * 2 + (v == x); }",
            2,
        ),
    ];
    for (text, wanted) in texts {
        let module = module_by(text, "f", true);
        let numbers = (4..8).collect();
        let kernel = sc140::kernel_of(text, "f", true, &[("x", Scalar::Int, numbers)], 2);
        let expected = sc140::interpreted(&kernel, &module);
        assert_eq!(expected.returned[0][0] as i32, wanted, "{text}");
        let options = target::ia64::emit::Options::default();
        let emitted = target::ia64::emit::emit(&module, itanium, &options);
        let code = emitted
            .unwrap_or_else(|reasons| panic!("{reasons:?}\n{text}"))
            .text;
        let limits = simulate::ia64::Limits::default();
        if let Err(why) = judge::agrees(&kernel, "f", &expected, &code, &limits) {
            panic!("{why}\n{text}\n{code}");
        }
    }
}
