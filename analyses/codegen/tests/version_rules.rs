//! The rules for versions on zero, a version a line: which one a text breaks, by hand from the rules in the checker's header.

use lockstep_codegen::specialize::source::check::{Violation, check};
use syntax::Span;

const HEAD: &str = "void f() { int before = 1;\n";
const TAIL: &str = "\nint behind = 2; }\n";

fn judged(original: &str, version: &str) -> Result<(), Violation> {
    let before = format!("{HEAD}{original}{TAIL}");
    let after = format!("{HEAD}{version}{TAIL}");
    let span = Span::new(HEAD.len() as u32, (HEAD.len() + original.len()) as u32);
    check(&before, &after, (span, version.len()), &|name| {
        matches!(name, "sin" | "float2" | "max")
    })
}

fn violation(result: Result<(), Violation>) -> String {
    match result {
        Ok(()) => "kept".to_owned(),
        Err(Violation::NotThere) => "not there".to_owned(),
        Err(Violation::Outside(at)) => format!("outside {at}"),
        Err(Violation::Slow { found, wanted }) => format!("slow {found} for {wanted}"),
        Err(Violation::Test(name, text)) => format!("test {name}: {text}"),
        Err(Violation::Unassigned(name)) => format!("unassigned {name}"),
        Err(Violation::Added(name)) => format!("added {name}"),
        Err(Violation::Effect(effect)) => format!("effect {effect}"),
    }
}

#[test]
fn the_check_asks_whether_what_is_named_is_zero() {
    for (name, condition, expected) in [
        ("s", "s == 0.0", "kept"),
        ("s", "s == 0.0f", "kept"),
        ("s", "s == 0", "kept"),
        ("s", "(s == 0)", "kept"),
        ("s.x", "s.x == 0.0", "kept"),
        ("a[ 1 ]", "a[1] == 0.0", "kept"),
        ("s", "WaveActiveAllTrue(s == 0.0)", "kept"),
        ("s", "WaveActiveAllTrue(!s)", "kept"),
        ("s", "__all_sync(__activemask(), s == 0)", "kept"),
        ("s", "__all_sync(0xffffffff, s == 0)", "kept"),
        ("v", "all(v == 0.0)", "kept"),
        ("v", "WaveActiveAllTrue(all(v == 0.0))", "kept"),
        ("v", "v.x == 0.0 && v.y == 0.0", "kept"),
        ("v", "v.x == 0 && v.y == 0 && v.z == 0 && v.w == 0", "kept"),
        (
            "v",
            "__all_sync(__activemask(), v.x == 0 && v.y == 0)",
            "kept",
        ),
        ("s", "t == 0.0", "test s: t == 0.0"),
        ("s", "s == 1.0", "test s: s == 1.0"),
        ("s", "s != 0.0", "test s: s != 0.0"),
        ("s", "s", "test s: s"),
        (
            "s",
            "WaveActiveAllTrue(!t)",
            "test s: WaveActiveAllTrue ( ! t )",
        ),
        (
            "s",
            "WaveActiveAnyTrue(s == 0.0)",
            "test s: WaveActiveAnyTrue ( s == 0.0 )",
        ),
        (
            "s",
            "__any_sync(__activemask(), s == 0)",
            "test s: __any_sync ( __activemask ( ) , s == 0 )",
        ),
        (
            "s",
            "__all_sync(0x1, s == 0)",
            "test s: __all_sync ( 0x1 , s == 0 )",
        ),
        ("s", "s == 0.0 || t == 0.0", "test s: s == 0.0 || t == 0.0"),
        ("s", "s == 0.0 && t == 0.0", "test s: s == 0.0 && t == 0.0"),
        ("v", "any(v == 0.0)", "test v: any ( v == 0.0 )"),
        ("v", "v.x == 0.0", "test v: v . x == 0.0"),
        (
            "v",
            "v.y == 0.0 && v.x == 0.0",
            "test v: v . y == 0.0 && v . x == 0.0",
        ),
        (
            "v",
            "v.x == 0.0 && v.y == 1.0",
            "test v: v . x == 0.0 && v . y == 1.0",
        ),
        ("v", "all(w == 0.0)", "test v: all ( w == 0.0 )"),
    ] {
        let version = format!(
            "// lockstep: version on zero of {name}\nif ({condition}) {{ y = 0.0; }} else {{ y = {name} * 2.0; }}"
        );
        let found = violation(judged(&format!("y = {name} * 2.0;"), &version));
        assert_eq!(found, expected, "{condition}");
    }
}

