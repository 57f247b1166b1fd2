//! Registers and sets for functions of operations. Where registers do not suffice, values spill in whichever way takes the fewest
//! cycles, and what can be saved of that is saved.
//!
//! ```text
//! the scan, with registers kept back  \
//! values one by one, least used first  |  as decided: the shortest is the base     reduced: the shortest that makes no block of
//! values one by one, farthest first    |                                           the base longer
//! by colouring, spilled everywhere    /
//! ```
//!
//! Large functions are scanned and coloured, and the shorter one is reduced.

use super::code::{Allocation, Function, Name, Operand, Operation};
use super::frame::Frame;
use super::machine::{Limits, locate};
use super::obstacles::Lengthened;
use super::{delay, loops};
use crate::allocate::{self, Decided, Order, Reduction, Reductions, Traffic};
use crate::machine::sets::Sets;
use crate::mir::Block;
use crate::mir::{Scheduled as _, Target as _};
use crate::pack::pack;
use crate::predicate::counts::Counts;
use crate::refusal::Refusal;
use isa::Branch;
use isa::sc140::{Opcode, Reg, Sc140, Unit};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// The ways of reducing spills, the one that takes most away first.
const REDUCTIONS: [Reduction; 3] = [
    Reduction::AnyClass,
    Reduction::OwnClass,
    Reduction::Redundant,
];

/// Times that a reduction is tried again with fewer values where it made a block longer.
const RETRIES: usize = 6;

/// A way is not expected to save more of the cycles of its transfers than this times the part that others saved of theirs.
const HOPED: f64 = 1.25;

/// Operations from which on a function is not tried in many ways: it would keep people waiting.
const LARGE: usize = 2000;

/// Returns true if a function is placed in one way, the one that is likely to be the best.
pub(super) fn is_large(function: &Function) -> bool {
    let sizes = function.blocks.iter().map(|block| block.operations.len());
    sizes.sum::<usize>() > LARGE
}

/// A function on the machine's registers, in sets.
pub(super) struct Placed {
    pub(super) function: Function,
    pub(super) allocation: Allocation,
    /// The transfers that the base asks for.
    pub(super) given: Traffic,
    pub(super) reduced: Reduced,
    /// The sets of an execution, by the weights of blocks, once delay slots are filled.
    pub(super) cycles: f64,
}

/// The extent to which the spills of a function are reduced.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Reduced {
    /// Nothing was to be taken away.
    Kept,
    /// As far as is known to be possible.
    Fully,
    /// A reduction that takes more away makes something longer.
    Rejected(Lengthened),
}

/// A function's values in places, in each of the ways, in sets: nothing is reduced yet.
pub(super) struct Placing<'f> {
    sets: &'f Sets,
    /// The one that is likely to be the shortest once it is reduced stands first.
    ways: Vec<(Decided<'f, Sc140>, Packed)>,
    /// The shortest of the ways.
    base: usize,
    /// The others are not looked at.
    large: bool,
}

impl<'f> Placing<'f> {
    /// Gives registers. `spills`: they do not suffice; `fewer` of each file are left out.
    pub(super) fn new(
        function: &'f Function,
        sets: &'f Sets,
        (fewer, spills): (usize, bool),
    ) -> Result<Placing<'f>, Refusal> {
        let limits = |spills| Limits { spills, fewer };
        let large = is_large(function);
        // Registers that are kept back may be those that a pipelined loop lacks.
        let scanned = Decided::scanned(function, sets, &limits(spills));
        let orders = [Order::LeastUsed, Order::FarthestRead].into_iter();
        let one_by_one = orders
            .filter(|_| spills && !large)
            .filter_map(|order| Decided::one_by_one(function, sets, &limits(false), order));
        let coloured = spills
            .then(|| Decided::coloured(function, sets, &limits(false)))
            .flatten();
        let mut others = one_by_one.chain(coloured);
        let first = match scanned {
            Ok(scanned) => scanned,
            Err(refused) => {
                let other = others.next();
                let other = other.or_else(|| Decided::coloured(function, sets, &limits(false)));
                other.ok_or(refused)?
            }
        };
        let mut ways: Vec<(Decided<'_, Sc140>, Packed)> = std::iter::once(first)
            .chain(others)
            .map(|own| {
                let packed = Packed::new(own.written(), sets);
                (own, packed)
            })
            .collect();
        ways.sort_by(|(_, it), (_, other)| it.least().total_cmp(&other.least()));
        let cycles = |&at: &usize| ways[at].1.cycles;
        let base = (0..ways.len()).min_by(|it, other| cycles(it).total_cmp(&cycles(other)));
        Ok(Placing {
            sets,
            base: base.unwrap_or(0),
            ways,
            large,
        })
    }

