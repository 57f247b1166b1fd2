//! Nops in code of the loops of `fixtures/c/loops`: those of the search for templates against the list
//! schedule that it starts from, and those of the emitted code against the bundles that GNU `as` makes of the
//! same instructions and stops by itself.
//!
//! `cargo test -p lockstep-codegen --test ia64_nops -- --nocapture` prints the figures.
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;
#[path = "support/automatic.rs"]
mod automatic;
#[path = "support/disassembler.rs"]
mod disassembler;
#[path = "support/judge.rs"]
#[allow(dead_code)]
mod judge;
#[path = "support/loops.rs"]
#[allow(dead_code)]
mod loops;
#[path = "support/packed.rs"]
mod packed;

use assembler::assembler;
use automatic::automatic;
use disassembler::{disassembled, nops};
use lockstep_codegen::machine::{self, Table, load};
use lockstep_codegen::target::ia64::bundle::block::{
    self, Block, Choice, Packing, Type, Wait, count, pack,
};
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::listing::listing;
use lockstep_codegen::target::ia64::pipeline;
use lockstep_codegen::target::ia64::rebundle::{self, Outcome, rebundle, rebundle_untimed};
use packed::as_packed;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use simulate::ia64::SimulatedClock;
use std::sync::Arc;

fn code(looped: &loops::Loop, machine: &str, pipelined: bool, bundles: bool) -> String {
    let table = table(machine);
    let options = Options {
        pipeline: pipelined.then(pipeline::Options::default),
        bundles,
        ..Options::default()
    };
    let epic = table.epic().expect("explicit groups");
    let emitted = emit(&looped.module, epic, &options);
    let emitted = emitted.unwrap_or_else(|reasons| panic!("{}: {reasons:?}", looped.name));
    emitted.text
}

/// A processor; `without limits`: with its latencies alone, as in the paper's model.
fn table(name: &str) -> Arc<Table> {
    let Some(base) = name.strip_suffix(" without limits") else {
        return machine::named(name).expect("a table");
    };
    let units: String = ["m", "i", "f", "b"]
        .iter()
        .map(|unit| format!("{unit} = {{ value = 64, is = \"estimate\", source = \"own\" }}\n"))
        .collect();
    let text = format!(
        "kind = \"epic\"\nname = \"unlimited\"\ntitle = \"Unlimited\"\nbase = \"{base}\"\n[issue]\nbundles = {{ value = 64, is = \"estimate\", source = \"own\" }}\n[units]\n{units}"
    );
    let parsed = load(&text, &|base| machine::named(base));
    Arc::new(
        parsed
            .table
            .unwrap_or_else(|| panic!("{:?}", parsed.problems)),
    )
}

fn is_floating(looped: &loops::Loop) -> bool {
    ["double", "float"]
        .iter()
        .any(|word| looped.text.contains(word))
}

#[derive(Clone, Copy, Default, Debug)]
struct Sum {
    instructions: u32,
    nops: u32,
    cycles: u32,
    blocks: u32,
    proved: u32,
}

/// Adds up the outcome for the blocks of a text.
fn packed(text: &str, machine: &str, choice: Choice, decisions: usize, sum: &mut Sum) {
    let table = table(machine);
    let epic = table.epic().expect("explicit groups");
    let document = syntax::ia64::parse(text);
    let listed = listing(&document, text);
    let options = rebundle::Options {
        choice,
        decisions,
        all: true,
    };
    for block in rebundle_untimed(&document, text, &listed, epic, &options) {
        let Outcome::Rewritten { after, proved, .. } = block.outcome else {
            panic!("{:?}\n{text}", block.outcome);
        };
        sum.instructions += block.items.len() as u32;
        sum.nops += after.nops;
        sum.cycles += after.cycles;
        sum.blocks += 1;
        sum.proved += u32::from(proved);
    }
}

