//! The report on a loop: its bounds with their origins, the interval reached, and the reasons why it is not
//! smaller.

use crate::predicate::Unconvertible;
use crate::refusal::Refused;
use ir::Loc;
use isa::ia64::File;
use isa::ia64::Mnemonic;
use smol_str::SmolStr;
use std::fmt;

/// The method by which the exits of a loop become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Method {
    /// One exit at the bottom, trip count known in front of the loop: `br.ctop`.
    Counted,
    /// Each further exit clears the predicate of the next iteration by `or.andcm`: RecMII 2 for any number.
    DeMorgan,
    /// A chain of unconditional compares (the paper's own).
    PredicateRegisters,
    /// A variable that tells the exit, and a parallel compare with the last condition.
    ParallelCompare,
    /// The variable, set by early exits alone.
    Improved,
    /// The variable, set by every exit.
    Tirumalai,
}

impl Method {
    pub const ALL: [Method; 6] = [
        Method::Counted,
        Method::DeMorgan,
        Method::PredicateRegisters,
        Method::ParallelCompare,
        Method::Improved,
        Method::Tirumalai,
    ];
    /// Returns the word by which a request in the source names it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Method::Counted => "counted",
            Method::DeMorgan => "or_andcm",
            Method::PredicateRegisters => "predicate_registers",
            Method::ParallelCompare => "parallel_compare",
            Method::Improved => "improved",
            Method::Tirumalai => "exit_variable",
        }
    }
    /// The methods for loops with several exits or without a trip count, the best first if nothing else
    /// decides.
    pub const EXITS: [Method; 5] = [
        Method::DeMorgan,
        Method::PredicateRegisters,
        Method::ParallelCompare,
        Method::Improved,
        Method::Tirumalai,
    ];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Counted => "counted",
            Method::DeMorgan => "or.andcm",
            Method::PredicateRegisters => "predicate registers",
            Method::ParallelCompare => "parallel compare",
            Method::Improved => "improved exit variable",
            Method::Tirumalai => "exit variable",
        })
    }
}

/// The bound on the interval by one kind of unit.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceBound {
    pub unit: &'static str,
    /// Operations an iteration, and units a cycle.
    pub wanted: u32,
    pub units: u32,
    /// Cycles.
    pub cycles: u32,
}

/// An operation of the critical cycle.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    pub mnemonic: Mnemonic,
    pub loc: Loc,
    /// The latency to the next operation of the cycle: cycles, and iterations.
    pub latency: i32,
    pub distance: u32,
}

/// Registers that rotate, by file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Registers {
    pub general: u32,
    pub float: u32,
    pub predicate: u32,
}

/// Streams of accesses that are fetched ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefetched {
    pub streams: u32,
    /// Iterations of the kernel.
    pub ahead: u32,
}

/// The reason why two accesses stay in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alias {
    /// They meet, this many iterations apart.
    Meets(u32),
    /// Their objects cannot be told apart, and an address is no sum of a constant and a multiple of the
    /// iteration.
    Address,
    /// Their addresses start from different values.
    Base,
    /// They lie in one object, at places that nothing tells apart.
    Within,
    /// They start from one place and step differently.
    Steps,
    /// One of them is volatile.
    Volatile,
}

/// The treatment of a store that may meet another access, where nothing is known that orders the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Disambiguation {
    /// They stay in order.
    InOrder,
    /// A test in front of the loop tells that they are apart, else the loop executes as it is written.
    RunTimeTest,
    /// Loads execute above the store (`ld.a`) and are checked behind it (`chk.a`).
    DataSpeculation,
}

impl Disambiguation {
    pub const ALL: [Disambiguation; 3] = [
        Disambiguation::InOrder,
        Disambiguation::RunTimeTest,
        Disambiguation::DataSpeculation,
    ];
    /// Returns the word by which a request in the source names it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Disambiguation::InOrder => "in_order",
            Disambiguation::RunTimeTest => "alias_test",
            Disambiguation::DataSpeculation => "data_speculation",
        }
    }
}

impl fmt::Display for Disambiguation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Disambiguation::InOrder => "accesses in order",
            Disambiguation::RunTimeTest => "a run-time alias test",
            Disambiguation::DataSpeculation => "data speculation",
        })
    }
}

/// An explicit epilogue. Cycles are estimates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drain {
    pub operations: u32,
    /// The number of bundles by which the code grows.
    pub bundles: u32,
    pub cycles: u32,
    /// The cycles of the rounds of the kernel in its place.
    pub rounds: u32,
}

