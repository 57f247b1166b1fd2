//! The texts that result from evaluating ahead, shape by shape, and the refusals.

use super::{applied, item_of, own, read};
use facts::paths::{PathGraph, PathNumbers, PathProfile, Walk};
use ir::Language;
use lockstep_codegen::specialize::source::sink_dead::Recorded;
use lockstep_codegen::specialize::source::speculate::{Hazard, Refusal, Terms, plan};
use syntax::Span;

/// Evaluates the expression in which `|` stands ahead; at each branch lanes go the way of the next letter, `y` or `n`, of one of
/// some runs, each with its count.
fn ahead(language: Language, text: &str, runs: &[(&str, u64)]) -> Result<String, Refusal> {
    let at = text.find('|').expect("a cursor");
    let text = text.replacen('|', "", 1);
    let read = read(&text, language);
    let number = item_of(&read);
    let source = read.source(&text, number);
    let function = own(&read.parsed[number].2).expect("it is there");
    let (modules, _) = read.lowered();
    let module = modules
        .iter()
        .find(|module| module.functions[0].name == "kernel");
    let lowered = &module.expect("it is lowered").functions[0];
    let numbers = PathNumbers::new(PathGraph::of(lowered)).expect("few paths");
    let mut profile = PathProfile::default();
    for (decisions, count) in runs {
        for _ in 0..*count {
            let mut decisions = decisions.chars();
            let mut walk: Walk = numbers.enter();
            let mut at = lowered.layout[0];
            loop {
                let edges = lowered.blocks[at].terminator.edges();
                let edge = match edges.len() {
                    0 => break,
                    1 => 0,
                    _ => usize::from(decisions.next() != Some('y')),
                };
                let to = edges[edge].block;
                if let Some(number) = numbers.step(&mut walk, edge) {
                    profile.count(number);
                }
                at = to;
            }
            profile.count(numbers.leave(walk));
        }
    }
    let terms = Terms {
        recorded: (!runs.is_empty()).then_some(Recorded {
            function: lowered,
            numbers: &numbers,
            profile: &profile,
        }),
        parts_lanes: &|_| language != Language::C,
        wraps: false,
        least_work: 1,
        most: 4,
    };
    let place = Span::at(at as u32 - source.start);
    let plan = plan(&source, function, place, &terms)?;
    Ok(applied(&text, &plan.edits))
}

#[track_caller]
fn gives(before: &str, runs: &[(&str, u64)], after: &str) {
    let found = ahead(Language::C, before, runs).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(found, after, "\n{found}");
}

const TWICE: &str = "void kernel(float *p, float x, float y, int a, int b) {
    if (a > 0) {
        p[0] = x |/ y;
    }
    p[1] = 0.0f;
    if (b > 0) {
        p[2] = x / y;
    }
}
";

#[test]
fn what_both_branches_need_in_most_runs_is_evaluated_in_front_of_them() {
    gives(
        TWICE,
        &[("yy", 8), ("ny", 1), ("yn", 1)],
        "void kernel(float *p, float x, float y, int a, int b) {
    float ahead;
    if (a > 0) {
        ahead = x / y;
        p[0] = ahead;
    } else {
        ahead = x / y;
    }
    p[1] = 0.0f;
    if (b > 0) {
        p[2] = ahead;
    }
}
",
    );
}

#[test]
fn what_is_needed_on_each_way_is_one_constant() {
    gives(
        "void kernel(float *p, float x, float y, int a) {
    // The ratio.
    p[0] = x / y;
    if (a > 0) {
        p[2] = 3.0f * (x |/ y);
    }
}
",
        &[("y", 8), ("n", 1)],
        "void kernel(float *p, float x, float y, int a) {
    // The ratio.
    const float ahead = x / y;
    p[0] = ahead;
    if (a > 0) {
        p[2] = 3.0f * (ahead);
    }
}
",
    );
}

#[test]
fn changed_operands_end_a_value() {
    let changed = TWICE.replace("p[1] = 0.0f;", "x = 0.5f;");
    let found = ahead(Language::C, &changed, &[("yy", 8), ("ny", 1)]);
    assert!(
        matches!(
            found,
            Err(Refusal::NothingGained {
                evaluations: 17,
                ..
            })
        ),
        "{found:?}"
    );
    // Each way evaluates it once as it is.
    let apart = ahead(Language::C, TWICE, &[("yn", 8), ("ny", 4)]);
    assert!(
        matches!(apart, Err(Refusal::NothingGained { .. })),
        "{apart:?}"
    );
    let unknown = ahead(Language::C, TWICE, &[]);
    assert!(matches!(unknown, Err(Refusal::NoProfile(_))), "{unknown:?}");
}

