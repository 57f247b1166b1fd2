//! Code that counts, as a run on the device goes along, how often warps compute a value and how often it is zero in all
//! their lanes: a vote, one elected lane, two atomic additions a place.
//!
//! ```text
//! mul.f32 %f3, %f1, %f2;      ->      ... { setp.eq.f32 p, %f3, 0; vote.sync.all q, p; @first red.add [c], 1; ... }
//! ```
//!
//! Edits are insertions behind whole statements; existing text stays. Only values that versioning could test
//! are counted (`facts::zeros::candidates`), at most `MOST_PLACES` of a function; a value whose statement has
//! no place behind it (the head of a loop, a body without braces, a macro) is left out. One pass over the
//! function.
//!
//! Source: Stephenson and Rangan, *AZP*, section 4: two counters a candidate with a warp-wide vote.

pub mod paths;
pub mod ptx;
pub mod source;

use facts::zeros::candidates;
use ir::{Function, Value};
use rustc_hash::FxHashSet;

/// Places of one function that are counted.
pub const MOST_PLACES: usize = 4096;
/// The name of the memory that holds the counters, two for each place.
pub const COUNTERS: &str = "lockstep_counters";

/// Values that are tested together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedPlace {
    pub values: Vec<Value>,
    /// The name for people.
    pub name: String,
    /// The offset at which the value is written, relative to the item.
    pub offset: u32,
}

/// The changes that make a function count: insertions by item-relative offset, ascending, and the counted
/// places in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Instrumented {
    pub insertions: Vec<(u32, String)>,
    pub places: Vec<CountedPlace>,
}

/// The values that a version could test, alone or as part of a vector.
fn tested(function: &Function) -> FxHashSet<Value> {
    candidates(function)
        .into_iter()
        .flat_map(|candidate| candidate.members)
        .collect()
}

/// Applies insertions to a text; those at one offset in the order given. Offsets that are no place in it are left out.
#[must_use]
pub fn inserted(text: &str, insertions: &[(u32, String)]) -> String {
    let mut sorted: Vec<&(u32, String)> = insertions.iter().collect();
    sorted.sort_by_key(|(offset, _)| *offset);
    let mut out = String::with_capacity(text.len() + insertions.len() * 64);
    let mut from = 0;
    for (offset, new) in sorted {
        let at = *offset as usize;
        if let Some(kept) = text.get(from..at) {
            out.push_str(kept);
            out.push_str(new);
            from = at;
        }
    }
    out.push_str(text.get(from..).unwrap_or(""));
    out
}
