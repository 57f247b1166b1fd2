//! Misses of the loads of function 0 in a processor's caches, on a run with one lane: how many there are, and how much
//! longer the loads take.
//!
//! Buffers lie one behind the other, as an allocator would place them. An instruction takes a cycle, and a load that
//! misses makes the next one wait: that is the most that an in-order processor loses, which goes on until a value is used.

use facts::values::record::Misses;
use ir::{Function, Inst, Module, Op, Value};
use oracle::interp::{AccessKind, Instance, Launch, lanes};
use rustc_hash::FxHashMap;
use simulate::cache::{self, Access, CacheState, Caches};

/// Bytes in front of a buffer, as allocators keep for themselves.
const HEADER: u64 = 16;
/// Buffers are numbered above these bits of an address.
const BUFFER_SHIFT: u32 = 40;

/// An instruction that accesses memory.
#[derive(Clone, Copy, Debug)]
struct Accessing {
    bytes: u32,
    float: bool,
    /// The first value that is loaded, of function 0.
    value: Option<Value>,
}

/// Counts misses.
#[derive(Debug)]
pub(super) struct MissRecorder {
    state: CacheState,
    /// The shortest line of any level.
    line: u64,
    /// By function and instruction.
    accessing: FxHashMap<(u32, Inst), Accessing>,
    counts: FxHashMap<Value, Misses>,
    /// Where buffers begin.
    bases: Vec<u64>,
    cycle: u64,
}

impl MissRecorder {
    pub(super) fn new(module: &Module, launch: &Launch, caches: &Caches) -> Self {
        let mut accessing = FxHashMap::default();
        for (number, function) in module.functions.iter().enumerate() {
            for inst in function.insts.keys() {
                if let Some(found) = accessing_of(function, inst, number == 0) {
                    accessing.insert((number as u32, inst), found);
                }
            }
        }
        let mut next = HEADER;
        let bases = launch.buffers.iter().map(|buffer| {
            let base = next;
            next += (buffer.bytes.len() as u64).next_multiple_of(HEADER) + HEADER;
            base
        });
        MissRecorder {
            bases: bases.collect(),
            state: CacheState::new(caches),
            line: caches
                .levels
                .iter()
                .map(|level| u64::from(level.line))
                .min()
                .unwrap_or(1),
            accessing,
            counts: FxHashMap::default(),
            cycle: 0,
        }
    }

    pub(super) fn block(&mut self, instructions: u64) {
        self.cycle += instructions;
    }

    pub(super) fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        kind: AccessKind,
        addresses: &[u64],
        mask: u64,
    ) {
        let Some(&accessing) = self.accessing.get(&(instance.function, inst)) else {
            return;
        };
        for lane in lanes(mask) {
            let Some(&address) = addresses.get(lane as usize) else {
                continue;
            };
            let first = self.placed(address);
            let last = first + u64::from(accessing.bytes.max(1)) - 1;
            let (mut later, mut missed) = (0, false);
            // What lies in several lines is looked for in each of them.
            let mut at = first;
            while at <= last {
                let end = (at | (self.line - 1)).min(last);
                let access = Access {
                    address: at,
                    bytes: (end - at + 1) as u32,
                    kind: match kind {
                        AccessKind::Load => cache::AccessKind::Load,
                        _ => cache::AccessKind::Store,
                    },
                    float: accessing.float,
                };
                let answer = self.state.access(&access, self.cycle);
                missed |= !answer.hit;
                later = later.max(answer.later);
                at = end + 1;
            }
            if kind != AccessKind::Load {
                continue;
            }
            self.cycle += later;
            if let Some(value) = accessing.value {
                let counts = self.counts.entry(value).or_default();
                counts.loads += 1;
                counts.misses += u64::from(missed);
                counts.waited += later;
            }
        }
    }

    /// An address of the interpreter as a program would have it.
    fn placed(&self, address: u64) -> u64 {
        let buffer = (address >> BUFFER_SHIFT) as usize;
        let offset = address & ((1 << BUFFER_SHIFT) - 1);
        match buffer.checked_sub(1).and_then(|at| self.bases.get(at)) {
            Some(base) => base.wrapping_add(offset),
            None => address,
        }
    }

    pub(super) fn finish(self) -> Vec<(Value, Misses)> {
        let mut found: Vec<(Value, Misses)> = self.counts.into_iter().collect();
        found.sort_by_key(|(value, _)| *value);
        found
    }
}

fn accessing_of(function: &Function, inst: Inst, counted: bool) -> Option<Accessing> {
    let data = &function.insts[inst];
    let values = match &data.op {
        Op::Load(_) => data.results.as_slice(),
        Op::Store(_) => data.args.get(1..)?,
        _ => return None,
    };
    let first = *values.first()?;
    Some(Accessing {
        bytes: values.iter().map(|&value| function.ty(value).bytes()).sum(),
        float: function.ty(first).is_float(),
        value: (counted && matches!(data.op, Op::Load(_))).then_some(first),
    })
}
