//! Numbers as a file writes them.

use super::Source;
use super::fold::{Level, exact};
use super::types::{Base, Shape, Ty};
use ir::Language;

impl Source<'_> {
    /// A number of a type as this file writes them; `None` where there is no such literal.
    pub(super) fn literal(&self, ty: &Ty, number: f64, root: bool) -> Option<(String, Level)> {
        let (base, shape) = ty.number()?;
        if !exact(number) {
            return None;
        }
        let scalar = match base {
            Base::Bool => {
                return (shape == Shape::Scalar).then(|| {
                    (
                        if number != 0.0 { "true" } else { "false" }.to_owned(),
                        Level::ATOM,
                    )
                });
            }
            Base::Int | Base::Uint | Base::Long => format!("{number:.0}"),
            Base::Double => format!("{number:.1}"),
            Base::Half | Base::Float if self.short_suffix() => format!("{number:.1}f"),
            Base::Half | Base::Float => format!("{number:.1}"),
        };
        let level = if number < 0.0 {
            Level::UNARY
        } else {
            Level::ATOM
        };
        let word = match base {
            Base::Bool => "bool",
            Base::Int => "int",
            Base::Uint => "uint",
            Base::Half => "half",
            Base::Float => "float",
            Base::Double => "double",
            Base::Long => return (shape == Shape::Scalar).then_some((scalar, level)),
        };
        match shape {
            Shape::Scalar if base == Base::Half && !root => None,
            Shape::Scalar => Some((scalar, level)),
            _ if root && self.language == Language::Hlsl => Some((scalar, level)),
            Shape::Vector(n) if base != Base::Half => {
                let lanes = vec![scalar; usize::from(n)].join(", ");
                let make = if self.language == Language::Hlsl {
                    ""
                } else {
                    "make_"
                };
                Some((format!("{make}{word}{n}({lanes})"), Level::POSTFIX))
            }
            _ => None,
        }
    }

    fn short_suffix(&self) -> bool {
        self.language != Language::Hlsl || self.text.contains(".0f")
    }
}
