//! The paper's tables: T3 (Figure 11), T4 (Figure 14), T5 (Figure 2) and T5b (Figure 15), numbers unchanged.

use super::*;

const SUM_TRIANGLE: &str = include_str!("../../../../fixtures/musimd/sum_triangle_gated.musimd");
const AVG_SQUARE: &str = include_str!("../../../../fixtures/musimd/avg_square_gated.musimd");
const FIGURE_15: &str = include_str!("../../../../fixtures/musimd/figure_15_gated.musimd");

fn states(text: &str, degree: usize) -> FxHashMap<String, String> {
    let program = syntax::musimd::parse(text);
    assert_eq!(program.problems, []);
    let found = polynomial::analyze(&program, degree).expect("gated");
    found
        .into_iter()
        .map(|(name, state)| (name.to_string(), state.to_string()))
        .collect()
}

fn expect(text: &str, degree: usize, wanted: &[(&str, &str)]) {
    let found = states(text, degree);
    for (names, state) in wanted {
        for name in names.split(' ') {
            assert_eq!(
                found.get(name).map(String::as_str),
                Some(*state),
                "{name} at degree {degree}"
            );
        }
    }
}

#[test]
fn t3_simple_analysis_of_sum_triangle() {
    let program = syntax::musimd::parse(SUM_TRIANGLE);
    let found = simple::analyze(&program).expect("gated");
    let side = |wanted: bool| -> Vec<String> {
        let mut names: Vec<String> = found
            .iter()
            .filter(|(_, d)| *d == wanted)
            .map(|(n, _)| n.to_string())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        side(true),
        [
            "L0", "d3", "i0", "i1", "i2", "p0", "s1", "s2", "s3", "s4", "t0", "x0", "x1"
        ]
    );
    assert_eq!(side(false), ["c", "d0", "d1", "d2", "p1", "s0"]);
}

#[test]
fn t4_figure_14_degree_1() {
    let wanted = [
        ("c", "(0,⊥)"),
        ("x0", "(1,1)"),
        ("L0", "(⊥,⊥)"),
        ("i0", "(1,0)"),
        ("i1 i2", "(1,⊥)"),
        ("p0", "(⊥,⊥)"),
        ("d0 s0", "(0,0)"),
        ("d1 d2 p1", "(0,⊥)"),
        ("d3 s1 s2 s3 s4 t0 x1", "(⊥,⊥)"),
    ];
    expect(SUM_TRIANGLE, 1, &wanted);
}

#[test]
fn t4_degree_2() {
    let wanted = [
        ("L0", "(0,⊥,⊥)"),
        ("x0", "(0,1,1)"),
        ("i1 i2", "(0,1,⊥)"),
        ("d1 d2 p1", "(0,0,⊥)"),
        ("s1 s2 s3 s4 t0 d3 x1 p0", "(⊥,⊥,⊥)"),
    ];
    expect(SUM_TRIANGLE, 2, &wanted);
}

#[test]
fn t4_avg_square_degree_1() {
    let wanted = [
        ("N0", "(1,⊥)"),
        ("t0", "(0,⊥)"),
        ("i0", "(1,0)"),
        ("i1 i2", "(1,⊥)"),
        ("p0", "(0,⊥)"),
        ("d0", "(0,0)"),
        ("d1 d2 d3", "(0,⊥)"),
        ("s1 s2 s3 t1 a0", "(⊥,⊥)"),
    ];
    expect(AVG_SQUARE, 1, &wanted);
}

#[test]
fn t5_figure_2_affine_column_at_degree_2() {
    expect(
        AVG_SQUARE,
        2,
        &[
            ("c V", "(0,0,⊥)"),
            ("i1 N0", "(0,1,⊥)"),
            ("d0", "(0,0,0)"),
            ("d1 d2 d3", "(0,0,⊥)"),
        ],
    );
    expect(
        SUM_TRIANGLE,
        2,
        &[
            ("L0", "(0,⊥,⊥)"),
            ("d0", "(0,0,0)"),
            ("d1 d2", "(0,0,⊥)"),
            ("d3", "(⊥,⊥,⊥)"),
        ],
    );
}

#[test]
fn t5_figure_2_simple_column() {
    let divergent = |text: &str, name: &str| {
        let found = simple::analyze(&syntax::musimd::parse(text)).expect("gated");
        found.iter().find(|(n, _)| n == name).map(|(_, d)| *d)
    };
    for (text, name, wanted) in [
        (AVG_SQUARE, "i1", true),
        (AVG_SQUARE, "N0", true),
        (AVG_SQUARE, "d0", false),
        (AVG_SQUARE, "d1", false),
        (AVG_SQUARE, "d3", true),
        (SUM_TRIANGLE, "L0", true),
        (SUM_TRIANGLE, "d0", false),
        (SUM_TRIANGLE, "d1", false),
        (SUM_TRIANGLE, "d3", true),
    ] {
        assert_eq!(divergent(text, name), Some(wanted), "{name}");
    }
}

