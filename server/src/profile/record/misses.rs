//! Misses of the loads of function 0 in a processor's caches, on a run with one lane: how many there are, and how much
//! longer the loads take.
//!
//! Buffers lie one behind the other at multiples of 4096 bytes, as in the simulators. An instruction takes a cycle. The loads of a block
//! that do not depend on each other are under way together, and the block's end waits for all of them: so an in-order
//! processor executes what a scheduler hoisted as far as it goes within a block.
//!
//! ```text
//! x = a[i] + b[i]      both miss in one iteration, 100 cycles each: the first waits 100, the second 0, alone 100 each,
//!                      and neither is spared, since the other takes as long
//! y = b[c[i]]          the second waits for the first: 100 each, which are spared with it
//! ```

use facts::values::record::Misses;
use ir::{Function, Inst, Module, Op, Space, Value};
use oracle::interp::memory::{buffer_of, resolve_generic};
use oracle::interp::{AccessKind, Instance, Launch, lanes, space_of};
use rustc_hash::FxHashMap;
use simulate::cache::{self, Access, CacheState, Caches};

/// Buffers begin at multiples of these bytes, with as many between them.
const GAP: u64 = 4096;
/// Where what is no buffer lies: variables of a lane, and of a workgroup.
const LOCAL: u64 = 1 << 61;
const SHARED: u64 = 1 << 60;

/// An instruction that accesses memory.
#[derive(Clone, Copy, Debug)]
struct Accessing {
    space: Space,
    bytes: u32,
    float: bool,
    /// The first value that is loaded, of function 0.
    value: Option<Value>,
}

/// A load of one block execution that missed.
#[derive(Clone, Copy, Debug)]
struct Missed {
    function: u32,
    inst: Inst,
    later: u64,
    ready: u64,
}

/// Loads of one block execution that are under way.
#[derive(Debug, Default)]
struct UnderWay {
    missed: Vec<Missed>,
    /// When all are there.
    last: u64,
}

/// Loads of a block execution of which each is told what it alone makes the others wait.
const MOST_TOGETHER: usize = 16;

/// Counts misses.
#[derive(Debug)]
pub(super) struct MissRecorder {
    state: CacheState,
    /// The shortest line of any level.
    line: u64,
    /// The processor waits for each load where it stands.
    blocking: bool,
    /// What memory answers comes so much later.
    far: u64,
    /// By function and instruction.
    accessing: FxHashMap<(u32, Inst), Accessing>,
    counts: FxHashMap<Value, Misses>,
    /// Loads of the same block whose values an address is computed from.
    after: FxHashMap<(u32, Inst), Vec<Inst>>,
    /// Instructions of each block, by function.
    lengths: Vec<Vec<u64>>,
    /// Where buffers begin.
    bases: Vec<u64>,
    cycle: u64,
    under_way: UnderWay,
}

