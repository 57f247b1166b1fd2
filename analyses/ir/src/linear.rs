//! Linear forms: a constant and a sum of symbols with coefficients, modulo 2^64.
//!
//! ```text
//! 3 + 8*a, plus 2 times 1 + a + b        5 + 10*a + 2*b
//! ```
//!
//! Two equal forms have equal values; two that differ in their constants alone lie that far apart. It does not know products
//! of symbols, nor widths below 64 bits.

use smallvec::SmallVec;

/// Symbols with their coefficients, ascending, none of them with 0.
pub type Terms<S> = SmallVec<[(S, i64); 3]>;

#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Linear<S> {
    pub terms: Terms<S>,
    pub constant: i64,
}

impl<S> Default for Linear<S> {
    fn default() -> Self {
        Self::number(0)
    }
}

impl<S> Linear<S> {
    #[must_use]
    pub fn number(constant: i64) -> Self {
        Linear {
            terms: SmallVec::new(),
            constant,
        }
    }
}

impl<S: Copy + Ord> Linear<S> {
    #[must_use]
    pub fn symbol(symbol: S) -> Self {
        Linear {
            terms: [(symbol, 1)].into_iter().collect(),
            constant: 0,
        }
    }
    /// `self + factor * other`.
    #[must_use]
    pub fn plus(mut self, other: &Self, factor: i64) -> Self {
        add(&mut self.terms, &other.terms, factor);
        let more = other.constant.wrapping_mul(factor);
        self.constant = self.constant.wrapping_add(more);
        self
    }
    /// 0 of a symbol that does not occur.
    #[must_use]
    pub fn coefficient(&self, symbol: S) -> i64 {
        place(&self.terms, symbol).map_or(0, |at| self.terms[at].1)
    }
    /// Takes a symbol out: the coefficient that it had.
    pub fn remove(&mut self, symbol: S) -> Option<i64> {
        let at = place(&self.terms, symbol).ok()?;
        Some(self.terms.remove(at).1)
    }
}

fn place<S: Copy + Ord>(terms: &[(S, i64)], symbol: S) -> Result<usize, usize> {
    terms.binary_search_by_key(&symbol, |term| term.0)
}

/// `terms += factor * more`, in any length of inline storage.
pub fn add<S: Copy + Ord, A: smallvec::Array<Item = (S, i64)>>(
    terms: &mut SmallVec<A>,
    more: &[(S, i64)],
    factor: i64,
) {
    for &(symbol, coefficient) in more {
        let coefficient = coefficient.wrapping_mul(factor);
        match place(terms, symbol) {
            Ok(at) => {
                terms[at].1 = terms[at].1.wrapping_add(coefficient);
                if terms[at].1 == 0 {
                    terms.remove(at);
                }
            }
            Err(at) if coefficient != 0 => terms.insert(at, (symbol, coefficient)),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_cancel_and_wrap() {
        let (a, b) = (Linear::symbol('a'), Linear::symbol('b'));
        let sum = Linear::number(3).plus(&b, 2).plus(&a, 8);
        assert_eq!(sum.terms.as_slice(), [('a', 8), ('b', 2)]);
        let mut rest = sum.clone().plus(&a, -8);
        assert_eq!((rest.coefficient('a'), rest.coefficient('b')), (0, 2));
        assert_eq!((rest.remove('b'), rest.remove('b')), (Some(2), None));
        assert_eq!(rest, Linear::number(3));
        assert_eq!(sum.clone().plus(&sum, -1), Linear::default());
        let half = Linear::symbol('a').plus(&a, i64::MAX);
        assert_eq!(half.clone().plus(&half, 1), Linear::default());
        let most = Linear::<char>::number(i64::MAX);
        assert_eq!(most.plus(&Linear::number(1), 1).constant, i64::MIN);
    }
}
