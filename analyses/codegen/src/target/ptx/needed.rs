//! The values that have a register: those that an effect, a branch or a result depends on. Values that nobody
//! reads are not printed, addresses plus a constant go into the access, and constants are written where they
//! are used.

use ir::*;

pub(super) struct Needed {
    values: EntitySet<Value>,
}

impl Needed {
    pub(super) fn of(function: &Function) -> Needed {
        let operands = |inst: Inst, out: &mut Vec<Value>| {
            let data = &function.insts[inst];
            out.extend(data.guard.map(|guard| guard.value));
            if let Some(wide) = wide(function, data) {
                out.push(wide.narrow);
                return;
            }
            let mut args = data.args.iter().copied();
            if matches!(data.op, Op::Load(_) | Op::Store(_) | Op::Atomic(..)) {
                out.extend(args.next().map(|address| folded(function, address).0));
            }
            out.extend(args);
        };
        let executes = |inst: Inst| has_effect(&function.insts[inst].op);
        let roots = ir::needed::roots(function, executes, &operands);
        Needed {
            values: ir::needed::needed(function, roots, &operands),
        }
    }

    pub(super) fn value(&self, value: Value) -> bool {
        self.values.contains(&value)
    }
    /// Returns whether an instruction is printed.
    pub(super) fn instruction(&self, data: &InstData) -> bool {
        has_effect(&data.op) || data.results.iter().any(|&result| self.value(result))
    }
}

fn has_effect(op: &Op) -> bool {
    match op {
        Op::Store(_) | Op::Atomic(..) | Op::Barrier(_) | Op::Fence | Op::Call(_) => true,
        Op::Warp(_) | Op::Unknown(_) => true,
        Op::CallUnknown { pure, .. } | Op::Asm { pure, .. } => !pure,
        Op::Load(access) => access.volatile,
        Op::Texture(access) => {
            access.op.is_opaque() || matches!(access.op, TextureOp::Store | TextureOp::Atomic(_))
        }
        _ => false,
    }
}

/// A product of 64 bits of an extended number of 32 bits and a constant: one instruction.
pub(super) struct Wide {
    pub(super) narrow: Value,
    pub(super) by: i64,
    pub(super) signed: bool,
}

pub(super) fn wide(function: &Function, data: &InstData) -> Option<Wide> {
    let by = |value: Value| function.int_constant(value);
    let (extended, by) = match data.op {
        Op::Binary(BinaryOp::Mul, _) => (data.args[0], by(data.args[1])?),
        Op::Binary(BinaryOp::Shl, _) => {
            let amount = by(data.args[1]).filter(|amount| (0..31).contains(amount))?;
            (data.args[0], 1 << amount)
        }
        _ => return None,
    };
    let extension = function.defining(extended)?;
    let signed = match extension.op {
        Op::Convert(Convert::SignExtend) => true,
        Op::Convert(Convert::ZeroExtend) => false,
        _ => return None,
    };
    let fits = if signed {
        i32::try_from(by).is_ok()
    } else {
        u32::try_from(by).is_ok()
    };
    let narrow = extension.args[0];
    let types = [function.ty(data.results[0]), function.ty(narrow)];
    (fits && types == [Type::I64, Type::I32]).then_some(Wide { narrow, by, signed })
}

/// An address as a register and constant bytes beyond it.
pub(super) fn folded(function: &Function, address: Value) -> (Value, i32) {
    let (mut base, mut offset) = (address, 0i32);
    // Chains are short; the bound is for those that are not.
    for _ in 0..16 {
        let Some(data) = function.defining(base).filter(|d| d.op == Op::PtrAdd) else {
            break;
        };
        let further = function
            .int_constant(data.args[1])
            .and_then(|bytes| i32::try_from(bytes).ok());
        let Some(sum) = further.and_then(|f| offset.checked_add(f)) else {
            break;
        };
        (base, offset) = (data.args[0], sum);
    }
    (base, offset)
}
