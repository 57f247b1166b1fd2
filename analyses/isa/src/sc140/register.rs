//! Names of registers, and which of them are the same storage.
//!
//! ```text
//! b3          r11, and written to where r11 is
//! d4.h        the part of d4 that `move.w #1,d4.h` writes; writers of parts of one register are writers of it
//! sr          the bits C, T, the flags of loops and others, each of which instructions write by itself
//! ```

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum File {
    /// `d0` to `d15`, 40 bits and a limit tag.
    Data,
    /// `r0` to `r15`; `b0` to `b7` are the upper eight.
    Address,
    /// `n0` to `n3`
    Offset,
    /// `m0` to `m3`
    Modifier,
    /// `sa0` to `sa3`
    LoopStart,
    /// `lc0` to `lc3`
    LoopCount,
    /// The flags of the loops, which `doen` sets.
    LoopFlag,
    /// The bit T of the status register, under which instructions execute.
    Truth,
    /// Other bits of it that instructions write one by one.
    Status,
    /// The constants below.
    Control,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg {
    pub file: File,
    pub number: u8,
}

/// A part of a register that an operand may name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Part {
    Whole,
    /// `d0.l`: bits 15 to 0.
    Low,
    /// `d0.h`: bits 31 to 16.
    High,
    /// `d0.e`: bits 39 to 32 and the limit tag.
    Extension,
}

/// The half of eight bytes of the stack in which a register is pushed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StackHalf {
    Even,
    Odd,
}

impl Reg {
    /// The bit C.
    pub const CARRY: Reg = Reg::new(File::Status, 0);
    /// The bit T.
    pub const TRUTH: Reg = Reg::new(File::Truth, 0);
    /// The flag of overflows, a bit of `emr` that arithmetic only ever sets.
    pub const OVERFLOW: Reg = Reg::new(File::Status, 1);
    /// The bit that disables interrupts.
    pub const INTERRUPTS: Reg = Reg::new(File::Status, 2);
    /// The flag that the active loop is a short one.
    pub const SHORT_LOOP: Reg = Reg::new(File::Status, 3);
    pub const PC: Reg = Reg::new(File::Control, 0);
    pub const SR: Reg = Reg::new(File::Control, 1);
    pub const EMR: Reg = Reg::new(File::Control, 2);
    pub const MCTL: Reg = Reg::new(File::Control, 3);
    /// The stack pointer in use.
    pub const SP: Reg = Reg::new(File::Control, 4);
    /// The one that is not.
    pub const OSP: Reg = Reg::new(File::Control, 5);
    pub const NSP: Reg = Reg::new(File::Control, 6);
    pub const ESP: Reg = Reg::new(File::Control, 7);
    pub const VBA: Reg = Reg::new(File::Control, 8);
    pub const PCTL0: Reg = Reg::new(File::Control, 9);
    pub const PCTL1: Reg = Reg::new(File::Control, 10);

