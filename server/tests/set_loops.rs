//! Loops and spilled values of C on a processor that issues execution sets: `lockstep loops`, and what the editor shows of them.

#[path = "support/command.rs"]
mod command;

use command::{Place, json, lockstep, text};
use lockstep_server::config::Config;
use lockstep_server::db::{Database, File, Source};
use lockstep_server::derive::code;
use lockstep_server::profile::make::inputs_of;
use lockstep_server::views::diagnostics::diagnostics;
use lockstep_server::views::hints::hints;
use lockstep_server::views::hover::hover;
use lockstep_server::views::lens::lenses;
use lockstep_server::views::page;
use std::path::Path;
use std::sync::Arc;
use syntax::Span;

const TEXT: &str = "\
typedef short Word16; typedef int Word32;
Word32 L_mac(Word32, Word16, Word16);
Word32 dot(const Word16 *x, const Word16 *y, int n) {
    Word32 s = 0;
    for (int i = 0; i < n; i++) s = L_mac(s, x[i], y[i]);
    return s;
}
void scale(const Word16 *x, Word16 *y, int n) {
    for (int i = 0; i < n; i++) y[i] = (x[i] ^ 3) - x[i];
}
int many(const int *restrict x, int *restrict y, int a, int b, int c, int d, int e, int f, int n) {
    int p = a * b, q = b * c, r = c * d, s = d * e, t = 0, u = e * f, v = f * a, w = a ^ 5, g0 = a * 3 ^ b, g1 = b * 4 ^ c, g2 = c * 5 ^ d, g3 = d * 6 ^ e, g4 = e * 7 ^ f, g5 = f * 8 ^ a, g6 = a * 9 ^ b, g7 = b * 10 ^ c, g8 = c * 11 ^ d, g9 = d * 12 ^ e, g10 = e * 13 ^ f, g11 = f * 14 ^ a, g12 = a * 15 ^ b, g13 = b * 16 ^ c, g14 = c * 17 ^ d, g15 = d * 18 ^ e, g16 = e * 19 ^ f, g17 = f * 20 ^ a, g18 = a * 21 ^ b, g19 = b * 22 ^ c, g20 = c * 23 ^ d, g21 = d * 24 ^ e, g22 = e * 25 ^ f, g23 = f * 26 ^ a, g24 = a * 27 ^ b, g25 = b * 28 ^ c, g26 = c * 29 ^ d, g27 = d * 30 ^ e, g28 = e * 31 ^ f;
    for (int i = 0; i < n; i++) {
        t += ((x[2*i] ^ p) & q) + ((x[2*i+1] ^ r) & s) + (a ^ t) + (b & t) + (c | t) + (d ^ i) + (e & i);
        y[2*i] = t ^ u; y[2*i+1] = (t ^ v) & w;
        t ^= (u & i) + (v & f) + (w ^ i); y[32*i+2] = x[32*i+2] ^ g0; y[32*i+3] = x[32*i+3] ^ g1; y[32*i+4] = x[32*i+4] ^ g2; y[32*i+5] = x[32*i+5] ^ g3; y[32*i+6] = x[32*i+6] ^ g4; y[32*i+7] = x[32*i+7] ^ g5; y[32*i+8] = x[32*i+8] ^ g6; y[32*i+9] = x[32*i+9] ^ g7; y[32*i+10] = x[32*i+10] ^ g8; y[32*i+11] = x[32*i+11] ^ g9; y[32*i+12] = x[32*i+12] ^ g10; y[32*i+13] = x[32*i+13] ^ g11; y[32*i+14] = x[32*i+14] ^ g12; y[32*i+15] = x[32*i+15] ^ g13; y[32*i+16] = x[32*i+16] ^ g14; y[32*i+17] = x[32*i+17] ^ g15; y[32*i+18] = x[32*i+18] ^ g16; y[32*i+19] = x[32*i+19] ^ g17; y[32*i+20] = x[32*i+20] ^ g18; y[32*i+21] = x[32*i+21] ^ g19; y[32*i+22] = x[32*i+22] ^ g20; y[32*i+23] = x[32*i+23] ^ g21; y[32*i+24] = x[32*i+24] ^ g22; y[32*i+25] = x[32*i+25] ^ g23; y[32*i+26] = x[32*i+26] ^ g24; y[32*i+27] = x[32*i+27] ^ g25; y[32*i+28] = x[32*i+28] ^ g26; y[32*i+29] = x[32*i+29] ^ g27; y[32*i+30] = x[32*i+30] ^ g28;
    }
    return t + p + q + r + s + u + v + w;
}
";

