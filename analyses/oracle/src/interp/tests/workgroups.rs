//! Barriers, shared memory, and the reports about barriers that never complete.

use super::*;

fn barrier(b: &mut FunctionBuilder) {
    b.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
}

/// out[block] = sum of in[block * size .. ], by halving in shared memory.
fn reduction(size: u32) -> Module {
    kernel(|b| {
        let input = b.parameter("in", "int*", &[Type::Ptr(Space::Global)])[0];
        let output = b.parameter("out", "int*", &[Type::Ptr(Space::Global)])[0];
        let tile = shared(b, "tile", size * 4);
        let lane = tid(b);
        let group = b.special(Special::BlockId(0), Type::I32);
        let dim = b.special(Special::BlockDim(0), Type::I32);
        let base = b.binary(BinaryOp::Mul, Wrap::MAY, group, dim);
        let index = add(b, base, lane);
        let zero = b.int(Type::I32, 0);
        let one = b.int(Type::I32, 1);
        let own = element(b, tile, lane, 4);
        let at = element(b, input, index, 4);
        let value = b.load(GLOBAL, at, Type::I32);
        b.store(SHARED, own, &[value]);
        barrier(b);
        let stride = b.slot(Type::I32);
        let half = b.binary(BinaryOp::ShrUnsigned, Wrap::MAY, dim, one);
        b.write(stride, half);
        let blocks: Vec<Block> = (0..6).map(|_| b.create_block()).collect();
        let [head, body, work, meet, first, end] = blocks[..] else {
            unreachable!()
        };
        b.jump(head);
        b.switch_to(head);
        let s = b.read(stride);
        let more = less(b, zero, s);
        b.branch(more, body, first, BranchKind::Loop);
        b.switch_to(body);
        let active = less(b, lane, s);
        b.branch(active, work, meet, BranchKind::If);
        b.switch_to(work);
        let partner = add(b, lane, s);
        let theirs = element(b, tile, partner, 4);
        let x = b.load(SHARED, own, Type::I32);
        let y = b.load(SHARED, theirs, Type::I32);
        let sum = add(b, x, y);
        b.store(SHARED, own, &[sum]);
        b.jump(meet);
        b.switch_to(meet);
        barrier(b);
        let s = b.read(stride);
        let next = b.binary(BinaryOp::ShrUnsigned, Wrap::MAY, s, one);
        b.write(stride, next);
        b.jump(head);
        b.switch_to(first);
        let out = element(b, output, group, 4);
        let total = b.load(SHARED, tile, Type::I32);
        let is_first = b.int_compare(IntCondition::Equal, lane, zero);
        let store = b.create_block();
        b.branch(is_first, store, end, BranchKind::If);
        b.switch_to(store);
        b.store(GLOBAL, out, &[total]);
        b.jump(end);
        b.switch_to(end);
        b.ret([]);
    })
}

#[test]
fn a_reduction_in_shared_memory() {
    let module = reduction(128);
    for (warp, mode, shuffle) in [
        (32, Mode::Lockstep, false),
        (8, Mode::Lockstep, true),
        (64, Mode::Lockstep, true),
        (32, Mode::LanesApart, true),
    ] {
        let mut launch = Launch::new(128);
        launch.grid = [3, 1, 1];
        launch.warp_size = warp;
        launch.mode = mode;
        launch.shuffle_warps = shuffle;
        launch.buffers = vec![Buffer::of_u32(0..384), Buffer::of_u32([0; 3])];
        launch.parameters = (0..2)
            .map(|buffer| Argument::Pointer { buffer, offset: 0 })
            .collect();
        let outcome = run(&module, &launch);
        assert_eq!(outcome.error, None);
        assert_eq!(outcome.buffers[1].words(), [8128, 24512, 40896]);
    }
}

