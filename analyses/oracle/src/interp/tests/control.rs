//! Reconvergence, calls, ends of lanes, and shapes of control flow with known answers.

use super::*;

/// Counts to the lane's number and returns twice the count: lanes leave the loop in different iterations.
fn temporal(b: &mut FunctionBuilder) -> [Value; 1] {
    let i = b.slot(Type::I32);
    let zero = b.int(Type::I32, 0);
    let one = b.int(Type::I32, 1);
    let lane = tid(b);
    b.write(i, zero);
    let (header, body, exit) = (b.create_block(), b.create_block(), b.create_block());
    b.jump(header);
    b.switch_to(header);
    let now = b.read(i);
    let go = less(b, now, lane);
    b.branch(go, body, exit, BranchKind::Loop);
    b.switch_to(body);
    let now = b.read(i);
    let next = add(b, now, one);
    b.write(i, next);
    b.jump(header);
    b.switch_to(exit);
    let last = b.read(i);
    [add(b, last, last)]
}

#[test]
fn lanes_leave_a_loop_in_their_own_iteration() {
    assert_eq!(returned(5, temporal), [vec![0, 2, 4, 6, 8]]);
}

#[test]
fn two_exits_of_a_loop() {
    // T6 with tid == 0 as the second exit and a uniform count as the first.
    let columns = returned(4, |b| {
        let (i, acc) = (b.slot(Type::I32), b.slot(Type::I32));
        let zero = b.int(Type::I32, 0);
        let one = b.int(Type::I32, 1);
        let three = b.int(Type::I32, 3);
        let lane = tid(b);
        b.write(i, zero);
        let (head, body, exit) = (b.create_block(), b.create_block(), b.create_block());
        b.jump(head);
        b.switch_to(head);
        b.write(acc, zero);
        let now = b.read(i);
        let go = less(b, now, three);
        b.branch(go, body, exit, BranchKind::Loop);
        b.switch_to(body);
        b.write(acc, one);
        let now = b.read(i);
        let next = add(b, now, one);
        b.write(i, next);
        let first = b.int_compare(IntCondition::Equal, lane, zero);
        b.branch(first, exit, head, BranchKind::If);
        b.switch_to(exit);
        let (acc, i) = (b.read(acc), b.read(i));
        [acc, i]
    });
    assert_eq!(columns, [vec![1, 0, 0, 0], vec![1, 3, 3, 3]]);
}

#[test]
fn a_branch_in_the_header_and_an_exit_elsewhere() {
    // T15: y = 5, 4, 5, 4, ... by lane.
    let columns = returned(4, |b| {
        let i = b.slot(Type::I32);
        let zero = b.int(Type::I32, 0);
        let one = b.int(Type::I32, 1);
        let three = b.int(Type::I32, 3);
        let lane = tid(b);
        b.write(i, zero);
        let blocks: Vec<Block> = (0..5).map(|_| b.create_block()).collect();
        let [h, a, c, l, x] = blocks[..] else {
            unreachable!()
        };
        b.jump(h);
        b.switch_to(h);
        let now = b.read(i);
        let sum = add(b, now, lane);
        let odd = b.binary(BinaryOp::And, Wrap::MAY, sum, one);
        let odd = b.int_compare(IntCondition::NotEqual, odd, zero);
        let next = add(b, now, one);
        b.write(i, next);
        b.branch(odd, a, c, BranchKind::If);
        b.switch_to(a);
        b.jump(l);
        b.switch_to(c);
        let done = b.int_compare(IntCondition::GreaterEqualSigned, now, three);
        b.branch(done, x, l, BranchKind::If);
        b.switch_to(l);
        b.jump(h);
        b.switch_to(x);
        [b.read(i)]
    });
    assert_eq!(columns, [vec![5, 4, 5, 4]]);
}