#[test]
fn t5b_figure_15() {
    expect(
        FIGURE_15,
        1,
        &[("n", "(0,⊥)"), ("i0", "(⊥,0)"), ("i1 i2 k", "(⊥,⊥)")],
    );
    expect(
        FIGURE_15,
        2,
        &[("n", "(0,0,⊥)"), ("i0", "(0,⊥,0)"), ("i1 i2 k", "(0,⊥,⊥)")],
    );
}

/// The rules over the IR (`divergence::gated`) give the states of the programs as printed, variable by variable.
#[test]
fn the_rules_over_the_ir_agree_on_gated_programs() {
    let mut compared = 0;
    for text in [SUM_TRIANGLE, AVG_SQUARE, FIGURE_15] {
        let program = syntax::musimd::parse(text);
        let (module, problems) = ir::lower::musimd::lower(&program, "program");
        assert_eq!(problems, []);
        let function = &module.functions[0];
        for method in [Method::Simple, Method::Polynomial(1), Method::Polynomial(2)] {
            let options = Options {
                method,
                ..Options::default()
            };
            let facts = crate::analyze(0, &module, &options);
            let named = named(&program, function, &options).expect("gated");
            for binding in &function.bindings {
                if binding.kind == ir::BindingKind::Read {
                    continue;
                }
                let (_, wanted) = named
                    .iter()
                    .find(|(variable, _)| *variable == binding.variable)
                    .expect("every variable has a state");
                let found = facts.at(binding.values[0], binding.block);
                let name = &function.variables[binding.variable].name;
                assert_eq!(found.class, wanted.class, "{name} by {method:?}");
                assert_eq!(found.state, wanted.state, "{name} by {method:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

/// Straight-line programs: every claim is compared with the values in eight threads. A state with ⊥ below its
/// leading coefficient claims that some polynomial fits; a fully known state must be that polynomial.
#[test]
fn random_straight_line_programs_at_degrees_1_and_2() {
    let mut seed = 0x1234_5678_9abc_def0u64;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut claims = 0;
    for _ in 0..3000 {
        let (mut text, mut values): (String, Vec<Vec<i64>>) = (String::new(), Vec::new());
        let parameter: i64 = random(7) as i64 - 3;
        for number in 0..8 {
            let mut pick = || -> (String, Vec<i64>) {
                match random(4) {
                    0 => ("Tid".into(), (0..8).collect()),
                    1 => ("q".into(), vec![parameter; 8]),
                    2 if number > 0 => {
                        let at = random(number) as usize;
                        (format!("v{at}"), values[at].clone())
                    }
                    _ => {
                        let c = random(5) as i64;
                        (c.to_string(), vec![c; 8])
                    }
                }
            };
            let ((a, av), (b, bv)) = (pick(), pick());
            let (symbol, f): (&str, fn(i64, i64) -> i64) = match random(6) {
                0 => ("+", |a, b| a + b),
                1 => ("-", |a, b| a - b),
                2 => ("*", |a, b| a * b),
                3 => ("<", |a, b| i64::from(a < b)),
                4 => ("==", |a, b| i64::from(a == b)),
                _ => ("&", |a, b| a & b),
            };
            text += &format!("v{number} = {a} {symbol} {b}\n");
            values.push(
                av.iter()
                    .zip(&bv)
                    .map(|(&a, &b)| f(a, b) % 1_000_003)
                    .collect(),
            );
            if values[number as usize].iter().any(|v| v.abs() >= 1_000_000) {
                break;
            }
        }
        let program = syntax::musimd::parse(&text);
        for degree in [1, 2] {
            for (name, state) in polynomial::analyze(&program, degree).expect("written once") {
                let Some(number) = name.strip_prefix('v').and_then(|n| n.parse::<usize>().ok())
                else {
                    continue;
                };
                let Some(observed) = values.get(number) else {
                    continue;
                };
                if observed.iter().any(|v| v.abs() >= 1_000_000) {
                    continue;
                }
                let coefficients: Vec<Coefficient> = state.coefficients().collect();
                if state.is_uniform() {
                    claims += 1;
                    assert!(
                        observed.iter().all(|v| *v == observed[0]),
                        "{name} in\n{text}"
                    );
                } else if coefficients[0] != Coefficient::Bottom {
                    claims += 1;
                    // The (degree+1)-th finite difference of a polynomial is zero.
                    let mut differences = observed.clone();
                    for _ in 0..=degree {
                        differences = differences.windows(2).map(|w| w[1] - w[0]).collect();
                    }
                    assert!(
                        differences.iter().all(|d| *d == 0),
                        "{name} {state} in\n{text}"
                    );
                }
            }
        }
    }
    assert!(claims > 10_000, "{claims}");
}
