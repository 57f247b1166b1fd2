//! Pairs of functions that do the same, and that do not, in operations of the SC140: r0 points to memory of
//! the program and so does r3 where d3 is loaded, d1 and d2 are the data registers 11 and 12, which pass nothing to callees, and others have their numbers.

use super::{Side, Unproved, UnprovedReason, check};
use crate::allocate::Allocation;
use crate::mir::{Block, FrameOffset, Function, Name, Object, Operand, Reference, Target, Virtual};
use crate::target::sc140::code::{Operation, operation};
use isa::sc140::{Condition, File, Opcode, Reg, Sc140};

const GUARD: Virtual = Virtual(0);

fn register(text: &str) -> Operand<Sc140> {
    let number = match text {
        "d1" | "d2" => 10 + text[1..].parse::<u8>().expect("a number"),
        _ => text[1..].parse().expect("a number"),
    };
    Operand::fixed(match &text[..1] {
        "d" => Reg::data(number),
        "r" => Reg::address(number),
        _ => panic!("{text}"),
    })
}

fn access(targets: Vec<Operand<Sc140>>, sources: Vec<Operand<Sc140>>) -> Operation {
    Operation {
        memory: Some(Reference {
            object: Object::Unknown,
            bytes: 4,
            volatile: false,
            accessed_as: None,
        }),
        ..operation(Opcode::MoveL, targets, sources)
    }
}

/// One operation a line: `d1 = mem`, `mem = d1`, `d1 = s0`, `s0 = d1`, `d1 = d2 + d3`, `d1 = d2`, `d1 = 5`, `t = d1`, `if d1 = d2`,
/// `bt 2`, `bra 2`, `call`, `return`; `block` begins the next one. What stands on one line between `|` is one set.
fn function(text: &str) -> Function<Sc140> {
    let mut out = Function::<Sc140>::default();
    out.register(File::Truth);
    let memory = || Operand::Address(Name::Fixed(Reg::address(0)));
    let slot = |name: &str| Operand::Frame(FrameOffset::Spill(name[1..].parse().expect("bytes")));
    let is_slot = |name: &str| name.starts_with('s');
    let mut sets = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line == "block" {
            out.blocks.push(Block::default());
            sets.push(Vec::new());
            continue;
        }
        let all: Vec<&str> = line.split('|').map(str::trim).collect();
        let numbers: &mut Vec<usize> = sets.last_mut().expect("a block");
        numbers.push(all.len());
        for words in all.iter().map(|text| text.split(' ').collect::<Vec<_>>()) {
            let made = match words[..] {
                [to, "=", "mem"] => {
                    let from = Reg::address(to[1..].parse().expect("a number"));
                    access(
                        vec![register(to)],
                        vec![Operand::Address(Name::Fixed(from))],
                    )
                }
                ["mem", "=", from] => access(vec![memory()], vec![register(from)]),
                [to, "=", from] if is_slot(to) => {
                    operation(Opcode::MoveL, Vec::new(), vec![slot(to), register(from)])
                }
                [to, "=", from] if is_slot(from) => {
                    operation(Opcode::MoveL, vec![register(to)], vec![slot(from)])
                }
                ["t", "=", from] => operation(
                    Opcode::Tstgt,
                    vec![Operand::fixed(Reg::TRUTH)],
                    vec![register(from)],
                ),
                [to, "=", found, "+", other] => operation(
                    Opcode::Add,
                    vec![register(to)],
                    vec![register(found), register(other)],
                ),
                [to, "=", from] => match from.parse::<i64>() {
                    Ok(number) => operation(Opcode::MoveW, vec![register(to)], vec![number.into()]),
                    Err(_) => {
                        let (to, from) = (register(to), register(from));
                        let file = |it: &Operand<Sc140>| match it {
                            Operand::Register(Name::Fixed(it)) => it.file,
                            _ => File::Data,
                        };
                        let opcode = if file(&to) == file(&from) {
                            Opcode::Tfr
                        } else {
                            Opcode::MoveL
                        };
                        operation(opcode, vec![to], vec![from])
                    }
                },
                ["if", to, "=", from] => {
                    let plain = operation(Opcode::Tfr, vec![register(to)], vec![register(from)]);
                    Operation {
                        mnemonic: plain.mnemonic.under(Condition::True),
                        ..plain
                    }
                    .under(GUARD)
                }
                ["bt", to] => {
                    let to = Operand::Block(to.parse().expect("a block"));
                    operation(Opcode::Bt, Vec::new(), vec![to]).under(GUARD)
                }
                ["bra", to] => {
                    let to = Operand::Block(to.parse().expect("a block"));
                    operation(Opcode::Bra, Vec::new(), vec![to])
                }
                ["call"] => operation(Opcode::Jsr, Vec::new(), vec![Operand::Symbol("f".into())]),
                ["return"] => operation(Opcode::Rts, Vec::new(), Vec::new()),
                _ => panic!("{line}"),
            };
            out.blocks
                .last_mut()
                .expect("a block")
                .operations
                .push(made);
        }
    }
    for (block, sets) in out.blocks.iter_mut().zip(sets) {
        if sets.iter().any(|count| *count > 1) {
            let cycles = (0..).zip(sets);
            block.cycles = cycles.flat_map(|(at, count)| vec![at; count]).collect();
        }
    }
    out
}

