//! Operations on pairs.

use super::{Pair, Splitter};
use ir::{BinaryOp, Convert, InstData, IntCondition, Op, Type, UnaryOp, Value};

impl Splitter<'_, '_> {
    fn op(&mut self, op: BinaryOp, x: Value, y: Value) -> Value {
        self.writer.binary(op, x, y)
    }
    fn word(&mut self, number: i64) -> Value {
        self.writer.int(Type::I32, number)
    }
    /// `high:low` of a constant.
    fn number(&mut self, number: i64) -> Pair {
        Pair {
            low: self.word(number),
            high: self.word(number >> 32),
        }
    }
    fn constant(&self, value: Value) -> Option<i64> {
        self.writer.constant(value).map(|bits| bits as i64)
    }
    /// Copies of a word's sign.
    fn sign(&mut self, word: Value) -> Value {
        let all = self.word(31);
        self.op(BinaryOp::ShrSigned, word, all)
    }
    fn is_negative(&mut self, pair: Pair) -> Value {
        let zero = self.word(0);
        self.writer
            .compare(IntCondition::LessSigned, pair.high, zero)
    }
    fn choose(&mut self, condition: Value, then: Pair, otherwise: Pair) -> Pair {
        Pair {
            low: self.writer.choose(condition, then.low, otherwise.low),
            high: self.writer.choose(condition, then.high, otherwise.high),
        }
    }

    /// The halves of an operation's result; `None`: it stays as it is.
    pub(super) fn computed(&mut self, data: &InstData) -> Option<Pair> {
        let args = data.args.clone();
        match &data.op {
            // It stays: what takes whole numbers reads it.
            Op::Const(_) | Op::Undef => None,
            // Counts of bits have another type than what they count.
            op @ Op::Unary(_) if self.writer.ty(args[0]) != Type::I64 => {
                let low = self.writer.value(op.clone(), &args, Type::I32);
                let high = self.sign(low);
                Some(Pair { low, high })
            }
            Op::Unary(UnaryOp::Neg) => {
                let (zero, x) = (self.number(0), self.pair(args[0]));
                Some(self.difference(zero, x))
            }
            Op::Unary(UnaryOp::Not) => {
                let x = self.pair(args[0]);
                Some(Pair {
                    low: self.writer.unary(UnaryOp::Not, x.low),
                    high: self.writer.unary(UnaryOp::Not, x.high),
                })
            }
            Op::Unary(UnaryOp::IntAbs) => {
                let (zero, x) = (self.number(0), self.pair(args[0]));
                let negative = self.is_negative(x);
                let other = self.difference(zero, x);
                Some(self.choose(negative, other, x))
            }
            Op::Unary(op @ (UnaryOp::CountLeadingZeros | UnaryOp::PopCount)) => {
                let x = self.pair(args[0]);
                Some(Pair {
                    low: self.bits(*op, x),
                    high: self.word(0),
                })
            }
            Op::Binary(op, _) => self.binary(*op, [args[0], args[1]]),
            Op::Ternary(
                op @ (ir::TernaryOp::BitExtractSigned | ir::TernaryOp::BitExtractUnsigned),
            ) => {
                let given = [args[1], args[2]].map(|arg| self.constant(arg));
                let [Some(at @ 0..64), Some(length @ 1..=64)] = given else {
                    return None;
                };
                let x = self.pair(args[0]);
                // What lies above the number is its sign, or zero.
                let above = (64 - at - length).max(0) as u32;
                let back = match op {
                    ir::TernaryOp::BitExtractSigned => BinaryOp::ShrSigned,
                    _ => BinaryOp::ShrUnsigned,
                };
                let up = self.moved_by(BinaryOp::Shl, x, above);
                Some(self.moved_by(back, up, above + at as u32))
            }
            Op::Select => {
                let (then, otherwise) = (self.pair(args[1]), self.pair(args[2]));
                Some(self.choose(args[0], then, otherwise))
            }
            Op::Convert(Convert::SignExtend) if self.writer.ty(args[0]) == Type::I40 => {
                let half = self.word(32);
                let above = self.op(BinaryOp::ShrSigned, args[0], half);
                let [low, high] = [args[0], above]
                    .map(|from| self.writer.convert(Convert::Truncate, from, Type::I32));
                Some(Pair { low, high })
            }
            Op::Convert(Convert::SignExtend) => {
                let low = self.writer.convert(Convert::SignExtend, args[0], Type::I32);
                let high = self.sign(low);
                Some(Pair { low, high })
            }
            Op::Convert(Convert::ZeroExtend) => {
                let low = self.writer.convert(Convert::ZeroExtend, args[0], Type::I32);
                let high = self.word(0);
                Some(Pair { low, high })
            }
            _ => None,
        }
    }

