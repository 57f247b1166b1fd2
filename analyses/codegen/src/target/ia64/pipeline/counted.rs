//! The trip count of a loop with one exit at its end, in front of it: `ar.lc`.
//!
//! ```text
//! i = i + 4; leave unless i < n         LC = (n - i - 4 + 3) >> 2, or 0 if that is negative
//! ```
//!
//! The compare is of an induction variable and a loop-invariant value. Where both are numbers the count is
//! one, whatever the step is; one that steps by anything until it meets a number is divided by the step with
//! its inverse, modulo the width, which is exact wherever they meet at all. Else steps are of a power of two.
//! Such a counter that wraps around its range never ends: it meets the same numbers again. C assumes that a
//! loop ends whose condition is no constant (C11, 6.8.5), so that the count need not be right where it would
//! wrap: `i <= n` is `i < n + 1`. C says no such thing of `for (;;)` with a `break`; here such a loop is
//! taken to end, too, unless it has volatile accesses.

use super::address::{Progression, Term};
use super::body::Item;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Name, Operand, Operation, Virtual};
use isa::ia64::File;
use isa::ia64::register::Reg;
use isa::ia64::{Completer, Mnemonic, Opcode};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Width {
    Whole,
    Signed32,
    Unsigned32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Test {
    /// While the difference is not zero.
    Differs,
    /// While it is positive.
    Signed,
    /// While the lower is below the upper, unsigned.
    Unsigned,
}

/// `ar.lc` as a function of registers in front of the loop.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Trips {
    /// The loop goes on while `lower < upper` or they differ: a register and the number added to it.
    upper: (Operand, i64),
    lower: (Operand, i64),
    /// log2 of the step.
    shift: u32,
    width: Width,
    test: Test,
    /// The count itself.
    known: Option<u64>,
    /// The step by its greatest power of two.
    odd: u64,
}

