//! Polynomial forms: a value as a sum of products of atoms, modulo 2^bits of its type. Sums without products, modulo 2^64, are
//! `ir::linear`.
//!
//! An atom is a lane coordinate, another builtin value, or an SSA value that is not explained further. So
//! `4*pitch*tid.x + base` has the terms `[pitch, tid.x] * 4` and `[base] * 1`, and `(i + 1) - i` is the
//! constant 1 even where `i` is divergent. A form is bounded by `TERMS` and `DEGREE`; a sum that exceeds them
//! becomes an atom of its own.
//!
//! `exact` says more: the equation holds over the integers, every atom read as a signed number. Comparisons
//! and widening need this. `assumed` marks forms that went through a widening without such a proof: good
//! enough to name a stride, never used to claim uniformity.

use smallvec::SmallVec;

pub(crate) const TERMS: usize = 8;
const DEGREE: usize = 3;

/// A value's number, or beyond all values a builtin.
pub(crate) type Atom = u32;

/// A product of at most `DEGREE` atoms, in line: forms are the bulk of the data that the analysis stores and
/// compares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Factors {
    /// Sorted, 0 beyond the length.
    atoms: [Atom; DEGREE],
    length: u8,
}

impl Factors {
    pub(crate) const NONE: Factors = Factors {
        atoms: [0; DEGREE],
        length: 0,
    };
    pub(crate) const fn one(atom: Atom) -> Factors {
        Factors {
            atoms: [atom, 0, 0],
            length: 1,
        }
    }
    /// An atom times itself, at most `DEGREE` times.
    pub(crate) fn power(atom: Atom, power: usize) -> Factors {
        let mut factors = Factors::NONE;
        for place in factors.atoms.iter_mut().take(power) {
            *place = atom;
            factors.length += 1;
        }
        factors
    }
    pub(crate) fn as_slice(&self) -> &[Atom] {
        &self.atoms[..usize::from(self.length)]
    }
    /// The product; `None` beyond `DEGREE`.
    fn times(&self, other: &Factors) -> Option<Factors> {
        let mut product = *self;
        for &atom in other.iter() {
            *product.atoms.get_mut(usize::from(product.length))? = atom;
            product.length += 1;
        }
        product.atoms[..usize::from(product.length)].sort_unstable();
        Some(product)
    }
    pub(crate) fn filtered(&self, keep: impl Fn(Atom) -> bool) -> Factors {
        let mut rest = Factors::NONE;
        for &atom in self.iter().filter(|&&a| keep(a)) {
            rest.atoms[usize::from(rest.length)] = atom;
            rest.length += 1;
        }
        rest
    }
}

impl std::ops::Deref for Factors {
    type Target = [Atom];
    fn deref(&self) -> &[Atom] {
        self.as_slice()
    }
}
impl std::fmt::Debug for Factors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}
impl Ord for Factors {
    fn cmp(&self, other: &Factors) -> std::cmp::Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}
impl PartialOrd for Factors {
    fn partial_cmp(&self, other: &Factors) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    /// Empty for the constant term.
    pub factors: Factors,
    /// Never 0.
    pub coefficient: i64,
}

#[derive(PartialEq, Eq, Debug)]
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

impl Clone for Form {
    fn clone(&self) -> Form {
        Form {
            terms: SmallVec::from_slice(&self.terms),
            ..*self
        }
    }
}

impl Form {
    pub(crate) fn constant(value: i64) -> Form {
        let mut terms = SmallVec::new();
        if value != 0 {
            terms.push(Term {
                factors: Factors::NONE,
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
            factors: Factors::one(atom),
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
        matches!(self.terms.as_slice(), [only] if only.coefficient == 1 && only.factors == Factors::one(atom))
    }

    /// `self + scale * other`, modulo 2^bits; `None` when it has too many terms.
    pub(crate) fn plus(&self, scale: i64, other: &Form, bits: u32) -> Option<Form> {
        let mut sum = Form {
            terms: SmallVec::new(),
            exact: self.exact && other.exact,
            assumed: self.assumed || other.assumed,
        };
        let (mut left, mut right) = (self.terms.as_slice(), other.terms.as_slice());
        loop {
            let order = match (left, right) {
                ([], []) => break,
                (_, []) => std::cmp::Ordering::Less,
                ([], _) => std::cmp::Ordering::Greater,
                ([a, ..], [b, ..]) => a.factors.cmp(&b.factors),
            };
            let mut value = 0;
            let mut factors = Factors::NONE;
            if order.is_ge()
                && let [b, rest @ ..] = right
            {
                value = i128::from(b.coefficient) * i128::from(scale);
                factors = b.factors;
                right = rest;
            }
            if order.is_le()
                && let [a, rest @ ..] = left
            {
                value += i128::from(a.coefficient);
                factors = a.factors;
                left = rest;
            }
            sum.add_last(factors, value, bits);
        }
        (sum.terms.len() <= TERMS).then_some(sum)
    }

    fn add_last(&mut self, factors: Factors, value: i128, bits: u32) {
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
            let mut pairs: SmallVec<[(Factors, i128); 4]> = SmallVec::new();
            for b in &other.terms {
                pairs.push((
                    a.factors.times(&b.factors)?,
                    i128::from(a.coefficient) * i128::from(b.coefficient),
                ));
            }
            pairs.sort_unstable_by_key(|pair| pair.0);
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
            form.add_last(term.factors, i128::from(term.coefficient), bits);
        }
        form
    }

    /// Only the terms that `keep` accepts.
    pub(crate) fn filtered(&self, mut keep: impl FnMut(&Term) -> bool) -> Form {
        Form {
            terms: self.terms.iter().filter(|t| keep(t)).copied().collect(),
            exact: self.exact,
            assumed: self.assumed,
        }
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
