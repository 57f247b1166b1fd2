//! Cycles: an in-order machine that issues up to two bundles a cycle, as far as its ports go and no further
//! than a stop, when all operands of the instructions that issue together are ready.
//!
//! ```text
//! ld8 r14 = [r15] ;;      cycle 0
//! add r16 = r14, r0 ;;    cycle 1 on Itanium 2, whose loads take 1; cycle 2 on Itanium
//! ```
//!
//! Every access hits its cache and every branch is predicted, unless the processor has caches or a predictor:
//! then the first use of a load that missed waits until its value is there (or the load itself, where caches
//! block), and nothing issues for some cycles behind a branch that was mispredicted. Fetching never waits for
//! a cache. All figures are in the two tables below. Source: the machine descriptions of GCC for these
//! processors and Intel's reference manuals of the two processors.

use super::op::{Lanes, One, Op, Slot, Src};
use super::program::Inst;
use super::run::is_nop;
use super::state::{Id, Use};
use crate::cache::{Access, AccessKind, CacheState, Caches, LevelCounts};
use crate::predictor::Design;
use isa::ia64::{File, Reg};

/// A shift whose count is in a register.
macro_rules! by_register {
    () => {
        Op::Shift {
            count: Src::Reg(_),
            ..
        }
    };
}

/// The class of the instruction that produces a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Producer {
    Alu,
    Logic,
    Extension,
    /// Integer compares and bit tests.
    Compare,
    Load,
    FloatLoad,
    FloatArithmetic,
    FloatCompare,
    /// Conversions to integers, integer multiplication.
    FloatConvert,
    /// Signs, merges, logic, approximations.
    FloatMisc,
    SetFloat,
    GetFloat,
    /// Parallel operations, population count, shifts by a register.
    Multimedia,
    /// Moves from branch registers and predicates.
    FromBranch,
    /// Moves from application registers by integer units.
    FromApplication,
    /// Application registers that memory units read.
    FromApplicationMemory,
    Other,
}
const PRODUCERS: usize = 17;

/// The class of the operand that consumes a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consumer {
    Address,
    /// The address of a floating-point access, a prefetch or an atomic one.
    FloatAddress,
    /// Sums, logic, bit fields, integer stores.
    Integer,
    /// Compares, extensions, moves to other files.
    Other,
    Multimedia,
    FloatArithmetic,
    /// Compares, conversions, integer multiplication, merges.
    FloatMisc,
    StoreFloat,
    GetFloat,
    Predicate,
    BranchPredicate,
}
const CONSUMERS: usize = 11;

/// Cycles from a producer to a consumer; `to` of `None`: to all that no later line names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency {
    pub from: Producer,
    pub to: Option<Consumer>,
    pub cycles: u8,
}

/// Rules by which two bundles issue together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dispersal {
    /// Two M and two I ports, taken in order.
    Itanium,
    /// Four M ports, two for loads and two for stores; integer operations overflow from I to M ports.
    Itanium2,
}

/// A processor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    pub name: String,
    pub dispersal: Dispersal,
    /// Cycles that a taken branch adds.
    pub taken: u8,
    /// `None`: every access hits.
    pub caches: Option<Caches>,
    /// `None`: every branch is predicted.
    pub branches: Option<BranchUnit>,
    latencies: [[u8; CONSUMERS]; PRODUCERS],
}

/// The predictor of a processor's branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BranchUnit {
    pub design: Design,
    /// Cycles that a misprediction costs.
    pub penalty: u32,
    /// Cycles from the issue of a compare until fetches see its predicates.
    pub delay: u32,
}

/// A line of the text whose accesses missed the level that they look at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissingLine {
    /// From 1.
    pub line: u32,
    /// The accesses of loads, stores and prefetches.
    pub accesses: u64,
    pub misses: u64,
    /// The cycles spent waiting for values loaded here.
    pub stalls: u64,
}

/// The accesses of a run and the cycles that were waited for them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryCounts {
    /// The first level first.
    pub levels: Vec<LevelCounts>,
    /// Cycles in which nothing issued because a value was not there that a hit would have brought.
    pub stalls: u64,
    /// Ascending, those with misses or stalls.
    pub lines: Vec<MissingLine>,
}

type Line = (Producer, Option<Consumer>, u8);

