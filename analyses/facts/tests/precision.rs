//! The precision of facts: facts that an analysis could well do without contradict no execution, and are
//! missed by its users.
//!
//! The facts of random programs and of the fixtures' kernels are counted by their claims (classes at each
//! scope, forms, rounds of loops, strides and sectors of accesses, causes, findings, zeros, operations'
//! costs), and the counts are pinned in tables beside this file. `UPDATE_FIXTURES=1` rewrites them: after a
//! change of an analysis, the difference shows which facts were gained or lost.

extern crate lockstep_facts as facts;

#[path = "source/mod.rs"]
#[allow(dead_code)]
mod source;

use facts::*;
use ir::{Block, Function, FunctionKind, Module, Value};
use oracle::random::{Shape, program};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use syntax::c_family::Dialect;

#[derive(Default)]
struct Counts(BTreeMap<String, i64>);

impl Counts {
    fn add(&mut self, fact: impl Into<String>) {
        *self.0.entry(fact.into()).or_default() += 1;
    }
    /// Adds up numbers that are too many to be counted one by one.
    fn sum(&mut self, what: &str, number: i64) {
        *self.0.entry(format!("{what}, all")).or_default() += number;
    }
    fn table(&self, title: &str) -> String {
        let mut table = format!("{title}\n");
        for (fact, count) in &self.0 {
            let _ = writeln!(table, "{count:>8}  {fact}");
        }
        table
    }
}

fn pinned(name: &str, table: &str) {
    let path = format!("{}/tests/precision/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    fixtures::expect_file(path, table).unwrap_or_else(|message| panic!("{message}"));
}

/// A text without the numbers in it.
fn shape_of(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(c),
        }
    }
    out
}

/// The name of a variant.
fn word_of(text: &str) -> &str {
    text.split(['(', ' ']).next().unwrap_or_default()
}

/// The kind of a cause, without its names.
fn kind_of(reason: &CauseReason) -> String {
    let text = format!("{reason:?}");
    let kind = word_of(&text);
    match reason {
        CauseReason::DependsOn { on, .. } => format!("{kind} {}", word_of(&format!("{on:?}"))),
        _ if text.contains("name: None") => format!("{kind} without a name"),
        _ => kind.to_owned(),
    }
}

/// The block of each value.
fn homes(function: &Function) -> HashMap<Value, Block> {
    let of = |&block: &Block| {
        let data = &function.blocks[block];
        let results = data
            .insts
            .iter()
            .flat_map(|&inst| function.insts[inst].results.iter().copied());
        let all: Vec<Value> = data.params.iter().copied().chain(results).collect();
        all.into_iter().map(move |value| (value, block))
    };
    function.layout.iter().flat_map(of).collect()
}

