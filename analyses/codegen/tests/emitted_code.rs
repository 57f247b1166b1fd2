//! Counts of the emitted code: code that computes the right thing may still be longer, or slower, than it
//! was.
//!
//! For random programs and for the loops in `fixtures/c/loops`, the tables beside this file pin the number of
//! times that each instruction is printed for IA-64 and PTX, intervals and stages of the loops, groups and
//! bundles, spilled registers, refusals, and how versions on zero rewrite their source. `UPDATE_FIXTURES=1`
//! rewrites the tables: after a change of a pass, the difference shows its cost or gain.
#![allow(clippy::disallowed_methods)]

#[path = "versioned_source/generate.rs"]
#[allow(dead_code)]
mod generate;
#[path = "support/judge.rs"]
#[allow(dead_code)]
mod judge;
#[path = "support/loops.rs"]
#[allow(dead_code)]
mod loops;
#[path = "support/read.rs"]
mod read;
#[path = "emitted_code/versions.rs"]
mod versions;

use judge::module_of;
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::passes::Limits;
use lockstep_codegen::target::ia64::pipeline::{self, Epilogue};
use lockstep_codegen::target::ptx;
use oracle::random::c::{kernel, wide};
use oracle::random::{Shape, program};
use std::collections::BTreeMap;
use std::fmt::Write as _;

#[derive(Default)]
struct Counts(BTreeMap<String, u64>);

impl Counts {
    fn add(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }
    fn table(&self, title: &str) -> String {
        let mut table = format!("{title}\n");
        for (what, count) in &self.0 {
            let _ = writeln!(table, "{count:>8}  {what}");
        }
        table
    }
}

fn pinned(name: &str, table: &str) {
    let path = format!(
        "{}/tests/emitted_code/{name}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    fixtures::expect_file(path, table).unwrap_or_else(|message| panic!("{message}"));
}

/// A word without its numbers.
fn kind(word: &str) -> String {
    let mut out = String::new();
    for c in word.chars() {
        match c.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(c),
        }
    }
    out
}

/// Instructions of assembly text: the first word of each that is no predicate, and how many operands are constants.
fn instructions(text: &str, counts: &mut Counts) {
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        for part in line
            .split([';', '{', '}'])
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            if part
                .chars()
                .all(|c| "%$_<>.=-[],| ".contains(c) || c.is_ascii_alphanumeric())
                && part.starts_with(['%', '['])
            {
                continue;
            }
            let mut words = part.split_whitespace();
            let first = words.next().unwrap_or_default();
            let guarded = first.starts_with('(') || first.starts_with('@');
            let word = if guarded {
                words.next().unwrap_or_default()
            } else {
                first
            };
            counts.add(format!(
                "{}{}",
                if guarded { "guarded " } else { "" },
                kind(word)
            ));
            let rest: Vec<&str> = words.collect();
            let constants = rest
                .iter()
                .flat_map(|word| word.split(['=', ',', '+', '[', ']']));
            let constants = constants.filter(|word| {
                word.trim_start_matches('-')
                    .starts_with(|c: char| c.is_ascii_digit())
            });
            for constant in constants {
                let digits = constant
                    .trim_start_matches('-')
                    .trim_start_matches("0x")
                    .len();
                counts.add(format!(
                    "constant of {digits} digits{}",
                    if constant.starts_with('-') {
                        ", negative"
                    } else {
                        ""
                    }
                ));
            }
        }
    }
}

