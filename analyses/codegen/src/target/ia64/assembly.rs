//! The instructions of a file before they are text: `layout` puts blocks into bundles, then everything is printed.
//!
//! ```text
//! label, { adds, ld8, br.ret }      f:  { .mib  adds r14 = 1, r32  nop.i 0  br.ret.sptk.many b0 ;; }
//! ```
//!
//! Without a layout, each instruction is a group of its own.

use super::emit::{Emitted, Line, Report};
use super::layout::Layout;
use super::rebundle::nop;
use crate::target::ia64::bundle::laid::{Laid, Written};
use ir::Loc;
use isa::ia64::Inst;
use rustc_hash::FxHashMap;

/// One instruction on the machine's registers.
pub(super) struct Instruction {
    pub(super) text: String,
    pub(super) inst: Inst,
    /// True if nothing is known of it: its block stays as it is.
    pub(super) is_opaque: bool,
    pub(super) loc: Loc,
    /// In its block, where a pipeliner decided.
    pub(super) cycle: Option<u32>,
    /// Counted from 0 through the file.
    pub(super) function: u32,
    /// The weight of its block.
    pub(super) executions: f64,
    /// The directives for the unwinder in front of an instruction of the prologue; `None` behind it.
    pub(super) prologue: Option<String>,
}

pub(super) enum Entry {
    /// Directives, and labels that nothing branches to: a line or several.
    Lines(String),
    Label(String),
    /// The next instruction, in a group of its own.
    Instruction,
    /// This many instructions, one group for each of these counts.
    Decided(Vec<usize>),
}

#[derive(Default)]
pub(super) struct Assembly {
    pub(super) entries: Vec<Entry>,
    pub(super) instructions: Vec<Instruction>,
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

    /// The text, with blocks as they were laid out.
    pub(super) fn print(self, layout: Layout, mut functions: Vec<Report>) -> Emitted {
        let mut lines: Vec<Printed> = Vec::new();
        // The next instruction, and the first that no block holds yet.
        let (mut at, mut written) = (0, 0);
        for entry in &self.entries {
            let count = match entry {
                Entry::Lines(text) | Entry::Label(text) => {
                    lines.push((text.clone(), None));
                    continue;
                }
                Entry::Instruction => 1,
                Entry::Decided(counts) => counts.iter().sum(),
            };
            if let Some(laid) = layout.blocks.get(&at) {
                written = at + self.laid(at, laid, matches!(entry, Entry::Decided(_)), &mut lines);
            } else if at >= written {
                let text = format!("\t{} ;;", self.instructions[at].text);
                lines.push((text, Some(at)));
            }
            at += count;
        }
        for (function, checked) in layout.checked {
            if let Some(report) = functions.get_mut(function as usize) {
                match checked {
                    Ok(()) => report.bundling.checked += 1,
                    Err(unbundled) => report.bundling.unsound.push(unbundled),
                }
            }
        }
        self.finish(lines, functions)
    }

    /// Prints the bundles of a block that begins at `start`; returns how many instructions they hold. `apart`: stops stand on
    /// lines of their own.
    fn laid(&self, start: usize, laid: &[Laid], apart: bool, lines: &mut Vec<Printed>) -> usize {
        let mut count = 0;
        for piece in laid {
            match piece {
                Laid::Bundle(name, slots) => {
                    lines.push((format!("\t{{ {name}"), None));
                    for &slot in slots {
                        let (text, own, stop) = match slot {
                            Written::Instruction(item, stop) => {
                                count += 1;
                                let at = start + item;
                                (self.instructions[at].text.as_str(), Some(at), stop)
                            }
                            Written::Nop(kind, stop) => (nop(kind), None, stop),
                        };
                        let mark = if stop && !apart { " ;;" } else { "" };
                        lines.push((format!("\t{text}{mark}"), own));
                        if stop && apart {
                            lines.push(("\t;;".to_owned(), None));
                        }
                    }
                    lines.push(("\t}".to_owned(), None));
                }
                Laid::Alone(item, stop) => {
                    count += 1;
                    let at = start + item;
                    let mark = if *stop { " ;;" } else { "" };
                    lines.push((format!("\t{}{mark}", self.instructions[at].text), Some(at)));
                }
            }
        }
        count
    }

    /// Adds directives for the unwinder, and the origin of the lines.
    fn finish(&self, printed: Vec<Printed>, functions: Vec<Report>) -> Emitted {
        // The body begins behind the last instruction of the prologue, by function.
        let mut ends: FxHashMap<u32, usize> = FxHashMap::default();
        for (at, (_, instruction)) in printed.iter().enumerate() {
            let instruction = instruction.map(|number| &self.instructions[number]);
            if let Some(found) = instruction.filter(|it| it.prologue.is_some()) {
                ends.insert(found.function, at);
            }
        }
        let mut text = String::new();
        let (mut lines, mut executions) = (Vec::new(), Vec::new());
        let mut number = 0;
        for (at, (own, instruction)) in printed.iter().enumerate() {
            let instruction = instruction.map(|number| &self.instructions[number]);
            if let Some(directives) = instruction.and_then(|it| it.prologue.as_ref()) {
                text.push_str(directives);
                number += directives.lines().count() as u32;
            }
            text.push_str(own);
            text.push('\n');
            if let Some(found) = instruction {
                executions.push((number, found.function, found.executions));
                if found.loc != Loc::NONE || found.cycle.is_some() {
                    lines.push(Line {
                        line: number,
                        loc: found.loc,
                        function: found.function,
                        cycle: found.cycle,
                    });
                }
                if ends.get(&found.function) == Some(&at) {
                    text.push_str("\t.body\n");
                    number += 1;
                }
            }
            number += 1;
        }
        Emitted {
            text,
            lines,
            executions,
            functions,
        }
    }
}
