//! Linear forms: a value as a sum of products of atoms, modulo 2^bits of its type.
//!
//! An atom is a lane coordinate, another builtin value, or an SSA value that is not explained further. So
//! `4*pitch*tid.x + base` has the terms `[pitch, tid.x] * 4` and `[base] * 1`, and `(i + 1) - i` is the constant 1 even where
//! `i` is divergent. A form is bounded by `TERMS` and `DEGREE`; what exceeds them becomes an atom of its own.
//!
//! `exact` says more: the equation holds over the integers, every atom read as a signed number. It is what comparisons
//! and widening need. `assumed` marks forms that went through a widening without such a proof: good enough to name a
//! stride, never used to claim uniformity.

use smallvec::SmallVec;

pub(crate) const TERMS: usize = 8;
const DEGREE: usize = 3;

/// A value's number, or beyond all values a builtin.
pub(crate) type Atom = u32;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    /// Sorted; empty for the constant term.
    pub factors: SmallVec<[Atom; 2]>,
    /// Never 0.
    pub coefficient: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    /// Sorted by factors.
    pub terms: SmallVec<[Term; 2]>,
    pub exact: bool,
    pub assumed: bool,
}

/// Sign-extends the low bits.
pub(crate) fn wrap(value: i128, bits: u32) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    if bits == 1 {
        (value & 1) as i64
    } else {
        ((value as i64) << shift) >> shift
    }
}

impl Form {
    pub(crate) fn constant(value: i64) -> Form {
        let mut terms = SmallVec::new();
        if value != 0 {
            terms.push(Term {
                factors: SmallVec::new(),
                coefficient: value,
            });
        }
        Form {
            terms,
            exact: true,
            assumed: false,
        }
    }
    pub(crate) fn atom(atom: Atom) -> Form {
        let mut form = Form::constant(0);
        form.terms.push(Term {
            factors: SmallVec::from_slice(&[atom]),
            coefficient: 1,
        });
        form
    }
    pub(crate) fn as_constant(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [only] if only.factors.is_empty() => Some(only.coefficient),
            _ => None,
        }
    }
    pub(crate) fn constant_part(&self) -> i64 {
        self.terms
            .first()
            .filter(|t| t.factors.is_empty())
            .map_or(0, |t| t.coefficient)
    }
    pub(crate) fn is_atom(&self, atom: Atom) -> bool {
        matches!(self.terms.as_slice(), [only] if only.coefficient == 1 && only.factors.as_slice() == [atom])
    }

    /// `self + scale * other`, modulo 2^bits; `None` when it has too many terms.
    pub(crate) fn plus(&self, scale: i64, other: &Form, bits: u32) -> Option<Form> {
        let mut sum = Form {
            terms: SmallVec::new(),
            exact: self.exact && other.exact,
            assumed: self.assumed || other.assumed,
        };
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(a), Some(b)) => a.factors.cmp(&b.factors),
            };
            let a = if order.is_le() { left.next() } else { None };
            let b = if order.is_ge() { right.next() } else { None };
            let value = a.map_or(0, |t| i128::from(t.coefficient))
                + b.map_or(0, |t| i128::from(t.coefficient) * i128::from(scale));
            if let Some(factors) = a.or(b).map(|t| t.factors.clone()) {
                sum.add_last(factors, value, bits);
            }
        }
        (sum.terms.len() <= TERMS).then_some(sum)
    }

    fn add_last(&mut self, factors: SmallVec<[Atom; 2]>, value: i128, bits: u32) {
        let coefficient = wrap(value, bits);
        self.exact &= i128::from(coefficient) == value;
        if coefficient != 0 {
            self.terms.push(Term {
                factors,
                coefficient,
            });
        }
    }

    pub(crate) fn times(&self, other: &Form, bits: u32) -> Option<Form> {
        if self.terms.len() * other.terms.len() > 2 * TERMS {
            return None;
        }
        let mut product = Form::constant(0);
        product.exact = self.exact && other.exact;
        product.assumed = self.assumed || other.assumed;
        for a in &self.terms {
            let mut row = Form::constant(0);
            let mut exact = true;
            let mut pairs: SmallVec<[(SmallVec<[Atom; 2]>, i128); 4]> = SmallVec::new();
            for b in &other.terms {
                if a.factors.len() + b.factors.len() > DEGREE {
                    return None;
                }
                let mut factors = a.factors.clone();
                factors.extend(b.factors.iter().copied());
                factors.sort_unstable();
                pairs.push((
                    factors,
                    i128::from(a.coefficient) * i128::from(b.coefficient),
                ));
            }
            pairs.sort_unstable_by(|x, y| x.0.cmp(&y.0));
            for (factors, value) in pairs {
                row.add_last(factors, value, bits);
                exact &= row.exact;
            }
            let all = product.exact && exact;
            product = product.plus(1, &row, bits)?;
            product.exact &= all;
        }
        Some(product)
    }

    /// The same terms reduced to fewer bits.
    pub(crate) fn reduced(&self, bits: u32) -> Form {
        let mut form = Form::constant(0);
        form.exact = self.exact;
        form.assumed = self.assumed;
        for term in &self.terms {
            form.add_last(term.factors.clone(), i128::from(term.coefficient), bits);
        }
        form
    }

    /// Only the terms that `keep` accepts.
    pub(crate) fn filtered(&self, mut keep: impl FnMut(&Term) -> bool) -> Form {
        Form {
            terms: self.terms.iter().filter(|t| keep(t)).cloned().collect(),
            exact: self.exact,
            assumed: self.assumed,
        }
    }

    /// The largest power of two that divides every term but those that `skip` names; 2^63 for none.
    pub(crate) fn alignment(&self, skip: impl Fn(&Term) -> bool) -> u64 {
        self.terms
            .iter()
            .filter(|t| !skip(t))
            .map(|t| 1u64 << t.coefficient.trailing_zeros().min(62))
            .min()
            .unwrap_or(1 << 62)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products() {
        let (t, n) = (Form::atom(1), Form::atom(2));
        let four_n = n.times(&Form::constant(4), 32).unwrap();
        let address = four_n.times(&t, 32).unwrap().plus(1, &n, 32).unwrap();
        assert_eq!(address.terms.len(), 2);
        assert!(address.exact);
        let back = address.plus(-1, &address, 32).unwrap();
        assert_eq!(back.as_constant(), Some(0));
        let shifted = t.plus(1, &Form::constant(1), 32).unwrap();
        assert_eq!(shifted.plus(-1, &t, 32).unwrap().as_constant(), Some(1));
        let square = shifted.times(&shifted, 32).unwrap();
        assert_eq!(square.terms.len(), 3);
    }

    #[test]
    fn wraps_and_says_so() {
        let big = Form::constant(i64::from(i32::MAX));
        let sum = big.plus(1, &Form::constant(1), 32).unwrap();
        assert_eq!(sum.as_constant(), Some(i64::from(i32::MIN)));
        assert!(!sum.exact);
    }
}
