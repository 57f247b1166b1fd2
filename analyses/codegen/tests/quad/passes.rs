//! Random functions of Quad through the passes that IA-64 goes through, judged by execution.

use super::print::text;
use super::random::{Case, branching, counted, straight};
use super::set::{Allocation, Function, Name, Quad, Register};
use super::simulate::{Outcome, run_in_order, run_packets};
use super::target::Limits;
use lockstep_codegen::allocate::{allocate, jumps, simplify};
use lockstep_codegen::mir::Target;
use lockstep_codegen::mir::dependence::Locations;
use lockstep_codegen::pack::pack;
use lockstep_codegen::pipeline;
use lockstep_codegen::pipeline::expand::{Candidate, Expanded, Unexpandable, expand};
use lockstep_codegen::predicate::flag;
use lockstep_codegen::predicate::loops::innermost;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;

const LIMIT: u64 = 1_000_000;

const FEW: Limits = Limits { data: 5, pairs: 2 };
const NONE: Limits = Limits { data: 0, pairs: 0 };

/// The storage of registers, once they are given.
fn locate(allocation: &Allocation) -> impl Fn(Name) -> Locations + '_ {
    |name| {
        let register = match name {
            Name::Virtual(register) => allocation.register(register),
            Name::Fixed(register) => register,
        };
        Quad::units(register).map(|unit| unit as u32).collect()
    }
}

/// Returns the effect of a function on all arguments of its case, one operation after the other.
fn expected(case: &Case) -> Vec<(u32, Vec<u8>)> {
    let run = |arguments: &Vec<u32>| {
        let found = run_in_order(&case.function, &case.memory, arguments, LIMIT);
        let found = found.unwrap_or_else(|fault| panic!("{fault:?}\n{}", text(&case.function)));
        (found.result, found.memory)
    };
    case.arguments.iter().map(run).collect()
}

/// Gives registers, and makes packets where they are asked for; then all that it does is as expected.
fn judge(
    case: &Case,
    mut function: Function,
    limits: &Limits,
    packets: bool,
    expected: &[(u32, Vec<u8>)],
) -> Option<Vec<Outcome>> {
    simplify(&mut function);
    let allocation = allocate(&mut function, &(), limits).ok()?;
    jumps(&mut function);
    if packets {
        pack(&mut function, &(), &locate(&allocation));
    }
    let registers: Vec<Register> = allocation.registers.clone();
    let mut out = Vec::new();
    for (arguments, expected) in case.arguments.iter().zip(expected) {
        let arrivals = &allocation.arrivals;
        let found = run_packets(
            &function,
            &registers,
            arrivals,
            &case.memory,
            arguments,
            LIMIT,
        );
        let found = found.unwrap_or_else(|fault| panic!("{fault:?}\n{}", text(&function)));
        assert_eq!(
            found.result,
            expected.0,
            "{arguments:?}\n{}",
            text(&function)
        );
        assert!(
            found.memory == expected.1,
            "{arguments:?}\n{}",
            text(&function)
        );
        out.push(found);
    }
    Some(out)
}

#[test]
fn functions_with_few_registers_compute_the_same_from_spill_slots() {
    let mut spilled = 0;
    for seed in 0..1_500 {
        let mut rng = StdRng::seed_from_u64(seed);
        let case = straight(&mut rng);
        let expected = expected(&case);
        for limits in [Limits::default(), FEW, NONE] {
            let mut function = case.function.clone();
            let allocation = allocate(&mut function, &(), &limits).expect("registers");
            spilled += allocation.in_memory;
            judge(&case, case.function.clone(), &limits, false, &expected).expect("registers");
        }
    }
    assert!(spilled > 20_000, "{spilled}");
}

#[test]
fn packets_compute_what_operations_in_order_do() {
    let (mut before, mut after) = (0, 0);
    for seed in 0..1_500 {
        let mut rng = StdRng::seed_from_u64(10_000 + seed);
        let case = straight(&mut rng);
        let expected = expected(&case);
        for limits in [Limits::default(), FEW] {
            let cycles = |packets| {
                let found = judge(&case, case.function.clone(), &limits, packets, &expected);
                let found = found.expect("registers");
                found.iter().map(|it| it.packets + it.stalls).sum::<u64>()
            };
            before += cycles(false);
            after += cycles(true);
        }
    }
    // Cycles of single operations to those of packets.
    println!("cycles {before} to {after}");
    assert!(2 * before > 3 * after, "{before} {after}");
}

