//! Races on shared memory that some launch certainly has: the pairs of `workgroup`, one a place.

use super::Context;
use crate::model::*;
use crate::reason::{CauseReason, FindingReason, SharedAccess, ThreadPlace};
use crate::workgroup::{Collision, Threads, Touching, collisions};
use ir::Loc;
use smol_str::SmolStr;

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
        let (thread, access) = access(&threads, collision.first);
        let related = vec![CauseStep {
            reason: CauseReason::SharedAccess { thread, access },
            loc: first,
        }];
        let reason = reason(cx, &threads, &collision);
        let code = Code::SharedMemoryRace;
        out.push(cx.finding(code, Tier::Warning, second, reason, related));
        firsts.push(first);
        seconds.push(second);
    }
}

fn loc(cx: &Context<'_>, touching: Touching) -> Loc {
    cx.function.insts[touching.inst].loc
}

/// The thread and the effect of an access.
const fn access(threads: &Threads, touching: Touching) -> (ThreadPlace, SharedAccess) {
    let place = ThreadPlace {
        thread: touching.thread,
        size: threads.size,
    };
    (place, touching.kind)
}

fn reason(cx: &Context<'_>, threads: &Threads, collision: &Collision) -> FindingReason {
    let symbol = collision.symbol.map(|symbol| &cx.function.symbols[symbol]);
    FindingReason::SharedRace {
        first: access(threads, collision.first),
        second: access(threads, collision.second),
        object: symbol.map_or_else(SmolStr::default, |symbol| symbol.name.clone()),
        offset: collision.place.map(|(_, at)| at).filter(|&at| at >= 0),
        later_round: collision.later_round,
        at_least_along: threads.stands_for_more(),
    }
}