#[test]
fn a_version_has_its_shape() {
    let original = "y = s * 2.0;";
    for (version, expected) in [
        (
            "// lockstep: version on zero of s\nif (s == 0.0) { y = 0.0; } else { y = s * 2.0; }",
            "kept",
        ),
        (
            "    // lockstep: version on zero of s\n    if (s == 0.0)\n    {\n        y = 0.0;\n    }\n    else\n    {\n        y = s * 2.0;\n    }",
            "kept",
        ),
        (
            "if (s == 0.0) { y = 0.0; } else { y = s * 2.0; }",
            "not there",
        ),
        (
            "// version on zero of s\nif (s == 0.0) { y = 0.0; } else { y = s * 2.0; }",
            "not there",
        ),
        (
            "// lockstep: version on zero of s\ny = s * 2.0;",
            "not there",
        ),
        (
            "// lockstep: version on zero of s\nif (s == 0.0) { y = 0.0; }",
            "not there",
        ),
        (
            "// lockstep: version on zero of s\nif (s == 0.0) { y = 0.0; } else { y = s * 2.0; } y = 1.0;",
            "not there",
        ),
        (
            "// lockstep: version on zero of s\nif (s == 0.0) { y = 0.0; } else y = s * 2.0;",
            "not there",
        ),
        (
            "// lockstep: version on zero of s\nif s == 0.0 { y = 0.0; } else { y = s * 2.0; }",
            "not there",
        ),
        ("", "not there"),
        // Nothing is left to do.
        (
            "// lockstep: version on zero of s\nif (!(s == 0.0)) { y = s * 2.0; } else { }",
            "not there",
        ),
    ] {
        assert_eq!(violation(judged(original, version)), expected, "{version}");
    }
    for (original, slow, expected) in [
        // It stores what is there already, as far as tokens tell.
        ("o[1] += 2 * s;", "o[1] += 2 * s;", "kept"),
        (
            "{ int x = s; o[1] |= x; }",
            "{ int x = s; o[1] |= x; }",
            "kept",
        ),
        ("o[1] += 2 * t;", "o[1] += 2 * t;", "effect o["),
        ("o[1] *= s;", "o[1] *= s;", "effect o["),
        ("o[1] = s;", "o[1] = s;", "effect o["),
        (
            "{ float y = s; y *= 2.0; }",
            "{ float y = s; y *= 2.0; }",
            "kept",
        ),
        (
            "{ float y = s; y *= 2.0; }",
            "{ float y = s; y *= 3.0; }",
            "slow 3.0 for 2.0",
        ),
    ] {
        let version = format!("// lockstep: version on zero of s\nif (!(s == 0.0)) {{ {slow} }}");
        assert_eq!(
            violation(judged(original, &version)),
            expected,
            "{original}"
        );
    }
    // Text around it.
    let (before, good) = (
        "a; y = s * 2.0; b;",
        "// lockstep: version on zero of s\nif (s == 0.0) { y = 0.0; } else { y = s * 2.0; }",
    );
    let at = |after: &str, start: u32| {
        let length = good.len();
        violation(check(
            before,
            after,
            (Span::new(start, start + 12), length),
            &|_| false,
        ))
    };
    assert_eq!(at(&format!("a; {good} b;"), 3), "kept");
    assert_eq!(at(&format!("c; {good} b;"), 3), "outside 3");
    assert_eq!(at(&format!("a; {good} c;"), 3), "outside 3");
    assert_eq!(at(&format!("a; {good} b; "), 3), "outside 3");
}