/// The reason why the kernel finishes the iterations although an epilogue was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undrained {
    /// None is under way.
    Finished,
    /// A check of a speculative load goes back into the kernel where it fails.
    Checks,
    Large {
        operations: u32,
        most: u32,
    },
}

impl fmt::Display for Undrained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undrained::Finished => f.write_str("nothing is under way when the kernel ends"),
            Undrained::Checks => f.write_str(
                "a check of a speculative load goes back into the kernel where it fails",
            ),
            Undrained::Large { operations, most } => {
                write!(f, "it would be {operations} operations, of at most {most}")
            }
        }
    }
}

/// The reason why a loop is not pipelined, or not better.
#[derive(Clone, PartialEq, Debug)]
pub enum Reason {
    Form(Unconvertible),
    /// An operation that does not go into a kernel.
    Operation {
        mnemonic: Mnemonic,
        loc: Loc,
    },
    /// An operation that there is no code of.
    Refused(Refused),
    /// A predicate that one iteration leaves to the next.
    CarriedPredicate(Loc),
    /// A store that may meet another access: `restrict`, or accesses by index, would tell them apart.
    MayAlias {
        store: Loc,
        other: Loc,
        why: Alias,
    },
    /// The method asks for compares at all exits that nothing encloses.
    Exits(Method),
    Stages {
        stages: u32,
        most: u32,
    },
    Registers {
        file: File,
        wanted: u32,
        units: u32,
    },
    /// The code outside of the kernels had too few registers beside them.
    Allocation,
    /// The trip count is not known in front of the loop; `br.wtop` is used.
    TripCount,
    NotProfitable {
        ii: u32,
        unpipelined: u32,
    },
    /// The source asks that the loop stays as it is.
    Left,
    /// The source asks for a method that there is none of.
    Word(SmolStr),
    /// An explicit epilogue is asked for, and there is none.
    Epilogue(Undrained),
    /// No schedule was found up to this interval.
    Schedule {
        tried: u32,
    },
    /// More of it is not looked at.
    Large {
        what: &'static str,
        most: usize,
    },
    Impossible,
    /// A checker found that it would compute something else.
    Unsound(Box<super::Unsound>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Form(form) => write!(f, "the loop {form}"),
            Reason::Operation { mnemonic, .. } => {
                write!(f, "`{mnemonic}` cannot stand in a software-pipelined loop")
            }
            Reason::Refused(refused) => write!(f, "there is no code for it: {}", refused.reason),
            Reason::CarriedPredicate(_) => {
                f.write_str("a predicate is carried from one iteration to the next")
            }
            Reason::MayAlias { why, .. } => match why {
                Alias::Meets(1) => f.write_str("a store conflicts with an access of the next iteration"),
                Alias::Meets(distance) => {
                    write!(f, "a store conflicts with an access {distance} iterations later")
                }
                Alias::Address => f.write_str(
                    "a store may alias another access: an address is not an affine function of the iteration; `restrict` would rule that out",
                ),
                Alias::Base => f.write_str(
                    "a store may alias another access: their addresses have different bases; `restrict` would rule that out",
                ),
                Alias::Within => f.write_str(
                    "a store may alias another access to the same object: the distance of their addresses is not known",
                ),
                Alias::Steps => f.write_str(
                    "a store may alias another access to the same object: their addresses have different strides",
                ),
                Alias::Volatile => f.write_str("volatile accesses are not reordered"),
            },
            Reason::Exits(method) => write!(
                f,
                "the method `{method}` requires exits whose compares are not inside other conditions"
            ),
            Reason::Stages { stages, most } => {
                write!(f, "the schedule has {stages} stages, and at most {most} are supported")
            }
            Reason::Registers { file, wanted, units } => write!(
                f,
                "the schedule needs {wanted} rotating {} registers, and the processor has {units}",
                registers(*file)
            ),
            Reason::Allocation => {
                f.write_str("the pipelined loop leaves too few registers for the rest of the function")
            }
            Reason::TripCount => {
                f.write_str("the trip count is not known before the loop, which ends with br.wtop instead of br.ctop")
            }
            Reason::NotProfitable { ii, unpipelined } if ii == unpipelined => write!(
                f,
                "not profitable: an iteration takes {} with and without pipelining",
                cycles(*ii)
            ),
            Reason::NotProfitable { ii, unpipelined } => write!(
                f,
                "not profitable: an iteration takes {} without pipelining, and the initiation interval would be {}",
                cycles(*unpipelined),
                cycles(*ii)
            ),
            Reason::Left => f.write_str("the source asks for no pipelining"),
            Reason::Word(word) => {
                let all: Vec<&str> = Method::ALL.iter().map(|it| it.word()).collect();
                write!(
                    f,
                    "`pipeline({word})` is not known; use one of best, none, explicit_epilogue, load_pairs, prefetch, {}, {}",
                    all.join(", "),
                    Disambiguation::ALL.map(Disambiguation::word).join(", ")
                )
            }
            Reason::Epilogue(why) => {
                write!(f, "there is no explicit epilogue: {why}")
            }
            Reason::Schedule { tried } => write!(f, "no schedule was found up to an initiation interval of {tried} cycles"),
            Reason::Large { what, most } => write!(f, "the loop has more than {most} {what}"),
            Reason::Unsound(why) => write!(f, "the pipelined loop would compute something else, which is a fault of Lockstep ({why})"),
            Reason::Impossible => f.write_str("the dependences of one iteration form a cycle"),
        }
    }
}

