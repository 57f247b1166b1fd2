//! The checker of reduced spill code against the simulator: code that is changed somewhere either computes the same or is not
//! accepted. `LOCKSTEP_MUTATED` kernels, each with as many changes as `LOCKSTEP_CHANGES` says, from the seed `LOCKSTEP_FIRST` on.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use isa::sc140::{File, Opcode, Reg, Sc140};
use lockstep_codegen::allocate::{Allocation, Decided, Reduction};
use lockstep_codegen::machine;
use lockstep_codegen::mir::{FrameOffset, Function, Name, Operand, Operation, Target};
use lockstep_codegen::spills::check::check;
use lockstep_codegen::target::sc140::emit::{Options, Unplaced, emit_placed};
use oracle::random::c::fractions;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sc140::{agrees, interpreted, module_of};
use std::collections::{BTreeMap, BTreeSet};

type Allocated = (Function<Sc140>, Allocation<Sc140>);

/// A change of reduced code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
enum Change {
    /// A load of a spilled value, a store of one, a move or another operation without effects is gone.
    Load,
    Store,
    Move,
    Other,
    /// It names another register of the class.
    Source,
    Destination,
    /// It accesses another slot.
    Slot,
    /// Two operations that follow each other have changed places.
    Order,
    /// The sources have.
    Operands,
}

const CHANGES: [Change; 9] = [
    Change::Load,
    Change::Store,
    Change::Move,
    Change::Other,
    Change::Source,
    Change::Destination,
    Change::Slot,
    Change::Order,
    Change::Operands,
];

fn slot(operation: &Operation<Sc140>) -> Option<u32> {
    operation.sources.iter().find_map(|source| match source {
        Operand::Frame(FrameOffset::Spill(bytes)) => Some(*bytes),
        _ => None,
    })
}

fn is_move(operation: &Operation<Sc140>) -> bool {
    let opcode = operation.mnemonic.opcode;
    let register = |operand: &Operand<Sc140>| matches!(operand, Operand::Register(_));
    matches!(opcode, Opcode::Tfr | Opcode::Tfra | Opcode::MoveL)
        && operation.targets.iter().all(register)
        && operation.sources.iter().all(register)
        && operation.sources.len() == 1
}

/// Returns true if a change may be made to an operation.
fn takes(change: Change, operation: &Operation<Sc140>) -> bool {
    let pure = !Sc140::acts(operation) && operation.branch().is_none();
    let loads = slot(operation).is_some() && !operation.targets.is_empty();
    let stores = slot(operation).is_some() && operation.targets.is_empty();
    let register = |operand: &Operand<Sc140>| matches!(operand, Operand::Register(_));
    match change {
        Change::Load => loads,
        Change::Store => stores,
        Change::Move => is_move(operation),
        Change::Other => pure && slot(operation).is_none() && !is_move(operation),
        Change::Source => operation.sources.iter().any(register) && operation.branch().is_none(),
        Change::Destination => pure && operation.targets.iter().any(register),
        Change::Slot => loads || stores,
        Change::Order => operation.branch().is_none(),
        Change::Operands => {
            let [left, right] = &operation.sources[..] else {
                return false;
            };
            pure && register(left) && register(right) && left != right
        }
    }
}

/// Makes a change somewhere, if there is a place for it.
fn mutated(given: &Allocated, change: Change, random: &mut StdRng) -> Option<Allocated> {
    let (mut function, allocation) = given.clone();
    let places: Vec<(usize, usize)> = (function.blocks.iter().enumerate())
        .filter(|(_, block)| block.cycles.is_empty())
        .flat_map(|(number, block)| {
            let own = block.operations.iter().enumerate();
            own.filter(|(_, operation)| takes(change, operation))
                .map(move |(at, _)| (number, at))
                .collect::<Vec<_>>()
        })
        .collect();
    let &(block, at) = places.get(random.random_range(0..places.len().max(1)))?;
    let operations = &mut function.blocks[block].operations;
    match change {
        Change::Load | Change::Store | Change::Move | Change::Other => {
            operations.remove(at);
        }
        Change::Source | Change::Destination => {
            let operation = &mut operations[at];
            let operands: &mut [_] = match change {
                Change::Source => &mut operation.sources,
                _ => &mut operation.targets,
            };
            let mut named: Vec<&mut Operand<Sc140>> = operands
                .iter_mut()
                .filter(|operand| matches!(operand, Operand::Register(_)))
                .collect();
            let count = named.len();
            let operand = &mut *named[random.random_range(0..count)];
            let old = match operand.name()? {
                Name::Virtual(register) => allocation.register(register),
                Name::Fixed(register) => register,
            };
            if !matches!(old.file, File::Data | File::Address) {
                return None;
            }
            let number = (old.number + random.random_range(1..16)) % 16;
            *operand = Operand::fixed(Reg::new(old.file, number));
        }
        Change::Slot => {
            let slots = allocation.spilled / 4;
            let other = 4 * random.random_range(0..slots.max(1));
            for source in &mut operations[at].sources {
                if let Operand::Frame(FrameOffset::Spill(bytes)) = source {
                    *bytes = other;
                }
            }
        }
        Change::Order => {
            if at + 1 >= operations.len() || operations[at + 1].branch().is_some() {
                return None;
            }
            operations.swap(at, at + 1);
        }
        Change::Operands => operations[at].sources.swap(0, 1),
    }
    Some((function, allocation))
}