fn open(processor: Option<&str>) -> (Database, File) {
    let mut db = Database::default();
    let text = Source::Text {
        text: Arc::from(TEXT),
        lossy: false,
    };
    let file = db.file_with_text(Path::new("/k.c"), text);
    let mut config = Config::default();
    config.analysis.processor = processor.map(Into::into);
    let settings = db.new_settings(config.analysis, config.view, Vec::new());
    db.set_file_settings(file, settings);
    (db, file)
}

fn at(words: &str) -> u32 {
    TEXT.find(words).expect(words) as u32
}

#[test]
fn the_command_line_says_what_bounds_a_loop_and_what_spills() {
    let place = Place::new("set-loops");
    let file = place.file("k.c", TEXT);
    let found = json(&lockstep(&[
        "loops", &file, "--target", "sc140", "--format", "json",
    ]));
    assert_eq!(found["processor"], "sc140");
    let rows = found["loops"].as_array().expect("loops");
    let of = |name: &str| rows.iter().find(|row| row["item"] == name).expect(name);
    let dot = of("dot");
    assert_eq!(
        (&dot["ii"], &dot["res_mii"], &dot["line"]),
        (&1.into(), &1.into(), &5.into())
    );
    assert_eq!(dot["units"][0]["unit"], "address units");
    assert_eq!(dot["critical"][0]["variables"][0], "s");
    assert_eq!(
        (&dot["pipelined"], &dot["counted"]),
        (&true.into(), &true.into())
    );
    let scale = of("scale");
    assert_eq!(scale["pipelined"], false);
    let reasons = scale["reasons"].as_array().expect("reasons");
    assert_eq!(reasons.len(), 1, "{scale}");
    assert!(
        reasons[0]["remedy"]
            .as_str()
            .is_some_and(|told| told.contains("`restrict`"))
    );
    let many = of("many");
    let spills = many["spills"].as_array().expect("spills");
    assert!(!spills.is_empty());
    let all = found["spills"].as_array().expect("spills");
    for own in spills {
        let known = all.iter().find(|it| it["name"] == own["name"]).expect("it");
        assert_eq!(known["registers"], "data registers");
        assert!(
            known["line"]
                .as_u64()
                .is_some_and(|line| (11..=12).contains(&line)),
            "{known}"
        );
        assert_eq!(known["loops"][0]["cycles"], own["cycles"]);
        // Each register is told of once, and of each that holds something what that is.
        let obstacles = known["obstacles"].as_array().expect("obstacles");
        let registers = obstacles
            .iter()
            .flat_map(|kept| kept["registers"].as_array());
        let mut registers: Vec<&str> = registers.flatten().filter_map(|it| it.as_str()).collect();
        registers.sort_unstable();
        registers.dedup();
        assert_eq!(registers.len(), 32, "{known}");
        for kept in obstacles {
            let taken = kept["kind"]
                .as_str()
                .is_some_and(|kind| kind.starts_with("taken"));
            let values = kept["values"].as_array();
            assert_eq!(
                taken,
                values.is_some_and(|values| !values.is_empty()),
                "{kept}"
            );
        }
    }
    // The names that the text gives are those of the source.
    let told = text(&lockstep(&[
        "loops", &file, "--target", "sc140", "--item", "many",
    ]));
    let name = spills[0]["name"].as_str().expect("a name");
    assert!(told.contains(&format!("`{name}` in memory: ")), "{told}");
    assert!(
        told.contains("(estimate for sc140)") && !told.contains("dot:"),
        "{told}"
    );
}

