//! Jumps out of loops behind operations across lanes.
//!
//! ```text
//! for (;;) { f = WaveReadLaneFirst(v); if (f == v) { n = WaveActiveCountBits(true); break; } }
//! ```
//! The lanes that are served in an iteration count themselves and leave. As a graph the block that counts lies behind
//! the loop, where all lanes have met again; in the source it belongs to the iteration. So that it does in the graph as
//! well, such a `break` (or `return` from an inlined function) ends in a branch that is always taken, with the way back
//! into the loop as the other side, and a loop without a condition has a way out of its header that is never taken.
//! Loops without such operations keep their plain jumps.
//! Source: DirectXShaderCompiler's `dx.break`, for the same reason.

use super::context::*;
use crate::entity::{Block, Inst};
use crate::function::{BranchKind, Edge, Terminator};
use crate::inst::Op;

/// A loop whose body is being lowered.
#[derive(Clone, Copy, Debug)]
pub struct OpenLoop {
    /// Where `break` goes.
    pub exit: Block,
    /// Where `continue` goes.
    pub next: Block,
    /// The instructions of the body before this one were looked at.
    looked: usize,
    /// One of them works across lanes.
    across: bool,
}

impl Context<'_> {
    pub(super) fn open_loop(&mut self, exit: Block, next: Block) {
        let looked = self.builder.function.insts.len();
        let frame = self.frame();
        let depth = frame.scopes.len();
        frame.breaks.push((exit, depth));
        frame.continues.push((next, depth));
        frame.loops.push(OpenLoop {
            exit,
            next,
            looked,
            across: false,
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
        if self.open_across_lanes().is_none() {
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
        match self.open_across_lanes().filter(|_| leaves) {
            Some(open) => {
                let always = self.builder.bool(true);
                self.builder
                    .branch(always, target, open.next, BranchKind::Implied);
            }
            None => self.builder.jump(target),
        }
    }

    /// The innermost loop, if its body has worked across lanes so far.
    fn open_across_lanes(&mut self) -> Option<OpenLoop> {
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
        open.across.then_some(open)
    }
}
