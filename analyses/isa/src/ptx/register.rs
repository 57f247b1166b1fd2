//! Registers by width.

use std::fmt;

/// A class of registers: those that hold values of one width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Class {
    Predicate,
    /// 16 bits and fewer; takes a word of its own.
    Half,
    /// 32 bits.
    Word,
    /// 64 bits: two words, the first of an even number.
    Double,
    /// 128 bits: four words.
    Quad,
}

impl Class {
    /// The class of a type's name, without its dot; `None` for types of variables alone.
    #[must_use]
    pub fn of(type_name: &str) -> Option<Class> {
        Some(match type_name {
            "pred" => Class::Predicate,
            "b8" | "u8" | "s8" | "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => {
                Class::Half
            }
            "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "tf32" => {
                Class::Word
            }
            "b64" | "u64" | "s64" | "f64" | "f32x2" => Class::Double,
            "b128" => Class::Quad,
            _ => return None,
        })
    }
    /// Words of 32 bits that a value takes. Predicates have registers of their own.
    #[must_use]
    pub const fn words(self) -> u32 {
        match self {
            Class::Predicate => 0,
            Class::Half | Class::Word => 1,
            Class::Double => 2,
            Class::Quad => 4,
        }
    }
    /// The type without a meaning that registers of the class are declared with.
    #[must_use]
    pub const fn type_name(self) -> &'static str {
        match self {
            Class::Predicate => "pred",
            Class::Half => "b16",
            Class::Word => "b32",
            Class::Double => "b64",
            Class::Quad => "b128",
        }
    }
}

/// Storage of the processor that holds a value of a class: words from `first` on, or a predicate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Register {
    pub class: Class,
    /// The first word, a multiple of how many there are; of a predicate, its number.
    pub first: u16,
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.class {
            Class::Predicate => "p",
            Class::Half => "h",
            Class::Word => "r",
            Class::Double => "d",
            Class::Quad => "q",
        };
        write!(f, "%{prefix}{}", self.first)
    }
}
