//! The constraints that decisions put on sums without a number, so that later decisions do not contradict
//! them: `n == 1`, and then `n > 2`.

use super::MOST;
use super::terms::{Known, Operation, Row, Sum, Terms};
use ir::Special;
use rustc_hash::FxHashMap;

/// The numbers that each sum can still be.
#[derive(Default)]
pub(super) struct Bounds {
    of: FxHashMap<Sum, (i128, i128)>,
}

const ALL: (i128, i128) = (i128::MIN, i128::MAX);

impl Bounds {
    pub(super) fn clear(&mut self) {
        self.of.clear();
    }

    /// The condition can hold (or not) in all threads at once, as far as is known.
    pub(super) fn permit(&self, terms: &mut Terms, condition: u32, holds: bool) -> bool {
        let Some((operation, row)) = terms.comparison(condition) else {
            return true;
        };
        let mut now: FxHashMap<Sum, (i128, i128)> = FxHashMap::default();
        each(&row).into_iter().all(|difference| {
            let Some((sum, low, high)) = interval(terms, operation, difference, holds) else {
                return true;
            };
            let start = self
                .of
                .get(&sum)
                .copied()
                .unwrap_or_else(|| range(terms, operation, sum));
            let known = now.entry(sum).or_insert(start);
            *known = (known.0.max(low), known.1.min(high));
            known.0 <= known.1
        }) && !self.excluded(terms, operation, &row, holds)
    }

    /// `a == b` does not hold for equal values.
    fn excluded(&self, terms: &mut Terms, operation: Operation, row: &Row, holds: bool) -> bool {
        let Row::Same(difference) = row else {
            return false;
        };
        if operation != Operation::Equal || holds {
            return false;
        }
        let (shape, _) = terms.positive(*difference);
        let equal = -i128::from(shape.at);
        self.of.get(&shape.sum) == Some(&(equal, equal))
    }

    pub(super) fn decide(&mut self, terms: &mut Terms, condition: u32, holds: bool) {
        let Some((operation, row)) = terms.comparison(condition) else {
            return;
        };
        for difference in each(&row) {
            if let Some((sum, low, high)) = interval(terms, operation, difference, holds) {
                let known = self
                    .of
                    .entry(sum)
                    .or_insert_with(|| range(terms, operation, sum));
                *known = (known.0.max(low), known.1.min(high));
            }
        }
    }
}

/// A workgroup has no more threads than `MOST`. Numbers of the launch are natural, and so are values compared
/// as such.
fn range(terms: &Terms, operation: Operation, sum: Sum) -> (i128, i128) {
    if terms.is_natural(sum, operation == Operation::Negative(true)) {
        return match terms.special(sum) {
            Some(Special::BlockDim(0 | 1)) => (1, MOST.into()),
            Some(Special::BlockDim(_)) => (1, 64),
            _ => (0, i128::MAX),
        };
    }
    ALL
}

fn each(row: &Row) -> Vec<Known> {
    match row {
        Row::Same(known) => vec![*known],
        Row::Each(each) => each.iter().copied().filter(|k| k.is_known()).collect(),
    }
}

/// The sum whose first coefficient is positive, and the numbers for which the comparison holds, or does not.
fn interval(
    terms: &mut Terms,
    operation: Operation,
    difference: Known,
    holds: bool,
) -> Option<(Sum, i128, i128)> {
    if !difference.is_known() || difference.as_number().is_some() {
        return None;
    }
    let (shape, flipped) = terms.positive(difference);
    let zero = -i128::from(shape.at);
    let (low, high) = match (operation, holds) {
        (Operation::Equal, true) => (zero, zero),
        (Operation::Negative(_), _) if holds != flipped => match flipped {
            // sum + at < 0
            false => (i128::MIN, zero - 1),
            // not -(sum + at) < 0
            true => (i128::MIN, zero),
        },
        (Operation::Negative(_), _) => match flipped {
            // -(sum + at) < 0
            true => (zero + 1, i128::MAX),
            // not sum + at < 0
            false => (zero, i128::MAX),
        },
        _ => return None,
    };
    Some((shape.sum, low, high))
}
