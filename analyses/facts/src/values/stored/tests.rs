//! Profiles as data: a profile that is written is read back, an inconsistent one is refused, and values are
//! found after an edit.

use super::*;
use crate::values::profiler::Profiler;
use crate::values::record::{Counts, JointCounts, Misses, Recorded};
use ir::{Block, EntityVec, Function, Value};
use std::ops::Range;

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

/// Returns the counters after 64 threads, two warps.
fn recorded(function: &Function) -> Recorded {
    // The first warp looks away from the light.
    let light = |i: u32| if i < 32 { -1.0 - i as f32 } else { 0.5 };
    let bits = |number: f32| u64::from(number.to_bits());
    let shone = |i: u32| light(i).clamp(0.0, 1.0);
    let counts = |of: &dyn Fn(u32) -> u64, significant: u64| {
        let mut profiler = Profiler::default();
        (0..64).for_each(|i| profiler.collect(of(i)));
        let profile = profiler.finish();
        let warps = [0..32, 32..64];
        let all = |holds: &dyn Fn(u32, u32) -> bool| {
            let hold = |warp: &&Range<u32>| (**warp).clone().all(|i| holds(i, warp.start));
            warps.iter().filter(hold).count() as u64
        };
        Counts {
            executions: 2,
            zeros: all(&|i, _| of(i) & significant == 0),
            uniform: all(&|i, first| of(i) == of(first)),
            lanes: profile.executions,
            profiled: profile.executions,
            repeats: profile.recent[0],
            recent: profile.recent[1..].to_vec(),
            top: profile.top,
        }
    };
    let (whole, float) = (u64::MAX, 0x7fff_ffff);
    let values = vec![
        (Value(1), counts(&u64::from, whole)),
        (Value(2), counts(&u64::from, whole)),
        (Value(4), counts(&|i| 4 * u64::from(i), whole)),
        (Value(6), counts(&|i| bits(light(i)), float)),
        (Value(7), counts(&|i| bits(shone(i)), float)),
        (Value(8), counts(&|i| bits(shone(i) * light(i)), float)),
        (Value(9), counts(&|i| bits(shone(i) * shone(i)), float)),
    ];
    Recorded {
        warps: 2,
        values,
        joint: vec![JointCounts {
            members: [Value(8), Value(9)].into_iter().collect(),
            executions: 2,
            zeros: 1,
        }],
        blocks: EntityVec::with_len(2, function.blocks.len()),
        misses: Vec::new(),
        paths: None,
    }
}

fn profiled(function: &Function) -> StoredItem {
    item_of(function, 0, &recorded(function), &|loc| Place {
        line: loc.span.start,
        column: 1,
        of: None,
    })
}

#[test]
fn what_was_counted_makes_an_item() {
    let item = profiled(&parsed(SHADE));
    assert_eq!(item.warps, 2);
    let n = item.value(7).expect("v7");
    assert_eq!(
        (n.name.as_str(), n.shape.as_str()),
        ("n", "f32 Saturate(load Global)")
    );
    assert_eq!((n.executions, n.zeros, n.uniform, n.lanes), (2, 1, 2, 64));
    assert_eq!(n.zero_share(), Some(0.5));
    assert_eq!(n.profile().invariance(1), 0.5);
    assert_eq!(n.profile().most_recent(1), 62.0 / 64.0);
    let x = item.value(6).expect("v6");
    assert_eq!((x.zeros, x.uniform), (0, 1));
    assert_eq!(item.value(8).map(|c| c.name.as_str()), Some("c.x"));
    assert_eq!(item.joint.len(), 1);
    assert_eq!(
        item.joint[0],
        StoredJoint {
            members: vec![8, 9],
            executions: 2,
            zeros: 1
        }
    );
    assert_eq!(
        item.blocks,
        [StoredBlock {
            id: 0,
            executions: 2,
            shape: block_shape(&parsed(SHADE), Block(0)),
        }]
    );
}

fn whole(item: StoredItem) -> StoredProfile {
    StoredProfile {
        items: vec![item],
        ..StoredProfile::new("shade.lir", SHADE, 32)
    }
}

