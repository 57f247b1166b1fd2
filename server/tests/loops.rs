//! C on a processor with explicit groups: `lockstep loops`, `lockstep emit`, and both in the editor.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use lockstep_server::config::Config;
use lockstep_server::db::{Database, File, Source};
use lockstep_server::derive::code;
use lockstep_server::views::diagnostics::diagnostics;
use lockstep_server::views::lens::lenses;
use std::path::Path;
use std::sync::Arc;

const SUMS: &str = "\
double sum(long n, const double *a) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += a[i];
  return s;
}
void add(long n, long *restrict y, const long *restrict x) {
  for (long i = 0; i < n; i++)
    y[i] += x[i];
}
void shift(long n, long *y, long *x) {
  for (long i = 0; i < n; i++)
    y[i] = x[i] * 3;
}
";

fn open(source: &str, processor: bool) -> (Database, File) {
    let mut db = Database::default();
    let text = Source::Text {
        text: Arc::from(source),
        lossy: false,
    };
    let file = db.file_with_text(Path::new("/k.c"), text);
    let mut config = Config::default();
    config.analysis.processor = processor.then(|| "itanium2".into());
    let settings = db.new_settings(config.analysis, config.view, Vec::new());
    db.set_file_settings(file, settings);
    (db, file)
}

/// The epilogue counter begins at one: the kernel finishes nothing. A stop may stand behind it.
fn sets_one(code: &str) -> bool {
    let mut lines = code.lines().map(|line| line.trim_end_matches(" ;;"));
    lines.any(|line| line.trim() == "mov ar.ec = 1")
}

