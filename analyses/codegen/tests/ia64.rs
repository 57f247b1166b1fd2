//! IA-64 assembly is read, re-bundled and judged: by the checker, by execution, and by GNU `as` with its dependency checks. The assembler
//! is looked for in `LOCKSTEP_IA64_AS`, then under its usual name; where it is absent the test says so, and fails only when
//! `LOCKSTEP_IA64_AS` is set.
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;
#[path = "support/automatic.rs"]
mod automatic;
#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/disassembler.rs"]
mod disassembler;

use assembler::{assembled, assembler};
use automatic::automatic;
use blocks::{executed, random};
use disassembler::nops;
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::bundle::block::Choice;
use lockstep_codegen::target::ia64::check::{Fault, Side, check};
use lockstep_codegen::target::ia64::listing::{Listing, listing};
use lockstep_codegen::target::ia64::rebundle::{Options, Outcome, rebundle};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use simulate::ia64::SimulatedClock;
use simulate::ia64::Timing;
use std::path::Path;
use syntax::ia64::Document;

fn read(text: &str) -> (Document, Listing) {
    let document = syntax::ia64::parse(text);
    let listing = listing(&document, text);
    (document, listing)
}

struct Changed {
    text: String,
    blocks: usize,
    rewritten: usize,
    nops: (u32, u32),
    cycles: (u32, u32),
}

fn changed(text: &str, machine: &str, options: &Options) -> Changed {
    let (document, listing) = read(text);
    let table = machine::named(machine).expect("a table");
    let epic = table.epic().expect("explicit groups");
    let mut out = Changed {
        text: text.to_owned(),
        blocks: 0,
        rewritten: 0,
        nops: (0, 0),
        cycles: (0, 0),
    };
    let clock = SimulatedClock::of_units(epic.width().m);
    let blocks = rebundle(
        &document,
        text,
        &listing,
        epic,
        options,
        None,
        clock.as_ref(),
    );
    out.blocks = blocks.len();
    for block in blocks.iter().rev() {
        if let Outcome::Rewritten { text, after, .. } = &block.outcome {
            let range = block.span.start as usize..block.span.end as usize;
            out.text.replace_range(range, text);
            out.rewritten += 1;
            out.nops.0 += block.before.nops;
            out.nops.1 += after.nops;
            out.cycles.0 += block.before.cycles;
            out.cycles.1 += after.cycles;
        }
    }
    out
}

fn judged(name: &str, old: &str, new: &str) {
    let ((old_document, old_listing), (new_document, new_listing)) = (read(old), read(new));
    assert_eq!(new_document.problems, [], "{name}:\n{new}");
    assert_eq!(new_listing.violations(), [], "{name}:\n{new}");
    let verdict = check(
        Side {
            text: old,
            document: &old_document,
            listing: &old_listing,
        },
        Side {
            text: new,
            document: &new_document,
            listing: &new_listing,
        },
    );
    assert_eq!(verdict, Ok(()), "{name}:\n{new}");
}

