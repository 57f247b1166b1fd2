//! The checker of edits of loops: the results of actions are accepted, and a result that is spoilt by hand is
//! refused by the rule that it breaks.

#[path = "support/c_file.rs"]
mod c_file;

use c_file::CFile;
use lockstep_codegen::loops::check::{Compared, Effect, Violation, promised, rewritten};
use lockstep_codegen::loops::{Edit, conditional_at, loop_at, promise, unrolled};
use smol_str::SmolStr;
use syntax::Span;

fn edited(text: &str, edits: &[Edit]) -> String {
    let mut out = text.to_owned();
    for (span, new) in edits.iter().rev() {
        out.replace_range(span.start as usize..span.end as usize, new);
    }
    out
}

/// The verdict on an edit that is spoilt in some way.
fn judged(text: &str, edit: &Edit, spoil: &dyn Fn(&str) -> String) -> Result<Compared, Violation> {
    let edit = (edit.0, spoil(&edit.1));
    let after = CFile::new(&edited(text, std::slice::from_ref(&edit)));
    let before = CFile::new(text);
    let compared = rewritten(&before.side(), &after.side(), &edit)?;
    Ok(compared.expect(text))
}

fn unroll(text: &str, times: u32) -> Edit {
    let file = CFile::new(text);
    let statement = loop_at(file.function(), file.at("for (")).expect("a loop");
    unrolled(&file.source(), file.function(), statement, times).expect(text)
}

fn convert(text: &str) -> Edit {
    let file = CFile::new(text);
    let found = conditional_at(&file.source(), file.function(), file.at("if ("));
    found.expect("an if in a loop").1.expect(text).edit
}

/// Returns the reason why an edit is refused that is accepted as it is, with this in the place of that.
fn refused(text: &str, edit: &Edit, from: &str, to: &str) -> Violation {
    assert!(edit.1.contains(from), "no {from} in {}", edit.1);
    if let Err(why) = judged(text, edit, &str::to_owned) {
        panic!("{why}\n{text}\n{}", edit.1);
    }
    let spoilt = judged(text, edit, &|new| new.replacen(from, to, 1));
    spoilt.expect_err(&edit.1.replacen(from, to, 1))
}

const SUM: &str = "long f(long n, const long *a) {\n  long s = 0;\n  for (long i = 0; i < n; i++) {\n    s += a[i]; // each\n  }\n  return s;\n}\n";

fn with_loop(parameters: &str, head: &str, body: &str) -> String {
    format!(
        "int g(int);\nlong f({parameters}) {{\n  long s = 0, t = 1;\n  {head} {{\n    {body}\n  }}\n  return s + t;\n}}\n"
    )
}

#[test]
fn what_the_actions_write_is_proven() {
    for times in [2, 3, 4, 7] {
        let compared = judged(SUM, &unroll(SUM, times), &str::to_owned);
        // The entry, and the loop with each of both.
        assert_eq!(compared.map(|it| it.cuts), Ok(3));
    }
    let parameters = "long n, int m, unsigned w, unsigned long q, long *a, int *y, volatile int *v";
    let heads = [
        "for (long i = 0; i < n; i++)",
        "for (int i = 0; i < m; i++)",
        "for (int i = 0; i < 9; i++)",
        "for (unsigned i = 0; i < w; i++)",
        "for (unsigned long i = 0; i < q; i++)",
        "for (int i = 0; i < n; i++)",
        "for (long i = 0; i < m; i++)",
        "for (unsigned long i = 0; i < m; i++)",
    ];
    let bodies = [
        "s += a[i];",
        "a[i] = s; s += i;",
        "y[i] = *v; *v = i;",
        "s += g(i);",
        "long k[2] = {i, t}; s += k[s & 1]; t ^= s;",
        "if (a[i] > t) { t = a[i]; y[i] = 3; } else if (y[i]) t = g(3);",
        "if (a[i] > 9) return s;",
        "s += t / a[i];",
    ];
    for head in heads {
        for body in bodies {
            let text = with_loop(parameters, head, body);
            let edit = unroll(&text, 2);
            if let Err(why) = judged(&text, &edit, &str::to_owned) {
                panic!("{why}\n{text}\n{}", edit.1);
            }
        }
    }
    for body in [
        "if (a[i] > t) t = a[i];",
        "if (y[i] > 0) t++; else s -= y[i];",
        "if (y[i] < 0) y[i] = -y[i]; else y[i] = m;",
        "if (a[i] && y[i] > 2) { t = y[i] * 3; s = 7; }",
        "if (a[i]) t = s / a[i];",
        "if (a[i]) { m = a[i]; } w += m;",
        "if (w > 3) w = -1; else w = m;",
        "if (a[i] > t) t = a[i]; *v = t; if_done: ;",
    ] {
        let text = with_loop(parameters, "for (long i = 0; i < n; i++)", body);
        let edit = convert(&text);
        if let Err(why) = judged(&text, &edit, &str::to_owned) {
            panic!("{why}\n{text}\n{}", edit.1);
        }
    }
}

