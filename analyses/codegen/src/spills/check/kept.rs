//! Values that a loop keeps, in one function as what they were in front of it, in the other as what arrives at its start.
//!
//! ```text
//! x = phi (a, b)      y = phi (x, y)                 y is x, where the block of x is always passed before that of y
//! ```
//!
//! Ways that meet leave a new value where a location held something else in an earlier round, although all of them bring the
//! same at last. So two values are compared as deep as they are made: it is assumed that they are one, and what follows from it
//! must hold on all ways. A value and one that arrives at a block are the same if they are on every way to it; the value may
//! only name blocks that dominate this one. Those were passed before it, and have not been since: where control passes such a
//! block anew, a way on which it has not been at this one meets it there, and nothing holds what arrived at this one.
//!
//! Stops: after `PAIRS` pairs of values.

use super::terms::{Term, Terms, Value, are_alike, parts};
use crate::mir::Target;
use crate::predicate::loops::dominates;
use rustc_hash::FxHashSet;

/// The most pairs of values that are compared.
const PAIRS: usize = 2000;

/// Returns true if a value only names blocks that all ways to another one pass before it.
pub(super) fn is_outside<T: Target>(
    terms: &Terms<T>,
    above: &[Option<u32>],
    value: Value,
    block: u32,
) -> bool {
    let mut named = terms.named(value);
    named.all(|name| name != block && dominates(above, name, block))
}

/// Returns true if two values are the same. `arriving`: what arrives in locations of a block, by the ways to it; `above`: the
/// immediate dominators of blocks.
pub(super) fn are_same<T: Target>(
    terms: &Terms<T>,
    arriving: &dyn Fn(u32) -> Vec<Vec<Value>>,
    above: &[Option<u32>],
    (value, other): (Value, Value),
) -> bool {
    let mut assumed: FxHashSet<(Value, Value)> = FxHashSet::default();
    let mut open = vec![(value, other)];
    while let Some((value, other)) = open.pop() {
        if value == other || !assumed.insert((value, other)) {
            continue;
        }
        if assumed.len() > PAIRS {
            return false;
        }
        let outside = |value, block| is_outside(terms, above, value, block);
        match (terms.term(value), terms.term(other)) {
            (
                &Term::Phi { block, location },
                &Term::Phi {
                    block: there,
                    location: same,
                },
            ) if block == there => {
                let ways = arriving(block);
                open.extend(ways.iter().map(|way| (way[location], way[same])));
            }
            (&Term::Phi { block, location }, _) if outside(other, block) => {
                let ways = arriving(block);
                open.extend(ways.iter().map(|way| (way[location], other)));
            }
            (_, &Term::Phi { block, location }) if outside(value, block) => {
                let ways = arriving(block);
                open.extend(ways.iter().map(|way| (value, way[location])));
            }
            (found, with) if are_alike(found, with) => {
                open.extend(parts(found).into_iter().zip(parts(with)));
            }
            _ => return false,
        }
    }
    true
}
