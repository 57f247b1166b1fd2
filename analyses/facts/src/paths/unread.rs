//! The number of times that nothing reads the result of an instruction, on the paths that were taken.
//!
//! ```text
//! w = sqrt(x);  if (near) out[i] = w;     near in 27 of 100: nothing reads `w` in 73, neither the root nor what it alone needs
//! ```
//!
//! Each path is gone over backwards: effects, branches and returns need their operands, and an instruction
//! without effects needs them where its own result is needed. A path that ends with an edge goes on in
//! another one: values live there are needed for the lower bound, and not for the upper one. So for code
//! without loops both are the exact count.
//!
//! If edges alone were counted, the paths that must have been taken determine some executions; the others
//! may have been read or not.
//!
//! Linear in the instructions on all paths that were taken. Stores to private memory count as effects.

use super::bounds::{EdgeCounts, RankedBy, ranked};
use super::{Ending, PathNumbers, PathProfile};
use ir::cfg::ControlFlow;
use ir::entity::{Entity, EntitySet, EntityVec};
use ir::liveness::{Liveness, Reads, Values};
use ir::{Block, Function, Inst, Value};

/// Executions of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unread {
    pub executions: u64,
    /// The least number of these executions whose result nothing reads.
    pub least: u64,
    pub most: u64,
}

impl Unread {
    /// From 0 to 1, at least.
    #[must_use]
    pub fn share(&self) -> f64 {
        match self.executions {
            0 => 0.0,
            all => self.least as f64 / all as f64,
        }
    }
}

struct All<'f>(&'f Function);

impl Reads for All<'_> {
    fn function(&self) -> &Function {
        self.0
    }
}

/// Executions of each instruction of a function, and how many of them nothing reads. `numbers` are those of the function's
/// own blocks.
#[must_use]
pub fn unread(
    function: &Function,
    numbers: &PathNumbers,
    profile: &PathProfile,
) -> EntityVec<Inst, Unread> {
    let flow = ControlFlow::new(function);
    let live = Liveness::of(&Values {
        reads: &All(function),
        flow: &flow,
    });
    let mut out = EntityVec::with_len(Unread::default(), function.insts.len());
    for (&number, &count) in &profile.counts {
        let Some(path) = numbers.path(number) else {
            continue;
        };
        let blocks: Vec<Block> = path.nodes.iter().map(|&node| Block::new(node)).collect();
        let Some(&last) = blocks.last() else { continue };
        let mut behind = EntitySet::with_len(function.values.len());
        let goes_on = path.ending != Ending::Exit;
        if let Ending::Edge(edge) = path.ending
            && let Some(edge) = function.blocks[last].terminator.edges().get(edge)
        {
            behind = live.starts[edge.block.index()].clone();
            for &passed in &edge.args {
                behind.insert(passed);
            }
        }
        let mut step = |inst: Inst, read: bool, certain: bool| {
            let counts: &mut Unread = &mut out[inst];
            if certain {
                counts.executions = counts.executions.saturating_add(count);
                counts.least = counts.least.saturating_add(if read { 0 } else { count });
            }
            if !goes_on || !certain {
                counts.most = counts.most.saturating_add(if read { 0 } else { count });
            }
        };
        go_back(function, &blocks, &path.edges, behind, &mut |inst, read| {
            step(inst, read, true);
        });
        if goes_on {
            let nothing = EntitySet::with_len(function.values.len());
            go_back(
                function,
                &blocks,
                &path.edges,
                nothing,
                &mut |inst, read| {
                    step(inst, read, false);
                },
            );
        }
    }
    out
}

/// Paths that must have been taken which are looked at.
const MOST_CERTAIN: usize = 4096;

/// The same where edges alone were counted. Instructions of blocks whose executions are not known exactly have none.
#[must_use]
pub fn unread_at_least(
    function: &Function,
    numbers: &PathNumbers,
    counts: &EdgeCounts,
) -> EntityVec<Inst, Unread> {
    let certain = ranked(numbers.graph(), counts, RankedBy::Least, MOST_CERTAIN);
    let mut profile = PathProfile::default();
    for (path, bounds) in &certain.paths {
        if let Some(number) = numbers.number(path) {
            profile.counts.insert(number, bounds.least);
        }
    }
    let mut out = unread(function, numbers, &profile);
    let passed = counts.passed(numbers.graph());
    for (block, data) in function.blocks.iter() {
        let passed = passed[block.index()];
        for &inst in &data.insts {
            let known = &mut out[inst];
            let read = known.executions - known.most;
            *known = match passed.is_exact() && !function.insts[inst].op.has_effect() {
                true => Unread {
                    executions: passed.most,
                    least: known.least,
                    most: passed.most.saturating_sub(read),
                },
                false => Unread::default(),
            };
        }
    }
    out
}

