//! The texts that come of moving a statement, shape by shape, and faults that the judge of symbols sees.

use super::{applied, judged, own, read};
use facts::partial_dead::Prices;
use ir::Language;
use lockstep_codegen::specialize::source::sink_dead::{Refusal, Terms, candidate_at, check, plan};

/// Moves the statement in which `|` stands, without a profile.
fn moved(language: Language, text: &str) -> Result<String, Refusal> {
    moved_where(language, text, false)
}

fn moved_where(language: Language, text: &str, parts_lanes: bool) -> Result<String, Refusal> {
    let at = text.find('|').expect("a cursor");
    let text = text.replacen('|', "", 1);
    let read = read(&text, language);
    let number = super::item_of(&read);
    let source = read.source(&text, number);
    let function = own(&read.parsed[number].2).expect("it is there");
    let candidate = candidate_at(function, at as u32 - source.start).expect("a statement");
    let terms = Terms {
        recorded: None,
        prices: Prices {
            statement: 6.0,
            suppressed: 1.0,
            predicate: 1.0,
        },
        parts_lanes: &|_| parts_lanes,
    };
    let plan = plan(&source, function, &candidate, &terms)?;
    Ok(applied(&text, &plan.edits))
}

#[track_caller]
fn gives(before: &str, after: &str) {
    let found = moved(Language::C, before).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(found, after, "\n{found}");
}

#[test]
fn comments_stay_with_what_they_are_about() {
    gives(
        "int kernel(int x, int n) {
    /* A comment
     * of several lines. */
    int |a = x * x / 3;

    // Is it large?
    if (n > 3) {
        // It is.
        return a;
    }
    return n;
}
",
        "int kernel(int x, int n) {
    // Is it large?
    if (n > 3) {
        /* A comment
         * of several lines. */
        int a = x * x / 3;
        // It is.
        return a;
    }
    return n;
}
",
    );
    // A heading stays.
    gives(
        "int kernel(int x, int n) {
    // The powers.
    int |a = x * x / 3;
    int b = x * x;
    int c = x * b;
    if (n > 3) {
        return a + c;
    }
    return c + b;
}
",
        "int kernel(int x, int n) {
    // The powers.
    int b = x * x;
    int c = x * b;
    if (n > 3) {
        int a = x * x / 3;
        return a + c;
    }
    return c + b;
}
",
    );
}

#[test]
fn a_declaration_goes_into_the_branch_that_reads_it_with_its_comments() {
    gives(
        "void kernel(int *p, int a, int b) {
    // Of the far ones.
    int |w = a * b; // squared
    p[1] = a;
    if (a > 3) {
        // Here it is.
        p[0] = w;
    }
}
",
        "void kernel(int *p, int a, int b) {
    p[1] = a;
    if (a > 3) {
        // Of the far ones.
        int w = a * b; // squared
        // Here it is.
        p[0] = w;
    }
}
",
    );
}

#[test]
fn each_branch_that_reads_it_has_a_copy() {
    gives(
        "void kernel(int *p, int a, int b) {
    const int |w = a * b;
    if (a > 3) {
        p[0] = w;
    } else if (a > 2) {
        p[1] = a;
    } else {
        p[2] = w + w;
    }
}
",
        "void kernel(int *p, int a, int b) {
    if (a > 3) {
        const int w = a * b;
        p[0] = w;
    } else if (a > 2) {
        p[1] = a;
    } else {
        const int w = a * b;
        p[2] = w + w;
    }
}
",
    );
}

#[test]
fn what_is_overwritten_on_a_way_gets_an_else() {
    gives(
        "int kernel(int a, int b) {
    int w;
    |w = a * b;
    if (a > 3) {
        w = 2;
    }
    return w;
}
",
        "int kernel(int a, int b) {
    int w;
    if (a > 3) {
        w = 2;
    } else {
        w = a * b;
    }
    return w;
}
",
    );
}

#[test]
fn a_branch_without_braces_gets_them() {
    gives(
        "void kernel(int *p, int a, int b) {
    int |w = a * b;
    if (a > 3)
        p[0] = w;
    if (a > 9) return;
    p[1] = 0;
}
",
        "void kernel(int *p, int a, int b) {
    if (a > 3) {
        int w = a * b;
        p[0] = w;
    }
    if (a > 9) return;
    p[1] = 0;
}
",
    );
}

#[test]
fn it_passes_the_ways_out() {
    gives(
        "void kernel(int *p, int n, int i)
{
    int |w = p[i] * 3;
    if (i >= n)
        return;
    for (int k = 0; k < n; k++) {
        p[k] = w;
    }
}
",
        "void kernel(int *p, int n, int i)
{
    if (i >= n)
        return;
    int w = p[i] * 3;
    for (int k = 0; k < n; k++) {
        p[k] = w;
    }
}
",
    );
}

