//! Sums of floating-point numbers as several that take turns: an iteration waits for the one before the last, or for one
//! further back, and the sums are added up behind the loop.
//!
//! ```text
//! s = s + a[i] * b[i]          each waits four cycles for the one before: interval 4
//! s = (s, four iterations ago) + a[i] * b[i]          interval 1; behind the loop s is the sum of the last four
//! ```
//!
//! Values of earlier iterations have names, since registers rotate. In front of the loop, the first sum has
//! the initial value, and the others are zero. A sum that goes through several additions of one iteration, as
//! in an unrolled loop, becomes one for each of them where the loop ends at one exit only.
//!
//! Sums are rounded in another order: it is done only where the author permits that.
//!
//! Source: Heber and others, *Fracture mechanics on Intel Itanium architecture, a case study*, EPIC-1, 2001, whose compiler
//! does it in the sparse row product.

use super::Options;
use super::body::{Item, Loop, LoopExit, PartialSum};
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Name, Operand, Operation, Virtual};
use isa::ia64::File;
use isa::ia64::register::Reg;
use isa::ia64::{Mnemonic, Opcode};

/// Sums in the place of one, at most.
pub(super) const MOST: u32 = 8;

/// Numbers of sums that are tried.
pub(super) fn turns(given: &Loop, options: &Options) -> std::ops::Range<u32> {
    if !options.reassociate {
        return 0..0;
    }
    // One for each of several additions is a gain already.
    let least = 1 + u32::from(chains(given).iter().all(|chain| chain.items.len() == 1));
    least..MOST + 1
}

/// Sums that stand for one behind the loop.
pub(super) fn count(exits: &[LoopExit]) -> u32 {
    let of = |exit: &LoopExit| {
        let first = exit.sums.first().map(|sum| sum.register);
        let own = exit.sums.iter().filter(|sum| Some(sum.register) == first);
        1 + own.count() as u32
    };
    exits.iter().map(of).max().unwrap_or(1)
}

/// Additions of an iteration that hand a sum from one to the next; the last leaves it to the next iteration.
struct Chain {
    items: Vec<usize>,
    mnemonic: Mnemonic,
}

/// Returns true if there is a sum that may be several.
pub(super) fn any(given: &Loop) -> bool {
    !chains(given).is_empty()
}

/// The loop with `turns` sums in the place of each addition.
pub(super) fn interleaved(function: &mut Function, given: &Loop, turns: u32) -> Loop {
    let mut out = given.clone();
    for chain in chains(given) {
        split(function, &mut out, &chain, turns);
    }
    out
}

/// The register that an addition goes on from, and the place of it among the operands.
fn addend(operation: &Operation) -> Option<usize> {
    let place = match operation.opcode() {
        Opcode::Fma | Opcode::Fnma if operation.sources.len() == 3 => 2,
        Opcode::Fsub if operation.sources.len() == 2 => 0,
        _ => return None,
    };
    Some(place)
}

fn addends(operation: &Operation) -> Vec<(usize, Virtual)> {
    let places = match operation.opcode() {
        Opcode::Fadd if operation.sources.len() == 2 => vec![0, 1],
        _ => addend(operation).into_iter().collect(),
    };
    let named = places
        .into_iter()
        .filter_map(|place| match operation.sources[place] {
            Operand::Register(Name::Virtual(register)) => Some((place, register)),
            _ => None,
        });
    named.collect()
}

fn chains(given: &Loop) -> Vec<Chain> {
    let mut out = Vec::new();
    for (at, item) in given.items.iter().enumerate() {
        let Some(name) = sum(given, at) else { continue };
        // Whether an iteration begins with it.
        if !item.before.iter().any(|&it| carries(given, at, it)) {
            continue;
        }
        let mut items = vec![at];
        let mut last = name;
        while items.len() < MOST as usize {
            let next = items[items.len() - 1] + 1..given.items.len();
            let mut next = next.filter(|&other| {
                let own = addends(&given.items[other].operation);
                let before = given.items[other].before.contains(&last);
                !before && own.iter().any(|(_, it)| *it == last)
            });
            let (Some(other), None) = (next.next(), next.next()) else {
                break;
            };
            let Some(name) = sum(given, other) else { break };
            items.push(other);
            last = name;
        }
        let first = item.before.contains(&last);
        let mnemonic = item.operation.mnemonic;
        let same = items.iter().all(|&at| {
            let own = given.items[at].operation.mnemonic;
            own.completers().eq(mnemonic.completers())
        });
        let single = items.len() == 1 || given.exits.len() == 1;
        if first && same && single && is_private(given, &items) {
            out.push(Chain {
                // Rounded as its operations are.
                mnemonic: mnemonic.with_opcode(Opcode::Fadd),
                items,
            });
        }
    }
    out
}

