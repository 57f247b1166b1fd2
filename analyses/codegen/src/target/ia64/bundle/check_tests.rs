//! Right results are accepted, and each kind of fault is found in results that were right before they were broken by hand.
//!
//! Bundles are written as `.mii 0; 1 -;`: instructions by number, `-` for a nop of the slot's kind, `m` for a `nop.m`, `;`
//! for a stop; without a template the instructions stand outside of bundles.

use super::check::{Block, Compared, Region, Through, Violation};
use super::laid::{Laid, Written};
use super::template::{Shape, Slot, Template};
use crate::target::ia64::listing::{Listing, listing};
use isa::ia64::{Inst, Reg};

fn read(text: &str) -> Listing {
    let document = syntax::ia64::parse(text);
    let out = listing(&document, text);
    assert!(out.items.iter().all(|item| item.opaque.is_none()), "{text}");
    out
}

fn kind(letter: char) -> Slot {
    match letter {
        'm' => Slot::M,
        'i' => Slot::I,
        'f' => Slot::F,
        'b' => Slot::B,
        _ => Slot::L,
    }
}

fn laid(text: &str) -> Vec<Laid> {
    let mut out = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace().peekable();
        let name = words.next_if(|word| word.starts_with('.'));
        let known = Shape::ALL
            .iter()
            .filter_map(|&shape| Template::with(shape, 0, false))
            .find(|template| Some(template.name()) == name)
            .map(Template::name);
        let mut kinds = name.unwrap_or("").chars().filter(|&letter| letter != '.');
        let mut slots = Vec::new();
        for word in words {
            let stop = word.ends_with(';');
            let own = word.trim_end_matches(';');
            let slot = kinds.next().unwrap_or('m');
            slots.push(match own.parse() {
                Ok(number) => Written::Instruction(number, stop),
                Err(_) if own == "-" => Written::Nop(kind(slot), stop),
                Err(_) => Written::Nop(own.chars().next().map_or(Slot::M, kind), stop),
            });
        }
        match name {
            Some(_) => out.push(Laid::Bundle(known.unwrap_or(""), slots)),
            None => out.extend(slots.into_iter().map(|slot| match slot {
                Written::Instruction(number, stop) => Laid::Alone(number, stop),
                Written::Nop(..) => panic!("a nop outside of bundles"),
            })),
        }
    }
    out
}

fn verdict_of(
    text: &str,
    cycles: &[u32],
    marks: &[usize],
    result: &str,
) -> Result<Compared, Violation> {
    let listing = read(text);
    let insts: Vec<&Inst> = listing.items.iter().map(|item| &item.inst).collect();
    let block = Block {
        start: 0,
        end: insts.len(),
        marks,
        cycles,
    };
    Region::new(insts, &listing.promises).check(block, &laid(result))
}

fn verdict(text: &str, result: &str) -> Result<Compared, Violation> {
    verdict_of(text, &[], &[], result)
}

#[track_caller]
fn accepted(text: &str, result: &str) {
    let verdict = verdict(text, result);
    assert!(verdict.is_ok(), "{text}\n{result}\n{verdict:?}");
}

#[track_caller]
fn stop(text: &str, result: &str, through: Through) {
    let verdict = verdict(text, result);
    assert!(
        matches!(verdict, Err(Violation::Stop { through: found, .. }) if found == through),
        "{text}\n{result}\n{verdict:?}"
    );
}

#[track_caller]
fn order(text: &str, result: &str, through: Through) {
    let verdict = verdict(text, result);
    assert!(
        matches!(verdict, Err(Violation::Order { through: found, .. }) if found == through),
        "{text}\n{result}\n{verdict:?}"
    );
}

fn general(number: u8) -> Through {
    Through::Register(Reg::general(number))
}
fn predicate(number: u8) -> Through {
    Through::Register(Reg::predicate(number))
}

const SUM: &str = "ld8 r14 = [r32]
    add r15 = 1, r14
    fma.d f8 = f9, f10, f11
    movl r16 = 5";
const SUM_LAID: &str = ".mfi 0 2 -;
    .mlx 1 3;";

