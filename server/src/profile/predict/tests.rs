//! A loop with a branch that a list of numbers decides, in the intermediate form.

use super::*;
use crate::profile::record::{Recorder, Stream};
use ir::Module;
use oracle::interp::{Argument, Buffer, Launch, run_with};

/// `do { if (p[i] != 0) s += 3; else s ^= 5; i += 1 } while (i != 2000)`
const LOOP: &str = r#"
function "walk" kernel text {
  parameter "p" "int*" (v0)

b0(v0: ptr.global):
  v1: i32 = const 0
  jump b1(v1, v1)

b1(v2: i32, v3: i32):
  v4: i64 = zext v2
  v5: i64 = const 4
  v6: i64 = mul v4, v5
  v7: ptr.global = ptr_add v0, v6
  v8: i32 = load.global v7
  v9: i32 = const 0
  v10: bool = icmp.ne v8, v9
  branch v10, b2(), b3()

b2():
  v11: i32 = const 3
  v12: i32 = add v3, v11
  jump b4(v12)

b3():
  v13: i32 = const 5
  v14: i32 = xor v3, v13
  jump b4(v14)

b4(v15: i32):
  v16: i32 = const 1
  v17: i32 = add v2, v16
  v18: i32 = const 2000
  v19: bool = icmp.ne v17, v18
  branch v19, b1(v17, v15), b5()

b5():
  store.global v0, v15
  return
}
"#;

fn recorded(warp_size: u32, words: impl Fn(u32) -> u32) -> (Function, RecordedBranches) {
    let function = ir::text::parse(LOOP).unwrap_or_else(|error| panic!("{error}"));
    let mut launch = Launch::new(warp_size);
    launch.warp_size = warp_size;
    let bytes: Vec<u8> = (0..2048).flat_map(|at| words(at).to_le_bytes()).collect();
    launch.buffers.push(Buffer::global(bytes));
    launch.parameters.push(Argument::Pointer {
        buffer: 0,
        offset: 0,
    });
    let mut recorder = Recorder::new(&function, Stream::Every);
    let module = Module {
        functions: vec![function.clone()],
    };
    let outcome = run_with(&module, &launch, &mut recorder, &());
    assert_eq!(outcome.error, None);
    let (_, branches) = recorder.finish_with_branches();
    (function, branches)
}

/// Bits that look like chance.
fn chance(at: u32) -> u32 {
    let mixed = (at.wrapping_add(77)).wrapping_mul(0x9e37_79b1);
    (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca77) >> 31
}

fn design(name: &str) -> Design {
    Design::named(name).unwrap_or_else(|reason| panic!("{reason}"))
}

#[test]
fn a_branch_by_chance_is_hard_and_becomes_a_compare() {
    let (function, ran) = recorded(1, chance);
    let ones = (0..2000).filter(|&at| chance(at) != 0).count() as u64;
    let found = predicted(&function, &ran, &design("meta")).expect("one lane");
    let [hard, end] = found.branches[..] else {
        panic!("{found:?}");
    };
    assert_eq!((hard.block, end.block), (Block(1), Block(4)));
    assert_eq!((hard.counts.executed, hard.counts.taken), (2000, ones));
    assert_eq!((end.counts.executed, end.counts.taken), (2000, 1999));
    assert!((700..1300).contains(&hard.counts.mispredicted), "{hard:?}");
    assert!(end.counts.mispredicted < 100, "{end:?}");
    assert!(hard.compare && !end.compare);
    assert_eq!(hard.after, Ok(0));
    let after = found.after.expect("a region");
    assert_eq!((after.regions, after.entries), (1, 2000));
    assert_eq!(end.after, Ok(after.mispredicted));
    // One of both sides is fetched for nothing in each iteration: three instructions.
    assert_eq!(after.added, 3 * 2000);
}

#[test]
fn a_branch_that_is_always_predicted_needs_no_region() {
    let (function, ran) = recorded(1, |_| 0);
    let found = predicted(&function, &ran, &design("tage")).expect("one lane");
    assert!(found.branches[0].counts.mispredicted < 20, "{found:?}");
    assert!(found.all.mispredicted < 20, "{found:?}");
}

/// Two lanes of each warp see the same words: they never part.
#[test]
fn lanes_that_go_one_way_lose_nothing() {
    let (function, ran) = recorded(2, chance);
    assert_eq!(predicted(&function, &ran, &design("meta")), None);
    let counts: Vec<(u64, u64, u64)> = ran
        .counts
        .iter()
        .map(|(_, counts)| (counts.executed, counts.split, counts.lost))
        .collect();
    assert_eq!(counts, [(2000, 0, 0), (2000, 0, 0)]);
}
