//! Constant propagation in the imagined copy of a region, seeded with the members of a candidate as zero.
//!
//! ```text
//! r0 := 0      r2 = r0 * r1 -> 0      r4 = fma r2, b, c -> c      branch (r2 == 0), s, t -> s
//! ```
//!
//! A value is a constant, a copy of another value, or varies. `0 * x` is 0 although x may be infinite, a NaN or
//! negative: only where the rule for zeros is granted. Stops because a value only falls in the order unvisited,
//! constant or copy, varies.
//!
//! Source: Stephenson and Rangan, *AZP*, section 5.2; notes, section 7.2 and 7.3 (the split of multiply-add).

use super::Zeros;
use facts::zeros::{Propagation, propagation};
use ir::numbers;
use ir::{
    BinaryOp, Block, Convert, Edge, EntitySet, EntityVec, Function, Inst, InstData, Op, Terminator,
    Type, Value,
};
use smallvec::{SmallVec, smallvec};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// The bits of a constant of the value's type, as in `Op::Const`.
    Constant(u64),
    /// Equal to this value, which varies.
    Copy(Value),
    Varies,
}

/// The values known in the copy. Values that are absent are not computed on any path that remains.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Folded {
    pub known: EntityVec<Value, Option<Known>>,
    /// Blocks that can be reached from the check.
    pub reached: EntitySet<Block>,
}

/// `blocks` in reverse post-order, the first with the instructions `after` the check only.
#[must_use]
pub fn fold(
    function: &Function,
    members: &[Value],
    blocks: &[Block],
    after: &[Inst],
    zeros: Zeros,
) -> Folded {
    let mut out = Folded {
        known: EntityVec::with_len(None, function.values.len()),
        reached: EntitySet::with_len(function.blocks.len()),
    };
    for &member in members {
        out.known[member] = Some(Known::Constant(0));
    }
    let Some(&head) = blocks.first() else {
        return out;
    };
    out.reached.insert(head);
    let mut position: EntityVec<Block, Option<u32>> =
        EntityVec::with_len(None, function.blocks.len());
    for (at, &block) in (0..).zip(blocks) {
        position[block] = Some(at);
    }
    loop {
        // Something that was passed already has fallen.
        let mut again = false;
        for (here, &block) in (0..).zip(blocks) {
            if !out.reached.contains(&block) {
                continue;
            }
            let insts: &[Inst] = if block == head {
                after
            } else {
                &function.blocks[block].insts
            };
            for &inst in insts {
                let data = &function.insts[inst];
                for &result in &data.results {
                    if let Some(now) = out.transfer(function, data, result, zeros) {
                        out.lower(result, now);
                    }
                }
            }
            let edges = taken(&function.blocks[block].terminator, |value| {
                out.constant(function, value)
            });
            for edge in edges {
                let Some(there) = position[edge.block] else {
                    continue;
                };
                // An edge back to the head enters the part before the check, so it leaves the region.
                if edge.block == head {
                    continue;
                }
                let mut changed = out.reached.insert(edge.block);
                for (&param, &arg) in function.blocks[edge.block].params.iter().zip(&edge.args) {
                    if let Some(now) = out.of(function, arg) {
                        changed |= out.lower(param, now);
                    }
                }
                again |= changed && there <= here;
            }
        }
        if !again {
            return out;
        }
    }
}

/// The edges that can be taken if `constant` knows the selector.
pub fn taken(
    terminator: &Terminator,
    constant: impl Fn(Value) -> Option<u64>,
) -> SmallVec<[&Edge; 2]> {
    match terminator {
        Terminator::Branch {
            condition,
            then,
            otherwise,
            ..
        } => match constant(*condition) {
            Some(0) => smallvec![otherwise],
            Some(_) => smallvec![then],
            None => smallvec![then, otherwise],
        },
        Terminator::Switch {
            value,
            cases,
            default,
        } => match constant(*value) {
            Some(bits) => smallvec![
                cases
                    .iter()
                    .find(|(case, _)| *case == bits as i64)
                    .map_or(default, |(_, edge)| edge),
            ],
            None => terminator.edges().into_iter().collect(),
        },
        other => other.edges().into_iter().collect(),
    }
}

impl Folded {
    /// The constant that a value is in the copy.
    #[must_use]
    pub fn constant(&self, function: &Function, value: Value) -> Option<u64> {
        match self.of(function, value) {
            Some(Known::Constant(bits)) => Some(bits),
            _ => None,
        }
    }

    /// A value as an operand in the copy; `None` while it is not computed.
    #[must_use]
    pub fn of(&self, function: &Function, value: Value) -> Option<Known> {
        match self.known(value) {
            Some(Known::Varies) => return Some(Known::Copy(value)),
            Some(known) => return Some(known),
            None => {}
        }
        // The value is defined outside of the region, or in a block of it that is not reached yet (and is
        // then an operand of nothing reached).
        match function.defining(value).map(|data| &data.op) {
            Some(Op::Const(bits)) => Some(Known::Constant(*bits)),
            _ => Some(Known::Copy(value)),
        }
    }

    /// `None` too for values that the function did not have when it was folded.
    pub(super) fn known(&self, value: Value) -> Option<Known> {
        self.known.get(value).copied().flatten()
    }

    fn lower(&mut self, value: Value, now: Known) -> bool {
        let known = &mut self.known[value];
        let next = match *known {
            None => now,
            Some(before) if before == now => before,
            Some(_) => Known::Varies,
        };
        known.replace(next) != Some(next)
    }