fn verdict(before: &str, after: &str) -> Result<(), Unproved> {
    let allocation = Allocation {
        registers: vec![Reg::TRUTH],
        spilled: 16,
        in_memory: 0,
        traffic: Default::default(),
        arrivals: Vec::new(),
    };
    let [before, after] = [before, after].map(function);
    check((&before, &allocation), (&after, &allocation))
}

/// The function before; parts of it that become others, and whether it then does the same.
fn compare(before: &str, changes: &[(&str, &str)], same: bool) {
    let mut after = before.to_string();
    for (from, to) in changes {
        assert!(after.contains(from), "{from}");
        after = after.replacen(from, to, 1);
    }
    let found = verdict(before, &after);
    assert_eq!(found.is_ok(), same, "{found:?}\n{after}");
}

const STRAIGHT: &str = "
    block
    d1 = mem
    d2 = mem
    d3 = d1 + d2
    s0 = d3
    d3 = mem
    mem = d3
    d4 = s0
    mem = d4
    return";

#[test]
fn a_value_may_be_elsewhere_or_be_computed_again() {
    compare(STRAIGHT, &[], true);
    // In a register of either file, and computed again.
    compare(
        STRAIGHT,
        &[("s0 = d3", "d9 = d3"), ("d4 = s0", "d4 = d9")],
        true,
    );
    compare(
        STRAIGHT,
        &[("s0 = d3", "r9 = d3"), ("d4 = s0", "d4 = r9")],
        true,
    );
    compare(
        STRAIGHT,
        &[("s0 = d3\n", "\n"), ("d4 = s0", "d4 = d1 + d2")],
        true,
    );
    // Not from another register, with another operand, or where nothing was stored.
    compare(
        STRAIGHT,
        &[("s0 = d3\n", "\n"), ("d4 = s0", "d4 = d3")],
        false,
    );
    compare(
        STRAIGHT,
        &[("s0 = d3\n", "\n"), ("d4 = s0", "d4 = d1 + d1")],
        false,
    );
    compare(
        STRAIGHT,
        &[("d3 = mem", "d1 = mem"), ("d4 = s0", "d4 = d1 + d2")],
        false,
    );
    compare(STRAIGHT, &[("d4 = s0", "d4 = s4")], false);
    compare(STRAIGHT, &[("s0 = d3\n", "\n")], false);
    compare(STRAIGHT, &[("s0 = d3", "s0 = d2")], false);
}

