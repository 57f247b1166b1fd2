//! `lockstep emit --profile`: IA-64 code of functions that the profile beside the file transforms.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};

/// A quotient that only the last round needs, and one that few rounds read, past a meeting of ways.
const TEXT: &str = "\
int last(const int *a, const int *b, int n)
{
    int x, i = 0;
    do {
        if (a[i] & 1)
            x = a[i] / b[i];
        else
            x = 0;
        i++;
    } while (i < n && b[i] != 7);
    return x;
}

int few(int *out, const int *a, const int *b, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        int x = 1;
        if (a[i] > 0)
            x = a[i] / b[i];
        out[i] = a[i] + 3;
        if (b[i] > 90)
            sum += x;
    }
    return sum;
}
";

const INPUTS: &str = "\
[values]
n = 400
[buffers.a]
type = \"i32\"
count = 400
fill = \"uniform\"
low = 1
high = 1000
[buffers.b]
type = \"i32\"
count = 400
fill = \"uniform\"
low = 8
high = 100
";

fn profiled(place: &Place) -> String {
    let file = place.file("f.c", TEXT);
    for item in ["last", "few"] {
        let inputs = place.file("f.toml", format!("item = \"{item}\"\n{INPUTS}"));
        let all = [
            "profile",
            &file,
            "--inputs",
            &inputs,
            "--no-config",
            "--add",
        ];
        let output = lockstep(&all);
        assert!(output.status.success(), "{}", errors(&output));
    }
    file
}

/// The result and the cycles of a function of some code.
fn ran(place: &Place, code: &str, item: &str, out: bool) -> (u64, u64) {
    let file = place.file("f.ia64.s", code);
    let numbers = |seed: u64, low: u64, most: u64| {
        let number = |at: u64| low + (at * 7919 + seed * 104_729) % (most - low);
        let all: Vec<String> = (0..60).map(|at| number(at).to_string()).collect();
        format!("i32:{}", all.join(","))
    };
    let (a, b) = (numbers(1, 1, 1000), numbers(2, 8, 100));
    let mut all = vec!["sim", &file, "--item", item, "--format", "json"];
    if out {
        all.extend(["--arg", "i32[60]"]);
    }
    all.extend(["--arg", &a, "--arg", &b, "--arg", "60"]);
    let output = lockstep(&all);
    assert!(output.status.success(), "{}", errors(&output));
    let row = json(&output);
    let result = row["r8"].as_u64();
    let result = result.unwrap_or_else(|| panic!("{row:#}"));
    (result, row["cycles"].as_u64().expect("cycles"))
}

#[test]
fn values_are_computed_where_they_are_read() {
    let place = Place::new("emit-profile");
    let file = profiled(&place);
    let emitted = |more: &[&str]| {
        let mut all = vec!["emit", &file, "--if-convert", "--no-config"];
        all.extend(more);
        lockstep(&all)
    };
    let (plain, guided) = (emitted(&[]), emitted(&["--profile"]));
    let told = errors(&guided);
    assert!(
        told.contains("f.c:6:22: a value of `last` is computed where it is read: never in the profiled runs instead of 202 times, under a predicate that is false once"),
        "{told}"
    );
    assert!(
        told.contains("f.c:20:22: a value of `few` is computed where it is read:")
            && told.contains(", under a predicate that is never false"),
        "{told}"
    );
    for (item, out) in [("last", false), ("few", true)] {
        let before = ran(&place, &text(&plain), item, out);
        let after = ran(&place, &text(&guided), item, out);
        assert_eq!(before.0, after.0, "{item}");
        assert!(after.1 < before.1, "{item}: {before:?} {after:?}");
    }
    let row = json(&emitted(&["--profile", "--format", "json"]));
    let functions = row["functions"].as_array().expect("functions");
    let few = functions.iter().find(|row| row["name"] == "few");
    let done = &few.expect("it is there")["profiled"];
    assert!(
        done["cycles_after"].as_f64() < done["cycles_before"].as_f64(),
        "{done:#}"
    );
    let change = &done["changes"][0];
    assert_eq!(
        (&change["kind"], &change["line"]),
        (&"computed_where_read".into(), &20.into()),
        "{done:#}"
    );
    assert!(
        change["after"].as_u64() < change["before"].as_u64(),
        "{change:#}"
    );
    // A value leaves a loop whose iterations overlap; under a predicate in it, it would take its slot all the same.
    let overlapped = emitted(&["--profile", "--pipeline"]);
    let told = errors(&overlapped);
    assert!(
        told.contains("`last` is computed where it is read")
            && told.contains("nothing in `few` pays on the ways of its profile"),
        "{told}"
    );
    let before = ran(&place, &text(&emitted(&["--pipeline"])), "last", false);
    let after = ran(&place, &text(&overlapped), "last", false);
    assert_eq!(before.0, after.0);
    assert!(after.1 < before.1, "{before:?} {after:?}");
}

