//! Records a run of the interpreter: of every plain value of function 0 how often a warp computed it, how
//! often it was zero or one value in all active lanes, and which values the lanes took; of the vectors of the
//! source how often all their members were zero together; how often blocks were executed; which ways lanes
//! took; the outcomes at branches.
//!
//! ```text
//! x = {0, 0, 0, 0} | {0, 0, 1, 0}     two warps of four   ->   2 executions, 1 zero; Inv-1 7/8
//! ```
//!
//! Counts of warps are exact. Values of lanes go through the plain profiler, or through the convergent one where a run
//! is long. Callees that were not inlined are not recorded. Memory is bounded by the function and the warps in flight.

use facts::paths::{PathNumbers, PathProfile};
use facts::values::convergent::{ConvergentProfiler, Schedule};
use facts::values::profiler::Profiler;
use facts::values::record::{Counts, JointCounts, Recorded, recordable, significant, vectors};
use ir::{Block, EntityVec, Function, Inst, Module, Value};
use oracle::interp::{AccessKind, Instance, Launch, Observer, lanes};
use rustc_hash::FxHashMap;
use simulate::cache::Caches;
use smallvec::SmallVec;

mod branches;
mod misses;
mod paths;
#[cfg(test)]
mod tests;

pub use branches::{BranchCounts, RecordedBranches};

use branches::BranchRecorder;
use misses::MissRecorder;
use paths::PathRecorder;

/// Zero masks of members of vectors that are kept; a run that has more in flight forgets the joint zeros of some.
const IN_FLIGHT: usize = 1 << 18;

/// The way in which values of lanes are profiled.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Stream {
    #[default]
    Every,
    /// Counts until the profile of a place has converged, and again later.
    Convergent(Schedule),
}

#[derive(Debug)]
enum Lanes {
    Every(Profiler),
    Convergent(ConvergentProfiler),
}

#[derive(Debug)]
struct Counter {
    value: Value,
    /// Bits that tell a zero from others: floats without the sign.
    significant: u64,
    executions: u64,
    zeros: u64,
    uniform: u64,
    lanes: Lanes,
    /// Vectors that it is a member of.
    vectors: SmallVec<[u32; 2]>,
}

#[derive(Debug)]
struct Vector {
    members: SmallVec<[Value; 4]>,
    /// The one that is computed last.
    last: Value,
    executions: u64,
    zeros: u64,
}

/// Observes function 0 of a module.
#[derive(Debug)]
pub struct Recorder {
    counters: Vec<Counter>,
    /// Indexed by value; `u32::MAX` for values that are not recorded.
    of: EntityVec<Value, u32>,
    vectors: Vec<Vector>,
    /// Lanes that held zero when a member was computed last, by workgroup, warp and value.
    latest: FxHashMap<(u64, u32, Value), u64>,
    blocks: EntityVec<Block, u64>,
    entry: Option<Block>,
    warps: u64,
    paths: PathRecorder,
    /// The recorder of paths over several iterations, if they are asked for.
    windows: Option<PathRecorder>,
    branches: BranchRecorder,
    misses: Option<MissRecorder>,
}

impl Recorder {
    #[must_use]
    pub fn new(function: &Function, stream: Stream) -> Self {
        let mut counters = Vec::new();
        let mut of = EntityVec::with_len(u32::MAX, function.values.len());
        let mut order: FxHashMap<Value, usize> = FxHashMap::default();
        for &block in &function.layout {
            let data = &function.blocks[block];
            let results = data
                .insts
                .iter()
                .flat_map(|&inst| &function.insts[inst].results);
            for &value in data.params.iter().chain(results) {
                order.insert(value, order.len());
                let Some(significant) = significant(function.ty(value)) else {
                    continue;
                };
                if !recordable(function, value) {
                    continue;
                }
                of[value] = counters.len() as u32;
                counters.push(Counter {
                    value,
                    significant,
                    executions: 0,
                    zeros: 0,
                    uniform: 0,
                    lanes: match stream {
                        Stream::Every => Lanes::Every(Profiler::default()),
                        Stream::Convergent(schedule) => {
                            Lanes::Convergent(ConvergentProfiler::new(schedule))
                        }
                    },
                    vectors: SmallVec::new(),
                });
            }
        }
        let mut groups = Vec::new();
        for members in vectors(function) {
            let Some(&last) = members.iter().max_by_key(|&&member| order.get(&member)) else {
                continue;
            };
            for &member in &members {
                if let Some(counter) = counters.get_mut(of[member] as usize) {
                    counter.vectors.push(groups.len() as u32);
                }
            }
            groups.push(Vector {
                members,
                last,
                executions: 0,
                zeros: 0,
            });
        }
        Recorder {
            counters,
            of,
            vectors: groups,
            latest: FxHashMap::default(),
            blocks: EntityVec::with_len(0, function.blocks.len()),
            entry: function.layout.first().copied(),
            warps: 0,
            paths: PathRecorder::new(function),
            windows: None,
            branches: BranchRecorder::new(function),
            misses: None,
        }
    }

    /// Sends the accesses of a run with one lane through caches, too.
    pub fn through_caches(&mut self, module: &Module, launch: &Launch, caches: &Caches) {
        self.misses = Some(MissRecorder::new(module, launch, caches));
    }

