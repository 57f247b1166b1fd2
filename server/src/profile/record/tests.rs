//! A run of two warps, counted.

use super::*;
use facts::values::stored::{Place, StoredItem, StoredJoint, item_of};
use ir::Module;
use oracle::interp::{Argument, Buffer, Launch, run_with};

const SHADE: &str = r#"
function "shade" kernel text {
  parameter "p" "float*" (v0)
  variable x0 "n" "float" local @5..6
  variable x1 "c" "float2" local @7..8

b0(v0: ptr.global):
  v1: i32 = special tid.x
  v2: i64 = zext v1
  v3: i64 = const 4
  v4: i64 = mul v2, v3
  v5: ptr.global = ptr_add v0, v4
  v6: f32 = load.global v5 @10..12
  v7: f32 = saturate v6 @14..16
  v8: f32 = fmul v7, v6 @18..20
  v9: f32 = fmul v7, v7 @22..24
  store.global v5, v8
  return
  bind x0 declare b0 (v7) @5..6
  bind x1 declare b0 (v8, v9) @7..8
}
"#;

fn parsed(text: &str) -> Function {
    ir::text::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn profiled(function: &Function) -> StoredItem {
    let mut launch = Launch::new(64);
    // The first warp looks away from the light.
    let words = (0..64).map(|i| if i < 32 { -1.0 - i as f32 } else { 0.5 });
    launch.buffers.push(Buffer::of_f32(words));
    launch.parameters.push(Argument::Pointer {
        buffer: 0,
        offset: 0,
    });
    let mut recorder = Recorder::new(function, Stream::Every);
    let module = Module {
        functions: vec![function.clone()],
    };
    let outcome = run_with(&module, &launch, &mut recorder, &());
    assert_eq!(outcome.error, None);
    item_of(function, 0, &recorder.finish(), &|loc| Place {
        line: loc.span.start,
        column: 1,
        of: None,
    })
}

#[test]
fn a_run_is_counted_by_warps_and_by_lanes() {
    let item = profiled(&parsed(SHADE));
    assert_eq!(item.warps, 2);
    let n = item.value(7).expect("v7");
    assert_eq!((n.executions, n.zeros, n.uniform, n.lanes), (2, 1, 2, 64));
    assert_eq!(n.profile().most_recent(1), 62.0 / 64.0);
    let x = item.value(6).expect("v6");
    assert_eq!((x.zeros, x.uniform), (0, 1));
    let joint = StoredJoint {
        members: vec![8, 9],
        executions: 2,
        zeros: 1,
    };
    assert_eq!(item.joint, [joint]);
    assert_eq!((item.blocks[0].id, item.blocks[0].executions), (0, 2));
}
