//! Whole programs of C on the simulator, against the host's compiler: the results of calls, addresses and
//! tables.
//!
//! Without a compiler the tests say so and pass; continuous integration installs one.

#[path = "support/command.rs"]
mod command;
#[path = "support/host.rs"]
mod host;

use command::{Place, errors, lockstep, text};
use host::{agree, simulated};

#[test]
fn functions_that_call_themselves_end() {
    let source = "\
int rec(int k){ return k<2 ? k : rec(k-1)+rec(k-2); }
int sumrec(int k){ if(k==0) return 0; return k+sumrec(k-1); }
static void hanoi(int k,int *c){ if(k==0) return; hanoi(k-1,c); (*c)++; hanoi(k-1,c); }
int moves(int k){ int c=0; hanoi(k,&c); return c; }
static long pw(long b,int e){ if(e==0) return 1; long h=pw(b,e/2); return e%2?h*h*b:h*h; }
long power(long b,int e){ return pw(b,e); }
int collatz(int k){ return k==1?0:1+collatz(k%2?3*k+1:k/2); }
static int odd(int k);
static int even(int k){ if(k==0) return 1; return odd(k-1); }
static int odd(int k){ if(k==0) return 0; return even(k-1); }
int parity(int k){ return odd(k)*2+even(k); }
static int ack(int m,int k){ if(m==0) return k+1; if(k==0) return ack(m-1,1); return ack(m-1,ack(m,k-1)); }
int ackermann(int m,int k){ return ack(m,k); }
int third(int k); int first(int k); int second(int k){ return k<1?2:third(k-1)+1; }
int first(int k){ return k<1?1:second(k-1)*2; }
int third(int k){ return k<1?3:first(k-1)-second(k/2); }
";
    let mut calls: Vec<(&str, Vec<i64>)> = Vec::new();
    for k in 0..10 {
        calls.push(("rec", vec![k]));
        calls.push(("sumrec", vec![k]));
        calls.push(("moves", vec![k]));
        calls.push(("power", vec![3, k]));
        calls.push(("collatz", vec![k + 1]));
        calls.push(("parity", vec![k]));
        calls.push(("ackermann", vec![k % 3, k]));
        calls.push(("first", vec![k]));
    }
    agree(&Place::new("recursion"), source, &calls);
}

/// A store through a pointer to one of several variables changes whichever it points to.
#[test]
fn pointers_that_may_be_one_variable_or_another_reach_both() {
    let source = "\
int mix(int c, int k) { int x[4], y[4]; int *p = c ? x : y; x[k]=7; y[k]=9; p[k]=100; return x[k]*1000+y[k]; }
int fixed(int c) { int x[4], y[4]; int *p = c ? x : y; x[0]=7; y[0]=9; p[0]=100; return x[0]*1000+y[0]; }
int turns(int c, int k) { int x[4], y[4]; int *p = c ? x : y; for (int i=0;i<k;i++) p = p==x ? y : x; x[0]=7; y[0]=9; p[0]=100; return x[0]*1000+y[0]; }
int sums(int c, int k) { int x[4]={1,2,3,4}, y[4]={5,6,7,8}; int *p = c ? x : y; int s=0; for (int i=0;i<k;i++) { s+=y[i&3]; p[(i+1)&3]=s; s+=x[i&3]; } return s; }
";
    let mut calls: Vec<(&str, Vec<i64>)> = Vec::new();
    for c in 0..2 {
        calls.push(("fixed", vec![c]));
        for k in 0..4 {
            calls.push(("mix", vec![c, k]));
            calls.push(("turns", vec![c, k]));
            calls.push(("sums", vec![c, 3 * k]));
        }
    }
    agree(&Place::new("mixed"), source, &calls);
}

/// Functions with the arguments of several calls.
type Calls = &'static [(&'static str, &'static [&'static [i64]])];

fn each(calls: Calls) -> Vec<(&'static str, Vec<i64>)> {
    let each = calls.iter();
    each.flat_map(|(name, all)| all.iter().map(|given| (*name, given.to_vec())))
        .collect()
}

