//! Loads above stores that may write the same memory: as `ld.a`, with a `chk.a` behind those stores and code
//! that repeats the operations whose operands such a store has changed.
//!
//! ```text
//! h[k[i]] += w[i]                the load waits for the store of the iteration before: interval 11
//!      ->   ldfd.a x = [a]       above that store; the processor remembers register and address
//!           fma y = x + w        runs ahead, too
//!           chk.a.nc x, again    behind it: was [a] written since?          interval 1
//!           stfd [a] = y
//! again:    ldfd x = [a]; fma y = x + w; the rest of the check's cycle, and on to the next
//! ```
//!
//! *Which loads.* Those that a store may meet of which nothing is known; one that is seen to meet a store a
//! number of iterations later stays in order. They have no predicate, step no address, are of a plain type,
//! and their target rotates and has no other writer. Where an exit may be taken in front of one it is
//! `ld.sa`, which runs ahead of the exits as well; so it is where its address comes from a load that is not
//! checked yet, and may lead anywhere.
//!
//! *What runs ahead with it*: sums and the like of its own iteration. An operation that reads such a value of
//! an earlier iteration stands behind the check of that: unlike a fault, a change leaves no mark in a value.
//!
//! *Recovery* executes the load and all that runs ahead with it once more, in the same registers, then the
//! rest of the check's cycle, and goes on with the next. Other advanced loads that its addresses lead to are
//! advanced once more, and checked behind it. A check stands in front of every later store that its loads may
//! not pass, so that it finds the old contents.
//!
//! An advanced load and its check name one physical register: the table of advanced loads is asked by that, so that rotation
//! in between does not matter, and an entry that an earlier use of the register left is replaced by its load's own. The table
//! has few entries: a schedule that keeps more loads between themselves and their checks is no use.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 1, section 4.4.5.

use super::address::{Met, Touch};
use super::body::{Item, Loop, LoopExit};
use super::report::Alias;
use super::speculate::{self, Ahead, Check};
use crate::machine::epic::Epic;
use crate::machine::schema::Issue;
use crate::pipeline::graph::Schedule;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Operation, Virtual};
use crate::target::ia64::describe::Described;
use isa::ia64::Access;
use isa::ia64::Completer;
use rustc_hash::{FxHashMap, FxHashSet};

/// Loads of one loop.
const LOADS: usize = 8;

/// Returns true if nothing but a fear orders two accesses.
pub(super) fn is_feared(why: Alias) -> bool {
    matches!(
        why,
        Alias::Address | Alias::Base | Alias::Within | Alias::Steps
    )
}

/// Loads that may become advanced, by their targets.
pub(super) fn candidates(
    given: &Loop,
    described: &[Described],
    touches: &[Touch],
    meetings: &[Met],
) -> Vec<Virtual> {
    let accesses: Vec<usize> = (0..described.len())
        .filter(|&at| {
            let memory = described[at].inst.memory;
            memory.is_some_and(|memory| memory.access != Access::Prefetch)
        })
        .collect();
    let fits = speculate::candidates(given, &|_| true);
    let mut out: Vec<Virtual> = Vec::new();
    for met in meetings.iter().filter(|met| is_feared(met.how.why)) {
        for (left, right) in [(met.first, met.second), (met.second, met.first)] {
            let (load, store) = (&touches[left as usize], &touches[right as usize]);
            if load.access != Access::Load || !store.access.writes() {
                continue;
            }
            let item = accesses.get(left as usize).map(|&at| &given.items[at]);
            let written = item.into_iter().flat_map(|item| item.operation.writes());
            out.extend(written.filter(|it| fits.contains(it)));
        }
    }
    out.sort_unstable();
    out.dedup();
    out.truncate(LOADS);
    out
}

