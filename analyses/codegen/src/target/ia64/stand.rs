//! A block as it stands: the cycle of every group, the instruction that it waits for, and stops without which
//! it would be faster.
//!
//! ```text
//! ld8 r14 = [r32] ;;      cycle 0
//! add r15 = 1, r33 ;;     cycle 1; the stop in front is not needed
//! add r8 = r14, r15 ;;    cycle 2
//! ```
//!
//! Caches hit; everything in front of the block has finished. A group issues as a whole, when all its
//! operands are available: a stop in front of a group that waits lets the one before it go ahead, and is
//! needed. Units and bundles of a cycle count, the rules by which bundles are dispersed do not.
//!
//! Source: Intel, *Itanium 2 Processor Reference Manual for Software Development and Optimization*, chapters 3 and 5.

use super::groups::Groups;
use super::listing::{Item, LARGEST, Listing};
use crate::machine::epic::Epic;
use crate::target::ia64::bundle::block::{Type, Width, count};
use crate::target::ia64::bundle::cost::{Edge, slots};
use crate::target::ia64::dependence::{Dependence, Kind, control_dependences};
use isa::ia64::{Class, File, Inst, Reg};
use std::ops::Range;

/// A group of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// The items of the listing, or of the block if that alone was asked for.
    pub items: Range<u32>,
    /// From the first of the block.
    pub cycle: u32,
    /// Cycles in which nothing issues in front of it.
    pub waits: u32,
    /// The instruction that it waits for, and through which register.
    pub waits_for: Option<(u32, Reg)>,
    /// Cycles that it takes to issue.
    pub taken: u32,
    /// Slots that stay empty when it has its bundles for itself.
    pub nops: u32,
    /// True if it could issue together with the one before it, and the block would be a cycle shorter.
    pub needless_stop: bool,
}

impl Listing {
    /// The groups of every block, in order; of blocks in very long regions none.
    #[must_use]
    pub fn timing(&self, machine: &Epic) -> Vec<Vec<Group>> {
        let mut out = Vec::new();
        let rules = self.groups();
        let mut blocks = self.blocks.iter().peekable();
        for region in &self.regions {
            let found = (region.len() <= LARGEST).then(|| self.region_dependences(region));
            while let Some(block) = blocks.next_if(|block| block.start < region.end) {
                let Some(found) = &found else {
                    out.push(Vec::new());
                    continue;
                };
                let items = &self.items[block.start as usize..block.end as usize];
                let found = of_block(found, region.start, block, &insts_of(items));
                let mut groups = as_written(items, &found, machine);
                for group in &mut groups {
                    group.needless_stop &=
                        self.joins(&rules, block.start + group.items.start, machine);
                    group.items.start += block.start;
                    group.items.end += block.start;
                    if let Some((item, _)) = &mut group.waits_for {
                        *item += block.start;
                    }
                }
                out.push(groups);
            }
        }
        out
    }
}

impl Listing {
    /// Returns true if the group of an item could be one with the group in front of it: by the rules of
    /// groups and by those of issue, each counted from its stop to its stop, which other blocks may hold.
    fn joins(&self, rules: &Groups, item: u32, machine: &Epic) -> bool {
        let group = self.items[item as usize].group;
        let both = |item: &Item| matches!(group.checked_sub(item.group), Some(0 | 1));
        let start = self.items[..item as usize]
            .iter()
            .rev()
            .take_while(|item| both(item))
            .count();
        let behind = self.items[item as usize..]
            .iter()
            .take_while(|item| both(item))
            .count();
        let range = item as usize - start..item as usize + behind;
        rules.joins(group) && counted(&self.items[range], machine.width()).0 == 1
    }
}

