//! Sums of products over the author's names, as data: the form of a value (`4*tid.x + 256*ctaid.x + n`), the bytes between
//! neighbouring lanes (`4*pitch`), the iterations of a loop (`log2(blockDim.x)`). The engine's own forms (`divergence::form`)
//! count atoms by number; these have names, outlive the function that they speak of, and are printed at the edge.

use std::fmt;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use smol_str::SmolStr;

/// One factor of a product.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Factor {
    /// A coordinate or another builtin value, a variable, a parameter, an object, `sizeof(T)` of a type that is not known.
    Name(SmolStr),
    /// Uniform, without a name in the source; printed as `?`.
    Unnamed,
}

impl Factor {
    /// Returns the name, of a factor that has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Factor::Name(name) => Some(name),
            Factor::Unnamed => None,
        }
    }
    /// Returns true for the size of a type that is not known.
    #[must_use]
    pub fn is_size(&self) -> bool {
        self.name().is_some_and(|name| name.starts_with("sizeof("))
    }
}

/// A constant times factors.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Product {
    /// Never 0.
    pub coefficient: i64,
    /// At least one; printed in this order.
    pub factors: SmallVec<[Factor; 2]>,
}

/// A sum of products and a constant.
#[derive(Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Sum {
    /// Printed in this order: those that differ between lanes stand first.
    pub products: SmallVec<[Product; 1]>,
    /// There is a uniform part of which nothing has a name; the constant is a part of it, and 0 here.
    pub unnamed: bool,
    pub constant: i64,
}

impl Sum {
    /// The sum of one factor alone.
    #[must_use]
    pub fn factor(factor: Factor) -> Sum {
        match factor {
            Factor::Unnamed => Sum {
                unnamed: true,
                ..Sum::default()
            },
            name @ Factor::Name(_) => Sum {
                products: smallvec![Product {
                    coefficient: 1,
                    factors: SmallVec::from_iter([name]),
                }],
                ..Sum::default()
            },
        }
    }
    /// Returns true if nothing is known of it: `?`.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.unnamed && self.products.is_empty()
    }
    /// Returns true if every part is a number or has a name.
    #[must_use]
    pub fn is_named(&self) -> bool {
        !self.unnamed && self.factors().all(|factor| *factor != Factor::Unnamed)
    }
    /// The factors of all products.
    pub fn factors(&self) -> impl Iterator<Item = &Factor> {
        self.products.iter().flat_map(|product| &product.factors)
    }
    /// Returns the coefficient and the factors, of a sum that is one product.
    #[must_use]
    pub fn as_product(&self) -> Option<&Product> {
        match self.products.as_slice() {
            [product] if !self.unnamed && self.constant == 0 => Some(product),
            _ => None,
        }
    }
    /// Returns the number that the sum is where names have these values; `None` where one has none, or beyond 64 bits.
    pub fn evaluate(&self, value: impl Fn(&str) -> Option<i64>) -> Option<i64> {
        if self.unnamed {
            return None;
        }
        self.products
            .iter()
            .try_fold(self.constant, |sum, product| {
                let mut factors = product.factors.iter();
                let product = factors.try_fold(product.coefficient, |number, factor| {
                    number.checked_mul(value(factor.name()?)?)
                });
                sum.checked_add(product?)
            })
    }
}

/// Writes the sign between the terms of a sum.
fn separator(f: &mut fmt::Formatter<'_>, first: bool, negative: bool) -> fmt::Result {
    f.write_str(match (first, negative) {
        (true, true) => "-",
        (true, false) => "",
        (false, true) => " - ",
        (false, false) => " + ",
    })
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, product) in self.products.iter().enumerate() {
            separator(f, number == 0, product.coefficient < 0)?;
            let size = product.coefficient.unsigned_abs();
            if size != 1 {
                write!(f, "{size}*")?;
            }
            for (number, factor) in product.factors.iter().enumerate() {
                if number > 0 {
                    f.write_str("*")?;
                }
                f.write_str(factor.name().unwrap_or("?"))?;
            }
        }
        let first = self.products.is_empty();
        if self.unnamed {
            separator(f, first, false)?;
            f.write_str("?")
        } else if self.constant != 0 || first {
            separator(f, first, self.constant < 0)?;
            write!(f, "{}", self.constant.unsigned_abs())
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// The form of a value: a sum, or nothing where none is known. Prints as the sum, or as an empty text.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ValueForm(Option<Arc<Sum>>);

impl ValueForm {
    /// No form.
    pub const NONE: ValueForm = ValueForm(None);

    /// Returns the sum, where there is a form.
    #[must_use]
    pub fn sum(&self) -> Option<&Sum> {
        self.0.as_deref()
    }
    /// Returns true if the form is the name alone.
    #[must_use]
    pub fn is_name(&self, name: &str) -> bool {
        let product = self.sum().and_then(Sum::as_product);
        product.is_some_and(|product| {
            let [factor] = product.factors.as_slice() else {
                return false;
            };
            product.coefficient == 1 && factor.name() == Some(name)
        })
    }
    /// Returns true where there is no form.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl From<Option<Sum>> for ValueForm {
    fn from(sum: Option<Sum>) -> Self {
        ValueForm(sum.map(Arc::new))
    }
}

impl fmt::Display for ValueForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sum().map_or(Ok(()), |sum| sum.fmt(f))
    }
}

/// About the iterations of a loop that multiplies or divides: `log2(blockDim.x)`, `log2(n / 4)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Logarithm {
    pub base: i64,
    pub of: Sum,
    /// The initial value of the counter; 1 if nothing is divided.
    pub divisor: i64,
}

impl fmt::Display for Logarithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.divisor {
            1 => write!(f, "log{}({})", self.base, self.of),
            divisor => write!(f, "log{}({} / {divisor})", self.base, self.of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(coefficient: i64, names: &[&str]) -> Product {
        let factors = names.iter().map(|&name| match name {
            "?" => Factor::Unnamed,
            name => Factor::Name(name.into()),
        });
        Product {
            coefficient,
            factors: factors.collect(),
        }
    }

    #[test]
    fn sums_print_as_people_write_them() {
        let mut sum = Sum {
            products: smallvec![named(4, &["tid.x"]), named(-1, &["n", "pitch"])],
            unnamed: false,
            constant: -8,
        };
        assert_eq!(sum.to_string(), "4*tid.x - n*pitch - 8");
        assert_eq!(
            sum.evaluate(|name| Some(name.len() as i64)),
            Some(20 - 5 - 8)
        );
        assert_eq!(sum.evaluate(|_| None), None);
        (sum.unnamed, sum.constant) = (true, 0);
        assert_eq!(sum.to_string(), "4*tid.x - n*pitch + ?");
        assert!(!sum.is_named() && !sum.is_unknown());
        assert_eq!(Sum::default().to_string(), "0");
        assert_eq!(Sum::factor(Factor::Unnamed).to_string(), "?");
        let least = Sum {
            constant: i64::MIN,
            ..Sum::default()
        };
        assert_eq!(least.to_string(), "-9223372036854775808");
        assert_eq!(ValueForm::NONE.to_string(), "");
    }
}