#[test]
fn the_search_needs_fewer_nops_than_the_list_schedule() {
    let all = loops::loops();
    let ways = [
        ("list schedule", Choice::EagerLazy, 0),
        ("eager", Choice::Eager, 500),
        ("lazy", Choice::Lazy, 500),
        ("eager-lazy", Choice::EagerLazy, 500),
        ("allowed loss", Choice::AllowedLoss, 4000),
        ("all", Choice::All, 4000),
    ];
    for machine in ["itanium", "itanium2", "itanium2 without limits"] {
        for floating in [false, true] {
            let kind = if floating {
                "floating-point"
            } else {
                "integer"
            };
            let texts: Vec<String> = all
                .iter()
                .filter(|it| is_floating(it) == floating)
                .map(|it| code(it, machine, false, false))
                .collect();
            let mut list = Sum::default();
            for (name, choice, decisions) in ways {
                let mut sum = Sum::default();
                let begun = std::time::Instant::now();
                for text in &texts {
                    packed(text, machine, choice, decisions, &mut sum);
                }
                let took = begun.elapsed().as_millis();
                if decisions == 0 {
                    list = sum;
                }
                let fewer = 100.0 * (1.0 - f64::from(sum.nops) / f64::from(list.nops));
                let density =
                    f64::from(100 * sum.instructions) / f64::from(sum.instructions + sum.nops);
                println!(
                    "{machine}, {kind}, {} functions, {name}: {} nops beside {} instructions ({fewer:.1} % fewer, density {density:.2} %), {} cycles, {} of {} blocks proved, {took} ms",
                    texts.len(),
                    sum.nops,
                    sum.instructions,
                    sum.cycles,
                    sum.proved,
                    sum.blocks
                );
                assert!(sum.nops <= list.nops && sum.cycles <= list.cycles);
            }
        }
    }
}

/// More nops than the assembler packs by itself stand only where its packing takes more cycles.
#[test]
fn emitted_code_has_no_more_nops_than_the_assembler_packs_in_as_many_cycles() {
    let Some(assembler) = assembler() else {
        return;
    };
    let (mut own, mut automatically, mut more, mut worse) = (0, 0, Vec::new(), 0);
    let (mut taken, mut taken_automatically) = (0, 0);
    for (number, each) in loops::loops().iter().enumerate() {
        for pipelined in [false, true] {
            let machine = ["itanium", "itanium2"][number % 2];
            let text = code(each, machine, pipelined, true);
            let (said, count) = nops(&assembler, &text);
            assert_eq!(said, "", "{}:\n{text}", each.name);
            let plain = automatic(&text);
            let (_, listed) = disassembled(&assembler, &plain);
            let most = listed.iter().filter(|it| it.is_nop()).count();
            own += count;
            automatically += most;
            let theirs = as_packed(&plain, &listed);
            assert_eq!(nops(&assembler, &theirs), (String::new(), most), "{theirs}");
            let (ours, theirs) = (
                each.cycles(machine, &text, 50),
                each.cycles(machine, &theirs, 50),
            );
            taken += ours;
            taken_automatically += theirs;
            if count > most {
                worse += usize::from(ours >= theirs);
                let name = &each.name;
                more.push(format!(
                    "{name} {pipelined} {machine}: {count} in {ours} cycles, not {most} in {theirs}"
                ));
            }
        }
    }
    println!(
        "{own} nops, {taken} cycles; the assembler packs {automatically} nops, {taken_automatically} cycles by itself; more nops in {}: {more:#?}",
        more.len()
    );
    // What the cycles cost.
    assert!(own * 100 <= automatically * 101, "{own}, {automatically}");
    assert_eq!(worse, 0);
}