#[test]
fn a_right_result_is_accepted_and_counted() {
    let compared = Compared {
        instructions: 4,
        bundles: 2,
        together: 0,
    };
    assert_eq!(verdict(SUM, SUM_LAID), Ok(compared));
    let all = Laid::one_by_one(4);
    let listing = read(SUM);
    let insts = listing.items.iter().map(|item| &item.inst).collect();
    let block = Block {
        start: 0,
        end: 4,
        marks: &[],
        cycles: &[],
    };
    assert!(Region::new(insts, &[]).check(block, &all).is_ok());
}

#[test]
fn each_instruction_stands_there_once() {
    let of = |result: &str| verdict(SUM, result);
    assert_eq!(
        of(".mfi 0 2 -;\n .mlx - 3;"),
        Err(Violation::Missing { instruction: 1 })
    );
    assert_eq!(
        of(".mfi 0 2 -;\n .mlx 1 3;\n .mii 1 - -;"),
        Err(Violation::Twice { instruction: 1 })
    );
    assert_eq!(
        of(".mfi 0 2 -;\n .mlx 1 3;\n .mii 4 - -;"),
        Err(Violation::Foreign { instruction: 4 })
    );
    assert_eq!(
        of("0; 1; 2; 3; 4;"),
        Err(Violation::Foreign { instruction: 4 })
    );
    // A nop of the program may go, and may stay.
    accepted("nop.i 0\n add r14 = 1, r15", ".mii - 1 -;");
    accepted("nop.i 0\n add r14 = 1, r15", ".mii 1 0 -;");
}

/// Both tables are written down from the manual; all slots with all stops are tried in both.
#[test]
fn the_templates_are_those_of_the_manual() {
    let mut found = 0;
    for shape in Shape::ALL {
        let name = Template::with(shape, 0, false).expect("a template").name();
        let count = if shape == Shape::Mlx { 2 } else { 3 };
        for stops in 0..1 << count {
            let mut slots: Vec<String> = (0..count)
                .map(|slot| format!("-{}", if stops >> slot & 1 == 1 { ";" } else { "" }))
                .collect();
            // The bundle behind it closes the group.
            slots.push("\n .mii - - -;".to_owned());
            let verdict = verdict("", &format!("{name} {}", slots.join(" ")));
            let ends = stops >> (count - 1) & 1 == 1;
            let inner: Vec<u8> = (1..count)
                .filter(|slot| stops >> (slot - 1) & 1 == 1)
                .collect();
            let known = match inner[..] {
                [] => Template::with(shape, 0, ends).is_some(),
                [at] => Template::with(shape, at, ends).is_some(),
                _ => false,
            };
            assert_eq!(verdict.is_ok(), known, "{name} {stops:b}: {verdict:?}");
            found += u32::from(known);
        }
    }
    assert_eq!(found, 24);
    assert!(matches!(
        verdict(SUM, ".fmi 2 0 -;\n .mlx 1 3;"),
        Err(Violation::Slots { .. } | Violation::Template { .. })
    ));
    assert_eq!(
        verdict("add r14 = 1, r15", ".mib 0; - -;"),
        Err(Violation::Template {
            bundle: 0,
            template: "m;ib;".to_owned()
        })
    );
    assert_eq!(
        verdict(SUM, ".mfi 0 2;\n .mlx 1 3;"),
        Err(Violation::Slots {
            bundle: 0,
            slots: 3,
            written: 2
        })
    );
}

#[test]
fn slots_serve_what_stands_in_them() {
    let wrong = |text: &str, result: &str, slot: u32| {
        let unit = Violation::Unit { bundle: 0, slot };
        assert_eq!(verdict(text, result), Err(unit), "{text}: {result}");
    };
    accepted("add r14 = 1, r15", ".mib - 0 -;");
    accepted("add r14 = 1, r15", ".mib 0 - -;");
    wrong("add r14 = 1, r15", ".mfb - 0 -;", 1);
    wrong("ld8 r14 = [r15]", ".mii - 0 -;", 1);
    wrong("shl r14 = r15, 3", ".mii 0 - -;", 0);
    wrong("fma.d f8 = f9, f10, f11", ".mii - - 0;", 2);
    wrong("movl r14 = 1", ".mii - 0 -;", 1);
    wrong("add r14 = 1, r15", ".mlx - 0;", 1);
    wrong("br.few b6", ".mii - - 0;", 2);
    // A nop of another kind of slot.
    wrong("ld8 r14 = [r15]", ".mii 0 f -;", 1);
}

