//! Files of the values of small functions.

use super::super::pressure;
use super::*;
use crate::model::Options;
use ir::Module;

/// The numbers of the values that scalar registers hold, and the most words live of each file.
fn of(text: &str, lanes: u32) -> (Vec<u32>, u32, u32) {
    let function = ir::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let module = Module {
        functions: vec![function],
    };
    let facts = crate::divergence::analyze(0, &module, &Options::default());
    let function = &module.functions[0];
    let scalar = ScalarValues::new(function, &facts, lanes);
    let most = |counted| pressure(function, counted).map_or(u32::MAX, |found| found.registers);
    let held = function.values.keys().filter(|&value| scalar.holds(value));
    let counts = (
        most(Counted::Vector(&scalar)),
        most(Counted::Scalar(&scalar)),
    );
    (held.map(|value| value.0).collect(), counts.0, counts.1)
}

const KERNEL: &str = r#"
function "k" kernel cuda {
  parameter "p" "float*" (v0)
  parameter "n" "int" (v1)

b0(v0: ptr.global, v1: i32):
  v2: i32 = special tid.x
  v3: f32 = load.global v0
  v4: f32 = fadd v3, v3
  v5: i64 = sext v2
  v6: i64 = const 4
  v7: i64 = mul v5, v6
  v8: ptr.global = ptr_add v0, v7
  v9: bool = icmp.lt_s v2, v1
  branch v9, b1, b2

b1:
  store.global v8, v4
  jump b2

b2:
  v10: f32 = load.global v0
  v11: i32 = add v1, v1
  v12: f32 = fadd v10, v4
  store.global v8, v12
  return
}
"#;

/// Parameters, a load in front of all stores and integers made of them are scalar; a sum of floats is not, nor a load that
/// a store may have come before.
#[test]
fn the_scalar_unit_keeps_integers_and_what_nobody_wrote() {
    let (held, ..) = of(KERNEL, 32);
    assert_eq!(held, [0, 1, 3, 6, 11]);
}

/// Address, sum and number of the lane beside parameters and a mask, which takes a register for each 32 lanes.
#[test]
fn masks_of_wide_warps_take_two_registers() {
    let (_, vector, narrow) = of(KERNEL, 32);
    let (_, same, wide) = of(KERNEL, 64);
    assert_eq!((vector, same), (4, 4));
    assert_eq!(wide, narrow + 1);
}

/// A value that lanes take out of a loop in different iterations is not scalar, though each iteration has one of it.
#[test]
fn what_lanes_leave_a_loop_with_is_not_scalar() {
    let text = r#"
function "k" kernel cuda {
  parameter "p" "int*" (v0)

b0(v0: ptr.global):
  v1: i32 = special tid.x
  v2: i32 = const 0
  v3: i32 = const 1
  jump b1(v2)

b1(v4: i32):
  v5: i32 = add v4, v3
  v6: bool = icmp.lt_s v5, v1
  branch v6, b2, b3 as loop

b2:
  jump b1(v5)

b3:
  store.global v0, v5
  return
}
"#;
    let (held, ..) = of(text, 32);
    assert!(!held.contains(&5), "{held:?}");
    assert!(held.contains(&0), "{held:?}");
}
