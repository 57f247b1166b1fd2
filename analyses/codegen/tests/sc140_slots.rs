//! Accesses to slots of the stack in SC140 assembly that are spared: random kernels, as their allocator spills, give the same
//! results by the simulator in no more cycles, break no rule, and what is not known is refused with its place.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use lockstep_codegen::machine;
use lockstep_codegen::target::sc140::capacity::Capacity;
use lockstep_codegen::target::sc140::emit::{Options, emit};
use lockstep_codegen::target::sc140::listing::Listing;
use lockstep_codegen::target::sc140::slots::{SlotFunction, SlotOutcome, SlotRefusal, reduce};
use oracle::random::c::fractions;
use sc140::{broken, interpreted, module_of};

fn functions(text: &str) -> Vec<SlotFunction> {
    let table = machine::named("sc140").expect("a table");
    let capacity = Capacity::of(table.sets().expect("execution sets"));
    let document = syntax::sc140::parse(text);
    reduce(&document, text, &Listing::of(&document), &capacity)
}

/// The text with all functions reduced, and those.
fn reduced(text: &str) -> (String, Vec<SlotFunction>) {
    let found = functions(text);
    let mut changed = text.to_owned();
    for function in found.iter().rev() {
        if let SlotOutcome::Reduced { text, .. } = &function.outcome {
            let span = function.span.start as usize..function.span.end as usize;
            changed.replace_range(span, text);
        }
    }
    (changed, found)
}

/// Loads from the stack and stores there, as the text has them.
fn transfers(text: &str) -> (usize, usize) {
    let moves = || text.lines().filter(|line| line.contains("move.l"));
    let stores = moves().filter(|line| line.contains(",(sp-")).count();
    (
        moves().filter(|line| line.contains("(sp-")).count() - stores,
        stores,
    )
}

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn random_kernels_do_the_same_with_fewer_transfers() {
    let count = setting("LOCKSTEP_C_KERNELS", 200);
    let first = setting("LOCKSTEP_FIRST", 0);
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let (mut judged, mut changed_ones, mut spilling) = (0, 0, 0);
    let mut all = [(0, 0); 2];
    let mut cycles = [0; 2];
    for seed in std::iter::once(ONCE_WRONG).chain(first..first + count) {
        let kernel = fractions(seed);
        let module = module_of(&kernel.text, &kernel.name);
        let options = Options {
            reduce_spills: false,
            pipeline: seed.is_multiple_of(2),
            fewer: [8, 0, 10][seed as usize % 3],
            total: true,
            big_endian: false,
            ..Options::default()
        };
        let Ok(emitted) = emit(&module, sets, &options) else {
            continue;
        };
        let (changed, found) = reduced(&emitted.text);
        let before = transfers(&emitted.text);
        let after = transfers(&changed);
        assert!(after.0 <= before.0 && after.1 <= before.1);
        spilling += u64::from(before != (0, 0));
        judged += 1;
        if changed == emitted.text {
            continue;
        }
        for function in &found {
            if let SlotOutcome::Reduced { before, after, .. } = &function.outcome {
                assert!(
                    after.sets <= before.sets
                        && after.loads + after.stores < before.loads + before.stores
                );
            }
        }
        assert_eq!(
            broken(&changed),
            [""; 0],
            "seed {seed}\n{}\n{changed}",
            emitted.text
        );
        let expected = interpreted(&kernel, &module);
        let run = |text: &str| {
            let outcome = sc140::agrees(&kernel, &expected, text);
            let outcome = outcome
                .unwrap_or_else(|why| panic!("seed {seed}: {why}\n{}\n{changed}", emitted.text));
            outcome.cycles.total()
        };
        let ran = [run(&emitted.text), run(&changed)];
        assert!(
            ran[1] <= ran[0],
            "seed {seed}: {ran:?}\n{}\n{changed}",
            emitted.text
        );
        changed_ones += 1;
        for (at, (count, ran)) in [before, after].into_iter().zip(ran).enumerate() {
            all[at].0 += count.0;
            all[at].1 += count.1;
            cycles[at] += ran;
        }
    }
    println!(
        "{changed_ones} of {spilling} kernels that spill, of {judged}, have fewer: {} loads become {}, {} stores {}, {} cycles {}",
        all[0].0, all[1].0, all[0].1, all[1].1, cycles[0], cycles[1]
    );
    assert!(
        changed_ones * 4 > spilling && spilling * 4 > judged,
        "{changed_ones} {spilling} {judged}"
    );
}

/// A function around these sets, whose frame has sixteen bytes.
fn around(body: &str) -> String {
    format!(
        "    SECTION .text LOCAL\n    GLOBAL _f\n_f\n    adda     #16,sp\n{body}    suba     #16,sp\n    rts\n    ENDSEC\n"
    )
}

