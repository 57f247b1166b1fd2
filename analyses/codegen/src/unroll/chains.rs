//! Operations that nothing needs, and sums of a sum.
//!
//! ```text
//! q = p + 2; r = q + 2        r = p + 4, where nothing else reads q
//! ```

use crate::prepare::edit;
use ir::{BinaryOp, EntityVec, Function, Op, Value, Wrap};

/// Takes operations away whose results nothing needs, and makes one of chains of constants that are added.
pub(super) fn clean(function: &mut Function) {
    edit::unneeded(function);
    if fold(function) {
        edit::unneeded(function);
    }
}

/// `of + by`, if a value is that.
fn sum(function: &Function, value: Value) -> Option<(Value, i64, Op)> {
    let data = function.defining(value)?;
    let adds = matches!(data.op, Op::PtrAdd | Op::Binary(BinaryOp::Add, _));
    let by = function.int_constant(*data.args.get(1)?)?;
    adds.then(|| (data.args[0], by, data.op.clone()))
}

fn fold(function: &mut Function) -> bool {
    let mut uses = EntityVec::with_len(0u32, function.values.len());
    for &block in &function.layout {
        let data = &function.blocks[block];
        for arg in data
            .insts
            .iter()
            .flat_map(|&inst| function.insts[inst].operands())
        {
            uses[arg] += 1;
        }
        data.terminator.operands().for_each(|arg| uses[arg] += 1);
    }
    let mut changed = false;
    for block in function.layout.clone() {
        let mut at = 0;
        while at < function.blocks[block].insts.len() {
            let inst = function.blocks[block].insts[at];
            at += 1;
            let [result] = function.insts[inst].results[..] else {
                continue;
            };
            let Some((middle, by, op)) = sum(function, result) else {
                continue;
            };
            let Some((of, more, before)) = sum(function, middle) else {
                continue;
            };
            let wraps = |op: &Op| match op {
                Op::Binary(_, wrap) => Some(wrap.no_signed),
                _ => None,
            };
            let (Some(total), true) = (by.checked_add(more), uses[middle] == 1) else {
                continue;
            };
            let same = std::mem::discriminant(&op) == std::mem::discriminant(&before);
            let exact = wraps(&op) == wraps(&before) && by.signum() == more.signum();
            // Narrower constants would not be in their canonical form.
            let wide = matches!(function.ty(result), ir::Type::I32 | ir::Type::I64);
            let number = exact && wide && i32::try_from(total).is_ok();
            if !same || (matches!(op, Op::Binary(..)) && !number) {
                continue;
            }
            let ty = function.ty(function.insts[inst].args[1]);
            let loc = function.insts[inst].loc;
            let (number, value) = edit::computed(function, Op::Const(total as u64), &[], ty, loc);
            function.blocks[block].insts.insert(at - 1, number);
            at += 1;
            if let Op::Binary(BinaryOp::Add, wrap) = &mut function.insts[inst].op {
                *wrap = Wrap {
                    no_unsigned: false,
                    ..*wrap
                };
            }
            let args = &mut function.insts[inst].args;
            (args[0], args[1]) = (of, value);
            changed = true;
        }
    }
    changed
}
