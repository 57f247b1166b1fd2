//! The blocks of a file as bundles, and the checker's verdict on each.
//!
//! A block without decided cycles is packed; one whose cycles a pipeliner decided gets the bundles that keep
//! its groups. Blocks end at labels, directives and branches; dependences are looked for from one label to
//! the next, as in a listing of text. A block in whose bundles the checker finds a fault is one instruction a
//! group.

use super::assembly::{Assembly, Entry, Instruction};
use super::decided;
use super::emit::Unbundled;
use super::listing::LARGEST;
use super::rebundle::{bundles, pack};
use super::stand::of_block;
use crate::machine::epic::Epic;
use crate::target::ia64::bundle::block::Choice;
use crate::target::ia64::bundle::check;
use crate::target::ia64::bundle::laid::Laid;
use crate::target::ia64::dependence::data_dependences;
use crate::target::ia64::rows::Rows;
use isa::ia64::Inst;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The choices for the layout of a file.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Subsets that are looked at in each block; `None`: only blocks with decided cycles are put into
    /// bundles.
    pub(super) decisions: Option<usize>,
    pub(super) checked: bool,
}

/// The blocks of a file in bundles.
#[derive(Default)]
pub(super) struct Layout {
    /// The bundles of each block by its first instruction.
    pub(super) blocks: FxHashMap<usize, Vec<Laid>>,
    /// The verdict on each block that the checker was asked about, with its function.
    pub(super) checked: Vec<(u32, Result<(), Unbundled>)>,
}

impl Assembly {
    /// Lays out every block that is packed or decided, and asks the checker about each where that is wanted.
    ///
    /// # Panics
    /// In debug builds, where the checker finds a fault.
    pub(super) fn lay(&self, machine: &Epic, wanted: Wanted) -> Layout {
        let mut out = Layout::default();
        let decided = self.decided_blocks();
        let marks = self.marks();
        let rows = Rows::new(machine);
        for region in self.regions() {
            let first = region.start;
            let range = first..region.blocks.last().map_or(first, |last| last.0.end);
            let insts: Vec<&Inst> = self.instructions[range.clone()]
                .iter()
                .map(|instruction| &instruction.inst)
                .collect();
            let mut judge = Judge {
                region: wanted
                    .checked
                    .then(|| check::Region::new(insts.clone(), &[])),
                first,
                marks: marks_within(&marks, &range),
            };
            for (block, counts) in decided
                .iter()
                .filter(|(block, _)| range.contains(&block.start))
            {
                let own = &self.instructions[block.clone()];
                let laid = decided::lay(own, counts, &rows);
                let cycles: Vec<u32> = (0..)
                    .zip(*counts)
                    .flat_map(|(cycle, &count)| vec![cycle; count])
                    .collect();
                let laid = match out.judged(&mut judge, block, own, &cycles, laid) {
                    Some(laid) => laid,
                    None => Laid::one_by_one(own.len()),
                };
                out.blocks.insert(block.start, laid);
            }
            if range.len() > LARGEST || wanted.decisions.is_none() {
                continue;
            }
            let found = data_dependences(&insts, &[]);
            for (block, is_decided) in region.blocks {
                let own = &self.instructions[block.clone()];
                if is_decided || own.iter().any(|instruction| instruction.is_opaque) {
                    continue;
                }
                let insts = &insts[block.start - first..block.end - first];
                let numbers = (block.start - first) as u32..(block.end - first) as u32;
                let found = of_block(&found, 0, &numbers, insts);
                let decisions = wanted.decisions.unwrap_or(0);
                if let Ok(packed) = pack(insts, &found, machine, Choice::EagerLazy, decisions) {
                    let laid = bundles(&packed.groups);
                    if let Some(laid) = out.judged(&mut judge, &block, own, &[], laid) {
                        out.blocks.insert(block.start, laid);
                    }
                }
            }
        }
        out
    }

    /// The instructions whose cycles are decided, with the sizes of their groups.
    fn decided_blocks(&self) -> Vec<(Range<usize>, &[usize])> {
        let mut out = Vec::new();
        let mut at = 0;
        for entry in &self.entries {
            match entry {
                Entry::Instruction => at += 1,
                Entry::Decided(counts) => {
                    let count: usize = counts.iter().sum();
                    out.push((at..at + count, counts.as_slice()));
                    at += count;
                }
                Entry::Lines(_) | Entry::Label(_) => {}
            }
        }
        out
    }

    /// The instructions behind labels and directives.
    fn marks(&self) -> Vec<usize> {
        let mut out = Vec::new();
        let mut at = 0;
        for entry in &self.entries {
            match entry {
                Entry::Instruction => at += 1,
                Entry::Decided(counts) => at += counts.iter().sum::<usize>(),
                Entry::Lines(_) | Entry::Label(_) => out.push(at),
            }
        }
        out
    }

