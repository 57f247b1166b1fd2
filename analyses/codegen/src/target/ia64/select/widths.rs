//! The narrow integers that must be sign-extended in their registers, those that are so by themselves, and
//! the values that are computed at all.
//!
//! ```text
//! i = i + 1 (does not wrap)      its operands are extended, so it is
//! u = u * 5                      only the low half is right; stored, added, compared by `cmp4` as it is
//! d = u / 3                      wants u extended where it is defined
//! ```
//!
//! Demand goes backwards from uses through block parameters; knowledge of values that are extended anyway, by
//! their sign or by zeros, goes forwards, optimistically. Linear in the instructions for each round, and a
//! round only ever takes something away.

use crate::select::extension;
use ir::loops::LoopForest;
use ir::*;

/// The number of times that sums are looked at.
const ROUNDS: usize = 4;

pub(super) struct Widths {
    pub(super) needed: EntitySet<Value>,
    /// The number of times that each value is an operand.
    pub(super) uses: EntityVec<Value, u32>,
    demanded: EntityVec<Value, bool>,
    natural: EntityVec<Value, bool>,
    /// True if nothing but zeros stands above the width.
    plain: EntityVec<Value, bool>,
}

pub(super) const fn narrow(ty: Type) -> bool {
    matches!(ty, Type::I8 | Type::I16 | Type::I32)
}

impl Widths {
    pub(super) fn of(function: &Function, forest: &LoopForest, trust: bool) -> Widths {
        let count = function.values.len();
        let mut widths = Widths {
            needed: crate::select::needed(function),
            uses: ir::needed::uses(function),
            demanded: EntityVec::with_len(false, count),
            natural: EntityVec::with_len(true, count),
            plain: EntityVec::with_len(true, count),
        };
        widths.demand(function);
        for _ in 0..ROUNDS {
            widths.natural = EntityVec::with_len(true, count);
            widths.forward(function, trust);
            if !(trust && widths.earlier(function)) {
                break;
            }
        }
        widths.zeros(function, forest);
        widths
    }
    /// Returns true if the value's register holds it sign-extended to 64 bits.
    pub(super) fn extended(&self, value: Value) -> bool {
        self.demanded[value] || self.natural[value]
    }
    /// Returns true if the value's register holds it with zeros above its width.
    pub(super) fn is_plain(&self, value: Value) -> bool {
        self.plain[value]
    }
    /// Returns true if an extension follows its definition.
    pub(super) fn extends(&self, function: &Function, value: Value) -> bool {
        narrow(function.ty(value)) && self.demanded[value] && !self.natural[value]
    }

