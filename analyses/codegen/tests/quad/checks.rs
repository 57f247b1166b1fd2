//! The verdicts of the checkers of packets and of expanded loops where one thing is wrong.

use super::print::operation;
use super::random::{Case, counted};
use super::set::{Function, Name, Opcode, Operand, Operation, Quad, Register};
use super::simulate::run_in_order;
use lockstep_codegen::mir::dependence::Locations;
use lockstep_codegen::mir::{Counted, Object, Reference, Scheduled, Target, Virtual};
use lockstep_codegen::pack::check::{PacketFault, check};
use lockstep_codegen::pack::{Packets, packets};
use lockstep_codegen::pipeline;
use lockstep_codegen::pipeline::expand::check::ExpansionFault;
use lockstep_codegen::pipeline::expand::{self, Candidate, Pieces, Plan, pieces};
use lockstep_codegen::predicate::flag;
use lockstep_codegen::predicate::loops::innermost;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeSet;

fn data(number: u8) -> Operand {
    Operand::fixed(Register::data(number))
}

fn of(opcode: Opcode, targets: &[Operand], sources: &[Operand]) -> Operation {
    Operation::plain(opcode.into(), targets.to_vec(), sources.to_vec())
}

fn locate(name: Name) -> Locations {
    match name {
        Name::Fixed(register) => Quad::units(register).map(|unit| unit as u32).collect(),
        Name::Virtual(_) => Locations::new(),
    }
}

/// `d1 = d0 + d0; d2 = d1 * d1; [d3] = d2; d4 = [d3]; d1 = 5`
fn block() -> Vec<Operation> {
    let at = Operand::Address(Name::Fixed(Register::data(3)));
    vec![
        of(Opcode::Add, &[data(1)], &[data(0), data(0)]),
        of(Opcode::Mul, &[data(2)], &[data(1), data(1)]),
        of(Opcode::St, std::slice::from_ref(&at), &[data(2)]),
        of(Opcode::Ld, &[data(4)], std::slice::from_ref(&at)),
        of(Opcode::Li, &[data(1)], &[5.into()]),
    ]
}

fn verdict(packets: &Packets) -> Result<(), PacketFault> {
    check(&block(), packets, &(), &locate)
}

#[test]
fn packets_with_one_fault_are_found() {
    let right = packets(&block(), &(), &locate);
    assert_eq!(verdict(&right), Ok(()));
    assert_eq!(right.order, [0, 1, 4, 2, 3]);
    assert_eq!(right.cycles, [0, 1, 1, 3, 4]);
    let with = |order: &[u32], cycles: &[u32]| {
        verdict(&Packets {
            order: order.to_vec(),
            cycles: cycles.to_vec(),
        })
    };
    let pair = |first, second| Err(PacketFault::Pair { first, second });
    // A read in the cycle of its write; a write in front of a read; a load beside the store that it may meet.
    assert_eq!(with(&[0, 1, 4, 2, 3], &[0, 0, 1, 2, 3]), pair(0, 1));
    assert_eq!(with(&[0, 4, 1, 2, 3], &[0, 1, 1, 2, 3]), pair(1, 4));
    assert_eq!(with(&[0, 1, 4, 2, 3], &[0, 1, 1, 2, 2]), pair(2, 3));
    assert_eq!(with(&[0, 1, 4, 3, 2], &[0, 1, 1, 2, 3]), pair(2, 3));
    assert_eq!(
        with(&[0, 1, 4, 2], &[0, 1, 1, 2]),
        Err(PacketFault::Missing(3))
    );
    assert_eq!(
        with(&[0, 1, 4, 2, 2], &[0, 1, 1, 2, 3]),
        Err(PacketFault::Missing(2))
    );
    assert_eq!(
        with(&[0, 1, 4, 2, 3], &[0, 1, 1, 3, 2]),
        Err(PacketFault::Order(3))
    );
    // Two products.
    let products = [
        of(Opcode::Mul, &[data(1)], &[data(0), data(0)]),
        of(Opcode::Mul, &[data(2)], &[data(0), data(0)]),
    ];
    let together = Packets {
        order: vec![0, 1],
        cycles: vec![0, 0],
    };
    assert_eq!(
        check(&products, &together, &(), &locate),
        Err(PacketFault::Units(0))
    );
}

