//! The table of opcodes: the unit and class of each, the bytes that it moves, and the completers that it takes.
//!
//! The completers of an opcode are slots in order, separated by blanks; a slot is a list of alternatives, the longer before
//! those that begin alike, and one behind `?` may be left out:
//!
//! ```text
//! "lt|eq ?unc|or.andcm|or"       cmp.lt, cmp.eq.unc, cmp.lt.or.andcm
//! ```
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, chapters 2 and 4; GNU `as` for the mnemonics
//! of pseudo-operations.

use super::{Class, Type};

/// The row of an opcode.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    /// The slots that it may take. `None` where its operands or completers decide, and where every slot does.
    pub unit: Option<Type>,
    pub class: Class,
    /// Bytes of the access to memory; 0 where there is none.
    pub bytes: u32,
    /// The completers, as the head of this file says.
    pub completers: &'static str,
}

const A: Option<Type> = Some(Type::A);
const I: Option<Type> = Some(Type::I);
const M: Option<Type> = Some(Type::M);
const F: Option<Type> = Some(Type::F);
const B: Option<Type> = Some(Type::B);
const L: Option<Type> = Some(Type::L);
const ANY: Option<Type> = None;

macro_rules! opcodes {
    ($($class:ident { $($variant:ident $name:literal $unit:ident $bytes:literal $completers:expr;)* })*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Opcode {
            $($(#[doc = concat!("`", $name, "`")] $variant,)*)*
        }

        /// The rows of the table, by the number of the opcode.
        static ROWS: &[Row] = &[
            $($(Row { name: $name, unit: $unit, class: Class::$class, bytes: $bytes, completers: $completers },)*)*
        ];

        /// The names in the order of the opcodes, for constant evaluation.
        const NAMES: &[(&str, Opcode, &str)] = &[$($(($name, Opcode::$variant, $completers),)*)*];

        impl Opcode {
            pub const ALL: &'static [Opcode] = &[$($(Opcode::$variant,)*)*];

            /// The opcode whose name it is.
            #[must_use]
            pub fn of(name: &str) -> Option<Opcode> {
                match name {
                    $($($name => Some(Opcode::$variant),)*)*
                    _ => None,
                }
            }
        }
    };
}

/// A relation alone or followed by one of the completers; the unsigned ones have no parallel types.
macro_rules! relations {
    ([$($signed:literal)*] [$($unsigned:literal)*]) => {
        concat!(
            $($unsigned, ".unc|", $unsigned, "|",)*
            $($signed, ".or.andcm|", $signed, ".and.orcm|", $signed, ".andcm|", $signed, ".orcm|",
              $signed, ".and|", $signed, ".or|", $signed, ".unc|",)*
            "eq|ne|lt|le|gt|ge"
        )
    };
}
/// Each with the completers of a status field, and without.
macro_rules! with_status {
    ($($name:literal)*) => {
        concat!($($name, ".s0|", $name, ".s1|", $name, ".s2|", $name, ".s3|", $name, "|",)*)
    };
}
/// A kind of branch always says whether it is expected to be taken; a plain one need not say anything.
macro_rules! branches {
    ($($kind:literal)*) => {
        concat!(
            "?", $($kind, ".sptk|", $kind, ".spnt|", $kind, ".dptk|", $kind, ".dpnt|",)*
            "sptk|spnt|dptk|dpnt ?few|many ?clr"
        )
    };
}
/// The hints behind the completers of a slot: the levels of the caches that are to keep the line.
macro_rules! hinted {
    ($slot:literal) => {
        concat!($slot, " ?nt1|nt2|nta|d1|d2|d3|d4|d5|d6|d7")
    };
}

const RELATION: &str = relations!(["eq" "ne" "lt" "le" "gt" "ge"] ["ltu" "leu" "gtu" "geu"]);
const BIT: &str = "z|nz ?unc|or.andcm|and.orcm|andcm|orcm|and|or";
const FLOAT_RELATION: &str = "eq|lt|le|unord|gt|ge|neq|nlt|nle|ngt|nge|ord ?unc ?s0|s1|s2|s3";
const PARALLEL_RELATION: &str = "eq|lt|le|unord|gt|ge|neq|nlt|nle|ngt|nge|ord ?s0|s1|s2|s3";
const CONVERTED: &str = concat!(
    with_status!("fxu.trunc" "fx.trunc" "fxu" "fx" "xuf.s" "xuf.d" "xuf"),
    "xf"
);
const LOAD: &str = hinted!("?c.clr.acq|c.clr|c.nc|sa|s|a|bias|acq");
const LOAD_OR_FILL: &str = hinted!("?c.clr.acq|c.clr|c.nc|sa|s|a|bias|acq|fill");
const LOAD_WIDE: &str = hinted!("?acq");
const FLOAT_LOAD: &str = hinted!("?c.clr|c.nc|sa|s|a");
const FLOAT_FILL: &str = hinted!("fill");
const PAIR: &str = "?c.clr|c.nc|sa|s|a ?nt1|nta";
const STORE: &str = hinted!("?rel");
const STORE_OR_SPILL: &str = hinted!("?rel|spill");
const FLOAT_STORE: &str = "?nt1|nt2|nta|d1|d2|d3|d4|d5|d6|d7";
const FLOAT_SPILL: &str = hinted!("spill");
const FETCH: &str = "?count|fault.excl|fault|excl ?nt1|nt2|nta|d0|d1|d2|d3|d4|d5|d6|d7";
const SEMAPHORE: &str = "acq|rel ?nt1|nta";
const EXCHANGE: &str = "?nt1|nta";
const ROUNDED: &str = "?s|d ?s0|s1|s2|s3";
const STATUS: &str = "?s0|s1|s2|s3";
const SATURATED: &str = "?sss|uus|uuu";
const SLOT: &str = "?m|i|f|b|x";
const MOVE: &str =
    "?i|m|ret.sptk.imp|ret.sptk|ret.dptk.imp|ret.dptk|ret.imp|ret|sptk.imp|sptk|dptk.imp|dptk|imp";

opcodes! {
    Alu {
        Add "add" A 0 "";
        Adds "adds" A 0 "";
        Addl "addl" A 0 "";
        Sub "sub" A 0 "";
        Shladd "shladd" A 0 "";
        Shladdp4 "shladdp4" A 0 "";
        Addp4 "addp4" A 0 "";
        // Many instructions: the files of its operands say which.
        Mov "mov" ANY 0 MOVE;
    }
    Logic {
        And "and" A 0 "";
        Andcm "andcm" A 0 "";
        Or "or" A 0 "";
        Xor "xor" A 0 "";
    }
    Compare {
        Cmp "cmp" A 0 RELATION;
        Cmp4 "cmp4" A 0 RELATION;
        Tbit "tbit" I 0 BIT;
        Tnat "tnat" I 0 BIT;
        Tf "tf" I 0 BIT;
    }
    LongMove {
        Movl "movl" L 0 "";
    }
    Extend {
        Sxt1 "sxt1" I 0 "";
        Sxt2 "sxt2" I 0 "";
        Sxt4 "sxt4" I 0 "";
        Zxt1 "zxt1" I 0 "";
        Zxt2 "zxt2" I 0 "";
        Zxt4 "zxt4" I 0 "";
    }
    Shift {
        Shl "shl" I 0 "";
        Shr "shr" I 0 "?u";
        Shrp "shrp" I 0 "";
        Extr "extr" I 0 "?u";
        Dep "dep" I 0 "?z";
    }
    ParallelMultiply {
        Popcnt "popcnt" I 0 "";
        Pmpy2 "pmpy2" I 0 "l|r";
        Pmpyshr2 "pmpyshr2" I 0 "?u";
        Mpy4 "mpy4" I 0 "";
        Mpyshl4 "mpyshl4" I 0 "";
    }
    Multimedia {
        Clz "clz" I 0 "";
        Czx1 "czx1" I 0 "l|r";
        Czx2 "czx2" I 0 "l|r";
        Mux1 "mux1" I 0 "";
        Mux2 "mux2" I 0 "";
        Padd1 "padd1" A 0 SATURATED;
        Padd2 "padd2" A 0 SATURATED;
        Padd4 "padd4" A 0 "";
        Psub1 "psub1" A 0 SATURATED;
        Psub2 "psub2" A 0 SATURATED;
        Psub4 "psub4" A 0 "";
        Pavg1 "pavg1" A 0 "?raz";
        Pavg2 "pavg2" A 0 "?raz";
        Pavgsub1 "pavgsub1" A 0 "";
        Pavgsub2 "pavgsub2" A 0 "";
        Pcmp1 "pcmp1" A 0 "eq|gt";
        Pcmp2 "pcmp2" A 0 "eq|gt";
        Pcmp4 "pcmp4" A 0 "eq|gt";
        Pshladd2 "pshladd2" A 0 "";
        Pshradd2 "pshradd2" A 0 "";
        Mix1 "mix1" I 0 "l|r";
        Mix2 "mix2" I 0 "l|r";
        Mix4 "mix4" I 0 "l|r";
        Pack2 "pack2" I 0 "sss|uss";
        Pack4 "pack4" I 0 "sss";
        Unpack1 "unpack1" I 0 "h|l";
        Unpack2 "unpack2" I 0 "h|l";
        Unpack4 "unpack4" I 0 "h|l";
        Psad1 "psad1" I 0 "";
        Pmin1 "pmin1" I 0 "u";
        Pmin2 "pmin2" I 0 "";
        Pmax1 "pmax1" I 0 "u";
        Pmax2 "pmax2" I 0 "";
        Pshl2 "pshl2" I 0 "";
        Pshl4 "pshl4" I 0 "";
        Pshr2 "pshr2" I 0 "?u";
        Pshr4 "pshr4" I 0 "?u";
    }
    Load {
        Ld1 "ld1" M 1 LOAD;
        Ld2 "ld2" M 2 LOAD;
        Ld4 "ld4" M 4 LOAD;
        Ld8 "ld8" M 8 LOAD_OR_FILL;
        Ld16 "ld16" M 16 LOAD_WIDE;
    }
    Store {
        St1 "st1" M 1 STORE;
        St2 "st2" M 2 STORE;
        St4 "st4" M 4 STORE;
        St8 "st8" M 8 STORE_OR_SPILL;
        St16 "st16" M 16 STORE;
    }
    Prefetch {
        Lfetch "lfetch" M 0 FETCH;
    }
    Semaphore {
        Xchg1 "xchg1" M 1 EXCHANGE;
        Xchg2 "xchg2" M 2 EXCHANGE;
        Xchg4 "xchg4" M 4 EXCHANGE;
        Xchg8 "xchg8" M 8 EXCHANGE;
        Cmpxchg1 "cmpxchg1" M 1 SEMAPHORE;
        Cmpxchg2 "cmpxchg2" M 2 SEMAPHORE;
        Cmpxchg4 "cmpxchg4" M 4 SEMAPHORE;
        Cmpxchg8 "cmpxchg8" M 8 SEMAPHORE;
        Cmp8xchg16 "cmp8xchg16" M 16 SEMAPHORE;
        Fetchadd4 "fetchadd4" M 4 SEMAPHORE;
        Fetchadd8 "fetchadd8" M 8 SEMAPHORE;
    }
    FloatLoad {
        Ldfs "ldfs" M 4 FLOAT_LOAD;
        Ldfd "ldfd" M 8 FLOAT_LOAD;
        Ldf8 "ldf8" M 8 FLOAT_LOAD;
        // Ten bytes are written of sixteen that are spoken of.
        Ldfe "ldfe" M 16 FLOAT_LOAD;
        Ldf "ldf" M 16 FLOAT_FILL;
        Ldfps "ldfps" M 8 PAIR;
        Ldfpd "ldfpd" M 16 PAIR;
        Ldfp8 "ldfp8" M 16 PAIR;
    }
    FloatStore {
        Stfs "stfs" M 4 FLOAT_STORE;
        Stfd "stfd" M 8 FLOAT_STORE;
        Stf8 "stf8" M 8 FLOAT_STORE;
        Stfe "stfe" M 16 FLOAT_STORE;
        Stf "stf" M 16 FLOAT_SPILL;
    }
    ToFloat {
        Setf "setf" M 0 "sig|s|d|exp";
    }
    FromFloat {
        Getf "getf" M 0 "sig|s|d|exp";
    }
    Alloc {
        Alloc "alloc" M 0 "";
    }
    Check {
        // Its completers and the file of its operand say the slot; `chk.a` is of a class of its own.
        Chk "chk" ANY 0 "s.i|s.m|s|a.nc|a.clr";
    }
    Branch {
        Br "br" B 0 branches!("call" "ret" "cloop" "ctop" "cexit" "wtop" "wexit" "ia" "cond");
        Brl "brl" L 0 branches!("call" "cond");
    }
    FloatArithmetic {
        Fma "fma" F 0 ROUNDED;
        Fms "fms" F 0 ROUNDED;
        Fnma "fnma" F 0 ROUNDED;
        Fmpy "fmpy" F 0 ROUNDED;
        Fnmpy "fnmpy" F 0 ROUNDED;
        Fadd "fadd" F 0 ROUNDED;
        Fsub "fsub" F 0 ROUNDED;
        Fnorm "fnorm" F 0 ROUNDED;
        Fpma "fpma" F 0 STATUS;
        Fpms "fpms" F 0 STATUS;
        Fpnma "fpnma" F 0 STATUS;
        Fpmpy "fpmpy" F 0 STATUS;
        Fpnmpy "fpnmpy" F 0 STATUS;
    }
    IntegerMultiply {
        Xma "xma" F 0 "lu|l|hu|h";
        Xmpy "xmpy" F 0 "lu|l|hu|h";
    }
    FloatCompare {
        Fcmp "fcmp" F 0 FLOAT_RELATION;
        Fclass "fclass" F 0 "m|nm ?unc";
    }
    FloatConvert {
        Fcvt "fcvt" F 0 CONVERTED;
        Fpcvt "fpcvt" F 0 "fxu.trunc|fx.trunc|fxu|fx ?s0|s1|s2|s3";
    }
    FloatMisc {
        Fmin "fmin" F 0 STATUS;
        Fmax "fmax" F 0 STATUS;
        Famin "famin" F 0 STATUS;
        Famax "famax" F 0 STATUS;
        Fpmin "fpmin" F 0 STATUS;
        Fpmax "fpmax" F 0 STATUS;
        Fpamin "fpamin" F 0 STATUS;
        Fpamax "fpamax" F 0 STATUS;
        Fpcmp "fpcmp" F 0 PARALLEL_RELATION;
        Fmerge "fmerge" F 0 "se|s|ns";
        Fpmerge "fpmerge" F 0 "se|s|ns";
        Fmix "fmix" F 0 "lr|l|r";
        Fsxt "fsxt" F 0 "l|r";
        Fpack "fpack" F 0 "";
        Fswap "fswap" F 0 "?nl|nr";
        Fselect "fselect" F 0 "";
        Fand "fand" F 0 "";
        Fandcm "fandcm" F 0 "";
        For "for" F 0 "";
        Fxor "fxor" F 0 "";
        Fabs "fabs" F 0 "";
        Fneg "fneg" F 0 "";
        Fnegabs "fnegabs" F 0 "";
        Fpabs "fpabs" F 0 "";
        Fpneg "fpneg" F 0 "";
        Fpnegabs "fpnegabs" F 0 "";
        Frcpa "frcpa" F 0 STATUS;
        Frsqrta "frsqrta" F 0 STATUS;
        Fprcpa "fprcpa" F 0 STATUS;
        Fprsqrta "fprsqrta" F 0 STATUS;
    }
    Nop {
        Nop "nop" ANY 0 SLOT;
    }
    System {
        Hint "hint" ANY 0 SLOT;
        Break "break" ANY 0 SLOT;
        Brp "brp" B 0 "sptk|dptk|loop|exit|ret.sptk|ret.dptk ?imp";
        Fsetc "fsetc" F 0 STATUS;
        Fclrf "fclrf" F 0 STATUS;
        Fchkf "fchkf" F 0 STATUS;
        Cover "cover" B 0 "";
        Clrrrb "clrrrb" B 0 "?pr";
        Rfi "rfi" B 0 "";
        Bsw "bsw" B 0 "0|1";
        Epc "epc" B 0 "";
        Vmsw "vmsw" B 0 "0|1";
        Mf "mf" M 0 "?a";
        Srlz "srlz" M 0 "i|d";
        Sync "sync" M 0 "i";
        Fwb "fwb" M 0 "";
        Invala "invala" M 0 "?e";
        Flushrs "flushrs" M 0 "";
        Loadrs "loadrs" M 0 "";
        Rsm "rsm" M 0 "";
        Ssm "ssm" M 0 "";
        Sum "sum" M 0 "";
        Rum "rum" M 0 "";
        Itc "itc" M 0 "i|d";
        Itr "itr" M 0 "i|d";
        Ptc "ptc" M 0 "l|e|ga|g";
        Ptr "ptr" M 0 "i|d";
        Tak "tak" M 0 "";
        Thash "thash" M 0 "";
        Tpa "tpa" M 0 "";
        Ttag "ttag" M 0 "";
        Probe "probe" M 0 "rw.fault|r.fault|w.fault|r|w";
        Fc "fc" M 0 "?i";
        // A pseudo-operation: what has no code. No text has it.
        Refused "refused" ANY 0 "";
    }
}

impl Opcode {
    /// Returns its row in the table.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }
    /// The same as `of` with the opcode's completers, where the compiler evaluates it.
    pub(super) const fn find(name: &[u8]) -> Option<(Opcode, &'static str)> {
        let mut at = 0;
        while at < NAMES.len() {
            if is_equal(NAMES[at].0.as_bytes(), name) {
                return Some((NAMES[at].1, NAMES[at].2));
            }
            at += 1;
        }
        None
    }
}

macro_rules! by_bytes {
    ($($(#[$doc:meta])* $name:ident: $($bytes:literal => $opcode:ident),*;)*) => {
        /// The opcodes of an operation by the bytes that it works on.
        ///
        /// # Panics
        /// Where there is none of so many bytes.
        impl Opcode {
            $(
                $(#[$doc])*
                #[must_use]
                pub const fn $name(bytes: u32) -> Opcode {
                    match bytes {
                        $($bytes => Opcode::$opcode,)*
                        _ => panic!("no operation of so many bytes"),
                    }
                }
            )*
        }
    };
}

by_bytes! {
    /// The load of a general register.
    load: 1 => Ld1, 2 => Ld2, 4 => Ld4, 8 => Ld8, 16 => Ld16;
    /// The store of a general register.
    store: 1 => St1, 2 => St2, 4 => St4, 8 => St8, 16 => St16;
    fetch_add: 4 => Fetchadd4, 8 => Fetchadd8;
    exchange: 1 => Xchg1, 2 => Xchg2, 4 => Xchg4, 8 => Xchg8;
    compare_exchange: 1 => Cmpxchg1, 2 => Cmpxchg2, 4 => Cmpxchg4, 8 => Cmpxchg8;
    zero_extend: 1 => Zxt1, 2 => Zxt2, 4 => Zxt4;
    sign_extend: 1 => Sxt1, 2 => Sxt2, 4 => Sxt4;
}

pub(super) const fn is_equal(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}
