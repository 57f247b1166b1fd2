//! The bundles of a block's instructions, nops left out: groups and templates by `bundle::block`, slots by `bundle::place`.

use super::KeptReason;
use super::lay::lay;
use crate::machine::epic::Epic;
use crate::target::ia64::bundle::block::{self, Block, Choice, Wait, count};
use crate::target::ia64::bundle::cost::Edge;
use crate::target::ia64::bundle::laid::{Laid, Written};
use crate::target::ia64::bundle::place::Part;
use crate::target::ia64::bundle::template::{Slot, Template};
use crate::target::ia64::dependence::Dependence;
use crate::target::ia64::stand::{unit, wait};
use isa::ia64::{Class, Inst};

/// The bundles of a group: their instructions are counted within `instructions`, those of the block.
pub(in crate::target::ia64) struct Group {
    pub parts: Vec<Part>,
    pub instructions: Vec<usize>,
    pub end: Edge,
}

pub(in crate::target::ia64) struct Packed {
    pub groups: Vec<Group>,
    /// The cycles until the last group issues.
    pub cycles: u32,
    pub bundles: u32,
    pub nops: u32,
    /// No schedule of so few cycles has fewer nops.
    pub proved: bool,
}

/// Packs a block with these dependences between its instructions, sorted by `to`.
///
/// # Errors
/// There is nothing to pack, or some group has no place in templates.
pub(in crate::target::ia64) fn pack(
    insts: &[&Inst],
    found: &[Dependence],
    machine: &Epic,
    choice: Choice,
    decisions: usize,
) -> Result<Packed, KeptReason> {
    // Nops go; the others are numbered anew.
    let kept: Vec<usize> = (0..insts.len())
        .filter(|&at| insts[at].class != Class::Nop)
        .collect();
    if kept.is_empty() {
        return Err(KeptReason::NopsOnly);
    }
    let number = |item: u32| {
        kept.binary_search(&(item as usize))
            .ok()
            .map(|at| at as u32)
    };
    let mut block = Block {
        types: kept.iter().map(|&at| unit(insts[at])).collect(),
        edges: Vec::new(),
    };
    let mut order = Vec::new();
    for each in found {
        let (Some(from), Some(to)) = (number(each.from), number(each.to)) else {
            continue;
        };
        let cycles = wait(each, insts, machine);
        block.edges.push(Wait { from, to, cycles });
        if cycles == 0 {
            order.push((from, to));
        }
    }
    let packing = block::pack(
        &block,
        &block::Options {
            choice,
            width: machine.width(),
            decisions,
            ..block::Options::default()
        },
    );
    let laid = lay(&block, &packing.groups, &order, machine.width()).ok_or(KeptReason::NoOrder)?;
    let parts = laid.iter().flat_map(|(parts, _)| parts);
    let bundles = parts.filter(|part| part.from == 0).count() as u32;
    let groups = packing.groups.iter().zip(laid);
    let groups = groups.map(|(group, (parts, end))| Group {
        parts,
        instructions: group
            .instructions
            .iter()
            .map(|&instruction| kept[instruction as usize])
            .collect(),
        end,
    });
    Ok(Packed {
        groups: groups.collect(),
        cycles: packing.cycles,
        bundles,
        nops: 3 * bundles - count(block.types.iter().copied()).filled(),
        // If the order within a group required another bundle, the bound is not reached.
        proved: packing.proved && 3 * bundles == packing.slots,
    })
}

/// The bundles of a block's groups in order.
pub(in crate::target::ia64) fn bundles(groups: &[Group]) -> Vec<Laid> {
    let mut out = Vec::new();
    // The open bundle: the instructions written in it, and the slots in front of a stop inside.
    let (mut slots, mut stop): (Vec<Written>, u8) = (Vec::new(), 0);
    for group in groups {
        for (index, part) in group.parts.iter().enumerate() {
            let last = index + 1 == group.parts.len();
            if part.from == 0 {
                slots.clear();
                stop = 0;
            }
            let kinds = &part.shape.slots()[part.from as usize..];
            let stops = part.slots.len() - 1;
            for (at, (filler, &kind)) in part.slots.iter().zip(kinds).enumerate() {
                // A long instruction ends its bundle.
                let stop = last && (at == stops || kind == Slot::L);
                match filler {
                    Some(found) => {
                        let item = group.instructions[*found as usize];
                        slots.push(Written::Instruction(item, stop));
                    }
                    None if kind == Slot::X => {}
                    None => slots.push(Written::Nop(kind, stop)),
                }
            }
            let reached = part.from as usize + part.slots.len();
            if reached < 3 {
                stop = reached as u8;
                continue;
            }
            let ends = last && group.end == Edge::Whole;
            let name = Template::with(part.shape, stop, ends).map_or("", Template::name);
            out.push(Laid::Bundle(name, std::mem::take(&mut slots)));
        }
    }
    out
}

pub(in crate::target::ia64) const fn nop(kind: Slot) -> &'static str {
    match kind {
        Slot::M => "nop.m 0",
        Slot::I => "nop.i 0",
        Slot::F => "nop.f 0",
        Slot::B => "nop.b 0",
        Slot::L | Slot::X => "nop.x 0",
    }
}