    fn demand(&mut self, function: &Function) {
        let mut work: Vec<Value> = Vec::new();
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                for (at, &arg) in data.args.iter().enumerate() {
                    if narrow(function.ty(arg)) && wants(function, data, at) {
                        work.push(arg);
                    }
                }
            }
            if let Terminator::Switch { value, .. } = &function.blocks[block].terminator {
                work.push(*value);
            }
        }
        self.demanded = extension::demanded(function, work);
    }

    /// A sum that does not wrap is extended where its operands are: a value that was just loaded is extended
    /// instead of the sum, which may be a link of a recurrence. Returns whether there is one more of these.
    fn earlier(&mut self, function: &Function) -> bool {
        let mut changed = false;
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                let &[sum] = &data.results[..] else { continue };
                let plain = matches!(&data.op, Op::Binary(BinaryOp::Add | BinaryOp::Sub, wrap) if wrap.no_signed);
                if !plain || !self.extends(function, sum) {
                    continue;
                }
                let mut open = data.args.iter().filter(|&&arg| !self.extended(arg));
                let (Some(&arg), None) = (open.next(), open.next()) else {
                    continue;
                };
                let loaded = function.defining(arg);
                if loaded.is_some_and(is_loaded) {
                    self.demanded[arg] = true;
                    changed = true;
                }
            }
        }
        changed
    }

    fn forward(&mut self, function: &Function, trust: bool) {
        let mut natural = std::mem::take(&mut self.natural);
        for &value in &function.blocks[function.entry()].params {
            natural[value] = false;
        }
        let demanded = &self.demanded;
        let extended =
            |natural: &EntityVec<Value, bool>, value: Value| demanded[value] || natural[value];
        let has = |natural: &EntityVec<Value, bool>, data: &InstData| {
            result(function, data, trust, &|value| extended(natural, value))
        };
        extension::hold(function, &mut natural, &has, &extended);
        self.natural = natural;
    }

    /// Finds the values with zeros above their width, after `forward`: an extension by the sign would put
    /// other bits there. A loop's parameter that the loop itself leaves with zeros, and reads so, has them
    /// from the start: the edge into the loop extends it, and no iteration does.
    fn zeros(&mut self, function: &Function, forest: &LoopForest) {
        for &value in &function.blocks[function.entry()].params {
            self.plain[value] = false;
        }
        let mut read: EntityVec<Value, bool> = EntityVec::with_len(false, self.plain.len());
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                for (at, &arg) in data.args.iter().enumerate() {
                    read[arg] |= narrow(function.ty(arg))
                        && !self.extended(arg)
                        && reads_zeros(function, data, at);
                }
            }
        }
        loop {
            let mut changed = false;
            for &block in &function.layout {
                for &inst in &function.blocks[block].insts {
                    let data = &function.insts[inst];
                    for &result in &data.results {
                        let narrow = narrow(function.ty(result));
                        let plain =
                            narrow && !self.extends(function, result) && self.zero(function, data);
                        if self.plain[result] && !plain {
                            self.plain[result] = false;
                            changed = true;
                        }
                    }
                }
                for edge in function.blocks[block].terminator.edges() {
                    let params = &function.blocks[edge.block].params;
                    let own = forest.of(edge.block).filter(|&own| {
                        forest.is_header(edge.block) && !forest.contains(own, block)
                    });
                    for (&arg, &param) in edge.args.iter().zip(params) {
                        let enters = own.is_some() && read[param];
                        if self.plain[param] && !self.plain[arg] && !enters {
                            self.plain[param] = false;
                            changed = true;
                        }
                    }
                }
            }
            if !changed {
                break;
            }
        }
    }

    fn zero(&self, function: &Function, data: &InstData) -> bool {
        let mut args = data.args.iter().map(|&arg| self.plain[arg]);
        match &data.op {
            // As the registers have it: with its sign.
            Op::Const(bits) => *bits as i64 >= 0,
            Op::Load(_) => is_loaded(data),
            Op::Binary(op, _) => match op {
                BinaryOp::And => args.any(|plain| plain) || masked(function, data),
                BinaryOp::Or | BinaryOp::Xor => args.all(|plain| plain),
                BinaryOp::ShrUnsigned => {
                    function.int_constant(data.args[1]).is_some_and(|by| by > 0)
                }
                // Of what is extended so, by numbers that the code knows.
                BinaryOp::DivUnsigned | BinaryOp::RemUnsigned => divisor(function, data) != 0,
                _ => false,
            },
            Op::Select => args.skip(1).all(|plain| plain),
            Op::Convert(Convert::ZeroExtend) => true,
            _ => false,
        }
    }
}

/// Returns true if the operation leaves its result extended, where operands are by what is given.
fn result(
    function: &Function,
    data: &InstData,
    trust: bool,
    is_extended: &dyn Fn(Value) -> bool,
) -> bool {
    let all = || data.args.iter().all(|&arg| is_extended(arg));
    match &data.op {
        Op::Const(_) | Op::Undef | Op::IntCompare(_) | Op::FloatCompare(_) => true,
        Op::Unary(op) => match op {
            UnaryOp::Not => all(),
            UnaryOp::Neg | UnaryOp::IntAbs | UnaryOp::ReverseBits | UnaryOp::ReverseBytes => false,
            _ => true,
        },
        Op::Binary(op, wrap) => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => trust && wrap.no_signed && all(),
            BinaryOp::And => all() || masked(function, data),
            BinaryOp::Or | BinaryOp::Xor => all(),
            BinaryOp::Shl => trust && wrap.no_signed && is_extended(data.args[0]),
            BinaryOp::ShrUnsigned => function.int_constant(data.args[1]).is_some_and(|by| by > 0),
            // A quotient by more than 1 has lost the highest bit, and a remainder is less than the
            // divisor.
            BinaryOp::DivUnsigned => divisor(function, data) > 1,
            BinaryOp::RemUnsigned => {
                let most = 1 << (function.ty(data.args[1]).bits().clamp(1, 63) - 1);
                (1..=most).contains(&divisor(function, data))
            }
            // All but the least number by -1 have quotients of their own width.
            BinaryOp::DivSigned => {
                let by = function.int_constant(data.args[1]);
                let by = by.map(|by| extended(by, function.ty(data.args[1])));
                by.is_some_and(|by| !matches!(by, -1 | 0))
            }
            BinaryOp::ShrSigned
            | BinaryOp::RemSigned
            | BinaryOp::MinSigned
            | BinaryOp::MaxSigned
            | BinaryOp::MinUnsigned
            | BinaryOp::MaxUnsigned
            | BinaryOp::MulHighSigned
            | BinaryOp::AddSaturateSigned
            | BinaryOp::SubSaturateSigned => true,
            _ => false,
        },
        Op::Select => is_extended(data.args[1]) && is_extended(data.args[2]),
        Op::Convert(Convert::SignExtend | Convert::SaturateSigned)
        | Op::Ternary(TernaryOp::BitExtractSigned) => true,
        Op::Convert(Convert::ZeroExtend) => {
            function.ty(data.args[0]).bits()
                < data.results.first().map_or(0, |&it| function.ty(it).bits())
        }
        _ => false,
    }
}

