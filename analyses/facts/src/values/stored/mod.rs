//! The value profile of a program as plain data, versioned, as it is written to disk: the counts of the
//! values of each item, from the interpreter, instrumented code or a table.
//!
//! ```text
//! item "shade": value 17 `ndotl` float saturate, line 4: 1000 warps, 620 all zero  ->  P(0) = .62
//! ```
//!
//! `shape` names values so that they are found again, `build` makes an item from counts, `map` finds its
//! values in a function that may have changed since. Reading and writing is the caller's;
//! `StoredProfile::check` must hold for a profile that was read before anything else looks at it. Nothing
//! here is more than linear in the profile and the function.

mod build;
mod map;
mod paths;
mod shape;
#[cfg(test)]
mod tests;

pub use build::{Place, Positions, aggregate, edge_item, item_of, path_item, stored_item};
pub use map::{Lost, Mapped, Why, map};
pub use paths::{
    FoundEdges, FoundPaths, found_branches, found_edges, found_paths, found_windows, stored_edges,
    stored_paths, stored_windows,
};
pub use shape::{block_shape, code_hash, names, shape, text_hash};

use super::record::Misses;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The first member of every profile.
pub const FORMAT: &str = "lockstep value profile";
/// Changes with the meaning of a member; new members alone do not change it.
pub const VERSION: u32 = 1;

/// Sizes beyond which a profile is refused.
pub const MOST_ITEMS: usize = 10_000;
pub const MOST_VALUES: usize = 1_000_000;
pub const MOST_TOP: usize = 64;
/// Paths of an item that are kept, and blocks of one of them.
pub const MOST_PATHS: usize = 4096;
/// Iterations of loops that a path goes on over.
pub const MOST_ITERATIONS: u32 = 16;
const LONGEST_PATH: usize = 1 << 16;
pub const LONGEST_NAME: usize = 1024;

/// A profile of one source file. Unknown members are passed over, so that later versions can add some.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredProfile {
    /// `FORMAT`.
    pub format: String,
    /// `VERSION`.
    pub version: u32,
    pub source: SourceStamp,
    /// Lanes of a warp, 1 to 128: probabilities of whole warps hold for this size.
    pub warp_size: u32,
    #[serde(default)]
    pub origin: Origin,
    /// Sorted by name and ordinal.
    pub items: Vec<StoredItem>,
}

/// The text that was profiled.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SourceStamp {
    /// The file's name, for people.
    pub file: String,
    /// `text_hash` of the whole text, 16 hexadecimal digits.
    pub hash: String,
}

/// The origin of the counts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// `interpreter`, `instrumented` or `import`.
    pub kind: String,
    /// The run or the file that it comes from, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
    /// Workgroups that ran, and those that the launch has.
    #[serde(default)]
    pub sampled: u64,
    #[serde(default)]
    pub of: u64,
}

/// The profile of one function of the source.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredItem {
    pub name: String,
    /// The number among the items of that name.
    #[serde(default)]
    pub ordinal: u32,
    /// The line of the file, from 1, on which it began when it was profiled; 0 where that is not known.
    #[serde(default)]
    pub line: u32,
    /// The same of the items of inlined callees that stand in the same file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inlined: BTreeMap<String, u32>,
    /// `code_hash` of its function, 16 hexadecimal digits: equal hashes mean that ids are still right.
    pub code: String,
    /// Warps that entered it.
    pub warps: u64,
    #[serde(default)]
    pub blocks: Vec<StoredBlock>,
    /// Sorted by id.
    pub values: Vec<StoredValue>,
    /// The ways that lanes took, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<StoredPath>,
    /// Ways of lanes that are in no path: those of the rarest ones beyond `MOST_PATHS`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_paths: u64,
    /// Paths that go on over several iterations of loops, where they were recorded, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<StoredWindows>,
    /// The number of times that edges were taken, where paths were not counted, sorted by block: of each
    /// block with a way on, if paths can have numbers; the function was entered `warps` times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<StoredEdges>,
    /// The branches of a run on one lane as a predictor saw them, sorted by block; empty of other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<StoredBranch>,
    /// Source vectors of which all members were zero together.
    #[serde(default)]
    pub joint: Vec<StoredJoint>,
    /// The table of the processor whose caches were simulated; empty where none were.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caches: String,
}

