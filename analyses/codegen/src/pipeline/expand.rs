//! Software pipelining with modulo variable expansion, for processors whose registers do not rotate: the kernel is as many
//! iterations long as the longest-lived value needs names.
//!
//! ```text
//! b: x = load [a], 4          n < 4: b as it is
//!    y = x * x                {x0} {} {} {x1 y0} ..      prologue: 3 iterations begin
//!    store [c] = y, 4         {x0 y1 [c]=y0} {x1 y0 [c]=y1}   kernel: two names of x and y
//!    loop n b                 {[c]=y1}                   epilogue; then what is left of n by b
//! ```
//!
//! A value that one operation writes for certain, and that has a register of a class with more than one, gets a name of its
//! own in each of K iterations, where K initiation intervals are no shorter than its life; the kernel holds U iterations, U
//! a power of two that all K divide. All other registers that the loop writes stay where they are, ordered by their reads
//! and writes. In front of the loop its trip count is divided: too few iterations, and those that are left behind, execute
//! in the loop as it was. Ends: the scheduler tries a bounded number of intervals.
//!
//! Loops of one block that the hardware counts, nothing else. Refused where the registers or the scheduler's limits do not
//! suffice.
//!
//! Source: Lam, *Software Pipelining: An Effective Scheduling Technique for VLIW Machines*, PLDI 1988, section 2.3; Rau,
//! Schlansker and Tirumalai, *Code Generation Schema for Modulo Scheduled Loops*, 1992.

mod beyond;
pub mod check;
pub mod demand;

use super::graph::{Edge, Graph, Operation as Placed, Resource, Schedule};
use super::lifetime::{Value, aligned, shorten};
use super::{Limits, schedule};
use crate::mir::dependence::{DependenceKind, Locations, apart, dependences, reads, writes};
use crate::mir::liveness::Liveness;
use crate::mir::places::Places;
use crate::mir::{Arithmetic, Block, Counted, Function, Name, Operand, Operation, Rounds, Virtual};
use beyond::Begun;
use isa::Branch;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

/// The most iterations that a kernel holds.
const LARGEST: u32 = 8;

/// The numbers of a pipelined loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expanded {
    /// Initiation interval in cycles.
    pub ii: u32,
    /// Iterations that are under way at once.
    pub stages: u32,
    /// Iterations that the kernel holds.
    pub copies: u32,
    /// The block that was the loop, and now executes the remaining iterations. `None`: there are none, and it is empty.
    pub rest: Option<u32>,
    /// Cycles of an iteration from its first operation to its last.
    pub length: u32,
    /// The kernel.
    pub kernel: u32,
    /// The stage of each operation of the kernel, its branch left out.
    pub kernel_stages: Vec<u32>,
    /// The bytes behind the end of an object that are read, at most: the source permits it.
    pub beyond: u32,
}

/// The reason why a loop is not pipelined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unexpandable {
    #[error("the block is not a loop that the hardware counts")]
    NotCounted,
    #[error("the loop's counter is not set from a register in front of it")]
    NoCount,
    #[error("one iteration is all that can be under way")]
    OneStage,
    #[error("no schedule of an interval up to {0} was found")]
    NotScheduled(u32),
    #[error("a value needs names in more than {LARGEST} iterations")]
    TooManyNames { interval: u32 },
    #[error("operations of one cycle exchange registers")]
    Exchange { interval: u32 },
}

/// The body of a loop, its schedule, and the names of its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan<T: Counted> {
    /// The loop, with the code in front of it as it was.
    pub block: u32,
    /// The body without the branch back.
    pub body: Vec<Operation<T>>,
    pub back: Operation<T>,
    pub(crate) places: Places,
    /// The schedule of the body, with the branch behind it.
    pub schedule: Schedule,
    /// The values that have names, ascending.
    pub(crate) values: Vec<(Virtual, Value)>,
    /// Those that are there when the loop begins and when it ends.
    pub(crate) through: Vec<Virtual>,
    /// Keyed by value that has names: how many. Each divides `copies`.
    pub names: FxHashMap<Virtual, u32>,
    pub copies: u32,
    /// Iterations that are begun behind the last one, and the bytes that they read behind the end of an object.
    pub begun: u32,
    pub beyond: u32,
    /// No iterations are left for the loop as it was.
    pub whole: bool,
    /// There are iterations enough for one pass through the kernel.
    pub suffices: bool,
    /// The values that the code behind the loop reads.
    pub leaves: FxHashSet<Virtual>,
}