#[test]
fn what_goes_out_comes_in() {
    let profile = whole(profiled(&parsed(SHADE)));
    let text = serde_json::to_string(&profile).expect("plain data");
    let back: StoredProfile = serde_json::from_str(&text).expect("as written");
    assert_eq!(back, profile);
    assert_eq!(back.check(), Ok(()));
    assert!(!back.is_stale(SHADE));
    assert!(!back.is_stale(&SHADE.replace('\n', "\r\n")));
    assert!(back.is_stale(&SHADE.replace("saturate", "floor")));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let good = whole(profiled(&parsed(SHADE)));
    let wrong = |change: &dyn Fn(&mut StoredProfile)| {
        let mut profile = good.clone();
        change(&mut profile);
        profile.check().expect_err("wrong").to_string()
    };
    assert!(wrong(&|p| p.format = "x".into()).contains("not a profile"));
    assert!(wrong(&|p| p.version = 9).contains("version 9"));
    assert!(wrong(&|p| p.warp_size = 0).contains("warp_size"));
    assert!(wrong(&|p| p.items[0].values[0].zeros = u64::MAX).contains("more zeros"));
    assert!(wrong(&|p| p.items[0].values[0].id = 99).contains("not sorted"));
    assert!(wrong(&|p| p.items[0].values[1].top.clear_and_fill()).contains("too many top"));
    assert!(wrong(&|p| p.items[0].joint[0].members = vec![77]).contains("no value of the item"));
    assert!(wrong(&|p| p.items = vec![StoredItem::default(); MOST_ITEMS + 1]).contains("at most"));
    assert!(
        good.check_warp_size(64)
            .is_err_and(|e| e.to_string().contains("32 lanes"))
    );
}

trait Fill {
    fn clear_and_fill(&mut self);
}
impl Fill for Vec<StoredTop> {
    fn clear_and_fill(&mut self) {
        *self = vec![StoredTop::default(); MOST_TOP + 1];
    }
}

#[test]
fn values_are_found_again() {
    let item = profiled(&parsed(SHADE));
    let same = parsed(SHADE);
    let mapped = map(&item, &same);
    assert!(mapped.exact && mapped.lost.is_empty());
    let probabilities = mapped.probabilities(&item, &same);
    assert_eq!(probabilities.of(&[Value(7)]), Some(0.5));
    assert_eq!(probabilities.of(&[Value(8), Value(9)]), Some(0.5));
    assert_eq!(mapped.weights(&item, &same)[same.entry()], Some(1.0));

    // Positions do not count.
    let moved = parsed(&SHADE.replace("@14..16", "@114..116"));
    assert!(map(&item, &moved).exact);

    // Another instruction moves the ids; one operation has changed.
    let edited = SHADE
        .replace("  v1: i32", "  v20: f32 = const 1.0\n  v1: i32")
        .replace("v9: f32 = fmul v7, v7", "v9: f32 = fadd v7, v7");
    let edited = parsed(&edited);
    let mapped = map(&item, &edited);
    assert!(!mapped.exact);
    let n = edited.bindings[0].values[0];
    assert_eq!(mapped.of(&item, n).map(|value| value.zeros), Some(1));
    let lost: Vec<_> = mapped
        .lost
        .iter()
        .map(|lost| (lost.name.as_str(), lost.why))
        .collect();
    assert_eq!(lost, [("c.y", Why::Gone)]);
    assert_eq!(mapped.weights(&item, &edited)[edited.entry()], Some(1.0));
    assert_eq!(mapped.probabilities(&item, &edited).joint.len(), 0);
}

#[test]
fn counted_values_make_an_item() {
    let function = parsed(SHADE);
    let counted = [(vec![Value(7)], 10, 4), (vec![Value(8), Value(9)], 10, 3)];
    let item = stored_item(&function, 0, &counted, &|_| Place::default());
    assert_eq!(whole(item.clone()).check(), Ok(()));
    let probabilities = map(&item, &function).probabilities(&item, &function);
    assert_eq!(probabilities.of(&[Value(7)]), Some(0.4));
    assert_eq!(probabilities.of(&[Value(8), Value(9)]), Some(0.3));
    let mut twice = item.clone();
    aggregate(&mut twice, &item);
    assert_eq!(
        (twice.warps, twice.value(7).map(|v| v.zeros)),
        (20, Some(8))
    );
}

