//! Slots and units that the groups of a kernel ask for.

use super::Violation;
use crate::machine::epic::Epic;
use crate::target::ia64::interpret::Code;
use isa::ia64::Type;

/// Operations of a group by the slots that they may take.
#[derive(Default)]
struct Asked {
    a: u32,
    m: u32,
    i: u32,
    f: u32,
    b: u32,
    /// Long ones, which take two slots of a bundle.
    l: u32,
    any: u32,
}

/// Checks that no group of a block asks for more than the machine has in one cycle: Hall's conditions, without templates.
pub(super) fn check(code: &Code<'_>, block: u32, machine: &Epic) -> Result<(), Violation> {
    let own = &code.function.blocks[block as usize];
    if own.cycles.is_empty() {
        return Ok(());
    }
    if own.cycles.len() != own.operations.len() || !own.cycles.is_sorted() {
        return Err(Violation::Cycles { block });
    }
    let width = machine.width();
    let mut insts = code.insts(block);
    for group in own.cycles.chunk_by(|left, right| left == right) {
        let mut asked = Asked::default();
        for inst in insts.by_ref().take(group.len()) {
            *match inst.unit {
                Some(Type::A) => &mut asked.a,
                Some(Type::M) => &mut asked.m,
                Some(Type::I) => &mut asked.i,
                Some(Type::F) => &mut asked.f,
                Some(Type::B) => &mut asked.b,
                Some(Type::L) => &mut asked.l,
                None => &mut asked.any,
            } += 1;
        }
        let Asked {
            a,
            m,
            i,
            f,
            b,
            l,
            any,
        } = asked;
        let either = width.m + width.i;
        let unit = match () {
            () if m > width.m => Some(Some(Type::M)),
            () if i + l > width.i => Some(Some(Type::I)),
            () if m + i + l + a > either => Some(Some(Type::A)),
            () if f > width.f => Some(Some(Type::F)),
            () if b > width.b => Some(Some(Type::B)),
            () if a + m + i + f + b + 2 * l + any > width.slots => Some(None),
            () => None,
        };
        if let Some(unit) = unit {
            let cycle = group[0];
            return Err(Violation::Units { block, cycle, unit });
        }
    }
    Ok(())
}
