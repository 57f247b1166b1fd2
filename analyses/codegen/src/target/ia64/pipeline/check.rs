//! A checker of software-pipelined loops that shares no code with the pipeliner: the function with the kernel
//! has, from the loop's entry to its exit, the effects of the function with the loop.
//!
//! ```text
//! b1: ld4 x = [p], 4; st4 [q] = x, 4; br b1 while p != e      p = 800, e = 808: two rounds, x at 800 and at 804, stored
//! ->  (p16) ld4 r32 = [p], 4  (p17) st4 [q] = r33, 4  br.ctop  three rounds, with LC = 1 and EC = 2: the same
//! ```
//!
//! Both are interpreted on random numbers (`interpret`) from the function's entry: whenever control comes to
//! the loop, it is followed through the loop as it was and, from the same state, through the code in its
//! place, up to the same block behind it. The comparison covers that block, registers that may be read there,
//! memory with the order of volatile accesses, and that no access is one that the loop would not have done,
//! except speculative loads. Runs go on until all numbers of rounds up to the stages and some more were seen,
//! or `RUNS` or `OPERATIONS` are over. A group of the kernel must not have a dependence that the architecture
//! forbids (as it happens), nor ask for more slots and units than the machine has.
//!
//! Does not know latencies, which the processor waits for. A run in which the source's own promises are broken (accesses that
//! are not aligned, iterations that meet where it says that they don't) says nothing. See `Unchecked` for loops of which
//! nothing is said. Stops: runs and their operations are counted.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 1, sections 3.5 and 4.5; and see `interpret`.

mod compare;
mod layout;
mod units;

use crate::machine::epic::Epic;
use crate::predicate::loops::Region;
use crate::target::ia64::code::{Function, Virtual};
use crate::target::ia64::interpret::live::Live;
use crate::target::ia64::interpret::{
    Code, Decisions, End, Fault, Spaces, State, Style, Truth, mix, run,
};
use isa::ia64::Branch;
use isa::ia64::Type;
use layout::Layout;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A difference between a loop and its pipelined form. Blocks and operations are counted in the function with
/// the kernel, unless stated otherwise.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// A block outside of the loop has changed. Counted in the function as it was.
    #[error("block {block} stands outside of the loop and has changed")]
    Outside { block: u32 },
    #[error("cycle {cycle} of block {block} asks for more {} than there are", units_of(.unit))]
    Units {
        block: u32,
        cycle: u32,
        /// `None`: slots.
        unit: Option<Type>,
    },
    #[error("cycles of block {block} are not in order")]
    Cycles { block: u32 },
    #[error("block {block}, operation {operation}: {fault}")]
    Fault {
        block: u32,
        operation: u32,
        fault: Fault,
        run: Run,
    },
    /// `None`: it does not end. Blocks of the function as it was.
    #[error("{run}: control goes to {found:?} in the place of {expected:?}")]
    Exit {
        expected: Option<u32>,
        found: Option<u32>,
        run: Run,
    },
    #[error("{run}: v{} has another value behind the loop", .register.0)]
    Register { register: Virtual, run: Run },
    #[error("{run}: memory {memory} holds other bytes at {address:#x}")]
    Memory { memory: u8, address: u64, run: Run },
    #[error("{run}: volatile accesses are others, or in another order")]
    Volatile { run: Run },
    #[error("{run}: memory {memory} is accessed at {address:#x}, which the loop does not")]
    Access { memory: u8, address: u64, run: Run },
    #[error("{run}: an access is not aligned")]
    Unaligned { run: Run },
}

/// An execution of a loop: it can be repeated with its seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    pub seed: u64,
    /// The number of times that control came to the loop's start.
    pub rounds: u32,
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "run {}, {} rounds", self.seed, self.rounds)
    }
}

fn units_of(unit: &Option<Type>) -> String {
    unit.map_or("slots".to_owned(), |unit| format!("{unit:?} units"))
}

/// The reason why nothing is said of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unchecked {
    /// No run came to it.
    #[error("no execution came to it")]
    Unreached,
    /// In each run it had no end, or the source's promises did not hold.
    #[error("no execution of it ended as it may")]
    Unfit,
    #[error("operation {operation} of block {block} is not interpreted")]
    Operation { block: u32, operation: u32 },
}

