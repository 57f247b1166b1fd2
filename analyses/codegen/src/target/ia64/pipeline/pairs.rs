//! Two floating-point loads of neighbours as one of a pair: `ldfpd`, `ldfps`, `ldfp8`.
//!
//! ```text
//! ldfd x = [a]; ldfd y = [a + 8]      of two iterations at once, a in steps of 16:      ldfpd x, y = [a]
//! ```
//!
//! The address must be a multiple of the pair's size in all iterations. Its step is; whether it begins as one is tested in
//! front of the loop, which executes as it is written where not. The two loads are of one iteration of the kernel, under no
//! predicate, and no store that may meet one of them stands between. Their registers are numbered one odd and one even.
//!
//! Sources: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, `ldfp`; Heber and others, *Fracture mechanics
//! on Intel Itanium architecture, a case study*, EPIC-1, 2001.

use super::address::{Met, Progression, Touch};
use super::body::{Item, Loop};
use super::separate;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Name, Operand, Virtual};
use crate::target::ia64::describe::Described;
use isa::ia64::Access;
use isa::ia64::Opcode;
use smallvec::smallvec;

/// Loads of an iteration as pairs, and the addresses that must be multiples of a number of bytes; `None`:
/// there is no pair. `left`: the registers read behind the loop.
pub(super) fn paired(
    given: &Loop,
    described: &[Described],
    touches: &[Touch],
    meetings: &[Met],
    left: &dyn Fn(Virtual) -> bool,
) -> Option<(Loop, Vec<(Progression, u32)>)> {
    let accesses: Vec<usize> = (0..described.len())
        .filter(|&at| {
            let memory = described[at].inst.memory;
            memory.is_some_and(|memory| memory.access != Access::Prefetch)
        })
        .collect();
    let mut out = given.clone();
    let mut aligned: Vec<(Progression, u32)> = Vec::new();
    let mut gone: Vec<usize> = Vec::new();
    let mut used: Vec<usize> = Vec::new();
    for (number, (&at, touch)) in (0..).zip(accesses.iter().zip(touches)) {
        let (Some(it), false) = (single(given, at), used.contains(&at)) else {
            continue;
        };
        let whole = 2 * it.size;
        // The only step that such a load adds to its address.
        if it.step.is_some_and(|step| step != i64::from(whole)) {
            continue;
        }
        let regular = touch.address.is_regular() && separate::is_computable(&touch.front);
        if !regular || touch.ordered || touch.front.step % i64::from(whole) != 0 {
            continue;
        }
        let mut others = (0..).zip(accesses.iter().zip(touches));
        let found = others.find(|&(other, (&place, next))| {
            let mnemonics = [at, place].map(|it| given.items[it].operation.mnemonic);
            let second = single(given, place);
            let stays = |second: &Single| second.step == it.step && !left(second.base);
            second.is_some_and(|second| second.step.is_none() || stays(&second))
                && !used.contains(&place)
                && mnemonics[0] == mnemonics[1]
                && next.address.is_parallel(&touch.address)
                && next.address.beyond(&touch.address) == i64::from(it.size)
                && given.items[place].passed == given.items[at].passed
                && moves(given, &accesses, meetings, (other, place), at)
                && other != number
        });
        let Some((_, (&place, _))) = found else {
            continue;
        };
        let Some(second) = single(given, place).filter(|second| second.step == it.step) else {
            continue;
        };
        let item = &mut out.items[at];
        item.operation.mnemonic = match item.operation.opcode() {
            Opcode::Ldfs => op!("ldfps"),
            Opcode::Ldf8 => op!("ldfp8"),
            _ => op!("ldfpd"),
        };
        item.operation.targets =
            smallvec![Operand::register(it.name), Operand::register(second.name)];
        if let Some(memory) = &mut item.operation.memory {
            memory.bytes = whole;
        }
        aligned.push((touch.front.clone(), whole));
        gone.push(place);
        used.extend([at, place]);
    }
    let mut at = 0..;
    out.items
        .retain(|_| at.next().is_none_or(|at| !gone.contains(&at)));
    (!aligned.is_empty()).then_some((out, aligned))
}

/// A load that may be one of two.
struct Single {
    size: u32,
    name: Virtual,
    base: Virtual,
    /// The number that it adds to its address.
    step: Option<i64>,
}

fn single(given: &Loop, at: usize) -> Option<Single> {
    let Item {
        operation, check, ..
    } = &given.items[at];
    let size = match operation.opcode() {
        // None with completers: a pair has none.
        _ if operation.mnemonic.completers().next().is_some() => return None,
        Opcode::Ldfs => 4,
        Opcode::Ldfd | Opcode::Ldf8 => 8,
        _ => return None,
    };
    let [Operand::Register(Name::Virtual(name))] = operation.targets[..] else {
        return None;
    };
    let (base, step) = match operation.sources[..] {
        [Operand::Address(Name::Virtual(base))] => (base, None),
        [Operand::Address(Name::Virtual(base)), Operand::Number(step)] => (base, Some(step)),
        _ => return None,
    };
    let mut writers = given.items.iter();
    let writers = writers
        .by_ref()
        .filter(|item| item.operation.writes().any(|write| write == name));
    let plain = operation.predicate.is_none()
        && check.is_none()
        && !given.statics.contains(&name)
        && writers.count() == 1;
    plain.then_some(Single {
        size,
        name,
        base,
        step,
    })
}

/// Returns true if the access at `from` may happen at `to` instead: no store that it may meet, and no reader, stands
/// between.
fn moves(
    given: &Loop,
    accesses: &[usize],
    meetings: &[Met],
    (number, from): (u32, usize),
    to: usize,
) -> bool {
    let between = from.min(to)..from.max(to);
    let mut met = meetings.iter().filter_map(|met| match number {
        found if met.first == found => Some(met.second),
        found if met.second == found => Some(met.first),
        _ => None,
    });
    let crosses = met.any(|other| {
        let place = accesses.get(other as usize);
        place.is_some_and(|place| between.contains(place))
    });
    let value = single(given, from).map(|it| it.name);
    let mut items = given.items[between].iter();
    let read = from < to
        && items.any(|item| {
            item.operation
                .reads()
                .any(|read| Some(read) == value && !item.before.contains(&read))
        });
    !crosses && !read
}
