//! Copies that count the ways that lanes take: a register a lane holds the number of the path under way, which branches change.
//!
//! ```text
//! if (a) x; else y; if (b) z;     ->     if (b0(a, &path)) x; else y; if (b1(b, &path)) z;      counters[path] grows at `b1`
//! ```
//!
//! Between two branches control goes one way. So all that a side of a branch leads to, up to the next branch (additions, the end
//! of a path at the edge of a loop, the end of the function) is done where the branch is decided, and no other place of the
//! text changes: `break`, `continue`, `goto`, `return` and fall-through need nothing. Additions are those of
//! `facts::paths::placement`, on the complement of a spanning tree whose edges are taken most, by the depth of loops.
//!
//! Refused with a reason: branches that have no place of their own in the text (inlined callees, macros, templates), ways
//! without an end, and more paths than counters. A path whose function is left by a fault, or runs without an end behind its last
//! branch, is counted where the interpreter would not count it.
//!
//! Linear in the edges.

pub mod ptx;
pub mod source;

use facts::paths::placement::Placement;
use facts::paths::{PathGraph, PathNumbers, PathRefusal, certain_edge};
use ir::cfg::ControlFlow;
use ir::entity::Entity;
use ir::loops::LoopForest;
use ir::{Block, Function};
use smol_str::SmolStr;

/// Paths of a function that have counters.
pub const MOST_COUNTERS: u64 = 1 << 16;

/// The reason why the paths of a function are not counted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    Numbers(#[from] PathRefusal),
    #[error("it has {paths} paths, more than the {MOST_COUNTERS} that have counters")]
    Counters { paths: u64 },
    #[error("a way through it has no end")]
    Endless,
    #[error("branches of `{callee}`, which it inlines, would be counted for all callers")]
    Inlined { callee: SmolStr },
    #[error(
        "a branch on line {line} of the function has no condition in the text: a macro or a declaration spells it, or a lambda"
    )]
    NoPlace { line: u32 },
    #[error("one condition on line {line} of the function is several branches")]
    Several { line: u32 },
    #[error("it has several instances")]
    Template,
    #[error("it runs on the host")]
    Host,
    #[error("it has no body that can be changed")]
    NoBody,
}

/// A function that is left out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{function}` is not counted: {refusal}")]
pub struct Left {
    pub function: String,
    pub refusal: Refusal,
}

/// The register behind an effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Register {
    /// The sum of its contents and this number.
    Add(u64),
    Set(u64),
    /// The function is left.
    Gone,
}

/// The end of a path, and the paths behind it that have no branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Is added to the register for the number of the path.
    pub add: u64,
    /// Numbers of further paths.
    pub further: Vec<u64>,
}

/// The effect of the way from a side of a branch to the next branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    pub ended: Option<Ended>,
    pub register: Register,
}

impl Effect {
    /// Returns true if nothing has to be done.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.ended.is_none() && self.register == Register::Add(0)
    }
}

/// The effects of a function's branches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathPlan {
    /// Counters: one for each path.
    pub counters: u64,
    /// At the entry, where the register holds 0.
    pub entry: Effect,
    /// The effects on each edge of blocks with several ways on.
    pub branches: Vec<(Block, Vec<Effect>)>,
}

impl PathPlan {
    /// The plan of a function.
    ///
    /// # Errors
    /// There are too many paths, or one without an end.
    pub fn new(function: &Function) -> Result<PathPlan, Refusal> {
        let numbers = PathNumbers::new(PathGraph::of(function))?;
        if numbers.count() > MOST_COUNTERS {
            return Err(Refusal::Counters {
                paths: numbers.count(),
            });
        }
        let flow = ControlFlow::new(function);
        let forest = LoopForest::new(&flow);
        let depth = |node: usize| {
            let inner = forest.of(Block::new(node));
            inner.map_or(0, |inner| forest.loops[inner].depth.min(15))
        };
        let weights = |node: usize, edge: Option<usize>| match edge {
            Some(edge) => {
                let to = numbers.graph().successors[node][edge];
                8u64.pow(depth(node).min(depth(to)))
            }
            None => 8u64.pow(depth(node)),
        };
        let placed = Placement::new(&numbers, &weights);
        let ways = Ways {
            numbers: &numbers,
            placed: &placed,
            certain: function
                .blocks
                .keys()
                .map(|block| certain_edge(function, block))
                .collect(),
        };
        let entry = ways.from(numbers.graph().entry, placed.entry, None)?;
        let mut branches = Vec::new();
        for (node, targets) in numbers.graph().successors.iter().enumerate() {
            if targets.len() < 2 || ways.certain[node].is_some() || !numbers.reaches(node) {
                continue;
            }
            let of = (0..targets.len()).map(|edge| ways.over(node, edge));
            branches.push((
                Block::new(node),
                of.collect::<Result<Vec<Effect>, Refusal>>()?,
            ));
        }
        Ok(PathPlan {
            counters: numbers.count(),
            entry,
            branches,
        })
    }
}

struct Ways<'a> {
    numbers: &'a PathNumbers,
    placed: &'a Placement,
    /// The edge of each node whose branch always goes one way.
    certain: Vec<Option<usize>>,
}

impl Ways<'_> {
    fn over(&self, node: usize, edge: usize) -> Result<Effect, Refusal> {
        let (sum, ended, to) = self.step(node, edge, 0, None);
        self.from(to, sum, ended)
    }

    /// Takes an edge with a sum that is added to the register, or behind the end of a path is it.
    fn step(
        &self,
        node: usize,
        edge: usize,
        sum: u64,
        ended: Option<Ended>,
    ) -> (u64, Option<Ended>, usize) {
        let graph = self.numbers.graph();
        let to = graph.successors[node][edge];
        let sum = sum.wrapping_add(self.placed.edges[node][edge]);
        match graph.ends[node][edge] {
            true => {
                let begun = self.placed.begins.get(&to).copied().unwrap_or(0);
                (begun, Some(count(ended, sum)), to)
            }
            false => (sum, ended, to),
        }
    }

    /// Goes on from a node until the next branch or the end.
    fn from(&self, node: usize, sum: u64, ended: Option<Ended>) -> Result<Effect, Refusal> {
        let graph = self.numbers.graph();
        let (mut node, mut sum, mut ended) = (node, sum, ended);
        for _ in 0..=graph.successors.len() {
            let ways = graph.successors[node].len();
            match (ways, self.certain[node]) {
                (0, _) => {
                    let leaves = self.placed.leaves.get(&node).copied().unwrap_or(0);
                    return Ok(Effect {
                        ended: Some(count(ended, sum.wrapping_add(leaves))),
                        register: Register::Gone,
                    });
                }
                (_, Some(edge)) => (sum, ended, node) = self.step(node, edge, sum, ended),
                (1, None) => (sum, ended, node) = self.step(node, 0, sum, ended),
                _ => {
                    let register = match ended {
                        Some(_) => Register::Set(sum),
                        None => Register::Add(sum),
                    };
                    return Ok(Effect { ended, register });
                }
            }
        }
        Err(Refusal::Endless)
    }
}

fn count(ended: Option<Ended>, sum: u64) -> Ended {
    match ended {
        Some(mut ended) => {
            ended.further.push(sum);
            ended
        }
        None => Ended {
            add: sum,
            further: Vec::new(),
        },
    }
}
