//! The opcodes of PTX that the front end keeps as text, and their effects by name alone.

pub use isa::ptx::Effect;
use isa::ptx::Opcode;

/// Opcodes of instructions that are not modelled in all their forms, ascending.
const KEPT: &[&str] = &[
    "alloca",
    "applypriority",
    "atom",
    "bar",
    "barrier",
    "bmsk",
    "clusterlaunchcontrol",
    "copysign",
    "cp",
    "createpolicy",
    "cvt",
    "dp2a",
    "dp4a",
    "fns",
    "getctarank",
    "isspacep",
    "istypep",
    "ldmatrix",
    "lop3",
    "mad24",
    "mapa",
    "mbarrier",
    "mma",
    "movmatrix",
    "mul24",
    "multimem",
    "prmt",
    "red",
    "set",
    "setp",
    "st",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "szext",
    "tcgen05",
    "tensormap",
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
    "wgmma",
    "wmma",
];

/// Returns the effect of an opcode without its further words; `None`: it is not known, or depends on those.
pub fn effect(opcode: &str) -> Option<Effect> {
    let effect = Opcode::find(opcode)?.effect();
    (effect != Effect::Depends).then_some(effect)
}

/// The effect of an instruction that the front end does not model and keeps as text.
pub(super) fn kept_as_text(opcode: &str) -> Option<Effect> {
    KEPT.binary_search(&opcode).ok()?;
    effect(opcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_in_order_and_known() {
        assert!(KEPT.is_sorted_by(|a, b| a < b));
        assert!(KEPT.iter().all(|it| effect(it).is_some()));
        assert_eq!(effect("prmt"), Some(Effect::Pure));
        assert_eq!(kept_as_text("prmt"), Some(Effect::Pure));
        assert_eq!(kept_as_text("add"), None);
        assert_eq!(effect("vote"), None);
    }
}