/// Changes, those that were accepted, those that were not although the result is the same, those whose result is another one.
#[derive(Default, Debug)]
struct Tally {
    made: u32,
    accepted: u32,
    strict: u32,
    wrong: u32,
}

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn changes_of_the_result_are_not_accepted() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let first = setting("LOCKSTEP_FIRST", 0);
    let mut tallies: BTreeMap<Change, Tally> = BTreeMap::new();
    for seed in first..first + setting("LOCKSTEP_MUTATED", 40) {
        let kernel = fractions(seed);
        let module = module_of(&kernel.text, &kernel.name);
        let options = Options {
            fewer: 8,
            total: true,
            big_endian: false,
            ..Options::default()
        };
        let places = |unplaced: &Unplaced<'_>| -> Option<[Allocated; 2]> {
            let decided =
                Decided::scanned(unplaced.function, unplaced.sets, &unplaced.limits).ok()?;
            let after = decided
                .reductions(&BTreeSet::new())
                .written(Reduction::AnyClass);
            Some([decided.written(), after])
        };
        let mut found: Vec<Option<[Allocated; 2]>> = Vec::new();
        let plain = emit_placed(&module, sets, &options, &mut |unplaced| {
            let pair = places(unplaced).filter(|[before, _]| before.1.traffic.loads > 0);
            found.push(pair.clone());
            pair.map(|[_, after]| after)
        });
        let (Ok(plain), Some(Some([before, after]))) = (plain, found.first()) else {
            continue;
        };
        let expected = interpreted(&kernel, &module);
        agrees(&kernel, &expected, &plain.text).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let mut random = StdRng::seed_from_u64(seed);
        for _ in 0..setting("LOCKSTEP_CHANGES", 3) {
            for change in CHANGES {
                let Some(now) = mutated(after, change, &mut random) else {
                    continue;
                };
                let verdict = check((&before.0, &before.1), (&now.0, &now.1));
                let mut number = 0;
                let emitted = emit_placed(&module, sets, &options, &mut |_| {
                    number += 1;
                    match number {
                        1 => Some(now.clone()),
                        _ => found[number - 1].clone().map(|[_, after]| after),
                    }
                });
                let Ok(emitted) = emitted else { continue };
                let outcome = agrees(&kernel, &expected, &emitted.text);
                let tally = tallies.entry(change).or_default();
                tally.made += 1;
                match (&verdict, &outcome) {
                    (Ok(()), Ok(_)) => tally.accepted += 1,
                    (Err(_), Ok(_)) => tally.strict += 1,
                    (Err(_), Err(_)) => tally.wrong += 1,
                    (Ok(()), Err(why)) => panic!(
                        "seed {seed}, {change:?}: accepted, but {why}\n{}\n{}",
                        plain.text, emitted.text
                    ),
                }
            }
        }
    }
    for (change, tally) in &tallies {
        println!(
            "{change:?}: {} changes, {} change the result and are refused, {} accepted, {} refused although this run has the same result",
            tally.made, tally.wrong, tally.accepted, tally.strict
        );
    }
    // Every kind occurs, and changes results.
    assert_eq!(tallies.len(), CHANGES.len());
    for change in [Change::Load, Change::Store, Change::Move, Change::Source] {
        assert!(tallies[&change].wrong > 0, "{change:?}");
    }
}