const ITANIUM: &[Line] = &[
    (Producer::Alu, Some(Consumer::Multimedia), 3),
    (Producer::Logic, Some(Consumer::Multimedia), 3),
    (Producer::Logic, Some(Consumer::Address), 2),
    (Producer::Logic, Some(Consumer::FloatAddress), 2),
    (Producer::Extension, Some(Consumer::Address), 2),
    (Producer::Extension, Some(Consumer::FloatAddress), 2),
    (Producer::Compare, Some(Consumer::BranchPredicate), 0),
    (Producer::Load, None, 2),
    (Producer::Load, Some(Consumer::Address), 3),
    (Producer::Load, Some(Consumer::FloatAddress), 3),
    (Producer::Load, Some(Consumer::Multimedia), 3),
    (Producer::FloatLoad, None, 9),
    (Producer::FloatArithmetic, None, 5),
    (Producer::FloatArithmetic, Some(Consumer::FloatMisc), 7),
    (Producer::FloatArithmetic, Some(Consumer::StoreFloat), 8),
    (Producer::FloatArithmetic, Some(Consumer::GetFloat), 7),
    (Producer::FloatMisc, None, 5),
    (Producer::FloatMisc, Some(Consumer::StoreFloat), 8),
    (Producer::FloatMisc, Some(Consumer::GetFloat), 7),
    (Producer::FloatCompare, None, 2),
    (Producer::FloatCompare, Some(Consumer::BranchPredicate), 1),
    (Producer::FloatConvert, None, 7),
    (Producer::FloatConvert, Some(Consumer::StoreFloat), 8),
    (Producer::SetFloat, None, 9),
    (Producer::SetFloat, Some(Consumer::StoreFloat), 8),
    (Producer::SetFloat, Some(Consumer::GetFloat), 8),
    (Producer::GetFloat, None, 2),
    (Producer::Multimedia, None, 4),
    (Producer::Multimedia, Some(Consumer::Multimedia), 2),
    (Producer::FromBranch, None, 2),
    (Producer::FromApplication, None, 13),
    (Producer::FromApplicationMemory, None, 6),
];
const ITANIUM2: &[Line] = &[
    (Producer::Compare, Some(Consumer::BranchPredicate), 0),
    (Producer::Load, None, 1),
    (Producer::Load, Some(Consumer::Address), 2),
    (Producer::Load, Some(Consumer::FloatAddress), 2),
    (Producer::Load, Some(Consumer::Multimedia), 2),
    (Producer::Alu, Some(Consumer::Multimedia), 3),
    (Producer::Logic, Some(Consumer::Multimedia), 3),
    (Producer::FloatLoad, None, 6),
    (Producer::FloatArithmetic, None, 4),
    (Producer::FloatMisc, None, 4),
    (Producer::FloatCompare, None, 2),
    (Producer::FloatCompare, Some(Consumer::BranchPredicate), 1),
    (Producer::FloatConvert, None, 4),
    (Producer::SetFloat, None, 5),
    (Producer::SetFloat, Some(Consumer::StoreFloat), 6),
    (Producer::SetFloat, Some(Consumer::GetFloat), 6),
    (Producer::GetFloat, None, 5),
    (Producer::Multimedia, None, 3),
    (Producer::Multimedia, Some(Consumer::Multimedia), 2),
    (Producer::Multimedia, Some(Consumer::Other), 2),
    (Producer::Multimedia, Some(Consumer::FloatAddress), 2),
    (Producer::FromBranch, None, 2),
    (Producer::FromApplication, None, 13),
    (Producer::FromApplicationMemory, None, 6),
];

impl Timing {
    /// A processor whose latencies are 1 but for these lines, of which later ones count.
    #[must_use]
    pub fn new(name: &str, dispersal: Dispersal, lines: &[Latency]) -> Timing {
        let mut latencies = [[1; CONSUMERS]; PRODUCERS];
        for line in lines {
            let row = &mut latencies[line.from as usize];
            match line.to {
                None => *row = [line.cycles; CONSUMERS],
                Some(to) => row[to as usize] = line.cycles,
            }
        }
        Timing {
            name: name.to_owned(),
            dispersal,
            taken: 0,
            caches: None,
            branches: None,
            latencies,
        }
    }
    #[must_use]
    pub fn itanium() -> Timing {
        Timing::of("itanium", Dispersal::Itanium, ITANIUM)
    }
    #[must_use]
    pub fn itanium2() -> Timing {
        Timing::of("itanium2", Dispersal::Itanium2, ITANIUM2)
    }
    fn of(name: &str, dispersal: Dispersal, lines: &[Line]) -> Timing {
        let lines: Vec<Latency> = lines
            .iter()
            .map(|&(from, to, cycles)| Latency { from, to, cycles })
            .collect();
        Timing::new(name, dispersal, &lines)
    }
    /// The processor that has so many M units; none where none is simulated.
    #[must_use]
    pub fn of_units(m: u32) -> Option<Timing> {
        match m {
            2 => Some(Timing::itanium()),
            4 => Some(Timing::itanium2()),
            _ => None,
        }
    }
    /// The processor of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Timing> {
        match name {
            "itanium" => Some(Timing::itanium()),
            "itanium2" => Some(Timing::itanium2()),
            _ => None,
        }
    }
    #[must_use]
    pub fn latency(&self, from: Producer, to: Consumer) -> u8 {
        self.latencies[from as usize][to as usize]
    }
}

