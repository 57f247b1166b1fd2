//! Loads that cannot matter, guarded in place: the examples of Bratt, Settle and Connors, by the accesses that are executed, and
//! random functions, which compute the same and access memory no more often.
//!
//! `LOCKSTEP_SKIPPED_PROGRAMS=N` makes N random functions of each language instead of the default number.

#[path = "sink_dead/generate.rs"]
mod generate;
#[path = "sink_dead/launch.rs"]
mod launch;
#[path = "support/read.rs"]
mod read;

use ir::{Inst, Language, Module, Op};
use launch::launch;
use lockstep_codegen::machine;
use lockstep_codegen::specialize::source::{
    Settings, candidate_at, candidates, check, functions_of, harmless, version,
};
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::pipeline;
use oracle::interp::{self, AccessKind, Buffer, Instance, Launch, Observer};
use read::read;
use simulate::ia64::{Arg, Limits, Memory, Program};

const EACH: Settings = Settings {
    absorb: false,
    whole_warps: false,
    uniform: false,
    each_lane: true,
};

/// The text with the statement at `|` guarded.
fn guarded(text: &str) -> String {
    let at = text.find('|').expect("a cursor");
    let text = text.replacen('|', "", 1);
    let read = read(&text, Language::C);
    let (start, _, item) = &read.parsed[0];
    let source = read.source(&text, 0);
    let function = functions_of(item)[0];
    let candidate = candidate_at(&source, function, at as u32 - start).expect("a definition");
    let made = version(&source, function, &candidate, EACH).unwrap_or_else(|why| panic!("{why}"));
    let (span, new) = &made.edit;
    let mut after = text.clone();
    after.replace_range(span.start as usize..span.end as usize, new);
    check::check(&text, &after, (*span, new.len()), &|name| {
        harmless(&source, name)
    })
    .unwrap_or_else(|violation| panic!("{violation}\n{after}"));
    after
}

/// Loads and stores of buffers.
struct Accesses<'a> {
    module: &'a Module,
    loads: u64,
    stores: u64,
}

impl Observer for Accesses<'_> {
    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        kind: AccessKind,
        _: &[u64],
        mask: u64,
    ) {
        let op = &self.module.functions[instance.function as usize].insts[inst].op;
        assert!(matches!(op, Op::Load(_) | Op::Store(_)));
        match kind {
            AccessKind::Load => self.loads += u64::from(mask.count_ones()),
            _ => self.stores += u64::from(mask.count_ones()),
        }
    }
}

/// Runs a function on its buffers; returns their contents behind it, loads and stores.
fn run(text: &str, buffers: &[&[u32]]) -> (Vec<Vec<u32>>, u64, u64) {
    let (modules, problems) = read(text, Language::C).lowered();
    assert_eq!((modules.len(), problems), (1, 0), "{text}");
    let module = &modules[0];
    let mut launch = Launch::for_function(&module.functions[0], 1, 0);
    launch.block = [1, 1, 1];
    launch.grid = [1, 1, 1];
    for (buffer, content) in launch.buffers.iter_mut().zip(buffers) {
        *buffer = Buffer::of_u32(content.iter().copied());
    }
    let mut seen = Accesses {
        module,
        loads: 0,
        stores: 0,
    };
    let outcome = interp::run_with(module, &launch, &mut seen, &());
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let words = outcome.buffers.iter().take(buffers.len());
    (
        words.map(|buffer| buffer.words().to_vec()).collect(),
        seen.loads,
        seen.stores,
    )
}

/// TV-1, Figure 2.
#[test]
fn a_product_with_zero_needs_no_other_operand() {
    let text = "void mul(int *X, const int *A, const int *B, const int *C) {
    for (int i = 0; i < 4; i++) {
        int |a = A[i];
        X[i] = a * (B[i] + C[i]);
    }
}
";
    let after = guarded(text);
    let input: [&[u32]; 4] = [&[9; 4], &[0, 5, 0, 7], &[1, 2, 3, 4], &[5, 6, 7, 8]];
    let (before, loads, stores) = run(&text.replace('|', ""), &input);
    assert_eq!((loads, stores), (12, 4));
    let (now, loads, stores) = run(&after, &input);
    assert_eq!(now, before, "{after}");
    assert_eq!(now[0], [0, 40, 0, 84]);
    // A four times, B and C where A is not zero; the zero is stored all the same.
    assert_eq!((loads, stores), (8, 4));
}