/// The groups of a block with these dependences, items counted within it.
pub(super) fn as_written(items: &[Item], found: &[Dependence], machine: &Epic) -> Vec<Group> {
    let width = machine.width();
    let insts = insts_of(items);
    let mut issued = vec![0u32; items.len()];
    let mut incoming = found.iter().peekable();
    let mut out: Vec<Group> = Vec::new();
    let mut at = 0;
    for group in items.chunk_by(|left, right| left.group == right.group) {
        let (from, to) = (at, at + group.len());
        at = to;
        let before = out.last();
        let start = before.map_or(0, |before| before.cycle + before.taken);
        let first_before = before.map_or(0, |before| before.items.start);
        // The earliest cycle in which it could issue, and whether something holds it behind the previous
        // group.
        let (mut ready, mut waits_for, mut bound) = (0, None, false);
        while let Some(found) = incoming.next_if(|it| (it.to as usize) < to) {
            if found.from as usize >= from {
                continue;
            }
            bound |= found.from >= first_before && !found.together && !found.kind.shares_group();
            let there = issued[found.from as usize] + wait(found, &insts, machine);
            if there > ready {
                ready = there;
                waits_for = match found.kind {
                    Kind::Flow(register) => Some((found.from, register)),
                    _ => None,
                };
            }
        }
        let cycle = start.max(ready);
        issued[from..to].fill(cycle);
        let (taken, nops) = counted(group, width);
        let needless_stop = before.is_some_and(|before| {
            !bound
                && ready <= before.cycle
                && before.taken == 1
                && !group[0].inst.first
                && items[from - 1].inst.branch.is_none()
        });
        out.push(Group {
            items: from as u32..to as u32,
            cycle,
            waits: cycle - start,
            waits_for: waits_for.filter(|_| cycle > start),
            taken,
            nops,
            needless_stop,
        });
    }
    for at in 0..out.len() {
        out[at].needless_stop &= !absorbed(&out[at..]);
    }
    out
}

/// Returns true if a later group would wait a cycle longer if the first issued a cycle earlier: for an
/// instruction that does not move with it.
fn absorbed(groups: &[Group]) -> bool {
    let first = groups.first().map_or(0, |group| group.items.start);
    let mut waiting = groups.iter().filter(|group| group.waits > 0);
    waiting.any(|group| group.waits_for.is_none_or(|(item, _)| item < first))
}

/// Cycles that a group takes to issue, and slots that stay empty.
fn counted(group: &[Item], width: Width) -> (u32, u32) {
    let units = group.iter().filter(|item| item.inst.class != Class::Nop);
    let counts = count(units.map(|item| unit(&item.inst)));
    let wanted = slots(counts, Edge::Whole, Edge::Whole).unwrap_or(0);
    (width.least(counts, wanted).max(1), wanted - counts.filled())
}

pub(super) fn insts_of(items: &[Item]) -> Vec<&Inst> {
    items.iter().map(|item| &item.inst).collect()
}

/// The slots that an instruction fits into.
pub(super) fn unit(inst: &Inst) -> Type {
    inst.unit.unwrap_or(Type::A)
}

/// Cycles that a dependence asks for.
pub(super) fn wait(dependence: &Dependence, block: &[&Inst], machine: &Epic) -> u32 {
    let (from, to) = (
        block[dependence.from as usize],
        block[dependence.to as usize],
    );
    match dependence.kind {
        Kind::Flow(register) if dependence.together => match from.class {
            Class::Compare
            | Class::FloatCompare
            | Class::ToPredicates
            | Class::Load
            | Class::FloatLoad => machine.latency(from, to, register),
            _ => 0,
        },
        Kind::Flow(register) => machine.latency(from, to, register).max(1),
        Kind::Output(_) => 1,
        // The assembler loses track of exclusive predicates if one of them is written in the group.
        Kind::Anti(register) if register.file == File::Predicate => 1,
        Kind::Anti(_) | Kind::Memory => 0,
        Kind::Control => u32::from(!dependence.together),
    }
}

