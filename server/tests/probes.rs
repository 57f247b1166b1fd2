//! `lockstep instrument` of IA-64 assembly: from the assembly over a run of the simulator to counts by line, as text and JSON;
//! and dumps, maps and files that do not belong together.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use lockstep_server::config::{CostHints, HintConfig};
use lockstep_server::db::{Database, Source};
use lockstep_server::views::diagnostics::diagnostics;
use lockstep_server::views::hints::hints;
use lockstep_server::views::hover::hover;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use syntax::Span;

/// Counts the bytes up to a limit: a loop of two blocks, and a function that calls it.
const SEARCH: &str = "	.text
	.global count
	.proc count
count:
	.prologue
	alloc r2 = ar.pfs, 2, 0, 0, 0
	mov r8 = 0 ;;
	.body
.Lnext:
	ld1 r14 = [r32], 1 ;;
	cmp.lt p6, p7 = r14, r33 ;;
(p6)	adds r8 = 1, r8
(p6)	br.cond.sptk .Lnext ;;
	br.ret.sptk.many b0 ;;
	.endp count
	.proc pad
pad:
	mov b6 = r32 ;;
	br.cond.sptk b6 ;;
	.endp pad
";

/// The copy with probes after a run on the bytes, and its counters.
fn ran(place: &Place, probe: &str) -> (String, String, String) {
    let file = place.file("s.ia64.s", SEARCH);
    let (copy, raw) = (place.path("s.counted.ia64.s"), place.path("raw"));
    let made = lockstep(&["instrument", &file, "--probe", probe, "--write", &copy]);
    assert!(made.status.success(), "{}", errors(&made));
    assert!(
        errors(&made).contains("`pad` has no probes: line 19: where this branch goes is not known"),
        "{}",
        errors(&made)
    );
    let arguments = ["--arg", "i8:1,2,3,3,9", "--arg", "5", "--counters", &raw];
    let mut all = vec!["sim", &copy, "--item", "count"];
    all.extend(arguments);
    let done = lockstep(&all);
    assert!(
        text(&done).starts_with("r8 = 4"),
        "{} {}",
        text(&done),
        errors(&done)
    );
    (file, place.path("s.counted.ia64.map.json"), raw)
}

fn imported(file: &str, map: &str, raw: &str) -> Value {
    let arguments = [
        "profile",
        "import",
        "--counters",
        raw,
        "--map",
        map,
        "--source",
        file,
        "-o",
        "-",
    ];
    let read = lockstep(&arguments);
    assert!(read.status.success(), "{}", errors(&read));
    json(&read)
}

