//! Contradicts claims by the values of lanes. A claim over a scope is compared among the lanes of the scope
//! that execute together, and among those in converged instances: in equal iterations of all enclosing cycles
//! and in the same calls, whenever they come there.
//!
//! Results of warp operations depend on which lanes come together, which is the machine's choice; in modules that have
//! them, quads and warps are compared within one execution only.

use super::claims::{Claim, Claims, Kind, Place};
use super::form::Coordinate;
use facts::{AccessClass, Scope};
use ir::{Inst, Module, Op, Space, Value};
use oracle::interp::{self, AccessKind, Instance, Launch, Observer, lanes};
use rustc_hash::FxHashMap;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Violation {
    pub(crate) claim: Claim,
    /// The observation, for people.
    pub(crate) seen: String,
}

/// The number of claims examined, in the order of `NAMES`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) counts: [u64; NAMES.len()],
}

pub(crate) const NAMES: [&str; 21] = [
    "uniform definitions",
    "uniform uses",
    "uniform edge arguments",
    "uniform bindings",
    "affine definitions",
    "affine uses",
    "exact forms",
    "over a quad",
    "over a subgroup",
    "over a workgroup",
    "over the dispatch",
    "uniform branches",
    "uniform trips",
    "constant trip counts",
    "uniform addresses",
    "strides",
    "sector counts",
    "bank ways",
    "coalesced accesses",
    "barriers passed that are called safe",
    "barriers passed that are not",
];

const TRIPS: usize = 12;
const COUNTS: usize = 13;
const ADDRESSES: usize = 14;
const STRIDES: usize = 15;
const SECTORS: usize = 16;
const BANKS: usize = 17;
const COALESCED: usize = 18;
const SAFE: usize = 19;

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        for (sum, more) in self.counts.iter_mut().zip(&other.counts) {
            *sum += more;
        }
    }
}

/// A lane's way through the cycles of a function, and the values that it holds there.
#[derive(Debug, Default)]
struct Frame {
    function: u32,
    values: Vec<u64>,
    /// The edge by which each lane came to its block.
    came_by: Vec<(u32, u32)>,
    /// The time at which the function was entered.
    entered: Vec<u64>,
    /// The count of repetitions by cycle and lane, and a number that is equal for lanes that entered
    /// together.
    counts: Vec<(u64, u64)>,
}

#[derive(Debug)]
pub(crate) struct Judge<'m> {
    module: &'m Module,
    claims: &'m Claims,
    launch: &'m Launch,
    /// True if the facts' strides hold for this shape: the rows of a workgroup are whole warps, or were
    /// known.
    shape_known: bool,
    by_history: bool,
    compared: Vec<bool>,
    seen: FxHashMap<(u32, u64, u64), (u64, u64)>,
    frames: FxHashMap<(u64, u32), Vec<Frame>>,
    /// Histories of the lanes in the block's execution with this number.
    instant: (u64, u32, u64),
    histories: [u64; 64],
    /// Lanes have come to a barrier that is not called safe, in this run.
    at_flagged: bool,
    /// Violations before the last access.
    before_access: usize,
    pub(crate) tally: Tally,
    pub(crate) violations: Vec<Violation>,
}

impl<'m> Judge<'m> {
    pub(crate) fn new(
        module: &'m Module,
        claims: &'m Claims,
        launch: &'m Launch,
        shape_known: bool,
    ) -> Self {
        let mut ops = module.functions.iter().flat_map(|f| f.insts.values());
        let mut judge = Judge {
            module,
            claims,
            launch,
            shape_known: shape_known || launch.block[0].is_multiple_of(launch.warp_size),
            by_history: !ops.any(|i| matches!(i.op, Op::Warp(_))),
            compared: vec![false; claims.list.len()],
            seen: FxHashMap::default(),
            frames: FxHashMap::default(),
            instant: (0, 0, 0),
            histories: [0; 64],
            at_flagged: false,
            before_access: 0,
            tally: Tally::default(),
            violations: Vec::new(),
        };
        for (claim, seen) in &claims.contradictions {
            judge.violations.push(Violation {
                claim: claim.clone(),
                seen: seen.clone(),
            });
        }
        judge
    }