#[test]
fn loads_of_what_is_held_go_and_stores_that_nothing_loads() {
    let text = around(
        "    move.l   (r0),d0\n    move.l   d0,(sp-8)\n    add      d0,d0,d1\n    move.l   (sp-8),d2\n    move.l   (sp-8),d2\n    add      d1,d2,d0\n",
    );
    let (changed, found) = reduced(&text);
    let [
        SlotFunction {
            name,
            outcome: SlotOutcome::Reduced { before, after, .. },
            ..
        },
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!(name, "_f");
    assert_eq!((before.loads, before.stores), (2, 1));
    assert_eq!((after.loads, after.stores), (0, 0), "{changed}");
    assert_eq!(transfers(&changed), (0, 0), "{changed}");
    assert!(
        changed.contains("tfr      d0,d2") && after.sets < before.sets,
        "{changed}"
    );
}

#[test]
fn a_sum_may_have_more_bits_than_its_slot() {
    // What is loaded has lost the guard bits of what was stored.
    let text = around(
        "    add      d0,d1,d2\n    move.l   d2,(sp-8)\n    move.l   (sp-8),d2\n    tfr      d2,d0\n",
    );
    let [
        SlotFunction {
            outcome: SlotOutcome::Kept(reason),
            ..
        },
    ] = &functions(&text)[..]
    else {
        panic!("{text}");
    };
    assert_eq!(*reason, SlotRefusal::NothingFound);
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    let access = "    move.l   d0,(sp-8)\n    move.l   (sp-8),d2\n    move.l   (sp-8),d2\n";
    let refused = |body: &str| -> (SlotRefusal, String) {
        let text = around(&format!("{access}{body}"));
        let found = functions(&text);
        let [
            SlotFunction {
                outcome: SlotOutcome::Kept(reason),
                ..
            },
        ] = &found[..]
        else {
            panic!("{found:?}\n{text}");
        };
        let place = reason
            .place()
            .map_or("", |span| &text[span.start as usize..span.end as usize]);
        (reason.clone(), place.to_owned())
    };
    let (reason, place) = refused("    tfra     sp,r0\n");
    assert!(
        matches!(reason, SlotRefusal::AddressTaken(_)) && place.starts_with("tfra"),
        "{place}"
    );
    let (reason, place) = refused("    frob     d0\n");
    assert!(
        matches!(reason, SlotRefusal::Unknown(_)) && place.starts_with("frob"),
        "{place}"
    );
    let (reason, place) = refused("    jmp      r1\n");
    assert!(
        matches!(reason, SlotRefusal::Leaves(_)) && place.starts_with("jmp"),
        "{place}"
    );
    let (reason, place) = refused("    adda     r2,sp\n");
    assert!(
        matches!(reason, SlotRefusal::Pointer(_)) && place.starts_with("adda"),
        "{place}"
    );
    let (reason, _) = refused("    adda     #8,sp\n");
    assert!(matches!(reason, SlotRefusal::Unbalanced(_)), "{reason}");
    let (reason, place) = refused("    move.l   d0,(sp+8)\n");
    assert!(
        matches!(reason, SlotRefusal::Beyond(_)) && place.starts_with("move.l"),
        "{place}"
    );
}

#[test]
fn calls_and_conditions_keep_what_they_may_read_and_write() {
    let kept = |body: &str, loads: u32| {
        let text = around(body);
        match &functions(&text)[..] {
            [
                SlotFunction {
                    outcome: SlotOutcome::Reduced { after, .. },
                    ..
                },
            ] => {
                assert_eq!(after.loads, loads, "{text}");
            }
            [
                SlotFunction {
                    outcome: SlotOutcome::Kept(SlotRefusal::NothingFound),
                    ..
                },
            ] => {
                assert_eq!(loads, 2, "{text}");
            }
            other => panic!("{other:?}"),
        }
    };
    let load = "    move.l   (sp-8),d2\n    tfr      d2,d0\n";
    let store = "    move.l   (r0),d6\n    move.l   d6,(sp-8)\n";
    kept(&format!("{store}{load}    jsr      _g\n{load}"), 1);
    kept(
        &format!("{store}    jsr      _g\n{load}    tsteq    d0\n    IFT move.l d1,(sp-8)\n{load}"),
        2,
    );
    // A short store into the slot, too.
    kept(
        &format!("{store}    jsr      _g\n{load}    move.w   d1,(sp-6)\n{load}"),
        2,
    );
}

#[test]
fn conditions_stay_where_they_are_written() {
    let text = around(
        "    move.l   (r0),d6\n [\n    IFT clr  d5\n    IFA move.l d6,(sp-8)\n    move.l   (r1),d3\n ]\n    add      d3,d5,d0\n",
    );
    let (changed, found) = reduced(&text);
    assert_eq!(changed, text, "{found:?}");
}

/// A set with a store that nothing loads, behind a condition that its neighbour needs.
const ONCE_WRONG: u64 = 1976;