#[test]
fn counters_come_back_as_counts_of_lines() {
    let place = Place::new("probes");
    let (file, map, raw) = ran(&place, "entry");
    let all = imported(&file, &map, &raw);
    assert_eq!(
        all["functions"],
        json!([{ "item": "count", "line": 4, "entries": 1 }])
    );
    assert_eq!(all["refused"][0]["item"], "pad");
    let (file, map, raw) = ran(&place, "branch");
    let all = imported(&file, &map, &raw);
    let function = &all["functions"][0];
    assert_eq!(function["entries"], 1);
    let branches = json!([
        { "line": 13, "executed": 5, "taken": 4 },
        { "line": 14, "executed": 1, "taken": 1 },
    ]);
    assert_eq!(function["branches"], branches);
    let (file, map, raw) = ran(&place, "path");
    let paths = &imported(&file, &map, &raw)["functions"][0]["paths"];
    let counts: Vec<(&Value, &Value)> = paths
        .as_array()
        .expect("paths")
        .iter()
        .map(|path| (&path["count"], &path["lines"]))
        .collect();
    let wanted = [(3, json!([10])), (1, json!([6, 10])), (1, json!([10, 14]))];
    assert_eq!(counts.len(), wanted.len());
    for (count, lines) in &wanted {
        assert!(counts.contains(&(&json!(count), lines)), "{counts:?}");
    }
    // As `paths` has those of other languages.
    let arguments = ["paths", &file, "--counters", &raw, "--map", &map];
    let listed = text(&lockstep(&arguments));
    assert!(
        listed.contains("s.ia64.s:4: count: 3 paths taken, 5 times together")
            && listed.contains("`pad` has no probes: "),
        "{listed}"
    );
    let all = json(&lockstep(
        &[&arguments[..], &["--item", "count", "--format", "json"]].concat(),
    ));
    let first = json!({
        "item": "count", "count": 3, "at_least": 3, "at_most": 3, "share": 0.6, "again": null, "lines": [10],
    });
    assert_eq!((&all["paths"][0], &all["refused"]), (&first, &json!([])));
    let without = lockstep(&["paths", &file]);
    assert!(
        errors(&without).contains("`lockstep instrument --probe path`"),
        "{}",
        errors(&without)
    );
    let (file, map, raw) = ran(&place, "value");
    let others = lockstep(&["paths", &file, "--counters", &raw, "--map", &map]);
    assert!(
        errors(&others).contains("the counters are not of paths"),
        "{}",
        errors(&others)
    );
    let values = &imported(&file, &map, &raw)["functions"][0]["values"];
    let top = json!({ "value": 3, "count": 2 });
    assert_eq!(values[0]["line"], 10);
    assert_eq!(values[0]["executions"], 5);
    assert_eq!(values[0]["top"][0], top);
    // As a list, the source found by the map.
    let listed = lockstep(&["profile", "import", "--counters", &raw, "--map", &map]);
    let listed = text(&listed);
    assert!(
        listed.contains("line 10, r14: 5 executed; 3 2 times (40 %)"),
        "{listed}"
    );
}

#[test]
fn a_dump_in_text_is_read_and_what_does_not_belong_together_is_told() {
    let place = Place::new("probe-dumps");
    let (file, map, raw) = ran(&place, "branch");
    let bytes = std::fs::read(&raw).expect("a dump");
    let words = bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    let words: Vec<u64> = words.collect();
    let numbers: Vec<String> = words.iter().map(|word| format!("{word:#x}")).collect();
    let written = place.file("raw.txt", numbers.join(",\n"));
    assert_eq!(imported(&file, &map, &written), imported(&file, &map, &raw));
    let import = |raw: &str, source: &str| {
        let read = lockstep(&[
            "profile",
            "import",
            "--counters",
            raw,
            "--map",
            &map,
            "--source",
            source,
        ]);
        (read.status.code(), text(&read) + &errors(&read))
    };
    let short = place.file("short", &bytes[8..]);
    let (code, said) = import(&short, &file);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("counters of 8 bytes"), "{said}");
    let (code, said) = import(&place.path("absent"), &file);
    assert_eq!(code, Some(2), "{said}");
    let other = place.file("other.ia64.s", SEARCH.replace("adds r8 = 1", "adds r8 = 2"));
    let (code, said) = import(&raw, &other);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the source has changed"), "{said}");
    // More entries than returns.
    let mut odd = words.clone();
    for word in &mut odd {
        *word = word.wrapping_sub(3);
    }
    let odd: Vec<String> = odd.iter().map(u64::to_string).collect();
    let (code, said) = import(&place.file("odd", odd.join(" ")), &file);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not those of whole runs"), "{said}");
    let cuda = place.file("k.cu", "__global__ void k(int* p) { p[0] = 1; }\n");
    let refused = lockstep(&["instrument", &cuda, "--probe", "path"]);
    assert_eq!(refused.status.code(), Some(2));
    let missing = lockstep(&["instrument", &file, "--item", "cnt"]);
    assert!(
        errors(&missing).contains("there are: count, pad"),
        "{}",
        errors(&missing)
    );
    let own = lockstep(&["instrument", &file, "-o", &file]);
    assert!(errors(&own).contains("not overwritten"), "{}", errors(&own));
}