/// On IA-64 the guard is a predicate of the loads, also where iterations overlap: those that cannot matter are not executed, as
/// their addresses, which nothing is at, would tell.
#[test]
fn the_guard_is_a_predicate_of_the_loads() {
    let text =
        "int dot(const int *restrict w, const int *restrict x, const int *restrict at, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        int |a = w[i];
        s += a * x[at[i]];
    }
    return s;
}
";
    let after = guarded(text);
    let (modules, problems) = read(&after, Language::C).lowered();
    assert_eq!((modules.len(), problems), (1, 0), "{after}");
    let table = machine::named("itanium2").expect("a table");
    let options = Options {
        convert: true,
        pipeline: Some(pipeline::Options::default()),
        ..Options::default()
    };
    let emitted = emit(&modules[0], table.epic().expect("groups"), &options).expect("code");
    let code = &emitted.text;
    assert!(emitted.functions[0].loops[0].pipelined, "{code}");
    let guards = code.lines().filter(|line| line.contains(") cmp4.ne.unc"));
    assert_eq!(guards.count(), 1, "{code}");
    assert!(!code.contains("ld4.s"), "{code}");
    let n = 300u32;
    let weight = |i: u32| if i.is_multiple_of(10) { i } else { 0 };
    let at = |i: u32| if weight(i) == 0 { 1 << 28 } else { i };
    let bytes =
        |of: &dyn Fn(u32) -> u32| -> Vec<u8> { (0..n).flat_map(|i| of(i).to_le_bytes()).collect() };
    let mut memory = Memory::new();
    let mut placed =
        |of: &dyn Fn(u32) -> u32| Arg::Integer(memory.place(&bytes(of)).expect("room"));
    let arguments = [
        placed(&weight),
        placed(&|i| 3 * i),
        placed(&at),
        Arg::Integer(n.into()),
    ];
    let document = syntax::ia64::parse(code);
    let (program, problems) = Program::new(&document, code);
    assert_eq!(problems, [], "{code}");
    let outcome = simulate::ia64::run(&program, "dot", &arguments, &mut memory, &Limits::default());
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{code}"));
    assert_eq!(outcome.violations, [], "{code}");
    let expected: u32 = (0..n).map(|i| weight(i) * 3 * i).sum();
    assert_eq!(outcome.result, Some(expected.into()), "{code}");
}

/// TV-2, Figure 6, of 126.gcc.
#[test]
fn stores_of_what_is_there_go_with_their_loads() {
    let with = |cursor: [&str; 2]| {
        format!(
            "void live(unsigned *start, unsigned *end, const unsigned *fresh) {{
    for (int j = 0; j < 4; j++) {{
        unsigned {}f = fresh[j];
        unsigned {}x = f & ~end[j];
        start[j] |= x;
        end[j] |= x;
    }}
}}
",
            cursor[0], cursor[1]
        )
    };
    let input: [&[u32]; 3] = [&[0; 4], &[1, 2, 2, 3], &[0, 0, 6, 0]];
    let (before, loads, stores) = run(&with(["", ""]), &input);
    assert_eq!((loads, stores), (16, 8));
    assert_eq!(before[0], [0, 0, 4, 0]);
    assert_eq!(before[1], [1, 2, 6, 3]);
    let first = guarded(&with(["|", ""]));
    let (now, loads, stores) = run(&first, &input);
    assert_eq!(now, before, "{first}");
    // Each `fresh`, and of the third element `end` for the complement, `start` and `end` for the sums.
    assert_eq!((loads, stores), (4 + 3, 2), "{first}");
    // Behind the second trigger the tail alone is spared.
    let second = guarded(&with(["", "|"]));
    let (now, loads, stores) = run(&second, &input);
    assert_eq!(now, before, "{second}");
    assert_eq!((loads, stores), (8 + 2, 2), "{second}");
}

/// A sum with zero is no zero of its own sign: floats are left alone unless the language permits it.
#[test]
fn floats_keep_their_zeros() {
    let text = "void add(float *o, const float *a, const float *b) {
    for (int i = 0; i < 4; i++) {
        float |f = a[i];
        o[i] += f * b[i];
    }
}
";
    let at = text.find('|').expect("a cursor");
    let text = text.replacen('|', "", 1);
    let read = read(&text, Language::C);
    let (start, _, item) = &read.parsed[0];
    let source = read.source(&text, 0);
    let function = functions_of(item)[0];
    let candidate = candidate_at(&source, function, at as u32 - start).expect("a definition");
    assert!(version(&source, function, &candidate, EACH).is_err());
    let free = Settings {
        absorb: true,
        ..EACH
    };
    assert!(version(&source, function, &candidate, free).is_ok());
}

