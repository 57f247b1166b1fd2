//! Copies replaced by their sources: a value that is handed from variable to variable, and from iteration to
//! iteration, stays in the register in which it was made, which rotates.
//!
//! ```text
//! c = a + b; a = b; b = c          c = (c 2 iterations ago) + (c of the iteration before): one sum in the cycle, not three
//! q = p; p = q + 4; st4 [q] = x    p = p + 4; st4 [p of the iteration before] = x, which is st4 [p] = x, 4
//! ```
//!
//! A copy is removed if its target has no other writer in the loop, and its source is not written again
//! behind it in its iteration. Readers of the target read the source, as many iterations earlier. The
//! target's value in front of the loop is the source's, so many iterations before the first; if that would
//! take two registers, the operation that makes the source is repeated in the place of the copy, and one of
//! the two registers is copied from each. Every step takes out one copy, so it ends.
//!
//! Source: Rau, *Iterative Modulo Scheduling*, 1996, section 2.1: rotating registers make a value of any earlier iteration
//! nameable.

use super::body::{Item, Loop};
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Name, Operand, Operation, Virtual};
use isa::ia64::File;
use isa::ia64::{Class, Opcode};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Names of values of iterations before the last one, and their values before the first iteration.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Earlier {
    /// Keyed by name: whose value, and how many iterations ago.
    names: FxHashMap<Virtual, (Virtual, u32)>,
    /// The register that holds a value in front of the loop, by the value and the number of iterations before
    /// the first, where that is not the value's own.
    initials: BTreeMap<(Virtual, u32), Virtual>,
}

impl Earlier {
    /// Whose value it is, and how many iterations ago; its own, if it is no such name.
    pub(super) fn of(&self, name: Virtual) -> (Virtual, u32) {
        self.names.get(&name).copied().unwrap_or((name, 0))
    }
    pub(super) fn root(&self, name: Virtual) -> Virtual {
        self.of(name).0
    }
    pub(super) fn ago(&self, name: Virtual) -> u32 {
        self.of(name).1
    }
    /// The register that holds the value of the iteration before the first.
    pub(super) fn initial(&self, value: Virtual) -> Virtual {
        self.initials.get(&(value, 1)).copied().unwrap_or(value)
    }
    /// Registers that hold values of iterations before the first, by the number of iterations.
    pub(super) fn initials(&self, value: Virtual) -> Vec<(u32, Virtual)> {
        let later = self.initials.range((value, 2)..=(value, u32::MAX));
        let later = later.map(|(&(_, ago), &from)| (ago, from));
        [(1, self.initial(value))]
            .into_iter()
            .chain(later)
            .collect()
    }
    /// Returns true if it has no names of earlier iterations, and begins as its own register.
    pub(super) fn is_own(&self, value: Virtual) -> bool {
        let mut named = self.names.values();
        let mut begun = self.initials.keys();
        !named.any(|of| of.0 == value) && !begun.any(|of| of.0 == value)
    }
    /// The register that holds in front of the loop the value of so many iterations before the first.
    pub(super) fn begins(&mut self, value: Virtual, ago: u32, register: Virtual) {
        self.initials.insert((value, ago), register);
    }
    /// The name of a value of so many iterations ago.
    pub(super) fn name(&mut self, function: &mut Function, value: Virtual, ago: u32) -> Virtual {
        let mut known = self.names.iter();
        match known.find(|(_, of)| **of == (value, ago)) {
            Some((&name, _)) => name,
            None => {
                let name = function.register(function.file(value));
                self.names.insert(name, (value, ago));
                name
            }
        }
    }
}

/// Copies that are followed: the loop is gone through for each.
const COPIES: usize = 64;

/// Takes out the copies.
pub(super) fn forget(function: &mut Function, given: &mut Loop) {
    let mut left = COPIES;
    let mut at = 0;
    while at < given.items.len() && left > 0 {
        let copy = found(function, given, at);
        match copy.is_some_and(|copy| forgotten(function, given, at, copy)) {
            // What was copied from it may go now.
            true => (at, left) = (0, left - 1),
            false => at += 1,
        }
    }
}

/// A copy: `target` is `value` of so many iterations ago.
#[derive(Clone, Copy)]
struct Copy {
    target: Virtual,
    value: Virtual,
    ago: u32,
}

/// Returns how many items write it.
fn writers(given: &Loop, name: Virtual) -> usize {
    let writes = |item: &&Item| item.operation.writes().any(|write| write == name);
    given.items.iter().filter(writes).count()
}

