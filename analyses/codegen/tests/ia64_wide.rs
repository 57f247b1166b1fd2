//! Wide C kernels (`oracle::random::c::wide`) as IA-64 code: the simulator's results are those of the
//! reference interpreter, or of the host's compiler where functions are called through pointers or pointers
//! lie in memory; and GNU `as` takes the text.
//!
//! `LOCKSTEP_WIDE_KERNELS` of them (150), from the seed `LOCKSTEP_FIRST` on, each unpipelined and pipelined by one method, by
//! all where `LOCKSTEP_PIPELINED` is 1. `LOCKSTEP_WIDE_ALL` judges all by the host, too, and goes on behind differences.
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;
#[path = "../../ir/tests/support/host.rs"]
mod host;
#[path = "support/judge.rs"]
mod judge;

use assembler::{assembled, assembler};
use ir::Module;
use judge::{attempted, module_of, words};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::contract::contracted;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::passes::Limits;
use lockstep_codegen::target::ia64::pipeline::{self, Epilogue, Method};
use oracle::random::c::{self, Argument, Buffer, Kernel, Parameter, Scalar, Wide, wide};
use simulate::ia64 as sim;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Kernels in one program of the host, and in one text of the assembler.
const BATCH: u64 = 100;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Few registers in two fifths of the kernels: values lie in memory.
fn limits(seed: u64) -> Limits {
    match seed % 5 {
        2 => Limits {
            general: 4,
            float: 3,
            predicate: 2,
        },
        4 => Limits {
            general: 12,
            float: 6,
            predicate: 4,
        },
        _ => Limits::default(),
    }
}

/// A kernel with its results.
struct Judged {
    wide: Wide,
    module: Module,
    /// Products and sums are one operation.
    contract: bool,
    expected: Option<Vec<u64>>,
}

/// Kernels of some seeds, and the results that are expected of them.
fn judged(seeds: std::ops::Range<u64>, all: bool) -> Vec<Judged> {
    let mut list: Vec<Judged> = seeds
        .map(|seed| {
            let wide = wide(seed);
            let module = module_of(&wide.kernel.text, &wide.kernel.name);
            let contract = seed % 5 < 2 && !all;
            let expected = match (all || wide.through_pointers, contract) {
                (true, _) => None,
                (false, true) => attempted(&wide.kernel, &contracted(&module)).ok(),
                (false, false) => attempted(&wide.kernel, &module).ok(),
            };
            Judged {
                wide,
                module,
                contract: contract && expected.is_some(),
                expected,
            }
        })
        .collect();
    let open: Vec<usize> = (0..list.len())
        .filter(|&at| list[at].expected.is_none())
        .collect();
    if !open.is_empty()
        && let Some(compiler) = host::compiler()
    {
        let folder = tempfile::tempdir().expect("a folder");
        let kernels: Vec<Kernel> = open
            .iter()
            .map(|&at| list[at].wide.kernel.clone())
            .collect();
        let lines = host::compiled(&compiler, folder.path(), &kernels, "");
        for (&at, line) in open.iter().zip(&lines) {
            let number = |word: &str| u64::from_str_radix(word, 16).expect("a number");
            let line = line.trim_start_matches("void");
            list[at].expected = Some(line.split_whitespace().map(number).collect());
        }
    }
    list
}

/// Returns the options by which the code of a kernel is made: unpipelined first.
fn ways(seed: u64, every: bool) -> Vec<Option<pipeline::Options>> {
    let methods: Vec<Option<Method>> = Method::EXITS
        .iter()
        .copied()
        .map(Some)
        .chain([None])
        .collect();
    let with = |at: usize, method: Option<Method>| {
        Some(pipeline::Options {
            method,
            unroll: [None, None, None, Some(2), Some(3), Some(4)][(seed as usize / 2 + at) % 6],
            epilogue: match (seed as usize + at).is_multiple_of(3) {
                true => Epilogue::Explicit,
                false => Epilogue::Kernel,
            },
            // What gains nothing can be wrong, too.
            always: (seed as usize / 7 + at).is_multiple_of(2),
            ..pipeline::Options::default()
        })
    };
    let mut all = vec![None];
    match every {
        true => all.extend(methods.iter().enumerate().map(|(at, &it)| with(at, it))),
        false => {
            let at = (seed / 3) as usize % methods.len();
            all.push(with(at, methods[at]));
        }
    }
    all
}

