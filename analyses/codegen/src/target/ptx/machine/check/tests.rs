//! Arithmetic of the checker, and small outputs that it takes or refuses.

use super::polynomial::Polynomial;
use super::{Known, Violation, check};
use crate::target::ptx::machine::fit::{Budget, Scheduling};
use syntax::ptx::{PtxFunction, PtxItemKind, parse_item};

fn parsed(text: &str) -> PtxFunction {
    match parse_item(text).kind {
        PtxItemKind::Function(function) => *function,
        other => panic!("no function: {other:?}"),
    }
}

#[test]
fn widening_stays_where_nothing_wraps() {
    let small = Polynomial::affine(32, 3, 7);
    assert_eq!(small.widened(64, true), Some(Polynomial::affine(64, 3, 7)));
    assert_eq!(
        Polynomial::affine(32, 0x1000_0000, 0).widened(64, true),
        None
    );
    assert_eq!(Polynomial::affine(32, -3, 0).widened(64, false), None);
    let down = Polynomial::affine(32, -3, 0).widened(64, true);
    assert_eq!(down, Some(Polynomial::affine(64, -3, 0)));
}

/// The test of row iv: of 3*Tid + 7 the slot holds 7, and the load gives it back.
#[test]
fn the_uniform_part_is_what_is_left() {
    let value = Polynomial::affine(32, 3, 7);
    let multiple = Polynomial::affine(32, 3, 0);
    let part = value.plus(&multiple.negated()).expect("one width");
    assert_eq!(part.as_number(), Some(7));
    assert!(part.is_uniform(&|_| None) && !value.is_uniform(&|_| None));
    assert_eq!(part.plus(&multiple), Some(value));
}

/// Outputs of one body: its lines in words, and the violation that each has, if any.
#[test]
fn guards_and_joins() {
    let head = ".reg .pred %p<3>;\n.reg .b32 %r<9>;\n";
    let original = ".entry k(.param .u32 a)\n{\nHEAD\tld.param.u32 %r1, [a];\n\tsetp.lt.s32 %p1, %r1, 5;\n\
        \t@%p1 add.s32 %r1, %r1, 1;\n\tld.param.u32 %r2, [a];\n\t@!%p1 bra $L;\n\tmul.lo.s32 %r2, %r1, 3;\n$L:\n\
        \tadd.s32 %r3, %r1, %r2;\n\tst.shared.u32 [%r3], %r1;\n\tret;\n}\n";
    let slots = ".local .align 4 .b8 spill[8];\n";
    let right = original.replace("HEAD", &format!("{head}{slots}"));
    let right = right
        .replace("$L:\n", "\tst.local.b32 [spill+4], %r2;\n$L:\n\tld.local.b32 %r5, [spill+0];\n\tld.local.b32 %r2, [spill+4];\n")
        .replace("setp.lt", "st.local.b32 [spill+0], %r1;\n\tsetp.lt")
        .replace("\tld.param.u32 %r2, [a];\n", "\t@%p1 st.local.b32 [spill], %r1;\n\tld.param.u32 %r2, [a];\n\tst.local.b32 [spill+4], %r2;\n")
        .replace("add.s32 %r3, %r1", "add.s32 %r3, %r5");
    let budget = roomy();
    let before = parsed(&original.replace("HEAD", head));
    let judged = |text: &str| check(&before, &parsed(text), &Known::default(), &budget);
    assert_eq!(judged(&right), [], "{right}");
    let wrong = |from: &str, to: &str| {
        assert!(right.contains(from), "{from}");
        judged(&right.replace(from, to))
    };
    // The slot keeps the old value, or has the new one under the other condition, or has it on one of two
    // paths.
    for (from, to) in [
        ("\t@%p1 st.local.b32 [spill], %r1;\n", ""),
        ("@%p1 st.local", "@!%p1 st.local"),
        ("\tst.local.b32 [spill+4], %r2;\n$L:", "$L:"),
        ("ld.local.b32 %r2, [spill+4]", "ld.local.b32 %r2, [spill+0]"),
    ] {
        let found = wrong(from, to);
        let values = found
            .iter()
            .all(|violation| matches!(violation, Violation::WrongValue { .. }));
        assert!(values && !found.is_empty(), "{from}: {found:?}");
    }
    assert!(matches!(
        wrong("spill[8]", "spill[4]")[..],
        [Violation::Outside { .. }, ..]
    ));
    assert!(matches!(
        wrong("@!%p1 bra", "@%p1 bra")[..],
        [Violation::Unmatched { .. }, ..]
    ));
    let few = Budget { words: 2, ..budget };
    let pressed = check(&before, &parsed(&right), &Known::default(), &few);
    assert!(
        pressed
            .iter()
            .any(|violation| matches!(violation, Violation::Pressure { .. }))
    );
}