/// Returns where a value of this operation comes from.
fn producer(inst: &Inst) -> Producer {
    use super::op::Alu;
    match &inst.op {
        Op::Alu { op, .. } => match op {
            Alu::Add | Alu::AddOne | Alu::Sub | Alu::SubOne => Producer::Alu,
            _ => Producer::Logic,
        },
        Op::ShiftAdd { .. } => Producer::Alu,
        Op::One { op, .. } => match op {
            One::SignExtend(_) | One::ZeroExtend(_) => Producer::Extension,
            _ => Producer::Multimedia,
        },
        Op::Lanes { .. } | Op::Permute { .. } | by_register!() => Producer::Multimedia,
        Op::Compare { .. } | Op::TestBit { .. } | Op::TestNat { .. } => Producer::Compare,
        Op::Load { .. } | Op::LoadPair { .. } | Op::Atomic { .. } => Producer::Load,
        Op::LoadFloat { .. } => Producer::FloatLoad,
        Op::Fused { .. } => Producer::FloatArithmetic,
        Op::CompareFloat { .. } | Op::ClassFloat { .. } => Producer::FloatCompare,
        Op::Multiply { .. } | Op::ToInteger { .. } | Op::FromInteger { .. } => {
            Producer::FloatConvert
        }
        Op::MinMax { .. }
        | Op::Merge { .. }
        | Op::Sign { .. }
        | Op::Select { .. }
        | Op::Bits { .. }
        | Op::Reciprocal { .. }
        | Op::ReciprocalRoot { .. } => Producer::FloatMisc,
        Op::SetFloat { .. } => Producer::SetFloat,
        Op::GetFloat { .. } => Producer::GetFloat,
        Op::FromBranch { .. } | Op::FromPredicates { .. } => Producer::FromBranch,
        Op::FromApplication { .. } if inst.unit == Slot::M => Producer::FromApplicationMemory,
        Op::FromApplication { .. } => Producer::FromApplication,
        _ => Producer::Other,
    }
}

fn consumer(op: &Op, what: Use) -> Consumer {
    match what {
        Use::Address => {
            return match op {
                Op::LoadFloat { .. }
                | Op::StoreFloat { .. }
                | Op::Prefetch { .. }
                | Op::Atomic { .. } => Consumer::FloatAddress,
                _ => Consumer::Address,
            };
        }
        Use::Predicate => return Consumer::Predicate,
        Use::BranchPredicate => return Consumer::BranchPredicate,
        Use::BranchRegister => return Consumer::Integer,
        Use::Data => {}
    }
    match op {
        Op::Fused { .. } => Consumer::FloatArithmetic,
        Op::StoreFloat { .. } => Consumer::StoreFloat,
        Op::GetFloat { .. } => Consumer::GetFloat,
        Op::Lanes { .. } | Op::Permute { .. } | by_register!() => Consumer::Multimedia,
        Op::One { op, .. } => match op {
            One::SignExtend(_) | One::ZeroExtend(_) => Consumer::Other,
            _ => Consumer::Multimedia,
        },
        Op::Compare { .. }
        | Op::TestBit { .. }
        | Op::TestNat { .. }
        | Op::SetFloat { .. }
        | Op::ToBranch { .. }
        | Op::ToPredicates { .. }
        | Op::ToApplication { .. }
        | Op::CheckNat { .. } => Consumer::Other,
        Op::MinMax { .. }
        | Op::CompareFloat { .. }
        | Op::ClassFloat { .. }
        | Op::Multiply { .. }
        | Op::ToInteger { .. }
        | Op::FromInteger { .. }
        | Op::Merge { .. }
        | Op::Sign { .. }
        | Op::Select { .. }
        | Op::Bits { .. }
        | Op::Reciprocal { .. }
        | Op::ReciprocalRoot { .. } => Consumer::FloatMisc,
        _ => Consumer::Integer,
    }
}

