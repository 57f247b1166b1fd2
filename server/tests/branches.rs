//! `lockstep branches`, and the branches of a profile in an editor.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use lockstep_server::config::HintConfig;
use lockstep_server::db::{Database, File, Source};
use lockstep_server::views;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use syntax::Span;

fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/c/branches");
    root.join(name).display().to_string()
}

fn run(arguments: &[&str]) -> Value {
    let mut all = vec!["branches", "--no-config", "--format", "json"];
    all.extend(arguments);
    let output = lockstep(&all);
    assert!(output.status.success(), "{}", errors(&output));
    json(&output)
}

fn row(report: &Value, line: u64) -> &Value {
    let rows = report["branches"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["line"] == line);
    found.unwrap_or_else(|| panic!("no branch on line {line}: {report}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn branches_of_c_are_predicted_and_if_converted() {
    let coin = fixture("coin.c");
    let report = run(&[&coin]);
    assert_eq!(
        (&report["item"], &report["predictor"]),
        (&"coin".into(), &"meta".into())
    );
    let (end, hard, seldom) = (row(&report, 6), row(&report, 7), row(&report, 11));
    assert_eq!(
        (number(&end["executed"]), number(&end["taken"])),
        (4001, 4000)
    );
    assert_eq!(number(&hard["executed"]), 4000);
    // A coin: half of the executions; the keys are those of the description's seed.
    assert!((1900..2100).contains(&number(&hard["taken"])), "{hard}");
    assert!(
        (1800..2200).contains(&number(&hard["mispredicted"])),
        "{hard}"
    );
    assert_eq!(
        (&hard["compare"], &hard["after"]),
        (&true.into(), &0.into())
    );
    for other in [end, seldom] {
        assert!(number(&other["mispredicted"]) < 40, "{other}");
        assert_eq!(other["compare"], false);
        assert!(number(&other["after"]) < 40, "{other}");
    }
    let sum: u64 = report["branches"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| number(&row["mispredicted"]))
        .sum();
    assert_eq!(sum, number(&report["mispredicted"]));
    let after = &report["after"];
    assert_eq!(
        (number(&after["regions"]), number(&after["entries"])),
        (1, 4000)
    );
    assert!(number(&after["mispredicted"]) < 60, "{after}");
    assert!(number(&after["instructions_added"]) >= 4000, "{after}");
    let words = text(&lockstep(&[
        "branches",
        "--no-config",
        &coin,
        "--predictor",
        "tage+squash",
    ]));
    for part in [
        "coin: 12001 branches executed, ",
        " by tage+squash",
        "a compare",
        "if-converted, 1 region, entered 4000 times",
    ] {
        assert!(words.contains(part), "{part} is not in {words}");
    }
}

#[test]
fn a_predictor_of_another_name_is_refused() {
    let coin = fixture("coin.c");
    for (name, says) in [
        ("oracle", "`meta`, `gshare` and `tage`"),
        ("tage+pep", "no local histories"),
        ("meta+x", "`squash`"),
    ] {
        let output = lockstep(&["branches", &coin, "--predictor", name]);
        assert_eq!(output.status.code(), Some(2));
        assert!(errors(&output).contains(says), "{}", errors(&output));
    }
}

/// Eight lanes of each warp take the long way, the others wait; on the other side eight wait for them.
const PARTED: &str = "__global__ void parted(float* out, const float* in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    if (threadIdx.x % 32 < 8) {
        out[i] = x * x * 3.0f;
    }
    if (blockIdx.x == 0) {
        out[i + 1024] = x;
    }
}
";