/// `compare` goes on where its relation holds, if `holds`, else where it doesn't.
pub(super) fn trips(
    compare: &Item,
    holds: bool,
    value: &mut dyn FnMut(Virtual) -> Progression,
) -> Option<Trips> {
    let mut completers = compare.operation.mnemonic.completers();
    let relation = completers.next()?;
    if completers.any(|completer| completer != Completer::Unc)
        || compare.operation.predicate.is_some()
    {
        return None;
    }
    let whole = match compare.operation.opcode() {
        Opcode::Cmp => true,
        Opcode::Cmp4 => false,
        _ => return None,
    };
    let [left, right] = &compare.operation.sources[..] else {
        return None;
    };
    let mut form = |operand: &Operand| -> Option<(Operand, i64, i64)> {
        match operand {
            Operand::Number(number) => Some((Operand::fixed(Reg::R0), *number, 0)),
            Operand::Register(Name::Fixed(reg)) if *reg == Reg::R0 => Some((operand.clone(), 0, 0)),
            Operand::Register(Name::Virtual(name)) => {
                let linear = value(*name);
                let mut terms = linear.start.terms.iter();
                match (terms.next(), terms.next()) {
                    (Some(&(Term::Initial(register), 1)), None) => Some((
                        Operand::register(register),
                        linear.start.constant,
                        linear.step,
                    )),
                    (None, None) => {
                        Some((Operand::fixed(Reg::R0), linear.start.constant, linear.step))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    };
    let (left, right) = (form(left)?, form(right)?);
    // As `left relation right` for going on.
    let relation = match (relation, holds) {
        (relation, true) => relation,
        (Completer::Lt, false) => Completer::Ge,
        (Completer::Ge, false) => Completer::Lt,
        (Completer::Gt, false) => Completer::Le,
        (Completer::Le, false) => Completer::Gt,
        (Completer::Ltu, false) => Completer::Geu,
        (Completer::Geu, false) => Completer::Ltu,
        (Completer::Gtu, false) => Completer::Leu,
        (Completer::Leu, false) => Completer::Gtu,
        (Completer::Eq, false) => Completer::Ne,
        (Completer::Ne, false) => Completer::Eq,
        _ => return None,
    };
    // The side that does not move absorbs the difference of one; if it can't, the loop does not end.
    let fixed = |side: &(Operand, i64, i64)| side.2 == 0;
    let more = |side: (Operand, i64, i64), by: i64| {
        let sum = side.1.checked_add(by)?;
        Some((side.0, sum, side.2))
    };
    let (relation, left, right) = match relation {
        Completer::Le | Completer::Leu => {
            let strict = if relation == Completer::Le {
                Completer::Lt
            } else {
                Completer::Ltu
            };
            match fixed(&right) {
                true => (strict, left, more(right, 1)?),
                false => (strict, more(left, -1)?, right),
            }
        }
        Completer::Ge | Completer::Geu => {
            let strict = if relation == Completer::Ge {
                Completer::Gt
            } else {
                Completer::Gtu
            };
            match fixed(&right) {
                true => (strict, left, more(right, -1)?),
                false => (strict, more(left, 1)?, right),
            }
        }
        _ => (relation, left, right),
    };
    let (upper, lower, test) = match relation {
        Completer::Lt => (right, left, Test::Signed),
        Completer::Gt => (left, right, Test::Signed),
        Completer::Ltu => (right, left, Test::Unsigned),
        Completer::Gtu => (left, right, Test::Unsigned),
        Completer::Ne => match (left.2, right.2) {
            (1.., 0) | (0, ..0) => (right, left, Test::Differs),
            _ => (left, right, Test::Differs),
        },
        _ => return None,
    };
    // One of the two moves towards the other.
    let step = match (lower.2, upper.2) {
        (step, 0) if step > 0 => step,
        (0, step) if step < 0 => step.checked_neg()?,
        _ => return None,
    };
    let width = match (whole, test) {
        (true, _) => Width::Whole,
        (false, Test::Signed) => Width::Signed32,
        (false, _) => Width::Unsigned32,
    };
    let number = |side: &(Operand, i64, i64)| (side.0 == Operand::fixed(Reg::R0)).then_some(side.1);
    let known = match (number(&lower), number(&upper)) {
        (Some(from), Some(to)) => exactly(from, to, step, width, test, lower.2 != 0),
        _ => None,
    };
    let shift = step.trailing_zeros();
    let odd = step as u64 >> shift;
    if known.is_none() && odd != 1 && test != Test::Differs {
        return None;
    }
    Some(Trips {
        upper: (upper.0, upper.1),
        lower: (lower.0, lower.1),
        shift,
        width,
        test,
        known,
        odd,
    })
}

/// The count between two numbers as the first compare sees them; `None` where the side that moves would leave its range.
fn exactly(from: i64, to: i64, step: i64, width: Width, test: Test, up: bool) -> Option<u64> {
    let seen = |number: i64| match (width, test) {
        (Width::Signed32, _) => i128::from(number as i32),
        (Width::Unsigned32, _) => i128::from(number as u32),
        (Width::Whole, Test::Signed) => i128::from(number),
        (Width::Whole, _) => i128::from(number as u64),
    };
    let range = match (width, test) {
        (Width::Signed32, _) => i128::from(i32::MIN)..=i128::from(i32::MAX),
        (Width::Unsigned32, _) => 0..=i128::from(u32::MAX),
        (Width::Whole, Test::Signed) => i128::from(i64::MIN)..=i128::from(i64::MAX),
        (Width::Whole, _) => 0..=i128::from(u64::MAX),
    };
    let (from, to, step) = (seen(from), seen(to), i128::from(step));
    let between = to - from;
    let count = match test {
        Test::Differs if between >= 0 && between % step == 0 => between / step,
        Test::Differs => return None,
        _ if between <= 0 => 0,
        _ => (between + step - 1) / step,
    };
    let last = match up {
        true => from + count * step,
        false => to - count * step,
    };
    range.contains(&last).then_some(count as u64)
}

/// The number by which an odd one gives 1, modulo 2^64. Newton's iteration doubles the bits that are right, which are three
/// at first.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |known, _| {
        known.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(known)))
    })
}

impl Trips {
    /// Returns true if the count has at most 32 bits.
    pub(super) fn is_small(&self) -> bool {
        match self.known {
            Some(known) => known >> 32 == 0,
            None => self.width != Width::Whole,
        }
    }

