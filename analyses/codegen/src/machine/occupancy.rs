//! The number of a launch's warps that a multiprocessor holds, the resource that limits them, and the next
//! step that holds more.
//!
//! ```text
//! sm_80, blocks of 256 threads, 72 registers a thread, no shared memory: 3 blocks, 24 of 64 warps, 37.5 %,
//! limited by registers; with 64 registers 4 blocks, 50 %
//! ```
//!
//! Integer arithmetic of the vendors: registers are given to whole warps in units, each scheduler shares out its part, and
//! a workgroup stands on one multiprocessor. Does not know clusters, or limits of block barriers.
//!
//! Source: `cuda_occupancy.h` for NVIDIA; for AMD, waves a SIMD by vector registers, and of GCN and CDNA by scalar ones, as
//! LLVM has them, then the same rule for workgroups.

use super::Gpu;
use super::schema::Key;

/// The resources that a workgroup needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    pub threads: u32,
    /// The registers of 32 bits that a thread needs.
    pub registers: u32,
    /// The registers of 32 bits that a warp needs, on machines with scalar registers.
    pub scalar: u32,
    /// Bytes a workgroup, without those that the system reserves.
    pub shared: u32,
    /// Lanes of a warp, as `Gpu::lanes` gives them.
    pub lanes: u32,
}

/// A resource that bounds the number of workgroups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Limit {
    Warps,
    Registers,
    ScalarRegisters,
    Shared,
    Blocks,
}

impl Limit {
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Warps => "warps",
            Limit::Registers => "registers",
            Limit::ScalarRegisters => "scalar registers",
            Limit::Shared => "shared memory",
            Limit::Blocks => "workgroups",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occupancy {
    /// Workgroups a multiprocessor; 0: it can't be launched.
    pub blocks: u32,
    pub warps: u32,
    pub most_warps: u32,
    /// The resources that allow no more workgroups, in order.
    pub limits: Vec<Limit>,
}

impl Occupancy {
    #[must_use]
    pub fn percent(&self) -> f64 {
        100.0 * f64::from(self.warps) / f64::from(self.most_warps.max(1))
    }
}

/// A change after which more warps fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub change: Change,
    pub then: Occupancy,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// At most so many a thread.
    Registers(u32),
    /// At most so many bytes a workgroup.
    Shared(u32),
    /// Threads of a workgroup.
    Threads(u32),
}

#[must_use]
pub fn occupancy(gpu: &Gpu, need: Need) -> Occupancy {
    let most_warps = gpu.count(Key::Warps);
    let nothing = |limit| Occupancy {
        blocks: 0,
        warps: 0,
        most_warps,
        limits: vec![limit],
    };
    let lanes = need.lanes.max(1);
    let warps = need.threads.max(1).div_ceil(lanes);
    if need.threads > gpu.count(Key::BlockThreads) {
        return nothing(Limit::Warps);
    }
    let schedulers = gpu.count(Key::Schedulers).max(1);
    let file = gpu.count(Key::Registers);
    let a_warp = need.registers.max(1).saturating_mul(lanes);
    let a_warp = a_warp.div_ceil(gpu.count(Key::RegisterUnit).max(1));
    let a_warp = a_warp.saturating_mul(gpu.count(Key::RegisterUnit).max(1));
    let launched = warps.next_multiple_of(gpu.count(Key::WarpUnit).max(1));
    if need.registers > gpu.count(Key::ThreadRegisters) || a_warp.saturating_mul(launched) > file {
        return nothing(Limit::Registers);
    }
    if need.shared > gpu.count(Key::SharedBlock) {
        return nothing(Limit::Shared);
    }
    let by_warps = most_warps / warps;
    let by_registers = file / schedulers / a_warp * schedulers / warps;
    let a_warp = need.scalar.max(1);
    let a_warp = a_warp.next_multiple_of(gpu.count(Key::ScalarUnit).max(1));
    let by_scalar = match gpu.count(Key::ScalarFile) {
        0 => u32::MAX,
        file => file / schedulers / a_warp * schedulers / warps,
    };
    let reserved = gpu.count(Key::SharedReserved);
    let shared = need.shared.saturating_add(reserved);
    let shared = shared.next_multiple_of(gpu.count(Key::SharedUnit).max(1));
    let by_shared = gpu
        .count(Key::Shared)
        .checked_div(shared)
        .unwrap_or(u32::MAX);
    let by_blocks = gpu.count(Key::Blocks);
    let all = [
        (Limit::Warps, by_warps),
        (Limit::Registers, by_registers),
        (Limit::ScalarRegisters, by_scalar),
        (Limit::Shared, by_shared),
        (Limit::Blocks, by_blocks),
    ];
    let blocks = all.iter().map(|(_, most)| *most).min().unwrap_or(0);
    let limits = all.iter().filter(|(_, most)| *most == blocks);
    Occupancy {
        blocks,
        warps: blocks * warps,
        most_warps,
        limits: limits.map(|(limit, _)| *limit).collect(),
    }
}

