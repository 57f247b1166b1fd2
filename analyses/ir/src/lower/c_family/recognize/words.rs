//! Numbers as truth functions, one a bit, the lowest first: two's complement of any width.

use super::bdd::{Diagrams, FALSE, TRUE, Truth};
use std::rc::Rc;

/// The bits of a number.
pub(super) type Bits = Rc<[Truth]>;

pub(super) fn constant(number: i64, width: usize) -> Bits {
    let bit = |at: usize| number >> at.min(63) & 1 == 1;
    (0..width)
        .map(|at| if bit(at) { TRUE } else { FALSE })
        .collect()
}

/// The number, where all bits are known.
pub(super) fn known(a: &[Truth]) -> Option<u64> {
    let mut number = 0;
    for (at, &bit) in a.iter().enumerate() {
        match bit {
            FALSE => {}
            TRUE => number |= 1u64 << at,
            _ => return None,
        }
    }
    Some(number)
}

pub(super) fn sign(a: &[Truth]) -> Truth {
    a.last().copied().unwrap_or(FALSE)
}

/// Widened with copies of the sign, or cut.
pub(super) fn extended(a: &[Truth], width: usize) -> Bits {
    let sign = sign(a);
    (0..width)
        .map(|at| a.get(at).copied().unwrap_or(sign))
        .collect()
}

/// Widened with zeros, or cut.
pub(super) fn padded(a: &[Truth], width: usize) -> Bits {
    (0..width)
        .map(|at| a.get(at).copied().unwrap_or(FALSE))
        .collect()
}

/// To the left by known places.
pub(super) fn left(a: &[Truth], places: usize) -> Bits {
    (0..a.len())
        .map(|at| match at.checked_sub(places) {
            Some(from) => a[from],
            None => FALSE,
        })
        .collect()
}

/// To the right by known places, filled with a bit.
pub(super) fn right(a: &[Truth], places: usize, fill: Truth) -> Bits {
    (0..a.len())
        .map(|at| a.get(at + places).copied().unwrap_or(fill))
        .collect()
}

impl Diagrams {
    pub(super) fn map2(
        &mut self,
        a: &[Truth],
        b: &[Truth],
        op: impl Fn(&mut Diagrams, Truth, Truth) -> Truth,
    ) -> Bits {
        a.iter().zip(b).map(|(&a, &b)| op(self, a, b)).collect()
    }

    pub(super) fn inverted(&mut self, a: &[Truth]) -> Bits {
        a.iter().map(|&bit| self.not(bit)).collect()
    }

    /// `a + b + carry`, and the carry out.
    pub(super) fn sum(&mut self, a: &[Truth], b: &[Truth], carry: Truth) -> (Bits, Truth) {
        let mut carry = carry;
        let bits = a
            .iter()
            .zip(b)
            .map(|(&a, &b)| {
                let unlike = self.xor(a, b);
                let bit = self.xor(unlike, carry);
                carry = self.choose(unlike, carry, a);
                bit
            })
            .collect();
        (bits, carry)
    }
    pub(super) fn add(&mut self, a: &[Truth], b: &[Truth]) -> Bits {
        self.sum(a, b, FALSE).0
    }
    pub(super) fn subtract(&mut self, a: &[Truth], b: &[Truth]) -> Bits {
        let b = self.inverted(b);
        self.sum(a, &b, TRUE).0
    }
    pub(super) fn negated(&mut self, a: &[Truth]) -> Bits {
        let zero = constant(0, a.len());
        self.subtract(&zero, a)
    }

    pub(super) fn pick(&mut self, condition: Truth, a: &[Truth], b: &[Truth]) -> Bits {
        self.map2(a, b, |this, a, b| this.choose(condition, a, b))
    }