#[test]
fn one_copy_stands_in_front_of_branches_that_all_read_it() {
    gives(
        "int kernel(int *p, int a, int b)
{
    int |w = a * b;
    if (a < 0)
        return 0;
    if (b > 3) {
        p[0] = w;
    } else {
        p[1] = w;
    }
    return w;
}
",
        "int kernel(int *p, int a, int b)
{
    if (a < 0)
        return 0;
    int w = a * b;
    if (b > 3) {
        p[0] = w;
    } else {
        p[1] = w;
    }
    return w;
}
",
    );
}

#[test]
fn nothing_is_written_into_a_macro() {
    let text = "#define SHOW(x) if (a > 2) { p[0] = x; }
void kernel(int *p, int a, int b)
{
    int |w = a * b;
    SHOW(w)
}
";
    assert!(matches!(moved(Language::C, text), Err(Refusal::NoPlace(_))));
}

#[test]
fn within_an_iteration_it_passes_continue() {
    gives(
        "void kernel(int *p, int n)
{
    int w;
    for (int k = 0; k < n; k++) {
        |w = k * k;
        if (p[k] == 0) continue;
        p[k] = w;
    }
}
",
        "void kernel(int *p, int n)
{
    int w;
    for (int k = 0; k < n; k++) {
        if (p[k] == 0) continue;
        w = k * k;
        p[k] = w;
    }
}
",
    );
}

#[test]
fn what_may_change_stays() {
    let refused = |text: &str| moved(Language::C, text).expect_err("it stays");
    // The load would come behind a store.
    assert!(matches!(
        refused(
            "void kernel(int *p, int a) { int |w = p[1] * 2; p[0] = a; if (a > 3) { p[2] = w; } }"
        ),
        Refusal::ReadOnEachWay(_)
    ));
    // An operand changes.
    assert!(matches!(
        refused("void kernel(int *p, int a) { int |w = a * 2; a += 1; if (a > 3) { p[2] = w; } }"),
        Refusal::ReadOnEachWay(_)
    ));
    // The next iteration reads it.
    assert!(matches!(
        refused(
            "void kernel(int *p, int n) { int w = 0; for (int k = 0; k < n; k++) { p[k] = w; |w = k * 2; if (p[k]) { p[0] = w; } } }"
        ),
        Refusal::ReadOnEachWay(_)
    ));
    assert!(matches!(
        refused(
            "int f(int); void kernel(int *p, int a) { int |w = f(a); if (a > 3) { p[2] = w; } }"
        ),
        Refusal::Effect { .. }
    ));
    assert!(matches!(
        refused(
            "void kernel(int *p, int a) { int |w = a * 2; int *q = &w; if (a > 3) { p[2] = *q; } }"
        ),
        Refusal::Escapes(_)
    ));
    // Another variable of the name of an operand comes behind it.
    gives(
        "void kernel(int *p, int a, int b) { int |w = b * 2; if (a > 3) { int b = 4; p[b] = w; } }",
        "void kernel(int *p, int a, int b) { if (a > 3) { int w = b * 2; int b = 4; p[b] = w; } }",
    );
}

#[test]
fn lanes_that_part_do_not_compute_it_twice() {
    let text = "__global__ void kernel(int* p, int a) {
    int |w = a * threadIdx.x;
    if (p[threadIdx.x] > 3) { p[0] = w; } else if (a > 4) { p[1] = w; }
}
";
    assert!(matches!(
        moved_where(Language::Cuda, text, true),
        Err(Refusal::Apart(_))
    ));
    assert!(moved_where(Language::Cuda, text, false).is_ok());
    let shuffled = "__global__ void kernel(int* p, int a) {
    int |w = __shfl_sync(0xffffffff, a, 0);
    if (p[threadIdx.x] > 3) { p[0] = w; }
}
";
    assert!(matches!(
        moved_where(Language::Cuda, shuffled, false),
        Err(Refusal::Effect { .. })
    ));
}

#[test]
fn lines_end_as_they_do_in_the_file() {
    let before = "void kernel(int *p, int a) {\r\n    int |w = a * a;\r\n    if (a > 3) {\r\n        p[0] = w;\r\n    }\r\n}\r\n";
    let after = "void kernel(int *p, int a) {\r\n    if (a > 3) {\r\n        int w = a * a;\r\n        p[0] = w;\r\n    }\r\n}\r\n";
    gives(before, after);
}