    fn base(&self) -> &Packed {
        &self.ways[self.base].1
    }

    /// Returns true if there is something to reduce, and that may lead to less than so many cycles.
    pub(super) fn may_take_less_than(&self, cycles: f64) -> bool {
        let base = self.base();
        base.allocation.traffic != Traffic::default() && base.least() < cycles
    }

    /// The shortest way as it is.
    pub(super) fn kept(&self) -> Placed {
        self.chosen(self.base().clone(), Reduced::Kept)
    }

    fn chosen(&self, chosen: Packed, reduced: Reduced) -> Placed {
        let Packed {
            function,
            allocation,
            cycles,
            ..
        } = chosen;
        Placed {
            cycles,
            function,
            allocation,
            given: self.base().allocation.traffic,
            reduced,
        }
    }

    /// The shortest way with less spill code, where that may lead to less than so many cycles.
    pub(super) fn reduced(&self, below: f64) -> Placed {
        let (base, sets) = (self.base(), self.sets);
        if base.allocation.traffic == Traffic::default() {
            return self.chosen(base.clone(), Reduced::Fully);
        }
        let packed = |made| Packed::new(made, sets);
        let mut reduced = Reduced::Fully;
        // What saves transfers may make sets wait.
        let mut chosen: Option<Packed> = None;
        let counts = Counts::of(&base.function);
        let nothing = BTreeSet::new();
        let known: Vec<OnceCell<Reductions<'_, '_, Sc140>>> =
            self.ways.iter().map(|_| OnceCell::new()).collect();
        let reduced_by = |at: usize, reduction| {
            let (decided, _) = &self.ways[at];
            let known = known[at].get_or_init(|| decided.reductions(&nothing));
            packed(known.written(reduction))
        };
        for reduction in REDUCTIONS {
            let pieces = reduction == Reduction::AnyClass && !self.large;
            let mut found: Option<Packed> = None;
            // The part of their transfers' cycles that ways save.
            let mut saved: f64 = 0.0;
            let mut worse: Vec<(&Decided<'_, Sc140>, Reduction, Packed)> = Vec::new();
            for (at, (decided, own)) in self.ways.iter().enumerate() {
                let most = found.as_ref().map_or(base.cycles, |found| found.cycles);
                let hoped = match found {
                    Some(_) => own.cycles - (HOPED * saved) * own.allocation.traffic.executed,
                    None => own.least(),
                };
                if own.least().max(hoped) > most.min(below) || self.large && at != self.base {
                    continue;
                }
                let mut made = vec![(reduction, reduced_by(at, reduction))];
                // What still is loaded may wait in several registers.
                if pieces && made[0].1.allocation.traffic.loads > 0 {
                    let reduction = Reduction::Pieces;
                    made.insert(0, (reduction, reduced_by(at, reduction)));
                }
                for (reduction, made) in made {
                    let less = own.cycles - made.cycles;
                    saved = saved.max(less / own.allocation.traffic.executed);
                    match made.is_no_worse_than(base, &counts) {
                        true => Packed::shorter(&mut found, made),
                        false => worse.push((decided, reduction, made)),
                    }
                }
            }
            let least = worse.iter().map(|(.., made)| made);
            let least = least.min_by(|it, other| it.cycles.total_cmp(&other.cycles));
            if let (None, Reduced::Fully, Some(least)) = (&found, reduced, least) {
                reduced = Reduced::Rejected(least.lengthened(base));
            }
            if let Some(found) = found {
                Packed::shorter(&mut chosen, found);
                break;
            }
            if pieces {
                worse.sort_by(|(.., it), (.., other)| it.cycles.total_cmp(&other.cycles));
                for (decided, reduction, made) in worse {
                    // With more in memory it is not shorter.
                    let most = chosen.as_ref().map_or(base.cycles, |found| found.cycles);
                    if made.cycles >= most.min(below) {
                        break;
                    }
                    // Values that blocks move which become longer stay in memory.
                    let mut staying = BTreeSet::new();
                    let mut made = made;
                    for _ in 0..RETRIES {
                        let known = staying.len();
                        staying.extend(decided.moved(&made.longer_than(base, &counts)));
                        if staying.len() == known {
                            break;
                        }
                        made = packed(decided.reductions(&staying).written(reduction));
                        if made.is_no_worse_than(base, &counts) {
                            Packed::shorter(&mut chosen, made);
                            break;
                        }
                    }
                }
            }
        }
        self.chosen(chosen.unwrap_or_else(|| base.clone()), reduced)
    }
}

/// A function whose values have places already, in sets.
pub(super) fn packed_as(function: Function, allocation: Allocation, sets: &Sets) -> Placed {
    let Packed {
        function,
        allocation,
        cycles,
        ..
    } = Packed::new((function, allocation), sets);
    Placed {
        cycles,
        function,
        given: allocation.traffic,
        allocation,
        reduced: Reduced::Kept,
    }
}

/// A function in sets, whose delay slots are not filled.
#[derive(Clone)]
struct Packed {
    function: Function,
    allocation: Allocation,
    /// The sets of each block once delay slots are filled, and those of an execution.
    lengths: Vec<u32>,
    /// The changes of flow of each block that have no slot: a cycle more, where they are taken.
    jumps: Vec<u32>,
    cycles: f64,
}

impl Packed {
    fn new((mut function, mut allocation): (Function, Allocation), sets: &Sets) -> Packed {
        allocate::jumps(&mut function);
        let frame = Frame::of(&function, &allocation);
        frame.insert(&mut function, std::mem::take(&mut allocation.arrivals));
        name(&mut function, &allocation);
        without_copies(&mut function);
        packed(&mut function, &allocation, sets);
        let mut filled = function.clone();
        delay::fill(&mut filled, &allocation, sets);
        let blocks = filled.blocks.iter();
        let jumps = |block: &Block<Sc140>| {
            let operations = block.operations.iter();
            let plain = operations.filter(|operation| !operation.mnemonic.delayed);
            let flows = plain.filter_map(Operation::branch);
            flows.filter(|flow| *flow != Branch::Counted).count() as u32
        };
        Packed {
            jumps: filled.blocks.iter().map(jumps).collect(),
            cycles: cycles(&filled, &allocation),
            lengths: (0..)
                .zip(blocks)
                .map(|numbered| length(&filled, numbered, &allocation))
                .collect(),
            function,
            allocation,
        }
    }
    /// The cycles that are left if each transfer goes, with its set.
    fn least(&self) -> f64 {
        self.cycles - self.allocation.traffic.executed
    }
    /// Takes one that takes fewer cycles than what was found.
    fn shorter(found: &mut Option<Packed>, other: Packed) {
        if found
            .as_ref()
            .is_none_or(|found| other.cycles < found.cycles)
        {
            *found = Some(other);
        }
    }
    /// Returns true if it moves no more to memory and back than a base, and no run through whole blocks takes more cycles.
    fn is_no_worse_than(&self, base: &Packed, counts: &Counts) -> bool {
        let (less, all) = (&self.allocation.traffic, &base.allocation.traffic);
        less.is_no_more_than(all)
            && self.cycles <= base.cycles
            && self.longer_than(base, counts).is_empty()
    }
    /// The blocks that are longer than a base's, but for those where others that execute at least as often save as much.
    fn longer_than(&self, base: &Packed, counts: &Counts) -> Vec<usize> {
        let lengths = self.lengths.iter().zip(&base.lengths);
        let jumps = self.jumps.iter().zip(&base.jumps);
        let mut saved: Vec<i64> = lengths
            .zip(jumps.map(|(now, before)| now.saturating_sub(*before)))
            .map(|((&now, &before), jumps)| i64::from(before) - i64::from(now + jumps))
            .collect();
        // What is left of a block that control leaves in the middle is not executed.
        let pays = |block: &usize| {
            let block = &self.function.blocks[*block];
            let rows = block.operations.iter().zip(&block.cycles);
            let mut leaving = rows
                .filter(|(operation, _)| !matches!(operation.branch(), None | Some(Branch::Call)));
            leaving.all(|(_, cycle)| Some(cycle) == block.cycles.last())
        };
        let payers: Vec<usize> = (0..saved.len())
            .filter(|&block| saved[block] > 0)
            .filter(pays)
            .collect();
        let mut longer: Vec<usize> = (0..saved.len()).filter(|&it| saved[it] < 0).collect();
        longer.retain(|&block| {
            for &payer in &payers {
                if saved[block] < 0 && saved[payer] > 0 && counts.covers(payer, block) {
                    let paid = saved[payer].min(-saved[block]);
                    saved[payer] -= paid;
                    saved[block] += paid;
                }
            }
            saved[block] < 0
        });
        longer
    }
    /// The block that is longest beside a base's.
    fn lengthened(&self, base: &Packed) -> Lengthened {
        let now = self.lengths.iter().zip(&self.jumps);
        let before = base.lengths.iter().zip(&base.jumps);
        let each = now
            .zip(before)
            .zip(&base.function.blocks)
            .map(|((now, length), before)| Lengthened {
                at: first_place(before),
                cycles: (now.0 + now.1).saturating_sub(length.0 + length.1),
            });
        each.max_by_key(|found| found.cycles).unwrap_or(Lengthened {
            at: ir::Loc::NONE,
            cycles: 0,
        })
    }
}

/// The place of the first operation of a block that has one.
pub(super) fn first_place(block: &Block<Sc140>) -> ir::Loc {
    let mut places = block.operations.iter().map(|operation| operation.loc);
    places
        .find(|&loc| loc != ir::Loc::NONE)
        .unwrap_or(ir::Loc::NONE)
}

/// The sets of a block, or of another one in its place, with those that wait behind it.
pub(super) fn length(
    function: &Function,
    (number, block): (usize, &Block<Sc140>),
    allocation: &Allocation,
) -> u32 {
    let own = block.cycles.last().map_or(0, |last| last + 1);
    let late = ends_late(function, (number, block), allocation);
    own + waits_for_loop(function, block) + u32::from(late)
}

/// Sets that wait behind a block that enables a loop: it begins some sets behind what enables it.
pub(super) fn waits_for_loop(function: &Function, block: &Block<Sc140>) -> u32 {
    let last = block.cycles.last().copied().unwrap_or(0);
    // Sets of the loop in front of the one that bears its mark.
    let header = block
        .operations
        .iter()
        .find_map(|operation| match operation.sources[..] {
            [Operand::Block(header)] if operation.mnemonic.opcode == Opcode::Dosetup => {
                Some(header)
            }
            _ => None,
        });
    let sets = header.and_then(|header| function.blocks[header as usize].cycles.last());
    let inside = sets.map_or(0, |last| (last + 1).saturating_sub(loops::MARKED));
    let rows = block.operations.iter().zip(&block.cycles);
    let waits = rows.map(|(operation, cycle)| {
        let gap = match operation.mnemonic.opcode {
            Opcode::Doensh => loops::ENABLE_GAP,
            Opcode::Doen => loops::ENABLE_GAP.saturating_sub(inside),
            Opcode::Dosetup => loops::SETUP_GAP.saturating_sub(inside),
            _ => return 0,
        };
        (cycle + gap).saturating_sub(last)
    });
    waits.max().unwrap_or(0)
}

/// Returns true if control falls out of a block, or of another one in its place, whose last set writes what may not be read in the
/// next one, which waits. Branches stand behind such sets, except for the way back of a loop that is pipelined.
pub(super) fn ends_late(
    function: &Function,
    (number, block): (usize, &Block<Sc140>),
    allocation: &Allocation,
) -> bool {
    // The last change of flow may have a slot behind it.
    let mut flows = block.operations.iter().filter_map(Operation::branch).rev();
    let falls = match flows.find(|flow| *flow != Branch::Call) {
        None | Some(Branch::Counted) => true,
        Some(_) => false,
    };
    let rows = block.operations.iter().zip(&block.cycles);
    let last = rows.filter(|(_, at)| Some(*at) == block.cycles.last());
    let mut last = last.map(|(operation, _)| operation);
    // The flag decides over data in the next set, over moves and addresses in the one behind it.
    let behind = function.blocks.get(number + 1..).unwrap_or_default();
    let next = behind.iter().find(|block| !block.operations.is_empty());
    let decided = || {
        let rows = next.map(|next| next.operations.iter().zip(&next.cycles));
        let mut rows = rows.into_iter().flatten();
        rows.any(|(operation, &cycle)| cycle == 0 && waits_for_flag(operation))
    };
    let writes_flag = |operation: &Operation| {
        let written = crate::mir::dependence::writes(operation).into_iter();
        let mut storage = written.flat_map(locate(allocation));
        storage.any(|at| at == Sc140::index(Reg::TRUTH) as u32)
    };
    falls
        && last
            .any(|operation| is_late(operation, allocation) || writes_flag(operation) && decided())
}

/// Returns true for a move, or an operation on addresses, under the flag.
fn waits_for_flag(operation: &Operation) -> bool {
    let row = operation.mnemonic.row();
    operation.predicate.is_some() && operation.branch().is_none() && row.unit != Unit::Data
}

pub(super) fn is_late(operation: &Operation, allocation: &Allocation) -> bool {
    let stepped = operation.stepped();
    let written = crate::mir::dependence::writes(operation).into_iter();
    let written = written.filter(|name| Some(*name) != stepped);
    let mut storage = written.flat_map(locate(allocation));
    storage.any(|at| Sc140::is_late(operation, at))
}

/// The sets that an execution takes, by the weights of blocks.
pub(super) fn cycles(function: &Function, allocation: &Allocation) -> f64 {
    let blocks = function.blocks.iter().enumerate();
    let sets = blocks.map(|(number, block)| {
        f64::from(length(function, (number, block), allocation)) * block.weight
    });
    sets.sum()
}

/// Operations name the registers that they were given.
fn name(function: &mut Function, allocation: &Allocation) {
    let operations = function
        .blocks
        .iter_mut()
        .flat_map(|block| &mut block.operations);
    for operation in operations {
        for operand in operation.targets.iter_mut().chain(&mut operation.sources) {
            if let Operand::Register(name) | Operand::Address(name) = operand
                && let Name::Virtual(register) = *name
            {
                *name = Name::Fixed(allocation.register(register));
            }
        }
    }
}

/// Returns true for a copy between registers of one file.
pub(super) fn is_copy(operation: &Operation) -> bool {
    matches!(operation.mnemonic.opcode, Opcode::Tfr | Opcode::Tfra)
}

/// Takes copies of a register to itself away where nothing is decided.
fn without_copies(function: &mut Function) {
    let open = function
        .blocks
        .iter_mut()
        .filter(|block| block.cycles.is_empty());
    for block in open {
        block
            .operations
            .retain(|operation| !(is_copy(operation) && operation.targets == operation.sources));
    }
}

/// Sets of all blocks: loops first, whose length says how they are enabled.
fn packed(function: &mut Function, allocation: &Allocation, sets: &Sets) {
    let own = loops::counted(function);
    let mut aside: Vec<(usize, Vec<Operation>)> = Vec::new();
    for (at, block) in function.blocks.iter_mut().enumerate() {
        if !own.contains(&(at as u32)) && block.cycles.is_empty() {
            aside.push((at, std::mem::take(&mut block.operations)));
        }
    }
    pack(function, sets, &locate(allocation));
    for (at, operations) in aside {
        function.blocks[at].operations = operations;
    }
    loops::settle(function);
    pack(function, sets, &locate(allocation));
}