/// The branch at the end of a block, as a predictor saw it: the chooser of the 21264.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredBranch {
    pub block: u32,
    pub executed: u64,
    /// Times that the first way was taken.
    pub taken: u64,
    pub mispredicted: u64,
    /// Mispredictions that remain when the worst branches are if-converted, where some can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredBlock {
    pub id: u32,
    /// The number of executions by warps.
    pub executions: u64,
    /// The block's operations, to find it after an edit; 0 where that was not kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shape: u64,
}

/// Returns whether a count is zero and left out.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// An acyclic way through the function, from its entry or from the head of a loop.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredPath {
    /// Times that a lane took it.
    pub count: u64,
    /// True if it begins behind an edge that ended another path, as the next iteration of a loop does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Ids of the blocks.
    pub blocks: Vec<u32>,
    /// The edges between them, by their number in the terminator; one more where an edge ends the path.
    pub edges: Vec<u32>,
}

/// Paths that go on over the edge of a loop until they have been in it for so many iterations.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredWindows {
    /// At least 2.
    pub iterations: u32,
    /// The most frequent first. A block is there once for each iteration.
    pub paths: Vec<StoredPath>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub others: u64,
}

/// The counts of the ways on from a block, by lanes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredEdges {
    pub block: u32,
    /// The block's operations, to find it after an edit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shape: u64,
    /// The counts by the edge's number in the terminator; lower bounds where `most` has other numbers.
    pub counts: Vec<u64>,
    /// At most so often; empty where all counts are exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub most: Vec<u64>,
}

/// A value of a function. Counts are of warps unless they say lanes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredValue {
    /// The number of the value in its function.
    pub id: u32,
    /// The variable that holds it with its component (`c.x`); empty of a temporary.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Type and operation with the operations of its operands, to find it after an edit.
    #[serde(default)]
    pub shape: String,
    /// The item that its position is in, where that is an inlined callee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// From 1; line 1 is the item's first. 0 where it has no place.
    pub line: u32,
    pub column: u32,
    /// Times that a warp computed it.
    pub executions: u64,
    /// The number of these executions in which all active lanes had zero.
    pub zeros: u64,
    /// The number of these executions in which all active lanes had one value; 0 if that was not counted.
    #[serde(default)]
    pub uniform: u64,
    /// Times that a lane computed it; 0 where lanes were not counted.
    #[serde(default)]
    pub lanes: u64,
    /// Lane executions that the table of top values saw.
    #[serde(default)]
    pub profiled: u64,
    /// The number of these executions that gave the same value as the one before (MRV-1).
    #[serde(default)]
    pub repeats: u64,
    /// The numbers of executions that gave one of the last 2, 3, 4, 5 distinct values (MRV-2 to MRV-5); empty
    /// if that was not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<u64>,
    /// The most frequent values by falling count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<StoredTop>,
    /// Of the first value of a load, what it met in the item's `caches`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses: Option<Misses>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredTop {
    /// The bit pattern, zero-extended; integers sign-extended.
    pub bits: u64,
    /// Lane executions.
    pub count: u64,
}

/// Values that were one vector of the source.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredJoint {
    /// Ids of values of the item.
    pub members: Vec<u32>,
    /// Times that a warp computed the last of them.
    pub executions: u64,
    /// The number of these executions in which all members were zero in all active lanes.
    pub zeros: u64,
}

/// The reason why a profile is not used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("not a profile of Lockstep: `format` is `{found}`, not `{FORMAT}`")]
    Format { found: String },
    #[error("a profile of version {found}; this Lockstep reads version {VERSION}")]
    Version { found: u32 },
    #[error("`warp_size` is {found}; 1 to 128 can be")]
    WarpSize { found: u32 },
    #[error(
        "profiled with {found} lanes a warp, and {wanted} are asked for: probabilities of whole warps differ"
    )]
    OtherWarpSize { found: u32, wanted: u32 },
    #[error("{found} {what}; at most {limit} are read")]
    TooLarge {
        what: &'static str,
        found: usize,
        limit: usize,
    },
    #[error("item `{item}`{}: {why}", value_phrase(*.value))]
    Inconsistent {
        item: String,
        value: Option<u32>,
        why: &'static str,
    },
}

