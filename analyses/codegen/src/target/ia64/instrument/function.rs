//! A function of a file as steps that stand one behind the other, and its control flow.
//!
//! ```text
//! f:  { .mib  .save rp, r33  mov r33 = b0  nop.i 0  (p6) br.cond .L1 ;; }
//! label f | mov, with its directive | nop | branch to .L1 or on | ...
//! ```
//!
//! A step begins with the text that belongs to it: braces, templates and directives for the unwinder belong
//! to the instruction behind them, stops and closing braces to the one in front. So the steps' texts together
//! are the function's.

use crate::target::ia64::listing::Listing;
use isa::ia64::{File, Inst, Reg};
use smol_str::SmolStr;
use std::ops::Range;
use syntax::LineIndex;
use syntax::ia64::Document;
use syntax::ia64::names::Names;

/// The tie of an instruction to the description of the unwinder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Tie {
    None,
    /// A directive names it.
    Named,
    /// A region begins with it: instructions stay in front of it or behind it.
    Region,
}

/// An instruction of the text.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// The item of the listing.
    pub item: u32,
    pub inst: Inst,
    pub line: u32,
    /// Its text, without a stop.
    pub text: String,
    /// True if the text is not as it was.
    pub changed: bool,
    pub stop: bool,
    pub tie: Tie,
    /// Comments and directives in front.
    pub above: Vec<String>,
    pub beside: Option<String>,
    pub below: Vec<String>,
    pub bundle: Option<u32>,
    /// The end of the text in front belongs to its text.
    pub joined: bool,
    /// The label that a branch goes to.
    pub target: Option<SmolStr>,
}

#[derive(Clone, Debug)]
pub(super) enum StepKind {
    Label,
    /// A directive, or a stop alone.
    Plain,
    Code(Box<Code>),
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The offset at which its text begins; it ends where the next begins.
    pub start: usize,
    pub kind: StepKind,
}

/// The frame that `alloc` gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    pub step: usize,
    pub inputs: u32,
    pub locals: u32,
    pub outputs: u32,
}

impl Frame {
    pub(super) fn size(self) -> u32 {
        self.inputs + self.locals + self.outputs
    }
    /// The number of the first register of the outputs.
    pub(super) fn first_output(self) -> u32 {
        32 + self.inputs + self.locals
    }
}

/// The target of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goal {
    Block(usize),
    /// Out of the function.
    Exit,
}

/// The way on which an edge leaves its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    On,
    Taken,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FlowStep {
    pub from: usize,
    pub to: Goal,
    pub how: How,
}

/// Instructions that execute one behind the other; calls are among them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// Its labels included.
    pub steps: Range<usize>,
    pub first: Option<usize>,
    /// The branch at its end.
    pub branch: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    pub name: SmolStr,
    /// Bytes of the text, behind `.proc` to `.endp`.
    pub range: Range<usize>,
    /// The statements of the document.
    pub statements: Range<usize>,
    /// Names in force in front of it.
    pub names: Names,
    pub steps: Vec<Step>,
    pub blocks: Vec<Block>,
    pub edges: Vec<FlowStep>,
    pub reached: Vec<bool>,
    pub frame: Option<Frame>,
    pub calls: bool,
    /// Registers that it names.
    pub named: Vec<Reg>,
    /// General registers that its author left to others.
    pub given: Vec<u8>,
    pub line: u32,
}

/// The file that functions are read from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub document: &'a Document,
    pub text: &'a str,
    pub listing: &'a Listing,
    pub lines: &'a LineIndex,
}

impl Source<'_> {
    pub(super) fn line(&self, at: u32) -> u32 {
        self.lines.line_column(at).0 + 1
    }
}

impl Function {
    pub(super) fn code(&self, step: usize) -> Option<&Code> {
        match &self.steps[step].kind {
            StepKind::Code(code) => Some(code),
            _ => None,
        }
    }
    pub(super) fn codes(&self) -> impl Iterator<Item = (usize, &Code)> {
        (0..self.steps.len()).filter_map(|at| Some((at, self.code(at)?)))
    }
    /// The line of a block's first instruction.
    pub(super) fn line_of(&self, block: usize) -> u32 {
        let first = self.blocks[block].first.and_then(|step| self.code(step));
        first.map_or(self.line, |code| code.line)
    }
}

/// The general registers that are stacked, named by an instruction as numbers.
pub(super) fn stacked(register: Reg) -> bool {
    register.file == File::General && register.number >= 32
}
