//! Counts of gcov and llvm-cov as profiles: random C functions and one of our own, compiled, run and imported, against the exact
//! paths that the interpreter records for the same call. Each exact count of an edge and of a path lies in its bounds; a
//! function without bounds has the edges of the run.
//!
//! `LOCKSTEP_COVERED` is how many random functions (24). Compilers that are not there are said, and judge nothing: `LOCKSTEP_CC`
//! (`gcc`) with `gcov`, `LOCKSTEP_CLANG` (`clang`, `clang-19`) with the tools of its version.

#[path = "support/command.rs"]
mod command;
#[path = "support/kernels.rs"]
mod kernels;

use command::{Place, errors, json, lockstep, text};
use facts::paths::PathGraph;
use facts::paths::bounds::{RankedBy, bounds, ranked};
use facts::values::stored::{StoredProfile, found_edges};
use kernels::{lowered, main_of, taken};
use oracle::random::c::{Kernel, kernel};
use std::path::Path;
use std::process::Command;

/// A compiler that counts, and the tool that prints its counts.
#[derive(Clone, Debug)]
enum Tool {
    /// Compiler, and true for the JSON.
    Gcc(String, bool),
    /// Compiler, `llvm-profdata`, `llvm-cov`.
    Clang(String, String, String),
}

fn answers(program: &str) -> bool {
    let ran = Command::new(program).arg("--version").output();
    ran.is_ok_and(|ran| ran.status.success())
}

fn tools() -> Vec<Tool> {
    let mut out = Vec::new();
    let gcc = std::env::var("LOCKSTEP_CC").unwrap_or_else(|_| "gcc".into());
    match answers(&gcc) && answers("gcov") {
        true => out.extend([true, false].map(|json| Tool::Gcc(gcc.clone(), json))),
        false => println!("not judged: there is no `{gcc}` with `gcov` here"),
    }
    let named = std::env::var("LOCKSTEP_CLANG").unwrap_or_else(|_| "clang".into());
    let clang = [String::new(), "-19".into()].into_iter().find(|version| {
        let of = |tool: &str| answers(&format!("{tool}{version}"));
        of(&named) && of("llvm-profdata") && of("llvm-cov")
    });
    match clang {
        Some(v) => out.push(Tool::Clang(
            format!("{named}{v}"),
            format!("llvm-profdata{v}"),
            format!("llvm-cov{v}"),
        )),
        None => {
            println!("not judged: there is no `{named}` with `llvm-profdata` and `llvm-cov` here")
        }
    }
    out
}

