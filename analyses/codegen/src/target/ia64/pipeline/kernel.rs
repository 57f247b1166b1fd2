//! Kernel-only code of a schedule: rotating registers for values, stage predicates, the code in front of the
//! loop and behind it.
//!
//! ```text
//! stage s of an iteration reads V as p(16+s); a value with reference n is r(32+n+s) in stage s of its own iteration,
//! and r(32+n+s+1) in that stage of the next one
//! ```
//!
//! A value owns a register from its first write to its last read; two values may have references that differ
//! by d if the life of one, d intervals later, ends before the other begins or the other way round. First fit
//! in order of their starts. Initial values are put where the iteration before the first would have left
//! them; values read behind the loop are where the last iteration left them, `stages` rotations later, or
//! where the code behind the kernel puts them.
//!
//! Source: Rau, Lee, Tirumalai and Schlansker, *Register allocation for software pipelined loops*, 1992.

use super::body::{Item, LoopExit};
use super::counted::Trips;
use super::depend::{View, units};
use super::exits::{Plan, Taken};
use super::report::{Reason, Registers};
use super::separate::Test;
use super::speculate::SteppedLoad;
use super::unroll::Rest;
use crate::machine::epic::Epic;
use crate::pipeline::graph::Schedule;
use crate::predicate::loops::Region;
use crate::target::ia64::code::Entry;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Block, Function, Name, Operand, Operation, Virtual};
use crate::target::ia64::passes::SAVES;
use crate::target::ia64::passes::constant_compare;
use crate::target::ia64::rows::Kind;
use ir::Loc;
use isa::ia64::Opcode;
use isa::ia64::{File, Reg};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// The steps that an addition to an address can encode.
const STEPS: std::ops::RangeInclusive<i64> = -8192..=8191;

/// The registers of values.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Allocation {
    /// Keyed by name: the register's number from the first rotating one, in stage 0.
    references: FxHashMap<Virtual, i64>,
    pub(super) used: Registers,
    /// The predicate that begins as true, from `p16`.
    first: u32,
}

struct Life {
    name: Virtual,
    first: i64,
    last: i64,
    reference: i64,
}

/// Places for all values that rotate; `Err`: a file has too few.
pub(super) fn allocate(
    function: &Function,
    plan: &Plan,
    view: &View,
    schedule: &Schedule,
    machine: &Epic,
) -> Result<Allocation, Reason> {
    let stages = schedule.stages();
    let ii = i64::from(schedule.ii);
    let mut out = Allocation {
        references: FxHashMap::default(),
        used: Registers::default(),
        first: 0,
    };
    for file in [File::General, File::Float, File::Predicate] {
        // The stacked registers behind the rotating ones hold the values that the prologue saves, and
        // arguments of calls.
        let most = match file {
            File::General => {
                let behind = SAVES + function.outputs.len() as u32;
                i64::from(units(file, machine).saturating_sub(behind) / 8 * 8)
            }
            _ => i64::from(units(file, machine)),
        };
        let mut lives: Vec<Life> = Vec::new();
        for (&name, value) in view.names.iter().zip(&view.values) {
            if function.file(name) != file {
                continue;
            }
            let (mut first, mut last) = value.life(schedule, stages);
            let mut reference = 0;
            if name == plan.valid {
                if plan.counted {
                    (first, last) = (0, last.max(0));
                } else {
                    // Its zero comes in at p16, and travels to where it is written.
                    let written = value
                        .writers
                        .iter()
                        .map(|&writer| schedule.start[writer as usize]);
                    let early = written.min().unwrap_or(0) < schedule.ii;
                    out.first = u32::from(early);
                    first = if early { 0 } else { ii };
                    reference = i64::from(out.first) - 1;
                }
                out.references.insert(name, reference);
            }
            lives.push(Life {
                name,
                first,
                last,
                reference,
            });
        }
        lives.sort_by_key(|life| (life.name != plan.valid, life.first, life.name));
        let partners = partners(plan);
        let mut used = 0;
        for at in 0..lives.len() {
            if lives[at].name != plan.valid {
                let (placed, rest) = lives.split_at_mut(at);
                let life = &mut rest[0];
                let least = -life.first.div_euclid(ii);
                let found = (least..).take(512).find(|&reference| {
                    placed.iter().all(|other| {
                        // One of a pair has an odd number, the other an even one.
                        let pair = (other.name.min(life.name), other.name.max(life.name));
                        if partners.contains(&pair) && (reference - other.reference) % 2 == 0 {
                            return false;
                        }
                        let later = (reference - other.reference) * ii;
                        life.last + later < other.first || other.last < life.first + later
                    })
                });
                life.reference = found.unwrap_or(least + 512);
                out.references.insert(life.name, life.reference);
            }
            let top = lives[at].reference + lives[at].last.div_euclid(ii) + 1;
            used = used.max(top);
        }
        if used > most {
            return Err(Reason::Registers {
                file,
                wanted: used as u32,
                units: most as u32,
            });
        }
        let used = used.max(0) as u32;
        match file {
            File::General => out.used.general = used,
            File::Float => out.used.float = used,
            _ => out.used.predicate = used,
        }
    }
    Ok(out)
}

