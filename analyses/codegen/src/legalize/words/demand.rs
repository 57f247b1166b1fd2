//! The numbers of 64 bits whose high half is read.

use ir::{BinaryOp, Convert, EntityVec, Function, InstData, Op, Type, UnaryOp, Value, ValueDef};

/// Returns, by value, if it is split.
pub(super) fn split(function: &Function) -> EntityVec<Value, bool> {
    let wide = |value: Value| function.ty(value) == Type::I64;
    let mut work: Vec<Value> = Vec::new();
    let mut arriving: EntityVec<Value, Vec<Value>> =
        EntityVec::with_len(Vec::new(), function.values.len());
    for &block in &function.layout {
        let data = &function.blocks[block];
        for &inst in &data.insts {
            let made = &function.insts[inst];
            let args = made.args.iter().enumerate();
            work.extend(
                args.filter(|(at, arg)| wide(**arg) && reads_high(function, made, *at))
                    .map(|(_, &arg)| arg),
            );
            work.extend(
                made.results
                    .iter()
                    .filter(|&&result| wide(result) && is_computed(made)),
            );
        }
        work.extend(data.terminator.reads().iter().filter(|&&value| wide(value)));
        for edge in data.terminator.edges() {
            let params = &function.blocks[edge.block].params;
            for (&arg, &param) in edge.args.iter().zip(params) {
                if wide(param) {
                    arriving[param].push(arg);
                }
            }
        }
    }
    let mut out = EntityVec::with_len(false, function.values.len());
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut out[value], true) {
            continue;
        }
        match function.values[value].def {
            ValueDef::Param(..) => work.extend(&arriving[value]),
            ValueDef::Result(inst, _) => {
                let made = &function.insts[inst];
                if is_through(&made.op) {
                    work.extend(made.args.iter().filter(|&&arg| wide(arg)));
                }
            }
        }
    }
    out
}

/// Returns true if the low half of the result depends on the low halves of the operands alone.
fn is_through(op: &Op) -> bool {
    match op {
        Op::Binary(op, _) => matches!(
            op,
            BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Shl
        ),
        Op::Unary(op) => matches!(op, UnaryOp::Neg | UnaryOp::Not),
        Op::Select => true,
        _ => false,
    }
}

fn reads_high(function: &Function, data: &InstData, at: usize) -> bool {
    match &data.op {
        Op::Binary(BinaryOp::Shl, _) if at == 1 => true,
        Op::PtrAdd => false,
        Op::Convert(Convert::Truncate) => {
            let mut results = data.results.iter();
            results.any(|&to| function.ty(to) == Type::I40)
        }
        Op::Convert(Convert::Bitcast) => !data
            .results
            .iter()
            .all(|&to| matches!(function.ty(to), Type::Ptr(_))),
        op => !is_through(op),
    }
}

/// Returns true if the result is computed from what the operands are as a whole, or comes from memory.
fn is_computed(data: &InstData) -> bool {
    match &data.op {
        Op::Load(_) => true,
        op @ (Op::Binary(..) | Op::Unary(_) | Op::Ternary(_)) => !is_through(op),
        _ => false,
    }
}
