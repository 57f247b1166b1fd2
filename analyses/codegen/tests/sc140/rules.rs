//! The rules of SC140's execution sets: a fixture with a case each, listings that break none, and listings that a
//! mutation broke.

use super::{LISTINGS, capacity, fixture};
use lockstep_codegen::target::sc140::check::{Broken, Certainty, Finding, check};
use lockstep_codegen::target::sc140::layout;
use lockstep_codegen::target::sc140::listing::Listing;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use syntax::sc140::{Document, StatementKind, parse};
use syntax::{LineIndex, Span};

fn findings(text: &str) -> (Listing, Vec<Finding>) {
    let document = parse(text);
    let listing = Listing::of(&document);
    let found = check(&listing, &capacity());
    (listing, found)
}

fn place(listing: &Listing, finding: &Finding) -> Span {
    let set = &listing.sets[finding.at.set];
    finding
        .at
        .member
        .map_or(set.span, |member| set.members[member].span)
}

#[test]
fn each_case_breaks_the_rule_that_it_names_and_no_other() {
    let text = fixture("rules.sc140.asm");
    let document = parse(&text);
    assert_eq!(document.problems, []);
    let (listing, found) = findings(&text);
    let unknown = listing.sets.iter().flat_map(|set| &set.members);
    assert!(unknown.clone().all(|member| member.instruction.is_ok()));
    let index = LineIndex::new(&text);
    let mut told: Vec<(u32, String)> = found
        .iter()
        .map(|finding| {
            let guessed = finding.broken.certainty() == Certainty::Guessed;
            let sign = if guessed { '?' } else { '!' };
            let line = index.line_column(place(&listing, finding).start).0 + 1;
            (line, format!("{sign} {}", finding.broken.rule()))
        })
        .collect();
    let mut wanted: Vec<(u32, String)> = Vec::new();
    for (line, text) in (1..).zip(text.lines()).skip(4) {
        let marks = text.split(';').skip(1);
        let rules = marks.filter(|mark| mark.starts_with(['!', '?']));
        wanted.extend(rules.map(|rule| (line, rule.trim_end().to_owned())));
    }
    told.sort();
    wanted.sort();
    assert!(wanted.len() > 50);
    assert_eq!(told, wanted);
}

#[test]
fn five_functions_that_run_break_no_rule() {
    for name in LISTINGS {
        let (listing, found) = findings(&fixture(name));
        assert!(listing.sets.len() > 5, "{name}");
        assert_eq!(found, [], "{name}");
    }
}

/// The text with a member written twice in its set.
fn doubled(text: &str, span: Span) -> String {
    let (start, end) = (span.start as usize, span.end as usize);
    let member = &text[start..end];
    format!(
        "{}[\n {member}\n {member}\n ]{}",
        &text[..start],
        &text[end..]
    )
}

#[test]
fn an_instruction_that_stands_twice_in_its_set_is_found() {
    let mut doubles = 0;
    for name in LISTINGS {
        let text = fixture(name);
        let (listing, _) = findings(&text);
        for set in listing.sets.iter().filter(|set| set.members.len() == 1) {
            let member = &set.members[0];
            let acts = member.effects.memory.is_some() || !member.effects.writes.is_empty();
            if !acts {
                continue;
            }
            let (_, found) = findings(&doubled(&text, member.span));
            let twice = |finding: &Finding| finding.broken.rule() == "G.G.4";
            assert!(found.iter().any(twice), "{name}: {found:?}");
            doubles += 1;
        }
        for set in listing.sets.iter().filter(|set| set.members.len() > 1) {
            for member in &set.members {
                let (start, end) = (member.span.start as usize, member.span.end as usize);
                let changed = format!("{}\n {}{}", &text[..end], &text[start..end], &text[end..]);
                let (_, found) = findings(&changed);
                let twice = |finding: &Finding| finding.broken.rule() == "G.G.4";
                assert!(found.iter().any(twice), "{name}: {changed}");
                doubles += 1;
            }
        }
    }
    assert!(doubles > 70, "{doubles}");
}

#[test]
fn a_set_that_keeps_others_apart_is_missed() {
    let mut removed = 0;
    for name in LISTINGS {
        let text = fixture(name);
        for (at, _) in text.match_indices("    nop\n") {
            let changed = format!("{}{}", &text[..at], &text[at + 8..]);
            let (_, found) = findings(&changed);
            let told = |finding: &Finding| {
                matches!(finding.broken, Broken::LoopTooSoon { short: true, .. })
            };
            assert!(found.iter().any(told), "{name}: {found:?}");
            removed += 1;
        }
    }
    assert_eq!(removed, 4);
}

/// The cycles of the simulator are of no matter here.
fn limits() -> simulate::sc140::Limits {
    simulate::sc140::Limits {
        sets: 10_000,
        settings: simulate::sc140::Settings::default(),
        timing: simulate::sc140::Timing {
            name: "sc140".into(),
            fetch_words: 8,
            precalculated: 1,
            mask_register: 2,
            mask_memory: 2,
            jump: 3,
            branch: 4,
            taken: 4,
            not_taken: 1,
            returns: 3,
            return_missed: 2,
            loop_jump: 4,
            straddle: 1,
            stack_shadow: 1,
            call_push: 1,
            late_mark: 3,
        },
    }
}