fn value_phrase(value: Option<u32>) -> String {
    value.map_or_else(String::new, |id| format!(", value {id}"))
}

impl StoredProfile {
    #[must_use]
    pub fn new(file: &str, text: &str, warp_size: u32) -> Self {
        StoredProfile {
            format: FORMAT.to_owned(),
            version: VERSION,
            source: SourceStamp {
                file: file.to_owned(),
                hash: hex(text_hash(text)),
            },
            warp_size,
            ..StoredProfile::default()
        }
    }

    /// Checks that it is a profile of this format and consistent.
    ///
    /// # Errors
    /// The first thing that is wrong, in order of the members.
    pub fn check(&self) -> Result<(), ProfileError> {
        if self.format != FORMAT {
            return Err(ProfileError::Format {
                found: self.format.chars().take(60).collect(),
            });
        }
        if self.version != VERSION {
            return Err(ProfileError::Version {
                found: self.version,
            });
        }
        if !(1..=128).contains(&self.warp_size) {
            return Err(ProfileError::WarpSize {
                found: self.warp_size,
            });
        }
        let bounded = |what, found, limit| match found > limit {
            true => Err(ProfileError::TooLarge { what, found, limit }),
            false => Ok(()),
        };
        bounded("items", self.items.len(), MOST_ITEMS)?;
        let values = self.items.iter().map(|item| item.values.len()).sum();
        bounded("values", values, MOST_VALUES)?;
        for item in &self.items {
            bounded("bytes of a name", item.name.len(), LONGEST_NAME)?;
            bounded("blocks of an item", item.blocks.len(), MOST_VALUES)?;
            bounded("vectors of an item", item.joint.len(), MOST_VALUES)?;
            bounded("branches of an item", item.branches.len(), MOST_VALUES)?;
            bounded("blocks of an item", item.edges.len(), MOST_VALUES)?;
            let edges = item.edges.iter().map(|of| of.counts.len()).sum();
            bounded("edges of an item", edges, MOST_VALUES)?;
            bounded("paths of an item", item.paths.len(), MOST_PATHS)?;
            let windows = item.windows.iter().flat_map(|windows| &windows.paths);
            bounded("paths of an item", windows.clone().count(), MOST_PATHS)?;
            let all = item.paths.iter().chain(windows);
            let longest = all.map(|path| path.blocks.len()).max();
            bounded("blocks of a path", longest.unwrap_or(0), LONGEST_PATH)?;
            item.check()?;
        }
        Ok(())
    }

    /// Checks that its probabilities are those of warps of the size that is asked for.
    ///
    /// # Errors
    /// `OtherWarpSize`.
    pub fn check_warp_size(&self, wanted: u32) -> Result<(), ProfileError> {
        match self.warp_size == wanted {
            true => Ok(()),
            false => Err(ProfileError::OtherWarpSize {
                found: self.warp_size,
                wanted,
            }),
        }
    }

    /// The item of a function, by the last part of its name.
    #[must_use]
    pub fn item(&self, name: &str) -> Option<&StoredItem> {
        let last = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
        let named = |item: &&StoredItem| item.name == name;
        self.items.iter().find(named).or_else(|| {
            self.items
                .iter()
                .find(|item| last(&item.name) == last(name))
        })
    }

    /// Returns true if the text is not the one that was profiled.
    #[must_use]
    pub fn is_stale(&self, text: &str) -> bool {
        self.source.hash != hex(text_hash(text))
    }
}