#[test]
fn lanes_of_warps_lose_what_others_execute() {
    let place = Place::new("parted");
    let file = place.file("parted.cu", PARTED);
    let inputs = place.file(
        "parted.toml",
        "[launch]\nthreads = [128]\nblock = [64]\n[buffers.in]\ncount = 128\n[buffers.out]\ncount = 2048\n",
    );
    let report = run(&[&file, "--inputs", &inputs]);
    assert!(
        report["predictor"].is_null() && report["mispredicted"].is_null(),
        "{report}"
    );
    let (parts, whole) = (row(&report, 5), row(&report, 8));
    assert_eq!(
        (number(&parts["executed"]), number(&parts["parted"])),
        (4, 4)
    );
    assert_eq!(
        (number(&parts["lanes"]), number(&parts["taken"])),
        (128, 32)
    );
    // 24 lanes of each of the four warps wait for the same instructions.
    let lost = number(&parts["lost"]);
    assert!(lost > 0 && lost.is_multiple_of(4 * 24), "{parts}");
    assert!(
        parts["after"].is_null()
            && parts["reason"]
                .as_str()
                .is_some_and(|why| why.contains("both sides"))
    );
    // Whole workgroups go one way: nobody waits.
    assert_eq!(
        (
            number(&whole["executed"]),
            number(&whole["parted"]),
            number(&whole["lost"])
        ),
        (4, 0, 0)
    );
    let words = text(&lockstep(&[
        "branches",
        "--no-config",
        &file,
        "--inputs",
        &inputs,
    ]));
    assert!(words.contains("of their time for others"), "{words}");
}

/// A loop whose branch goes the same way four times, then the other.
const LOOP: &str = "\t.text\n\t.global walk\n\t.proc walk\nwalk:\n\tmov r9 = ar.lc\n\tadd r10 = -1, r32\n\tmov r11 = 0 ;;\n\tmov ar.lc = r10 ;;
.Lloop:\n\tcmp.eq p6, p7 = 4, r11 ;;\n(p6)\tmov r11 = 0\n(p7)\tadd r11 = 1, r11\n(p6)\tbr.cond.dpnt .Lnext ;;\n\tnop.m 0 ;;\n.Lnext:
\tbr.cloop.sptk .Lloop ;;\n\tmov ar.lc = r9\n\tbr.ret.sptk.many b0 ;;\n\t.endp walk\n";

#[test]
fn branches_of_assembly_are_those_of_the_simulator() {
    let place = Place::new("branches-ia64");
    let file = place.file("walk.ia64.s", LOOP);
    let report = run(&[&file, "--item", "walk", "--arg", "1000"]);
    let (guarded, counted) = (row(&report, 13), row(&report, 16));
    assert_eq!(
        (number(&guarded["executed"]), number(&guarded["taken"])),
        (1000, 200)
    );
    assert_eq!(
        (number(&counted["executed"]), number(&counted["taken"])),
        (1000, 999)
    );
    assert!(number(&guarded["mispredicted"]) < 100, "{guarded}");
    assert!(guarded["after"].is_null());
    let none = lockstep(&["branches", &file]);
    assert_eq!(none.status.code(), Some(2));
    assert!(errors(&none).contains("--item"), "{}", errors(&none));
    // Four of five compares come to nothing: the table of targets knows the guard, and its value comes in time or not.
    let squashed = run(&[
        &file,
        "--item",
        "walk",
        "--arg",
        "1000",
        "--predictor",
        "meta+squash",
    ]);
    assert!(number(&row(&squashed, 13)["squashed"]) <= 800, "{squashed}");
}

fn opened(path: &str) -> (Database, File) {
    let mut db = Database::default();
    let text = std::fs::read_to_string(path).expect("the source");
    let source = Source::Text {
        text: Arc::from(text.as_str()),
        lossy: false,
    };
    let file = db.file_with_text(Path::new(path), source);
    (db, file)
}