    /// Runs the module once more, with other scheduling or arguments.
    pub(crate) fn run(
        &mut self,
        facts: &[facts::FunctionFacts],
        launch: &Launch,
    ) -> interp::Outcome {
        self.seen.clear();
        self.frames.clear();
        self.instant = (0, 0, 0);
        self.at_flagged = false;
        let outcome = interp::run_with(self.module, launch, self, &());
        if let Some(interp::Error::Access { .. }) = outcome.error {
            // The last access is outside of every object: nothing is claimed of its pattern.
            self.violations.truncate(self.before_access);
        }
        if let Some(interp::Error::Barrier { place, fault }) = &outcome.error
            && let Some(inst) = place.inst
        {
            let function = place.function_index;
            // What a function says of its barriers is about the lanes that entered it.
            let called = function != 0;
            let fact = facts[function as usize]
                .barriers
                .iter()
                .find(|b| b.inst == inst);
            let foreseen = fact.is_some_and(|f| f.divergent.is_some() || f.guard.is_some());
            // Other warps may wait at one that is not called safe.
            let elsewhere =
                matches!(fault, interp::BarrierFault::OtherWarps { .. }) && self.at_flagged;
            if !called && !foreseen && !elsewhere {
                let known = fact.is_some();
                self.violate(
                    bare(function, Place::Barrier(inst), Scope::Workgroup),
                    format!("the barrier (fact: {known}) never completes: {fault}"),
                );
            }
        }
        outcome
    }

    /// Counts the claims that lanes could have contradicted.
    pub(crate) fn finish(mut self) -> (Tally, Vec<Violation>) {
        for (claim, compared) in self.claims.list.iter().zip(&self.compared) {
            if !compared {
                continue;
            }
            let kind = match (&claim.kind, claim.place) {
                (_, Place::Branch(_)) => 11,
                (_, Place::Trip(_)) => TRIPS,
                (Kind::Uniform, Place::Definition(_)) => 0,
                (Kind::Uniform, Place::Use(..)) => 1,
                (Kind::Uniform, Place::Edge(..)) => 2,
                (Kind::Uniform, _) => 3,
                (Kind::Affine(_), Place::Definition(_)) => 4,
                (Kind::Affine(_), _) => 5,
                (Kind::Exact(..), _) => 6,
            };
            self.tally.counts[kind] += 1;
            self.tally.counts[7 + claim.scope as usize] += 1;
        }
        (self.tally, self.violations)
    }

    fn violate(&mut self, claim: Claim, seen: String) {
        let known = |v: &Violation| v.claim.place == claim.place && v.claim.kind == claim.kind;
        if self.violations.len() < 50 && !self.violations.iter().any(known) {
            self.violations.push(Violation { claim, seen });
        }
    }

    fn coordinate(&self, instance: &Instance<'_>, lane: u32, coordinate: Coordinate) -> i64 {
        let linear = instance.warp * instance.warp_size + lane;
        let [width, height, _] = self.launch.block;
        i64::from(match coordinate {
            Coordinate::Thread(0) => linear % width,
            Coordinate::Thread(1) => linear / width % height,
            Coordinate::Thread(_) => linear / width / height,
            Coordinate::Group(axis) => instance.workgroup[usize::from(axis)],
            Coordinate::Lane => lane,
            Coordinate::Warp => instance.warp,
        })
    }

