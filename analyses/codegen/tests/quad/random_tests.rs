//! Random functions keep their promises, and contain the operations that passes must understand.

use super::random::maker::operation;
use super::random::{self, Case, REGION};
use super::set::{Block, Class, Function, Name, Opcode, Operand, Register};
use super::simulate::{Outcome, run_in_order, run_packets, run_traced};
use lockstep_codegen::mir::liveness::Liveness;
use lockstep_codegen::mir::{Object, Virtual};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;

const LIMIT: u64 = 100_000;

type MakeCase = fn(&mut StdRng) -> Case;

/// The number of times that something occurs.
type Histogram = BTreeMap<String, u64>;

fn note(histogram: &mut Histogram, what: impl Into<String>) {
    *histogram.entry(what.into()).or_default() += 1;
}

/// Executes a case with all its arguments, and checks that its statements about memory are true.
fn outcomes(case: &Case, name: &str) -> Vec<Outcome> {
    let mut out = Vec::new();
    for arguments in &case.arguments {
        let mut touched = Vec::new();
        let run = run_traced(
            &case.function,
            &case.memory,
            arguments,
            LIMIT,
            &mut |traced| {
                touched.push(traced);
            },
        );
        let outcome = run.unwrap_or_else(|fault| panic!("{name}: {fault:?}\n{:#?}", case.function));
        assert_eq!(outcome.undefined, 0, "{name}: {:#?}", case.function);
        for traced in touched {
            let block = &case.function.blocks[traced.block as usize];
            let memory = block.operations[traced.operation].memory.as_ref();
            let memory = memory.expect("every access says what it touches");
            assert_eq!(memory.bytes, traced.access.bytes, "{name}");
            let region = traced.access.address / u64::from(REGION);
            let last =
                (traced.access.address + u64::from(traced.access.bytes) - 1) / u64::from(REGION);
            let expected = match memory.object {
                Object::Restrict(parameter) => u64::from(parameter),
                _ => 4,
            };
            assert_eq!((region, last), (expected, expected), "{name}: {traced:?}");
        }
        out.push(outcome);
    }
    out
}

/// Data registers that are live at once, at most.
fn pressure(case: &Case) -> usize {
    let liveness = Liveness::of(&case.function);
    let size = |register: Virtual| match case.function.class(register) {
        Class::Data => 1,
        Class::Pair => 2,
        _ => 0,
    };
    let mut most = 0;
    for (block, here) in case.function.blocks.iter().enumerate() {
        for at in 0..here.operations.len() {
            let live = liveness.inside(&case.function, block as u32, at);
            most = most.max(live.iter().map(size).sum());
        }
    }
    most
}

/// Counts the contents of the function.
fn count(case: &Case, kind: &str, histogram: &mut Histogram) {
    for operation in case
        .function
        .blocks
        .iter()
        .flat_map(|block| &block.operations)
    {
        note(histogram, format!("{:?}", operation.mnemonic.opcode));
        if operation.predicate.is_some() {
            note(histogram, format!("guard {}", operation.mnemonic.sense));
            if operation.mnemonic.opcode != Opcode::Jump {
                note(histogram, "guarded operation");
            }
        }
        if operation.stepped().is_some() {
            note(histogram, "step");
        }
        if let Some(memory) = &operation.memory {
            let object = match memory.object {
                Object::Restrict(_) => "restrict",
                Object::Parameter(_) => "parameter",
                _ => "unknown",
            };
            note(histogram, object);
        }
    }
    let live = match pressure(case) {
        0..16 => "0 to 15",
        16..32 => "16 to 31",
        32..48 => "32 to 47",
        _ => "48 and more",
    };
    note(histogram, format!("live {live}"));
    note(
        histogram,
        format!("{kind} blocks {}", case.function.blocks.len().min(9)),
    );
    if kind == "counted" {
        let body = case.function.blocks[2].operations.len();
        note(
            histogram,
            format!("body {:02} to {:02}", body / 5 * 5, body / 5 * 5 + 4),
        );
    }
}

/// Counts executions in which a conditional jump is taken, and in which it is not, once at least.
fn branches(case: &Case, histogram: &mut Histogram) {
    let away = operation(Opcode::Jump, None, vec![], vec![Operand::Block(u32::MAX)]);
    for (block, here) in case.function.blocks.iter().enumerate() {
        let Some(last) = here.operations.last() else {
            continue;
        };
        if last.mnemonic.opcode != Opcode::Jump || last.predicate.is_none() {
            continue;
        }
        // A jump to nowhere is a fault if and only if it executes.
        let (mut taken, mut not_taken) = (case.function.clone(), case.function.clone());
        if let Some(jump) = taken.blocks[block].operations.last_mut() {
            jump.sources.clone_from(&away.sources);
        }
        not_taken.blocks[block].operations.push(away.clone());
        for arguments in &case.arguments {
            for (broken, side) in [(&taken, "taken"), (&not_taken, "not taken")] {
                if run_in_order(broken, &case.memory, arguments, LIMIT).is_err() {
                    note(histogram, format!("jump {side}"));
                }
            }
        }
    }
}

