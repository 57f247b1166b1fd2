//! Instructions of the F unit, and moves between the files.

use super::execute::distinct;
use super::float::{Float, Mode, fused};
use super::float_ops::{
    Merge, bits, in_class, merge, order, reciprocal, reciprocal_root, rounding,
};
use super::op::{FloatRelation, Op, Part};
use super::state::{Machine, Trap, Way, Word, illegal};
use std::cmp::Ordering;

impl Machine<'_> {
    pub(super) fn floating(&mut self, op: &Op) -> Result<(), Trap> {
        match *op {
            Op::Fused {
                to,
                a,
                b,
                c,
                negate_product,
                negate_addend,
                bits,
                field,
            } => {
                let how = rounding(self.applications[40], field, bits);
                let (mut x, y, mut z) = (self.fr(a), self.fr(b), self.fr(c));
                x.sign ^= negate_product && !x.is_natval();
                z.sign ^= negate_addend && !z.is_natval();
                let value = fused(x, y, (c != 0).then_some(z), &how);
                self.set_fr(to, value)
            }
            Op::Multiply {
                to,
                a,
                b,
                c,
                high,
                unsigned,
            } => {
                let (x, y, z) = (self.fr(a), self.fr(b), self.fr(c));
                if x.is_natval() || y.is_natval() || z.is_natval() {
                    return self.set_fr(to, Float::NATVAL);
                }
                let product = if unsigned {
                    u128::from(x.significand) * u128::from(y.significand)
                } else {
                    let (x, y) = (x.significand as i64, y.significand as i64);
                    (i128::from(x) * i128::from(y)) as u128
                };
                let sum = product.wrapping_add(u128::from(z.significand));
                let value = if high { (sum >> 64) as u64 } else { sum as u64 };
                self.set_fr(to, Float::integer(value))
            }
            Op::MinMax {
                to,
                a,
                b,
                max,
                absolute,
            } => {
                let (x, y) = (self.fr(a), self.fr(b));
                if x.is_natval() || y.is_natval() {
                    return self.set_fr(to, Float::NATVAL);
                }
                let part = |value: Float| Float {
                    sign: value.sign && !absolute,
                    ..value
                };
                let wanted = if max {
                    Ordering::Greater
                } else {
                    Ordering::Less
                };
                // Unordered and equal give the second operand.
                let first = order(part(x), part(y)) == Some(wanted);
                self.set_fr(to, if first { x } else { y })
            }
            Op::CompareFloat {
                relation, p, a, b, ..
            } => {
                distinct(p)?;
                let (x, y) = (self.fr(a), self.fr(b));
                let result = (!x.is_natval() && !y.is_natval()).then(|| holds(relation, x, y));
                self.set_pair(p, result);
                Ok(())
            }
            Op::ClassFloat {
                member, p, a, mask, ..
            } => {
                distinct(p)?;
                let value = self.fr(a);
                let result = in_class(value, mask).map(|found| found == member);
                self.set_pair(p, result);
                Ok(())
            }
            Op::Reciprocal { to, p, a, b } => {
                let (x, y) = (self.fr(a), self.fr(b));
                let (value, goes_on) = reciprocal(x, y);
                self.set_fr(to, value)?;
                self.set_pr(p, Some(goes_on), Way::Plain);
                Ok(())
            }
            Op::ReciprocalRoot { to, p, a } => {
                let (value, goes_on) = reciprocal_root(self.fr(a));
                self.set_fr(to, value)?;
                self.set_pr(p, Some(goes_on), Way::Plain);
                Ok(())
            }
            Op::ToInteger {
                to,
                a,
                unsigned,
                truncate,
                field,
            } => {
                let value = self.fr(a);
                if value.is_natval() {
                    return self.set_fr(to, Float::NATVAL);
                }
                let mode = if truncate {
                    Mode::Truncate
                } else {
                    rounding(self.applications[40], field, 0).mode
                };
                // Out of range is the indefinite integer.
                let value = value.to_integer(!unsigned, mode).unwrap_or(1 << 63);
                self.set_fr(to, Float::integer(value))
            }
            Op::FromInteger { to, a } => {
                let value = self.fr(a);
                if value.is_natval() {
                    return self.set_fr(to, value);
                }
                self.set_fr(to, Float::from_signed(value.significand as i64))
            }
            Op::Merge { how, to, a, b } => {
                let (x, y) = (self.fr(a), self.fr(b));
                self.set_fr(to, merge(how, x, y))
            }
            Op::Sign {
                to,
                a,
                absolute,
                negate,
            } => {
                let value = self.fr(a);
                let signed = merge(
                    if negate {
                        Merge::NegatedSign
                    } else {
                        Merge::Sign
                    },
                    if absolute { Float::ZERO } else { value },
                    value,
                );
                self.set_fr(to, signed)
            }
            Op::Select { to, a, b, c } => {
                let (x, y, mask) = (self.fr(a), self.fr(b), self.fr(c));
                if x.is_natval() || y.is_natval() || mask.is_natval() {
                    return self.set_fr(to, Float::NATVAL);
                }
                let (x, y, mask) = (x.significand, y.significand, mask.significand);
                self.set_fr(to, Float::integer(x & mask | y & !mask))
            }
            Op::Bits { how, to, a, b } => {
                let (x, y) = (self.fr(a), self.fr(b));
                self.set_fr(to, bits(how, x, y))
            }
            Op::SetFloat { part, to, from } => {
                let Word { value, nat } = self.gr(from)?;
                let value = match part {
                    _ if nat => Float::NATVAL,
                    Part::Significand => Float::integer(value),
                    Part::Exponent => Float::with_head(value, 1 << 63),
                    Part::Single => Float::from_single(value as u32),
                    Part::Double => Float::from_double(value),
                };
                self.set_fr(to, value)
            }
            Op::GetFloat { part, to, from } => {
                let float = self.fr(from);
                let value = match part {
                    Part::Significand => float.significand,
                    Part::Exponent => float.head(),
                    Part::Single => float.to_single().into(),
                    Part::Double => float.to_double(),
                };
                let nat = float.is_natval();
                self.set_gr(to, Word { value, nat })
            }
            _ => Err(illegal("not executed")),
        }
    }

    fn set_pair(&mut self, p: [u8; 2], result: Option<bool>) {
        self.set_pr(p[0], Some(result == Some(true)), Way::Plain);
        self.set_pr(p[1], Some(result == Some(false)), Way::Plain);
    }
}

fn holds(relation: FloatRelation, x: Float, y: Float) -> bool {
    let order = order(x, y);
    let is = |wanted: &[Ordering]| order.is_some_and(|it| wanted.contains(&it));
    use Ordering::{Equal, Greater, Less};
    match relation {
        FloatRelation::Equal => is(&[Equal]),
        FloatRelation::Less => is(&[Less]),
        FloatRelation::LessEqual => is(&[Less, Equal]),
        FloatRelation::Unordered => order.is_none(),
        FloatRelation::Unequal => !is(&[Equal]),
        FloatRelation::NotLess => !is(&[Less]),
        FloatRelation::NotLessEqual => !is(&[Less, Equal]),
        FloatRelation::Ordered => order.is_some(),
        FloatRelation::Greater => is(&[Greater]),
        FloatRelation::GreaterEqual => is(&[Greater, Equal]),
        FloatRelation::NotGreater => !is(&[Greater]),
        FloatRelation::NotGreaterEqual => !is(&[Greater, Equal]),
    }
}
