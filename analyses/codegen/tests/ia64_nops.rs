//! Nops in code of the loops of `fixtures/c/loops`: of the search for templates against the list schedule that it starts
//! from, and of what is emitted against what GNU `as` packs of the same instructions and stops by itself.
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

use assembler::assembler;
use automatic::automatic;
use disassembler::nops;
use lockstep_codegen::bundle::block::Choice;
use lockstep_codegen::machine;
use lockstep_codegen::pipeline::software;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::listing::listing;
use lockstep_codegen::target::ia64::rebundle::{self, Outcome, rebundle};

fn code(one: &loops::Loop, machine: &str, pipelined: bool, bundles: bool) -> String {
    let table = machine::named(machine).expect("a table");
    let options = Options {
        pipeline: pipelined.then(software::Options::default),
        bundles,
        ..Options::default()
    };
    let epic = table.epic().expect("explicit groups");
    let emitted = emit(&one.module, epic, &options);
    let emitted = emitted.unwrap_or_else(|reasons| panic!("{}: {reasons:?}", one.name));
    emitted.text
}

fn is_floating(one: &loops::Loop) -> bool {
    ["double", "float"]
        .iter()
        .any(|word| one.text.contains(word))
}

#[derive(Clone, Copy, Default, Debug)]
struct Sum {
    instructions: u32,
    nops: u32,
    cycles: u32,
    blocks: u32,
    proved: u32,
}

/// What the blocks of a text come to.
fn packed(text: &str, machine: &str, choice: Choice, decisions: usize, sum: &mut Sum) {
    let table = machine::named(machine).expect("a table");
    let epic = table.epic().expect("explicit groups");
    let document = syntax::ia64::parse(text);
    let listed = listing(&document, text);
    let options = rebundle::Options {
        choice,
        decisions,
        all: true,
    };
    for block in rebundle(&document, text, &listed, epic, &options, None) {
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
        ("all", Choice::All, 4000),
    ];
    for machine in ["itanium", "itanium2"] {
        for floating in [false, true] {
            let kind = if floating {
                "floating-point"
            } else {
                "integer"
            };
            let texts: Vec<String> = all
                .iter()
                .filter(|one| is_floating(one) == floating)
                .map(|one| code(one, machine, false, false))
                .collect();
            let mut list = Sum::default();
            for (name, choice, decisions) in ways {
                let mut sum = Sum::default();
                for text in &texts {
                    packed(text, machine, choice, decisions, &mut sum);
                }
                if decisions == 0 {
                    list = sum;
                }
                let fewer = 100.0 * (1.0 - f64::from(sum.nops) / f64::from(list.nops));
                println!(
                    "{machine}, {kind}, {} functions, {name}: {} nops beside {} instructions ({fewer:.1} % fewer), {} cycles, {} of {} blocks proved",
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

#[test]
fn emitted_code_has_at_most_a_twentieth_more_nops_than_the_assembler_packs() {
    let Some(assembler) = assembler() else {
        return;
    };
    let (mut own, mut automatically, mut more) = (0, 0, Vec::new());
    for (number, one) in loops::loops().iter().enumerate() {
        for pipelined in [false, true] {
            let machine = ["itanium", "itanium2"][number % 2];
            let text = code(one, machine, pipelined, true);
            let (said, count) = nops(&assembler, &text);
            assert_eq!(said, "", "{}:\n{text}", one.name);
            let (_, most) = nops(&assembler, &automatic(&text));
            own += count;
            automatically += most;
            if count > most {
                more.push(format!("{} {pipelined}: {count}, not {most}", one.name));
            }
        }
    }
    println!(
        "{own} nops, the assembler packs {automatically} by itself; more in {}: {more:#?}",
        more.len()
    );
    // What is open: blocks that the assembler packs together across branches.
    assert!(own * 100 <= automatically * 105, "{own}, {automatically}");
}