/// Declarations in front, the fast path and the slow one of a version on `s`.
fn version(declared: &str, fast: &str, slow: &str) -> String {
    format!(
        "// lockstep: version on zero of s\n{declared} if (s == 0.0) {{ {fast} }} else {{ {slow} }}"
    )
}

#[test]
fn the_slow_path_is_the_original() {
    for (original, declared, slow, expected) in [
        ("y = s;", "", "y = s;", "kept"),
        ("y = s;", "", "y = t;", "slow t for s"),
        ("y = s;", "", "y = s; y = s;", "slow y for "),
        ("y = s; y += 1;", "", "y = s;", "slow  for y"),
        ("float y = s;", "float y;", "y = s;", "kept"),
        ("const float y = s;", "float y;", "y = s;", "kept"),
        ("float const y = s;", "float y;", "y = s;", "kept"),
        ("float y = s;", "int y;", "y = s;", "slow y for float"),
        ("float y = s;", "float z;", "y = s;", "slow y for float"),
        (
            "float y = s, z = y;",
            "float y, z;",
            "y = s, z = y;",
            "kept",
        ),
        ("float y; y = s;", "float y;", "y = s;", "kept"),
        (
            "float y; float z; y = s; z = y;",
            "float y; float z;",
            "y = s; z = y;",
            "kept",
        ),
        (
            "float y; float z; y = s; z = y;",
            "float y;",
            "float z; y = s; z = y;",
            "kept",
        ),
        ("unsigned int y = s;", "unsigned int y;", "y = s;", "kept"),
        ("float3 y = s;", "float3 y;", "y = s;", "kept"),
        ("y = s;", "float q;", "y = s;", "slow  for float q"),
        (
            "float y = s;",
            "float y; float y;",
            "y = s;",
            "slow  for float y",
        ),
    ] {
        let found = violation(judged(
            original,
            &version(declared, "y = 0; z = 0; q = 0;", slow),
        ));
        // What the fast path adds for the other rows is none of this rule's.
        let found = if found.starts_with("added") {
            "kept".to_owned()
        } else {
            found
        };
        assert_eq!(found, expected, "{original} | {declared} | {slow}");
    }
}

#[test]
fn both_paths_assign_the_same() {
    for (original, declared, fast, expected) in [
        ("y = s;", "", "y = 0;", "kept"),
        ("y = s; z = 1;", "", "y = 0; z = 1;", "kept"),
        ("y = s;", "", "y = 0; w = 1;", "added w"),
        ("y = s;", "", "y = 0; w++;", "added w"),
        ("y = s;", "", "y = 0; --w;", "added w"),
        ("y = s;", "", "w.x += 1;", "added w"),
        ("y = s;", "", "w[2] <<= 1;", "added w"),
        ("y = s;", "", "p->w = 1;", "added p"),
        ("y = s;", "", "v = 1; u = 2;", "added u"),
        ("y = s;", "", "float w = 1; w += 2;", "kept"),
        ("y = s;", "", "float w[2]; w[0] = 2;", "kept"),
        ("y = s;", "", "float u = 1, w = 2; w += u;", "kept"),
        ("y = s;", "", "float* w = q; w = r;", "kept"),
        ("y = s;", "", "for (int k = 0; k < 3; k++) { }", "kept"),
        ("y = s;", "", "y *= u * w;", "kept"),
        ("y = s;", "", "f(u, w); w = 1;", "added w"),
        ("y = s; float w = 1;", "", "w = 1;", "added w"),
        ("y++;", "", "y--;", "kept"),
        ("++y.x;", "", "y.x = 1;", "kept"),
        ("float y = s;", "float y;", "y = 0;", "kept"),
        ("float y = s;", "float y;", "", "unassigned y"),
        ("float y = s;", "float y;", "float y = 0;", "unassigned y"),
        (
            "float y = s, z = s;",
            "float y, z;",
            "y = 0;",
            "unassigned z",
        ),
        ("float y; if (s > 1) y = 2;", "float y;", "", "unassigned y"),
        ("float y;", "float y;", "", "kept"),
    ] {
        let slow = match declared {
            "" => original.to_owned(),
            _ => original
                .replacen("float y; ", "", 1)
                .replacen("float y;", "", 1)
                .replacen("float ", "", 1),
        };
        let found = violation(judged(original, &version(declared, fast, &slow)));
        assert_eq!(found, expected, "{original} | {declared} | {fast}");
    }
    // A path that leaves assigns nothing.
    for leaving in ["return;", "break;", "continue;", "discard;"] {
        let slow = format!("y = s; {leaving}");
        let text = version("float y;", leaving, &slow);
        let original = format!("float y = s; {leaving}");
        assert_eq!(violation(judged(&original, &text)), "kept", "{leaving}");
    }
}