impl<T: Counted> Plan<T> {
    /// The iterations of the loop that do not begin in the kernel.
    pub fn ahead(&self) -> u32 {
        self.schedule.stages() - 1 - self.begun
    }
    /// The passes through the kernel and the iterations of what is left of the loop, of so many iterations: estimates, of which
    /// none is 0.
    #[must_use]
    pub fn executed(&self, rounds: f64) -> (f64, f64) {
        let ahead = f64::from(self.ahead());
        let copies = f64::from(self.copies);
        // Numbers of iterations leave each rest of a division by the copies alike.
        let rest = match self.whole {
            true => 0.0,
            false => (copies - 1.0) / 2.0,
        };
        let (passes, rest) = match rounds >= ahead + copies {
            true => (((rounds - ahead - rest) / copies).max(1.0), rest),
            false if self.suffices => (1.0, rest),
            false => (0.0, rounds),
        };
        (passes.max(RARELY), rest.max(RARELY))
    }
}

/// Returns true if the rounds of a loop, whatever they are, suffice for one pass through the kernel.
fn suffices(rounds: Rounds, ahead: u32, copies: u32) -> bool {
    rounds.least >= u64::from(ahead) + u64::from(copies)
}

/// Returns true if they come to whole passes besides.
fn fills(rounds: Rounds, ahead: u32, copies: u32) -> bool {
    let known = rounds.least == rounds.most;
    let passes = match known {
        true => rounds.least.wrapping_sub(ahead.into()) % u64::from(copies) == 0,
        false => {
            let multiple = rounds.multiple.is_multiple_of(u64::from(copies));
            copies == 1 || multiple && ahead.is_multiple_of(copies)
        }
    };
    passes && suffices(rounds, ahead, copies)
}

fn registers<T: Counted>(name: Name<T>) -> Option<Virtual> {
    match name {
        Name::Virtual(register) => Some(register),
        Name::Fixed(_) => None,
    }
}

/// Virtual registers that may have a name of their own in each iteration: one operation of the body writes them, for certain and
/// without a read of its own, or the first that names them does.
fn renameable<T: Counted>(function: &Function<T>, body: &[Operation<T>]) -> FxHashSet<Virtual> {
    let mut written: FxHashMap<Virtual, u32> = FxHashMap::default();
    let mut fixed: FxHashSet<Virtual> = FxHashSet::default();
    // What an iteration writes before anything reads it may be written again.
    let mut begun: FxHashSet<Virtual> = FxHashSet::default();
    let mut named: FxHashSet<Virtual> = FxHashSet::default();
    for operation in body {
        let reads: SmallVec<[Virtual; 6]> =
            reads(operation).into_iter().filter_map(registers).collect();
        named.extend(&reads);
        for each in writes(operation).into_iter().filter_map(registers) {
            *written.entry(each).or_default() += 1;
            // An operand that is read and written has one name.
            let both = T::accumulates(operation.mnemonic)
                || operation.stepped() == Some(Name::Virtual(each));
            if both || !operation.is_certain() || T::is_single(function.class(each)) {
                fixed.insert(each);
            } else if !named.contains(&each) {
                begun.insert(each);
            }
            named.insert(each);
        }
    }
    let free = written.into_iter().filter(|(it, count)| {
        let single = T::is_single(function.class(*it));
        begun.contains(it) && !single || *count == 1 && !fixed.contains(it)
    });
    free.map(|(it, _)| it).collect()
}

/// A loop of one block that may be pipelined: all that does not depend on its interval.
#[derive(Debug)]
pub struct Candidate<'f, T: Counted> {
    function: &'f Function<T>,
    block: u32,
    body: &'f [Operation<T>],
    back: &'f Operation<T>,
    places: Places,
    graph: Graph<T::Packer>,
    values: Vec<(Virtual, Value)>,
    through: Vec<Virtual>,
    leaves: FxHashSet<Virtual>,
}