#[test]
fn a_switch_falls_through_and_groups_equal_targets() {
    let columns = returned(8, |b| {
        let v = b.slot(Type::I32);
        let zero = b.int(Type::I32, 0);
        let one = b.int(Type::I32, 1);
        let ten = b.int(Type::I32, 10);
        let lane = tid(b);
        b.write(v, zero);
        let (c0, c1, end) = (b.create_block(), b.create_block(), b.create_block());
        let terminator = Terminator::Switch {
            value: lane,
            cases: vec![
                (0, Edge::to(c0)),
                (1, Edge::to(c1)),
                (2, Edge::to(c1)),
                (3, Edge::to(c0)),
            ],
            default: Edge::to(end),
        };
        b.terminate(terminator, BranchKind::Switch);
        b.switch_to(c0);
        b.write(v, one);
        b.jump(c1);
        b.switch_to(c1);
        let now = b.read(v);
        let next = add(b, now, ten);
        b.write(v, next);
        b.jump(end);
        b.switch_to(end);
        [b.read(v)]
    });
    assert_eq!(columns, [vec![11, 10, 10, 11, 0, 0, 0, 0]]);
}

#[test]
fn an_early_return_leaves_the_others() {
    let module = kernel(|b| {
        let lane = tid(b);
        let two = b.int(Type::I32, 2);
        let seven = b.int(Type::I32, 7);
        b.function.returns = vec![Type::I32];
        let (early, rest) = (b.create_block(), b.create_block());
        let c = less(b, lane, two);
        b.branch(c, early, rest, BranchKind::If);
        b.switch_to(early);
        b.ret([seven]);
        b.switch_to(rest);
        let ballot = WarpOp {
            kind: WarpKind::ActiveMask,
            mask: false,
        };
        let mask = b.value(Op::Warp(ballot), &[], Type::I32);
        b.ret([mask]);
    });
    assert_eq!(run(&module, &Launch::new(4)).returned, [vec![7, 7, 12, 12]]);
}

#[test]
fn an_irreducible_cycle() {
    // Entry by parity into the middle of a cycle a -> c -> a; each visit of c counts.
    let columns = returned(6, |b| {
        let (i, n) = (b.slot(Type::I32), b.slot(Type::I32));
        let zero = b.int(Type::I32, 0);
        let one = b.int(Type::I32, 1);
        let five = b.int(Type::I32, 5);
        let lane = tid(b);
        b.write(i, lane);
        b.write(n, zero);
        let (a, c, exit) = (b.create_block(), b.create_block(), b.create_block());
        let odd = b.binary(BinaryOp::And, Wrap::MAY, lane, one);
        let odd = b.convert(Convert::ToBool, odd, Type::Bool);
        b.branch(odd, a, c, BranchKind::Jump);
        b.switch_to(a);
        let now = b.read(i);
        let next = add(b, now, one);
        b.write(i, next);
        let go = less(b, now, five);
        b.branch(go, c, exit, BranchKind::Jump);
        b.switch_to(c);
        let count = b.read(n);
        let count = add(b, count, one);
        b.write(n, count);
        b.jump(a);
        b.switch_to(exit);
        [b.read(n)]
    });
    assert_eq!(columns, [vec![6, 4, 4, 2, 2, 0]]);
}

fn factorial() -> Module {
    let mut b = FunctionBuilder::new("factorial", FunctionKind::Device, Language::Text);
    let n = b.parameter("n", "int", &[Type::I32])[0];
    b.function.returns = vec![Type::I32];
    let one = b.int(Type::I32, 1);
    let (base, step) = (b.create_block(), b.create_block());
    let small = b.int_compare(IntCondition::LessEqualSigned, n, one);
    b.branch(small, base, step, BranchKind::If);
    b.switch_to(base);
    b.ret([one]);
    b.switch_to(step);
    let before = b.binary(BinaryOp::Sub, Wrap::MAY, n, one);
    let rest = b.value(Op::Call(1), &[before], Type::I32);
    let product = b.binary(BinaryOp::Mul, Wrap::MAY, n, rest);
    b.ret([product]);
    let callee = b.finish();
    let mut b = FunctionBuilder::new("k", FunctionKind::Kernel, Language::Text);
    returns(&mut b, |b| {
        let lane = tid(b);
        [b.value(Op::Call(1), &[lane], Type::I32)]
    });
    module([b.finish(), callee])
}

