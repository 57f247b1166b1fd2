//! Finds the values of a stored item in a function. With equal code by id; else by name, shape and order
//! among those that have both in common, and values that do not fit are reported.
//!
//! ```text
//! stored: c.x FloatMul(..) twice        now: once      ->  ambiguous: neither is taken for the other
//! ```

use super::shape::{code_hash, names, shape};
use super::{StoredItem, StoredValue, hex};
use crate::zeros::Probabilities;
use ir::{Block, EntityVec, Function, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A stored item in terms of a function.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Mapped {
    /// The function is the one that was profiled.
    pub exact: bool,
    /// The place of each value in `StoredItem::values`. Sorted.
    pub values: Vec<(Value, usize)>,
    /// Stored values that are lost, in the order of the item.
    pub lost: Vec<Lost>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lost {
    pub id: u32,
    pub name: String,
    pub line: u32,
    pub why: Why,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// There is no value of that name and shape.
    Gone,
    /// Several, and not as many as there were.
    Ambiguous,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Why::Gone => "no value of that name and operation is there any more",
            Why::Ambiguous => {
                "another number of values of that name and operation than were profiled"
            }
        })
    }
}

/// Total: values that can't be mapped are in `lost`.
#[must_use]
pub fn map(item: &StoredItem, function: &Function) -> Mapped {
    let lost = |value: &StoredValue, why| Lost {
        id: value.id,
        name: value.name.clone(),
        line: value.line,
        why,
    };
    let mut out = Mapped {
        exact: item.code == hex(code_hash(function)),
        ..Mapped::default()
    };
    if out.exact {
        for (at, value) in item.values.iter().enumerate() {
            match (value.id as usize) < function.values.len() {
                true => out.values.push((Value(value.id), at)),
                false => out.lost.push(lost(value, Why::Gone)),
            }
        }
        return out;
    }
    let now = names(function);
    let mut here: FxHashMap<(String, String), Vec<Value>> = FxHashMap::default();
    for &block in &function.layout {
        let data = &function.blocks[block];
        let results = data
            .insts
            .iter()
            .flat_map(|&inst| &function.insts[inst].results);
        for &value in data.params.iter().chain(results) {
            let name = now
                .get(&value)
                .map_or_else(String::new, |(name, _)| name.clone());
            here.entry((name, shape(function, value)))
                .or_default()
                .push(value);
        }
    }
    let mut stored: FxHashMap<(&str, &str), Vec<usize>> = FxHashMap::default();
    for (at, value) in item.values.iter().enumerate() {
        stored
            .entry((value.name.as_str(), value.shape.as_str()))
            .or_default()
            .push(at);
    }
    for ((name, shape), places) in stored {
        let found = here.get(&(name.to_owned(), shape.to_owned()));
        match found {
            Some(values) if values.len() == places.len() => {
                out.values.extend(values.iter().copied().zip(places));
            }
            other => {
                let why = match other {
                    Some(_) => Why::Ambiguous,
                    None => Why::Gone,
                };
                out.lost
                    .extend(places.iter().map(|&at| lost(&item.values[at], why)));
            }
        }
    }
    out.values.sort_unstable();
    out.lost.sort_by_key(|lost| lost.id);
    out
}

impl Mapped {
    /// The stored value of a value.
    #[must_use]
    pub fn of<'i>(&self, item: &'i StoredItem, value: Value) -> Option<&'i StoredValue> {
        let at = self
            .values
            .binary_search_by_key(&value, |&(value, _)| value)
            .ok()?;
        item.values.get(self.values[at].1)
    }

    /// Returns the probabilities that versioning asks of a profile.
    #[must_use]
    pub fn probabilities(&self, item: &StoredItem, function: &Function) -> Probabilities {
        let mut out = Probabilities {
            scalar: EntityVec::with_len(None, function.values.len()),
            ..Probabilities::default()
        };
        let mut by_id: FxHashMap<u32, Value> = FxHashMap::default();
        for &(value, at) in &self.values {
            out.scalar[value] = item.values[at].zero_share();
            by_id.insert(item.values[at].id, value);
        }
        for joint in &item.joint {
            let members: Option<SmallVec<[Value; 4]>> = joint
                .members
                .iter()
                .map(|id| by_id.get(id).copied())
                .collect();
            if let Some(members) = members.filter(|_| joint.executions > 0) {
                out.joint
                    .insert(members, joint.zeros as f64 / joint.executions as f64);
            }
        }
        out
    }

    /// Executions of each block by a warp for one invocation of the item; `None` where nothing tells.
    #[must_use]
    pub fn weights(&self, item: &StoredItem, function: &Function) -> EntityVec<Block, Option<f64>> {
        let mut weights = EntityVec::with_len(None, function.blocks.len());
        if item.warps == 0 {
            return weights;
        }
        let share = |executions: u64| executions as f64 / item.warps as f64;
        if self.exact && !item.blocks.is_empty() {
            weights = EntityVec::with_len(Some(0.0), function.blocks.len());
            for block in &item.blocks {
                if (block.id as usize) < function.blocks.len() {
                    weights[Block(block.id)] = Some(share(block.executions));
                }
            }
            return weights;
        }
        // A block is executed as often as what it computes.
        let home = function.definition_blocks();
        for &(value, at) in &self.values {
            if let Some(block) = home[value] {
                let found = share(item.values[at].executions);
                let known: &mut Option<f64> = &mut weights[block];
                *known = Some(known.map_or(found, |other| other.max(found)));
            }
        }
        weights
    }
}