impl<'f, T: Counted> Candidate<'f, T> {
    /// # Errors
    /// The loop has another form.
    pub fn of(
        function: &'f Function<T>,
        block: u32,
        processor: &T::Processor,
    ) -> Result<Candidate<'f, T>, Unexpandable> {
        let operations = &function.blocks[block as usize].operations;
        let Some((back, body)) = operations.split_last() else {
            return Err(Unexpandable::NotCounted);
        };
        let is_loop = back.branch() == Some(Branch::Counted)
            && back.predicate.is_none()
            && back.sources.contains(&Operand::Block(block))
            && body.iter().all(|it| it.branch().is_none());
        if !is_loop {
            return Err(Unexpandable::NotCounted);
        }
        let renamed = renameable(function, body);
        let places = Places::of(function, block, body);
        let graph = graph_of(function, block, &places, &renamed, processor).0;
        let live = Liveness::of(function);
        let at_end = live.at_end(block);
        let behind = function.successors(block).into_iter();
        let behind = behind.filter(|to| *to != block);
        Ok(Candidate {
            values: values(body, &renamed, |it| at_end.contains(&it)),
            through: live
                .at_start(block)
                .iter()
                .filter(|it| at_end.contains(it))
                .collect(),
            leaves: behind
                .flat_map(|to| live.at_start(to).iter().collect::<Vec<_>>())
                .collect(),
            function,
            block,
            body,
            back,
            places,
            graph,
        })
    }

    /// Schedules the loop.
    ///
    /// # Errors
    /// There is no schedule that overlaps its iterations.
    pub fn plan(&self, limits: &Limits) -> Result<Plan<T>, Unexpandable> {
        let branch = self.body.len() as u32;
        let found = schedule(&self.graph, limits).map_err(|failure| match failure {
            super::Failure::Impossible(_) => Unexpandable::NotScheduled(0),
            super::Failure::Limits { tried, .. } => Unexpandable::NotScheduled(tried),
        })?;
        let of: Vec<Value> = self.values.iter().map(|(_, value)| value.clone()).collect();
        let found = shorten(&self.graph, &aligned(&found, branch), &of, branch);
        if found.stages() < 2 {
            return Err(Unexpandable::OneStage);
        }
        let mut names: FxHashMap<Virtual, u32> = FxHashMap::default();
        let mut copies = 1;
        for (register, value) in &self.values {
            let start = |it: u32| found.start[it as usize];
            let writes = || value.writers.iter().map(|&writer| start(writer));
            let written = writes().min().unwrap_or(0);
            // The next write of the name stands behind the last one of this.
            let last = writes().max().filter(|_| value.writers.len() > 1);
            let read = value
                .readers
                .iter()
                .map(|&(it, later)| start(it) + later * found.ii);
            let read = read.chain(last.map(|last| last + 1)).max();
            let life = read.unwrap_or(written).saturating_sub(written);
            // A read in the cycle of the next write finds what was there before it.
            let wanted = life.div_ceil(found.ii).max(1).next_power_of_two();
            names.insert(*register, wanted);
            copies = copies.max(wanted);
        }
        if copies > LARGEST {
            return Err(Unexpandable::TooManyNames { interval: found.ii });
        }
        // Control comes to the loop if it has an iteration.
        let rounds = self.function.blocks[self.block as usize].rounds;
        let rounds = rounds.unwrap_or(Rounds::ANY);
        let ahead = found.stages() - 1;
        let begun = match fills(rounds, ahead, copies) {
            true => Begun::default(),
            false => {
                let own = beyond::Loop {
                    function: self.function,
                    body: self.body,
                    schedule: &found,
                    places: &self.places,
                    leaves: &self.leaves,
                };
                let begun = own.begun(|begun| fills(rounds, ahead - begun, copies));
                begun.unwrap_or_default()
            }
        };
        let ahead = ahead - begun.iterations;
        Ok(Plan {
            block: self.block,
            begun: begun.iterations,
            beyond: begun.bytes,
            suffices: suffices(rounds, ahead, copies),
            whole: fills(rounds, ahead, copies),
            leaves: self.leaves.clone(),
            places: self.places.clone(),
            body: self.body.to_vec(),
            back: self.back.clone(),
            values: self.values.clone(),
            through: self.through.clone(),
            schedule: found,
            names,
            copies,
        })
    }
}

