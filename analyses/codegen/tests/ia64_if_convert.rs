//! If-conversion of branches outside of loops on IA-64: the worked examples of Bratt, Settle and Connors, by
//! the code and by execution, and the branches that stay.

use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_codegen::machine;
use lockstep_codegen::predicate::hammocks::Kept;
use lockstep_codegen::target::ia64::emit::{Emitted, Options, emit};
use simulate::ia64::{Arg, Limits, Memory, Outcome, Program, run};
use syntax::c_family::{Dialect, parse_text};

/// The code of `f`; with `convert` of all branches that gain, else of those that the text asks for.
fn emitted(text: &str, convert: bool) -> Emitted {
    let items = parse_text(text, Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(Language::C));
    let mut all = all.into_iter().map(|(_, lowered)| lowered);
    let lowered = all.find(|lowered| lowered.module.functions[0].name == "f");
    let lowered = lowered.expect("the function");
    let table = machine::named("itanium2").expect("a table");
    let options = Options {
        convert,
        ..Options::default()
    };
    emit(&lowered.module, table.epic().expect("groups"), &options).expect("code")
}

fn ran(text: &str, arguments: &[Arg], memory: &mut Memory) -> Outcome {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{text}");
    let outcome = run(&program, "f", arguments, memory, &Limits::default());
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(outcome.violations, [], "{text}");
    outcome
}

fn branches(code: &Emitted) -> usize {
    code.text.matches("br.cond").count()
}

/// Figure 4: two diamonds, whose compares stand in one group.
const DIAMONDS: &str = "long f(long c1, long c2, long r1, long r2) {
    if (c1 > 0) r1++; else r1--;
    if (c2 > 0) r2++; else r2--;
    return r1 * 1000 + r2;
}";

#[test]
fn diamonds_become_compares_of_one_group() {
    let (before, after) = (emitted(DIAMONDS, false), emitted(DIAMONDS, true));
    assert_eq!(
        (branches(&before), branches(&after)),
        (4, 0),
        "{}",
        after.text
    );
    assert_eq!(after.functions[0].conversions.made.len(), 2);
    let first = after.text.split(";;").next().expect("a group");
    assert_eq!(first.matches("cmp.gt").count(), 2, "{}", after.text);
    assert_eq!(after.text.matches("\t(p").count(), 2, "{}", after.text);
    for (c1, c2) in [(1, 1), (1, 0), (0, 1), (0, 0)] {
        let arguments = [c1, c2, 5, 7].map(Arg::Integer);
        let results = [&before, &after].map(|code| ran(&code.text, &arguments, &mut Memory::new()));
        let step = |c| if c > 0 { 1 } else { -1i64 };
        let expected = (5 + step(c1)) * 1000 + 7 + step(c2);
        assert_eq!(
            results.each_ref().map(|ran| ran.result),
            [Some(expected as u64); 2]
        );
        assert!(results[1].cycles <= results[0].cycles);
    }
}

/// Figure 7: a load that its branch guards is executed where the guard is true, and only there: the address is none elsewhere.
const GUARDED: &str = "int f(long r1, const int *r2, int r4) {
    r2++;
#pragma lockstep if_convert
    if (r1 != 0) {
        r4 = *r2;
        r4++;
    }
    return r4;
}";

#[test]
fn a_guarded_load_is_executed_where_its_guard_is_true() {
    let code = emitted(GUARDED, false);
    assert_eq!(branches(&code), 0, "{}", code.text);
    // Where nobody asks for it, the load would be waited for on the way that does without it.
    let plain = GUARDED.replace("#pragma lockstep if_convert\n", "");
    assert_eq!(branches(&emitted(&plain, true)), 1);
    assert!(code.text.contains(") ld4 "), "{}", code.text);
    let mut memory = Memory::new();
    let at = memory.place(&[0, 0, 0, 0, 41, 0, 0, 0]).expect("room");
    let loaded = ran(
        &code.text,
        &[Arg::Integer(1), Arg::Integer(at), Arg::Integer(9)],
        &mut memory,
    );
    assert_eq!(loaded.result, Some(42));
    // Nothing lies there.
    let skipped = [0, 8, 9].map(Arg::Integer);
    assert_eq!(
        ran(&code.text, &skipped, &mut Memory::new()).result,
        Some(9)
    );
}

#[test]
fn a_line_above_an_if_asks_for_one_branch() {
    let asked = DIAMONDS.replace("    if (c2", "#pragma lockstep if_convert\n    if (c2");
    let code = emitted(&asked, false);
    assert_eq!(
        (branches(&code), code.functions[0].conversions.made.len()),
        (2, 1)
    );
    assert!(code.functions[0].conversions.made[0].asked);
    let nested = "long f(long a, long b, long *p) {
#pragma lockstep if_convert
    if (a > b) {
        if (a > 10) { p[0] = a; } else { p[1] = b; }
        p[2] = a;
    }
    return p[0];
}";
    // An inner branch stays where nothing asks for it, and then the outer one does.
    let code = emitted(nested, false);
    assert_eq!(
        code.functions[0].conversions.kept.len(),
        1,
        "{:?}",
        code.functions[0]
    );
    assert_eq!(branches(&emitted(nested, true)), 0);
}