/// Counts the facts of a function; `exactly`: with the numbers.
fn count(
    module: &Module,
    number: usize,
    facts: &FunctionFacts,
    exactly: bool,
    counts: &mut Counts,
) {
    let function = &module.functions[number];
    let text = |text: &str| {
        if exactly {
            text.to_owned()
        } else {
            shape_of(text)
        }
    };
    let cause = |cause: Cause| {
        format!("{cause:?}")
            .split(['(', ' '])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let homes = homes(function);
    for (value, fact) in facts.values.iter() {
        let by = cause(fact.cause);
        counts.add(format!(
            "value {:?} at {:?} by {by}{}",
            fact.class,
            fact.uniform_at,
            if fact.assumed { ", assumed" } else { "" }
        ));
        if !fact.form.is_empty() {
            counts.add(match exactly {
                true => format!("form {}", fact.form),
                false => format!(
                    "form of {} terms",
                    fact.form.to_string().split(" + ").count()
                ),
            });
        }
        if !fact.state.is_empty() {
            counts.add(match exactly {
                true => format!("state {}", fact.state),
                false => format!("state with {} unknown", fact.state.matches('?').count()),
            });
        }
        let Some(&block) = homes.get(&value) else {
            continue;
        };
        for step in cause_chain(function, facts, value, block).iter().take(2) {
            counts.add(match exactly {
                true => format!("because {}", shape_of(&format!("{:?}", step.reason))),
                false => format!("because {}", kind_of(&step.reason)),
            });
        }
    }
    for fact in &facts.temporal {
        counts.add(format!(
            "outside a loop {:?} at {:?}",
            fact.fact.class, fact.fact.uniform_at
        ));
    }
    for fact in &facts.branches {
        let cost = fact.divergence_cost.map(|cost| cost as i64);
        counts.add(format!(
            "branch {:?} {:?} at {:?} by {}",
            fact.kind,
            fact.class,
            fact.uniform_at,
            cause(fact.cause)
        ));
        let lanes = fact.lanes.map(u128::count_ones);
        counts.add(format!("branch lanes {lanes:?}"));
        counts.sum("cost of branches", cost.unwrap_or(0));
    }
    for fact in &facts.loops {
        counts.add(format!(
            "loop {:?} at {:?} by {}",
            fact.trip,
            fact.uniform_at,
            cause(fact.cause)
        ));
        counts.add(format!(
            "rounds {:?}, at most {:?}, {}",
            fact.count,
            fact.at_most,
            text(
                &fact
                    .trips
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default()
            )
        ));
    }
    for fact in &facts.accesses {
        counts.add(format!(
            "access {} {:?} {:?} of {} bytes",
            word_of(&format!("{:?}", fact.kind)),
            fact.space,
            fact.class,
            fact.bytes
        ));
        let stride = match exactly {
            true => format!("{:?}", fact.stride_bytes),
            false => shape_of(&format!("{:?}", fact.stride_bytes)),
        };
        counts.add(format!(
            "stride {stride} {}",
            text(
                &fact
                    .stride_sum
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default()
            )
        ));
        counts.sum("sectors", i64::from(fact.sectors.unwrap_or(0)));
        counts.sum("least sectors", i64::from(fact.ideal_sectors));
        counts.add(format!("ways {:?}", fact.bank_ways));
        counts.add(format!("lanes {}, partial {}", fact.lanes, fact.partial));
    }
    for fact in &facts.barriers {
        counts.add(format!("barrier, divergent {}", fact.divergent.is_some()));
    }
    for (_, scope) in &facts.private {
        counts.add(format!("private {scope:?}"));
    }
    for (_, scope) in &facts.raced {
        counts.add(format!("raced {scope:?}"));
    }
    for inst in function.insts.values() {
        let work = cost::work(function, inst);
        counts.add(format!(
            "work {work:?} of {} cycles",
            facts.options.machine.cycles(function, inst)
        ));
    }
    if let Some(pressure) = pressure::pressure(function, pressure::Counted::All) {
        counts.add(format!("pressure about {}", pressure.registers / 8 * 8));
    }
    for candidate in zeros::candidates(function) {
        let members: Vec<_> = candidate.members.to_vec();
        let block = homes
            .get(&members[0])
            .copied()
            .unwrap_or(function.layout[0]);
        let never = zeros::never_zero(function, facts, &members, block);
        let never = never.map(|never| shape_of(&format!("{never:?}")));
        counts.add(format!("zeros of {}, never {never:?}", members.len()));
        counts.sum(
            "useless where zero",
            zeros::useless(function, &members).len() as i64,
        );
        counts.sum("originators", candidate.originator.is_some().into());
    }
}

fn findings(module: &Module, facts: &[FunctionFacts], counts: &mut Counts) {
    for finding in diagnose(module, facts) {
        counts.add(format!(
            "finding {:?} {:?}, {} related, {} calls, witness {}",
            finding.code,
            finding.tier,
            finding.related.len(),
            finding.calls.len(),
            finding.witness.is_some()
        ));
        counts.add(format!(
            "finding {:?}: {}",
            finding.code,
            shape_of(&format!(
                "{:?} because {:?}",
                finding.reason,
                finding.because()
            ))
        ));
    }
}

#[test]
fn random_programs() {
    let shapes = [
        (
            "structured",
            Shape {
                barriers: true,
                symbolic_parameters: true,
                ..Shape::default()
            },
        ),
        (
            "arbitrary",
            Shape {
                symbolic_parameters: true,
                ..Shape::arbitrary()
            },
        ),
    ];
    let ways = [
        ("full", Options::default()),
        (
            "favourable",
            Options {
                favourable: true,
                scope: Scope::Workgroup,
                ..Options::default()
            },
        ),
        (
            "rows",
            Options {
                block: [Some(16), Some(4), Some(1)],
                warp_size: 16,
                ..Options::default()
            },
        ),
        (
            "simple",
            Options {
                method: Method::Simple,
                ..Options::default()
            },
        ),
        (
            "polynomial",
            Options {
                method: Method::Polynomial(2),
                ..Options::default()
            },
        ),
    ];
    let mut table = String::new();
    for (name, shape) in &shapes {
        for (way, options) in &ways {
            let mut counts = Counts::default();
            for seed in 0..if *way == "full" { 50 } else { 15 } {
                let module = program(seed, shape).module;
                let facts = analyze_module(&module, options);
                for (number, facts) in facts.iter().enumerate() {
                    count(&module, number, facts, false, &mut counts);
                }
                findings(&module, &facts, &mut counts);
            }
            table += &counts.table(&format!("{name}, {way}"));
        }
    }
    pinned("random_programs", &table);
}

fn of_files(folder: &str, dialect: Dialect) {
    let extension = if dialect == Dialect::Hlsl {
        "hlsl"
    } else {
        "cu"
    };
    let mut counts = Counts::default();
    for path in fixtures::files(folder, &[extension]) {
        let text = text_of(&path);
        for options in [
            Options::default(),
            Options {
                scope: Scope::Workgroup,
                assumed_block: [Some(64), Some(2), Some(1)],
                assumption: "blocks of 64 x 2".into(),
                ..Options::default()
            },
        ] {
            for (module, _) in source::functions_with(&text, dialect, &options) {
                let (facts, _) = assess(&module, &options);
                count(&module, 0, &facts[0], true, &mut counts);
                findings(&module, &facts, &mut counts);
                let device = module.functions[0].kind == FunctionKind::Device;
                counts.add(format!("function, of a device: {device}"));
            }
        }
    }
    pinned(folder, &counts.table(folder));
}

#[allow(clippy::disallowed_methods)]
fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a fixture is text")
}

#[test]
fn kernels_of_cuda() {
    of_files("cuda", Dialect::Cuda);
}

#[test]
fn shaders() {
    of_files("hlsl", Dialect::Hlsl);
}
