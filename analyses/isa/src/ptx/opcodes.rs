//! The opcodes of PTX by name: their effects beside their operands, and the operands that they write.
//!
//! Opcodes as in the PTX ISA 9.0, section 9.

use std::fmt;

/// The effect of an instruction beside writing its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// A function of the lane's own operands.
    Pure,
    /// The instruction has no result, or one that no lane reads.
    Silent,
    /// Other lanes' values, or memory that may change between two lanes.
    Apart,
    /// Depends on its further words: loads, votes and reductions of a warp, queries of textures.
    Depends,
}

/// The operands that an instruction writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Results {
    Nothing,
    /// The first one, as a whole.
    First,
    /// The first one, which it reads, too.
    Accumulated,
    /// The list in front of the function that it calls.
    Returned,
}

/// The rule by which an opcode has results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Nothing,
    First,
    /// An address there is none: `mbarrier.init [a], 1`.
    FirstUnlessAddress,
    /// `bar.red.popc.u32 d, 0, p`, not `bar.sync 0`.
    FirstOfReduction,
    /// `tcgen05.ld`; accumulators are in tensor memory.
    FirstOfLoad,
    Accumulated,
    Returned,
}

use Effect::{Apart, Depends, Pure, Silent};
use Rule::{
    Accumulated, First, FirstOfLoad, FirstOfReduction, FirstUnlessAddress, Nothing, Returned,
};

/// In the order of their names.
const OPCODES: &[(&str, Effect, Rule)] = &[
    ("abs", Pure, First),
    ("activemask", Depends, First),
    ("add", Pure, First),
    ("addc", Pure, First),
    ("alloca", Apart, First),
    ("and", Pure, First),
    ("applypriority", Silent, Nothing),
    ("atom", Apart, First),
    ("bar", Silent, FirstOfReduction),
    ("barrier", Silent, FirstOfReduction),
    ("bfe", Pure, First),
    ("bfi", Pure, First),
    ("bfind", Pure, First),
    ("bmsk", Pure, First),
    ("bra", Silent, Nothing),
    ("brev", Pure, First),
    ("brkpt", Silent, Nothing),
    ("brx", Depends, Nothing),
    ("call", Silent, Returned),
    ("clusterlaunchcontrol", Silent, FirstUnlessAddress),
    ("clz", Pure, First),
    ("cnot", Pure, First),
    ("copysign", Pure, First),
    ("cos", Pure, First),
    ("cp", Silent, Nothing),
    ("createpolicy", Pure, First),
    ("cvt", Pure, First),
    ("cvta", Pure, First),
    ("discard", Silent, Nothing),
    ("div", Pure, First),
    ("dp2a", Pure, First),
    ("dp4a", Pure, First),
    ("elect", Apart, First),
    ("ex2", Pure, First),
    ("exit", Silent, Nothing),
    ("fence", Silent, Nothing),
    ("fma", Pure, First),
    ("fns", Pure, First),
    ("getctarank", Pure, First),
    ("griddepcontrol", Silent, Nothing),
    ("isspacep", Pure, First),
    ("istypep", Pure, First),
    ("ld", Depends, First),
    ("ldmatrix", Apart, First),
    ("ldu", Depends, First),
    ("lg2", Pure, First),
    ("lop3", Pure, First),
    ("mad", Pure, First),
    ("mad24", Pure, First),
    ("madc", Pure, First),
    ("mapa", Pure, First),
    ("match", Apart, First),
    ("max", Pure, First),
    ("mbarrier", Apart, FirstUnlessAddress),
    ("membar", Silent, Nothing),
    ("min", Pure, First),
    ("mma", Apart, First),
    ("mov", Pure, First),
    ("movmatrix", Apart, First),
    ("mul", Pure, First),
    ("mul24", Pure, First),
    ("multimem", Apart, FirstUnlessAddress),
    ("nanosleep", Silent, Nothing),
    ("neg", Pure, First),
    ("not", Pure, First),
    ("or", Pure, First),
    ("pmevent", Silent, Nothing),
    ("popc", Pure, First),
    ("prefetch", Silent, Nothing),
    ("prefetchu", Silent, Nothing),
    ("prmt", Pure, First),
    ("rcp", Pure, First),
    ("red", Silent, Nothing),
    ("redux", Depends, First),
    ("rem", Pure, First),
    ("ret", Silent, Nothing),
    ("rsqrt", Pure, First),
    ("sad", Pure, First),
    ("selp", Pure, First),
    ("set", Pure, First),
    ("setmaxnreg", Silent, Nothing),
    ("setp", Pure, First),
    ("shf", Pure, First),
    ("shfl", Apart, First),
    ("shl", Pure, First),
    ("shr", Pure, First),
    ("sin", Pure, First),
    ("slct", Pure, First),
    ("sqrt", Pure, First),
    ("st", Silent, Nothing),
    ("stackrestore", Apart, Nothing),
    ("stacksave", Apart, First),
    ("stmatrix", Silent, Nothing),
    ("sub", Pure, First),
    ("subc", Pure, First),
    ("suld", Apart, First),
    ("suq", Depends, First),
    ("sured", Silent, Nothing),
    ("sust", Silent, Nothing),
    ("szext", Pure, First),
    ("tanh", Pure, First),
    ("tcgen05", Apart, FirstOfLoad),
    ("tensormap", Silent, Nothing),
    ("testp", Pure, First),
    ("tex", Apart, First),
    ("tld4", Apart, First),
    ("trap", Silent, Nothing),
    ("txq", Depends, First),
    ("vabsdiff", Pure, First),
    ("vabsdiff2", Pure, First),
    ("vabsdiff4", Pure, First),
    ("vadd", Pure, First),
    ("vadd2", Pure, First),
    ("vadd4", Pure, First),
    ("vavrg2", Pure, First),
    ("vavrg4", Pure, First),
    ("vmad", Pure, First),
    ("vmax", Pure, First),
    ("vmax2", Pure, First),
    ("vmax4", Pure, First),
    ("vmin", Pure, First),
    ("vmin2", Pure, First),
    ("vmin4", Pure, First),
    ("vote", Depends, First),
    ("vset", Pure, First),
    ("vset2", Pure, First),
    ("vset4", Pure, First),
    ("vshl", Pure, First),
    ("vshr", Pure, First),
    ("vsub", Pure, First),
    ("vsub2", Pure, First),
    ("vsub4", Pure, First),
    ("wgmma", Apart, Accumulated),
    ("wmma", Apart, FirstUnlessAddress),
    ("xor", Pure, First),
];

