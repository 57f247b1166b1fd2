//! Pipelined loops execute as the loops they were made from: random functions on virtual registers, one operation a group,
//! against the same pipelined, in the simulator, for all trip counts from 0 up. Registers outside of the kernel are given
//! out one each.
//!
//! `LOCKSTEP_LOOPS` says how many functions; GNU `as` judges the text where it is found (`LOCKSTEP_IA64_AS`).
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;
#[path = "ia64_pipeline/early_exits.rs"]
mod early_exits;
#[path = "ia64_pipeline/generate.rs"]
mod generate;
#[path = "ia64_pipeline/print.rs"]
mod print;

use assembler::{assembled, assembler};
use generate::generate;
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::code::Function;
use lockstep_codegen::target::ia64::listing::listing;
use lockstep_codegen::target::ia64::pipeline::{
    Epilogue, LoopReport, Method, Options, Reason, pipeline_loops,
};
use print::print;
use simulate::ia64::{Arg, Limits, Memory, Program, Timing, run};

/// Elements in front of and behind the indexed ones.
const PAD: usize = 16;
const WORDS: usize = 64;

/// Returns the outcome of a run: the result, and memory.
fn executed(
    text: &str,
    seed: u64,
    trips: u64,
    timing: Option<Timing>,
    deferred: Option<u64>,
) -> (Option<u64>, Vec<u8>, u64) {
    let document = syntax::ia64::parse(text);
    assert_eq!(document.problems, [], "{text}");
    let (program, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{text}");
    let mut memory = Memory::new();
    let mut state = seed | 1;
    let mut words = |count: usize| -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..count {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            out.extend(((state >> 33) % 12).to_le_bytes());
        }
        out
    };
    let size = 8 * WORDS;
    let (a, b) = (words(WORDS), words(WORDS));
    let a = memory.place(&a).expect("room");
    let b = memory.place(&b).expect("room");
    let out = memory.place(&vec![0; 256]).expect("room");
    let pad = 8 * PAD as u64;
    let arguments = [a + pad, b + pad, out, trips, 5, 7].map(Arg::Integer);
    let limits = Limits {
        steps: 200_000,
        timing,
        deferred,
        ..Limits::default()
    };
    let outcome = run(&program, "f", &arguments, &mut memory, &limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(outcome.violations, [], "{text}");
    assert_eq!(outcome.changed, [], "{text}");
    let mut bytes = memory.bytes(a, size).expect("mapped").to_vec();
    bytes.extend(memory.bytes(b, size).expect("mapped"));
    bytes.extend(memory.bytes(out, 256).expect("mapped"));
    (outcome.result, bytes, outcome.cycles.unwrap_or(0))
}

fn pipelined(
    function: &Function,
    machine: &str,
    method: Option<Method>,
    unroll: Option<u32>,
    epilogue: Epilogue,
) -> (Function, Vec<LoopReport>) {
    let table = machine::named(machine).expect("a table");
    let mut changed = function.clone();
    let options = Options {
        method,
        unroll,
        epilogue,
        always: true,
        ..Options::default()
    };
    let reports = pipeline_loops(
        &mut changed,
        table.epic().expect("explicit groups"),
        &options,
    );
    (changed, reports)
}

#[test]
fn random_loops_execute_as_before() {
    let count: u64 = std::env::var("LOCKSTEP_LOOPS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(60);
    let first: u64 = std::env::var("LOCKSTEP_FIRST")
        .ok()
        .and_then(|first| first.parse().ok())
        .unwrap_or(0);
    let assembler = assembler();
    let said_of = |text: &str| match &assembler {
        Some(assembler) => assembled(assembler, text),
        None => String::new(),
    };
    let (mut done, mut runs, mut at_bound, mut unrolled, mut crowded) = (0, 0, 0, 0, 0);
    let (mut drained, mut saved, mut bundles) = (0, 0, 0);
    let mut why: Vec<String> = Vec::new();
    for seed in first..first + count {
        let function = generate(seed);
        let plain = print(&function).expect("registers");
        let said = said_of(&plain);
        assert_eq!(said, "", "{seed}:\n{plain}");
        let trips: Vec<u64> = (0..=9).collect();
        let expected: Vec<_> = trips
            .iter()
            .map(|&trips| executed(&plain, seed ^ trips, trips, None, None))
            .collect();
        let methods = [None].into_iter().chain(Method::EXITS.map(Some));
        let ways = methods.enumerate().flat_map(|(number, method)| {
            [Epilogue::Kernel, Epilogue::Explicit].map(|epilogue| (number, method, epilogue))
        });
        for (number, method, epilogue) in ways {
            let machine = if (seed + number as u64).is_multiple_of(2) {
                "itanium"
            } else {
                "itanium2"
            };
            let unroll = [None, Some(2), None, Some(3), Some(1), Some(4)];
            let unroll = unroll[((seed / 2 + number as u64) % 6) as usize];
            let (changed, reports) = pipelined(&function, machine, method, unroll, epilogue);
            assert!(!reports.is_empty(), "{seed}: no loop\n{plain}");
            for report in &reports {
                if !report.pipelined {
                    why.extend(
                        report
                            .reasons
                            .last()
                            .map(|reason| format!("{method:?}: {reason}")),
                    );
                    continue;
                }
                unrolled += u32::from(report.unrolled > 1);
                if let Some(drain) = report.epilogue {
                    drained += 1;
                    saved += i64::from(drain.rounds) - i64::from(drain.cycles);
                    bundles += drain.bundles;
                } else if epilogue == Epilogue::Explicit {
                    let last = report.reasons.last().expect("a reason");
                    assert!(matches!(last, Reason::Epilogue(_)), "{last}");
                    why.push(last.to_string());
                }
                if report.ii == Some(report.min_ii()) {
                    at_bound += 1;
                }
            }
            if !reports.iter().any(|report| report.pipelined) {
                continue;
            }
            done += 1;
            let Some(text) = print(&changed) else {
                crowded += 1;
                continue;
            };
            let document = syntax::ia64::parse(&text);
            let listed = listing(&document, &text);
            assert_eq!(listed.violations(), [], "{seed} {method:?}:\n{text}");
            let said = said_of(&text);
            assert_eq!(said, "", "{seed} {method:?}:\n{text}");
            for (&trips, before) in trips.iter().zip(&expected) {
                // Every other run, speculative loads that could succeed fail now and then.
                let deferred = (trips % 2 == 1).then_some(seed);
                let after = executed(&text, seed ^ trips, trips, None, deferred);
                let apart: Vec<usize> = (0..before.1.len() / 8)
                    .filter(|&at| before.1[8 * at..8 * at + 8] != after.1[8 * at..8 * at + 8])
                    .collect();
                assert!(
                    before.0 == after.0 && apart.is_empty(),
                    "{:?} {:?}, words {apart:?} differ: {seed} {method:?} {epilogue:?} {machine}, {trips} trips:\n{plain}\n=====\n{text}\n{reports:#?}",
                    before.0,
                    after.0
                );
                runs += 1;
            }
        }
    }
    why.sort();
    let mut counted: Vec<(usize, String)> = Vec::new();
    for each in why {
        match counted.last_mut() {
            Some((count, last)) if *last == each => *count += 1,
            _ => counted.push((1, each)),
        }
    }
    println!(
        "{done} pipelined, {unrolled} of several iterations, {at_bound} at the bound, {crowded} without a register for each value, {runs} runs compared; {drained} with explicit epilogues of {bundles} bundles, {saved} cycles fewer than by their kernels; not: {counted:#?}"
    );
    assert!(drained as u64 * 2 > count);
    assert!(done as u64 * 2 > count);
}