#[test]
fn effects_stay_and_in_order() {
    for (slow, fast, expected) in [
        ("o[1] = s;", "o[1] = 0;", "kept"),
        ("o[1] = s;", "", "effect o["),
        ("o[1] = s;", "p[1] = 0;", "added p"),
        ("o[1] = s; p[1] = s;", "p[1] = 0; o[1] = 0;", "effect p["),
        ("o[1] = s; p[1] = s;", "o[1] = 0; p[1] = 0;", "kept"),
        ("o[1] = s; o[2] = s;", "o[1] = 0;", "effect o["),
        ("o[1] = s;", "o[0] = 0; o[1] = 0;", "kept"),
        ("o->a = s;", "", "effect o["),
        ("o.a = s;", "", "kept"),
        ("store(s);", "store(0);", "kept"),
        ("store(s);", "", "effect store("),
        ("a.store(s);", "a.store(0);", "kept"),
        ("a.store(s);", "store(0);", "effect .store("),
        ("a->store(s);", "", "effect .store("),
        ("y = sin(s);", "y = 0;", "kept"),
        ("y = cos(s);", "y = 0;", "effect cos("),
        ("y = max(s, tan(s));", "y = 0;", "effect tan("),
        ("return;", "return;", "kept"),
        ("return;", "", "effect return"),
        ("discard;", "return;", "effect discard"),
        ("break;", "break;", "kept"),
        ("continue;", "", "effect continue"),
        // Under a condition, in a loop, in both branches.
        ("if (s > 0) o[1] = s;", "", "kept"),
        ("if (s > 0) { o[1] = s; } store(1);", "", "effect store("),
        (
            "if (s > 0) store(2); else store(1); o[2] = 1;",
            "",
            "effect o[",
        ),
        (
            "if (a) if (b) store(2); else store(3); else store(4); o[2] = 1;",
            "",
            "effect o[",
        ),
        (
            "for (int k = 0; k < 3; k++) { store(k); } p[1] = 2;",
            "",
            "effect p[",
        ),
        ("for (int k = 0; k < 3; k++) store(f(k, (k)));", "", "kept"),
        ("while (s > 1) { store(1); }", "", "kept"),
        (
            "switch (k) { case 1: store(1); break; default: o[2] = 1; } store(9);",
            "",
            "effect store(",
        ),
        (
            "do { store(1); } while (s > 2); store(4);",
            "",
            "effect store(",
        ),
        ("{ store(1); }", "", "effect store("),
        // Memory of its own.
        ("float w[3]; w[1] = s; y = w[1];", "y = 0;", "kept"),
        ("float w[3]; w[1] = s; o[w[1]] = 3;", "", "effect o["),
        ("o[f2(1)][2] = s;", "o[f2(1)][2] = 0;", "kept"),
        ("o[1] = s; return;", "o[1] = 0; return;", "kept"),
        ("o[1] = s; return;", "return; o[1] = 0;", "effect return"),
    ] {
        let found = violation(judged(slow, &version("", fast, slow)));
        assert_eq!(found, expected, "{slow} | {fast}");
    }
}