#[test]
fn volatile_accesses_keep_their_order() {
    // The second load alone is on the way to the product: without volatile it comes first.
    let load = |to: u8, at: u8| {
        let at = Operand::Address(Name::Fixed(Register::data(at)));
        Operation {
            memory: Some(Reference {
                object: Object::Restrict(u32::from(to)),
                bytes: 4,
                volatile: true,
                accessed_as: None,
            }),
            ..of(Opcode::Ld, &[data(to)], &[at])
        }
    };
    let mut operations = vec![
        of(Opcode::Li, &[data(8)], &[5.into()]),
        load(1, 8),
        load(2, 9),
        of(Opcode::Mul, &[data(3)], &[data(2), data(2)]),
        of(Opcode::Mul, &[data(4)], &[data(3), data(3)]),
    ];
    let place = |found: &Packets, each: u32| found.order.iter().position(|&it| it == each);
    let kept = packets(&operations, &(), &locate);
    assert!(place(&kept, 1) < place(&kept, 2), "{kept:?}");
    for operation in &mut operations[1..3] {
        operation.memory.as_mut().expect("an access").volatile = false;
    }
    let free = packets(&operations, &(), &locate);
    assert!(place(&free, 2) < place(&free, 1), "{free:?}");
    // The checker knows it, too.
    let verdict = |volatile: bool| {
        let mut operations = operations.clone();
        for operation in &mut operations[1..3] {
            operation.memory.as_mut().expect("an access").volatile = volatile;
        }
        check(&operations, &free, &(), &locate)
    };
    assert_eq!(verdict(false), Ok(()));
    let fault = PacketFault::Pair {
        first: 1,
        second: 2,
    };
    assert_eq!(verdict(true), Err(fault));
}

/// A loop of several stages, whose kernel holds several iterations.
struct Planned {
    case: Case,
    /// The function, with the names of the pieces.
    function: Function,
    plan: Plan<Quad>,
    right: Pieces<Quad>,
    header: u32,
}

impl Planned {
    /// Returns whether the function with these pieces has the same effects, by execution.
    fn computes_the_same(&self, pieces: &Pieces<Quad>) -> bool {
        let mut function = self.case.function.clone();
        let found = expand::expand(&mut function, &self.plan).expect("a plan");
        let at = found.kernel as usize;
        let (kernel, right) = (&function.blocks[at], &self.right.kernel);
        assert_eq!(kernel.operations, right.operations);
        assert_eq!(kernel.cycles, right.cycles);
        function.blocks[at] = pieces.kernel.clone();
        function.blocks[at + 1] = pieces.epilogue.clone();
        self.case.arguments.iter().all(|arguments| {
            let run = |function: &Function| {
                run_in_order(function, &self.case.memory, arguments, 1_000_000)
                    .map(|found| (found.result, found.memory))
            };
            run(&function).ok() == run(&self.case.function).ok()
        })
    }
}

fn planned() -> Vec<Planned> {
    let mut out = Vec::new();
    for seed in 0..600 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut case = counted(&mut rng);
        flag::number(&mut case.function);
        let mut function = case.function.clone();
        let header = innermost(&function)[0].header;
        let limits = pipeline::Limits::default();
        let found = Candidate::of(&case.function, header, &()).and_then(|own| own.plan(&limits));
        let Ok(found) = found else {
            continue;
        };
        let operations = function.blocks.iter().flat_map(|block| &block.operations);
        let count = operations
            .filter_map(Quad::counter)
            .next()
            .expect("a count");
        let Ok(made) = pieces(&mut function, &found, count) else {
            continue;
        };
        assert_eq!(expand::check::check(&function, &found, &made), Ok(()));
        if found.copies > 1 {
            out.push(Planned {
                case,
                function,
                plan: found,
                right: made,
                header,
            });
        }
    }
    out
}

/// Operations of the kernel on which a store or a value handed over depends: backwards over the straight code
/// of two times through the kernel.
fn needed(function: &Function, pieces: &Pieces<Quad>) -> Vec<bool> {
    let kernel = &pieces.kernel.operations;
    let numbered = (0..kernel.len()).map(Some).zip(kernel);
    let ahead = pieces
        .prologue
        .operations
        .iter()
        .map(|operation| (None, operation));
    let behind = pieces
        .epilogue
        .operations
        .iter()
        .map(|operation| (None, operation));
    let all: Vec<(Option<usize>, &Operation)> = ahead
        .chain(numbered.clone())
        .chain(numbered)
        .chain(behind)
        .collect();
    let own = (0..function.registers.len() as u32).map(Virtual);
    let mut live: BTreeSet<Virtual> = own
        .filter(|it| !pieces.names.values().any(|name| name == it))
        .collect();
    let mut out = vec![false; kernel.len()];
    for (number, operation) in all.into_iter().rev() {
        if !Quad::stores(operation) && !operation.writes().any(|write| live.contains(&write)) {
            continue;
        }
        if let Some(number) = number {
            out[number] = true;
        }
        if operation.is_certain() {
            operation.writes().for_each(|write| {
                live.remove(&write);
            });
        }
        live.extend(operation.reads());
    }
    out
}

