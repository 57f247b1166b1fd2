//! Which virtual registers are live: read later before they are written for certain.
//!
//! Backward over blocks until nothing changes; what a predicated operation writes stays live in front of it.

use crate::mir::function::{Function, Operand, Operation, Virtual};
use rustc_hash::FxHashSet;

pub type Set = FxHashSet<Virtual>;

/// By block.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    pub at_start: Vec<Set>,
    pub at_end: Vec<Set>,
}

impl Liveness {
    #[must_use]
    pub fn of(function: &Function) -> Liveness {
        let count = function.blocks.len();
        let mut out = Liveness {
            at_start: vec![Set::default(); count],
            at_end: vec![Set::default(); count],
        };
        let next: Vec<Vec<u32>> = (0..count as u32)
            .map(|block| function.successors(block))
            .collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for block in (0..count).rev() {
                let mut end = Set::default();
                for &to in &next[block] {
                    if let Some(live) = out.at_start.get(to as usize) {
                        end.extend(live.iter().copied());
                    }
                }
                out.at_end[block] = end;
                let start = out.inside(function, block as u32, 0);
                if start != out.at_start[block] {
                    out.at_start[block] = start;
                    changed = true;
                }
            }
        }
        out
    }

    /// In front of an operation of a block.
    #[must_use]
    pub fn inside(&self, function: &Function, block: u32, operation: usize) -> Set {
        let mut live = self.at_end[block as usize].clone();
        let operations = &function.blocks[block as usize].operations;
        for one in operations[operation.min(operations.len())..].iter().rev() {
            for source in &one.sources {
                if let Operand::Block(target) = source
                    && let Some(there) = self.at_start.get(*target as usize)
                {
                    live.extend(there.iter().copied());
                }
            }
            if is_certain(one) {
                for written in writes(one) {
                    live.remove(&written);
                }
            }
            live.extend(reads(one));
        }
        live
    }
}

/// Whether it writes its targets whatever its predicate is.
#[must_use]
pub fn is_certain(operation: &Operation) -> bool {
    let mut completers = operation.mnemonic.split('.').skip(1);
    let parallel = completers
        .clone()
        .any(|one| matches!(one, "and" | "or" | "andcm" | "orcm"));
    !parallel && (operation.predicate.is_none() || completers.any(|one| one == "unc"))
}

pub fn writes(operation: &Operation) -> impl Iterator<Item = Virtual> + '_ {
    operation.targets.iter().filter_map(|target| match target {
        Operand::Register(_) => target.virtual_register(),
        _ => None,
    })
}

pub fn reads(operation: &Operation) -> impl Iterator<Item = Virtual> + '_ {
    let addresses = operation
        .targets
        .iter()
        .filter(|target| matches!(target, Operand::Address(_)));
    let operands = operation.sources.iter().chain(addresses);
    operation
        .predicate
        .into_iter()
        .chain(operands.filter_map(Operand::virtual_register))
}
