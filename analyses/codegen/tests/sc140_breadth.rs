//! SC140 code of C that the processor has no instructions for: numbers of 64 bits, floating point, functions that are called by
//! their address. `LOCKSTEP_C_KERNELS` random ones of each kind, from the seed `LOCKSTEP_FIRST` on, leave in the simulator what
//! they leave in the reference interpreter.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use lockstep_codegen::machine;
use lockstep_codegen::target::sc140::emit::{Options, emit};
use oracle::random::Random;
use oracle::random::c::kernel;
use sc140::{interpreted, module_of, simulated};
use simulate::sc140::Arg;
use std::collections::BTreeMap;
use std::fmt::Write;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn options(seed: u64) -> Options {
    Options {
        reduce_spills: true,
        pipeline: !seed.is_multiple_of(3),
        fewer: [0, 0, 8][seed as usize % 3],
        // These kernels shift by fewer places than there are.
        total: false,
        big_endian: false,
        ..Options::default()
    }
}

#[test]
fn kernels_of_long_numbers_and_floats_compute_the_same() {
    let (count, first) = (
        setting("LOCKSTEP_C_KERNELS", 60),
        setting("LOCKSTEP_FIRST", 0),
    );
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let (mut judged, mut floats) = (0, 0);
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    for seed in first..first + count {
        let kernel = kernel(seed);
        let module = module_of(&kernel.text, &kernel.name);
        let emitted = match emit(&module, sets, &options(seed)) {
            Ok(emitted) => emitted,
            Err(reasons) => {
                *refused.entry(reasons[0].reason.to_string()).or_default() += 1;
                continue;
            }
        };
        if emitted.text.contains("_fma") {
            // The C library is not at hand.
            continue;
        }
        let told = || format!("seed {seed}\n{}\n{}", kernel.text, emitted.text);
        assert_eq!(sc140::broken(&emitted.text), [""; 0], "{}", told());
        let expected = interpreted(&kernel, &module);
        if let Err(why) = sc140::agrees(&kernel, &expected, &emitted.text) {
            panic!("{why}\n{}", told());
        }
        judged += 1;
        floats += u64::from(emitted.text.contains("f64__") || emitted.text.contains("f32__"));
    }
    println!(
        "{judged} of {count} kernels computed the same, {floats} with floats; refused: {refused:?}"
    );
    assert!(
        judged * 2 >= count && floats * 10 >= count,
        "{judged} {floats}"
    );
}

/// The text of a function of two numbers.
fn leaf(random: &mut Random, at: usize) -> String {
    let operand = |random: &mut Random| match random.below(4) {
        0 => "x".to_owned(),
        1 => "y".to_owned(),
        2 => format!("{}", random.below(1000)),
        _ => "(x ^ y)".to_owned(),
    };
    let (a, b) = (operand(random), operand(random));
    let op = random.pick(&["+", "-", "*", "&", "|"]);
    format!("static unsigned f{at}(unsigned x, unsigned y) {{ return {a} {op} {b}; }}\n")
}

/// The text of a kernel that calls functions by an index: through a table, or by a switch.
fn dispatching(seed: u64) -> [String; 2] {
    let mut random = Random::new(seed);
    let count = 2 + random.below(5) as usize;
    let leaves: String = (0..count).map(|at| leaf(&mut random, at)).collect();
    let names: Vec<String> = (0..count).map(|at| format!("f{at}")).collect();
    let mut cases = String::new();
    for (at, name) in names.iter().enumerate() {
        let _ = writeln!(cases, "    case {at}: r = {name}(r, x[i]); break;");
    }
    let (first, last) = (random.below(count as u32), random.below(count as u32));
    let head = "unsigned f(const unsigned *x, int n) {\n  unsigned r = 7;\n  int i;\n";
    let table = format!(
        "typedef unsigned (*fn)(unsigned, unsigned);\nstatic const fn table[] = {{ {} }};\n{head}  fn g = n & 1 ? f{first} : f{last};\n  for (i = 0; i < n; i++) r = table[x[i] % {count}](r, x[i]);\n  return g(r, 5);\n}}\n",
        names.join(", ")
    );
    let switch = format!(
        "{head}  for (i = 0; i < n; i++) {{\n    switch (x[i] % {count}) {{\n{cases}    }}\n  }}\n  return n & 1 ? f{first}(r, 5) : f{last}(r, 5);\n}}\n"
    );
    [table, switch].map(|text| format!("{leaves}{text}"))
}