#[test]
fn loops_say_what_bounds_them() {
    let place = Place::new("loops");
    let file = place.file("sums.c", SUMS);
    let found = json(&lockstep(&["loops", &file, "--format", "json"]));
    let rows = found["loops"].as_array().expect("loops");
    let of = |name: &str| {
        let mut all = rows.iter().filter(|row| row["item"] == name);
        all.next().expect(name)
    };
    assert_eq!(rows.len(), 3, "{found}");
    // A sum of doubles waits four cycles for the one before.
    let sum = of("sum");
    assert_eq!(
        (&sum["line"], &sum["rec_mii"], &sum["ii"]),
        (&3.into(), &4.into(), &4.into())
    );
    assert_eq!(
        sum["critical"][0]["mnemonic"]
            .as_str()
            .map(|name| &name[..4]),
        Some("fadd")
    );
    // The store of an iteration meets the load of the same only.
    let add = of("add");
    assert_eq!(
        (&add["pipelined"], &add["rec_mii"]),
        (&true.into(), &1.into()),
        "{add}"
    );
    assert_eq!(add["reasons"].as_array().map(Vec::len), Some(0), "{add}");
    let shift = of("shift");
    assert_eq!(shift["disambiguation"], "alias_test", "{shift}");
    let reason = shift["overcome"][0]["text"].as_str().expect("a reason");
    assert!(reason.contains("`restrict`"), "{shift}");
    assert_eq!(shift["overcome"][0]["lines"], serde_json::json!([13, 13]));
    let wrong = lockstep(&["loops", &place.file("k.ptx", "")]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn emitted_code_computes_the_same_pipelined_or_not_in_fewer_cycles() {
    let place = Place::new("emit");
    let file = place.file("sums.c", SUMS);
    let mut cycles = Vec::new();
    let mut counts = Vec::new();
    for how in [
        &[][..],
        &["--pipeline"],
        &["--pipeline", "--epilogue", "explicit"],
    ] {
        let out = place.path("sums.s");
        let mut arguments = vec!["emit", &file, "--item", "add", "-o", &out];
        arguments.extend(how);
        let emitted = lockstep(&arguments);
        assert!(emitted.status.success(), "{}", errors(&emitted));
        let values: Vec<String> = (0..40).map(|it| it.to_string()).collect();
        let values = format!("i64:{}", values.join(","));
        let run = lockstep(&[
            "sim", &out, "--item", "add", "--arg", "40", "--arg", &values, "--arg", &values,
            "--format", "json",
        ]);
        let run = json(&run);
        assert_eq!(run["buffers"][0]["elements"][39], "78", "{run}");
        assert_eq!(run["buffers"][0]["elements"][0], "0", "{run}");
        cycles.push(run["cycles"].as_u64().expect("cycles"));
        let code = std::fs::read_to_string(&out).expect("code");
        counts.push(sets_one(&code));
    }
    assert!(cycles[1] * 2 < cycles[0], "{cycles:?}");
    assert!(cycles[2] * 2 < cycles[0], "{cycles:?}");
    assert_eq!(counts, [false, false, true]);
    let alone = lockstep(&["emit", &file, "--epilogue", "explicit"]);
    assert_eq!(alone.status.code(), Some(2), "{}", text(&alone));
    let nothing = lockstep(&["emit", &file, "--item", "product"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(errors(&nothing).contains("no function `product`"));
    let wrong = lockstep(&["emit", &file, "--target", "sm_80"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong));
}

#[test]
fn an_explicit_epilogue_is_asked_for_in_the_source() {
    let place = Place::new("epilogue");
    let source = SUMS.replace(
        "  for (long i = 0; i < n; i++)\n    y[i] += ",
        "#pragma lockstep pipeline(explicit_epilogue)\n  for (long i = 0; i < n; i++)\n    y[i] += ",
    );
    let file = place.file("asked.c", &source);
    let found = json(&lockstep(&["loops", &file, "--format", "json"]));
    let rows = found["loops"].as_array().expect("loops");
    for row in rows {
        assert_eq!(row["epilogue"].is_object(), row["item"] == "add", "{row}");
    }
    let told = lockstep(&["loops", &file, "--item", "add"]);
    assert!(
        text(&told).contains("explicit epilogue of "),
        "{}",
        text(&told)
    );
    let emitted = lockstep(&["emit", &file, "--item", "add"]);
    assert!(sets_one(&text(&emitted)));
}

#[test]
fn the_editor_speaks_of_loops_only_where_a_processor_is_named() {
    let (db, file) = open(SUMS, false);
    assert_eq!(lenses(&db, file).len(), 0);
    assert_eq!(diagnostics(&db, file).len(), 0);
    let (db, file) = open(SUMS, true);
    let titles: Vec<String> = lenses(&db, file)
        .into_iter()
        .map(|lens| lens.title)
        .collect();
    assert_eq!(titles.len(), 3, "{titles:?}");
    assert!(
        titles[0].starts_with("II 4 = RecMII 4 · ResMII 1 ("),
        "{titles:?}"
    );
    let codes: Vec<&str> = diagnostics(&db, file)
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect();
    assert!(codes.contains(&"loop-recurrence"), "{codes:?}");
}

#[test]
fn the_code_beside_c_has_cycles_and_stages() {
    let (db, file) = open(SUMS, true);
    let at = SUMS.find("y[i] += x[i]").expect("it") as u32;
    let shown = code::at(&db, file, at).expect("code");
    assert_eq!(
        (shown.name.as_str(), shown.target.to_string().as_str()),
        ("add", "ia64:itanium2")
    );
    let row = SUMS[..at as usize].lines().count() as u32 - 1;
    let line = shown
        .lines
        .iter()
        .filter(|(_, source)| *source == row)
        .filter_map(|(line, _)| shown.text.lines().nth(*line as usize))
        .find(|line| line.contains("ld8"));
    assert!(
        line.is_some_and(|line| line.contains("stage 0")),
        "{}",
        shown.text
    );
    assert!(shown.text.contains("br.ctop"), "{}", shown.text);
}

/// Variables of functions and names that are registers elsewhere; recursion makes functions of calls.
const NAMES: &str = "\
static const double b3[] = {1.0, 2.0};
double f1[4];
double g(int i) {
  static double table[4] = {1, 2, 3, 4};
  return table[i & 3] + b3[i & 1] + f1[i & 3];
}
double r5(int i) { return g(i) * 2; }
int depth(int i) { return i > 1 ? depth(i - 1) + 1 : i; }
int twice(int i) { return depth(i) + depth(i + 1); }
";

#[test]
fn names_that_the_assembler_takes_for_something_else_are_told_apart() {
    let place = Place::new("names");
    let file = place.file("names.c", NAMES);
    let code = place.path("names.s");
    let emitted = lockstep(&["emit", &file, "-o", &code]);
    assert_eq!(errors(&emitted), "");
    for (item, argument, expected) in [
        ("g", "2", "f8 = 4\n"),
        ("r5", "3", "f8 = 12\n"),
        ("twice", "3", "r8 = 7 "),
    ] {
        let ran = lockstep(&["sim", &code, "--item", item, "--arg", argument]);
        assert!(text(&ran).contains(expected), "{}", text(&ran));
    }
}

const SUMS_OF_PRODUCTS: &str = "\
double sum(double a, double b, double c) { return a * b + c; }
double turned(double a, double b, double c) { return c + a * b; }
double less(double a, double b, double c) { return a * b - c; }
double from(double a, double b, double c) { return c - a * b; }
double two(double a, double b, double c) { return a * a - b * c; }
double kept(double a, double b, double c) { double p = a * b; return (p + c) / p; }
";

/// The host's arithmetic is the reference: the product of 1 + 2^-30 and 1 - 2^-30 is 1 if it is rounded by
/// itself.
#[test]
fn products_and_sums_are_rounded_once_unless_the_source_forbids_it() {
    let place = Place::new("contract");
    let forbidden = format!("#pragma STDC FP_CONTRACT OFF\n{SUMS_OF_PRODUCTS}");
    let small = 2f64.powi(-30);
    let (a, b) = (1.0 + small, 1.0 - small);
    let (once, plain) = (place.path("once.s"), place.path("plain.s"));
    let file = place.file("once.c", SUMS_OF_PRODUCTS);
    assert_eq!(errors(&lockstep(&["emit", &file, "-o", &once])), "");
    let off = place.file("off.c", &forbidden);
    assert_eq!(errors(&lockstep(&["emit", &off, "-o", &plain])), "");
    let by_flag = lockstep(&["emit", &file, "--no-contract"]);
    assert!(!text(&by_flag).contains("fma.d f"), "{}", text(&by_flag));
    for (name, c, fused, rounded) in [
        ("sum", -1.0, a.mul_add(b, -1.0), a * b - 1.0),
        ("turned", -1.0, a.mul_add(b, -1.0), a * b - 1.0),
        ("less", 1.0, a.mul_add(b, -1.0), a * b - 1.0),
        ("from", 1.0, (-a).mul_add(b, 1.0), 1.0 - a * b),
        ("two", a, (-b).mul_add(a, a * a), a * a - b * a),
        // What something else reads, too, is a product of its own.
        (
            "kept",
            -1.0,
            (a * b - 1.0) / (a * b),
            (a * b - 1.0) / (a * b),
        ),
    ] {
        assert_eq!(fused == rounded, name == "kept", "{name}");
        for (code, expected) in [(&once, fused), (&plain, rounded)] {
            let given = [a, b, c].map(|it| format!("--arg={it:?}"));
            let mut arguments = vec!["sim", code, "--item", name, "--format", "json"];
            arguments.extend(given.iter().map(String::as_str));
            let ran = json(&lockstep(&arguments));
            assert_eq!(ran["f8"].as_f64(), Some(expected), "{name}: {ran}");
        }
    }
}

/// The initiation interval of the only loop of a function, and the messages about it.
fn interval(rows: &serde_json::Value, item: &str) -> (Option<u64>, Vec<String>) {
    let all = rows["loops"].as_array().expect("loops");
    let mut own = all.iter().filter(|row| row["item"] == item);
    let row = own.next().expect(item);
    assert!(own.next().is_none(), "{item}");
    let reasons = row["reasons"].as_array().expect("reasons");
    let texts = reasons.iter().filter_map(|reason| reason["text"].as_str());
    let ii = row["ii"].as_u64().filter(|_| row["pipelined"] == true);
    (ii, texts.map(str::to_owned).collect())
}

#[test]
fn promises_in_the_source_are_heard() {
    let source = "\
void plain(int *a, const int *b, int n) { for (int i = 0; i < n; i++) a[i] = b[i] + 1; }
void array(int a[restrict], const int b[restrict static 4], int n) { for (int i = 0; i < n; i++) a[i] = b[i] + 1; }
void sized(int n, int a[restrict n], const int b[const restrict]) { for (int i = 0; i < n; i++) a[i] = b[i] + 1; }
void gcc(int *a, const int *b, int n) {
#pragma GCC ivdep
  for (int i = 0; i < n; i++) a[i] = b[i] + 1;
}
void icc(int *a, const int *b, int n) {
#pragma ivdep
  for (int i = 0; i < n; i++) a[i] = b[i] + 1;
}
void omp(int *a, const int *b, int n) {
#pragma omp simd safelen(8) aligned(a, b : 16)
  for (int i = 0; i < n; i++) a[i] = b[i] + 1;
}
";
    let place = Place::new("promises");
    let file = place.file("promises.c", source);
    let run = lockstep(&["loops", &file, "--no-config", "--format", "json"]);
    assert!(run.status.success(), "{}", errors(&run));
    let rows = json(&run);
    for item in ["array", "sized", "gcc", "icc", "omp"] {
        let (ii, reasons) = interval(&rows, item);
        assert_eq!(ii, Some(1), "{item}: {reasons:?}");
        assert!(reasons.is_empty(), "{item}: {reasons:?}");
    }
    let mut all = rows["loops"].as_array().expect("loops").iter();
    let plain = all.find(|row| row["item"] == "plain").expect("plain");
    assert_eq!(plain["disambiguation"], "alias_test", "{plain}");
    let feared = plain["overcome"][0]["text"].as_str();
    assert!(feared.is_some_and(|it| it.contains("may alias")));
    let promised = all.filter(|row| row["disambiguation"] == "in_order");
    assert_eq!(promised.count(), 5, "{rows}");
}

#[test]
fn loops_of_functions_without_code_have_bounds_and_the_others_their_reason() {
    let source = "\
#include \"config-of-another.h\"
struct state { struct elsewhere first; int sums[4]; };
int f(struct state *p, const int *x, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  for (int i = 0; i < n; i++) s += p[i].sums[1];
  return s;
}
";
    let place = Place::new("without-code");
    let file = place.file("without.c", source);
    let run = lockstep(&["loops", &file, "--no-config", "--format", "json"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(
        errors(&run).contains("`config-of-another.h` was not found"),
        "{}",
        errors(&run)
    );
    let rows = json(&run);
    let rows = rows["loops"].as_array().expect("loops");
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(
        (&rows[0]["pipelined"], &rows[0]["ii"]),
        (&true.into(), &1.into())
    );
    // Nothing of it goes into a file of assembly.
    assert_eq!(
        lockstep(&["emit", &file, "--no-config"]).status.code(),
        Some(1)
    );
}

#[test]
fn headers_of_the_system_are_found_unless_they_are_not_wanted() {
    let source = "#include <stdio.h>\n#include <sys/types.h>\nFILE *out;\nblkcnt_t blocks(blkcnt_t a) { return a * 2; }\n";
    if !Path::new("/usr/include/stdio.h").is_file() {
        println!("not judged: there are no headers of a system here");
        return;
    }
    let place = Place::new("system");
    let file = place.file("system.c", source);
    let with = lockstep(&["emit", &file, "--no-config"]);
    assert!(with.status.success(), "{}", errors(&with));
    let (without, all) = ("--no-system-headers", "--no-config");
    let without = lockstep(&["emit", &file, all, without]);
    assert_ne!(text(&without), text(&with));
}

/// GNU's headers take attributes away from compilers that they do not know: that would change layouts.
#[test]
fn attributes_hold_behind_headers_of_the_system() {
    let source = "#include <stdlib.h>\nstruct s { char a; int b; } __attribute__((aligned(32)));\nunsigned long size = sizeof(struct s);\nlong width = sizeof(long) * __WORDSIZE;\n";
    if !Path::new("/usr/include/stdlib.h").is_file() {
        return;
    }
    let place = Place::new("attributes");
    let file = place.file("attributes.c", source);
    let run = lockstep(&["emit", &file, "--no-config"]);
    assert!(run.status.success(), "{}", errors(&run));
    assert!(text(&run).contains("data1 32, 0, 0"), "{}", text(&run));
}

/// System headers name their types by macros of the compiler.
#[test]
fn types_that_the_compiler_predefines_are_known() {
    let place = Place::new("predefined-types");
    let source = "\
typedef __SIZE_TYPE__ size;
typedef __UINT16_TYPE__ half;
__INT64_TYPE__ f(size n, const half *a) {
  __INTPTR_TYPE__ s = 0;
  for (size i = 0; i < n; i++) s += a[i];
  return s + sizeof(__WCHAR_TYPE__);
}
";
    let file = place.file("predefined.c", source);
    let run = lockstep(&["loops", &file, "--no-config", "--format", "json"]);
    assert!(run.status.success(), "{}", errors(&run));
    assert_eq!(interval(&json(&run), "f").0, Some(1));
}

#[test]
fn code_is_emitted_for_the_processor_that_is_named() {
    let place = Place::new("processors");
    let file = place.file("sums.c", SUMS);
    let first = |more: &[&str]| {
        let mut arguments = vec!["emit", file.as_str(), "--pipeline"];
        arguments.extend(more);
        let out = lockstep(&arguments);
        assert!(out.status.success(), "{more:?}: {}", errors(&out));
        let code = text(&out);
        let (head, rest) = code.split_once('\n').expect("a first line");
        (head.to_owned(), rest.to_owned())
    };
    let (head, usual) = first(&[]);
    assert_eq!(head, "// ia64:itanium2, by default");
    let (head, older) = first(&["--target", "ia64:itanium"]);
    assert_eq!(head, "// ia64:itanium, by --target");
    assert_ne!(usual, older);
    let table = "kind = \"epic\"\nname = \"slow\"\nbase = \"itanium2\"\n[latency]\nload = 9\n";
    let path = place.file("slow.machine.toml", table);
    let (head, slow) = first(&["--machine", &path]);
    assert_eq!(head, format!("// ia64:slow, by --machine {path}"));
    assert_ne!(usual, slow);
    // The project's settings count where nothing is named, and give way where something is.
    place.file(
        "lockstep.toml",
        "processor = \"itanium\"\nmachine_file = \"slow.machine.toml\"\n",
    );
    let (head, own) = first(&[]);
    assert!(head.starts_with("// ia64:slow, by the table "), "{head}");
    assert_eq!(own, slow);
    let (head, named) = first(&["--machine", "itanium2"]);
    assert_eq!(head, "// ia64:itanium2, by --machine itanium2");
    assert_eq!(named, usual);
    assert_eq!(first(&["--target", "ia64:itanium"]).1, older);
    assert_eq!(first(&["--target", "itanium2"]).1, usual);
}
