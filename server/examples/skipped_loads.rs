//! Loads that cannot matter, skipped: misses and cycles of C programs on the machine of the paper that proposed it.
//!
//! ```text
//! cargo run --release -p lockstep-server --example skipped_loads [-- MACHINE]
//! ```
//!
//! Each program has a trigger `t`, which is zero in 95 of 100 elements of its training input and in 90 of its
//! test input. Its text before and after `skip-loads` is emitted for IA-64 and simulated with the caches and
//! the predictor of `bratt2001`, or of the machine that is named. The stored values must be the same.
//! Programs of which the action says that a guard does not pay are left out; it decides by a profile of the training input
//! with the misses that the interpreter counted in the caches of that machine. `saved, estimate` are the cycles that the
//! estimate expects to be saved on the training input, with these misses and without.
//!
//! A second table has the same of `emit --profile`, which guards loads of the IR where the emitted code gains by it.
//!
//! Source: I. Bratt, A. Settle, D. Connors, *Predicate-Based Elimination of Control- and Data-Irrelevant Cache Misses*, EPIC-1,
//! 2001, section 4: 3 to 5 % of the misses and 3 to 6 % of the cycles of SPEC programs.

use codegen::machine;
use codegen::machine::Table;
use codegen::profiled::{Absorbing, SkipProfile};
use codegen::specialize::accept::{Model, Rule};
use codegen::specialize::source::estimate::{estimate, parts};
use codegen::specialize::source::executions::Profiled;
use codegen::specialize::source::scheduled::Schedules;
use codegen::specialize::source::{Settings, Source, candidates, functions_of, version};
use codegen::target::ia64::emit::{Options, emit};
use codegen::target::ia64::pipeline;
use facts::values::record::{Counts, Misses, Recorded};
use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_unit};
use ir::{Block, EntityVec, Function, Language, Module, Value};
use lockstep_server::derive::guided::{Counted, decided};
use lockstep_server::derive::scheduled::scheduled;
use lockstep_server::derive::timing::timing;
use lockstep_server::derive::versions::least_of_a_thread;
use lockstep_server::profile::record::{Recorder, Stream};
use oracle::interp::{self, Argument, Buffer};
use rustc_hash::FxHashMap;
use simulate::ia64::{Arg, Limits, Memory, Program, run};
use std::sync::Arc;
use syntax::Span;
use syntax::c_family::{Dialect, parse_text, parse_unit};
use syntax::preprocess::preprocess_text;

/// The arrays, by number, and how many of a hundred elements are zero.
const TRAINING: [(u64, u64); 5] = [(1, 0), (2, 0), (3, 95), (4, 0), (5, 0)];

/// Elements of each array.
const ELEMENTS: usize = 1 << 14;

/// A name, and a body of `void f(int *x, int *y, const int *a, const int *b, const int *c, int n)`, where `a` is mostly zero.
const PROGRAMS: [(&str, &str); 16] = [
    (
        "product with a sum",
        "for (int i = 0; i < n; i++) { int t = a[i]; x[i] = t * (b[i] + c[i]); }",
    ),
    (
        "live at start (gcc)",
        "for (int i = 0; i < n; i++) { int t = a[i]; int l = t & ~y[i]; x[i] |= l; y[i] |= l; }",
    ),
    (
        "sparse product",
        "int s = 0; for (int i = 0; i < n; i++) { int t = a[i]; s += t * b[c[i] & 16383]; } x[0] = s;",
    ),
    (
        "masked blend",
        "for (int i = 0; i < n; i++) { int t = a[i]; x[i] += t * (b[i] - x[i]) >> 8; }",
    ),
    (
        "masked filter",
        "for (int i = 1; i < n - 1; i++) { int t = a[i]; x[i] = t * (b[i - 1] + 2 * b[i] + b[i + 1]); }",
    ),
    (
        "masked 3x3 filter",
        "for (int i = 128; i < n - 129; i++) { int t = a[i]; x[i] = t & (b[i - 128] + b[i - 1] + 4 * b[i] + b[i + 1] + b[i + 128]); }",
    ),
    (
        "weighted histogram",
        "for (int i = 0; i < n; i++) { int t = a[i]; x[c[i] & 16383] += t; }",
    ),
    (
        "marks over edges",
        "for (int i = 0; i < n; i++) { int t = a[i]; x[c[i] & 16383] |= t & y[b[i] & 16383]; }",
    ),
    (
        "score",
        "int s = 0; for (int i = 0; i < n; i++) { int t = a[i]; s += t * b[i] + t * c[i]; } x[0] = s;",
    ),
    (
        "data flow",
        "for (int i = 0; i < n; i++) { int t = a[i]; x[i] |= t & ~b[i]; }",
    ),
    (
        "deltas",
        "for (int i = 0; i < n; i++) { int t = a[i]; x[i] += t; y[i] -= t; }",
    ),
    (
        "palette",
        "for (int i = 0; i < n; i++) { int t = a[i]; x[i] = t * b[c[i] & 16383]; }",
    ),
    (
        "sparse taps",
        "for (int k = 0; k < 64; k++) { int t = a[k]; for (int i = 0; i < 2048; i++) x[i] += t * b[i + k]; }",
    ),
    (
        "patch",
        "for (int i = 0; i < n; i++) { int t = a[i]; x[i] ^= t & b[i]; }",
    ),
    (
        "dirty pages",
        "int s = 0; for (int i = 0; i < n; i++) { int t = a[i]; s += t * b[c[i] & 16383]; y[i] |= t; } x[0] = s;",
    ),
    (
        "two words",
        "for (int i = 0; i < n; i++) { int t = a[i]; x[i] = t & b[i]; y[i] = t & c[i]; }",
    ),
];

