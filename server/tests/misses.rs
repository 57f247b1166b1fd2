//! Misses and waits that the interpreter counts in a processor's caches, against the simulator on code that is not pipelined.

use codegen::machine;
use codegen::target::ia64::emit::{Options, emit};
use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Language, Module};
use lockstep_server::derive::timing::timing;
use lockstep_server::profile::record::{Recorder, Stream};
use oracle::interp::{self, Argument, Buffer};
use oracle::random::Random;
use simulate::ia64::{Arg, Limits, Memory, Program, run};
use syntax::c_family::{Dialect, parse_text};

const ELEMENTS: usize = 1 << 14;

/// Bodies of `int f(const int *a, const int *b, const int *c, int n)`: loads alone, one behind the other in each iteration.
const PROGRAMS: [&str; 4] = [
    "int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s;",
    "int s = 0; for (int i = 0; i < n; i++) s += b[c[i] & 16383]; return s;",
    "int s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i] + c[i]; return s;",
    "int s = 0; for (int i = 0; i < n; i++) { s = a[s & 16383] + b[i]; } return s;",
];

fn lowered(body: &str) -> Module {
    let text = format!("int f(const int *a, const int *b, const int *c, int n)\n{{\n{body}\n}}\n");
    let all = lower_unit(
        &parse_text(&text, Dialect::C),
        &LowerOptions::new(Language::C),
    );
    all.into_iter().next().expect("a function").1.module
}

fn contents() -> [Vec<u8>; 3] {
    let mut random = Random::new(11);
    [0; 3].map(|_| {
        let mut bytes = Vec::new();
        for _ in 0..ELEMENTS {
            bytes.extend(random.below(50_000).to_le_bytes());
        }
        bytes
    })
}

/// Misses and cycles of waiting, in the interpreter.
fn recorded(module: &Module, name: &str) -> (u64, u64) {
    let table = machine::named(name).expect("a table");
    let caches = timing(&table).and_then(|timing| timing.caches);
    let mut launch = interp::Launch::for_function(&module.functions[0], 1, 0);
    (launch.block, launch.grid) = ([1; 3], [1; 3]);
    for (buffer, content) in launch.buffers.iter_mut().zip(contents()) {
        *buffer = Buffer::global(content);
    }
    *launch.parameters.last_mut().expect("a count") = Argument::Bits(ELEMENTS as u64);
    let mut recorder = Recorder::new(&module.functions[0], Stream::default());
    recorder.through_caches(module, &launch, &caches.expect("caches"));
    let outcome = interp::run_with(module, &launch, &mut recorder, &());
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let misses = recorder.finish().misses;
    let sum =
        |of: fn(&facts::values::record::Misses) -> u64| misses.iter().map(|(_, it)| of(it)).sum();
    (sum(|it| it.misses), sum(|it| it.waited))
}

/// Misses of the first level, and the cycles that caches cost, in the simulator.
fn simulated(module: &Module, name: &str) -> (u64, u64) {
    let epic = machine::named("itanium2").expect("a table");
    let emitted = emit(module, epic.epic().expect("groups"), &Options::default());
    let assembly = emitted.unwrap_or_else(|why| panic!("{why:?}")).text;
    let (program, problems) = Program::new(&syntax::ia64::parse(&assembly), &assembly);
    assert!(problems.is_empty(), "{problems:?}");
    let cycles = |caches: bool| {
        let table = machine::named(name).expect("a table");
        let mut timing = timing(&table).expect("a machine that is simulated");
        if !caches {
            timing.caches = None;
        }
        let limits = Limits {
            steps: 100_000_000,
            timing: Some(timing),
            ..Limits::default()
        };
        let mut memory = Memory::new();
        let mut given: Vec<Arg> = contents()
            .iter()
            .map(|bytes| Arg::Integer(memory.place(bytes).expect("room")))
            .collect();
        given.push(Arg::Integer(ELEMENTS as u64));
        let outcome = run(&program, "f", &given, &mut memory, &limits).expect("no fault");
        let misses = outcome.memory.map(|counts| counts.levels[0].misses);
        (outcome.cycles.expect("a processor"), misses.unwrap_or(0))
    };
    let (with, misses) = cycles(true);
    (misses, with - cycles(false).0)
}

#[test]
fn the_interpreter_counts_the_misses_of_the_simulator() {
    for body in PROGRAMS {
        let module = lowered(body);
        for name in ["bratt2001", "itanium2_caches"] {
            let (misses, waited) = recorded(&module, name);
            let (known, waits) = simulated(&module, name);
            println!("{name}: {misses} and {known} misses, {waited} and {waits} cycles: {body}");
            assert!(
                misses > 0 && misses.abs_diff(known) * 100 <= known,
                "{name}: {body}"
            );
            // Code may place a load behind the use of another, and then waits for both.
            let ratio = waited as f64 / waits as f64;
            assert!((0.5..=1.02).contains(&ratio), "{name}, {ratio}: {body}");
        }
    }
}
