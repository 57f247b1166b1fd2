//! Operations across lanes.

use super::*;

fn cross(b: &mut FunctionBuilder, kind: WarpKind, args: &[Value], ty: Type) -> Value {
    b.value(Op::Warp(WarpOp { kind, mask: false }), args, ty)
}

#[test]
fn shuffles_move_within_segments() {
    let columns = returned(8, |b| {
        let lane = tid(b);
        let two = b.int(Type::I32, 2);
        let one = b.int(Type::I32, 1);
        let four = b.int(Type::I32, 4);
        let six = b.int(Type::I32, 6);
        [
            cross(b, WarpKind::ShuffleIndex, &[lane, six, four], Type::I32),
            cross(b, WarpKind::ShuffleUp, &[lane, one, four], Type::I32),
            cross(b, WarpKind::ShuffleDown, &[lane, two, four], Type::I32),
            cross(b, WarpKind::ShuffleXor, &[lane, one, four], Type::I32),
            cross(b, WarpKind::ShuffleXor, &[lane, four, four], Type::I32),
        ]
    });
    assert_eq!(
        columns,
        [
            [2, 2, 2, 2, 6, 6, 6, 6],
            [0, 0, 1, 2, 4, 4, 5, 6],
            [2, 3, 2, 3, 6, 7, 6, 7],
            [1, 0, 3, 2, 5, 4, 7, 6],
            [0, 1, 2, 3, 0, 1, 2, 3],
        ]
    );
}

#[test]
fn the_packed_form_of_ptx() {
    let module = kernel(|b| {
        let lane = tid(b);
        let delta = b.int(Type::I32, 3);
        let shuffle = |b: &mut FunctionBuilder, mode, c: i64| {
            let c = b.int(Type::I32, c);
            let op = WarpOp {
                kind: WarpKind::ShufflePtx(mode),
                mask: false,
            };
            let inst = b.inst(Op::Warp(op), &[lane, delta, c], &[Type::I32, Type::Bool]);
            b.results(inst).to_vec()
        };
        // Segments of 8 lanes: mask 0x18; up clamps at 0, the others at 7.
        let mut values = shuffle(b, ShuffleMode::Up, 0x1800);
        values.extend(shuffle(b, ShuffleMode::Down, 0x1807));
        values.extend(shuffle(b, ShuffleMode::Index, 0x1807));
        b.function.returns = values.iter().map(|&v| b.function.ty(v)).collect();
        b.ret(values);
    });
    let outcome = run(&module, &Launch::new(32));
    for lane in 0..32u64 {
        let at = lane % 8;
        let row: Vec<u64> = outcome.returned.iter().map(|c| c[lane as usize]).collect();
        let up = if at >= 3 { (lane - 3, 1) } else { (lane, 0) };
        let down = if at + 3 <= 7 {
            (lane + 3, 1)
        } else {
            (lane, 0)
        };
        assert_eq!(row, [up.0, up.1, down.0, down.1, lane - at + 3, 1]);
    }
    assert_eq!(outcome.events, []);
}

#[test]
fn votes_matches_and_reductions_over_the_active_lanes() {
    let module = kernel(|b| {
        let lane = tid(b);
        let five = b.int(Type::I32, 5);
        let two = b.int(Type::I32, 2);
        let one = b.int(Type::I32, 1);
        b.function.returns = vec![Type::I32; 11];
        let (inside, outside) = (b.create_block(), b.create_block());
        let c = less(b, lane, five);
        b.branch(c, inside, outside, BranchKind::If);
        b.switch_to(outside);
        let zero = b.int(Type::I32, 0);
        b.ret([zero; 11]);
        b.switch_to(inside);
        let few = less(b, lane, two);
        let parity = b.binary(BinaryOp::And, Wrap::MAY, lane, one);
        let truth = |b: &mut FunctionBuilder, kind, v| {
            let bit = cross(b, kind, &[v], Type::Bool);
            b.convert(Convert::ZeroExtend, bit, Type::I32)
        };
        let values = [
            truth(b, WarpKind::VoteAll, few),
            truth(b, WarpKind::VoteAny, few),
            truth(b, WarpKind::VoteUniform, few),
            cross(b, WarpKind::Ballot, &[few], Type::I32),
            cross(b, WarpKind::MatchAny, &[parity], Type::I32),
            cross(b, WarpKind::Reduce(ReduceOp::Add), &[lane], Type::I32),
            cross(
                b,
                WarpKind::PrefixExclusive(ReduceOp::Add),
                &[lane],
                Type::I32,
            ),
            cross(
                b,
                WarpKind::PrefixInclusive(ReduceOp::MaxSigned),
                &[parity],
                Type::I32,
            ),
            cross(b, WarpKind::CountBits, &[few], Type::I32),
            cross(b, WarpKind::PrefixCountBits, &[few], Type::I32),
            cross(b, WarpKind::ActiveMask, &[], Type::I32),
        ];
        b.ret(values);
    });
    let outcome = run(&module, &Launch::new(8));
    let row = |lane: usize| -> Vec<u64> { outcome.returned.iter().map(|c| c[lane]).collect() };
    assert_eq!(row(0), [0, 1, 0, 3, 0x15, 10, 0, 0, 2, 0, 31]);
    assert_eq!(row(3), [0, 1, 0, 3, 0x0a, 10, 3, 1, 2, 2, 31]);
    assert_eq!(row(6), [0; 11]);
}