#[test]
fn a_transposed_tile() {
    let module = kernel(|b| {
        let input = b.parameter("in", "int*", &[Type::Ptr(Space::Global)])[0];
        let output = b.parameter("out", "int*", &[Type::Ptr(Space::Global)])[0];
        let tile = shared(b, "tile", 8 * 9 * 4);
        let x = tid(b);
        let y = b.special(Special::ThreadId(1), Type::I32);
        let eight = b.int(Type::I32, 8);
        let nine = b.int(Type::I32, 9);
        let place = |b: &mut FunctionBuilder, base, row, column, pitch| {
            let row = b.binary(BinaryOp::Mul, Wrap::MAY, row, pitch);
            let index = add(b, row, column);
            element(b, base, index, 4)
        };
        let from = place(b, input, y, x, eight);
        let value = b.load(GLOBAL, from, Type::I32);
        let into = place(b, tile, y, x, nine);
        b.store(SHARED, into, &[value]);
        barrier(b);
        let from = place(b, tile, x, y, nine);
        let value = b.load(SHARED, from, Type::I32);
        let into = place(b, output, y, x, eight);
        b.store(GLOBAL, into, &[value]);
        b.ret([]);
    });
    let mut launch = Launch::new(8);
    launch.block = [8, 8, 1];
    launch.warp_size = 16;
    launch.buffers = vec![Buffer::of_u32(0..64), Buffer::of_u32([0; 64])];
    launch.parameters = (0..2)
        .map(|buffer| Argument::Pointer { buffer, offset: 0 })
        .collect();
    let outcome = run(&module, &launch);
    assert_eq!(outcome.error, None);
    let wanted: Vec<u32> = (0..64).map(|i| i % 8 * 8 + i / 8).collect();
    assert_eq!(outcome.buffers[1].words(), wanted);
}

/// A barrier where `tid < limit`, and then the rest.
fn conditional_barrier(limit: i64) -> Module {
    kernel(|b| {
        let lane = tid(b);
        let limit = b.int(Type::I32, limit);
        let (inside, rest) = (b.create_block(), b.create_block());
        let c = less(b, lane, limit);
        b.branch(c, inside, rest, BranchKind::If);
        b.switch_to(inside);
        b.set_loc(Loc::here(syntax::Span::new(3, 4)));
        barrier(b);
        b.jump(rest);
        b.switch_to(rest);
        b.ret([]);
    })
}

