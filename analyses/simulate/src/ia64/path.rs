//! Cycles of a straight way through a text: instructions one behind the other, as if each were executed, by the clock of
//! the simulator.
//!
//! ```text
//! the end of the block in front · the block · the block behind it      9 cycles, with what the second waits for
//! ```
//!
//! Registers are those that instructions name; renaming by a taken branch is not followed. The false
//! predicates are given: the instructions that they qualify issue, and read and write nothing. The registers
//! of each instruction are given, too, by the *item* that it is: the caller has numbered the instructions of
//! the text.

use super::program::{Inst, Program};
use super::state::Use;
use super::timing::{Clock as IssueClock, Timing};
use isa::ia64::{Clock, File, Reg, WayPart};
use std::ops::Range;
use syntax::ia64::Document;

/// A text with its bundles, and its instructions in them.
#[derive(Debug)]
pub struct Laid {
    program: Program,
    /// Indexed by instruction of the program: its item; `None` for fillers.
    items: Vec<Option<u32>>,
    /// Indexed by item.
    places: Vec<Option<usize>>,
    insts: Vec<isa::ia64::Inst>,
}

/// The clock of a processor that is simulated.
#[derive(Debug)]
pub struct SimulatedClock(Timing);

impl SimulatedClock {
    /// The clock of a processor with this many units for memory; none where it is not simulated.
    #[must_use]
    pub fn of_units(memory: u32) -> Option<SimulatedClock> {
        Timing::of_units(memory).map(SimulatedClock)
    }
}

impl Clock for SimulatedClock {
    type Document = Document;
    type Laid = Laid;

    fn laid(&self, document: &Document, text: &str, items: &[(u32, isa::ia64::Inst)]) -> Laid {
        Laid::new(document, text, items)
    }

    fn cycles(&self, way: &[WayPart<'_, Laid>], off: u64) -> u64 {
        cycles(&self.0, way, off)
    }
}

impl Laid {
    /// `items`: the statement of each and the registers that it reads and writes, in order.
    fn new(document: &Document, text: &str, items: &[(u32, isa::ia64::Inst)]) -> Laid {
        let (program, _) = Program::new(document, text);
        let mut places = vec![None; items.len()];
        let number = |statement: u32| {
            let found = items.binary_search_by_key(&statement, |item| item.0);
            found.ok().map(|item| item as u32)
        };
        let numbers: Vec<Option<u32>> = program
            .insts
            .iter()
            .map(|inst| number(inst.statement?))
            .collect();
        for (at, number) in numbers.iter().enumerate() {
            if let Some(number) = number {
                places[*number as usize] = Some(at);
            }
        }
        Laid {
            program,
            items: numbers,
            places,
            insts: items.iter().map(|item| item.1.clone()).collect(),
        }
    }

    /// Returns the places of items, with the nops that fill the bundle of the last one.
    fn range(&self, items: &Range<u32>) -> Option<Range<usize>> {
        let mut places = self.places[items.start as usize..items.end as usize]
            .iter()
            .flatten();
        let first = *places.next()?;
        let last = *places.next_back().unwrap_or(&first);
        let insts = &self.program.insts;
        let behind = self.items[last + 1..]
            .iter()
            .zip(&insts[last + 1..])
            .take_while(|(item, inst)| item.is_none() && inst.bundle == insts[last].bundle);
        let end = last + 1 + behind.count();
        Some(first..end)
    }
}

/// Cycles until all of the way has issued; predicates in `off` (a bit each) are false.
fn cycles(timing: &Timing, way: &[WayPart<'_, Laid>], off: u64) -> u64 {
    let mut clock = IssueClock::new(timing);
    let mut bundles = 0;
    for part in way {
        let Some(range) = part.laid.range(&part.items) else {
            continue;
        };
        let program = &part.laid.program;
        let first = program.insts[range.start].bundle;
        let mut last = first;
        for at in range {
            let inst = &program.insts[at];
            last = inst.bundle;
            // Bundles of two texts are different ones.
            let placed = Inst {
                bundle: bundles + inst.bundle - first,
                ..inst.clone()
            };
            let own = part.laid.items[at].map(|item| &part.laid.insts[item as usize]);
            let (reads, writes) = own.map_or_else(Default::default, |own| effects(own, off));
            clock.issue(&placed, program.shape(inst.bundle), reads, writes, &[]);
            if inst.stop {
                clock.end_group(false);
            }
        }
        bundles += last - first + 1;
        if part.jumps {
            clock.end_group(true);
        }
    }
    clock.end_group(false);
    clock.cycles()
}

type Reads = Vec<(u32, Reg, Use)>;
type Writes = Vec<(u32, Reg)>;

fn effects(inst: &isa::ia64::Inst, off: u64) -> (Reads, Writes) {
    let executes = inst.predicate == 0 || off >> (inst.predicate & 63) & 1 == 0;
    let counted = |register: Reg| !matches!(register.file, File::Control | File::Special);
    let id = |register: Reg| 256 * register.file as u32 + u32::from(register.number);
    let reads = inst
        .uses
        .iter()
        .filter(|&&register| counted(register))
        .filter(|register| {
            let own = **register == Reg::predicate(inst.predicate);
            executes || own
        })
        .map(|&register| {
            let what = match register.file {
                File::Predicate if inst.branch.is_some_and(|kind| kind != isa::Branch::Check) => {
                    Use::BranchPredicate
                }
                File::Predicate => Use::Predicate,
                File::Branch => Use::BranchRegister,
                _ if inst.memory.is_some_and(|memory| memory.base == register) => Use::Address,
                _ => Use::Data,
            };
            (id(register), register, what)
        })
        .collect();
    let writes = inst
        .defs
        .iter()
        .filter(|def| counted(def.register) && (executes || def.always))
        .map(|def| (id(def.register), def.register))
        .collect();
    (reads, writes)
}
