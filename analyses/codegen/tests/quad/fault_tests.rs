//! Every fault of the executions, and what comes close to one.

use super::set::Function;
use super::set::Opcode::{
    Add, Cmpeq, Endloop, Jump, Ld, Lds, Li, Mac, Mov, Mul, Ret, Setlc, Shr, St, Sts, Stsq, Tst,
    Widen,
};
use super::set::{Operand, Operation, Register};
use super::simulate::{Cause, run_in_order, run_packets};
use super::simulate_tests::{
    at, d, function, lc, li, memory, n, op, packets, q, ret, slot, t, under,
};
use lockstep_codegen::mir::{FrameOffset, Name, Virtual};

fn cause(packet: Vec<Operation>) -> Cause {
    let run = packets(vec![vec![packet], vec![vec![ret()]]]);
    run.expect_err("a fault").cause
}

#[test]
fn an_empty_cycle_is_an_empty_packet() {
    let mut two = function(vec![vec![vec![li(0, 4)], vec![ret()]]]);
    two.blocks[0].cycles = vec![1, 4];
    let run = |function: &Function, limit| {
        run_packets(function, &[Register::T], &[], &memory(), &[], limit)
    };
    assert_eq!(
        run(&two, 5).map(|out| (out.result, out.packets)),
        Ok((4, 5))
    );
    assert_eq!(run(&two, 4).map_err(|fault| fault.cause), Err(Cause::Limit));
    for cycles in [vec![0], vec![2, 1], vec![0, 1, 2], vec![0, u32::MAX]] {
        two.blocks[0].cycles = cycles;
        assert_eq!(
            run(&two, 9).map_err(|fault| fault.cause),
            Err(Cause::Cycles)
        );
    }
}

#[test]
fn a_packet_has_its_limits() {
    let five = (0..5).map(|number| li(number, 1)).collect();
    assert_eq!(cause(five), Cause::TooMany(5));
    let wide = vec![li(0, 64), li(1, -65), li(2, 1000), li(3, 63)];
    assert_eq!(cause(wide), Cause::TooWide(7));
    let access = |number| op(Lds, vec![d(number)], vec![slot(0)]);
    let three = (0..3).map(access).collect();
    assert_eq!(cause(three), Cause::TooManyAccesses(3));
    let product = |opcode, number| op(opcode, vec![d(number)], vec![d(8), d(9)]);
    let two = vec![product(Mul, 0), product(Mac, 1)];
    assert_eq!(cause(two), Cause::TooManyProducts(2));
    assert_eq!(cause(vec![ret(), li(0, 1)]), Cause::BranchNotLast);
    let jump = op(Jump, vec![], vec![Operand::Block(1)]);
    assert_eq!(cause(vec![jump, ret()]), Cause::BranchNotLast);
}

#[test]
fn no_register_is_written_twice_at_once() {
    let twice = |register| Cause::WrittenTwice(Name::Fixed(register));
    assert_eq!(cause(vec![li(1, 1), li(1, 2)]), twice(Register::data(1)));
    let widen = op(Widen, vec![q(1)], vec![d(0)]);
    assert_eq!(cause(vec![li(3, 1), widen]), twice(Register::pair(1)));
    let load = op(Ld, vec![d(1)], vec![at(2), n(4)]);
    assert_eq!(cause(vec![load, li(2, 1)]), twice(Register::data(2)));
    let load = op(Ld, vec![d(2)], vec![at(2), n(4)]);
    assert_eq!(cause(vec![load.clone()]), twice(Register::data(2)));
    let in_order = run_in_order(&function(vec![vec![vec![load]]]), &memory(), &[], 9);
    let in_order = in_order.expect_err("a fault").cause;
    assert_eq!(in_order, twice(Register::data(2)));
    // Guards of the same sense do not exclude each other, nor does one alone.
    let same = vec![under(true, li(1, 1)), under(true, li(1, 2))];
    assert_eq!(cause(same), twice(Register::data(1)));
    let alone = vec![under(true, li(1, 1)), li(1, 2)];
    assert_eq!(cause(alone), twice(Register::data(1)));
    let apart = vec![under(true, li(0, 1)), under(false, li(0, 2))];
    let set = vec![op(Tst, vec![t()], vec![d(1)])];
    let blocks = vec![vec![vec![li(1, 0)], set, apart, vec![ret()]]];
    assert_eq!(packets(blocks).expect("no fault").result, 2);
}

#[test]
fn stores_of_a_packet_do_not_overlap() {
    let store = |base| op(St, vec![at(base)], vec![d(1)]);
    let run = |first, other, guarded: bool| {
        let second = if guarded {
            under(false, store(3))
        } else {
            store(3)
        };
        let set = op(Cmpeq, vec![t()], vec![d(2), d(2)]);
        let blocks = vec![vec![
            vec![li(2, first), li(3, other), li(1, 0)],
            vec![set],
            vec![store(2), second],
            vec![ret()],
        ]];
        packets(blocks)
            .map(|_| ())
            .map_err(|fault| (fault.operation, fault.cause))
    };
    assert_eq!(run(0, 4, false), Ok(()));
    assert_eq!(run(0, 3, false), Err((5, Cause::StoresOverlap)));
    assert_eq!(run(0, 3, true), Ok(()));
    let frame = vec![
        op(Stsq, vec![], vec![slot(0), q(1)]),
        op(Sts, vec![], vec![slot(4), d(1)]),
    ];
    assert_eq!(cause(frame), Cause::StoresOverlap);
}

