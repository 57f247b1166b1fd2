//! Every opcode in both executions, and the time that packets take.

use super::random::maker::operation;
use super::set::{Block, Class, Function, Mnemonic, Opcode, Operand, Operation, Register};
use super::simulate::{Cause, Fault, Outcome, run_in_order, run_packets};
use Opcode::{
    Add, Addq, And, Cmpeq, Cmplt, Endloop, Jump, Ld, Ldq, Lds, Ldsq, Li, Mac, Mov, Movq, Mul,
    Narrow, Or, Ret, Setlc, Sett, Shr, St, Stq, Sts, Stsq, Sub, Tst, Widen, Xor,
};
use lockstep_codegen::mir::{FrameOffset, Name, Virtual};

pub(super) fn d(number: u8) -> Operand {
    Operand::fixed(Register::data(number))
}
pub(super) fn q(number: u8) -> Operand {
    Operand::fixed(Register::pair(number))
}
pub(super) fn at(number: u8) -> Operand {
    Operand::Address(Name::Fixed(Register::data(number)))
}
pub(super) fn n(number: i64) -> Operand {
    Operand::Number(number)
}
pub(super) fn slot(offset: u32) -> Operand {
    Operand::Frame(FrameOffset::Spill(offset))
}
pub(super) fn t() -> Operand {
    Operand::fixed(Register::T)
}
pub(super) fn lc() -> Operand {
    Operand::fixed(Register::LC)
}
pub(super) fn op(opcode: Opcode, targets: Vec<Operand>, sources: Vec<Operand>) -> Operation {
    operation(opcode, None, targets, sources)
}
/// Returns an operation under the flag, which is the virtual register 0, or its complement.
pub(super) fn under(sense: bool, operation: Operation) -> Operation {
    let opcode = operation.mnemonic.opcode;
    Operation {
        mnemonic: Mnemonic { opcode, sense },
        predicate: Some(Virtual(0)),
        ..operation
    }
}
pub(super) fn ret() -> Operation {
    op(Ret, vec![], vec![d(0)])
}
pub(super) fn li(number: u8, value: i64) -> Operation {
    op(Li, vec![d(number)], vec![n(value)])
}

/// A function of blocks of packets. Virtual register 0 is a flag, 1 a data register without a place.
pub(super) fn function(blocks: Vec<Vec<Vec<Operation>>>) -> Function {
    let block = |packets: Vec<Vec<Operation>>| {
        let cycles = packets.iter().enumerate();
        let cycles = cycles.flat_map(|(cycle, packet)| vec![cycle as u32; packet.len()]);
        Block {
            rounds: None,
            cycles: cycles.collect(),
            operations: packets.into_iter().flatten().collect(),
            weight: 1.0,
        }
    };
    Function {
        registers: vec![Class::Flag, Class::Data],
        blocks: blocks.into_iter().map(block).collect(),
        ..Function::default()
    }
}

pub(super) fn memory() -> Vec<u8> {
    (1..=16).collect()
}

pub(super) fn packets(blocks: Vec<Vec<Vec<Operation>>>) -> Result<Outcome, Fault> {
    run_packets(&function(blocks), &[Register::T], &[], &memory(), &[], 100)
}

/// The result of operations in order, which is that in packets of one.
fn both(operations: Vec<Operation>) -> Outcome {
    let mut operations = operations;
    operations.push(ret());
    let function = Function {
        registers: vec![Class::Flag],
        blocks: vec![Block {
            operations,
            ..Block::default()
        }],
        ..Function::default()
    };
    let mut fixed = function.clone();
    for operation in &mut fixed.blocks[0].operations {
        for operand in operation
            .targets
            .iter_mut()
            .filter(|operand| **operand == t())
        {
            *operand = Operand::register(Virtual(0));
        }
        for operand in operation
            .sources
            .iter_mut()
            .filter(|operand| **operand == t())
        {
            *operand = Operand::register(Virtual(0));
        }
    }
    let in_order = run_in_order(&fixed, &memory(), &[], 100).expect("no fault in order");
    let issued = run_packets(&function, &[Register::T], &[], &memory(), &[], 100);
    let issued = issued.expect("no fault in packets");
    assert_eq!(
        (in_order.result, &in_order.memory),
        (issued.result, &issued.memory)
    );
    issued
}

