//! Loads above the exits that guard them: as `ld.s`, with a `chk.s` at their place and code that repeats the
//! failed operations.
//!
//! ```text
//! while (p[i] != key) i++        (V) ld4 x = [a]         the load waits for the exit of the iteration before: interval 3
//!                        ->          ld4.s x = [a]       runs ahead
//!                                (V) chk.s x, again      (V) cmp.. V' = x, key     interval 1
//!                          again:    ld4 x = [a]; to the start of the check's cycle
//! ```
//!
//! *Which loads.* One that executes under the predicate of its own iteration, or of the exits in front of it,
//! needs no speculation: that is how all of them begin. One becomes speculative if the schedule with it ahead
//! of its guard has a smaller interval, and stays so only if it is ahead of its guard there. It has no
//! predicate of its own, is of a plain type, and its target rotates and has no other writer. A step of its
//! address runs ahead with it: where nothing else reads the address, in the loop or behind it, the step needs
//! no operation of its own.
//!
//! *What runs ahead with it*: sums and the like that read its result, in its iteration or later ones. A
//! failed load marks them all (NaT). Every such value that another operation, a later iteration or code
//! behind the loop reads has a check at the place of its operation, under the predicate of the exits in front
//! of it.
//!
//! *Recovery* executes the value's speculative operations of its own iteration once more, as they stand in
//! the program, in the same registers: no rotation lies between the check and it. Their operands are kept
//! until then. A value of an earlier iteration has been checked: checks that read one stand behind its check.
//! Everything else that reads a checked value stands behind its check, and a store that must not pass a load
//! must not pass its checks, so that the load finds again the value that it would have found. The check is
//! the first of its cycle: going back to the cycle's start repeats nothing but checks. An address that was
//! stepped since is taken back by as many steps as the schedule has executed by then. So behind its check
//! every value is the same as without speculation, by induction over iterations; and a load is executed again
//! only where its iteration happens and its exits were not taken, so it faults only where it would have.
//!
//! Stores never move, and loads with a volatile access, or a value that lives in one register don't either.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 1, section 4.4.4.

use super::body::{Item, Loop, LoopExit};
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Name, Operand, Operation, Virtual};
use crate::target::ia64::describe::Described;
use isa::ia64::{Class, File};
use isa::ia64::{Completer, Opcode};
use rustc_hash::{FxHashMap, FxHashSet};

/// The recovery of a check that fails.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Check {
    /// The value that is checked for a mark, or whose address is checked for a change.
    pub(super) value: Virtual,
    /// The values that are correct behind it, as far as something else reads them.
    pub(super) covers: Vec<Virtual>,
    /// True if it asks the table of advanced loads: it would fail again where it failed.
    pub(super) advanced: bool,
    /// The operations in order, each with the values of the iteration before that it reads.
    pub(super) recovery: Vec<(Operation, Vec<Virtual>)>,
    /// Loads of it whose addresses step: they are read as they are now, and taken back.
    pub(super) stepped: Vec<SteppedLoad>,
}

/// A load in one register that it steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SteppedLoad {
    pub(super) value: Virtual,
    pub(super) base: Virtual,
    /// Bytes.
    pub(super) step: i64,
}

impl SteppedLoad {
    pub(super) fn of(operation: &Operation) -> Option<SteppedLoad> {
        match (&operation.targets[..], &operation.sources[..]) {
            (
                [Operand::Register(Name::Virtual(value))],
                [Operand::Address(Name::Virtual(base)), Operand::Number(step)],
            ) if matches!(operation.class(), Class::Load | Class::FloatLoad) => Some(SteppedLoad {
                value: *value,
                base: *base,
                step: *step,
            }),
            _ => None,
        }
    }
}