/// The rules that a run breaks, as the simulator sees it; a run that faults breaks those that it came to.
fn violations(document: &Document, text: &str, pointers: usize) -> usize {
    use simulate::sc140::{Arg, Program, Source, run};
    let (program, _) = Program::new(&[Source { document, text }]);
    let mut memory = simulate::Memory::new();
    let mut arguments = Vec::new();
    for buffer in 0..pointers {
        let bytes: Vec<u8> = (0..2048).map(|at| (at * 7 + buffer) as u8).collect();
        let address = memory.place(&bytes).expect("room");
        arguments.push(Arg::Pointer(address as u32));
    }
    arguments.extend([Arg::Word(16); 3]);
    let item = program.functions()[0].clone();
    run(&program, &item, &arguments, &mut memory, &limits())
        .map_or(0, |outcome| outcome.violations.len())
}

#[test]
fn what_the_simulator_objects_to_in_exchanged_instructions_the_checker_finds() {
    let mut random = StdRng::seed_from_u64(140);
    let (mut objected, mut found_alone) = (0, 0);
    for name in LISTINGS {
        let text = fixture(name);
        let (listing, _) = findings(&text);
        let spans: Vec<(usize, Span)> = listing
            .sets
            .iter()
            .enumerate()
            .flat_map(|(at, set)| set.members.iter().map(move |member| (at, member.span)))
            .collect();
        for _ in 0..400 {
            let mut pair = [(); 2].map(|()| *spans.choose(&mut random).expect("instructions"));
            pair.sort_by_key(|(_, span)| span.start);
            let [(first, earlier), (second, later)] = pair;
            if first == second {
                continue;
            }
            let part = |from: u32, to: u32| &text[from as usize..to as usize];
            let changed = [
                part(0, earlier.start),
                part(later.start, later.end),
                part(earlier.end, later.start),
                part(earlier.start, earlier.end),
                part(later.end, text.len() as u32),
            ]
            .concat();
            let document = parse(&changed);
            let found = check(&Listing::of(&document), &capacity());
            let pointers = if random.random_bool(0.5) { 1 } else { 2 };
            match violations(&document, &changed, pointers) {
                0 => found_alone += usize::from(!found.is_empty()),
                _ => {
                    assert!(!found.is_empty(), "{changed}");
                    objected += 1;
                }
            }
        }
    }
    assert!(
        objected > 100 && found_alone > 100,
        "{objected} {found_alone}"
    );
}

/// Lines in any order are checked, and what is told has its place in them.
#[test]
fn broken_text_is_no_obstacle() {
    let mut random = StdRng::seed_from_u64(7);
    let text = fixture("rules.sc140.asm");
    let lines: Vec<&str> = text.lines().collect();
    let mut checked = 0;
    for _ in 0..300 {
        let count = random.random_range(1..60);
        let picked: Vec<&str> = (0..count)
            .map(|_| *lines.choose(&mut random).expect("lines"))
            .collect();
        let document = parse(&picked.join("\n"));
        let listing = Listing::of(&document);
        let found = check(&listing, &capacity());
        for finding in &found {
            assert!(place(&listing, finding).end as usize <= picked.join("\n").len());
        }
        let sets = document
            .statements
            .iter()
            .filter(|statement| matches!(statement.kind, StatementKind::Set(_)));
        assert_eq!(sets.count(), listing.sets.len());
        checked += found.len();
    }
    assert!(checked > 500, "{checked}");
}

/// The lines of the targets that two fetches hold, with `?` where that is so by the most words only.
fn splits(text: &str) -> Vec<String> {
    let listing = Listing::of(&parse(text));
    let index = LineIndex::new(text);
    let found = layout::splits(&listing, &capacity());
    let told = found.iter().map(|split| {
        let line = index.line_column(listing.sets[split.set].span.start).0 + 1;
        format!("{}{line}", if split.certain { "" } else { "?" })
    });
    told.collect()
}

#[test]
fn targets_that_two_fetches_hold_are_found() {
    let five = "    move.l #100000,r0\n    addnc.w #1,d0,d1\n";
    let six = " [\n    addnc.w #1,d0,d1\n    addnc.w #1,d2,d3\n    clr d4\n ]\n";
    let jumps = "    bra <L1\n";
    let whole = |front: &str| format!("{front}{five}L1\n{six}{jumps}");
    assert_eq!(splits(&whole(" ALIGN 16\n")), ["5"]);
    assert_eq!(
        splits(&whole(" ALIGN 16\n    nop\n    nop\n    nop\n")),
        [""; 0]
    );
    assert_eq!(splits(&whole("")), [""; 0], "anywhere");
    let aligned = format!(" ALIGN 16\n{five} FALIGN\nL1\n{six}{jumps}");
    assert_eq!(splits(&aligned), [""; 0]);
    let never = format!(" ALIGN 16\n{five}L1\n{six}    rts\n");
    assert_eq!(splits(&never), [""; 0], "no jump leads there");
    // One word or two: only with the most it lies in two.
    let bounded = format!(
        " ALIGN 16\n    move.l #100000,r0\n    move.w #4,d0\nL1\n [\n    addnc.w #1,d0,d1\n    clr d4\n ]\n{jumps}"
    );
    assert_eq!(splits(&bounded), ["?5"]);
    let rounds = "    dosetup3 L1\n    doen3 d0\n    nop\n    nop\n    nop\n    LOOPSTART3\nL1\n";
    let looped = format!(" ALIGN 16\n{rounds}{six}{six}{six}    LOOPEND3\n");
    assert_eq!(splits(&looped), ["9"]);
}