const BRANCHES: &str = r#"
function "f" kernel text {
  parameter "p" "int*" (v0)

b0(v0: ptr.global):
  v1: i32 = load.global v0
  v2: bool = to_bool v1
  branch v2, b1(), b2()

b1():
  store.global v0, v1
  jump b2()

b2():
  return
}
"#;

/// Branches are found by block in the same code, and by the block's operations in other code.
#[test]
fn branches_are_kept_with_their_blocks() {
    let function = parsed(BRANCHES);
    let branch = |block, executed, taken| StoredBranch {
        block,
        executed,
        taken,
        mispredicted: executed / 4,
        after: Some(1),
    };
    let mut item = stored_item(&function, 0, &[], &|_| Place::default());
    item.branches = vec![branch(0, 40, 10)];
    assert_eq!(
        found_branches(&item, &function),
        (vec![(Block(0), branch(0, 40, 10))], true)
    );
    let mut twice = item.clone();
    aggregate(&mut twice, &item);
    let sum = StoredBranch {
        mispredicted: 20,
        after: Some(2),
        ..branch(0, 80, 20)
    };
    assert_eq!(twice.branches, [sum]);
    // A block without several ways on has no branch, and one that is not there none.
    item.branches = vec![branch(0, 40, 10), branch(1, 4, 1), branch(9, 4, 1)];
    assert_eq!(found_branches(&item, &function).0.len(), 1);
    let changed = parsed(&BRANCHES.replace("to_bool v1", "icmp.lt_s v1, v1"));
    assert_eq!(found_branches(&item, &changed), (Vec::new(), false));
    let whole = |branches: Vec<StoredBranch>| {
        let mut item = item.clone();
        item.branches = branches;
        StoredProfile {
            items: vec![item],
            ..StoredProfile::new("f.c", "", 1)
        }
        .check()
    };
    assert_eq!(whole(vec![branch(0, 4, 4), branch(2, 4, 1)]), Ok(()));
    assert!(whole(vec![branch(2, 4, 4), branch(0, 4, 1)]).is_err());
    assert!(whole(vec![branch(0, 4, 5)]).is_err());
}

/// Misses of runs in the same caches are added; of other caches nothing is left, and runs without them change nothing.
#[test]
fn misses_are_those_of_one_processor() {
    let function = parsed(SHADE);
    let met = Misses {
        loads: 8,
        misses: 4,
        waited: 60,
        spared: 40,
        alone: 100,
        far: 1,
        far_alone: 64,
    };
    let through = |caches: &str| {
        let mut recorded = recorded(&function);
        // Of an address, too.
        recorded.misses = vec![(Value(5), met), (Value(6), met)];
        let place = |_| Place::default();
        StoredItem {
            caches: caches.to_owned(),
            ..item_of(&function, 0, &recorded, &place)
        }
    };
    let misses = |item: &StoredItem, id| item.value(id).and_then(|value| value.misses);
    let first = through("itanium2_caches");
    assert!(whole(first.clone()).check().is_ok());
    assert_eq!(
        [misses(&first, 5), misses(&first, 6), misses(&first, 7)],
        [Some(met), Some(met), None]
    );
    let mut both = first.clone();
    aggregate(&mut both, &first);
    aggregate(&mut both, &profiled(&function));
    assert_eq!(both.caches, "itanium2_caches");
    let sum = misses(&both, 6).expect("misses");
    assert_eq!((sum.loads, sum.misses, sum.far_alone), (16, 8, 128));
    assert_eq!((sum.shares(), sum.wait()), ((0.5, 0.125), 7.5));
    // Three of the eight that miss wait for a further cache, 36 cycles together.
    assert_eq!(met.alone(), [(4.5, 8.0 / 3.0), (8.0, 8.0)]);
    aggregate(&mut both, &through("bratt2001"));
    assert_eq!((both.caches.as_str(), misses(&both, 6)), ("", None));
    let mut later = profiled(&function);
    aggregate(&mut later, &first);
    assert_eq!(
        (later.caches.as_str(), misses(&later, 5)),
        ("itanium2_caches", Some(met))
    );
    let mut broken = first;
    broken.values.iter_mut().for_each(|value| {
        if let Some(misses) = &mut value.misses {
            misses.far = 9;
        }
    });
    assert!(whole(broken).check().is_err());
}