/// The item as a copy that may go.
fn found(function: &Function, given: &Loop, at: usize) -> Option<Copy> {
    let Item {
        operation, before, ..
    } = &given.items[at];
    let ([Operand::Register(Name::Virtual(target))], [Operand::Register(Name::Virtual(source))]) =
        (&operation.targets[..], &operation.sources[..])
    else {
        return None;
    };
    let (target, source) = (*target, *source);
    let file = function.file(target);
    let plain = operation.mnemonic == op!("mov")
        && operation.predicate.is_none()
        && file == function.file(source)
        && matches!(file, File::General | File::Float);
    if !plain || given.statics.contains(&target) || writers(given, target) != 1 {
        return None;
    }
    let (value, ago) = match before.contains(&source) {
        true => (source, 1),
        false => given.earlier.of(source),
    };
    let mut later = given.items[at..].iter();
    let again = ago == 0 && later.any(|item| item.operation.writes().any(|write| write == value));
    let made = writers(given, value) > 0;
    (made && !again && value != target && !given.statics.contains(&value)).then_some(Copy {
        target,
        value,
        ago,
    })
}

/// Returns true if the value of an earlier iteration under this name is read.
fn is_carried(given: &Loop, name: Virtual) -> bool {
    let mut left = given.exits.iter().flat_map(|exit| &exit.live);
    let earlier = |register: Virtual| {
        let (value, ago) = given.earlier.of(register);
        value == name && ago > 0
    };
    let read = given
        .items
        .iter()
        .any(|item| item.before.contains(&name) || item.operation.reads().any(earlier));
    read || left.any(|it| it.1 == name && it.2 > 0)
}

/// Returns true if the copy is gone.
fn forgotten(function: &mut Function, given: &mut Loop, at: usize, copy: Copy) -> bool {
    let Copy { target, value, ago } = copy;
    // The values in front of the loop for the target and for what earlier iterations left in it.
    let mut initials: Vec<(u32, Virtual)> = Vec::new();
    if is_carried(given, target) {
        initials = given.earlier.initials(target);
    }
    let own = is_carried(given, value) || given.earlier.names.values().any(|of| of.0 == value);
    let taken = |ago: u32| {
        let known = given.earlier.initials.contains_key(&(value, ago));
        known || ago == 1 && own
    };
    let (mut at, mut value) = (at, value);
    if initials.iter().any(|initial| taken(initial.0 + ago)) {
        let Some((again, before)) = repeated(function, given, value, ago) else {
            return false;
        };
        (value, at) = (again, at + before);
    }
    let copy = Copy { value, ..copy };
    given.earlier.initials.retain(|key, _| key.0 != target);
    for (before, from) in initials {
        given.earlier.initials.insert((value, before + ago), from);
    }
    // Names of what the target was are names of what the value was.
    for of in given.earlier.names.values_mut() {
        if of.0 == target {
            *of = (value, of.1 + ago);
        }
    }
    for exit in &mut given.exits {
        for live in &mut exit.live {
            if live.1 == target {
                *live = (live.0, value, live.2 + ago);
            }
        }
    }
    given.items.remove(at);
    for number in 0..given.items.len() {
        if given.items[number]
            .operation
            .reads()
            .any(|read| read == target)
        {
            reread(function, given, number, copy);
        }
    }
    true
}

/// Returns the operations that make the value once more, under another name, and the number of items that
/// they add. The other name has the value in front of the loop.
fn repeated(
    function: &mut Function,
    given: &mut Loop,
    value: Virtual,
    ago: u32,
) -> Option<(Virtual, usize)> {
    let makes = |item: &Item| item.operation.writes().any(|write| write == value);
    let mut makers = (0..given.items.len()).filter(|&at| makes(&given.items[at]));
    let (Some(at), None) = (makers.next(), makers.next()) else {
        return None;
    };
    let mut again = given.items[at].clone();
    let Operation {
        targets, predicate, ..
    } = &mut again.operation;
    let ([Operand::Register(Name::Virtual(target))], None) = (&mut targets[..], predicate) else {
        return None;
    };
    let name = function.register(function.file(value));
    *target = name;
    if again.operation.memory.is_some() || !again.free || again.check.is_some() {
        return None;
    }
    for (before, from) in given.earlier.initials(value) {
        if before <= ago {
            given.earlier.initials.insert((name, before), from);
        }
    }
    given.items.insert(at + 1, again);
    Some((name, 1))
}

/// Lets an item read the value in the place of its copy.
fn reread(function: &mut Function, given: &mut Loop, number: usize, copy: Copy) {
    let Copy { target, value, ago } = copy;
    let Loop { items, earlier, .. } = given;
    let item = &mut items[number];
    let carried = item.before.contains(&target);
    item.before.retain(|it| *it != target);
    let ago = ago + u32::from(carried);
    // One name is one value: if an operation reads both, the value of the iteration before gets a name of its
    // own.
    let both = item.operation.reads().any(|read| read == value);
    let already = u32::from(item.before.contains(&value));
    let name = match ago {
        0 if already == 1 => {
            let name = earlier.name(function, value, 1);
            rename(&mut item.operation, value, name);
            item.before.retain(|it| *it != value);
            value
        }
        0 => value,
        1 if !both || already == 1 => {
            item.before.push(value);
            item.before.sort_unstable();
            item.before.dedup();
            value
        }
        _ => earlier.name(function, value, ago),
    };
    rename(&mut item.operation, target, name);
}

