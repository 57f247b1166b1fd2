//! Names in options: values for parameters and memory, items, targets, machines. A name that does not exist
//! is an error that lists the others.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, lockstep, text};

#[test]
fn an_argument_for_no_parameter_is_an_error() {
    let place = Place::new("bogus");
    let file = place.file(
        "k.cu",
        "__global__ void k(float* out, int n) { out[n] = 1; }\n",
    );
    let output = lockstep(&["run", &file, "--item", "k", "--arg", "bogus=3"]);
    assert_eq!(output.status.code(), Some(2));
    let told = errors(&output);
    assert!(
        told.contains("`bogus`") && told.contains("out, n"),
        "{told}"
    );
}

#[test]
fn values_for_shared_memory_are_used() {
    let place = Place::new("shared");
    let file = place.file(
        "k.cu",
        "__global__ void k(int* out) { __shared__ int s[4]; __shared__ float scale; int t = threadIdx.x;
           out[t] = s[t] * (int)scale; s[t] = 9 + t; }\n",
    );
    let run = |given: &[&str]| {
        let fixed = [
            "run",
            &file,
            "--item",
            "k",
            "--lanes",
            "4",
            "--arg",
            "out=i32[4]",
        ];
        lockstep(&[&fixed, given].concat())
    };
    let output = run(&["--arg", "s=[5,6,7,8]", "--arg", "scale=2"]);
    let told = text(&output);
    assert!(
        told.contains("buffer 0 (out): 10 12 14 16\n"),
        "{told}{}",
        errors(&output)
    );
    assert!(told.contains("shared (s): 9 10 11 12\n"), "{told}");
    for (given, why) in [
        ("s=[1,2,3,4,5]", "16 bytes, 20 are given"),
        ("s=f32:1,2", "i32"),
        ("s=3", "elements"),
        ("t=[1]", "does not read `t`"),
        ("bogus=[1]", "no parameter `bogus`"),
    ] {
        let output = run(&["--arg", given]);
        assert_eq!(output.status.code(), Some(2), "{given}: {}", text(&output));
        assert!(
            errors(&output).contains(why),
            "{given}: {}",
            errors(&output)
        );
    }
    let surplus = lockstep(&["run", &file, "--item", "k", "--arg", "i32[4]", "--arg", "3"]);
    assert_eq!(surplus.status.code(), Some(2));
    let figure = place.file(
        "m.musimd",
        "l0 x = Tid + c\nl1 t = ↓x\nl2 y = Tid + V\nl3 ↑y = t\nl4 stop\n",
    );
    let output = lockstep(&[
        "run",
        &figure,
        "--item",
        "m",
        "--lanes",
        "2",
        "--arg",
        "c=1",
        "--arg",
        "V=4",
        "--arg",
        "memory=i64:7,8,9,0,0,0",
    ]);
    let told = text(&output);
    assert!(
        told.contains("shared (memory): 7 8 9 0 8 9 "),
        "{told}{}",
        errors(&output)
    );
}