/// More registers than the texts need.
fn roomy() -> Budget {
    Budget {
        words: 9,
        predicates: 3,
        lanes: 32,
        warps: 1,
        whole_warps: false,
        shared_bytes: 0,
        scheduling: Scheduling::Waiting,
    }
}

/// A rewritten text is accepted, and refused with one statement replaced.
#[track_caller]
fn judged(original: &str, right: &str, wrong: &[(&str, &str)]) {
    let before = parsed(original);
    let found = |text: &str| check(&before, &parsed(text), &Known::default(), &roomy());
    assert_eq!(found(right), [], "{right}");
    for (from, to) in wrong {
        assert!(right.contains(from), "{from}");
        let all = found(&right.replace(from, to));
        let values = all
            .iter()
            .all(|it| matches!(it, Violation::WrongValue { .. }));
        assert!(values && !all.is_empty(), "{from}: {all:?}");
    }
}

#[test]
fn what_is_stored_for_a_call_is_loaded_again() {
    let original = ".entry k(.param .u32 a)\n{\n\t.reg .b32 %r<9>;\n\
        \tmov.u32 %r1, %tid.x;\n\tmul.lo.s32 %r1, %r1, 7;\n\t.param .b32 p;\n\tst.param.b32 [p], %r1;\n\
        \tld.param.b32 %r2, [p];\n\tst.shared.u32 [%r2], %r2;\n\tret;\n}\n";
    // The value is computed anew behind it.
    let right = original.replace(
        "\tst.shared.u32 [%r2], %r2;",
        "\tmov.u32 %r4, %tid.x;\n\tmul.lo.s32 %r4, %r4, 7;\n\tst.shared.u32 [%r4], %r4;",
    );
    judged(original, &right, &[("%r4, %r4, 7", "%r4, %r4, 6")]);
    let before = |text: &str, line: &str| {
        text.replace("\tld.param.b32 %r2", &format!("{line}\tld.param.b32 %r2"))
    };
    // What else is stored there, by whatever name of the space, and what a call does to it is not known.
    for line in [
        "\tst.param.b32 [p], %r5;\n",
        "\tst.param::func.b32 [p], %r5;\n",
        "\tst.param.b16 [p+2], %h1;\n",
        "\tcall f, (p);\n",
    ] {
        let head = |text: &str| {
            text.replace("\t.param .b32 p;", "\t.reg .b16 %h<3>;\n\t.param .b32 p;\n\tmov.u32 %r5, %clock;\n\tcvt.u16.u32 %h1, %r5;")
        };
        let (original, right) = (before(&head(original), line), before(&head(&right), line));
        let found = check(
            &parsed(&original),
            &parsed(&right),
            &Known::default(),
            &roomy(),
        );
        assert!(
            matches!(found[..], [Violation::WrongValue { .. }, ..]),
            "{line}: {found:?}"
        );
    }
}

#[test]
fn constants_are_shifted() {
    for (shift, value) in [
        ("shr.s32 %r1, -64, 3", -8i64),
        ("shr.u32 %r1, -64, 28", 15),
        ("shr.s32 %r1, 64, 3", 8),
    ] {
        let original = format!(
            ".entry k(.param .u32 a)\n{{\n\t.reg .b32 %r<9>;\n\t{shift};\n\tmov.u32 %r2, %tid.x;\n\
             \tadd.s32 %r3, %r2, %r1;\n\tst.shared.u32 [%r3], %r3;\n\tret;\n}}\n"
        );
        let anew = |value: i64| {
            original.replace(
                "\tst.shared.u32 [%r3], %r3;",
                &format!("\tmov.u32 %r4, %tid.x;\n\tadd.s32 %r4, %r4, {value};\n\tst.shared.u32 [%r4], %r4;"),
            )
        };
        let (from, to) = (
            format!("%r4, %r4, {value}"),
            format!("%r4, %r4, {}", value + 1),
        );
        judged(&original, &anew(value), &[(&from, &to)]);
    }
}