/// The function alone.
fn lowered(text: &str) -> Module {
    let items = parse_text(text, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    all.into_iter().next().expect("a function").1.module
}

/// What the interpreter counts on the training input: executions of blocks, and misses in the caches of a machine.
fn profile(module: &Module, machine: &Table) -> Recorded {
    let function = &module.functions[0];
    let mut launch = interp::Launch::for_function(function, 1, 0);
    (launch.block, launch.grid) = ([1; 3], [1; 3]);
    for ((slot, zeros), buffer) in TRAINING.into_iter().zip(&mut launch.buffers) {
        *buffer = Buffer::global(numbers(8 + slot, zeros));
    }
    let count = launch.parameters.last_mut().expect("a count");
    *count = Argument::Bits(ELEMENTS as u64);
    let mut recorder = Recorder::new(function, Stream::default());
    if let Some(caches) = timing(machine).and_then(|timing| timing.caches) {
        recorder.through_caches(module, &launch, &caches);
    }
    let outcome = interp::run_with(module, &launch, &mut recorder, &());
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    recorder.finish()
}

/// Misses of the first level, cycles, and the stored values.
struct Ran {
    misses: u64,
    cycles: u64,
    stored: Vec<u8>,
}

/// Loops are pipelined, and branches become predicates.
fn options() -> Options {
    Options {
        pipeline: Some(pipeline::Options::default()),
        convert: true,
        ..Options::default()
    }
}

fn assembly(text: &str) -> String {
    let module = lowered(text);
    let table = machine::named("itanium2").expect("a table");
    let emitted = emit(&module, table.epic().expect("groups"), &options());
    emitted.unwrap_or_else(|why| panic!("{why:?}\n{text}")).text
}

/// Numbers of a seed, of which so many in a hundred are zero.
fn numbers(seed: u64, zeros: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(4 * ELEMENTS);
    for _ in 0..ELEMENTS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let number = match (state >> 20) % 100 < zeros {
            true => 0,
            false => (state >> 33) as u32 % 50_000 + 1,
        };
        out.extend(number.to_le_bytes());
    }
    out
}