#[test]
fn names_that_do_not_exist_are_errors_that_list_the_others() {
    let place = Place::new("names");
    let c = place.file(
        "a.c",
        "void f(int *p, int n) { for (int i = 0; i < n; i++) p[i] += 1; }\n",
    );
    let cuda = place.file(
        "k.cu",
        "__global__ void k(int* p) { p[threadIdx.x] = 1; }\n",
    );
    let assembly = place.file("a.ia64.s", "f:\n\tbr.ret.sptk b0\n");
    let targets = ["sm_80", "rdna3", "ia64:itanium2"];
    let cases: &[(&[&str], &[&str])] = &[
        (&["loops", &c, "--target", "ia64:itanium9"], &targets),
        (
            &["emit", &c, "--target", "ia64:itanium9"],
            &["itanium", "ia64:itanium2"],
        ),
        (&["emit", &c, "--target", "sm_80"], &["ia64:itanium2"]),
        (&["emit", &c, "--machine", "sm_80"], &["ia64:itanium2"]),
        (&["check", &cuda, "--target", "sm_81"], &targets),
        (&["check", &cuda, "--machine", "sm_81"], &["machine list"]),
        (&["code", &cuda, "--target", "ia64:sm_80"], &targets),
        (
            &["bundle", &assembly, "--machine", "sm_80"],
            &["itanium", "itanium2"],
        ),
        (
            &["sim", &assembly, "--item", "f", "--machine", "itanic"],
            &["itanium", "itanium2"],
        ),
        (&["loops", &c, "--item", "g"], &["f"]),
        (&["emit", &c, "--item", "g"], &["f"]),
        (&["analyze", &cuda, "--item", "g"], &["k"]),
        (&["code", &cuda, "--item", "g"], &["k"]),
        (&["dump", "ir", &cuda, "--item", "g"], &["k"]),
        (&["instrument", &cuda, "--item", "g"], &["k"]),
        (&["run", &cuda, "--item", "g"], &["k"]),
        (&["profile", &cuda, "--item", "g"], &["k"]),
        (&["sim", &assembly, "--item", "g"], &["f"]),
        (
            &["check", &cuda, "--deny", "divergent-barier"],
            &["divergent-barrier"],
        ),
        (&["check", &cuda, "--entry", "k=pixle"], &["pixel"]),
        (&["explain", "divergent-barier"], &["divergent-barrier"]),
    ];
    for (arguments, names) in cases {
        let output = lockstep(arguments);
        let told = errors(&output);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}{told}",
            text(&output)
        );
        for name in *names {
            assert!(told.contains(name), "{arguments:?}: {told}");
        }
    }
    let older = lockstep(&["loops", &c, "--target", "ia64:itanium", "--format", "json"]);
    assert!(
        text(&older).contains("\"processor\": \"itanium\""),
        "{}{}",
        text(&older),
        errors(&older)
    );
    let usual = place.file("lockstep.toml", "target = \"sm_81\"\n");
    let told = errors(&lockstep(&["check", &cuda]));
    assert!(
        told.contains("sm_86") && told.contains("lockstep.toml:1:"),
        "{usual}: {told}"
    );
}

/// The machine of the paper's section 3: the group that falls through goes on, the other one waits at `sync`.
#[test]
fn a_program_executes_on_the_machine_of_the_paper_cycle_by_cycle() {
    let place = Place::new("trace");
    let file = place.file(
        "meet.musimd",
        "l0 bz Tid, l2\nl1 x = Tid + c\nl2 sync\nl3 ↑Tid = x\nl4 stop\n",
    );
    let run = lockstep(&[
        "run",
        &file,
        "--item",
        "meet",
        "--lanes",
        "3",
        "--trace",
        "--arg",
        "c=5",
        "--arg",
        "memory=[9,9,9,4]",
    ]);
    assert_eq!(run.status.code(), Some(0), "{}", errors(&run));
    let expected = "\
cycle  instruction        0  1  2
    1  l0   bz Tid, l2    ✓  ✓  ✓
    2  l1   x = Tid + c   ·  ✓  ✓
    3  l2   sync          ·  ✓  ✓
    4  l2   sync          ✓  ·  ·
    5  l3   ↑Tid = x      ✓  ✓  ✓
    6  l4   stop          ✓  ✓  ✓
x: 0 6 7
memory[0]: 0
memory[1]: 6
memory[2]: 7
memory[3]: 4
";
    let told = text(&run);
    for line in expected.lines() {
        assert!(told.contains(line.trim_end()), "{line}\n{told}");
    }
    let wrong = lockstep(&["run", &file, "--item", "meet", "--trace", "--arg", "c"]);
    assert_eq!(wrong.status.code(), Some(2));
    let endless = place.file("endless.musimd", "l0 jump l0\n");
    let run = lockstep(&["run", &endless, "--item", "endless", "--trace"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run).contains("limit of cycles"), "{}", text(&run));
}

#[test]
fn one_function_is_annotated_alone() {
    let place = Place::new("annotate-item");
    let file = place.file(
        "two.cu",
        "// First.\n__global__ void first(int* p) {\n  p[threadIdx.x] = 1;\n}\n\n__global__ void second(int* p) {\n  p[2 * threadIdx.x] = 2;\n}\n",
    );
    let said = text(&lockstep(&["annotate", &file, "--item", "second"]));
    let numbers: Vec<&str> = said
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.parse::<u32>().is_ok())
        .collect();
    assert_eq!(numbers, ["6", "7", "8"], "{said}");
    let missing = lockstep(&["annotate", &file, "--item", "third"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        errors(&missing).contains("first, second"),
        "{}",
        errors(&missing)
    );
}
