//! Products with constants by shifts, sums and differences.
//!
//! ```text
//! 403 x = 31 * 13 x      y = (x << 1) + x; z = (y << 2) + x; (z << 5) - z
//! ```
//!
//! From the factor downwards: an even factor is shifted; an odd one is a multiple shifted, with `x` added or
//! taken away, the multiple of a number next to a power of two, or the rest beside its highest bit. The least
//! number of operations that is found, with `shladd` for sums of shifts up to 4.
//!
//! Source: Bernstein, *Multiplication by Integer Constants*, 1986.

use rustc_hash::FxHashMap;

/// One of the values so far, 0 being `x` itself, shifted; and the number added to it or taken from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Shift(usize, u32),
    Add(usize, u32, usize),
    Subtract(usize, u32, usize),
}

impl Step {
    const fn cost(self) -> u32 {
        match self {
            Step::Shift(..) | Step::Add(_, 1..=4, _) => 1,
            Step::Add(..) | Step::Subtract(..) => 2,
        }
    }
}

/// The steps to a product with `factor`, in at most so many operations; each step makes a value, the last the product.
pub(super) fn steps(factor: u64, most: u32) -> Option<Vec<Step>> {
    Search::default().steps(factor, most)
}

/// Returns how many operations of these stand behind each other.
pub(super) fn depth(steps: &[Step]) -> u32 {
    let mut depths = vec![0];
    for step in steps {
        depths.push(match *step {
            Step::Shift(a, _) => depths[a] + 1,
            Step::Add(a, 1..=4, b) => depths[a].max(depths[b]) + 1,
            Step::Add(a, _, b) | Step::Subtract(a, _, b) => (depths[a] + 1).max(depths[b]) + 1,
        });
    }
    depths[steps.len()]
}

#[derive(Default)]
struct Search {
    /// Within how many operations there is nothing.
    none: FxHashMap<u64, u32>,
}

impl Search {
    fn steps(&mut self, factor: u64, most: u32) -> Option<Vec<Step>> {
        if factor == 1 {
            return Some(Vec::new());
        }
        if factor == 0 || most == 0 || self.none.get(&factor).is_some_and(|&none| none >= most) {
            return None;
        }
        let mut best: Option<(u32, Vec<Step>)> = None;
        let mut left = most;
        for (rest, step) in ways(factor) {
            // Of `rest` the last value, `usize::MAX` for now.
            let Some(within) = left.checked_sub(step.cost()) else {
                continue;
            };
            let Some(mut found) = self.steps(rest, within) else {
                continue;
            };
            let last = found.len();
            let of = |at: usize| if at == usize::MAX { last } else { at };
            found.push(match step {
                Step::Shift(a, count) => Step::Shift(of(a), count),
                Step::Add(a, count, b) => Step::Add(of(a), count, of(b)),
                Step::Subtract(a, count, b) => Step::Subtract(of(a), count, of(b)),
            });
            let cost: u32 = found.iter().map(|step| step.cost()).sum();
            if best.as_ref().is_none_or(|(known, _)| cost < *known) {
                left = cost - 1;
                best = Some((cost, found));
            }
        }
        if best.is_none() {
            self.none.insert(factor, most);
        }
        best.map(|(_, steps)| steps)
    }
}

/// Smaller factors, with the step from there.
fn ways(factor: u64) -> Vec<(u64, Step)> {
    const LAST: usize = usize::MAX;
    let even = factor.trailing_zeros();
    if even > 0 {
        return vec![(factor >> even, Step::Shift(LAST, even))];
    }
    let mut out = Vec::new();
    let below = factor - 1;
    let shift = below.trailing_zeros();
    out.push((below >> shift, Step::Add(LAST, shift, 0)));
    for shift in 1..32 {
        let (more, less) = ((1u64 << shift) + 1, (1u64 << shift) - 1);
        if factor.is_multiple_of(more) {
            out.push((factor / more, Step::Add(LAST, shift, LAST)));
        }
        if less > 1 && factor.is_multiple_of(less) {
            out.push((factor / less, Step::Subtract(LAST, shift, LAST)));
        }
    }
    if let Some(above) = factor.checked_add(1) {
        let shift = above.trailing_zeros();
        out.push((above >> shift, Step::Subtract(LAST, shift, 0)));
    }
    let top = 63 - factor.leading_zeros();
    let rest = factor - (1 << top);
    if rest > 1 {
        out.push((rest, Step::Add(0, top, LAST)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(steps: &[Step]) -> u64 {
        let mut values = vec![1u64];
        for step in steps {
            values.push(match *step {
                Step::Shift(a, count) => values[a] << count,
                Step::Add(a, count, b) => (values[a] << count).wrapping_add(values[b]),
                Step::Subtract(a, count, b) => (values[a] << count).wrapping_sub(values[b]),
            });
        }
        values[steps.len()]
    }

    #[test]
    fn steps_make_the_product() {
        let mut found = 0;
        for factor in (1..3000).chain([16_777_619, 2_654_435_761, u64::MAX, 1 << 63]) {
            if let Some(steps) = steps(factor, 6) {
                assert_eq!(value(&steps), factor, "{steps:?}");
                assert!(steps.iter().map(|step| step.cost()).sum::<u32>() <= 6);
                found += 1;
            }
        }
        assert!(found > 2500, "{found}");
    }

    #[test]
    fn small_factors_take_as_few_as_are_known() {
        let cost = |factor| {
            let steps = steps(factor, 6)?;
            Some(steps.iter().map(|step| step.cost()).sum::<u32>())
        };
        for (factor, least) in [
            (2, 1),
            (3, 1),
            (5, 1),
            (7, 2),
            (9, 1),
            (10, 2),
            (11, 2),
            (25, 2),
            (45, 2),
            (100, 3),
            (403, 4),
        ] {
            assert_eq!(cost(factor), Some(least), "{factor}");
        }
        // Far from all powers of two.
        assert_eq!(cost(0x5bd1_e995_9d1b_3a47), None);
    }
}
