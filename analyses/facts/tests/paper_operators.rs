//! The paper's analyses, an operator at a time: the claims about `a op b` hold for every thread, and for
//! numbers and for sums and multiples of `Tid` they are complete.

extern crate lockstep_facts as facts;

use facts::paper::{Coefficient, State, polynomial, simple};

type Of = fn(i64, i64) -> Option<i64>;

const OPERATORS: &[(&str, Of)] = &[
    ("+", |a, b| a.checked_add(b)),
    ("-", |a, b| a.checked_sub(b)),
    ("*", |a, b| a.checked_mul(b)),
    ("/", |a, b| a.checked_div(b)),
    ("%", |a, b| a.checked_rem(b)),
    ("<", |a, b| Some(i64::from(a < b))),
    ("<=", |a, b| Some(i64::from(a <= b))),
    (">", |a, b| Some(i64::from(a > b))),
    (">=", |a, b| Some(i64::from(a >= b))),
    ("==", |a, b| Some(i64::from(a == b))),
    ("!=", |a, b| Some(i64::from(a != b))),
    ("&", |a, b| Some(a & b)),
    ("|", |a, b| Some(a | b)),
    ("^", |a, b| Some(a ^ b)),
    ("<<", |a, b| a.checked_mul(1i64.checked_shl(b as u32)?)),
    (">>", |a, b| a.checked_shr(b as u32)),
];

/// Operands: `k * Tid * Tid + m * Tid + n`.
const OPERANDS: &[[i64; 3]] = &[
    [0, 0, 0],
    [0, 0, 1],
    [0, 0, 7],
    [0, 0, -5],
    [0, 0, 2],
    [0, 1, 0],
    [0, 1, 3],
    [0, -1, 4],
    [0, 4, -2],
    [1, 0, 0],
    [1, -2, 5],
    [-3, 0, 1],
];

fn value([k, m, n]: [i64; 3], tid: i64) -> i64 {
    k * tid * tid + m * tid + n
}

fn states(left: [i64; 3], operator: &str, right: [i64; 3], degree: usize) -> (State, bool, String) {
    let mut text = String::from("l0 t = Tid * Tid\n");
    for (name, [k, m, n], line) in [("a", left, 1), ("b", right, 6)] {
        text += &format!(
            "l{line} {name}0 = t * {k}\nl{} {name}1 = Tid * {m}\nl{} {name}2 = {name}0 + {name}1\nl{} {name} = {name}2 + {n}\n",
            line + 1,
            line + 2,
            line + 3
        );
    }
    text += &format!("l10 x = a {operator} b\nl11 stop\n");
    let program = syntax::musimd::parse(&text);
    assert_eq!(program.problems, [], "{text}");
    let states = polynomial::analyze(&program, degree).expect("gated");
    let (_, state) = states.into_iter().find(|(name, _)| name == "x").expect("x");
    let simple = simple::analyze(&program).expect("gated");
    let divergent = simple
        .into_iter()
        .find(|(name, _)| name == "x")
        .expect("x")
        .1;
    (state, divergent, text)
}

/// The polynomial where all its coefficients are known.
fn known(state: &State, tid: i64) -> Option<i64> {
    let mut sum = 0;
    for (power, coefficient) in state.powers().enumerate() {
        let Coefficient::Known(number) = coefficient else {
            return None;
        };
        sum += number * tid.pow(power as u32);
    }
    Some(sum)
}

#[test]
fn what_is_said_of_an_operator_holds_in_every_thread() {
    let mut exact = 0;
    for (operator, of) in OPERATORS {
        for &left in OPERANDS {
            for &right in OPERANDS {
                for degree in [1, 2] {
                    let (state, divergent, text) = states(left, operator, right, degree);
                    let values: Option<Vec<i64>> = (0..6)
                        .map(|tid| of(value(left, tid), value(right, tid)))
                        .collect();
                    let Some(values) = values else { continue };
                    let same = values.iter().all(|&value| value == values[0]);
                    for (tid, &value) in values.iter().enumerate() {
                        if let Some(claimed) = known(&state, tid as i64) {
                            assert_eq!(claimed, value, "{text} {state}");
                        }
                    }
                    assert!(same || !state.is_uniform(), "{text} {state}");
                    // A syntactic dependence is all that the simple analysis sees; here everything depends on `Tid`.
                    assert!(divergent, "{text}");
                    // Numbers are computed, and so are sums, differences and products within the degree.
                    let highest =
                        |[k, m, _]: [i64; 3]| if k != 0 { 2 } else { usize::from(m != 0) };
                    let (a, b) = (highest(left), highest(right));
                    let fits = a.max(b) <= degree;
                    let complete = match *operator {
                        "+" | "-" => fits,
                        "*" => fits && a + b <= degree,
                        _ => a == 0 && b == 0,
                    };
                    // `Tid * Tid` is beyond the first degree, whatever it is multiplied with.
                    if complete && degree == 2 {
                        assert!(known(&state, 1).is_some(), "{text} {state}");
                        exact += 1;
                    }
                }
            }
        }
    }
    assert!(exact > 600, "{exact}");
}

#[test]
fn polynomials_are_written_as_people_do() {
    let text = |operand: [i64; 3]| {
        states(operand, "+", [0, 0, 0], 2)
            .0
            .form("Tid")
            .map(|form| form.to_string())
            .unwrap_or_default()
    };
    for (operand, expected) in [
        ([0, 0, 0], "0"),
        ([0, 0, -5], "-5"),
        ([0, 1, 0], "Tid"),
        ([0, -1, 4], "-Tid + 4"),
        ([0, 4, -2], "4*Tid - 2"),
        ([1, 0, 0], "Tid*Tid"),
        ([1, -2, 5], "Tid*Tid - 2*Tid + 5"),
        ([-3, 0, 1], "-3*Tid*Tid + 1"),
    ] {
        assert_eq!(text(operand), expected);
    }
}