fn differs(before: &str, after: &str) -> bool {
    let (old, new) = (read(before, Language::C), read(after, Language::C));
    let (a, b) = (super::item_of(&old), super::item_of(&new));
    let (old, new) = (old.source(before, a), new.source(after, b));
    matches!(
        judged(&old, before, &new, after),
        Err(check::Violation::Differs { .. })
    )
}

#[test]
fn the_judge_sees_planted_faults() {
    let before = "int kernel(int *p, int a, int b) { int w = a * b; if (a > 3) { p[0] = w; } else { w = 1; } if (b) { p[1] = w; } return a; }";
    let with = |text: &str| differs(before, text);
    // Both branches read it; the second has no copy.
    assert!(with(
        "int kernel(int *p, int a, int b) { int w; if (a > 3) { p[0] = w; } else { w = 1; } if (b) { w = a * b; p[1] = w; } return a; }"
    ));
    // It overwrites what the other way brought.
    assert!(with(
        "int kernel(int *p, int a, int b) { int w; if (a > 3) { w = a * b; p[0] = w; } else { w = 1; } if (b) { w = a * b; p[1] = w; } return a; }"
    ));
    // A flag that is never reset, one that is never set.
    let flagged = |set: &str, reset: &str| {
        with(&format!(
            "int kernel(int *p, int a, int b) {{ int w; int due = {set}; if (a > 3) {{ w = a * b; {reset} p[0] = w; }} else {{ w = 1; due = 0; }} if (b) {{ if (due) {{ w = a - b; }} p[1] = w; }} return a; }}"
        ))
    };
    assert!(flagged("1", ""));
    assert!(!flagged("1", "due = 0;"));
    // Behind the store that it may read.
    let before = "void kernel(int *p, int a) { int w = p[a]; p[0] = a; if (a > 3) { p[1] = w; } }";
    let after = "void kernel(int *p, int a) { p[0] = a; if (a > 3) { int w = p[a]; p[1] = w; } }";
    assert!(differs(before, after));
    // Another expression, another order of stores.
    assert!(differs(
        before,
        "void kernel(int *p, int a) { int w = p[a + 1]; p[0] = a; if (a > 3) { p[1] = w; } }"
    ));
    assert!(differs(
        "void kernel(int *p, int a) { p[0] = a; p[1] = a; }",
        "void kernel(int *p, int a) { p[1] = a; p[0] = a; }"
    ));
    // The same is the same.
    assert!(!differs(before, before));
}

#[test]
fn what_sets_variables_besides_stays() {
    for value in ["a++ * b", "(b = 3) * a", "--a"] {
        let text = format!(
            "int kernel(int *p, int a, int b) {{ int |w = {value}; if (a > 3) {{ p[0] = w; }} return a + b; }}"
        );
        let refusal = moved(Language::C, &text).expect_err("it stays");
        assert!(
            matches!(refusal, Refusal::Effect { .. }),
            "{value}: {refusal}"
        );
    }
    // The last argument of a fetch is no output where it is a level.
    let text = "Texture2D<float4> map; SamplerState near;
float4 kernel(float2 at, float level) {
    float4 |w = map.SampleLevel(near, at, 0);
    if (level > 3) { return w; }
    return 0;
}
";
    assert!(moved(Language::Hlsl, text).is_ok());
}

#[test]
fn what_is_not_declared_in_sight_may_change() {
    // A header that was not found declares it.
    let text = "int next(int); int kernel(int *p, int a) { int |w = total * a; next(2); if (a > 3) { p[0] = w; } return a; }";
    assert!(matches!(
        moved(Language::C, text),
        Err(Refusal::ReadOnEachWay(_))
    ));
    // A member of the class.
    let text = "struct M { int v; int* p; __device__ int kernel(int a) { int |w = v * a; v = 2; if (a > 3) { p[0] = w; } return v; } };";
    assert!(matches!(
        moved(Language::Cuda, text),
        Err(Refusal::ReadOnEachWay(_))
    ));
    let text = "template <int N> __device__ void kernel(int* p, int a) { int |w = N * a; p[1] = N; if (a > 3) { p[0] = w; } }";
    assert!(moved(Language::Cuda, text).is_ok());
}

