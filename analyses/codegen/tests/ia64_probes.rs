//! Probes in IA-64 assembly: functions with them compute what they did, and their counters hold what the simulator saw, for
//! the loops of the fixtures and for random programs of C. `LOCKSTEP_IA64_PROGRAMS` says how many programs.
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
#[allow(dead_code)]
mod assembler;
#[path = "support/judge.rs"]
#[allow(dead_code)]
mod judge;
#[path = "support/loops.rs"]
#[allow(dead_code)]
mod loops;
#[path = "ia64_probes/vectors.rs"]
mod vectors;
#[path = "ia64_probes/watch.rs"]
mod watch;

use assembler::{assembled, assembler};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::instrument::{
    CLEARED, Counts, ENTRIES, Instrumented, Probe, Probed, instrument, values_of,
};
use lockstep_codegen::target::ia64::listing::listing;
use oracle::random::c::Kernel;
use std::collections::BTreeMap;
use watch::{Ran, emitted, left, ran, table};

const PROBES: [Probe; 4] = [Probe::Entry, Probe::Branch, Probe::Path, Probe::Value];

pub(crate) fn with_probes(text: &str, machine: &str, probe: Probe) -> Instrumented {
    let document = syntax::ia64::parse(text);
    let listed = listing(&document, text);
    let table = machine::named(machine).expect("a table");
    let epic = table.epic().expect("explicit groups");
    instrument(&document, text, &listed, epic, probe, None)
}

/// Compares the counters of a function with what was seen.
fn compared(function: &Probed, ran: &Ran, text: &str) -> Result<(), String> {
    let own = function.own(&ran.counters);
    let trace = &ran.trace;
    let lines = text.lines().count() as u32;
    let end = text
        .lines()
        .zip(1..)
        .skip(function.line as usize)
        .find(|(line, _)| line.trim_start().starts_with(".endp"))
        .map_or(lines, |(_, number)| number);
    let within = |line: u32| (function.line..end).contains(&line);
    let activations = trace
        .activations
        .iter()
        .filter(|all| all.lines.first().is_some_and(|&(line, _)| within(line)));
    match &function.counts {
        Counts::Entry => {
            let entries = activations.count() as u64;
            (own == [entries])
                .then_some(())
                .ok_or(format!("{own:?} for {entries} entries"))
        }
        Counts::Branch(flow) => {
            let solved = flow.solved(own).map_err(|error| error.to_string())?;
            let found: BTreeMap<u32, (u64, u64)> = flow
                .branch_rows(&solved)
                .iter()
                .map(|row| (row.line, (row.executed, row.taken)))
                .filter(|(_, (executed, _))| *executed > 0)
                .collect();
            let seen: BTreeMap<u32, (u64, u64)> = trace
                .branches
                .iter()
                .filter(|(line, _)| within(**line))
                .map(|(&line, &row)| (line, row))
                .collect();
            (found == seen)
                .then_some(())
                .ok_or(format!("{found:?}\nseen {seen:?}"))
        }
        Counts::Path(paths) => {
            let graph = paths.numbers.graph();
            // The lines of nodes, from the paths that go through them.
            let mut starts: BTreeMap<usize, u32> = BTreeMap::new();
            for number in 0..paths.numbers.count() {
                let path = paths.numbers.path(number).expect("a path");
                let lines = &paths.lines[number as usize];
                starts.extend(path.nodes.iter().copied().zip(lines.iter().copied()));
            }
            let mut seen = vec![0u64; paths.numbers.count() as usize];
            for activation in activations {
                let mut walk = paths.numbers.enter();
                let begins = |line: u32| starts.values().any(|&start| start == line);
                for &(line, jumped) in activation
                    .lines
                    .iter()
                    .skip(1)
                    .filter(|(line, _)| begins(*line))
                {
                    let next = &graph.successors[walk.node];
                    let mut fits =
                        (0..next.len()).filter(|&edge| starts.get(&next[edge]) == Some(&line));
                    // Of two edges to one block the branch is the first.
                    let edge = if jumped {
                        fits.next()
                    } else {
                        fits.next_back()
                    };
                    let edge = edge.ok_or(format!("no way to line {line}"))?;
                    if let Some(number) = paths.numbers.step(&mut walk, edge) {
                        seen[number as usize] += 1;
                    }
                }
                let mut out = graph.successors[walk.node].iter();
                if let Some(edge) = out.position(|&to| graph.successors[to].is_empty()) {
                    paths.numbers.step(&mut walk, edge);
                }
                seen[paths.numbers.leave(walk) as usize] += 1;
            }
            (own == seen)
                .then_some(())
                .ok_or(format!("{own:?}\nseen {seen:?}"))
        }
        Counts::Value(sites) => {
            for (number, site) in sites.iter().enumerate() {
                let none = Vec::new();
                let values = trace.values.get(&site.line).unwrap_or(&none);
                let wanted = table(values, ENTRIES, CLEARED);
                let found = values_of(own, number).ok_or("no table")?;
                if found != wanted {
                    return Err(format!("line {}: {found:?}, not {wanted:?}", site.line));
                }
            }
            Ok(())
        }
    }
}