fn fixtures() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ia64");
    let mut out: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("fixtures")
        .flatten()
        .map(|entry| {
            let text = std::fs::read_to_string(entry.path()).expect("text");
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect();
    out.sort();
    assert!(out.len() >= 5);
    out
}

#[test]
fn fixtures_are_rebundled_and_accepted() {
    let assembler = assembler();
    for (name, text) in fixtures() {
        let (document, listing) = read(&text);
        assert_eq!(document.problems, [], "{name}");
        assert!(
            listing.items.iter().all(|item| item.opaque.is_none()),
            "{name}"
        );
        assert_eq!(listing.violations(), [], "{name}");
        for machine in ["itanium", "itanium2"] {
            let new = changed(&text, machine, &Options::default());
            judged(&name, &text, &new.text);
            assert!(new.cycles.1 <= new.cycles.0, "{name}");
            // A second time there is nothing left to do.
            let again = changed(&new.text, machine, &Options::default());
            assert_eq!(again.text, new.text, "{name}");
            let Some(assembler) = &assembler else {
                continue;
            };
            assert_eq!(assembled(assembler, &text), "", "{name}");
            let (said, own) = nops(assembler, &new.text);
            assert_eq!(said, "", "{name}:\n{}", new.text);
            let (_, most) = nops(assembler, &automatic(&text));
            assert!(
                own <= most,
                "{name}: {own} nops, the assembler needs {most}\n{}",
                new.text
            );
        }
    }
}

#[test]
fn one_instruction_a_group_becomes_what_the_machine_can_do() {
    let text = &fixtures()
        .into_iter()
        .find(|(name, _)| name == "one-a-group.ia64.s")
        .expect("it")
        .1;
    let new = changed(text, "itanium2", &Options::default());
    assert!(new.cycles.1 * 4 <= new.cycles.0 * 3, "{:?}", new.cycles);
    assert!(new.nops.1 * 2 <= new.nops.0, "{:?}\n{}", new.nops, new.text);
    assert!(new.text.contains("// the stores go to two words"));
    assert!(new.text.contains("// first"));
}

/// A check is no branch: it shares no group with the compare of its predicate.
#[test]
fn a_check_reads_its_predicate_in_a_later_group() {
    let text =
        |stop: &str, then: &str| format!("f:\n\tcmp.eq p6, p7 = r14, r15{stop}\n(p6)\t{then} ;;\n");
    for (then, may) in [("chk.s.m r16, f", false), ("br.cond.sptk f", true)] {
        let (old, new) = (text(" ;;", then), text("", then));
        let ((old_document, old_listing), (new_document, new_listing)) = (read(&old), read(&new));
        let side = |text, document, listing| Side {
            text,
            document,
            listing,
        };
        let before = side(old.as_str(), &old_document, &old_listing);
        let after = side(new.as_str(), &new_document, &new_listing);
        match check(before, after) {
            Ok(()) => assert!(may, "{then}"),
            Err(fault) => assert!(!may && matches!(fault, Fault::Order { .. }), "{fault:?}"),
        }
    }
}

#[test]
fn random_blocks_are_rebundled_and_accepted() {
    let assembler = assembler();
    let blocks: u64 = std::env::var("LOCKSTEP_IA64_BLOCKS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(150);
    let (mut before, mut after, mut rewritten, mut found) = ((0, 0), (0, 0), 0, 0);
    let mut all = String::new();
    let mut cycles = (0, 0);
    for seed in 0..blocks {
        let mut rng = StdRng::seed_from_u64(seed);
        let count = rng.random_range(1..40);
        let text = random(&mut rng, count);
        let options = Options {
            choice: [Choice::All, Choice::EagerLazy, Choice::Eager][seed as usize % 3],
            decisions: 500,
            all: true,
        };
        let new = changed(&text, ["itanium", "itanium2"][seed as usize % 2], &options);
        let name = format!("block {seed}");
        judged(&name, &text, &new.text);
        let timing = [Timing::itanium(), Timing::itanium2()][seed as usize % 2].clone();
        let (memory, result, slow) = executed(&name, &text, &timing, seed);
        let (same, equal, fast) = executed(&name, &new.text, &timing, seed);
        assert!(
            memory == same && result == equal,
            "{name}:\n{text}\n{}",
            new.text
        );
        cycles = (cycles.0 + slow, cycles.1 + fast);
        before = (before.0 + new.cycles.0, before.1 + new.nops.0);
        after = (after.0 + new.cycles.1, after.1 + new.nops.1);
        rewritten += new.rewritten;
        found += new.blocks;
        // Names apart, so that all go through the assembler at once.
        let renamed = new.text.replace(" f\n", &format!(" f{seed}_\n"));
        let renamed = renamed.replace("\nf:", &format!("\nf{seed}_:"));
        let renamed = renamed.replace(".Lbody", &format!(".Lbody{seed}"));
        all.push_str(&renamed.replace(".Ldone", &format!(".Ldone{seed}")));
    }
    println!(
        "{rewritten} of {found} blocks of {blocks} programs: (cycles, nops) {before:?} -> {after:?}, executed in cycles {cycles:?}"
    );
    assert!(found as u64 >= 3 * blocks, "{found} blocks");
    assert!(rewritten * 10 >= found * 9, "{rewritten} of {found}");
    assert!(after.0 <= before.0);
    if let Some(assembler) = assembler {
        assert_eq!(assembled(&assembler, &all), "");
    }
}

/// The code that is offered is executed in no more cycles, in programs whose blocks fall into each other,
/// with groups that directives divide.
#[test]
fn what_is_offered_is_not_slower_where_it_is_executed() {
    let (mut faster, mut same, mut slower) = (0, 0, Vec::new());
    for seed in 0..150u64 {
        let mut rng = StdRng::seed_from_u64(seed);
        let count = rng.random_range(5..40);
        let mut text = String::new();
        for line in random(&mut rng, count).lines() {
            text += line;
            text.push('\n');
            match rng.random_range(0..12) {
                0 => text += "\t.pred.rel \"clear\", p1, p2\n",
                1 if text.contains(".Lbody:") => text += &format!(".Lpart{}:\n", text.len()),
                _ => {}
            }
        }
        let (timing, machine) = match seed % 2 {
            0 => (Timing::itanium(), "itanium"),
            _ => (Timing::itanium2(), "itanium2"),
        };
        let name = format!("program {seed}");
        let packed = changed(&text, machine, &Options::default());
        judged(&name, &text, &packed.text);
        let (memory, result, before) = executed(&name, &text, &timing, seed);
        let (again, equal, after) = executed(&name, &packed.text, &timing, seed);
        assert!(memory == again && result == equal, "{name}");
        match after.cmp(&before) {
            std::cmp::Ordering::Less => faster += 1,
            std::cmp::Ordering::Equal => same += 1,
            std::cmp::Ordering::Greater => slower.push(format!("{name}: {before} -> {after}\n")),
        }
    }
    println!(
        "{faster} programs faster, {same} the same, {} slower",
        slower.len()
    );
    assert_eq!(slower, Vec::<String>::new());
    assert!(faster > 100, "{faster}");
}
