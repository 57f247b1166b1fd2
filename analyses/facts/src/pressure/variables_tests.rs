//! Remedies of small functions.

use super::super::pressure;
use super::*;
use crate::model::Options;
use ir::Module;

/// Returns the values that are live at the peak of the text's function, by their numbers.
fn of(text: &str) -> Vec<(u32, Class, Remedy)> {
    over(text, Options::default())
}

/// The same where values are classified as these options ask.
fn over(text: &str, options: Options) -> Vec<(u32, Class, Remedy)> {
    let function = ir::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let module = Module {
        functions: vec![function],
    };
    let facts = crate::divergence::analyze(0, &module, &options);
    let function = &module.functions[0];
    let pressure = pressure(function, Counted::All).expect("it is small");
    let found = variables(function, &facts, Counted::All, &pressure).expect("it is small");
    let mut out: Vec<(u32, Class, Remedy)> = found
        .iter()
        .map(|it| (it.values[0].0, it.class, it.remedy))
        .collect();
    out.sort_unstable_by_key(|it| it.0);
    out
}

/// The thread's number is computed again, an element of read-only memory loaded again; the sum of an atomic, which is as
/// it was, is kept once a lane.
#[test]
fn each_value_has_its_cheapest_remedy() {
    let text = r#"
function "k" kernel cuda {
  parameter "p" "const int*" (v0)
  parameter "q" "int*" (v1)

b0(v0: ptr.global, v1: ptr.global):
  v2: i32 = special tid.x
  v3: i64 = sext v2
  v4: i64 = const 4
  v5: i64 = mul v3, v4
  v6: ptr.global = ptr_add v1, v5
  v7: i32 = load.global.read_only v0
  v8: i32 = load.global v6
  v9: i32 = load.global v1
  v10: i32 = load.global v1
  v11: i32 = mul v8, v9
  v12: i32 = mul v11, v8
  v13: i32 = add v12, v9
  v14: i32 = add v13, v7
  v15: i32 = add v14, v10
  v16: i32 = add v15, v2
  store.global v6, v16
  return
}
"#;
    let found = of(text);
    let remedy = |value: u32| {
        let row = found.iter().find(|it| it.0 == value);
        row.map(|it| it.2)
            .unwrap_or_else(|| panic!("v{value} in {found:?}"))
    };
    assert_eq!(remedy(7), Remedy::Reload, "{found:?}");
    assert!(matches!(remedy(6), Remedy::Recompute { .. }), "{found:?}");
    assert_eq!(remedy(10), Remedy::WarpSlot, "{found:?}");
    assert_eq!(remedy(8), Remedy::Needed, "{found:?}");
}

/// A uniform value that lanes take out of a loop in different iterations has no copy of the warp.
#[test]
fn what_leaves_a_loop_lane_by_lane_has_no_slot_of_the_warp() {
    let text = r#"
function "k" kernel cuda {
  parameter "n" "int" (v0)
  parameter "q" "int*" (v1)

b0(v0: i32, v1: ptr.global):
  v2: i32 = special tid.x
  v3: i32 = const 0
  v4: i32 = const 1
  jump b1(v3)

b1(v5: i32):
  v6: i32 = add v5, v4
  v7: bool = icmp.lt_s v6, v2
  branch v7, b3, b2 as loop

b3:
  jump b1(v6)

b2:
  v8: i32 = load.global v1
  v9: i32 = mul v8, v2
  v10: i32 = mul v9, v8
  v11: i32 = mul v10, v2
  v12: i32 = add v11, v5
  store.global v1, v12
  return
}
"#;
    let found = of(text);
    let own = found.iter().find(|it| it.0 == 5);
    let &(_, class, remedy) = own.unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(class, Class::Divergent);
    assert_eq!(remedy, Remedy::LaneSlot);
}

/// A value that is equal in the four lanes of a quad may differ in the warp: a slot of the warp would hold
/// the value of one of them.
#[test]
fn a_value_of_a_quad_has_no_slot_of_the_warp() {
    let text = r#"
function "k" kernel cuda {
  parameter "p" "int*" (v0)

b0(v0: ptr.global):
  v1: i32 = special tid.x
  v2: i32 = const 0
  v3: i32 = atomic.add.global v0, v1
  v4: i32 = warp.quad_at v3, v2
  v5: i32 = load.global v0
  v6: i32 = mul v5, v5
  v7: i32 = add v6, v5
  v8: i32 = mul v7, v6
  v9: i32 = add v8, v4
  store.global v0, v9
  return
}
"#;
    let options = Options {
        scope: crate::model::Scope::Quad,
        block: [Some(64), Some(1), Some(1)],
        ..Options::default()
    };
    let found = over(text, options);
    let loaded = found.iter().find(|row| row.0 == 4);
    assert_eq!(
        loaded.map(|row| (row.1, row.2)),
        Some((Class::Uniform, Remedy::LaneSlot)),
        "{found:?}"
    );
}
