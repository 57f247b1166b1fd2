//! Instructions that are known and not modelled: their results depend on their operands alone (`pure`), or on anything.

use super::opcodes::{Effect, kept_as_text};
use super::*;

/// The first operand is read although it is a register.
fn reads_first(i: &Instruction) -> bool {
    match i.opcode.text.as_str() {
        "stackrestore" => true,
        "tcgen05" => i.has("dealloc"),
        _ => false,
    }
}

impl<'a> Lowering<'a> {
    pub(super) fn opaque(&mut self, i: &'a Instruction) -> Done {
        let opcode = i.opcode.text.as_str();
        let pure_float = matches!(opcode, "min" | "max") && i.has("xorsign");
        let effect = kept_as_text(opcode);
        let pure = pure_float || effect == Some(Effect::Pure);
        if !pure && effect.is_none() {
            self.not_understood(i, "this instruction is not known");
            return Some(());
        }
        let mut args = Vec::new();
        let places = match i.operands.split_first() {
            Some((first, rest)) if !reads_first(i) => {
                let mut places = self.result_places(first);
                if opcode == "tcgen05" && !i.has("ld") {
                    // Accumulators are in tensor memory.
                    places.clear();
                }
                // Accumulators of wgmma are read and written.
                if places.is_empty() || opcode == "wgmma" {
                    self.registers_in(first, &mut args);
                }
                for operand in rest {
                    self.registers_in(operand, &mut args);
                }
                places
            }
            _ => {
                for operand in &i.operands {
                    self.registers_in(operand, &mut args);
                }
                Vec::new()
            }
        };
        let types: Vec<Type> = places.iter().map(|&(_, ty)| ty).collect();
        let op = Op::Asm {
            template: SmolStr::from(i.full_name()),
            pure,
        };
        let guard = if pure { None } else { self.guard };
        let inst = self.b.guarded(op, &args, &types, guard);
        let values: SmallVec<[Value; 8]> = SmallVec::from_slice(self.b.results(inst));
        for ((place, _), value) in places.into_iter().zip(values) {
            self.write(place, value, false);
        }
        Some(())
    }
}
