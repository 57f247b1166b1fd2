//! The ways to lower a function, of which the shortest one is taken: loops repeated or not, with accesses to as many elements as
//! registers permit, with `max` and `min`, whose registers are four apart, or without, their iterations overlapped or not.
//!
//! ```text
//! four elements an access, two, one; as the function stands        each placed; the fewest cycles by the weights of blocks
//! ```
//!
//! What spills is reduced in the shortest ways alone.

use super::code::{Function, Name, Operation};
use super::emit::{LoopReport, Options, Placer, Unpipelined, Unplaced};
use super::frame::{DISPLACEMENT, Frame};
use super::loops::{Pipelining, Room};
use super::machine::Limits;
use super::placed::{self, Placed, Placing, is_copy};
use super::{bounds, counted, loops, select};
use crate::allocate::{self, Decided, Order};
use crate::machine::sets::Sets;
use crate::mir::dependence::{reads, writes};
use crate::mir::packer::Packer as _;
use crate::mir::{RegisterFile, Scheduled as _, Target as _, straight};
use crate::pipeline::expand::{Plan, demand};
use crate::predicate::flag;
use crate::refusal::{Refusal, Refused};
use crate::unroll::{Machine, Unrolled, unroll};
use ir::cfg::ControlFlow;
use ir::loops::LoopForest;
use ir::{BinaryOp, InstData, Module, Op, Type};
use isa::Branch;
use isa::sc140::{Opcode, Sc140};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use typed_arena::Arena;

/// The accesses to several elements. Objects of the file and of the frame that hold a quad of numbers are aligned for it.
pub(super) const WIDE: Machine = Machine {
    wide: |ty, count| matches!((ty, count), (Type::I16, 2 | 4) | (Type::I32, 2)),
    elements: 4,
    objects: 8,
    most: 4,
    exact_sums: true,
};

/// Bodies are not repeated, and accesses stay as they are.
const PLAIN: Machine = Machine {
    elements: 0,
    most: 1,
    ..WIDE
};

/// The part of a function's cycles that copies may take where registers are no matter.
const FEW: f64 = 0.05;

/// The shortest ways of a function, of which what spills is reduced.
const REDUCED: usize = 3;

/// A function in operations without places, its loops as they will be.
#[derive(Clone)]
pub(super) struct Selected {
    pub(super) source: ir::Function,
    pub(super) examined: Vec<bounds::Examined>,
    pub(super) function: Function,
    pub(super) reports: Vec<LoopReport>,
    /// Registers do not suffice.
    spills: bool,
    /// The cycles that it takes at least, by the weights of blocks.
    least: f64,
}

/// The way that takes the fewest cycles. The pair: the number of the function, and the names of the module's functions.
///
/// # Errors
/// Everything that has no form, with its place; registers or a frame that do not suffice for a function as it stands.
pub(super) fn shortest(
    module: &Module,
    named: (usize, &[SmolStr]),
    source: ir::Function,
    (sets, options): (&Sets, &Options),
    placer: &mut Placer<'_>,
) -> Result<(Selected, Placed), Vec<Refused>> {
    let arena = Arena::new();
    let mut search = Search {
        arena: &arena,
        module,
        named,
        sets,
        options,
        placer,
        found: Vec::new(),
        own: true,
        reason: None,
    };
    let mut elements = WIDE.elements;
    loop {
        let mut wide = source.clone();
        let unrolled = unroll(&mut wide, &Machine { elements, ..WIDE });
        if unrolled.is_plain() {
            break;
        }
        let large = search.try_ways(&wide, &unrolled)?;
        if elements == 1 || large && !search.found.is_empty() {
            break;
        }
        elements /= 2;
    }
    let mut source = source;
    let plain = unroll(&mut source, &PLAIN);
    search.reason = None;
    search.try_ways(&source, &plain)?;
    search.shortest()
}

/// The ways that were placed.
struct Search<'f, 'p, 'q> {
    arena: &'f Arena<Selected>,
    module: &'f Module,
    named: (usize, &'f [SmolStr]),
    sets: &'f Sets,
    options: &'f Options,
    placer: &'p mut Placer<'q>,
    found: Vec<Way<'f>>,
    /// Nothing is placed otherwise.
    own: bool,
    /// The reason why the last one has no places.
    reason: Option<Refusal>,
}

/// A function and its places.
struct Way<'f> {
    made: &'f Selected,
    /// `None`: it was placed otherwise, and stays so.
    placing: Option<Placing<'f>>,
    placed: Placed,
}