#[test]
fn pointers_call_the_functions_that_they_hold() {
    let source = include_str!("c_programs/function_pointers.c");
    let calls = each(&[
        ("choose", &[&[10, 0], &[10, 1]]),
        ("twice", &[&[0], &[5]]),
        ("loop", &[&[0], &[1], &[7]]),
        ("applied", &[&[0, 5], &[1, 5]]),
        ("app3", &[&[0, 7], &[1, 7]]),
        ("table", &[&[0, 9], &[1, 9]]),
        ("table2", &[&[0, 4], &[1, 4], &[2, 4]]),
        ("through", &[&[8, 0], &[8, 1]]),
        ("fl", &[&[0, 7], &[1, 7]]),
        ("picked", &[&[0, 5], &[5, 5]]),
        ("out", &[&[0], &[1]]),
        ("sorted", &[&[3, 1, 2], &[9, 8, 7]]),
        ("recs", &[&[0, 4], &[1, 4]]),
    ]);
    agree(&Place::new("pointers"), source, &calls);
}

#[test]
fn tables_hold_the_addresses_that_they_are_given() {
    let source = include_str!("c_programs/addresses_in_tables.c");
    let calls = each(&[
        ("nstr", &[&[0], &[1], &[2]]),
        ("nstr2", &[&[0]]),
        ("g", &[&[0], &[1]]),
        ("set", &[&[0, 5], &[1, 7]]),
        ("h", &[&[0], &[1]]),
        ("f", &[&[3]]),
        ("walk", &[&[1], &[5]]),
        ("cmd", &[&[0, 5], &[1, 5], &[2, 5], &[3, 4]]),
        ("local", &[&[0], &[1]]),
        ("tx", &[&[0], &[1]]),
        ("mm", &[&[0], &[2]]),
        ("pk", &[&[0], &[1]]),
        ("adr", &[&[0], &[2]]),
        ("fl", &[&[0], &[1]]),
        ("sym", &[&[0], &[1]]),
    ]);
    agree(&Place::new("tables"), source, &calls);
}

#[test]
fn a_function_that_is_emitted_alone_brings_those_whose_addresses_it_takes() {
    let place = Place::new("alone");
    let file = place.file("program.c", include_str!("c_programs/function_pointers.c"));
    let out = place.path("program.s");
    let emitted = lockstep(&["emit", &file, "--item", "choose", "-o", &out]);
    assert!(emitted.status.success(), "{}", errors(&emitted));
    assert_eq!(simulated(&out, "choose", &["10", "0"]), 5);
    assert_eq!(simulated(&out, "choose", &["10", "1"]), 21);
}

#[test]
fn only_what_other_files_may_name_is_global() {
    let source = "\
static const int tab[3] = {1, 2, 3};
static int hlp(int x) { return tab[x] + x; }
static int rec(int k) { return k < 1 ? hlp(k) : rec(k - 1) + 1; }
static int later(int x);
inline int small(int x) { return x + 3; }
int count = 7;
extern int other, announced;
int announced;
static int own = 4;
const char *word(void) { return \"word\"; }
int f(int i) { return rec(i) + count + own + other; }
int later(int x) { return x * 2; }
int g(int i) { announced += later(i) + small(i); return hlp(i) + count++ + own++ + announced; }
";
    let place = Place::new("linkage");
    let file = place.file("program.c", source);
    let emitted = lockstep(&["emit", &file]);
    assert!(emitted.status.success(), "{}", errors(&emitted));
    let code = text(&emitted);
    let mut global: Vec<&str> = code
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".global "))
        .collect();
    global.sort_unstable();
    assert_eq!(global, ["announced", "count", "f", "g", "word"], "{code}");
    // Another file defines it.
    assert!(!code.contains("other:"), "{code}");
    for label in ["tab:", "hlp:", "rec:", "own:", "count:", "announced:"] {
        let defined = code.lines().filter(|line| *line == label).count();
        assert_eq!(defined, 1, "{label} {code}");
    }
    let out = place.file("program.s", &code);
    assert_eq!(simulated(&out, "g", &["2"]), 5 + 7 + 4 + 9);
}