/// An opcode: the part of an instruction's name in front of its first dot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(u8);

impl Opcode {
    /// The opcode of this name; `None` where PTX has none.
    #[must_use]
    pub fn find(name: &str) -> Option<Opcode> {
        let at = OPCODES
            .binary_search_by_key(&name, |&(known, ..)| known)
            .ok()?;
        Some(Opcode(at as u8))
    }
    const fn row(self) -> &'static (&'static str, Effect, Rule) {
        &OPCODES[self.0 as usize]
    }
    /// Returns the name as it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }
    #[must_use]
    pub const fn effect(self) -> Effect {
        self.row().1
    }
    /// The operands that an instruction writes: `has` tells whether it has a word behind its opcode, `address` whether its
    /// first operand is one.
    pub fn results(self, has: impl Fn(&str) -> bool, address: bool) -> Results {
        let first = match self.row().2 {
            Nothing => false,
            First => true,
            FirstUnlessAddress => !address,
            FirstOfReduction => has("red"),
            FirstOfLoad => has("ld"),
            Accumulated => return Results::Accumulated,
            Returned => return Results::Returned,
        };
        if first {
            Results::First
        } else {
            Results::Nothing
        }
    }
    /// Returns true if it adds to the carry flag or writes it, where `cc` is one of its words.
    #[must_use]
    pub fn carries(self, cc: bool) -> bool {
        cc || matches!(self.name(), "addc" | "subc" | "madc")
    }
    /// Returns true if it loads and changes nothing, unless its words make it one with an order.
    #[must_use]
    pub fn loads(self) -> bool {
        matches!(
            self.name(),
            "ld" | "ldu" | "tex" | "tld4" | "txq" | "suq" | "suld"
        )
    }
    /// Returns true if registers that it names are read or written later than it is issued: no register may be renamed
    /// behind it.
    #[must_use]
    pub fn is_asynchronous(self) -> bool {
        matches!(self.name(), "wgmma" | "tcgen05")
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_few() {
        assert!(OPCODES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(OPCODES.len() <= usize::from(u8::MAX));
        assert_eq!(Opcode::find("prmt").map(Opcode::effect), Some(Pure));
        assert_eq!(Opcode::find("vote").map(Opcode::effect), Some(Depends));
        assert_eq!(Opcode::find("prmtt"), None);
    }

    #[test]
    fn results_depend_on_words_and_addresses() {
        let results = |text: &str, address| {
            let mut words = text.split('.');
            let opcode = Opcode::find(words.next().unwrap()).unwrap();
            let words: Vec<&str> = words.collect();
            opcode.results(|it| words.contains(&it), address)
        };
        assert_eq!(results("bar.sync", false), Results::Nothing);
        assert_eq!(results("bar.red.popc.u32", false), Results::First);
        assert_eq!(results("mbarrier.init.shared.b64", true), Results::Nothing);
        assert_eq!(results("mbarrier.arrive.shared.b64", false), Results::First);
        assert_eq!(results("wmma.load.a.sync", false), Results::First);
        assert_eq!(results("wmma.store.d.sync", true), Results::Nothing);
        assert_eq!(results("wgmma.mma_async", false), Results::Accumulated);
        assert_eq!(results("tcgen05.dealloc", false), Results::Nothing);
        assert_eq!(results("call.uni", false), Results::Returned);
    }
}