/// The register that an access moves on: ready like a sum, not like a loaded value.
fn base(op: &Op) -> Option<Reg> {
    match *op {
        Op::Load { base, .. }
        | Op::Store { base, .. }
        | Op::LoadFloat { base, .. }
        | Op::StoreFloat { base, .. }
        | Op::Prefetch { base, .. } => Some(Reg::general(base)),
        _ => None,
    }
}

/// The bundles and ports taken in the current cycle.
#[derive(Clone, Copy, Default)]
struct Window {
    bundles: u8,
    last: Option<u32>,
    first: &'static str,
    /// True if a branch that is none closed the first bundle.
    branch: bool,
    /// The M ports taken, and those of them by loads, by stores, and by instructions with one port alone.
    m: u8,
    loads: u8,
    stores: u8,
    getf: u8,
    /// The I ports taken by instructions that can't go to an M port, by those that can, and whether the first
    /// is taken.
    i: u8,
    a: u8,
    first_i: bool,
    last_i: bool,
    f: u8,
}

/// A register that the instructions of a cycle write.
struct Pending {
    id: Id,
    from: Producer,
    /// The index of the access whose value it holds.
    access: Option<usize>,
}

/// The last write of a register.
#[derive(Clone, Copy)]
struct Cell {
    /// The cycle in which it issued.
    issued: u64,
    from: Producer,
    /// Cycles that it takes longer since it missed, and the line of the load.
    later: u64,
    line: u32,
}

const NEVER: Cell = Cell {
    issued: 0,
    from: Producer::Other,
    later: 0,
    line: 0,
};

/// The caches of a run, and the waits.
struct Waits {
    state: CacheState,
    blocking: bool,
    stalls: u64,
    lines: rustc_hash::FxHashMap<u32, MissingLine>,
}

impl Waits {
    fn line(&mut self, line: u32) -> &mut MissingLine {
        self.lines.entry(line).or_insert(MissingLine {
            line,
            accesses: 0,
            misses: 0,
            stalls: 0,
        })
    }
    fn stalled(&mut self, line: u32, cycles: u64) {
        if cycles > 0 {
            self.stalls += cycles;
            self.line(line).stalls += cycles;
        }
    }
}

/// The cycle counter of a run.
pub(super) struct Clock<'a> {
    timing: &'a Timing,
    now: u64,
    /// The cycle at which all operands are available; that at which they would be if all loads had hit; the
    /// line of the load that is waited for longest.
    ready: u64,
    ready_if_hit: u64,
    awaited: u32,
    any: bool,
    window: Window,
    pending: Vec<Pending>,
    /// Accesses of the cycle with their lines.
    accesses: Vec<(Access, u32)>,
    cells: Vec<Cell>,
    waits: Option<Waits>,
    /// The cycles that pass behind the gathered instructions.
    penalty: u64,
}

