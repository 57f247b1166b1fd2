//! Races on shared memory that some launch certainly has: the pairs of `workgroup`, one a place.

use super::{Context, finding};
use crate::model::*;
use crate::workgroup::{AccessKind, Collision, Threads, Touching, collisions};
use ir::Loc;

pub(super) fn findings(cx: &Context<'_>, out: &mut Vec<Finding>) {
    let size = [0, 1, 2].map(|axis| cx.size(axis));
    let Some(mut threads) = Threads::new(cx.function, size, cx.warp_size()) else {
        return;
    };
    let (mut firsts, mut seconds): (Vec<Loc>, Vec<Loc>) = (Vec::new(), Vec::new());
    let found = collisions(cx.function, cx.facts, &mut threads);
    for collision in found {
        let (first, second) = (loc(cx, collision.first), loc(cx, collision.second));
        // One barrier mends what is told of one place.
        if firsts.contains(&first) || seconds.contains(&second) {
            continue;
        }
        let related = vec![CauseStep {
            text: format!(
                "{} {} it here",
                name(&threads, collision.first),
                verb(collision.first)
            ),
            loc: first,
        }];
        out.push(finding(
            Code::SharedMemoryRace,
            Tier::Warning,
            second,
            message(cx, &threads, &collision),
            related,
        ));
        firsts.push(first);
        seconds.push(second);
    }
}

fn loc(cx: &Context<'_>, touching: Touching) -> Loc {
    cx.function.insts[touching.inst].loc
}

fn verb(touching: Touching) -> &'static str {
    match touching.kind {
        AccessKind::Read => "reads",
        AccessKind::Write => "writes",
        AccessKind::Atomic => "atomically updates",
    }
}

/// "thread 3", "thread (3, 1)".
fn name(threads: &Threads, touching: Touching) -> String {
    let [x, y, z] = touching.thread;
    match threads.size {
        [_, 1, 1] => format!("thread {x}"),
        [_, _, 1] => format!("thread ({x}, {y})"),
        _ => format!("thread ({x}, {y}, {z})"),
    }
}

fn message(cx: &Context<'_>, threads: &Threads, collision: &Collision) -> String {
    let (first, second) = (collision.first, collision.second);
    let object = match collision.symbol {
        Some(symbol) => Context::quoted(&cx.function.symbols[symbol].name, "shared memory"),
        None => "shared memory".to_owned(),
    };
    let place = match collision.place {
        Some((_, at)) if at >= 0 && at % 4 == 0 => format!("word {} of {object}", at / 4),
        Some((_, at)) if at >= 0 => format!("byte {at} of {object}"),
        _ => format!("the same word of {object}"),
    };
    let too = match (first.kind, second.kind) {
        (AccessKind::Write, AccessKind::Write) => ", too",
        _ => "",
    };
    let round = if collision.later_round {
        " in the loop's next round"
    } else {
        ""
    };
    format!(
        "{} {} {place}, {} {} it{too}{round}, and no barrier stands between{}",
        name(threads, first),
        verb(first),
        name(threads, second),
        verb(second),
        shape(threads)
    )
}

/// The workgroup that the threads are taken from, where nothing says it.
fn shape(threads: &Threads) -> String {
    threads.stands_for_more().map_or_else(String::new, |axis| {
        format!(
            " (in workgroups of {} threads or more along {})",
            threads.size[axis],
            ["x", "y", "z"][axis]
        )
    })
}
