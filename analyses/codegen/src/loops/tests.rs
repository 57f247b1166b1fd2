#[path = "../../tests/support/c_file.rs"]
mod c_file;

use super::*;
use c_file::CFile;

/// The last item of a text, with its lowered form.
fn with<T>(text: &str, then: impl FnOnce(&Source<'_>, &Function) -> T) -> T {
    let file = CFile::new(text);
    then(&file.source(), file.function())
}

fn edited(text: &str, edit: &Edit) -> String {
    let (start, end) = (edit.0.start as usize, edit.0.end as usize);
    format!("{}{}{}", &text[..start], edit.1, &text[end..])
}

/// The text of the `if` at `if`, converted.
fn converted(text: &str) -> Result<String, Refusal> {
    with(text, |source, function| {
        let at = text.find("if").expect("an if") as u32 - source.start;
        let (_, found) = conditional_at(source, function, at).expect("an if in a loop");
        Ok(edited(text, &found?.edit))
    })
}

fn of_body(parameters: &str, body: &str) -> String {
    format!("void f(long n, {parameters}) {{ for (long i = 0; i < n; i++) {{ {body} }} }}")
}

#[test]
fn ways_that_set_variables_become_values() {
    let conversions = [
        (
            "long m, long *a",
            "if (a[i] > m) m = a[i];",
            "m = a[i] > m ? a[i] : m;",
        ),
        ("int c, int *a", "if (a[i]) c++;", "c = a[i] ? c + 1 : c;"),
        (
            "int c, int *a",
            "if (a[i]) c -= a[i] & 3;",
            "c = a[i] ? c - (a[i] & 3) : c;",
        ),
        // A double beside a long would take its last bits away.
        (
            "long m, double *a",
            "if (a[i] > 0) m = a[i];",
            "m = a[i] > 0 ? (long)a[i] : m;",
        ),
        (
            "float s, double *a",
            "if (a[i] > 0) s = a[i] * 2;",
            "s = a[i] > 0 ? a[i] * 2 : s;",
        ),
        (
            "int *y, int x",
            "if (x < 0) y[i] = -x; else y[i] = x;",
            "y[i] = x < 0 ? -x : x;",
        ),
        (
            "int x, int y, int *a",
            "if (a[i]) x = 1; else y = 2;",
            "x = a[i] ? 1 : x;\ny = a[i] ? y : 2;",
        ),
        (
            "double x, int y, float *a",
            "if (y) x = y; else x = a[i];",
            "x = y ? (double)y : (double)a[i];",
        ),
        (
            "int x, int *a",
            "if (a[i]) /* kept */ x = 1;",
            "/* kept */\nx = a[i] ? 1 : x;",
        ),
    ];
    for (parameters, from, to) in conversions {
        let expected = of_body(parameters, to);
        assert_eq!(
            converted(&of_body(parameters, from)).as_ref(),
            Ok(&expected)
        );
    }
}

#[test]
fn what_would_not_mean_the_same_stays() {
    let refusals = [
        ("int *y, int x", "if (x) y[i] = x;", Refusal::OneStore),
        (
            "int *y, long *z, int x",
            "if (x) y[i] = x; else z[i] = x;",
            Refusal::Places,
        ),
        (
            "long *y, unsigned u, int x",
            "if (x) y[i] = u; else y[i] = x;",
            Refusal::Types,
        ),
        (
            "int x, int *a",
            "if (a[i]) break;",
            Refusal::Statement("a jump"),
        ),
        (
            "int x, int *a",
            "if (a[i]++) x = 1;",
            Refusal::Effects("a count"),
        ),
        (
            "int x, int *a",
            "if (a[i]) x = g(1);",
            Refusal::Effects("a call"),
        ),
        (
            "int x, int y",
            "if (x) { x = 0; y = 1; }",
            Refusal::Reads("x".into()),
        ),
        (
            "int y, int *a",
            "int x; if (a[i]) x = 1; y = x;",
            Refusal::NoValue("x".into()),
        ),
        (
            "volatile int x, int *a",
            "if (a[i]) x = 1;",
            Refusal::Escapes("x".into()),
        ),
    ];
    for (parameters, from, why) in refusals {
        assert_eq!(converted(&of_body(parameters, from)), Err(why), "{from}");
    }
    let text =
        "#define TEST(c) if (c) x = 1;\nvoid f(int x, int n) { while (n--) { TEST(n > 3) } }";
    let found = with(text, |source, function| {
        let at = text.rfind("TEST").expect("it") as u32 - source.start;
        conditional_at(source, function, at).map(|(_, found)| found.map(|it| it.edit))
    });
    assert_eq!(found, Some(Err(Refusal::Macro)));
}

fn promised(text: &str, store: &str, other: &str) -> Result<String, Refusal> {
    with(text, |source, function| {
        let place = |part: &str| {
            let at = text.rfind(part).expect("it") as u32 - source.start;
            Span::new(at, at + part.len() as u32)
        };
        let found = promise(source, function, &[(place(store), place(other))])?;
        let mut out = text.to_owned();
        for edit in found.edits.iter().rev() {
            out = edited(&out, edit);
        }
        Ok(out)
    })
}

#[test]
fn pointers_that_a_store_and_an_access_start_from_get_restrict() {
    let text = "void f(long n, double *y, const double *x) { for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }";
    assert_eq!(
        promised(text, "y[i]", "x[i]"),
        Ok(text
            .replace("*y,", "*restrict y,")
            .replace("*x)", "*restrict x)"))
    );
    let walked = "void f(char to[], const char *from) { char *p = to; while (*from) { *p = *from++; p++; } }";
    assert_eq!(
        promised(walked, "*p", "*from++"),
        Ok(walked
            .replace("to[]", "to[restrict]")
            .replace("char *from)", "char *restrict from)"))
    );
    let source = "void f(int n, int *a, int *k) { for (int i = 0; i < n; i++) a[k[i]] = a[i]; }";
    assert_eq!(
        promised(source, "a[k[i]]", "a[i]"),
        Err(Refusal::SamePointer("a".into()))
    );
    let called =
        "int *g(void); void f(int n, int *a) { for (int i = 0; i < n; i++) g()[i] = a[i]; }";
    assert_eq!(
        promised(called, "g()[i]", "a[i]"),
        Err(Refusal::NoParameter)
    );
}

#[test]
fn lines_above_a_loop_are_added_changed_and_taken_out() {
    let text =
        "int f(const char *s) {\n  int n = 0;\n  if (s)\n    while (s[n]) n++;\n  return n;\n}\n";
    let ask = |text: &str, line: &str| {
        with(text, |source, function| {
            let at = text.find("while").expect("it") as u32 - source.start;
            let statement = loop_at(function, at).expect("a loop");
            let edit = with_pragma(source, statement, Pragma::Pipeline, line).expect("an edit");
            edited(text, &edit)
        })
    };
    let asked = ask(text, "#pragma lockstep pipeline(or_andcm)");
    assert_eq!(
        asked,
        text.replace(
            "    while",
            "    #pragma lockstep pipeline(or_andcm)\n    while"
        )
    );
    let again = ask(&asked, "#pragma lockstep pipeline(none)");
    assert_eq!(again, asked.replace("or_andcm", "none"));
    let removed = with(&again, |source, function| {
        let at = again.find("while").expect("it") as u32 - source.start;
        let statement = loop_at(function, at).expect("a loop");
        let known = pragma_of(statement, Pragma::Pipeline).expect("the line");
        edited(&again, &without_pragma(source, known).expect("an edit"))
    });
    assert_eq!(removed, text);
    let beside = "int f(int n) { int k = 0; while (k < n) k++; return k; }";
    assert_eq!(
        ask(beside, "#pragma lockstep pipeline(none)"),
        "int f(int n) { int k = 0;\n#pragma lockstep pipeline(none)\n  while (k < n) k++; return k; }"
    );
}

#[test]
fn a_body_is_repeated_and_what_remains_is_the_loop() {
    let text = "long f(long n, const long *a) {\n  long s = 0;\n  for (long i = 0; i < n; i++)\n    s += a[i];\n  return s;\n}\n";
    let times = |text: &str, times| {
        with(text, |source, function| {
            let at = text.find("for (").expect("it") as u32 - source.start;
            let statement = loop_at(function, at).expect("a loop");
            Ok(edited(text, &unrolled(source, function, statement, times)?))
        })
    };
    let expected = "long f(long n, const long *a) {\n  long s = 0;\n  {\n    long i = 0;\n    for (; i < (n > 1 ? n - 1 : 0); i++) {\n      s += a[i];\n      i++;\n      s += a[i];\n    }\n    for (; i < n; i++)\n      s += a[i];\n  }\n  return s;\n}\n";
    assert_eq!(times(text, 2).as_deref(), Ok(expected));
    let wide = text
        .replace("\n  ", "\n    ")
        .replace("\n      s", "\n        s");
    let deeper = expected.replace("  ", "    ");
    assert_eq!(times(&wide, 2).as_deref(), Ok(deeper.as_str()));
    let commented = text
        .replace("\n    s +=", " {\n    /* one\n       two */\n    s +=")
        .replace("a[i];\n", "a[i];\n  }\n");
    let changed = times(&commented, 2).expect("an edit");
    assert!(
        changed.contains("{\n      /* one\n         two */\n      s += a[i];\n    }"),
        "{changed}"
    );
    let refusals = [
        ("i < n;", "i <= n;", Refusal::NotCounted),
        ("long i = 0", "long i = 1", Refusal::NotCounted),
        ("s += a[i]", "s += a[i++]", Refusal::NotCounted),
        ("s += a[i]", "{ n--; s += a[i]; }", Refusal::NotCounted),
        (
            "s += a[i]",
            "{ if (s) break; s += a[i]; }",
            Refusal::Repeated("a `break`"),
        ),
    ];
    for (from, to, why) in refusals {
        assert_eq!(times(&text.replace(from, to), 2), Err(why), "{to}");
    }
}