fn barrier_fault(module: &Module, launch: &Launch) -> (u32, u32, BarrierFault) {
    match run(module, launch).error {
        Some(Error::Barrier { place, fault }) => (place.warp, place.lane, fault),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_barrier_for_part_of_a_warp_is_reported() {
    let found = barrier_fault(&conditional_barrier(8), &Launch::new(32));
    assert_eq!(
        found,
        (
            0,
            0,
            BarrierFault::PartOfWarp {
                missing: 0xffff_ff00
            }
        )
    );
}

#[test]
fn a_barrier_that_other_warps_never_reach_is_reported() {
    let found = barrier_fault(&conditional_barrier(32), &Launch::new(96));
    assert_eq!(
        found,
        (0, 0, BarrierFault::OtherWarps { warps: vec![1, 2] })
    );
}

#[test]
fn ended_lanes_are_reported_or_counted_as_asked() {
    let module = kernel(|b| {
        let lane = tid(b);
        let limit = b.int(Type::I32, 40);
        let (end, rest) = (b.create_block(), b.create_block());
        let c = less(b, lane, limit);
        b.branch(c, rest, end, BranchKind::If);
        b.switch_to(end);
        b.ret([]);
        b.switch_to(rest);
        barrier(b);
        b.ret([]);
    });
    let mut launch = Launch::new(96);
    assert!(matches!(
        barrier_fault(&module, &launch),
        (
            1,
            0,
            BarrierFault::EndedLanes {
                missing: 0xffff_ff00
            }
        )
    ));
    launch.ended_lanes_arrive = true;
    for reverse in [false, true] {
        launch.reverse_groups = reverse;
        assert_eq!(run(&module, &launch).error, None);
    }
}

#[test]
fn lanes_held_at_a_common_end_are_no_obstacle_where_ended_ones_are_not() {
    let module = conditional_barrier(8);
    let mut launch = Launch::new(32);
    launch.ended_lanes_arrive = true;
    assert_eq!(run(&module, &launch).error, None);
}

#[test]
fn reducing_barriers_give_the_workgroups_answer() {
    let columns = returned(70, |b| {
        let lane = tid(b);
        let three = b.int(Type::I32, 3);
        let hundred = b.int(Type::I32, 100);
        let few = less(b, lane, three);
        let all = less(b, lane, hundred);
        let ask = |b: &mut FunctionBuilder, kind, p, ty| b.value(Op::Barrier(kind), &[p], ty);
        [
            ask(b, Barrier::WorkgroupCount, few, Type::I32),
            ask(b, Barrier::WorkgroupAnd, few, Type::I32),
            ask(b, Barrier::WorkgroupOr, few, Type::Bool),
            ask(b, Barrier::WorkgroupAnd, all, Type::Bool),
        ]
    });
    assert_eq!(
        columns,
        [vec![3; 70], vec![0; 70], vec![1; 70], vec![1; 70]]
    );
}

/// Warp 0 produces, warp 1 consumes, with named barriers 1 and 2.
#[test]
fn named_barriers_pair_a_producer_with_a_consumer() {
    let module = kernel(|b| {
        let cell = shared(b, "cell", 128);
        let lane = b.special(Special::LaneId, Type::I32);
        let warp = b.special(Special::WarpId, Type::I32);
        let zero = b.int(Type::I32, 0);
        let one = b.int(Type::I32, 1);
        let count = b.int(Type::I32, 64);
        let own = element(b, cell, lane, 4);
        b.function.returns = vec![Type::I32];
        let (produce, consume) = (b.create_block(), b.create_block());
        let is_producer = b.int_compare(IntCondition::Equal, warp, zero);
        b.branch(is_producer, produce, consume, BranchKind::If);
        b.switch_to(produce);
        let value = add(b, lane, count);
        b.store(SHARED, own, &[value]);
        b.inst(
            Op::Barrier(Barrier::Named { arrive: true }),
            &[one, count],
            &[],
        );
        b.ret([zero]);
        b.switch_to(consume);
        b.inst(
            Op::Barrier(Barrier::Named { arrive: false }),
            &[one, count],
            &[],
        );
        let value = b.load(SHARED, own, Type::I32);
        b.ret([value]);
    });
    let mut launch = Launch::new(64);
    for seed in 0..4 {
        launch.seed = seed;
        launch.shuffle_warps = true;
        let outcome = run(&module, &launch);
        assert_eq!(outcome.error, None);
        let wanted: Vec<u64> = (0..64).map(|i| if i < 32 { 0 } else { i + 32 }).collect();
        assert_eq!(outcome.returned, [wanted]);
    }
}

#[test]
fn a_grid_barrier_waits_for_all_workgroups() {
    let module = kernel(|b| {
        let p = b.parameter("p", "int*", &[Type::Ptr(Space::Global)])[0];
        returns(b, |b| {
            let one = b.int(Type::I32, 1);
            b.inst(Op::Atomic(AtomicOp::Add, GLOBAL), &[p, one], &[]);
            b.inst(Op::Barrier(Barrier::Grid), &[], &[]);
            [b.load(GLOBAL, p, Type::I32)]
        });
    });
    let mut launch = Launch::new(40);
    launch.grid = [2, 2, 1];
    launch.buffers = vec![Buffer::of_u32([0])];
    launch.parameters = vec![Argument::Pointer {
        buffer: 0,
        offset: 0,
    }];
    let outcome = run(&module, &launch);
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.returned, [vec![160; 160]]);
}

#[test]
fn builtin_values_of_a_launch() {
    let module = kernel(|b| {
        returns(b, |b| {
            let ask = |b: &mut FunctionBuilder, s| b.special(s, Type::I32);
            [
                ask(b, Special::ThreadId(0)),
                ask(b, Special::ThreadId(1)),
                ask(b, Special::ThreadId(2)),
                ask(b, Special::BlockId(0)),
                ask(b, Special::BlockId(1)),
                ask(b, Special::LaneId),
                ask(b, Special::WarpId),
                ask(b, Special::WarpCount),
                ask(b, Special::LaneMaskLt),
                ask(b, Special::LaneMaskGe),
            ]
        });
    });
    let mut launch = Launch::new(1);
    launch.block = [3, 2, 2];
    launch.grid = [2, 3, 1];
    launch.warp_size = 8;
    let outcome = run(&module, &launch);
    let lane = 12 * 3 + 10;
    let row: Vec<u64> = outcome.returned.iter().map(|column| column[lane]).collect();
    assert_eq!(row, [1, 1, 1, 1, 1, 2, 1, 2, 3, 0xfc]);
}
