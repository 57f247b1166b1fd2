//! Sums of 40 and 64 bits: `Word40` with its basic operations, and `long long` of which few bits are read. Random kernels compute
//! in the simulator what they compute in the reference interpreter. `LOCKSTEP_ACCUMULATORS` of them, from the seed
//! `LOCKSTEP_FIRST` on.
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

const HEAD: &str = "typedef short Word16;
typedef int Word32;
typedef long long Word40;
Word40 X_add(Word40, Word40);
Word40 X_sub(Word40, Word40);
Word40 X_mult(Word16, Word16);
Word40 X_mac(Word40, Word16, Word16);
Word40 X_msu(Word40, Word16, Word16);
Word40 X_shl(Word40, Word16);
Word40 X_shr(Word40, Word16);
Word40 X_abs(Word40);
Word40 X_negate(Word40);
Word40 X_extend(Word32);
Word16 X_norm(Word40);
Word32 X_trunc(Word40);
Word32 X_sat(Word40);
Word32 L_mult(Word16, Word16);
";

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn pick<'t>(random: &mut Random, all: &[&'t str]) -> &'t str {
    all[random.below(all.len() as u32) as usize]
}

/// A number of 64 bits, of which 40 suffice more often than not.
fn wide(random: &mut Random, depth: u32) -> String {
    if depth == 0 {
        let all = [
            "a",
            "b",
            "w",
            "w",
            "x[i]",
            "y[i]",
            "l[i & 7]",
            "12345678901LL",
        ];
        return pick(random, &all).to_owned();
    }
    let (p, q) = (wide(random, depth - 1), wide(random, depth - 1));
    let places = random.below(41);
    match random.below(18) {
        16 => format!("({p} * {q})"),
        17 => format!(
            "({p} * {})",
            pick(random, &["5", "x[i]", "-3LL", "(y[i] < 0)"])
        ),
        0 => format!("({p} + {q})"),
        1 => format!("({p} - {q})"),
        2 => "(long long)x[i] * x[(i + 1) & 7]".to_owned(),
        3 => "(long long)(x[i] * y[i])".to_owned(),
        4 => format!("({p} >> {places})"),
        5 => format!("({p} << {})", places % 24),
        6 => format!(
            "({p} & {})",
            pick(random, &["0xffffLL", "0xffffffffffLL", "-256LL"])
        ),
        7 => format!(
            "({p} {} {q} ? {q} : {p})",
            pick(random, &["<", ">", "<=", "=="])
        ),
        8 => format!("({p} < 0 ? -{p} : {p})"),
        9 => format!("(({p} << 24) >> 24)"),
        10 => format!("({p} ^ ~{q})"),
        11 => format!("(unsigned)({p})"),
        12 => format!("({p} >> (x[i] & 63))"),
        13 => format!("({p} << (y[i] & 63))"),
        14 => format!("(short)({p} >> {})", places % 30),
        _ => "(x[i] < 3 ? a : w)".to_owned(),
    }
}

/// A number of 40 bits.
fn word(random: &mut Random, depth: u32) -> String {
    if depth == 0 {
        return pick(random, &["w", "w", "X_extend(t)", "X_mult(x[i], y[i])"]).to_owned();
    }
    let p = word(random, depth - 1);
    match random.below(10) {
        0 | 1 => format!("X_mac({p}, x[i], y[i])"),
        2 => format!(
            "X_msu({p}, y[i], {})",
            pick(random, &["x[i]", "-32768", "77"])
        ),
        3 => format!("X_add({p}, {})", word(random, depth - 1)),
        4 => format!("X_sub({p}, {})", word(random, depth - 1)),
        5 => format!(
            "X_shl({p}, {})",
            pick(random, &["3", "-5", "x[i]", "X_norm(w)"])
        ),
        6 => format!("X_shr({p}, {})", pick(random, &["1", "16", "-2", "y[i]"])),
        7 => format!("X_abs({p})"),
        8 => format!("X_negate({p})"),
        _ => format!(
            "X_extend(L_mult(x[i], {}))",
            pick(random, &["y[i]", "x[i]", "-32768"])
        ),
    }
}

