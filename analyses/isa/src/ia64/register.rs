//! Names of registers. Numbers of stacked and rotating registers are those that the instruction names: `r32` of one
//! iteration and of the next are the same name for different registers.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 1, chapter 3.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum File {
    /// `r0` to `r127`, with their NaT bits.
    General,
    /// `f0` to `f127`
    Float,
    /// `p0` to `p63`
    Predicate,
    /// `b0` to `b7`
    Branch,
    /// `ar0` to `ar127`
    Application,
    /// `cr0` to `cr127`
    Control,
    /// The constants below.
    Special,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg {
    pub file: File,
    pub number: u8,
}

impl Reg {
    pub const R0: Reg = Reg::general(0);
    pub const P0: Reg = Reg::predicate(0);
    /// Previous function state.
    pub const PFS: Reg = Reg::application(64);
    /// Loop count.
    pub const LC: Reg = Reg::application(65);
    /// Epilogue count.
    pub const EC: Reg = Reg::application(66);
    /// NaT bits of `st8.spill` and `ld8.fill`.
    pub const UNAT: Reg = Reg::application(36);
    /// The configuration of the register stack engine.
    pub const RSC: Reg = Reg::application(16);
    /// The address in the backing store at which the current frame begins.
    pub const BSP: Reg = Reg::application(17);
    /// The address at which the register stack engine writes next.
    pub const BSPSTORE: Reg = Reg::application(18);
    /// NaT bits of registers that the register stack engine wrote.
    pub const RNAT: Reg = Reg::application(19);
    /// The value that `cmpxchg` compares with.
    pub const CCV: Reg = Reg::application(32);
    /// The high half of 16-byte loads and stores.
    pub const CSD: Reg = Reg::application(25);
    /// Floating-point status.
    pub const FPSR: Reg = Reg::application(40);
    /// The address of the bundle.
    pub const IP: Reg = Reg::special(0);
    /// Processor status, with its parts `psr.l` and `psr.um`.
    pub const PSR: Reg = Reg::special(1);
    /// All predicates at once.
    pub const PR: Reg = Reg::special(2);
    /// The rotating predicates at once.
    pub const PR_ROT: Reg = Reg::special(3);
    /// The current frame: sizes and rotation bases.
    pub const CFM: Reg = Reg::special(4);
    /// State that instructions of the system read and write: translation, interruption, performance and debug
    /// registers.
    pub const SYSTEM: Reg = Reg::special(5);
    /// The user mask, a part of PSR that programs may write.
    pub const UM: Reg = Reg::special(6);
    /// The advanced-load address table.
    pub const ALAT: Reg = Reg::special(7);
    /// The state of the register stack engine beside its registers.
    pub const RSE: Reg = Reg::special(16);

    pub const fn general(number: u8) -> Reg {
        Reg {
            file: File::General,
            number,
        }
    }
    pub const fn float(number: u8) -> Reg {
        Reg {
            file: File::Float,
            number,
        }
    }
    pub const fn predicate(number: u8) -> Reg {
        Reg {
            file: File::Predicate,
            number,
        }
    }
    pub const fn branch(number: u8) -> Reg {
        Reg {
            file: File::Branch,
            number,
        }
    }
    pub const fn application(number: u8) -> Reg {
        Reg {
            file: File::Application,
            number,
        }
    }
    pub const fn control(number: u8) -> Reg {
        Reg {
            file: File::Control,
            number,
        }
    }
    /// Flags of a status field (0 to 3) of floating-point status, which arithmetic only ever sets.
    pub const fn flags(field: u8) -> Reg {
        Reg::special(8 + (field & 3))
    }
    /// Controls of a status field (0 to 3) of floating-point status.
    pub const fn controls(field: u8) -> Reg {
        Reg::special(12 + (field & 3))
    }
    const fn special(number: u8) -> Reg {
        Reg {
            file: File::Special,
            number,
        }
    }

    /// Returns true if it always holds the same: `r0`, `f0`, `f1`, `p0`.
    #[must_use]
    pub const fn is_constant(self) -> bool {
        match self.file {
            File::General | File::Predicate => self.number == 0,
            File::Float => self.number < 2,
            _ => false,
        }
    }

    /// Returns true if it is a part of floating-point status.
    #[must_use]
    pub const fn is_status(self) -> bool {
        matches!(self.file, File::Special) && matches!(self.number, 8..16)
    }

    /// Returns true if a loop branch may rename it. General registers rotate only as far as `alloc` said.
    #[must_use]
    pub const fn may_rotate(self) -> bool {
        match self.file {
            File::General | File::Float => self.number >= 32,
            File::Predicate => self.number >= 16,
            _ => false,
        }
    }
}

/// Application registers with names.
pub const APPLICATION: &[(&str, u8)] = &[
    ("k0", 0),
    ("k1", 1),
    ("k2", 2),
    ("k3", 3),
    ("k4", 4),
    ("k5", 5),
    ("k6", 6),
    ("k7", 7),
    ("rsc", 16),
    ("bsp", 17),
    ("bspstore", 18),
    ("rnat", 19),
    ("fcr", 21),
    ("eflag", 24),
    ("csd", 25),
    ("ssd", 26),
    ("cflg", 27),
    ("fsr", 28),
    ("fir", 29),
    ("fdr", 30),
    ("ccv", 32),
    ("unat", 36),
    ("fpsr", 40),
    ("itc", 44),
    ("ruc", 45),
    ("pfs", 64),
    ("lc", 65),
    ("ec", 66),
];

/// Control registers with names.
pub const CONTROL: &[(&str, u8)] = &[
    ("dcr", 0),
    ("itm", 1),
    ("iva", 2),
    ("pta", 8),
    ("gpta", 9),
    ("ipsr", 16),
    ("isr", 17),
    ("iip", 19),
    ("ifa", 20),
    ("itir", 21),
    ("iipa", 22),
    ("ifs", 23),
    ("iim", 24),
    ("iha", 25),
    ("iib0", 26),
    ("iib1", 27),
    ("lid", 64),
    ("ivr", 65),
    ("tpr", 66),
    ("eoi", 67),
    ("irr0", 68),
    ("irr1", 69),
    ("irr2", 70),
    ("irr3", 71),
    ("itv", 72),
    ("pmv", 73),
    ("cmcv", 74),
    ("lrr0", 80),
    ("lrr1", 81),
];

fn named(names: &[(&'static str, u8)], number: u8) -> Option<&'static str> {
    names
        .iter()
        .find(|(_, it)| *it == number)
        .map(|(name, _)| *name)
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match self.file {
            File::General => write!(f, "r{number}"),
            File::Float => write!(f, "f{number}"),
            File::Predicate => write!(f, "p{number}"),
            File::Branch => write!(f, "b{number}"),
            File::Application => match named(APPLICATION, number) {
                Some(name) => write!(f, "ar.{name}"),
                None => write!(f, "ar{number}"),
            },
            File::Control => match named(CONTROL, number) {
                Some(name) => write!(f, "cr.{name}"),
                None => write!(f, "cr{number}"),
            },
            File::Special if self.is_status() => {
                let part = if number < 12 { "flags" } else { "controls" };
                write!(f, "ar.fpsr.sf{}.{part}", number & 3)
            }
            File::Special => f.write_str(match *self {
                Reg::IP => "ip",
                Reg::PSR => "psr",
                Reg::PR => "pr",
                Reg::PR_ROT => "pr.rot",
                Reg::CFM => "cfm",
                Reg::UM => "psr.um",
                Reg::ALAT => "alat",
                Reg::RSE => "rse",
                _ => "system registers",
            }),
        }
    }
}

impl fmt::Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
