//! The contents of the output's storage in terms of the original, at a point of the text.
//!
//! ```text
//! %r0 holds v3;  slot 8 of the lane holds v5 where v2 is false, v5 and 4*%tid.x + 1 elsewhere
//! ```
//!
//! Storage holds several polynomials at once when they are equal there. Where paths join, only common
//! polynomials stay: the sets shrink, so that the walk over the flow stops.

use super::polynomial::{Atom, Polynomial};
use super::text::Register;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Storage of the output.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) enum Storage {
    Register(Register),
    /// An original register, which holds its own value: polynomials without registers alone.
    Original(Register),
    /// First byte and bytes of a lane's slot in a variable.
    Lane(SmolStr, i64, u32),
    /// The same of a variable that calls are passed.
    Argument(SmolStr, i64, u32),
    /// The same of the slots of a warp.
    Warp(SmolStr, i64, u32),
    /// A lane's word of a register that has words of the warp.
    RegisterLane(Register, u32),
}

/// An original predicate that has a value.
pub(super) type Condition = (Register, bool);

/// A polynomial that storage holds, wherever the condition holds.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) value: Polynomial,
    pub(super) under: Option<Condition>,
}

/// Polynomials that storage holds at once.
const MOST: usize = 200;

/// The polynomials that each storage holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Contents(FxHashMap<Storage, Vec<Held>>);

fn normal(mut all: Vec<Held>) -> Vec<Held> {
    // Under a condition and under its opposite is always.
    let mut always: Vec<Held> = Vec::new();
    for held in &all {
        if let Some((register, value)) = held.under {
            let opposite = Held {
                value: held.value.clone(),
                under: Some((register, !value)),
            };
            if all.contains(&opposite) {
                always.push(Held {
                    value: held.value.clone(),
                    under: None,
                });
            }
        }
    }
    all.extend(always);
    all.sort_by(|a, b| (&a.value, a.under).cmp(&(&b.value, b.under)));
    // What holds always comes first: the same under a condition says nothing.
    all.dedup_by(|later, first| {
        later.value == first.value && (first.under.is_none() || later.under == first.under)
    });
    all.truncate(MOST);
    all
}

