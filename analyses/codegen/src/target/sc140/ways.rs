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
use super::loops::Pipelining;
use super::machine::Limits;
use super::placed::{self, Placed, is_copy};
use super::{bounds, counted, loops, select};
use crate::allocate::{self, Decided, Order};
use crate::machine::sets::Sets;
use crate::mir::dependence::{reads, writes};
use crate::mir::packer::Packer as _;
use crate::mir::{Scheduled as _, straight};
use crate::predicate::flag;
use crate::refusal::{Refusal, Refused};
use crate::unroll::{Machine, Unrolled, unroll};
use ir::{BinaryOp, InstData, Module, Op, Type};
use isa::Branch;
use isa::sc140::{Opcode, Sc140};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use std::cell::Cell;

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
    // None where none can be shorter than what was found.
    let ways = |source: &ir::Function, unrolled: &Unrolled, found: &[(Selected, Placed)]| {
        let mut ways = Vec::new();
        // Registers four apart may be more than there are.
        let extremes = has_extremes(source);
        for extremes in [true, false].into_iter().filter(|own| extremes || !own) {
            let how = (sets, options, extremes);
            let made = Selected::new(module, named, source.clone(), unrolled, how)?;
            if !found.iter().any(|found| length(found) <= made.least) {
                ways.extend(made.overlapped(sets, options));
            }
        }
        Ok::<_, Vec<Refused>>(ways)
    };
    // What is placed otherwise stays so.
    let own = Cell::new(options.reduce_spills);
    let mut place = |made: Selected, reduce: Option<f64>| -> Result<(Selected, Placed), Refusal> {
        let given = placer(&Unplaced {
            function: &made.function,
            sets,
            limits: Limits {
                spills: made.spills,
                fewer: options.fewer,
            },
        });
        let lacking = (options.fewer, made.spills);
        let placed = match given {
            Some((function, allocation)) => {
                own.set(false);
                placed::packed_as(function, allocation, sets)
            }
            None => placed::place(&made.function, sets, lacking, reduce)?,
        };
        let frame = Frame::of(&placed.function, &placed.allocation);
        if !frame.is_reached(&placed.function, &placed.allocation) {
            return Err(Refusal::Frame {
                bytes: frame.bytes as u64,
                most: DISPLACEMENT as u64,
            });
        }
        let made = (made, placed);
        debug_assert!(
            length(&made) >= made.0.least * (1.0 - f64::EPSILON.sqrt()),
            "{}: {} cycles, at least {}",
            made.0.function.name,
            length(&made),
            made.0.least
        );
        Ok(made)
    };
    let mut found: Vec<(Selected, Placed)> = Vec::new();
    let mut elements = WIDE.elements;
    loop {
        let mut wide = source.clone();
        let unrolled = unroll(&mut wide, &Machine { elements, ..WIDE });
        if unrolled.is_plain() {
            break;
        }
        let made = ways(&wide, &unrolled, &found)?;
        let large = made.iter().any(|made| placed::is_large(&made.function));
        found.extend(made.into_iter().filter_map(|made| place(made, None).ok()));
        if elements == 1 || large && !found.is_empty() {
            break;
        }
        elements /= 2;
    }
    let mut source = source;
    let plain = unroll(&mut source, &PLAIN);
    let mut reason = None;
    for made in ways(&source, &plain, &found)? {
        // A frame that is out of reach may be smaller with less in it.
        let smaller = || options.reduce_spills.then_some(f64::INFINITY);
        match place(made.clone(), None).or_else(|_| place(made, smaller())) {
            Ok(placed) => found.push(placed),
            Err(refusal) => reason = Some(refusal),
        }
    }
    // What spills is reduced where that may lead to the shortest way: it takes longer than all else.
    found.sort_by(|way, other| length(way).total_cmp(&length(other)));
    let mut shortest = f64::INFINITY;
    for way in found.iter_mut().take(REDUCED).filter(|_| own.get()) {
        if way.1.least() < shortest
            && let Ok(reduced) = place(way.0.clone(), Some(shortest))
        {
            *way = reduced;
        }
        shortest = shortest.min(length(way));
    }
    let best = found
        .into_iter()
        .reduce(|best, other| match length(&other) < length(&best) {
            true => other,
            false => best,
        });
    best.ok_or_else(|| {
        let loc = ir::Loc::NONE;
        let reasons = reason.into_iter();
        reasons.map(|reason| Refused { reason, loc }).collect()
    })
}

/// Returns true if a function takes the greater or the smaller one of two numbers that are no constants.
fn has_extremes(source: &ir::Function) -> bool {
    let of = |&inst: &ir::Inst| {
        let InstData { op, args, .. } = &source.insts[inst];
        let computed = |&arg: &ir::Value| source.int_constant(arg).is_none();
        matches!(op, Op::Binary(BinaryOp::MinSigned | BinaryOp::MaxSigned, _))
            && args.iter().all(computed)
    };
    let mut all = source.layout.iter();
    all.any(|&block| source.blocks[block].insts.iter().any(of))
}

/// The cycles of a way by the weights of blocks.
fn length((_, placed): &(Selected, Placed)) -> f64 {
    placed.cycles
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
        let lacking = |function: &Function| allocate::lacking(&cleaned(function), sets, &limits);
        let finished = |made: &Selected| {
            let mut made = made.clone();
            made.function = cleaned(&made.function);
            made.spills = !allocate::fits(&made.function, sets, &limits);
            made.join(sets, &limits);
            made
        };
        if !options.pipeline {
            return vec![finished(&self)];
        }
        let mut ways = Vec::new();
        // Without a value more in memory; and with some more around the loops.
        let mut careful = Pipelining::new(self.function.clone());
        let mut eager = None;
        let mut known = None;
        loop {
            let before = eager.is_none().then(|| careful.clone());
            let report = careful.step(sets, &mut |before, now| {
                let before = *known.get_or_insert_with(|| lacking(before));
                lacking(now).is_some_and(|now| Some(now) <= before)
            });
            let Some(report) = report else { break };
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
            let mut fits = |_: &Function, now: &Function| {
                let now = cleaned(now);
                Decided::one_by_one(&now, sets, &limits, Order::LeastUsed).is_some()
            };
            while eager.step(sets, &mut fits).is_some() {}
            let eager = with(eager);
            if eager.pipelined() > made.pipelined() {
                ways.push(finished(&eager));
            }
        }
        if made.pipelined() > 0 {
            ways.push(finished(&made));
        }
        if ways.iter().all(|made| made.spills) {
            let mut plain = finished(&self);
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
        allocate::coalesce(&mut joined);
        if allocate::fits(&joined, sets, limits) {
            self.function = joined;
        }
    }
}
