//! The cost of a function's places to a warp: cycles, issue slots and the unit that is busy longest, by
//! place, call and loop, and for the whole.
//!
//! ```text
//! for (i...) s += a[i] * b[i];      8 iterations (heuristic): 416 cycles, 40 slots, limited by latency
//! ```
//!
//! Sums the machine's charges over the instructions that the function needs, weighted by `weights`. A global
//! access takes a cycle of a scheduler's share for each line that its warp touches, a shared one its bank
//! conflicts. Instructions of an inlined call count at the place of the call. Linear in the function.
//!
//! Does not model the order of instructions, caches, or other warps beyond the charges: for ranking, and for
//! comparing variants on one machine.

use super::weights::{Origin, weights};
use crate::specialize::live;
use facts::cost::{Charge, Machine, Unit, Work, work};
use facts::{AccessClass, AccessFact, Class, FunctionFacts, LoopFact};
use ir::cfg::ControlFlow;
use ir::loops::{LoopForest, LoopId};
use ir::{Block, BranchKind, EntityVec, Function, Inst, Loc, Op, Site, Space, TextureOp};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use syntax::Span;

const UNITS: usize = Unit::ALL.len();

/// Estimated costs of a warp.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    pub cycles: f64,
    /// Instructions that are issued.
    pub slots: f64,
    /// Cycles by `Unit`; the scheduler's are its slots.
    busy: [f64; UNITS],
}

impl Cost {
    fn add(&mut self, charge: &Charge, times: f64, issue: f64) {
        self.cycles += charge.cycles * times;
        self.slots += charge.slots * times;
        self.busy[Unit::Issue as usize] += charge.slots * times * issue;
        if charge.unit != Unit::Issue {
            self.busy[charge.unit as usize] += charge.busy * times;
        }
        self.busy[Unit::Wait as usize] += (charge.cycles - charge.busy).max(0.0) * times;
    }
    pub fn sum(&mut self, other: &Cost) {
        self.cycles += other.cycles;
        self.slots += other.slots;
        for (mine, theirs) in self.busy.iter_mut().zip(other.busy) {
            *mine += theirs;
        }
    }
    /// The part of one of so many.
    #[must_use]
    pub fn divided(mut self, by: f64) -> Cost {
        if by > 0.0 {
            self.cycles /= by;
            self.slots /= by;
            self.busy.iter_mut().for_each(|it| *it /= by);
        }
        self
    }
    /// The unit that is busy longest, and for how many cycles; of equals the first of `Unit`.
    #[must_use]
    pub fn limit(&self) -> (Unit, f64) {
        let mut most = (Unit::Issue, 0.0);
        for unit in Unit::ALL {
            let busy = self.busy[unit as usize];
            if busy > most.1 {
                most = (unit, busy);
            }
        }
        most
    }
    #[must_use]
    pub fn busy(&self, unit: Unit) -> f64 {
        self.busy[unit as usize]
    }
}

/// The cost of the text at a place of the item itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlaceCost {
    /// The cost for one invocation of the item.
    pub total: Cost,
    /// Times that a warp executes it for that, where all of it is executed equally often.
    pub times: Option<f64>,
}

impl PlaceCost {
    /// Adds the cost of other text at the same place.
    pub fn sum(&mut self, other: &PlaceCost) {
        self.total.sum(&other.total);
        let same = |&it: &f64| other.times.is_some_and(|two| (it - two).abs() < 1e-9);
        self.times = self.times.filter(same);
    }
}

/// A loop of the item's own text.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopCost {
    pub span: Span,
    /// Times that it is entered, for one invocation of the item.
    pub entered: f64,
    /// Each time that it is entered.
    pub iterations: f64,
    pub from: Origin,
    pub iteration: Cost,
    /// The cost for one invocation of the item.
    pub total: Cost,
}