    fn regions(&self) -> Vec<Region> {
        let mut out: Vec<Region> = Vec::new();
        let mut region = Region::default();
        let (mut at, mut block, mut is_decided) = (0, 0, false);
        for entry in &self.entries {
            let mut end = |region: &mut Region, at: usize, is_decided: &mut bool| {
                if at > block {
                    region.blocks.push((block..at, *is_decided));
                }
                (block, *is_decided) = (at, false);
            };
            match entry {
                Entry::Lines(_) => end(&mut region, at, &mut is_decided),
                Entry::Label(_) => {
                    end(&mut region, at, &mut is_decided);
                    let next = Region {
                        start: at,
                        ..Region::default()
                    };
                    out.push(std::mem::replace(&mut region, next));
                }
                Entry::Instruction | Entry::Decided(_) => {
                    let count = match entry {
                        Entry::Decided(counts) => counts.iter().sum(),
                        _ => 1,
                    };
                    for _ in 0..count {
                        at += 1;
                        is_decided |= matches!(entry, Entry::Decided(_));
                        if self.instructions[at - 1].inst.ends_block() {
                            end(&mut region, at, &mut is_decided);
                        }
                    }
                }
            }
        }
        if at > block {
            region.blocks.push((block..at, is_decided));
        }
        out.push(region);
        out.retain(|region| !region.blocks.is_empty());
        out
    }
}

/// The checker of a region's blocks.
struct Judge<'a> {
    /// `None`: it is not asked.
    region: Option<check::Region<'a>>,
    first: usize,
    marks: Vec<usize>,
}

impl Layout {
    /// The bundles of a block, unless the checker finds a fault in them.
    ///
    /// # Panics
    /// In debug builds, where it does.
    fn judged(
        &mut self,
        judge: &mut Judge<'_>,
        block: &Range<usize>,
        own: &[Instruction],
        cycles: &[u32],
        laid: Vec<Laid>,
    ) -> Option<Vec<Laid>> {
        let sound = self.accepted(judge, block, own, cycles, laid);
        debug_assert!(
            sound.is_some(),
            "{:?}: {:#?}",
            self.checked.last(),
            own.iter()
                .map(|instruction| &instruction.text)
                .collect::<Vec<_>>()
        );
        sound
    }

    /// The same without a panic.
    fn accepted(
        &mut self,
        judge: &mut Judge<'_>,
        block: &Range<usize>,
        own: &[Instruction],
        cycles: &[u32],
        laid: Vec<Laid>,
    ) -> Option<Vec<Laid>> {
        let (Some(region), Some(instruction)) = (&mut judge.region, own.first()) else {
            return Some(laid);
        };
        let block = check::Block {
            start: block.start - judge.first,
            end: block.end - judge.first,
            marks: &judge.marks,
            cycles,
        };
        let verdict = region.check(block, &laid);
        let verdict = verdict.map(|_| ()).map_err(|violation| Unbundled {
            loc: instruction.loc,
            violation,
        });
        let is_sound = verdict.is_ok();
        self.checked.push((instruction.function, verdict));
        is_sound.then_some(laid)
    }
}

/// Returns the `marks` in a range, counted from its start.
fn marks_within(marks: &[usize], range: &Range<usize>) -> Vec<usize> {
    let own = marks.iter().filter(|mark| range.contains(mark));
    own.map(|mark| mark - range.start).collect()
}

/// A region that is only entered at its start, from a label to the next.
#[derive(Default)]
struct Region {
    start: usize,
    /// The blocks, each with whether something in it is decided.
    blocks: Vec<(Range<usize>, bool)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::Loc;
    use isa::ia64::{Class, Parallel, Reg, Type};

    /// `r14 = ..`, then `.. = r14`.
    fn instructions() -> Vec<Instruction> {
        let mut write = Inst::new(Some(Type::A), Class::Alu);
        write.def_of(Reg::general(14), Parallel::Alone, false);
        let mut read = Inst::new(Some(Type::A), Class::Alu);
        read.use_of(Reg::general(14));
        let of = |inst| Instruction {
            text: String::new(),
            inst,
            is_opaque: false,
            loc: Loc::NONE,
            cycle: None,
            executions: 0.0,
            function: 3,
            prologue: None,
        };
        vec![of(write), of(read)]
    }

    #[test]
    fn a_block_with_a_fault_loses_its_bundles_and_is_told_of() {
        let own = instructions();
        let insts = own.iter().map(|instruction| &instruction.inst).collect();
        let mut judge = Judge {
            region: Some(check::Region::new(insts, &[])),
            first: 0,
            marks: Vec::new(),
        };
        let mut layout = Layout::default();
        let right = Laid::one_by_one(2);
        let kept = layout.accepted(&mut judge, &(0..2), &own, &[], right.clone());
        assert_eq!(kept, Some(right));
        let wrong = vec![Laid::Alone(0, false), Laid::Alone(1, true)];
        assert_eq!(layout.accepted(&mut judge, &(0..2), &own, &[], wrong), None);
        let violation = check::Violation::Stop {
            first: 0,
            second: 1,
            through: check::Through::Register(Reg::general(14)),
        };
        let unbundled = Unbundled {
            loc: Loc::NONE,
            violation,
        };
        assert_eq!(layout.checked, [(3, Ok(())), (3, Err(unbundled))]);
    }

    #[test]
    fn nobody_is_asked_without_a_checker() {
        let own = instructions();
        let mut judge = Judge {
            region: None,
            first: 0,
            marks: Vec::new(),
        };
        let mut layout = Layout::default();
        let wrong = vec![Laid::Alone(1, true)];
        let kept = layout.accepted(&mut judge, &(0..2), &own, &[], wrong.clone());
        assert_eq!(kept, Some(wrong));
        assert_eq!(layout.checked, []);
    }
}
