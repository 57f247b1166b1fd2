//! Lines of memory asked for before they are needed: `lfetch` along the streams of a loop, as many iterations ahead as memory
//! takes cycles.
//!
//! ```text
//! s += a[i] * b[i], interval 2, memory after 150 cycles:      lfetch.nt1 [f], 8      f starts as a + 8 * 75
//! ```
//!
//! A stream is a set of accesses whose addresses differ by less than a line; it has one `lfetch` in an
//! iteration of the kernel. An address that is loaded, or that does not move, is no stream: the author
//! prefetches through `p[k[i + 75]]` by hand. Lines prefetched behind the last element are not needed, and
//! cause no fault.
//!
//! An `lfetch` takes the slot and the port of a load, so that the interval may grow: it is done where it is asked for.
//!
//! Source: Heber and others, *Fracture mechanics on Intel Itanium architecture, a case study*, EPIC-1, 2001, section 3.

use super::address::{Progression, Touch};
use super::body::{Item, Loop};
use super::separate;
use crate::machine::epic::Epic;
use crate::machine::schema::Issue;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Name, Operand, Operation};
use isa::ia64::File;

/// Streams of a loop that are fetched ahead.
const STREAMS: usize = 8;

/// Steps that an instruction adds to its address.
const NEAR: std::ops::RangeInclusive<i64> = -256..=255;

struct Stream {
    address: Progression,
    front: Progression,
    stored: bool,
}

/// Accesses by lines.
fn streams(touches: &[Touch], line: i64) -> Vec<Stream> {
    let mut out: Vec<Stream> = Vec::new();
    for touch in touches {
        let (front, address) = (&touch.front, &touch.address);
        let moves = front.step != 0 && touch.address.is_regular();
        if !moves || touch.ordered || !separate::is_computable(front) {
            continue;
        }
        let stored = touch.access.writes();
        let same = |stream: &&mut Stream| {
            stream.address.is_parallel(address)
                && stream.address.beyond(address).unsigned_abs() < line.unsigned_abs()
        };
        if let Some(known) = out.iter_mut().find(same) {
            known.stored |= stored;
        } else if out.len() < STREAMS {
            out.push(Stream {
                address: address.clone(),
                front: front.clone(),
                stored,
            });
        }
    }
    out
}

/// The loop with its streams fetched ahead, how many these are, and by how many iterations; `None`: it has none. `interval`:
/// cycles from an iteration to the next.
pub(super) fn prefetching(
    function: &mut Function,
    given: &Loop,
    touches: &[Touch],
    machine: &Epic,
    interval: u32,
) -> Option<(Loop, u32, u32)> {
    let streams = streams(touches, i64::from(machine.of(Issue::MemoryLine)));
    let count = streams.len() as u32;
    let ahead = machine.of(Issue::MemoryLatency).div_ceil(interval.max(1));
    let mut out = given.clone();
    let mut items = Vec::new();
    for Stream {
        mut front, stored, ..
    } in streams
    {
        let step = front.step;
        let start = i64::from(ahead).wrapping_mul(step);
        front.start.constant = front.start.constant.wrapping_add(start);
        let from = separate::address(function, &front, &mut out.before);
        let by = match NEAR.contains(&step) {
            true => Operand::Number(step),
            false => {
                let by = function.register(File::General);
                let sources = vec![Operand::Number(step)];
                out.before.push(Operation::plain(
                    op!("movl"),
                    vec![Operand::register(by)],
                    sources,
                ));
                Operand::register(by)
            }
        };
        out.statics.insert(from);
        let hint = if stored {
            op!("lfetch.excl.nt1")
        } else {
            op!("lfetch.nt1")
        };
        let address = Operand::Address(Name::Virtual(from));
        let fetch = Operation::plain(hint, Vec::new(), vec![address, by]);
        items.push(Item::of(fetch, 0));
    }
    items.append(&mut out.items);
    out.items = items;
    (count > 0).then_some((out, count, ahead))
}