/// The iterations of all pieces are those of the loop, by their weights.
#[test]
fn pieces_are_weighed_by_their_executions() {
    let planned = planned();
    assert!(planned.len() > 50, "{}", planned.len());
    for Planned {
        case, header, plan, ..
    } in planned
    {
        let mut function = case.function;
        for (at, block) in (0..).zip(&mut function.blocks) {
            block.weight = if at == header { 120.0 } else { 3.0 };
        }
        let found = expand::expand(&mut function, &plan).expect("a plan");
        let weight = |block: u32| function.blocks[block as usize].weight;
        assert_eq!(weight(found.kernel - 1), 3.0, "the prologue");
        assert_eq!(weight(found.kernel + 1), 3.0, "the epilogue");
        let ahead = 3.0 * f64::from(found.stages - 1);
        let around = weight(found.kernel) * f64::from(found.copies);
        let rest = found.rest.map_or(0.0, weight);
        let all = ahead + around + rest;
        assert!((all - 120.0).abs() < 0.01, "{all} of 120 iterations");
    }
}

#[test]
fn expanded_loops_with_one_fault_are_found() {
    let all = planned();
    assert!(all.len() > 30, "{}", all.len());
    let (mut tried, mut missed) = (0, Vec::new());
    for planned in &all {
        let Planned {
            function,
            plan,
            right,
            ..
        } = planned;
        let kernel = &right.kernel.operations;
        let needed = needed(function, right);
        let mut judge = |wrong: &Pieces<Quad>, what: String| {
            tried += 1;
            let passes = expand::check::check(function, plan, wrong).is_ok();
            if passes && !planned.computes_the_same(wrong) {
                missed.push(what);
            }
        };
        for at in 0..kernel.len() - 1 {
            if !needed[at] {
                continue;
            }
            // One that is not executed.
            let mut wrong = right.clone();
            wrong.kernel.operations.remove(at);
            judge(&wrong, format!("without {}", operation(&kernel[at])));
            // One that reads the name of another iteration.
            for source in 0..kernel[at].sources.len() {
                let Operand::Register(Name::Virtual(read)) = kernel[at].sources[source] else {
                    continue;
                };
                let found = right.names.iter().find(|(_, name)| **name == read);
                let Some((&(value, number), _)) = found else {
                    continue;
                };
                let count = plan.names[&value];
                let other = right.names[&(value, (number + 1) % count)];
                if other != read {
                    let mut wrong = right.clone();
                    let operand: &mut Operand = &mut wrong.kernel.operations[at].sources[source];
                    *operand = Operand::register(other);
                    judge(
                        &wrong,
                        format!("v{} in {}", other.0, operation(&kernel[at])),
                    );
                }
            }
        }
        // A value that is not handed over.
        for at in right.finished..right.epilogue.operations.len() {
            if Quad::copied(&right.epilogue.operations[at]).is_some() {
                let mut wrong = right.clone();
                wrong.epilogue.operations.remove(at);
                judge(
                    &wrong,
                    format!("without {}", operation(&right.epilogue.operations[at])),
                );
            }
        }
    }
    assert!(
        tried > 1_000 && missed.is_empty(),
        "{} of {tried}: {missed:#?}",
        missed.len()
    );
}

#[test]
fn stores_that_change_places_are_found() {
    let mut found = 0;
    for planned in planned() {
        let right = &planned.right;
        let stores: Vec<usize> = (0..right.kernel.operations.len())
            .filter(|&at| Quad::stores(&right.kernel.operations[at]))
            .collect();
        for pair in stores.windows(2) {
            let mut wrong = right.clone();
            wrong.kernel.operations.swap(pair[0], pair[1]);
            let verdict = expand::check::check(&planned.function, &planned.plan, &wrong);
            found += u32::from(matches!(verdict, Err(ExpansionFault::Order { .. })));
        }
    }
    assert!(found > 10, "{found}");
}