/// Reads another name.
fn rename(operation: &mut Operation, from: Virtual, to: Virtual) {
    for operand in &mut operation.sources {
        match operand {
            Operand::Register(Name::Virtual(register))
            | Operand::Address(Name::Virtual(register))
                if *register == from =>
            {
                *register = to;
            }
            _ => {}
        }
    }
    for operand in &mut operation.targets {
        if *operand == Operand::Address(Name::Virtual(from)) {
            *operand = Operand::Address(Name::Virtual(to));
        }
    }
}

/// Steps that an access adds to its address.
const STEPS: std::ops::RangeInclusive<i64> = -256..=255;

/// `ld8 x = [p of the iteration before]; p = 8 + p` as `ld8 x = [p], 8`, where nothing else in the loop reads
/// p. Behind the loop the register has the value that the last access left in it.
pub(super) fn step(function: &Function, given: &mut Loop) {
    let mut used: FxHashMap<Virtual, u32> = FxHashMap::default();
    for each in given
        .items
        .iter()
        .flat_map(|item| item.operation.virtual_registers())
    {
        *used.entry(each).or_default() += 1;
    }
    let mut gone: Vec<usize> = Vec::new();
    for at in 0..given.items.len() {
        let Some((base, by)) = induction(&given.items[at]) else {
            continue;
        };
        // Itself twice, and the access.
        if used.get(&base) != Some(&3)
            || function.file(base) != File::General
            || given.statics.contains(&base)
        {
            continue;
        }
        let access = given.items.iter().position(|item| {
            let operation = &item.operation;
            let plain = operation.predicate.is_none() && operation.sources.len() == 1;
            let address = Operand::Address(Name::Virtual(base));
            let mut operands = operation.targets.iter().chain(&operation.sources);
            plain
                && item.before.contains(&base)
                && matches!(
                    operation.class(),
                    Class::Load | Class::FloatLoad | Class::Store | Class::FloatStore
                )
                && operands.any(|operand| *operand == address)
        });
        let Some(access) = access else { continue };
        let Some((own, from)) = own_register(given, base, given.items[access].passed) else {
            continue;
        };
        if own != base && used.contains_key(&own) {
            continue;
        }
        if from != own {
            given.before.push(Operation::plain(
                op!("mov"),
                vec![Operand::register(own)],
                vec![Operand::register(from)],
            ));
        }
        let item = &mut given.items[access];
        rename(&mut item.operation, base, own);
        item.operation.sources.push(Operand::Number(by));
        item.before.retain(|it| *it != base);
        item.free = false;
        given.statics.insert(own);
        given.earlier.initials.remove(&(base, 1));
        for exit in &mut given.exits {
            exit.live.retain(|it| it.1 != base);
        }
        gone.push(at);
    }
    let mut at = 0..;
    given
        .items
        .retain(|_| at.next().is_none_or(|at| !gone.contains(&at)));
}

/// The register that a value which an access steps may have all the time, behind all exits where it is read, too; and the
/// one in which it comes to the loop. `passed`: exits in front of the access.
fn own_register(given: &Loop, value: Virtual, passed: usize) -> Option<(Virtual, Virtual)> {
    let Loop { earlier, exits, .. } = given;
    let later = earlier.initials.range((value, 2)..=(value, u32::MAX));
    if later.count() > 0 || earlier.names.values().any(|of| of.0 == value) {
        return None;
    }
    let from = earlier.initial(value);
    let mut left = exits.iter().flat_map(|exit| &exit.live);
    let own = left.find(|it| it.1 == value).map_or(from, |it| it.0);
    let fits = exits.iter().enumerate().all(|(number, exit)| {
        exit.live.iter().all(|&(register, name, ago)| {
            let stepped = register == own && ago == 0 && number >= passed;
            match name == value {
                true => stepped,
                false => register != own,
            }
        })
    });
    let mut begun = earlier.initials.iter();
    let others = begun.any(|(key, &register)| key.0 != value && register == own);
    let free = own == value || !given.statics.contains(&own);
    (fits && free && !others).then_some((own, from))
}

/// A register that every iteration adds a number to, and the number.
fn induction(item: &Item) -> Option<(Virtual, i64)> {
    let operation = &item.operation;
    let plain = operation.predicate.is_none()
        && matches!(operation.opcode(), Opcode::Add | Opcode::Adds)
        && operation.targets.len() == 1;
    let target = operation.targets.first()?.virtual_register()?;
    match &operation.sources[..] {
        [Operand::Number(by), Operand::Register(Name::Virtual(of))]
        | [Operand::Register(Name::Virtual(of)), Operand::Number(by)]
            if plain && *of == target && item.before == [target] && STEPS.contains(by) =>
        {
            Some((target, *by))
        }
        _ => None,
    }
}
