//! The fewest loads and stores of spill slots that a reduction can leave, by exhaustive search.
//!
//! ```text
//! store d1,s0; ...; load s0,d2; ...; load s0,d3      the first load has the register r9, the second stays: a load and a store
//! ```
//!
//! The space: values that did not spill keep their registers. A load stays, or it is spared, in one of three ways. What it loads
//! is in a register that is read later anyway, or a constant, or one operation computes it from such registers (`spared`). Or it
//! waited in a register of either file: from the transfers of its home that lead to it, behind which it is in a register, on all
//! ways to the load, while nothing else lives in that register or is written there. Two loads wait in one register at once only
//! if they are of one home. Loads choose their registers one by one, so a value may change its register at each transfer. A store
//! stays if a load that stays is reached by it. Registers that the convention saves count where the function saves them already,
//! before or after the reduction.
//!
//! Not looked at: registers that become free because a load is spared, and lives that are made longer so that something can be
//! computed from them. Both may leave fewer, which is counted as reached.
//!
//! The search: loads with the fewest registers first, each register in turn or none; a branch ends where what stays, with the
//! loads that have no register left, is no less than the best so far.

use isa::Branch;
use isa::sc140::{File, Reg, Sc140};
use lockstep_codegen::allocate::Allocation;
use lockstep_codegen::mir::{
    FrameAddress, FrameOffset, Function, Name, Operation, SpillCode, Target,
};
use lockstep_codegen::spills::check::spared;
use std::collections::{BTreeMap, BTreeSet};

/// The most steps of a search.
const STEPS: u64 = 400_000;

/// In front of an operation, or at the end of a block.
type Point = (usize, usize);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transfer {
    Load(u32),
    Store(u32),
}

struct Scene {
    blocks: Vec<Vec<Operation<Sc140>>>,
    registers: Vec<Reg>,
    /// Points that lead to the start of each block.
    into: Vec<Vec<Point>>,
    /// The registers whose content is read later at each point, by index.
    live: BTreeMap<Point, BTreeSet<usize>>,
    arrivals: usize,
}

fn transfer(operation: &Operation<Sc140>) -> Option<Transfer> {
    let slot = |address: FrameAddress<Sc140>| match address {
        FrameAddress::Offset(FrameOffset::Spill(bytes)) => Some(bytes),
        _ => None,
    };
    match Sc140::spill_code(operation)? {
        SpillCode::Load { from, .. } => slot(from.address).map(Transfer::Load),
        SpillCode::Store { to, .. } => slot(to.address).map(Transfer::Store),
        _ => None,
    }
}

impl Scene {
    fn new(function: &Function<Sc140>, allocation: &Allocation<Sc140>) -> Scene {
        let mut blocks: Vec<Vec<Operation<Sc140>>> = function
            .blocks
            .iter()
            .map(|block| block.operations.clone())
            .collect();
        let arrivals = allocation.arrivals.len();
        blocks[0].splice(0..0, allocation.arrivals.iter().cloned());
        let mut into: Vec<Vec<Point>> = vec![Vec::new(); blocks.len()];
        for (number, block) in blocks.iter().enumerate() {
            for (at, operation) in block.iter().enumerate() {
                if operation.branch().is_some() {
                    for source in &operation.sources {
                        if let lockstep_codegen::mir::Operand::Block(to) = source {
                            into[*to as usize].push((number, at + 1));
                        }
                    }
                }
            }
            let leaves = block.last().is_some_and(Operation::leaves);
            if !leaves && number + 1 < blocks.len() {
                into[number + 1].push((number, block.len()));
            }
        }
        let mut scene = Scene {
            blocks,
            registers: allocation.registers.clone(),
            into,
            live: BTreeMap::new(),
            arrivals,
        };
        scene.live = scene.lives(function);
        scene
    }

    fn index(&self, name: Name<Sc140>) -> usize {
        Sc140::index(match name {
            Name::Virtual(register) => self.registers[register.0 as usize],
            Name::Fixed(register) => register,
        })
    }
    fn written(&self, operation: &Operation<Sc140>) -> Vec<usize> {
        let all = Sc140::definitions(operation, &|it| self.registers[it.0 as usize]);
        all.iter().map(|it| Sc140::index(it.register)).collect()
    }

