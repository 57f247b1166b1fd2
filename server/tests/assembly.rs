//! IA-64 assembly on the command line and in the views: bundles, execution, dependences within groups, hovers and actions.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use lockstep_server::config::{CostHints, HintConfig};
use lockstep_server::db::{Database, File, Source};
use lockstep_server::program::Language;
use lockstep_server::views::actions::{Doing, actions, edited};
use lockstep_server::views::diagnostics::diagnostics;
use lockstep_server::views::hints::hints;
use lockstep_server::views::hover::hover;
use std::path::Path;
use std::sync::Arc;
use syntax::Span;

const SUM: &str = "\
\t.text
\t.global sum
\t.proc sum
sum:
\tld8 r14 = [r32], 8 ;;
\tld8 r15 = [r32] ;;\t// the second
\tadd r8 = r14, r15 ;;
\tst8 [r33] = r8 ;;
\tbr.ret.sptk.many b0 ;;
\t.endp sum
";

#[test]
fn bundle_prints_text_that_computes_the_same_in_fewer_bundles() {
    let place = Place::new("bundle");
    let file = place.file("sum.s", SUM);
    let bundled = lockstep(&["bundle", &file]);
    assert!(bundled.status.success(), "{}", errors(&bundled));
    assert!(text(&bundled).contains("// the second"));
    let after = place.file("after.s", text(&bundled));
    let run = |file: &str| {
        let arguments = [
            "sim", file, "--item", "sum", "--arg", "i64:40,2", "--arg", "i64[1]", "--format",
            "json",
        ];
        json(&lockstep(&arguments))
    };
    let (old, new) = (run(&file), run(&after));
    assert_eq!(old["r8"], 42);
    assert_eq!(new["r8"], 42);
    assert_eq!(new["buffers"][0]["elements"][0], "42");
    assert!(
        new["cycles"].as_u64() < old["cycles"].as_u64(),
        "{old} {new}"
    );
    let rows = json(&lockstep(&["bundle", &file, "--format", "json"]));
    let block = &rows["blocks"][0];
    assert!(
        block["after"]["nops"].as_u64() < block["before"]["nops"].as_u64(),
        "{block}"
    );
    assert_eq!(block["line"], 5);
}