fn statement(random: &mut Random, out: &mut String) {
    let depth = 1 + random.below(2);
    let _ = match random.below(13) {
        0 | 1 => writeln!(out, "a += {};", wide(random, depth)),
        2 => writeln!(out, "b = {};", wide(random, depth)),
        3 | 4 => writeln!(out, "w = {};", word(random, depth)),
        5 => writeln!(out, "t ^= (int)({});", wide(random, depth)),
        6 => writeln!(out, "t += X_sat({}) & 255;", word(random, depth)),
        7 => writeln!(
            out,
            "if ({} > {}) {{ a -= 3; t++; }}",
            wide(random, 1),
            wide(random, 0)
        ),
        8 => writeln!(out, "l[i & 7] = {};", wide(random, depth)),
        9 => writeln!(out, "y[i] = X_norm({});", word(random, depth)),
        11 => writeln!(
            out,
            "t += (unsigned)(x[i] * y[i]) << {};",
            1 + random.below(4)
        ),
        10 => writeln!(out, "for (j = 0; j < 3; j++) w = X_mac(w, x[i], y[j]);"),
        _ => writeln!(
            out,
            "b += (long long)(x[i] * y[i]) << {};",
            1 + random.below(3)
        ),
    };
}

fn program(seed: u64) -> Kernel {
    let mut random = Random::new(seed);
    let restrict = pick(&mut random, &["", "restrict "]);
    let mut body = String::new();
    for _ in 0..1 + random.below(3) {
        body.push_str("        ");
        statement(&mut random, &mut body);
    }
    let starts = ["0", "-1", "5000000000LL", "l[3]", "(long long)n"];
    let (a, b) = (pick(&mut random, &starts), pick(&mut random, &starts));
    let leave = pick(
        &mut random,
        &["", "", "        if (a > 1099511627776LL) break;\n"],
    );
    let places = random.below(34);
    let text = format!(
        "{HEAD}int f(short *{restrict}x, short *{restrict}y, long long *{restrict}l, int n) {{
    int i, j;
    unsigned t = 3;
    long long a = {a}, b = {b};
    Word40 w = X_extend(n << 20);
    for (i = 0; i < n; i++) {{
{body}{leave}    }}
    l[1] = a; l[2] = w;
    return t + (unsigned)(a >> {places}) + (unsigned)b + 3u * X_trunc(w) + (unsigned)X_sat(w);
}}
"
    );
    let mut numbers = |all: &[i64]| -> Vec<i64> {
        (0..8)
            .map(|_| all[random.below(all.len() as u32) as usize] - i64::from(random.below(2)))
            .collect()
    };
    let short = [0, 1, 7, 100, 20000, 32766, -32767, -20000, -3];
    let long = [
        0,
        1 << 31,
        -1 << 31,
        1 << 38,
        -1 << 39,
        1 << 39,
        i64::MAX,
        i64::MIN + 1,
        5,
    ];
    let arrays = [
        ("x", Scalar::Short, numbers(&short)),
        ("y", Scalar::Short, numbers(&short)),
        ("l", Scalar::Long, numbers(&long)),
    ];
    sc140::kernel_of(&text, "f", true, &arrays, (seed % 9) as i64)
}

fn emitted(text: &str, sets: &Sets, pipeline: bool) -> (ir::Module, Emitted) {
    let module = module_by(text, "f", true);
    let options = Options {
        pipeline,
        total: true,
        big_endian: false,
        ..Options::default()
    };
    let emitted = emit(&module, sets, &options);
    let emitted = emitted.unwrap_or_else(|reasons| panic!("{reasons:?}\n{text}"));
    (module, emitted)
}

#[test]
fn sums_of_40_and_64_bits_compute_the_same() {
    let count = setting("LOCKSTEP_ACCUMULATORS", 400);
    let first = setting("LOCKSTEP_FIRST", 0);
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    for seed in first..first + count {
        let kernel = program(seed);
        let (module, emitted) = emitted(&kernel.text, sets, seed % 3 > 0);
        let expected = sc140::interpreted(&kernel, &module);
        let told = || format!("seed {seed}\n{}\n{}", kernel.text, emitted.text);
        assert_eq!(sc140::broken(&emitted.text), [""; 0], "{}", told());
        if let Err(why) = sc140::agrees(&kernel, &expected, &emitted.text) {
            panic!("{why}\n{}", told());
        }
    }
    println!("{count} kernels compute the same");
}

/// One register for each number: an iteration takes what its units take.
#[test]
fn an_accumulator_is_one_register() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let cases = [
        ("w = X_mac(w, x[i], y[i]);", 1),
        ("w = X_add(w, X_extend(L_mult(x[i], y[i])));", 1),
        ("a += (long)x[i] * y[i];", 1),
        ("a += (long long)x[i] * y[i];", 1),
    ];
    for (body, most) in cases {
        let text = format!(
            "{HEAD}int f(const short *restrict x, const short *restrict y, int n) {{
    long long a = 0;
    Word40 w = 0;
    for (int i = 0; i < n; i++) {{ {body} }}
    return X_sat(w) + (int)(a >> 4);
}}
"
        );
        let (_, emitted) = emitted(&text, sets, true);
        sc140::takes_at_most(&emitted, most, body);
    }
}
