//! The results of basic operations, bit for bit, from their definitions: see `builtins::basic`.

use super::bdd::{Diagrams, FALSE, TRUE, Truth};
use super::words::{Bits, Towards, constant, extended, known, left, sign};
use crate::lower::c_family::builtins::basic::Meaning;

/// The numbers that an operation is given.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) parameters: Vec<Bits>,
    /// The product of the last two, of which nothing is known but what bounds it.
    pub(super) product: Option<Bits>,
}

/// Returns true if an operation multiplies its last two operands.
pub(super) const fn multiplies(meaning: Meaning) -> bool {
    matches!(
        meaning,
        Meaning::Mult
            | Meaning::MultInteger
            | Meaning::MultIntegerLow
            | Meaning::MultHigh
            | Meaning::MultRound
            | Meaning::Mac
            | Meaning::Msu
            | Meaning::MacRound
            | Meaning::MsuRound
            | Meaning::MacInteger
            | Meaning::MsuInteger
    )
}

/// Returns true if the last operand is a number of places.
pub(super) const fn moves(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Shl | Meaning::Shr | Meaning::ShrRound)
}

/// The result, and where something was lost that `Overflow` tells; `None`: of no operation that is looked for.
pub(super) fn value(
    meaning: Meaning,
    given: &Given,
    diagrams: &mut Diagrams,
) -> Option<(Bits, Truth)> {
    let mut value = Value {
        diagrams,
        lost: FALSE,
    };
    let a = &given.parameters[0];
    let last = given.parameters.last()?;
    let width = a.len();
    let bits = match meaning {
        Meaning::Add => value.sum(a, last, false),
        Meaning::Sub => value.sum(a, last, true),
        Meaning::Abs => value.size(a),
        Meaning::Negate => {
            let wide = value.diagrams.negated(&extended(a, width + 1));
            value.diagrams.clamped(&wide, width).0
        }
        Meaning::Shl => value.moved(a, last, false),
        Meaning::Shr => value.moved(a, last, true),
        Meaning::ShrRound => {
            let places = extended(last, 17);
            let rest = value.diagrams.subtract(&places, &constant(1, 17));
            let plain = value.moved(a, last, true);
            let lost = value.lost;
            let half = value.moved_wide(&extended(a, width + 1), &rest, true);
            value.lost = lost;
            let zero = constant(0, 17);
            let positive = value.diagrams.below_signed(&zero, &places);
            let up = value.diagrams.and(half[0], positive);
            let none = constant(0, width);
            value.diagrams.sum(&plain, &none, up).0
        }
        Meaning::Mult => value.fraction(given)?,
        Meaning::MultInteger => given.product.clone()?,
        Meaning::MultIntegerLow => value.kept(&given.product.clone()?, 16),
        Meaning::MultHigh => high(&value.fraction(given)?),
        Meaning::MultRound => {
            let product = value.fraction(given)?;
            value.rounded(&product)
        }
        Meaning::Mac | Meaning::MacRound | Meaning::Msu | Meaning::MsuRound => {
            let product = value.fraction(given)?;
            let minus = matches!(meaning, Meaning::Msu | Meaning::MsuRound);
            let sum = value.sum(a, &product, minus);
            match meaning {
                Meaning::Mac | Meaning::Msu => sum,
                _ => value.rounded(&sum),
            }
        }
        Meaning::MacInteger => value.sum(a, &given.product.clone()?, false),
        Meaning::MsuInteger => value.sum(a, &given.product.clone()?, true),
        Meaning::Round => value.rounded(a),
        Meaning::Norm => value.norm(a),
        Meaning::Saturate if width == 32 => value.kept(a, 16),
        Meaning::Max | Meaning::Min => {
            let below = value.diagrams.below_signed(a, last);
            match meaning {
                Meaning::Max => value.diagrams.pick(below, last, a),
                _ => value.diagrams.pick(below, a, last),
            }
        }
        _ => return None,
    };
    Some((bits, value.lost))
}

fn high(a: &[Truth]) -> Bits {
    let half = a.len() / 2;
    a[half..].iter().copied().collect()
}

/// A result in the making.
struct Value<'d> {
    diagrams: &'d mut Diagrams,
    lost: Truth,
}

