//! The record of a run's plain values of function 0 of a module: counts of warps and of lanes, joint counts
//! of the vectors of the source, executions of blocks; and the choice of the values and vectors that are
//! counted at all.
//!
//! ```text
//! x = {0, 0, 0, 0} | {0, 0, 1, 0}     two warps of four   ->   2 executions, 1 zero; Inv-1 7/8
//! ```
//!
//! Plain data: the interpreter's observer or instrumented code fills it.

use super::tnv::Entry;
use crate::paths::{PathNumbers, PathProfile};
use crate::zeros::candidates;
use ir::{Block, EntityVec, Function, Op, Type, Value, ValueDef};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Vectors of one function that are counted.
const MOST_VECTORS: usize = 1 << 16;

/// The counts of a value. Warps, unless they say lanes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub executions: u64,
    pub zeros: u64,
    pub uniform: u64,
    pub lanes: u64,
    /// Lane executions that entered the table.
    pub profiled: u64,
    pub repeats: u64,
    /// The number of executions that gave one of the last 2, 3, ... distinct values; empty if that was not
    /// counted.
    pub recent: Vec<u64>,
    pub top: Vec<Entry>,
}

/// Loads that went through the caches of a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Misses {
    pub loads: u64,
    /// Those that the first level had not.
    pub misses: u64,
    /// Cycles that the processor waited for them where all loads of a block that do not depend on each other are under
    /// way together.
    pub waited: u64,
    /// Cycles that the processor would not have waited if a load of the block had hit and the others not.
    pub spared: u64,
    /// Cycles that they took longer than from the first level, each by itself: the wait where nothing else is under way.
    pub alone: u64,
    /// Those of the misses that memory answered, and their part of `alone`.
    pub far: u64,
    pub far_alone: u64,
}

impl Misses {
    /// Cycles that the processor waits for a load; 0 where there was none.
    #[must_use]
    pub fn wait(&self) -> f64 {
        self.each(self.waited)
    }
    /// Cycles that the processor would wait less for each load that hits or is skipped; 0 where there was none.
    #[must_use]
    pub fn spared_wait(&self) -> f64 {
        self.each(self.spared)
    }
    /// The share of loads that miss, and that memory answers.
    #[must_use]
    pub fn shares(&self) -> (f64, f64) {
        (self.each(self.misses), self.each(self.far))
    }
    fn each(&self, of_all: u64) -> f64 {
        match self.loads {
            0 => 0.0,
            loads => of_all as f64 / loads as f64,
        }
    }
    /// Adds the counts of another run or another place.
    pub fn add(&mut self, other: &Misses) {
        let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        sum(&mut self.loads, other.loads);
        sum(&mut self.misses, other.misses);
        sum(&mut self.waited, other.waited);
        sum(&mut self.spared, other.spared);
        sum(&mut self.alone, other.alone);
        sum(&mut self.far, other.far);
        sum(&mut self.far_alone, other.far_alone);
    }
    /// Cycles that a load takes longer by itself and how many loads there are for one that takes them: of those that a
    /// further cache answers, and of those that memory does.
    #[must_use]
    pub fn alone(&self) -> [(f64, f64); 2] {
        let each = |cycles: u64, misses: u64| match misses {
            0 => (0.0, 1.0),
            _ => (
                self.each(cycles),
                (self.loads as f64 / misses as f64).max(1.0),
            ),
        };
        let near = self.misses.saturating_sub(self.far);
        [
            each(self.alone.saturating_sub(self.far_alone), near),
            each(self.far_alone, self.far),
        ]
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JointCounts {
    pub members: SmallVec<[Value; 4]>,
    pub executions: u64,
    pub zeros: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recorded {
    pub warps: u64,
    /// Sorted by value; those that were never computed are there with zeros.
    pub values: Vec<(Value, Counts)>,
    pub joint: Vec<JointCounts>,
    pub blocks: EntityVec<Block, u64>,
    /// Of loads whose caches were simulated, sorted by the first value that is loaded.
    pub misses: Vec<(Value, Misses)>,
    /// The ways of lanes; `None` where the function has more of them than numbers.
    pub paths: Option<(PathNumbers, PathProfile)>,
}

impl Recorded {
    /// Returns what the load of a value met in the caches.
    #[must_use]
    pub fn misses_of(&self, value: Value) -> Option<Misses> {
        let at = self
            .misses
            .binary_search_by_key(&value, |(value, _)| *value);
        at.ok().map(|at| self.misses[at].1)
    }
}

/// The bits of a type that tell zero from other values; `None` of addresses and the like.
#[must_use]
pub const fn significant(ty: Type) -> Option<u64> {
    Some(match ty {
        Type::Bool => 1,
        Type::I8 => 0xff,
        Type::I16 => 0xffff,
        Type::I32 => 0xffff_ffff,
        Type::I40 => 0xff_ffff_ffff,
        Type::I64 => u64::MAX,
        Type::F16 | Type::BF16 => 0x7fff,
        Type::F32 => 0x7fff_ffff,
        Type::F64 => u64::MAX >> 1,
        Type::Ptr(_) | Type::Handle | Type::Opaque => return None,
    })
}

/// Returns true if a profile has something to say of a value: no literal, no address.
#[must_use]
pub fn recordable(function: &Function, value: Value) -> bool {
    let plain = significant(function.ty(value)).is_some();
    plain
        && match function.values[value].def {
            ValueDef::Param(..) => true,
            ValueDef::Result(inst, _) => !matches!(
                function.insts[inst].op,
                Op::Const(_) | Op::Undef | Op::Parameter(_) | Op::SymbolAddress(_)
            ),
        }
}

/// Groups of two to four values that were one vector: those that versioning could test, and those that a
/// variable holds.
#[must_use]
pub fn vectors(function: &Function) -> Vec<SmallVec<[Value; 4]>> {
    let mut found: Vec<SmallVec<[Value; 4]>> = Vec::new();
    let mut seen: FxHashSet<SmallVec<[Value; 4]>> = FxHashSet::default();
    let held = function
        .bindings
        .iter()
        .filter(|binding| binding.kind != ir::BindingKind::Read && binding.values.len() <= 4)
        .map(|binding| &binding.values);
    let tested = candidates(function);
    for members in tested.iter().map(|it| &it.members).chain(held) {
        let mut distinct: SmallVec<[Value; 4]> = SmallVec::new();
        for &member in members {
            if recordable(function, member) && !distinct.contains(&member) {
                distinct.push(member);
            }
        }
        if distinct.len() > 1 && found.len() < MOST_VECTORS && seen.insert(distinct.clone()) {
            found.push(distinct);
        }
    }
    found
}