    fn binary(&mut self, op: BinaryOp, args: [Value; 2]) -> Option<Pair> {
        use BinaryOp::{
            Add, AddSaturateSigned, And, DivSigned, DivUnsigned, MaxSigned, MaxUnsigned, MinSigned,
            MinUnsigned, Mul, Or, RemSigned, RemUnsigned, RotateLeft, Shl, ShrSigned, ShrUnsigned,
            Sub, SubSaturateSigned, Xor,
        };
        Some(match op {
            Add | Sub => {
                let [x, y] = args.map(|arg| self.pair(arg));
                match op {
                    Add => self.sum(x, y),
                    _ => self.difference(x, y),
                }
            }
            And | Or | Xor => {
                let [x, y] = args.map(|arg| self.pair(arg));
                Pair {
                    low: self.op(op, x.low, y.low),
                    high: self.op(op, x.high, y.high),
                }
            }
            Mul => self.product(args),
            Shl | ShrSigned | ShrUnsigned => self.shift(op, args),
            RotateLeft => {
                let x = self.pair(args[0]);
                let places = self.places(args[1]);
                let (mask, most) = (self.word(63), self.word(63));
                let places = self.op(And, places, mask);
                let back = self.op(Sub, most, places);
                let left = self.moved(Shl, x, places);
                let right = self.moved_by(ShrUnsigned, x, 1);
                let right = self.moved(ShrUnsigned, right, back);
                Pair {
                    low: self.op(Or, left.low, right.low),
                    high: self.op(Or, left.high, right.high),
                }
            }
            MinSigned | MaxSigned | MinUnsigned | MaxUnsigned => {
                let how = match op {
                    MinSigned => IntCondition::LessSigned,
                    MaxSigned => IntCondition::GreaterSigned,
                    MinUnsigned => IntCondition::LessUnsigned,
                    _ => IntCondition::GreaterUnsigned,
                };
                let [x, y] = args.map(|arg| self.pair(arg));
                let first = self.compare(how, x, y);
                self.choose(first, x, y)
            }
            AddSaturateSigned | SubSaturateSigned => {
                let [x, y] = args.map(|arg| self.pair(arg));
                let (sum, unlike) = match op {
                    AddSaturateSigned => {
                        let sum = self.sum(x, y);
                        (sum, self.op(Xor, sum.high, y.high))
                    }
                    _ => (self.difference(x, y), self.op(Xor, x.high, y.high)),
                };
                // The sum has not the sign that the operands, or the first one and the other's opposite, have.
                let turned = self.op(Xor, sum.high, x.high);
                let lost = self.op(And, turned, unlike);
                let zero = self.word(0);
                let lost = self.writer.compare(IntCondition::LessSigned, lost, zero);
                let sign = self.sign(x.high);
                let most = self.number(i64::MAX);
                let limit = Pair {
                    low: self.op(Xor, most.low, sign),
                    high: self.op(Xor, most.high, sign),
                };
                self.choose(lost, limit, sum)
            }
            DivSigned | DivUnsigned | RemSigned | RemUnsigned => self.quotient(op, args),
            _ => return None,
        })
    }

    fn sum(&mut self, x: Pair, y: Pair) -> Pair {
        let low = self.op(BinaryOp::Add, x.low, y.low);
        // A sum that wraps is less than either operand.
        let carry = match low == x.low || low == y.low {
            true => self.word(0),
            false => {
                let less = self.writer.compare(IntCondition::LessUnsigned, low, y.low);
                self.writer.truth_number(less)
            }
        };
        let high = self.op(BinaryOp::Add, x.high, y.high);
        let high = self.op(BinaryOp::Add, high, carry);
        Pair { low, high }
    }