#[test]
fn hard_branches_show_beside_the_code() {
    let place = Place::new("branch-hints");
    let source = std::fs::read_to_string(fixture("coin.c")).expect("a fixture");
    let path = place.file("coin.c", &source);
    let made = lockstep(&[
        "profile",
        &path,
        "--inputs",
        &fixture("coin.toml"),
        "--no-config",
    ]);
    assert!(made.status.success(), "{}", errors(&made));
    let (db, file) = opened(&path);
    let hints = |switches: &HintConfig| {
        let all = views::hints::hints(&db, file, Span::new(0, u32::MAX), switches);
        all.into_iter()
            .map(|hint| (hint.label.trim().to_owned(), hint.offset))
            .collect::<Vec<_>>()
    };
    let shown = hints(&HintConfig::default());
    let [(label, offset)] = shown.as_slice() else {
        panic!("{shown:?}");
    };
    assert_eq!(label, "mispredicts 51 %");
    assert!(label.len() <= 43);
    assert!(
        source[..*offset as usize].ends_with("if (key[i] & 1)"),
        "{shown:?}"
    );
    let off = HintConfig {
        mispredictions: false,
        ..HintConfig::default()
    };
    assert_eq!(hints(&off), []);
    let at = source.find("key[i] & 1").expect("the condition");
    let hover = views::hover::hover(&db, file, at as u32 + 2).expect("a hover");
    for part in [
        "mispredicts 51 %",
        "executed 4000 times",
        "0 times when the worst branches",
    ] {
        assert!(hover.markdown.contains(part), "{}", hover.markdown);
    }
    let found: Vec<_> = views::diagnostics::diagnostics(&db, file)
        .into_iter()
        .filter(|found| found.code == "hard-branch")
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].item, "coin");
    assert!(
        found[0].message.starts_with("the branch mispredicts 51 %"),
        "{}",
        found[0].message
    );
    // No other complaint about the profile: it was made for one lane.
    let codes: Vec<&str> = views::diagnostics::diagnostics(&db, file)
        .iter()
        .map(|found| found.code)
        .collect();
    assert!(!codes.contains(&"unusable-profile"), "{codes:?}");
    let config = place.file("lockstep.toml", "[diagnostics]\nhard-branch = \"off\"\n");
    let told = lockstep(&["check", &path, "--notes", "--format", "json"]);
    assert!(!text(&told).contains("hard-branch"), "{}", text(&told));
    std::fs::remove_file(config).expect("it was there");
    let told = lockstep(&["check", &path, "--notes", "--format", "json"]);
    assert!(text(&told).contains("hard-branch"), "{}", text(&told));
    // Other code: what is not found again is not shown.
    let edited = source.replace("key[i] & 1", "key[i] * weight[i] & 1");
    let changed = Source::Text {
        text: Arc::from(edited.as_str()),
        lossy: false,
    };
    let mut db = db;
    let file = db.file_with_text(Path::new(&path), changed);
    let all = views::hints::hints(&db, file, Span::new(0, u32::MAX), &HintConfig::default());
    assert!(all.is_empty(), "{all:?}");
}

/// Counts of two runs of the same code are added.
#[test]
fn runs_that_are_added_add_their_branches() {
    let place = Place::new("branches-added");
    let path = place.file(
        "coin.c",
        std::fs::read(fixture("coin.c")).expect("a fixture"),
    );
    let inputs = fixture("coin.toml");
    let profile = |more: &[&str]| {
        let mut arguments = vec!["profile", &path, "--inputs", &inputs, "--no-config"];
        arguments.extend(more);
        let output = lockstep(&arguments);
        assert!(output.status.success(), "{}", errors(&output));
        let text = std::fs::read_to_string(format!("{path}.lockstep-profile.json"));
        let profile: Value = serde_json::from_str(&text.expect("a profile")).expect("JSON");
        let branches = profile["items"][0]["branches"]
            .as_array()
            .expect("branches");
        branches
            .iter()
            .map(|branch| number(&branch["executed"]))
            .collect::<Vec<u64>>()
    };
    let once = profile(&[]);
    let twice = profile(&["--add"]);
    assert_eq!(
        twice,
        once.iter().map(|count| 2 * count).collect::<Vec<u64>>()
    );
}

/// Callees that are not inlined are named: their branches are not counted.
#[test]
fn callees_whose_branches_are_not_counted_are_named() {
    let place = Place::new("branches-callees");
    let code = "int down(int n) { if (n > 3) return down(n - 2) + 1; return n; }\nint outer(int n) { return n > 0 ? down(n) : 0; }\n";
    let path = place.file("calls.c", code);
    let left_out = |item: &str| run(&[&path, "--item", item])["left_out"].clone();
    assert_eq!(left_out("outer"), serde_json::json!(["down"]));
    let output = lockstep(&["branches", "--no-config", &path, "--item", "outer"]);
    let said = "without the branches of down, which it calls (--item down)";
    assert!(text(&output).contains(said), "{}", text(&output));
    assert_eq!(
        run(&[&fixture("coin.c")])["left_out"],
        serde_json::json!([])
    );
}