#[test]
fn loop_branches_stand_in_slot_2() {
    let text = "f:\n br.cloop.sptk f";
    accepted(text, ".mib - - 0;");
    accepted(text, ".bbb - - 0;");
    let fault = Violation::LoopBranch {
        bundle: 0,
        slot: 1,
        instruction: 0,
    };
    assert_eq!(verdict(text, ".mbb - 0 -;"), Err(fault));
    accepted("f:\n br.cond.sptk f", ".mbb - 0 -;");
}

#[test]
fn labels_stand_at_the_edges_of_blocks() {
    let text = "add r14 = 1, r15\n add r16 = 1, r17";
    let of = |marks: &[usize]| verdict_of(text, &[], marks, ".mii 0 1 -;");
    assert!(of(&[0, 2]).is_ok());
    assert_eq!(of(&[0, 1, 2]), Err(Violation::Mark { instruction: 1 }));
}

#[test]
fn what_depends_keeps_its_order() {
    let text = "ld8 r14 = [r32]\n add r15 = 1, r14";
    accepted(text, ".mii 0 - -;\n .mii - 1 -;");
    order(text, ".mii 1 - -;\n .mii 0 - -;", general(14));
    // A write behind a read shares its group, and stays behind it.
    let text = "ld8 r15 = [r14]\n add r14 = 1, r16";
    accepted(text, ".mii 0 1 -;");
    order(text, ".mmi 1 0 -;", general(14));
    let text = "f:\n add r14 = 1, r16\n br.cond.sptk f";
    accepted(text, ".mib 0 - 1;");
    order(text, ".bbb - - 1;\n .mii 0 - -;", Through::Branch);
    let text = "mf\n ld8 r14 = [r32]";
    accepted(text, ".mii 0 - -;\n .mii 1 - -;");
    order(text, ".mii 1 - -;\n .mii 0 - -;", Through::Barrier);
    stop(text, ".mmi 0 1 -;", Through::Barrier);
}

#[test]
fn accesses_to_memory_keep_their_order_where_they_may_meet() {
    let text = "st8 [r32] = r14\n ld8 r15 = [r33]";
    accepted(text, ".mmi 0 1 -;");
    order(text, ".mmi 1 0 -;", Through::Memory);
    // A known distance apart.
    let text = "add r33 = 8, r32\n st8 [r32] = r14\n ld8 r15 = [r33]";
    accepted(text, ".mii 0 - -;\n .mmi 2 1 -;");
    let text = "add r33 = 4, r32\n st8 [r32] = r14\n ld8 r15 = [r33]";
    order(text, ".mii 0 - -;\n .mmi 2 1 -;", Through::Memory);
    let text = "(p6) add r33 = 8, r32\n st8 [r32] = r14\n ld8 r15 = [r33]";
    order(text, ".mii 0 - -;\n .mmi 2 1 -;", Through::Memory);
    // Loads change places, those that acquire do not, and prefetches do.
    accepted("ld8 r14 = [r32]\n ld8 r15 = [r33]", ".mmi 1 0 -;");
    let text = "ld8.acq r14 = [r32]\n ld8 r15 = [r33]";
    order(text, ".mmi 1 0 -;", Through::Memory);
    accepted("st8 [r32] = r14\n lfetch [r33]", ".mmi 1 0 -;");
}

