use super::*;
use ir::Module;

fn of(text: &str) -> Schedules {
    let function = ir::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let module = Module {
        functions: vec![function],
    };
    let facts = crate::analyze(0, &module, &crate::Options::default());
    Schedules::new(&module.functions[0], &facts).expect("a small function")
}

/// Four loads from one address, summed up as they come.
const SUM: &str = r#"
function "k" kernel ptx {
  parameter "p" "float*" (v0)

b0(v0: ptr.global):
  v1: i32 = special tid.x
  v2: i64 = zext v1
  v3: i64 = const 4
  v4: i64 = mul v2, v3
  v5: ptr.global = ptr_add v0, v4
  v6: f32 = load.global v5
  v7: ptr.global = ptr_add v5, v3
  v8: f32 = load.global v7
  v9: f32 = fadd v6, v8
  v10: i64 = const 8
  v11: ptr.global = ptr_add v5, v10
  v12: f32 = load.global v11
  v13: f32 = fadd v9, v12
  v14: i64 = const 12
  v15: ptr.global = ptr_add v5, v14
  v16: f32 = load.global v15
  v17: f32 = fadd v13, v16
  store.global v5, v17
  return
}
"#;

#[test]
fn loads_begin_early_as_far_as_the_limit_goes() {
    let sum = of(SUM);
    // The address, the sum and what is added to it.
    assert_eq!(sum.least, 4);
    assert_eq!(sum.early(4), 4);
    // The address and all four.
    assert_eq!(sum.early(255), 6);
    assert_eq!(sum.accesses, 5);
    assert_eq!((sum.across_calls, sum.empty), (None, false));
}

/// A sum over an array, as its author writes it.
fn sum_of_array(language: &str, step: &str) -> String {
    format!(
        r#"
function "k" kernel {language} {{
  parameter "p" "float*" (v0)
  parameter "n" "int" (v1)
  parameter "q" "float*" (v2)

b0(v0: ptr.global, v1: i32, v2: ptr.global):
  v3: i32 = special tid.x
  v4: f32 = const 0.0
  v5: i32 = const 1
  jump b1(v3, v4)

b1(v6: i32, v7: f32):
  v8: bool = icmp.lt_s v6, v1
  branch v8, b2, b3 as loop

b2:
  v9: i64 = sext v6
  v10: i64 = const 4
  v11: i64 = mul v9, v10
  v12: ptr.global = ptr_add v0, v11
  v13: f32 = load.global v12
  v14: f32 = fadd v7, v13
  v15: i32 = add {step}
  jump b1(v15, v14)

b3:
  store.global v2, v7
  return
}}
"#
    )
}

#[test]
fn a_loop_that_counts_has_loads_of_several_iterations_under_way() {
    let counted = sum_of_array("cuda", "v6, v5");
    let copied = of(&counted).early(255);
    // The size of a step is not known before the launch.
    let rolled = of(&sum_of_array("cuda", "v6, v1")).early(255);
    assert!(copied >= rolled + 3, "{copied} and {rolled}");
    // In shaders a loop of unknown length stays one.
    let shader = of(&sum_of_array("hlsl", "v6, v5")).early(255);
    assert!(shader < copied, "{shader} and {copied}");
}

#[test]
fn a_scaled_index_is_part_of_the_address() {
    // Three addresses from one index: the product by itself would take two more.
    let text = r#"
function "k" kernel ptx {
  parameter "p" "float*" (v0)
  parameter "q" "float*" (v1)

b0(v0: ptr.global, v1: ptr.global):
  v2: i32 = special tid.x
  v3: i64 = zext v2
  v4: i64 = const 4
  v5: i64 = mul v3, v4
  v6: ptr.global = ptr_add v0, v5
  v7: f32 = load.global v6
  v8: ptr.global = ptr_add v1, v5
  store.global v8, v7
  return
}
"#;
    let function = ir::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let unfolded = crate::pressure::pressure(&function, crate::pressure::Counted::All)
        .map(|found| found.registers);
    assert_eq!(unfolded, Some(4));
    assert_eq!(of(text).least, 3);
}

#[test]
fn a_division_has_the_words_of_its_expansion() {
    let kernel = |operation: &str| {
        format!(
            r#"
function "k" kernel ptx {{
  parameter "p" "float*" (v0)

b0(v0: ptr.global):
  v1: f32 = load.global v0
  v2: f32 = {operation} v1, v1
  store.global v0, v2
  return
}}
"#
        )
    };
    let (product, quotient) = (of(&kernel("fmul")).least, of(&kernel("fdiv")).least);
    assert!(quotient >= product + 6, "{quotient} and {product}");
}
