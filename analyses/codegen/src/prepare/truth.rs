//! Truth values as the comparisons that they are, so that what reads them is a branch or a choice on a comparison: for processors
//! with one flag, on which any other truth value is a number that is tested again.
//!
//! ```text
//! t = to_bool x                     t = icmp.ne x, 0
//! n = not (icmp.lt a, b)            n = icmp.ge a, b
//! icmp.eq (zext t), 0               the comparison that t is, negated
//! b2: branch (icmp.lt a, 5 of b1)   b2: branch icmp.lt a, 5        a flag does not outlive its block, a does
//! ```
//!
//! One pass over the instructions, definitions first. A comparison is repeated where it has a constant operand: then nothing
//! more is live on the way.

use super::edit;
use ir::{
    Block, Convert, Function, Inst, IntCondition, Op, Terminator, Type, UnaryOp, Value, ValueDef,
};

pub(crate) fn compare(function: &mut Function) {
    for block in function.layout.clone() {
        let mut at = 0;
        while at < function.blocks[block].insts.len() {
            let inst = function.blocks[block].insts[at];
            at += simplified(function, block, at, inst);
        }
        repeat(function, block);
    }
}

/// Makes an instruction a comparison if its result is one. Returns the number of instructions to go on by.
fn simplified(function: &mut Function, block: Block, at: usize, inst: Inst) -> usize {
    let data = &function.insts[inst];
    if data.guard.is_some() {
        return 1;
    }
    let (op, arg) = (data.op.clone(), data.args.first().copied());
    let found = arg.and_then(|arg| match op {
        Op::Convert(Convert::ToBool) => Some((IntCondition::NotEqual, arg)),
        Op::Unary(UnaryOp::Not) if function.ty(arg) == Type::Bool => {
            Some((IntCondition::Equal, arg))
        }
        Op::IntCompare(how @ (IntCondition::Equal | IntCondition::NotEqual)) => {
            let other = *function.insts[inst].args.get(1)?;
            let truth = truth(function, arg)?;
            (function.int_constant(other) == Some(0)).then_some((how, truth))
        }
        _ => None,
    });
    let Some((how, arg)) = found else {
        return 1;
    };
    // Whether a comparison holds, or does not.
    let of = truth(function, arg).unwrap_or(arg);
    let known = function.defining(of).filter(|data| data.guard.is_none());
    if let Some((Op::IntCompare(own), args)) = known.map(|data| (&data.op, data.args.clone())) {
        let own = match how {
            IntCondition::NotEqual => *own,
            _ => own.negated(),
        };
        function.insts[inst].op = Op::IntCompare(own);
        function.insts[inst].args = args;
        return 1;
    }
    let ty = function.ty(arg);
    if !matches!(
        (&op, ty),
        (Op::Convert(_), Type::I8 | Type::I16 | Type::I32 | Type::I64)
    ) {
        return 1;
    }
    let loc = function.insts[inst].loc;
    let (zero, value) = edit::computed(function, Op::Const(0), &[], ty, loc);
    function.blocks[block].insts.insert(at, zero);
    function.insts[inst].op = Op::IntCompare(how);
    function.insts[inst].args = [arg, value].into_iter().collect();
    2
}

/// The truth value that a number of 0 or 1 is.
fn truth(function: &Function, value: Value) -> Option<Value> {
    let data = function.defining(value)?;
    let arg = *data.args.first()?;
    let extends = matches!(data.op, Op::Convert(Convert::ZeroExtend)) && data.guard.is_none();
    (extends && function.ty(arg) == Type::Bool).then_some(arg)
}

/// Repeats the comparison that a block branches on if it is another block's.
fn repeat(function: &mut Function, block: Block) {
    let Terminator::Branch { condition, .. } = &function.blocks[block].terminator else {
        return;
    };
    let condition = *condition;
    let ValueDef::Result(inst, _) = function.values[condition].def else {
        return;
    };
    let data = function.insts[inst].clone();
    let mut operands = data.args.iter();
    let constant = operands.any(|&arg| function.int_constant(arg).is_some());
    let away = !function.blocks[block].insts.contains(&inst);
    if !(away && constant && data.guard.is_none() && matches!(data.op, Op::IntCompare(_))) {
        return;
    }
    let (again, value) = edit::computed(function, data.op, &data.args, Type::Bool, data.loc);
    function.blocks[block].insts.push(again);
    if let Terminator::Branch { condition, .. } = &mut function.blocks[block].terminator {
        *condition = value;
    }
}
