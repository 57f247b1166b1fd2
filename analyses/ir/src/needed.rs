//! Values that others depend on: those reached backwards from effects, branches and results, through operands
//! and through the arguments of edges.
//!
//! ```text
//! store p, v2     v2 = add v1, 1     v1 = parameter of a block that b0 gives v0     needed: p, v2, v1, v0
//! ```
//!
//! Stops because a value is visited once; linear in operands and edges.

use crate::entity::{EntitySet, EntityVec, Inst, Value};
use crate::function::{Function, ValueDef};
use smallvec::SmallVec;

/// The arguments that reach each block parameter, in the order of the blocks.
pub type Arguments = EntityVec<Value, SmallVec<[Value; 2]>>;

#[must_use]
pub fn arguments(function: &Function) -> Arguments {
    let mut out = Arguments::with_len(SmallVec::new(), function.values.len());
    for &block in &function.layout {
        for edge in function.blocks[block].terminator.edges() {
            let params = &function.blocks[edge.block].params;
            for (&param, &arg) in params.iter().zip(&edge.args) {
                out[param].push(arg);
            }
        }
    }
    out
}

/// The values that are needed for themselves: by branches, by results, and by the instructions that `executes` tells.
pub fn roots(
    function: &Function,
    executes: impl Fn(Inst) -> bool,
    operands: &impl Fn(Inst, &mut Vec<Value>),
) -> Vec<Value> {
    let mut out = Vec::new();
    for &block in &function.layout {
        let data = &function.blocks[block];
        for &inst in data.insts.iter().filter(|&&inst| executes(inst)) {
            operands(inst, &mut out);
        }
        out.extend(data.terminator.reads());
    }
    out
}

/// These values and all that they are computed from.
#[must_use]
pub fn needed(
    function: &Function,
    mut roots: Vec<Value>,
    operands: &impl Fn(Inst, &mut Vec<Value>),
) -> EntitySet<Value> {
    let arguments = arguments(function);
    let mut seen = EntitySet::with_len(function.values.len());
    while let Some(value) = roots.pop() {
        if !seen.insert(value) {
            continue;
        }
        match function.values[value].def {
            ValueDef::Result(inst, _) => operands(inst, &mut roots),
            ValueDef::Param(..) => roots.extend(&arguments[value]),
        }
    }
    seen
}

/// The operands of an instruction and its guard.
pub fn operands(function: &Function) -> impl Fn(Inst, &mut Vec<Value>) {
    |inst, out| out.extend(function.insts[inst].operands())
}

/// Returns how often each value is read.
#[must_use]
pub fn uses(function: &Function) -> EntityVec<Value, u32> {
    let mut out: EntityVec<Value, u32> = EntityVec::with_len(0, function.values.len());
    for &block in &function.layout {
        let data = &function.blocks[block];
        let insts = data.insts.iter();
        let read = insts.flat_map(|&inst| function.insts[inst].operands());
        read.chain(data.terminator.operands())
            .for_each(|value| out[value] += 1);
    }
    out
}
