//! Loads of a loop whose value is known without memory: values that the iteration before stored there, and
//! values that no iteration changes.
//!
//! ```text
//! x[i] = z[i] * (y[i] - x[i - 1])     x[i - 1] is what the iteration before stored: it stays in a register
//! i < *n                              where no store may change it, loaded once in front of the loop
//! ```
//!
//! The first iteration's value is loaded in front of the loop, which permits only loads that the first iteration executes for
//! certain. A load goes where all stores that may meet it are one that writes exactly its bytes, an iteration earlier, and
//! always. Narrow integers are extended as a load does it.
//!
//! Source: Callahan, Carr and Kennedy, *Improving Register Allocation for Subscripted Variables*, 1990.

use super::address::{Touch, meeting};
use crate::mir::liveness::Liveness;
use crate::target::ia64::code::Body;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Name, Operand, Operation, Virtual};
use crate::target::ia64::describe::describe;
use isa::ia64::Access;
use isa::ia64::File;
use isa::ia64::{Mnemonic, Opcode};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

/// The loop without such loads, and how many there were; `touches` are those of its accesses in their order.
pub(super) fn forwarded(
    function: &mut Function,
    body: &Body,
    touches: &[Touch],
    liveness: &Liveness,
) -> Option<(Body, u32)> {
    let accesses: Vec<usize> = (0..body.operations.len())
        .filter(|&at| {
            let memory = describe(function, &body.operations[at]).inst.memory;
            memory.is_some_and(|memory| memory.access != Access::Prefetch)
        })
        .collect();
    if accesses.len() != touches.len() {
        return None;
    }
    let mut found: Vec<Known> = Vec::new();
    for (load, touch) in accesses.iter().zip(touches) {
        let known = Loop {
            body,
            touches,
            accesses: &accesses,
            liveness,
        }
        .known(*load, touch);
        // A value that stands for one load is not changed by another.
        let own = |known: &Known| known.store.map(|store| store.1);
        let free = |known: &Known| {
            own(known).is_none() || found.iter().all(|other| own(other) != own(known))
        };
        found.extend(known.filter(free));
    }
    if found.is_empty() {
        return None;
    }
    let mut out = body.clone();
    // From the last on: places in front stay what they are.
    let mut edits: Vec<(usize, Edit)> = Vec::new();
    for known in &found {
        let load = &body.operations[known.load];
        let mut first = load.clone();
        first.sources.truncate(1);
        if let Some((store, value, made)) = known.store {
            let bytes = body.operations[store]
                .memory
                .as_ref()
                .map_or(8, |it| it.bytes);
            // Where it is made anew, and the first operation that reads it so.
            let (value, made, from) = match function.file(value) {
                File::General if bytes < 8 => {
                    let wide = function.register(File::General);
                    let extend = Operation::plain(
                        Mnemonic::new(Opcode::zero_extend(bytes), &[]),
                        vec![Operand::register(wide)],
                        vec![Operand::register(value)],
                    )
                    .at(body.operations[store].loc);
                    edits.push((store, Edit::Insert(extend)));
                    (wide, store, store)
                }
                _ => (value, made, made + 1),
            };
            first.targets = smallvec![Operand::register(value)];
            out.live.insert(value);
            for operation in &mut out.operations[..from] {
                renamed(operation, known.target, value);
            }
            let mut behind = out.operations[from..].iter();
            let later = behind.any(|it| it.reads().any(|read| read == known.target));
            if later || known.copied {
                let copy = Operation::plain(
                    op!("mov"),
                    vec![Operand::register(known.target)],
                    vec![Operand::register(value)],
                )
                .at(load.loc);
                edits.push((made, Edit::Insert(copy)));
            }
        }
        out.preload.push(first);
        edits.push((known.load, Edit::Remove));
    }
    edits.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, edit) in edits {
        let (removed, added) = match edit {
            Edit::Insert(operation) => {
                out.operations.insert(at, operation);
                (0, 1)
            }
            Edit::Remove => match step(&body.operations[at]) {
                Some(step) => {
                    out.operations[at] = step;
                    (0, 0)
                }
                None => {
                    out.operations.remove(at);
                    (1, 0)
                }
            },
        };
        for exit in &mut out.exits {
            if exit.at > at {
                exit.at = exit.at + added - removed;
            }
        }
    }
    Some((out, found.len() as u32))
}

enum Edit {
    Insert(Operation),
    Remove,
}

/// A load that need not be done.
struct Known {
    load: usize,
    target: Virtual,
    /// The store that writes it an iteration earlier, its value, and where that is made.
    store: Option<(usize, Virtual, usize)>,
    /// True if the loaded value is read behind the loop, too.
    copied: bool,
}

struct Loop<'a> {
    body: &'a Body,
    touches: &'a [Touch],
    accesses: &'a [usize],
    liveness: &'a Liveness,
}

