//! Loops by every way in which C counts: up and down, tested before or behind the iteration or the step, on numbers of each kind,
//! alone and on both sides of a branch. The code computes what the interpreter does, for no, one and many iterations.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use lockstep_codegen::machine;
use lockstep_codegen::target::sc140::emit::{Emitted, Options, Reason, emit};
use oracle::random::c::Scalar;
use sc140::{interpreted, kernel_of, module_of};

/// A loop around `BODY` that counts with `i`, which is `n` in front of it.
struct Head {
    text: &'static str,
    /// The fewest iterations for which it ends.
    least: i64,
    /// It needs a counter that may be less than 0.
    signed: bool,
    /// The hardware counts it, for counters of 32 bits.
    counted: bool,
}

const fn head(text: &'static str, least: i64, signed: bool, counted: bool) -> Head {
    Head {
        text,
        least,
        signed,
        counted,
    }
}

const HEADS: [Head; 17] = [
    head("for (i = 0; i < n; i++) { BODY }", 0, false, true),
    head("for (i = 0; n > i; i++) { BODY }", 0, false, true),
    head("for (i = 0; i != n; i++) { BODY }", 0, false, true),
    head("for (i = 3; i < n; i++) { BODY }", 0, false, false),
    head("for (i = 0; i <= n; i++) { BODY }", 0, false, false),
    head("for (i = 0; i < n; i += 2) { BODY }", 0, false, false),
    head("for (; i > 0; i--) { BODY }", 0, true, true),
    head("for (; i != 0; i--) { BODY }", 0, false, true),
    head("for (; i >= 1; i -= 2) { BODY }", 0, true, true),
    head("for (; 0 < i; --i) { BODY }", 0, true, true),
    head("while (i--) { BODY }", 0, false, true),
    head("while (i-- > 0) { BODY }", 0, true, true),
    head("while (--i >= 0) { BODY }", 0, true, true),
    head("do { BODY } while (--i != 0);", 1, true, true),
    head("do { BODY i--; } while (i > 0);", 0, true, true),
    head("do { BODY } while (i-- > 0);", 0, true, false),
    head("do { BODY } while (--i);", 1, false, false),
];

const BODIES: [&str; 4] = [
    "s += *p++;",
    "*q++ = (short)(*p++ + 1);",
    "s += i * *p++;",
    "s ^= (int)i; *q++ = (short)s; s += *p++;",
];

const KINDS: [(&str, bool); 4] = [
    ("int", true),
    ("short", true),
    ("unsigned", false),
    ("unsigned short", false),
];

/// `sides`: on both sides of a branch; `left`: what is left of the counter is read.
fn function(kind: &str, head: &str, body: &str, (sides, left): (bool, bool)) -> String {
    let around = head.replace("BODY", body);
    let code = match sides {
        false => around,
        true => {
            let other = around.replace("*p++", "*(p++ + 1)");
            format!("if (x[0] > 4) {{ {around} }} else {{ {other} }}")
        }
    };
    let result = match left {
        true => "s * 31 + (int)i",
        false => "s * 31",
    };
    format!(
        "int f(const short *restrict x, short *restrict z, int n) {{
    const short *p = x; short *q = z; int s = 7; {kind} i = ({kind})n;
    {code}
    return {result};
}}
"
    )
}

fn emitted(text: &str) -> Emitted {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let module = module_of(text, "f");
    emit(&module, sets, &Options::default()).unwrap_or_else(|reasons| panic!("{reasons:?}\n{text}"))
}

/// Checks that the code of a function does what the interpreter does.
fn judge(text: &str, made: &Emitted, arrays: &[(&str, Scalar, Vec<i64>)], n: i64) {
    let kernel = kernel_of(text, "f", true, arrays, n);
    let expected = interpreted(&kernel, &module_of(text, "f"));
    let outcome = sc140::agrees(&kernel, &expected, &made.text);
    let code = &made.text;
    assert!(
        outcome.is_ok(),
        "{:?}\nn = {n}\n{text}\n{code}",
        outcome.err()
    );
}

