//! A function whose values have registers or homes, with the transfers between both still whole.
//!
//! ```text
//! v1 = add v0, 1; ..; v9 = mul v1, v3       v1 spills:   d13 = add d0, 1; home 0 <- d13; ..; d13 <- home 0; d2 = mul d13, d3
//! ```
//!
//! A *home* holds one spilled value, in no memory yet: reducing spills gives it a register, recomputes it, or gives it a slot
//! of the frame, which it may share. The first block holds what is done with arguments where the function starts.

use super::steps::Steps;
use crate::allocate::Place;
use crate::mir::function::{Function, Name, Operand, Operation, Virtual};
use crate::mir::{SpillSlot, Target};
use ir::entity::Entity;
use ir::{EntitySet, Loc};
use isa::Branch;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// The place of a spilled value: an index into `Code::homes`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct Home(pub(crate) u32);

/// A register, by `Target::index`, or behind all of them a home.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct Location(pub(crate) u32);

impl Entity for Location {
    fn new(index: usize) -> Location {
        Location(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl Location {
    pub(crate) fn register<T: Target>(register: T::Register) -> Location {
        Location(T::index(register) as u32)
    }
    pub(crate) fn home<T: Target>(home: Home) -> Location {
        Location(T::REGISTERS as u32 + home.0)
    }
    pub(crate) fn as_home<T: Target>(self) -> Option<Home> {
        self.0.checked_sub(T::REGISTERS as u32).map(Home)
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step<T: Target> {
    Operation(Operation<T>),
    Load {
        to: T::Register,
        from: Home,
        loc: Loc,
    },
    Store {
        from: T::Register,
        to: Home,
        loc: Loc,
    },
    /// Between registers whose classes may differ.
    Copy {
        to: T::Register,
        from: T::Register,
        loc: Loc,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Block<T: Target> {
    pub(crate) steps: Steps<T>,
    pub(crate) weight: f64,
    /// As in `mir::Block`: such a block has operations alone, and stays as it is.
    pub(crate) cycles: Vec<u32>,
}

/// The steps of a function that spills. Blocks are those of the function, numbered from 1; block 0 holds the arrivals.
#[derive(Clone, Debug)]
pub(crate) struct Code<'f, T: Target> {
    pub(crate) function: &'f Function<T>,
    pub(crate) blocks: Vec<Block<T>>,
    /// The spilled value of each home: several homes may hold one, at different times.
    pub(crate) homes: Vec<Virtual>,
    /// The register of each virtual register. What lives in a home has none.
    pub(crate) registers: Vec<T::Register>,
    /// Virtual registers that stand for registers of guards.
    pub(crate) guards: Vec<(T::Register, Virtual)>,
    /// Registers by their numbers, as far as they may hold values.
    numbered: Vec<Option<T::Register>>,
    /// True if some operation reads state that no operand names: what writes it besides its target stays as it is.
    pub(super) hidden: bool,
    /// Values whose transfers stay, sorted.
    staying: Vec<Virtual>,
}

/// The reads and writes of a step.
#[derive(Clone, Default, Debug)]
pub(crate) struct Touched {
    pub(crate) reads: SmallVec<[Location; 4]>,
    /// Those whose old values do not outlive it.
    pub(crate) kills: SmallVec<[Location; 4]>,
    /// Those that may keep their old values besides.
    pub(crate) changes: SmallVec<[Location; 2]>,
}

impl Touched {
    pub(crate) fn writes(&self) -> impl Iterator<Item = Location> + '_ {
        self.kills.iter().chain(&self.changes).copied()
    }
}

impl<'f, T: Target> Code<'f, T> {
    /// The transfers that places ask for: loads in front of operations that read what is in memory, stores behind those that
    /// write it.
    pub(crate) fn new(function: &'f Function<T>, places: &[Place<T::Register>]) -> Self {
        let mut homes: Vec<Virtual> = Vec::new();
        let mut home_of: FxHashMap<Virtual, Home> = FxHashMap::default();
        let mut registers: Vec<T::Register> = Vec::with_capacity(places.len());
        for (number, place) in (0..).zip(places) {
            registers.push(match place {
                Place::Register(register) => *register,
                _ => T::NONE,
            });
            if *place == Place::Memory {
                home_of.insert(Virtual(number), Home(homes.len() as u32));
                homes.push(Virtual(number));
            }
        }
        // Stand-ins for guards in memory: a guard is named by a virtual register. They come behind the function's own.
        let mut guards: Vec<(T::Register, Virtual)> = Vec::new();
        let classes: BTreeSet<T::Class> = function.registers.iter().copied().collect();
        for class in classes.into_iter().filter(|&class| T::is_guard(class)) {
            for &register in T::scratch(class) {
                guards.push((register, Virtual(registers.len() as u32)));
                registers.push(register);
            }
        }
        let mut code = Code {
            function,
            blocks: Vec::with_capacity(function.blocks.len() + 1),
            homes,
            registers,
            guards,
            numbered: vec![None; T::REGISTERS],
            hidden: false,
            staying: Vec::new(),
        };
        code.number();
        code.arrive(&home_of, places);
        for block in &function.blocks {
            let mut steps = Vec::with_capacity(block.operations.len());
            for operation in &block.operations {
                code.around(operation, &home_of, &mut steps);
            }
            code.blocks.push(Block {
                steps: steps.into(),
                weight: block.weight,
                cycles: block.cycles.clone(),
            });
        }
        code
    }

    /// Moves of arguments from where they arrive.
    fn arrive(&mut self, home_of: &FxHashMap<Virtual, Home>, places: &[Place<T::Register>]) {
        let loc = Loc::NONE;
        let mut steps = Vec::new();
        for (param, from) in self.function.arriving() {
            let Some(from) = from else { continue };
            match places[param.0 as usize] {
                Place::Register(to) if to != from => steps.push(Step::Copy { to, from, loc }),
                Place::Memory => steps.push(Step::Store {
                    from,
                    to: home_of[&param],
                    loc,
                }),
                _ => {}
            }
        }
        let first = self.function.blocks.first();
        self.blocks.push(Block {
            steps: steps.into(),
            weight: first.map_or(1.0, |block| block.weight),
            cycles: Vec::new(),
        });
    }

    /// An operation with the transfers around it.
    fn around(
        &self,
        operation: &Operation<T>,
        home_of: &FxHashMap<Virtual, Home>,
        out: &mut Vec<Step<T>>,
    ) {
        let mut given: Vec<(Virtual, T::Register)> = Vec::new();
        for register in operation.virtual_registers() {
            let known = given.iter().any(|(known, _)| *known == register);
            if known || !home_of.contains_key(&register) {
                continue;
            }
            let scratch = T::scratch(self.function.class(register)).iter().copied();
            let mut open = scratch.filter(|each| given.iter().all(|(_, it)| it != each));
            let chosen = open.next();
            debug_assert!(chosen.is_some(), "one for each operand of {operation:?}");
            given.extend(chosen.map(|chosen| (register, chosen)));
        }
        if given.is_empty() {
            out.push(Step::Operation(operation.clone()));
            return;
        }
        let loc = operation.loc;
        let reads: Vec<Virtual> = operation.reads().collect();
        let writes: Vec<Virtual> = operation.writes().collect();
        let keeps = !operation.is_certain();
        // Guards first: their loads use a register that another value has behind them.
        let guards = |register: T::Register| T::is_guard(T::class(register));
        given.sort_by_key(|&(_, register)| !guards(register));
        for &(value, to) in &given {
            if reads.contains(&value) || (writes.contains(&value) && keeps) {
                let from = home_of[&value];
                out.push(Step::Load { to, from, loc });
            }
        }
        let mut now = operation.clone();
        for operand in now.targets.iter_mut().chain(&mut now.sources) {
            if let Operand::Register(name) | Operand::Address(name) = operand
                && let Name::Virtual(value) = *name
                && let Some((_, register)) = given.iter().find(|(known, _)| *known == value)
            {
                *name = Name::Fixed(*register);
            }
        }
        if let Some(predicate) = now.predicate
            && let Some((_, register)) = given.iter().find(|(known, _)| *known == predicate)
        {
            now.predicate = self.guard(*register);
        }
        out.push(Step::Operation(now));
        // Guards last: their stores use a register of another value, too.
        given.sort_by_key(|&(_, register)| guards(register));
        for &(value, from) in &given {
            if writes.contains(&value) {
                let to = home_of[&value];
                out.push(Step::Store { from, to, loc });
            }
        }
    }

    /// Leaves the transfers of some values as they are.
    pub(crate) fn keep(&mut self, values: &BTreeSet<Virtual>) {
        self.staying = values.iter().copied().collect();
    }

    /// Returns true if the transfers of a home are to stay.
    pub(super) fn stays(&self, home: Home) -> bool {
        let value = self.homes[home.0 as usize];
        self.staying.binary_search(&value).is_ok()
    }

    /// The spilled values that some block of the function moves from memory or to it.
    pub(crate) fn moved(&self, block: usize) -> impl Iterator<Item = Virtual> + '_ {
        // The arrivals stand in front of the first one.
        let first = if block == 0 { 0 } else { block + 1 };
        let blocks = &self.blocks[first..block + 2];
        let steps = blocks.iter().flat_map(|block| block.steps.iter());
        let homes = steps.filter_map(|step| match step {
            Step::Load { from: home, .. } | Step::Store { to: home, .. } => Some(*home),
            _ => None,
        });
        homes.map(|home| self.homes[home.0 as usize])
    }

    /// The virtual register that stands for a register of a guard.
    pub(super) fn guard(&self, register: T::Register) -> Option<Virtual> {
        let found = self.guards.iter().find(|(it, _)| *it == register);
        found.map(|(_, stand_in)| *stand_in)
    }

    pub(crate) fn register(&self, name: Name<T>) -> T::Register {
        match name {
            Name::Virtual(register) => self.registers[register.0 as usize],
            Name::Fixed(register) => register,
        }
    }

    fn number(&mut self) {
        let blocks = self.function.blocks.iter();
        let operations = blocks.flat_map(|block| &block.operations);
        let mut read = operations
            .clone()
            .map(|operation| T::hidden(operation).reads);
        self.hidden = read.any(|reads| reads);
        let operands = operations.flat_map(|it| it.targets.iter().chain(&it.sources));
        let named = operands.filter_map(|operand| match operand.name() {
            Some(Name::Fixed(register)) => Some(register),
            _ => None,
        });
        let arriving = self.function.arriving().filter_map(|(_, from)| from);
        let classes: BTreeSet<T::Class> = self.function.registers.iter().copied().collect();
        let scratch = classes.into_iter().flat_map(T::scratch).copied();
        let given = self.registers.iter().copied().chain(scratch);
        for register in named.chain(arriving).chain(given) {
            self.numbered[T::index(register)] = Some(register);
        }
    }

    /// The register at a location.
    pub(super) fn numbered(&self, location: Location) -> Option<T::Register> {
        self.numbered[location.index()]
    }

    /// The operations that are no transfers.
    pub(super) fn operations_alone(&self) -> impl Iterator<Item = &Operation<T>> {
        let steps = self.blocks.iter().flat_map(|block| &block.steps);
        steps.filter_map(|step| match step {
            Step::Operation(operation) => Some(operation),
            _ => None,
        })
    }

    /// The class of the value in a home.
    pub(crate) fn class(&self, home: Home) -> T::Class {
        self.function.class(self.homes[home.0 as usize])
    }

    pub(crate) fn locations(&self) -> usize {
        T::REGISTERS + self.homes.len()
    }

    /// The operations of a step. Homes are at these offsets of the frame.
    pub(crate) fn operations(
        &self,
        step: &Step<T>,
        offset: &dyn Fn(Home) -> u32,
    ) -> Vec<Operation<T>> {
        let slot = |home| SpillSlot {
            offset: offset(home),
            marked: T::marks(self.function),
        };
        let (made, loc) = match step {
            Step::Operation(operation) => return vec![operation.clone()],
            Step::Load { to, from, loc } => (T::reload(*to, slot(*from)), *loc),
            Step::Store { from, to, loc } => (T::spill(*from, slot(*to), self.guard(*from)), *loc),
            Step::Copy { to, from, loc } => {
                let made = T::transfer(*to, *from, self.guard(*from));
                debug_assert!(made.is_some(), "{to} takes what {from} holds");
                (made.unwrap_or_default(), *loc)
            }
        };
        made.into_iter()
            .map(|operation| Operation { loc, ..operation })
            .collect()
    }

    /// The reads and writes of a step of a block. Calls and returns read what the block has put into registers by name.
    pub(crate) fn touched<'s>(&self, steps: &'s Steps<T>, at: usize) -> &'s Touched {
        let own = steps.known(at, || self.by_itself(&steps[at]));
        if let Step::Operation(operation) = &steps[at]
            && let Some(branch @ (Branch::Call | Branch::Return)) = operation.branch()
        {
            return steps.passing(at, || {
                let mut out = own.clone();
                self.passed(&steps[..at], operation, branch, &mut out);
                out
            });
        }
        own
    }

    /// The same, without what is passed to others.
    fn by_itself(&self, step: &Step<T>) -> Touched {
        let mut out = Touched::default();
        match step {
            Step::Operation(operation) => self.operation(operation, &mut out),
            Step::Load { to, from, .. } => {
                out.reads.push(Location::home::<T>(*from));
                self.expansion(step, Location::register::<T>(*to), &mut out);
            }
            Step::Store { from, to, .. } => {
                out.reads.push(Location::register::<T>(*from));
                self.expansion(step, Location::home::<T>(*to), &mut out);
            }
            Step::Copy { to, from, .. } => {
                out.reads.push(Location::register::<T>(*from));
                self.expansion(step, Location::register::<T>(*to), &mut out);
            }
        }
        out
    }

    /// The writes of a transfer's operations, those of scratch registers, too.
    fn expansion(&self, step: &Step<T>, to: Location, out: &mut Touched) {
        out.kills.push(to);
        for operation in self.operations(step, &|_| 0) {
            for written in T::definitions(&operation, &|register| {
                self.register(Name::Virtual(register))
            }) {
                for register in T::overlapping(written.register) {
                    let location = Location::register::<T>(register);
                    if !out.kills.contains(&location) {
                        out.kills.push(location);
                    }
                }
            }
        }
    }

    fn operation(&self, operation: &Operation<T>, out: &mut Touched) {
        let accumulates = T::accumulates(operation.mnemonic);
        let read = |operand: &&Operand<T>| accumulates || matches!(operand, Operand::Address(_));
        let targets = operation.targets.iter().filter(read);
        let names = operation.sources.iter().chain(targets);
        let names = names.filter_map(Operand::name);
        for name in names.chain(operation.predicate.map(Name::Virtual)) {
            for register in T::overlapping(self.register(name)) {
                out.reads.push(Location::register::<T>(register));
            }
        }
        // What is accumulated into is read besides, and holds another value behind it.
        let certain = operation.is_certain() || (accumulates && operation.predicate.is_none());
        for written in T::definitions(operation, &|it| self.register(Name::Virtual(it))) {
            let whole = certain && !written.keeps;
            for register in T::overlapping(written.register) {
                let location = Location::register::<T>(register);
                match whole && register == written.register {
                    true => out.kills.push(location),
                    false => out.changes.push(location),
                }
            }
        }
    }

    /// The registers in which arguments and results are passed, and those that a call may change.
    fn passed(
        &self,
        in_front: &[Step<T>],
        operation: &Operation<T>,
        branch: Branch,
        out: &mut Touched,
    ) {
        for step in in_front.iter().rev() {
            let passed = |register: T::Register| {
                T::passes(register).then(|| Location::register::<T>(register))
            };
            match step {
                Step::Operation(earlier) if earlier.branch() == Some(Branch::Call) => break,
                Step::Operation(earlier) => {
                    let written = T::definitions(earlier, &|it| self.register(Name::Virtual(it)));
                    let registers = written.iter().map(|it| it.register);
                    out.reads.extend(registers.filter_map(passed));
                }
                Step::Load { to, .. } | Step::Copy { to, .. } => out.reads.extend(passed(*to)),
                Step::Store { .. } => {}
            }
        }
        let kept = T::implied().into_iter().chain(T::preserved());
        out.reads
            .extend(kept.map(|register| Location::register::<T>(register)));
        if branch == Branch::Call {
            let outputs: Vec<T::Register> = self
                .function
                .outputs
                .iter()
                .map(|&output| self.registers[output.0 as usize])
                .collect();
            let needed = T::needed_by_calls();
            let passed = outputs.iter().chain(&needed);
            out.reads
                .extend(passed.map(|&register| Location::register::<T>(register)));
            for register in T::clobbered(self.function, &outputs) {
                // A call without a guard leaves nothing in them; a value is read there only behind what returns it.
                let location = Location::register::<T>(register);
                match operation.predicate {
                    None => out.kills.push(location),
                    Some(_) => out.changes.push(location),
                }
            }
        }
    }

    /// Blocks to which control may go from a block.
    pub(crate) fn successors(&self, block: usize) -> Vec<usize> {
        match block.checked_sub(1) {
            None if self.function.blocks.is_empty() => Vec::new(),
            None => vec![1],
            Some(own) => {
                let all = self.function.successors(own as u32).into_iter();
                all.map(|to| to as usize + 1).collect()
            }
        }
    }

    /// The blocks to which an operation branches.
    pub(crate) fn targets(operation: &Operation<T>) -> impl Iterator<Item = usize> + '_ {
        operation.branches_to().map(|target| target as usize + 1)
    }

    /// Ranges of steps that happen at once: those of a cycle where cycles are decided, else each alone.
    pub(crate) fn groups(block: &Block<T>) -> Vec<std::ops::Range<usize>> {
        let count = block.steps.len();
        if block.cycles.len() != count {
            return (0..count).map(|at| at..at + 1).collect();
        }
        let mut out = Vec::new();
        let mut first = 0;
        for at in 1..=count {
            if at == count || block.cycles[at] != block.cycles[first] {
                out.push(first..at);
                first = at;
            }
        }
        out
    }
}

impl<T: Target> ir::liveness::Code for Code<'_, T> {
    type Name = Location;
    fn blocks(&self) -> usize {
        self.blocks.len()
    }
    fn names(&self) -> usize {
        self.locations()
    }
    fn successors(&self, block: usize, next: &mut dyn FnMut(usize)) {
        Code::successors(self, block).into_iter().for_each(next);
    }
    fn cross(&self, block: usize, live: &mut EntitySet<Location>, starts: &[EntitySet<Location>]) {
        self.walk(block, live, starts, &mut |_, _| {});
    }
}

impl<T: Target> Code<'_, T> {
    /// Goes from the end of a block to its start; `each` gets what is live behind each group of steps.
    pub(crate) fn walk(
        &self,
        block: usize,
        live: &mut EntitySet<Location>,
        starts: &[EntitySet<Location>],
        each: &mut dyn FnMut(std::ops::Range<usize>, &EntitySet<Location>),
    ) {
        let at = &self.blocks[block];
        for group in Code::groups(at).into_iter().rev() {
            // What a branch leads to is live behind its group, too.
            for step in &at.steps[group.clone()] {
                if let Step::Operation(operation) = step {
                    for target in Code::targets(operation) {
                        live.union_with(&starts[target]);
                    }
                }
            }
            each(group.clone(), live);
            let touched: SmallVec<[&Touched; 1]> = group
                .map(|number| self.touched(&at.steps, number))
                .collect();
            for location in touched.iter().flat_map(|it| &it.kills) {
                live.remove(location);
            }
            for &location in touched.iter().flat_map(|it| &it.reads) {
                live.insert(location);
            }
        }
    }
}
