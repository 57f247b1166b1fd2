//! Loops with the structure of those that codecs spend their time in: what they compute, and how close their intervals are to the
//! bounds of units and recurrences.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use lockstep_codegen::machine;
use lockstep_codegen::target::sc140::emit::{Options, emit};
use oracle::random::c::{Kernel, Scalar};
use sc140::{interpreted, kernel_of, module_of};

const HEAD: &str = "typedef short Word16;
typedef int Word32;
Word32 L_mac(Word32, Word16, Word16);
Word32 L_msu(Word32, Word16, Word16);
Word32 L_mult(Word16, Word16);
Word32 L_add(Word32, Word32);
Word32 L_sub(Word32, Word32);
Word32 L_shl(Word32, Word16);
Word32 L_shr(Word32, Word16);
Word32 L_abs(Word32);
Word32 L_deposit_h(Word16);
Word16 extract_h(Word32);
Word16 round(Word32);
Word16 add(Word16, Word16);
Word16 sub(Word16, Word16);
Word16 mult(Word16, Word16);
Word16 mult_r(Word16, Word16);
Word16 shr(Word16, Word16);
Word16 negate(Word16);
Word16 abs_s(Word16);
";

/// Name, the statements in front of the loop, its body, and the result.
const LOOPS: [(&str, &str, &str, &str); 34] = [
    (
        "correlation",
        "Word32 s = 0;",
        "s = L_mac(s, x[i], y[i]);",
        "s",
    ),
    ("energy", "Word32 s = 0;", "s = L_mac(s, x[i], x[i]);", "s"),
    (
        "autocorrelation of two lags",
        "Word32 s = 0, t = 0;",
        "s = L_mac(s, x[i], x[i + 1]); t = L_mac(t, x[i], x[i + 2]);",
        "L_add(s, t)",
    ),
    (
        "autocorrelation of four lags",
        "Word32 a = 0, b = 0, c = 0, d = 0;",
        "a = L_mac(a, x[i], x[i + 1]); b = L_mac(b, x[i], x[i + 2]); c = L_mac(c, x[i], x[i + 3]); d = L_mac(d, x[i], x[i + 4]);",
        "L_add(L_add(a, b), L_add(c, d))",
    ),
    (
        "correlation by a reversed array",
        "Word32 s = 0;",
        "s = L_mac(s, x[i], y[40 - i]);",
        "s",
    ),
    (
        "difference of products",
        "Word32 s = 0;",
        "s = L_msu(s, x[i], y[i]);",
        "s",
    ),
    (
        "complex product, real part",
        "Word32 s = 0;",
        "s = L_mac(s, x[2 * i], y[2 * i]); s = L_msu(s, x[2 * i + 1], y[2 * i + 1]);",
        "s",
    ),
    (
        "complex product",
        "Word32 s = 0, t = 0;",
        "s = L_mac(s, x[2 * i], y[2 * i]); s = L_msu(s, x[2 * i + 1], y[2 * i + 1]); t = L_mac(t, x[2 * i], y[2 * i + 1]); t = L_mac(t, x[2 * i + 1], y[2 * i]);",
        "L_add(s, t)",
    ),
    (
        "wrapping dot product",
        "unsigned s = 0;",
        "s += (unsigned)(x[i] * y[i]);",
        "(int)s",
    ),
    ("scaling", "", "z[i] = round(L_mult(x[i], 12000));", "0"),
    ("scaling by a shift", "", "z[i] = shr(x[i], 2);", "0"),
    ("windowing", "", "z[i] = mult_r(x[i], y[i]);", "0"),
    (
        "saturated sum of arrays",
        "",
        "z[i] = add(x[i], y[i]);",
        "0",
    ),
    (
        "saturated difference of arrays",
        "",
        "z[i] = sub(x[i], y[i]);",
        "0",
    ),
    (
        "mixing of two signals",
        "",
        "z[i] = round(L_mac(L_mult(x[i], 21000), y[i], 11000));",
        "0",
    ),
    (
        "update of the excitation",
        "Word16 g = y[70];",
        "z[i] = round(L_shl(L_mac(L_mult(x[i], g), y[i], 8192), 1));",
        "0",
    ),
    (
        "preemphasis",
        "",
        "z[i] = sub(x[i + 1], mult(x[i], 22282));",
        "0",
    ),
    (
        "difference of neighbours",
        "",
        "z[i] = sub(x[i + 1], x[i]);",
        "0",
    ),
    ("copy", "", "z[i] = x[i];", "0"),
    ("copy of long numbers", "", "w[i] = w[i + 70];", "0"),
    ("clearing", "", "z[i] = 0;", "0"),
    (
        "long numbers from short ones",
        "",
        "w[i] = L_deposit_h(x[i]);",
        "0",
    ),
    (
        "short numbers from long ones",
        "",
        "z[i] = round(w[i]);",
        "0",
    ),
    (
        "greatest magnitude",
        "Word32 m = 0;",
        "m = L_abs(L_deposit_h(x[i])) > m ? L_abs(L_deposit_h(x[i])) : m;",
        "m",
    ),
    (
        "sum of magnitudes",
        "Word32 s = 0;",
        "s = L_add(s, L_deposit_h(abs_s(x[i])));",
        "s",
    ),
    (
        "convolution of two outputs",
        "Word32 s = 0, t = 0;",
        "s = L_mac(s, x[i], y[40 - i]); t = L_mac(t, x[i], y[41 - i]);",
        "L_add(s, t)",
    ),
    (
        "filter of three taps",
        "",
        "z[i] = round(L_mac(L_mac(L_mult(x[i], 9000), x[i + 1], 14000), x[i + 2], 9000));",
        "0",
    ),
    (
        "filter of five taps",
        "",
        "z[i] = round(L_mac(L_mac(L_mac(L_mac(L_mult(x[i], 900), x[i + 1], -1400), x[i + 2], 19000), x[i + 3], -1400), x[i + 4], 900));",
        "0",
    ),
    (
        "step of Levinson's recursion",
        "Word16 k = y[70];",
        "z[i] = round(L_mac(L_deposit_h(x[i]), y[40 - i], k));",
        "0",
    ),
    (
        "distance of vectors",
        "Word32 s = 0;",
        "Word16 d = sub(x[i], y[i]); s = L_mac(s, d, d);",
        "s",
    ),
    (
        "weighted distance of vectors",
        "Word32 s = 0;",
        "Word16 d = sub(x[i], y[i]); s = L_mac(s, mult(d, x[i + 1]), d);",
        "s",
    ),
    (
        "recursive filter of the first order",
        "Word32 s = 0;",
        "s = L_mac(L_deposit_h(x[i]), round(s), 29491); z[i] = round(s);",
        "s",
    ),
    (
        "lattice",
        "Word16 f = 100;",
        "Word16 e = f; f = add(x[i], mult(y[i], e)); z[i] = add(e, mult(y[i], x[i]));",
        "f",
    ),
    (
        "butterfly",
        "",
        "Word16 a = x[i], b = mult_r(x[i + 32], y[i]); z[i] = add(shr(a, 1), shr(b, 1)); z[i + 40] = sub(shr(a, 1), shr(b, 1));",
        "0",
    ),
];