    pub(super) fn any(&mut self, a: &[Truth]) -> Truth {
        a.iter().fold(FALSE, |all, &bit| self.or(all, bit))
    }
    pub(super) fn equal(&mut self, a: &[Truth], b: &[Truth]) -> Truth {
        let unlike = self.unlike(a, b);
        self.not(unlike)
    }
    pub(super) fn unlike(&mut self, a: &[Truth], b: &[Truth]) -> Truth {
        debug_assert_eq!(a.len(), b.len());
        let bits = self.map2(a, b, Diagrams::xor);
        self.any(&bits)
    }
    /// Returns true if two numbers are unlike somewhere where a condition holds. Bit by bit: which numbers differ at all may
    /// be far more than what differs there.
    pub(super) fn unlike_where(&mut self, a: &[Truth], b: &[Truth], condition: Truth) -> bool {
        debug_assert_eq!(a.len(), b.len());
        a.iter().zip(b).any(|(&a, &b)| {
            let [a, b] = [a, b].map(|bit| self.and(bit, condition));
            a != b
        })
    }
    pub(super) fn below(&mut self, a: &[Truth], b: &[Truth]) -> Truth {
        let b = self.inverted(b);
        let (_, carry) = self.sum(a, &b, TRUE);
        self.not(carry)
    }
    pub(super) fn below_signed(&mut self, a: &[Truth], b: &[Truth]) -> Truth {
        let width = a.len() + 1;
        let rest = self.subtract(&extended(a, width), &extended(b, width));
        sign(&rest)
    }

    /// A word moved by the number of places that another says, without a sign; `fill` comes from the side.
    pub(super) fn moved(&mut self, a: &[Truth], places: &[Truth], to: Towards) -> Bits {
        let fill = match to {
            Towards::Left | Towards::RightUnsigned => FALSE,
            Towards::RightSigned => sign(a),
        };
        let mut value: Bits = a.iter().copied().collect();
        let mut beyond = FALSE;
        for (at, &bit) in places.iter().enumerate() {
            let by = 1usize.checked_shl(at as u32).unwrap_or(usize::MAX);
            if at >= 16 || by >= a.len() {
                beyond = self.or(beyond, bit);
                continue;
            }
            let there = match to {
                Towards::Left => left(&value, by),
                _ => right(&value, by, fill),
            };
            value = self.pick(bit, &there, &value);
        }
        let gone: Bits = a.iter().map(|_| fill).collect();
        self.pick(beyond, &gone, &value)
    }

    pub(super) fn product(&mut self, a: &[Truth], b: &[Truth]) -> Bits {
        // The one with fewer bits that may be set is multiplied by.
        let count = |of: &[Truth]| of.iter().filter(|&&bit| bit != FALSE).count();
        let (a, b) = match count(a) < count(b) {
            true => (b, a),
            false => (a, b),
        };
        let mut sum = constant(0, a.len());
        for (at, &bit) in b.iter().enumerate() {
            if bit == FALSE {
                continue;
            }
            let part = left(a, at);
            let part: Bits = part.iter().map(|&of| self.and(of, bit)).collect();
            sum = self.add(&sum, &part);
        }
        sum
    }

    /// A number brought into fewer bits, and whether it did not fit.
    pub(super) fn clamped(&mut self, a: &[Truth], width: usize) -> (Bits, Truth) {
        let negative = sign(a);
        let above = &a[width - 1..];
        let lost = {
            let same: Bits = above.iter().map(|_| negative).collect();
            self.unlike(above, &same)
        };
        let positive = self.not(negative);
        let limit: Bits = (0..width)
            .map(|at| match at + 1 == width {
                true => negative,
                false => positive,
            })
            .collect();
        let low = extended(a, width);
        (self.pick(lost, &limit, &low), lost)
    }

    /// The number of the highest bits that are zeros.
    pub(super) fn leading_zeros(&mut self, a: &[Truth], width: usize) -> Bits {
        let mut count = constant(a.len() as i64, width);
        for (at, &bit) in a.iter().enumerate() {
            let here = constant((a.len() - 1 - at) as i64, width);
            count = self.pick(bit, &here, &count);
        }
        count
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Towards {
    Left,
    RightSigned,
    RightUnsigned,
}