#[test]
fn loops_with_branches_are_one_block_under_the_flag() {
    let mut refused: BTreeMap<String, u32> = BTreeMap::new();
    let (mut converted, mut pipelined) = (0, 0);
    for seed in 0..2_000 {
        let mut rng = StdRng::seed_from_u64(20_000 + seed);
        let case = branching(&mut rng);
        let expected = expected(&case);
        let mut function = case.function.clone();
        for region in innermost(&function) {
            match flag::convert(&mut function, &region) {
                Ok(()) => converted += 1,
                Err(reason) => *refused.entry(reason.to_string()).or_default() += 1,
            }
        }
        let once = Case {
            function: function.clone(),
            ..case.clone()
        };
        assert_eq!(self::expected(&once), expected, "{}", text(&function));
        for packets in [false, true] {
            judge(
                &case,
                function.clone(),
                &Limits::default(),
                packets,
                &expected,
            )
            .expect("registers");
        }
        if let Some((function, _)) = expanded(&function)
            && judge(&case, function, &Limits::default(), true, &expected).is_some()
        {
            pipelined += 1;
        }
    }
    println!("{converted} converted, {pipelined} of them pipelined; {refused:?}");
    assert!(
        converted == 2_000 && pipelined > 300,
        "{converted} {pipelined} {refused:?}"
    );
}

/// The function with its loop pipelined.
fn expanded(function: &Function) -> Option<(Function, Expanded)> {
    let mut out = function.clone();
    flag::number(&mut out);
    let region = innermost(function).into_iter().next()?;
    let limits = pipeline::Limits::default();
    let plan = Candidate::of(&out, region.header, &()).and_then(|own| own.plan(&limits));
    let found = expand(&mut out, &plan.ok()?).ok()?;
    Some((out, found))
}

#[test]
fn pipelined_loops_compute_what_they_did() {
    let mut refused: BTreeMap<String, u32> = BTreeMap::new();
    let mut copies: BTreeMap<u32, u32> = BTreeMap::new();
    let (mut without, mut with, mut stalled) = (0, 0, 0);
    for seed in 0..10_000 {
        let mut rng = StdRng::seed_from_u64(30_000 + seed);
        let case = counted(&mut rng);
        let expected = expected(&case);
        let plain = judge(
            &case,
            case.function.clone(),
            &Limits::default(),
            true,
            &expected,
        );
        let plain = plain.expect("registers");
        let mut function = case.function.clone();
        flag::number(&mut function);
        let regions = innermost(&function);
        let [region] = &regions[..] else {
            panic!("one loop: {regions:?}");
        };
        let limits = pipeline::Limits::default();
        let plan = Candidate::of(&function, region.header, &()).and_then(|own| own.plan(&limits));
        match plan.and_then(|plan| expand(&mut function, &plan)) {
            Ok(found) => {
                let once = Case {
                    function: function.clone(),
                    ..case.clone()
                };
                assert_eq!(
                    self::expected(&once),
                    expected,
                    "{found:?} {}",
                    text(&function)
                );
                let Some(made) = judge(&case, function, &Limits::default(), true, &expected) else {
                    *refused.entry("registers".to_owned()).or_default() += 1;
                    continue;
                };
                *copies.entry(found.copies).or_default() += 1;
                for (left, right) in plain.iter().zip(&made) {
                    without += left.packets + left.stalls;
                    with += right.packets + right.stalls;
                    stalled += right.stalls;
                }
            }
            Err(reason) => {
                let reason: Unexpandable = reason;
                *refused.entry(reason.to_string()).or_default() += 1;
            }
        }
    }
    println!(
        "{refused:?}; by copies {copies:?}; cycles {without} to {with}, {stalled} of them stalls"
    );
    assert!(copies.values().sum::<u32>() > 5_000, "{refused:?}");
    assert!(copies.keys().any(|&key| key > 1), "{copies:?}");
    assert!(with < without, "{without} {with}");
}