/// Values that are loaded two at a time, the lower name first.
fn partners(plan: &Plan) -> Vec<(Virtual, Virtual)> {
    let items = plan.items.iter();
    let pairs = items.filter(|item| super::body::is_pair(&item.operation));
    let names = pairs.filter_map(|item| {
        let mut written = item.operation.writes();
        let (left, right) = (written.next()?, written.next()?);
        Some((left.min(right), left.max(right)))
    });
    names.collect()
}

impl Allocation {
    /// Returns where a stage finds a value. Behind the kernel, where nothing rotates, stages in front of the
    /// first are asked for, too: never more registers than the loop uses are alive, and registers below the
    /// first are behind the others.
    fn place(&self, file: File, name: Virtual, stage: i64) -> Option<Reg> {
        let mut number = self.references.get(&name)? + stage;
        if number < 0 {
            let used = match file {
                File::General => self.used.general,
                File::Float => self.used.float,
                _ => self.used.predicate,
            };
            number = number.rem_euclid(i64::from(used.max(1)));
        }
        let number = u8::try_from(number).ok()?;
        Some(match file {
            File::General => Reg::general(32 + number),
            File::Float => Reg::float(32 + number),
            _ => Reg::predicate(16 + number),
        })
    }
}

/// The rows of the kernel: items in an order in which a group executes as it should. `Err`: this row has none.
pub(super) fn rows(view: &View, schedule: &Schedule) -> Result<Vec<Vec<u32>>, u32> {
    let Some(packing) = &view.graph.packing else {
        return Err(0);
    };
    let ii = schedule.ii as usize;
    let row = |it: u32| schedule.start[it as usize] as usize % ii;
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); ii];
    let mut place: Vec<u32> = Vec::with_capacity(packing.kinds.len());
    for each in 0..packing.kinds.len() as u32 {
        let members = &mut rows[row(each)];
        place.push(members.len() as u32);
        members.push(each);
    }
    // By row: those that follow others in the same cycle.
    let mut follow: Vec<Vec<(u32, u32)>> = vec![Vec::new(); ii];
    for edge in &view.graph.edges {
        let apart = i64::from(schedule.start[edge.to as usize])
            + i64::from(edge.distance) * i64::from(schedule.ii)
            - i64::from(schedule.start[edge.from as usize]);
        if apart == 0 && edge.from != edge.to {
            let pair = (place[edge.from as usize], place[edge.to as usize]);
            follow[row(edge.to)].push(pair);
        }
    }
    let mut out = Vec::new();
    for ((at, members), mut before) in rows.iter().enumerate().zip(follow) {
        let place = |it: u32| (row(it) == at).then(|| place[it as usize]);
        // A check first: what its recovery goes back to is the start of the cycle.
        for &check in &view.checks {
            if let Some(check) = place(check) {
                let others = members
                    .iter()
                    .zip(0..)
                    .filter(|(it, _)| !view.checks.contains(it));
                before.extend(others.map(|(_, it)| (check, it)));
            }
        }
        // The branch last.
        if let Some(branch) = place(view.branch) {
            let others = (0..members.len() as u32).filter(|&it| it != branch);
            before.extend(others.map(|it| (it, branch)));
        }
        let kinds: Vec<Kind> = members
            .iter()
            .map(|&member| packing.kinds[member as usize])
            .collect();
        let parts = match members.is_empty() {
            true => Vec::new(),
            false => packing.rows.placed(&kinds, &before).ok_or(at as u32)?,
        };
        let order = parts.into_iter().flat_map(|part| part.slots).flatten();
        out.push(order.map(|at| members[at as usize]).collect());
    }
    Ok(out)
}