impl StoredItem {
    fn check(&self) -> Result<(), ProfileError> {
        let fail = |value, why| {
            Err(ProfileError::Inconsistent {
                item: self.name.clone(),
                value,
                why,
            })
        };
        let mut before = None;
        for value in &self.values {
            let id = Some(value.id);
            if before >= id {
                return fail(id, "values are not sorted by `id`, or one is there twice");
            }
            before = id;
            let long = value.name.len().max(value.shape.len()) > LONGEST_NAME
                || value.of.as_ref().is_some_and(|of| of.len() > LONGEST_NAME);
            if long {
                return fail(id, "a name is too long");
            }
            if value.zeros > value.executions || value.uniform > value.executions {
                return fail(id, "more zeros or uniform warps than executions");
            }
            if value
                .misses
                .is_some_and(|of| of.misses > of.loads || of.far > of.misses)
            {
                return fail(
                    id,
                    "more misses than loads, or more by memory than there are",
                );
            }
            if value.top.len() > MOST_TOP {
                return fail(id, "too many top values");
            }
            let tops = value
                .top
                .iter()
                .try_fold(0u64, |sum, top| sum.checked_add(top.count));
            if tops.is_none_or(|sum| sum > value.profiled)
                || value.repeats > value.profiled
                || value.recent.iter().any(|&recent| recent > value.profiled)
                || value.recent.len() >= super::profiler::RECENT
                || (value.lanes > 0 && value.profiled > value.lanes)
            {
                return fail(id, "top values or repeats count more than was profiled");
            }
            if value.top.windows(2).any(|two| two[0].count < two[1].count) {
                return fail(id, "top values are not sorted by falling count");
            }
        }
        if !self.edges.is_sorted_by(|a, b| a.block < b.block) {
            return fail(None, "counts of edges are not sorted by block");
        }
        let iterations = self.windows.as_ref().map(|windows| windows.iterations);
        if iterations.is_some_and(|iterations| !(2..=MOST_ITERATIONS).contains(&iterations)) {
            return fail(None, "paths over iterations are over 2 to 16 of them");
        }
        let bounded = |of: &StoredEdges| {
            of.most.is_empty()
                || of.most.len() == of.counts.len()
                    && of
                        .counts
                        .iter()
                        .zip(&of.most)
                        .all(|(least, most)| least <= most)
        };
        if !self.edges.iter().all(bounded) {
            return fail(None, "an edge is taken at least more often than at most");
        }
        if !self.branches.is_sorted_by(|a, b| a.block < b.block) {
            return fail(None, "branches are not sorted by block");
        }
        if self
            .branches
            .iter()
            .any(|branch| branch.taken > branch.executed)
        {
            return fail(None, "a branch is taken more often than it is executed");
        }
        for joint in &self.joint {
            let known = |id: &u32| {
                self.values
                    .binary_search_by_key(id, |value| value.id)
                    .is_ok()
            };
            if joint.members.is_empty() || joint.members.len() > 16 {
                return fail(None, "a vector has 1 to 16 members");
            }
            if !joint.members.iter().all(known) {
                return fail(None, "a vector has a member that is no value of the item");
            }
            if joint.zeros > joint.executions {
                return fail(None, "a vector has more zeros than executions");
            }
        }
        Ok(())
    }

    /// The line of the file, from 1, where a value stood.
    #[must_use]
    pub fn file_line(&self, value: &StoredValue) -> Option<u32> {
        let start = match &value.of {
            Some(of) => *self.inlined.get(of)?,
            None => self.line,
        };
        (start > 0 && value.line > 0).then(|| start.saturating_add(value.line - 1))
    }

    #[must_use]
    pub fn value(&self, id: u32) -> Option<&StoredValue> {
        let at = self
            .values
            .binary_search_by_key(&id, |value| value.id)
            .ok()?;
        self.values.get(at)
    }
}

impl StoredValue {
    /// The share of warps that held zero in all active lanes; `None` of a value that was never computed.
    #[must_use]
    pub fn zero_share(&self) -> Option<f64> {
        (self.executions > 0).then(|| self.zeros as f64 / self.executions as f64)
    }

    /// Returns the table's view of the value, for metrics and comparisons. Executions are those that were
    /// profiled, so that a profiler that stopped does not lower the invariance.
    #[must_use]
    pub fn profile(&self) -> super::profiler::ValueProfile {
        super::profiler::ValueProfile {
            executions: self.profiled,
            top: self
                .top
                .iter()
                .map(|top| super::tnv::Entry {
                    value: top.bits,
                    count: top.count,
                })
                .collect(),
            recent: std::iter::once(self.repeats)
                .chain(self.recent.iter().copied())
                .collect(),
        }
    }
}

/// A hash as it is written.
#[must_use]
pub fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}