/// A number of this type with its sign.
const fn extended(number: i64, ty: Type) -> i64 {
    match ty {
        Type::I8 => number as i8 as i64,
        Type::I16 => number as i16 as i64,
        Type::I32 => number as i32 as i64,
        _ => number,
    }
}

/// The number that divides, without a sign; 0 where it is not known.
fn divisor(function: &Function, data: &InstData) -> u64 {
    let by = function.int_constant(data.args[1]).unwrap_or(0) as u64;
    by & (u64::MAX >> (64 - function.ty(data.args[1]).bits().clamp(1, 64)))
}

/// Returns true if an operand is read with zeros above its width.
fn reads_zeros(function: &Function, data: &InstData, at: usize) -> bool {
    match &data.op {
        Op::Binary(op, _) => match op {
            BinaryOp::DivUnsigned | BinaryOp::RemUnsigned => true,
            BinaryOp::ShrUnsigned => at == 0 && function.int_constant(data.args[1]).is_none(),
            _ => false,
        },
        Op::Convert(kind) => matches!(kind, Convert::ZeroExtend | Convert::UnsignedToFloat),
        _ => false,
    }
}

/// Returns true if a constant without a sign leaves nothing but zeros above its own bits.
fn masked(function: &Function, data: &InstData) -> bool {
    let mut numbers = data
        .args
        .iter()
        .filter_map(|&arg| function.int_constant(arg));
    numbers.any(|mask| mask >= 0)
}

/// Returns true if an operand is read beyond its width.
fn wants(function: &Function, data: &InstData, at: usize) -> bool {
    match &data.op {
        // Extended where they are used, so that a sum in a loop in front of it is not.
        Op::Call(_) | Op::CallUnknown { .. } => false,
        Op::Store(_) | Op::Select => false,
        Op::Unary(op) => !matches!(
            op,
            UnaryOp::Neg
                | UnaryOp::Not
                | UnaryOp::PopCount
                | UnaryOp::CountLeadingZeros
                | UnaryOp::CountTrailingZeros
                | UnaryOp::FindFirstSet
                | UnaryOp::FindHighBitUnsigned
                | UnaryOp::ReverseBits
                | UnaryOp::ReverseBytes
        ),
        Op::Binary(op, _) => match op {
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::DivUnsigned
            | BinaryOp::RemUnsigned
            | BinaryOp::MulHighUnsigned => false,
            BinaryOp::Shl | BinaryOp::ShrUnsigned | BinaryOp::RotateLeft => at == 1,
            BinaryOp::ShrSigned => at == 1 || function.int_constant(data.args[1]).is_none(),
            _ => true,
        },
        Op::IntCompare(_) => function.ty(data.args[at]) != Type::I32,
        Op::Convert(kind) => matches!(
            kind,
            Convert::SignedToFloat | Convert::FloatToFloat | Convert::SaturateSigned
        ),
        _ => true,
    }
}

/// A value that a load puts into its register, whatever happens.
fn is_loaded(data: &InstData) -> bool {
    matches!(data.op, Op::Load(access) if access.speculation.is_none()) && data.guard.is_none()
}
