//! The cases of the notes on AZP, sections 5, 6, 11.4 and 11.8, and the classes of operations.

use super::*;
use ir::text::parse;
use ir::{EntityVec, Function, Value};

fn function(body: &str) -> Function {
    let function = parse(&format!("function \"f\" kernel ptx {{\n{body}\n}}\n"))
        .unwrap_or_else(|error| panic!("{error}\n{body}"));
    ir::verify(&function).unwrap_or_else(|errors| panic!("{errors:?}"));
    function
}

fn numbers(candidates: &[Candidate]) -> Vec<Vec<u32>> {
    candidates
        .iter()
        .map(|candidate| candidate.members.iter().map(|value| value.0).collect())
        .collect()
}

fn probabilities(function: &Function, of: &[(u32, f64)]) -> Probabilities {
    let mut scalar = EntityVec::with_len(None, function.values.len());
    for &(value, probability) in of {
        scalar[Value(value)] = Some(probability);
    }
    Probabilities {
        scalar,
        ..Probabilities::default()
    }
}

/// A load of four components, each scaled, and a sum: the vector is found again along the uses.
const SCALED: &str = r#"
  parameter "p" "float*" (v0)
  parameter "l" "float" (v1)
b0(v0: ptr.global, v1: f32):
  v2: f32, v3: f32, v4: f32, v5: f32 = load.global v0
  v6: f32 = fmul v2, v1
  v7: f32 = fmul v3, v1
  v8: f32 = fmul v4, v1
  v9: f32 = fadd v6, v7
  v10: f32 = fadd v9, v8
  v11: f32 = fmul v10, v5
  store.global v0, v11
  return
"#;

#[test]
fn vectors_that_were_lost() {
    let function = function(SCALED);
    let found = numbers(&candidates(&function));
    for wanted in [vec![2, 3, 4, 5], vec![2, 3, 4], vec![6, 7, 8]] {
        assert!(found.contains(&wanted), "{wanted:?} in {found:?}");
    }
    // The product at the end reaches nothing that absorbs it.
    assert!(!found.contains(&vec![11]), "{found:?}");
    // The sum does.
    assert!(found.contains(&vec![10]), "{found:?}");
}

/// Loads of neighbouring addresses are one vector; a gap ends it.
#[test]
fn neighbouring_loads() {
    let function = function(
        r#"
  parameter "p" "float*" (v0)
  parameter "l" "float" (v1)
b0(v0: ptr.global, v1: f32):
  v2: i64 = const 4
  v3: i64 = const 12
  v4: ptr.global = ptr_add v0, v2
  v5: ptr.global = ptr_add v0, v3
  v6: f32 = load.global v4
  v7: f32 = load.global v0
  v8: f32 = load.global v5
  v9: f32 = fmul v6, v1
  v10: f32 = fmul v7, v1
  v11: f32 = fmul v8, v1
  store.global v0, v9, v10, v11
  return
"#,
    );
    let found = numbers(&candidates(&function));
    assert!(found.contains(&vec![7, 6]), "{found:?}");
    assert!(found.iter().all(|members| members.len() < 3), "{found:?}");
    assert_eq!(
        packs::packs(&function),
        [[Value(7), Value(6)], [Value(10), Value(9)]]
    );
}

#[test]
fn thresholds_and_products() {
    let function = function(SCALED);
    let all = candidates(&function);
    let profile = probabilities(&function, &[(2, 0.9), (3, 0.8), (4, 0.7), (5, 0.5)]);
    let left: Vec<Vec<u32>> = filter(&function, &all, &profile, THRESHOLD)
        .into_iter()
        .map(|(it, _)| it.members.iter().map(|value| value.0).collect())
        .collect();
    // .9 * .8 * .7 * .5 = .252 is below the threshold, .9 * .8 * .7 = .504 is not.
    assert!(left.contains(&vec![2, 3, 4]), "{left:?}");
    assert!(!left.contains(&vec![2, 3, 4, 5]), "{left:?}");
    let four: Vec<Value> = [2, 3, 4, 5].map(Value).to_vec();
    assert!((profile.of(&four).unwrap() - 0.252).abs() < 1e-9);
    // These components are zero together: the product of probabilities is far too low, the joint count is
    // right.
    let mut profile = probabilities(&function, &[(2, 0.6), (3, 0.6), (4, 0.6), (5, 0.6)]);
    assert!((profile.of(&four).unwrap() - 0.1296).abs() < 1e-9);
    profile.joint.insert(four.iter().copied().collect(), 0.6);
    let left = filter(&function, &all, &profile, THRESHOLD);
    assert!(
        left.iter()
            .any(|(it, p)| it.members.len() == 4 && *p == 0.6)
    );
    // A member that is seldom zero leaves the vector.
    let profile = probabilities(&function, &[(2, 0.9), (3, 0.8), (4, 0.9), (5, 0.1)]);
    let left = filter(&function, &all, &profile, THRESHOLD);
    assert!(left.iter().all(|(it, _)| !it.members.contains(&Value(5))));
}

/// Section 11.8: a product whose zeros are those of one factor follows from it.
#[test]
fn transitivity() {
    let function = function(SCALED);
    let all = candidates(&function);
    let kept = |product: f64| {
        let profile = probabilities(&function, &[(2, 0.5), (6, product)]);
        numbers(
            &filter(&function, &all, &profile, THRESHOLD)
                .into_iter()
                .map(|(it, _)| it)
                .collect::<Vec<_>>(),
        )
    };
    // v6 itself reaches an absorbing product through the sums.
    assert_eq!(kept(0.50), [[2]]);
    assert_eq!(kept(0.62), [[2], [6]]);
}

#[test]
fn zeros_by_structure() {
    let function = function(
        r#"
  parameter "x" "float" (v0)
  parameter "n" "int" (v1)
b0(v0: f32, v1: i32):
  v2: f32 = saturate v0
  v3: f32 = const 0.0
  v4: f32 = fmax v0, v3
  v5: f32 = step v0, v4
  v6: i32 = const 15
  v7: i32 = and v1, v6
  v8: bool = to_bool v7
  v9: f32 = select v8, v2, v3
  v10: f32 = fadd v0, v9
  return
"#,
    );
    let of = |value: u32| match function.values[Value(value)].def {
        ir::ValueDef::Result(inst, _) => originator(&function, inst),
        ir::ValueDef::Param(..) => None,
    };
    assert_eq!(of(2), Some(Originator::Saturate));
    assert_eq!(of(4), Some(Originator::MaxZero));
    assert_eq!(of(5), Some(Originator::Step));
    assert_eq!(of(7), Some(Originator::Mask));
    assert_eq!(of(9), Some(Originator::ZeroArm));
    assert_eq!(of(10), None);
}