impl Loop<'_> {
    fn known(&self, load: usize, touch: &Touch) -> Option<Known> {
        let operations = &self.body.operations;
        let operation = &operations[load];
        let kind = operation.mnemonic;
        let plain = [
            op!("ld1"),
            op!("ld2"),
            op!("ld4"),
            op!("ld8"),
            op!("ldfs"),
            op!("ldfd"),
        ]
        .contains(&kind);
        let first = self.body.exits.iter().all(|exit| exit.at > load);
        if !plain
            || !first
            || operation.predicate.is_some()
            || touch.ordered
            || !touch.address.is_regular()
        {
            return None;
        }
        let [Operand::Register(Name::Virtual(target))] = operation.targets[..] else {
            return None;
        };
        let Some(Operand::Address(Name::Virtual(base))) = operation.sources.first() else {
            return None;
        };
        let changed = operations[..load]
            .iter()
            .any(|operation| operation.writes().any(|write| write == *base));
        if changed || self.writers(target).len() != 1 || self.body.live.contains(&target) {
            return None;
        }
        let mut store = None;
        for (&at, other) in self.accesses.iter().zip(self.touches) {
            if !other.access.writes() {
                continue;
            }
            let meets = match at < load {
                true => meeting(other, touch),
                false => meeting(touch, other),
            };
            if meets.is_none() {
                continue;
            }
            let exact = !other.ordered
                && other.address.is_regular()
                && other.address.is_parallel(&touch.address)
                && other.bytes == touch.bytes
                && touch.address.step.unsigned_abs() >= u64::from(touch.bytes)
                && other.address.beyond(&touch.address) == touch.address.step;
            if !exact || store.replace(at).is_some() {
                return None;
            }
        }
        let left = |register: Virtual| {
            let mut exits = self.body.exits.iter();
            exits.any(|exit| self.liveness.at_start(exit.target).contains(&register))
        };
        let copied = left(target);
        let Some(store) = store else {
            let stays = touch.address.step == 0 && self.writers(*base).is_empty();
            return stays.then_some(Known {
                load,
                target,
                store: None,
                copied,
            });
        };
        let stored = &operations[store];
        let fits = [
            (op!("st1"), op!("ld1")),
            (op!("st2"), op!("ld2")),
            (op!("st4"), op!("ld4")),
            (op!("st8"), op!("ld8")),
            (op!("stfs"), op!("ldfs")),
            (op!("stfd"), op!("ldfd")),
        ]
        .contains(&(stored.mnemonic, kind));
        let Some(Operand::Register(Name::Virtual(value))) = stored.sources.first() else {
            return None;
        };
        let writers = self.writers(*value);
        let &[made] = &writers[..] else { return None };
        let plain = stored.predicate.is_none()
            && operations[made].predicate.is_none()
            && operations[made].is_certain()
            && operations[made].memory.is_none()
            && made < store
            && !self.body.live.contains(value);
        (fits && plain && *value != target).then_some(Known {
            load,
            target,
            store: Some((store, *value, made)),
            copied,
        })
    }

    fn writers(&self, register: Virtual) -> Vec<usize> {
        let operations = self.body.operations.iter().enumerate();
        operations
            .filter(|(_, it)| it.writes().any(|write| write == register))
            .map(|(at, _)| at)
            .collect()
    }
}

/// Returns the number that an access adds to its address.
fn step(operation: &Operation) -> Option<Operation> {
    let Name::Virtual(base) = operation.stepped()? else {
        return None;
    };
    Some(
        Operation::plain(
            op!("add"),
            vec![Operand::register(base)],
            vec![operation.sources.get(1)?.clone(), Operand::register(base)],
        )
        .at(operation.loc),
    )
}

fn renamed(operation: &mut Operation, from: Virtual, to: Virtual) {
    for operand in &mut operation.sources {
        if *operand == Operand::register(from) {
            *operand = Operand::register(to);
        } else if *operand == Operand::Address(Name::Virtual(from)) {
            *operand = Operand::Address(Name::Virtual(to));
        }
    }
    for operand in &mut operation.targets {
        if *operand == Operand::Address(Name::Virtual(from)) {
            *operand = Operand::Address(Name::Virtual(to));
        }
    }
}

/// Leaves out operations whose results nothing reads any more: the steps of addresses that are not loaded
/// from.
pub(super) fn trim(function: &Function, given: &mut super::body::Loop) {
    // What stays in one register may be read behind the loop.
    let mut left: FxHashSet<Virtual> = given.statics.clone();
    for exit in &given.exits {
        left.insert(exit.predicate);
        left.extend(exit.left().map(|(name, _)| name));
    }
    loop {
        // By register: an item that reads it, and whether there is another one.
        let mut read: FxHashMap<Virtual, (usize, bool)> = FxHashMap::default();
        for (at, item) in given.items.iter().enumerate() {
            for each in item.operation.reads() {
                let found = given.earlier.root(each);
                let known = read.entry(found).or_insert((at, false));
                known.1 |= known.0 != at;
            }
        }
        let before = given.items.len();
        let mut next = 0..;
        given.items.retain(|item| {
            let at = next.next();
            let used = |register: Virtual| {
                let others = read.get(&register);
                left.contains(&register) || others.is_some_and(|&(by, more)| more || Some(by) != at)
            };
            item.operation.writes().any(used)
                || item.check.is_some()
                || item.operation.memory.is_some()
                || describe(function, &item.operation).inst.memory.is_some()
        });
        if given.items.len() == before {
            return;
        }
    }
}
