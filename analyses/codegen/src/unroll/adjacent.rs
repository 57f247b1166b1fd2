//! Accesses to neighbouring places of a block as one access.
//!
//! ```text
//! x0 = load p; x1 = load p + 2; x2 = load p + 4; x3 = load p + 6        x0, x1, x2, x3 = load p, where p is a multiple of 8
//! ```
//!
//! Loads move up to the first of them, stores down to the last one, past nothing that they may meet. The place of the first
//! element must be known to be a multiple of all their bytes.

use super::Machine;
use super::alignment::Alignments;
use super::reuse::rooted;
use super::shape::{accesses, is_special};
use crate::prepare::edit;
use crate::prepare::origin::Origins;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::needed::Arguments;
use ir::{Block, EntityVec, Function, Inst, InstData, MemoryAccess, Op, Type, Value, ValueDef};
use rustc_hash::FxHashSet;

/// Elements of an access, most first.
const WIDTHS: [usize; 2] = [4, 2];

/// An access to one element.
#[derive(Clone, Copy, Debug)]
struct Access {
    inst: Inst,
    store: bool,
    /// Its address is so many bytes behind this value.
    root: Value,
    offset: i64,
    ty: Type,
    bytes: i64,
}

impl Access {
    fn of(function: &Function, inst: Inst) -> Option<Access> {
        let data = &function.insts[inst];
        let element = match (&data.op, &data.results[..], &data.args[..]) {
            (Op::Load(_), [result], _) => *result,
            (Op::Store(_), _, [_, value]) => *value,
            _ => return None,
        };
        let (root, offset) = rooted(function, data.args[0]);
        (!is_special(data)).then_some(Access {
            inst,
            store: matches!(data.op, Op::Store(_)),
            root,
            offset,
            ty: function.ty(element),
            bytes: function.bytes(element).into(),
        })
    }
}

/// The facts of a function that stay true while its accesses are joined.
struct Known {
    tree: DominatorTree,
    arguments: Arguments,
    defined: EntityVec<Value, Option<Block>>,
    origins: Origins,
}

/// Joins accesses in all blocks; returns those of several elements.
/// In blocks of `limited` they have as many elements as the machine's description permits, elsewhere any number.
pub(super) fn join(
    function: &mut Function,
    machine: &Machine,
    limited: &FxHashSet<Block>,
) -> FxHashSet<Inst> {
    let flow = ControlFlow::new(function);
    let known = Known {
        tree: DominatorTree::dominators(&flow),
        arguments: ir::needed::arguments(function),
        defined: function.definition_blocks(),
        origins: Origins::of(function),
    };
    let mut made = FxHashSet::default();
    for block in function.layout.clone() {
        if !flow.is_reachable(block) {
            continue;
        }
        let mut tried: FxHashSet<(Inst, usize)> = FxHashSet::default();
        let elements = match limited.contains(&block) {
            true => machine.elements,
            false => WIDTHS[0],
        };
        let machine = &Machine {
            elements,
            ..*machine
        };
        while let Some(found) = neighbours(function, &known, block, machine, &mut tried) {
            made.insert(joined(function, block, &found));
        }
    }
    made
}

/// The next accesses of a block that may be one, in the order of their addresses.
fn neighbours(
    function: &Function,
    known: &Known,
    block: Block,
    machine: &Machine,
    tried: &mut FxHashSet<(Inst, usize)>,
) -> Option<Vec<Access>> {
    let insts = &function.blocks[block].insts;
    let all = insts.iter().filter_map(|&inst| Access::of(function, inst));
    let all: Vec<Access> = all.collect();
    if all.len() < 2 {
        return None;
    }
    let mut alignments = Alignments::new(
        function,
        (&known.tree, &known.arguments, &known.defined),
        machine.objects,
        block,
    );
    for width in WIDTHS {
        for first in &all {
            let wide = width <= machine.elements && (machine.wide)(first.ty, width);
            if !wide || !tried.insert((first.inst, width)) {
                continue;
            }
            let element = |number: usize| {
                let offset = first.offset.checked_add(number as i64 * first.bytes)?;
                let same = |other: &&Access| {
                    (other.root, other.ty, other.store, other.offset)
                        == (first.root, first.ty, first.store, offset)
                };
                all.iter().find(same).copied()
            };
            let elements: Option<Vec<Access>> = (0..width).map(element).collect();
            let Some(elements) = elements.filter(|element| element[0].inst == first.inst) else {
                continue;
            };
            let bytes = width as i64 * first.bytes;
            let place = alignments.of(first.root);
            let aligned = place.of >= bytes && (place.rest + first.offset).rem_euclid(bytes) == 0;
            if aligned && may_move(function, &known.origins, block, &elements) {
                return Some(elements);
            }
        }
    }
    None
}

