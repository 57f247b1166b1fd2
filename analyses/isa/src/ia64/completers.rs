//! The completers of a mnemonic: the words behind its points.

macro_rules! completers {
    ($($variant:ident $name:literal)*) => {
        /// A completer of a mnemonic: `.acq`, `.unc`, `.sptk`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Completer {
            $(#[doc = concat!("`.", $name, "`")] $variant,)*
        }

        impl Completer {
            pub const ALL: &'static [Completer] = &[$(Completer::$variant,)*];

            /// The text without its point.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Completer::$variant => $name,)*
                }
            }
        }
    };
}

completers! {
    A "a" Acq "acq" And "and" Andcm "andcm" B "b" Bias "bias" C "c" Call "call" Cexit "cexit" Cloop "cloop" Clr "clr"
    Cond "cond" Count "count" Ctop "ctop" D "d" D0 "d0" D1 "d1" D2 "d2" D3 "d3" D4 "d4" D5 "d5" D6 "d6" D7 "d7" Dpnt "dpnt"
    Dptk "dptk" E "e" Eq "eq" Excl "excl" Exit "exit" Exp "exp" F "f" Fault "fault" Few "few" Fill "fill" Fx "fx" Fxu "fxu"
    G "g" Ga "ga" Ge "ge" Geu "geu" Gt "gt" Gtu "gtu" H "h" Hu "hu" I "i" Ia "ia" Imp "imp" L "l" Le "le" Leu "leu"
    Loop "loop" Lr "lr" Lt "lt" Ltu "ltu" Lu "lu" M "m" Many "many" Nc "nc" Ne "ne" Neq "neq" Nge "nge" Ngt "ngt" Nl "nl"
    Nle "nle" Nlt "nlt" Nm "nm" Nr "nr" Ns "ns" Nt1 "nt1" Nt2 "nt2" Nta "nta" Nz "nz" One "1" Or "or" Ord "ord" Orcm "orcm"
    Pr "pr" R "r" Raz "raz" Rel "rel" Ret "ret" Rw "rw" S "s" S0 "s0" S1 "s1" S2 "s2" S3 "s3" Sa "sa" Se "se" Sig "sig"
    Spill "spill" Spnt "spnt" Sptk "sptk" Sss "sss" Trunc "trunc" U "u" Unc "unc" Unord "unord" Uss "uss" Uus "uus" Uuu "uuu"
    W "w" Wexit "wexit" Wtop "wtop" X "x" Xf "xf" Xuf "xuf" Z "z" Zero "0"
}