impl MissRecorder {
    pub(super) fn new(module: &Module, launch: &Launch, caches: &Caches) -> Self {
        let mut accessing = FxHashMap::default();
        let mut after = FxHashMap::default();
        for (number, function) in module.functions.iter().enumerate() {
            let all = after_loads(function).into_iter();
            after.extend(all.map(|(inst, before)| ((number as u32, inst), before)));
            for inst in function.insts.keys() {
                if let Some(found) = accessing_of(function, inst, number == 0) {
                    accessing.insert((number as u32, inst), found);
                }
            }
        }
        let mut next = GAP;
        let bases = launch.buffers.iter().map(|buffer| {
            let base = next;
            next = (next + buffer.bytes.len() as u64 + GAP).next_multiple_of(GAP);
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
            far: u64::from(caches.memory.max(1)),
            blocking: caches.blocking,
            accessing,
            after,
            lengths: module.functions.iter().map(super::lengths).collect(),
            counts: FxHashMap::default(),
            cycle: 0,
            under_way: UnderWay::default(),
        }
    }

    pub(super) fn block(&mut self, instance: &Instance<'_>) {
        let lengths = self.lengths.get(instance.function as usize);
        let length = lengths.and_then(|blocks| blocks.get(instance.block.0 as usize));
        let length = length.copied().unwrap_or(1);
        self.arrived();
        self.cycle = self.under_way.last.max(self.cycle) + length;
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
            let first = self.placed(accessing.space, address);
            let last = first.saturating_add(u64::from(accessing.bytes.max(1)) - 1);
            let before = self.after.get(&(instance.function, inst));
            let addressed = |of: &&Missed| before.is_some_and(|all| all.contains(&of.inst));
            let others = self.under_way.missed.iter().filter(addressed);
            let start = others.map(|of| of.ready).max().unwrap_or(0).max(self.cycle);
            let start = match self.blocking {
                true => start.max(self.under_way.last),
                false => start,
            };
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
                let answer = self.state.access(&access, start);
                missed |= !answer.hit;
                later = later.max(answer.later);
                at = match end.checked_add(1) {
                    Some(next) => next,
                    None => break,
                };
            }
            if kind != AccessKind::Load {
                continue;
            }
            let ready = start + later;
            let waited = ready.saturating_sub(self.under_way.last.max(self.cycle));
            self.under_way.last = self.under_way.last.max(ready);
            if later > 0 {
                self.under_way.missed.push(Missed {
                    function: instance.function,
                    inst,
                    later,
                    ready,
                });
            }
            if let Some(value) = accessing.value {
                let counts = self.counts.entry(value).or_default();
                counts.loads += 1;
                counts.misses += u64::from(missed);
                counts.waited += waited;
                counts.alone += later;
                // A line that is under way for another load is no miss of this one.
                if missed && later >= self.far {
                    counts.far += 1;
                    counts.far_alone += later;
                }
            }
        }
    }

    /// An address of the interpreter as a program would have it.
    fn placed(&self, space: Space, address: u64) -> u64 {
        let (_, offset) = resolve_generic(address);
        match space_of(space, address) {
            Space::Local => LOCAL | offset,
            Space::Shared => SHARED | offset,
            _ => match buffer_of(address) {
                Some((buffer, offset)) => self
                    .bases
                    .get(buffer)
                    .map_or(address, |base| base.wrapping_add(offset)),
                None => address,
            },
        }
    }

    /// The loads of a block have arrived.
    fn arrived(&mut self) {
        let missed = std::mem::take(&mut self.under_way.missed);
        let wait = self.under_way.last.saturating_sub(self.cycle);
        for (at, load) in missed.iter().enumerate().take(MOST_TOGETHER) {
            let value = self.accessing.get(&(load.function, load.inst));
            let Some(value) = value.and_then(|of| of.value) else {
                continue;
            };
            let spared = match missed.len() {
                1 => wait,
                _ => wait.saturating_sub(self.without(&missed, at)),
            };
            self.counts.entry(value).or_default().spared += spared;
        }
    }

    /// The wait for some loads if one of them had hit.
    fn without(&self, missed: &[Missed], hit: usize) -> u64 {
        let mut ready: Vec<u64> = Vec::with_capacity(missed.len());
        for (at, load) in missed.iter().enumerate() {
            let before = self.after.get(&(load.function, load.inst));
            let addressed = |&of: &usize| match self.blocking {
                true => true,
                false => before.is_some_and(|all| all.contains(&missed[of].inst)),
            };
            let start = (0..at).filter(addressed).map(|of| ready[of]).max();
            let later = if at == hit { 0 } else { load.later };
            ready.push(start.unwrap_or(0) + later);
        }
        ready.into_iter().max().unwrap_or(0)
    }

    pub(super) fn finish(mut self) -> Vec<(Value, Misses)> {
        self.arrived();
        let mut found: Vec<(Value, Misses)> = self.counts.into_iter().collect();
        found.sort_by_key(|(value, _)| *value);
        found
    }
}

/// Returns for each load of a function with an address that comes from other loads of its block, which ones.
fn after_loads(function: &Function) -> Vec<(Inst, Vec<Inst>)> {
    let mut found = Vec::new();
    for &block in &function.layout {
        // The loads that each value of the block is computed from.
        let mut from: FxHashMap<Value, Vec<Inst>> = FxHashMap::default();
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let load = matches!(data.op, Op::Load(_));
            let read = if load {
                data.args.get(..1)
            } else {
                Some(&data.args[..])
            };
            let mut all: Vec<Inst> = Vec::new();
            for value in read.unwrap_or_default() {
                all.extend(from.get(value).into_iter().flatten());
            }
            all.sort();
            all.dedup();
            if load && !all.is_empty() {
                found.push((inst, all.clone()));
            }
            if load {
                all.push(inst);
            }
            if !all.is_empty() {
                for &result in &data.results {
                    from.insert(result, all.clone());
                }
            }
        }
    }
    found
}

fn accessing_of(function: &Function, inst: Inst, counted: bool) -> Option<Accessing> {
    let data = &function.insts[inst];
    let (access, values) = match &data.op {
        Op::Load(access) => (access, data.results.as_slice()),
        Op::Store(access) => (access, data.args.get(1..)?),
        _ => return None,
    };
    let first = *values.first()?;
    Some(Accessing {
        space: access.space,
        bytes: values.iter().map(|&value| function.ty(value).bytes()).sum(),
        float: function.ty(first).is_float(),
        value: (counted && matches!(data.op, Op::Load(_))).then_some(first),
    })
}