#[test]
fn both_codes_are_compared_on_the_head_of_a_function() {
    let place = Place::new("profiled-code");
    let file = profiled(&place);
    let at = |command: &[&str], at: &str| {
        let mut all = command.to_vec();
        all.extend([&file, "--at", at, "--machine", "itanium2", "--no-config"]);
        lockstep(&all)
    };
    let title = "Compare code before and after its profile:";
    assert!(text(&at(&["actions"], "1:6")).contains(title));
    assert!(!text(&at(&["actions"], "4:6")).contains(title));
    let diff = text(&at(&["apply", "profile-code"], "1:6"));
    assert!(
        diff.contains("--- last: as it is\n+++ last: after its profile\n"),
        "{diff}"
    );
    let count = |sign: &str| {
        let lines = diff.lines().filter(|line| line.starts_with(sign));
        lines.filter(|line| line.contains("frcpa")).count()
    };
    assert_eq!((count("-"), count("+")), (1, 1), "{diff}");
}

#[test]
fn what_has_no_profile_says_so() {
    let place = Place::new("no-emit-profile");
    let file = place.file("f.c", TEXT);
    let output = lockstep(&["emit", &file, "--profile", "--no-config"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("there is no profile"));
    let file = profiled(&place);
    let sets = lockstep(&["emit", &file, "--profile", "--target", "sc140"]);
    assert!(errors(&sets).contains("`--profile` says nothing of `--target sc140`"));
    // One that was not run stands as it is, and is told of where it was asked for.
    let more = place.file(
        "f.c",
        format!("{TEXT}\nint other(int x) {{ return x / 3; }}\n"),
    );
    let output = lockstep(&["emit", &more, "--profile", "--item", "other", "--no-config"]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("the profile has no paths of `other`"));
    assert!(text(&output).contains("other:"));
    // Nor is one that has become another since.
    let other = "int last(const int *a, const int *b, int n) { return n ? *a / 5 : *b * 3; }\n";
    let changed = place.file("f.c", other);
    let output = lockstep(&["emit", &changed, "--profile", "--no-config"]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("`last` has changed since it was profiled"));
    let fresh = place.file("g.c", "int other(int x) { return x / 3; }\n");
    let known = std::fs::read(place.path("f.c.lockstep-profile.json")).expect("a profile");
    place.file("g.c.lockstep-profile.json", known);
    let output = lockstep(&["emit", &fresh, "--profile", "--no-config"]);
    assert!(errors(&output).contains("the profile has no paths of its functions"));
}

/// A table that one way fills and reads again, and a search that most ways leave late.
const LOADS: &str = "\
long get(long *restrict table, const long *restrict from, long *restrict out, long i)
{
    if (table[i] < 0)
        table[i] = from[i] / 3 + from[i + 1] / 7;
    else
        out[i] = 5;
    return table[i] * 3;
}

long differ(const unsigned char *l, const unsigned char *r, long n)
{
    for (; *l && *r && n && *l == *r; l++, r++, n--)
        ;
    return *l - *r;
}
";

/// What is done ahead takes fewer cycles in the simulator, too, and what would take more is left.
#[test]
fn loads_are_done_ahead_where_the_code_is_faster_by_it() {
    let place = Place::new("emit-profile-loads");
    let file = place.file("l.c", LOADS);
    let get = "item = \"get\"\n[values]\ni = 3\n[buffers.table]\ntype = \"i64\"\ncount = 9\nfill = \"constant\"\nvalue = 7\n";
    let differ = "item = \"differ\"\n[values]\nn = 90\n[buffers.l]\ntype = \"i8\"\ncount = 100\nfill = \"constant\"\nvalue = 7\n[buffers.r]\ntype = \"i8\"\ncount = 100\nfill = \"constant\"\nvalue = 7\n";
    for inputs in [get, differ] {
        let inputs = place.file("l.toml", inputs);
        let arguments = [
            "profile",
            &file,
            "--inputs",
            &inputs,
            "--no-config",
            "--add",
        ];
        let output = lockstep(&arguments);
        assert!(output.status.success(), "{}", errors(&output));
    }
    let emitted = |more: &[&str]| {
        let output = lockstep(&[&["emit", &file, "--if-convert", "--no-config"], more].concat());
        assert!(output.status.success(), "{}", errors(&output));
        (place.file("l.ia64.s", text(&output)), errors(&output))
    };
    let sevens = "i64:7,7,7,7,7";
    let bytes = format!("i8:{},0", ["7"; 100].join(","));
    let runs = |code: &str| {
        let cycles = |arguments: &[&str]| {
            let all = [&["sim", code, "--format", "json", "--item"], arguments].concat();
            let output = lockstep(&all);
            assert!(output.status.success(), "{}", errors(&output));
            let row = json(&output);
            (row["r8"].clone(), row["cycles"].as_u64().expect("cycles"))
        };
        [
            cycles(&[
                "get", "--arg", sevens, "--arg", sevens, "--arg", "i64[5]", "--arg", "3",
            ]),
            cycles(&["differ", "--arg", &bytes, "--arg", &bytes, "--arg", "90"]),
        ]
    };
    let (code, _) = emitted(&[]);
    let before = runs(&code);
    let (code, told) = emitted(&["--profile"]);
    let after = runs(&code);
    for ((old, more), (new, cycles)) in before.iter().zip(&after) {
        assert_eq!(old, new);
        assert!(cycles <= more, "{told} {before:?} {after:?}");
    }
    assert!(after[0].1 < before[0].1, "{told} {before:?} {after:?}");
    assert!(
        told.contains("l.c:3:9: a load of `get` is done ahead: once"),
        "{told}"
    );
}

/// Loads of a product with a value that is mostly zero, on a processor with caches.
#[test]
fn loads_that_cannot_matter_are_skipped_where_they_miss() {
    let place = Place::new("emit-skipped");
    let file = place.file(
        "sparse.c",
        "int sparse(const int *w, const int *at, const int *v, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        int t = w[i];
        s += t * v[at[i] & 16383];
    }
    return s;
}
",
    );
    place.file("lockstep.toml", "processor = \"bratt2001\"\n");
    let inputs = place.file(
        "sparse.toml",
        "item = \"sparse\"
[values]
n = 16384
[buffers.w]
count = 16384
fill = \"sparse\"
zeros = 0.95
low = 1
high = 1000
[buffers.at]
count = 16384
fill = \"uniform\"
low = 0
high = 100000
[buffers.v]
count = 16384
fill = \"uniform\"
low = 0
high = 1000
",
    );
    let emit = |machine: &str| {
        let profiled = lockstep(&["profile", &file, "--inputs", &inputs]);
        assert!(profiled.status.success(), "{}", errors(&profiled));
        let target = format!("ia64:{machine}");
        lockstep(&[
            "emit",
            &file,
            "--item",
            "sparse",
            "--target",
            &target,
            "--profile",
            "--pipeline",
            "--if-convert",
        ])
    };
    let done = emit("bratt2001");
    let said = errors(&done);
    assert!(
        said.contains("sparse.c:4:17: 2 loads that cannot matter are skipped")
            && said.contains("in 95 % of its executions"),
        "{said}"
    );
    let code = text(&done);
    let guarded = code
        .lines()
        .filter(|line| line.contains(") ld4 r") && !line.contains(", 4"));
    assert_eq!(guarded.count(), 2, "{code}");
    // Misses of another processor's caches say nothing of this one.
    let other = errors(&emit("itanium2"));
    assert!(!other.contains("are skipped"), "{other}");
}