    fn difference(&mut self, x: Pair, y: Pair) -> Pair {
        let low = self.op(BinaryOp::Sub, x.low, y.low);
        let borrow = match self.constant(y.low) {
            Some(0) => self.word(0),
            _ => {
                let less = self
                    .writer
                    .compare(IntCondition::LessUnsigned, x.low, y.low);
                self.writer.truth_number(less)
            }
        };
        let high = self.op(BinaryOp::Sub, x.high, y.high);
        let high = self.op(BinaryOp::Sub, high, borrow);
        Pair { low, high }
    }

    /// The number of 32 bits that a value is the extension of.
    fn extended(&mut self, value: Value) -> Option<(bool, Value)> {
        if let Some(number) = self.constant(value) {
            let signed = i64::from(number as i32) == number;
            let fits = signed || i64::from(number as u32) == number;
            return fits.then(|| (signed, self.word(number)));
        }
        let pair = self.pairs[value]?;
        let made = self.writer.function.defining(value)?;
        let from = self.writer.ty(*made.args.first()?).bits();
        match made.op {
            ir::Op::Convert(Convert::SignExtend) if from <= 32 => Some((true, pair.low)),
            // Of fewer bits it has no sign.
            ir::Op::Convert(Convert::ZeroExtend) if from <= 32 => Some((from < 32, pair.low)),
            _ => None,
        }
    }

    fn product(&mut self, args: [Value; 2]) -> Pair {
        for (value, by) in [(args[0], args[1]), (args[1], args[0])] {
            if let Some(by) = self.constant(by)
                && by.count_ones() == 1
            {
                let x = self.pair(value);
                return self.moved_by(BinaryOp::Shl, x, by.trailing_zeros());
            }
        }
        let known = args.map(|arg| self.extended(arg));
        if let [Some((signed, x)), Some((other, y))] = known
            && signed == other
        {
            let high = match signed {
                true => BinaryOp::MulHighSigned,
                false => BinaryOp::MulHighUnsigned,
            };
            return Pair {
                low: self.op(BinaryOp::Mul, x, y),
                high: self.op(high, x, y),
            };
        }
        let [x, y] = args.map(|arg| self.pair(arg));
        let low = self.op(BinaryOp::Mul, x.low, y.low);
        let mut high = self.op(BinaryOp::MulHighUnsigned, x.low, y.low);
        for (a, b) in [(x.low, y.high), (x.high, y.low)] {
            let cross = self.op(BinaryOp::Mul, a, b);
            high = self.op(BinaryOp::Add, high, cross);
        }
        Pair { low, high }
    }

    /// A number of places as a word.
    fn places(&mut self, value: Value) -> Value {
        match self.writer.ty(value) {
            Type::I64 => self.low(value),
            _ => self.writer.convert(Convert::SignExtend, value, Type::I32),
        }
    }

    fn shift(&mut self, op: BinaryOp, args: [Value; 2]) -> Pair {
        let x = self.pair(args[0]);
        if let Some(places) = self.constant(args[1]) {
            let places = u32::try_from(places).unwrap_or(64).min(64);
            return self.moved_by(op, x, places);
        }
        let places = self.places(args[1]);
        let made = self.moved(op, x, places);
        if !self.words.total {
            return made;
        }
        let beyond = match self.pairs[args[1]] {
            Some(pair) => {
                let most = self.number(63);
                self.compare(IntCondition::GreaterUnsigned, pair, most)
            }
            None => {
                let most = self.word(63);
                self.writer
                    .compare(IntCondition::GreaterUnsigned, places, most)
            }
        };
        let lost = self.moved_by(op, x, 64);
        self.choose(beyond, lost, made)
    }