/// Copies and fills of a constant size are loads and stores as the pointers' types permit.
#[test]
fn copies_of_constant_size_are_what_the_library_makes_of_them() {
    let source = include_str!("c_programs/copies.c");
    let mut calls: Vec<(&str, Vec<i64>)> = Vec::new();
    for k in 0..8 {
        for name in [
            "word", "wide", "real", "single", "odd", "whole", "part", "moved", "back", "filled",
            "cleared", "varied", "into", "swapped", "nothing", "small",
        ] {
            calls.push((name, vec![k]));
        }
    }
    let place = Place::new("copies");
    agree(&place, source, &calls);
    // None of them is a call.
    let file = place.file("program.c", source);
    let emitted = lockstep(&["emit", &file]);
    assert!(!text(&emitted).contains("br.call"), "{}", text(&emitted));
}

#[test]
fn broken_source_has_no_code() {
    let place = Place::new("broken");
    let out = place.path("program.s");
    for (source, line, column) in [
        ("int f(int a{ return", 1, 12),
        (
            "int f(int n) {\n  int s = 0;\n  for (int i = 0; i < n; i++ {\n    s += i;\n  }\n  return s;\n}\n",
            3,
            30,
        ),
        (
            "int g(int n) { return n; }\nint f(int n) {\n  return n;\n",
            3,
            12,
        ),
    ] {
        let file = place.file("program.c", source);
        let emitted = lockstep(&["emit", &file, "-o", &out]);
        assert_eq!(emitted.status.code(), Some(1), "{source}");
        let told = errors(&emitted);
        assert!(
            told.contains(&format!("program.c:{line}:{column}: ")),
            "{source} {told}"
        );
        assert!(!std::path::Path::new(&out).exists(), "{source}");
    }
    // A function that is asked for by its name needs no other.
    let emitted = lockstep(&["emit", &place.path("program.c"), "--item", "g", "-o", &out]);
    assert!(emitted.status.success(), "{}", errors(&emitted));
    assert_eq!(simulated(&out, "g", &["6"]), 6);
}

#[test]
fn functions_without_code_leave_the_others() {
    let place = Place::new("partly");
    let source = "\
int ok(int n) { return n + 1; }
long double bad(int n) { return n; }
int ok2(int n) { return ok(n) * 2; }
";
    let file = place.file("program.c", source);
    let out = place.path("program.s");
    let emitted = lockstep(&["emit", &file, "-o", &out]);
    assert_eq!(emitted.status.code(), Some(1));
    let told = errors(&emitted);
    assert!(
        told.contains("program.c:2:") && told.contains("no code for `bad`"),
        "{told}"
    );
    assert!(told.contains("1 of 3 functions are left out"), "{told}");
    assert_eq!(simulated(&out, "ok", &["4"]), 5);
    assert_eq!(simulated(&out, "ok2", &["4"]), 10);
    let strict = place.path("strict.s");
    let emitted = lockstep(&["emit", &file, "--item", "bad", "-o", &strict]);
    assert_eq!(emitted.status.code(), Some(1));
    assert!(!std::path::Path::new(&strict).exists());
}

#[test]
fn integers_are_given_in_all_64_bits() {
    let place = Place::new("integers");
    let file = place.file("program.c", "long f(long a) { return a; }\n");
    let out = place.path("program.s");
    let emitted = lockstep(&["emit", &file, "-o", &out]);
    assert!(emitted.status.success(), "{}", errors(&emitted));
    for (given, expected) in [
        ("18446744073709551610", -6),
        ("18446744073709551615", -1),
        ("9223372036854775808", i64::MIN),
        ("-9223372036854775808", i64::MIN),
        ("0xffffFFFFffffFFFF", -1),
        ("-0x10", -16),
        ("0X1f", 31),
        ("-7", -7),
    ] {
        assert_eq!(simulated(&out, "f", &[given]), expected, "{given}");
    }
}