/// The dependence graph of a loop of one block, with the branch behind its body, and the kind of each of its edges.
pub fn loop_graph<T: Counted>(
    function: &Function<T>,
    block: u32,
    processor: &T::Processor,
) -> (Graph<T::Packer>, Vec<DependenceKind>) {
    let operations = &function.blocks[block as usize].operations;
    let body = &operations[..operations.len().saturating_sub(1)];
    let places = Places::of(function, block, body);
    graph_of(
        function,
        block,
        &places,
        &renameable(function, body),
        processor,
    )
}

fn graph_of<T: Counted>(
    function: &Function<T>,
    block: u32,
    places: &Places,
    renamed: &FxHashSet<Virtual>,
    processor: &T::Processor,
) -> (Graph<T::Packer>, Vec<DependenceKind>) {
    let operations = &function.blocks[block as usize].operations;
    let body = &operations[..operations.len().saturating_sub(1)];
    let virtuals = function.registers.len() as u32;
    let locate = |name: Name<T>| -> Locations {
        match name {
            // A class of one register is one location.
            Name::Virtual(register) if T::is_single(function.class(register)) => {
                smallvec![virtuals + T::UNITS as u32]
            }
            Name::Virtual(register) => smallvec![register.0],
            Name::Fixed(register) => T::units(register)
                .map(|unit| virtuals + unit as u32)
                .collect(),
        }
    };
    let renames = |location: u32| renamed.contains(&Virtual(location));
    let found = dependences(body, processor, &locate, true, &renames, Some(places));
    let edges = found.iter().map(|edge| Edge {
        from: edge.from,
        to: edge.to,
        latency: edge.latency as i32,
        distance: edge.distance,
    });
    let graph = Graph {
        operations: vec![Placed { resource: 0 }; operations.len()],
        edges: edges.collect(),
        resources: vec![Resource {
            name: String::new(),
            units: None,
        }],
        packing: Some(T::packer_of_iterations(
            processor,
            operations,
            &|register| renamed.contains(&register),
        )),
    };
    (graph, found.iter().map(|edge| edge.kind).collect())
}

/// The values that have names, ascending.
fn values<T: Counted>(
    body: &[Operation<T>],
    renamed: &FxHashSet<Virtual>,
    leaves: impl Fn(Virtual) -> bool,
) -> Vec<(Virtual, Value)> {
    let mut order: Vec<Virtual> = renamed.iter().copied().collect();
    order.sort_unstable();
    let mut out: Vec<(Virtual, Value)> = Vec::new();
    for register in order {
        let is = |name: &Name<T>| *name == Name::Virtual(register);
        let writers = (0u32..).zip(body);
        let writers = writers.filter(|(_, it)| writes(it).iter().any(is));
        let writers: Vec<u32> = writers.map(|(at, _)| at).collect();
        let Some(&writer) = writers.first() else {
            continue;
        };
        let readers = (0..).zip(body);
        let readers = readers.filter(|(_, it)| reads(it).iter().any(is));
        // A read in front of the first write, or by the writing operation itself, sees the iteration before.
        let readers = readers.map(|(at, _)| (at, u32::from(at <= writer)));
        let readers: Vec<(u32, u32)> = readers.collect();
        let initial = readers.iter().any(|&(_, later)| later > 0);
        let value = Value {
            writers,
            readers,
            after: leaves(register).then_some(0),
            initial,
        };
        out.push((register, value));
    }
    out
}

/// The executions that are counted of what rarely executes, in each of the code around it.
const RARELY: f64 = 0.125;