fn of_module(module: &ir::Module, processor: &str, options: &Options, counts: &mut Counts) {
    let table = machine::named(processor).expect("a table");
    let epic = table.epic().expect("explicit groups");
    match emit(module, epic, options) {
        Ok(emitted) => {
            instructions(&emitted.text, counts);
            counts.add(format!(
                "groups {}",
                emitted.text.matches(";;").count() / 16
            ));
            for report in &emitted.functions {
                counts.add(format!(
                    "frame {}, spilled {}",
                    report.frame / 16,
                    report.spilled
                ));
                counts.add(format!("fallen back: {}", report.fallen_back.is_some()));
                for each in &report.loops {
                    let told = format!("{each:?}");
                    counts.add(kind(told.split(['(', '{']).next().unwrap_or_default()));
                }
            }
            let cycles = emitted.lines.iter().filter_map(|line| line.cycle).max();
            counts.add(format!(
                "last cycle about {:?}",
                cycles.map(|cycle| cycle / 8 * 8)
            ));
        }
        Err(reasons) => {
            for reason in reasons {
                counts.add(format!(
                    "refused: {}",
                    kind(&format!("{:?}", reason))
                        .split(' ')
                        .take(6)
                        .collect::<Vec<_>>()
                        .join(" ")
                ));
            }
        }
    }
}

fn ways() -> Vec<(&'static str, Options)> {
    let pipelined = |epilogue, unroll| Options {
        decisions: 60,
        contract: true,
        pipeline: Some(pipeline::Options {
            epilogue,
            unroll,
            ..pipeline::Options::default()
        }),
        ..Options::default()
    };
    let few = Limits {
        general: 4,
        float: 3,
        predicate: 2,
    };
    vec![
        (
            "plain",
            Options {
                decisions: 60,
                ..Options::default()
            },
        ),
        (
            "total, few registers",
            Options {
                total: true,
                limits: few,
                decisions: 60,
                ..Options::default()
            },
        ),
        ("pipelined", pipelined(Epilogue::Kernel, None)),
        ("unrolled", pipelined(Epilogue::Explicit, Some(2))),
    ]
}

#[test]
fn kernels_for_ia64() {
    let mut table = String::new();
    for (at, (name, options)) in ways().iter().enumerate() {
        let mut counts = Counts::default();
        for seed in 0..6 {
            let processor = ["itanium", "itanium2"][seed as usize % 2];
            let plain = kernel(seed + 100 * at as u64);
            of_module(
                &module_of(&plain.text, &plain.name),
                processor,
                options,
                &mut counts,
            );
            let wide = wide(seed + 100 * at as u64).kernel;
            of_module(
                &module_of(&wide.text, &wide.name),
                processor,
                options,
                &mut counts,
            );
        }
        table += &counts.table(name);
    }
    pinned("kernels", &table);
}

/// A line per loop: its outcome.
#[test]
fn loops_for_ia64() {
    let mut table = String::new();
    let machine = machine::named("itanium2").expect("a table");
    let epic = machine.epic().expect("explicit groups");
    for each in loops::loops() {
        let options = Options {
            decisions: 60,
            pipeline: Some(pipeline::Options::default()),
            ..Options::default()
        };
        let Ok(emitted) = emit(&each.module, epic, &options) else {
            let _ = writeln!(table, "{}: refused", each.name);
            continue;
        };
        let text = &emitted.text;
        let (lines, groups, nops) = (
            text.lines().count(),
            text.matches(";;").count(),
            text.matches("nop").count(),
        );
        let _ = writeln!(
            table,
            "{}: {lines} lines, {groups} groups, {nops} nops",
            each.name
        );
        for report in emitted.functions.iter().flat_map(|report| &report.loops) {
            let _ = writeln!(
                table,
                "    bounds {} by units, {} by recurrences, {:.2} a round; {:?} cycles for {} rounds by {:?}, {} stages, alone {}; live {:?}; {} speculative, {} checks, {} advanced, {} tests",
                report.res_mii.len(),
                report.rec_mii,
                report.fraction,
                report.ii,
                report.unrolled,
                report.method,
                report.stages,
                report.unpipelined,
                report.max_live,
                report.loads.speculative,
                report.loads.checks,
                report.loads.advanced,
                report.tests,
            );
        }
    }
    assert!(table.lines().count() > 60);
    pinned("loops", &table);
}