/// The information that the writer of the function needs.
pub(super) struct Kernel<'a> {
    pub(super) plan: &'a Plan,
    pub(super) view: &'a View,
    pub(super) schedule: &'a Schedule,
    pub(super) allocation: &'a Allocation,
    pub(super) rows: &'a [Vec<u32>],
    pub(super) exits: &'a [LoopExit],
    pub(super) entry: Option<&'a Entry>,
    /// In front of the kernel, where an iteration is certain.
    pub(super) preload: &'a [Operation],
    pub(super) trips: Option<&'a Trips>,
    /// The iterations that remain for the loop's own code where the kernel does several at once.
    pub(super) rest: Option<Rest>,
    /// In front of the kernel: whether its accesses are as apart as it takes them to be.
    pub(super) test: Option<&'a Test>,
    /// The block with which an iteration of the loop's own code begins, where that stays.
    pub(super) own: Option<u32>,
    /// True if code behind it finishes the iterations under way when the last one has begun.
    pub(super) explicit: bool,
    pub(super) header: u32,
    pub(super) blocks: &'a [u32],
}

fn jump(predicate: Option<Virtual>, target: u32) -> Operation {
    Operation {
        predicate,
        ..Operation::plain(
            op!("br.cond.sptk"),
            Vec::new(),
            vec![Operand::Block(target)],
        )
    }
}

/// Returns a move to `to` from `from`, for a value of this file.
fn moved(function: &mut Function, file: File, to: Operand, from: Reg) -> Operation {
    match file {
        File::Predicate => {
            let guard = function.pin(from);
            constant_compare(
                op!("cmp.eq.unc"),
                Some(guard),
                [to, Operand::fixed(Reg::P0)],
                Loc::NONE,
            )
        }
        _ => Operation::plain(op!("mov"), vec![to], vec![Operand::fixed(from)]),
    }
}

/// The virtual register that stands for a rotating predicate.
fn pin(function: &mut Function, pinned: &mut FxHashMap<Reg, Virtual>, reg: Reg) -> Virtual {
    *pinned.entry(reg).or_insert_with(|| function.pin(reg))
}

/// Returns true if the loop's own code may stay behind the kernel.
pub(super) fn may_stay(function: &Function, region: &Region) -> bool {
    may_stay_at(function, region.header, &region.blocks)
}

fn may_stay_at(function: &Function, header: u32, blocks: &[u32]) -> bool {
    let latch = header.checked_sub(1).filter(|it| blocks.contains(it));
    let falls = latch.is_some_and(|latch| {
        let operations = &function.blocks[latch as usize].operations;
        let last = operations.last();
        !last.is_some_and(|last| last.predicate.is_none() && last.opcode() == Opcode::Br)
    });
    !falls
}