#[test]
fn a_stop_stands_between_what_shares_no_group() {
    stop(
        "ld8 r14 = [r32]\n add r15 = 1, r14",
        ".mii 0 1 -;",
        general(14),
    );
    stop(
        "add r14 = 1, r15\n add r14 = 2, r15",
        ".mii 0 1 -;",
        general(14),
    );
    stop("add r14 = 1, r15\n add r14 = 2, r15", "0 1;", general(14));
    // The base is written, the value of a check load is there.
    stop(
        "ld8 r14 = [r15], 8\n add r16 = 1, r15",
        ".mii 0 1 -;",
        general(15),
    );
    accepted("ld8.c.clr r14 = [r15]\n add r16 = 1, r14", ".mii 0 1 -;");
    stop(
        "ld8.c.clr r14 = [r15], 8\n add r16 = 1, r15",
        ".mii 0 1 -;",
        general(15),
    );
    // Implied registers.
    let text = "mov ar.ccv = r14\n cmpxchg8.acq r15 = [r16], r17, ar.ccv";
    stop(text, ".mmi 0 1 -;", Through::Register(Reg::CCV));
    let text = "f:\n mov.i ar.lc = r14\n br.cloop.sptk f";
    stop(text, ".mib - 0 1;", Through::Register(Reg::LC));
}

#[test]
fn branches_read_at_once_what_compares_write() {
    let text = "f:\n cmp.eq p6, p7 = r14, r15\n(p6) br.cond.sptk f";
    accepted(text, ".mib 0 - 1;");
    let text = "f:\n fcmp.eq p6, p7 = f8, f9\n(p6) br.cond.sptk f";
    stop(text, ".mfb - 0 1;", predicate(6));
    let text = "cmp.eq p6, p7 = r14, r15\n(p6) add r16 = 1, r17";
    stop(text, ".mii 0 1 -;", predicate(6));
    // A check is no branch in this.
    let text = "f:\n cmp.eq p6, p7 = r14, r15\n(p6) chk.s.m r16, f";
    stop(text, ".mmi 0 1 -;", predicate(6));
    let text = "mov b6 = r14\n br.few b6";
    accepted(text, ".mib - 0 1;");
    let text = "mov b6 = r14\n mov r15 = b6";
    stop(text, ".mii - 0 1;", Through::Register(Reg::branch(6)));
    accepted("mov.i ar.pfs = r14\n br.ret.sptk b0", ".mib - 0 1;");
    let text = "mov.i ar.pfs = r14\n mov.i r15 = ar.pfs";
    stop(text, ".mii - 0 1;", Through::Register(Reg::PFS));
    let text = "f:\n(p63) br.cond.sptk f\n br.ctop.sptk f";
    accepted(text, ".mib - - 0;\n .mib - - 1;");
    stop(text, ".mbb - 0 1;", predicate(63));
}

#[test]
fn parallel_compares_write_one_predicate_in_a_group() {
    let two = |first: &str, second: &str| {
        format!("cmp.{first} p6, p0 = r0, r14\n cmp.{second} p6, p0 = r0, r15")
    };
    accepted(&two("eq.or", "eq.or"), ".mii 0 1 -;");
    accepted(&two("eq.or", "eq.or"), ".mii 1 0 -;");
    accepted(&two("eq.and", "eq.and"), ".mii 0 1 -;");
    stop(&two("eq.or", "eq.and"), ".mii 0 1 -;", predicate(6));
    stop(&two("eq.or", "eq"), ".mii 0 1 -;", predicate(6));
    stop(&two("eq.unc", "eq.or"), ".mii 0 1 -;", predicate(6));
}