#[test]
fn effects_correspond() {
    compare(STRAIGHT, &[("mem = d3\n", "\n")], false);
    compare(STRAIGHT, &[("d4 = s0\n", "mem = d1\nd4 = s0\n")], false);
    // What is loaded again is the same while nothing is stored.
    let text = "
        block
        d1 = mem
        s0 = d1
        mem = d5
        d4 = s0
        mem = d4
        return";
    compare(text, &[("d4 = s0", "d1 = mem\nd4 = d1")], false);
    compare(
        text,
        &[(
            "mem = d5\n        d4 = s0",
            "d1 = mem\nd4 = d1\n        mem = d5",
        )],
        true,
    );
    let found = verdict(STRAIGHT, &STRAIGHT.replacen("mem = d4", "mem = d1", 1));
    let expected = Unproved {
        block: 0,
        operation: 7,
        side: Side::After,
        reason: UnprovedReason::Argument { argument: 0 },
    };
    assert_eq!(found, Err(expected));
}

#[test]
fn slots_of_values_that_live_at_once_are_apart() {
    let text = "
        block
        d1 = mem
        s0 = d1
        d2 = mem
        mem = d2
        d2 = mem
        s4 = d2
        d3 = s0
        mem = d3
        d4 = s4
        mem = d4
        return";
    compare(
        text,
        &[("s4 = d2", "s8 = d2"), ("d4 = s4", "d4 = s8")],
        true,
    );
    compare(
        text,
        &[("s4 = d2", "s0 = d2"), ("d4 = s4", "d4 = s0")],
        false,
    );
    // Halves of two slots.
    compare(
        text,
        &[("s4 = d2", "s2 = d2"), ("d4 = s4", "d4 = s2")],
        false,
    );
    // Outside the frame.
    compare(
        text,
        &[("s4 = d2", "s16 = d2"), ("d4 = s4", "d4 = s16")],
        false,
    );
    // One behind the other.
    compare(
        text,
        &[
            ("s4 = d2\n        d3 = s0", "d3 = s0\n        s0 = d2"),
            ("d4 = s4", "d4 = s0"),
        ],
        true,
    );
}

#[test]
fn calls_leave_few_registers() {
    let text = "
        block
        d1 = mem
        s0 = d1
        call
        d4 = s0
        mem = d4
        return";
    compare(
        text,
        &[("s0 = d1", "d6 = d1"), ("d4 = s0", "d4 = d6")],
        true,
    );
    compare(
        text,
        &[("s0 = d1", "d8 = d1"), ("d4 = s0", "d4 = d8")],
        false,
    );
    // What is passed on stays where it is.
    let passing = text.replacen("call", "d0 = d1\n        call", 1);
    compare(&passing, &[("d0 = d1\n", "\n")], false);
    compare(&passing, &[("d0 = d1", "d5 = d1\n        d0 = d5")], true);
}

#[test]
fn a_set_reads_before_it_writes() {
    let text = "
        block
        d1 = mem
        d2 = mem
        s0 = d2
        d2 = d1
        d1 = s0
        mem = d1
        mem = d2
        return";
    let change = "s0 = d2\n        d2 = d1\n        d1 = s0";
    compare(text, &[(change, "d2 = d1 | d1 = d2")], true);
    compare(text, &[(change, "d2 = d1\n        d1 = d2")], false);
    compare(text, &[(change, "d2 = d1 | d1 = d2 | s0 = d3")], true);
    // Round a circle of three.
    let three = "
        block
        d1 = mem
        d2 = mem
        d3 = mem
        d1 = d2 | d2 = d3 | d3 = d1
        mem = d1
        mem = d2
        mem = d3
        return";
    compare(
        three,
        &[(
            "d1 = d2 | d2 = d3 | d3 = d1",
            "d9 = d1\nd1 = d2\nd2 = d3\nd3 = d9",
        )],
        true,
    );
    compare(three, &[("d3 = d1", "d3 = d2")], false);
    compare(three, &[("d1 = d2 | ", "d1 = d2\n")], false);
}

