//! Mnemonics: opcodes with the words behind them.

use super::Opcode;
use std::fmt;
use std::hash::{Hash, Hasher};

/// An opcode with the words behind it, and whether it executes where its guard does *not* hold.
///
/// The words themselves stand in the text; here they tell forms apart: `setp.lt.s32` and `setp.gt.s32` are two mnemonics.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mnemonic {
    opcode: Opcode,
    /// A digest of the words in their order.
    form: u64,
    negated: bool,
}

impl Mnemonic {
    /// The mnemonic of an opcode and its words, without their dots.
    #[must_use]
    pub fn new<'w>(opcode: Opcode, words: impl IntoIterator<Item = &'w str>) -> Mnemonic {
        let mut digest = Digest(0xcbf2_9ce4_8422_2325);
        for word in words {
            word.hash(&mut digest);
        }
        Mnemonic {
            opcode,
            form: digest.0,
            negated: false,
        }
    }
    /// The mnemonic of a name with its words; `None` where PTX has no such opcode.
    #[must_use]
    pub fn parse(name: &str) -> Option<Mnemonic> {
        let mut words = name.split('.');
        let opcode = Opcode::find(words.next()?)?;
        Some(Mnemonic::new(opcode, words))
    }
    /// The mnemonic of a name that stands in our own source.
    ///
    /// # Panics
    /// Where PTX has no such opcode.
    #[must_use]
    pub fn literal(name: &'static str) -> Mnemonic {
        match Mnemonic::parse(name) {
            Some(mnemonic) => mnemonic,
            None => panic!("no opcode of PTX: `{name}`"),
        }
    }
    /// The same under `@!p` instead of `@p`.
    #[must_use]
    pub const fn negated(self) -> Mnemonic {
        Mnemonic {
            negated: !self.negated,
            ..self
        }
    }
    #[must_use]
    pub const fn opcode(self) -> Opcode {
        self.opcode
    }
    #[must_use]
    pub const fn is_negated(self) -> bool {
        self.negated
    }
}

/// FNV-1a: the same on every machine and in every run.
struct Digest(u64);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode.name())
    }
}

impl fmt::Debug for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.negated { "!" } else { "" };
        write!(f, "{not}{}#{:016x}", self.opcode.name(), self.form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_apart() {
        let parse = |text| Mnemonic::parse(text).expect("a mnemonic");
        assert_eq!(parse("setp.lt.s32"), parse("setp.lt.s32"));
        assert_ne!(parse("setp.lt.s32"), parse("setp.gt.s32"));
        assert_ne!(parse("ld.global.u32"), parse("ld.globalu.32"));
        assert_ne!(parse("bra"), parse("bra").negated());
        assert!(Mnemonic::parse("lde.global.u32").is_none());
    }
}
