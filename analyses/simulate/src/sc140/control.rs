//! Changes of flow in a run: jumps, calls, returns, loops.

use super::op::{Element, Jump, LoopOp, Target, Word};
use super::register::Reg;
use super::state::{Machine, Trap, Write};

/// The target of a change of flow, taken behind a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flow {
    pub to: u32,
    pub delayed: bool,
    pub kind: FlowKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FlowKind {
    Jump,
    /// Relative to the program counter.
    Branch,
    Conditional,
    /// Returns to the address.
    Call {
        relative: bool,
        behind: u32,
    },
    Return {
        status: bool,
    },
    Loop,
}

impl Machine<'_> {
    /// The jump, if it is taken. `behind`: the address to which a call returns; a delayed call has its slot see the stack as
    /// it was, and puts the address onto it behind that.
    pub(super) fn jump(&mut self, op: &Jump, behind: u32) -> Result<Option<Flow>, Trap> {
        let to = match op.target {
            Target::Address(address) => address,
            Target::Reg(number) => {
                self.addresses_with(Reg::R(number));
                self.r[usize::from(number)]
            }
        };
        if op.when.is_some_and(|when| when != self.truth()) {
            return Ok(None);
        }
        let kind = match (op.call, op.when) {
            (true, _) => FlowKind::Call {
                relative: op.relative,
                behind,
            },
            (false, Some(_)) => FlowKind::Conditional,
            (false, None) if op.relative => FlowKind::Branch,
            (false, None) => FlowKind::Jump,
        };
        if op.call && !op.delayed {
            self.call(behind)?;
        }
        Ok(Some(Flow {
            to,
            delayed: op.delayed,
            kind,
        }))
    }

    /// Puts a return address and the status onto the stack.
    pub(super) fn call(&mut self, behind: u32) -> Result<(), Trap> {
        let stack = self.stack();
        let (low, high) = (u64::from(behind), u64::from(self.sr));
        let pair = match self.settings.status_above {
            true => [low, high],
            false => [high, low],
        };
        self.store(stack, Element::Long, &pair)?;
        self.writes.push(Write::Reg(Reg::Sp, i64::from(stack) + 8));
        Ok(())
    }

    pub(super) fn returns(&mut self, delayed: bool, status: bool) -> Result<Flow, Trap> {
        let stack = self.stack().wrapping_sub(8);
        let pair = self.load(stack, Element::Long, 2)?;
        let (to, saved) = match self.settings.status_above {
            true => (pair[0], pair[1]),
            false => (pair[1], pair[0]),
        };
        self.writes.push(Write::Reg(Reg::Sp, i64::from(stack)));
        if status {
            self.writes.push(Write::Reg(Reg::Sr, saved as i64));
        }
        Ok(Flow {
            to: to as u32,
            delayed,
            kind: FlowKind::Return { status },
        })
    }

    pub(super) fn looped(&mut self, op: &LoopOp) -> Option<Flow> {
        let active = self.active_loop();
        let counter = active.map_or(0, |number| self.lc[usize::from(number)]);
        let flow = |to, delayed| {
            Some(Flow {
                to,
                delayed,
                kind: FlowKind::Loop,
            })
        };
        let off = |machine: &mut Self| {
            if let Some(number) = active {
                machine.writes.push(Write::LoopOff(number));
            }
        };
        match *op {
            LoopOp::Setup(number, start) => {
                self.writes
                    .push(Write::Reg(Reg::Sa(number), i64::from(start)));
                None
            }
            LoopOp::Enable {
                number,
                short,
                count,
            } => {
                let count = match count {
                    Word::Reg(register) => self.read(register),
                    Word::Number(value) => value,
                };
                self.writes.push(Write::Reg(Reg::Lc(number), count));
                self.writes.push(Write::LoopOn { number, short });
                None
            }
            LoopOp::Skip(target) => {
                if counter > 0 {
                    return None;
                }
                off(self);
                flow(target, false)
            }
            LoopOp::Break(target) => {
                off(self);
                flow(target, false)
            }
            LoopOp::Continue { target, delayed } => match active {
                Some(number) if counter > 1 => {
                    self.writes
                        .push(Write::Reg(Reg::Lc(number), i64::from(counter) - 1));
                    flow(self.sa[usize::from(number)], delayed)
                }
                _ => {
                    off(self);
                    flow(target, delayed)
                }
            },
        }
    }
}