#[test]
fn objects_are_made_and_left_where_they_stand() {
    let guard = "struct Guard { int* p; __device__ Guard(int* q) : p(q) { p[3]++; } __device__ ~Guard() { p[3]--; } };
struct Next { int v; __device__ Next(int& x) : v(x) { x++; } };
struct Part { int v; };
__device__ Part operator*(Part a, int k) { Part b; b.v = a.v * k; return b; }
";
    let refused = |body: &str| {
        let text = format!("{guard}__device__ int kernel(int* p, int a, int b) {{ {body} }}");
        matches!(
            moved(Language::Cuda, &text),
            Err(Refusal::ReadOnEachWay(_) | Refusal::Effect { .. })
        )
    };
    assert!(refused(
        "int |w = p[3] * 2; Guard g(p); if (a > 3) { p[0] = w; } return 0;"
    ));
    assert!(refused(
        "int |w = p[3] * 2; { Guard g(p); p[1] = 2; } if (a > 3) { p[0] = w; } return 0;"
    ));
    assert!(refused(
        "int |w = a * b; Next n(a); if (b > 3) { p[0] = w + n.v; } return a;"
    ));
    assert!(refused(
        "Part q; q.v = a; Part |w = q * b; if (b > 3) { p[0] = w.v; } return a;"
    ));
    // What is computed of variables alone is not concerned.
    assert!(!refused(
        "int |w = a * b; Guard g(p); if (a > 3) { p[0] = w; } return 0;"
    ));
}

#[test]
fn a_declaration_stays_in_front_of_what_names_its_variable() {
    let text = "__device__ void kernel(int* p, int a, int b) {
    int |w = a * b;
    using Same = decltype(w);
    if (a > 3) {
        Same t = w;
        p[0] = t;
    }
}
";
    let after = moved(Language::Cuda, text).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert!(
        after.contains(
            "    int w;\n    using Same = decltype(w);\n    if (a > 3) {\n        w = a * b;\n"
        ),
        "{after}"
    );
}

#[test]
fn on_a_line_with_others_it_takes_its_space_along() {
    gives(
        "void kernel(int *p, int a, int b) { int |w = a * b; if (a > 3) { p[0] = w; } }",
        "void kernel(int *p, int a, int b) { if (a > 3) { int w = a * b; p[0] = w; } }",
    );
    gives(
        "void kernel(int *p, int a, int b) {
    int c = a + b; int |w = a
        * b;
    if (c > 3) p[c] = w; else p[0] = a;
}
",
        "void kernel(int *p, int a, int b) {
    int c = a + b;
    if (c > 3) { int w = a * b; p[c] = w; } else p[0] = a;
}
",
    );
    // What follows would become part of the comment.
    let text = "void kernel(int *p, int a, int b) {
    int |w = a *//times
        b;
    if (a > 3) p[0] = w; else p[1] = a;
}
";
    assert!(matches!(moved(Language::C, text), Err(Refusal::NoPlace(_))));
}

#[test]
fn an_if_that_a_macro_spells_is_read_in_front_of_it() {
    let leave = "#define LEAVE(c) if (c) return
void kernel(int *p, int a, int b) {
    int |w = a * b;
    if (a < 0) return;
    LEAVE(w > 3);
    p[0] = w;
}
";
    gives(
        leave,
        "#define LEAVE(c) if (c) return
void kernel(int *p, int a, int b) {
    if (a < 0) return;
    int w = a * b;
    LEAVE(w > 3);
    p[0] = w;
}
",
    );
    // No `else` is added behind it.
    let clear = "#define CLEAR(c) if (c) w = 2
int kernel(int a, int b) {
    int w;
    |w = a * b;
    CLEAR(a > 3);
    return w;
}
";
    assert!(moved(Language::C, clear).is_err());
}

#[test]
fn the_judge_knows_arrays_that_nobody_else_sees() {
    gives(
        "int kernel(const int *p, int a, int b) {
    int own[2];
    int |w = p[a];
    own[0] = a;
    own[1] = b;
    if (a > 3) {
        return w;
    }
    return own[b & 1];
}
",
        "int kernel(const int *p, int a, int b) {
    int own[2];
    own[0] = a;
    own[1] = b;
    if (a > 3) {
        int w = p[a];
        return w;
    }
    return own[b & 1];
}
",
    );
    assert!(!differs(
        "int kernel(int *p, int a) { int own[2]; int w = p[a]; own[0] = a; if (a > 3) { return w; } return own[0]; }",
        "int kernel(int *p, int a) { int own[2]; own[0] = a; if (a > 3) { int w = p[a]; return w; } return own[0]; }"
    ));
    // Another name leads to it.
    assert!(differs(
        "int kernel(int *p, int a) { int own[2]; p = own; int w = p[a]; own[0] = a; if (a > 3) { return w; } return own[0]; }",
        "int kernel(int *p, int a) { int own[2]; p = own; own[0] = a; if (a > 3) { int w = p[a]; return w; } return own[0]; }"
    ));
}
