//! Loops of a straight body, and the number of their rounds.
//!
//! ```text
//! h: test; -> b or out        b: ...; -> c        c: ...; -> h
//! ```

use crate::mir::Rounds;
use ir::cfg::ControlFlow;
use ir::{BinaryOp, Block, Function, InstData, IntCondition, Op, PromiseKind, Terminator, Value};

/// A loop that is left from its header alone, behind a test without an effect, and whose body is a chain of blocks.
#[derive(Clone, Debug)]
pub(super) struct Straight {
    pub header: Block,
    /// The blocks behind the header, in order; the last one jumps back.
    pub body: Vec<Block>,
    /// The block from which the loop is entered, by a jump or a branch.
    pub before: Block,
    /// The block to which it is left.
    pub exit: Block,
}

/// Returns true if an instruction reads or writes memory and does nothing else.
pub(super) fn accesses(data: &InstData) -> bool {
    matches!(data.op, Op::Load(_) | Op::Store(_))
}

impl Straight {
    pub(super) fn of(function: &Function, header: Block) -> Option<Straight> {
        let flow = ControlFlow::new(function);
        let Terminator::Branch {
            then, otherwise, ..
        } = &function.blocks[header].terminator
        else {
            return None;
        };
        let chain = |first: Block| {
            let mut body = Vec::new();
            let mut at = first;
            while at != header {
                let alone = flow.predecessors[at].len() == 1;
                let Terminator::Jump(next) = &function.blocks[at].terminator else {
                    return None;
                };
                if !alone || body.contains(&at) {
                    return None;
                }
                body.push(at);
                at = next.block;
            }
            (!body.is_empty()).then_some(body)
        };
        let (body, exit) = match (chain(then.block), chain(otherwise.block)) {
            (Some(body), None) => (body, otherwise.block),
            (None, Some(body)) => (body, then.block),
            _ => return None,
        };
        let latch = *body.last()?;
        let mut others = flow.predecessors[header].iter().copied();
        let before = others.find(|&block| block != latch)?;
        // One edge from each of two blocks.
        let edges = flow.predecessors[header].iter().flat_map(|&block| {
            let edges = function.blocks[block].terminator.edges();
            edges.into_iter().filter(|edge| edge.block == header)
        });
        let entries = edges.count();
        let quiet = |data: &InstData| !data.op.has_effect() && !accesses(data);
        let simple = |data: &InstData| {
            data.guard.is_none() && (accesses(data) && !is_special(data) || quiet(data))
        };
        let insts = |block: &Block| function.blocks[*block].insts.iter();
        let header_is_quiet = insts(&header).all(|&inst| quiet(&function.insts[inst]));
        let mut inside = body.iter().flat_map(insts);
        let fits = entries == 2
            && flow.predecessors[header].len() == 2
            && header_is_quiet
            && inside.all(|&inst| simple(&function.insts[inst]));
        fits.then_some(Straight {
            header,
            body,
            before,
            exit,
        })
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        std::iter::once(self.header).chain(self.body.iter().copied())
    }

    /// The last block of the body.
    pub(super) fn latch(&self) -> Block {
        self.body[self.body.len() - 1]
    }

    /// The values with which the loop is entered, or the next iteration begins, in the order of the header's parameters.
    pub(super) fn given(&self, function: &Function, from: Block) -> Vec<Value> {
        let edges = function.blocks[from].terminator.edges();
        let edge = edges.into_iter().find(|edge| edge.block == self.header);
        edge.map(|edge| edge.args.to_vec()).unwrap_or_default()
    }

    /// Adds an argument to each of the two edges to the header.
    pub(super) fn give(&self, function: &mut Function, first: Value, next: Value) {
        for (block, value) in [(self.before, first), (self.latch(), next)] {
            let edges = function.blocks[block].terminator.edges_mut();
            let own = edges.into_iter().find(|edge| edge.block == self.header);
            if let Some(edge) = own {
                edge.args.push(value);
            }
        }
    }
}

/// Returns true for accesses that stay as they are.
pub(super) fn is_special(data: &InstData) -> bool {
    match data.op {
        Op::Load(access) | Op::Store(access) => {
            let special = access.volatile || access.checked || access.speculation.is_some();
            special || data.guard.is_some()
        }
        _ => false,
    }
}

/// The rounds of a loop, where something is known of them.
pub(super) fn rounds(function: &Function, header: Block) -> Option<Rounds> {
    counted(function, header).or_else(|| {
        function
            .promises
            .iter()
            .find_map(|promise| match promise.kind {
                PromiseKind::Rounds {
                    header: own,
                    least,
                    most,
                    multiple,
                } if own == header => Some(Rounds {
                    least,
                    most,
                    multiple,
                    iterations: 1,
                }),
                _ => None,
            })
    })
}

/// Rounds from constants: a counter from one number to another.
fn counted(function: &Function, header: Block) -> Option<Rounds> {
    let straight = Straight::of(function, header)?;
    let Terminator::Branch {
        condition, then, ..
    } = &function.blocks[header].terminator
    else {
        return None;
    };
    let compare = function.defining(*condition)?;
    let Op::IntCompare(mut test) = compare.op else {
        return None;
    };
    if then.block != straight.body[0] {
        test = test.negated();
    }
    let params = &function.blocks[header].params;
    let at = params.iter().position(|param| *param == compare.args[0])?;
    let limit = function.int_constant(compare.args[1])?;
    let first = function.int_constant(*straight.given(function, straight.before).get(at)?)?;
    let next = *straight.given(function, straight.latch()).get(at)?;
    let step = function.defining(next)?;
    let Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), _) = step.op else {
        return None;
    };
    if step.args[0] != params[at] {
        return None;
    }
    let by = function.int_constant(step.args[1])?;
    let by = if op == BinaryOp::Sub { -by } else { by };
    let distance = |up: bool| match up {
        true => limit.checked_sub(first),
        false => first.checked_sub(limit),
    };
    let (distance, by) = match test {
        IntCondition::LessSigned if by > 0 => (distance(true)?, by),
        IntCondition::LessEqualSigned if by > 0 => (distance(true)?.checked_add(1)?, by),
        IntCondition::GreaterSigned if by < 0 => (distance(false)?, -by),
        IntCondition::GreaterEqualSigned if by < 0 => (distance(false)?.checked_add(1)?, -by),
        IntCondition::LessUnsigned if by > 0 && first >= 0 && limit >= 0 => (distance(true)?, by),
        IntCondition::NotEqual if by > 0 && distance(true)? % by == 0 => (distance(true)?, by),
        IntCondition::NotEqual if by < 0 && distance(false)? % by == 0 => (distance(false)?, -by),
        _ => return None,
    };
    // A counter that would pass the end of its range is left alone.
    if limit.checked_add(by)? > i64::from(i32::MAX) || distance <= 0 {
        return None;
    }
    let rounds = (distance as u64).div_ceil(by as u64);
    Some(Rounds {
        least: rounds,
        most: rounds,
        multiple: rounds,
        iterations: 1,
    })
}