const LOOP: &str = "
    block
    d1 = mem
    s0 = d1
    d5 = 0
    block
    d2 = s0
    d3 = d2 + d5
    s0 = d3
    mem = d3
    d5 = d5 + d1
    t = d5
    bt 1
    block
    d4 = s0
    mem = d4
    return";

#[test]
fn values_go_round_a_loop() {
    compare(
        LOOP,
        &[
            ("s0 = d1", "d7 = d1"),
            ("d2 = s0", "d2 = d7"),
            ("s0 = d3", "d7 = d3"),
            ("d4 = s0", "d4 = d7"),
        ],
        true,
    );
    // It is d3 behind the loop, but d1 only the first time within.
    compare(LOOP, &[("d4 = s0", "d4 = d3")], true);
    compare(LOOP, &[("d2 = s0", "d2 = d1")], false);
    compare(LOOP, &[("s0 = d3\n", "\n")], false);
    compare(LOOP, &[("s0 = d1\n", "\n")], false);
    // A sum of what changes is another one the next time.
    compare(
        LOOP,
        &[
            ("d3 = d2 + d5", "d3 = d2 + d5\nd8 = d3"),
            ("d2 = s0", "d2 = d8"),
        ],
        false,
    );
}

const JOIN: &str = "
    block
    d1 = mem
    t = d1
    bt 2
    block
    d9 = 3
    d2 = d1 + d9
    s0 = d2
    bra 3
    block
    d1 = mem
    d9 = 3
    d2 = d1 + d9
    s0 = d2
    block
    d2 = mem
    mem = d2
    d3 = s0
    mem = d3
    return";

#[test]
fn a_sum_is_the_same_on_both_ways() {
    compare(JOIN, &[("d3 = s0", "d3 = d1 + d9")], true);
    compare(
        JOIN,
        &[
            ("d9 = 3", "d9 = 4\nd8 = 3"),
            ("d1 + d9", "d1 + d8"),
            ("d3 = s0", "d3 = d1 + d9"),
        ],
        false,
    );
    compare(JOIN, &[("d3 = s0", "d3 = d2")], false);
    compare(JOIN, &[("s0 = d2\n    bra", "\n    bra")], false);
}

#[test]
fn what_is_written_under_a_guard_may_stay() {
    let text = "
        block
        d1 = mem
        d2 = mem
        s0 = d1
        t = d2
        d3 = s0
        if d3 = d2
        s0 = d3
        d3 = mem
        mem = d3
        d4 = s0
        mem = d4
        return";
    compare(
        text,
        &[
            ("d3 = s0\n        if d3 = d2\n        s0 = d3", "if d1 = d2"),
            ("s0 = d1\n", "\n"),
            ("d4 = s0", "d4 = d1"),
        ],
        true,
    );
    compare(text, &[("if d3 = d2", "d3 = d2")], false);
    compare(text, &[("t = d2", "t = d1")], false);
    compare(text, &[("s0 = d3", "")], false);
}

/// A slot that nothing stored may hold what a register holds.
#[test]
fn an_open_slot_is_chosen() {
    let text = "
        block
        d1 = mem
        t = d1
        bt 2
        block
        s0 = d1
        block
        d2 = mem
        mem = d2
        d3 = s0
        mem = d3
        return";
    compare(
        text,
        &[("s0 = d1", "d8 = d1"), ("d3 = s0", "d3 = d8")],
        true,
    );
    compare(
        text,
        &[("s0 = d1", "d8 = d1"), ("d3 = s0", "d3 = d2")],
        false,
    );
}

/// The table's constants are those of the operations: what a register holds behind each is what the other way of writing it sets.
#[test]
fn constants_of_the_target_are_told_apart() {
    let text = "
        block
        d1 = 0
        s0 = d1
        d1 = mem
        mem = d1
        d4 = s0
        mem = d4
        return";
    compare(text, &[("d4 = s0", "d4 = 0")], true);
    compare(text, &[("d4 = s0", "d4 = 1")], false);
    assert!(Sc140::constant(Reg::data(4), 0).is_some());
}
