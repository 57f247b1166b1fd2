//! An observer that keeps the lanes of warps at branches and loop heads, and the addresses of one execution of each access.
//!
//! ```text
//! while (x[i] > t) i++        warp 0: 11111111, 11.1.111, 1....1.., 1.......        4 executions, 3 of them of a part
//! ```
//! Memory is bounded: rows that repeat are counted, and no more than `MOST_ROWS` of a warp are kept; counts go on. Of the
//! executions of an access the first with the most lanes is kept.

use ir::{Block, Function, Inst, Space};
use oracle::interp::{AccessKind, Instance, Observer, space_of};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Distinct rows of a warp at one branch.
const MOST_ROWS: usize = 64;
/// Warps of which rows are kept at one branch.
const MOST_WARPS: usize = 32;
const SECTOR: u64 = 32;
const BANKS: u64 = 32;
const BANK_BYTES: u64 = 4;

/// The ways of the lanes of one warp at a branch.
#[derive(Clone, Debug, Default)]
pub(super) struct WarpRows {
    /// The way of each lane, and how often in a row.
    pub(super) rows: Vec<(String, u32)>,
    pub(super) more: u64,
    /// Executions in which lanes went different ways, or of a part of the warp.
    pub(super) divided: u64,
}

/// The counts of all warps.
#[derive(Clone, Debug, Default)]
pub(super) struct BranchRun {
    pub(super) executions: u64,
    pub(super) divided: u64,
    pub(super) lanes: u64,
    pub(super) width: u64,
    pub(super) warps: BTreeMap<(u64, u32), WarpRows>,
}

/// One access.
#[derive(Clone, Debug, Default)]
pub(super) struct AccessRun {
    pub(super) executions: u64,
    pub(super) sum: u64,
    pub(super) worst: u32,
    /// The kept execution.
    pub(super) warp: u32,
    pub(super) lanes: Vec<Option<u64>>,
    pub(super) space: Option<Space>,
}

#[derive(Debug)]
pub(super) struct Watch {
    /// Keyed by block: which of its edges, in order, count as the condition holding, as another way.
    branches: FxHashMap<Block, Vec<char>>,
    /// The bytes of a lane, and the space that the instruction names.
    accesses: FxHashMap<Inst, (u32, Space)>,
    /// Instructions of the function's blocks.
    lengths: Vec<u64>,
    pub(super) at_branches: FxHashMap<Block, BranchRun>,
    pub(super) at_accesses: FxHashMap<Inst, AccessRun>,
    /// Lanes in instructions of warps, and those that there are.
    pub(super) active: u64,
    pub(super) possible: u64,
    pub(super) warps: BTreeSet<(u64, u32)>,
}

impl Watch {
    pub(super) fn new(
        function: &Function,
        branches: FxHashMap<Block, Vec<char>>,
        accesses: FxHashMap<Inst, (u32, Space)>,
    ) -> Watch {
        let blocks = function.blocks.values();
        Watch {
            branches,
            accesses,
            lengths: blocks.map(|block| block.insts.len() as u64 + 1).collect(),
            at_branches: FxHashMap::default(),
            at_accesses: FxHashMap::default(),
            active: 0,
            possible: 0,
            warps: BTreeSet::new(),
        }
    }
}

impl Watch {
    /// Branches and accesses that were executed, and whether these are all.
    pub(super) fn reached(&self) -> (usize, bool) {
        let reached = self.at_branches.len() + self.at_accesses.len();
        (
            reached,
            reached == self.branches.len() + self.accesses.len(),
        )
    }
}

/// A function's own execution: blocks of callees have numbers of their own.
fn is_own(instance: &Instance<'_>) -> bool {
    instance.function == 0 && instance.depth == 0
}

impl Observer for Watch {
    fn block(&mut self, instance: &Instance<'_>) {
        if !is_own(instance) {
            return;
        }
        let length = self.lengths.get(instance.block.0 as usize);
        let length = length.copied().unwrap_or(1);
        self.active += length * u64::from(instance.mask.count_ones());
        self.possible += length * u64::from(instance.warp_size);
        self.warps.insert((instance.workgroup_index, instance.warp));
    }

    fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {
        let Some(ways) = self.branches.get(&instance.block) else {
            return;
        };
        if !is_own(instance) {
            return;
        }
        let all = taken.iter().fold(0u64, |sum, mask| sum | mask);
        let way = |lane: u32| {
            let at = taken.iter().position(|mask| mask >> lane & 1 == 1);
            at.map_or('.', |at| ways.get(at).copied().unwrap_or('+'))
        };
        let row: String = (0..instance.warp_size).map(way).collect();
        let mut met = row.chars().filter(|&letter| letter != '.');
        let first = met.next();
        let divided = met.any(|letter| Some(letter) != first);
        let run = self.at_branches.entry(instance.block).or_default();
        run.executions += 1;
        run.divided += u64::from(divided);
        run.lanes += u64::from(all.count_ones());
        run.width += u64::from(instance.warp_size);
        let known = run.warps.len();
        let key = (instance.workgroup_index, instance.warp);
        if known >= MOST_WARPS && !run.warps.contains_key(&key) {
            return;
        }
        let warp = run.warps.entry(key).or_default();
        warp.divided += u64::from(divided || row.contains('.'));
        let full = warp.rows.len() >= MOST_ROWS;
        match warp.rows.last_mut().filter(|(last, _)| *last == row) {
            _ if warp.more > 0 => warp.more += 1,
            Some((_, times)) => *times += 1,
            None if full => warp.more += 1,
            None => warp.rows.push((row, 1)),
        }
    }

    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        _: AccessKind,
        addresses: &[u64],
        mask: u64,
    ) {
        let Some(&(bytes, named)) = self.accesses.get(&inst).filter(|_| is_own(instance)) else {
            return;
        };
        let lanes: Vec<Option<u64>> = (addresses.iter().enumerate())
            .map(|(lane, &address)| (mask >> lane & 1 == 1).then_some(address))
            .collect();
        let first = lanes.iter().flatten().next();
        let Some(space) = first.map(|&address| space_of(named, address)) else {
            return;
        };
        let count = count(space, &lanes, bytes);
        let run = self.at_accesses.entry(inst).or_default();
        run.executions += 1;
        run.sum += u64::from(count);
        let taking_part = |all: &[Option<u64>]| all.iter().flatten().count();
        let fuller = taking_part(&lanes) > taking_part(&run.lanes);
        let worse = taking_part(&lanes) == taking_part(&run.lanes) && count > run.worst;
        if fuller || worse {
            run.worst = count;
            run.warp = instance.warp;
            run.lanes = lanes;
            run.space = Some(space);
        }
    }
}

/// Sectors that lanes touch, or of shared memory the lanes that wait for one bank.
pub(super) fn count(space: Space, lanes: &[Option<u64>], bytes: u32) -> u32 {
    match space {
        Space::Shared => passes(lanes, bytes),
        _ => sectors(lanes, bytes),
    }
}

fn sectors(lanes: &[Option<u64>], bytes: u32) -> u32 {
    let touched: BTreeSet<u64> = lanes
        .iter()
        .flatten()
        .flat_map(|&at| at / SECTOR..=(at.wrapping_add(u64::from(bytes.max(1)) - 1)) / SECTOR)
        .collect();
    touched.len() as u32
}

/// The most distinct words in one bank of those lanes that are served together: all of narrow accesses, of those of 8 bytes
/// half a warp, of those of 16 a quarter.
fn passes(lanes: &[Option<u64>], bytes: u32) -> u32 {
    let words = u64::from(bytes.max(1)).div_ceil(BANK_BYTES).max(1);
    let together = (lanes.len() as u64 / words.next_power_of_two()).max(1) as usize;
    let of_part = |part: &[Option<u64>]| {
        let touched: BTreeSet<u64> = (part.iter().flatten())
            .flat_map(|&at| {
                let first = at / BANK_BYTES;
                first..first + words
            })
            .collect();
        let mut banks = [0u32; BANKS as usize];
        for word in touched {
            banks[(word % BANKS) as usize] += 1;
        }
        banks.into_iter().max().unwrap_or(0)
    };
    lanes.chunks(together).map(of_part).max().unwrap_or(0)
}

/// The fewest sectors that hold so many bytes of these lanes, each distinct address once; of shared memory one pass.
pub(super) fn ideal(space: Space, lanes: &[Option<u64>], bytes: u32) -> u32 {
    match space {
        Space::Shared => 1,
        _ => {
            let distinct: BTreeSet<u64> = lanes.iter().flatten().copied().collect();
            (distinct.len() as u64 * u64::from(bytes)).div_ceil(SECTOR) as u32
        }
    }
}

/// Bytes from the start of the first sector, or of the first row of banks.
pub(super) fn relative(space: Space, lanes: &[Option<u64>]) -> Vec<Option<u64>> {
    let row = match space {
        Space::Shared => BANKS * BANK_BYTES,
        _ => SECTOR,
    };
    let base = lanes
        .iter()
        .flatten()
        .min()
        .map_or(0, |least| least / row * row);
    let distance = |&lane: &Option<u64>| lane.map(|at| at - base);
    lanes.iter().map(distance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stride(bytes: u64) -> Vec<Option<u64>> {
        (0..32).map(|lane| Some(1024 + lane * bytes)).collect()
    }

    #[test]
    fn sectors_and_banks_are_counted_as_hardware_does() {
        for (step, bytes, wanted) in [(4, 4, 4), (0, 4, 1), (32, 4, 32), (16, 16, 16), (8, 4, 8)] {
            assert_eq!(count(Space::Global, &stride(step), bytes), wanted, "{step}");
        }
        for (step, bytes, wanted) in [
            (4, 4, 1),
            (8, 4, 2),
            (128, 4, 32),
            (132, 4, 1),
            (0, 4, 1),
            (16, 16, 1),
        ] {
            assert_eq!(count(Space::Shared, &stride(step), bytes), wanted, "{step}");
        }
        assert_eq!(ideal(Space::Global, &stride(128), 4), 4);
        assert_eq!(relative(Space::Global, &stride(4))[1], Some(4));
    }
}
