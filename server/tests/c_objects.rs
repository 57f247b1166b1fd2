//! The definitions of a file of C, against the host's compiler: the same names for other files, objects of
//! the same sizes that hold the same bytes, and nothing undefined that the source does not name.
//!
//! The assembly is that of GNU's assembler for IA-64. Where it or a compiler of C for a machine of 64 bits is missing, the
//! tests say so and pass; continuous integration installs both.

#[path = "support/command.rs"]
mod command;
#[path = "c_objects/elf.rs"]
mod elf;
#[path = "c_objects/generate.rs"]
mod generate;

use command::{Place, errors, lockstep};
use elf::{Kind, Symbol};
use std::collections::BTreeSet;
use std::process::Command;

/// Returns the symbols that both make of a source; `None`: there is no judge.
fn both(place: &Place, source: &str) -> Option<(Vec<Symbol>, Vec<Symbol>)> {
    let compiler = std::env::var("LOCKSTEP_CC").unwrap_or_else(|_| "cc".into());
    let there = |name: &str| Command::new(name).arg("--version").output().is_ok();
    let wide = cfg!(target_pointer_width = "64") && cfg!(target_endian = "little");
    if !there(&compiler) || !there("ia64-linux-gnu-as") || !wide {
        println!("not judged: the tests need a compiler of C and ia64-linux-gnu-as");
        return None;
    }
    let file = place.file("program.c", source);
    let (host, own, listing) = (
        place.path("host.o"),
        place.path("own.o"),
        place.path("own.s"),
    );
    let built = Command::new(&compiler)
        .args(["-std=gnu11", "-O0", "-w", "-fno-common", "-fno-pic"])
        .args(["-fno-asynchronous-unwind-tables", "-fno-stack-protector"])
        .args(["-c", "-o", &host, &file])
        .output()
        .expect("the compiler runs");
    assert!(built.status.success(), "{source}\n{}", errors(&built));
    let emitted = lockstep(&["emit", &file, "--no-config", "-o", &listing]);
    assert!(emitted.status.success(), "{source}\n{}", errors(&emitted));
    let assembled = Command::new("ia64-linux-gnu-as")
        .args(["-x", "-o", &own, &listing])
        .output()
        .expect("the assembler runs");
    assert!(assembled.status.success(), "{}", errors(&assembled));
    let read = |path: &str| elf::symbols(&std::fs::read(path).expect("an object file"));
    Some((
        read(&host).expect("the host's object file"),
        read(&own).expect("an object file for IA-64"),
    ))
}

fn judge(place: &Place, source: &str) {
    let Some((host, own)) = both(place, source) else {
        return;
    };
    let defined = |all: &[Symbol]| -> BTreeSet<String> {
        let global = all.iter().filter(|it| it.global && it.defined);
        global.map(|it| it.name.clone()).collect()
    };
    assert_eq!(defined(&own), defined(&host), "{source}");
    let words: BTreeSet<&str> = source
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .collect();
    for each in own.iter().filter(|it| !it.defined && !it.name.is_empty()) {
        let known = words.contains(each.name.as_str())
            || host
                .iter()
                .any(|other| !other.defined && other.name == each.name);
        assert!(known, "`{}` is undefined\n{source}", each.name);
    }
    for each in host
        .iter()
        .filter(|it| it.global && it.defined && it.kind == Kind::Object)
    {
        let ours = own
            .iter()
            .find(|other| other.name == each.name)
            .expect("it is defined");
        assert_eq!(ours.size, each.size, "size of `{}`\n{source}", each.name);
        assert_eq!(ours.bytes, each.bytes, "bytes of `{}`\n{source}", each.name);
    }
}

#[test]
fn objects_that_no_function_uses_are_there() {
    judge(
        &Place::new("unused"),
        "int a = 5; int b; static int c = 7; extern int d; extern int e; int e = 9; int f[3]; int f[]; int g[4] = {1, 2};\n\
         const char *const names[] = {\"one\", \"two\"}; struct { char a; long b; } s = {1, 2}; int *p = &g[2];\n\
         typedef int T; enum { X = 3, Y }; T t = Y; const int k = X; double r = 2.5; float q[] = {1, 2.5f};\n\
         int prototype(int), between = 4; int (*call)(int) = prototype; char text[] = \"text\"; char cut[2] = \"xyz\";\n",
    );
}