impl Contents {
    pub(super) fn of(&self, storage: &Storage) -> &[Held] {
        self.0.get(storage).map_or(&[], Vec::as_slice)
    }
    /// Polynomials that storage holds where a condition holds.
    pub(super) fn under(&self, storage: &Storage, at: Option<Condition>) -> Vec<Polynomial> {
        let there = self.of(storage).iter();
        let there = there.filter(|held| held.under.is_none() || held.under == at);
        there.map(|held| held.value.clone()).collect()
    }
    /// The same, those without original registers.
    pub(super) fn pure(&self, storage: &Storage, at: Option<Condition>) -> Vec<Polynomial> {
        let mut all = self.under(storage, at);
        all.retain(Polynomial::is_pure);
        all
    }
    /// Storage takes other values, where a condition holds.
    pub(super) fn write(&mut self, storage: &Storage, new: Vec<Polynomial>, at: Option<Condition>) {
        let mut all: Vec<Held> = new
            .into_iter()
            .map(|value| Held { value, under: at })
            .collect();
        if let Some(condition) = at {
            let opposite = (condition.0, !condition.1);
            for held in self.of(storage) {
                if held.under.is_none_or(|under| under == opposite) {
                    all.push(Held {
                        value: held.value.clone(),
                        under: Some(opposite),
                    });
                }
            }
        }
        self.put(storage, all);
    }
    /// A register is written in all lanes.
    pub(super) fn forget_lanes(&mut self, register: Register) {
        self.0.retain(
            |storage, _| !matches!(storage, Storage::RegisterLane(own, _) if *own == register),
        );
    }
    /// Storage takes the contents of other storage, with its conditions.
    pub(super) fn put(&mut self, storage: &Storage, all: Vec<Held>) {
        let all = normal(all);
        if all.is_empty() {
            self.0.remove(storage);
        } else {
            self.0.insert(storage.clone(), all);
        }
    }
    /// Arguments and results of calls are no longer what was stored in them.
    pub(super) fn forget_arguments(&mut self) {
        self.0
            .retain(|storage, _| !matches!(storage, Storage::Argument(..)));
    }
    /// Bytes of slots are overwritten: slots that have some of them hold nothing, or values that they also
    /// held elsewhere.
    pub(super) fn overwrite(&mut self, written: &Storage, at: Option<Condition>) {
        let bytes = |storage: &Storage| match storage {
            Storage::Lane(name, first, size) => Some((0, name.clone(), *first, *size)),
            Storage::Warp(name, first, size) => Some((1, name.clone(), *first, *size)),
            Storage::Argument(name, first, size) => Some((2, name.clone(), *first, *size)),
            Storage::Register(_) | Storage::Original(_) | Storage::RegisterLane(..) => None,
        };
        let Some((kind, name, first, size)) = bytes(written) else {
            return;
        };
        let meets = |other: &Storage| {
            bytes(other).is_some_and(|(other_kind, other_name, other_first, other_size)| {
                kind == other_kind
                    && name == other_name
                    && first < other_first + i64::from(other_size)
                    && other_first < first + i64::from(size)
            })
        };
        let hit: Vec<Storage> = self.0.keys().filter(|key| meets(key)).cloned().collect();
        for storage in hit {
            self.write(&storage, Vec::new(), at);
        }
    }
    /// An original register takes another value, where a condition holds. `also` are polynomials that equal the new one.
    pub(super) fn define(
        &mut self,
        register: Register,
        also: &[Polynomial],
        at: Option<Condition>,
        bits: u32,
    ) {
        let opposite = at.map(|(predicate, value)| (predicate, !value));
        let equal = Polynomial::atom(bits, Atom::Value(register));
        self.0.retain(|_, all| {
            let before = all.clone();
            all.retain_mut(|held| {
                if held.under.is_some_and(|under| under.0 == register) {
                    return false;
                }
                if !held.value.mentions(register) {
                    return true;
                }
                match (held.under, opposite) {
                    (_, None) => false,
                    (None, Some(_)) => {
                        held.under = opposite;
                        true
                    }
                    (under, _) => under == opposite,
                }
            });
            if also.iter().any(|value| {
                before.iter().any(|held| {
                    held.under.is_none() && held.value == *value && !value.mentions(register)
                })
            }) {
                all.push(Held {
                    value: equal.clone(),
                    under: at,
                });
            }
            *all = normal(std::mem::take(all));
            !all.is_empty()
        });
    }
    /// Forgets statements about registers of the original that are not needed any more.
    pub(super) fn keep(&mut self, needed: impl Fn(Register) -> bool) {
        self.0.retain(|storage, all| {
            if matches!(storage, Storage::Original(register) if !needed(*register)) {
                return false;
            }
            all.retain(|held| {
                held.under.is_none_or(|under| needed(under.0)) && held.value.all_values(&needed)
            });
            !all.is_empty()
        });
    }
    /// Keeps the contents that another point has, too; returns whether something was lost.
    pub(super) fn meet(&mut self, other: &Contents) -> bool {
        let mut less = false;
        self.0.retain(|storage, all| {
            let before = all.clone();
            let there = other.of(storage);
            let has = |held: &Held| {
                there.contains(held)
                    || there.contains(&Held {
                        value: held.value.clone(),
                        under: None,
                    })
            };
            let mut both: Vec<Held> = all.iter().filter(|held| has(held)).cloned().collect();
            // Here always, there under a condition.
            let covers = |held: &&Held| {
                held.under.is_some()
                    && all.contains(&Held {
                        value: held.value.clone(),
                        under: None,
                    })
            };
            both.extend(there.iter().filter(covers).cloned());
            *all = normal(both);
            less |= *all != before;
            !all.is_empty()
        });
        less
    }
}