#[test]
fn accesses_stay_within_memory() {
    let load = op(Ld, vec![d(0)], vec![at(1)]);
    let run = |address, guard: bool| {
        let load = if guard {
            under(false, load.clone())
        } else {
            load.clone()
        };
        let set = op(Cmpeq, vec![Operand::register(Virtual(0))], vec![d(1), d(1)]);
        let blocks = vec![vec![
            vec![li(1, address)],
            vec![set],
            vec![load],
            vec![ret()],
        ]];
        let in_order = run_in_order(&function(blocks.clone()), &memory(), &[], 100);
        let (issued, in_order) = (packets(blocks).map(|_| ()), in_order.map(|_| ()));
        assert_eq!(issued, in_order);
        issued.map_err(|fault| fault.cause)
    };
    assert_eq!(run(12, false), Ok(()));
    let outside = |address| Err(Cause::Outside { address, bytes: 4 });
    assert_eq!(run(13, false), outside(13));
    assert_eq!(run(-4, false), outside(0xffff_fffc));
    assert_eq!(run(13, true), Ok(()));
    let far = vec![op(Lds, vec![d(0)], vec![slot(1 << 16)])];
    assert!(matches!(cause(far), Cause::Outside { .. }));
}

#[test]
fn operands_are_those_of_the_opcode() {
    let v = |number| Operand::register(Virtual(number));
    let wrong = vec![
        op(Add, vec![q(0)], vec![d(0), d(1)]),
        op(Add, vec![d(0)], vec![n(1), d(1)]),
        op(Add, vec![d(0)], vec![d(1)]),
        op(Mul, vec![d(0)], vec![d(1), n(1)]),
        op(Shr, vec![d(0)], vec![d(1), n(32)]),
        op(Li, vec![d(0)], vec![n(1 << 32)]),
        op(Ld, vec![d(0)], vec![d(1)]),
        op(Ld, vec![d(0)], vec![at(1), d(1)]),
        op(St, vec![at(0)], vec![q(1)]),
        op(Lds, vec![d(0)], vec![Operand::Frame(FrameOffset::Slot(0))]),
        op(Tst, vec![d(0)], vec![d(1)]),
        op(Setlc, vec![d(0)], vec![d(1)]),
        op(Ret, vec![], vec![d(1)]),
        op(Ret, vec![], vec![]),
        op(Mov, vec![d(32)], vec![d(1)]),
        op(Mov, vec![d(0)], vec![Operand::Symbol("f".into())]),
        op(Endloop, vec![], vec![lc(), Operand::Block(0)]),
    ];
    for operation in wrong {
        assert_eq!(
            cause(vec![operation.clone()]),
            Cause::Operands,
            "{operation:?}"
        );
        let in_order = run_in_order(&function(vec![vec![vec![operation.clone()]]]), &[], &[], 9);
        assert_eq!(
            in_order.map_err(|fault| fault.cause),
            Err(Cause::Operands),
            "{operation:?}"
        );
    }
    let no_place = |number| Cause::NoPlace(Virtual(number));
    assert_eq!(cause(vec![op(Mov, vec![d(0)], vec![v(1)])]), no_place(1));
    assert_eq!(cause(vec![op(Mov, vec![v(1)], vec![d(0)])]), no_place(1));
    assert_eq!(cause(vec![op(Mov, vec![d(0)], vec![v(7)])]), no_place(7));
    let placed = function(vec![vec![vec![op(Mov, vec![d(0)], vec![v(1)])]]]);
    for place in [Register::pair(1), Register::data(32)] {
        let run = run_packets(&placed, &[Register::T, place], &[], &[], &[], 9);
        assert_eq!(run.map_err(|fault| fault.cause), Err(no_place(1)));
    }
}

#[test]
fn control_stays_within_the_function() {
    let none = packets(vec![vec![vec![li(0, 1)]]]);
    assert_eq!(
        none.map_err(|fault| (fault.block, fault.cause)),
        Err((Some(1), Cause::NoBlock))
    );
    let away = function(vec![vec![vec![op(Jump, vec![], vec![Operand::Block(9)])]]]);
    let in_order = run_in_order(&away, &[], &[], 9);
    assert_eq!(in_order.map_err(|fault| fault.cause), Err(Cause::NoBlock));
    let forever = function(vec![
        vec![],
        vec![vec![op(Jump, vec![], vec![Operand::Block(1)])]],
    ]);
    let in_order = run_in_order(&forever, &[], &[], 9);
    assert_eq!(in_order.map_err(|fault| fault.cause), Err(Cause::Limit));
    let issued = run_packets(&forever, &[Register::T], &[], &[], &[], 9);
    assert_eq!(issued.map_err(|fault| fault.cause), Err(Cause::Limit));
}