/// A frame of 96 registers has no room: one register waits in a floating-point register while a counter is changed.
#[test]
fn a_full_frame_still_counts() {
    let place = Place::new("probe-frames");
    let full = SEARCH.replace("ar.pfs, 2, 0, 0, 0", "ar.pfs, 2, 94, 0, 0");
    let file = place.file("full.ia64.s", &full);
    let made = lockstep(&["instrument", &file, "--probe", "branch", "--item", "count"]);
    assert!(made.status.success(), "{}", errors(&made));
    assert!(text(&made).contains("setf.sig f6 = "), "{}", text(&made));
    let refused = lockstep(&["instrument", &file, "--probe", "path", "--item", "count"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        errors(&refused).contains("96 stacked registers are in use"),
        "{}",
        errors(&refused)
    );
}

/// A file with the counts of a probe beside it, as an editor has it.
fn shown(probe: &str, text: &str) -> (Vec<String>, Vec<String>, Vec<(String, String)>) {
    let place = Place::new(&format!("probes-shown-{probe}-{}", text.len()));
    let (file, map, raw) = ran(&place, probe);
    let beside = format!("{file}.lockstep-profile.json");
    let arguments = ["--counters", &raw, "--map", &map, "-o", &beside];
    let read = lockstep(&[&["profile", "import"], &arguments[..]].concat());
    assert!(read.status.success(), "{}", errors(&read));
    let mut db = Database::default();
    let known = std::fs::read_to_string(&beside).expect("counts");
    let source = |text: &str| Source::Text {
        text: Arc::from(text),
        lossy: false,
    };
    db.file_with_text(Path::new(&beside), source(&known));
    let file = db.file_with_text(Path::new(&file), source(text));
    let whole = Span::new(0, text.len() as u32);
    let switches = HintConfig {
        costs: CostHints::Off,
        ..HintConfig::default()
    };
    let line = |offset: u32| text[..offset as usize].matches('\n').count() + 1;
    let told = hints(&db, file, whole, &switches).into_iter();
    let told = told.map(|hint| format!("{}:{}", line(hint.offset), hint.label));
    let at = |word: &str| text.find(word).expect("it is there") as u32;
    let hovers = ["ld1", "adds", "br.cond", "br.ret"].map(|word| {
        let found = hover(&db, file, at(word)).expect("an instruction").markdown;
        found.lines().nth(2).unwrap_or_default().to_owned()
    });
    let problems = diagnostics(&db, file).into_iter();
    let problems = problems.filter(|it| it.code.ends_with("-profile"));
    (
        told.map(|label| label.replace(": ", ":")).collect(),
        hovers.into(),
        problems
            .map(|it| (it.code.to_owned(), it.message))
            .collect(),
    )
}

#[test]
fn counts_stand_beside_the_lines() {
    let (told, hovers, problems) = shown("branch", SEARCH);
    assert_eq!(told, ["4:entered once", "13:taken 80 %"]);
    assert!(
        hovers[0].starts_with("Executed 5 times (`s.ia64.s."),
        "{hovers:?}"
    );
    assert!(
        hovers[2].starts_with("**Taken 80 %**: 4 of 5 executions"),
        "{hovers:?}"
    );
    assert!(
        hovers[3].starts_with("**Taken 100 %**: 1 of 1"),
        "{hovers:?}"
    );
    assert_eq!(problems, []);
    let (told, hovers, _) = shown("value", SEARCH);
    assert!(told.is_empty(), "{told:?}");
    assert!(
        hovers[0].starts_with("Loaded 5 times into r14: 3 in 40 %"),
        "{hovers:?}"
    );
    let (told, ..) = shown("path", SEARCH);
    assert_eq!(told, ["4:3 paths taken"]);
    let (told, ..) = shown("entry", SEARCH);
    assert_eq!(told, ["4:entered once"]);
    // Of another text they say nothing, and the editor says so.
    let (told, hovers, problems) = shown("branch", &SEARCH.replace("mov r8 = 0", "mov r8 = 1"));
    assert!(told.is_empty(), "{told:?}");
    assert!(
        hovers[0].contains("of the file before it changed"),
        "{hovers:?}"
    );
    assert_eq!(problems[0].0, "stale-profile");
}
