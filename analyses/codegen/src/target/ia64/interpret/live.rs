//! Virtual registers that a block may read before it writes them, for the comparison of the values that leave
//! a loop.
//!
//! ```text
//! b3: (p6) mov v1 = v2; (p6) st8 [v3] = v1        reads v2, v3, p6; not v1, which is read under p6 alone
//! ```
//!
//! Backward over blocks until nothing is added; sets only grow. A checker shares no code with the passes that
//! it checks: `ir::liveness` stays out of here.

use crate::target::ia64::code::{Function, Operand, Operation, Virtual};
use rustc_hash::FxHashMap;

/// The registers that may be read in a block before they are written there, by block and register.
pub(crate) struct Live {
    enter: Vec<Vec<bool>>,
}

impl Live {
    pub(crate) fn of(function: &Function) -> Live {
        let count = function.blocks.len();
        let mut live = Live {
            enter: vec![vec![false; function.registers.len()]; count],
        };
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); count];
        for block in 0..count as u32 {
            for next in function.successors(block) {
                before[next as usize].push(block);
            }
        }
        let mut open: Vec<u32> = (0..count as u32).collect();
        while let Some(block) = open.pop() {
            let enter = live.walk(function, block);
            if enter != live.enter[block as usize] {
                live.enter[block as usize] = enter;
                open.extend(&before[block as usize]);
            }
        }
        live
    }

    /// Ascending.
    pub(crate) fn at(&self, block: u32) -> impl Iterator<Item = Virtual> {
        let own = self.enter[block as usize].iter().enumerate();
        own.filter(|it| *it.1).map(|it| Virtual(it.0 as u32))
    }

    fn walk(&self, function: &Function, block: u32) -> Vec<bool> {
        let operations = &function.blocks[block as usize].operations;
        let mut walk = Walk {
            live: vec![false; function.registers.len()],
            under: FxHashMap::default(),
        };
        for next in function.successors(block) {
            // Of branches, at their places; of what falls through, here.
            if next == block + 1 {
                walk.all(&self.enter[next as usize]);
            }
        }
        for operation in operations.iter().rev() {
            for source in &operation.sources {
                if let Operand::Block(target) = source {
                    walk.all(&self.enter[*target as usize]);
                }
            }
            walk.operation(operation);
        }
        walk.live
    }
}

struct Walk {
    live: Vec<bool>,
    /// Live registers that are read under these predicates alone.
    under: FxHashMap<Virtual, Vec<Virtual>>,
}

impl Walk {
    fn all(&mut self, more: &[bool]) {
        for (at, _) in more.iter().enumerate().filter(|it| *it.1) {
            self.live[at] = true;
            self.under.remove(&Virtual(at as u32));
        }
    }

    fn operation(&mut self, operation: &Operation) {
        for write in operation.writes() {
            let guards = self.under.get_mut(&write);
            if operation.is_certain() {
                self.live[write.0 as usize] = false;
                self.under.remove(&write);
            } else if let (Some(guards), Some(own)) = (guards, operation.predicate)
                && !operation.is_parallel()
            {
                guards.retain(|it| *it != own);
                if guards.is_empty() {
                    self.live[write.0 as usize] = false;
                    self.under.remove(&write);
                }
            }
        }
        // A predicate that is written is another one in front.
        for write in operation.writes() {
            self.under.retain(|_, guards| !guards.contains(&write));
        }
        for read in operation.reads() {
            let was = std::mem::replace(&mut self.live[read.0 as usize], true);
            let own = operation.predicate.filter(|it| *it != read);
            match (own, was) {
                (Some(own), false) => {
                    self.under.insert(read, vec![own]);
                }
                (Some(own), true) => {
                    if let Some(guards) = self.under.get_mut(&read)
                        && !guards.contains(&own)
                    {
                        guards.push(own);
                    }
                }
                (None, _) => {
                    self.under.remove(&read);
                }
            }
        }
    }
}
