//! Versioning on zero: where all lanes of a warp hold zero in a value, a copy of the following code, compiled
//! with that zero, runs in place of the original.
//!
//! ```text
//! r1 = ...; r0 = work1(); r2 = r0 * r1; r3 = r2 * work2()
//!   ->  r1 = ...; if (all lanes: r1 == 0) { r3 = 0 } else { r0 = work1(); r2 = r0 * r1; r3 = r2 * work2() }
//! ```
//!
//! `evaluate` finds the saving of a version without changing the function: the place of the check (`place`),
//! the region that it dominates, the values that become constant (`fold`), those that become useless
//! (`live`), the smaller region that holds all of it (`refine`), and the cost model (`accept`). Each step is
//! linear in the region. `greedy` is the whole pass, which asks `bound` first, because most candidates save
//! too little to be evaluated.
//!
//! Source: Stephenson and Rangan, *AZP: Automatic Specialization for Zero Values in Gaming Applications*, section 5.

pub mod accept;
pub mod bound;
pub mod fold;
pub mod frequency;
pub mod greedy;
pub mod live;
pub mod place;
pub mod ptx;
pub mod refine;
pub mod source;
#[cfg(test)]
mod tests;
pub mod transform;

use accept::Model;
use facts::cost::{Machine, Work, work};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::{Barrier, Block, EntitySet, EntityVec, Function, Inst, Op, Value};
use live::Region;
use refine::{Join, Refined};
use smallvec::SmallVec;

/// The rule for zeros: whether `0 * x` is 0 for every floating-point x, and `x + 0` is x.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Zeros {
    /// The rule of IEEE 754: an infinity or a NaN gives NaN, and zeros have signs.
    #[default]
    Ieee,
    /// The source permits it: HLSL without `precise`, a fast-math flag.
    Absorb,
}

/// The reason why a zero saves nothing where the language gives no permission, and the way to give it.
pub(crate) const IEEE: &str = "in IEEE arithmetic 0 * x is not 0 for infinite x and NaN, so that nothing is saved: set `fast_math = true` for code that is compiled so, or apply the action of this name with `-fast`, which takes it as permitted here";

/// Estimated cycles of a warp, from a table of the machine.
pub trait Costs {
    /// Returns the cost of one instruction.
    fn inst(&self, function: &Function, inst: Inst) -> f64;
    /// Returns the cost of a literal that must be in a register.
    fn literal(&self) -> f64;
    /// Returns the cost of the comparisons, the vote and the branch for `members` values.
    fn check(&self, members: usize) -> f64;
    /// The same without the vote, which uniform values need not.
    fn uniform_check(&self, members: usize) -> f64 {
        self.check(members)
    }
    /// Issue slots of one instruction.
    fn slots(&self, _function: &Function, _inst: Inst) -> f64 {
        0.0
    }
    /// Returns the cost of the overlap that ends where a region of so many slots stands behind a check.
    fn lost_overlap(&self, _slots: f64) -> f64 {
        0.0
    }
}

impl Costs for Machine {
    fn inst(&self, function: &Function, inst: Inst) -> f64 {
        self.cycles(function, &function.insts[inst])
    }
    fn literal(&self) -> f64 {
        self.simple
    }
    fn check(&self, members: usize) -> f64 {
        // One comparison each, the vote, the branch.
        let of = |work| self.charge(work).cycles;
        members as f64 * self.simple + of(Work::Vote) + of(Work::Branch)
    }
    fn uniform_check(&self, members: usize) -> f64 {
        members as f64 * self.simple + self.charge(Work::Branch).cycles
    }
    fn slots(&self, function: &Function, inst: Inst) -> f64 {
        self.charge(work(function, &function.insts[inst])).slots
    }
    fn lost_overlap(&self, slots: f64) -> f64 {
        Machine::lost_overlap(self, slots)
    }
}