#[test]
fn functions_are_called_by_their_address() {
    let (count, first) = (
        setting("LOCKSTEP_C_KERNELS", 60),
        setting("LOCKSTEP_FIRST", 0),
    );
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    for seed in first..first + count {
        let texts = dispatching(seed);
        let mut random = Random::new(seed ^ 0xf1);
        let numbers: Vec<u8> = (0..32)
            .flat_map(|_| (random.draw() as u32).to_le_bytes())
            .collect();
        let count = random.below(33);
        let found = texts.clone().map(|text| {
            let module = module_of(&text, "f");
            let emitted = emit(&module, sets, &options(seed));
            let emitted = emitted.unwrap_or_else(|reasons| panic!("{reasons:?}\n{text}"));
            assert_eq!(sc140::broken(&emitted.text), [""; 0], "{}", emitted.text);
            let arguments = [None, Some(Arg::Long(count as i32))];
            let outcome = simulated(
                &emitted.text,
                "_f",
                std::slice::from_ref(&numbers),
                &arguments,
            );
            let outcome =
                outcome.unwrap_or_else(|fault| panic!("{fault}\n{text}\n{}", emitted.text));
            (outcome.0.data[0] as u32, emitted.text)
        });
        // The interpreter does not call by address: it judges the switch.
        let mut launch = oracle::interp::Launch::new(1);
        launch.warp_size = 1;
        launch.buffers.push(oracle::interp::Buffer::global(numbers));
        launch.parameters.push(oracle::interp::Argument::Pointer {
            buffer: 0,
            offset: 0,
        });
        launch
            .parameters
            .push(oracle::interp::Argument::Bits(count.into()));
        let expected = oracle::interp::run(&module_of(&texts[1], "f"), &launch);
        assert_eq!(expected.error, None);
        let wanted = expected.returned[0][0] as u32;
        assert!(found[0].1.contains("jsr      r2"), "{}", found[0].1);
        for (number, text) in &found {
            assert_eq!(*number, wanted, "seed {seed}\n{}\n{text}", texts[0]);
        }
    }
}

/// Bytes moved and set: what C calls is emitted with the code.
#[test]
fn bytes_are_moved_and_set_by_routines() {
    let text = "void *memcpy(void *, const void *, unsigned);\nvoid *memmove(void *, const void *, unsigned);\n\
        void *memset(void *, int, unsigned);\n\
        int f(unsigned char *x, int n) {\n\
        unsigned char *y = memcpy(x + 40, x, n);\n  memmove(x + 2, x, n);\n  memset(x + 30, 7, 5);\n\
        return y == x + 40;\n}\n";
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let module = module_of(text, "f");
    let emitted = emit(&module, sets, &options(1));
    let emitted = emitted.unwrap_or_else(|reasons| panic!("{reasons:?}"));
    let before: Vec<u8> = (0..80).collect();
    let n = 20;
    let arguments = [None, Some(Arg::Long(n as i32))];
    let ran = simulated(
        &emitted.text,
        "_f",
        std::slice::from_ref(&before),
        &arguments,
    );
    let (outcome, after) = ran.unwrap_or_else(|fault| panic!("{fault}\n{}", emitted.text));
    let mut wanted = before;
    wanted.copy_within(0..n, 40);
    wanted.copy_within(0..n, 2);
    wanted[30..35].fill(7);
    assert_eq!(
        (outcome.data[0], &after[0]),
        (1, &wanted),
        "{}",
        emitted.text
    );
}

#[test]
fn frames_out_of_reach_are_refused() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let text = |count: u32| {
        format!(
            "void g(short *);\nshort f(short a, short b, short c, short d) {{\n    short t[{count}];\n    g(t);\n    return t[a] + b + c + d;\n}}\n"
        )
    };
    let made = |count| emit(&module_of(&text(count), "f"), sets, &options(0));
    let small = made(8_000).expect("code");
    assert_eq!(sc140::broken(&small.text), [""; 0], "{}", small.text);
    let reasons = made(9_000).expect_err("no code");
    let told = reasons[0].reason.to_string();
    assert!(told.contains("at most 16384 can be addressed"), "{told}");
}