#[derive(Default, Debug)]
struct Tally {
    functions: u32,
    refused: BTreeMap<String, u32>,
    runs: u32,
    counters: u64,
}

impl Tally {
    fn judge(
        &mut self,
        name: &str,
        kernels: &[Kernel],
        text: &str,
        machine: &str,
        probe: Probe,
    ) -> String {
        let made = with_probes(text, machine, probe);
        self.functions += made.functions.len() as u32;
        self.counters += u64::from(made.counters);
        for (_, refusal) in &made.refused {
            let shown = refusal.to_string();
            let short = shown
                .split(|letter: char| letter.is_ascii_digit())
                .next_back();
            *self
                .refused
                .entry(short.unwrap_or("").to_owned())
                .or_default() += 1;
        }
        for kernel in kernels {
            let whole = || format!("{name}, {probe:?}\n{}\nbefore:\n{text}", made.text);
            let before =
                ran(kernel, text, 0, None, 1).unwrap_or_else(|why| panic!("{why}\n{}", whole()));
            let after = ran(kernel, &made.text, made.counters as usize, None, 1)
                .unwrap_or_else(|why| panic!("{why}\n{}", whole()));
            let same = left(kernel, &before) == left(kernel, &after);
            assert!(same, "another result\n{}", whole());
            // Lines are those of the text without probes.
            let judged = Ran {
                counters: after.counters,
                ..before
            };
            for function in &made.functions {
                if let Err(why) = compared(function, &judged, text) {
                    panic!("{}: {why}\n{}", function.name, whole());
                }
            }
            self.runs += 1;
        }
        made.text
    }
}

#[test]
fn loops_of_the_fixtures_count_what_the_simulator_sees() {
    let all = loops::loops();
    let assembler = assembler();
    for probe in PROBES {
        let mut tally = Tally::default();
        for (at, looped) in all.iter().enumerate() {
            let machine = ["itanium2", "itanium"][at % 2];
            for pipelined in [false, true] {
                let text = emitted(&looped.text, machine, pipelined);
                let kernels: Vec<Kernel> = [(0, 0), (1, 1), (7, 0), (40, 1)]
                    .map(|(n, variant)| looped.kernel(n, variant))
                    .into();
                let after = tally.judge(&looped.name, &kernels, &text, machine, probe);
                if let Some(assembler) = &assembler {
                    let said = assembled(assembler, &after);
                    assert_eq!(said, "", "{}, {probe:?}\n{after}", looped.name);
                }
            }
        }
        println!("{probe:?}: {tally:?}");
        assert!(tally.functions > 80, "{tally:?}");
    }
}

#[test]
fn random_programs_count_what_the_simulator_sees() {
    let programs: u64 = std::env::var("LOCKSTEP_IA64_PROGRAMS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(40);
    let assembler = assembler();
    for probe in PROBES {
        let mut tally = Tally::default();
        for seed in 0..programs {
            let kernel = match seed % 2 {
                0 => oracle::random::c::kernel(seed),
                _ => oracle::random::c::wide(seed).kernel,
            };
            let machine = ["itanium2", "itanium"][seed as usize / 2 % 2];
            let text = emitted(&kernel.text, machine, seed % 4 > 1);
            if !text.contains(&format!(".proc {}\n", kernel.name)) {
                continue;
            }
            let after = tally.judge(&format!("program {seed}"), &[kernel], &text, machine, probe);
            if let Some(assembler) = &assembler {
                let said = assembled(assembler, &after);
                assert_eq!(said, "", "program {seed}, {probe:?}\n{after}");
            }
        }
        println!("{probe:?}: {tally:?}");
        assert!(u64::from(tally.functions) * 2 > programs, "{tally:?}");
    }
}