#[test]
fn quads_and_first_lanes() {
    let columns = returned(8, |b| {
        let lane = tid(b);
        let three = b.int(Type::I32, 3);
        let first = cross(b, WarpKind::IsFirstLane, &[], Type::Bool);
        [
            cross(b, WarpKind::QuadReadAcrossX, &[lane], Type::I32),
            cross(b, WarpKind::QuadReadAcrossY, &[lane], Type::I32),
            cross(b, WarpKind::QuadReadAcrossDiagonal, &[lane], Type::I32),
            cross(b, WarpKind::QuadReadLaneAt, &[lane, three], Type::I32),
            cross(b, WarpKind::ReadFirstLane, &[lane], Type::I32),
            cross(b, WarpKind::ReadLaneAt, &[lane, three], Type::I32),
            first,
        ]
    });
    assert_eq!(
        columns,
        [
            [1, 0, 3, 2, 5, 4, 7, 6],
            [2, 3, 0, 1, 6, 7, 4, 5],
            [3, 2, 1, 0, 7, 6, 5, 4],
            [3, 3, 3, 3, 7, 7, 7, 7],
            [0; 8],
            [3; 8],
            [1, 0, 0, 0, 0, 0, 0, 0],
        ]
    );
}

#[test]
fn a_mask_that_names_lanes_elsewhere_is_an_event() {
    let module = kernel(|b| {
        let lane = tid(b);
        let four = b.int(Type::I32, 4);
        let all = b.int(Type::I32, -1);
        let (inside, end) = (b.create_block(), b.create_block());
        let c = less(b, lane, four);
        b.branch(c, inside, end, BranchKind::If);
        b.switch_to(inside);
        let op = WarpOp {
            kind: WarpKind::Reduce(ReduceOp::Add),
            mask: true,
        };
        b.inst(Op::Warp(op), &[lane, all], &[Type::I32]);
        b.inst(Op::Barrier(Barrier::Warp), &[all], &[]);
        b.jump(end);
        b.switch_to(end);
        // All lanes of this warp of eight are here: a full mask names nobody who is missing.
        let op = WarpOp {
            kind: WarpKind::ReadFirstLane,
            mask: true,
        };
        b.inst(Op::Warp(op), &[lane, all], &[Type::I32]);
        b.ret([]);
    });
    let outcome = run(&module, &Launch::new(8));
    assert_eq!(outcome.error, None);
    let kinds: Vec<&EventKind> = outcome.events.iter().map(|e| &e.kind).collect();
    let kind = EventKind::InactiveLanesInMask {
        mask: 0xffff_ffff,
        active: 0xf,
    };
    assert_eq!(kinds, [&kind, &kind]);
}

#[test]
fn wide_masks_fill_several_words() {
    let module = kernel(|b| {
        let lane = tid(b);
        let forty = b.int(Type::I32, 40);
        let c = less(b, lane, forty);
        let op = WarpOp {
            kind: WarpKind::Ballot,
            mask: false,
        };
        let inst = b.inst(Op::Warp(op), &[c], &[Type::I32; 4]);
        let mut values = b.results(inst).to_vec();
        values.push(cross(b, WarpKind::Ballot, &[c], Type::I64));
        b.function.returns = values.iter().map(|&v| b.function.ty(v)).collect();
        b.ret(values);
    });
    let mut launch = Launch::new(64);
    launch.warp_size = 64;
    let row: Vec<u64> = run(&module, &launch)
        .returned
        .iter()
        .map(|c| c[50])
        .collect();
    assert_eq!(row, [u64::MAX, 0xff, 0, 0, 0xff_ffff_ffff]);
}

#[test]
fn a_guard_narrows_the_lanes() {
    let module = kernel(|b| {
        let lane = tid(b);
        let two = b.int(Type::I32, 2);
        let c = less(b, lane, two);
        let guard = Some(Guard {
            value: c,
            negated: true,
        });
        let op = WarpOp {
            kind: WarpKind::ActiveMask,
            mask: false,
        };
        let inst = b.guarded(Op::Warp(op), &[], &[Type::I32], guard);
        let value = b.results(inst)[0];
        b.function.returns = vec![Type::I32];
        b.ret([value]);
    });
    assert_eq!(run(&module, &Launch::new(4)).returned, [vec![0, 0, 12, 12]]);
}
