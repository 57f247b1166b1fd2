//! The instructions of a file before they are text: blocks are packed into bundles, then everything is printed.
//!
//! ```text
//! label, { adds, ld8, br.ret }      f:  { .mib  adds r14 = 1, r32  nop.i 0  br.ret.sptk.many b0 ;; }
//! ```
//!
//! A block that nobody decided is a group an instruction until it is packed. Blocks end at labels, directives and branches;
//! dependences are looked for from one label to the next, as in a listing of text.

use super::decided;
use super::emit::{Emitted, Line, Report};
use super::listing::LARGEST;
use super::rebundle::{Group, Written, bundles, nop, pack};
use super::stand::of_block;
use crate::machine::epic::Epic;
use crate::target::ia64::bundle::block::Choice;
use crate::target::ia64::dependence::data_dependences;
use crate::target::ia64::rows::Rows;
use ir::Loc;
use isa::ia64::Inst;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// One instruction on the machine's registers.
pub(super) struct Instruction {
    pub(super) text: String,
    pub(super) inst: Inst,
    /// Nothing is known of it: its block stays as it is.
    pub(super) is_opaque: bool,
    pub(super) loc: Loc,
    /// In its block, where a pipeliner decided.
    pub(super) cycle: Option<u32>,
    /// Counted from 0 through the file.
    pub(super) function: u32,
    /// The directives for the unwinder in front of an instruction of the prologue; `None` behind it.
    pub(super) prologue: Option<String>,
}

enum Entry {
    /// Directives, and labels that nothing branches to: a line or several.
    Lines(String),
    Label(String),
    /// The next instruction, in a group of its own.
    Instruction,
    /// So many instructions, one group for each of these counts.
    Decided(Vec<usize>),
}

#[derive(Default)]
pub(super) struct Assembly {
    entries: Vec<Entry>,
    instructions: Vec<Instruction>,
}

/// A line of the text, and the instruction that stands on it.
type Printed = (String, Option<usize>);

impl Assembly {
    pub(super) fn line(&mut self, line: impl Into<String>) {
        self.entries.push(Entry::Lines(line.into()));
    }
    pub(super) fn label(&mut self, name: &str) {
        self.entries.push(Entry::Label(format!("{name}:")));
    }
    pub(super) fn instruction(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
        self.entries.push(Entry::Instruction);
    }
    /// Instructions whose cycles are decided: a group each.
    pub(super) fn decided(&mut self, groups: impl IntoIterator<Item = Vec<Instruction>>) {
        let mut counts = Vec::new();
        for group in groups {
            counts.push(group.len());
            self.instructions.extend(group);
        }
        self.entries.push(Entry::Decided(counts));
    }

    /// The groups of every block that is packed, by its first instruction.
    pub(super) fn pack(&self, machine: &Epic, decisions: usize) -> FxHashMap<usize, Vec<Group>> {
        let mut out = FxHashMap::default();
        for region in self.regions() {
            let range = region.start..region.blocks.last().map_or(region.start, |last| last.0.end);
            if range.len() > LARGEST {
                continue;
            }
            let insts: Vec<&Inst> = self.instructions[range]
                .iter()
                .map(|one| &one.inst)
                .collect();
            let found = data_dependences(&insts, &[]);
            let first = region.start;
            for (block, is_decided) in region.blocks {
                let own = &self.instructions[block.clone()];
                if is_decided || own.iter().any(|one| one.is_opaque) {
                    continue;
                }
                let insts = &insts[block.start - first..block.end - first];
                let numbers = (block.start - first) as u32..(block.end - first) as u32;
                let found = of_block(&found, 0, &numbers, insts);
                if let Ok(packed) = pack(insts, &found, machine, Choice::EagerLazy, decisions) {
                    out.insert(block.start, packed.groups);
                }
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

    /// The text, with blocks as they were packed.
    pub(super) fn print(
        self,
        packed: &FxHashMap<usize, Vec<Group>>,
        rows: &Rows,
        functions: Vec<Report>,
    ) -> Emitted {
        let mut lines: Vec<Printed> = Vec::new();
        // The next instruction, and the first that no bundle holds yet.
        let (mut at, mut written) = (0, 0);
        for entry in &self.entries {
            match entry {
                Entry::Lines(text) | Entry::Label(text) => lines.push((text.clone(), None)),
                Entry::Instruction => {
                    if let Some(groups) = packed.get(&at) {
                        written = at + self.bundles(at, groups, &mut lines);
                    } else if at >= written {
                        let text = format!("\t{} ;;", self.instructions[at].text);
                        lines.push((text, Some(at)));
                    }
                    at += 1;
                }
                Entry::Decided(counts) => {
                    let count: usize = counts.iter().sum();
                    let own = &self.instructions[at..at + count];
                    decided::print(own, counts, rows, &mut |text, number| {
                        lines.push((text, number.map(|number| at + number)));
                    });
                    at += count;
                }
            }
        }
        self.finish(lines, functions)
    }

    /// Prints the bundles of a block that begins at `start`; returns how many instructions they hold.
    fn bundles(&self, start: usize, groups: &[Group], lines: &mut Vec<Printed>) -> usize {
        let mark = |stop: bool| if stop { " ;;" } else { "" };
        for (name, slots) in bundles(groups) {
            lines.push((format!("\t{{ {name}"), None));
            lines.extend(slots.into_iter().map(|slot| match slot {
                Written::Instruction(item, stop) => {
                    let text = &self.instructions[start + item].text;
                    (format!("\t{text}{}", mark(stop)), Some(start + item))
                }
                Written::Nop(kind, stop) => (format!("\t{}{}", nop(kind), mark(stop)), None),
            }));
            lines.push(("\t}".to_owned(), None));
        }
        groups.iter().map(|group| group.instructions.len()).sum()
    }

    /// Adds what the unwinder is told, and where the lines come from.
    fn finish(&self, printed: Vec<Printed>, functions: Vec<Report>) -> Emitted {
        // The body begins behind the last instruction of the prologue, by function.
        let mut ends: FxHashMap<u32, usize> = FxHashMap::default();
        for (at, (_, instruction)) in printed.iter().enumerate() {
            let instruction = instruction.map(|number| &self.instructions[number]);
            if let Some(one) = instruction.filter(|one| one.prologue.is_some()) {
                ends.insert(one.function, at);
            }
        }
        let mut text = String::new();
        let mut lines = Vec::new();
        let mut number = 0;
        for (at, (own, instruction)) in printed.iter().enumerate() {
            let instruction = instruction.map(|number| &self.instructions[number]);
            if let Some(directives) = instruction.and_then(|one| one.prologue.as_ref()) {
                text.push_str(directives);
                number += directives.lines().count() as u32;
            }
            text.push_str(own);
            text.push('\n');
            if let Some(one) = instruction {
                if one.loc != Loc::NONE || one.cycle.is_some() {
                    lines.push(Line {
                        line: number,
                        loc: one.loc,
                        function: one.function,
                        cycle: one.cycle,
                    });
                }
                if ends.get(&one.function) == Some(&at) {
                    text.push_str("\t.body\n");
                    number += 1;
                }
            }
            number += 1;
        }
        Emitted {
            text,
            lines,
            functions,
        }
    }
}

/// What is only entered at its start: from one label to the next.
#[derive(Default)]
struct Region {
    start: usize,
    /// With whether something in the block is decided.
    blocks: Vec<(Range<usize>, bool)>,
}
