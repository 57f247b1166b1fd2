//! The address spaces of accesses through generic pointers, where all that a pointer may hold lies in one.
//!
//! ```text
//! view.data = p;  *view.data      p: a kernel's parameter, so the load is one of global memory
//! ```
//!
//! A pointer has the space of the pointers that it is cast from, offset from, chosen among or merged from;
//! one from constant memory leads to global memory; one that is loaded from elsewhere, made from a number or
//! given by a caller stays generic. Optimistic: a value has no space until something gives it one, and two
//! that differ make it generic, so that each value changes twice at most. Types stay as they are.
//!
//! Compare LLVM's `InferAddressSpaces`.

use crate::entity::{EntityVec, Value};
use crate::function::Function;
use crate::inst::{Convert, InstData, Op};
use crate::types::{Space, Type};

/// Gives accesses of global, shared and private memory their space.
pub(super) fn infer(function: &mut Function) {
    let is_generic = |value: Value| function.values[value].ty == Type::Ptr(Space::Generic);
    let wanted = function
        .insts
        .values()
        .any(|data| is_generic_access(data) && data.args.first().copied().is_some_and(is_generic));
    if !wanted {
        return;
    }
    let spaces = spaces(function);
    for inst in function.insts.keys() {
        let data = &mut function.insts[inst];
        if !is_generic_access(data) {
            continue;
        }
        let found = data.args.first().and_then(|&address| spaces[address]);
        if let (
            Some(space @ (Space::Global | Space::Shared | Space::Local)),
            Op::Load(access) | Op::Store(access) | Op::Atomic(_, access),
        ) = (found, &mut data.op)
        {
            access.space = space;
        }
    }
}

fn is_generic_access(data: &InstData) -> bool {
    matches!(
        &data.op,
        Op::Load(access) | Op::Store(access) | Op::Atomic(_, access)
            if access.space == Space::Generic
    )
}

/// Returns the space of each pointer; `None` where no value reaches it.
fn spaces(function: &Function) -> EntityVec<Value, Option<Space>> {
    let mut out: EntityVec<Value, Option<Space>> = EntityVec::new();
    for data in function.values.values() {
        out.push(match data.ty {
            Type::Ptr(Space::Generic) => None,
            Type::Ptr(space) => Some(space),
            _ => Some(Space::Generic),
        });
    }
    for parameter in &function.blocks[function.entry()].params {
        out[*parameter] = out[*parameter].or(Some(Space::Generic));
    }
    loop {
        let mut changed = false;
        let mut meet =
            |out: &mut EntityVec<Value, Option<Space>>, to: Value, from: Option<Space>| {
                if function.values[to].ty != Type::Ptr(Space::Generic) {
                    return;
                }
                let met = match (out[to], from) {
                    (known, None) => known,
                    (None, from) => from,
                    (Some(known), Some(from)) if known == from => Some(known),
                    _ => Some(Space::Generic),
                };
                changed |= met != out[to];
                out[to] = met;
            };
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let data = &function.insts[inst];
                let sources = match data.op {
                    Op::PtrAdd | Op::Convert(Convert::SpaceCast) => data.args.get(..1),
                    Op::Select => data.args.get(1..3),
                    _ => None,
                };
                // What the host writes into constant memory is no address of a workgroup or of a lane.
                let given = match &data.op {
                    Op::Load(access) if access.space == Space::Constant => Space::Global,
                    _ => Space::Generic,
                };
                for &result in &data.results {
                    match sources {
                        Some(sources) => {
                            for &source in sources {
                                let from = out[source];
                                meet(&mut out, result, from);
                            }
                        }
                        None => meet(&mut out, result, Some(given)),
                    }
                }
            }
            for edge in function.blocks[block].terminator.edges() {
                let params = &function.blocks[edge.block].params;
                for (&param, &arg) in params.iter().zip(&edge.args) {
                    let from = out[arg];
                    meet(&mut out, param, from);
                }
            }
        }
        if !changed {
            return out;
        }
    }
}
