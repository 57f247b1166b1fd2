//! The coefficient lattice C of Figure 12, and states: polynomials of `Tid` with coefficients in C.

use crate::symbolic::{Factor, Product, Sum};
use smallvec::SmallVec;
use std::fmt;

/// ⊤ (not yet known) above all constants above ⊥ (not known).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coefficient {
    Top,
    Known(i64),
    Bottom,
}

use Coefficient::{Bottom, Known, Top};

impl Coefficient {
    pub fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Top, x) | (x, Top) => x,
            (Known(a), Known(b)) if a == b => self,
            _ => Bottom,
        }
    }
    /// c₁ + c₂; ⊥ absorbs. A sum beyond 64 bits is unknown.
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Top, _) | (_, Top) => Top,
            (Known(a), Known(b)) => a.checked_add(b).map_or(Bottom, Known),
            _ => Bottom,
        }
    }
    /// c₁ × c₂; 0 × ⊥ = 0.
    pub fn times(self, other: Self) -> Self {
        match (self, other) {
            (Top, _) | (_, Top) => Top,
            (Known(0), _) | (_, Known(0)) => Known(0),
            (Known(a), Known(b)) => a.checked_mul(b).map_or(Bottom, Known),
            _ => Bottom,
        }
    }
    pub fn negated(self) -> Self {
        match self {
            Known(a) => a.checked_neg().map_or(Bottom, Known),
            other => other,
        }
    }
}

/// a_D·T^D + … + a_0. When a leading coefficient is ⊥ nothing is known of the value; a ⊥ below known ones is *unknown but
/// uniform* (notes, 6.2).
#[derive(Clone, PartialEq, Eq)]
pub struct State {
    /// Lowest power first.
    coefficients: Vec<Coefficient>,
}

impl State {
    pub fn top(degree: usize) -> Self {
        State {
            coefficients: vec![Top; degree + 1],
        }
    }
    pub fn bottom(degree: usize) -> Self {
        State {
            coefficients: vec![Bottom; degree + 1],
        }
    }
    /// c: the same in all threads.
    pub fn uniform(degree: usize, c: Coefficient) -> Self {
        let mut coefficients = vec![Known(0); degree + 1];
        coefficients[0] = c;
        State { coefficients }
    }
    /// 1·Tid + 0.
    pub fn thread(degree: usize) -> Self {
        let mut state = Self::uniform(degree, Known(0));
        if degree == 0 {
            return Self::bottom(0);
        }
        state.coefficients[1] = Known(1);
        state
    }
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }
    /// Highest power first, as the paper writes them.
    pub fn coefficients(&self) -> impl Iterator<Item = Coefficient> + '_ {
        self.coefficients.iter().rev().copied()
    }
    /// Lowest power first.
    pub fn powers(&self) -> impl Iterator<Item = Coefficient> + '_ {
        self.coefficients.iter().copied()
    }
    pub fn constant(&self) -> Coefficient {
        self.coefficients[0]
    }
    /// All coefficients of powers of Tid are 0.
    pub fn is_uniform(&self) -> bool {
        self.coefficients[1..].iter().all(|&a| a == Known(0))
    }
    pub fn is_top(&self) -> bool {
        self.coefficients.contains(&Top)
    }
    /// Leading coefficients that are known and not all zero: the value is a polynomial of Tid.
    pub fn is_affine(&self) -> bool {
        !self.is_uniform() && self.coefficients[1..].iter().all(|a| matches!(a, Known(_)))
    }
    /// Returns whether something is known although the value is not uniform: the leading coefficient is.
    pub fn is_polynomial(&self) -> bool {
        !self.is_top() && !self.is_uniform() && matches!(self.coefficients.last(), Some(Known(_)))
    }
    /// `2*Tid*Tid + ?*Tid + 1`; `None` for a uniform value without a number, and for an unknown one.
    pub fn form(&self, thread: &str) -> Option<Sum> {
        if !self.is_uniform() && !self.is_polynomial()
            || self.is_uniform() && !matches!(self.constant(), Known(_))
        {
            return None;
        }
        let mut sum = Sum::default();
        match self.constant() {
            Known(constant) => sum.constant = constant,
            _ => sum.unnamed = true,
        }
        for (power, &coefficient) in self.coefficients.iter().enumerate().skip(1).rev() {
            let thread = || Factor::Name(thread.into());
            let mut factors: SmallVec<[Factor; 2]> = (0..power).map(|_| thread()).collect();
            let coefficient = match coefficient {
                Known(0) => continue,
                Known(known) => known,
                _ => {
                    factors.insert(0, Factor::Unnamed);
                    1
                }
            };
            sum.products.push(Product {
                coefficient,
                factors,
            });
        }
        Some(sum)
    }
    pub fn meet(&self, other: &State) -> State {
        self.zip(other, Coefficient::meet)
    }
    pub fn plus(&self, other: &State) -> State {
        self.zip(other, Coefficient::plus)
    }
    pub fn negated(&self) -> State {
        State {
            coefficients: self.coefficients.iter().map(|a| a.negated()).collect(),
        }
    }
    /// The product of polynomials; ⊥ everywhere if a power above the degree has a coefficient other than 0 (rules MLVA and MLCA).
    pub fn times(&self, other: &State) -> State {
        let degree = self.degree();
        let mut product = vec![Known(0); 2 * degree + 1];
        for (i, &a) in self.coefficients.iter().enumerate() {
            for (j, &b) in other.coefficients.iter().enumerate() {
                product[i + j] = product[i + j].plus(a.times(b));
            }
        }
        if product[degree + 1..].iter().any(|&a| a != Known(0)) {
            return State::bottom(degree);
        }
        product.truncate(degree + 1);
        State {
            coefficients: product,
        }
    }
    fn zip(&self, other: &State, f: impl Fn(Coefficient, Coefficient) -> Coefficient) -> State {
        State {
            coefficients: self
                .coefficients
                .iter()
                .zip(&other.coefficients)
                .map(|(&a, &b)| f(a, b))
                .collect(),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self
            .coefficients()
            .map(|a| match a {
                Top => "⊤".into(),
                Known(c) => c.to_string(),
                Bottom => "⊥".into(),
            })
            .collect();
        write!(f, "({})", parts.join(","))
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
