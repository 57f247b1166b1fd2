//! What is known of PTX's opcodes by name alone, for assembly text and for instructions that are not modelled.
//!
//! Opcodes as in the PTX ISA 9.0, section 9. Loads, votes and reductions of a warp are not here: what they give depends
//! on their further words.

/// What an instruction does beside its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// A function of the lane's own operands.
    Pure,
    /// Without a result, or with one that no lane reads.
    Silent,
    /// Other lanes' values, or memory that may change between two lanes.
    Apart,
}

use Effect::{Apart, Pure, Silent};

/// By name; whether the PTX front end keeps the instruction as opaque text.
const OPCODES: &[(&str, Effect, bool)] = &[
    ("abs", Pure, false),
    ("add", Pure, false),
    ("addc", Pure, false),
    ("alloca", Apart, true),
    ("and", Pure, false),
    ("applypriority", Silent, true),
    ("atom", Apart, true),
    ("bar", Silent, true),
    ("barrier", Silent, true),
    ("bfe", Pure, false),
    ("bfi", Pure, false),
    ("bfind", Pure, false),
    ("bmsk", Pure, true),
    ("bra", Silent, false),
    ("brev", Pure, false),
    ("brkpt", Silent, false),
    ("call", Silent, false),
    ("clusterlaunchcontrol", Silent, true),
    ("clz", Pure, false),
    ("cnot", Pure, false),
    ("copysign", Pure, true),
    ("cos", Pure, false),
    ("cp", Silent, true),
    ("createpolicy", Pure, true),
    ("cvt", Pure, true),
    ("cvta", Pure, false),
    ("discard", Silent, false),
    ("div", Pure, false),
    ("dp2a", Pure, true),
    ("dp4a", Pure, true),
    ("elect", Apart, false),
    ("ex2", Pure, false),
    ("exit", Silent, false),
    ("fence", Silent, false),
    ("fma", Pure, false),
    ("fns", Pure, true),
    ("getctarank", Pure, true),
    ("griddepcontrol", Silent, false),
    ("isspacep", Pure, true),
    ("istypep", Pure, true),
    ("ldmatrix", Apart, true),
    ("lg2", Pure, false),
    ("lop3", Pure, true),
    ("mad", Pure, false),
    ("mad24", Pure, true),
    ("madc", Pure, false),
    ("mapa", Pure, true),
    ("match", Apart, false),
    ("max", Pure, false),
    ("mbarrier", Apart, true),
    ("membar", Silent, false),
    ("min", Pure, false),
    ("mma", Apart, true),
    ("mov", Pure, false),
    ("movmatrix", Apart, true),
    ("mul", Pure, false),
    ("mul24", Pure, true),
    ("multimem", Apart, true),
    ("nanosleep", Silent, false),
    ("neg", Pure, false),
    ("not", Pure, false),
    ("or", Pure, false),
    ("pmevent", Silent, false),
    ("popc", Pure, false),
    ("prefetch", Silent, false),
    ("prefetchu", Silent, false),
    ("prmt", Pure, true),
    ("rcp", Pure, false),
    ("red", Silent, true),
    ("rem", Pure, false),
    ("ret", Silent, false),
    ("rsqrt", Pure, false),
    ("sad", Pure, false),
    ("selp", Pure, false),
    ("set", Pure, true),
    ("setmaxnreg", Silent, false),
    ("setp", Pure, true),
    ("shf", Pure, false),
    ("shfl", Apart, false),
    ("shl", Pure, false),
    ("shr", Pure, false),
    ("sin", Pure, false),
    ("slct", Pure, false),
    ("sqrt", Pure, false),
    ("st", Silent, true),
    ("stackrestore", Apart, true),
    ("stacksave", Apart, true),
    ("stmatrix", Silent, true),
    ("sub", Pure, false),
    ("subc", Pure, false),
    ("suld", Apart, false),
    ("szext", Pure, true),
    ("tanh", Pure, false),
    ("tcgen05", Apart, true),
    ("tensormap", Silent, true),
    ("testp", Pure, true),
    ("tex", Apart, false),
    ("tld4", Apart, false),
    ("trap", Silent, false),
    ("vabsdiff", Pure, true),
    ("vabsdiff2", Pure, true),
    ("vabsdiff4", Pure, true),
    ("vadd", Pure, true),
    ("vadd2", Pure, true),
    ("vadd4", Pure, true),
    ("vavrg2", Pure, true),
    ("vavrg4", Pure, true),
    ("vmad", Pure, true),
    ("vmax", Pure, true),
    ("vmax2", Pure, true),
    ("vmax4", Pure, true),
    ("vmin", Pure, true),
    ("vmin2", Pure, true),
    ("vmin4", Pure, true),
    ("vset", Pure, true),
    ("vset2", Pure, true),
    ("vset4", Pure, true),
    ("vshl", Pure, true),
    ("vshr", Pure, true),
    ("vsub", Pure, true),
    ("vsub2", Pure, true),
    ("vsub4", Pure, true),
    ("wgmma", Apart, true),
    ("wmma", Apart, true),
    ("xor", Pure, false),
];

fn find(opcode: &str) -> Option<(Effect, bool)> {
    let at = OPCODES
        .binary_search_by_key(&opcode, |&(name, ..)| name)
        .ok()?;
    let (_, effect, kept) = OPCODES[at];
    Some((effect, kept))
}

/// What an opcode, without its further words, does; `None`: it is not known, or depends on those.
pub fn effect(opcode: &str) -> Option<Effect> {
    find(opcode).map(|(effect, _)| effect)
}

/// The effect of an instruction that the front end does not model and keeps as text.
pub(super) fn kept_as_text(opcode: &str) -> Option<Effect> {
    find(opcode)
        .filter(|&(_, kept)| kept)
        .map(|(effect, _)| effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_in_order() {
        assert!(OPCODES.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(effect("prmt"), Some(Pure));
        assert_eq!(kept_as_text("prmt"), Some(Pure));
        assert_eq!(kept_as_text("add"), None);
        assert_eq!(effect("vote"), None);
    }
}