#[test]
fn inner_branches_come_first_wherever_they_stand() {
    let nest = "int f(int a, int b, int s) {
    int x;
    if (a) {
        if (b) x = s + 1; else x = s - 2;
    } else {
        x = s * 3;
    }
    return x ^ s;
}";
    let asked = nest.replace("if (", "\n#pragma lockstep if_convert\n    if (");
    let code = emitted(&asked, false);
    assert_eq!(code.functions[0].conversions.kept, [], "{}", code.text);
    assert_eq!(branches(&code), 0, "{}", code.text);
    for (a, b, expected) in [(1, 1, 8u64 ^ 7), (1, 0, 5 ^ 7), (0, 1, 21 ^ 7)] {
        let arguments = [a, b, 7].map(Arg::Integer);
        let found = ran(&code.text, &arguments, &mut Memory::new()).result;
        assert_eq!(found, Some(expected), "{}", code.text);
    }
}

/// A side that leaves for elsewhere, in the manner of the paper's Figure 2: `return` from within one side, and a way out of the loop
/// from the other.
const REGION: &str = "long f(const long *p, long n, long a, long c) {
    long s = 0;
    for (long i = 0; i < n; i++) {
        long x = p[i];
#pragma lockstep if_convert
        if (x > a) {
            s += x;
            if (s > c)
                return -s;
            s ^= 5;
            if (x == 77)
                return i;
            s += 2;
        } else {
            s -= 3;
            if (x == -8)
                break;
            s <<= 1;
        }
        s += i;
    }
    return s * 2 + 1;
}";

#[test]
fn branches_that_leave_a_side_stay_at_its_end_under_its_predicates() {
    let code = emitted(REGION, false);
    let made = &code.functions[0].conversions.made;
    let [region] = made.as_slice() else {
        panic!("{:?}\n{}", code.functions[0].conversions, code.text);
    };
    assert_eq!((region.exits, region.asked), (3, true), "{}", code.text);
    // As late as possible: behind all of the operations, one behind the other.
    let lines: Vec<&str> = code.text.lines().map(str::trim).collect();
    let first = lines
        .iter()
        .position(|line| line.contains(".unc"))
        .expect("a compare of a side");
    let exits: Vec<usize> = (first..lines.len())
        .filter(|&at| lines[at].starts_with('(') && lines[at].contains("br.cond"))
        .take(3)
        .collect();
    let between = &lines[exits[0]..exits[2]];
    let computes = |line: &&&str| {
        ["add", "sub", "xor", "shl"]
            .iter()
            .any(|it| line.contains(it))
    };
    assert_eq!(between.iter().filter(computes).count(), 0, "{}", code.text);
    let oracle = |p: &[i64], a: i64, c: i64| {
        let mut s = 0i64;
        for (i, &x) in p.iter().enumerate() {
            if x > a {
                s += x;
                if s > c {
                    return -s;
                }
                s ^= 5;
                if x == 77 {
                    return i as i64;
                }
                s += 2;
            } else {
                s -= 3;
                if x == -8 {
                    break;
                }
                s <<= 1;
            }
            s += i as i64;
        }
        s * 2 + 1
    };
    for (p, a, c) in [
        (&[1i64, 9, 3, 12, 2][..], 2, 1000),
        (&[1, 9, 3, 12, 2], 2, 20),
        (&[5, 77, 3, 12], 2, 1000),
        (&[5, 6, -8, 12], 2, 1000),
        (&[], 0, 0),
    ] {
        let bytes: Vec<u8> = p.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut memory = Memory::new();
        let at = memory.place(&bytes).expect("room");
        let arguments = [at, p.len() as u64, a as u64, c as u64].map(Arg::Integer);
        let found = ran(&code.text, &arguments, &mut memory).result;
        assert_eq!(found, Some(oracle(p, a, c) as u64), "{p:?}\n{}", code.text);
    }
}

#[test]
fn calls_and_ways_out_stay_branches() {
    let reason = |text: &str| {
        let text = text.replace("if (a", "\n#pragma lockstep if_convert\n    if (a");
        let code = emitted(&text, false);
        code.functions[0]
            .conversions
            .kept
            .first()
            .map(|kept| kept.1)
    };
    let call = "int g(int x); int f(int a) { if (a > 3) { a = g(a); } return a; }";
    assert_eq!(reason(call), Some(Kept::Branch));
    let divides = "int f(int a, int b) { int x = 1; if (a > 3) { x = b / a; } return x; }";
    assert_eq!(reason(divides), Some(Kept::Approximates));
    let out = "int f(int a, int *p) { if (a > 3) { p[0] = 1; return 2; } p[1] = 3; return a; }";
    assert_eq!(reason(out), Some(Kept::Shape));
    let large: String = (0..40).map(|at| format!("p[{at}] = a * {at}; ")).collect();
    let large = format!("int f(int a, int *p) {{ if (a > 3) {{ {large} }} return a; }}");
    assert!(matches!(
        reason(&large),
        Some(Kept::Large { operations: 40.. })
    ));
}