/// Operations on both halves of a number: C, and the processor's instructions.
#[test]
fn halves_are_computed_on_their_own() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let mut random = Random::new(11);
    let corners = [0x7fff_0001, 0x0001_ffff, 0x8000_8000u32 as i32, -1, 0];
    for name in ["add2", "sub2", "max2"] {
        let text = format!(
            "typedef int Word32;\nWord32 {name}(Word32, Word32);\nint f(int a, int b) {{ return {name}(a, b); }}\n"
        );
        let emitted = emit(&module_of(&text, "f"), sets, &options(0)).expect("code");
        assert!(emitted.text.contains(name), "{}", emitted.text);
        let instruction = format!("    GLOBAL _f\n_f\n    {name} d1,d0\n    rts\n");
        for run in 0..200 {
            let mut number = || match run < 25 {
                true => corners[random.below(5) as usize],
                false => random.draw() as i32,
            };
            let arguments = [number(), number()];
            let found = [&emitted.text, &instruction].map(|text| {
                let given = arguments.map(|number| Some(Arg::Long(number)));
                let ran = simulated(text, "_f", &[], &given);
                let (outcome, _) = ran.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
                outcome.data[0] as i32
            });
            let half = |a: i16, b: i16| match name {
                "add2" => a.wrapping_add(b),
                "sub2" => a.wrapping_sub(b),
                _ => a.max(b),
            };
            let [a, b] = arguments;
            let high = half((a >> 16) as i16, (b >> 16) as i16);
            let low = half(a as i16, b as i16);
            let wanted = i32::from(high) << 16 | i32::from(low as u16);
            assert_eq!(
                (found[0], found[1]),
                (wanted, wanted),
                "{name} {arguments:x?}"
            );
        }
    }
}

/// The high part of a sum that wraps, read as a number with a sign.
#[test]
fn high_parts_have_their_sign() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let bodies = [
        "(short)(m >> 16) > (short)-1 ? (short)(m >> 16) : (short)-1",
        "(short)(m >> 16) < 5 ? (short)(m >> 16) * 3 : 4",
        "(short)(m >> 16) + (int)(m >> 16)",
        "(short)((int)m >> 16) / 3",
    ];
    type Wanted = fn(i16, u32) -> i32;
    let wanted: [Wanted; 4] = [
        |high, _| i32::from(high.max(-1)),
        |high, _| if high < 5 { i32::from(high) * 3 } else { 4 },
        |high, m| i32::from(high) + (m >> 16) as i32,
        |high, _| i32::from(high / 3),
    ];
    let mut random = Random::new(17);
    for (body, wanted) in bodies.into_iter().zip(wanted) {
        let text = format!(
            "int f(int a, int b) {{ unsigned m = (unsigned)a + (unsigned)b; return {body}; }}\n"
        );
        let emitted = emit(&module_of(&text, "f"), sets, &options(0)).expect("code");
        for run in 0..50 {
            let arguments = match run {
                0 => [0x7fff_0000, 0x3fff_0000],
                _ => [random.draw() as i32, random.draw() as i32],
            };
            let given = arguments.map(|number| Some(Arg::Long(number)));
            let ran = simulated(&emitted.text, "_f", &[], &given);
            let (outcome, _) = ran.unwrap_or_else(|fault| panic!("{fault}\n{}", emitted.text));
            let m = arguments[0].wrapping_add(arguments[1]) as u32;
            let wanted = wanted((m >> 16) as i16, m);
            assert_eq!(
                outcome.data[0] as i32, wanted,
                "{body} {arguments:x?}\n{}",
                emitted.text
            );
        }
    }
}

/// What is not null is true, whatever its address.
#[test]
fn addresses_are_true_or_not() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let text = "int f(int *x, int n) { _Bool b = x; int *y = n ? x : 0; _Bool c = y; return b * 10 + c + 4; }\n";
    let emitted = emit(&module_of(text, "f"), sets, &options(0)).expect("code");
    for (n, wanted) in [(0, 14), (1, 15)] {
        let given = [None, Some(Arg::Long(n))];
        let ran = simulated(&emitted.text, "_f", &[vec![0; 8]], &given);
        let (outcome, _) = ran.unwrap_or_else(|fault| panic!("{fault}\n{}", emitted.text));
        assert_eq!(outcome.data[0], wanted, "{}", emitted.text);
    }
}