/// Returns the target of the item, if it is an addition of its iteration.
fn sum(given: &Loop, at: usize) -> Option<Virtual> {
    let Item { operation, .. } = &given.items[at];
    let [Operand::Register(Name::Virtual(name))] = operation.targets[..] else {
        return None;
    };
    let mut writers = given.items.iter();
    let writers = writers
        .by_ref()
        .filter(|item| item.operation.writes().any(|write| write == name));
    let plain = operation.predicate.is_none()
        && !addends(operation).is_empty()
        && !given.statics.contains(&name)
        && writers.count() == 1;
    plain.then_some(name)
}

/// Returns true if the item goes on from the value of the iteration before under this name.
fn carries(given: &Loop, at: usize, name: Virtual) -> bool {
    let own = addends(&given.items[at].operation);
    own.iter().filter(|(_, it)| *it == name).count() == 1
}

/// Returns true if nothing but the chain and the code behind the loop reads its result.
fn is_private(given: &Loop, items: &[usize]) -> bool {
    let written: Vec<Virtual> = items
        .iter()
        .flat_map(|&at| given.items[at].operation.writes())
        .collect();
    let last = written.last().copied();
    let reads = |item: &Item| {
        let all = item.operation.reads();
        all.filter(|&it| written.contains(&given.earlier.root(it)))
            .count()
    };
    let inside = items.iter().all(|&at| {
        let item = &given.items[at];
        reads(item) == 1
            && item.operation.reads().all(|read| {
                given.earlier.ago(read) == 0 || !written.contains(&given.earlier.root(read))
            })
    });
    let mut others = (0..given.items.len()).filter(|at| !items.contains(at));
    let left = |exit: &LoopExit| {
        exit.live.iter().all(|&(_, name, ago)| {
            !written.contains(&name) || (Some(name) == last && (items.len() == 1 || ago == 0))
        })
    };
    let plain = given
        .exits
        .iter()
        .all(|exit| left(exit) && exit.sums.is_empty());
    let fresh = written.iter().all(|&it| given.earlier.is_own(it));
    inside && plain && fresh && others.all(|at| reads(&given.items[at]) == 0)
}

/// Each addition goes on from its own value of `turns` iterations ago.
fn split(function: &mut Function, given: &mut Loop, chain: &Chain, turns: u32) {
    let written: Vec<Virtual> = chain
        .items
        .iter()
        .flat_map(|&at| given.items[at].operation.writes())
        .collect();
    let Some(&last) = written.last() else { return };
    let zero = function.register(File::Float);
    let targets = vec![Operand::register(zero)];
    let none = vec![Operand::fixed(Reg::float(0))];
    given
        .before
        .push(Operation::plain(op!("mov"), targets, none));
    for (&at, &own) in chain.items.iter().zip(&written) {
        for ago in 1..=turns {
            // The sum itself begins as what it is in front of the loop.
            if own != last || ago > 1 {
                given.earlier.begins(own, ago, zero);
            }
        }
        let name = given.earlier.name(function, own, turns);
        let item = &mut given.items[at];
        let chained = addends(&item.operation)
            .into_iter()
            .find(|(_, it)| written.contains(it));
        if let Some((place, from)) = chained {
            item.operation.sources[place] = Operand::register(name);
            item.before.retain(|it| *it != from);
        }
    }
    for exit in &mut given.exits {
        let left: Vec<(Virtual, u32)> = exit
            .live
            .iter()
            .filter(|(_, name, _)| *name == last)
            .map(|&(register, _, ago)| (register, ago))
            .collect();
        for (register, ago) in left {
            for &value in &written {
                for more in 0..turns {
                    if value != last || more > 0 {
                        exit.sums.push(PartialSum {
                            register,
                            value,
                            ago: ago + more,
                            mnemonic: chain.mnemonic,
                        });
                    }
                }
            }
        }
    }
}
