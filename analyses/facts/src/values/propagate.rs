//! Invariance of all values estimated from profiled loads only: the share of a result is the product of the shares of
//! its operands, as if they were independent.
//!
//! ```text
//! a: load .8   b: load .5      c = a + b -> .40      d = c -> .40      e = d * (load .9) -> .36
//! ```
//!
//! Stops after `ROUNDS` passes over the blocks in reverse post-order: in cycles products only fall. The paper leaves
//! the merge open; here a block parameter takes the mean of what its edges bring, weighted by their executions where
//! these are known, else the least, and what is not known on one edge is not known. An induction variable is 0.
//! The estimate is low: a mask or a comparison can be invariant though its operands vary.
//!
//! Source: Calder, Feller, Eustace, *Value Profiling*, MICRO-30, 1997, section 6; notes, section 7.

use ir::{BinaryOp, Block, EntityVec, Function, FunctionKind, Op, Value, ValueDef};
use rustc_hash::FxHashMap;

const ROUNDS: usize = 4;

/// Executions of an edge: from a block, by the position of the edge in its terminator.
pub type EdgeCounts = FxHashMap<(Block, usize), u64>;

/// Inv-1 of every value, 0 to 1; `None` where an operand is not known. `loads` holds the profiled ones.
#[must_use]
pub fn estimate(
    function: &Function,
    loads: &FxHashMap<Value, f64>,
    edges: &EdgeCounts,
) -> EntityVec<Value, Option<f64>> {
    let mut known = EntityVec::with_len(None, function.values.len());
    let merges = Merges::new(function, edges);
    if function.kind == FunctionKind::Kernel
        && let Some(&entry) = function.layout.first()
    {
        // A launch passes one value to all its threads.
        for &parameter in &function.blocks[entry].params {
            known[parameter] = Some(1.0);
        }
    }
    for round in 0..ROUNDS {
        let mut changed = false;
        for (position, &block) in function.layout.iter().enumerate() {
            if position > 0 {
                for (index, &parameter) in function.blocks[block].params.iter().enumerate() {
                    let merged = merges.share(&known, (block, index, parameter), round == 0);
                    changed |= known[parameter] != merged;
                    known[parameter] = merged;
                }
            }
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                for &result in &data.results {
                    let share = match &data.op {
                        Op::Const(_) | Op::Parameter(_) | Op::SymbolAddress(_) => Some(1.0),
                        Op::Load(_) => loads.get(&result).copied(),
                        op if op.reads_memory() || op.has_effect() => loads.get(&result).copied(),
                        Op::Special(_) | Op::StageInput(_) | Op::Undef => None,
                        _ => product(&known, &data.args),
                    };
                    changed |= known[result] != share;
                    known[result] = share;
                }
            }
        }
        if !changed {
            break;
        }
    }
    known
}

/// Of distinct operands: a value is not independent of itself.
fn product(known: &EntityVec<Value, Option<f64>>, args: &[Value]) -> Option<f64> {
    let mut share = 1.0;
    for (position, &arg) in args.iter().enumerate() {
        if !args[..position].contains(&arg) {
            share *= known[arg]?;
        }
    }
    Some(share)
}

/// What a merge needs besides the shares: where edges come from, how often they are taken, the order of the blocks.
struct Merges<'a> {
    function: &'a Function,
    edges: &'a EdgeCounts,
    incoming: FxHashMap<Block, Vec<(Block, usize)>>,
    order: FxHashMap<Block, usize>,
}

impl<'a> Merges<'a> {
    fn new(function: &'a Function, edges: &'a EdgeCounts) -> Self {
        let mut incoming: FxHashMap<Block, Vec<(Block, usize)>> = FxHashMap::default();
        for &block in &function.layout {
            for (position, edge) in function.blocks[block].terminator.edges().iter().enumerate() {
                incoming
                    .entry(edge.block)
                    .or_default()
                    .push((block, position));
            }
        }
        let order = function.layout.iter().copied().zip(0..).collect();
        Merges {
            function,
            edges,
            incoming,
            order,
        }
    }

    /// The share of parameter number `index` of `block`.
    fn share(
        &self,
        known: &EntityVec<Value, Option<f64>>,
        (block, index, parameter): (Block, usize, Value),
        first_pass: bool,
    ) -> Option<f64> {
        let (mut sum, mut weight, mut least) = (0.0, 0u64, 1.0f64);
        let mut weighted = true;
        for &(from, position) in self.incoming.get(&block)? {
            let terminator = &self.function.blocks[from].terminator;
            let arg = *terminator.edges().get(position)?.args.get(index)?;
            if arg == parameter {
                continue;
            }
            if steps(self.function, arg, parameter) {
                return Some(0.0);
            }
            let share = match known[arg] {
                Some(share) => share,
                // The edge comes from a block that the first pass has not reached.
                None if first_pass && self.order.get(&from) >= self.order.get(&block) => continue,
                None => return None,
            };
            least = least.min(share);
            match self.edges.get(&(from, position)) {
                Some(&count) => {
                    sum += share * count as f64;
                    weight += count;
                }
                None => weighted = false,
            }
        }
        if weighted && weight > 0 {
            Some(sum / weight as f64)
        } else {
            Some(least)
        }
    }
}

/// `value = parameter + constant`: an induction variable's next value.
fn steps(function: &Function, value: Value, parameter: Value) -> bool {
    let ValueDef::Result(inst, _) = function.values[value].def else {
        return false;
    };
    let data = &function.insts[inst];
    let adds = matches!(
        data.op,
        Op::Binary(BinaryOp::Add | BinaryOp::Sub, _) | Op::PtrAdd
    );
    let constant = |one: Value| {
        function
            .defining(one)
            .is_some_and(|data| matches!(data.op, Op::Const(_)))
    };
    adds && data.args.contains(&parameter)
        && data
            .args
            .iter()
            .all(|&one| one == parameter || constant(one))
}