    /// A shift by a number of places that is known.
    fn moved_by(&mut self, op: BinaryOp, x: Pair, places: u32) -> Pair {
        use BinaryOp::{Or, Shl, ShrSigned, ShrUnsigned};
        let by = self.word(i64::from(places % 32));
        let back = self.word(i64::from(32 - places % 32));
        let fill = match op {
            ShrSigned => self.sign(x.high),
            _ => self.word(0),
        };
        match (op, places) {
            (_, 0) => x,
            (Shl, 1..=31) => {
                let over = self.op(ShrUnsigned, x.low, back);
                let high = self.op(Shl, x.high, by);
                Pair {
                    low: self.op(Shl, x.low, by),
                    high: self.op(Or, high, over),
                }
            }
            (Shl, 32..=63) => Pair {
                low: self.word(0),
                high: self.op(Shl, x.low, by),
            },
            (_, 1..=31) => {
                let over = self.op(Shl, x.high, back);
                let low = self.op(ShrUnsigned, x.low, by);
                Pair {
                    low: self.op(Or, low, over),
                    high: self.op(op, x.high, by),
                }
            }
            (_, 32..=63) => Pair {
                low: self.op(op, x.high, by),
                high: fill,
            },
            _ => Pair {
                low: fill,
                high: fill,
            },
        }
    }

    /// A shift by fewer than 64 places.
    fn moved(&mut self, op: BinaryOp, x: Pair, places: Value) -> Pair {
        use BinaryOp::{And, Or, Shl, ShrUnsigned, Xor};
        let (most, half, once) = (self.word(31), self.word(32), self.word(1));
        let near = self.op(And, places, most);
        let back = self.op(Xor, near, most);
        let far = self.op(And, places, half);
        let zero = self.word(0);
        let far = self.writer.compare(IntCondition::NotEqual, far, zero);
        if op == Shl {
            let low = self.op(Shl, x.low, near);
            let over = self.op(ShrUnsigned, x.low, once);
            let over = self.op(ShrUnsigned, over, back);
            let high = self.op(Shl, x.high, near);
            let high = self.op(Or, high, over);
            let (here, there) = (
                Pair { low, high },
                Pair {
                    low: zero,
                    high: low,
                },
            );
            return self.choose(far, there, here);
        }
        let high = self.op(op, x.high, near);
        let over = self.op(Shl, x.high, once);
        let over = self.op(Shl, over, back);
        let low = self.op(ShrUnsigned, x.low, near);
        let low = self.op(Or, low, over);
        let fill = match op {
            BinaryOp::ShrSigned => self.sign(x.high),
            _ => zero,
        };
        let (here, there) = (
            Pair { low, high },
            Pair {
                low: high,
                high: fill,
            },
        );
        self.choose(far, there, here)
    }

    /// A quotient or a remainder: by a power of two, or by a routine.
    fn quotient(&mut self, op: BinaryOp, args: [Value; 2]) -> Pair {
        use BinaryOp::{And, DivSigned, DivUnsigned, RemSigned, Shl, ShrSigned, ShrUnsigned};
        let power = self
            .constant(args[1])
            .filter(|by| by.count_ones() == 1 && *by > 0);
        if let Some(by) = power {
            let x = self.pair(args[0]);
            let places = by.trailing_zeros();
            let mask = self.number(by - 1);
            let masked = |this: &mut Self, x: Pair| Pair {
                low: this.op(And, x.low, mask.low),
                high: this.op(And, x.high, mask.high),
            };
            return match op {
                DivUnsigned => self.moved_by(ShrUnsigned, x, places),
                DivSigned | RemSigned => {
                    // Towards zero: what is below it is raised by the divisor less one.
                    let sign = self.sign(x.high);
                    let sign = Pair {
                        low: sign,
                        high: sign,
                    };
                    let raise = masked(self, sign);
                    let raised = self.sum(x, raise);
                    let whole = self.moved_by(ShrSigned, raised, places);
                    if op == DivSigned {
                        return whole;
                    }
                    let back = self.moved_by(Shl, whole, places);
                    self.difference(x, back)
                }
                _ => masked(self, x),
            };
        }
        let name = match op {
            DivSigned => "i64_divide",
            DivUnsigned => "u64_divide",
            RemSigned => "i64_remainder",
            _ => "u64_remainder",
        };
        let number = self.routines.number(name);
        let whole = args.map(|arg| self.whole(arg));
        let made = self.writer.value(ir::Op::Call(number), &whole, Type::I64);
        let low = self.writer.convert(Convert::Truncate, made, Type::I32);
        let half = self.word(32);
        let high = self.op(ShrUnsigned, made, half);
        let high = self.writer.convert(Convert::Truncate, high, Type::I32);
        Pair { low, high }
    }