#[test]
fn large_objects_are_whole() {
    let list: Vec<String> = (0..70_000u32).map(|it| (it % 251).to_string()).collect();
    let list = list.join(",");
    judge(
        &Place::new("large"),
        &format!(
            "unsigned char big[] = {{{list}}};\nint behind = 7;\nunsigned long size = sizeof(big);\n\
             short ranged[100000] = {{[3 ... 99990] = 9, [50] = 4}};\nstatic const unsigned char own[] = {{{list}}};\n\
             int at(int i) {{ return own[i] + sizeof(own) + big[i]; }}\nchar room[1 << 25];\n\
             int unsized[] = {{[70000] = 1}};\n"
        ),
    );
}

#[test]
fn names_of_functions_asserts_and_strings_are_defined() {
    judge(
        &Place::new("names"),
        "#include <assert.h>\n\
         const char *own(void) { return __func__; }\n\
         static inline const char *inlined(int x) { return x ? __func__ : \"none\"; }\n\
         const char *used(int x) { return inlined(x); }\n\
         int checked(int x) { assert(x > 3); return x; }\n\
         const char *choice(int x) { static const char *const all[] = {\"a\", \"b\"}; return x ? all[x & 1] : \"c\"; }\n\
         unsigned long length(void) { return sizeof(__func__) + sizeof __FUNCTION__; }\n",
    );
}

#[test]
fn statics_of_functions_and_addresses_are_defined() {
    judge(
        &Place::new("statics"),
        "static int f(int x) { return x + 1; }\nstatic int unused(int x) { return x; }\n\
         int (*const table[])(int) = {f, unused, 0};\n\
         int next(void) { static int n; static const short steps[] = {1, 2, 3}; return n += steps[n % 3]; }\n\
         static const struct { const char *name; int (*call)(int); } entries[] = {{\"f\", f}, {\"u\", unused}};\n\
         int run(int i) { return entries[i].call(i) + entries[i].name[0]; }\n\
         struct node { struct node *next; int v; }; extern struct node last; struct node first = {&last, 1}; struct node last = {&first, 2};\n",
    );
}

#[test]
fn what_has_no_known_value_is_refused() {
    let place = Place::new("refused");
    let file = place.file(
        "program.c",
        "int good = 1;\nextern int other(void);\nstruct unknown x;\nint bad = sizeof(struct missing);\n",
    );
    let emitted = lockstep(&["emit", &file, "--no-config"]);
    assert_eq!(emitted.status.code(), Some(1));
    let told = errors(&emitted);
    assert!(told.contains("no data for `bad`"), "{told}");
    assert!(told.contains("no data for `x`"), "{told}");
    assert!(command::text(&emitted).contains("good:"));
}

#[test]
fn what_each_thread_has_of_its_own_is_left_out_by_name() {
    let place = Place::new("threads");
    let source = "_Thread_local int own = 3; int all = 4; extern __thread int theirs;\n\
        int first(void) { return own; } int second(void) { return all; } int third(void) { return theirs; }\n\
        int fourth(void) { static _Thread_local int count; return ++count; }\n";
    let emitted = lockstep(&["emit", &place.file("threads.c", source), "--no-config"]);
    assert_eq!(emitted.status.code(), Some(1));
    let (text, told) = (command::text(&emitted), errors(&emitted));
    for left in ["own", "first", "third", "fourth"] {
        assert!(!text.contains(&format!("\n{left}:")), "{text}");
        assert!(told.contains(&format!("`{left}`")), "{told}");
    }
    assert!(told.contains("is thread-local"), "{told}");
    for kept in ["all", "second"] {
        assert!(text.contains(&format!("\n{kept}:")), "{text}");
    }
}

#[test]
fn random_declarations_are_what_the_host_makes_of_them() {
    let place = Place::new("declarations");
    for seed in 0..40 {
        judge(&place, &generate::program(seed));
    }
}