    /// The names of registers, by number.
    const CONTROL: [&'static str; 11] = [
        "pc", "sr", "emr", "mctl", "sp", "osp", "nsp", "esp", "vba", "pctl0", "pctl1",
    ];
    const STATUS: [&'static str; 4] = ["c", "dovf", "di", "slf"];

    #[must_use]
    pub const fn new(file: File, number: u8) -> Reg {
        Reg { file, number }
    }
    #[must_use]
    pub const fn data(number: u8) -> Reg {
        Reg::new(File::Data, number)
    }
    #[must_use]
    pub const fn address(number: u8) -> Reg {
        Reg::new(File::Address, number)
    }

    /// The register of a name in any case, with the part that it means. The bits of the status register have no names.
    #[must_use]
    pub fn of(name: &str) -> Option<(Reg, Part)> {
        let name = name.to_ascii_lowercase();
        let (whole, part) = match name.split_once('.') {
            None => (&*name, Part::Whole),
            Some((whole, "l")) => (whole, Part::Low),
            Some((whole, "h")) => (whole, Part::High),
            Some((whole, "e")) => (whole, Part::Extension),
            Some(_) => return None,
        };
        let register = Reg::whole(whole)?;
        let has_part = part != Part::Extension || register.file == File::Data;
        has_part.then_some((register, part))
    }

    fn whole(name: &str) -> Option<Reg> {
        if let Some(at) = Reg::CONTROL.iter().position(|known| *known == name) {
            return Some(Reg::new(File::Control, at as u8));
        }
        let at = name.find(|letter: char| letter.is_ascii_digit())?;
        let (letters, digits) = name.split_at(at);
        let plain = digits.len() <= 2 && (digits.len() == 1 || !digits.starts_with('0'));
        let number: u8 = digits.parse().ok().filter(|_| plain)?;
        let (file, below, first) = match letters {
            "d" => (File::Data, 16, 0),
            "r" => (File::Address, 16, 0),
            "b" => (File::Address, 8, 8),
            "n" => (File::Offset, 4, 0),
            "m" => (File::Modifier, 4, 0),
            "sa" => (File::LoopStart, 4, 0),
            "lc" => (File::LoopCount, 4, 0),
            _ => return None,
        };
        (number < below).then_some(Reg::new(file, first + number))
    }

    /// Returns true if the number of the register takes a bit that only a prefix of two words holds.
    #[must_use]
    pub const fn is_high(self) -> bool {
        matches!(self.file, File::Data | File::Address) && self.number >= 8
    }
    /// Returns true if the address units compute with it.
    #[must_use]
    pub const fn is_pointer(self) -> bool {
        matches!(self.file, File::Address | File::Offset | File::Modifier) || self.is_stack()
    }
    /// Returns true if it is a stack pointer.
    #[must_use]
    pub const fn is_stack(self) -> bool {
        matches!(self, Reg::SP | Reg::OSP | Reg::NSP | Reg::ESP)
    }
    /// The base of the buffer of a register whose modifier may be a modulus.
    #[must_use]
    pub const fn base(self) -> Option<Reg> {
        match self {
            Reg {
                file: File::Address,
                number: number @ 0..=7,
            } => Some(Reg::address(number + 8)),
            _ => None,
        }
    }
    /// Returns true if the two share storage: they are the same, or the one is a bit of the other.
    #[must_use]
    pub fn overlaps(self, other: Reg) -> bool {
        let holds = |whole: Reg, bit: Reg| match whole {
            Reg::SR => {
                matches!(bit.file, File::LoopFlag | File::Truth)
                    || bit.file == File::Status && bit != Reg::OVERFLOW
            }
            Reg::EMR => bit == Reg::OVERFLOW,
            // Which of the two is in use a bit says that is not known here.
            Reg::SP | Reg::OSP => matches!(bit, Reg::NSP | Reg::ESP),
            _ => false,
        };
        self == other || holds(self, other) || holds(other, self)
    }
    /// The half of the stack's eight bytes in which it is pushed. `None`: it can't be pushed, or no source tells.
    #[must_use]
    pub const fn stack_half(self) -> Option<StackHalf> {
        match self.file {
            File::Data | File::Address | File::Offset | File::Modifier => {
                if self.number.is_multiple_of(2) {
                    Some(StackHalf::Even)
                } else {
                    Some(StackHalf::Odd)
                }
            }
            File::LoopStart => Some(StackHalf::Even),
            File::LoopCount => Some(StackHalf::Odd),
            File::Control if self.number == Reg::MCTL.number => Some(StackHalf::Odd),
            _ => None,
        }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = match self.file {
            File::Data => "d",
            File::Address => "r",
            File::Offset => "n",
            File::Modifier => "m",
            File::LoopStart => "sa",
            File::LoopCount => "lc",
            File::LoopFlag => "lf",
            File::Truth => return f.write_str("t"),
            File::Status => return f.write_str(Reg::STATUS[usize::from(self.number)]),
            File::Control => return f.write_str(Reg::CONTROL[usize::from(self.number)]),
        };
        write!(f, "{letters}{}", self.number)
    }
}

impl fmt::Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Part {
    /// Returns the suffix of a register's name.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Part::Whole => "",
            Part::Low => ".l",
            Part::High => ".h",
            Part::Extension => ".e",
        }
    }
}
