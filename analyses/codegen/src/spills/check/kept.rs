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
//! What arrives at operands that commute may have changed its places on some of the ways.
//!
//! Stops: after `PAIRS` pairs of values.

use super::terms::{Term, Terms, Value, are_alike, parts};
use crate::mir::Target;
use crate::predicate::loops::dominates;
use rustc_hash::FxHashSet;

/// The most pairs of values that are compared.
const PAIRS: usize = 2000;

/// One of two values that should be the same, where ways to a block meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arriving {
    /// What a location brings.
    At(usize),
    /// The same on every way.
    Kept(Value),
}

impl Arriving {
    /// The value on a way that brings these ones.
    pub(super) fn on(self, way: &[Value]) -> Value {
        match self {
            Arriving::At(location) => way[location],
            Arriving::Kept(value) => value,
        }
    }
}

/// What makes two values the same.
#[derive(Debug)]
pub(super) enum Same {
    /// These two are on every way to a block.
    Ways(u32, [Arriving; 2]),
    /// These are.
    Parts(Vec<(Value, Value)>),
    /// What these locations of a block bring in either order, on each way to it.
    Either(u32, [[usize; 2]; 2]),
}

/// The locations that bring the operands of a value to a block, where they commute.
fn arriving_in_either_order<T: Target>(
    terms: &Terms<T>,
    value: Value,
) -> Option<(u32, [usize; 2])> {
    let [first, second] = terms.commuting(value)?;
    match (terms.term(first), terms.term(second)) {
        (
            &Term::Phi { block, location },
            &Term::Phi {
                block: there,
                location: other,
            },
        ) if block == there => Some((block, [location, other])),
        _ => None,
    }
}

/// Returns what makes two values the same; `above`: the immediate dominators of blocks. `None`: nothing.
pub(super) fn if_same<T: Target>(
    terms: &Terms<T>,
    above: &[Option<u32>],
    (value, other): (Value, Value),
) -> Option<Same> {
    // Passed before the block, and not since.
    let outside = |value: Value, block: u32| {
        let mut named = terms.named(value);
        named.all(|name| name != block && dominates(above, name, block))
    };
    let parts_of = |term: &Term| parts(term).into_iter();
    match (terms.term(value), terms.term(other)) {
        (
            &Term::Phi { block, location },
            &Term::Phi {
                block: there,
                location: same,
            },
        ) if block == there => {
            let sides = [location, same].map(Arriving::At);
            Some(Same::Ways(block, sides))
        }
        (&Term::Phi { block, location }, _) if outside(other, block) => {
            let sides = [Arriving::At(location), Arriving::Kept(other)];
            Some(Same::Ways(block, sides))
        }
        (_, &Term::Phi { block, location }) if outside(value, block) => {
            let sides = [Arriving::Kept(value), Arriving::At(location)];
            Some(Same::Ways(block, sides))
        }
        (found, with) if are_alike(found, with) => {
            let sides = [value, other].map(|it| arriving_in_either_order(terms, it));
            if let [Some((block, own)), Some((there, with))] = sides
                && block == there
            {
                return Some(Same::Either(block, [own, with]));
            }
            Some(Same::Parts(parts_of(found).zip(parts_of(with)).collect()))
        }
        _ => None,
    }
}

/// Returns true if two values are the same. `arriving`: what arrives in locations of a block, by the ways to it; `above`: the
/// immediate dominators of blocks.
pub(super) fn are_same<T: Target>(
    terms: &Terms<T>,
    arriving: &dyn Fn(u32) -> Vec<Vec<Value>>,
    above: &[Option<u32>],
    pair: (Value, Value),
) -> bool {
    let mut assumed: FxHashSet<(Value, Value)> = FxHashSet::default();
    let mut open = vec![pair];
    while let Some(pair) = open.pop() {
        if pair.0 == pair.1 || !assumed.insert(pair) {
            continue;
        }
        if assumed.len() > PAIRS {
            return false;
        }
        match if_same(terms, above, pair) {
            Some(Same::Ways(block, [first, second])) => {
                let ways = arriving(block);
                open.extend(ways.iter().map(|way| (first.on(way), second.on(way))));
            }
            Some(Same::Parts(parts)) => open.extend(parts),
            Some(Same::Either(block, sides)) => {
                for way in arriving(block) {
                    let [own, with] = sides.map(|side| side.map(|location| way[location]));
                    let straight = own[0] == with[0] || own[1] == with[1];
                    let turned = !straight && (own[0] == with[1] || own[1] == with[0]);
                    let with = if turned { [with[1], with[0]] } else { with };
                    open.extend(own.into_iter().zip(with));
                }
            }
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::sc140::Sc140;

    /// Blocks one below the other, but for the last, to which a way leads past the last but one.
    const ABOVE: [Option<u32>; 5] = [None, Some(0), Some(1), Some(2), Some(2)];

    fn phi(terms: &mut Terms<Sc140>, block: u32, location: usize) -> Value {
        terms.value(Term::Phi { block, location })
    }

    #[test]
    fn what_a_loop_keeps_is_what_was_in_front_of_it() {
        let mut terms = Terms::new();
        let (outer, inner) = (phi(&mut terms, 1, 0), phi(&mut terms, 2, 0));
        let [start, other] = [7, 8].map(|location| terms.value(Term::Initial(location)));
        for (around, same) in [(inner, true), (outer, true), (other, false)] {
            let arriving = |block: u32| match block {
                2 => vec![vec![outer], vec![around]],
                _ => vec![vec![start], vec![inner]],
            };
            for pair in [(outer, inner), (inner, outer)] {
                assert_eq!(are_same(&terms, &arriving, &ABOVE, pair), same);
            }
        }
    }

    #[test]
    fn what_may_have_been_passed_since_is_not_kept() {
        let mut terms = Terms::new();
        let (beside, below) = (phi(&mut terms, 3, 0), phi(&mut terms, 4, 0));
        let arriving = |_: u32| vec![vec![beside], vec![below]];
        assert!(!are_same(&terms, &arriving, &ABOVE, (beside, below)));
        // A block that does dominate makes the same ways enough.
        let above = phi(&mut terms, 2, 0);
        let arriving = |_: u32| vec![vec![above], vec![below]];
        assert!(are_same(&terms, &arriving, &ABOVE, (above, below)));
    }
}
