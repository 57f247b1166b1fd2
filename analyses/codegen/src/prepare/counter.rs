//! Narrow counters of loops as numbers of 32 bits.
//!
//! ```text
//! short i; while (i < n) { a[i]; i++; }      i := trunc (sext i + 1)      ->      j := j + 1, which does not wrap
//! ```
//!
//! C computes with a `short` as an `int` and stores it back. A counter that a test lets through only while it is below another
//! number of its width does not wrap when it grows by one, nor one that shrinks by one while it is above. Then the number of
//! 32 bits has the same values, and addresses and trip counts follow from it. Where the narrow number itself is read it is
//! truncated.

use super::{headers, rewrite};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::loops::LoopForest;
use ir::{
    BinaryOp, Block, Convert, Edge, Function, Inst, InstData, IntCondition, Op, Terminator, Type,
    Value, ValueData, ValueDef,
};
use smallvec::{SmallVec, smallvec};

/// Widens the counters of all loops.
pub(crate) fn widen(function: &mut Function) {
    for header in headers(function) {
        for index in 0..function.blocks[header].params.len() {
            if let Some(sums) = counter(function, header, index) {
                apply(function, header, index, &sums);
            }
        }
    }
}

/// Tests of unsigned counters, which grow from 0 by one, for what they come to: `i < n` as `i != n`. No such counter is above
/// the limit that lets it through, whichever that is, and one that is counted by the hardware need not be compared as a number
/// without a sign.
pub(crate) fn until_equal(function: &mut Function) {
    let flow = ControlFlow::new(function);
    let forest = LoopForest::new(&flow);
    for header in headers(function) {
        let Some(own) = forest.of(header) else {
            continue;
        };
        let inside = |block: Block| forest.contains(own, block);
        let Some((condition, holds)) = stays(function, header, &inside) else {
            continue;
        };
        let Some((inst, data)) = defining(function, condition) else {
            continue;
        };
        let Op::IntCompare(how) = data.op else {
            continue;
        };
        let [left, right] = [data.args[0], data.args[1]];
        let way = if holds { how } else { how.negated() };
        let (counter, limit) = match way {
            IntCondition::LessUnsigned => (left, right),
            IntCondition::GreaterUnsigned => (right, left),
            _ => continue,
        };
        if !grows_from_zero(function, (header, counter), &inside)
            || !is_outside(function, limit, &inside)
        {
            continue;
        }
        let how = match holds {
            true => IntCondition::NotEqual,
            false => IntCondition::Equal,
        };
        function.insts[inst].op = Op::IntCompare(how);
    }
}

/// The instruction that makes a value.
fn defining(function: &Function, value: Value) -> Option<(Inst, &InstData)> {
    match function.values[value].def {
        ValueDef::Result(inst, _) => Some((inst, &function.insts[inst])),
        ValueDef::Param(..) => None,
    }
}

/// Returns true if a number of 32 bits is a parameter of the header that is 0 at first and one more in each iteration.
fn grows_from_zero(
    function: &Function,
    (header, counter): (Block, Value),
    inside: &dyn Fn(Block) -> bool,
) -> bool {
    let params = &function.blocks[header].params;
    let Some(index) = params.iter().position(|&param| param == counter) else {
        return false;
    };
    let steps = |value: Value| {
        defining(function, value).is_some_and(|(_, data)| {
            matches!(data.op, Op::Binary(BinaryOp::Add, _))
                && data.args[0] == counter
                && function.int_constant(data.args[1]) == Some(1)
        })
    };
    function.ty(counter) == Type::I32
        && function.layout.iter().all(|&block| {
            let edges = function.blocks[block].terminator.edges();
            let mut own = edges.into_iter().filter(|edge| edge.block == header);
            own.all(|edge| match inside(block) {
                true => steps(edge.args[index]),
                false => function.int_constant(edge.args[index]) == Some(0),
            })
        })
}

/// Returns true if a value is made outside of a loop, or a constant.
fn is_outside(function: &Function, value: Value, inside: &dyn Fn(Block) -> bool) -> bool {
    let made = function.layout.iter().filter(|&&block| inside(block));
    let mut made = made.map(|&block| &function.blocks[block]);
    function.int_constant(value).is_some()
        || made.all(|data| match function.values[value].def {
            ValueDef::Result(inst, _) => !data.insts.contains(&inst),
            ValueDef::Param(..) => !data.params.contains(&value),
        })
}

/// The sum that each block of the loop hands on to the header, if the parameter is such a counter.
fn counter(function: &Function, header: Block, index: usize) -> Option<Vec<(Block, Value)>> {
    let param = function.blocks[header].params[index];
    let ty = function.ty(param);
    if !matches!(ty, Type::I8 | Type::I16) {
        return None;
    }
    let flow = ControlFlow::new(function);
    let forest = LoopForest::new(&flow);
    let own = forest.of(header)?;
    let dominators = DominatorTree::dominators(&flow);
    let mut sums = Vec::new();
    let mut step = None;
    for &block in function
        .layout
        .iter()
        .filter(|&&block| flow.is_reachable(block))
    {
        for edge in function.blocks[block].terminator.edges() {
            if edge.block != header || !forest.contains(own, block) {
                continue;
            }
            let stored = function.defining(edge.args[index])?;
            let sum = *stored.args.first()?;
            let added = function.defining(sum)?;
            let number = function.int_constant(*added.args.get(1)?)?;
            let by = match added.op {
                Op::Binary(BinaryOp::Add, _) => number,
                Op::Binary(BinaryOp::Sub, _) => -number,
                _ => return None,
            };
            let is_counter = matches!(stored.op, Op::Convert(Convert::Truncate))
                && function.ty(sum) == Type::I32
                && extends(function, added.args[0], param)
                && by.abs() == 1
                && step.is_none_or(|known| known == by);
            if !is_counter {
                return None;
            }
            step = Some(by);
            sums.push((block, sum));
        }
    }
    let step = step?;
    // A test in front of every step lets through what is not at the limit.
    let tests = |&block: &Block| {
        forest.contains(own, block)
            && sums
                .iter()
                .all(|(latch, _)| dominators.dominates(block, *latch))
            && stays(function, block, &|block| forest.contains(own, block))
                .is_some_and(|(condition, stays)| limits(function, condition, stays, param, step))
    };
    function.layout.iter().any(tests).then_some(sums)
}