/// A line per loop and way of pipelining: intervals, stages, the contents of the code.
#[test]
fn loops_by_every_option_for_ia64() {
    use pipeline::{Disambiguation, Method};
    let base = pipeline::Options {
        always: true,
        ..pipeline::Options::default()
    };
    let few = lockstep_codegen::pipeline::Limits {
        placements: 3,
        decisions: 40,
        intervals: 6,
        least: 1,
    };
    let ways = [
        ("every loop", base),
        (
            "explicit epilogue, twice",
            pipeline::Options {
                epilogue: Epilogue::Explicit,
                unroll: Some(2),
                ..base
            },
        ),
        (
            "without speculation, by a short search",
            pipeline::Options {
                speculation: false,
                limits: few,
                epilogue: Epilogue::Explicit,
                ..base
            },
        ),
        (
            "reassociated, fetched ahead, in pairs",
            pipeline::Options {
                reassociate: true,
                prefetch: true,
                pairs: true,
                ..base
            },
        ),
        (
            "advanced loads",
            pipeline::Options {
                disambiguation: Some(Disambiguation::DataSpeculation),
                method: Some(Method::PredicateRegisters),
                ..base
            },
        ),
        (
            "independent, of few stages",
            pipeline::Options {
                independent: true,
                stages: 3,
                method: Some(Method::Tirumalai),
                ..base
            },
        ),
    ];
    let mut table = String::new();
    for (number, (name, pipeline)) in ways.into_iter().enumerate() {
        let machine = machine::named(["itanium2", "itanium"][number % 2]).expect("a table");
        let epic = machine.epic().expect("explicit groups");
        let _ = writeln!(table, "{name}");
        for each in loops::loops() {
            let options = Options {
                decisions: 60,
                contract: number % 2 == 0,
                pipeline: Some(pipeline),
                ..Options::default()
            };
            let Ok(emitted) = emit(&each.module, epic, &options) else {
                continue;
            };
            let mut counts = Counts::default();
            instructions(&emitted.text, &mut counts);
            let (kinds, all) = (counts.0.len(), counts.0.values().sum::<u64>());
            let rotating =
                emitted.text.matches("br.ctop").count() + emitted.text.matches("br.wtop").count();
            let stops = emitted.text.matches(";;").count();
            let nops = emitted.text.matches("nop").count();
            let _ = write!(
                table,
                "    {}: {all} of {kinds} kinds, {stops} stops, {nops} nops, {rotating} rotating;",
                each.name
            );
            for report in emitted.functions.iter().flat_map(|report| &report.loops) {
                let _ = write!(
                    table,
                    " {:?}, {} stages of {} rounds by {:?}, {} speculative, {} checks, {} advanced, {} tests;",
                    report.ii,
                    report.stages,
                    report.unrolled,
                    report.method,
                    report.loads.speculative,
                    report.loads.checks,
                    report.loads.advanced,
                    report.tests,
                );
            }
            table.push('\n');
        }
    }
    pinned("loop_options", &table);
}

#[test]
fn modules_for_ptx() {
    let base = Shape {
        warp_sizes: vec![32],
        ..Shape::default()
    };
    let shapes = [
        ("all", base.clone()),
        (
            "few",
            Shape {
                math: false,
                functions: 0,
                blocks: 3,
                block_insts: 3,
                ..base.clone()
            },
        ),
        (
            "without exchange",
            Shape {
                warp_ops: false,
                halves: false,
                functions: 2,
                ..base.clone()
            },
        ),
        (
            "words",
            Shape {
                halves: false,
                narrow: false,
                floats: false,
                doubles: false,
                functions: 0,
                blocks: 4,
                ..base
            },
        ),
    ];
    let mut table = String::new();
    for (name, shape) in &shapes {
        let mut counts = Counts::default();
        for seed in 0..60 {
            match ptx::emit(&program(seed, shape).module) {
                Ok(text) => instructions(&text, &mut counts),
                Err(reason) => counts.add(format!(
                    "refused: {}",
                    kind(&format!("{reason:?}"))
                        .split(' ')
                        .take(4)
                        .collect::<Vec<_>>()
                        .join(" ")
                )),
            }
        }
        table += &counts.table(name);
    }
    pinned("ptx", &table);
}