fn simulated(assembly: &str, machine: &str, seed: u64, zeros: u64) -> Ran {
    let document = syntax::ia64::parse(assembly);
    let (program, problems) = Program::new(&document, assembly);
    assert!(problems.is_empty(), "{problems:?}");
    let table = machine::named(machine).expect("a machine");
    let limits = Limits {
        steps: 100_000_000,
        timing: Some(timing(&table).expect("a machine that is simulated")),
        ..Limits::default()
    };
    let mut memory = Memory::new();
    let mut given = Vec::new();
    let mut places = Vec::new();
    for (slot, often) in TRAINING {
        let zeros = if often > 0 { zeros } else { 0 };
        let bytes = numbers(seed * 8 + slot, zeros);
        let address = memory.place(&bytes).expect("room");
        places.push(address);
        given.push(Arg::Integer(address));
    }
    given.push(Arg::Integer(ELEMENTS as u64));
    let outcome = run(&program, "f", &given, &mut memory, &limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{assembly}"));
    let mut stored = Vec::new();
    for &place in &places[..2] {
        stored.extend_from_slice(memory.bytes(place, 4 * ELEMENTS).expect("placed"));
    }
    let counts = outcome.memory.expect("caches");
    Ran {
        misses: counts.levels[0].misses,
        cycles: outcome.cycles.expect("a processor"),
        stored,
    }
}

/// The cycles of the training input that a guard is expected to save.
struct Expected {
    with_misses: f64,
    without: f64,
    /// It is worth it.
    offered: bool,
}

/// The text with the trigger's guard.
fn guarded(text: &str, machine: &Table) -> Result<(String, Expected), String> {
    let unit = preprocess_text("f.c", text, Dialect::C);
    let parsed = parse_unit(&unit, Dialect::C);
    let items: Vec<_> = parsed
        .iter()
        .map(|(_, _, item)| Arc::new(item.clone()))
        .collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let (start, _, item) = &parsed[0];
    let tokens = &unit.items[0].tokens;
    let source = Source::new(
        item,
        tokens,
        text,
        *start,
        &environment,
        &bodies,
        Language::C,
    );
    let function = functions_of(item)[0];
    let mut all = candidates(&source, function).into_iter();
    let trigger = all
        .find(|candidate| candidate.name == "t")
        .ok_or("no trigger")?;
    let settings = Settings {
        each_lane: true,
        ..Settings::default()
    };
    let version = version(&source, function, &trigger, settings).map_err(|why| why.to_string())?;
    let (span, new) = &version.edit;
    let mut after = text.to_owned();
    after.replace_range(span.start as usize..span.end as usize, new);
    // As the action decides, at the share of the training input.
    let before = lowered(text);
    let recorded = profile(&before, machine);
    let entries = recorded.warps as f64;
    let mut executions = EntityVec::<Block, f64>::with_len(0.0, recorded.blocks.len());
    for (block, &count) in recorded.blocks.iter() {
        executions[block] = count as f64 / entries;
    }
    let costs = machine
        .epic()
        .ok_or("no groups")?
        .costs(machine.name.clone());
    let places = parts(new, &version.test, None, span.start - start).ok_or("no parts")?;
    let lowered = lowered(&after);
    let loops = [&before, &lowered].map(|module| scheduled(machine, module, &options()));
    let model = |misses: &FxHashMap<Value, Misses>| {
        let profiled = Profiled {
            function: &before.functions[0],
            executions: &executions,
            misses,
            old: &text[span.start as usize..span.end as usize],
            new,
            start: span.start - start,
        };
        let schedules = Schedules {
            function: &before.functions[0],
            before: &loops[0],
            after: &loops[1],
            region: Span::new(profiled.start, profiled.start + (span.end - span.start)),
        };
        let model = estimate(
            &lowered.functions[0],
            places,
            &costs,
            Some(profiled),
            Some(&schedules),
        );
        Model {
            probability: 0.95,
            ..least_of_a_thread(model)
        }
    };
    let expected = Expected {
        with_misses: model(&recorded.misses.iter().copied().collect()).saved(),
        without: model(&FxHashMap::default()).saved(),
        offered: false,
    };
    let model = model(&recorded.misses.iter().copied().collect());
    let expected = Expected {
        offered: model.accepted(Rule::Corrected),
        ..expected
    };
    Ok((after, expected))
}

/// The assembly of a program before and after its profile, and the loads that are skipped; `None`: nothing is.
fn on_ir(text: &str, machine: &Table) -> Option<([String; 2], usize)> {
    let module = lowered(text);
    let recorded = profile(&module, machine);
    let (numbers, paths) = recorded.paths.as_ref()?;
    let misses: FxHashMap<Value, Misses> = recorded.misses.iter().copied().collect();
    let counts: FxHashMap<Value, &Counts> = recorded
        .values
        .iter()
        .map(|(value, counts)| (*value, counts))
        .collect();
    let zeros = SkipProfile {
        share: &|value, absorbing| {
            let of = counts.get(&value)?;
            (of.executions > 0 && absorbing == Absorbing::Zero)
                .then(|| of.zeros as f64 / of.executions as f64)
        },
        waited: &|value| misses.get(&value).map_or(0.0, Misses::spared_wait),
        least: 1.0,
    };
    let counted = Counted {
        numbers,
        profile: paths,
        edges_alone: false,
    };
    let epic = machine.epic()?;
    let done = decided(&module, counted, Some(&zeros), epic, &options())?;
    let loads = done.skipped.iter().map(|it| it.loads.len()).sum();
    if loads == 0 {
        return None;
    }
    let code = |function: &Function, executions: &[u64]| {
        let mut module = module.clone();
        module.functions[0] = function.clone();
        let mut options = options();
        let counts = executions.iter().map(|&count| count as f64).collect();
        options.weights.insert(function.name.clone(), counts);
        Some(emit(&module, epic, &options).ok()?.text)
    };
    let before = code(&module.functions[0], &done.executions_before)?;
    Some(([before, code(&done.function, &done.executions)?], loads))
}

/// Prints the table of the IR.
fn ir_table(machine: &str, table: &Table) {
    println!("| program, on the IR | loads | misses | skipped | % | cycles | skipped | % |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut ratios = [[0.0f64; 2]; 2];
    let mut count = 0u32;
    for (name, body) in PROGRAMS {
        let text = text_of(body);
        let Some((codes, loads)) = on_ir(&text, table) else {
            println!("| {name} | 0 | | | | | | |");
            continue;
        };
        count += 1;
        for (at, (seed, zeros)) in [(1, 95), (2, 90)].into_iter().enumerate() {
            let [before, now] = codes
                .each_ref()
                .map(|code| simulated(code, machine, seed, zeros));
            assert!(
                before.stored == now.stored,
                "{name} computes something else\n{}",
                codes[1]
            );
            let misses = now.misses as f64 / before.misses.max(1) as f64;
            let cycles = now.cycles as f64 / before.cycles as f64;
            ratios[at][0] += misses.ln();
            ratios[at][1] += cycles.ln();
            println!(
                "| {name}, {} | {loads} | {} | {} | {:.1} | {} | {} | {:.1} |",
                ["training", "test"][at],
                before.misses,
                now.misses,
                100.0 * (1.0 - misses),
                before.cycles,
                now.cycles,
                100.0 * (1.0 - cycles)
            );
        }
    }
    means(count, ratios);
}

/// The text of a program, with a statement a line.
fn text_of(body: &str) -> String {
    let body = body
        .replace("{ ", "{\n")
        .replace("; ", ";\n")
        .replace(" }", "\n}\n");
    let text = format!(
        "void f(int *x, int *y, const int *a, const int *b, const int *c, int n)\n{{\n{body}\n}}\n"
    );
    // The heads of loops stay in one line.
    let text = text.replace(";\ni <", "; i <").replace(";\ni++", "; i++");
    text.replace(";\nk <", "; k <").replace(";\nk++", "; k++")
}

/// Prints the geometric means of so many programs.
fn means(count: u32, ratios: [[f64; 2]; 2]) {
    for (at, input) in ["training", "test"].into_iter().enumerate() {
        let less = |sum: f64| 100.0 * (1.0 - (sum / f64::from(count.max(1))).exp());
        println!(
            "geometric mean of {count} programs, {input}: {:.1} % fewer misses, {:.1} % fewer cycles",
            less(ratios[at][0]),
            less(ratios[at][1])
        );
    }
}

fn main() {
    let machine = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "bratt2001".into());
    let table = machine::named(&machine).expect("a machine");
    println!(
        "| program | misses | skipped | % | cycles | skipped | % | saved, measured | estimate | without misses |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut ratios = [[0.0f64; 2]; 2];
    let mut count = 0u32;
    for (name, body) in PROGRAMS {
        let text = text_of(body);
        let (after, expected) = match guarded(&text, &table) {
            Ok(made) => made,
            Err(why) => {
                println!("| {name} | | {why} | | | | | | | |");
                continue;
            }
        };
        for (at, (seed, zeros)) in [(1, 95), (2, 90)].into_iter().enumerate() {
            let before = simulated(&assembly(&text), &machine, seed, zeros);
            let now = simulated(&assembly(&after), &machine, seed, zeros);
            assert!(
                before.stored == now.stored,
                "{name} computes something else\n{after}"
            );
            let misses = now.misses as f64 / before.misses.max(1) as f64;
            let cycles = now.cycles as f64 / before.cycles as f64;
            if expected.offered {
                ratios[at][0] += misses.ln();
                ratios[at][1] += cycles.ln();
            }
            let less = |ratio: f64| 100.0 * (1.0 - ratio);
            let input = match expected.offered {
                true => ["training", "test"][at],
                false => ["training, not offered", "test, not offered"][at],
            };
            let saved = match at {
                0 => format!(
                    "{} | {:.0} | {:.0}",
                    before.cycles as i64 - now.cycles as i64,
                    expected.with_misses,
                    expected.without
                ),
                _ => "| |".to_owned(),
            };
            println!(
                "| {name}, {input} | {} | {} | {:.1} | {} | {} | {:.1} | {saved} |",
                before.misses,
                now.misses,
                less(misses),
                before.cycles,
                now.cycles,
                less(cycles)
            );
        }
        count += u32::from(expected.offered);
    }
    means(count, ratios);
    ir_table(&machine, &table);
}
