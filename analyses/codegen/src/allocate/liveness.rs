//! What operations read and write, and which virtual registers are live where.

use crate::mir::File;
use crate::mir::function::{Function, Name, Operand, Operation, Virtual};
use rustc_hash::FxHashMap;

/// What an operation does to virtual registers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Roles {
    pub reads: Vec<Virtual>,
    pub writes: Vec<Virtual>,
    /// Whether a false predicate leaves old values in `writes`.
    pub keeps: bool,
}

/// The base that is stepped by a load or store.
#[must_use]
pub(super) fn stepped(operation: &Operation) -> Option<Name> {
    let base = |operands: &[Operand]| {
        operands.iter().find_map(|one| match one {
            Operand::Address(name) => Some(*name),
            _ => None,
        })
    };
    let kind = operation.base();
    if kind.starts_with("st") {
        return base(&operation.targets).filter(|_| operation.sources.len() > 1);
    }
    if kind.starts_with("ld") || kind == "lfetch" {
        return base(&operation.sources).filter(|_| operation.sources.len() > 1);
    }
    None
}

#[must_use]
pub fn roles(operation: &Operation) -> Roles {
    let mut out = Roles::default();
    for target in &operation.targets {
        match target {
            Operand::Register(Name::Virtual(one)) => out.writes.push(*one),
            Operand::Address(Name::Virtual(one)) => out.reads.push(*one),
            _ => {}
        }
    }
    out.reads.extend(
        operation
            .sources
            .iter()
            .filter_map(Operand::virtual_register),
    );
    if let Some(Name::Virtual(base)) = stepped(operation) {
        out.writes.push(base);
    }
    out.reads.extend(operation.predicate);
    let always = operation.mnemonic.contains(".unc");
    out.keeps = operation.predicate.is_some() && !always;
    out
}

/// A set of registers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Set(Vec<u64>);

impl Set {
    pub(super) fn with(count: usize) -> Set {
        Set(vec![0; count.div_ceil(64)])
    }
    pub(super) fn has(&self, one: Virtual) -> bool {
        self.0[one.0 as usize / 64] >> (one.0 % 64) & 1 != 0
    }
    /// Whether it is new.
    pub(super) fn insert(&mut self, one: Virtual) -> bool {
        let word = &mut self.0[one.0 as usize / 64];
        let before = *word;
        *word |= 1 << (one.0 % 64);
        *word != before
    }
    pub(super) fn remove(&mut self, one: Virtual) {
        self.0[one.0 as usize / 64] &= !(1 << (one.0 % 64));
    }
    fn add(&mut self, other: &Set) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = Virtual> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros();
                left &= left - 1;
                Some(Virtual(at as u32 * 64 + bit))
            })
        })
    }
}

/// Registers that are live at the ends of blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    pub(super) enter: Vec<Set>,
    pub(super) leave: Vec<Set>,
}

/// Live registers while a block is walked backwards.
pub(super) struct Walk<'a> {
    pub(super) live: Set,
    /// Those that are read under this predicate only.
    under: FxHashMap<Virtual, Virtual>,
    function: &'a Function,
}

impl<'a> Walk<'a> {
    pub(super) fn new(function: &'a Function, live: Set) -> Walk<'a> {
        Walk {
            live,
            under: FxHashMap::default(),
            function,
        }
    }
    pub(super) fn write(&mut self, operation: &Operation, roles: &Roles) {
        for &one in &roles.writes {
            let ends = !roles.keeps
                || self
                    .under
                    .get(&one)
                    .is_some_and(|under| Some(*under) == operation.predicate);
            if ends {
                self.live.remove(one);
                self.under.remove(&one);
            }
        }
        for &one in &roles.writes {
            if self.function.file(one) == File::Predicate {
                self.under.retain(|_, under| *under != one);
            }
        }
    }
    pub(super) fn read(&mut self, operation: &Operation, roles: &Roles) {
        for &one in &roles.reads {
            let new = self.live.insert(one);
            let guard = operation.predicate.filter(|&predicate| predicate != one);
            match (new, guard) {
                (true, Some(predicate)) => {
                    self.under.insert(one, predicate);
                }
                (true, None) => {}
                (false, guard) => {
                    if self
                        .under
                        .get(&one)
                        .is_some_and(|under| Some(*under) != guard)
                    {
                        self.under.remove(&one);
                    }
                }
            }
        }
    }
}

impl Liveness {
    #[must_use]
    pub fn of(function: &Function) -> Liveness {
        let (blocks, count) = (function.blocks.len(), function.registers.len());
        let mut out = Liveness {
            enter: vec![Set::with(count); blocks],
            leave: vec![Set::with(count); blocks],
        };
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); blocks];
        for block in 0..blocks as u32 {
            for next in function.successors(block) {
                before[next as usize].push(block);
            }
        }
        let all: Vec<Vec<Roles>> = function
            .blocks
            .iter()
            .map(|block| block.operations.iter().map(roles).collect())
            .collect();
        let mut work: Vec<u32> = (0..blocks as u32).collect();
        let mut waiting = vec![true; blocks];
        // Sets only grow.
        while let Some(block) = work.pop() {
            let at = block as usize;
            waiting[at] = false;
            let mut leave = std::mem::take(&mut out.leave[at]);
            for next in function.successors(block) {
                leave.add(&out.enter[next as usize]);
            }
            let mut walk = Walk::new(function, leave.clone());
            out.leave[at] = leave;
            for (operation, roles) in function.blocks[at].operations.iter().zip(&all[at]).rev() {
                walk.write(operation, roles);
                walk.read(operation, roles);
            }
            if walk.live != out.enter[at] {
                out.enter[at] = walk.live;
                for &one in &before[at] {
                    if !std::mem::replace(&mut waiting[one as usize], true) {
                        work.push(one);
                    }
                }
            }
        }
        out
    }
    /// Whether the register is live where the block begins.
    #[must_use]
    pub fn enters(&self, block: u32, register: Virtual) -> bool {
        self.enter[block as usize].has(register)
    }
    /// Whether it is live where the block ends.
    #[must_use]
    pub fn leaves(&self, block: u32, register: Virtual) -> bool {
        self.leave[block as usize].has(register)
    }
}