/// The loop with these loads above stores; `guarded`: above exits, too.
pub(super) fn advanced(
    function: &Function,
    given: &Loop,
    described: &[Described],
    loads: &[Virtual],
    guarded: bool,
    ahead: Ahead,
) -> Loop {
    let is_load = |item: &Item| item.operation.writes().any(|write| loads.contains(&write));
    let chosen = chosen(function, given, described, loads, ahead);
    let follows = |item: &Item| item.operation.writes().any(|write| chosen.contains(&write));
    // Values that something else reads.
    let mut checked: FxHashSet<Virtual> = FxHashSet::default();
    for item in &given.items {
        let own = follows(item);
        for read in item.operation.reads() {
            let (root, ago) = given.earlier.of(read);
            if !own || ago > 0 || item.before.contains(&read) {
                checked.insert(root);
            }
        }
    }
    let left = given.exits.iter().flat_map(LoopExit::left);
    checked.extend(left.map(|(name, _)| name));
    // An address that a load brought which is not checked yet may lead anywhere.
    let unchecked = |operation: &Operation| {
        let mut read = operation.reads();
        read.any(|it| chosen.contains(&given.earlier.root(it)))
    };
    let mnemonic = |operation: &Operation| {
        let how = match guarded || unchecked(operation) {
            true => Completer::Sa,
            false => Completer::A,
        };
        operation.mnemonic.followed_by(how)
    };
    // By place: the checks that stand behind the item.
    let mut checks: FxHashMap<usize, Vec<Item>> = FxHashMap::default();
    for (at, item) in given.items.iter().enumerate().filter(|(_, it)| is_load(it)) {
        for value in item.operation.writes() {
            let mut reached = FxHashSet::from_iter([value]);
            let mut last = at;
            let mut again = item.operation.clone();
            again.predicate = None;
            let mut recovery = vec![(again, item.before.clone())];
            for (at, item) in given.items.iter().enumerate().skip(at + 1) {
                let mut own = item.operation.reads();
                let leads = own.any(|it| reached.contains(&it) && !item.before.contains(&it));
                if !leads || !follows(item) {
                    continue;
                }
                let mut again = item.operation.clone();
                if is_load(item) {
                    again.mnemonic = mnemonic(&again);
                }
                recovery.push((again, item.before.clone()));
                reached.extend(item.operation.writes());
                last = at;
            }
            let mut covers: Vec<Virtual> = reached.intersection(&checked).copied().collect();
            covers.sort_unstable();
            checks.entry(last).or_default().push(Item::checking(
                op!("chk.a.nc"),
                item,
                Check {
                    value,
                    covers,
                    recovery,
                    stepped: Vec::new(),
                    advanced: true,
                },
            ));
        }
    }
    let mut out = given.clone();
    out.items.clear();
    for (at, item) in given.items.iter().enumerate() {
        let mut item = item.clone();
        if follows(&item) {
            item.speculative = true;
            if is_load(&item) {
                item.free = guarded;
                item.operation.mnemonic = mnemonic(&item.operation);
            }
        }
        out.items.push(item);
        out.items.extend(checks.remove(&at).into_iter().flatten());
    }
    out
}

/// Returns the items that run ahead: the loads, and those of their own iteration that read them.
fn chosen(
    function: &Function,
    given: &Loop,
    described: &[Described],
    loads: &[Virtual],
    ahead: Ahead,
) -> FxHashSet<Virtual> {
    // An operation that reads a value of an earlier iteration that runs ahead does not run ahead itself.
    let mut behind: FxHashSet<usize> = FxHashSet::default();
    loop {
        let chosen = speculate::chosen(function, given, described, loads, ahead, &behind);
        let carried = |item: &Item| {
            item.operation.reads().any(|read| {
                let (root, ago) = given.earlier.of(read);
                (ago > 0 || item.before.contains(&read)) && chosen.contains(&root)
            })
        };
        let items = given.items.iter().enumerate();
        let more: Vec<usize> = items
            .filter(|(_, item)| carried(item))
            .filter(|(_, item)| item.operation.writes().any(|write| chosen.contains(&write)))
            .map(|(at, _)| at)
            .filter(|at| !behind.contains(at))
            .collect();
        if more.is_empty() {
            return chosen;
        }
        behind.extend(more);
    }
}

/// Returns true if loads stand above stores.
pub(super) fn is_advanced(items: &[Item]) -> bool {
    let mut checks = items.iter().filter_map(|item| item.check.as_ref());
    checks.any(|check| check.advanced)
}

/// Returns true if the table of advanced loads is large enough for a schedule.
pub(super) fn fits(items: &[Item], schedule: &Schedule, machine: &Epic) -> bool {
    entries(items, &schedule.start, schedule.ii) <= machine.of(Issue::AdvancedLoads)
}

/// Entries of the table of advanced loads that a schedule keeps at once: by load, the iterations between it and its check.
fn entries(items: &[Item], start: &[u32], ii: u32) -> u32 {
    let made = |value: Virtual| {
        let mut all = items.iter().zip(start);
        let load = all.find(|(item, _)| {
            item.operation.memory.is_some() && item.operation.writes().any(|write| write == value)
        });
        load.map(|(_, &start)| start)
    };
    let mut out = 0;
    for (item, &at) in items.iter().zip(start) {
        let Some(check) = item.check.as_ref().filter(|check| check.advanced) else {
            continue;
        };
        let since = made(check.value).unwrap_or(at);
        out += at.saturating_sub(since) / ii.max(1) + 1;
    }
    out
}