fn ran(folder: &Path, program: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let done = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("it starts");
    if !done.status.success() {
        println!(
            "{program} {arguments:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        return None;
    }
    Some(done.stdout)
}

/// Compiles and runs `f.c` with `main.c` in a folder; the arguments of `profile import`. `None`: the library that counts is not
/// there.
fn counted(folder: &Path, tool: &Tool) -> Option<[&'static str; 2]> {
    match tool {
        Tool::Gcc(gcc, json) => {
            let flags = ["-w", "-O0", "-ffp-contract=off", "-std=c11"];
            let own = [&flags[..], &["--coverage", "-c", "f.c", "-o", "f.o"]].concat();
            ran(folder, gcc, &own)?;
            let all = [
                &flags[..],
                &["--coverage", "f.o", "main.c", "-o", "p", "-lm"],
            ]
            .concat();
            ran(folder, gcc, &all)?;
            ran(folder, "./p", &[])?;
            match json {
                true => {
                    ran(folder, "gcov", &["--json-format", "-b", "f.gcda"])?;
                    Some(["--gcov", "f.gcov.json.gz"])
                }
                false => {
                    ran(folder, "gcov", &["-b", "-c", "f.gcda"])?;
                    Some(["--gcov", "f.c.gcov"])
                }
            }
        }
        Tool::Clang(clang, profdata, cov) => {
            let flags = ["-fprofile-instr-generate", "-fcoverage-mapping", "-w"];
            let rest = [
                "-O0",
                "-ffp-contract=off",
                "f.c",
                "main.c",
                "-o",
                "p",
                "-lm",
            ];
            ran(folder, clang, &[&flags[..], &rest].concat())?;
            ran(folder, "./p", &[])?;
            ran(
                folder,
                profdata,
                &["merge", "default.profraw", "-o", "p.profdata"],
            )?;
            let report = ran(folder, cov, &["export", "./p", "-instr-profile=p.profdata"])?;
            std::fs::write(folder.join("export.json"), report).expect("written");
            Some(["--llvm-cov", "export.json"])
        }
    }
}

/// Edges that are exact, and all.
#[derive(Default, Debug)]
struct Sum {
    functions: usize,
    refused: usize,
    exact: usize,
    edges: usize,
    certain: u64,
    paths: u64,
}

fn judge(place: &Place, kernel: &Kernel, tool: &Tool, sum: &mut Sum) -> bool {
    let source = place.file("f.c", &kernel.text);
    place.file("main.c", main_of(kernel, "", ""));
    let folder = Path::new(&source).parent().expect("a folder").to_owned();
    let Some([option, report]) = counted(&folder, tool) else {
        return false;
    };
    let report = folder.join(report).display().to_string();
    let imported = lockstep(&[
        "profile",
        "import",
        &source,
        option,
        &report,
        "--no-config",
        "-o",
        "-",
    ]);
    let seed = kernel.seed;
    if !imported.status.success() {
        assert!(
            errors(&imported).contains("contradict"),
            "{seed}: {}",
            errors(&imported)
        );
        sum.refused += 1;
        return true;
    }
    let profile: StoredProfile = serde_json::from_slice(&imported.stdout).expect("a profile");
    let lowered = lowered(kernel);
    let function = &lowered.module.functions[0];
    let (numbers, taken) = taken(kernel, &lowered).expect("few paths");
    let stored = profile.items.iter().find(|item| item.name == kernel.name);
    let Some(stored) = stored else {
        sum.refused += 1;
        return true;
    };
    let found = found_edges(stored, function, &numbers).expect("counts of edges");
    assert!(found.exact, "{seed}: the same code");
    let said = errors(&imported);
    let edges = taken.edges(&numbers);
    let graph = PathGraph::of(function);
    assert_eq!(found.counts.entries.least, 1);
    for (node, (bounds, counts)) in found.counts.edges.iter().zip(&edges).enumerate() {
        for (bound, &count) in bounds.iter().zip(counts) {
            assert!(
                bound.least <= count && count <= bound.most,
                "seed {seed}, block {node}: {count} times, {bound:?} by {tool:?}\n{said}\n{}",
                kernel.text
            );
            sum.exact += usize::from(bound.is_exact());
            sum.edges += 1;
        }
    }
    for (&number, &count) in &taken.counts {
        let path = numbers.path(number).expect("a path");
        let bound = bounds(&graph, &found.counts, &path);
        assert!(
            bound.least <= count && count <= bound.most,
            "{seed}: {count} of {bound:?}"
        );
    }
    if let Tool::Clang(..) = tool {
        // Each condition is counted by its place; what is inlined has bounds, and is said.
        assert!(
            found.counts.is_exact() || said.contains("inlined"),
            "{seed}: {said}"
        );
    }
    let certain = ranked(&graph, &found.counts, RankedBy::Least, 4096);
    sum.certain += certain
        .paths
        .iter()
        .map(|(_, bound)| bound.least)
        .sum::<u64>();
    sum.paths += taken.total();
    sum.functions += 1;
    true
}

#[test]
fn random_functions_have_the_counts_of_their_runs_in_bounds() {
    let count = std::env::var("LOCKSTEP_COVERED").ok();
    let count: u64 = count.and_then(|text| text.parse().ok()).unwrap_or(24);
    for tool in tools() {
        let mut sum = Sum::default();
        for seed in 0..count {
            let place = Place::new(&format!("covered-{seed}"));
            if !judge(&place, &kernel(seed), &tool, &mut sum) {
                println!("not judged: {tool:?} does not count here");
                break;
            }
        }
        println!("{tool:?}: {sum:?}");
        if sum.functions + sum.refused > 0 {
            assert!(sum.refused * 20 <= sum.functions, "{sum:?}");
        }
    }
}

/// A search with an inlined callee, a condition that shares its line, and one that a macro spells.
const SEARCH: &str = "#define BIG(x) ((x) > 90)
static int cost(int x)
{
    if (x > 50)
        return x * 2;
    return x;
}
int search(const int *a, int n, int key)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (a[i] == key)
            return i;
        if (BIG(a[i]))
            sum += 3;
        if (a[i] < 0) sum -= a[i]; if (sum > 1000) sum = 0;
        if (a[i] & 1)
            sum++;
        else
            sum += cost(a[i]);
    }
    return -sum;
}
";

/// Four calls with 40 elements each; one finds its key at the eleventh.
const GCOV: &str = "        -:    0:Source:search.c
function cost called 60 returned 100% blocks executed 100%
       60:    2:static int cost(int x)
       60:    4:    if (x > 50)
branch  0 taken 12 (fallthrough)
branch  1 taken 48
       12:    5:        return x * 2;
       48:    6:    return x;
