//! Instructions that are known and not modelled: their results depend on their operands alone (`pure`), or on anything.

use super::*;

/// A function of the lane's own operands.
const PURE: &[&str] = &[
    "bmsk",
    "copysign",
    "createpolicy",
    "cvt",
    "dp2a",
    "dp4a",
    "fns",
    "getctarank",
    "isspacep",
    "istypep",
    "lop3",
    "mad24",
    "mapa",
    "mul24",
    "prmt",
    "set",
    "setp",
    "szext",
    "testp",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
];

/// Effects, or results of other lanes and of memory.
const EFFECTS: &[&str] = &[
    "alloca",
    "applypriority",
    "atom",
    "bar",
    "barrier",
    "clusterlaunchcontrol",
    "cp",
    "ldmatrix",
    "mbarrier",
    "mma",
    "movmatrix",
    "multimem",
    "red",
    "stackrestore",
    "stacksave",
    "st",
    "stmatrix",
    "tcgen05",
    "tensormap",
    "wgmma",
    "wmma",
];

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
        let pure = pure_float || PURE.binary_search(&opcode).is_ok();
        if !pure && EFFECTS.binary_search(&opcode).is_err() {
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
