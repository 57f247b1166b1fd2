//! Names that are live: read later before they are written. Of any code that has blocks: values of SSA form, registers of a
//! machine, statements.
//!
//! ```text
//! b0: v1 = ..; jump b1     b1: v2 = ..; branch .., b1, b2     b2: use v1, v2
//! live at the starts: b0 {}, b1 {v1}, b2 {v1, v2}
//! ```
//!
//! Backward over blocks. The sets only grow, and a block is crossed again when one behind it has grown.

use crate::cfg::ControlFlow;
use crate::entity::{Block, Entity, EntitySet, Value};
use crate::function::Function;
use crate::inst::InstData;
use smallvec::SmallVec;

/// Code as its liveness sees it. Blocks are numbered from 0.
pub trait Code {
    type Name: Entity;
    fn blocks(&self) -> usize;
    fn names(&self) -> usize;
    /// Gives the blocks to which control may go from a block.
    fn successors(&self, block: usize, next: &mut dyn FnMut(usize));
    /// Adds the names that are live where a block leaves the code.
    fn leave(&self, _block: usize, _live: &mut EntitySet<Self::Name>) {}
    /// Goes from the end of a block to its start. `starts` are the sets found so far at the starts of blocks, for branches
    /// from the middle.
    fn cross(
        &self,
        block: usize,
        live: &mut EntitySet<Self::Name>,
        starts: &[EntitySet<Self::Name>],
    );
}

/// Live names by block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness<N: Entity> {
    pub starts: Vec<EntitySet<N>>,
    pub ends: Vec<EntitySet<N>>,
}

impl<N: Entity> Default for Liveness<N> {
    fn default() -> Self {
        Liveness {
            starts: Vec::new(),
            ends: Vec::new(),
        }
    }
}

/// The blocks in front of each one and behind it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edges {
    pub behind: Vec<SmallVec<[usize; 2]>>,
    pub before: Vec<SmallVec<[usize; 4]>>,
}

impl Edges {
    #[must_use]
    pub fn of(code: &impl Code) -> Edges {
        let count = code.blocks();
        let mut out = Edges {
            behind: vec![SmallVec::new(); count],
            before: vec![SmallVec::new(); count],
        };
        for block in 0..count {
            code.successors(block, &mut |next| {
                out.behind[block].push(next);
                out.before[next].push(block);
            });
        }
        out
    }
}

impl<N: Entity> Liveness<N> {
    #[must_use]
    pub fn of(code: &impl Code<Name = N>) -> Self {
        Liveness::along(code, &Edges::of(code))
    }

    /// The same, with the edges of the code.
    #[must_use]
    pub fn along(code: &impl Code<Name = N>, edges: &Edges) -> Self {
        let (count, names) = (code.blocks(), code.names());
        let mut out = Liveness {
            starts: vec![EntitySet::with_len(names); count],
            ends: vec![EntitySet::with_len(names); count],
        };
        out.grow(code, edges, (0..count).collect(), &mut |_| {});
        out
    }

    /// Solves on from blocks in which more is read than before; nothing else has changed. `each` gets blocks whose sets have
    /// grown, some of them several times.
    pub fn grow(
        &mut self,
        code: &impl Code<Name = N>,
        edges: &Edges,
        mut work: Vec<usize>,
        each: &mut dyn FnMut(usize),
    ) {
        let mut waiting = vec![false; edges.behind.len()];
        work.iter().for_each(|&block| waiting[block] = true);
        while let Some(block) = work.pop() {
            waiting[block] = false;
            let (starts, end) = (&self.starts, &mut self.ends[block]);
            for &next in &edges.behind[block] {
                end.union_with(&starts[next]);
            }
            code.leave(block, end);
            let mut live = end.clone();
            code.cross(block, &mut live, starts);
            if live != self.starts[block] {
                self.starts[block] = live;
                each(block);
                for &block in &edges.before[block] {
                    each(block);
                    if !std::mem::replace(&mut waiting[block], true) {
                        work.push(block);
                    }
                }
            }
        }
    }
}

/// The values that instructions and terminators of a function read.
pub trait Reads {
    fn function(&self) -> &Function;
    /// The value that is read where this one is named; `None`: nothing that counts.
    fn read(&self, value: Value) -> Option<Value> {
        Some(value)
    }
    /// Returns true for an instruction that reads its operands where it stands.
    fn executes(&self, _inst: &InstData) -> bool {
        true
    }

    fn of_inst(&self, inst: &InstData, used: &mut dyn FnMut(Value)) {
        if self.executes(inst) {
            let all = inst.operands();
            all.filter_map(|value| self.read(value)).for_each(used);
        }
    }

    fn of_terminator(&self, block: Block, used: &mut dyn FnMut(Value)) {
        let all = self.function().blocks[block].terminator.operands();
        all.filter_map(|value| self.read(value)).for_each(used);
    }
}

/// A function in SSA form, with the blocks that are reached.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a, R> {
    pub reads: &'a R,
    pub flow: &'a ControlFlow,
}

impl<R: Reads> Code for Values<'_, R> {
    type Name = Value;
    fn blocks(&self) -> usize {
        self.reads.function().blocks.len()
    }
    fn names(&self) -> usize {
        self.reads.function().values.len()
    }
    fn successors(&self, block: usize, next: &mut dyn FnMut(usize)) {
        let all = &self.flow.successors[Block::new(block)];
        all.iter().for_each(|to| next(to.index()));
    }
    fn cross(&self, block: usize, live: &mut EntitySet<Value>, _: &[EntitySet<Value>]) {
        let (function, block) = (self.reads.function(), Block::new(block));
        if !self.flow.is_reachable(block) {
            return;
        }
        let data = &function.blocks[block];
        self.reads.of_terminator(block, &mut |value| {
            live.insert(value);
        });
        for &inst in data.insts.iter().rev() {
            let inst = &function.insts[inst];
            inst.results.iter().for_each(|result| {
                live.remove(result);
            });
            self.reads.of_inst(inst, &mut |value| {
                live.insert(value);
            });
        }
        data.params.iter().for_each(|param| {
            live.remove(param);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain<'f>(&'f Function);

    impl Reads for Plain<'_> {
        fn function(&self) -> &Function {
            self.0
        }
    }

    #[test]
    fn a_value_read_behind_a_loop_lives_around_it() {
        let text = r#"
function "f" device text -> f64 {
  parameter "x" "float" (v0)
  parameter "d" "double" (v1)
  parameter "c" "bool" (v2)

b0(v0: f32, v1: f64, v2: bool):
  jump b1(v0)

b1(v3: f32):
  branch v2, b2, b3 as loop

b2:
  v4: f32 = fadd v3, v0
  jump b1(v4)

b3:
  v5: f64 = fadd v1, v1
  return v5
}
"#;
        let function = crate::text::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let flow = ControlFlow::new(&function);
        let live = Liveness::of(&Values {
            reads: &Plain(&function),
            flow: &flow,
        });
        let numbers = |sets: &[EntitySet<Value>], block: usize| -> Vec<u32> {
            sets[block].iter().map(|value| value.0).collect()
        };
        assert_eq!(numbers(&live.starts, 0), []);
        assert_eq!(numbers(&live.ends, 0), [0, 1, 2]);
        assert_eq!(numbers(&live.starts, 1), [0, 1, 2]);
        assert_eq!(numbers(&live.starts, 2), [0, 1, 2, 3]);
        assert_eq!(numbers(&live.starts, 3), [1]);
        assert_eq!(numbers(&live.ends, 3), []);
    }
}