    pub(super) fn compare(&mut self, how: IntCondition, x: Pair, y: Pair) -> Value {
        use IntCondition::{
            Equal, GreaterEqualSigned, GreaterEqualUnsigned, GreaterSigned, GreaterUnsigned,
            LessEqualSigned, LessEqualUnsigned, LessSigned, LessUnsigned, NotEqual,
        };
        if matches!(how, Equal | NotEqual) {
            let low = self.op(BinaryOp::Xor, x.low, y.low);
            let high = self.op(BinaryOp::Xor, x.high, y.high);
            let unlike = self.op(BinaryOp::Or, low, high);
            let zero = self.word(0);
            return self.writer.compare(how, unlike, zero);
        }
        let (by_low, by_high) = match how {
            LessSigned => (LessUnsigned, LessSigned),
            LessEqualSigned => (LessEqualUnsigned, LessSigned),
            GreaterSigned => (GreaterUnsigned, GreaterSigned),
            GreaterEqualSigned => (GreaterEqualUnsigned, GreaterSigned),
            LessEqualUnsigned => (LessEqualUnsigned, LessUnsigned),
            GreaterEqualUnsigned => (GreaterEqualUnsigned, GreaterUnsigned),
            how => (how, how),
        };
        // Against zero the sign decides.
        if self.constant(y.low) == Some(0)
            && self.constant(y.high) == Some(0)
            && matches!(how, LessSigned | GreaterEqualSigned)
        {
            return self.writer.compare(how, x.high, y.high);
        }
        let same = self.writer.compare(Equal, x.high, y.high);
        let low = self.writer.compare(by_low, x.low, y.low);
        let high = self.writer.compare(by_high, x.high, y.high);
        self.writer.choose(same, low, high)
    }

    /// What an accumulator holds of a number.
    pub(super) fn accumulator(&mut self, x: Pair) -> Value {
        let low = self.writer.convert(Convert::ZeroExtend, x.low, Type::I40);
        let high = self.writer.convert(Convert::SignExtend, x.high, Type::I40);
        let half = self.word(32);
        let high = self.op(BinaryOp::Shl, high, half);
        self.op(BinaryOp::Or, high, low)
    }

    pub(super) fn is_not_zero(&mut self, x: Pair) -> Value {
        let any = self.op(BinaryOp::Or, x.low, x.high);
        let zero = self.word(0);
        self.writer.compare(IntCondition::NotEqual, any, zero)
    }

    /// Returns the truth of the number being one of 32 bits.
    pub(super) fn is_narrow(&mut self, x: Pair) -> Value {
        let sign = self.sign(x.low);
        self.writer.compare(IntCondition::Equal, sign, x.high)
    }

    /// A number as one of 32 bits, which saturates.
    pub(super) fn saturated(&mut self, x: Pair) -> Value {
        let fits = self.is_narrow(x);
        let most = self.word(i32::MAX.into());
        let sign = self.sign(x.high);
        let limit = self.op(BinaryOp::Xor, most, sign);
        self.writer.choose(fits, x.low, limit)
    }

    /// Zeros in front, or all ones.
    pub(super) fn bits(&mut self, op: UnaryOp, x: Pair) -> Value {
        let low = self.writer.unary(op, x.low);
        let high = self.writer.unary(op, x.high);
        if op == UnaryOp::PopCount {
            return self.op(BinaryOp::Add, low, high);
        }
        let half = self.word(32);
        let both = self.op(BinaryOp::Add, low, half);
        let zero = self.word(0);
        let none = self.writer.compare(IntCondition::Equal, x.high, zero);
        self.writer.choose(none, both, high)
    }
}