/// A call of the item's own text that was inlined.
#[derive(Clone, PartialEq, Debug)]
pub struct CallCost {
    pub span: Span,
    pub callee: SmolStr,
    pub total: Cost,
    /// Times that a warp makes it, for one invocation of the item.
    pub times: f64,
}

/// The cost of an item's function to a warp for one invocation. Positions are item-relative.
#[derive(Clone, PartialEq, Debug)]
pub struct ItemCost {
    pub machine: SmolStr,
    pub total: Cost,
    /// The costs of places; those of inlined calls stand where the call does.
    pub places: Vec<(Span, PlaceCost)>,
    pub loops: Vec<LoopCost>,
    pub calls: Vec<CallCost>,
    /// Some count is a profile's.
    pub profiled: bool,
    /// Loops whose iterations are the heuristic's.
    pub guessed_loops: usize,
    /// Places that trace rays: traversal and the shaders of hit objects are not included in any number here.
    pub rays: usize,
}

#[must_use]
pub fn estimate(
    function: &Function,
    facts: &FunctionFacts,
    machine: &Machine,
    profiled: Option<&EntityVec<Block, Option<f64>>>,
) -> ItemCost {
    let flow = ControlFlow::new(function);
    let forest = LoopForest::new(&flow);
    let weights = weights(function, facts, &flow, &forest, profiled);
    let needed = live::needed(function);
    let accesses: FxHashMap<Inst, &AccessFact> = facts
        .accesses
        .iter()
        .map(|access| (access.inst, access))
        .collect();
    let branches: FxHashMap<Block, (BranchKind, Class)> = facts
        .branches
        .iter()
        .map(|branch| (branch.block, (branch.kind, branch.class)))
        .collect();
    let lanes = f64::from(function.launch.warp_size.unwrap_or(facts.options.warp_size));
    let mut total = Cost::default();
    let mut rays = 0;
    let mut places: BTreeMap<(u32, u32), PlaceCost> = BTreeMap::new();
    let mut calls: BTreeMap<u32, (Cost, f64)> = BTreeMap::new();
    let mut in_loops = EntityVec::with_len(Cost::default(), forest.loops.len());
    for &block in &flow.order {
        let times = weights.blocks[block];
        if times == 0.0 {
            continue;
        }
        let mut own = Cost::default();
        let mut count = |charge: &Charge, loc: Loc| {
            if charge.cycles == 0.0 && charge.slots == 0.0 {
                return;
            }
            own.add(charge, times, machine.issue_cycles);
            let Some((span, call)) = root(function, loc) else {
                return;
            };
            let mut cost = Cost::default();
            cost.add(charge, times, machine.issue_cycles);
            let found = PlaceCost {
                total: cost,
                times: Some(times),
            };
            places
                .entry((span.start, span.end))
                .and_modify(|known| known.sum(&found))
                .or_insert(found);
            if let Some(site) = call {
                let (cost, most) = calls.entry(site.0).or_default();
                cost.add(charge, times, machine.issue_cycles);
                *most = most.max(times);
            }
        };
        let data = &function.blocks[block];
        for &inst in &data.insts {
            let data = &function.insts[inst];
            if !data.op.has_effect() && !data.results.iter().any(|result| needed.contains(result)) {
                continue;
            }
            let traces = matches!(&data.op, Op::Texture(access) if access.op == TextureOp::Trace);
            rays += usize::from(traces);
            let work = work(function, data);
            let mut charge = machine.charge(work);
            if work != Work::Free
                && let Some(access) = accesses.get(&inst)
            {
                touch(&mut charge, access, machine, lanes);
            }
            count(&charge, data.loc);
        }
        if let Some((kind, class)) = branches.get(&block)
            && matches!(
                kind,
                BranchKind::If | BranchKind::Loop | BranchKind::Switch | BranchKind::Jump
            )
        {
            let mut charge = machine.charge(Work::Branch);
            if *class > Class::Uniform {
                charge.cycles += machine.reconverge;
                charge.slots += 2.0;
            }
            count(&charge, data.loc);
        }
        if let Some(l) = forest.of(block) {
            in_loops[l].sum(&own);
        }
        total.sum(&own);
    }
    // Parents come before their children.
    for at in (0..forest.loops.len()).rev() {
        let l = LoopId(at as u32);
        if let Some(parent) = forest.loops[l].parent {
            let inner = in_loops[l];
            in_loops[parent].sum(&inner);
        }
    }
    let by_header: FxHashMap<Block, &LoopFact> =
        facts.loops.iter().map(|it| (it.header, it)).collect();
    let mut loops: Vec<LoopCost> = Vec::new();
    for (l, data) in forest.loops.iter() {
        let Some(fact) = by_header.get(&data.header) else {
            continue;
        };
        if fact.loc.site != Site(0) || fact.loc.span.is_empty() {
            continue;
        }
        let (iterations, from) = weights.trips[l];
        let all = weights.entered[l] * iterations;
        loops.push(LoopCost {
            span: fact.loc.span,
            entered: weights.entered[l],
            iterations,
            from,
            iteration: in_loops[l].divided(all),
            total: in_loops[l],
        });
    }
    loops.sort_by_key(|it| it.span);
    let calls = calls.into_iter().filter_map(|(site, (total, times))| {
        let data = function.sites.get(Site(site))?;
        Some(CallCost {
            span: data.call.span,
            callee: data.callee.clone(),
            total,
            times,
        })
    });
    let mut calls: Vec<CallCost> = calls.collect();
    calls.sort_by_key(|call| call.span);
    ItemCost {
        machine: machine.name.clone(),
        total,
        places: places
            .into_iter()
            .map(|((start, end), cost)| (Span::new(start, end), cost))
            .collect(),
        guessed_loops: weights
            .trips
            .values()
            .filter(|(_, from)| *from == Origin::Heuristic)
            .count(),
        rays,
        loops,
        calls,
        profiled: profiled.is_some_and(|known| known.values().any(Option::is_some)),
    }
}

