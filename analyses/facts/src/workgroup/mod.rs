//! One workgroup executed side by side with the facts about its values before any launch, and the accesses of
//! shared memory that certainly collide: one word, two threads, a write, and no barrier between.
//!
//! ```text
//! tile[t] = x;  y = tile[t + 1];           thread 1 writes word 1, thread 0 reads it: a collision
//! tile[t] = x;  barrier;  y = tile[t + 1]; none
//! ```
//!
//! A thread holds a number, a sum of things without a number that are the same for all threads (`terms`), or
//! an unknown value. A branch decided by numbers parts the threads, which meet again at its post-dominator. A
//! condition without a number that all threads share, or that all of them can meet at once (`i + t < n`), is
//! *decided*: all take one side, loops are stayed in for two rounds, and each other decision is reversed once
//! in a walk of its own. A condition on data hides the blocks up to its post-dominator: nothing in them is
//! reported, their values are not known behind them.
//!
//! Two accesses count as executed in one launch if the decisions above one of them are among those above the
//! other. A decision whose other side waits at a barrier counts as a barrier, as do calls that are not
//! visible and assembly. Lanes of one warp are also parted by warp operations and fences. Volatile accesses
//! are left alone, atomics do not collide with each other, nor with reads in a loop around both (a counter
//! that is polled). Writes collide where their values certainly differ, and not with reads of a value that
//! the reader has just written itself, unless another value is written.
//!
//! If a workgroup's size is not known along an axis, 32 threads (fewer where these would leave an array)
//! stand for it along the first axis that the program asks for, and one thread along the others. The walk
//! stops after `LANE_STEPS` values of lanes; findings until then hold.

mod bounds;
mod collide;
mod evaluate;
mod terms;
mod walk;

use crate::model::FunctionFacts;
use crate::reason::SharedAccess;
use ir::{Function, FunctionKind, Inst, Language, Op, Space, Special};

/// Values of lanes that are computed for a function.
const LANE_STEPS: u64 = 200_000;
/// Decisions that are reversed.
const WALKS: usize = 12;
/// Threads along an axis whose length is not known.
const SOME: u32 = 32;
/// Threads of a workgroup.
const MOST: u32 = 1024;

/// Two accesses of one word, in the order in which the walk came by.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Collision {
    pub(crate) first: Touching,
    pub(crate) second: Touching,
    /// The second stands before the first, and is executed in a later round of a loop.
    pub(crate) later_round: bool,
    /// The symbol that the word lies in, and its offset in bytes, where both are known.
    pub(crate) place: Option<(ir::Symbol, i64)>,
    pub(crate) symbol: Option<ir::Symbol>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Touching {
    pub(crate) inst: Inst,
    pub(crate) thread: [u32; 3],
    pub(crate) kind: SharedAccess,
}

/// The threads that stand for a workgroup.
#[derive(Clone, Debug)]
pub(crate) struct Threads {
    pub(crate) size: [u32; 3],
    /// The workgroup has this size.
    pub(crate) known: [bool; 3],
    /// Lanes of a warp; `None`: it depends on the machine.
    warp: Option<u32>,
}

impl Threads {
    /// `size`: by axis, where it is known.
    pub(crate) fn new(function: &Function, size: [Option<u32>; 3], warp: u32) -> Option<Threads> {
        let mut threads = Threads {
            size: size.map(|s| s.unwrap_or(1)),
            known: size.map(|s| s.is_some()),
            warp: match function.language {
                Language::Hlsl => function.launch.warp_size,
                _ => Some(warp),
            },
        };
        let asked = |axis: u8| {
            function.layout.iter().any(|&block| {
                function.blocks[block].insts.iter().any(|&inst| {
                    let op = &function.insts[inst].op;
                    *op == Op::Special(Special::ThreadId(axis))
                        || axis == 0 && *op == Op::Special(Special::LaneId)
                })
            })
        };
        let first = (0..3u8).find(|&axis| !threads.known[usize::from(axis)] && asked(axis));
        if let Some(axis) = first {
            threads.size[usize::from(axis)] = SOME;
        }
        let count = threads.size.iter().try_fold(1u32, |n, &s| n.checked_mul(s));
        count
            .filter(|&count| (2..=MOST).contains(&count))
            .map(|_| threads)
    }
    pub(crate) fn count(&self) -> usize {
        self.size.iter().product::<u32>() as usize
    }
    pub(crate) fn coordinates(&self, thread: usize) -> [u32; 3] {
        let (thread, [x, y, _]) = (thread as u32, self.size);
        [thread % x, thread / x % y, thread / x / y]
    }
    /// The axis whose length is not known, of those with several threads.
    pub(crate) fn stands_for_more(&self) -> Option<usize> {
        (0..3).find(|&axis| !self.known[axis] && self.size[axis] > 1)
    }
    /// The threads stand in the workgroup's own order, beginning with its first.
    fn in_order(&self) -> bool {
        let last = (0..3).rev().find(|&axis| self.size[axis] > 1).unwrap_or(0);
        self.known[..last].iter().all(|&known| known)
    }
    /// Two threads may be lanes of one warp.
    fn may_share_a_warp(&self, a: usize, b: usize) -> bool {
        // The largest wave that there is.
        let warp = self.warp.unwrap_or(128) as usize;
        !self.in_order() || a / warp == b / warp
    }
}

/// The collisions of a kernel, one for each pair of instructions, in the order of the walks.
/// Threads along an axis of unknown length that leave an array are not there: then with half of them.
pub(crate) fn collisions(
    function: &Function,
    facts: &FunctionFacts,
    threads: &mut Threads,
) -> Vec<Collision> {
    if function.kind != FunctionKind::Kernel || !shares(function) {
        return Vec::new();
    }
    let mut steps = 0;
    loop {
        let mut walk = walk::Walk::new(function, facts, threads, steps);
        steps = walk.run();
        let (found, leaves) = walk.found();
        let Some(axis) = threads.stands_for_more().filter(|_| leaves) else {
            return found;
        };
        threads.size[axis] /= 2;
        if threads.count() < 2 {
            return Vec::new();
        }
    }
}

/// Returns whether something is written to shared memory.
fn shares(function: &Function) -> bool {
    let has_memory = function
        .symbols
        .values()
        .any(|symbol| symbol.space == Space::Shared);
    let writes = |inst: &Inst| match &function.insts[*inst].op {
        Op::Store(access) | Op::Atomic(_, access) => {
            matches!(access.space, Space::Shared | Space::Generic)
        }
        _ => false,
    };
    let mut blocks = function.layout.iter();
    has_memory && blocks.any(|&block| function.blocks[block].insts.iter().any(writes))
}