#[test]
fn predicates_that_exclude_each_other_share_a_group() {
    let both = "(p6) mov r14 = 1\n(p7) mov r14 = 2";
    let compare = format!("cmp.eq p6, p7 = r15, r16\n{both}");
    accepted(&compare, ".mii 0 - -;\n .mii 2 1 -;");
    let unknown = format!("cmp.eq p6, p8 = r15, r16\n{both}");
    stop(&unknown, ".mii 0 - -;\n .mii 1 2 -;", general(14));
    // Under another predicate the compare may leave both as they were.
    let guarded = format!("(p9) cmp.eq p6, p7 = r15, r16\n{both}");
    stop(&guarded, ".mii 0 - -;\n .mii 1 2 -;", general(14));
    let sure = format!("(p9) cmp.eq.unc p6, p7 = r15, r16\n{both}");
    accepted(&sure, ".mii 0 - -;\n .mii 1 2 -;");
    // What one implies excludes what the other is.
    let nested = "cmp.eq p6, p7 = r15, r16
        (p6) cmp.lt.unc p8, p9 = r17, r18
        (p8) mov r14 = 1
        (p7) mov r14 = 2";
    accepted(nested, ".mii 0 - -;\n .mii 1 - -;\n .mii 2 3 -;");
    let loose = nested.replace(".unc", "");
    stop(
        &loose,
        ".mii 0 - -;\n .mii 1 - -;\n .mii 2 3 -;",
        general(14),
    );
    // One of the two is written again.
    let again = format!("cmp.eq p6, p7 = r15, r16\n cmp.eq p7, p8 = r17, r18\n{both}");
    stop(
        &again,
        ".mii 0 - -;\n .mii 1 - -;\n .mii 2 3 -;",
        general(14),
    );
    let promised = format!(".pred.rel \"mutex\", p6, p7\n{both}");
    accepted(&promised, ".mii 0 1 -;");
    let implied = format!(".pred.rel \"mutex\", p8, p7\n .pred.rel \"imply\", p6, p8\n{both}");
    accepted(&implied, ".mii 0 1 -;");
    // The second writes the predicate of the first.
    let own = "cmp.eq p6, p7 = r15, r16\n(p6) mov r14 = 1\n(p7) cmp.eq p6, p8 = r17, r18";
    accepted(own, ".mii 0 - -;\n .mii 1 2 -;");
    order(own, ".mii 0 - -;\n .mii 2 1 -;", predicate(6));
}

#[test]
fn a_call_and_a_rotation_leave_nothing_known_of_predicates() {
    for branch in ["br.call.sptk.many b0 = f", "br.ctop.sptk f"] {
        let text = format!(
            "f:\n cmp.eq p16, p17 = r15, r16\n {branch}\n(p16) mov r14 = 1\n(p17) mov r14 = 2"
        );
        let found = verdict(&text, "0; 1; 2 3;");
        assert!(
            matches!(found, Err(Violation::Stop { .. })),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn some_instructions_begin_and_end_groups() {
    let text = "alloc r14 = ar.pfs, 2, 0, 0, 0\n add r15 = 1, r32";
    accepted(text, ".mii 0 1 -;");
    assert_eq!(
        verdict(text, ".mmi - 0 1;"),
        Err(Violation::First { instruction: 0 })
    );
    accepted(text, ".mmi -; 0 1;");
    let text = "add r15 = 1, r33\n clrrrb";
    accepted(
        text,
        ".mib 0 - -;\n .bbb 1 - -;"
            .replace("1 - -;", "- - 1;")
            .as_str(),
    );
    assert_eq!(
        verdict(text, ".mib 0 - -;\n .bbb 1 - -;"),
        Err(Violation::Last { instruction: 1 })
    );
}

#[test]
fn cycles_that_were_decided_stay_in_order() {
    let text = "add r14 = 1, r15\n add r16 = 1, r17\n add r18 = 1, r19";
    let of = |result: &str| verdict_of(text, &[0, 1, 1], &[], result);
    assert!(of(".mii 0 - -;\n .mii 2 1 -;").is_ok());
    let fault = Err(Violation::Cycle {
        first: 0,
        second: 1,
        cycles: [0, 1],
    });
    assert_eq!(of(".mii 0 1 2;"), fault);
    assert_eq!(of(".mii 1 - -;\n .mii 0 2 -;"), fault);
}

#[test]
fn the_last_group_ends() {
    let text = "add r14 = 1, r15\n add r16 = 1, r17";
    accepted(text, ".mii 0 1 -;");
    assert_eq!(verdict(text, ".mii 0 1; -"), Err(Violation::Open));
    assert_eq!(verdict(text, "0; 1"), Err(Violation::Open));
}

#[test]
fn faults_are_told_in_sentences() {
    let fault = Violation::Stop {
        first: 0,
        second: 1,
        through: general(14),
    };
    assert_eq!(
        fault.to_string(),
        "there is no stop between instructions 0 and 1, which depend through r14"
    );
    let fault = Violation::Cycle {
        first: 3,
        second: 1,
        cycles: [0, 2],
    };
    assert_eq!(
        fault.to_string(),
        "instruction 1 of cycle 2 stands in front of 3 of cycle 0, or in its group"
    );
}
