//! SC140 code of a thousand lines of C, with its loops, their bounds and the values that spill: what an editor computes anew when
//! a file is opened. After an edit one function of the forty is made again.
//!
//! `cargo bench -p lockstep-codegen --bench sets`
#![allow(clippy::disallowed_methods)]

use criterion::{Criterion, criterion_group, criterion_main};
use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Language, Module};
use lockstep_codegen::machine;
use lockstep_codegen::target::sc140::emit::{Options, emit, emit_items};
use std::hint::black_box;
use syntax::c_family::{Dialect, parse_text};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Functions of a codec, 25 lines each: a correlation, a recurrence, a search, and one with more values than registers.
const PIECES: [&str; 4] = [
    "Word32 correlate_N(const Word16 *restrict x, const Word16 *restrict y, Word32 *restrict r, int n, int lags) {
    Word32 best = 0;
    for (int lag = 0; lag < lags; lag++) {
        Word32 s = 0;
        for (int i = 0; i < n; i++) {
            s = L_mac(s, x[i], y[i]);
        }
        r[lag] = s;
        if (s > best) {
            best = s;
        }
        y++;
    }
    Word32 energy = 0;
    for (int i = 0; i < n; i++) {
        energy = L_mac(energy, x[i], x[i]);
    }
    if (energy > best) {
        best = energy;
    }
    for (int lag = 0; lag < lags; lag++) {
        r[lag] = r[lag] >> 1;
    }
    return best;
}

",
    "void filter_N(const Word16 *x, Word16 *y, const Word16 *restrict a, int n) {
    Word16 one = 0;
    Word16 two = 0;
    for (int i = 0; i < n; i++) {
        Word32 s = x[i] << 12;
        s = L_mac(s, one, a[0]);
        s = L_mac(s, two, a[1]);
        two = one;
        one = round(s);
        y[i] = one;
    }
    int last = n - 1;
    for (int i = 0; i < n; i++) {
        Word16 v = y[i];
        if (v < 0) {
            v = -v;
        }
        if (v > a[2]) {
            v = a[2];
        }
        y[i] = v;
    }
    if (last > 0) {
        y[last] = y[0];
    }
}
",
    "int search_N(const Word16 *restrict book, const Word16 *restrict v, int count, int order) {
    int best = 0;
    int least = 2147483647;
    for (int k = 0; k < count; k++) {
        int sum = 0;
        for (int i = 0; i < order; i++) {
            int d = book[i] - v[i];
            sum += d * d;
        }
        if (sum < least) {
            least = sum;
            best = k;
        }
        book += order;
    }
    int zeros = 0;
    for (int i = 0; i < order; i++) {
        if (v[i] == 0) {
            zeros++;
        }
    }
    if (zeros == order) {
        best = -1;
    }
    return best;
}
",
    "int blend_N(const int *restrict x, int *restrict y, int a, int b, int c, int d, int e, int f, int n) {
    int p = a * b;
    int q = b * c;
    int r = c * d;
    int s = d * e;
    int u = e * f;
    int v = f * a;
    int w = a ^ 5;
    int t = 0;
    for (int i = 0; i < n; i++) {
        t += ((x[2 * i] ^ p) & q);
        t += ((x[2 * i + 1] ^ r) & s);
        t += (a ^ t) + (b & t);
        t += (c | t) + (d ^ i) + (e & i);
        y[2 * i] = t ^ u;
        y[2 * i + 1] = (t ^ v) & w;
        t ^= (u & i) + (v & f);
        t += w ^ i;
    }
    t += p + q;
    t += r + s;
    t += u + v;
    return t + w;
}

",
];

fn modules() -> Vec<Module> {
    let mut text = String::from(
        "typedef short Word16; typedef int Word32;\nWord32 L_mac(Word32, Word16, Word16);\nWord16 round(Word32);\n",
    );
    for number in 0..40 {
        text += &PIECES[number % PIECES.len()].replace("_N", &format!("_{number}"));
    }
    assert!(
        (990..1050).contains(&text.lines().count()),
        "{}",
        text.lines().count()
    );
    let items = parse_text(&text, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let all = all.into_iter().map(|(_, lowered)| lowered.module);
    all.filter(|module| !module.functions.is_empty() && !module.functions[0].layout.is_empty())
        .collect()
}

fn reports(c: &mut Criterion) {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let modules = modules();
    assert_eq!(modules.len(), 40);
    let options = Options::default();
    let of = |module: &Module| {
        let made = emit(module, sets, &options).unwrap_or_else(|reasons| panic!("{reasons:?}"));
        let report = &made.functions[0];
        report.loops.len() + report.spills.len()
    };
    let spilling = emit(&modules[3], sets, &options).expect("code");
    let [asked, _] = spilling.functions[0].transfers;
    assert!(asked.loads > 0, "values that the allocator has in memory");
    c.bench_function("loops and spills of a thousand lines", |b| {
        b.iter(|| {
            modules
                .iter()
                .map(|module| of(black_box(module)))
                .sum::<usize>()
        });
    });
    let all: Vec<&Module> = modules.iter().collect();
    c.bench_function("those of a thousand lines on all cores", |b| {
        b.iter(|| {
            emit_items(black_box(&all), sets, &options)
                .1
                .functions
                .len()
        });
    });
    c.bench_function("those of one function that spills", |b| {
        b.iter(|| of(black_box(&modules[3])));
    });
}

criterion_group!(benches, reports);
criterion_main!(benches);