/// The state that all candidates of a function share.
#[allow(missing_debug_implementations)]
pub struct Context<'a> {
    pub function: &'a Function,
    pub costs: &'a dyn Costs,
    /// Executions of a block by a warp for one invocation of the item.
    pub weights: &'a EntityVec<Block, f64>,
    pub zeros: Zeros,
    flow: ControlFlow,
    dominators: DominatorTree,
    post_dominators: DominatorTree,
    home: EntityVec<Value, Option<Block>>,
    needed: EntitySet<Value>,
    /// `needed`, and the operands of loads without a use: they still fault on addresses that mean nothing.
    held: EntitySet<Value>,
    users: EntityVec<Value, SmallVec<[refine::User; 2]>>,
}

/// The reason why a candidate cannot be versioned at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Illegal {
    #[error("the value is no result of an instruction in this function")]
    NoDefinition,
    #[error("the parts of the vector are not all defined on the way to one place")]
    Apart,
    #[error("the region holds a barrier: its copies would stand on two paths")]
    Barrier,
    #[error("the region takes a derivative: lanes outside of the vote would see the other copy")]
    Derivative,
    #[error(
        "the region exchanges values between lanes, and without a branch that a zero decides other lanes could meet there"
    )]
    Reconvergence,
    #[error("the region ends before anything uses the value")]
    Useless,
}

/// A version that has not been made.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    pub model: Model,
    /// The block of the check, its instructions before it, and the region.
    pub refined: Refined,
    /// Instructions of the region that the copy does without, in program order.
    pub dead: Vec<Inst>,
    /// The constants and copies of the region.
    pub folded: fold::Folded,
    pub live: live::Live,
}

impl<'a> Context<'a> {
    #[must_use]
    pub fn new(
        function: &'a Function,
        costs: &'a dyn Costs,
        weights: &'a EntityVec<Block, f64>,
        zeros: Zeros,
    ) -> Self {
        let flow = ControlFlow::new(function);
        Context {
            function,
            costs,
            weights,
            zeros,
            dominators: DominatorTree::dominators(&flow),
            post_dominators: DominatorTree::post_dominators(&flow),
            home: function.definition_blocks(),
            needed: live::needed(function),
            held: live::held(function),
            users: refine::users(function),
            flow,
        }
    }

    /// Estimates a version on `members` that are zero in all lanes with `probability`.
    ///
    /// # Errors
    /// When no version on them would be right.
    pub fn evaluate(&self, members: &[Value], probability: f64) -> Result<Estimate, Illegal> {
        let function = self.function;
        let block = self.lowest(members)?;
        let place = place::place(function, block, members).ok_or(Illegal::NoDefinition)?;
        let blocks: Vec<Block> = self
            .flow
            .order
            .iter()
            .copied()
            .filter(|&it| self.dominators.dominates(block, it))
            .collect();
        let region = Region {
            blocks: &blocks,
            after: &place.after,
        };
        let folded = fold::fold(function, members, &blocks, &place.after, self.zeros);
        let live = live::live(function, region, &folded, &self.held);
        let refined =
            refine::refine(self, place, &blocks, &folded, &live).ok_or(Illegal::Useless)?;
        let (folded, live) = self.sunk(members, &refined, &blocks, folded, live);
        let mut model = Model {
            probability,
            blocks: refined.blocks.len(),
            check: self.costs.check(members.len()) * self.weights[refined.blocks[0]],
            ..Model::default()
        };
        for value in refined.escaping(self) {
            let known = folded.known(value);
            let moved = known.is_some_and(|known| known != fold::Known::Varies);
            if moved && self.needed.contains(&value) {
                model.special += self.costs.literal() * self.weights[refined.blocks[0]];
            }
        }
        let exchanges = |&inst: &Inst| matches!(function.insts[inst].op, Op::Warp(_));
        let decided = |&block: &Block| {
            let terminator = &function.blocks[block].terminator;
            let remaining = fold::taken(terminator, |value| folded.constant(function, value));
            folded.reached.contains(&block) && remaining.len() < terminator.edges().len()
        };
        // Where lanes meet again follows from the edges that there are.
        if refined.blocks.iter().any(decided)
            && (refined.blocks.iter())
                .any(|&block| refined.insts(function, block).iter().any(exchanges))
        {
            return Err(Illegal::Reconvergence);
        }
        let mut dead = Vec::new();
        let mut slots = 0.0;
        for &block in &refined.blocks {
            let reached = folded.reached.contains(&block);
            for &inst in refined.insts(function, block) {
                let data = &function.insts[inst];
                legal(&data.op)?;
                if !self.executes(inst) {
                    continue;
                }
                let cycles = self.costs.inst(function, inst) * self.weights[block];
                // Blocks that the zero keeps from being reached are not executed in the original either.
                if reached {
                    model.region += cycles;
                    slots += self.costs.slots(function, inst) * self.weights[block];
                }
                if reached && live.kept.contains(&inst) {
                    model.special += cycles;
                } else if !(reached && live.copies.contains(&inst)) {
                    dead.push(inst);
                    model.memory_killed += usize::from(
                        reached && (data.op.reads_memory() || matches!(data.op, Op::Store(_))),
                    );
                }
            }
        }
        let times = self.weights[refined.blocks[0]];
        model.end_overlap(self.costs, slots, times, self.weights[function.entry()]);
        Ok(Estimate {
            model,
            refined,
            dead,
            folded,
            live,
        })
    }