#[test]
fn a_spoilt_repetition_is_refused() {
    let edit = unroll(SUM, 3);
    for (from, to, why) in [
        // One iteration too many, with and without a load that was there.
        ("n - 2", "n - 1", Violation::Exit),
        ("n > 2 ? n - 2 : 0", "n", Violation::Exit),
        ("i++;\n", "\n", Violation::Value),
        ("i++;\n", "i += 2;\n", Violation::Value),
        ("long i = 0", "long i = 1", Violation::Value),
        ("s += a[i];", "s += a[i + 1];", Violation::Value),
        (
            "s += a[i];",
            "long q = a[n]; s += i < 0 ? q : a[i];",
            Violation::Load,
        ),
        // The largest number and five overflow.
        ("n > 2 ?", "n + 5 > 7 ?", Violation::Overflow),
        (
            "n > 2 ? n - 2 : 0",
            "n - 2 > 0 ? n - 2 : 0",
            Violation::Exit,
        ),
    ] {
        assert_eq!(refused(SUM, &edit, from, to), why, "{from} -> {to}");
    }
    let stores = with_loop(
        "long n, long *a, volatile int *v",
        "for (long i = 0; i < n; i++)",
        "a[i] = t; t += *v; g(2);",
    );
    let edit = unroll(&stores, 2);
    for (from, to, before, after) in [
        (
            "a[i] = t;",
            "a[i] = t; a[0] = t;",
            Effect::VolatileLoad,
            Effect::Store,
        ),
        ("t += *v;", "", Effect::VolatileLoad, Effect::Call),
        ("a[i] = t;", "a[i] = t + 1;", Effect::Store, Effect::Store),
        ("a[i] = t;", "g(3);", Effect::Store, Effect::Call),
    ] {
        let expected = Violation::Effect { before, after };
        assert_eq!(
            refused(&stores, &edit, from, to),
            expected,
            "{from} -> {to}"
        );
    }
}

#[test]
fn a_spoilt_condition_is_refused() {
    let head = "for (long i = 0; i < n; i++)";
    let parameters = "long n, const long *a, long *y, float *x";
    let largest = with_loop(parameters, head, "if (a[i] > t) t = a[i];");
    let edit = convert(&largest);
    for (from, to) in [
        (">", ">="),
        (": t", ": s"),
        ("? a[i] : t", "? t : a[i]"),
        ("? a[i]", "? (int)a[i]"),
    ] {
        // `>=` chooses an equal value, and is only not proven.
        assert_eq!(
            refused(&largest, &edit, from, to),
            Violation::Value,
            "{from}"
        );
    }
    let why = refused(&largest, &edit, "a[i] : t", "a[i] : t + a[n] * 0");
    assert_eq!(why, Violation::Value);
    let guarded = with_loop(parameters, head, "if (s) s = a[s];");
    let why = refused(
        &guarded,
        &convert(&guarded),
        "s = s ? a[s] : s",
        "long q = a[s]; s = s ? q : s",
    );
    assert_eq!(why, Violation::Load);
    let divided = with_loop(parameters, head, "if (s) s = n / s;");
    let why = refused(
        &divided,
        &convert(&divided),
        "s = s ? n / s : s",
        "long q = n / s; s = s ? q : s",
    );
    assert_eq!(why, Violation::Division);
    let stored = with_loop(parameters, head, "if (t > i) y[i] = t; else y[i] = s;");
    let edit = convert(&stored);
    let why = refused(&stored, &edit, "y[i]", "y[0] = 1; y[i]");
    let expected = Violation::Effect {
        before: Effect::Store,
        after: Effect::Store,
    };
    assert_eq!(why, expected);
    let why = refused(&stored, &edit, "y[i] = ", "s = ");
    let expected = Violation::Effect {
        before: Effect::Store,
        after: Effect::Nothing,
    };
    assert_eq!(why, expected);
    // A store that one way alone makes.
    let single = with_loop(parameters, head, "if (t > i) y[i] = 3;");
    let at = single.find("if (t").expect("it") as u32;
    let end = at + "if (t > i) y[i] = 3;".len() as u32;
    let edit = (Span::new(at, end), "y[i] = t > i ? 3 : y[i];".to_owned());
    let why = judged(&single, &edit, &str::to_owned).expect_err("a store");
    let expected = Violation::Effect {
        before: Effect::Nothing,
        after: Effect::Store,
    };
    assert_eq!(why, expected);
}