    fn transfer(
        &self,
        function: &Function,
        data: &InstData,
        result: Value,
        zeros: Zeros,
    ) -> Option<Known> {
        transfer(function, data, result, zeros, |arg| self.of(function, arg))
    }
}

/// Returns the knowledge of a result, with that of its operands from `of`; `None` while an operand is not
/// computed.
pub(super) fn transfer(
    function: &Function,
    data: &InstData,
    result: Value,
    zeros: Zeros,
    of: impl Fn(Value) -> Option<Known>,
) -> Option<Known> {
    let ty = function.ty(result);
    if let Op::Const(bits) = data.op {
        return Some(Known::Constant(bits));
    }
    if data.results.len() != 1 || data.guard.is_some() || data.op.has_effect() {
        return Some(Known::Varies);
    }
    let mut args: SmallVec<[Known; 4]> = SmallVec::new();
    for &arg in &data.args {
        args.push(of(arg)?);
    }
    // Nothing is known of any operand that was not known before.
    let plain = |arg: &Known| matches!(arg, Known::Copy(_) | Known::Varies);
    if args.iter().all(plain) && !matches!(data.op, Op::Select) {
        return Some(Known::Varies);
    }
    let types: SmallVec<[Type; 4]> = data.args.iter().map(|&arg| function.ty(arg)).collect();
    let constants: Option<SmallVec<[u64; 4]>> = args
        .iter()
        .map(|arg| match arg {
            Known::Constant(bits) => Some(*bits),
            _ => None,
        })
        .collect();
    if let Some(bits) = constants.and_then(|values| evaluate(&data.op, &types, &values, ty)) {
        return Some(Known::Constant(bits));
    }
    Some(simplify(&data.op, &args, &types, ty, zeros).unwrap_or(Known::Varies))
}

/// An operation on constants.
pub(crate) fn evaluate(op: &Op, types: &[Type], args: &[u64], ty: Type) -> Option<u64> {
    let plain = |ty: &Type| !matches!(ty, Type::Ptr(_) | Type::Handle | Type::Opaque);
    if args.is_empty() || !types.iter().all(plain) || !plain(&ty) {
        return None;
    }
    Some(match (op, args) {
        (Op::Unary(op), &[a]) => numbers::unary(*op, types[0], ty, a),
        (Op::Binary(op, _), &[a, b]) => {
            let divides = matches!(
                op,
                BinaryOp::DivSigned
                    | BinaryOp::DivUnsigned
                    | BinaryOp::RemSigned
                    | BinaryOp::RemUnsigned
            );
            if divides && b == 0 {
                return None;
            }
            numbers::binary(*op, types[0], types[1], ty, a, b)
        }
        (Op::Fma, &[a, b, c]) => numbers::fma(ty, a, b, c),
        (Op::Select, &[condition, yes, no]) => {
            if condition != 0 {
                yes
            } else {
                no
            }
        }
        (Op::IntCompare(condition), &[a, b]) => u64::from(numbers::int_compare(*condition, a, b)),
        (Op::FloatCompare(condition), &[a, b]) => {
            u64::from(numbers::float_compare(*condition, types[0], a, b))
        }
        (Op::Convert(kind), &[a]) if *kind != Convert::SpaceCast => {
            numbers::convert(*kind, types[0], ty, a)
        }
        _ => return None,
    })
}

/// An operation of which some operands are constants.
fn simplify(op: &Op, args: &[Known], types: &[Type], ty: Type, zeros: Zeros) -> Option<Known> {
    let constant = |at: usize| match args.get(at) {
        Some(Known::Constant(bits)) => Some(*bits),
        _ => None,
    };
    let zero = |at: usize| constant(at).is_some_and(|bits| is_zero(types[at], bits));
    let free = zeros == Zeros::Absorb;
    let nothing = Some(Known::Constant(0));
    let permitted = free || !ty.is_float();
    match propagation(op) {
        Propagation::Any { from, to } if permitted && (from..to).any(zero) => return nothing,
        Propagation::Product if permitted && (zero(0) || zero(1)) => return args.get(2).copied(),
        _ => {}
    }
    match op {
        Op::Binary(op, _) => match op {
            BinaryOp::Mul if constant(0) == Some(1) => Some(args[1]),
            BinaryOp::Mul if constant(1) == Some(1) => Some(args[0]),
            BinaryOp::FloatMul if free && constant(0) == Some(numbers::from_f64(ty, 1.0)) => {
                Some(args[1])
            }
            BinaryOp::FloatMul if free && constant(1) == Some(numbers::from_f64(ty, 1.0)) => {
                Some(args[0])
            }
            BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor | BinaryOp::MaxUnsigned if zero(0) => {
                Some(args[1])
            }
            BinaryOp::Add
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::MaxUnsigned
            | BinaryOp::Sub
                if zero(1) =>
            {
                Some(args[0])
            }
            BinaryOp::Shl | BinaryOp::ShrUnsigned | BinaryOp::ShrSigned | BinaryOp::RotateLeft
                if zero(1) =>
            {
                Some(args[0])
            }
            BinaryOp::FloatAdd if free && zero(0) => Some(args[1]),
            BinaryOp::FloatAdd | BinaryOp::FloatSub if free && zero(1) => Some(args[0]),
            _ => None,
        },
        Op::Select => match constant(0) {
            Some(0) => Some(args[2]),
            Some(_) => Some(args[1]),
            None => (args[1] == args[2]).then_some(args[1]),
        },
        Op::PtrAdd if zero(1) => Some(args[0]),
        _ => None,
    }
}

fn is_zero(ty: Type, bits: u64) -> bool {
    if ty.is_float() {
        numbers::to_f64(ty, bits) == 0.0
    } else {
        bits == 0
    }
}