    /// The part of a lane's value that does not depend on the coordinates of the claim.
    fn rest(&self, claim: &Claim, instance: &Instance<'_>, lane: u32, bits: u64) -> u64 {
        let multiples = match &claim.kind {
            Kind::Uniform => return bits,
            Kind::Affine(multiples) | Kind::Exact(multiples, _) => multiples,
        };
        let sum = multiples.iter().fold(0i64, |sum, (coordinates, factor)| {
            let product = coordinates.iter().fold(*factor, |product, &coordinate| {
                product.wrapping_mul(self.coordinate(instance, lane, coordinate))
            });
            sum.wrapping_add(product)
        });
        bits.wrapping_sub(sum as u64) & claim.bits
    }

    fn history(&mut self, instance: &Instance<'_>) {
        let instant = (instance.workgroup_index, instance.warp, instance.visit);
        if self.instant != instant {
            self.instant = instant;
            for lane in lanes(instance.mask) {
                self.histories[lane as usize] = instance.history(lane);
            }
        }
    }

    /// Compares the values of the lanes of `mask`, by the claims.
    fn check(&mut self, list: &[u32], instance: &Instance<'_>, row: &[u64], mask: u64) {
        if list.is_empty() || mask == 0 {
            return;
        }
        self.history(instance);
        for &number in list {
            self.check_one(number, instance, row, mask);
        }
    }

    fn check_one(&mut self, number: u32, instance: &Instance<'_>, row: &[u64], mask: u64) {
        let claims = self.claims;
        let claim = &claims.list[number as usize];
        if let Kind::Exact(_, constant) = claim.kind {
            self.compared[number as usize] = true;
            for lane in lanes(mask) {
                let rest = self.rest(claim, instance, lane, row[lane as usize]);
                if rest != constant as u64 & claim.bits {
                    let seen = format!(
                        "lane {lane} of warp {} of workgroup {:?} holds {:#x}",
                        instance.warp, instance.workgroup, row[lane as usize]
                    );
                    self.violate(claim.clone(), seen);
                    return;
                }
            }
            return;
        }
        let by_history = self.by_history || claim.scope >= Scope::Workgroup;
        let warp = instance.workgroup_index << 24 | u64::from(instance.warp) << 6;
        let mut first: Option<(u32, u64)> = None;
        let mut last_key = None;
        for lane in lanes(mask) {
            let bits = row[lane as usize];
            let rest = self.rest(claim, instance, lane, bits);
            match first {
                Some((other, expected)) if claim.scope > Scope::Quad || other / 4 == lane / 4 => {
                    self.compared[number as usize] = true;
                    if rest != expected {
                        let seen = format!(
                            "in one execution of {} by lanes {mask:#x} of warp {} of workgroup {:?}, lane {other} holds {:#x} and lane {lane} {bits:#x}",
                            instance.block, instance.warp, instance.workgroup, row[other as usize]
                        );
                        self.violate(claim.clone(), seen);
                        return;
                    }
                }
                _ => first = Some((lane, rest)),
            }
            if !by_history {
                continue;
            }
            let group = match claim.scope {
                Scope::Quad => warp | u64::from(lane / 4),
                Scope::Subgroup => warp,
                Scope::Workgroup => instance.workgroup_index,
                Scope::Dispatch => 0,
            };
            let key = (number, group, self.histories[lane as usize]);
            if last_key == Some(key) {
                continue;
            }
            last_key = Some(key);
            let thread = instance.first_thread + u64::from(lane);
            let (expected, other) = *self.seen.entry(key).or_insert((rest, thread));
            if other != thread {
                self.compared[number as usize] = true;
            }
            if expected != rest {
                let seen = format!(
                    "in equal iterations of {}, lane {other} of the grid has {expected:#x} and lane {thread} {rest:#x} (coordinates taken off)",
                    instance.block
                );
                self.violate(claim.clone(), seen);
                return;
            }
        }
    }