impl<'a> Clock<'a> {
    pub(super) fn new(timing: &'a Timing) -> Clock<'a> {
        Clock {
            timing,
            now: 0,
            ready: 0,
            ready_if_hit: 0,
            awaited: 0,
            any: false,
            window: Window::default(),
            pending: Vec::new(),
            accesses: Vec::new(),
            cells: Vec::new(),
            waits: timing.caches.as_ref().map(|caches| Waits {
                state: CacheState::new(caches),
                blocking: caches.blocking,
                stalls: 0,
                lines: rustc_hash::FxHashMap::default(),
            }),
            penalty: 0,
        }
    }
    /// The counts of accesses, if there are caches.
    pub(super) fn memory(&self) -> Option<MemoryCounts> {
        let waits = self.waits.as_ref()?;
        let lines = waits.lines.values().copied();
        let mut lines: Vec<MissingLine> = lines
            .filter(|line| line.misses > 0 || line.stalls > 0)
            .collect();
        lines.sort_unstable_by_key(|line| line.line);
        Some(MemoryCounts {
            levels: waits.state.counts().to_vec(),
            stalls: waits.stalls,
            lines,
        })
    }
    /// Adds cycles in which nothing issues behind the gathered instructions.
    pub(super) const fn mispredicted(&mut self, penalty: u32) {
        self.penalty += penalty as u64;
    }
    pub(super) fn cycles(&self) -> u64 {
        self.now
    }

    /// `reads` and `writes`: registers with the names that the instruction has for them; `accesses`: of memory.
    pub(super) fn issue(
        &mut self,
        inst: &Inst,
        shape: &'static str,
        reads: impl IntoIterator<Item = (Id, Reg, Use)>,
        writes: impl IntoIterator<Item = (Id, Reg)>,
        accesses: &[Access],
    ) {
        if self.any && !self.joins(inst, shape) {
            self.close();
        }
        self.any = true;
        self.take(inst, shape);
        for (id, name, what) in reads {
            // A loop branch reads its counters where it stands.
            if matches!(inst.op, Op::Branch { .. }) && name.file == File::Application {
                continue;
            }
            let Some(&cell) = self.cells.get(id as usize) else {
                continue;
            };
            let latency = self.timing.latency(cell.from, consumer(&inst.op, what));
            let hit = cell.issued + u64::from(latency);
            self.ready_if_hit = self.ready_if_hit.max(hit);
            if hit + cell.later > self.ready {
                self.ready = hit + cell.later;
                self.awaited = cell.line;
            }
        }
        let mut access = None;
        if self.waits.is_some() && !accesses.is_empty() {
            access = Some(self.accesses.len());
            self.accesses
                .extend(accesses.iter().map(|access| (*access, inst.line)));
        }
        let base = base(&inst.op);
        let from = producer(inst);
        for (id, name) in writes {
            let (from, access) = match base == Some(name) {
                true => (Producer::Alu, None),
                false => (from, access),
            };
            self.pending.push(Pending { id, from, access });
        }
    }

    pub(super) fn end_group(&mut self, taken: bool) {
        if self.any {
            self.close();
        }
        if taken {
            self.now += u64::from(self.timing.taken);
        }
    }

    /// Issues the gathered instructions.
    fn close(&mut self) {
        let at = self.now.max(self.ready);
        let mut blocked = 0;
        // By access: cycles that its value comes later, and its line.
        let mut later: Vec<(u64, u32)> = Vec::new();
        if let Some(waits) = &mut self.waits {
            let if_hit = self.now.max(self.ready_if_hit);
            waits.stalled(self.awaited, at - if_hit.min(at));
            for (access, line) in self.accesses.drain(..) {
                let answer = waits.state.access(&access, at);
                let counted = waits.line(line);
                counted.accesses += 1;
                counted.misses += u64::from(!answer.hit);
                let load = access.kind == AccessKind::Load;
                later.push((if load { answer.later } else { 0 }, line));
            }
            if waits.blocking
                && let Some(&(longest, line)) = later.iter().max_by_key(|(cycles, _)| *cycles)
            {
                blocked = longest;
                waits.stalled(line, longest);
                later.fill((0, 0));
            }
        }
        for Pending { id, from, access } in self.pending.drain(..) {
            let id = id as usize;
            if self.cells.len() <= id {
                self.cells.resize(id + 1, NEVER);
            }
            let (later, line) = access.map_or((0, 0), |access| later[access]);
            self.cells[id] = Cell {
                issued: at + blocked,
                from,
                later,
                line,
            };
        }
        self.now = at + 1 + blocked + self.penalty;
        self.penalty = 0;
        self.ready = 0;
        self.ready_if_hit = 0;
        self.awaited = 0;
        self.any = false;
        self.window = Window::default();
    }

    /// Returns true if the instruction issues with those of the cycle.
    fn joins(&self, inst: &Inst, shape: &str) -> bool {
        let window = &self.window;
        let opens = window.last != Some(inst.bundle);
        if opens && (window.bundles >= 2 || !self.pair(shape)) {
            return false;
        }
        let second = window.bundles == 2 || opens;
        match self.timing.dispersal {
            Dispersal::Itanium => itanium(window, inst, second),
            Dispersal::Itanium2 => itanium2(window, inst),
        }
    }

    fn pair(&self, second: &str) -> bool {
        let first = self.window.first;
        if self.window.branch || matches!(first, "mbb" | "bbb") {
            return false;
        }
        if second == "bbb" && !matches!(first, "mii" | "mmi" | "mfi" | "mmf" | "mlx") {
            return false;
        }
        match self.timing.dispersal {
            Dispersal::Itanium => first != "mmf" && second != "mmf",
            Dispersal::Itanium2 => second != "mlx" || first != "mii",
        }
    }

    fn take(&mut self, inst: &Inst, shape: &'static str) {
        let window = &mut self.window;
        if window.last != Some(inst.bundle) {
            if window.bundles == 0 {
                window.first = shape;
            }
            window.bundles += 1;
            window.last = Some(inst.bundle);
        }
        let kind = kind(inst);
        match inst.unit {
            Slot::M => {
                window.m += 1;
                window.loads += u8::from(kind == Kind::Load);
                window.stores += u8::from(kind == Kind::Store);
                window.getf += u8::from(kind == Kind::Single);
            }
            Slot::I | Slot::Long => {
                if kind == Kind::Alu {
                    window.a += 1;
                } else {
                    window.i += 1;
                }
                let to_last = window.first_i || (window.bundles == 2 && inst.position == 2);
                window.last_i |= to_last;
                window.first_i |= !to_last;
            }
            Slot::F => window.f += 1,
            _ => {
                let idle = is_nop(inst) || inst.mnemonic.starts_with("brp");
                window.branch |= !idle;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    /// The one M port that reads registers which others can't.
    Single,
    /// The first I port alone.
    First,
    /// The first F port alone, on Itanium.
    FirstFloat,
    /// Goes to I or M ports.
    Alu,
    Any,
}

fn kind(inst: &Inst) -> Kind {
    match &inst.op {
        Op::Load { .. }
        | Op::LoadPair { .. }
        | Op::Prefetch { .. }
        | Op::CheckAdvanced { .. }
        | Op::LoadFloat {
            second: Some(_), ..
        } => Kind::Load,
        Op::Store { .. }
        | Op::StorePair { .. }
        | Op::StoreFloat { .. }
        | Op::Atomic { .. }
        | Op::SetFloat { .. }
        | Op::CheckNat { .. } => Kind::Store,
        Op::GetFloat { .. } => Kind::Single,
        Op::FromApplication { .. } | Op::ToApplication { .. } => {
            if inst.unit == Slot::M {
                Kind::Single
            } else {
                Kind::First
            }
        }
        Op::Fence if inst.mnemonic.starts_with("mf") => Kind::Store,
        by_register!() => Kind::Any,
        Op::One {
            op: One::Population,
            ..
        } => Kind::First,
        Op::Shift { .. }
        | Op::Extract { .. }
        | Op::Deposit { .. }
        | Op::Funnel { .. }
        | Op::TestBit { .. }
        | Op::TestNat { .. }
        | Op::FromBranch { .. }
        | Op::ToBranch { .. }
        | Op::FromPredicates { .. }
        | Op::ToPredicates { .. }
        | Op::ToRotating { .. }
        | Op::Lanes {
            op: Lanes::MultiplyLeft | Lanes::MultiplyRight | Lanes::MultiplyShift { .. },
            ..
        } => Kind::First,
        Op::CompareFloat { .. }
        | Op::ClassFloat { .. }
        | Op::MinMax { .. }
        | Op::Merge { .. }
        | Op::Sign { .. }
        | Op::Select { .. }
        | Op::Bits { .. }
        | Op::Reciprocal { .. }
        | Op::ReciprocalRoot { .. } => Kind::FirstFloat,
        _ if inst.native == Slot::A => Kind::Alu,
        _ => Kind::Any,
    }
}

fn itanium(window: &Window, inst: &Inst, second: bool) -> bool {
    let kind = kind(inst);
    match inst.unit {
        Slot::M => {
            let only_first = kind == Kind::Single || inst.mnemonic.starts_with("mf");
            window.m < 2 && !(only_first && window.m > 0)
        }
        Slot::I | Slot::Long => {
            let last = window.first_i || (second && inst.position == 2);
            if last {
                !window.last_i && kind != Kind::First
            } else {
                true
            }
        }
        Slot::F => window.f < 2 && !(second && kind == Kind::FirstFloat),
        _ => true,
    }
}

fn itanium2(window: &Window, inst: &Inst) -> bool {
    let kind = kind(inst);
    let (mut m, mut i, mut a) = (window.m, window.i, window.a);
    match inst.unit {
        Slot::M => {
            let (loads, stores, single) = (window.loads, window.stores, window.getf);
            let room = match kind {
                Kind::Load => loads < 2,
                Kind::Store => stores + single < 2,
                Kind::Single => single < 1 && stores < 2,
                _ => true,
            };
            if !room {
                return false;
            }
            m += 1;
        }
        Slot::I | Slot::Long => {
            if kind == Kind::First && window.first_i && window.i > 0 {
                return false;
            }
            if kind == Kind::Alu {
                a += 1;
            } else {
                i += 1;
            }
        }
        Slot::F => return window.f < 2,
        _ => return true,
    }
    // What goes to I ports alone, and what is left of the others on the M ports.
    i <= 2 && m + (i + a).saturating_sub(2) <= 4
}