#[derive(Default)]
struct Tally {
    judged: u32,
    refused: u32,
    loops: u32,
    pipelined: u32,
    failures: Vec<String>,
}

/// Judges one kernel's code of one kind; `Err`: the difference.
fn judge(
    judged: &Judged,
    at: usize,
    way: Option<&pipeline::Options>,
    tally: &mut Tally,
    texts: &mut String,
) -> Result<(), String> {
    let kernel = &judged.wide.kernel;
    let Some(expected) = &judged.expected else {
        return Ok(());
    };
    let table = machine::named(["itanium", "itanium2"][kernel.seed as usize % 2]).expect("a table");
    let options = Options {
        limits: limits(kernel.seed),
        decisions: 60,
        contract: judged.contract,
        pipeline: way.cloned(),
        ..Options::default()
    };
    let begun = Instant::now();
    let emitted = match emit(
        &judged.module,
        table.epic().expect("explicit groups"),
        &options,
    ) {
        Ok(emitted) => emitted,
        Err(reasons) => {
            tally.refused += 1;
            return Err(format!("refused: {reasons:?}"));
        }
    };
    let emitting = begun.elapsed();
    for deferred in [None, Some(kernel.seed)] {
        if deferred.is_some() && way.is_none() {
            break;
        }
        let limits = sim::Limits {
            steps: 200_000_000,
            deferred,
            ..sim::Limits::default()
        };
        let found = words(kernel, &kernel.name, &emitted.text, &limits)?;
        if let Some(at) = (0..expected.len()).find(|&at| found.get(at) != expected.get(at)) {
            let result = usize::from(kernel.returns.is_some());
            return Err(format!(
                "word {at} (the first {result} are the result) is {:x?} and not {:x}",
                found.get(at),
                expected[at]
            ));
        }
    }
    let taken = begun.elapsed();
    if taken > Duration::from_secs(4) {
        println!(
            "{}: way {at} took {taken:?}, emission {emitting:?}",
            kernel.seed
        );
    }
    let loops = emitted
        .functions
        .iter()
        .flat_map(|function| &function.loops);
    tally.loops += loops.clone().count() as u32;
    tally.pipelined += loops.filter(|it| it.pipelined).count() as u32;
    // A text of its own for each way: names of functions are the same in all.
    if at + 1 == setting("LOCKSTEP_WIDE_ASSEMBLED", 2) as usize {
        texts.push_str(&emitted.text);
    }
    Ok(())
}

#[test]
fn wide_kernels_compute_the_same() {
    let count = setting("LOCKSTEP_WIDE_KERNELS", 150);
    let first = setting("LOCKSTEP_FIRST", 0);
    let every = setting("LOCKSTEP_PIPELINED", 0) == 1;
    let all = setting("LOCKSTEP_WIDE_ALL", 0) == 1;
    let assembler = assembler();
    let mut tally = Tally::default();
    for start in (first..first + count).step_by(BATCH as usize) {
        let mut texts = String::new();
        for each in judged(start..(start + BATCH).min(first + count), all) {
            let seed = each.wide.kernel.seed;
            for (at, way) in ways(seed, every).into_iter().enumerate() {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    judge(&each, at, way.as_ref(), &mut tally, &mut texts)
                }));
                let why = match outcome {
                    Ok(Ok(())) => continue,
                    Ok(Err(why)) => why,
                    Err(_) => "panics".to_owned(),
                };
                let method = way.map(|it| (it.method, it.unroll, it.epilogue));
                let line = format!("{seed}: way {at} {method:?}: {why}");
                println!("FAILED {line}");
                tally.failures.push(line);
                if !all {
                    println!("{}", each.wide.kernel.text);
                }
            }
            tally.judged += u32::from(each.expected.is_some());
        }
        if let Some(assembler) = &assembler {
            let said = assembled(assembler, &texts);
            let lines: Vec<&str> = said.lines().take(8).collect();
            if !lines.is_empty() {
                let kept = std::env::temp_dir().join(format!("lockstep-ia64-wide-{start}.s"));
                std::fs::write(&kept, &texts).expect("written");
                tally
                    .failures
                    .push(format!("{}: {lines:#?}", kept.display()));
            }
        }
    }
    println!(
        "{} of {count} wide kernels judged, {} of {} loops pipelined, {} refused",
        tally.judged, tally.pipelined, tally.loops, tally.refused
    );
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures);
}

