//! The place of a candidate's check: right after the last of its definitions, after the tested value has been
//! moved up in its block as far as the order of memory and effects allows.
//!
//! ```text
//! a = tex u; b = mul a, k; r0 = sat x; ...      ->      r0 = sat x; CHECK; a = tex u; b = mul a, k; ...
//! ```
//!
//! Only within a block, as the paper's prototype: no motion between blocks.
//!
//! Source: Stephenson and Rangan, *AZP*, section 5.1; notes, section 7.1.

use ir::{Block, EntitySet, Function, Inst, InstData, Op, Value, ValueDef};

/// A block in the order that the version gives it, cut at the check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub block: Block,
    pub before: Vec<Inst>,
    pub after: Vec<Inst>,
}

/// `None` when a member is no instruction's result. The members' definitions must lie on one path of the dominator
/// tree; `block` is the lowest of them.
#[must_use]
pub fn place(function: &Function, block: Block, members: &[Value]) -> Option<Place> {
    let defining = |value: Value| match function.values[value].def {
        ValueDef::Result(inst, _) => Some(inst),
        ValueDef::Param(..) => None,
    };
    let roots: Vec<Inst> = members
        .iter()
        .map(|&member| defining(member))
        .collect::<Option<_>>()?;
    let insts = &function.blocks[block].insts;
    let here: EntitySet<Inst> = insts.iter().copied().collect();
    let mut need: EntitySet<Inst> = EntitySet::with_len(function.insts.len());
    let mut work: Vec<Inst> = roots
        .into_iter()
        .filter(|inst| here.contains(inst))
        .collect();
    while let Some(inst) = work.pop() {
        if !need.insert(inst) {
            continue;
        }
        let used = function.insts[inst].operands();
        work.extend(used.filter_map(&defining).filter(|def| here.contains(def)));
    }
    let last = insts
        .iter()
        .rposition(|inst| need.contains(inst))
        .map_or(0, |last| last + 1);
    // Operations that cost nothing stand before the check, so that their values need not be carried out of
    // the region.
    need.extend(
        insts
            .iter()
            .copied()
            .filter(|inst| immediate(&function.insts[*inst].op)),
    );
    let mut rest_so_far: Vec<&InstData> = Vec::new();
    let mut movable = true;
    for inst in &insts[..last] {
        let data = &function.insts[*inst];
        if need.contains(inst) {
            movable &= rest_so_far.iter().all(|other| may_swap(other, data));
        } else if data.op.has_effect() || data.op.reads_memory() {
            rest_so_far.push(data);
        }
    }
    let (before, after) = if movable {
        insts.iter().copied().partition(|inst| need.contains(inst))
    } else {
        (insts[..last].to_vec(), insts[last..].to_vec())
    };
    Some(Place {
        block,
        before,
        after,
    })
}

/// `second` may be executed before `first`: one of them neither touches memory nor has an effect, or both only read.
fn may_swap(first: &InstData, second: &InstData) -> bool {
    let still = |data: &InstData| !data.op.has_effect() && !data.op.reads_memory();
    let constant = |data: &InstData| match &data.op {
        Op::Load(access) => access.read_only && !access.volatile,
        Op::Texture(access) => access.read_only && !data.op.has_effect(),
        _ => false,
    };
    still(first)
        || still(second)
        || (constant(second) && !matches!(first.op, Op::Unknown(_)))
        || (!first.op.has_effect() && !second.op.has_effect())
}

/// Costs no instruction: an operand of others.
pub(super) fn immediate(op: &Op) -> bool {
    matches!(
        op,
        Op::Const(_) | Op::Undef | Op::Parameter(_) | Op::SymbolAddress(_)
    )
}
