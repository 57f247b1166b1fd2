//! Registers by their names.

use std::fmt;

/// A register that an operand names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Reg {
    /// A data register, 40 bits and its limit tag.
    D(u8),
    /// Its extension, bits 39 to 32, with the limit tag above them.
    Extension(u8),
    /// The extensions of an even register and the next one.
    Extensions(u8),
    /// An address register; from 8 on, the base registers as well.
    R(u8),
    N(u8),
    M(u8),
    /// The active stack pointer.
    Sp,
    /// The other stack pointer.
    Osp,
    Mctl,
    Sr,
    Emr,
    Vba,
    /// A loop's start address.
    Sa(u8),
    /// A loop's counter.
    Lc(u8),
}

impl Reg {
    /// The register of a name, in any case.
    pub(super) fn of(name: &str) -> Option<Reg> {
        let name = name.to_ascii_lowercase();
        if let Some(data) = name.strip_suffix(".e") {
            return match Reg::of(data)? {
                Reg::D(number) => Some(Reg::Extension(number)),
                _ => None,
            };
        }
        match &*name {
            "sp" => return Some(Reg::Sp),
            "osp" => return Some(Reg::Osp),
            "mctl" => return Some(Reg::Mctl),
            "sr" => return Some(Reg::Sr),
            "emr" => return Some(Reg::Emr),
            "vba" => return Some(Reg::Vba),
            _ => {}
        }
        let at = name.find(|letter: char| letter.is_ascii_digit())?;
        let (file, digits) = name.split_at(at);
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        let number: u8 = digits.parse().ok()?;
        match (file, number) {
            ("d", 0..16) => Some(Reg::D(number)),
            ("r", 0..16) => Some(Reg::R(number)),
            ("b", 0..8) => Some(Reg::R(number + 8)),
            ("n", 0..4) => Some(Reg::N(number)),
            ("m", 0..4) => Some(Reg::M(number)),
            ("sa", 0..4) => Some(Reg::Sa(number)),
            ("lc", 0..4) => Some(Reg::Lc(number)),
            _ => None,
        }
    }
    /// Returns true if its number takes the bits that a prefix gives.
    pub(super) const fn is_upper(self) -> bool {
        matches!(
            self,
            Reg::D(8..) | Reg::R(8..) | Reg::Extension(8..) | Reg::Extensions(8..)
        )
    }
    /// Returns true if the stack holds it in the upper of two words.
    pub(super) const fn is_odd(self) -> bool {
        match self {
            Reg::D(number)
            | Reg::Extension(number)
            | Reg::R(number)
            | Reg::N(number)
            | Reg::M(number) => number % 2 == 1,
            Reg::Extensions(_) | Reg::Sa(_) | Reg::Sp | Reg::Osp | Reg::Emr | Reg::Vba => false,
            Reg::Lc(_) | Reg::Mctl | Reg::Sr => true,
        }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reg::D(number) => write!(f, "d{number}"),
            Reg::Extension(number) => write!(f, "d{number}.e"),
            Reg::Extensions(number) => write!(f, "d{number}.e:d{}.e", number + 1),
            Reg::R(number) => write!(f, "r{number}"),
            Reg::N(number) => write!(f, "n{number}"),
            Reg::M(number) => write!(f, "m{number}"),
            Reg::Sa(number) => write!(f, "sa{number}"),
            Reg::Lc(number) => write!(f, "lc{number}"),
            Reg::Sp => f.write_str("sp"),
            Reg::Osp => f.write_str("osp"),
            Reg::Mctl => f.write_str("mctl"),
            Reg::Sr => f.write_str("sr"),
            Reg::Emr => f.write_str("emr"),
            Reg::Vba => f.write_str("vba"),
        }
    }
}