/// Pipelines a planned loop in its function. Blocks behind it get other numbers.
///
/// # Errors
/// The function stays as it was where it is refused.
pub fn expand<T: Counted + Arithmetic>(
    function: &mut Function<T>,
    plan: &Plan<T>,
) -> Result<Expanded, Unexpandable> {
    let block = plan.block;
    let before: Vec<u32> = (0..function.blocks.len() as u32)
        .filter(|&it| it != block && function.successors(it).contains(&block))
        .collect();
    let &[entry] = &before[..] else {
        return Err(Unexpandable::NoCount);
    };
    let ahead = &function.blocks[entry as usize].operations;
    let set = ahead.iter().rposition(|it| T::counter(it).is_some());
    let set = set.ok_or(Unexpandable::NoCount)?;
    let count = T::counter(&ahead[set]).ok_or(Unexpandable::NoCount)?;
    if ahead[set..]
        .iter()
        .any(|it| it.writes().any(|write| write == count))
    {
        return Err(Unexpandable::NoCount);
    }
    let whole = plan.whole;
    let expanded = pieces(function, plan, count)?;
    debug_assert_eq!(
        check::check(function, plan, &expanded),
        Ok(()),
        "{}: {:?} {:?}",
        function.name,
        plan.schedule,
        plan.names
    );
    let Pieces {
        mut guard,
        mut prologue,
        mut kernel,
        mut epilogue,
        stages,
        ..
    } = expanded;
    let once = function.blocks[entry as usize].weight;
    let all = function.blocks[block as usize].weight;
    let rounds = if once > 0.0 { all / once } else { 0.0 };
    let (passes, rest) = plan.executed(rounds);
    for piece in [&mut guard, &mut prologue, &mut epilogue] {
        piece.weight = once;
    }
    kernel.weight = once * passes;
    function.blocks[block as usize].weight = once * rest;
    for (at, each) in function.blocks.iter_mut().enumerate() {
        let own = at as u32 == block;
        for operand in each
            .operations
            .iter_mut()
            .flat_map(|operation| &mut operation.sources)
        {
            if let Operand::Block(to) = operand
                && (*to > block || (*to == block && own))
            {
                *to += INSERTED;
            }
        }
    }
    let at = block as usize;
    if whole {
        // Nothing is left that the kernel does not do.
        function.blocks[entry as usize].operations.remove(set);
        function.blocks[at].operations.clear();
        function.blocks[at].rounds = None;
    }
    function
        .blocks
        .splice(at..at, [guard, prologue, kernel, epilogue]);
    Ok(Expanded {
        ii: plan.schedule.ii,
        stages: plan.schedule.stages(),
        copies: plan.copies,
        rest: (!whole).then_some(block + INSERTED),
        length: plan.schedule.start.iter().max().map_or(0, |last| last + 1),
        kernel: block + 2,
        kernel_stages: stages,
        beyond: plan.beyond,
    })
}

/// The code of a planned loop, whose trip count is in a register. Its names are new registers of the function.
///
/// # Errors
/// Operations of one cycle exchange registers.
pub fn pieces<T: Counted + Arithmetic>(
    function: &mut Function<T>,
    plan: &Plan<T>,
    count: Virtual,
) -> Result<Pieces<T>, Unexpandable> {
    let before = function.registers.len();
    let made = Expander::new(function, plan).blocks(count);
    if made.is_err() {
        function.registers.truncate(before);
    }
    made
}

/// Blocks that are put in front of the loop.
pub(crate) const INSERTED: u32 = 4;

/// An operation of an iteration in a cycle of a block.
struct Row<T: Counted> {
    cycle: u32,
    stage: u32,
    /// Its place in the body.
    number: u32,
    iteration: i64,
    operation: Operation<T>,
}

/// The code of a pipelined loop, in layout order; targets of its branches are numbers of blocks once all are in place.
#[derive(Clone, PartialEq, Debug)]
pub struct Pieces<T: Counted> {
    pub guard: Block<T>,
    pub prologue: Block<T>,
    pub kernel: Block<T>,
    pub epilogue: Block<T>,
    /// The number of operations of the epilogue that end iterations; those behind them hand values over.
    pub finished: usize,
    /// The stage of each operation of the kernel, its branch left out.
    pub stages: Vec<u32>,
    /// Keyed by value and number: its names.
    pub names: FxHashMap<(Virtual, u32), Virtual>,
}

