//! Which values have a register: those that an effect, a branch or a result depends on. What nobody reads is not printed,
//! addresses plus a constant go into the access, and constants are written where they are used.
//!
//! One walk backwards from the effects, through the arguments of edges to block parameters; linear in operands and edges.

use ir::*;

pub(super) struct Needed {
    values: EntityVec<Value, bool>,
}

impl Needed {
    pub(super) fn of(function: &Function) -> Needed {
        let mut walk = Walk {
            function,
            needed: Needed {
                values: EntityVec::with_len(false, function.values.len()),
            },
            work: Vec::new(),
            arriving: arriving(function),
        };
        for &block in &function.layout {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                if has_effect(&function.insts[inst].op) {
                    walk.operands(inst);
                }
            }
            walk.work.extend(data.terminator.selector());
            if let Terminator::Return(values) = &data.terminator {
                walk.work.extend(values);
            }
        }
        while let Some(value) = walk.work.pop() {
            if std::mem::replace(&mut walk.needed.values[value], true) {
                continue;
            }
            match function.values[value].def {
                ValueDef::Result(inst, _) => walk.operands(inst),
                ValueDef::Param(block, index) => {
                    for edge in &walk.arriving[block] {
                        walk.work.extend(edge.args.get(index as usize));
                    }
                }
            }
        }
        walk.needed
    }

    pub(super) fn value(&self, value: Value) -> bool {
        self.values[value]
    }
    /// Whether an instruction is printed.
    pub(super) fn instruction(&self, data: &InstData) -> bool {
        has_effect(&data.op) || data.results.iter().any(|&result| self.values[result])
    }
}

struct Walk<'f> {
    function: &'f Function,
    needed: Needed,
    work: Vec<Value>,
    arriving: EntityVec<Block, Vec<&'f Edge>>,
}

impl Walk<'_> {
    fn operands(&mut self, inst: Inst) {
        let data = &self.function.insts[inst];
        self.work.extend(data.guard.map(|guard| guard.value));
        if let Some(wide) = wide(self.function, data) {
            self.work.push(wide.narrow);
            return;
        }
        let mut args = data.args.iter().copied();
        if matches!(data.op, Op::Load(_) | Op::Store(_) | Op::Atomic(..)) {
            let address = args.next();
            self.work
                .extend(address.map(|a| folded(self.function, a).0));
        }
        self.work.extend(args);
    }
}

fn arriving(function: &Function) -> EntityVec<Block, Vec<&Edge>> {
    let mut arriving = EntityVec::with_len(Vec::new(), function.blocks.len());
    for &block in &function.layout {
        for edge in function.blocks[block].terminator.edges() {
            arriving[edge.block].push(edge);
        }
    }
    arriving
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