impl Check {
    pub(super) fn writes(&self) -> impl Iterator<Item = Virtual> + '_ {
        self.recovery
            .iter()
            .flat_map(|(operation, _)| operation.writes())
    }
    /// Returns the values that it reads and does not compute itself, and the number of iterations since.
    pub(super) fn inputs(&self) -> Vec<(Virtual, u32)> {
        let own: Vec<Virtual> = self.writes().collect();
        let mut out: Vec<(Virtual, u32)> = Vec::new();
        for (operation, before) in &self.recovery {
            let taken_back =
                |register: &Virtual| self.stepped.iter().any(|load| load.base == *register);
            for read in operation.reads().filter(|read| !taken_back(read)) {
                let ago = u32::from(before.contains(&read));
                if ago > 0 || !own.contains(&read) {
                    out.push((read, ago));
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// The operations that run ahead together with loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ahead {
    /// Addresses of other speculative loads.
    Addresses,
    /// All that can.
    Everything,
}

/// Loads that may become speculative, by their targets; `left`: whether a register is read behind the loop.
pub(super) fn candidates(given: &Loop, left: &dyn Fn(Virtual) -> bool) -> Vec<Virtual> {
    let written = written(given);
    let fits = |(at, item): &(usize, &Item)| {
        let operation = &item.operation;
        let plain = operation.mnemonic.completers().next().is_none()
            && matches!(
                operation.opcode(),
                Opcode::Ld1
                    | Opcode::Ld2
                    | Opcode::Ld4
                    | Opcode::Ld8
                    | Opcode::Ldfs
                    | Opcode::Ldfd
                    | Opcode::Ldf8
            );
        let volatile = operation.memory.as_ref().is_none_or(|it| it.volatile);
        let address = match SteppedLoad::of(operation) {
            Some(SteppedLoad { base, .. }) => given.statics.contains(&base) && !left(base),
            None => matches!(&operation.sources[..], [Operand::Address(Name::Virtual(_))]),
        };
        plain && !volatile && address && rotates(given, &written, *at)
    };
    let loads = given.items.iter().enumerate().filter(fits);
    loads
        .flat_map(|(_, item)| values(&item.operation))
        .collect()
}

/// Returns true if one of these loads steps its address.
pub(super) fn steps(given: &Loop, loads: &[Virtual]) -> bool {
    let stepped = given
        .items
        .iter()
        .filter_map(|item| SteppedLoad::of(&item.operation));
    let mut values = stepped.map(|load| load.value);
    values.any(|value| loads.contains(&value))
}

/// Returns its results, without the address that it steps.
fn values(operation: &Operation) -> impl Iterator<Item = Virtual> + '_ {
    let base = operation.stepped();
    let own = operation.writes();
    own.filter(move |&it| base != Some(Name::Virtual(it)))
}

/// Returns for each register the number of items of an iteration that write it, and the last of them.
fn written(given: &Loop) -> FxHashMap<Virtual, (u32, usize)> {
    let mut out: FxHashMap<Virtual, (u32, usize)> = FxHashMap::default();
    for (at, item) in given.items.iter().enumerate() {
        for write in item.operation.writes() {
            let known = out.entry(write).or_default();
            *known = (known.0 + 1, at);
        }
    }
    out
}

/// Returns true if everything that the item at `at` reads and writes is of its iteration, or never changes.
/// Its operands must not be written again behind it: recovery reads them later.
fn rotates(given: &Loop, written: &FxHashMap<Virtual, (u32, usize)>, at: usize) -> bool {
    let item = &given.items[at];
    let operation = &item.operation;
    let again = |register: Virtual| {
        let last = written.get(&register).map(|known| known.1);
        !item.before.contains(&register) && last.is_some_and(|last| last > at)
    };
    let kept = |register: Virtual| {
        let exits = given.exits.iter().take(item.passed);
        let mut left = exits.flat_map(LoopExit::left);
        left.any(|(name, ago)| name == register && ago == 0)
    };
    let mut names = operation.targets.iter().chain(&operation.sources);
    let fixed = names.any(|operand| match operand.name() {
        Some(Name::Fixed(reg)) => !reg.is_constant(),
        _ => false,
    });
    let base = operation.stepped();
    let is_base = |register: &Virtual| base == Some(Name::Virtual(*register));
    operation.predicate.is_none()
        && operation.targets.len() == 1
        && !fixed
        && values(operation).all(|value| {
            written.get(&value).is_some_and(|known| known.0 == 1)
                && !given.statics.contains(&value)
                && !kept(value)
        })
        && operation
            .reads()
            .filter(|read| !is_base(read))
            .all(|read| !given.statics.contains(&read) && !again(read))
}

/// Returns true if its result is marked if an operand is.
fn marks(class: Class) -> bool {
    matches!(
        class,
        Class::Alu
            | Class::Logic
            | Class::Extend
            | Class::Shift
            | Class::Multimedia
            | Class::ParallelMultiply
            | Class::FloatArithmetic
            | Class::FloatMisc
            | Class::FloatConvert
            | Class::IntegerMultiply
            | Class::FromFloat
            | Class::ToFloat
    )
}

/// The loop with these loads ahead of their guards; `described` by item.
pub(super) fn speculated(
    function: &Function,
    given: &Loop,
    described: &[Described],
    loads: &[Virtual],
    ahead: Ahead,
) -> Loop {
    let chosen = chosen(
        function,
        given,
        described,
        loads,
        ahead,
        &FxHashSet::default(),
    );
    let is_load = |item: &Item| item.operation.writes().any(|write| loads.contains(&write));
    let speculative: Vec<bool> = given
        .items
        .iter()
        .map(|item| item.operation.writes().any(|write| chosen.contains(&write)))
        .collect();
    // Values that something else reads.
    let mut checked: FxHashSet<Virtual> = FxHashSet::default();
    for (item, &own) in given.items.iter().zip(&speculative) {
        let earlier = item.operation.reads();
        let earlier = earlier.filter(|&it| given.earlier.ago(it) > 0);
        let earlier = earlier.map(|it| given.earlier.root(it));
        let carried = item.before.iter().copied().chain(earlier);
        let all = item.operation.reads().filter(|_| !own);
        checked.extend(carried.chain(all).filter(|it| chosen.contains(it)));
    }
    let left = given.exits.iter().flat_map(LoopExit::left);
    let left = left.map(|(name, _)| name);
    checked.extend(left.filter(|it| chosen.contains(it)));
    let mut out = given.clone();
    out.items.clear();
    for (at, (item, &own)) in given.items.iter().zip(&speculative).enumerate() {
        if !own {
            out.items.push(item.clone());
            continue;
        }
        let mut ahead = item.clone();
        ahead.free = true;
        ahead.speculative = true;
        if is_load(item) {
            ahead.operation.mnemonic = item.operation.mnemonic.followed_by(Completer::S);
        }
        out.items.push(ahead);
        for value in item
            .operation
            .writes()
            .filter(|write| checked.contains(write))
        {
            let (recovery, stepped) = recovery(given, &speculative, at, value);
            out.items.push(Item::checking(
                op!("chk.s"),
                item,
                Check {
                    value,
                    covers: vec![value],
                    advanced: false,
                    recovery,
                    stepped,
                },
            ));
        }
    }
    out
}

/// The loads, and the operations that run ahead with them; those at the places `behind` do not.
pub(super) fn chosen(
    function: &Function,
    given: &Loop,
    described: &[Described],
    loads: &[Virtual],
    ahead: Ahead,
    behind: &FxHashSet<usize>,
) -> FxHashSet<Virtual> {
    let written = written(given);
    let arithmetic = |at: usize| {
        let item = &given.items[at];
        !behind.contains(&at)
            && item.free
            && item.operation.memory.is_none()
            && marks(described[at].inst.class)
            && rotates(given, &written, at)
            && item
                .operation
                .writes()
                .all(|write| matches!(function.file(write), File::General | File::Float))
    };
    // What addresses of these loads are made of.
    let mut wanted: FxHashSet<Virtual> = FxHashSet::default();
    let mut chosen: FxHashSet<Virtual> = loads.iter().copied().collect();
    let is_load = |item: &Item| item.operation.writes().any(|write| loads.contains(&write));
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (at, item) in given.items.iter().enumerate().rev() {
            let leads = is_load(item)
                || (arithmetic(at) && item.operation.writes().any(|write| wanted.contains(&write)));
            if leads {
                for read in item.operation.reads() {
                    changed |= wanted.insert(read);
                }
            }
        }
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (at, item) in given.items.iter().enumerate() {
            let operation = &item.operation;
            let follows = operation.reads().any(|read| chosen.contains(&read))
                && (ahead == Ahead::Everything
                    || operation.writes().any(|write| wanted.contains(&write)));
            if follows && arithmetic(at) {
                for write in operation.writes() {
                    changed |= chosen.insert(write);
                }
            }
        }
    }
    chosen
}

/// The speculative operations of the iteration that lead to the value, which the item at `last` makes; and those of them whose
/// addresses step.
#[allow(clippy::type_complexity)]
fn recovery(
    given: &Loop,
    speculative: &[bool],
    last: usize,
    value: Virtual,
) -> (Vec<(Operation, Vec<Virtual>)>, Vec<SteppedLoad>) {
    let mut wanted = FxHashSet::from_iter([value]);
    let (mut out, mut stepped) = (Vec::new(), Vec::new());
    for at in (0..=last).rev() {
        let item = &given.items[at];
        if !speculative[at] || !item.operation.writes().any(|write| wanted.contains(&write)) {
            continue;
        }
        let own = item.operation.reads();
        wanted.extend(own.filter(|it| !item.before.contains(it)));
        let mut again = item.operation.clone();
        if let Some(load) = SteppedLoad::of(&again) {
            again.sources.truncate(1);
            stepped.push(load);
        }
        out.push((again, item.before.clone()));
    }
    out.reverse();
    (out, stepped)
}

/// Loads that stand ahead of their guard in a schedule: `start` by item, `valid` when the predicate of an iteration is
/// there, counted from the iteration's own start.
pub(super) fn early(items: &[Item], start: &[u32], valid: i64) -> Vec<Virtual> {
    let mut out = Vec::new();
    for (item, &start) in items.iter().zip(start) {
        let guard = valid + item.passed as i64;
        if item.operation.memory.is_some() && item.speculative && i64::from(start) < guard {
            out.extend(values(&item.operation));
        }
    }
    out
}