struct Expander<'a, T: Counted> {
    function: &'a mut Function<T>,
    plan: &'a Plan<T>,
    names: FxHashMap<(Virtual, u32), Virtual>,
}

impl<'a, T: Counted + Arithmetic> Expander<'a, T> {
    fn new(function: &'a mut Function<T>, plan: &'a Plan<T>) -> Expander<'a, T> {
        let mut names = FxHashMap::default();
        for (value, _) in &plan.values {
            for number in 0..plan.names[value] {
                let name = function.register_like(*value);
                names.insert((*value, number), name);
            }
        }
        Expander {
            function,
            plan,
            names,
        }
    }

    /// The name of a value of an iteration; iterations are counted from any multiple of the kernel's.
    fn name(&self, value: Virtual, iteration: i64) -> Virtual {
        match self.plan.names.get(&value) {
            Some(&count) => {
                let number = iteration.rem_euclid(count.into()) as u32;
                self.names.get(&(value, number)).copied().unwrap_or(value)
            }
            None => value,
        }
    }

    /// An operation of the body as an iteration executes it.
    fn instance(&self, number: usize, iteration: i64) -> Operation<T> {
        let mut operation = self.plan.body[number].clone();
        let writer = |value: Virtual| {
            let mut all = self.plan.body.iter();
            all.position(|it| writes(it).contains(&Name::Virtual(value)))
        };
        // Its operands were written in front of it in this iteration, or in the one before.
        let read = |value: Virtual| match writer(value) {
            Some(at) if at >= number => self.name(value, iteration - 1),
            _ => self.name(value, iteration),
        };
        if let Some(guard) = &mut operation.predicate {
            *guard = read(*guard);
        }
        for operand in &mut operation.targets {
            match operand {
                Operand::Register(Name::Virtual(register)) => {
                    *register = self.name(*register, iteration)
                }
                Operand::Address(Name::Virtual(register)) => *register = read(*register),
                _ => {}
            }
        }
        for operand in &mut operation.sources {
            if let Operand::Register(Name::Virtual(register))
            | Operand::Address(Name::Virtual(register)) = operand
            {
                *register = read(*register);
            }
        }
        operation
    }

    /// A block of operations by cycle, each with its stage; those of one cycle stand so that each read is in front of the
    /// write. Returns the stages in that order.
    fn block_of(&self, mut rows: Vec<Row<T>>) -> Result<(Block<T>, Vec<u32>), Unexpandable> {
        rows.sort_by_key(|row| row.cycle);
        let single = |name: Name<T>| match name {
            Name::Virtual(register) if T::is_single(self.function.class(register)) => None,
            name => Some(name),
        };
        let mut out = Block::default();
        let mut stages = Vec::new();
        while let Some(&Row { cycle, .. }) = rows.first() {
            let end = rows.partition_point(|row| row.cycle == cycle);
            let mut row: Vec<Row<T>> = rows.drain(..end).collect();
            while !row.is_empty() {
                let first = (0..row.len()).find(|&at| {
                    let own = &row[at];
                    let written = writes(&own.operation);
                    let others = || (0..row.len()).filter(|&other| other != at);
                    let mut read = others().flat_map(|other| reads(&row[other].operation));
                    let meets_load = |other: usize| {
                        let other = &row[other];
                        let later = other.iteration - own.iteration;
                        T::loads(&other.operation)
                            && !apart(&own.operation, &other.operation)
                            && self.plan.places.may_meet(own.number, other.number, later)
                    };
                    let writes_memory = T::stores(&own.operation) && others().any(meets_load);
                    !writes_memory
                        && !read.any(|name| {
                            let meets = |&it: &Name<T>| single(it) == single(name);
                            written.iter().any(meets)
                        })
                });
                let first = first.ok_or(Unexpandable::Exchange {
                    interval: self.plan.schedule.ii,
                })?;
                let Row {
                    stage, operation, ..
                } = row.remove(first);
                out.operations.push(operation);
                out.cycles.push(cycle);
                stages.push(stage);
            }
        }
        Ok((out, stages))
    }

    fn blocks(self, count: Virtual) -> Result<Pieces<T>, Unexpandable> {
        let plan = self.plan;
        let (ii, stages) = (plan.schedule.ii, plan.schedule.stages());
        let ahead = i64::from(stages) - 1;
        let copies = i64::from(plan.copies);
        let start = |number: usize| i64::from(plan.schedule.start[number]);
        let interval = i64::from(ii);
        let numbers = 0..plan.body.len();
        // In front of the loop: the test whether the iterations suffice for one pass through the kernel, and
        // the number of passes.
        let [few, left, rest, passes] = [T::GUARD, T::GENERAL, T::GENERAL, T::GENERAL]
            .map(|class| self.function.register(class));
        let whole = plan.whole;
        let apart = i64::from(plan.ahead());
        let mut test = Vec::new();
        if !plan.suffices {
            let (compare, holds) = T::is_less(few, count, apart + copies);
            test.push(compare);
            test.push(T::jump(plan.block + INSERTED, Some((few, holds))));
        }
        let left = match apart {
            0 => count,
            _ => {
                test.push(T::add_number(left, count, -apart));
                left
            }
        };
        if !whole {
            test.push(T::and_number(rest, left, copies - 1));
        }
        if copies == 1 {
            test.push(T::set_counter(left));
        } else {
            test.push(T::shift_right(passes, left, plan.copies.trailing_zeros()));
            test.push(T::set_counter(passes));
        }
        let mut guard = Block {
            operations: test,
            ..Block::default()
        };
        // What the first iteration finds.
        for &(value, _) in plan.values.iter().filter(|(_, value)| value.initial) {
            let class = self.function.class(value);
            guard
                .operations
                .push(T::assign(class, self.name(value, -1), value));
        }
        let row = |cycle: i64, stage: i64, number: usize, iteration: i64| Row {
            cycle: cycle as u32,
            stage: stage as u32,
            number: number as u32,
            iteration,
            operation: self.instance(number, iteration),
        };
        let mut begun: Vec<Row<T>> = Vec::new();
        for iteration in 0..ahead {
            for number in numbers.clone() {
                let at = iteration * interval + start(number);
                if at < ahead * interval {
                    begun.push(row(at, 0, number, iteration));
                }
            }
        }
        let mut around: Vec<Row<T>> = Vec::new();
        for copy in 0..copies {
            for number in numbers.clone() {
                let stage = start(number) / interval;
                let at = copy * interval + start(number) % interval;
                around.push(row(at, stage, number, ahead + copy - stage));
            }
        }
        let mut ended: Vec<Row<T>> = Vec::new();
        // As many iterations have begun as in front of the kernel, by names. Those that are none end here.
        for iteration in 0..apart {
            for number in numbers.clone() {
                let at = iteration * interval + start(number) - ahead * interval;
                if at >= 0 {
                    ended.push(row(at, 0, number, iteration));
                }
            }
        }
        let (mut prologue, _) = self.block_of(begun)?;
        if whole {
            // What is in front of it may fill its cycles.
            prologue.cycles.clear();
        }
        let (mut kernel, stages_of) = self.block_of(around)?;
        kernel.operations.push(T::loop_back(plan.block + 2));
        kernel.cycles.push(plan.copies * ii - 1);
        let (epilogue, _) = self.block_of(ended)?;
        let mut behind = epilogue;
        // The epilogue is no part of the schedule any more where it hands over.
        behind.cycles.clear();
        let finished = behind.operations.len();
        // The loop as it was would read all of them.
        for &(value, _) in plan
            .values
            .iter()
            .filter(|value| !whole || plan.leaves.contains(&value.0))
        {
            let class = self.function.class(value);
            let last = self.name(value, apart - 1);
            behind.operations.push(T::assign(class, value, last));
        }
        if !whole {
            let none = self.function.register(T::GUARD);
            let (compare, holds) = T::is_less(none, rest, 1);
            behind.operations.extend([
                compare,
                T::jump(plan.block + INSERTED + 1, Some((none, holds))),
                T::set_counter(rest),
            ]);
        }
        Ok(Pieces {
            guard,
            prologue,
            kernel,
            epilogue: behind,
            finished,
            stages: stages_of,
            names: self.names,
        })
    }
}