/// The most registers that a thread may have where so many workgroups of so many threads are to fit: the
/// limit that a compiler observes when a launch is bounded. Bounds that no number of registers meets are no
/// bounds, as `ptxas` has it.
#[must_use]
pub fn most_registers(gpu: &Gpu, threads: u32, lanes: u32, blocks: u32) -> u32 {
    let fits = |registers: u32, blocks: u32| {
        let need = Need {
            threads,
            registers,
            scalar: 0,
            shared: 0,
            lanes,
        };
        occupancy(gpu, need).blocks >= blocks
    };
    let most = gpu.count(Key::ThreadRegisters);
    // The registers of a warp, in a scheduler's part of the file, are a whole number of units, and so are
    // those of a thread.
    let unit = (gpu.count(Key::RegisterUnit) / lanes.max(1)).max(1);
    let steps = (1..=most / unit).rev().map(|units| units * unit);
    let all = std::iter::once(most).chain(steps);
    let found = all.clone().find(|&registers| fits(registers, blocks));
    found
        .or_else(|| all.clone().find(|&registers| fits(registers, 1)))
        .unwrap_or(most)
}

/// The smallest change of a limiting resource that makes more warps fit; `None` where all fit, or no one
/// change helps.
#[must_use]
pub fn next_step(gpu: &Gpu, need: Need) -> Option<Step> {
    let now = occupancy(gpu, need);
    let more = |change: Change, need: Need| {
        let then = occupancy(gpu, need);
        (then.warps > now.warps).then_some(Step { change, then })
    };
    if now.warps >= now.most_warps {
        return None;
    }
    let fewer_registers = || {
        let unit = gpu.count(Key::RegisterUnit) / need.lanes.max(1);
        let mut registers = need.registers.min(gpu.count(Key::ThreadRegisters) + 1);
        for _ in 0..1024 {
            // The largest count that takes one unit less.
            registers = registers.div_ceil(unit.max(1)).saturating_sub(1) * unit.max(1);
            if registers < 16 {
                return None;
            }
            let with = Need { registers, ..need };
            if let Some(step) = more(Change::Registers(registers), with) {
                return Some(step);
            }
        }
        None
    };
    let less_shared = || {
        let reserved = gpu.count(Key::SharedReserved);
        let unit = gpu.count(Key::SharedUnit).max(1);
        let most = gpu.count(Key::Shared);
        for blocks in now.blocks + 1..=now.blocks + 4 {
            let shared = (most / blocks / unit * unit).checked_sub(reserved)?;
            let shared = shared.min(gpu.count(Key::SharedBlock));
            let with = Need { shared, ..need };
            if let Some(step) = more(Change::Shared(shared), with) {
                return Some(step);
            }
        }
        None
    };
    let other_threads = || {
        let sizes = (1..=gpu.count(Key::BlockThreads) / need.lanes.max(1)).map(|w| w * need.lanes);
        let steps = sizes.filter(|size| size.is_power_of_two() || size % 64 == 0);
        let better = steps.filter_map(|threads| {
            // What a workgroup shares would change with its size.
            (need.shared == 0).then_some(())?;
            more(Change::Threads(threads), Need { threads, ..need })
        });
        // The nearest of those that hold most.
        better.max_by_key(|step| {
            let Change::Threads(threads) = step.change else {
                return (0, 0);
            };
            (step.then.warps, u32::MAX - threads.abs_diff(need.threads))
        })
    };
    let mut step = None;
    for limit in &now.limits {
        step = step.or_else(|| match limit {
            Limit::Registers => fewer_registers(),
            Limit::Shared => less_shared(),
            Limit::ScalarRegisters | Limit::Warps | Limit::Blocks => None,
        });
    }
    step.or_else(other_threads)
}