#[test]
fn arithmetic() {
    let minus = i64::from(u32::MAX);
    let of = |opcode, left, right| {
        let sources = vec![d(1), d(2)];
        both(vec![
            li(1, left),
            li(2, right),
            op(opcode, vec![d(0)], sources),
        ])
        .result
    };
    assert_eq!(both(vec![li(0, -2)]).result, u32::MAX - 1);
    assert_eq!(of(Add, minus, 3), 2);
    assert_eq!(of(Sub, 2, 3), u32::MAX);
    assert_eq!(of(And, 6, 3), 2);
    assert_eq!(of(Or, 6, 3), 7);
    assert_eq!(of(Xor, 6, 3), 5);
    assert_eq!(of(Mul, minus, 3), (-3_i32) as u32);
    let with = |opcode, left, right| {
        let sources = vec![d(1), n(right)];
        both(vec![li(1, left), op(opcode, vec![d(0)], sources)]).result
    };
    assert_eq!(with(Add, 7, -9), (-2_i32) as u32);
    assert_eq!(with(Sub, 7, 100_000), (-99_993_i32) as u32);
    assert_eq!(with(Shr, -1, 31), 1);
    assert_eq!(with(Shr, -1, 0), u32::MAX);
    let mac = op(Mac, vec![d(0)], vec![d(1), d(2)]);
    assert_eq!(
        both(vec![li(0, 5), li(1, -3), li(2, 7), mac]).result,
        (-16_i32) as u32
    );
    let mov = op(Mov, vec![d(0)], vec![d(9)]);
    assert_eq!(both(vec![li(9, 4), mov]).result, 4);
}

#[test]
fn pairs_are_two_data_registers() {
    let widen = |to, from| op(Widen, vec![q(to)], vec![d(from)]);
    let high = vec![li(4, -5), widen(0, 4), op(Mov, vec![d(0)], vec![d(1)])];
    assert_eq!(both(high).result, u32::MAX);
    // -1 and 1 as 64 bits: the carry goes into the high half.
    let sum = op(Addq, vec![q(3)], vec![q(1), q(2)]);
    let movq = op(Movq, vec![q(0)], vec![q(3)]);
    let all = [li(8, -1), li(9, 1), widen(1, 8), widen(2, 9), sum, movq];
    let mut high = all.to_vec();
    high.push(op(Add, vec![d(0)], vec![d(1), d(0)]));
    assert_eq!(both(high).result, 0);
    let narrow = op(Narrow, vec![d(0)], vec![q(1)]);
    assert_eq!(both(vec![li(2, 17), li(3, 4), narrow]).result, 17);
}