/// Lines and banks that a warp touches.
fn touch(charge: &mut Charge, access: &AccessFact, machine: &Machine, lanes: f64) {
    let words = f64::from(access.bytes.max(4)) / 4.0;
    match access.space {
        Space::Shared => {
            let ways = f64::from(access.bank_ways.unwrap_or(1).max(1));
            charge.busy *= ways.max(words);
        }
        Space::Global | Space::Generic => {
            let bytes = f64::from(access.bytes.max(1));
            let spread = match (access.class, access.stride_bytes) {
                (AccessClass::Uniform, _) => bytes,
                (AccessClass::Coalesced, _) => bytes * lanes,
                (_, Some(stride)) => stride.unsigned_abs() as f64 * lanes,
                _ => f64::INFINITY,
            };
            let most = match access.class {
                AccessClass::Uniform => 1.0,
                // Lanes touch lines of their own, at most as many as there are sectors.
                _ => access.sectors.map_or(lanes, f64::from).min(lanes * words),
            };
            let lines = (spread / machine.line_bytes).ceil().min(most).max(1.0);
            charge.busy = charge.busy.max(lines * machine.line_cycles);
        }
        Space::Local | Space::Constant => return,
    }
    charge.cycles = charge.cycles.max(charge.busy);
}

/// Returns where an instruction stands in the item's own text: itself, or the call that brought it and its site.
fn root(function: &Function, loc: Loc) -> Option<(Span, Option<Site>)> {
    if loc.site == Site(0) {
        return (loc != Loc::NONE).then_some((loc.span, None));
    }
    let mut site = loc.site;
    for _ in 0..256 {
        let data = function.sites.get(site)?;
        if data.call.site == Site(0) {
            return Some((data.call.span, Some(site)));
        }
        site = data.call.site;
    }
    None
}

#[cfg(test)]
mod tests;
