//! The templates of a bundle and the slots that instructions take, written down from the manual once more:
//! the checker reads no table of the packing that it checks.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, section 4.1 (table 4-1), and the pages of
//! `br` on the slot of loop branches.

use super::super::template::Slot;
use super::{Violation, Written};
use isa::Branch;
use isa::ia64::{Inst, Type};

/// The 24 templates: slots in order, `;` for a stop.
const TEMPLATES: [&str; 24] = [
    "mii", "mii;", "mi;i", "mi;i;", "mlx", "mlx;", "mmi", "mmi;", "m;mi", "m;mi;", "mfi", "mfi;",
    "mmf", "mmf;", "mib", "mib;", "mbb", "mbb;", "bbb", "bbb;", "mmb", "mmb;", "mfb", "mfb;",
];

/// Checks that the template of a bundle exists and that each of its slots takes the instruction there.
pub(super) fn bundle(
    number: u32,
    template: &str,
    written: &[Written],
    insts: &[&Inst],
) -> Result<(), Violation> {
    let letters = template.strip_prefix('.').unwrap_or(template);
    // The two slots of a long instruction are written as one.
    let kinds: Vec<char> = letters.chars().filter(|&kind| kind != 'x').collect();
    if kinds.len() != written.len() {
        return Err(Violation::Slots {
            bundle: number,
            slots: kinds.len() as u32,
            written: written.len() as u32,
        });
    }
    let mut spelled = String::new();
    for (&kind, slot) in kinds.iter().zip(written) {
        spelled.push(kind);
        if kind == 'l' {
            spelled.push('x');
        }
        let (Written::Instruction(_, stop) | Written::Nop(_, stop)) = *slot;
        if stop {
            spelled.push(';');
        }
    }
    if !TEMPLATES.contains(&spelled.as_str()) {
        return Err(Violation::Template {
            bundle: number,
            template: spelled,
        });
    }
    for (slot, (&kind, written)) in kinds.iter().zip(written).enumerate() {
        let fits = match *written {
            Written::Nop(filler, _) => letter(filler) == kind,
            Written::Instruction(instruction, _) => {
                let inst = insts
                    .get(instruction)
                    .ok_or(Violation::Foreign { instruction })?;
                if must_stand_last(inst) && slot != 2 {
                    return Err(Violation::LoopBranch {
                        bundle: number,
                        slot: slot as u32,
                        instruction,
                    });
                }
                serves(kind, inst.unit)
            }
        };
        if !fits {
            return Err(Violation::Unit {
                bundle: number,
                slot: slot as u32,
            });
        }
    }
    Ok(())
}

/// Returns whether a slot takes instructions of this unit. Those without one (`nop`, `hint`, `break`) have a form for every
/// slot.
fn serves(slot: char, unit: Option<Type>) -> bool {
    match unit {
        None => true,
        Some(Type::A) => matches!(slot, 'm' | 'i'),
        Some(Type::M) => slot == 'm',
        Some(Type::I) => slot == 'i',
        Some(Type::F) => slot == 'f',
        Some(Type::B) => slot == 'b',
        Some(Type::L) => slot == 'l',
    }
}

fn letter(kind: Slot) -> char {
    match kind {
        Slot::M => 'm',
        Slot::I => 'i',
        Slot::F => 'f',
        Slot::B => 'b',
        Slot::L => 'l',
        Slot::X => 'x',
    }
}

/// Returns whether it is a branch that counts or rotates, which faults in slots 0 and 1.
fn must_stand_last(inst: &Inst) -> bool {
    matches!(
        inst.branch,
        Some(Branch::Counted | Branch::CountedRotating | Branch::WhileRotating)
    )
}