    /// Records paths over so many iterations, too.
    pub fn over_iterations(&mut self, function: &Function, iterations: u32) {
        self.windows = Some(PathRecorder::over_iterations(function, iterations));
    }

    /// The paths over several iterations; `None` where they are not recorded, or the function has more of them than numbers.
    pub fn take_windows(&mut self) -> Option<(PathNumbers, PathProfile)> {
        self.windows.take()?.finish()
    }

    /// Warps that entered the function so far.
    #[must_use]
    pub const fn warps(&self) -> u64 {
        self.warps
    }

    /// Does the same as `finish`, and returns the counts at branches.
    #[must_use]
    pub fn finish_with_branches(mut self) -> (Recorded, RecordedBranches) {
        let branches = std::mem::take(&mut self.branches).finish();
        (self.finish(), branches)
    }

    #[must_use]
    pub fn finish(self) -> Recorded {
        let mut values: Vec<(Value, Counts)> = self
            .counters
            .into_iter()
            .map(|counter| (counter.value, counter.finish()))
            .collect();
        values.sort_by_key(|&(value, _)| value);
        Recorded {
            warps: self.warps,
            values,
            joint: self
                .vectors
                .into_iter()
                .map(|vector| JointCounts {
                    members: vector.members,
                    executions: vector.executions,
                    zeros: vector.zeros,
                })
                .collect(),
            blocks: self.blocks,
            misses: self.misses.map(MissRecorder::finish).unwrap_or_default(),
            paths: self.paths.finish(),
        }
    }
}

impl Counter {
    fn finish(self) -> Counts {
        let mut counts = Counts {
            executions: self.executions,
            zeros: self.zeros,
            uniform: self.uniform,
            ..Counts::default()
        };
        match self.lanes {
            Lanes::Every(profiler) => {
                let profile = profiler.finish();
                counts.lanes = profile.executions;
                counts.profiled = profile.executions;
                counts.repeats = profile.recent.first().copied().unwrap_or(0);
                counts.recent = profile.recent.into_iter().skip(1).collect();
                counts.top = profile.top;
            }
            Lanes::Convergent(profiler) => {
                counts.lanes = profiler.executions();
                counts.profiled = profiler.profiled();
                counts.repeats = profiler.repeats();
                counts.top = profiler.table().entries().to_vec();
            }
        }
        counts
    }
}

/// The instructions of a function's blocks, with their terminators.
#[must_use]
pub fn lengths(function: &Function) -> Vec<u64> {
    let blocks = function.blocks.values();
    blocks.map(|block| block.insts.len() as u64 + 1).collect()
}

impl Observer for Recorder {
    fn block(&mut self, instance: &Instance<'_>) {
        if instance.function == 0 {
            self.blocks[instance.block] += 1;
            self.warps += u64::from(self.entry == Some(instance.block));
        }
        self.paths.block(instance);
        if let Some(windows) = &mut self.windows {
            windows.block(instance);
        }
        self.branches.block(instance);
        if let Some(misses) = &mut self.misses {
            misses.block(instance);
        }
    }

    fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {
        self.paths.branch(instance, taken);
        if let Some(windows) = &mut self.windows {
            windows.branch(instance, taken);
        }
        self.branches.branch(instance, taken);
    }

    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        kind: AccessKind,
        addresses: &[u64],
        mask: u64,
    ) {
        if let Some(misses) = &mut self.misses {
            misses.memory(instance, inst, kind, addresses, mask);
        }
    }

    fn values(&mut self, instance: &Instance<'_>, value: Value, row: &[u64], mask: u64) {
        if instance.function != 0 || mask == 0 {
            return;
        }
        let Some(counter) = self
            .of
            .get(value)
            .and_then(|&at| self.counters.get_mut(at as usize))
        else {
            return;
        };
        let mut zero = 0u64;
        let mut first = None;
        let mut same = true;
        for lane in lanes(mask) {
            let Some(&bits) = row.get(lane as usize) else {
                continue;
            };
            zero |= u64::from(bits & counter.significant == 0) << lane;
            same &= *first.get_or_insert(bits) == bits;
            match &mut counter.lanes {
                Lanes::Every(profiler) => profiler.collect(bits),
                Lanes::Convergent(profiler) => {
                    profiler.collect(bits);
                }
            }
        }
        counter.executions += 1;
        counter.zeros += u64::from(zero == mask);
        counter.uniform += u64::from(same);
        if counter.vectors.is_empty() {
            return;
        }
        if self.latest.len() >= IN_FLIGHT {
            self.latest.clear();
        }
        let warp = (instance.workgroup_index, instance.warp);
        // A group of lanes of the warp writes its own bits: another group may have passed here before.
        let kept = self.latest.entry((warp.0, warp.1, value)).or_insert(0);
        *kept = *kept & !mask | zero;
        for &number in &counter.vectors {
            let vector = &mut self.vectors[number as usize];
            if vector.last != value {
                continue;
            }
            let mut all = zero;
            for &member in &vector.members {
                all &= self
                    .latest
                    .get(&(warp.0, warp.1, member))
                    .copied()
                    .unwrap_or(0);
            }
            vector.executions += 1;
            vector.zeros += u64::from(all == mask);
        }
    }
}