/// Returns true if the accesses may be executed where the first of the loads, or the last of the stores, is.
fn may_move(function: &Function, origins: &Origins, block: Block, elements: &[Access]) -> bool {
    let insts = &function.blocks[block].insts;
    let places = elements.iter().filter_map(|element| {
        let at = insts.iter().position(|inst| *inst == element.inst)?;
        Some((at, element))
    });
    let mut places: Vec<(usize, &Access)> = places.collect();
    places.sort_by_key(|place| place.0);
    let [(first, _), .., (last, _)] = places[..] else {
        return false;
    };
    let between = first..=last;
    for (at, &inst) in between.clone().zip(&insts[between]) {
        if elements.iter().any(|element| element.inst == inst) {
            continue;
        }
        let data = &function.insts[inst];
        let writes = data.op.has_effect() || matches!(data.op, Op::Call(_));
        // A function without an effect may read memory.
        let loads = matches!(data.op, Op::Load(_) | Op::CallUnknown { .. });
        let store = elements[0].store;
        if !(writes || store && loads) {
            continue;
        }
        if !accesses(data) || is_special(data) {
            return false;
        }
        // Those that move past it: loads from behind it, stores from in front of it.
        let mut moved = places.iter().filter(|(own, _)| (*own < at) == store);
        if moved.any(|(_, it)| meets(function, origins, it, data)) {
            return false;
        }
    }
    true
}

/// Returns true if an access may touch what another one does.
fn meets(function: &Function, origins: &Origins, left: &Access, right: &InstData) -> bool {
    let (root, offset) = rooted(function, right.args[0]);
    let elements = match right.op {
        Op::Store(_) => &right.args[1..],
        _ => &right.results[..],
    };
    let bytes = elements
        .iter()
        .map(|&value| i64::from(function.bytes(value)));
    let bytes: i64 = bytes.sum();
    if root == left.root {
        return offset < left.offset + left.bytes && left.offset < offset + bytes;
    }
    let own = function.insts[left.inst].args[0];
    let origin = origins.origin(function, own);
    !origin.is_apart(&origins.origin(function, right.args[0]))
}

/// Makes one access of several.
fn joined(function: &mut Function, block: Block, elements: &[Access]) -> Inst {
    let store = elements[0].store;
    let first = function.insts[elements[0].inst].clone();
    let is_one = |inst: &Inst| elements.iter().any(|element| element.inst == *inst);
    let insts = &function.blocks[block].insts;
    let at = match store {
        true => insts.iter().rposition(is_one),
        false => insts.iter().position(is_one),
    };
    let at = at.unwrap_or(0);
    let place = insts[at];
    // The address is there at the place of a store, and at that of a load if it was computed in front of it.
    let defined = function.values[first.args[0]].def;
    let is_known = match defined {
        ValueDef::Result(inst, _) => {
            let own = insts.iter().position(|known| *known == inst);
            own.is_none_or(|own| own < at)
        }
        ValueDef::Param(..) => true,
    };
    let mut more = Vec::new();
    let address = match is_known {
        true => first.args[0],
        false => {
            let Access { root, offset, .. } = elements[0];
            let (number, by) = edit::computed(
                function,
                Op::Const(offset as u64),
                &[],
                Type::I64,
                first.loc,
            );
            let ty = function.ty(root);
            let (sum, address) = edit::computed(function, Op::PtrAdd, &[root, by], ty, first.loc);
            more.extend([number, sum]);
            address
        }
    };
    let accesses: Vec<MemoryAccess> = elements
        .iter()
        .filter_map(|element| match function.insts[element.inst].op {
            Op::Load(access) | Op::Store(access) => Some(access),
            _ => None,
        })
        .collect();
    let access = MemoryAccess {
        read_only: accesses.iter().all(|access| access.read_only),
        untyped: accesses.iter().any(|access| access.untyped),
        ..accesses[0]
    };
    let made = Inst(function.insts.len() as u32);
    let mut data = InstData {
        op: if store {
            Op::Store(access)
        } else {
            Op::Load(access)
        },
        args: [address].into_iter().collect(),
        results: Default::default(),
        guard: None,
        loc: first.loc,
    };
    for (number, each) in (0..).zip(elements) {
        let old = &function.insts[each.inst];
        match store {
            true => data.args.push(old.args[1]),
            false => {
                let result = old.results[0];
                function.values[result].def = ValueDef::Result(made, number);
                data.results.push(result);
            }
        }
    }
    function.insts.push(data);
    more.push(made);
    let insts = std::mem::take(&mut function.blocks[block].insts);
    let mut out = Vec::with_capacity(insts.len());
    for inst in insts {
        if inst == place {
            out.append(&mut more);
        }
        if !is_one(&inst) {
            out.push(inst);
        }
    }
    function.blocks[block].insts = out;
    made
}