impl Kernel<'_> {
    pub(super) fn stage(&self, item: u32) -> u32 {
        self.schedule.start[item as usize] / self.schedule.ii
    }

    /// Puts the pipelined loop in the place of the loop's blocks.
    pub(super) fn install(&self, function: &mut Function) -> Option<()> {
        let exits = self.exits.len() as u32;
        let parts = self.parts();
        // The new blocks: one in front of the loop, the kernel, the choice of the exit, one for each exit,
        // one for each check.
        let behind = 1 + parts.len() as u32;
        let mut new = behind + 1 + exits + self.view.checks.len() as u32;
        new += u32::from(self.own.is_some());
        let header = self.header;
        let renumber = |block: u32| if block > header { block + new } else { block };
        // Where the loop's own code begins if it stays.
        let own = header + new;
        let through = function.successors(header).contains(&(header + 1));
        if self.own.is_some() && !may_stay_at(function, header, self.blocks) {
            return None;
        }
        for (at, block) in (0..).zip(&mut function.blocks) {
            let back = self.own.is_some() && self.blocks.contains(&at);
            for operation in &mut block.operations {
                for source in &mut operation.sources {
                    if let Operand::Block(target) = source {
                        *target = match back && *target == header {
                            true => own,
                            false => renumber(*target),
                        };
                    }
                }
            }
        }
        let (front, kernel) = (header + 1, header + 2);
        let weight = function.blocks[header as usize].weight;
        let plain = |operations: Vec<Operation>, weight: f64| Block {
            operations,
            weight,
            cycles: Vec::new(),
            rounds: None,
        };
        let mut kept = Vec::new();
        for &block in self.blocks {
            if self.own.is_some() && block != header {
                continue;
            }
            let operations = &mut function.blocks[block as usize].operations;
            kept.append(operations);
            function.blocks[block as usize].cycles.clear();
        }
        if through {
            kept.push(jump(None, renumber(header + 1)));
        }
        let start = self.own.map(|start| match start == header {
            true => own,
            false => renumber(start),
        });
        let mut head = Vec::new();
        if let Some(entry) = self.entry {
            head.extend(entry.operations.iter().cloned());
            let target = renumber(entry.target);
            if entry.enters {
                head.push(jump(Some(entry.predicate), front));
                head.push(jump(None, target));
            } else {
                head.push(jump(Some(entry.predicate), target));
            }
        }
        let saved = self.trips.map(|_| function.register(File::General));
        let (before, left) = self.before(function, saved, start)?;
        let mut new = vec![plain(before, 1.0)];
        let choice = header + 1 + behind;
        let (rows, again) = self.kernel(function, kernel, &parts, choice + 1 + exits)?;
        for (operations, cycles) in rows {
            new.push(Block {
                operations,
                weight,
                cycles,
                rounds: None,
            });
        }
        new.extend(
            self.behind(function, saved, choice, left.zip(start), &renumber)?
                .into_iter()
                .map(|it| plain(it, 1.0)),
        );
        new.extend(again.into_iter().map(|it| plain(it, 0.0)));
        if self.own.is_some() {
            new.push(plain(kept, 1.0));
        }
        function.blocks[header as usize].operations = head;
        function.blocks[header as usize].weight = 1.0;
        let at = header as usize + 1;
        function.blocks.splice(at..at, new);
        let used = self.allocation.used;
        let rotating = &mut function.frame.rotating;
        rotating.general = rotating.general.max(used.general.next_multiple_of(8));
        rotating.float = rotating.float.max(used.float);
        rotating.predicate = rotating.predicate.max(used.predicate.max(1));
        Some(())
    }

    /// Returns the operations in front of the kernel, and the number of iterations that it leaves to the
    /// loop's own code at `start`.
    fn before(
        &self,
        function: &mut Function,
        saved: Option<Virtual>,
        start: Option<u32>,
    ) -> Option<(Vec<Operation>, Option<Virtual>)> {
        let mut left = None;
        let mut out = vec![Operation::plain(op!("clrrrb"), Vec::new(), Vec::new())];
        out.extend(self.preload.iter().cloned());
        out.extend(self.started_early()?);
        let stages = self.schedule.stages();
        if let (Some(trips), Some(saved)) = (self.trips, saved) {
            let mut count = trips.compute(function, &mut out);
            if let (Some(rest), Some(start)) = (self.rest, start) {
                let (kernel, more) = rest.split(function, count, start, &mut out);
                (count, left) = (kernel, Some(more));
            }
            if let (Some(test), Some(start)) = (self.test, start) {
                test.write(function, &count, trips.is_small(), start, &mut out);
            }
            let save = Operation::plain(
                op!("mov"),
                vec![Operand::register(saved)],
                vec![Operand::fixed(Reg::LC)],
            );
            out.push(save);
            out.push(Operation::plain(
                op!("mov"),
                vec![Operand::fixed(Reg::LC)],
                vec![count],
            ));
        }
        let speculative = self.stage(self.view.branch);
        let epilogue = match (self.plan.counted, speculative) {
            _ if self.explicit => self.count(),
            (true, _) => stages,
            (false, 0) => stages,
            (false, _) => stages - 1,
        };
        let epilogue = Operand::Number(i64::from(epilogue));
        out.push(Operation::plain(
            op!("mov"),
            vec![Operand::fixed(Reg::EC)],
            vec![epilogue],
        ));
        let first = if self.plan.counted {
            0
        } else {
            self.allocation.first
        };
        let bits = Operand::Number(1 << (16 + first));
        out.push(Operation::plain(
            op!("mov"),
            vec![Operand::fixed(Reg::PR_ROT)],
            vec![bits],
        ));
        out.extend(self.plan.before.iter().cloned());
        for (&name, value) in self.view.names.iter().zip(&self.view.values) {
            if !value.initial || name == self.plan.valid {
                continue;
            }
            let file = function.file(name);
            // What the iterations before the first left.
            for (ago, from) in self.plan.earlier.initials(name) {
                let place = self.allocation.place(file, name, i64::from(ago))?;
                out.push(Operation::plain(
                    op!("mov"),
                    vec![Operand::fixed(place)],
                    vec![Operand::register(from)],
                ));
            }
        }
        Some((out, left))
    }

    /// Rows with which a block of the kernel begins: the first, and those to which recovery goes.
    fn parts(&self) -> Vec<u32> {
        let ii = self.schedule.ii;
        let row = |&check: &u32| {
            let row = self.schedule.start[check as usize] % ii;
            row + u32::from(self.asks_the_table(check))
        };
        let mut out: Vec<u32> = self.view.checks.iter().map(row).collect();
        out.push(0);
        out.retain(|&row| row < ii);
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Returns true if it is a check of an advanced load.
    fn asks_the_table(&self, item: u32) -> bool {
        let item = self.plan.items.get(item as usize);
        let check = item.and_then(|item| item.check.as_ref());
        check.is_some_and(|check| check.advanced)
    }

    /// An operation with the registers that its values have in a stage; but for the predicate.
    fn placed(
        &self,
        function: &Function,
        operation: &Operation,
        before: &[Virtual],
        stage: i64,
    ) -> Operation {
        let mut operation = operation.clone();
        let find = |name: Virtual, ago: u32| {
            let (root, more) = self.plan.earlier.of(name);
            let stage = stage + i64::from(ago + more);
            self.allocation.place(function.file(name), root, stage)
        };
        let rename = |operand: &mut Operand, write: bool| match operand {
            Operand::Register(name) | Operand::Address(name) => {
                if let Name::Virtual(register) = *name
                    && let Some(reg) =
                        find(register, if write { 0 } else { self.ago(before, register) })
                {
                    *name = Name::Fixed(reg);
                }
            }
            _ => {}
        };
        for source in &mut operation.sources {
            rename(source, false);
        }
        for target in &mut operation.targets {
            let write = !matches!(target, Operand::Address(_));
            rename(target, write);
        }
        operation
    }

    fn ago(&self, before: &[Virtual], name: Virtual) -> u32 {
        let counted = self.plan.counted && name == self.plan.valid;
        u32::from(before.contains(&name) && !counted)
    }

    /// An item with the registers of a stage.
    pub(super) fn instance(
        &self,
        function: &mut Function,
        pinned: &mut FxHashMap<Reg, Virtual>,
        it: u32,
        stage: i64,
    ) -> Operation {
        let item = &self.plan.items[it as usize];
        let mut operation = self.placed(function, &item.operation, &item.before, stage);
        if let Some(guard) = operation.predicate {
            let ago = i64::from(self.ago(&item.before, guard));
            if let Some(reg) = self.allocation.place(File::Predicate, guard, stage + ago) {
                operation.predicate = Some(pin(function, pinned, reg));
            }
        }
        operation
    }

    /// The address that a load had in the iteration of a check, from the value of its base when the check
    /// executes.
    fn taken_back(&self, load: &SteppedLoad, check: u32, address: Virtual) -> Option<Operation> {
        let SteppedLoad { value, base, step } = *load;
        let loads = |item: &Item| item.operation.writes().any(|write| write == value);
        let at = self.plan.items.iter().position(loads)?;
        // The check is the first of its cycle: the load's own effect in that cycle has not happened yet.
        let between = self.schedule.start[check as usize].checked_sub(self.schedule.start[at])?;
        let back = -step * i64::from(between.div_ceil(self.schedule.ii));
        STEPS.contains(&back).then(|| {
            let sources = vec![Operand::Number(back), Operand::register(base)];
            Operation::plain(op!("adds"), vec![Operand::register(address)], sources)
        })
    }

    /// Bases of speculative loads, which rounds of the kernel step that are in front of the first iteration's. A load
    /// that would overwrite a value from before the loop has a predicate, which is not true in those.
    fn started_early(&self) -> Option<Vec<Operation>> {
        let mut out = Vec::new();
        for (at, item) in (0..).zip(&self.plan.items) {
            let always = item.speculative && item.operation.predicate.is_none();
            let load = SteppedLoad::of(&item.operation).filter(|_| always);
            let stage = i64::from(self.stage(at));
            let Some(SteppedLoad { base, step, .. }) = load.filter(|_| stage > 0) else {
                continue;
            };
            let back = Some(-step * stage).filter(|back| STEPS.contains(back))?;
            let sources = vec![Operand::Number(back), Operand::register(base)];
            let targets = vec![Operand::register(base)];
            out.push(Operation::plain(op!("adds"), targets, sources));
        }
        Some(out)
    }

    /// The kernel from block `own` on, in parts, and from block `again` on the recoveries of its checks.
    #[allow(clippy::type_complexity)]
    fn kernel(
        &self,
        function: &mut Function,
        own: u32,
        parts: &[u32],
        again: u32,
    ) -> Option<(Vec<(Vec<Operation>, Vec<u32>)>, Vec<Vec<Operation>>)> {
        let mut out: Vec<(Vec<Operation>, Vec<u32>)> = Vec::new();
        let mut recoveries = vec![Vec::new(); self.view.checks.len()];
        let mut pinned: FxHashMap<Reg, Virtual> = FxHashMap::default();
        for (cycle, row) in (0..).zip(self.rows) {
            if parts.contains(&cycle) {
                out.push((Vec::new(), Vec::new()));
            }
            let here = own + out.len() as u32 - 1;
            // Behind the row: the next block of the kernel, or what stands behind that.
            let next = here + 1;
            let (operations, cycles) = out.last_mut()?;
            let first = operations.len();
            let mut again_behind: Vec<(usize, usize)> = Vec::new();
            for &each in row {
                cycles.push(cycle);
                let stage = i64::from(self.stage(each));
                if each == self.view.branch {
                    let valid = self
                        .allocation
                        .place(File::Predicate, self.plan.valid, stage);
                    let mnemonic = if self.plan.counted {
                        op!("br.ctop.sptk")
                    } else {
                        op!("br.wtop.sptk")
                    };
                    let mut branch =
                        Operation::plain(mnemonic, Vec::new(), vec![Operand::Block(own)]);
                    if !self.plan.counted {
                        branch.predicate = Some(pin(function, &mut pinned, valid?));
                    }
                    operations.push(branch);
                    continue;
                }
                let item = &self.plan.items[each as usize];
                let mut operation = self.instance(function, &mut pinned, each, stage);
                if let Some(check) = &item.check {
                    let number = self.view.checks.iter().position(|&check| check == each)?;
                    operation.sources.truncate(1);
                    operation
                        .sources
                        .push(Operand::Block(again + number as u32));
                    let mut repeated = Vec::new();
                    for (operation, before) in &check.recovery {
                        let mut placed = self.placed(function, operation, before, stage);
                        let load = check.stepped.iter().find(|load| {
                            operation.memory.is_some()
                                && operation.writes().any(|write| write == load.value)
                        });
                        if let Some(load) = load {
                            let address = function.register(File::General);
                            repeated.push(self.taken_back(load, each, address)?);
                            placed.sources = smallvec![Operand::Address(Name::Virtual(address))];
                        }
                        repeated.push(placed);
                    }
                    if check.advanced {
                        again_behind.push((number, operations.len() - first + 1));
                    } else {
                        repeated.push(jump(None, here));
                    }
                    recoveries[number] = repeated;
                }
                operations.push(operation);
            }
            // A jump back to the check would find the table unchanged, so the rest of the row is executed in
            // the recovery.
            for (number, from) in again_behind {
                let left = operations.iter().skip(first + from).cloned();
                recoveries[number].extend(left);
                recoveries[number].push(jump(None, next));
            }
        }
        Some((out, recoveries))
    }

    /// Returns the code that finishes the iterations, the choice of the exit, and one block an exit, at
    /// `first`.
    fn behind(
        &self,
        function: &mut Function,
        saved: Option<Virtual>,
        first: u32,
        left: Option<(Virtual, u32)>,
        renumber: &dyn Fn(u32) -> u32,
    ) -> Option<Vec<Vec<Operation>>> {
        let reached = self.reached();
        let mut choice = match self.explicit {
            true => self.drain(function),
            false => Vec::new(),
        };
        if let Some(saved) = saved {
            choice.push(Operation::plain(
                op!("mov"),
                vec![Operand::fixed(Reg::LC)],
                vec![Operand::register(saved)],
            ));
        }
        let mut blocks = Vec::new();
        for (number, (exit, taken)) in (0..).zip(self.exits.iter().zip(&self.plan.taken)) {
            let there = first + 1 + number;
            let guard = match *taken {
                Taken::Predicate(register) => {
                    let place = self.allocation.place(File::Predicate, register, reached)?;
                    Some(function.pin(place))
                }
                Taken::Static(register) => Some(register),
                Taken::Number(variable, number) => {
                    let equal = function.register(File::Predicate);
                    choice.push(Operation::plain(
                        op!("cmp.eq"),
                        vec![Operand::register(equal), Operand::fixed(Reg::P0)],
                        vec![Operand::Number(number), Operand::register(variable)],
                    ));
                    Some(equal)
                }
                Taken::Otherwise => None,
            };
            choice.push(jump(guard, there));
            let mut copies = Vec::new();
            for &(register, name, ago) in &exit.live {
                let file = function.file(register);
                let place = self
                    .allocation
                    .place(file, name, reached + i64::from(ago))?;
                copies.push(moved(function, file, Operand::register(register), place));
            }
            for sum in &exit.sums {
                let ago = reached + i64::from(sum.ago);
                let place = self.allocation.place(File::Float, sum.value, ago)?;
                let register = Operand::register(sum.register);
                let parts = vec![register.clone(), Operand::fixed(place)];
                copies.push(Operation::plain(sum.mnemonic, vec![register], parts));
            }
            if let Some((left, start)) = left {
                let more = function.register(File::Predicate);
                copies.push(Operation::plain(
                    op!("cmp.ne"),
                    vec![Operand::register(more), Operand::fixed(Reg::P0)],
                    vec![Operand::Number(0), Operand::register(left)],
                ));
                copies.push(jump(Some(more), start));
            }
            copies.push(jump(None, renumber(exit.target)));
            blocks.push(copies);
        }
        let mut out = vec![choice];
        out.extend(blocks);
        Some(out)
    }
}