#[test]
fn the_processor_of_the_project_decides_what_is_shown() {
    let place = Place::new("set-loops-configured");
    let file = place.file("k.c", TEXT);
    let ia64 = json(&lockstep(&["loops", &file, "--format", "json"]));
    assert_eq!(ia64["processor"], "itanium2");
    place.file("lockstep.toml", "processor = \"sc140\"\n");
    let sets = json(&lockstep(&["loops", &file, "--format", "json"]));
    assert_eq!(sets["processor"], "sc140");
    let assembly = text(&lockstep(&["emit", &file, "--item", "dot", "--pipeline"]));
    assert!(
        assembly.starts_with("; sc140, by `processor` in lockstep.toml\n"),
        "{assembly}"
    );
    // Assembly of IA-64 has its own processor then.
    let group = place.file("k.ia64.s", "\tadd r8 = r32, r33\n\tbr.ret.sptk b0 ;;\n");
    assert!(lockstep(&["check", &group]).status.success());
}

#[test]
fn the_editor_shows_intervals_spills_and_reasons() {
    let (db, file) = open(Some("sc140"));
    let titles: Vec<String> = lenses(&db, file)
        .into_iter()
        .map(|lens| lens.title)
        .collect();
    let has = |words: &str| titles.iter().any(|title| title.contains(words));
    assert!(has("1 loop, 1 pipelined · no spills · sc140"), "{titles:?}");
    assert!(
        has("II 1 (bound 1, address units) · 2 stages"),
        "{titles:?}"
    );
    assert!(
        has("cyc/iter) · not pipelined (estimate for sc140)"),
        "{titles:?}"
    );
    let whole = Span::new(0, TEXT.len() as u32);
    let shown = hints(&db, file, whole, &file.settings(&db).view(&db).hints);
    let spill = shown.iter().find(|hint| hint.label.contains("spills: "));
    let spill = spill.expect("a hint at a spilled variable");
    assert!(spill.label.contains("cyc/iter"), "{spill:?}");
    let found = diagnostics(&db, file);
    let codes: Vec<&str> = found.iter().map(|it| it.code).collect();
    for code in ["spill-in-loop", "loop-not-pipelined", "loop-recurrence"] {
        assert!(codes.contains(&code), "{codes:?}");
    }
    let spilled = found
        .iter()
        .find(|it| it.code == "spill-in-loop")
        .expect("it");
    assert!(
        spilled.message.contains("(sc140; estimate)"),
        "{}",
        spilled.message
    );
    // A loop's table at its head, and a variable's story at its name.
    let head = hover(&db, file, at("for (int i = 0; i < n; i++) s =")).expect("a hover");
    assert!(
        head.markdown.contains("| address units | 2 | 2 | 1 |"),
        "{}",
        head.markdown
    );
    assert!(
        head.markdown
            .contains("Recurrence of 1 cycle: mac `s` (line 5)"),
        "{}",
        head.markdown
    );
    let name = spill.label.trim().split(' ').next().expect("a name");
    let place = TEXT.find(&format!("{name} = ")).expect("its definition") as u32;
    let story = hover(&db, file, place).expect("a hover");
    assert!(
        story.markdown.contains("the data registers are full")
            && story.markdown.contains("in the loop of line 13"),
        "{}",
        story.markdown
    );
    // Its registers, with the variables that are in them.
    let (_, registers) = story
        .markdown
        .split_once("The registers while it waits:\n\n")
        .expect("a list");
    let taken = registers
        .lines()
        .find(|line| line.contains("all the while"));
    assert!(
        taken.is_some_and(|line| line.starts_with("- ") && line.contains(" hold `")),
        "{registers}"
    );
}

#[test]
fn without_such_a_processor_nothing_of_it_is_shown() {
    for processor in [None, Some("itanium2")] {
        let (db, file) = open(processor);
        let told = diagnostics(&db, file);
        assert!(told.iter().all(|it| it.code != "spill-in-loop"));
        let titles = lenses(&db, file);
        assert!(
            titles.iter().all(|lens| !lens.title.contains("sc140")),
            "{titles:?}"
        );
    }
}

#[test]
fn the_code_beside_the_source_says_what_each_set_holds() {
    let (db, file) = open(Some("sc140"));
    let shown = code::at(&db, file, at("Word32 s = 0")).expect("code");
    assert_eq!(
        (shown.name.as_str(), shown.target.to_string().as_str()),
        ("dot", "sc140")
    );
    let lines: Vec<&str> = shown.text.lines().collect();
    let kernel = lines
        .iter()
        .position(|line| line.contains("LOOPSTART"))
        .expect("a kernel");
    assert!(
        lines[kernel + 2].starts_with(" [") && lines[kernel + 2].contains("D1/4 A2/2 W"),
        "{}",
        lines[kernel + 2]
    );
    let mac = lines
        .iter()
        .position(|line| line.contains("mac ") && line.contains("; stage 1"));
    let mac = mac.expect("the product of the kernel") as u32;
    // Its line of the source, from 0; the way back leads to all its places.
    assert!(shown.lines.contains(&(mac, 4)), "{:?}", shown.lines);
    assert!(shown.lines.iter().filter(|line| line.1 == 4).count() > 3);
}