#[test]
fn what_may_end_a_program_or_means_something_else_stays() {
    let runs: &[(&str, u64)] = &[("yy", 9), ("ny", 1)];
    let of = |from: &str, to: &str| ahead(Language::C, &TWICE.replace(from, to), runs);
    let hazard = |found: Result<String, Refusal>| match found {
        Err(Refusal::Hazard { hazard, .. }) => Some(hazard),
        _ => None,
    };
    let integers = TWICE.replace("float x, float y", "int x, int y");
    let integer = |operator: &str| {
        let text = integers.replace("x |/ y", &format!("x |{operator} y"));
        ahead(
            Language::C,
            &text.replace("x / y", &format!("x {operator} y")),
            runs,
        )
    };
    assert_eq!(hazard(integer("/")), Some(Hazard::Divides));
    assert_eq!(hazard(integer("*")), Some(Hazard::Overflows));
    assert_eq!(hazard(integer("<<")), Some(Hazard::Shifts));
    assert!(integer("^").is_ok());
    let loads = TWICE
        .replace("x |/ y", "p[3] |/ y")
        .replace("x / y", "p[3] / y");
    assert_eq!(
        hazard(ahead(Language::C, &loads, runs)),
        Some(Hazard::Reads)
    );
    let shadows = of(
        "    p[1] = 0.0f;\n    if (b > 0) {",
        "    p[1] = 0.0f;\n    if (b > 0) {\n        float x = 1.0f;",
    );
    assert!(matches!(shadows, Err(Refusal::Once(_))), "{shadows:?}");
    let unset = "void kernel(float *p, float y, int a, int b) {
    float x;
    if (a > 0) {
        x = p[4];
        p[0] = x / y;
    }
    if (b > 0) {
        p[2] = x |/ y;
    }
}
";
    let found = ahead(Language::C, unset, &[("yy", 9), ("ny", 1)]);
    assert!(matches!(found, Err(Refusal::Unset { .. })), "{found:?}");
    let directive = of("    p[1] = 0.0f;\n", "#if 1\n    p[1] = 0.0f;\n#endif\n");
    assert!(
        matches!(directive, Err(Refusal::Directive(_))),
        "{directive:?}"
    );
    let product = TWICE
        .replace("x |/ y", "1.0f + x |* y")
        .replace("x / y", "1.0f + x * y");
    let found = ahead(
        Language::C,
        &product.replace("1.0f + x |* y", "1.5f + x |* y"),
        runs,
    );
    assert!(matches!(found, Err(Refusal::Fused(_))), "{found:?}");
}

#[test]
fn variables_are_as_wide_as_what_they_hold() {
    let runs: &[(&str, u64)] = &[("yy", 9), ("ny", 1)];
    let integers = TWICE.replace("float x, float y", "unsigned x, int y");
    let of = |expression: &str| {
        let with = |text: &str, from: &str, to: &str| text.replace(from, to);
        let cursor = expression.replacen('(', "(|", 1);
        let text = with(&integers, "x |/ y", &cursor);
        ahead(Language::C, &with(&text, "x / y", expression), runs)
    };
    let unsigned = of("(x ^ 3u)").expect("an edit");
    assert!(unsigned.contains("    unsigned int ahead;\n"), "{unsigned}");
    let signed = of("(y ^ 3)").expect("an edit");
    assert!(signed.contains("    int ahead;\n"), "{signed}");
    // `0xFFFFFFF0` is unsigned, the others are longer.
    for wide in ["(y & 0xFFFFFFF0)", "(x ^ 4294967297)", "(y ^ 3000000000)"] {
        let found = of(wide);
        assert!(
            matches!(found, Err(Refusal::NoType(_))),
            "{wide}: {found:?}"
        );
    }
    let rounds = format!("#pragma STDC FENV_ACCESS ON\n{TWICE}");
    let found = ahead(Language::C, &rounds, runs);
    let environment = Hazard::Environment;
    assert!(
        matches!(&found, Err(Refusal::Hazard { hazard, .. }) if *hazard == environment),
        "{found:?}"
    );
}

#[test]
fn references_keep_what_they_are_bound_to() {
    let runs: &[(&str, u64)] = &[("yy", 9), ("ny", 1)];
    let cuda = |text: &str| {
        ahead(
            Language::Cuda,
            &text.replace("void kernel", "__global__ void kernel"),
            runs,
        )
    };
    let bound = TWICE.replace(
        "        p[2] = x / y;",
        "        const float& r = x / y;\n        p[2] = r;",
    );
    let found = cuda(&bound);
    assert!(matches!(found, Err(Refusal::Once(_))), "{found:?}");
}

#[test]
fn lanes_that_part_do_not_evaluate_twice() {
    let text = TWICE.replace("void kernel", "extern \"C\" __global__ void kernel");
    let found = ahead(Language::Cuda, &text, &[("yy", 8), ("ny", 1), ("yn", 1)]);
    assert!(matches!(found, Err(Refusal::Apart(_))), "{found:?}");
}