fn numbers(count: usize, by: i64) -> Vec<i64> {
    let number = |at: i64| (at * by * 7919 + by * 131) % 60_001 - 30_000;
    (0..count as i64).map(number).collect()
}

fn kernel(text: &str, count: i64) -> Kernel {
    let arrays = [
        ("x", Scalar::Short, 3),
        ("y", Scalar::Short, 5),
        ("z", Scalar::Short, 7),
        ("w", Scalar::Int, 11),
    ];
    let arrays = arrays.map(|(name, element, by)| (name, element, numbers(144, by)));
    kernel_of(text, "f", true, &arrays, count)
}

#[test]
fn intervals_are_at_their_bounds() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let options = Options {
        big_endian: false,
        ..Options::default()
    };
    let mut at_bound = 0;
    for (name, before, body, result) in LOOPS {
        let text = format!(
            "{HEAD}Word32 f(const Word16 *restrict x, const Word16 *restrict y, Word16 *restrict z, Word32 *restrict w, int n) {{\n    {before}\n    for (int i = 0; i < n; i++) {{ {body} }}\n    return {result};\n}}\n"
        );
        let module = module_of(&text, "f");
        let emitted = emit(&module, sets, &options);
        let emitted = emitted.unwrap_or_else(|reasons| panic!("{reasons:?}\n{text}"));
        assert_eq!(sc140::broken(&emitted.text), [""; 0], "{}", emitted.text);
        for count in [1, 2, 3, 8, 40] {
            let kernel = kernel(&text, count);
            let expected = interpreted(&kernel, &module);
            let outcome = sc140::agrees(&kernel, &expected, &emitted.text);
            outcome.unwrap_or_else(|why| panic!("{why}\n{text}\n{}", emitted.text));
        }
        let [report] = &emitted.functions[0].loops[..] else {
            panic!("one loop\n{}", emitted.text);
        };
        let bound = report.bounds.as_ref().map(|bounds| bounds.min_ii());
        let reached = bound == Some(report.interval);
        at_bound += usize::from(reached);
        println!(
            "{name}: interval {}, bound {}, {} stages, kernel of {}{}",
            report.interval,
            bound.map_or("none".to_owned(), |bound| bound.to_string()),
            report.stages,
            report.copies,
            if reached { "" } else { "  <- above its bound" }
        );
        if let Some(reason) = report.refused.filter(|_| !reached) {
            println!("    {reason}");
        }
    }
    println!("{at_bound} of {} loops at their bounds", LOOPS.len());
    assert!(at_bound * 10 >= LOOPS.len() * 9, "{at_bound}");
}