/// The promises made about a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Promises {
    /// Accesses of different iterations are apart.
    pub independent: bool,
    /// Floating-point sums may be rounded in another order.
    pub reassociate: bool,
    /// Numbers of rounds up to this one are to be seen.
    pub rounds: u32,
}

/// The extent of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Executions of the loop.
    pub executions: u32,
    /// The numbers of rounds that they took.
    pub rounds: BTreeSet<u32>,
    /// Blocks to which they left.
    pub exits: BTreeSet<u32>,
}

/// Runs of the function, at most and at least.
const RUNS: u64 = 160;
const LEAST: u32 = 24;
/// Executions of the loop in one run.
const EXECUTIONS: u32 = 3;
/// Operations of all runs behind which no further one begins.
const OPERATIONS: u64 = 200_000;
/// Operations from one execution of the loop to the next, and in one.
const BETWEEN: u32 = 20_000;
const WITHIN: u32 = 6_000;

/// Checks that `after`, in which a kernel stands in the place of the loop `region`, has the effects of
/// `before`.
///
/// # Errors
/// The first violation that is found.
pub fn check(
    before: &Function,
    region: &Region,
    after: &Function,
    machine: &Epic,
    promises: Promises,
) -> Result<Result<Compared, Unchecked>, Violation> {
    let layout = Layout::new(before, region, after)?;
    let counts = layout.inside().any(|block| is_counting(after, block));
    let checker = Checker {
        before: Code::new(before),
        after: Code::new(after),
        live: Live::of(before),
        addresses: Rc::new(layout::addresses(before)),
        counts,
        layout,
        promises,
        executed: Cell::new(0),
    };
    for block in checker.layout.inside() {
        units::check(&checker.after, block, machine)?;
    }
    let mut compared = Compared::default();
    let mut why = Unchecked::Unreached;
    for seed in 0..RUNS {
        if let Err(reason) = checker.run(seed, &mut compared)? {
            why = reason;
        }
        let seen = (1..=promises.rounds).all(|it| compared.rounds.contains(&it));
        let enough = seen || checker.executed.get() > OPERATIONS;
        if enough && compared.executions >= LEAST {
            break;
        }
        if let Unchecked::Operation { .. } = why {
            return Ok(Err(why));
        }
    }
    Ok(match compared.executions {
        0 => Err(why),
        _ => Ok(compared),
    })
}

/// Returns true if a loop of the block ends by its count.
fn is_counting(function: &Function, block: u32) -> bool {
    let mut operations = function.blocks[block as usize].operations.iter();
    let counting = [Branch::Counted, Branch::CountedRotating];
    operations.any(|it| it.branch().is_some_and(|kind| counting.contains(&kind)))
}

struct Checker<'a> {
    before: Code<'a>,
    after: Code<'a>,
    live: Live,
    /// Registers that begin as addresses.
    addresses: Rc<Vec<bool>>,
    layout: Layout<'a>,
    promises: Promises,
    /// True if a kernel counts its rounds.
    counts: bool,
    /// Operations of all runs so far.
    executed: Cell<u64>,
}