impl Way<'_> {
    /// Returns true if registers were no matter: none is lacking, and few cycles copy one to another.
    fn is_easy(&self) -> bool {
        let registers =
            |report: &LoopReport| matches!(report.refused, Some(Unpipelined::Registers { .. }));
        let blocks = self.placed.function.blocks.iter();
        let copies = blocks.map(|block| {
            let copies = block.operations.iter().filter(|it| is_copy(it));
            copies.count() as f64 * block.weight
        });
        !self.made.spills
            && !self.made.reports.iter().any(registers)
            && copies.sum::<f64>() <= FEW * self.placed.cycles
    }
}

impl<'f> Search<'f, '_, '_> {
    /// Returns true if none takes as few cycles.
    fn may_take(&self, cycles: f64) -> bool {
        !self.found.iter().any(|way| way.placed.cycles <= cycles)
    }

    /// Places the ways of a function; returns true if one is large.
    fn try_ways(
        &mut self,
        source: &ir::Function,
        unrolled: &Unrolled,
    ) -> Result<bool, Vec<Refused>> {
        let (sets, options) = (self.sets, self.options);
        let mut large = false;
        let first = self.found.len();
        let extremes = has_extremes(source);
        for extremes in [true, false].into_iter().filter(|own| extremes || !own) {
            // Registers four apart may be more than there are, or lead to copies.
            if self.found[first..].iter().any(Way::is_easy) {
                continue;
            }
            let how = (sets, options, extremes);
            let made = Selected::new(self.module, self.named, source.clone(), unrolled, how)?;
            if !self.may_take(made.least) {
                continue;
            }
            for made in made.overlapped(sets, options) {
                large |= placed::is_large(&made.function);
                self.place(self.arena.alloc(made));
            }
        }
        Ok(large)
    }

    /// Places a way, without less spill code.
    fn place(&mut self, made: &'f Selected) {
        match self.placed(made) {
            Ok(way) => {
                let cycles = way.placed.cycles;
                debug_assert!(
                    cycles >= made.least * (1.0 - f64::EPSILON.sqrt()),
                    "{}: {cycles} cycles, at least {}",
                    made.function.name,
                    made.least
                );
                self.found.push(way);
            }
            Err(refusal) => self.reason = Some(refusal),
        }
    }