#[test]
fn the_report_shows_the_kernel_by_unit() {
    let (db, file) = open(Some("sc140"));
    let inputs = inputs_of(Path::new("/k.c"), None).expect("none");
    let page = page::data(&db, file, Some("dot"), &inputs, &());
    assert_eq!(page.target, "sc140");
    let own = &page.functions[0];
    let row = &own.loops[0];
    let plan = row.schedule.as_ref().expect("a schedule");
    let slots: Vec<(&str, u32)> = plan
        .slots
        .iter()
        .map(|(kind, count)| (kind.as_str(), *count))
        .collect();
    assert_eq!(
        (plan.interval, plan.stages, slots),
        (1, 2, vec![("D", 4), ("A", 2)])
    );
    let mut kernel: Vec<(&str, &str, Option<u32>)> = plan
        .operations
        .iter()
        .map(|operation| {
            (
                operation.mnemonic.as_str(),
                operation.slot.as_str(),
                operation.stage,
            )
        })
        .collect();
    kernel.sort_unstable();
    assert_eq!(
        kernel,
        [
            ("mac", "D", Some(1)),
            ("move.f", "A", Some(0)),
            ("move.f", "A", Some(0))
        ]
    );
    assert!(
        plan.operations
            .iter()
            .all(|operation| operation.line == Some(5))
    );
    assert!(own.code.as_ref().is_some_and(|code| code.target == "sc140"));
}

#[test]
fn a_loop_is_shown_on_three_machines_that_do_not_compare() {
    let place = Place::new("three-machines");
    let file = place.file("k.c", TEXT);
    let page = text(&lockstep(&["machines", &file, "--line", "5"]));
    let row = |machine: &str| {
        let mut rows = page
            .lines()
            .filter(|line| line.starts_with(&format!("| {machine}")));
        let row: Vec<String> = rows
            .next()
            .expect(machine)
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect();
        row
    };
    assert_eq!(row("StarCore (sc140)")[2], "1");
    assert!(
        row("StarCore (sc140)")[3].contains("address units"),
        "{page}"
    );
    let groups = json(&lockstep(&[
        "loops", &file, "--item", "dot", "--format", "json",
    ]));
    assert_eq!(
        row("IA-64 (itanium2)")[2],
        groups["loops"][0]["ii"].to_string()
    );
    let cycles: f64 = row("one thread's PTX (sm_80)")[2].parse().expect("cycles");
    assert!(cycles > 1.0, "{page}");
    assert!(
        page.contains("**not comparable**") && page.contains("```ptx\n.version"),
        "{page}"
    );
    let none = lockstep(&["machines", &file, "--line", "1"]);
    assert_eq!(none.status.code(), Some(2));
    // The action stands at heads of loops alone, where C is shown.
    let at_head = |arguments: &[&str], at: &str| {
        let mut all = vec!["actions", file.as_str(), "--at", at];
        all.extend(arguments);
        text(&lockstep(&all)).contains("Show on three machines")
    };
    assert!(at_head(&["--target", "sc140"], "5:6") && at_head(&[], "5:6"));
    assert!(!at_head(&["--target", "sc140"], "4:6"));
}