    /// Returns the knowledge that remains when the check has sunk: a copy of a value computed on the way to
    /// it is of no use behind it.
    fn sunk(
        &self,
        members: &[Value],
        refined: &Refined,
        blocks: &[Block],
        folded: fold::Folded,
        live: live::Live,
    ) -> (fold::Folded, live::Live) {
        let function = self.function;
        let head = refined.blocks[0];
        if blocks.first() == Some(&head) {
            return (folded, live);
        }
        let inside: EntitySet<Block> = refined.blocks.iter().copied().collect();
        let foreign = folded.known.iter().any(|(value, known)| {
            let Some(fold::Known::Copy(source)) = *known else {
                return false;
            };
            // A value from above the head may be used inside as well.
            self.home[value]
                .is_some_and(|home| inside.contains(&home) || self.dominators.dominates(home, head))
                && self.home[source].is_some_and(|home| {
                    !inside.contains(&home) && !self.dominators.dominates(home, head)
                })
        });
        if !foreign {
            return (folded, live);
        }
        let below: Vec<Block> = blocks
            .iter()
            .copied()
            .filter(|&block| self.dominators.dominates(head, block))
            .collect();
        let region = Region {
            blocks: &below,
            after: &function.blocks[head].insts,
        };
        let folded = fold::fold(function, members, &below, region.after, self.zeros);
        let live = live::live(function, region, &folded, &self.held);
        (folded, live)
    }

    /// Returns true if the unchanged function spends an instruction on it: it is needed, and no operand of others.
    fn executes(&self, inst: Inst) -> bool {
        let data = &self.function.insts[inst];
        data.op.has_effect()
            || (!place::immediate(&data.op)
                && data
                    .results
                    .iter()
                    .any(|result| self.needed.contains(result)))
    }

    /// The block where the last of the members is defined.
    fn lowest(&self, members: &[Value]) -> Result<Block, Illegal> {
        let mut lowest: Option<Block> = None;
        for &member in members {
            let home = self.home[member].ok_or(Illegal::NoDefinition)?;
            lowest = Some(match lowest {
                None => home,
                Some(so_far) if self.dominators.dominates(so_far, home) => home,
                Some(so_far) if self.dominators.dominates(home, so_far) => so_far,
                Some(_) => return Err(Illegal::Apart),
            });
        }
        lowest.ok_or(Illegal::NoDefinition)
    }
}

fn legal(op: &Op) -> Result<(), Illegal> {
    match op {
        Op::Barrier(Barrier::Warp | Barrier::MicroSimd) => Ok(()),
        Op::Barrier(_) => Err(Illegal::Barrier),
        Op::Derivative(_) => Err(Illegal::Derivative),
        Op::Texture(access) if access.op.implicit_derivative() => Err(Illegal::Derivative),
        _ => Ok(()),
    }
}

impl Refined {
    /// Instructions of the region in a block of it.
    #[must_use]
    pub fn insts<'f>(&'f self, function: &'f Function, block: Block) -> &'f [Inst] {
        if self.blocks.first() == Some(&block) {
            let end = match self.join {
                Join::Inside(end) => end,
                _ => self.after.len(),
            };
            &self.after[..end]
        } else {
            &function.blocks[block].insts
        }
    }
}
