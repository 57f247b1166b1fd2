//! PTX types.

use crate::types::Type;

/// `.u32`, `.f16x2`: a scalar or a packed pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scalar {
    /// The type of one element.
    pub(super) ty: Type,
    pub(super) signed: bool,
    /// Elements packed in one register: 1 or 2.
    pub(super) lanes: u8,
}

impl Scalar {
    /// The type of a register that holds it.
    pub(super) fn container(self) -> Type {
        if self.lanes == 1 {
            self.ty
        } else {
            Type::int(self.ty.bits() * u32::from(self.lanes))
        }
    }
    /// 128 bits: two 64-bit registers.
    pub(super) fn is_wide(self) -> bool {
        self.lanes == 2 && self.ty == Type::I64
    }
}

pub(super) fn scalar(name: &str) -> Option<Scalar> {
    let (ty, signed, lanes) = match name {
        "pred" => (Type::Bool, false, 1),
        "b8" | "u8" => (Type::I8, false, 1),
        "s8" => (Type::I8, true, 1),
        "b16" | "u16" => (Type::I16, false, 1),
        "s16" => (Type::I16, true, 1),
        "b32" | "u32" => (Type::I32, false, 1),
        "s32" => (Type::I32, true, 1),
        "b64" | "u64" => (Type::I64, false, 1),
        "s64" => (Type::I64, true, 1),
        "b128" | "u128" | "s128" => (Type::I64, false, 2),
        "f16" => (Type::F16, false, 1),
        "bf16" => (Type::BF16, false, 1),
        "f32" => (Type::F32, false, 1),
        "f64" => (Type::F64, false, 1),
        "f16x2" => (Type::F16, false, 2),
        "bf16x2" => (Type::BF16, false, 2),
        "u16x2" => (Type::I16, false, 2),
        "s16x2" => (Type::I16, true, 2),
        "f32x2" => (Type::F32, false, 2),
        _ => return None,
    };
    Some(Scalar { ty, signed, lanes })
}