#[test]
fn text_that_is_lost_or_misread_is_refused() {
    let edit = unroll(SUM, 2);
    let why = refused(SUM, &edit, "// each", "");
    assert_eq!(why, Violation::Comment("// each".into()));
    let why = refused(SUM, &edit, "s += a[i]; // each", "s += b[i]; // each");
    assert!(matches!(why, Violation::Problem(_)), "{why}");
    let why = refused(SUM, &edit, "{\n", "{\n#pragma GCC ivdep\n");
    assert_eq!(why, Violation::Directive);
    let why = refused(SUM, &edit, "s += a[i]; // each", "s += a[i]; // each /*");
    assert!(matches!(why, Violation::Comment(_)), "{why}");
    let behind = judged(SUM, &edit, &|new| format!("{new} /*"));
    assert!(matches!(behind, Err(Violation::Outside(_))), "{behind:?}");
    let glued = judged(
        SUM,
        &(Span::new(edit.0.start + 1, edit.0.end), edit.1.clone()),
        &str::to_owned,
    );
    assert!(matches!(glued, Err(Violation::Outside(_))), "{glued:?}");
    let (before, after) = (
        CFile::new(SUM),
        CFile::new(&edited(SUM, std::slice::from_ref(&edit)).replace("return s", "return 0")),
    );
    let elsewhere = rewritten(&before.side(), &after.side(), &edit);
    assert!(
        matches!(elsewhere, Err(Violation::Outside(_))),
        "{elsewhere:?}"
    );
    let beyond = (Span::new(3, 4000), String::new());
    let why = rewritten(&before.side(), &after.side(), &beyond);
    assert_eq!(why, Err(Violation::Range));
    let renamed = judged(SUM, &(Span::new(5, 6), "struct".into()), &str::to_owned);
    assert!(
        matches!(renamed, Err(Violation::Problem(_) | Violation::Item)),
        "{renamed:?}"
    );
}

const SAXPY: &str = "int sum(int n, const int *p) { int s = 0; while (n--) s += p[n]; return s; }\nvoid f(long n, double *y, const double *x, int w[]) {\n  for (long i = 0; i < n; i++) y[i] = w[i] * x[i];\n}\n";

/// The verdict on promises, with other edits or names than were given.
fn restricted(spoil: &dyn Fn(&mut Vec<Edit>, &mut Vec<SmolStr>)) -> Result<(), Violation> {
    let before = CFile::new(SAXPY);
    let place = |part: &str| Span::new(before.at(part), before.at(part) + part.len() as u32);
    let pairs = [
        (place("y[i]"), place("x[i]")),
        (place("y[i]"), place("w[i]")),
    ];
    let found = promise(&before.source(), before.function(), &pairs).expect("a promise");
    let (mut edits, mut parameters) = (found.edits, found.parameters);
    edits.sort_by_key(|edit| edit.0);
    assert_eq!(parameters, ["y", "x", "w"]);
    spoil(&mut edits, &mut parameters);
    let after = CFile::new(&edited(SAXPY, &edits));
    promised(&before.side(), &after.side(), &edits, &parameters)
}

#[test]
fn a_spoilt_promise_is_refused() {
    assert_eq!(restricted(&|_, _| {}), Ok(()));
    let why = restricted(&|edits, _| edits[0].1 = "const ".into());
    assert_eq!(why, Err(Violation::Word("const ".into())));
    let why = restricted(&|edits, _| edits[0].1 = "restrict z, double *".into());
    assert!(matches!(why, Err(Violation::Word(_))), "{why:?}");
    let why = restricted(&|edits, _| edits[0].0.end += 1);
    assert_eq!(why, Err(Violation::Word("y".into())));
    let why = restricted(&|edits, _| drop(edits.pop()));
    assert!(matches!(why, Err(Violation::Unpromised(_))), "{why:?}");
    // Another parameter than is told.
    let why = restricted(&|_, parameters| parameters[2] = "n".into());
    assert!(matches!(why, Err(Violation::Unpromised(_))), "{why:?}");
    let why = restricted(&|edits, parameters| {
        parameters.pop();
        edits.remove(0);
    });
    assert!(
        matches!(why, Err(Violation::Unpromised(_) | Violation::Parameter(_))),
        "{why:?}"
    );
    // The pointer of another function.
    let elsewhere = SAXPY.find("p) {").expect("it") as u32;
    let why = restricted(&|edits, _| edits[0].0 = Span::at(elsewhere));
    assert!(matches!(why, Err(Violation::Unpromised(_))), "{why:?}");
}

#[test]
fn a_new_promise_about_iterations_is_refused() {
    let edit = unroll(SUM, 2);
    let before = CFile::new(SUM);
    let mut after = CFile::new(&edited(SUM, std::slice::from_ref(&edit)));
    for each in &mut after.lowered[0].module.functions[0].loops {
        each.independent = true;
    }
    let why = rewritten(&before.side(), &after.side(), &edit);
    assert_eq!(why, Err(Violation::Independent));
}

#[test]
fn ir_that_changes_by_more_than_the_promise_is_refused() {
    let before = CFile::new(SAXPY);
    let at = SAXPY.find("y, const").expect("it") as u32;
    let edits = [(Span::at(at), "restrict ".to_owned())];
    let mut after = CFile::new(&edited(SAXPY, &edits));
    let judge = |after: &CFile| promised(&before.side(), &after.side(), &edits, &["y".into()]);
    assert_eq!(judge(&after), Ok(()));
    let function = &mut after.lowered[0].module.functions[0];
    function.parameters[2].no_alias = true;
    assert_eq!(judge(&after), Err(Violation::Ir("f".into())));
    let function = &mut after.lowered[0].module.functions[0];
    function.parameters[2].no_alias = false;
    function.loops[0].independent = true;
    assert_eq!(judge(&after), Err(Violation::Ir("f".into())));
}