/// A register file as people call it.
fn registers(file: File) -> &'static str {
    match file {
        File::General => "general-purpose",
        File::Float => "floating-point",
        File::Predicate => "predicate",
        _ => "special",
    }
}

/// Returns a number of cycles with its word.
fn cycles(number: u32) -> String {
    match number {
        1 => "1 cycle".to_owned(),
        more => format!("{more} cycles"),
    }
}

/// Loads of a loop that are no plain ones any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoadForms {
    /// Ahead of their guards.
    pub speculative: u32,
    /// The number of loads above stores that may change their memory.
    pub advanced: u32,
    /// The number of checks of both.
    pub checks: u32,
    /// The number of loads of two neighbours at once.
    pub pairs: u32,
    /// The number of loads that need no memory: of a value that the iteration before stored, or of one that
    /// does not change.
    pub forwarded: u32,
}

/// The findings on a loop, and the changes made to it.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopReport {
    /// The place of its first operation that has one.
    pub loc: Loc,
    /// The head of the source's loop, if the request named it.
    pub head: Loc,
    /// Its first block as the function was before.
    pub header: u32,
    /// The shortest first.
    pub res_mii: Vec<ResourceBound>,
    pub rec_mii: u32,
    /// The cycle of dependences that asks for `rec_mii`.
    pub critical: Vec<Link>,
    /// Cycles an iteration, were iterations divisible.
    pub fraction: f64,
    /// The number of iterations at once that come nearer to that; 1: none.
    pub unroll: u32,
    /// Iterations of one of the kernel; `ii` and `unpipelined` are cycles of so many.
    pub unrolled: u32,
    pub ii: Option<u32>,
    pub stages: u32,
    pub max_live: Registers,
    pub method: Option<Method>,
    /// Cycles an iteration of a schedule of one iteration alone.
    pub unpipelined: u32,
    pub loads: LoadForms,
    /// Pairs of streams of accesses that a test in front of the loop compares.
    pub tests: u32,
    /// Floating-point sums that take turns in the place of one; 1: they are unchanged.
    pub sums: u32,
    pub prefetched: Option<Prefetched>,
    /// The interval with each treatment of accesses that may meet, for one iteration of the kernel.
    pub ways: Vec<(Disambiguation, u32)>,
    /// The epilogue that finishes its iterations behind the kernel; `None` where the kernel does.
    pub epilogue: Option<Drain>,
    /// The interval that each method predicts.
    pub methods: Vec<(Method, Option<u32>)>,
    pub reasons: Vec<Reason>,
    /// The reasons that would hold it back without the test in front of it, or without loads above stores.
    pub overcome: Vec<Reason>,
    /// The extent of the checkers' comparisons.
    pub checked: super::Checked,
    /// True if the function has the pipelined loop now.
    pub pipelined: bool,
}

impl LoopReport {
    /// Returns the treatment of the order of its accesses.
    #[must_use]
    pub const fn disambiguation(&self) -> Disambiguation {
        match (self.tests, self.loads.advanced) {
            (1.., _) => Disambiguation::RunTimeTest,
            (_, 1..) => Disambiguation::DataSpeculation,
            _ => Disambiguation::InOrder,
        }
    }
    #[must_use]
    pub fn min_ii(&self) -> u32 {
        let resources = self.res_mii.first().map_or(0, |first| first.cycles);
        resources.max(self.rec_mii).max(1)
    }
}
