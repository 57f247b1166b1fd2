//! A checker of bundles that shares no code with the packing: each instruction of a block stands in them
//! once, in slots that serve it, in templates that exist, behind all that it depends on, and with a stop
//! between where the architecture asks for one.
//!
//! ```text
//! ld8 r14 = [r32]          { .mii  ld8 r14 = [r32]  add r15 = 1, r14  nop.i 0 ;; }
//! add r15 = 1, r14         the bundle has no stop between instructions 0 and 1, which depend through r14
//! ```
//!
//! Every two instructions of which the second does not stand in a later group are compared by the registers
//! that they read and write according to the instruction set (`relation`), with the predicates under which
//! both never execute (`guards`) and the addresses that are a known distance apart (`addresses`), both
//! followed from the label in front of the block. Templates and slots are a table of the checker's own
//! (`templates`). Quadratic in the instructions of a block; constant for pairs that are in order and in
//! different groups.
//!
//! Does not ask for latencies, since an instruction that reads too early waits, nor for the width of the
//! machine, which issues a group in as many cycles as it takes, nor which bits of `ar.unat` the spills of a
//! group write.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 1, section 3.4; volume 3, sections 4.1 and
//! 5.3.

mod addresses;
mod guards;
mod relation;
mod templates;

use super::laid::{Laid, Written};
use crate::target::ia64::relations::Promise;
use addresses::{Area, areas};
use guards::Guards;
use isa::ia64::{Class, Inst};
pub use relation::Through;
use relation::relation;
use std::ops::Range;

/// A fault of a block's bundles. Instructions are counted in the block as it was, bundles in the result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    #[error("the block has no instruction {instruction}")]
    Foreign { instruction: usize },
    #[error("instruction {instruction} stands nowhere")]
    Missing { instruction: usize },
    #[error("instruction {instruction} stands twice")]
    Twice { instruction: usize },
    /// The slots of the template in order, `;` for a stop; empty: the bundle has none.
    #[error("bundle {bundle}: no template is `{template}`")]
    Template { bundle: u32, template: String },
    #[error("bundle {bundle} has {slots} slots, and {written} are written")]
    Slots {
        bundle: u32,
        slots: u32,
        written: u32,
    },
    #[error("bundle {bundle}: slot {slot} does not take what stands there")]
    Unit { bundle: u32, slot: u32 },
    #[error("bundle {bundle}: loop branch {instruction} stands in slot {slot}, not in slot 2")]
    LoopBranch {
        bundle: u32,
        slot: u32,
        instruction: usize,
    },
    /// A label or a directive, which bundles cannot hold.
    #[error(
        "a label or a directive stands in front of instruction {instruction}, inside of the block"
    )]
    Mark { instruction: usize },
    #[error(
        "instruction {second} does not stand behind instruction {first}, on which it depends through {through}"
    )]
    Order {
        first: usize,
        second: usize,
        through: Through,
    },
    #[error(
        "there is no stop between instructions {first} and {second}, which depend through {through}"
    )]
    Stop {
        first: usize,
        second: usize,
        through: Through,
    },
    #[error("instruction {instruction} does not begin its group")]
    First { instruction: usize },
    #[error("instruction {instruction} does not end its group")]
    Last { instruction: usize },
    #[error("instruction {second} of cycle {} stands in front of {first} of cycle {}, or in its group", .cycles[1], .cycles[0])]
    Cycle {
        first: usize,
        second: usize,
        cycles: [u32; 2],
    },
    #[error("no stop ends the last group")]
    Open,
}

/// The extent of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    pub instructions: u32,
    pub bundles: u32,
    /// Pairs that depend on each other and stand in one group.
    pub together: u32,
}

/// A block of a region, as it was before it was packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block<'a> {
    /// The first of the region's instructions that belongs to it, and the first behind.
    pub start: usize,
    pub end: usize,
    /// The numbers of the region's instructions that stand directly behind a label or a directive.
    pub marks: &'a [usize],
    /// The cycle of each instruction where a schedule decided it; else empty.
    pub cycles: &'a [u32],
}

/// Instructions that are only entered at their start, from one label to the next, and the facts about them.
#[derive(Debug)]
pub struct Region<'a> {
    insts: Vec<&'a Inst>,
    guards: Guards,
    areas: Vec<Option<Area>>,
}

/// A place in the result.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stand {
    /// Slots in front of it.
    position: u32,
    /// Stops in front of it.
    group: u32,
}