function search called 4 returned 100% blocks executed 100%
        4:    8:int search(const int *a, int n, int key)
        4:   10:    int sum = 0;
      134:   11:    for (int i = 0; i < n; i++) {
branch  0 taken 131
branch  1 taken 3 (fallthrough)
      131:   12:        if (a[i] == key)
branch  0 taken 1 (fallthrough)
branch  1 taken 130
        1:   13:            return i;
      130:   14:        if (BIG(a[i]))
branch  0 taken 10 (fallthrough)
branch  1 taken 120
       10:   15:            sum += 3;
      130:   16:        if (a[i] < 0) sum -= a[i]; if (sum > 1000) sum = 0;
branch  0 taken 20 (fallthrough)
branch  1 taken 110
branch  2 taken 2 (fallthrough)
branch  3 taken 128
      130:   17:        if (a[i] & 1)
branch  0 taken 70 (fallthrough)
branch  1 taken 60
       70:   18:            sum++;
       60:   20:            sum += cost(a[i]);
        3:   22:    return -sum;
";

fn search(name: &str) -> (Place, String, String) {
    let place = Place::new(name);
    let file = place.file("search.c", SEARCH);
    let report = place.file("search.c.gcov", GCOV);
    (place, file, report)
}

#[test]
fn paths_of_counted_lines_are_bounds_and_said_to_be() {
    let (_place, file, report) = search("bounds");
    let imported = lockstep(&["profile", "import", &file, "--gcov", &report, "--no-config"]);
    let said = errors(&imported);
    assert!(imported.status.success(), "{said}");
    // Two conditions share line 16; the callee's is of all calls, not of this one.
    assert!(
        said.contains(
            "`search`, line 16: between 0 and 130 times true: other conditions share its line"
        ),
        "{said}"
    );
    assert!(
        said.contains("`search`, line 4: ") && said.contains("it is inlined"),
        "{said}"
    );
    assert!(!said.contains("line 12"), "{said}");
    assert!(!said.contains("line 17"), "{said}");
    let report = json(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let function = report["functions"].as_array().expect("functions").iter();
    let function = function
        .clone()
        .find(|f| f["item"] == "search")
        .expect("search");
    assert_eq!(function["edges_alone"], true);
    assert_eq!(function["entries"], 4);
    let all = report["paths"].as_array().expect("paths");
    let own = || all.iter().filter(|path| path["item"] == "search");
    // The one that returns early is certain, from the entry or from another iteration.
    let early = own().filter(|path| {
        let lines = path["lines"].as_array().expect("lines");
        lines.iter().any(|line| line == 13)
    });
    for path in early {
        assert_eq!(path["at_most"], 1, "{path}");
    }
    assert!(own().any(|path| path["count"].is_null() && path["share"].is_null()));
    let words = text(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--item",
        "search",
    ]));
    assert!(
        words.contains("edges alone were counted: the counts of paths are bounds"),
        "{words}"
    );
    assert!(words.contains(" may have been taken"), "{words}");
    let cost = text(&lockstep(&[
        "paths",
        &file,
        "--no-config",
        "--item",
        "cost",
    ]));
    assert!(cost.contains("12   20.0 %  4-5"), "{cost}");
    assert!(cost.contains("48   80.0 %  4, 6"), "{cost}");
}

#[test]
fn counts_that_are_no_flow_are_left_out_with_their_line() {
    let (place, file, _) = search("wrong");
    let report = place.file(
        "wrong.gcov",
        GCOV.replace("       12:    5:", "       13:    5:"),
    );
    let imported = lockstep(&["profile", "import", &file, "--gcov", &report, "--no-config"]);
    let said = errors(&imported);
    assert!(
        said.contains("`cost`: the counts contradict each other around line 4"),
        "{said}"
    );
    // The other function has its counts all the same.
    assert!(imported.status.success(), "{said}");
    let other = place.file("other.c", SEARCH);
    let refused = lockstep(&[
        "profile",
        "import",
        &other,
        "--gcov",
        &report,
        "--no-config",
    ]);
    assert!(
        errors(&refused).contains("it has no counts of `other.c`"),
        "{}",
        errors(&refused)
    );
    let binary = place.file("search.gcda", "adcg23BR");
    let refused = lockstep(&["profile", "import", &file, "--gcov", &binary, "--no-config"]);
    assert!(
        errors(&refused).contains("gcov --json-format"),
        "{}",
        errors(&refused)
    );
}

/// A condition over two lines, whose last operand is never asked for.
const LINES: &str = "int any(const int *a, int (*f)(int))
{
    if (a[0] != 0 || f(a[1])
            || f(a[2]))
        return 1;
    return 0;
}
";

/// An operator that begins a line belongs to the operand in front of it.
#[test]
fn conditions_over_lines_have_their_own_counts() {
    let place = Place::new("lines");
    let file = place.file("any.c", LINES);
    let report = place.file(
        "any.gcov",
        "        -:    0:Source:any.c
function any called 7 returned 100% blocks executed 80%
        7:    1:int any(const int *a, int (*f)(int))
        7:    3:    if (a[0] != 0 || f(a[1])
branch  0 taken 2
branch  1 taken 5 (fallthrough)
branch  2 taken 5
branch  3 taken 0 (fallthrough)
        0:    4:            || f(a[2]))
branch  0 never executed
branch  1 never executed
        7:    5:        return 1;
    #####:    6:    return 0;
",
    );
    let imported = lockstep(&["profile", "import", &file, "--gcov", &report, "--no-config"]);
    let said = errors(&imported);
    assert!(
        imported.status.success() && !said.contains("contradict"),
        "{said}"
    );
    let words = text(&lockstep(&["paths", &file, "--no-config"]));
    assert!(words.contains("7 entries by lanes"), "{words}");
}