impl Value<'_> {
    fn kept(&mut self, a: &[Truth], width: usize) -> Bits {
        let (bits, lost) = self.diagrams.clamped(a, width);
        self.lost = self.diagrams.or(self.lost, lost);
        bits
    }
    fn sum(&mut self, a: &[Truth], b: &[Truth], minus: bool) -> Bits {
        let width = a.len();
        let (a, b) = (extended(a, width + 1), extended(b, width + 1));
        let wide = match minus {
            true => self.diagrams.subtract(&a, &b),
            false => self.diagrams.add(&a, &b),
        };
        self.kept(&wide, width)
    }
    fn fraction(&mut self, given: &Given) -> Option<Bits> {
        let product = given.product.as_ref()?;
        let wide = left(&extended(product, 34), 1);
        Some(self.kept(&wide, 32))
    }
    fn size(&mut self, a: &[Truth]) -> Bits {
        let wide = extended(a, a.len() + 1);
        let negated = self.diagrams.negated(&wide);
        let size = self.diagrams.pick(sign(a), &negated, &wide);
        self.diagrams.clamped(&size, a.len()).0
    }
    fn rounded(&mut self, a: &[Truth]) -> Bits {
        let half = constant(1 << (a.len() / 2 - 1), a.len());
        let sum = self.sum(a, &half, false);
        high(&sum)
    }

    fn moved(&mut self, a: &[Truth], places: &[Truth], right: bool) -> Bits {
        let places = extended(places, places.len() + 1);
        self.moved_wide(&extended(a, a.len() + 1), &places, right)[..a.len()]
            .iter()
            .copied()
            .collect()
    }

    /// Of a number with its sign once more in front.
    fn moved_wide(&mut self, a: &[Truth], places: &[Truth], to_right: bool) -> Bits {
        let width = a.len() - 1;
        let there = match to_right {
            true => self.diagrams.negated(places),
            false => places.iter().copied().collect(),
        };
        let back = self.diagrams.negated(&there);
        let narrow = extended(a, width);
        let less = self.diagrams.moved(&narrow, &back, Towards::RightSigned);
        // All places that leave something of a number at once; more lose all of it.
        let mut wide = extended(a, 3 * width);
        let mut beyond = FALSE;
        for (at, &bit) in there[..there.len() - 1].iter().enumerate() {
            if 1usize << at > width {
                beyond = self.diagrams.or(beyond, bit);
                continue;
            }
            let moved = left(&wide, 1 << at);
            wide = self.diagrams.pick(bit, &moved, &wide);
        }
        let (near, near_lost) = self.diagrams.clamped(&wide, width);
        let some = self.diagrams.any(&narrow);
        let (negative, positive) = (sign(a), self.diagrams.not(sign(a)));
        let limit: Bits = (0..width)
            .map(|at| match at + 1 == width {
                true => negative,
                false => positive,
            })
            .collect();
        let far = self.diagrams.pick(some, &limit, &constant(0, width));
        let more = self.diagrams.pick(beyond, &far, &near);
        let lost = self.diagrams.choose(beyond, some, near_lost);
        let negative = sign(&there);
        let positive = self.diagrams.not(negative);
        let gone = self.diagrams.and(positive, lost);
        self.lost = self.diagrams.or(self.lost, gone);
        extended(&self.diagrams.pick(negative, &less, &more), width + 1)
    }

    fn norm(&mut self, a: &[Truth]) -> Bits {
        let filled: Bits = a.iter().map(|_| sign(a)).collect();
        let unlike = self.diagrams.map2(a, &filled, Diagrams::xor);
        let zeros = self.diagrams.leading_zeros(&unlike, 16);
        let places = self.diagrams.subtract(&zeros, &constant(1, 16));
        let some = self.diagrams.any(a);
        self.diagrams.pick(some, &places, &constant(0, 16))
    }
}

/// The product of two numbers of 16 bits, where both are known.
pub(super) fn known_product(given: &[Bits]) -> Option<Bits> {
    let [.., a, b] = given else {
        return None;
    };
    let number = |bits: &Bits| known(&extended(bits, 64)).map(|bits| bits as i64);
    Some(constant(number(a)? * number(b)?, 32))
}

/// The facts that are known of a product: its limits, and that the largest is that of the least number with itself.
pub(super) fn bounds(given: &Given, diagrams: &mut Diagrams) -> Truth {
    let (Some(product), [.., a, b]) = (&given.product, given.parameters.as_slice()) else {
        return TRUE;
    };
    let least = constant(-32768, 16);
    let (first, second) = (diagrams.equal(a, &least), diagrams.equal(b, &least));
    let both = diagrams.and(first, second);
    let largest = diagrams.equal(product, &constant(1 << 30, 32));
    let unlike = diagrams.xor(both, largest);
    let agree = diagrams.not(unlike);
    let above = diagrams.below_signed(&constant(1 << 30, 32), product);
    let below = diagrams.below_signed(product, &constant(-32768 * 32767, 32));
    let outside = diagrams.or(above, below);
    let inside = diagrams.not(outside);
    diagrams.and(agree, inside)
}
