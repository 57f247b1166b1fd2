//! What is emitted, by counts: code that computes the right thing may still be longer, or slower, than it was.
//!
//! Of random programs and of the loops in `fixtures/c/loops` the tables beside this file pin how often each instruction is printed for
//! IA-64 and PTX, intervals and stages of the loops, groups and bundles, spilled registers, refusals, and how versions on zero
//! rewrite their source. `UPDATE_FIXTURES=1` rewrites the tables: who changes a pass sees in the difference what it costs or gains.
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

use ir::lower::c_family::{Environment, UnitBodies};
use ir::random::c::{kernel, wide};
use ir::random::{Shape, program};
use judge::module_of;
use lockstep_codegen::allocate::Limits;
use lockstep_codegen::machine;
use lockstep_codegen::pipeline::software::{self, Epilogue};
use lockstep_codegen::specialize::source::{Settings, Source, candidates, functions_of, version};
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ptx;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use syntax::c_family::{Dialect, parse_unit};
use syntax::preprocess::preprocess_text;

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
                for one in &report.loops {
                    let told = format!("{one:?}");
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
        pipeline: Some(software::Options {
            epilogue,
            unroll,
            ..software::Options::default()
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

/// A line a loop: what becomes of it.
#[test]
fn loops_for_ia64() {
    let mut table = String::new();
    let machine = machine::named("itanium2").expect("a table");
    let epic = machine.epic().expect("explicit groups");
    for one in loops::loops() {
        let options = Options {
            decisions: 60,
            pipeline: Some(software::Options::default()),
            ..Options::default()
        };
        let Ok(emitted) = emit(&one.module, epic, &options) else {
            let _ = writeln!(table, "{}: refused", one.name);
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
            one.name
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
                report.speculative,
                report.checks,
                report.advanced,
                report.tests,
            );
        }
    }
    assert!(table.lines().count() > 60);
    pinned("loops", &table);
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

/// Versions on zero: what is offered of random kernels, what is refused, and what the fast path is made of.
#[test]
fn versions_in_the_source() {
    let mut table = String::new();
    for language in [generate::Language::Cuda, generate::Language::Hlsl] {
        let (dialect, own) = match language {
            generate::Language::Cuda => (Dialect::Cuda, ir::Language::Cuda),
            generate::Language::Hlsl => (Dialect::Hlsl, ir::Language::Hlsl),
        };
        for absorb in [true, false] {
            let mut counts = Counts::default();
            for seed in 0..10 {
                let text = generate::kernel(seed, language);
                let unit = preprocess_text("main", &text, dialect);
                let parsed = parse_unit(&unit, dialect);
                let items: Vec<Arc<_>> = parsed
                    .iter()
                    .map(|(_, _, item)| Arc::new(item.clone()))
                    .collect();
                let environment = Environment::new(&items);
                let bodies = UnitBodies(
                    items
                        .iter()
                        .map(|item| (item.key.clone(), item.clone()))
                        .collect(),
                );
                for (number, (start, _, item)) in parsed.iter().enumerate() {
                    let source = Source::new(
                        item,
                        &unit.items[number].tokens,
                        &text,
                        *start,
                        &environment,
                        &bodies,
                        own,
                    );
                    for function in functions_of(item) {
                        for candidate in candidates(&source, function).iter().take(24) {
                            let settings = Settings {
                                absorb,
                                whole_warps: seed % 2 == 1,
                                uniform: seed % 3 == 0,
                            };
                            match version(&source, function, candidate, settings) {
                                Ok(version) => {
                                    counts.add(format!(
                                        "work {} of {}",
                                        version.fast_work, version.work
                                    ));
                                    counts.add(format!(
                                        "lines {} of {}, absorbs {}",
                                        version.fast_lines, version.lines, version.absorbs
                                    ));
                                    for word in version
                                        .edit
                                        .1
                                        .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
                                    {
                                        counts.add(format!("word {}", kind(word)));
                                    }
                                    for sign in
                                        version.edit.1.chars().filter(char::is_ascii_punctuation)
                                    {
                                        counts.add(format!("sign {sign}"));
                                    }
                                }
                                Err(refusal) => counts.add(format!(
                                    "refused: {}",
                                    kind(&format!("{refusal:?}"))
                                        .split(['(', ' ', '{'])
                                        .next()
                                        .unwrap_or_default()
                                )),
                            }
                        }
                    }
                }
            }
            table += &counts.table(&format!("{own:?}, absorbs: {absorb}"));
        }
    }
    pinned("versions", &table);
}
