//! Probes in IA-64 assembly: functions with them compute the same, and their counters agree with the
//! simulator's observations, for the loops of the fixtures and for random programs of C.
//! `LOCKSTEP_IA64_PROGRAMS` says how many programs.
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

/// Compares the counters of a function with the observed events.
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
                let wanted = unplaced(table(values, ENTRIES, CLEARED));
                let found = unplaced(values_of(own, number).ok_or("no table")?);
                if found != wanted {
                    return Err(format!("line {}: {found:?}, not {wanted:?}", site.line));
                }
            }
            Ok(())
        }
    }
}

/// Functions lie elsewhere in the copy: a value that may be the address of one stands for any.
fn unplaced((total, mut values): (u64, Vec<(u64, u64)>)) -> (u64, Vec<(u64, u64)>) {
    let is_code = |value: u64| (0x4000..0x4_0000).contains(&value) && value.is_multiple_of(16);
    for (value, _) in values.iter_mut().filter(|(value, _)| is_code(*value)) {
        *value = u64::MAX;
    }
    values.sort_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
    (total, values)
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

/// A function's run without and with probes.
struct Cost {
    name: String,
    cycles: [u64; 2],
    nops: [u64; 2],
}

impl Cost {
    fn ratio(&self) -> f64 {
        self.cycles[1] as f64 / self.cycles[0] as f64
    }
}

/// The runs of the loops of the fixtures on `n` elements and of random programs with their branches counted, the dearest first.
fn costs(n: u64, pipelined: bool) -> Vec<Cost> {
    let mut kernels: Vec<(String, String, Kernel)> = Vec::new();
    for looped in loops::loops() {
        let kernel = looped.kernel(n, 0);
        kernels.push((looped.name, looped.text, kernel));
    }
    for seed in 0..20 {
        let kernel = oracle::random::c::kernel(seed);
        kernels.push((format!("program {seed}"), kernel.text.clone(), kernel));
    }
    let mut out = Vec::new();
    for (name, source, kernel) in kernels {
        let text = emitted(&source, "itanium2", pipelined);
        if !text.contains(&format!(".proc {}\n", kernel.name)) {
            continue;
        }
        let made = with_probes(&text, "itanium2", Probe::Branch);
        assert_eq!(made.refused, [], "{name}");
        let [before, after] = [&text, &made.text].map(|text| {
            let ran = ran(&kernel, text, 0, Some("itanium2"), 1);
            ran.unwrap_or_else(|why| panic!("{name}: {why}\n{text}"))
                .outcome
        });
        out.push(Cost {
            name,
            cycles: [
                before.cycles.expect("cycles"),
                after.cycles.expect("cycles"),
            ],
            nops: [before.nops, after.nops],
        });
    }
    out.sort_by(|first, second| second.ratio().total_cmp(&first.ratio()));
    out
}

/// The cost of counting branches, in the simulator's clock. `LOCKSTEP_PROBE_COSTS` prints every function.
#[test]
fn counters_of_branches_cost_at_most_a_fifth() {
    let all = std::env::var_os("LOCKSTEP_PROBE_COSTS").is_some();
    for (n, pipelined) in [(400, true), (400, false), (10, false)] {
        let costs = costs(n, pipelined);
        let count = costs.len();
        let mean = costs.iter().map(|cost| cost.ratio().ln()).sum::<f64>() / count as f64;
        let mean = mean.exp();
        let nops = |which: usize| costs.iter().map(|cost| cost.nops[which]).sum::<u64>() as f64;
        let more = nops(1) / nops(0) - 1.0;
        println!(
            "{count} functions, {n} elements, pipelined: {pipelined}: cycles {mean:.3} times in the geometric mean, nops {:+.1} %",
            100.0 * more
        );
        for cost in costs.iter().take(if all { count } else { 5 }) {
            println!(
                "{:.3}  {}: cycles {:?}, nops {:?}",
                cost.ratio(),
                cost.name,
                cost.cycles,
                cost.nops
            );
        }
        assert!(count >= 20);
        assert!(mean <= 1.2 && more <= 0.2, "{mean} {more}");
    }
}

/// Texts whose lines were left out, doubled and exchanged at random: functions that get probes have their old
/// effects, and the rest is refused.
#[test]
fn broken_texts_are_refused_or_do_what_they_did() {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    let all = loops::loops();
    let (mut same, mut refused) = (0, 0);
    for (seed, looped) in (0..).zip(all.iter().cycle().take(8 * all.len())) {
        let mut rng = StdRng::seed_from_u64(seed);
        let text = emitted(&looped.text, "itanium2", seed as usize / all.len() % 2 == 1);
        let mut lines: Vec<&str> = text.lines().collect();
        for _ in 0..rng.random_range(1..3) {
            let (at, other) = (
                rng.random_range(0..lines.len()),
                rng.random_range(0..lines.len()),
            );
            match rng.random_range(0..3) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[other]),
                _ => lines.swap(at, other),
            }
        }
        let broken = lines.join("\n") + "\n";
        let kernel = looped.kernel(7, 0);
        for probe in PROBES {
            let made = with_probes(&broken, "itanium2", probe);
            refused += made.refused.len();
            // Groups that are wrong have no meaning.
            let Ok(before) = ran(&kernel, &broken, 0, None, 1) else {
                continue;
            };
            let after = ran(&kernel, &made.text, made.counters as usize, None, 1);
            let after = after
                .unwrap_or_else(|why| panic!("{probe:?}: {why}\n{}\nbefore:\n{broken}", made.text));
            assert!(
                left(&kernel, &before) == left(&kernel, &after),
                "{probe:?}: {:?} {:?}\n{}\nbefore:\n{broken}",
                before.outcome.result,
                after.outcome.result,
                made.text
            );
            same += 1;
        }
    }
    println!("{same} runs agree, {refused} refusals");
    assert!(same > 300 && refused > 50, "{same} {refused}");
}
