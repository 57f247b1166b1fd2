//! Edits as they are made, and with a fault planted in each.

use super::check;
use crate::specialize::source::pressure::Kind;

const BEFORE: &str =
    "void f(float* o, int n) { int i = n * 4 + 1; float u = o[0]; g(); o[i] = u; }";

fn accepts(kind: Kind, after: &str) -> bool {
    check(kind, BEFORE, after, &["i", "u"]).is_ok()
}

#[test]
fn a_value_again_is_the_initial_value_with_copies_of_its_operands() {
    let with = |lines: &str, end: &str| {
        accepts(
            Kind::Recompute,
            &format!(
                "void f(float* o, int n) {{ int i = n * 4 + 1; float u = o[0]; g(); {lines} {end} }}"
            ),
        )
    };
    let copy = "int n2 = n; asm volatile(\"\" : \"+r\"(n2));";
    let again = "const int i2 = n2 * 4 + 1;";
    assert!(with(&format!("{copy} {again}"), "o[i2] = u;"));
    // Another operation, another operand, another copy.
    assert!(!with(
        &format!("{copy} const int i2 = n2 * 4 - 1;"),
        "o[i2] = u;"
    ));
    assert!(!with(
        &format!("{copy} const int i2 = n2 * 8 + 1;"),
        "o[i2] = u;"
    ));
    assert!(!with(&format!("int n2 = u; {again}"), "o[i2] = u;"));
    // It stands for another variable, or is used before it is there.
    assert!(!with(&format!("{copy} {again}"), "o[i] = i2;"));
    assert!(!with("", &format!("o[i2] = u; {copy} {again}")));
    // What is not its own changes, too.
    assert!(!with(&format!("{copy} {again}"), "o[i2] = u + 1;"));
    assert!(!with(&format!("{copy} {again} n = 3;"), "o[i2] = u;"));
    // A copy that is changed by an instruction.
    let changed = "int n2 = n; asm volatile(\"add.s32 %0, %0, 1;\" : \"+r\"(n2));";
    assert!(!with(&format!("{changed} {again}"), "o[i2] = u;"));
    // Out of the block that declares it.
    assert!(!with(&format!("{{ {copy} {again} }}"), "o[i2] = u;"));
}

#[test]
fn a_slot_holds_the_variable_that_is_read_from_it() {
    let with = |store: &str, load: &str| {
        let head = "__shared__ volatile float s[8]; const unsigned w = threadIdx.x / 32;";
        accepts(
            Kind::WarpCopy,
            &format!(
                "void f(float* o, int n) {{ {head} int i = n * 4 + 1; float u = o[0]; {store} g(); {load} o[i] = u2; }}"
            ),
        )
    };
    let load = "const float u2 = s[w];";
    assert!(with("s[w] = u;", load));
    // Nothing or something else is stored, or twice.
    assert!(!with("", load));
    assert!(!with("s[w] = i;", load));
    assert!(!with("s[w] = u; s[w] = u;", load));
    // The slot of another warp.
    assert!(!with("s[0] = u;", load));
    assert!(!with("s[w] = u;", "const float u2 = s[0];"));
}

#[test]
fn a_definition_moves_down_and_past_no_use() {
    let moved = "void f(float* o, int n) { int i = n * 4 + 1; g(); float u = o[0]; o[i] = u; }";
    assert!(accepts(Kind::Sink, moved));
    // Past its use, lost, and changed.
    assert!(!accepts(
        Kind::Sink,
        &BEFORE.replace(
            "float u = o[0]; g(); o[i] = u;",
            "g(); o[i] = u; float u = o[0];"
        )
    ));
    assert!(!accepts(
        Kind::Sink,
        &BEFORE.replace("float u = o[0]; ", "")
    ));
    assert!(!accepts(Kind::Sink, &moved.replace("o[0]", "o[1]")));
}

