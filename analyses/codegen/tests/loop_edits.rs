//! Edits of loops in C: a rewritten loop computes the same, and one that is not rewritten has the reason that
//! stands beside it.

#[path = "support/c_file.rs"]
mod c_file;
#[path = "loop_edits/generate.rs"]
mod generate;
#[path = "loop_edits/random.rs"]
mod random;

use c_file::CFile;
use ir::Module;
use lockstep_codegen::loops::{Refusal, conditional_at, loop_at, unrolled};
use lockstep_codegen::specialize::source::Source;
use oracle::interp::{self, Argument, Launch};
use syntax::c_family::ast::Function;

/// The last item of a text, with its lowered form.
fn with<T>(text: &str, then: impl FnOnce(&Source<'_>, &Function) -> T) -> T {
    let file = CFile::new(text);
    let problems = &file.item.problems;
    assert!(problems.is_empty(), "{text}: {problems:?}");
    then(&file.source(), file.function())
}

fn module(text: &str) -> Module {
    let file = CFile::new(text);
    let problems = &file.item.problems;
    assert!(problems.is_empty(), "{text}: {problems:?}");
    let lowered = file.lowered.into_iter().last().expect("a function");
    assert!(lowered.module.functions[0].unknowns.is_empty(), "{text}");
    lowered.module
}

/// Returns the results of a function of `n` for some numbers.
fn results(text: &str) -> Vec<i64> {
    let module = module(text);
    let of = |n: i64| {
        let mut launch = Launch::new(1);
        launch.parameters = vec![Argument::Bits(n as u64)];
        let outcome = interp::run(&module, &launch);
        assert!(outcome.error.is_none(), "{text}: {:?}", outcome.error);
        outcome.returned[0][0] as i64
    };
    [-1, 0, 1, 2, 3, 4, 5, 7, 8, 13].map(of).to_vec()
}

const HEAD: &str = "long f(long n) { long a[16], b[16], s = 0, t = 3; double d = 1.5; int k = 5; unsigned u = 7; for (int j = 0; j < 16; j++) { a[j] = j * 7 % 11 - 4; b[j] = j; }\n";
const TAIL: &str = "\n for (int j = 0; j < 16; j++) s = s * 3 + a[j] + b[j] * 5; return s + t * 7 + (long)(d * 64) + k * 11 + u * 13; }\n";

fn unroll(head: &str, body: &str, times: u32) -> Result<(String, String), Refusal> {
    let text = format!("{HEAD}{head}\n    {body}{TAIL}");
    let found = with(&text, |source, function| {
        let at = (HEAD.len() + head.find("for").expect("a loop")) as u32;
        let statement = loop_at(function, at - source.start).expect("a loop");
        unrolled(source, function, statement, times)
    })?;
    let (span, new) = found;
    let mut out = text.clone();
    out.replace_range(span.start as usize..span.end as usize, &new);
    Ok((text, out))
}

#[test]
fn repeated_bodies_compute_what_one_did() {
    let heads = [
        "for (long i = 0; i < n; i++)",
        "for (int i = 0; i < 9; ++i)",
        "for (long i = 0; (i) < n; i += 1)",
        "long i; for (i = 0; i < n; (i)++)",
        "for (int i = 0; i < 0; i++)",
    ];
    let bodies = [
        "s += i;",
        "{ s = s * 3 + a[i]; a[i] = t; t ^= s; }",
        "{ long q = a[i] * 2; if (q > 3) s += q; else s -= i; }",
        "{\n      // a comment\n      s += b[i];\n\n      t += s; /* another */\n    }",
        "{ }",
        ";",
        "if (a[i] > 2) { s += a[i]; t--; }",
        "{ struct pair { long x, y; } p = {i, t}; s += p.x * p.y; }",
        "{ d = d * 0.5 + a[i]; k = k > 3 ? k - 1 : k + i; u += k; }",
    ];
    for head in heads {
        for body in bodies {
            for times in [2, 3, 4] {
                let (before, after) = match unroll(head, body, times) {
                    Ok(texts) => texts,
                    Err(refusal) => panic!("{head} {body}: {refusal}"),
                };
                assert_ne!(before, after);
                assert_eq!(results(&after), results(&before), "{after}");
            }
        }
    }
    // Lines end as they did.
    let text =
        format!("{HEAD}for (long i = 0; i < n; i++) {{\n  s += i;\n}}{TAIL}").replace('\n', "\r\n");
    let new = with(&text, |source, function| {
        let at = text.find("for (long").expect("it") as u32 - source.start;
        let statement = loop_at(function, at).expect("a loop");
        unrolled(source, function, statement, 2).expect("an edit").1
    });
    assert_eq!(new.matches('\n').count(), new.matches("\r\n").count());
}

#[test]
fn loops_that_are_not_repeated_say_why() {
    let counted = "for (long i = 0; i < n; i++)";
    for (head, body, expected) in [
        ("for (long i = 1; i < n; i++)", "s += i;", "NotCounted"),
        ("for (long i = 0; i <= n; i++)", "s += i;", "NotCounted"),
        ("for (long i = 0; i != n; i++)", "s += i;", "NotCounted"),
        ("for (long i = 0; n > i; i++)", "s += i;", "NotCounted"),
        ("for (long i = 0; i < n; i += 2)", "s += i;", "NotCounted"),
        ("for (long i = 0; i < n; i--)", "s += i;", "NotCounted"),
        ("for (long i = 0; i < n; s++)", "i++;", "NotCounted"),
        ("for (long i = 0; i < n + 1; i++)", "s += i;", "NotCounted"),
        ("for (long i = 0; i < a[3]; i++)", "s += i;", "NotCounted"),
        ("for (long i = 0; i < i; i++)", "s += i;", "NotCounted"),
        ("for (long i = 0; t < n; i++)", "t++;", "NotCounted"),
        (
            "for (long i = 0, q = 0; i < n; i++)",
            "s += q;",
            "NotCounted",
        ),
        ("long i = 0; for (; i < n; i++)", "s += i;", "NotCounted"),
        (
            "for (long i = 0;; i++)",
            "{ if (i > n) break; }",
            "NotCounted",
        ),
        ("for (long i = 0; i < n;)", "i++;", "NotCounted"),
        ("for (long i = t; i < n; i++)", "s += i;", "NotCounted"),
        (
            "for (long i = 0; i < n; i++)",
            "{ s += i; i += t; }",
            "NotCounted",
        ),
        (counted, "{ s += i--; }", "NotCounted"),
        (counted, "{ n = n - 1; }", "NotCounted"),
        (counted, "{ s += (n += 0); }", "NotCounted"),
        (counted, "{ long *p = &i; s += *p; }", "Escapes(\"i\")"),
        (counted, "{ long *p = &n; s += *p; }", "Escapes(\"n\")"),
        (
            "for (volatile long i = 0; i < n; i++)",
            "s += i;",
            "Escapes(\"i\")",
        ),
        (
            counted,
            "{ if (s > 90) break; s += i; }",
            "Repeated(\"a `break`\")",
        ),
        (
            counted,
            "{ if (s > 90) continue; s += i; }",
            "Repeated(\"a `continue`\")",
        ),
        (
            counted,
            "{ if (s > 90) goto out; s += i; } out:",
            "Repeated(\"a `goto`\")",
        ),
        (counted, "{ here: s += i; }", "Repeated(\"a label\")"),
        (
            counted,
            "switch (i) { default: s++; }",
            "Repeated(\"a `switch`\")",
        ),
        (
            counted,
            "for (int q = 0; q < 3; q++) s += q;",
            "Repeated(\"another loop\")",
        ),
        (
            counted,
            "while (s > 40) s -= 3;",
            "Repeated(\"another loop\")",
        ),
        (
            counted,
            "do s += i; while (s < 3);",
            "Repeated(\"another loop\")",
        ),
        (
            counted,
            "{ static int q; s += q++; }",
            "Repeated(\"a static variable\")",
        ),
        (
            counted,
            "s += ({ long q = i; q; });",
            "Repeated(\"statements in an expression\")",
        ),
        (
            "for (long i = 0; i < n; i++) // all",
            "s += i;",
            "Repeated(\"a comment in its head\")",
        ),
        (counted, "{\n#if 1\n s += i;\n#endif\n }", "Directive"),
        (
            "\n#pragma lockstep pipeline\nfor (long i = 0; i < n; i++)",
            "s += i;",
            "Repeated(\"a request above it\")",
        ),
        ("while (t < n)", "t++;", "NotCounted"),
    ] {
        let head = head
            .replace("while", "for_while")
            .replace("for_while", "while");
        let text = format!("{HEAD}{head}\n    {body}{TAIL}");
        let found = with(&text, |source, function| {
            let word = if head.contains("for") { "for" } else { "while" };
            let at = (HEAD.len() + head.find(word).expect("a loop")) as u32;
            let statement = loop_at(function, at - source.start).expect("a loop");
            unrolled(source, function, statement, 2)
        });
        let found = found.map_or_else(|refusal| format!("{refusal:?}"), |_| "an edit".to_owned());
        assert_eq!(found, expected, "{head} {body}");
    }
    let long = format!("{{ {} }}", "s += i; ".repeat(260));
    assert!(matches!(
        unroll(counted, &long, 2),
        Err(Refusal::Repeated("a long body"))
    ));
    let nearly = format!("{{ {} }}", "s += i; ".repeat(240));
    assert!(unroll(counted, &nearly, 2).is_ok());
    for (macros, head, body) in [
        (
            "#define UPTO(m) for (long i = 0; i < m; i++)\n",
            "UPTO(n)",
            "s += i;",
        ),
        (
            "#define LIMIT 9\n",
            "for (long i = 0; i < LIMIT; i++)",
            "s += i;",
        ),
    ] {
        let text = format!("{macros}{HEAD}{head}\n    {body}{TAIL}");
        let found = with(&text, |source, function| {
            let at = (macros.len() + HEAD.len() + 1) as u32;
            let statement = loop_at(function, at - source.start).expect("a loop");
            unrolled(source, function, statement, 2)
        });
        assert_eq!(found, Err(Refusal::Macro), "{head}");
    }
}

/// The `if` in a loop's body as assignments: the text before and after.
fn converted(body: &str) -> Result<(String, String), Refusal> {
    let text = format!("{HEAD}for (long i = 0; i < 13; i++) {{\n        {body}\n    }}{TAIL}");
    let found = with(&text, |source, function| {
        let at = text.find("if").expect("an if") as u32 - source.start;
        let (_, found) = conditional_at(source, function, at).expect("an if in a loop");
        found
    })?;
    let (span, new) = found.edit;
    let mut out = text.clone();
    out.replace_range(span.start as usize..span.end as usize, &new);
    Ok((text, out))
}

#[test]
fn conditional_values_are_what_the_ways_set() {
    for body in [
        "if (a[i] > t) t = a[i];",
        "if (a[i] > t) t = a[i]; else t = b[i];",
        "if (a[i] > n) { t = a[i]; } else { }",
        "if (a[i] < 0) b[i] = -a[i]; else b[i] = a[i];",
        "if (a[i] < 0) { b[i] += 2; } else { b[i] -= 3; }",
        "if (a[i] & 1) s += b[i];",
        "if (a[i] & 1) s++; else s--;",
        "if (a[i] & 1) ++s;",
        "if (a[i] & 1) { s += 2; t *= 3; } else { k = 4; }",
        "if (a[i] & 1) { s += 2; t ^= s; }",
        "if (!a[i]) t = 9; else if_ = 0;",
        "if (a[i] > 2 && b[i] < 9 || t) { t = a[i] * 2 + 1; }",
        "if (i > 3) k = 2.75; else k = t;",
        "if (i > 3) u = -1; else u = k;",
        "if (i > 3) d = k; else d = 0.1;",
        "if (i > 3) d = 1; else d = t / 2;",
        "if (i > 3) s = k; else s = u;",
        "if (i > 3) { s = -1; } else s = 4000000000u;",
        "if (i > 3) k = a[i] << 33; else k <<= 1;",
        "if ((t = a[i]) > 2) s = t;",
        "if (a[i] > t) { t = a[i]; k = i; }",
        "if (t > a[i]) { t = a[i]; s = t; }",
        "if (a[i]) { (t) = (3); ; } else { t = 5; }",
        "if (i) { if (a[i] > t) t = a[i]; }",
        "if (i > 3) k = (int)d; else k = (short)t;",
        "if (i > 3) s = (long)k * 3; else s = (unsigned)t;",
        "if (i > 3) s = (unsigned)-k; else s = (int)t - 9;",
        "if (i > 3) d = (float)k; else d = (double)t * 0.1;",
        "if (i > 3) u = (unsigned char)t; else u = (long)k;",
        "if (i > 3) s = sizeof(int); else s = -k;",
        "if (i > 3) s = ~u; else s = k << 2;",
        "if (i > 3) s = u > 3 ? u : k; else s = !t;",
        "if (i > 3) s = 'a'; else s = 4000000000;",
        "if (i > 3) s = a[i] + u; else s = -u;",
    ] {
        let body = body.replace("if_ = 0", "t = 1");
        match converted(&body) {
            Ok((before, after)) => assert_eq!(results(&after), results(&before), "{after}"),
            Err(refusal) => {
                let reasons = [
                    "if ((t = a[i]) > 2) s = t;",
                    "if (t > a[i]) { t = a[i]; s = t; }",
                    "if (i) { if (a[i] > t) t = a[i]; }",
                    "if (a[i] > t) { t = a[i]; k = i; }",
                ];
                assert!(reasons.contains(&body.as_str()), "{body}: {refusal}");
            }
        }
    }
    for (body, expected) in [
        ("if (a[i] > 2) b[i] = 3;", "OneStore"),
        ("if (a[i] > 2) b[i] = 3; else a[i] = 4;", "Places"),
        ("if (a[i] > 2) b[i] = 3; else b[i + 1] = 4;", "Places"),
        ("if (a[i] > 2) break;", "Statement(\"a jump\")"),
        (
            "if (a[i] > 2) { t = 1; continue; }",
            "Statement(\"a jump\")",
        ),
        (
            "if (a[i] > 2) { long q = 3; t = q; }",
            "Statement(\"a declaration\")",
        ),
        (
            "if (a[i] > 2) { while (t > 3) t--; }",
            "Statement(\"a loop\")",
        ),
        (
            "if (a[i] > 2) t = 3; else { a[i] > 3; }",
            "Statement(\"a value that is not used\")",
        ),
        ("if (a[i] > 2) g(3);", "Statement(\"a call\")"),
        ("if (a[i] > 2) t = g(3);", "Effects(\"a call\")"),
        ("if (a[i]++ > 2) t = 3;", "Effects(\"a count\")"),
        ("if (a[i] > 2) t = (s = 3);", "Effects(\"an assignment\")"),
        ("if ((t = a[i]) > 2) s = t;", "Effects(\"an assignment\")"),
        ("if (a[i] > 2) { ; }", "Statement(\"nothing\")"),
        ("if (a[i] > t) { t = a[i]; k = i; }", "Reads(\"t\")"),
        (
            "if (a[i] > 2) { t = 1; s = 2; k = 3; u = 4; } else { t = 2; s = 3; k = 4; }",
            "Long { statements: 7, most: 6 }",
        ),
        ("long *p = &t; if (a[i] > 2) t = *p;", "Escapes(\"t\")"),
        (
            "long q; if (a[i] > 2) q = 3; else t = 4; q = 5; s += q;",
            "NoValue(\"q\")",
        ),
        (
            "\n#define X\nif (a[i] > 2) {\n#ifdef X\n t = 3;\n#endif\n }",
            "Directive",
        ),
    ] {
        let found = converted(body);
        let found = found.map_or_else(|refusal| format!("{refusal:?}"), |(_, after)| after);
        assert_eq!(found, expected, "{body}");
    }
}