#[test]
fn what_can_not_be_bundled_or_run_says_why() {
    let place = Place::new("bundle-wrong");
    let file = place.file("sum.s", SUM);
    let wrong = lockstep(&["bundle", &file, "--machine", "sm_80"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(errors(&wrong).contains("itanium2"));
    let line = lockstep(&["bundle", &file, "--line", "99"]);
    assert_eq!(line.status.code(), Some(2));
    let missing = lockstep(&["sim", &file, "--item", "product"]);
    assert!(
        errors(&missing).contains("there are: sum"),
        "{}",
        errors(&missing)
    );
    // Without arguments the address is no buffer.
    let fault = lockstep(&["sim", &file, "--item", "sum"]);
    assert_eq!(fault.status.code(), Some(1));
    assert!(errors(&fault).contains("line 5"), "{}", errors(&fault));
    let broken = place.file("broken.s", "f:\n\tadd r1 = , r2\n\tfrobnicate r1 = r2 ;;\n");
    let told = lockstep(&["bundle", &broken]);
    assert_eq!(told.status.code(), Some(1));
    assert!(errors(&told).contains("broken.s:2:"), "{}", errors(&told));
}

fn open(source: &str) -> (Database, File) {
    let mut db = Database::default();
    let text = Source::Text {
        text: Arc::from(source),
        lossy: false,
    };
    let file = db.file_with_text(Path::new("/k.ia64.s"), text);
    (db, file)
}

#[test]
fn dependences_within_a_group_are_told_with_both_places() {
    let source = "f:\n\tadd r14 = r32, r33\n\tld8 r15 = [r14] ;;\n\tcmp.eq p6, p7 = r15, r0\n(p6)\tbr.ret.sptk.many b0 ;;\n\twobble r1 ;;\n";
    let (db, file) = open(source);
    let told = diagnostics(&db, file);
    let codes: Vec<&str> = told.iter().map(|it| it.code).collect();
    assert_eq!(
        codes,
        ["group-dependency", "unsupported-construct"],
        "{told:#?}"
    );
    assert_eq!(told[0].span.start as usize, source.find("ld8").expect("it"));
    assert_eq!(
        told[0].related[0].span.start as usize,
        source.find("add").expect("it")
    );
    assert!(told[0].message.contains("r14"));
}

#[test]
fn an_instruction_says_what_it_does_and_who_waits() {
    let (db, file) = open(SUM);
    let at = SUM.find("ld8 r15").expect("it") as u32 + 1;
    let hover = hover(&db, file, at).expect("a hover");
    assert!(
        hover.markdown.starts_with("`ld8` · load · M slot"),
        "{}",
        hover.markdown
    );
    assert!(
        hover
            .markdown
            .contains("writes r15 · reads r32 · loads 8 bytes at r32"),
        "{}",
        hover.markdown
    );
    assert!(
        hover
            .markdown
            .contains("1 cycle: `add r8 = r14, r15` in line 7"),
        "{}",
        hover.markdown
    );
}

#[test]
fn the_block_at_a_place_is_rebundled_and_a_second_time_nothing_is_gained() {
    let (db, file) = open(SUM);
    let at = SUM.find("ld8 r15").expect("it") as u32;
    let found = actions(&db, file, Span::at(at));
    let action = found
        .iter()
        .find(|it| it.id == "re-bundle")
        .expect("it is offered");
    assert!(
        action.title.contains("nops, estimate for itanium2"),
        "{}",
        action.title
    );
    let Doing::Edit(edits) = &action.what else {
        panic!("{action:?}");
    };
    let changed = edited(SUM, edits).expect("whole");
    let (db, file) = open(&changed);
    let at = changed.find("ld8 r15").expect("it") as u32;
    let again = actions(&db, file, Span::at(at));
    let again = again
        .iter()
        .find(|it| it.id == "re-bundle")
        .expect("it is named");
    assert!(
        matches!(&again.what, Doing::Refused { reason } if reason == "nothing is gained"),
        "{again:?}"
    );
}

const WASTE: &str = "\
\t.text
\t.proc f
f:
\tldfd f6 = [r32] ;;
\tadd r15 = 1, r33 ;;
\tadd r40 = r15, r15 ;;
\tfadd f8 = f6, f6 ;;
\tadd r8 = r40, r15 ;;
\tadd r9 = 1, r33 ;;
\tbr.ret.sptk.many b0 ;;
\t.endp f
";

#[test]
fn frames_stops_and_nops_are_told_in_the_margin() {
    let (db, file) = open(WASTE);
    let told = diagnostics(&db, file);
    let codes: Vec<(&str, usize)> = told
        .iter()
        .map(|it| (it.code, WASTE[..it.span.start as usize].lines().count()))
        .collect();
    // Without the stop behind the load the wait for it would be longer; each of the last three costs a cycle.
    assert_eq!(
        codes,
        [
            ("nop-waste", 4),
            ("register-without-alloc", 6),
            ("needless-stop", 7),
            ("register-without-alloc", 8),
            ("needless-stop", 8),
            ("needless-stop", 9),
        ],
        "{told:#?}"
    );
    assert!(told[1].message.starts_with("r40 without `alloc`"));
}

#[test]
fn numbers_that_do_not_fit_are_errors_where_they_stand() {
    let text = "FAR = 9000\nf:\n\tadds r14 = FAR, r15\n\tadds r16 = elsewhere, r15\n\tshladd r17 = r14, 5, r16 ;;\n";
    let (db, file) = open(text);
    let told = diagnostics(&db, file);
    let own: Vec<(&str, &str)> = told
        .iter()
        .filter(|it| it.code == "operand-range")
        .map(|it| {
            (
                &text[it.span.start as usize..it.span.end as usize],
                it.message.as_str(),
            )
        })
        .collect();
    assert_eq!(
        own,
        [
            ("FAR", "9000 does not fit: this operand is -8192 to 8191"),
            ("5", "5 does not fit: this operand is 1 to 4"),
        ],
        "{told:#?}"
    );
}

#[test]
fn a_block_says_what_it_takes_and_a_group_what_it_waits_for() {
    let (db, file) = open(WASTE);
    let everything = Span::new(0, WASTE.len() as u32);
    let mut switches = HintConfig::default();
    let labels = |switches: &HintConfig| -> Vec<String> {
        let found = hints(&db, file, everything, switches);
        found.into_iter().map(|hint| hint.label).collect()
    };
    let hot = labels(&switches);
    assert_eq!(hot.len(), 2, "{hot:?}");
    assert!(hot[0].starts_with("block: 10 cycles, 7 ops, "), "{hot:?}");
    assert_eq!(hot[1], "waits 3 cycles for f6 of line 4");
    switches.costs = CostHints::All;
    assert_eq!(labels(&switches).len(), 7);
    switches.costs = CostHints::Off;
    assert_eq!(labels(&switches), Vec::<String>::new());
}

#[test]
fn assembly_is_told_from_that_of_other_machines_by_its_text() {
    let of = |name: &str, text: &str| Language::of_file(Path::new(name), text);
    assert_eq!(of("a.s", SUM), Language::Ia64);
    assert_eq!(of("a.S", WASTE), Language::Ia64);
    assert_eq!(of("a.s", "f:\n\tmovq %rdi, %rax\n\tret\n"), Language::Other);
    assert_eq!(
        of("a.asm", ";; a comment\nmov eax, 1\nret\n"),
        Language::Other
    );
    assert_eq!(of("a.txt", SUM), Language::Other);
}

#[test]
fn another_processor_waits_other_cycles() {
    let place = Place::new("processor");
    place.file("lockstep.toml", "processor = \"itanium\"\n");
    let file = place.file("waste.s", WASTE);
    let told = lockstep(&["check", &file, "--format", "json"]);
    let all = text(&told);
    assert!(all.contains("estimate for itanium)"), "{all}");
    let wrong = place.file("lockstep.toml", "processor = \"sm_80\"\n");
    let told = lockstep(&["check", &file, "--format", "json"]);
    let all = format!("{}{}", text(&told), errors(&told));
    assert!(all.contains("`itanium`, `itanium2` and"), "{wrong} {all}");
}

/// Loads every line of a buffer twice; a branch is taken as the elements say.
const WALK: &str = "\t.text
\t.global walk
\t.proc walk
walk:
\tmov r9 = ar.lc
\tmov r14 = r32
\tmov r8 = 0
\tadd r10 = -1, r33 ;;
\tmov ar.lc = r10 ;;
.Lloop:
\tld4 r15 = [r14], 4 ;;
\tcmp.ne p6, p7 = r15, r0
(p7)\tbr.cond.dpnt .Lnext ;;
\tadd r8 = 1, r8 ;;
.Lnext:
\tbr.cloop.sptk .Lloop ;;
\tmov ar.lc = r9
\tbr.ret.sptk.many b0 ;;
\t.endp walk
";

#[test]
fn a_machine_with_caches_and_a_predictor_counts_what_is_lost() {
    let place = Place::new("sim-caches");
    let file = place.file("walk.s", WALK);
    let values: Vec<&str> = (0..64).map(|at| ["0", "1"][at % 2]).collect();
    let buffer = format!("i32:{}", values.join(","));
    let run = |machine: &str, format: &str| {
        let arguments = [
            "sim",
            &file,
            "--item",
            "walk",
            "--arg",
            &buffer,
            "--arg",
            "64",
            "--machine",
            machine,
            "--format",
            format,
        ];
        lockstep(&arguments)
    };
    let plain = json(&run("itanium", "json"));
    assert_eq!(plain["r8"], 32);
    assert!(
        plain["memory"].is_null() && plain["branches"].is_null(),
        "{plain}"
    );
    // 256 bytes are eight lines of 32, four of the second level's; the compare waits for each.
    let paper = json(&run("bratt2001", "json"));
    assert_eq!(paper["r8"], 32);
    let memory = &paper["memory"];
    assert_eq!(
        memory["levels"][0],
        serde_json::json!({ "accesses": 64, "misses": 8 })
    );
    assert_eq!(
        memory["levels"][1],
        serde_json::json!({ "accesses": 8, "misses": 4 })
    );
    assert_eq!(memory["stalls"], 4 * 12 + 4 * 100);
    assert_eq!(memory["lines"][0]["line"], 11);
    let branches = &paper["branches"];
    assert_eq!(branches["executed"], 128);
    let cycles = |run: &serde_json::Value| run["cycles"].as_u64().unwrap_or(0);
    let wrong = branches["mispredicted"].as_u64().unwrap_or(0);
    assert!(wrong > 0, "{paper}");
    assert_eq!(
        cycles(&paper),
        cycles(&plain) + 4 * 12 + 4 * 100 + 8 * wrong
    );
    let told = run("bratt2001", "text");
    for part in [
        "cycles on bratt2001 (estimate: instructions are there when they are needed)",
        "level 1: 64 accesses, 8 misses (12.5 %)",
        "448 cycles waited for misses",
        "line 11: 8 of 64 accesses miss, 448 cycles waited",
        "128 branches, ",
    ] {
        assert!(
            text(&told).contains(part),
            "{part} is not in {}",
            text(&told)
        );
    }
    let told = run("itanium", "text");
    assert!(text(&told).contains("(estimate: caches hit, branches are predicted)"));
    // A table of one's own; what is wrong in it is told with its place.
    let own = "kind = \"epic\"\nname = \"small\"\nbase = \"itanium\"\n[cache]\nl1_sets = 2\nl1_ways = 1\nl1_line = 16\n";
    let own = place.file("small.toml", own);
    let small = json(&run(&own, "json"));
    assert_eq!(small["memory"]["levels"][0]["misses"], 16);
    assert_eq!(small["memory"]["stalls"], 16 * 148, "{small}");
    let wrong = place.file(
        "wrong.toml",
        "kind = \"epic\"\nbase = \"itanium\"\n[cache]\nl1_sets = 3\n",
    );
    let told = run(&wrong, "text");
    assert_eq!(told.status.code(), Some(2));
    assert!(
        errors(&told).contains("wrong.toml:4:11: `l1_sets` is a power of two"),
        "{}",
        errors(&told)
    );
    let shown = lockstep(&["machine", "show", "bratt2001"]);
    assert!(text(&shown).contains("\npredictor: ") && text(&shown).contains("gshare"));
    let shown = lockstep(&["machine", "show", "itanium2", "--format", "json"]);
    assert!(json(&shown)["values"]["cache"].is_null());
}