    fn placed(&mut self, made: &'f Selected) -> Result<Way<'f>, Refusal> {
        let Options { fewer, .. } = *self.options;
        let given = (self.placer)(&Unplaced {
            function: &made.function,
            sets: self.sets,
            limits: Limits {
                spills: made.spills,
                fewer,
            },
        });
        if let Some((function, allocation)) = given {
            self.own = false;
            return Ok(Way {
                made,
                placing: None,
                placed: within_reach(placed::packed_as(function, allocation, self.sets))?,
            });
        }
        let placing = Placing::new(&made.function, self.sets, (fewer, made.spills))?;
        // A frame that is out of reach may be smaller with less in it.
        let smaller = || within_reach(placing.reduced(f64::INFINITY));
        let placed = match within_reach(placing.kept()) {
            Err(_) if self.options.reduce_spills => smaller()?,
            placed => placed?,
        };
        Ok(Way {
            made,
            placing: Some(placing),
            placed,
        })
    }

    /// The way that takes the fewest cycles. What spills is reduced where that may lead to it: that takes longer than all else.
    fn shortest(mut self) -> Result<(Selected, Placed), Vec<Refused>> {
        let cycles = |way: &Way<'_>| way.placed.cycles;
        self.found
            .sort_by(|way, other| cycles(way).total_cmp(&cycles(other)));
        let mut shortest = f64::INFINITY;
        if self.own && self.options.reduce_spills {
            for way in self.found.iter_mut().take(REDUCED) {
                if let Some(placing) = &way.placing
                    && placing.may_take_less_than(shortest)
                    && let Ok(reduced) = within_reach(placing.reduced(shortest))
                {
                    way.placed = reduced;
                }
                shortest = shortest.min(cycles(way));
            }
        }
        let best = self.found.into_iter();
        let best = best.reduce(|best, other| match cycles(&other) < cycles(&best) {
            true => other,
            false => best,
        });
        match best {
            Some(Way { made, placed, .. }) => Ok((made.clone(), placed)),
            None => {
                let loc = ir::Loc::NONE;
                let reasons = self.reason.into_iter();
                Err(reasons.map(|reason| Refused { reason, loc }).collect())
            }
        }
    }
}

/// A function whose frame is within reach.
fn within_reach(placed: Placed) -> Result<Placed, Refusal> {
    let frame = Frame::of(&placed.function, &placed.allocation);
    match frame.is_reached(&placed.function, &placed.allocation) {
        true => Ok(placed),
        false => Err(Refusal::Frame {
            bytes: frame.bytes as u64,
            most: DISPLACEMENT as u64,
        }),
    }
}

/// Returns true if a function takes the greater or the smaller one of two numbers, in a loop where one of them is constant.
fn has_extremes(source: &ir::Function) -> bool {
    let constants = |inst: &ir::Inst| {
        let InstData { op, args, .. } = &source.insts[*inst];
        let constants = args
            .iter()
            .filter(|arg| source.int_constant(**arg).is_some());
        matches!(op, Op::Binary(BinaryOp::MinSigned | BinaryOp::MaxSigned, _))
            .then_some(constants.count())
    };
    let forest = LoopForest::new(&ControlFlow::new(source));
    source.layout.iter().any(|&block| {
        let most = usize::from(forest.of(block).is_some());
        let mut found = source.blocks[block].insts.iter().filter_map(constants);
        found.any(|constants| constants <= most)
    })
}

/// A function without what nothing reads, its straight pieces in one block.
fn cleaned(function: &Function) -> Function {
    let mut function = function.clone();
    allocate::dead(&mut function);
    straight::join(&mut function);
    function
}

/// Returns for each operation of a loop of one block true if every iteration needs it. What an iteration leaves for the code
/// behind the loop alone is computed once, behind it, where iterations overlap.
fn repeated(operations: &[Operation]) -> Vec<bool> {
    // What an iteration reads of the one before.
    let mut live: FxHashSet<Name> = FxHashSet::default();
    for operation in operations.iter().rev() {
        if operation.is_certain() {
            for name in writes(operation) {
                live.remove(&name);
            }
        }
        live.extend(reads(operation));
    }
    let mut needed = vec![true; operations.len()];
    for (at, operation) in operations.iter().enumerate().rev() {
        let all = writes(operation);
        let named = |name: &Name| matches!(name, Name::Fixed(_)) || live.contains(name);
        let computes = operation.branch().is_none() && !Sc140::stores(operation);
        needed[at] = !computes || all.is_empty() || all.iter().any(named);
        if !needed[at] {
            continue;
        }
        if operation.is_certain() {
            for name in all {
                live.remove(&name);
            }
        }
        live.extend(reads(operation));
    }
    needed
}

/// The cycles that a function's operations ask for at least, by the weights of blocks. Copies and jumps may go, and what says
/// where a loop begins may be part of what counts it.
fn least(function: &Function, sets: &Sets) -> f64 {
    let function = cleaned(function);
    let cycles = function.blocks.iter().enumerate().map(|(number, block)| {
        let packer = Sc140::packer(sets, &block.operations);
        let stays = |operation: &Operation| {
            let starts = operation.mnemonic.opcode == Opcode::Dosetup;
            !is_copy(operation) && !starts && operation.branch().is_none()
        };
        let counted = |last: &Operation| last.branch() == Some(Branch::Counted);
        // The last iteration need not do what only a next one would read. It is entered from the block in front of it.
        let before = number.checked_sub(1).map(|at| function.blocks[at].weight);
        let (needed, times) = match block.operations.last().is_some_and(counted) {
            true => (
                repeated(&block.operations),
                (block.weight - before.unwrap_or(0.0)).max(0.0),
            ),
            false => (vec![true; block.operations.len()], block.weight),
        };
        let operations = (0..).zip(block.operations.iter().zip(needed));
        let mut operations = operations
            .filter(|(_, (operation, needed))| *needed && stays(operation))
            .map(|(at, _)| at);
        f64::from(packer.least_cycles(&mut operations)) * times
    });
    cycles.sum()
}

/// No value more is in memory than before.
struct NoMore<'l> {
    sets: &'l Sets,
    limits: &'l Limits,
    files: &'l [RegisterFile<Sc140>],
    /// The values in memory before; `None` in it: some value that must have a register has none.
    known: Option<Option<u32>>,
}

impl NoMore<'_> {
    fn lacking(&self, function: &Function) -> Option<u32> {
        allocate::lacking(&cleaned(function), self.sets, self.limits)
    }
    fn before(&mut self, function: &Function) -> Option<u32> {
        match self.known {
            Some(known) => known,
            None => *self.known.insert(self.lacking(function)),
        }
    }
}

impl Room for NoMore<'_> {
    fn may_suffice(&mut self, before: &Function, plan: &Plan<Sc140>) -> bool {
        let most = self.before(before);
        most.is_some_and(|most| demand::lacking(before, plan, self.files).all <= most)
    }
    fn suffices(&mut self, before: &Function, now: &Function) -> bool {
        let before = self.before(before);
        self.lacking(now).is_some_and(|now| Some(now) <= before)
    }
}