/// A path's own variables of names that others have are its own.
#[test]
fn what_a_path_declares_again_is_its_own() {
    let text = "void scale(int *o, const int *a, const int *b, int c) {
    int |f = a[0];
    if (c > 2) {
        c = f * b[1];
        for (int k = 0; k < 2; k++) {
            int c = f * b[2];
            c += k;
            o[k] = c;
        }
    }
    o[3] = c;
}
";
    let after = guarded(text);
    for first in [0, 2] {
        let input: [&[u32]; 3] = [&[9; 4], &[first; 4], &[1, 2, 3, 4]];
        let (before, ..) = run(&text.replace('|', ""), &input);
        let (now, ..) = run(&after, &input);
        assert_eq!(now, before, "{after}");
    }
}

/// A comment in place of a declaration would hide other text on its line.
#[test]
fn declarations_among_others_are_not_moved() {
    let text = "int set(int *); int own(int *o, const int *a, const int *b) {
    int |f = a[0];
    o[0] = f * b[0];
    int z; z = f * b[2] + f;
    return z;
}
";
    let after = {
        let at = text.find('|').expect("a cursor");
        let text = text.replacen('|', "", 1);
        let read = read(&text, Language::C);
        let number = read.parsed.len() - 1;
        let source = read.source(&text, number);
        let function = functions_of(&read.parsed[number].2)[0];
        let candidate =
            candidate_at(&source, function, at as u32 - source.start).expect("a definition");
        version(&source, function, &candidate, EACH).map(|made| made.edit.1)
    };
    assert!(!after.is_ok_and(|text| text.contains("(above) z")));
}

const PROGRAMS: u64 = 100;

/// Every guard of random functions.
fn random_functions(language: Language) -> u64 {
    // A test may be asked for more by its environment.
    #[allow(clippy::disallowed_methods)]
    let given = std::env::var("LOCKSTEP_SKIPPED_PROGRAMS").ok();
    let programs = given.and_then(|text| text.parse().ok()).unwrap_or(PROGRAMS);
    let mut made = 0;
    let mut spared = 0;
    for seed in 0..programs {
        let text = generate::kernel(seed ^ 0x1057, language);
        let read_text = read(&text, language);
        let (mut modules, _) = read_text.lowered();
        modules.retain(|module| module.functions[0].name == "kernel");
        let run = |module: &Module| {
            let launch = launch(module, language, seed, 5);
            let mut seen = Accesses {
                module,
                loads: 0,
                stores: 0,
            };
            let outcome = interp::run_with(module, &launch, &mut seen, &());
            assert!(outcome.error.is_none(), "{:?}\n{text}", outcome.error);
            let words: Vec<Vec<u32>> = outcome
                .buffers
                .iter()
                .map(|buffer| buffer.words().to_vec())
                .collect();
            (words, seen.loads + seen.stores)
        };
        let (before, accesses) = run(&modules[0]);
        for number in 0..read_text.parsed.len() {
            let source = read_text.source(&text, number);
            for function in functions_of(&read_text.parsed[number].2) {
                for candidate in candidates(&source, function) {
                    let Ok(version) = version(&source, function, &candidate, EACH) else {
                        continue;
                    };
                    let (span, new) = &version.edit;
                    let mut after = text.clone();
                    after.replace_range(span.start as usize..span.end as usize, new);
                    let judged = check::check(&text, &after, (*span, new.len()), &|name| {
                        harmless(&source, name)
                    });
                    judged.unwrap_or_else(|violation| panic!("{violation}\n{after}"));
                    let (mut modules, problems) = read(&after, language).lowered();
                    assert_eq!(problems, 0, "{after}");
                    modules.retain(|module| module.functions[0].name == "kernel");
                    let (now, fewer) = run(&modules[0]);
                    assert!(now == before, "seed {seed}\n{text}\n---\n{after}");
                    made += 1;
                    spared += u64::from(fewer < accesses);
                }
            }
        }
    }
    println!("{language:?}: {made} guards, {spared} of them spare accesses");
    assert!(spared > 0);
    made
}

#[test]
fn random_functions_of_c_compute_the_same() {
    assert!(random_functions(Language::C) > PROGRAMS / 4);
}

#[test]
fn random_kernels_of_cuda_compute_the_same() {
    assert!(random_functions(Language::Cuda) > PROGRAMS / 4);
}
