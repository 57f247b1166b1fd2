//! Loads of shared memory that no thread of the workgroup can overtake with a store: between two barriers no
//! thread writes the array. From one address all threads of the workgroup read one value there.
//!
//! ```text
//! if (t == 0) n = 0;  barrier;  atomicAdd(&n, 1);  barrier;  k = n;      k is settled: uniform over the workgroup
//! ```
//!
//! From the entry and from behind each barrier of the whole workgroup: accesses reached without passing
//! another barrier can happen at the same time. A load is settled if no such region that holds it holds a
//! store or an atomic operation to its array, or a store through an address that may point to any. Arrays of
//! unknown size share their memory.
//!
//! All threads are in one phase only if they wait at the same barriers: if they are found not to
//! (`in_phases`), the question is asked again without phases. Functions with waits or writes that may not be
//! seen - calls, opaque assembly, guarded barriers, memory of other workgroups, the callers of a device
//! function - have no settled loads.
//!
//! Cost: one walk a barrier; above `BARRIERS` nothing is settled. Not done: stores to other elements of the array.

use super::engine::{Engine, WORKGROUP};
use ir::cfg::ControlFlow;
use ir::{Barrier, Block, Function, FunctionKind, Inst, Op, Space, Symbol, Value};
use rustc_hash::{FxHashMap, FxHashSet};

const BARRIERS: usize = 64;

/// An array, or `None` if it may be any.
type Array = Option<Symbol>;

#[derive(Default)]
struct Region {
    loads: Vec<(Inst, Array)>,
    writes: FxHashSet<Array>,
}

/// The loads of shared memory that are settled if all threads wait at the same barriers.
pub(crate) fn settled(function: &Function, flow: &ControlFlow) -> FxHashSet<Inst> {
    let mut loads = FxHashSet::default();
    let mut barriers: Vec<(Block, usize)> = Vec::new();
    if function.kind == FunctionKind::Device {
        return loads;
    }
    for &block in &flow.order {
        for (at, &inst) in function.blocks[block].insts.iter().enumerate() {
            let data = &function.insts[inst];
            match &data.op {
                Op::Load(access) if access.space == Space::Shared && !access.volatile => {
                    loads.insert(inst);
                }
                Op::Barrier(Barrier::Warp | Barrier::MicroSimd) => {}
                Op::Barrier(_) if data.guard.is_some() => return FxHashSet::default(),
                Op::Barrier(kind) if closes(kind) => barriers.push((block, at + 1)),
                op if is_unseen(op) => return FxHashSet::default(),
                _ => {}
            }
        }
    }
    if loads.is_empty() || barriers.len() > BARRIERS {
        return FxHashSet::default();
    }
    let mut roots = FxHashMap::default();
    let starts = std::iter::once((function.entry(), 0)).chain(barriers);
    for start in starts {
        let region = region(function, flow, start, &mut roots);
        let anything = region.writes.contains(&None);
        for (load, array) in region.loads {
            if anything || array.is_none() || region.writes.contains(&array) {
                loads.remove(&load);
            }
        }
    }
    loads
}

/// Returns true if every thread of the workgroup waits at the same barriers.
pub(super) fn in_phases(engine: &Engine<'_>) -> bool {
    let mut barriers = engine.tables.barriers.iter();
    !engine.given_up
        && barriers.all(|&(block, inst)| match engine.function.insts[inst].op {
            Op::Barrier(kind) => !closes(&kind) || engine.executed[block] >= WORKGROUP,
            _ => true,
        })
}

/// Every thread of the workgroup waits here.
fn closes(kind: &Barrier) -> bool {
    matches!(
        kind,
        Barrier::Workgroup
            | Barrier::WorkgroupAnd
            | Barrier::WorkgroupOr
            | Barrier::WorkgroupCount
            | Barrier::Grid
    )
}

/// May wait, write to shared memory, or lead to that of other workgroups.
fn is_unseen(op: &Op) -> bool {
    match op {
        Op::Call(_) | Op::Unknown(_) => true,
        Op::CallUnknown { pure, name, .. } => !pure || name.contains("map_shared_rank"),
        Op::Asm { pure, template } => !pure || template.contains("mapa"),
        _ => false,
    }
}

fn region(
    function: &Function,
    flow: &ControlFlow,
    start: (Block, usize),
    roots: &mut FxHashMap<Value, Array>,
) -> Region {
    let mut region = Region::default();
    let mut entered: FxHashSet<Block> = FxHashSet::default();
    let mut work = vec![start];
    while let Some((block, from)) = work.pop() {
        let insts = function.blocks[block].insts.get(from..).unwrap_or(&[]);
        let mut closed = false;
        for &inst in insts {
            let data = &function.insts[inst];
            let mut array = |space: Space| match (space, data.args.first()) {
                (Space::Shared | Space::Generic, Some(&address)) => Some(
                    *roots
                        .entry(address)
                        .or_insert_with(|| root(function, address)),
                ),
                _ => None,
            };
            match &data.op {
                Op::Barrier(kind) if closes(kind) => {
                    closed = true;
                    break;
                }
                Op::Load(access) if access.space == Space::Shared => {
                    region.loads.push((inst, array(Space::Shared).flatten()));
                }
                Op::Store(access) | Op::Atomic(_, access) => {
                    region.writes.extend(array(access.space));
                }
                _ => {}
            }
        }
        if !closed {
            for &next in &flow.successors[block] {
                if entered.insert(next) {
                    work.push((next, 0));
                }
            }
        }
    }
    region
}

/// The array that an address points into. Arrays of unknown size share their memory.
fn root(function: &Function, address: Value) -> Array {
    let mut at = address;
    for _ in 0..64 {
        let data = function.defining(at)?;
        match &data.op {
            Op::PtrAdd | Op::Convert(_) => at = *data.args.first()?,
            Op::SymbolAddress(symbol) => {
                let known = &function.symbols[*symbol];
                return (known.space == Space::Shared && known.size.is_some_and(|s| s > 0))
                    .then_some(*symbol);
            }
            _ => return None,
        }
    }
    None
}