    /// The state of the warp at this depth of calls.
    fn frame(&mut self, instance: &Instance<'_>) -> &mut Frame {
        let of = &self.claims.functions[instance.function as usize];
        let width = instance.warp_size as usize;
        let depth = instance.depth as usize;
        let frames = self
            .frames
            .entry((instance.workgroup_index, instance.warp))
            .or_default();
        if frames.len() <= depth {
            frames.resize_with(depth + 1, || Frame {
                function: u32::MAX,
                ..Frame::default()
            });
        }
        let frame = &mut frames[depth];
        if frame.function != instance.function {
            *frame = Frame {
                function: instance.function,
                values: vec![0; of.values * width],
                came_by: vec![(0, 0); width],
                entered: vec![0; width],
                counts: vec![(0, 0); of.cycles.len() * width],
            };
        }
        frame
    }

    /// Lanes leave a cycle: by an edge, or because they end.
    fn leave(&mut self, instance: &Instance<'_>, cycle: usize, mask: u64) {
        let claims = self.claims;
        let of = &claims.functions[instance.function as usize];
        let width = instance.warp_size as usize;
        let fact = of.loops[cycle].as_ref();
        let trip = of.trip[cycle];
        if mask == 0 || fact.is_none() {
            return;
        }
        for lane in lanes(mask) {
            let (count, together) = self.frame(instance).counts[cycle * width + lane as usize];
            let thread = instance.first_thread + u64::from(lane);
            if let Some(number) = trip {
                let claim = &claims.list[number as usize];
                let warp = instance.workgroup_index << 24 | u64::from(instance.warp) << 6;
                let group = match claim.scope {
                    Scope::Quad => warp | u64::from(lane / 4),
                    Scope::Subgroup => warp,
                    Scope::Workgroup => instance.workgroup_index,
                    Scope::Dispatch => 0,
                };
                let key = (number, group, together);
                let (expected, other) = *self.seen.entry(key).or_insert((count, thread));
                self.compared[number as usize] |= other != thread;
                if expected != count {
                    let seen = format!(
                        "lane {other} of the grid leaves after {expected} repetitions, lane {thread} after {count} from {}",
                        instance.block
                    );
                    self.violate(claim.clone(), seen);
                }
            }
            if let Some(expected) = fact.and_then(|f| f.count) {
                self.tally.counts[COUNTS] += 1;
                let header = of.cycles[cycle].header;
                let function = &self.module.functions[instance.function as usize];
                // A test at the top runs once more than the body does.
                let again = function.blocks[header]
                    .terminator
                    .edges()
                    .iter()
                    .any(|e| e.block == header);
                let top = instance.block == header && !again;
                let iterations = if top { count } else { count + 1 };
                if iterations != expected {
                    self.violate(
                        bare(instance.function, Place::Count(header), Scope::Dispatch),
                        format!("count {expected}, but lane {thread} of the grid leaves from {} after {count} repetitions", instance.block),
                    );
                }
            }
        }
    }
}

/// A claim without a form.
fn bare(function: u32, place: Place, scope: Scope) -> Claim {
    Claim {
        function,
        place,
        kind: Kind::Uniform,
        scope,
        bits: !0,
        form: String::new(),
    }
}