/// Places without choice: parameters where they arrive, pairs from above, others behind them in turn; those of one block
/// have theirs while they are mentioned. `None`: there are too few, or two flags live at once.
fn identity(function: &Function) -> Option<Vec<Register>> {
    let mut out = vec![Register::T; function.registers.len()];
    let mut free: Vec<u8> = (function.parameters.len() as u8..32).rev().collect();
    for (at, register) in function.parameters.iter().enumerate() {
        out[register.0 as usize] = Register::data(at as u8);
    }
    let mut pair = 16;
    for (at, _) in classes(function, Class::Pair) {
        pair = u8::checked_sub(pair, 1)?;
        out[at] = Register::pair(pair);
    }
    free.retain(|number| *number < 2 * pair);
    // Blocks and operations that mention it first and last.
    let mut spans = vec![None; function.registers.len()];
    for (block, here) in function.blocks.iter().enumerate() {
        for (at, operation) in here.operations.iter().enumerate() {
            for register in operation.virtual_registers() {
                let span = &mut spans[register.0 as usize];
                let (first, _, certain) =
                    span.unwrap_or(((block, at), (block, at), operation.is_certain()));
                *span = Some((first, (block, at), certain));
            }
        }
    }
    let data: Vec<usize> = classes(function, Class::Data)
        .map(|entry| entry.0)
        .collect();
    let mut local = Vec::new();
    for at in data {
        if function.parameters.contains(&Virtual(at as u32)) {
            continue;
        }
        match spans[at] {
            Some(((first, from), (last, to), true))
                if first == last && writes_first(function, first, from, at) =>
            {
                local.push((first, from, to, at));
            }
            _ => out[at] = Register::data(free.pop()?),
        }
    }
    local.sort_unstable();
    let mut held: Vec<(usize, usize, u8)> = Vec::new();
    for (block, from, to, at) in local {
        let ended = held.extract_if(.., |old| (old.0, old.1) < (block, from));
        free.extend(ended.map(|old| old.2));
        let number = free.pop()?;
        out[at] = Register::data(number);
        held.push((block, to, number));
    }
    let mut blocks = function.blocks.iter();
    blocks
        .all(|block| flags_are_apart(block, function))
        .then_some(out)
}

fn classes(function: &Function, class: Class) -> impl Iterator<Item = (usize, &Class)> {
    let all = function.registers.iter().enumerate();
    all.filter(move |entry| *entry.1 == class)
}

fn writes_first(function: &Function, block: usize, operation: usize, register: usize) -> bool {
    let operation = &function.blocks[block].operations[operation];
    let register = Virtual(register as u32);
    operation.writes().any(|other| other == register)
        && operation.reads().all(|other| other != register)
}

/// Returns whether each flag that is read was the last one written, in the same block.
fn flags_are_apart(block: &Block, function: &Function) -> bool {
    let mut last = None;
    for operation in &block.operations {
        let sources = operation
            .sources
            .iter()
            .filter_map(Operand::virtual_register);
        let flags = sources.filter(|source| function.class(*source) == Class::Flag);
        if flags
            .chain(operation.predicate)
            .any(|flag| last != Some(flag))
        {
            return false;
        }
        if let Some(Operand::Register(Name::Virtual(target))) = operation.targets.first()
            && function.class(*target) == Class::Flag
        {
            last = Some(*target);
        }
    }
    true
}

#[test]
fn random_functions_are_sound_and_of_all_kinds() {
    let mut rng = StdRng::seed_from_u64(20);
    let mut histogram = Histogram::new();
    let makers: [(&str, MakeCase); 3] = [
        ("straight", random::straight),
        ("counted", random::counted),
        ("branching", random::branching),
    ];
    for number in 0..2000 {
        let (kind, make) = makers[number % 3];
        let case = make(&mut rng);
        let name = format!("{kind} {number}");
        let expected = outcomes(&case, &name);
        count(&case, kind, &mut histogram);
        if number % 10 < 3 {
            branches(&case, &mut histogram);
        }
        let Some(places) = identity(&case.function) else {
            continue;
        };
        note(&mut histogram, format!("{kind} in packets"));
        for (arguments, expected) in case.arguments.iter().zip(expected) {
            let run = run_packets(&case.function, &places, &[], &case.memory, arguments, LIMIT);
            let run = run.unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
            assert_eq!(run.result, expected.result, "{name}");
            assert_eq!(run.memory, expected.memory, "{name}");
            assert_eq!(run.packets, expected.packets, "{name}");
        }
    }
    for (what, often) in &histogram {
        println!("{often:7} {what}");
    }
    let opcodes = "Li Mov Movq Add Sub And Or Xor Shr Mul Mac Addq Widen Narrow Ld St Ldq Stq Tst \
                   Cmpeq Cmplt Sett Setlc Jump Endloop Ret";
    let others = [
        "guard true",
        "guard false",
        "guarded operation",
        "step",
        "restrict",
        "parameter",
        "unknown",
        "live 0 to 15",
        "live 16 to 31",
        "live 32 to 47",
        "live 48 and more",
        "jump taken",
        "jump not taken",
        "straight in packets",
        "counted in packets",
        "branching in packets",
    ];
    for what in opcodes.split_whitespace().chain(others) {
        let often = histogram.get(what).copied().unwrap_or(0);
        assert!(often >= 20, "{what} occurs {often} times");
    }
}

#[test]
fn a_seed_makes_the_same_function() {
    for make in [random::straight, random::counted, random::branching] {
        let (first, second) = (
            make(&mut StdRng::seed_from_u64(7)),
            make(&mut StdRng::seed_from_u64(7)),
        );
        assert_eq!(first.function, second.function);
        assert_eq!(
            (first.memory, first.arguments),
            (second.memory, second.arguments)
        );
    }
}