#[test]
fn requests_of_loops_alone_change() {
    let before = "#pragma unroll 8\nfor (;;) { a(); }";
    let unrolled = |after: &str| check(Kind::Unroll, before, after, &[]).is_ok();
    assert!(unrolled("#pragma unroll 4\nfor (;;) { a(); }"));
    assert!(unrolled("for (;;) { a(); }"));
    assert!(!unrolled("#pragma unroll 4\nfor (;;) { b(); }"));
    assert!(!unrolled("#pragma once\nfor (;;) { a(); }"));
}

#[test]
fn a_broadcast_stands_around_a_whole_initial_value() {
    let accepts = |value: &str| accepts(Kind::WarpCopy, &BEFORE.replace("o[0]", value));
    assert!(accepts("WaveReadLaneFirst(o[0])"));
    // Another value, another operation, a part of the value, or something else is changed.
    assert!(!accepts("WaveReadLaneFirst(o[1])"));
    assert!(!accepts("WaveActiveSum(o[0])"));
    assert!(!accepts("WaveReadLaneFirst(o)[0]"));
    assert!(!accepts("WaveReadLaneFirst(o[0]); n = 2"));
    assert!(!accepts("WaveReadLaneFirst(o[0], 1)"));
    assert!(!accepts("WaveReadLaneFirst(WaveReadLaneFirst(o[0]))"));
    // Of a variable that is not named, or of no initial value.
    let other = BEFORE.replace("n * 4 + 1", "WaveReadLaneFirst(n * 4 + 1)");
    assert!(check(Kind::WarpCopy, BEFORE, &other, &["u"]).is_err());
    let stored = BEFORE.replace("= u;", "= WaveReadLaneFirst(u);");
    assert!(check(Kind::WarpCopy, BEFORE, &stored, &["u"]).is_err());
}

#[test]
fn a_variable_of_fewer_bits_is_converted_back_where_they_matter() {
    let before = "void f(long* p, int n) { const long long int i = n; size_t k = n & 7; for (long j = 0; j < n; j++) { \
                  p[i] = i * 4; g(k++); p[k] = k; } long x = i; \
                  g((long)(i) * 5); }";
    let all = [
        ("const long long int i", "const int i"),
        ("size_t k", "unsigned k"),
        ("long j", "int j"),
        ("= i * 4", "= (long long)i * 4"),
        ("g(k++)", "g((size_t)k++)"),
    ];
    let with = |edits: &[(&str, &str)]| {
        let mut text = before.to_owned();
        for (from, to) in all.iter().chain(edits) {
            assert!(text.contains(from), "{from}: {text}");
            text = text.replacen(from, to, 1);
        }
        check(Kind::Narrow, before, &text, &["i", "k", "j"]).is_ok()
    };
    assert!(with(&[]));
    assert!(with(&[("p[i]", "p[(long long)i]")]));
    // The author's own conversion, around parentheses, too; a call converts to who knows what.
    assert!(with(&[("(long)(i) * 5", "(long)((long long)i) * 5")]));
    let called = |text: &str| text.replace("g((long)(i) * 5)", "g((long)g(i) * 5)");
    let after = called(before).replace("const long long int i", "const int i");
    let after = after.replace("= i * 4", "= (long long)i * 4");
    assert!(check(Kind::Narrow, &called(before), &after, &["i"]).is_err());
    // Back to another type, or not at all.
    assert!(!with(&[("(long long)i * 4", "(long)i * 4")]));
    assert!(!with(&[("(long long)i * 4", "i * 4")]));
    assert!(!with(&[("(size_t)k++", "k++")]));
    // What is no integer of fewer bits, or has lost its `const`.
    assert!(!with(&[("const int i", "int i")]));
    assert!(!with(&[("unsigned k", "float k")]));
    // What is not its own changes, too.
    assert!(!with(&[("long x", "int x")]));
    assert!(!with(&[("n & 7", "n & 3")]));
    assert!(!with(&[("p[k]", "(size_t)p[k]")]));
}