/// Goes over a path backwards; `each` gets its instructions without effects, and whether something reads
/// their results.
fn go_back(
    function: &Function,
    blocks: &[Block],
    edges: &[usize],
    mut needed: EntitySet<Value>,
    each: &mut dyn FnMut(Inst, bool),
) {
    for (at, &block) in blocks.iter().enumerate().rev() {
        if let (Some(&edge), Some(&next)) = (edges.get(at), blocks.get(at + 1)) {
            pass(function, block, edge, next, &mut needed);
        }
        let data = &function.blocks[block];
        for &value in data.terminator.reads() {
            needed.insert(value);
        }
        for &inst in data.insts.iter().rev() {
            let instruction = &function.insts[inst];
            let mut read = false;
            for result in &instruction.results {
                read |= needed.remove(result);
            }
            let stays = instruction.op.has_effect();
            if !stays {
                each(inst, read);
            }
            if read || stays {
                for value in instruction.operands() {
                    needed.insert(value);
                }
            }
        }
    }
}

/// Passes needs backwards over an edge: the argument of a needed parameter is needed.
fn pass(function: &Function, from: Block, edge: usize, to: Block, needed: &mut EntitySet<Value>) {
    let edges = function.blocks[from].terminator.edges();
    let Some(edge) = edges.get(edge) else { return };
    let params = &function.blocks[to].params;
    // All at once: an argument may be another parameter of the block.
    let passed: Vec<Value> = params
        .iter()
        .zip(&edge.args)
        .filter(|(param, _)| needed.contains(param))
        .map(|(_, &arg)| arg)
        .collect();
    for param in params {
        needed.remove(param);
    }
    for value in passed {
        needed.insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::PathGraph;
    use super::super::bounds::CountBounds;
    use super::*;
    use ir::ValueDef;

    const LOOP: &str = r#"
function "f" device text -> i32 {
  parameter "n" "int" (v0)
  parameter "c" "bool" (v1)

b0(v0: i32, v1: bool):
  v2: i32 = mul v0, v0
  v3: i32 = add v2, v0
  v4: i32 = const 0
  branch v1, b1, b4

b1:
  jump b2(v4, v4)

b2(v5: i32, v6: i32):
  v7: i32 = add v5, v3
  v8: i32 = mul v6, v7
  v9: bool = icmp.lt_s v7, v0
  branch v9, b3, b4 as loop

b3:
  jump b2(v7, v8)

b4:
  return v0
}
"#;

    /// The unread product waits for the next iteration, as far as one path tells; the sum is read by the
    /// branch of the loop, and in the way past the loop neither it nor its product is.
    #[test]
    fn what_one_way_reads_another_does_not() {
        let function = ir::text::parse(LOOP).unwrap_or_else(|error| panic!("{error}"));
        let numbers = PathNumbers::new(PathGraph::of(&function)).expect("it is small");
        let mut profile = PathProfile::default();
        // 30 calls go past the loop, 10 take two iterations.
        for number in 0..numbers.count() {
            let path = numbers.path(number).expect("a number");
            let count = match (path.nodes.as_slice(), path.ending) {
                ([0, 4], _) => 30,
                ([0, 1, 2, 3], _) => 10,
                ([2, 4], _) => 10,
                _ => continue,
            };
            profile.counts.insert(number, count);
        }
        assert_eq!(profile.total(), 50);
        let found = unread(&function, &numbers, &profile);
        let of = |value: u32| {
            let inst = function.values[Value(value)].def;
            let ValueDef::Result(inst, _) = inst else {
                panic!("v{value} is a parameter");
            };
            (found[inst].executions, found[inst].least, found[inst].most)
        };
        assert_eq!(of(2), (40, 30, 30));
        assert_eq!(of(3), (40, 30, 30));
        assert_eq!(of(7), (20, 0, 0));
        // Nothing reads the product behind the last iteration; behind the first one, the next path decides.
        assert_eq!(of(8), (20, 10, 20));
        assert!(found.iter().all(|(_, counts)| counts.least <= counts.most));
        // Counts of edges alone give bounds that hold these.
        let exact = |of: &Vec<u64>| of.iter().map(|&n| CountBounds::exact(n)).collect();
        let counts = EdgeCounts {
            entries: CountBounds::exact(profile.entries(&numbers)),
            edges: profile.edges(&numbers).iter().map(exact).collect(),
        };
        let bounded = unread_at_least(&function, &numbers, &counts);
        for (inst, counts) in found.iter() {
            let wide = bounded[inst];
            assert_eq!(wide.executions, counts.executions);
            assert!(wide.least <= counts.least && counts.most <= wide.most);
        }
        let ValueDef::Result(sum, _) = function.values[Value(3)].def else {
            panic!("v3 is a parameter");
        };
        // The paths that enter the loop and those that leave it can't be told apart, so no path into it is
        // certain.
        assert_eq!((bounded[sum].least, bounded[sum].most), (30, 40));
    }
}