/// Loads of a disjunction with a value of which all bits are mostly set.
#[test]
fn loads_that_cannot_matter_are_skipped_where_all_bits_are_set() {
    let place = Place::new("emit-skipped-ones");
    let file = place.file(
        "masks.c",
        "int masks(const int *m, const int *at, const int *v, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        int t = m[i];
        s ^= t | v[at[i] & 16383];
    }
    return s;
}
",
    );
    place.file("lockstep.toml", "processor = \"bratt2001\"\n");
    let numbers = |name: &str, fill: &str| {
        format!("[buffers.{name}]\ntype = \"i32\"\ncount = 16384\n{fill}\n")
    };
    let uniform = "fill = \"uniform\"\nlow = 0\nhigh = 100000";
    let inputs = [
        "item = \"masks\"\n[values]\nn = 16384\n".to_owned(),
        numbers("m", "fill = \"constant\"\nvalue = -1"),
        numbers("at", uniform),
        numbers("v", uniform),
    ];
    let inputs = place.file("masks.toml", inputs.concat());
    let profiled = lockstep(&["profile", &file, "--inputs", &inputs]);
    assert!(profiled.status.success(), "{}", errors(&profiled));
    let done = lockstep(&[
        "emit",
        &file,
        "--item",
        "masks",
        "--profile",
        "--pipeline",
        "--if-convert",
    ]);
    let said = errors(&done);
    assert!(
        said.contains("2 loads that cannot matter are skipped where this value of `masks` has all bits set, in 100 %"),
        "{said}"
    );
}
