//! The values that are one variable with a value: the block parameters that it is passed to, as far as no two of
//! them live at once.
//!
//! ```text
//! b1: v = e; jump b3(v) | b2: jump b3(0) | b3(x): ... if (b) use(x)      v and x
//! ```

use super::region::Region;
use ir::cfg::ControlFlow;
use ir::entity::{Entity, EntitySet};
use ir::liveness::{Liveness, Reads, Values};
use ir::{Block, Function, Inst, Terminator, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) struct All<'f>(pub(super) &'f Function);

impl Reads for All<'_> {
    fn function(&self) -> &Function {
        self.0
    }
}

/// The values that live at each block.
pub(super) fn liveness(function: &Function, flow: &ControlFlow) -> Liveness<Value> {
    Liveness::of(&Values {
        reads: &All(function),
        flow,
    })
}

/// The parameters to which edges of jumps pass each value.
pub(super) type Passed = FxHashMap<Value, Vec<(Block, Value)>>;

pub(super) fn passed(function: &Function) -> Passed {
    let mut out = Passed::default();
    for &block in &function.layout {
        let Terminator::Jump(edge) = &function.blocks[block].terminator else {
            continue;
        };
        let params = &function.blocks[edge.block].params;
        for (&param, &arg) in params.iter().zip(&edge.args) {
            out.entry(arg).or_default().push((edge.block, param));
        }
    }
    out
}

/// The values that live right behind an instruction.
pub(super) fn behind(
    function: &Function,
    live: &Liveness<Value>,
    block: Block,
    inst: Inst,
) -> EntitySet<Value> {
    let mut out = live.ends[block.index()].clone();
    let data = &function.blocks[block];
    data.terminator.operands().for_each(|value| {
        out.insert(value);
    });
    for &later in data.insts.iter().rev().take_while(|&&it| it != inst) {
        let later = &function.insts[later];
        later.results.iter().for_each(|result| {
            out.remove(result);
        });
        later.operands().for_each(|value| {
            out.insert(value);
        });
    }
    out
}

/// Values of one variable that are looked for.
const MOST: usize = 64;

/// The variable of the result of `inst`, which stands in `home`.
pub(super) fn web(
    function: &Function,
    region: &Region,
    live: &Liveness<Value>,
    passed: &Passed,
    (home, inst, value): (Block, Inst, Value),
) -> FxHashSet<Value> {
    let at_statement = behind(function, live, home, inst);
    let mut out: FxHashSet<Value> = FxHashSet::default();
    out.insert(value);
    let mut open = vec![value];
    let ty = function.ty(value);
    while let Some(member) = open.pop() {
        for &(block, param) in passed.get(&member).into_iter().flatten() {
            let plain = region
                .nodes
                .get(&block)
                .is_some_and(|&node| region.is_plain(node));
            if out.contains(&param) || !plain || block == region.first || out.len() >= MOST {
                continue;
            }
            let apart = |other: &Value| {
                let together = match function.values[*other].def {
                    ValueDef::Param(of, _) => {
                        of == block || live.starts[of.index()].contains(&param)
                    }
                    ValueDef::Result(..) => at_statement.contains(&param),
                };
                !together && !live.starts[block.index()].contains(other)
            };
            if function.ty(param) == ty && out.iter().all(apart) {
                out.insert(param);
                open.push(param);
            }
        }
    }
    out
}