/// Values that no kernel names may go to memory.
struct Around<'l> {
    sets: &'l Sets,
    limits: &'l Limits,
    files: &'l [RegisterFile<Sc140>],
}

impl Room for Around<'_> {
    fn may_suffice(&mut self, before: &Function, plan: &Plan<Sc140>) -> bool {
        demand::lacking(before, plan, self.files).named == 0
    }
    fn suffices(&mut self, _: &Function, now: &Function) -> bool {
        let now = cleaned(now);
        Decided::one_by_one(&now, self.sets, self.limits, Order::LeastUsed).is_some()
    }
}

impl Selected {
    fn new(
        module: &Module,
        named: (usize, &[SmolStr]),
        source: ir::Function,
        unrolled: &Unrolled,
        (sets, options, extremes): (&Sets, &Options, bool),
    ) -> Result<Selected, Vec<Refused>> {
        let how = (options.total, extremes);
        let mut function = select::select(module, &source, unrolled, named, how)?;
        allocate::simplify(&mut function);
        counted::count(&mut function);
        flag::number(&mut function);
        allocate::dead(&mut function);
        let examined = bounds::examine(&function, &source, sets);
        Ok(Selected {
            least: least(&function, sets),
            examined,
            reports: loops::plain(&function, None),
            source,
            function,
            spills: false,
        })
    }

    /// The function with loops whose iterations overlap, and as it is, where registers do not suffice for the former.
    fn overlapped(self, sets: &Sets, options: &Options) -> Vec<Selected> {
        let limits = Limits {
            spills: false,
            fewer: options.fewer,
        };
        // Whether registers suffice may be known.
        let finished = |made: &Selected, fits: Option<bool>| {
            let mut made = made.clone();
            made.function = cleaned(&made.function);
            let fits = fits.unwrap_or_else(|| allocate::fits(&made.function, sets, &limits));
            debug_assert_eq!(fits, allocate::fits(&made.function, sets, &limits));
            made.spills = !fits;
            made.join(sets, &limits);
            made
        };
        if !options.pipeline {
            return vec![finished(&self, None)];
        }
        let mut ways = Vec::new();
        // Without a value more in memory; and with some more around the loops.
        let files = Sc140::files(&self.function, sets, &limits);
        let mut no_more = NoMore {
            sets,
            limits: &limits,
            files: &files,
            known: None,
        };
        let mut careful = Pipelining::new(self.function.clone());
        let mut eager = None;
        loop {
            let before = eager.is_none().then(|| careful.clone());
            let Some(report) = careful.step(sets, &mut no_more) else {
                break;
            };
            // Up to here both are the same.
            if matches!(report.refused, Some(Unpipelined::Registers { .. })) {
                eager = eager.or(before);
            }
        }
        let with = |of: Pipelining| {
            let (function, reports) = of.finished();
            Selected {
                function,
                reports,
                ..self.clone()
            }
        };
        let made = with(careful);
        if let Some(mut eager) = eager {
            let mut around = Around {
                sets,
                limits: &limits,
                files: &files,
            };
            while eager.step(sets, &mut around).is_some() {}
            let eager = with(eager);
            if eager.pipelined() > made.pipelined() {
                ways.push(finished(&eager, None));
            }
        }
        let fits = no_more.known.map(|lacking| lacking == Some(0));
        if made.pipelined() > 0 {
            ways.push(finished(&made, fits.filter(|fits| *fits)));
        }
        if ways.iter().all(|made| made.spills) {
            let mut plain = finished(&self, fits);
            for (plain, made) in plain.reports.iter_mut().zip(&made.reports) {
                let interval = made.interval;
                let registers = made
                    .is_pipelined()
                    .then_some(Unpipelined::Registers { interval });
                plain.refused = registers.or(made.refused);
            }
            ways.push(plain);
        }
        ways
    }

    /// The number of loops whose iterations overlap.
    fn pipelined(&self) -> usize {
        let all = self.reports.iter();
        all.filter(|report| report.is_pipelined()).count()
    }

    /// Makes registers one that copies lead to, such as those of counts, where that spills nothing.
    fn join(&mut self, sets: &Sets, limits: &Limits) {
        if self.spills {
            return;
        }
        let mut joined = self.function.clone();
        if allocate::coalesce(&mut joined) && allocate::fits(&joined, sets, limits) {
            self.function = joined;
        }
    }
}