#[test]
fn accesses_to_memory_and_steps() {
    let load = op(Ld, vec![d(0)], vec![at(1)]);
    assert_eq!(both(vec![li(1, 2), load]).result, 0x0605_0403);
    let load = op(Ld, vec![d(2)], vec![at(1), n(-3)]);
    let mov = op(Mov, vec![d(0)], vec![d(1)]);
    assert_eq!(both(vec![li(1, 4), load, mov]).result, 1);
    let load = op(Ldq, vec![q(0)], vec![at(4), n(4)]);
    let sum = op(Add, vec![d(0)], vec![d(1), d(4)]);
    assert_eq!(both(vec![li(4, 8), load, sum]).result, 0x100f_0e0d + 12);
    let store = op(St, vec![at(0)], vec![d(1), n(5)]);
    let out = both(vec![li(0, 3), li(1, 0x0a0b_0c0d), store]);
    assert_eq!(
        (out.result, &out.memory[2..8]),
        (8, &[3, 13, 12, 11, 10, 8][..])
    );
    let store = op(Stq, vec![at(0)], vec![q(1)]);
    let out = both(vec![li(0, 8), li(2, 1), li(3, 2), store]);
    assert_eq!(out.memory[7..], [8, 1, 0, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn accesses_to_the_frame() {
    let store = op(Sts, vec![], vec![slot(4), d(1)]);
    let load = op(Lds, vec![d(0)], vec![slot(4)]);
    assert_eq!(both(vec![li(1, 9), store, li(1, 8), load]).result, 9);
    let store = op(Stsq, vec![], vec![slot(8), q(1)]);
    let load = op(Ldsq, vec![q(0)], vec![slot(8)]);
    let high = op(Mov, vec![d(0)], vec![d(1)]);
    let all = vec![li(2, 9), li(3, 7), store, load, high];
    assert_eq!(both(all).result, 7);
}

#[test]
fn flags() {
    let of = |opcode, sources: Vec<Operand>| {
        let compare = op(opcode, vec![t()], sources);
        both(vec![
            li(1, -1),
            li(2, 5),
            compare,
            op(Sett, vec![d(0)], vec![t()]),
        ])
        .result
    };
    assert_eq!(of(Tst, vec![d(1)]), 1);
    assert_eq!(of(Cmpeq, vec![d(1), n(-1)]), 1);
    assert_eq!(of(Cmpeq, vec![d(1), d(2)]), 0);
    assert_eq!(of(Cmplt, vec![d(1), d(2)]), 1);
    assert_eq!(of(Cmplt, vec![d(2), n(-70)]), 0);
    let guarded = |flag, sense| {
        let compare = op(Cmpeq, vec![t()], vec![d(2), n(flag)]);
        both(vec![li(2, 5), li(0, 1), compare, under(sense, li(0, 2))]).result
    };
    assert_eq!([guarded(5, true), guarded(6, true)], [2, 1]);
    assert_eq!([guarded(5, false), guarded(6, false)], [1, 2]);
}

#[test]
fn jumps_and_loops() {
    let to = |block| op(Jump, vec![], vec![Operand::Block(block)]);
    let flag = |number| {
        op(
            Cmpeq,
            vec![Operand::register(Virtual(0))],
            vec![d(1), n(number)],
        )
    };
    let choice = |number, sense| {
        let blocks = vec![
            vec![
                vec![li(1, 3)],
                vec![flag(number)],
                vec![under(sense, to(2))],
            ],
            vec![vec![li(0, 10)], vec![to(3)]],
            vec![vec![li(0, 20)]],
            vec![vec![ret()]],
        ];
        let in_order = run_in_order(&function(blocks.clone()), &memory(), &[], 100);
        let result = packets(blocks).expect("no fault").result;
        assert_eq!(in_order.expect("no fault").result, result);
        result
    };
    assert_eq!([choice(3, true), choice(4, true)], [20, 10]);
    assert_eq!([choice(3, false), choice(4, false)], [10, 20]);

    for (trips, iterations) in [(0, 1), (1, 1), (2, 2), (7, 7)] {
        let setlc = op(Setlc, vec![lc()], vec![d(1)]);
        let count = op(Add, vec![d(0)], vec![d(0), n(1)]);
        let back = op(Endloop, vec![lc()], vec![lc(), Operand::Block(1)]);
        let blocks = vec![
            vec![vec![li(0, 0), li(1, trips)], vec![setlc]],
            vec![vec![count, back]],
            vec![vec![ret()]],
        ];
        let in_order = run_in_order(&function(blocks.clone()), &memory(), &[], 100);
        assert_eq!(in_order.expect("no fault").result, iterations);
        let issued = packets(blocks).expect("no fault");
        assert_eq!(issued.result, iterations);
        assert_eq!(
            (issued.packets, issued.stalls),
            (u64::from(iterations) + 3, 0)
        );
    }
}

#[test]
fn a_packet_reads_before_it_writes() {
    let exchange = vec![
        op(Mov, vec![d(0)], vec![d(1)]),
        op(Mov, vec![d(1)], vec![d(0)]),
    ];
    let difference = op(Sub, vec![d(0)], vec![d(0), d(1)]);
    let blocks = vec![vec![
        vec![li(0, 1), li(1, 5)],
        exchange,
        vec![difference],
        vec![ret()],
    ]];
    assert_eq!(packets(blocks).expect("no fault").result, 4);
    // A load beside a store to the same bytes, and a guard beside the comparison that changes its flag.
    let beside = vec![
        op(St, vec![at(1)], vec![d(1)]),
        op(Ld, vec![d(0)], vec![at(1)]),
    ];
    let blocks = vec![vec![vec![li(1, 0)], beside, vec![ret()]]];
    assert_eq!(packets(blocks).expect("no fault").result, 0x0403_0201);
    let compare = |number| op(Cmpeq, vec![t()], vec![d(1), n(number)]);
    let beside = vec![compare(1), under(true, li(0, 7))];
    let blocks = vec![vec![
        vec![li(1, 0), li(0, 6)],
        vec![compare(0)],
        beside,
        vec![ret()],
    ]];
    assert_eq!(packets(blocks).expect("no fault").result, 7);
}

#[test]
fn who_reads_early_waits() {
    let stalls = |packets_: Vec<Vec<Operation>>| {
        let mut all = packets_;
        all.push(vec![ret()]);
        let out = packets(vec![all.clone()]).expect("no fault");
        assert_eq!(out.packets, all.len() as u64);
        out.stalls
    };
    let load = |to| op(Ld, vec![d(to)], vec![at(9), n(4)]);
    let add = op(Add, vec![d(0)], vec![d(1), n(1)]);
    let base = op(Add, vec![d(0)], vec![d(9), n(1)]);
    let zero = || vec![li(9, 0), li(0, 0), li(1, 1)];
    assert_eq!(stalls(vec![zero(), vec![load(1)], vec![add.clone()]]), 2);
    let between = vec![li(3, 0)];
    assert_eq!(
        stalls(vec![zero(), vec![load(1)], between, vec![add.clone()]]),
        1
    );
    assert_eq!(stalls(vec![zero(), vec![load(1)], vec![base]]), 0);
    let mul = op(Mul, vec![d(1)], vec![d(9), d(9)]);
    assert_eq!(stalls(vec![zero(), vec![mul], vec![add.clone()]]), 1);
    let mac = || vec![op(Mac, vec![d(1)], vec![d(9), d(9)])];
    assert_eq!(stalls(vec![zero(), mac(), mac(), mac()]), 2);
    // A pair waits for its half; what is guarded off waits for its guard only.
    let half = op(Narrow, vec![d(5)], vec![q(0)]);
    assert_eq!(stalls(vec![zero(), vec![load(1)], vec![half]]), 2);
    let compare = op(Cmpeq, vec![t()], vec![d(1), n(1)]);
    let off = under(false, add);
    let all = vec![zero(), vec![compare, load(1)], vec![off]];
    assert_eq!(stalls(all), 0);
    // The result itself comes from memory.
    assert_eq!(stalls(vec![zero(), vec![load(0)]]), 2);
}

#[test]
fn arguments_arrive() {
    let sum = op(
        Sub,
        vec![d(0)],
        vec![Operand::register(Virtual(0)), Operand::register(Virtual(1))],
    );
    let mut two = function(vec![vec![vec![sum], vec![ret()]]]);
    two.registers = vec![Class::Data, Class::Data];
    two.parameters = vec![Virtual(0), Virtual(1)];
    let result =
        |run: Result<Outcome, Fault>| run.map(|out| out.result).map_err(|fault| fault.cause);
    assert_eq!(result(run_in_order(&two, &[], &[9, 2], 9)), Ok(7));
    assert_eq!(
        result(run_in_order(&two, &[], &[9], 9)),
        Err(Cause::Arguments)
    );
    // The first one moves out of the way of the second.
    let places = [Register::data(7), Register::data(0)];
    let moves = [
        op(Mov, vec![d(7)], vec![d(0)]),
        op(Mov, vec![d(0)], vec![d(1)]),
    ];
    let run = run_packets(&two, &places, &moves, &[], &[9, 2], 9);
    assert_eq!(run.as_ref().map(|out| out.packets), Ok(4));
    assert_eq!(result(run), Ok(7));
    two.arrivals = vec![Some(Register::data(7)), Some(Register::data(0))];
    assert_eq!(
        result(run_packets(&two, &places, &[], &[], &[9, 2], 9)),
        Ok(7)
    );
    two.arrivals = vec![None];
    let run = run_packets(&two, &places, &[], &[], &[9, 2], 9);
    assert_eq!(result(run), Err(Cause::Arguments));
}

#[test]
fn what_nothing_wrote_is_counted() {
    let mov = op(Mov, vec![d(0)], vec![Operand::register(Virtual(1))]);
    let run = run_in_order(&function(vec![vec![vec![mov], vec![ret()]]]), &[], &[], 9);
    assert_eq!(run.map(|out| out.undefined), Ok(1));
}