/// Returns true if a value is the parameter, extended by its sign to 32 bits.
fn extends(function: &Function, value: Value, param: Value) -> bool {
    function.defining(value).is_some_and(|data| {
        matches!(data.op, Op::Convert(Convert::SignExtend))
            && data.args[0] == param
            && function.ty(value) == Type::I32
    })
}

/// The condition of a block's branch, and its value where control stays in the loop.
fn stays(
    function: &Function,
    block: Block,
    inside: &dyn Fn(Block) -> bool,
) -> Option<(Value, bool)> {
    let Terminator::Branch {
        condition,
        then,
        otherwise,
        ..
    } = &function.blocks[block].terminator
    else {
        return None;
    };
    match (inside(then.block), inside(otherwise.block)) {
        (true, false) => Some((*condition, true)),
        (false, true) => Some((*condition, false)),
        _ => None,
    }
}

/// Returns true if the parameter is below some number of its width, or above, where the condition has this value.
fn limits(function: &Function, condition: Value, holds: bool, param: Value, step: i64) -> bool {
    let Some(data) = function.defining(condition) else {
        return false;
    };
    let Op::IntCompare(how) = data.op else {
        return false;
    };
    let how = if holds { how } else { how.negated() };
    let (how, limit) = match (
        extends(function, data.args[0], param),
        extends(function, data.args[1], param),
    ) {
        (true, false) => (how, data.args[1]),
        (false, true) => (how.mirrored(), data.args[0]),
        _ => return false,
    };
    let bits = function.ty(param).bits();
    let range = -(1i64 << (bits - 1))..=(1i64 << (bits - 1)) - 1;
    let (least, most) = match (function.int_constant(limit), function.defining(limit)) {
        (Some(number), _) => (number, number),
        (None, Some(data)) if matches!(data.op, Op::Convert(Convert::SignExtend)) => {
            let bits = function.ty(data.args[0]).bits();
            (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
        }
        _ => return false,
    };
    match (how, step > 0) {
        (IntCondition::LessSigned, true) => most <= *range.end(),
        (IntCondition::LessEqualSigned, true) => most < *range.end(),
        (IntCondition::GreaterSigned, false) => least >= *range.start(),
        (IntCondition::GreaterEqualSigned, false) => least > *range.start(),
        _ => false,
    }
}

fn apply(function: &mut Function, header: Block, index: usize, sums: &[(Block, Value)]) {
    let param = function.blocks[header].params[index];
    let wide = function.values.push(ValueData {
        ty: Type::I32,
        def: ValueDef::Param(header, index as u32),
    });
    function.blocks[header].params[index] = wide;
    // What was extended is the number itself.
    let extended: Vec<Value> = function
        .values
        .keys()
        .filter(|&value| extends(function, value, param))
        .collect();
    rewrite(function, &|value| match extended.contains(&value) {
        true => wide,
        false => value,
    });
    for (_, sum) in sums {
        if let ValueDef::Result(inst, _) = function.values[*sum].def
            && let Op::Binary(_, wrap) = &mut function.insts[inst].op
        {
            wrap.no_signed = true;
        }
    }
    let loc = function.blocks[header].loc;
    let narrow = function.insts.push(InstData {
        op: Op::Convert(Convert::Truncate),
        args: smallvec![wide],
        results: smallvec![param],
        guard: None,
        loc,
    });
    function.values[param].def = ValueDef::Result(narrow, 0);
    function.blocks[header].insts.insert(0, narrow);
    for block in function.layout.clone() {
        let leads = |edge: &&Edge| edge.block == header;
        let args: Vec<Value> = function.blocks[block]
            .terminator
            .edges()
            .into_iter()
            .filter(leads)
            .map(|edge| edge.args[index])
            .collect();
        if args.is_empty() {
            continue;
        }
        let known = sums.iter().find(|(latch, _)| *latch == block);
        let mut given: SmallVec<[Value; 2]> = SmallVec::new();
        for arg in args {
            given.push(match known {
                Some((_, sum)) => *sum,
                None => extend(function, block, arg),
            });
        }
        let mut given = given.into_iter();
        for edge in function.blocks[block].terminator.edges_mut() {
            if edge.block == header
                && let Some(value) = given.next()
            {
                edge.args[index] = value;
            }
        }
    }
}

/// A value extended at the end of a block.
fn extend(function: &mut Function, block: Block, value: Value) -> Value {
    let (op, args) = match function.int_constant(value) {
        Some(number) => (Op::Const(number as u64), SmallVec::new()),
        None => (Op::Convert(Convert::SignExtend), smallvec![value]),
    };
    let loc = function.blocks[block].loc;
    let inst = function.insts.push(InstData {
        op,
        args,
        results: SmallVec::new(),
        guard: None,
        loc,
    });
    let result = function.values.push(ValueData {
        ty: Type::I32,
        def: ValueDef::Result(inst, 0),
    });
    function.insts[inst].results.push(result);
    function.blocks[block].insts.push(inst);
    result
}
