//! Slots become values: on random functions, a use receives the value that a machine with real variables
//! would hold.

use lockstep_ir::builder::{FunctionBuilder, Slot};
use lockstep_ir::*;
use oracle::random::Random;
use rustc_hash::FxHashMap;

/// The uses that a random function makes of its slots: along any path, a use must receive the value that a
/// machine with real variables would hold.
struct Slots {
    function: Function,
    /// The events of each block, in order: writes of a slot by a value, reads of a slot by a use.
    events: Vec<Vec<Happening>>,
}

#[derive(Clone, Copy)]
enum Happening {
    Write(usize, Written),
    /// The instruction uses the contents of the slot.
    Use(usize, Inst),
}

#[derive(Clone, Copy)]
enum Written {
    Constant(u64),
    Copy(usize),
}

fn random_slots(random: &mut Random, blocks: u32, slots: u32, jumps_to_entry: bool) -> Slots {
    let mut b = FunctionBuilder::new("f", FunctionKind::Kernel, Language::Text);
    let condition = b.parameter("c", "bool", &[Type::Bool])[0];
    let variables: Vec<Slot> = (0..slots).map(|_| b.slot(Type::I32)).collect();
    let all: Vec<Block> = std::iter::once(b.current())
        .chain((1..blocks).map(|_| b.create_block()))
        .collect();
    let mut events = vec![Vec::new(); blocks as usize];
    // Not in the order of control flow, as lowerings do.
    let mut order: Vec<usize> = (0..blocks as usize).collect();
    for at in 1..order.len() {
        order.swap(at, random.below(at as u32 + 1) as usize);
    }
    let mut number = 0;
    for at in order {
        b.switch_to(all[at]);
        for _ in 0..random.below(4) {
            let slot = random.below(slots) as usize;
            let happening = match random.below(5) {
                0..=1 => {
                    number += 1;
                    let value = b.int(Type::I32, number);
                    b.write(variables[slot], value);
                    Happening::Write(slot, Written::Constant(number as u64))
                }
                2 => {
                    let from = random.below(slots) as usize;
                    let value = b.read(variables[from]);
                    b.write(variables[slot], value);
                    Happening::Write(slot, Written::Copy(from))
                }
                _ => {
                    let value = b.read(variables[slot]);
                    let inst = b.inst(Op::Unary(UnaryOp::Neg), &[value], &[Type::I32]);
                    Happening::Use(slot, inst)
                }
            };
            events[at].push(happening);
        }
        let first = u32::from(!jumps_to_entry);
        let to = |random: &mut Random| all[(first + random.below(blocks - first)) as usize];
        match random.below(6) {
            0 => b.ret([]),
            1..=2 => b.jump(to(random)),
            _ => b.branch(condition, to(random), to(random), BranchKind::If),
        }
    }
    Slots {
        function: b.finish(),
        events,
    }
}

/// Walks one random path with both machines.
fn walk(random: &mut Random, slots: &Slots, count: usize) {
    let f = &slots.function;
    let mut held: Vec<Option<u64>> = vec![None; count];
    let mut values: FxHashMap<Value, Option<u64>> = FxHashMap::default();
    let mut block = f.entry();
    for _ in 0..60 {
        let data = &f.blocks[block];
        for &inst in &data.insts {
            if let Op::Const(bits) = f.insts[inst].op {
                values.insert(f.insts[inst].results[0], Some(bits));
            } else if f.insts[inst].op == Op::Undef {
                values.insert(f.insts[inst].results[0], None);
            }
        }
        for happening in slots.events.get(block.0 as usize).into_iter().flatten() {
            match *happening {
                Happening::Write(slot, Written::Constant(bits)) => held[slot] = Some(bits),
                Happening::Write(slot, Written::Copy(from)) => held[slot] = held[from],
                Happening::Use(slot, inst) => {
                    let arg = f.insts[inst].args[0];
                    assert_eq!(values.get(&arg), Some(&held[slot]), "{block} {inst}");
                }
            }
        }
        let edges = data.terminator.edges();
        if edges.is_empty() {
            return;
        }
        let edge = *random.pick(&edges);
        let passed: Vec<Option<u64>> = edge.args.iter().map(|arg| values[arg]).collect();
        for (&param, value) in f.blocks[edge.block].params.iter().zip(passed) {
            values.insert(param, value);
        }
        block = edge.block;
    }
}

#[test]
fn uses_receive_what_variables_would_hold() {
    let mut random = Random::new(4);
    for round in 0..3000 {
        let count = 1 + random.below(5);
        let blocks = 2 + random.below(14);
        let slots = random_slots(&mut random, blocks, count, round % 5 == 0);
        assert_eq!(verify(&slots.function), Ok(()), "round {round}");
        for _ in 0..10 {
            walk(&mut random, &slots, count as usize);
        }
    }
}

/// No parameter is a copy of one value, and none stands where fewer than two edges meet.
#[test]
fn parameters_are_needed() {
    let mut random = Random::new(5);
    for _ in 0..1000 {
        let blocks = 2 + random.below(14);
        let f = random_slots(&mut random, blocks, 4, false).function;
        for &block in f.layout.iter().skip(1) {
            for (number, &param) in f.blocks[block].params.iter().enumerate() {
                let mut received: Vec<Value> = Vec::new();
                for &from in &f.layout {
                    for edge in f.blocks[from].terminator.edges() {
                        if edge.block == block {
                            received.push(edge.args[number]);
                        }
                    }
                }
                received.retain(|&v| v != param);
                received.dedup();
                assert!(received.len() > 1, "{block} {param}");
            }
        }
    }
}