/// Kernels whose code once did something else: a pointer that was based on a parameter with `restrict` had been in memory
/// (397), or might have been another object's address (10683).
#[test]
fn kernels_that_once_differed_compute_the_same() {
    let mut tally = Tally::default();
    for seed in [397, 10_683] {
        for each in judged(seed..seed + 1, false) {
            for (at, way) in ways(seed, true).into_iter().enumerate() {
                let found = judge(&each, at, way.as_ref(), &mut tally, &mut String::new());
                assert_eq!(found, Ok(()), "{seed}: way {at}");
            }
        }
    }
}

/// The promise of `restrict` is kept by all pointers that are based on the parameter.
#[test]
fn pointers_based_on_a_promise_meet_it() {
    let texts = [
        // Kept in memory.
        "int f(int *restrict a, int *b, long k) { int *p[2] = {a, a + 1}; a[k] = 3; *p[k] = 9; return a[k]; }",
        // The address of one object or another's.
        "int f(int *restrict a, int *b, long k) { int x = 5; int *p = k ? a + 1 : &x; a[1] = 3; *p = 9; return a[1]; }",
        "int f(int *restrict a, int *b, long k) { int *p = k ? a + 1 : b; a[1] = 3; *p = 9; return a[1]; }",
        "int f(int *restrict a, int *b, long k) { int *p = b; for (int i = 0; i < 5; i++) { a[1] = 3; *p = 9; p = a + k; } return a[1]; }",
        // A number in between.
        "int f(int *restrict a, int *b, long k) { int *p = (int *)((unsigned long)a + 4 * k); a[1] = 3; *p = 9; return a[1]; }",
    ];
    for text in texts {
        let element = Scalar::Int;
        let pointer = |name: &str, type_text: &str, buffer| Parameter {
            name: name.into(),
            type_text: type_text.into(),
            argument: Argument::Pointer { buffer, offset: 0 },
        };
        let bits = Argument::Scalar {
            ty: Scalar::Long,
            bits: 1,
        };
        let kernel = Kernel {
            seed: 0,
            text: text.to_owned(),
            name: "f".into(),
            returns: Some(element),
            parameters: vec![
                pointer("a", "int *restrict", 0),
                pointer("b", "int *", 1),
                Parameter {
                    name: "k".into(),
                    type_text: "long".into(),
                    argument: bits,
                },
            ],
            buffers: (0..2)
                .map(|_| Buffer {
                    element,
                    bytes: vec![1; 16],
                })
                .collect(),
        };
        let module = module_of(text, "f");
        for way in ways(0, true) {
            let options = Options {
                pipeline: way,
                ..Options::default()
            };
            let table = machine::named("itanium2").expect("a table");
            let emitted = emit(&module, table.epic().expect("explicit groups"), &options);
            let emitted = emitted.expect("code");
            let found = words(&kernel, "f", &emitted.text, &sim::Limits::default());
            assert_eq!(found.expect("a result")[0], 9, "{text}");
        }
    }
}
