//! Costs of small functions by hand.

use super::*;
use crate::machine::{charges, named};
use facts::Options;
use std::sync::Arc;

fn of(text: &str, profiled: Option<&[Option<f64>]>) -> (Function, ItemCost) {
    let function = ir::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let table = named("sm_80").unwrap_or_else(|| panic!("no table"));
    let options = Options {
        machine: Arc::new(charges(&table, 32)),
        ..Options::default()
    };
    let module = ir::Module {
        functions: vec![function.clone()],
    };
    let facts = facts::analyze(0, &module, &options);
    let known = profiled.map(|known| {
        let mut all = EntityVec::with_len(None, function.blocks.len());
        for (at, each) in known.iter().enumerate() {
            all[Block(at as u32)] = *each;
        }
        all
    });
    let cost = estimate(&function, &facts, &options.machine, known.as_ref());
    (function, cost)
}

const STRAIGHT: &str = r#"
function "f" kernel text {
  parameter "p" "float*" (v0)
  parameter "x" "float" (v1)

b0(v0: ptr.global, v1: f32):
  v2: f32 = fadd v1, v1
  v3: f32 = fmul v2, v1
  v4: f32 = fadd v3, v3
  v5: f32 = rsqrt v3
  store.global v0, v5
  return
}
"#;

#[test]
fn charges_add_up_and_what_nobody_needs_is_free() {
    let (_, cost) = of(STRAIGHT, None);
    // Two f32 at 2 cycles, a special one at 8, a store at 24; v4 is dead.
    assert_eq!(cost.total.cycles, 36.0);
    assert_eq!(cost.total.slots, 4.0);
    assert_eq!(cost.total.busy(Unit::Float), 4.0);
    assert_eq!(cost.total.busy(Unit::Special), 8.0);
    // The store keeps the address unit busy for 4 cycles; the rest is waiting.
    assert_eq!(cost.total.limit(), (Unit::Wait, 20.0));
    assert_eq!(cost.machine, "sm_80");
}

fn branching(condition: &str) -> String {
    format!(
        r#"
function "f" kernel text {{
  parameter "p" "float*" (v0)
  parameter "x" "float" (v1)
  parameter "n" "int" (v2)

b0(v0: ptr.global, v1: f32, v2: i32):
  v3: i32 = special tid.x
  v4: bool = icmp.lt_s {condition}, v2
  branch v4, b1, b2 as if

b1:
  v5: f32 = rsqrt v1
  jump b3(v5)

b2:
  v6: f32 = reciprocal v1
  jump b3(v6)

b3(v7: f32):
  store.global v0, v7
  return
}}
"#
    )
}

#[test]
fn a_divergent_branch_costs_both_sides() {
    let text = |condition| branching(condition);
    let (function, divergent) = of(&text("v3"), None);
    let (_, uniform) = of(&text("v2"), None);
    // The compare, the branch, the store of one address; the sides cost 8 each.
    let divergent_specials = divergent.total.busy(Unit::Special);
    assert_eq!(divergent_specials, 16.0, "{function:?}");
    assert_eq!(uniform.total.busy(Unit::Special), 8.0);
    // And the place where the lanes meet.
    assert_eq!(divergent.total.cycles - uniform.total.cycles, 8.0 + 4.0);
}

fn counting(last: &str) -> String {
    format!(
        r#"
function "f" kernel text {{
  parameter "p" "float*" (v0)
  parameter "x" "float" (v1)
  parameter "n" "int" (v2)

b0(v0: ptr.global, v1: f32, v2: i32):
  v3: i32 = const 0
  v4: i32 = const 1
  v5: i32 = const 20
  jump b1(v3, v1)

b1(v6: i32, v7: f32):
  v8: bool = icmp.lt_s v6, {last}
  branch v8, b2, b3 as loop

b2:
  v9: f32 = rsqrt v7
  v10: i32 = add.nsw v6, v4
  jump b1(v10, v9)

b3:
  store.global v0, v7
  return
}}
"#
    )
}

#[test]
fn iterations_are_constant_profiled_or_guessed() {
    let (_, constant) = of(&counting("v5"), None);
    let (_, guessed) = of(&counting("v2"), None);
    let known = [Some(1.0), Some(11.0), Some(10.0), Some(1.0)];
    let (_, profiled) = of(&counting("v2"), Some(&known));
    assert_eq!(constant.total.busy(Unit::Special), 160.0);
    assert_eq!(guessed.total.busy(Unit::Special), 56.0);
    assert_eq!(profiled.total.busy(Unit::Special), 80.0);
    assert_eq!((constant.guessed_loops, guessed.guessed_loops), (0, 1));
    assert_eq!((profiled.profiled, profiled.guessed_loops), (true, 0));
}

#[test]
fn lines_and_banks_that_a_warp_touches_count() {
    let machine = Machine::default();
    let access = |space, class, stride, sectors, ways| AccessFact {
        inst: Inst(0),
        loc: Loc::NONE,
        kind: facts::AccessKind::Load,
        space,
        class,
        base: SmolStr::default(),
        bytes: 4,
        stride_bytes: stride,
        stride_sum: None,
        sectors,
        ideal_sectors: 4,
        most_sectors: 32,
        bank_ways: ways,
        wide_ways: None,
        granule: None,
        padded_ways: None,
        lanes: 32,
        partial: false,
        address: ir::Value(0),
        assumed: false,
    };
    let cycles = |access: &AccessFact| {
        let mut charge = Charge {
            cycles: 1.0,
            slots: 1.0,
            busy: 1.0,
            unit: Unit::Memory,
        };
        touch(&mut charge, access, &machine, 32.0);
        charge.cycles
    };
    let global = Space::Global;
    assert_eq!(
        cycles(&access(
            global,
            AccessClass::Coalesced,
            Some(4),
            Some(4),
            None
        )),
        1.0
    );
    assert_eq!(
        cycles(&access(
            global,
            AccessClass::Strided,
            Some(16),
            Some(16),
            None
        )),
        4.0
    );
    assert_eq!(
        cycles(&access(
            global,
            AccessClass::Strided,
            Some(4096),
            Some(32),
            None
        )),
        32.0
    );
    assert_eq!(
        cycles(&access(global, AccessClass::Gather, None, None, None)),
        32.0
    );
    assert_eq!(
        cycles(&access(
            global,
            AccessClass::Uniform,
            Some(0),
            Some(1),
            None
        )),
        1.0
    );
    let shared = Space::Shared;
    assert_eq!(
        cycles(&access(
            shared,
            AccessClass::Strided,
            Some(128),
            None,
            Some(32)
        )),
        32.0
    );
    assert_eq!(
        cycles(&access(
            shared,
            AccessClass::Strided,
            Some(4),
            None,
            Some(1)
        )),
        1.0
    );
}