impl<'a> Region<'a> {
    /// The region of these instructions. `promises`: the author's statements about predicates, by
    /// instruction.
    #[must_use]
    pub fn new(insts: Vec<&'a Inst>, promises: &[Promise]) -> Region<'a> {
        Region {
            guards: Guards::new(&insts, promises),
            areas: areas(&insts),
            insts,
        }
    }

    /// Checks the packed form of a block.
    ///
    /// # Errors
    /// The first fault that is found.
    pub fn check(&mut self, block: Block<'_>, laid: &[Laid]) -> Result<Compared, Violation> {
        let own = block.start..block.end;
        if let Some(&mark) = block
            .marks
            .iter()
            .find(|&&mark| own.start < mark && mark < own.end)
        {
            let instruction = mark - own.start;
            return Err(Violation::Mark { instruction });
        }
        let stands = stands(&self.insts[own.clone()], laid)?;
        self.cycles(block.cycles, &stands)?;
        let together = self.pairs(own, &stands)?;
        let bundles = laid
            .iter()
            .filter(|piece| matches!(piece, Laid::Bundle(..)));
        Ok(Compared {
            instructions: stands.iter().flatten().count() as u32,
            bundles: bundles.count() as u32,
            together,
        })
    }

    /// Instructions of different cycles stand in different groups, in order.
    fn cycles(&self, cycles: &[u32], stands: &[Option<Stand>]) -> Result<(), Violation> {
        let mut order: Vec<(Stand, usize)> = stands
            .iter()
            .zip(0..cycles.len())
            .filter_map(|(stand, at)| Some(((*stand)?, at)))
            .collect();
        order.sort_by_key(|(stand, _)| stand.position);
        for pair in order.windows(2) {
            let [(before, first), (behind, second)] = [pair[0], pair[1]];
            let (early, late) = (cycles[first], cycles[second]);
            if early > late || (early < late && before.group == behind.group) {
                // The later cycle is named second, wherever it stands.
                let (first, second) = if early > late {
                    (second, first)
                } else {
                    (first, second)
                };
                return Err(Violation::Cycle {
                    first,
                    second,
                    cycles: [cycles[first], cycles[second]],
                });
            }
        }
        Ok(())
    }

    fn pairs(&mut self, own: Range<usize>, stands: &[Option<Stand>]) -> Result<u32, Violation> {
        let mut together = 0;
        for second in 0..stands.len() {
            for first in 0..second {
                let (Some(from), Some(to)) = (stands[first], stands[second]) else {
                    continue;
                };
                if from.group < to.group {
                    continue;
                }
                let (from_at, to_at) = (own.start + first, own.start + second);
                let exclusive = self.guards.exclude(from_at, to_at);
                let areas = [self.areas[from_at], self.areas[to_at]];
                let Some(need) = relation(self.insts[from_at], self.insts[to_at], exclusive, areas)
                else {
                    continue;
                };
                let through = need.through;
                if from.position > to.position {
                    return Err(Violation::Order {
                        first,
                        second,
                        through,
                    });
                }
                if need.stop {
                    return Err(Violation::Stop {
                        first,
                        second,
                        through,
                    });
                }
                together += 1;
            }
        }
        Ok(together)
    }
}

/// The place of each instruction of a block; `None`: it is a `nop` that was left out.
fn stands(insts: &[&Inst], laid: &[Laid]) -> Result<Vec<Option<Stand>>, Violation> {
    let mut out: Vec<Option<Stand>> = vec![None; insts.len()];
    // Slots and stops in front, and whether a stop stands directly in front.
    let (mut position, mut group, mut begins) = (0, 0, true);
    // An instruction behind which its group must end.
    let mut last: Option<usize> = None;
    let mut bundle = 0;
    for piece in laid {
        let alone;
        let slots = match piece {
            Laid::Bundle(template, slots) => {
                templates::bundle(bundle, template, slots, insts)?;
                bundle += 1;
                slots.as_slice()
            }
            Laid::Alone(instruction, stop) => {
                alone = [Written::Instruction(*instruction, *stop)];
                alone.as_slice()
            }
        };
        for &slot in slots {
            if let Some(instruction) = last.filter(|_| !begins) {
                return Err(Violation::Last { instruction });
            }
            let (Written::Instruction(_, stop) | Written::Nop(_, stop)) = slot;
            if let Written::Instruction(instruction, _) = slot {
                let stand = out
                    .get_mut(instruction)
                    .ok_or(Violation::Foreign { instruction })?;
                if stand.replace(Stand { position, group }).is_some() {
                    return Err(Violation::Twice { instruction });
                }
                if insts[instruction].first && !begins {
                    return Err(Violation::First { instruction });
                }
                last = insts[instruction].last.then_some(instruction);
            }
            position += 1;
            begins = stop;
            group += u32::from(stop);
        }
    }
    if !begins {
        return Err(Violation::Open);
    }
    let missing = (0..insts.len()).find(|&at| out[at].is_none() && insts[at].class != Class::Nop);
    match missing {
        Some(instruction) => Err(Violation::Missing { instruction }),
        None => Ok(out),
    }
}