/// Dependences between the instructions of a block, by `to`; `found` counts from item `first` on and is sorted by `to`.
pub(super) fn of_block(
    found: &[Dependence],
    first: u32,
    block: &Range<u32>,
    insts: &[&Inst],
) -> Vec<Dependence> {
    let inside = |item: u32| {
        let at = (item + first).checked_sub(block.start)?;
        (at < block.len() as u32).then_some(at)
    };
    let mut out = control_dependences(insts);
    let start = found.partition_point(|it| it.to + first < block.start);
    let own = found[start..].iter();
    let own = own.take_while(|it| it.to + first < block.end);
    out.extend(own.filter_map(|it| {
        Some(Dependence {
            from: inside(it.from)?,
            to: inside(it.to)?,
            ..*it
        })
    }));
    out.sort_by_key(|it| (it.to, it.from));
    out
}

#[cfg(test)]
mod tests {
    use super::super::listing::listing;
    use super::*;
    use crate::machine;

    fn groups(text: &str) -> Vec<Group> {
        let document = syntax::ia64::parse(text);
        let table = machine::named("itanium2").expect("a table");
        let epic = table.epic().expect("a processor of groups");
        let mut blocks = listing(&document, text).timing(epic);
        assert_eq!(blocks.len(), 1);
        blocks.remove(0)
    }

    #[test]
    fn a_group_waits_for_what_it_reads_and_a_stop_that_binds_nothing_is_needless() {
        let text = "\tldfd f6 = [r32] ;;\n\tadd r15 = 1, r33 ;;\n\tfadd f8 = f6, f6 ;;\n";
        let found = groups(text);
        let cycles: Vec<_> = found.iter().map(|it| (it.cycle, it.waits)).collect();
        // A floating-point load takes six cycles.
        assert_eq!(cycles, [(0, 0), (1, 0), (6, 4)]);
        assert_eq!(found[2].waits_for, Some((0, Reg::float(6))));
        // The last would only wait a cycle longer.
        assert!(found.iter().all(|it| !it.needless_stop));
        let text = "\tld8 r14 = [r32] ;;\n\tadd r15 = 1, r33 ;;\n\tadd r8 = r14, r15 ;;\n";
        let stops: Vec<_> = groups(text)
            .iter()
            .map(|group| group.needless_stop)
            .collect();
        assert_eq!(stops, [false, true, false]);
    }

    #[test]
    fn a_stop_that_a_register_the_units_or_a_wait_need_is_none() {
        for text in [
            "\tadd r14 = 1, r33 ;;\n\tadd r15 = r14, r14 ;;\n",
            // Two shifters in one I unit each, three shifts.
            "\tshl r14 = r32, 1\n\tshl r15 = r32, 2 ;;\n\tshl r16 = r32, 3 ;;\n",
            // The store need not wait for what the sum waits for.
            "\tldfd f6 = [r32]\n\tadd r15 = 1, r33 ;;\n\tst8 [r15] = r0 ;;\n\tfadd f8 = f6, f6 ;;\n",
        ] {
            assert!(
                groups(text).iter().all(|group| !group.needless_stop),
                "{text}"
            );
        }
    }

    #[test]
    fn registers_beyond_the_frame_are_told() {
        let beyond = |text: &str| {
            let document = syntax::ia64::parse(text);
            listing(&document, text).beyond
        };
        let own = "\t.proc f\nf:\talloc r34 = ar.pfs, 2, 2, 0, 0 ;;\n\tadd r36 = r35, r32 ;;\n";
        let found = beyond(own);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].item, found[0].frame), (1, Some(4)));
        assert_eq!(found[0].register, Reg::general(36));
        let passed = "\t.proc f\nf:\tadd r8 = r39, r32 ;;\n\tadd r8 = r40, r32 ;;\n\t.endp f\n";
        let found = beyond(passed);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].item, found[0].frame), (1, None));
        // Outside of functions nothing is known of the frame.
        assert_eq!(beyond("\tadd r8 = r99, r32 ;;\n"), []);
    }
}