impl Checker<'_> {
    /// Returns true if a run's conditions are chosen, instead of computed. A count must go with the conditions that it
    /// stands for.
    fn is_decided(&self, seed: u64) -> bool {
        seed % 2 == 1 && !self.counts
    }

    /// The numbers that a run begins with.
    fn style(&self, seed: u64) -> Style {
        let most = u64::from(self.promises.rounds);
        let count = 2 + mix(seed, 1) % [4, 9, 4 + most, 8 + most][(seed >> 3) as usize % 4];
        match seed >> 1 & 7 {
            0 => Style::Small(count),
            1 => Style::Signed(count),
            2 | 3 => Style::Addresses(count),
            _ => Style::Mostly((seed >> 1) % (most + 2)),
        }
    }

    fn spend(&self, operations: u32) {
        self.executed
            .set(self.executed.get() + u64::from(operations));
    }

    /// One run of the function as it was.
    fn run(&self, seed: u64, compared: &mut Compared) -> Result<Result<(), Unchecked>, Violation> {
        let functions = [self.before.function, self.after.function];
        let spaces = Rc::new(Spaces::new(&functions, seed));
        let style = match self.is_decided(seed) {
            true => Style::Wide,
            false => self.style(seed),
        };
        let state = State::new(mix(seed, 2), style, spaces);
        let mut state = state.with_addresses(self.addresses.clone());
        state.ring = self.promises.reassociate;
        if self.is_decided(seed) {
            state.truth = Truth::Decided(Decisions::at_random(mix(seed, 3)));
        }
        state.enter(self.before.function);
        let header = self.layout.header();
        let mut from = 0;
        let mut why = Unchecked::Unreached;
        for _ in 0..EXECUTIONS {
            let mut budget = BETWEEN;
            let mut stops = |block: u32, _: &mut State| block == header;
            let end = run(&self.before, &mut state, from, &mut stops, &mut budget);
            self.spend(BETWEEN - budget);
            match end {
                End::At(_) => {}
                End::Unknown { block, operation } => {
                    return Ok(Err(Unchecked::Operation { block, operation }));
                }
                End::Returned | End::Budget | End::Fault { .. } => return Ok(Err(why)),
            }
            let Some(left) = self.execution(seed, &mut state, compared)? else {
                return Ok(Err(Unchecked::Unfit));
            };
            from = left;
            why = Unchecked::Unfit;
        }
        Ok(Ok(()))
    }

    /// Follows the loop and the code in its place, and returns the block to which it leaves. `None`: it does
    /// not, or breaks promises of the source.
    fn execution(
        &self,
        seed: u64,
        state: &mut State,
        compared: &mut Compared,
    ) -> Result<Option<u32>, Violation> {
        let header = self.layout.header();
        state.memory.touched.clear();
        state.memory.events.clear();
        let mut after = state.clone();
        state.memory.log = Some(Vec::new());
        let (mut rounds, mut starts) = (1, vec![0]);
        let mut stops = |block: u32, state: &mut State| {
            if block == header {
                rounds += 1;
                starts.push(state.memory.log.as_ref().map_or(0, Vec::len));
            }
            !self.layout.is_inside(block)
        };
        let mut budget = WITHIN;
        let end = run(&self.before, state, header, &mut stops, &mut budget);
        self.spend(WITHIN - budget);
        let log = state.memory.log.take().unwrap_or_default();
        let End::At(left) = end else {
            return Ok(None);
        };
        let wide = self.is_decided(seed);
        let keeps = (wide || compare::is_aligned(&log))
            && !(self.promises.independent && compare::meets(&log, &starts));
        if !keeps {
            return Ok(None);
        }
        after.truth = state.truth.clone();
        after.failing = [0, 2, 5][seed as usize % 3];
        after.enter(self.after.function);
        let this = Run { seed, rounds };
        after.memory.log = Some(Vec::new());
        // The kernel executes what an iteration of the source jumps over, too.
        let blocks = &self.after.function.blocks;
        let inside = self
            .layout
            .inside()
            .map(|block| blocks[block as usize].operations.len());
        let kernel = inside.sum::<usize>() as u32;
        let most = 16 * (WITHIN - budget) + 4_000 + (rounds + self.promises.rounds) * kernel;
        let mut budget = most;
        let mut stops = |block: u32, _: &mut State| self.layout.is_left(block);
        let end = run(&self.after, &mut after, header, &mut stops, &mut budget);
        self.spend(most - budget);
        let found = match end {
            End::At(block) => self.layout.before(block),
            End::Fault {
                block,
                operation,
                fault,
            } => {
                return Err(Violation::Fault {
                    block,
                    operation,
                    fault,
                    run: this,
                });
            }
            End::Returned | End::Budget | End::Unknown { .. } => None,
        };
        if found != Some(left) {
            return Err(Violation::Exit {
                expected: Some(left),
                found,
                run: this,
            });
        }
        compare::compare(self, (state, &after), left, this)?;
        if !wide && !compare::is_aligned(after.memory.log.as_deref().unwrap_or_default()) {
            return Err(Violation::Unaligned { run: this });
        }
        compared.executions += 1;
        compared.rounds.insert(rounds);
        compared.exits.insert(left);
        Ok(Some(left))
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