#[test]
fn divergent_recursion_returns_each_lanes_value() {
    let outcome = run(&factorial(), &Launch::new(7));
    assert_eq!(outcome.returned, [vec![1, 1, 2, 6, 24, 120, 720]]);
}

#[test]
fn recursion_without_end_is_reported() {
    let mut launch = Launch::new(40);
    launch.limits.call_depth = 8;
    let error = run(&factorial(), &launch).error;
    assert!(
        matches!(error, Some(Error::StackOverflow { limit: 8, ref place }) if place.lane == 9),
        "{error:?}"
    );
}

#[test]
fn a_kill_in_a_callee_ends_the_lane() {
    let mut b = FunctionBuilder::new("f", FunctionKind::Device, Language::Text);
    let n = b.parameter("n", "int", &[Type::I32])[0];
    b.function.returns = vec![Type::I32];
    let two = b.int(Type::I32, 2);
    let (end, go) = (b.create_block(), b.create_block());
    let c = b.int_compare(IntCondition::Equal, n, two);
    b.branch(c, end, go, BranchKind::If);
    b.switch_to(end);
    b.terminate(Terminator::Kill, BranchKind::Implied);
    b.switch_to(go);
    b.ret([n]);
    let callee = b.finish();
    let mut b = FunctionBuilder::new("k", FunctionKind::Kernel, Language::Text);
    returns(&mut b, |b| {
        let lane = tid(b);
        let one = b.int(Type::I32, 1);
        let value = b.value(Op::Call(1), &[lane], Type::I32);
        [add(b, value, one)]
    });
    let outcome = run(&module([b.finish(), callee]), &Launch::new(4));
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.returned, [vec![1, 2, 0, 4]]);
}

#[test]
fn an_endless_loop_uses_up_its_budget() {
    let module = kernel(|b| {
        let block = b.create_block();
        b.jump(block);
        b.switch_to(block);
        b.jump(block);
    });
    let mut launch = Launch::new(3);
    launch.limits.steps = 1000;
    let outcome = run(&module, &launch);
    assert!(matches!(outcome.error, Some(Error::StepsExhausted { .. })));
    assert!(outcome.steps < 1100);
}

#[test]
fn a_uniform_branch_that_diverges_is_an_event() {
    let module = kernel(|b| {
        let lane = tid(b);
        let two = b.int(Type::I32, 2);
        let c = less(b, lane, two);
        let (x, y) = (b.create_block(), b.create_block());
        let terminator = Terminator::Branch {
            condition: c,
            then: Edge::to(x),
            otherwise: Edge::to(y),
            uniform: true,
        };
        b.terminate(terminator, BranchKind::Jump);
        b.switch_to(x);
        b.jump(y);
        b.switch_to(y);
        b.ret([]);
    });
    let events = run(&module, &Launch::new(4)).events;
    assert_eq!(events.len(), 1);
    assert_eq!(
        events[0].kind,
        EventKind::UniformBranchDiverges { mask: 15 }
    );
}

#[test]
fn a_checkpoint_cancels() {
    let cancelled = std::sync::atomic::AtomicBool::new(true);
    let outcome = run_with(&factorial(), &Launch::new(4), &mut (), &cancelled);
    assert_eq!(
        outcome.error,
        Some(Error::Cancelled(ir::checkpoint::Cancelled))
    );
}

#[test]
fn impossible_launches_are_refused() {
    let module = factorial();
    for change in [
        (|l: &mut Launch| l.warp_size = 65) as fn(&mut Launch),
        |l| l.warp_size = 0,
        |l| l.block = [0, 1, 1],
        |l| l.grid = [u32::MAX, u32::MAX, u32::MAX],
    ] {
        let mut launch = Launch::new(4);
        change(&mut launch);
        assert!(matches!(
            run(&module, &launch).error,
            Some(Error::Launch(_))
        ));
    }
    let mut launch = Launch::new(4);
    launch.limits.memory = 100;
    assert!(matches!(
        run(&module, &launch).error,
        Some(Error::MemoryExhausted { .. })
    ));
    assert!(run(&Module::default(), &Launch::new(1)).error.is_some());
}