#[test]
fn spills_before_and_after_reduction_are_compared_where_they_differ() {
    let place = Place::new("reduced-spills");
    let file = place.file("k.c", TEXT);
    let offered = |at: &str| {
        let all = json(&lockstep(&[
            "actions", &file, "--target", "sc140", "--at", at, "--format", "json",
        ]));
        let actions = all["actions"].as_array().expect("actions").clone();
        let mut own = actions
            .into_iter()
            .filter(|action| action["id"] == "reduce-spills");
        own.next()
            .map(|own| own["title"].as_str().expect("a title").to_owned())
    };
    // Nothing spills in it.
    assert_eq!(offered("3:8"), None);
    let title = offered("11:6").expect("an action on the head");
    // `30 to 12 loads`: fewer, as the figures in front of a unit say.
    let figures = |unit: &str| {
        let part = title
            .split([':', ','])
            .find(|part| part.contains(unit))
            .expect(unit);
        let numbers = part.split(' ').filter_map(|word| word.parse::<u32>().ok());
        let numbers: Vec<u32> = numbers.collect();
        (numbers[0], numbers[numbers.len() - 1])
    };
    let (before, after) = figures("loads");
    assert!(after < before, "{title}");
    let (before, after) = figures("cycles");
    assert!(after <= before, "{title}");
    let diff = text(&lockstep(&[
        "apply",
        "reduce-spills",
        &file,
        "--target",
        "sc140",
        "--at",
        "11:6",
    ]));
    let count = |sign: char| {
        let lines = diff.lines().filter(|line| line.starts_with(sign));
        lines.filter(|line| line.contains("(sp-")).count()
    };
    assert!(
        count('-') > count('+') && diff.contains("many: spills reduced"),
        "{diff}"
    );
    // What is shown is what is emitted.
    let kept = text(&lockstep(&[
        "emit",
        &file,
        "--target",
        "sc140",
        "--item",
        "many",
        "--pipeline",
        "--keep-spills",
    ]));
    let stored = |line: &&str| line.contains("move.l") && line.trim_end().ends_with(')');
    assert_eq!(
        kept.lines()
            .filter(stored)
            .filter(|line| line.contains(",(sp-"))
            .count() as u32,
        figures("stores").0
    );
}

#[test]
fn promises_that_make_a_loop_faster_are_one_action() {
    let place = Place::new("set-promises");
    place.file("lockstep.toml", "processor = \"sc140\"\n");
    let source = "void add(short *x, const short *y, int n) {\n    for (int i = 0; i < n; i++) x[i] = (short)(y[i] + 1);\n}\n";
    let file = place.file("add.c", source);
    let offered = text(&lockstep(&["actions", &file, "--at", "2:6"]));
    assert!(
        offered
            .contains("Promise what makes this loop faster: 0.25 cycles an iteration instead of 3"),
        "{offered}"
    );
    let told = text(&lockstep(&["check", "--notes", &file]));
    assert!(
        told.contains("an iteration in 0.25 instead of 3 cycles"),
        "{told}"
    );
    lockstep(&["apply", "promise", &file, "--at", "2:6", "--write"]);
    let made = std::fs::read_to_string(&file).expect("the file");
    for words in [
        "restrict ",
        "aligned(x, 8)",
        "aligned(y, 8)",
        "rounds(4, 32767, 4)",
    ] {
        assert!(made.contains(words), "{made}");
    }
    // With them there is nothing more to promise.
    let loops = json(&lockstep(&[
        "loops", &file, "--target", "sc140", "--format", "json",
    ]));
    let own = &loops["loops"][0];
    assert_eq!((&own["ii"], &own["iterations"]), (&1.into(), &4.into()));
    assert!(own["promises"].is_null(), "{own}");
}

#[test]
fn promises_are_written_where_they_are_about_the_loop_alone() {
    let place = Place::new("set-promises-refused");
    place.file("lockstep.toml", "processor = \"sc140\"\n");
    let nested = "void f(short *x, const short *y, int n, int m) {\n    for (int j = 0; j < m; j++)\n        for (int i = 0; i < n; i++) x[i] = (short)(y[i] + 1);\n}\n";
    let file = place.file("nested.c", nested);
    let outer = text(&lockstep(&["actions", &file, "--at", "2:6"]));
    assert!(!outer.contains("Promise"), "{outer}");
    let inner = text(&lockstep(&["actions", &file, "--at", "3:10"]));
    assert!(
        inner
            .contains("Promise what makes this loop faster: 0.25 cycles an iteration instead of 3"),
        "{inner}"
    );
    let shadowed = "void f(short *x, const short *y, int n) {\n    { short *x0 = x; const short *x = y;\n    for (int i = 0; i < n; i++) x0[i] = (short)(x[i] + 1); }\n}\n";
    let file = place.file("shadowed.c", shadowed);
    let offered = text(&lockstep(&["actions", &file, "--at", "3:6"]));
    assert!(!offered.contains("instead of"), "{offered}");
}