    /// Registers that an operation reads; what waits for a call or return in a register that passes values was named there.
    fn read(&self, operation: &Operation<Sc140>, named: &BTreeSet<usize>) -> Vec<usize> {
        let address = |operand: &&lockstep_codegen::mir::Operand<Sc140>| {
            matches!(operand, lockstep_codegen::mir::Operand::Address(_))
        };
        let sources = operation.sources.iter().filter_map(|it| it.name());
        let kept = !operation.is_certain()
            || <Sc140 as isa::InstructionSet>::accumulates(operation.mnemonic);
        let targets = operation
            .targets
            .iter()
            .filter(|target| kept || address(target))
            .filter_map(|it| it.name());
        let guard = operation.predicate.map(Name::Virtual);
        let mut out: Vec<usize> = sources
            .chain(targets)
            .chain(guard)
            .map(|name| self.index(name))
            .collect();
        if matches!(operation.branch(), Some(Branch::Call | Branch::Return)) {
            out.extend(named);
        }
        out
    }

    fn lives(&self, function: &Function<Sc140>) -> BTreeMap<Point, BTreeSet<usize>> {
        let mut out: BTreeMap<Point, BTreeSet<usize>> = BTreeMap::new();
        // What was named in a block since the last call.
        let mut named: BTreeMap<Point, BTreeSet<usize>> = BTreeMap::new();
        for (number, block) in self.blocks.iter().enumerate() {
            let mut now: BTreeSet<usize> = BTreeSet::new();
            for (at, operation) in block.iter().enumerate() {
                named.insert((number, at), now.clone());
                for target in &operation.targets {
                    if let lockstep_codegen::mir::Operand::Register(Name::Fixed(register)) = target
                        && Sc140::passes(*register)
                        && transfer(operation).is_none()
                    {
                        now.insert(Sc140::index(*register));
                    }
                }
                if operation.branch() == Some(Branch::Call) {
                    now.clear();
                }
            }
        }
        let clobbered: Vec<usize> = Sc140::clobbered(function, &[])
            .into_iter()
            .map(Sc140::index)
            .collect();
        loop {
            let mut changed = false;
            for (number, block) in self.blocks.iter().enumerate().rev() {
                for at in (0..=block.len()).rev() {
                    let mut live: BTreeSet<usize> = BTreeSet::new();
                    if let Some(operation) = block.get(at) {
                        live.extend(out.get(&(number, at + 1)).into_iter().flatten());
                        if operation.is_certain() {
                            for register in self.written(operation) {
                                live.remove(&register);
                            }
                        }
                        if operation.branch() == Some(Branch::Call) {
                            for register in &clobbered {
                                live.remove(register);
                            }
                        }
                        live.extend(self.read(operation, &named[&(number, at)]));
                    }
                    // Ways from here to the starts of blocks.
                    for (to, ways) in self.into.iter().enumerate() {
                        if ways.contains(&(number, at)) {
                            live.extend(out.get(&(to, 0)).into_iter().flatten());
                        }
                    }
                    if out.get(&(number, at)) != Some(&live) {
                        out.insert((number, at), live);
                        changed = true;
                    }
                }
            }
            if !changed {
                return out;
            }
        }
    }

    /// The points at which what a load loads waits for it, and the stores that reach it.
    fn region(&self, load: Point, home: u32) -> (BTreeSet<Point>, BTreeSet<Point>) {
        let mut region = BTreeSet::new();
        let mut stores = BTreeSet::new();
        // Behind a load of the home only its stores are looked for.
        let mut open = vec![(load, true)];
        let mut seen = BTreeSet::new();
        while let Some((point, waits)) = open.pop() {
            if !seen.insert((point, waits)) {
                continue;
            }
            if waits {
                region.insert(point);
            }
            let (block, at) = point;
            if at == 0 {
                open.extend(self.into[block].iter().map(|&from| (from, waits)));
                continue;
            }
            match transfer(&self.blocks[block][at - 1]) {
                Some(Transfer::Store(other)) if other == home => {
                    stores.insert((block, at - 1));
                }
                Some(Transfer::Load(other)) if other == home => open.push(((block, at - 1), false)),
                _ => open.push(((block, at - 1), waits)),
            }
        }
        (region, stores)
    }
}

struct Load {
    home: u32,
    region: BTreeSet<Point>,
    stores: BTreeSet<Point>,
    /// The registers in which it may wait.
    open: Vec<usize>,
}

