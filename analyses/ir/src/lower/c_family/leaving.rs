//! Jumps out of loops behind operations that depend on which lanes come together, or when.
//!
//! ```text
//! for (;;) { f = WaveReadLaneFirst(v); if (f == v) { n = WaveActiveCountBits(true); break; } }
//! ```
//! The lanes that are served in an iteration count themselves and leave. As a graph the block that counts
//! lies behind the loop, where all lanes have met again; in the source it belongs to the iteration, and
//! machines execute it there. So that it does in the graph as well, such a `break` or `return` ends in a
//! branch that is always taken, with the way back into the loop as the other side, and a loop without a
//! condition has a way out of its header that is never taken. The same holds for values read on the way out
//! from memory that others write: lanes that stay in the loop may write it before the next ones leave. Loops
//! without either keep their plain jumps.
//!
//! The ways out are the blocks of the body from which no way leads to its next iteration; in bodies of more than `BLOCKS`
//! all are taken to be such. A `goto` whose label stands outside of the innermost loop is such a way out as well. Not
//! done: loops that are made of jumps alone.
//! Source: DirectXShaderCompiler's `dx.break`, for the same reason.

use super::context::*;
use crate::entity::{Block, Inst};
use crate::function::{BranchKind, Edge, Terminator};
use crate::inst::{Op, TextureOp};
use crate::types::Space;
use syntax::Span;
use syntax::c_family::ast::Ident;

const BLOCKS: usize = 256;

/// A loop whose body is being lowered.
#[derive(Clone, Copy, Debug)]
pub struct OpenLoop {
    /// The block that `break` leads to.
    pub exit: Block,
    /// The block that `continue` leads to.
    pub next: Block,
    /// The first block of the body, and the number of the first block that was made in it.
    body: Block,
    first: usize,
    /// The instructions of the body before this one were looked at.
    looked: usize,
    /// One of them works across lanes.
    across: bool,
    /// A way out belongs to its iteration.
    kept: bool,
    /// The span of the body in the text: labels inside of it do not leave the loop.
    text: Span,
}

impl Context<'_> {
    pub(super) fn open_loop(&mut self, exit: Block, next: Block, text: Span) {
        let looked = self.builder.function.insts.len();
        let (body, first) = (self.builder.current(), self.builder.function.blocks.len());
        let frame = self.frame();
        let depth = frame.scopes.len();
        frame.breaks.push((exit, depth));
        frame.continues.push((next, depth));
        frame.loops.push(OpenLoop {
            exit,
            next,
            body,
            first,
            looked,
            across: false,
            kept: false,
            text,
        });
    }

    pub(super) fn close_loop(&mut self) {
        let frame = self.frame();
        frame.breaks.pop();
        frame.continues.pop();
        frame.loops.pop();
    }

    /// Gives a loop without a condition a way out that is never taken.
    pub(super) fn end_unconditional(&mut self, header: Block, inside: Block, exit: Block) {
        if !self.open().is_some_and(|open| open.across || open.kept) {
            return;
        }
        let condition = self.builder.bool(true);
        self.builder.function.blocks[header].terminator = Terminator::Branch {
            condition,
            then: Edge::to(inside),
            otherwise: Edge::to(exit),
            uniform: true,
        };
    }

    /// Jumps to `target`, which lies outside of the innermost loop if `leaves`.
    pub(super) fn jump_out(&mut self, target: Block, leaves: bool) {
        match self.open().filter(|_| leaves) {
            Some(open) if open.across || self.reads_on_the_way_out(&open) => {
                if let Some(open) = self.frame().loops.last_mut() {
                    open.kept = true;
                }
                let always = self.builder.bool(true);
                self.builder
                    .branch(always, target, open.next, BranchKind::Implied);
            }
            _ => self.builder.jump(target),
        }
    }

    /// `goto`: the label may stand behind the loops around, or in one of them.
    pub(super) fn jump_to_label(&mut self, label: &Ident) {
        let target = self.label(&label.name);
        let frame = self.frame();
        let place = frame
            .label_places
            .iter()
            .find(|(name, _)| *name == label.name);
        let leaves = match (frame.loops.last(), place) {
            (Some(open), Some((_, at))) => {
                !(open.text.start <= at.start && at.end <= open.text.end)
            }
            _ => false,
        };
        self.jump_out(target, leaves);
    }

    /// Jumps out of the loops where the function is left from inside of them; following code stands behind.
    pub(super) fn leave_loops(&mut self) {
        if !self.frame().loops.is_empty() && !self.builder.is_terminated() {
            let behind = self.builder.create_block();
            self.jump_out(behind, true);
            self.builder.switch_to(behind);
        }
    }

    /// The innermost loop, and whether its body has worked across lanes so far.
    fn open(&mut self) -> Option<OpenLoop> {
        let mut open = self.frame().loops.last().copied()?;
        let insts = &self.builder.function.insts;
        open.across |= (open.looked..insts.len()).any(|at| {
            let op = &insts[Inst(at as u32)].op;
            matches!(op, Op::Warp(_) | Op::Derivative(_) | Op::Call(_))
        });
        open.looked = insts.len();
        if let Some(last) = self.frame().loops.last_mut() {
            *last = open;
        }
        Some(open)
    }

    /// Returns true if memory that others may write is read in a block from which no way leads to the next iteration.
    fn reads_on_the_way_out(&self, open: &OpenLoop) -> bool {
        let function = &self.builder.function;
        let count = 1 + function.blocks.len() - open.first;
        if count > BLOCKS {
            return true;
        }
        let block = |at: usize| match at {
            0 => open.body,
            _ => Block((open.first + at - 1) as u32),
        };
        let number = |b: Block| match b {
            b if b == open.body => Some(0),
            b => (b.0 as usize).checked_sub(open.first).map(|at| at + 1),
        };
        // Blocks that are not ended, but for this one, go on in the loop as far as is known.
        let mut stays = [false; BLOCKS + 1];
        let mut changed = true;
        while changed {
            changed = false;
            for at in (0..count).rev() {
                let data = &function.blocks[block(at)];
                let goes_on = match &data.terminator {
                    Terminator::None => block(at) != self.builder.current(),
                    terminator => terminator
                        .edges()
                        .iter()
                        .any(|e| e.block == open.next || number(e.block).is_some_and(|n| stays[n])),
                };
                changed |= goes_on && !stays[at];
                stays[at] |= goes_on;
            }
        }
        (0..count).filter(|&at| !stays[at]).any(|at| {
            let insts = &function.blocks[block(at)].insts;
            insts
                .iter()
                .any(|&i| reads_what_others_write(&function.insts[i].op))
        })
    }
}

fn reads_what_others_write(op: &Op) -> bool {
    match op {
        Op::Load(access) => {
            !access.read_only
                && matches!(access.space, Space::Shared | Space::Global | Space::Generic)
        }
        Op::Texture(access) => !access.read_only && access.op == TextureOp::Load,
        _ => false,
    }
}