#[test]
fn bundles_that_no_processor_has_are_located() {
    let place = Place::new("bundles");
    let source = "\
\t.text
\t.explicit
f:
{ .mmf
\tld8 r8 = [r32]
\tadd r9 = r10, r11
\tnop.i 0
}
{ .mib
\tnop.m 0
\tbr.ret.sptk b0
\tbr.ret.sptk b0 ;;
}
{ .xyz
\tnop.m 0
}
{ .mii
\tnop.m 0
\tnop.i 0
\tnop.i 0
\tnop.i 0 ;;
}
{ .mfi
\tnop.m 0 ;;
\tnop.f 0
\tnop.i 0 ;;
}
}
{ .mib
\tnop.m 0
\tnop.i 0
\tbr.ret.sptk.many b0 ;;
";
    let file = place.file("program.s", source);
    for command in ["check", "bundle"] {
        let found = lockstep(&[command, &file]);
        assert_eq!(found.status.code(), Some(1), "{command}");
        let told = text(&found) + &errors(&found);
        for (line, what) in [
            (7, "no slot for `nop.i`"),
            (12, "no slot for `br.ret.sptk`"),
            (14, "there is no template `.xyz`"),
            (21, "these instructions take 4"),
            (24, "no stop"),
            (28, "no bundle is open"),
            (29, "is not closed"),
        ] {
            let located =
                |word: &str| word.contains(&format!("program.s:{line}:")) && word.contains(what);
            assert!(told.lines().any(located), "{command} {line} {what}: {told}");
        }
    }
}

#[test]
fn arguments_without_parameters_arrive_once_and_promoted() {
    let place = Place::new("arguments");
    let caller = place.file(
        "caller.c",
        "\
extern long shown(const char *, ...);
int two(int *p) { return gathered(*p, p[1]); }
long four(int *p, double f, char c) { return shown(\"x\", *p, f, c, p[1]); }
int pointed(int k, int a) { int (*f)(); f = k ? first : second; return f(a, (char)a); }
",
    );
    let callee = place.file(
        "callee.c",
        "\
int gathered(int a, int b) { return a * 100 + b; }
long shown(const char *s, long a, long bits, long c, long d) {
  return ((a * 10 + c) * 10 + d) * 65536 + (bits >> 48 & 65535) + s[0] - 'x';
}
int first(int a, int b) { return a * 2 + b; }
int second(int a, int b) { return a * 5 - b; }
",
    );
    let declared = std::fs::read_to_string(&caller).expect("the source");
    let caller = place.file(
        "caller.c",
        format!("extern int first(int, int);\nextern int second(int, int);\n{declared}"),
    );
    let texts: Vec<String> = [&caller, &callee]
        .iter()
        .map(|file| {
            let emitted = lockstep(&["emit", file]);
            assert!(emitted.status.success(), "{}", errors(&emitted));
            text(&emitted)
        })
        .collect();
    let both = place.file("both.s", texts.concat());
    assert_eq!(simulated(&both, "two", &["i32:3,4"]), 304);
    assert_eq!(simulated(&both, "pointed", &["1", "6"]), 18);
    assert_eq!(simulated(&both, "pointed", &["0", "6"]), 24);
    // 2.5 as a double begins with 0x4004.
    let run = simulated(&both, "four", &["i32:3,4", "2.5", "7"]);
    assert_eq!(run, (3 * 100 + 7 * 10 + 4) * 65536 + 0x4004);
}

#[test]
fn structures_of_thousands_of_words_are_no_arguments() {
    let place = Place::new("large");
    let source = "\
struct large { long a[4000]; };
extern int taken(struct large);
extern struct large made(int);
int give(struct large *p) { return taken(*p); }
int take(struct large b) { return b.a[3]; }
struct large back(struct large *p) { return *p; }
long get(int k) { return made(k).a[1]; }
int through(int (*f)(struct large, int), struct large *p) { return f(*p, 3); }
static long inside(struct large b) { return b.a[3] + b.a[3999]; }
long here(long k) { struct large x = {{[3] = 5}}; x.a[3999] = k; return inside(x); }
";
    let file = place.file("program.c", source);
    let out = place.path("program.s");
    let emitted = lockstep(&["emit", &file, "-o", &out]);
    assert_eq!(emitted.status.code(), Some(1));
    let told = errors(&emitted);
    for (line, name) in [(4, "give"), (5, "take"), (8, "through")] {
        let found = told.lines().any(|it| {
            it.contains(&format!("program.c:{line}:"))
                && it.contains(&format!("no code for `{name}`"))
                && it.contains("too large to be passed by value")
        });
        assert!(found, "{name}: {told}");
    }
    assert_eq!(simulated(&out, "here", &["8"]), 13);
}