/// The fewest loads and stores, or `None` if the search takes too long.
pub(crate) fn fewest(
    before: (&Function<Sc140>, &Allocation<Sc140>),
    after: (&Function<Sc140>, &Allocation<Sc140>),
    registers: &[Reg],
) -> Option<u32> {
    let (function, allocation) = before;
    let scene = Scene::new(function, allocation);
    let saved = |file: File| {
        [before, after].iter().any(|(function, allocation)| {
            let used = allocation.used(function, file);
            used.iter().any(|it| matches!(it.number, 6 | 7))
        })
    };
    let registers: Vec<usize> = registers
        .iter()
        .filter(|it| !matches!(it.number, 6 | 7) || saved(it.file))
        .map(|it| Sc140::index(*it))
        .collect();
    let free: BTreeSet<Point> = spared(function, allocation)
        .ok()?
        .into_iter()
        .filter_map(|spared| {
            let before = if spared.block == 0 { scene.arrivals } else { 0 };
            let point = (spared.block as usize, spared.operation as usize + before);
            let live = &scene.live[&point];
            let any = |held: &Vec<usize>| held.iter().any(|it| live.contains(it));
            let computed = spared.computed.is_some_and(|all| all.iter().all(any));
            (any(&spared.held) || computed).then_some(point)
        })
        .collect();
    let clobbered: BTreeSet<usize> = Sc140::clobbered(function, &[])
        .into_iter()
        .map(Sc140::index)
        .collect();
    let mut loads = Vec::new();
    for (number, block) in scene.blocks.iter().enumerate() {
        for (at, operation) in block.iter().enumerate() {
            let Some(Transfer::Load(home)) = transfer(operation) else {
                continue;
            };
            if free.contains(&(number, at)) {
                continue;
            }
            let (region, stores) = scene.region((number, at), home);
            let mut taken: BTreeSet<usize> = BTreeSet::new();
            for &(block, at) in &region {
                taken.extend(&scene.live[&(block, at)]);
                if region.contains(&(block, at + 1))
                    && let Some(operation) = scene.blocks[block].get(at)
                {
                    taken.extend(scene.written(operation));
                    if operation.branch() == Some(Branch::Call) {
                        taken.extend(&clobbered);
                    }
                }
            }
            let open = registers.iter().copied().filter(|it| !taken.contains(it));
            loads.push(Load {
                home,
                stores,
                open: open.collect(),
                region,
            });
        }
    }
    loads.sort_by_key(|load| load.open.len());
    let near: Vec<Vec<usize>> = loads
        .iter()
        .map(|load| {
            let apart =
                |other: &Load| other.home != load.home && !other.region.is_disjoint(&load.region);
            (0..loads.len()).filter(|&at| apart(&loads[at])).collect()
        })
        .collect();
    let mut search = Search {
        loads: &loads,
        near: &near,
        chosen: vec![None; loads.len()],
        best: u32::MAX,
        steps: 0,
    };
    search.from(0, 0, &mut BTreeMap::new());
    (search.steps < STEPS).then_some(search.best)
}

struct Search<'a> {
    loads: &'a [Load],
    near: &'a [Vec<usize>],
    /// `Some(None)`: it stays.
    chosen: Vec<Option<Option<usize>>>,
    best: u32,
    steps: u64,
}

impl Search<'_> {
    fn is_open(&self, load: usize, register: usize) -> bool {
        let taken = |&other: &usize| self.chosen[other] == Some(Some(register));
        !self.near[load].iter().any(taken)
    }

    fn from(&mut self, at: usize, kept: u32, stores: &mut BTreeMap<Point, u32>) {
        self.steps += 1;
        if self.steps >= STEPS {
            return;
        }
        let without = |load: &usize| {
            let open = &self.loads[*load].open;
            !open.iter().any(|&register| self.is_open(*load, register))
        };
        let lost = (at..self.loads.len()).filter(without).count() as u32;
        let cost = kept + stores.len() as u32;
        if cost + lost >= self.best {
            return;
        }
        let Some(load) = self.loads.get(at) else {
            self.best = cost;
            return;
        };
        // Registers that are open to the same loads are the same.
        let mut tried: BTreeSet<Vec<bool>> = BTreeSet::new();
        for &register in &load.open {
            if !self.is_open(at, register) {
                continue;
            }
            let kind: Vec<bool> = (at..self.loads.len())
                .map(|other| {
                    self.loads[other].open.contains(&register) && self.is_open(other, register)
                })
                .collect();
            if tried.insert(kind) {
                self.chosen[at] = Some(Some(register));
                self.from(at + 1, kept, stores);
            }
        }
        self.chosen[at] = Some(None);
        for &store in &load.stores {
            *stores.entry(store).or_default() += 1;
        }
        self.from(at + 1, kept + 1, stores);
        for store in &load.stores {
            if let Some(count) = stores.get_mut(store) {
                *count -= 1;
                if *count == 0 {
                    stores.remove(store);
                }
            }
        }
        self.chosen[at] = None;
    }
}
