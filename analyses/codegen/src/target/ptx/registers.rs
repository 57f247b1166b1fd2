//! Registers by class, and their names.

use ir::{Space, Type};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Predicate,
    /// 16-bit floats, as bits.
    Half,
    /// Integers up to 32 bits; narrower ones are sign-extended.
    Word,
    /// 64-bit integers, pointers.
    Double,
    Float,
    DoubleFloat,
}

pub(super) const CLASSES: [Class; 6] = [
    Class::Predicate,
    Class::Half,
    Class::Word,
    Class::Double,
    Class::Float,
    Class::DoubleFloat,
];

impl Class {
    pub(super) fn of(ty: Type) -> Class {
        match ty {
            Type::Bool => Class::Predicate,
            Type::F16 | Type::BF16 => Class::Half,
            Type::I8 | Type::I16 | Type::I32 => Class::Word,
            Type::F32 => Class::Float,
            Type::F64 => Class::DoubleFloat,
            Type::I40 | Type::I64 | Type::Ptr(_) | Type::Handle | Type::Opaque => Class::Double,
        }
    }
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Class::Predicate => "%p",
            Class::Half => "%h",
            Class::Word => "%r",
            Class::Double => "%rd",
            Class::Float => "%f",
            Class::DoubleFloat => "%fd",
        }
    }
    /// The type of the register and of moves.
    pub(super) const fn type_name(self) -> &'static str {
        match self {
            Class::Predicate => "pred",
            Class::Half => "b16",
            Class::Word => "b32",
            Class::Double => "b64",
            Class::Float => "f32",
            Class::DoubleFloat => "f64",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Register {
    pub(super) class: Class,
    pub(super) number: u32,
}

impl std::fmt::Display for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.class.prefix(), self.number)
    }
}

/// The type in memory accesses.
pub(super) const fn memory_type(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "u8",
        Type::I8 => "s8",
        Type::I16 => "s16",
        Type::I32 => "b32",
        Type::F16 | Type::BF16 => "b16",
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::I40 | Type::I64 | Type::Ptr(_) | Type::Handle | Type::Opaque => "b64",
    }
}

pub(super) const fn space_name(space: Space) -> &'static str {
    match space {
        Space::Generic => "",
        Space::Global => ".global",
        Space::Shared => ".shared",
        Space::Local => ".local",
        Space::Constant => ".const",
    }
}