#[test]
fn every_way_of_counting_computes_the_same() {
    let mut executed = 0;
    for (kind, signed) in KINDS {
        for head in HEADS.iter().filter(|head| signed || !head.signed) {
            for body in BODIES {
                for (sides, left) in [(false, false), (false, true), (true, false), (true, true)] {
                    let text = function(kind, head.text, body, (sides, left));
                    let made = emitted(&text);
                    for n in [0, 1, 2, 3, 4, 7, 32] {
                        if n < head.least {
                            continue;
                        }
                        let array = |name, first| {
                            let numbers = (0..40).map(|at| (at * 7 + first) % 23 - 9);
                            (name, Scalar::Short, numbers.collect())
                        };
                        let arrays = [array("x", n + 9), array("z", 0)];
                        judge(&text, &made, &arrays, n);
                        executed += 1;
                    }
                }
            }
        }
    }
    assert!(executed > 5000, "{executed}");
}

#[test]
fn counters_wrap_on_their_way() {
    let heads = [
        "for (i = 0x7ffffff8u + n; i != 0x80000005u; i++) { BODY }",
        "for (i = 0x80000008u - n; i != 0x7ffffff3u; i--) { BODY }",
        "for (i = 0xfffffff8u + n; i != 4; i++) { BODY }",
        "i = 0u - n; while (i++ != 0) { BODY }",
    ];
    for text in heads {
        let text = function("unsigned", text, BODIES[0], (false, false));
        let made = emitted(&text);
        for n in [1, 2, 5] {
            let numbers = (0..40).map(|at| at * 3 - 7).collect();
            let arrays = [("x", Scalar::Short, numbers), ("z", Scalar::Short, vec![0])];
            judge(&text, &made, &arrays, n);
        }
    }
}

#[test]
fn the_hardware_counts_what_it_can() {
    for (kind, signed) in [("int", true), ("unsigned", false)] {
        for head in HEADS.iter().filter(|head| signed || !head.signed) {
            let text = function(kind, head.text, BODIES[0], (false, false));
            let made = emitted(&text);
            let [report] = &made.functions[0].loops[..] else {
                panic!("one loop: {text}");
            };
            assert!(report.counted || !head.counted, "{text}\n{}", made.text);
        }
    }
}

/// The hardware counts to 2^31 - 1.
#[test]
fn a_loop_that_may_execute_more_often_than_that_is_not_counted() {
    let function = |pragma: &str, head: &str, body: &str| {
        format!(
            "unsigned f(const short *restrict p, unsigned n) {{
    unsigned s = 7, i = n;
{pragma}
    {head} {{ {body} }}
    return s;
}}
"
        )
    };
    let (alone, loads) = ("s ^= (s << 1) + n;", "s += *p++;");
    let heads = [
        "for (i = 0; i < n; i++)",
        "for (; i != 0; i--)",
        "while (i--)",
    ];
    for head in heads {
        let counts = |pragma: &str, body: &str| {
            let text = function(pragma, head, body);
            let made = emitted(&text);
            let [report] = &made.functions[0].loops[..] else {
                panic!("one loop: {text}");
            };
            let maybe_too_long = report.reasons.contains(&Reason::MaybeTooLong);
            (report.counted, maybe_too_long)
        };
        let few = "#pragma lockstep rounds(0, 1000)";
        assert_eq!(counts("", alone), (false, true), "{head}");
        assert_eq!(counts(few, alone), (true, false), "{head}");
        // No array has so many elements.
        assert_eq!(counts("", loads), (true, false), "{head}");
        let (counted, _) = counts("", "if (s & 1) s += *p++; else s ^= n;");
        assert!(!counted, "{head}");
    }
    // So many are known, whatever is inside.
    let text = "unsigned f(unsigned x) {
    unsigned s = 7;
    for (unsigned i = 0; i < 100; i++) { if (s & 1) s ^= x; else s += i; }
    return s;
}
";
    assert!(emitted(text).functions[0].loops[0].counted);
}