    /// Writes the code that counts; its result goes to `ar.lc`.
    pub(super) fn compute(&self, function: &mut Function, out: &mut Vec<Operation>) -> Operand {
        if let Some(known) = self.known {
            let count = function.register(File::General);
            out.push(Operation::plain(
                op!("movl"),
                vec![Operand::register(count)],
                vec![Operand::Number(known as i64)],
            ));
            return Operand::register(count);
        }
        let mut put = |mnemonic: Mnemonic,
                       sources: Vec<Operand>,
                       predicate: Option<Virtual>,
                       into: Option<Virtual>| {
            let target = into.unwrap_or_else(|| function.register(File::General));
            out.push(
                Operation::plain(mnemonic, vec![Operand::register(target)], sources)
                    .under(predicate),
            );
            target
        };
        let extend = match self.width {
            Width::Whole => None,
            Width::Signed32 => Some(op!("sxt4")),
            Width::Unsigned32 => Some(op!("zxt4")),
        };
        // Both as the compare of the first iteration sees them.
        let mut seen = |it: &(Operand, i64)| {
            let mut operand = it.0.clone();
            if it.1 != 0 {
                let sum = match it.1 {
                    near @ -8192..8192 => put(
                        op!("adds"),
                        vec![Operand::Number(near), operand],
                        None,
                        None,
                    ),
                    far => {
                        let more = put(op!("movl"), vec![Operand::Number(far)], None, None);
                        put(
                            op!("add"),
                            vec![operand, Operand::register(more)],
                            None,
                            None,
                        )
                    }
                };
                operand = Operand::register(sum);
            }
            if let Some(extend) = extend {
                operand = Operand::register(put(extend, vec![operand], None, None));
            }
            operand
        };
        let (lower, upper) = (seen(&self.lower), seen(&self.upper));
        let mut count = put(op!("sub"), vec![upper.clone(), lower.clone()], None, None);
        if self.width != Width::Whole && self.test == Test::Differs {
            count = put(op!("zxt4"), vec![Operand::register(count)], None, None);
        }
        // Counters that are to meet do so after a whole number of steps.
        if self.shift > 0 {
            let rounded = match (1 << self.shift) - 1 {
                _ if self.test == Test::Differs => count,
                near @ 0..8192 => {
                    let sum = vec![Operand::Number(near), Operand::register(count)];
                    put(op!("adds"), sum, None, None)
                }
                far => {
                    let round = put(op!("movl"), vec![Operand::Number(far)], None, None);
                    let sum = vec![Operand::register(count), Operand::register(round)];
                    put(op!("add"), sum, None, None)
                }
            };
            let shift = vec![
                Operand::register(rounded),
                Operand::Number(i64::from(self.shift)),
            ];
            let shifted = put(op!("shr.u"), shift, None, None);
            count = shifted;
        }
        let relation = match self.test {
            Test::Differs if self.odd == 1 => return Operand::register(count),
            Test::Differs => return Operand::register(self.divided(function, out, count)),
            Test::Signed => op!("cmp.lt"),
            Test::Unsigned => op!("cmp.ltu"),
        };
        let zero = put(op!("mov"), vec![Operand::Number(0)], None, None);
        let goes = function.register(File::Predicate);
        out.push(Operation::plain(
            relation,
            vec![Operand::register(goes), Operand::fixed(Reg::P0)],
            vec![lower, upper],
        ));
        out.push(
            Operation::plain(
                op!("mov"),
                vec![Operand::register(zero)],
                vec![Operand::register(count)],
            )
            .under(goes),
        );
        Operand::register(zero)
    }

    /// Returns a multiple of the odd part of the step, divided by it.
    fn divided(
        &self,
        function: &mut Function,
        out: &mut Vec<Operation>,
        count: Virtual,
    ) -> Virtual {
        let mut put = |mnemonic: Mnemonic, file: File, sources: Vec<Operand>| {
            let target = function.register(file);
            out.push(Operation::plain(
                mnemonic,
                vec![Operand::register(target)],
                sources,
            ));
            target
        };
        let by = vec![Operand::Number(inverse(self.odd) as i64)];
        let by = put(op!("movl"), File::General, by);
        let by = put(op!("setf.sig"), File::Float, vec![Operand::register(by)]);
        let all = put(op!("setf.sig"), File::Float, vec![Operand::register(count)]);
        let factors = vec![Operand::register(all), Operand::register(by)];
        let product = put(op!("xmpy.l"), File::Float, factors);
        let low = put(
            op!("getf.sig"),
            File::General,
            vec![Operand::register(product)],
        );
        let bits = match self.width {
            Width::Whole => 64,
            _ => 32,
        };
        let kept = i64::from(bits - self.shift);
        match kept {
            64 => low,
            _ => {
                let sources = vec![
                    Operand::register(low),
                    Operand::Number(0),
                    Operand::Number(kept),
                ];
                put(op!("extr.u"), File::General, sources)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_gives_one() {
        for odd in [
            1u64,
            3,
            5,
            7,
            9,
            25,
            0xffff_ffff_ffff_ffff,
            0x1234_5678_9abc_def1,
        ] {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1, "{odd}");
        }
    }

    /// Compares the count with counting, for numbers of bytes at the ends of their widths.
    #[test]
    fn counts_between_numbers_are_those_of_the_loop() {
        let ends = [
            i64::from(i32::MIN),
            -9,
            -2,
            0,
            1,
            7,
            993,
            995,
            1000,
            i64::from(i32::MAX) - 3,
            i64::from(i32::MAX),
        ];
        for (from, to) in ends.iter().flat_map(|&from| ends.map(|to| (from, to))) {
            for step in [1i64, 2, 3, 5, 7, 12, 24] {
                let found = exactly(from, to, step, Width::Signed32, Test::Signed, true);
                let (mut at, mut count) = (from, 0u64);
                while at < to && count < 3000 {
                    (at, count) = (at + step, count + 1);
                }
                if count == 3000 {
                    continue;
                }
                let fits = at <= i64::from(i32::MAX);
                assert_eq!(found, fits.then_some(count), "{from} to {to} by {step}");
            }
        }
    }
}
