//! Partial sums: a chain of operations through all copies of an iteration as one chain for each.
//!
//! ```text
//! s' = ((s + a) + b) + c        s0' = s0 + a; s1' = s1 + b; s2' = s2 + c; behind the loop (s0 + s1) + s2
//! ```
//!
//! Integers that wrap; logic; minimum and maximum. What saturates is never reordered.

use super::shape::Straight;
use crate::prepare::edit;
use ir::{
    BinaryOp, Block, BlockData, BranchKind, Edge, Function, Inst, Op, Terminator, Type, Value, Wrap,
};

/// Splits the chains of a loop of one block whose body stands there `times` times.
/// `exact`: registers hold what exceeds the type.
pub(super) fn split(function: &mut Function, straight: &Straight, times: u64, exact: bool) {
    if times < 2 {
        return;
    }
    let mut behind: Option<Block> = None;
    for at in 0..function.blocks[straight.header].params.len() {
        if let Some(chain) = chain(function, straight, at, times as usize) {
            let block = *behind.get_or_insert_with(|| leave(function, straight));
            part(function, straight, (at, exact), &chain, block);
        }
    }
}

/// The operations through which a parameter of the header passes on its way to the next iteration.
fn chain(function: &Function, straight: &Straight, at: usize, times: usize) -> Option<Vec<Inst>> {
    let body = straight.body[0];
    let param = function.blocks[straight.header].params[at];
    if !matches!(
        function.ty(param),
        Type::I8 | Type::I16 | Type::I32 | Type::I40
    ) {
        return None;
    }
    let next = straight.given(function, body);
    // One reader each, and of the whole loop's last value the edge back alone.
    let reader = |value: Value| {
        let reads = |inst: &&Inst| function.insts[**inst].operands().any(|arg| arg == value);
        let own = function.blocks[straight.header].insts.iter();
        let mut readers = own.chain(&function.blocks[body].insts).filter(reads);
        match (readers.next(), readers.next()) {
            (Some(&only), None) if function.blocks[body].insts.contains(&only) => Some(only),
            _ => None,
        }
    };
    let mut value = param;
    let mut chain = Vec::new();
    let mut kind = None;
    for _ in 0..times {
        if next.iter().filter(|next| **next == value).count() > 0 {
            return None;
        }
        let inst = reader(value)?;
        let data = &function.insts[inst];
        let Op::Binary(op, _) = data.op else {
            return None;
        };
        let once = data.args.iter().filter(|arg| **arg == value).count() == 1;
        let left = data.args[0] == value;
        let family = match op {
            BinaryOp::Add => BinaryOp::Add,
            BinaryOp::Sub if left => BinaryOp::Add,
            BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::MinSigned
            | BinaryOp::MaxSigned
            | BinaryOp::MinUnsigned
            | BinaryOp::MaxUnsigned => op,
            _ => return None,
        };
        if !once || *kind.get_or_insert(family) != family {
            return None;
        }
        chain.push(inst);
        value = *data.results.first()?;
    }
    let others = (0..next.len()).filter(|&other| other != at);
    let mut others = others.map(|other| next[other]);
    (next.get(at) == Some(&value) && !others.any(|other| other == value) && reader(value).is_none())
        .then_some(chain)
}

fn part(
    function: &mut Function,
    straight: &Straight,
    (at, exact): (usize, bool),
    chain: &[Inst],
    behind: Block,
) {
    let header = straight.header;
    let param = function.blocks[header].params[at];
    let ty = function.ty(param);
    let Op::Binary(op, _) = function.insts[chain[0]].op else {
        return;
    };
    let op = if op == BinaryOp::Sub {
        BinaryOp::Add
    } else {
        op
    };
    let start = straight.given(function, straight.before)[at];
    let neutral = match op {
        BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor => Some(0),
        BinaryOp::And => Some(u64::MAX),
        // The least of a number and itself.
        _ => None,
    };
    let first = match neutral {
        Some(bits) => {
            let (inst, value) = edit::computed(function, Op::Const(bits), &[], ty, ir::Loc::NONE);
            function.blocks[straight.before].insts.push(inst);
            value
        }
        None => start,
    };
    // The total is the sum of before, which stays within its type where each step of it did.
    let within = chain.iter().all(|&inst| match function.insts[inst].op {
        Op::Binary(_, wrap) => wrap.no_signed,
        _ => false,
    });
    let mut parts = vec![param];
    let mut value = param;
    for (number, &inst) in chain.iter().enumerate() {
        let result = function.insts[inst].results[0];
        if let Op::Binary(_, wrap) = &mut function.insts[inst].op
            && !(exact && within)
        {
            *wrap = Wrap::MAY;
        }
        if number == 0 {
            let body = straight.body[0];
            if let Terminator::Jump(back) = &mut function.blocks[body].terminator {
                back.args[at] = result;
            }
        } else {
            let own = edit::param(function, header, ty);
            for arg in &mut function.insts[inst].args {
                if *arg == value {
                    *arg = own;
                }
            }
            straight.give(function, first, result);
            parts.push(own);
        }
        value = result;
    }
    let mut made = Vec::new();
    while parts.len() > 1 {
        let pairs: Vec<Vec<Value>> = parts.chunks(2).map(<[Value]>::to_vec).collect();
        parts = pairs
            .into_iter()
            .map(|pair| match pair[..] {
                [left, right] => {
                    let wrap = match exact && within {
                        true => Wrap::NO_SIGNED,
                        false => Wrap::MAY,
                    };
                    let op = Op::Binary(op, wrap);
                    let (inst, sum) =
                        edit::computed(function, op, &[left, right], ty, ir::Loc::NONE);
                    made.push(inst);
                    sum
                }
                _ => pair[0],
            })
            .collect();
    }
    let total = parts[0];
    let inside = [header, straight.body[0]];
    let outside: Vec<Block> = function
        .layout
        .iter()
        .copied()
        .filter(|block| !inside.contains(block))
        .collect();
    edit::replace(
        function,
        &mut outside.into_iter(),
        &|value| match value == param {
            true => total,
            false => value,
        },
    );
    function.blocks[behind].insts.extend(made);
}

/// A block on the way out of the loop.
fn leave(function: &mut Function, straight: &Straight) -> Block {
    let block = Block(function.blocks.len() as u32);
    let mut way = None;
    for edge in function.blocks[straight.header].terminator.edges_mut() {
        if edge.block == straight.exit {
            way = Some(std::mem::replace(edge, Edge::to(block)));
        }
    }
    function.blocks.push(BlockData {
        params: Vec::new(),
        insts: Vec::new(),
        terminator: way.map_or(Terminator::Unreachable, Terminator::Jump),
        loc: ir::Loc::NONE,
        branch: BranchKind::Implied,
    });
    let at = function
        .layout
        .iter()
        .position(|known| *known == straight.body[0]);
    let at = at.map_or(function.layout.len(), |at| at + 1);
    function.layout.insert(at, block);
    block
}