fn mix(state: u64, word: u64) -> u64 {
    let mut z = (state.rotate_left(17) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z ^= z >> 29;
    z.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (z >> 32)
}

impl Observer for Judge<'_> {
    fn block(&mut self, instance: &Instance<'_>) {
        let claims = self.claims;
        let of = &claims.functions[instance.function as usize];
        let width = instance.warp_size as usize;
        self.history(instance);
        let histories = self.histories;
        let entry = self.module.functions[instance.function as usize].entry();
        let frame = self.frame(instance);
        if instance.block == entry {
            for lane in lanes(instance.mask) {
                frame.entered[lane as usize] = histories[lane as usize];
            }
        }
        for (value, list) in &of.bindings[instance.block.0 as usize] {
            let mut row = [0; 64];
            let at = value.0 as usize * width;
            row[..width].copy_from_slice(&self.frame(instance).values[at..at + width]);
            self.check(list, instance, &row, instance.mask);
        }
        if of.ends[instance.block.0 as usize] {
            for (number, cycle) in of.cycles.iter().enumerate() {
                if cycle.body[instance.block.0 as usize] {
                    self.leave(instance, number, instance.mask);
                }
            }
        }
    }

    fn values(&mut self, instance: &Instance<'_>, value: Value, row: &[u64], mask: u64) {
        let claims = self.claims;
        let of = &claims.functions[instance.function as usize];
        let at = value.0 as usize * instance.warp_size as usize;
        let frame = self.frame(instance);
        for lane in lanes(mask) {
            frame.values[at + lane as usize] = row[lane as usize];
        }
        self.check(&of.definition[value.0 as usize], instance, row, mask);
        let Some(number) = of.parameter[value.0 as usize] else {
            return;
        };
        // By argument, the lanes that bring it.
        let mut brought: Vec<(Value, u64)> = Vec::new();
        let frame = self.frame(instance);
        for lane in lanes(mask) {
            let (from, edge) = frame.came_by[lane as usize];
            let argument = of.edges[from as usize][edge as usize].1[number as usize];
            match brought.iter_mut().find(|(v, _)| *v == argument) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => brought.push((argument, 1 << lane)),
            }
        }
        for (argument, lanes) in brought {
            if let Some(list) = of.edge.get(&(instance.block.0, argument.0)) {
                self.check(list, instance, row, lanes);
            }
        }
    }

    fn uses(&mut self, instance: &Instance<'_>, value: Value, row: &[u64], mask: u64) {
        let claims = self.claims;
        let of = &claims.functions[instance.function as usize];
        if let Some(list) = of.used.get(&(instance.block.0, value.0)) {
            self.check(list, instance, row, mask);
        }
    }
    fn wants_uses(&self) -> bool {
        true
    }

    fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {
        let claims = self.claims;
        let of = &claims.functions[instance.function as usize];
        let block = instance.block.0 as usize;
        let width = instance.warp_size as usize;
        if let Some(claim) = of.branch[block] {
            let mut row = [0; 64];
            for (edge, &mask) in taken.iter().enumerate() {
                for lane in lanes(mask) {
                    row[lane as usize] = of.edges[block][edge].0;
                }
            }
            let all = taken.iter().fold(0, |all, mask| all | mask);
            self.check(&[claim], instance, &row, all);
        }
        for (edge, &mask) in taken.iter().enumerate() {
            if mask == 0 {
                continue;
            }
            let effect = &of.effects[block][edge];
            for &cycle in &effect.leaves {
                self.leave(instance, cycle, mask);
            }
            let (by_history, target) = (self.by_history, of.targets[block][edge]);
            let frame = self.frame(instance);
            for lane in lanes(mask).map(|l| l as usize) {
                frame.came_by[lane] = (block as u32, edge as u32);
            }
            if let Some(cycle) = effect.repeats {
                for lane in lanes(mask).map(|l| l as usize) {
                    frame.counts[cycle * width + lane].0 += 1;
                }
            }
            // Outer cycles first: entering an inner one looks at them.
            for &cycle in &effect.enters {
                let apart = of.trip[cycle].is_some_and(|claim| {
                    !by_history && claims.list[claim as usize].scope < Scope::Workgroup
                });
                for lane in lanes(mask).map(|l| l as usize) {
                    let start = mix(frame.entered[lane], u64::from(target.0));
                    let start = if apart {
                        mix(start, instance.visit)
                    } else {
                        start
                    };
                    let around = &of.cycles[cycle].around;
                    let together = around.iter().fold(start, |state, &outer| {
                        mix(state, frame.counts[outer * width + lane].0)
                    });
                    frame.counts[cycle * width + lane] = (0, together);
                }
            }
        }
    }

    fn barrier(&mut self, instance: &Instance<'_>, inst: Inst, _: u64) {
        let flagged = self.claims.functions[instance.function as usize]
            .flagged
            .contains(&inst);
        self.at_flagged |= flagged;
        self.tally.counts[SAFE + usize::from(flagged)] += 1;
    }

    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        _: AccessKind,
        addresses: &[u64],
        mask: u64,
    ) {
        self.before_access = self.violations.len();
        let claims = self.claims;
        let of = &claims.functions[instance.function as usize];
        let Some(fact) = &of.access[inst.0 as usize] else {
            return;
        };
        let place = bare(instance.function, Place::Access(inst), Scope::Subgroup);
        let list: Vec<(u32, u64)> = lanes(mask)
            .map(|lane| (lane, addresses[lane as usize]))
            .collect();
        let describe = || format!("{fact:?}\n  at {list:x?}");
        if fact.class == AccessClass::Uniform && list.len() > 1 {
            self.tally.counts[ADDRESSES] += 1;
            if list.iter().any(|&(_, address)| address != list[0].1) {
                self.violate(place.clone(), format!("not one address: {}", describe()));
            }
        }
        if !self.shape_known {
            return;
        }
        if let Some(stride) = fact.stride_bytes {
            for pair in list.windows(2) {
                if pair[1].0 != pair[0].0 + 1 {
                    continue;
                }
                self.tally.counts[STRIDES] += 1;
                let off = pair[1].1.wrapping_sub(pair[0].1) ^ stride as u64;
                // Addresses of these spaces are followed modulo 2^32, where their windows lie.
                let narrow = matches!(fact.space, Space::Shared | Space::Local | Space::Constant);
                if (if narrow { off & 0xffff_ffff } else { off }) != 0 {
                    self.violate(place.clone(), format!("not this stride: {}", describe()));
                    break;
                }
            }
        }
        let width = instance.warp_size;
        if list.len() as u32 != width {
            return;
        }
        let bytes = u64::from(fact.bytes);
        let lowest = list.iter().map(|&(_, a)| a).min().unwrap_or(0);
        let (space, _) = match fact.space {
            Space::Generic => interp::memory::resolve_generic(lowest),
            space => (space, lowest),
        };
        let units = |size: u64| {
            let mut units: Vec<u64> = list
                .iter()
                .flat_map(|&(_, address)| address / size..=(address + bytes - 1) / size)
                .collect();
            units.sort_unstable();
            units.dedup();
            units
        };
        // Pieces without a gap inside: where each starts in its sector is not claimed.
        let mut sorted: Vec<u64> = list.iter().map(|&(_, address)| address).collect();
        sorted.sort_unstable();
        let pieces = 1 + sorted
            .windows(2)
            .filter(|pair| pair[1] - pair[0] > bytes)
            .count() as u32;
        let by_rows = fact.stride_bytes.is_none();
        if space == Space::Global && (by_rows || lowest.is_multiple_of(32)) {
            let touched = units(32).len() as u32;
            if let Some(expected) = fact.sectors {
                self.tally.counts[SECTORS] += 1;
                let wrong = if by_rows {
                    touched > expected + pieces
                } else {
                    touched != expected
                };
                if wrong {
                    let text = format!("{touched} sectors: {}", describe());
                    self.violate(place.clone(), text);
                }
            }
        }
        if space == Space::Global && fact.class == AccessClass::Coalesced {
            self.tally.counts[COALESCED] += 1;
            let touched = units(32).len() as u32;
            if touched > fact.ideal_sectors + if by_rows { pieces } else { 1 } {
                let text = format!("not coalesced, {touched} sectors: {}", describe());
                self.violate(place.clone(), text);
            }
        }
        if space == Space::Shared
            && bytes <= 4
            && let Some(expected) = fact.bank_ways
        {
            self.tally.counts[BANKS] += 1;
            let mut banks = [0u32; 32];
            for word in units(4) {
                banks[(word % 32) as usize] += 1;
            }
            let ways = banks.iter().copied().max().unwrap_or(0);
            if ways != expected {
                self.violate(place, format!("{ways} ways: {}", describe()));
            }
        }
    }
}