/// Blocks as the paper generates none: random, on a machine that issues everything that is ready, so that
/// only waits and templates count.
#[test]
fn on_a_machine_without_limits_more_choice_needs_fewer_nops() {
    let mut rng = StdRng::seed_from_u64(2001);
    let kinds = [Type::A, Type::I, Type::M, Type::F, Type::L];
    let mixes: [&[u32]; 7] = [
        &[1, 1, 1, 1, 0],
        &[3, 1, 2, 0, 0],
        &[2, 1, 2, 2, 0],
        &[0, 1, 1, 1, 0],
        &[4, 1, 2, 1, 1],
        &[1, 0, 2, 2, 0],
        &[1, 1, 1, 1, 1],
    ];
    let blocks: Vec<Block> = (0..3000)
        .map(|number| {
            let mix = mixes[number % mixes.len()];
            let count = rng.random_range(5..=8);
            let types = (0..count).map(|_| {
                let mut at = rng.random_range(0..mix.iter().sum::<u32>());
                let kind = mix.iter().position(|&weight| match at.checked_sub(weight) {
                    Some(less) => {
                        at = less;
                        false
                    }
                    None => true,
                });
                kinds[kind.unwrap_or(0)]
            });
            let types: Vec<Type> = types.collect();
            let mut edges = Vec::new();
            for to in 1..count {
                for from in 0..to {
                    if rng.random_bool(0.3) {
                        let cycles = rng.random_range(1..=2);
                        edges.push(Wait { from, to, cycles });
                    }
                }
            }
            Block { types, edges }
        })
        .collect();
    let filled = |block: &Block| count(block.types.iter().copied()).filled();
    let slots: u32 = blocks.iter().map(filled).sum();
    let mut least = u32::MAX;
    let mut first = 0;
    for (name, choice, decisions) in [
        ("list schedule", Choice::EagerLazy, 0),
        ("eager", Choice::Eager, 4000),
        ("lazy", Choice::Lazy, 4000),
        ("eager-lazy", Choice::EagerLazy, 4000),
        ("all", Choice::All, 100_000),
    ] {
        let options = block::Options {
            choice,
            decisions,
            ..block::Options::default()
        };
        let found: Vec<Packing> = blocks.iter().map(|block| pack(block, &options)).collect();
        let nops: u32 = found.iter().map(|it| it.nops).sum();
        if decisions == 0 {
            first = nops;
        }
        println!(
            "{} random blocks, {slots} slots filled, {name}: {nops} nops ({:.1} % fewer), density {:.2} %, {} proved",
            blocks.len(),
            100.0 * (1.0 - f64::from(nops) / f64::from(first)),
            100.0 * f64::from(slots) / f64::from(slots + nops),
            found.iter().filter(|it| it.proved).count()
        );
        if !matches!(choice, Choice::Lazy) {
            assert!(nops <= least);
            least = nops;
        }
        if choice == Choice::All {
            assert!(found.iter().all(|it| it.proved));
        }
    }
}

/// Emitted functions, re-bundled as it is offered: none takes more cycles.
#[test]
fn what_is_offered_of_emitted_functions_is_not_slower() {
    let (mut faster, mut same, mut slower) = (0, 0, Vec::new());
    for each in &loops::loops() {
        for (pipelined, bundles) in [(false, false), (false, true), (true, true)] {
            for machine in ["itanium", "itanium2"] {
                let text = code(each, machine, pipelined, bundles);
                let table = table(machine);
                let epic = table.epic().expect("explicit groups");
                let document = syntax::ia64::parse(&text);
                let listed = listing(&document, &text);
                let options = rebundle::Options::default();
                let clock = SimulatedClock::of_units(epic.width().m);
                let mut packed = text.clone();
                for block in rebundle(
                    &document,
                    &text,
                    &listed,
                    epic,
                    &options,
                    None,
                    clock.as_ref(),
                )
                .iter()
                .rev()
                {
                    if let Outcome::Rewritten { text, .. } = &block.outcome {
                        let span = block.span.start as usize..block.span.end as usize;
                        packed.replace_range(span, text);
                    }
                }
                let (before, after) = (
                    each.cycles(machine, &text, 50),
                    each.cycles(machine, &packed, 50),
                );
                match after.cmp(&before) {
                    std::cmp::Ordering::Less => faster += 1,
                    std::cmp::Ordering::Equal => same += 1,
                    std::cmp::Ordering::Greater => {
                        slower.push(format!(
                            "{} {pipelined} {bundles} {machine}: {before} -> {after}\n",
                            each.name
                        ));
                    }
                }
            }
        }
    }
    println!(
        "{faster} functions faster, {same} the same, {} slower",
        slower.len()
    );
    assert!(slower.is_empty(), "{}", slower.concat());
}
