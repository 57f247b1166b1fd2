//! The witness finds what differs, where, and nothing else.

use super::*;

#[test]
fn a_loop_counter_agrees_inside_and_disagrees_after() {
    // i uniform in the loop; its use after the loop is not.
    let (mut counter, mut lane, mut after, mut doubled) = (Value(0), Value(0), Block(0), Value(0));
    let module = kernel(|b| {
        returns(b, |b| {
            let i = b.slot(Type::I32);
            let zero = b.int(Type::I32, 0);
            let one = b.int(Type::I32, 1);
            lane = tid(b);
            b.write(i, zero);
            let (head, body, exit) = (b.create_block(), b.create_block(), b.create_block());
            after = exit;
            b.jump(head);
            b.switch_to(head);
            let now = b.read(i);
            let go = less(b, now, lane);
            b.branch(go, body, exit, BranchKind::Loop);
            b.switch_to(body);
            let now = b.read(i);
            let next = add(b, now, one);
            b.write(i, next);
            b.jump(head);
            b.switch_to(exit);
            let last = b.read(i);
            doubled = add(b, last, last);
            [doubled]
        });
    });
    for block in module.functions[0].blocks.values() {
        if let [param] = block.params[..] {
            counter = param;
        }
    }
    let mut witness = Witness::new(&[Extent::Quad, Extent::Subgroup, Extent::Dispatch]);
    run_with(&module, &Launch::new(64), &mut witness, &());
    assert!(witness.compared() > 0);
    for extent in [Extent::Quad, Extent::Subgroup, Extent::Dispatch] {
        assert_eq!(witness.at_definition(0, counter, extent), None);
        assert!(witness.at_use(0, counter, after, extent).is_some());
        assert!(witness.at_definition(0, doubled, extent).is_some());
    }
    let found = witness.at_definition(0, lane, Extent::Subgroup);
    assert_eq!(
        found,
        Some(Disagreement {
            first: (0, 0),
            second: (1, 1)
        })
    );
}

#[test]
fn extents_are_told_apart() {
    let mut values = [Value(0); 4];
    let module = kernel(|b| {
        let group = b.special(Special::BlockId(0), Type::I32);
        let warp = b.special(Special::WarpId, Type::I32);
        let lane = b.special(Special::LaneId, Type::I32);
        let two = b.int(Type::I32, 2);
        let quad = b.binary(BinaryOp::ShrUnsigned, Wrap::MAY, lane, two);
        let dim = b.special(Special::BlockDim(0), Type::I32);
        values = [quad, warp, group, dim];
        b.ret([]);
    });
    let extents = [
        Extent::Quad,
        Extent::Subgroup,
        Extent::Workgroup,
        Extent::Dispatch,
    ];
    let mut witness = Witness::new(&extents).definitions_only();
    let mut launch = Launch::new(64);
    launch.grid = [2, 1, 1];
    run_with(&module, &launch, &mut witness, &());
    let differs = values.map(|v| extents.map(|e| witness.at_definition(0, v, e).is_some()));
    assert_eq!(
        differs,
        [
            [false, true, true, true],
            [false, false, true, true],
            [false, false, false, true],
            [false, false, false, false],
        ]
    );
}

#[test]
fn a_changing_cell_is_judged_at_one_time() {
    // Both arms load the cell in one block that each group executes for itself; one group changes it in between.
    let mut loaded = Value(0);
    let module = kernel(|b| {
        let cell = shared(b, "cell", 4);
        let lane = tid(b);
        let two = b.int(Type::I32, 2);
        let (a, c, join, end, last) = (
            b.create_block(),
            b.create_block(),
            b.create_block(),
            b.create_block(),
            b.create_block(),
        );
        let low = less(b, lane, two);
        b.branch(low, a, c, BranchKind::If);
        b.switch_to(a);
        b.jump(join);
        b.switch_to(c);
        let never = less(b, two, two);
        b.branch(never, end, join, BranchKind::If);
        b.switch_to(join);
        loaded = b.load(SHARED, cell, Type::I32);
        let three = b.int(Type::I32, 3);
        b.store(SHARED, cell, &[three]);
        b.jump(last);
        b.switch_to(end);
        b.jump(last);
        b.switch_to(last);
        b.ret([]);
    });
    let mut by_history = Witness::new(&[Extent::Subgroup]);
    let mut by_time = Witness::new(&[Extent::Subgroup]).same_time();
    run_with(&module, &Launch::new(4), &mut by_history, &());
    run_with(&module, &Launch::new(4), &mut by_time, &());
    assert!(
        by_history
            .at_definition(0, loaded, Extent::Subgroup)
            .is_some()
    );
    assert_eq!(by_time.at_definition(0, loaded, Extent::Subgroup), None);
}
