//! Integer and fractional arithmetic.
//!
//! The mode in which code runs clamps `add`, `sub`, `mac` and their like to 32 bits: they are saturating sums, and plain ones
//! where these can't wrap. `iadd`, shifts and logic wrap in 40 bits, of which the low 32 are right.

use super::super::code::{Operand, Virtual, operation};
use super::super::division;
use super::{Selection, forms};
use crate::select::{Guard, Select};
use ir::{BinaryOp, Convert, IntCondition, Op, Type, Value, ValueDef, Wrap};
use isa::sc140::{Opcode, Reg};

/// Places of a saturating shift that are sums of a number with itself.
const DOUBLINGS: i64 = 3;

impl Selection<'_> {
    /// Finds products that are parts of sums: read once, in their own block.
    pub(super) fn fuse(&mut self) {
        let source = self.source;
        for &block in &source.layout {
            let insts = &source.blocks[block].insts;
            for &inst in insts {
                let data = &source.insts[inst];
                let Op::Binary(op, _) = data.op else { continue };
                let product = match op {
                    BinaryOp::AddSaturateSigned | BinaryOp::SubSaturateSigned => {
                        BinaryOp::MulFractional
                    }
                    BinaryOp::Add if matches!(self.ty(data.results[0]), Type::I32 | Type::I40) => {
                        BinaryOp::Mul
                    }
                    _ => continue,
                };
                let is_sum = op != BinaryOp::SubSaturateSigned;
                let fits = |this: &Self, value: Value| {
                    let made = source.defining(value);
                    let own = match source.values[value].def {
                        ValueDef::Result(inst, _) => insts.contains(&inst),
                        ValueDef::Param(..) => false,
                    };
                    let known = made.is_some_and(|made| match made.op {
                        Op::Binary(op, _) if op == product => {
                            op == BinaryOp::MulFractional
                                || made.args.iter().all(|&arg| this.short(arg).is_some())
                        }
                        _ => false,
                    });
                    known && own && this.forms.uses[value] == 1
                };
                let second = data.args[1];
                if fits(self, second) {
                    self.fused.insert(second);
                } else if is_sum && fits(self, data.args[0]) {
                    self.fused.insert(data.args[0]);
                }
            }
        }
    }

    pub(super) fn short(&self, value: Value) -> Option<Value> {
        forms::short(self.source, value)
    }
    /// A number of 16 bits in the low half of a register.
    fn low(&mut self, value: Value) -> Virtual {
        match self.short(value) {
            Some(from) if from != value && self.ty(from) == Type::I16 => self.integer(from),
            _ => self.integer(value),
        }
    }

    /// A number of up to 40 bits, in a register of its own, between the limits of the result's type.
    pub(super) fn clamped(&mut self, raw: Virtual, result: Value) {
        let to = self.home(result);
        let ty = self.ty(result);
        if ty == Type::I32 {
            self.put(Opcode::SatL, raw, &[]);
            return self.copy(to, raw);
        }
        let most = (1i64 << (ty.bits() - 1)) - 1;
        for (limit, above) in [(most, true), (-most - 1, false)] {
            let against = if above { limit } else { limit - 1 };
            let guard = self.greater(raw, against);
            let with = self.constant(limit);
            let guard = Guard {
                holds: above,
                ..guard
            };
            self.put_under(guard, Opcode::Tfr, raw, &[with.into()]);
        }
        match self.out.kept.contains(&raw) {
            true => self.sign_extend(to, raw, ty),
            false => self.copy(to, raw),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, wrap: Wrap, args: [Value; 2], result: Value) {
        use BinaryOp::{
            Add, AddSaturateSigned, And, MaxSigned, MaxUnsigned, MinSigned, MinUnsigned, Mul,
            MulFractional, Or, Shl, ShlSaturateSigned, ShrSaturateSigned, ShrSigned, ShrUnsigned,
            Sub, SubSaturateSigned, Xor,
        };
        let ty = self.ty(args[0]);
        let name = || crate::select::name(&Op::Binary(op, wrap));
        if ty == Type::I64 && op == ShrUnsigned && self.number(args[1]) == Some(32) {
            let [high, _] = self.halves(args[0]);
            let to = self.home(result);
            return self.copy(to, high);
        }
        // Of offsets the low half counts.
        if ty == Type::I64 && !matches!(op, Add | Sub | Mul | And | Or | Xor | Shl) {
            return self.no_form(&name(), ty);
        }
        match op {
            Add | Sub => self.sum(op == Add, wrap, args, result),
            And | Or | Xor => self.logic(op, args, result),
            Mul => self.product(args, result),
            BinaryOp::MulHighSigned | BinaryOp::MulHighUnsigned if ty == Type::I32 => {
                self.high_product(op == BinaryOp::MulHighSigned, args, result);
            }
            Shl | ShrSigned | ShrUnsigned => self.shift(op, args, result),
            MinSigned | MaxSigned | MinUnsigned | MaxUnsigned => self.extreme(op, args, result),
            AddSaturateSigned | SubSaturateSigned => {
                self.saturating_sum(op == AddSaturateSigned, args, result);
            }
            MulFractional if ty == Type::I16 => {
                let [a, b] = args.map(|arg| self.fraction(arg));
                let to = self.home(result);
                self.put(Opcode::Mpy, to, &[a.into(), b.into()]);
            }
            ShlSaturateSigned | ShrSaturateSigned => match self.number(args[1]) {
                Some(places) => {
                    let left = op == ShlSaturateSigned;
                    self.saturating_shift(args[0], if left { places } else { -places }, result);
                }
                None => self.variable_shift(op == ShlSaturateSigned, args, result),
            },
            BinaryOp::DivFractional if ty == Type::I16 => self.fractional_quotient(args, result),
            BinaryOp::DivUnsigned
            | BinaryOp::RemUnsigned
            | BinaryOp::DivSigned
            | BinaryOp::RemSigned => self.quotient(op, args, result),
            _ => self.no_form(&name(), ty),
        }
    }

    fn sum(&mut self, adds: bool, wrap: Wrap, args: [Value; 2], result: Value) {
        let wide = matches!(self.ty(result), Type::I40 | Type::I64);
        if adds && let Some(at) = args.iter().position(|arg| self.fused.contains(arg)) {
            return self.accumulate(args[1 - at], args[at], result);
        }
        let exact = wrap.no_signed && !wide && args.iter().all(|&arg| self.forms.is_extended(arg));
        let raw = self.target(result);
        let number = match (self.number(args[1]), self.number(args[0])) {
            (Some(number), _) => Some((args[0], if adds { number } else { number.wrapping_neg() })),
            (None, Some(number)) if adds => Some((args[1], number)),
            _ => None,
        };
        match number {
            Some((arg, number @ -0x8000..=0x7fff)) => {
                let from = self.integer(arg);
                match (exact, number) {
                    (_, 0) => self.copy(raw, from),
                    (true, 1..=31) => {
                        self.copy(raw, from);
                        self.put(Opcode::Add, raw, &[number.into()]);
                    }
                    (true, -31..=-1) => {
                        self.copy(raw, from);
                        self.put(Opcode::Sub, raw, &[(-number).into()]);
                    }
                    (true, _) => self.put(Opcode::AddncW, raw, &[number.into(), from.into()]),
                    (false, _) => {
                        self.copy(raw, from);
                        self.put(Opcode::IaddncW, raw, &[number.into()]);
                    }
                }
            }
            // Twice a number reads it once.
            _ if adds && !exact && args[0] == args[1] => {
                let from = self.integer(args[0]);
                let twice = self.copied(from);
                self.put(Opcode::Asll, twice, &[1.into()]);
                self.copy(raw, twice);
            }
            _ => {
                let [a, b] = args.map(|arg| self.integer(arg));
                match (exact, adds) {
                    (true, true) => self.put(Opcode::Add, raw, &[a.into(), b.into()]),
                    (true, false) => self.put(Opcode::Sub, raw, &[b.into(), a.into()]),
                    (false, true) => {
                        let sum = self.copied(a);
                        self.put(Opcode::Iadd, sum, &[b.into()]);
                        self.copy(raw, sum);
                    }
                    (false, false) => {
                        // ~(~a + b)
                        let sum = self.data();
                        self.put(Opcode::Not, sum, &[a.into()]);
                        self.put(Opcode::Iadd, sum, &[b.into()]);
                        self.put(Opcode::Not, raw, &[sum.into()]);
                    }
                }
            }
        }
        self.settle(result, raw);
    }

    /// `result = onto + product`, of integers.
    fn accumulate(&mut self, onto: Value, product: Value, result: Value) {
        let source = self.source;
        let Some(data) = source.defining(product) else {
            return;
        };
        let [a, b] = [data.args[0], data.args[1]].map(|arg| self.low(arg));
        let from = self.integer(onto);
        let raw = self.target(result);
        let sum = self.copied(from);
        self.put(Opcode::Imac, sum, &[a.into(), b.into()]);
        self.copy(raw, sum);
        self.settle(result, raw);
    }

    fn logic(&mut self, op: BinaryOp, args: [Value; 2], result: Value) {
        if let (BinaryOp::And, Some(mask)) = (op, self.number(args[1])) {
            let ty = match mask {
                0xff => Some(Type::I8),
                0xffff => Some(Type::I16),
                _ => None,
            };
            if let Some(ty) = ty.filter(|ty| ty.bits() < self.ty(result).bits()) {
                let from = self.integer(args[0]);
                let to = self.home(result);
                return self.zero_extend(to, from, ty);
            }
        }
        let [a, b] = args.map(|arg| self.integer(arg));
        let raw = self.target(result);
        let opcode = match op {
            BinaryOp::And => Opcode::And,
            BinaryOp::Or => Opcode::Or,
            _ => Opcode::Eor,
        };
        let made = self.copied(a);
        self.put(opcode, made, &[b.into()]);
        self.copy(raw, made);
        self.settle(result, raw);
    }

    fn product(&mut self, args: [Value; 2], result: Value) {
        let raw = self.target(result);
        let power = |number: i64| number > 0 && number.count_ones() == 1;
        for (arg, by) in [(args[0], args[1]), (args[1], args[0])] {
            if let Some(by) = self.number(by).filter(|&by| power(by) && by < 1 << 31) {
                let from = self.integer(arg);
                let made = self.copied(from);
                let places = i64::from(by.trailing_zeros());
                if places > 0 {
                    self.put(Opcode::Asll, made, &[places.into()]);
                }
                self.copy(raw, made);
                return self.settle(result, raw);
            }
        }
        if args.iter().all(|&arg| self.short(arg).is_some()) {
            let [a, b] = args.map(|arg| self.low(arg));
            self.put(Opcode::Impy, raw, &[a.into(), b.into()]);
            return self.settle(result, raw);
        }
        let [a, b] = args.map(|arg| self.integer(arg));
        if self.ty(result).bits() <= 16 {
            self.put(Opcode::Impy, raw, &[a.into(), b.into()]);
            return self.settle(result, raw);
        }
        // The products of unlike halves count in the high half alone.
        let cross = self.data();
        self.put(Opcode::Impyhluu, cross, &[a.into(), b.into()]);
        self.put(Opcode::Imaclhuu, cross, &[a.into(), b.into()]);
        let high = self.data();
        self.put(Opcode::Aslw, high, &[cross.into()]);
        let low = self.data();
        self.put(Opcode::Impyuu, low, &[a.into(), b.into()]);
        self.put(Opcode::Iadd, low, &[high.into()]);
        self.copy(raw, low);
        self.settle(result, raw);
    }

    fn shift(&mut self, op: BinaryOp, args: [Value; 2], result: Value) {
        let ty = self.ty(result);
        let from = self.integer(args[0]);
        let raw = self.target(result);
        let bits = i64::from(ty.bits());
        let logical = op == BinaryOp::ShrUnsigned;
        match (self.number(args[1]), op) {
            (Some(0), _) => self.copy(raw, from),
            (Some(places), _) if ty == Type::I40 && !logical => {
                let made = self.copied(from);
                let opcode = match op {
                    BinaryOp::Shl => Opcode::Asll,
                    _ => Opcode::Asrr,
                };
                for part in [places.min(31), places.clamp(31, bits) - 31] {
                    if part > 0 {
                        self.put(opcode, made, &[part.into()]);
                    }
                }
                self.copy(raw, made);
            }
            (Some(16), BinaryOp::Shl) => self.put(Opcode::Aslw, raw, &[from.into()]),
            (Some(16), BinaryOp::ShrSigned) => self.put(Opcode::Asrw, raw, &[from.into()]),
            (Some(places), _) if logical && (1..bits).contains(&places) => {
                self.field(raw, from, bits - places, places);
            }
            (Some(places @ 1..=31), _) if !logical => {
                let opcode = match op {
                    BinaryOp::Shl => Opcode::Asll,
                    _ => Opcode::Asrr,
                };
                let made = self.copied(from);
                self.put(opcode, made, &[places.into()]);
                self.copy(raw, made);
            }
            // By the width or more.
            (Some(_), BinaryOp::ShrSigned) => {
                let made = self.copied(from);
                self.put(Opcode::Asrr, made, &[31.into()]);
                self.copy(raw, made);
            }
            (Some(_), _) => self.put(Opcode::Clr, raw, &[]),
            (None, _) => {
                let (places, beyond) = self.places(args[1], bits);
                let made = self.copied(from);
                let opcode = match op {
                    BinaryOp::Shl => Opcode::Asll,
                    _ => Opcode::Asrr,
                };
                self.put(opcode, made, &[places.into()]);
                if logical {
                    // The sign's copies go: as many bits stay as the width has beside the places.
                    let (all, one) = (self.constant(bits), self.constant(1));
                    let left = self.data();
                    self.put(Opcode::Sub, left, &[places.into(), all.into()]);
                    let mask = self.copied(one);
                    self.put(Opcode::Asll, mask, &[left.into()]);
                    self.put(Opcode::IaddncW, mask, &[(-1).into()]);
                    self.put(Opcode::And, made, &[mask.into()]);
                }
                if let Some(beyond) = beyond.filter(|_| op != BinaryOp::ShrSigned) {
                    self.put_under(beyond, Opcode::Clr, made, &[]);
                }
                self.copy(raw, made);
            }
        }
        self.settle(result, raw);
    }

    /// A number of places that is no constant, and the guard that holds where it is not below the width: the number is less
    /// than that then. Without a guard the program promises that it is below.
    fn places(&mut self, arg: Value, bits: i64) -> (Virtual, Option<Guard>) {
        let given = self.integer(arg);
        if !self.total {
            return (given, None);
        }
        let most = self.constant(bits - 1);
        let flag = self.flag();
        self.put(Opcode::Cmphi, flag, &[most.into(), given.into()]);
        let places = self.copied(given);
        self.put_under(Guard::of(flag), Opcode::Tfr, places, &[most.into()]);
        (places, Some(Guard::of(flag)))
    }

    /// Bits of a number, without a sign.
    pub(super) fn field(&mut self, to: Virtual, from: Virtual, width: i64, offset: i64) {
        self.put(
            Opcode::Extractu,
            to,
            &[width.into(), offset.into(), from.into()],
        );
    }

    fn saturating_sum(&mut self, adds: bool, args: [Value; 2], result: Value) {
        let source = self.source;
        if let Some(at) = args.iter().position(|arg| self.fused.contains(arg))
            && let Some(data) = source.defining(args[at])
        {
            let [a, b] = [data.args[0], data.args[1]].map(|arg| self.fraction(arg));
            let from = self.integer(args[1 - at]);
            let to = self.home(result);
            let sum = self.copied(from);
            let mut sources: Vec<Operand> = vec![a.into(), b.into()];
            if !adds {
                sources.push((-1).into());
            }
            self.append(operation(Opcode::Mac, vec![sum.into()], sources));
            return self.copy(to, sum);
        }
        if self.ty(result) == Type::I16 {
            return self.saturating_fractions(adds, args, result);
        }
        let [a, b] = args.map(|arg| self.integer(arg));
        match (self.ty(result), adds) {
            (Type::I64, _) => self.no_form("saturating sum", Type::I64),
            (Type::I32, true) => {
                let to = self.home(result);
                self.put(Opcode::Add, to, &[a.into(), b.into()]);
            }
            (Type::I32, false) => {
                let to = self.home(result);
                self.put(Opcode::Sub, to, &[b.into(), a.into()]);
            }
            (_, adds) => {
                let raw = self.data();
                match adds {
                    true => self.put(Opcode::Add, raw, &[a.into(), b.into()]),
                    false => self.put(Opcode::Sub, raw, &[b.into(), a.into()]),
                }
                self.clamped(raw, result);
            }
        }
    }

    /// A saturating sum of numbers of 16 bits: that of numbers of 32 bits that hold them in their high parts, and nothing below.
    fn saturating_fractions(&mut self, adds: bool, args: [Value; 2], result: Value) {
        let [a, b] = args.map(|arg| self.clean_fraction(arg));
        let (opcode, sources) = match adds {
            true => (Opcode::Add, [a.into(), b.into()]),
            false => (Opcode::Sub, [b.into(), a.into()]),
        };
        let to = self.home(result);
        if self.forms.is_fraction(result) {
            return self.put(opcode, to, &sources);
        }
        let sum = self.data();
        self.put(opcode, sum, &sources);
        self.put(Opcode::Asrr, sum, &[16.into()]);
        self.copy(to, sum);
    }

    /// A number of 16 bits in the high part of a register whose low part is 0 and which is extended by its sign.
    pub(super) fn clean_fraction(&mut self, value: Value) -> Virtual {
        let loaded = self.source.defining(value);
        let loaded = loaded.is_some_and(|data| matches!(data.op, Op::Load(_)));
        if self.number(value).is_some() || loaded && self.forms.is_fraction(value) {
            return self.fraction(value);
        }
        let from = self.integer(value);
        let to = self.data();
        self.put(Opcode::Aslw, to, &[from.into()]);
        to
    }

    /// A saturating shift by a constant number of places to the left, to the right where it is negative.
    fn saturating_shift(&mut self, arg: Value, places: i64, result: Value) {
        let ty = self.ty(result);
        let from = self.integer(arg);
        let bits = i64::from(ty.bits());
        if places <= 0 {
            let made = self.copied(from);
            let by = (-places).min(bits - 1);
            if by > 0 {
                self.put(Opcode::Asrr, made, &[by.into()]);
            }
            let to = self.home(result);
            return self.copy(to, made);
        }
        // What a register may lose on its way through memory is never read: the shifted number counts where it fits.
        if places <= DOUBLINGS && ty == Type::I32 {
            let mut raw = from;
            for _ in 0..places {
                let twice = self.data();
                self.put(Opcode::Add, twice, &[raw.into(), raw.into()]);
                raw = twice;
            }
            let to = self.home(result);
            return self.copy(to, raw);
        }
        let places = places.min(bits - 1);
        let shifted = self.copied(from);
        self.put(Opcode::Asll, shifted, &[places.into()]);
        let most = (1i64 << (bits - 1)) - 1;
        let [above, below] = [(most, true), (-most - 1, false)].map(|(limit, above)| {
            let fitting = limit >> places;
            (limit, fitting - i64::from(!above), above)
        });
        for (limit, against, holds) in [above, below] {
            let guard = self.greater(from, against);
            let with = self.constant(limit);
            self.put_under(
                Guard { holds, ..guard },
                Opcode::Tfr,
                shifted,
                &[with.into()],
            );
        }
        let to = self.home(result);
        self.copy(to, shifted);
    }

    /// The guard that holds where a register is greater than a number.
    fn greater(&mut self, from: Virtual, number: i64) -> Guard {
        let flag = self.flag();
        match number {
            -0x8000..=0x7fff => self.put(Opcode::CmpgtW, flag, &[number.into(), from.into()]),
            _ => {
                let with = self.constant(number);
                self.put(Opcode::Cmpgt, flag, &[with.into(), from.into()]);
            }
        }
        Guard::of(flag)
    }

    /// A saturating shift by a signed number of places.
    fn variable_shift(&mut self, left: bool, args: [Value; 2], result: Value) {
        let ty = self.ty(result);
        let most = i64::from(ty.bits()) - 1;
        let [from, given] = args.map(|arg| self.integer(arg));
        let places = self.copied(given);
        for (limit, above) in [(most, true), (-most, false)] {
            let guard = self.greater(places, if above { limit } else { limit - 1 });
            let with = self.constant(limit);
            let guard = Guard {
                holds: above,
                ..guard
            };
            self.put_under(guard, Opcode::Tfr, places, &[with.into()]);
        }
        if !left {
            self.put(Opcode::Neg, places, &[]);
        }
        let shifted = self.copied(from);
        self.put(Opcode::Asll, shifted, &[places.into()]);
        // Beyond the copies of the sign it is the limit that has the sign.
        let limit = self.copied(from);
        self.put(Opcode::Asrr, limit, &[31.into()]);
        let positive = self.constant((1 << most) - 1);
        self.put(Opcode::Eor, limit, &[positive.into()]);
        let room = self.room(from, ty);
        let flag = self.flag();
        self.put(Opcode::Cmpgt, flag, &[room.into(), places.into()]);
        self.put_under(Guard::of(flag), Opcode::Tfr, shifted, &[limit.into()]);
        let flag = self.flag();
        self.put(Opcode::Tsteq, flag, &[from.into()]);
        self.put_under(Guard::of(flag), Opcode::Clr, shifted, &[]);
        let to = self.home(result);
        self.copy(to, shifted);
    }

    /// The copies of a number's sign; something of zero.
    pub(super) fn room(&mut self, from: Virtual, ty: Type) -> Virtual {
        let places = self.data();
        self.put(Opcode::Clb, places, &[from.into()]);
        self.put(Opcode::Neg, places, &[]);
        let above = 32 - i64::from(ty.bits());
        match above {
            0 => {}
            1.. => self.put(Opcode::Sub, places, &[above.into()]),
            _ => self.put(Opcode::IaddncW, places, &[(-above).into()]),
        }
        places
    }

    /// The quotient and the remainder by a routine.
    fn divided(&mut self, routine: &str, pair: [Virtual; 2]) -> [Virtual; 2] {
        self.out.calls = true;
        let registers = [Reg::data(0), Reg::data(1)];
        let mut sources = vec![Operand::Symbol(routine.into())];
        for (register, from) in registers.into_iter().zip(pair) {
            let to = Operand::fixed(register);
            self.append(operation(Opcode::Tfr, vec![to.clone()], vec![from.into()]));
            sources.push(to);
        }
        self.append(operation(Opcode::Jsr, Vec::new(), sources));
        self.forget();
        registers.map(|register| {
            let to = self.data();
            self.put(Opcode::Tfr, to, &[Operand::fixed(register)]);
            to
        })
    }

    /// The quotient of fractions of 16 bits, saturated.
    fn fractional_quotient(&mut self, args: [Value; 2], result: Value) {
        let [from, by] = args.map(|arg| self.integer(arg));
        let dividend = self.copied(from);
        self.put(Opcode::Asll, dividend, &[15.into()]);
        let [whole, _] = self.divided(division::SIGNED, [dividend, by]);
        self.clamped(whole, result);
        let to = self.home(result);
        let limit = self.copied(from);
        self.put(Opcode::Asrr, limit, &[31.into()]);
        let positive = self.constant(0x7fff);
        self.put(Opcode::Eor, limit, &[positive.into()]);
        let flag = self.flag();
        self.put(Opcode::Tsteq, flag, &[by.into()]);
        self.put_under(Guard::of(flag), Opcode::Tfr, to, &[limit.into()]);
    }

    /// A quotient or a remainder: by a power of two, or by a routine.
    fn quotient(&mut self, op: BinaryOp, args: [Value; 2], result: Value) {
        let ty = self.ty(result);
        let signed = matches!(op, BinaryOp::DivSigned | BinaryOp::RemSigned);
        let mask = match ty {
            Type::I8 => 0xff,
            Type::I16 => 0xffff,
            _ => 0xffff_ffff,
        };
        let by = self.number(args[1]).map(|by| by & mask);
        let divides = matches!(op, BinaryOp::DivSigned | BinaryOp::DivUnsigned);
        let places = by
            .filter(|by| by.count_ones() == 1)
            .map(|by| i64::from(by.trailing_zeros()))
            .filter(|&places| places <= 30 && !(signed && places == i64::from(ty.bits()) - 1));
        let Some(places) = places else {
            let mut pair = args.map(|arg| self.integer(arg));
            if !signed && ty != Type::I32 {
                pair = pair.map(|from| {
                    let plain = self.data();
                    self.zero_extend(plain, from, ty);
                    plain
                });
            }
            let routine = if signed {
                division::SIGNED
            } else {
                division::UNSIGNED
            };
            let [whole, rest] = self.divided(routine, pair);
            let raw = self.target(result);
            self.copy(raw, if divides { whole } else { rest });
            return self.settle(result, raw);
        };
        let from = self.integer(args[0]);
        let raw = self.target(result);
        let bits = i64::from(ty.bits());
        match (signed, divides, places) {
            (_, true, 0) => self.copy(raw, from),
            (_, false, 0) => self.put(Opcode::Clr, raw, &[]),
            (false, true, _) => self.field(raw, from, bits - places, places),
            (false, false, _) => self.field(raw, from, places, 0),
            (true, ..) => {
                // Towards zero: what is below it is raised by the divisor less one.
                let whole = self.copied(from);
                self.put(Opcode::Asrr, whole, &[31.into()]);
                let low = self.constant((1 << places) - 1);
                self.put(Opcode::And, whole, &[low.into()]);
                self.put(Opcode::Iadd, whole, &[from.into()]);
                self.put(Opcode::Asrr, whole, &[places.into()]);
                if divides {
                    self.copy(raw, whole);
                } else {
                    // What the quotient leaves.
                    self.put(Opcode::Asll, whole, &[places.into()]);
                    let left = self.data();
                    self.put(Opcode::Not, left, &[from.into()]);
                    self.put(Opcode::Iadd, left, &[whole.into()]);
                    self.put(Opcode::Not, raw, &[left.into()]);
                }
            }
        }
        self.settle(result, raw);
    }

    pub(super) fn convert(&mut self, kind: Convert, arg: Value, result: Value) {
        let (from, to) = (self.ty(arg), self.ty(result));
        let pointer = |ty: Type| matches!(ty, Type::Ptr(_));
        match kind {
            Convert::Truncate if self.forms.is_fraction(result) => {
                let Some(whole) = forms::high_part(self.source, result) else {
                    return;
                };
                let whole = self.integer(whole);
                let home = self.home(result);
                self.copy(home, whole);
            }
            Convert::ToBool => {
                let guard = self.compare_number(IntCondition::NotEqual, arg, 0);
                let number = self.guard_number(guard);
                let home = self.home(result);
                self.copy(home, number);
            }
            _ if pointer(to) => {
                let value = self.address(arg);
                let home = self.home(result);
                self.copy(home, value);
            }
            _ if pointer(from) => {
                let value = self.read(arg);
                let home = self.home(result);
                self.put(Opcode::MoveL, home, &[value.into()]);
            }
            Convert::SignExtend => {
                let value = self.integer(arg);
                // A register that is written here alone holds both.
                let is_written_once = matches!(self.source.values[arg].def, ValueDef::Result(..));
                if to == Type::I40
                    && from != Type::Bool
                    && is_written_once
                    && self.forms.is_extended(arg)
                    && self.values[result].is_none()
                {
                    self.values[result] = Some(value);
                    return;
                }
                let home = self.home(result);
                match from {
                    Type::Bool => {
                        let zero = self.constant(0);
                        self.put(Opcode::Sub, home, &[value.into(), zero.into()]);
                    }
                    // The low half is all that such a number has here.
                    Type::I40 => self.sign_extend(home, value, Type::I32),
                    _ if self.forms.is_extended(arg) => self.copy(home, value),
                    Type::I32 if to != Type::I40 => self.copy(home, value),
                    from => self.sign_extend(home, value, from),
                }
            }
            Convert::ZeroExtend => {
                let value = self.integer(arg);
                let home = self.home(result);
                match from {
                    Type::Bool => self.copy(home, value),
                    Type::I32 if to != Type::I40 => self.copy(home, value),
                    from => self.zero_extend(home, value, from),
                }
            }
            Convert::Truncate if to == Type::Bool => {
                let value = self.integer(arg);
                let bit = self.copied(value);
                let low = self.constant(1);
                self.put(Opcode::And, bit, &[low.into()]);
                let home = self.home(result);
                self.copy(home, bit);
            }
            // What is in a slot is no more than this.
            Convert::Truncate if from == Type::I40 => {
                let value = self.integer(arg);
                let home = self.home(result);
                self.sign_extend(home, value, to);
            }
            Convert::Truncate | Convert::Bitcast => {
                let value = self.integer(arg);
                let raw = self.target(result);
                self.copy(raw, value);
                self.settle(result, raw);
            }
            Convert::SaturateSigned if from != Type::I64 => {
                let value = self.integer(arg);
                let raw = self.copied(value);
                self.clamped(raw, result);
            }
            _ => self.no_form("conversion", from),
        }
    }
}
